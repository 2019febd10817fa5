//! Keeps the bitmaps of a column request, which are read in long stretches, for the chunks that follow.

use crate::primitive::{Fifo, Lutram, Pack, Ram, RamStyle};
use crate::request::DEST_INDEX;
use drdma_emit::prelude::*;

/// Bits of a turn: `phase` 9, `rows` 13, `loads` 1, `index`.
const TURN: usize = 23 + DEST_INDEX;
/// Bits of the address of a beat: each destination has 16 beats.
const BEAT: usize = DEST_INDEX + 4;
/// Largest number of rows of a stretch.
pub const ROWS: u64 = 8192;

/// Keeps a stretch of up to [`ROWS`] bits of each destination's bitmap, and emits the bits of its turns, chunk after
/// chunk, as if each had been read separately. One read of 512 bytes thus serves many turns, each of which may need a
/// few bytes only.
///
/// A turn that `loads` brings a new stretch, whose beats are stored first. 512 bits of a turn leave a cycle, also from
/// turn to turn; a turn that loads takes as many cycles more as its stretch has beats. 3 cycles from a turn, or from
/// the last beat of its stretch, to its first bits; 4 turns may wait. Both sides are registered, and all streams may
/// stall.
///
/// A stretch may also come beat by beat as `store`, without back-pressure, as long as no turn that loads waits or is at
/// work; the turns of such a stretch do not load.
///
/// # Inputs
/// `turn` stream {`index` (the destination), `phase` (distance of the turn's first row from the stretch's first row, in
/// units of 16 rows; a turn that does not start at a multiple of 64 rows has less than 128), `rows` (1 to 4,096),
/// `loads`}; `resp` stream {`data`, `error`, `last` (the last beat of the stretch)}; `store` {`index`, `beat`, `data`,
/// `error` (this beat or one before it could not be read)}; `out_ready`.
///
/// # Outputs
/// `turn_ready`, `resp_ready`; `out` stream {`data` 512, `error`}: bit 0 of a turn's first beat is its first row; bits
/// beyond its rows are undefined. `error`: a beat of the stretch could not be read.
#[derive(LogicBlock, BlockDefault)]
pub struct Bitmaps {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A turn is offered.
    pub turn_valid: Signal<In, Bit>,
    /// The turn can be taken.
    pub turn_ready: Signal<Out, Bit>,
    /// Number of the turn's destination in the request.
    pub turn_index: Signal<In, Bits<DEST_INDEX>>,
    /// Distance of the turn's first row from the stretch's first row, in units of 16 rows.
    pub turn_phase: Signal<In, Bits<9>>,
    /// Rows of the turn, 1 to 4,096.
    pub turn_rows: Signal<In, Bits<13>>,
    /// A new stretch comes with the turn.
    pub turn_loads: Signal<In, Bit>,
    /// A beat of 64 bytes of a stretch is offered.
    pub resp_valid: Signal<In, Bit>,
    /// The beat can be taken.
    pub resp_ready: Signal<Out, Bit>,
    /// Bytes of the stretch.
    pub resp_data: Signal<In, Bits<512>>,
    /// The read of the beat failed.
    pub resp_error: Signal<In, Bit>,
    /// The beat is the last one of its stretch.
    pub resp_last: Signal<In, Bit>,
    /// A beat of a destination's stretch is given.
    pub store_valid: Signal<In, Bit>,
    /// Number of the stretch's destination in the request.
    pub store_index: Signal<In, Bits<DEST_INDEX>>,
    /// Number of the beat in the stretch, 0 to 15.
    pub store_beat: Signal<In, Bits<4>>,
    /// Rows that are selected, one bit each.
    pub store_data: Signal<In, Bits<512>>,
    /// The beat, or one before it, could not be read.
    pub store_error: Signal<In, Bit>,
    /// A beat of 512 rows is offered.
    pub out_valid: Signal<Out, Bit>,
    /// The beat can leave.
    pub out_ready: Signal<In, Bit>,
    /// Rows that are selected, one bit each.
    pub out_data: Signal<Out, Bits<512>>,
    /// A beat of the stretch could not be read.
    pub out_error: Signal<Out, Bit>,

    turns: Fifo<TURN, 2, 3>,
    index: Signal<Local, Bits<DEST_INDEX>>,
    phase: Signal<Local, Bits<9>>,
    rows: Signal<Local, Bits<13>>,
    loads: Signal<Local, Bit>,
    // The stretches: each bank has 64 bits of each beat; the address is the destination, then the beat.
    #[init(array_init::array_init(|_| Ram::new(RamStyle::Ultra)))]
    banks: [Ram<64, 1, BEAT>; 8],
    errors: Lutram<1, DEST_INDEX, 1>,
    loaded: DFF<Bit>,
    beat: DFF<Bits<4>>,
    bad: DFF<Bit>,
    storing: Signal<Local, Bit>,
    // Write of a beat: its index, its place, its data.
    write: Signal<Local, Bit>,
    write_index: Signal<Local, Bits<DEST_INDEX>>,
    write_beat: Signal<Local, Bits<4>>,
    write_data: Signal<Local, Bits<512>>,
    write_error: Signal<Local, Bit>,
    // The next 512 bits of the turn.
    word: DFF<Bits<3>>,
    last_word: Signal<Local, Bit>,
    start: Signal<Local, Bits<7>>,
    issues: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    // Stage 1: the words of the banks.
    read_valid: DFF<Bit>,
    read_from: DFF<Bits<3>>,
    read_part: DFF<Bits<2>>,
    read_error: DFF<Bit>,
    // Stage 2: the words in order.
    turned: [Signal<Local, Bits<64>>; 8],
    ordered: Pack<8, 64, 512>,
    valid: DFF<Bit>,
    error: DFF<Bit>,
    bits: DFF<Bits<512>>,
}

impl Logic for Bitmaps {
    #[hdl_gen]
    fn update(&mut self) {
        self.turns.in_valid.next = self.turn_valid.val();
        self.turns.in_data.next = (bit_cast::<TURN, DEST_INDEX>(self.turn_index.val()) << 23)
            | bit_cast::<TURN, 9>(self.turn_phase.val())
            | (bit_cast::<TURN, 13>(self.turn_rows.val()) << 9)
            | (bit_cast::<TURN, 1>(self.turn_loads.val().into()) << 22);
        self.turn_ready.next = self.turns.in_ready.val();
        self.index.next = self.turns.out_data.val().get_bits::<DEST_INDEX>(23);
        self.phase.next = self.turns.out_data.val().get_bits::<9>(0);
        self.rows.next = self.turns.out_data.val().get_bits::<13>(9);
        self.loads.next = self.turns.out_data.val().get_bit(22);

        // A new stretch is stored before the turn's bits are read.
        self.resp_ready.next =
            self.turns.out_valid.val() && self.loads.val() && !self.loaded.q.val();
        self.storing.next = self.resp_valid.val() && self.resp_ready.val();
        self.write.next = self.storing.val();
        self.write_index.next = self.index.val();
        self.write_beat.next = self.beat.q.val();
        self.write_data.next = self.resp_data.val();
        self.write_error.next = self.bad.q.val() || self.resp_error.val();
        if self.store_valid.val() {
            self.write.next = true;
            self.write_index.next = self.store_index.val();
            self.write_beat.next = self.store_beat.val();
            self.write_data.next = self.store_data.val();
            self.write_error.next = self.store_error.val();
        }
        self.errors.write_enable.next = self.write.val();
        self.errors.write_address.next = self.write_index.val();
        self.errors.write_data.next = bit_cast::<1, 1>(self.write_error.val().into());
        self.errors.read_address[0].next = self.index.val();
        if self.storing.val() {
            self.beat.d.next = self.beat.q.val() + 1;
            self.bad.d.next = self.bad.q.val() || self.resp_error.val();
            if self.resp_last.val() {
                self.beat.d.next = 0.into();
                self.bad.d.next = false;
                self.loaded.d.next = true;
            }
        }

        // 512 bits are read, from two beats if they do not start with one.
        self.moves.next = !self.valid.q.val() || self.out_ready.val();
        self.issues.next = self.moves.val()
            && self.turns.out_valid.val()
            && (self.loaded.q.val() || !self.loads.val());
        self.last_word.next = self.word.q.val() == (self.rows.val() - 1).get_bits::<3>(9);
        self.turns.out_ready.next = self.issues.val() && self.last_word.val();
        if self.issues.val() {
            self.word.d.next = self.word.q.val() + 1;
            if self.last_word.val() {
                self.word.d.next = 0.into();
                self.loaded.d.next = false;
            }
        }
        self.start.next =
            self.phase.val().get_bits::<7>(2) + (bit_cast::<7, 3>(self.word.q.val()) << 3);
        for b in 0..8 {
            self.banks[b].write_lanes.next = bit_cast::<1, 1>(self.write.val().into());
            self.banks[b].write_address.next =
                (bit_cast::<BEAT, DEST_INDEX>(self.write_index.val()) << 4)
                    | bit_cast::<BEAT, 4>(self.write_beat.val());
            self.banks[b].write_data.next = self.write_data.val().get_bits::<64>(b * 64);
            self.banks[b].read_enable.next = self.moves.val();
            self.banks[b].read_address.next = (bit_cast::<BEAT, DEST_INDEX>(self.index.val()) << 4)
                | bit_cast::<BEAT, 4>(self.start.val().get_bits::<4>(3));
        }
        // Banks before the start are read from the next beat.
        for b in 0..7 {
            if self.start.val().get_bits::<3>(0) > b.to_bits() {
                self.banks[b].read_address.next = (bit_cast::<BEAT, DEST_INDEX>(self.index.val())
                    << 4)
                    | bit_cast::<BEAT, 4>(self.start.val().get_bits::<4>(3) + 1);
            }
        }
        if self.moves.val() {
            self.read_valid.d.next = self.issues.val();
            self.read_from.d.next = self.start.val().get_bits::<3>(0);
            self.read_part.d.next = self.phase.val().get_bits::<2>(0);
            self.read_error.d.next = self.errors.read_data[0].val().any();
        }

        // The words are put in order. A turn of less than 128 rows may start within a word, and touch three.
        for p in 0..8 {
            self.turned[p].next = 0.into();
            for b in 0..8 {
                if (self.read_from.q.val() + p.to_bits()) == b.to_bits() {
                    self.turned[p].next = self.banks[b].read_data.val();
                }
            }
            self.ordered.parts[p].next = self.turned[p].val();
        }
        for p in 0..2 {
            if self.read_part.q.val() == 1 {
                self.ordered.parts[p].next =
                    (self.turned[p].val() >> 16) | (self.turned[p + 1].val() << 48);
            }
            if self.read_part.q.val() == 2 {
                self.ordered.parts[p].next =
                    (self.turned[p].val() >> 32) | (self.turned[p + 1].val() << 32);
            }
            if self.read_part.q.val() == 3 {
                self.ordered.parts[p].next =
                    (self.turned[p].val() >> 48) | (self.turned[p + 1].val() << 16);
            }
        }
        if self.moves.val() {
            self.valid.d.next = self.read_valid.q.val();
            self.error.d.next = self.read_error.q.val();
            self.bits.d.next = self.ordered.whole.val();
        }
        self.out_valid.next = self.valid.q.val();
        self.out_data.next = self.bits.q.val();
        self.out_error.next = self.error.q.val();

        if self.rst.val() {
            self.loaded.d.next = false;
            self.beat.d.next = 0.into();
            self.bad.d.next = false;
            self.word.d.next = 0.into();
            self.read_valid.d.next = false;
            self.valid.d.next = false;
        }
    }
}
