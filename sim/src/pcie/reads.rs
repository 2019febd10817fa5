//! Reads in flight: cut into requests, sent when the link takes them, back out of order.

use std::{cmp::Reverse, collections::BinaryHeap};

use drdma_verilated::testbench::Random;

use super::{Config, port::Descriptor, timing::Link};

/// Bytes that no request crosses.
pub(super) const PAGE: u64 = 4096;
/// Descriptors that may wait on each port.
pub(super) const QUEUE: usize = 16;
/// Cycles between two descriptors of a port.
pub(super) const DESCRIPTOR_CYCLES: u64 = 2;
/// Random time by which reads come back out of order, in picoseconds.
const JITTER_PS: u64 = 40_000;

/// A part of a read descriptor, in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    done_at: u64,
    id: u64,
    /// Port of the descriptor.
    pub port: usize,
    /// Number of the descriptor.
    pub descriptor: u64,
    /// Host address.
    pub addr: u64,
    /// Address in the card's RAM.
    pub ram_addr: u64,
    /// Number of bytes.
    pub len: usize,
}

/// Requests that are in flight.
#[derive(Clone, Debug)]
pub struct Reads {
    longest: usize,
    link: Link,
    in_flight: BinaryHeap<Reverse<Request>>,
    next_id: u64,
    round_trips_ps: u64,
}

impl Reads {
    /// Makes an empty set of requests.
    pub fn new(config: &Config) -> Self {
        Self {
            longest: config.max_read_request,
            link: Link::new(config),
            in_flight: BinaryHeap::new(),
            next_id: 0,
            round_trips_ps: 0,
        }
    }

    /// Sends the first request of a read, which `rest` then lacks; false if there is no tag for it, or
    /// no room among the bytes in flight. `now` is in picoseconds.
    pub fn send(
        &mut self,
        now: u64,
        port: usize,
        descriptor: u64,
        rest: &mut Descriptor,
        random: &mut Random,
    ) -> bool {
        let page = (PAGE - rest.addr % PAGE) as usize;
        let len = rest.len.min(self.longest).min(page);
        if !self.link.can_issue(len) {
            return false;
        }
        let done_at = self.link.issue(now, rest.addr, len) + random.below(JITTER_PS);
        self.round_trips_ps += done_at - now;
        self.in_flight.push(Reverse(Request {
            done_at,
            id: self.next_id,
            port,
            descriptor,
            addr: rest.addr,
            ram_addr: rest.ram_addr,
            len,
        }));
        self.next_id += 1;
        rest.addr = rest.addr.wrapping_add(len as u64);
        rest.ram_addr += len as u64;
        rest.len -= len;
        true
    }

    /// Takes a request whose data are back; its tag is free again.
    pub fn back(&mut self, now: u64) -> Option<Request> {
        self.in_flight.peek().filter(|Reverse(request)| request.done_at <= now)?;
        let Reverse(request) = self.in_flight.pop()?;
        self.link.complete(request.len);
        Some(request)
    }

    /// True if no request is in flight.
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The share of the limit in force, tags or bytes, that is in flight.
    pub fn share(&self) -> f64 {
        self.link.share()
    }

    /// Picoseconds that requests took from the link and back, as a sum.
    pub fn round_trips_ps(&self) -> u64 {
        self.round_trips_ps
    }
}
