//! Cuts of runs to boxes.

use super::{Boxes, CutState, SPAN_BITS};
use drdma_emit::prelude::*;

impl Boxes {
    /// The next run is compared with the one that was here, whose rows end the open box.
    #[hdl_gen]
    pub(super) fn follow(&mut self) {
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
    }

    /// Takes a run.
    #[hdl_gen]
    pub(super) fn take_run(&mut self) {
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

    /// Finds out whether the byte at the limit is needed.
    #[hdl_gen]
    pub(super) fn probe(&mut self) {
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

    /// Finds the last row before the limit, and the first behind it.
    #[hdl_gen]
    pub(super) fn split(&mut self) {
        self.trim.d.next = self.find_last.index.val();
        self.next.d.next = self.find_next.index.val();
        self.more.d.next = self.find_next.any.val();
        self.tail.d.next = false;
        self.state.d.next = CutState::Cut;
        if self.pace.record.val().overlap {
            self.state.d.next = CutState::Far;
        }
    }

    /// Overlapping rows: finds the distance of the last row from the limit.
    #[hdl_gen]
    pub(super) fn skip_far(&mut self) {
        self.distance.d.next = self.limit_row.q.val()
            - ((bit_cast::<20, 12>(self.block.q.val()) << 6)
                | bit_cast::<20, 6>(self.trim.q.val()));
        self.room.d.next = 0.into();
        if self.limit_phase.q.val() < self.len.val() {
            self.room.d.next = self.len.val() - self.limit_phase.q.val();
        }
        self.state.d.next = CutState::Reach;
    }

    /// Ends the box.
    #[hdl_gen]
    pub(super) fn cut(&mut self) {
        self.end_row.next =
            (bit_cast::<19, 12>(self.block.q.val()) << 6) | bit_cast::<19, 6>(self.trim.q.val());
        if self.tail.q.val() {
            // An earlier row continues behind the limit.
            self.end_row.next = self.limit_row.q.val().get_bits::<19>(0);
            self.end_phase.next = self.limit_phase.q.val();
            self.cut_end.next = self.room_for.val();
        } else if !self.more.q.val() {
            // The run need not be cut.
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

    /// Starts the next box, and finds its limits.
    #[hdl_gen]
    pub(super) fn start(&mut self) {
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

    /// Ends the chunk.
    #[hdl_gen]
    pub(super) fn end_run(&mut self) {
        if self.room_for.val() {
            self.send.next = true;
            self.open.d.next = false;
            self.valid.d.next = false;
            self.state.d.next = CutState::Run;
        }
    }
}
