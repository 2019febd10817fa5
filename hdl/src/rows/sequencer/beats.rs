//! Cuts units into beats of up to 64 bytes.

use super::record::{Cut, LENGTH_BITS, Length};
use crate::primitive::{FirstSet, Ram, RamStyle, Restore};
use crate::rows::expander::Token;
use drdma_emit::prelude::*;

/// Bits of a length that is kept, of which two share a word of an UltraRAM. A lane of up to 64 bytes has its bytes in 7
/// bits, and those of its beat behind them. A longer one, which ends no beat, has the top bit.
const KEPT: usize = 36;
const IS_LONG: usize = KEPT - 1;
const WORD: usize = 2 * KEPT;
const PLACE: usize = 14;

/// Emits the tokens of a unit one by one, for the expander: a token for each beat, and one for each 64 bytes of a
/// longer lane.
///
/// One token a cycle, latency 3 cycles; may stall at any time. The first token of a unit carries the starts of messages
/// and chunks, the last one the ends.
///
/// # Inputs
/// `in` stream {`token`, `cut`}, `length_write` (bytes that each lane adds to its beat), `token_ready`.
///
/// # Outputs
/// `in_ready`, `token` stream.
#[derive(LogicBlock, BlockDefault)]
pub struct Beats {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A length is written.
    pub length_write: Signal<In, Bit>,
    /// Address of the length: set (upper 11 bits) and lane (lower 4).
    pub length_address: Signal<In, Bits<15>>,
    /// The length, a flattened [`Length`].
    pub length_data: Signal<In, Bits<LENGTH_BITS>>,
    /// A unit is offered.
    pub in_valid: Signal<In, Bit>,
    /// The unit is taken in this cycle.
    pub in_ready: Signal<Out, Bit>,
    /// Token of the whole unit.
    pub in_token: Signal<In, Token>,
    /// Cuts of the unit into beats.
    pub in_cut: Signal<In, Cut>,
    /// A token is offered.
    pub token_valid: Signal<Out, Bit>,
    /// The token is taken in this cycle.
    pub token_ready: Signal<In, Bit>,
    /// The token.
    pub token: Signal<Out, Token>,

    #[init(Ram::new(RamStyle::Ultra))]
    lengths: Ram<WORD, 2, PLACE>,
    written: Restore<Length, LENGTH_BITS>,
    is_long: Signal<Local, Bit>,
    write_data: Signal<Local, Bits<KEPT>>,
    /// The length that was read is in the upper half of its word.
    upper: DFF<Bit>,
    read_data: Signal<Local, Bits<KEPT>>,
    length: Signal<Local, Length>,
    unused: Signal<Local, Bits<KEPT>>,
    move_on: Signal<Local, Bit>,
    direct: Signal<Local, Bit>,
    // The beats of a unit: which lanes start the beats that are left.
    inside: DFF<Bit>,
    from: DFF<Bits<4>>,
    rest: DFF<Bits<16>>,
    starts: Signal<Local, Bits<16>>,
    next_start: FirstSet<16, 4>,
    final_beat: Signal<Local, Bit>,
    // The token while its length is read.
    read_valid: DFF<Bit>,
    read_token: DFF<Token>,
    read_whole: DFF<Bit>,
    read_one: DFF<Bit>,
    // The lane that is cut into pieces.
    cut_valid: DFF<Bit>,
    cut_token: DFF<Token>,
    cut_whole: DFF<Bit>,
    cut_one: DFF<Bit>,
    cut_length: DFF<Length>,
    cut_offset: DFF<Bits<32>>,
    left: Signal<Local, Bits<32>>,
    over: Signal<Local, Bit>,
    final_piece: Signal<Local, Bit>,
    out_ready: Signal<Local, Bit>,
    cut_done: Signal<Local, Bit>,
    // The token that is offered.
    out_valid: DFF<Bit>,
    out: DFF<Token>,
}

impl Logic for Beats {
    #[hdl_gen]
    fn update(&mut self) {
        self.written.bits.next = self.length_data.val();
        self.is_long.next = self.written.record.val().lane > 64;
        self.write_data.next = bit_cast::<KEPT, 7>(self.written.record.val().lane.get_bits::<7>(0))
            | (bit_cast::<KEPT, 7>(self.written.record.val().beat) << 7);
        if self.is_long.val() {
            self.write_data.next = bit_cast::<KEPT, 32>(self.written.record.val().lane)
                | (bits::<KEPT>(1) << IS_LONG as u64);
        }
        self.lengths.write_lanes.next = 0.into();
        if self.length_write.val() {
            self.lengths.write_lanes.next =
                bits::<2>(1) << self.length_address.val().get_bits::<1>(0);
        }
        self.lengths.write_address.next = self.length_address.val().get_bits::<PLACE>(1);
        self.lengths.write_data.next = bit_cast::<WORD, KEPT>(self.write_data.val())
            | (bit_cast::<WORD, KEPT>(self.write_data.val()) << KEPT as u64);

        // Lanes of more than 64 bytes are cut into pieces.
        self.out_ready.next = !self.out_valid.q.val() || self.token_ready.val();
        self.left.next = self.cut_length.q.val().lane - self.cut_offset.q.val();
        self.over.next = !self.cut_whole.q.val() && (self.cut_length.q.val().lane > 64);
        self.final_piece.next = !self.over.val() || (self.left.val() <= 64);
        self.cut_done.next = self.out_ready.val() && self.final_piece.val();

        // A beat goes from a starting lane to the lane before the next starting one.
        self.starts.next = self.in_cut.val().starts & 0xfffe;
        if self.inside.q.val() {
            self.starts.next = self.rest.q.val();
        }
        self.next_start.bits.next = self.starts.val();
        self.final_beat.next =
            self.in_cut.val().whole || self.in_cut.val().one_lane || !self.next_start.any.val();
        // A whole unit needs no length, and goes past empty stages.
        self.direct.next = self.in_valid.val()
            && self.in_cut.val().whole
            && !self.read_valid.q.val()
            && !self.cut_valid.q.val()
            && self.out_ready.val();
        self.move_on.next = !self.cut_valid.q.val() || self.cut_done.val();
        self.in_ready.next = self.final_beat.val() && self.move_on.val();
        self.lengths.read_enable.next = self.move_on.val();
        if self.move_on.val() {
            self.read_valid.d.next = self.in_valid.val() && !self.direct.val();
            self.read_token.d.next = self.in_token.val();
            self.read_whole.d.next = self.in_cut.val().whole;
            self.read_one.d.next = self.in_cut.val().one_lane;
            if self.inside.q.val() {
                self.read_token.d.next.first = self.from.q.val();
                self.read_token.d.next.message_start = false;
                self.read_token.d.next.message_bytes = 0.into();
                self.read_token.d.next.chunk_start = false;
                self.read_token.d.next.chunk_blocks = 0.into();
            }
            if !self.final_beat.val() {
                self.read_token.d.next.last = self.next_start.index.val() - 1;
                self.read_token.d.next.unit_end = false;
                self.read_token.d.next.message_end = false;
                self.read_token.d.next.dest_end = false;
            }
            if self.in_valid.val() {
                self.inside.d.next = !self.final_beat.val();
                self.from.d.next = self.next_start.index.val();
                self.rest.d.next = self.starts.val() & (self.starts.val() - 1);
            }
        }
        self.lengths.read_address.next = (bit_cast::<PLACE, 11>(self.in_token.val().set) << 3)
            | bit_cast::<PLACE, 3>(self.read_token.d.val().last.get_bits::<3>(1));
        if self.move_on.val() {
            self.upper.d.next = self.read_token.d.val().last.get_bit(0);
        }

        // The length arrives.
        self.read_data.next = self.lengths.read_data.val().get_bits::<KEPT>(0);
        if self.upper.q.val() {
            self.read_data.next = self.lengths.read_data.val().get_bits::<KEPT>(KEPT);
        }
        self.unused.next = self.read_data.val();
        self.length.next.lane = bit_cast::<32, 7>(self.read_data.val().get_bits::<7>(0));
        self.length.next.beat = self.read_data.val().get_bits::<7>(7);
        if self.read_data.val().get_bit(IS_LONG) {
            self.length.next.lane = self.read_data.val().get_bits::<32>(0);
        }
        if self.move_on.val() {
            self.cut_valid.d.next = self.read_valid.q.val();
            self.cut_token.d.next = self.read_token.q.val();
            self.cut_whole.d.next = self.read_whole.q.val();
            self.cut_one.d.next = self.read_one.q.val();
            self.cut_length.d.next = self.length.val();
            self.cut_offset.d.next = 0.into();
        }

        // The token leaves.
        if self.out_ready.val() {
            self.out_valid.d.next = self.cut_valid.q.val();
            self.out.d.next = self.cut_token.q.val();
            if self.over.val() {
                self.out.d.next.piece = true;
                self.out.d.next.offset = self.cut_offset.q.val();
                self.out.d.next.bytes = 64.into();
                if self.final_piece.val() {
                    self.out.d.next.bytes = bit_cast::<7, 32>(self.left.val());
                }
            } else if self.cut_one.q.val() {
                self.out.d.next.bytes = bit_cast::<7, 32>(self.cut_length.q.val().lane);
            } else if !self.cut_whole.q.val() {
                self.out.d.next.bytes = self.cut_length.q.val().beat;
            }
            if self.cut_offset.q.val() != 0 {
                self.out.d.next.message_start = false;
                self.out.d.next.message_bytes = 0.into();
                self.out.d.next.chunk_start = false;
                self.out.d.next.chunk_blocks = 0.into();
            }
            if !self.final_piece.val() {
                self.out.d.next.unit_end = false;
                self.out.d.next.message_end = false;
                self.out.d.next.dest_end = false;
                if self.cut_valid.q.val() {
                    self.cut_offset.d.next = self.cut_offset.q.val() + 64;
                }
            }
        }
        if self.direct.val() {
            self.out_valid.d.next = true;
            self.out.d.next = self.in_token.val();
        }
        self.token_valid.next = self.out_valid.q.val();
        self.token.next = self.out.q.val();

        if self.rst.val() {
            self.inside.d.next = false;
            self.read_valid.d.next = false;
            self.cut_valid.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
