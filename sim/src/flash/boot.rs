//! Booting of a board from its flash.

use std::ops::Range;

use super::Array;

/// Result of booting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Booted {
    /// The FPGA has a stream of the main segment, from its sync word to its last word.
    Main(Vec<u8>),
    /// The FPGA has a stream of the golden segment, from its sync word to its last word.
    Golden(Vec<u8>),
    /// The FPGA is not configured.
    Nothing,
}

/// Boots from the main segment, or else from the golden one, an FPGA with `idcode`.
///
/// This FPGA believes more than a real one: from a sync word and its own IDCODE on, it configures itself
/// with whatever follows, without a checksum, and even if the stream has no end.
pub fn boot(array: &Array, golden: Range<u32>, main: Range<u32>, idcode: u32) -> Booted {
    if let Some(stream) = configure(array, main, idcode) {
        return Booted::Main(stream);
    }
    configure(array, golden, idcode).map_or(Booted::Nothing, Booted::Golden)
}

/// The first stream of a segment, if it is for this FPGA.
fn configure(array: &Array, segment: Range<u32>, idcode: u32) -> Option<Vec<u8>> {
    let end = segment.end.min(array.end());
    let word = |at: u32| {
        let bytes = [array.byte(at), array.byte(at + 1), array.byte(at + 2), array.byte(at + 3)];
        (at + 4 <= end).then(|| u32::from_be_bytes(bytes))
    };
    let starts = |at: &u32| array.byte(*at) == 0xaa && word(*at) == Some(0xaa99_5566);
    let start = (segment.start..end).find(starts)?;
    let (mut at, mut register, mut identified) = (start + 4, 0, false);
    while let Some(header) = word(at) {
        at += 4;
        if header == 0 || header == u32::MAX {
            continue;
        }
        let words = match (header >> 29, header >> 27 & 3) {
            (1, 2) => {
                register = header >> 13 & 0x1f;
                header & 0x7ff
            }
            (1, _) => 0,
            (2, 2) => header & 0x07ff_ffff,
            _ => break,
        };
        for _ in 0..words {
            let Some(value) = word(at) else { break };
            at += 4;
            match register {
                12 if value & 0x0fff_ffff != idcode => return None,
                12 => identified = true,
                // Frames, or a stream for another die, come without an earlier IDCODE.
                2 | 30 if !identified => return None,
                // Command DESYNC.
                4 if value == 13 => return identified.then(|| array.bytes(start..at)),
                _ => {}
            }
        }
    }
    identified.then(|| array.bytes(start..at))
}
