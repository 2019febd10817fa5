//! Walks requests with kinds of columns: rows whose entries lead to bytes elsewhere, and chains of records
//! (docs/semantics.md, "Kinds of columns").
//!
//! Stands in the sequencer, beside its plan. The plan hands a request over when all requests before have left the
//! sequencer; until it is done, the tables of destinations and sets are read here. Plain regions of such a request are
//! walked here as well.
//!
//! ```text
//! sets, destinations -> Lister (Finder) --wanted--> lanes, product --> Lines --entries, answers--> Follower ---+
//!                        ^  lists, links   ^ |                          ^ |       tables of buffers  ^ |     values
//!                        |              Planner                         | |                          | |        |
//!                        +---------------------------- host_read -------+-+--------------------------+-+        v
//!                                                                                    token, made <-----+----- Giver
//!                                                                                                      |        |
//!                                                                                                    Giver <- Replay
//! ```
//!
//! - **[`Lister`]** walks the rows of destinations, region by region, and asks for one group of a row's lanes a cycle:
//!   lanes of fixed width side by side, of up to 64 bytes together, lanes of bits side by side, or one other lane. Its
//!   **[`Finder`](finder::Finder)** finds the rows: bits of bitmaps, ids, pointers, chains. Its
//!   **[`Chaser`](chaser::Chaser)** follows 64 chains at once, its **[`Trail`](trail::Trail)** keeps their records.
//! - **[`Planner`]** decides which lanes of a region form groups, and what all of its rows have in common.
//! - **[`Lines`]** reads the entries that lead elsewhere, in blocks of 256 bytes, and keeps 256 of these for the
//!   request. Its **[`BitLines`](bits::BitLines)** keeps lines of bits, and picks one bit of each lane in a cycle.
//! - **[`Follower`]** follows the entries to the ranges of their values, and checks what docs/semantics.md says about
//!   where these may lie.
//! - **[`Giver`]** counts the bytes of messages, and emits the bytes as tokens of up to 64: of a group, of one piece of
//!   host memory, of bytes that are made here, or of the length of a value, which is made here, and its first piece.
//! - **[`Replay`]** keeps the values that were judged, and the lengths of messages. Another giver sends them.
//!
//! Every destination is judged before the first token of a request: all its rows are walked, and their entries are
//! followed. The values are kept in the order of the walk. If there is room for all of them, the request is sent from
//! what was kept: nothing is read or judged a second time, and what the host changes meanwhile changes nothing that is
//! sent. The next request is judged at the same time, if it is known.
//!
//! The values of other requests are not kept: of those that have more values or messages than there is room for; of
//! partitioned ones with more rows than half of that or more than 64 destinations; of destinations whose units have an
//! element of each of several regions with rows of their own; and of requests of few rows (fewer than a thirty-second of
//! that room), unless more than two destinations have lists of their own. Where they are judged, all entries are
//! followed that may lead nowhere or to values of any length; fixed widths and bits are the same in every row. Then
//! their rows are walked again, and their entries are followed and judged anew, because the host may have changed them.
//! The length of a WRITE's message comes before its first byte: it is kept from when the message was judged. If a
//! request has more messages than can be kept, the rows of each message are walked a third time for its length.
//!
//! The destinations of a partitioned request take turns, chunk of rows by chunk of rows, so that the entries and values
//! of neighbouring rows are read at about the same time. The destinations of WRITEs whose values are not kept are
//! judged one after the other, and so are all destinations if one of them has failed in turns.
//!
//! Contract: one request at a time; `done` is a pulse at its end, with its status. By then all reads are answered, and
//! all tokens have left this block. The request that `next_valid` announces is the next one to be started,
//! unless `forget` cancels it. If that request is judged while another one is sent, `done` waits for its verdict.
//!
//! A group takes a cycle, and a row at least one; a row that several regions share counts as one. A value that is sent
//! takes a cycle for each 64 bytes, of which its length is the beginning. 512 entries are under way at once.
//!
//! A list is read 512 B at a time, and 64 such windows are kept. The next 16 windows of a list are asked for while rows
//! of those before are found. The first windows of the lists of the first 32 destinations are asked for before the
//! first walk, and so are the first lines of bits: all of these reads share a round trip. If the next request is known
//! when all destinations are judged, and the current request is walked again, the lists and lines of bits of the next
//! one are asked for then, and come while the current request is sent. The windows of two requests share the slots, and
//! the lines of bits of two requests their places, so that neither finds what was read for the other. A request is done
//! when all reads for the next one have arrived.
//!
//! Where ids are made from keys, a window of them is asked for by its rows ([`Ask`]), and the sequencer makes the ids.
//!
//! Each record of a chain takes a round trip, which 64 chains share. A request with chains is not judged before it
//! starts. Where chains are judged, the pointers of their records are kept, if there is room for all records of a
//! region: such a region's chains are not followed again, and the records that were judged are sent. All other chains
//! are followed again, one after the other where rows are walked element by element or each message is walked twice. A
//! buffer of views is read when a view first leads there, and is then known for the rest of the request, unless another
//! buffer takes its place among 64.

pub mod bits;
pub mod chaser;
pub mod finder;
pub mod follower;
pub mod giver;
pub mod lines;
pub mod lister;
pub mod planner;
pub mod record;
pub mod replay;
#[cfg(test)]
mod tests;
pub mod trail;

use crate::context::ConfigWrite;
use crate::primitive::{
    Fifo, Flatten, Lutram, Multiplier, Ram, RamStyle, Restore, StreamFifo, StreamSkid,
};
use crate::request::{BITS, DEST_COUNT, FIXED, LaneKind, SetKinds, VIEWS};
use crate::rows::expander::LaneWrite;
use crate::rows::sequencer::record::Token;
use crate::rows::sequencer::tables::{Bounds, DestInfo, SetInfo};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_abi::work_request::VIEW;
use drdma_emit::prelude::*;
use follower::Follower;
use giver::Giver;
use lines::Lines;
use lister::{Lister, MOST_REST};
use planner::Planner;
use record::{Ask, LANE_BITS, LINE, LOAD, Lane, Line, MESSAGE, PLAN, Placed, TABLE, VALUE};
use replay::Replay;

/// Bytes of a view.
const VIEW_BYTES: u64 = VIEW as u64;
/// Bits of a [`SetKinds`].
const SET_KINDS_BITS: usize = <SetKinds as Synth>::BITS;
/// Rows of a block: as many as a line has bits.
const BLOCK: u64 = 8 * LINE;
/// Cycles from a lane to the product of its step and a row.
const STAGES: usize = 5;
/// Largest number of entries that wait for their lanes and products.
const MOST: u64 = 32;

/// Bits of the place of a column of bits: its address, and its first bit in that byte.
const COLUMN: usize = 64 + 3;

/// Owner of a read, in `Kinds::owners`.
const ENTRIES: u64 = 0;
const LISTER: u64 = 1;
const FOLLOWER: u64 = 2;
const CHAINS: u64 = 3;

/// 1 to 4 bytes of payload that the card makes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Made {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// The bytes, the first one lowest.
    pub data: Bits<32>,
}

/// Walker of requests with kinds; see the [module](self). It keeps the lengths of fewer than 2^`LENGTHS` messages and
/// ends of destinations, `RECORDS` records of chains, and of each of two requests 2^(`VALUES` - 1) values and the
/// lengths of 2^(`LENGTHS` - 1) messages.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; the decoder's writes: `lane_write` with `lane_kind`, and of sets `set_valid`, `set_index`,
/// `set_kinds`; `start` with `slot`, `dests`, `first_dest`; `next_valid` with `next_slot`, `next_dests`,
/// `next_first_dest`; `forget`; entries of the tables: `dest_info`, `set_info`, `bounds`; stream `beat`, and the ready
/// inputs.
///
/// # Outputs
/// `dest_read`, `set_read`; streams `read`, `token`, `made`; `done` with `status`, `bad_dest`.
#[derive(LogicBlock, BlockDefault)]
pub struct Kinds<const LENGTHS: usize, const RECORDS: usize, const VALUES: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Lanes that the decoder writes.
    pub lane_write: Flow<In, LaneWrite>,
    /// With `lane_write`: how the entries of the lane lead to bytes.
    pub lane_kind: Signal<In, LaneKind>,
    /// The decoder writes a set.
    pub set_valid: Signal<In, Bit>,
    /// Number of the set.
    pub set_index: Signal<In, Bits<11>>,
    /// Properties of the set that only sets with kinds have.
    pub set_kinds: Signal<In, SetKinds>,

    /// A request is to be walked.
    pub start: Signal<In, Bit>,
    /// Slot of the request, until it is done.
    pub slot: Signal<In, Bits<8>>,
    /// Number of destinations of the request, until it is done.
    pub dests: Signal<In, Bits<DEST_COUNT>>,
    /// Place of the first destination in the ring of destinations, until the request is done.
    pub first_dest: Signal<In, Bits<10>>,
    /// The request that will be walked next, unless `forget` comes, is known; held until `done`.
    pub next_valid: Signal<In, Bit>,
    /// With `next_valid`: its slot.
    pub next_slot: Signal<In, Bits<8>>,
    /// With `next_valid`: its number of destinations.
    pub next_dests: Signal<In, Bits<DEST_COUNT>>,
    /// With `next_valid`: place of its first destination in the ring of destinations.
    pub next_first_dest: Signal<In, Bits<10>>,
    /// The request that was known will not be walked; only between `done` and `start`.
    pub forget: Signal<In, Bit>,
    /// The request has been walked.
    pub done: Signal<Out, Bit>,
    /// With `done`: status of the request.
    pub status: Signal<Out, Bits<8>>,
    /// With `done`: the destination that failed.
    pub bad_dest: Signal<Out, Bits<DEST_COUNT>>,

    /// Place of the destination to read.
    pub dest_read: Signal<Out, Bits<10>>,
    /// The destination that `dest_read` named in the cycle before.
    pub dest_info: Signal<In, DestInfo>,
    /// Number of the set to read.
    pub set_read: Signal<Out, Bits<11>>,
    /// The set that `set_read` named in the cycle before.
    pub set_info: Signal<In, SetInfo>,
    /// Range of that set's valid pointers.
    pub bounds: Signal<In, Bounds>,

    /// Reads of host memory, and of ids that are made from keys.
    pub read: Stream<Out, Ask>,
    /// Answers of the reads, in their order, in beats of 64 bytes.
    pub beat: Stream<In, HostReadBeat>,

    /// A token is offered.
    pub token_valid: Signal<Out, Bit>,
    /// The token is taken in this cycle.
    pub token_ready: Signal<In, Bit>,
    /// The token.
    pub token: Signal<Out, Token>,
    /// Made bytes of tokens, each before its token.
    pub made: Stream<Out, Made>,

    lister: Lister<RECORDS>,
    follower: Follower,
    giver: Giver<LENGTHS>,
    replay: Replay<LENGTHS, VALUES>,
    /// Sends the values that were kept, without the memory of lengths.
    sender: Giver<1>,
    #[init(Constant::new((1_u64 << (VALUES - 2)).into()))]
    room_for_rows: Constant<Bits<33>>,
    #[init(Constant::new((1_u64 << (VALUES - 6)).into()))]
    least_rows: Constant<Bits<33>>,
    judged: Signal<Local, Bit>,
    unused_judged: Signal<Local, Bit>,
    #[init(Ram::new(RamStyle::Ultra))]
    lanes: Ram<LANE_BITS, 1, 15>,
    lane_new: Signal<Local, Lane>,
    lane_in: Flatten<Lane, LANE_BITS>,
    lane: Restore<Lane, LANE_BITS>,
    sets: Ram<SET_KINDS_BITS, 1, 11>,
    set_in: Flatten<SetKinds, SET_KINDS_BITS>,
    set: Restore<SetKinds, SET_KINDS_BITS>,
    unused: Signal<Local, Bit>,
    /// A request begins, or is judged anew.
    clears: Signal<Local, Bit>,
    planner: Planner,
    /// Of the lanes of four regions: address and first bit of the column whose lines of bits were asked for last.
    columns: Lutram<COLUMN, 6, 1>,
    column: Signal<Local, Bits<COLUMN>>,
    column_at: Signal<Local, Bits<6>>,

    // From a wanted lane to the address of its entry.
    on_way: DFF<Bits<6>>,
    has_room: DFF<Bit>,
    take: Signal<Local, Bit>,
    /// A wanted lane is taken of which an entry is made.
    goes_on: Signal<Local, Bit>,
    gone: Signal<Local, Bit>,
    wanted: DFF<record::Wanted>,
    fetched: DFF<Bit>,
    multiplied: [DFF<Bit>; STAGES],
    #[init(Multiplier::new(STAGES))]
    multiplier: Multiplier<32, 64, 96>,
    is_fixed: Signal<Local, Bit>,
    step: Signal<Local, Bits<64>>,
    unused_product: Signal<Local, Bits<96>>,
    bit_at: Signal<Local, Bits<33>>,
    /// Number of bits before that of row 0 in its line.
    offset: Signal<Local, Bits<9>>,
    /// Number of the row's bit, counted from the beginning of the line with the first bit of the row's block.
    bit_in_line: Signal<Local, Bits<10>>,
    rest_of_next: Signal<Local, Bits<12>>,
    placed_new: Signal<Local, Placed>,
    placed: StreamFifo<Placed, 5, 6>,
    products: Fifo<64, 5, 6>,
    lines: Lines,

    // Reads.
    owners: Fifo<2, 6, 7>,
    table_reads: StreamSkid<HostReadRequest>,
    list_reads: StreamSkid<Ask>,
    /// Skid buffer that holds a read that is offered.
    requests: StreamSkid<Ask>,
    /// Chains and entries take turns.
    link_turn: DFF<Bit>,
    asks_link: Signal<Local, Bit>,
    asks: Signal<Local, Bit>,
    ask: Signal<Local, Ask>,
    has_room_to_ask: Signal<Local, Bit>,
    is_entries: Signal<Local, Bit>,
    line: Signal<Local, Line>,
    arrived: Signal<Local, Bit>,
    /// Nothing is under way, and nothing was taken in the cycle before.
    quiet: DFF<Bit>,
    unused_counts: Signal<Local, Bits<7>>,
}

impl<const LENGTHS: usize, const RECORDS: usize, const VALUES: usize> Logic
    for Kinds<LENGTHS, RECORDS, VALUES>
{
    #[hdl_gen]
    fn update(&mut self) {
        // The decoder's writes.
        self.lane_new.next.base = self.lane_write.base.val();
        self.lane_new.next.kind = self.lane_kind.val().kind;
        self.lane_new.next.log_entry = self.lane_kind.val().log_entry;
        self.lane_new.next.width = self.lane_kind.val().width;
        self.lane_new.next.addr = self.lane_kind.val().addr;
        self.lane_new.next.number = self.lane_kind.val().number;
        if self.lane_kind.val().kind == FIXED {
            self.lane_new.next.number = self.lane_write.len.val();
        }
        self.lane_in.record.next = self.lane_new.val();
        self.lanes.write_lanes.next = bit_cast::<1, 1>(self.lane_write.valid.val().into());
        self.lanes.write_address.next = (bit_cast::<15, 11>(self.lane_write.set.val()) << 4)
            | bit_cast::<15, 4>(self.lane_write.lane.val());
        self.lanes.write_data.next = self.lane_in.bits.val();
        self.unused.next = self.lane_write.inline.val() || self.lane_write.step.val().any();
        self.set_in.record.next = self.set_kinds.val();
        self.sets.write_lanes.next = bit_cast::<1, 1>(self.set_valid.val().into());
        self.sets.write_address.next = self.set_index.val();
        self.sets.write_data.next = self.set_in.bits.val();
        self.sets.read_enable.next = true;
        self.sets.read_address.next = self.lister.set_read.val();
        self.set.bits.next = self.sets.read_data.val();

        // The request.
        self.lister.start.next = self.start.val();
        self.lister.dests.next = self.dests.val();
        self.lister.first_dest.next = self.first_dest.val();
        self.lister.next_valid.next = self.next_valid.val();
        self.lister.request_slot.next = self.slot.val();
        self.lister.next_slot.next = self.next_slot.val();
        self.lister.next_dests.next = self.next_dests.val();
        self.lister.next_first_dest.next = self.next_first_dest.val();
        self.lister.forget.next = self.forget.val();
        self.lister.dest_info.next = self.dest_info.val();
        self.lister.set_info.next = self.set_info.val();
        self.lister.bounds.next = self.bounds.val();
        self.lister.set_kinds.next = self.set.record.val();
        self.lister.refused.next = self.giver.failed.val();
        self.lister.refused_dest.next = self.giver.dest.val();
        self.lister.too_long.next = self.giver.too_long.val();
        self.lister.kept.next = self.giver.kept.val();
        self.lister.total.next = self.giver.total.val();
        self.lister.plan_done.next = self.planner.done.val();
        self.lister.plan.next = self.planner.plan.val();
        self.dest_read.next = self.lister.dest_read.val();
        self.set_read.next = self.lister.set_read.val();
        self.done.next = self.lister.done.val();
        self.status.next = self.lister.status.val();
        self.bad_dest.next = self.lister.bad_dest.val();
        self.clears.next = self.lister.clears.val();
        self.follower.clear.next = self.clears.val();
        self.follower.pd.next = self.lister.pd.val();
        self.cfg.join(&mut self.follower.cfg);
        self.giver.clear.next = self.clears.val();
        self.giver.slot.next = self.slot.val();
        self.follower.value.join(&mut self.giver.value);
        self.giver.replays.next = false;
        self.giver.replayed_length.next = 0.into();
        self.giver.judged_total.next = 0.into();

        // Values are kept as they are judged, and replayed while the next request is judged.
        self.judged.next = self.follower.value.valid.val() && self.giver.value.ready.val();
        self.replay.clear.next = self.clears.val();
        self.replay.judged.valid.next = self.judged.val() && !self.follower.value.give.val();
        self.replay.judged.next = self.follower.value.val();
        self.replay.length.next = self.giver.length.val();
        self.replay.send.next = self.lister.send.val();
        self.replay.marks.next = self.lister.marks.val();
        self.replay.merges.next = self.lister.merges.val();
        self.replay.leads.next = self.lister.leads.val();
        self.replay.lead_lane.next = self.lister.lead_lane.val();
        self.replay.lead_bytes.next = self.lister.lead_bytes.val();
        self.replay.value.join(&mut self.sender.value);
        self.replay.begun.next = self.sender.begun.val();
        self.sender.clear.next = self.lister.send.val();
        self.sender.slot.next = self.slot.val();
        self.sender.replays.next = true;
        self.sender.replayed_length.next = self.replay.told.val();
        self.sender.judged_total.next = self.giver.total.val();
        self.lister.full.next = self.replay.full.val();
        self.lister.room_for_rows.next = self.room_for_rows.val();
        self.lister.least_rows.next = self.least_rows.val();
        self.lister.sent.next = !self.replay.busy.val() && self.sender.idle.val();
        self.unused_judged.next = self.giver.begun.val()
            || self.sender.length.val().any()
            || self.sender.failed.val()
            || self.sender.too_long.val()
            || self.sender.dest.val().any()
            || self.sender.kept.val()
            || self.sender.total.val().any();

        // A wanted lane is read from `lanes`, then waits for the product of row and step.
        self.lister.wanted.ready.next = self.has_room.q.val();
        self.take.next = self.lister.wanted.valid.val() && self.has_room.q.val();
        self.gone.next = self.placed.output.valid.val() && self.lines.placed.ready.val();
        self.goes_on.next = self.take.val() && (self.lister.wanted.task.val() != PLAN);
        if self.goes_on.val() && !self.gone.val() {
            self.on_way.d.next = self.on_way.q.val() + 1;
        } else if !self.goes_on.val() && self.gone.val() {
            self.on_way.d.next = self.on_way.q.val() - 1;
        }
        self.has_room.d.next = self.on_way.d.val() < MOST;
        self.lanes.read_enable.next = true;
        self.lanes.read_address.next = (bit_cast::<15, 11>(self.lister.wanted.set.val()) << 4)
            | bit_cast::<15, 4>(self.lister.wanted.lane.val());
        self.wanted.d.next = self.lister.wanted.val();
        self.fetched.d.next = self.take.val();
        self.lane.bits.next = self.lanes.read_data.val();
        // The planner takes the lanes of a region, and compares lanes of bits with those that were asked for last.
        self.planner.valid.next = self.fetched.q.val()
            && ((self.wanted.q.val().task == PLAN) || (self.wanted.q.val().task == TABLE));
        self.planner.lane.next = self.wanted.q.val().lane;
        self.planner.last.next = self.wanted.q.val().unit_end;
        self.planner.kind.next = self.lane.record.val().kind;
        self.planner.bytes.next = self.lane.record.val().number;
        self.column.next = (bit_cast::<COLUMN, 64>(self.lane.record.val().base) << 3)
            | bit_cast::<COLUMN, 3>(self.lane.record.val().width.get_bits::<3>(0));
        self.column_at.next = (bit_cast::<6, 2>(self.wanted.q.val().slot) << 4)
            | bit_cast::<6, 4>(self.wanted.q.val().lane);
        self.columns.read_address[0].next = self.column_at.val();
        self.columns.write_address.next = self.column_at.val();
        self.columns.write_data.next = self.column.val();
        self.columns.write_enable.next = self.fetched.q.val() && (self.wanted.q.val().task == LOAD);
        self.planner.differs.next = self.columns.read_data[0].val() != self.column.val();

        // Step from a row to the next: bits are found by their lines below, and values of fixed width by the expander.
        self.is_fixed.next = (self.lane.record.val().kind == FIXED)
            || ((self.wanted.q.val().task != VALUE)
                && (self.wanted.q.val().task != TABLE)
                && (self.wanted.q.val().task != LOAD));
        self.step.next = 0.into();
        if self.is_fixed.val() {
            self.step.next = 0.into();
        } else if self.wanted.q.val().strided {
            self.step.next = self.wanted.q.val().period;
        } else if self.lane.record.val().kind == VIEWS {
            self.step.next = VIEW_BYTES.into();
        } else if self.lane.record.val().kind != BITS {
            // The offsets of a column overlap: a row has its own and the next.
            self.step.next = bits::<64>(1) << self.lane.record.val().log_entry;
        }
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.wanted.q.val().row;
        self.multiplier.b.next = self.step.val();
        self.unused_product.next = self.multiplier.product.val();
        self.placed.input.valid.next = self.fetched.q.val() && (self.wanted.q.val().task != PLAN);
        self.multiplied[0].d.next = self.placed.input.valid.val();
        for k in 1..STAGES {
            self.multiplied[k].d.next = self.multiplied[k - 1].q.val();
        }
        self.bit_at.next = bit_cast::<33, 32>(self.wanted.q.val().row)
            + bit_cast::<33, 3>(self.lane.record.val().width.get_bits::<3>(0));
        self.lane.record.share(&mut self.placed_new);
        self.wanted.q.share(&mut self.placed_new);
        self.placed_new.next.start = self.lane.record.val().base + self.wanted.q.val().pointer;
        if self.is_fixed.val() {
            self.placed_new.next.kind = FIXED.into();
            self.placed_new.next.start = self.wanted.q.val().pointer;
            self.placed_new.next.addr = bit_cast::<64, 32>(self.wanted.q.val().row);
            if self.wanted.q.val().task == MESSAGE {
                self.placed_new.next.number = self.wanted.q.val().row;
            } else if self.wanted.q.val().first != self.wanted.q.val().lane {
                self.placed_new.next.number = bit_cast::<32, 7>(self.wanted.q.val().group);
            }
        }
        // Address of a line of bits, and the place where it is kept.
        self.offset.next = (bit_cast::<9, 6>(self.lane.record.val().base.get_bits::<6>(0)) << 3)
            | bit_cast::<9, 3>(self.lane.record.val().width.get_bits::<3>(0));
        self.bit_in_line.next = bit_cast::<10, 9>(self.wanted.q.val().row.get_bits::<9>(0))
            + bit_cast::<10, 9>(self.offset.val());
        self.rest_of_next.next = bit_cast::<12, 10>(self.wanted.q.val().rest)
            + bit_cast::<12, 10>(self.bit_in_line.val());
        self.placed_new.next.bit = self.bit_at.val().get_bits::<3>(0);
        self.placed_new.next.some = !self.bit_in_line.val().get_bit(9);
        self.placed_new.next.half = (bit_cast::<3, 2>(self.wanted.q.val().slot) << 1)
            | bit_cast::<3, 1>(self.wanted.q.val().row.get_bits::<1>(9));
        self.placed_new.next.spot = self.wanted.q.val().row.get_bits::<10>(0);
        if self.wanted.q.val().task == LOAD {
            self.placed_new.next.spot = bit_cast::<10, 9>(self.offset.val());
            self.placed_new.next.start =
                self.lane.record.val().base + bit_cast::<64, 33>(self.bit_at.val() >> 3);
            if self.wanted.q.val().unit_end {
                self.placed_new.next.start = (bit_cast::<64, 58>(
                    self.lane.record.val().base.get_bits::<58>(6)
                        + bit_cast::<58, 23>(self.wanted.q.val().row.get_bits::<23>(9)),
                ) << 6)
                    + LINE;
                self.placed_new.next.bit = 0.into();
                self.placed_new.next.half = (bit_cast::<3, 2>(self.wanted.q.val().slot) << 1)
                    | bit_cast::<3, 1>(!self.wanted.q.val().row.get_bits::<1>(9));
                // The second line has bits of rows if the region has a row at bit 512 or behind, counted as in
                // `bit_in_line`.
                self.placed_new.next.some = self.rest_of_next.val() >= BLOCK;
                self.placed_new.next.rest = (self.rest_of_next.val() - BLOCK).get_bits::<10>(0);
                if (self.rest_of_next.val() - BLOCK) > MOST_REST {
                    self.placed_new.next.rest = MOST_REST.into();
                }
            }
        }
        self.placed_new.next.step = self.step.val().get_bits::<6>(0);
        // Entries that may share a line with the next one of their lane.
        self.placed_new.next.near = !self.wanted.q.val().apart
            && ((self.lane.record.val().kind == BITS)
                || (self.step.val().get_bits::<6>(0).any()
                    && !self.step.val().get_bits::<58>(6).any()));
        self.placed.input.data.next = self.placed_new.val();
        self.products.in_valid.next = self.multiplied[STAGES - 1].q.val();
        self.products.in_data.next = self.multiplier.product.val().get_bits::<64>(0);

        // Entries with their addresses; some of them are read.
        self.lines.clear.next = self.clears.val();
        self.placed.output.join(&mut self.lines.placed);
        self.lines.product.valid.next = self.products.out_valid.val();
        self.lines.product.bytes.next = self.products.out_data.val();
        self.products.out_ready.next = self.lines.product.ready.val();
        self.lines.entry.join(&mut self.follower.entry);
        self.lines.answer.join(&mut self.follower.answer);

        // Reads: of tables first, then of lists, then of chains and entries in turns.
        self.asks.next = false;
        self.ask.next.addr = self.lines.read.addr.val();
        self.ask.next.bytes = self.lines.read.bytes.val();
        self.ask.next.made = false;
        self.ask.next.wide = false;
        self.ask.next.first = 0.into();
        self.ask.next.slot = 0.into();
        self.owners.in_data.next = ENTRIES.into();
        self.follower.read.join(&mut self.table_reads.input);
        self.lister.read.join(&mut self.list_reads.input);
        self.has_room_to_ask.next = self.owners.in_ready.val() && self.requests.input.ready.val();
        self.table_reads.output.ready.next = false;
        self.list_reads.output.ready.next = false;
        self.lines.read.ready.next = false;
        self.lister.link_read.ready.next = false;
        self.asks_link.next = self.lister.link_read.valid.val()
            && (self.link_turn.q.val() || !self.lines.read.valid.val());
        if self.table_reads.output.valid.val() {
            self.ask.next.addr = self.table_reads.output.data.val().addr;
            self.ask.next.bytes = self.table_reads.output.data.val().bytes;
            self.owners.in_data.next = FOLLOWER.into();
            self.asks.next = true;
            self.table_reads.output.ready.next = self.has_room_to_ask.val();
        } else if self.list_reads.output.valid.val() {
            self.ask.next = self.list_reads.output.data.val();
            self.owners.in_data.next = LISTER.into();
            self.asks.next = true;
            self.list_reads.output.ready.next = self.has_room_to_ask.val();
        } else if self.asks_link.val() {
            self.ask.next.addr = self.lister.link_read.addr.val();
            self.ask.next.bytes = self.lister.link_read.bytes.val();
            self.owners.in_data.next = CHAINS.into();
            self.asks.next = true;
            self.lister.link_read.ready.next = self.has_room_to_ask.val();
            if self.has_room_to_ask.val() {
                self.link_turn.d.next = false;
            }
        } else {
            self.asks.next = self.lines.read.valid.val();
            self.lines.read.ready.next = self.has_room_to_ask.val();
            if self.has_room_to_ask.val() {
                self.link_turn.d.next = true;
            }
        }
        self.owners.in_valid.next = self.asks.val() && self.requests.input.ready.val();
        self.requests.input.valid.next = self.asks.val() && self.owners.in_ready.val();
        self.requests.input.data.next = self.ask.val();
        self.requests.output.join(&mut self.read);

        // Answers go to the owners of their reads. Entries may stall; the other owners always take theirs.
        self.is_entries.next =
            self.owners.out_valid.val() && (self.owners.out_data.val() == ENTRIES);
        self.beat.ready.next =
            self.owners.out_valid.val() && (!self.is_entries.val() || self.lines.beat.ready.val());
        self.arrived.next = self.beat.valid.val() && self.beat.ready.val();
        self.owners.out_ready.next = self.arrived.val() && self.beat.last.val();
        self.line.next.data = self.beat.data.val();
        self.line.next.error = self.beat.error.val();
        self.lines.beat.valid.next = self.beat.valid.val() && self.is_entries.val();
        self.lines.beat.next = self.beat.val();
        self.lister.line.valid.next = self.arrived.val() && (self.owners.out_data.val() == LISTER);
        self.lister.line.next = self.beat.val();
        self.lister.linked.valid.next =
            self.arrived.val() && (self.owners.out_data.val() == CHAINS);
        self.lister.linked.pointer.next = self.beat.data.val().get_bits::<64>(0);
        self.lister.linked.error.next = self.beat.error.val();
        self.follower.line.valid.next =
            self.arrived.val() && (self.owners.out_data.val() == FOLLOWER);
        self.follower.line.next = self.line.val();

        // Whether anything is under way.
        self.quiet.d.next = !self.take.val()
            && !self.on_way.q.val().any()
            && !self.fetched.q.val()
            && !self.owners.count.val().any()
            && self.lines.idle.val()
            && self.follower.idle.val()
            && self.giver.idle.val();
        self.lister.quiet.next = self.quiet.q.val();
        self.unused_counts.next = self.owners.free.val()
            | bit_cast::<7, 6>(self.placed.count.val() | self.placed.free.val())
            | bit_cast::<7, 6>(self.products.count.val() | self.products.free.val());

        // Tokens and made bytes leave.
        self.token_valid.next = self.giver.token_valid.val() || self.sender.token_valid.val();
        self.giver.token_ready.next = self.token_ready.val() && !self.sender.token_valid.val();
        self.sender.token_ready.next = self.token_ready.val();
        self.token.next = self.giver.token.val();
        self.made.valid.next = self.giver.made.valid.val() || self.sender.made.valid.val();
        self.made.next = self.giver.made.val();
        self.giver.made.ready.next = self.made.ready.val() && !self.sender.made.valid.val();
        self.sender.made.ready.next = self.made.ready.val();
        if self.sender.token_valid.val() {
            self.token.next = self.sender.token.val();
        }
        if self.sender.made.valid.val() {
            self.made.next = self.sender.made.val();
        }

        if self.rst.val() {
            self.on_way.d.next = 0.into();
            self.quiet.d.next = false;
            self.has_room.d.next = false;
            self.link_turn.d.next = false;
            self.fetched.d.next = false;
            for k in 0..STAGES {
                self.multiplied[k].d.next = false;
            }
        }
    }
}
