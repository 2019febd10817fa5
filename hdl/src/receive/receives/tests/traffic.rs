//! Random messages of queue pairs with queues of their own and shared ones, of which entries of any form are
//! taken.

use super::host::*;
use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::receive::{RECEIVE_PLACES, ReceiveCompletion, ReceiveHeader, rights};
use drdma_abi::register::MemoryRegionEntry;
use drdma_abi::work_request::{BLOCK, GRANULE};
use drdma_semantics::memory::{Fault, HostMemory, WritableMemory};
use drdma_semantics::receive::{ReceiveName, check_entry, check_head, encode};
use drdma_semantics::region::{Column, Extent, FetchRows, Region};
use drdma_semantics::scatter::Scatter;
use drdma_verilated::testbench::{Beat, Random, STALLS};
use std::cell::RefCell;
use std::collections::VecDeque;

mod entries;

use entries::*;

const LOG: u8 = 5;
/// Number of actions in the test of all traffic.
const ROUNDS: u32 = 14_000;

/// Remembers what is written.
#[derive(Default)]
struct Recorder(RefCell<Vec<(u64, u64)>>);

impl HostMemory for Recorder {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        // Bitmaps and pointers, whose bytes do not matter here.
        assert!(addr < 1 << 48, "{} bytes at {addr:#x}", out.len());
        out.fill(0);
        Ok(())
    }
}

impl WritableMemory for Recorder {
    fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.0.borrow_mut().push((addr, bytes.len() as u64));
        Ok(())
    }
}

/// A receive queue of the host.
struct Queue {
    number: u16,
    shared: bool,
    /// Entries that are posted and were not taken, with the position behind them.
    posted: VecDeque<(Vec<u8>, u32)>,
    /// Position at which the next entry is posted.
    producer: u32,
    /// Position of the next entry that is taken.
    position: u32,
    /// The next is not taken: it was halted,
    halted: bool,
    /// by an entry that is wrong itself.
    malformed: bool,
    names: u64,
}

impl Queue {
    fn new(number: u16, shared: bool) -> Self {
        let names = u64::from(number) << 32;
        let posted = VecDeque::new();
        Self {
            number,
            shared,
            posted,
            producer: 0,
            position: 0,
            halted: false,
            malformed: false,
            names,
        }
    }

    /// Posts what there is room for.
    fn post(&mut self, host: &mut Host<'_>, random: &mut Random) {
        let mut posted = false;
        for _ in 0..=random.below(6) {
            self.names += 1;
            let entry = any_entry(random, self.names, self.producer);
            let behind = self.producer.wrapping_add((entry.len() / BLOCK) as u32);
            if behind.wrapping_sub(self.position) > 1 << LOG {
                break;
            }
            host.put(self.number, LOG, self.producer, &entry);
            self.posted.push_back((entry, behind));
            self.producer = behind;
            posted = true;
        }
        if posted {
            host.ring_doorbell(self.number, self.producer);
        }
    }

    /// Takes the next entry, as a message finds it.
    fn take(&mut self, keys: &Keys) -> Option<Receive> {
        let (entry, behind) = self.posted.pop_front().filter(|_| !self.halted)?;
        let (position, posted) = (self.position, self.producer.wrapping_sub(self.position));
        self.position = behind;
        let fails = |name, status| Receive {
            name,
            status,
            strided: false,
            mapped: None,
            regions: None,
            capacity: 0,
        };
        let head = check_head(entry.first_chunk().expect("a head"), position, posted);
        // Mapped regions are examined when bytes come, and a receive may have any number of them.
        let is_mapped = head.as_ref().is_ok_and(|head| head.types & 0xaaaa_aaaa != 0);
        let walked = |name| Receive {
            name,
            status: Status::Success,
            strided: false,
            mapped: Some(entry.clone()),
            regions: None,
            capacity: 1 << 40,
        };
        let found = match head {
            Err(name) => fails(name, Status::LocalQpOperationError),
            // An entry whose length field is too large takes the blocks behind it, and fails.
            Ok(head) if !is_filled(&head) || head.granules as usize > entry.len() / GRANULE => {
                let name = ReceiveName { wr_id: head.wr_id, position };
                fails(name, Status::LocalQpOperationError)
            }
            Ok(_) => match check_entry(&entry, PD, keys, &Recorder::default()) {
                Err((name, status)) if !is_mapped || status != Status::LocalProtectionError => {
                    fails(name, status)
                }
                Err((name, _)) => walked(name),
                Ok(receive) if is_mapped => walked(receive.name),
                Ok(receive) => Receive {
                    name: receive.name,
                    status: Status::Success,
                    strided: head.is_ok_and(|head| head.types != 0),
                    mapped: None,
                    capacity: receive.target.capacity,
                    regions: Some(receive.target.scatter()),
                },
            },
        };
        self.halted = found.status == Status::LocalQpOperationError;
        self.malformed = self.halted;
        Some(found)
    }
}

/// True if the card has places for regions of these types.
fn is_filled(head: &ReceiveHeader) -> bool {
    let types = (0..usize::from(head.regions)).map(|k| head.types >> (2 * k) & 3);
    let strided = types.clone().filter(|&code| code == 1).count();
    // Each granule takes a place, except for the headers of strided regions.
    let granules = head.granules as usize - 2;
    let places = match types.max() {
        Some(2 | 3) => granules,
        _ => granules - strided.min(granules),
    };
    places <= RECEIVE_PLACES
}

struct Receive {
    name: ReceiveName,
    status: Status,
    /// The receive has a strided region.
    strided: bool,
    /// Entry of a receive that has a bitmapped or a pointer-mapped region.
    mapped: Option<Vec<u8>>,
    regions: Option<Scatter>,
    capacity: u128,
}

/// A queue pair.
struct Peer {
    qp: u64,
    /// Index of the queue pair's queue among those of the test.
    queue: usize,
    /// Takes that were not answered yet.
    asks: u64,
    /// The receive of its message, and those that it has taken ahead.
    receive: Option<Receive>,
    ahead: VecDeque<Receive>,
    /// Bytes of its message so far, and those that are to come.
    sent: u32,
    left: u32,
    started: bool,
}

/// Expected outputs of the block.
#[derive(Default)]
struct Expected {
    runs: Vec<Run>,
    completions: Vec<(u64, ReceiveCompletion)>,
}

impl Peer {
    /// Starts the message that takes a receive.
    fn start(&mut self, receive: Receive, random: &mut Random) {
        let most = [0, 64, 4096, 20_000][random.below(4) as usize];
        let most = receive.capacity.min(most) as u64;
        (self.sent, self.left) = (0, random.below(most + 1) as u32);
        if random.chance(0.3) {
            self.left = most as u32;
        }
        self.started = false;
        self.receive = Some(receive);
    }

    /// The next packet of the message; true if it was the last.
    fn send(
        &mut self,
        host: &mut Host<'_>,
        queue: &mut Queue,
        random: &mut Random,
        expected: &mut Expected,
    ) -> bool {
        let receive = self.receive.as_mut().expect("it has one in use");
        let mut status = receive.status;
        if status == Status::Success && random.chance(0.02) {
            status = Status::LocalLengthError;
        }
        let good = status == Status::Success;
        let bytes = if good { self.left.min(random.below(4097) as u32) } else { 0 };
        let skip = if !self.started && self.left >= 20 && random.chance(0.2) { 20 } else { 0 };
        let bytes = bytes.min(self.left - skip);
        let completes = !good || self.sent + skip + bytes == self.sent + self.left;
        let [ram, words] = [random.below(1 << 17), random.below(128)];
        let frame_end = random.chance(0.9);
        let with_imm = random.chance(0.2);
        let [imm, flags, source_qp] =
            [random.below(1 << 32), random.below(16), random.below(1 << 24)];
        let len = self.sent + skip + bytes;
        let beat = [
            ("kind", if good { RECEIVE } else { NOTHING }),
            ("qp", self.qp),
            ("first", (!self.started).into()),
            ("skip", if self.started { random.below(64) } else { skip.into() }),
            ("ram", ram),
            ("bytes", bytes.into()),
            ("frame_end", frame_end.into()),
            ("words", words),
            ("completes", completes.into()),
            ("status", status as u64),
            ("with_imm", with_imm.into()),
            ("byte_len", len.into()),
            ("imm", imm),
            ("flags", flags),
            ("source", source_qp),
            ("pieces", u64::from(receive.mapped.is_some() && bytes > 0)),
        ];
        host.bench.send(host.placing, Beat::from(beat));
        // The same placing, as the semantics carry it out.
        let recorder = Recorder::default();
        if let Some(scatter) = receive.regions.as_mut().filter(|_| good) {
            scatter.skip(&recorder, skip as usize).expect("it fits");
            scatter.write(&recorder, &vec![0; bytes as usize]).expect("it fits");
        }
        let mut at = ram;
        let mut runs = recorder.0.into_inner();
        if receive.mapped.is_some() && good {
            // The pieces of the placing are given by the test.
            let mut left = u64::from(bytes);
            while left > 0 {
                let most = 1 + random.below(700);
                let len = 1 + random.below(left.min(most));
                left -= len;
                let addr = random.u64();
                let last = u64::from(left == 0);
                let piece = Beat::from([("addr", addr), ("bytes", len), ("last", last)]);
                host.bench.send(host.piece, piece);
                runs.push((addr, len));
            }
        }
        if runs.is_empty() {
            runs.push((0, 0));
        }
        let count = runs.len();
        for (k, (addr, len)) in runs.into_iter().enumerate() {
            expected.runs.push((addr, at, len, frame_end && k + 1 == count));
            at = (at + len) % (1 << 17);
        }
        self.started = true;
        self.sent = len;
        self.left -= skip + bytes;
        if completes {
            let number = queue.number;
            let or_none = |value: u64| if good { value } else { 0 };
            let completion = ReceiveCompletion {
                wr_id: receive.name.wr_id,
                byte_len: or_none(len.into()) as u32,
                imm: or_none(imm) as u32,
                receive_queue: number,
                qp: self.qp as u16,
                receive: 1,
                opcode: 128 + u8::from(with_imm),
                flags: or_none(flags) as u8,
                status: status as u8,
                position: receive.name.position,
                source_qp: or_none(source_qp) as u32,
                ..Default::default()
            };
            expected.completions.push((u64::from(number) % 1024, completion));
            queue.halted |= !good && !queue.shared;
            self.receive = None;
            let ahead = std::mem::take(&mut self.ahead);
            for receive in ahead {
                if queue.halted && !good {
                    give_back(host, self.qp, expected);
                } else if self.receive.is_none() {
                    self.start(receive, random);
                } else {
                    self.ahead.push_back(receive);
                }
            }
        }
        completes
    }
}

/// Gives back a receive that was taken ahead for a message behind one that failed, without a completion.
fn give_back(host: &mut Host<'_>, qp: u64, expected: &mut Expected) {
    let flushed = Status::WrFlushError as u64;
    let placing =
        [("kind", NOTHING), ("qp", qp), ("frame_end", 1), ("completes", 1), ("status", flushed)];
    host.bench.send(host.placing, Beat::from(placing));
    expected.runs.push((0, 0, 0, true));
}

/// Queue pairs 0 to 5 have queues of their own, 6 to 13 share two.
fn peers() -> (Vec<Queue>, Vec<Peer>) {
    let own = [0_u16, 1, 700, 1023, 4094, 4095];
    let mut queues: Vec<_> = own.iter().map(|number| Queue::new(*number, false)).collect();
    queues.extend([Queue::new(2048, true), Queue::new(17, true)]);
    let peer = |qp: u64| Peer {
        qp: qp * 315,
        queue: if qp < 6 { qp as usize } else { 6 + qp as usize % 2 },
        asks: 0,
        receive: None,
        ahead: VecDeque::new(),
        sent: 0,
        left: 0,
        started: false,
    };
    (queues, (0..14).map(peer).collect())
}

fn enable(host: &mut Host<'_>, queue: &mut Queue, peers: &[Peer], at: usize) {
    let owner = peers.iter().find(|peer| peer.queue == at).map(|peer| peer.qp as u32);
    host.queue(queue.number, LOG, owner.filter(|_| !queue.shared));
    let fresh = Queue::new(queue.number, queue.shared);
    *queue = Queue { names: queue.names, ..fresh };
}

/// Checks that the granules of an entry have left for the block that walks its regions.
fn check_granules(host: &Host<'_>, qp: u64, entry: &[u8]) {
    let head =
        ReceiveHeader::decode(entry.first_chunk::<{ ReceiveHeader::SIZE }>().expect("a head"));
    let granules = host.granules.borrow();
    let mut rest = &entry[32..16 * head.granules as usize];
    let mut index = 0;
    for region in 0..head.regions {
        let kind = head.types >> (2 * region) & 3;
        let elements = if kind == 0 { 0 } else { usize::from(rest[28]) };
        let of_last = region + 1 == head.regions;
        let count = if kind == 0 { 1 } else { 2 + elements };
        for (k, granule) in rest.chunks(16).take(count).enumerate() {
            let (data, of_kind, last) = &granules[&(qp, index)];
            assert_eq!(data, granule, "granule {index}");
            if k == 0 {
                assert_eq!((*of_kind, *last), (u64::from(kind), of_last), "granule {index}");
            }
            index += 1;
        }
        rest = &rest[16 * count..];
    }
}

/// A WRITE to a described key with dense columns, which are given in place of pieces.
fn write_to_columns(host: &mut Host<'_>, qp: u64, random: &mut Random, expected: &mut Expected) {
    let (bytes, ram) = (1 + random.below(600), random.below(1 << 17));
    let beat = [
        ("kind", WRITE),
        ("qp", qp),
        ("ram", ram),
        ("bytes", bytes),
        ("frame_end", 1),
        ("words", random.below(100)),
        ("pieces", 1),
    ];
    host.bench.send(host.placing, Beat::from(beat));
    let widths: Vec<_> = (0..=random.below(16)).map(|_| 1 + random.below(64)).collect();
    let places: Vec<_> = widths.iter().map(|_| random.u64()).collect();
    let first = random.below(widths.len() as u64);
    let offset = random.below(widths[first as usize]);
    let row: u64 = widths.iter().sum();
    let behind: u64 = widths[first as usize..].iter().sum::<u64>() - offset;
    // The region may end with the bytes.
    let rows = 1 + bytes.saturating_sub(behind).div_ceil(row) + random.below(3);
    for (k, (width, place)) in widths.iter().zip(&places).enumerate() {
        let beat = [
            ("addr", *place),
            ("bytes", *width),
            ("last", u64::from(k + 1 == widths.len())),
            ("column", 1),
            ("rows", rows),
            ("first", first),
            ("offset", offset),
        ];
        host.bench.send(host.piece, Beat::from(beat));
    }
    let (mut at, mut column, mut offset, mut row) = (0, first as usize, offset, 0);
    while at < bytes {
        let len = (widths[column] - offset).min(bytes - at);
        let addr = places[column].wrapping_add(row * widths[column] + offset);
        expected.runs.push((addr, (ram + at) % (1 << 17), len, at + len == bytes));
        (at, offset, column) = (at + len, 0, column + 1);
        if column == widths.len() {
            (column, row) = (0, row + 1);
        }
    }
}

#[test]
fn messages_fill_their_receives_as_the_semantics_say() {
    let library = library();
    let (mut statuses, mut ahead) = ([0; 256], 0);
    let (mut strided, mut turned, mut odd, mut mapped) = (0, 0, 0, 0);
    for (seed, stalls) in (1..).zip(STALLS) {
        let (mut random, mut writes) = (Random::new(seed), Random::new(seed + 1_000));
        let mut host = Host::new(&library, seed);
        host.latency = [0, 3, 80, 400][seed as usize % 4];
        host.bench.stall(stalls);
        let keys = keys();
        keys.0.iter().for_each(|key| host.region(*key));
        let (mut queues, mut peers) = peers();
        for (at, queue) in queues.iter_mut().enumerate() {
            enable(&mut host, queue, &peers, at);
        }
        let mut expected = Expected::default();
        let mut asked: VecDeque<usize> = VecDeque::new();
        for round in 0.. {
            let at = random.below(peers.len() as u64) as usize;
            let number = peers[at].queue;
            let peer = &mut peers[at];
            let queue = &mut queues[number];
            let most = if queue.shared { 1 } else { 6 };
            let holds = peer.asks + peer.ahead.len() as u64 + u64::from(peer.receive.is_some());
            let action = match round {
                0..ROUNDS => random.below(8),
                // No further message begins: outstanding takes are answered.
                _ if !asked.is_empty() => 4,
                _ => break,
            };
            if writes.chance(0.02) {
                write_to_columns(&mut host, peer.qp, &mut writes, &mut expected);
            }
            match action {
                0 => queue.post(&mut host, &mut random),
                1 => {
                    let free = !peers.iter().any(|peer| {
                        peer.queue == number && (peer.asks > 0 || peer.receive.is_some())
                    });
                    if queues[number].halted && free {
                        // Everything of it has left: it may be enabled again.
                        while host.bench.pending(host.placing) > 0 {
                            host.step();
                        }
                        host.run(300);
                        enable(&mut host, &mut queues[number], &peers, number);
                    }
                }
                2 | 3 if holds < most => {
                    host.ask(peer.qp, queue.number);
                    peer.asks += 1;
                    asked.push_back(at);
                }
                4..8 if peer.receive.is_some() => {
                    peer.send(&mut host, queue, &mut random, &mut expected);
                }
                _ => host.run(random.below(30)),
            }
            for taken in host.bench.take(host.taken) {
                let at = asked.pop_front().expect("it was asked");
                let peer = &mut peers[at];
                let queue = &mut queues[peer.queue];
                peer.asks -= 1;
                let (found, status, capacity) = answer(&taken);
                if !found {
                    continue;
                }
                if queue.halted && !queue.shared && !queue.malformed {
                    // The message of this queue pair has failed.
                    give_back(&mut host, peer.qp, &mut expected);
                    continue;
                }
                let receive = queue.take(&keys).expect("something was posted");
                assert_eq!(status, receive.status as u64, "{:?}, {seed}", receive.name);
                if status == 0 {
                    let most = receive.capacity.min(u32::MAX.into()) as u64;
                    assert_eq!(capacity, most, "{:?}, {seed}", receive.name);
                }
                statuses[status as usize] += 1;
                assert_eq!(taken.u64("pieces") == 1 && status == 0, receive.mapped.is_some());
                if let Some(entry) = &receive.mapped {
                    mapped += 1;
                    check_granules(&host, peer.qp, entry);
                }
                strided += u32::from(status == 0 && receive.strided);
                if peer.receive.is_some() {
                    ahead += 1;
                    peer.ahead.push_back(receive);
                } else {
                    peer.start(receive, &mut random);
                }
            }
        }
        // Outputs that are still outstanding come: none is lost.
        host.settle();
        for (at, queue) in queues.iter_mut().enumerate() {
            let idle = peers.iter().find(|peer| peer.queue == at && peer.receive.is_none());
            if let Some(peer) = idle {
                let found = host.take(peer.qp, queue.number);
                let receive = queue.take(&keys);
                assert_eq!(found.0, receive.is_some(), "queue {}, {seed}", queue.number);
            }
        }
        host.settle();
        turned += host.transposer.count;
        odd += host.transposer.dropped;
        let (runs, completions) = host.orders();
        assert_eq!(completions, expected.completions, "{seed}");
        assert_eq!(runs.len(), expected.runs.len(), "{seed}");
        for (k, (found, run)) in runs.iter().zip(&expected.runs).enumerate() {
            // An order without bytes goes nowhere.
            let same = found.2 == run.2 && found.3 == run.3;
            let place = run.2 == 0 || (found.0, found.1) == (run.0, run.1);
            assert!(same && place, "order {k} is {found:x?} and not {run:x?}, {seed}");
        }
    }
    let count = |status: Status| statuses[status as usize];
    let [good, malformed, forbidden] =
        [Status::Success, Status::LocalQpOperationError, Status::LocalProtectionError].map(count);
    assert!(ahead > 200, "{ahead} receives were taken ahead");
    assert!(good > 1_000 && malformed > 50 && forbidden > 200, "{good}, {malformed}, {forbidden}");
    assert!(strided > 300, "{strided} with strided regions");
    assert!(mapped > 100, "{mapped} with bitmapped or pointer-mapped regions");
    assert!(turned > 150 && odd > 30, "{turned} parts of dense regions, {odd} of others");
}

#[test]
fn the_fields_of_heads_and_completions_are_where_the_layouts_have_them() {
    for (field, start) in [
        ("magic", 0),
        ("flags", 8),
        ("regions", 16),
        ("granules", 32),
        ("position", 64),
        ("types", 96),
        ("wr_id", 128),
        ("reserved", 192),
    ] {
        assert_eq!(ReceiveHeader::field(field).start, start, "{field}");
    }
    for (field, start) in [("addr", 0), ("count", 64), ("lkey", 96)] {
        let found = drdma_abi::work_request::RegionHeader::field(field);
        assert_eq!(found.start, start, "{field}");
    }
}
