//! Timeouts, queue pairs that are written anew, and packets that pass.

use super::*;

/// Cycles of 4.096 us.
const SHORTEST: u64 = 1_024;
/// Cycles in which every queue pair's clock is looked at.
const ROUND: u64 = 3 * 4_096 + 500;

#[test]
fn a_timeout_sends_everything_again_until_tries_are_used_up() {
    let library = library();
    let mut net = net(&library, 1);
    net.set(7, &Setting { retry_cnt: 2, timeout: 5, ..KEEPS });
    for psn in 10..15 {
        net.give(7, psn, psn == 14);
    }
    let all: Vec<_> = (10..15).map(|psn| (7, psn)).collect();
    assert_eq!(net.settle(200), all);
    // The packets were sent at the beginning of the last run.
    for begun in [200, 100] {
        let mut waited = begun;
        let mut came = Vec::new();
        while came.is_empty() {
            came = net.settle(16);
            waited += 16;
        }
        let time = 32 * SHORTEST;
        assert!((time - 256..time + ROUND).contains(&waited), "after {waited} cycles");
        came.extend(net.settle(100));
        assert_eq!(came, all);
        assert!(net.told().is_empty());
    }
    let rest = net.settle(32 * SHORTEST + ROUND);
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(net.told(), [(7, 10, syndrome::NAK_PSN)]);
    assert_eq!(net.pages_in_use(), 0);
}

#[test]
fn the_time_begins_with_a_packet_that_asks_and_anew_with_progress() {
    let library = library();
    let mut net = net(&library, 2);
    net.set(7, &Setting { timeout: 6, ..KEEPS });
    net.give(7, 10, false);
    assert_eq!(net.settle(3 * 64 * SHORTEST), [(7, 10)], "nobody was asked");
    net.give(7, 11, true);
    net.give(7, 12, true);
    assert_eq!(net.settle(40 * SHORTEST), [(7, 11), (7, 12)]);
    net.answer(7, 11, syndrome::ACK);
    assert!(net.settle(60 * SHORTEST).is_empty(), "there was progress");
    assert_eq!(net.settle(4 * SHORTEST + ROUND), [(7, 12)]);
    net.answer(7, 12, syndrome::ACK);
    assert!(net.settle(2 * 64 * SHORTEST).is_empty());
    assert_eq!(net.pages_in_use(), 0);
}

#[test]
fn without_a_timeout_nothing_is_sent_again_by_the_clock() {
    let library = library();
    let mut net = net(&library, 3);
    net.set(7, &Setting { timeout: 0, ..KEEPS });
    net.give(7, 10, true);
    assert_eq!(net.settle(200_000), [(7, 10)]);
}

#[test]
fn queue_pairs_that_do_not_keep_pass_with_their_acknowledgements() {
    let library = library();
    let mut net = net(&library, 4);
    let settings = [
        Setting { transport: Transport::Uc, ..KEEPS },
        Setting { transport: Transport::Ud, ..KEEPS },
        Setting { state: 0, ..KEEPS },
        Setting { retry_cnt: 0, rnr_retry: 0, timeout: 1, ..KEEPS },
    ];
    for (qp, setting) in settings.iter().enumerate() {
        net.set(qp as u64, setting);
    }
    // One queue pair is closed, and one was never written.
    net.set(4, &KEEPS);
    net.give(4, 0, true);
    net.settle(60);
    net.answer(4, 0, syndrome::NAK_REMOTE_ACCESS);
    net.settle(60);
    assert_eq!(net.told(), [(4, 0, syndrome::NAK_REMOTE_ACCESS)]);
    assert_eq!(net.closed(4), [1; CLOSED_READERS]);
    assert_eq!(net.closed(3), [0; CLOSED_READERS]);
    net.stamps.insert(5, 5);
    for qp in 0..6 {
        net.give(qp, 1, true);
        net.give(qp, 2, true);
        assert_eq!(net.settle(60), [(qp, 1), (qp, 2)]);
        assert_eq!(net.pages_in_use(), 0, "queue pair {qp}");
        let answers = [(qp, 1, syndrome::ACK), (qp, 99, syndrome::NAK_PSN), (qp, 2, 0x21)];
        for (qp, psn, syndrome) in answers {
            net.answer(qp, psn, syndrome);
        }
        assert!(net.settle(60).is_empty());
        assert_eq!(net.told(), answers);
    }
    assert!(net.settle(100_000).is_empty());
}

#[test]
fn what_is_written_anew_or_closed_gives_its_pages_back() {
    let library = library();
    let mut net = net(&library, 5);
    for round in 0..4 {
        net.set(9, &KEEPS);
        net.set(10, &KEEPS);
        for psn in 0..40 {
            net.give(9, psn, psn % 7 == 0);
            net.give(10, psn, psn % 7 == 0);
        }
        net.settle(500);
        assert_eq!(net.pages_in_use(), 80);
        if round % 2 == 1 {
            // The queue pair is in the middle of sending again.
            net.answer(9, 4, syndrome::NAK_PSN);
            net.answer(10, 0, syndrome::ACK);
            net.settle(30 + round * 7);
        }
        match round / 2 {
            0 => net.set(9, &KEEPS),
            _ => {
                net.settle(400);
                net.answer(9, 12, syndrome::NAK_REMOTE_ACCESS);
            }
        }
        net.settle(600);
        let rest = if round % 2 == 1 { 39 } else { 40 };
        assert_eq!(net.pages_in_use(), rest, "the other's stay");
        net.answer(10, 39, syndrome::ACK);
        assert!(net.settle(300).is_empty());
        assert_eq!(net.pages_in_use(), 0);
        net.told();
        // All state of the queue pair was forgotten.
        net.set(9, &KEEPS);
        net.settle(20);
        assert_eq!(net.closed(9), [0; CLOSED_READERS]);
        net.give(9, 1_000, true);
        assert_eq!(net.settle(300), [(9, 1_000)]);
        net.answer(9, 1_000, syndrome::ACK);
        net.settle(100);
        assert_eq!(net.told(), [(9, 1_000, syndrome::ACK)]);
        assert_eq!(net.pages_in_use(), 0);
    }
}

#[test]
fn a_packet_of_a_context_that_is_gone_is_not_kept() {
    let library = library();
    let mut net = net(&library, 6);
    net.set(9, &KEEPS);
    let old = net.stamps[&9];
    net.set(9, &KEEPS);
    let new = net.stamps.insert(9, old);
    net.give(9, 5, true);
    assert_eq!(net.settle(100), [(9, 5)], "the packetizer drops it");
    assert_eq!(net.pages_in_use(), 0);
    net.stamps.insert(9, new.expect("it was written"));
    net.give(9, 6, true);
    assert_eq!(net.settle(100), [(9, 6)]);
    assert_eq!(net.pages_in_use(), 1);
}

#[test]
fn an_acknowledgement_right_behind_its_packet_finds_it() {
    let library = library();
    let mut net = net(&library, 17);
    net.set(100, &KEEPS);
    net.set(101, &KEEPS);
    for k in 0..60 {
        // Another packet has its page before it.
        net.give(101, k, true);
        net.settle(40);
        net.answer(101, k, syndrome::ACK | 31);
        net.settle(40);
        net.give(100, 1000 + k, true);
        for _ in 0..k % 6 {
            net.bench.step();
        }
        net.answer(100, 1000 + k, syndrome::ACK | 31);
        net.settle(60);
        let found = net.told().len() == 2;
        assert_eq!(net.pages_in_use(), u64::from(!found) as usize, "round {k}");
        // An acknowledgement that comes before its packet is ignored.
        assert_eq!(found, k % 6 > 0, "round {k}");
        if !found {
            net.answer(100, 1000 + k, syndrome::ACK | 31);
            net.settle(60);
            assert_eq!((net.told().len(), net.pages_in_use()), (1, 0), "round {k}");
        }
    }
}

#[test]
fn a_packet_right_behind_a_refusal_is_not_kept() {
    let library = library();
    let mut net = net(&library, 19);
    for k in 0..8 {
        let qp = 100 + k;
        net.set(qp, &KEEPS);
        net.give(qp, 0, true);
        net.settle(40);
        net.answer(qp, 0, syndrome::NAK_REMOTE_ACCESS);
        for _ in 0..k {
            net.bench.step();
        }
        net.give(qp, 1, true);
        net.settle(100);
        assert_eq!(net.told(), [(qp, 0, syndrome::NAK_REMOTE_ACCESS)], "{k} cycles behind");
        assert_eq!((net.closed(qp), net.pages_in_use()), ([1; CLOSED_READERS], 0), "{k}");
    }
}

#[test]
fn while_many_packets_are_kept_each_asks_for_an_acknowledgement() {
    let library = library();
    let mut net = net(&library, 12);
    net.set(3, &KEEPS);
    net.set(4, &Setting { transport: Transport::Uc, ..KEEPS });
    let asks = |net: &mut Net<'_>, qp: u64, psns: std::ops::Range<u64>| -> Vec<u64> {
        for psn in psns {
            net.give(qp, psn, false);
        }
        net.bench.run(400);
        net.bench.take(net.item).iter().map(|beat| beat.u64("ack_req")).collect()
    };
    assert_eq!(asks(&mut net, 3, 0..PRESSED), [0; PRESSED as usize]);
    assert_eq!(asks(&mut net, 3, PRESSED..PRESSED + 3), [1; 3]);
    assert_eq!(asks(&mut net, 4, 0..3), [0; 3], "nobody acknowledges on UC");
    net.answer(3, PRESSED + 2, syndrome::ACK);
    net.bench.run(400);
    assert_eq!(asks(&mut net, 3, PRESSED + 3..PRESSED + 6), [0; 3]);
}

#[test]
fn a_page_goes_back_once_whoever_gives_it_up_first() {
    let mut bench = Bench::new(testing::library("page_use", PageUse::default).instance(1), 1);
    bench.set("wipe_valid", 1);
    for page in 0..PAGES {
        bench.set("wipe_page", page);
        bench.step();
    }
    bench.set("wipe_valid", 0);
    let freed: Rc<RefCell<Vec<u64>>> = Rc::default();
    let shown = Rc::clone(&freed);
    bench.observe(move |model, _| {
        if model.get("free_valid") == 1 {
            shown.borrow_mut().push(model.get("free_page"));
        }
    });
    for done_at in 4..16 {
        for release_at in 4..16 {
            let page = done_at * 16 + release_at;
            for cycle in 0..30 {
                bench.set("hold_valid", u64::from(cycle == 0));
                bench.set("hold_page", page);
                bench.set("send_valid", u64::from(cycle == 1));
                bench.set("send_page", page);
                bench.set("done_valid", u64::from(cycle == done_at));
                bench.set("done_page", page);
                bench.set("ahead", page);
                bench.set("release_valid", u64::from(cycle == release_at));
                bench.set("release_page", page);
                bench.step();
                let early = cycle < done_at.max(release_at);
                assert!(!early || freed.borrow().is_empty(), "{done_at}, {release_at}: too soon");
            }
            assert_eq!(freed.take(), [page], "done in {done_at}, released in {release_at}");
        }
    }
}

#[test]
fn an_rnr_nak_pauses_for_as_long_as_it_says() {
    let library = library();
    let mut net = net(&library, 8);
    net.set(7, &KEEPS);
    for psn in 10..15 {
        net.give(7, psn, psn == 14);
    }
    let all: Vec<_> = (10..15).map(|psn| (7, psn)).collect();
    assert_eq!(net.settle(200), all);
    for (code, ten_us) in [(1, 1), (5, 6)] {
        net.answer(7, 12, syndrome::RNR_NAK | code);
        let mut waited = 0;
        let mut came = Vec::new();
        while came.is_empty() {
            came = net.settle(16);
            waited += 16;
        }
        let time = ten_us * 2_500;
        assert!((time..time + ROUND + 256).contains(&waited), "{code}: after {waited} cycles");
        came.extend(net.settle(100));
        assert_eq!(came, all[2..]);
    }
    assert_eq!(net.told(), [(7, 11, syndrome::ACK | 31)]);
    net.answer(7, 12, syndrome::RNR_NAK | 1);
    assert!(net.settle(100).is_empty());
    assert_eq!(net.told(), [(7, 12, syndrome::RNR_NAK | 1)]);
    assert_eq!(net.pages_in_use(), 0);
}

#[test]
fn what_comes_while_packets_are_sent_again_waits_for_its_turn() {
    let library = library();
    let mut net = net(&library, 9);
    net.set(7, &KEEPS);
    for psn in 10..12 {
        net.give(7, psn, true);
    }
    net.settle(100);
    net.answer(7, 10, syndrome::RNR_NAK | 1);
    net.settle(50);
    net.give(7, 12, true);
    assert!(net.settle(100).is_empty(), "in the pause");
    net.bench.stall_monitor(net.item, 1.0);
    net.bench.run(2_500 + ROUND);
    let flags = |beat: &Beat| ["psn", "again", "late"].map(|field| beat.u64(field));
    net.bench.stall_monitor(net.item, 0.0);
    net.bench.run(50);
    let came: Vec<_> = net.bench.take(net.item).iter().map(flags).collect();
    assert_eq!(came, [[10, 1, 1], [11, 1, 1], [12, 0, 1]]);
    net.give(7, 13, true);
    net.bench.run(50);
    let came: Vec<_> = net.bench.take(net.item).iter().map(flags).collect();
    assert_eq!(came, [[13, 0, 0]]);
}

/// Thus a packet that is lost once more is sent again before many others are.
#[test]
fn packets_are_sent_again_while_the_packetizer_has_few() {
    let library = library();
    let mut net = net(&library, 40);
    net.set(7, &KEEPS);
    net.set(8, &KEEPS);
    for psn in 0..20 {
        net.give(7, psn, true);
    }
    assert_eq!(net.settle(300).len(), 20);
    net.answer(7, 0, syndrome::NAK_PSN);
    net.bench.run(300);
    let came = net.bench.take(net.item);
    let numbers: Vec<_> = came.iter().map(|beat| beat.u64("psn")).collect();
    assert!((FEW..FEW + 2).contains(&(numbers.len() as u64)), "{numbers:?}");
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "{numbers:?}");
    // Packets of other queue pairs wait as well, and have every second turn.
    for psn in 0..5 {
        net.give(8, psn, false);
    }
    net.bench.run(300);
    assert!(net.bench.take(net.item).is_empty());
    for beat in came {
        net.bench.send(net.done, Beat::from([("page", beat.u64("page"))]));
    }
    let rest = net.settle(600);
    let again = numbers.len() as u64..20;
    assert!(rest.iter().filter(|(qp, _)| *qp == 7).map(|(_, psn)| *psn).eq(again), "{rest:?}");
    assert_eq!(rest[..8].iter().filter(|(qp, _)| *qp == 8).count(), 4, "{rest:?}");
    net.answer(7, 19, syndrome::ACK);
    net.answer(8, 4, syndrome::ACK);
    net.settle(300);
    assert_eq!(net.pages_in_use(), 0);
}

/// Then each list has its turn a cycle after the one before.
#[test]
fn lists_that_have_waited_send_no_more_than_the_packetizer_may_have() {
    let library = library();
    let mut net = net(&library, 41);
    for qp in 0..13 {
        net.set(qp, &KEEPS);
    }
    for qp in 0..12 {
        net.give(qp, 0, true);
    }
    assert_eq!(net.settle(300).len(), 12);
    for psn in 0..6 {
        net.give(12, psn, false);
    }
    net.bench.run(300);
    let others = net.bench.take(net.item);
    assert_eq!(others.len(), 6);
    for qp in 0..12 {
        net.answer(qp, 0, syndrome::NAK_PSN);
    }
    net.bench.run(300);
    assert!(net.bench.take(net.item).is_empty());
    for beat in others {
        net.bench.send(net.done, Beat::from([("page", beat.u64("page"))]));
    }
    net.bench.run(300);
    let came = net.bench.take(net.item);
    assert!((FEW..FEW + 3).contains(&(came.len() as u64)), "{} packets", came.len());
    for beat in &came {
        net.bench.send(net.done, Beat::from([("page", beat.u64("page"))]));
    }
    assert_eq!(net.settle(600).len(), 12 - came.len());
}

#[test]
fn numbers_go_on_behind_the_highest_one_with_0() {
    let library = library();
    let mut net = net(&library, 31);
    net.set(7, &KEEPS);
    let numbers = [0xff_fffe, 0xff_ffff, 0, 1];
    let all: Vec<_> = numbers.iter().map(|psn| (7, *psn)).collect();
    for psn in numbers {
        net.give(7, psn, true);
    }
    assert_eq!(net.settle(100), all);
    net.answer(7, 0xff_ffff, syndrome::NAK_PSN);
    assert_eq!(net.settle(200), all[1..]);
    assert_eq!(net.told(), [(7, 0xff_fffe, syndrome::ACK | 31)]);
    net.answer(7, 0, syndrome::ACK);
    net.settle(100);
    assert_eq!(net.told(), [(7, 0, syndrome::ACK)]);
    assert_eq!(net.pages_in_use(), 1, "1 is not acknowledged");
    net.answer(7, 1, syndrome::ACK);
    net.settle(100);
    assert_eq!(net.pages_in_use(), 0);
}

#[test]
fn answers_to_what_was_never_sent_or_is_acknowledged_are_ignored() {
    let library = library();
    let mut net = net(&library, 32);
    net.set(7, &KEEPS);
    for psn in 10..13 {
        net.give(7, psn, true);
    }
    net.settle(100);
    net.answer(7, 10, syndrome::ACK);
    net.settle(50);
    assert_eq!(net.told(), [(7, 10, syndrome::ACK)]);
    // Acknowledgements of packets that were never sent, and duplicates.
    for psn in [13, 500, 0x80_0000, 10, 9, 0xff_ffff] {
        for syndrome in [syndrome::ACK, syndrome::NAK_PSN, syndrome::RNR_NAK | 1] {
            net.answer(7, psn, syndrome);
        }
        assert_eq!(net.settle(200), [], "packet {psn:#x}");
        assert_eq!(net.told(), [], "packet {psn:#x}");
        assert_eq!(net.pages_in_use(), 2, "packet {psn:#x}");
    }
    net.answer(7, 12, syndrome::ACK);
    net.settle(100);
    assert_eq!(net.pages_in_use(), 0);
}

/// Linux's soft-RoCE follows an RNR NAK with one of a lost packet.
#[test]
fn a_nak_of_a_lost_packet_does_not_end_a_pause() {
    let library = library();
    let mut net = net(&library, 33);
    net.set(7, &KEEPS);
    for psn in 10..13 {
        net.give(7, psn, true);
    }
    net.settle(100);
    // 20 us.
    net.answer(7, 10, syndrome::RNR_NAK | 2);
    net.answer(7, 10, syndrome::NAK_PSN);
    assert_eq!(net.settle(4_900), []);
    assert_eq!(net.settle(300 + ROUND), [(7, 10), (7, 11), (7, 12)], "once");
    assert_eq!(net.told(), []);
}

/// Queue pairs that the queue block must hold; see [`Hold`](crate::request::queue::Hold).
#[test]
fn a_queue_pair_is_held_while_it_keeps_as_many_as_are_free_pauses_or_gets_no_answer() {
    let library = library();
    let mut net = net(&library, 34);
    let held = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&held);
    net.bench.observe(move |model, _| {
        if model.get("hold_valid") == 1 {
            seen.borrow_mut().push((model.get("hold_qp"), model.get("hold_held") == 1));
        }
    });
    net.set(7, &KEEPS);
    net.set(8, &KEEPS);
    for psn in 0..PAGES / 2 {
        net.give(7, psn, true);
    }
    net.settle(2_000);
    assert_eq!(*held.borrow(), [], "256 are kept, and as many are free");
    net.give(7, PAGES / 2, true);
    net.settle(100);
    assert_eq!(held.take(), [(7, true)]);
    // One whose packet is lost, which the peer says; what is sent again is lost as well, and the peer says nothing.
    net.set(9, &Setting { timeout: 5, ..KEEPS });
    net.give(9, 5, true);
    net.settle(100);
    net.answer(9, 5, syndrome::NAK_PSN);
    assert_eq!(net.settle(100), [(9, 5)]);
    assert_eq!(held.take(), []);
    assert_eq!(net.settle(32 * SHORTEST + ROUND), [(9, 5)]);
    assert_eq!(held.take(), [(9, true)]);
    net.answer(9, 5, syndrome::ACK);
    net.settle(100);
    assert_eq!(held.take(), [(9, false)]);
    // The packet finds no receive.
    net.give(8, 6, true);
    net.settle(100);
    net.answer(8, 6, syndrome::RNR_NAK | 1);
    net.settle(100);
    assert_eq!(held.take(), [(8, true)]);
    net.answer(8, 6, syndrome::NAK_REMOTE_ACCESS);
    net.settle(200);
    assert_eq!(held.take(), [(8, false)]);
    net.answer(7, 9, syndrome::ACK);
    net.settle(300);
    assert_eq!(held.take(), [(7, false)]);
}

/// Peers that are reported as silent to the queue block; see [`Silence`](crate::request::queue::Silence).
#[test]
fn a_peer_is_silent_from_the_write_of_an_entry_until_something_is_acknowledged() {
    let library = library();
    let mut net = net(&library, 35);
    let told = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&told);
    net.bench.observe(move |model, _| {
        if model.get("silence_valid") == 1 {
            seen.borrow_mut().push((model.get("silence_qp"), model.get("silence_silent") == 1));
        }
    });
    net.set(7, &KEEPS);
    net.set(8, &Setting { transport: Transport::Uc, ..KEEPS });
    net.set(9, &Setting { retry_cnt: 0, rnr_retry: 0, ..KEEPS });
    net.settle(100);
    assert_eq!(told.take(), [(7, true)], "the others wait for no acknowledgement");
    for psn in 0..6 {
        net.give(7, psn, true);
    }
    net.answer(7, 0, syndrome::RNR_NAK | 1);
    net.settle(10 + ROUND);
    assert_eq!(told.take(), [], "nothing is acknowledged");
    net.answer(7, 0, syndrome::ACK);
    net.settle(100);
    assert_eq!(told.take(), [(7, false)]);
    net.answer(7, 3, syndrome::ACK);
    net.settle(100);
    assert_eq!(told.take(), [], "once");
    // Anew, with packets that are kept, and by an acknowledgement of several.
    net.set(7, &KEEPS);
    net.settle(100);
    assert_eq!(told.take(), [(7, true)]);
    for psn in 0..6 {
        net.give(7, psn, true);
    }
    net.settle(100);
    net.answer(7, 3, syndrome::ACK);
    net.settle(100);
    assert_eq!(told.take(), [(7, false)]);
    // A packet that is refused waits for no answer.
    net.set(7, &KEEPS);
    net.give(7, 0, true);
    net.settle(100);
    assert_eq!(told.take(), [(7, true)]);
    net.answer(7, 0, syndrome::NAK_REMOTE_ACCESS);
    net.settle(100);
    assert_eq!(told.take(), [(7, false)]);
    net.set(7, &Setting { transport: Transport::Uc, ..KEEPS });
    net.settle(100);
    assert_eq!(told.take(), []);
}
