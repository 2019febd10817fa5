//! Where records of chains that were read lie.

use super::{KeptRecord, RECORD_LINE, RECORD_PLACE};
use crate::primitive::{Ram, RamStyle};
use drdma_emit::prelude::*;

/// Records that are kept of a request.
const MOST: u64 = 1 << (RECORD_LINE - 1);
/// Bits of the number of a word of 8 B of host memory.
const WORD: usize = 61;
/// Bits of the number of a word in its block of 256 B.
const IN_BLOCK: usize = 5;
/// Bits of the place of a word in the directory.
const SPOT: usize = 12;
/// Bits of a line's tag: the record's address and bytes.
const TAG: usize = 64 + 7;

/// Chooses the place of a word of host memory in the directory: other places for the records of an array, whatever
/// their distance.
#[derive(LogicBlock, Default)]
struct Spot {
    word: Signal<In, Bits<WORD>>,
    spot: Signal<Out, Bits<SPOT>>,
}

impl Logic for Spot {
    #[hdl_gen]
    fn update(&mut self) {
        self.spot.next = self.word.val().get_bits::<SPOT>(0)
            ^ self.word.val().get_bits::<SPOT>(SPOT)
            ^ self.word.val().get_bits::<SPOT>(2 * SPOT)
            ^ self.word.val().get_bits::<SPOT>(3 * SPOT)
            ^ self.word.val().get_bits::<SPOT>(4 * SPOT)
            ^ bit_cast::<SPOT, 1>(self.word.val().get_bits::<1>(5 * SPOT));
    }
}

/// Gives each record a line of the store, and finds boxes that lie in a record that is kept.
///
/// The store has two halves, each for the records of one request. A half is free again when its request was released,
/// and no box had been looked up nor a copy been waiting in a cycle since then. If neither half is free, or the
/// request's own half is full, a record is not kept.
///
/// **How a record is found.** A directory has the line of the store for the word of 8 B in which the wanted bytes of
/// the record begin, as boxes do that have all of them. A second one has it for the first word of a block of 256 B,
/// because boxes may be cut there. A later record may take the place of another one, which is not found any more. What
/// a directory says counts only if the line is in use, and its tag, the address and bytes of its record, covers the
/// whole box.
///
/// A record a cycle; it is found by boxes whose word is given from the second cycle after that on. A box a cycle: its
/// first word is given in one cycle, and its address two cycles later; its length in the cycle after that; and `hit`
/// and `place` follow in the next.
#[derive(LogicBlock, BlockDefault)]
pub struct Records {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; forgets all records.
    pub rst: Signal<In, Bit>,

    /// Records that were read.
    pub record: Flow<In, KeptRecord>,
    /// A request is released.
    pub release_valid: Signal<In, Bit>,
    /// Slot of the request that is released.
    pub release_slot: Signal<In, Bits<8>>,
    /// Boxes are looked up, or copies wait.
    pub busy: Signal<In, Bit>,
    /// Something is kept.
    pub any: Signal<Out, Bit>,

    /// A line of the store is written.
    pub write: Signal<Out, Bit>,
    /// The line that is written.
    pub write_line: Signal<Out, Bits<RECORD_LINE>>,
    /// Bytes of the line.
    pub write_data: Signal<Out, Bits<512>>,

    /// Word of host memory in which a box begins.
    pub ask_word: Signal<In, Bits<WORD>>,
    /// Host address of the box whose word was given two cycles before.
    pub seek_addr: Signal<In, Bits<64>>,
    /// Bytes of the box whose word was given three cycles before.
    pub seek_len: Signal<In, Bits<13>>,
    /// The box whose word was given four cycles before has bytes, and all of them are kept.
    pub hit: Signal<Out, Bit>,
    /// With `hit`: place of the box's first byte in the store.
    pub place: Signal<Out, Bits<RECORD_PLACE>>,

    // The halves.
    lives: [DFF<Bit>; 2],
    /// Boxes and copies from before the release are on their way.
    drains: [DFF<Bit>; 2],
    slots: [DFF<Bits<8>>; 2],
    /// Lines that were given.
    given: [DFF<Bits<RECORD_LINE>>; 2],
    /// Lines whose tags were written before the last cycle.
    filled: [DFF<Bits<RECORD_LINE>>; 2],

    // A record gets its line.
    mine: [Signal<Local, Bit>; 2],
    is_free: [Signal<Local, Bit>; 2],
    begins: [Signal<Local, Bit>; 2],
    is_known: Signal<Local, Bit>,
    upper: Signal<Local, Bit>,
    number: Signal<Local, Bits<RECORD_LINE>>,
    stores: Signal<Local, Bit>,
    stored: DFF<Bit>,
    stored_line: DFF<Bits<RECORD_LINE>>,
    stored_record: DFF<KeptRecord>,
    /// Its first byte that is wanted, and its last byte.
    stored_start: DFF<Bits<64>>,
    stored_last: DFF<Bits<64>>,
    /// The line that was written in the cycle before.
    wrote: DFF<Bit>,
    wrote_upper: DFF<Bit>,

    // Lines of the store by words of memory, and by words that are the first ones of blocks.
    put_spot: Spot,
    directory: Ram<RECORD_LINE, 1, SPOT>,
    put_first: Spot,
    firsts: Ram<RECORD_LINE, 1, SPOT>,
    has_first: Signal<Local, Bit>,
    #[init(Ram::new(RamStyle::Ultra))]
    tags: Ram<TAG, 1, RECORD_LINE>,

    // A box is looked up.
    ask_spot: Spot,
    asked_first: DFF<Bit>,
    line: Signal<Local, Bits<RECORD_LINE>>,
    sought: DFF<Bits<RECORD_LINE>>,
    sought_number: Signal<Local, Bits<RECORD_LINE>>,
    is_live: Signal<Local, Bit>,
    live: DFF<Bit>,
    distance: DFF<Bits<64>>,
    bytes: DFF<Bits<7>>,
    found_line: DFF<Bits<RECORD_LINE>>,
    stop: Signal<Local, Bits<14>>,
    hits: DFF<Bit>,
    found_place: DFF<Bits<RECORD_PLACE>>,
    unused: Signal<Local, Bit>,
}

impl Records {
    /// A record gets a line of its request's half.
    #[hdl_gen]
    fn enter(&mut self) {
        self.is_known.next = false;
        self.any.next = false;
        for r in 0..2 {
            self.mine[r].next =
                self.lives[r].q.val() && (self.slots[r].q.val() == self.record.slot.val());
            self.is_free[r].next = !self.lives[r].q.val() && !self.drains[r].q.val();
            if self.mine[r].val() {
                self.is_known.next = true;
            }
            if self.lives[r].q.val() || self.drains[r].q.val() {
                self.any.next = true;
            }
        }
        self.begins[0].next =
            self.record.valid.val() && !self.is_known.val() && self.is_free[0].val();
        self.begins[1].next = self.record.valid.val()
            && !self.is_known.val()
            && self.is_free[1].val()
            && !self.is_free[0].val();
        self.upper.next = self.mine[1].val() || self.begins[1].val();
        self.number.next = 0.into();
        for r in 0..2 {
            if self.mine[r].val() {
                self.number.next = self.given[r].q.val();
            }
        }
        self.stores.next = (self.record.valid.val()
            && self.is_known.val()
            && !self.number.val().get_bit(RECORD_LINE - 1))
            || self.begins[0].val()
            || self.begins[1].val();
        self.stored.d.next = self.stores.val();
        self.stored_line.d.next = self.number.val().replace_bit(RECORD_LINE - 1, self.upper.val());
        self.stored_record.d.next = self.record.val();
        self.stored_start.d.next =
            self.record.addr.val() + bit_cast::<64, 6>(self.record.skip.val());
        self.stored_last.d.next =
            self.record.addr.val() + bit_cast::<64, 7>(self.record.bytes.val()) - 1;
        self.wrote.d.next = self.stored.q.val();
        self.wrote_upper.d.next = self.stored_line.q.val().get_bit(RECORD_LINE - 1);
    }

    /// The halves after this cycle.
    #[hdl_gen]
    fn change(&mut self) {
        for r in 0..2 {
            if self.stores.val() && (self.upper.val() == (r == 1)) {
                self.given[r].d.next = self.number.val() + 1;
            }
            if self.wrote.q.val() && (self.wrote_upper.q.val() == (r == 1)) {
                self.filled[r].d.next = self.filled[r].q.val() + 1;
            }
            if !self.busy.val() {
                self.drains[r].d.next = false;
            }
            if self.begins[r].val() {
                self.lives[r].d.next = true;
                self.slots[r].d.next = self.record.slot.val();
                self.filled[r].d.next = 0.into();
            }
            if self.release_valid.val()
                && self.lives[r].q.val()
                && (self.release_slot.val() == self.slots[r].q.val())
            {
                self.lives[r].d.next = false;
                self.drains[r].d.next = true;
            }
        }
    }

    /// The record is written, and noted in the directories.
    #[hdl_gen]
    fn store(&mut self) {
        self.write.next = self.stored.q.val();
        self.write_line.next = self.stored_line.q.val();
        self.write_data.next = self.stored_record.q.val().data;
        self.tags.write_lanes.next = bit_cast::<1, 1>(self.stored.q.val().into());
        self.tags.write_address.next = self.stored_line.q.val();
        self.tags.write_data.next = bit_cast::<TAG, 64>(self.stored_record.q.val().addr)
            | (bit_cast::<TAG, 7>(self.stored_record.q.val().bytes) << 64);
        self.put_spot.word.next = self.stored_start.q.val().get_bits::<WORD>(3);
        self.directory.write_lanes.next = bit_cast::<1, 1>(self.stored.q.val().into());
        self.directory.write_address.next = self.put_spot.spot.val();
        self.directory.write_data.next = self.stored_line.q.val();
        // The record begins in the first word of its last block, or goes over the block's beginning.
        self.has_first.next = !self.stored_start.q.val().get_bits::<IN_BLOCK>(3).any()
            || (self.stored_start.q.val().get_bits::<56>(8)
                != self.stored_last.q.val().get_bits::<56>(8));
        self.put_first.word.next =
            bit_cast::<WORD, 56>(self.stored_last.q.val().get_bits::<56>(8)) << IN_BLOCK as u64;
        self.firsts.write_lanes.next =
            bit_cast::<1, 1>((self.stored.q.val() && self.has_first.val()).into());
        self.firsts.write_address.next = self.put_first.spot.val();
        self.firsts.write_data.next = self.stored_line.q.val();
        self.unused.next = self.stored_last.q.val().get_bits::<8>(0).any()
            || self.stored_start.q.val().get_bits::<3>(0).any()
            || self.stored_record.q.val().slot.any()
            || self.stored_record.q.val().skip.any();
    }

    /// A box is compared with the record that a directory names.
    #[hdl_gen]
    fn find(&mut self) {
        self.ask_spot.word.next = self.ask_word.val();
        self.directory.read_enable.next = true;
        self.directory.read_address.next = self.ask_spot.spot.val();
        self.firsts.read_enable.next = true;
        self.firsts.read_address.next = self.ask_spot.spot.val();
        self.asked_first.d.next = !self.ask_word.val().get_bits::<IN_BLOCK>(0).any();
        self.line.next = self.directory.read_data.val();
        if self.asked_first.q.val() {
            self.line.next = self.firsts.read_data.val();
        }
        self.tags.read_enable.next = true;
        self.tags.read_address.next = self.line.val();
        self.sought.d.next = self.line.val();

        self.sought_number.next = self.sought.q.val() & (MOST - 1);
        self.is_live.next =
            self.lives[0].q.val() && (self.sought_number.val() < self.filled[0].q.val());
        if self.sought.q.val().get_bit(RECORD_LINE - 1) {
            self.is_live.next =
                self.lives[1].q.val() && (self.sought_number.val() < self.filled[1].q.val());
        }
        self.live.d.next = self.is_live.val();
        self.distance.d.next = self.seek_addr.val() - self.tags.read_data.val().get_bits::<64>(0);
        self.bytes.d.next = self.tags.read_data.val().get_bits::<7>(64);
        self.found_line.d.next = self.sought.q.val();

        self.stop.next = bit_cast::<14, 13>(self.seek_len.val())
            + bit_cast::<14, 6>(self.distance.q.val().get_bits::<6>(0));
        self.hits.d.next = self.live.q.val()
            && !self.distance.q.val().get_bits::<58>(6).any()
            && self.seek_len.val().any()
            && !(bit_cast::<14, 7>(self.bytes.q.val()) < self.stop.val());
        self.found_place.d.next = (bit_cast::<RECORD_PLACE, RECORD_LINE>(self.found_line.q.val())
            << 6)
            | bit_cast::<RECORD_PLACE, 6>(self.distance.q.val().get_bits::<6>(0));
        self.hit.next = self.hits.q.val();
        self.place.next = self.found_place.q.val();
    }
}

impl Logic for Records {
    #[hdl_gen]
    fn update(&mut self) {
        self.enter();
        self.change();
        self.store();
        self.find();
        if self.rst.val() {
            self.stored.d.next = false;
            self.wrote.d.next = false;
            for r in 0..2 {
                self.lives[r].d.next = false;
                self.drains[r].d.next = false;
            }
        }
    }
}
