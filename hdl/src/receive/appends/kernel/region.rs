//! The region of a packet, and its holder.

use super::super::{Appends, AppendsState, MOST_COLUMNS, NO_REGION};
use crate::receive::record::{APPEND, AppendRequest, AppendVerdict};
use drdma_emit::prelude::*;

impl Appends {
    /// Whether the region can be used, and its columns.
    #[hdl_gen]
    pub(super) fn look_at_region(&mut self) {
        self.usable.next = self.entry.q.val().good
            && self.entry.q.val().capacity.any()
            && self.entry.q.val().columns.any()
            && (self.entry.q.val().columns <= MOST_COLUMNS)
            && !self.asked.q.val().number.get_bits::<NO_REGION>(APPEND).any();
        self.live.next = self.holders.lives.val()
            && self.now.q.val().taken
            && (self.now.q.val().life == self.entry.q.val().life)
            && (self.holders.stamp.val() == self.now.q.val().stamp);
        self.coverage.valid.next = self.walks.q.val();
        self.coverage.first.next = !self.column.q.val().any();
        self.after.next = self.column.q.val() + 1;
        self.coverage.last.next = self.after.val() == self.entry.q.val().columns.get_bits::<5>(0);
        self.coverage.column.next = self.entries.column.val();
        self.coverage.capacity.next = self.entry.q.val().capacity;
        self.coverage.pd.next = self.entry.q.val().pd;
        if self.coverage.done.val() {
            self.known.d.next = true;
        }
    }

    /// Takes a packet.
    #[hdl_gen]
    pub(super) fn take_packet(&mut self) {
        self.ask.ready.next = true;
        self.asked.d.next = self.ask.val();
        self.holders.next_qp.next = self.ask.qp.val();
        self.known.d.next = false;
        self.walks.d.next = false;
        self.divides.d.next = false;
        self.column.d.next = 0.into();
        self.next_column.d.next = 0.into();
        if self.ask.valid.val() {
            self.state.d.next = AppendsState::Look;
        }
    }

    /// Takes the region's entry and state.
    #[hdl_gen]
    pub(super) fn take_entry(&mut self) {
        self.entry.d.next = self.entries.entry.val();
        self.now.d.next = self.restores[0].record.val();
        self.used.d.next = self.restores[0].record.val().appended - self.given_back.rows.val();
        self.lives_on.d.next = self.holders.lives.val();
        self.stamp.d.next = self.holders.stamp.val();
        self.holders.next_qp.next = self.restores[0].record.val().holder;
        self.state.d.next = AppendsState::Holder;
    }

    /// Takes the state of the region's holder.
    #[hdl_gen]
    pub(super) fn check_holder(&mut self) {
        self.held.d.next = self.live.val() && (self.now.q.val().holder != self.asked.q.val().qp);
        self.holds.d.next = self.live.val() && (self.now.q.val().holder == self.asked.q.val().qp);
        if self.now.q.val().life != self.entry.q.val().life {
            self.now.d.next.first = 0.into();
            self.now.d.next.appended = 0.into();
            self.used.d.next = 0.into();
        }
        self.so_far.d.next = self.now.q.val().rows;
        self.room.d.next = self.now.q.val().room;
        if self.asked.q.val().first {
            self.so_far.d.next = 0.into();
            self.room.d.next = 0.into();
        }
        self.next_column.d.next = 1.into();
        self.verdict.d.next = AppendVerdict::Malformed;
        self.state.d.next = AppendsState::Tell;
        if self.usable.val() && (self.asked.q.val().request == AppendRequest::Rows) {
            self.walks.d.next = true;
            self.state.d.next = AppendsState::Walk;
        }
    }

    /// Walks the columns.
    #[hdl_gen]
    pub(super) fn walk_columns(&mut self) {
        self.column.d.next = self.after.val();
        self.next_column.d.next = self.next_column.q.val() + 1;
        if self.coverage.last.val() {
            self.walks.d.next = false;
        }
        if !self.walks.q.val() {
            // The bytes of a row are known.
            self.state.d.next = AppendsState::Divide;
            if !self.single.val() {
                self.divides.d.next = true;
                self.division.starts.next = true;
            }
        }
    }
}
