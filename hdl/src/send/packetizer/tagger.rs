//! Puts 802.1Q tags into frames.

use drdma_emit::prelude::*;

use crate::primitive::header::VlanTagHeader;
use crate::shell::corundum::FrameBeat;
use drdma_abi::roce::ETHERTYPE_VLAN;

/// Bits of a tag: 16 of control information, and a flag that says whether the frame has a tag.
pub const TAG: usize = 17;
/// Bit of the flag that says whether the frame has a tag.
pub const TAG_FLAG: usize = 16;

/// Puts a tag between the addresses and the EtherType of a frame.
///
/// Contract: beats pass in the same cycle, the bytes of a tagged frame 4 bytes further on. What does not fit into the
/// frame's last beat goes into a beat behind it, for which the input waits a cycle. A frame's first beat has at least
/// 16 bytes, all beats but the last have 64. `tag` is the same for all beats of a frame.
#[derive(LogicBlock, BlockDefault)]
pub struct Tagger {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Frames without tags.
    pub input: Stream<In, FrameBeat>,
    /// The tag of the frame whose beat is offered.
    pub tag: Signal<In, Bits<TAG>>,
    /// A frame's last beat was accepted, and bytes of it are still on offer.
    pub rests: Signal<Out, Bit>,
    /// Frames as they are sent.
    pub output: Stream<Out, FrameBeat>,

    header: VlanTagHeader,
    has_tag: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    /// The first beat of the frame was accepted.
    inside: DFF<Bit>,
    /// The last 4 bytes of the beat before.
    rest: DFF<Bits<32>>,
    /// Which of them are left over from a frame's last beat; `leaves`: they are on offer.
    left: DFF<Bits<4>>,
    leaves: DFF<Bit>,
}

/// Bits of the addresses in front of the tag.
const ADDRESSES: usize = 96;

impl Logic for Tagger {
    #[hdl_gen]
    fn update(&mut self) {
        self.has_tag.next = self.tag.val().get_bit(TAG_FLAG);
        self.header.ethertype.next = usize::from(ETHERTYPE_VLAN).to_bits();
        self.header.pcp.next = self.tag.val().get_bits::<3>(13);
        self.header.dei.next = self.tag.val().get_bits::<1>(12);
        self.header.vid.next = self.tag.val().get_bits::<12>(0);

        self.output.valid.next = self.input.valid.val();
        self.output.data.next = self.input.data.val();
        self.output.keep.next = self.input.keep.val();
        self.output.last.next = self.input.last.val();
        if self.has_tag.val() {
            self.output.data.next =
                (self.input.data.val() << 32) | bit_cast::<512, 32>(self.rest.q.val());
            if !self.inside.q.val() {
                self.output.data.next =
                    bit_cast::<512, ADDRESSES>(self.input.data.val().get_bits::<ADDRESSES>(0))
                        | (bit_cast::<512, 32>(self.header.sent.val()) << ADDRESSES as u64)
                        | (bit_cast::<512, 384>(self.input.data.val().get_bits::<384>(ADDRESSES))
                            << 128);
            }
            self.output.keep.next = (self.input.keep.val() << 4) | 0xf;
            self.output.last.next = self.input.last.val() && !self.input.keep.val().get_bit(60);
        }
        self.input.ready.next = self.output.ready.val();
        self.moves.next = self.input.valid.val() && self.output.ready.val();
        if self.leaves.q.val() {
            self.output.valid.next = true;
            self.output.data.next = bit_cast::<512, 32>(self.rest.q.val());
            self.output.keep.next = bit_cast::<64, 4>(self.left.q.val());
            self.output.last.next = true;
            self.input.ready.next = false;
            self.moves.next = false;
            if self.output.ready.val() {
                self.leaves.d.next = false;
            }
        }
        self.rests.next = self.leaves.q.val();
        if self.moves.val() {
            self.inside.d.next = !self.input.last.val();
            self.rest.d.next = self.input.data.val().get_bits::<32>(480);
            self.left.d.next = self.input.keep.val().get_bits::<4>(60);
            self.leaves.d.next =
                self.has_tag.val() && self.input.last.val() && self.input.keep.val().get_bit(60);
        }

        if self.rst.val() {
            self.inside.d.next = false;
            self.leaves.d.next = false;
        }
    }
}
