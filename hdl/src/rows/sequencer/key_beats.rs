//! Hands on keys that were read, for those who keep them.

use super::record::Origin;
use crate::layout::kept::KeyBeat;
use drdma_emit::prelude::*;

/// Makes a [`KeyBeat`] of each beat of an answer that is kept, a cycle later.
///
/// A beat a cycle, without back-pressure.
#[derive(LogicBlock, Default)]
pub struct KeyBeats {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat of 64 bytes of an answer is taken.
    pub taken: Signal<In, Bit>,
    /// Bytes of the beat.
    pub data: Signal<In, Bits<512>>,
    /// The beat is the last one of its read.
    pub last: Signal<In, Bit>,
    /// The read failed.
    pub error: Signal<In, Bit>,
    /// Origin of the read.
    pub origin: Signal<In, Origin>,
    /// Keys that are kept.
    pub beat: Flow<Out, KeyBeat>,

    /// The last beat that was taken was not the last one of its read.
    inside: DFF<Bit>,
    valid: DFF<Bit>,
    held: DFF<KeyBeat>,
}

impl Logic for KeyBeats {
    #[hdl_gen]
    fn update(&mut self) {
        if self.taken.val() {
            self.inside.d.next = !self.last.val();
        }
        self.valid.d.next = self.taken.val() && self.origin.val().kept;
        self.held.d.next.data = self.data.val();
        self.held.d.next.first = !self.inside.q.val();
        self.held.d.next.addr = self.origin.val().addr;
        self.held.d.next.bytes = 64.into();
        if self.last.val() && self.origin.val().tail.any() {
            self.held.d.next.bytes = bit_cast::<7, 6>(self.origin.val().tail);
        }
        self.held.d.next.key = self.origin.val().key;
        self.held.d.next.slot = self.origin.val().slot;
        self.held.d.next.error = self.error.val();
        self.beat.valid.next = self.valid.q.val();
        self.beat.next = self.held.q.val();
        if self.rst.val() {
            self.inside.d.next = false;
            self.valid.d.next = false;
        }
    }
}
