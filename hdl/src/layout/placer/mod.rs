//! The optimizer: gives every fragment a place in the segmented memory, and turns what is needed
//! of host memory into few reads.
//!
//! Second to last stage of planning: takes address beats from the expander, gives placed beats to
//! the gather and boxes to the reader.
//!
//! ```text
//! beat -> Splitter -> Planner -> Directory -> FIFO -> Translator -> FIFO -> placed
//!                                    |                   | words
//!                                    | entries           v
//!                                    +---------------> Boxes -> box
//! ```
//!
//! Host memory is seen in aligned blocks of 256 B. A window's *directory* maps up to 112 blocks to
//! *entries*; each has a place in the window and one bit for each of its 64 words. A block that
//! is in the directory is not placed again, whichever lane and destination asks for it.
//!
//! **Throughput.** A beat a cycle, plus a cycle if fragments of it cross into the next block, plus
//! a cycle for each block but the first that it needs and whose number its lane did not have just
//! before (lanes with the same block count once). Boxes: 2 cycles a block, 2 for each further
//! run. A change of window costs about 10 cycles.
//!
//! **Latency.** A beat is held until its window closes: it is of no use before. A lone request's
//! box comes 21 cycles after its beat; while no other window is free, it waits for one.
//!
//! **Back-pressure.** Placed beats are buffered 4,096 deep. A window may have at most half of that
//! (2,048 placed beats), because a window that filled the buffer would never close: the gather
//! takes its beats only after its reads, which are made when it closes. So a window always fits
//! behind the one that is being read, and if the buffer is full, then of beats of windows that are
//! closed. Beats wait while no window is granted, or while two are waiting for their
//! boxes. Either output may stall for ever without harm to the other's beats.
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

use crate::primitive::{Concat, Fifo, Pack};
use drdma_emit::prelude::*;

/// Fragments of a beat.
const LANES: usize = 16;
/// Blocks of a window: 112 blocks, each 9 words behind the one before, fit 32 KiB.
const ENTRIES: usize = 112;
/// Bits that pass through: dest 10, slot 8, bytes 7, unit_end, message_start, message_end,
/// request_end, dest_end, message_bytes 32, status 8, bad_dest 7.
const FIELDS: usize = 77;
/// Pieces on the way: offsets in their blocks 128, lengths 112, positions 96, fields, lanes used
/// 16, end of beat.
const PIECES: usize = 128 + 112 + 96 + FIELDS + LANES + 1;
/// A placed beat: addresses in the window 240, lengths 112, positions 96, fields, window 2, end of
/// beat, end of window.
const PLACED: usize = 240 + 112 + 96 + FIELDS + 4;

/// The block; see the module.
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
    /// A window may be opened,
    pub window_granted: Signal<In, Bit>,
    /// and has this number.
    pub window_number: Signal<In, Bits<2>>,
    /// It is opened.
    pub window_opened: Signal<Out, Bit>,
    /// The open window is to be closed as soon as no beat has come for 8 cycles.
    pub flush: Signal<In, Bit>,
    /// A window is open, or a beat was taken that has none yet.
    pub busy: Signal<Out, Bit>,
    /// A window was planned (one pulse each).
    pub count_windows: Signal<Out, Bit>,

    /// A beat.
    pub beat_valid: Signal<In, Bit>,
    /// It is taken.
    pub beat_ready: Signal<Out, Bit>,
    /// Host addresses of its fragments.
    pub beat_addr: Signal<In, Bits<1024>>,
    /// Their lengths, 0 to 64.
    pub beat_len: Signal<In, Bits<112>>,
    /// Their places in the payload.
    pub beat_pos: Signal<In, Bits<96>>,
    /// Destination.
    pub beat_dest: Signal<In, Bits<10>>,
    /// Request.
    pub beat_slot: Signal<In, Bits<8>>,
    /// Payload bytes of the beat.
    pub beat_bytes: Signal<In, Bits<7>>,
    /// Ends a unit.
    pub beat_unit_end: Signal<In, Bit>,
    /// Starts a message.
    pub beat_message_start: Signal<In, Bit>,
    /// Ends a message.
    pub beat_message_end: Signal<In, Bit>,
    /// Length of the message that starts.
    pub beat_message_bytes: Signal<In, Bits<32>>,
    /// Starts a chunk.
    pub beat_chunk_start: Signal<In, Bit>,
    /// Blocks that the chunk needs, about.
    pub beat_chunk_blocks: Signal<In, Bits<8>>,
    /// Ends its request.
    pub beat_request_end: Signal<In, Bit>,
    /// Ends its destination.
    pub beat_dest_end: Signal<In, Bit>,
    /// The request's status.
    pub beat_status: Signal<In, Bits<8>>,
    /// The failing destination.
    pub beat_bad_dest: Signal<In, Bits<7>>,

    /// A placed beat.
    pub placed_valid: Signal<Out, Bit>,
    /// It is taken.
    pub placed_ready: Signal<In, Bit>,
    /// Addresses of the fragments in the segmented memory.
    pub placed_ram: Signal<Out, Bits<272>>,
    /// Their lengths.
    pub placed_len: Signal<Out, Bits<112>>,
    /// Their places in the payload.
    pub placed_pos: Signal<Out, Bits<96>>,
    /// Destination.
    pub placed_dest: Signal<Out, Bits<10>>,
    /// Request.
    pub placed_slot: Signal<Out, Bits<8>>,
    /// Payload bytes of the whole beat.
    pub placed_bytes: Signal<Out, Bits<7>>,
    /// Ends a unit.
    pub placed_unit_end: Signal<Out, Bit>,
    /// Starts a message.
    pub placed_message_start: Signal<Out, Bit>,
    /// Ends a message.
    pub placed_message_end: Signal<Out, Bit>,
    /// Length of the message that starts.
    pub placed_message_bytes: Signal<Out, Bits<32>>,
    /// Ends its request.
    pub placed_request_end: Signal<Out, Bit>,
    /// Ends its destination.
    pub placed_dest_end: Signal<Out, Bit>,
    /// The request's status.
    pub placed_status: Signal<Out, Bits<8>>,
    /// The failing destination.
    pub placed_bad_dest: Signal<Out, Bits<7>>,
    /// The window.
    pub placed_window: Signal<Out, Bits<2>>,
    /// The last placed beat of its window.
    pub placed_window_end: Signal<Out, Bit>,
    /// The last placed beat of its beat: only here the ends and `bytes` count.
    pub placed_beat_end: Signal<Out, Bit>,

    /// A box.
    pub box_valid: Signal<Out, Bit>,
    /// It is taken.
    pub box_ready: Signal<In, Bit>,
    /// Host address.
    pub box_addr: Signal<Out, Bits<64>>,
    /// Address in the segmented memory.
    pub box_ram: Signal<Out, Bits<17>>,
    /// Bytes; 0: the box carries only `window_end`.
    pub box_len: Signal<Out, Bits<13>>,
    /// Window.
    pub box_window: Signal<Out, Bits<2>>,
    /// No more boxes of this window.
    pub box_window_end: Signal<Out, Bit>,

    splitter: Splitter,
    planner: Planner,
    directory: Directory,
    answer: Concat<PIECES, LANES, 13, 17, 476>,
    /// With an answer: entry, entries of a closed window, pieces pass, window closes.
    state: Signal<Local, Bits<17>>,
    answers: Fifo<476, 4, 5>,
    go: DFF<Bit>,
    translator: Translator,
    boxes: Boxes,
    buffer: Fifo<PLACED, 12, 13>,
    rams: Pack<LANES, 17, 272>,
    /// Beats that the buffer can still take, less those on the way to it.
    room: DFF<Bits<13>>,
    /// Beats that were taken and have not passed the planner.
    beats: DFF<Bits<8>>,
    accepted: Signal<Local, Bit>,
    passed: Signal<Local, Bit>,
    /// Closed windows whose boxes are not yet made.
    closing: DFF<Bits<2>>,
    counted: DFF<Bit>,
    fields: Signal<Local, Bits<FIELDS>>,
    base: Signal<Local, Bits<17>>,
    taken: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
}

impl Logic for Placer {
    #[hdl_gen]
    fn update(&mut self) {
        // Beats to pieces.
        self.splitter.beat_valid.next = self.beat_valid.val();
        self.beat_ready.next = self.splitter.beat_ready.val();
        self.splitter.beat_addr.next = self.beat_addr.val();
        self.splitter.beat_len.next = self.beat_len.val();
        self.splitter.beat_pos.next = self.beat_pos.val();
        self.fields.next = bit_cast::<FIELDS, 10>(self.beat_dest.val())
            | (bit_cast::<FIELDS, 8>(self.beat_slot.val()) << 10)
            | (bit_cast::<FIELDS, 7>(self.beat_bytes.val()) << 18)
            | (bit_cast::<FIELDS, 1>(self.beat_unit_end.val().into()) << 25)
            | (bit_cast::<FIELDS, 1>(self.beat_message_start.val().into()) << 26)
            | (bit_cast::<FIELDS, 1>(self.beat_message_end.val().into()) << 27)
            | (bit_cast::<FIELDS, 1>(self.beat_request_end.val().into()) << 28)
            | (bit_cast::<FIELDS, 1>(self.beat_dest_end.val().into()) << 29)
            | (bit_cast::<FIELDS, 32>(self.beat_message_bytes.val()) << 30)
            | (bit_cast::<FIELDS, 8>(self.beat_status.val()) << 62)
            | (bit_cast::<FIELDS, 7>(self.beat_bad_dest.val()) << 70);
        self.splitter.beat_fields.next = self.fields.val();
        self.splitter.beat_chunk_start.next = self.beat_chunk_start.val();
        self.splitter.beat_chunk_blocks.next = self.beat_chunk_blocks.val();

        // Pieces to questions.
        self.planner.go.next = self.go.q.val();
        self.planner.piece_valid.next = self.splitter.piece_valid.val();
        self.splitter.piece_ready.next = self.planner.piece_ready.val();
        self.planner.more_pieces.next = self.splitter.more_pieces.val();
        self.planner.piece_used.next = self.splitter.piece_used.val();
        self.planner.piece_same.next = self.splitter.piece_same.val();
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
        self.planner.room.next = self.room.q.val().any();
        self.planner.may_open.next = self.window_granted.val() && !self.closing.q.val().get_bit(1);
        self.planner.flush.next = self.flush.val();
        self.window_opened.next = self.planner.opened.val();
        self.busy.next = self.planner.is_open.val() || self.beats.q.val().any();
        self.translator.opened.next = self.planner.opened.val();
        self.translator.opened_number.next = self.window_number.val();
        self.counted.d.next = self.planner.closed.val();
        self.count_windows.next = self.counted.q.val();

        // Questions to answers.
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

        // Answers to placed beats.
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
        // Five are on the way before this is seen.
        self.go.d.next = self.answers.free.val() > 6;
        self.translator.in_pieces.next = self.answers.out_data.val().get_bits::<PIECES>(0);
        self.translator.answer_lanes.next = 0.into();
        self.translator.in_valid.next = false;
        self.translator.in_close.next = false;
        if self.answers.out_valid.val() {
            self.translator.answer_lanes.next = self.answers.out_data.val().get_bits::<LANES>(430);
            self.translator.in_valid.next = self.answers.out_data.val().get_bit(474);
            self.translator.in_close.next = self.answers.out_data.val().get_bit(475);
        }
        self.translator.answer_place.next = self.answers.out_data.val().get_bits::<13>(446);
        self.translator.answer_entry.next = self.answers.out_data.val().get_bits::<8>(459);
        self.translator.in_entries.next = self.answers.out_data.val().get_bits::<7>(467);

        // Needed words to boxes.
        self.boxes.max_read.next = self.max_read.val();
        self.boxes.merge_threshold.next = self.merge_threshold.val();
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
        self.box_valid.next = self.boxes.box_valid.val();
        self.boxes.box_ready.next = self.box_ready.val();
        self.box_addr.next = self.boxes.box_addr.val();
        self.box_ram.next = self.boxes.box_ram.val();
        self.box_len.next = self.boxes.box_len.val();
        self.box_window.next = self.boxes.box_window.val();
        self.box_window_end.next = self.boxes.box_window_end.val();

        // The buffer: it always has room for what was let through.
        self.buffer.in_valid.next = self.translator.placed_valid.val();
        self.buffer.in_data.next = self.translator.placed.val();
        self.buffer.out_ready.next = self.placed_ready.val();
        self.placed_valid.next = self.buffer.out_valid.val();
        self.base.next = bit_cast::<17, 2>(self.buffer.out_data.val().get_bits::<2>(525)) << 15;
        for i in 0..16 {
            self.rams.parts[i].next = self.base.val()
                | self.buffer.out_data.val().get_bits::<15>(i * 15).get_bits::<17>(0);
        }
        self.placed_ram.next = self.rams.whole.val();
        self.placed_len.next = self.buffer.out_data.val().get_bits::<112>(240);
        self.placed_pos.next = self.buffer.out_data.val().get_bits::<96>(352);
        self.placed_dest.next = self.buffer.out_data.val().get_bits::<10>(448);
        self.placed_slot.next = self.buffer.out_data.val().get_bits::<8>(458);
        self.placed_bytes.next = self.buffer.out_data.val().get_bits::<7>(466);
        self.placed_unit_end.next = self.buffer.out_data.val().get_bit(473);
        self.placed_message_start.next = self.buffer.out_data.val().get_bit(474);
        self.placed_message_end.next = self.buffer.out_data.val().get_bit(475);
        self.placed_request_end.next = self.buffer.out_data.val().get_bit(476);
        self.placed_dest_end.next = self.buffer.out_data.val().get_bit(477);
        self.placed_message_bytes.next = self.buffer.out_data.val().get_bits::<32>(478);
        self.placed_status.next = self.buffer.out_data.val().get_bits::<8>(510);
        self.placed_bad_dest.next = self.buffer.out_data.val().get_bits::<7>(518);
        self.placed_window.next = self.buffer.out_data.val().get_bits::<2>(525);
        self.placed_beat_end.next = self.buffer.out_data.val().get_bit(527);
        self.placed_window_end.next = self.buffer.out_data.val().get_bit(528);

        // Accounts.
        self.taken.next = self.buffer.out_valid.val() && self.placed_ready.val();
        if self.planner.pass.val() && !self.taken.val() {
            self.room.d.next = self.room.q.val() - 1;
        }
        if self.taken.val() && !self.planner.pass.val() {
            self.room.d.next = self.room.q.val() + 1;
        }
        self.accepted.next = self.beat_valid.val() && self.splitter.beat_ready.val();
        self.passed.next = self.planner.pass.val() && self.splitter.piece_end.val();
        if self.accepted.val() && !self.passed.val() {
            self.beats.d.next = self.beats.q.val() + 1;
        }
        if self.passed.val() && !self.accepted.val() {
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
            self.room.d.next = 4096.into();
            self.beats.d.next = 0.into();
            self.closing.d.next = 0.into();
            self.counted.d.next = false;
        }
    }
}
