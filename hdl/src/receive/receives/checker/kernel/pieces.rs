//! Pieces of entries, granule by granule.

use super::super::Checker;
use crate::receive::receives::record::GranuleKind;
use drdma_emit::prelude::*;

impl Checker {
    /// Looks at a granule of the piece.
    #[hdl_gen]
    pub(super) fn look_at_piece(&mut self) {
        // A piece comes. The first one of an entry waits for the entry before.
        self.settled.next = !self.working.q.val()
            && !self.keyed.q.val()
            && !self.ended.q.val()
            && !self.done.q.val();
        self.piece.ready.next =
            self.settled.val() || (!self.working.q.val() && !self.piece_held.q.val().ends);
        self.passes.next =
            self.fresh.q.val() && (self.piece_held.q.val().here != 0) && self.name.q.val().pieces;
        self.looks.next = (self.piece_held.q.val().here != 0) && !self.name.q.val().pieces;
        self.contiguous.next =
            self.looks.val() && (self.piece_held.q.val().kind == GranuleKind::Contiguous);
        self.header.next = self.looks.val()
            && self.fresh.q.val()
            && (self.piece_held.q.val().kind == GranuleKind::Header);
        self.shape.next = self.looks.val()
            && self.fresh.q.val()
            && (self.piece_held.q.val().kind == GranuleKind::Shape);
        self.extent.next = self.looks.val()
            && self.fresh.q.val()
            && (self.piece_held.q.val().kind == GranuleKind::Extent);
        self.waits.next =
            self.looks.val() && self.piece_held.q.val().closes && !self.strided.done.val();
        self.left.next = self.rest.q.val();
        if self.fresh.q.val() {
            self.left.next = self.piece_held.q.val().here;
        }
        self.last.next = (self.left.val() <= 1) && !self.waits.val();
        self.addr.next = self.piece_held.q.val().data.get_bits::<64>(0);
        self.len.next = self.piece_held.q.val().data.get_bits::<32>(64);
        self.key.next = self.piece_held.q.val().data.get_bits::<32>(96);
        if self.working.q.val() {
            self.piece_held.d.next.data = self.piece_held.q.val().data >> 128;
            self.rest.d.next = self.left.val();
            if !self.waits.val() {
                self.rest.d.next = self.left.val() - 1;
            }
            if self.contiguous.val() || self.shape.val() || self.extent.val() || self.passes.val() {
                self.index.d.next = self.index.q.val() + 1;
            }
            if self.last.val() {
                self.working.d.next = false;
            }
        }
    }

    /// Takes a piece.
    #[hdl_gen]
    pub(super) fn take_piece(&mut self) {
        self.fresh.d.next = false;
        // Whether it is malformed is known late, and so counts a cycle later.
        if self.fresh.q.val() && self.piece_held.q.val().malformed {
            self.malformed.d.next = true;
        }
        if self.piece.ready.val() && self.piece.valid.val() {
            self.working.d.next = true;
            self.fresh.d.next = true;
            self.piece_held.d.next = self.piece.val();
            if self.piece.starts.val() {
                self.index.d.next = 0.into();
                self.name.d.next = self.piece.name.val();
                self.qp.d.next = self.piece.qp.val();
                self.pd.d.next = self.piece.pd.val();
                self.flush.d.next = self.piece.flush.val();
                self.malformed.d.next = false;
                self.forbidden.d.next = false;
                self.capacity.d.next = 0.into();
                self.appends.d.next = self.piece.appends.val();
                if self.piece.appends.val() {
                    self.capacity.d.next =
                        bit_cast::<37, 32>(self.piece.data.val().get_bits::<32>(0));
                }
            }
            self.found.d.next = self.piece.found.val();
            if self.piece.nameless.val() {
                self.name.d.next.wr_id = 0.into();
            }
        }
    }

    /// Gives the spans of regions, or the granules of an entry that goes as pieces.
    #[hdl_gen]
    pub(super) fn give_spans(&mut self) {
        self.strided.header.next = self.header.val();
        self.strided.shape.next = self.shape.val();
        self.strided.extent.next = self.extent.val();
        self.strided.closes.next = self.piece_held.q.val().closes;
        self.strided.low.next = self.addr.val();
        self.strided.high.next = self.len.val();
        self.span.valid.next = self.working.q.val()
            && (self.contiguous.val() || self.shape.val() || self.extent.val());
        self.span_at.next = self.index.q.val().get_bits::<5>(0);
        self.span_narrow.next = !self.name.q.val().wide;
        self.span.addr.next = self.addr.val();
        self.span.len.next = self.len.val();
        self.span.strided.next = self.shape.val();
        self.span.extents.next = self.key.val().get_bits::<5>(0);
        if self.shape.val() {
            self.span.len.next = self.strided.rows.val();
        }
        if self.extent.val() {
            self.span.addr.next = self.strided.addr.val();
        }

        self.granule.valid.next = self.working.q.val() && self.passes.val();
        self.granule.qp.next = self.qp.q.val();
        self.granule.slot.next = self.slot.val();
        self.granule.index.next = self.index.q.val().get_bits::<5>(0);
        self.granule.data.next = self.piece_held.q.val().data.get_bits::<128>(0);
        self.granule.kind.next = self.piece_held.q.val().region_kind;
        self.granule.of_last.next = self.piece_held.q.val().of_last;
    }
}
