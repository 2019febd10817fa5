//! Pieces of rows, one by one.

use super::super::ROW;
use super::super::entries::GRANULE_INDEX;
use super::{
    BITMAPPED, COLUMN_BYTES, CONTIGUOUS, FIRST_ELEMENT, PRODUCT, STRIDED, Walk, WalkState,
};
use drdma_emit::prelude::*;

impl Walk {
    /// A range is looked up in its key.
    #[hdl_gen]
    pub(super) fn look_up(&mut self) {
        self.cfg.join(&mut self.keys.cfg);
        self.keys.key.next = self.key.q.val();
        self.keys.pd.next = self.held.q.val().pd;
        self.keys.addr.next = self.addr.q.val();
        self.keys.bytes.next = bit_cast::<64, 13>(self.bytes.q.val());
        if self.is_column.val() {
            self.keys.bytes.next = bit_cast::<64, COLUMN_BYTES>(self.reach.q.val());
        }
        if self.hands.val() {
            self.keys.key.next = self.probe.key.val();
            self.keys.addr.next = self.probe.addr.val();
            self.keys.bytes.next = bit_cast::<64, 13>(self.probe.bytes.val());
        }
        self.keys.revoke_valid.next = false;
        self.keys.revoke_index.next = 0.into();
        self.covered.next = self.keys.covers.val();
        self.may.next =
            self.covered.val() && (!self.held.q.val().writes || self.keys.fillable.val());
        self.probed.next = self.allowed.q.val();
        self.was_covered.d.next = self.covered.val();
        self.allowed.d.next = self.may.val();
        self.unused_rights.next = self.keys.readable.val()
            || self.keys.writable.val()
            || self.keys.changeable.val()
            || self.keys.revocable.val()
            || self.keys.revoke_ready.val()
            || self.keys.described.val();
        self.unused_region.next = self.keys.region.val();
    }

    /// Address of the current element in the row: origin + row * step.
    #[hdl_gen]
    pub(super) fn address(&mut self) {
        self.origin.d.next = self.data.val().get_bits::<64>(0);
        self.stride.next = 0.into();
        if self.kind_held.q.val() == CONTIGUOUS {
            self.origin.d.next = self.base.q.val();
        } else if self.kind_held.q.val() == STRIDED {
            self.origin.d.next = self.base.q.val() + self.data.val().get_bits::<64>(0);
            self.stride.next = self.period.q.val();
        } else if self.kind_held.q.val() == BITMAPPED {
            self.stride.next = bit_cast::<64, 32>(self.data.val().get_bits::<32>(64));
        } else {
            self.origin.d.next =
                self.bits.q.val().get_bits::<64>(0) + self.data.val().get_bits::<64>(0);
        }
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.row.q.val();
        self.multiplier.b.next = self.stride.val();
        self.product.next = self.multiplier.product.val();
        self.length.d.next = bit_cast::<ROW, 32>(self.data.val().get_bits::<32>(64));
        if self.kind_held.q.val() == CONTIGUOUS {
            self.length.d.next = self.row_bytes.q.val();
        }
        self.behind.d.next = self.length.q.val() - self.inside.q.val();
        self.has_element.d.next =
            bit_cast::<16, 4>(self.resume.element.val()) < self.elements.q.val();
        self.resumable.next = (self.kind_held.q.val() == CONTIGUOUS) || self.has_element.q.val();
        self.following.next = self.header.q.val() + 1;
        if self.shaped.q.val() {
            self.following.next = self.header.q.val()
                + FIRST_ELEMENT
                + self.elements.q.val().get_bits::<GRANULE_INDEX>(0);
        }
        self.ends_row.next = (self.kind_held.q.val() == CONTIGUOUS)
            || (bit_cast::<16, 4>(self.element.q.val()) + 1 == self.elements.q.val());
    }

    /// Takes the address of the current element in the row.
    #[hdl_gen]
    pub(super) fn multiply(&mut self) {
        if self.wait.q.val() == PRODUCT {
            self.addr.d.next = self.origin.q.val()
                + self.multiplier.product.val().get_bits::<64>(0)
                + bit_cast::<64, ROW>(self.inside.q.val());
            self.bytes.d.next = self.wanted.val();
            if self.behind.q.val() < bit_cast::<ROW, 13>(self.wanted.val()) {
                self.bytes.d.next = self.behind.q.val().get_bits::<13>(0);
            }
            self.key.d.next = self.lkey.q.val();
            if self.kind_held.q.val() == BITMAPPED {
                self.key.d.next = self.data.val().get_bits::<32>(96);
            } else if self.lists.val() {
                self.key.d.next = self.target_lkey.q.val();
            }
            self.wait.d.next = 0.into();
            self.state.d.next = WalkState::Check;
        }
    }

    /// Offers the piece.
    #[hdl_gen]
    pub(super) fn offer(&mut self) {
        self.step.plain.next = self.bytes.q.val() == self.held.q.val().bytes;
        if !self.allowed.q.val() {
            self.state.d.next = WalkState::Fail;
        } else if self.step.ready.val() || self.skips.q.val() {
            if self.skips.q.val() {
                self.skip_left.d.next =
                    self.skip_left.q.val() - self.bytes.q.val().get_bits::<6>(0);
            } else {
                self.left.d.next = self.left.q.val() - self.bytes.q.val();
            }
            self.inside.d.next = self.inside.q.val() + bit_cast::<ROW, 13>(self.bytes.q.val());
            self.state.d.next = WalkState::Advance;
        }
    }

    /// Goes on to what comes behind the piece.
    #[hdl_gen]
    pub(super) fn advance(&mut self) {
        self.level.d.next = false;
        if self.inside.q.val() == self.length.q.val() {
            self.inside.d.next = 0.into();
            self.element.d.next = self.element.q.val() + 1;
            self.at.d.next = self.at.q.val() + 1;
            if self.ends_row.val() {
                self.element.d.next = 0.into();
                self.at.d.next = self.header.q.val() + FIRST_ELEMENT;
                self.row.d.next = self.row.q.val() + 1;
                self.fresh.d.next = true;
                if self.kind_held.q.val() == BITMAPPED {
                    self.bits.d.next = self.bits.q.val() >> 1;
                    self.have.d.next = self.have.q.val() - 1;
                } else if self.have.q.val().any() {
                    self.bits.d.next = self.bits.q.val() >> 64;
                    self.have.d.next = self.have.q.val() - 64;
                }
            }
        }
        self.state.d.next = WalkState::Seek;
        if !self.left.q.val().any() {
            self.known.d.next = !self.spoiled.q.val();
            self.walked_qp.d.next = self.held.q.val().qp;
            self.walked_receive.d.next = self.held.q.val().receive;
            self.ended.valid.next = true;
            self.state.d.next = WalkState::Idle;
        }
    }
}
