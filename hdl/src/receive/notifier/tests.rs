use super::*;
use crate::context::QUEUE_PAIR_TABLE;
use crate::context::testing::clear_tables;
use crate::testing;
use drdma_semantics::congestion;
use drdma_verilated::testbench::{Bench, Random, STALLS};
use std::collections::HashMap;

const LATENCY: u64 = 3;

/// Runs a cycle in which this packet, if any, has met congestion; returns the notice that leaves.
fn step(bench: &mut Bench<'_>, packet: Option<u64>, ready: bool) -> Option<(u64, u64)> {
    let model = bench.model();
    model.set("congested_valid", packet.is_some().into());
    model.set("congested_qp", packet.unwrap_or(0x555));
    model.set("notice_ready", ready.into());
    model.settle();
    let leaves = ready && model.get("notice_valid") == 1;
    let notice = leaves.then(|| (model.get("notice_qp"), model.get("notice_stamp")));
    model.tick();
    notice
}

fn bench(library: &drdma_verilated::Library, interval: u64) -> Bench<'_> {
    let mut bench = Bench::new(library.instance(1), 1);
    clear_tables(&mut bench);
    bench.model().set("interval", interval);
    bench
}

#[test]
fn a_queue_pair_is_notified_as_the_reference_says() {
    let library = testing::library("notifier", Notifier::default);
    for (seed, interval) in (1..).zip([0, 1, 7, 100, 1000]) {
        let settings = congestion::Settings { cnp_interval: interval, ..Default::default() };
        let mut random = Random::new(seed);
        let mut bench = bench(&library, interval);
        let mut reference: HashMap<u64, congestion::Notifier> = HashMap::new();
        let (mut due, mut made) = (Vec::new(), Vec::new());
        for cycle in 0..20_000 {
            let packet = random.chance(0.4).then(|| random.below(5) * 1001);
            if let Some(qp) = packet
                && reference.entry(qp).or_default().marked(cycle, &settings)
            {
                due.push((qp, cycle + LATENCY));
            }
            made.extend(step(&mut bench, packet, true).map(|(qp, _)| (qp, cycle)));
        }
        due.retain(|(_, at)| *at < 20_000);
        assert_eq!(made, due, "interval {interval}");
        assert!(due.len() > 80);
    }
}

#[test]
fn while_notices_wait_none_is_lost_that_counts_as_made() {
    let library = testing::library("notifier", Notifier::default);
    for (seed, (_, stall)) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = bench(&library, 5000);
        let mut made = Vec::new();
        for cycle in 0..4000 {
            let packet = random.chance(0.5).then(|| random.below(64));
            let ready = cycle > 1000 && !random.chance(stall);
            made.extend(step(&mut bench, packet, ready).map(|(qp, _)| qp));
        }
        // A notice is made for each queue pair once, even while others wait.
        made.sort_unstable();
        assert_eq!(made, (0..64).collect::<Vec<_>>(), "stall {stall}");
    }
}

#[test]
fn a_notice_has_the_stamp_that_its_queue_pair_had() {
    let library = testing::library("notifier", Notifier::default);
    let mut bench = bench(&library, 0);
    let mut stamps = Vec::new();
    for _ in 0..4 {
        for (port, value) in [("table", QUEUE_PAIR_TABLE), ("index", 9), ("word", 0), ("valid", 1)]
        {
            bench.model().set(format!("cfg_{port}").as_str(), value);
        }
        step(&mut bench, None, true);
        bench.model().set("cfg_valid", 0);
        let notices = (0..8).filter_map(|k| step(&mut bench, (k == 2).then_some(9), true));
        stamps.extend(notices.map(|(_, stamp)| stamp));
    }
    assert_eq!(stamps.len(), 4);
    assert!(stamps.windows(2).all(|pair| pair[1] == pair[0] + 1), "{stamps:?}");
}
