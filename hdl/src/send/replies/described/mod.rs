//! READs of described keys: a region's packed bytes, as if they lay one behind the other (docs/semantics.md, "Described keys").
//!
//! Stands between the [fetcher](super::fetcher), the host's memory and the [collector](super::collector). Reads of memory pass. A read of a
//! described key becomes reads of the pieces of the region in which its bytes lie, and of bitmaps and pointers; what they bring is packed, so
//! that the collector gets the beats of one read. Where the region's columns are dense, a packet is a read for each column instead, and what these bring is spread over its rows.
//!
//! ```text
//! KEY_REGIONS -> Entries -> Walk -----------fetch--> host_read --beat--> Pack -----> out
//!                    read --^ |\ \-- Runs -- ColumnReads --^         \-> Gatherer --^
//!                             | \---------------- part ------------------/ |
//!                             ^------------ bitmaps, pointers (Pack) -------/
//! ```
//!
//! Contract: reads are answered in their order. A read of memory takes 2 cycles more than without this block. Before the first packet of a
//! READ of a described key the walk takes about 80 cycles and 4 a column, and where there is a bitmap 1 for each 64 rows that come before, and
//! for each row of the last 64; further packets of the READ go on where the one before has ended. A packet in dense columns takes 30 cycles and one a column to be asked for, while others are read, and as many as it has beats
//! of 64 B, one more and at most one a column to be spread (see [`strides`] for values of odd widths). A piece takes 16 cycles, a bitmap's 512 rows or 8 pointers a round trip to
//! the host's memory besides. Every piece is inside the memory region of its local key, and in the key's protection domain, whatever a bitmap or pointers
//! say: else the read ends with an error.

use crate::context::{ConfigWrite, QP};
use crate::primitive::{RamStyle, StreamFifo};
use crate::receive::responder::keys::KEY_REGION;
use crate::receive::transposer::runs::{Planned, ROW, RowShape, Runs};
use crate::regions::Position;
use crate::regions::entries::{Entries, KeyWord};
use crate::regions::walk::Walk;
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;

mod gatherer;
mod pack;
mod reads;
pub mod strides;
#[cfg(test)]
mod tests;

use gatherer::Gatherer;
use pack::Pack;
use reads::ColumnReads;
use strides::Shape;

/// Bits of the number of reads that are under way, and of their count.
const PARTS: usize = 7;
const PARTS_COUNT: usize = PARTS + 1;
/// Bits of a place in a packet, as a signed number: up to 63 B before it, and up to a row behind it.
const OFFSET: usize = 13;
/// Bits of a number of packets in columns that are not asked for: fewer than 4 are.
const JOBS: usize = 2;

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

/// What a read is for: a [`Part`], or a column.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Due {
    /// It is a column's part of a packet.
    pub column: Bit,
    /// Of a column: from the packet's first byte to what was read, as a signed number.
    pub offset: Bits<OFFSET>,
    /// See [`Part`].
    pub bytes: Bits<13>,
    /// See [`Part`].
    pub plain: Bit,
    /// See [`Part`].
    pub side: Bit,
    /// See [`Part`].
    pub last: Bit,
    /// See [`Part`].
    pub failed: Bit,
    /// See [`Part`].
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
    parts: StreamFifo<Due, PARTS, PARTS_COUNT>,
    pack: Pack,

    // Packets in dense columns.
    /// Bytes of the packet that is walked.
    bytes: DFF<Bits<13>>,
    runs: Runs,
    plan: Signal<Local, Planned>,
    grain: Signal<Local, Bits<2>>,
    /// The rows of each packet, for its reads and for what they bring.
    shapes: StreamFifo<RowShape, 2, 3>,
    #[init(StreamFifo::new(RamStyle::Distributed))]
    spreads: StreamFifo<Shape, PARTS, PARTS_COUNT>,
    column_reads: ColumnReads,
    /// Packets whose columns are told and not all asked for: what comes behind waits.
    jobs: DFF<Bits<JOBS>>,
    told: Signal<Local, Bit>,
    asked: Signal<Local, Bit>,
    by_columns: Signal<Local, Bit>,
    /// A step that is no column, and whether it needs no read.
    steps: Signal<Local, Bit>,
    reads: Signal<Local, Bit>,
    gatherer: Gatherer,
    is_column: Signal<Local, Bit>,
    /// What is packed waits for what is gathered before it.
    is_part: Signal<Local, Bit>,
    unused: Signal<Local, Bits<PARTS_COUNT>>,
    unused_receive: Signal<Local, Bit>,
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
        self.walk.ask.columns.next = true;
        if self.read.valid.val() && self.walk.ask.ready.val() {
            self.bytes.d.next = self.read.bytes.val();
        }
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

        // Columns go where their runs are cut, which takes all of a packet's once it takes the first one. The last one takes them back.
        self.walk.roomy.next = self.runs.target.ready.val();
        self.runs.target.valid.next =
            self.walk.column.val() && (self.walk.step.valid.val() || self.walk.again.val());
        self.runs.target.addr.next = self.walk.step.addr.val();
        self.runs.target.width.next = self.walk.step.bytes.val().get_bits::<7>(0);
        self.runs.target.last.next = self.walk.step.last.val();
        self.runs.target.dropped.next = self.walk.again.val();
        self.runs.target.ram.next = 0.into();
        self.runs.target.bytes.next = self.bytes.q.val();
        self.runs.target.column.next = self.walk.first.val();
        self.runs.target.offset.next = self.walk.offset.val();
        self.runs.target.rows.next = self.walk.rows.val();
        self.told.next = self.runs.target.valid.val()
            && self.runs.target.ready.val()
            && self.walk.step.last.val()
            && !self.walk.again.val();

        // What a packet's rows are. It is planned and cut at once: a run has no place of its own in a memory.
        self.plan.next = self.runs.planned.val();
        self.runs.planned.ready.next =
            self.shapes.input.ready.val() && self.spreads.input.ready.val();
        self.grain.next = 2.into();
        if self.runs.shape.val().width.get_bit(1) || self.runs.shape.val().start.get_bit(1) {
            self.grain.next = 1.into();
        }
        if self.runs.shape.val().width.get_bit(0) || self.runs.shape.val().start.get_bit(0) {
            self.grain.next = 0.into();
        }
        self.shapes.input.valid.next =
            self.runs.planned.valid.val() && self.spreads.input.ready.val();
        self.shapes.input.data.next = self.runs.shape.val();
        self.spreads.input.valid.next =
            self.runs.planned.valid.val() && self.shapes.input.ready.val();
        self.spreads.input.data.next.row = self.runs.shape.val().row;
        self.spreads.input.data.next.width = self.runs.shape.val().width;
        self.spreads.input.data.next.grain = self.grain.val();
        self.spreads.input.data.next.turned = self.runs.shape.val().columns.get_bits::<2>(0) == 0;
        self.spreads.input.data.next.bytes = self.plan.val().bytes;
        self.shapes.output.join(&mut self.column_reads.shape);
        self.runs.run.join(&mut self.column_reads.run);
        self.runs.column.join(&mut self.column_reads.column);
        self.runs.freed.next = self.column_reads.run.valid.val()
            && self.column_reads.run.ready.val()
            && self.column_reads.run.last.val();
        self.runs.freed_rows.next = self.column_reads.run.rows.val();

        // A step or a column is a read, or needs none.
        self.by_columns.next = self.jobs.q.val().any();
        self.steps.next =
            self.walk.step.valid.val() && !self.walk.column.val() && !self.by_columns.val();
        self.reads.next = self.steps.val() && !self.walk.step.failed.val();
        self.fetch.addr.next = self.walk.step.addr.val();
        self.fetch.bytes.next = self.walk.step.bytes.val();
        self.parts.input.data.next.column = self.by_columns.val();
        self.parts.input.data.next.offset = self.column_reads.read.offset.val();
        self.parts.input.data.next.bytes = self.walk.step.bytes.val();
        self.parts.input.data.next.plain = self.walk.step.plain.val();
        self.parts.input.data.next.side = self.walk.step.side.val();
        self.parts.input.data.next.last = self.walk.step.last.val();
        self.parts.input.data.next.failed = self.walk.step.failed.val();
        self.parts.input.data.next.outside = self.walk.step.outside.val();
        if self.by_columns.val() {
            self.reads.next =
                self.column_reads.read.valid.val() && self.column_reads.read.bytes.val().any();
            self.fetch.addr.next = self.column_reads.read.addr.val();
            self.fetch.bytes.next = self.column_reads.read.bytes.val();
            self.parts.input.data.next.bytes = self.column_reads.read.bytes.val();
            self.parts.input.data.next.last = self.column_reads.read.last.val();
        }
        self.fetch.valid.next = self.reads.val() && self.parts.input.ready.val();
        self.parts.input.valid.next = (self.steps.val()
            || (self.by_columns.val() && self.column_reads.read.valid.val()))
            && (!self.reads.val() || self.fetch.ready.val());
        self.asked.next = self.by_columns.val()
            && self.parts.input.valid.val()
            && self.parts.input.ready.val()
            && self.column_reads.read.last.val();
        self.column_reads.read.ready.next = self.by_columns.val()
            && self.parts.input.ready.val()
            && (!self.reads.val() || self.fetch.ready.val());
        // The walk looks at this in the same cycle: one expression, which does not waver.
        self.walk.step.ready.next = (self.walk.column.val() && self.runs.target.ready.val())
            || (!self.walk.column.val()
                && self.parts.input.ready.val()
                && !self.by_columns.val()
                && (self.walk.step.failed.val() || self.fetch.ready.val()));
        if self.told.val() && !self.asked.val() {
            self.jobs.d.next = self.jobs.q.val() + 1;
        }
        if self.asked.val() && !self.told.val() {
            self.jobs.d.next = self.jobs.q.val() - 1;
        }

        // What comes is packed or gathered, in its order.
        self.is_column.next = self.parts.output.valid.val() && self.parts.output.data.val().column;
        self.is_part.next = self.parts.output.valid.val()
            && !self.parts.output.data.val().column
            && !self.gatherer.holds.val();
        self.spreads.output.join(&mut self.gatherer.shape);
        self.gatherer.strip.valid.next = self.is_column.val();
        self.gatherer.strip.bytes.next = self.parts.output.data.val().bytes;
        self.gatherer.strip.offset.next = self.parts.output.data.val().offset;
        self.gatherer.strip.last.next = self.parts.output.data.val().last;
        self.pack.part.valid.next = self.is_part.val();
        self.pack.part.bytes.next = self.parts.output.data.val().bytes;
        self.pack.part.plain.next = self.parts.output.data.val().plain;
        self.pack.part.side.next = self.parts.output.data.val().side;
        self.pack.part.last.next = self.parts.output.data.val().last;
        self.pack.part.failed.next = self.parts.output.data.val().failed;
        self.pack.part.outside.next = self.parts.output.data.val().outside;
        self.parts.output.ready.next = self.is_part.val() && self.pack.part.ready.val();
        self.pack.beat.next = self.beat.val();
        self.pack.beat.valid.next = self.beat.valid.val() && self.is_part.val();
        self.gatherer.beat.next = self.beat.val();
        self.gatherer.beat.valid.next = self.beat.valid.val() && self.is_column.val();
        self.beat.ready.next = self.is_part.val() && self.pack.beat.ready.val();
        if self.is_column.val() {
            self.parts.output.ready.next = self.gatherer.strip.ready.val();
            self.beat.ready.next = self.gatherer.beat.ready.val();
        }
        self.pack.side.join(&mut self.walk.side);

        // What is packed was asked for before what is gathered, if there is both.
        self.out.valid.next = self.pack.out.valid.val() || self.gatherer.out.valid.val();
        self.out.next = self.gatherer.out.val();
        self.gatherer.out.ready.next = self.out.ready.val() && !self.pack.out.valid.val();
        self.pack.out.ready.next = self.out.ready.val();
        if self.pack.out.valid.val() {
            self.out.next = self.pack.out.val();
        }
        self.unused.next = self.parts.count.val()
            | self.parts.free.val()
            | self.spreads.count.val()
            | self.spreads.free.val()
            | bit_cast::<PARTS_COUNT, 3>(self.shapes.count.val())
            | bit_cast::<PARTS_COUNT, 3>(self.shapes.free.val())
            | bit_cast::<PARTS_COUNT, 1>(
                (self.plan.val().rows.any()
                    || self.plan.val().column.any()
                    || self.plan.val().offset.any()
                    || self.plan.val().ends)
                    .into(),
            );
        if self.rst.val() {
            self.jobs.d.next = 0.into();
        }
    }
}
