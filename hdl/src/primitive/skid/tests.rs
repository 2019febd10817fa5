use super::*;
use crate::emit::{Emitted, emit};
use drdma_verilated::Options;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};

fn emitted() -> Emitted {
    emit("skid", Skid::<100>::default).unwrap()
}

#[test]
fn every_beat_passes_once_and_in_order_under_stalls() {
    let library = emitted().source().build(&Options::default()).unwrap();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let (input, output) = (bench.driver("in"), bench.monitor("out"));
        bench.stall(stalls);
        let beats: Vec<_> = (0..500).map(|_| Beat::new().with("data", random.word(100))).collect();
        bench.send_all(input, beats.clone());
        bench.run_until_received(output, beats.len());
        assert_eq!(bench.take(output), beats);
    }
}

#[test]
fn one_beat_per_cycle_after_one_cycle() {
    let library = emitted().source().build(&Options::default()).unwrap();
    let mut bench = Bench::new(library.instance(1), 1);
    let (input, output) = (bench.driver("in"), bench.monitor("out"));
    bench.send_all(input, (0..100_u64).map(|i| Beat::from([("data", i)])));
    bench.run_until_received(output, 100);
    assert_eq!(bench.sent_at(input).first(), Some(&0));
    assert_eq!(bench.received_at(output), (1..=100).collect::<Vec<_>>());
}

#[test]
fn verilator_has_nothing_to_say() {
    assert_eq!(emitted().source().lint().unwrap(), []);
}
