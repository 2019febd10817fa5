//! A card with hand-built rings, driven through the raw trait.

use drdma_abi::{
    Layout,
    completion::{Completion, Status},
    register::{
        COMPLETION_QUEUES, CONTROL, CompletionQueueEntry, Counter, DOORBELLS, IP, MAC_HIGH,
        MAC_LOW, MEMORY_REGIONS, MemoryRegionEntry, QUEUE_PAIR_ERRORS, QUEUE_PAIRS, QueuePairEntry,
        Register, SEND_QUEUE_ERRORS, SEND_QUEUES, SendQueueEntry, Table,
    },
    roce::Transport,
    work_request::{BLOCK, MessageLayout, Opcode},
};
use drdma_driver::{Card, DmaMemory};

use crate::rtl::{self, RtlCard};
use drdma_semantics::{
    region::{Region, RowMask},
    request::{Destination, Request, encode},
    testing::{BASE, LKEY, SIZE, memory},
};
use drdma_soft::{
    card::SoftCard,
    wire::{Network, PeerConfig, PeerId},
};

/// Blocks of every send queue's ring.
pub const BLOCKS: u32 = 64;
const RINGS: u64 = 0x1000_0000;
const COMPLETIONS: u64 = 0x2000_0000;
const PAGE: u64 = 0x1000;
/// Rings of each kind: all that a card has.
const QUEUES: u64 = SEND_QUEUES.entries as u64;
/// The card's addresses.
pub const MAC: u64 = 0x0200_0000_0001;
pub const CARD_IP: u32 = 0x0a00_0001;

/// A card that a test can make.
pub trait Simulated: Card + Sized {
    /// True if requests take time after they were posted, and reads go ahead of the packets.
    const PIPELINED: bool;

    /// A card after reset; a call of `progress` is 1,024 cycles.
    fn plugged_into(network: Network) -> Self;
}

impl Simulated for SoftCard {
    const PIPELINED: bool = false;

    fn plugged_into(network: Network) -> Self {
        Self::new(network)
    }
}

impl Simulated for RtlCard {
    const PIPELINED: bool = true;

    fn plugged_into(network: Network) -> Self {
        let config = rtl::Config { cycles_per_progress: 1024, ..rtl::Config::default() };
        Self::new(config, network).expect("the card's RTL, Verilated")
    }
}

/// The card and the host memory that its rings are in.
pub struct Rig<C> {
    pub card: C,
    pub network: Network,
    pub data: DmaMemory,
    pub rings: DmaMemory,
    completions: DmaMemory,
    producers: Vec<u32>,
    consumers: Vec<u32>,
    log_entries: Vec<u8>,
    /// Protection domain of objects that are added from now on.
    pub pd: u32,
}

impl<C: Simulated> Rig<C> {
    /// A card with test memory under one key, completion queue 0 of 16 entries, no queue pairs.
    pub fn new() -> Self {
        let network = Network::new();
        Self::around(C::plugged_into(network.clone()), network)
    }
}

impl<C: Card> Rig<C> {
    /// Like [`new`](Self::new), around a given card.
    pub fn around(card: C, network: Network) -> Self {
        let mut rig = Self {
            card,
            network,
            data: DmaMemory::new(SIZE as usize).unwrap(),
            rings: DmaMemory::new((QUEUES * PAGE) as usize).unwrap(),
            completions: DmaMemory::new((QUEUES * PAGE) as usize).unwrap(),
            producers: vec![0; QUEUES as usize],
            consumers: vec![0; QUEUES as usize],
            log_entries: vec![0; QUEUES as usize],
            pd: 0,
        };
        rig.data.write(0, &memory());
        rig.card.map(BASE, &rig.data).unwrap();
        rig.card.map(RINGS, &rig.rings).unwrap();
        rig.card.map(COMPLETIONS, &rig.completions).unwrap();
        rig.set(&CONTROL, 1);
        rig.set(&MAC_LOW, MAC as u32);
        rig.set(&MAC_HIGH, (MAC >> 32) as u32);
        rig.set(&IP, CARD_IP);
        rig.add_region(LKEY, BASE, SIZE);
        rig.add_completion_queue(0, 4);
        rig
    }

    pub fn set(&mut self, register: &Register, value: u32) {
        self.card.write(register.offset, value).unwrap();
    }

    pub fn get(&mut self, register: &Register) -> u32 {
        self.card.read(register.offset).unwrap()
    }

    /// Waits until a reset is over, and returns the value of `CONTROL` then.
    pub fn reset_ends(&mut self) -> u32 {
        for _ in 0..10_000 {
            let control = self.get(&CONTROL);
            if control & 2 == 0 {
                return control;
            }
        }
        panic!("the reset does not end");
    }

    pub fn count(&mut self, counter: &Counter) -> u64 {
        let low = self.card.read(counter.offset).unwrap();
        u64::from(self.card.read(counter.offset + 4).unwrap()) << 32 | u64::from(low)
    }

    pub fn write_entry<L: Layout>(&mut self, table: &Table, index: u32, entry: &L) {
        let mut bytes = vec![0; L::SIZE];
        entry.encode(&mut bytes);
        for (i, word) in bytes.chunks(4).enumerate() {
            let value = u32::from_le_bytes(word.try_into().unwrap());
            self.card.write(table.entry(index) + 4 * i as u32, value).unwrap();
        }
    }

    pub fn add_region(&mut self, lkey: u32, addr: u64, len: u64) {
        let pd = self.pd;
        let entry = MemoryRegionEntry { addr, len, lkey, pd, valid: 1, ..Default::default() };
        self.write_entry(&MEMORY_REGIONS, lkey % MEMORY_REGIONS.entries, &entry);
    }

    pub fn add_completion_queue(&mut self, index: u32, log_entries: u8) {
        self.log_entries[index as usize] = log_entries;
        self.consumers[index as usize] = 0;
        let entry = CompletionQueueEntry {
            addr: COMPLETIONS + u64::from(index) * PAGE,
            log_entries,
            enable: 1,
            ..Default::default()
        };
        self.write_entry(&COMPLETION_QUEUES, index, &entry);
    }

    /// Makes queue pair `index` ready: number `index + 0x100` on the wire, its peer `index + 0x200`.
    pub fn add_queue_pair(&mut self, index: u32, transport: Transport, psn: u32) -> PeerId {
        self.add_queue_pair_to(
            index,
            psn,
            PeerConfig {
                mtu: 256,
                qkey: 0x77,
                start_psn: Some(psn),
                card_mac: Some(MAC),
                card_ip: Some(CARD_IP),
                ..PeerConfig::new(
                    transport,
                    0x0200_0000_0002,
                    0x0a00_0002,
                    index + 0x200,
                    index + 0x100,
                )
            },
        )
    }

    /// Like [`add_queue_pair`](Self::add_queue_pair), with a new peer: its number and the card's rise with `round`.
    pub fn add_queue_pair_of_round(
        &mut self,
        index: u32,
        transport: Transport,
        round: u32,
    ) -> PeerId {
        let psn = 0x10_0000 * round;
        let number = index + 0x400 * round;
        let peer = PeerConfig {
            mtu: 256,
            start_psn: Some(psn),
            card_mac: Some(MAC),
            card_ip: Some(CARD_IP),
            tos: (4 * index + 1) as u8,
            ttl: 255 - index as u8,
            ..PeerConfig::new(
                transport,
                0x0200_0000_0002,
                0x0a00_0002,
                number + 0x200,
                number + 0x100,
            )
        };
        self.add_queue_pair_to(index, psn, peer)
    }

    /// Makes queue pair `index` ready, with this peer.
    pub fn add_queue_pair_to(&mut self, index: u32, psn: u32, peer: PeerConfig) -> PeerId {
        let entry = QueuePairEntry {
            dest_mac: peer.mac,
            dest_ip: peer.ip,
            qpn: peer.card_qpn,
            dest_qpn: peer.qpn,
            tos: peer.tos,
            ttl: peer.ttl,
            qkey: peer.qkey,
            pkey: peer.pkey,
            transport: peer.transport as u8,
            log_mtu: peer.mtu.ilog2() as u8,
            start_psn: psn,
            pd: self.pd,
            state: 1,
            ..Default::default()
        };
        self.write_entry(&QUEUE_PAIRS, index, &entry);
        self.network.add_peer(peer)
    }

    /// Enables a send queue: of queue pair `owner`, or shared.
    pub fn add_queue(&mut self, index: u32, owner: Option<u32>) {
        self.add_queue_of(index, owner, 0);
    }

    /// Like [`add_queue`](Self::add_queue), with this completion queue.
    pub fn add_queue_of(&mut self, index: u32, owner: Option<u32>, completion_queue: u32) {
        self.producers[index as usize] = 0;
        let entry = SendQueueEntry {
            addr: RINGS + u64::from(index) * PAGE,
            log_blocks: BLOCKS.ilog2() as u8,
            shared: u8::from(owner.is_none()),
            qp: owner.unwrap_or(0),
            completion_queue: completion_queue as u16,
            pd: self.pd,
            enable: 1,
            ..Default::default()
        };
        self.write_entry(&SEND_QUEUES, index, &entry);
    }

    /// Writes raw blocks behind the producer's position, around the ring's end.
    pub fn write_blocks(&mut self, queue: u32, bytes: &[u8]) {
        for block in bytes.chunks(BLOCK) {
            let slot = self.producers[queue as usize] % BLOCKS;
            self.rings.write((queue * PAGE as u32 + slot * BLOCK as u32) as usize, block);
            self.producers[queue as usize] = self.producers[queue as usize].wrapping_add(1);
        }
    }

    pub fn producer(&self, queue: u32) -> u32 {
        self.producers[queue as usize]
    }

    /// Whether bytes lie in the rings of send queues, or of completion queues.
    pub fn is_in_ring(&self, addr: u64, len: u64) -> bool {
        [RINGS, COMPLETIONS]
            .iter()
            .any(|start| addr >= *start && addr.saturating_add(len) <= start + QUEUES * PAGE)
    }

    pub fn write_request(&mut self, queue: u32, request: &Request) {
        let bytes = encode(request, self.producer(queue));
        self.write_blocks(queue, &bytes);
    }

    pub fn ring(&mut self, queue: u32) {
        self.card.write(DOORBELLS.entry(queue), self.producer(queue)).unwrap();
    }

    pub fn post(&mut self, queue: u32, request: &Request) {
        self.write_request(queue, request);
        self.ring(queue);
    }

    pub fn progress(&mut self, times: usize) {
        for _ in 0..times {
            self.card.progress().unwrap();
        }
    }

    /// Takes the completions of queue 0 that are there, and informs the card.
    pub fn poll(&mut self) -> Vec<Completion> {
        self.poll_queue(0)
    }

    /// Lets the card run until completion queue 0 has an entry that was not taken, without a register
    /// access.
    pub fn wait_for_completion(&mut self) {
        for _ in 0..100_000 {
            if self.next_completion(0).is_some() {
                return;
            }
            self.progress(1);
        }
        panic!("a completion was awaited");
    }

    /// The next completion of a queue, if there is one.
    fn next_completion(&self, index: u32) -> Option<Completion> {
        let log = self.log_entries[index as usize];
        let consumer = self.consumers[index as usize];
        let slot = consumer % (1 << log);
        let mut bytes = [0; Completion::SIZE];
        let at = u64::from(index) * PAGE + u64::from(slot) * Completion::SIZE as u64;
        self.completions.read(at as usize, &mut bytes);
        let completion = Completion::decode(&bytes);
        (u32::from(completion.phase) == (consumer >> log & 1 ^ 1)).then_some(completion)
    }

    /// Clears the completions' memory, as a host that opens the card anew does.
    pub fn clear_completions(&mut self) {
        self.completions.write(0, &vec![0; (QUEUES * PAGE) as usize]);
    }

    pub fn poll_queue(&mut self, index: u32) -> Vec<Completion> {
        let mut all = Vec::new();
        while let Some(completion) = self.next_completion(index) {
            assert_eq!(completion.reserved, 0);
            all.push(completion);
            let consumer = &mut self.consumers[index as usize];
            *consumer = consumer.wrapping_add(1);
        }
        let at = COMPLETION_QUEUES.entry(index)
            + CompletionQueueEntry::field("consumer").start as u32 / 8;
        self.card.write(at, self.consumers[index as usize]).unwrap();
        all
    }

    /// Lets the card run until it is idle, then takes completions as name and status.
    pub fn finish(&mut self) -> Vec<(u64, Status)> {
        let mut all = Vec::new();
        for _ in 0..10_000 {
            self.progress(1);
            all.extend(self.poll());
            if self.get(&drdma_abi::register::STATUS) == 0 {
                break;
            }
        }
        // The last completions are on their way through the DMA engine.
        self.progress(1);
        all.extend(self.poll());
        all.iter().map(|c| (c.wr_id, Status::from_code(c.status).unwrap())).collect()
    }

    /// Lets the card run until `count` requests have completed.
    pub fn run_until_completed(&mut self, count: usize) -> Vec<Completion> {
        let mut all = Vec::new();
        for _ in 0..20_000 {
            all.extend(self.poll());
            if all.len() >= count {
                return all;
            }
            self.progress(1);
        }
        panic!("{count} completions were awaited, {all:?} came");
    }

    /// Lets the card run until it is idle, and takes the completions.
    pub fn settle(&mut self) -> Vec<Completion> {
        for _ in 0..20_000 {
            self.progress(1);
            if self.get(&drdma_abi::register::STATUS) == 0 {
                // The last completions are on their way through the DMA engine.
                self.progress(2);
                return self.poll();
            }
        }
        panic!("the card is still busy; {:?} came", self.poll());
    }

    pub fn queue_pair_error(&mut self, index: u32) -> bool {
        self.card.read(QUEUE_PAIR_ERRORS.entry(index)).unwrap() == 1
    }

    pub fn queue_halted(&mut self, index: u32) -> bool {
        self.card.read(SEND_QUEUE_ERRORS.entry(index)).unwrap() == 1
    }

    pub fn sent(&self, peer: PeerId) -> Vec<Vec<u8>> {
        self.network.messages(peer).into_iter().map(|message| message.bytes).collect()
    }
}

/// A run of bytes of the test memory.
pub fn contiguous(offset: u64, len: u32) -> Region {
    Region::Contiguous { addr: BASE + offset, len, lkey: LKEY }
}

/// A run of bytes of the test memory, under another key.
pub fn region_of(lkey: u32, offset: u64, len: u32) -> Region {
    Region::Contiguous { addr: BASE + offset, len, lkey }
}

/// The bytes of a run of the test memory.
pub fn bytes(offset: usize, len: usize) -> Vec<u8> {
    memory()[offset..offset + len].to_vec()
}

pub fn to(qp: u32, regions: Vec<Region>) -> Destination {
    Destination {
        qp,
        remote_addr: 0x1000,
        rkey: 7,
        partition: 0,
        layout: MessageLayout::Rows,
        remote_columns: vec![],
        regions,
    }
}

/// A SEND with row mask `Period`, one row a message.
pub fn send(wr_id: u64, destinations: Vec<Destination>) -> Request {
    Request {
        wr_id,
        opcode: Opcode::Send,
        imm: 0,
        row_mask: RowMask::Period,
        rows_per_message: 1,
        signaled: true,
        fetch: None,
        inline: None,
        partitioned: None,
        destinations,
    }
}
