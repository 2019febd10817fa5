use super::*;
use drdma_emit::testing;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};

/// The outputs of the block, computed in Rust.
fn reference(mask: u64, lanes: [u64; 4]) -> Beat {
    let chosen = |k: usize| if mask >> k & 1 == 1 { lanes[k] } else { 0 };
    let sum: u64 = (0..4).map(chosen).sum();
    let scaled = (0..4).fold(0, |acc, k| acc | (chosen(k) << 1 & 0xffff) << (16 * k));
    Beat::from([("sum", sum), ("scaled", scaled), ("first", lanes[0])])
}

#[test]
fn selected_lanes_are_added_under_stalls() {
    let library = testing::library("sample", Sample::<4>::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let (s, m) = (bench.driver("s"), bench.monitor("m"));
        bench.stall(stalls);
        let mut expected = Vec::new();
        let mut seen = [0; 16];
        for _ in 0..200 {
            let (mask, data) = (random.below(16), random.u64());
            bench.send(s, Beat::from([("mask", mask), ("data", data)]));
            expected.push(reference(mask, [0, 16, 32, 48].map(|lo| data >> lo & 0xffff)));
            seen[mask as usize] += 1;
        }
        bench.run_until_received(m, expected.len());
        assert_eq!(bench.take(m), expected);
        for (mask, count) in seen.into_iter().enumerate() {
            bench.set("peek_address", mask);
            bench.step();
            assert_eq!(bench.get("peek"), count, "mask {mask}");
        }
        let gaps = bench.received_at(m).windows(2).map(|w| w[1] - w[0]);
        assert!(stalls != (0.0, 0.0) || gaps.max() == Some(6), "a beat every 6 cycles");
    }
}
