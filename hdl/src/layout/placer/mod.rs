//! The optimizer: gives every fragment a place in the segmented memory, and turns the needed bytes of host memory into
//! few reads.
//!
//! The second to last stage of planning: takes address beats from the expander, and sends placed beats to the gather
//! and boxes to the reader.
//!
//! ```text
//! beat -> Splitter -> Planner -> Directory -> FIFO -> Translator -> FIFO -> placed
//!                                    |                   | words
//!                                    | entries           v
//!                                    +---------------> Boxes -> box
//! ```
//!
//! Host memory is divided into aligned blocks of 256 B. A window's *directory* maps up to 112 blocks to *entries*; each
//! entry has a place in the window and one bit for each of its 64 words. A block that is in the directory is not placed
//! again, whichever lane and destination asks for it.
//!
//! **Throughput.** A beat a cycle, plus a cycle if some of its fragments cross into the next block, plus a cycle for
//! each block but the first that it needs and that its lane does not know (lanes with the same block count once). Of
//! each window a lane knows the last block of each of 8 *slots*; a block's slot is the lower bits of its number. So a
//! lane that goes through 2 KiB again and again asks for their blocks once. The words that lanes need of blocks which
//! they leave are stored four blocks a cycle, one of every fourth lane each, and those of two blocks may wait in each
//! lane, so that beats of one lane, each in another block, pass one a cycle. Boxes: 2 cycles a block, and 2 for each
//! further run. A change of window costs about 10 cycles.
//!
//! **Latency.** A beat is held until its window closes, because its bytes are not read before. A lone request's box
//! comes 19 cycles after its beat; while no other window is free, it waits for one.
//!
//! **Back-pressure.** Placed beats are buffered 4,096 deep. A window may have at most half of that
//! (2,048 placed beats), because a window that filled the buffer would never close: the gather
//! takes its beats only after its reads, which are made when it closes. So a window always fits
//! behind the one that is being read, and if the buffer is full, then of beats of windows that are
//! closed. Beats wait while no window is granted, or while two are waiting for their
//! boxes to be made; 128 boxes wait for the reader. Either output may stall for ever without harm to the other's beats.
//!
//! The two placed beats of a beat whose fragments cross blocks may lie in different windows.

mod boxes;
mod directory;
mod lane;
mod planner;
mod splitter;
mod translator;

#[cfg(test)]
mod tests;

pub use boxes::Boxes;
pub use directory::Directory;
pub use lane::Lane;
pub use planner::Planner;
pub use splitter::Splitter;
pub use translator::Translator;

use crate::layout::fragments::PlacedBeat;
use crate::layout::windows::{ReadBox, WINDOW_INDEX};
use crate::primitive::{Concat, Fifo, Pack, PromptFifo};
use crate::request::DEST_COUNT;
use crate::rows::expander::RowBeat;
use drdma_emit::prelude::*;

/// Number of fragments of a beat.
const LANES: usize = 16;
/// Number of blocks of a window: 112 blocks, each 9 words behind the end of the one before, fit 32 KiB.
const ENTRIES: usize = 112;
/// Bits that pass beside fragments: dest 10, slot 8, bytes 7, unit_end, message_start, message_end, request_end,
/// dest_end, message_bytes 32, status 8, bad_dest.
const FIELDS: usize = 70 + DEST_COUNT;
/// Bits of the number of a block's slot. Each lane keeps the last block of every slot.
const SLOT: usize = 3;
/// Slots of a lane.
const SLOTS: usize = 1 << SLOT;
/// Bits of the slots of all lanes.
const ALL_SLOTS: usize = SLOT * LANES;
/// Bits of a block's number above its slot.
const TAG: usize = 56 - SLOT;
/// Bits of pieces on their way: offsets in their blocks 128, lengths 112, positions 96, fields, lanes used 16, end of
/// beat, lanes that return to a block 16, slots 48.
const PIECES: usize = SHAPE + 2 * LANES + ALL_SLOTS + 1;
/// Bit of pieces at which the lanes start that return to a block.
const BACK: usize = SHAPE + LANES + 1;
/// Bit of pieces at which the slots of the lanes' blocks start.
const SLOTS_AT: usize = BACK + LANES;
/// Bit at which the place of an answer starts, behind its pieces and lanes.
const PLACE: usize = PIECES + LANES;
/// Bits of an answer: pieces, lanes, place 13, entry 8, entries 7, two flags.
const ANSWER: usize = PLACE + 30;
/// Bits of a placed beat: addresses in the window 240, lengths 112, positions 96, fields, window, end of beat, end of
/// window.
const PLACED: usize = NUMBERS + WINDOW_INDEX + 2;
/// Bits of a piece without its lanes: offsets, lengths, positions, fields.
const SHAPE: usize = 128 + 112 + 96 + FIELDS;
/// Bits of a placed beat without its window: addresses, lengths, positions, fields.
const NUMBERS: usize = 240 + 112 + 96 + FIELDS;

/// The placer; see the module.
#[derive(LogicBlock, Default)]
pub struct Placer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// Longest box in bytes.
    pub max_read: Signal<In, Bits<13>>,
    /// Widest gap in bytes that is read through.
    pub merge_threshold: Signal<In, Bits<13>>,
    /// Bytes that reads should have on average; 0: any.
    pub mean: Signal<In, Bits<9>>,
    /// The settings are a request's own: all gaps up to `merge_threshold` are read through.
    pub planned: Signal<In, Bit>,
    /// A window may be opened.
    pub window_granted: Signal<In, Bit>,
    /// With `window_granted`: number of that window.
    pub window_number: Signal<In, Bits<WINDOW_INDEX>>,
    /// Another window may be opened as soon as the open one is closed.
    pub window_another: Signal<In, Bit>,
    /// The granted window is opened in this cycle.
    pub window_opened: Signal<Out, Bit>,
    /// The open window is closed in this cycle.
    pub window_closed: Signal<Out, Bit>,
    /// With `window_closed`: size of the window in units of 128 B.
    pub window_size: Signal<Out, Bits<9>>,
    /// The open window is to be closed as soon as no beat has come for 8 cycles.
    pub flush: Signal<In, Bit>,
    /// A window is open, or a beat was taken that has no window yet.
    pub busy: Signal<Out, Bit>,
    /// A window was planned; one pulse for each.
    pub count_windows: Signal<Out, Bit>,

    /// Beats of fragments.
    pub beat: Stream<In, RowBeat>,

    /// The same beats, with the places of their fragments in the window.
    pub placed: Stream<Out, PlacedBeat>,
    /// The placed beat ends a unit.
    pub placed_unit_end: Signal<Out, Bit>,

    /// Boxes for the reader.
    pub reads: Stream<Out, ReadBox>,

    splitter: Splitter,
    planner: Planner,
    directory: Directory,
    answer: Concat<PIECES, LANES, 13, 17, ANSWER>,
    /// Flags of an answer: its entry, the entries of a closed window, pieces pass, the window closes.
    state: Signal<Local, Bits<17>>,
    answers: PromptFifo<ANSWER, 4, 5>,
    go: DFF<Bit>,
    translator: Translator,
    boxes: Boxes,
    buffer: Fifo<PLACED, 12, 13>,
    rams: Pack<LANES, 17, 272>,
    /// Beats that the buffer can still take, less those on the way to it. One that passed the planner in the cycle
    /// before is not subtracted yet.
    room: DFF<Bits<13>>,
    /// Beats that were taken and had not passed the planner a cycle ago.
    beats: DFF<Bits<8>>,
    accepted: Signal<Local, Bit>,
    /// Pieces passed the planner in the cycle before: registers, because the counts would lengthen its path.
    passed: DFF<Bit>,
    /// They were the last ones of their beat.
    beat_passed: DFF<Bit>,
    /// Closed windows whose boxes are not made yet.
    closing: DFF<Bits<2>>,
    counted: DFF<Bit>,
    fields: Signal<Local, Bits<FIELDS>>,
    taken: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
}

impl Logic for Placer {
    #[hdl_gen]
    fn update(&mut self) {
        // Beats become pieces.
        self.splitter.beat_valid.next = self.beat.valid.val();
        self.beat.ready.next = self.splitter.beat_ready.val();
        self.splitter.beat_addr.next = self.beat.addr.val();
        self.splitter.beat_len.next = self.beat.len.val();
        self.splitter.beat_pos.next = self.beat.pos.val();
        self.fields.next = bit_cast::<FIELDS, 10>(self.beat.dest.val())
            | (bit_cast::<FIELDS, 8>(self.beat.slot.val()) << 10)
            | (bit_cast::<FIELDS, 7>(self.beat.bytes.val()) << 18)
            | (bit_cast::<FIELDS, 1>(self.beat.unit_end.val().into()) << 25)
            | (bit_cast::<FIELDS, 1>(self.beat.message_start.val().into()) << 26)
            | (bit_cast::<FIELDS, 1>(self.beat.message_end.val().into()) << 27)
            | (bit_cast::<FIELDS, 1>(self.beat.request_end.val().into()) << 28)
            | (bit_cast::<FIELDS, 1>(self.beat.dest_end.val().into()) << 29)
            | (bit_cast::<FIELDS, 32>(self.beat.message_bytes.val()) << 30)
            | (bit_cast::<FIELDS, 8>(self.beat.status.val()) << 62)
            | (bit_cast::<FIELDS, DEST_COUNT>(self.beat.bad_dest.val()) << 70);
        self.splitter.beat_fields.next = self.fields.val();
        self.splitter.beat_chunk_start.next = self.beat.chunk_start.val();
        self.splitter.beat_chunk_blocks.next = self.beat.chunk_blocks.val();

        // Pieces become questions.
        self.planner.go.next = self.go.q.val();
        self.planner.piece_valid.next = self.splitter.piece_valid.val();
        self.splitter.piece_ready.next = self.planner.piece_ready.val();
        self.planner.more_pieces.next = self.splitter.more_pieces.val();
        self.planner.piece_used.next = self.splitter.piece_used.val();
        self.planner.piece_same.next = self.splitter.piece_same.val();
        self.planner.piece_moves.next = self.splitter.piece_moves.val();
        self.planner.piece_offset.next = self.splitter.piece_offset.val();
        self.planner.piece_len.next = self.splitter.piece_len.val();
        self.planner.piece_pos.next = self.splitter.piece_pos.val();
        self.planner.piece_fields.next = self.splitter.piece_fields.val();
        self.planner.piece_request_end.next = self.splitter.piece_fields.val().get_bit(28);
        self.planner.piece_end.next = self.splitter.piece_end.val();
        self.planner.piece_chunk_start.next = self.splitter.piece_chunk_start.val();
        self.planner.piece_chunk_blocks.next = self.splitter.piece_chunk_blocks.val();
        for i in 0..16 {
            self.planner.piece_block[i].next = self.splitter.piece_block[i].val();
            self.planner.piece_equal[i].next = self.splitter.piece_equal[i].val();
        }
        // Room for two beats: `room` may be without one that has passed.
        self.planner.room.next = self.room.q.val().get_bits::<12>(1).any();
        self.planner.may_open.next = self.window_granted.val() && !self.closing.q.val().get_bit(1);
        self.planner.may_close.next = self.window_another.val() && !self.closing.q.val().get_bit(1);
        self.planner.flush.next = self.flush.val();
        self.window_opened.next = self.planner.opened.val();
        self.window_closed.next = self.planner.closed.val();
        self.window_size.next = self.planner.size.val();
        self.busy.next = self.planner.is_open.val() || self.beats.q.val().any();
        self.translator.opened.next = self.planner.opened.val();
        self.translator.opened_number.next = self.window_number.val();
        self.counted.d.next = self.planner.closed.val();
        self.count_windows.next = self.counted.q.val();

        // Questions become answers.
        self.directory.ask.next = self.planner.ask.val();
        self.directory.ask_probe.next = self.planner.ask_probe.val();
        self.directory.ask_block.next = self.planner.ask_block.val();
        self.directory.ask_lanes.next = self.planner.ask_lanes.val();
        self.directory.pass.next = self.planner.pass.val();
        self.directory.pass_pieces.next = self.planner.pass_pieces.val();
        self.directory.ask_close.next = self.planner.closed.val();
        self.planner.on_the_way.next = self.directory.on_the_way.val();
        self.planner.answered.next = self.directory.answered.val();
        self.planner.answered_hit.next = self.directory.answered_hit.val();
        self.planner.answered_probe.next = self.directory.answered_probe.val();
        self.planner.answered_lanes.next = self.directory.answered_lanes.val();

        // Answers become placed beats.
        self.state.next = bit_cast::<17, 8>(self.directory.answer_entry.val())
            | (bit_cast::<17, 7>(self.directory.out_entries.val()) << 8)
            | (bit_cast::<17, 1>(self.directory.out_valid.val().into()) << 15)
            | (bit_cast::<17, 1>(self.directory.out_close.val().into()) << 16);
        self.answer.a.next = self.directory.out_pieces.val();
        self.answer.b.next = self.directory.answer_lanes.val();
        self.answer.c.next = self.directory.answer_place.val();
        self.answer.d.next = self.state.val();
        self.answers.in_valid.next = self.directory.answer_lanes.val().any()
            || self.directory.out_valid.val()
            || self.directory.out_close.val();
        self.answers.in_data.next = self.answer.whole.val();
        self.answers.out_ready.next = self.translator.step.val();
        // Five answers may be on the way before this is seen.
        self.go.d.next = self.answers.free.val() > 6;
        self.translator.in_pieces.next = self.answers.out_data.val().get_bits::<PIECES>(0);
        self.translator.answer_lanes.next = 0.into();
        self.translator.in_valid.next = false;
        self.translator.in_close.next = false;
        if self.answers.out_valid.val() {
            self.translator.answer_lanes.next =
                self.answers.out_data.val().get_bits::<LANES>(PIECES);
            self.translator.in_valid.next = self.answers.out_data.val().get_bit(PLACE + 28);
            self.translator.in_close.next = self.answers.out_data.val().get_bit(PLACE + 29);
        }
        self.translator.answer_place.next = self.answers.out_data.val().get_bits::<13>(PLACE);
        self.translator.answer_entry.next = self.answers.out_data.val().get_bits::<8>(PLACE + 13);
        self.translator.in_entries.next = self.answers.out_data.val().get_bits::<7>(PLACE + 21);

        // Needed words become boxes.
        self.boxes.max_read.next = self.max_read.val();
        self.boxes.merge_threshold.next = self.merge_threshold.val();
        self.boxes.mean.next = self.mean.val();
        self.boxes.planned.next = self.planned.val();
        self.boxes.list_write.next = self.directory.list_write.val();
        self.boxes.list_index.next = self.directory.list_index.val();
        self.boxes.list_block.next = self.directory.list_block.val();
        self.boxes.list_place.next = self.directory.list_place.val();
        self.boxes.list_follows.next = self.directory.list_follows.val();
        self.boxes.window_valid.next = self.translator.window_valid.val();
        self.translator.window_ready.next = self.boxes.window_ready.val();
        self.boxes.window.next = self.translator.window.val();
        self.boxes.window_parity.next = self.translator.window_parity.val();
        self.boxes.window_entries.next = self.translator.window_entries.val();
        self.translator.words_entry.next = self.boxes.words_entry.val();
        self.boxes.words.next = self.translator.words.val();
        self.boxes.words_any.next = self.translator.words_any.val();
        self.translator.forget.next = self.boxes.forget.val();
        self.boxes.reads.join(&mut self.reads);

        // The buffer always has room for what was let through.
        self.buffer.in_valid.next = self.translator.placed_valid.val();
        self.buffer.in_data.next = self.translator.placed.val();
        self.buffer.out_ready.next = self.placed.ready.val();
        self.placed.valid.next = self.buffer.out_valid.val();
        for i in 0..16 {
            self.rams.parts[i].next =
                self.buffer.out_data.val().get_bits::<15>(i * 15).get_bits::<17>(0);
        }
        self.placed.ram.next = self.rams.whole.val();
        self.placed.len.next = self.buffer.out_data.val().get_bits::<112>(240);
        self.placed.pos.next = self.buffer.out_data.val().get_bits::<96>(352);
        self.placed.dest.next = self.buffer.out_data.val().get_bits::<10>(448);
        self.placed.slot.next = self.buffer.out_data.val().get_bits::<8>(458);
        self.placed.bytes.next = self.buffer.out_data.val().get_bits::<7>(466);
        self.placed_unit_end.next = self.buffer.out_data.val().get_bit(473);
        self.placed.message_start.next = self.buffer.out_data.val().get_bit(474);
        self.placed.message_end.next = self.buffer.out_data.val().get_bit(475);
        self.placed.request_end.next = self.buffer.out_data.val().get_bit(476);
        self.placed.dest_end.next = self.buffer.out_data.val().get_bit(477);
        self.placed.message_bytes.next = self.buffer.out_data.val().get_bits::<32>(478);
        self.placed.status.next = self.buffer.out_data.val().get_bits::<8>(510);
        self.placed.bad_dest.next = self.buffer.out_data.val().get_bits::<DEST_COUNT>(518);
        self.placed.window.next = self.buffer.out_data.val().get_bits::<WINDOW_INDEX>(NUMBERS);
        self.placed.beat_end.next = self.buffer.out_data.val().get_bit(NUMBERS + WINDOW_INDEX);
        self.placed.window_end.next =
            self.buffer.out_data.val().get_bit(NUMBERS + WINDOW_INDEX + 1);

        // Counts of room, beats and closed windows.
        self.taken.next = self.buffer.out_valid.val() && self.placed.ready.val();
        self.passed.d.next = self.planner.pass.val();
        if self.passed.q.val() && !self.taken.val() {
            self.room.d.next = self.room.q.val() - 1;
        }
        if self.taken.val() && !self.passed.q.val() {
            self.room.d.next = self.room.q.val() + 1;
        }
        self.accepted.next = self.beat.valid.val() && self.splitter.beat_ready.val();
        self.beat_passed.d.next = self.planner.pass.val() && self.splitter.piece_end.val();
        if self.accepted.val() && !self.beat_passed.q.val() {
            self.beats.d.next = self.beats.q.val() + 1;
        }
        if self.beat_passed.q.val() && !self.accepted.val() {
            self.beats.d.next = self.beats.q.val() - 1;
        }
        self.done.next = self.boxes.forget.val().any();
        if self.planner.closed.val() && !self.done.val() {
            self.closing.d.next = self.closing.q.val() + 1;
        }
        if self.done.val() && !self.planner.closed.val() {
            self.closing.d.next = self.closing.q.val() - 1;
        }

        if self.rst.val() {
            self.go.d.next = false;
            self.passed.d.next = false;
            self.beat_passed.d.next = false;
            self.room.d.next = 4096.into();
            self.beats.d.next = 0.into();
            self.closing.d.next = 0.into();
            self.counted.d.next = false;
        }
    }
}
