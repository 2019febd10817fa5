//! Reads of one size, as fast as the host serves them: what D-RDMA measured in sections 5.3 to 5.5.
//!
//! Descriptors wait at all times, so that the link always has as many requests as its tags and bytes
//! in flight allow. They take the way of the card's reads ([`super::engine`]): descriptors are taken at its
//! pace, cut by it, served by the same link and memory, and their data move to the card's RAM at its rate.

use std::collections::{HashMap, VecDeque};

use drdma_verilated::testbench::Random;

use super::{
    Config, PS_PER_CYCLE,
    port::{Descriptor, SEGMENT},
    reads::{DESCRIPTOR_CYCLES, QUEUE, Reads},
};

/// Reads, each a stride behind the one before, around an area of host memory again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Bytes of a read, at least 1.
    pub size: usize,
    /// Bytes from the start of a read to the start of the next.
    pub stride: u64,
    /// Bytes of the area.
    pub area: u64,
    /// Number of reads that are made. The first half is not measured.
    pub reads: usize,
}

/// Throughput and latency of the second half of the reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Gb/s of the bytes that were read.
    pub gbps: f64,
    /// Mean time from a read's first request on the link to its last byte in the card's RAM, in
    /// nanoseconds.
    pub latency_ns: f64,
}

/// A read that is under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Cycle in which its first request was sent.
    since: u64,
    /// Number of bytes that are not in the RAM yet.
    left: usize,
}

/// Measures reads through a host of that configuration. Stalls are left out.
///
/// # Panics
/// A size of 0, or fewer than two reads.
pub fn measure(config: &Config, pattern: &Pattern) -> Measured {
    let Pattern { size, stride, area, reads: count } = *pattern;
    assert!(size > 0 && count > 1, "{count} reads of {size} B measure nothing");
    let mut random = Random::new(config.seed);
    let mut reads = Reads::new(config);
    let mut waiting: VecDeque<Descriptor> = VecDeque::new();
    let mut cutting: Option<(u64, Descriptor)> = None;
    let mut open: HashMap<u64, Open> = HashMap::new();
    let mut landing = None;
    let (mut posted, mut over, mut latency) = (0, 0, 0);
    let (mut cycle, mut half) = (0_u64, 0);
    while over < count {
        if cycle.is_multiple_of(DESCRIPTOR_CYCLES) && waiting.len() < QUEUE {
            let addr = posted * stride % area;
            waiting.push_back(Descriptor { addr, ram_sel: 0, ram_addr: 0, len: size, tag: posted });
            posted += 1;
        }
        if cutting.is_none() {
            cutting = waiting.pop_front().map(|descriptor| (descriptor.tag, descriptor));
        }
        let now = cycle * PS_PER_CYCLE;
        if let Some((id, rest)) = &mut cutting
            && reads.send(now, 0, *id, rest, &mut random)
        {
            open.entry(*id).or_insert(Open { since: cycle, left: size });
            cutting = cutting.filter(|(_, rest)| rest.len > 0);
        }
        // A request's data enter the RAM at a segment's width a cycle.
        landing = landing.or_else(|| reads.back(now).map(|request| (request, request.len)));
        if let Some((request, left)) = landing {
            let rest = left.saturating_sub(SEGMENT);
            landing = (rest > 0).then_some((request, rest));
            let read = open.get_mut(&request.descriptor).expect("an open read");
            read.left -= left - rest;
            if read.left == 0 {
                over += 1;
                if over > count / 2 {
                    latency += cycle + 1 - read.since;
                } else if over == count / 2 {
                    half = cycle;
                }
                open.remove(&request.descriptor);
            }
        }
        cycle += 1;
    }
    let measured = (count - count / 2) as f64;
    let ns = |cycles: u64| (cycles * PS_PER_CYCLE) as f64 / 1_000.0;
    Measured {
        gbps: measured * size as f64 * 8.0 / ns(cycle - 1 - half),
        latency_ns: ns(latency) / measured,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: u64 = 1 << 30;
    const CACHED: u64 = 16 << 10;

    fn run(size: usize, stride: u64, area: u64) -> Measured {
        // The cache's area is read once before it is measured.
        let reads = if area == CACHED { 2 * CACHED as usize } else { 8_192 };
        measure(&Config::default(), &Pattern { size, stride, area, reads })
    }

    fn within(value: f64, expected: f64, share: f64) {
        assert!((value / expected - 1.0).abs() < share, "{value}, expected {expected}");
    }

    #[test]
    fn reads_are_as_fast_as_the_paper_measured() {
        within(run(1, 1, MEMORY).gbps, 0.137, 0.15);
        within(run(256, 256, MEMORY).gbps, 98.0, 0.15);
        within(run(1, 1, CACHED).gbps, 0.190, 0.15);
    }

    #[test]
    fn reads_of_different_lines_do_not_wait_for_each_other() {
        let apart = run(4, 64, MEMORY).gbps;
        assert!(apart > 3.0 * run(4, 4, MEMORY).gbps / 4.0);
        within(apart / 4.0, run(64, 64, MEMORY).gbps / 64.0, 0.05);
    }

    #[test]
    fn caching_changes_aligned_reads_by_less_than_a_twentieth() {
        for size in [1_u64, 16, 64, 256] {
            let stride = size.next_multiple_of(64);
            let aligned = |area| run(size as usize, stride, area).gbps;
            within(aligned(CACHED), aligned(MEMORY), 0.05);
        }
    }

    #[test]
    fn latency_is_flat_from_a_cache_line_on_and_high_below_16_bytes() {
        let latency = |size, stride| run(size, stride, MEMORY).latency_ns;
        let line = latency(1, 64);
        for (size, stride) in [(1, 128), (1, 4096), (16, 64), (64, 64), (128, 4096)] {
            within(latency(size, stride), line, 0.05);
        }
        assert!(latency(1, 1) > 2.0 * line && latency(8, 8) > 1.2 * line);
    }

    /// Little's law: rate times latency is the number of bytes in flight.
    #[test]
    fn all_tags_are_busy_at_all_times() {
        for (size, stride) in [(1, 1), (1, 64), (16, 16), (256, 256)] {
            let Measured { gbps, latency_ns } = run(size, stride, MEMORY);
            within(gbps * latency_ns / 8.0 / size as f64, 64.0, 0.05);
        }
    }
}
