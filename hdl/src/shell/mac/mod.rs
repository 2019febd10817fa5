//! The way to the MAC: the card's frames among the host's own.
//!
//! Sits on Corundum's `if` transmit stream. Frames of the host pass through, frames of the
//! packetizer are put between them; frames are never mixed, and when both wait they take turns.
//! Transmit completions whose tag has bit 15 clear are for frames of the card, and are swallowed;
//! the others pass on to the host.
//!
//! Where the card is reset within a frame, one more beat ends it, marked as an error (`tuser` bit 0):
//! the MAC spoils its frame check sequence.
//!
//! Contract: one beat a cycle, latency 1, and a cycle more for a change of sides when the other one is
//! idle; while both are, it is the card's turn. May stall at any time.

use crate::shell::corundum::{FrameBeat, TxBeat, TxCompletion};
use drdma_emit::prelude::*;
use num_bigint::BigUint;

use crate::primitive::skid::Skid;

#[cfg(test)]
mod tests;

/// Bits of a beat: data, keep, last, id, destination, user.
const BEAT: usize = 512 + 64 + 1 + 16 + 16 + 32;

/// The block. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Mac {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Frames of the host.
    /// Frames of the host.
    pub s_axis_if_tx: AxiStream<In, TxBeat>,

    // Frames of the card.
    /// The packetizer is being reset: what it had begun to send has no end.
    pub card_reset: Signal<In, Bit>,
    /// Frames of the card.
    pub tx: Stream<In, FrameBeat>,

    // Frames to the wire.
    /// Frames to the wire; queue, port, tag and error are 0 in the card's own.
    pub m_axis_if_tx: AxiStream<Out, TxBeat>,

    // Transmit completions from the MAC.
    /// Transmit completions from the MAC.
    pub s_axis_if_tx_cpl: Stream<In, TxCompletion>,

    // Transmit completions to the host.
    /// Transmit completions to the host.
    pub m_axis_if_tx_cpl: Stream<Out, TxCompletion>,

    card_turn: DFF<Bit>,
    /// The frame that has begun has no end.
    cut: DFF<Bit>,
    #[init(Constant::new(cut_beat().into()))]
    cut_beat: Constant<Bits<BEAT>>,
    inside: DFF<Bit>,
    host_beat: Signal<Local, Bits<BEAT>>,
    card_beat: Signal<Local, Bits<BEAT>>,
    moves: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    own_waits: Signal<Local, Bit>,
    other_waits: Signal<Local, Bit>,
    out: Skid<BEAT>,
    completions: Skid<112>,
    #[init(Constant::new(Bits::from(BigUint::from(1_u8) << 576)))]
    last: Constant<Bits<BEAT>>,
}

/// A beat that ends a frame, marked as an error.
fn cut_beat() -> BigUint {
    let (keep, last, error) = (u64::MAX, 1_u8, 1_u8);
    (BigUint::from(keep) << 512) | (BigUint::from(last) << 576) | (BigUint::from(error) << 609)
}

impl Logic for Mac {
    #[hdl_gen]
    fn update(&mut self) {
        self.host_beat.next = bit_cast::<BEAT, 512>(self.s_axis_if_tx.tdata.val())
            | (bit_cast::<BEAT, 64>(self.s_axis_if_tx.tkeep.val()) << 512)
            | (bit_cast::<BEAT, 16>(self.s_axis_if_tx.tid.val()) << 577)
            | (bit_cast::<BEAT, 16>(self.s_axis_if_tx.tdest.val()) << 593)
            | (bit_cast::<BEAT, 32>(self.s_axis_if_tx.tuser.val()) << 609);
        if self.s_axis_if_tx.tlast.val() {
            self.host_beat.next = self.host_beat.val() | self.last.val();
        }
        self.card_beat.next = bit_cast::<BEAT, 512>(self.tx.data.val())
            | (bit_cast::<BEAT, 64>(self.tx.keep.val()) << 512);
        if self.tx.last.val() {
            self.card_beat.next = self.card_beat.val() | self.last.val();
        }

        // Whose turn it is changes between frames only.
        self.tx.ready.next = false;
        self.s_axis_if_tx.tready.next = false;
        if self.card_turn.q.val() {
            self.out.in_valid.next = self.tx.valid.val();
            self.out.in_data.next = self.card_beat.val();
            self.tx.ready.next = self.out.in_ready.val();
            self.moves.next = self.tx.valid.val() && self.out.in_ready.val();
            self.ends.next = self.tx.last.val();
            self.own_waits.next = self.tx.valid.val();
            self.other_waits.next = self.s_axis_if_tx.tvalid.val();
            if self.cut.q.val() {
                self.out.in_valid.next = true;
                self.out.in_data.next = self.cut_beat.val();
                self.tx.ready.next = false;
                self.moves.next = self.out.in_ready.val();
                self.ends.next = true;
                self.own_waits.next = true;
            }
        } else {
            self.out.in_valid.next = self.s_axis_if_tx.tvalid.val();
            self.out.in_data.next = self.host_beat.val();
            self.s_axis_if_tx.tready.next = self.out.in_ready.val();
            self.moves.next = self.s_axis_if_tx.tvalid.val() && self.out.in_ready.val();
            self.ends.next = self.s_axis_if_tx.tlast.val();
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
        // It is the card's while nobody waits.
        if !self.card_turn.q.val() && !self.own_waits.val() && !self.inside.q.val() {
            self.card_turn.d.next = true;
        }

        self.m_axis_if_tx.tvalid.next = self.out.out_valid.val();
        self.out.out_ready.next = self.m_axis_if_tx.tready.val();
        self.m_axis_if_tx.tdata.next = self.out.out_data.val().get_bits::<512>(0);
        self.m_axis_if_tx.tkeep.next = self.out.out_data.val().get_bits::<64>(512);
        self.m_axis_if_tx.tlast.next = self.out.out_data.val().get_bit(576);
        self.m_axis_if_tx.tid.next = self.out.out_data.val().get_bits::<16>(577);
        self.m_axis_if_tx.tdest.next = self.out.out_data.val().get_bits::<16>(593);
        self.m_axis_if_tx.tuser.next = self.out.out_data.val().get_bits::<32>(609);

        // Completions of the card's own frames go no further.
        self.completions.in_valid.next =
            self.s_axis_if_tx_cpl.valid.val() && self.s_axis_if_tx_cpl.tag.val().get_bit(15);
        self.completions.in_data.next = bit_cast::<112, 96>(self.s_axis_if_tx_cpl.ts.val())
            | (bit_cast::<112, 16>(self.s_axis_if_tx_cpl.tag.val()) << 96);
        self.s_axis_if_tx_cpl.ready.next = self.completions.in_ready.val();
        self.m_axis_if_tx_cpl.valid.next = self.completions.out_valid.val();
        self.completions.out_ready.next = self.m_axis_if_tx_cpl.ready.val();
        self.m_axis_if_tx_cpl.ts.next = self.completions.out_data.val().get_bits::<96>(0);
        self.m_axis_if_tx_cpl.tag.next = self.completions.out_data.val().get_bits::<16>(96);

        if self.rst.val() {
            self.card_turn.d.next = false;
            self.cut.d.next = false;
            self.inside.d.next = false;
        }
    }
}
