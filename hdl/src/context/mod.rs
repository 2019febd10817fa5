//! What the host has configured, and who may read it: state of queue pairs and queues that several
//! rooms share.
//!
//! Tables of thousands of entries are memories of block RAM or UltraRAM, one for each reader, all of
//! which have the same writer. [`Table`] is such a memory: it is asked a cycle ahead. [`Flags`] is a bit
//! an entry that blocks set and the host clears, [`Stamps`] tells contexts of one entry apart, and
//! [`States`] has the flags that the whole card shares.

pub mod flags;
pub mod select;
pub mod stamps;
pub mod states;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;

pub use flags::Flags;
pub use select::TableSelect;
pub use stamps::Stamps;
pub use states::States;
pub use table::Table;

use drdma_abi::register::{COMPLETION_QUEUES, MEMORY_REGIONS, QUEUE_PAIRS, SEND_QUEUES};
use drdma_emit::prelude::*;

/// Bits of a queue pair's index.
pub const QP: usize = QUEUE_PAIRS.index_bits();
/// Bits of a memory region's index.
pub const REGION: usize = MEMORY_REGIONS.index_bits();
/// Bits of a send queue's number.
pub const QUEUE: usize = SEND_QUEUES.index_bits();
/// Bits of a completion queue's number.
pub const CQ: usize = COMPLETION_QUEUES.index_bits();
/// Bits of an index of any table.
pub const INDEX: usize = 12;

const _: () = assert!(
    INDEX >= QP && INDEX >= REGION && INDEX >= QUEUE && INDEX >= CQ,
    "an index of some table has more bits"
);

/// `ConfigWrite::table` of the queue pairs.
pub const QUEUE_PAIR_TABLE: u64 = 0;
/// `ConfigWrite::table` of the memory regions.
pub const REGION_TABLE: u64 = 1;
/// `ConfigWrite::table` of the send queues.
pub const SEND_QUEUE_TABLE: u64 = 2;
/// `ConfigWrite::table` of the completion queues.
pub const COMPLETION_QUEUE_TABLE: u64 = 3;
/// `ConfigWrite::table` of what queue pairs have beside their entry: `drdma_abi::receive::AttributesEntry`.
pub const ATTRIBUTES_TABLE: u64 = 4;
/// `ConfigWrite::table` of the receive queues: `drdma_abi::receive::ReceiveQueueEntry`.
pub const RECEIVE_QUEUE_TABLE: u64 = 5;
/// `ConfigWrite::table` of all of them: after a reset the last word of entry `index` of every table is
/// written 0. `word` is the last one of a queue pair, and `data` 0.
pub const EVERY_TABLE: u64 = 7;

/// A queue pair.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct QueuePairIndex {
    /// Its index in the tables.
    pub qp: Bits<QP>,
}

/// A memory region.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RegionIndex {
    /// Its index in the table.
    pub region: Bits<REGION>,
}

/// A word of a table that the host writes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ConfigWrite {
    /// The table.
    pub table: Bits<3>,
    /// The entry.
    pub index: Bits<INDEX>,
    /// The word of the entry.
    pub word: Bits<4>,
    /// The value.
    pub data: Bits<32>,
}
