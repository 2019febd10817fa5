//! The trials with several cards.

use drdma_fabric::{FaultConfig, NetworkConfig, Time};

use super::{
    Target, Took, Trial,
    columns::Columns,
    incast,
    keys::{self, Keys},
    latency,
    rig::Link,
    shuffle::{self, Arrival},
    silent,
    transfer::{Transfer, Verb},
};
use crate::{experiment::ROUND_TRIP_CYCLES, rig::RunError};

/// Number of requests of the trials with small payloads, and payload bytes of each.
const SMALL: usize = 4096;
const SMALL_BYTES: usize = 64;
/// Round trips of the memory-to-memory latency: request, data, and half of one to write.
const TRIPS: f64 = 2.5;

/// Every trial, in the order of the report.
pub fn all() -> Vec<Trial> {
    let groups = [
        transfers(),
        into_columns(),
        described_keys(),
        small_requests(),
        disturbances(),
        shuffles(),
    ];
    groups.into_iter().flatten().collect()
}

/// Large transfers between two cards.
fn transfers() -> Vec<Trial> {
    vec![
        Trial {
            id: "received-write",
            title: "WRITE received, 4 MiB, MTU 4,096",
            target: Target::Gbps(96.0),
            run: || Ok(large(Verb::Write, false)?.gbps()),
        },
        Trial {
            id: "received-send",
            title: "SEND received into contiguous memory, 4 MiB, MTU 4,096",
            target: Target::Gbps(96.0),
            run: || Ok(large(Verb::Send, false)?.gbps()),
        },
        Trial {
            id: "both-directions",
            title: "WRITE of 4 MiB in both directions at once, each",
            target: Target::Gbps(92.0),
            run: || Ok(large(Verb::Write, true)?.gbps() / 2.0),
        },
        Trial {
            id: "read",
            title: "READ of contiguous memory, 4 MiB, MTU 4,096",
            target: Target::Gbps(94.0),
            run: || Ok(large(Verb::Read, false)?.gbps()),
        },
        Trial {
            id: "odd-write",
            title: "WRITE received, 4 MiB, MTU 4,096, at odd addresses",
            target: Target::Gbps(94.0),
            run: || Ok(odd(Verb::Write)?.gbps()),
        },
        Trial {
            id: "odd-send",
            title: "SEND received into contiguous memory, 4 MiB, MTU 4,096, at odd addresses",
            target: Target::Gbps(94.0),
            run: || Ok(odd(Verb::Send)?.gbps()),
        },
        Trial {
            id: "odd-read",
            title: "READ of contiguous memory, 4 MiB, MTU 4,096, at odd addresses",
            target: Target::Gbps(94.0),
            run: || Ok(odd(Verb::Read)?.gbps()),
        },
    ]
}

/// SENDs of packed rows into columns and append regions.
fn into_columns() -> Vec<Trial> {
    vec![
        Trial {
            id: "columns-5x4",
            title: "SEND of rows of 5 x 4 B into columns, 4 MiB",
            target: Target::Gbps(88.0),
            run: || Ok(Columns::new(&[4; 5], false).run()?.gbps()),
        },
        Trial {
            id: "columns-16x8",
            title: "SEND of rows of 16 x 8 B into columns, 4 MiB",
            target: Target::Gbps(88.0),
            run: || Ok(Columns::new(&[8; 16], false).run()?.gbps()),
        },
        Trial {
            id: "append-5x4",
            title: "SEND of rows of 5 x 4 B into an append region, 4 MiB",
            target: Target::Gbps(88.0),
            run: || Ok(Columns::new(&[4; 5], true).run()?.gbps()),
        },
        Trial {
            id: "append-16x8",
            title: "SEND of rows of 16 x 8 B into an append region, 4 MiB",
            target: Target::Gbps(88.0),
            run: || Ok(Columns::new(&[8; 16], true).run()?.gbps()),
        },
        Trial {
            id: "append-mixed",
            title: "SEND of rows of 8, 8, 4, 16 and 4 B into an append region, 4 MiB",
            target: Target::Gbps(88.0),
            run: || Ok(Columns::new(&[8, 8, 4, 16, 4], true).run()?.gbps()),
        },
        Trial {
            id: "columns-odd",
            title: "SEND of rows of 5 x 4 B into columns at odd addresses, 4 MiB",
            target: Target::Gbps(88.0),
            run: || Ok(Columns { odd: true, ..Columns::new(&[4; 5], false) }.run()?.gbps()),
        },
        Trial {
            id: "columns-3",
            title: "SEND of rows of 7 x 3 B into columns, 4 MiB",
            target: Target::Gbps(88.0),
            run: || Ok(Columns::new(&[3; 7], false).run()?.gbps()),
        },
        Trial {
            id: "columns-1024",
            title: "SEND of rows of 5 x 4 B into columns, 4 MiB, MTU 1,024",
            target: Target::Gbps(88.0),
            run: || Ok(Columns { mtu: 1024, ..Columns::new(&[4; 5], false) }.run()?.gbps()),
        },
    ]
}

/// Requests of described keys.
fn described_keys() -> Vec<Trial> {
    vec![
        Trial {
            id: "key-write-5x4",
            title: "WRITE of rows of 5 x 4 B to a described key of columns, 4 MiB",
            target: Target::Gbps(88.0),
            run: || Ok(key(keys::Verb::Write, 5, 4, None)?.gbps()),
        },
        Trial {
            id: "key-write-16x8",
            title: "WRITE of rows of 16 x 8 B to a described key of columns, 4 MiB",
            target: Target::Gbps(88.0),
            run: || Ok(key(keys::Verb::Write, 16, 8, None)?.gbps()),
        },
        Trial {
            id: "key-read-5x4",
            title: "READ of a described key of columns, 5 x 4 B, 4 MiB",
            target: Target::Gbps(92.0),
            run: || Ok(key(keys::Verb::Read, 5, 4, None)?.gbps()),
        },
        Trial {
            id: "key-read-16x8",
            title: "READ of a described key of columns, 16 x 8 B, 4 MiB",
            target: Target::Gbps(92.0),
            run: || Ok(key(keys::Verb::Read, 16, 8, None)?.gbps()),
        },
        Trial {
            id: "key-read-bitmap",
            title: "READ of a described key of columns, 5 x 4 B, every second run of 64 rows by a bitmap, 512 KiB",
            target: Target::Gbps(92.0),
            run: || Ok(key(keys::Verb::Read, 5, 4, Some(64))?.gbps()),
        },
    ]
}

/// Many small requests, and the latency of one.
fn small_requests() -> Vec<Trial> {
    vec![
        Trial {
            id: "small-send-received",
            title: "SENDs of 64 B received, 16 queue pairs",
            target: Target::MegaRequests(40.0),
            run: || Ok(small(Verb::Send)?.mega_requests()),
        },
        Trial {
            id: "small-write-received",
            title: "WRITEs of 64 B received, 16 queue pairs",
            target: Target::MegaRequests(40.0),
            run: || Ok(small(Verb::Write)?.mega_requests()),
        },
        Trial {
            id: "small-read",
            title: "READs of 64 B, 16 queue pairs",
            target: Target::MegaRequests(25.0),
            run: || Ok(small(Verb::Read)?.mega_requests()),
        },
        Trial {
            id: "atomics-apart",
            title: "fetch and add, distinct addresses, 16 queue pairs",
            target: Target::MegaRequests(8.0),
            run: || Ok(small(Verb::AddApart)?.mega_requests()),
        },
        Trial {
            id: "atomics-together",
            title: "fetch and add, one address, 16 queue pairs",
            target: Target::MegaRequests(0.7),
            run: || Ok(small(Verb::AddTogether)?.mega_requests()),
        },
        Trial {
            id: "write-latency",
            title: "one WRITE of 64 B, memory to remote memory, cards back to back",
            target: Target::Cycles(TRIPS * ROUND_TRIP_CYCLES as f64 + 250.0),
            run: latency::write,
        },
    ]
}

/// Frames that are lost, peers that are silent, and links that are overloaded.
fn disturbances() -> Vec<Trial> {
    vec![
        Trial {
            id: "loss",
            title: "WRITE of 1 MiB, one frame of 1,000 lost, round trip of 10 us, four runs",
            target: Target::Share(0.95, "the lossless run"),
            run: loss,
        },
        Trial {
            id: "silent-peer",
            title: "WRITE of 64 KiB to 15 peers while a sixteenth is silent",
            target: Target::Share(0.98, "the run without it"),
            run: silent::share,
        },
        Trial {
            id: "silent-peer-long",
            title: "WRITE of 64 KiB to 15 peers while WRITEs of 4 MiB go to a silent sixteenth",
            target: Target::Share(0.98, "the run without it"),
            run: silent::share_of_long,
        },
        Trial {
            id: "incast",
            title: "WRITEs of 64 KiB from 8 cards to one, marks at 24 KiB, nothing dropped",
            target: Target::Share(0.90, "the link"),
            run: || Ok(incast::measured()?.link),
        },
        Trial {
            id: "incast-fairness",
            title: "the same: the sender furthest from its share when the first is done",
            target: Target::Share(0.85, "its share"),
            run: || Ok(incast::measured()?.fairness),
        },
    ]
}

/// Shuffles among four cards.
fn shuffles() -> Vec<Trial> {
    vec![
        Trial {
            id: "shuffle-4-nodes",
            title: "shuffle among 4 nodes, all at once, ids, 5 x 8 B, received by WRITE",
            target: Target::Share(0.93, "the bound"),
            run: || shuffle::share(Arrival::Pages),
        },
        Trial {
            id: "odd-shuffle",
            title: "shuffle among 4 nodes, all at once, ids, 5 x 8 B, at odd addresses",
            target: Target::Share(0.93, "the bound"),
            run: || shuffle::share(Arrival::Odd),
        },
        Trial {
            id: "append-shuffle",
            title: "shuffle among 4 nodes, all at once, ids, 5 x 8 B, received by append regions",
            target: Target::Share(0.90, "the bound"),
            run: || shuffle::share(Arrival::Appended),
        },
    ]
}

fn large(verb: Verb, both: bool) -> Result<Took, RunError> {
    Transfer { verb, both, ..Transfer::default() }.run()
}

/// Both memories begin within a cache line, at different places of a page.
fn odd(verb: Verb) -> Result<Took, RunError> {
    Transfer { verb, skew: [1_001, 2_653], ..Transfer::default() }.run()
}

/// Requests of a described key. READs of a bitmap's rows are shorter, as their simulation takes long.
fn key(
    verb: keys::Verb,
    columns: usize,
    width: usize,
    runs: Option<usize>,
) -> Result<Took, RunError> {
    let bytes = if runs.is_some() { 512 << 10 } else { 4 << 20 };
    Keys { verb, width, columns, bytes, runs }.run()
}

fn small(verb: Verb) -> Result<Took, RunError> {
    // The simulation of atomics takes long: fewer are enough.
    let count = match verb {
        Verb::AddApart => SMALL / 4,
        Verb::AddTogether => SMALL / 16,
        _ => SMALL,
    };
    let transfer = Transfer { verb, count, len: SMALL_BYTES, queues: 16, ..Transfer::default() };
    transfer.run()
}

/// Number of runs with loss, each with a seed of its own: three to nine frames are lost in a run.
const LOSSES: u64 = 4;

/// The time without loss, as a share of the time with it.
fn loss() -> Result<f64, RunError> {
    let run = |loss, seed| {
        let faults = FaultConfig { loss, ..FaultConfig::default() };
        let delay = Time::from_ns(2500);
        let network = NetworkConfig { faults, delay, seed, ..NetworkConfig::default() };
        // 1 ms: longer than a message and the way to its acknowledgement take.
        let link = Link { timeout: 8, ..Link::default() };
        Transfer { len: 1 << 20, count: 16, link, network, ..Transfer::default() }.run()
    };
    let lossless = run(0.0, 1)?.ns;
    let mut lossy = 0.0;
    for seed in 1..=LOSSES {
        lossy += run(1e-3, seed)?.ns;
    }
    Ok(LOSSES as f64 * lossless / lossy)
}
