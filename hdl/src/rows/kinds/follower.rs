//! Follows entries to bytes.

use super::record::{Answer, BYTES, Entry, LENGTH, LINE, Line, TABLE, VALUE, Value};
use crate::context::ConfigWrite;
use crate::primitive::{Flatten, Lutram, Multiplier, Restore, StreamFifo};
use crate::receive::responder::keys::{KEY_REGION, Keys};
use crate::request::{BITS, DICTIONARY, FIXED, OFFSETS, VIEWS};
use crate::shell::host_read::HostReadRequest;
use drdma_abi::Layout;
use drdma_abi::work_request::{Element, MAX_VIEW_BUFFERS, VIEW_INLINE};
use drdma_emit::prelude::*;

/// Cycles from a range to whether a key covers it. The product of an index and the bytes of a value begins a cycle
/// earlier, and is ready in the same cycle.
const KEY: usize = 3;
const KEY_CYCLES: u64 = KEY as u64;
const PRODUCT: usize = KEY + 1;
/// Largest number of bytes of a value that stand in its view.
const INLINE: u64 = VIEW_INLINE as u64;
/// Offset of these bytes in the view.
const INLINE_AT: u64 = 4;
/// Bytes of the length of a value.
pub const LENGTH_BYTES: u64 = 4;
/// Bits of a buffer's entry in its table.
const BUFFER_BITS: usize = 8 * Element::SIZE;
/// Number of buffers whose entries are read at once.
const BUFFERS: u64 = 4;
const LOG_BUFFER: u64 = Element::SIZE.trailing_zeros() as u64;
/// [`BUFFER_BITS`] as a shift amount.
const BUFFER_SHIFT: u64 = BUFFER_BITS as u64;
const _: () = assert!(BUFFERS as usize * Element::SIZE == 64 && 1 << LOG_BUFFER == Element::SIZE);
/// Largest number of values that are followed or wait for the giver.
const MOST: u64 = 16;
/// Length that stands for any value too long for a message.
const LONGEST: u64 = 0xffff_ffff;

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
        // Entries enter as long as there is room for their values.
        self.flows.next = self.state.q.val() == FollowerState::Flow;
        self.must_read.next = (self.entry.task.val() == VALUE) && (self.entry.kind.val() != FIXED);
        self.accept.next = self.flows.val()
            && self.has_room.q.val()
            && self.entry.valid.val()
            && (self.answer.valid.val() || !self.must_read.val());
        self.entry.ready.next = self.flows.val()
            && self.has_room.q.val()
            && (self.answer.valid.val() || !self.must_read.val());
        self.answer.ready.next = self.accept.val() && self.must_read.val();
        self.gone.next = self.values.output.valid.val() && self.value.ready.val();
        if self.accept.val() && !self.gone.val() {
            self.inside.d.next = self.inside.q.val() + 1;
        } else if !self.accept.val() && self.gone.val() {
            self.inside.d.next = self.inside.q.val() - 1;
        }
        self.has_room.d.next = self.inside.d.val() < MOST;
        if self.flows.val() {
            self.entry_valid.d.next = self.accept.val();
            self.held.d.next = self.entry.val();
            self.held_answer.d.next = self.answer.val();
        }

        // The fields of an entry.
        self.index.next = self.held_answer.q.val().data.get_bits::<64>(0);
        self.second.next = self.held_answer.q.val().data.get_bits::<64>(64);
        if self.held.q.val().log_entry == 0 {
            self.index.next = bit_cast::<64, 8>(self.held_answer.q.val().data.get_bits::<8>(0));
        } else if self.held.q.val().log_entry == 1 {
            self.index.next = bit_cast::<64, 16>(self.held_answer.q.val().data.get_bits::<16>(0));
        } else if self.held.q.val().log_entry == 2 {
            self.index.next = bit_cast::<64, 32>(self.held_answer.q.val().data.get_bits::<32>(0));
            self.second.next = bit_cast::<64, 32>(self.held_answer.q.val().data.get_bits::<32>(32));
        }
        self.is_value.next = self.held.q.val().task == VALUE;
        self.in_buffer.next = self.is_value.val()
            && (self.held.q.val().kind == VIEWS)
            && (self.held_answer.q.val().data.get_bits::<32>(0) > INLINE);
        self.held.q.share(&mut self.read_new);
        self.read_new.next.at = self.held.q.val().addr;
        self.read_new.next.bytes = self.held.q.val().number;
        self.read_new.next.from = self.index.val();
        self.read_new.next.to = self.second.val();
        self.read_new.next.in_buffer = self.in_buffer.val();
        // The bits of the group's lanes.
        self.others.next = self.held.q.val().lane - self.held.q.val().first;
        self.bit_mask.next = self.all_bits.val() >> (!self.others.val());
        self.read_new.next.bits = (self.held_answer.q.val().data.get_bits::<16>(0)
            >> self.held.q.val().first)
            & self.bit_mask.val();
        self.bit_errors.next = (self.held_answer.q.val().data.get_bits::<16>(16)
            >> self.held.q.val().first)
            & self.bit_mask.val();
        if self.held.q.val().kind == FIXED {
            self.read_new.next.at = self.held.q.val().at;
            self.read_new.next.base = 0.into();
            self.read_new.next.to = self.held.q.val().addr;
        } else if self.held.q.val().kind == BITS {
            self.read_new.next.bytes = bit_cast::<32, 4>(self.others.val()) + 1;
        } else if self.held.q.val().kind == DICTIONARY {
            self.read_new.next.bytes = bit_cast::<32, 24>(self.held.q.val().width);
        } else if self.held.q.val().kind == VIEWS {
            self.read_new.next.bytes = self.held_answer.q.val().data.get_bits::<32>(0);
            self.read_new.next.from =
                bit_cast::<64, 32>(self.held_answer.q.val().data.get_bits::<32>(96));
            self.read_new.next.to =
                bit_cast::<64, 32>(self.held_answer.q.val().data.get_bits::<32>(64));
            if self.is_value.val() && !self.in_buffer.val() {
                self.read_new.next.at = self.held.q.val().at + INLINE_AT;
            }
        }

        // Whether the buffer of the view is known.
        self.looked_at.next = self.held_answer.q.val().data.get_bits::<KNOWN>(64)
            ^ (bit_cast::<KNOWN, 4>(self.held.q.val().lane) << 2);
        self.known.read_address[0].next = self.looked_at.val();
        self.known_out.bits.next = self.known.read_data[0].val();
        self.is_known.next = self.kept.q.val().get_bit(self.looked_at.val().index())
            && (self.known_out.record.val().set == self.held.q.val().set)
            && (self.known_out.record.val().lane == self.held.q.val().lane)
            && (self.known_out.record.val().index
                == self.held_answer.q.val().data.get_bits::<BUFFER_INDEX>(64));
        self.learned_at.next = self.found.q.val().to.get_bits::<KNOWN>(0)
            ^ (bit_cast::<KNOWN, 4>(self.found.q.val().lane) << 2);
        self.known_new.next.set = self.found.q.val().set;
        self.known_new.next.lane = self.found.q.val().lane;
        self.known_new.next.index = self.found.q.val().to.get_bits::<BUFFER_INDEX>(0);
        self.known_new.next.buffer = self.line.data.val().get_bits::<BUFFER_BITS>(0);
        self.known_in.record.next = self.known_new.val();
        self.known.write_enable.next = false;
        self.known.write_address.next = self.learned_at.val();
        self.known.write_data.next = self.known_in.bits.val();
        self.misses.next = self.entry_valid.q.val()
            && self.in_buffer.val()
            && !self.is_known.val()
            && (self.held_answer.q.val().data.get_bits::<32>(64) < self.held.q.val().number);
        self.has_table.next = self.entry_valid.q.val()
            && (self.held.q.val().task == TABLE)
            && (self.held.q.val().kind == VIEWS)
            && self.held.q.val().number.any();

        // The range in its key: of a value, or of a buffer.
        self.cfg.join(&mut self.keys.cfg);
        self.keys.key.next = self.key.q.val();
        self.keys.pd.next = self.pd.val();
        self.keys.addr.next = self.key_addr.q.val();
        self.keys.bytes.next = self.key_bytes.q.val();
        self.keys.revoke_valid.next = false;
        self.keys.revoke_index.next = 0.into();
        self.covered.next = self.keys.covers.val();
        self.unused_rights.next = self.keys.readable.val()
            || self.keys.writable.val()
            || self.keys.changeable.val()
            || self.keys.revocable.val()
            || self.keys.revoke_ready.val()
            || self.keys.fillable.val()
            || self.keys.described.val();
        self.unused_region.next = self.keys.region.val();
        self.span.next =
            bit_cast::<65, 64>(self.found.q.val().to) - bit_cast::<65, 64>(self.found.q.val().from);
        self.begins.next =
            bit_cast::<65, 64>(self.found.q.val().at) + bit_cast::<65, 64>(self.found.q.val().from);
        self.some.next = self.found.q.val().to != self.found.q.val().from;
        self.view_end.next = bit_cast::<33, 32>(self.found.q.val().from.get_bits::<32>(0))
            + bit_cast::<33, 32>(self.found.q.val().bytes);
        self.view_at.next = self.buffer.q.val().get_bits::<64>(0)
            + bit_cast::<64, 32>(self.found.q.val().from.get_bits::<32>(0));
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.found.q.val().from.get_bits::<32>(0);
        self.multiplier.b.next = self.found.q.val().bytes.get_bits::<24>(0);
        self.key.d.next = self.found.q.val().number;
        self.key_addr.d.next = self.begins.val().get_bits::<64>(0);
        self.key_bytes.d.next = self.span.val().get_bits::<64>(0);
        self.found.q.share(&mut self.ranged_new);
        self.ranged_new.next.pointer = self.found.q.val().at;
        self.ranged_new.next.is_fixed = self.found.q.val().kind == FIXED;
        self.ranged_new.next.has_length =
            (self.found.q.val().kind == OFFSETS) || (self.found.q.val().kind == VIEWS);
        self.ranged_new.next.is_bits = self.found.q.val().kind == BITS;
        self.ranged_new.next.is_indexed = self.found.q.val().kind == DICTIONARY;
        self.ranged_new.next.must_lie = self.found.q.val().in_buffer;
        self.ranged_new.next.fails = self.found_fails.q.val();
        if (self.found.q.val().task == VALUE) && (self.found.q.val().kind == OFFSETS) {
            self.ranged_new.next.pointer = self.begins.val().get_bits::<64>(0);
            self.ranged_new.next.must_lie = self.some.val();
            self.ranged_new.next.bytes = self.span.val().get_bits::<32>(0);
            if self.span.val().get_bits::<32>(32).any() {
                self.ranged_new.next.bytes = LONGEST.into();
            }
            // The offsets go backwards, or around the end of the address space.
            if self.some.val() && (self.span.val().get_bit(64) || self.begins.val().get_bit(64)) {
                self.ranged_new.next.fails = true;
            }
        }
        if self.found.q.val().in_buffer {
            self.key.d.next = self.buffer.q.val().get_bits::<32>(96);
            self.key_addr.d.next = self.view_at.val();
            self.ranged_new.next.pointer = self.view_at.val();
            self.key_bytes.d.next = bit_cast::<64, 32>(self.found.q.val().bytes);
            if self.view_end.val() > bit_cast::<33, 32>(self.buffer.q.val().get_bits::<32>(64)) {
                self.ranged_new.next.fails = true;
            }
        }
        self.ranged_valid.d.next = self.found_valid.q.val() && self.flows.val();
        self.ranged.d.next = self.ranged_new.val();
        self.base.d.next = self.found.q.val().base;
        // The lane's base is subtracted here, because the expander adds it.
        self.placed_new.next = self.ranged.q.val();
        self.placed_new.next.pointer = self.ranged.q.val().pointer - self.base.q.val();
        self.late_valid[0].d.next = self.ranged_valid.q.val();
        self.late[0].d.next = self.placed_new.val();
        for k in 1..KEY {
            self.late_valid[k].d.next = self.late_valid[k - 1].q.val();
            self.late[k].d.next = self.late[k - 1].q.val();
        }

        // A value.
        self.late[KEY - 1].q.share(&mut self.value_new);
        if self.late[KEY - 1].q.val().is_indexed {
            self.value_new.next.pointer = self.late[KEY - 1].q.val().pointer
                + bit_cast::<64, 56>(self.multiplier.product.val());
        }
        self.value_new.next.weight = bit_cast::<33, 32>(self.late[KEY - 1].q.val().bytes);
        if self.late[KEY - 1].q.val().has_length {
            self.value_new.next.weight =
                bit_cast::<33, 32>(self.late[KEY - 1].q.val().bytes) + LENGTH_BYTES;
        }
        // The length and the bytes of a value may be two values.
        self.value_new.next.alone = false;
        if self.late[KEY - 1].q.val().has_length && (self.late[KEY - 1].q.val().part == LENGTH) {
            self.value_new.next.alone = true;
            self.value_new.next.weight = LENGTH_BYTES.into();
        } else if self.late[KEY - 1].q.val().has_length
            && (self.late[KEY - 1].q.val().part == BYTES)
        {
            self.value_new.next.has_length = false;
            self.value_new.next.weight = bit_cast::<33, 32>(self.late[KEY - 1].q.val().bytes);
        }
        self.value_new.next.fails = self.late[KEY - 1].q.val().fails
            || (self.late[KEY - 1].q.val().must_lie && !self.covered.val());
        self.value_valid.d.next = self.late_valid[KEY - 1].q.val();
        self.value_held.d.next = self.value_new.val();
        self.values.input.valid.next = self.value_valid.q.val();
        self.values.input.data.next = self.value_held.q.val();
        self.values.output.join(&mut self.value);
        self.unused_counts.next = self.values.count.val() | self.values.free.val();
        self.idle.next = !self.inside.q.val().any();

        // Entries advance, or wait for a table.
        self.read.valid.next = false;
        self.read.addr.next = self.found.q.val().at + (self.found.q.val().to << LOG_BUFFER);
        self.read.bytes.next = bits::<13>(1) << LOG_BUFFER;
        self.table_rest.next = self.found.q.val().number - self.table_index.q.val();
        self.table_bytes.next = LINE.into();
        if self.table_rest.val() < BUFFERS {
            self.table_bytes.next = bit_cast::<13, 32>(self.table_rest.val() << LOG_BUFFER);
        }
        self.wait.d.next = self.wait.q.val() + 1;
        match self.state.q.val() {
            FollowerState::Flow => {
                self.table_index.d.next = 0.into();
                self.found_valid.d.next = self.entry_valid.q.val();
                self.found.d.next = self.read_new.val();
                self.buffer.d.next = self.known_out.record.val().buffer;
                self.found_fails.d.next = false;
                if self.is_value.val() && (self.held.q.val().kind != FIXED) {
                    self.found_fails.d.next = self.held_answer.q.val().error
                        || ((self.held.q.val().kind == BITS) && self.bit_errors.val().any())
                        || ((self.held.q.val().kind == DICTIONARY)
                            && (self.index.val() >= bit_cast::<64, 32>(self.held.q.val().number)))
                        || (self.in_buffer.val()
                            && (self.held_answer.q.val().data.get_bits::<32>(64)
                                >= self.held.q.val().number));
                }
                if self.misses.val() {
                    self.state.d.next = FollowerState::Buffer;
                }
                if self.has_table.val() {
                    self.state.d.next = FollowerState::Table;
                }
            }
            FollowerState::Buffer => {
                self.read.valid.next = true;
                if self.read.ready.val() {
                    self.state.d.next = FollowerState::BufferCome;
                }
            }
            FollowerState::BufferCome => {
                self.buffer.d.next = self.line.data.val().get_bits::<BUFFER_BITS>(0);
                if self.line.valid.val() {
                    self.known.write_enable.next = true;
                    self.kept.d.next =
                        self.kept.q.val().replace_bit(self.learned_at.val().index(), true);
                    if self.line.error.val() {
                        self.found_fails.d.next = true;
                    }
                    self.state.d.next = FollowerState::Flow;
                }
            }
            FollowerState::Table => {
                self.read.valid.next = true;
                self.read.addr.next = self.found.q.val().at
                    + (bit_cast::<64, 32>(self.table_index.q.val()) << LOG_BUFFER);
                self.read.bytes.next = self.table_bytes.val();
                if self.read.ready.val() {
                    self.state.d.next = FollowerState::TableCome;
                }
            }
            FollowerState::TableCome => {
                self.buffers.d.next = self.line.data.val();
                self.key_addr.d.next = self.line.data.val().get_bits::<64>(0);
                self.key_bytes.d.next = bit_cast::<64, 32>(self.line.data.val().get_bits::<32>(64));
                self.key.d.next = self.line.data.val().get_bits::<32>(96);
                self.wait.d.next = 0.into();
                if self.line.valid.val() {
                    if self.line.error.val() {
                        self.found_fails.d.next = true;
                    }
                    self.state.d.next = FollowerState::TableKey;
                }
            }
            FollowerState::TableKey => {
                self.key.d.next = self.key.q.val();
                self.key_addr.d.next = self.key_addr.q.val();
                self.key_bytes.d.next = self.key_bytes.q.val();
                if self.wait.q.val() == KEY_CYCLES {
                    if !self.covered.val() {
                        self.found_fails.d.next = true;
                    }
                    self.wait.d.next = 0.into();
                    self.buffers.d.next = self.buffers.q.val() >> BUFFER_SHIFT;
                    self.key_addr.d.next = self.buffers.q.val().get_bits::<64>(BUFFER_BITS);
                    self.key_bytes.d.next =
                        bit_cast::<64, 32>(self.buffers.q.val().get_bits::<32>(BUFFER_BITS + 64));
                    self.key.d.next = self.buffers.q.val().get_bits::<32>(BUFFER_BITS + 96);
                    self.table_index.d.next = self.table_index.q.val() + 1;
                    if self.table_rest.val() == 1 {
                        self.state.d.next = FollowerState::Flow;
                    } else if self.table_index.q.val().get_bits::<2>(0) == BUFFERS - 1 {
                        self.state.d.next = FollowerState::Table;
                    }
                }
            }
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
