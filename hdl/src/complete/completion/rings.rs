//! Keeps the completion rings: where a queue's next entry goes, and whether there is room for it.
//!
//! Contract: `next_queue` is the value of `queue` in the next cycle. `addr`, `lap` and `full` follow `queue`, or with
//! `is_direct` the ring of `direct`, after 2 cycles. A step counts from the third cycle after it on, and is for the
//! ring of `queue` of the cycle before it.

use crate::context::{CQ, INDEX, QUEUE, RingTable, Table, TableSelect, bit_of, word_of};
use drdma_abi::register::{CompletionQueueEntry, SendQueueEntry};
use drdma_emit::prelude::*;

/// Bits of the binary logarithm of a ring's entries.
const LOG: usize = 5;

/// Completion rings; see the module.
///
/// # Inputs
/// `clk`; `cfg_*`; `next_queue`; `is_direct`, `direct`; `advance`; `restart_valid`, `restart_index`.
///
/// # Outputs
/// `addr`, `lap`, `full`.
#[derive(LogicBlock, BlockDefault)]
pub struct Rings {
    /// Clock.
    pub clk: Signal<In, Clock>,
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
    /// Send queue whose completion queue is wanted in the next cycle.
    pub next_queue: Signal<In, Bits<QUEUE>>,
    /// The completion queue `direct` is looked up in this cycle, instead of that of the send queue.
    pub is_direct: Signal<In, Bit>,
    /// With `is_direct`: the completion queue.
    pub direct: Signal<In, Bits<CQ>>,
    /// Host address of the ring's next entry.
    pub addr: Signal<Out, Bits<64>>,
    /// The ring has been filled an odd number of times.
    pub lap: Signal<Out, Bit>,
    /// The ring is full: the host has not read the entry that would be overwritten.
    pub full: Signal<Out, Bit>,
    /// An entry was written into the ring.
    pub advance: Signal<In, Bit>,
    /// A completion queue starts anew.
    pub restart_valid: Signal<In, Bit>,
    /// With `restart_valid`: the completion queue.
    pub restart_index: Signal<In, Bits<CQ>>,

    select: TableSelect,
    #[init(word_of::<SendQueueEntry>("completion_queue"))]
    cq_word: Constant<Bits<4>>,
    #[init(bit_of::<SendQueueEntry>("completion_queue"))]
    cq_at: Constant<Bits<5>>,
    #[init(word_of::<CompletionQueueEntry>("consumer"))]
    consumer_word: Constant<Bits<4>>,
    cqs: Table<CQ, QUEUE>,
    // The ring of the queue of a cycle before, and its positions.
    rings: RingTable<CQ>,
    unused_log: Signal<Local, Bits<8>>,
    log: Signal<Local, Bits<LOG>>,
    consumer: Table<32, CQ>,
    producer: Table<32, CQ>,
    cq: DFF<Bits<CQ>>,
    // Outputs that follow from the current ring.
    next_addr: DFF<Bits<64>>,
    next_lap: DFF<Bit>,
    next_full: DFF<Bit>,
    ring: Signal<Local, Bits<CQ>>,
    written: Signal<Local, Bits<CQ>>,
    one: Signal<Local, Bits<32>>,
    size: Signal<Local, Bits<32>>,
    entry: Signal<Local, Bits<32>>,
}

impl Logic for Rings {
    #[hdl_gen]
    fn update(&mut self) {
        // Words that the host wrote.
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.cqs.write_enable.next =
            self.select.send_queue.val() && (self.cfg_word.val() == self.cq_word.val());
        self.cqs.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.cqs.write_data.next = self.cfg_data.val().get_bits::<CQ>(self.cq_at.val().index());
        self.written.next = self.cfg_index.val().get_bits::<CQ>(0);
        self.rings.selected.next = self.select.completion_queue.val();
        self.rings.word.next = self.cfg_word.val();
        self.rings.index.next = self.written.val();
        self.rings.data.next = self.cfg_data.val();
        self.consumer.write_enable.next =
            self.select.completion_queue.val() && (self.cfg_word.val() == self.consumer_word.val());
        self.consumer.write_address.next = self.written.val();
        self.consumer.write_data.next = self.cfg_data.val();

        // The ring of the current queue.
        self.cqs.ahead.next = self.next_queue.val();
        self.ring.next = self.cqs.read_data.val();
        if self.is_direct.val() {
            self.ring.next = self.direct.val();
        }
        self.rings.ahead.next = self.ring.val();
        self.unused_log.next = self.rings.log.val();
        self.log.next = self.rings.log.val().get_bits::<LOG>(0);
        self.consumer.ahead.next = self.ring.val();
        self.producer.ahead.next = self.ring.val();
        self.cq.d.next = self.ring.val();
        self.one.next = 1.into();
        self.size.next = self.one.val() << self.log.val();
        self.entry.next = self.producer.read_data.val() & (self.size.val() - 1);
        self.next_lap.d.next = self.producer.read_data.val().get_bit(self.log.val().index());
        self.next_addr.d.next = self.rings.addr.val() + (bit_cast::<64, 32>(self.entry.val()) << 5);
        self.next_full.d.next =
            (self.producer.read_data.val() - self.consumer.read_data.val()) >= self.size.val();
        self.lap.next = self.next_lap.q.val();
        self.addr.next = self.next_addr.q.val();
        self.full.next = self.next_full.q.val();

        self.producer.write_enable.next = self.advance.val() || self.restart_valid.val();
        self.producer.write_address.next = self.cq.q.val();
        self.producer.write_data.next = self.producer.read_data.val() + 1;
        if self.restart_valid.val() {
            self.producer.write_address.next = self.restart_index.val();
            self.producer.write_data.next = 0.into();
        }
    }
}
