//! The logic of the runs. Its parts stand in files by what they do.

use super::Runs;
use drdma_emit::prelude::hdl_gen;
use drdma_emit::prelude::*;

impl Logic for Runs {
    #[hdl_gen]
    fn update(&mut self) {
        self.paces.write_enable.next = self.pace_write.val();
        self.paces.write_address.next = self.pace_index.val();
        self.paces.write_data.next = self.pace_data.val();
        self.paces.read_address[0].next = self.rows_index.q.val();
        self.paces.read_address[1].next = self.ends_index.q.val();
        self.paces.read_address[2].next = self.limit_index.q.val();
        self.rows_pace.bits.next = self.paces.read_data[0].val();
        self.first_pace.bits.next = self.first_pace_bits.q.val();
        self.ends_pace.bits.next = self.paces.read_data[1].val();

        // Stages before are stopped until the next 4 KiB boundary lies behind the run's start.
        self.row.next = (bit_cast::<20, 12>(self.first_block.q.val()) << 6)
            | bit_cast::<20, 6>(self.first_from.q.val());
        self.pages.next_index.next = self.ends_index.q.val();
        self.pages.next_pace.next = self.ends_pace.record.val();
        self.pages.valid.next = self.first_valid.q.val();
        self.pages.any.next = self.first_any.q.val();
        self.pages.last.next = self.first_end.q.val();
        self.pages.index.next = self.first_index.q.val();
        self.pages.row.next = self.row.val();
        self.pages.pace.next = self.first_pace.record.val();

        // Stages that advance at the end of this cycle.
        self.cut_free.next = !self.cut_valid.q.val() || self.run_ready.val();
        self.limit_free.next = !self.limit_valid.q.val() || self.cut_free.val();
        self.line_free.next = !self.line_valid.q.val() || self.limit_free.val();
        self.first_free.next =
            !self.first_valid.q.val() || (self.line_free.val() && !self.pages.behind.val());
        self.pages.load.next = self.first_free.val();
        self.pages.enable.next = self.line_free.val();
        self.other_ends.next = self.ends_ends.q.val() & (self.ends_ends.q.val() - 1);
        self.ends_free.next =
            !self.ends_valid.q.val() || (self.first_free.val() && !self.other_ends.val().any());
        self.gaps_free.next = !self.gaps_valid.q.val() || self.ends_free.val();
        self.rows_free.next = !self.rows_valid.q.val() || self.gaps_free.val();

        self.fetch();
        self.find_gaps();
        self.find_ends();
        self.measure();
        self.limit();

        if self.rst.val() {
            self.next_block.d.next = 0.into();
            self.rows_valid.d.next = false;
            self.gaps_valid.d.next = false;
            self.ends_valid.d.next = false;
            self.first_valid.d.next = false;
            self.line_valid.d.next = false;
            self.limit_valid.d.next = false;
            self.cut_valid.d.next = false;
        }
    }
}
