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
    /// Data.
    pub s_axis_if_tx_tdata: Signal<In, Bits<512>>,
    /// Bytes in use.
    pub s_axis_if_tx_tkeep: Signal<In, Bits<64>>,
    /// A beat is offered.
    pub s_axis_if_tx_tvalid: Signal<In, Bit>,
    /// It is taken.
    pub s_axis_if_tx_tready: Signal<Out, Bit>,
    /// Last beat of a frame.
    pub s_axis_if_tx_tlast: Signal<In, Bit>,
    /// Queue.
    pub s_axis_if_tx_tid: Signal<In, Bits<16>>,
    /// Port.
    pub s_axis_if_tx_tdest: Signal<In, Bits<16>>,
    /// Tag and error.
    pub s_axis_if_tx_tuser: Signal<In, Bits<32>>,

    // Frames of the card.
    /// The packetizer is being reset: what it had begun to send has no end.
    pub card_reset: Signal<In, Bit>,
    /// A beat is offered.
    pub tx_valid: Signal<In, Bit>,
    /// It is taken.
    pub tx_ready: Signal<Out, Bit>,
    /// Data.
    pub tx_data: Signal<In, Bits<512>>,
    /// Bytes in use.
    pub tx_keep: Signal<In, Bits<64>>,
    /// Last beat of a frame.
    pub tx_last: Signal<In, Bit>,

    // Frames to the wire.
    /// Data.
    pub m_axis_if_tx_tdata: Signal<Out, Bits<512>>,
    /// Bytes in use.
    pub m_axis_if_tx_tkeep: Signal<Out, Bits<64>>,
    /// A beat is offered.
    pub m_axis_if_tx_tvalid: Signal<Out, Bit>,
    /// It is taken.
    pub m_axis_if_tx_tready: Signal<In, Bit>,
    /// Last beat of a frame.
    pub m_axis_if_tx_tlast: Signal<Out, Bit>,
    /// Queue; 0 for the card's frames.
    pub m_axis_if_tx_tid: Signal<Out, Bits<16>>,
    /// Port; 0 for the card's frames.
    pub m_axis_if_tx_tdest: Signal<Out, Bits<16>>,
    /// Tag and error; 0 for the card's frames.
    pub m_axis_if_tx_tuser: Signal<Out, Bits<32>>,

    // Transmit completions from the MAC.
    /// Time stamp.
    pub s_axis_if_tx_cpl_ts: Signal<In, Bits<96>>,
    /// Tag.
    pub s_axis_if_tx_cpl_tag: Signal<In, Bits<16>>,
    /// A completion is offered.
    pub s_axis_if_tx_cpl_valid: Signal<In, Bit>,
    /// It is taken.
    pub s_axis_if_tx_cpl_ready: Signal<Out, Bit>,

    // Transmit completions to the host.
    /// Time stamp.
    pub m_axis_if_tx_cpl_ts: Signal<Out, Bits<96>>,
    /// Tag.
    pub m_axis_if_tx_cpl_tag: Signal<Out, Bits<16>>,
    /// A completion is offered.
    pub m_axis_if_tx_cpl_valid: Signal<Out, Bit>,
    /// It is taken.
    pub m_axis_if_tx_cpl_ready: Signal<In, Bit>,

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
        self.host_beat.next = bit_cast::<BEAT, 512>(self.s_axis_if_tx_tdata.val())
            | (bit_cast::<BEAT, 64>(self.s_axis_if_tx_tkeep.val()) << 512)
            | (bit_cast::<BEAT, 16>(self.s_axis_if_tx_tid.val()) << 577)
            | (bit_cast::<BEAT, 16>(self.s_axis_if_tx_tdest.val()) << 593)
            | (bit_cast::<BEAT, 32>(self.s_axis_if_tx_tuser.val()) << 609);
        if self.s_axis_if_tx_tlast.val() {
            self.host_beat.next = self.host_beat.val() | self.last.val();
        }
        self.card_beat.next = bit_cast::<BEAT, 512>(self.tx_data.val())
            | (bit_cast::<BEAT, 64>(self.tx_keep.val()) << 512);
        if self.tx_last.val() {
            self.card_beat.next = self.card_beat.val() | self.last.val();
        }

        // Whose turn it is changes between frames only.
        self.tx_ready.next = false;
        self.s_axis_if_tx_tready.next = false;
        if self.card_turn.q.val() {
            self.out.in_valid.next = self.tx_valid.val();
            self.out.in_data.next = self.card_beat.val();
            self.tx_ready.next = self.out.in_ready.val();
            self.moves.next = self.tx_valid.val() && self.out.in_ready.val();
            self.ends.next = self.tx_last.val();
            self.own_waits.next = self.tx_valid.val();
            self.other_waits.next = self.s_axis_if_tx_tvalid.val();
            if self.cut.q.val() {
                self.out.in_valid.next = true;
                self.out.in_data.next = self.cut_beat.val();
                self.tx_ready.next = false;
                self.moves.next = self.out.in_ready.val();
                self.ends.next = true;
                self.own_waits.next = true;
            }
        } else {
            self.out.in_valid.next = self.s_axis_if_tx_tvalid.val();
            self.out.in_data.next = self.host_beat.val();
            self.s_axis_if_tx_tready.next = self.out.in_ready.val();
            self.moves.next = self.s_axis_if_tx_tvalid.val() && self.out.in_ready.val();
            self.ends.next = self.s_axis_if_tx_tlast.val();
            self.own_waits.next = self.s_axis_if_tx_tvalid.val();
            self.other_waits.next = self.tx_valid.val();
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

        self.m_axis_if_tx_tvalid.next = self.out.out_valid.val();
        self.out.out_ready.next = self.m_axis_if_tx_tready.val();
        self.m_axis_if_tx_tdata.next = self.out.out_data.val().get_bits::<512>(0);
        self.m_axis_if_tx_tkeep.next = self.out.out_data.val().get_bits::<64>(512);
        self.m_axis_if_tx_tlast.next = self.out.out_data.val().get_bit(576);
        self.m_axis_if_tx_tid.next = self.out.out_data.val().get_bits::<16>(577);
        self.m_axis_if_tx_tdest.next = self.out.out_data.val().get_bits::<16>(593);
        self.m_axis_if_tx_tuser.next = self.out.out_data.val().get_bits::<32>(609);

        // Completions of the card's own frames go no further.
        self.completions.in_valid.next =
            self.s_axis_if_tx_cpl_valid.val() && self.s_axis_if_tx_cpl_tag.val().get_bit(15);
        self.completions.in_data.next = bit_cast::<112, 96>(self.s_axis_if_tx_cpl_ts.val())
            | (bit_cast::<112, 16>(self.s_axis_if_tx_cpl_tag.val()) << 96);
        self.s_axis_if_tx_cpl_ready.next = self.completions.in_ready.val();
        self.m_axis_if_tx_cpl_valid.next = self.completions.out_valid.val();
        self.completions.out_ready.next = self.m_axis_if_tx_cpl_ready.val();
        self.m_axis_if_tx_cpl_ts.next = self.completions.out_data.val().get_bits::<96>(0);
        self.m_axis_if_tx_cpl_tag.next = self.completions.out_data.val().get_bits::<16>(96);

        if self.rst.val() {
            self.card_turn.d.next = false;
            self.cut.d.next = false;
            self.inside.d.next = false;
        }
    }
}
