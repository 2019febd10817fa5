//! Compares what leaves with what came: nothing is lost, and nothing is overtaken.

use super::*;
use crate::testing;
use drdma_abi::roce::syndrome::{ACK, KIND_MASK, NAK_PSN, NAK_REMOTE_ACCESS, RNR_NAK};
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use std::collections::HashMap;

const PLACES: usize = 1 << PLACE;
/// Acknowledgements that leave their places while the output is not taken.
const AWAY: usize = 2;

fn library() -> Library {
    testing::library("answers", Answers::default)
}

/// The fields that have a meaning only for READs and atomics, and their bits.
const READ_FIELDS: [(&str, usize); 11] = [
    ("addr", 64),
    ("rkey", 32),
    ("len", 32),
    ("pd", 32),
    ("log_mtu", 4),
    ("earlier", 32),
    ("again", 1),
    ("swaps", 1),
    ("slot", 5),
    ("resource", 9),
    ("kept", 5),
];

/// An ACK or a NAK. Each answer has a sequence number of its own.
fn answer(qp: u64, syndrome: u8, psn: u64) -> Beat {
    let stamp = (psn * 0x1234_5677) & 0xffff_ffff;
    let beat = Beat::from([("qp", qp), ("psn", psn), ("msn", psn ^ 0xabcdef), ("stamp", stamp)])
        .with("syndrome", syndrome)
        .with("reads", 0_u64)
        .with("atomic", 0_u64);
    READ_FIELDS.iter().fold(beat, |beat, (field, _)| beat.with(*field, 0_u64))
}

fn is_ack(beat: &Beat) -> bool {
    let waits = ["reads", "atomic"].iter().any(|field| beat.u64(field) == 1);
    beat.u64("syndrome") as u8 & KIND_MASK & 0x7f == ACK && !waits
}

/// Checks that each answer left or gave way to the next one of its queue pair, both of them ACKs, and that places
/// were kept. Gives how many gave way.
fn check(came: &[Beat], left: &[Beat]) -> usize {
    let numbers: HashMap<u64, usize> =
        came.iter().enumerate().map(|(number, beat)| (beat.u64("psn"), number)).collect();
    let mut of_pair: HashMap<u64, Vec<usize>> = HashMap::new();
    for (number, beat) in came.iter().enumerate() {
        of_pair.entry(beat.u64("qp")).or_default().push(number);
    }
    // The first of those, of each queue pair, that are not accounted for.
    let mut next: HashMap<u64, usize> = HashMap::new();
    let mut last_place = None;
    let mut gave_way = 0;
    for beat in left {
        let number = numbers[&beat.u64("psn")];
        assert_eq!(*beat, came[number]);
        let pair = &of_pair[&beat.u64("qp")];
        let from = next.entry(beat.u64("qp")).or_insert(0);
        let to = pair.iter().position(|of| *of == number).expect("it came");
        assert!(to >= *from, "{beat:?} leaves behind a newer one");
        for lost in &pair[*from..to] {
            assert!(is_ack(&came[*lost]), "a NAK is lost: {:?}", came[*lost]);
        }
        assert!(to == *from || is_ack(beat), "an ACK gave way to a NAK: {beat:?}");
        // The first one's place is that of the last.
        let place = Some(pair[*from]);
        assert!(place > last_place, "{beat:?} was overtaken");
        last_place = place;
        gave_way += to - *from;
        *from = to + 1;
    }
    for (qp, pair) in &of_pair {
        assert_eq!(next.get(qp), Some(&pair.len()), "the last answer of {qp} left");
    }
    gave_way
}

#[test]
fn an_answer_leaves_or_gives_way_to_the_next_ack_of_its_queue_pair() {
    let library = library();
    let (mut gave_way, mut kept) = (0, 0);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let mut came = Vec::new();
        let input = bench.driver("answer");
        let output = bench.monitor("reply");
        bench.stall(stalls);
        for psn in 0..3_000 {
            // A few queue pairs at a time, from all of the table.
            let qp = (psn / 500 * 1_031 + random.below(6) * 683) % 4096;
            let syndrome = match random.below(12) {
                0 => NAK_PSN,
                1 => RNR_NAK | random.below(32) as u8,
                2 => NAK_REMOTE_ACCESS,
                credits => ACK | (credits as u8 + 20),
            };
            let reads = u64::from(random.chance(0.1));
            let atomic = u64::from(reads == 0 && random.chance(0.1));
            let mut beat = answer(qp, syndrome, psn).with("reads", reads).with("atomic", atomic);
            for (field, width) in READ_FIELDS {
                beat = beat.with(field, random.word(width));
            }
            came.push(beat.clone());
            bench.send(input, beat);
            while bench.pending(input) > 3 {
                bench.step();
            }
        }
        bench.run_until(|b| b.pending(input) == 0);
        bench.stall((0.0, 0.0));
        bench.run(2_000);
        let left = bench.take(output);
        gave_way += check(&came, &left);
        kept += left.len();
    }
    assert!(gave_way > 1_000 && kept > 10_000, "{gave_way} gave way, {kept} left");
}

#[test]
fn what_waits_keeps_its_place() {
    let mut bench = Bench::new(library().instance(1), 1);
    let (input, output) = (bench.driver("answer"), bench.monitor("reply"));
    bench.stall((0.0, 1.0));
    let all = [
        (1, ACK),
        (2, ACK),
        // From here on no answer can leave.
        (3, ACK),
        (1, ACK),
        (2, ACK),
        (3, ACK),
        (2, NAK_PSN),
        (1, ACK),
        (2, ACK),
        (3, RNR_NAK),
        (2, ACK),
        (2, NAK_PSN),
        (2, NAK_PSN),
        (1, ACK),
    ];
    for (psn, (qp, syndrome)) in all.iter().enumerate() {
        bench.send(input, answer(*qp, *syndrome, psn as u64));
    }
    bench.run_until(|b| b.pending(input) == 0);
    bench.run(10);
    bench.stall((0.0, 0.0));
    bench.run(100);
    let left: Vec<_> = bench.take(output).iter().map(|beat| beat.u64("psn")).collect();
    assert_eq!(left, [0, 1, 5, 13, 4, 6, 10, 9, 11, 12]);
}

#[test]
fn an_answer_without_a_place_waits() {
    let mut bench = Bench::new(library().instance(1), 1);
    let (input, output) = (bench.driver("answer"), bench.monitor("reply"));
    bench.stall((0.0, 1.0));
    let count = PLACES + 40;
    for k in 0..count as u64 {
        bench.send(input, answer(k % 4096, NAK_PSN, k));
    }
    bench.run(4 * count as u64);
    assert_eq!(bench.pending(input), count - PLACES - AWAY);
    bench.stall((0.0, 0.0));
    bench.run_until_received(output, count);
    let left = bench.take(output).into_iter().map(|beat| beat.u64("psn"));
    assert!(left.eq(0..count as u64));
}

#[test]
fn an_answer_takes_three_cycles_and_leaves_after_five() {
    let mut bench = Bench::new(library().instance(1), 1);
    let (input, output) = (bench.driver("answer"), bench.monitor("reply"));
    bench.send_all(input, (0..200).map(|k| answer(k, ACK, k)));
    bench.run_until_received(output, 200);
    let (sent, received) = (bench.sent_at(input), bench.received_at(output));
    assert!(sent.windows(2).all(|pair| pair[1] - pair[0] == 3));
    assert!(sent.iter().zip(received).all(|(sent, received)| received - sent == 5));
}

#[test]
fn those_that_waited_leave_two_in_three_cycles() {
    let mut bench = Bench::new(library().instance(1), 1);
    let (input, output) = (bench.driver("answer"), bench.monitor("reply"));
    bench.stall((0.0, 1.0));
    bench.send_all(input, (0..600).map(|k| answer(k, ACK, k)));
    bench.run(900);
    bench.stall((0.0, 0.0));
    bench.run_until(|b| b.received(output).len() >= 300);
    let at = bench.received_at(output);
    assert!(at[299] - at[0] <= 299 * 3 / 2 + 2, "{} cycles for 300", at[299] - at[0]);
}

#[test]
fn nothing_of_before_a_reset_is_believed() {
    let mut bench = Bench::new(library().instance(1), 1);
    let (input, output) = (bench.driver("answer"), bench.monitor("reply"));
    for round in 0..3 {
        bench.stall((0.0, 1.0));
        bench.send_all(input, (0..20).map(|k| answer(k, ACK, k)));
        bench.run(100);
        bench.reset();
        bench.stall((0.0, 0.0));
        // The same queue pairs give answers, in another order.
        let again: Vec<u64> = (0..20).map(|k| (k * 7 + round) % 20).collect();
        bench.take(output);
        bench.send_all(input, again.iter().map(|qp| answer(*qp, ACK, *qp)));
        bench.run(200);
        let left: Vec<_> = bench.take(output).iter().map(|beat| beat.u64("qp")).collect();
        assert_eq!(left, again);
    }
}
