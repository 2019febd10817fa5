//! The payload assembler (D-RDMA section 4.3): reads fragments from the segmented memory and moves
//! them through a byte crossbar into payload order.
//!
//! Takes placed beats: up to 16 fragments {place, length, position in the payload}, 64 B in total.
//! A beat waits until its window's data have arrived. Then every cycle reads all fragments that
//! need no bank in two different rows; fragments that lose a bank to an earlier one follow in the
//! next cycle, as a further part of the same beat.
//!
//! Contract: one beat a cycle without conflicts; a part follows its beat after 8 cycles; may stall
//! at any time. `window_free` tells that the last beat of a window has left the memory.
//!
//! Stages: `p` holds a beat, waits for its window and looks for failed reads; `a` arbitrates; `b`
//! addresses the banks; two cycles of memory, in which `c` and `d` make the crossbar's selects; two
//! cycles of crossbar; an output FIFO whose room is counted before a part is started.

use array_init::array_init;
use num_bigint::BigUint;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use crate::primitive::byte_mux::ByteMux;
use crate::primitive::fifo::Fifo;
use crate::primitive::pack::Pack;

mod clash;
mod failures;
mod selects;
#[cfg(test)]
mod tests;

use clash::Clash;
use failures::Failures;
use selects::Selects;

/// Bits of what passes beside the payload.
const SIDE: usize = 77;
/// The sideband with the end of the part and the failed read.
const REST: usize = SIDE + 2;
/// Bits of an entry of the output FIFO: data, mask, rest.
const OUTPUT: usize = 512 + 64 + REST;

/// The assembler. See the [module](self).
#[derive(LogicBlock)]
pub struct Gather {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Placed beats.
    /// A beat is offered.
    pub placed_valid: Signal<In, Bit>,
    /// It is taken.
    pub placed_ready: Signal<Out, Bit>,
    /// 16 places in the segmented memory.
    pub placed_ram: Signal<In, Bits<272>>,
    /// 16 lengths; 0: no fragment.
    pub placed_len: Signal<In, Bits<112>>,
    /// 16 positions in the beat's payload.
    pub placed_pos: Signal<In, Bits<96>>,
    /// The window that holds the fragments.
    pub placed_window: Signal<In, Bits<2>>,
    /// Last beat of its window.
    pub placed_window_end: Signal<In, Bit>,
    /// Last placed beat of a beat.
    pub placed_beat_end: Signal<In, Bit>,
    /// Destination.
    pub placed_dest: Signal<In, Bits<10>>,
    /// Request.
    pub placed_slot: Signal<In, Bits<8>>,
    /// Payload bytes of the whole beat.
    pub placed_bytes: Signal<In, Bits<7>>,
    /// Ends a unit.
    pub placed_unit_end: Signal<In, Bit>,
    /// Starts a message.
    pub placed_message_start: Signal<In, Bit>,
    /// Ends a message.
    pub placed_message_end: Signal<In, Bit>,
    /// Length of the message that starts, where it can be longer than a packet.
    pub placed_message_bytes: Signal<In, Bits<32>>,
    /// Ends the request.
    pub placed_request_end: Signal<In, Bit>,
    /// Ends the destination.
    pub placed_dest_end: Signal<In, Bit>,
    /// The request's status.
    pub placed_status: Signal<In, Bits<8>>,
    /// The destination that failed.
    pub placed_bad_dest: Signal<In, Bits<7>>,

    // From the reader.
    /// A window's data have arrived.
    pub window_ready_valid: Signal<In, Bit>,
    /// Always taken.
    pub window_ready_ready: Signal<Out, Bit>,
    /// Which.
    pub window_ready_window: Signal<In, Bits<2>>,
    /// A read failed.
    pub read_error_valid: Signal<In, Bit>,
    /// Always taken.
    pub read_error_ready: Signal<Out, Bit>,
    /// Its window.
    pub read_error_window: Signal<In, Bits<2>>,
    /// Where its data should have gone.
    pub read_error_ram: Signal<In, Bits<17>>,
    /// Its length.
    pub read_error_len: Signal<In, Bits<13>>,

    // To the segmented memory.
    /// For every bank the row to read.
    pub read_row: Signal<Out, Bits<320>>,
    /// The banks to read.
    pub read_enable: Signal<Out, Bits<32>>,
    /// One word a bank, two cycles later.
    pub read_data: Signal<In, Bits<1024>>,

    // To the placer.
    /// A window's space may be used again; windows are freed in order.
    pub window_free: Signal<Out, Bit>,

    // Payload.
    /// A part is offered.
    pub payload_valid: Signal<Out, Bit>,
    /// It is taken.
    pub payload_ready: Signal<In, Bit>,
    /// Bytes at their positions in the beat.
    pub payload_data: Signal<Out, Bits<512>>,
    /// Which of them this part brings.
    pub payload_mask: Signal<Out, Bits<64>>,
    /// Last part of the beat.
    pub payload_part_end: Signal<Out, Bit>,
    /// A fragment could not be read.
    pub payload_error: Signal<Out, Bit>,
    /// Destination.
    pub payload_dest: Signal<Out, Bits<10>>,
    /// Request.
    pub payload_slot: Signal<Out, Bits<8>>,
    /// Payload bytes of the whole beat.
    pub payload_bytes: Signal<Out, Bits<7>>,
    /// Ends a unit.
    pub payload_unit_end: Signal<Out, Bit>,
    /// Starts a message.
    pub payload_message_start: Signal<Out, Bit>,
    /// Ends a message.
    pub payload_message_end: Signal<Out, Bit>,
    /// Length of the message that starts, where it can be longer than a packet.
    pub payload_message_bytes: Signal<Out, Bits<32>>,
    /// Ends the request.
    pub payload_request_end: Signal<Out, Bit>,
    /// Ends the destination.
    pub payload_dest_end: Signal<Out, Bit>,
    /// The request's status.
    pub payload_status: Signal<Out, Bits<8>>,
    /// The destination that failed.
    pub payload_bad_dest: Signal<Out, Bits<7>>,

    // Counters: one cycle each.
    /// Payload was read.
    pub count_busy: Signal<Out, Bit>,
    /// A fragment waited for a bank.
    pub count_conflict: Signal<Out, Bit>,
    /// A beat waited: its window's data have not arrived.
    pub count_empty: Signal<Out, Bit>,
    /// The output was full.
    pub count_blocked: Signal<Out, Bit>,

    // Windows and failed reads.
    windows: DFF<Bits<4>>,
    failures: Failures,
    arrived: Signal<Local, Bits<4>>,
    finished: Signal<Local, Bits<4>>,
    window_bit: [Constant<Bits<4>>; 4],

    // Stage p.
    p_valid: DFF<Bit>,
    p_ram: DFF<Bits<272>>,
    p_len: DFF<Bits<112>>,
    p_pos: DFF<Bits<96>>,
    p_window: DFF<Bits<2>>,
    p_window_end: DFF<Bit>,
    p_beat_end: DFF<Bit>,
    p_side: DFF<Bits<SIDE>>,
    p_ready: Signal<Local, Bit>,
    p_take: Signal<Local, Bit>,
    p_free: Signal<Local, Bit>,
    side: Signal<Local, Bits<SIDE>>,
    clash: Clash,

    // Stage a.
    a_valid: DFF<Bit>,
    a_pending: DFF<Bits<16>>,
    a_ram: DFF<Bits<272>>,
    a_len: DFF<Bits<112>>,
    a_pos: DFF<Bits<96>>,
    a_window_end: DFF<Bit>,
    a_beat_end: DFF<Bit>,
    a_side: DFF<Bits<SIDE>>,
    a_error: DFF<Bit>,
    a_clash: [DFF<Bits<16>>; 16],
    a_cover: [DFF<Bits<64>>; 16],
    a_carry: DFF<Bit>,
    a_granted: Signal<Local, Bits<16>>,
    a_left: Signal<Local, Bits<16>>,
    a_go: Signal<Local, Bit>,
    a_done: Signal<Local, Bit>,
    room: DFF<Bits<5>>,
    lane: [Constant<Bits<16>>; 16],

    // Stage b.
    b_valid: DFF<Bit>,
    b_granted: DFF<Bits<16>>,
    b_cover: [DFF<Bits<64>>; 16],
    b_ram: DFF<Bits<272>>,
    b_len: DFF<Bits<112>>,
    b_pos: DFF<Bits<96>>,
    b_rest: DFF<Bits<REST>>,
    b_window_end: DFF<Bit>,
    b_row: [Signal<Local, Bits<10>>; 16],
    b_next_row: [Signal<Local, Bits<10>>; 16],
    bank_row: [Signal<Local, Bits<10>>; 32],
    enables: Signal<Local, Bits<64>>,
    rows: Pack<32, 10, 320>,
    places: Pack<16, 7, 112>,
    selects: Selects,
    rest: Signal<Local, Bits<REST>>,

    // Two cycles of memory and selects, two of crossbar.
    c_valid: DFF<Bit>,
    c_rest: DFF<Bits<REST>>,
    c_window_end: DFF<Bit>,
    d_valid: DFF<Bit>,
    d_rest: DFF<Bits<REST>>,
    d_window_end: DFF<Bit>,
    crossbar: ByteMux<128, 64, 7, 1024, 512>,
    e_valid: DFF<Bit>,
    e_rest: DFF<Bits<REST>>,
    e_mask: DFF<Bits<64>>,
    f_valid: DFF<Bit>,
    f_rest: DFF<Bits<REST>>,
    f_mask: DFF<Bits<64>>,

    fifo: Fifo<OUTPUT, 4, 5>,
    unit_end: Constant<Bits<SIDE>>,
    message_start: Constant<Bits<SIDE>>,
    message_end: Constant<Bits<SIDE>>,
    request_end: Constant<Bits<SIDE>>,
    dest_end: Constant<Bits<SIDE>>,
    part_end: Constant<Bits<REST>>,
    failed: Constant<Bits<REST>>,
    all_room: Constant<Bits<5>>,
}

/// A constant with one bit set.
fn bit<const N: usize>(at: usize) -> Constant<Bits<N>> {
    Constant::new((BigUint::from(1_u8) << at).into())
}

impl Default for Gather {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            placed_valid: Signal::default(),
            placed_ready: Signal::default(),
            placed_ram: Signal::default(),
            placed_len: Signal::default(),
            placed_pos: Signal::default(),
            placed_window: Signal::default(),
            placed_window_end: Signal::default(),
            placed_beat_end: Signal::default(),
            placed_dest: Signal::default(),
            placed_slot: Signal::default(),
            placed_bytes: Signal::default(),
            placed_unit_end: Signal::default(),
            placed_message_start: Signal::default(),
            placed_message_end: Signal::default(),
            placed_message_bytes: Signal::default(),
            placed_request_end: Signal::default(),
            placed_dest_end: Signal::default(),
            placed_status: Signal::default(),
            placed_bad_dest: Signal::default(),
            window_ready_valid: Signal::default(),
            window_ready_ready: Signal::default(),
            window_ready_window: Signal::default(),
            read_error_valid: Signal::default(),
            read_error_ready: Signal::default(),
            read_error_window: Signal::default(),
            read_error_ram: Signal::default(),
            read_error_len: Signal::default(),
            read_row: Signal::default(),
            read_enable: Signal::default(),
            read_data: Signal::default(),
            window_free: Signal::default(),
            payload_valid: Signal::default(),
            payload_ready: Signal::default(),
            payload_data: Signal::default(),
            payload_mask: Signal::default(),
            payload_part_end: Signal::default(),
            payload_error: Signal::default(),
            payload_dest: Signal::default(),
            payload_slot: Signal::default(),
            payload_bytes: Signal::default(),
            payload_unit_end: Signal::default(),
            payload_message_start: Signal::default(),
            payload_message_end: Signal::default(),
            payload_message_bytes: Signal::default(),
            payload_request_end: Signal::default(),
            payload_dest_end: Signal::default(),
            payload_status: Signal::default(),
            payload_bad_dest: Signal::default(),
            count_busy: Signal::default(),
            count_conflict: Signal::default(),
            count_empty: Signal::default(),
            count_blocked: Signal::default(),
            windows: DFF::default(),
            failures: Failures::default(),
            arrived: Signal::default(),
            finished: Signal::default(),
            window_bit: array_init(|k| Constant::new((1_u8 << k).to_bits())),
            p_valid: DFF::default(),
            p_ram: DFF::default(),
            p_len: DFF::default(),
            p_pos: DFF::default(),
            p_window: DFF::default(),
            p_window_end: DFF::default(),
            p_beat_end: DFF::default(),
            p_side: DFF::default(),
            p_ready: Signal::default(),
            p_take: Signal::default(),
            p_free: Signal::default(),
            side: Signal::default(),
            clash: Clash::default(),
            a_valid: DFF::default(),
            a_pending: DFF::default(),
            a_ram: DFF::default(),
            a_len: DFF::default(),
            a_pos: DFF::default(),
            a_window_end: DFF::default(),
            a_beat_end: DFF::default(),
            a_side: DFF::default(),
            a_error: DFF::default(),
            a_clash: array_init(|_| DFF::default()),
            a_cover: array_init(|_| DFF::default()),
            a_carry: DFF::default(),
            a_granted: Signal::default(),
            a_left: Signal::default(),
            a_go: Signal::default(),
            a_done: Signal::default(),
            room: DFF::default(),
            lane: array_init(|k| Constant::new((1_u16 << k).to_bits())),
            b_valid: DFF::default(),
            b_granted: DFF::default(),
            b_cover: array_init(|_| DFF::default()),
            b_ram: DFF::default(),
            b_len: DFF::default(),
            b_pos: DFF::default(),
            b_rest: DFF::default(),
            b_window_end: DFF::default(),
            b_row: array_init(|_| Signal::default()),
            b_next_row: array_init(|_| Signal::default()),
            bank_row: array_init(|_| Signal::default()),
            enables: Signal::default(),
            rows: Pack::default(),
            places: Pack::default(),
            selects: Selects::default(),
            rest: Signal::default(),
            c_valid: DFF::default(),
            c_rest: DFF::default(),
            c_window_end: DFF::default(),
            d_valid: DFF::default(),
            d_rest: DFF::default(),
            d_window_end: DFF::default(),
            crossbar: ByteMux::default(),
            e_valid: DFF::default(),
            e_rest: DFF::default(),
            e_mask: DFF::default(),
            f_valid: DFF::default(),
            f_rest: DFF::default(),
            f_mask: DFF::default(),
            fifo: Fifo::default(),
            unit_end: bit(25),
            message_start: bit(26),
            message_end: bit(27),
            request_end: bit(28),
            dest_end: bit(29),
            part_end: bit(SIDE),
            failed: bit(SIDE + 1),
            all_room: Constant::new(16.into()),
        }
    }
}

impl Logic for Gather {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            windows,
            p_valid,
            p_ram,
            p_len,
            p_pos,
            p_window,
            p_window_end,
            p_beat_end,
            p_side,
            a_valid,
            a_pending,
            a_ram,
            a_len,
            a_pos,
            a_window_end,
            a_beat_end,
            a_side,
            a_error,
            a_carry,
            room,
            b_valid,
            b_granted,
            b_ram,
            b_len,
            b_pos,
            b_rest,
            b_window_end,
            c_valid,
            c_rest,
            c_window_end,
            d_valid,
            d_rest,
            d_window_end,
            e_valid,
            e_rest,
            e_mask,
            f_valid,
            f_rest,
            f_mask
        );
        for k in 0..16 {
            self.a_clash[k].clock.next = self.clk.val();
            self.a_clash[k].d.next = self.a_clash[k].q.val();
        }
        for k in 0..16 {
            self.a_cover[k].clock.next = self.clk.val();
            self.a_cover[k].d.next = self.a_cover[k].q.val();
        }
        for k in 0..16 {
            self.b_cover[k].clock.next = self.clk.val();
            self.b_cover[k].d.next = self.b_cover[k].q.val();
        }
        self.failures.clk.next = self.clk.val();
        self.failures.rst.next = self.rst.val();
        self.selects.clk.next = self.clk.val();
        self.crossbar.clk.next = self.clk.val();
        self.fifo.clk.next = self.clk.val();
        self.fifo.rst.next = self.rst.val();

        // Stage a: every waiting fragment that meets none before it is read. (Written first, because
        // stage p asks whether stage a is done.)
        self.a_granted.next = 0.into();
        for l in 0..16 {
            if self.a_pending.q.val().get_bit(l)
                && !(self.a_clash[l].q.val() & self.a_pending.q.val()).any()
            {
                self.a_granted.next = self.a_granted.val() | self.lane[l].val();
            }
        }
        self.a_left.next = self.a_pending.q.val() & !self.a_granted.val();
        self.a_go.next = self.a_valid.q.val() && self.room.q.val().any();
        self.a_done.next = self.a_go.val() && !self.a_left.val().any();

        // Windows become ready, and their failed reads are noted, in any cycle.
        self.window_ready_ready.next = true;
        self.read_error_ready.next = true;
        self.p_ready.next =
            self.p_valid.q.val() && self.windows.q.val().get_bit(self.p_window.q.val().index());
        self.p_take.next = self.p_ready.val()
            && self.failures.all.val()
            && (!self.a_valid.q.val() || self.a_done.val());
        self.arrived.next = 0.into();
        self.finished.next = 0.into();
        for w in 0..4 {
            if self.window_ready_valid.val() && (self.window_ready_window.val().index() == w) {
                self.arrived.next = self.window_bit[w].val();
            }
            if self.p_take.val()
                && self.p_window_end.q.val()
                && (self.p_window.q.val().index() == w)
            {
                self.finished.next = self.window_bit[w].val();
            }
        }
        self.windows.d.next = (self.windows.q.val() | self.arrived.val()) & !self.finished.val();
        self.failures.error_valid.next = self.read_error_valid.val();
        self.failures.error_window.next = self.read_error_window.val();
        self.failures.error_ram.next = self.read_error_ram.val();
        self.failures.error_len.next = self.read_error_len.val();

        // Stage p: a beat waits for its window; failed reads are compared one a cycle.
        self.failures.window.next = self.p_window.q.val();
        self.failures.ram.next = self.p_ram.q.val();
        self.failures.len.next = self.p_len.q.val();
        self.failures.step.next = self.p_ready.val();
        self.failures.forget.next = self.finished.val().any();
        self.p_free.next = !self.p_valid.q.val() || self.p_take.val();
        self.placed_ready.next = self.p_free.val();
        self.failures.restart.next = self.p_free.val();
        self.side.next = bit_cast::<SIDE, 10>(self.placed_dest.val())
            | (bit_cast::<SIDE, 8>(self.placed_slot.val()) << 10)
            | (bit_cast::<SIDE, 7>(self.placed_bytes.val()) << 18)
            | (bit_cast::<SIDE, 32>(self.placed_message_bytes.val()) << 30)
            | (bit_cast::<SIDE, 8>(self.placed_status.val()) << 62)
            | (bit_cast::<SIDE, 7>(self.placed_bad_dest.val()) << 70);
        if self.placed_unit_end.val() {
            self.side.next = self.side.val() | self.unit_end.val();
        }
        if self.placed_message_start.val() {
            self.side.next = self.side.val() | self.message_start.val();
        }
        if self.placed_message_end.val() {
            self.side.next = self.side.val() | self.message_end.val();
        }
        if self.placed_request_end.val() {
            self.side.next = self.side.val() | self.request_end.val();
        }
        if self.placed_dest_end.val() {
            self.side.next = self.side.val() | self.dest_end.val();
        }
        if self.p_free.val() {
            self.p_valid.d.next = self.placed_valid.val();
            self.p_ram.d.next = self.placed_ram.val();
            self.p_len.d.next = self.placed_len.val();
            self.p_pos.d.next = self.placed_pos.val();
            self.p_window.d.next = self.placed_window.val();
            self.p_window_end.d.next = self.placed_window_end.val();
            self.p_beat_end.d.next = self.placed_beat_end.val();
            self.p_side.d.next = self.side.val();
        }
        self.clash.ram.next = self.p_ram.q.val();
        self.clash.len.next = self.p_len.q.val();

        // Stage a goes on.
        if self.a_go.val() {
            self.a_pending.d.next = self.a_left.val();
        }
        if self.a_done.val() {
            self.a_valid.d.next = false;
            self.a_carry.d.next =
                !self.a_beat_end.q.val() && (self.a_carry.q.val() || self.a_error.q.val());
        }
        if self.p_take.val() {
            self.a_valid.d.next = true;
            self.a_pending.d.next = self.clash.used.val();
            self.a_ram.d.next = self.p_ram.q.val();
            self.a_len.d.next = self.p_len.q.val();
            self.a_pos.d.next = self.p_pos.q.val();
            self.a_window_end.d.next = self.p_window_end.q.val();
            self.a_beat_end.d.next = self.p_beat_end.q.val();
            self.a_side.d.next = self.p_side.q.val();
            self.a_error.d.next = self.failures.failed.val();
            for l in 0..16 {
                self.a_clash[l].d.next = self.clash.clash[l].val();
                self.a_cover[l].d.next = self.clash.cover[l].val();
            }
        }

        // Stage b: addresses of the banks.
        self.b_valid.d.next = self.a_go.val();
        self.b_granted.d.next = self.a_granted.val();
        self.b_ram.d.next = self.a_ram.q.val();
        self.b_len.d.next = self.a_len.q.val();
        self.b_pos.d.next = self.a_pos.q.val();
        self.b_window_end.d.next = self.a_done.val() && self.a_window_end.q.val();
        self.rest.next = bit_cast::<REST, SIDE>(self.a_side.q.val());
        if self.a_done.val() && self.a_beat_end.q.val() {
            self.rest.next = self.rest.val() | self.part_end.val();
        }
        if self.a_error.q.val() || self.a_carry.q.val() {
            self.rest.next = self.rest.val() | self.failed.val();
        }
        self.b_rest.d.next = self.rest.val();
        for l in 0..16 {
            self.b_cover[l].d.next = 0.into();
            if self.a_go.val() && self.a_granted.val().get_bit(l) {
                self.b_cover[l].d.next = self.a_cover[l].q.val();
            }
            self.b_row[l].next = self.b_ram.q.val().get_bits::<10>((l * 17) + 7);
            self.b_next_row[l].next = self.b_row[l].val() + 1;
        }
        self.enables.next = 0.into();
        for l in 0..16 {
            self.enables.next = self.enables.val() | self.b_cover[l].q.val();
        }
        self.read_enable.next =
            self.enables.val().get_bits::<32>(0) | self.enables.val().get_bits::<32>(32);
        for b in 0..32 {
            self.bank_row[b].next = 0.into();
            for l in 0..16 {
                if self.b_cover[l].q.val().get_bit(b) {
                    self.bank_row[b].next = self.bank_row[b].val() | self.b_row[l].val();
                }
                if self.b_cover[l].q.val().get_bit(b + 32) {
                    self.bank_row[b].next = self.bank_row[b].val() | self.b_next_row[l].val();
                }
            }
            self.rows.parts[b].next = self.bank_row[b].val();
        }
        self.read_row.next = self.rows.whole.val();
        self.selects.used.next = self.b_granted.q.val();
        for l in 0..16 {
            self.places.parts[l].next = self.b_ram.q.val().get_bits::<7>(l * 17);
        }
        self.selects.place.next = self.places.whole.val();
        self.selects.len.next = self.b_len.q.val();
        self.selects.pos.next = self.b_pos.q.val();

        // The words and the selects arrive together, then go through the crossbar.
        self.c_valid.d.next = self.b_valid.q.val();
        self.c_rest.d.next = self.b_rest.q.val();
        self.c_window_end.d.next = self.b_window_end.q.val();
        self.d_valid.d.next = self.c_valid.q.val();
        self.d_rest.d.next = self.c_rest.q.val();
        self.d_window_end.d.next = self.c_window_end.q.val();
        self.window_free.next = self.d_window_end.q.val();
        self.crossbar.enable.next = true;
        self.crossbar.data.next = self.read_data.val();
        for k in 0..64 {
            self.crossbar.select[k].next = self.selects.select[k].val();
        }
        self.e_valid.d.next = self.d_valid.q.val();
        self.e_rest.d.next = self.d_rest.q.val();
        self.e_mask.d.next = self.selects.mask.val();
        self.f_valid.d.next = self.e_valid.q.val();
        self.f_rest.d.next = self.e_rest.q.val();
        self.f_mask.d.next = self.e_mask.q.val();

        // The output: room is counted when a part is started.
        self.fifo.in_valid.next = self.f_valid.q.val();
        self.fifo.in_data.next = bit_cast::<OUTPUT, 512>(self.crossbar.result.val())
            | (bit_cast::<OUTPUT, 64>(self.f_mask.q.val()) << 512)
            | (bit_cast::<OUTPUT, REST>(self.f_rest.q.val()) << 576);
        self.payload_valid.next = self.fifo.out_valid.val();
        self.fifo.out_ready.next = self.payload_ready.val();
        if self.a_go.val() && !(self.fifo.out_valid.val() && self.payload_ready.val()) {
            self.room.d.next = self.room.q.val() - 1;
        }
        if !self.a_go.val() && (self.fifo.out_valid.val() && self.payload_ready.val()) {
            self.room.d.next = self.room.q.val() + 1;
        }
        self.payload_data.next = self.fifo.out_data.val().get_bits::<512>(0);
        self.payload_mask.next = self.fifo.out_data.val().get_bits::<64>(512);
        self.payload_dest.next = self.fifo.out_data.val().get_bits::<10>(576);
        self.payload_slot.next = self.fifo.out_data.val().get_bits::<8>(586);
        self.payload_bytes.next = self.fifo.out_data.val().get_bits::<7>(594);
        self.payload_unit_end.next = self.fifo.out_data.val().get_bit(601);
        self.payload_message_start.next = self.fifo.out_data.val().get_bit(602);
        self.payload_message_end.next = self.fifo.out_data.val().get_bit(603);
        self.payload_request_end.next = self.fifo.out_data.val().get_bit(604);
        self.payload_dest_end.next = self.fifo.out_data.val().get_bit(605);
        self.payload_message_bytes.next = self.fifo.out_data.val().get_bits::<32>(606);
        self.payload_status.next = self.fifo.out_data.val().get_bits::<8>(638);
        self.payload_bad_dest.next = self.fifo.out_data.val().get_bits::<7>(646);
        self.payload_part_end.next = self.fifo.out_data.val().get_bit(653);
        self.payload_error.next = self.fifo.out_data.val().get_bit(654);

        self.count_busy.next = self.a_go.val() && self.a_pending.q.val().any();
        self.count_conflict.next = self.a_go.val() && self.a_left.val().any();
        self.count_empty.next = self.p_valid.q.val() && !self.a_valid.q.val();
        self.count_blocked.next = self.a_valid.q.val() && !self.room.q.val().any();

        if self.rst.val() {
            self.windows.d.next = 0.into();
            self.p_valid.d.next = false;
            self.a_valid.d.next = false;
            self.a_carry.d.next = false;
            self.b_valid.d.next = false;
            self.b_window_end.d.next = false;
            self.c_valid.d.next = false;
            self.c_window_end.d.next = false;
            self.d_valid.d.next = false;
            self.d_window_end.d.next = false;
            self.e_valid.d.next = false;
            self.f_valid.d.next = false;
            self.room.d.next = self.all_room.val();
        }
    }
}
