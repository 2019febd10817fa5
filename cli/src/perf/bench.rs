//! The run of a measurement on an open card.

use std::{collections::VecDeque, time::Instant};

use drdma_sim::{
    clock::NS_PER_CYCLE,
    wire::{Network, PeerId},
};
use libdrdma::{
    CompletionQueue, Context, MacAddress, Operation, PostError, ProtectionDomain, QueuePair,
    QueuePairAttributes, Status, WorkRequest, counter,
};

use super::{
    PerfError,
    fetched::{self, Counting},
    figures::{Cost, Latency, Outcome, Rates},
    op::{MOST, OUTSTANDING, Op},
    peers::{FIRST_PEER_QPN, PEER, PeerQp, QKEY, REMOTE, arrived, peer_config},
    plan::{Clock, Measure, Plan},
    remote::{Far, Remote},
    transfer::Transfer,
};
use crate::{device, job::Local};

/// The first of the card's queue pair numbers.
const FIRST_QPN: u32 = 0x11;

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
    if let Some(transfer) = transfers.iter().find(|transfer| transfer.blocks() > MOST) {
        let (size, requests) = (transfer.rows.bytes(), transfer.requests());
        return Err(PerfError::Requests { size, requests });
    }
    let (qps, depth) = (plan.qps as usize, plan.depth as usize);
    let requests = transfers.iter().map(Transfer::requests).max().unwrap_or(1);
    let entries = (requests * depth * qps).clamp(1, MOST) as u32;
    let cq = context.completion_queue().entries(entries).build()?;
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
    bench.connect(&pd, far, local, &transfers)?;
    for transfer in &transfers {
        let outcome = bench.measure(transfer)?;
        show(&outcome).map_err(PerfError::Show)?;
    }
    bench.check_arrived()
}

/// A transfer that is under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// Number of its requests that are not complete.
    left: usize,
    /// Index of the copy in memory that it uses.
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
    /// For each queue pair: the transfers that are under way.
    under_way: Vec<VecDeque<UnderWay>>,
    /// For each queue pair: the values that its atomics should find.
    counting: Vec<Counting>,
    peers: Vec<PeerId>,
    remote: Option<Box<Remote>>,
    /// Remote address and key of the transfers.
    place: (u64, u32),
    /// Messages and bytes that were posted so far.
    sent: (u64, u64),
    started: Instant,
}

impl<'m> Bench<'_, 'm> {
    /// Makes the card's queue pairs, long enough for the transfers, and connects each with a peer of its own.
    fn connect(
        &mut self,
        pd: &ProtectionDomain,
        far: Far,
        local: Local,
        transfers: &[Transfer],
    ) -> Result<(), PerfError> {
        let (plan, shape) = (self.plan, &self.plan.shape);
        let longest = transfers.iter().map(|transfer| transfer.rows.bytes()).max().unwrap_or(0);
        let blocks = transfers.iter().map(Transfer::blocks).max().unwrap_or(1);
        let blocks = (blocks * plan.depth as usize).clamp(1, MOST) as u32;
        let qpns: Vec<u32> = (0..plan.qps).map(|i| FIRST_QPN + i).collect();
        let peers = self.meet(far, local, &qpns, longest)?;
        for (qpn, peer) in qpns.into_iter().zip(peers) {
            let builder = pd.queue_pair(self.cq).transport(shape.transport).qpn(qpn);
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
            self.qps.push(qp);
        }
        Ok(())
    }

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

    /// Nanoseconds of the clock, if there is one.
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
            // A latency measurement uses the first copy for every transfer.
            let used = if self.plan.measure == Measure::Latency { 1 } else { iterations };
            fetched::check(transfer, used, self.place.0)?;
        }
        let requests = transfer.requests() as u64;
        Ok(Outcome { bytes: size, messages, requests, iterations, rates, latency, cost })
    }

    /// Sends `count` transfers, with up to `depth` of them under way on each queue pair. Returns when each was
    /// complete, in nanoseconds since the start, if there is a clock.
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
                // Requests that are under way make room when they complete.
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

    /// Takes completions; returns how many transfers are complete with them.
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

    /// Compares what arrived with what was sent. A board's peer is asked; simulated peers are looked at.
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
