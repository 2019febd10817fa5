//! A fake card that only knows rings and keys: it logs every request, and completes it as the test
//! says.
#![allow(dead_code)]

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use drdma_abi::{
    ABI_HASH, Layout,
    completion::Completion,
    register::*,
    work_request::{BLOCK, GRANULE, WqeHeader, blocks, flags},
};
use libdrdma::{
    Card, CardError, CompletionQueue, Context, DmaMemory, MacAddress, Options, ProtectionDomain,
    QueuePair, QueuePairAttributes, RegisterWindow, Status,
};

/// A decoded request of the ring.
#[derive(Clone, Debug)]
pub struct Logged {
    pub queue: u32,
    pub header: WqeHeader,
    pub bytes: Vec<u8>,
}

#[derive(Default)]
pub struct State {
    words: BTreeMap<u32, u32>,
    pub writes: Vec<(u32, u32)>,
    pub maps: BTreeMap<u64, DmaMemory>,
    pub log: Vec<Logged>,
    /// Doorbells: queue and position.
    pub doorbells: Vec<(u32, u32)>,
    /// Results of the next requests: status and destination; success if there are none left.
    pub outcomes: VecDeque<(Status, u16)>,
    /// Queue pairs that go to the error state with the next failure.
    pub failing: Vec<u32>,
    /// Number of requests that are still completed; `None`: no limit.
    pub budget: Option<usize>,
    /// Number of reads of `STATUS` that still report work in progress.
    pub busy: u32,
    /// Requests that are completed when `busy` reaches 0.
    pub late: Vec<Logged>,
    /// Every access fails from now on.
    pub broken: bool,
    /// Reading a counter blocks while this is true, as for a thread that is inside the card.
    pub stall: bool,
    pub stalled: bool,
    /// The card has a window: a way to write registers for threads that do not wait for each other.
    window: bool,
    positions: BTreeMap<u32, (u32, u32)>,
    halted: Vec<u32>,
    errors: Vec<u32>,
    completions: BTreeMap<u32, u32>,
}

/// A fake card; clones are handles of the same one.
#[derive(Clone, Default)]
pub struct Fake(Arc<Mutex<State>>);

impl Fake {
    /// A card that works by itself, as far as its window shows.
    pub fn with_window() -> Self {
        let fake = Self::default();
        fake.state().window = true;
        fake
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Returns the entry of a table, as it was written.
    pub fn entry<L: Layout>(&self, table: Table, index: u32) -> L {
        self.state().entry(table, index)
    }

    /// Returns a word of the register space.
    pub fn word(&self, offset: u32) -> u32 {
        self.state().words.get(&offset).copied().unwrap_or(0)
    }
}

impl State {
    fn entry<L: Layout>(&self, table: Table, index: u32) -> L {
        let start = table.entry(index);
        let bytes: Vec<u8> = (start..start + table.entry_size)
            .step_by(4)
            .flat_map(|at| self.words.get(&at).copied().unwrap_or(0).to_le_bytes())
            .collect();
        L::decode(&bytes)
    }

    pub fn read_memory(&self, addr: u64, bytes: &mut [u8]) {
        let (iova, memory) = self.maps.range(..=addr).next_back().expect("mapped memory");
        memory.read((addr - iova) as usize, bytes);
    }

    fn write_memory(&self, addr: u64, bytes: &[u8]) {
        let (iova, memory) = self.maps.range(..=addr).next_back().expect("mapped memory");
        memory.write((addr - iova) as usize, bytes);
    }

    /// Value of the register `STATUS`.
    fn status(&mut self) -> u32 {
        if self.busy > 0 {
            self.busy -= 1;
            return 1;
        }
        for request in std::mem::take(&mut self.late) {
            self.complete(&request);
        }
        0
    }

    /// Takes the next request of a queue, if there is one.
    pub fn next(&mut self, number: u32) -> Option<Logged> {
        let queue: SendQueueEntry = self.entry(SEND_QUEUES, number);
        let (position, producer) = *self.positions.get(&number)?;
        if queue.enable == 0 || self.halted.contains(&number) || position == producer {
            return None;
        }
        let size = (BLOCK as u64) << queue.log_blocks;
        let at = |granule: u64| {
            queue.addr + (u64::from(position) * BLOCK as u64 + granule * GRANULE as u64) % size
        };
        let mut bytes = vec![0; 32];
        self.read_memory(at(0), &mut bytes[..16]);
        self.read_memory(at(1), &mut bytes[16..]);
        let header = WqeHeader::decode(&bytes);
        assert_eq!(header.magic, 0xd7);
        assert_eq!(header.position, position, "a stale entry");
        let wqe_blocks = blocks(header.granules as usize) as u32;
        assert!(wqe_blocks <= producer.wrapping_sub(position), "an entry beyond the doorbell");
        bytes.resize(header.granules as usize * GRANULE, 0);
        for (granule, chunk) in bytes.chunks_mut(GRANULE).enumerate() {
            self.read_memory(at(granule as u64), chunk);
        }
        self.positions.insert(number, (position.wrapping_add(wqe_blocks), producer));
        Some(Logged { queue: number, header, bytes })
    }

    fn complete(&mut self, request: &Logged) {
        let unsignaled = request.header.flags & flags::UNSIGNALED != 0;
        let (mut status, mut destination) =
            self.outcomes.pop_front().unwrap_or((Status::Success, 0));
        let queue: SendQueueEntry = self.entry(SEND_QUEUES, request.queue);
        if queue.shared == 0 && self.errors.contains(&queue.qp) {
            (status, destination) = (Status::WrFlushError, 0);
        }
        if status != Status::Success {
            self.halted.push(request.queue);
            self.errors.append(&mut self.failing);
            if queue.shared == 0 {
                self.errors.push(queue.qp);
            }
        }
        if unsignaled && status == Status::Success {
            return;
        }
        let number = u32::from(queue.completion_queue);
        let cq: CompletionQueueEntry = self.entry(COMPLETION_QUEUES, number);
        assert_eq!(cq.enable, 1);
        let position = self.completions.entry(number).or_insert(0);
        let n = *position;
        *position += 1;
        assert!(n.wrapping_sub(cq.consumer) < 1 << cq.log_entries, "an overflow");
        let completion = Completion {
            wr_id: request.header.wr_id,
            bytes: if status == Status::Success { 1000 + u64::from(n) } else { 0 },
            queue: request.queue,
            destination,
            status: status as u8,
            phase: (n >> cq.log_entries & 1) as u8 ^ 1,
            position: request.header.position,
            reserved: 0,
        };
        let slot = u64::from(n % (1 << cq.log_entries));
        self.write_memory(cq.addr + slot * Completion::SIZE as u64, &completion.to_bytes());
    }
}

fn table_index(table: Table, offset: u32) -> Option<(u32, bool)> {
    let end = table.offset + table.entries * table.entry_size;
    (table.offset..end).contains(&offset).then(|| {
        let at = offset - table.offset;
        (at / table.entry_size, at % table.entry_size == table.entry_size - 4)
    })
}

impl Card for Fake {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        while COUNTERS.iter().any(|counter| counter.offset == offset) && self.state().stall {
            self.state().stalled = true;
            std::thread::yield_now();
        }
        let mut state = self.state();
        if state.broken {
            return Err(CardError::Failed("broken".into()));
        }
        Ok(match offset {
            offset if offset == STATUS.offset => state.status(),
            offset if offset == TYPE.offset => TYPE_ID,
            offset if offset == VERSION.offset => VERSION_ID,
            offset if offset == ABI_HASH_LOW.offset => ABI_HASH as u32,
            offset if offset == ABI_HASH_HIGH.offset => (ABI_HASH >> 32) as u32,
            offset => match table_index(QUEUE_PAIR_ERRORS, offset) {
                Some((index, _)) => state.errors.contains(&index).into(),
                None => state.words.get(&offset).copied().unwrap_or(0),
            },
        })
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        let mut state = self.state();
        if state.broken {
            return Err(CardError::Failed("broken".into()));
        }
        state.writes.push((offset, value));
        let kept = if offset == CONTROL.offset { value & 1 } else { value };
        state.words.insert(offset, kept);
        if let Some((queue, _)) = table_index(DOORBELLS, offset) {
            state.doorbells.push((queue, value));
            if let Some((_, producer)) = state.positions.get_mut(&queue) {
                *producer = value;
            }
        } else if let Some((queue, true)) = table_index(SEND_QUEUES, offset) {
            state.positions.insert(queue, (0, 0));
            state.halted.retain(|halted| *halted != queue);
        } else if let Some((queue, true)) = table_index(COMPLETION_QUEUES, offset) {
            state.completions.insert(queue, 0);
        } else if let Some((index, true)) = table_index(QUEUE_PAIRS, offset) {
            state.errors.retain(|error| *error != index);
        }
        Ok(())
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.state().maps.insert(iova, memory.clone());
        Ok(())
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.state().maps.remove(&iova).expect("mapped memory");
        Ok(())
    }

    fn window(&self) -> Option<Arc<dyn RegisterWindow>> {
        let window = self.state().window;
        window.then(|| Arc::new(self.clone()) as _)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        let mut state = self.state();
        if state.broken {
            return Err(CardError::Failed("broken".into()));
        }
        let queues: Vec<u32> = state.positions.keys().copied().collect();
        for queue in queues {
            while state.budget != Some(0)
                && let Some(request) = state.next(queue)
            {
                state.budget = state.budget.map(|budget| budget - 1);
                state.complete(&request);
                state.log.push(request);
            }
        }
        Ok(())
    }
}

impl RegisterWindow for Fake {
    fn write(&self, offset: u32, value: u32) -> Result<(), CardError> {
        Card::write(&mut self.clone(), offset, value)
    }
}

pub fn open() -> (Context, Fake) {
    let card = Fake::default();
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    (Context::open(Box::new(card.clone()), options).expect("a context"), card)
}

/// A context with one protection domain and one completion queue.
pub fn open_all() -> (Context, Fake, ProtectionDomain, CompletionQueue) {
    let (context, card) = open();
    let pd = context.protection_domain();
    let cq = context.completion_queue().entries(64).build().expect("a completion queue");
    (context, card, pd, cq)
}

/// Makes a queue pair that is ready to send, with room for `blocks` blocks.
pub fn connected<'m>(pd: &ProtectionDomain, cq: &CompletionQueue, blocks: u32) -> QueuePair<'m> {
    let mut qp = pd.queue_pair(cq).send_blocks(blocks).build().expect("a queue pair");
    qp.connect(&peer()).expect("a connection");
    qp
}

/// Polls all completions: name and status.
pub fn polled(cq: &CompletionQueue) -> Vec<(u64, Status)> {
    cq.poll().map(|completion| (completion.wr_id, completion.status)).collect()
}

/// Attributes for a connection.
pub fn peer() -> QueuePairAttributes {
    QueuePairAttributes::new()
        .path_mtu(1024)
        .dest_qpn(33)
        .dest_mac(MacAddress([2, 0, 0, 0, 0, 2]))
        .dest_ip([10, 0, 0, 2].into())
        .start_psn(100)
}
