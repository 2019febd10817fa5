//! The row source: emits the rows of one stretch after another.

use super::record::{Context, END, HEAD, Item, Row, SCAN};
use crate::primitive::CountOnes;
use crate::request::{BITMAPPED, DEST_COUNT, DEST_INDEX, POINTER_MAPPED};
use drdma_emit::prelude::*;

/// State of the row source.
#[derive(Clone, Copy, Debug, PartialEq, LogicState)]
pub enum RowsState {
    /// Waits for an item.
    Idle,
    /// Contiguous or strided region: the next row follows by number.
    Count,
    /// Bitmapped region: the next row is the next set bit.
    Bits,
    /// Pointer-mapped region: the next row has the next pointer.
    Pointers,
    /// Emits the end that follows the last row.
    Close,
    /// Gives the result of a scan.
    Result,
}

/// Walks stretches for the message packer and emits their rows; scans bitmaps and pointers for the plan.
///
/// A chunk's header ([`HEAD`](super::record::HEAD)) passes as a row without bytes.
///
/// One row a cycle whatever the type of the region, and one 64-bit word of a bitmap without set bits a cycle; 2 cycles
/// more for each item. A scan takes a word of a bitmap or up to 8 pointers a cycle. Answers of reads come in the order
/// of items. After a read that failed, no rows follow until the end of the request, which then carries
/// `local_protection_error`.
///
/// # Inputs
/// `item` stream {`item`, `context`}, `resp` stream {`data`, `last`, `error`}, `row_ready`.
///
/// # Outputs
/// `item_ready`, `resp_ready`; `row` stream {`context`, `row`}; `result_*`, one pulse for each scan.
#[derive(LogicBlock)]
pub struct Rows {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// An item is offered.
    pub item_valid: Signal<In, Bit>,
    /// The item is taken in this cycle.
    pub item_ready: Signal<Out, Bit>,
    /// The item.
    pub item: Signal<In, Item>,
    /// What the rows of the item have in common.
    pub item_context: Signal<In, Context>,
    /// A beat of 64 bytes that were read is offered.
    pub resp_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub resp_ready: Signal<Out, Bit>,
    /// Bytes that were read.
    pub resp_data: Signal<In, Bits<512>>,
    /// The read failed.
    pub resp_error: Signal<In, Bit>,
    /// A row is offered.
    pub row_valid: Signal<Out, Bit>,
    /// The row is taken in this cycle.
    pub row_ready: Signal<In, Bit>,
    /// What the rows of the row's item have in common.
    pub row_context: Signal<Out, Context>,
    /// The row.
    pub row: Signal<Out, Row>,
    /// The row source waits for an item.
    pub idle: Signal<Out, Bit>,
    /// The request has failed.
    pub has_failed: Signal<Out, Bit>,
    /// A read of the walker or of the column path has failed.
    pub fail: Signal<In, Bit>,
    /// With `fail`: number of the destination in its request.
    pub fail_dest: Signal<In, Bits<DEST_INDEX>>,
    /// A scan has ended.
    pub result_valid: Signal<Out, Bit>,
    /// Set that was scanned.
    pub result_set: Signal<Out, Bits<11>>,
    /// Number of set bits that the scan found.
    pub result_count: Signal<Out, Bits<32>>,
    /// The scan found a pointer out of bounds, or one of its reads failed.
    pub result_bad: Signal<Out, Bit>,

    state: DFF<RowsState>,
    work: DFF<Item>,
    shared: DFF<Context>,
    load: Signal<Local, Bit>,
    /// The request ends with the item.
    ends: Signal<Local, Bit>,
    item_words: Signal<Local, Bits<27>>,
    item_end: Signal<Local, Bits<33>>,
    // Rows that are left, or words of 64 bits; the next row.
    left: DFF<Bits<32>>,
    next: DFF<Bits<32>>,
    lane: DFF<Bits<4>>,
    chunk: DFF<Bit>,
    last_lane: Signal<Local, Bit>,
    last_row: Signal<Local, Bit>,
    // The beat that is being taken apart.
    beat_valid: DFF<Bit>,
    beat_error: DFF<Bit>,
    beat: DFF<Bits<512>>,
    place: DFF<Bits<3>>,
    word: Signal<Local, Bits<64>>,
    take_word: Signal<Local, Bit>,
    take_beat: Signal<Local, Bit>,
    // A bitmap's word: the bits that are left of it, and the bits to leave out of the next word.
    bits: DFF<Bits<64>>,
    base: DFF<Bits<32>>,
    bits_error: DFF<Bit>,
    rest: Signal<Local, Bits<64>>,
    mask_first: DFF<Bits<64>>,
    mask_last: DFF<Bits<64>>,
    masked: Signal<Local, Bits<64>>,
    ones: Constant<Bits<64>>,
    // A scan.
    count: DFF<Bits<32>>,
    ones_in_word: CountOnes<64, 7>,
    scanned: DFF<Bits<64>>,
    scanned_valid: DFF<Bit>,
    bad: DFF<Bit>,
    wrong: DFF<Bits<8>>,
    beyond: [Signal<Local, Bit>; 8],
    beyond_all: Signal<Local, Bits<8>>,
    outside: [Signal<Local, Bit>; 8],
    outside_all: Signal<Local, Bits<8>>,
    wait: DFF<Bits<2>>,
    // A read failed: no more rows of this request.
    failed: DFF<Bit>,
    bad_dest: DFF<Bits<DEST_COUNT>>,
    failing: Signal<Local, Bit>,
    // The row that is found, then the row with its number.
    found: Signal<Local, Bit>,
    found_row: Signal<Local, Row>,
    found_bitmap: Signal<Local, Bit>,
    advance: Signal<Local, Bit>,
    out_valid: DFF<Bit>,
    out_context: DFF<Context>,
    out_row: DFF<Row>,
    out_bitmap: DFF<Bit>,
    numbers: [Constant<Bits<64>>; 6],
    number: Signal<Local, Bits<6>>,
    protection: Constant<Bits<8>>,
}

impl Default for Rows {
    fn default() -> Self {
        let number = |bit: usize| -> u64 {
            (0..64).filter(|k| k >> bit & 1 == 1).fold(0, |mask, k| mask | 1 << k)
        };
        let protection = drdma_abi::completion::Status::LocalProtectionError as u64;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            item_valid: Default::default(),
            item_ready: Default::default(),
            item: Default::default(),
            item_context: Default::default(),
            resp_valid: Default::default(),
            resp_ready: Default::default(),
            resp_data: Default::default(),
            resp_error: Default::default(),
            row_valid: Default::default(),
            row_ready: Default::default(),
            row_context: Default::default(),
            row: Default::default(),
            idle: Default::default(),
            has_failed: Default::default(),
            fail: Default::default(),
            fail_dest: Default::default(),
            result_valid: Default::default(),
            result_set: Default::default(),
            result_count: Default::default(),
            result_bad: Default::default(),
            state: Default::default(),
            work: Default::default(),
            shared: Default::default(),
            load: Default::default(),
            ends: Default::default(),
            item_words: Default::default(),
            item_end: Default::default(),
            left: Default::default(),
            next: Default::default(),
            lane: Default::default(),
            chunk: Default::default(),
            last_lane: Default::default(),
            last_row: Default::default(),
            beat_valid: Default::default(),
            beat_error: Default::default(),
            beat: Default::default(),
            place: Default::default(),
            word: Default::default(),
            take_word: Default::default(),
            take_beat: Default::default(),
            bits: Default::default(),
            base: Default::default(),
            bits_error: Default::default(),
            rest: Default::default(),
            mask_first: Default::default(),
            mask_last: Default::default(),
            masked: Default::default(),
            ones: Constant::new(u64::MAX.to_bits()),
            count: Default::default(),
            ones_in_word: Default::default(),
            scanned: Default::default(),
            scanned_valid: Default::default(),
            bad: Default::default(),
            wrong: Default::default(),
            beyond: Default::default(),
            beyond_all: Default::default(),
            outside: Default::default(),
            outside_all: Default::default(),
            wait: Default::default(),
            failed: Default::default(),
            bad_dest: Default::default(),
            failing: Default::default(),
            found: Default::default(),
            found_row: Default::default(),
            found_bitmap: Default::default(),
            advance: Default::default(),
            out_valid: Default::default(),
            out_context: Default::default(),
            out_row: Default::default(),
            out_bitmap: Default::default(),
            numbers: array_init::array_init(|bit| Constant::new(number(bit).to_bits())),
            number: Default::default(),
            protection: Constant::new(protection.to_bits()),
        }
    }
}

impl Logic for Rows {
    #[hdl_gen]
    fn update(&mut self) {
        // The item.
        self.last_lane.next = !self.shared.q.val().by_lane
            || (bit_cast::<5, 4>(self.lane.q.val()) + 1 == self.shared.q.val().lanes);
        self.last_row.next = (self.left.q.val() == 1) && self.last_lane.val();
        self.advance.next = !self.out_valid.q.val() || self.row_ready.val();
        self.load.next = (self.state.q.val() == RowsState::Idle)
            || ((self.state.q.val() == RowsState::Count)
                && self.advance.val()
                && self.last_row.val());
        self.item_ready.next = self.load.val();
        self.item_end.next = bit_cast::<33, 32>(self.item.val().first & 63)
            + bit_cast::<33, 32>(self.item.val().rows);
        self.item_words.next = (self.item_end.val() + 63).get_bits::<27>(6);

        // The beat and its words.
        self.word.next = self.beat.q.val().get_bits::<64>(self.place.q.val().index() * 64);
        self.masked.next = self.word.val() & self.mask_first.q.val();
        if self.left.q.val() == 1 {
            self.masked.next = self.word.val() & self.mask_first.q.val() & self.mask_last.q.val();
        }
        self.rest.next = self.bits.q.val() & (self.bits.q.val() - 1);
        self.take_word.next = false;
        self.take_beat.next = false;

        // A row leaves unless its request has failed.
        self.ends.next = (self.work.q.val().task == END) && !self.work.q.val().never;
        self.found.next = false;
        self.found_bitmap.next = false;
        self.found_row.next.row = self.next.q.val();
        self.found_row.next.pointer = 0.into();
        if self.work.q.val().kind == POINTER_MAPPED {
            self.found_row.next.pointer = self.word.val();
        }
        self.found_row.next.lane = self.lane.q.val();
        self.found_row.next.chunk_start = self.chunk.q.val();
        self.found_row.next.unit_first = true;
        self.found_row.next.unit_last = true;
        self.found_row.next.counted = false;
        self.found_row.next.message_bytes = 0.into();
        self.found_row.next.empty = false;
        self.found_row.next.request_end = false;
        self.found_row.next.last = false;
        self.found_row.next.status = self.work.q.val().low.get_bits::<8>(0);
        self.found_row.next.bad_dest = self.work.q.val().low.get_bits::<DEST_COUNT>(9);
        self.found_row.next.column = false;
        self.found_row.next.rows = bit_cast::<13, 32>(self.work.q.val().rows);
        self.failing.next = false;

        // Scans.
        self.ones_in_word.bits.next = self.scanned.q.val();
        self.scanned.d.next = self.masked.val();
        self.scanned_valid.d.next = false;
        if self.scanned_valid.q.val() {
            self.count.d.next =
                self.count.q.val() + bit_cast::<32, 7>(self.ones_in_word.count.val());
        }
        for k in 0..8 {
            self.beyond[k].next = self.work.q.val().never
                || (self.beat.q.val().get_bits::<64>(k * 64) < self.work.q.val().low)
                || (self.beat.q.val().get_bits::<64>(k * 64) > self.work.q.val().high);
            self.outside[k].next = (self.left.q.val() > k.to_bits()) && self.beyond[k].val();
        }
        self.beyond_all.next = 0.into();
        for k in 0..8 {
            self.beyond_all.next = self.beyond_all.val().replace_bit(k, self.beyond[k].val());
        }
        self.outside_all.next = 0.into();
        for k in 0..8 {
            self.outside_all.next = self.outside_all.val().replace_bit(k, self.outside[k].val());
        }
        self.wrong.d.next = 0.into();
        if self.wrong.q.val().any() {
            self.bad.d.next = true;
        }
        self.result_valid.next = false;
        self.result_set.next = self.shared.q.val().set;
        self.result_count.next = self.count.q.val();
        self.result_bad.next = self.bad.q.val();

        match self.state.q.val() {
            RowsState::Idle => {}
            RowsState::Count => {
                self.found.next = !self.failed.q.val();
                self.found_row.next.last = self.work.q.val().last && self.last_row.val();
                if self.advance.val() {
                    self.lane.d.next = self.lane.q.val() + 1;
                    if self.last_lane.val() {
                        self.lane.d.next = 0.into();
                        self.left.d.next = self.left.q.val() - 1;
                        self.next.d.next = self.next.q.val() + 1;
                        if self.left.q.val() == 1 {
                            self.state.d.next = RowsState::Idle;
                        }
                    }
                }
                if self.failed.q.val() {
                    self.state.d.next = RowsState::Idle;
                }
            }
            RowsState::Pointers => {
                if self.work.q.val().task == SCAN {
                    // A scan takes up to eight pointers a cycle.
                    if self.beat_valid.q.val() {
                        self.take_beat.next = true;
                        self.wrong.d.next = self.outside_all.val();
                        if self.beat_error.q.val() {
                            self.bad.d.next = true;
                        }
                        self.left.d.next = self.left.q.val() - 8;
                        if self.left.q.val() <= 8 {
                            self.state.d.next = RowsState::Result;
                        }
                    }
                } else if self.beat_valid.q.val() {
                    // The host may have changed the pointer since it was judged.
                    self.failing.next = self.beat_error.q.val()
                        || self.beyond_all.val().get_bit(self.place.q.val().index());
                    self.found.next = !self.failed.q.val() && !self.failing.val();
                    self.found_row.next.last = self.work.q.val().last && (self.left.q.val() == 1);
                    if self.advance.val() {
                        self.take_word.next = true;
                        self.left.d.next = self.left.q.val() - 1;
                        self.next.d.next = self.next.q.val() + 1;
                        if self.left.q.val() == 1 {
                            self.take_beat.next = true;
                            self.state.d.next = RowsState::Idle;
                        }
                    }
                }
            }
            RowsState::Bits => {
                self.found.next = (self.bits.q.val() != 0) && !self.failed.q.val();
                self.found_bitmap.next = true;
                self.found_row.next.row = self.base.q.val();
                // The lowest set bit alone.
                self.found_row.next.pointer = self.bits.q.val() ^ self.rest.val();
                if (self.bits.q.val() == 0) || self.advance.val() {
                    self.bits.d.next = self.rest.val();
                    if self.bits.q.val() == 0 {
                        self.bits.d.next = 0.into();
                    }
                    if (self.bits.q.val() == 0) || (self.rest.val() == 0) {
                        if self.left.q.val() == 0 {
                            self.state.d.next = RowsState::Close;
                            if self.work.q.val().task == SCAN {
                                self.state.d.next = RowsState::Result;
                            }
                        } else if self.beat_valid.q.val() {
                            self.take_word.next = true;
                            self.left.d.next = self.left.q.val() - 1;
                            self.base.d.next = self.base.q.val() + 64;
                            self.mask_first.d.next = self.ones.val();
                            self.failing.next =
                                self.beat_error.q.val() && (self.work.q.val().task != SCAN);
                            if self.left.q.val() == 1 {
                                self.take_beat.next = true;
                            }
                            if self.work.q.val().task == SCAN {
                                self.scanned_valid.d.next = true;
                                if self.beat_error.q.val() {
                                    self.bad.d.next = true;
                                }
                            } else if !self.beat_error.q.val() {
                                self.bits.d.next = self.masked.val();
                            }
                        }
                    }
                }
            }
            RowsState::Close => {
                self.found_row.next.empty = true;
                self.found_row.next.request_end = self.ends.val();
                self.found_row.next.last = self.work.q.val().last
                    || (self.ends.val()
                        && (self.work.q.val().low.get_bit(8) || self.failed.q.val()));
                self.found_row.next.column = self.work.q.val().task == HEAD;
                self.found.next = (self.work.q.val().last && !self.failed.q.val())
                    || (self.work.q.val().task == END)
                    || (self.work.q.val().task == HEAD);
                if self.failed.q.val() {
                    self.found_row.next.status = self.protection.val();
                    self.found_row.next.bad_dest = self.bad_dest.q.val();
                }
                if self.advance.val() {
                    self.state.d.next = RowsState::Idle;
                    if self.ends.val() {
                        self.failed.d.next = false;
                    }
                }
            }
            RowsState::Result => {
                // The last words are still being counted and compared.
                self.wait.d.next = self.wait.q.val() + 1;
                if self.wait.q.val() == 2 {
                    self.result_valid.next = true;
                    self.state.d.next = RowsState::Idle;
                }
            }
        }
        if self.fail.val() && !self.failed.q.val() {
            self.failed.d.next = true;
            self.bad_dest.d.next = bit_cast::<DEST_COUNT, DEST_INDEX>(self.fail_dest.val());
        }
        self.idle.next = self.state.q.val() == RowsState::Idle;
        self.has_failed.next = self.failed.q.val();
        if self.failing.val() {
            self.failed.d.next = true;
            if !self.failed.q.val() {
                self.bad_dest.d.next =
                    bit_cast::<DEST_COUNT, DEST_INDEX>(self.shared.q.val().index);
            }
        }

        // The next word or beat.
        if self.take_word.val() {
            self.place.d.next = self.place.q.val() + 1;
            if self.place.q.val() == 7 {
                self.take_beat.next = true;
            }
        }
        self.resp_ready.next = !self.beat_valid.q.val() || self.take_beat.val();
        if !self.beat_valid.q.val() || self.take_beat.val() {
            self.place.d.next = 0.into();
            self.beat_valid.d.next = self.resp_valid.val();
            self.beat.d.next = self.resp_data.val();
            self.beat_error.d.next = self.resp_error.val();
        }

        // The number of a bitmap's row.
        if self.advance.val() {
            if self.found.val() {
                self.chunk.d.next = false;
            }
            self.out_valid.d.next = self.found.val();
            self.out_context.d.next = self.shared.q.val();
            self.out_row.d.next = self.found_row.val();
            self.out_bitmap.d.next = self.found_bitmap.val();
        }
        self.row_valid.next = self.out_valid.q.val();
        self.row_context.next = self.out_context.q.val();
        self.row.next = self.out_row.q.val();
        self.number.next = 0.into();
        for k in 0..6 {
            self.number.next = self
                .number
                .val()
                .replace_bit(k, (self.out_row.q.val().pointer & self.numbers[k].val()).any());
        }
        if self.out_bitmap.q.val() {
            self.row.next.pointer = 0.into();
            self.row.next.row = self.out_row.q.val().row | bit_cast::<32, 6>(self.number.val());
        }

        // The next item takes the place of one that has ended.
        if self.load.val() {
            self.work.d.next = self.item.val();
            self.shared.d.next = self.item_context.val();
            self.left.d.next = self.item.val().rows;
            self.next.d.next = self.item.val().first;
            self.lane.d.next = 0.into();
            self.count.d.next = 0.into();
            self.bad.d.next = false;
            self.wait.d.next = 0.into();
            self.bits.d.next = 0.into();
            self.bits_error.d.next = false;
            self.base.d.next = ((self.item.val().first >> 6) << 6) - 64;
            self.mask_first.d.next = self.ones.val() << bit_cast::<6, 32>(self.item.val().first);
            self.mask_last.d.next =
                self.ones.val() >> bit_cast::<6, 33>((self.item_end.val() ^ 63) + 1);
            if self.item_valid.val() {
                if self.item.val().chunk_start {
                    self.chunk.d.next = true;
                }
                if (self.item.val().task == END)
                    || (self.item.val().task == HEAD)
                    || (self.item.val().rows == 0)
                {
                    self.state.d.next = RowsState::Close;
                } else if self.item.val().kind == BITMAPPED {
                    self.left.d.next = bit_cast::<32, 27>(self.item_words.val());
                    self.state.d.next = RowsState::Bits;
                } else if self.item.val().kind == POINTER_MAPPED {
                    self.state.d.next = RowsState::Pointers;
                } else {
                    self.state.d.next = RowsState::Count;
                }
            }
        }

        if self.rst.val() {
            self.state.d.next = RowsState::Idle;
            self.chunk.d.next = false;
            self.beat_valid.d.next = false;
            self.place.d.next = 0.into();
            self.scanned_valid.d.next = false;
            self.wrong.d.next = 0.into();
            self.failed.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
