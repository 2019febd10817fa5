//! Regions of an entry: contiguous ones whole or in parts, the shapes of the others, and how ids are made.

use super::super::{DecoderState, Parser};
use super::{CHASE, COLUMN_KINDS, FIRST_BIT, LONGEST_CHAIN, UNIT_BYTES};
use crate::request::{BITMAPPED, CONTIGUOUS, LOG_PART_UNIT, PART, POINTER_MAPPED, STRIDED};
use drdma_emit::prelude::*;

impl Parser {
    /// Finds out what is wrong in a region's shape.
    #[hdl_gen]
    pub(super) fn judge_shape(&mut self) {
        // Fields of the granule that are not 0, in each of the layouts that it may hold.
        self.region_counts.next =
            self.granule_words.val().get_bit(self.region_count_word.val().index());
        self.shape_has_period.next =
            self.granule_words.val().get_bits::<2>(self.shape_period_word.val().index()).any();
        self.shape_has_target.next =
            self.granule_words.val().get_bit(self.shape_target_word.val().index());
        self.element_has_len.next =
            self.granule_words.val().get_bit(self.element_len_word.val().index());
        self.element_has_key.next =
            self.granule_words.val().get_bit(self.element_lkey_word.val().index());

        self.has_fetch_rows.next = self.fields.shape_flags.val().get_bit(0);
        self.has_keys.next = self.fields.shape_flags.val().get_bit(3);
        self.shape_bad.next = (self.fields.shape_elements.val() == 0)
            // More than 16: bit by bit, which is a level less than a comparison.
            || self.fields.shape_elements.val().get_bits::<11>(5).any()
            || (self.fields.shape_elements.val().get_bit(4)
                && self.fields.shape_elements.val().get_bits::<4>(0).any())
            || (self.request_by_columns.q.val()
                && (self.fields.shape_elements.val().get_bits::<5>(0)
                    != self.request_columns.q.val()))
            || self.fields.shape_flags.val().get_bits::<9>(7).any()
            || (self.has_keys.val() && !self.sharing.q.val())
            // Columns with messages of their own have no kinds.
            || (self.fields.shape_flags.val().get_bit(COLUMN_KINDS)
                && self.request_by_columns.q.val())
            || (self.fields.shape_flags.val().get_bit(CHASE)
                && (!self.fields.shape_flags.val().get_bit(COLUMN_KINDS)
                    || (self.kind.q.val() != POINTER_MAPPED)))
            || (self.fields.shape_flags.val().get_bits::<3>(FIRST_BIT).any()
                && (!self.fields.shape_flags.val().get_bit(COLUMN_KINDS)
                    || self.sharing.q.val()
                    || (self.kind.q.val() != BITMAPPED)))
            || (self.has_fetch_rows.val()
                && (self.sharing.q.val()
                    || self.fields.shape_flags.val().get_bit(COLUMN_KINDS)
                    || (self.kind.q.val() != BITMAPPED)))
            || (!self.sharing.q.val()
                && !self.has_fetch_rows.val()
                && (self.shape_has_period.val() != (self.kind.q.val() == STRIDED)))
            || (self.sharing.q.val()
                && !self.has_keys.val()
                && (self.fields.shape_period.val() != 1)
                && (self.fields.shape_period.val() != 2))
            || (self.has_keys.val() && self.shape_has_period.val())
            || (self.shape_has_target.val()
                && !self.has_fetch_rows.val()
                && (self.kind.q.val() != POINTER_MAPPED));
        self.element_bad.next = !self.element_has_len.val()
            || (self.request_by_columns.q.val() && self.rows_over.q.val())
            || (self.element_has_key.val() && (self.kind.q.val() != BITMAPPED));
        self.bitmap_bytes.next =
            bit_cast::<35, 29>(self.fields.region_count.val().get_bits::<29>(3));
        if self.fields.region_count.val().get_bits::<3>(0).any() {
            self.bitmap_bytes.next =
                bit_cast::<35, 29>(self.fields.region_count.val().get_bits::<29>(3)) + 1;
        }
    }

    /// Hands the function that makes ids, and its keys, to the block that reads them.
    #[hdl_gen]
    pub(super) fn judge_function(&mut self) {
        self.keys.granule.next = self.granule_data.val();
        self.keys.is_function.next = self.state.q.val() == DecoderState::Function;
        self.keys.is_entry.next = self.state.q.val() == DecoderState::KeyEntry;
        self.keys.is_source.next = self.state.q.val() == DecoderState::KeySource;
        self.keys.is_end.next = self.state.q.val() == DecoderState::KeyEnd;
        self.keys.given.next = self.good.val();
        self.keys.addr.next = self.addr.q.val();
        self.keys.lkey.next = self.lkey.q.val();
        self.keys.rows.next = self.count.q.val();
        self.keys.bitmap.next = self.bitmap.q.val();
        self.keys.bitmap_more.next = self.bitmap_more.q.val();
        self.keys.function_write.join(&mut self.function_write);
        self.keys.key_write.join(&mut self.key_write);
        // The first partition of an id must be one that can be made.
        self.first_partition.enable.next = true;
        self.first_partition.a.next = self.dest_partition.q.val();
        self.first_partition.b.next = self.keys.group.val();
        self.beyond.d.next =
            self.first_partition.product.val() >= bit_cast::<32, 17>(self.keys.partitions.val());
    }

    /// Finds the part of a message that is sent.
    #[hdl_gen]
    pub(super) fn find_part(&mut self) {
        self.part_offset.next =
            bit_cast::<32, PART>(self.part.q.val().first) << LOG_PART_UNIT as u64;
        self.part_rest.next = self.count.q.val() - self.part_offset.val();
        self.part_told.next = false;
        self.part_whole.next = self.count.q.val();
        self.part_resumes.next = self.part.q.val().first.any();
        self.part_pauses.next = self.part.q.val().pauses;
        self.parted.next = self.is_part.q.val() || (self.state.q.val() == DecoderState::Part);
    }

    /// Takes the head of a region, all of a contiguous one.
    #[hdl_gen]
    pub(super) fn take_region(&mut self) {
        self.element_lane.next = 0.into();
        self.element_last.next = true;
        self.element_kind.next = self.granule_kind.val();
        self.element_base.next = self.fields.region_addr.val();
        self.element_offset.next = 0.into();
        self.element_step.next = 0.into();
        self.element_len.next = self.fields.region_count.val();
        self.element_addr.next = self.fields.region_addr.val();
        self.element_count.next = 1.into();
        self.element_fetch.next = false;
        self.check_long.next = false;
        self.check_key.next = self.fields.region_lkey.val();
        self.check_base.next = self.fields.region_addr.val();
        self.check_offset.next = 0.into();
        if self.granule_kind.val() == BITMAPPED {
            self.check_span.next = self.bitmap_bytes.val();
        }
        if self.granule_kind.val() == POINTER_MAPPED {
            self.check_span.next = bit_cast::<35, 32>(self.fields.region_count.val()) << 3;
        }
        self.bitmap.d.next = self.bitmap_bytes.val().get_bits::<30>(0);
        self.bitmap_more.d.next = self.bitmap_bytes.val().get_bits::<30>(0) + 1;
        self.fetch_rows.d.next = false;
        self.kind.d.next = self.granule_kind.val();
        self.addr.d.next = self.fields.region_addr.val();
        self.count.d.next = self.fields.region_count.val();
        self.lkey.d.next = self.fields.region_lkey.val();
        self.lane.d.next = 0.into();
        self.part.d.next = self.granule_part.val();
        if self.broken.val() {
            self.fail.d.next = true;
            self.fail_qp.d.next = self.none_left.val() && !self.sharing.q.val();
            self.state.d.next = DecoderState::End;
        } else if self.good.val() && self.set_space.val() {
            self.taking.next = true;
            self.check_valid.next = (self.granule_kind.val() != STRIDED)
                && self.region_counts.val()
                && !self.sharing.q.val();
            if (self.asks.val() && (self.granule_kind.val() != CONTIGUOUS))
                || (self.request_by_columns.q.val()
                    && (self.granule_kind.val() != STRIDED)
                    && (self.granule_kind.val() != BITMAPPED))
            {
                // Answers fill contiguous regions only. A column has a place of its own in every row.
                self.fail.d.next = true;
                self.fail_qp.d.next = true;
                self.state.d.next = DecoderState::End;
            } else if self.granule_kind.val() != CONTIGUOUS {
                self.state.d.next = DecoderState::Shape;
            } else if !self.region_counts.val() {
                self.fail.d.next = true;
                self.fail_qp.d.next = !self.sharing.q.val();
                self.state.d.next = DecoderState::End;
            } else if self.asks.val() {
                self.piece_valid.next = true;
                self.bytes.d.next =
                    self.bytes.q.val() + bit_cast::<36, 32>(self.fields.region_count.val());
                self.region_done.next = true;
            } else if self.granule_parted.val() {
                // The granule is the entry's last one.
                self.skipping.next = true;
                self.state.d.next = DecoderState::Part;
            } else {
                self.element_valid.next = true;
                self.joined_for.d.next = false;
                if self.sole.q.val() {
                    // The entry ends here, without a state of its own for that.
                    self.skipping.next = true;
                    self.ended.d.next = true;
                    self.region_done.next = true;
                } else if self.head_element_mask.q.val() && (self.dest_regions.q.val() != 1) {
                    self.state.d.next = DecoderState::Join;
                } else {
                    self.region_done.next = true;
                }
            }
        }
    }

    /// Gives the part of a message that is sent as a contiguous region.
    #[hdl_gen]
    pub(super) fn give_part(&mut self) {
        self.element_lane.next = 0.into();
        self.element_last.next = true;
        self.element_offset.next = bit_cast::<64, 32>(self.part_offset.val());
        self.element_step.next = 0.into();
        self.element_len.next = self.part_rest.val();
        if self.part.q.val().pauses {
            self.element_len.next = bits::<32>(UNIT_BYTES) << self.part.q.val().log_units;
        }
        self.element_count.next = 1.into();
        self.element_fetch.next = false;
        self.element_valid.next = true;
        self.part_told.next = true;
        self.is_part.d.next = true;
        self.ended.d.next = true;
        self.region_done.next = true;
    }

    /// Takes the shape of a region, and has the range looked up that it names.
    #[hdl_gen]
    pub(super) fn take_shape(&mut self) {
        // The target of the pointers, or the fetch rows, which are as long as the bitmap.
        self.check_long.next = false;
        self.check_target.next = self.kind.q.val() == POINTER_MAPPED;
        self.check_key.next = self.fields.shape_target_lkey.val();
        self.check_base.next = self.fields.shape_period.val();
        self.check_offset.next = 0.into();
        self.check_span.next = bit_cast::<35, 30>(self.bitmap.q.val());
        self.fetch_rows.d.next = self.has_fetch_rows.val();
        self.period.d.next = self.fields.shape_period.val();
        self.ids.d.next = self.fields.shape_period.val().get_bits::<2>(0);
        self.made.d.next = self.has_keys.val();
        if self.sharing.q.val() {
            // The bounds of the array of ids, whose length is known only here.
            self.check_key.next = self.lkey.q.val();
            self.check_base.next = self.addr.q.val();
            self.check_span.next = bit_cast::<35, 32>(self.count.q.val());
            if self.fields.shape_period.val().get_bit(1) {
                self.check_span.next = bit_cast::<35, 32>(self.count.q.val()) << 1;
            }
        }
        self.has_kinds.d.next = self.fields.shape_flags.val().get_bit(COLUMN_KINDS);
        self.special.d.next.first = self.fields.shape_flags.val().get_bits::<3>(FIRST_BIT);
        self.special.d.next.chase = self.fields.shape_flags.val().get_bit(CHASE);
        self.special.d.next.period_or_end = self.fields.shape_period.val();
        if self.fields.shape_flags.val().get_bit(COLUMN_KINDS)
            && !self.sharing.q.val()
            && (self.kind.q.val() == BITMAPPED)
        {
            // A bitmap that begins within a byte may have a byte more.
            self.check_key.next = self.lkey.q.val();
            self.check_base.next = self.addr.q.val();
            self.check_span.next = bit_cast::<35, 30>(self.spanned.val());
        }
        self.elements_left.d.next = self.fields.shape_elements.val().get_bits::<5>(0);
        self.elements.d.next = self.fields.shape_elements.val().get_bits::<5>(0);
        self.factor.d.next = self.count.q.val();
        if self.kind.q.val() == STRIDED {
            self.factor.d.next = self.count.q.val() - 1;
        }
        if self.broken.val() {
            self.fail.d.next = true;
            self.fail_qp.d.next = self.none_left.val() && !self.sharing.q.val();
            self.state.d.next = DecoderState::End;
        } else if self.good.val() {
            self.taking.next = true;
            if self.shape_bad.val() {
                self.fail.d.next = true;
                self.fail_qp.d.next = !self.sharing.q.val();
                self.state.d.next = DecoderState::End;
            } else if self.kind.q.val() == POINTER_MAPPED {
                self.check_valid.next = true;
                self.state.d.next = DecoderState::Target;
            } else {
                self.check_valid.next = (self.sharing.q.val()
                    || self.has_fetch_rows.val()
                    || (self.fields.shape_flags.val().get_bit(COLUMN_KINDS)
                        && (self.kind.q.val() == BITMAPPED)))
                    && !self.has_keys.val()
                    && (self.count.q.val() != 0);
                self.state.d.next = DecoderState::Element;
                if self.has_keys.val() {
                    self.state.d.next = DecoderState::Function;
                } else if self.fields.shape_flags.val().get_bit(COLUMN_KINDS) {
                    self.state.d.next = DecoderState::Kind;
                }
            }
            if self.fields.shape_flags.val().get_bit(COLUMN_KINDS) && !self.shape_bad.val() {
                self.any_kinds.d.next = true;
            }
        }
    }

    /// Takes the function that makes ids, and its keys.
    #[hdl_gen]
    pub(super) fn take_key(&mut self) {
        self.check_valid.next = self.keys.check.valid.val();
        self.check_long.next = self.keys.check.is_long.val();
        self.check_key.next = self.keys.check.key.val();
        self.check_base.next = self.keys.check.base.val();
        self.check_offset.next = 0.into();
        self.check_span.next = self.keys.check.span.val();
        self.check_step.next = self.keys.check.step.val();
        self.check_len.next = 0.into();
        if self.broken.val() {
            self.fail.d.next = true;
            self.state.d.next = DecoderState::End;
        } else if self.good.val() {
            self.taking.next = true;
            self.key_is_bad.d.next = self.keys.is_bad.val();
            if self.keys.is_function.val() {
                self.ids.d.next = self.keys.ids.val();
                self.state.d.next = DecoderState::KeyEntry;
            } else if self.keys.is_entry.val() {
                self.state.d.next = DecoderState::KeySource;
            } else if self.keys.is_source.val() {
                self.state.d.next = DecoderState::KeyEnd;
            } else {
                self.state.d.next = DecoderState::KeyEntry;
                if self.keys.last.val() {
                    self.state.d.next = DecoderState::Element;
                    if self.has_kinds.q.val() {
                        self.state.d.next = DecoderState::Kind;
                    }
                }
            }
        }
    }

    /// Takes the granule of a chain: how a record leads to the next one.
    #[hdl_gen]
    pub(super) fn take_chain(&mut self) {
        // These bits lie where a region's header has address, count and key.
        self.special.d.next.period_or_end = self.fields.region_addr.val();
        self.special.d.next.link = self.fields.region_count.val();
        self.special.d.next.limit = self.fields.region_lkey.val().get_bits::<25>(0);
        if self.broken.val() {
            self.fail.d.next = true;
            self.fail_qp.d.next = self.none_left.val();
            self.state.d.next = DecoderState::End;
        } else if self.good.val() {
            self.taking.next = true;
            self.state.d.next = DecoderState::Kind;
            if !self.fields.region_lkey.val().any()
                || (self.fields.region_lkey.val() > bits::<32>(LONGEST_CHAIN))
            {
                self.fail.d.next = true;
                self.fail_qp.d.next = true;
                self.state.d.next = DecoderState::End;
            }
        }
    }
}
