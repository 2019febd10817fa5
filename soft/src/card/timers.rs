//! The card's time: it advances from one event to the next.

use drdma_abi::{
    completion::Status,
    receive::TIMEOUT_NS,
    register::{ACK_TIMEOUT, CONTROL},
};

use crate::card::state::{ENABLE, NS_PER_CYCLE, SoftCard};
use drdma_semantics::requester::Reaction;

/// Number of cycles in a unit of [`ACK_TIMEOUT`].
const TIMEOUT_UNIT: u64 = 1024;

impl SoftCard {
    /// Does everything that is due before the cycle `end`, or with `inclusive` also in that cycle.
    /// Afterwards the time is `end`.
    pub(crate) fn run_until(&mut self, end: u64, inclusive: bool) {
        while inclusive || self.cycles < end {
            self.take_frames();
            self.check_timers();
            self.work();
            self.complete();
            match self.next_event() {
                Some(next) if next < end || (inclusive && next == end) => {
                    self.cycles = self.cycles.max(next);
                }
                _ => break,
            }
        }
        self.cycles = self.cycles.max(end);
        if !inclusive {
            self.take_frames();
            self.check_timers();
            self.complete();
        }
    }

    /// Performs one step, unless a packet is being sent.
    fn work(&mut self) {
        if self.cycles < self.busy_until || self.registers.get(&CONTROL) & ENABLE == 0 {
            return;
        }
        match self.step() {
            Some(cycles) => self.busy_until = self.cycles + cycles,
            None => self.idle = true,
        }
    }

    /// Cycle of the next event if no register is written; the current one if there may be something
    /// to do.
    pub(crate) fn next_event(&self) -> Option<u64> {
        let enabled = self.registers.get(&CONTROL) & ENABLE != 0;
        let work = (enabled && !self.idle).then(|| self.busy_until.max(self.cycles));
        let arrival = self.network.next_arrival().map(|ns| ns.div_ceil(NS_PER_CYCLE));
        let timer = self.timers.first().map(|(cycle, _)| *cycle);
        let paced = self.paced.first().map(|(cycle, _)| *cycle);
        let next = [work, arrival, timer, paced].into_iter().flatten().min()?;
        Some(next.max(self.cycles))
    }

    /// Sets a queue pair's timer to the time that its requester waits for.
    pub(super) fn set_timer(&mut self, index: usize) {
        let queue_pair = &self.tables.queue_pairs[index];
        let requester = &queue_pair.requester;
        let waits = requester.waiting_since().and_then(|since| {
            let cycles = match queue_pair.attributes.timeout {
                0 => u64::from(self.registers.get(&ACK_TIMEOUT)) * TIMEOUT_UNIT,
                timeout => (TIMEOUT_NS / NS_PER_CYCLE) << timeout.min(31),
            };
            (cycles > 0).then(|| since + cycles)
        });
        let timer = requester.paused().or(waits);
        let queue_pair = &mut self.tables.queue_pairs[index];
        let before = std::mem::replace(&mut queue_pair.timer, timer);
        if before != timer {
            before.map(|at| self.timers.remove(&(at, index)));
            timer.map(|at| self.timers.insert((at, index)));
        }
    }

    /// Handles every timer that has expired.
    fn check_timers(&mut self) {
        self.end_pauses();
        while let Some((at, index)) = self.timers.first().copied()
            && at <= self.cycles
        {
            self.idle = false;
            self.timers.pop_first();
            let queue_pair = &mut self.tables.queue_pairs[index];
            queue_pair.timer = None;
            if queue_pair.requester.paused().is_some() {
                // The responder may be ready now.
                queue_pair.requester.go_on();
                self.resending.push_back(index);
            } else {
                let reaction = match queue_pair.attributes.timeout {
                    0 => Reaction::Failed(Status::RetryExceeded),
                    _ => queue_pair.requester.timed_out(),
                };
                self.react(index, reaction);
            }
            self.set_timer(index);
        }
    }
}
