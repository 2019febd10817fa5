//! Compares what leaves with what the semantics would send, queue pair by queue pair.

mod atomics;

use super::*;
use crate::context::testing::clear_tables;
use crate::context::{QUEUE_PAIR_TABLE, REGION_TABLE};
use crate::testing;
use drdma_abi::receive::rights;
use drdma_abi::register::MemoryRegionEntry;
use drdma_abi::roce::{operation, syndrome};
use drdma_semantics::scatter::allows;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// First byte of host memory.
const BASE: u64 = 0xffff_ffff_0000_0ff0;
const SIZE: u64 = 1 << 16;
/// Addresses that host memory does not have.
const HOLE: Range<u64> = BASE + 40_000..BASE + 40_100;
const QPS: [u64; 4] = [0, 7, 4_000, 4_095];
const PD: u32 = 5;

fn library() -> Library {
    testing::library("replies", Replies::default)
}

/// A packet that leaves: operation, sequence number, AETH, payload.
type Left = (u64, u64, Option<(u64, u64)>, Vec<u8>);

/// The block, with a host that reads and a packetizer that reads pages.
struct Around<'a> {
    bench: Bench<'a>,
    reply: DriverId,
    beat: DriverId,
    read: MonitorId,
    response: MonitorId,
    acknowledgement: MonitorId,
    set_qp_error: MonitorId,
    memory: Vec<u8>,
    latency: u64,
    under_way: VecDeque<(u64, Vec<Beat>)>,
    reads: Vec<(u64, u64)>,
    writes: u64,
    stamps: HashMap<u64, u64>,
    keys: Vec<MemoryRegionEntry>,
    left: HashMap<u64, Vec<Left>>,
    /// Responses whose pages are to be read: queue pair, packet, page, bytes.
    pages: VecDeque<(u64, usize, u64, usize)>,
    row: Option<usize>,
    broken: Vec<u64>,
    /// Received frames that were used up.
    freed: u64,
}

impl<'a> Around<'a> {
    fn new(library: &'a Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(5_000_000);
        bench.set("key_word_valid", 0);
        clear_tables(&mut bench);
        let [reply, beat] = ["reply", "beat"].map(|base| bench.driver(base));
        let outputs = ["read", "response", "acknowledgement", "set_qp_error"];
        let [read, response, acknowledgement, set_qp_error] =
            outputs.map(|base| bench.monitor(base));
        bench.stall(stalls);
        let mut around = Self {
            bench,
            reply,
            beat,
            read,
            response,
            acknowledgement,
            set_qp_error,
            memory: Random::new(seed).bytes(SIZE as usize),
            latency: seed * 40 % 300,
            under_way: VecDeque::new(),
            reads: Vec::new(),
            writes: 4_096,
            stamps: HashMap::new(),
            keys: Vec::new(),
            left: HashMap::new(),
            pages: VecDeque::new(),
            row: None,
            broken: Vec::new(),
            freed: 0,
        };
        QPS.iter().for_each(|qp| around.write_pair(*qp));
        around
    }

    fn write(&mut self, table: u64, index: u64, word: u64, data: u32) {
        let ports = [("table", table), ("index", index), ("word", word), ("data", data.into())];
        for (port, value) in ports {
            self.bench.set(format!("cfg_{port}"), value);
        }
        self.bench.set("cfg_valid", 1);
        self.step();
        self.bench.set("cfg_valid", 0);
        if table == QUEUE_PAIR_TABLE {
            self.stamps.insert(index, self.writes);
            self.writes += 1;
        }
    }

    /// Gives a queue pair another stamp.
    fn write_pair(&mut self, qp: u64) {
        self.write(QUEUE_PAIR_TABLE, qp, 3, 0);
    }

    fn write_key(&mut self, key: MemoryRegionEntry) {
        for (word, bytes) in key.to_bytes().chunks(4).enumerate() {
            let value = u32::from_le_bytes(bytes.try_into().unwrap());
            self.write(REGION_TABLE, u64::from(key.lkey) & 0xfff, word as u64, value);
        }
        self.keys.retain(|other| other.lkey & 0xfff != key.lkey & 0xfff);
        self.keys.push(key);
    }

    /// Goes on by a cycle, in all streams.
    fn step(&mut self) {
        if let (None, Some((_, _, page, _))) = (self.row, self.pages.front()) {
            self.bench.set("page_read_enable", 1);
            self.bench.set("page_read_address", page << 6);
            self.row = Some(0);
        }
        self.bench.step();
        self.bench.set("page_free", 0);
        self.page();
        let cycle = self.bench.cycles();
        for read in self.bench.take(self.read) {
            let (addr, bytes) = (read.u64("addr"), read.u64("bytes"));
            self.reads.push((addr, bytes));
            self.under_way.push_back((cycle + self.latency, self.beats(addr, bytes)));
        }
        while self.under_way.front().is_some_and(|(due, _)| *due <= cycle) {
            let (_, beats) = self.under_way.pop_front().unwrap();
            self.bench.send_all(self.beat, beats);
        }
        for acknowledgement in self.bench.take(self.acknowledgement) {
            let get = |field| acknowledgement.u64(field);
            let aeth = Some((get("syndrome"), get("msn")));
            let packet = (operation::ACKNOWLEDGE.into(), get("psn"), aeth, Vec::new());
            assert_eq!(get("stamp"), self.stamps[&get("qp")]);
            self.left.entry(get("qp")).or_default().push(packet);
        }
        for response in self.bench.take(self.response) {
            let get = |field| response.u64(field);
            let aeth = (get("has_aeth") == 1).then(|| (get("syndrome"), get("msn")));
            let left = self.left.entry(get("qp")).or_default();
            let bytes = get("bytes") as usize;
            assert_eq!(bytes > 0, get("paged") == 1);
            assert_eq!(get("stamp"), self.stamps[&get("qp")]);
            if bytes > 0 {
                self.pages.push_back((get("qp"), left.len(), get("page"), bytes));
            }
            left.push((get("operation"), get("psn"), aeth, Vec::new()));
        }
        let broken = self.bench.take(self.set_qp_error);
        self.broken.extend(broken.iter().map(|beat| beat.u64("qp")));
    }

    /// Reads the next row of the current page, every other cycle.
    fn page(&mut self) {
        let Some(half) = self.row else { return };
        self.bench.set("page_read_enable", 0);
        self.row = Some(half + 1);
        if half % 2 == 0 {
            return;
        }
        let (qp, packet, page, bytes) = self.pages[0];
        let part = (bytes - half / 2 * 64).min(64);
        let data = self.bench.get_word("page_read_data").to_bytes(64);
        let payload = &mut self.left.get_mut(&qp).unwrap()[packet].3;
        payload.extend_from_slice(&data[..part]);
        if payload.len() == bytes {
            self.pages.pop_front();
            self.row = None;
            self.bench.set("page_free", 1);
        } else {
            self.bench.set("page_read_enable", 1);
            self.bench.set("page_read_address", page << 6 | (half as u64 / 2 + 1));
        }
    }

    fn beats(&self, addr: u64, bytes: u64) -> Vec<Beat> {
        let error = is_hole(addr, bytes);
        let start = addr.wrapping_sub(BASE) as usize;
        let data = &self.memory[start..start + bytes as usize];
        let count = data.len().div_ceil(64);
        data.chunks(64)
            .enumerate()
            .map(|(k, chunk)| {
                let mut chunk = chunk.to_vec();
                chunk.resize(64, 0xee);
                Beat::from([("last", u64::from(k + 1 == count)), ("error", error.into())])
                    .with("data", Word::from_bytes(&chunk))
            })
            .collect()
    }

    fn free_frames(&mut self, count: u64) {
        for _ in 0..count {
            self.freed += 1;
            self.bench.set("freed_valid", 1);
            self.step();
            self.bench.set("freed_valid", 0);
        }
    }

    /// Goes on until nothing waits any more.
    fn drain(&mut self) {
        let mut quiet = 0;
        while quiet < 700 {
            self.step();
            let busy = self.bench.get("busy") == 1 || self.bench.pending(self.reply) > 0;
            quiet = if busy || !self.pages.is_empty() { 0 } else { quiet + 1 };
        }
        self.bench.set("page_free", 0);
    }
}

fn is_hole(addr: u64, bytes: u64) -> bool {
    addr < HOLE.end && addr + bytes > HOLE.start
}

/// An answer of the responder.
#[derive(Clone, Debug)]
struct Reply {
    qp: u64,
    stamp: u64,
    psn: u64,
    msn: u64,
    /// Of a READ or an atomic: first byte, bytes, key.
    read: Option<(u64, u64, u32)>,
    log_mtu: u64,
    before: u64,
}

impl Reply {
    fn beat(&self) -> Beat {
        let (addr, len, rkey) = self.read.unwrap_or((77, 88, 99));
        Beat::from([
            ("qp", self.qp),
            ("stamp", self.stamp),
            ("syndrome", 0x1f),
            ("psn", self.psn),
            ("msn", self.msn),
            ("reads", self.read.is_some().into()),
            ("addr", addr),
            ("rkey", rkey.into()),
            ("len", len),
            ("pd", PD.into()),
            ("log_mtu", self.log_mtu),
            ("earlier", self.before),
        ])
    }

    /// The packets that the answer becomes, and whether the queue pair breaks.
    fn packets(&self, around: &Around<'_>) -> (Vec<Left>, bool) {
        let aeth = Some((0x1f, self.msn));
        let bare = |operation: u8, psn, syndrome: u8| {
            (operation.into(), psn, Some((syndrome.into(), self.msn)), Vec::new())
        };
        let Some((addr, len, rkey)) = self.read else {
            return (vec![bare(operation::ACKNOWLEDGE, self.psn, 0x1f)], false);
        };
        if self.stamp != around.stamps[&self.qp] {
            return (Vec::new(), false);
        }
        let (mtu, mut packets) = (1 << self.log_mtu, Vec::new());
        for k in 0..len.div_ceil(mtu).max(1) {
            let (from, part) = (addr + k * mtu, mtu.min(len - k * mtu));
            let psn = (self.psn + k) & 0xff_ffff;
            let key = around.keys.iter().find(|key| key.lkey == rkey);
            let may = |key: &MemoryRegionEntry| allows(key, rights::REMOTE_READ, PD, from, part);
            let nak = if len > 0 && !key.is_some_and(may) {
                Some(syndrome::NAK_REMOTE_ACCESS)
            } else if len > 0 && is_hole(from, part) {
                Some(syndrome::NAK_REMOTE_OPERATION)
            } else {
                None
            };
            if let Some(nak) = nak {
                packets.push(bare(operation::ACKNOWLEDGE, psn, nak));
                return (packets, true);
            }
            let (first, last) = (k == 0, k * mtu + part == len);
            let operation = match (first, last) {
                (true, true) => operation::READ_RESPONSE_ONLY,
                (true, false) => operation::READ_RESPONSE_FIRST,
                (false, true) => operation::READ_RESPONSE_LAST,
                (false, false) => operation::READ_RESPONSE_MIDDLE,
            };
            let start = from.wrapping_sub(BASE) as usize;
            let payload = around.memory[start..][..part as usize].to_vec();
            packets.push((operation.into(), psn, aeth.filter(|_| first || last), payload));
        }
        (packets, false)
    }
}

fn random_reply(around: &Around<'_>, sent: u64, bad: bool, random: &mut Random) -> Reply {
    let qp = QPS[random.below(4) as usize];
    let log_mtu = 8 + random.below(5);
    let most = [0, 70, 700, 4 << log_mtu][random.below(4) as usize].min(SIZE);
    let len = random.below(most + 1);
    let addr = match bad && random.chance(0.1) {
        true => HOLE.start - random.below(len + 1).min(40_000),
        false => BASE + random.below(30_000.min(SIZE - len) + 1),
    };
    let addr = if is_hole(addr, len) && !bad { BASE } else { addr };
    let len = if is_hole(addr, len) && !bad { len.min(30_000) } else { len };
    // The second key allows nothing.
    let rkey = around.keys[usize::from(bad && random.chance(0.05))].lkey;
    let read = random.chance(0.5).then_some((addr, len.min(BASE + SIZE - addr), rkey));
    let stale = bad && read.is_some() && random.chance(0.05);
    Reply {
        qp,
        stamp: around.stamps[&qp] ^ u64::from(stale),
        psn: random.below(1 << 24),
        msn: random.below(1 << 24),
        read,
        log_mtu,
        before: sent,
    }
}

fn key(lkey: u32, rights: u32) -> MemoryRegionEntry {
    MemoryRegionEntry { addr: BASE, len: SIZE, lkey, rights, pd: PD, valid: 1 }
}

#[test]
fn reads_are_answered_packet_by_packet_and_nothing_of_a_queue_pair_is_overtaken() {
    let library = library();
    let mut naks = [0; 256];
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        around.write_key(key(0x1234_5007, rights::REMOTE_READ));
        around.write_key(key(0x1234_5008, rights::ALL & !rights::REMOTE_READ));
        let mut sent = 0;
        for round in 0..8 {
            let bad = round % 2 == 1;
            let (mut expected, mut broken) = (HashMap::<u64, Vec<Left>>::new(), Vec::new());
            for _ in 0..60 {
                let reply = random_reply(&around, sent, bad, &mut random);
                around.bench.send(around.reply, reply.beat());
                sent += 1;
                if !broken.contains(&reply.qp) {
                    let (packets, breaks) = reply.packets(&around);
                    expected.entry(reply.qp).or_default().extend(packets);
                    if breaks {
                        broken.push(reply.qp);
                    }
                }
                for _ in 0..random.below(60) {
                    around.step();
                }
                around.free_frames(1);
            }
            around.drain();
            let what = format!("in round {round} of seed {seed}");
            for qp in QPS {
                let got = around.left.remove(&qp).unwrap_or_default();
                let expected = expected.remove(&qp).unwrap_or_default();
                let shape = |packets: &[Left]| {
                    packets.iter().map(|p| (p.0, p.1, p.2, p.3.len())).collect::<Vec<_>>()
                };
                assert_eq!(shape(&got), shape(&expected), "queue pair {qp} {what}");
                for (k, (got, expected)) in got.iter().zip(&expected).enumerate() {
                    let differs = got.3.iter().zip(&expected.3).position(|(a, b)| a != b);
                    let bytes = got.3.len();
                    assert_eq!(differs, None, "packet {k} of {bytes} B of queue pair {qp} {what}");
                }
                got.iter()
                    .filter_map(|packet| packet.2)
                    .for_each(|aeth| naks[aeth.0 as usize] += 1);
            }
            around.broken.sort_unstable();
            broken.sort_unstable();
            assert_eq!(std::mem::take(&mut around.broken), broken, "{what}");
            // The queue pairs begin anew.
            QPS.iter().for_each(|qp| around.write_pair(*qp));
        }
    }
    for (nak, least) in [(0x1f, 1_000), (0x62, 5), (0x63, 5)] {
        assert!(naks[nak] >= least, "{} with {nak:#x}", naks[nak]);
    }
}

#[test]
fn a_read_waits_for_what_came_before_it_to_be_in_memory() {
    let library = library();
    let mut around = Around::new(&library, 1, (0.0, 0.0));
    around.write_key(key(7, rights::REMOTE_READ));
    let (qp, read) = (QPS[1], Some((BASE, 100, 7)));
    let stamp = around.stamps[&qp];
    let reply = Reply { qp, stamp, psn: 1, msn: 1, read, log_mtu: 8, before: 3 };
    around.bench.send(around.reply, reply.beat());
    for freed in 0..4 {
        for _ in 0..100 {
            around.step();
        }
        assert_eq!(around.reads.len(), usize::from(freed == 3), "after {freed} frames");
        around.free_frames(1);
    }
}

#[test]
fn packets_follow_each_other_at_the_rate_of_the_wire() {
    let library = library();
    for (log_mtu, most) in [(12, 67), (10, 19), (8, 7)] {
        let mut around = Around::new(&library, 1, (0.0, 0.0));
        around.latency = 300;
        around.write_key(key(7, rights::REMOTE_READ));
        let (qp, read) = (QPS[1], Some((BASE, 32_768, 7)));
        let stamp = around.stamps[&qp];
        let reply = Reply { qp, stamp, psn: 1, msn: 1, read, log_mtu, before: 0 };
        around.bench.send(around.reply, reply.beat());
        let packets = 32_768 >> log_mtu;
        let mut at = Vec::new();
        while at.len() < packets {
            around.step();
            // Each page is read at once.
            around.pages.clear();
            around.row = None;
            around.bench.set("page_read_enable", 0);
            let left = around.left.get(&qp).map_or(0, Vec::len);
            around.bench.set("page_free", u64::from(left > at.len()));
            if left > at.len() {
                at.push(around.bench.cycles());
            }
        }
        let cycles = (at[packets - 1] - at[0]).div_ceil(packets as u64 - 1);
        assert!(cycles <= most, "{cycles} cycles a packet of {} B", 1 << log_mtu);
    }
}
