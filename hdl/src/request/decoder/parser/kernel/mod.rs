//! The logic of the parser's state machine. Its parts stand in files by what an entry consists of.

mod destinations;
mod elements;
mod heads;
mod outputs;
mod regions;

use super::{ASKS, DecoderState, FIRST_STAGES, Parser};
use crate::context::QP;
use crate::request::{BITMAPPED, LOG_PART_UNIT, MAX_REMOTE};
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
/// Records of a chain, at most.
const LONGEST_CHAIN: u64 = MAX_CHAIN as u64;
/// Buffers of views, at most, are a power of two: its logarithm, and the bits of a count above it.
const LOG_MOST: usize = MAX_VIEW_BUFFERS.trailing_zeros() as usize;
const BEYOND_MOST: usize = 31 - LOG_MOST;
/// Bytes of a view, and binary logarithm of the bytes of a buffer's entry.
const VIEW_BYTES: u64 = VIEW as u64;
const LOG_BUFFER: u64 = Element::SIZE.trailing_zeros() as u64;
const _: () = assert!(
    COLUMN_KINDS == 1 && CHASE == 2 && shape_flags::PARTITION_BY == 8 && FIRST_BIT == 4,
    "the flags of a shape"
);
const _: () = assert!(Element::SIZE == 1 << LOG_BUFFER && MAX_VIEW_BUFFERS == 1 << LOG_MOST);

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
    "bit 1 of an opcode marks a WRITE"
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

        self.judge_fetch_plan();

        // Kind of the granule. An entry ends with its batch at the latest, whatever its length field says.
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

        self.judge_head();
        self.judge_destination();
        self.judge_shape();
        self.judge_kind();
        self.judge_function();
        self.look_ahead();
        self.judge_layout();
        self.find_part();

        // Defaults of all outputs, until a state below sets them.
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

        self.element_defaults();

        match self.state.q.val() {
            DecoderState::Head => self.take_head(),
            DecoderState::Look => {
                self.state.d.next = DecoderState::Judge;
            }
            DecoderState::HeadRest => self.take_rest(),
            DecoderState::Operands => self.take_operands(),
            DecoderState::JudgeHead => self.open_partitioned(),
            DecoderState::Destination => self.take_destination(),
            DecoderState::DestinationRest => self.take_destination_rest(),
            DecoderState::Beyond => {
                self.beyond_wait.d.next = self.beyond_wait.q.val() + 1;
                if self.beyond_wait.q.val() == BEYOND_WAIT {
                    self.state.d.next = DecoderState::Judge;
                }
            }
            DecoderState::Judge => self.accept_destination(),
            DecoderState::RemoteColumn => self.take_remote_column(),
            DecoderState::Inline => self.take_inline(),
            DecoderState::Empty => self.give_empty(),
            DecoderState::Ask => self.give_operands(),
            DecoderState::Region => self.take_region(),
            DecoderState::Part => self.give_part(),
            DecoderState::Join => {
                self.joined_for.d.next = true;
                self.region_done.next = self.joined_for.q.val();
            }
            DecoderState::Shape => self.take_shape(),
            DecoderState::Function
            | DecoderState::KeyEntry
            | DecoderState::KeySource
            | DecoderState::KeyEnd => self.take_key(),
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
            DecoderState::Chain => self.take_chain(),
            DecoderState::Kind => self.take_kind(),
            DecoderState::Source => self.take_source(),
            DecoderState::Element => self.take_element(),
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

        // A bad granule ends its entry in the next cycle, in which no granule is taken.
        if self.key_is_bad.q.val() {
            self.key_is_bad.d.next = false;
            self.fail.d.next = true;
            self.state.d.next = DecoderState::End;
        }

        self.go_on();

        // A ring that cannot be read is a failure of no destination; one in `Judge` is of the granule that was read.
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

        self.tell();
    }
}
