//! Block that consists of the walk of kinds and the tables that it reads.

use crate::context::ConfigWrite;
use crate::request::{DEST_COUNT, LaneKind, SetKinds};
use crate::rows::kinds::record::Ask;
use crate::rows::kinds::{Kinds, Made};
use crate::rows::sequencer::tables::{DestInfo, SetInfo, Tables};
use crate::shell::host_read::HostReadBeat;
use drdma_emit::prelude::*;

/// Binary logarithm of the lengths of messages that are kept: few enough that many requests have more messages.
const LOG_LENGTHS: usize = 4;

/// A lane as the decoder writes it.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct LaneOf {
    pub set: Bits<11>,
    pub lane: Bits<4>,
    pub base: Bits<64>,
    pub step: Bits<64>,
    pub len: Bits<32>,
    pub kind: Bits<3>,
    pub log_entry: Bits<2>,
    pub width: Bits<24>,
    pub addr: Bits<64>,
    pub number: Bits<32>,
}

/// A set as the decoder writes it.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct SetOf {
    pub set: Bits<11>,
    pub kind: Bits<2>,
    pub addr: Bits<64>,
    pub count: Bits<32>,
    pub lanes: Bits<5>,
    pub ids: Bits<2>,
    pub made: Bit,
    pub target_addr: Bits<64>,
    pub target_len: Bits<64>,
    pub low: Bits<64>,
    pub high: Bits<65>,
    pub first: Bits<3>,
    pub chase: Bit,
    pub period_or_end: Bits<64>,
    pub link: Bits<32>,
    pub limit: Bits<25>,
    pub pd: Bits<32>,
}

/// A destination as the decoder writes it.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct DestOf {
    pub dest: Bits<10>,
    pub sets: Bits<5>,
    pub first_set: Bits<11>,
    pub is_write: Bit,
    pub is_ud: Bit,
    pub log_mtu: Bits<4>,
    pub element_mask: Bit,
    pub units: Bits<32>,
    pub partition: Bits<16>,
    pub column_order: Bit,
}

/// Fields of a token that tests look at.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Given {
    pub set: Bits<11>,
    pub first: Bits<4>,
    pub last: Bits<4>,
    pub piece: Bit,
    pub offset: Bits<32>,
    pub bytes: Bits<7>,
    pub lead: Bit,
    pub behind: Bits<6>,
    pub row: Bits<32>,
    pub pointer: Bits<64>,
    pub dest: Bits<10>,
    pub slot: Bits<8>,
    pub message_end: Bit,
    pub message_start: Bit,
    pub message_bytes: Bits<32>,
    pub chunk_start: Bit,
    pub chunk_blocks: Bits<8>,
    pub dest_end: Bit,
}

/// A request that is to be walked.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Asked {
    pub slot: Bits<8>,
    pub dests: Bits<DEST_COUNT>,
    pub first_dest: Bits<10>,
}

/// The request that is likely to be walked next.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Next {
    pub slot: Bits<8>,
    pub dests: Bits<DEST_COUNT>,
    pub first_dest: Bits<10>,
}

#[derive(LogicBlock, BlockDefault)]
pub struct WithTables<const RECORDS: usize, const VALUES: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub cfg: Flow<In, ConfigWrite>,
    pub lane: Flow<In, LaneOf>,
    pub set: Flow<In, SetOf>,
    pub dest: Flow<In, DestOf>,
    pub asked: Flow<In, Asked>,
    /// Held while the request is known.
    pub next: Flow<In, Next>,
    pub forget: Signal<In, Bit>,
    pub done: Signal<Out, Bit>,
    pub status: Signal<Out, Bits<8>>,
    pub bad_dest: Signal<Out, Bits<DEST_COUNT>>,
    pub read: Stream<Out, Ask>,
    pub beat: Stream<In, HostReadBeat>,
    pub token: Stream<Out, Given>,
    pub made: Stream<Out, Made>,

    held: DFF<Asked>,
    tables: Tables,
    kinds: Kinds<LOG_LENGTHS, RECORDS, VALUES>,
    set_info: Signal<Local, SetInfo>,
    dest_info: Signal<Local, DestInfo>,
    lane_kind: Signal<Local, LaneKind>,
    set_kinds: Signal<Local, SetKinds>,
    unused: Signal<Local, Bit>,
}

impl<const RECORDS: usize, const VALUES: usize> Logic for WithTables<RECORDS, VALUES> {
    #[hdl_gen]
    fn update(&mut self) {
        self.tables.lane_write_valid.next = self.lane.valid.val();
        self.tables.lane_write_set.next = self.lane.set.val();
        self.tables.lane_write_lane.next = self.lane.lane.val();
        self.tables.lane_write_base.next = self.lane.base.val();
        self.tables.lane_write_step.next = self.lane.step.val();
        self.tables.lane_write_len.next = self.lane.len.val();
        self.kinds.lane_write.valid.next = self.lane.valid.val();
        self.kinds.lane_write.set.next = self.lane.set.val();
        self.kinds.lane_write.lane.next = self.lane.lane.val();
        self.kinds.lane_write.base.next = self.lane.base.val();
        self.kinds.lane_write.step.next = self.lane.step.val();
        self.kinds.lane_write.len.next = self.lane.len.val();
        self.kinds.lane_write.inline.next = false;
        self.lane_kind.next.kind = self.lane.kind.val();
        self.lane_kind.next.log_entry = self.lane.log_entry.val();
        self.lane_kind.next.width = self.lane.width.val();
        self.lane_kind.next.addr = self.lane.addr.val();
        self.lane_kind.next.number = self.lane.number.val();
        self.kinds.lane_kind.next = self.lane_kind.val();
        self.tables.set_write_valid.next = self.set.valid.val();
        self.tables.set_write_set.next = self.set.set.val();
        self.set_info.next.kind = self.set.kind.val();
        self.set_info.next.addr = self.set.addr.val();
        self.set_info.next.count = self.set.count.val();
        self.set_info.next.lanes = self.set.lanes.val();
        self.set_info.next.row_bytes = 0.into();
        self.set_info.next.starts = 0.into();
        self.set_info.next.ids = self.set.ids.val();
        self.set_info.next.fetch = false;
        self.set_info.next.made = self.set.made.val();
        self.tables.set_write_info.next = self.set_info.val();
        self.tables.set_write_target_addr.next = self.set.target_addr.val();
        self.tables.set_write_target_len.next = self.set.target_len.val();
        self.tables.set_write_low.next = self.set.low.val();
        self.tables.set_write_high.next = self.set.high.val();
        self.kinds.set_valid.next = self.set.valid.val();
        self.kinds.set_index.next = self.set.set.val();
        self.set_kinds.next.first = self.set.first.val();
        self.set_kinds.next.chase = self.set.chase.val();
        self.set_kinds.next.period_or_end = self.set.period_or_end.val();
        self.set_kinds.next.link = self.set.link.val();
        self.set_kinds.next.limit = self.set.limit.val();
        self.set_kinds.next.pd = self.set.pd.val();
        self.kinds.set_kinds.next = self.set_kinds.val();
        self.tables.dest_write_valid.next = self.dest.valid.val();
        self.tables.dest_write_dest.next = self.dest.dest.val();
        self.tables.dest_write_qp.next = 0.into();
        self.dest_info.next.sets = self.dest.sets.val();
        self.dest_info.next.first_set = self.dest.first_set.val();
        self.dest_info.next.is_write = self.dest.is_write.val();
        self.dest_info.next.is_ud = self.dest.is_ud.val();
        self.dest_info.next.log_mtu = self.dest.log_mtu.val();
        self.dest_info.next.element_mask = self.dest.element_mask.val();
        self.dest_info.next.units = self.dest.units.val();
        self.dest_info.next.same_lanes = false;
        self.dest_info.next.partition = self.dest.partition.val();
        self.dest_info.next.column_order = self.dest.column_order.val();
        self.tables.dest_write_info.next = self.dest_info.val();
        self.tables.dest_read.next = self.kinds.dest_read.val();
        self.tables.qp_read.next = self.kinds.dest_read.val();
        self.tables.set_read.next = self.kinds.set_read.val();
        self.tables.extent_read.next = self.kinds.set_read.val();
        self.kinds.dest_info.next = self.tables.dest_info.val();
        self.kinds.set_info.next = self.tables.set_info.val();
        self.kinds.bounds.next = self.tables.bounds.val();
        self.unused.next = self.tables.overlaps.val()
            || self.tables.dest_qp.val().any()
            || self.tables.span.val().any()
            || self.tables.steps.val().any()
            || self.tables.length_write.val()
            || self.tables.length_address.val().any()
            || self.tables.length_data.val().any()
            || self.kinds.token.val().unit_end
            || self.kinds.token.val().request_end
            || self.kinds.token.val().status.any()
            || self.kinds.token.val().bad_dest.any()
            || self.kinds.token.val().column
            || self.kinds.token.val().rows.any();

        self.cfg.join(&mut self.kinds.cfg);
        if self.asked.valid.val() {
            self.held.d.next = self.asked.val();
        }
        self.kinds.start.next = self.asked.valid.val();
        self.kinds.slot.next = self.held.q.val().slot;
        self.kinds.dests.next = self.held.q.val().dests;
        self.kinds.first_dest.next = self.held.q.val().first_dest;
        self.kinds.next_valid.next = self.next.valid.val();
        self.kinds.next_slot.next = self.next.slot.val();
        self.kinds.next_dests.next = self.next.dests.val();
        self.kinds.next_first_dest.next = self.next.first_dest.val();
        self.kinds.forget.next = self.forget.val();
        self.done.next = self.kinds.done.val();
        self.status.next = self.kinds.status.val();
        self.bad_dest.next = self.kinds.bad_dest.val();
        self.kinds.read.join(&mut self.read);
        self.beat.join(&mut self.kinds.beat);
        self.token.valid.next = self.kinds.token_valid.val();
        self.kinds.token_ready.next = self.token.ready.val();
        self.token.set.next = self.kinds.token.val().set;
        self.token.first.next = self.kinds.token.val().first;
        self.token.last.next = self.kinds.token.val().last;
        self.token.piece.next = self.kinds.token.val().piece;
        self.token.offset.next = self.kinds.token.val().offset;
        self.token.bytes.next = self.kinds.token.val().bytes;
        self.token.lead.next = self.kinds.token.val().lead;
        self.token.behind.next = self.kinds.token.val().behind;
        self.token.row.next = self.kinds.token.val().row;
        self.token.pointer.next = self.kinds.token.val().pointer;
        self.token.dest.next = self.kinds.token.val().dest;
        self.token.slot.next = self.kinds.token.val().slot;
        self.token.message_end.next = self.kinds.token.val().message_end;
        self.token.message_start.next = self.kinds.token.val().message_start;
        self.token.message_bytes.next = self.kinds.token.val().message_bytes;
        self.token.chunk_start.next = self.kinds.token.val().chunk_start;
        self.token.chunk_blocks.next = self.kinds.token.val().chunk_blocks;
        self.token.dest_end.next = self.kinds.token.val().dest_end;
        self.kinds.made.join(&mut self.made);
    }
}
