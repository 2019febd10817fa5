//! The same requests over slow, narrow and stalling links, which do not change the frames.

use super::*;
use crate::cards::matrix;
use drdma_abi::roce::Transport;

#[test]
fn stalls_of_every_handshake_change_nothing_that_is_sent() {
    for seed in 1..=3 {
        let pcie = pcie::Config { stall: 0.3, seed, ..pcie::Config::default() };
        matrix::exercise(&mut rig(pcie, 256));
    }
}

#[test]
fn small_reads_and_few_tags_change_nothing_that_is_sent() {
    let pcie = pcie::Config {
        tags: 2,
        max_read_request: 128,
        max_payload: 128,
        bytes_in_flight: 256,
        latency_ns: 3_000,
        ..pcie::Config::default()
    };
    matrix::exercise(&mut rig(pcie, 512));
}

/// The capture of a run: every frame with the time at which it left.
fn capture(seed: u64) -> Vec<u8> {
    let network = Network::new();
    let out = Shared::default();
    network.capture_to(out.clone()).unwrap();
    let pcie = pcie::Config { stall: 0.2, seed, ..pcie::Config::default() };
    let mut rig = rig_on(network, pcie, 256);
    rig.add_queue_pair(1, Transport::Rc, 9);
    rig.add_queue(1, Some(1));
    for (wr_id, region) in (0..).zip(matrix::regions()) {
        let request = crate::cards::rig::send(wr_id, vec![crate::cards::rig::to(1, vec![region])]);
        rig.post(1, &request);
    }
    rig.run_until_completed(4);
    rig.network.flush_capture().unwrap();
    out.0.lock().unwrap().clone()
}

#[test]
fn one_seed_gives_one_capture_to_the_byte_and_nanosecond() {
    let first = capture(7);
    assert!(first.len() > 5_000);
    assert!(first == capture(7), "two runs of one seed differ");
    assert!(first != capture(8), "another seed stalls elsewhere");
}
