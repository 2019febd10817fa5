//! Keeps the ids of a partitioned request's rows for a chunk, and compares them for every turn.

use crate::primitive::{Fifo, Pack, Ram, RamStyle};
use array_init::array_init;
use drdma_emit::prelude::*;

/// Keeps the ids of a chunk's rows, and emits for each of its turns which rows have the turn's id, as if that had been
/// read from a bitmap.
///
/// The ids of two chunks are kept: while the turns of one are compared, those of the next are stored. 512 ids of one
/// byte or 256 of two are compared a cycle, without a gap between turns or between chunks whose ids are stored. 512
/// rows, or the last rows of a turn, make a beat. A beat of ids is stored a cycle. 6 cycles from a turn, or from the
/// last ids of its chunk, to the last comparison of its first beat; 4 turns may wait. Both sides are registered, and
/// all streams may stall.
///
/// # Inputs
/// `turn` stream {`partition`, `wide` (ids of two bytes), `rows` (1 to 4,096), `chunk_end` (the last turn of its
/// chunk)}; `resp` stream {`data`, `error`, `last` (the last ids of a chunk)}: the ids of each chunk's rows once,
/// starting with a full beat; `out_ready`.
///
/// # Outputs
/// `turn_ready`, `resp_ready`; `out` stream {`data` 512, `error`}: bit 0 of a turn's first beat is its first row; bits
/// beyond its rows are undefined. `error`: any of the chunk's ids could not be read.
#[derive(LogicBlock, BlockDefault)]
pub struct Ids {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A turn is offered.
    pub turn_valid: Signal<In, Bit>,
    /// The turn is taken in this cycle.
    pub turn_ready: Signal<Out, Bit>,
    /// Id whose rows are selected.
    pub turn_partition: Signal<In, Bits<16>>,
    /// Ids have two bytes, not one.
    pub turn_wide: Signal<In, Bit>,
    /// Rows of the turn, 1 to 4,096.
    pub turn_rows: Signal<In, Bits<13>>,
    /// The turn is the last one of its chunk.
    pub turn_chunk_end: Signal<In, Bit>,
    /// A beat of 64 bytes of ids is offered.
    pub resp_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub resp_ready: Signal<Out, Bit>,
    /// The ids.
    pub resp_data: Signal<In, Bits<512>>,
    /// The read of the beat failed.
    pub resp_error: Signal<In, Bit>,
    /// The beat has the last ids of a chunk.
    pub resp_last: Signal<In, Bit>,
    /// A beat of 512 rows is offered.
    pub out_valid: Signal<Out, Bit>,
    /// The beat is taken in this cycle.
    pub out_ready: Signal<In, Bit>,
    /// Rows that have the id, one bit each.
    pub out_data: Signal<Out, Bits<512>>,
    /// Ids of the chunk could not be read.
    pub out_error: Signal<Out, Bit>,

    // The ids, in words of 4,096 bits, an eighth in each memory: lookup tables, because block memory is at least 512
    // deep.
    #[init(array_init(|_| Ram::new(RamStyle::Distributed)))]
    eighths: [Ram<512, 1, 5>; 8],
    store_bank: DFF<Bits<1>>,
    store: DFF<Bits<7>>,
    bad: DFF<Bit>,
    stored: DFF<Bits<2>>,
    failed: DFF<Bits<2>>,
    storing: Signal<Local, Bit>,
    stored_new: Signal<Local, Bits<2>>,
    // The turns.
    turns: Fifo<31, 2, 3>,
    partition: Signal<Local, Bits<16>>,
    wide: Signal<Local, Bit>,
    rows: Signal<Local, Bits<13>>,
    words: Signal<Local, Bits<5>>,
    bank: DFF<Bits<1>>,
    word: DFF<Bits<4>>,
    last_word: Signal<Local, Bit>,
    issues: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    // Stage 1: the ids are read.
    read_valid: DFF<Bit>,
    read_wide: DFF<Bit>,
    read_even: DFF<Bits<8>>,
    read_odd: DFF<Bits<8>>,
    read_place: DFF<Bit>,
    read_end: DFF<Bit>,
    read_error: DFF<Bit>,
    // Stage 2: the bytes that equal those of the id.
    equal_valid: DFF<Bit>,
    equal_wide: DFF<Bit>,
    equal: [DFF<Bits<64>>; 8],
    equal_place: DFF<Bit>,
    equal_end: DFF<Bit>,
    equal_error: DFF<Bit>,
    // Stage 3: the beat, in halves of 256 rows.
    complete: DFF<Bit>,
    error: DFF<Bit>,
    beat: [DFF<Bits<256>>; 2],
    single: [Pack<4, 64, 256>; 2],
    both: Signal<Local, Bits<256>>,
    joined: Pack<2, 256, 512>,
}

impl Logic for Ids {
    #[hdl_gen]
    fn update(&mut self) {
        // Ids are stored while a bank is free.
        self.resp_ready.next = !self.stored.q.val().get_bit(self.store_bank.q.val().index());
        self.storing.next = self.resp_valid.val() && self.resp_ready.val();
        self.stored_new.next = self.stored.q.val();
        if self.storing.val() {
            self.store.d.next = self.store.q.val() + 1;
            self.bad.d.next = self.bad.q.val() || self.resp_error.val();
            if self.resp_last.val() {
                self.store.d.next = 0.into();
                self.bad.d.next = false;
                self.store_bank.d.next = self.store_bank.q.val() + 1;
                self.stored_new.next =
                    self.stored_new.val().replace_bit(self.store_bank.q.val().index(), true);
                self.failed.d.next = self.failed.q.val().replace_bit(
                    self.store_bank.q.val().index(),
                    self.bad.q.val() || self.resp_error.val(),
                );
            }
        }

        // The turn, and the number of words of 4,096 bits that its ids fill.
        self.turns.in_valid.next = self.turn_valid.val();
        self.turns.in_data.next = bit_cast::<31, 16>(self.turn_partition.val())
            | (bit_cast::<31, 13>(self.turn_rows.val()) << 16)
            | (bit_cast::<31, 1>(self.turn_wide.val().into()) << 29)
            | (bit_cast::<31, 1>(self.turn_chunk_end.val().into()) << 30);
        self.turn_ready.next = self.turns.in_ready.val();
        self.partition.next = self.turns.out_data.val().get_bits::<16>(0);
        self.rows.next = self.turns.out_data.val().get_bits::<13>(16);
        self.wide.next = self.turns.out_data.val().get_bit(29);
        self.words.next = (self.rows.val() + 511).get_bits::<4>(9).get_bits::<5>(0);
        if self.wide.val() {
            self.words.next = (self.rows.val() + 255).get_bits::<5>(8);
        }
        self.last_word.next = bit_cast::<5, 4>(self.word.q.val()) + 1 == self.words.val();

        // A word of 4,096 bits is read.
        self.moves.next = !self.complete.q.val() || self.out_ready.val();
        self.issues.next = self.moves.val()
            && self.turns.out_valid.val()
            && self.stored.q.val().get_bit(self.bank.q.val().index());
        self.turns.out_ready.next = self.issues.val() && self.last_word.val();
        if self.issues.val() {
            self.word.d.next = self.word.q.val() + 1;
            if self.last_word.val() {
                self.word.d.next = 0.into();
                if self.turns.out_data.val().get_bit(30) {
                    self.bank.d.next = self.bank.q.val() + 1;
                    self.stored_new.next =
                        self.stored_new.val().replace_bit(self.bank.q.val().index(), false);
                }
            }
        }
        self.stored.d.next = self.stored_new.val();
        for k in 0..8 {
            self.eighths[k].write_lanes.next = 0.into();
            if self.storing.val() && (self.store.q.val().get_bits::<3>(0) == k.to_bits()) {
                self.eighths[k].write_lanes.next = 1.into();
            }
            self.eighths[k].write_address.next = (bit_cast::<5, 1>(self.store_bank.q.val()) << 4)
                | bit_cast::<5, 4>(self.store.q.val().get_bits::<4>(3));
            self.eighths[k].write_data.next = self.resp_data.val();
            self.eighths[k].read_enable.next = self.moves.val();
            self.eighths[k].read_address.next =
                (bit_cast::<5, 1>(self.bank.q.val()) << 4) | bit_cast::<5, 4>(self.word.q.val());
        }
        if self.moves.val() {
            self.read_valid.d.next = self.issues.val();
            self.read_wide.d.next = self.wide.val();
            self.read_even.d.next = self.partition.val().get_bits::<8>(0);
            self.read_odd.d.next = self.partition.val().get_bits::<8>(0);
            self.read_place.d.next = false;
            self.read_end.d.next = true;
            if self.wide.val() {
                self.read_odd.d.next = self.partition.val().get_bits::<8>(8);
                self.read_place.d.next = self.word.q.val().get_bit(0);
                self.read_end.d.next = self.last_word.val() || self.word.q.val().get_bit(0);
            }
            self.read_error.d.next = self.failed.q.val().get_bit(self.bank.q.val().index());
        }

        // Bytes are compared.
        if self.moves.val() {
            self.equal_valid.d.next = self.read_valid.q.val();
            self.equal_wide.d.next = self.read_wide.q.val();
            self.equal_place.d.next = self.read_place.q.val();
            self.equal_end.d.next = self.read_end.q.val();
            self.equal_error.d.next = self.read_error.q.val();
            for k in 0..8 {
                for j in 0..32 {
                    self.equal[k].d.next = self.equal[k].d.val().replace_bit(
                        j * 2,
                        self.eighths[k].read_data.val().get_bits::<8>(j * 16)
                            == self.read_even.q.val(),
                    );
                    self.equal[k].d.next = self.equal[k].d.val().replace_bit(
                        j * 2 + 1,
                        self.eighths[k].read_data.val().get_bits::<8>(j * 16 + 8)
                            == self.read_odd.q.val(),
                    );
                }
            }
        }

        // Rows are put together.
        for k in 0..4 {
            self.single[0].parts[k].next = self.equal[k].q.val();
            self.single[1].parts[k].next = self.equal[k + 4].q.val();
        }
        self.both.next = 0.into();
        for k in 0..8 {
            for j in 0..32 {
                self.both.next = self.both.val().replace_bit(
                    k * 32 + j,
                    self.equal[k].q.val().get_bit(j * 2)
                        && self.equal[k].q.val().get_bit(j * 2 + 1),
                );
            }
        }
        if self.moves.val() {
            self.complete.d.next = self.equal_valid.q.val() && self.equal_end.q.val();
            if self.equal_valid.q.val() {
                self.error.d.next = self.equal_error.q.val();
                if !self.equal_wide.q.val() {
                    self.beat[0].d.next = self.single[0].whole.val();
                    self.beat[1].d.next = self.single[1].whole.val();
                } else if self.equal_place.q.val() {
                    self.beat[1].d.next = self.both.val();
                } else {
                    self.beat[0].d.next = self.both.val();
                }
            }
        }
        for k in 0..2 {
            self.joined.parts[k].next = self.beat[k].q.val();
        }
        self.out_valid.next = self.complete.q.val();
        self.out_data.next = self.joined.whole.val();
        self.out_error.next = self.error.q.val();

        if self.rst.val() {
            self.store_bank.d.next = 0.into();
            self.store.d.next = 0.into();
            self.bad.d.next = false;
            self.stored.d.next = 0.into();
            self.bank.d.next = 0.into();
            self.word.d.next = 0.into();
            self.read_valid.d.next = false;
            self.equal_valid.d.next = false;
            self.complete.d.next = false;
        }
    }
}
