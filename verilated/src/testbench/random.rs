//! Reproducible randomness.

use crate::Word;

/// A generator whose sequence depends on its seed only (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A value below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.u64() % end
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        ((self.u64() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    /// A value of `bits` bits.
    pub fn word(&mut self, bits: usize) -> Word {
        let words: Vec<u32> = (0..bits.div_ceil(32)).map(|_| self.u64() as u32).collect();
        Word::from_words(&words).bits(0, bits)
    }

    /// `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.u64() as u8).collect()
    }
}
