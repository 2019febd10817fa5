//! Regions that are walked piece by piece: where any of their packed bytes lie (docs/semantics.md, "Described keys" and "Receives").
//!
//! [`walk`] has the rules; the answers to READs of described keys are fetched by it ([`send::replies`](crate::send::replies)), and what is received
//! into described keys and into receives with bitmaps or pointers is placed by it ([`receive::pieces`](crate::receive::pieces)).
//! [`entries`] keeps the regions of described keys.

use crate::context::QP;
use crate::receive::responder::keys::KEY_REGION;
use drdma_emit::prelude::*;
use entries::GRANULE_INDEX;

pub mod entries;
#[cfg(test)]
pub(crate) mod testing;
pub mod walk;

/// Bits of the bytes of a row.
pub const ROW: usize = 37;

/// Bytes of a packet are to be found.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct WalkAsk {
    /// The first one: its place among the packed bytes of a described key's region. It means nothing for a receive.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4,096.
    pub bytes: Bits<13>,
    /// They lie in memory, at `addr`: they pass as they are.
    pub plain: Bit,
    /// They are written: the keys of what is written must allow that.
    pub writes: Bit,
    /// Dense columns are told column by column.
    pub columns: Bit,
    /// They go on in the receive that the queue pair has in use, not in a described key.
    pub receive: Bit,
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Of a described key: its region.
    pub region: Bits<KEY_REGION>,
    /// The protection domain.
    pub pd: Bits<32>,
    /// It is the first packet of its message; others go on where the one before has ended.
    pub first: Bit,
    /// Bytes of the receive that are left out before them.
    pub skip: Bits<6>,
}

/// A piece of memory, or what takes its place.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct WalkStep {
    /// Its first byte.
    pub addr: Bits<64>,
    /// Bytes.
    pub bytes: Bits<13>,
    /// It is all that was asked for.
    pub plain: Bit,
    /// It is of a bitmap, or pointers, which the walk needs.
    pub side: Bit,
    /// It ends what was asked for.
    pub last: Bit,
    /// There is no piece: the bytes cannot be reached, or not all of them.
    pub failed: Bit,
    /// The region ends before them.
    pub outside: Bit,
}

/// What was read of a bitmap or of pointers.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Side {
    /// 64 bytes.
    pub data: Bits<512>,
    /// The read has failed.
    pub error: Bit,
}

/// Where a packet has ended.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Position {
    /// Of a described key: its region,
    pub region: Bits<KEY_REGION>,
    /// and the next packed byte.
    pub addr: Bits<64>,
    /// Of a receive: the first granule of the region.
    pub header: Bits<GRANULE_INDEX>,
    /// The row, from 0 on, of a bitmapped region selected or not,
    pub row: Bits<33>,
    /// the element of it,
    pub element: Bits<4>,
    /// and the byte of that.
    pub inside: Bits<ROW>,
}

/// Bits of a [`Position`].
pub const POSITION: usize = KEY_REGION + 64 + GRANULE_INDEX + 33 + 4 + ROW;
