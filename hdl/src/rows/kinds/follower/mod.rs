//! Follows entries to bytes.

mod buffers;
mod entries;
mod ranges;

use super::record::{Answer, Entry, Line, Value};
use crate::context::ConfigWrite;
use crate::primitive::{Flatten, Lutram, Multiplier, Restore, StreamFifo};
use crate::receive::responder::keys::{KEY_REGION, Keys};
use crate::shell::host_read::HostReadRequest;
use drdma_abi::Layout;
use drdma_abi::work_request::{Element, MAX_VIEW_BUFFERS};
use drdma_emit::prelude::*;

/// Cycles from a range to whether a key covers it. The product of an index and the bytes of a value begins a cycle
/// earlier, and is ready in the same cycle.
const KEY: usize = 3;
const PRODUCT: usize = KEY + 1;
/// Bytes of the length of a value.
pub const LENGTH_BYTES: u64 = 4;
/// Bits of a buffer's entry in its table.
const BUFFER_BITS: usize = 8 * Element::SIZE;

/// A buffer of views that was read for the current request.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Known {
    /// Lane set of the views.
    set: Bits<11>,
    /// Lane of the views.
    lane: Bits<4>,
    /// Number of the buffer in its table.
    index: Bits<BUFFER_INDEX>,
    /// Entry of the buffer: address (64 bits), length (32), local key (32).
    buffer: Bits<BUFFER_BITS>,
}

/// Bits of a [`Known`].
const KNOWN_BITS: usize = <Known as Synth>::BITS;
/// Binary logarithm of the number of buffers that are kept.
const KNOWN: usize = 6;
/// Bits of a buffer's number.
const BUFFER_INDEX: usize = MAX_VIEW_BUFFERS.trailing_zeros() as usize;
const _: () = assert!(MAX_VIEW_BUFFERS == 1 << BUFFER_INDEX);

/// An entry whose bytes are known.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Reading {
    /// Task; see [`Entry::task`].
    task: Bits<3>,
    /// Lane set of the region.
    set: Bits<11>,
    /// First lane; see [`Entry::first`].
    first: Bits<4>,
    /// Last lane; see [`Entry::lane`].
    lane: Bits<4>,
    /// Bits that do not fill a byte are not continued; see [`Entry::unit_end`].
    unit_end: Bit,
    /// The value is sent, not only judged.
    give: Bit,
    /// Number of the row.
    row: Bits<32>,
    /// Host address of the lane in row 0; 0 for fixed width.
    base: Bits<64>,
    /// How the entry leads to bytes; see [`Entry::kind`].
    kind: Bits<3>,
    /// Host address of the value, or of the data or the table that it lies in.
    at: Bits<64>,
    /// Bytes of the value, if they are known.
    bytes: Bits<32>,
    /// See [`Entry::number`].
    number: Bits<32>,
    /// Offsets: the first one. Dictionary: the index. View: its offset in the buffer.
    from: Bits<64>,
    /// Offsets: the second one. View: the number of its buffer. Fixed width: the row.
    to: Bits<64>,
    /// The entry is a view whose value lies in a buffer.
    in_buffer: Bit,
    /// Bits of the group's lanes, if the entry is bits.
    bits: Bits<16>,
    /// See [`Entry::part`].
    part: Bits<2>,
}

/// A value whose range is found, while the range is looked up in its key.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Ranged {
    /// Task; see [`Entry::task`].
    task: Bits<3>,
    /// Lane set of the region.
    set: Bits<11>,
    /// First lane; see [`Entry::first`].
    first: Bits<4>,
    /// Last lane; see [`Entry::lane`].
    lane: Bits<4>,
    /// Bits that do not fill a byte are not continued; see [`Entry::unit_end`].
    unit_end: Bit,
    /// The value is sent, not only judged.
    give: Bit,
    /// Address of the value as in [`Value::pointer`]; for a dictionary, where its values begin.
    pointer: Bits<64>,
    /// See [`Value::row`].
    row: Bits<32>,
    /// See [`Value::is_fixed`].
    is_fixed: Bit,
    /// See [`Value::bytes`].
    bytes: Bits<32>,
    /// The length of the value is sent before it.
    has_length: Bit,
    /// The value is bits.
    is_bits: Bit,
    /// With `is_bits`: the bits.
    bits: Bits<16>,
    /// The product of the value's index and its bytes is still to be added.
    is_indexed: Bit,
    /// The range must lie in the memory of its key.
    must_lie: Bit,
    /// The entry leads nowhere.
    fails: Bit,
    /// See [`Entry::part`].
    part: Bits<2>,
}

/// State of the follower, beside its pipeline.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FollowerState {
    /// Entries advance.
    Flow,
    /// Reads the buffer of a view from its table.
    Buffer,
    /// Waits for the buffer.
    BufferCome,
    /// Reads buffers of a table.
    Table,
    /// Waits for the buffers.
    TableCome,
    /// Looks the buffers up in their keys.
    TableKey,
}

/// Follows entries to their values for the giver; see the [module above](super).
///
/// Takes an entry a cycle, whose value is offered 8 cycles later. All entries behind a view wait while the view's
/// buffer is read, and all entries behind a table while its buffers are looked up. The value of an entry that leads
/// nowhere is marked; entries behind it are still followed.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `clear`; streams `entry`, and `answer` for entries that are read (values that are not of fixed
/// width); `line`; `pd` of the current destination.
///
/// # Outputs
/// Streams `read`, `value`; `idle`. The ready of `answer` depends on its valid.
#[derive(LogicBlock, BlockDefault)]
#[check(Element::field("offset").start == 0 && Element::field("len").start == 64 && Element::field("lkey").start == 96)]
pub struct Follower {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// A request begins.
    pub clear: Signal<In, Bit>,
    /// Protection domain of the request's keys.
    pub pd: Signal<In, Bits<32>>,
    /// Entries, in their order.
    pub entry: Stream<In, Entry>,
    /// Bytes of the entries that were read.
    pub answer: Stream<In, Answer>,
    /// Reads of tables, one at a time.
    pub read: Stream<Out, HostReadRequest>,
    /// Answers of these reads.
    pub line: Flow<In, Line>,
    /// Values that the entries lead to, in their order.
    pub value: Stream<Out, Value>,
    /// No entry is being followed, and no value waits.
    pub idle: Signal<Out, Bit>,

    state: DFF<FollowerState>,
    wait: DFF<Bits<2>>,
    flows: Signal<Local, Bit>,
    inside: DFF<Bits<5>>,
    has_room: DFF<Bit>,
    accept: Signal<Local, Bit>,
    gone: Signal<Local, Bit>,
    must_read: Signal<Local, Bit>,

    // An entry, and its bytes if they were read.
    entry_valid: DFF<Bit>,
    held: DFF<Entry>,
    held_answer: DFF<Answer>,
    index: Signal<Local, Bits<64>>,
    second: Signal<Local, Bits<64>>,
    is_value: Signal<Local, Bit>,
    in_buffer: Signal<Local, Bit>,
    /// Number of the group's lanes behind the first one.
    others: Signal<Local, Bits<4>>,
    #[init(Constant::new(0xffff.into()))]
    all_bits: Constant<Bits<16>>,
    bit_mask: Signal<Local, Bits<16>>,
    bit_errors: Signal<Local, Bits<16>>,
    misses: Signal<Local, Bit>,
    has_table: Signal<Local, Bit>,
    read_new: Signal<Local, Reading>,

    // Buffers that the request has read. Buffers 4k to 4k + 3 of one lane never share places with the same buffers of
    // another lane.
    known: Lutram<KNOWN_BITS, KNOWN, 1>,
    known_in: Flatten<Known, KNOWN_BITS>,
    known_out: Restore<Known, KNOWN_BITS>,
    known_new: Signal<Local, Known>,
    looked_at: Signal<Local, Bits<KNOWN>>,
    learned_at: Signal<Local, Bits<KNOWN>>,
    kept: DFF<Bits<64>>,
    is_known: Signal<Local, Bit>,

    // The range that the entry leads to.
    found_valid: DFF<Bit>,
    found: DFF<Reading>,
    found_fails: DFF<Bit>,
    buffer: DFF<Bits<BUFFER_BITS>>,
    #[init(Multiplier::new(PRODUCT))]
    multiplier: Multiplier<32, 24, 56>,
    span: Signal<Local, Bits<65>>,
    begins: Signal<Local, Bits<65>>,
    some: Signal<Local, Bit>,
    view_end: Signal<Local, Bits<33>>,
    view_at: Signal<Local, Bits<64>>,
    buffers: DFF<Bits<512>>,
    table_index: DFF<Bits<32>>,
    table_rest: Signal<Local, Bits<32>>,
    table_bytes: Signal<Local, Bits<13>>,

    // The lookup of the range in its key.
    keys: Keys,
    covered: Signal<Local, Bit>,
    unused_rights: Signal<Local, Bit>,
    unused_region: Signal<Local, Bits<KEY_REGION>>,
    key: DFF<Bits<32>>,
    key_addr: DFF<Bits<64>>,
    key_bytes: DFF<Bits<64>>,
    ranged_valid: DFF<Bit>,
    ranged: DFF<Ranged>,
    base: DFF<Bits<64>>,
    ranged_new: Signal<Local, Ranged>,
    placed_new: Signal<Local, Ranged>,
    late_valid: [DFF<Bit>; KEY],
    late: [DFF<Ranged>; KEY],
    value_valid: DFF<Bit>,
    value_new: Signal<Local, Value>,
    value_held: DFF<Value>,
    values: StreamFifo<Value, 4, 5>,
    unused_counts: Signal<Local, Bits<5>>,
}

impl Logic for Follower {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_entry();
        self.read_fields();
        self.look_up_buffer();
        self.look_up_key();
        self.find_range();
        self.give_value();
        self.ask_for_buffers();
        match self.state.q.val() {
            FollowerState::Flow => self.advance(),
            FollowerState::Buffer => {
                self.read.valid.next = true;
                if self.read.ready.val() {
                    self.state.d.next = FollowerState::BufferCome;
                }
            }
            FollowerState::BufferCome => self.take_buffer(),
            FollowerState::Table => self.read_table(),
            FollowerState::TableCome => self.take_table(),
            FollowerState::TableKey => self.judge_table(),
        }
        if self.clear.val() {
            self.kept.d.next = 0.into();
        }
        if self.rst.val() {
            self.state.d.next = FollowerState::Flow;
            self.inside.d.next = 0.into();
            self.has_room.d.next = false;
            self.entry_valid.d.next = false;
            self.found_valid.d.next = false;
            self.ranged_valid.d.next = false;
            for k in 0..KEY {
                self.late_valid[k].d.next = false;
            }
            self.value_valid.d.next = false;
        }
    }
}
