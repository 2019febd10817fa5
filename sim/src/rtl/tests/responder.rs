//! The whole card as responder: the rate of answers to READs and atomics, and its handling of wrong frames.

use super::*;
use crate::cards::rig::{CARD_IP, MAC};
use drdma_abi::{
    receive::{AttributesEntry, QUEUE_PAIR_ATTRIBUTES, rights},
    register::{MEMORY_REGIONS, MemoryRegionEntry, QUEUE_PAIRS, QueuePairEntry, STATUS, counter},
    roce::{AtomicEth, Bth, Reth, Transport, operation},
};
use drdma_driver::{Card as _, DmaMemory};
use drdma_semantics::{
    answers,
    frame::Frame,
    packets::{self, Flow, psn_add},
};
use drdma_soft::clock::NS_PER_CYCLE;
use drdma_verilated::testbench::Random;

mod congestion;

/// Host memory that peers reach.
const TABLE: u64 = 0x1_0000_0000;
const TABLE_BYTES: usize = 5 << 20;
const KEY: u32 = 0x55_5003;
const PSN: u32 = 0xff_fff0;
const LOG_MTU: u8 = 12;

/// A card with memory for peers. The test handles its frames.
struct Bench {
    rig: Rig<RtlCard>,
    table: DmaMemory,
    /// Sequence number of each queue pair's next request.
    psns: Vec<u32>,
}

/// The flow of queue pair `index`, from its peer.
fn flow(index: u32) -> Flow {
    Flow {
        source_mac: 0x0200_0000_0002,
        dest_mac: MAC,
        source_ip: 0x0a00_0002,
        dest_ip: CARD_IP,
        tos: 0,
        ttl: 64,
        vlan: None,
        qpn: 0x200 + index,
        dest_qpn: 0x100 + index,
        pkey: 0xffff,
        qkey: 0,
        transport: Transport::Rc,
        mtu: 1 << LOG_MTU,
    }
}

/// The queue pair that an answer belongs to.
fn of(frame: &Frame<'_>) -> usize {
    (frame.bth.dest_qp - 0x200) as usize
}

impl Bench {
    fn new(pairs: u32, pcie: pcie::Config) -> Self {
        let network = Network::new();
        network.plug_cable();
        let mut rig = rig_on(network, pcie, 8);
        let table = DmaMemory::new(TABLE_BYTES).unwrap();
        rig.card.map(TABLE, &table).unwrap();
        let key = MemoryRegionEntry {
            addr: TABLE,
            len: TABLE_BYTES as u64,
            lkey: KEY,
            rights: rights::ALL,
            valid: 1,
            ..Default::default()
        };
        rig.write_entry(&MEMORY_REGIONS, KEY % MEMORY_REGIONS.entries, &key);
        let mut bench = Self { rig, table, psns: vec![PSN; pairs as usize] };
        (0..pairs).for_each(|index| bench.make(index));
        bench
    }

    /// Makes a queue pair anew.
    fn make(&mut self, index: u32) {
        let flow = flow(index);
        let entry = QueuePairEntry {
            dest_mac: flow.source_mac,
            dest_ip: flow.source_ip,
            qpn: flow.dest_qpn,
            dest_qpn: flow.qpn,
            ttl: 64,
            pkey: flow.pkey,
            transport: flow.transport as u8,
            log_mtu: LOG_MTU,
            state: 1,
            ..Default::default()
        };
        let attributes = AttributesEntry {
            rq_psn: PSN,
            rights: rights::ALL as u8,
            max_dest_rd_atomic: 16,
            min_rnr_timer: 1,
            state: 1,
            ..Default::default()
        };
        self.rig.write_entry(&QUEUE_PAIRS, index, &entry);
        self.rig.write_entry(&QUEUE_PAIR_ATTRIBUTES, index, &attributes);
        self.psns[index as usize] = PSN;
    }

    fn now(&mut self) -> u64 {
        (self.rig.card.cycles() as f64 * NS_PER_CYCLE) as u64
    }

    /// Sends a frame to the card, now.
    fn inject(&mut self, frame: Vec<u8>) {
        let now = self.now();
        self.rig.network.inject(frame, now);
    }

    fn read(&mut self, index: usize, addr: u64, len: u32) {
        let request = Reth { virtual_address: addr, rkey: KEY, dma_length: len };
        let frame = answers::read_request(&flow(index as u32), self.psns[index], &request);
        let packets = len.div_ceil(1 << LOG_MTU).max(1);
        self.psns[index] = psn_add(self.psns[index], packets);
        self.inject(frame);
    }

    fn add(&mut self, index: usize, addr: u64) {
        let request = AtomicEth { virtual_address: addr, rkey: KEY, swap_or_add: 1, compare: 0 };
        let frame = answers::atomic_request(&flow(index as u32), self.psns[index], false, &request);
        self.psns[index] = psn_add(self.psns[index], 1);
        self.inject(frame);
    }

    /// Keeps 16 requests of each queue pair outstanding. Returns the cycles that a request took, at the end of `count`.
    fn pace(&mut self, count: usize, mut ask: impl FnMut(&mut Self, usize, u64)) -> f64 {
        let pairs = self.psns.len();
        let mut asked = 0;
        for k in 0..16 * pairs {
            ask(self, k % pairs, asked);
            asked += 1;
        }
        let mut at = Vec::new();
        for _ in 0..1_000_000 {
            self.rig.progress(1);
            while let Some(sent) = self.rig.network.take_sent() {
                let frame = Frame::parse_any(&sent.bytes).expect("a right frame");
                assert_eq!(frame.aeth.expect("an answer").syndrome, 0x1f, "{frame:?}");
                let index = of(&frame);
                at.push(sent.time_ns);
                ask(self, index, asked);
                asked += 1;
            }
            if at.len() >= count {
                let from = count / 4;
                return (at[count - 1] - at[from]) as f64
                    / (count - 1 - from) as f64
                    / NS_PER_CYCLE;
            }
        }
        panic!("{} of {count} are answered", at.len());
    }
}

fn report(what: &str, cycles: f64) -> f64 {
    let rate = 1e3 / (cycles * NS_PER_CYCLE);
    println!("{what}: {cycles:.1} cycles each, {rate:.1} million a second");
    rate
}

/// With host memory like a U50's: 1.3 us, 64 tags.
#[test]
fn small_reads_and_atomics_of_sixteen_queue_pairs_overlap() {
    let mut bench = Bench::new(16, pcie::Config::default());
    let cycles = bench.pace(3_000, |bench, index, k| {
        bench.read(index, TABLE + 64 * (k % 50_000), 64);
    });
    assert!(report("READs of 64 B", cycles) >= 25.0);

    let mut bench = Bench::new(16, pcie::Config::default());
    let cycles = bench.pace(2_000, |bench, index, k| bench.add(index, TABLE + 64 * (k % 50_000)));
    assert!(report("atomics, each of a line of its own", cycles) >= 8.0);
    // Atomics on one line wait for it in host memory; those on one page do not wait for each other.
    let cycles = bench.pace(1_000, |bench, index, k| bench.add(index, TABLE + 8 * (k % 512)));
    assert!(report("atomics on the words of a page", cycles) >= 8.0);
}

#[test]
fn atomics_on_one_address_are_executed_one_after_the_other() {
    let mut bench = Bench::new(16, pcie::Config::default());
    let cycles = bench.pace(300, |bench, index, _| bench.add(index, TABLE + 8));
    // The result of an atomic is handed on to the next one: it does not wait for host memory.
    assert!(report("atomics on one address", cycles) >= 8.0);
    let mut word = [0; 8];
    // Atomics that are under way complete.
    bench.rig.progress(20_000);
    bench.table.read(8, &mut word);
    let answered: usize = std::iter::from_fn(|| bench.rig.network.take_sent()).count();
    let sent: u32 = bench.psns.iter().map(|psn| psn.wrapping_sub(PSN) & 0xff_ffff).sum();
    assert_eq!(u64::from_le_bytes(word), u64::from(sent), "{answered} of {sent}");
}

/// With host memory of 300 Gb/s, so that the card is measured; and with that of a U50.
#[test]
fn a_read_of_4_mib_is_answered_at_the_rate_of_the_wire() {
    const LEN: u32 = 4 << 20;
    let slow = pcie::Config::default();
    for (link, pcie, first, least) in [
        ("a U50's", slow.clone(), 4096, 94.0),
        // Within a cache line: two packets read it, one after the other.
        ("a U50's", slow, 5_173, 93.0),
        ("a fast", super::throughput::fast(), 4096, 94.0),
    ] {
        let mut bench = Bench::new(1, pcie);
        let bytes = Random::new(3).bytes(LEN as usize);
        bench.table.write(first, &bytes);
        bench.read(0, TABLE + first as u64, LEN);
        let (mut found, mut times) = (Vec::with_capacity(LEN as usize), Vec::new());
        while found.len() < LEN as usize {
            bench.rig.progress(64);
            while let Some(sent) = bench.rig.network.take_sent() {
                let frame = Frame::parse_any(&sent.bytes).expect("a right frame");
                found.extend_from_slice(frame.payload);
                times.push(sent.time_ns);
            }
        }
        assert!(found == bytes);
        let span = times[times.len() - 1] - times[0];
        let gbps = f64::from(LEN - 4096) * 8.0 / span as f64;
        println!("READ of 4 MiB from byte {first} behind {link} link: {gbps:.1} Gb/s of payload");
        assert!(gbps >= least, "{gbps}");
    }
}

/// The host takes a queue pair away, or breaks it, while a long READ is being answered: what has left is whole, nothing
/// of it leaves later, and others go on.
#[test]
fn a_queue_pair_that_goes_in_the_middle_of_an_answer_ends_it() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(2, pcie::Config { seed, ..pcie::Config::default() });
        let bytes = random.bytes(1 << 20);
        bench.table.write(0, &bytes);
        bench.read(0, TABLE, 1 << 20);
        // Requests behind it, and of another queue pair.
        bench.add(0, TABLE + (4 << 20));
        bench.read(1, TABLE + 77, 10_000);
        bench.rig.progress(200 + random.below(2_000) as usize);
        let anew = random.chance(0.5);
        if anew {
            bench.make(0);
        } else {
            bench.rig.write_entry(&QUEUE_PAIRS, 0, &QueuePairEntry::default());
        }
        // Frames that were sent or are being sent by now.
        let mut sent = [Vec::new(), Vec::new()];
        bench.rig.progress(4_000);
        while let Some(frame) = bench.rig.network.take_sent() {
            let frame = Frame::parse_any(&frame.bytes).expect("a right frame");
            sent[of(&frame)].extend_from_slice(frame.payload);
        }
        assert!(bytes.starts_with(&sent[0]), "seed {seed}: {} bytes", sent[0].len());
        bench.read(1, TABLE + 5, 3);
        if anew {
            bench.read(0, TABLE + 9, 300);
            bench.add(0, TABLE + (4 << 20));
        }
        for _ in 0..100_000 {
            bench.rig.progress(8);
            if bench.rig.get(&STATUS) == 0 {
                break;
            }
        }
        assert_eq!(bench.rig.get(&STATUS), 0, "seed {seed}: the card is idle");
        let mut later = [Vec::new(), Vec::new()];
        while let Some(frame) = bench.rig.network.take_sent() {
            let frame = Frame::parse_any(&frame.bytes).expect("a right frame");
            later[of(&frame)].extend_from_slice(frame.payload);
        }
        sent[1].extend_from_slice(&later[1]);
        assert!(sent[1] == [&bytes[77..10_077], &bytes[5..8]].concat(), "seed {seed}");
        let count = u64::from(sent[0].len() == 1 << 20);
        if anew {
            assert_eq!(later[0].len(), 300, "seed {seed}");
            assert!(later[0] == bytes[9..309], "seed {seed}");
        } else {
            assert!(later[0].is_empty(), "seed {seed}: {} bytes later", later[0].len());
        }
        let mut word = [0; 8];
        bench.table.read(4 << 20, &mut word);
        assert!(u64::from_le_bytes(word) <= count + u64::from(anew), "seed {seed}");
    }
}
