//! Heads of entries.

use super::super::{DecoderState, Parser};
use super::{MAX_GRANULES, MOST_DESTINATIONS};
use crate::context::QP;
use crate::layout::windows::FETCH_BITS;
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

impl Parser {
    /// Whether the fetch plan of a head is wrong, in the cycle in which the head is taken.
    #[hdl_gen]
    pub(super) fn judge_fetch_plan(&mut self) {
        self.fetch_bad.next = self.fields.head_log_max_read.val().any()
            || self.fields.head_merge_threshold.val().any();
        if self.fields.head_flags.val().get_bit(2) {
            self.fetch_bad.next = (self.fields.head_log_max_read.val() < 6)
                || (self.fields.head_log_max_read.val() > 12)
                || self.fields.head_merge_threshold.val().get_bits::<4>(12).any();
        }
    }

    /// Finds out whether flags or counts of a head are wrong, one cycle after it was taken.
    #[hdl_gen]
    pub(super) fn judge_head(&mut self) {
        self.blocks.next = bit_cast::<31, 30>(self.head_granules.q.val().get_bits::<30>(2))
            + bit_cast::<31, 1>(
                self.head_granules.q.val().get_bits::<1>(0)
                    | self.head_granules.q.val().get_bits::<1>(1),
            );
        self.head_length_bad.d.next = (self.blocks.val()
            > bit_cast::<31, 17>(self.head_remaining.q.val()))
            || (self.head_granules.q.val() < 2)
            || (self.head_granules.q.val() > bits::<32>(MAX_GRANULES));
        self.head_count_bad.d.next = (self.head_destinations.q.val() == 0)
            || (self.head_destinations.q.val() > bits::<16>(MOST_DESTINATIONS))
            || (!self.queue_shared.val() && (self.head_destinations.q.val() != 1));
        self.head_bad.next = self.head_fixed_bad.q.val()
            || self.head_rows_bad.q.val()
            || self.head_count_bad.q.val()
            || (self.head_partitioned.q.val() && !self.queue_shared.val())
            || (self.head_inline.q.val() && self.queue_shared.val())
            || (self.head_own.q.val() && self.queue_shared.val())
            || self.head_address_bad.q.val()
            || self.head_length_bad.q.val();
    }

    /// Decodes the operation of a head, and whether a destination or an address behind it is taken with it.
    #[hdl_gen]
    pub(super) fn look_ahead(&mut self) {
        // A READ, an atomic, or a SEND that makes a key invalid; what follows an atomic's head.
        self.is_reliable.next = self.fields.head_opcode.val().get_bits::<6>(2) == 4;
        self.is_atomic.next = self.is_reliable.val() && self.fields.head_opcode.val().get_bit(1);
        self.asks.next = self.head_ask.q.val().any();

        // A head and an address or a destination behind it, as far as these were read and belong to the entry.
        self.full.next = !self.granule_error.val()
            && !self.fields.head_flags.val().get_bit(1)
            && self.fields.head_granules.val().get_bits::<13>(2).any();
        self.named.next = self.full.val() && self.fields.head_flags.val().get_bit(5);
        self.whole.next =
            self.full.val() && !self.fields.head_flags.val().get_bit(5) && !self.is_atomic.val();
    }

    /// Takes a head, with a destination or an address behind it.
    #[hdl_gen]
    pub(super) fn take_head(&mut self) {
        if self.granule_valid.val() {
            self.taking.next = true;
            self.head_queue.d.next = self.granule_queue.val();
            self.head_remaining.d.next = self.granule_remaining.val();
            self.head_fixed_bad.d.next = (self.fields.head_magic.val() != 0xd7)
                || ((self.fields.head_opcode.val() > 3) && !self.is_reliable.val())
                || (self.is_reliable.val()
                    && self.fields.head_opcode.val().get_bits::<2>(0).any()
                    && self.fields.head_flags.val().get_bit(4))
                || self.fetch_bad.val()
                || (self.fields.head_position.val() != self.granule_position.val())
                || self.granule_error.val();
            self.head_opcode.d.next = self.fields.head_opcode.val().get_bits::<2>(0);
            self.head_own.d.next =
                self.is_reliable.val() || self.fields.head_flags.val().get_bits::<3>(5).any();
            self.head_ask.d.next = 0.into();
            self.head_invalidates.d.next = false;
            if self.is_reliable.val() {
                self.head_ask.d.next = self.fields.head_opcode.val().get_bits::<2>(0);
                self.head_invalidates.d.next =
                    !self.fields.head_opcode.val().get_bits::<2>(0).any();
                self.head_opcode.d.next = 0.into();
            }
            self.head_solicited.d.next = self.fields.head_flags.val().get_bit(6);
            self.head_fenced.d.next = self.fields.head_flags.val().get_bit(7);
            self.head_address.d.next.named = self.fields.head_flags.val().get_bit(5);
            self.head_address.d.next.dest_mac = self.rest_fields[1].address_dest_mac.val();
            self.head_address.d.next.tos = self.rest_fields[1].address_tos.val();
            self.head_address.d.next.ttl = self.rest_fields[1].address_ttl.val();
            self.head_address.d.next.dest_ip = self.rest_fields[1].address_dest_ip.val();
            self.head_address.d.next.dest_qpn =
                self.rest_fields[1].address_dest_qpn.val().get_bits::<24>(0);
            self.head_address.d.next.qkey = self.rest_fields[2].address_qkey.val();
            self.head_address_bad.d.next = self.fields.head_flags.val().get_bit(5)
                && (self.rest_fields[1].address_dest_qpn.val().get_bits::<8>(24).any()
                    || self.rest_fields[2].address_reserved.val().any());
            self.head_element_mask.d.next = self.fields.head_flags.val().get_bit(0);
            self.head_partitioned.d.next = self.fields.head_flags.val().get_bit(1);
            self.head_unsignaled.d.next = self.fields.head_flags.val().get_bit(3);
            self.head_inline.d.next = self.fields.head_flags.val().get_bit(4);
            self.head_position.d.next = self.granule_position.val();
            self.head_fetch.d.next =
                bit_cast::<FETCH_BITS, 1>(self.fields.head_flags.val().get_bits::<1>(2))
                    | (bit_cast::<FETCH_BITS, 4>(
                        self.fields.head_log_max_read.val().get_bits::<4>(0),
                    ) << 1)
                    | (bit_cast::<FETCH_BITS, 12>(
                        self.fields.head_merge_threshold.val().get_bits::<12>(0),
                    ) << 5);
            self.head_destinations.d.next = self.fields.head_destinations.val();
            self.head_granules.d.next = self.fields.head_granules.val();
            self.state.d.next = DecoderState::HeadRest;
            if self.whole.val() || self.named.val() {
                self.skipping.next = true;
                self.head_wr_id.d.next = self.rest_fields[0].head_wr_id.val();
                self.head_rows.d.next = self.rest_fields[0].head_rows_per_message.val();
                self.head_imm.d.next = self.rest_fields[0].head_imm.val();
                self.head_rows_bad.d.next = self.rest_fields[0].head_rows_per_message.val() == 0;
                self.dests_left.d.next =
                    self.fields.head_destinations.val().get_bits::<DEST_COUNT>(0);
            }
            if self.named.val() {
                self.state.d.next = DecoderState::Destination;
                if self.is_atomic.val() {
                    self.state.d.next = DecoderState::Operands;
                }
            }
            if self.whole.val() {
                self.dest_no_qp.d.next = self.rest_fields[1].dest_qp.val().get_bits::<20>(12) != 0;
                self.dest_qp.d.next = self.rest_fields[1].dest_qp.val().get_bits::<QP>(0);
                self.dest_partition.d.next = self.rest_fields[1].dest_partition.val();
                self.dest_fixed_bad.d.next = (self.rest_fields[1].dest_regions.val() > 16)
                    || (self.rest_fields[1].dest_partition.val() != 0);
                self.dest_regions.d.next = self.rest_fields[1].dest_regions.val().get_bits::<5>(0);
                self.dest_remote_addr.d.next = self.rest_fields[1].dest_remote_addr.val();
                self.dest_rkey.d.next = self.rest_fields[2].dest_rkey.val();
                self.dest_types.d.next = self.rest_fields[2].dest_types.val();
                self.dest_bytes.d.next =
                    self.rest_fields[2].dest_inline_bytes.val().get_bits::<7>(0);
                self.dest_by_columns.d.next = self.rest_fields[2].dest_remote_columns.val().any();
                self.dest_column_order.d.next = self.rest_fields[2].dest_layout.val().get_bit(0)
                    && !self.rest_fields[2].dest_remote_columns.val().any()
                    && self.rest_fields[2].dest_types.val().any();
                self.dest_columns.d.next =
                    self.rest_fields[2].dest_remote_columns.val().get_bits::<5>(0);
                self.dest_rest_bad.d.next = (self.rest_fields[2].dest_reserved2.val() != 0)
                    || self.whole_layout_bad.val()
                    || self.whole_inline_bad.val()
                    || ((self.rest_fields[2].dest_types.val()
                        >> (bit_cast::<6, 5>(
                            self.rest_fields[1].dest_regions.val().get_bits::<5>(0),
                        ) << 1))
                        != 0);
                self.state.d.next = DecoderState::Look;
            }
        }
        self.first.d.next = true;
        self.dest_index.d.next = 0.into();
        self.accepted.d.next = 0.into();
        self.region_index.d.next = 0.into();
        self.regions.d.next = 0.into();
        self.sharing.d.next = false;
        self.dest_cut.d.next = false;
        self.fail.d.next = false;
        self.fail_flush.d.next = false;
        self.fail_qp.d.next = false;
        self.bytes.d.next = 0.into();
        self.asked.d.next = false;
        self.any_kinds.d.next = false;
        self.is_part.d.next = false;
        self.inline_taken.d.next = 0.into();
        self.request_by_columns.d.next = false;
        self.request_columns.d.next = 0.into();
        self.has_dest.d.next = false;
        self.alone_sets.d.next = 0.into();
        self.alone_told.d.next = false;
    }

    /// Takes the second half of a head.
    #[hdl_gen]
    pub(super) fn take_rest(&mut self) {
        if self.granule_valid.val() {
            self.taking.next = true;
            self.head_wr_id.d.next = self.fields.head_wr_id.val();
            if self.granule_error.val() {
                self.head_wr_id.d.next = 0.into();
            }
            self.head_rows.d.next = self.fields.head_rows_per_message.val();
            self.head_imm.d.next = self.fields.head_imm.val();
            self.head_rows_bad.d.next = self.fields.head_rows_per_message.val() == 0;
            self.left.d.next = self.head_granules.q.val().get_bits::<15>(0) - 2;
            self.dests_left.d.next = self.head_destinations.q.val().get_bits::<DEST_COUNT>(0);
            self.state.d.next = DecoderState::Destination;
            if self.head_partitioned.q.val() {
                self.state.d.next = DecoderState::JudgeHead;
            } else if self.head_address.q.val().named {
                // The destination was not taken with the head: the entry ends before it, or could not be read.
                self.dest_cut.d.next = true;
                self.state.d.next = DecoderState::Judge;
            } else if self.head_ask.q.val().get_bit(1) {
                self.state.d.next = DecoderState::Operands;
            }
        }
    }

    /// Takes an atomic's operands.
    #[hdl_gen]
    pub(super) fn take_operands(&mut self) {
        // An entry that goes beyond its batch does not wait for further granules.
        if self.broken.val() || self.head_length_bad.q.val() {
            self.dest_cut.d.next = true;
            self.state.d.next = DecoderState::Judge;
        } else if self.good.val() {
            self.taking.next = true;
            self.operands_read.d.next = self.granule_data.val();
            self.state.d.next = DecoderState::Destination;
        }
    }

    /// Opens a partitioned request, if its head is right.
    #[hdl_gen]
    pub(super) fn open_partitioned(&mut self) {
        if self.settled.val() && self.queue_halted.val() {
            self.state.d.next = DecoderState::Drop;
        } else if self.settled.val() && self.may_open.val() {
            self.open.next = true;
            self.first.d.next = false;
            self.sharing.d.next = true;
            self.state.d.next = DecoderState::Region;
            if self.head_bad.val() {
                self.fail.d.next = true;
                self.state.d.next = DecoderState::End;
            }
        }
    }
}
