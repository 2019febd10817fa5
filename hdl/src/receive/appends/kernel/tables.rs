//! Tables of append regions.

use super::super::Appends;
use crate::context::EVERY_TABLE;
use crate::receive::record::APPEND;
use drdma_emit::prelude::*;

impl Appends {
    /// What the host writes, and the states that the rows given back need.
    #[hdl_gen]
    pub(super) fn connect_tables(&mut self) {
        self.clears.next = self.cfg.valid.val() && (self.cfg.table.val() == EVERY_TABLE);
        self.cfg.join(&mut self.entries.cfg);
        self.cfg.join(&mut self.given_back.cfg);
        self.cfg.join(&mut self.holders.cfg);
        self.cfg.join(&mut self.coverage.cfg);
        self.cfg.join(&mut self.lives.cfg);
        self.word.join(&mut self.entries.word);
        self.word.join(&mut self.given_back.word);
        self.word.join(&mut self.lives.word);
        self.error_next.next = self.holders.error_next.val();
        self.holders.qp_error.next = self.qp_error.val();

        self.restores[0].bits.next = self.states[0].read_data.val();
        self.restores[1].bits.next = self.states[1].read_data.val();
        self.states[1].ahead.next = self.given_back.asked.val();
        self.lives.next_region.next = self.given_back.asked.val();
        self.given_back.state.next = self.restores[1].record.val();
        self.given_back.life.next = self.lives.life.val();
        self.given_back.enabled.next = self.lives.enabled.val();
    }

    /// Writes the state of the region, and names the region that is read.
    #[hdl_gen]
    pub(super) fn write_state(&mut self) {
        self.flatten.record.next = self.then.val();
        for k in 0..2 {
            self.states[k].write_enable.next = self.writes.val() || self.clears.val();
            self.states[k].write_address.next = self.asked.q.val().number.get_bits::<APPEND>(0);
            self.states[k].write_data.next = self.flatten.bits.val();
            if self.clears.val() {
                self.states[k].write_address.next = self.cfg.index.val().get_bits::<APPEND>(0);
                self.states[k].write_data.next = 0.into();
            }
        }
        self.entries.next_region.next = self.asked.d.val().number.get_bits::<APPEND>(0);
        self.states[0].ahead.next = self.asked.d.val().number.get_bits::<APPEND>(0);
        self.given_back.next_region.next = self.asked.d.val().number.get_bits::<APPEND>(0);
        self.entries.next_column.next = self.next_column.q.val();
    }
}
