//! Corundum's DMA engine with a host behind it.
//!
//! Reads are cut at the maximum read request size and at 4 KiB; their data come back out of order
//! and are written to the card's RAM segments, which handshake independently; a descriptor's status
//! follows when every write was reported done. Writes read the card's memories ahead, and leave in order, cut at
//! the maximum payload size and at 4 KiB. The `ctrl` port has priority over `data`. Memory that is not mapped answers
//! with an error.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use drdma_verilated::{Library, Model, testbench::Random};

use super::{
    Config, DATA, PORTS, PS_PER_CYCLE, UNSUPPORTED_REQUEST,
    port::{Descriptor, Direction, DmaPort, SEGMENT, SEGMENTS, SegmentWrite},
    reads::{DESCRIPTOR_CYCLES, QUEUE, Reads, Request},
    usage::Usage,
    writes::Writes,
};
use drdma_semantics::memory::HostMemory as _;
use drdma_soft::host::Host;

/// Segment writes that wait on each segment.
const SEGMENT_QUEUE: usize = 32;
/// The difference between the seed of writes and that of reads.
const WRITE_SEED: u64 = 0x7772_6974_6573;
/// Cycles from a write's last packet to its status: at least, and by how many more at most.
const STATUS_CYCLES: (u64, u64) = (20, 20);

/// A read descriptor that is not complete.
#[derive(Clone, Copy, Debug)]
struct Open {
    tag: u64,
    error: u64,
    /// Number of requests that are in flight or not sent yet.
    requests: usize,
    /// Number of segment writes that are not done.
    writes: usize,
    /// Cycle in which the card first offered the descriptor.
    since: u64,
}

/// State of one port.
#[derive(Debug)]
struct Side {
    port: DmaPort,
    /// Cycle since which the card offers a read descriptor that was not taken.
    offers: Option<u64>,
    /// Read descriptors that were taken, and the cycle in which the card first offered each.
    reads: VecDeque<(Descriptor, u64)>,
    /// The read that is being cut into requests: number of its descriptor, and the rest of it.
    cutting: Option<(u64, Descriptor)>,
    open: HashMap<u64, Open>,
    /// Tags and errors of complete reads, and the cycle in which the card first offered each.
    read_status: VecDeque<(u64, u64, u64)>,
    /// Cycle in which each write descriptor is complete, and its tag.
    write_status: VecDeque<(u64, u64)>,
    segments: [VecDeque<(SegmentWrite, u64)>; SEGMENTS],
    offered: [bool; SEGMENTS],
    taken: [VecDeque<u64>; SEGMENTS],
    /// Segments that are asked for a row, and segments whose answers are taken.
    asked: [bool; SEGMENTS],
    takes: [bool; SEGMENTS],
    ready: [bool; 2],
    next_descriptor: u64,
}

/// Counts of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of read descriptors.
    pub reads: u64,
    /// Bytes of read descriptors.
    pub read_bytes: u64,
    /// Cycles from each read descriptor's offer to its status, all together.
    pub read_cycles: u64,
    /// Number of write descriptors.
    pub writes: u64,
}

/// Read descriptors as the card gives them, in order.
pub type ReadLog = Arc<Mutex<Vec<Descriptor>>>;

/// Descriptors of both ports with their direction, in the order in which the card gives them.
pub type AccessLog = Arc<Mutex<Vec<(Direction, Descriptor)>>>;

/// The engine. A cycle is [`Engine::drive`], the design settling, [`Engine::sample`], the clock.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    reads: Reads,
    writes: Writes,
    random: Random,
    /// Random numbers of writes, so that writes do not change when reads come back.
    write_random: Random,
    sides: [Side; PORTS],
    /// Data on their way into the RAM: request, bytes, and how many of them were written.
    landing: Option<(Request, Vec<u8>, usize)>,
    statistics: Statistics,
    usage: Usage,
    /// Log of the reads of the `data` port.
    data_reads: Option<ReadLog>,
    /// Log of all reads and writes of host memory.
    accesses: Option<AccessLog>,
}

impl Engine {
    /// Makes an idle engine on the design's two ports.
    ///
    /// # Errors
    /// If the design lacks a signal.
    pub fn new(library: &Library, config: Config) -> drdma_verilated::Result<Self> {
        let side = |name| {
            Ok::<_, drdma_verilated::Error>(Side {
                port: DmaPort::new(library, name)?,
                offers: None,
                reads: VecDeque::new(),
                cutting: None,
                open: HashMap::new(),
                read_status: VecDeque::new(),
                write_status: VecDeque::new(),
                segments: Default::default(),
                offered: [false; SEGMENTS],
                taken: Default::default(),
                asked: [false; SEGMENTS],
                takes: [false; SEGMENTS],
                ready: [false; 2],
                next_descriptor: 0,
            })
        };
        Ok(Self {
            reads: Reads::new(&config),
            writes: Writes::new(&config),
            random: Random::new(config.seed),
            write_random: Random::new(config.seed ^ WRITE_SEED),
            sides: [side("ctrl")?, side("data")?],
            landing: None,
            statistics: Statistics::default(),
            usage: Usage::default(),
            data_reads: None,
            accesses: None,
            config,
        })
    }

    /// Logs the reads of the `data` port from now on: those that fill the segmented memory.
    pub fn log_data_reads(&mut self, log: ReadLog) {
        self.data_reads = Some(log);
    }

    /// Logs all reads and writes of both ports from now on.
    pub fn log_accesses(&mut self, log: AccessLog) {
        self.accesses = Some(log);
    }

    /// Counts of the engine since it was made.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Use of the host's limits by reads.
    pub fn usage(&self) -> Usage {
        let mut usage = self.usage;
        usage.round_trips_ps = self.reads.round_trips_ps();
        usage
    }

    /// True if no read or write is under way.
    pub fn is_idle(&self) -> bool {
        self.reads.is_empty()
            && self.writes.is_empty()
            && self.landing.is_none()
            && self.sides.iter().all(|side| {
                side.open.is_empty()
                    && side.reads.is_empty()
                    && side.read_status.is_empty()
                    && side.write_status.is_empty()
            })
    }

    /// Sets the design's inputs for this cycle.
    pub fn drive(&mut self, model: &mut Model, cycle: u64) {
        let stall = self.config.stall;
        for (index, side) in self.sides.iter_mut().enumerate() {
            let slot = (cycle + index as u64).is_multiple_of(DESCRIPTOR_CYCLES);
            side.ready = [
                slot && side.reads.len() < QUEUE && !self.random.chance(stall),
                slot && self.writes.waiting(index) < QUEUE && !self.random.chance(stall),
            ];
            side.port.set_ready(model, Direction::Read, side.ready[0]);
            side.port.set_ready(model, Direction::Write, side.ready[1]);
            let status = side.read_status.pop_front();
            self.statistics.read_cycles += status.map_or(0, |(_, _, since)| cycle - since);
            let status = status.map(|(tag, error, _)| (tag, error));
            side.port.set_status(model, Direction::Read, status);
            let over = side.write_status.front().is_some_and(|(at, _)| *at <= cycle);
            let status = if over { side.write_status.pop_front() } else { None };
            side.port.set_status(model, Direction::Write, status.map(|(_, tag)| (tag, 0)));
            for segment in 0..SEGMENTS {
                // A write that was offered stays until it is taken.
                side.offered[segment] = !side.segments[segment].is_empty()
                    && (side.offered[segment] || !self.random.chance(stall));
            }
            let offer = [0, 1].map(|segment: usize| {
                let first = side.segments[segment].front();
                first.filter(|_| side.offered[segment]).map(|(write, _)| write)
            });
            side.port.offer_writes(model, offer);
            let mut rows = [None; SEGMENTS];
            for (segment, row) in rows.iter_mut().enumerate() {
                *row = self.writes.wanted(index, segment);
                side.asked[segment] =
                    row.is_some() && (side.asked[segment] || !self.write_random.chance(stall));
                *row = row.filter(|_| side.asked[segment]);
                side.takes[segment] = !self.write_random.chance(stall);
            }
            side.port.ask_rows(model, rows);
            side.port.take_answers(model, side.takes);
        }
    }

    /// Reads the design's outputs, before the clock rises.
    pub fn sample(&mut self, model: &Model, cycle: u64, host: &Host) {
        for (index, side) in self.sides.iter_mut().enumerate() {
            let offer = side.port.descriptor(model, Direction::Read);
            let since = offer.map(|_| side.offers.unwrap_or(cycle));
            side.offers = since.filter(|_| !side.ready[0]);
            if let Some((descriptor, since)) = offer.zip(since).filter(|_| side.ready[0]) {
                if let Some(log) = self.data_reads.as_ref().filter(|_| index == DATA) {
                    log.lock().unwrap_or_else(PoisonError::into_inner).push(descriptor);
                }
                note(self.accesses.as_ref(), Direction::Read, descriptor);
                self.statistics.reads += 1;
                self.statistics.read_bytes += descriptor.len as u64;
                side.reads.push_back((descriptor, since));
            }
            if let Some(descriptor) =
                side.port.descriptor(model, Direction::Write).filter(|_| side.ready[1])
            {
                note(self.accesses.as_ref(), Direction::Write, descriptor);
                self.statistics.writes += 1;
                self.writes.push(index, descriptor);
            }
            side.sample_segments(model);
            let ready = side.port.rows_ready(model);
            let answers = side.port.answers(model);
            for (segment, answer) in answers.into_iter().enumerate() {
                if side.asked[segment] && ready >> segment & 1 == 1 {
                    self.writes.asked(index, segment);
                    side.asked[segment] = false;
                }
                if let Some(answer) = answer.filter(|_| side.takes[segment]) {
                    self.writes.answer(index, segment, answer);
                }
            }
        }
        self.write(cycle, host);
        let sent = self.send(cycle * PS_PER_CYCLE);
        self.usage.cycle(self.reads.share(), sent == Some(DATA));
        self.land(cycle * PS_PER_CYCLE, host);
    }

    /// Cuts a packet and sends a packet. Bytes for memory that is not mapped are lost without an error.
    fn write(&mut self, cycle: u64, host: &Host) {
        self.writes.cut();
        let Some(packet) = self.writes.leave(cycle * PS_PER_CYCLE) else { return };
        let _ = host.write(packet.addr, &packet.bytes);
        if let Some(tag) = packet.over {
            let at = cycle + STATUS_CYCLES.0 + self.write_random.below(STATUS_CYCLES.1);
            self.sides[packet.port].write_status.push_back((at, tag));
        }
    }

    /// Sends at most one request a cycle, `ctrl` first; returns its port.
    fn send(&mut self, now: u64) -> Option<usize> {
        for index in 0..self.sides.len() {
            let side = &mut self.sides[index];
            if side.cutting.is_none() {
                let Some((descriptor, since)) = side.reads.pop_front() else { continue };
                let id = side.next_descriptor;
                side.next_descriptor += 1;
                side.open.insert(
                    id,
                    Open { tag: descriptor.tag, error: 0, requests: 1, writes: 0, since },
                );
                side.cutting = Some((id, descriptor));
            }
            let (id, mut rest) = side.cutting.expect("a descriptor to cut");
            if !self.reads.send(now, index, id, &mut rest, &mut self.random) {
                return None;
            }
            let open = side.open.get_mut(&id).expect("an open descriptor");
            side.cutting = match rest.len {
                0 => None,
                _ => {
                    open.requests += 1;
                    Some((id, rest))
                }
            };
            return Some(index);
        }
        None
    }

    /// Takes a request whose data are back, and moves up to 64 bytes towards the RAM.
    fn land(&mut self, now: u64, host: &Host) {
        if self.landing.is_none() {
            let Some(request) = self.reads.back(now) else { return };
            let mut bytes = vec![0; request.len];
            let failed = host.read(request.addr, &mut bytes).is_err();
            if failed || request.len == 0 {
                let side = &mut self.sides[request.port];
                let open = side.open.get_mut(&request.descriptor).expect("an open descriptor");
                if failed && request.len > 0 {
                    open.error = UNSUPPORTED_REQUEST;
                }
                open.requests -= 1;
                side.finish_read(request.descriptor);
                return;
            }
            self.landing = Some((request, bytes, 0));
        }
        let Some((request, bytes, done)) = &mut self.landing else { return };
        let side = &mut self.sides[request.port];
        if side.segments.iter().any(|queue| queue.len() >= SEGMENT_QUEUE) {
            return;
        }
        let mut room = SEGMENT;
        while room > 0 && *done < bytes.len() {
            let at = request.ram_addr as usize + *done;
            let (lane, segment, row) = (at % SEGMENT, at / SEGMENT % SEGMENTS, at / 128 % 1024);
            let len = (SEGMENT - lane).min(bytes.len() - *done).min(room);
            let mut data = [0; SEGMENT];
            data[lane..lane + len].copy_from_slice(&bytes[*done..*done + len]);
            let enables = (u64::MAX >> (SEGMENT - len)) << lane;
            let write = SegmentWrite { row: row as u64, enables, data };
            side.segments[segment].push_back((write, request.descriptor));
            side.open.get_mut(&request.descriptor).expect("an open descriptor").writes += 1;
            *done += len;
            room -= len;
        }
        if *done == bytes.len() {
            let descriptor = request.descriptor;
            side.open.get_mut(&descriptor).expect("an open descriptor").requests -= 1;
            self.landing = None;
        }
    }
}

/// Logs a descriptor, if there is a log.
fn note(log: Option<&AccessLog>, direction: Direction, descriptor: Descriptor) {
    if let Some(log) = log {
        log.lock().unwrap_or_else(PoisonError::into_inner).push((direction, descriptor));
    }
}

impl Side {
    fn sample_segments(&mut self, model: &Model) {
        let (ready, done) = (self.port.writes_ready(model), self.port.writes_done(model));
        for segment in 0..SEGMENTS {
            if self.offered[segment] && ready >> segment & 1 == 1 {
                let (_, descriptor) = self.segments[segment].pop_front().expect("an offered write");
                self.taken[segment].push_back(descriptor);
                self.offered[segment] = false;
            }
            if done >> segment & 1 == 1 {
                let descriptor = self.taken[segment]
                    .pop_front()
                    .expect("the card reports a segment write done that it did not take");
                self.open.get_mut(&descriptor).expect("an open descriptor").writes -= 1;
                self.finish_read(descriptor);
            }
        }
    }

    fn finish_read(&mut self, descriptor: u64) {
        let open = self.open[&descriptor];
        if open.requests == 0 && open.writes == 0 {
            self.read_status.push_back((open.tag, open.error, open.since));
            self.open.remove(&descriptor);
        }
    }
}
