//! Writes of the host while packets come.

use super::*;

#[test]
fn queue_pairs_that_begin_anew_in_the_middle_of_traffic_take_what_comes_then() {
    let library = library();
    let mut fresh = 0;
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        let mut lab = Lab::default();
        around.card.memory = vec![0; SIZE as usize];
        for round in 0..60 {
            around.card.loose = true;
            let mut pair = Pair::random(5, &mut random, 0.05);
            if round == 0 {
                around.write_pair(&pair);
            }
            make_keys(&mut around, &mut lab, &mut pair, &mut random, 0.0);
            post(&mut around, &mut lab, pair.queue(), 20, &mut random, 0.0);
            // Packets of the one before may still be under way, and those of this one come too early.
            let early = random.below(30);
            for _ in 0..early {
                let packet = pair.peer.next(pair.attributes.rq_psn, &mut random);
                around.send(&packet, pair.index, &mut random);
            }
            for _ in 0..random.below(60) {
                around.step();
            }
            around.write_pair(&pair);
            around.drain();
            around.forget();
            around.bench.take(around.invalidate);
            around.broken.clear();
            // A reset gives back what is in use.
            around.card.loose = false;
            around.card.used.clear();
            around.card.completed.clear();
            around.write_pair(&pair);

            // From here on the block behaves as after power-up.
            let mut oracle = Oracle::new(&mut random);
            oracle.lab.queues = around.card.queues.clone();
            oracle.lab.keys = lab.keys.clone();
            oracle.lab.regions = lab.regions.clone();
            *oracle.lab.memory.borrow_mut() = around.card.memory.clone();
            let (psn, flow) = (pair.attributes.rq_psn, pair.peer.flow);
            let keys = std::mem::take(&mut pair.peer.keys);
            pair.peer = Peer::new(flow, psn, 0.05);
            pair.peer.keys = keys;
            *around.counted.borrow_mut() = [0; 2];
            // A key that was made invalid stays so.
            for entry in lab.keys.values() {
                around.write_key(entry);
            }
            oracle.pairs.push(pair);
            for _ in 0..20 {
                let pair = &mut oracle.pairs[0];
                let packet = pair.peer.next(pair.responder.expected(), &mut random);
                oracle.take(&packet);
                around.send(&packet, 5, &mut random);
            }
            around.drain();
            compare(&mut around, &mut oracle, &format!("in round {round} of seed {seed}"));
            around.card.used.clear();
            fresh += oracle.outcomes[0];
        }
    }
    assert!(fresh > 500, "{fresh} packets were executed");
}

#[test]
fn an_entry_is_valid_from_its_last_word_to_the_next_one_that_is_written() {
    let library = library();
    let mut around = Around::new(&library, 1, (0.0, 0.0));
    let mut random = Random::new(1);
    let mut pair = Pair::random(7, &mut random, 0.0);
    while pair.peer.flow.transport != Transport::Uc {
        pair = Pair::random(7, &mut random, 0.0);
    }
    pair.attributes.rights = rights::ALL as u8;
    pair.peer.keys.push((1, world::BASE, 100));
    let mut dropped = 0;
    // A WRITE of no bytes, which needs no key; UC takes any first packet.
    let mut check = |around: &mut Around<'_>, taken: bool, what: &str| {
        let mut packet = pair.peer.clone().next(1, &mut Random::new(4));
        packet.opcode = Transport::Uc.opcode_bits() | operation::WRITE_ONLY;
        (packet.payload, packet.len, packet.pad) = (Vec::new(), 0, 0);
        around.send(&packet, pair.index, &mut random);
        around.drain();
        dropped += u64::from(!taken);
        assert_eq!(*around.counted.borrow(), [dropped, 0], "{what}");
    };
    let (qp, entry, attributes) = (pair.index, pair.entry, pair.attributes);
    check(&mut around, false, "nothing is written");
    around.write_entry(ATTRIBUTES_TABLE, qp, &attributes.to_bytes());
    check(&mut around, false, "there is no queue pair");
    around.write_entry(QUEUE_PAIR_TABLE, qp, &entry.to_bytes());
    check(&mut around, true, "both are written");
    for (table, last, name) in
        [(QUEUE_PAIR_TABLE, 15, "entry"), (ATTRIBUTES_TABLE, 7, "attributes")]
    {
        for word in 0..last {
            // The same as before, but for those that are not looked at.
            let bytes = match table {
                QUEUE_PAIR_TABLE => entry.to_bytes().to_vec(),
                _ => attributes.to_bytes().to_vec(),
            };
            let old = &bytes[4 * word as usize..][..4];
            around.write(table, qp, word, u32::from_le_bytes(old.try_into().unwrap()));
            check(&mut around, false, &format!("word {word} of the {name} is written"));
            around.write(table, qp, last, 1 + word as u32 % 2);
            check(&mut around, true, &format!("the last word of the {name} is written"));
        }
        for state in [0, 3] {
            around.write(table, qp, last, state);
            check(&mut around, false, &format!("state {state} of the {name}"));
        }
        around.write(table, qp, last, 1);
        check(&mut around, true, &format!("the {name} is valid again"));
    }
    // Writes to other entries have no effect, except for the reset, which clears all.
    around.write(QUEUE_PAIR_TABLE, qp + 1, 15, 0);
    around.write(ATTRIBUTES_TABLE, qp + 1, 7, 0);
    check(&mut around, true, "others are written");
    around.errors.borrow_mut().insert(qp);
    check(&mut around, false, "it is in error");
    around.errors.borrow_mut().clear();
    check(&mut around, true, "it is not");
    clear_tables(&mut around.bench);
    check(&mut around, false, "all are cleared");
}

#[test]
fn what_is_under_way_when_a_queue_pair_begins_anew_leaves_no_trace() {
    let library = library();
    let mut flushed = 0;
    for (seed, stalls) in [(1, (0.0, 0.0)), (2, (0.0, 0.6))] {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        around.card.memory = vec![0; SIZE as usize];
        let mut pair = Pair::random(9, &mut random, 0.0);
        while pair.peer.flow.transport != Transport::Rc {
            pair = Pair::random(9, &mut random, 0.0);
        }
        (pair.shared, pair.attributes.receive_queue) = (false, 9);
        (pair.attributes.receives, pair.attributes.rights) = (1, rights::ALL as u8);
        pair.attributes.rq_psn = 100;
        pair.peer.keys.push((1, world::BASE, 100));
        around.write_pair(&pair);
        for round in 0..120 {
            let operation = [operation::WRITE_ONLY, operation::SEND_ONLY][round % 2];
            let mut send = |around: &mut Around<'_>, psn: u32| {
                let posted = Posted {
                    name: 1,
                    addr: world::BASE,
                    len: 100,
                    malformed: None,
                    append: None,
                    pieces: false,
                };
                around.card.queues.entry(9).or_default().push_back(posted);
                let mut packet = pair.peer.clone().next(100, &mut Random::new(4));
                (packet.opcode, packet.psn, packet.ack_req) = (operation, psn, true);
                (packet.payload, packet.len, packet.pad) = (Vec::new(), 0, 0);
                around.send(&packet, pair.index, &mut random);
            };
            send(&mut around, 100);
            around.drain();
            send(&mut around, 101);
            for _ in 0..round / 2 % 30 {
                around.step();
            }
            // The attributes stay as they are, and are valid all the time.
            around.write(ATTRIBUTES_TABLE, pair.index, 7, 1);
            around.drain();
            around.forget();
            send(&mut around, 100);
            around.drain();
            let answers = std::mem::take(&mut around.answers);
            let [answer] = &answers[..] else { panic!("{answers:?} in round {round}") };
            let fields = ["syndrome", "psn", "msn"].map(|field| answer.u64(field));
            assert_eq!(fields, [0x1f, 100, 1], "round {round} of seed {seed}");
            // Each receive has completed, whole or given back.
            assert!(around.card.used.is_empty(), "round {round} of seed {seed}");
            let completed = std::mem::take(&mut around.card.completed);
            flushed += completed.iter().filter(|entry| entry.2 == 5).count();
            assert!(completed.iter().all(|entry| [0, 5].contains(&entry.2)), "{completed:?}");
            around.write(ATTRIBUTES_TABLE, pair.index, 7, 1);
        }
    }
    assert!(flushed > 5, "{flushed} receives were given back");
}

/// The host writes to a queue pair's entry while the answer to a packet waits: the packetizer sees that by the stamp.
#[test]
fn an_answer_has_the_stamp_of_the_entry_that_its_packet_was_checked_with() {
    let library = library();
    let mut around = Around::new(&library, 1, (0.0, 0.0));
    let mut random = Random::new(1);
    let mut pair = Pair::random(7, &mut random, 0.0);
    while pair.peer.flow.transport != Transport::Rc {
        pair = Pair::random(7, &mut random, 0.0);
    }
    pair.attributes.rights = rights::ALL as u8;
    pair.peer.keys.push((1, world::BASE, 100));
    around.write_pair(&pair);
    let before = around.stamp(pair.index);
    around.bench.stall_monitor(around.answer, 1.0);
    for k in 0..2 {
        let mut packet = pair.peer.clone().next(1, &mut Random::new(4));
        (packet.opcode, packet.ack_req) = (operation::WRITE_ONLY, true);
        packet.psn = (pair.attributes.rq_psn + k) & 0xff_ffff;
        (packet.payload, packet.len, packet.pad) = (Vec::new(), 0, 0);
        around.send(&packet, pair.index, &mut random);
        (0..40).for_each(|_| around.step());
        around.write_entry(QUEUE_PAIR_TABLE, pair.index, &pair.entry.to_bytes());
    }
    let after = around.stamp(pair.index);
    around.bench.stall_monitor(around.answer, 0.0);
    around.drain();
    let stamps: Vec<_> = around.answers.iter().map(|answer| answer.u64("stamp")).collect();
    assert_eq!(stamps, [before, before + 16]);
    assert_eq!(after, before + 32);
}
