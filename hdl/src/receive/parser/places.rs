//! Which words of the frame store are in use: a ring from the oldest frame's first word to the next free one.
//!
//! Frames are written one behind the other before it is known whether they are right. A frame that is not leaves a hole, because
//! the next one may be behind it already. Frames and holes are kept in their order: a hole's words come
//! back when all frames before it are freed, a frame's when the writer has freed it.
//!
//! Contract: a word a cycle; what a frame or a hole gives back can be used again 2 cycles later at the earliest. `roomy` may be 2
//! cycles old: it says so with [`SLACK`] words to spare.

use drdma_emit::prelude::*;

use crate::primitive::StreamFifo;
use crate::receive::record::{FRAME_WORDS, STORE_WORD};

/// Words of a frame in the store, at most: those of the longest payload behind the longest headers.
pub const LONGEST_FRAME: u64 = 66;
/// Words that may be written while `roomy` does not know of them.
const SLACK: u64 = 6;
/// Words in use with which there is no room for another frame.
const FULL: u64 = (1 << STORE_WORD) - LONGEST_FRAME - SLACK;

/// A frame in the store whose end has come.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Settled {
    /// It is a packet's, which will be freed. If not, it is a hole.
    pub right: Bit,
    /// Its words, at least 1.
    pub words: Bits<FRAME_WORDS>,
}

/// The block. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Places {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset: the store is empty.
    pub rst: Signal<In, Bit>,
    /// The word at `free` is written.
    pub taken: Signal<In, Bit>,
    /// The next free word.
    pub free: Signal<Out, Bits<STORE_WORD>>,
    /// There is room for a frame that begins.
    pub roomy: Signal<Out, Bit>,
    /// Frames, in the order of their words.
    pub settled: Flow<In, Settled>,
    /// The oldest frame that is right has been used up.
    pub freed_valid: Signal<In, Bit>,

    frames: StreamFifo<Settled, STORE_WORD, FRAMES>,
    next: DFF<Bits<STORE_WORD>>,
    oldest: DFF<Bits<STORE_WORD>>,
    used: Signal<Local, Bits<STORE_WORD>>,
    /// Frames that were freed and are still in the ring.
    owed: DFF<Bits<FRAMES>>,
    leaves: Signal<Local, Bit>,
    room: DFF<Bit>,
}

/// Bits of a number of frames.
const FRAMES: usize = STORE_WORD + 1;

impl Logic for Places {
    #[hdl_gen]
    fn update(&mut self) {
        self.free.next = self.next.q.val();
        if self.taken.val() {
            self.next.d.next = self.next.q.val() + 1;
        }
        // There is room for as many frames as words.
        self.frames.input.valid.next = self.settled.valid.val();
        self.frames.input.data.next = self.settled.val();

        self.leaves.next = self.frames.output.valid.val()
            && (!self.frames.output.data.val().right || self.owed.q.val().any());
        self.frames.output.ready.next = self.leaves.val();
        if self.leaves.val() {
            self.oldest.d.next = self.oldest.q.val()
                + bit_cast::<STORE_WORD, FRAME_WORDS>(self.frames.output.data.val().words);
        }
        if self.freed_valid.val() && !(self.leaves.val() && self.frames.output.data.val().right) {
            self.owed.d.next = self.owed.q.val() + 1;
        }
        if !self.freed_valid.val() && self.leaves.val() && self.frames.output.data.val().right {
            self.owed.d.next = self.owed.q.val() - 1;
        }

        // The ring is never full, so that none are in use if its ends meet.
        self.used.next = self.next.q.val() - self.oldest.q.val();
        self.room.d.next = self.used.val() < FULL;
        self.roomy.next = self.room.q.val();

        if self.rst.val() {
            self.next.d.next = 0.into();
            self.oldest.d.next = 0.into();
            self.owed.d.next = 0.into();
            self.room.d.next = false;
        }
    }
}
