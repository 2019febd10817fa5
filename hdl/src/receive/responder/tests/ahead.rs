//! Packets that follow others of their queue pair before these are executed, which then fail.

use super::*;

/// An RC queue pair with a queue of its own, which may do everything, and whose key allows all of memory.
fn pair(around: &mut Around<'_>) -> Pair {
    let mut random = Random::new(1);
    let mut pair = Pair::random(7, &mut random, 0.0);
    while pair.peer.flow.transport != Transport::Rc {
        pair = Pair::random(7, &mut random, 0.0);
    }
    (pair.shared, pair.attributes.receive_queue) = (false, 7);
    (pair.attributes.receives, pair.attributes.rights) = (1, rights::ALL as u8);
    pair.entry.log_mtu = 8;
    around.write_pair(&pair);
    let (rights, pd) = (rights::ALL, pair.entry.pd);
    let key = MemoryRegionEntry { addr: world::BASE, len: SIZE, lkey: 5, rights, pd, valid: 1 };
    around.write_key(&key);
    around.card.memory = vec![0; SIZE as usize];
    pair.peer.keys.push((5, world::BASE, 100));
    pair
}

/// A packet of 64 B of a queue pair, the `k`-th one.
fn packet(pair: &Pair, operation: u8, k: u32) -> Packet {
    let mut packet = pair.peer.clone().next(1, &mut Random::new(4));
    packet.opcode = Transport::Rc.opcode_bits() | operation;
    packet.psn = (pair.attributes.rq_psn + k) & 0xff_ffff;
    (packet.payload, packet.len, packet.pad) = (vec![k as u8 + 1; 64], 64, 0);
    (packet.addr, packet.rkey) = (world::BASE + 64 * u64::from(k), 5);
    packet.ack_req = true;
    packet
}

fn posted(name: u64) -> Posted {
    Posted {
        name,
        addr: world::BASE + 0x1000 + 64 * name,
        len: 64,
        malformed: None,
        append: None,
        pieces: false,
    }
}

/// Syndromes and numbers, from the first packet on.
fn answers(around: &mut Around<'_>, pair: &Pair) -> Vec<(u64, u32)> {
    let answers = std::mem::take(&mut around.answers);
    let psn = |answer: &Beat| answer.u64("psn") as u32;
    let number = |answer: &Beat| psn(answer).wrapping_sub(pair.attributes.rq_psn) & 0xff_ffff;
    answers.iter().map(|answer| (answer.u64("syndrome"), number(answer))).collect()
}

#[test]
fn sends_behind_one_that_finds_no_receive_take_none_that_is_posted_meanwhile() {
    let library = library();
    let mut refused = 0;
    for (seed, stalls) in (1..).zip(STALLS.into_iter().chain(STALLS)) {
        let mut around = Around::new(&library, seed, stalls);
        let pair = pair(&mut around);
        let mut random = Random::new(seed);
        around.card.queues.entry(7).or_default().push_back(posted(0));
        for k in 0..7 {
            around.send(&packet(&pair, operation::SEND_ONLY, k), 7, &mut random);
        }
        // Further receives are posted as soon as one was missing.
        while around.card.dry.is_empty() {
            around.step();
        }
        around.card.queues.entry(7).or_default().extend((1..7).map(posted));
        around.drain();
        let rnr = 0x20 | u64::from(pair.attributes.min_rnr_timer);
        assert_eq!(answers(&mut around, &pair), [(0x1f, 0), (rnr, 1)], "seed {seed}");
        assert_eq!(*around.counted.borrow(), [0, 5], "seed {seed}");
        assert_eq!(around.card.queues[&7].len(), 6, "seed {seed}");
        refused += around.card.refused;
        // The packets come again, and are executed as usual.
        for k in 1..7 {
            around.send(&packet(&pair, operation::SEND_ONLY, k), 7, &mut random);
        }
        around.drain();
        let expected: Vec<_> = (1..7).map(|k| (0x1f, k)).collect();
        assert_eq!(answers(&mut around, &pair), expected, "seed {seed}");
        let names: Vec<_> = around.card.completed.iter().map(|c| (c.1, c.2)).collect();
        assert_eq!(names, (0..7).map(|name| (name, 0)).collect::<Vec<_>>(), "seed {seed}");
        for k in 0..7 {
            let at = 0x1000 + 64 * k;
            assert_eq!(around.card.memory[at..at + 64], [k as u8 + 1; 64], "seed {seed}");
        }
    }
    assert!(refused > 10, "{refused} takes were refused");
}

#[test]
fn nothing_behind_a_packet_that_breaks_its_queue_pair_is_executed() {
    let library = library();
    let mut returned = 0;
    for (seed, stalls) in (1..).zip(STALLS) {
        for wrong in 0..6 {
            let mut around = Around::new(&library, seed, stalls);
            let pair = pair(&mut around);
            let mut random = Random::new(seed);
            around.card.queues.entry(7).or_default().extend((0..6).map(posted));
            for k in 0..6 {
                let operation = [operation::WRITE_ONLY, operation::SEND_ONLY][k as usize % 2];
                let mut packet = packet(&pair, operation, k);
                if k == wrong {
                    // A key that is not there, or more bytes than the receive has.
                    packet.rkey = 6;
                    packet.payload = vec![9; [64, 65][k as usize % 2]];
                }
                around.send(&packet, 7, &mut random);
            }
            around.drain();
            let what = format!("packet {wrong} is wrong, seed {seed}");
            let syndrome = [0x62, 0x61][wrong as usize % 2];
            let mut expected: Vec<_> = (0..wrong).map(|k| (0x1f, k)).collect();
            expected.push((syndrome, wrong));
            assert_eq!(answers(&mut around, &pair), expected, "{what}");
            assert_eq!(around.broken, [7], "{what}");
            assert_eq!(*around.counted.borrow(), [5 - u64::from(wrong), 0], "{what}");
            // The receives of those behind it are not used up.
            let used = (wrong as usize).div_ceil(2);
            let sends = wrong as usize / 2;
            assert_eq!(around.card.completed.len(), used, "{what}");
            assert!(around.card.completed[..sends].iter().all(|c| c.2 == 0), "{what}");
            assert_eq!(around.card.queues[&7].len(), 6 - used, "{what}");
            for k in 0..6 {
                let at = if k % 2 == 0 { 64 * k } else { 0x1000 + 64 * (k / 2) };
                let bytes = if (k as u32) < wrong { k as u8 + 1 } else { 0 };
                assert_eq!(around.card.memory[at..at + 64], [bytes; 64], "{what}");
            }
            assert_eq!(around.card.flushed, around.card.returned, "{what}");
            returned += around.card.returned;
        }
    }
    assert!(returned > 20, "{returned} receives were taken ahead in vain");
}
