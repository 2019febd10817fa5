//! How fast a card sends and fetches: bandwidth and latency of transfers of given sizes, whose bytes lie one
//! after another or with gaps between them.
//!
//! | module | |
//! |---|---|
//! | [`shape`] | what a transfer is made of |
//! | [`fetched`] | what READs and atomics bring, and whether it is right |
//! | [`figures`] | rates, percentiles, histograms |
//! | [`remote`] | a peer in another process |
//! | [`render`] | tables for people |

mod error;
mod fetched;
pub mod figures;
pub mod remote;
pub mod render;
pub mod shape;

use std::{
    collections::VecDeque,
    fmt,
    time::{Duration, Instant},
};

use clap::ValueEnum;
use drdma_abi::{roce::Transport, work_request::BLOCK};
use drdma_sim::{
    clock::NS_PER_CYCLE,
    wire::{Network, Peer, PeerConfig, PeerId, RemoteMemory},
};
use libdrdma::{
    Access, CompletionQueue, Context, MacAddress, MemoryRegion, Operation, PostError, QueuePair,
    QueuePairAttributes, Status, WorkRequest, counter,
};
use serde::Serialize;

use crate::{device, job::Local};
pub use error::PerfError;
pub use fetched::ATOMIC_BYTES;
use fetched::Counting;
use figures::{Latency, Rates};
use remote::Remote;
use shape::{Layout, Request, Rows, Shape};

/// The card's own addresses unless others are given.
pub const LOCAL: Local = Local { mac: 0x0200_0000_0001, ip: 0x0a00_0001 };
/// The addresses of a peer unless others are given.
pub const PEER: Local = Local { mac: 0x0200_0000_0101, ip: 0x0a00_0101 };
/// The first of the card's queue pair numbers, and of the peer's.
const FIRST_QPN: u32 = 0x11;
const FIRST_PEER_QPN: u32 = 0x100;
/// The queue key of datagrams.
const QKEY: u32 = 0x1ee7_0001;
/// What WRITEs go to, and READs and atomics come from.
const REMOTE: (u64, u32) = (0x10_0000_0000, 0x00d0_0d1e);
/// The most blocks that a send queue has, and the most entries of a completion queue.
const MOST: usize = 1 << 16;
/// READs and atomics that a queue pair has outstanding unless told, and at most.
pub const OUTSTANDING: u8 = 16;

/// Payload bytes of all copies of a transfer, unless two have more.
const COPIES: u64 = 16 << 20;

/// What transfers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// SENDs.
    Send,
    /// WRITEs, all of them to the same place.
    Write,
    /// READs, all of them of the same place; every byte that they bring is checked.
    Read,
    /// Compare and swap of 8 B, a place a queue pair: each swaps what the one before left, which is checked.
    CompareAndSwap,
    /// Fetch and add of 1 to 8 B, a place a queue pair: what each one brings is checked.
    FetchAndAdd,
}

impl Op {
    /// True if the peer answers with data.
    pub fn is_answered(self) -> bool {
        !matches!(self, Self::Send | Self::Write)
    }

    /// True for atomics.
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::CompareAndSwap | Self::FetchAndAdd)
    }

    /// What memory allows that its transfers lie in.
    fn access(self) -> Access {
        if self.is_answered() { Access::LOCAL_WRITE } else { Access::empty() }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// A transport, as the command line and JSON say it.
pub fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Rc => "rc",
        Transport::Uc => "uc",
        Transport::Ud => "ud",
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Transfers follow each other as fast as the card sends them.
    Bandwidth,
    /// Each transfer waits for the one before.
    Latency,
}

/// Whose time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The card's counter of cycles: simulated time.
    Card,
    /// The host's.
    Wall,
    /// Nobody's: a reference model, or one end of several that are not simulated together.
    None,
}

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bandwidth or latency.
    pub measure: Measure,
    /// What transfers do.
    pub op: Op,
    /// READs and atomics that a queue pair has outstanding, 1 to [`OUTSTANDING`]; as many unless told.
    pub outstanding: Option<u8>,
    /// How transfers are made.
    pub shape: Shape,
    /// Bytes of the transfers, one measurement each.
    pub sizes: Vec<u64>,
    /// Queue pairs, which take turns; 1 to all that a card has, 4,096.
    pub qps: u32,
    /// Transfers that a queue pair has under way at once; those of a latency measurement are 1.
    pub depth: u32,
    /// Transfers of a measurement, by their size.
    pub iterations: Iterations,
    /// Transfers before it that are not counted.
    pub warmup: u64,
    /// How long nothing may happen.
    pub patience: Duration,
}

/// How many transfers a measurement has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterations {
    /// So many.
    Fixed(u64),
    /// As many as have so many bytes together, but 20 to 1,000.
    Bytes(u64),
}

impl Iterations {
    fn of(self, size: u64) -> u64 {
        match self {
            Self::Fixed(count) => count,
            Self::Bytes(bytes) => (bytes / size).clamp(20, 1000),
        }
    }
}

impl Plan {
    /// Places in memory that transfers of a size take turns to be read from: enough for those under way,
    /// as far as memory is not wasted.
    fn copies(&self, rows: &Rows) -> u64 {
        match self.measure {
            // Each has its own, so that what it brings can be looked at.
            Measure::Bandwidth if self.op.is_atomic() => self.under_way(),
            Measure::Bandwidth => self.under_way().min(COPIES / rows.bytes()).max(2),
            Measure::Latency => 1,
        }
    }

    /// Transfers that are under way at once.
    fn under_way(&self) -> u64 {
        u64::from(self.depth) * u64::from(self.qps)
    }

    /// Refuses what the operation is not made for.
    fn check_op(&self) -> Result<(), PerfError> {
        let Self { op, outstanding, .. } = *self;
        let Shape { layout, transport, rows_per_message, .. } = self.shape;
        if !op.is_answered() {
            return match outstanding {
                Some(outstanding) => Err(PerfError::Outstanding { op, outstanding }),
                None => Ok(()),
            };
        }
        if transport != Transport::Rc {
            return Err(PerfError::Transport { op, transport });
        }
        if op.is_atomic() {
            if layout != Layout::Contiguous {
                return Err(PerfError::AtomicRegion { op, region: layout });
            }
            if let Some(size) = self.sizes.iter().copied().find(|size| *size != ATOMIC_BYTES) {
                return Err(PerfError::AtomicSize { op, size });
            }
            let under_way = self.under_way();
            if under_way > MOST as u64 {
                return Err(PerfError::AtomicsUnderWay { under_way });
            }
        }
        match rows_per_message {
            Some(rows) => Err(PerfError::ReadRows { op, rows }),
            None => Ok(()),
        }
    }

    /// The rows of every size.
    ///
    /// # Errors
    /// A size that no transfer of that shape has; what the operation is not made for.
    pub fn rows(&self) -> Result<Vec<Rows>, PerfError> {
        self.check_op()?;
        let rows = |size: &u64| {
            self.shape.rows(*size).map_err(|source| PerfError::Shape { size: *size, source })
        };
        self.sizes.iter().map(rows).collect()
    }
}

/// What one size took.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Payload bytes of a transfer.
    pub bytes: u64,
    /// Messages of a transfer.
    pub messages: u64,
    /// Work requests of a transfer.
    pub requests: u64,
    /// Transfers.
    pub iterations: u64,
    /// How fast they were, if there is a clock.
    pub rates: Option<Rates>,
    /// How long they took, if there is a clock, and each waited for the one before.
    pub latency: Option<Latency>,
    /// What the card did for all of them.
    pub cost: Cost,
}

/// What the card did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Packets.
    pub packets: u64,
    /// Payload bytes in them.
    pub payload_bytes: u64,
    /// Bytes of work requests, as posted.
    pub request_bytes: u64,
    /// DMA reads of payload.
    pub data_reads: u64,
    /// Bytes of those reads.
    pub data_read_bytes: u64,
    /// DMA reads of work requests, bitmaps and pointers.
    pub control_reads: u64,
    /// Bytes of those reads.
    pub control_read_bytes: u64,
}

/// Who receives.
pub enum Far {
    /// Peers in the card's simulated network.
    Simulated,
    /// A peer in another process.
    Remote(Box<Remote>),
}

/// A queue pair that receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerQp {
    /// Where it is.
    pub at: Local,
    /// Its number.
    pub qpn: u32,
}

/// The requests of a size.
struct Transfer<'m> {
    rows: Rows,
    tables: &'m [MemoryRegion],
    /// The same of several places in memory, which take turns.
    copies: Vec<Vec<Request<'m>>>,
}

impl Transfer<'_> {
    /// Requests of one transfer.
    fn requests(&self) -> usize {
        self.copies[0].len()
    }

    /// Blocks of a send queue that it takes at most.
    fn blocks(&self) -> usize {
        // The head and a destination are less than two blocks.
        let blocks = |request: &Request| {
            let regions: usize = request.regions.iter().map(|r| r.descriptor_len()).sum();
            2 + regions.div_ceil(BLOCK)
        };
        self.copies[0].iter().map(blocks).sum()
    }
}

/// Measures every size of a plan on an open card, one after another, and shows each.
///
/// # Errors
/// See [`PerfError`].
pub fn run(
    context: &Context,
    network: &Network,
    plan: &Plan,
    clock: Clock,
    local: Local,
    far: Far,
    show: &mut dyn FnMut(&Outcome) -> Result<(), String>,
) -> Result<(), PerfError> {
    let pd = context.protection_domain();
    let shape = &plan.shape;
    let mut tables = Vec::new();
    for rows in plan.rows()? {
        let copies = plan.copies(&rows);
        tables.push((rows, copies, shape.tables(&pd, &rows, copies, plan.op.access())?));
    }
    let mut transfers = Vec::new();
    for (rows, copies, tables) in &tables {
        let copies = (0..*copies).map(|copy| shape.requests(rows, tables, copy));
        let copies = copies.collect::<Result<_, _>>()?;
        transfers.push(Transfer { rows: *rows, tables, copies });
    }
    let most = |count: fn(&Transfer) -> usize| transfers.iter().map(count).max().unwrap_or(1);
    let blocks = most(|transfer| transfer.blocks());
    if let Some(transfer) = transfers.iter().find(|transfer| transfer.blocks() > MOST) {
        let (size, requests) = (transfer.rows.bytes(), transfer.requests());
        return Err(PerfError::Requests { size, requests });
    }
    let (qps, depth) = (plan.qps as usize, plan.depth as usize);
    let entries = (most(|transfer| transfer.requests()) * depth * qps).clamp(1, MOST) as u32;
    let cq = context.completion_queue().entries(entries).build()?;

    let qpns: Vec<u32> = (0..plan.qps).map(|i| FIRST_QPN + i).collect();
    let longest = transfers.iter().map(|transfer| transfer.rows.bytes()).max().unwrap_or(0);
    let mut bench = Bench {
        context,
        network,
        plan,
        clock,
        cq: &cq,
        qps: Vec::new(),
        under_way: vec![VecDeque::new(); qps],
        counting: vec![Counting::new(REMOTE.0); qps],
        peers: Vec::new(),
        remote: None,
        place: REMOTE,
        sent: (0, 0),
        started: Instant::now(),
    };
    let far = bench.meet(far, local, &qpns, longest)?;
    for (qpn, peer) in qpns.iter().zip(far) {
        let blocks = (blocks * depth).clamp(1, MOST) as u32;
        let builder = pd.queue_pair(&cq).transport(shape.transport).qpn(*qpn);
        let mut qp = builder.send_blocks(blocks).build()?;
        let [_, _, mac @ ..] = peer.at.mac.to_be_bytes();
        let mut attributes = QueuePairAttributes::new()
            .path_mtu(shape.mtu)
            .dest_mac(MacAddress(mac))
            .dest_ip(peer.at.ip.into())
            .dest_qpn(peer.qpn)
            .qkey(QKEY)
            .start_psn(0);
        if plan.op.is_answered() {
            let outstanding = plan.outstanding.unwrap_or(OUTSTANDING);
            attributes = attributes.rq_psn(0).max_rd_atomic(outstanding);
        }
        qp.connect(&attributes)?;
        bench.qps.push(qp);
    }
    for transfer in &transfers {
        let outcome = bench.measure(transfer)?;
        show(&outcome).map_err(PerfError::Show)?;
    }
    bench.check_arrived()
}

/// What the peers of a measurement are set up with.
fn peer_config(
    shape: (drdma_abi::roce::Transport, u32),
    (card, card_qpn): (Local, u32),
    peer: PeerQp,
    longest: u64,
) -> PeerConfig {
    let (transport, mtu) = shape;
    let (addr, rkey) = REMOTE;
    // An atomic may be longer than what is sent.
    let memory = RemoteMemory { addr, len: longest.max(ATOMIC_BYTES), rkey };
    PeerConfig {
        card_mac: Some(card.mac),
        card_ip: Some(card.ip),
        mtu,
        start_psn: Some(0),
        qkey: QKEY,
        writable: Some(memory),
        readable: Some(memory),
        keep_messages: false,
        ..PeerConfig::new(transport, peer.at.mac, peer.at.ip, peer.qpn, card_qpn)
    }
}

/// Messages, READs and atomics of a peer, and their bytes.
fn arrived(peer: &Peer) -> (u64, u64) {
    let answered = peer.answered();
    (
        peer.message_count() + answered.reads + answered.atomics,
        peer.message_bytes() + answered.read_bytes + answered.atomics * ATOMIC_BYTES,
    )
}

/// A transfer under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// Its requests that are not complete.
    left: usize,
    /// Its place in memory.
    copy: usize,
}

/// An open card with its queue pairs connected.
struct Bench<'a, 'm> {
    context: &'a Context,
    network: &'a Network,
    plan: &'a Plan,
    clock: Clock,
    cq: &'a CompletionQueue,
    qps: Vec<QueuePair<'m>>,
    /// The transfers that a queue pair has under way.
    under_way: Vec<VecDeque<UnderWay>>,
    /// What the atomics of a queue pair find.
    counting: Vec<Counting>,
    peers: Vec<PeerId>,
    remote: Option<Box<Remote>>,
    /// What transfers go to, or come from.
    place: (u64, u32),
    /// Messages and bytes that were posted so far.
    sent: (u64, u64),
    started: Instant,
}

impl<'m> Bench<'_, 'm> {
    /// Arranges for a peer of each of the card's queue pairs.
    fn meet(
        &mut self,
        far: Far,
        local: Local,
        qpns: &[u32],
        longest: u64,
    ) -> Result<Vec<PeerQp>, PerfError> {
        let shape = (self.plan.shape.transport, self.plan.shape.mtu);
        match far {
            Far::Simulated => {
                let peer = |i| PeerQp { at: PEER, qpn: FIRST_PEER_QPN + i };
                let peers: Vec<_> = (0..self.plan.qps).map(peer).collect();
                let pairs = qpns.iter().zip(&peers);
                let configs =
                    pairs.map(|(qpn, peer)| peer_config(shape, (local, *qpn), *peer, longest));
                self.peers = self.network.add_peers(configs);
                Ok(peers)
            }
            Far::Remote(mut remote) => {
                let (peers, place) = remote.meet(shape, local, qpns, longest)?;
                self.place = place;
                self.counting.fill(Counting::new(place.0));
                self.remote = Some(remote);
                Ok(peers)
            }
        }
    }

    /// Nanoseconds, if there is a clock.
    fn now(&self) -> Result<Option<f64>, PerfError> {
        Ok(match self.clock {
            Clock::Card => Some(self.context.counter(counter::CYCLES)? as f64 * NS_PER_CYCLE),
            Clock::Wall => Some(self.started.elapsed().as_secs_f64() * 1e9),
            Clock::None => None,
        })
    }

    fn measure(&mut self, transfer: &Transfer<'m>) -> Result<Outcome, PerfError> {
        let (size, messages) = (transfer.rows.bytes(), transfer.rows.messages());
        let iterations = self.plan.iterations.of(size);
        let depth = match self.plan.measure {
            Measure::Bandwidth => self.plan.depth as usize,
            Measure::Latency => 1,
        };
        self.send(transfer, self.plan.warmup, depth)?;
        if self.plan.op == Op::Read {
            fetched::clear(transfer)?;
        }
        self.context.clear_counters()?;
        let before = self.context.statistics();
        let (rates, latency) = match self.plan.measure {
            Measure::Bandwidth => {
                let completed = self.send(transfer, iterations, depth)?;
                (Rates::of(&completed, size, messages), None)
            }
            Measure::Latency => {
                let mut taken = Vec::new();
                for _ in 0..iterations {
                    taken.extend(self.send(transfer, 1, depth)?);
                }
                (None, Latency::of(taken))
            }
        };
        let counters = self.context.counters()?;
        let cost = Cost {
            packets: counters.get(counter::PACKETS),
            payload_bytes: counters.get(counter::PAYLOAD_BYTES),
            request_bytes: self.context.statistics().request_bytes - before.request_bytes,
            data_reads: counters.get(counter::DATA_READS),
            data_read_bytes: counters.get(counter::DATA_READ_BYTES),
            control_reads: counters.get(counter::CONTROL_READS),
            control_read_bytes: counters.get(counter::CONTROL_READ_BYTES),
        };
        if let Some(complaints) = device::complaints(&self.network.errors()) {
            return Err(PerfError::Wire(complaints));
        }
        if self.plan.op == Op::Read {
            // Every transfer of a latency measurement began with the first place.
            let used = if self.plan.measure == Measure::Latency { 1 } else { iterations };
            fetched::check(transfer, used, self.place.0)?;
        }
        let requests = transfer.requests() as u64;
        Ok(Outcome { bytes: size, messages, requests, iterations, rates, latency, cost })
    }

    /// Sends so many transfers, with up to `depth` of them under way on each queue pair; gives when each
    /// was complete, in nanoseconds since the start, if there is a clock.
    fn send(
        &mut self,
        transfer: &Transfer<'m>,
        count: u64,
        depth: usize,
    ) -> Result<Vec<f64>, PerfError> {
        let (mut posted, mut done, mut times) = (0, 0, Vec::new());
        let start = self.now()?;
        let mut last = (Instant::now(), self.network.traffic().frames);
        while done < count {
            let turn = (posted % u64::from(self.plan.qps)) as usize;
            let copy = (posted % transfer.copies.len() as u64) as usize;
            if posted < count && self.post(transfer, copy, turn, depth)? {
                posted += 1;
                continue;
            }
            let complete = self.poll(transfer)?;
            if let (Some(start), Some(now)) = (start, self.now_if(complete > 0)?) {
                times.extend((0..complete).map(|_| now - start));
            }
            done += complete;
            if let Some(remote) = &mut self.remote {
                remote.serve()?;
            }
            let frames = self.network.traffic().frames;
            if complete > 0 || frames != last.1 {
                last = (Instant::now(), frames);
            } else if last.0.elapsed() >= self.plan.patience {
                return Err(PerfError::TimedOut { waited: self.plan.patience });
            }
            if complete == 0 {
                self.context.progress()?;
            }
        }
        Ok(times)
    }

    fn now_if(&self, condition: bool) -> Result<Option<f64>, PerfError> {
        if condition { self.now() } else { Ok(None) }
    }

    /// Posts a transfer to a queue pair, with one doorbell; false if there is no room for it.
    fn post(
        &mut self,
        transfer: &Transfer<'m>,
        copy: usize,
        index: usize,
        depth: usize,
    ) -> Result<bool, PerfError> {
        if self.under_way[index].len() >= depth {
            return Ok(false);
        }
        let (mut remote_addr, rkey) = self.place;
        let requests = &transfer.copies[copy];
        let next = self.counting[index].next();
        let mut batch = self.qps[index].batch();
        for request in requests {
            let post = WorkRequest::new(index as u64);
            let post = match self.plan.op {
                Op::Send => post,
                Op::Write => post.operation(Operation::Write { remote_addr, rkey }),
                Op::Read => post.read(remote_addr, rkey),
                Op::CompareAndSwap => {
                    post.compare_and_swap(remote_addr, rkey, next, next.wrapping_add(1))
                }
                Op::FetchAndAdd => post.fetch_and_add(remote_addr, rkey, 1),
            };
            remote_addr += request.bytes;
            let request = post
                .row_mask(request.row_mask)
                .rows_per_message(request.rows_per_message)
                .regions(&request.regions);
            match batch.post_send(&request) {
                Ok(()) => {}
                // What is under way makes room.
                Err(PostError::QueueFull { .. } | PostError::CompletionQueueFull { .. }) => {
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        batch.submit()?;
        if self.plan.op.is_atomic() {
            self.counting[index].posted();
        }
        self.under_way[index].push_back(UnderWay { left: requests.len(), copy });
        self.sent.0 += transfer.rows.messages();
        self.sent.1 += transfer.rows.bytes();
        Ok(true)
    }

    /// Takes completions; gives how many transfers are complete with them.
    fn poll(&mut self, transfer: &Transfer) -> Result<u64, PerfError> {
        let mut complete = 0;
        for completion in self.cq.poll() {
            let status = completion.status;
            if status != Status::Success {
                return Err(PerfError::Status { size: transfer.rows.bytes(), status });
            }
            // Requests of a queue pair complete in order.
            let index = completion.wr_id as usize;
            let under_way = &mut self.under_way[index];
            let Some(first) = under_way.front_mut() else { continue };
            first.left -= 1;
            if first.left > 0 {
                continue;
            }
            let copy = first.copy;
            under_way.pop_front();
            complete += 1;
            if self.plan.op.is_atomic() {
                self.counting[index].check(fetched::atomic(transfer, copy))?;
            }
        }
        Ok(complete)
    }

    /// Compares what arrived with what was sent. A board's peer is asked, others are looked at.
    fn check_arrived(mut self) -> Result<(), PerfError> {
        let (arrived, arrived_bytes) = match self.remote.take() {
            Some(remote) => remote.finish()?,
            None => self.peers.iter().fold((0, 0), |(messages, bytes), peer| {
                let (more, more_bytes) = self.network.with_peer(*peer, |peer| arrived(peer));
                (messages + more, bytes + more_bytes)
            }),
        };
        let (sent, sent_bytes) = self.sent;
        match (arrived, arrived_bytes) == self.sent {
            true => Ok(()),
            false => Err(PerfError::Arrived { sent, sent_bytes, arrived, arrived_bytes }),
        }
    }
}
