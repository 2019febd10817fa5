//! Errors of measurements.

use std::time::Duration;

use drdma_abi::roce::Transport;
use drdma_driver::CardError;
use libdrdma::{MemoryRegionError, ModifyError, PostError, RegionError, Status};

use super::{
    op::{ATOMIC_BYTES, MOST, Op, transport_name},
    remote::RemoteError,
    shape::{Layout, ShapeError},
};

/// Why a measurement has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PerfError {
    /// A transfer is not possible.
    #[error("{size} B: {source}")]
    Shape {
        /// Bytes of the transfer.
        size: u64,
        /// Error of the shape.
        source: ShapeError,
    },
    /// The transport has no READs and atomics.
    #[error("--op {op} needs --transport rc, not {}", transport_name(*.transport))]
    Transport {
        /// Operation of the transfers.
        op: Op,
        /// Transport that was given.
        transport: Transport,
    },
    /// Atomics are not of this size.
    #[error("--op {op} is on {ATOMIC_BYTES} B, not on {size} B")]
    AtomicSize {
        /// Operation of the transfers.
        op: Op,
        /// Bytes of the transfer.
        size: u64,
    },
    /// Atomics cannot use a region with gaps.
    #[error("--op {op} fills {ATOMIC_BYTES} B that lie together: --region {} has no meaning", region.name())]
    AtomicRegion {
        /// Operation of the transfers.
        op: Op,
        /// Layout of the region.
        region: Layout,
    },
    /// Rows of a message were given for READs, which are always one message.
    #[error("--rows-per-message {rows} has no meaning with --op {op}: a READ is one message")]
    ReadRows {
        /// Operation of the transfers.
        op: Op,
        /// Rows of a message.
        rows: u32,
    },
    /// A limit of READs and atomics was given for another operation.
    #[error("--outstanding {outstanding} is of READs and atomics, not of --op {op}")]
    Outstanding {
        /// Operation of the transfers.
        op: Op,
        /// The limit that was given.
        outstanding: u8,
    },
    /// More atomics would be under way than a completion queue has room for.
    #[error("{under_way} atomics under way are more than a completion queue has room for: {MOST}")]
    AtomicsUnderWay {
        /// Number of atomics: queue pairs times depth.
        under_way: u64,
    },
    /// A READ brought a byte that differs from the peer's.
    #[error("a READ of {size} B brought {found:#04x} where {expected:#04x} lies, at byte {at}")]
    Read {
        /// Bytes of the transfer.
        size: u64,
        /// Offset of the first byte that is wrong.
        at: u64,
        /// Value of the byte that came.
        found: u8,
        /// Value of the peer's byte.
        expected: u8,
    },
    /// An atomic brought another value than the peer had.
    #[error("an atomic brought {found:#x} where {expected:#x} was")]
    Atomic {
        /// Value that came.
        found: u64,
        /// Value that the peer had.
        expected: u64,
    },
    /// A transfer has more requests than a queue has room for.
    #[error(
        "{size} B are {requests} requests, more than a send queue of {MOST} blocks has room for"
    )]
    Requests {
        /// Bytes of the transfer.
        size: u64,
        /// Number of its requests.
        requests: usize,
    },
    /// A resource of the card is used up, or it failed while it was set up.
    #[error(transparent)]
    Setup(#[from] libdrdma::Error),
    /// Memory was not registered.
    #[error(transparent)]
    Memory(#[from] MemoryRegionError),
    /// A region is not possible.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A queue pair was not connected.
    #[error(transparent)]
    Connect(#[from] ModifyError),
    /// A request was not posted.
    #[error(transparent)]
    Post(#[from] PostError),
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// A request completed with an error.
    #[error("a request of {size} B completed with {status}")]
    Status {
        /// Bytes of the transfer.
        size: u64,
        /// Status of the request's completion.
        status: Status,
    },
    /// There was no packet and no completion for too long.
    #[error("no packet and no completion for {} s", waited.as_secs())]
    TimedOut {
        /// Time that was waited.
        waited: Duration,
    },
    /// A peer received wrong packets.
    #[error("the card sent wrong packets: {0}")]
    Wire(String),
    /// The messages that arrived are not those that were sent.
    #[error("{sent} messages of {sent_bytes} B were sent, {arrived} of {arrived_bytes} B arrived")]
    Arrived {
        /// Number of messages that were sent.
        sent: u64,
        /// Bytes of the messages that were sent.
        sent_bytes: u64,
        /// Number of messages that arrived completely.
        arrived: u64,
        /// Bytes of the messages that arrived.
        arrived_bytes: u64,
    },
    /// The peer in the other process failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The caller's handling of a measurement failed.
    #[error("{0}")]
    Show(String),
}

impl PerfError {
    /// True if no card can measure what the command line asks for.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Shape { .. }
                | Self::Requests { .. }
                | Self::Transport { .. }
                | Self::AtomicSize { .. }
                | Self::AtomicRegion { .. }
                | Self::ReadRows { .. }
                | Self::Outstanding { .. }
                | Self::AtomicsUnderWay { .. }
        )
    }
}
