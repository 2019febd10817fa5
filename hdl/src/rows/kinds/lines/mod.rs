//! Reads entries from host memory, in blocks of 256 bytes that are kept for the request.
//!
//! Stands in the walk of kinds. Entries of a lane that are less than 64 bytes apart are read in blocks of host memory,
//! of 256 bytes at a multiple of 256. A block has one read: from its beginning or the lane's first entry, whichever
//! is later, to its end or that of the lane's last entry, whichever is earlier. All these bytes lie in memory that was
//! checked for the lane. A block is kept for all destinations and walks of the request, until another block takes its
//! place: there are 256 places, and the place of a block is chosen by its address and the lane. The [`Tags`] say which
//! blocks are kept; the [`Store`] has their bytes.
//!
//! ```text
//! placed, product --> held --> looked --> found --> asked --+--> read
//!                      |         |          |               +--> sources --> Store --> answers --> answer
//!                      |         +-- Tags --+                            beat --^
//!                      +--> entries --> entry
//! ```
//!
//! Lanes may share a block: an entry is taken from it if it was read for this request, whichever lane it was read for,
//! and has all bytes of the entry, which lie in memory that was checked for the entry's lane. A block that was read and
//! lacks bytes of an entry is read anew. A block counts as kept from when it is asked for: the store takes everything
//! in order, so that the block's beats arrive before any later entry is taken from them.
//!
//! An entry that ends in the next block is put together from both blocks. It is read by itself if its block is that of
//! the lane's first entry and was not read from a multiple of 64 bytes on, because its bytes might then lie in three
//! beats. Entries that are 64 bytes apart or more, and those behind pointers, are always read by themselves.

pub mod store;
pub mod tags;

use super::record::{Answer, Entry, LINE, LOAD, Placed, VALUE};
use crate::primitive::{Fifo, StreamFifo, StreamSkid};
use crate::request::{BITS, FIXED, OFFSETS, VIEWS};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_abi::work_request::VIEW;
use drdma_emit::prelude::*;
use store::Store;
use tags::Tags;

/// Bytes of a view.
const VIEW_BYTES: u64 = VIEW as u64;
/// Largest number of bytes of the lane behind an entry; stands for more as well.
const MOST_AFTER: u64 = 255;
/// Largest number of entries whose answers were not taken yet.
const MOST: u64 = 512;
/// Bits of the place of a block among the even or odd ones.
pub const PLACE: usize = 7;
/// Bits of the number of a block among the even or odd ones.
pub const BLOCK_NUMBER: usize = 55;
/// Offset of the last byte of a block.
const LAST: u64 = 255;

/// Source of the bytes of an entry: beats that are read, or a block that is kept.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Source {
    /// Lane of the entry.
    pub lane: Bits<4>,
    /// The entry is read by itself: it is in the next beat that arrives.
    pub alone: Bit,
    /// The entry's block is read for this entry: its beats arrive next.
    pub fills: Bit,
    /// With `fills`: number of the first beat that is read of the block.
    pub fill_beat: Bits<2>,
    /// The block behind is read for this entry: its beats arrive after those of `fills`.
    pub fills_second: Bit,
    /// Place of the entry's block.
    pub place: Bits<8>,
    /// Place of the block behind.
    pub second_place: Bits<8>,
    /// The block's beat in which the entry begins.
    pub beat: Bits<2>,
    /// Bytes before the entry in that beat.
    pub skip: Bits<6>,
    /// The entry ends in the next beat.
    pub joins: Bit,
    /// The next beat that arrives is a line of bits, to be stored.
    pub loads: Bit,
    /// The entry consists of bits of lines that were stored before.
    pub picks: Bit,
    /// With `loads` and `picks`: see [`Placed::half`].
    pub half: Bits<3>,
    /// With `loads` and `picks`: see [`Placed::spot`].
    pub spot: Bits<10>,
    /// With `loads`: number of words of 16 bytes that are read of the line, less 1.
    pub words: Bits<2>,
}

/// A line of bits of the next request that is stored when it arrives; the fields are those of a [`Source`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Load {
    /// Lane of the column.
    pub lane: Bits<4>,
    /// Where the line is kept.
    pub half: Bits<3>,
    /// Bytes of the line before those that are read.
    pub skip: Bits<6>,
    /// Bits before that of row 0 in its line.
    pub offset: Bits<9>,
    /// Number of words of 16 bytes that are read, less 1.
    pub words: Bits<2>,
}

/// A product of a row and a step.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Product {
    /// The product in bytes, modulo 2^64.
    pub bytes: Bits<64>,
}

/// An entry whose block is to be looked up.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Looked {
    /// Lane of the entry.
    lane: Bits<4>,
    /// Host address of the entry, or of a line of bits.
    at: Bits<64>,
    /// Bytes of the entry.
    len: Bits<5>,
    /// The entry is read, unless it is kept.
    must_read: Bit,
    /// The entry is taken from its block, which is kept.
    keeps: Bit,
    /// Number, among the even blocks, of the even one of the entry's block and the block behind.
    even: Bits<BLOCK_NUMBER>,
    /// Number, among the odd blocks, of the odd one of the two.
    odd: Bits<BLOCK_NUMBER>,
    /// Place of the even block among the even ones.
    even_place: Bits<PLACE>,
    /// Place of the odd block among the odd ones.
    odd_place: Bits<PLACE>,
    /// The entry ends in the block behind.
    crosses: Bit,
    /// Last byte of the entry in its block.
    needs: Bits<8>,
    /// With `crosses`: last byte of the entry in the block behind.
    needs_second: Bits<4>,
    /// The first byte to be read of the block.
    first: Bits<8>,
    /// The last byte to be read of the block.
    last: Bits<8>,
    /// The last byte to be read of the block behind.
    last_second: Bits<8>,
    /// With `loads`: bytes behind the first one to be read.
    load_after: Bits<6>,
    /// A line of bits is read.
    loads: Bit,
    /// With `loads`: it is one of the next request.
    early: Bit,
    /// The entry consists of bits of lines that were stored before.
    picks: Bit,
    /// See [`Source`].
    half: Bits<3>,
    spot: Bits<10>,
}

/// Reads that are issued for an entry, and the places of its blocks.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Asked {
    /// Lane of the entry.
    lane: Bits<4>,
    /// The entry is read by itself.
    alone: Bit,
    /// The entry's block is read.
    fills: Bit,
    /// The block behind is read.
    fills_second: Bit,
    /// Address of the first read.
    addr: Bits<64>,
    /// Bytes of the entry.
    len: Bits<5>,
    /// Bytes of the read of the entry's block.
    fill_bytes: Bits<9>,
    /// Number of the block behind.
    next_block: Bits<56>,
    /// The last byte to be read of the block behind.
    last_second: Bits<8>,
    /// Place of the entry's block.
    place: Bits<8>,
    /// Place of the block behind.
    second_place: Bits<8>,
    /// Offset of the entry in its block.
    offset: Bits<8>,
    /// Offset of the first byte that was read of the block.
    first: Bits<8>,
    /// The entry ends in the block behind.
    crosses: Bit,
    /// See [`Looked`].
    load_after: Bits<6>,
    loads: Bit,
    early: Bit,
    picks: Bit,
    half: Bits<3>,
    spot: Bits<10>,
}

/// Reads entries for the follower; see the [module](self).
///
/// Takes an entry a cycle, or one in two cycles where its block and the block behind are both read. Its answer follows
/// 10 cycles later or more. 512 entries are under way at once.
///
/// Lines of bits are loaded (`LOAD`, in 1 to 4 cycles each) before the bits of their rows are taken. The bits of all
/// neighbouring lanes of a row are one entry. Lines of the next request (`early`) have sources of their own: entries
/// that come behind them do not wait for them.
///
/// # Inputs
/// `clk`, `rst`; `clear`; streams `placed`, and `product` with it; `beat`, in the order of reads.
///
/// # Outputs
/// Streams `read`, `entry`, and `answer`, which has one item for each entry of a value that is not of fixed width;
/// `idle`. The ready of `beat` waits for entries only.
#[derive(LogicBlock, BlockDefault)]
pub struct Lines {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request begins.
    pub clear: Signal<In, Bit>,
    /// Entries whose addresses lack the product of row and step.
    pub placed: Stream<In, Placed>,
    /// Products of row and step, one for each item of `placed`.
    pub product: Stream<In, Product>,
    /// Reads of host memory.
    pub read: Stream<Out, HostReadRequest>,
    /// Answers of the reads.
    pub beat: Stream<In, HostReadBeat>,
    /// Entries, in their order.
    pub entry: Stream<Out, Entry>,
    /// Bytes of the entries that were read.
    pub answer: Stream<Out, Answer>,
    /// No entry and no read is under way.
    pub idle: Signal<Out, Bit>,

    // An entry.
    flows: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    enters: Signal<Local, Bit>,
    held_valid: DFF<Bit>,
    held: DFF<Entry>,
    must_read: DFF<Bit>,
    near: DFF<Bit>,
    is_load: DFF<Bit>,
    is_early: DFF<Bit>,
    picks: DFF<Bit>,
    half: DFF<Bits<3>>,
    spot: DFF<Bits<10>>,
    len: DFF<Bits<5>>,
    after: DFF<Bits<8>>,
    rows: Signal<Local, Bits<8>>,
    shifted: [Signal<Local, Bits<14>>; 6],
    parts: [Signal<Local, Bits<14>>; 6],
    reach: Signal<Local, Bits<14>>,
    bits_after: Signal<Local, Bits<8>>,
    entries: StreamFifo<Entry, 9, 10>,
    waits: Signal<Local, Bit>,
    waiting: DFF<Bits<10>>,
    has_room: DFF<Bit>,

    // The entry's block and the block behind.
    len_less: Signal<Local, Bits<5>>,
    last_byte: Signal<Local, Bits<9>>,
    last_behind: Signal<Local, Bits<10>>,
    even: Signal<Local, Bits<BLOCK_NUMBER>>,
    spread: Signal<Local, Bits<PLACE>>,
    to_line_end: Signal<Local, Bits<6>>,
    looked_new: Signal<Local, Looked>,
    looked_valid: DFF<Bit>,
    looked: DFF<Looked>,
    found_valid: DFF<Bit>,
    found: DFF<Looked>,

    // Whether the two blocks are kept.
    tags: [Tags; 2],
    has_first: [Signal<Local, Bit>; 2],
    has_second: [Signal<Local, Bit>; 2],
    is_odd: Signal<Local, Bit>,
    hits: Signal<Local, Bit>,
    hits_second: Signal<Local, Bit>,
    kept_first: Signal<Local, Bits<8>>,
    alone: Signal<Local, Bit>,
    fills: Signal<Local, Bit>,
    fills_second: Signal<Local, Bit>,
    looks: Signal<Local, Bit>,
    asked_new: Signal<Local, Asked>,
    asked_valid: DFF<Bit>,
    asked: DFF<Asked>,

    // Reads, and the source of the entry's bytes.
    ready_to_look: DFF<Bit>,
    both: Signal<Local, Bit>,
    second: DFF<Bit>,
    ask: Signal<Local, HostReadRequest>,
    place_in_beats: Signal<Local, Bits<8>>,
    source_new: Signal<Local, Source>,
    reads_out: StreamSkid<HostReadRequest>,
    sources: StreamFifo<Source, 9, 10>,
    loads: StreamFifo<Load, 6, 7>,
    load_new: Signal<Local, Load>,
    /// For each read: it is for a line of the next request.
    is_for_next: Fifo<1, 7, 8>,
    has_room_for_read: Signal<Local, Bit>,
    store: Store,
    answers: StreamFifo<Answer, 9, 10>,
    answered: Signal<Local, Bit>,
    inside: DFF<Bits<10>>,
    gone: Signal<Local, Bit>,
    unused_counts: Signal<Local, Bits<10>>,
}

impl Logic for Lines {
    #[hdl_gen]
    fn update(&mut self) {
        // All stages advance together. An entry for which two blocks are read stays a cycle longer.
        self.has_room_for_read.next =
            self.reads_out.input.ready.val() && self.is_for_next.in_ready.val();
        self.flows.next = self.has_room_for_read.val()
            && self.sources.input.ready.val()
            && self.loads.input.ready.val()
            && self.entries.input.ready.val()
            && self.has_room.q.val()
            && self.ready_to_look.q.val();
        self.both.next = self.asked_valid.q.val()
            && (self.asked.q.val().fills && self.asked.q.val().fills_second)
            && !self.second.q.val();
        self.moves.next = self.flows.val() && !self.both.val();
        self.enters.next = self.moves.val() || !self.held_valid.q.val();
        self.placed.ready.next = self.enters.val() && self.product.valid.val();
        self.product.ready.next = self.enters.val() && self.placed.valid.val();
        // Bytes of the lane behind the entry, as far as they may be in its block or the next.
        self.rows.next = self.placed.rest.val().get_bits::<8>(0);
        if self.placed.rest.val().get_bits::<2>(8).any() {
            self.rows.next = MOST_AFTER.into();
        }
        self.shifted[0].next = bit_cast::<14, 8>(self.rows.val());
        for k in 1..6 {
            self.shifted[k].next = self.shifted[k - 1].val() << 1;
        }
        for k in 0..6 {
            self.parts[k].next = 0.into();
            if self.placed.step.val().get_bit(k) {
                self.parts[k].next = self.shifted[k].val();
            }
        }
        self.reach.next = ((self.parts[0].val() + self.parts[1].val())
            + (self.parts[2].val() + self.parts[3].val()))
            + (self.parts[4].val() + self.parts[5].val());
        self.bits_after.next = (bit_cast::<11, 10>(self.placed.rest.val())
            + bit_cast::<11, 3>(self.placed.bit.val()))
        .get_bits::<8>(3);
        if self.enters.val() {
            self.held_valid.d.next = self.placed.valid.val() && self.product.valid.val();
            self.placed.share(&mut self.held.d);
            self.held.d.next.at = self.placed.start.val() + self.product.bytes.val();
            self.is_load.d.next = self.placed.task.val() == LOAD;
            self.is_early.d.next = self.placed.early.val();
            self.picks.d.next =
                (self.placed.task.val() == VALUE) && (self.placed.kind.val() == BITS);
            self.half.d.next = self.placed.half.val();
            self.spot.d.next = self.placed.spot.val();
            self.must_read.d.next = ((self.placed.task.val() == VALUE)
                && (self.placed.kind.val() != FIXED)
                && (self.placed.kind.val() != BITS))
                || ((self.placed.task.val() == LOAD) && self.placed.some.val());
            self.near.d.next = self.placed.near.val();
            self.len.d.next = bits::<5>(1) << self.placed.log_entry.val();
            self.after.d.next = self.reach.val().get_bits::<8>(0);
            if self.reach.val().get_bits::<6>(8).any() {
                self.after.d.next = MOST_AFTER.into();
            }
            if self.placed.kind.val() == BITS {
                self.after.d.next = self.bits_after.val();
            } else if self.placed.kind.val() == OFFSETS {
                self.len.d.next = bits::<5>(2) << self.placed.log_entry.val();
            } else if self.placed.kind.val() == VIEWS {
                self.len.d.next = VIEW_BYTES.into();
            }
        }

        // Entries wait here while their bytes are looked for. There is room for the answer of each.
        self.entries.input.valid.next =
            self.held_valid.q.val() && self.moves.val() && !self.is_load.q.val();
        self.entries.input.data.next = self.held.q.val();
        self.entries.output.join(&mut self.entry);
        self.waits.next = self.held_valid.q.val()
            && self.moves.val()
            && ((self.must_read.q.val() && !self.is_load.q.val()) || self.picks.q.val());
        self.answered.next = self.answers.output.valid.val() && self.answer.ready.val();
        if self.waits.val() && !self.answered.val() {
            self.waiting.d.next = self.waiting.q.val() + 1;
        } else if !self.waits.val() && self.answered.val() {
            self.waiting.d.next = self.waiting.q.val() - 1;
        }
        self.has_room.d.next = self.waiting.d.val() < MOST - 1;

        // The entry's block and the block behind: one of them is even, and one odd.
        self.len_less.next = self.len.q.val() - 1;
        self.last_byte.next = bit_cast::<9, 8>(self.held.q.val().at.get_bits::<8>(0))
            + bit_cast::<9, 5>(self.len_less.val());
        self.last_behind.next =
            bit_cast::<10, 9>(self.last_byte.val()) + bit_cast::<10, 8>(self.after.q.val());
        self.even.next = self.held.q.val().at.get_bits::<BLOCK_NUMBER>(9)
            + bit_cast::<BLOCK_NUMBER, 1>(self.held.q.val().at.get_bits::<1>(8));
        // Lanes whose blocks have the same lower bits are far from each other.
        self.spread.next = (bit_cast::<PLACE, 1>(self.held.q.val().lane.get_bits::<1>(0)) << 6)
            | (bit_cast::<PLACE, 1>(self.held.q.val().lane.get_bits::<1>(1)) << 5)
            | (bit_cast::<PLACE, 1>(self.held.q.val().lane.get_bits::<1>(2)) << 4)
            | (bit_cast::<PLACE, 1>(self.held.q.val().lane.get_bits::<1>(3)) << 3);
        self.to_line_end.next = !self.held.q.val().at.get_bits::<6>(0);
        self.looked_new.next.lane = self.held.q.val().lane;
        self.looked_new.next.at = self.held.q.val().at;
        self.looked_new.next.len = self.len.q.val();
        self.looked_new.next.must_read = self.must_read.q.val();
        self.looked_new.next.keeps =
            self.must_read.q.val() && self.near.q.val() && !self.is_load.q.val();
        self.looked_new.next.even = self.even.val();
        self.looked_new.next.odd = self.held.q.val().at.get_bits::<BLOCK_NUMBER>(9);
        self.looked_new.next.even_place = self.even.val().get_bits::<PLACE>(0) ^ self.spread.val();
        self.looked_new.next.odd_place =
            self.held.q.val().at.get_bits::<PLACE>(9) ^ self.spread.val();
        self.looked_new.next.crosses = self.last_byte.val().get_bit(8);
        self.looked_new.next.needs = self.last_byte.val().get_bits::<8>(0);
        self.looked_new.next.needs_second = self.last_byte.val().get_bits::<4>(0);
        if self.last_byte.val().get_bit(8) {
            self.looked_new.next.needs = LAST.into();
        }
        self.looked_new.next.first = 0.into();
        if self.held.q.val().base.get_bits::<56>(8) == self.held.q.val().at.get_bits::<56>(8) {
            self.looked_new.next.first = self.held.q.val().base.get_bits::<8>(0);
        }
        self.looked_new.next.last = self.last_behind.val().get_bits::<8>(0);
        if self.last_behind.val().get_bits::<2>(8).any() {
            self.looked_new.next.last = LAST.into();
        }
        self.looked_new.next.last_second = self.last_behind.val().get_bits::<8>(0);
        if self.last_behind.val().get_bit(9) {
            self.looked_new.next.last_second = LAST.into();
        }
        self.looked_new.next.load_after = self.to_line_end.val();
        if self.after.q.val() < bit_cast::<8, 6>(self.to_line_end.val()) {
            self.looked_new.next.load_after = self.after.q.val().get_bits::<6>(0);
        }
        self.looked_new.next.loads = self.is_load.q.val();
        self.looked_new.next.early = self.is_load.q.val() && self.is_early.q.val();
        self.looked_new.next.picks = self.picks.q.val();
        self.looked_new.next.half = self.half.q.val();
        self.looked_new.next.spot = self.spot.q.val();
        if self.moves.val() {
            self.looked_valid.d.next =
                self.held_valid.q.val() && (self.must_read.q.val() || self.picks.q.val());
            self.looked.d.next = self.looked_new.val();
        }

        // Whether the bytes of the entry are kept in its block and the block behind.
        self.tags[0].place.next = self.looked.q.val().even_place;
        self.tags[0].number.next = self.looked.q.val().even;
        self.tags[1].place.next = self.looked.q.val().odd_place;
        self.tags[1].number.next = self.looked.q.val().odd;
        if self.moves.val() {
            self.found_valid.d.next = self.looked_valid.q.val();
            self.found.d.next = self.looked.q.val();
        }
        for k in 0..2 {
            self.tags[k].clear.next = self.clear.val();
            self.tags[k].moves.next = self.moves.val();
            self.has_first[k].next = self.tags[k].known.val()
                && (self.tags[k].kept_first.val() <= self.found.q.val().at.get_bits::<8>(0))
                && (self.tags[k].kept_last.val() >= self.found.q.val().needs)
                && !(self.found.q.val().crosses
                    && self.tags[k].kept_first.val().get_bits::<6>(0).any());
            self.has_second[k].next = self.tags[k].known.val()
                && !self.tags[k].kept_first.val().any()
                && (self.tags[k].kept_last.val()
                    >= bit_cast::<8, 4>(self.found.q.val().needs_second));
        }
        self.is_odd.next = self.found.q.val().at.get_bit(8);
        self.hits.next = self.has_first[0].val();
        self.hits_second.next = self.has_second[1].val();
        self.kept_first.next = self.tags[0].kept_first.val();
        if self.is_odd.val() {
            self.hits.next = self.has_first[1].val();
            self.hits_second.next = self.has_second[0].val();
            self.kept_first.next = self.tags[1].kept_first.val();
        }
        self.alone.next = self.found.q.val().must_read
            && !self.found.q.val().loads
            && (!self.found.q.val().keeps
                || (self.found.q.val().crosses
                    && self.found.q.val().first.get_bits::<6>(0).any()
                    && !self.hits.val()));
        self.fills.next = self.found.q.val().keeps && !self.alone.val() && !self.hits.val();
        self.fills_second.next = self.found.q.val().keeps
            && !self.alone.val()
            && self.found.q.val().crosses
            && !self.hits_second.val();
        self.looks.next = self.found_valid.q.val() && self.moves.val();
        for k in 0..2 {
            self.tags[k].mark.next = self.looks.val() && self.fills.val();
            self.tags[k].first.next = self.found.q.val().first;
            self.tags[k].last.next = self.found.q.val().last;
        }
        if self.is_odd.val() {
            self.tags[0].mark.next = self.looks.val() && self.fills_second.val();
            self.tags[0].first.next = 0.into();
            self.tags[0].last.next = self.found.q.val().last_second;
        } else {
            self.tags[1].mark.next = self.looks.val() && self.fills_second.val();
            self.tags[1].first.next = 0.into();
            self.tags[1].last.next = self.found.q.val().last_second;
        }
        self.ready_to_look.d.next = !self.tags[0].busy.val() && !self.tags[1].busy.val();
        self.found.q.share(&mut self.asked_new);
        self.asked_new.next.alone = self.alone.val();
        self.asked_new.next.fills = self.fills.val();
        self.asked_new.next.fills_second = self.fills_second.val();
        self.asked_new.next.addr = self.found.q.val().at;
        if self.found.q.val().keeps && !self.alone.val() {
            self.asked_new.next.addr =
                (bit_cast::<64, 56>(self.found.q.val().at.get_bits::<56>(8)) << 8)
                    | bit_cast::<64, 8>(self.found.q.val().first);
        }
        self.asked_new.next.fill_bytes = bit_cast::<9, 8>(self.found.q.val().last)
            - bit_cast::<9, 8>(self.found.q.val().first)
            + 1;
        self.asked_new.next.next_block =
            (bit_cast::<56, BLOCK_NUMBER>(self.found.q.val().odd) << 1) | 1;
        self.asked_new.next.place = bit_cast::<8, PLACE>(self.found.q.val().even_place) << 1;
        self.asked_new.next.second_place =
            (bit_cast::<8, PLACE>(self.found.q.val().odd_place) << 1) | 1;
        if self.is_odd.val() {
            self.asked_new.next.next_block =
                bit_cast::<56, BLOCK_NUMBER>(self.found.q.val().even) << 1;
            self.asked_new.next.place =
                (bit_cast::<8, PLACE>(self.found.q.val().odd_place) << 1) | 1;
            self.asked_new.next.second_place =
                bit_cast::<8, PLACE>(self.found.q.val().even_place) << 1;
        }
        self.asked_new.next.offset = self.found.q.val().at.get_bits::<8>(0);
        self.asked_new.next.first = self.found.q.val().first;
        if self.hits.val() {
            self.asked_new.next.first = self.kept_first.val();
        }
        if self.moves.val() {
            self.asked_valid.d.next = self.found_valid.q.val();
            self.asked.d.next = self.asked_new.val();
        }

        // The read for the entry, or the two reads, one after the other.
        self.ask.next.addr = self.asked.q.val().addr;
        self.ask.next.bytes = bit_cast::<13, 9>(self.asked.q.val().fill_bytes);
        if self.asked.q.val().alone {
            self.ask.next.bytes = bit_cast::<13, 5>(self.asked.q.val().len);
        } else if self.asked.q.val().loads {
            self.ask.next.bytes = bit_cast::<13, 6>(self.asked.q.val().load_after) + 1;
        } else if !self.asked.q.val().fills || self.second.q.val() {
            self.ask.next.addr = bit_cast::<64, 56>(self.asked.q.val().next_block) << 8;
            self.ask.next.bytes = bit_cast::<13, 8>(self.asked.q.val().last_second) + 1;
        }
        self.second.d.next = self.second.q.val();
        if self.flows.val() {
            self.second.d.next = self.both.val();
        }
        self.reads_out.input.valid.next = self.asked_valid.q.val()
            && self.flows.val()
            && (self.asked.q.val().alone
                || self.asked.q.val().loads
                || self.asked.q.val().fills
                || self.asked.q.val().fills_second);
        self.reads_out.input.data.next = self.ask.val();
        self.reads_out.output.join(&mut self.read);

        // Position of the entry in the beats of its block.
        self.place_in_beats.next =
            self.asked.q.val().offset - bit_cast::<8, 6>(self.asked.q.val().first.get_bits::<6>(0));
        self.asked.q.share(&mut self.source_new);
        self.source_new.next.fill_beat = self.asked.q.val().first.get_bits::<2>(6);
        self.source_new.next.beat = self.place_in_beats.val().get_bits::<2>(6);
        self.source_new.next.skip = self.place_in_beats.val().get_bits::<6>(0);
        self.source_new.next.joins = self.asked.q.val().crosses
            || (bit_cast::<7, 6>(self.place_in_beats.val().get_bits::<6>(0))
                + bit_cast::<7, 5>(self.asked.q.val().len)
                > bits::<7>(LINE));
        self.source_new.next.words = self.asked.q.val().load_after.get_bits::<2>(4);
        if self.asked.q.val().loads {
            self.source_new.next.skip = self.asked.q.val().offset.get_bits::<6>(0);
        } else if self.asked.q.val().alone {
            self.source_new.next.skip = 0.into();
        }
        self.sources.input.valid.next =
            self.asked_valid.q.val() && self.moves.val() && !self.asked.q.val().early;
        self.sources.input.data.next = self.source_new.val();
        self.sources.output.join(&mut self.store.source);
        self.load_new.next.lane = self.source_new.val().lane;
        self.load_new.next.half = self.source_new.val().half;
        self.load_new.next.skip = self.source_new.val().skip;
        self.load_new.next.offset = self.source_new.val().spot.get_bits::<9>(0);
        self.load_new.next.words = self.source_new.val().words;
        self.loads.input.valid.next =
            self.asked_valid.q.val() && self.moves.val() && self.asked.q.val().early;
        self.loads.input.data.next = self.load_new.val();
        self.loads.output.join(&mut self.store.early);
        self.is_for_next.in_valid.next = self.reads_out.input.valid.val();
        self.is_for_next.in_data.next = bit_cast::<1, 1>(self.asked.q.val().early.into());

        // The store takes the beats that were read, and returns the bytes of entries.
        self.store.beat.valid.next = self.beat.valid.val() && self.is_for_next.out_valid.val();
        self.store.beat.next = self.beat.val();
        self.store.is_early.next = self.is_for_next.out_data.val().any();
        self.beat.ready.next = self.store.beat.ready.val() && self.is_for_next.out_valid.val();
        self.is_for_next.out_ready.next =
            self.beat.valid.val() && self.store.beat.ready.val() && self.beat.last.val();
        self.answers.input.valid.next = self.store.answer.valid.val();
        self.answers.input.data.next = self.store.answer.val();
        self.answers.output.join(&mut self.answer);

        // Number of entries under way.
        self.gone.next = self.entries.output.valid.val() && self.entry.ready.val();
        if self.entries.input.valid.val() && !self.gone.val() {
            self.inside.d.next = self.inside.q.val() + 1;
        } else if !self.entries.input.valid.val() && self.gone.val() {
            self.inside.d.next = self.inside.q.val() - 1;
        }
        self.idle.next = !self.held_valid.q.val()
            && !self.looked_valid.q.val()
            && !self.found_valid.q.val()
            && !self.asked_valid.q.val()
            && !self.inside.q.val().any()
            && !self.waiting.q.val().any()
            && !self.sources.count.val().any()
            && !self.store.busy.val();
        self.unused_counts.next = self.sources.free.val()
            | self.entries.count.val()
            | self.entries.free.val()
            | self.answers.count.val()
            | self.answers.free.val()
            | bit_cast::<10, 7>(self.loads.count.val() | self.loads.free.val())
            | bit_cast::<10, 8>(self.is_for_next.count.val() | self.is_for_next.free.val());
        if self.rst.val() {
            self.held_valid.d.next = false;
            self.looked_valid.d.next = false;
            self.found_valid.d.next = false;
            self.asked_valid.d.next = false;
            self.second.d.next = false;
            self.ready_to_look.d.next = false;
            self.waiting.d.next = 0.into();
            self.has_room.d.next = false;
            self.inside.d.next = 0.into();
        }
    }
}
