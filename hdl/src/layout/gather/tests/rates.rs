//! Words a cycle, by pattern.

use super::*;

/// Cycles for beats in one window.
fn cycles(library: &Library, beats: Vec<Places>) -> Run {
    let memory = Random::new(5).bytes(MEMORY);
    let mut parts: Vec<_> = beats.into_iter().map(|places| Part::new(0, places)).collect();
    parts.last_mut().expect("there are some").window_end = true;
    run(library, 5, (0.0, 0.0), &parts, &[vec![]], &memory)
}

/// The cycles in which a beat's words are read: a word is a quad with a byte.
fn pace(places: &Places, words: u64) -> u64 {
    let quads = places.chunks(4).filter(|quad| quad.iter().any(Option::is_some)).count();
    (quads as u64).div_ceil(words).max(1)
}

#[test]
fn so_many_words_are_read_in_a_cycle() {
    let library = library();
    let mut random = Random::new(9);
    let memory = random.bytes(MEMORY);
    for words in 1..=16 {
        // No two quads clash: all of a beat is contiguous; some have fewer bytes, anywhere.
        let beat = |random: &mut Random| {
            let at = random.below((MEMORY - 64) as u64) as usize;
            let holes = [0.0, 0.3, 0.95][random.below(3) as usize];
            let first = random.below(64) as usize;
            let mut places = std::array::from_fn(|p| (!random.chance(holes)).then_some(at + p));
            places[first] = Some(at + first);
            places
        };
        for beats in [1, 200] {
            let beats: Vec<Places> = (0..beats).map(|_| beat(&mut random)).collect();
            let expected: u64 = beats.iter().map(|places| pace(places, words)).sum();
            let mut parts: Vec<_> = beats.into_iter().map(|places| Part::new(0, places)).collect();
            parts.last_mut().expect("there are some").window_end = true;
            let run = run_at(words, &library, 9, (0.0, 0.0), &parts, &[vec![]], &memory);
            assert_eq!(run.cycles, expected + 10, "{words} words a cycle, {} beats", parts.len());
        }
    }
}

/// Beats of the same pieces {place, length}, each moved on by `step` bytes.
fn moved(pieces: &[(usize, usize)], step: usize, count: usize) -> Vec<Places> {
    let beat = |index: usize| {
        let mut places = [None; 64];
        let bytes = pieces.iter().flat_map(|&(ram, len)| {
            (0..len).map(move |k| (ram + index * step) % (MEMORY - 64) + k)
        });
        places.iter_mut().zip(bytes).for_each(|(place, at)| *place = Some(at));
        places
    };
    (0..count).map(beat).collect()
}

/// Columns of values of one width.
#[derive(Clone, Copy)]
struct Columns {
    /// Number of columns, up to 16.
    count: usize,
    /// Bytes of a value.
    width: usize,
    /// Banks by which each column starts further than the one before.
    skew: usize,
    /// Bytes, modulo 4, by which each column starts further in addition to `skew`.
    odd: usize,
    /// Each row is wanted with a probability of 1 in `rarity`.
    rarity: u64,
}

impl Columns {
    /// Full beats of the rows that are wanted.
    fn beats(self, count: usize) -> Vec<Places> {
        let mut random = Random::new(7);
        let mut row = 0;
        let mut bytes = vec![];
        while bytes.len() < 64 * count {
            if random.below(self.rarity) == 0 {
                // 5 KiB a column, over and over.
                let start =
                    |c: usize| c * (MEMORY / 17 / 128 * 128) + c * self.skew * 4 + c * self.odd % 4;
                let at = row * self.width % 5120;
                bytes.extend(
                    (0..self.count).flat_map(|c| start(c) + at..start(c) + at + self.width),
                );
            }
            row += 1;
        }
        let beat = |bytes: &[usize]| std::array::from_fn(|p| Some(bytes[p]));
        bytes.chunks_exact(64).take(count).map(beat).collect()
    }

    /// Words of 4 B a cycle.
    fn rate(self, library: &Library) -> f64 {
        let beats = 2000;
        let run = cycles(library, self.beats(beats));
        let words = 16.0 * beats as f64 / run.cycles as f64;
        let Self { count, width, skew, odd, rarity } = self;
        println!(
            "{count} x {width} B, skew {skew}, odd {odd}, p = 1/{rarity}: {words:.2} words a cycle"
        );
        words
    }
}

#[test]
fn one_beat_a_cycle_unless_banks_clash() {
    let library = library();
    let count = 1000;
    // Contiguous, at an odd address.
    assert_eq!(cycles(&library, moved(&[(3, 64)], 64, count)).cycles, 1010);
    // Five columns of 4 B, nine banks apart.
    let pieces: Vec<_> = (0..5).map(|c| (c * 1024 + c * 36, 4)).collect();
    assert_eq!(cycles(&library, moved(&pieces, 4, count)).cycles, 1010);
    // Sixteen single bytes of the same four words.
    let pieces: Vec<_> = (0..16).map(|k| (k, 1)).collect();
    assert_eq!(cycles(&library, moved(&pieces, 16, count)).cycles, 1010);
    // Four columns in the same bank: they slip, so that each row finds four banks.
    let pieces: Vec<_> = (0..4).map(|c| (c * 1024, 4)).collect();
    let run = cycles(&library, moved(&pieces, 4, count));
    assert!(run.cycles < 1030 && run.conflicts > 0, "{} cycles", run.cycles);
    // Four bytes that never find more than one bank.
    let taken = cycles(&library, moved(&pieces, 128, count)).cycles;
    assert!((4000..4030).contains(&taken), "{taken}");
}

#[test]
fn bitmapped_columns_come_at_the_rates_that_the_contract_tells() {
    let library = library();
    for (rarity, skew, least) in [
        (1, 5, 15.8),
        (2, 5, 15.8),
        (4, 5, 15.5),
        (16, 5, 14.5),
        (1, 0, 15.7),
        (2, 0, 12.5),
        (4, 0, 12.5),
        (16, 0, 12.5),
    ] {
        let words = Columns { count: 5, width: 4, skew, odd: 0, rarity }.rate(&library);
        assert!(words >= least, "p = 1/{rarity}, skew {skew}: {words:.2} words a cycle");
    }
}

#[test]
fn columns_of_all_widths_come_at_the_rates_that_the_contract_tells() {
    let library = library();
    for (count, skew, width, odd, rarity, least) in [
        (5, 5, 1, 0, 1, 15.8),
        (5, 5, 1, 0, 2, 14.5),
        (5, 5, 1, 1, 2, 10.2),
        (5, 5, 2, 0, 2, 15.5),
        (5, 5, 2, 1, 2, 15.3),
        (5, 5, 4, 1, 2, 15.5),
        (5, 5, 8, 0, 2, 15.7),
        (5, 5, 8, 1, 2, 15.7),
        (8, 14, 1, 0, 2, 14.0),
        (8, 14, 1, 1, 2, 13.0),
        (8, 14, 2, 1, 2, 15.5),
        (8, 14, 2, 0, 2, 15.5),
        (8, 14, 4, 0, 2, 15.5),
        (8, 14, 4, 1, 2, 15.5),
        (8, 14, 8, 0, 2, 15.5),
        (8, 14, 8, 1, 2, 15.5),
    ] {
        let words = Columns { count, width, skew, odd, rarity }.rate(&library);
        assert!(words >= least, "{count} x {width} B, {odd} B apart: {words:.2} words a cycle");
    }
}
