//! Completions.

use super::super::Card;
use drdma_emit::prelude::*;

impl Card {
    /// Completions of requests.
    #[hdl_gen]
    pub(super) fn wire_completion(&mut self) {
        self.completion.rst.next = self.reset.val();
        self.completion.cfg_valid.next = self.control.cfg.valid.val();
        self.completion.cfg_table.next = self.control.cfg.table.val();
        self.completion.cfg_index.next = self.control.cfg.index.val();
        self.completion.cfg_word.next = self.control.cfg.word.val();
        self.completion.cfg_data.next = self.control.cfg.data.val();
        self.completion.timeout.next = self.control.ack_timeout.val();
        self.completion.closed.next = self.keeper.closed[0].val();
        self.completion.open_valid.next = self.decoder.open_valid.val();
        self.completion.open_slot.next = self.decoder.open_slot.val();
        self.completion.open_queue.next = self.decoder.open_queue.val();
        self.completion.open_wr_id.next = self.decoder.open_wr_id.val();
        self.completion.open_position.next = self.decoder.open_position.val();
        self.completion.open_unsignaled.next = self.decoder.open_unsignaled.val();
        self.completion.sent_valid.next = self.packetizer.sent.valid.val();
        self.completion.sent_slot.next = self.packetizer.sent.slot.val();
        self.completion.sent_qp.next = self.packetizer.sent.qp.val();
        self.completion.sent_kind.next = self.packetizer.sent.kind.val();
        self.completion.sent_psn.next = self.packetizer.sent.psn.val();
        self.completion.sent_status.next = self.packetizer.sent.status.val();
        self.completion.sent_bad_dest.next = self.packetizer.sent.bad_dest.val();
        self.completion.sent_total.next = self.packetizer.sent.total.val();
        self.completion.gone.next = self.packetizer.gone.val();
        self.completion.sending_valid.next = self.packetizer.sending.valid.val();
        self.completion.sending_qp.next = self.packetizer.sending.qp.val();
        self.completion.sending_psn.next = self.packetizer.sending.psn.val();
        self.completion.ack_valid.next = self.keeper.told.valid.val();
        self.completion.ack_qp.next = self.keeper.told.qp.val();
        self.completion.ack_psn.next = self.keeper.told.psn.val();
        self.completion.ack_syndrome.next = self.keeper.told.syndrome.val();
        self.completion.slot_free_ready.next = self.decoder.slot_free_ready.val();
        self.completion.write_ready.next = self.host_write.write.ready.val();
    }
}
