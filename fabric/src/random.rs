//! Random numbers that are the same everywhere and for ever (SplitMix64, Steele et al., 2014).

/// The generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of one stream of a seed. Streams of neighbouring numbers have nothing in common.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut of_seed = Self(seed);
        Self(of_seed.number() ^ Self(stream).number())
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    /// True with a probability; takes one number whatever the probability is.
    pub fn happens(&mut self, probability: f64) -> bool {
        // 53 bits are what a float holds exactly.
        let unit = (self.number() >> 11) as f64 / (1u64 << 53) as f64;
        unit < probability
    }
}
