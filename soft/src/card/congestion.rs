//! Congestion control: packets that met congestion are answered with CNPs, and CNPs limit the
//! sending rate of RC queue pairs.

use drdma_abi::{
    register::counter,
    roce::{Transport, ecn},
};
use drdma_semantics::{
    answers,
    congestion::{Limiter, Settings},
    frame::Frame,
    responder,
};

use crate::card::state::SoftCard;

impl SoftCard {
    fn congestion(&self) -> Settings {
        Settings::new(|register| self.registers.get(register))
    }

    /// Index of the connected queue pair whose peer is a frame's sender.
    fn connected(&self, frame: &Frame<'_>) -> Option<usize> {
        let numbers = self.tables.by_number.get(&frame.bth.dest_qp)?;
        numbers.iter().copied().find(|index| {
            let flow = self.flow(*index as u32);
            let transport = frame.transport().is_none_or(|transport| transport == flow.transport);
            transport && flow.transport != Transport::Ud && responder::is_from_peer(frame, &flow)
        })
    }

    /// Queues a CNP for a packet that met congestion.
    pub(super) fn notify(&mut self, frame: &Frame<'_>) {
        if !frame.is_marked() {
            return;
        }
        let Some(index) = self.connected(frame) else { return };
        let (now, settings) = (self.cycles, self.congestion());
        if self.tables.queue_pairs[index].notifier.marked(now, &settings) {
            self.notices.push_back(index);
        }
    }

    /// Sends the next CNP; returns the number of cycles that this takes.
    pub(super) fn send_notice(&mut self) -> Option<u64> {
        let index = self.notices.pop_front()?;
        self.counters.add(&counter::CNPS_SENT, 1);
        Some(self.transmit(&answers::notification(&self.flow(index as u32))))
    }

    /// Takes a CNP; `None` if it is for no queue pair.
    pub(super) fn take_notification(&mut self, frame: &Frame<'_>) -> Option<()> {
        let index = self.connected(frame)?;
        self.counters.add(&counter::CNPS_RECEIVED, 1);
        let (now, settings) = (self.cycles, self.congestion());
        let queue_pair = &mut self.tables.queue_pairs[index];
        let reacts = ecn::allows_mark(queue_pair.entry.tos) && queue_pair.sends_reliably();
        if !reacts {
            return Some(());
        }
        match &mut queue_pair.limiter {
            Some(limiter) if !limiter.is_over() => {
                limiter.advance(now, &settings);
                limiter.notified(now, &settings);
            }
            none => *none = Some(Limiter::new(now, &settings)),
        }
        Some(())
    }

    /// True if a queue pair's rate is limited.
    pub(super) fn is_limited(&self, index: usize) -> bool {
        self.tables.queue_pairs[index].limiter.is_some()
    }

    /// True if a queue pair may send a packet now. If not, it is tried again when it may.
    pub(super) fn may_send(&mut self, index: usize) -> bool {
        if !self.is_limited(index) {
            return true;
        }
        let (now, settings) = (self.cycles, self.congestion());
        let queue_pair = &mut self.tables.queue_pairs[index];
        let Some(limiter) = &mut queue_pair.limiter else { return true };
        limiter.advance(now, &settings);
        let ready = limiter.ready_at();
        if ready <= now {
            return true;
        }
        self.paced.insert((ready, index));
        false
    }

    /// Notes that a queue pair sends a packet with `payload` bytes of payload.
    pub(super) fn pace(&mut self, index: usize, payload: u32) {
        if !self.is_limited(index) {
            return;
        }
        let (now, settings) = (self.cycles, self.congestion());
        let limiter = &mut self.tables.queue_pairs[index].limiter;
        if let Some(limited) = limiter {
            limited.sent(payload, now, &settings);
            if limited.is_over() {
                *limiter = None;
            }
        }
    }

    /// Resumes queue pairs that may send again.
    pub(super) fn end_pauses(&mut self) {
        while let Some((at, index)) = self.paced.first().copied()
            && at <= self.cycles
        {
            self.paced.pop_first();
            self.idle = false;
            let resends = !self.tables.queue_pairs[index].requester.is_open();
            if resends && !self.resending.contains(&index) {
                self.resending.push_back(index);
            }
        }
    }
}
