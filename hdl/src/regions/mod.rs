//! Walks regions piece by piece: finds where any of their packed bytes lie (docs/semantics.md, "Described keys" and
//! "Receives").
//!
//! [`walk`] has the rules. The answers to READs of described keys are fetched with it
//! ([`send::replies`](crate::send::replies)), and what is received into described keys and into
//! receives with bitmaps or pointers is placed with it
//! ([`receive::pieces`](crate::receive::pieces)). [`entries`] keeps the regions of described keys.

use crate::context::QP;
use crate::receive::responder::keys::KEY_REGION;
use drdma_emit::prelude::*;
use entries::GRANULE_INDEX;

pub mod entries;
#[cfg(test)]
pub(crate) mod testing;
pub mod walk;

/// Bits of a count of bytes of a row.
pub const ROW: usize = 37;

/// Asks where the bytes of a packet lie.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct WalkAsk {
    /// Of a described key: place of the first byte among the packed bytes of its region. Of plain memory: address.
    /// Means nothing for a receive.
    pub addr: Bits<64>,
    /// Bytes of the packet, 1 to 4,096.
    pub bytes: Bits<13>,
    /// The bytes lie in plain memory, at `addr`: one step answers.
    pub plain: Bit,
    /// The bytes are written: their keys must allow that.
    pub writes: Bit,
    /// Dense columns may be answered column by column.
    pub columns: Bit,
    /// The bytes go on in the receive that the queue pair has in use, not in a described key.
    pub receive: Bit,
    /// The queue pair that the packet is for.
    pub qp: Bits<QP>,
    /// Of a described key: number of its region.
    pub region: Bits<KEY_REGION>,
    /// Protection domain of the queue pair.
    pub pd: Bits<32>,
    /// The packet is the first one of its message; others go on where the one before has ended.
    pub first: Bit,
    /// Of a receive: bytes in front of the packet's that are left out.
    pub skip: Bits<6>,
}

/// A step of a walk: a piece of memory, or a report that takes its place.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct WalkStep {
    /// Address of the piece's first byte.
    pub addr: Bits<64>,
    /// Bytes of the piece.
    pub bytes: Bits<13>,
    /// The piece is all that was asked for, in plain memory.
    pub plain: Bit,
    /// The piece is of a bitmap or of pointers, which the walk needs to be read.
    pub side: Bit,
    /// The step is the last one for what was asked for.
    pub last: Bit,
    /// There is no piece: not all of the bytes can be reached.
    pub failed: Bit,
    /// With `failed`: the region ends before the bytes do.
    pub outside: Bit,
}

/// Bytes that were read of a bitmap or of pointers.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Side {
    /// 64 bytes, from the address of the step on.
    pub data: Bits<512>,
    /// The read has failed.
    pub error: Bit,
}

/// The position in its regions at which a packet has ended.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Position {
    /// Of a described key: number of its region.
    pub region: Bits<KEY_REGION>,
    /// Of a described key: place of the next byte among the region's packed bytes.
    pub addr: Bits<64>,
    /// Of a receive: number of the region's first granule.
    pub header: Bits<GRANULE_INDEX>,
    /// Number of the row of the next byte, from 0 on; of a bitmapped region, among all rows, selected or not.
    pub row: Bits<33>,
    /// Number of the element of the next byte in that row.
    pub element: Bits<4>,
    /// Place of the next byte in that element.
    pub inside: Bits<ROW>,
}

/// A packet of a bitmapped region whose columns are all of one width: another block finds the rows.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Handed {
    /// Address of the bitmap.
    pub bitmap: Bits<64>,
    /// Rows of the region, whether selected or not.
    pub count: Bits<32>,
    /// Key of the bitmap.
    pub lkey: Bits<32>,
    /// Bytes of a value, 1 to 64.
    pub width: Bits<7>,
    /// Columns, 1 to 16.
    pub columns: Bits<5>,
    /// Bytes of a row.
    pub row_bytes: Bits<11>,
    /// Bytes of the packet.
    pub bytes: Bits<13>,
    /// The packet goes on where the one before has ended: `row` and `skip` mean nothing.
    pub continues: Bit,
    /// First row that is counted.
    pub row: Bits<33>,
    /// Selected rows from `row` on that come before the packet.
    pub skip: Bits<33>,
    /// Number of the column in which the packet begins.
    pub element: Bits<4>,
    /// Byte of that column's value with which the packet begins.
    pub inside: Bits<6>,
}

/// Result of a packet that was handed to another block.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct HandBack {
    /// Some of the packet's bytes cannot be reached; the other fields mean nothing.
    pub failed: Bit,
    /// Row of the next byte.
    pub row: Bits<33>,
    /// Number of the column of the next byte.
    pub element: Bits<4>,
    /// Place of the next byte in that column's value.
    pub inside: Bits<6>,
}

/// A range of memory that is looked up in its key.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Probe {
    /// Address of the first byte.
    pub addr: Bits<64>,
    /// Bytes of the range.
    pub bytes: Bits<13>,
    /// The key.
    pub key: Bits<32>,
}
