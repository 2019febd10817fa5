//! Lets requests that are done leave their queues, in the order in which they were opened.
//!
//! A request that is done while an older one of its queue is not is *parked*: it is announced again when the older one
//! leaves. So every done request is in exactly one place: announced (`done`, or behind it, up to its FIFO's end), at
//! work, or parked.
//!
//! Receipts of receives get places in the same rings, in turns with the requests that are done. If a receipt finds no
//! room, the host has broken its promise to post receives no faster than it takes completions: the receipt is dropped,
//! and its queue pair fails.
//!
//! Contract: `next_queue` and `next_open_queue` are what `queue` and `open_queue` will be in the next cycle. A
//! completion every 3 cycles, and one more for each request that had to be parked; the entry follows
//! `done` after 6 cycles. An unsignaled request that succeeded leaves without an entry, whether there is room or not,
//! and so does one whose message goes on in another part. A request whose completion queue has no room is done again
//! behind those that wait. A receipt every 3 cycles, or every 6 while requests complete as well; its entry follows
//! after 4.

mod entries;
mod kernel;
mod queues;

use drdma_emit::prelude::*;

use super::RESULT;
use super::rings::Rings;
use crate::context::{CQ, INDEX, QP, QUEUE, Table};
use crate::primitive::RamStyle;
use crate::primitive::fifo::Fifo;
use crate::primitive::lutram::Lutram;
use crate::receive::record::Receipt;
use num_bigint::BigUint;

/// Bits of a request's name (64) and queue (12).
const NAME: usize = 76;

/// Bit of an entry that distinguishes the rounds of its ring; in a receipt's entry it comes as 0.
const PHASE: usize = 184;

const _: () = assert!(QUEUE == 12, "a queue's number stands elsewhere");

/// State of the current request or receipt.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum RetireState {
    /// Waits for a request or a receipt.
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
    /// A request is done, and may leave its queue.
    pub done: Signal<In, Bit>,
    /// With `done`: slot of the request.
    pub done_slot: Signal<In, Bits<8>>,
    /// Slot of the request whose result is wanted.
    pub result_slot: Signal<Out, Bits<8>>,
    /// Result of the request in `result_slot`: total 40, status 8, ended, forgotten, destination, goes on.
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
    /// Requests are open, or a receipt is current or waits.
    pub busy: Signal<Out, Bit>,
    /// A request was completed, with an entry or without.
    pub retired: Signal<Out, Bit>,

    /// Receipts of receives that are complete.
    pub receipt: Stream<In, Receipt>,
    /// No further receipt is begun.
    pub hold_receipts: Signal<In, Bit>,
    /// A receipt is current.
    pub receiving: Signal<Out, Bit>,
    /// A receipt finds no room; it is dropped with `overrun_ready`.
    pub overrun: Signal<Out, Bit>,
    /// With `overrun`: queue pair of the receipt.
    pub overrun_qp: Signal<Out, Bits<QP>>,
    /// The overrun is noticed in this cycle.
    pub overrun_ready: Signal<In, Bit>,

    /// No further request is begun.
    pub hold: Signal<In, Bit>,
    /// No request is current.
    pub idle: Signal<Out, Bit>,
    /// Value of `queue` in the next cycle.
    pub next_queue: Signal<In, Bits<QUEUE>>,
    /// Send queue that is looked up.
    pub queue: Signal<In, Bits<QUEUE>>,
    /// The queue has open requests.
    pub used: Signal<Out, Bit>,
    /// Slot of the queue's oldest request.
    pub head: Signal<Out, Bits<8>>,
    /// Slot of the queue's latest request.
    pub tail: Signal<Out, Bits<8>>,
    /// The queue has no open requests any more, and gives completions again.
    pub renew: Signal<In, Bit>,
    /// Slot of the request that is looked up.
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
    // requests that are opened, for the current one, and for `queue`.
    queues: [Table<17, QUEUE>; 3],
    silent: Table<1, QUEUE>,
    record_write: Signal<Local, Bit>,
    record_queue: Signal<Local, Bits<QUEUE>>,
    record_data: Signal<Local, Bits<17>>,
    rings: Rings,
    // `done` of the cycle before, because it is known late.
    is_done: DFF<Bit>,
    is_done_slot: DFF<Bits<8>>,
    /// There is at most one entry for each slot.
    #[init(Fifo::new(RamStyle::Distributed))]
    announced: Fifo<8, 8, 9>,
    // The next request.
    next: DFF<Bit>,
    next_slot: DFF<Bits<8>>,
    // The current request.
    at_slot: DFF<Bits<8>>,
    name: DFF<Bits<NAME>>,
    mark: DFF<Bits<33>>,
    result_of: DFF<Bits<RESULT>>,
    failed: DFF<Bit>,
    is_oldest: DFF<Bit>,
    is_silent: DFF<Bit>,
    /// The current request has succeeded, and is unsignaled, or its message goes on.
    is_quiet: DFF<Bit>,
    /// The current request has succeeded, and its message goes on in another part: it is not counted as a request.
    is_part: Signal<Local, Bit>,
    // The request behind the one that left its queue: it is announced again if it is parked.
    follows: DFF<Bit>,
    follows_slot: DFF<Bits<8>>,
    // Values of `queue` and `slot` of the cycle before.
    record_of: DFF<Bits<17>>,
    follower_of: DFF<Bits<8>>,
    parked_of: DFF<Bit>,
    renewed: DFF<Bits<QUEUE>>,
    // A queue begins anew: `renew` of the cycle before.
    renews: DFF<Bit>,
    renews_queue: DFF<Bits<QUEUE>>,

    // The next receipt, the current one, and whether the last thing begun was a receipt.
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
