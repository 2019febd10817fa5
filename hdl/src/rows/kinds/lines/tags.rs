//! Tags that say which bytes of which blocks of host memory are kept.
//!
//! Stands in [`Lines`](super::Lines), once for even and once for odd blocks of 256 B. Only bytes that were read for the
//! current request count: each tag has the number of the request for which it was written, its *generation*, of 8 bits.
//! At the beginning of a request, the generation is incremented and one of the 128 tags is scrubbed. So each tag is
//! scrubbed, or written again, before its generation comes again.
//!
//! Contract: `known`, `kept_first` and `kept_last` are those of `place` and `number` in the same cycle. A mark counts
//! from the next cycle on. A reset scrubs all tags in 128 cycles; `busy` is then high, and nothing may be marked.

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
/// `clk`, `rst`; `clear`; `place` and `number` of a block; `mark` with `first` and `last`.
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
    /// Place of the block's tag.
    pub place: Signal<In, Bits<PLACE>>,
    /// Number of the block among the even or odd ones.
    pub number: Signal<In, Bits<BLOCK_NUMBER>>,
    /// Bytes of the block are read, and replace the block that was kept in its place.
    pub mark: Signal<In, Bit>,
    /// With `mark`: the first of the bytes.
    pub first: Signal<In, Bits<8>>,
    /// With `mark`: the last of the bytes.
    pub last: Signal<In, Bits<8>>,
    /// Bytes of the block are kept.
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
        self.known.next = self.tag.record.val().is_kept
            && (self.tag.record.val().generation == self.generation.q.val())
            && (self.tag.record.val().number == self.number.val());
        self.kept_first.next = self.tag.record.val().first;
        self.kept_last.next = self.tag.record.val().last;

        self.busy.next = !self.scrubbed.q.val().get_bit(ALL);
        self.scrubs.next = self.clear.val() || !self.scrubbed.q.val().get_bit(ALL);
        self.tag_new.next.is_kept = !self.scrubs.val();
        self.tag_new.next.generation = self.generation.q.val();
        self.tag_new.next.number = self.number.val();
        self.tag_new.next.first = self.first.val();
        self.tag_new.next.last = self.last.val();
        self.tag_in.record.next = self.tag_new.val();
        self.kept.write_enable.next = self.mark.val() || self.scrubs.val();
        self.kept.write_data.next = self.tag_in.bits.val();
        self.kept.write_address.next = self.place.val();
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
