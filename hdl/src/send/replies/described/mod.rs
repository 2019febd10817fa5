//! READs of described keys: a region's packed bytes, as if they lay one behind the other (docs/semantics.md, "Described keys").
//!
//! Stands between the [fetcher](super::fetcher), the host's memory and the [collector](super::collector). Reads of memory pass. A read of a
//! described key becomes reads of the pieces of the region in which its bytes lie, and of bitmaps and pointers; what they bring is packed, so
//! that the collector gets the beats of one read.
//!
//! ```text
//! KEY_REGIONS -> Entries -> Walk --fetch--> host_read --beat--> Pack -> out
//!                    read --^  \------------ part ------------/  |
//!                              ^---------- bitmaps, pointers ----/
//! ```
//!
//! Contract: reads are answered in their order. A read of memory takes 2 cycles more than without this block. Before the first packet of a
//! READ of a described key the walk takes about 80 cycles and 4 a column, and where there is a bitmap 1 for each 64 rows that come before, and
//! for each row of the last 64; further packets of the READ go on where the one before has ended. A piece takes 16 cycles, a bitmap's 512 rows or 8 pointers a round trip to
//! the host's memory besides. Every piece is inside the memory region of its local key, and in the key's protection domain, whatever a bitmap or pointers
//! say: else the read ends with an error.

use crate::context::{ConfigWrite, QP};
use crate::primitive::{RamStyle, StreamFifo};
use crate::receive::responder::keys::KEY_REGION;
use crate::regions::Position;
use crate::regions::entries::{Entries, KeyWord};
use crate::regions::walk::Walk;
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;

mod pack;
#[cfg(test)]
mod tests;

use pack::Pack;

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

    entries: Entries,
    walk: Walk,
    /// Where the packet before has ended.
    position: DFF<Position>,
    #[init(StreamFifo::new(RamStyle::Distributed))]
    parts: StreamFifo<Part, PARTS, PARTS_COUNT>,
    pack: Pack,
    unused: Signal<Local, Bits<PARTS_COUNT>>,
    unused_receive: Signal<Local, Bit>,
    unused_columns: Signal<Local, Bit>,
    unused_qp: Signal<Local, Bits<QP>>,
}

impl Logic for Described {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.entries.cfg);
        self.word.join(&mut self.entries.word);
        self.entries.region.next = self.walk.region.val();
        self.entries.granule.next = self.walk.granule.val();
        self.walk.data.next = self.entries.data.val();
        self.walk.valid.next = self.entries.valid.val();
        self.cfg.join(&mut self.walk.cfg);
        self.walk.forget.next = self.word.valid.val();

        // READs, one after the other, of no queue pair. There are no receives here.
        self.walk.ask.valid.next = self.read.valid.val();
        self.walk.ask.addr.next = self.read.addr.val();
        self.walk.ask.bytes.next = self.read.bytes.val();
        self.walk.ask.plain.next = !self.read.described.val();
        self.walk.ask.writes.next = false;
        self.walk.ask.columns.next = false;
        self.walk.roomy.next = false;
        self.unused_columns.next = self.walk.column.val()
            || self.walk.again.val()
            || self.walk.rows.val().any()
            || self.walk.first.val().any()
            || self.walk.offset.val().any();
        self.walk.ask.receive.next = false;
        self.walk.ask.qp.next = 0.into();
        self.walk.ask.region.next = self.read.region.val();
        self.walk.ask.pd.next = self.read.pd.val();
        self.walk.ask.first.next = self.read.first.val();
        self.walk.ask.skip.next = 0.into();
        self.read.ready.next = self.walk.ask.ready.val();
        self.walk.kind.next = 0.into();
        self.walk.is_final.next = false;
        self.unused_receive.next = self.walk.receive.val();
        self.unused_qp.next = self.walk.qp.val() | self.walk.next_qp.val();
        self.walk.resume.next = self.position.q.val();
        if self.walk.ended.valid.val() {
            self.position.d.next = self.walk.ended.val();
        }

        // A step is a read, or fails without one.
        self.fetch.valid.next = self.walk.step.valid.val()
            && !self.walk.step.failed.val()
            && self.parts.input.ready.val();
        self.fetch.addr.next = self.walk.step.addr.val();
        self.fetch.bytes.next = self.walk.step.bytes.val();
        self.parts.input.valid.next =
            self.walk.step.valid.val() && (self.walk.step.failed.val() || self.fetch.ready.val());
        self.parts.input.data.next.bytes = self.walk.step.bytes.val();
        self.parts.input.data.next.plain = self.walk.step.plain.val();
        self.parts.input.data.next.side = self.walk.step.side.val();
        self.parts.input.data.next.last = self.walk.step.last.val();
        self.parts.input.data.next.failed = self.walk.step.failed.val();
        self.parts.input.data.next.outside = self.walk.step.outside.val();
        self.walk.step.ready.next =
            self.parts.input.ready.val() && (self.walk.step.failed.val() || self.fetch.ready.val());
        self.parts.output.join(&mut self.pack.part);
        self.beat.join(&mut self.pack.beat);
        self.pack.side.join(&mut self.walk.side);
        self.pack.out.join(&mut self.out);
        self.unused.next = self.parts.count.val() | self.parts.free.val();
    }
}
