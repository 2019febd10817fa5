//! Destinations of an entry, with their remote addresses, inline payloads and operands.

use super::super::{ASK_BYTES, DecoderState, EMPTY_BYTES, Parser};
use super::{MOST_ELEMENTS, MOST_REGIONS};
use crate::context::QP;
use crate::request::{CONTIGUOUS, DEST_COUNT, MAX_REMOTE};
use drdma_emit::prelude::*;

impl Parser {
    /// Finds out what is wrong in a destination, one cycle after its head was taken.
    #[hdl_gen]
    pub(super) fn judge_destination(&mut self) {
        self.pairs.ask.next = true;
        self.pairs.count.next = self.accepted.q.val();
        self.pairs.add.next = false;
        self.dest_named.d.next = self.pairs.named.val();
        self.partitions.ask.next = self.state.q.val() == DecoderState::Destination;
        self.partitions.asked.next = self.fields.dest_partition.val();
        self.partitions.count.next = self.accepted.q.val();
        self.partitions.add.next = false;
        self.partition_named.d.next = self.partitions.named.val();
        self.regions_now.next = self.regions.q.val() + bit_cast::<11, 5>(self.dest_regions.q.val());
        self.dest_over.d.next = self.regions_now.val() > bits::<11>(MOST_REGIONS);
        // WRITEs by columns: of one region, strided or bitmapped, with the request's row mask Period, all of
        // the rows in one message for each column; all destinations have the same number of remote addresses.
        self.rows_over.d.next = self.count.q.val() > self.head_rows.q.val();
        self.columns_bad.next = (self.dest_by_columns.q.val()
            && (!self.head_opcode.q.val().get_bit(1)
                || self.head_element_mask.q.val()
                || self.head_inline.q.val()
                || (!self.head_partitioned.q.val() && (self.dest_regions.q.val() != 1))
                || (self.head_partitioned.q.val()
                    && (self.rows_over.q.val()
                        || self.any_kinds.q.val()
                        || (self.elements.q.val() != self.dest_columns.q.val())))))
            || (self.has_dest.q.val()
                && ((self.dest_by_columns.q.val() != self.request_by_columns.q.val())
                    || (self.dest_columns.q.val() != self.request_columns.q.val())));
        self.remote_next.next = self.remote.q.val()
            + bit_cast::<11, DEST_COUNT>(self.head_destinations.q.val().get_bits::<DEST_COUNT>(0));
        if self.state.q.val() == DecoderState::Judge {
            self.remote.d.next = bit_cast::<11, DEST_COUNT>(
                self.head_destinations.q.val().get_bits::<DEST_COUNT>(0),
            );
            self.remote_over.d.next = false;
        }
        self.room.next = self.dest_space.val();
        if self.dest_by_columns.q.val() {
            self.room.next = self.has_dest.q.val() || self.column_space.val();
        }
        self.splits.next = self.request_by_columns.q.val() || self.sharing.q.val();
        self.dest_bad.next = self.dest_cut.q.val()
            || self.dest_fixed_bad.q.val()
            || self.dest_rest_bad.q.val()
            || self.dest_no_qp.q.val()
            || self.dest_named.q.val()
            || self.dest_over.q.val()
            || self.columns_bad.val()
            || (self.head_partitioned.q.val()
                && (self.partition_named.q.val() || (self.made.q.val() && self.beyond.q.val())))
            || (!self.queue_shared.val()
                && (!self.queue_owned.val() || (self.queue_owner.val() != self.dest_qp.q.val())));
        self.dest_unfit.next = !self.qp_ready.val()
            || ((self.qp_transport.val() == 2) && self.head_opcode.q.val().get_bit(1));
    }

    /// The layout of messages, and the bytes of a payload in the entry.
    #[hdl_gen]
    pub(super) fn judge_layout(&mut self) {
        // The layout of messages: by columns with remote addresses; by rows of an inline payload, a READ or an atomic.
        self.whole_layout_bad.next = self.rest_fields[2].dest_layout.val().get_bits::<7>(1).any()
            || (!self.rest_fields[2].dest_layout.val().get_bit(0)
                && self.rest_fields[2].dest_remote_columns.val().any())
            || (self.rest_fields[2].dest_layout.val().get_bit(0)
                && (self.fields.head_flags.val().get_bit(4)
                    || (self.is_reliable.val()
                        && self.fields.head_opcode.val().get_bits::<2>(0).any())))
            || (self.rest_fields[2].dest_remote_columns.val() > bits::<8>(MOST_ELEMENTS));
        self.layout_bad.next = self.fields.dest_layout.val().get_bits::<7>(1).any()
            || (!self.fields.dest_layout.val().get_bit(0)
                && self.fields.dest_remote_columns.val().any())
            || (self.fields.dest_layout.val().get_bit(0)
                && (self.head_inline.q.val() || self.asks.val()))
            || (self.fields.dest_remote_columns.val() > bits::<8>(MOST_ELEMENTS));

        // An inline payload behind a destination: of an entry that has one, or of one whose destination follows an
        // address.
        self.whole_inline_bad.next = self.rest_fields[2].dest_inline_bytes.val() != 0;
        if self.fields.head_flags.val().get_bit(4) {
            self.whole_inline_bad.next = (self.rest_fields[2].dest_inline_bytes.val() > 64)
                || (self.rest_fields[1].dest_regions.val() != 0);
        }
        self.inline_bad.next = self.fields.dest_inline_bytes.val() != 0;
        if self.head_inline.q.val() {
            self.inline_bad.next =
                (self.fields.dest_inline_bytes.val() > 64) || (self.dest_regions.q.val() != 0);
        }
        // Bytes and granules that are left are known in the cycle before the payload is taken, and stay until then.
        self.inline_granules.next = (self.dest_bytes.q.val() + 15).get_bits::<3>(4);
        self.inline_cut.d.next = self.left.q.val() != bit_cast::<15, 3>(self.inline_granules.val());
        self.inline_empty.next = self.head_inline.q.val() && !self.dest_bytes.q.val().any();
    }

    /// Takes the first half of a destination's head.
    #[hdl_gen]
    pub(super) fn take_destination(&mut self) {
        if self.broken.val() {
            self.dest_cut.d.next = true;
            self.state.d.next = DecoderState::Judge;
        } else if self.good.val() {
            self.taking.next = true;
            self.dest_no_qp.d.next = self.fields.dest_qp.val().get_bits::<20>(12) != 0;
            self.dest_qp.d.next = self.fields.dest_qp.val().get_bits::<QP>(0);
            self.dest_partition.d.next = self.fields.dest_partition.val();
            self.dest_fixed_bad.d.next =
                (self.fields.dest_regions.val() > 16) || (self.fields.dest_partition.val() != 0);
            if self.head_partitioned.q.val() {
                self.dest_fixed_bad.d.next = (self.fields.dest_regions.val() != 0)
                    || ((self.ids.q.val() == 1)
                        && self.fields.dest_partition.val().get_bits::<8>(8).any());
            }
            self.dest_regions.d.next = self.fields.dest_regions.val().get_bits::<5>(0);
            self.dest_remote_addr.d.next = self.fields.dest_remote_addr.val();
            self.state.d.next = DecoderState::DestinationRest;
        }
    }

    /// Takes the second half of a destination's head.
    #[hdl_gen]
    pub(super) fn take_destination_rest(&mut self) {
        if self.broken.val() {
            self.dest_cut.d.next = true;
            self.state.d.next = DecoderState::Judge;
        } else if self.good.val() {
            self.taking.next = true;
            self.dest_rkey.d.next = self.fields.dest_rkey.val();
            self.dest_types.d.next = self.fields.dest_types.val();
            self.dest_bytes.d.next = self.fields.dest_inline_bytes.val().get_bits::<7>(0);
            self.dest_by_columns.d.next = self.fields.dest_remote_columns.val().any();
            self.dest_column_order.d.next = self.fields.dest_layout.val().get_bit(0)
                && !self.fields.dest_remote_columns.val().any()
                && (self.fields.dest_types.val().any() || self.head_partitioned.q.val());
            self.dest_columns.d.next = self.fields.dest_remote_columns.val().get_bits::<5>(0);
            self.dest_rest_bad.d.next = (self.fields.dest_reserved2.val() != 0)
                || self.layout_bad.val()
                || self.inline_bad.val()
                || ((self.fields.dest_types.val()
                    >> (bit_cast::<6, 5>(self.dest_regions.q.val()) << 1))
                    != 0);
            self.beyond_wait.d.next = 0.into();
            self.state.d.next = DecoderState::Judge;
            if self.head_partitioned.q.val() && self.made.q.val() {
                self.state.d.next = DecoderState::Beyond;
            }
        }
    }

    /// Opens the request, if the destination is its first one; accepts the destination, if it is right.
    #[hdl_gen]
    pub(super) fn accept_destination(&mut self) {
        if self.first.q.val() && !self.settled.val() {
            self.state.d.next = DecoderState::Judge;
        } else if self.first.q.val() && self.queue_halted.val() {
            self.state.d.next = DecoderState::Drop;
        } else if (!self.first.q.val() || self.may_open.val()) && self.room.val() {
            self.open.next = self.first.q.val();
            self.first.d.next = false;
            self.regions_left.d.next = self.dest_regions.q.val();
            if self.first.q.val() && self.head_bad.val() {
                self.fail.d.next = true;
                self.state.d.next = DecoderState::End;
            } else if self.dest_bad.val()
                || ((self.qp_error.val() || self.dest_unfit.val()) && !self.dest_by_columns.q.val())
            {
                self.fail.d.next = true;
                self.fail_flush.d.next = !self.dest_bad.val() && self.qp_error.val();
                self.state.d.next = DecoderState::End;
            } else {
                self.dest_accept.next = true;
                self.accepted.d.next = self.accepted.q.val() + 1;
                self.pairs.add.next = true;
                self.partitions.add.next = true;
                self.regions.d.next = self.regions_now.val();
                self.has_dest.d.next = true;
                if self.dest_column_order.q.val() {
                    // Sent as rows with kinds are.
                    self.any_kinds.d.next = true;
                }
                self.request_by_columns.d.next = self.dest_by_columns.q.val();
                self.request_columns.d.next = self.dest_columns.q.val();
                self.columns_left.d.next = self.dest_columns.q.val();
                self.dest_done.next = (self.dest_regions.q.val() == 0)
                    && !self.head_inline.q.val()
                    && !self.dest_by_columns.q.val();
                self.sole.d.next = (self.dest_regions.q.val() == 1)
                    && (self.dests_left.q.val() == 1)
                    && (self.left.q.val() == 1);
                self.state.d.next = DecoderState::Region;
                if self.head_inline.q.val() {
                    self.regions_left.d.next = 1.into();
                    self.state.d.next = DecoderState::Inline;
                    if self.inline_empty.val() {
                        self.state.d.next = DecoderState::Empty;
                    }
                }
                if self.dest_by_columns.q.val() {
                    self.state.d.next = DecoderState::RemoteColumn;
                }
            }
        }
    }

    /// Takes the remote address of a column. It belongs to the destination's head: what the tables hold of its
    /// queue pair comes after it.
    #[hdl_gen]
    pub(super) fn take_remote_column(&mut self) {
        self.remote_addr.next = self.fields.remote_addr.val();
        self.rkey.next = self.fields.remote_rkey.val();
        if self.broken.val() {
            self.fail.d.next = true;
            self.state.d.next = DecoderState::End;
        } else if self.good.val() {
            self.taking.next = true;
            self.columns_left.d.next = self.columns_left.q.val() - 1;
            if self.fields.remote_reserved.val().any()
                || ((self.dest_index.q.val() == 0) && self.remote_over.q.val())
            {
                self.fail.d.next = true;
                self.state.d.next = DecoderState::End;
            } else {
                self.column_accept.next = true;
                self.remote.d.next = self.remote_next.val();
                self.remote_over.d.next = self.remote_next.val() > bits::<11>(MAX_REMOTE);
                if self.columns_left.q.val() == 1 {
                    self.state.d.next = DecoderState::Region;
                    if self.qp_error.val() || self.dest_unfit.val() {
                        self.fail.d.next = true;
                        self.fail_flush.d.next = self.qp_error.val();
                        self.state.d.next = DecoderState::End;
                    } else {
                        self.dest_done.next = self.head_partitioned.q.val();
                    }
                }
            }
        }
    }

    /// Takes an inline payload, as a contiguous region whose bytes are here. It is the next block, unless an address
    /// came before the destination: then it begins in the middle of a block.
    #[hdl_gen]
    pub(super) fn take_inline(&mut self) {
        self.bytes_here();
        self.element_len.next = bit_cast::<32, 7>(self.dest_bytes.q.val());
        if self.broken.val() {
            self.fail.d.next = true;
            self.fail_qp.d.next = self.none_left.val();
            self.state.d.next = DecoderState::End;
        } else if self.good.val() && self.set_space.val() {
            if !self.inline_taken.q.val().any() && self.inline_cut.q.val() {
                self.fail.d.next = true;
                self.fail_qp.d.next = true;
                self.state.d.next = DecoderState::End;
            } else if self.head_address.q.val().named && (self.left.q.val() != 1) {
                self.taking.next = true;
                self.inline_parts.next = bits::<4>(1) << self.inline_taken.q.val();
                self.inline_taken.d.next = self.inline_taken.q.val() + 1;
            } else {
                self.inline_parts.next = bits::<4>(15);
                if self.head_address.q.val().named {
                    self.inline_parts.next = bits::<4>(1) << self.inline_taken.q.val();
                }
                self.taking.next = true;
                self.skipping.next = true;
                self.inline_accept.next = true;
                self.element_valid.next = true;
                self.ended.d.next = true;
                self.region_done.next = true;
            }
        }
    }

    /// A contiguous region whose bytes are here, but for their number.
    #[hdl_gen]
    fn bytes_here(&mut self) {
        self.element_lane.next = 0.into();
        self.element_last.next = true;
        self.element_kind.next = CONTIGUOUS.into();
        self.element_base.next = 0.into();
        self.element_offset.next = 0.into();
        self.element_step.next = 0.into();
        self.element_addr.next = 0.into();
        self.element_count.next = 1.into();
        self.element_fetch.next = false;
    }

    /// Gives a region for an inline payload of no bytes: a byte represents it, which is not sent.
    #[hdl_gen]
    pub(super) fn give_empty(&mut self) {
        self.bytes_here();
        self.element_len.next = EMPTY_BYTES.into();
        if self.set_space.val() {
            self.inline_accept.next = true;
            self.element_valid.next = true;
            self.region_done.next = true;
        }
    }

    /// Gives a contiguous region whose bytes are here in place of a payload: an atomic's operands.
    #[hdl_gen]
    pub(super) fn give_operands(&mut self) {
        self.bytes_here();
        self.element_len.next = ASK_BYTES.into();
        if self.set_space.val() {
            self.told_ask.next = true;
            self.element_valid.next = true;
            self.asked.d.next = true;
            self.state.d.next = DecoderState::End;
        }
    }

    /// Goes on to what follows a region or a destination.
    #[hdl_gen]
    pub(super) fn go_on(&mut self) {
        if self.region_done.val() {
            self.region_index.d.next = self.region_index.q.val() + 1;
            self.regions_left.d.next = self.regions_left.q.val() - 1;
            self.dest_types.d.next = self.dest_types.q.val() >> 2;
            self.state.d.next = DecoderState::Region;
        }
        if self.region_done.val() && self.sharing.q.val() {
            self.sharing.d.next = false;
            self.state.d.next = DecoderState::Destination;
        } else if self.dest_done.val()
            || (self.region_done.val() && (self.regions_left.q.val() == 1))
        {
            self.dests_left.d.next = self.dests_left.q.val() - 1;
            if self.ended.d.val() {
                self.state.d.next = DecoderState::Head;
            } else if self.asks.val() {
                self.state.d.next = DecoderState::Ask;
            } else if self.dests_left.q.val() == 1 {
                self.state.d.next = DecoderState::End;
            } else {
                self.dest_index.d.next = self.dest_index.q.val() + 1;
                self.state.d.next = DecoderState::Destination;
            }
        }
    }
}
