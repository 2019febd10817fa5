//! The logic of the parser's state machine.

use super::{ASK_BYTES, ASKS, DecoderState, EMPTY_BYTES, FIRST_STAGES, Parser};
use crate::context::QP;
use crate::layout::windows::FETCH_BITS;
use crate::request::{
    BITMAPPED, BITS, CONTIGUOUS, DEST_COUNT, DEST_INDEX, DICTIONARY, FIXED, LOG_PART_UNIT,
    MAX_REMOTE, OFFSETS, PART, POINTER_MAPPED, STRIDED, VIEWS,
};
use drdma_abi::receive::{ReliableOpcode, request_flags};
use drdma_abi::roce::Transport;
use drdma_abi::work_request::{
    Element, LOG_MAX_READ, MAX_CHAIN, MAX_DESTINATIONS, MAX_ELEMENTS, MAX_INLINE,
    MAX_MERGE_THRESHOLD, MAX_MESSAGE, MAX_REGIONS, MAX_REQUEST_REGIONS, MAX_VIEW_BUFFERS,
    MAX_WQE_GRANULES, Opcode, RegionType, VIEW, WQE_MAGIC, flags, shape_flags,
};
use drdma_emit::prelude::*;

/// Destinations of a request, at most.
const MOST_DESTINATIONS: u64 = MAX_DESTINATIONS as u64;
const _: () = assert!(MOST_DESTINATIONS <= MAX_REMOTE, "one column is never too many");
/// Regions of all destinations of a request, at most.
const MOST_REGIONS: u64 = MAX_REQUEST_REGIONS as u64;
/// Elements of a region, at most.
const MOST_ELEMENTS: u64 = MAX_ELEMENTS as u64;
/// Granules of an entry, at most.
const MAX_GRANULES: u64 = MAX_WQE_GRANULES as u64;

/// Bits of a shape's flags: kinds of columns, chains, and the first bit of a bitmap, which has three bits.
const COLUMN_KINDS: usize = shape_flags::COLUMN_KINDS.trailing_zeros() as usize;
const CHASE: usize = shape_flags::CHASE.trailing_zeros() as usize;
const FIRST_BIT: usize = shape_flags::FIRST_BIT_SHIFT as usize;
/// Records of a chain, and buffers of views, at most.
const LONGEST_CHAIN: u64 = MAX_CHAIN as u64;
const MOST_BUFFERS: u64 = MAX_VIEW_BUFFERS as u64;
/// Bytes of a view, and binary logarithm of the bytes of a buffer's entry.
const VIEW_BYTES: u64 = VIEW as u64;
const LOG_BUFFER: u64 = Element::SIZE.trailing_zeros() as u64;
const _: () = assert!(
    COLUMN_KINDS == 1 && CHASE == 2 && shape_flags::PARTITION_BY == 8 && FIRST_BIT == 4,
    "the flags of a shape"
);
const _: () = assert!(Element::SIZE == 1 << LOG_BUFFER);

/// Cycles until it is known whether a destination's partition can be made, after the one in which its head is taken
/// whole and a wait.
const BEYOND_WAIT: u64 = FIRST_STAGES as u64 - 1;

/// Bytes of a unit of parts.
const UNIT_BYTES: u64 = 1 << LOG_PART_UNIT;

/// Bytes of a READ, at most.
const LONGEST_READ: u64 = MAX_MESSAGE;

// The constants of the kernel.
const _: () = assert!(
    ReliableOpcode::SendInvalidate as u8 == 16
        && ASKS[0] == 1
        && ASKS[1] == 2
        && ASKS[2] == 3
        && ReliableOpcode::FetchAndAdd as u8 == 19
        && request_flags::ADDRESS == 1 << 5
        && request_flags::SOLICITED == 1 << 6
        && request_flags::FENCE == 1 << 7
        && Transport::Rc as u8 == 0
        && Transport::Ud as u8 == 2,
    "the bits of opcodes and flags"
);
const _: () = assert!(QP == 12, "the bits of a queue pair's number that an index does not have");
const _: () = assert!(
    WQE_MAGIC == 0xd7
        && flags::ELEMENT_MASK == 1
        && flags::PARTITIONED == 2
        && flags::FETCH_PLAN == 4
        && flags::UNSIGNALED == 8
        && flags::INLINE == 16
        && MAX_INLINE == 64
        && shape_flags::FETCH_ROWS == 1
        && shape_flags::PARTITION_BY == 8
        && *LOG_MAX_READ.start() == 6
        && *LOG_MAX_READ.end() == 12
        && MAX_MERGE_THRESHOLD == 4095
        && MAX_REGIONS == 16
        && MAX_ELEMENTS == 16
        && MAX_WQE_GRANULES < 1 << 15
        && MAX_REQUEST_REGIONS < 1 << 11
);
const _: () = assert!(
    Opcode::WriteImm as u8 == 3 && Opcode::Write as u8 == 2 && Transport::Ud as u8 == 2,
    "bit 1 of an opcode tells a WRITE"
);
const _: () = assert!(
    RegionType::Contiguous as u8 == 0
        && RegionType::Strided as u8 == 1
        && RegionType::Bitmapped as u8 == 2
        && RegionType::PointerMapped as u8 == 3
);

impl Logic for Parser {
    #[hdl_gen]
    fn update(&mut self) {
        self.fields.data.next = self.granule_data.val();
        for k in 0..3 {
            self.rest_fields[k].data.next = self.granule_rest.val().get_bits::<128>(k * 128);
        }

        // The fetch plan of the request.
        self.fetch_bad.next = self.fields.head_log_max_read.val().any()
            || self.fields.head_merge_threshold.val().any();
        if self.fields.head_flags.val().get_bit(2) {
            self.fetch_bad.next = (self.fields.head_log_max_read.val() < 6)
                || (self.fields.head_log_max_read.val() > 12)
                || self.fields.head_merge_threshold.val().get_bits::<4>(12).any();
        }

        // What the granule may be. Behind its batch nothing of an entry follows, whatever length the entry gives.
        self.none_left.next = self.left.q.val() == 0;
        self.good.next = self.granule_valid.val()
            && !self.granule_error.val()
            && !self.none_left.val()
            && !self.batch_over.q.val()
            && !self.key_is_bad.q.val();
        self.broken.next = (self.none_left.val()
            || self.batch_over.q.val()
            || (self.granule_valid.val() && self.granule_error.val()))
            && !self.key_is_bad.q.val();
        self.granule_kind.next = self.dest_types.q.val().get_bits::<2>(0);
        if self.sharing.q.val() {
            // Columns, whose rows the ids select.
            self.granule_kind.next = BITMAPPED.into();
        }

        // The head: its flags, one cycle after it was taken.
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

        // The destination: one cycle after its head was taken.
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
        // Messages by columns: WRITEs of one region, strided or bitmapped, with the request's row mask Period, all of
        // the
        // rows in one message for each column; all destinations have the same number of remote addresses.
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

        // What is not 0 in the granule, seen as each of the layouts that it may hold.
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

        // A region's shape.
        self.has_fetch_rows.next = self.fields.shape_flags.val().get_bit(0);
        self.has_keys.next = self.fields.shape_flags.val().get_bit(3);
        self.shape_bad.next = (self.fields.shape_elements.val() == 0)
            || (self.fields.shape_elements.val() > 16)
            || (self.request_by_columns.q.val()
                && (self.fields.shape_elements.val().get_bits::<5>(0)
                    != self.request_columns.q.val()))
            || self.fields.shape_flags.val().get_bits::<9>(7).any()
            || (self.has_keys.val() && !self.sharing.q.val())
            // Neither columns with messages of their own nor rows whose ids are made may have kinds.
            || (self.fields.shape_flags.val().get_bit(COLUMN_KINDS)
                && (self.request_by_columns.q.val() || self.has_keys.val()))
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

        // An element with a kind: its entry, and where the entry leads to.
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
                && (self.fields.region_count.val() > bits::<32>(MOST_BUFFERS)));

        // A function and its keys.
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

        // The layout of messages: without remote addresses by rows, with them by columns.
        self.whole_layout_bad.next = self.rest_fields[2].dest_layout.val().get_bits::<7>(1).any()
            || (self.rest_fields[2].dest_layout.val().get_bit(0)
                != self.rest_fields[2].dest_remote_columns.val().any())
            || (self.rest_fields[2].dest_remote_columns.val() > bits::<8>(MOST_ELEMENTS));
        self.layout_bad.next = self.fields.dest_layout.val().get_bits::<7>(1).any()
            || (self.fields.dest_layout.val().get_bit(0)
                != self.fields.dest_remote_columns.val().any())
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
        self.inline_granules.next = (self.dest_bytes.q.val() + 15).get_bits::<3>(4);
        self.inline_empty.next = self.head_inline.q.val() && !self.dest_bytes.q.val().any();

        // The part of a message that is sent.
        self.part_offset.next =
            bit_cast::<32, PART>(self.part.q.val().first) << LOG_PART_UNIT as u64;
        self.part_rest.next = self.count.q.val() - self.part_offset.val();
        self.part_told.next = false;
        self.part_whole.next = self.count.q.val();
        self.part_resumes.next = self.part.q.val().first.any();
        self.part_pauses.next = self.part.q.val().pauses;
        self.parted.next = self.is_part.q.val() || (self.state.q.val() == DecoderState::Part);

        // Nothing happens unless a state below says so.
        self.taking.next = false;
        self.skipping.next = false;
        self.region_done.next = false;
        self.dest_done.next = false;
        self.open.next = false;
        self.dest_accept.next = false;
        self.column_accept.next = false;
        self.column_last.next = self.columns_left.q.val() == 1;
        self.remote_addr.next = self.dest_remote_addr.q.val();
        self.rkey.next = self.dest_rkey.q.val();
        self.element_alone.next = false;
        self.element_split.next = self.splits.val();
        self.check_valid.next = false;
        self.element_valid.next = false;
        self.inline_accept.next = false;
        self.inline_parts.next = 0.into();
        self.piece_valid.next = false;
        self.told_ask.next = false;
        self.finish.next = self.ended.q.val();
        self.ended.d.next = false;

        // Defaults of a lane and a check: those of an element.
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

        match self.state.q.val() {
            DecoderState::Head => {
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
                    self.head_own.d.next = self.is_reliable.val()
                        || self.fields.head_flags.val().get_bits::<3>(5).any();
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
                        self.head_rows_bad.d.next =
                            self.rest_fields[0].head_rows_per_message.val() == 0;
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
                        self.dest_no_qp.d.next =
                            self.rest_fields[1].dest_qp.val().get_bits::<20>(12) != 0;
                        self.dest_qp.d.next = self.rest_fields[1].dest_qp.val().get_bits::<QP>(0);
                        self.dest_partition.d.next = self.rest_fields[1].dest_partition.val();
                        self.dest_fixed_bad.d.next = (self.rest_fields[1].dest_regions.val() > 16)
                            || (self.rest_fields[1].dest_partition.val() != 0);
                        self.dest_regions.d.next =
                            self.rest_fields[1].dest_regions.val().get_bits::<5>(0);
                        self.dest_remote_addr.d.next = self.rest_fields[1].dest_remote_addr.val();
                        self.dest_rkey.d.next = self.rest_fields[2].dest_rkey.val();
                        self.dest_types.d.next = self.rest_fields[2].dest_types.val();
                        self.dest_bytes.d.next =
                            self.rest_fields[2].dest_inline_bytes.val().get_bits::<7>(0);
                        self.dest_by_columns.d.next =
                            self.rest_fields[2].dest_layout.val().get_bit(0);
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
            DecoderState::Look => {
                self.state.d.next = DecoderState::Judge;
            }
            DecoderState::HeadRest => {
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
                    self.dests_left.d.next =
                        self.head_destinations.q.val().get_bits::<DEST_COUNT>(0);
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
            DecoderState::Operands => {
                // For an entry that goes beyond its batch nothing is waited for.
                if self.broken.val() || self.head_length_bad.q.val() {
                    self.dest_cut.d.next = true;
                    self.state.d.next = DecoderState::Judge;
                } else if self.good.val() {
                    self.taking.next = true;
                    self.operands_read.d.next = self.granule_data.val();
                    self.state.d.next = DecoderState::Destination;
                }
            }
            DecoderState::JudgeHead => {
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
            DecoderState::Destination => {
                if self.broken.val() {
                    self.dest_cut.d.next = true;
                    self.state.d.next = DecoderState::Judge;
                } else if self.good.val() {
                    self.taking.next = true;
                    self.dest_no_qp.d.next = self.fields.dest_qp.val().get_bits::<20>(12) != 0;
                    self.dest_qp.d.next = self.fields.dest_qp.val().get_bits::<QP>(0);
                    self.dest_partition.d.next = self.fields.dest_partition.val();
                    self.dest_fixed_bad.d.next = (self.fields.dest_regions.val() > 16)
                        || (self.fields.dest_partition.val() != 0);
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
            DecoderState::DestinationRest => {
                if self.broken.val() {
                    self.dest_cut.d.next = true;
                    self.state.d.next = DecoderState::Judge;
                } else if self.good.val() {
                    self.taking.next = true;
                    self.dest_rkey.d.next = self.fields.dest_rkey.val();
                    self.dest_types.d.next = self.fields.dest_types.val();
                    self.dest_bytes.d.next = self.fields.dest_inline_bytes.val().get_bits::<7>(0);
                    self.dest_by_columns.d.next = self.fields.dest_layout.val().get_bit(0);
                    self.dest_columns.d.next =
                        self.fields.dest_remote_columns.val().get_bits::<5>(0);
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
            DecoderState::Beyond => {
                self.beyond_wait.d.next = self.beyond_wait.q.val() + 1;
                if self.beyond_wait.q.val() == BEYOND_WAIT {
                    self.state.d.next = DecoderState::Judge;
                }
            }
            DecoderState::Judge => {
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
                        || ((self.qp_error.val() || self.dest_unfit.val())
                            && !self.dest_by_columns.q.val())
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
            DecoderState::RemoteColumn => {
                // These belong to the destination's head: what the tables hold of its queue pair comes after them.
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
            DecoderState::Inline => {
                // An inline payload, as a contiguous region whose bytes are here. It is the next block, unless an
                // address came
                // before the destination: then it begins in the middle of a block.
                self.element_lane.next = 0.into();
                self.element_last.next = true;
                self.element_kind.next = CONTIGUOUS.into();
                self.element_base.next = 0.into();
                self.element_offset.next = 0.into();
                self.element_step.next = 0.into();
                self.element_len.next = bit_cast::<32, 7>(self.dest_bytes.q.val());
                self.element_addr.next = 0.into();
                self.element_count.next = 1.into();
                self.element_fetch.next = false;
                if self.broken.val() {
                    self.fail.d.next = true;
                    self.fail_qp.d.next = self.none_left.val();
                    self.state.d.next = DecoderState::End;
                } else if self.good.val() && self.set_space.val() {
                    if !self.inline_taken.q.val().any()
                        && (self.left.q.val() != bit_cast::<15, 3>(self.inline_granules.val()))
                    {
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
            DecoderState::Empty => {
                // An inline payload of no bytes: a byte represents it, which is not sent.
                self.element_lane.next = 0.into();
                self.element_last.next = true;
                self.element_kind.next = CONTIGUOUS.into();
                self.element_base.next = 0.into();
                self.element_offset.next = 0.into();
                self.element_step.next = 0.into();
                self.element_len.next = EMPTY_BYTES.into();
                self.element_addr.next = 0.into();
                self.element_count.next = 1.into();
                self.element_fetch.next = false;
                if self.set_space.val() {
                    self.inline_accept.next = true;
                    self.element_valid.next = true;
                    self.region_done.next = true;
                }
            }
            DecoderState::Ask => {
                // In place of a payload, an atomic's operands: a contiguous region whose bytes are here.
                self.element_lane.next = 0.into();
                self.element_last.next = true;
                self.element_kind.next = 0.into();
                self.element_base.next = 0.into();
                self.element_offset.next = 0.into();
                self.element_step.next = 0.into();
                self.element_len.next = ASK_BYTES.into();
                self.element_addr.next = 0.into();
                self.element_count.next = 1.into();
                self.element_fetch.next = false;
                if self.set_space.val() {
                    self.told_ask.next = true;
                    self.element_valid.next = true;
                    self.asked.d.next = true;
                    self.state.d.next = DecoderState::End;
                }
            }
            DecoderState::Region => {
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
                            // The end of the entry, without a state of its own.
                            self.skipping.next = true;
                            self.ended.d.next = true;
                            self.region_done.next = true;
                        } else if self.head_element_mask.q.val() && (self.dest_regions.q.val() != 1)
                        {
                            self.state.d.next = DecoderState::Join;
                        } else {
                            self.region_done.next = true;
                        }
                    }
                }
            }
            DecoderState::Part => {
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
            DecoderState::Join => {
                self.joined_for.d.next = true;
                self.region_done.next = self.joined_for.q.val();
            }
            DecoderState::Shape => {
                // Where pointers point to, or the fetch rows, which are as long as the bitmap.
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
                    // The array of ids, whose length is known only here.
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
                    if self.fields.shape_flags.val().get_bit(COLUMN_KINDS) && !self.shape_bad.val()
                    {
                        self.any_kinds.d.next = true;
                    }
                }
            }
            DecoderState::Function
            | DecoderState::KeyEntry
            | DecoderState::KeySource
            | DecoderState::KeyEnd => {
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
                        }
                    }
                }
            }
            DecoderState::Target => {
                if self.target_done.val() {
                    self.state.d.next = DecoderState::Element;
                    if self.special.q.val().chase {
                        self.state.d.next = DecoderState::Chain;
                    } else if self.has_kinds.q.val() {
                        self.state.d.next = DecoderState::Kind;
                    }
                }
            }
            DecoderState::Chain => {
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
            DecoderState::Kind => {
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
            DecoderState::Source => {
                // A dictionary, or a table of buffers.
                self.check_key.next = self.fields.region_lkey.val();
                self.check_base.next = self.fields.region_addr.val();
                self.check_offset.next = 0.into();
                self.check_factor.next = self.fields.region_count.val();
                self.check_step.next = bit_cast::<64, 24>(self.entry_width.q.val());
                self.check_len.next = 0.into();
                self.check_long.next = self.entry_kind.q.val() == DICTIONARY;
                self.check_span.next =
                    bit_cast::<35, 32>(self.fields.region_count.val()) << LOG_BUFFER;
                self.element_offset.next = self.entry_offset.q.val();
                self.element_len.next = self.entry_len.q.val();
                self.element_kinds.next = true;
                // Messages are not sent by these columns.
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
            DecoderState::Element => {
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
            DecoderState::End => {
                self.finish.next = true;
                if self.fail.q.val() || !self.none_left.val() {
                    self.state.d.next = DecoderState::Drop;
                } else {
                    self.skipping.next = !self.granule_first.val();
                    self.state.d.next = DecoderState::Head;
                }
            }
            DecoderState::Drop => {
                // The failed entry has been taken whole; so a first block is the next turn's.
                self.skipping.next = true;
                if self.granule_valid.val() && self.granule_first.val() && self.granule_begins.val()
                {
                    self.skipping.next = false;
                    self.state.d.next = DecoderState::Head;
                }
            }
        }

        // A bad granule ends its entry in the next cycle, in which nothing else is taken.
        if self.key_is_bad.q.val() {
            self.key_is_bad.d.next = false;
            self.fail.d.next = true;
            self.state.d.next = DecoderState::End;
        }

        // What follows a region or a destination.
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
        // A ring that cannot be read is of no destination; a failure in `Judge` is of what was read.
        if self.granule_valid.val()
            && self.granule_error.val()
            && !self.none_left.val()
            && (self.state.q.val() != DecoderState::Judge)
        {
            self.dest_index.d.next = 0.into();
        }
        if self.taking.val() {
            if self.state.q.val() == DecoderState::Head {
                // A head that is taken alone is counted anew with its second half.
                self.left.d.next = self.fields.head_granules.val().get_bits::<15>(0) - 4;
            } else if self.inline_accept.val() {
                self.left.d.next = 0.into();
            } else if self.state.q.val() != DecoderState::HeadRest {
                self.left.d.next = self.left.q.val() - 1;
            }
            self.batch_over.d.next = (self.granule_last.val() || self.skipping.val())
                && (self.granule_remaining.val() == 1);
        }
        if self.rst.val() {
            self.state.d.next = DecoderState::Head;
            self.key_is_bad.d.next = false;
            self.ended.d.next = false;
        }

        self.take.next = self.taking.val();
        self.skip.next = self.skipping.val();
        self.next_queue.next = self.head_queue.d.val();
        self.queue.next = self.head_queue.q.val();
        self.next_qp.next = self.dest_qp.d.val();
        self.pairs.asked.next = self.dest_qp.d.val();
        self.qp.next = self.dest_qp.q.val();
        self.wr_id.next = self.head_wr_id.q.val();
        self.position.next = self.head_position.q.val();
        self.unsignaled.next = self.head_unsignaled.q.val();
        self.dest_sets.next = self.dest_regions.q.val();
        if self.head_partitioned.q.val() || self.head_inline.q.val() || self.asks.val() {
            self.dest_sets.next = 1.into();
        }
        self.ask.next = self.head_ask.q.val();
        self.fenced.next = self.head_fenced.q.val();
        self.solicited.next = self.head_solicited.q.val();
        self.invalidates.next = self.head_invalidates.q.val();
        self.empty.next = self.inline_empty.val();
        self.address.next = self.head_address.q.val();
        self.piece_index.next =
            (self.dest_regions.q.val() - self.regions_left.q.val()).get_bits::<4>(0);
        self.operands.next = self.operands_read.q.val();
        self.ask_bytes.next = self.bytes.q.val().get_bits::<32>(0);
        self.check_writes.next = self.asks.val();
        self.unfit.next =
            ((self.asks.val() || self.head_invalidates.q.val() || self.head_fenced.q.val())
                && self.qp_transport.val().any())
                || (self.head_address.q.val().named && !self.qp_transport.val().get_bit(1))
                || (self.asks.val() && !self.qp_asks.val());
        self.overlong.next = self.asks.val()
            && ((self.bytes.q.val() > LONGEST_READ)
                || (self.head_ask.q.val().get_bit(1) && (self.bytes.q.val() != 8)));
        self.sets.next = self.region_index.q.val() + self.alone_sets.q.val();
        if self.asks.val() {
            self.sets.next = bit_cast::<11, 1>(self.asked.q.val().into());
        }
        self.kinds.next = self.any_kinds.q.val();
        self.element_set.next = self.special.q.val();
        self.told_inline.next = self.inline_accept.val();
        self.partition.next = self.dest_partition.q.val();
        self.partitioned.next = self.head_partitioned.q.val();
        self.fetch.next = self.head_fetch.q.val();
        self.opcode.next = self.head_opcode.q.val();
        self.imm.next = self.head_imm.q.val();
        self.by_columns.next = self.dest_by_columns.q.val();
        self.later.next = self.has_dest.q.val() && (self.dest_index.q.val() != 0);
        self.column_dests.next = self.head_destinations.q.val().get_bits::<DEST_COUNT>(0);
        self.columns.next = self.request_columns.q.val();
        self.transport.next = self.qp_transport.val();
        self.log_mtu.next = self.qp_log_mtu.val();
        self.element_mask.next =
            self.head_element_mask.q.val() && !self.head_inline.q.val() && !self.asks.val();
        self.rows_per_message.next = self.head_rows.q.val();
        self.region.next = self.region_index.q.val();
        self.dest.next = self.dest_index.q.val().get_bits::<DEST_INDEX>(0);
        self.failed.next = self.fail.q.val() || !self.none_left.val();
        self.failed_flush.next = self.fail_flush.q.val();
        self.failed_qp.next = self.fail_qp.q.val() || !self.fail.q.val();
        self.dests.next = self.accepted.q.val();
    }
}
