//! What comes back: acknowledgements, and their absence.

use drdma_abi::{
    completion::Status,
    register::{ACK_TIMEOUT, counter},
    roce::{Transport, operation, syndrome},
};

use crate::card::state::{NS_PER_CYCLE, SoftCard};
use drdma_semantics::{
    frame::Frame,
    packets::{psn_add, psn_distance},
};

/// Cycles in a unit of [`ACK_TIMEOUT`].
const TIMEOUT_UNIT: u64 = 1024;

impl SoftCard {
    /// Takes every frame that has arrived.
    pub(super) fn take_frames(&mut self) {
        while let Some(bytes) = self.network.receive(self.cycles * NS_PER_CYCLE) {
            match Frame::parse(&bytes) {
                Ok(frame) => {
                    if self.take_response(&frame).is_none() {
                        self.counters.add(&counter::RECEIVE_DROPPED, 1);
                    }
                }
                Err(error) if error.is_other_protocol() => {}
                Err(_) => self.counters.add(&counter::RECEIVE_DROPPED, 1),
            }
        }
    }

    /// Takes a response to an RC queue pair; `None` if it is none, or of nobody.
    fn take_response(&mut self, frame: &Frame<'_>) -> Option<()> {
        let aeth = frame.aeth?;
        if frame.operation() != operation::ACKNOWLEDGE {
            return None;
        }
        let index = self.tables.queue_pairs[..self.tables.known_queue_pairs].iter().position(
            |queue_pair| {
                queue_pair.entry.state == 1
                    && queue_pair.entry.transport == Transport::Rc as u8
                    && queue_pair.entry.qpn == frame.bth.dest_qp
                    && queue_pair.entry.dest_ip == frame.ip.source
            },
        )?;
        self.counters.add(&counter::ACKS, 1);
        let queue_pair = &self.tables.queue_pairs[index];
        let psn = frame.bth.psn;
        let ahead = psn_distance(psn, queue_pair.oldest_psn);
        let sent = queue_pair.packets_in_flight();
        if queue_pair.unacknowledged.is_empty() || ahead < 0 || ahead.unsigned_abs() >= sent {
            // Of packets acknowledged before, or never sent.
            return Some(());
        }
        match aeth.syndrome & syndrome::KIND_MASK {
            syndrome::ACK => self.acknowledge(index, psn_add(psn, 1)),
            syndrome::RNR_NAK => self.refused(index, psn, Status::RnrRetryExceeded),
            _ => {
                let status = match aeth.syndrome {
                    syndrome::NAK_PSN => Status::RetryExceeded,
                    syndrome::NAK_INVALID_REQUEST => Status::RemoteInvalidRequestError,
                    syndrome::NAK_REMOTE_ACCESS => Status::RemoteAccessError,
                    syndrome::NAK_REMOTE_OPERATION => Status::RemoteOperationError,
                    // Reserved codes mean nothing (IBTA 1.4 table 46).
                    _ => return Some(()),
                };
                self.refused(index, psn, status);
            }
        }
        Some(())
    }

    /// Everything before `psn` was received.
    fn acknowledge(&mut self, index: usize, psn: u32) {
        let now = self.cycles;
        let queue_pair = &mut self.tables.queue_pairs[index];
        queue_pair.oldest_psn = psn;
        let still_asked = psn_distance(queue_pair.asked_psn, psn) >= 0;
        queue_pair.waiting_since = queue_pair.waiting_since.and(still_asked.then_some(now));
        while let Some(entry) = queue_pair
            .unacknowledged
            .pop_front_if(|entry| entry.closed && psn_distance(psn, entry.end_psn) >= 0)
        {
            let queue = &mut self.tables.send_queues[entry.request.queue as usize];
            if let Some(request) = queue.get(entry.request.serial) {
                request.waiting -= 1;
            }
        }
    }

    /// The responder refused packet `psn`: those before it were received, and the oldest request
    /// that is not acknowledged fails.
    fn refused(&mut self, index: usize, psn: u32, status: Status) {
        self.acknowledge(index, psn);
        self.break_queue_pair(index, status);
    }

    /// The oldest unacknowledged request of a queue pair fails with `status`, the others are
    /// flushed, and the queue pair goes to the error state.
    fn break_queue_pair(&mut self, index: usize, status: Status) {
        let queue_pair = &mut self.tables.queue_pairs[index];
        queue_pair.error = true;
        queue_pair.waiting_since = None;
        let entries = std::mem::take(&mut queue_pair.unacknowledged);
        for (i, entry) in entries.into_iter().enumerate() {
            let status = if i == 0 { status } else { Status::WrFlushError };
            self.fail(entry.request, status, entry.destination);
        }
    }

    /// The queue pair was reset: nothing that was sent on it will be acknowledged.
    pub(super) fn flush_queue_pair(
        &mut self,
        entries: impl IntoIterator<Item = crate::card::tables::Unacknowledged>,
    ) {
        for entry in entries {
            self.fail(entry.request, Status::WrFlushError, entry.destination);
        }
    }

    /// Fails the oldest request of every queue pair that awaits an acknowledgement for too long.
    pub(super) fn check_timeouts(&mut self) {
        let timeout = u64::from(self.registers.get(&ACK_TIMEOUT)) * TIMEOUT_UNIT;
        if timeout == 0 {
            return;
        }
        for index in 0..self.tables.known_queue_pairs {
            let since = self.tables.queue_pairs[index].waiting_since;
            if since.is_some_and(|since| self.cycles.saturating_sub(since) >= timeout) {
                self.break_queue_pair(index, Status::RetryExceeded);
            }
        }
    }
}
