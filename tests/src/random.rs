//! A small generator of random numbers that is the same everywhere and for ever (SplitMix64).

use std::ops::RangeInclusive;

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A random number of 64 bits.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A random number in the range.
    pub fn range(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (start, end) = range.into_inner();
        assert!(start <= end, "an empty range: {start} to {end}");
        match (end - start).checked_add(1) {
            Some(width) => start + self.any() % width,
            None => self.any(),
        }
    }

    /// A random number in the range, small ones far more often: every order of magnitude is equally likely.
    pub fn skewed(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (start, end) = range.into_inner();
        let bits = u64::from(64 - (end - start).leading_zeros());
        let limit = 1u64.checked_shl(self.range(0..=bits) as u32).map_or(u64::MAX, |top| top - 1);
        self.range(start..=start + limit.min(end - start))
    }

    /// True once in `times` times, on average.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.any().is_multiple_of(times)
    }

    /// A random entry of a list.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.range(0..=choices.len() as u64 - 1) as usize]
    }

    /// Random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.any() as u8).collect()
    }
}
