//! Copies keys and records to the segmented memory.

use super::{ANY_LINE, Copy, LINE, PLACE};
use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::Turn;
use drdma_emit::prelude::*;

/// Reads the lines of a copy one by one, moves their bytes to where they lie in the segmented memory, and writes them.
///
/// The bytes of a line that is copied lie in one or two neighbouring lines of the memory, which are in different
/// segments: so all of them may be written in one cycle. A line a cycle while the segments are free; a copy's first
/// write is offered 4 cycles after it was taken, and copies follow each other without a gap. May stall at any time.
#[derive(LogicBlock, BlockDefault)]
pub struct Copier {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// Copies to make.
    pub copy: Channel<In, Copy>,
    /// A copy is written.
    pub done: Signal<Out, Bit>,
    /// A window is complete.
    pub ended_valid: Signal<Out, Bit>,
    /// The complete window is taken in this cycle.
    pub ended_ready: Signal<In, Bit>,
    /// The window that is complete.
    pub ended_window: Signal<Out, Bits<WINDOW_INDEX>>,

    /// A line is read.
    pub line_enable: Signal<Out, Bit>,
    /// The line that is read.
    pub line: Signal<Out, Bits<ANY_LINE>>,
    /// The line that was read last.
    pub line_data: Signal<In, Bits<512>>,

    /// A write of each segment is offered.
    pub write_valid: Signal<Out, Bits<2>>,
    /// Byte enables of the two segments (2 x 64 bits).
    pub write_be: Signal<Out, Bits<128>>,
    /// Row of each segment's write (2 x 10 bits).
    pub write_row: Signal<Out, Bits<20>>,
    /// Data of both segments.
    pub write_data: Signal<Out, Bits<512>>,
    /// The write of each segment is done at the end of this cycle.
    pub written: Signal<In, Bits<2>>,

    // The copy at work: its present line, where that lies in the memory, and which of its bytes are copied.
    work: Signal<Local, Copy>,
    busy: DFF<Bit>,
    /// Ring of the line, or half of the store of records.
    ring: DFF<Bits<2>>,
    number: DFF<Bits<LINE>>,
    left: DFF<Bits<7>>,
    target: DFF<Bits<11>>,
    turn: DFF<Bits<6>>,
    from: DFF<Bits<6>>,
    tail: DFF<Bits<7>>,
    window: DFF<Bits<WINDOW_INDEX>>,
    ends_window: DFF<Bit>,
    load: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,
    shift: Signal<Local, Bits<17>>,
    length: Signal<Local, Bits<13>>,
    stop: Signal<Local, Bits<7>>,
    unused: Signal<Local, Bit>,

    // The line is read.
    read_valid: DFF<Bit>,
    read_target: DFF<Bits<11>>,
    read_turn: DFF<Bits<6>>,
    read_from: DFF<Bits<7>>,
    read_until: DFF<Bits<8>>,
    read_last: DFF<Bit>,
    read_window: DFF<Bits<WINDOW_INDEX>>,
    read_ends: DFF<Bit>,

    // The line is moved by multiples of 4 bytes.
    #[init(Turn::new(16))]
    by_sixteens: Turn<512>,
    #[init(Turn::new(4))]
    by_fours: Turn<512>,
    #[init(Turn::new(1))]
    by_ones: Turn<512>,
    ones: Signal<Local, Bits<128>>,
    moved_valid: DFF<Bit>,
    moved_data: DFF<Bits<512>>,
    moved_rest: DFF<Bits<2>>,
    /// Bytes of the two lines of the memory, from the lower one on.
    moved_mask: DFF<Bits<128>>,
    moved_target: DFF<Bits<11>>,
    moved_last: DFF<Bit>,
    moved_window: DFF<Bits<WINDOW_INDEX>>,
    moved_ends: DFF<Bit>,

    // The line is written.
    advance: Signal<Local, Bit>,
    rest: Signal<Local, Bits<2>>,
    valid: DFF<Bit>,
    pending: DFF<Bits<2>>,
    data: DFF<Bits<512>>,
    mask: DFF<Bits<128>>,
    row: DFF<Bits<20>>,
    upper: Signal<Local, Bits<11>>,
    last: DFF<Bit>,
    last_window: DFF<Bits<WINDOW_INDEX>>,
    last_ends: DFF<Bit>,
    ended: DFF<Bit>,
    ended_number: DFF<Bits<WINDOW_INDEX>>,
}

impl Copier {
    /// The copy is cut into lines.
    #[hdl_gen]
    fn issue(&mut self) {
        self.work.next = self.copy.data.val();
        self.is_last.next = !self.left.q.val().any();
        self.load.next = !self.busy.q.val() || (self.advance.val() && self.is_last.val());
        self.copy.ready.next = self.load.val();
        self.shift.next =
            self.work.val().ram - bit_cast::<17, 6>(self.work.val().place.get_bits::<6>(0));
        // Distance of the last byte from the start of the first line; without bytes the first line has none.
        self.length.next =
            bit_cast::<13, 6>(self.work.val().place.get_bits::<6>(0)) + self.work.val().len - 1;
        if !self.work.val().len.any() {
            self.length.next = 0.into();
        }
        if self.advance.val() {
            self.number.d.next = self.number.q.val() + 1;
            self.target.d.next = self.target.q.val() + 1;
            self.from.d.next = 0.into();
            self.left.d.next = self.left.q.val() - 1;
        }
        if self.load.val() {
            self.busy.d.next = self.copy.valid.val();
            self.ring.d.next = self.work.val().place.get_bits::<2>(PLACE);
            self.number.d.next = self.work.val().place.get_bits::<LINE>(6);
            self.left.d.next = self.length.val().get_bits::<7>(6);
            self.target.d.next = self.shift.val().get_bits::<11>(6);
            self.turn.d.next = self.shift.val().get_bits::<6>(0);
            self.from.d.next = self.work.val().place.get_bits::<6>(0);
            self.tail.d.next = bit_cast::<7, 6>(self.length.val().get_bits::<6>(0)) + 1;
            if !self.work.val().len.any() {
                self.tail.d.next = 0.into();
            }
            self.window.d.next = self.work.val().window;
            self.ends_window.d.next = self.work.val().window_end;
        }
        self.line_enable.next = self.advance.val();
        self.line.next = bit_cast::<ANY_LINE, LINE>(self.number.q.val())
            | (bit_cast::<ANY_LINE, 2>(self.ring.q.val()) << LINE as u64);
        self.stop.next = 64.into();
        if self.is_last.val() {
            self.stop.next = self.tail.q.val();
        }
        if self.advance.val() {
            self.read_valid.d.next = self.busy.q.val();
            self.read_target.d.next = self.target.q.val();
            self.read_turn.d.next = self.turn.q.val();
            self.read_from.d.next =
                bit_cast::<7, 6>(self.from.q.val()) + bit_cast::<7, 6>(self.turn.q.val());
            self.read_until.d.next =
                bit_cast::<8, 7>(self.stop.val()) + bit_cast::<8, 6>(self.turn.q.val());
            self.read_last.d.next = self.is_last.val();
            self.read_window.d.next = self.window.q.val();
            self.read_ends.d.next = self.ends_window.q.val();
        }
    }

    /// Bytes of the line go where they lie in the memory.
    #[hdl_gen]
    fn move_bytes(&mut self) {
        self.by_sixteens.data.next = self.line_data.val();
        self.by_sixteens.count.next = self.read_turn.q.val().get_bits::<2>(4);
        self.by_fours.data.next = self.by_sixteens.result.val();
        self.by_fours.count.next = self.read_turn.q.val().get_bits::<2>(2);
        self.ones.next = !bits::<128>(0);
        if self.advance.val() {
            self.moved_valid.d.next = self.read_valid.q.val();
            self.moved_data.d.next = self.by_fours.result.val();
            self.moved_rest.d.next = self.read_turn.q.val().get_bits::<2>(0);
            self.moved_mask.d.next = (self.ones.val() << bit_cast::<64, 7>(self.read_from.q.val()))
                & !(self.ones.val() << bit_cast::<64, 8>(self.read_until.q.val()));
            self.moved_target.d.next = self.read_target.q.val();
            self.moved_last.d.next = self.read_last.q.val();
            self.moved_window.d.next = self.read_window.q.val();
            self.moved_ends.d.next = self.read_ends.q.val();
        }
        self.by_ones.data.next = self.moved_data.q.val();
        self.by_ones.count.next = self.moved_rest.q.val();
    }

    /// The lower line of the memory lies in either segment, the upper one in the other.
    #[hdl_gen]
    fn write(&mut self) {
        self.upper.next = self.moved_target.q.val() + 1;
        self.unused.next = self.upper.val().get_bit(0);
        self.write_valid.next = self.pending.q.val();
        self.write_be.next = self.mask.q.val();
        self.write_row.next = self.row.q.val();
        self.write_data.next = self.data.q.val();
        self.rest.next = self.pending.q.val() & !self.written.val();
        self.advance.next = !self.rest.val().any()
            && !(self.valid.q.val()
                && self.last.q.val()
                && self.last_ends.q.val()
                && self.ended.q.val());
        self.done.next = self.advance.val() && self.valid.q.val() && self.last.q.val();
        self.pending.d.next = self.rest.val();
        if self.advance.val() {
            self.valid.d.next = self.moved_valid.q.val();
            self.data.d.next = self.by_ones.result.val();
            self.row.d.next = bit_cast::<20, 10>(self.moved_target.q.val().get_bits::<10>(1))
                | (bit_cast::<20, 10>(self.moved_target.q.val().get_bits::<10>(1)) << 10);
            self.mask.d.next = self.moved_mask.q.val();
            if self.moved_target.q.val().get_bit(0) {
                self.row.d.next = bit_cast::<20, 10>(self.upper.val().get_bits::<10>(1))
                    | (bit_cast::<20, 10>(self.moved_target.q.val().get_bits::<10>(1)) << 10);
                self.mask.d.next =
                    (self.moved_mask.q.val() << 64) | (self.moved_mask.q.val() >> 64);
            }
            self.pending.d.next = 0.into();
            if self.moved_valid.q.val() {
                self.pending.d.next =
                    bit_cast::<2, 1>(self.mask.d.val().get_bits::<64>(0).any().into())
                        | (bit_cast::<2, 1>(self.mask.d.val().get_bits::<64>(64).any().into())
                            << 1);
            }
            self.last.d.next = self.moved_last.q.val();
            self.last_window.d.next = self.moved_window.q.val();
            self.last_ends.d.next = self.moved_ends.q.val();
        }
        self.ended_valid.next = self.ended.q.val();
        self.ended_window.next = self.ended_number.q.val();
        if self.ended_ready.val() {
            self.ended.d.next = false;
        }
        if self.done.val() && self.last_ends.q.val() {
            self.ended.d.next = true;
            self.ended_number.d.next = self.last_window.q.val();
        }
    }
}

impl Logic for Copier {
    #[hdl_gen]
    fn update(&mut self) {
        self.write();
        self.issue();
        self.move_bytes();
        if self.rst.val() {
            self.busy.d.next = false;
            self.read_valid.d.next = false;
            self.moved_valid.d.next = false;
            self.valid.d.next = false;
            self.pending.d.next = 0.into();
            self.ended.d.next = false;
        }
    }
}
