//! The bound: the least time of a run, before which no schedule of reads and frames ends.
//!
//! A run begins with the doorbell and ends with the last byte on the wire, after a time T. Let L be the host's round
//! trip. A card knows nothing before its request is back: L after the doorbell. Requests say where the data are, or
//! (pointer-mapped regions) where it is said where they are. So no byte of payload is in the card before `R * L`, with
//! R 2, or 3 for pointers, or 1 for data in the request; this is the run's *first latency*, which no card can avoid and
//! which is taken out of every rate once.
//!
//! **Wire.** Before that time there is nothing on the wire but the headers of one frame, because each
//! frame needs payload of its own, and frames do not mix. All other bytes (headers, preamble, gap, FCS) take their time
//! on a wire of 100 Gb/s: `T >= R * L + wire - headers`.
//!
//! **Fetch.** Let S be the reads of any schedule; every needed byte is in one of them, none is longer than
//! the host allows or crosses a page. A read of `n` bytes has a tag and `n` of the bytes in flight for
//! `L + x(n)` at least, with `x(n)` the time of `n` bytes on the link, which it has for `x(n)`. All this
//! happens within the time W between the first moment at which such a read can begin and the end, so
//!
//! - `sum (L + x(n)) / tags <= W`,
//! - `sum (L + x(n)) * n / bytes <= W`,
//! - `sum x(n) <= W`.
//!
//! With weights `u, v, w >= 0` whose sum is 1 the weighted sum of the left sides is at most W, too, and it is a sum
//! over reads of a cost that depends on each one's length alone. [`cover`] finds a cost below which no list of reads
//! covers the needed bytes. Whatever the weights, this is a bound; the largest is taken over weights of tags and bytes,
//! and of tags and link. The needed bytes are requests, indexes (bitmaps, ids, pointers) and data: `T >= fetch(all)`,
//! `T >= L + fetch(indexes and data)`, `T >= (R - 1) * L + fetch(data)`.
//!
//! **Chains.** A record's address is read with the record before it. So the last of `h` records of a chain behind an
//! array of pointers is in the card after `2 + h` round trips, and whatever else is read meanwhile
//! `T >= (2 + h) * L`.
//!
//! A byte that several destinations or requests need counts once, wherever its value is kept meanwhile. Left
//! out is what only makes a card slower: reads of one cache line wait for each other, jitter, the pace at
//! which the shell takes reads, the card's memory. `brute.rs` compares with all schedules of small inputs.

#[cfg(test)]
mod brute;
pub mod cover;

use drdma_abi::roce::{
    Bth, Deth, Ethernet, ICRC_SIZE, ImmDt, Ipv4, Reth, Transport, Udp, WIRE_OVERHEAD,
};
use drdma_sim::pcie;

use cover::{Pages, Price};

/// The wire's rate in Gb/s.
pub const WIRE_GBPS: f64 = 100.0;
/// Steps of the search for the best weights.
const STEPS: usize = 12;

/// A run of bytes in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// Address of the first byte.
    pub addr: u64,
    /// Number of bytes, at least 1.
    pub len: u64,
}

/// Bytes that a run must fetch and send.
#[derive(Clone, Debug, Default)]
pub struct Need {
    /// Bytes of the requests.
    pub requests: Vec<Run>,
    /// Bytes of bitmaps, ids and pointers.
    pub indexes: Vec<Run>,
    /// Bytes of the data.
    pub data: Vec<Run>,
    /// Round trips before the first payload can be in the card, R: 2, or 3 if indexes say where data are
    /// (pointers), or 1 if the requests hold the data.
    pub trips: u32,
    /// Round trips before the last payload can be in the card: R, or more if the last byte's address is read in further
    /// ones (chains).
    pub depth: u32,
    /// Bytes on the wire, with preamble, gap and FCS.
    pub wire_bytes: u64,
}

/// Bound of a run, for any card.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// Least time from the doorbell to the first payload in the card, in nanoseconds.
    pub latency_ns: f64,
    /// Least time from the doorbell to the last byte on the wire, in nanoseconds.
    pub whole_ns: f64,
    /// Least time to the last byte if fetching took no time, in nanoseconds.
    pub wire_ns: f64,
    /// Least number of DMA reads.
    pub reads: u64,
    /// Least number of bytes of DMA reads.
    pub read_bytes: u64,
}

impl Bound {
    /// Computes the bound for a host. Without data all values are 0.
    pub fn of(need: Need, host: &pcie::Config) -> Self {
        let Need { requests, indexes, data, trips, depth, wire_bytes } = need;
        if data.is_empty() {
            return Self::default();
        }
        let trip = host.latency_ns as f64;
        let trips = f64::from(trips);
        let wire = wire_ns(wire_bytes.saturating_sub(MOST_HEADERS));
        let alone = Pages::new(data.clone());
        let described = Pages::new([indexes.clone(), data.clone()].concat());
        let all = Pages::new([requests, indexes, data].concat());
        let ends = [
            trips * trip + wire,
            fetch_ns(&all, host),
            trip + fetch_ns(&described, host),
            (trips - 1.0) * trip + fetch_ns(&alone, host),
            f64::from(depth) * trip,
        ];
        let one = Price { read: 1.0, ..Price::default() };
        Self {
            latency_ns: trips * trip,
            whole_ns: ends.into_iter().fold(0.0, f64::max),
            wire_ns: ends[0],
            reads: all.cheapest(&one, host.max_read_request as u64).round() as u64,
            read_bytes: all.bytes(),
        }
    }

    /// Gb/s of `payload` bytes in a time from doorbell to last byte, without the first latency.
    pub fn gbps(&self, payload: u64, whole_ns: f64) -> f64 {
        payload as f64 * 8.0 / (whole_ns - self.latency_ns)
    }
}

/// The least time in which a host answers reads that cover all these bytes.
pub fn fetch_ns(pages: &Pages, host: &pcie::Config) -> f64 {
    let (trip, byte_ns) = (host.latency_ns as f64, 8.0 / host.link_gbps);
    let (tags, bytes) = (host.tags as f64, host.bytes_in_flight as f64);
    let longest = host.max_read_request as u64;
    let tag = Price { read: trip / tags, byte: byte_ns / tags, square: 0.0 };
    // A read of more bytes than may be in flight goes alone, and holds them all.
    let flight = match longest as f64 <= bytes {
        true => Price { read: 0.0, byte: trip / bytes, square: byte_ns / bytes },
        false => Price::default(),
    };
    let link = Price { read: 0.0, byte: byte_ns, square: 0.0 };
    let mixed = |other: Price, share: f64| {
        let mix = |a: f64, b: f64| a * share + b * (1.0 - share);
        let price = Price {
            read: mix(tag.read, other.read),
            byte: mix(tag.byte, other.byte),
            square: mix(tag.square, other.square),
        };
        pages.cheapest(&price, longest)
    };
    // The link alone needs no plan, and is not the limit where bytes in flight are the narrower one.
    let over_link = match byte_ns <= trip / bytes {
        true => pages.bytes() as f64 * byte_ns,
        false => maximum(|share| mixed(link, share)),
    };
    maximum(|share| mixed(flight, share)).max(over_link)
}

/// The largest value that a golden-section search finds of a concave function on 0 to 1.
fn maximum(value: impl Fn(f64) -> f64) -> f64 {
    let golden = (5_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (0.0, 1.0);
    let (mut left, mut right) = (1.0 - golden, golden);
    let (mut at_left, mut at_right) = (value(left), value(right));
    let mut best = value(0.0).max(value(1.0)).max(at_left).max(at_right);
    for _ in 0..STEPS {
        if at_left < at_right {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = value(right);
            best = best.max(at_right);
        } else {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = value(left);
            best = best.max(at_left);
        }
    }
    best
}

/// Bytes of a frame before its payload, at most, with preamble and start of frame.
const MOST_HEADERS: u64 =
    (PREAMBLE + Ethernet::SIZE + Ipv4::SIZE + Udp::SIZE + Bth::SIZE + Reth::SIZE + ImmDt::SIZE)
        as u64;
/// Preamble and start of frame.
const PREAMBLE: usize = 8;

/// Bytes on the wire, with preamble, gap and FCS, of a message of `len` payload bytes.
pub fn wire_bytes(len: u64, mtu: u64, transport: Transport, write: bool) -> u64 {
    let packets = len.div_ceil(mtu).max(1);
    let deth = if transport == Transport::Ud { Deth::SIZE } else { 0 };
    let each =
        WIRE_OVERHEAD + Ethernet::SIZE + Ipv4::SIZE + Udp::SIZE + Bth::SIZE + deth + ICRC_SIZE;
    let reth = if write { Reth::SIZE as u64 } else { 0 };
    // Only the last packet can need padding: MTUs are multiples of 4.
    packets * each as u64 + reth + len.next_multiple_of(4)
}

/// The time in nanoseconds that `bytes` bytes are on the wire.
pub fn wire_ns(bytes: u64) -> f64 {
    bytes as f64 * 8.0 / WIRE_GBPS
}
#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> pcie::Config {
        pcie::Config {
            tags: 4,
            bytes_in_flight: 1024,
            max_read_request: 512,
            latency_ns: 1000,
            link_gbps: 80.0,
            ..pcie::Config::default()
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, expected {expected}");
    }

    fn every(stride: u64, len: u64, count: u64) -> Vec<Run> {
        (0..count).map(|i| Run { addr: i * stride, len }).collect()
    }

    fn fetch(runs: Vec<Run>, host: &pcie::Config) -> f64 {
        fetch_ns(&Pages::with_grain(runs, 1), host)
    }

    #[test]
    fn small_reads_far_apart_are_bound_by_tags() {
        // 10 B take 1 ns of the link; four at a time; a page apart no gap is worth reading.
        near(fetch(every(4096, 10, 8), &host()), 8.0 * 1001.0 / 4.0);
    }

    #[test]
    fn long_runs_are_bound_by_bytes_in_flight() {
        // 16 reads of 256 B, four at a time, hold tags and all 1,024 B for 1,025.6 ns each.
        let found = fetch(every(4096, 4096, 1), &host());
        assert!((found / (16.0 * 1025.6 / 4.0) - 1.0).abs() < 0.002, "{found}");
    }

    #[test]
    fn with_tags_and_room_enough_the_link_is_the_bound() {
        let host = pcie::Config { tags: 1000, bytes_in_flight: 1 << 20, ..host() };
        near(fetch(vec![Run { addr: 0, len: 8000 }], &host), 800.0);
    }

    #[test]
    fn the_card_s_host_fetches_just_below_its_wire() {
        // 64 reads of 256 B in flight, 1,300 ns and 17.8 ns each.
        let ns = fetch(vec![Run { addr: 0, len: 1 << 20 }], &pcie::Config::default());
        let held = 1300.0 + 256.0 * 8.0 / 115.0;
        let expected = 64.0 * 256.0 * 8.0 / held;
        assert!((f64::from(1 << 23) / ns / expected - 1.0).abs() < 0.002);
    }

    fn need(data: Vec<Run>, wire_bytes: u64) -> Need {
        let requests = vec![Run { addr: 1 << 40, len: 64 }];
        let indexes = vec![Run { addr: 1 << 41, len: 64 }];
        Need { requests, indexes, data, trips: 2, depth: 2, wire_bytes }
    }

    #[test]
    fn a_run_takes_its_round_trips_and_the_wire_or_the_reads() {
        // The wire: 2 us, then all frames but the first one's headers.
        let wire = Bound::of(need(every(64, 4, 1), 10_000), &host());
        near(wire.latency_ns, 2000.0);
        near(wire.whole_ns, 2000.0 + wire_ns(10_000 - 82));
        near(wire.gbps(125, wire.latency_ns + 10.0), 100.0);
        assert_eq!((wire.reads, wire.read_bytes), (3, 64 + 64 + 4));
        // The reads: data from 1 us on, with bitmaps.
        let data = every(4096, 10, 8000);
        let found = Bound::of(need(data.clone(), 1000), &host());
        near(found.whole_ns, 1000.0 + (8000.0 * 1001.0 + 1006.4) / 4.0);
        // Behind pointers data come a round trip later.
        let pointers = Bound::of(Need { trips: 3, ..need(data, 1000) }, &host());
        near(pointers.whole_ns, 2000.0 + 8000.0 * 1001.0 / 4.0);
        near(pointers.latency_ns, 3000.0);
    }

    #[test]
    fn a_chain_takes_a_round_trip_for_each_record() {
        let chain = Need { trips: 3, depth: 10, ..need(every(4096, 10, 8), 1000) };
        near(Bound::of(chain, &host()).whole_ns, 10_000.0);
    }

    #[test]
    fn nothing_to_send_has_no_bound() {
        assert_eq!(Bound::of(need(Vec::new(), 0), &host()), Bound::default());
    }

    #[test]
    fn the_search_finds_the_top_of_a_concave_function() {
        for top in [0.0, 0.3, 0.62, 1.0] {
            let found = maximum(|x| 1.0 - (x - top).abs());
            assert!(found > 0.99, "{found} at {top}");
        }
    }

    #[test]
    fn the_wire_counts_every_header() {
        // Preamble, gap and FCS 24, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4.
        assert_eq!(wire_bytes(4096, 4096, Transport::Rc, false), 4096 + 82);
        assert_eq!(wire_bytes(4096, 4096, Transport::Rc, true), 4096 + 98);
        assert_eq!(wire_bytes(20, 4096, Transport::Ud, false), 110);
        assert_eq!(wire_bytes(10_001, 4096, Transport::Rc, true), 10_004 + 3 * 82 + 16);
        near(wire_ns(1250), 100.0);
    }
}
