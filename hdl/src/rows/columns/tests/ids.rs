use super::*;
use crate::rows::columns::ids::Ids;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Bench, DriverId, MonitorId, STALLS};

fn library() -> Library {
    testing::library("column_ids", Ids::default)
}

/// A chunk: the ids of its rows, their bytes, the ids wanted by its turns, the beat that fails.
struct Chunk {
    ids: Vec<u16>,
    width: usize,
    wanted: Vec<u16>,
    fails: Option<usize>,
}

fn chunk(random: &mut Random) -> Chunk {
    let width = 1 + random.below(2) as usize;
    let most = [1, 64, 700, 4096][random.below(4) as usize];
    let rows = if random.chance(0.1) { 4096 } else { 1 + random.below(most) };
    // Ids that differ in either byte.
    let id = |random: &mut Random| -> u16 {
        let id = [0, 1, 0x80, 0x100, 0x101, 0x8000, 0x80ff][random.below(7) as usize];
        if width == 1 { id & 0xff } else { id }
    };
    let ids: Vec<_> = (0..rows).map(|_| id(random)).collect();
    let turns = [1, 2, 5, 64][random.below(4) as usize];
    let wanted = (0..1 + random.below(turns)).map(|_| id(random)).collect();
    let beats = (rows as usize).div_ceil(64 / width) as u64;
    let fails = random.chance(0.2).then(|| random.below(beats) as usize);
    Chunk { ids, width, wanted, fails }
}

struct Card<'a> {
    bench: Bench<'a>,
    turn: DriverId,
    resp: DriverId,
    out: MonitorId,
}

impl Card<'_> {
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(1_000_000);
        let (turn, resp) = (bench.driver("turn"), bench.driver("resp"));
        Self { turn, resp, out: bench.monitor("out"), bench }
    }

    fn send(&mut self, chunk: &Chunk, random: &mut Random) {
        let per_beat = 64 / chunk.width;
        let beats = chunk.ids.len().div_ceil(per_beat);
        for (k, ids) in chunk.ids.chunks(per_beat).enumerate() {
            let mut data = random.word(512);
            for (i, &id) in ids.iter().enumerate() {
                data.set_bits(8 * chunk.width * i, 8 * chunk.width, &id.into());
            }
            let beat = Beat::from([("data", data)])
                .with("error", chunk.fails == Some(k))
                .with("last", k + 1 == beats);
            self.bench.send(self.resp, beat);
        }
        for (k, &wanted) in chunk.wanted.iter().enumerate() {
            let beat = Beat::from([("partition", wanted)])
                .with("wide", chunk.width == 2)
                .with("rows", chunk.ids.len())
                .with("chunk_end", k + 1 == chunk.wanted.len());
            self.bench.send(self.turn, beat);
        }
    }

    /// Sends chunks and checks what comes of them.
    fn run(&mut self, chunks: &[Chunk], random: &mut Random) {
        chunks.iter().for_each(|chunk| self.send(chunk, random));
        let beats = |chunk: &Chunk| chunk.wanted.len() * chunk.ids.len().div_ceil(512);
        self.bench.run_until_received(self.out, chunks.iter().map(beats).sum());
        let found = self.bench.take(self.out);
        let mut found = found.iter();
        for chunk in chunks {
            for (turn, &wanted) in chunk.wanted.iter().enumerate() {
                for (word, ids) in chunk.ids.chunks(512).enumerate() {
                    let beat = found.next().expect("as many as are expected");
                    let what = format!("turn {turn}, word {word} of {} rows", chunk.ids.len());
                    assert_eq!(beat.u64("error") == 1, chunk.fails.is_some(), "{what}");
                    for (i, &id) in ids.iter().enumerate() {
                        let bit = beat.get("data").bits(i, 1).to_u64() == 1;
                        assert_eq!(bit, id == wanted, "row {i}: {id:#x}, {wanted:#x}, {what}");
                    }
                }
            }
        }
        assert_eq!(self.bench.pending(self.resp) + self.bench.pending(self.turn), 0);
    }
}

#[test]
fn rows_with_the_id_are_found_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed);
        card.bench.stall(stalls);
        let chunks: Vec<_> = (0..40).map(|_| chunk(&mut random)).collect();
        card.run(&chunks, &mut random);
    }
}

#[test]
fn half_a_thousand_ids_a_cycle() {
    let library = library();
    for (width, cycles) in [(1, 3), (2, 6)] {
        let mut random = Random::new(1);
        let mut card = Card::new(&library, 1);
        let chunk = |_| Chunk {
            ids: (0..1472).map(|row| row % 64).collect(),
            width,
            wanted: (0..64).collect(),
            fails: None,
        };
        let chunks: Vec<_> = (0..4).map(chunk).collect();
        card.run(&chunks, &mut random);
        let times = card.bench.received_at(card.out);
        let took = times[times.len() - 1] - times[0];
        println!("ids of {width} B: 256 turns in {took} cycles");
        assert!(took <= 256 * cycles, "{took} cycles");
        // The last ids of a chunk, its first word, stages.
        let stored = card.bench.sent_at(card.resp)[1472 * width / 64 - 1];
        assert_eq!(times[0] - stored, 3 + width as u64);
    }
}
