//! Where the cycles of a run went.

use std::fmt::Write as _;

use drdma_sim::{clock::NS_PER_CYCLE, pcie::usage::Usage};

use crate::{experiment::Measurement, rig};

/// Rate, bound and share, as text.
pub fn rate(found: &Measurement) -> String {
    let (gbps, limit, share) = (found.gbps(), found.limit(), found.share());
    format!("{gbps:.1} Gb/s, bound {limit:.1}, share {share:.3}")
}

/// A line each: the rate beside the bound, what a request and a packet took, the reads beside those that no card can do
/// without, what the assembler did, and the card's counters.
pub fn text(found: &Measurement) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        writeln!(text, "  {name:28} {value}").expect("a string");
    };
    let cycles = |ns: f64| format!("{:.0} cycles", ns / NS_PER_CYCLE);
    row("rate", rate(found));
    row("doorbell to last byte", format!("{} cycles", found.cycles()));
    row("doorbell to first frame", cycles(found.first_frame_ns));
    row("first latency, taken out", cycles(found.bound.latency_ns));
    row("bound, without it", cycles(found.bound.whole_ns - found.bound.latency_ns));
    row("  of the wire alone", cycles(found.bound.wire_ns - found.bound.latency_ns));
    let per = |count: u64| format!("{:.2} cycles each", found.ns() / NS_PER_CYCLE / count as f64);
    let payload = found.payload / found.posts;
    row("requests", format!("{} of {payload} B, {}", found.posts, per(found.posts)));
    row("packets", format!("{}, {}", found.packets, per(found.packets)));
    let (reads, bytes) = found.reads();
    row("DMA reads", format!("{reads}, at least {}", found.bound.reads));
    row("bytes read", format!("{bytes}, at least {}", found.bound.read_bytes));
    let in_flight = found.usage.round_trips_ps as f64 / 1000.0 / found.whole_ns;
    row("reads in flight, on average", format!("{in_flight:.1} of {}", rig::host().tags));
    let Usage { used, start, between, .. } = found.usage;
    let end = found.cycles() as f64 - used - start - between;
    row("cycles that reads use", format!("{used:.0}, if their limit were always reached"));
    row("  lost before data reads", format!("{start:.0}"));
    row("  lost between", format!("{between:.0}"));
    row("  lost after them", format!("{end:.0}"));
    let names = [
        "assembler read payload",
        "  a byte waited for its bank",
        "  waited for data",
        "  stopped by the packetizer",
    ];
    for (name, percent) in names.iter().zip(found.assembler()) {
        row(name, format!("{percent:.1} % of the cycles"));
    }
    for (name, value) in found.counters.iter() {
        row(name, value.to_string());
    }
    text
}
