//! Limits of boxes, and rows before and behind them.

use super::Boxes;
use drdma_emit::prelude::*;

impl Boxes {
    /// The run is compared with the open box.
    #[hdl_gen]
    pub(super) fn compare(&mut self) {
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
    }

    /// The byte at the limit is needed: of a row that continues, or the first byte of the next row.
    #[hdl_gen]
    pub(super) fn find_limit(&mut self) {
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
    }

    /// Rows before and behind the limit.
    #[hdl_gen]
    pub(super) fn count_rows(&mut self) {
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
    }
}
