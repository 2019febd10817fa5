//! Takes fragments apart: from up to 16 pieces of a beat to an address for each of its bytes.
//!
//! Stands between the placer and the gather. Byte `p` of the payload belongs to the fragment with
//! `pos <= p < pos + len`, if there is one, and lies at `ram + (p - pos)`. Fragments of a beat do
//! not overlap in the payload.
//!
//! Contract: one beat a cycle; a beat follows after 4 cycles; may stall at any time; what passes
//! beside the fragments stays with its beat.
//!
//! Stages: a register slice, so that `placed_ready` comes from a register; the bytes that each
//! fragment covers, and its difference `ram - pos`; the fragment of each byte; its address.

use crate::layout::windows::ByteBeat;
use array_init::array_init;
use drdma_emit::prelude::*;

use crate::primitive::{Pack, Skid};

#[cfg(test)]
mod tests;

/// Bits of what passes: window 2, window_end, beat_end, dest 10, slot 8, bytes 7, message_start,
/// message_end, request_end, dest_end, message_bytes 32, status 8, bad_dest 7.
const SIDE: usize = 80;
/// A placed beat: places 272, lengths 112, positions 96, sideband.
const PLACED: usize = 272 + 112 + 96 + SIDE;

/// A beat as fragments that have their places in the segmented memory.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PlacedBeat {
    /// 16 places in the segmented memory.
    pub ram: Bits<272>,
    /// 16 lengths; 0: no fragment.
    pub len: Bits<112>,
    /// 16 positions in the beat's payload.
    pub pos: Bits<96>,
    /// The window that holds the fragments.
    pub window: Bits<2>,
    /// Last beat of its window.
    pub window_end: Bit,
    /// Last part of a beat.
    pub beat_end: Bit,
    /// Destination.
    pub dest: Bits<10>,
    /// Request.
    pub slot: Bits<8>,
    /// Payload bytes of the whole beat.
    pub bytes: Bits<7>,
    /// Starts a message.
    pub message_start: Bit,
    /// Ends a message.
    pub message_end: Bit,
    /// Length of the message that starts, where it can be longer than a packet.
    pub message_bytes: Bits<32>,
    /// Ends the request.
    pub request_end: Bit,
    /// Ends the destination.
    pub dest_end: Bit,
    /// The request's status.
    pub status: Bits<8>,
    /// The destination that failed.
    pub bad_dest: Bits<7>,
}

/// The block. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Fragments {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Placed beats.
    /// Beats of fragments.
    pub placed: Stream<In, PlacedBeat>,

    // Bytes.
    /// The same beats, where each byte is.
    pub bytes: Stream<Out, ByteBeat>,

    side: Signal<Local, Bits<SIDE>>,
    #[init(array_init(|k| Constant::new((4_u8 << k).to_bits())))]
    flag: [Constant<Bits<SIDE>>; 6],
    slice: Skid<PLACED>,
    go: Signal<Local, Bit>,

    // Stage a: what each fragment covers.
    pos: Signal<Local, Bits<96>>,
    end: [Signal<Local, Bits<7>>; 16],
    #[init(Constant::new(u64::MAX.to_bits()))]
    ones: Constant<Bits<64>>,
    a_valid: DFF<Bit>,
    a_covers: [DFF<Bits<64>>; 16],
    a_differences: DFF<Bits<512>>,
    a_side: DFF<Bits<SIDE>>,
    differences: Pack<16, 32, 512>,

    // Stage b: the fragment of each byte, as four planes of bits.
    all: Signal<Local, Bits<64>>,
    plane: [Signal<Local, Bits<64>>; 4],
    b_valid: DFF<Bit>,
    b_mask: DFF<Bits<64>>,
    b_planes: [DFF<Bits<64>>; 4],
    b_differences: DFF<Bits<512>>,
    b_side: DFF<Bits<SIDE>>,

    // The output: the address of each byte.
    fragment: [Signal<Local, Bits<4>>; 64],
    #[init(array_init(|k| Constant::new(k.to_bits())))]
    index: [Constant<Bits<17>>; 64],
    #[init(array_init(|j| Constant::new((1_u8 << j).to_bits())))]
    weight: [Constant<Bits<4>>; 4],
    places: Pack<64, 17, 1088>,
    out_valid: DFF<Bit>,
    out_mask: DFF<Bits<64>>,
    out_ram: DFF<Bits<1088>>,
    out_side: DFF<Bits<SIDE>>,
}

impl Logic for Fragments {
    #[hdl_gen]
    fn update(&mut self) {
        self.side.next = bit_cast::<SIDE, 2>(self.placed.window.val())
            | (bit_cast::<SIDE, 10>(self.placed.dest.val()) << 8)
            | (bit_cast::<SIDE, 8>(self.placed.slot.val()) << 18)
            | (bit_cast::<SIDE, 7>(self.placed.bytes.val()) << 26)
            | (bit_cast::<SIDE, 32>(self.placed.message_bytes.val()) << 33)
            | (bit_cast::<SIDE, 8>(self.placed.status.val()) << 65)
            | (bit_cast::<SIDE, 7>(self.placed.bad_dest.val()) << 73);
        if self.placed.window_end.val() {
            self.side.next = self.side.val() | self.flag[0].val();
        }
        if self.placed.beat_end.val() {
            self.side.next = self.side.val() | self.flag[1].val();
        }
        if self.placed.message_start.val() {
            self.side.next = self.side.val() | self.flag[2].val();
        }
        if self.placed.message_end.val() {
            self.side.next = self.side.val() | self.flag[3].val();
        }
        if self.placed.request_end.val() {
            self.side.next = self.side.val() | self.flag[4].val();
        }
        if self.placed.dest_end.val() {
            self.side.next = self.side.val() | self.flag[5].val();
        }
        self.slice.in_valid.next = self.placed.valid.val();
        self.slice.in_data.next = bit_cast::<PLACED, 272>(self.placed.ram.val())
            | (bit_cast::<PLACED, 112>(self.placed.len.val()) << 272)
            | (bit_cast::<PLACED, 96>(self.placed.pos.val()) << 384)
            | (bit_cast::<PLACED, SIDE>(self.side.val()) << 480);
        self.placed.ready.next = self.slice.in_ready.val();
        self.go.next = !self.out_valid.q.val() || self.bytes.ready.val();
        self.slice.out_ready.next = self.go.val();

        // Stage a.
        self.pos.next = self.slice.out_data.val().get_bits::<96>(384);
        for l in 0..16 {
            self.end[l].next = self.pos.val().get_bits::<6>(l * 6).get_bits::<7>(0)
                + self.slice.out_data.val().get_bits::<7>((l * 7) + 272);
            self.differences.parts[l].next = (self.slice.out_data.val().get_bits::<17>(l * 17)
                - self.pos.val().get_bits::<6>(l * 6).get_bits::<17>(0))
            .get_bits::<32>(0);
        }
        if self.go.val() {
            self.a_valid.d.next = self.slice.out_valid.val();
        }
        if self.go.val() && self.slice.out_valid.val() {
            for l in 0..16 {
                self.a_covers[l].d.next = (self.ones.val() << self.pos.val().get_bits::<6>(l * 6))
                    & !(self.ones.val() << self.end[l].val());
            }
            self.a_differences.d.next = self.differences.whole.val();
            self.a_side.d.next = self.slice.out_data.val().get_bits::<SIDE>(480);
        }

        // Stage b.
        self.all.next = 0.into();
        for j in 0..4 {
            self.plane[j].next = 0.into();
        }
        for l in 0..16 {
            self.all.next = self.all.val() | self.a_covers[l].q.val();
        }
        for i in 0..8 {
            self.plane[0].next = self.plane[0].val() | self.a_covers[(2 * i) + 1].q.val();
            self.plane[1].next =
                self.plane[1].val() | self.a_covers[(4 * (i / 2)) + (i % 2) + 2].q.val();
            self.plane[2].next =
                self.plane[2].val() | self.a_covers[(8 * (i / 4)) + (i % 4) + 4].q.val();
            self.plane[3].next = self.plane[3].val() | self.a_covers[i + 8].q.val();
        }
        if self.go.val() {
            self.b_valid.d.next = self.a_valid.q.val();
        }
        if self.go.val() && self.a_valid.q.val() {
            self.b_mask.d.next = self.all.val();
            for j in 0..4 {
                self.b_planes[j].d.next = self.plane[j].val();
            }
            self.b_differences.d.next = self.a_differences.q.val();
            self.b_side.d.next = self.a_side.q.val();
        }

        // The output.
        for k in 0..64 {
            self.fragment[k].next = 0.into();
            for j in 0..4 {
                if self.b_planes[j].q.val().get_bit(k) {
                    self.fragment[k].next = self.fragment[k].val() | self.weight[j].val();
                }
            }
            self.places.parts[k].next =
                self.b_differences.q.val().get_bits::<17>(self.fragment[k].val().index() * 32)
                    + self.index[k].val();
        }
        if self.go.val() {
            self.out_valid.d.next = self.b_valid.q.val();
        }
        if self.go.val() && self.b_valid.q.val() {
            self.out_mask.d.next = self.b_mask.q.val();
            self.out_ram.d.next = self.places.whole.val();
            self.out_side.d.next = self.b_side.q.val();
        }
        self.bytes.valid.next = self.out_valid.q.val();
        self.bytes.mask.next = self.out_mask.q.val();
        self.bytes.ram.next = self.out_ram.q.val();
        self.bytes.window.next = self.out_side.q.val().get_bits::<2>(0);
        self.bytes.dest.next = self.out_side.q.val().get_bits::<10>(8);
        self.bytes.slot.next = self.out_side.q.val().get_bits::<8>(18);
        self.bytes.bytes.next = self.out_side.q.val().get_bits::<7>(26);
        self.bytes.message_bytes.next = self.out_side.q.val().get_bits::<32>(33);
        self.bytes.status.next = self.out_side.q.val().get_bits::<8>(65);
        self.bytes.bad_dest.next = self.out_side.q.val().get_bits::<7>(73);
        self.bytes.window_end.next = self.out_side.q.val().get_bit(2);
        self.bytes.beat_end.next = self.out_side.q.val().get_bit(3);
        self.bytes.message_start.next = self.out_side.q.val().get_bit(4);
        self.bytes.message_end.next = self.out_side.q.val().get_bit(5);
        self.bytes.request_end.next = self.out_side.q.val().get_bit(6);
        self.bytes.dest_end.next = self.out_side.q.val().get_bit(7);

        if self.rst.val() {
            self.a_valid.d.next = false;
            self.b_valid.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
