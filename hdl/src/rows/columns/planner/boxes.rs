//! Joins runs to boxes, and cuts boxes at their limits.
//!
//! A run takes a cycle. A run that exceeds the limit of its box takes two more for each cut that falls on a needed
//! byte, five where the cut falls into a gap, and three more again where rows overlap.

use super::lines::Lines;
use super::paces::{PACE_BITS, Pace};
use super::runs::Run;
use crate::primitive::{BitRange, Fifo, FirstSet, LastSet, Multiplier, Restore};
use drdma_emit::prelude::hdl_gen;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// State of the block.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CutState {
    /// Takes a run.
    Run,
    /// Finds out whether the byte at the limit is needed.
    Probe,
    /// Finds the last row before the limit, and the first behind it.
    Split,
    /// Overlapping rows: finds the distance of the last row from the limit.
    Far,
    /// Overlapping rows: multiplies that distance, for bytes.
    Reach,
    /// Overlapping rows: finds out whether the last row continues behind the limit.
    Tail,
    /// Ends the box.
    Cut,
    /// Starts the next box, and finds its limits.
    Start,
    /// Ends the chunk.
    End,
}

/// Bits of a box of rows.
pub const SPAN_BITS: usize = 74;

/// Joins runs to boxes of rows and phases, for *spans*; see the module.
///
/// Fields of a box: whether the next one continues the same stretch before the next 4 KiB boundary; the chunk's end;
/// whether there are bytes; the part; the start (row, bytes behind its start); the end (the same); and how many blocks
/// of rows before it are not in the window, which is the same for all rows of a box.
#[derive(LogicBlock)]
pub struct Boxes {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A run is offered.
    pub run_valid: Signal<In, Bit>,
    /// The run is taken in this cycle.
    pub run_ready: Signal<Out, Bit>,
    /// The run.
    pub run: Signal<In, Run>,

    /// A box is offered.
    pub span_valid: Signal<Out, Bit>,
    /// The box is taken in this cycle.
    pub span_ready: Signal<In, Bit>,
    /// The box.
    pub span: Signal<Out, Bits<SPAN_BITS>>,

    state: DFF<CutState>,
    valid: DFF<Bit>,
    any: DFF<Bit>,
    last: DFF<Bit>,
    index: DFF<Bits<5>>,
    block: DFF<Bits<12>>,
    shift: DFF<Bits<12>>,
    bits: DFF<Bits<64>>,
    from: DFF<Bits<6>>,
    to: DFF<Bits<6>>,
    to_line: DFF<Bits<8>>,
    /// The run starts in the cache line in which the one before ends.
    same_line: DFF<Bit>,
    block_behind: Signal<Local, Bits<12>>,
    line_behind: Signal<Local, Bits<9>>,
    reach: DFF<Bits<20>>,
    new_limit_row: DFF<Bits<20>>,
    new_limit_phase: DFF<Bits<8>>,
    new_page_row: DFF<Bits<20>>,
    new_page_phase: DFF<Bits<8>>,
    new_cut: DFF<Bit>,
    pace_bits: DFF<Bits<PACE_BITS>>,
    pace: Restore<Pace, PACE_BITS>,
    /// Takes fields of the pace that this block does not use.
    unused: Signal<Local, Pace>,
    /// The open box continues with this run.
    resume: DFF<Bit>,

    // The open box.
    open: DFF<Bit>,
    open_index: DFF<Bits<5>>,
    open_shift: DFF<Bits<12>>,
    open_row: DFF<Bits<19>>,
    open_phase: DFF<Bits<8>>,
    last_row: DFF<Bits<18>>,
    open_len: DFF<Bits<7>>,
    slack: DFF<Bits<20>>,
    limit_row: DFF<Bits<20>>,
    limit_phase: DFF<Bits<8>>,
    page_row: DFF<Bits<20>>,
    page_phase: DFF<Bits<8>>,

    from_row: Signal<Local, Bits<20>>,
    to_row: Signal<Local, Bits<20>>,
    len: Signal<Local, Bits<8>>,
    follows: Signal<Local, Bit>,
    joins: Signal<Local, Bit>,
    // Rows and phases in one number, which is compared in one carry chain.
    run_end: Signal<Local, Bits<28>>,
    limit: Signal<Local, Bits<28>>,
    page: Signal<Local, Bits<28>>,
    over_limit: Signal<Local, Bit>,
    over_page: Signal<Local, Bit>,
    cuts: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    done: Signal<Local, Bit>,

    // The limit, and the one behind it.
    here: Signal<Local, Bit>,
    at_limit: Signal<Local, Bit>,
    behind_limit: Signal<Local, Bit>,
    place: Signal<Local, Bits<6>>,
    sum: Signal<Local, Bits<9>>,
    sum_row: Signal<Local, Bits<20>>,
    page_sum: Signal<Local, Bits<9>>,
    next_page_row: Signal<Local, Bits<20>>,
    next_page_phase: Signal<Local, Bits<8>>,
    at_page: Signal<Local, Bit>,

    below: BitRange<64, 6>,
    mask: Signal<Local, Bits<64>>,
    low_bits: DFF<Bits<64>>,
    high_bits: DFF<Bits<64>>,
    find_last: LastSet<64, 6>,
    find_next: FirstSet<64, 6>,
    trim: DFF<Bits<6>>,
    next: DFF<Bits<6>>,
    more: DFF<Bit>,
    distance: DFF<Bits<20>>,
    far: Multiplier<6, 8, 14>,
    /// A row that starts this many bytes or more before the limit's row ends before the limit.
    room: DFF<Bits<8>>,
    close: DFF<Bit>,
    tail: DFF<Bit>,
    next_row: Signal<Local, Bits<20>>,
    lines: Lines,

    room_for: Signal<Local, Bit>,
    send: Signal<Local, Bit>,
    sent_valid: DFF<Bit>,
    sent: DFF<Bits<SPAN_BITS>>,
    goes_on: Signal<Local, Bit>,
    cut_end: Signal<Local, Bit>,
    end_row: Signal<Local, Bits<19>>,
    end_phase: Signal<Local, Bits<8>>,
    group: Signal<Local, Bits<5>>,
    queue: Fifo<SPAN_BITS, 4, 5>,
}

impl Default for Boxes {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            run_valid: Signal::default(),
            run_ready: Signal::default(),
            run: Signal::default(),
            span_valid: Signal::default(),
            span_ready: Signal::default(),
            span: Signal::default(),
            state: DFF::default(),
            valid: DFF::default(),
            any: DFF::default(),
            last: DFF::default(),
            index: DFF::default(),
            block: DFF::default(),
            shift: DFF::default(),
            bits: DFF::default(),
            from: DFF::default(),
            to: DFF::default(),
            to_line: DFF::default(),
            same_line: DFF::default(),
            block_behind: Signal::default(),
            line_behind: Signal::default(),
            reach: DFF::default(),
            new_limit_row: DFF::default(),
            new_limit_phase: DFF::default(),
            new_page_row: DFF::default(),
            new_page_phase: DFF::default(),
            new_cut: DFF::default(),
            pace_bits: DFF::default(),
            pace: Restore::default(),
            unused: Signal::default(),
            resume: DFF::default(),
            open: DFF::default(),
            open_index: DFF::default(),
            open_shift: DFF::default(),
            open_row: DFF::default(),
            open_phase: DFF::default(),
            last_row: DFF::default(),
            open_len: DFF::default(),
            slack: DFF::default(),
            limit_row: DFF::default(),
            limit_phase: DFF::default(),
            page_row: DFF::default(),
            page_phase: DFF::default(),
            from_row: Signal::default(),
            to_row: Signal::default(),
            len: Signal::default(),
            follows: Signal::default(),
            joins: Signal::default(),
            run_end: Signal::default(),
            limit: Signal::default(),
            page: Signal::default(),
            over_limit: Signal::default(),
            over_page: Signal::default(),
            cuts: Signal::default(),
            free: Signal::default(),
            done: Signal::default(),
            here: Signal::default(),
            at_limit: Signal::default(),
            behind_limit: Signal::default(),
            place: Signal::default(),
            sum: Signal::default(),
            sum_row: Signal::default(),
            page_sum: Signal::default(),
            next_page_row: Signal::default(),
            next_page_phase: Signal::default(),
            at_page: Signal::default(),
            below: BitRange::default(),
            mask: Signal::default(),
            low_bits: DFF::default(),
            high_bits: DFF::default(),
            find_last: LastSet::default(),
            find_next: FirstSet::default(),
            trim: DFF::default(),
            next: DFF::default(),
            more: DFF::default(),
            distance: DFF::default(),
            far: Multiplier::new(1),
            room: DFF::default(),
            close: DFF::default(),
            tail: DFF::default(),
            next_row: Signal::default(),
            lines: Lines::default(),
            room_for: Signal::default(),
            send: Signal::default(),
            sent_valid: DFF::default(),
            sent: DFF::default(),
            goes_on: Signal::default(),
            cut_end: Signal::default(),
            end_row: Signal::default(),
            end_phase: Signal::default(),
            group: Signal::default(),
            queue: Fifo::default(),
        }
    }
}

impl Logic for Boxes {
    #[hdl_gen]
    fn update(&mut self) {
        self.pace.bits.next = self.pace_bits.q.val();
        self.unused.next = self.pace.record.val();
        self.len.next = bit_cast::<8, 7>(self.pace.record.val().len);
        self.from_row.next =
            (bit_cast::<20, 12>(self.block.q.val()) << 6) | bit_cast::<20, 6>(self.from.q.val());
        self.to_row.next =
            (bit_cast::<20, 12>(self.block.q.val()) << 6) | bit_cast::<20, 6>(self.to.q.val());

        // The run is compared with the open box.
        self.follows.next = self.open.q.val()
            && (self.open_index.q.val() == self.index.q.val())
            && (self.open_shift.q.val() == self.shift.q.val())
            && (self.same_line.q.val() || !(self.slack.q.val() < self.from_row.val()))
            && !(self.page_row.q.val() < self.from_row.val());
        self.joins.next = self.resume.q.val()
            || (self.follows.val() && !(self.limit_row.q.val() < self.from_row.val()));
        self.run_end.next =
            (bit_cast::<28, 20>(self.reach.q.val()) << 8) | bit_cast::<28, 8>(self.len.val());
        self.limit.next = (bit_cast::<28, 20>(self.limit_row.q.val()) << 8)
            | bit_cast::<28, 8>(self.limit_phase.q.val());
        self.page.next = (bit_cast::<28, 20>(self.page_row.q.val()) << 8)
            | bit_cast::<28, 8>(self.page_phase.q.val());
        self.over_limit.next = self.limit.val() < self.run_end.val();
        self.over_page.next = self.page.val() < self.run_end.val();
        self.cuts.next = self.new_cut.q.val();
        if self.joins.val() {
            self.cuts.next = self.over_limit.val() || self.over_page.val();
        }

        // The byte at the limit is needed: of a row that continues, or the first byte of the next row.
        self.here.next =
            self.limit_row.q.val().get_bits::<14>(6) == bit_cast::<14, 12>(self.block.q.val());
        self.place.next = self.limit_row.q.val().get_bits::<6>(0);
        self.at_limit.next = self.here.val() && self.bits.q.val().get_bit(self.place.val().index());
        self.behind_limit.next = self.at_limit.val()
            && !self.place.val().all()
            && (self.limit_phase.q.val() == self.pace.record.val().step)
            && (self.bits.q.val() >> 1).get_bit(self.place.val().index());

        // Limit of a box that starts at this limit, and the next 4 KiB boundary.
        self.sum.next = bit_cast::<9, 8>(self.limit_phase.q.val())
            + bit_cast::<9, 8>(self.pace.record.val().phase);
        self.sum_row.next =
            self.limit_row.q.val() + bit_cast::<20, 13>(self.pace.record.val().rows);
        self.page_sum.next = bit_cast::<9, 8>(self.page_phase.q.val())
            + bit_cast::<9, 8>(self.pace.record.val().page_rest);
        self.next_page_row.next =
            self.page_row.q.val() + bit_cast::<20, 13>(self.pace.record.val().page_rows);
        self.next_page_phase.next = self.page_sum.val().get_bits::<8>(0);
        if bit_cast::<9, 8>(self.pace.record.val().step) < self.page_sum.val() {
            self.next_page_row.next =
                self.page_row.q.val() + bit_cast::<20, 13>(self.pace.record.val().page_rows) + 1;
            self.next_page_phase.next = (self.page_sum.val()
                - bit_cast::<9, 8>(self.pace.record.val().step))
            .get_bits::<8>(0);
        }
        self.at_page.next = self.limit.val() == self.page.val();

        // Rows before and behind the limit.
        self.below.from.next = 0.into();
        self.below.to.next = self.place.val();
        self.mask.next = self.below.mask.val();
        if !self.here.val() {
            self.mask.next = (bits::<64>(0)) - 1;
        }
        self.find_last.bits.next = self.low_bits.q.val();
        self.find_next.bits.next = self.high_bits.q.val();
        self.far.enable.next = true;
        self.far.a.next = self.distance.q.val().get_bits::<6>(0);
        self.far.b.next = self.pace.record.val().step;
        self.next_row.next =
            (bit_cast::<20, 12>(self.block.q.val()) << 6) | bit_cast::<20, 6>(self.next.q.val());
        self.lines.enable.next = true;
        self.lines.row.next = self.next.q.val();
        self.lines.lo.next = self.pace.record.val().skew;
        self.lines.step.next = self.pace.record.val().step;
        self.lines.triple.next = self.pace.record.val().triple;
        self.lines.end_row.next = self.limit_row.q.val();
        self.lines.end_phase.next = self.limit_phase.q.val();
        self.lines.end_step.next = self.pace.record.val().step;

        // One box may be on its way into the queue.
        self.room_for.next = self.queue.free.val() > 1;
        self.send.next = false;
        self.goes_on.next = false;
        self.cut_end.next = false;
        self.done.next = false;
        self.end_row.next = bit_cast::<19, 18>(self.last_row.q.val());
        self.end_phase.next = bit_cast::<8, 7>(self.open_len.q.val());
        match self.state.q.val() {
            CutState::Run => {
                // The nearer one of the two limits.
                if self.page.val() < self.limit.val() {
                    self.limit_row.d.next = self.page_row.q.val();
                    self.limit_phase.d.next = self.page_phase.q.val();
                }
                if self.valid.q.val() {
                    if !self.any.q.val() {
                        self.state.d.next = CutState::End;
                    } else if self.joins.val() || !self.open.q.val() || self.room_for.val() {
                        if !self.joins.val() {
                            self.send.next = self.open.q.val();
                            self.goes_on.next = self.follows.val();
                            self.open.d.next = true;
                            self.open_index.d.next = self.index.q.val();
                            self.open_shift.d.next = self.shift.q.val();
                            self.open_row.d.next = self.from_row.val().get_bits::<19>(0);
                            self.open_phase.d.next = 0.into();
                            self.open_len.d.next = self.pace.record.val().len;
                            self.limit_row.d.next = self.new_limit_row.q.val();
                            self.limit_phase.d.next = self.new_limit_phase.q.val();
                            self.page_row.d.next = self.new_page_row.q.val();
                            self.page_phase.d.next = self.new_page_phase.q.val();
                        }
                        if self.cuts.val() {
                            self.state.d.next = CutState::Probe;
                        } else {
                            self.done.next = true;
                        }
                    }
                }
            }
            CutState::Probe => {
                self.end_row.next = self.limit_row.q.val().get_bits::<19>(0);
                self.end_phase.next = self.limit_phase.q.val();
                if self.behind_limit.val() && !(self.limit_phase.q.val() < self.len.val()) {
                    self.end_phase.next = self.len.val();
                }
                if self.at_limit.val()
                    && ((self.limit_phase.q.val() < self.len.val()) || self.behind_limit.val())
                {
                    self.cut_end.next = self.room_for.val();
                } else {
                    self.low_bits.d.next = self.bits.q.val() & self.mask.val();
                    self.high_bits.d.next = self.bits.q.val() & !self.mask.val();
                    self.state.d.next = CutState::Split;
                }
            }
            CutState::Split => {
                self.trim.d.next = self.find_last.index.val();
                self.next.d.next = self.find_next.index.val();
                self.more.d.next = self.find_next.any.val();
                self.tail.d.next = false;
                self.state.d.next = CutState::Cut;
                if self.pace.record.val().overlap {
                    self.state.d.next = CutState::Far;
                }
            }
            CutState::Far => {
                self.distance.d.next = self.limit_row.q.val()
                    - ((bit_cast::<20, 12>(self.block.q.val()) << 6)
                        | bit_cast::<20, 6>(self.trim.q.val()));
                self.room.d.next = 0.into();
                if self.limit_phase.q.val() < self.len.val() {
                    self.room.d.next = self.len.val() - self.limit_phase.q.val();
                }
                self.state.d.next = CutState::Reach;
            }
            CutState::Reach => {
                self.close.d.next = !self.distance.q.val().get_bits::<14>(6).any();
                self.state.d.next = CutState::Tail;
            }
            CutState::Tail => {
                self.tail.d.next = self.close.q.val()
                    && (self.far.product.val() < bit_cast::<14, 8>(self.room.q.val()));
                self.state.d.next = CutState::Cut;
            }
            CutState::Cut => {
                self.end_row.next = (bit_cast::<19, 12>(self.block.q.val()) << 6)
                    | bit_cast::<19, 6>(self.trim.q.val());
                if self.tail.q.val() {
                    // An earlier row continues behind the limit.
                    self.end_row.next = self.limit_row.q.val().get_bits::<19>(0);
                    self.end_phase.next = self.limit_phase.q.val();
                    self.cut_end.next = self.room_for.val();
                } else if !self.more.q.val() {
                    // There is nothing to cut after all.
                    self.done.next = true;
                    self.state.d.next = CutState::Run;
                } else if self.room_for.val() {
                    self.send.next = true;
                    self.goes_on.next = !(self.page_row.q.val() < self.next_row.val());
                    self.from.d.next = self.next.q.val();
                    self.open_row.d.next = self.next_row.val().get_bits::<19>(0);
                    self.open_phase.d.next = 0.into();
                    self.limit_row.d.next =
                        self.next_row.val() + bit_cast::<20, 13>(self.pace.record.val().rows);
                    self.limit_phase.d.next = self.pace.record.val().phase;
                    self.state.d.next = CutState::Start;
                }
            }
            CutState::Start => {
                if self.page_row.q.val() < self.next_row.val() {
                    self.page_row.d.next = self.next_page_row.val();
                    self.page_phase.d.next = self.next_page_phase.val();
                } else {
                    self.limit_row.d.next = self.lines.limit_row.val();
                    self.limit_phase.d.next = self.lines.limit_phase.val();
                    self.resume.d.next = true;
                    self.state.d.next = CutState::Run;
                }
            }
            CutState::End => {
                if self.room_for.val() {
                    self.send.next = true;
                    self.open.d.next = false;
                    self.valid.d.next = false;
                    self.state.d.next = CutState::Run;
                }
            }
        }
        if self.cut_end.val() {
            // The box ends at its limit, and the next one starts there, with a line.
            self.send.next = true;
            self.goes_on.next = !self.at_page.val();
            self.open_row.d.next = self.limit_row.q.val().get_bits::<19>(0);
            self.open_phase.d.next = self.limit_phase.q.val();
            self.limit_row.d.next = self.sum_row.val();
            self.limit_phase.d.next = self.sum.val().get_bits::<8>(0);
            if bit_cast::<9, 8>(self.pace.record.val().step) < self.sum.val() {
                self.limit_row.d.next = self.sum_row.val() + 1;
                self.limit_phase.d.next = (self.sum.val()
                    - bit_cast::<9, 8>(self.pace.record.val().step))
                .get_bits::<8>(0);
            }
            if self.at_page.val() {
                self.page_row.d.next = self.next_page_row.val();
                self.page_phase.d.next = self.next_page_phase.val();
            }
            self.resume.d.next = true;
            self.state.d.next = CutState::Run;
        }
        self.free.next = !self.valid.q.val();
        if self.done.val() {
            self.last_row.d.next = self.to_row.val().get_bits::<18>(0);
            self.slack.d.next = self.to_row.val() + bit_cast::<20, 13>(self.pace.record.val().near);
            self.resume.d.next = false;
            if self.last.q.val() {
                self.state.d.next = CutState::End;
            } else {
                self.valid.d.next = false;
                self.free.next = true;
            }
        }

        // The next run is compared with the one that was here, whose rows end the open box.
        self.block_behind.next = self.block.q.val() + 1;
        self.line_behind.next =
            bit_cast::<9, 8>(self.to_line.q.val()) - bit_cast::<9, 8>(self.pace.record.val().step);
        self.run_ready.next = self.free.val();
        if self.free.val() && self.run_valid.val() {
            self.valid.d.next = true;
            self.any.d.next = self.run.val().any;
            self.last.d.next = self.run.val().last;
            self.index.d.next = self.run.val().index;
            self.block.d.next = self.run.val().block;
            self.shift.d.next = self.run.val().shift;
            self.bits.d.next = self.run.val().bits;
            self.from.d.next = self.run.val().from;
            self.to.d.next = self.run.val().to;
            self.to_line.d.next = self.run.val().to_line;
            self.same_line.d.next = self.pace.record.val().lines
                && (((self.run.val().block == self.block.q.val())
                    && (self.run.val().from_line == self.to_line.q.val()))
                    || ((self.run.val().block == self.block_behind.val())
                        && (bit_cast::<9, 8>(self.run.val().from_line) == self.line_behind.val())));
            self.reach.d.next = self.run.val().reach;
            self.new_limit_row.d.next = self.run.val().limit_row;
            self.new_limit_phase.d.next = self.run.val().limit_phase;
            self.new_page_row.d.next = self.run.val().page_row;
            self.new_page_phase.d.next = self.run.val().page_phase;
            self.new_cut.d.next = self.run.val().cut;
            self.pace_bits.d.next = self.run.val().pace;
        }

        self.queue.in_valid.next = self.sent_valid.q.val();
        self.queue.in_data.next = self.sent.q.val();
        self.sent_valid.d.next = self.send.val();
        self.group.next = self.index.q.val();
        if self.open.q.val() {
            self.group.next = self.open_index.q.val();
        }
        self.sent.d.next = bit_cast::<SPAN_BITS, 19>(self.open_row.q.val())
            | (bit_cast::<SPAN_BITS, 8>(self.open_phase.q.val()) << 19)
            | (bit_cast::<SPAN_BITS, 19>(self.end_row.val()) << 27)
            | (bit_cast::<SPAN_BITS, 8>(self.end_phase.val()) << 46)
            | (bit_cast::<SPAN_BITS, 5>(self.group.val()) << 54)
            | (bit_cast::<SPAN_BITS, 1>(self.open.q.val().into()) << 59)
            | (bit_cast::<SPAN_BITS, 1>((self.state.q.val() == CutState::End).into()) << 60)
            | (bit_cast::<SPAN_BITS, 1>(self.goes_on.val().into()) << 61)
            | (bit_cast::<SPAN_BITS, 12>(self.open_shift.q.val()) << 62);
        self.queue.out_ready.next = self.span_ready.val();
        self.span_valid.next = self.queue.out_valid.val();
        self.span.next = self.queue.out_data.val();

        if self.rst.val() {
            self.state.d.next = CutState::Run;
            self.valid.d.next = false;
            self.open.d.next = false;
            self.resume.d.next = false;
            self.sent_valid.d.next = false;
        }
    }
}
