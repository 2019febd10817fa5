//! Responses to a requester: acknowledgements and answers; and retransmission.

use drdma_abi::{
    completion::Status,
    register::counter,
    roce::{Reth, Transport, operation},
};

use crate::card::{
    state::{NS_PER_CYCLE, SoftCard},
    tables::Part,
};
use drdma_semantics::{
    answers,
    frame::{Frame, read_operation},
    requester::{Reaction, What},
};

/// Number of cycles in 10 us, the unit of RNR timers.
const TEN_US: u64 = 10_000 / NS_PER_CYCLE;

impl SoftCard {
    /// Takes a response to an RC queue pair; `None` if it is for no queue pair.
    pub(super) fn take_response(&mut self, frame: &Frame<'_>) -> Option<()> {
        let numbers = self.tables.by_number.get(&frame.bth.dest_qp)?;
        let index = numbers.iter().copied().find(|index| {
            let entry = &self.tables.queue_pairs[*index].entry;
            entry.state == 1
                && entry.transport == Transport::Rc as u8
                && entry.dest_ip == frame.ip.source
                && self.flow(*index as u32).vlan_id() == frame.vlan_id()
        })?;
        let (psn, now, len) = (frame.bth.psn, self.cycles, frame.payload.len() as u32);
        let mtu = self.flow(index as u32).mtu;
        let requester = &mut self.tables.queue_pairs[index].requester;
        let reaction = match frame.operation() {
            operation::ACKNOWLEDGE => {
                self.counters.add(&counter::ACKS, 1);
                requester.acknowledged(frame.aeth?.syndrome, psn, now, TEN_US)
            }
            operation::ATOMIC_ACKNOWLEDGE => requester.atomic_answered(psn, now),
            operation => {
                let last = matches!(
                    operation,
                    read_operation::RESPONSE_LAST | read_operation::RESPONSE_ONLY
                );
                requester.read_answered(psn, len, last, mtu, now)
            }
        };
        match (reaction, frame.original) {
            (Reaction::Data { request, .. }, Some(original)) => {
                self.fill(index, request, &original.to_le_bytes());
            }
            (Reaction::Data { request, .. }, None) => self.fill(index, request, frame.payload),
            _ => self.react(index, reaction),
        }
        self.acknowledged(index);
        Some(())
    }

    /// Writes an answer, or the next packet of it, to the regions of its request.
    fn fill(&mut self, index: usize, part: Part, bytes: &[u8]) {
        let Some(scatter) = self.fetching.get_mut(&part.request) else { return };
        if scatter.write(&self.host, bytes).is_err() {
            self.fail(part.request, Status::LocalProtectionError, part.destination);
            self.break_queue_pair(index, Status::WrFlushError);
        }
    }

    /// Carries out a requester's reaction.
    pub(super) fn react(&mut self, index: usize, reaction: Reaction<Part>) {
        if let Reaction::Failed(status) = reaction {
            self.acknowledged(index);
            self.break_queue_pair(index, status);
            return;
        }
        let requester = &self.tables.queue_pairs[index].requester;
        let resends = !requester.is_open() && requester.paused().is_none();
        if resends && !self.resending.contains(&index) {
            self.resending.push_back(index);
        }
        self.set_timer(index);
    }

    /// Notes requests that were acknowledged.
    fn acknowledged(&mut self, index: usize) {
        for part in self.tables.queue_pairs[index].requester.finished() {
            let queue = &mut self.tables.send_queues[part.request.queue as usize];
            if let Some(request) = queue.get(part.request.serial) {
                request.waiting -= 1;
            }
            self.fetching.remove(&part.request);
            self.completing.insert(part.request.queue);
        }
        self.set_timer(index);
    }

    /// Sends the next packet of a retransmission; returns the number of cycles that this takes.
    pub(super) fn resend(&mut self) -> Option<u64> {
        while let Some(index) = self.resending.pop_front() {
            let (now, flow) = (self.cycles, self.flow(index as u32));
            if !self.may_send(index) {
                continue;
            }
            let limited = self.is_limited(index);
            let Some((psn, sent)) = self.tables.queue_pairs[index].requester.resend(now) else {
                continue;
            };
            let frame = match &sent.what {
                What::Packet(frame) | What::Atomic(frame) => frame.clone(),
                What::Read { addr, rkey, len, answered } => {
                    let skipped = answered * flow.mtu;
                    let rest = Reth {
                        virtual_address: addr.wrapping_add(skipped.into()),
                        rkey: *rkey,
                        dma_length: len - skipped.min(*len),
                    };
                    answers::read_request(&flow, psn, &rest).into()
                }
            };
            let payload = match &sent.what {
                What::Packet(frame) if limited => {
                    Frame::parse(frame).map_or(0, |frame| frame.payload.len() as u32)
                }
                _ => 0,
            };
            self.pace(index, payload);
            self.set_timer(index);
            if !self.tables.queue_pairs[index].requester.is_open() {
                self.resending.push_back(index);
            }
            return Some(self.transmit(&frame));
        }
        None
    }

    /// Fails the oldest unacknowledged request of a queue pair with `status`, flushes the others,
    /// and puts the queue pair in the error state.
    pub(super) fn break_queue_pair(&mut self, index: usize, status: Status) {
        let parts = self.tables.queue_pairs[index].requester.abandon();
        for (i, part) in parts.into_iter().enumerate() {
            let status = if i == 0 { status } else { Status::WrFlushError };
            self.fail(part.request, status, part.destination);
        }
        self.set_error(index);
    }

    /// Drops what was sent on a queue pair that was reset: it will not be acknowledged.
    pub(super) fn flush_queue_pair(&mut self, parts: Vec<Part>) {
        for part in parts {
            self.fail(part.request, Status::WrFlushError, part.destination);
        }
    }
}
