use super::*;
use crate::request::DEST_COUNT;
use crate::testing;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use drdma_verilated::{Library, Word};

const SIDE: [(&str, usize); 14] = [
    ("dest", 10),
    ("slot", 8),
    ("bytes", 7),
    ("unit_end", 1),
    ("message_end", 1),
    ("message_start", 1),
    ("message_bytes", 32),
    ("chunk_start", 1),
    ("chunk_blocks", 8),
    ("request_end", 1),
    ("dest_end", 1),
    ("status", 8),
    ("bad_dest", DEST_COUNT),
    ("rows", 13),
];

type Lanes = [(u64, u64, u32); 16];

fn library() -> Library {
    testing::library("expander", Expander::default)
}

/// A token and the beat that it must become, `len` 0 lanes with address and position 0.
fn random_token(random: &mut Random, sets: &[(u16, Lanes)]) -> (Beat, Beat) {
    let (set, lanes) = &sets[random.below(sets.len() as u64) as usize];
    let mut token = Beat::new();
    for (field, width) in SIDE {
        token.set(field, random.word(width));
    }
    let mut beat = token.clone();
    let header = random.chance(0.2);
    let first = if header { 0 } else { random.below(16) as usize };
    let piece = !header && lanes[first].2 > 64;
    let mut last = first;
    let mut sum = u64::from(lanes[first].2);
    if header {
        last = random.below(16) as usize;
    }
    while !header
        && !piece
        && last < 15
        && sum + u64::from(lanes[last + 1].2) <= 64
        && random.chance(0.9)
    {
        last += 1;
        sum += u64::from(lanes[last].2);
    }
    let empty = header || random.chance(0.1);
    let offset = random.u64() as u32;
    // Bytes of the lanes that stand before the last one's piece.
    let before = if piece || header { 0 } else { sum - u64::from(lanes[last].2) };
    let may_lead = !empty && (piece || last > first) && before + 4 < 64;
    let leads = may_lead && random.chance(0.5);
    let made = if leads { 4 } else { 0 };
    let behind = if leads { 1 + random.below(64 - before - made) } else { random.below(64) };
    let bytes = match (empty, leads, piece) {
        (true, ..) => 0,
        (_, true, _) => before + made + behind,
        (.., true) => 1 + random.below(64),
        _ => sum,
    };
    let row = if random.chance(0.3) { 0 } else { random.u64() as u32 };
    let mut pointer = random.u64();
    if header {
        pointer = 0;
    }
    token.set("set", *set);
    token.set("first", first);
    token.set("last", last);
    token.set("piece", piece);
    token.set("offset", offset);
    token.set("bytes", bytes);
    token.set("lead", leads);
    token.set("behind", behind);
    token.set("row", row);
    token.set("pointer", pointer);
    token.set("column", header);
    beat.set("column", header);
    beat.set("bytes", bytes);
    let (mut addr, mut len, mut pos) = (Word::zero(), Word::zero(), Word::zero());
    let mut steps = Word::zero();
    let mut at = 0;
    for lane in (first..=last).filter(|_| header || !empty) {
        let (base, step, bytes_of_lane) = lanes[lane];
        let is_led = leads && lane == last;
        let shift = if piece { u64::from(offset) } else { 0 };
        let row = if is_led { 0 } else { u64::from(row) };
        let pointer = if leads && !is_led { 0 } else { pointer };
        let here =
            base.wrapping_add(step.wrapping_mul(row)).wrapping_add(pointer).wrapping_add(shift);
        // A header is only given of lanes that fit a beat.
        let bytes = match (is_led, piece) {
            (true, _) => behind,
            (_, true) => bytes,
            _ => u64::from(bytes_of_lane & 0x7f),
        };
        if is_led {
            at += made;
        }
        steps.set_bits(8 * lane, 8, &(step & 0xff).into());
        addr.set_bits(64 * lane, 64, &here.into());
        len.set_bits(7 * lane, 7, &bytes.into());
        pos.set_bits(6 * lane, 6, &u64::from(at as u8).into());
        at += bytes;
    }
    beat.set("addr", addr);
    beat.set("len", len);
    beat.set("pos", pos);
    beat.set("step", steps);
    (token, beat)
}

/// Clears what means nothing: address, position and step of lanes that are not used, positions in a
/// header, and steps elsewhere.
fn used_lanes(mut beat: Beat) -> Beat {
    let len = beat.get("len").clone();
    let (mut addr, mut pos) = (beat.get("addr").clone(), beat.get("pos").clone());
    let mut step = beat.get("step").clone();
    let header = beat.u64("column") == 1;
    for lane in 0..16 {
        let used = len.bits(7 * lane, 7) != Word::zero();
        if !used {
            addr.set_bits(64 * lane, 64, &Word::zero());
        }
        if header || !used {
            pos.set_bits(6 * lane, 6, &Word::zero());
        }
        if !header || !used {
            step.set_bits(8 * lane, 8, &Word::zero());
        }
    }
    beat.set("addr", addr);
    beat.set("pos", pos);
    beat.set("step", step);
    beat
}

fn write_sets(bench: &mut Bench, random: &mut Random, count: usize) -> Vec<(u16, Lanes)> {
    let start = random.below(2048) as u16;
    let sets: Vec<_> = (0..count as u16)
        .map(|i| {
            let lanes = std::array::from_fn(|_| {
                let len =
                    if random.chance(0.2) { random.u64() as u32 } else { random.u64() as u32 % 20 };
                let step = if random.chance(0.3) { random.u64() } else { random.below(5000) };
                (random.u64(), step, len.max(1))
            });
            ((start + i * 7) % 2048, lanes)
        })
        .collect();
    for (set, lanes) in &sets {
        for (lane, (base, step, len)) in lanes.iter().enumerate() {
            bench.set("lane_write_valid", 1);
            bench.set("lane_write_set", *set);
            bench.set("lane_write_lane", lane);
            bench.set("lane_write_base", *base);
            bench.set("lane_write_step", *step);
            bench.set("lane_write_len", *len);
            bench.step();
        }
    }
    bench.set("lane_write_valid", 0);
    sets
}

#[test]
fn fragments_are_where_their_lanes_lie() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let (tokens, beats) = (bench.driver("token"), bench.monitor("beat"));
        bench.stall(stalls);
        let sets = write_sets(&mut bench, &mut random, 20);
        let (sent, expected): (Vec<_>, Vec<_>) =
            (0..1000).map(|_| random_token(&mut random, &sets)).unzip();
        bench.send_all(tokens, sent.clone());
        bench.run_until_received(beats, expected.len());
        for (i, (found, expected)) in bench.take(beats).into_iter().zip(expected).enumerate() {
            assert_eq!(used_lanes(found), used_lanes(expected), "beat {i}");
        }
        if stalls == (0.0, 0.0) {
            let (at, received) = (bench.sent_at(tokens), bench.received_at(beats));
            assert_eq!(at[999] - at[0], 999, "a token a cycle");
            let mut before = 0;
            for (i, token) in sent.iter().enumerate() {
                // A beat that needs no sums is early if all beats before it have left the sums.
                let early = is_plain(token) && (i == 0 || before <= at[i] + 2);
                let latency = if early { 4 } else { 9 };
                assert_eq!(received[i] - at[i], latency, "cycles from token {i} to its beat");
                before = received[i];
            }
        }
    }
}

/// A token of one lane in row 0, or without bytes.
fn is_plain(token: &Beat) -> bool {
    let zero = |field: &str| token.u64(field) == 0;
    zero("column") && (zero("bytes") || zero("row") && token.u64("first") == token.u64("last"))
}

#[test]
fn a_lane_whose_bytes_stand_in_the_request_has_no_fragment() {
    let mut bench = Bench::new(library().instance(2), 2);
    let (tokens, beats) = (bench.driver("token"), bench.monitor("beat"));
    for (set, inline) in [(5, 1), (6, 0)] {
        bench.set("lane_write_valid", 1);
        bench.set("lane_write_inline", inline);
        bench.set("lane_write_set", set);
        bench.set("lane_write_lane", 0);
        bench.set("lane_write_base", 0x1000);
        bench.set("lane_write_step", 0);
        bench.set("lane_write_len", 64);
        bench.step();
    }
    bench.set("lane_write_valid", 0);
    for (set, fragment) in [(5, 0), (6, 64), (5, 0)] {
        let mut token = Beat::new();
        SIDE.iter().for_each(|(field, _)| token.set(*field, 0_u64));
        let others =
            ["first", "last", "piece", "lead", "behind", "offset", "row", "pointer", "column"];
        others.iter().for_each(|field| token.set(*field, 0_u64));
        bench.send(tokens, token.with("set", set).with("bytes", 64_u64));
        bench.run_until_received(beats, 1);
        let beat = bench.take(beats).remove(0);
        assert_eq!((beat.u64("bytes"), beat.get("len")), (64, &Word::from(fragment)), "set {set}");
    }
}

#[test]
fn a_lone_token_of_one_lane_becomes_a_beat_in_4_cycles() {
    let mut bench = Bench::new(library().instance(1), 1);
    let (tokens, beats) = (bench.driver("token"), bench.monitor("beat"));
    let mut random = Random::new(1);
    let sets = write_sets(&mut bench, &mut random, 20);
    let mut lone: Vec<_> = std::iter::repeat_with(|| random_token(&mut random, &sets))
        .filter(|(token, _)| is_plain(token))
        .take(50)
        .collect();
    for (token, expected) in lone.drain(..) {
        bench.send(tokens, token);
        bench.run_until_received(beats, 1);
        assert_eq!(used_lanes(bench.take(beats).remove(0)), used_lanes(expected));
    }
    let latencies = bench.sent_at(tokens).iter().zip(bench.received_at(beats)).map(|(s, r)| r - s);
    assert!(latencies.clone().all(|cycles| cycles == 4), "{:?}", latencies.collect::<Vec<_>>());
}
