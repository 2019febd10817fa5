//! Why nothing was measured.

use std::time::Duration;

use drdma_abi::roce::Transport;
use drdma_driver::CardError;
use libdrdma::{MemoryRegionError, ModifyError, PostError, RegionError, Status};

use super::{
    op::{ATOMIC_BYTES, MOST, Op, transport_name},
    remote::RemoteError,
    shape::{Layout, ShapeError},
};

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PerfError {
    /// A transfer that cannot be.
    #[error("{size} B: {source}")]
    Shape {
        /// Its bytes.
        size: u64,
        /// Why.
        source: ShapeError,
    },
    /// READs and atomics on a transport that has none.
    #[error("--op {op} needs --transport rc, not {}", transport_name(*.transport))]
    Transport {
        /// What transfers were to do.
        op: Op,
        /// On which transport.
        transport: Transport,
    },
    /// An atomic of another size than atomics have.
    #[error("--op {op} is on {ATOMIC_BYTES} B, not on {size} B")]
    AtomicSize {
        /// What transfers were to do.
        op: Op,
        /// Bytes of the transfer.
        size: u64,
    },
    /// Atomics into a region with gaps.
    #[error("--op {op} fills {ATOMIC_BYTES} B that lie together: --region {} has no meaning", region.name())]
    AtomicRegion {
        /// What transfers were to do.
        op: Op,
        /// The region.
        region: Layout,
    },
    /// Rows a message of a READ, which is always one message.
    #[error("--rows-per-message {rows} has no meaning with --op {op}: a READ is one message")]
    ReadRows {
        /// What transfers were to do.
        op: Op,
        /// Rows.
        rows: u32,
    },
    /// A limit of READs and atomics where there are none.
    #[error("--outstanding {outstanding} is of READs and atomics, not of --op {op}")]
    Outstanding {
        /// What transfers were to do.
        op: Op,
        /// The limit.
        outstanding: u8,
    },
    /// More atomics than a completion queue has room for.
    #[error("{under_way} atomics under way are more than a completion queue has room for: {MOST}")]
    AtomicsUnderWay {
        /// Queue pairs times depth.
        under_way: u64,
    },
    /// A READ brought something else than lies there.
    #[error("a READ of {size} B brought {found:#04x} where {expected:#04x} lies, at byte {at}")]
    Read {
        /// Bytes of the transfer.
        size: u64,
        /// The first byte that is wrong.
        at: u64,
        /// What came.
        found: u8,
        /// What lies there.
        expected: u8,
    },
    /// An atomic brought something else than was there.
    #[error("an atomic brought {found:#x} where {expected:#x} was")]
    Atomic {
        /// What came.
        found: u64,
        /// What was there.
        expected: u64,
    },
    /// A transfer of more requests than a queue has room for.
    #[error(
        "{size} B are {requests} requests, more than a send queue of {MOST} blocks has room for"
    )]
    Requests {
        /// Bytes of the transfer.
        size: u64,
        /// Its requests.
        requests: usize,
    },
    /// A resource of the card is used up, or it failed while it was set up.
    #[error(transparent)]
    Setup(#[from] libdrdma::Error),
    /// Memory was not registered.
    #[error(transparent)]
    Memory(#[from] MemoryRegionError),
    /// A region that cannot be.
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
    /// A request ended badly.
    #[error("a request of {size} B completed with {status}")]
    Status {
        /// Bytes of the transfer.
        size: u64,
        /// How it ended.
        status: Status,
    },
    /// Nothing happened for too long.
    #[error("no packet and no completion for {} s", waited.as_secs())]
    TimedOut {
        /// How long.
        waited: Duration,
    },
    /// A peer complains.
    #[error("the card sent wrong packets: {0}")]
    Wire(String),
    /// What arrived is not what was sent.
    #[error("{sent} messages of {sent_bytes} B were sent, {arrived} of {arrived_bytes} B arrived")]
    Arrived {
        /// Messages.
        sent: u64,
        /// Their bytes.
        sent_bytes: u64,
        /// Messages that arrived whole.
        arrived: u64,
        /// Their bytes.
        arrived_bytes: u64,
    },
    /// The peer in the other process.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// What the caller does with a measurement failed.
    #[error("{0}")]
    Show(String),
}

impl PerfError {
    /// True if what was asked for cannot be measured on any card.
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
