//! Puts the card's frames among the host's own on their way to the MAC.
//!
//! Sits on Corundum's `if` transmit stream. Frames of the host pass through, and frames of the packetizer go between
//! them. Frames are never mixed; when both sides wait, they take turns. Transmit completions whose tag has bit 15 clear
//! are for frames of the card, and are swallowed; the others pass on to the host.
//!
//! If the card is reset within a frame, one more beat ends the frame, marked as an error (`tuser` bit 0): the MAC then
//! spoils its frame check sequence.
//!
//! Contract: one beat a cycle, latency 1, and a cycle more for a change of sides when the other side is idle; while
//! both are idle, it is the card's turn. May stall at any time.

use crate::shell::corundum::{FrameBeat, TxBeat, TxCompletion};
use drdma_emit::prelude::*;

use crate::primitive::StreamSkid;

#[cfg(test)]
mod tests;

/// Merges the frames of the host and of the card; see the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Mac {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// Frames of the host.
    pub s_axis_if_tx: AxiStream<In, TxBeat>,

    /// The packetizer is being reset: the frame that it has begun gets no end.
    pub card_reset: Signal<In, Bit>,
    /// Frames of the card.
    pub tx: Stream<In, FrameBeat>,

    /// Frames to the MAC; queue, port, tag and error are 0 in the card's own.
    pub m_axis_if_tx: AxiStream<Out, TxBeat>,

    /// Transmit completions from the MAC.
    pub s_axis_if_tx_cpl: Stream<In, TxCompletion>,

    /// Transmit completions to the host.
    pub m_axis_if_tx_cpl: Stream<Out, TxCompletion>,

    card_turn: DFF<Bit>,
    /// The current frame will get no end from the packetizer, which was reset.
    cut: DFF<Bit>,
    inside: DFF<Bit>,
    beat: Signals<Local, TxBeat>,
    moves: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    own_waits: Signal<Local, Bit>,
    other_waits: Signal<Local, Bit>,
    out: StreamSkid<TxBeat>,
    completions: StreamSkid<TxCompletion>,
}

/// Value of `tuser` of a beat that ends a frame as an error.
const ERROR: u64 = 1;
/// Bit of a tag that is clear for the card's own frames.
const HOST_TAG: usize = 15;

impl Logic for Mac {
    #[hdl_gen]
    fn update(&mut self) {
        self.beat.next = self.s_axis_if_tx.val();
        if self.card_turn.q.val() {
            self.beat.tdata.next = self.tx.data.val();
            self.beat.tkeep.next = self.tx.keep.val();
            self.beat.tlast.next = self.tx.last.val();
            self.beat.tid.next = 0.into();
            self.beat.tdest.next = 0.into();
            self.beat.tuser.next = 0.into();
            if self.cut.q.val() {
                self.beat.tdata.next = 0.into();
                self.beat.tkeep.next = u64::MAX.into();
                self.beat.tlast.next = true;
                self.beat.tuser.next = ERROR.into();
            }
        }
        self.out.input.data.next = self.beat.val();
        self.ends.next = self.beat.tlast.val();

        // The turn changes between frames only.
        self.tx.ready.next = false;
        self.s_axis_if_tx.tready.next = false;
        if self.card_turn.q.val() {
            self.out.input.valid.next = self.tx.valid.val();
            self.tx.ready.next = self.out.input.ready.val();
            self.moves.next = self.tx.valid.val() && self.out.input.ready.val();
            self.own_waits.next = self.tx.valid.val();
            self.other_waits.next = self.s_axis_if_tx.tvalid.val();
            if self.cut.q.val() {
                self.out.input.valid.next = true;
                self.tx.ready.next = false;
                self.moves.next = self.out.input.ready.val();
                self.own_waits.next = true;
            }
        } else {
            self.out.input.valid.next = self.s_axis_if_tx.tvalid.val();
            self.s_axis_if_tx.tready.next = self.out.input.ready.val();
            self.moves.next = self.s_axis_if_tx.tvalid.val() && self.out.input.ready.val();
            self.own_waits.next = self.s_axis_if_tx.tvalid.val();
            self.other_waits.next = self.tx.valid.val();
        }
        if self.moves.val() {
            self.inside.d.next = !self.ends.val();
            self.cut.d.next = false;
        }
        if self.card_reset.val() && self.card_turn.q.val() && self.inside.d.val() {
            self.cut.d.next = true;
        }
        if self.other_waits.val()
            && ((self.moves.val() && self.ends.val())
                || (!self.own_waits.val() && !self.inside.q.val()))
        {
            self.card_turn.d.next = !self.card_turn.q.val();
        }
        // While neither side waits, it is the card's turn.
        if !self.card_turn.q.val() && !self.own_waits.val() && !self.inside.q.val() {
            self.card_turn.d.next = true;
        }

        self.out.output.join(&mut self.m_axis_if_tx);

        // Completions of the card's own frames go no further.
        self.s_axis_if_tx_cpl.join(&mut self.completions.input);
        self.completions.input.valid.next =
            self.s_axis_if_tx_cpl.valid.val() && self.s_axis_if_tx_cpl.tag.val().get_bit(HOST_TAG);
        self.completions.output.join(&mut self.m_axis_if_tx_cpl);

        if self.rst.val() {
            self.card_turn.d.next = false;
            self.cut.d.next = false;
            self.inside.d.next = false;
        }
    }
}
