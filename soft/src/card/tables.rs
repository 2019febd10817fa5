//! The card's tables as the host has written them, and the state of each entry.

use std::collections::{HashMap, VecDeque};

use drdma_abi::{
    Layout,
    completion::{Completion, Status},
    described::{APPEND_REGIONS, AppendCompletion, DESCRIBED, KEY_REGIONS},
    receive::{
        AttributesEntry, QUEUE_PAIR_ATTRIBUTES, RECEIVE_QUEUES, ReceiveCompletion,
        ReceiveQueueEntry,
    },
    register::{
        COMPLETION_QUEUES, CompletionQueueEntry, MEMORY_REGIONS, MemoryRegionEntry, QUEUE_PAIRS,
        QueuePairEntry, SEND_QUEUES, SendQueueEntry, Table,
    },
    roce::Transport,
};

use crate::host::Host;
use drdma_semantics::{
    append::Append,
    checks::{Directory, QueuePair},
    congestion::{Limiter, Notifier},
    region::Region,
    requester::{Policy, Requester},
    responder::{Answer, Responder},
};

/// The words of a table as the host wrote them.
#[derive(Clone, Debug)]
pub struct Staged {
    bytes: Vec<u8>,
    entry_size: usize,
}

impl Staged {
    fn new(table: &Table) -> Self {
        let entry_size = table.entry_size as usize;
        Self { bytes: vec![0; table.entries as usize * entry_size], entry_size }
    }

    /// Stores a word; returns the entry when its last word was written.
    pub fn write<L: Layout>(&mut self, index: u32, at: u32, value: u32) -> Option<L> {
        self.write_bytes(index, at, value).map(L::decode)
    }

    /// Like [`write`](Self::write), for an entry that is no single layout.
    pub fn write_bytes(&mut self, index: u32, at: u32, value: u32) -> Option<&[u8]> {
        let start = index as usize * self.entry_size;
        let word = start + at as usize;
        self.bytes[word..word + 4].copy_from_slice(&value.to_le_bytes());
        let last = at as usize + 4 == self.entry_size;
        last.then(|| &self.bytes[start..start + self.entry_size])
    }
}

/// The part of a request for one of its queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Identification of the request.
    pub request: RequestId,
    /// The queue pair's index in the request.
    pub destination: u16,
}

/// An answer that is being sent to a requester.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// Number of bytes of a READ's answer that were sent.
    pub sent: u32,
}

/// A queue pair.
#[derive(Clone, Debug, Default)]
pub struct QueuePairState {
    /// Entry that the host has written last, as a whole.
    pub entry: QueuePairEntry,
    /// Attributes that concern receiving and retries.
    pub attributes: AttributesEntry,
    /// The queue pair is in the error state.
    pub error: bool,
    /// Number of times that the queue pair was made ready or reset.
    pub generation: u64,
    /// Packets sent on RC that are not acknowledged; on other transports only the next sequence
    /// number.
    pub requester: Requester<Part>,
    /// State of receiving, if the queue pair receives.
    pub responder: Option<Box<Responder>>,
    /// Answers to send, in order.
    pub replies: VecDeque<Reply>,
    /// Time in cycles at which the timer expires.
    pub timer: Option<u64>,
    /// State of answering congestion with CNPs.
    pub notifier: Notifier,
    /// Rate of the queue pair, if CNPs have limited it.
    pub limiter: Option<Limiter>,
}

/// State in the entry of a queue pair that knows its peer, but does not send.
const READY_TO_RECEIVE: u32 = 2;

impl QueuePairState {
    /// Takes an entry that the host has written; returns what was unacknowledged before.
    pub fn load(&mut self, entry: QueuePairEntry) -> Vec<Part> {
        let lost = self.requester.abandon();
        // The queue pair continues to receive.
        let goes_on = self.entry.state == READY_TO_RECEIVE && entry.state == 1;
        let known = entry.state != 0;
        *self = Self {
            error: self.error && goes_on,
            generation: self.generation + 1,
            requester: Requester::new(entry.start_psn),
            responder: self.responder.take().filter(|_| known),
            replies: if goes_on { std::mem::take(&mut self.replies) } else { VecDeque::new() },
            attributes: self.attributes,
            timer: self.timer,
            notifier: self.notifier,
            limiter: None,
            entry,
        };
        self.requester.set_policy(self.policy());
        lost
    }

    /// Takes the attributes.
    pub fn load_attributes(&mut self, attributes: AttributesEntry) {
        match attributes.state {
            1 => self.responder = Some(Box::new(Responder::new(attributes.rq_psn))),
            2 => {}
            _ => self.responder = None,
        }
        self.attributes = attributes;
        self.requester.set_policy(self.policy());
    }

    fn policy(&self) -> Policy {
        let AttributesEntry { retry_cnt, rnr_retry, .. } = self.attributes;
        Policy { retry_cnt, rnr_retry }
    }

    /// True if the queue pair answers requests.
    pub fn responds(&self) -> bool {
        let known = self.view().mtu > 0 && Transport::from_code(self.entry.transport).is_some();
        let set_up = known && matches!(self.entry.state, 1 | READY_TO_RECEIVE);
        self.responder.is_some() && set_up && !self.error
    }

    /// True if the queue pair is reliable, and keeps packets until they are acknowledged:
    /// congestion control limits its rate.
    pub fn sends_reliably(&self) -> bool {
        let AttributesEntry { state, max_rd_atomic, .. } = self.attributes;
        let keeps = self.policy().retries() || max_rd_atomic > 0;
        self.entry.transport == Transport::Rc as u8 && state != 0 && keeps
    }

    /// Number of the receive queue, if there is one.
    pub fn receive_queue(&self) -> Option<u16> {
        (self.attributes.receives == 1).then_some(self.attributes.receive_queue)
    }

    /// The queue pair as the checks see it.
    pub fn view(&self) -> QueuePair {
        let transport = Transport::from_code(self.entry.transport);
        let mtu_known = (8..=12).contains(&self.entry.log_mtu);
        QueuePair {
            ready: self.entry.state == 1 && transport.is_some() && mtu_known,
            error: self.error,
            transport: transport.unwrap_or(Transport::Rc),
            mtu: if mtu_known { 1 << self.entry.log_mtu } else { 0 },
            pd: self.entry.pd,
        }
    }
}

/// Identification of a request: its queue, and its number among all requests that the queue ever
/// started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// Number of the send queue.
    pub queue: u32,
    /// Serial number of the request, from 0 since the card was reset.
    pub serial: u64,
}

/// A request that was started and has no completion yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// The application's name of the request.
    pub wr_id: u64,
    /// Ring position of its first block.
    pub position: u32,
    /// Success is reported by a completion.
    pub signaled: bool,
    /// Number of payload bytes.
    pub bytes: u64,
    /// Packets are still to be sent.
    pub sending: bool,
    /// Number of queue pairs whose acknowledgements are awaited.
    pub waiting: u32,
    /// Status of a failure, and the destination at which it occurred.
    pub failed: Option<(Status, u16)>,
}

/// A send queue.
#[derive(Clone, Debug, Default)]
pub struct SendQueueState {
    /// Entry that the host has written last, as a whole.
    pub entry: SendQueueEntry,
    /// Ring position of the next block to read.
    pub position: u32,
    /// A request failed: no further one is started.
    pub stopped: bool,
    /// The failed request's completion was written.
    pub halted: bool,
    /// Requests without a completion, in order; the first one's serial number is `first_serial`.
    pub in_flight: VecDeque<InFlight>,
    /// See `in_flight`.
    pub first_serial: u64,
}

impl SendQueueState {
    /// Takes an entry that the host has written.
    pub fn load(&mut self, entry: SendQueueEntry) {
        let first_serial = self.first_serial + self.in_flight.len() as u64;
        *self = Self { entry, first_serial, ..Self::default() };
    }

    /// True if the queue takes doorbells.
    pub fn is_running(&self) -> bool {
        self.entry.enable == 1 && self.entry.log_blocks <= 16 && !self.stopped
    }

    /// Number of blocks of the ring.
    pub fn blocks(&self) -> u32 {
        1 << self.entry.log_blocks.min(16)
    }

    /// Adds a request; returns its serial number.
    pub fn start(&mut self, request: InFlight) -> u64 {
        self.in_flight.push_back(request);
        self.first_serial + self.in_flight.len() as u64 - 1
    }

    /// Returns the request of that serial number, unless it is complete or was dropped.
    pub fn get(&mut self, serial: u64) -> Option<&mut InFlight> {
        let index = usize::try_from(serial.checked_sub(self.first_serial)?).ok()?;
        self.in_flight.get_mut(index)
    }

    /// Drops the requests that have no completion.
    pub fn drop_requests(&mut self) {
        self.first_serial += self.in_flight.len() as u64;
        self.in_flight.clear();
    }
}

/// A completion queue.
#[derive(Clone, Debug, Default)]
pub struct CompletionQueueState {
    /// Entry that the host has written last, as a whole.
    pub entry: CompletionQueueEntry,
    /// The host's position.
    pub consumer: u32,
    /// The card's position.
    pub position: u32,
}

impl CompletionQueueState {
    fn is_running(&self) -> bool {
        self.entry.enable == 1 && self.entry.log_entries <= 16
    }

    /// True if a completion can be written now, or never will be.
    pub fn has_room(&self) -> bool {
        let size = 1u32 << self.entry.log_entries.min(16);
        !self.is_running() || self.position.wrapping_sub(self.consumer) < size
    }

    /// Writes a completion; the bytes with the phase last. It is lost if the queue does not exist
    /// or its memory is not mapped.
    pub fn push(&mut self, host: &Host, completion: Completion) {
        self.write(host, |phase| Completion { phase, ..completion }.to_bytes());
    }

    /// Like [`push`](Self::push), for the completion of a receive.
    pub fn push_receive(&mut self, host: &Host, completion: ReceiveCompletion) {
        self.write(host, |phase| ReceiveCompletion { phase, ..completion }.to_bytes());
    }

    /// Like [`push`](Self::push), for the completion of a receive that appended.
    pub fn push_append(&mut self, host: &Host, completion: AppendCompletion) {
        self.write(host, |phase| AppendCompletion { phase, ..completion }.to_bytes());
    }

    fn write(&mut self, host: &Host, completion: impl Fn(u8) -> [u8; Completion::SIZE]) {
        if !self.is_running() {
            return;
        }
        let log = self.entry.log_entries;
        let slot = u64::from(self.position & ((1 << log) - 1));
        let bytes = completion((self.position >> log & 1) as u8 ^ 1);
        let addr = self.entry.addr.wrapping_add(slot * Completion::SIZE as u64);
        for part in [0..16, 24..32, 16..24] {
            let at = addr.wrapping_add(part.start as u64);
            // A real card's write to unmapped memory is lost as well.
            let _ = host.write(at, &bytes[part]);
        }
        self.position = self.position.wrapping_add(1);
    }
}

/// A receive queue.
#[derive(Clone, Debug, Default)]
pub struct ReceiveQueueState {
    /// Entry that the host has written last, as a whole.
    pub entry: ReceiveQueueEntry,
    /// Ring positions of the next block to read, and of the host.
    pub position: u32,
    /// See `position`.
    pub producer: u32,
    /// A receive failed: no further one is taken.
    pub halted: bool,
}

impl ReceiveQueueState {
    /// Takes an entry that the host has written.
    pub fn load(&mut self, entry: ReceiveQueueEntry) {
        *self = Self { entry, ..Self::default() };
    }

    /// True if receives are taken from it.
    pub fn is_running(&self) -> bool {
        self.entry.enable == 1 && self.entry.log_blocks <= 16 && !self.halted
    }

    /// Number of blocks of the ring.
    pub fn blocks(&self) -> u32 {
        1 << self.entry.log_blocks.min(16)
    }

    /// Number of blocks that are posted and were not taken.
    pub fn posted(&self) -> u32 {
        self.producer.wrapping_sub(self.position)
    }
}

/// Every table of the card.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Words of [`QUEUE_PAIR_ATTRIBUTES`].
    pub staged_attributes: Staged,
    /// Words of [`RECEIVE_QUEUES`].
    pub staged_receive_queues: Staged,
    /// Receive queues.
    pub receive_queues: Vec<ReceiveQueueState>,
    /// Queue pairs that are not reset, by their number on the wire.
    pub by_number: HashMap<u32, Vec<usize>>,
    /// Words of [`QUEUE_PAIRS`].
    pub staged_queue_pairs: Staged,
    /// Words of [`MEMORY_REGIONS`].
    pub staged_memory_regions: Staged,
    /// Words of [`SEND_QUEUES`].
    pub staged_send_queues: Staged,
    /// Words of [`COMPLETION_QUEUES`].
    pub staged_completion_queues: Staged,
    /// Queue pairs.
    pub queue_pairs: Vec<QueuePairState>,
    /// Memory regions, effective.
    memory_regions: Vec<MemoryRegionEntry>,
    /// Send queues.
    pub send_queues: Vec<SendQueueState>,
    /// Completion queues.
    pub completion_queues: Vec<CompletionQueueState>,
    /// Words of [`KEY_REGIONS`] and [`APPEND_REGIONS`].
    pub staged_key_regions: Staged,
    /// See `staged_key_regions`.
    pub staged_appends: Staged,
    /// Regions of described keys.
    pub key_regions: Vec<Option<Region>>,
    /// Append regions.
    appends: Vec<Option<Append>>,
    /// Append regions that were found to be allowed; cleared when they or a key are written.
    allowed_appends: Vec<bool>,
    /// Index above all send queues that were ever written, at which loops over all queues end.
    pub known_send_queues: usize,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            staged_attributes: Staged::new(&QUEUE_PAIR_ATTRIBUTES),
            staged_receive_queues: Staged::new(&RECEIVE_QUEUES),
            receive_queues: vec![ReceiveQueueState::default(); RECEIVE_QUEUES.entries as usize],
            by_number: HashMap::new(),
            staged_queue_pairs: Staged::new(&QUEUE_PAIRS),
            staged_memory_regions: Staged::new(&MEMORY_REGIONS),
            staged_send_queues: Staged::new(&SEND_QUEUES),
            staged_completion_queues: Staged::new(&COMPLETION_QUEUES),
            queue_pairs: vec![QueuePairState::default(); QUEUE_PAIRS.entries as usize],
            memory_regions: vec![MemoryRegionEntry::default(); MEMORY_REGIONS.entries as usize],
            send_queues: vec![SendQueueState::default(); SEND_QUEUES.entries as usize],
            completion_queues: vec![
                CompletionQueueState::default();
                COMPLETION_QUEUES.entries as usize
            ],
            staged_key_regions: Staged::new(&KEY_REGIONS),
            staged_appends: Staged::new(&APPEND_REGIONS),
            key_regions: vec![None; KEY_REGIONS.entries as usize],
            appends: vec![None; APPEND_REGIONS.entries as usize],
            allowed_appends: vec![false; APPEND_REGIONS.entries as usize],
            known_send_queues: 0,
        }
    }
}

impl Tables {
    /// Takes a queue pair's entry that the host has written; returns what was unacknowledged
    /// before.
    pub fn load_queue_pair(&mut self, index: usize, entry: QueuePairEntry) -> Vec<Part> {
        let before = self.queue_pairs[index].entry.qpn;
        if let Some(same) = self.by_number.get_mut(&before) {
            same.retain(|other| *other != index);
        }
        if entry.state != 0 {
            let same = self.by_number.entry(entry.qpn).or_default();
            same.push(index);
            same.sort_unstable();
        }
        self.queue_pairs[index].load(entry)
    }
}

impl Tables {
    /// Returns the key of that number, if it is valid or described.
    pub fn key(&self, rkey: u32) -> Option<MemoryRegionEntry> {
        let entry = self.memory_regions[(rkey % MEMORY_REGIONS.entries) as usize];
        (matches!(entry.valid, 1 | DESCRIBED) && entry.lkey == rkey).then_some(entry)
    }

    /// Returns the region of a described key, by the key's address.
    pub fn key_region(&self, index: u64) -> Option<&Region> {
        self.key_regions.get(usize::try_from(index).ok()?)?.as_ref()
    }

    /// Takes a key that the host has written.
    pub fn load_key(&mut self, index: usize, entry: MemoryRegionEntry) {
        self.memory_regions[index] = entry;
        self.allowed_appends.fill(false);
    }

    /// Makes a key invalid.
    pub fn invalidate(&mut self, rkey: u32) {
        self.memory_regions[(rkey % MEMORY_REGIONS.entries) as usize].valid = 0;
        self.allowed_appends.fill(false);
    }

    /// Takes an append region that the host has written.
    pub fn load_append(&mut self, index: usize, append: Option<Append>) {
        self.appends[index] = append;
        self.allowed_appends.fill(false);
    }

    /// Returns the append region of that number.
    pub fn append(&mut self, number: u32) -> Option<&mut Append> {
        self.appends.get_mut(number as usize)?.as_mut()
    }

    /// True if there is an append region of that number whose keys allow all of its rows. They are
    /// checked once after an append region or key was written.
    pub fn is_append_allowed(&mut self, number: u32) -> bool {
        let number = number as usize;
        let Some(append) = self.appends.get(number).and_then(Option::as_ref) else { return false };
        let allowed = self.allowed_appends[number] || append.is_allowed(self);
        self.allowed_appends[number] = allowed;
        allowed
    }

    /// Gives up messages that a queue pair was appending.
    pub fn abandon_appends(&mut self, index: usize) {
        self.appends.iter_mut().flatten().for_each(|append| append.abandon(index as u32));
    }
}

impl Directory for Tables {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        self.key(lkey).filter(|entry| entry.valid == 1)
    }

    fn queue_pair(&self, qp: u32) -> Option<QueuePair> {
        self.queue_pairs.get(qp as usize).map(QueuePairState::view)
    }
}

#[cfg(test)]
mod tests {
    use drdma_abi::receive::rights;
    use drdma_semantics::region::Column;

    use super::*;

    const KEY: u32 = 5;

    /// Makes tables with a key of 16 bytes, and append region 3, whose two rows of 8 bytes are
    /// under it.
    fn tables() -> (Tables, MemoryRegionEntry) {
        let rights = rights::LOCAL_WRITE;
        let key = MemoryRegionEntry { addr: 0x1000, len: 16, lkey: KEY, rights, pd: 1, valid: 1 };
        let mut tables = Tables::default();
        tables.load_key(KEY as usize, key);
        let columns = vec![Column { base: 0x1000, width: 8, lkey: KEY }];
        tables.load_append(3, Some(Append::new(columns, 2, 1)));
        (tables, key)
    }

    #[test]
    fn what_an_append_region_is_allowed_is_looked_at_again_when_anything_of_it_was_written() {
        let (mut tables, key) = tables();
        assert!(tables.is_append_allowed(3) && tables.is_append_allowed(3));
        assert!(!tables.is_append_allowed(2) && !tables.is_append_allowed(u32::MAX));
        tables.load_key(KEY as usize, MemoryRegionEntry { len: 15, ..key });
        assert!(!tables.is_append_allowed(3));
        tables.load_key(KEY as usize, key);
        assert!(tables.is_append_allowed(3));
        tables.invalidate(KEY);
        assert!(!tables.is_append_allowed(3));
        tables.load_key(KEY as usize, key);
        assert!(tables.is_append_allowed(3));
        let columns = vec![Column { base: 0x1000, width: 9, lkey: KEY }];
        tables.load_append(3, Some(Append::new(columns, 2, 1)));
        assert!(!tables.is_append_allowed(3));
        tables.load_append(3, None);
        assert!(!tables.is_append_allowed(3));
    }
}
