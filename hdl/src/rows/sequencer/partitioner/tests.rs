use super::*;
use crate::testing;
use drdma_verilated::Word;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};

/// Integer, unsigned, float, boolean, decimal.
const TYPES: [u8; 5] = [0, 1, 2, 3, 5];
/// Binary logarithm of the width that stands for bits.
const BITS: u8 = 5;

/// Spark's Murmur3 of some words (docs/semantics.md, "Partitions made from keys").
fn murmur3(words: &[u32], bytes: u32, seed: u32) -> u32 {
    let mut hash = seed;
    for word in words {
        let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= bytes;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[derive(Clone, Copy, Debug)]
struct Key {
    key_type: u8,
    log_width: u8,
    nullable: bool,
}

impl Key {
    fn bytes(self) -> usize {
        1 << self.log_width
    }

    /// A value, as the bits that it has in memory.
    fn value(self, random: &mut Random) -> u128 {
        let any = u128::from(random.u64()) | u128::from(random.u64()) << 64;
        let special =
            [0, u128::MAX, 1, 1 << 31, 1 << 63, 0x7fc1 << 16, 0xffc1 << 112, 0x7f80 << 16];
        let bits = if random.chance(0.3) { special[random.below(8) as usize] } else { any };
        let bits = if self.key_type == 2 && random.chance(0.5) {
            let number = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, -1.5, 1e30, 3e-310];
            let number = number[random.below(8) as usize];
            if self.log_width == 2 {
                (number as f32).to_bits().into()
            } else {
                number.to_bits().into()
            }
        } else {
            bits
        };
        if self.log_width == BITS {
            bits & 1
        } else {
            bits & (u128::MAX >> (128 - 8 * self.bytes()))
        }
    }

    fn signed(self, value: u128) -> i64 {
        let unused = 64 - 8 * self.bytes().min(8);
        ((value as u64) << unused) as i64 >> unused
    }

    fn hash(self, value: u128, before: u32) -> u32 {
        let words = |low: u64| [low as u32, (low >> 32) as u32];
        match (self.key_type, self.log_width) {
            (3, _) => murmur3(&[u32::from(value != 0)], 4, before),
            (2, 2) => {
                let number = f32::from_bits(value as u32);
                let bits = if number.is_nan() { 0x7fc0_0000 } else { number.to_bits() };
                murmur3(&[if number == 0.0 { 0 } else { bits }], 4, before)
            }
            (2, _) => {
                let number = f64::from_bits(value as u64);
                let bits = if number.is_nan() { 0x7ff8 << 48 } else { number.to_bits() };
                murmur3(&words(if number == 0.0 { 0 } else { bits }), 8, before)
            }
            (_, 3 | 4) => murmur3(&words(value as u64), 8, before),
            _ => murmur3(&[self.signed(value) as u32], 4, before),
        }
    }

    /// True if the first value is less than the second.
    fn is_less(self, a: u128, b: u128) -> bool {
        let less = |a: f64, b: f64| if a.is_nan() { false } else { b.is_nan() || a < b };
        match (self.key_type, self.log_width) {
            (1, _) => a < b,
            (2, 2) => less(f32::from_bits(a as u32).into(), f32::from_bits(b as u32).into()),
            (2, _) => less(f64::from_bits(a as u64), f64::from_bits(b as u64)),
            _ => self.signed(a) < self.signed(b),
        }
    }
}

/// A request's function, its keys, and what is read for it.
struct Request {
    partitions: u32,
    group: u16,
    seed: u32,
    is_range: bool,
    keys: Vec<Key>,
    splitters: Vec<u128>,
}

fn request(random: &mut Random) -> Request {
    let is_range = random.chance(0.3);
    let keys = if is_range { 1 } else { 1 + random.below(3) };
    let most = [1, 2, 16, 200, 256, 257, 1 << 16][random.below(7) as usize];
    let partitions = if is_range { most.min(256) } else { most };
    let key = |random: &mut Random| {
        let key_type = TYPES[random.below(if is_range { 3 } else { 5 }) as usize];
        let key_type = if key_type == 1 && !is_range { 0 } else { key_type };
        let log_width = match key_type {
            2 => 2 + random.below(2) as u8,
            3 => [0, BITS][random.below(2) as usize],
            5 => 4,
            _ => random.below(4) as u8,
        };
        Key { key_type, log_width, nullable: random.chance(0.4) }
    };
    let keys: Vec<_> = (0..keys).map(|_| key(random)).collect();
    let splitters = if is_range { partitions - 1 } else { 0 };
    let splitters = (0..splitters).map(|_| keys[0].value(random)).collect();
    let group = [1, 1, 3, 300, u16::MAX][random.below(5) as usize];
    let seed = if random.chance(0.5) { 42 } else { random.u64() as u32 };
    Request { partitions, group, seed, is_range, keys, splitters }
}

/// Bytes that are read: a beat for every 64 bytes.
struct Reading {
    begins: bool,
    splitters: bool,
    validity: bool,
    first: u8,
    key: Key,
    opens: bool,
    closes: bool,
    rows: usize,
}

fn packed(values: &[u128], key: Key) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()[..key.bytes()].to_vec()).collect()
}

fn packed_bits(bits: &[bool], first: u8, random: &mut Random) -> Vec<u8> {
    let mut bytes = random.bytes((usize::from(first) + bits.len()).div_ceil(8));
    for (i, bit) in bits.iter().enumerate() {
        let at = usize::from(first) + i;
        bytes[at / 8] = bytes[at / 8] & !(1 << (at % 8)) | u8::from(*bit) << (at % 8);
    }
    bytes
}

impl Request {
    fn function(&self) -> Beat {
        Beat::from([("partitions", u64::from(self.partitions)), ("group", self.group.into())])
            .with("seed", self.seed)
            .with("range", u64::from(self.is_range))
    }

    fn wide(&self) -> bool {
        self.partitions > 256
    }

    fn id(&self, values: &[Option<u128>]) -> u16 {
        let partition = if self.is_range {
            let less = |value: u128| {
                self.splitters.iter().filter(move |s| self.keys[0].is_less(**s, value))
            };
            values[0].map_or(0, |value| less(value).count() as u32)
        } else {
            let keys = self.keys.iter().zip(values);
            let hash = keys.fold(self.seed, |hash, (key, value)| {
                value.map_or(hash, |value| key.hash(value, hash))
            });
            i64::from(hash as i32).rem_euclid(self.partitions.into()) as u32
        };
        (partition / u32::from(self.group)) as u16
    }

    /// The beats of a read; the beat that fails, if one does.
    fn answer(
        &self,
        read: &Reading,
        bytes: &[u8],
        end: bool,
        fails: Option<usize>,
        random: &mut Random,
    ) -> Vec<Beat> {
        let beats = bytes.len().div_ceil(64);
        let mut word = Word::zero();
        word.set_bits(0, 1, &1_u64.into());
        word.set_bits(1, 2, &(1 + u64::from(self.wide())).into());
        word.set_bits(3, 16, &0x1234_u64.into());
        let fields = [
            (19, 1, u64::from(end)),
            (22, 1, 1),
            (23, 1, read.begins.into()),
            (24, 1, read.splitters.into()),
            (25, 1, read.validity.into()),
            (26, 1, (read.key.nullable && !read.splitters).into()),
            (27, 3, read.first.into()),
            (30, 3, read.key.log_width.into()),
            (33, 3, read.key.key_type.into()),
            (36, 1, read.opens.into()),
            (37, 1, read.closes.into()),
            (38, 9, read.rows as u64),
        ];
        for (at, width, value) in fields {
            word.set_bits(at, width, &value.into());
        }
        let beat = |k: usize| {
            let mut padded = random.bytes(64);
            let part = &bytes[k * 64..bytes.len().min(k * 64 + 64)];
            padded[..part.len()].copy_from_slice(part);
            Beat::from([("data", Word::from_bytes(&padded)), ("read", word.clone())])
                .with("error", u64::from(fails == Some(k)))
                .with("last", u64::from(k + 1 == beats))
        };
        (0..beats).map(beat).collect()
    }

    /// Reads for a stretch, and the ids that come of it: bytes, and whether each beat of 64 has an error.
    fn stretch(
        &self,
        rows: usize,
        begins: bool,
        random: &mut Random,
    ) -> (Vec<Beat>, Vec<u8>, Vec<bool>) {
        let (mut beats, mut ids, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let mut begins = begins;
        if begins && !self.splitters.is_empty() {
            let key = self.keys[0];
            let rows = self.splitters.len();
            let read = Reading {
                begins,
                splitters: true,
                validity: false,
                first: 0,
                key,
                opens: true,
                closes: true,
                rows,
            };
            beats.extend(self.answer(&read, &packed(&self.splitters, key), false, None, random));
            begins = false;
        }
        let width = 1 + usize::from(self.wide());
        let mut from = 0;
        while from < rows {
            let count = (rows - from).min(256);
            let end = from + count == rows;
            let mut table = vec![Vec::new(); count];
            let mut failed = vec![false; count];
            for (index, &key) in self.keys.iter().enumerate() {
                let (opens, closes) = (index == 0, index + 1 == self.keys.len());
                let values: Vec<_> = (0..count).map(|_| key.value(random)).collect();
                let there: Vec<_> =
                    (0..count).map(|_| !key.nullable || random.chance(0.7)).collect();
                let first = random.below(8) as u8;
                let mut read = Reading {
                    begins,
                    splitters: false,
                    validity: false,
                    first,
                    key,
                    opens,
                    closes,
                    rows: count,
                };
                if key.nullable {
                    let bits = packed_bits(&there, first, random);
                    let fails = random.chance(0.02).then_some(0);
                    if fails.is_some() {
                        failed.fill(true);
                    }
                    read.validity = true;
                    beats.extend(self.answer(&read, &bits, end, fails, random));
                    (read.validity, read.begins) = (false, false);
                }
                read.first = random.below(8) as u8;
                let (bytes, rows_of_beat) = if key.log_width == BITS {
                    let bits: Vec<_> = values.iter().map(|value| *value == 1).collect();
                    (packed_bits(&bits, read.first, random), 256)
                } else {
                    (packed(&values, key), 64 / key.bytes())
                };
                let of = bytes.len().div_ceil(64);
                let fails = random.chance(0.05).then(|| random.below(of as u64) as usize);
                if let Some(beat) = fails {
                    failed
                        .iter_mut()
                        .skip(beat * rows_of_beat)
                        .take(rows_of_beat)
                        .for_each(|f| *f = true);
                }
                beats.extend(self.answer(&read, &bytes, end, fails, random));
                begins = false;
                for (row, (value, there)) in values.iter().zip(there).enumerate() {
                    table[row].push(there.then_some(*value));
                }
            }
            for values in &table {
                ids.extend(&self.id(values).to_le_bytes()[..width]);
            }
            // A group of eight rows fails as a whole.
            let groups = failed.chunks(8).map(|group| group.iter().any(|failed| *failed));
            let per_beat = 8 / width;
            let groups: Vec<_> = groups.collect();
            errors.extend(groups.chunks(per_beat).map(|beat| beat.iter().any(|failed| *failed)));
            from += count;
        }
        (beats, ids, errors)
    }
}

fn plain(random: &mut Random) -> Beat {
    let mut word = random.word(47);
    word.set_bits(22, 1, &0_u64.into());
    Beat::from([("data", random.word(512)), ("read", word)])
        .with("error", random.below(2))
        .with("last", random.below(2))
}

#[test]
fn keys_become_ids_and_all_else_passes_under_stalls() {
    let library = testing::library("partitioner", Partitioner::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let (input, function) = (bench.driver("input"), bench.driver("function"));
        let output = bench.monitor("output");
        bench.stall(stalls);
        bench.limit(2_000_000);
        let mut expected = Vec::new();
        for _ in 0..40 {
            if random.chance(0.3) {
                let beat = plain(&mut random);
                expected.push((
                    beat.get("data").clone(),
                    64,
                    beat.u64("error") == 1,
                    beat.u64("last") == 1 && beat.get("read").bits(19, 1).to_u64() == 1,
                ));
                bench.send(input, beat);
                continue;
            }
            let request = request(&mut random);
            bench.send(function, request.function());
            for stretch in 0..1 + random.below(3) {
                let most = [10, 100, 1000][random.below(3) as usize];
                let rows = 1 + random.below(most) as usize;
                let (beats, ids, errors) = request.stretch(rows, stretch == 0, &mut random);
                bench.send_all(input, beats);
                let chunks: Vec<_> = ids.chunks(64).collect();
                assert_eq!(chunks.len(), errors.len());
                for (k, (ids, error)) in chunks.iter().zip(errors).enumerate() {
                    expected.push((Word::from_bytes(ids), ids.len(), error, k + 1 == chunks.len()));
                }
            }
        }
        bench.run_until_received(output, expected.len());
        bench.run(100);
        let found = bench.take(output);
        assert_eq!(found.len(), expected.len(), "beats too many");
        for (k, (beat, (data, bytes, error, last))) in found.iter().zip(expected).enumerate() {
            assert_eq!(beat.get("data").bits(0, 8 * bytes), data.bits(0, 8 * bytes), "beat {k}");
            assert_eq!(beat.u64("error") == 1, error, "error of beat {k}");
            let ends = beat.get("purpose").bits(19, 1).to_u64() == 1;
            assert_eq!(ends, last, "end of beat {k}");
        }
    }
}

/// The values that docs/semantics.md gives, and Spark's hash of the literal 2.
#[test]
fn known_longs_have_their_partitions() {
    let key = Key { key_type: 0, log_width: 3, nullable: false };
    let request = Request {
        partitions: 200,
        group: 1,
        seed: 42,
        is_range: false,
        keys: vec![key],
        splitters: vec![],
    };
    let longs = [1, 0, -1, i64::MAX, i64::MIN];
    let library = testing::library("partitioner", Partitioner::default);
    let mut bench = Bench::new(library.instance(1), 1);
    let (input, function) = (bench.driver("input"), bench.driver("function"));
    let output = bench.monitor("output");
    bench.send(function, request.function());
    let values: Vec<_> = longs.iter().map(|long| u128::from(*long as u64)).collect();
    let read = Reading {
        begins: true,
        splitters: false,
        validity: false,
        first: 0,
        key,
        opens: true,
        closes: true,
        rows: 5,
    };
    let beats = request.answer(&read, &packed(&values, key), true, None, &mut Random::new(1));
    bench.send_all(input, beats);
    bench.run_until_received(output, 1);
    let found = bench.take(output)[0].get("data").clone();
    let ids: Vec<_> = (0..5).map(|k| found.bits(8 * k, 8).to_u64()).collect();
    assert_eq!(ids, [69, 5, 193, 171, 115]);
}

#[test]
fn eight_rows_a_cycle_are_hashed() {
    let key = |log_width| Key { key_type: 0, log_width, nullable: false };
    let library = testing::library("partitioner", Partitioner::default);
    for keys in [vec![key(3)], vec![key(2)], vec![key(3), key(3)]] {
        let mut random = Random::new(3);
        let mut bench = Bench::new(library.instance(3), 3);
        let (input, function) = (bench.driver("input"), bench.driver("function"));
        let output = bench.monitor("output");
        let count = keys.len() as u64;
        let request = Request {
            partitions: 16,
            group: 1,
            seed: 42,
            is_range: false,
            keys,
            splitters: vec![],
        };
        bench.send(function, request.function());
        let (beats, ids, _) = request.stretch(4096, true, &mut random);
        bench.send_all(input, beats);
        bench.run_until_received(output, ids.len() / 64);
        let at = bench.received_at(output);
        let cycles = at[at.len() - 1] - at[0];
        // The first ids come with the first of a block's last key, or with the block.
        let (least, most) = ((4096 - 256) / 8 * count, (4096 - 64) / 8 * count);
        assert!((least..most + most / 50).contains(&cycles), "{cycles} cycles, not {most}");
    }
}
