//! How fast frames pass, and how late.

use drdma_abi::roce::operation;

use super::frames::{Sent, check, frame};
use super::{Pace, Wire, library};

/// Cycles from a frame's last beat to its packet.
const LATENCY: u64 = 10;

#[test]
fn acknowledgements_leave_one_a_cycle() {
    let sent = Sent::good(frame(operation::ACKNOWLEDGE, None, &[1, 2, 3, 4], &[]));
    assert_eq!(sent.bytes.len(), 62);
    let outcome = Wire::new(&library(), 1, Pace::FAST).pass(&vec![sent.clone(); 400]);
    assert_eq!((outcome.stopped, outcome.dropped), (0, 0));
    let at: Vec<u64> = outcome.packets.iter().map(|taken| taken.at).collect();
    let due: Vec<u64> = outcome.ends.iter().map(|end| end + LATENCY).collect();
    assert_eq!(at, due);
    assert_eq!(due[399], due[0] + 399);
    outcome.packets.iter().for_each(|taken| check(taken, &sent.bytes));
}

#[test]
fn frames_of_any_length_pass_without_a_bubble() {
    for payload in [0, 64, 200, 1024, 4096] {
        for vlan in [None, Some(5)] {
            let sent = Sent::good(frame(operation::SEND_ONLY, vlan, &[], &vec![7; payload]));
            let outcome = Wire::new(&library(), 1, Pace::FAST).pass(&vec![sent.clone(); 60]);
            assert_eq!((outcome.stopped, outcome.dropped), (0, 0), "{payload} B");
            let beats = sent.bytes.len().div_ceil(64) as u64;
            let due: Vec<u64> = (1..=60).map(|k| outcome.ends[0] + beats * (k - 1)).collect();
            assert_eq!(outcome.ends, due, "{payload} B");
            let at: Vec<u64> = outcome.packets.iter().map(|taken| taken.at).collect();
            let due: Vec<u64> = due.iter().map(|end| end + LATENCY).collect();
            assert_eq!(at, due, "{payload} B");
        }
    }
}

#[test]
fn frames_of_the_host_pass_at_the_speed_of_the_wire() {
    let sent = Sent { bytes: vec![9; 640], user: 2 };
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let outcome = wire.pass(&vec![sent; 40]);
    assert_eq!((outcome.stopped, outcome.host.len()), (0, 40));
}
