//! Placings: how one begins, and how it ends.

use super::super::record::{GiveUpKind, LIFE, PLACES};
use super::{FLUSHED, Scatter, ScatterState};
use crate::receive::record::PlacingKind;
use drdma_emit::prelude::*;

impl Scatter {
    /// The order.
    #[hdl_gen]
    pub(super) fn give_order(&mut self) {
        self.order.addr.next = self.addr.q.val();
        self.order.ram.next = self.ram.q.val();
        self.order.bytes.next = self.part.q.val();
        self.order.column.next = self.turned.q.val();
        self.order.rows.next = 0.into();
        self.order.frame_end.next = self.last.q.val() && self.current.q.val().frame_end;
        self.order.words.next = self.current.q.val().words;
        self.order.atomic.next = self.current.q.val().atomic;
        self.order.slot.next = self.current.q.val().slot;
        self.order.completes.next = self.last.q.val() && self.completes.val();
        self.receipts.placing.next = self.current.q.val();
        self.receipts.name.next = self.held.q.val();
        self.order.receipt.next = self.receipts.receipt.val();
    }

    /// Waits for a placing, or for a receive that is given up.
    #[hdl_gen]
    pub(super) fn begin(&mut self) {
        self.current.d.next = self.placings.output.data.val();
        self.gives_up.d.next = false;
        if self.give_up.valid.val() && self.has_turn.val() {
            // A completion without bytes.
            self.passed.d.next = 0.into();
            self.gives_up.d.next = true;
            self.resets.d.next = self.give_up.kind.val() == GiveUpKind::Reset;
            self.current.d.next.kind = PlacingKind::Nothing;
            self.current.d.next.qp = self.give_up.qp.val();
            self.current.d.next.bytes = 0.into();
            self.current.d.next.frame_end = false;
            self.current.d.next.completes = true;
            self.current.d.next.status = FLUSHED.into();
            self.current.d.next.with_imm = false;
            self.current.d.next.appends = false;
            self.current.d.next.returns = false;
            self.current.d.next.pieces = false;
            self.current.d.next.atomic = false;
            self.state.d.next = ScatterState::Find;
        } else if self.placings.output.valid.val() {
            self.placings.output.ready.next = true;
            self.passed.d.next =
                self.passed.q.val() + bit_cast::<4, 1>(self.give_up.valid.val().into());
            self.state.d.next = ScatterState::Find;
            if (self.placings.output.data.val().kind == PlacingKind::Write)
                && !self.placings.output.data.val().completes
                && !self.placings.output.data.val().returns
            {
                // No receive is needed.
                self.state.d.next = ScatterState::Load;
            }
            if (self.placings.output.data.val().kind == PlacingKind::Nothing)
                && !self.placings.output.data.val().completes
                && !self.placings.output.data.val().returns
            {
                // An acknowledgement, or a packet that is dropped: its frame is given back.
                self.part.d.next = 0.into();
                self.last.d.next = true;
                self.receives.d.next = false;
                self.turned.d.next = false;
                self.state.d.next = ScatterState::Offer;
            }
        }
    }

    /// Takes the cursor of the queue pair's receive.
    #[hdl_gen]
    pub(super) fn load(&mut self) {
        self.held.d.next = self.name.val();
        self.present.d.next = self.used.val();
        self.had_one.d.next = self.used.val();
        self.silent.d.next = !self.name.shared.val()
            && self.failures.read_data.val().get_bit(LIFE)
            && (self.failures.read_data.val().get_bits::<LIFE>(0) == self.name.life.val());
        self.receives.d.next =
            (self.current.q.val().kind == PlacingKind::Receive) && self.used.val();
        self.ram.d.next = self.current.q.val().ram;
        self.bytes.d.next = 0.into();
        self.skip.d.next = 0.into();
        self.cursor.d.next = self.cursor_out.record.val();
        // Early, because the place behind it is asked for in this cycle. A receive's first place comes with its
        // name.
        if self.current.q.val().first {
            self.cursor.d.next.behind = 1.into();
            if self.current.q.val().appends {
                self.cursor.d.next.behind = 0.into();
            }
        }
        if self.current.q.val().kind == PlacingKind::Write {
            self.bytes.d.next = self.current.q.val().bytes;
            self.cursor.d.next.addr = self.current.q.val().addr;
            self.cursor.d.next.left = 4096.into();
        }
        if (self.current.q.val().kind == PlacingKind::Receive) && self.used.val() {
            self.bytes.d.next = self.current.q.val().bytes;
            if self.current.q.val().first {
                self.skip.d.next = self.current.q.val().skip;
                self.cursor.d.next.plain = self.current.q.val().skip.any();
                self.cursor.d.next.dense = false;
                self.cursor.d.next.into = 0.into();
                self.cursor.d.next.addr = self.first_region.addr.val();
                self.cursor.d.next.left = self.first_region.len.val();
                self.cursor.d.next.strided = false;
                if !self.name.places.val().any() {
                    self.cursor.d.next.left = 0.into();
                }
            }
        }
        self.state.d.next = ScatterState::Cut;
        if (self.current.q.val().kind == PlacingKind::Receive)
            && self.used.val()
            && self.current.q.val().first
            && self.name.places.val().any()
            && self.first_region.strided.val()
        {
            self.cursor.d.next.past = bit_cast::<PLACES, 5>(self.first_region.extents.val());
            self.state.d.next = ScatterState::Open;
        }
        if (self.current.q.val().kind == PlacingKind::Receive)
            && self.used.val()
            && self.current.q.val().first
            && self.current.q.val().appends
        {
            // The number of rows that follow is that of the region.
            self.cursor.d.next.left = 0.into();
            self.cursor.d.next.strided = true;
            self.cursor.d.next.period = 1.into();
            self.cursor.d.next.row = bit_cast::<64, 32>(self.current.q.val().source);
            self.cursor.d.next.rows = self.columns.capacity.val();
            self.cursor.d.next.first = 0.into();
            self.cursor.d.next.past = bit_cast::<PLACES, 5>(self.columns.count.val());
            self.sought.d.next = 0.into();
            self.aims.d.next = false;
            self.cursor.d.next.dense = !self.current.q.val().skip.any();
            self.state.d.next = ScatterState::Cut;
            if self.current.q.val().skip.any() && self.current.q.val().source.any() {
                self.state.d.next = ScatterState::Seek;
            }
        }
        if self.current.q.val().pieces {
            self.aimed.d.next = 0.into();
            self.state.d.next = ScatterState::Piece;
        }
        if self.gives_up.q.val()
            && (!self.used.val() || (self.resets.q.val() && !self.name.shared.val()))
        {
            self.state.d.next = ScatterState::Recount;
        }
    }

    /// Halts the queue of a failed receive.
    #[hdl_gen]
    pub(super) fn stop_queue(&mut self) {
        // The queue pair's next take will find its queue halted.
        self.halt.valid.next = true;
        if !self.held.q.val().shared {
            self.failures.write_enable.next = true;
            self.failures.write_address.next = self.current.q.val().qp;
            self.failures.write_data.next = self.failure.val();
        }
        if self.halt.ready.val() {
            self.cleared.next = true;
            self.state.d.next = ScatterState::Idle;
            if self.gives_up.q.val() {
                self.state.d.next = ScatterState::Recount;
            }
        }
    }

    /// Uses that receive up as well; if there is none, answers the giving up.
    #[hdl_gen]
    pub(super) fn answer(&mut self) {
        self.cleared.next = self.present.q.val();
        self.given_up.valid.next = !self.present.q.val();
        self.state.d.next = ScatterState::Idle;
        if self.present.q.val() {
            self.state.d.next = ScatterState::Recount;
        }
    }
}
