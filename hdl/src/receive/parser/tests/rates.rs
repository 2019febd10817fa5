//! Rates and latencies of frames.

use drdma_abi::roce::operation;

use super::frames::{Sent, check_ack, frame};
use super::{Pace, Wire, library};

/// Cycles from a frame's last beat to its packet.
const LATENCY: u64 = 12;
/// Cycles from a frame's last beat to its acknowledgement for the sending side.
const ACK_LATENCY: u64 = 11;

#[test]
fn acknowledgements_leave_one_a_cycle_whoever_waits() {
    let sent = Sent::good(frame(operation::ACKNOWLEDGE, None, &[1, 2, 3, 4], &[]));
    assert_eq!(sent.bytes.len(), 62);
    let slow = Pace { responder: 1.0, writer: 1.0, ..Pace::FAST };
    let outcome = Wire::new(&library(), 1, slow).pass(&vec![sent.clone(); 6000]);
    assert_eq!((outcome.stopped, outcome.dropped), (0, 0));
    let at: Vec<u64> = outcome.acks.iter().map(|ack| ack.1).collect();
    let due: Vec<u64> = outcome.ends.iter().map(|end| end + ACK_LATENCY).collect();
    assert_eq!(at, due);
    assert_eq!(due[5999], due[0] + 5999);
    outcome.acks.iter().for_each(|ack| check_ack(ack.0, &sent.bytes));
}

/// Frames for no queue pair that come at the rate of the wire do not slow the host's down.
#[test]
fn acknowledgements_for_nobody_do_not_stop_the_hosts_frames() {
    let mut bytes = frame(operation::ACKNOWLEDGE, None, &[1, 2, 3, 4], &[]);
    bytes[49] ^= 1;
    let (foreign, host) = (Sent::good(bytes), Sent { bytes: vec![9; 640], user: 2 });
    let sent: Vec<Sent> =
        (0..6100).map(|k| if k % 61 == 60 { host.clone() } else { foreign.clone() }).collect();
    let outcome = Wire::new(&library(), 1, Pace::FAST).pass(&sent);
    assert_eq!((outcome.stopped, outcome.left, outcome.dropped), (0, 6000, 0));
    let due: Vec<_> = sent.into_iter().map(|sent| (sent.bytes, sent.user)).collect();
    assert_eq!(outcome.host, due);
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
