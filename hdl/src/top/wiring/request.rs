//! Requests: queues of entries, and what the entries say.

use super::super::Card;
use drdma_emit::prelude::*;

impl Card {
    /// Queues.
    #[hdl_gen]
    pub(super) fn wire_queue(&mut self) {
        self.queue.rst.next = self.reset.val();
        self.queue.hold_valid.next = self.keeper.hold.valid.val();
        self.queue.hold_qp.next = self.keeper.hold.qp.val();
        self.queue.hold_held.next = self.keeper.hold.held.val();
        self.queue.silence_valid.next = self.keeper.silence.valid.val();
        self.queue.silence_qp.next = self.keeper.silence.qp.val();
        self.queue.silence_silent.next = self.keeper.silence.silent.val();
        self.control.doorbell.ready.next = self.queue.doorbell_ready.val();
        self.queue.doorbell_valid.next = self.control.doorbell.valid.val();
        self.queue.doorbell_queue.next = self.control.doorbell.queue.val();
        self.queue.doorbell_position.next = self.control.doorbell.position.val();
        self.queue.cfg_valid.next = self.control.cfg.valid.val();
        self.queue.cfg_table.next = self.control.cfg.table.val();
        self.queue.cfg_index.next = self.control.cfg.index.val();
        self.queue.cfg_word.next = self.control.cfg.word.val();
        self.queue.cfg_data.next = self.control.cfg.data.val();
        self.queue.fetch_halted.next = self.states.halted[0].val();
        self.queue.batch_halted.next = self.states.halted[1].val();
        self.queue.read_req_ready.next = self.host_read.a_req.ready.val();
        self.queue.read_resp_valid.next = self.host_read.a_resp.valid.val();
        self.queue.read_resp_data.next = self.host_read.a_resp.data.val();
        self.queue.read_resp_last.next = self.host_read.a_resp.last.val();
        self.queue.read_resp_error.next = self.host_read.a_resp.error.val();
        self.queue.wqe_ready.next = self.decoder.wqe_ready.val();
    }

    /// The decoder of entries.
    #[hdl_gen]
    pub(super) fn wire_decoder(&mut self) {
        self.decoder.rst.next = self.reset.val();
        self.decoder.wqe_valid.next = self.queue.wqe_valid.val();
        self.decoder.wqe_data.next = self.queue.wqe_data.val();
        self.decoder.wqe_queue.next = self.queue.wqe_queue.val();
        self.decoder.wqe_position.next = self.queue.wqe_position.val();
        self.decoder.wqe_remaining.next = self.queue.wqe_remaining.val();
        self.decoder.wqe_error.next = self.queue.wqe_error.val();
        self.decoder.wqe_begins.next = self.queue.wqe_begins.val();
        self.decoder.wqe_part.next = self.queue.wqe_part.val();
        self.queue.parts_full.next = self.decoder.parts_full.val();
        self.decoder.cfg_valid.next = self.control.cfg.valid.val();
        self.decoder.cfg_table.next = self.control.cfg.table.val();
        self.decoder.cfg_index.next = self.control.cfg.index.val();
        self.decoder.cfg_word.next = self.control.cfg.word.val();
        self.decoder.cfg_data.next = self.control.cfg.data.val();
        self.decoder.qp_error.next = self.states.error[0].val();
        self.decoder.queue_halted.next = self.states.halted[2].val();
        self.decoder.slot_free_valid.next = self.completion.slot_free_valid.val();
        self.decoder.slot_free_slot.next = self.completion.slot_free_slot.val();
        self.decoder.release_valid.next = self.segmenter.release_valid.val();
        self.decoder.open_ready.next = self.completion.open_ready.val();
        self.decoder.request_ready.next = self.sequencer.request_ready.val();
    }
}
