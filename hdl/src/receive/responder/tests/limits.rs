//! How many READs and atomics may wait for their answers.

use super::*;

/// An RC queue pair that keeps `limit` of them, and may do everything.
fn pair(around: &mut Around<'_>, index: u64, limit: u8) -> Pair {
    let mut random = Random::new(u64::from(limit));
    let mut pair = Pair::random(index, &mut random, 0.0);
    while pair.peer.flow.transport != Transport::Rc {
        pair = Pair::random(index, &mut random, 0.0);
    }
    pair.attributes.rights = rights::ALL as u8;
    pair.attributes.max_dest_rd_atomic = limit;
    pair.attributes.rq_psn = 1_000;
    pair.peer.keys.push((1, world::BASE, 100));
    around.write_pair(&pair);
    let (pd, lkey) = (pair.entry.pd, pair.index as u32);
    let (addr, rights) = (world::BASE, rights::ALL);
    around.write_key(&MemoryRegionEntry { addr, len: SIZE, lkey, rights, pd, valid: 1 });
    pair
}

/// A READ or an atomic of 8 B, in turns; gives the syndrome of its answer, if there is one.
fn ask(around: &mut Around<'_>, pair: &Pair, psn: u32) -> Option<u64> {
    let codes = [operation::READ_REQUEST, operation::FETCH_AND_ADD, operation::COMPARE_AND_SWAP];
    let mut packet = pair.peer.clone().next(1, &mut Random::new(4));
    packet.opcode = codes[psn as usize % 3];
    (packet.psn, packet.addr, packet.len) = (psn, world::BASE + 16, 8);
    packet.rkey = pair.index as u32;
    (packet.payload, packet.pad, packet.ack_req) = (Vec::new(), 0, false);
    around.send(&packet, pair.index, &mut Random::new(1));
    around.drain();
    let answers = std::mem::take(&mut around.answers);
    answers.last().map(|answer| answer.u64("syndrome"))
}

fn tell(around: &mut Around<'_>, count: usize) {
    for _ in 0..count {
        let told = around.held.as_mut().unwrap().pop_front().expect("one has not left");
        around.bench.send(around.answered, told);
        (0..4).for_each(|_| around.step());
    }
}

#[test]
fn one_more_than_are_kept_breaks_its_queue_pair() {
    let library = library();
    // A limit beyond 16 counts as 16.
    for (limit, most) in [(1, 1), (2, 2), (15, 15), (16, 16), (17, 16), (255, 16)] {
        let mut around = Around::new(&library, 1, (0.0, 0.0));
        around.card.memory = vec![0; SIZE as usize];
        around.held = Some(VecDeque::new());
        let pair = pair(&mut around, 9, limit);
        let mut psn = 1_000;
        // Twice as many, as their answers leave; and some come again, and do not count.
        for k in 0..3 * most {
            if k >= most {
                tell(&mut around, 1);
            }
            assert_eq!(ask(&mut around, &pair, psn), Some(0x1f), "{k} of {limit}");
            assert_eq!(ask(&mut around, &pair, psn), Some(0x1f), "{k} of {limit} again");
            psn += 1;
        }
        assert!(around.broken.is_empty());
        assert_eq!(ask(&mut around, &pair, psn), Some(0x61), "{limit}");
        assert_eq!(around.broken, [9]);
    }
}

#[test]
fn what_waited_before_a_queue_pair_began_anew_does_not_count() {
    let library = library();
    let mut around = Around::new(&library, 1, (0.0, 0.0));
    around.card.memory = vec![0; SIZE as usize];
    around.held = Some(VecDeque::new());
    let pair = pair(&mut around, 4_095, 4);
    for life in 0..8 {
        around.write_pair(&pair);
        for k in 0..4 {
            assert_eq!(ask(&mut around, &pair, 1_000 + k), Some(0x1f), "{k} of life {life}");
        }
        assert_eq!(ask(&mut around, &pair, 1_004), Some(0x61), "of life {life}");
    }
    // The answers of all lives but the last leave, then one of that.
    tell(&mut around, 7 * 4);
    around.write_pair(&pair);
    assert_eq!(ask(&mut around, &pair, 1_000), Some(0x1f));
}

#[test]
fn an_atomic_waits_for_a_slot_and_what_is_behind_it_too() {
    let library = library();
    let mut around = Around::new(&library, 1, (0.0, 0.0));
    around.card.memory = vec![0; SIZE as usize];
    let pair = pair(&mut around, 3, 16);
    let slots = std::mem::take(&mut around.free);
    for psn in [1_001, 1_002] {
        let mut packet = pair.peer.clone().next(1, &mut Random::new(4));
        packet.opcode = if psn == 1_001 { operation::FETCH_AND_ADD } else { operation::WRITE_ONLY };
        packet.psn = psn - 1;
        (packet.addr, packet.len, packet.rkey) = (world::BASE, 0, 3);
        (packet.payload, packet.pad, packet.ack_req) = (Vec::new(), 0, true);
        around.send(&packet, pair.index, &mut Random::new(1));
    }
    (0..300).for_each(|_| around.step());
    assert_eq!(around.answers, [], "there is no slot");
    around.free = slots;
    around.drain();
    let psns: Vec<_> = around.answers.iter().map(|answer| answer.u64("psn")).collect();
    assert_eq!(psns, [1_000, 1_001]);
}
