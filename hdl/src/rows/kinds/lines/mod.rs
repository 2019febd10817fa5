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

mod blocks;
mod entries;
mod reads;
pub mod store;
pub mod tags;

use super::record::{Answer, Entry, Placed};
use crate::primitive::{Fifo, StreamFifo, StreamSkid};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;
use store::Store;
use tags::Tags;

/// Bits of the place of a block among the even or odd ones.
pub const PLACE: usize = 7;
/// Bits of the number of a block among the even or odd ones.
pub const BLOCK_NUMBER: usize = 55;

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
    pub half: Bits<4>,
    /// With `loads` and `picks`: see [`Placed::spot`].
    pub spot: Bits<11>,
    /// With `loads`: number of words of 16 bytes that are read of the line, less 1.
    pub words: Bits<2>,
}

/// A line of bits of a later block, or of the next request, that is stored when it arrives; the fields are those of a
/// [`Source`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Load {
    /// Lane of the column.
    pub lane: Bits<4>,
    /// Where the line is kept.
    pub half: Bits<4>,
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
    /// With `loads`: see [`Wanted::early`](super::record::Wanted::early).
    early: Bit,
    /// The entry consists of bits of lines that were stored before.
    picks: Bit,
    /// See [`Source`].
    half: Bits<4>,
    spot: Bits<11>,
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
    half: Bits<4>,
    spot: Bits<11>,
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
    half: DFF<Bits<4>>,
    spot: DFF<Bits<11>>,
    len: DFF<Bits<5>>,
    after: DFF<Bits<8>>,
    rows: Signal<Local, Bits<8>>,
    shifted: [Signal<Local, Bits<14>>; 6],
    parts: [Signal<Local, Bits<14>>; 6],
    reach: Signal<Local, Bits<14>>,
    bits_after: Signal<Local, Bits<9>>,
    /// A line of a new block waits for the lines of the block before, or for values that may need what it replaces.
    holds: Signal<Local, Bit>,
    /// Lines of later blocks that have not been stored.
    loading: DFF<Bits<7>>,
    /// Values of bits that have not been picked, those since the last block began, and those of the block before.
    picking: DFF<Bits<10>>,
    since: DFF<Bits<10>>,
    since_last: DFF<Bits<10>>,
    /// Values of the last block, if another one begins.
    of_last: Signal<Local, Bits<10>>,
    begins_load: Signal<Local, Bit>,
    begins_pick: Signal<Local, Bit>,
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
    /// For each read: it is for such a line.
    is_early_read: Fifo<1, 7, 8>,
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
        self.hold_lines();
        self.advance();
        self.count_lines();
        self.take_entry();
        self.wait_for_bytes();
        self.find_blocks();
        self.look_up();
        self.mark_blocks();
        self.ask();
        self.read_blocks();
        self.name_source();
        self.take_beats();
        self.count_entries();
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
            self.loading.d.next = 0.into();
            self.picking.d.next = 0.into();
            self.since.d.next = 0.into();
            self.since_last.d.next = 0.into();
        }
    }
}
