//! What the host has written to the card's tables, and the state that hangs on each entry.

use std::collections::VecDeque;

use drdma_abi::{
    Layout,
    completion::{Completion, Status},
    register::{
        COMPLETION_QUEUES, CompletionQueueEntry, MEMORY_REGIONS, MemoryRegionEntry, QUEUE_PAIRS,
        QueuePairEntry, SEND_QUEUES, SendQueueEntry, Table,
    },
    roce::Transport,
};

use crate::host::Host;
use drdma_semantics::{
    checks::{Directory, QueuePair},
    packets::{MASK_24, psn_distance},
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

    /// Stores a word; gives the entry when its last word was written.
    pub fn write<L: Layout>(&mut self, index: u32, at: u32, value: u32) -> Option<L> {
        let start = index as usize * self.entry_size;
        let word = start + at as usize;
        self.bytes[word..word + 4].copy_from_slice(&value.to_le_bytes());
        let last = at as usize + 4 == self.entry_size;
        last.then(|| L::decode(&self.bytes[start..start + self.entry_size]))
    }
}

/// Packets of a request that were sent on an RC queue pair and are not all acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Unacknowledged {
    /// The request.
    pub request: RequestId,
    /// The queue pair's index in the request.
    pub destination: u16,
    /// The sequence number behind its last packet so far.
    pub end_psn: u32,
    /// Its last packet was sent.
    pub closed: bool,
}

/// A queue pair.
#[derive(Clone, Debug, Default)]
pub struct QueuePairState {
    /// What the host wrote last, as a whole.
    pub entry: QueuePairEntry,
    /// It is in the error state.
    pub error: bool,
    /// How often it was made ready or reset.
    pub generation: u64,
    /// The next packet's sequence number.
    pub next_psn: u32,
    /// The oldest packet that is not acknowledged.
    pub oldest_psn: u32,
    /// The last packet that asked for an acknowledgement.
    pub asked_psn: u32,
    /// Since when an acknowledgement that was asked for is awaited, in cycles.
    pub waiting_since: Option<u64>,
    /// Requests with unacknowledged packets, in order.
    pub unacknowledged: VecDeque<Unacknowledged>,
}

impl QueuePairState {
    /// Takes what the host wrote; gives what was unacknowledged before.
    pub fn load(&mut self, entry: QueuePairEntry) -> VecDeque<Unacknowledged> {
        let psn = entry.start_psn & MASK_24;
        let lost = std::mem::take(&mut self.unacknowledged);
        *self = Self {
            entry,
            generation: self.generation + 1,
            next_psn: psn,
            oldest_psn: psn,
            ..Self::default()
        };
        lost
    }

    /// What the checks see.
    pub fn view(&self) -> QueuePair {
        let transport = Transport::from_code(self.entry.transport);
        let mtu_known = (8..=12).contains(&self.entry.log_mtu);
        QueuePair {
            ready: self.entry.state == 1 && transport.is_some() && mtu_known,
            error: self.error,
            transport: transport.unwrap_or(Transport::Rc),
            mtu: if mtu_known { 1 << self.entry.log_mtu } else { 0 },
        }
    }

    /// Packets that were sent and are not acknowledged.
    pub fn packets_in_flight(&self) -> u32 {
        psn_distance(self.next_psn, self.oldest_psn).unsigned_abs()
    }
}

/// A request: its queue, and its number among all that the queue ever started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    /// The send queue's number.
    pub queue: u32,
    /// Counted from 0 since the card was reset.
    pub serial: u64,
}

/// A request that was started and has no completion yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// The application's name for it.
    pub wr_id: u64,
    /// The ring position of its first block.
    pub position: u32,
    /// Its success is told by a completion.
    pub signaled: bool,
    /// Payload bytes.
    pub bytes: u64,
    /// Packets are still to be sent.
    pub sending: bool,
    /// Queue pairs whose acknowledgements are awaited.
    pub waiting: u32,
    /// How it failed, and at which destination.
    pub failed: Option<(Status, u16)>,
}

/// A send queue.
#[derive(Clone, Debug, Default)]
pub struct SendQueueState {
    /// What the host wrote last, as a whole.
    pub entry: SendQueueEntry,
    /// The next block to read.
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
    /// Takes what the host wrote.
    pub fn load(&mut self, entry: SendQueueEntry) {
        let first_serial = self.first_serial + self.in_flight.len() as u64;
        *self = Self { entry, first_serial, ..Self::default() };
    }

    /// True if the queue takes doorbells.
    pub fn is_running(&self) -> bool {
        self.entry.enable == 1 && self.entry.log_blocks <= 16 && !self.stopped
    }

    /// Blocks of the ring.
    pub fn blocks(&self) -> u32 {
        1 << self.entry.log_blocks.min(16)
    }

    /// Adds a request; gives its serial number.
    pub fn start(&mut self, request: InFlight) -> u64 {
        self.in_flight.push_back(request);
        self.first_serial + self.in_flight.len() as u64 - 1
    }

    /// The request of that serial number, unless it is complete or was dropped.
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
    /// What the host wrote last, as a whole.
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

    /// True if a completion can be written now, or never.
    pub fn has_room(&self) -> bool {
        let size = 1u32 << self.entry.log_entries.min(16);
        !self.is_running() || self.position.wrapping_sub(self.consumer) < size
    }

    /// Writes a completion; the bytes with the phase last. A queue that is not there, or whose
    /// memory is not, loses it.
    pub fn push(&mut self, host: &Host, completion: Completion) {
        if !self.is_running() {
            return;
        }
        let log = self.entry.log_entries;
        let slot = u64::from(self.position & ((1 << log) - 1));
        let phase = (self.position >> log & 1) as u8 ^ 1;
        let bytes = Completion { phase, ..completion }.to_bytes();
        let addr = self.entry.addr.wrapping_add(slot * Completion::SIZE as u64);
        for part in [0..16, 24..32, 16..24] {
            let at = addr.wrapping_add(part.start as u64);
            // A real card's write to nowhere is lost as well.
            let _ = host.write(at, &bytes[part]);
        }
        self.position = self.position.wrapping_add(1);
    }
}

/// Every table of the card.
#[derive(Clone, Debug)]
pub struct Tables {
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
    pub memory_regions: Vec<MemoryRegionEntry>,
    /// Send queues.
    pub send_queues: Vec<SendQueueState>,
    /// Completion queues.
    pub completion_queues: Vec<CompletionQueueState>,
    /// Queue pairs that were ever written are below this index: what goes through all looks no further.
    pub known_queue_pairs: usize,
    /// The same of send queues.
    pub known_send_queues: usize,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
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
            known_queue_pairs: 0,
            known_send_queues: 0,
        }
    }
}

impl Directory for Tables {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        let index = (lkey % MEMORY_REGIONS.entries) as usize;
        let entry = self.memory_regions[index];
        (entry.valid == 1 && entry.lkey == lkey).then_some(entry)
    }

    fn queue_pair(&self, qp: u32) -> Option<QueuePair> {
        self.queue_pairs.get(qp as usize).map(QueuePairState::view)
    }
}
