//! Where keys that were read lie in host memory and in the rings.

use super::{KeyBeat, LINE, LINES, PLACE, PLACES};
use drdma_emit::prelude::*;

/// Bytes behind the end of a ring that count: 1,792 lines of 2,048.
const KEPT: u64 = 1792 * 64;
/// Number of lines that may be stored while copies wait.
const MOST_LINES: u64 = 248;
/// Number of lines after which boxes are not found any more while copies wait.
const FEW_LINES: u64 = 128;

/// Gives each beat of a key its line in the key's ring, and finds boxes that lie in what is kept.
///
/// A beat a cycle; its line is written a cycle later, and found from the cycle after that on. A box a cycle: its
/// address is given in one cycle and its length in the next, and `hit` and `place` follow in the cycle after.
///
/// There are four ranges: of each of the two keys one of the request that is being read, and one of the request with
/// keys before it.
#[derive(LogicBlock, Default)]
pub struct Ranges {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; forgets all keys.
    pub rst: Signal<In, Bit>,

    /// Keys that were read.
    pub beat: Flow<In, KeyBeat>,
    /// A request is released.
    pub release_valid: Signal<In, Bit>,
    /// Slot of the request that is released.
    pub release_slot: Signal<In, Bits<8>>,
    /// Copies wait.
    pub waits: Signal<In, Bit>,
    /// Something is kept.
    pub any: Signal<Out, Bit>,

    /// A line is written.
    pub write: Signal<Out, Bit>,
    /// The line that is written.
    pub write_line: Signal<Out, Bits<LINES>>,
    /// Bytes of the line.
    pub write_data: Signal<Out, Bits<512>>,

    /// Host address of a box.
    pub ask_addr: Signal<In, Bits<64>>,
    /// Bytes of the box whose address was given in the cycle before.
    pub ask_len: Signal<In, Bits<13>>,
    /// The box whose address was given two cycles before has bytes, and all of them are kept.
    pub hit: Signal<Out, Bit>,
    /// With `hit`: place of the box's first byte in the rings.
    pub place: Signal<Out, Bits<PLACES>>,

    // A beat gets its address and its range.
    at: Signal<Local, Bits<64>>,
    behind: DFF<Bits<64>>,
    turn: DFF<Bits<1>>,
    turn_slot: DFF<Bits<8>>,
    valid: DFF<Bit>,
    data: DFF<Bits<512>>,
    start: DFF<Bits<64>>,
    stop: DFF<Bits<64>>,
    first: DFF<Bit>,
    bytes: DFF<Bits<7>>,
    key: DFF<Bits<1>>,
    range: DFF<Bits<2>>,
    slot: DFF<Bits<8>>,
    error: DFF<Bit>,

    // The beat goes on where its range stops, or begins a new one.
    mine: [Signal<Local, Bit>; 4],
    /// The line of the beat's ring that is written next.
    line: Signal<Local, Bits<LINE>>,
    range_lives: Signal<Local, Bit>,
    range_slot: Signal<Local, Bits<8>>,
    range_high: Signal<Local, Bits<64>>,
    range_filled: Signal<Local, Bits<PLACE>>,
    goes_on: Signal<Local, Bit>,
    keeps: Signal<Local, Bit>,
    spoilt: Signal<Local, Bit>,
    stores: Signal<Local, Bit>,
    sum: Signal<Local, Bits<PLACES>>,
    sum_kept: Signal<Local, Bits<PLACE>>,

    /// Next line of each ring.
    next_line: [DFF<Bits<LINE>>; 2],
    /// Lines that were stored while copies wait.
    stored: DFF<Bits<8>>,

    // The ranges.
    lives: [DFF<Bit>; 4],
    slots: [DFF<Bits<8>>; 4],
    /// Host address behind the range.
    high: [DFF<Bits<64>>; 4],
    /// Place of that address in the ring.
    off: [DFF<Bits<PLACE>>; 4],
    /// Bytes of the range, at most [`KEPT`].
    filled: [DFF<Bits<PLACE>>; 4],
    /// Distance from `high` down to which bytes are not overwritten soon: [`KEPT`] less what was stored behind `high`.
    reach: [DFF<Bits<PLACE>>; 4],
    /// The next line of the ring is the one behind `high`, and `high` is the end of a line.
    open: [DFF<Bit>; 4],

    // The distance of a box from the end of each range, and what the range was then.
    distance: [DFF<Bits<64>>; 4],
    asked_lives: [DFF<Bit>; 4],
    asked_off: [DFF<Bits<PLACE>>; 4],
    asked_filled: [DFF<Bits<PLACE>>; 4],
    asked_reach: [DFF<Bits<PLACE>>; 4],
    near: [Signal<Local, Bits<PLACE>>; 4],
    // The box lies in each range, and where.
    hits: [DFF<Bit>; 4],
    places: [DFF<Bits<PLACE>>; 4],
}

impl Ranges {
    /// A beat gets its address, and one of two ranges of its key: the requests take turns.
    #[hdl_gen]
    fn enter(&mut self) {
        self.at.next = self.behind.q.val();
        if self.beat.first.val() {
            self.at.next = self.beat.addr.val();
        }
        if self.beat.valid.val() {
            self.behind.d.next = self.at.val() + 64;
            if self.beat.first.val() {
                self.turn_slot.d.next = self.beat.slot.val();
                if self.beat.slot.val() != self.turn_slot.q.val() {
                    self.turn.d.next = !self.turn.q.val();
                }
            }
        }
        self.valid.d.next = self.beat.valid.val();
        self.data.d.next = self.beat.data.val();
        self.start.d.next = self.at.val();
        self.stop.d.next = self.at.val() + bit_cast::<64, 7>(self.beat.bytes.val());
        self.first.d.next = self.beat.first.val();
        self.bytes.d.next = self.beat.bytes.val();
        self.key.d.next = self.beat.key.val();
        self.range.d.next =
            (bit_cast::<2, 1>(self.turn.d.val()) << 1) | bit_cast::<2, 1>(self.beat.key.val());
        self.slot.d.next = self.beat.slot.val();
        self.error.d.next = self.beat.error.val();
    }

    /// The beat is compared with its range, and stored.
    #[hdl_gen]
    fn store(&mut self) {
        self.range_lives.next = false;
        self.range_slot.next = 0.into();
        self.range_high.next = 0.into();
        self.range_filled.next = 0.into();
        for r in 0..4 {
            self.mine[r].next = self.valid.q.val() && (self.range.q.val() == r.to_bits());
            if self.range.q.val() == r.to_bits() {
                self.range_lives.next = self.lives[r].q.val() && self.open[r].q.val();
                self.range_slot.next = self.slots[r].q.val();
                self.range_high.next = self.high[r].q.val();
                self.range_filled.next = self.filled[r].q.val();
            }
        }
        self.line.next = self.next_line[0].q.val();
        if self.key.q.val().any() {
            self.line.next = self.next_line[1].q.val();
        }
        self.goes_on.next = self.range_lives.val()
            && (self.range_slot.val() == self.slot.q.val())
            && (self.range_high.val() == self.start.q.val());
        self.keeps.next = self.valid.q.val() && (self.goes_on.val() || self.first.q.val());
        self.spoilt.next = self.error.q.val() || !(self.stored.q.val() < MOST_LINES);
        self.stores.next = self.keeps.val() && !self.spoilt.val();
        self.sum.next = bit_cast::<PLACES, PLACE>(self.range_filled.val())
            + bit_cast::<PLACES, 7>(self.bytes.q.val());
        self.sum_kept.next = self.sum.val().get_bits::<PLACE>(0);
        if self.sum.val() > KEPT {
            self.sum_kept.next = KEPT.into();
        }
        if !self.goes_on.val() {
            self.sum_kept.next = bit_cast::<PLACE, 7>(self.bytes.q.val());
        }
        self.write.next = self.stores.val();
        self.write_line.next = bit_cast::<LINES, LINE>(self.line.val())
            | (bit_cast::<LINES, 1>(self.key.q.val()) << LINE as u64);
        self.write_data.next = self.data.q.val();
        for k in 0..2 {
            if self.stores.val() && (self.key.q.val() == k.to_bits()) {
                self.next_line[k].d.next = self.next_line[k].q.val() + 1;
            }
        }
        if !self.waits.val() {
            self.stored.d.next = 0.into();
        } else if self.stores.val() {
            self.stored.d.next = self.stored.q.val() + 1;
        }
    }

    /// The ranges after the beat.
    #[hdl_gen]
    fn change(&mut self) {
        self.any.next = false;
        for r in 0..4 {
            if self.mine[r].val() && self.keeps.val() {
                self.lives[r].d.next = !self.spoilt.val();
                self.slots[r].d.next = self.slot.q.val();
                self.high[r].d.next = self.stop.q.val();
                self.off[r].d.next = (bit_cast::<PLACE, LINE>(self.line.val()) << 6)
                    + bit_cast::<PLACE, 7>(self.bytes.q.val());
                self.filled[r].d.next = self.sum_kept.val();
                self.reach[r].d.next = KEPT.into();
                self.open[r].d.next = self.bytes.q.val().get_bit(6);
            }
            // A line of another request in the same ring.
            if self.stores.val() && !self.mine[r].val() && (self.key.q.val() == (r % 2).to_bits()) {
                self.open[r].d.next = false;
                self.reach[r].d.next = self.reach[r].q.val() - 64;
                if self.reach[r].q.val() == 0 {
                    self.lives[r].d.next = false;
                }
            }
            if self.release_valid.val() && (self.release_slot.val() == self.slots[r].q.val()) {
                self.lives[r].d.next = false;
            }
            if self.lives[r].q.val() {
                self.any.next = true;
            }
        }
    }

    /// A box is compared with the ranges.
    #[hdl_gen]
    fn find(&mut self) {
        self.hit.next = false;
        self.place.next = 0.into();
        for r in 0..4 {
            self.distance[r].d.next = self.high[r].q.val() - self.ask_addr.val();
            self.asked_lives[r].d.next = self.lives[r].q.val();
            self.asked_off[r].d.next = self.off[r].q.val();
            self.asked_filled[r].d.next = self.filled[r].q.val();
            self.asked_reach[r].d.next = self.reach[r].q.val();
            self.near[r].next = self.distance[r].q.val().get_bits::<PLACE>(0);
            self.hits[r].d.next = self.asked_lives[r].q.val()
                && !self.distance[r].q.val().get_bits::<47>(PLACE).any()
                && self.ask_len.val().any()
                && !(self.near[r].val() < bit_cast::<PLACE, 13>(self.ask_len.val()))
                && !(self.asked_filled[r].q.val() < self.near[r].val())
                && !(self.asked_reach[r].q.val() < self.near[r].val())
                && (self.stored.q.val() < FEW_LINES);
            self.places[r].d.next = self.asked_off[r].q.val() - self.near[r].val();
            if self.hits[r].q.val() {
                self.hit.next = true;
                self.place.next = bit_cast::<PLACES, PLACE>(self.places[r].q.val())
                    | ((r % 2) << PLACE).to_bits();
            }
        }
    }
}

impl Logic for Ranges {
    #[hdl_gen]
    fn update(&mut self) {
        self.enter();
        self.store();
        self.change();
        self.find();
        if self.rst.val() {
            self.valid.d.next = false;
            self.stored.d.next = 0.into();
            for r in 0..4 {
                self.lives[r].d.next = false;
            }
        }
    }
}
