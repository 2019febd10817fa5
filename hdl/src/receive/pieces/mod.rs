//! Finds out where the bytes of packets go that fill regions piece by piece: WRITEs to described keys, and receives
//! with bitmapped or pointer-mapped regions.
//!
//! Stands beside the responder, which asks about each packet before it decides about it, and the receive queues, which
//! have the pieces written.
//!
//! ```text
//!   KEY_REGIONS --> Entries --\          /--> told
//! regions of receives --> granules --> Walk --> Kept --piece--> scatter
//!                    ask --^  \--read, beat: bitmaps, pointers
//! ```
//!
//! The rules are those of [`Walk`], which READs of described keys go by, too. A packet of which a byte cannot be
//! reached has no pieces: the answer comes when all pieces are known, and they are kept until it is settled what
//! becomes of the packet.
//!
//! Contract: a packet at a time. It is asked about, answered, and settled, in this order and in cycles of their own;
//! one that is asked about in two parts is answered twice and settled once. Pieces come in the order of the packets,
//! after they are settled, one a cycle; up to 4,096 wait, so that each packet has room. An answer takes as long as the
//! walk, and as long as there is no room for a piece. The regions of a receive are known from the cycle after their
//! last granule on.

use crate::context::{ConfigWrite, QP, Table};
use crate::receive::receives::record::{PLACES, ReceiveGranule, SLOT};
use crate::receive::record::{PiecePlace, RegionAsk, RegionSettle, RegionTold, RegionVerdict};
use crate::regions::entries::{Entries, GRANULE_BITS, GRANULE_INDEX, KEY_REGION, KeyWord};
use crate::regions::walk::Walk;
use crate::regions::{Handed, Position, ROW};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;
use kept::Kept;

pub mod kept;
#[cfg(test)]
mod tests;

/// Bits of a granule in the table, behind which stand the type of its region and whether the region is the last one.
const KIND: usize = GRANULE_BITS;
const OF_LAST: usize = KIND + 2;
/// Bits of a granule of a receive in the table.
const KEPT_GRANULE: usize = OF_LAST + 1;
/// Bits of the number of a granule in its receive.
const INDEX: usize = PLACES - 1;
/// Bits of the address of a granule: slot of the receive, number.
const PLACE: usize = SLOT + INDEX;
/// Bits of the region of a described key, or of the header's number of a receive's region.
const NAME: usize = KEY_REGION;
/// Bits of an element's number; or with the top bit, of the high part of a place in a region that has no elements.
/// Those of other regions have less than 4 GiB.
const PART: usize = 6;
/// First bits of the fields of a position in the table.
const ADDR_AT: usize = NAME;
const ROW_AT: usize = ADDR_AT + 64;
const PART_AT: usize = ROW_AT + 33;
const INSIDE_AT: usize = PART_AT + PART;
const POSITION: usize = INSIDE_AT + 32;
// A position fits into two UltraRAMs side by side.
const _: () = assert!(POSITION <= 2 * 72 && GRANULE_INDEX <= NAME && ROW == 32 + PART - 1);

/// Finds out where bytes go. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `word`: what the host writes to `KEY_REGIONS`; `granule`; stream `ask`; `settle`; stream
/// `beat`.
///
/// # Outputs
/// `told`; streams `read`, `piece`; `busy`.
#[derive(LogicBlock, BlockDefault)]
pub struct Pieces {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to `KEY_REGIONS`.
    pub word: Flow<In, KeyWord>,
    /// Granules of receives that are taken.
    pub granule: Flow<In, ReceiveGranule>,
    /// A packet, or a part of one, that is asked about.
    pub ask: Stream<In, RegionAsk>,
    /// Answer to the question: whether all bytes can be placed.
    pub told: Flow<Out, RegionTold>,
    /// Decision about the packet that was asked about.
    pub settle: Flow<In, RegionSettle>,
    /// Reads of bitmaps and pointers.
    pub read: Stream<Out, HostReadRequest>,
    /// Bytes that the reads bring.
    pub beat: Stream<In, HostReadBeat>,
    /// Pieces of memory to which the bytes of the placed packets go.
    pub piece: Stream<Out, PiecePlace>,
    /// A packet or its pieces are at work here.
    pub busy: Signal<Out, Bit>,

    entries: Entries,
    granules: Table<KEPT_GRANULE, PLACE>,
    /// Of each queue pair: the slot of the receive that it has in use.
    slots: Table<SLOT, QP>,
    positions: Table<POSITION, QP>,
    /// The position at which a packet has ended, a cycle later: it is known late.
    ended: DFF<Position>,
    ends: DFF<Bit>,
    ended_qp: DFF<Bits<QP>>,
    ended_receive: DFF<Bit>,
    name_in: Signal<Local, Bits<NAME>>,
    part_in: Signal<Local, Bits<PART>>,
    kept_position: Signal<Local, Bits<POSITION>>,
    part_out: Signal<Local, Bits<PART>>,
    walk: Walk,
    kept: Kept,
    /// A packet was asked about, and is not settled.
    open: DFF<Bit>,
    /// The packet was settled in the cycle before.
    settles: DFF<Bit>,
    /// The packet that was settled is placed.
    placed: DFF<Bit>,
    of_receive: Signal<Local, Bit>,
    unused_last: Signal<Local, Bit>,
    unused_plain: Signal<Local, Bit>,
    unused_hands: Signal<Local, Bit>,
    unused_handed: Signal<Local, Handed>,
}

impl Logic for Pieces {
    #[hdl_gen]
    fn update(&mut self) {
        // Granules of the regions of keys and of receives.
        self.cfg.join(&mut self.entries.cfg);
        self.word.join(&mut self.entries.word);
        self.entries.region.next = self.walk.region.val();
        self.entries.granule.next = self.walk.granule.val();
        self.granules.write_enable.next = self.granule.valid.val();
        self.granules.write_address.next = (bit_cast::<PLACE, SLOT>(self.granule.slot.val())
            << INDEX as u64)
            | bit_cast::<PLACE, INDEX>(self.granule.index.val());
        self.granules.write_data.next =
            bit_cast::<KEPT_GRANULE, GRANULE_BITS>(self.granule.data.val())
                | (bit_cast::<KEPT_GRANULE, 2>(self.granule.kind.val()) << KIND as u64)
                | (bit_cast::<KEPT_GRANULE, 1>(self.granule.of_last.val().into())
                    << OF_LAST as u64);
        self.granules.ahead.next = (bit_cast::<PLACE, SLOT>(self.slots.read_data.val())
            << INDEX as u64)
            | bit_cast::<PLACE, INDEX>(self.walk.granule.val());
        self.slots.write_enable.next = self.granule.valid.val();
        self.slots.write_address.next = self.granule.qp.val();
        self.slots.write_data.next = self.granule.slot.val();
        self.slots.ahead.next = self.walk.next_qp.val();
        self.of_receive.next = self.walk.receive.val();
        self.walk.data.next = self.entries.data.val();
        if self.of_receive.val() {
            self.walk.data.next = self.granules.read_data.val().get_bits::<GRANULE_BITS>(0);
        }
        self.walk.valid.next = self.entries.valid.val();
        self.walk.kind.next = self.granules.read_data.val().get_bits::<2>(KIND);
        self.walk.is_final.next = self.granules.read_data.val().get_bit(OF_LAST);
        self.walk.forget.next = self.word.valid.val();

        // Positions at which the last packet of each queue pair has ended.
        self.ends.d.next = self.walk.ended.valid.val();
        self.ended.d.next = self.walk.ended.val();
        self.ended_qp.d.next = self.walk.qp.val();
        self.ended_receive.d.next = self.walk.receive.val();
        self.name_in.next = self.ended.q.val().region;
        if self.ended_receive.q.val() {
            self.name_in.next = bit_cast::<NAME, GRANULE_INDEX>(self.ended.q.val().header);
        }
        self.part_in.next = bit_cast::<PART, 4>(self.ended.q.val().element);
        if self.ended.q.val().inside.get_bits::<5>(32).any() {
            self.part_in.next = bit_cast::<PART, 5>(self.ended.q.val().inside.get_bits::<5>(32))
                | (bits::<PART>(1) << 5);
        }
        self.positions.write_enable.next = self.ends.q.val();
        self.positions.write_address.next = self.ended_qp.q.val();
        self.positions.write_data.next = bit_cast::<POSITION, NAME>(self.name_in.val())
            | (bit_cast::<POSITION, 64>(self.ended.q.val().addr) << ADDR_AT as u64)
            | (bit_cast::<POSITION, 33>(self.ended.q.val().row) << ROW_AT as u64)
            | (bit_cast::<POSITION, PART>(self.part_in.val()) << PART_AT as u64)
            | (bit_cast::<POSITION, 32>(self.ended.q.val().inside.get_bits::<32>(0))
                << INSIDE_AT as u64);
        self.positions.ahead.next = self.walk.next_qp.val();
        self.kept_position.next = self.positions.read_data.val();
        self.part_out.next = self.kept_position.val().get_bits::<PART>(PART_AT);
        self.walk.resume.region.next = self.kept_position.val().get_bits::<NAME>(0);
        self.walk.resume.header.next = self.kept_position.val().get_bits::<GRANULE_INDEX>(0);
        self.walk.resume.addr.next = self.kept_position.val().get_bits::<64>(ADDR_AT);
        self.walk.resume.row.next = self.kept_position.val().get_bits::<33>(ROW_AT);
        self.walk.resume.element.next = self.part_out.val().get_bits::<4>(0);
        self.walk.resume.inside.next =
            bit_cast::<ROW, 32>(self.kept_position.val().get_bits::<32>(INSIDE_AT));
        if self.part_out.val().get_bit(5) {
            self.walk.resume.element.next = 0.into();
            self.walk.resume.inside.next =
                bit_cast::<ROW, 32>(self.kept_position.val().get_bits::<32>(INSIDE_AT))
                    | (bit_cast::<ROW, 5>(self.part_out.val().get_bits::<5>(0)) << 32);
        }

        // The packet that is asked about.
        self.cfg.join(&mut self.walk.cfg);
        self.walk.ask.valid.next = self.ask.valid.val();
        self.ask.ready.next = self.walk.ask.ready.val();
        self.walk.ask.addr.next = self.ask.addr.val();
        self.walk.ask.bytes.next = self.ask.bytes.val();
        self.walk.ask.plain.next = false;
        self.walk.ask.writes.next = true;
        self.walk.ask.columns.next = true;
        self.walk.ask.receive.next = self.ask.receive.val();
        self.walk.ask.qp.next = self.ask.qp.val();
        self.walk.ask.region.next = self.ask.region.val();
        self.walk.ask.pd.next = self.ask.pd.val();
        self.walk.ask.first.next = self.ask.first.val();
        self.walk.ask.skip.next = self.ask.skip.val();
        // No packet is handed over, because bytes are written here.
        self.walk.back.valid.next = false;
        self.walk.back.failed.next = false;
        self.walk.back.row.next = 0.into();
        self.walk.back.element.next = 0.into();
        self.walk.back.inside.next = 0.into();
        self.walk.probe.addr.next = 0.into();
        self.walk.probe.bytes.next = 0.into();
        self.walk.probe.key.next = 0.into();
        self.unused_hands.next = self.walk.hands.val() || self.walk.probed.val();
        self.unused_handed.next = self.walk.handed.val();

        // The packet's pieces, and the walk's own reads of bitmaps and pointers.
        self.unused_plain.next = self.walk.step.plain.val();
        self.unused_last.next = self.beat.last.val();
        self.read.valid.next = self.walk.step.valid.val() && self.walk.step.side.val();
        self.read.addr.next = self.walk.step.addr.val();
        self.read.bytes.next = self.walk.step.bytes.val();
        self.beat.ready.next = true;
        self.walk.side.valid.next = self.beat.valid.val();
        self.walk.side.data.next = self.beat.data.val();
        self.walk.side.error.next = self.beat.error.val();
        self.kept.input.valid.next = self.walk.step.valid.val()
            && !self.walk.step.side.val()
            && !self.walk.step.failed.val();
        self.kept.input.addr.next = self.walk.step.addr.val();
        self.kept.input.bytes.next = self.walk.step.bytes.val();
        self.kept.input.last.next = self.walk.step.last.val();
        self.kept.input.column.next = self.walk.column.val();
        self.kept.input.rows.next = self.walk.rows.val();
        self.kept.input.first.next = self.walk.first.val();
        self.kept.input.offset.next = self.walk.offset.val();
        self.kept.again.next = self.walk.again.val();
        self.walk.roomy.next = self.kept.roomy.val();
        self.walk.step.ready.next = self.walk.step.failed.val() || self.kept.input.ready.val();
        if self.walk.step.side.val() {
            self.walk.step.ready.next = self.read.ready.val();
        }
        self.told.valid.next = self.walk.step.valid.val()
            && self.walk.step.ready.val()
            && !self.walk.step.side.val()
            && self.walk.step.last.val();
        self.told.verdict.next = RegionVerdict::Reached;
        if self.walk.step.failed.val() {
            self.told.verdict.next = RegionVerdict::Unreachable;
            if self.walk.step.outside.val() {
                self.told.verdict.next = RegionVerdict::Outside;
            }
        }
        // The decision about the packet is known late in its cycle.
        self.settles.d.next = self.settle.valid.val();
        self.placed.d.next = self.settle.placed.val();
        self.kept.settle.valid.next = self.settles.q.val();
        self.kept.settle.placed.next = self.placed.q.val();
        self.kept.piece.join(&mut self.piece);

        if self.settles.q.val() {
            self.open.d.next = false;
        }
        if self.ask.valid.val() && self.ask.ready.val() {
            self.open.d.next = true;
        }
        self.busy.next = self.open.q.val() || self.kept.piece.valid.val();
        if self.rst.val() {
            self.open.d.next = false;
            self.settles.d.next = false;
            self.ends.d.next = false;
        }
    }
}
