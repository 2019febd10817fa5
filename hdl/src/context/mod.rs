//! State that the host has configured, and that several rooms share: queue pairs and queues.
//!
//! Tables of thousands of entries are memories of block RAM or UltraRAM, one for each reader, all of which have the
//! same writer. [`Table`] is such a memory, which is read a cycle ahead; a [`ByteTable`] holds several of them side by
//! side. [`RingTable`] has the rings of queues. [`Flags`] has a bit for each entry that blocks set and the host clears,
//! [`Stamps`] distinguishes successive contexts of one entry, and [`States`] has the flags that the whole card shares.

pub mod byte_table;
pub mod flags;
pub mod ring_table;
pub mod select;
pub mod stamps;
pub mod states;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;

pub use byte_table::ByteTable;
pub use flags::Flags;
pub use ring_table::RingTable;
pub use select::TableSelect;
pub use stamps::Stamps;
pub use states::States;
pub use table::Table;

use drdma_abi::Layout;
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
/// `ConfigWrite::table` of the attributes that queue pairs have beside their entry:
/// `drdma_abi::receive::AttributesEntry`.
pub const ATTRIBUTES_TABLE: u64 = 4;
/// `ConfigWrite::table` of the receive queues: `drdma_abi::receive::ReceiveQueueEntry`.
pub const RECEIVE_QUEUE_TABLE: u64 = 5;
/// `ConfigWrite::table` of all tables at once: after a reset the last word of entry `index` of every table is written
/// 0. `word` is the last one of a queue pair, and `data` 0.
pub const EVERY_TABLE: u64 = 7;

/// Number of the word of a table's entry in which `field` begins.
pub(crate) fn word_of<L: Layout>(field: &str) -> Constant<Bits<4>> {
    Constant::new((L::field(field).start as u64 / 32).into())
}

/// Bit of its word at which `field` begins.
pub(crate) fn bit_of<L: Layout>(field: &str) -> Constant<Bits<5>> {
    Constant::new((L::field(field).start as u64 % 32).into())
}

/// The index of a queue pair.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct QueuePairIndex {
    /// Index of the queue pair in its tables.
    pub qp: Bits<QP>,
}

/// The index of a memory region.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RegionIndex {
    /// Index of the region in its table.
    pub region: Bits<REGION>,
}

/// A word that the host writes into a table.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ConfigWrite {
    /// Number of the table: [`QUEUE_PAIR_TABLE`] to [`RECEIVE_QUEUE_TABLE`], or [`EVERY_TABLE`].
    pub table: Bits<3>,
    /// Index of the entry.
    pub index: Bits<INDEX>,
    /// Number of the word in the entry.
    pub word: Bits<4>,
    /// Value that is written.
    pub data: Bits<32>,
}
