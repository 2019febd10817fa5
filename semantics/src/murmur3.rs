//! The 32-bit Murmur3 of Apache Spark's hash partitioning, chained over the keys of a row
//! (docs/semantics.md, "Partitions made from keys").

/// Mixes one word of four bytes into a hash.
fn mix(hash: u32, word: u32) -> u32 {
    let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// Finishes the hash of `len` bytes.
fn finish(hash: u32, len: u32) -> u32 {
    let hash = hash ^ len;
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// The hash of a word of four bytes.
pub fn of_int(value: u32, seed: u32) -> u32 {
    finish(mix(seed, value), 4)
}

/// The hash of a word of eight bytes.
pub fn of_long(value: u64, seed: u32) -> u32 {
    finish(mix(mix(seed, value as u32), (value >> 32) as u32), 8)
}

/// Hash of bytes that are given in pieces. All pieces but the last have a multiple of four bytes.
///
/// Spark mixes each of the up to three bytes behind the last word by itself, as a signed number.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    hash: u32,
    len: u32,
}

impl Bytes {
    /// Starts the hash of no bytes.
    pub fn new(seed: u32) -> Self {
        Self { hash: seed, len: 0 }
    }

    /// Adds a piece.
    pub fn add(&mut self, piece: &[u8]) {
        let (words, tail) = piece.as_chunks::<4>();
        for word in words {
            self.hash = mix(self.hash, u32::from_le_bytes(*word));
        }
        for byte in tail {
            self.hash = mix(self.hash, i32::from(*byte as i8) as u32);
        }
        self.len = self.len.wrapping_add(piece.len() as u32);
    }

    /// Returns the hash of all pieces.
    pub fn finish(self) -> u32 {
        finish(self.hash, self.len)
    }
}

/// Partition of a hash: its remainder as a signed number, made non-negative (Spark's `pmod`).
pub fn partition(hash: u32, partitions: u32) -> u32 {
    i64::from(hash as i32).rem_euclid(i64::from(partitions)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_bytes(bytes: &[u8], seed: u32) -> u32 {
        let mut hash = Bytes::new(seed);
        hash.add(bytes);
        hash.finish()
    }

    /// Spark's own test, `Murmur3_x86_32Suite`: seed 0.
    #[test]
    fn known_integers_have_the_hashes_of_sparks_tests() {
        let ints = [
            (0, 593_689_054),
            (-42, -189_366_624),
            (42, -1_134_849_565),
            (i32::MIN, -1_718_298_732),
            (i32::MAX, -1_653_689_534),
        ];
        for (value, hash) in ints {
            assert_eq!(of_int(value as u32, 0) as i32, hash, "{value}");
        }
        let longs = [
            (0, 1_669_671_676),
            (-42, -846_261_623),
            (42, 1_871_679_806),
            (i64::MIN, 1_366_273_829),
            (i64::MAX, -2_106_506_049),
        ];
        for (value, hash) in longs {
            assert_eq!(of_long(value as u64, 0) as i32, hash, "{value}");
        }
    }

    /// Values of `Murmur3Hash(Seq(Literal(..)), 42).eval()` of Spark, as Apache DataFusion Comet's tests have them.
    #[test]
    fn known_text_has_the_hashes_of_sparks_expression() {
        let known: [(&str, u32); 10] = [
            ("hello", 3_286_402_344),
            ("bar", 2_486_176_763),
            ("", 142_593_372),
            ("😁", 885_025_535),
            ("天地", 2_395_000_894),
            ("a", 1_485_273_170),
            ("ab", 0xfa37_157b),
            ("abc", 1_322_437_556),
            ("abcd", 0xe860_e5cc),
            ("abcde", 814_637_928),
        ];
        for (text, hash) in known {
            assert_eq!(of_bytes(text.as_bytes(), 42), hash, "{text}");
        }
        let mut pieces = Bytes::new(42);
        pieces.add(b"abcd");
        pieces.add(b"e");
        assert_eq!(pieces.finish(), 814_637_928);
    }

    /// The example of the function `hash` in Spark's SQL reference: `hash('Spark', array(123), 2)`. An array's
    /// elements are hashed as keys that follow each other.
    #[test]
    fn keys_are_chained_as_in_sparks_reference() {
        let hash = of_int(2, of_int(123, of_bytes(b"Spark", 42)));
        assert_eq!(hash as i32, -1_321_691_492);
    }

    /// The partitions that Spark gives the longs 1, 0, -1 and the greatest and the least one of 200 partitions, as
    /// Comet's tests have them.
    #[test]
    fn partitions_are_never_negative() {
        let longs = [1, 0, -1, i64::MAX, i64::MIN];
        let found = longs.map(|value| partition(of_long(value as u64, 42), 200));
        assert_eq!(found, [69, 5, 193, 171, 115]);
    }
}
