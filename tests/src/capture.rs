//! Reading captures (the classic pcap format).

use crate::expect::Frames;
use crate::frame;

/// The frames of a pcap file.
///
/// # Panics
/// If the bytes are no pcap file.
pub fn frames(file: &[u8]) -> Vec<Vec<u8>> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert!(matches!(word(0), 0xa1b2_c3d4 | 0xa1b2_3c4d), "not a little-endian pcap file");
    assert_eq!(word(20), 1, "the link type is not Ethernet");
    let mut frames = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let (captured, original) = (word(at + 8) as usize, word(at + 12) as usize);
        assert_eq!(captured, original, "a cut frame");
        at += 16;
        frames.push(file[at..at + captured].to_vec());
        at += captured;
    }
    frames
}

/// The frames that a card sent, by the queue pair that they are for. Acknowledgements are the
/// peers', not the card's, and are left out.
pub fn by_queue_pair(frames: impl IntoIterator<Item = Vec<u8>>) -> Frames {
    let mut sorted = Frames::new();
    for frame in frames {
        if frame::opcode(&frame) & 0x1f != 0x11 {
            sorted.entry(frame::dest_qpn(&frame)).or_default().push(frame);
        }
    }
    sorted
}
