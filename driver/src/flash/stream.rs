//! Configuration streams of UltraScale+ FPGAs, as far as booting needs them (UG570, "Configuration
//! Packets").
//!
//! A board skips the contents of its flash up to the sync word, which may lie at any byte. From
//! there on words of 32 bits, big-endian, are packets: a header that names a register, and the
//! words that are written to it. A stream names the IDCODE of its FPGA before its first frame, and
//! an FPGA with another IDCODE stops there and falls back. A stream for an FPGA of several dies
//! contains those of the other dies, each with a sync word of its own.

/// The sync word.
pub const SYNC: [u8; 4] = [0xaa, 0x99, 0x55, 0x66];

/// Number of the register of the frames' data.
const FDRI: u32 = 2;
/// Number of the register of the IDCODE.
const IDCODE: u32 = 12;
/// Mask of the revision in an IDCODE, in which FPGAs of one type differ.
const REVISION: u32 = 0xf000_0000;

/// A packet header: register and number of words that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    /// Access to a register; only a write has words behind it.
    Register { register: u32, words: usize },
    /// More words for the register named before.
    More { words: usize },
    /// A dummy word, which is skipped.
    Pad,
    /// None of the above.
    Unknown,
}

impl Header {
    fn of(word: u32) -> Self {
        let write = word >> 27 & 3 == 2;
        let words = |mask| if write { (word & mask) as usize } else { 0 };
        match word >> 29 {
            _ if word == 0 || word == u32::MAX => Self::Pad,
            1 => Self::Register { register: word >> 13 & 0x1f, words: words(0x7ff) },
            2 => Self::More { words: words(0x07ff_ffff) },
            _ => Self::Unknown,
        }
    }
}

/// Positions in a stream of the words without which no board boots it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootWords {
    /// Offsets of all sync words, at any byte; ascending. The first is where the stream starts.
    pub syncs: Vec<usize>,
    /// Offset of the IDCODE that the stream names first, and the IDCODE; `None` if there is none
    /// before the first frame.
    pub idcode: Option<(usize, u32)>,
}

impl BootWords {
    /// Searches a stream for these words.
    pub fn find(bytes: &[u8]) -> Self {
        let syncs: Vec<_> = (0..bytes.len().saturating_sub(3))
            .filter(|at| bytes[*at] == SYNC[0] && bytes[*at..*at + 4] == SYNC)
            .collect();
        let idcode = syncs.first().and_then(|sync| idcode(bytes, sync + 4));
        Self { syncs, idcode }
    }

    /// The IDCODE without its revision.
    pub fn device(&self) -> Option<u32> {
        self.idcode.map(|(_, idcode)| idcode & !REVISION)
    }
}

/// Returns the first IDCODE of the packets from `at` on.
fn idcode(bytes: &[u8], mut at: usize) -> Option<(usize, u32)> {
    loop {
        let header = Header::of(word(bytes, at)?);
        at += 4;
        match header {
            Header::Register { register: IDCODE, words: 1 } => return Some((at, word(bytes, at)?)),
            Header::Register { register: FDRI, .. } | Header::Unknown => return None,
            Header::Register { words, .. } | Header::More { words } => at += 4 * words,
            Header::Pad => {}
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    const SYNC_WORD: u32 = 0xaa99_5566;
    const NOP: u32 = 0x2000_0000;
    const WRITE_IDCODE: u32 = 0x3001_8001;

    #[test]
    fn the_idcode_follows_the_first_sync_word_behind_other_packets() {
        // Packets: two words to the register CMD among no-operations.
        let packets = [NOP, 0x3000_8002, 7, WRITE_IDCODE, 0, !0, WRITE_IDCODE, 0x14b7_7093];
        let found = BootWords::find(&stream(&[&[!0, SYNC_WORD], &packets[..]].concat()));
        assert_eq!(found.syncs, [4]);
        assert_eq!(found.idcode, Some((36, 0x14b7_7093)));
        assert_eq!(found.device(), Some(0x04b7_7093));
    }

    #[test]
    fn sync_words_lie_at_any_byte_and_the_first_one_counts() {
        let mut bytes = vec![0xaa, 0xaa];
        bytes.extend(stream(&[0x9955_66aa, 0x9955_6620]));
        bytes.extend([0, 0, 0]);
        bytes.extend(stream(&[WRITE_IDCODE, 1, SYNC_WORD]));
        let found = BootWords::find(&bytes);
        assert_eq!(found.syncs, [1, 5, 21]);
        assert_eq!(found.idcode, None, "behind the first sync word is no packet");
    }

    #[test]
    fn a_stream_without_an_idcode_before_its_frames_has_none() {
        for words in [
            vec![],
            vec![NOP, WRITE_IDCODE, 5],
            vec![SYNC_WORD, 0x3000_4001, 0, WRITE_IDCODE, 5],
            vec![SYNC_WORD, WRITE_IDCODE],
            vec![SYNC_WORD, 0x57ff_ffff, WRITE_IDCODE, 5],
            vec![SYNC_WORD, 0xe000_0000, WRITE_IDCODE, 5],
            // A read of the IDCODE register, not a write.
            vec![SYNC_WORD, 0x2801_8001, 5],
        ] {
            assert_eq!(BootWords::find(&stream(&words)).idcode, None, "{words:x?}");
        }
    }
}
