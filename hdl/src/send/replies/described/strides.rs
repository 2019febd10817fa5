//! Spreads the values of columns over the rows of a packet: says where in the packet the pieces of each value go.
//!
//! All columns of a packet have the same width. A piece is the largest of 4, 2 and 1 bytes that divides the width and
//! the place in its row at which the packet
//! begins; so no piece crosses a word of 4 bytes, in the column or in the packet. 16 pieces go in a cycle: 64, 32 or 16
//! bytes. Where they go, counted from a column's first value, is the same for all
//! columns, and is computed anew only if a packet has other rows than the one before.
//!
//! The rows of the memory, of 128 B, hold the packet as it will leave. With 4, 8, 12 or 16 columns, the values of one
//! column would lie in few banks; then each row of the memory is rotated
//! by 8 B more than the one before it.
//!
//! Contract: a beat of 64 B takes 1, 2 or 4 cycles, a run without bytes 1, a packet 1 more, and 18 more if its rows are
//! not those of the packet before. A packet
//! begins with its first column, when there is room for it; the pulse `begun` takes that room. `packet` comes with the
//! packet's last beat. May stall at any time.

use super::{OFFSET, ROW};
use crate::primitive::Pack;
use crate::shell::host_read::HostReadBeat;
use crate::transpose::{BYTES, LANES, PIECES, WORD_PLACE};
use drdma_emit::prelude::*;

/// Bits of the number of a packet in the memory: it holds 4.
pub const SLOT: usize = 2;
/// Bits of the number of a piece in its value, which has up to 64.
const PIECE: usize = 6;
/// Bits of a count of the pieces or of the bytes of a value.
const WIDTH: usize = 7;

/// Shape of the rows of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Shape {
    /// Bytes of a row.
    pub row: Bits<ROW>,
    /// Bytes of a value, 1 to 64; the same in all columns.
    pub width: Bits<WIDTH>,
    /// Binary logarithm of the bytes of a piece: 0, 1 or 2.
    pub grain: Bits<2>,
    /// Each row of the memory is rotated by 8 B more than the one before it.
    pub turned: Bit,
    /// Bytes of the packet.
    pub bytes: Bits<13>,
}

/// The values of one column in a packet.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Strip {
    /// Bytes that were read, from the first byte of a value on.
    pub bytes: Bits<13>,
    /// Distance from the packet's first byte to the value's first one, as a signed number of bytes.
    pub offset: Bits<OFFSET>,
    /// The column is the packet's last one.
    pub last: Bit,
    /// Some of the packet's bytes cannot be reached; given with the last strip.
    pub failed: Bit,
    /// With `failed`: the region ends before these bytes.
    pub outside: Bit,
}

/// A packet whose last bytes are on their way into the memory.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Spread {
    /// Bytes of the packet.
    pub bytes: Bits<13>,
    /// Each row of the memory is rotated by 8 B more than the one before it.
    pub turned: Bit,
    /// Some of the packet's bytes could not be read.
    pub error: Bit,
    /// With `error`: the region ends before these bytes.
    pub outside: Bit,
}

/// Steps in which the current packet is handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum StridesState {
    /// Waits for a packet, and for room for it.
    Await,
    /// Computes where pieces go, for rows that are not those of the packet before.
    Prepare,
    /// Spreads the packet's columns.
    Runs,
}

/// Spreads columns over rows. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; streams `shape` (one for each packet), `strip` (one for each of its columns), `beat` (what was read);
/// `room`, `slot`: there is room for a packet, and where;
/// `flows`.
///
/// # Outputs
/// `begun`, `packet`: pulses; `valid`, `over`, `bytes`, `masks`, `places`: a beat of pieces.
#[derive(LogicBlock, BlockDefault)]
pub struct Strides {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The shape of each packet's rows.
    pub shape: Stream<In, Shape>,
    /// The columns of each packet.
    pub strip: Stream<In, Strip>,
    /// Bytes that were read of the columns, in their order.
    pub beat: Stream<In, HostReadBeat>,
    /// The memory has room for a packet.
    pub room: Signal<In, Bit>,
    /// Number of the place for that packet in the memory; valid with `room`.
    pub slot: Signal<In, Bits<SLOT>>,
    /// A packet is begun, and takes the room.
    pub begun: Signal<Out, Bit>,
    /// A packet's last pieces are on offer in the next cycle.
    pub packet: Flow<Out, Spread>,

    /// A beat of 16 pieces is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is the last one of a packet.
    pub over: Signal<Out, Bit>,
    /// A word of 4 B for each piece, with the piece's bytes in each place that they may go to.
    pub bytes: Signal<Out, Bits<512>>,
    /// The bytes of each word that are written, a bit each; none for a piece that does not exist.
    pub masks: Signal<Out, Bits<64>>,
    /// The word of the memory to which each piece goes, 12 bits each: word of the row, row, packet.
    pub places: Signal<Out, Bits<192>>,
    /// The beat is taken in this cycle.
    pub flows: Signal<In, Bit>,

    state: DFF<StridesState>,

    // How pieces lie, counted from a column's first value.
    /// `first_*` and the steps hold for rows of the shape `of`.
    known: DFF<Bit>,
    of: DFF<Shape>,
    unused_of: Signal<Local, Bits<13>>,
    same: Signal<Local, Bit>,
    index: DFF<Bits<5>>,
    /// Bytes of a piece; pieces of a value; bytes from a value's end to the next value of its column.
    piece_bytes: Signal<Local, Bits<3>>,
    value_pieces: Signal<Local, Bits<WIDTH>>,
    gap: Signal<Local, Bits<OFFSET>>,
    /// The piece that is computed: its place in the packet, and its number in its value.
    at: DFF<Bits<OFFSET>>,
    nth: DFF<Bits<PIECE>>,
    nth_next: Signal<Local, Bits<WIDTH>>,
    /// The first 16 pieces of a column: their places, and their numbers in their values.
    first_at: [DFF<Bits<OFFSET>>; PIECES],
    first_nth: [DFF<Bits<PIECE>>; PIECES],
    /// The 16 current pieces, in the same way.
    piece_at: [DFF<Bits<OFFSET>>; PIECES],
    piece_nth: [DFF<Bits<PIECE>>; PIECES],
    /// Increments for 16 pieces of a piece's number in its value, and of its place, if that is below `wraps_from`.
    nth_step: DFF<Bits<5>>,
    step: DFF<Bits<OFFSET>>,
    wraps_from: DFF<Bits<WIDTH>>,
    /// Bytes that they add to the place otherwise; the number is then less by `wraps_from`.
    wrapped_step: DFF<Bits<OFFSET>>,
    wraps: [Signal<Local, Bit>; PIECES],
    moved_nth: [Signal<Local, Bits<WIDTH>>; PIECES],
    unused_nth: [Signal<Local, Bits<WIDTH>>; PIECES],
    resets: Signal<Local, Bit>,

    // The current column.
    begun_strip: DFF<Bit>,
    rest: DFF<Bits<13>>,
    left: Signal<Local, Bits<13>>,
    empty: Signal<Local, Bit>,
    /// The part of the current beat that is spread, and the number of a beat's last part.
    part: DFF<Bits<2>>,
    last_part: Signal<Local, Bits<2>>,
    most: Signal<Local, Bits<7>>,
    /// Pieces that are left of the column, if they are the last ones.
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

    // The beat that is offered, a cycle later.
    out_valid: DFF<Bit>,
    out_over: DFF<Bit>,
    out_bytes: DFF<Bits<512>>,
    out_at: [DFF<Bits<OFFSET>>; PIECES],
    out_used: [DFF<Bit>; PIECES],
    out_grain: DFF<Bits<2>>,
    out_turned: DFF<Bit>,
    out_slot: DFF<Bits<SLOT>>,
    /// Row of the packet's place in the memory, and word of that row.
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
        // The rows are like those that were computed last.
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

        // The current column.
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
        self.bad_now.next = self.bad.q.val()
            || self.strip.failed.val()
            || (!self.empty.val() && self.beat.error.val());
        self.packet.valid.next = self.fires.val() && self.ends.val() && self.strip.last.val();
        self.packet.bytes.next = self.shape.bytes.val();
        self.packet.turned.next = self.shape.turned.val();
        self.packet.error.next = self.bad_now.val();
        self.packet.outside.next = self.strip.outside.val();
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

        // The pieces of the current column.
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
                // The piece behind the first 16 gives the steps.
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

        // Bytes of the pieces. A piece of fewer than 4 bytes is repeated in each place of its word that it may go to.
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

        // The places of the pieces.
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
            // A piece before the packet has a negative place, and is not written.
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
