//! Keeps account of the words of the frame store: a ring from the oldest frame's first word to the next free one.
//!
//! Frames are written one behind the other before it is known whether they are right. A frame that is not leaves a
//! hole, because the next one may be behind it already. Frames and holes are kept in their order: the words of a hole
//! are free again when all frames before it are freed, those of a frame when the writer has freed it.
//!
//! Contract: a word a cycle; words that a frame or a hole gives back can be used again 2 cycles later at the earliest.
//! `roomy` may be 2 cycles old; that is why it allows for [`SLACK`] words.

use drdma_emit::prelude::*;

use crate::primitive::StreamFifo;
use crate::receive::record::{FRAME_WORDS, STORE_WORD};

/// Words of a frame in the store, at most: those of the longest payload behind the longest headers.
pub const LONGEST_FRAME: u64 = 66;
/// Words that may be written after `roomy` has ended.
const SLACK: u64 = 6;
/// Words in use from which on there is no room for another frame.
const FULL: u64 = (1 << STORE_WORD) - LONGEST_FRAME - SLACK;

/// A frame in the store whose last word was written.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Settled {
    /// The frame is a packet's, and will be freed. Otherwise it is a hole.
    pub right: Bit,
    /// Words of the frame in the store, at least 1.
    pub words: Bits<FRAME_WORDS>,
}

/// Keeps account of the store's words. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Places {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset: the store is empty.
    pub rst: Signal<In, Bit>,
    /// The word `free` is written.
    pub taken: Signal<In, Bit>,
    /// Number of the next free word.
    pub free: Signal<Out, Bits<STORE_WORD>>,
    /// There is room for a frame that begins.
    pub roomy: Signal<Out, Bit>,
    /// Frames whose end has come, in the order of their words.
    pub settled: Flow<In, Settled>,
    /// The oldest right frame is not needed any more.
    pub freed_valid: Signal<In, Bit>,

    frames: StreamFifo<Settled, STORE_WORD, FRAMES>,
    next: DFF<Bits<STORE_WORD>>,
    oldest: DFF<Bits<STORE_WORD>>,
    used: Signal<Local, Bits<STORE_WORD>>,
    /// Frames that were freed while older words were still in the ring.
    owed: DFF<Bits<FRAMES>>,
    leaves: Signal<Local, Bit>,
    room: DFF<Bit>,
}

/// Bits of a count of frames.
const FRAMES: usize = STORE_WORD + 1;

impl Logic for Places {
    #[hdl_gen]
    fn update(&mut self) {
        self.free.next = self.next.q.val();
        if self.taken.val() {
            self.next.d.next = self.next.q.val() + 1;
        }
        // There are as many places for frames as there are words.
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

        // The ring is never full: if its ends meet, no word is in use.
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
