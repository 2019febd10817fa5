//! The values of a column, a row's bytes apart: where in the packet their pieces go.
//!
//! All columns of a packet have the same width. A piece is the largest of 4, 2 and 1 bytes that divides the width and the place in its row at which the packet
//! begins; so no piece lies across a word of 4 bytes, at either end. 16 pieces go in a cycle: 64, 32 or 16 bytes. Where they go, from a column's first value on, is the same for all
//! columns, and is worked out where a packet is of other rows than the one before.
//!
//! The rows of the memory, of 128 B, hold the packet as it will leave. With 4, 8, 12 or 16 columns, values of one column would meet in few banks; then each row of the memory is rotated
//! by 8 B more than the one before it.
//!
//! Contract: a beat of 64 B in 1, 2 or 4 cycles, a run without bytes in 1, a packet in 1 more, and 18 more where its rows are not those of the packet before. A packet
//! begins with its first column, when there is room for it; `begun`, a pulse, takes that. `packet` comes with its last beat. May stall at any time.

use super::{OFFSET, ROW};
use crate::primitive::Pack;
use crate::shell::host_read::HostReadBeat;
use crate::transpose::{BYTES, LANES, PIECES, WORD_PLACE};
use drdma_emit::prelude::*;

/// Bits of the number of a packet in the memory: it holds 4.
pub const SLOT: usize = 2;
/// Bits of the number of a piece in its value, of up to 64.
const PIECE: usize = 6;
/// Bits of a number of pieces of a value, or of bytes of it.
const WIDTH: usize = 7;

/// Of what rows a packet is.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Shape {
    /// Bytes of a row,
    pub row: Bits<ROW>,
    /// and of each of its values.
    pub width: Bits<WIDTH>,
    /// A piece has 2 to the power of this many bytes.
    pub grain: Bits<2>,
    /// The memory's rows are rotated.
    pub turned: Bit,
    /// Bytes of the packet.
    pub bytes: Bits<13>,
}

/// A column's part of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Strip {
    /// Bytes that were read, from a value's first one on.
    pub bytes: Bits<13>,
    /// From the packet's first byte to that value, as a signed number.
    pub offset: Bits<OFFSET>,
    /// It is the packet's last one.
    pub last: Bit,
}

/// A packet that is on its way into the memory.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Spread {
    /// Its bytes.
    pub bytes: Bits<13>,
    /// See [`Shape`].
    pub turned: Bit,
    /// Some of it could not be read.
    pub error: Bit,
}

/// What is done.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum StridesState {
    /// A packet is waited for.
    Await,
    /// Its rows are worked out.
    Prepare,
    /// Its columns are spread.
    Runs,
}

/// See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; streams `shape`, of each packet; `strip`, of each of its columns; `beat`, what was read; `room`, `slot`: there is room for a packet, here; `flows`.
///
/// # Outputs
/// `begun`, `packet`, pulses; `valid`, `over`, `bytes`, `masks`, `places`: a beat of pieces.
#[derive(LogicBlock, BlockDefault)]
pub struct Strides {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The rows of each packet.
    pub shape: Stream<In, Shape>,
    /// Its columns.
    pub strip: Stream<In, Strip>,
    /// What was read of them.
    pub beat: Stream<In, HostReadBeat>,
    /// There is room for a packet:
    pub room: Signal<In, Bit>,
    /// here.
    pub slot: Signal<In, Bits<SLOT>>,
    /// That room is taken.
    pub begun: Signal<Out, Bit>,
    /// A packet's last beat goes on.
    pub packet: Flow<Out, Spread>,

    /// A beat of pieces,
    pub valid: Signal<Out, Bit>,
    /// the last one of a packet;
    pub over: Signal<Out, Bit>,
    /// its words, with the bytes of their pieces where they go,
    pub bytes: Signal<Out, Bits<512>>,
    /// which of them count,
    pub masks: Signal<Out, Bits<64>>,
    /// and where they go.
    pub places: Signal<Out, Bits<192>>,
    /// It is taken.
    pub flows: Signal<In, Bit>,

    state: DFF<StridesState>,

    // How pieces lie, from a column's first value on.
    /// Known, of rows like these.
    known: DFF<Bit>,
    of: DFF<Shape>,
    unused_of: Signal<Local, Bits<13>>,
    same: Signal<Local, Bit>,
    index: DFF<Bits<5>>,
    /// Bytes of a piece, pieces of a value, and bytes from a value's end to the next one.
    piece_bytes: Signal<Local, Bits<3>>,
    value_pieces: Signal<Local, Bits<WIDTH>>,
    gap: Signal<Local, Bits<OFFSET>>,
    /// The piece at hand: its place, and its number in its value.
    at: DFF<Bits<OFFSET>>,
    nth: DFF<Bits<PIECE>>,
    nth_next: Signal<Local, Bits<WIDTH>>,
    /// The first 16 pieces,
    first_at: [DFF<Bits<OFFSET>>; PIECES],
    first_nth: [DFF<Bits<PIECE>>; PIECES],
    /// and those at hand.
    piece_at: [DFF<Bits<OFFSET>>; PIECES],
    piece_nth: [DFF<Bits<PIECE>>; PIECES],
    /// What they go on by in 16 pieces: number in the value, and bytes; from this number on,
    nth_step: DFF<Bits<5>>,
    step: DFF<Bits<OFFSET>>,
    wraps_from: DFF<Bits<WIDTH>>,
    /// the next value has it, and it goes on by so many.
    wrapped_step: DFF<Bits<OFFSET>>,
    wraps: [Signal<Local, Bit>; PIECES],
    moved_nth: [Signal<Local, Bits<WIDTH>>; PIECES],
    unused_nth: [Signal<Local, Bits<WIDTH>>; PIECES],
    resets: Signal<Local, Bit>,

    // The column at hand.
    begun_strip: DFF<Bit>,
    rest: DFF<Bits<13>>,
    left: Signal<Local, Bits<13>>,
    empty: Signal<Local, Bit>,
    /// The part of the beat at hand, and the last one of a beat.
    part: DFF<Bits<2>>,
    last_part: Signal<Local, Bits<2>>,
    most: Signal<Local, Bits<7>>,
    /// Pieces that there are still, or 16.
    rounded: Signal<Local, Bits<7>>,
    unused_rounded: Signal<Local, Bits<7>>,
    count: Signal<Local, Bits<5>>,
    ends: Signal<Local, Bit>,
    fires: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    bad: DFF<Bit>,
    bad_now: Signal<Local, Bit>,
    half: Signal<Local, Bits<256>>,
    quarter: Signal<Local, Bits<128>>,
    data: Pack<PIECES, 32, 512>,
    twice: [Signal<Local, Bits<32>>; PIECES],
    fourfold: [Signal<Local, Bits<32>>; PIECES],

    // A cycle later.
    out_valid: DFF<Bit>,
    out_over: DFF<Bit>,
    out_bytes: DFF<Bits<512>>,
    out_at: [DFF<Bits<OFFSET>>; PIECES],
    out_used: [DFF<Bit>; PIECES],
    out_grain: DFF<Bits<2>>,
    out_turned: DFF<Bit>,
    out_slot: DFF<Bits<SLOT>>,
    /// The row of the memory, and the word there.
    row: [Signal<Local, Bits<5>>; PIECES],
    word: [Signal<Local, Bits<5>>; PIECES],
    lanes: [Signal<Local, Bits<LANES>>; PIECES],
    place_parts: Pack<PIECES, WORD_PLACE, 192>,
    mask_parts: Pack<PIECES, LANES, 64>,
    unused: Signal<Local, Bit>,
}

impl Logic for Strides {
    #[hdl_gen]
    fn update(&mut self) {
        // Rows like those that are known.
        self.same.next = self.known.q.val()
            && (self.of.q.val().row == self.shape.row.val())
            && (self.of.q.val().width == self.shape.width.val())
            && (self.of.q.val().grain == self.shape.grain.val());
        self.unused_of.next =
            self.of.q.val().bytes | bit_cast::<13, 1>(self.of.q.val().turned.into());
        self.piece_bytes.next = 1.into();
        self.value_pieces.next = self.shape.width.val();
        self.last_part.next = 3.into();
        self.most.next = 16.into();
        if self.shape.grain.val() == 1 {
            self.piece_bytes.next = 2.into();
            self.value_pieces.next = self.shape.width.val() >> 1;
            self.last_part.next = 1.into();
            self.most.next = 32.into();
        }
        if self.shape.grain.val() == 2 {
            self.piece_bytes.next = 4.into();
            self.value_pieces.next = self.shape.width.val() >> 2;
            self.last_part.next = 0.into();
            self.most.next = 64.into();
        }
        self.gap.next = bit_cast::<OFFSET, ROW>(self.shape.row.val())
            - bit_cast::<OFFSET, WIDTH>(self.shape.width.val());
        self.nth_next.next = bit_cast::<WIDTH, PIECE>(self.nth.q.val()) + 1;

        // The column at hand.
        self.left.next = self.strip.bytes.val();
        if self.begun_strip.q.val() {
            self.left.next = self.rest.q.val();
        }
        self.empty.next = !self.left.val().any();
        self.ends.next = self.left.val() <= bit_cast::<13, 7>(self.most.val());
        self.rounded.next = self.left.val().get_bits::<7>(0);
        if self.shape.grain.val() == 1 {
            self.rounded.next = (self.left.val().get_bits::<7>(0) + 1) >> 1;
        }
        if self.shape.grain.val() == 2 {
            self.rounded.next = (self.left.val().get_bits::<7>(0) + 3) >> 2;
        }
        self.unused_rounded.next = self.rounded.val();
        self.count.next = 16.into();
        if self.ends.val() {
            self.count.next = self.rounded.val().get_bits::<5>(0);
        }
        self.moves.next = !self.out_valid.q.val() || self.flows.val();
        self.fires.next = (self.state.q.val() == StridesState::Runs)
            && self.strip.valid.val()
            && (self.empty.val() || self.beat.valid.val())
            && self.moves.val();
        self.beat.ready.next = self.fires.val()
            && !self.empty.val()
            && (self.ends.val() || (self.part.q.val() == self.last_part.val()));
        self.strip.ready.next = self.fires.val() && self.ends.val();
        self.bad_now.next = self.bad.q.val() || (!self.empty.val() && self.beat.error.val());
        self.packet.valid.next = self.fires.val() && self.ends.val() && self.strip.last.val();
        self.packet.bytes.next = self.shape.bytes.val();
        self.packet.turned.next = self.shape.turned.val();
        self.packet.error.next = self.bad_now.val();
        self.shape.ready.next = self.packet.valid.val();
        self.unused.next = self.beat.last.val();
        if self.fires.val() {
            self.begun_strip.d.next = !self.ends.val();
            self.rest.d.next = self.left.val() - bit_cast::<13, 7>(self.most.val());
            self.bad.d.next = self.bad_now.val();
            self.part.d.next = self.part.q.val() + 1;
            if self.ends.val() || (self.part.q.val() == self.last_part.val()) {
                self.part.d.next = 0.into();
            }
        }

        // Its pieces.
        self.resets.next = self.fires.val() && self.ends.val();
        for k in 0..PIECES {
            self.wraps[k].next =
                bit_cast::<WIDTH, PIECE>(self.piece_nth[k].q.val()) >= self.wraps_from.q.val();
            self.moved_nth[k].next = bit_cast::<WIDTH, PIECE>(self.piece_nth[k].q.val())
                + bit_cast::<WIDTH, 5>(self.nth_step.q.val());
            if self.wraps[k].val() {
                self.moved_nth[k].next =
                    bit_cast::<WIDTH, PIECE>(self.piece_nth[k].q.val()) - self.wraps_from.q.val();
            }
            self.unused_nth[k].next = self.moved_nth[k].val();
            if self.fires.val() {
                self.piece_nth[k].d.next = self.moved_nth[k].val().get_bits::<PIECE>(0);
                self.piece_at[k].d.next = self.piece_at[k].q.val() + self.step.q.val();
                if self.wraps[k].val() {
                    self.piece_at[k].d.next = self.piece_at[k].q.val() + self.wrapped_step.q.val();
                }
            }
            if self.resets.val() || (self.state.q.val() == StridesState::Await) {
                self.piece_nth[k].d.next = self.first_nth[k].q.val();
                self.piece_at[k].d.next = self.first_at[k].q.val();
            }
        }

        self.begun.next = false;
        match self.state.q.val() {
            StridesState::Await => {
                self.index.d.next = 0.into();
                self.at.d.next = 0.into();
                self.nth.d.next = 0.into();
                self.bad.d.next = false;
                if self.shape.valid.val() && !self.same.val() {
                    self.of.d.next = self.shape.val();
                    self.state.d.next = StridesState::Prepare;
                } else if self.shape.valid.val() && self.strip.valid.val() && self.room.val() {
                    self.begun.next = true;
                    self.state.d.next = StridesState::Runs;
                }
            }
            StridesState::Prepare => {
                self.index.d.next = self.index.q.val() + 1;
                for k in 0..PIECES {
                    if self.index.q.val() == k.to_bits() {
                        self.first_at[k].d.next = self.at.q.val();
                        self.first_nth[k].d.next = self.nth.q.val();
                    }
                }
                self.nth.d.next = self.nth_next.val().get_bits::<PIECE>(0);
                self.at.d.next = self.at.q.val() + bit_cast::<OFFSET, 3>(self.piece_bytes.val());
                if self.nth_next.val() == self.value_pieces.val() {
                    self.nth.d.next = 0.into();
                    self.at.d.next = self.at.q.val()
                        + bit_cast::<OFFSET, 3>(self.piece_bytes.val())
                        + self.gap.val();
                }
                // The piece behind these.
                if self.index.q.val() == PIECES as u64 {
                    self.nth_step.d.next = self.nth.q.val().get_bits::<5>(0);
                    self.step.d.next = self.at.q.val();
                    self.wraps_from.d.next =
                        self.value_pieces.val() - bit_cast::<WIDTH, PIECE>(self.nth.q.val());
                    self.wrapped_step.d.next = self.at.q.val() + self.gap.val();
                    self.known.d.next = true;
                    self.state.d.next = StridesState::Await;
                }
            }
            StridesState::Runs => {
                if self.packet.valid.val() {
                    self.state.d.next = StridesState::Await;
                }
            }
        }

        // Bytes of the pieces. Those of fewer than 4 bytes are there in each place that they may go to.
        self.half.next = self.beat.data.val().get_bits::<256>(0);
        if self.part.q.val().get_bit(0) {
            self.half.next = self.beat.data.val().get_bits::<256>(256);
        }
        self.quarter.next = self.beat.data.val().get_bits::<128>(self.part.q.val().index() * 128);
        for k in 0..PIECES {
            self.twice[k].next = bit_cast::<32, 16>(self.half.val().get_bits::<16>(k * 16))
                | (bit_cast::<32, 16>(self.half.val().get_bits::<16>(k * 16)) << 16);
            self.fourfold[k].next = bit_cast::<32, 8>(self.quarter.val().get_bits::<8>(k * 8))
                | (bit_cast::<32, 8>(self.quarter.val().get_bits::<8>(k * 8)) << 8)
                | (bit_cast::<32, 8>(self.quarter.val().get_bits::<8>(k * 8)) << 16)
                | (bit_cast::<32, 8>(self.quarter.val().get_bits::<8>(k * 8)) << 24);
            self.data.parts[k].next = self.fourfold[k].val();
            if self.shape.grain.val() == 1 {
                self.data.parts[k].next = self.twice[k].val();
            }
            if self.shape.grain.val() == 2 {
                self.data.parts[k].next = self.beat.data.val().get_bits::<32>(k * 32);
            }
        }
        if self.moves.val() {
            self.out_valid.d.next = self.fires.val();
        }
        if self.fires.val() {
            self.out_over.d.next = self.packet.valid.val();
            self.out_bytes.d.next = self.data.whole.val();
            self.out_grain.d.next = self.shape.grain.val();
            self.out_turned.d.next = self.shape.turned.val();
            self.out_slot.d.next = self.slot.val();
            for k in 0..PIECES {
                self.out_at[k].d.next = self.piece_at[k].q.val() + self.strip.offset.val();
                self.out_used[k].d.next = self.count.val() > k.to_bits();
            }
        }

        // Where they go.
        for k in 0..PIECES {
            self.row[k].next = self.out_at[k].q.val().get_bits::<5>(7);
            self.word[k].next = self.out_at[k].q.val().get_bits::<5>(2);
            if self.out_turned.q.val() {
                self.word[k].next =
                    self.out_at[k].q.val().get_bits::<5>(2) + (self.row[k].val() << 1);
            }
            self.place_parts.parts[k].next = bit_cast::<WORD_PLACE, 5>(self.word[k].val())
                | (bit_cast::<WORD_PLACE, 5>(self.row[k].val()) << 5)
                | (bit_cast::<WORD_PLACE, SLOT>(self.out_slot.q.val()) << 10);
            // Bytes before the packet have the sign bit, and go nowhere.
            self.lanes[k].next = 0.into();
            if self.out_used[k].q.val() && !self.out_at[k].q.val().get_bit(OFFSET - 1) {
                self.lanes[k].next = 15.into();
                if self.out_grain.q.val() == 1 {
                    self.lanes[k].next = bits::<LANES>(3)
                        << bit_cast::<3, 2>(self.out_at[k].q.val().get_bits::<2>(0));
                }
                if self.out_grain.q.val() == 0 {
                    self.lanes[k].next = bits::<LANES>(1)
                        << bit_cast::<3, 2>(self.out_at[k].q.val().get_bits::<2>(0));
                }
            }
            self.mask_parts.parts[k].next = self.lanes[k].val();
        }
        self.valid.next = self.out_valid.q.val();
        self.over.next = self.out_over.q.val();
        self.bytes.next = self.out_bytes.q.val();
        self.masks.next = self.mask_parts.whole.val();
        self.places.next = self.place_parts.whole.val();

        if self.rst.val() {
            self.state.d.next = StridesState::Await;
            self.known.d.next = false;
            self.begun_strip.d.next = false;
            self.part.d.next = 0.into();
            self.out_valid.d.next = false;
        }
    }
}

const _: () = assert!(BYTES == 64);
