//! What the host has configured, and who may read it: state of queue pairs that several rooms share.

pub mod stamps;

pub use stamps::Stamps;

use drdma_emit::prelude::*;

/// A word of a table that the host writes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ConfigWrite {
    /// The table.
    pub table: Bits<3>,
    /// The entry.
    pub index: Bits<10>,
    /// The word of the entry.
    pub word: Bits<4>,
    /// The value.
    pub data: Bits<32>,
}
