//! Entries: their checks, regions and slots.

use super::super::record::{GranuleKind, MarkKind};
use super::{GRANULES, Taker, TakerState};
use drdma_emit::prelude::*;

impl Taker {
    /// The entry that the checker has gets its slot first.
    #[hdl_gen]
    pub(super) fn check_entry(&mut self) {
        if self.found.val()
            && !self.goes_on.q.val()
            && !self.now.val().wide
            && !(self.settled.val() && self.few_room.val())
        {
            self.fits.next = false;
        }
        if self.flush.q.val() {
            self.asks.next = self.events.is_broken.val();
        }
        self.refuses.next = self.current.q.val().follows
            && (self.dry.read_data.val() == 1)
            && !self.goes_on.q.val()
            && !self.flush.q.val();
        self.could_ask.next = !self.denied.q.val()
            && !self.refuses.val()
            && (!self.flush.q.val() || self.events.is_broken.val());
        self.dry.write_enable.next = false;
        self.dry.write_address.next = self.current.q.val().qp;
        self.dry.write_data.next = 0.into();
        if !self.found.val() {
            self.dry.write_data.next = 1.into();
        }
        self.may_pop.next = false;
        self.denied.d.next = false;
        self.pop.valid.next = false;
        self.pop.queue.next = self.current.q.val().queue;
        self.pop.flush.next = self.flush.q.val();
        self.pop.goes_on.next = self.goes_on.q.val();
        self.pop.life.next = self.name.q.val().life;
        self.pop.keeps.next = !self.goes_on.q.val() && !self.flush.q.val();
        self.piece.valid.next = false;
        self.piece.qp.next = self.current.q.val().qp;
        self.piece.pd.next = self.current.q.val().pd;
        self.piece.flush.next = self.flush.q.val();
        self.piece.found.next = self.found.val();
        self.piece.malformed.next = self.bad.val();
        self.piece.nameless.next = self.block.q.val().error;
        self.piece.starts.next = !self.goes_on.q.val();
        self.piece.ends.next =
            !self.found.val() || self.bad.val() || self.flush.q.val() || !self.behind.val().any();
        self.piece.here.next = self.here.val();
        if !self.found.val() || self.bad.val() || self.flush.q.val() {
            self.piece.here.next = 0.into();
        }
        self.piece.appends.next = self.appends.val();
        self.piece.kind.next = GranuleKind::Contiguous;
        self.piece.closes.next = false;
        self.piece.region_kind.next = self.shapes.region_kind.val();
        self.piece.of_last.next = self.shapes.of_last.val();
        self.piece.data.next = self.granules.val();
        self.piece.name.next = self.now.val();
        if self.state.q.val() == TakerState::Walk {
            self.piece.appends.next = false;
            self.piece.malformed.next = self.walk_bad.q.val();
            self.piece.starts.next = self.starts.q.val();
            self.piece.ends.next = self.walk_bad.q.val() || self.walk_ends.val();
            self.piece.here.next = 1.into();
            if self.walk_bad.q.val() {
                self.piece.here.next = 0.into();
            }
            self.piece.kind.next = self.shapes.kind.val();
            self.piece.closes.next = self.shapes.closes.val() && !self.walk_bad.q.val();
        }
        self.mark.valid.next = false;
        self.mark.queue.next = self.current.q.val().queue;
        self.mark.life.next = self.name.q.val().life;
        self.mark.kind.next = self.kind.q.val();
        self.give_up.valid.next = false;
        self.give_up.qp.next = self.event.q.val().qp;
        self.give_up.kind.next = self.event.q.val().kind;
        self.waits.next = self.waiting.q.val();
        self.waits_for.next = self.current.q.val().queue;
    }

    /// Gives the block to the checker.
    #[hdl_gen]
    pub(super) fn judge(&mut self) {
        // The entry waits until there is room among those in use. One that is checked granule by granule
        // also waits until all before it are named.
        self.piece.valid.next = !self.described.val() && self.fits.val() && !self.is_later.val();
        self.dry.write_enable.next =
            !self.goes_on.q.val() && !self.flush.q.val() && !self.is_later.val();
        if self.is_later.val() {
            self.state.d.next = TakerState::Pause;
        } else if self.described.val() && !self.walks.q.val() && !self.alone.val() {
            self.state.d.next = TakerState::Judge;
        } else if self.described.val() {
            // The head is given to the checker alone.
            self.granules_here.d.next = 4.into();
            self.goes_on.d.next = true;
            self.walks.d.next = true;
            self.state.d.next = TakerState::Walk;
            if self.first_of_walk.val() {
                self.name.d.next = self.now.val();
                self.block.d.next.data = self.granules.val();
                self.wrong.d.next = !self.described_head.val();
                self.starts.d.next = true;
                self.granules_left.d.next = self.block.q.val().data.get_bits::<GRANULES>(32) - 2;
                self.granules_here.d.next = 2.into();
            }
        } else if self.fits.val() && self.piece.ready.val() {
            self.name.d.next = self.now.val();
            self.left.d.next = self.behind.val();
            self.goes_on.d.next = true;
            self.kind.d.next = MarkKind::Halt;
            self.state.d.next = TakerState::Ask;
            if self.flush.q.val() {
                self.state.d.next = TakerState::Settle;
            } else if self.found.val() && self.bad.val() {
                self.state.d.next = TakerState::Mark;
            } else if self.appends.val() {
                self.state.d.next = TakerState::Append;
            } else if self.piece.ends.val() {
                self.state.d.next = TakerState::Ready;
            }
        }
    }

    /// Waits for the decision about a receive that appends.
    #[hdl_gen]
    pub(super) fn append(&mut self) {
        self.kind.d.next = MarkKind::Halt;
        if self.settles.q.val() {
            self.state.d.next = TakerState::Discard;
            if self.settles_halted.q.val() {
                self.state.d.next = TakerState::Mark;
            } else if self.settles_returned.q.val() {
                // A take that follows finds nothing either.
                self.dry.write_enable.next = true;
                self.dry.write_data.next = 1.into();
                self.state.d.next = TakerState::Ready;
            }
        }
    }
}
