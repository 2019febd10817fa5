//! Writes of the host, and where their words go.

use super::super::{
    APPEND_BELLS, APPENDS, BELLS, Control, ControlState, ENTRY_TABLES, KEY_REGION_AT, KEYS,
    RECEIVE_BELLS, REGION_AT,
};
use crate::context::{INDEX, REGION};
use crate::receive::record::{APPEND, APPEND_WORD};
use crate::regions::entries::{KEY_REGION, KEY_WORD};
use drdma_emit::prelude::*;

impl Control {
    /// Connects the AXI channels of the host.
    #[hdl_gen]
    pub(super) fn take_access(&mut self) {
        self.axil.awaddr.next = self.axil_awaddr.val();
        self.axil.awvalid.next = self.axil_awvalid.val();
        self.axil_awready.next = self.axil.awready.val();
        self.axil.wdata.next = self.axil_wdata.val();
        self.axil.wstrb.next = self.axil_wstrb.val();
        self.axil.wvalid.next = self.axil_wvalid.val();
        self.axil_wready.next = self.axil.wready.val();
        self.axil_bresp.next = bits::<2>(0);
        self.axil_bvalid.next = self.axil.bvalid.val();
        self.axil.bready.next = self.axil_bready.val();
        self.axil.araddr.next = self.axil_araddr.val();
        self.axil.arvalid.next = self.axil_arvalid.val();
        self.axil_arready.next = self.axil.arready.val();
        self.axil_rdata.next = self.axil.rdata.val();
        self.axil_rresp.next = bits::<2>(0);
        self.axil_rvalid.next = self.axil.rvalid.val();
        self.axil.rready.next = self.axil_rready.val();
    }

    /// Broadcasts a word of a table to all blocks.
    #[hdl_gen]
    pub(super) fn give_words(&mut self) {
        self.writes.d.next = self.sweep.busy.val();
        self.written.d.next.table = self.every_table.val();
        self.written.d.next.index = self.sweep.index.val();
        self.written.d.next.word = self.state_word.val();
        self.written.d.next.data = bits::<32>(0);
        for k in 0..ENTRY_TABLES {
            if self.execute.val() && self.hits[k].val() {
                self.writes.d.next = true;
                self.written.d.next.table = k.to_bits();
                self.written.d.next.index =
                    (self.place.val() >> self.shifts[k].val()).get_bits::<INDEX>(0);
                self.written.d.next.word =
                    self.place.val().get_bits::<4>(2) & self.word_masks[k].val();
                self.written.d.next.data = self.axil.write_data.val();
            }
        }
        if self.withdraws.val() {
            self.writes.d.next = true;
            self.written.d.next.table = self.region_table.val();
            self.written.d.next.index = bit_cast::<INDEX, REGION>(self.invalidate.region.val());
            self.written.d.next.word = self.valid_word.val();
            self.written.d.next.data = bits::<32>(0);
        }
        self.cfg.valid.next = self.writes.q.val();
        self.cfg.next = self.written.q.val();

        // A word of an append region goes to the blocks that keep these.
        self.append_writes.d.next =
            self.execute.val() && (self.hits[APPENDS].val() || self.hits[APPEND_BELLS].val());
        self.append_written.d.next.bell = self.hits[APPEND_BELLS].val();
        self.append_written.d.next.region = self.place.val().get_bits::<APPEND>(REGION_AT);
        if self.hits[APPEND_BELLS].val() {
            self.append_written.d.next.region = self.place.val().get_bits::<APPEND>(2);
        }
        self.append_written.d.next.word = self.place.val().get_bits::<APPEND_WORD>(2);
        self.append_written.d.next.data = self.axil.write_data.val();
        self.append_word.valid.next = self.append_writes.q.val();
        self.append_word.next = self.append_written.q.val();
        self.key_writes.d.next = self.execute.val() && self.hits[KEYS].val();
        self.key_written.d.next.region = self.place.val().get_bits::<KEY_REGION>(KEY_REGION_AT);
        self.key_written.d.next.word = self.place.val().get_bits::<KEY_WORD>(2);
        self.key_written.d.next.data = self.axil.write_data.val();
        self.key_word.valid.next = self.key_writes.q.val();
        self.key_word.next = self.key_written.q.val();

        // A setting is changed in this block.
        self.settings.write_valid.next =
            self.execute.val() && !self.axil.write_addr.val().get_bits::<8>(16).any();
        self.settings.write_addr.next = self.place.val().get_bits::<16>(0);
        self.settings.write_data.next = self.axil.write_data.val();
        self.settings.busy.next = self.busy.val();
        self.settings.sweeping.next = self.sweep.busy.val();
        self.enable.next = self.settings.enable.val();
        self.soft_reset.next = self.settings.soft_reset.val();
        self.max_read.next = self.settings.max_read.val();
        self.merge_threshold.next = self.settings.merge_threshold.val();
        self.read_balance.next = self.settings.read_balance.val();
        self.column_min_rows.next = self.settings.column_min_rows.val();
        self.assembler_words.next = self.settings.assembler_words.val();
        self.mac.next = self.settings.mac.val();
        self.ip.next = self.settings.ip.val();
        self.ack_timeout.next = self.settings.ack_timeout.val();
        self.congestion.next = self.settings.congestion.val();
    }

    /// Waits for a write.
    #[hdl_gen]
    pub(super) fn take(&mut self) {
        if self.withdraws.val() {
            self.state.d.next = ControlState::Withdraw;
        }
        if self.execute.val() {
            self.state.d.next = ControlState::Settle;
            if self.settings.enable.val() && !self.sweep.busy.val() {
                if self.hits[BELLS].val() {
                    self.state.d.next = ControlState::Ring;
                }
                if self.hits[RECEIVE_BELLS].val() {
                    self.state.d.next = ControlState::RingReceive;
                }
            }
        }
    }

    /// The doorbell of a send queue is dropped, or waits to be taken.
    #[hdl_gen]
    pub(super) fn ring(&mut self) {
        self.looks.d.next = false;
        if self.looks.q.val() && (!self.bell_enabled.val() || self.bell_halted.val()) {
            self.state.d.next = ControlState::Done;
        } else {
            self.doorbell.valid.next = true;
            if self.doorbell.ready.val() {
                self.state.d.next = ControlState::Done;
            }
        }
    }
}
