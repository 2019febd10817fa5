//! READs of described keys: a region's packed bytes, as if they lay one behind the other (docs/semantics.md, "Described keys").
//!
//! Stands between the [fetcher](super::fetcher), the host's memory and the [collector](super::collector). Reads of memory pass. A read of a
//! described key becomes reads of the pieces of the region in which its bytes lie, and of bitmaps and pointers; what they bring is packed, so
//! that the collector gets the beats of one read.
//!
//! ```text
//! KEY_REGIONS -> Regions -> Walk --fetch--> host_read --beat--> Pack -> out
//!                    read --^  \------------ part ------------/  |
//!                              ^---------- bitmaps, pointers ----/
//! ```
//!
//! Contract: reads are answered in their order. A read of memory takes 2 cycles more than without this block. Before the first packet of a
//! READ of a described key the walk takes about 80 cycles and 4 a column, and where there is a bitmap 1 for each 64 rows that come before, and
//! for each row of the last 64; further packets of the READ go on where the one before has ended. A piece takes 16 cycles, a bitmap's 512 rows or 8 pointers a round trip to
//! the host's memory besides. Every piece is inside the memory region of its local key, and in the key's protection domain, whatever a bitmap or pointers
//! say: else the read ends with an error.

use crate::context::ConfigWrite;
use crate::primitive::{RamStyle, StreamFifo};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;

mod pack;
pub mod regions;
#[cfg(test)]
mod tests;
mod walk;

use pack::Pack;
use regions::{KEY_REGION, KeyWord};
use walk::Walk;

/// Bits of the number of reads that are under way, and of their count.
const PARTS: usize = 7;
const PARTS_COUNT: usize = PARTS + 1;

/// A packet's bytes are to be read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ReplyRead {
    /// The first one: an address, or its place among a region's packed bytes.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4,096.
    pub bytes: Bits<13>,
    /// Of the key of the READ: it is a described one,
    pub described: Bit,
    /// its region,
    pub region: Bits<KEY_REGION>,
    /// and its protection domain.
    pub pd: Bits<32>,
    /// It is the first packet of a READ; others go on where the one before has ended.
    pub first: Bit,
}

/// A read of host memory, or what takes its place.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Part {
    /// Bytes.
    pub bytes: Bits<13>,
    /// All of a packet, as it is.
    pub plain: Bit,
    /// Of a bitmap, or pointers: one beat.
    pub side: Bit,
    /// It ends its packet.
    pub last: Bit,
    /// There is no read: the packet's bytes cannot be reached.
    pub failed: Bit,
    /// The region ends before them.
    pub outside: Bit,
}

/// 64 bytes of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ReplyBeat {
    /// 64 bytes, of the last beat maybe less.
    pub data: Bits<512>,
    /// The packet's last beat.
    pub last: Bit,
    /// With the last one: some of its bytes could not be read,
    pub error: Bit,
    /// or the region has no such bytes.
    pub outside: Bit,
}

/// What was read beside.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Side {
    /// 64 bytes.
    pub data: Bits<512>,
    /// The read has failed.
    pub error: Bit,
}

/// See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `word`: what the host writes to `KEY_REGIONS`; streams `read`, `beat`.
///
/// # Outputs
/// Streams `fetch`, `out`.
#[derive(LogicBlock, BlockDefault)]
pub struct Described {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables,
    pub cfg: Flow<In, ConfigWrite>,
    /// and of regions.
    pub word: Flow<In, KeyWord>,
    /// What packets hold.
    pub read: Stream<In, ReplyRead>,
    /// Reads of host memory,
    pub fetch: Stream<Out, HostReadRequest>,
    /// and what they bring.
    pub beat: Stream<In, HostReadBeat>,
    /// What packets hold.
    pub out: Stream<Out, ReplyBeat>,

    walk: Walk,
    #[init(StreamFifo::new(RamStyle::Distributed))]
    parts: StreamFifo<Part, PARTS, PARTS_COUNT>,
    pack: Pack,
    unused: Signal<Local, Bits<PARTS_COUNT>>,
}

impl Logic for Described {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.walk.cfg);
        self.word.join(&mut self.walk.word);
        self.read.join(&mut self.walk.read);
        self.walk.fetch.join(&mut self.fetch);
        self.walk.part.join(&mut self.parts.input);
        self.parts.output.join(&mut self.pack.part);
        self.beat.join(&mut self.pack.beat);
        self.pack.side.join(&mut self.walk.side);
        self.pack.out.join(&mut self.out);
        self.unused.next = self.parts.count.val() | self.parts.free.val();
    }
}
