//! The translation of one lane: from a block of host memory to its place in the segmented memory.

use super::SLOT;
use crate::primitive::{BitRange, Lutram};
use drdma_emit::prelude::*;

/// Bits of an entry and a place, as they are kept.
const KEPT: usize = 8 + 13;

/// Holds the entry and the place of the block that the lane works on, and collects which of its words are needed. When
/// another block is loaded, the lane goes back to a block, or the window closes, the collected words wait until they
/// are taken. Words of two entries can wait. Entry and place of the last block of each slot are kept.
///
/// Combinational from `place`, `slot` and `offset` to `ram`; one piece a cycle. Must not be loaded, sent back or closed
/// while `full`.
#[derive(LogicBlock, Default)]
pub struct Lane {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// `load`, `back`, `piece` and `close` are valid.
    pub step: Signal<In, Bit>,
    /// Slot of the block that is loaded, or of the piece's block.
    pub slot: Signal<In, Bits<SLOT>>,
    /// The lane goes back to the block of the slot, with a piece.
    pub back: Signal<In, Bit>,
    /// Another block is loaded.
    pub load: Signal<In, Bit>,
    /// With `load`: entry of the block, under the parity of its window.
    pub entry: Signal<In, Bits<8>>,
    /// With `load`: place of the block, in words of the window.
    pub place: Signal<In, Bits<13>>,
    /// A piece of the lane's block (of the one that is being loaded, if any) passes.
    pub piece: Signal<In, Bit>,
    /// Offset of the piece in its block, in bytes.
    pub offset: Signal<In, Bits<8>>,
    /// Bytes of the piece.
    pub len: Signal<In, Bits<7>>,
    /// The window ends.
    pub close: Signal<In, Bit>,
    /// Address of the piece in the window, in bytes.
    pub ram: Signal<Out, Bits<15>>,
    /// Needed words wait to be taken.
    pub waiting: Signal<Out, Bit>,
    /// Entry that the waiting words belong to.
    pub waiting_entry: Signal<Out, Bits<8>>,
    /// Needed words of the entry that waited in the cycle before, one bit each.
    pub waited_words: Signal<Out, Bits<64>>,
    /// The words that wait are taken at the end of this cycle; ignored if none wait.
    pub taken: Signal<In, Bit>,
    /// Words of two entries wait.
    pub full: Signal<Out, Bit>,
    active: DFF<Bit>,
    current_entry: DFF<Bits<8>>,
    kept: Lutram<KEPT, SLOT, 1>,
    changes: Signal<Local, Bit>,
    words: DFF<Bits<64>>,
    held: DFF<Bit>,
    held_entry: DFF<Bits<8>>,
    held_words: DFF<Bits<64>>,
    behind: DFF<Bit>,
    behind_entry: DFF<Bits<8>>,
    behind_words: DFF<Bits<64>>,
    /// The collected words are to wait.
    leaves: Signal<Local, Bit>,
    waited: DFF<Bits<64>>,
    range: BitRange<64, 6>,
    start: Signal<Local, Bits<13>>,
    old: Signal<Local, Bits<64>>,
    fresh: Signal<Local, Bits<64>>,
}

impl Logic for Lane {
    #[hdl_gen]
    fn update(&mut self) {
        self.kept.read_address[0].next = self.slot.val();
        self.kept.write_address.next = self.slot.val();
        self.kept.write_data.next =
            (bit_cast::<KEPT, 8>(self.entry.val()) << 13) | bit_cast::<KEPT, 13>(self.place.val());
        self.kept.write_enable.next = self.step.val() && self.load.val();
        self.changes.next = self.load.val() || self.back.val();
        self.start.next = self.kept.read_data[0].val().get_bits::<13>(0);
        self.old.next = self.words.q.val();
        if self.load.val() {
            self.start.next = self.place.val();
        }
        if self.changes.val() {
            self.old.next = 0.into();
        }
        self.ram.next =
            (bit_cast::<15, 13>(self.start.val()) << 2) + bit_cast::<15, 8>(self.offset.val());

        self.range.from.next = self.offset.val().get_bits::<6>(2);
        self.range.to.next =
            ((self.offset.val() + bit_cast::<8, 7>(self.len.val())) - 1).get_bits::<6>(2);
        self.fresh.next = 0.into();
        if self.piece.val() {
            self.fresh.next = self.range.mask.val();
        }

        self.leaves.next = self.step.val()
            && (self.changes.val() || self.close.val())
            && self.active.q.val()
            && self.words.q.val().any();
        if self.step.val() {
            self.words.d.next = self.old.val() | self.fresh.val();
            if self.load.val() {
                self.active.d.next = true;
                self.current_entry.d.next = self.entry.val();
            } else if self.back.val() {
                self.current_entry.d.next = self.kept.read_data[0].val().get_bits::<8>(13);
            }
            if self.close.val() {
                self.active.d.next = false;
            }
        }

        // Words wait behind others only if those are not taken now.
        if self.taken.val() || !self.held.q.val() {
            self.held.d.next = self.behind.q.val() || self.leaves.val();
            self.held_entry.d.next = self.current_entry.q.val();
            self.held_words.d.next = self.words.q.val();
            if self.behind.q.val() {
                self.held_entry.d.next = self.behind_entry.q.val();
                self.held_words.d.next = self.behind_words.q.val();
            }
            self.behind.d.next = false;
        } else if self.leaves.val() {
            self.behind.d.next = true;
        }
        if !self.behind.q.val() {
            self.behind_entry.d.next = self.current_entry.q.val();
            self.behind_words.d.next = self.words.q.val();
        }

        self.waiting.next = self.held.q.val();
        self.waiting_entry.next = self.held_entry.q.val();
        self.waited.d.next = self.held_words.q.val();
        self.waited_words.next = self.waited.q.val();
        self.full.next = self.behind.q.val();
        if self.rst.val() {
            self.active.d.next = false;
            self.held.d.next = false;
            self.behind.d.next = false;
        }
    }
}
