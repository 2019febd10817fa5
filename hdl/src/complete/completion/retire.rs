//! Lets requests that are done leave their queues, in the order in which they were opened.
//!
//! A request that is done while an older one of its queue is not is *parked*: it is announced again when the older one
//! leaves. So every done request is in exactly one place: announced (`done`, or in its FIFO), at work, or parked.
//!
//! Receipts of receives get places in the same rings, in turns with the requests that are done. If a receipt finds no
//! room, the host has broken its promise to post receives no faster than it takes completions: the receipt is dropped,
//! and its queue pair fails.
//!
//! Contract: `next_queue` and `next_open_queue` are what `queue` and `open_queue` will be in the next cycle. A
//! completion every 3 cycles, and one more for each request that had to be parked; the entry follows
//! `done` after 6 cycles. An unsignaled request that succeeded leaves without an entry, whether there is room or not, and so does one whose
//! message goes on in another part. A request whose completion queue has no room is done again
//! behind those that wait. A receipt every 3 cycles, or every 6 while requests complete as well; its entry follows after 4.

use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

use super::rings::Rings;
use super::{GOES_ON, RESULT};
use crate::context::{CQ, INDEX, QP, QUEUE, Table};
use crate::primitive::fifo::Fifo;
use crate::primitive::lutram::Lutram;
use crate::receive::record::Receipt;
use num_bigint::BigUint;

/// Bits of a request's name (64) and queue (12).
const NAME: usize = 76;

/// Bit of an entry that distinguishes the rounds of its ring; in a receipt's entry it comes as 0.
const PHASE: usize = 184;

const _: () = assert!(QUEUE == 12, "a queue's number stands elsewhere");

/// State of the request or receipt at hand.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum RetireState {
    /// None is at hand.
    Idle,
    /// Finds out whether the request is the oldest one of its queue.
    Find,
    /// Waits until the request's place in the completion ring is known.
    Settle,
    /// Writes the request's entry.
    Write,
    /// Lets the request leave its queue.
    Leave,
    /// Takes a receipt.
    Receipt,
    /// Waits until the receipt's place in the completion ring is known.
    ReceiptSettle,
    /// Writes the receipt's entry.
    ReceiptWrite,
}

/// Keeps the lists of open requests, and completes those that are done; see the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `cfg_*`; `open*`, `done*` (pulses); `result` of `result_slot`; `write_ready`, `slot_free_ready`;
/// `hold`: no request is begun; and, while `idle` and `hold`: `queue`, `slot`, `renew`, `unpark`; stream `receipt`;
/// `hold_receipts`: no receipt is begun; while `hold_receipts` and not `receiving`: `restart*`; `overrun_ready`;
/// `clear`, `clear_index` (all 4,096 after a reset).
///
/// # Outputs
/// `result_slot`; streams `write`, `slot_free`; `idle`, `receiving`, `busy`, `retired`; `overrun`, `overrun_qp`;
/// `used`, `head`, `tail` of `queue` of the cycle before, and `follower`, `parked` of `slot` of the cycle before.
#[derive(LogicBlock, BlockDefault)]
pub struct Retire {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The host wrote a word into a table.
    pub cfg_valid: Signal<In, Bit>,
    /// Number of the word's table.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Index of the word's entry.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// Number of the word in its entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// Value that was written.
    pub cfg_data: Signal<In, Bits<32>>,

    /// A request is opened.
    pub open: Signal<In, Bit>,
    /// With `open`: slot of the request.
    pub open_slot: Signal<In, Bits<8>>,
    /// Value of `open_queue` in the next cycle.
    pub next_open_queue: Signal<In, Bits<QUEUE>>,
    /// With `open`: send queue of the request.
    pub open_queue: Signal<In, Bits<QUEUE>>,
    /// With `open`: name (`wr_id`) of the request.
    pub open_wr_id: Signal<In, Bits<64>>,
    /// With `open`: ring position of the request's first block.
    pub open_position: Signal<In, Bits<32>>,
    /// With `open`: the request is unsignaled, and gets an entry only if it fails.
    pub open_unsignaled: Signal<In, Bit>,
    /// A request is done.
    pub done: Signal<In, Bit>,
    /// With `done`: slot of the request.
    pub done_slot: Signal<In, Bits<8>>,
    /// Slot of the request whose result is wanted.
    pub result_slot: Signal<Out, Bits<8>>,
    /// That result: total 40, status 8, ended, forgotten, destination, goes on.
    pub result: Signal<In, Bits<RESULT>>,

    /// A free slot is offered.
    pub slot_free_valid: Signal<Out, Bit>,
    /// The slot is taken in this cycle.
    pub slot_free_ready: Signal<In, Bit>,
    /// Number of the free slot.
    pub slot_free_slot: Signal<Out, Bits<8>>,
    /// An entry is offered.
    pub write_valid: Signal<Out, Bit>,
    /// The entry is taken in this cycle.
    pub write_ready: Signal<In, Bit>,
    /// Host address of the entry.
    pub write_addr: Signal<Out, Bits<64>>,
    /// The 32 bytes of the entry.
    pub write_data: Signal<Out, Bits<256>>,
    /// Requests are open, or a receipt is at hand or waits.
    pub busy: Signal<Out, Bit>,
    /// A request was completed, with an entry or without.
    pub retired: Signal<Out, Bit>,

    /// Receipts of receives that are complete.
    pub receipt: Stream<In, Receipt>,
    /// No further receipt is begun.
    pub hold_receipts: Signal<In, Bit>,
    /// A receipt is at hand.
    pub receiving: Signal<Out, Bit>,
    /// A receipt finds no room; it is dropped with `overrun_ready`.
    pub overrun: Signal<Out, Bit>,
    /// With `overrun`: queue pair of the receipt.
    pub overrun_qp: Signal<Out, Bits<QP>>,
    /// The overrun is noticed in this cycle.
    pub overrun_ready: Signal<In, Bit>,

    /// No further request is begun.
    pub hold: Signal<In, Bit>,
    /// No request is at hand.
    pub idle: Signal<Out, Bit>,
    /// Value of `queue` in the next cycle.
    pub next_queue: Signal<In, Bits<QUEUE>>,
    /// Send queue in question.
    pub queue: Signal<In, Bits<QUEUE>>,
    /// The queue has open requests.
    pub used: Signal<Out, Bit>,
    /// Slot of the queue's oldest request.
    pub head: Signal<Out, Bits<8>>,
    /// Slot of the queue's latest request.
    pub tail: Signal<Out, Bits<8>>,
    /// The queue has no open requests any more, and gives completions again.
    pub renew: Signal<In, Bit>,
    /// Slot of the request in question.
    pub slot: Signal<In, Bits<8>>,
    /// Slot of the request behind it in its queue.
    pub follower: Signal<Out, Bits<8>>,
    /// The request is parked.
    pub parked: Signal<Out, Bit>,
    /// The request is parked no longer.
    pub unpark: Signal<In, Bit>,
    /// A completion queue starts anew; see `restart_index`.
    pub restart: Signal<In, Bit>,
    /// With `restart`: the completion queue.
    pub restart_index: Signal<In, Bits<CQ>>,
    /// The entries of number `clear_index` are cleared in all tables.
    pub clear: Signal<In, Bit>,
    /// With `clear`: the number of the entries.
    pub clear_index: Signal<In, Bits<QUEUE>>,

    state: DFF<RetireState>,
    open_count: DFF<Bits<9>>,
    // Requests, by slot: name 64 bits, queue 12; the next one of the queue; whether the request is parked.
    names: Lutram<NAME, 8, 1>,
    // Also by slot: position 32 bits; whether the request is unsignaled.
    marks: Lutram<33, 8, 1>,
    slot_next: Lutram<8, 8, 2>,
    parking: Lutram<1, 8, 2>,
    slots: Fifo<8, 8, 9>,
    // Queues: tail 8 bits, head 8, used; whether the queue has failed and gives no further completions. Read for
    // requests that are opened, for the one at hand, and for `queue`.
    queues: [Table<17, QUEUE>; 3],
    silent: Table<1, QUEUE>,
    record_write: Signal<Local, Bit>,
    record_queue: Signal<Local, Bits<QUEUE>>,
    record_data: Signal<Local, Bits<17>>,
    rings: Rings,
    announced: Fifo<8, 9, 10>,
    // The next request.
    next: DFF<Bit>,
    next_slot: DFF<Bits<8>>,
    // The request at hand.
    at_slot: DFF<Bits<8>>,
    name: DFF<Bits<NAME>>,
    mark: DFF<Bits<33>>,
    result_of: DFF<Bits<RESULT>>,
    failed: DFF<Bit>,
    is_oldest: DFF<Bit>,
    is_silent: DFF<Bit>,
    /// It has succeeded, and is unsignaled, or its message goes on.
    is_quiet: DFF<Bit>,
    /// It has succeeded, and its message goes on in another part: it is no request that is counted.
    is_part: Signal<Local, Bit>,
    // The one that is the oldest one now.
    follows: DFF<Bit>,
    follows_slot: DFF<Bits<8>>,
    // Values of `queue` and `slot` of the cycle before.
    record_of: DFF<Bits<17>>,
    follower_of: DFF<Bits<8>>,
    parked_of: DFF<Bit>,
    renewed: DFF<Bits<QUEUE>>,
    // A queue begins anew; a cycle later.
    renews: DFF<Bit>,
    renews_queue: DFF<Bits<QUEUE>>,

    // The next receipt, the one at hand, and whether the last thing begun was a receipt.
    waits: DFF<Bit>,
    waiting: DFF<Receipt>,
    is_receipt: DFF<Bit>,
    receipt_of: DFF<Receipt>,
    has_receipt: Signal<Local, Bit>,
    has_request: Signal<Local, Bit>,
    #[init(Constant::new((BigUint::from(1_u8) << PHASE).into()))]
    phase: Constant<Bits<256>>,
    // An entry without its phase.
    line: Signal<Local, Bits<256>>,

    over: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    frees: Signal<Local, Bit>,
    record: Signal<Local, Bits<17>>,
    opened: Signal<Local, Bits<17>>,
    is_last: Signal<Local, Bit>,
}

impl Logic for Retire {
    #[hdl_gen]
    fn update(&mut self) {
        // A request is opened: it becomes the latest one of its queue.
        self.names.write_enable.next = self.open.val();
        self.names.write_address.next = self.open_slot.val();
        self.names.write_data.next = bit_cast::<NAME, 64>(self.open_wr_id.val())
            | (bit_cast::<NAME, QUEUE>(self.open_queue.val()) << 64);
        self.marks.write_enable.next = self.open.val();
        self.marks.write_address.next = self.open_slot.val();
        self.marks.write_data.next = bit_cast::<33, 32>(self.open_position.val())
            | (bit_cast::<33, 1>(self.open_unsignaled.val().into()) << 32);
        self.queues[0].ahead.next = self.next_open_queue.val();
        self.opened.next = self.queues[0].read_data.val();
        self.record_write.next = self.open.val();
        self.record_queue.next = self.open_queue.val();
        self.record_data.next = bit_cast::<17, 8>(self.open_slot.val())
            | (bit_cast::<17, 8>(self.opened.val().get_bits::<8>(8)) << 8)
            | (bit_cast::<17, 1>(1.into()) << 16);
        if !self.opened.val().get_bit(16) {
            self.record_data.next = bit_cast::<17, 8>(self.open_slot.val())
                | (bit_cast::<17, 8>(self.open_slot.val()) << 8)
                | (bit_cast::<17, 1>(1.into()) << 16);
        }
        self.slot_next.write_enable.next = self.open.val() && self.opened.val().get_bit(16);
        self.slot_next.write_address.next = self.opened.val().get_bits::<8>(0);
        self.slot_next.write_data.next = self.open_slot.val();

        // Requests that are done.
        self.announced.in_valid.next = self.done.val();
        self.announced.in_data.next = self.done_slot.val();
        self.names.read_address[0].next = self.next_slot.q.val();
        self.marks.read_address[0].next = self.next_slot.q.val();
        self.result_slot.next = self.next_slot.q.val();

        // The queue of the request at hand.
        self.rings.cfg_valid.next = self.cfg_valid.val();
        self.rings.cfg_table.next = self.cfg_table.val();
        self.rings.cfg_index.next = self.cfg_index.val();
        self.rings.cfg_word.next = self.cfg_word.val();
        self.rings.cfg_data.next = self.cfg_data.val();
        self.rings.advance.next = false;
        self.rings.restart_valid.next = self.restart.val();
        self.rings.restart_index.next = self.restart_index.val();
        self.record.next = self.queues[1].read_data.val();
        self.is_oldest.d.next = self.record.val().get_bit(16)
            && (self.record.val().get_bits::<8>(8) == self.at_slot.q.val());
        self.is_last.next =
            self.record.val().get_bits::<8>(0) == self.record.val().get_bits::<8>(8);
        self.is_part.next = self.result_of.q.val().get_bit(GOES_ON) && !self.failed.q.val();
        self.is_quiet.d.next =
            self.is_part.val() || (self.mark.q.val().get_bit(32) && !self.failed.q.val());
        self.is_silent.d.next = self.silent.read_data.val().get_bit(0);
        self.silent.write_enable.next = false;
        self.silent.write_address.next = self.name.q.val().get_bits::<QUEUE>(64);
        self.silent.write_data.next = 1.into();
        self.slot_next.read_address[0].next = self.at_slot.q.val();
        self.parking.read_address[0].next = self.follows_slot.q.val();
        self.parking.write_enable.next = false;
        self.parking.write_address.next = self.at_slot.q.val();
        self.parking.write_data.next = 1.into();

        // The entry: for a request the destination that failed, or the bytes that were sent; or a receipt.
        self.write_valid.next = false;
        self.write_addr.next = self.rings.addr.val();
        self.line.next = bit_cast::<256, 64>(self.name.q.val().get_bits::<64>(0))
            | (bit_cast::<256, QUEUE>(self.name.q.val().get_bits::<QUEUE>(64)) << 128)
            | (bit_cast::<256, 8>(self.result_of.q.val().get_bits::<8>(40)) << 176)
            | (bit_cast::<256, 32>(self.mark.q.val().get_bits::<32>(0)) << 192);
        if self.failed.q.val() {
            self.line.next = self.line.val()
                | (bit_cast::<256, DEST_COUNT>(self.result_of.q.val().get_bits::<DEST_COUNT>(50))
                    << 160);
        } else {
            self.line.next = self.line.val()
                | (bit_cast::<256, 40>(self.result_of.q.val().get_bits::<40>(0)) << 64);
        }
        if self.is_receipt.q.val() {
            self.line.next = self.receipt_of.q.val().line;
        }
        self.write_data.next = self.line.val();
        if !self.rings.lap.val() {
            self.write_data.next = self.line.val() | self.phase.val();
        }
        self.overrun.next = false;
        self.overrun_qp.next = self.receipt_of.q.val().qp;
        self.rings.is_direct.next = self.is_receipt.q.val();
        self.rings.direct.next = self.receipt_of.q.val().cq;

        // If the request behind the one that left is parked, it is announced again.
        if self.follows.q.val() {
            self.parking.write_address.next = self.follows_slot.q.val();
            self.parking.write_data.next = 0.into();
            if !self.parking.read_data[0].val().get_bit(0) {
                self.follows.d.next = false;
            } else if !self.done.val() {
                self.follows.d.next = false;
                self.announced.in_valid.next = true;
                self.announced.in_data.next = self.follows_slot.q.val();
                self.parking.write_enable.next = true;
            }
        }

        self.over.next = false;
        self.leaves.next = false;
        self.frees.next = false;
        self.retired.next = false;
        match self.state.q.val() {
            RetireState::Idle => {
                self.over.next = true;
            }
            RetireState::Find => {
                self.state.d.next = RetireState::Settle;
                if self.result_of.q.val().get_bit(49) {
                    // The request's queue has forgotten it.
                    self.frees.next = true;
                    self.over.next = true;
                }
            }
            RetireState::Settle => {
                self.state.d.next = RetireState::Write;
                if !self.is_oldest.q.val() {
                    self.state.d.next = RetireState::Settle;
                    if !self.follows.q.val() {
                        self.parking.write_enable.next = true;
                        self.over.next = true;
                    }
                }
            }
            RetireState::Write => {
                // The request before has left, and the one behind it was dealt with.
                if !self.follows.q.val() {
                    if self.is_silent.q.val() || self.is_quiet.q.val() {
                        self.retired.next = !self.is_silent.q.val() && !self.is_part.val();
                        self.state.d.next = RetireState::Leave;
                        self.leaves.next = !self.open.val();
                    } else if self.rings.full.val() {
                        // No room: the request is announced again, behind others.
                        if !self.done.val() {
                            self.announced.in_valid.next = true;
                            self.announced.in_data.next = self.at_slot.q.val();
                            self.over.next = true;
                        }
                    } else {
                        self.write_valid.next = true;
                        if self.write_ready.val() {
                            self.retired.next = true;
                            self.rings.advance.next = true;
                            self.silent.write_enable.next = self.failed.q.val();
                            self.state.d.next = RetireState::Leave;
                            self.leaves.next = !self.open.val();
                        }
                    }
                }
            }
            RetireState::Leave => {
                self.leaves.next = !self.open.val();
            }
            RetireState::Receipt => {
                self.state.d.next = RetireState::ReceiptSettle;
            }
            RetireState::ReceiptSettle => {
                self.state.d.next = RetireState::ReceiptWrite;
            }
            RetireState::ReceiptWrite => {
                if self.rings.full.val() {
                    self.overrun.next = true;
                    self.over.next = self.overrun_ready.val();
                } else {
                    self.write_valid.next = true;
                    self.rings.advance.next = self.write_ready.val();
                    self.over.next = self.write_ready.val();
                }
            }
        }
        // A request that is being opened has priority for the lists.
        if self.leaves.val() {
            self.frees.next = true;
            self.over.next = true;
            self.record_write.next = true;
            self.record_queue.next = self.name.q.val().get_bits::<QUEUE>(64);
            self.record_data.next = 0.into();
            self.follows_slot.d.next = self.slot_next.read_data[0].val();
            if !self.is_last.val() {
                self.follows.d.next = true;
                self.record_data.next = bit_cast::<17, 8>(self.record.val().get_bits::<8>(0))
                    | (bit_cast::<17, 8>(self.slot_next.read_data[0].val()) << 8)
                    | (bit_cast::<17, 1>(1.into()) << 16);
            }
        }
        self.announced.out_ready.next = !self.next.q.val();
        if !self.next.q.val() {
            self.next.d.next = self.announced.out_valid.val();
            self.next_slot.d.next = self.announced.out_data.val();
        }
        // The next receipt waits in a register, so that its ready does not depend on the writer's.
        self.receipt.ready.next = !self.waits.q.val();
        if !self.waits.q.val() {
            self.waits.d.next = self.receipt.valid.val();
            self.waiting.d.next = self.receipt.val();
        }
        self.has_receipt.next = self.waits.q.val() && !self.hold_receipts.val();
        self.has_request.next = self.next.q.val() && !self.hold.val();
        if self.over.val() {
            self.state.d.next = RetireState::Idle;
            if self.has_receipt.val() && (!self.has_request.val() || !self.is_receipt.q.val()) {
                self.waits.d.next = false;
                self.state.d.next = RetireState::Receipt;
                self.is_receipt.d.next = true;
                self.receipt_of.d.next = self.waiting.q.val();
            } else if self.has_request.val() {
                self.announced.out_ready.next = true;
                self.next.d.next = self.announced.out_valid.val();
                self.next_slot.d.next = self.announced.out_data.val();
                self.state.d.next = RetireState::Find;
                self.is_receipt.d.next = false;
                self.at_slot.d.next = self.next_slot.q.val();
                self.name.d.next = self.names.read_data[0].val();
                self.mark.d.next = self.marks.read_data[0].val();
                self.result_of.d.next = self.result.val();
                self.failed.d.next = self.result.val().get_bits::<8>(40).any();
            }
        }
        self.receiving.next = (self.state.q.val() == RetireState::Receipt)
            || (self.state.q.val() == RetireState::ReceiptSettle)
            || (self.state.q.val() == RetireState::ReceiptWrite);
        self.idle.next = ((self.state.q.val() == RetireState::Idle) || self.receiving.val())
            && !self.follows.q.val();

        // Slots.
        self.slots.in_valid.next = self.frees.val();
        self.slots.in_data.next = self.at_slot.q.val();
        self.slots.out_ready.next = self.slot_free_ready.val();
        self.slot_free_valid.next = self.slots.out_valid.val();
        self.slot_free_slot.next = self.slots.out_data.val();
        if self.open.val() && !self.frees.val() {
            self.open_count.d.next = self.open_count.q.val() + 1;
        }
        if !self.open.val() && self.frees.val() {
            self.open_count.d.next = self.open_count.q.val() - 1;
        }
        self.busy.next =
            self.open_count.q.val().any() || self.receiving.val() || self.waits.q.val();

        // Queues that are forgotten.
        self.renewed.d.next = self.queue.val();
        self.queues[2].ahead.next = self.next_queue.val();
        self.record_of.d.next = self.queues[2].read_data.val();
        self.used.next = self.record_of.q.val().get_bit(16);
        self.head.next = self.record_of.q.val().get_bits::<8>(8);
        self.tail.next = self.record_of.q.val().get_bits::<8>(0);
        self.slot_next.read_address[1].next = self.slot.val();
        self.follower_of.d.next = self.slot_next.read_data[1].val();
        self.follower.next = self.follower_of.q.val();
        self.parking.read_address[1].next = self.slot.val();
        self.parked_of.d.next = self.parking.read_data[1].val().get_bit(0);
        self.parked.next = self.parked_of.q.val();
        if self.unpark.val() {
            self.parking.write_enable.next = true;
            self.parking.write_address.next = self.slot.val();
            self.parking.write_data.next = 0.into();
        }
        self.renews.d.next = self.renew.val() && !self.rst.val();
        self.renews_queue.d.next = self.renewed.q.val();
        if self.renews.q.val() {
            self.record_write.next = true;
            self.record_queue.next = self.renews_queue.q.val();
            self.record_data.next = 0.into();
            self.silent.write_enable.next = true;
            self.silent.write_address.next = self.renews_queue.q.val();
            self.silent.write_data.next = 0.into();
        }
        if self.clear.val() {
            self.parking.write_enable.next = true;
            self.parking.write_address.next = self.clear_index.val().get_bits::<8>(0);
            self.parking.write_data.next = 0.into();
            self.record_write.next = true;
            self.record_queue.next = self.clear_index.val();
            self.record_data.next = 0.into();
            self.silent.write_enable.next = true;
            self.silent.write_address.next = self.clear_index.val();
            self.silent.write_data.next = 0.into();
            self.rings.restart_valid.next = true;
            self.rings.restart_index.next = self.clear_index.val().get_bits::<CQ>(0);
            if self.clear_index.val() < 256 {
                self.slots.in_valid.next = true;
                self.slots.in_data.next = self.clear_index.val().get_bits::<8>(0);
            }
        }

        // The queue of the request that is at hand in the next cycle.
        self.rings.next_queue.next = self.name.d.val().get_bits::<QUEUE>(64);
        self.queues[1].ahead.next = self.name.d.val().get_bits::<QUEUE>(64);
        self.silent.ahead.next = self.name.d.val().get_bits::<QUEUE>(64);
        for k in 0..3 {
            self.queues[k].write_enable.next = self.record_write.val();
            self.queues[k].write_address.next = self.record_queue.val();
            self.queues[k].write_data.next = self.record_data.val();
        }

        if self.rst.val() {
            self.state.d.next = RetireState::Idle;
            self.open_count.d.next = 0.into();
            self.next.d.next = false;
            self.follows.d.next = false;
            self.waits.d.next = false;
            self.is_receipt.d.next = false;
        }
    }
}
