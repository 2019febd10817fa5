//! Receipts of receives get entries in the rings of sends.

use super::*;
use drdma_abi::receive::ReceiveCompletion;

fn phase_bit() -> usize {
    ReceiveCompletion::field("phase").start
}

/// A receipt whose entry has this name.
fn receipt(cq: u64, qp: u64, wr_id: u64) -> Beat {
    let entry = ReceiveCompletion { wr_id, receive: 1, byte_len: 64, ..Default::default() };
    Beat::from([("cq", cq), ("qp", qp)]).with("line", Word::from_bytes(&entry.to_bytes()))
}

impl Card<'_> {
    /// Runs for `cycles` cycles; returns the queue pairs that are put in error in that time.
    fn broken(&mut self, cycles: u64) -> Vec<u64> {
        let mut broken = Vec::new();
        for _ in 0..cycles {
            if self.bench.get("set_qp_error_valid") == 1 {
                broken.push(self.bench.get("set_qp_error_index"));
            }
            self.bench.step();
        }
        self.settle();
        broken
    }

    /// Names of the entries written, with their addresses and phases.
    fn told(&mut self) -> Vec<(u64, u64, u8)> {
        self.settle();
        self.log.drain(..).map(|(addr, entry)| (entry.wr_id, addr, entry.phase)).collect()
    }
}

#[test]
fn receipts_and_requests_share_completion_queues_each_in_their_order() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed, stalls);
        const ENTRIES: u64 = 16;
        let rings: [u64; 2] = [0x1_0000_0000, 0xffff_f000];
        for (cq, ring) in (0..).zip(rings) {
            card.completion_queue(cq, ring, 4);
            card.queue(cq, cq as u16);
        }
        // For each ring: entries promised, and written; the requests and receipts whose entries are missing.
        let (mut promised, mut written) = ([0_u64; 2], [0_u64; 2]);
        let mut requests: [VecDeque<u64>; 2] = Default::default();
        let mut receipts: [VecDeque<Word>; 2] = Default::default();
        let mut made = 0;
        while made < 600
            || requests.iter().any(|of| !of.is_empty())
            || receipts[0].len() + receipts[1].len() > 0
        {
            let cq = random.below(2) as usize;
            if made < 600 && promised[cq] - written[cq] < ENTRIES {
                made += 1;
                promised[cq] += 1;
                if random.chance(0.4) {
                    let slot = card.open(cq as u64, made);
                    requests[cq].push_back(made);
                    card.end(slot, 0, 64);
                } else {
                    let mut line = random.word(256);
                    line.set_bits(phase_bit(), 1, &Word::from(0_u64));
                    line.set_bits(63, 1, &Word::from(1_u64));
                    let beat = Beat::from([("cq", cq as u64), ("qp", random.below(4096))]);
                    card.bench.send(card.receipt, beat.with("line", &line));
                    receipts[cq].push_back(line);
                }
            }
            assert_eq!(card.broken(1 + random.below(6)), [0_u64; 0]);
            card.log.clear();
            for (addr, mut line) in std::mem::take(&mut card.lines) {
                let cq = usize::from(addr & !0xfff == rings[1]);
                assert_eq!(addr, rings[cq] + written[cq] % ENTRIES * 32);
                let phase = u64::from(line.bit(phase_bit()));
                assert_eq!(phase, ((written[cq] / ENTRIES) & 1) ^ 1, "phase");
                line.set_bits(phase_bit(), 1, &Word::from(0_u64));
                written[cq] += 1;
                match line.bit(63) {
                    true => assert_eq!(Some(line), receipts[cq].pop_front()),
                    false => assert_eq!(Some(line.bits(0, 64).to_u64()), requests[cq].pop_front()),
                }
                card.consumed(cq as u64, written[cq] as u32);
            }
        }
        card.bench.run(10);
        assert_eq!(card.bench.get("busy"), 0);
    }
}

#[test]
fn a_receipt_without_room_is_dropped_and_breaks_its_queue_pair_alone() {
    let mut card = Card::new(&library(), 1, (0.0, 0.0));
    card.completion_queue(3, 0x1000, 1);
    card.completion_queue(4, 0x2000, 6);
    for wr_id in 0..3 {
        card.bench.send(card.receipt, receipt(3, 0x800 + wr_id, wr_id));
    }
    card.bench.send(card.receipt, receipt(4, 0x900, 9));
    assert_eq!(card.broken(100), [0x802]);
    assert_eq!(card.told(), [(0, 0x1000, 1), (1, 0x1020, 1), (9, 0x2000, 1)]);
    assert_eq!(card.bench.get("busy"), 0);
    // There is room again: the next one takes the place that the lost one did not.
    card.consumed(3, 2);
    card.bench.send(card.receipt, receipt(3, 0x802, 7));
    assert_eq!(card.broken(100), [0_u64; 0]);
    assert_eq!(card.told(), [(7, 0x1000, 0)]);
}

#[test]
fn a_receipt_takes_three_cycles_and_its_entry_follows_after_four() {
    let mut card = Card::new(&library(), 2, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 10);
    card.queue(0, 0);
    (0..64).for_each(|wr_id| card.bench.send(card.receipt, receipt(0, 1, wr_id)));
    card.bench.run(300);
    let (taken, times) = (card.bench.sent_at(card.receipt), card.bench.received_at(card.write));
    assert_eq!(times[0] - taken[0], 4);
    assert_eq!(cycles::cycles(times, 0), 63 * 3, "{times:?}");
    // Receipts and requests take turns.
    card.settle();
    let slots: Vec<_> = card.free.drain(..64).collect();
    for (wr_id, slot) in (100..).zip(&slots) {
        let beat = Beat::from([("slot", *slot), ("queue", 0), ("wr_id", wr_id)]);
        card.bench.send(card.open, beat);
    }
    card.drain();
    card.bench.run(10);
    card.told();
    for slot in &slots {
        card.bench.send(card.sent, sent(*slot, 0, 1, 0, 0, 0, 64));
    }
    card.bench.run(20);
    (200..232).for_each(|wr_id| card.bench.send(card.receipt, receipt(0, 1, wr_id)));
    card.bench.run(400);
    let told: Vec<_> = card.told().iter().map(|(wr_id, ..)| wr_id / 100).collect();
    let first = told.iter().position(|kind| *kind == 2).unwrap();
    let last = told.iter().rposition(|kind| *kind == 1).unwrap();
    assert!(first + 20 < last, "{told:?}");
    let mixed = &told[first..last.min(first + 60)];
    assert!(mixed.windows(2).all(|pair| pair[0] != pair[1]), "{mixed:?}");
}

#[test]
fn a_restarted_completion_queue_begins_anew_while_receipts_go_to_another() {
    let mut card = Card::new(&library(), 3, (0.0, 0.2));
    card.completion_queue(0, 0x1_0000, 10);
    card.completion_queue(1, 0x2_0000, 1);
    for round in 0..20 {
        (0..20).for_each(|k| card.bench.send(card.receipt, receipt(0, 1, 20 * round + k)));
        card.bench.run(3 + round);
        card.completion_queue(1, 0x2_0000, 1);
        card.bench.run_until(|bench| bench.get("busy") == 0);
        (0..2).for_each(|k| card.bench.send(card.receipt, receipt(1, 1, 1000 + k)));
        assert_eq!(card.broken(60), [0_u64; 0]);
        let (of, others): (Vec<_>, Vec<_>) =
            card.told().into_iter().partition(|(wr_id, ..)| *wr_id < 1000);
        assert_eq!(others, [(1000, 0x2_0000, 1), (1001, 0x2_0020, 1)], "round {round}");
        let expected: Vec<_> =
            (20 * round..20 * round + 20).map(|k| (k, 0x1_0000 + 32 * k, 1)).collect();
        assert_eq!(of, expected, "round {round}");
    }
}

#[test]
fn receipts_do_not_wait_while_a_queue_pairs_packets_are_refused() {
    let mut card = Card::new(&library(), 4, (0.0, 0.0));
    card.completion_queue(0, 0x1_0000, 10);
    card.queue(0, 0);
    let slot = card.open(0, 1);
    for psn in 0..400 {
        card.packet(slot, 7, psn, 0);
    }
    let beat = Beat::from([("qp", 7), ("psn", 0), ("syndrome", 0x62)]);
    card.bench.send(card.ack, beat);
    card.bench.run(10);
    // Each packet of the list takes four cycles.
    (0..100).for_each(|k| card.bench.send(card.receipt, receipt(0, 1, k)));
    card.bench.run(320);
    assert_eq!(card.bench.pending(card.receipt), 0);
    card.bench.send(card.ack, Beat::from([("qp", 9), ("psn", 0), ("syndrome", 0)]));
    card.bench.run(100);
    assert_eq!(card.bench.pending(card.ack), 1, "the list is not walked to its end");
    card.drain();
}

#[test]
fn a_queue_pair_without_room_and_one_that_was_refused_both_break_whenever_they_meet() {
    let mut card = Card::new(&library(), 5, (0.0, 0.0));
    card.completion_queue(0, 0x1_0000, 10);
    card.completion_queue(3, 0x2_0000, 1);
    (0..2).for_each(|k| card.bench.send(card.receipt, receipt(3, 1, k)));
    for round in 0..24 {
        let (refused, without_room) = (100 + round, 200 + round);
        // No request waits for the packet, so that its queue pair is reported in one cycle only.
        card.sending(refused, 1);
        card.bench.run(20);
        // The NAK or the receipt comes first.
        let ack = Beat::from([("qp", refused), ("psn", 1), ("syndrome", 0x62)]);
        let receipt = receipt(3, without_room, 9);
        let mut broken = Vec::new();
        if round < 12 {
            card.bench.send(card.ack, ack);
            broken.extend(card.broken(round));
            card.bench.send(card.receipt, receipt);
        } else {
            card.bench.send(card.receipt, receipt);
            broken.extend(card.broken(round - 12));
            card.bench.send(card.ack, ack);
        }
        broken.extend(card.broken(60));
        broken.sort_unstable();
        broken.dedup();
        assert_eq!(broken, [refused, without_room], "round {round}");
    }
}
