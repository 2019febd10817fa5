//! Values of ports of any width.

use std::fmt;

/// A value of any width: little-endian 32-bit words. Missing high words are zero.
#[derive(Clone, Default)]
pub struct Word(Vec<u32>);

impl Word {
    /// Zero.
    pub fn zero() -> Self {
        Self::default()
    }

    /// The value whose least significant byte is `bytes[0]`.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let word = |c: &[u8]| c.iter().rev().fold(0, |acc, &b| (acc << 8) | u32::from(b));
        Self(bytes.chunks(4).map(word).collect())
    }

    /// The value of these little-endian 32-bit words.
    pub fn from_words(words: &[u32]) -> Self {
        Self(words.to_vec())
    }

    /// `len` bytes, the least significant first.
    pub fn to_bytes(&self, len: usize) -> Vec<u8> {
        (0..len).map(|i| (self.word(i / 4) >> (8 * (i % 4))) as u8).collect()
    }

    /// The 32-bit word `index`; zero above the stored ones.
    pub fn word(&self, index: usize) -> u32 {
        self.0.get(index).copied().unwrap_or(0)
    }

    /// The stored 32-bit words.
    pub fn words(&self) -> &[u32] {
        &self.0
    }

    /// The low 64 bits.
    pub fn to_u64(&self) -> u64 {
        u64::from(self.word(0)) | (u64::from(self.word(1)) << 32)
    }

    /// The low 128 bits.
    pub fn to_u128(&self) -> u128 {
        (0..4).rev().fold(0, |acc, i| (acc << 32) | u128::from(self.word(i)))
    }

    /// Bit `index`.
    pub fn bit(&self, index: usize) -> bool {
        (self.word(index / 32) >> (index % 32)) & 1 != 0
    }

    /// `len` bits from bit `lo` up.
    pub fn bits(&self, lo: usize, len: usize) -> Self {
        let (skip, shift) = (lo / 32, lo % 32);
        let joined = |i: usize| {
            let low = u64::from(self.word(skip + i));
            let high = u64::from(self.word(skip + i + 1));
            ((low | (high << 32)) >> shift) as u32
        };
        let mut words: Vec<u32> = (0..len.div_ceil(32)).map(joined).collect();
        if !len.is_multiple_of(32) {
            *words.last_mut().expect("len is not 0") &= (1 << (len % 32)) - 1;
        }
        Self(words)
    }

    /// Replaces `len` bits from bit `lo` up by the low bits of `value`.
    pub fn set_bits(&mut self, lo: usize, len: usize, value: &Self) {
        let needed = (lo + len).div_ceil(32);
        if self.0.len() < needed {
            self.0.resize(needed, 0);
        }
        let mut done = 0;
        while done < len {
            let (index, shift) = ((lo + done) / 32, (lo + done) % 32);
            let count = (32 - shift).min(len - done);
            let mask = (((1_u64 << count) - 1) as u32) << shift;
            let part = value.bits(done, count).word(0) << shift;
            self.0[index] = (self.0[index] & !mask) | part;
            done += count;
        }
    }

    /// The number of bits up to the highest one that is set.
    pub fn bit_length(&self) -> usize {
        match self.0.iter().rposition(|&w| w != 0) {
            Some(i) => 32 * i + 32 - self.0[i].leading_zeros() as usize,
            None => 0,
        }
    }
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        (0..self.0.len().max(other.0.len())).all(|i| self.word(i) == other.word(i))
    }
}

impl Eq for Word {}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let top = self.0.iter().rposition(|&w| w != 0).unwrap_or(0);
        write!(f, "0x{:x}", self.word(top))?;
        (0..top).rev().try_for_each(|i| write!(f, "_{:08x}", self.word(i)))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl From<bool> for Word {
    fn from(value: bool) -> Self {
        Self(vec![u32::from(value)])
    }
}

macro_rules! from_unsigned {
    ($($int:ty),+) => {$(
        impl From<$int> for Word {
            fn from(value: $int) -> Self {
                Self::from_bytes(&value.to_le_bytes())
            }
        }
    )+};
}
from_unsigned!(u8, u16, u32, u64, u128, usize);

/// For unsuffixed literals.
///
/// # Panics
/// The value is negative.
impl From<i32> for Word {
    fn from(value: i32) -> Self {
        Self::from(u32::try_from(value).expect("a word is not negative"))
    }
}

impl From<&[u8]> for Word {
    fn from(bytes: &[u8]) -> Self {
        Self::from_bytes(bytes)
    }
}

impl From<&Self> for Word {
    fn from(word: &Self) -> Self {
        word.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_what_was_set() {
        let mut word = Word::zero();
        word.set_bits(27, 70, &Word::from(0x2a_dead_beef_0bad_cafe_u128));
        assert_eq!(word.bits(27, 70), Word::from(0x2a_dead_beef_0bad_cafe_u128));
        assert_eq!(word.bits(0, 27), Word::zero());
        word.set_bits(30, 4, &Word::from(0_u8));
        assert_eq!(word.bits(27, 70).to_u128(), 0x2a_dead_beef_0bad_cafe & !(0xf << 3));
        assert_eq!(Word::from_bytes(&[1, 2, 3, 4, 5]).to_bytes(6), [1, 2, 3, 4, 5, 0]);
        assert_eq!(Word::from(5_u8), Word::from(5_u128));
        assert_eq!(Word::from(0x1_0000_0000_u64).bit_length(), 33);
    }
}
