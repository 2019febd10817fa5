//! Declarative RDMA verbs: regions with gaps, `post_send`, `post_ssq_send`.

mod address;
mod borrow;
mod completion_queue;
mod context;
mod encode;
mod index_pool;
mod memory_region;
mod post_error;
mod protection_domain;
mod queue_pair;
mod queue_pair_state;
mod region;
mod send_queue;
mod shared_send_queue;
mod work_request;

pub use drdma_abi::{completion::Status, register::counter, roce::Transport};
pub use drdma_driver::{Card, CardError, DmaMemory};

pub use address::{MacAddress, ParseMacError};
pub use completion_queue::{CompletionQueue, CompletionQueueBuilder, Poll, WorkCompletion};
pub use context::{Context, Counters, Error, Options, Statistics};
pub use memory_region::{MemoryRegion, MemoryRegionError};
pub use post_error::PostError;
pub use protection_domain::ProtectionDomain;
pub use queue_pair::{PostGuard, QueuePair, QueuePairBuilder};
pub use queue_pair_state::{Attribute, ModifyError, QueuePairAttributes, QueuePairState};
pub use region::{
    Bitmapped, Column, Contiguous, Extent, Part, PointerMapped, Region, RegionError, Strided,
};
pub use shared_send_queue::{SharedPostGuard, SharedSendQueue, SharedSendQueueBuilder};
pub use work_request::{
    Destination, Operation, RowMask, SharedOperation, SharedWorkRequest, WorkRequest,
};
