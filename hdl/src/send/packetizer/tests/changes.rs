//! The host writes to queue pairs' entries while packets come.

use super::*;
use drdma_abi::completion::Status;

/// Queue pairs in use.
const PAIRS: usize = 6;

/// Model of the host's writes and the packets, cycle by cycle.
struct World {
    entries: Vec<QueuePairEntry>,
    words: u64,
    stamps: Vec<u64>,
    /// For each packet taken: it comes too late for its context.
    dropped: Vec<bool>,
    freed: Vec<usize>,
    sending: Vec<(u64, u64)>,
}

/// A word that any queue pair may have: no other transport, which would make another operation.
fn word(random: &mut Random) -> u64 {
    [0, 1, 2, 3, 4, 5, 7, 15][random.below(8) as usize]
}

fn run(seed: u64, stalls: (f64, f64), chance: f64) -> usize {
    let library = library();
    let mut random = Random::new(seed);
    let transports: Vec<_> = (0..256).map(|_| Transport::ALL[random.below(3) as usize]).collect();
    let entries = queue_pairs(&mut random, &transports);
    let mut bench = Bench::new(library.instance(seed), seed);
    bench.limit(1_000_000);
    let cfg = bench.driver("cfg");
    configure(&mut bench, cfg, &entries);
    let stamp = |qp: u64| ENTRY_WORDS * qp + ENTRY_WORDS - 1;
    let world = Rc::new(RefCell::new(World {
        entries,
        words: 256 * ENTRY_WORDS,
        stamps: (0..256).map(stamp).collect(),
        dropped: Vec::new(),
        freed: Vec::new(),
        sending: Vec::new(),
    }));
    let state = Rc::clone(&world);
    bench.observe(move |model, _| {
        let mut world = state.borrow_mut();
        if model.get("cfg_valid") == 1 && model.get("cfg_table") == 0 {
            let index = model.get("cfg_index") as usize;
            let mut bytes = world.entries[index].to_bytes();
            let data = (model.get("cfg_data") as u32).to_le_bytes();
            bytes[4 * model.get("cfg_word") as usize..][..4].copy_from_slice(&data);
            world.entries[index] = QueuePairEntry::decode(&bytes);
            world.stamps[index] = world.words;
            world.words += 1;
        }
        if model.get("packet_valid") & model.get("packet_ready") & !model.get("packet_marker") == 1
        {
            let stamp = world.stamps[model.get("packet_qp") as usize];
            world.dropped.push(stamp != model.get("packet_total") & 0xffff_ffff);
        }
        if model.get("sending_valid") == 1 {
            world.sending.push((model.get("sending_qp"), model.get("sending_psn")));
        }
        if model.get("page_free_valid") == 1 {
            world.freed.push(model.get("page_free_page") as usize);
        }
    });
    let (input, tx, sent) = (bench.driver("packet"), bench.monitor("tx"), bench.monitor("sent"));
    bench.stall(stalls);
    let (mut packets, mut frames_of) = (Vec::new(), Vec::new());
    // The packets before each end of a request.
    let mut ends = Vec::new();
    for number in 0..120 {
        while bench.pending(input) > 2 {
            bench.step();
        }
        let mut packet = packet(&mut random, &world.borrow().entries, 1);
        packet.qp = random.below(PAIRS as u64) as usize;
        let entry = world.borrow().entries[packet.qp];
        let transport = Transport::from_code(entry.transport).expect("a transport");
        packet.operation = operation::SEND_ONLY;
        (packet.reth, packet.imm) = (None, None);
        // The page's content is what the memory gives: zeros.
        packet.payload = vec![0; 1 + random.below(300) as usize];
        packet.ack_req = transport == Transport::Rc;
        let stamp = world.borrow().stamps[packet.qp];
        let beat = offer(&packet, number % 128).with("total", stamp).with("bad_dest", packet.qp);
        bench.send(input, beat);
        frames_of.push(frame(&packet, &entry));
        packets.push(packet);
        if random.chance(0.3) {
            let status = if random.chance(0.3) { 9 } else { 0 };
            let end = Beat::from([("slot", 5_u64), ("qp", 6), ("kind", 1), ("psn", 7)])
                .with("status", status as u64)
                .with("bad_dest", 3 * status as u64)
                .with("total", 0xab_cdef_0123_u64);
            bench.send(input, end.clone().with("marker", 1));
            ends.push((packets.len(), end));
        }
        if random.chance(chance) {
            let write = Beat::from([("table", 0), ("index", random.below(PAIRS as u64))]);
            bench
                .send(cfg, write.with("word", word(&mut random)).with("data", random.u64() as u32));
        }
        (0..random.below(12)).for_each(|_| bench.step());
    }
    bench.run_until(|b| b.pending(input) == 0 && b.received(sent).len() == ends.len());
    bench.run(2_000);
    let world = world.borrow();
    let kept = |k: &usize| !world.dropped[*k];
    let expected: Vec<_> = (0..120).filter(kept).map(|k| frames_of[k].clone()).collect();
    compare(&frames(&bench.take(tx)), &expected);
    let sending: Vec<_> =
        (0..120).filter(kept).map(|k| (packets[k].qp as u64, u64::from(packets[k].psn))).collect();
    assert_eq!(world.sending, sending);
    assert_eq!(world.freed, (0..120).collect::<Vec<_>>(), "every page comes back");
    // A request that lost a packet does not succeed.
    let mut from = 0;
    let ended: Vec<_> = ends
        .into_iter()
        .map(|(to, end)| {
            let lost = (from..to).find(|k| world.dropped[*k]);
            from = to;
            match (end.u64("status"), lost) {
                (0, Some(k)) => end
                    .with("status", Status::WrFlushError as u8)
                    .with("bad_dest", packets[k].qp)
                    .with("total", 0_u64),
                _ => end,
            }
        })
        .collect();
    assert_eq!(bench.take(sent), ended);
    world.dropped.iter().filter(|dropped| **dropped).count()
}

#[test]
fn packets_of_a_context_that_has_changed_are_dropped_whole() {
    let mut dropped = 0;
    for (seed, stalls) in (1..).zip(STALLS) {
        run(seed, stalls, 0.0);
        dropped += run(seed + 50, stalls, 0.4);
    }
    assert!(dropped > 40, "only {dropped} packets came too late");
}

#[test]
fn an_item_is_gone_from_the_cycle_after_a_word_of_its_queue_pair_on() {
    let mut bench = Bench::new(library().instance(1), 1);
    let cfg = bench.driver("cfg");
    let mut random = Random::new(1);
    configure(&mut bench, cfg, &queue_pairs(&mut random, &[Transport::Rc; 256]));
    let (input, sent) = (bench.driver("packet"), bench.monitor("sent"));
    // The item waits, and is not taken.
    bench.stall((0.0, 1.0));
    let stamp = 9 * ENTRY_WORDS + ENTRY_WORDS - 1;
    let item = Beat::from([("qp", 9_u64), ("kind", 0), ("total", stamp), ("marker", 1)]);
    bench.send(input, item);
    bench.run_until(|b| b.get("sent_valid") == 1);
    assert_eq!(bench.get("gone"), 0);
    for (index, gone) in [(8, 0), (10, 0), (9, 1)] {
        bench.send(cfg, Beat::from([("table", 0), ("index", index), ("word", 12), ("data", 0)]));
        bench.run_until(|b| b.pending(cfg) == 0);
        bench.run(2);
        assert_eq!(bench.get("gone"), gone, "after a word of queue pair {index}");
    }
    bench.stall((0.0, 0.0));
    bench.run_until_received(sent, 1);
}

#[test]
fn late_packets_are_told_once_and_concern_no_request_that_is_at_hand() {
    let mut bench = Bench::new(library().instance(2), 2);
    let cfg = bench.driver("cfg");
    let mut random = Random::new(2);
    let entries = queue_pairs(&mut random, &[Transport::Rc; 256]);
    configure(&mut bench, cfg, &entries);
    let told: Rc<RefCell<Vec<u64>>> = Rc::default();
    let freed: Rc<RefCell<Vec<u64>>> = Rc::default();
    let (tells, frees) = (Rc::clone(&told), Rc::clone(&freed));
    bench.observe(move |model, _| {
        if model.get("sending_valid") == 1 {
            tells.borrow_mut().push(model.get("sending_psn"));
        }
        if model.get("page_free_valid") == 1 {
            frees.borrow_mut().push(model.get("page_free_page"));
        }
    });
    // A word that no header has.
    bench.send(cfg, Beat::from([("table", 0), ("index", 9), ("word", 12), ("data", 0)]));
    bench.run_until(|b| b.pending(cfg) == 0);
    let (input, tx, sent) = (bench.driver("packet"), bench.monitor("tx"), bench.monitor("sent"));
    let mut expected = Vec::new();
    // Queue pair, `again`, `late`; those of 9 are of a context that is gone.
    let all = [(8, 0, 0), (8, 1, 1), (9, 1, 1), (9, 0, 1), (8, 0, 1)];
    for (number, (qp, again, late)) in all.into_iter().enumerate() {
        let packet = Packet {
            payload: vec![0; 40],
            qp,
            operation: operation::SEND_ONLY,
            ack_req: true,
            psn: 100 + number as u32,
            reth: None,
            imm: None,
            solicited: false,
            slot: 0,
        };
        bench.send(input, offer(&packet, number).with("again", again).with("late", late));
        if qp == 8 {
            expected.push(frame(&packet, &entries[8]));
        }
    }
    let end = Beat::from([("slot", 5_u64), ("qp", 8), ("kind", 1), ("psn", 7)]);
    bench.send(input, end.with("total", 80_u64).with("marker", 1));
    bench.run_until_received(sent, 1);
    compare(&frames(&bench.take(tx)), &expected);
    assert_eq!(*told.borrow(), [100, 104]);
    assert_eq!(*freed.borrow(), [0, 1, 2, 3, 4]);
    let end = &bench.take(sent)[0];
    assert_eq!((end.u64("status"), end.u64("total")), (Status::Success as u64, 80));
}
