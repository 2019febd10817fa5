//! Reads entries from host memory: those that share a cache line together.

use super::bits::BitLines;
use super::record::{Answer, Entry, LINE, LOAD, Line, Placed, VALUE};
use crate::primitive::{Flatten, Lutram, Restore, StreamFifo, StreamSkid};
use crate::request::{BITS, FIXED, OFFSETS, VIEWS};
use crate::shell::host_read::HostReadRequest;
use drdma_abi::work_request::VIEW;
use drdma_emit::prelude::*;

/// Bytes of a view.
const VIEW_BYTES: u64 = VIEW as u64;
/// Largest number of bytes behind an entry that are counted.
const MOST_AFTER: u64 = 63;
/// Largest number of entries that were asked for and not taken.
const MOST: u64 = 512;

/// The line of a lane that was asked for last.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Tag {
    /// Lane set of the line.
    set: Bits<11>,
    /// Host address of the line, in units of 64 B.
    line: Bits<58>,
    /// First byte of the line that was read, as were all of the lane's bytes behind it.
    start: Bits<6>,
}

const TAG_BITS: usize = <Tag as Synth>::BITS;

/// Where the bytes of an entry are taken from.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Source {
    /// Lane of the entry.
    lane: Bits<4>,
    /// Something is read for the entry.
    reads: Bit,
    /// With `reads`: what is read becomes the lane's line.
    keeps: Bit,
    /// The entry begins in the line that the lane has, and ends in what is read.
    joins: Bit,
    /// Bytes before the entry in the line it is taken from.
    skip: Bits<6>,
    /// Bytes of the entry in the first line, if it ends in another.
    split: Bits<5>,
    /// What is read is a line of bits.
    loads: Bit,
    /// The entry is bits of lines that were read.
    picks: Bit,
    /// With `loads` and `picks`: see [`Placed::half`] and [`Placed::spot`].
    half: Bits<3>,
    spot: Bits<10>,
    /// With `loads`: 16 bytes that are read of the line, less 1.
    words: Bits<2>,
}

/// Bits of a [`Line`]; one line is kept for each lane.
const LINE_BITS: usize = <Line as Synth>::BITS;

/// A product of a row and a step.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Product {
    /// The product in bytes, modulo 2^64.
    pub bytes: Bits<64>,
}

/// Reads entries for the follower; see the [module above](super).
///
/// Takes an entry a cycle. Columns and periods of less than 64 bytes are read a line at a time, as far as the lane's
/// entries reach, and each line once in a walk. Other entries, and those behind pointers, are read one by one. 512
/// entries are under way at once.
///
/// Bits have their lines loaded before (`LOAD`, in 1 to 4 cycles each): those of all lanes of a row are one entry.
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
    pub beat: Stream<In, Line>,
    /// Entries, in their order.
    pub entry: Stream<Out, Entry>,
    /// Bytes of the entries that were read.
    pub answer: Stream<Out, Answer>,
    /// No entry and no read is under way.
    pub idle: Signal<Out, Bit>,

    // An entry.
    moves: Signal<Local, Bit>,
    enters: Signal<Local, Bit>,
    held_valid: DFF<Bit>,
    held: DFF<Entry>,
    must_read: DFF<Bit>,
    near: DFF<Bit>,
    is_load: DFF<Bit>,
    picks: DFF<Bit>,
    half: DFF<Bits<3>>,
    spot: DFF<Bits<10>>,
    len: DFF<Bits<5>>,
    after: DFF<Bits<6>>,
    rows: Signal<Local, Bits<6>>,
    shifted: [Signal<Local, Bits<12>>; 6],
    parts: [Signal<Local, Bits<12>>; 6],
    reach: Signal<Local, Bits<12>>,
    bits_after: Signal<Local, Bits<11>>,
    to_line_end: Signal<Local, Bits<6>>,
    keeps: Signal<Local, Bit>,

    // Where the bytes of the entry come from.
    tags: Lutram<TAG_BITS, 4, 1>,
    tag_in: Flatten<Tag, TAG_BITS>,
    tag: Restore<Tag, TAG_BITS>,
    tag_new: Signal<Local, Tag>,
    has_line: DFF<Bits<16>>,
    last_byte: Signal<Local, Bits<7>>,
    crosses: Signal<Local, Bit>,
    is_known: Signal<Local, Bit>,
    hits: Signal<Local, Bit>,
    joins: Signal<Local, Bit>,
    fresh: Signal<Local, Bit>,
    reads: Signal<Local, Bit>,
    before_end: Signal<Local, Bits<7>>,
    // The read for the entry, a cycle later.
    asks: DFF<Bit>,
    ask_at: DFF<Bits<64>>,
    in_line: DFF<Bits<7>>,
    behind: DFF<Bits<6>>,
    limit: DFF<Bits<7>>,
    wanted_bytes: Signal<Local, Bits<7>>,
    ask: Signal<Local, HostReadRequest>,
    source_new: Signal<Local, Source>,
    waiting: DFF<Bits<10>>,
    has_room: DFF<Bit>,
    waits: Signal<Local, Bit>,
    reads_out: StreamSkid<HostReadRequest>,
    sources: StreamFifo<Source, 9, 10>,
    entries: StreamFifo<Entry, 9, 10>,

    // Lines of bits.
    bit_lines: BitLines,
    first_picks: DFF<Bit>,
    moved_picks: DFF<Bit>,

    // The line that was read.
    free: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    source: Signal<Local, Source>,
    lines: Lutram<LINE_BITS, 4, 1>,
    line_in: Flatten<Line, LINE_BITS>,
    line: Restore<Line, LINE_BITS>,
    line_new: Signal<Local, Line>,
    first_valid: DFF<Bit>,
    first: DFF<Bits<512>>,
    first_error: DFF<Bit>,
    second: DFF<Bits<128>>,
    skip: DFF<Bits<6>>,
    split: DFF<Bits<5>>,
    is_joined: DFF<Bit>,
    moved_valid: DFF<Bit>,
    moved: DFF<Bits<192>>,
    moved_error: DFF<Bit>,
    moved_second: DFF<Bits<128>>,
    mask: DFF<Bits<128>>,
    none: Signal<Local, Bits<128>>,
    all_ones: Signal<Local, Bits<128>>,
    moved_skip: DFF<Bits<3>>,
    whole: Signal<Local, Bits<128>>,
    answer_valid: DFF<Bit>,
    answer_new: Signal<Local, Answer>,
    answer_held: DFF<Answer>,
    answers: StreamFifo<Answer, 9, 10>,
    inside: DFF<Bits<10>>,
    gone: Signal<Local, Bit>,
    answered: Signal<Local, Bit>,
    unused_counts: Signal<Local, Bits<10>>,
}

impl Logic for Lines {
    #[hdl_gen]
    fn update(&mut self) {
        // An entry enters when the one before advances.
        self.moves.next = self.reads_out.input.ready.val()
            && self.sources.input.ready.val()
            && self.entries.input.ready.val()
            && self.has_room.q.val();
        self.enters.next = self.moves.val() || !self.held_valid.q.val();
        self.placed.ready.next = self.enters.val() && self.product.valid.val();
        self.product.ready.next = self.enters.val() && self.placed.valid.val();
        // Bytes of the lane behind the entry, as far as they are in its line.
        self.rows.next = self.placed.rest.val().get_bits::<6>(0);
        if self.placed.rest.val().get_bits::<4>(6).any() {
            self.rows.next = MOST_AFTER.into();
        }
        self.shifted[0].next = bit_cast::<12, 6>(self.rows.val());
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
            >> 3;
        if self.enters.val() {
            self.held_valid.d.next = self.placed.valid.val() && self.product.valid.val();
            self.placed.share(&mut self.held.d);
            self.held.d.next.at = self.placed.start.val() + self.product.bytes.val();
            self.is_load.d.next = self.placed.task.val() == LOAD;
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
            self.after.d.next = self.reach.val().get_bits::<6>(0);
            if self.reach.val().get_bits::<6>(6).any() {
                self.after.d.next = MOST_AFTER.into();
            }
            if self.placed.kind.val() == BITS {
                self.after.d.next = self.bits_after.val().get_bits::<6>(0);
                if self.bits_after.val().get_bits::<5>(6).any() {
                    self.after.d.next = MOST_AFTER.into();
                }
            } else if self.placed.kind.val() == OFFSETS {
                self.len.d.next = bits::<5>(2) << self.placed.log_entry.val();
            } else if self.placed.kind.val() == VIEWS {
                self.len.d.next = VIEW_BYTES.into();
            }
        }

        // Whether the entry lies in the line that was read last for its lane.
        self.tags.read_address[0].next = self.held.q.val().lane;
        self.tag.bits.next = self.tags.read_data[0].val();
        self.last_byte.next = bit_cast::<7, 6>(self.held.q.val().at.get_bits::<6>(0))
            + bit_cast::<7, 5>(self.len.q.val() - 1);
        self.crosses.next = self.last_byte.val().get_bit(6);
        self.is_known.next = self.near.q.val()
            && !self.is_load.q.val()
            && self.has_line.q.val().get_bit(self.held.q.val().lane.index())
            && (self.tag.record.val().set == self.held.q.val().set)
            && (self.tag.record.val().line == self.held.q.val().at.get_bits::<58>(6))
            && (self.tag.record.val().start <= self.held.q.val().at.get_bits::<6>(0));
        self.hits.next = self.must_read.q.val() && self.is_known.val() && !self.crosses.val();
        self.joins.next = self.must_read.q.val() && self.is_known.val() && self.crosses.val();
        self.fresh.next = self.must_read.q.val()
            && self.near.q.val()
            && !self.is_known.val()
            && !self.crosses.val();
        // A line of bits is read anew; nothing of it crosses its end.
        self.reads.next = self.must_read.q.val() && !self.hits.val();
        self.keeps.next = (self.fresh.val() && !self.is_load.q.val()) || self.joins.val();
        self.tag_new.next.set = self.held.q.val().set;
        self.tag_new.next.line = self.held.q.val().at.get_bits::<58>(6);
        self.tag_new.next.start = self.held.q.val().at.get_bits::<6>(0);
        // Bytes of the entry, or those in the next line, and all of the lane's that follow there.
        self.before_end.next =
            bits::<7>(LINE) - bit_cast::<7, 6>(self.held.q.val().at.get_bits::<6>(0));
        if self.joins.val() {
            self.tag_new.next.line = self.held.q.val().at.get_bits::<58>(6) + 1;
            self.tag_new.next.start = 0.into();
        }
        if self.reads_out.input.ready.val() {
            self.asks.d.next = self.held_valid.q.val() && self.moves.val() && self.reads.val();
            self.ask_at.d.next = self.held.q.val().at;
            self.in_line.d.next = bit_cast::<7, 5>(self.len.q.val());
            self.behind.d.next = 0.into();
            self.limit.d.next = LINE.into();
            if self.joins.val() {
                self.ask_at.d.next = (bit_cast::<64, 58>(self.tag_new.val().line)) << 6;
                self.in_line.d.next = bit_cast::<7, 6>(self.last_byte.val().get_bits::<6>(0)) + 1;
                self.behind.d.next = self.after.q.val();
            } else if self.fresh.val() {
                self.behind.d.next = self.after.q.val();
                self.limit.d.next = self.before_end.val();
            }
        }
        self.wanted_bytes.next = self.in_line.q.val() + bit_cast::<7, 6>(self.behind.q.val());
        if self.wanted_bytes.val() > self.limit.q.val() {
            self.wanted_bytes.next = self.limit.q.val();
        }
        self.ask.next.addr = self.ask_at.q.val();
        self.ask.next.bytes = bit_cast::<13, 7>(self.wanted_bytes.val());
        self.tag_in.record.next = self.tag_new.val();
        self.tags.write_address.next = self.held.q.val().lane;
        self.tags.write_data.next = self.tag_in.bits.val();
        self.tags.write_enable.next =
            self.held_valid.q.val() && self.moves.val() && self.keeps.val();
        if self.tags.write_enable.val() {
            self.has_line.d.next =
                self.has_line.q.val().replace_bit(self.held.q.val().lane.index(), true);
        }
        self.source_new.next.lane = self.held.q.val().lane;
        self.source_new.next.reads = self.reads.val();
        self.source_new.next.keeps = self.keeps.val();
        self.source_new.next.joins = self.joins.val();
        self.source_new.next.skip = 0.into();
        if self.is_known.val() {
            self.source_new.next.skip =
                self.held.q.val().at.get_bits::<6>(0) - self.tag.record.val().start;
        }
        self.source_new.next.split = self.before_end.val().get_bits::<5>(0);
        self.source_new.next.loads = self.is_load.q.val();
        self.source_new.next.picks = self.picks.q.val();
        self.source_new.next.half = self.half.q.val();
        self.source_new.next.spot = self.spot.q.val();
        self.to_line_end.next = !self.held.q.val().at.get_bits::<6>(0);
        self.source_new.next.words = self.after.q.val().get_bits::<2>(4);
        if self.to_line_end.val() < self.after.q.val() {
            self.source_new.next.words = self.to_line_end.val().get_bits::<2>(4);
        }
        if self.is_load.q.val() {
            self.source_new.next.skip = self.held.q.val().at.get_bits::<6>(0);
        }
        self.reads_out.input.valid.next = self.asks.q.val();
        self.reads_out.input.data.next = self.ask.val();
        self.waits.next = self.held_valid.q.val()
            && self.moves.val()
            && ((self.must_read.q.val() && !self.is_load.q.val()) || self.picks.q.val());
        self.sources.input.valid.next = self.held_valid.q.val()
            && self.moves.val()
            && (self.must_read.q.val() || self.picks.q.val());
        self.sources.input.data.next = self.source_new.val();
        self.entries.input.valid.next =
            self.held_valid.q.val() && self.moves.val() && !self.is_load.q.val();
        self.entries.input.data.next = self.held.q.val();
        self.reads_out.output.join(&mut self.read);
        self.entries.output.join(&mut self.entry);

        // There is room for each answer.
        self.answered.next = self.answers.output.valid.val() && self.answer.ready.val();
        if self.waits.val() && !self.answered.val() {
            self.waiting.d.next = self.waiting.q.val() + 1;
        } else if !self.waits.val() && self.answered.val() {
            self.waiting.d.next = self.waiting.q.val() - 1;
        }
        self.has_room.d.next = self.waiting.d.val() < MOST - 1;

        // What is read becomes the lane's line, or is an entry.
        self.sources.output.share(&mut self.source);
        self.lines.read_address[0].next = self.source.val().lane;
        self.line.bits.next = self.lines.read_data[0].val();
        self.free.next = !self.bit_lines.busy.val();
        self.beat.ready.next =
            self.sources.output.valid.val() && self.source.val().reads && self.free.val();
        self.takes.next = self.sources.output.valid.val()
            && self.free.val()
            && (self.beat.valid.val() || !self.source.val().reads);
        self.sources.output.ready.next =
            self.free.val() && (self.beat.valid.val() || !self.source.val().reads);
        self.line_new.next = self.beat.val();
        self.line_in.record.next = self.line_new.val();
        self.lines.write_address.next = self.source.val().lane;
        self.lines.write_data.next = self.line_in.bits.val();
        self.lines.write_enable.next = self.takes.val() && self.source.val().keeps;
        self.bit_lines.put.next = self.takes.val() && self.source.val().loads;
        self.bit_lines.line.next = self.line_new.val();
        self.bit_lines.lane.next = self.source.val().lane;
        self.bit_lines.half.next = self.source.val().half;
        self.bit_lines.skip.next = self.source.val().skip;
        self.bit_lines.offset.next = self.source.val().spot.get_bits::<9>(0);
        self.bit_lines.words.next = self.source.val().words;
        self.bit_lines.row.next = self.source.val().spot;
        self.first_valid.d.next = self.takes.val() && !self.source.val().loads;
        self.first_picks.d.next = self.source.val().picks;
        self.moved_picks.d.next = self.first_picks.q.val();
        self.first.d.next = self.beat.data.val();
        self.first_error.d.next = self.beat.error.val();
        if !self.source.val().reads || self.source.val().joins {
            self.first.d.next = self.line.record.val().data;
            self.first_error.d.next =
                self.line.record.val().error || (self.source.val().reads && self.beat.error.val());
        }
        self.second.d.next = self.beat.data.val().get_bits::<128>(0);
        self.skip.d.next = self.source.val().skip;
        self.split.d.next = self.source.val().split;
        self.is_joined.d.next = self.source.val().joins;

        // The entry's first byte becomes the lowest one.
        self.none.next = 0.into();
        self.all_ones.next = !self.none.val();
        self.moved_valid.d.next = self.first_valid.q.val();
        self.moved.d.next = (self.first.q.val() >> (bit_cast::<9, 6>(self.skip.q.val() >> 3) << 6))
            .get_bits::<192>(0);
        self.moved_skip.d.next = self.skip.q.val().get_bits::<3>(0);
        self.moved_error.d.next = self.first_error.q.val();
        self.moved_second.d.next = 0.into();
        self.mask.d.next = self.all_ones.val();
        if self.is_joined.q.val() {
            self.moved_second.d.next =
                self.second.q.val() << (bit_cast::<8, 5>(self.split.q.val()) << 3);
            self.mask.d.next =
                !(self.all_ones.val() << (bit_cast::<8, 5>(self.split.q.val()) << 3));
        }
        self.whole.next = (self.moved.q.val() >> (bit_cast::<6, 3>(self.moved_skip.q.val()) << 3))
            .get_bits::<128>(0);
        self.answer_valid.d.next = self.moved_valid.q.val();
        self.answer_new.next.data =
            (self.whole.val() & self.mask.q.val()) | self.moved_second.q.val();
        self.answer_new.next.error = self.moved_error.q.val();
        if self.moved_picks.q.val() {
            self.answer_new.next.data = bit_cast::<128, 16>(self.bit_lines.bits.val())
                | (bit_cast::<128, 16>(self.bit_lines.errors.val()) << 16);
            self.answer_new.next.error = false;
        }
        self.answer_held.d.next = self.answer_new.val();
        self.answers.input.valid.next = self.answer_valid.q.val();
        self.answers.input.data.next = self.answer_held.q.val();
        self.answers.output.join(&mut self.answer);

        // Number of entries under way.
        self.gone.next = self.entries.output.valid.val() && self.entry.ready.val();
        if self.entries.input.valid.val() && !self.gone.val() {
            self.inside.d.next = self.inside.q.val() + 1;
        } else if !self.entries.input.valid.val() && self.gone.val() {
            self.inside.d.next = self.inside.q.val() - 1;
        }
        self.idle.next = !self.held_valid.q.val()
            && !self.inside.q.val().any()
            && !self.waiting.q.val().any()
            && !self.sources.output.valid.val()
            && self.free.val();
        self.unused_counts.next = self.sources.count.val()
            | self.sources.free.val()
            | self.entries.count.val()
            | self.entries.free.val()
            | self.answers.count.val()
            | self.answers.free.val();
        if self.clear.val() {
            self.has_line.d.next = 0.into();
        }
        if self.rst.val() {
            self.held_valid.d.next = false;
            self.asks.d.next = false;
            self.has_line.d.next = 0.into();
            self.waiting.d.next = 0.into();
            self.has_room.d.next = false;
            self.first_valid.d.next = false;
            self.moved_valid.d.next = false;
            self.answer_valid.d.next = false;
            self.inside.d.next = 0.into();
        }
    }
}
