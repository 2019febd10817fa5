//! Takes fragments apart: turns up to 16 fragments of a beat into an address for each of its bytes.
//!
//! Stands between the placer and the gather. Byte `p` of the payload belongs to the fragment with `pos <= p < pos +
//! len`, if there is one, and lies at `ram + (p - pos)`. Fragments of a beat do not overlap in the payload.
//!
//! Contract: one beat a cycle; a beat follows after 4 cycles; may stall at any time. The fields that pass beside the
//! fragments stay with their beat.
//!
//! Stages: a register slice, so that `placed_ready` comes from a register; the bytes that each fragment covers, and its
//! difference `ram - pos`; the fragment of each byte; the address of each byte.

use crate::layout::windows::{ByteBeat, WINDOW_INDEX};
use crate::request::DEST_COUNT;
use array_init::array_init;
use drdma_emit::prelude::*;

use crate::primitive::{Pack, StreamSkid};

#[cfg(test)]
mod tests;

/// Fields that pass beside the fragments.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Side {
    window: Bits<WINDOW_INDEX>,
    window_end: Bit,
    beat_end: Bit,
    dest: Bits<10>,
    slot: Bits<8>,
    bytes: Bits<7>,
    message_start: Bit,
    message_end: Bit,
    message_bytes: Bits<32>,
    request_end: Bit,
    dest_end: Bit,
    status: Bits<8>,
    bad_dest: Bits<DEST_COUNT>,
}

/// A beat of fragments that have their places in a window.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PlacedBeat {
    /// Place of each fragment in the window, in bytes (16 x 17 bits).
    pub ram: Bits<272>,
    /// Bytes of each fragment (16 x 7 bits); 0: no fragment.
    pub len: Bits<112>,
    /// Position of each fragment in the beat's payload (16 x 6 bits).
    pub pos: Bits<96>,
    /// Window that holds the fragments.
    pub window: Bits<WINDOW_INDEX>,
    /// The beat is the last one of its window.
    pub window_end: Bit,
    /// The beat is the last part of an expander's beat, which may become two.
    pub beat_end: Bit,
    /// Place of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Payload bytes of the whole beat, 0 to 64.
    pub bytes: Bits<7>,
    /// The beat starts a message.
    pub message_start: Bit,
    /// The beat ends a message.
    pub message_end: Bit,
    /// With `message_start`: bytes of the message, where it can be longer than a packet; else 0.
    pub message_bytes: Bits<32>,
    /// The request ends.
    pub request_end: Bit,
    /// The beat ends its destination.
    pub dest_end: Bit,
    /// With `request_end`: status of the request.
    pub status: Bits<8>,
    /// With `request_end`: the destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
}

/// Finds the address of each byte; see the [module](self).
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
    /// Beats of fragments, with the address of each byte.
    pub bytes: Stream<Out, ByteBeat>,

    slice: StreamSkid<PlacedBeat>,
    go: Signal<Local, Bit>,

    // Stage a: the bytes that each fragment covers.
    pos: Signal<Local, Bits<96>>,
    end: [Signal<Local, Bits<7>>; 16],
    #[init(Constant::new(u64::MAX.to_bits()))]
    ones: Constant<Bits<64>>,
    a_valid: DFF<Bit>,
    a_covers: [DFF<Bits<64>>; 16],
    a_differences: DFF<Bits<512>>,
    a_side: DFF<Side>,
    differences: Pack<16, 32, 512>,

    // Stage b: the fragment of each byte, as four bit planes.
    all: Signal<Local, Bits<64>>,
    plane: [Signal<Local, Bits<64>>; 4],
    b_valid: DFF<Bit>,
    b_mask: DFF<Bits<64>>,
    b_planes: [DFF<Bits<64>>; 4],
    b_differences: DFF<Bits<512>>,
    b_side: DFF<Side>,

    // Output stage: the address of each byte.
    fragment: [Signal<Local, Bits<4>>; 64],
    #[init(array_init(|k| Constant::new(k.to_bits())))]
    index: [Constant<Bits<17>>; 64],
    #[init(array_init(|j| Constant::new((1_u8 << j).to_bits())))]
    weight: [Constant<Bits<4>>; 4],
    places: Pack<64, 17, 1088>,
    out_valid: DFF<Bit>,
    out_mask: DFF<Bits<64>>,
    out_ram: DFF<Bits<1088>>,
    out_side: DFF<Side>,
}

impl Logic for Fragments {
    #[hdl_gen]
    fn update(&mut self) {
        self.placed.join(&mut self.slice.input);
        self.go.next = !self.out_valid.q.val() || self.bytes.ready.val();
        self.slice.output.ready.next = self.go.val();

        // Stage a.
        self.pos.next = self.slice.output.data.val().pos;
        for l in 0..16 {
            self.end[l].next = self.pos.val().get_bits::<6>(l * 6).get_bits::<7>(0)
                + self.slice.output.data.val().len.get_bits::<7>(l * 7);
            self.differences.parts[l].next =
                (self.slice.output.data.val().ram.get_bits::<17>(l * 17)
                    - self.pos.val().get_bits::<6>(l * 6).get_bits::<17>(0))
                .get_bits::<32>(0);
        }
        if self.go.val() {
            self.a_valid.d.next = self.slice.output.valid.val();
        }
        if self.go.val() && self.slice.output.valid.val() {
            for l in 0..16 {
                self.a_covers[l].d.next = (self.ones.val() << self.pos.val().get_bits::<6>(l * 6))
                    & !(self.ones.val() << self.end[l].val());
            }
            self.a_differences.d.next = self.differences.whole.val();
            self.slice.output.share(&mut self.a_side.d);
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
        self.out_side.q.share(&mut self.bytes);

        if self.rst.val() {
            self.a_valid.d.next = false;
            self.b_valid.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
