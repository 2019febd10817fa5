//! Tags that say which bytes of which blocks of host memory are kept.
//!
//! Stands in [`Lines`](super::Lines), once for even and once for odd blocks of 256 B. Only bytes that were read for the
//! current request count: each tag has the number of the request for which it was written, its *generation*, of 8 bits.
//! At the beginning of a request, the generation is incremented and one of the 128 tags is scrubbed. So each tag is
//! scrubbed, or written again, before its generation comes again.
//!
//! A block is looked up in one cycle, and may be marked in the next: the tag that is looked up meanwhile is that of the
//! mark if it has the same place.
//!
//! Contract: with `moves`, the block of `place` and `number` is looked up. From the next cycle on, until `moves` again,
//! `known`, `kept_first` and `kept_last` describe this block, and `mark` marks it, only together with `moves`. A reset
//! scrubs all tags in 128 cycles; `busy` is then high, and nothing may be marked.

use super::{BLOCK_NUMBER, PLACE};
use crate::primitive::{Flatten, Lutram, Restore};
use drdma_emit::prelude::*;

/// Bits of a generation. There are more generations than tags.
const GENERATION: usize = 8;
const _: () = assert!(GENERATION > PLACE);
/// Bit of the number of scrubbed tags that is set when all tags are scrubbed.
const ALL: usize = PLACE;

/// Tag of a place: the bytes of a block that are kept there.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Tag {
    /// Bytes of the block are kept.
    is_kept: Bit,
    /// Lower bits of the number of the request for which the bytes were read.
    generation: Bits<GENERATION>,
    /// Number of the block among the even or odd ones.
    number: Bits<BLOCK_NUMBER>,
    /// The first byte that was read.
    first: Bits<8>,
    /// The last byte that was read.
    last: Bits<8>,
}

/// Bits of a [`Tag`].
const TAG_BITS: usize = <Tag as Synth>::BITS;

/// Tags of even or of odd blocks; see the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `clear`; `moves` with `place` and `number` of a block; `mark` with `first` and `last`.
///
/// # Outputs
/// `known` with `kept_first` and `kept_last`; `busy`.
#[derive(LogicBlock, BlockDefault)]
pub struct Tags {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request begins: no block is known any more.
    pub clear: Signal<In, Bit>,
    /// The next block is looked up.
    pub moves: Signal<In, Bit>,
    /// With `moves`: place of the block's tag.
    pub place: Signal<In, Bits<PLACE>>,
    /// With `moves`: number of the block among the even or odd ones.
    pub number: Signal<In, Bits<BLOCK_NUMBER>>,
    /// Bytes of the block that was looked up are read, and replace the block that was kept in its place.
    pub mark: Signal<In, Bit>,
    /// With `mark`: the first of the bytes.
    pub first: Signal<In, Bits<8>>,
    /// With `mark`: the last of the bytes.
    pub last: Signal<In, Bits<8>>,
    /// Bytes of the block that was looked up are kept.
    pub known: Signal<Out, Bit>,
    /// With `known`: the first of the bytes.
    pub kept_first: Signal<Out, Bits<8>>,
    /// With `known`: the last of the bytes.
    pub kept_last: Signal<Out, Bits<8>>,
    /// Tags are being scrubbed after a reset.
    pub busy: Signal<Out, Bit>,

    kept: Lutram<TAG_BITS, PLACE, 1>,
    tag_new: Signal<Local, Tag>,
    tag_in: Flatten<Tag, TAG_BITS>,
    tag: Restore<Tag, TAG_BITS>,
    // The block that was looked up.
    held_place: DFF<Bits<PLACE>>,
    held_number: DFF<Bits<BLOCK_NUMBER>>,
    is_known: DFF<Bit>,
    held_first: DFF<Bits<8>>,
    held_last: DFF<Bits<8>>,
    is_same_place: Signal<Local, Bit>,
    is_same: Signal<Local, Bit>,
    is_found: Signal<Local, Bit>,
    generation: DFF<Bits<GENERATION>>,
    /// Number of tags that were scrubbed since the reset.
    scrubbed: DFF<Bits<8>>,
    scrubs: Signal<Local, Bit>,
}

impl Logic for Tags {
    #[hdl_gen]
    fn update(&mut self) {
        self.kept.read_address[0].next = self.place.val();
        self.tag.bits.next = self.kept.read_data[0].val();
        self.is_found.next = self.tag.record.val().is_kept
            && (self.tag.record.val().generation == self.generation.q.val())
            && (self.tag.record.val().number == self.number.val());
        // The tag of a mark is written at the end of the cycle, too late to be read.
        self.is_same_place.next = self.place.val() == self.held_place.q.val();
        self.is_same.next = self.number.val() == self.held_number.q.val();
        if self.moves.val() {
            self.held_place.d.next = self.place.val();
            self.held_number.d.next = self.number.val();
            self.is_known.d.next = self.is_found.val();
            self.held_first.d.next = self.tag.record.val().first;
            self.held_last.d.next = self.tag.record.val().last;
            if self.mark.val() && self.is_same_place.val() {
                self.is_known.d.next = self.is_same.val();
                self.held_first.d.next = self.first.val();
                self.held_last.d.next = self.last.val();
            }
        }
        self.known.next = self.is_known.q.val();
        self.kept_first.next = self.held_first.q.val();
        self.kept_last.next = self.held_last.q.val();

        self.busy.next = !self.scrubbed.q.val().get_bit(ALL);
        self.scrubs.next = self.clear.val() || !self.scrubbed.q.val().get_bit(ALL);
        self.tag_new.next.is_kept = !self.scrubs.val();
        self.tag_new.next.generation = self.generation.q.val();
        self.tag_new.next.number = self.held_number.q.val();
        self.tag_new.next.first = self.first.val();
        self.tag_new.next.last = self.last.val();
        self.tag_in.record.next = self.tag_new.val();
        self.kept.write_enable.next = self.mark.val() || self.scrubs.val();
        self.kept.write_data.next = self.tag_in.bits.val();
        self.kept.write_address.next = self.held_place.q.val();
        if self.clear.val() {
            self.kept.write_address.next = self.generation.q.val().get_bits::<PLACE>(0);
            self.generation.d.next = self.generation.q.val() + 1;
        }
        if !self.scrubbed.q.val().get_bit(ALL) {
            self.kept.write_address.next = self.scrubbed.q.val().get_bits::<PLACE>(0);
            self.scrubbed.d.next = self.scrubbed.q.val() + 1;
        }
        if self.rst.val() {
            self.generation.d.next = 0.into();
            self.scrubbed.d.next = 0.into();
        }
    }
}
