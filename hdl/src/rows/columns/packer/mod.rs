//! Packs selected rows into beats of 64 bytes.

mod beats;
mod kernel;
mod messages;
mod rows;

use super::record::{
    BEAT_INFO_BITS, BeatInfo, COLUMN_STANDING_BITS, ColumnStanding, Entry, ROW_GROUP_BITS, RowGroup,
};
use super::row_queue::RowQueue;
use super::stride::Stride;
use crate::primitive::{Fifo, Flatten, Lutram, Restore, Select, Skid};
use crate::request::DEST_INDEX;
use crate::rows::sequencer::record::{CONTEXT_BITS, Context};
use drdma_emit::prelude::*;

/// Lays the selected rows of each turn end to end, and cuts them into messages and into beats, for the addresser. The
/// standing of each of a request's destinations is kept while others have their turn.
///
/// A beat has 64 bytes unless its message or its turn ends; if rows have 3 bytes it has 63, so that beats of rows of 1
/// to 3 bytes all start with a row. A destination that has had rows ends with `dest_end`, a chunk with `window_end`: on
/// the last beat, or on an empty one behind it if that beat had to leave before the end was known. Such an empty beat
/// also carries `message_end` if `last` ends a message that is still open. A destination without rows gets no
/// `dest_end`.
///
/// One beat and 64 rows a cycle, also from turn to turn; a beat 9 cycles after its rows. An end without rows takes a
/// cycle. May stall at any time.
///
/// # Inputs
/// `rows` stream: the fields of [`RowGroup`] and `context` (rows have 1 to 960 bytes, messages at least a row);
/// `beat_ready`.
///
/// # Outputs
/// `rows_ready`; `beat` stream: `offset` (the rows that the beat touches, 12 bits each: up to 64, or up to 16 if rows
/// have 4 bytes or more; others are undefined) and the fields of [`BeatInfo`]. `idle`: no rows are held, and no beat
/// waits.
#[derive(LogicBlock, BlockDefault)]
pub struct Packer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A group of rows is offered.
    pub rows_valid: Signal<In, Bit>,
    /// The rows are taken in this cycle.
    pub rows_ready: Signal<Out, Bit>,
    /// Number of rows, 0 to 64.
    pub rows_count: Signal<In, Bits<7>>,
    /// Offsets of the rows from row 512 * `rows_word` of the chunk, 9 bits each.
    pub rows_offset: Signal<In, Bits<576>>,
    /// Number of the rows' mask in its chunk, 0 to 7.
    pub rows_word: Signal<In, Bits<3>>,
    /// The rows are the last ones of their turn.
    pub rows_turn_end: Signal<In, Bit>,
    /// The rows are the last ones of their chunk.
    pub rows_chunk_end: Signal<In, Bit>,
    /// The rows are the last ones of their destination.
    pub rows_last: Signal<In, Bit>,
    /// Context that the rows share.
    pub rows_context: Signal<In, Context>,
    /// A beat is offered.
    pub beat_valid: Signal<Out, Bit>,
    /// The beat is taken in this cycle.
    pub beat_ready: Signal<In, Bit>,
    /// Offsets in the chunk of the rows that the beat touches, 12 bits each.
    pub beat_offset: Signal<Out, Bits<768>>,
    /// Byte of the first row with which the beat starts.
    pub beat_start: Signal<Out, Bits<10>>,
    /// Bytes of the beat, 0 to 64.
    pub beat_bytes: Signal<Out, Bits<7>>,
    /// Bytes of a row, 1 to 960.
    pub beat_row_bytes: Signal<Out, Bits<10>>,
    /// Place of the destination in the ring of destinations.
    pub beat_dest: Signal<Out, Bits<10>>,
    /// Slot of the request.
    pub beat_slot: Signal<Out, Bits<8>>,
    /// The beat is the first one of a message.
    pub beat_message_start: Signal<Out, Bit>,
    /// The beat is the last one of a message.
    pub beat_message_end: Signal<Out, Bit>,
    /// With `beat_message_start`: bytes of the message, where they are needed; else 0.
    pub beat_message_bytes: Signal<Out, Bits<32>>,
    /// The beat is the last one of its destination.
    pub beat_dest_end: Signal<Out, Bit>,
    /// The beat is the last one of its chunk.
    pub beat_window_end: Signal<Out, Bit>,
    /// No rows are held, and no beat waits.
    pub idle: Signal<Out, Bit>,

    group: Signal<Local, RowGroup>,
    group_in: Flatten<RowGroup, ROW_GROUP_BITS>,
    groups: Skid<ROW_GROUP_BITS>,
    group_out: Restore<RowGroup, ROW_GROUP_BITS>,
    context_in: Flatten<Context, CONTEXT_BITS>,
    contexts: Skid<CONTEXT_BITS>,
    context_out: Restore<Context, CONTEXT_BITS>,
    // Early stage: the rows with the multiples of their length, 1 to 16.
    early_valid: DFF<Bit>,
    early: DFF<Entry>,
    early_offset: DFF<Bits<576>>,
    early_word: DFF<Bits<3>>,
    early_multiple: [DFF<Bits<11>>; 16],
    product: [Signal<Local, Bits<11>>; 16],
    bytes: Signal<Local, Bits<11>>,
    is_long: Signal<Local, Bit>,
    early_free: Signal<Local, Bit>,
    from_zero: Stride,
    // Entry stage: also the extent of a beat that starts with a row's first byte.
    entry_valid: DFF<Bit>,
    entry: DFF<Entry>,
    entry_multiple: [DFF<Bits<11>>; 16],
    entry_rows: DFF<Bits<7>>,
    entry_touched: DFF<Bits<7>>,
    entry_reach: DFF<Bits<11>>,
    entry_exact: DFF<Bit>,
    entry_free: Signal<Local, Bit>,
    admit: Signal<Local, Bit>,
    fresh: Signal<Local, Bit>,
    queue: RowQueue,

    // The turn.
    busy: DFF<Bit>,
    turn: DFF<Entry>,
    multiple: [DFF<Bits<11>>; 16],
    first_rows: DFF<Bits<7>>,
    first_touched: DFF<Bits<7>>,
    first_reach: DFF<Bits<11>>,
    first_exact: DFF<Bit>,
    had: DFF<Bit>,
    turn_had: DFF<Bit>,
    // Rows that wait, and the place of the first one; the byte of it that is next; the extent of a whole beat from
    // there.
    waiting: DFF<Bits<8>>,
    place: DFF<Bits<8>>,
    start: DFF<Bits<10>>,
    whole_rows: DFF<Bits<7>>,
    whole_touched: DFF<Bits<7>>,
    whole_reach: DFF<Bits<11>>,
    whole_exact: DFF<Bit>,
    following: Stride,
    // The message.
    open: DFF<Bit>,
    near: DFF<Bits<9>>,
    far: DFF<Bits<25>>,
    fulls: DFF<Bits<32>>,
    // Actions of this cycle.
    room: Signal<Local, Bit>,
    able: Signal<Local, Bit>,
    ends_soon: Signal<Local, Bit>,
    enough: Signal<Local, Bit>,
    whole: Signal<Local, Bit>,
    ending: Signal<Local, Bit>,
    flush: Signal<Local, Bit>,
    close: Signal<Local, Bit>,
    beat: Signal<Local, Bit>,
    all: Signal<Local, Bit>,
    finish: Signal<Local, Bit>,
    message_end: Signal<Local, Bit>,
    uses: Signal<Local, Bits<7>>,
    filled: Signal<Local, Bits<8>>,
    cases: Signal<Local, Bits<4>>,
    kept_cases: Select<3, 8>,
    filled_cases: Select<4, 8>,
    // The state of the message after this cycle.
    after: Signal<Local, ColumnStanding>,
    more: Signal<Local, Bit>,
    near_more: Signal<Local, Bits<9>>,
    near_whole: Signal<Local, Bits<9>>,
    near_flush: Signal<Local, Bits<9>>,
    standings: Lutram<COLUMN_STANDING_BITS, DEST_INDEX, 1>,
    stored: Restore<ColumnStanding, COLUMN_STANDING_BITS>,
    store: Flatten<ColumnStanding, COLUMN_STANDING_BITS>,
    earlier: Signal<Local, ColumnStanding>,
    earlier_had: Signal<Local, Bit>,
    seen: Lutram<1, DEST_INDEX, 1>,

    // The beat on its way to the output: its rows, then its bytes.
    cut_valid: DFF<Bit>,
    cut: DFF<BeatInfo>,
    cut_rows: DFF<Bits<6>>,
    cut_thin: DFF<Bit>,
    cut_whole: DFF<Bit>,
    sum_valid: DFF<Bit>,
    sum: DFF<BeatInfo>,
    sum_whole: DFF<Bit>,
    sum_low: DFF<Bits<7>>,
    sum_high: DFF<Bits<7>>,
    sum_rest: DFF<Bits<7>>,
    done_valid: DFF<Bit>,
    done: DFF<BeatInfo>,
    done_offset: DFF<Bits<768>>,
    info_in: Flatten<BeatInfo, BEAT_INFO_BITS>,
    infos: Fifo<BEAT_INFO_BITS, 4, 5>,
    info_out: Restore<BeatInfo, BEAT_INFO_BITS>,
    offsets: Fifo<768, 4, 5>,
    unused: Signal<Local, Bits<31>>,
}
