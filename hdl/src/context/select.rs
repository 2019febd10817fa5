//! Decodes which table a word that the host writes belongs to.

use drdma_abi::receive::{AttributesEntry, ReceiveQueueEntry};
use drdma_abi::register::{
    CompletionQueueEntry, MemoryRegionEntry, QueuePairEntry, SendQueueEntry,
};
use drdma_emit::prelude::*;

use super::{
    ATTRIBUTES_TABLE, COMPLETION_QUEUE_TABLE, EVERY_TABLE, QUEUE_PAIR_TABLE, RECEIVE_QUEUE_TABLE,
    REGION_TABLE, SEND_QUEUE_TABLE, word_of,
};

fn table(number: u64) -> Constant<Bits<3>> {
    Constant::new(number.into())
}

/// Decodes a [`ConfigWrite`](super::ConfigWrite). A write to every table counts as a write of the last word of an entry
/// of each.
///
/// Combinational.
///
/// # Inputs
/// `valid`, `number`, `word`.
///
/// # Outputs
/// For each table, whether a word of it is written, and whether it is the last word, which makes the entry valid.
#[derive(LogicBlock, BlockDefault)]
pub struct TableSelect {
    /// A word is written.
    pub valid: Signal<In, Bit>,
    /// Number of the word's table.
    pub number: Signal<In, Bits<3>>,
    /// Number of the word in its entry.
    pub word: Signal<In, Bits<4>>,
    /// The word is one of a queue pair.
    pub queue_pair: Signal<Out, Bit>,
    /// The word is `state` of a queue pair.
    pub state: Signal<Out, Bit>,
    /// The word is one of a memory region.
    pub region: Signal<Out, Bit>,
    /// The word is `valid` of a memory region.
    pub region_valid: Signal<Out, Bit>,
    /// The word is one of a send queue.
    pub send_queue: Signal<Out, Bit>,
    /// The word is `enable` of a send queue.
    pub enable: Signal<Out, Bit>,
    /// The word is one of a completion queue.
    pub completion_queue: Signal<Out, Bit>,
    /// The word is `enable` of a completion queue.
    pub ring: Signal<Out, Bit>,
    /// The word is one of a queue pair's attributes.
    pub attributes: Signal<Out, Bit>,
    /// The word is `state` of a queue pair's attributes.
    pub receive_state: Signal<Out, Bit>,
    /// The word is one of a receive queue.
    pub receive_queue: Signal<Out, Bit>,
    /// The word is `enable` of a receive queue.
    pub receive_enable: Signal<Out, Bit>,
    /// An entry of every table is cleared.
    pub every: Signal<Out, Bit>,

    #[init(table(QUEUE_PAIR_TABLE))]
    queue_pairs: Constant<Bits<3>>,
    #[init(table(REGION_TABLE))]
    regions: Constant<Bits<3>>,
    #[init(table(SEND_QUEUE_TABLE))]
    send_queues: Constant<Bits<3>>,
    #[init(table(COMPLETION_QUEUE_TABLE))]
    completion_queues: Constant<Bits<3>>,
    #[init(table(ATTRIBUTES_TABLE))]
    attribute_entries: Constant<Bits<3>>,
    #[init(table(RECEIVE_QUEUE_TABLE))]
    receive_queues: Constant<Bits<3>>,
    #[init(table(EVERY_TABLE))]
    all: Constant<Bits<3>>,
    #[init(word_of::<QueuePairEntry>("state"))]
    state_word: Constant<Bits<4>>,
    #[init(word_of::<MemoryRegionEntry>("valid"))]
    valid_word: Constant<Bits<4>>,
    #[init(word_of::<SendQueueEntry>("enable"))]
    enable_word: Constant<Bits<4>>,
    #[init(word_of::<CompletionQueueEntry>("enable"))]
    ring_word: Constant<Bits<4>>,
    #[init(word_of::<AttributesEntry>("state"))]
    receive_state_word: Constant<Bits<4>>,
    #[init(word_of::<ReceiveQueueEntry>("enable"))]
    receive_enable_word: Constant<Bits<4>>,
}

impl Logic for TableSelect {
    #[hdl_gen]
    fn update(&mut self) {
        self.every.next = self.valid.val() && (self.number.val() == self.all.val());
        self.queue_pair.next =
            self.every.val() || (self.valid.val() && (self.number.val() == self.queue_pairs.val()));
        self.region.next =
            self.every.val() || (self.valid.val() && (self.number.val() == self.regions.val()));
        self.send_queue.next =
            self.every.val() || (self.valid.val() && (self.number.val() == self.send_queues.val()));
        self.completion_queue.next = self.every.val()
            || (self.valid.val() && (self.number.val() == self.completion_queues.val()));
        self.state.next = self.every.val()
            || (self.queue_pair.val() && (self.word.val() == self.state_word.val()));
        self.region_valid.next =
            self.every.val() || (self.region.val() && (self.word.val() == self.valid_word.val()));
        self.enable.next = self.every.val()
            || (self.send_queue.val() && (self.word.val() == self.enable_word.val()));
        self.ring.next = self.every.val()
            || (self.completion_queue.val() && (self.word.val() == self.ring_word.val()));
        self.attributes.next = self.every.val()
            || (self.valid.val() && (self.number.val() == self.attribute_entries.val()));
        self.receive_state.next = self.every.val()
            || (self.attributes.val() && (self.word.val() == self.receive_state_word.val()));
        self.receive_queue.next = self.every.val()
            || (self.valid.val() && (self.number.val() == self.receive_queues.val()));
        self.receive_enable.next = self.every.val()
            || (self.receive_queue.val() && (self.word.val() == self.receive_enable_word.val()));
    }
}
