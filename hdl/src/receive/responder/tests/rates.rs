//! Rates and latencies of packets.

use super::*;

/// As many queue pairs, each with its own receive queue, that may do everything.
fn pairs(around: &mut Around<'_>, transport: Transport, count: u64) -> Vec<Pair> {
    let mut random = Random::new(1);
    (0..count)
        .map(|k| {
            let mut pair = Pair::random(k * 5, &mut random, 0.0);
            pair.entry.transport = transport as u8;
            pair.entry.log_mtu = 12;
            // Each queue pair is the first one of its list.
            pair.entry.qpn = 77 * k as u32;
            pair.attributes.receives = 1;
            pair.attributes.max_dest_rd_atomic = 16;
            pair.attributes.rights = rights::ALL as u8;
            pair.shared = false;
            pair.attributes.receive_queue = pair.index as u16;
            pair.peer.flow.transport = transport;
            pair.peer.flow.qpn = pair.entry.qpn;
            around.write_pair(&pair);
            pair
        })
        .collect()
}

/// Packets of 64 B, a burst of each queue pair in turns; gives the cycles that each takes, and those of the first one.
fn measure(transport: Transport, operation: u8, count: u64, burst: u64) -> (f64, u64) {
    let library = library();
    let mut around = Around::new(&library, 1, (0.0, 0.0));
    let pairs = pairs(&mut around, transport, count);
    around.card.memory = vec![0; SIZE as usize];
    let rights = rights::ALL;
    for pair in &pairs {
        let lkey = pair.index as u32;
        let pd = pair.entry.pd;
        around.write_key(&MemoryRegionEntry {
            addr: world::BASE,
            len: SIZE,
            lkey,
            rights,
            pd,
            valid: 1,
        });
    }
    let packets = 40 * count.max(4);
    let atomic = operation == operation::FETCH_AND_ADD;
    for k in 0..packets {
        let pair = &pairs[(k / burst % count) as usize];
        let posted = Posted {
            name: k,
            addr: world::BASE + 64,
            len: 200,
            malformed: None,
            append: None,
            pieces: false,
        };
        around.card.queues.entry(pair.queue()).or_default().push_back(posted);
        let packet = Packet {
            opcode: transport.opcode_bits() | operation,
            ack_req: true,
            pad: 0,
            pkey: pair.entry.pkey,
            qpn: pair.entry.qpn,
            psn: (pair.attributes.rq_psn + (k / burst / count * burst + k % burst) as u32)
                & 0xff_ffff,
            source_ip: pair.entry.dest_ip,
            vlan: pair.peer.flow.vlan,
            addr: world::BASE,
            rkey: pair.index as u32,
            len: 64,
            swap_or_add: 1,
            compare: 0,
            qkey: pair.entry.qkey,
            source_qp: 1,
            imm: 0,
            syndrome: 0,
            payload: if atomic { Vec::new() } else { vec![1; 64] },
        };
        around.send(&packet, pair.index, &mut Random::new(k));
    }
    let first = around.bench.cycles();
    around.drain();
    let at = around.bench.received_at(around.placing);
    let (begin, end) = (at[0], at[at.len() - 1]);
    let latency = begin - around.bench.sent_at(around.packet)[0];
    assert!(begin >= first && around.broken.is_empty());
    let good = match operation {
        operation::SEND_ONLY => around.card.completed.iter().filter(|c| c.2 == 0).count() as u64,
        _ => around.answers.iter().filter(|answer| answer.u64("syndrome") == 31).count() as u64,
    };
    assert_eq!(good, packets);
    ((end - begin) as f64 / (packets - 1) as f64, latency)
}

#[test]
fn packets_over_16_queue_pairs_take_at_most_6_cycles() {
    for (transport, operation, most, latency) in [
        (Transport::Rc, operation::WRITE_ONLY, 5.01, 10),
        (Transport::Uc, operation::SEND_ONLY, 5.01, 10),
        (Transport::Rc, operation::SEND_ONLY, 5.01, 10),
        (Transport::Rc, operation::FETCH_AND_ADD, 5.01, 10),
        (Transport::Ud, operation::SEND_ONLY, 6.01, 10),
    ] {
        let (cycles, first) = measure(transport, operation, 16, 1);
        println!("{transport:?} {operation:#x}: {cycles:.2} cycles, the first one after {first}");
        assert!(cycles <= most, "{transport:?} {operation:#x}: {cycles} cycles a packet");
        assert!(first <= latency, "{transport:?} {operation:#x}: {first} cycles");
    }
}

/// 40 million a second are 6.25 cycles each.
#[test]
fn packets_of_one_queue_pair_follow_each_other_at_40_million_a_second() {
    for (operation, most) in [(operation::WRITE_ONLY, 5.01), (operation::SEND_ONLY, 5.01)] {
        for (count, burst) in [(1, 160), (2, 1), (2, 8), (16, 2), (16, 5)] {
            let (cycles, _) = measure(Transport::Rc, operation, count, burst);
            println!("{operation:#x}: {count} queue pairs, bursts of {burst}: {cycles:.2} cycles");
            assert!(
                cycles <= most,
                "{operation:#x}, {count} in bursts of {burst}: {cycles} cycles"
            );
        }
    }
}

#[test]
fn packets_of_one_queue_pair_that_is_not_reliable_wait_for_each_other() {
    let (cycles, _) = measure(Transport::Uc, operation::SEND_ONLY, 1, 1);
    println!("SENDs of a UC queue pair: {cycles:.2} cycles");
    assert!(cycles <= 9.01, "{cycles}");
}
