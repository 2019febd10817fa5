//! An output of the switch: a queue in front of a link.

use std::collections::VecDeque;

use crate::{NetworkConfig, PortCounters, Time, ecn};

/// A queue that a link empties in order. The time at which each frame will have left is computed
/// when the frame arrives, so that no later event is needed.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Time at which each frame's last bit leaves, and the frame's length in bytes.
    waiting: VecDeque<(Time, u64)>,
    /// Number of bytes of these frames.
    bytes: u64,
    /// Time from which the link is free.
    free: Time,
}

impl Output {
    /// Takes a frame at `now`, which never goes back, and returns the time at which it is at the
    /// other end of the link; `None` if there is no room for it.
    pub fn take(
        &mut self,
        config: &NetworkConfig,
        now: Time,
        frame: &mut [u8],
        counters: &mut PortCounters,
    ) -> Option<Time> {
        while let Some((_, bytes)) = self.waiting.pop_front_if(|(left, _)| *left <= now) {
            self.bytes -= bytes;
        }
        let len = frame.len() as u64;
        if self.bytes + len > config.queue {
            counters.dropped += 1;
            return None;
        }
        if config.ecn > 0 && self.bytes > config.ecn && ecn::mark(frame) {
            counters.marked += 1;
        }
        self.free = self.free.max(now) + config.duration(frame.len());
        self.waiting.push_back((self.free, len));
        self.bytes += len;
        counters.longest_queue = counters.longest_queue.max(self.bytes);
        counters.frames += 1;
        counters.bytes += len;
        Some(self.free + config.delay)
    }
}
