//! The column path: packs several short rows of dense columns a cycle, beside expander and placer.
//!
//! Expander and placer take a row at a time. The column path serves requests whose destinations all have the same
//! columns, dense in host memory: a shuffle, with rows of up to 960 bytes. The sequencer sends turns of rows and what
//! was read of their bitmaps. Each chunk of rows fills one window of the segmented memory, in which every lane lies as
//! in host memory, so that a byte's place is a product and a sum.
//!
//! ```text
//! item, resp -> source -> condenser -+-> masks -> scanner -> packer -> beats -> addresser -> bytes
//!                          ^         |                                             ^ lanes
//!                          |         +-> mark ------------------> planner ---------+
//! header ------------------+---------------------------------------->|-> box
//! ```
//!
//! A request with a bitmap for one destination comes as one *sparse* chunk. The *condenser* cuts it into windows, and
//! leaves out rows that nobody needs.
//!
//! *Fetch rows* are read although nobody has selected them. They accompany the selected rows up to the condenser; from
//! there they go to the planner alone.
//!
//! A chunk's reads are planned when the masks of all its turns have passed. The FIFO of masks therefore holds a whole
//! chunk (256 destinations, 4,096 rows), so that marking never waits for the window's bytes.
//!
//! **Throughput.** 64 B of payload a cycle, as long as the scanner finds the rows (see [`scanner`]).
//!
//! **Back-pressure.** All streams may stall.

pub mod addresser;
pub mod bitmaps;
pub mod compact;
pub mod condenser;
pub mod counter;
pub mod ids;
pub mod packer;
pub mod planner;
pub mod record;
pub mod row_queue;
pub mod scanner;
pub mod source;
pub mod stride;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::{Fifo, Flatten, Join, RamStyle, Restore};
use crate::request::{DEST_COUNT, DEST_INDEX};
use crate::rows::sequencer::record::{CONTEXT_BITS, Context, Item};
use addresser::Addresser;
use condenser::Condenser;
use drdma_emit::prelude::*;
use packer::Packer;
use planner::Planner;
use record::{BEAT_INFO_BITS, BeatInfo, Counted, MASK_BITS, Mask};
use scanner::Scanner;
use source::Source;

/// Bits of a mask with its context.
const TURN_BITS: usize = MASK_BITS + CONTEXT_BITS;
/// Bits of a beat with the offsets of its rows.
const BEAT_BITS: usize = BEAT_INFO_BITS + 768;

/// The column path; see the module.
#[derive(LogicBlock, BlockDefault)]
pub struct Columns {
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
    /// The request itself sets `max_read` and `merge_threshold`: `gap` does not count.
    pub planned: Signal<In, Bit>,
    /// Widest gap in bytes that is worth reading through; may change at any time.
    pub gap: Signal<In, Bits<13>>,
    /// A turn of a column request is offered.
    pub item_valid: Signal<In, Bit>,
    /// The turn is taken in this cycle.
    pub item_ready: Signal<Out, Bit>,
    /// Item of the turn.
    pub item: Signal<In, Item>,
    /// Context that the rows of the turn share.
    pub item_context: Signal<In, Context>,
    /// A beat of 64 bytes of a bitmap or of ids is offered.
    pub resp_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub resp_ready: Signal<Out, Bit>,
    /// Bytes of the bitmap or the ids.
    pub resp_data: Signal<In, Bits<512>>,
    /// The read of the beat failed.
    pub resp_error: Signal<In, Bit>,
    /// Bytes of an id; 0 if the beat is of a bitmap.
    pub resp_ids: Signal<In, Bits<2>>,
    /// The beat has the last ids of a chunk, or is the last one of a kept stretch.
    pub resp_last: Signal<In, Bit>,
    /// The beat holds fetch rows.
    pub resp_fetch: Signal<In, Bit>,
    /// The beat is of a stretch that is kept.
    pub resp_kept: Signal<In, Bit>,
    /// All turns that were taken are used up.
    pub idle: Signal<Out, Bit>,
    /// A bitmap could not be read; held until `clear`.
    pub failed: Signal<Out, Bit>,
    /// With `failed`: the first destination whose bitmap could not be read.
    pub fail_index: Signal<Out, Bits<DEST_INDEX>>,
    /// The request ends; only while `idle`.
    pub clear: Signal<In, Bit>,
    /// The rows of a destination are counted.
    pub counted: Flow<Out, Counted>,
    /// A chunk is announced by its header.
    pub header_valid: Signal<In, Bit>,
    /// The header serves in this cycle: a window is opened (`header_opens`), or it is used up (`header_last`), or both.
    pub header_ready: Signal<Out, Bit>,
    /// With `header_ready`: a window is opened.
    pub header_opens: Signal<Out, Bit>,
    /// With `header_ready`: the header is used up.
    pub header_last: Signal<Out, Bit>,
    /// Host address of each lane in the chunk's first row (16 x 64 bits).
    pub header_addr: Signal<In, Bits<1024>>,
    /// Bytes of each lane (16 x 7 bits); 0 if the lane is not used.
    pub header_len: Signal<In, Bits<112>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub header_step: Signal<In, Bits<128>>,
    /// Rows of the chunk, or of each window of a sparse chunk.
    pub header_rows: Signal<In, Bits<13>>,
    /// Window that is opened with the header.
    pub header_window: Signal<In, Bits<WINDOW_INDEX>>,
    /// `size` is valid: it is known how much of the segmented memory the last opened window takes.
    pub sized: Signal<Out, Bit>,
    /// With `sized`: size of the window in units of 128 B.
    pub size: Signal<Out, Bits<9>>,
    /// A box is offered.
    pub box_valid: Signal<Out, Bit>,
    /// The box is taken in this cycle.
    pub box_ready: Signal<In, Bit>,
    /// Host address of the box.
    pub box_addr: Signal<Out, Bits<64>>,
    /// Address of the box in its window, in bytes.
    pub box_ram: Signal<Out, Bits<17>>,
    /// Bytes of the box; 0 if it carries only `box_window_end`.
    pub box_len: Signal<Out, Bits<13>>,
    /// Window of the box.
    pub box_window: Signal<Out, Bits<WINDOW_INDEX>>,
    /// The box is the last one of its window.
    pub box_window_end: Signal<Out, Bit>,
    /// A beat of addressed bytes is offered.
    pub bytes_valid: Signal<Out, Bit>,
    /// The beat is taken in this cycle.
    pub bytes_ready: Signal<In, Bit>,
    /// Bit `p` is set if position `p` of the beat has a byte.
    pub bytes_mask: Signal<Out, Bits<64>>,
    /// Place of each byte in its window (64 x 17 bits).
    pub bytes_ram: Signal<Out, Bits<1088>>,
    /// Window of the beat.
    pub bytes_window: Signal<Out, Bits<WINDOW_INDEX>>,
    /// The beat is the last one of its window.
    pub bytes_window_end: Signal<Out, Bit>,
    /// Always 1: every beat is complete.
    pub bytes_beat_end: Signal<Out, Bit>,
    /// Place of the destination in the ring of destinations.
    pub bytes_dest: Signal<Out, Bits<10>>,
    /// Slot of the request.
    pub bytes_slot: Signal<Out, Bits<8>>,
    /// Payload bytes of the beat, 0 to 64.
    pub bytes_bytes: Signal<Out, Bits<7>>,
    /// The beat starts a message.
    pub bytes_message_start: Signal<Out, Bit>,
    /// The beat ends a message.
    pub bytes_message_end: Signal<Out, Bit>,
    /// With `bytes_message_start`: bytes of the message, where they are needed; else 0.
    pub bytes_message_bytes: Signal<Out, Bits<32>>,
    /// Always 0: the end of a request comes by the row path.
    pub bytes_request_end: Signal<Out, Bit>,
    /// The beat ends its destination.
    pub bytes_dest_end: Signal<Out, Bit>,
    /// Always 0.
    pub bytes_status: Signal<Out, Bits<8>>,
    /// Always 0.
    pub bytes_bad_dest: Signal<Out, Bits<DEST_COUNT>>,

    source: Source,
    condenser: Condenser,
    mask_in: Flatten<Mask, MASK_BITS>,
    context_in: Flatten<Context, CONTEXT_BITS>,
    turn: Join<MASK_BITS, CONTEXT_BITS, TURN_BITS>,
    masks: Fifo<TURN_BITS, 11, 12>,
    mask_out: Restore<Mask, MASK_BITS>,
    context_out: Restore<Context, CONTEXT_BITS>,
    scanner: Scanner,
    packer: Packer,
    info_in: Flatten<BeatInfo, BEAT_INFO_BITS>,
    info: Signal<Local, BeatInfo>,
    mask: Signal<Local, Mask>,
    beat: Join<768, BEAT_INFO_BITS, BEAT_BITS>,
    // 512 beats: as deep as a block RAM is in its widest shape; an UltraRAM is eight times as deep.
    #[init(Fifo::new(RamStyle::Block))]
    beats: Fifo<BEAT_BITS, 9, 10>,
    info_out: Restore<BeatInfo, BEAT_INFO_BITS>,
    planner: Planner,
    addresser: Addresser,
    moves: Signal<Local, Bit>,
    /// Takes the length of a row: the addresser knows it from the window's lanes.
    unused: Signal<Local, Bits<10>>,
}

impl Logic for Columns {
    #[hdl_gen]
    fn update(&mut self) {
        // Turns to masks.
        self.source.item_valid.next = self.item_valid.val();
        self.source.item.next = self.item.val();
        self.source.item_context.next = self.item_context.val();
        self.source.resp_valid.next = self.resp_valid.val();
        self.source.resp_data.next = self.resp_data.val();
        self.source.resp_error.next = self.resp_error.val();
        self.source.resp_ids.next = self.resp_ids.val();
        self.source.resp_last.next = self.resp_last.val();
        self.source.resp_fetch.next = self.resp_fetch.val();
        self.source.resp_kept.next = self.resp_kept.val();
        self.source.clear.next = self.clear.val();
        self.item_ready.next = self.source.item_ready.val();
        self.resp_ready.next = self.source.resp_ready.val();
        self.failed.next = self.source.failed.val();
        self.fail_index.next = self.source.fail_index.val();
        self.source.counted.join(&mut self.counted);

        // Rows that are not needed are left out.
        self.condenser.merge_threshold.next = self.merge_threshold.val();
        self.condenser.mask_valid.next = self.source.mask_valid.val();
        self.source.mask_ready.next = self.condenser.mask_ready.val();
        self.condenser.mask_bits.next = self.source.mask_bits.val();
        self.condenser.mask_fetch.next = self.source.mask_fetch.val();
        self.condenser.mask_word.next = self.source.mask_word.val();
        self.condenser.mask_chunk_start.next = self.source.mask_chunk_start.val();
        self.condenser.mask_turn_end.next = self.source.mask_turn_end.val();
        self.condenser.mask_chunk_end.next = self.source.mask_chunk_end.val();
        self.condenser.mask_last.next = self.source.mask_last.val();
        self.condenser.mask_sparse.next = self.source.mask_sparse.val();
        self.condenser.mask_context.next = self.source.mask_context.val();
        self.condenser.header_valid.next = self.header_valid.val();
        self.condenser.header_len.next = self.header_len.val();
        self.condenser.header_step.next = self.header_step.val();
        self.condenser.header_rows.next = self.header_rows.val();
        self.condenser.window_ready.next = self.planner.header_ready.val();
        self.header_ready.next = self.condenser.header_ready.val();
        self.header_opens.next = self.condenser.header_opens.val();
        self.header_last.next = self.condenser.header_last.val();

        // A mask is marked and stored in the same cycle.
        self.mask.next.bits = self.condenser.kept_bits.val();
        self.mask.next.word = self.condenser.kept_word.val();
        self.mask.next.chunk_start = self.condenser.kept_chunk_start.val();
        self.mask.next.turn_end = self.condenser.kept_turn_end.val();
        self.mask.next.chunk_end = self.condenser.kept_chunk_end.val();
        self.mask.next.last = self.condenser.kept_last.val();
        self.mask_in.record.next = self.mask.val();
        self.context_in.record.next = self.condenser.kept_context.val();
        self.turn.low.next = self.mask_in.bits.val();
        self.turn.high.next = self.context_in.bits.val();
        self.moves.next = self.masks.in_ready.val() && self.planner.mark_ready.val();
        self.condenser.kept_ready.next = self.moves.val();
        self.masks.in_valid.next = self.condenser.kept_valid.val() && self.planner.mark_ready.val();
        self.masks.in_data.next = self.turn.whole.val();
        self.planner.mark_valid.next = self.condenser.kept_valid.val() && self.masks.in_ready.val();
        self.planner.mark_bits.next = self.condenser.kept_fetch.val();
        self.planner.mark_word.next = self.condenser.kept_word.val();
        self.planner.mark_shift.next = self.condenser.kept_shift.val();
        self.planner.mark_chunk_start.next = self.condenser.kept_chunk_start.val();
        self.planner.mark_chunk_end.next = self.condenser.kept_chunk_end.val();

        // Masks to rows, rows to beats.
        self.mask_out.bits.next = self.masks.out_data.val().get_bits::<MASK_BITS>(0);
        self.context_out.bits.next = self.masks.out_data.val().get_bits::<CONTEXT_BITS>(519);
        self.scanner.mask_valid.next = self.masks.out_valid.val();
        self.masks.out_ready.next = self.scanner.mask_ready.val();
        self.scanner.mask_bits.next = self.mask_out.record.val().bits;
        self.scanner.mask_word.next = self.mask_out.record.val().word;
        self.scanner.mask_chunk_start.next = self.mask_out.record.val().chunk_start;
        self.scanner.mask_turn_end.next = self.mask_out.record.val().turn_end;
        self.scanner.mask_chunk_end.next = self.mask_out.record.val().chunk_end;
        self.scanner.mask_last.next = self.mask_out.record.val().last;
        self.scanner.mask_context.next = self.context_out.record.val();
        self.packer.rows_valid.next = self.scanner.rows_valid.val();
        self.scanner.rows_ready.next = self.packer.rows_ready.val();
        self.packer.rows_count.next = self.scanner.rows_count.val();
        self.packer.rows_offset.next = self.scanner.rows_offset.val();
        self.packer.rows_word.next = self.scanner.rows_word.val();
        self.packer.rows_turn_end.next = self.scanner.rows_turn_end.val();
        self.packer.rows_chunk_end.next = self.scanner.rows_chunk_end.val();
        self.packer.rows_last.next = self.scanner.rows_last.val();
        self.packer.rows_context.next = self.scanner.rows_context.val();
        self.idle.next = self.source.idle.val() && self.condenser.idle.val();
        self.info.next.start = self.packer.beat_start.val();
        self.info.next.bytes = self.packer.beat_bytes.val();
        self.info.next.row_bytes = self.packer.beat_row_bytes.val();
        self.info.next.dest = self.packer.beat_dest.val();
        self.info.next.slot = self.packer.beat_slot.val();
        self.info.next.message_start = self.packer.beat_message_start.val();
        self.info.next.message_end = self.packer.beat_message_end.val();
        self.info.next.message_bytes = self.packer.beat_message_bytes.val();
        self.info.next.dest_end = self.packer.beat_dest_end.val();
        self.info.next.window_end = self.packer.beat_window_end.val();
        self.info_in.record.next = self.info.val();
        self.beat.low.next = self.packer.beat_offset.val();
        self.beat.high.next = self.info_in.bits.val();
        self.beats.in_valid.next = self.packer.beat_valid.val();
        self.packer.beat_ready.next = self.beats.in_ready.val();
        self.beats.in_data.next = self.beat.whole.val();

        // Beats to bytes.
        self.info_out.bits.next = self.beats.out_data.val().get_bits::<BEAT_INFO_BITS>(768);
        self.addresser.beat_valid.next = self.beats.out_valid.val();
        self.beats.out_ready.next = self.addresser.beat_ready.val();
        self.addresser.beat_offset.next = self.beats.out_data.val().get_bits::<768>(0);
        self.unused.next = self.info_out.record.val().row_bytes;
        self.addresser.beat_start.next = self.info_out.record.val().start;
        self.addresser.beat_bytes.next = self.info_out.record.val().bytes;
        self.addresser.beat_dest.next = self.info_out.record.val().dest;
        self.addresser.beat_slot.next = self.info_out.record.val().slot;
        self.addresser.beat_message_start.next = self.info_out.record.val().message_start;
        self.addresser.beat_message_end.next = self.info_out.record.val().message_end;
        self.addresser.beat_message_bytes.next = self.info_out.record.val().message_bytes;
        self.addresser.beat_dest_end.next = self.info_out.record.val().dest_end;
        self.addresser.beat_window_end.next = self.info_out.record.val().window_end;
        self.bytes_mask.next = self.addresser.bytes_mask.val();
        self.bytes_ram.next = self.addresser.bytes_ram.val();
        self.bytes_window.next = self.addresser.bytes_window.val();
        self.bytes_window_end.next = self.addresser.bytes_window_end.val();
        self.bytes_beat_end.next = self.addresser.bytes_beat_end.val();
        self.bytes_dest.next = self.addresser.bytes_dest.val();
        self.bytes_slot.next = self.addresser.bytes_slot.val();
        self.bytes_bytes.next = self.addresser.bytes_bytes.val();
        self.bytes_message_start.next = self.addresser.bytes_message_start.val();
        self.bytes_message_end.next = self.addresser.bytes_message_end.val();
        self.bytes_message_bytes.next = self.addresser.bytes_message_bytes.val();
        self.bytes_request_end.next = self.addresser.bytes_request_end.val();
        self.bytes_dest_end.next = self.addresser.bytes_dest_end.val();
        self.bytes_status.next = self.addresser.bytes_status.val();
        self.bytes_bad_dest.next = self.addresser.bytes_bad_dest.val();
        self.bytes_valid.next = self.addresser.bytes_valid.val();
        self.addresser.bytes_ready.next = self.bytes_ready.val();

        // Headers and marks to boxes and lanes.
        self.planner.max_read.next = self.max_read.val();
        self.planner.merge_threshold.next = self.merge_threshold.val();
        self.planner.mean.next = self.mean.val();
        self.planner.planned.next = self.planned.val();
        self.planner.header_gap.next = self.gap.val();
        self.planner.header_valid.next = self.condenser.window_valid.val();
        self.planner.header_addr.next = self.header_addr.val();
        self.planner.header_len.next = self.header_len.val();
        self.planner.header_step.next = self.header_step.val();
        self.planner.header_rows.next = self.header_rows.val();
        self.planner.header_base.next = self.condenser.window_base.val();
        self.planner.header_window.next = self.header_window.val();
        self.sized.next = self.planner.sized.val();
        self.size.next = self.planner.size.val();
        self.planner.box_ready.next = self.box_ready.val();
        self.box_valid.next = self.planner.box_valid.val();
        self.box_addr.next = self.planner.box_addr.val();
        self.box_ram.next = self.planner.box_ram.val();
        self.box_len.next = self.planner.box_len.val();
        self.box_window.next = self.planner.box_window.val();
        self.box_window_end.next = self.planner.box_window_end.val();
        self.addresser.lanes_valid.next = self.planner.lanes_valid.val();
        self.addresser.lanes_place.next = self.planner.lanes_place.val();
        self.addresser.lanes_start.next = self.planner.lanes_start.val();
        self.addresser.lanes_step.next = self.planner.lanes_step.val();
        self.addresser.lanes_lanes.next = self.planner.lanes_lanes.val();
        self.addresser.lanes_row_bytes.next = self.planner.lanes_row_bytes.val();
        self.addresser.lanes_window.next = self.planner.lanes_window.val();
        self.planner.lanes_ready.next = self.addresser.lanes_ready.val();
    }
}
