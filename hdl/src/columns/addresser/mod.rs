//! Tells for each of a beat's 64 bytes where it lies in the segmented memory.
//!
//! Takes each window's lanes from the planner and beats from the packer's FIFO; gives addressed
//! bytes to the gather. Byte `p` of a beat is byte `x = start + p` of its rows: of row `k = x / R`,
//! `R` being the bytes of a row, and there of the lane `j` that byte `x mod R` lies in. It lies at
//! `place[j] + offset[k] * step[j]` and so many bytes further as it is from its lane's start.
//!
//! `k`, `j` and the rest depend on `x` and the lanes' lengths alone: they are a table of 127
//! entries, of which a beat takes the 64 from `start` on. It is made, an entry a cycle, where a
//! window's lanes have other lengths than the ones before, while beats of those still pass.
//!
//! **Throughput.** A beat a cycle, also from window to window. Where the lengths change the lanes
//! take 130 cycles.
//!
//! **Latency.** 7 cycles from a beat to its bytes. A window's first beat is taken 3 cycles after
//! its lanes, or 132 if their lengths are new.
//!
//! **Back-pressure.** Any output may stall. The pipeline never stops: a beat is taken when the
//! FIFO at the end, 16 deep, has room for all that are on the way.

use crate::primitive::{Concat, Fifo, LastSet, Lookups, ProductSums};
use array_init::array_init;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

#[cfg(test)]
mod tests;

/// The block; see the module.
///
/// # Inputs
/// `lanes`, `beat`.
///
/// # Outputs
/// `bytes`.
#[derive(LogicBlock)]
pub struct Addresser {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A window's lanes.
    pub lanes_valid: Signal<In, Bit>,
    /// They are taken.
    pub lanes_ready: Signal<Out, Bit>,
    /// Where each lane's row 0 starts in the segmented memory (17 bits).
    pub lanes_place: Signal<In, Bits<272>>,
    /// Bytes of the lanes before it (7 bits); of lanes that are not there: those of a row.
    pub lanes_start: Signal<In, Bits<112>>,
    /// Bytes from row to row (8 bits).
    pub lanes_step: Signal<In, Bits<128>>,
    /// How many lanes there are, 1 to 16.
    pub lanes_lanes: Signal<In, Bits<5>>,
    /// Bytes of a row, 1 to 64.
    pub lanes_row_bytes: Signal<In, Bits<7>>,
    /// Window.
    pub lanes_window: Signal<In, Bits<2>>,

    /// A beat.
    pub beat_valid: Signal<In, Bit>,
    /// It is taken.
    pub beat_ready: Signal<Out, Bit>,
    /// The rows that it touches (16 x 12 bits).
    pub beat_offset: Signal<In, Bits<192>>,
    /// Byte of the first row that it starts with.
    pub beat_start: Signal<In, Bits<6>>,
    /// Bytes, 0 to 64.
    pub beat_bytes: Signal<In, Bits<7>>,
    /// Destination.
    pub beat_dest: Signal<In, Bits<10>>,
    /// Request.
    pub beat_slot: Signal<In, Bits<8>>,
    /// First beat of a message.
    pub beat_message_start: Signal<In, Bit>,
    /// Last beat of a message.
    pub beat_message_end: Signal<In, Bit>,
    /// Bytes of the message, where they are needed.
    pub beat_message_bytes: Signal<In, Bits<32>>,
    /// Last beat of the destination.
    pub beat_dest_end: Signal<In, Bit>,
    /// Last beat of its window.
    pub beat_window_end: Signal<In, Bit>,

    /// Addressed bytes.
    pub bytes_valid: Signal<Out, Bit>,
    /// They are taken.
    pub bytes_ready: Signal<In, Bit>,
    /// Bytes that there are: the lowest `bytes_bytes`.
    pub bytes_mask: Signal<Out, Bits<64>>,
    /// Where each lies (64 x 17 bits).
    pub bytes_ram: Signal<Out, Bits<1088>>,
    /// Window.
    pub bytes_window: Signal<Out, Bits<2>>,
    /// Last beat of its window.
    pub bytes_window_end: Signal<Out, Bit>,
    /// Always set: a beat comes whole.
    pub bytes_beat_end: Signal<Out, Bit>,
    /// Destination.
    pub bytes_dest: Signal<Out, Bits<10>>,
    /// Request.
    pub bytes_slot: Signal<Out, Bits<8>>,
    /// Bytes.
    pub bytes_bytes: Signal<Out, Bits<7>>,
    /// First beat of a message.
    pub bytes_message_start: Signal<Out, Bit>,
    /// Last beat of a message.
    pub bytes_message_end: Signal<Out, Bit>,
    /// Bytes of the message, where they are needed.
    pub bytes_message_bytes: Signal<Out, Bits<32>>,
    /// Never set: a request's end comes by the row path.
    pub bytes_request_end: Signal<Out, Bit>,
    /// Last beat of the destination.
    pub bytes_dest_end: Signal<Out, Bit>,
    /// Always 0.
    pub bytes_status: Signal<Out, Bits<8>>,
    /// Always 0.
    pub bytes_bad_dest: Signal<Out, Bits<7>>,

    // Lanes that wait: places, starts, steps; lanes, bytes of a row, window.
    entry: Concat<272, 112, 128, 14, 526>,
    waiting: Fifo<526, 2, 3>,
    next_place: Signal<Local, Bits<272>>,
    next_step: Signal<Local, Bits<128>>,
    next_layout: Signal<Local, Bits<124>>,
    next_window: Signal<Local, Bits<2>>,

    // The table that is made, or waits for its first beat: for what lengths, and its entries.
    layout: DFF<Bits<124>>,
    making: DFF<Bit>,
    made: DFF<Bit>,
    same: Signal<Local, Bit>,
    count: DFF<Bits<7>>,
    row: DFF<Bits<4>>,
    at: DFF<Bits<7>>,
    following: Signal<Local, Bits<7>>,
    begun: [Signal<Local, Bit>; 16],
    begun_bits: Signal<Local, Bits<16>>,
    number: [Constant<Bits<5>>; 16],
    find_lane: LastSet<16, 4>,
    found: DFF<Bit>,
    found_last: DFF<Bit>,
    found_row: DFF<Bits<4>>,
    found_lane: DFF<Bits<4>>,
    found_at: DFF<Bits<6>>,
    rest: Signal<Local, Bits<6>>,
    new_rows: DFF<Bits<508>>,
    new_lanes: DFF<Bits<508>>,
    new_rests: DFF<Bits<762>>,

    // The window at work.
    active: DFF<Bit>,
    place: DFF<Bits<272>>,
    step: DFF<Bits<128>>,
    window: DFF<Bits<2>>,
    rows: DFF<Bits<508>>,
    lanes: DFF<Bits<508>>,
    rests: DFF<Bits<762>>,
    take: Signal<Local, Bit>,
    load: Signal<Local, Bit>,

    // The pipeline: taken, looked up, then three stages of sums.
    stages: DFF<Bits<5>>,
    by_four: Signal<Local, Bits<8>>,
    by_six: Signal<Local, Bits<9>>,
    beat_rows: DFF<Bits<256>>,
    beat_lanes: DFF<Bits<256>>,
    beat_rests: DFF<Bits<384>>,
    beat_offsets: DFF<Bits<192>>,
    beat_places: DFF<Bits<272>>,
    beat_steps: DFF<Bits<128>>,
    offsets: Lookups<4, 12, 192, 256, 768>,
    steps: Lookups<4, 8, 128, 256, 512>,
    places: Lookups<4, 17, 272, 256, 1088>,
    later_rests: DFF<Bits<384>>,
    addresses: ProductSums<12, 8, 17, 6, 768, 512, 1088, 384>,
    side: Signal<Local, Bits<63>>,
    side_0: DFF<Bits<63>>,
    side_1: DFF<Bits<63>>,
    side_2: DFF<Bits<63>>,
    side_3: DFF<Bits<63>>,
    side_4: DFF<Bits<63>>,
    mask: Signal<Local, Bits<64>>,
    ones: Constant<Bits<64>>,
    result: Concat<1088, 63, 32, 32, 1215>,
    queue: Fifo<1215, 4, 5>,
}

impl Default for Addresser {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            lanes_valid: Signal::default(),
            lanes_ready: Signal::default(),
            lanes_place: Signal::default(),
            lanes_start: Signal::default(),
            lanes_step: Signal::default(),
            lanes_lanes: Signal::default(),
            lanes_row_bytes: Signal::default(),
            lanes_window: Signal::default(),
            beat_valid: Signal::default(),
            beat_ready: Signal::default(),
            beat_offset: Signal::default(),
            beat_start: Signal::default(),
            beat_bytes: Signal::default(),
            beat_dest: Signal::default(),
            beat_slot: Signal::default(),
            beat_message_start: Signal::default(),
            beat_message_end: Signal::default(),
            beat_message_bytes: Signal::default(),
            beat_dest_end: Signal::default(),
            beat_window_end: Signal::default(),
            bytes_valid: Signal::default(),
            bytes_ready: Signal::default(),
            bytes_mask: Signal::default(),
            bytes_ram: Signal::default(),
            bytes_window: Signal::default(),
            bytes_window_end: Signal::default(),
            bytes_beat_end: Signal::default(),
            bytes_dest: Signal::default(),
            bytes_slot: Signal::default(),
            bytes_bytes: Signal::default(),
            bytes_message_start: Signal::default(),
            bytes_message_end: Signal::default(),
            bytes_message_bytes: Signal::default(),
            bytes_request_end: Signal::default(),
            bytes_dest_end: Signal::default(),
            bytes_status: Signal::default(),
            bytes_bad_dest: Signal::default(),
            entry: Concat::default(),
            waiting: Fifo::default(),
            next_place: Signal::default(),
            next_step: Signal::default(),
            next_layout: Signal::default(),
            next_window: Signal::default(),
            layout: DFF::default(),
            making: DFF::default(),
            made: DFF::default(),
            same: Signal::default(),
            count: DFF::default(),
            row: DFF::default(),
            at: DFF::default(),
            following: Signal::default(),
            begun: array_init(|_| Signal::default()),
            begun_bits: Signal::default(),
            number: array_init(|k| Constant::new((k as u8).to_bits())),
            find_lane: LastSet::default(),
            found: DFF::default(),
            found_last: DFF::default(),
            found_row: DFF::default(),
            found_lane: DFF::default(),
            found_at: DFF::default(),
            rest: Signal::default(),
            new_rows: DFF::default(),
            new_lanes: DFF::default(),
            new_rests: DFF::default(),
            active: DFF::default(),
            place: DFF::default(),
            step: DFF::default(),
            window: DFF::default(),
            rows: DFF::default(),
            lanes: DFF::default(),
            rests: DFF::default(),
            take: Signal::default(),
            load: Signal::default(),
            stages: DFF::default(),
            by_four: Signal::default(),
            by_six: Signal::default(),
            beat_rows: DFF::default(),
            beat_lanes: DFF::default(),
            beat_rests: DFF::default(),
            beat_offsets: DFF::default(),
            beat_places: DFF::default(),
            beat_steps: DFF::default(),
            offsets: Lookups::default(),
            steps: Lookups::default(),
            places: Lookups::default(),
            later_rests: DFF::default(),
            addresses: ProductSums::default(),
            side: Signal::default(),
            side_0: DFF::default(),
            side_1: DFF::default(),
            side_2: DFF::default(),
            side_3: DFF::default(),
            side_4: DFF::default(),
            mask: Signal::default(),
            ones: Constant::new(u64::MAX.to_bits()),
            result: Concat::default(),
            queue: Fifo::default(),
        }
    }
}

impl Logic for Addresser {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, layout, making, made, count, row, at);
        dff_setup!(self, clk, found, found_last, found_row, found_lane, found_at);
        dff_setup!(self, clk, new_rows, new_lanes, new_rests);
        dff_setup!(self, clk, active, place, step, window, rows, lanes, rests);
        dff_setup!(self, clk, stages, beat_rows, beat_lanes, beat_rests, beat_offsets);
        dff_setup!(self, clk, beat_places, beat_steps, later_rests);
        dff_setup!(self, clk, side_0, side_1, side_2, side_3, side_4);

        // Lanes wait.
        self.entry.a.next = self.lanes_place.val();
        self.entry.b.next = self.lanes_start.val();
        self.entry.c.next = self.lanes_step.val();
        self.entry.d.next = bit_cast::<14, 5>(self.lanes_lanes.val())
            | (bit_cast::<14, 7>(self.lanes_row_bytes.val()) << 5)
            | (bit_cast::<14, 2>(self.lanes_window.val()) << 12);
        self.waiting.clk.next = self.clk.val();
        self.waiting.rst.next = self.rst.val();
        self.waiting.in_valid.next = self.lanes_valid.val();
        self.waiting.in_data.next = self.entry.whole.val();
        self.lanes_ready.next = self.waiting.in_ready.val();
        self.next_place.next = self.waiting.out_data.val().get_bits::<272>(0);
        self.next_step.next = self.waiting.out_data.val().get_bits::<128>(384);
        self.next_layout.next =
            bit_cast::<124, 112>(self.waiting.out_data.val().get_bits::<112>(272))
                | (bit_cast::<124, 12>(self.waiting.out_data.val().get_bits::<12>(512)) << 112);
        self.next_window.next = self.waiting.out_data.val().get_bits::<2>(524);

        // The table: the lane of each byte, its place in the lane; the row.
        self.same.next = self.layout.q.val() == self.next_layout.val();
        self.begun_bits.next = 0.into();
        for l in 0..16 {
            self.begun[l].next = (self.number[l].val() < self.layout.q.val().get_bits::<5>(112))
                && !(self.at.q.val() < self.layout.q.val().get_bits::<7>(l * 7));
            self.begun_bits.next = self.begun_bits.val().replace_bit(l, self.begun[l].val());
        }
        self.find_lane.bits.next = self.begun_bits.val();
        self.following.next = self.at.q.val() + 1;
        self.found.d.next = self.making.q.val();
        self.found_last.d.next = self.count.q.val() == 126;
        self.found_row.d.next = self.row.q.val();
        self.found_lane.d.next = self.find_lane.index.val();
        self.found_at.d.next = self.at.q.val().get_bits::<6>(0);
        self.rest.next = self.found_at.q.val()
            - self.layout.q.val().get_bits::<6>(self.found_lane.q.val().index() * 7);
        if self.making.q.val() {
            self.count.d.next = self.count.q.val() + 1;
            self.at.d.next = self.following.val();
            if self.following.val() == self.layout.q.val().get_bits::<7>(117) {
                self.at.d.next = 0.into();
                self.row.d.next = self.row.q.val() + 1;
            }
            if self.count.q.val() == 126 {
                self.making.d.next = false;
            }
        } else if !self.found.q.val()
            && self.waiting.out_valid.val()
            && !(self.made.q.val() && self.same.val())
        {
            self.layout.d.next = self.next_layout.val();
            self.making.d.next = true;
            self.made.d.next = false;
            self.count.d.next = 0.into();
            self.row.d.next = 0.into();
            self.at.d.next = 0.into();
        }
        if self.found.q.val() {
            self.new_rows.d.next =
                (self.new_rows.q.val() >> 4) | (bit_cast::<508, 4>(self.found_row.q.val()) << 504);
            self.new_lanes.d.next = (self.new_lanes.q.val() >> 4)
                | (bit_cast::<508, 4>(self.found_lane.q.val()) << 504);
            self.new_rests.d.next =
                (self.new_rests.q.val() >> 6) | (bit_cast::<762, 6>(self.rest.val()) << 756);
            if self.found_last.q.val() {
                self.made.d.next = true;
            }
        }

        // A beat is taken; the next window's lanes come with its last one.
        self.beat_ready.next = self.active.q.val() && (self.queue.free.val() > 7);
        self.take.next = self.beat_valid.val() && self.beat_ready.val();
        if self.take.val() && self.beat_window_end.val() {
            self.active.d.next = false;
        }
        self.load.next = self.waiting.out_valid.val()
            && self.made.q.val()
            && self.same.val()
            && (!self.active.q.val() || (self.take.val() && self.beat_window_end.val()));
        self.waiting.out_ready.next = self.load.val();
        if self.load.val() {
            self.active.d.next = true;
            self.place.d.next = self.next_place.val();
            self.step.d.next = self.next_step.val();
            self.window.d.next = self.next_window.val();
            self.rows.d.next = self.new_rows.q.val();
            self.lanes.d.next = self.new_lanes.q.val();
            self.rests.d.next = self.new_rests.q.val();
        }

        // Its part of the table; lookups; sums.
        self.stages.d.next = (self.stages.q.val() << 1) | bit_cast::<5, 1>(self.take.val().into());
        self.by_four.next = bit_cast::<8, 6>(self.beat_start.val()) << 2;
        self.by_six.next = (bit_cast::<9, 6>(self.beat_start.val()) << 2)
            + (bit_cast::<9, 6>(self.beat_start.val()) << 1);
        self.side.next = bit_cast::<63, 32>(self.beat_message_bytes.val())
            | (bit_cast::<63, 10>(self.beat_dest.val()) << 32)
            | (bit_cast::<63, 8>(self.beat_slot.val()) << 42)
            | (bit_cast::<63, 7>(self.beat_bytes.val()) << 50)
            | (bit_cast::<63, 1>(self.beat_message_start.val().into()) << 57)
            | (bit_cast::<63, 1>(self.beat_message_end.val().into()) << 58)
            | (bit_cast::<63, 1>(self.beat_dest_end.val().into()) << 59)
            | (bit_cast::<63, 1>(self.beat_window_end.val().into()) << 60)
            | (bit_cast::<63, 2>(self.window.q.val()) << 61);
        if self.take.val() {
            self.beat_rows.d.next = (self.rows.q.val() >> self.by_four.val()).get_bits::<256>(0);
            self.beat_lanes.d.next = (self.lanes.q.val() >> self.by_four.val()).get_bits::<256>(0);
            self.beat_rests.d.next = (self.rests.q.val() >> self.by_six.val()).get_bits::<384>(0);
            self.beat_offsets.d.next = self.beat_offset.val();
            self.beat_places.d.next = self.place.q.val();
            self.beat_steps.d.next = self.step.q.val();
        }
        self.side_0.d.next = self.side.val();
        self.side_1.d.next = self.side_0.q.val();
        self.side_2.d.next = self.side_1.q.val();
        self.side_3.d.next = self.side_2.q.val();
        self.side_4.d.next = self.side_3.q.val();
        self.offsets.clk.next = self.clk.val();
        self.offsets.enable.next = self.stages.q.val().get_bit(0);
        self.offsets.entries.next = self.beat_offsets.q.val();
        self.offsets.indices.next = self.beat_rows.q.val();
        self.steps.clk.next = self.clk.val();
        self.steps.enable.next = self.stages.q.val().get_bit(0);
        self.steps.entries.next = self.beat_steps.q.val();
        self.steps.indices.next = self.beat_lanes.q.val();
        self.places.clk.next = self.clk.val();
        self.places.enable.next = self.stages.q.val().get_bit(0);
        self.places.entries.next = self.beat_places.q.val();
        self.places.indices.next = self.beat_lanes.q.val();
        if self.stages.q.val().get_bit(0) {
            self.later_rests.d.next = self.beat_rests.q.val();
        }
        self.addresses.clk.next = self.clk.val();
        self.addresses.enable.next = self.stages.q.val().get_bits::<3>(1);
        self.addresses.a.next = self.offsets.results.val();
        self.addresses.b.next = self.steps.results.val();
        self.addresses.c.next = self.places.results.val();
        self.addresses.d.next = self.later_rests.q.val();

        // The bytes leave.
        self.mask.next = !(self.ones.val() << self.side_4.q.val().get_bits::<7>(50));
        self.result.a.next = self.addresses.sums.val();
        self.result.b.next = self.side_4.q.val();
        self.result.c.next = self.mask.val().get_bits::<32>(0);
        self.result.d.next = self.mask.val().get_bits::<32>(32);
        self.queue.clk.next = self.clk.val();
        self.queue.rst.next = self.rst.val();
        self.queue.in_valid.next = self.stages.q.val().get_bit(4);
        self.queue.in_data.next = self.result.whole.val();
        self.queue.out_ready.next = self.bytes_ready.val();
        self.bytes_valid.next = self.queue.out_valid.val();
        self.bytes_ram.next = self.queue.out_data.val().get_bits::<1088>(0);
        self.bytes_message_bytes.next = self.queue.out_data.val().get_bits::<32>(1088);
        self.bytes_dest.next = self.queue.out_data.val().get_bits::<10>(1120);
        self.bytes_slot.next = self.queue.out_data.val().get_bits::<8>(1130);
        self.bytes_bytes.next = self.queue.out_data.val().get_bits::<7>(1138);
        self.bytes_message_start.next = self.queue.out_data.val().get_bit(1145);
        self.bytes_message_end.next = self.queue.out_data.val().get_bit(1146);
        self.bytes_dest_end.next = self.queue.out_data.val().get_bit(1147);
        self.bytes_window_end.next = self.queue.out_data.val().get_bit(1148);
        self.bytes_window.next = self.queue.out_data.val().get_bits::<2>(1149);
        self.bytes_mask.next = self.queue.out_data.val().get_bits::<64>(1151);
        self.bytes_beat_end.next = true;
        self.bytes_request_end.next = false;
        self.bytes_status.next = 0.into();
        self.bytes_bad_dest.next = 0.into();

        if self.rst.val() {
            self.making.d.next = false;
            self.made.d.next = false;
            self.found.d.next = false;
            self.active.d.next = false;
            self.stages.d.next = 0.into();
        }
    }
}
