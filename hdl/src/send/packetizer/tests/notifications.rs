//! Congestion notifications among packets and acknowledgements.

use super::acknowledgements::{Ack, Setup, is_acknowledgement, setup, stamp, zeros};
use super::*;
use drdma_abi::roce::cnp;
use drdma_semantics::answers;
use drdma_semantics::packets::Flow;

/// The notification that the reference sends to the peer of a queue pair.
fn notification(entry: &QueuePairEntry) -> Vec<u8> {
    answers::notification(&Flow {
        source_mac: MAC,
        dest_mac: entry.dest_mac,
        source_ip: IP,
        dest_ip: entry.dest_ip,
        tos: entry.tos,
        ttl: if entry.ttl == 0 { TTL } else { entry.ttl },
        vlan: (entry.tagged == 1).then_some(entry.vlan),
        qpn: entry.qpn,
        dest_qpn: entry.dest_qpn,
        pkey: entry.pkey,
        qkey: entry.qkey,
        transport: Transport::from_code(entry.transport).expect("a transport"),
        mtu: 4096,
    })
}

fn opcode(frame: &[u8]) -> u8 {
    let tag = if frame[12..14] == [0x81, 0] { 4 } else { 0 };
    frame[Ethernet::SIZE + tag + Ipv4::SIZE + Udp::SIZE]
}

/// Packets, acknowledgements and notifications, some of which are for a context that has changed.
#[test]
fn notifications_are_those_of_the_reference_and_cost_nothing_else() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let Setup { mut bench, mut entries, freed, packets, notices, .. } =
            setup(&library, seed, true);
        // Some queue pairs are of UC.
        let cfg = bench.driver("cfg");
        for qp in (0..256).step_by(3) {
            entries[qp].transport = Transport::Uc as u8;
            let word = QueuePairEntry::field("transport").start / 32;
            let bytes = &entries[qp].to_bytes()[4 * word..4 * word + 4];
            let data = u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
            let beat = Beat::from([("table", 0), ("index", qp), ("word", word)]);
            bench.send(cfg, beat.with("data", data));
        }
        bench.run_until(|b| b.pending(cfg) == 0);
        bench.run(2);
        let written = (0..256).step_by(3).count() as u64;
        let now = |qp: usize| match qp % 3 {
            0 => 256 * ENTRY_WORDS + qp as u64 / 3,
            _ => stamp(qp),
        };
        assert_eq!(now(255) + 1, 256 * ENTRY_WORDS + written);
        let [input, acks, notes] =
            ["packet", "acknowledgement", "notice"].map(|name| bench.driver(name));
        let tx = bench.monitor("tx");
        bench.stall(stalls);
        let (mut sent, mut acknowledged, mut notified) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..300 {
            let length = 1 + random.below(if number % 7 == 0 { 4096 } else { 150 }) as usize;
            let packet =
                Packet { qp: 1 + 3 * random.below(80) as usize, ..zeros(&mut random, length) };
            bench.send(input, offer(&packet, number));
            sent.push(frame(&packet, &entries[packet.qp]));
            if random.chance(0.5) {
                let qp = 1 + 3 * random.below(80) as usize;
                let ack = Ack::random(&mut random, qp);
                bench.send(acks, ack.offer(stamp(ack.qp)));
                acknowledged.push(ack.frame(&entries[ack.qp]));
            }
            if random.chance(0.4) {
                let qp = random.below(256) as usize;
                let old = random.chance(0.2);
                let beat = Beat::from([("qp", qp as u64), ("stamp", now(qp) - u64::from(old))]);
                bench.send(notes, beat);
                if !old {
                    notified.push(notification(&entries[qp]));
                }
            }
            while bench.pending(input) > 2 || bench.pending(acks) > 4 || bench.pending(notes) > 4 {
                bench.step();
            }
        }
        bench.run_until(|b| b.pending(input) + b.pending(acks) + b.pending(notes) == 0);
        bench.stall((0.0, 0.0));
        bench.run(2_000);
        let (got_notes, got): (Vec<_>, Vec<_>) =
            frames(&bench.take(tx)).into_iter().partition(|frame| opcode(frame) == cnp::OPCODE);
        let (got_acks, got): (Vec<_>, Vec<_>) =
            got.into_iter().partition(|f| is_acknowledgement(f));
        compare(&got_notes, &notified);
        compare(&got_acks, &acknowledged);
        compare(&got, &sent);
        assert!(notified.len() > 60, "{} notifications", notified.len());
        assert_eq!(*freed.borrow(), (0..300).collect::<Vec<_>>(), "they have no pages");
        assert_eq!(*notices.borrow() as usize, notified.len());
        assert_eq!(*packets.borrow() as usize, sent.len() + acknowledged.len() + notified.len());
    }
}
