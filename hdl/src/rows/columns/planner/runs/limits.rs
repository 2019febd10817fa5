//! Limits of the boxes of a run.

use super::Runs;
use drdma_emit::prelude::*;

impl Runs {
    /// The longest box from the run's first row.
    #[hdl_gen]
    pub(super) fn measure(&mut self) {
        if self.line_free.val() {
            self.line_valid.d.next = self.first_valid.q.val() && !self.pages.behind.val();
            self.line_any.d.next = self.first_any.q.val();
            self.line_end.d.next = self.first_end.q.val();
            self.line_bits.d.next = self.first_bits.q.val();
            self.line_index.d.next = self.first_index.q.val();
            self.line_block.d.next = self.first_block.q.val();
            self.line_shift.d.next = self.first_shift.q.val();
            self.line_from.d.next = self.first_from.q.val();
            self.line_to.d.next = self.first_to.q.val();
            // Where rows overlap, rows up to 63 before may have bytes behind a row's start.
            self.line_reach.d.next = (bit_cast::<20, 12>(self.first_block.q.val()) << 6)
                + (bit_cast::<20, 1>(self.first_pace.record.val().overlap.into()) << 6)
                + bit_cast::<20, 6>(self.first_to.q.val());
            self.line_row.d.next =
                self.row.val() + bit_cast::<20, 13>(self.first_pace.record.val().rows);
            self.line_phase.d.next = self.first_pace.record.val().phase;
            self.line_step.d.next = self.first_pace.record.val().step;
            self.line_skew.d.next = self.first_pace.record.val().skew;
            self.line_tail.d.next = bit_cast::<8, 6>(self.first_pace.record.val().skew)
                + bit_cast::<8, 7>(self.first_pace.record.val().len)
                - 1;
            self.line_page_row.d.next = self.pages.page_row.val();
            self.line_page_phase.d.next = self.pages.page_phase.val();
        }

        // The lines of the first byte and of the last one. 64 rows are whole lines, so that the lines of every block
        // start alike.
        self.from_bytes.enable.next = self.line_free.val();
        self.from_bytes.a.next = self.first_from.q.val();
        self.from_bytes.b.next = self.first_pace.record.val().step;
        self.to_bytes.enable.next = self.line_free.val();
        self.to_bytes.a.next = self.first_to.q.val();
        self.to_bytes.b.next = self.first_pace.record.val().step;
    }

    /// Limits.
    #[hdl_gen]
    pub(super) fn limit(&mut self) {
        self.lines.enable.next = self.line_free.val();
        self.lines.row.next = self.first_from.q.val();
        self.lines.lo.next = self.first_pace.record.val().skew;
        self.lines.step.next = self.first_pace.record.val().step;
        self.lines.triple.next = self.first_pace.record.val().triple;
        self.lines.end_row.next = self.line_row.q.val();
        self.lines.end_phase.next = self.line_phase.q.val();
        self.lines.end_step.next = self.line_step.q.val();
        if self.limit_free.val() {
            self.limit_valid.d.next = self.line_valid.q.val();
            self.limit_any.d.next = self.line_any.q.val();
            self.limit_end.d.next = self.line_end.q.val();
            self.limit_bits.d.next = self.line_bits.q.val();
            self.limit_index.d.next = self.line_index.q.val();
            self.limit_block.d.next = self.line_block.q.val();
            self.limit_shift.d.next = self.line_shift.q.val();
            self.limit_from.d.next = self.line_from.q.val();
            self.limit_to.d.next = self.line_to.q.val();
            self.limit_from_line.d.next = (self.from_bytes.product.val()
                + bit_cast::<14, 6>(self.line_skew.q.val()))
            .get_bits::<8>(6);
            self.limit_to_line.d.next = (self.to_bytes.product.val()
                + bit_cast::<14, 8>(self.line_tail.q.val()))
            .get_bits::<8>(6);
            self.limit_reach.d.next = self.line_reach.q.val();
            self.limit_page_row.d.next = self.line_page_row.q.val();
            self.limit_page_phase.d.next = self.line_page_phase.q.val();
            self.limit_row.d.next = self.lines.limit_row.val();
            self.limit_phase.d.next = self.lines.limit_phase.val();
        }
        if self.cut_free.val() {
            self.cut_valid.d.next = self.limit_valid.q.val();
            self.cut_any.d.next = self.limit_any.q.val();
            self.cut_end.d.next = self.limit_end.q.val();
            self.cut_bits.d.next = self.limit_bits.q.val();
            self.cut_index.d.next = self.limit_index.q.val();
            self.cut_block.d.next = self.limit_block.q.val();
            self.cut_shift.d.next = self.limit_shift.q.val();
            self.cut_from.d.next = self.limit_from.q.val();
            self.cut_to.d.next = self.limit_to.q.val();
            self.cut_from_line.d.next = self.limit_from_line.q.val();
            self.cut_to_line.d.next = self.limit_to_line.q.val();
            self.cut_reach.d.next = self.limit_reach.q.val();
            self.cut_page_row.d.next = self.limit_page_row.q.val();
            self.cut_page_phase.d.next = self.limit_page_phase.q.val();
            self.cut_pace.d.next = self.paces.read_data[2].val();
            self.cut_row.d.next = self.limit_row.q.val();
            self.cut_phase.d.next = self.limit_phase.q.val();
            if (self.limit_page_row.q.val() < self.limit_row.q.val())
                || ((self.limit_page_row.q.val() == self.limit_row.q.val())
                    && (self.limit_page_phase.q.val() < self.limit_phase.q.val()))
            {
                self.cut_row.d.next = self.limit_page_row.q.val();
                self.cut_phase.d.next = self.limit_page_phase.q.val();
            }
        }

        self.cut_record.bits.next = self.cut_pace.q.val();
        // Each stage uses only some fields of the pace.
        self.unused_0.next = self.rows_pace.record.val();
        self.unused_1.next = self.cut_record.record.val();
        self.run_valid.next = self.cut_valid.q.val();
        self.run.next.any = self.cut_any.q.val();
        self.run.next.last = self.cut_end.q.val();
        self.run.next.index = self.cut_index.q.val();
        self.run.next.block = self.cut_block.q.val();
        self.run.next.shift = self.cut_shift.q.val();
        self.run.next.bits = self.cut_bits.q.val();
        self.run.next.from = self.cut_from.q.val();
        self.run.next.to = self.cut_to.q.val();
        self.run.next.from_line = self.cut_from_line.q.val();
        self.run.next.to_line = self.cut_to_line.q.val();
        self.run.next.reach = self.cut_reach.q.val();
        self.run.next.limit_row = self.cut_row.q.val();
        self.run.next.limit_phase = self.cut_phase.q.val();
        self.run.next.page_row = self.cut_page_row.q.val();
        self.run.next.page_phase = self.cut_page_phase.q.val();
        self.run.next.pace = self.cut_pace.q.val();
        self.run.next.cut = (self.cut_row.q.val() < self.cut_reach.q.val())
            || ((self.cut_row.q.val() == self.cut_reach.q.val())
                && (self.cut_phase.q.val() < bit_cast::<8, 7>(self.cut_record.record.val().len)));
    }
}
