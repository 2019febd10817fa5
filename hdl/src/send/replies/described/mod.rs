//! Reads described keys for READs: a region's packed bytes, as if they lay one behind the other (docs/semantics.md,
//! "Described keys").
//!
//! Stands between the [fetcher](super::fetcher), the host's memory and the [collector](super::collector). Reads of
//! plain memory pass. A read of a
//! described key becomes reads of the pieces of the region in which its bytes lie, and of bitmaps and pointers; what
//! they bring is packed, so
//! that the collector gets the beats of one read. If the region's columns are dense, a packet becomes one read for each
//! column instead, and what these bring is spread over the packet's rows.
//!
//! ```text
//! KEY_REGIONS -> Entries -> Walk -----------fetch--> host_read --beat--> Pack -----> out
//!                    read --^ |\ \-- Runs -- ColumnReads --^         \-> Gatherer --^
//!                             | \---------------- part ------------------/ |
//!                             ^------------ bitmaps, pointers (Pack) -------/
//! ```
//!
//! Contract: reads are answered in their order. A read of plain memory takes 2 cycles more than without this block.
//! Before the first packet of a
//! READ of a described key, the walk takes about 80 cycles, 4 more for each column, and with a bitmap 1 more for each
//! 64 rows that come before and 1
//! for each row of the last 64; further packets of the READ go on where the one before has ended. A packet in dense
//! columns takes 30 cycles and 1 for each column to be asked for,
//! while others are read; to be spread it takes as many cycles as it has beats of 64 B, 1 more, and at most 1 for each
//! column (see [`strides`] for values of odd widths). A piece takes 16 cycles;
//! 512 rows of a bitmap or 8 pointers take a round trip to the host's memory besides. Every piece lies inside the
//! memory region of its local key, and in the key's protection domain, whatever a bitmap or pointers
//! say; otherwise the read ends with an error.

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
mod selection;
pub mod strides;
#[cfg(test)]
mod tests;

use gatherer::Gatherer;
use pack::Pack;
use reads::ColumnReads;
use selection::Selection;
use strides::Shape;

/// Bits of the number of a read among those under way, and of their count.
const PARTS: usize = 7;
const PARTS_COUNT: usize = PARTS + 1;
/// Bits of a place in a packet, as a signed number of bytes: up to 63 B before it, and up to a row behind it.
const OFFSET: usize = 13;
/// Bits of a count of packets in columns that are not asked for yet: fewer than 4.
const JOBS: usize = 2;

/// A read of a packet's bytes, from plain memory or from a region.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ReplyRead {
    /// The first byte: its address, or its place among a region's packed bytes.
    pub addr: Bits<64>,
    /// Bytes to read, 1 to 4,096.
    pub bytes: Bits<13>,
    /// The key is a described one: `addr` is a place in `region`.
    pub described: Bit,
    /// The region of the described key; valid with `described`.
    pub region: Bits<KEY_REGION>,
    /// Protection domain of the queue pair whose peer reads.
    pub pd: Bits<32>,
    /// The read is of the READ's first packet; other packets go on where the one before has ended.
    pub first: Bit,
}

/// A read of host memory for a packet, or an entry that takes its place in the order of reads.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Part {
    /// Bytes that are read.
    pub bytes: Bits<13>,
    /// The read is of a whole packet in plain memory: its beats pass as they are.
    pub plain: Bit,
    /// The read is of a bitmap or of pointers, in one beat; it brings no bytes of the packet.
    pub side: Bit,
    /// The read is the packet's last one.
    pub last: Bit,
    /// There is no read: the packet's bytes cannot be reached.
    pub failed: Bit,
    /// With `failed`: the region ends before these bytes.
    pub outside: Bit,
}

/// Purpose of a read of host memory: a [`Part`] of a packet, or one of its columns.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Due {
    /// The read is of a column's values in a packet.
    pub column: Bit,
    /// Of a column: the distance from the packet's first byte to the first one that was read, as a signed number of
    /// bytes.
    pub offset: Bits<OFFSET>,
    /// Bytes that are read; 0 for a column that the packet has none of.
    pub bytes: Bits<13>,
    /// Of a part: the read is of a whole packet in plain memory, whose beats pass as they are.
    pub plain: Bit,
    /// Of a part: the read is of a bitmap or of pointers, in one beat.
    pub side: Bit,
    /// With `side`: it is for the selection, not for the walk.
    pub ahead: Bit,
    /// The read is the packet's last one.
    pub last: Bit,
    /// There is no read, because the packet's bytes cannot be reached.
    pub failed: Bit,
    /// With `failed`: the region ends before these bytes.
    pub outside: Bit,
}

/// A beat of a packet's bytes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ReplyBeat {
    /// Bytes of the packet, the first one lowest: 64, in the last beat maybe fewer.
    pub data: Bits<512>,
    /// The beat is the packet's last one.
    pub last: Bit,
    /// Valid with `last`: some of the packet's bytes could not be read.
    pub error: Bit,
    /// Valid with `error`: the region has no such bytes.
    pub outside: Bit,
}

/// Reads packets from plain memory and from regions. See the [module](self).
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
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to `KEY_REGIONS`.
    pub word: Flow<In, KeyWord>,
    /// Reads of packets, from the fetcher.
    pub read: Stream<In, ReplyRead>,
    /// Reads of host memory.
    pub fetch: Stream<Out, HostReadRequest>,
    /// Bytes that the reads of host memory bring, in their order.
    pub beat: Stream<In, HostReadBeat>,
    /// Bytes of packets, in the order of `read`.
    pub out: Stream<Out, ReplyBeat>,

    entries: Entries,
    walk: Walk,
    /// The position in its region at which the packet before has ended.
    position: DFF<Position>,
    #[init(StreamFifo::new(RamStyle::Distributed))]
    parts: StreamFifo<Due, PARTS, PARTS_COUNT>,
    pack: Pack,

    // Packets in dense columns.
    /// Bytes of the packet whose region is walked.
    bytes: DFF<Bits<13>>,
    runs: Runs,
    plan: Signal<Local, Planned>,
    grain: Signal<Local, Bits<2>>,
    /// The rows of each packet, for its reads.
    shapes: StreamFifo<RowShape, 2, 3>,
    #[init(StreamFifo::new(RamStyle::Distributed))]
    spreads: StreamFifo<Shape, PARTS, PARTS_COUNT>,
    column_reads: ColumnReads,
    /// Packets in columns whose columns are known, and not all asked for; packets behind them wait.
    jobs: DFF<Bits<JOBS>>,
    told: Signal<Local, Bit>,
    asked: Signal<Local, Bit>,
    by_columns: Signal<Local, Bit>,
    /// The walk offers a step that is not a column; `reads`: a read is offered.
    steps: Signal<Local, Bit>,
    reads: Signal<Local, Bit>,
    gatherer: Gatherer,

    // Packets of which a bitmap selects the rows.
    selection: Selection,
    selects: Signal<Local, Bit>,
    is_column: Signal<Local, Bit>,
    /// The oldest read is a part; nothing that was gathered before it waits to leave, or it is of a bitmap or of
    /// pointers.
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
        if self.walk.hands.val() {
            self.entries.granule.next = self.selection.granule.val();
        }
        self.selection.data.next = self.entries.data.val();
        self.selection.hands.next = self.walk.hands.val();
        self.selection.handed.next = self.walk.handed.val();
        self.walk.back.valid.next = self.selection.back.valid.val();
        self.walk.back.next = self.selection.back.val();
        self.walk.probe.next = self.selection.probe.val();
        self.selection.probed.next = self.walk.probed.val();
        self.walk.data.next = self.entries.data.val();
        self.walk.valid.next = self.entries.valid.val();
        self.cfg.join(&mut self.walk.cfg);
        self.walk.forget.next = self.word.valid.val();

        // READs are walked one after the other, for no queue pair. There are no receives here.
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

        // The walk gives columns to `runs`, which accepts all of a packet's columns once it has accepted the first one.
        // With `again`, the last one withdraws them.
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

        // The shape of a packet's rows. A packet is planned and cut at once: a run has no place of its own in a memory.
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
        // The shapes keep the order of packets: the selection waits until those in columns before are asked for.
        self.selection.clear.next = !self.jobs.q.val().any();
        self.selection.shape.ready.next = self.spreads.input.ready.val();
        if self.selection.shape.valid.val() {
            self.spreads.input.valid.next = true;
            self.spreads.input.data.next = self.selection.shape.val();
        }
        self.shapes.output.join(&mut self.column_reads.shape);
        self.runs.run.join(&mut self.column_reads.run);
        self.runs.column.join(&mut self.column_reads.column);
        self.runs.freed.next = self.column_reads.run.valid.val()
            && self.column_reads.run.ready.val()
            && self.column_reads.run.last.val();
        self.runs.freed_rows.next = self.column_reads.run.rows.val();

        // A step of the walk or a column becomes a read, or needs none.
        // What the selection reads was asked for before anything else that waits.
        self.selects.next = self.selection.holds.val();
        self.by_columns.next = self.jobs.q.val().any() && !self.selects.val();
        self.steps.next = self.walk.step.valid.val()
            && !self.walk.column.val()
            && !self.jobs.q.val().any()
            && !self.selects.val();
        self.reads.next = self.steps.val() && !self.walk.step.failed.val();
        self.fetch.addr.next = self.walk.step.addr.val();
        self.fetch.bytes.next = self.walk.step.bytes.val();
        self.parts.input.data.next.column = self.by_columns.val();
        self.parts.input.data.next.offset = self.column_reads.read.offset.val();
        self.parts.input.data.next.bytes = self.walk.step.bytes.val();
        self.parts.input.data.next.plain = self.walk.step.plain.val();
        self.parts.input.data.next.side = self.walk.step.side.val();
        self.parts.input.data.next.ahead = false;
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
            self.parts.input.data.next.plain = false;
            self.parts.input.data.next.side = false;
            self.parts.input.data.next.failed = false;
            self.parts.input.data.next.outside = false;
        }
        if self.selects.val() {
            self.reads.next =
                self.selection.read.valid.val() && self.selection.read.bytes.val().any();
            self.fetch.addr.next = self.selection.read.addr.val();
            self.fetch.bytes.next = self.selection.read.bytes.val();
            self.parts.input.data.next.column = !self.selection.read.side.val();
            self.parts.input.data.next.offset = self.selection.read.offset.val();
            self.parts.input.data.next.bytes = self.selection.read.bytes.val();
            self.parts.input.data.next.plain = false;
            self.parts.input.data.next.side = self.selection.read.side.val();
            self.parts.input.data.next.ahead = true;
            self.parts.input.data.next.last = self.selection.read.last.val();
            self.parts.input.data.next.failed = self.selection.read.failed.val();
            self.parts.input.data.next.outside = self.selection.read.outside.val();
        }
        self.fetch.valid.next = self.reads.val() && self.parts.input.ready.val();
        self.parts.input.valid.next = (self.steps.val()
            || (self.selects.val() && self.selection.read.valid.val())
            || (self.by_columns.val() && self.column_reads.read.valid.val()))
            && (!self.reads.val() || self.fetch.ready.val());
        self.asked.next = self.by_columns.val()
            && self.parts.input.valid.val()
            && self.parts.input.ready.val()
            && self.column_reads.read.last.val();
        self.column_reads.read.ready.next = self.by_columns.val()
            && self.parts.input.ready.val()
            && (!self.reads.val() || self.fetch.ready.val());
        self.selection.read.ready.next = self.selects.val()
            && self.parts.input.ready.val()
            && (!self.reads.val() || self.fetch.ready.val());
        // The walk uses this ready in the same cycle: it is one expression, so that it has no glitch.
        self.walk.step.ready.next = (self.walk.column.val() && self.runs.target.ready.val())
            || (!self.walk.column.val()
                && self.parts.input.ready.val()
                && !self.jobs.q.val().any()
                && !self.selects.val()
                && (self.walk.step.failed.val() || self.fetch.ready.val()));
        if self.told.val() && !self.asked.val() {
            self.jobs.d.next = self.jobs.q.val() + 1;
        }
        if self.asked.val() && !self.told.val() {
            self.jobs.d.next = self.jobs.q.val() - 1;
        }

        // The beats of each read are packed or gathered, in their order.
        self.is_column.next = self.parts.output.valid.val() && self.parts.output.data.val().column;
        self.is_part.next = self.parts.output.valid.val()
            && !self.parts.output.data.val().column
            && (self.parts.output.data.val().side || !self.gatherer.holds.val());
        self.spreads.output.join(&mut self.gatherer.shape);
        self.gatherer.strip.valid.next = self.is_column.val();
        self.gatherer.strip.bytes.next = self.parts.output.data.val().bytes;
        self.gatherer.strip.offset.next = self.parts.output.data.val().offset;
        self.gatherer.strip.last.next = self.parts.output.data.val().last;
        self.gatherer.strip.failed.next = self.parts.output.data.val().failed;
        self.gatherer.strip.outside.next = self.parts.output.data.val().outside;
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
        self.walk.side.valid.next =
            self.pack.side.valid.val() && !self.parts.output.data.val().ahead;
        self.walk.side.next = self.pack.side.val();
        self.selection.line.valid.next =
            self.pack.side.valid.val() && self.parts.output.data.val().ahead;
        self.selection.line.next = self.pack.side.val();

        // If both have a beat, the packed one was asked for first.
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
