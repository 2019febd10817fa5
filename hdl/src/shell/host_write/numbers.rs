//! Numbers the writes in flight.

use super::{IN_FLIGHT, NUMBER};
use crate::primitive::Lutram;
use crate::receive::record::{COLUMN_ROWS, FRAME_WORDS};
use drdma_emit::prelude::*;

/// Bits of the count of writes in flight, 0 to 64.
const COUNT: usize = NUMBER + 1;

/// Numbers the writes in flight for [`HostWrite`](super::HostWrite), and gives frames and rows of the memory of columns
/// back: in order, each when the engine has read its last bytes and all before them.
///
/// One write a cycle gets a number, and one a cycle loses it, at the earliest 2 cycles later. A number is free again
/// only when all older ones are, so that numbers are used cyclically. `freed` follows the last status after 2 cycles.
///
/// # Inputs
/// `taken`: a write gets `number`; only if `room`. `at_once`: the write reads nothing, so that no status will come.
/// `frame_end`, `words`: with the write, the bytes of a frame of `words` words are used up; `rows`: so are rows of the
/// memory of columns. `status_*`: a write was read. `forget`: frames and rows whose writes have a number by the end of
/// this cycle are not given back.
///
/// # Outputs
/// `room`, `number`, `busy` (a number is in use), `freed_*`.
#[derive(LogicBlock, BlockDefault)]
pub struct Numbers {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A write takes the number `number`; only with `room`.
    pub taken: Signal<In, Bit>,
    /// With `taken`: the write reads nothing.
    pub at_once: Signal<In, Bit>,
    /// With `taken`: a frame is used up with the write.
    pub frame_end: Signal<In, Bit>,
    /// With `frame_end`: words of that frame in the store.
    pub words: Signal<In, Bits<FRAME_WORDS>>,
    /// A number is free.
    pub room: Signal<Out, Bit>,
    /// With `room`: the number that is free.
    pub number: Signal<Out, Bits<NUMBER>>,
    /// With `taken`: number of rows of the memory of columns that are used up.
    pub rows: Signal<In, Bits<COLUMN_ROWS>>,
    /// The engine has read all bytes of a write.
    pub status_valid: Signal<In, Bit>,
    /// With `status_valid`: number of that write.
    pub status_number: Signal<In, Bits<NUMBER>>,
    /// Frames and rows of the writes in flight are not given back.
    pub forget: Signal<In, Bit>,
    /// A frame is given back.
    pub freed_valid: Signal<Out, Bit>,
    /// With `freed_valid`: words of that frame in the store.
    pub freed_words: Signal<Out, Bits<FRAME_WORDS>>,
    /// Number of rows of the memory of columns that are given back.
    pub freed_rows: Signal<Out, Bits<COLUMN_ROWS>>,
    /// A number is in use: writes are in flight.
    pub busy: Signal<Out, Bit>,

    // Numbers from `head` to `tail` are in use; bit `n` of `read`: write `n` was read.
    tail: DFF<Bits<COUNT>>,
    head: DFF<Bits<COUNT>>,
    read: DFF<Bits<IN_FLIGHT>>,
    /// Number of writes from `head` on whose frames are not given back.
    forgotten: DFF<Bits<COUNT>>,
    freed: DFF<Bit>,
    freed_count: DFF<Bits<FRAME_WORDS>>,
    freed_row_count: DFF<Bits<COLUMN_ROWS>>,
    frames: Lutram<KEPT, NUMBER, 1>,
    begun: Signal<Local, Bits<IN_FLIGHT>>,
    ended: Signal<Local, Bits<IN_FLIGHT>>,
    leaves: Signal<Local, Bit>,
    #[init(Constant::new(1.into()))]
    one: Constant<Bits<IN_FLIGHT>>,
}

/// Bits that are kept of a write: words of its frame and whether it ends, and rows.
const KEPT: usize = 8 + COLUMN_ROWS;
const _: () = assert!(FRAME_WORDS == 7, "a frame's words and its end are 8 bits");

impl Logic for Numbers {
    #[hdl_gen]
    fn update(&mut self) {
        self.number.next = self.tail.q.val().get_bits::<NUMBER>(0);
        self.busy.next = self.head.q.val() != self.tail.q.val();
        self.room.next =
            (self.number.val() != self.head.q.val().get_bits::<NUMBER>(0)) || !self.busy.val();
        self.frames.write_enable.next = self.taken.val();
        self.frames.write_address.next = self.number.val();
        self.frames.write_data.next = bit_cast::<KEPT, FRAME_WORDS>(self.words.val())
            | (bit_cast::<KEPT, 1>(self.frame_end.val().into()) << 7)
            | (bit_cast::<KEPT, COLUMN_ROWS>(self.rows.val()) << 8);
        self.begun.next = 0.into();
        if self.taken.val() {
            self.tail.d.next = self.tail.q.val() + 1;
            self.begun.next = self.one.val() << self.number.val();
        }

        self.ended.next = 0.into();
        if self.status_valid.val() {
            self.ended.next = self.one.val() << self.status_number.val();
        }
        self.read.d.next = (self.read.q.val() & !self.begun.val()) | self.ended.val();
        if self.at_once.val() {
            self.read.d.next = self.read.q.val() | self.begun.val() | self.ended.val();
        }

        // The oldest number is free again, and its frame with it.
        self.leaves.next = self.busy.val()
            && self.read.q.val().get_bit(self.head.q.val().get_bits::<NUMBER>(0).index());
        self.frames.read_address[0].next = self.head.q.val().get_bits::<NUMBER>(0);
        self.freed.d.next = self.leaves.val()
            && self.frames.read_data[0].val().get_bit(7)
            && !self.forgotten.q.val().any()
            && !self.forget.val();
        self.freed_count.d.next = self.frames.read_data[0].val().get_bits::<FRAME_WORDS>(0);
        self.freed_valid.next = self.freed.q.val();
        self.freed_words.next = self.freed_count.q.val();
        self.freed_row_count.d.next = 0.into();
        if self.leaves.val() && !self.forgotten.q.val().any() && !self.forget.val() {
            self.freed_row_count.d.next = self.frames.read_data[0].val().get_bits::<COLUMN_ROWS>(8);
        }
        self.freed_rows.next = self.freed_row_count.q.val();
        if self.leaves.val() {
            self.head.d.next = self.head.q.val() + 1;
            if self.forgotten.q.val().any() {
                self.forgotten.d.next = self.forgotten.q.val() - 1;
            }
        }
        if self.forget.val() {
            self.forgotten.d.next = self.tail.d.val() - self.head.d.val();
        }

        if self.rst.val() {
            self.tail.d.next = 0.into();
            self.head.d.next = 0.into();
            self.forgotten.d.next = 0.into();
            self.freed.d.next = false;
            self.freed_row_count.d.next = 0.into();
        }
    }
}
