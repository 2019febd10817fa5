//! Packs bytes that were read piece by piece into beats of 64 B, as if they came of one read.

use super::{Part, ReplyBeat};
use crate::primitive::{Pack as Concatenation, Rotate};
use crate::regions::Side;
use crate::shell::host_read::HostReadBeat;
use drdma_emit::prelude::*;

/// Bytes of a beat.
const BEAT: usize = 64;

/// Steps in which the current part is handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PackState {
    /// Waits for a part and for its next beat.
    Wait,
    /// Rotates the beat to where its bytes go.
    Turn,
    /// Puts the rotated beat behind the bytes that are held.
    Merge,
    /// Offers the last bytes of a packet.
    Flush,
}

/// Passes the beats of plain reads, and packs the bytes of all others one behind the other, packet by packet.
///
/// Contract: a beat of a plain read passes in its own cycle; a beat of another part takes 3 cycles, and a packet 1 more
/// if its last bytes begin within a beat. `out.ready` reaches `beat.ready` only for plain reads. A packet's last beat
/// has an error if any of its bytes could not be read. A part that has failed ends its packet with a beat that has an
/// error.
///
/// # Inputs
/// `clk`, `rst`; streams `part` (one for each read, in the order of the reads) and `beat`.
///
/// # Outputs
/// Stream `out`; `side`: a bitmap's bits or pointers, for one cycle.
#[derive(LogicBlock, BlockDefault)]
pub struct Pack {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Part that each read is for, in the order of the reads.
    pub part: Stream<In, Part>,
    /// Bytes that the reads bring.
    pub beat: Stream<In, HostReadBeat>,
    /// Bytes of packets.
    pub out: Stream<Out, ReplyBeat>,
    /// 64 B of a bitmap or of pointers, for the walk.
    pub side: Flow<Out, Side>,

    state: DFF<PackState>,
    /// The part has bytes to pack; `begun`: some of them were taken; `left`: how many are not.
    packs: Signal<Local, Bit>,
    begun: DFF<Bit>,
    rest: DFF<Bits<13>>,
    left: Signal<Local, Bits<13>>,
    count: Signal<Local, Bits<7>>,
    bytes: DFF<Bits<7>>,
    /// The beat taken last is the part's last one; `ends_packet`: also the packet's last one.
    ends: DFF<Bit>,
    ends_packet: DFF<Bit>,
    bad: DFF<Bit>,
    rotate: Rotate<512, 6>,
    /// The beat that is being rotated.
    taken: DFF<Bits<512>>,
    /// The first `fill` bytes of the beat that leaves next.
    held: DFF<Bits<512>>,
    fill: DFF<Bits<6>>,
    /// `fill` and the bytes of the beat taken last, as they were a cycle before.
    behind: DFF<Bits<8>>,
    full: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    merged: Concatenation<BEAT, 8, 512>,
}

impl Logic for Pack {
    #[hdl_gen]
    fn update(&mut self) {
        self.packs.next = self.part.valid.val()
            && !self.part.plain.val()
            && !self.part.side.val()
            && !self.part.failed.val();
        self.left.next = self.part.bytes.val();
        if self.begun.q.val() {
            self.left.next = self.rest.q.val();
        }
        self.count.next = 64.into();
        if self.left.val() < 64 {
            self.count.next = self.left.val().get_bits::<7>(0);
        }

        // The beat's bytes go behind those that are held.
        self.rotate.data.next = self.taken.q.val();
        if self.state.q.val() == PackState::Wait {
            self.rotate.data.next = self.beat.data.val();
            self.taken.d.next = self.beat.data.val();
        }
        self.rotate.amount.next = self.fill.q.val();
        self.behind.d.next =
            bit_cast::<8, 6>(self.fill.q.val()) + bit_cast::<8, 7>(self.bytes.q.val());
        self.full.next = self.behind.q.val() >= 64;
        self.over.next = self.behind.q.val() > 64;
        for k in 0..BEAT {
            self.merged.parts[k].next = self.rotate.result.val().get_bits::<8>(k * 8);
            if bit_cast::<7, 6>(self.fill.q.val()) > k.to_bits() {
                self.merged.parts[k].next = self.held.q.val().get_bits::<8>(k * 8);
            }
        }

        self.beat.ready.next = false;
        self.part.ready.next = false;
        self.out.valid.next = false;
        self.out.data.next = self.beat.data.val();
        self.out.last.next = self.beat.last.val();
        self.out.error.next = self.beat.error.val();
        self.out.outside.next = false;
        self.side.valid.next = false;
        self.side.data.next = self.beat.data.val();
        self.side.error.next = self.beat.error.val();
        self.leaves.next = false;
        match self.state.q.val() {
            PackState::Wait => {
                if self.part.valid.val() && self.part.plain.val() {
                    self.out.valid.next = self.beat.valid.val();
                    self.beat.ready.next = self.out.ready.val();
                    self.part.ready.next =
                        self.beat.valid.val() && self.beat.last.val() && self.out.ready.val();
                } else if self.part.valid.val() && self.part.side.val() {
                    self.beat.ready.next = true;
                    self.side.valid.next = self.beat.valid.val();
                    self.part.ready.next = self.beat.valid.val();
                } else if self.part.valid.val() && self.part.failed.val() {
                    self.out.valid.next = true;
                    self.out.data.next = self.held.q.val();
                    self.out.last.next = true;
                    self.out.error.next = true;
                    self.out.outside.next = self.part.outside.val();
                    self.part.ready.next = self.out.ready.val();
                    self.fill.d.next = 0.into();
                    self.bad.d.next = false;
                } else if self.packs.val() {
                    self.beat.ready.next = true;
                    if self.beat.valid.val() {
                        self.begun.d.next = true;
                        self.rest.d.next = self.left.val() - bit_cast::<13, 7>(self.count.val());
                        self.bytes.d.next = self.count.val();
                        self.ends.d.next = self.left.val() <= 64;
                        self.ends_packet.d.next = (self.left.val() <= 64) && self.part.last.val();
                        self.bad.d.next = self.bad.q.val() || self.beat.error.val();
                        self.state.d.next = PackState::Turn;
                    }
                }
            }
            PackState::Turn => {
                self.state.d.next = PackState::Merge;
            }
            PackState::Merge => {
                self.out.valid.next = self.full.val() || self.ends_packet.q.val();
                self.out.data.next = self.merged.whole.val();
                self.out.last.next = self.ends_packet.q.val() && !self.over.val();
                self.out.error.next = self.bad.q.val() && self.out.last.val();
                self.leaves.next = self.out.valid.val() && self.out.ready.val();
                if self.leaves.val() || !self.out.valid.val() {
                    self.held.d.next = self.merged.whole.val();
                    if self.leaves.val() {
                        self.held.d.next = self.rotate.result.val();
                    }
                    self.fill.d.next = self.behind.q.val().get_bits::<6>(0);
                    self.part.ready.next = self.ends.q.val();
                    if self.ends.q.val() {
                        self.begun.d.next = false;
                    }
                    self.state.d.next = PackState::Wait;
                    if self.ends_packet.q.val() {
                        self.fill.d.next = 0.into();
                        self.bad.d.next = false;
                        if self.over.val() {
                            self.bad.d.next = self.bad.q.val();
                            self.state.d.next = PackState::Flush;
                        }
                    }
                }
            }
            PackState::Flush => {
                self.out.valid.next = true;
                self.out.data.next = self.held.q.val();
                self.out.last.next = true;
                self.out.error.next = self.bad.q.val();
                if self.out.ready.val() {
                    self.bad.d.next = false;
                    self.state.d.next = PackState::Wait;
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = PackState::Wait;
            self.begun.d.next = false;
            self.fill.d.next = 0.into();
            self.bad.d.next = false;
        }
    }
}
