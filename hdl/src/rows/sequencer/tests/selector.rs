use super::*;
use crate::rows::sequencer::selector::Selector;

/// Beats that are read for a stretch: a bitmap or pointers, or ids; and the beat that fails.
struct Stretch {
    width: usize,
    partition: u16,
    ids: Vec<u16>,
    data: Vec<Word>,
    fails: Option<usize>,
}

fn stretch(random: &mut Random) -> Stretch {
    let width = random.below(3) as usize;
    let rows = [1, 100, 1500][random.below(3) as usize];
    let rows = 1 + random.below(rows) as usize;
    let id = |random: &mut Random| -> u16 {
        let id = [0, 1, 0x100, 0x101, 0x8080, 0x80][random.below(6) as usize];
        if width == 1 { id & 0xff } else { id }
    };
    let ids: Vec<_> = (0..rows).map(|_| id(random)).collect();
    let beats = if width == 0 { rows.div_ceil(512) } else { (rows * width).div_ceil(64) };
    let data = (0..beats)
        .map(|beat| {
            let mut data = random.word(512);
            let each = 64 / width.max(1);
            for (i, &id) in ids.iter().skip(beat * each).take(each).enumerate() {
                if width > 0 {
                    data.set_bits(8 * width * i, 8 * width, &id.into());
                }
            }
            data
        })
        .collect();
    let fails = random.chance(0.3).then(|| random.below(beats as u64) as usize);
    Stretch { width, partition: id(random), ids, data, fails }
}

impl Stretch {
    fn answers(&self, random: &mut Random) -> Vec<Beat> {
        let beat = |(k, data): (usize, &Word)| {
            let mut purpose = Word::zero();
            purpose.set_bits(0, 1, &random.word(1));
            purpose.set_bits(1, 2, &self.width.into());
            purpose.set_bits(3, 16, &self.partition.into());
            purpose.set_bits(19, 1, &(k + 1 == self.data.len()).into());
            Beat::from([("data", data.clone()), ("purpose", purpose)])
                .with("error", self.fails == Some(k))
        };
        self.data.iter().enumerate().map(beat).collect()
    }

    /// Beats of ids that make a beat of the bitmap.
    fn each(&self) -> usize {
        (8 * self.width).max(1)
    }

    fn check(&self, found: &[Beat]) {
        for (k, beat) in found.iter().enumerate() {
            let fails = self.fails.is_some_and(|fails| fails / self.each() == k);
            assert_eq!(beat.u64("error") == 1, fails, "beat {k}");
            if self.width == 0 {
                assert_eq!(beat.get("data"), &self.data[k]);
                continue;
            }
            for (i, &id) in self.ids[512 * k..].iter().take(512).enumerate() {
                let bit = beat.get("data").bits(i, 1).to_u64() == 1;
                assert_eq!(bit, id == self.partition, "row {i} of beat {k}: {id:#x}");
            }
        }
    }
}

#[test]
fn ids_become_bitmaps_and_all_else_passes_under_stalls() {
    let library = testing::library("selector", Selector::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let (input, out) = (bench.driver("in"), bench.monitor("out"));
        bench.stall(stalls);
        let stretches: Vec<_> = (0..60).map(|_| stretch(&mut random)).collect();
        for stretch in &stretches {
            bench.send_all(input, stretch.answers(&mut random));
        }
        let beats = |s: &Stretch| s.data.len().div_ceil(s.each());
        bench.run_until_received(out, stretches.iter().map(beats).sum());
        bench.run(20);
        let mut found = &bench.take(out)[..];
        for stretch in &stretches {
            let (own, rest) = found.split_at(beats(stretch));
            stretch.check(own);
            found = rest;
        }
        assert!(found.is_empty(), "beats too many");
    }
}

#[test]
fn a_beat_a_cycle_goes_in_and_follows_after_three() {
    let library = testing::library("selector", Selector::default);
    for width in 0..3 {
        let mut random = Random::new(7);
        let mut bench = Bench::new(library.instance(7), 7);
        let (input, out) = (bench.driver("in"), bench.monitor("out"));
        let data: Vec<_> = (0..64).map(|_| random.word(512)).collect();
        let stretch = Stretch { width, partition: 9, ids: vec![], data, fails: None };
        bench.send_all(input, stretch.answers(&mut random));
        bench.run_until_received(out, 64 / stretch.each());
        let sent = bench.sent_at(input);
        assert_eq!(sent[63] - sent[0], 63, "a beat a cycle");
        let last = bench.received_at(out).last().copied().unwrap();
        assert_eq!(last - sent[63], 3);
    }
}
