use super::*;
use crate::rows::columns::packer::Packer;
use crate::rows::columns::reference::{check, survivors};
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Bench, DriverId, MonitorId, STALLS};

fn library() -> Library {
    testing::library("column_packer", Packer::default)
}

struct Card<'a> {
    bench: Bench<'a>,
    rows: DriverId,
    beat: MonitorId,
}

impl Card<'_> {
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(2_000_000);
        Self { rows: bench.driver("rows"), beat: bench.monitor("beat"), bench }
    }

    /// Sends a turn in groups of up to `most` rows; with `exactly`, of that number.
    fn send(&mut self, turn: &Turn, most: usize, exactly: bool, random: &mut Random) {
        let rows = turn.rows();
        let context = context(turn, random);
        let mut next = 0;
        loop {
            let limit = if exactly { most } else { random.below(most as u64 + 1) as usize };
            let count = limit.min(rows.len() - next);
            // A group is of one mask.
            let word = rows.get(next).map_or_else(|| random.below(8), |row| row / 512);
            let of_mask = rows[next..].iter().take_while(|&row| row / 512 == word).count();
            let count = count.min(of_mask);
            let mut offsets = random.word(576);
            for (k, row) in rows[next..next + count].iter().enumerate() {
                offsets.set_bits(9 * k, 9, &(row % 512).into());
            }
            next += count;
            // The end may come behind the last rows.
            let end = next == rows.len() && (exactly || random.chance(0.7));
            let group = Beat::from([("count", count)])
                .with("offset", offsets)
                .with("word", word)
                .with("turn_end", end)
                .with("chunk_end", end && turn.chunk_end)
                .with("last", end && turn.last)
                .with("context", context.clone());
            self.bench.send(self.rows, group);
            if end {
                break;
            }
        }
    }

    fn drain(&mut self) -> Vec<Beat> {
        let rows = self.rows;
        self.bench.run_until(|bench| bench.pending(rows) == 0);
        self.bench.step();
        self.bench.run_until(|bench| bench.get("idle") == 1);
        self.bench.run(32);
        self.bench.take(self.beat)
    }
}

#[test]
fn beats_tell_the_rows_of_every_turn_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed);
        card.bench.stall(stalls);
        for _ in 0..25 {
            let fails = random.chance(0.3);
            let (turns, _) = survivors(&request(&mut random, fails));
            let (most, exactly) = (1 + random.below(64) as usize, random.chance(0.3));
            for turn in &turns {
                card.send(turn, most, exactly, &mut random);
            }
            let beats = card.drain();
            check(&turns, &beats);
        }
    }
}

/// Turns of `rows` rows each, one after another, of `dests` destinations.
fn turns(row_bytes: usize, rows: usize, dests: u64, count: usize, units: u64) -> Vec<Turn> {
    let turn = |k: usize| Turn {
        bits: vec![true; rows],
        row_bytes,
        units,
        index: k as u64 % dests,
        dest: k as u64 % dests,
        total: (rows * count) as u64,
        first: k < dests as usize,
        last: k + dests as usize >= count,
        ..Default::default()
    };
    (0..count).map(turn).collect()
}

/// Runs the turns without stalls; cycles from the first beat to behind the last.
fn cycles(library: &Library, turns: &[Turn]) -> (usize, u64, u64) {
    let mut random = Random::new(3);
    let mut card = Card::new(library, 3);
    for turn in turns {
        card.send(turn, 64, true, &mut random);
    }
    let beats = card.drain();
    check(turns, &beats);
    let times = card.bench.received_at(card.beat);
    let latency = times[0] - card.bench.sent_at(card.rows)[0];
    (beats.len(), times[times.len() - 1] + 1 - times[0], latency)
}

#[test]
fn a_beat_a_cycle_whatever_the_row() {
    let library = library();
    for row_bytes in [20, 5, 8, 40, 64, 4, 7, 63, 1, 2, 3, 65, 72, 100, 127, 128, 129, 512, 960] {
        let (beats, cycles, latency) = cycles(&library, &turns(row_bytes, 1600, 3, 9, 1 << 20));
        println!("{row_bytes} B: {beats} beats in {cycles} cycles, the first after {latency}");
        assert_eq!(beats as u64, cycles, "{row_bytes} B");
        assert_eq!(latency, 9);
    }
}

#[test]
fn a_beat_a_cycle_of_short_turns_and_of_short_messages() {
    let library = library();
    for (rows, dests, units) in
        [(25, 64, 1 << 20), (25, 1, 7), (1600, 1, 1), (1600, 2, 3), (16, 5, 16)]
    {
        let (beats, cycles, _) = cycles(&library, &turns(20, rows, dests, 128, units));
        assert_eq!(beats as u64, cycles, "{rows} rows, {dests} destinations, {units} units");
    }
}

#[test]
fn sixty_four_rows_a_cycle_in() {
    let library = library();
    let mut random = Random::new(3);
    let mut card = Card::new(&library, 3);
    for turn in &turns(1, 1600, 2, 6, 1 << 20) {
        card.send(turn, 64, true, &mut random);
    }
    card.drain();
    assert_eq!(card.bench.sent_at(card.rows), (0..150).collect::<Vec<_>>());
}

#[test]
fn a_beat_a_cycle_of_groups_that_do_not_fill_one() {
    let library = library();
    let mut random = Random::new(3);
    let mut card = Card::new(&library, 3);
    let [turn] = &turns(1, 4096, 1, 1, 1 << 20)[..] else { unreachable!("a turn") };
    // 512 rows make 12 groups of 40, and one of 32.
    card.send(turn, 40, true, &mut random);
    assert_eq!(card.drain().len(), 64);
    assert_eq!(card.bench.sent_at(card.rows), (0..104).collect::<Vec<_>>());
}

#[test]
fn a_destination_begins_anew_with_each_request() {
    let library = library();
    let mut random = Random::new(5);
    let mut card = Card::new(&library, 5);
    // A request that fails leaves its message open; the next has the same place.
    for _ in 0..2 {
        let mut turns = turns(20, 100, 1, 2, 1000);
        turns[1].last = false;
        for turn in &turns {
            card.send(turn, 64, false, &mut random);
        }
        let beats = card.drain();
        check(&turns, &beats);
        assert_eq!(beats[0].u64("message_start"), 1);
    }
}
