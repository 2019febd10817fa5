//! A card whose host has secrets: queue pairs of every transport, keys and receives of every kind, and a check of every
//! access of the card.

use drdma_abi::{
    Layout as _,
    described::{APPEND_DOORBELLS, APPEND_REGIONS, KEY_REGIONS},
    receive::{
        AttributesEntry, MAX_RD_ATOMIC, QUEUE_PAIR_ATTRIBUTES, RECEIVE_DOORBELLS, RECEIVE_QUEUES,
        ReceiveCompletion, ReceiveQueueEntry, ReliableOpcode, receive_flags, rights,
    },
    register::{
        COMPLETION_QUEUES, CompletionQueueEntry, MEMORY_REGIONS, MemoryRegionEntry,
        QUEUE_PAIR_ERRORS, QUEUE_PAIRS, QueuePairEntry, Table,
    },
    roce::DEFAULT_PKEY,
    work_request::{BLOCK, WqeHeader},
};
use drdma_driver::{Card as _, DmaMemory};
use drdma_semantics::{append::Append, described, packets::Flow, receive, region::Region, request};

use super::{
    super::{Network, Rig, RtlCard, pcie, rig_on},
    memory::*,
};
use crate::{
    cards::rig::{CARD_IP, MAC, send, to},
    pcie::{engine::AccessLog, port::Direction},
};

/// Rings of receive queues, a page each, and that of completions.
const RINGS: u64 = 0x2_0000_0000;
const RING: usize = 0x1000;
const COMPLETION_RING: u64 = 0x3_0000_0000;
const LOG_COMPLETIONS: u8 = 7;
/// The completion queue.
const COMPLETIONS: u32 = 1;
pub const QKEY: u32 = 0x1_2345;
pub const PSN: u32 = 0xff_fff0;

/// The flow of queue pair `index`, from its peer.
pub fn flow(index: usize) -> Flow {
    Flow {
        source_mac: 0x0200_0000_0002,
        dest_mac: MAC,
        source_ip: 0x0a00_0002,
        dest_ip: CARD_IP,
        tos: 2,
        ttl: 64,
        vlan: None,
        qpn: 0x200 + index as u32,
        dest_qpn: 0x100 + index as u32,
        pkey: DEFAULT_PKEY,
        qkey: QKEY,
        transport: ROLES[index].transport,
        mtu: 1 << ROLES[index].log_mtu,
    }
}

/// The card and its host.
pub struct Guarded {
    pub rig: Rig<RtlCard>,
    table: DmaMemory,
    rings: DmaMemory,
    completions: DmaMemory,
    consumer: u32,
    image: Image,
    log: AccessLog,
    /// Number of rows that were appended since the region was enabled.
    rows: u32,
    /// Number of reads and writes that were checked.
    pub accesses: [u64; 2],
}

impl Guarded {
    pub fn new(seed: u64) -> Self {
        let network = Network::new();
        network.plug_cable();
        let mut rig = rig_on(network, pcie::Config { seed, ..pcie::Config::default() }, 8);
        let image = Image::new();
        let table = DmaMemory::new(BYTES).unwrap();
        table.write(0, &image.bytes);
        let rings = DmaMemory::new(RING * QUEUES).unwrap();
        let completions = DmaMemory::new(RING).unwrap();
        rig.card.map(TABLE, &table).unwrap();
        rig.card.map(RINGS, &rings).unwrap();
        rig.card.map(COMPLETION_RING, &completions).unwrap();
        let entry = CompletionQueueEntry {
            addr: COMPLETION_RING,
            log_entries: LOG_COMPLETIONS,
            enable: 1,
            ..Default::default()
        };
        rig.write_entry(&COMPLETION_QUEUES, COMPLETIONS, &entry);
        for (index, region) in described_regions().iter().enumerate() {
            let bytes = described::encode(region);
            write_words(&mut rig, &KEY_REGIONS, index as u32, &bytes);
        }
        let log = rig.card.accesses();
        let (consumer, rows, accesses) = (0, 0, [0; 2]);
        let mut card =
            Self { rig, table, rings, completions, consumer, image, log, rows, accesses };
        card.make_keys();
        card.renew();
        card
    }

    /// Makes every key valid.
    pub fn make_keys(&mut self) {
        for Key { rkey, len, rights, valid, addr, pd, .. } in keys() {
            let entry = MemoryRegionEntry { addr, len, lkey: rkey, rights, pd, valid };
            self.rig.write_entry(&MEMORY_REGIONS, rkey % MEMORY_REGIONS.entries, &entry);
        }
    }

    /// Makes all queues and queue pairs anew.
    pub fn renew(&mut self) {
        let entry = Append::encode(&columns(&APPEND_COLUMNS, APPEND_LOCAL), CAPACITY as u32, PD);
        write_words(&mut self.rig, &APPEND_REGIONS, 0, &entry);
        self.rows = 0;
        for queue in [SHARED, SHARED_APPENDS] {
            self.fill(queue);
        }
        for index in 0..FRESH {
            self.make(index);
        }
    }

    /// Makes a queue pair anew, and its own receive queue.
    pub fn make(&mut self, index: usize) {
        let (role, flow) = (ROLES[index], flow(index));
        let entry = QueuePairEntry {
            dest_mac: flow.source_mac,
            dest_ip: flow.source_ip,
            qpn: flow.dest_qpn,
            dest_qpn: flow.qpn,
            tos: flow.tos,
            ttl: flow.ttl,
            qkey: flow.qkey,
            pkey: flow.pkey,
            transport: flow.transport as u8,
            log_mtu: role.log_mtu,
            start_psn: PSN,
            pd: PD,
            state: 1,
            ..Default::default()
        };
        let attributes = AttributesEntry {
            rq_psn: PSN,
            receive_queue: role.queue as u16,
            receives: 1,
            rights: rights::ALL as u8,
            max_dest_rd_atomic: MAX_RD_ATOMIC,
            max_rd_atomic: MAX_RD_ATOMIC,
            timeout: 1,
            retry_cnt: 1,
            min_rnr_timer: 1,
            state: 1,
            ..Default::default()
        };
        self.rig.write_entry(&QUEUE_PAIRS, index as u32, &entry);
        self.rig.write_entry(&QUEUE_PAIR_ATTRIBUTES, index as u32, &attributes);
        if role.queue == index {
            self.fill(index);
        }
        if role.asks {
            self.rig.add_queue(index as u32, Some(index as u32));
        }
    }

    /// Enables a receive queue and posts receives to it.
    fn fill(&mut self, queue: usize) {
        let entry = ReceiveQueueEntry {
            addr: RINGS + (queue * RING) as u64,
            log_blocks: (RING / BLOCK).ilog2() as u8,
            shared: u8::from(queue >= SHARED),
            completion_queue: COMPLETIONS as u16,
            qp: if queue >= SHARED { 0 } else { queue as u32 },
            enable: 1,
            ..Default::default()
        };
        self.rig.write_entry(&RECEIVE_QUEUES, queue as u32, &entry);
        let mut blocks = 0;
        for number in 0..RECEIVES {
            let (wr_id, places) = ((queue * RECEIVES + number) as u64, places(queue, number));
            let bytes = match queue {
                SHARED_APPENDS => receive::encode_append(wr_id, 0, blocks),
                SHARED => {
                    let region = Region::Strided {
                        base: at(places[0].start),
                        period: 128,
                        count: 8,
                        lkey: RECEIVE_LOCAL,
                        pattern: extents(&[(0, 48), (64, 33)]),
                    };
                    receive::encode(wr_id, &[region], blocks)
                }
                _ => {
                    let (addr, len) = (at(places[0].start), places[0].len() as u32);
                    let region = Region::Contiguous { addr, len, lkey: RECEIVE_LOCAL };
                    receive::encode(wr_id, &[region], blocks)
                }
            };
            self.rings.write(queue * RING + blocks as usize * BLOCK, &bytes);
            blocks += (bytes.len() / BLOCK) as u32;
        }
        self.rig.card.write(RECEIVE_DOORBELLS.entry(queue as u32), blocks).unwrap();
    }

    /// Lets the card READ from a peer, as many bytes as [`LANDING`] has.
    pub fn ask(&mut self, index: usize) {
        let qp = index as u32;
        let (addr, len) = (at(LANDING.start), LANDING.len() as u32);
        let region = Region::Contiguous { addr, len, lkey: RECEIVE_LOCAL };
        let request = send(1, vec![to(qp, vec![region])]);
        let mut bytes = request::encode(&request, self.rig.producer(qp));
        let mut head = WqeHeader::decode(&bytes);
        head.opcode = ReliableOpcode::Read as u8;
        head.encode(&mut bytes);
        self.rig.write_blocks(qp, &bytes);
        self.rig.ring(qp);
    }

    /// Takes completions of receives, and gives back appended rows. Returns the number of completions.
    pub fn poll(&mut self) -> usize {
        let mut count = 0;
        let before = self.rows;
        loop {
            let slot = self.consumer % (1 << LOG_COMPLETIONS);
            let mut bytes = [0; ReceiveCompletion::SIZE];
            self.completions.read(slot as usize * ReceiveCompletion::SIZE, &mut bytes);
            let completion = ReceiveCompletion::decode(&bytes);
            if u32::from(completion.phase) != self.consumer >> LOG_COMPLETIONS & 1 ^ 1 {
                break;
            }
            assert_eq!(completion.receive, 1, "{completion:?}");
            self.consumer = self.consumer.wrapping_add(1);
            count += 1;
            if completion.flags & receive_flags::APPENDED != 0 {
                let row: usize = APPEND_COLUMNS.iter().map(|(_, width)| width).sum();
                self.rows += completion.byte_len / row as u32;
            }
        }
        if count > 0 {
            let consumer = CompletionQueueEntry::field("consumer").start as u32 / 8;
            let at = COMPLETION_QUEUES.entry(COMPLETIONS) + consumer;
            self.rig.card.write(at, self.consumer).unwrap();
        }
        if self.rows != before {
            self.rig.card.write(APPEND_DOORBELLS.entry(0), self.rows).unwrap();
        }
        count
    }

    /// Queue pairs in error, without those that READ.
    pub fn broken(&mut self) -> Vec<usize> {
        let is_broken = |index: &usize| {
            self.rig.card.read(QUEUE_PAIR_ERRORS.entry(*index as u32)).unwrap() == 1
        };
        (0..FRESH).filter(is_broken).collect()
    }

    /// Checks that all reads and writes of the card since the last call were allowed. Returns the number of writes.
    pub fn check_accesses(&mut self, what: &str) -> usize {
        let log = std::mem::take(&mut *self.log.lock().unwrap());
        let mut writes = 0;
        for (direction, descriptor) in &log {
            let (addr, len) = (descriptor.addr, descriptor.len as u64);
            let which = usize::from(*direction == Direction::Write);
            self.accesses[which] += 1;
            let within = |start: u64, size: usize| {
                addr >= start && addr.saturating_add(len) <= start + size as u64
            };
            let good = if within(TABLE, BYTES) {
                let first = (addr - TABLE) as usize;
                writes += which;
                self.image.allowed[first..first + descriptor.len].iter().all(|byte| byte[which])
            } else {
                match direction {
                    Direction::Read => {
                        within(RINGS, RING * QUEUES) || self.rig.is_in_ring(addr, len)
                    }
                    Direction::Write => {
                        within(COMPLETION_RING, RING) || self.rig.is_in_ring(addr, len)
                    }
                }
            };
            assert!(good, "{direction:?} of {len} B at {addr:#x} {what}");
        }
        writes
    }

    /// Offsets of bytes that changed although no key and no receive gives access to them.
    pub fn changed(&self) -> Vec<usize> {
        let mut memory = vec![0; BYTES];
        self.table.read(0, &mut memory);
        let changed =
            |at: &usize| !self.image.allowed[*at][1] && memory[*at] != self.image.bytes[*at];
        (0..BYTES).filter(changed).collect()
    }

    /// The bytes in memory, from a key's first byte on.
    pub fn memory(&self, key: &Key, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.table.read((key.start - TABLE) as usize, &mut bytes);
        bytes
    }

    /// The bytes of the first receive of a queue pair's own queue.
    pub fn received(&self, index: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.table.read(places(index, 0)[0].start, &mut bytes);
        bytes
    }
}

fn write_words(rig: &mut Rig<RtlCard>, table: &Table, index: u32, bytes: &[u8]) {
    for (word, bytes) in bytes.chunks_exact(4).enumerate() {
        let value = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        rig.card.write(table.entry(index) + 4 * word as u32, value).unwrap();
    }
}
