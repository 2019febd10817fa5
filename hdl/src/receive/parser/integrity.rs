//! Checks the invariant CRC of whole frames, 64 B a cycle, in the frames' own beats.
//!
//! The check covers the ICRC itself, too; then the result is the same for all right frames ([`residue`]). Where the
//! covered bytes end is taken from the IPv4 header, not from the end of the frame, behind which there may be padding.
//!
//! Contract: one beat a cycle, frames back to back. `right` is that of the frame whose last covered beat came at least
//! 5 cycles ago, until another frame's is due.

use drdma_abi::roce::{Ethernet, VlanTag};
use drdma_emit::prelude::*;

use crate::primitive::icrc::{covered, residue};
use crate::primitive::{FrameCrc32, Pack};

/// Parts of a beat: 2 B, 15 x 4 B and 2 B. Covered bytes end behind one of them.
const PARTS: usize = 17;
/// Bytes of a link header without a tag.
const LINK: usize = Ethernet::SIZE;
/// Bytes of a link header with a tag.
const LINK_TAGGED: usize = LINK + VlanTag::SIZE;

/// A beat of which all or the first bytes are covered.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct CoveredBeat {
    /// Bytes of the beat, the first one lowest.
    pub data: Bits<512>,
    /// The beat is the frame's first one.
    pub first: Bit,
    /// The frame has an 802.1Q tag.
    pub tagged: Bit,
    /// The covered bytes end in this beat.
    pub last: Bit,
    /// With `last`: the covered bytes end behind byte `4 * end + 1`.
    pub end: Bits<4>,
}

/// Checks the ICRC. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Integrity {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset: the next beat begins a frame.
    pub rst: Signal<In, Bit>,
    /// Beats of frames.
    pub beat: Flow<In, CoveredBeat>,
    /// The frame's ICRC is right.
    pub right: Signal<Out, Bit>,

    filled: DFF<Bit>,
    held: DFF<CoveredBeat>,
    covers: [DFF<Bit>; PARTS],
    part: Pack<64, 8, 512>,
    #[init(Constant::new(covered(LINK).0.into()))]
    kept: Constant<Bits<512>>,
    #[init(Constant::new(covered(LINK).1.into()))]
    ones: Constant<Bits<512>>,
    #[init(Constant::new(covered(LINK_TAGGED).0.into()))]
    kept_tagged: Constant<Bits<512>>,
    #[init(Constant::new(covered(LINK_TAGGED).1.into()))]
    ones_tagged: Constant<Bits<512>>,
    crc: FrameCrc32,
    #[init(Constant::new(u64::from(residue()).into()))]
    residue: Constant<Bits<32>>,
    good: DFF<Bit>,
}

impl Logic for Integrity {
    #[hdl_gen]
    fn update(&mut self) {
        self.filled.d.next = self.beat.valid.val();
        self.held.d.next = self.beat.val();
        for k in 0..PARTS {
            self.covers[k].d.next = !self.beat.last.val();
            if k == 0 {
                self.covers[k].d.next = true;
            } else if k < PARTS - 1 {
                if self.beat.end.val() >= k.to_bits() {
                    self.covers[k].d.next = true;
                }
            }
        }

        for k in 0..64 {
            self.part.parts[k].next = 0.into();
            if self.covers[(k + 2) / 4].q.val() {
                self.part.parts[k].next = self.held.q.val().data.get_bits::<8>(k * 8);
            }
        }
        self.crc.in_valid.next = self.filled.q.val();
        self.crc.in_last.next = self.held.q.val().last;
        self.crc.in_count.next = (bit_cast::<7, 4>(self.held.q.val().end) << 2) + 2;
        self.crc.in_data.next = self.part.whole.val();
        if self.held.q.val().first {
            self.crc.in_data.next = (self.part.whole.val() & self.kept.val()) | self.ones.val();
            if self.held.q.val().tagged {
                self.crc.in_data.next =
                    (self.part.whole.val() & self.kept_tagged.val()) | self.ones_tagged.val();
            }
        }

        if self.crc.out_valid.val() {
            self.good.d.next = self.crc.out_crc.val() == self.residue.val();
        }
        self.right.next = self.good.q.val();

        if self.rst.val() {
            self.filled.d.next = false;
        }
    }
}
