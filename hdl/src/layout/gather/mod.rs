//! Assembles the payload (D-RDMA section 4.3): reads bytes from the segmented memory and moves them
//! through a byte crossbar into payload order.
//!
//! Takes beats of 64 byte addresses. A beat waits until its window's data have arrived; then each quad,
//! four positions of the payload, has its addresses in a queue of its own. Every cycle the heads of
//! all queues ask for their banks, so that the quads slip against each other, and banks that one
//! beat's conflicts leave idle serve the next ones. The bytes wait in queues behind the crossbar
//! until their beat is complete.
//!
//! The quads stand in four groups of four, each with a copy of the segmented memory: a bank gives a
//! row a cycle to every group. Within a group a head is served unless that of an older beat, or in the
//! same beat that of a lower quad, wants the same bank in another row. (One copy for all would not do:
//! a quad that has lost a cycle never makes up for it, so heads must seldom meet.)
//!
//! A quad's crossbar has a port for every eighth bank, which makes it a third of one that takes any
//! four of 128 bytes. Where a quad needs different words through a port it takes turns.
//!
//! A beat that has bytes, but none of them in the memory, has bytes that the sequencer has made (`made`), or that stand
//! in its request: `inline_write` has brought them; they are kept by slot and read as the beat leaves. Up to 4 bytes
//! side by side of a beat that are not in the memory are ones that the sequencer has made, wherever they stand.
//!
//! Contract: up to a beat a cycle, in order; a beat follows its addresses after 10 cycles; may stall at any time. With
//! fewer than 16 `words`, a beat of w words (quads with a byte) takes ceil(w / `words`) cycles in stage `p`, and so
//! does the payload behind it. At most 32 beats are at work, and all their bytes have room behind the crossbar, so that
//! no quad waits for one that cannot advance. A beat of a window with failed reads takes a cycle for each of these and
//! 3 more. `window_free` says that the last beat of a window, and with it all before, have left the memory.
//!
//! Stages: `p` holds a beat, waits for its window and looks for failed reads; the groups take it from
//! there to the complete beat; `out` is the output register.

use crate::layout::reader::{ReadError, WindowReady};
use crate::layout::windows::{ByteBeat, WINDOW_COUNT, WINDOW_INDEX};
use crate::request::DEST_COUNT;
use crate::rows::kinds::Made;
use drdma_emit::prelude::*;

use crate::primitive::{CountOnes, Fifo, Flatten, Lutram, Pack, Ram, RamStyle, Restore};

mod failures;
mod group;
mod quad;
#[cfg(test)]
mod tests;

use failures::Failures;
use group::Group;

/// Fields that accompany the payload of a beat.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Side {
    dest: Bits<10>,
    slot: Bits<8>,
    bytes: Bits<7>,
    message_start: Bit,
    message_end: Bit,
    request_end: Bit,
    dest_end: Bit,
    message_bytes: Bits<32>,
    status: Bits<8>,
    bad_dest: Bits<DEST_COUNT>,
}

/// Fields of a part at work that the output needs beside its data.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Note {
    dest: Bits<10>,
    slot: Bits<8>,
    bytes: Bits<7>,
    message_start: Bit,
    message_end: Bit,
    request_end: Bit,
    dest_end: Bit,
    message_bytes: Bits<32>,
    status: Bits<8>,
    bad_dest: Bits<DEST_COUNT>,
    mask: Bits<64>,
    part_end: Bit,
    error: Bit,
    /// The part is not payload, and only ended its window.
    left_out: Bit,
    /// The part's payload stands in the request.
    inline: Bit,
    /// Bytes of the beat that are in none of its parts, a bit each; this is the last part.
    holes: Bits<64>,
    /// Some byte is in none of its parts.
    holed: Bit,
    /// Bit `k`: the position of the first of these bytes is `k + 1` behind a multiple of 4.
    turn: Bits<3>,
}

/// Bits of a [`Note`].
const NOTE: usize = <Note as Synth>::BITS;
/// Bits of a count of beats with made bytes that wait: twice as many as a window has beats, so that a window that is
/// not closed never has all of them.
const MADE: usize = 12;
const MADE_COUNT: usize = MADE + 1;
/// Beats that can be at work at once.
const ROOM: u64 = 32;

/// The payload of a request that stands in its entry (inline).
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct InlineWrite {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Bytes of the payload, the first one lowest.
    pub data: Bits<512>,
}

/// A part of a beat of payload.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Payload {
    /// Bytes of the part, at their positions in the beat.
    pub data: Bits<512>,
    /// Bytes of the beat that this part brings, a bit each.
    pub mask: Bits<64>,
    /// The part is the last one of its beat.
    pub part_end: Bit,
    /// A byte of this part, or of an earlier one of the beat, could not be read.
    pub error: Bit,
    /// Number of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Bytes of the whole beat, 0 to 64.
    pub bytes: Bits<7>,
    /// The beat starts a message.
    pub message_start: Bit,
    /// The beat ends a message.
    pub message_end: Bit,
    /// With `message_start`: bytes of the message, if it can be longer than a packet; else 0.
    pub message_bytes: Bits<32>,
    /// The beat ends the request.
    pub request_end: Bit,
    /// The beat ends the destination.
    pub dest_end: Bit,
    /// The request's status; valid with `request_end`.
    pub status: Bits<8>,
    /// Index of the destination that failed; valid with a status other than 0.
    pub bad_dest: Bits<DEST_COUNT>,
}

/// Assembles the payload. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Gather {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// Words of 4 B of payload to read in a cycle, 1 to 16.
    pub words: Signal<In, Bits<5>>,

    // Beats.
    /// Beats: the place of each byte.
    pub bytes: Stream<In, ByteBeat>,

    // From the decoder.
    /// Payloads that stand in their requests.
    pub inline_write: Flow<In, InlineWrite>,

    // From the sequencer.
    /// Bytes of beats that lie nowhere in host memory, in the order of these beats, given before them.
    pub made: Stream<In, Made>,

    // From the reader.
    /// Windows whose data have arrived; always accepted.
    pub window_ready: Stream<In, WindowReady>,
    /// Reads that failed; always accepted.
    pub read_error: Stream<In, ReadError>,

    // To the segmented memory, a copy for each group.
    /// Rows to read, 10 bits for each bank, of each group's copy.
    pub read_row: [Signal<Out, Bits<320>>; 4],
    /// Banks to read, a bit each, of each group's copy.
    pub read_enable: [Signal<Out, Bits<32>>; 4],
    /// Words that were read, 32 bits for each bank, two cycles after they were asked for.
    pub read_data: [Signal<In, Bits<1024>>; 4],

    // To the placer.
    /// The space of the oldest window may be used again; windows are freed in order.
    pub window_free: Signal<Out, Bit>,

    // Payload.
    /// Parts of beats, in order.
    pub payload: Stream<Out, Payload>,

    // Counters: one cycle each.
    /// Payload was read in this cycle.
    pub count_busy: Signal<Out, Bit>,
    /// A byte waited for its bank in this cycle.
    pub count_conflict: Signal<Out, Bit>,
    /// A beat waited in this cycle, because its window's data have not arrived.
    pub count_empty: Signal<Out, Bit>,
    /// A beat found no room in this cycle, because the output was not taken.
    pub count_blocked: Signal<Out, Bit>,

    // Windows and failed reads.
    windows: DFF<Bits<WINDOW_COUNT>>,
    failures: Failures,
    arrived: Signal<Local, Bits<WINDOW_COUNT>>,
    finished: Signal<Local, Bits<WINDOW_COUNT>>,
    #[init(std::array::from_fn(|w| Constant::new((1_u16 << w).to_bits())))]
    window_bit: [Constant<Bits<WINDOW_COUNT>>; WINDOW_COUNT],

    // Stage p.
    p_valid: DFF<Bit>,
    p_mask: DFF<Bits<64>>,
    p_ram: DFF<Bits<1088>>,
    p_window: DFF<Bits<WINDOW_INDEX>>,
    p_window_end: DFF<Bit>,
    p_beat_end: DFF<Bit>,
    p_side: DFF<Side>,
    /// Words of the beat that are read in this cycle and later ones.
    p_words: DFF<Bits<5>>,
    carry: DFF<Bit>,
    /// Bytes that earlier parts of the beat have in the memory.
    seen: DFF<Bits<64>>,
    p_seen: Signal<Local, Bits<64>>,
    /// Bytes of the beat, if it ends.
    p_whole: Signal<Local, Bits<64>>,
    /// Bytes of the beat that are in none of its parts, and the first ones of those that stand side by side.
    p_holes: Signal<Local, Bits<64>>,
    p_starts: Signal<Local, Bits<64>>,
    p_turn: Pack<3, 1, 3>,
    /// Every fourth position from position 1, 2 or 3 on.
    #[init(std::array::from_fn(|k| Constant::new((0x2222_2222_2222_2222_u64 << k).to_bits())))]
    fourths: [Constant<Bits<64>>; 3],
    p_ready: Signal<Local, Bit>,
    p_clear: Signal<Local, Bit>,
    p_last: Signal<Local, Bit>,
    p_take: Signal<Local, Bit>,
    p_free: Signal<Local, Bit>,
    p_inline: Signal<Local, Bit>,
    quads: Signal<Local, Bits<16>>,
    ones: CountOnes<16, 5>,
    note: Signal<Local, Note>,
    note_bits: Flatten<Note, NOTE>,

    // Beats at work, numbered modulo 64.
    room: DFF<Bits<6>>,
    newest: DFF<Bits<6>>,
    oldest: DFF<Bits<6>>,
    following: DFF<Bits<6>>,
    leave: DFF<Bits<6>>,
    ends: DFF<Bits<32>>,
    notes: Lutram<NOTE, 5, 1>,
    groups: [Group; 4],
    done: Signal<Local, Bit>,
    window_done: Signal<Local, Bit>,
    freed: DFF<Bit>,
    /// `oldest` of earlier cycles: the bytes of all beats before the last of these have come.
    complete: [DFF<Bits<6>>; 4],

    // Payloads that stand in their requests, by slot.
    payloads: Ram<512, 1, 8>,
    out_inline: DFF<Bit>,
    /// Of each slot: its beats without a byte in the memory have made bytes.
    makes: Lutram<1, 8, 1>,
    /// The made bytes.
    #[init(Fifo::new(RamStyle::Block))]
    made_bytes: Fifo<32, MADE, MADE_COUNT>,
    is_made: Signal<Local, Bit>,
    /// The made bytes, each in the place that its position has among four.
    turned: Signal<Local, Bits<32>>,
    /// The payload with the made bytes.
    mended: Pack<64, 8, 512>,
    unused: Signal<Local, Bits<MADE_COUNT>>,
    #[init(Constant::new(u64::MAX.into()))]
    ones_64: Constant<Bits<64>>,

    // Output.
    data: Pack<4, 128, 512>,
    out_valid: DFF<Bit>,
    left: Restore<Note, NOTE>,
    out: DFF<Payload>,
    out_free: Signal<Local, Bit>,
    leaving: Signal<Local, Bit>,
}

impl Gather {
    /// Notes which windows are ready, and their failed reads, in any cycle.
    #[hdl_gen]
    fn note_windows(&mut self) {
        self.window_ready.ready.next = true;
        self.read_error.ready.next = true;
        self.p_ready.next =
            self.p_valid.q.val() && self.windows.q.val().get_bit(self.p_window.q.val().index());
        self.p_clear.next = self.p_ready.val() && self.failures.all.val();
        self.p_last.next = self.p_words.q.val() <= self.words.val();
        self.p_take.next = self.p_clear.val() && self.p_last.val() && self.room.q.val().any();
        self.arrived.next = 0.into();
        self.finished.next = 0.into();
        for w in 0..16 {
            if self.window_ready.valid.val() && (self.window_ready.window.val().index() == w) {
                self.arrived.next = self.window_bit[w].val();
            }
            if self.p_take.val()
                && self.p_window_end.q.val()
                && (self.p_window.q.val().index() == w)
            {
                self.finished.next = self.window_bit[w].val();
            }
        }
        self.windows.d.next = (self.windows.q.val() | self.arrived.val()) & !self.finished.val();
        self.failures.error.valid.next = self.read_error.valid.val();
        self.failures.error.next = self.read_error.val();
    }

    /// Stage p: a beat waits for its window. Failed reads are compared, one a cycle, while `words` words a cycle are
    /// read; the last words are read when the beat enters.
    #[hdl_gen]
    fn take_beat(&mut self) {
        self.failures.window.next = self.p_window.q.val();
        self.failures.valid.next = self.p_mask.q.val();
        self.failures.ram.next = self.p_ram.q.val();
        self.failures.step.next = self.p_ready.val();
        self.failures.forget.next = self.finished.val().any();
        self.p_free.next = !self.p_valid.q.val() || self.p_take.val();
        self.bytes.ready.next = self.p_free.val();
        self.failures.restart.next = self.p_free.val();
        self.quads.next = 0.into();
        for k in 0..16 {
            if self.bytes.mask.val().get_bits::<4>(k * 4).any() {
                self.quads.next = self.quads.val().replace_bit(k, true);
            }
        }
        self.ones.bits.next = self.quads.val();
        if self.p_free.val() {
            self.p_valid.d.next = self.bytes.valid.val();
        }
        if self.p_free.val() && self.bytes.valid.val() {
            self.p_mask.d.next = self.bytes.mask.val();
            self.p_ram.d.next = self.bytes.ram.val();
            self.p_window.d.next = self.bytes.window.val();
            self.p_window_end.d.next = self.bytes.window_end.val();
            self.p_beat_end.d.next = self.bytes.beat_end.val();
            self.bytes.share(&mut self.p_side.d);
            self.p_words.d.next = self.ones.count.val();
        } else if self.p_ready.val() && !self.p_last.val() {
            self.p_words.d.next = self.p_words.q.val() - self.words.val();
        }
    }

    /// The beat enters. What is known of it goes into `notes`; if a part has failed, the later parts of its beat say
    /// so, too.
    #[hdl_gen]
    fn note_beat(&mut self) {
        self.p_side.q.share(&mut self.note);
        self.note.next.mask = self.p_mask.q.val();
        self.note.next.part_end = self.p_beat_end.q.val();
        self.note.next.error = self.failures.failed.val() || self.carry.q.val();
        self.note.next.left_out = !self.p_mask.q.val().any()
            && (self.p_side.q.val().bytes == 0)
            && !self.p_side.q.val().message_end
            && !self.p_side.q.val().request_end
            && !self.p_side.q.val().dest_end;
        // A beat that has bytes, and none or not all of them in the memory.
        self.p_seen.next = self.seen.q.val() | self.p_mask.q.val();
        self.p_inline.next = !self.p_mask.q.val().any()
            && (self.p_side.q.val().bytes != 0)
            && self.p_beat_end.q.val();
        self.note.next.inline = self.p_inline.val();
        self.p_whole.next = 0.into();
        if self.p_beat_end.q.val() {
            self.p_whole.next = self.ones_64.val() >> (bits::<7>(64) - self.p_side.q.val().bytes);
        }
        self.p_holes.next = self.p_whole.val() & !self.p_seen.val();
        self.p_starts.next = self.p_holes.val() & !(self.p_holes.val() << 1);
        for k in 0..3 {
            self.p_turn.parts[k].next = (self.p_starts.val() & self.fourths[k].val()).any().into();
        }
        self.note.next.holes = self.p_holes.val();
        self.note.next.holed = self.p_holes.val().any();
        self.note.next.turn = self.p_turn.whole.val();
        if self.p_inline.val() {
            self.note.next.mask = self.p_whole.val();
        }
        self.notes.write_enable.next = self.p_take.val();
        self.notes.write_address.next = self.newest.q.val().get_bits::<5>(0);
        self.note_bits.record.next = self.note.val();
        self.notes.write_data.next = self.note_bits.bits.val();
        if self.p_take.val() {
            self.carry.d.next =
                !self.p_beat_end.q.val() && (self.carry.q.val() || self.failures.failed.val());
            self.seen.d.next = self.p_seen.val();
            if self.p_beat_end.q.val() {
                self.seen.d.next = 0.into();
            }
            self.newest.d.next = self.newest.q.val() + 1;
            self.ends.d.next = self.ends.q.val().replace_bit(
                self.newest.q.val().get_bits::<5>(0).index(),
                self.p_window_end.q.val(),
            );
        }
    }

    /// Gives the beat's addresses to the groups, which read the memory.
    #[hdl_gen]
    fn ask_groups(&mut self) {
        self.done.next = true;
        self.count_busy.next = false;
        self.count_conflict.next = false;
        for g in 0..4 {
            self.groups[g].write.next = self.p_take.val();
            self.groups[g].valid.next = self.p_mask.q.val().get_bits::<16>(g * 16);
            self.groups[g].ram.next = self.p_ram.q.val().get_bits::<272>(g * 272);
            self.groups[g].newest.next = self.newest.q.val();
            self.groups[g].oldest.next = self.oldest.q.val();
            self.groups[g].following.next = self.following.q.val();
            self.groups[g].read_data.next = self.read_data[g].val();
            self.groups[g].leave.next = self.leave.q.val().get_bits::<5>(0);
            self.read_row[g].next = self.groups[g].read_row.val();
            self.read_enable[g].next = self.groups[g].read_enable.val();
            self.data.parts[g].next = self.groups[g].data.val();
            if !self.groups[g].done.val() {
                self.done.next = false;
            }
            if self.groups[g].busy.val() {
                self.count_busy.next = true;
            }
            if self.groups[g].conflict.val() {
                self.count_conflict.next = true;
            }
        }
    }

    /// All bytes of the oldest beat were granted. The memory samples the last of their addresses in this cycle; in
    /// the 5th from now the bytes can be read.
    #[hdl_gen]
    fn complete_beat(&mut self) {
        self.window_done.next = false;
        if self.done.val() {
            self.oldest.d.next = self.following.q.val();
            self.following.d.next = self.following.q.val() + 1;
            self.window_done.next =
                self.ends.q.val().get_bit(self.oldest.q.val().get_bits::<5>(0).index());
        }
        self.freed.d.next = self.window_done.val();
        self.window_free.next = self.freed.q.val();
        self.complete[0].d.next = self.oldest.q.val();
        for k in 1..4 {
            self.complete[k].d.next = self.complete[k - 1].q.val();
        }
    }

    /// Puts the made bytes where the beat has none of the memory.
    #[hdl_gen]
    fn mend_beat(&mut self) {
        self.turned.next = self.made_bytes.out_data.val();
        if self.left.record.val().turn.get_bit(0) {
            self.turned.next =
                (self.made_bytes.out_data.val() << 8) | (self.made_bytes.out_data.val() >> 24);
        }
        if self.left.record.val().turn.get_bit(1) {
            self.turned.next =
                (self.made_bytes.out_data.val() << 16) | (self.made_bytes.out_data.val() >> 16);
        }
        if self.left.record.val().turn.get_bit(2) {
            self.turned.next =
                (self.made_bytes.out_data.val() << 24) | (self.made_bytes.out_data.val() >> 8);
        }
        for k in 0..16 {
            for j in 0..4 {
                self.mended.parts[k * 4 + j].next =
                    self.data.whole.val().get_bits::<8>(k * 32 + j * 8);
                if self.left.record.val().holes.get_bit(k * 4 + j) {
                    self.mended.parts[k * 4 + j].next = self.turned.val().get_bits::<8>(j * 8);
                }
            }
        }
    }

    /// The output. A beat that only ended its window is left out.
    #[hdl_gen]
    fn give_beat(&mut self) {
        self.out_free.next = !self.out_valid.q.val() || self.payload.ready.val();
        self.leaving.next = self.out_free.val() && (self.leave.q.val() != self.complete[3].q.val());
        self.notes.read_address[0].next = self.leave.q.val().get_bits::<5>(0);
        self.left.bits.next = self.notes.read_data[0].val();
        self.mend_beat();
        if self.out_free.val() {
            self.out_valid.d.next = false;
        }
        self.makes.read_address[0].next = self.left.record.val().slot;
        self.is_made.next =
            self.left.record.val().holed && self.makes.read_data[0].val().get_bit(0);
        self.made_bytes.out_ready.next = self.leaving.val() && self.is_made.val();
        if self.leaving.val() {
            self.leave.d.next = self.leave.q.val() + 1;
            self.out_valid.d.next = !self.left.record.val().left_out;
            self.left.record.share(&mut self.out.d);
            self.out.d.next.data = self.data.whole.val();
            self.out_inline.d.next = self.left.record.val().inline && !self.is_made.val();
            if self.is_made.val() {
                self.out.d.next.mask = self.left.record.val().mask | self.left.record.val().holes;
                self.out.d.next.data = self.mended.whole.val();
            }
        }
        if self.p_take.val() && !self.leaving.val() {
            self.room.d.next = self.room.q.val() - 1;
        }
        if !self.p_take.val() && self.leaving.val() {
            self.room.d.next = self.room.q.val() + 1;
        }
        self.payload.valid.next = self.out_valid.q.val();
        self.payload.next = self.out.q.val();
    }

    /// The memory has read an inline payload while the rest went into the output register.
    #[hdl_gen]
    fn give_inline(&mut self) {
        self.payloads.write_lanes.next = bit_cast::<1, 1>(self.inline_write.valid.val().into());
        self.payloads.write_address.next = self.inline_write.slot.val();
        self.payloads.write_data.next = self.inline_write.data.val();
        self.payloads.read_enable.next = self.leaving.val();
        self.payloads.read_address.next = self.left.record.val().slot;
        if self.out_inline.q.val() {
            self.payload.next.data = self.payloads.read_data.val();
        }
    }

    /// Keeps made bytes. The last write of a request decides whether it has an inline payload or made bytes.
    #[hdl_gen]
    fn keep_made(&mut self) {
        self.makes.write_enable.next = self.inline_write.valid.val() || self.made.valid.val();
        self.makes.write_address.next = self.made.slot.val();
        self.makes.write_data.next = 1.into();
        if self.inline_write.valid.val() {
            self.makes.write_address.next = self.inline_write.slot.val();
            self.makes.write_data.next = 0.into();
        }
        self.made_bytes.in_valid.next = self.made.valid.val() && !self.inline_write.valid.val();
        self.made_bytes.in_data.next = self.made.data.val();
        self.made.ready.next = self.made_bytes.in_ready.val() && !self.inline_write.valid.val();
        self.unused.next = self.made_bytes.count.val() | self.made_bytes.free.val();

        self.count_empty.next = self.p_valid.q.val() && !self.p_ready.val();
        self.count_blocked.next =
            self.p_clear.val() && !self.room.q.val().any() && !self.out_free.val();
    }
}

impl Logic for Gather {
    #[hdl_gen]
    fn update(&mut self) {
        self.note_windows();
        self.take_beat();
        self.note_beat();
        self.ask_groups();
        self.complete_beat();
        self.give_beat();
        self.give_inline();
        self.keep_made();

        if self.rst.val() {
            self.windows.d.next = 0.into();
            self.p_valid.d.next = false;
            self.carry.d.next = false;
            self.seen.d.next = 0.into();
            self.room.d.next = ROOM.into();
            self.newest.d.next = 0.into();
            self.oldest.d.next = 0.into();
            self.following.d.next = 1.into();
            self.leave.d.next = 0.into();
            self.out_valid.d.next = false;
            self.freed.d.next = false;
            for k in 0..4 {
                self.complete[k].d.next = 0.into();
            }
        }
    }
}
