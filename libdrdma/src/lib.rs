//! Declarative RDMA verbs: say *what* to send, not how to fetch it.
//!
//! A database's data have gaps: columns inside rows, rows that a filter selected, records behind
//! pointers. Plain verbs want them as lists of pieces, or copied together first. Here a work
//! request describes them as a few [`Region`]s, and the card gathers the pieces and sends ordinary
//! RoCEv2 messages that any RDMA endpoint takes (Ryser et al., *D-RDMA: Bringing Zero-Copy RDMA to
//! Database Systems*, CIDR 2022).
//!
//! | | |
//! |---|---|
//! | [`Context`] | an open card, from anything that implements [`Card`] |
//! | [`ProtectionDomain`] | what belongs together |
//! | [`MemoryRegion`] | memory that the card may read, and its key: the application's own ([`Owner`]), or new |
//! | [`Contiguous`], [`Strided`], [`Bitmapped`], [`PointerMapped`] | what a [`Region`] can be |
//! | [`QueuePair`] | a connection and its own queue, for [`WorkRequest`]s; and one for [`ReceiveRequest`]s |
//! | [`SharedReceiveQueue`] | one queue of receives for several connections |
//! | [`SharedSendQueue`] | many connections planned together, for [`SharedWorkRequest`]s |
//! | [`Partitioned`] | one region for all connections, by a partition id a row: [`PartitionedWorkRequest`] |
//! | [`CompletionQueue`] | how requests ended: [`WorkCompletion`] |
//! | [`CompletionChannel`] | sleeping until something has completed |
//! | [`AsyncEvent`] | what no completion reports |
//!
//! # A shuffle
//!
//! Two columns are partitioned over two receivers, by the lowest bit of the key. One bitmap per
//! receiver says which rows are its own; one request sends all of them, eight rows in a message,
//! and reads every cache line that both receivers have rows in only once.
//!
//! ```
//! use std::time::Duration;
//!
//! use libdrdma::{
//!     Bitmapped, Context, Destination, MacAddress, Options, QueuePairAttributes, Region,
//!     SharedWorkRequest, Status, Transport,
//! };
//! # use libdrdma::network::{Network, PeerConfig};
//! # let network = Network::new();
//! # let peers = [0, 1].map(|i| {
//! #     let (mac, ip) = (0x0200_0000_0002 + i, 0x0a00_0002 + i as u32);
//! #     network.add_peer(PeerConfig::new(Transport::Rc, mac, ip, 33, 17 + i as u32))
//! # });
//! # let card = libdrdma::open_on("soft:", &network)?;
//!
//! // A card, simulated or real.
//! let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
//! let context = Context::open(card, options)?;
//! let pd = context.protection_domain();
//!
//! // The table: 100 keys of 4 bytes, 100 values of 8 bytes.
//! let keys: Vec<u32> = (0..100).map(|row| row * 7).collect();
//! let values: Vec<u64> = (0..100).map(|row| row * row).collect();
//!
//! // The partitioning: one bit a row and receiver.
//! let mut bits = [vec![0u8; 13], vec![0u8; 13]];
//! for (row, key) in keys.iter().enumerate() {
//!     bits[*key as usize % 2][row / 8] |= 1 << (row % 8);
//! }
//!
//! // All of it is sent from where it lies.
//! let (keys, values) = (pd.register(keys)?, pd.register(values)?);
//! let [even, odd] = bits;
//! let bitmaps = [pd.register(even)?, pd.register(odd)?];
//!
//! // The connections. They come after the memory that is sent from, which they borrow (to have it
//! // the other way round: `Memory`).
//! let cq = context.completion_queue().entries(16).build()?;
//! let mut qps = Vec::new();
//! for i in 0..2u8 {
//!     let mut qp = pd.queue_pair(&cq).transport(Transport::Rc).qpn(17 + u32::from(i)).build()?;
//!     qp.connect(
//!         &QueuePairAttributes::new()
//!             .path_mtu(1024)
//!             .dest_qpn(33)
//!             .dest_mac(MacAddress([2, 0, 0, 0, 0, 2 + i]))
//!             .dest_ip([10, 0, 0, 2 + i].into())
//!             .start_psn(0),
//!     )?;
//!     qps.push(qp);
//! }
//!
//! // The request: for each receiver, the selected rows of both columns.
//! let region = |bitmap| -> Result<[Region; 1], libdrdma::RegionError> {
//!     let rows = Bitmapped::new(bitmap).rows(100).column(&keys, 0, 4).column(&values, 0, 8);
//!     Ok([rows.build()?])
//! };
//! let regions = [region(&bitmaps[0])?, region(&bitmaps[1])?];
//! let destinations = [
//!     Destination::new(&qps[0]).regions(&regions[0]),
//!     Destination::new(&qps[1]).regions(&regions[1]),
//! ];
//! let mut ssq = pd.shared_send_queue(&cq).build()?;
//! let request = SharedWorkRequest::new(1).rows_per_message(8).destinations(&destinations);
//! ssq.post_ssq_send(&request)?;
//!
//! // One completion for all of it.
//! let completion = cq.poll_timeout(Duration::from_secs(1))?.expect("a completion");
//! assert_eq!((completion.wr_id, completion.status), (1, Status::Success));
//! assert_eq!(completion.bytes, 100 * 12);
//! # for (receiver, peer) in peers.into_iter().enumerate() {
//! #     let messages = network.messages(peer);
//! #     assert_eq!(messages.len(), 7, "50 rows, 8 in a message");
//! #     let bytes: Vec<u8> = messages.into_iter().flat_map(|message| message.bytes).collect();
//! #     let mut expected = Vec::new();
//! #     for row in (0..100u64).filter(|row| row * 7 % 2 == receiver as u64) {
//! #         expected.extend((row as u32 * 7).to_le_bytes());
//! #         expected.extend((row * row).to_le_bytes());
//! #     }
//! #     assert_eq!(bytes, expected);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Memory safety
//!
//! A [`Region`] borrows its memory regions or shares them ([`Memory`]), so its bounds are checked
//! when it is built. A queue does the same for everything that was posted to it, so that memory is
//! neither freed nor written to while the card may read it: borrowed memory until
//! [`QueuePair::release`], shared memory until the request's completion. What cannot be known here
//! (where the pointers of a [`PointerMapped`] region point, and everything in regions made by the
//! `unchecked` functions) is checked by the card, which completes such a request with an error
//! before it sends anything of it. A queue that is leaked (`std::mem::forget`) keeps nothing
//! borrowed: the card then reads whatever is there, and nothing after the memory region was
//! dropped.
//!
//! The card writes to memory whose [`Access`] lets it: for receives, READs and atomics, and for peers that
//! have its key. Such memory lends no slices as long as it is registered; bytes are copied out, and
//! [`MemoryRegion::into_owner`] gives it back, after which the card does not reach it.
//!
//! # Errors
//!
//! What is wrong in a call is refused by it, with a message that names the values: [`RegionError`],
//! [`PostError`], [`ModifyError`]. What the card finds wrong is the [`Status`] of a completion; the
//! queue is halted then, what is behind completes with [`Status::WrFlushError`], and
//! [`QueuePair::connect`] (or [`SharedSendQueue::reset`]) starts anew.
#![deny(unsafe_code)]

mod access;
mod address;
mod append_region;
mod arena;
mod async_event;
mod body;
mod borrow;
mod channel;
mod column_writes;
mod completion_queue;
mod context;
mod described_key;
mod encode;
mod extension;
mod features;
mod index_pool;
mod memory;
mod memory_region;
mod open;
pub mod optimizer;
mod owner;
mod post_error;
mod protection_domain;
mod queue_pair;
mod queue_pair_state;
mod receive_queue;
mod region;
mod resolve;
mod send_queue;
mod shared_receive_queue;
mod shared_send_queue;
mod work_completion;
mod work_request;

pub use drdma_abi::{
    completion::Status,
    register::counter,
    roce::Transport,
    work_request::{KeyType, MAX_INLINE, MessageLayout},
};
/// Simulated cards whose time their owner advances.
#[cfg(feature = "soft")]
pub use drdma_soft::simulated;
/// The network of simulated cards: peers, and the messages that arrived there.
#[cfg(feature = "soft")]
pub use drdma_soft::wire as network;

pub use drdma_driver::{Card, CardError, DmaMemory, RegisterWindow};

pub use access::Access;
pub use address::{MacAddress, ParseMacError};
pub use append_region::{AppendRegion, AppendRegionBuilder, AppendedRows};
pub use arena::Arena;
pub use async_event::AsyncEvent;
pub use channel::{
    CompletionChannel, CompletionChannelBuilder, Completions, NextCompletion, WaitPolicy,
};
pub use completion_queue::{CompletionQueue, CompletionQueueBuilder, Poll};
pub use context::{Context, Counters, DEFAULT_ACK_TIMEOUT, Error, Options, Statistics};
pub use described_key::{DescribedKey, KeptRegionError};
pub use extension::AddressHandle;
pub use features::Features;
pub use memory::Memory;
pub use memory_region::{MemoryRegion, MemoryRegionError};
#[cfg(feature = "soft")]
pub use open::open_on;
pub use open::{DeviceError, open};
pub use owner::{Owner, Sharing};
pub use post_error::PostError;
pub use protection_domain::ProtectionDomain;
pub use queue_pair::{PostGuard, QueuePair, QueuePairBuilder};
pub use queue_pair_state::{Attribute, ModifyError, QueuePairAttributes, QueuePairState, VlanTag};
pub use receive_queue::ReceiveRequest;
pub use region::{
    Bitmapped, Column, ColumnKind, Contiguous, Extent, Fragments, KeyColumn, KindColumn, KindRows,
    Part, PartitionId, PartitionKeys, PartitionMaker, Partitioned, PartitionedRegion,
    PointerMapped, Region, RegionError, Strided, Values, ViewTable,
};
pub use resolve::{HostTables, ResolveError, Resolver};
pub use shared_receive_queue::{SharedReceiveQueue, SharedReceiveQueueBuilder};
pub use shared_send_queue::{SharedPostGuard, SharedSendQueue, SharedSendQueueBuilder};
pub use work_completion::{CompletionOpcode, WorkCompletion};
pub use work_request::{
    Destination, Operation, PartitionDestination, PartitionedWorkRequest, RemoteColumn, RowMask,
    SharedOperation, SharedRequest, SharedWorkRequest, WorkRequest,
};
