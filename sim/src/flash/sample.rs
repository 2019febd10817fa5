//! Bitstreams that configure nothing: the frame of a real one around random frames.

use drdma_verilated::testbench::Random;

const SYNC: u32 = 0xaa99_5566;
const NOP: u32 = 0x2000_0000;

/// A stream for an FPGA of two dies: a pad, the sync word at 0x50, `idcode`, random frames, a stream for
/// the other die with random frames of its own, the end.
pub fn stream(idcode: u32, words: usize, seed: u64) -> Vec<u8> {
    let nested = die(idcode, &frames(words / 2, seed ^ 1), 4);
    let mut packets = vec![0x3000_4000, 0x5000_0000 | (words - words / 2) as u32];
    packets.extend(frames(words - words / 2, seed));
    packets.extend([0x3003_c000, 0x5000_0000 | nested.len() as u32]);
    packets.extend(nested);
    let words = wrap(idcode, &packets, 20);
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A stream for one die.
fn die(idcode: u32, frames: &[u32], pad: usize) -> Vec<u32> {
    let mut packets = vec![0x3000_4000, 0x5000_0000 | frames.len() as u32];
    packets.extend(frames);
    wrap(idcode, &packets, pad)
}

fn wrap(idcode: u32, packets: &[u32], pad: usize) -> Vec<u32> {
    let mut words = vec![!0; pad];
    // Reset of the checksum, the IDCODE; at the end DESYNC.
    words.extend([SYNC, NOP, 0x3000_8001, 7, NOP, NOP, 0x3001_8001, idcode]);
    words.extend(packets);
    words.extend([0x3000_8001, 13, NOP, NOP]);
    words
}

fn frames(words: usize, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..words).map(|_| random.u64() as u32).collect()
}

/// A file as Vivado writes it: name, part, date and time before the stream.
pub fn bit_file(part: &str, stream: &[u8]) -> Vec<u8> {
    let mut file =
        vec![0x00, 0x09, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x00, 0x00, 0x01];
    let name = "fpga;UserID=0XFFFFFFFF;Version=2023.2";
    for (key, text) in [(b'a', name), (b'b', part), (b'c', "2026/01/31"), (b'd', "12:00:00")] {
        file.push(key);
        file.extend((text.len() as u16 + 1).to_be_bytes());
        file.extend(text.as_bytes());
        file.push(0);
    }
    file.push(b'e');
    file.extend((stream.len() as u32).to_be_bytes());
    file.extend(stream);
    file
}
