//! Packs selected rows into beats of 64 bytes.

use super::record::{
    BEAT_INFO_BITS, BeatInfo, COLUMN_STANDING_BITS, ColumnStanding, Entry, ROW_GROUP_BITS, RowGroup,
};
use super::row_queue::RowQueue;
use super::stride::Stride;
use crate::primitive::{Fifo, Flatten, Lutram, Restore, Select, Skid};
use crate::request::DEST_INDEX;
use crate::rows::sequencer::record::{CONTEXT_BITS, Context};
use drdma_emit::prelude::hdl_gen;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

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
#[derive(LogicBlock)]
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
    /// What the rows have in common.
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
    entry_next: DFF<Bits<10>>,
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
    first_next: DFF<Bits<10>>,
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
    whole_next: DFF<Bits<10>>,
    whole_exact: DFF<Bit>,
    following: Stride,
    // The message.
    open: DFF<Bit>,
    near: DFF<Bits<9>>,
    far: DFF<Bits<25>>,
    fulls: DFF<Bits<32>>,
    // What this cycle does.
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

impl Default for Packer {
    fn default() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            rows_valid: Default::default(),
            rows_ready: Default::default(),
            rows_count: Default::default(),
            rows_offset: Default::default(),
            rows_word: Default::default(),
            rows_turn_end: Default::default(),
            rows_chunk_end: Default::default(),
            rows_last: Default::default(),
            rows_context: Default::default(),
            beat_valid: Default::default(),
            beat_ready: Default::default(),
            beat_offset: Default::default(),
            beat_start: Default::default(),
            beat_bytes: Default::default(),
            beat_row_bytes: Default::default(),
            beat_dest: Default::default(),
            beat_slot: Default::default(),
            beat_message_start: Default::default(),
            beat_message_end: Default::default(),
            beat_message_bytes: Default::default(),
            beat_dest_end: Default::default(),
            beat_window_end: Default::default(),
            idle: Default::default(),
            group: Default::default(),
            group_in: Default::default(),
            groups: Default::default(),
            group_out: Default::default(),
            context_in: Default::default(),
            contexts: Default::default(),
            context_out: Default::default(),
            early_valid: Default::default(),
            early: Default::default(),
            early_offset: Default::default(),
            early_word: Default::default(),
            early_multiple: array_init::array_init(|_| Default::default()),
            product: Default::default(),
            bytes: Default::default(),
            is_long: Default::default(),
            early_free: Default::default(),
            from_zero: Default::default(),
            entry_valid: Default::default(),
            entry: Default::default(),
            entry_multiple: array_init::array_init(|_| Default::default()),
            entry_rows: Default::default(),
            entry_touched: Default::default(),
            entry_next: Default::default(),
            entry_exact: Default::default(),
            entry_free: Default::default(),
            admit: Default::default(),
            fresh: Default::default(),
            queue: Default::default(),
            busy: Default::default(),
            turn: Default::default(),
            multiple: array_init::array_init(|_| Default::default()),
            first_rows: Default::default(),
            first_touched: Default::default(),
            first_next: Default::default(),
            first_exact: Default::default(),
            had: Default::default(),
            turn_had: Default::default(),
            waiting: Default::default(),
            place: Default::default(),
            start: Default::default(),
            whole_rows: Default::default(),
            whole_touched: Default::default(),
            whole_next: Default::default(),
            whole_exact: Default::default(),
            following: Default::default(),
            open: Default::default(),
            near: Default::default(),
            far: Default::default(),
            fulls: Default::default(),
            room: Default::default(),
            able: Default::default(),
            ends_soon: Default::default(),
            enough: Default::default(),
            whole: Default::default(),
            ending: Default::default(),
            flush: Default::default(),
            close: Default::default(),
            beat: Default::default(),
            all: Default::default(),
            finish: Default::default(),
            message_end: Default::default(),
            uses: Default::default(),
            filled: Default::default(),
            cases: Default::default(),
            kept_cases: Default::default(),
            filled_cases: Default::default(),
            after: Default::default(),
            more: Default::default(),
            near_more: Default::default(),
            near_whole: Default::default(),
            near_flush: Default::default(),
            standings: Default::default(),
            stored: Default::default(),
            store: Default::default(),
            earlier: Default::default(),
            earlier_had: Default::default(),
            seen: Default::default(),
            cut_valid: Default::default(),
            cut: Default::default(),
            cut_rows: Default::default(),
            cut_thin: Default::default(),
            cut_whole: Default::default(),
            sum_valid: Default::default(),
            sum: Default::default(),
            sum_whole: Default::default(),
            sum_low: Default::default(),
            sum_high: Default::default(),
            sum_rest: Default::default(),
            done_valid: Default::default(),
            done: Default::default(),
            done_offset: Default::default(),
            info_in: Default::default(),
            infos: Default::default(),
            info_out: Default::default(),
            offsets: Default::default(),
            unused: Default::default(),
        }
    }
}

impl Logic for Packer {
    #[hdl_gen]
    fn update(&mut self) {
        self.group.next.count = self.rows_count.val();
        self.group.next.offset = self.rows_offset.val();
        self.group.next.word = self.rows_word.val();
        self.group.next.turn_end = self.rows_turn_end.val();
        self.group.next.chunk_end = self.rows_chunk_end.val();
        self.group.next.last = self.rows_last.val();
        self.group_in.record.next = self.group.val();
        self.groups.in_valid.next = self.rows_valid.val();
        self.groups.in_data.next = self.group_in.bits.val();
        self.group_out.bits.next = self.groups.out_data.val();
        self.context_in.record.next = self.rows_context.val();
        self.contexts.in_valid.next = self.rows_valid.val();
        self.contexts.in_data.next = self.context_in.bits.val();
        self.context_out.bits.next = self.contexts.out_data.val();
        self.rows_ready.next = self.groups.in_ready.val();

        // What this cycle does. A whole beat leaves if its rows are there and the message does not end before; else a
        // beat up to the end of the message, or of the turn.
        self.room.next = self.infos.free.val() >= 8;
        self.able.next = self.busy.q.val() && self.room.val();
        self.ends_soon.next = self.near.q.val() < bit_cast::<9, 7>(self.whole_touched.q.val());
        self.enough.next = self.waiting.q.val() >= bit_cast::<8, 7>(self.whole_touched.q.val());
        self.whole.next = self.able.val() && self.enough.val() && !self.ends_soon.val();
        self.ending.next = self.able.val()
            && self.ends_soon.val()
            && (self.near.q.val() <= bit_cast::<9, 8>(self.waiting.q.val()));
        self.flush.next = self.able.val()
            && self.turn.q.val().turn_end
            && (self.waiting.q.val() != 0)
            && !self.enough.val()
            && (self.near.q.val() > bit_cast::<9, 8>(self.waiting.q.val()));
        self.close.next =
            self.able.val() && self.turn.q.val().turn_end && (self.waiting.q.val() == 0);
        self.beat.next = self.whole.val() || self.ending.val() || self.flush.val();
        self.all.next = self.flush.val()
            || (self.ending.val() && (self.near.q.val() == bit_cast::<9, 8>(self.waiting.q.val())))
            || (self.whole.val()
                && self.whole_exact.q.val()
                && (self.waiting.q.val() == bit_cast::<8, 7>(self.whole_touched.q.val())));
        self.finish.next = (self.turn.q.val().turn_end && self.all.val()) || self.close.val();
        self.message_end.next = self.ending.val()
            || (self.whole.val()
                && self.whole_exact.q.val()
                && (self.near.q.val() == bit_cast::<9, 7>(self.whole_touched.q.val())))
            || (self.all.val() && self.turn.q.val().turn_end && self.turn.q.val().last);
        self.uses.next = 0.into();
        if self.whole.val() {
            self.uses.next = self.whole_rows.q.val();
        } else if self.ending.val() {
            self.uses.next = self.near.q.val().get_bits::<7>(0);
        } else if self.flush.val() {
            self.uses.next = self.waiting.q.val().get_bits::<7>(0);
        }
        // Rows that stay, and those together with new ones: every case is summed up, then one is selected.
        self.filled.next = self.waiting.q.val() + bit_cast::<8, 7>(self.entry.q.val().count);
        self.kept_cases.values[0].next = self.waiting.q.val();
        self.kept_cases.values[1].next =
            self.waiting.q.val() - bit_cast::<8, 7>(self.whole_rows.q.val());
        self.kept_cases.values[2].next = self.waiting.q.val() - self.near.q.val().get_bits::<8>(0);
        self.filled_cases.values[0].next = self.filled.val();
        self.filled_cases.values[1].next =
            self.filled.val() - bit_cast::<8, 7>(self.whole_rows.q.val());
        self.filled_cases.values[2].next = self.filled.val() - self.near.q.val().get_bits::<8>(0);
        // All rows that wait leave.
        self.filled_cases.values[3].next = bit_cast::<8, 7>(self.entry.q.val().count);
        self.cases.next = 0.into();
        self.cases.next = self.cases.val().replace_bit(0, !self.beat.val());
        self.cases.next = self.cases.val().replace_bit(1, self.whole.val());
        self.cases.next = self.cases.val().replace_bit(2, self.ending.val());
        self.cases.next = self.cases.val().replace_bit(3, self.flush.val());
        self.kept_cases.choice.next = self.cases.val().get_bits::<3>(0);
        self.filled_cases.choice.next = self.cases.val();
        self.place.d.next = self.place.q.val() + bit_cast::<8, 7>(self.uses.val());

        // The state of the message after this cycle.
        self.more.next = (self.near.q.val() < 192) && (self.far.q.val() != 0);
        self.near_more.next = self.near.q.val();
        if self.more.val() {
            self.near_more.next = self.near.q.val() + 128;
        }
        self.near_whole.next = self.near_more.val() - bit_cast::<9, 7>(self.whole_rows.q.val());
        self.near_flush.next = self.near_more.val() - bit_cast::<9, 8>(self.waiting.q.val());
        self.after.next.far = self.far.q.val();
        if self.more.val() {
            self.after.next.far = self.far.q.val() - 1;
        }
        // At the end of a message, the rows of the next message follow.
        self.after.next.near = self.near_more.val();
        if self.whole.val() {
            self.after.next.near = self.near_whole.val();
        } else if self.flush.val() {
            self.after.next.near = self.near_flush.val();
        }
        self.after.next.open = self.open.q.val();
        self.after.next.set = self.turn.q.val().set;
        self.after.next.fulls = self.fulls.q.val();
        if self.beat.val() {
            self.after.next.open = !self.message_end.val();
            if !self.open.q.val() && (self.fulls.q.val() != 0) {
                self.after.next.fulls = self.fulls.q.val() - 1;
            }
        }
        if self.message_end.val() {
            self.after.next.near = self.turn.q.val().unit_near;
            self.after.next.far = self.turn.q.val().unit_far;
        }

        // Where the next beat starts.
        self.following.start.next = self.whole_next.q.val();
        self.following.thin_rows.next = self.turn.q.val().thin_rows;
        for k in 0..16 {
            self.following.multiple[k].next = self.multiple[k].q.val();
        }
        if self.whole.val() {
            self.start.d.next = self.whole_next.q.val();
            self.whole_rows.d.next = self.following.rows.val();
            self.whole_touched.d.next = self.following.touched.val();
            self.whole_next.d.next = self.following.ends_at.val();
            self.whole_exact.d.next = self.following.exact.val();
        } else if self.beat.val() {
            self.start.d.next = 0.into();
            self.whole_rows.d.next = self.first_rows.q.val();
            self.whole_touched.d.next = self.first_touched.q.val();
            self.whole_next.d.next = self.first_next.q.val();
            self.whole_exact.d.next = self.first_exact.q.val();
        }
        self.open.d.next = self.after.val().open;
        self.near.d.next = self.after.val().near;
        self.far.d.next = self.after.val().far;
        self.fulls.d.next = self.after.val().fulls;
        self.waiting.d.next = self.kept_cases.value.val();
        if self.finish.val() {
            self.busy.d.next = false;
        }
        self.store.record.next = self.after.val();
        self.standings.write_enable.next = self.finish.val() && self.turn_had.q.val();
        self.standings.write_address.next = self.turn.q.val().index;
        self.standings.write_data.next = self.store.bits.val();

        // More rows are admitted: of this turn, or the first ones of the next turn.
        self.fresh.next = self.finish.val() || !self.busy.q.val();
        self.admit.next = self.entry_valid.q.val()
            && (self.fresh.val() || (!self.turn.q.val().turn_end && (self.waiting.q.val() <= 128)));
        self.standings.read_address[0].next = self.entry.q.val().index;
        self.stored.bits.next = self.standings.read_data[0].val();
        self.earlier.next = self.stored.record.val();
        self.earlier_had.next =
            !self.entry.q.val().first_turn && self.seen.read_data[0].val().any();
        if self.finish.val() && (self.entry.q.val().index == self.turn.q.val().index) {
            self.earlier.next = self.after.val();
            self.earlier_had.next = !self.entry.q.val().first_turn && self.had.q.val();
        }
        self.seen.write_enable.next = false;
        self.seen.write_address.next = self.entry.q.val().index;
        self.seen.write_data.next = 1.into();
        self.seen.read_address[0].next = self.entry.q.val().index;
        self.queue.write.next = self.admit.val();
        if self.admit.val() {
            self.waiting.d.next = self.filled_cases.value.val();
            if self.entry.q.val().count != 0 {
                self.had.d.next = true;
                self.turn_had.d.next = true;
                self.seen.write_enable.next = true;
            } else if self.fresh.val() && self.entry.q.val().first_turn {
                self.seen.write_enable.next = true;
                self.seen.write_data.next = 0.into();
            }
            self.turn.d.next = self.entry.q.val();
            if self.fresh.val() {
                self.busy.d.next = true;
                self.had.d.next = self.earlier_had.val() || (self.entry.q.val().count != 0);
                self.turn_had.d.next = self.entry.q.val().count != 0;
                self.start.d.next = 0.into();
                self.first_rows.d.next = self.entry_rows.q.val();
                self.first_touched.d.next = self.entry_touched.q.val();
                self.first_next.d.next = self.entry_next.q.val();
                self.first_exact.d.next = self.entry_exact.q.val();
                self.whole_rows.d.next = self.entry_rows.q.val();
                self.whole_touched.d.next = self.entry_touched.q.val();
                self.whole_next.d.next = self.entry_next.q.val();
                self.whole_exact.d.next = self.entry_exact.q.val();
                for k in 0..16 {
                    self.multiple[k].d.next = self.entry_multiple[k].q.val();
                }
                self.open.d.next = self.earlier_had.val() && self.earlier.val().open;
                self.near.d.next = self.entry.q.val().unit_near;
                self.far.d.next = self.entry.q.val().unit_far;
                if self.earlier_had.val() && self.earlier.val().open {
                    self.near.d.next = self.earlier.val().near;
                    self.far.d.next = self.earlier.val().far;
                }
                self.fulls.d.next = self.entry.q.val().full_count;
                if self.earlier_had.val() && (self.earlier.val().set == self.entry.q.val().set) {
                    self.fulls.d.next = self.earlier.val().fulls;
                }
            }
        }

        // Rows enter, with what can be known of them beforehand.
        self.entry_free.next = !self.entry_valid.q.val() || self.admit.val();
        self.early_free.next = !self.early_valid.q.val() || self.entry_free.val();
        self.from_zero.start.next = 0.into();
        self.from_zero.thin_rows.next = self.early.q.val().thin_rows;
        for k in 0..16 {
            self.from_zero.multiple[k].next = self.early_multiple[k].q.val();
        }
        self.queue.load.next = self.early_valid.q.val() && self.entry_free.val();
        self.queue.load_count.next = self.early.q.val().count;
        self.queue.load_offset.next = self.early_offset.q.val();
        self.queue.load_word.next = self.early_word.q.val();
        self.queue.place.next = self.place.q.val();
        if self.entry_free.val() {
            self.entry_valid.d.next = self.early_valid.q.val();
            self.entry.d.next = self.early.q.val();
            for k in 0..16 {
                self.entry_multiple[k].d.next = self.early_multiple[k].q.val();
            }
            self.entry_rows.d.next = self.from_zero.rows.val();
            self.entry_touched.d.next = self.from_zero.touched.val();
            self.entry_next.d.next = self.from_zero.ends_at.val();
            self.entry_exact.d.next = self.from_zero.exact.val();
        }
        self.bytes.next = bit_cast::<11, 10>(self.context_out.record.val().bytes);
        self.is_long.next = self.context_out.record.val().bytes > 64;
        self.product[0].next = self.bytes.val();
        self.product[1].next = self.bytes.val() << 1;
        self.product[2].next = self.bytes.val() + (self.bytes.val() << 1);
        self.product[3].next = self.bytes.val() << 2;
        self.product[4].next = self.bytes.val() + (self.bytes.val() << 2);
        self.product[5].next = self.product[2].val() << 1;
        self.product[6].next = (self.bytes.val() << 3) - self.bytes.val();
        self.product[7].next = self.bytes.val() << 3;
        self.product[8].next = (self.bytes.val() << 3) + self.bytes.val();
        self.product[9].next = self.product[4].val() << 1;
        self.product[10].next = (self.bytes.val() << 3) + self.product[2].val();
        self.product[11].next = self.product[2].val() << 2;
        self.product[12].next = (self.bytes.val() << 3) + self.product[4].val();
        self.product[13].next = self.product[6].val() << 1;
        self.product[14].next = (self.bytes.val() << 4) - self.bytes.val();
        self.product[15].next = self.bytes.val() << 4;
        self.groups.out_ready.next = self.early_free.val();
        self.contexts.out_ready.next = self.early_free.val();
        if self.early_free.val() {
            self.early_valid.d.next = self.groups.out_valid.val();
            self.early_offset.d.next = self.group_out.record.val().offset;
            self.early_word.d.next = self.group_out.record.val().word;
            for k in 0..16 {
                self.early_multiple[k].d.next = self.product[k].val();
            }
            if self.is_long.val() {
                for k in 1..16 {
                    self.early_multiple[k].d.next = 2047.into();
                }
            }
            self.early.d.next.count = self.group_out.record.val().count;
            self.early.d.next.turn_end = self.group_out.record.val().turn_end;
            self.early.d.next.chunk_end = self.group_out.record.val().chunk_end;
            self.early.d.next.last = self.group_out.record.val().last;
            self.early.d.next.row_bytes = self.context_out.record.val().bytes;
            self.early.d.next.thin_rows = 0.into();
            if self.context_out.record.val().bytes == 1 {
                self.early.d.next.thin_rows = 64.into();
            } else if self.context_out.record.val().bytes == 2 {
                self.early.d.next.thin_rows = 32.into();
            } else if self.context_out.record.val().bytes == 3 {
                self.early.d.next.thin_rows = 21.into();
            }
            self.early.d.next.dest = self.context_out.record.val().dest;
            self.early.d.next.index = self.context_out.record.val().index;
            self.early.d.next.slot = self.context_out.record.val().slot;
            self.early.d.next.set = self.context_out.record.val().set;
            self.early.d.next.first_turn = self.context_out.record.val().first_stretch;
            self.early.d.next.measured = self.context_out.record.val().measured;
            self.early.d.next.full_count = self.context_out.record.val().full_count;
            self.early.d.next.full_bytes = self.context_out.record.val().full_bytes;
            self.early.d.next.tail_bytes = self.context_out.record.val().tail_bytes;
            self.early.d.next.unit_near =
                bit_cast::<9, 7>(self.context_out.record.val().units.get_bits::<7>(0));
            self.early.d.next.unit_far = 0.into();
            if self.context_out.record.val().units.get_bits::<25>(7) != 0 {
                self.early.d.next.unit_near =
                    bit_cast::<9, 7>(self.context_out.record.val().units.get_bits::<7>(0)) | 128;
                self.early.d.next.unit_far =
                    self.context_out.record.val().units.get_bits::<25>(7) - 1;
            }
        }

        self.unused.next = bit_cast::<31, 5>(self.context_out.record.val().lanes)
            | (bit_cast::<31, 16>(self.context_out.record.val().starts) << 5)
            | (bit_cast::<31, 8>(self.context_out.record.val().chunk_blocks) << 21);
        self.unused.next = self.unused.val().replace_bit(29, self.context_out.record.val().fits);
        self.unused.next = self.unused.val().replace_bit(30, self.context_out.record.val().by_lane);

        // The beat leaves.
        self.cut_valid.d.next = self.beat.val()
            || (self.close.val()
                && (self.turn.q.val().chunk_end || (self.turn.q.val().last && self.had.q.val())));
        self.cut_rows.d.next = self.uses.val().get_bits::<6>(0);
        self.cut_thin.d.next = self.turn.q.val().thin_rows != 0;
        self.cut_whole.d.next = self.whole.val();
        self.cut.d.next.start = self.start.q.val();
        // A beat of rows of 3 bytes has 21 of them.
        self.cut.d.next.bytes = 64.into();
        if self.turn.q.val().thin_rows.get_bit(0) {
            self.cut.d.next.bytes = 63.into();
        }
        self.cut.d.next.row_bytes = self.turn.q.val().row_bytes;
        self.cut.d.next.dest = self.turn.q.val().dest;
        self.cut.d.next.slot = self.turn.q.val().slot;
        self.cut.d.next.message_start = self.beat.val() && !self.open.q.val();
        self.cut.d.next.message_end = self.message_end.val()
            || (self.close.val() && self.turn.q.val().last && self.open.q.val());
        self.cut.d.next.message_bytes = 0.into();
        if self.turn.q.val().measured && self.beat.val() && !self.open.q.val() {
            self.cut.d.next.message_bytes = self.turn.q.val().tail_bytes;
            if self.fulls.q.val() != 0 {
                self.cut.d.next.message_bytes = self.turn.q.val().full_bytes;
            }
        }
        self.cut.d.next.dest_end = self.finish.val() && self.turn.q.val().last && self.had.q.val();
        self.cut.d.next.window_end = self.finish.val() && self.turn.q.val().chunk_end;

        // Bytes of the beat: rows times their length, in parts, less the start. Only rows of 1 to 3 bytes can be 16 or
        // more in a beat, and such beats start with a row.
        self.sum_valid.d.next = self.cut_valid.q.val();
        self.sum.d.next = self.cut.q.val();
        self.sum_whole.d.next = self.cut_whole.q.val();
        self.sum_low.d.next = 0.into();
        if self.cut_rows.q.val().get_bit(0) {
            self.sum_low.d.next = self.cut.q.val().row_bytes.get_bits::<7>(0);
        }
        if self.cut_rows.q.val().get_bit(1) {
            self.sum_low.d.next =
                self.sum_low.d.val() + (self.cut.q.val().row_bytes << 1).get_bits::<7>(0);
        }
        self.sum_high.d.next = 0.into();
        if self.cut_rows.q.val().get_bit(2) {
            self.sum_high.d.next = (self.cut.q.val().row_bytes << 2).get_bits::<7>(0);
        }
        if self.cut_rows.q.val().get_bit(3) {
            self.sum_high.d.next =
                self.sum_high.d.val() + (self.cut.q.val().row_bytes << 3).get_bits::<7>(0);
        }
        self.sum_rest.d.next = !self.cut.q.val().start.get_bits::<7>(0) + 1;
        if self.cut_thin.q.val() {
            self.sum_rest.d.next = 0.into();
            if self.cut_rows.q.val().get_bit(4) {
                self.sum_rest.d.next = (self.cut.q.val().row_bytes << 4).get_bits::<7>(0);
            }
            if self.cut_rows.q.val().get_bit(5) {
                self.sum_rest.d.next =
                    self.sum_rest.d.val() + (self.cut.q.val().row_bytes << 5).get_bits::<7>(0);
            }
        }
        self.done_valid.d.next = self.sum_valid.q.val();
        self.done.d.next = self.sum.q.val();
        if !self.sum_whole.q.val() {
            self.done.d.next.bytes =
                (self.sum_low.q.val() + self.sum_high.q.val()) + self.sum_rest.q.val();
        }
        self.done_offset.d.next = self.queue.offset.val();
        self.info_in.record.next = self.done.q.val();
        self.infos.in_valid.next = self.done_valid.q.val();
        self.infos.in_data.next = self.info_in.bits.val();
        self.offsets.in_valid.next = self.done_valid.q.val();
        self.offsets.in_data.next = self.done_offset.q.val();
        self.infos.out_ready.next = self.beat_ready.val();
        self.offsets.out_ready.next = self.beat_ready.val();
        self.info_out.bits.next = self.infos.out_data.val();
        self.beat_valid.next = self.infos.out_valid.val();
        self.beat_offset.next = self.offsets.out_data.val();
        self.beat_start.next = self.info_out.record.val().start;
        self.beat_bytes.next = self.info_out.record.val().bytes;
        self.beat_row_bytes.next = self.info_out.record.val().row_bytes;
        self.beat_dest.next = self.info_out.record.val().dest;
        self.beat_slot.next = self.info_out.record.val().slot;
        self.beat_message_start.next = self.info_out.record.val().message_start;
        self.beat_message_end.next = self.info_out.record.val().message_end;
        self.beat_message_bytes.next = self.info_out.record.val().message_bytes;
        self.beat_dest_end.next = self.info_out.record.val().dest_end;
        self.beat_window_end.next = self.info_out.record.val().window_end;

        self.idle.next = !self.groups.out_valid.val()
            && !self.early_valid.q.val()
            && !self.entry_valid.q.val()
            && !self.busy.q.val()
            && !self.cut_valid.q.val()
            && !self.sum_valid.q.val()
            && !self.done_valid.q.val()
            && (self.infos.count.val() == 0);
        if self.rst.val() {
            self.early_valid.d.next = false;
            self.entry_valid.d.next = false;
            self.busy.d.next = false;
            self.waiting.d.next = 0.into();
            self.place.d.next = 0.into();
            self.cut_valid.d.next = false;
            self.sum_valid.d.next = false;
            self.done_valid.d.next = false;
        }
    }
}
