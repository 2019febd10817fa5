//! Reads of the host, and counters.

use super::super::{Control, ERRORS, HALTS};
use crate::context::{QP, QUEUE};
use drdma_emit::prelude::*;

impl Control {
    /// Adds the events of this cycle to the counters.
    #[hdl_gen]
    pub(super) fn count(&mut self) {
        self.counters.clear.next = self.settings.clear_counters.val();
        self.counters.amounts[0].next = bits::<16>(1);
        self.counters.amounts[1].next = self.count_1.val();
        self.counters.amounts[2].next = self.count_2.val();
        self.counters.amounts[3].next = self.count_3.val();
        self.counters.amounts[4].next = self.count_4.val();
        self.counters.amounts[5].next = self.count_5.val();
        self.counters.amounts[6].next = self.count_6.val();
        self.counters.amounts[7].next = self.count_7.val();
        self.counters.amounts[8].next = self.count_8.val();
        self.counters.amounts[9].next = self.count_9.val();
        self.counters.amounts[10].next = self.count_10.val();
        self.counters.amounts[11].next = self.count_11.val();
        self.counters.amounts[12].next = self.count_12.val();
        self.counters.amounts[13].next = self.count_13.val();
        self.counters.amounts[14].next = self.count_14.val();
        self.counters.amounts[15].next = self.count_15.val();
        self.counters.amounts[16].next = self.count_16.val();
        self.counters.amounts[17].next = self.count_17.val();
        self.counters.amounts[18].next = self.count_18.val();
        self.counters.amounts[19].next = self.count_19.val();
    }

    /// Reads every kind of register at once, then selects one.
    #[hdl_gen]
    pub(super) fn look_everywhere(&mut self) {
        self.read_place.next = self.axil.read_addr.val().get_bits::<20>(0);
        self.settings.read_addr.next = self.read_place.val().get_bits::<16>(0);
        self.counters.index.next = self.read_place.val().get_bits::<5>(3);
        self.looked.d.next = self.axil.read_valid.val() && !self.looked.q.val();
        self.found.d.next = bits::<32>(0);
        if !self.axil.read_addr.val().get_bits::<8>(16).any() {
            self.found.d.next = self.settings.read_data.val();
        }
        if self.axil.read_addr.val() == self.features_at.val() {
            self.found.d.next = self.features.val();
        }
        self.error_next.next = self.read_place.val().get_bits::<QP>(2);
        self.reads_error.d.next = (self.axil.read_addr.val().get_bits::<4>(20)
            == self.sections[ERRORS].val())
            && !(self.read_place.val() & self.outside[ERRORS].val()).any()
            && !self.sweep.busy.val();
        self.halted_next.next = self.read_place.val().get_bits::<QUEUE>(2);
        self.reads_halted.d.next = (self.axil.read_addr.val().get_bits::<4>(20)
            == self.sections[HALTS].val())
            && !(self.read_place.val() & self.outside[HALTS].val()).any()
            && !self.sweep.busy.val();
        self.found_sum.d.next = self.counters.value.val();
        self.is_counter.d.next = !self.axil.read_addr.val().get_bits::<8>(16).any()
            && (self.read_place.val().get_bits::<8>(8) == self.counters_at.val());
        self.is_high.d.next = self.read_place.val().get_bit(2);
        self.axil.read_done.next = self.looked.q.val();
        self.axil.read_data.next = self.found.q.val();
        if (self.reads_error.q.val() && self.error.val())
            || (self.reads_halted.q.val() && self.halted.val())
        {
            self.axil.read_data.next = bits::<32>(1);
        }
        if self.is_counter.q.val() {
            self.axil.read_data.next = self.found_sum.q.val().get_bits::<32>(0);
            if self.is_high.q.val() {
                self.axil.read_data.next = self.high.q.val();
            } else if self.looked.q.val() {
                self.high.d.next = self.found_sum.q.val().get_bits::<32>(32);
            }
        }

        if self.clear.val() {
            self.writes.d.next = false;
            self.append_writes.d.next = false;
            self.pause.d.next = 0.into();
        }
    }
}
