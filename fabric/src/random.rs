//! Reproducible random numbers (SplitMix64, Steele et al., 2014).

/// State of the generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of one stream of a seed. Streams of neighbouring numbers are independent.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut of_seed = Self(seed);
        Self(of_seed.number() ^ Self(stream).number())
    }

    /// Returns a random number of 64 bits.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a random number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    /// True with the given probability; draws one number whatever the probability is.
    pub fn happens(&mut self, probability: f64) -> bool {
        // A float represents 53 bits exactly.
        let unit = (self.number() >> 11) as f64 / (1u64 << 53) as f64;
        unit < probability
    }
}
