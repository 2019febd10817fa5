//! Elements of regions, and kinds of columns.

use super::super::{DecoderState, Parser};
use super::{BEYOND_MOST, FIRST_BIT, LOG_BUFFER, LOG_MOST, VIEW_BYTES};
use crate::request::{BITMAPPED, BITS, DICTIONARY, FIXED, OFFSETS, POINTER_MAPPED, VIEWS};
use drdma_emit::prelude::*;

impl Parser {
    /// Finds out what is wrong in an element with a kind: in its entry, and in its source.
    #[hdl_gen]
    pub(super) fn judge_kind(&mut self) {
        self.entry_bytes.next = bit_cast::<32, 24>(self.fields.kind_width.val());
        self.entry_unit.next = bit_cast::<32, 24>(self.fields.kind_width.val());
        if self.fields.kind_kind.val() == BITS {
            self.entry_bytes.next = 1.into();
            self.entry_unit.next = 0.into();
        } else if self.fields.kind_kind.val() == OFFSETS {
            self.entry_bytes.next = bits::<32>(2) << self.fields.kind_log_entry.val();
            self.entry_unit.next = bits::<32>(1) << self.fields.kind_log_entry.val();
        } else if self.fields.kind_kind.val() == VIEWS {
            self.entry_bytes.next = VIEW_BYTES.into();
            self.entry_unit.next = VIEW_BYTES.into();
        } else if self.fields.kind_kind.val() == DICTIONARY {
            self.entry_bytes.next = bits::<32>(1) << self.fields.kind_log_entry.val();
            self.entry_unit.next = bits::<32>(1) << self.fields.kind_log_entry.val();
        }
        self.spans.count.next = self.count.q.val().get_bits::<3>(0);
        self.spans.first.next = self.fields.kind_width.val().get_bits::<3>(0);
        if self.state.q.val() == DecoderState::Shape {
            self.spans.first.next = self.fields.shape_flags.val().get_bits::<3>(FIRST_BIT);
        }
        self.spanned.next = self.bitmap.q.val();
        if self.spans.more.val() {
            self.spanned.next = self.bitmap_more.q.val();
        }
        self.entry_bad.next = true;
        if self.fields.kind_kind.val() == FIXED {
            self.entry_bad.next =
                self.fields.kind_log_entry.val().any() || !self.fields.kind_width.val().any();
        } else if self.fields.kind_kind.val() == BITS {
            self.entry_bad.next = (self.kind.q.val() != BITMAPPED)
                || self.fields.kind_log_entry.val().any()
                || self.fields.kind_width.val().get_bits::<21>(3).any();
        } else if self.fields.kind_kind.val() == OFFSETS {
            self.entry_bad.next = (self.fields.kind_log_entry.val().get_bits::<3>(1) != 1)
                || self.fields.kind_width.val().any();
        } else if self.fields.kind_kind.val() == VIEWS {
            self.entry_bad.next =
                self.fields.kind_log_entry.val().any() || self.fields.kind_width.val().any();
        } else if self.fields.kind_kind.val() == DICTIONARY {
            self.entry_bad.next = self.fields.kind_log_entry.val().get_bits::<2>(2).any()
                || !self.fields.kind_width.val().any();
        }
        self.source_bad.next = self.entry_is_bad.q.val()
            || (((self.entry_kind.q.val() == FIXED) || (self.entry_kind.q.val() == BITS))
                && self.granule_words.val().any())
            || ((self.entry_kind.q.val() == OFFSETS) && self.region_counts.val())
            || ((self.entry_kind.q.val() == VIEWS)
                && (self.fields.region_count.val().get_bits::<BEYOND_MOST>(LOG_MOST + 1).any()
                    || (self.fields.region_count.val().get_bit(LOG_MOST)
                        && self.fields.region_count.val().get_bits::<LOG_MOST>(0).any())));
    }

    /// Defaults of a lane and a check: those of an element.
    #[hdl_gen]
    pub(super) fn element_defaults(&mut self) {
        self.check_long.next = true;
        self.check_target.next = false;
        self.check_key.next = self.lkey.q.val();
        self.check_base.next = self.addr.q.val();
        self.check_offset.next = self.fields.element_offset.val();
        self.check_span.next = bit_cast::<35, 32>(self.fields.region_count.val());
        self.check_factor.next = self.factor.q.val();
        self.check_step.next = self.period.q.val();
        self.check_len.next = self.fields.element_len.val();
        self.element_lane.next = self.lane.q.val();
        self.element_last.next = self.elements_left.q.val() == 1;
        self.element_base.next = self.addr.q.val();
        self.element_offset.next = self.fields.element_offset.val();
        self.element_step.next = self.period.q.val();
        self.element_len.next = self.fields.element_len.val();
        self.element_kind.next = self.kind.q.val();
        self.element_addr.next = self.addr.q.val();
        self.element_count.next = self.count.q.val();
        self.element_fetch.next = self.fetch_rows.q.val();
        self.fetch_addr.next = self.period.q.val();
        self.element_source.next.kind = 0.into();
        self.element_source.next.log_entry = 0.into();
        self.element_source.next.width = 0.into();
        self.element_source.next.addr = 0.into();
        self.element_source.next.number = 0.into();
        self.element_kinds.next = false;
        self.element_ids.next = 0.into();
        self.element_made.next = false;
        if self.sharing.q.val() {
            self.element_ids.next = self.ids.q.val();
            self.element_made.next = self.made.q.val();
        }
    }

    /// Takes the entries of an element with a kind.
    #[hdl_gen]
    pub(super) fn take_kind(&mut self) {
        // The entries of a column of offsets overlap: each has two offsets.
        self.check_len.next = self.entry_bytes.val();
        self.entry_offset.d.next = self.fields.element_offset.val();
        self.entry_len.d.next = self.entry_bytes.val();
        self.entry_step.d.next = self.entry_unit.val();
        self.entry_kind.d.next = self.fields.kind_kind.val();
        self.entry_log.d.next = self.fields.kind_log_entry.val();
        self.entry_width.d.next = self.fields.kind_width.val();
        self.entry_is_bad.d.next = self.entry_bad.val()
            || (self.element_has_key.val() && (self.kind.q.val() != BITMAPPED));
        if self.kind.q.val() == BITMAPPED {
            self.check_key.next = self.fields.element_lkey.val();
            self.check_base.next = 0.into();
            self.check_factor.next = self.count.q.val() - 1;
            self.check_step.next = bit_cast::<64, 32>(self.entry_unit.val());
            if self.fields.kind_kind.val() == BITS {
                self.check_long.next = false;
                self.check_base.next = self.fields.element_offset.val();
                self.check_offset.next = 0.into();
                self.check_span.next = bit_cast::<35, 30>(self.spanned.val());
            }
        }
        if self.broken.val() {
            self.fail.d.next = true;
            self.fail_qp.d.next = self.none_left.val() && !self.sharing.q.val();
            self.state.d.next = DecoderState::End;
        } else if self.good.val() {
            self.taking.next = true;
            self.check_valid.next =
                (self.kind.q.val() != POINTER_MAPPED) && (self.count.q.val() != 0);
            self.state.d.next = DecoderState::Source;
        }
    }

    /// Takes the place of the bytes that an element with a kind leads to.
    #[hdl_gen]
    pub(super) fn take_source(&mut self) {
        // Bounds of a dictionary, or of a table of buffers.
        self.check_key.next = self.fields.region_lkey.val();
        self.check_base.next = self.fields.region_addr.val();
        self.check_offset.next = 0.into();
        self.check_factor.next = self.fields.region_count.val();
        self.check_step.next = bit_cast::<64, 24>(self.entry_width.q.val());
        self.check_len.next = 0.into();
        self.check_long.next = self.entry_kind.q.val() == DICTIONARY;
        self.check_span.next = bit_cast::<35, 32>(self.fields.region_count.val()) << LOG_BUFFER;
        self.element_offset.next = self.entry_offset.q.val();
        self.element_len.next = self.entry_len.q.val();
        self.element_kinds.next = true;
        // Elements with kinds are never given as sets of one lane for messages by columns.
        self.element_split.next = false;
        self.element_source.next.kind = self.entry_kind.q.val().get_bits::<3>(0);
        self.element_source.next.log_entry = self.entry_log.q.val().get_bits::<2>(0);
        self.element_source.next.width = self.entry_width.q.val();
        self.element_source.next.addr = self.fields.region_addr.val();
        self.element_source.next.number = self.fields.region_count.val();
        if self.entry_kind.q.val() == OFFSETS {
            self.element_source.next.number = self.fields.region_lkey.val();
        }
        if self.kind.q.val() == BITMAPPED {
            self.element_base.next = self.entry_offset.q.val();
            self.element_offset.next = 0.into();
            self.element_step.next = bit_cast::<64, 32>(self.entry_step.q.val());
        }
        if self.kind.q.val() == POINTER_MAPPED {
            self.element_base.next = 0.into();
        }
        if self.broken.val() {
            self.fail.d.next = true;
            self.fail_qp.d.next = self.none_left.val() && !self.sharing.q.val();
            self.state.d.next = DecoderState::End;
        } else if self.good.val() {
            self.taking.next = true;
            self.state.d.next = DecoderState::Kind;
            if self.source_bad.val() {
                self.fail.d.next = true;
                self.fail_qp.d.next = !self.sharing.q.val();
                self.state.d.next = DecoderState::End;
            } else {
                self.check_valid.next = ((self.entry_kind.q.val() == DICTIONARY)
                    || (self.entry_kind.q.val() == VIEWS))
                    && self.region_counts.val()
                    && (self.count.q.val() != 0);
                self.element_valid.next = true;
                self.region_done.next = self.elements_left.q.val() == 1;
            }
            self.elements_left.d.next = self.elements_left.q.val() - 1;
            self.lane.d.next = self.lane.q.val() + 1;
        }
    }

    /// Takes an extent or a column.
    #[hdl_gen]
    pub(super) fn take_element(&mut self) {
        // A column lies at its own address, and its values one behind the other; a record's
        // extent has no address of its own.
        if self.kind.q.val() == BITMAPPED {
            self.check_key.next = self.fields.element_lkey.val();
            self.check_base.next = 0.into();
            self.check_step.next = bit_cast::<64, 32>(self.fields.element_len.val());
            self.check_len.next = 0.into();
            self.element_base.next = self.fields.element_offset.val();
            self.element_offset.next = 0.into();
            self.element_step.next = bit_cast::<64, 32>(self.fields.element_len.val());
        }
        if self.kind.q.val() == POINTER_MAPPED {
            self.element_base.next = 0.into();
        }
        if self.broken.val() {
            self.fail.d.next = true;
            self.fail_qp.d.next = self.none_left.val() && !self.sharing.q.val();
            self.state.d.next = DecoderState::End;
        } else if self.good.val() && self.splits.val() && !self.alone_told.q.val() {
            // The element is first given as a set by itself.
            if self.element_bad.val() {
                self.alone_told.d.next = true;
            } else if self.set_space.val() {
                self.alone_told.d.next = true;
                self.alone_sets.d.next = self.alone_sets.q.val() + 1;
                self.element_valid.next = true;
                self.element_alone.next = true;
            }
        } else if self.good.val() {
            self.taking.next = true;
            self.alone_told.d.next = false;
            if self.element_bad.val() {
                self.fail.d.next = true;
                self.fail_qp.d.next = !self.sharing.q.val();
                self.state.d.next = DecoderState::End;
            } else {
                self.check_valid.next =
                    (self.kind.q.val() != POINTER_MAPPED) && (self.count.q.val() != 0);
                self.element_valid.next = true;
                self.region_done.next = self.elements_left.q.val() == 1;
            }
            self.elements_left.d.next = self.elements_left.q.val() - 1;
            self.lane.d.next = self.lane.q.val() + 1;
        }
    }
}
