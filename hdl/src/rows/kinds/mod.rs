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
//! element of each of several regions with rows of their own; and of requests of few rows (fewer than a thirty-second
//! of that room), unless more than two destinations have lists of their own. Where they are judged, all entries are
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
//! takes a cycle for each 64 bytes, of which its length is the beginning. A group of fixed width at the beginning of a
//! row takes none where only bits and values that are followed come behind it. 512 entries are under way at once.
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
//! Each record of a chain takes a round trip, which 64 chains share. Records of up to 64 bytes are read whole, and are
//! not read again when they are sent, if there is room for them in [`kept`](crate::layout::kept). A request with chains
//! is not judged before it starts. Where chains are judged, the pointers of their records are kept, if there is room
//! for all records of a region: such a region's chains are not followed again, and the records that were judged are
//! sent. All other chains are followed again, one after the other where rows are walked element by element or each
//! message is walked twice. A buffer of views is read when a view first leads there, and is then known for the rest of
//! the request, unless another buffer takes its place among 64.

pub mod bits;
pub mod chaser;
pub mod finder;
pub mod follower;
pub mod giver;
pub mod lines;
pub mod lister;
mod places;
pub mod planner;
mod reads;
pub mod record;
pub mod replay;
#[cfg(test)]
mod tests;
pub mod trail;
mod wiring;

use crate::context::ConfigWrite;
use crate::layout::kept::KeptRecord;
use crate::primitive::{
    Fifo, Flatten, Lutram, Multiplier, Ram, RamStyle, Restore, StreamFifo, StreamSkid,
};
use crate::request::{DEST_COUNT, LaneKind, SetKinds};
use crate::rows::expander::LaneWrite;
use crate::rows::expander::Token;
use crate::rows::sequencer::tables::{Bounds, DestInfo, SetInfo};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;
use follower::Follower;
use giver::Giver;
use lines::Lines;
use lister::Lister;
use planner::Planner;
use record::{Ask, LANE_BITS, Lane, Line, Placed};
use replay::Replay;

/// Bits of a [`SetKinds`].
const SET_KINDS_BITS: usize = <SetKinds as Synth>::BITS;
/// Cycles from a lane to the product of its step and a row.
const STAGES: usize = 5;

/// Bits of the place of a column of bits: its address, and its first bit in that byte.
const COLUMN: usize = 64 + 3;

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
/// `dest_read`, `set_read`; streams `read`, `token`, `made`; flow `record`; `done` with `status`, `bad_dest`.
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
    /// Records of chains that were read whole.
    pub record: Flow<Out, KeptRecord>,

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
    #[init(Constant::new((1_u64 << (VALUES - 7)).into()))]
    least_rows: Constant<Bits<33>>,
    judged: Signal<Local, Bit>,
    /// A request is replayed, or its last tokens leave.
    sends: DFF<Bit>,
    /// All tokens of what was replayed had left in the cycle before.
    was_sent: DFF<Bit>,
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
    /// A wanted lane was taken of which an entry is made.
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
    /// Number of the line, modulo 4.
    line_number: Signal<Local, Bits<2>>,
    rest_of_next: Signal<Local, Bits<13>>,
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
    /// Nothing was under way in the cycle before.
    quiet: DFF<Bit>,
    unused_counts: Signal<Local, Bits<7>>,
}

impl<const LENGTHS: usize, const RECORDS: usize, const VALUES: usize> Logic
    for Kinds<LENGTHS, RECORDS, VALUES>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.write_tables();
        self.judge_request();
        self.send_request();
        self.take_wanted();
        self.tell_planner();
        self.find_step();
        self.place_entry();
        self.place_bits();
        self.give_placed();
        self.join_lines();
        self.choose_read();
        self.give_answers();
        self.look_for_rest();
        self.give_tokens();

        if self.rst.val() {
            self.sends.d.next = false;
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
