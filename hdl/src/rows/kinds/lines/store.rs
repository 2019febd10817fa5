//! Keeps the blocks that were read from host memory, and takes entries from them.
//!
//! Stands in [`Lines`](super::Lines). Has 1,024 beats of 64 bytes, four for each block of 256. A read begins with a
//! block's first byte, or behind it, and goes on in beats of 64 bytes from there. The beats of a block are numbered
//! from 0 to 3, and the last byte of the block is always in beat 3. Even and odd beats are in separate memories, so
//! that an entry that ends in the next beat is taken from both in one cycle.
//!
//! Contract: sources are taken in order, one a cycle, and the answer follows 4 cycles later. A source for which blocks
//! are read takes one more cycle for each of their beats; a source that loads a line of bits takes up to 4 cycles.
//! Lines of bits of later blocks, and of the next request, have sources of their own, which are taken when their beats
//! arrive.

use super::super::bits::BitLines;
use super::super::record::{Answer, Line};
use super::{Load, PLACE, Source};
use crate::primitive::{Flatten, Ram, Restore};
use crate::shell::host_read::HostReadBeat;
use drdma_emit::prelude::*;

/// Bits of a [`Line`].
const LINE_BITS: usize = <Line as Synth>::BITS;
/// Bits of the place of a beat among the even or odd ones.
const BEAT_PLACE: usize = PLACE + 2;

/// Memory of the blocks that were read; see the [module](self).
///
/// # Inputs
/// `clk`, `rst`; streams `source`, `early`, `beat` with `is_early`.
///
/// # Outputs
/// `answer`; `busy`. The ready of `beat` waits for sources only.
#[derive(LogicBlock, BlockDefault)]
pub struct Store {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Sources of the bytes of entries, in the order of the entries.
    pub source: Stream<In, Source>,
    /// Lines of bits of later blocks, and of the next request.
    pub early: Stream<In, Load>,
    /// Answers of reads.
    pub beat: Stream<In, HostReadBeat>,
    /// With `beat`: the read is that of the next source of `early`.
    pub is_early: Signal<In, Bit>,
    /// Bytes of the entry of each source, except of those that load a line of bits.
    pub answer: Flow<Out, Answer>,
    /// A line that has a source of its own is stored.
    pub stores_early: Signal<Out, Bit>,
    /// Bits are picked.
    pub picks: Signal<Out, Bit>,
    /// A line of bits is being stored.
    pub busy: Signal<Out, Bit>,

    // Beats are stored.
    free: Signal<Local, Bit>,
    /// A line of the next request is stored: nothing else is taken.
    puts_early: Signal<Local, Bit>,
    /// A beat of the current source is offered.
    comes: Signal<Local, Bit>,
    loaded: Signal<Local, Load>,
    fills: Signal<Local, Bit>,
    fills_second: Signal<Local, Bit>,
    filled: DFF<Bit>,
    filled_second: DFF<Bit>,
    within: DFF<Bit>,
    number: DFF<Bits<2>>,
    number_now: Signal<Local, Bits<2>>,
    /// The source has one beat, which is used at once instead of being kept.
    single: Signal<Local, Bit>,
    stores: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    line_new: Signal<Local, Line>,
    line_in: Flatten<Line, LINE_BITS>,
    beats: [Ram<LINE_BITS, 1, BEAT_PLACE>; 2],
    beats_out: [Restore<Line, LINE_BITS>; 2],
    write_place: Signal<Local, Bits<BEAT_PLACE>>,
    bit_lines: BitLines,

    // The source that was taken: the entry's first beat, and the next one.
    taken: DFF<Bit>,
    taken_picks: DFF<Bit>,
    taken_odd: DFF<Bit>,
    taken_alone: DFF<Bit>,
    taken_joins: DFF<Bit>,
    taken_skip: DFF<Bits<6>>,
    alone: DFF<Bits<128>>,
    alone_error: DFF<Bit>,
    first_now: Signal<Local, Line>,
    second_now: Signal<Local, Bits<128>>,
    second_fails: Signal<Local, Bit>,
    first_valid: DFF<Bit>,
    first_picks: DFF<Bit>,
    first: DFF<Bits<512>>,
    first_error: DFF<Bit>,
    second: DFF<Bits<128>>,
    skip: DFF<Bits<6>>,
    split: Signal<Local, Bits<5>>,
    is_joined: DFF<Bit>,

    // The entry's first byte becomes the lowest one.
    moved_valid: DFF<Bit>,
    moved_picks: DFF<Bit>,
    moved: DFF<Bits<192>>,
    moved_error: DFF<Bit>,
    moved_second: DFF<Bits<128>>,
    mask: DFF<Bits<128>>,
    none: Signal<Local, Bits<128>>,
    all_ones: Signal<Local, Bits<128>>,
    moved_skip: DFF<Bits<3>>,
    picked: DFF<Bits<16>>,
    picked_errors: DFF<Bits<16>>,
    whole: Signal<Local, Bits<128>>,
    answer_valid: DFF<Bit>,
    answer_new: Signal<Local, Answer>,
    answer_held: DFF<Answer>,
}

impl Store {
    /// The beats that are read for a source arrive before it is taken, or with it.
    #[hdl_gen]
    fn take_beats(&mut self) {
        self.free.next = !self.bit_lines.busy.val();
        self.busy.next = self.bit_lines.busy.val();
        self.fills.next = self.source.fills.val() && !self.filled.q.val();
        self.fills_second.next = self.source.fills_second.val() && !self.filled_second.q.val();
        self.single.next = self.source.loads.val() || self.source.alone.val();
        self.comes.next = self.beat.valid.val() && !self.is_early.val();
        self.puts_early.next = self.beat.valid.val()
            && self.is_early.val()
            && self.early.valid.val()
            && self.free.val();
        self.early.ready.next = self.beat.valid.val() && self.is_early.val() && self.free.val();
        self.beat.ready.next = self.source.valid.val()
            && self.free.val()
            && (self.single.val() || self.fills.val() || self.fills_second.val());
        if self.is_early.val() {
            self.beat.ready.next = self.early.valid.val() && self.free.val();
        }
        self.source.ready.next = self.free.val()
            && !self.puts_early.val()
            && !self.fills.val()
            && !self.fills_second.val()
            && (self.comes.val() || !self.single.val());
        self.takes.next = self.source.valid.val() && self.source.ready.val();
        self.stores.next = self.source.valid.val()
            && self.free.val()
            && self.comes.val()
            && (self.fills.val() || self.fills_second.val());
        self.number_now.next = self.number.q.val();
        if !self.within.q.val() {
            self.number_now.next = 0.into();
            if self.fills.val() {
                self.number_now.next = self.source.fill_beat.val();
            }
        }
        if self.stores.val() {
            self.within.d.next = !self.beat.last.val();
            self.number.d.next = self.number_now.val() + 1;
            if self.fills.val() {
                self.filled.d.next = self.beat.last.val();
            } else {
                self.filled_second.d.next = self.beat.last.val();
            }
        }
        if self.takes.val() {
            self.filled.d.next = false;
            self.filled_second.d.next = false;
        }
    }

    /// Keeps the beats, and reads the two that the entry may lie in.
    #[hdl_gen]
    fn keep_beats(&mut self) {
        self.line_new.next.data = self.beat.data.val();
        self.line_new.next.error = self.beat.error.val();
        self.line_in.record.next = self.line_new.val();
        self.write_place.next = (bit_cast::<BEAT_PLACE, 8>(self.source.second_place.val()) << 1)
            | bit_cast::<BEAT_PLACE, 1>(self.number_now.val().get_bits::<1>(1));
        if self.fills.val() {
            self.write_place.next = (bit_cast::<BEAT_PLACE, 8>(self.source.place.val()) << 1)
                | bit_cast::<BEAT_PLACE, 1>(self.number_now.val().get_bits::<1>(1));
        }
        for k in 0..2 {
            self.beats[k].write_lanes.next = 0.into();
            self.beats[k].write_address.next = self.write_place.val();
            self.beats[k].write_data.next = self.line_in.bits.val();
            self.beats[k].read_enable.next = true;
            self.beats[k].read_address.next = (bit_cast::<BEAT_PLACE, 8>(self.source.place.val())
                << 1)
                | bit_cast::<BEAT_PLACE, 1>(self.source.beat.val().get_bits::<1>(1));
            self.beats_out[k].bits.next = self.beats[k].read_data.val();
        }
        if self.stores.val() && !self.number_now.val().get_bit(0) {
            self.beats[0].write_lanes.next = 1.into();
        }
        if self.stores.val() && self.number_now.val().get_bit(0) {
            self.beats[1].write_lanes.next = 1.into();
        }
        // Behind beat 1 is beat 2, behind beat 3 beat 0 of the next block.
        if self.source.beat.val().get_bit(0) {
            self.beats[0].read_address.next =
                (bit_cast::<BEAT_PLACE, 8>(self.source.place.val()) << 1) | 1;
            if self.source.beat.val().get_bit(1) {
                self.beats[0].read_address.next =
                    bit_cast::<BEAT_PLACE, 8>(self.source.second_place.val()) << 1;
            }
        }
    }

    /// Gives lines of bits to their memory.
    #[hdl_gen]
    fn keep_bits(&mut self) {
        self.bit_lines.put.next =
            (self.takes.val() && self.source.loads.val()) || self.puts_early.val();
        self.bit_lines.line.next = self.line_new.val();
        self.stores_early.next = self.puts_early.val();
        self.picks.next = self.takes.val() && self.source.picks.val();
        self.loaded.next.lane = self.source.lane.val();
        self.loaded.next.half = self.source.half.val();
        self.loaded.next.skip = self.source.skip.val();
        self.loaded.next.offset = self.source.spot.val().get_bits::<9>(0);
        self.loaded.next.words = self.source.words.val();
        if self.puts_early.val() {
            self.loaded.next = self.early.val();
        }
        self.bit_lines.lane.next = self.loaded.val().lane;
        self.bit_lines.half.next = self.loaded.val().half;
        self.bit_lines.skip.next = self.loaded.val().skip;
        self.bit_lines.offset.next = self.loaded.val().offset;
        self.bit_lines.words.next = self.loaded.val().words;
        self.bit_lines.row.next = self.source.spot.val();
    }

    /// Takes the entry's bytes from the two beats, or from the read that was made for it alone.
    #[hdl_gen]
    fn join_beats(&mut self) {
        self.taken.d.next = self.takes.val() && !self.source.loads.val();
        self.taken_picks.d.next = self.source.picks.val();
        self.taken_odd.d.next = self.source.beat.val().get_bit(0);
        self.taken_alone.d.next = self.source.alone.val();
        self.taken_joins.d.next = self.source.joins.val();
        self.taken_skip.d.next = self.source.skip.val();
        self.alone.d.next = self.beat.data.val().get_bits::<128>(0);
        self.alone_error.d.next = self.beat.error.val();
        self.first_now.next = self.beats_out[0].record.val();
        self.second_now.next = self.beats_out[1].record.val().data.get_bits::<128>(0);
        self.second_fails.next = self.beats_out[1].record.val().error;
        if self.taken_odd.q.val() {
            self.first_now.next = self.beats_out[1].record.val();
            self.second_now.next = self.beats_out[0].record.val().data.get_bits::<128>(0);
            self.second_fails.next = self.beats_out[0].record.val().error;
        }
        self.first_valid.d.next = self.taken.q.val();
        self.first_picks.d.next = self.taken_picks.q.val();
        self.first.d.next = self.first_now.val().data;
        self.first_error.d.next =
            self.first_now.val().error || (self.taken_joins.q.val() && self.second_fails.val());
        self.second.d.next = self.second_now.val();
        self.skip.d.next = self.taken_skip.q.val();
        self.is_joined.d.next = self.taken_joins.q.val();
        if self.taken_alone.q.val() {
            // The entry was read by itself, and has no bytes in the beats that are kept.
            self.first_error.d.next = self.alone_error.q.val();
            self.second.d.next = self.alone.q.val();
            self.is_joined.d.next = true;
        }
    }

    /// The entry's first byte becomes the lowest one.
    #[hdl_gen]
    fn give_answer(&mut self) {
        self.split.next = bits::<5>(0) - self.skip.q.val().get_bits::<5>(0);
        self.none.next = 0.into();
        self.all_ones.next = !self.none.val();
        self.moved_valid.d.next = self.first_valid.q.val();
        self.moved_picks.d.next = self.first_picks.q.val();
        self.moved.d.next = (self.first.q.val() >> (bit_cast::<9, 6>(self.skip.q.val() >> 3) << 6))
            .get_bits::<192>(0);
        self.moved_skip.d.next = self.skip.q.val().get_bits::<3>(0);
        self.moved_error.d.next = self.first_error.q.val();
        self.moved_second.d.next = 0.into();
        self.mask.d.next = self.all_ones.val();
        if self.is_joined.q.val() {
            self.moved_second.d.next =
                self.second.q.val() << (bit_cast::<8, 5>(self.split.val()) << 3);
            self.mask.d.next = !(self.all_ones.val() << (bit_cast::<8, 5>(self.split.val()) << 3));
        }
        self.picked.d.next = self.bit_lines.bits.val();
        self.picked_errors.d.next = self.bit_lines.errors.val();
        self.whole.next = (self.moved.q.val() >> (bit_cast::<6, 3>(self.moved_skip.q.val()) << 3))
            .get_bits::<128>(0);
        self.answer_valid.d.next = self.moved_valid.q.val();
        self.answer_new.next.data =
            (self.whole.val() & self.mask.q.val()) | self.moved_second.q.val();
        self.answer_new.next.error = self.moved_error.q.val();
        if self.moved_picks.q.val() {
            self.answer_new.next.data = bit_cast::<128, 16>(self.picked.q.val())
                | (bit_cast::<128, 16>(self.picked_errors.q.val()) << 16);
            self.answer_new.next.error = false;
        }
        self.answer_held.d.next = self.answer_new.val();
        self.answer.valid.next = self.answer_valid.q.val();
        self.answer.next = self.answer_held.q.val();
    }
}

impl Logic for Store {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_beats();
        self.keep_beats();
        self.keep_bits();
        self.join_beats();
        self.give_answer();
        if self.rst.val() {
            self.filled.d.next = false;
            self.filled_second.d.next = false;
            self.within.d.next = false;
            self.taken.d.next = false;
            self.first_valid.d.next = false;
            self.moved_valid.d.next = false;
            self.answer_valid.d.next = false;
        }
    }
}
