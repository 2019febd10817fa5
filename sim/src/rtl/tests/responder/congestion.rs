//! Marks of congestion are answered, and notifications are counted, for the right queue pairs only.

use super::*;
use drdma_abi::register::CNP_INTERVAL;

/// The notification that the card sends to the peer of queue pair `index`.
fn notification(index: u32) -> Vec<u8> {
    let peer = flow(index);
    answers::notification(&Flow {
        source_mac: peer.dest_mac,
        dest_mac: peer.source_mac,
        source_ip: peer.dest_ip,
        dest_ip: peer.source_ip,
        qpn: peer.dest_qpn,
        dest_qpn: peer.qpn,
        ..peer
    })
}

impl Bench {
    /// A WRITE of 64 B with these ECN bits.
    fn write_marked(&mut self, index: u32, ecn: u8) {
        let reth = Reth { virtual_address: TABLE, rkey: KEY, dma_length: 64 };
        let bth = Bth {
            opcode: operation::WRITE_ONLY,
            migration: 1,
            pkey: 0xffff,
            dest_qp: flow(index).dest_qpn,
            ack_req: 1,
            psn: self.psns[index as usize],
            ..Bth::default()
        };
        let flow = Flow { tos: ecn, ..flow(index) };
        let frame = packets::assemble(&flow, bth, &reth.to_bytes(), 64, |out| {
            out.fill(7);
            Ok::<(), ()>(())
        });
        self.psns[index as usize] = psn_add(self.psns[index as usize], 1);
        self.inject(frame.expect("nothing fails"));
    }

    /// Runs for `cycles` cycles. Returns the notifications that left, with their times in cycles, and the number of
    /// acknowledgements.
    fn notifications(&mut self, cycles: usize) -> (Vec<(u32, f64)>, usize) {
        self.rig.progress(cycles / 8);
        let (mut notifications, mut others) = (Vec::new(), 0);
        while let Some(sent) = self.rig.network.take_sent() {
            let frame = Frame::parse_any(&sent.bytes).expect("a right frame");
            if frame.is_notification() {
                let index = of(&frame) as u32;
                assert_eq!(sent.bytes, notification(index));
                notifications.push((index, sent.time_ns as f64 / NS_PER_CYCLE));
            } else {
                assert_eq!(frame.bth.opcode, operation::ACKNOWLEDGE);
                others += 1;
            }
        }
        (notifications, others)
    }
}

#[test]
fn marks_are_answered_once_in_the_interval_for_each_queue_pair() {
    let mut bench = Bench::new(3, pcie::Config::default());
    let interval = f64::from(CNP_INTERVAL.reset);
    for ecn in 0..3 {
        bench.write_marked(0, ecn);
    }
    assert_eq!(bench.notifications(4000), (vec![], 3));
    let mut found = [const { Vec::new() }; 3];
    let mut others = 0;
    // WRITEs take more than three intervals, on two queue pairs.
    let rounds = (3.6 * interval / 24.0) as usize;
    for _ in 0..rounds {
        bench.write_marked(0, 3);
        bench.write_marked(2, 3);
        let (notifications, more) = bench.notifications(24);
        notifications.into_iter().for_each(|(index, at)| found[index as usize].push(at));
        others += more;
    }
    let (notifications, more) = bench.notifications(4000);
    notifications.into_iter().for_each(|(index, at)| found[index as usize].push(at));
    assert_eq!(others + more, 2 * rounds, "all are carried out");
    assert!(found[1].is_empty());
    for at in [&found[0], &found[2]] {
        assert!((3..=4).contains(&at.len()), "{at:?}");
        // A notification may wait for a frame before it.
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] > interval - 80.0), "{at:?}");
    }
    let sent = (found[0].len() + found[2].len()) as u64;
    assert_eq!(bench.rig.count(&counter::CNPS_SENT), sent);
}

#[test]
fn notifications_count_only_from_the_peer_of_a_queue_pair() {
    let mut bench = Bench::new(1, pcie::Config::default());
    let right = flow(0);
    let mut damaged = answers::notification(&right);
    *damaged.last_mut().unwrap() ^= 1;
    let frames = [
        answers::notification(&Flow { dest_qpn: right.dest_qpn + 77, ..right }),
        answers::notification(&Flow { source_ip: right.source_ip + 1, ..right }),
        answers::notification(&Flow { pkey: 0x8001, ..right }),
        damaged,
        answers::notification(&right),
        // A notification that is marked itself causes no other one.
        answers::notification(&Flow { tos: 3, ..right }),
    ];
    frames.into_iter().for_each(|frame| bench.inject(frame));
    assert_eq!(bench.notifications(4000), (vec![], 0));
    let found = [counter::CNPS_RECEIVED, counter::RECEIVE_DROPPED, counter::CNPS_SENT]
        .map(|counter| bench.rig.count(&counter));
    assert_eq!(found, [2, 4, 0]);
}
