//! Chooses what is sent next: packets, responses, acknowledgements and congestion notifications, each in their own
//! order.

use super::Packet;
use crate::receive::notifier::Notice;
use crate::send::answers::Acknowledgement;
use crate::send::replies::Response;
use crate::send::{PAGE, REPLY_PAGE};
use drdma_abi::roce::{cnp, operation};
use drdma_emit::prelude::*;

/// Bits of a frame's weight: the number of beats that it is counted as.
pub const WEIGHT: usize = 7;
/// Beats that may be accepted ahead of the frame that is being sent: enough that frames of two beats follow one
/// another without a gap.
const AHEAD: u64 = 24;
/// Bits of the count of beats ahead: up to `AHEAD` and a frame more.
const BEATS: usize = 7;
/// Beats of packets that entitle one acknowledgement to go first.
const SHARE: u64 = 3;
/// Bits of the count of beats of packets that no acknowledgement has used yet.
const DUE: usize = 8;
/// Beats that a congestion notification is counted as.
const NOTICE_WEIGHT: u64 = 2;
/// The low bits of a congestion notification's opcode.
const NOTIFICATION: u64 = (cnp::OPCODE & 0x1f) as u64;

/// Puts acknowledgements between packets, and lets packets and responses take turns. What is said of packets here
/// holds for responses as well.
///
/// Contract: an item a cycle. While both wait, one acknowledgement goes for every 3 beats of packets: one beat in 4.
/// The beats of packets that were accepted while no acknowledgement waited count as well, up to 128 and a packet; so
/// several acknowledgements go at once behind a long packet. Items are accepted while fewer than 24 beats wait behind
/// the frame that is being sent. So an acknowledgement waits for at most two packets, beside the acknowledgements and
/// `sent` items that are before it.
///
/// A congestion notification takes the turn of an acknowledgement, before those that wait; there are few of them.
///
/// `item` comes in the cycle in which it is accepted, and must be taken; `begun` says that the frame of an item has
/// begun.
#[derive(LogicBlock, BlockDefault)]
pub struct Order {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Packets and `sent` items.
    pub packet: Stream<In, Packet>,
    /// Acknowledgements.
    pub acknowledgement: Stream<In, Acknowledgement>,
    /// Congestion notifications, which go before acknowledgements.
    pub notice: Stream<In, Notice>,
    /// Responses: packets of answers to READs and atomics, and acknowledgements that waited behind them.
    pub response: Stream<In, Response>,
    /// Weight of the item whose frame is begun or dropped in this cycle; otherwise 0.
    pub begun: Signal<In, Bits<WEIGHT>>,
    /// The item that is sent next.
    pub item: Flow<Out, Packet>,
    /// The item has no page: it is an acknowledgement, a congestion notification, or a response without payload.
    pub bare: Signal<Out, Bit>,
    /// The item is a congestion notification.
    pub notifies: Signal<Out, Bit>,
    /// The item's page is a reply page.
    pub responds: Signal<Out, Bit>,
    /// Weight of the item.
    pub weight: Signal<Out, Bits<WEIGHT>>,

    go: DFF<Bit>,
    ahead: DFF<Bits<BEATS>>,
    coming: Signal<Local, Bits<WEIGHT>>,
    due: DFF<Bits<DUE>>,
    /// An acknowledgement or a notification may go before a packet.
    first: DFF<Bit>,
    /// A response may go before a packet.
    turn: DFF<Bit>,
    /// A packet or a response waits; `response_next`: the response goes first.
    waits: Signal<Local, Bit>,
    response_next: Signal<Local, Bit>,
    /// An acknowledgement or a notification waits; `brief_next`: it goes now.
    brief: Signal<Local, Bit>,
    brief_next: Signal<Local, Bit>,
    acknowledges: Signal<Local, Bit>,
}

impl Logic for Order {
    #[hdl_gen]
    fn update(&mut self) {
        self.waits.next = self.packet.valid.val() || self.response.valid.val();
        self.response_next.next =
            self.response.valid.val() && (!self.packet.valid.val() || self.turn.q.val());
        self.brief.next = self.acknowledgement.valid.val() || self.notice.valid.val();
        self.packet.ready.next = self.go.q.val()
            && !self.response_next.val()
            && !(self.brief.val() && self.first.q.val());
        self.response.ready.next = self.go.q.val()
            && (!self.packet.valid.val() || self.turn.q.val())
            && !(self.brief.val() && self.first.q.val());
        self.notice.ready.next = self.go.q.val() && (!self.waits.val() || self.first.q.val());
        self.acknowledgement.ready.next = self.notice.ready.val() && !self.notice.valid.val();
        self.brief_next.next = self.brief.val() && (!self.waits.val() || self.first.q.val());
        self.notifies.next = self.brief_next.val() && self.notice.valid.val();
        self.acknowledges.next = self.brief_next.val() && !self.notice.valid.val();
        self.responds.next = self.response_next.val() && !self.brief_next.val();
        self.bare.next =
            self.brief_next.val() || (self.responds.val() && !self.response.paged.val());
        self.item.valid.next = self.go.q.val() && (self.waits.val() || self.brief.val());
        if self.item.valid.val() && !self.brief_next.val() {
            self.turn.d.next = !self.response_next.val();
        }

        // An AETH is as long as immediate data, and goes in their place.
        self.item.next = self.packet.val();
        self.weight.next = bit_cast::<WEIGHT, 7>(self.packet.bytes.val().get_bits::<7>(6)) + 2;
        if self.packet.marker.val() {
            self.weight.next = 1.into();
        }
        if self.responds.val() {
            // A response belongs to no request of this card.
            self.item.marker.next = false;
            self.item.again.next = true;
            self.item.late.next = true;
            self.item.page.next = bit_cast::<PAGE, REPLY_PAGE>(self.response.page.val());
            self.item.bytes.next = self.response.bytes.val();
            self.item.qp.next = self.response.qp.val();
            self.item.operation.next = self.response.operation.val();
            self.item.ack_req.next = false;
            self.item.solicited.next = false;
            self.item.psn.next = self.response.psn.val();
            self.item.imm.next = bit_cast::<32, 24>(self.response.msn.val())
                | (bit_cast::<32, 8>(self.response.syndrome.val()) << 24);
            self.item.has_imm.next = self.response.has_aeth.val();
            self.item.has_reth.next = false;
            self.item.total.next = bit_cast::<40, 32>(self.response.stamp.val());
            self.weight.next =
                bit_cast::<WEIGHT, 7>(self.response.bytes.val().get_bits::<7>(6)) + 2;
        }
        if self.acknowledges.val() {
            self.item.marker.next = false;
            self.item.bytes.next = 0.into();
            self.item.qp.next = self.acknowledgement.qp.val();
            self.item.operation.next = usize::from(operation::ACKNOWLEDGE).to_bits();
            self.item.ack_req.next = false;
            self.item.solicited.next = false;
            self.item.psn.next = self.acknowledgement.psn.val();
            self.item.imm.next = bit_cast::<32, 24>(self.acknowledgement.msn.val())
                | (bit_cast::<32, 8>(self.acknowledgement.syndrome.val()) << 24);
            self.item.has_imm.next = true;
            self.item.has_reth.next = false;
            self.item.total.next = bit_cast::<40, 32>(self.acknowledgement.stamp.val());
            self.weight.next = 1.into();
        }
        if self.notifies.val() {
            // The 16 bytes of zeros of a notification are as long as a RETH, and go in its place.
            self.item.marker.next = false;
            self.item.bytes.next = 0.into();
            self.item.qp.next = self.notice.qp.val();
            self.item.operation.next = NOTIFICATION.into();
            self.item.ack_req.next = false;
            self.item.solicited.next = false;
            self.item.psn.next = 0.into();
            self.item.has_imm.next = false;
            self.item.has_reth.next = true;
            self.item.remote_addr.next = 0.into();
            self.item.rkey.next = 0.into();
            self.item.message_bytes.next = 0.into();
            self.item.total.next = bit_cast::<40, 32>(self.notice.stamp.val());
            self.weight.next = NOTICE_WEIGHT.into();
        }

        self.coming.next = 0.into();
        if self.item.valid.val() {
            self.coming.next = self.weight.val();
        }
        self.ahead.d.next = self.ahead.q.val() + self.coming.val() - self.begun.val();
        self.go.d.next = self.ahead.d.val() < AHEAD;

        if self.item.valid.val() {
            if self.brief_next.val() {
                self.due.d.next = self.due.q.val() - SHARE;
                if !self.first.q.val() {
                    self.due.d.next = 0.into();
                }
            } else if !self.due.q.val().get_bit(DUE - 1) {
                self.due.d.next = self.due.q.val() + bit_cast::<DUE, WEIGHT>(self.weight.val());
            }
        }
        self.first.d.next = self.due.d.val() >= SHARE;

        if self.rst.val() {
            self.go.d.next = false;
            self.ahead.d.next = 0.into();
            self.due.d.next = 0.into();
            self.first.d.next = false;
            self.turn.d.next = false;
        }
    }
}
