//! Entries: blocks, granules, queues and queue pairs.

use super::super::Decoder;
use drdma_emit::prelude::*;

impl Decoder {
    /// Blocks to granules.
    #[hdl_gen]
    pub(super) fn wire_unpacker(&mut self) {
        self.unpacker.wqe_valid.next = self.wqe_valid.val();
        self.wqe_ready.next = self.unpacker.wqe_ready.val();
        self.unpacker.wqe_data.next = self.wqe_data.val();
        self.unpacker.wqe_queue.next = self.wqe_queue.val();
        self.unpacker.wqe_position.next = self.wqe_position.val();
        self.unpacker.wqe_remaining.next = self.wqe_remaining.val();
        self.unpacker.wqe_error.next = self.wqe_error.val();
        self.unpacker.wqe_begins.next = self.wqe_begins.val();
        self.unpacker.wqe_part.next = self.wqe_part.val();
        self.unpacker.take.next = self.parser.take.val();
        self.unpacker.skip.next = self.parser.skip.val();
    }

    /// Granules to elements, checks, destinations and requests.
    #[hdl_gen]
    pub(super) fn wire_parser(&mut self) {
        self.parser.granule_valid.next = self.unpacker.granule_valid.val();
        self.parser.granule_data.next = self.unpacker.granule_data.val();
        self.parser.granule_first.next = self.unpacker.granule_first.val();
        self.parser.granule_last.next = self.unpacker.granule_last.val();
        self.parser.granule_queue.next = self.unpacker.granule_queue.val();
        self.parser.granule_position.next = self.unpacker.granule_position.val();
        self.parser.granule_remaining.next = self.unpacker.granule_remaining.val();
        self.parser.granule_error.next = self.unpacker.granule_error.val();
        self.parser.granule_begins.next = self.unpacker.granule_begins.val();
        self.parser.granule_part.next = self.unpacker.granule_part.val();
        self.parser.granule_parted.next = self.unpacker.granule_parted.val();
        self.parser.granule_words.next = self.unpacker.granule_words.val();
        self.parser.granule_rest.next = self.unpacker.granule_rest.val();
        self.parser.queue_shared.next = self.contexts.shared.val();
        self.parser.queue_owned.next = self.contexts.owned.val();
        self.parser.queue_owner.next = self.contexts.owner.val();
        self.parser.queue_halted.next = self.contexts.halted.val();
        self.parser.qp_ready.next = self.contexts.ready.val();
        self.parser.qp_error.next = self.qp_error.val();
        self.error_next.next = self.parser.qp.val();
        self.parser.qp_transport.next = self.contexts.transport.val();
        self.parser.qp_log_mtu.next = self.contexts.log_mtu.val();
        self.parser.qp_asks.next = self.contexts.asks.val();
        self.parser.settled.next = self.requests.settled.val();
        self.parser.may_open.next = self.requests.may_open.val();
        self.parser.set_space.next = self.requests.set_space.val();
        self.parser.dest_space.next = self.requests.dest_space.val();
        self.parser.column_space.next = self.requests.column_space.val();
        self.parser.target_done.next = self.bounds.target_done.val();
    }

    /// Queues and queue pairs.
    #[hdl_gen]
    pub(super) fn wire_contexts(&mut self) {
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.contexts.cfg_qp.next = self.select.queue_pair.val();
        self.contexts.cfg_attributes.next = self.select.attributes.val();
        self.contexts.cfg_queue.next = self.select.send_queue.val();
        self.contexts.cfg_enable.next = self.select.enable.val();
        self.contexts.cfg_every.next = self.select.every.val();
        self.contexts.cfg_index.next = self.cfg_index.val();
        self.contexts.cfg_word.next = self.cfg_word.val();
        self.contexts.cfg_data.next = self.cfg_data.val();
        self.contexts.queue_halted.next = self.queue_halted.val();
        self.halted_next.next = self.parser.queue.val();
        self.contexts.next_queue.next = self.parser.next_queue.val();
        self.contexts.queue.next = self.parser.queue.val();
        self.contexts.next_qp.next = self.parser.next_qp.val();
        self.contexts.stop_valid.next = self.requests.stop_valid.val();
        self.contexts.stop_queue.next = self.requests.stop_queue.val();
        self.contexts.qp.next = self.parser.qp.val();
    }
}
