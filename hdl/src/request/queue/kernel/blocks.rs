//! Blocks that are read.

use super::super::{LENGTH, Queue};
use crate::context::QUEUE;
use drdma_emit::prelude::*;

impl Queue {
    /// Announces each read to `batches`, and hands its blocks on as they come.
    #[hdl_gen]
    pub(super) fn give_blocks(&mut self) {
        self.batches.read.queue.next = self.queue.q.val();
        self.batches.read.life.next = self.life.q.val();
        self.batches.read.position.next = self.position.q.val();
        self.batches.read.remaining.next = self.remaining.q.val();
        self.batches.read.first.next = self.first.q.val();
        self.batches.read.fresh.next = self.fresh.q.val();
        self.batches.read.shared.next = self.shared.q.val();
        self.batches.read.tries.next = self.tries.q.val();
        self.batches.read.silent.next = self.silent.q.val();
        self.batches.read.part.next = 0.into();
        if self.resumes.q.val() {
            self.batches.read.part.next = self.part.q.val();
        }
        self.batches.read.splits.next = self.splits.q.val();
        self.batches.read.log_units.next = self.log_units.q.val();
        self.batches.read.kept.next = self.kept.q.val();
        self.batches.read.told.next = self.told.q.val();
        self.batches.read.limited.next = self.limited.q.val();
        self.batches.read.left.next = self.left.q.val().get_bits::<LENGTH>(0);
        self.batches.blocked.next = self.blocked.q.val();
        self.batches.limit.next = self.share.limit.val();
        self.batches.wipe_valid.next = self.select.every.val();
        self.batches.wipe_index.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.batches.queue_halted.next = self.batch_halted.val();
        self.batch_next.next = self.batches.next_queue.val();
        self.lives.ahead[2].next = self.batches.next_queue.val();
        self.batches.life_now.next = self.lives.stamp[2].val();
        self.batches.resp_valid.next = self.read_resp_valid.val();
        self.batches.resp_data.next = self.read_resp_data.val();
        self.batches.resp_last.next = self.read_resp_last.val();
        self.batches.resp_error.next = self.read_resp_error.val();
        self.read_resp_ready.next = self.batches.resp_ready.val();
        self.wqe_valid.next = self.batches.wqe_valid.val();
        self.batches.wqe_ready.next = self.wqe_ready.val();
        self.wqe_data.next = self.batches.wqe_data.val();
        self.wqe_queue.next = self.batches.wqe_queue.val();
        self.wqe_position.next = self.batches.wqe_position.val();
        self.wqe_remaining.next = self.batches.wqe_remaining.val();
        self.wqe_error.next = self.batches.wqe_error.val();
        self.wqe_begins.next = self.batches.wqe_begins.val();
        self.wqe_part.next = self.batches.wqe_part.val();
    }
}
