//! The host enables a queue, or makes a queue pair ready, while requests from before fail: what is new is neither
//! halted nor put in the error state.

use super::*;

/// The cycles of a run, and in which of them a pulse named an index.
struct Watch {
    cycle: i64,
    halted: Vec<(i64, u64)>,
    errors: Vec<(i64, u64)>,
}

impl Watch {
    fn new() -> Self {
        Self { cycle: 0, halted: Vec::new(), errors: Vec::new() }
    }

    /// A cycle. Control takes the pulses and the host's words in the same one, and the host wins.
    fn step(&mut self, card: &mut Card) {
        for (name, log) in
            [("set_queue_halted", &mut self.halted), ("set_qp_error", &mut self.errors)]
        {
            if card.bench.get(format!("{name}_valid").as_str()) == 1 {
                log.push((self.cycle, card.bench.get(format!("{name}_index").as_str())));
            }
        }
        card.bench.step();
        self.cycle += 1;
    }

    /// Runs `cycles`, with a word that the host writes in cycle `at`.
    fn run(&mut self, card: &mut Card, cycles: i64, at: i64, table: u64, index: u64, word: u64) {
        for _ in 0..cycles {
            let writes = u64::from(self.cycle == at);
            for (port, value) in
                [("valid", writes), ("table", table), ("index", index), ("word", word), ("data", 1)]
            {
                card.bench.set(format!("cfg_{port}").as_str(), value);
            }
            self.step(card);
        }
    }
}

/// The word of a send queue's entry that enables it, and of a queue pair's that makes it ready.
const ENABLE: u64 = 7;
const STATE: u64 = 15;

/// A queue, and another that differs from it in a high bit alone.
const QUEUE: u64 = 0x804;
const OTHER: u64 = 0x004;
/// A queue pair, and another that differs from it in a high bit alone.
const PAIR: u64 = 0x809;
const OTHER_PAIR: u64 = 0x009;

/// Requests that wait for packets of `PAIR`: two of `QUEUE`, and one of `OTHER` between them.
fn waiting(card: &mut Card) {
    card.completion_queue(0, 0x1000, 8);
    [QUEUE, OTHER].into_iter().for_each(|queue| card.queue(queue, 0));
    for (psn, queue) in [(1, QUEUE), (2, OTHER), (3, QUEUE)] {
        let slot = card.open(queue, psn);
        card.packet(slot, PAIR, psn, 0);
        card.end(slot, 0, 8);
    }
    card.bench.run(30);
}

/// A new request of `QUEUE` on another queue pair fails, and the queue halts.
fn fails_anew(card: &mut Card, watch: &mut Watch) {
    let slot = card.slot();
    let beat = Beat::from([("slot", slot), ("queue", QUEUE), ("wr_id", 100)]);
    card.bench.send(card.open, beat);
    watch.run(card, 20, -1, 0, 0, 0);
    watch.halted.clear();
    card.bench.send(card.sent, sent(slot, OTHER_PAIR, 1, 0, 4, 0, 0));
    watch.run(card, 40, -1, 0, 0, 0);
    assert_eq!(watch.halted.iter().map(|(_, queue)| *queue).collect::<Vec<_>>(), [QUEUE]);
}

#[test]
fn an_end_with_a_status_does_not_halt_a_queue_that_was_enabled_meanwhile() {
    let library = library();
    let mut seen = [false; 2];
    for distance in -12..12 {
        // Alone, or behind a packet that its queue pair's context has gone with.
        for gone in [false, true] {
            let mut card = Card::new(&library, 1, (0.0, 0.0));
            card.completion_queue(0, 0x1000, 8);
            card.queue(QUEUE, 0);
            let slot = card.open(QUEUE, 1);
            card.bench.run(30);
            let mut watch = Watch::new();
            let at = 20;
            watch.run(&mut card, at + distance, at, SEND_QUEUES, QUEUE, ENABLE);
            if gone {
                card.bench.set("gone", 1_u64);
                card.bench.send(card.sent, sent(slot, PAIR, 0, 1, 0, 0, 0));
                card.bench.send(card.sent, sent(slot, PAIR, 1, 0, 0, 0, 8));
            } else {
                card.bench.send(card.sent, sent(slot, PAIR, 1, 0, 4, 0, 0));
            }
            watch.run(&mut card, 60, at, SEND_QUEUES, QUEUE, ENABLE);
            card.bench.set("gone", 0_u64);
            let late: Vec<_> = watch.halted.iter().filter(|(cycle, _)| *cycle > at).collect();
            assert!(late.is_empty(), "distance {distance}: enabled in {at}, halted {late:?}");
            seen[usize::from(watch.halted.is_empty())] = true;
            fails_anew(&mut card, &mut watch);
        }
    }
    assert_eq!(seen, [true; 2], "some failures come before the write, and some behind it");
}

#[test]
fn a_refusal_does_not_halt_a_queue_that_was_enabled_meanwhile() {
    let library = library();
    let mut others = 0;
    for distance in -40..10 {
        let mut card = Card::new(&library, 1, (0.0, 0.0));
        waiting(&mut card);
        let mut watch = Watch::new();
        let at = 50;
        watch.run(&mut card, at + distance, at, SEND_QUEUES, QUEUE, ENABLE);
        card.bench.send(card.ack, Beat::from([("qp", PAIR), ("psn", 1), ("syndrome", 0x62)]));
        watch.run(&mut card, 100, at, SEND_QUEUES, QUEUE, ENABLE);
        let late = |queue| watch.halted.iter().filter(|p| p.0 > at && p.1 == queue).count();
        assert_eq!(late(QUEUE), 0, "distance {distance}: enabled in {at}, {:?}", watch.halted);
        others += late(OTHER);
        assert!(watch.halted.iter().any(|(_, queue)| *queue == OTHER), "the other queue halts");
        fails_anew(&mut card, &mut watch);
    }
    assert!(others > 5, "{others}");
}

#[test]
fn a_refusal_does_not_break_a_queue_pair_that_was_made_ready_meanwhile() {
    let library = library();
    let mut seen = [false; 2];
    for distance in -40..10 {
        let mut card = Card::new(&library, 1, (0.0, 0.0));
        waiting(&mut card);
        let mut watch = Watch::new();
        let at = 50;
        watch.run(&mut card, at + distance, at, QUEUE_PAIRS, PAIR, STATE);
        card.bench.send(card.ack, Beat::from([("qp", PAIR), ("psn", 1), ("syndrome", 0x62)]));
        watch.run(&mut card, 100, at, QUEUE_PAIRS, PAIR, STATE);
        let late: Vec<_> = watch.errors.iter().filter(|(cycle, _)| *cycle > at).collect();
        assert!(late.is_empty(), "distance {distance}: ready in {at}, {late:?}");
        seen[usize::from(watch.errors.is_empty())] = true;
        // The new context can fail as well.
        card.queue(QUEUE, 0);
        let slot = card.open(QUEUE, 50);
        card.packet(slot, PAIR, 77, 0);
        card.end(slot, 0, 8);
        watch.errors.clear();
        card.bench.send(card.ack, Beat::from([("qp", PAIR), ("psn", 77), ("syndrome", 0x62)]));
        watch.run(&mut card, 60, -1, 0, 0, 0);
        assert!(watch.errors.iter().any(|(_, qp)| *qp == PAIR), "distance {distance}");
    }
    assert_eq!(seen, [true; 2], "some refusals come before the write, and some behind it");
}
