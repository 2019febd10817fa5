//! What was read becomes packets.

use super::{Broken, Left, Plan, Response};
use crate::context::{QP, QueuePairIndex, Table};
use crate::send::{REPLY_PAGE, REPLY_ROW};
use crate::shell::host_read::HostReadBeat;
use drdma_abi::roce::{operation, syndrome};
use drdma_emit::prelude::*;

const ACKNOWLEDGE: u64 = operation::ACKNOWLEDGE as u64;
const NAK_ACCESS: u64 = syndrome::NAK_REMOTE_ACCESS as u64;
const NAK_OPERATION: u64 = syndrome::NAK_REMOTE_OPERATION as u64;
/// Bits of a stamp, and whether there is one.
const BROKEN: usize = 33;

/// What is done about the packet at hand.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CollectorState {
    /// It is waited for, and its queue pair is looked up.
    Look,
    /// What is known of its queue pair is there.
    Decide,
    /// Its bytes come.
    Beats,
    /// It is sent, or a NAK in its place.
    Offer,
    /// Its queue pair is put into error.
    Break,
}

/// Puts what was read into pages, and sends packets when they are whole.
///
/// Contract: a packet takes as many cycles as it has beats of 64 B, and 3; pages are used in turns. It is offered in the cycle after its
/// last beat. What could not be read, or may not be, becomes a NAK; what comes behind that with the same queue pair
/// and stamp is dropped.
///
/// # Inputs
/// `clk`, `rst`; streams `plan`, `beat`; `clear_valid`, `clear_qp`: the table's entry is cleared, and nothing else comes.
///
/// # Outputs
/// Streams `response`, `set_qp_error`; `write_valid`, `write_row`: the beat goes to that row; `page_unused`: the page that a packet
/// has had its bytes in is free; `left`: all of a reply was taken, or dropped; `broken`: a NAK was taken.
#[derive(LogicBlock, BlockDefault)]
pub struct Collector {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A queue pair's entry of all tables is cleared.
    pub clear_valid: Signal<In, Bit>,
    /// Which.
    pub clear_qp: Signal<In, Bits<QP>>,
    /// Packets.
    pub plan: Stream<In, Plan>,
    /// Their bytes.
    pub beat: Stream<In, HostReadBeat>,
    /// What is sent.
    pub response: Stream<Out, Response>,
    /// A beat is kept.
    pub write_valid: Signal<Out, Bit>,
    /// Its page and row.
    pub write_row: Signal<Out, Bits<REPLY_ROW>>,
    /// A page is not used.
    pub page_unused: Signal<Out, Bit>,
    /// A reply is done with.
    pub left: Flow<Out, Left>,
    /// A queue pair could not be answered.
    pub broken: Flow<Out, Broken>,
    /// It breaks.
    pub set_qp_error: Stream<Out, QueuePairIndex>,

    /// Of each queue pair: the stamp with which it broke.
    stamps: Table<BROKEN, QP>,
    state: DFF<CollectorState>,
    dead: Signal<Local, Bit>,
    drops: DFF<Bit>,
    /// A NAK takes the packet's place; that of memory that is not there.
    refuses: DFF<Bit>,
    unread: DFF<Bit>,
    page: DFF<Bits<REPLY_PAGE>>,
    row: DFF<Bits<6>>,
    paged: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
    unused: Signal<Local, Bits<512>>,
}

impl Logic for Collector {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.beat.data.val();
        self.stamps.ahead.next = self.plan.qp.val();
        self.dead.next = self.stamps.read_data.val().get_bit(32)
            && (self.stamps.read_data.val().get_bits::<32>(0) == self.plan.stamp.val());

        // Bytes.
        self.beat.ready.next = self.state.q.val() == CollectorState::Beats;
        self.write_valid.next = self.beat.ready.val() && self.beat.valid.val();
        self.write_row.next = (bit_cast::<REPLY_ROW, REPLY_PAGE>(self.page.q.val()) << 6)
            | bit_cast::<REPLY_ROW, 6>(self.row.q.val());
        self.last.next = self.write_valid.val() && self.beat.last.val();
        self.page_unused.next = self.last.val() && (self.drops.q.val() || self.beat.error.val());

        // The packet.
        self.paged.next = self.plan.bytes.val().any() && !self.refuses.q.val();
        self.response.valid.next = self.state.q.val() == CollectorState::Offer;
        self.response.qp.next = self.plan.qp.val();
        self.response.stamp.next = self.plan.stamp.val();
        self.response.operation.next = self.plan.operation.val();
        self.response.psn.next = self.plan.psn.val();
        self.response.has_aeth.next = self.plan.has_aeth.val() || self.refuses.q.val();
        self.response.syndrome.next = self.plan.syndrome.val();
        self.response.msn.next = self.plan.msn.val();
        self.response.bytes.next = self.plan.bytes.val();
        self.response.paged.next = self.paged.val();
        self.response.page.next = self.page.q.val();
        if self.refuses.q.val() {
            self.response.operation.next = ACKNOWLEDGE.into();
            self.response.bytes.next = 0.into();
            self.response.syndrome.next = NAK_ACCESS.into();
            if self.unread.q.val() {
                self.response.syndrome.next = NAK_OPERATION.into();
            }
        }
        self.taken.next =
            (self.state.q.val() == CollectorState::Offer) && self.response.ready.val();
        self.broken.valid.next = self.taken.val() && self.refuses.q.val();
        self.broken.qp.next = self.plan.qp.val();
        self.broken.stamp.next = self.plan.stamp.val();
        self.stamps.write_enable.next = self.clear_valid.val() || self.broken.valid.val();
        self.stamps.write_address.next = self.plan.qp.val();
        self.stamps.write_data.next =
            bit_cast::<BROKEN, 32>(self.plan.stamp.val()) | (bits::<BROKEN>(1) << 32);
        if self.clear_valid.val() {
            self.stamps.write_address.next = self.clear_qp.val();
            self.stamps.write_data.next = 0.into();
        }
        self.set_qp_error.valid.next = self.state.q.val() == CollectorState::Break;
        self.set_qp_error.qp.next = self.plan.qp.val();

        self.done.next = false;
        match self.state.q.val() {
            CollectorState::Look => {
                self.row.d.next = 0.into();
                self.unread.d.next = false;
                self.refuses.d.next = self.plan.refused.val();
                if self.plan.valid.val() {
                    self.state.d.next = CollectorState::Decide;
                }
            }
            CollectorState::Decide => {
                self.drops.d.next = self.dead.val();
                if self.plan.bytes.val().any() {
                    self.state.d.next = CollectorState::Beats;
                } else if self.dead.val() {
                    self.done.next = true;
                } else {
                    self.state.d.next = CollectorState::Offer;
                }
            }
            CollectorState::Beats => {
                if self.write_valid.val() {
                    self.row.d.next = self.row.q.val() + 1;
                }
                if self.last.val() {
                    self.refuses.d.next = self.beat.error.val();
                    self.unread.d.next = self.beat.error.val();
                    self.done.next = self.drops.q.val();
                    self.state.d.next = CollectorState::Offer;
                }
            }
            CollectorState::Offer => {
                if self.taken.val() {
                    if self.refuses.q.val() {
                        self.state.d.next = CollectorState::Break;
                    } else {
                        self.done.next = true;
                        if self.paged.val() {
                            self.page.d.next = self.page.q.val() + 1;
                        }
                    }
                }
            }
            CollectorState::Break => {
                self.done.next = self.set_qp_error.ready.val();
            }
        }
        if self.done.val() {
            self.state.d.next = CollectorState::Look;
        }
        self.plan.ready.next = self.done.val();
        self.left.valid.next = self.done.val()
            && (self.plan.ends.val() || (self.state.q.val() == CollectorState::Break));
        self.left.qp.next = self.plan.qp.val();
        self.left.number.next = self.plan.number.val();
        if self.rst.val() {
            self.state.d.next = CollectorState::Look;
            self.page.d.next = 0.into();
        }
    }
}
