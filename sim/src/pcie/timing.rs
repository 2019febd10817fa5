//! The time at which the data of a read come back.
//!
//! A read waits for a tag and for room among the bytes in flight. It comes back after a fixed round
//! trip, but reads of one cache line are served one after another, and completions share the link.
//! With the parameters of [`Config::default`] this reproduces what D-RDMA (section 5.3 to 5.5)
//! measured: 137 Mb/s for sequential reads of 1 B (190 Mb/s from the cache), 98 Gb/s for 256 B
//! ([`super::sweep`] tests it).

use std::collections::{HashMap, HashSet};

use super::Config;

/// Bytes of a cache line.
const LINE: u64 = 64;
/// Time between two reads of one line that comes from memory.
const MEMORY_LINE_PS: u64 = 114_000;
/// Time between two reads of one line that is in the last-level cache.
const CACHED_LINE_PS: u64 = 66_000;
/// After this time without a read, a line's burst is over.
const FORGET_PS: u64 = 5_000_000;
/// Lines that the cache holds: 16 MiB.
const CACHE_LINES: usize = 1 << 18;

/// The read side of the link and the memory behind it.
#[derive(Clone, Debug)]
pub struct Link {
    tags: usize,
    bytes: usize,
    latency_ps: u64,
    in_flight: usize,
    bytes_in_flight: usize,
    /// Lines in use: the time at which each can be read again, and the time that a read of it takes.
    lines: HashMap<u64, (u64, u64)>,
    cached: HashSet<u64>,
    link_free: u64,
    /// Time of a byte of completion data.
    byte_ps: f64,
}

impl Link {
    /// An idle link.
    pub fn new(config: &Config) -> Self {
        Self {
            tags: config.tags,
            bytes: config.bytes_in_flight,
            latency_ps: config.latency_ns * 1_000,
            in_flight: 0,
            bytes_in_flight: 0,
            lines: HashMap::new(),
            cached: HashSet::new(),
            link_free: 0,
            byte_ps: 8_000.0 / config.link_gbps,
        }
    }

    /// True if a read of `len` bytes can be sent now.
    pub fn can_issue(&self, len: usize) -> bool {
        self.in_flight < self.tags
            && (self.bytes_in_flight + len <= self.bytes || self.in_flight == 0)
    }

    /// Sends a read, and returns the time at which its last byte is back.
    pub fn issue(&mut self, now: u64, addr: u64, len: usize) -> u64 {
        self.in_flight += 1;
        self.bytes_in_flight += len;
        let mut start = now;
        let lines = addr / LINE..=(addr + len.max(1) as u64 - 1) / LINE;
        for line in lines.clone() {
            start = start.max(self.lines.get(&line).map_or(0, |(free, _)| *free));
        }
        for line in lines {
            // The first read of a burst determines whether a line comes from memory or the cache.
            let known = self.lines.get(&line).filter(|(free, _)| *free + FORGET_PS > now);
            let service = match known {
                Some((_, service)) => *service,
                None if self.cached.contains(&line) => CACHED_LINE_PS,
                None => MEMORY_LINE_PS,
            };
            self.lines.insert(line, (start + service, service));
            self.cached.insert(line);
        }
        if self.cached.len() > CACHE_LINES {
            self.cached.clear();
        }
        if self.lines.len() > 4096 {
            self.lines.retain(|_, (free, _)| *free + FORGET_PS > now);
        }
        let transfer = (len as f64 * self.byte_ps) as u64;
        let arrival = (start + self.latency_ps).max(self.link_free);
        self.link_free = arrival + transfer;
        self.link_free
    }

    /// The share of the limit in force, tags or bytes, that is in flight.
    pub fn share(&self) -> f64 {
        let tags = self.in_flight as f64 / self.tags as f64;
        tags.max(self.bytes_in_flight as f64 / self.bytes as f64).min(1.0)
    }

    /// Records that a read of `len` bytes is complete.
    pub fn complete(&mut self, len: usize) {
        self.in_flight -= 1;
        self.bytes_in_flight -= len;
    }
}
