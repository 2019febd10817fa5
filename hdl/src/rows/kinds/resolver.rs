//! Follows entries to bytes, and gives these as tokens.

use super::Made;
use super::record::{Answer, DESTINATION, Entry, Line, MESSAGE, TABLE, VALUE};
use crate::context::ConfigWrite;
use crate::primitive::{Flatten, Lutram, Multiplier, Restore};
use crate::receive::responder::keys::{KEY_REGION, Keys};
use crate::request::{BITS, DICTIONARY, FIXED, OFFSETS, VIEWS};
use crate::rows::sequencer::record::Token;
use crate::shell::host_read::HostReadRequest;
use drdma_abi::Layout;
use drdma_abi::work_request::{Element, MAX_VIEW_BUFFERS, VIEW_INLINE};
use drdma_emit::prelude::*;

/// Cycles from a range to whether a key covers it.
const KEY: u64 = 3;
/// Cycles of the product of an index and the bytes of a value.
const STAGES: usize = 4;
const PRODUCT: u64 = STAGES as u64;
/// Bytes of a view's value that stand in the view, at most, and where they begin there.
const INLINE: u64 = VIEW_INLINE as u64;
const INLINE_AT: u64 = 4;
/// Bytes of the length of a value.
const LENGTH_BYTES: u64 = 4;
/// Bits of a buffer's entry in its table, and how many entries are read at once.
const BUFFER_BITS: usize = 8 * Element::SIZE;
const BUFFERS: u64 = 4;
const LOG_BUFFER: u64 = Element::SIZE.trailing_zeros() as u64;
/// [`BUFFER_BITS`], as far as the table is moved.
const BUFFER_SHIFT: u64 = BUFFER_BITS as u64;
const _: () = assert!(BUFFERS as usize * Element::SIZE == 64 && 1 << LOG_BUFFER == Element::SIZE);
/// Bytes of a token, at most.
const BEAT: u64 = 64;

/// A buffer of views that was read for the request at hand.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Known {
    /// The views' set,
    set: Bits<11>,
    /// and lane.
    lane: Bits<4>,
    /// The buffer.
    index: Bits<BUFFER_INDEX>,
    /// Its entry.
    buffer: Bits<BUFFER_BITS>,
}

/// Bits of a [`Known`], and of the number of those that are kept.
const KNOWN_BITS: usize = <Known as Synth>::BITS;
const KNOWN: usize = 6;
/// Bits of a buffer's number.
const BUFFER_INDEX: usize = MAX_VIEW_BUFFERS.trailing_zeros() as usize;
const _: () = assert!(MAX_VIEW_BUFFERS == 1 << BUFFER_INDEX);

/// What the resolver does.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ResolverState {
    /// Waits for an entry.
    Idle,
    /// What becomes of it?
    Look,
    /// Offsets: do they go forwards?
    Forwards,
    /// An index is multiplied by the bytes of a value.
    Multiply,
    /// A view's buffer is read from its table, unless it is known,
    Buffer,
    /// and comes;
    BufferCome,
    /// does it have the view's bytes?
    Within,
    /// The value's first byte is looked up in its key,
    First,
    /// and its last.
    Final,
    /// Bits before the value fill a byte, or part of one.
    Pack,
    /// The value's length.
    Length,
    /// Is the message as long as it may be with the value's bytes?
    Weigh,
    /// The value's bytes.
    Bytes,
    /// A message ends.
    Message,
    /// A destination ends.
    Destination,
    /// Buffers of a table are read,
    Table,
    /// come,
    TableCome,
    /// and are looked up in their keys.
    TableKey,
}

/// See the [module above](super).
///
/// Once something has failed, all that comes is dropped, until `clear`.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `clear`; streams `entry`, and `answer` for those that are read (a value of another kind than fixed); `line`; of the
/// destination at hand `slot`, `dest`, `is_write`, `limit`, `pd`.
///
/// # Outputs
/// Streams `read`, `token`, `made`; `failed`, `judged`, `too_long`, `idle`. `answer_ready` waits for its `valid`.
#[derive(LogicBlock, BlockDefault)]
#[check(Element::field("offset").start == 0 && Element::field("len").start == 64 && Element::field("lkey").start == 96)]
pub struct Resolver {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// A request begins.
    pub clear: Signal<In, Bit>,
    /// Its slot.
    pub slot: Signal<In, Bits<8>>,
    /// The destination at hand.
    pub dest: Signal<In, Bits<10>>,
    /// It has WRITEs.
    pub is_write: Signal<In, Bit>,
    /// Bytes of its messages, at most.
    pub limit: Signal<In, Bits<32>>,
    /// The protection domain of keys.
    pub pd: Signal<In, Bits<32>>,
    /// Entries.
    pub entry: Stream<In, Entry>,
    /// What was read of them.
    pub answer: Stream<In, Answer>,
    /// Reads of tables, one at a time,
    pub read: Stream<Out, HostReadRequest>,
    /// and what comes.
    pub line: Flow<In, Line>,
    /// An entry leads nowhere, or a message is not what it was.
    pub failed: Signal<Out, Bit>,
    /// All that was to be judged of a destination has been:
    pub judged: Signal<Out, Bit>,
    /// a message of it is too long.
    pub too_long: Signal<Out, Bit>,
    /// Nothing is at work, and no token waits.
    pub idle: Signal<Out, Bit>,
    /// A token is offered.
    pub token_valid: Signal<Out, Bit>,
    /// It is taken.
    pub token_ready: Signal<In, Bit>,
    /// The token.
    pub token: Signal<Out, Token>,
    /// The bytes of a token that are made here, before it.
    pub made: Stream<Out, Made>,

    state: DFF<ResolverState>,
    wait: DFF<Bits<3>>,
    held: DFF<Entry>,
    broken: DFF<Bit>,
    keys: Keys,
    covered: Signal<Local, Bit>,
    unused_rights: Signal<Local, Bit>,
    unused_region: Signal<Local, Bits<KEY_REGION>>,
    key: DFF<Bits<32>>,
    key_addr: DFF<Bits<64>>,
    key_bytes: DFF<Bits<32>>,

    // The value.
    at: DFF<Bits<64>>,
    bytes: DFF<Bits<32>>,
    has_length: DFF<Bit>,
    has_bytes: DFF<Bit>,
    from: DFF<Bits<64>>,
    to: DFF<Bits<64>>,
    span: Signal<Local, Bits<65>>,
    begins: Signal<Local, Bits<65>>,
    last_byte: Signal<Local, Bits<65>>,
    index: Signal<Local, Bits<64>>,
    #[init(Multiplier::new(STAGES))]
    multiplier: Multiplier<32, 24, 56>,
    view_offset: DFF<Bits<32>>,
    view_index: DFF<Bits<32>>,
    buffer_addr: DFF<Bits<64>>,
    buffer_bytes: DFF<Bits<32>>,
    view_end: Signal<Local, Bits<33>>,
    // Buffers that the request has read; four of a lane next to each other are always kept apart from those of others.
    known: Lutram<KNOWN_BITS, KNOWN, 1>,
    known_in: Flatten<Known, KNOWN_BITS>,
    known_out: Restore<Known, KNOWN_BITS>,
    known_new: Signal<Local, Known>,
    known_at: Signal<Local, Bits<KNOWN>>,
    kept: DFF<Bits<64>>,
    is_known: Signal<Local, Bit>,
    more: Signal<Local, Bits<32>>,
    final_piece: Signal<Local, Bit>,
    // Bits that do not fill a byte yet.
    pack: DFF<Bits<8>>,
    packed: DFF<Bits<4>>,

    // A table.
    buffers: DFF<Bits<512>>,
    table_index: DFF<Bits<32>>,
    table_rest: Signal<Local, Bits<32>>,
    table_bytes: Signal<Local, Bits<13>>,

    // The message.
    sum: DFF<Bits<33>>,
    sum_new: Signal<Local, Bits<34>>,
    added: Signal<Local, Bits<32>>,
    adds: Signal<Local, Bit>,
    most: Signal<Local, Bits<33>>,
    exceeds: Signal<Local, Bit>,
    over: DFF<Bit>,
    long: DFF<Bit>,
    told: DFF<Bits<32>>,
    started: DFF<Bit>,

    // What goes out.
    free: Signal<Local, Bit>,
    emits: Signal<Local, Bit>,
    out_valid: DFF<Bit>,
    out: DFF<Token>,
    fails: Signal<Local, Bit>,
}

impl Logic for Resolver {
    #[hdl_gen]
    fn update(&mut self) {
        // A range in its key.
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
            || self.keys.described.val();
        self.unused_region.next = self.keys.region.val();

        // Numbers of an entry.
        self.index.next = self.answer.data.val().get_bits::<64>(0);
        if self.held.q.val().log_entry == 0 {
            self.index.next = bit_cast::<64, 8>(self.answer.data.val().get_bits::<8>(0));
        } else if self.held.q.val().log_entry == 1 {
            self.index.next = bit_cast::<64, 16>(self.answer.data.val().get_bits::<16>(0));
        } else if self.held.q.val().log_entry == 2 {
            self.index.next = bit_cast::<64, 32>(self.answer.data.val().get_bits::<32>(0));
        }
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.from.q.val().get_bits::<32>(0);
        self.multiplier.b.next = self.held.q.val().width;
        self.span.next =
            bit_cast::<65, 64>(self.to.q.val()) - bit_cast::<65, 64>(self.from.q.val());
        self.begins.next =
            bit_cast::<65, 64>(self.held.q.val().addr) + bit_cast::<65, 64>(self.from.q.val());
        self.last_byte.next =
            bit_cast::<65, 64>(self.at.q.val()) + bit_cast::<65, 64>(self.to.q.val());
        self.view_end.next =
            bit_cast::<33, 32>(self.view_offset.q.val()) + bit_cast::<33, 32>(self.bytes.q.val());
        self.more.next = self.bytes.q.val();
        self.final_piece.next = self.bytes.q.val() <= BEAT;
        if !self.final_piece.val() {
            self.more.next = BEAT.into();
        }
        self.table_rest.next = self.held.q.val().number - self.table_index.q.val();
        self.table_bytes.next = BEAT.into();
        if self.table_rest.val() < BUFFERS {
            self.table_bytes.next = bit_cast::<13, 32>(self.table_rest.val() << LOG_BUFFER);
        }

        // Is the view's buffer known?
        self.known_at.next = self.view_index.q.val().get_bits::<KNOWN>(0)
            ^ (bit_cast::<KNOWN, 4>(self.held.q.val().lane) << 2);
        self.known.read_address[0].next = self.known_at.val();
        self.known_out.bits.next = self.known.read_data[0].val();
        self.is_known.next = self.kept.q.val().get_bit(self.known_at.val().index())
            && (self.known_out.record.val().set == self.held.q.val().set)
            && (self.known_out.record.val().lane == self.held.q.val().lane)
            && (self.known_out.record.val().index
                == self.view_index.q.val().get_bits::<BUFFER_INDEX>(0));
        self.known_new.next.set = self.held.q.val().set;
        self.known_new.next.lane = self.held.q.val().lane;
        self.known_new.next.index = self.view_index.q.val().get_bits::<BUFFER_INDEX>(0);
        self.known_new.next.buffer = self.line.data.val().get_bits::<BUFFER_BITS>(0);
        self.known_in.record.next = self.known_new.val();
        self.known.write_enable.next = false;
        self.known.write_address.next = self.known_at.val();
        self.known.write_data.next = self.known_in.bits.val();

        // Bytes of the message: what is sent is as long as it was when it was measured.
        self.adds.next = false;
        self.added.next = self.bytes.q.val();
        if self.state.q.val() == ResolverState::Pack {
            self.added.next = 1.into();
        } else if self.state.q.val() == ResolverState::Length {
            self.added.next = LENGTH_BYTES.into();
        }
        self.sum_new.next =
            bit_cast::<34, 33>(self.sum.q.val()) + bit_cast::<34, 32>(self.added.val());
        self.most.next = bit_cast::<33, 32>(self.limit.val());
        if self.held.q.val().give && self.is_write.val() {
            self.most.next = bit_cast::<33, 32>(self.told.q.val());
        }
        self.exceeds.next = self.sum_new.val() > bit_cast::<34, 33>(self.most.val());

        // A token.
        self.free.next = !self.out_valid.q.val() || self.token_ready.val();
        if self.token_ready.val() {
            self.out_valid.d.next = false;
        }
        self.emits.next = false;
        if self.free.val() {
            self.out.d.next.set = self.held.q.val().set;
            self.out.d.next.first = self.held.q.val().lane;
            self.out.d.next.last = self.held.q.val().lane;
            self.out.d.next.piece = true;
            self.out.d.next.offset = 0.into();
            self.out.d.next.bytes = self.more.val().get_bits::<7>(0);
            self.out.d.next.row = 0.into();
            // The lane's base is added to it.
            self.out.d.next.pointer = self.at.q.val() - self.held.q.val().base;
            self.out.d.next.dest = self.dest.val();
            self.out.d.next.slot = self.slot.val();
            self.out.d.next.unit_end = false;
            self.out.d.next.message_end = false;
            self.out.d.next.message_start = !self.started.q.val();
            self.out.d.next.message_bytes = 0.into();
            if !self.started.q.val() && self.is_write.val() {
                self.out.d.next.message_bytes = self.told.q.val();
            }
            self.out.d.next.chunk_start = false;
            self.out.d.next.chunk_blocks = 0.into();
            self.out.d.next.request_end = false;
            self.out.d.next.dest_end = false;
            self.out.d.next.status = 0.into();
            self.out.d.next.bad_dest = 0.into();
            self.out.d.next.column = false;
            self.out.d.next.rows = 0.into();
        }

        self.entry.ready.next = self.state.q.val() == ResolverState::Idle;
        self.answer.ready.next = false;
        self.read.valid.next = false;
        self.read.addr.next =
            self.held.q.val().addr + (bit_cast::<64, 32>(self.view_index.q.val()) << LOG_BUFFER);
        self.read.bytes.next = bits::<13>(1) << LOG_BUFFER;
        self.made.valid.next = false;
        self.made.slot.next = self.slot.val();
        self.made.data.next = self.bytes.q.val();
        self.judged.next = false;
        self.fails.next = false;
        self.wait.d.next = self.wait.q.val() + 1;
        match self.state.q.val() {
            ResolverState::Idle => {
                self.held.d.next = self.entry.val();
                self.has_length.d.next = false;
                self.has_bytes.d.next = false;
                if self.entry.valid.val() {
                    self.state.d.next = ResolverState::Look;
                }
            }
            ResolverState::Look => {
                self.wait.d.next = 0.into();
                self.at.d.next = self.held.q.val().at;
                self.bytes.d.next = self.held.q.val().number;
                self.from.d.next = self.index.val();
                self.to.d.next = self.answer.data.val().get_bits::<64>(64);
                if self.held.q.val().log_entry == 2 {
                    self.to.d.next = bit_cast::<64, 32>(self.answer.data.val().get_bits::<32>(32));
                }
                self.view_offset.d.next = self.answer.data.val().get_bits::<32>(96);
                self.view_index.d.next = self.answer.data.val().get_bits::<32>(64);
                self.table_index.d.next = 0.into();
                if self.held.q.val().task == MESSAGE {
                    self.state.d.next = ResolverState::Message;
                } else if self.held.q.val().task == DESTINATION {
                    self.state.d.next = ResolverState::Destination;
                } else if self.held.q.val().task == TABLE {
                    self.state.d.next = ResolverState::Idle;
                    if (self.held.q.val().kind == VIEWS) && self.held.q.val().number.any() {
                        self.view_index.d.next = 0.into();
                        self.state.d.next = ResolverState::Table;
                    }
                } else if self.held.q.val().task != VALUE {
                    self.judged.next = true;
                    self.long.d.next = false;
                    // What was checked without messages had none.
                    self.sum.d.next = 0.into();
                    self.over.d.next = false;
                    self.state.d.next = ResolverState::Idle;
                } else if self.held.q.val().kind == FIXED {
                    self.has_bytes.d.next = true;
                    self.state.d.next = ResolverState::Pack;
                } else if self.answer.valid.val() {
                    self.answer.ready.next = true;
                    self.has_bytes.d.next = true;
                    self.has_length.d.next = true;
                    if self.held.q.val().kind == BITS {
                        self.has_bytes.d.next = false;
                        self.has_length.d.next = false;
                        self.packed.d.next = self.packed.q.val() + 1;
                        self.pack.d.next = self.pack.q.val().replace_bit(
                            self.packed.q.val().get_bits::<3>(0).index(),
                            self.answer.data.val().get_bit(self.held.q.val().bit.index()),
                        );
                        self.state.d.next = ResolverState::Pack;
                    } else if self.held.q.val().kind == DICTIONARY {
                        self.has_length.d.next = false;
                        self.bytes.d.next = bit_cast::<32, 24>(self.held.q.val().width);
                        self.fails.next =
                            self.index.val() >= bit_cast::<64, 32>(self.held.q.val().number);
                        self.state.d.next = ResolverState::Multiply;
                    } else if self.held.q.val().kind == OFFSETS {
                        self.state.d.next = ResolverState::Forwards;
                    } else {
                        self.at.d.next = self.held.q.val().at + INLINE_AT;
                        self.bytes.d.next = self.answer.data.val().get_bits::<32>(0);
                        self.state.d.next = ResolverState::Pack;
                        if self.answer.data.val().get_bits::<32>(0) > INLINE {
                            self.fails.next = self.answer.data.val().get_bits::<32>(64)
                                >= self.held.q.val().number;
                            self.state.d.next = ResolverState::Buffer;
                        }
                    }
                    if self.answer.error.val() {
                        self.fails.next = true;
                    }
                }
            }
            ResolverState::Forwards => {
                // A value of 4 GiB or more is longer than any message.
                self.at.d.next = self.begins.val().get_bits::<64>(0);
                self.bytes.d.next = self.span.val().get_bits::<32>(0);
                if self.span.val().get_bits::<32>(32).any() {
                    self.bytes.d.next = 0xffff_ffff.into();
                }
                self.key.d.next = self.held.q.val().number;
                self.to.d.next = self.span.val().get_bits::<64>(0) - 1;
                self.state.d.next = ResolverState::First;
                if !self.span.val().any() {
                    self.state.d.next = ResolverState::Pack;
                } else if self.span.val().get_bit(64) || self.begins.val().get_bit(64) {
                    self.fails.next = true;
                }
            }
            ResolverState::Multiply => {
                if self.wait.q.val() == PRODUCT {
                    self.at.d.next =
                        self.held.q.val().addr + bit_cast::<64, 56>(self.multiplier.product.val());
                    self.state.d.next = ResolverState::Pack;
                }
            }
            ResolverState::Buffer => {
                self.read.valid.next = !self.is_known.val();
                self.buffer_addr.d.next = self.known_out.record.val().buffer.get_bits::<64>(0);
                self.buffer_bytes.d.next = self.known_out.record.val().buffer.get_bits::<32>(64);
                self.key.d.next = self.known_out.record.val().buffer.get_bits::<32>(96);
                if self.is_known.val() {
                    self.state.d.next = ResolverState::Within;
                } else if self.read.ready.val() {
                    self.state.d.next = ResolverState::BufferCome;
                }
            }
            ResolverState::BufferCome => {
                self.buffer_addr.d.next = self.line.data.val().get_bits::<64>(0);
                self.buffer_bytes.d.next = self.line.data.val().get_bits::<32>(64);
                self.key.d.next = self.line.data.val().get_bits::<32>(96);
                if self.line.valid.val() {
                    self.known.write_enable.next = true;
                    self.kept.d.next =
                        self.kept.q.val().replace_bit(self.known_at.val().index(), true);
                    self.fails.next = self.line.error.val();
                    self.state.d.next = ResolverState::Within;
                }
            }
            ResolverState::Within => {
                self.at.d.next =
                    self.buffer_addr.q.val() + bit_cast::<64, 32>(self.view_offset.q.val());
                self.to.d.next = bit_cast::<64, 32>(self.bytes.q.val()) - 1;
                self.fails.next =
                    self.view_end.val() > bit_cast::<33, 32>(self.buffer_bytes.q.val());
                self.state.d.next = ResolverState::First;
            }
            ResolverState::First => {
                // Its first byte, and then its last one, are in the memory region: so are those between.
                self.key_addr.d.next = self.at.q.val();
                self.key_bytes.d.next = 1.into();
                self.wait.d.next = 0.into();
                self.state.d.next = ResolverState::Final;
            }
            ResolverState::Final => {
                self.key_addr.d.next = self.last_byte.val().get_bits::<64>(0);
                if (self.wait.q.val() == KEY) && !self.covered.val() {
                    self.fails.next = true;
                }
                if self.wait.q.val() == KEY + 1 {
                    self.fails.next = !self.covered.val() || self.last_byte.val().get_bit(64);
                    self.state.d.next = ResolverState::Pack;
                }
            }
            ResolverState::Pack => {
                // A byte of bits that another value follows, that is full, or that its unit ends.
                self.state.d.next = ResolverState::Weigh;
                if self.has_length.q.val() {
                    self.state.d.next = ResolverState::Length;
                }
                if !self.has_bytes.q.val() {
                    self.state.d.next = ResolverState::Idle;
                }
                if self.packed.q.val().any()
                    && (self.has_bytes.q.val()
                        || self.packed.q.val().get_bit(3)
                        || self.held.q.val().unit_end)
                {
                    self.made.data.next = bit_cast::<32, 8>(self.pack.q.val());
                    self.adds.next = true;
                    if self.held.q.val().give {
                        self.adds.next = self.free.val() && self.made.ready.val();
                        self.made.valid.next = self.free.val() && !self.exceeds.val();
                        self.emits.next = self.adds.val() && !self.exceeds.val();
                        self.fails.next = self.adds.val() && self.exceeds.val();
                        if self.free.val() {
                            self.out.d.next.first = 1.into();
                            self.out.d.next.last = 0.into();
                            self.out.d.next.bytes = 1.into();
                        }
                    }
                    if self.adds.val() {
                        self.pack.d.next = 0.into();
                        self.packed.d.next = 0.into();
                    } else {
                        self.state.d.next = ResolverState::Pack;
                    }
                }
            }
            ResolverState::Length => {
                self.adds.next = true;
                if self.held.q.val().give {
                    self.adds.next = self.free.val() && self.made.ready.val();
                    self.made.valid.next = self.free.val() && !self.exceeds.val();
                    self.emits.next = self.adds.val() && !self.exceeds.val();
                    self.fails.next = self.adds.val() && self.exceeds.val();
                    if self.free.val() {
                        self.out.d.next.first = 1.into();
                        self.out.d.next.last = 0.into();
                        self.out.d.next.bytes = LENGTH_BYTES.into();
                    }
                }
                if self.adds.val() {
                    self.state.d.next = ResolverState::Weigh;
                }
            }
            ResolverState::Weigh => {
                self.adds.next = true;
                self.fails.next = self.held.q.val().give && self.exceeds.val();
                self.state.d.next = ResolverState::Idle;
                if self.held.q.val().give && self.bytes.q.val().any() {
                    self.state.d.next = ResolverState::Bytes;
                }
            }
            ResolverState::Bytes => {
                self.emits.next = self.free.val();
                if self.free.val() {
                    self.at.d.next = self.at.q.val() + BEAT;
                    self.bytes.d.next = self.bytes.q.val() - self.more.val();
                    if self.final_piece.val() {
                        self.state.d.next = ResolverState::Idle;
                    }
                }
            }
            ResolverState::Message => {
                self.told.d.next = self.sum.q.val().get_bits::<32>(0);
                if self.over.q.val() {
                    self.long.d.next = true;
                }
                if !self.held.q.val().give {
                    self.state.d.next = ResolverState::Idle;
                } else if self.is_write.val()
                    && (self.sum.q.val() != bit_cast::<33, 32>(self.told.q.val()))
                {
                    self.fails.next = true;
                } else if self.free.val() {
                    self.emits.next = true;
                    self.out.d.next.piece = false;
                    self.out.d.next.first = 0.into();
                    self.out.d.next.last = 0.into();
                    self.out.d.next.bytes = 0.into();
                    self.out.d.next.message_end = true;
                    self.state.d.next = ResolverState::Idle;
                }
                if self.state.d.val() == ResolverState::Idle {
                    self.sum.d.next = 0.into();
                    self.over.d.next = false;
                }
            }
            ResolverState::Destination => {
                if self.free.val() {
                    self.emits.next = true;
                    self.out.d.next.piece = false;
                    self.out.d.next.first = 0.into();
                    self.out.d.next.last = 0.into();
                    self.out.d.next.bytes = 0.into();
                    self.out.d.next.message_start = false;
                    self.out.d.next.message_bytes = 0.into();
                    self.out.d.next.dest_end = true;
                    self.state.d.next = ResolverState::Idle;
                }
            }
            ResolverState::Table => {
                self.read.valid.next = true;
                self.read.addr.next = self.held.q.val().addr
                    + (bit_cast::<64, 32>(self.table_index.q.val()) << LOG_BUFFER);
                self.read.bytes.next = self.table_bytes.val();
                if self.read.ready.val() {
                    self.state.d.next = ResolverState::TableCome;
                }
            }
            ResolverState::TableCome => {
                self.buffers.d.next = self.line.data.val();
                if self.line.valid.val() {
                    self.fails.next = self.line.error.val();
                    self.key_addr.d.next = self.line.data.val().get_bits::<64>(0);
                    self.key_bytes.d.next = self.line.data.val().get_bits::<32>(64);
                    self.key.d.next = self.line.data.val().get_bits::<32>(96);
                    self.wait.d.next = 0.into();
                    self.state.d.next = ResolverState::TableKey;
                }
            }
            ResolverState::TableKey => {
                if self.wait.q.val() == KEY {
                    self.fails.next = !self.covered.val();
                    self.wait.d.next = 0.into();
                    self.buffers.d.next = self.buffers.q.val() >> BUFFER_SHIFT;
                    self.key_addr.d.next = self.buffers.q.val().get_bits::<64>(BUFFER_BITS);
                    self.key_bytes.d.next = self.buffers.q.val().get_bits::<32>(BUFFER_BITS + 64);
                    self.key.d.next = self.buffers.q.val().get_bits::<32>(BUFFER_BITS + 96);
                    self.table_index.d.next = self.table_index.q.val() + 1;
                    if self.table_rest.val() == 1 {
                        self.state.d.next = ResolverState::Idle;
                    } else if self.table_index.q.val().get_bits::<2>(0) == BUFFERS - 1 {
                        self.state.d.next = ResolverState::Table;
                    }
                }
            }
        }

        if self.adds.val() {
            self.sum.d.next = self.sum_new.val().get_bits::<33>(0);
            if self.exceeds.val() {
                // One more than there may be, from then on.
                self.over.d.next = true;
                self.sum.d.next = self.most.val();
            }
        }
        if self.emits.val() {
            self.out_valid.d.next = true;
            self.started.d.next = self.state.q.val() != ResolverState::Message;
            if self.state.q.val() == ResolverState::Destination {
                self.started.d.next = false;
            }
        }
        // What comes behind a failure is dropped, with its answers.
        if self.fails.val() {
            self.broken.d.next = true;
            self.state.d.next = ResolverState::Idle;
        }
        if self.broken.q.val() {
            self.emits.next = false;
            self.made.valid.next = false;
            self.judged.next = false;
            self.answer.ready.next = false;
            self.state.d.next = ResolverState::Idle;
            if (self.state.q.val() == ResolverState::Idle) && self.entry.valid.val() {
                self.state.d.next = ResolverState::Look;
            }
            if (self.state.q.val() == ResolverState::Look)
                && (self.held.q.val().task == VALUE)
                && (self.held.q.val().kind != FIXED)
            {
                self.answer.ready.next = self.answer.valid.val();
                if !self.answer.valid.val() {
                    self.state.d.next = ResolverState::Look;
                }
            }
        }
        if self.clear.val() {
            self.broken.d.next = false;
            self.sum.d.next = 0.into();
            self.over.d.next = false;
            self.long.d.next = false;
            self.kept.d.next = 0.into();
            self.started.d.next = false;
            self.packed.d.next = 0.into();
            self.pack.d.next = 0.into();
        }
        self.failed.next = self.broken.q.val();
        self.too_long.next = self.long.q.val();
        self.idle.next = (self.state.q.val() == ResolverState::Idle)
            && !self.out_valid.q.val()
            && !self.entry.valid.val();
        self.token_valid.next = self.out_valid.q.val();
        self.token.next = self.out.q.val();

        if self.rst.val() {
            self.state.d.next = ResolverState::Idle;
            self.out_valid.d.next = false;
            self.broken.d.next = false;
        }
    }
}
