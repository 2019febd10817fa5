//! The requester of an RC queue pair: packets that are not acknowledged, when they are sent again,
//! and when that ends (IBTA 1.4 section 9.7.5; docs/semantics.md, "Retransmission").
//!
//! It keeps packets as they were sent until they are acknowledged, so that nothing is gathered
//! twice: exactly the same packets are sent again. For a READ it keeps the request instead, and
//! asks for the part of the answer that is still missing.
//!
//! It has no clock: a card's timers depend on [`Requester::waiting_since`] and
//! [`Requester::paused`].

use std::collections::VecDeque;

use bytes::Bytes;
use drdma_abi::{
    completion::Status,
    receive::{RNR_FOR_EVER, RNR_TIMERS},
    roce::syndrome,
};

use crate::packets::{MASK_24, psn_add, psn_distance};

/// Limits of retransmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Number of retransmissions after a timeout or a NAK without progress, 0 to 7.
    pub retry_cnt: u8,
    /// Number of retransmissions after an RNR NAK, 0 to 7; 7: no limit.
    pub rnr_retry: u8,
}

impl Policy {
    /// True if anything is ever sent again.
    pub fn retries(&self) -> bool {
        self.retry_cnt > 0 || self.rnr_retry > 0
    }
}

/// Packets that are sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A packet of a SEND or a WRITE: its frame, empty if it is not sent again. Frames may share
    /// their memory with others.
    Packet(Bytes),
    /// A READ request.
    Read {
        /// Remote address of the first byte.
        addr: u64,
        /// Remote key.
        rkey: u32,
        /// Length in bytes.
        len: u32,
        /// Number of packets of the answer that have arrived.
        answered: u32,
    },
    /// An atomic request: its frame.
    Atomic(Bytes),
}

/// A packet or request that was sent and is not acknowledged. `R` names the work request that it
/// belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent<R> {
    /// The work request.
    pub request: R,
    /// First sequence number.
    pub psn: u32,
    /// Number of sequence numbers: for a READ, those of its answer.
    pub packets: u32,
    /// This is the last packet of the work request.
    pub last: bool,
    /// The packet asks for an acknowledgement.
    pub asks: bool,
    /// The packet or request itself.
    pub what: What,
}

impl<R> Sent<R> {
    /// The sequence number behind the last one.
    fn end(&self) -> u32 {
        psn_add(self.psn, self.packets)
    }

    /// The first sequence number without an answer.
    fn next(&self) -> u32 {
        match self.what {
            What::Read { answered, .. } => psn_add(self.psn, answered),
            _ => self.psn,
        }
    }

    /// True if only its own answer acknowledges it: a READ or an atomic.
    fn is_answered(&self) -> bool {
        !matches!(self.what, What::Packet(_))
    }
}

/// Consequence of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction<R> {
    /// The answer was taken; [`Requester::finished`] reports requests that it has finished.
    Taken,
    /// The answer is to nothing that waits for one.
    Ignored,
    /// The payload of the answer belongs to that request, `offset` bytes behind the first.
    Data {
        /// The work request.
        request: R,
        /// Offset in bytes in the whole answer.
        offset: u64,
    },
    /// The queue pair fails: the oldest request with this status, the others are flushed.
    Failed(Status),
}

/// The packets of an RC queue pair that are not acknowledged.
#[derive(Clone, Debug)]
pub struct Requester<R> {
    policy: Policy,
    next_psn: u32,
    window: VecDeque<Sent<R>>,
    /// Number of READs and atomics in `sent`.
    answers: usize,
    /// Next sequence number to be sent again.
    resend: Option<u32>,
    /// Nothing was acknowledged since packets were sent again.
    retrying: bool,
    retries: u8,
    rnr_retries: u8,
    /// Sequence number of the last packet that asked for an answer.
    asked_psn: u32,
    waiting_since: Option<u64>,
    paused: Option<u64>,
    finished: Vec<R>,
}

impl<R> Default for Requester<R> {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            next_psn: 0,
            window: VecDeque::new(),
            answers: 0,
            resend: None,
            retrying: false,
            retries: 0,
            rnr_retries: 0,
            asked_psn: 0,
            waiting_since: None,
            paused: None,
            finished: Vec::new(),
        }
    }
}

impl<R: Copy + PartialEq> Requester<R> {
    /// A requester whose first packet has sequence number `psn`.
    pub fn new(psn: u32) -> Self {
        Self { next_psn: psn & MASK_24, ..Self::default() }
    }

    /// Sets the limits of retransmission from now on.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
        self.reload();
    }

    /// Limits of retransmission.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Skips the sequence numbers of packets that are never acknowledged: those of other transports
    /// than RC.
    pub fn skip(&mut self, packets: u32) {
        self.next_psn = psn_add(self.next_psn, packets);
    }

    /// Sequence number of the next new packet.
    pub fn next_psn(&self) -> u32 {
        self.next_psn
    }

    /// Oldest sequence number without an answer.
    pub fn oldest_psn(&self) -> u32 {
        self.window.front().map_or(self.next_psn, Sent::next)
    }

    /// Number of sequence numbers that were used and are not acknowledged.
    pub fn in_flight(&self) -> u32 {
        psn_distance(self.next_psn, self.oldest_psn()).unsigned_abs()
    }

    /// Number of READs and atomics without an answer.
    pub fn unanswered(&self) -> usize {
        self.answers
    }

    /// True if new packets may be sent: none must be sent again first.
    pub fn is_open(&self) -> bool {
        self.resend.is_none()
    }

    /// Time since which an answer is awaited, in the caller's time.
    pub fn waiting_since(&self) -> Option<u64> {
        self.waiting_since
    }

    /// Time until which nothing is sent, because the responder was not ready.
    pub fn paused(&self) -> Option<u64> {
        self.paused
    }

    /// Ends the pause.
    pub fn go_on(&mut self) {
        self.paused = None;
    }

    /// Returns the requests that became fully acknowledged since the last call, in order.
    pub fn finished(&mut self) -> Vec<R> {
        std::mem::take(&mut self.finished)
    }

    /// Gives up: returns every request with something unacknowledged, in order.
    pub fn abandon(&mut self) -> Vec<R> {
        let mut requests: Vec<R> = self.window.drain(..).map(|sent| sent.request).collect();
        requests.dedup();
        let (policy, next_psn) = (self.policy, self.next_psn);
        *self = Self { policy, next_psn, ..Self::default() };
        self.reload();
        requests
    }

    /// Notes that a new packet was sent at `now`.
    pub fn sent(&mut self, sent: Sent<R>, now: u64) {
        debug_assert_eq!(sent.psn, self.next_psn);
        self.next_psn = sent.end();
        self.asks(&sent, now);
        self.answers += usize::from(sent.is_answered());
        self.window.push_back(sent);
    }

    fn asks(&mut self, sent: &Sent<R>, now: u64) {
        if sent.asks {
            self.asked_psn = psn_add(sent.end(), MASK_24);
            self.waiting_since.get_or_insert(now);
        }
    }

    /// Returns the next packet to be sent again at `now`, and its sequence number: the caller sends
    /// it. `None` if there is none, or it must wait.
    pub fn resend(&mut self, now: u64) -> Option<(u32, &Sent<R>)> {
        let psn = self.resend?;
        if self.paused.is_some_and(|until| now < until) {
            return None;
        }
        self.paused = None;
        let index = self.find(psn)?;
        let sent = self.window[index].clone();
        self.asks(&sent, now);
        self.resend = (index + 1 < self.window.len()).then(|| sent.end());
        Some((psn, &self.window[index]))
    }

    /// Index of the packet that has that sequence number.
    fn find(&self, psn: u32) -> Option<usize> {
        let index = self.window.partition_point(|sent| psn_distance(psn, sent.end()) >= 0);
        (psn_distance(psn, self.window.get(index)?.psn) >= 0).then_some(index)
    }

    /// True if a packet of that number was sent, and is not acknowledged.
    fn is_awaited(&self, psn: u32) -> bool {
        let ahead = psn_distance(psn, self.oldest_psn());
        !self.window.is_empty() && ahead >= 0 && ahead.unsigned_abs() < self.in_flight()
    }

    fn reload(&mut self) {
        self.retries = self.policy.retry_cnt;
        self.rnr_retries = self.policy.rnr_retry;
    }

    /// Notes progress: the timer starts anew if another answer is awaited.
    fn progress(&mut self, now: u64) {
        self.reload();
        self.retrying = false;
        let oldest = self.oldest_psn();
        if self.resend.is_some_and(|psn| psn_distance(psn, oldest) < 0) {
            self.resend = (!self.window.is_empty()).then_some(oldest);
        }
        let still_asked = !self.window.is_empty() && psn_distance(self.asked_psn, oldest) >= 0;
        self.waiting_since = self.waiting_since.and(still_asked.then_some(now));
        if self.window.is_empty() {
            self.paused = None;
        }
    }

    fn pop(&mut self) {
        if let Some(sent) = self.window.pop_front() {
            self.answers -= usize::from(sent.is_answered());
            if sent.last {
                self.finished.push(sent.request);
            }
        }
    }

    /// Acknowledges all packets before `end`. True if a READ or an atomic among them lacks its
    /// answer: packets behind it stay.
    fn cover(&mut self, end: u32, now: u64) -> bool {
        let mut progress = false;
        while let Some(front) = self.window.front()
            && !front.is_answered()
            && psn_distance(end, front.end()) >= 0
        {
            self.pop();
            progress = true;
        }
        if progress {
            self.progress(now);
        }
        self.window.front().is_some_and(|front| psn_distance(end, front.psn) > 0)
    }

    /// Starts sending again from the oldest packet without an answer.
    fn retry(&mut self) -> Reaction<R> {
        if self.retries == 0 {
            return Reaction::Failed(Status::RetryExceeded);
        }
        self.retries -= 1;
        self.go_back();
        Reaction::Taken
    }

    fn go_back(&mut self) {
        self.retrying = true;
        self.waiting_since = None;
        self.resend = (!self.window.is_empty()).then(|| self.oldest_psn());
    }

    /// Sends packets again because of a NAK, explicit or implied.
    fn asked_again(&mut self) -> Reaction<R> {
        // Only one retry is in progress at a time: this NAK was sent before the packets of that one
        // arrived.
        if self.retrying || self.paused.is_some() {
            return Reaction::Ignored;
        }
        self.retry()
    }

    /// Handles a timeout: no answer came in time.
    pub fn timed_out(&mut self) -> Reaction<R> {
        if self.window.is_empty() {
            return Reaction::Ignored;
        }
        self.retry()
    }

    /// Handles an acknowledgement, positive or negative, of packet `psn` at `now`, in the caller's
    /// time, of which `ten_us` are 10 us.
    pub fn acknowledged(&mut self, syndrome: u8, psn: u32, now: u64, ten_us: u64) -> Reaction<R> {
        if !self.is_awaited(psn) {
            return Reaction::Ignored;
        }
        match syndrome & syndrome::KIND_MASK {
            syndrome::ACK => match self.cover(psn_add(psn, 1), now) {
                true => self.asked_again(),
                false => Reaction::Taken,
            },
            syndrome::RNR_NAK => {
                if self.cover(psn, now) {
                    return self.asked_again();
                }
                if self.paused.is_some() {
                    return Reaction::Ignored;
                }
                if self.rnr_retries == 0 {
                    return Reaction::Failed(Status::RnrRetryExceeded);
                }
                if self.rnr_retries != RNR_FOR_EVER {
                    self.rnr_retries -= 1;
                }
                self.go_back();
                let timer = RNR_TIMERS[usize::from(syndrome & 0x1f)];
                self.paused = Some(now + u64::from(timer) * ten_us);
                Reaction::Taken
            }
            _ => {
                let status = match syndrome {
                    syndrome::NAK_PSN => None,
                    syndrome::NAK_INVALID_REQUEST => Some(Status::RemoteInvalidRequestError),
                    syndrome::NAK_REMOTE_ACCESS => Some(Status::RemoteAccessError),
                    syndrome::NAK_REMOTE_OPERATION => Some(Status::RemoteOperationError),
                    // Reserved codes are ignored (IBTA 1.4 table 46).
                    _ => return Reaction::Ignored,
                };
                self.cover(psn, now);
                status.map_or_else(|| self.asked_again(), Reaction::Failed)
            }
        }
    }

    /// Handles a packet of a READ's answer, with `len` bytes; `last` if it is the answer's last.
    pub fn read_answered(
        &mut self,
        psn: u32,
        len: u32,
        last: bool,
        mtu: u32,
        now: u64,
    ) -> Reaction<R> {
        let first = |sent: &Sent<R>| matches!(sent.what, What::Read { .. }).then_some(sent.psn);
        let (true, Some(start)) =
            (self.is_awaited(psn), self.find(psn).and_then(|index| first(&self.window[index])))
        else {
            return Reaction::Ignored;
        };
        if self.cover(start, now) {
            return self.asked_again();
        }
        let Some(sent) = self.window.front_mut() else { return Reaction::Ignored };
        let (request, packets) = (sent.request, sent.packets);
        let What::Read { len: all, answered, .. } = &mut sent.what else {
            return Reaction::Ignored;
        };
        let index = psn_distance(psn, start).unsigned_abs();
        if index > *answered {
            return self.asked_again();
        }
        let offset = u64::from(index) * u64::from(mtu);
        let expected = (u64::from(*all) - offset).min(mtu.into());
        if last != (index + 1 == packets) || u64::from(len) != expected {
            return Reaction::Failed(Status::BadResponse);
        }
        *answered += 1;
        if *answered == packets {
            self.pop();
        }
        self.progress(now);
        Reaction::Data { request, offset }
    }

    /// Handles the answer to an atomic.
    pub fn atomic_answered(&mut self, psn: u32, now: u64) -> Reaction<R> {
        let atomic = |sent: &Sent<R>| matches!(sent.what, What::Atomic(_));
        let known = self.find(psn).is_some_and(|index| atomic(&self.window[index]));
        if !known || !self.is_awaited(psn) {
            return Reaction::Ignored;
        }
        if self.cover(psn, now) {
            return self.asked_again();
        }
        let Some(sent) = self.window.front() else { return Reaction::Ignored };
        let request = sent.request;
        self.pop();
        self.progress(now);
        Reaction::Data { request, offset: 0 }
    }
}

#[cfg(test)]
#[path = "tests/requester.rs"]
mod tests;
