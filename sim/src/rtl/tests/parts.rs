//! Long messages, which the card sends in parts: other queue pairs have their turns between them.

use super::*;
use crate::cards::rig::{bytes, send, to};
use drdma_abi::{
    completion::{Completion, Status},
    receive::{AttributesEntry, QUEUE_PAIR_ATTRIBUTES},
    register::{MEMORY_REGIONS, MemoryRegionEntry, STATUS},
    roce::Transport,
};
use drdma_driver::{Card as _, DmaMemory};
use drdma_semantics::region::Region;
use drdma_soft::wire::{Behaviour, PeerConfig, PeerError, PeerId, WireError};

const DATA: u64 = 0x1_0000_0000;
const KEY: u32 = 3;
/// Bytes of the memory, and of a long message.
const SIZE: usize = (4 << 20) + 100;
const LONG: u32 = 4 << 20;
/// `timeout`: 4.2 s, 131 us, 8.2 us.
const NEVER: u8 = 20;
const LATER: u8 = 5;
const SOON: u8 = 1;

struct Bench {
    rig: Rig<RtlCard>,
    data: DmaMemory,
    peers: Vec<PeerId>,
    /// The number of a peer that did not answer for a while.
    revived: Option<u32>,
}

impl Bench {
    /// Makes a queue pair for each entry, with queue and completion queue of its number. `keep`: peers keep messages.
    fn new(pairs: &[(Transport, u32, u8)], keep: bool) -> Self {
        let network = Network::new();
        let config = Config { cycles_per_progress: 64, ..Config::default() };
        let card = RtlCard::new(config, network.clone()).expect("the card's RTL");
        let mut rig = Rig::around(card, network);
        let data = DmaMemory::new(SIZE).unwrap();
        data.write(0, &Self::content());
        rig.card.map(DATA, &data).unwrap();
        rig.add_region(KEY, DATA, SIZE as u64);
        let mut peers = Vec::new();
        for (qp, (transport, mtu, timeout)) in (0..).zip(pairs) {
            let attributes = AttributesEntry {
                timeout: *timeout,
                retry_cnt: if *transport == Transport::Rc { 7 } else { 0 },
                rnr_retry: 7,
                state: 1,
                ..AttributesEntry::default()
            };
            rig.write_entry(&QUEUE_PAIR_ATTRIBUTES, qp, &attributes);
            let peer = PeerConfig {
                mtu: *mtu,
                keep_messages: keep,
                start_psn: Some(0),
                ..PeerConfig::new(*transport, 2, 3, 0x200 + qp, 0x100 + qp)
            };
            peers.push(rig.add_queue_pair_to(qp, 0, peer));
            rig.add_completion_queue(qp, 5);
            rig.add_queue_of(qp, Some(qp), qp);
        }
        Self { rig, data, peers, revived: None }
    }

    fn content() -> Vec<u8> {
        (0..SIZE).map(|at| (at % 251) as u8 ^ (at >> 12) as u8).collect()
    }

    fn behave(&mut self, qp: usize, behaviour: Behaviour) {
        if behaviour == Behaviour::Normal {
            self.revived = Some(0x200 + qp as u32);
        }
        self.rig.network.with_peer(self.peers[qp], |peer| peer.set_behaviour(behaviour));
    }

    fn post(&mut self, queue: u32, qp: u32, wr_id: u64, offset: u64, len: u32) {
        let region = Region::Contiguous { addr: DATA + offset, len, lkey: KEY };
        self.rig.post(queue, &send(wr_id, vec![to(qp, vec![region])]));
    }

    /// Runs until `count` requests of the queue have completed.
    fn run_until(&mut self, queue: u32, count: usize) -> Vec<Completion> {
        let mut all = Vec::new();
        for _ in 0..40_000 {
            all.extend(self.rig.poll_queue(queue));
            if all.len() >= count {
                return all;
            }
            self.rig.progress(1);
        }
        panic!("{} of {count} requests of queue {queue} have completed", all.len());
    }

    /// Runs until no request is under way.
    fn settle(&mut self) {
        for _ in 0..40_000 {
            if self.rig.get(&STATUS) == 0 {
                return;
            }
            self.rig.progress(1);
        }
        panic!("the card is still busy: {:#x}", self.rig.get(&STATUS));
    }

    /// Compares the messages of a peer with those of these lengths from the memory's start on.
    fn check(&self, qp: usize, lengths: &[(u64, u32)]) {
        let content = Self::content();
        let sent = self.rig.sent(self.peers[qp]);
        assert_eq!(sent.len(), lengths.len());
        for (sent, (offset, len)) in sent.iter().zip(lengths) {
            let right = &content[*offset as usize..][..*len as usize];
            assert!(sent == right, "{} bytes of {len}", sent.len());
        }
        assert_eq!(self.errors(), []);
    }

    /// What peers found wrong. The last packet of a part asks for an acknowledgement, as any packet may of a queue pair
    /// that sends again what is lost; and what comes behind a lost one is not the next.
    fn errors(&self) -> Vec<WireError> {
        let may_be = |error: &WireError| match error {
            WireError::Peer { error: PeerError::Field { field, found: 1, .. }, .. } => {
                *field == "acknowledge request"
            }
            WireError::Peer { qpn, error: PeerError::Psn { .. } } => self.revived == Some(*qpn),
            _ => false,
        };
        self.rig.network.errors().into_iter().filter(|error| !may_be(error)).collect()
    }
}

fn told(completions: &[Completion]) -> Vec<(u64, u8, u64)> {
    completions.iter().map(|c| (c.wr_id, c.status, c.bytes)).collect()
}

/// Cycles in which 15 queue pairs send `count` messages of 64 KiB each, while a sixteenth has long ones.
fn cycles_of_the_others(long: Option<Behaviour>, count: u32) -> u64 {
    let mut bench = Bench::new(&[(Transport::Rc, 4096, NEVER); 16], false);
    if let Some(behaviour) = long {
        bench.behave(0, behaviour);
        (0..4).for_each(|wr_id| bench.post(0, 0, wr_id, 0, LONG));
    }
    for wr_id in 0..count {
        (1..16).for_each(|qp| bench.post(qp, qp, wr_id.into(), 0, 64 << 10));
    }
    for qp in 1..16 {
        let all = bench.run_until(qp, count as usize);
        assert!(all.iter().all(|c| c.status == 0));
    }
    assert!(bench.rig.poll_queue(0).is_empty());
    bench.rig.network.clock().span().expect("doorbells").cycles()
}

#[test]
fn messages_of_4_mib_to_a_silent_peer_cost_others_nothing() {
    let without = cycles_of_the_others(None, 8);
    for behaviour in [Behaviour::Dead, Behaviour::NotReady] {
        let with = cycles_of_the_others(Some(behaviour), 8);
        println!("without it: {without} cycles; {behaviour:?}: {with}");
        assert!(with <= without + without / 50, "{behaviour:?}: {with} cycles, not {without}");
    }
}

#[test]
fn a_peer_that_comes_back_receives_every_byte() {
    for mtu in [256, 1024, 4096] {
        let mut bench =
            Bench::new(&[(Transport::Rc, mtu, LATER), (Transport::Rc, mtu, NEVER)], true);
        bench.behave(0, Behaviour::Dead);
        let long = [(0, 1 << 20), (77, 600_001), (3, 40)];
        for (wr_id, (offset, len)) in (0..).zip(long) {
            bench.post(0, 0, wr_id, offset, len);
        }
        let others: Vec<_> = (0..8).map(|k| (k * 1_000, 100_000)).collect();
        for (wr_id, (offset, len)) in (0..).zip(&others) {
            bench.post(1, 1, wr_id, *offset, *len);
        }
        let of_others = bench.run_until(1, 8);
        assert!(of_others.iter().all(|c| (c.status, c.bytes) == (0, 100_000)));
        assert!(bench.rig.poll_queue(0).is_empty());
        bench.behave(0, Behaviour::Normal);
        let all = bench.run_until(0, 3);
        assert_eq!(told(&all), [(0, 0, 1 << 20), (1, 0, 600_001), (2, 0, 40)], "MTU {mtu}");
        bench.settle();
        bench.check(0, &long);
        bench.check(1, &others);
    }
}

#[test]
fn a_long_message_to_a_dead_peer_fails_once_and_others_go_on() {
    let mut bench = Bench::new(&[(Transport::Rc, 1024, SOON), (Transport::Rc, 1024, NEVER)], true);
    bench.behave(0, Behaviour::Dead);
    (0..2).for_each(|wr_id| bench.post(0, 0, wr_id, 0, LONG));
    let others: Vec<_> = (0..20).map(|k| (k, 70_000)).collect();
    for (wr_id, (offset, len)) in (0..).zip(&others) {
        bench.post(1, 1, wr_id, *offset, *len);
    }
    let of_others = bench.run_until(1, 20);
    assert!(of_others.iter().all(|c| c.status == 0));
    let failed = bench.run_until(0, 1);
    assert_eq!(told(&failed), [(0, Status::RetryExceeded as u8, 0)]);
    bench.settle();
    assert!(bench.rig.poll_queue(0).is_empty(), "it fails once");
    assert!(bench.rig.queue_pair_error(0) && bench.rig.queue_halted(0));
    bench.post(1, 1, 99, 5, 200_000);
    assert_eq!(told(&bench.run_until(1, 1)), [(99, 0, 200_000)]);
    bench.check(1, &[others, vec![(5, 200_000)]].concat());
}

/// Messages of every kind and length, on RC and UC, with others between them.
#[test]
fn messages_in_parts_arrive_as_they_are() {
    for (transport, mtu) in [(Transport::Rc, 256), (Transport::Uc, 512), (Transport::Rc, 2048)] {
        let pairs = [(transport, mtu, NEVER), (Transport::Rc, 1024, NEVER)];
        let mut bench = Bench::new(&pairs, true);
        let part = (64 * mtu).min(64 << 10);
        let lengths = [part, part + 1, 3 * part - 1, 2 * part, 5 * part + 17, 1];
        let long: Vec<_> = (0..).map(|k| 13 * k).zip(lengths).collect();
        for (wr_id, (offset, len)) in (0..).zip(&long) {
            bench.post(0, 0, wr_id, *offset, *len);
            bench.post(1, 1, wr_id, *offset, 100_000);
        }
        let all = bench.run_until(0, 6);
        let right: Vec<_> =
            (0..).zip(&long).map(|(wr_id, (_, len))| (wr_id, 0, u64::from(*len))).collect();
        assert_eq!(told(&all), right);
        bench.run_until(1, 6);
        bench.settle();
        bench.check(0, &long);
        let others: Vec<_> = long.iter().map(|(offset, _)| (*offset, 100_000)).collect();
        bench.check(1, &others);
    }
}

/// A shared queue's request to the same queue pair comes behind the message, not into it.
#[test]
fn a_shared_queue_waits_for_the_end_of_a_message() {
    let mut bench = Bench::new(&[(Transport::Rc, 1024, LATER)], true);
    bench.rig.add_completion_queue(9, 4);
    bench.rig.add_queue_of(9, None, 9);
    bench.behave(0, Behaviour::Dead);
    bench.post(0, 0, 0, 0, 500_000);
    bench.rig.progress(200);
    bench.post(9, 0, 1, 0, 3_000);
    bench.post(0, 0, 2, 9, 100_000);
    bench.rig.progress(50);
    bench.behave(0, Behaviour::Normal);
    assert_eq!(told(&bench.run_until(0, 2)), [(0, 0, 500_000), (2, 0, 100_000)]);
    assert_eq!(told(&bench.run_until(9, 1)), [(1, 0, 3_000)]);
    bench.settle();
    bench.check(0, &[(0, 500_000), (0, 3_000), (9, 100_000)]);
}

/// Change while a message is under way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// The key is made invalid.
    Key,
    /// The queue pair's entry is written anew.
    QueuePair,
    /// The queue's entry is written anew.
    Queue,
}

#[test]
fn what_changes_between_parts_ends_the_message_once_and_nothing_wrong_is_sent() {
    let changes = [
        (Change::Key, Some(Status::LocalProtectionError), true),
        (Change::QueuePair, Some(Status::WrFlushError), false),
        (Change::Queue, None, false),
    ];
    for (change, status, breaks) in changes {
        let pairs = [(Transport::Rc, 1024, NEVER), (Transport::Rc, 1024, NEVER)];
        let mut bench = Bench::new(&pairs, true);
        bench.post(0, 0, 5, 0, LONG);
        bench.post(0, 0, 6, 0, 100);
        let frames = |bench: &mut Bench| bench.rig.count(&drdma_abi::register::counter::PACKETS);
        while frames(&mut bench) < 300 {
            bench.rig.progress(1);
        }
        match change {
            Change::Key => {
                let none = MemoryRegionEntry::default();
                bench.rig.write_entry(&MEMORY_REGIONS, KEY, &none);
            }
            Change::QueuePair => {
                let peer =
                    PeerConfig { mtu: 1024, ..PeerConfig::new(Transport::Rc, 2, 3, 0x900, 0x100) };
                bench.peers[0] = bench.rig.add_queue_pair_to(0, 0, peer);
            }
            Change::Queue => bench.rig.add_queue_of(0, Some(0), 0),
        }
        bench.settle();
        let came: Vec<_> = bench.rig.poll_queue(0).iter().map(|c| (c.wr_id, c.status)).collect();
        let expected: Vec<_> = status.iter().map(|status| (5, *status as u8)).collect();
        assert_eq!(came, expected, "{change:?}");
        assert_eq!(bench.rig.queue_pair_error(0), breaks, "{change:?}");
        assert!(frames(&mut bench) < 2_000, "{change:?}: it does not go on");
        assert_eq!(bench.errors(), [], "{change:?}");
        // A message that is not complete leaves no room for other requests until its queue pair begins anew.
        if change == Change::Queue {
            bench.post(0, 0, 7, 0, 10);
            let came = bench.run_until(0, 1);
            assert_eq!(told(&came), [(7, Status::WrFlushError as u8, 0)]);
        }
        // The other queue pair goes on, and so does a fresh context of this one.
        bench.rig.add_region(KEY, DATA, SIZE as u64);
        bench.post(1, 1, 8, 1, 300_000);
        assert_eq!(told(&bench.run_until(1, 1)), [(8, 0, 300_000)], "{change:?}");
        bench.check(1, &[(1, 300_000)]);
        let peer = PeerConfig { mtu: 1024, ..PeerConfig::new(Transport::Rc, 2, 3, 0xa00, 0x110) };
        bench.peers[0] = bench.rig.add_queue_pair_to(0, 0, peer);
        bench.rig.add_queue_of(0, Some(0), 0);
        bench.rig.progress(20);
        bench.post(0, 0, 9, 2, 200_000);
        let came = bench.run_until(0, 1);
        assert_eq!(told(&came), [(9, 0, 200_000)], "{change:?}");
        bench.check(0, &[(2, 200_000)]);
    }
}

/// Without retransmission a message is sent whole, and no packet but the last asks for an acknowledgement.
#[test]
fn a_queue_pair_without_retries_sends_long_messages_whole() {
    let mut bench = Bench::new(&[(Transport::Rc, 4096, 0)], true);
    let attributes = AttributesEntry { state: 1, ..AttributesEntry::default() };
    bench.rig.write_entry(&QUEUE_PAIR_ATTRIBUTES, 0, &attributes);
    bench.data.write(0, &bytes(0, 100));
    bench.post(0, 0, 0, 100, 3 << 20);
    assert_eq!(told(&bench.run_until(0, 1)), [(0, 0, 3 << 20)]);
    bench.check(0, &[(100, 3 << 20)]);
    assert_eq!(bench.rig.network.errors(), []);
}

/// A message of a queue pair that does not send again goes whole, one of another goes in parts.
#[test]
fn parts_cost_no_time() {
    let cases = [(4096, LONG, 2), (4096, 128 << 10, 16), (1024, 2 << 20, 2), (256, 1 << 20, 2)];
    for (mtu, len, count) in cases {
        let cycles = |in_parts: bool| {
            let mut bench = Bench::new(&[(Transport::Rc, mtu, NEVER)], false);
            if !in_parts {
                let attributes = AttributesEntry { state: 1, ..AttributesEntry::default() };
                bench.rig.write_entry(&QUEUE_PAIR_ATTRIBUTES, 0, &attributes);
            }
            (0..count).for_each(|wr_id| bench.post(0, 0, wr_id, 0, len));
            let came = bench.run_until(0, count as usize);
            let right: Vec<_> = (0..count).map(|wr_id| (wr_id, 0, len.into())).collect();
            assert_eq!(told(&came), right);
            bench.rig.network.clock().span().expect("a doorbell").cycles()
        };
        let (whole, parts) = (cycles(false), cycles(true));
        println!("MTU {mtu}, {count} x {len} B: whole {whole} cycles, in parts {parts}");
        assert!(parts <= whole + whole / 100, "MTU {mtu}: {parts} cycles, not {whole}");
    }
}
