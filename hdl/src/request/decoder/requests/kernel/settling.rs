//! How requests are settled, once all of their checks have ended.

use super::super::Requests;
use crate::request::{DEST_COUNT, DEST_INDEX};
use drdma_emit::prelude::*;

impl Requests {
    /// The end of parsing: the request waits until it can be settled.
    #[hdl_gen]
    pub(super) fn end_parsing(&mut self) {
        if self.finish.val() {
            self.waiting.d.next = true;
            self.waiting_slot.d.next = self.current_slot.q.val();
            self.waiting_queue.d.next = self.queue.val();
            self.waiting_wr_id.d.next = self.wr_id.val();
            self.waiting_first_dest.d.next = self.first_dest.q.val();
            self.waiting_dests.d.next = self.dests.val();
            self.waiting_columns.d.next = self.columns.val();
            self.waiting_share.d.next = self.share_now.val();
            self.waiting_region.d.next = self.region.val();
            self.waiting_sets.d.next = self.sets.val();
            self.waiting_unfit.d.next = self.unfit.val();
            self.waiting_overlong.d.next = self.overlong.val();
            self.waiting_kinds.d.next = self.kinds.val();
            self.waiting_parted.d.next = self.parted.val();
            self.waiting_failed.d.next = self.failed.val();
            self.waiting_flush.d.next = self.failed_flush.val();
            self.waiting_qp_fails.d.next = self.failed_qp.val();
            self.waiting_partitioned.d.next = self.partitioned.val();
            self.waiting_dest.d.next = self.dest_index.val();
        }
    }

    /// Whether the request can be settled, and what it fails with. The form of a region is known before its bounds are
    /// checked.
    #[hdl_gen]
    pub(super) fn find_failure(&mut self) {
        self.settling.next = self.waiting.q.val()
            && !self.busy.val()
            && !self.writing.val()
            && !self.ready.q.val()
            && !self.opened.q.val();
        self.protection.next = self.fail_valid.val()
            && (!self.waiting_failed.q.val()
                || (self.fail_region.val() < self.waiting_region.q.val()));
        self.late.next =
            self.waiting_unfit.q.val() || self.lacking.val() || self.waiting_overlong.q.val();
        self.late_status.next = 1.into();
        if self.waiting_unfit.q.val() {
            self.late_status.next = 2.into();
        } else if self.lacking.val() {
            self.late_status.next = 4.into();
        }
    }

    /// Settles the request.
    #[hdl_gen]
    pub(super) fn settle(&mut self) {
        self.clear.next = self.settling.val();
        self.queue_fails.d.next = false;
        if self.request_ready.val() {
            self.ready.d.next = false;
        }
        if self.wait.q.val() != 0 {
            self.wait.d.next = self.wait.q.val() - 1;
        }
        if self.settling.val() {
            self.waiting.d.next = false;
            self.ready.d.next = true;
            self.ready_slot.d.next = self.waiting_slot.q.val();
            self.ready_queue.d.next = self.waiting_queue.q.val();
            self.ready_wr_id.d.next = self.waiting_wr_id.q.val();
            self.ready_first_dest.d.next = self.waiting_first_dest.q.val();
            self.ready_apart.d.next = self.apart.val();
            self.ready_kinds.d.next = self.waiting_kinds.q.val();
            self.ready_columns.d.next = self.waiting_columns.q.val();
            self.ready_dests.d.next = 0.into();
            if self.protection.val() {
                self.ready_status.d.next = 4.into();
                self.ready_bad_dest.d.next =
                    bit_cast::<DEST_COUNT, DEST_INDEX>(self.fail_dest.val());
                if !self.waiting_partitioned.q.val() {
                    self.ready_dests.d.next = 1.into();
                }
            } else if self.waiting_failed.q.val() {
                self.ready_status.d.next = 2.into();
                if self.waiting_flush.q.val() {
                    self.ready_status.d.next = 5.into();
                }
                self.ready_bad_dest.d.next =
                    bit_cast::<DEST_COUNT, DEST_INDEX>(self.waiting_dest.q.val());
                if self.waiting_qp_fails.q.val() {
                    self.ready_dests.d.next = 1.into();
                }
            } else if self.late.val() {
                self.ready_status.d.next = self.late_status.val();
                self.ready_bad_dest.d.next = 0.into();
                self.ready_dests.d.next = 1.into();
            } else {
                self.ready_status.d.next = 0.into();
                self.ready_bad_dest.d.next = 0.into();
                self.ready_dests.d.next = self.waiting_dests.q.val();
            }
            if self.protection.val() || self.waiting_failed.q.val() || self.late.val() {
                self.queue_fails.d.next = true;
                self.wait.d.next = 2.into();
            }
        }
    }

    /// Gives out what was opened and settled.
    #[hdl_gen]
    pub(super) fn give_out(&mut self) {
        self.open_valid.next = self.opened.q.val();
        self.open_slot.next = self.opened_slot.q.val();
        self.open_queue.next = self.opened_queue.q.val();
        self.open_wr_id.next = self.opened_wr_id.q.val();
        self.open_position.next = self.opened_position.q.val();
        self.open_unsignaled.next = self.opened_unsignaled.q.val();
        self.request_valid.next = self.ready.q.val();
        self.request_slot.next = self.ready_slot.q.val();
        self.request_queue.next = self.ready_queue.q.val();
        self.request_wr_id.next = self.ready_wr_id.q.val();
        self.request_dests.next = self.ready_dests.q.val();
        self.request_first_dest.next = self.ready_first_dest.q.val();
        self.request_status.next = self.ready_status.q.val();
        self.request_bad_dest.next = self.ready_bad_dest.q.val();
        self.request_apart.next = self.ready_apart.q.val();
        self.request_kinds.next = self.ready_kinds.q.val();
        self.request_columns.next = self.ready_columns.q.val();
        self.stop_valid.next = self.queue_fails.q.val();
        self.stop_queue.next = self.ready_queue.q.val();
    }
}
