//! Doorbells, reading and checking requests, sending them, completing them.

use std::collections::HashSet;

use bytes::Bytes;
use drdma_abi::{
    Layout as _,
    completion::{Completion, Status},
    register::{CONTROL, IP, MAC_HIGH, MAC_LOW, MAX_READ, MERGE_THRESHOLD, counter},
    roce::{TTL, Transport},
    work_request::{BLOCK, GRANULE, WqeHeader, blocks},
};

use crate::{
    card::{
        job::{Job, Lane, Outgoing},
        row_copies,
        state::{ENABLE, SoftCard},
        tables::{InFlight, Part, RequestId},
    },
    host::Counted,
};
use drdma_semantics::{
    boxes::Settings,
    checks::{self, Admitted, Directory as _, Posted},
    memory::{Fault, HostMemory as _},
    messages::Messages,
    packets::{Flow, MASK_24, psn_add},
    reliable::{self, Extended},
    request::Request,
    requester::{Sent, What},
};

/// Largest number of unacknowledged packets of a queue pair: a quarter of the sequence numbers.
const MAX_IN_FLIGHT: u32 = 1 << 22;
/// Largest number of requests that a queue may have started without a completion.
const MAX_REQUESTS: usize = 1 << 16;
/// Largest number of doorbells that are queued; more than any host rings before the card gets to
/// run.
const MAX_DOORBELLS: usize = 1 << 20;
/// Number of cycles to read and check a request.
const REQUEST_CYCLES: u64 = 16;

/// Largest number of packets of a message that an endpoint sends together: packets of 4 KiB are
/// then one datagram that is cut into segments.
const BURST: usize = 15;
/// Largest number of bytes of a packet beside its payload: the room that is reserved for headers.
const HEADERS: usize = 100;

/// Result of trying to start the next request of a queue.
enum Start {
    /// The request was started, or refused.
    Started,
    /// The request fails as soon as nothing before it is left to be sent on this queue pair.
    Fails(u32),
    /// The request waits for such a failure.
    Waits,
}

impl SoftCard {
    /// Takes a doorbell.
    pub(super) fn ring_doorbell(&mut self, queue: u32, producer: u32) {
        let enabled = self.registers.get(&CONTROL) & ENABLE != 0;
        let running = self.tables.send_queues[queue as usize].is_running();
        if !enabled || !running {
            return;
        }
        if self.doorbells.len() < MAX_DOORBELLS && self.doorbells.back() != Some(&(queue, producer))
        {
            self.doorbells.push_back((queue, producer));
        }
    }

    /// Sends a packet or starts a request; returns the number of cycles that this takes, or `None`
    /// if there is nothing to do. Answers have priority over retransmissions, and these over new
    /// packets.
    pub(super) fn step(&mut self) -> Option<u64> {
        if let Some(cycles) =
            self.send_notice().or_else(|| self.send_reply()).or_else(|| self.resend())
        {
            return Some(cycles);
        }
        let mut taken = HashSet::new();
        for at in 0..self.jobs.len() {
            if let Some(cycles) = self.send_packet(at, &taken) {
                return Some(cycles);
            }
            // A later request waits for the rest of an earlier one for the same queue pair.
            let lanes = self.jobs[at].lanes.iter().filter(|lane| !lane.is_done());
            taken.extend(lanes.map(|lane| lane.qp));
        }
        // Requests are started in turn, so that none overtakes another on a queue pair. Only a
        // failure waits for the packets before it, and requests that name its queue pair wait with
        // it.
        let mut failing = HashSet::new();
        let mut at = 0;
        while let Some((index, producer)) = self.doorbells.get(at).copied() {
            let queue = &self.tables.send_queues[index as usize];
            // Nothing is posted, or more than the ring holds: no driver rings such a doorbell.
            let posted = producer.wrapping_sub(queue.position);
            if !queue.is_running() || posted == 0 || posted > queue.blocks() {
                self.doorbells.remove(at);
                return Some(1);
            }
            if queue.in_flight.len() >= MAX_REQUESTS {
                return None;
            }
            match self.start_request(index, producer, &taken, &failing) {
                Start::Started => return Some(REQUEST_CYCLES),
                Start::Fails(qp) => drop(failing.insert(qp)),
                Start::Waits => return None,
            }
            at += 1;
        }
        None
    }

    /// Reads and checks the next request of a queue. A request that fails waits until earlier
    /// requests have sent everything to its queue pair, if that is one of `taken`; a request that
    /// names a queue pair in `failing` waits as well.
    fn start_request(
        &mut self,
        index: u32,
        producer: u32,
        taken: &HashSet<u32>,
        failing: &HashSet<u32>,
    ) -> Start {
        let queue = &self.tables.send_queues[index as usize];
        let position = queue.position;
        let posted = Posted {
            position,
            blocks: producer.wrapping_sub(position),
            owner: (queue.entry.shared == 0).then_some(queue.entry.qp),
            pd: queue.entry.pd,
        };
        let mut request = InFlight {
            wr_id: 0,
            position,
            signaled: true,
            bytes: 0,
            sending: true,
            waiting: 0,
            failed: None,
        };

        let entry = match self.read_entry(index, &posted) {
            Ok(entry) => entry,
            Err(wr_id) => {
                request.wr_id = wr_id;
                self.refuse(index, request, Status::LocalQpOperationError, 0, None);
                return Start::Started;
            }
        };
        request.wr_id = WqeHeader::decode(&entry).wr_id;
        let memory = Counted::new(&self.host);
        let max_rd_atomic = self.max_rd_atomic(&posted);
        let checked = reliable::check_entry(&entry, &posted, max_rd_atomic, &self.tables, &memory);
        let admitted = checked.and_then(|checked| {
            // The length of an answer was checked with its target regions.
            let admitted = match checked.fetch {
                Some(_) => vec![Admitted { messages: Messages::of_equal(0, 0, 1), limits: vec![] }],
                None => checks::check_contents(&checked.request, posted.pd, &self.tables, &memory)?,
            };
            Ok((checked, admitted))
        });
        self.counters.add(&counter::CONTROL_READS, memory.reads.get());
        self.counters.add(&counter::CONTROL_READ_BYTES, memory.bytes.get());
        let (checked, admitted) = match admitted {
            Ok(admitted) => admitted,
            Err(failure) => {
                if let Some(qp) = failure.queue_pair
                    && (taken.contains(&qp) || failing.contains(&qp))
                {
                    return Start::Fails(qp);
                }
                let destination = failure.destination;
                self.refuse(index, request, failure.status, destination, failure.queue_pair);
                return Start::Started;
            }
        };

        let Extended { request: checked, extras, fetch } = checked;
        if checked.destinations.iter().any(|destination| failing.contains(&destination.qp)) {
            return Start::Waits;
        }
        request.signaled = checked.signaled;
        let queue = &mut self.tables.send_queues[index as usize];
        queue.position = position.wrapping_add(blocks(entry.len() / GRANULE) as u32);
        let serial = queue.start(request);
        let id = RequestId { queue: index, serial };
        let settings = (!self.is_endpoint).then(|| self.settings(&checked));
        let has_rows = self.is_endpoint && fetch.is_none() && checked.inline.is_none();
        let rows =
            has_rows.then(|| row_copies::of_request(&checked, &self.host, &mut self.last_dealt));
        let rows = rows.unwrap_or_default();
        let job = Job::new(id, &checked, (admitted, rows), settings, |qp| {
            (self.tables.queue_pairs[qp as usize].generation, self.flow(qp))
        });
        let job = job.with(extras, fetch.as_ref().map(|(fetch, _)| *fetch));
        if let Some((_, target)) = fetch {
            self.fetching.insert(id, target.scatter());
        }
        if let Some(request) = self.tables.send_queues[index as usize].get(serial) {
            request.bytes = job.bytes();
        }
        self.jobs.push(job);
        Start::Started
    }

    /// Parameters of planning the DMA reads of a request.
    fn settings(&self, request: &Request) -> Settings {
        request.settings(Settings {
            max_read: self.registers.get(&MAX_READ),
            merge_threshold: self.registers.get(&MERGE_THRESHOLD),
            ..Settings::default()
        })
    }

    /// Number of READs and atomics that the owner of a queue may have outstanding.
    fn max_rd_atomic(&self, posted: &Posted) -> u8 {
        let owner = posted.owner.and_then(|qp| self.tables.queue_pairs.get(qp as usize));
        owner.map_or(0, |queue_pair| queue_pair.attributes.max_rd_atomic)
    }

    /// Reads the entry at a queue's position, as many granules as its head says. If the head is
    /// invalid, the error is the entry's name, or 0 if it cannot be read.
    fn read_entry(&mut self, index: u32, posted: &Posted) -> Result<Vec<u8>, u64> {
        let mut bytes = vec![0; BLOCK];
        self.read_blocks(index, posted.position, &mut bytes).map_err(|_| 0u64)?;
        let head = bytes.first_chunk().expect("a block holds a head");
        let wr_id = WqeHeader::decode(head).wr_id;
        let head = reliable::check_head(head, posted).map_err(|_| wr_id)?;
        let size = head.granules as usize * GRANULE;
        bytes.resize(size.next_multiple_of(BLOCK), 0);
        let second = posted.position.wrapping_add(1);
        self.read_blocks(index, second, &mut bytes[BLOCK..]).map_err(|_| wr_id)?;
        bytes.truncate(size);
        Ok(bytes)
    }

    /// Reads whole blocks of a ring, around its end.
    fn read_blocks(&mut self, index: u32, position: u32, out: &mut [u8]) -> Result<(), Fault> {
        let queue = &self.tables.send_queues[index as usize];
        let mask = queue.blocks() - 1;
        let first = (position & mask) as usize;
        let before_end = (queue.blocks() as usize - first) * BLOCK;
        let (head, tail) = out.split_at_mut(before_end.min(out.len()));
        for (block, part) in [(first, head), (0, tail)] {
            if !part.is_empty() {
                self.counters.add(&counter::CONTROL_READS, 1);
                self.counters.add(&counter::CONTROL_READ_BYTES, part.len() as u64);
                let addr = queue.entry.addr.wrapping_add((block * BLOCK) as u64);
                self.host.read(addr, part)?;
            }
        }
        Ok(())
    }

    /// Completes a request that fails its checks: no packet of it is sent.
    fn refuse(
        &mut self,
        index: u32,
        request: InFlight,
        status: Status,
        destination: u16,
        queue_pair: Option<u32>,
    ) {
        let failed = Some((status, destination));
        let queue = &mut self.tables.send_queues[index as usize];
        queue.start(InFlight { sending: false, failed, ..request });
        queue.stopped = true;
        self.completing.insert(index);
        if let Some(qp) = queue_pair {
            self.set_error(qp as usize);
        }
    }

    /// Header fields of a queue pair's packets.
    pub(super) fn flow(&self, qp: u32) -> Flow {
        let entry = &self.tables.queue_pairs[qp as usize].entry;
        let mac_high = u64::from(self.registers.get(&MAC_HIGH) & 0xffff);
        Flow {
            source_mac: mac_high << 32 | u64::from(self.registers.get(&MAC_LOW)),
            dest_mac: entry.dest_mac,
            source_ip: self.registers.get(&IP),
            dest_ip: entry.dest_ip,
            tos: entry.tos,
            ttl: if entry.ttl == 0 { TTL } else { entry.ttl },
            vlan: (entry.tagged == 1).then_some(entry.vlan),
            qpn: entry.qpn,
            dest_qpn: entry.dest_qpn,
            pkey: entry.pkey,
            qkey: entry.qkey,
            transport: Transport::from_code(entry.transport).unwrap_or(Transport::Rc),
            mtu: self.tables.queue_pair(qp).map_or(0, |view| view.mtu),
        }
    }

    /// Sends the next packet of the job `at`, or ends the job; returns the number of cycles that
    /// this takes. `None` if the rest must wait: queue pairs in `taken` belong to earlier jobs.
    fn send_packet(&mut self, at: usize, taken: &HashSet<u32>) -> Option<u64> {
        let id = self.jobs[at].id;
        if self.tables.send_queues[id.queue as usize].get(id.serial).is_none() {
            self.fetching.remove(&id);
            self.jobs.remove(at);
            return Some(1);
        }
        if self.is_behind_failure(id) && !self.jobs[at].lanes.iter().any(Lane::has_begun) {
            self.fetching.remove(&id);
            self.jobs.remove(at);
            return Some(1);
        }
        let gone = self.jobs[at].lanes.iter().position(|lane| self.is_gone(lane));
        if let Some(destination) = gone {
            self.fail(id, Status::WrFlushError, destination as u16);
            self.jobs.remove(at);
            return Some(1);
        }
        // `may_send` notes when a queue pair may send again, so it is asked for each of them.
        let mut paced = Vec::new();
        for lane in 0..self.jobs[at].lanes.len() {
            let lane = &self.jobs[at].lanes[lane];
            let (qp, reliable) = (lane.qp as usize, lane.flow.transport == Transport::Rc);
            if reliable && !lane.is_done() && !self.may_send(qp) {
                paced.push(qp);
            }
        }
        let queue_pairs = &self.tables.queue_pairs;
        let lane = self.jobs[at].next_lane(|lane| {
            let queue_pair = &queue_pairs[lane.qp as usize];
            let requester = &queue_pair.requester;
            let limit = usize::from(queue_pair.attributes.max_rd_atomic);
            let fenced = lane.extras.fence && !lane.has_begun() && requester.unanswered() > 0;
            let full = lane.fetch.is_some() && requester.unanswered() >= limit;
            let open = requester.is_open() && requester.in_flight() < MAX_IN_FLIGHT;
            let ready = open && !fenced && !full && !paced.contains(&(lane.qp as usize));
            !taken.contains(&lane.qp) && (lane.flow.transport != Transport::Rc || ready)
        });
        let lane = match lane {
            Ok(Some(lane)) => lane,
            Ok(None) => {
                let mut job = self.jobs.remove(at);
                self.plan(&mut job, u64::MAX);
                let queue = &mut self.tables.send_queues[id.queue as usize];
                if let Some(request) = queue.get(id.serial) {
                    request.sending = false;
                }
                self.completing.insert(id.queue);
                return Some(1);
            }
            Err(_) => return None,
        };
        let mut job = self.jobs.remove(at);
        match self.send_burst(&mut job, lane) {
            (cycles, Ok(())) => {
                self.jobs.insert(at, job);
                Some(cycles)
            }
            (cycles, Err(status)) => {
                let qp = job.lanes[lane].qp as usize;
                self.fail(id, status, lane as u16);
                self.set_error(qp);
                Some(cycles + 1)
            }
        }
    }

    /// Sends packets of a lane, up to the end of its message: an endpoint several, the reference
    /// card one. Returns the number of cycles of the packets that were sent, and the request's
    /// status if one could not be.
    fn send_burst(&mut self, job: &mut Job, lane: usize) -> (u64, Result<(), Status>) {
        let (id, mtu) = (job.id, job.lanes[lane].flow.mtu);
        let reliable = job.lanes[lane].flow.transport == Transport::Rc;
        let qp = job.lanes[lane].qp as usize;
        // The rate of a limited queue pair is checked packet by packet.
        let most = if self.is_endpoint && !self.is_limited(qp) { BURST } else { 1 };
        let begins = !job.lanes[lane].has_begun();
        let first_psn = self.tables.queue_pairs[qp].requester.next_psn();
        let left = job.lanes[lane].left().min(most as u32 * mtu) as usize;
        let mut frames = self.buffers.take(left + (left / mtu as usize + 1) * HEADERS);
        let mut packets: Vec<Outgoing> = Vec::with_capacity(most);
        let mut sent = Ok(());
        while packets.len() < most && packets.last().is_none_or(|packet| !packet.ends) {
            let ahead = job.sent + u64::from(mtu);
            self.plan(job, ahead);
            let psn = psn_add(first_psn, packets.len() as u32);
            match job.send(lane, psn, &self.host, frames.frames()) {
                Ok(packet) => packets.push(packet),
                Err(status) => {
                    sent = Err(status);
                    break;
                }
            }
        }
        if packets.is_empty() {
            return (0, sent);
        }
        let frames = frames.into_bytes();
        let cycles =
            self.transmit_all(qp, &frames, packets.iter().map(|packet| packet.frame.len()));
        let payload: u64 = packets.iter().map(|packet| u64::from(packet.payload)).sum();
        let busy = packets.iter().map(|packet| u64::from(packet.payload).div_ceil(64)).sum();
        self.counters.add(&counter::PAYLOAD_BYTES, payload);
        self.counters.add(&counter::ASSEMBLE_BUSY, busy);
        if !reliable {
            self.tables.queue_pairs[qp].requester.skip(packets.len() as u32);
            return (cycles, sent);
        }
        self.pace(qp, payload as u32);
        let request = self.tables.send_queues[id.queue as usize].get(id.serial);
        if let Some(request) = request
            && begins
        {
            request.waiting += 1;
        }
        let requester = &mut self.tables.queue_pairs[qp].requester;
        let kept = requester.policy().retries();
        for (psn, packet) in (first_psn..).zip(packets) {
            let frame = |kept| if kept { frames.slice(packet.frame.clone()) } else { Bytes::new() };
            let sent = Sent {
                request: Part { request: id, destination: lane as u16 },
                psn: psn & MASK_24,
                packets: packet.fetch.map_or(1, |(packets, _)| packets),
                last: packet.last,
                asks: packet.asks,
                what: match packet.fetch {
                    None => What::Packet(frame(kept)),
                    Some((_, None)) => What::Atomic(frame(true)),
                    Some((_, Some(read))) => What::Read {
                        addr: read.virtual_address,
                        rkey: read.rkey,
                        len: read.dma_length,
                        answered: 0,
                    },
                },
            };
            requester.sent(sent, self.cycles);
        }
        self.set_timer(qp);
        (cycles, sent)
    }

    /// True if a request before this one on its queue failed: a lane that has not begun sends
    /// nothing then.
    fn is_behind_failure(&self, id: RequestId) -> bool {
        let queue = &self.tables.send_queues[id.queue as usize];
        let before = id.serial.saturating_sub(queue.first_serial) as usize;
        queue.stopped && queue.in_flight.iter().take(before).any(|other| other.failed.is_some())
    }

    /// True if a lane is not done, and its queue pair was reset, or went to the error state, since
    /// the request was admitted.
    fn is_gone(&self, lane: &Lane) -> bool {
        let queue_pair = &self.tables.queue_pairs[lane.qp as usize];
        !lane.is_done() && (queue_pair.error || queue_pair.generation != lane.generation)
    }

    /// Plans the DMA reads of a job until `bytes` of payload are planned.
    fn plan(&mut self, job: &mut Job, bytes: u64) {
        while let Some(planner) = &mut job.planner
            && job.planned < bytes
        {
            // If planning cannot read something, sending the packets fails as well.
            match planner.next_window(&self.host) {
                Ok(Some(window)) => {
                    job.planned += window.payload_bytes;
                    self.counters.add(&counter::WINDOWS, 1);
                    self.counters.add(&counter::DATA_READS, window.boxes.len() as u64);
                    self.counters.add(&counter::DATA_READ_BYTES, window.read_bytes());
                }
                Ok(None) | Err(_) => job.planner = None,
            }
        }
    }

    /// Fails a request that was started; its queue starts no further one.
    pub(super) fn fail(&mut self, id: RequestId, status: Status, destination: u16) {
        self.fetching.remove(&id);
        let queue = &mut self.tables.send_queues[id.queue as usize];
        if let Some(request) = queue.get(id.serial) {
            request.failed.get_or_insert((status, destination));
            request.sending = false;
            queue.stopped = true;
            self.completing.insert(id.queue);
        }
    }

    /// Writes the completions that are due: per queue in order, as far as there is room.
    pub(super) fn complete(&mut self) {
        self.complete_receives();
        for index in std::mem::take(&mut self.completing) {
            if !self.complete_queue(index) {
                self.completing.insert(index);
            }
        }
    }

    /// Writes the completions that are due of one queue; false if there is no room.
    fn complete_queue(&mut self, index: u32) -> bool {
        let queue = &mut self.tables.send_queues[index as usize];
        while let Some(request) = queue.in_flight.front().copied() {
            let done = !request.sending && request.waiting == 0;
            if !done && request.failed.is_none() {
                break;
            }
            let completion_queue = usize::from(queue.entry.completion_queue);
            let told = request.signaled || request.failed.is_some();
            if let Some(to) = self.tables.completion_queues.get_mut(completion_queue)
                && told
            {
                if !to.has_room() {
                    return false;
                }
                let (status, destination) = request.failed.unwrap_or((Status::Success, 0));
                let completion = Completion {
                    wr_id: request.wr_id,
                    bytes: if request.failed.is_none() { request.bytes } else { 0 },
                    queue: index,
                    destination,
                    status: status as u8,
                    position: request.position,
                    ..Completion::default()
                };
                to.push(&self.host, completion);
            }
            self.counters.add(&counter::WORK_REQUESTS, 1);
            queue.in_flight.pop_front();
            queue.first_serial += 1;
            if request.failed.is_some() {
                queue.halted = true;
                queue.drop_requests();
            }
        }
        true
    }
}
