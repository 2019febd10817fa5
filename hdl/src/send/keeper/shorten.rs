//! Shortens READs that are sent again to the rest of their answer.

use crate::send::packetizer::Packet;
use drdma_abi::roce::operation;
use drdma_emit::prelude::*;

/// Operation of a READ.
const READ_REQUEST: u64 = operation::READ_REQUEST as u64;

/// Steps in which the current item is handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ShortenState {
    /// Lets items pass.
    Pass,
    /// Computes how many bytes of the answer have come.
    Count,
    /// Adds these bytes to the address, and subtracts them from the length.
    Leave,
    /// Offers the READ.
    Offer,
}

/// Makes a READ that is sent again ask only for the bytes that have not come: `imm` says how many packets have come,
/// and `status` of how many bytes each, as a binary logarithm. Everything else passes as it is.
///
/// Contract: an item passes in its own cycle; a READ that is sent again takes 4 cycles. `item.ready` depends on
/// `out.ready`.
#[derive(LogicBlock, BlockDefault)]
pub struct Shorten {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Packets and `sent` items of the keeper.
    pub item: Stream<In, Packet>,
    /// Packets and `sent` items for the packetizer.
    pub out: Stream<Out, Packet>,

    state: DFF<ShortenState>,
    shortens: Signal<Local, Bit>,
    come: DFF<Bits<36>>,
    addr: DFF<Bits<64>>,
    bytes: DFF<Bits<32>>,
}

impl Logic for Shorten {
    #[hdl_gen]
    fn update(&mut self) {
        self.shortens.next = self.item.valid.val()
            && !self.item.marker.val()
            && self.item.again.val()
            && (self.item.operation.val() == READ_REQUEST);
        self.come.d.next = bit_cast::<36, 24>(self.item.imm.val().get_bits::<24>(0))
            << self.item.status.val().get_bits::<4>(0);
        self.addr.d.next = self.item.remote_addr.val() + bit_cast::<64, 36>(self.come.q.val());
        self.bytes.d.next = self.item.message_bytes.val() - self.come.q.val().get_bits::<32>(0);
        self.out.next = self.item.val();
        self.out.valid.next = self.item.valid.val() && !self.shortens.val();
        self.item.ready.next = self.out.ready.val() && !self.shortens.val();
        match self.state.q.val() {
            ShortenState::Pass => {
                if self.shortens.val() {
                    self.state.d.next = ShortenState::Count;
                }
            }
            ShortenState::Count => {
                self.state.d.next = ShortenState::Leave;
            }
            ShortenState::Leave => {
                self.state.d.next = ShortenState::Offer;
            }
            ShortenState::Offer => {}
        }
        if self.state.q.val() == ShortenState::Offer {
            self.out.valid.next = true;
            self.out.remote_addr.next = self.addr.q.val();
            self.out.message_bytes.next = self.bytes.q.val();
            self.item.ready.next = self.out.ready.val();
            if self.out.ready.val() {
                self.state.d.next = ShortenState::Pass;
            }
        }
        if self.rst.val() {
            self.state.d.next = ShortenState::Pass;
        }
    }
}
