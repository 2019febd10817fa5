//! The shape of a region: the bytes of a row, and the row of a packet's first byte.

use super::super::ROW;
use super::super::entries::GRANULE_INDEX;
use super::{
    BITMAPPED, CONTIGUOUS, END, FIRST_ELEMENT, PRODUCT, START_BITS, STRIDED, UPPER, WIDEST, Walk,
    WalkState,
};
use drdma_emit::prelude::*;

impl Walk {
    /// Makes a step of the division.
    #[hdl_gen]
    pub(super) fn divide_step(&mut self) {
        self.rest_in.next = (bit_cast::<38, ROW>(self.rest.q.val()) << 1)
            | bit_cast::<38, 1>(self.dividend.q.val().get_bits::<1>(63));
        self.fits.next = self.rest_in.val() >= bit_cast::<38, ROW>(self.row_bytes.q.val());
        self.rest_out.next = self.rest_in.val();
        if self.fits.val() {
            self.rest_out.next = self.rest_in.val() - bit_cast::<38, ROW>(self.row_bytes.q.val());
        }

        self.unused_rest.next = self.rest_out.val();
    }

    /// Goes on where the packet before has ended, or begins to read the region.
    #[hdl_gen]
    pub(super) fn begin(&mut self) {
        self.outside.d.next = false;
        self.known.d.next = false;
        self.spoiled.d.next = false;
        self.continued.d.next = self.warm.val();
        self.header.d.next = 0.into();
        self.at.d.next = 0.into();
        self.resumes.d.next =
            !self.held.q.val().first && (self.held.q.val().receive || self.continues.val());
        self.enters.d.next = self.held.q.val().receive && self.held.q.val().first;
        if self.held.q.val().receive && !self.held.q.val().first {
            self.header.d.next = self.resume.header.val();
            self.at.d.next = self.resume.header.val();
        }
        self.state.d.next = WalkState::Header;
        if self.warm.val() {
            // The current region comes next, and behind it others from their first rows on.
            self.resumes.d.next = false;
            self.header.d.next = self.header.q.val();
            self.at.d.next = self.at.q.val();
            self.state.d.next = WalkState::Seek;
        }
    }

    /// Takes the region's header.
    #[hdl_gen]
    pub(super) fn take_shape(&mut self) {
        self.base.d.next = self.data.val().get_bits::<64>(0);
        self.count.d.next = self.data.val().get_bits::<32>(64);
        self.lkey.d.next = self.data.val().get_bits::<32>(96);
        self.kind_held.d.next = self.kind.val();
        self.last_region.d.next = self.is_final.val();
        self.at.d.next = END.into();
        self.state.d.next = WalkState::End;
    }

    /// Takes the region's shape.
    #[hdl_gen]
    pub(super) fn take_end(&mut self) {
        self.period.d.next = self.data.val().get_bits::<64>(0);
        self.target_lkey.d.next = self.data.val().get_bits::<32>(64);
        self.elements.d.next = self.data.val().get_bits::<16>(96);
        self.flags.d.next = self.data.val().get_bits::<16>(112);
        self.at.d.next = self.header.q.val() + FIRST_ELEMENT;
        self.element.d.next = 0.into();
        self.row_bytes.d.next = 0.into();
        self.round.d.next = 0.into();
        self.state.d.next = WalkState::Sum;
    }

    /// First the end, then an element a cycle.
    #[hdl_gen]
    pub(super) fn sum(&mut self) {
        self.round.d.next = self.round.q.val() + 1;
        self.at.d.next = self.at.q.val() + 1;
        self.dividend.d.next = self.held.q.val().addr;
        self.rest.d.next = 0.into();
        self.quotient.d.next = 0.into();
        if !self.round.q.val().any() {
            self.unfit.d.next = false;
            if !self.held.q.val().receive {
                self.kind_held.d.next = self.data.val().get_bits::<2>(0);
                self.unfit.d.next = !self.valid.val()
                    || self.data.val().get_bits::<62>(2).any()
                    || self.data.val().get_bits::<32>(64).any();
            }
        } else if self.odd.val() || self.unfit.q.val() {
            self.state.d.next = WalkState::Fail;
        } else if self.kind_held.q.val() == CONTIGUOUS {
            self.row_bytes.d.next = bit_cast::<ROW, 32>(self.count.q.val());
            self.shaped.d.next = false;
            self.round.d.next = 0.into();
            self.state.d.next = WalkState::Divide;
        } else {
            self.row_bytes.d.next =
                self.row_bytes.q.val() + bit_cast::<ROW, 32>(self.data.val().get_bits::<32>(64));
            self.shaped.d.next = true;
            self.dense.d.next = (self.dense.q.val() || (self.round.q.val() == 1))
                && !self.held.q.val().receive
                && (self.kind_held.q.val() == STRIDED)
                && (self.period.q.val() <= WIDEST)
                && (bit_cast::<64, 32>(self.data.val().get_bits::<32>(64)) == self.period.q.val());
            self.uniform.d.next = (self.uniform.q.val() || (self.round.q.val() == 1))
                && !self.held.q.val().receive
                && (self.data.val().get_bits::<32>(64) <= bits::<32>(WIDEST))
                && ((self.round.q.val() == 1)
                    || (self.data.val().get_bits::<32>(64)
                        == bit_cast::<32, 7>(self.value.q.val())));
            if self.round.q.val() == 1 {
                self.value.d.next = self.data.val().get_bits::<7>(64);
            }
            self.touches.d.next = self.touching.val();
            self.next_offset.d.next = self.data.val().get_bits::<64>(0)
                + bit_cast::<64, 32>(self.data.val().get_bits::<32>(64));
            if self.round.q.val() == 1 {
                self.first_offset.d.next = self.data.val().get_bits::<64>(0);
            }
            if bit_cast::<16, 7>(self.round.q.val()) == self.elements.q.val() {
                self.round.d.next = 0.into();
                self.row.d.next = bit_cast::<33, 32>(self.count.q.val());
                self.wait.d.next = 0.into();
                self.state.d.next = WalkState::Span;
            }
            self.unfit.d.next = !self.data.val().get_bits::<32>(64).any();
        }
    }

    /// If each row begins where the one before ends, all of them are one run.
    #[hdl_gen]
    pub(super) fn span(&mut self) {
        if self.unfit.q.val() {
            self.state.d.next = WalkState::Fail;
        } else if !self.touches.q.val() {
            self.state.d.next = WalkState::Divide;
        } else if self.wait.q.val() == PRODUCT {
            self.state.d.next = WalkState::Divide;
            if (self.period.q.val() == bit_cast::<64, ROW>(self.row_bytes.q.val()))
                && self.product.val().any()
                && !self.product.val().get_bits::<60>(ROW).any()
            {
                self.kind_held.d.next = CONTIGUOUS.into();
                self.base.d.next = self.base.q.val() + self.first_offset.q.val();
                self.row_bytes.d.next = self.product.val().get_bits::<ROW>(0);
            }
        }
    }

    /// Divides the first byte's place by the bytes of a row.
    #[hdl_gen]
    pub(super) fn divide(&mut self) {
        self.round.d.next = self.round.q.val() + 1;
        self.dividend.d.next = self.dividend.q.val() << 1;
        self.rest.d.next = self.rest_out.val().get_bits::<ROW>(0);
        self.quotient.d.next =
            (self.quotient.q.val() << 1) | bit_cast::<64, 1>(self.fits.val().into());
        self.at.d.next = self.header.q.val() + FIRST_ELEMENT;
        self.wait.d.next = 0.into();
        self.level.d.next = false;
        if !self.row_bytes.q.val().any() {
            self.state.d.next = WalkState::Fail;
        } else if self.enters.q.val()
            || (self.resumes.q.val() && self.resumable.val() && !self.by_columns.val())
        {
            // The current row is looked up anew: no byte is left of an element of another row.
            self.have.d.next = 0.into();
            self.skip.d.next = 0.into();
            self.fresh.d.next = true;
            self.row.d.next = 0.into();
            self.inside.d.next = 0.into();
            if self.resumes.q.val() {
                self.row.d.next = self.resume.row.val();
                self.inside.d.next = self.resume.inside.val();
                self.element.d.next = self.resume.element.val();
                self.at.d.next = self.header.q.val()
                    + FIRST_ELEMENT
                    + bit_cast::<GRANULE_INDEX, 4>(self.resume.element.val());
            }
            self.resumes.d.next = false;
            self.enters.d.next = false;
            self.state.d.next = WalkState::Seek;
        } else if !self.round.q.val().any()
            && !self.dividend.q.val().get_bits::<UPPER>(64 - UPPER).any()
        {
            self.dividend.d.next = self.dividend.q.val() << UPPER as u64;
            self.rest.d.next = self.rest.q.val();
            self.round.d.next = (UPPER as u64).into();
        } else if self.round.q.val() == START_BITS {
            // The division ended in the cycle before; its registers of this cycle do not count.
            self.rest.d.next = self.rest.q.val();
            self.level.d.next = true;
            self.inside.d.next = self.rest.q.val();
            self.skip.d.next = self.quotient.q.val().get_bits::<33>(0);
            self.row.d.next = self.quotient.q.val().get_bits::<33>(0);
            self.have.d.next = 0.into();
            self.fresh.d.next = true;
            self.state.d.next = WalkState::Find;
            if self.kind_held.q.val() == BITMAPPED {
                self.row.d.next = 0.into();
            }
            if self.quotient.q.val().get_bits::<31>(33).any() {
                self.outside.d.next = true;
                self.state.d.next = WalkState::Fail;
            } else if self.kind_held.q.val() == CONTIGUOUS {
                self.state.d.next = WalkState::Seek;
            }
        }
    }

    /// Checks whether the first byte is in the current element.
    #[hdl_gen]
    pub(super) fn found(&mut self) {
        self.wait.d.next = 0.into();
        self.state.d.next = WalkState::Seek;
        if self.inside.q.val() >= self.length.q.val() {
            self.inside.d.next = self.inside.q.val() - self.length.q.val();
            self.element.d.next = self.element.q.val() + 1;
            self.at.d.next = self.at.q.val() + 1;
            self.state.d.next = WalkState::Find;
        }
    }
}
