//! How fast any card could be: the smaller of what the wire carries and what PCIe can fetch.
//!
//! The wire's part is exact. For PCIe, a plan is a list of reads that covers every needed byte; it
//! takes at least as long as each of three resources is held: tags and bytes in flight (each read
//! holds its own for a round trip), and the link (Little's law, and the link's rate). Plans differ
//! in the gaps that they read through and in how long their reads are. All plans of one threshold
//! and one longest read are tried, and every mixture of two of them, because one plan may run out of
//! tags where another runs out of link. Bytes that are needed far apart in time are not fetched
//! together, because the card could not keep them. What the bound leaves out (reads of one cache line
//! wait for each other, jitter, the time before the first byte) only makes a card slower.

use drdma_abi::roce::{Bth, Deth, Ethernet, ICRC_SIZE, Ipv4, Reth, Transport, Udp, WIRE_OVERHEAD};
use drdma_sim::pcie;

/// The wire's rate in Gb/s.
pub const WIRE_GBPS: f64 = 100.0;
/// Bytes that no read crosses.
const PAGE: u64 = 4096;
/// The widest gaps, in bytes, that plans read through.
const THRESHOLDS: [u64; 22] = [
    0, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 512,
    1024,
];
/// The longest reads, in bytes, that plans form, as far as the host allows them.
const LONGEST: [u64; 5] = [64, 128, 256, 512, 1024];

/// Bytes in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The first byte.
    pub addr: u64,
    /// How many, at least 1.
    pub len: u64,
}

/// What a list of reads needs of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Need {
    reads: u64,
    bytes: u64,
    /// Nanoseconds for which the tags, the bytes in flight and the link are each taken.
    ns: [f64; 3],
}

impl Need {
    fn longest(&self) -> f64 {
        self.ns.into_iter().fold(0.0, f64::max)
    }

    /// This plan, then another.
    fn and(&self, other: &Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            bytes: self.bytes + other.bytes,
            ns: std::array::from_fn(|i| self.ns[i] + other.ns[i]),
        }
    }

    /// The part `share` of this plan and the rest of the other.
    fn mixed(&self, other: &Self, share: f64) -> Self {
        let mix = |a: f64, b: f64| a * share + b * (1.0 - share);
        let count = |a: u64, b: u64| mix(a as f64, b as f64).round() as u64;
        Self {
            reads: count(self.reads, other.reads),
            bytes: count(self.bytes, other.bytes),
            ns: std::array::from_fn(|i| mix(self.ns[i], other.ns[i])),
        }
    }
}

/// The best plan found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fetch {
    /// The shortest time in nanoseconds.
    pub ns: f64,
    /// Its reads.
    pub reads: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Sorted, without overlaps; runs that touch are one.
fn union(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable();
    let mut merged: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        match merged.last_mut() {
            Some(last) if run.addr <= last.addr + last.len => {
                last.len = last.len.max(run.addr + run.len - last.addr);
            }
            _ => merged.push(run),
        }
    }
    merged
}

/// Cuts runs that are needed in this order into groups of up to so many bytes.
pub fn groups(runs: &[Run], bytes: u64) -> Vec<Vec<Run>> {
    let mut groups: Vec<Vec<Run>> = Vec::new();
    let mut room = 0;
    for run in runs {
        if run.len > room || groups.is_empty() {
            groups.push(Vec::new());
            room = bytes;
        }
        room = room.saturating_sub(run.len);
        groups.last_mut().expect("a group").push(*run);
    }
    groups
}

/// Reads of sorted runs: gaps up to `threshold` are read through, nothing is longer than `longest`.
fn need(runs: &[Run], threshold: u64, longest: u64, host: &pcie::Config) -> Need {
    let mut need = Need::default();
    let mut read = |mut run: Run| {
        while run.len > 0 {
            let len = run.len.min(longest).min(PAGE - run.addr % PAGE);
            let transfer = len as f64 * 8.0 / host.link_gbps;
            let held = host.latency_ns as f64 + transfer;
            need.reads += 1;
            need.bytes += len;
            need.ns[0] += held / host.tags as f64;
            need.ns[1] += held * len as f64 / host.bytes_in_flight as f64;
            need.ns[2] += transfer;
            run = Run { addr: run.addr + len, len: run.len - len };
        }
    };
    let mut open: Option<Run> = None;
    for run in runs {
        match &mut open {
            Some(last) if run.addr - (last.addr + last.len) <= threshold => {
                last.len = run.addr + run.len - last.addr;
            }
            _ => {
                open.replace(*run).into_iter().for_each(&mut read);
            }
        }
    }
    open.into_iter().for_each(read);
    need
}

/// The shortest of all mixtures of two plans.
fn best_mixture(a: &Need, b: &Need) -> Need {
    // The longest of three lines is shortest at an end or where two of them cross.
    let mut best = if a.longest() < b.longest() { *a } else { *b };
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        let (at_b, at_a) = (b.ns[i] - b.ns[j], a.ns[i] - a.ns[j]);
        let share = at_b / (at_b - at_a);
        if (0.0..=1.0).contains(&share) {
            let mixed = a.mixed(b, share);
            if mixed.longest() < best.longest() {
                best = mixed;
            }
        }
    }
    best
}

/// The shortest time in which a host can answer reads that cover every byte of the groups. Within a
/// group runs may overlap, and a byte is fetched once; groups are fetched one after another.
pub fn fetch(groups: impl IntoIterator<Item = Vec<Run>>, host: &pcie::Config) -> Fetch {
    let groups: Vec<_> = groups.into_iter().map(union).collect();
    let longest = LONGEST.iter().filter(|len| **len <= host.max_read_request as u64);
    let plan = |longest, threshold| {
        let add = |sum: Need, runs: &Vec<Run>| sum.and(&need(runs, threshold, longest, host));
        groups.iter().fold(Need::default(), add)
    };
    let plans: Vec<Need> =
        longest.flat_map(|len| THRESHOLDS.map(|threshold| plan(*len, threshold))).collect();
    let mut best = plans[0];
    for (index, a) in plans.iter().enumerate() {
        for b in &plans[index..] {
            let mixed = best_mixture(a, b);
            if mixed.longest() < best.longest() {
                best = mixed;
            }
        }
    }
    Fetch { ns: best.longest(), reads: best.reads, bytes: best.bytes }
}

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

/// The time in nanoseconds that so many bytes are on the wire.
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

    #[test]
    fn small_reads_far_apart_are_bound_by_tags() {
        // 10 B take 1 ns of the link; four at a time; a page apart no gap is worth reading.
        let found = fetch([every(4096, 10, 8)], &host());
        near(found.ns, 8.0 * 1001.0 / 4.0);
        assert_eq!((found.reads, found.bytes), (8, 80));
    }

    #[test]
    fn long_runs_are_bound_by_bytes_in_flight() {
        // 16 reads of 256 B, four at a time, hold tags and all 1,024 B for 1,025.6 ns each. Longer
        // reads would hold them for longer, shorter ones would be too many.
        let found = fetch([vec![Run { addr: 0, len: 4096 }]], &host());
        near(found.ns, 16.0 * 1025.6 / 4.0);
        assert_eq!((found.reads, found.bytes), (16, 4096));
    }

    #[test]
    fn with_tags_and_room_enough_the_link_is_the_bound() {
        let host = pcie::Config { tags: 1000, bytes_in_flight: 1 << 20, ..host() };
        near(fetch([vec![Run { addr: 0, len: 8000 }]], &host).ns, 800.0);
    }

    #[test]
    fn the_card_s_host_fetches_just_below_its_wire() {
        // 64 reads of 256 B in flight, 1,300 ns and 17.8 ns each.
        let found = fetch([vec![Run { addr: 0, len: 1 << 20 }]], &pcie::Config::default());
        let held = 1300.0 + 256.0 * 8.0 / 115.0;
        near(f64::from(1 << 23) / found.ns, 64.0 * 256.0 * 8.0 / held);
    }

    #[test]
    fn a_gap_is_read_through_where_that_is_cheaper_than_a_request() {
        // Together 36 B for 1,003.6 ns on one of four tags, apart two of 1,000.4 ns.
        let found = fetch([every(32, 4, 2)], &host());
        near(found.ns, 1003.6 / 4.0);
        assert_eq!((found.reads, found.bytes), (1, 36));
        // 256 B in the middle of every 512 B: together they would hold twice the bytes.
        let found = fetch([every(512, 256, 8)], &host());
        near(found.ns, 8.0 * 1025.6 / 4.0);
        assert_eq!((found.reads, found.bytes), (8, 2048));
    }

    #[test]
    fn pages_cut_reads_and_overlaps_are_fetched_once() {
        let found = fetch([vec![Run { addr: 4090, len: 10 }, Run { addr: 4092, len: 8 }]], &host());
        assert_eq!((found.reads, found.bytes), (2, 10));
    }

    #[test]
    fn groups_are_not_fetched_together() {
        let near = |addr| vec![Run { addr, len: 4 }];
        let cut = groups(&[near(0), near(8), near(0)].concat(), 8);
        assert_eq!(cut, [[near(0), near(8)].concat(), near(0)]);
        let found = fetch([near(0), near(8), near(0)], &host());
        assert_eq!((found.reads, found.bytes), (3, 12));
    }

    #[test]
    fn no_choice_of_gaps_beats_the_bound_and_some_choice_comes_near() {
        let host = host();
        let gaps = [8, 300, 40, 200, 100, 500, 16, 150, 64, 260, 90];
        let mut addr = 0;
        let runs: Vec<Run> = std::iter::once(0)
            .chain(gaps)
            .map(|gap| {
                addr += gap;
                let run = Run { addr, len: 40 };
                addr += 40;
                run
            })
            .collect();
        let bound = fetch([runs.clone()], &host).ns;
        let best = (0..1_u32 << gaps.len())
            .map(|choice| {
                let mut chosen = vec![runs[0]];
                for (i, run) in runs[1..].iter().enumerate() {
                    match choice >> i & 1 {
                        1 => {
                            let last = chosen.last_mut().unwrap();
                            last.len = run.addr + run.len - last.addr;
                        }
                        _ => chosen.push(*run),
                    }
                }
                // Every choice as it stands, cut at 512 B or at 256 B.
                let cut = |longest| need_as_given(&chosen, longest, &host);
                cut(256).min(cut(512))
            })
            .fold(f64::MAX, f64::min);
        assert!(bound <= best * (1.0 + 1e-9), "{bound} > {best}");
        assert!(bound >= 0.93 * best, "{bound} is far below {best}");
    }

    fn need_as_given(runs: &[Run], longest: u64, host: &pcie::Config) -> f64 {
        let mut ns = [0.0; 3];
        for run in runs {
            let one = need(std::slice::from_ref(run), 0, longest, host);
            (0..3).for_each(|i| ns[i] += one.ns[i]);
        }
        ns.into_iter().fold(0.0, f64::max)
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
