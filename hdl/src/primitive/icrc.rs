//! Finds the part of a frame that the invariant CRC covers, so that its CRC can be computed from the frame's own beats.
//!
//! The ICRC covers 8 bytes of ones and the frame from its IPv4 header on, in which some fields count as ones (IBTA 1.4
//! annex A17.3.3). The link header in front of the IPv4 header is replaced by bytes that lead the CRC to the same state
//! as the 8 bytes of ones, so that nothing is shifted.

use drdma_abi::Layout;
use drdma_abi::layout::set_bits;
use drdma_abi::roce::{Bth, Ipv4, Udp};
use num_bigint::BigUint;

use super::crc32::{advance, crc32, take_back};

/// `link` bytes that lead the CRC to the state to which 8 bytes of ones lead it.
fn preset(link: usize) -> Vec<u8> {
    let goal = (0..8).fold(!0, |state, _| advance(state, 0xff));
    let state = (0..link - 4).fold(!0, |state, _| advance(state, 0));
    let word = (0..4).fold(goal, |state, _| take_back(state)) ^ state;
    let mut bytes = vec![0; link];
    bytes[link - 4..].copy_from_slice(&word.to_le_bytes());
    bytes
}

/// Masks of a frame's first beat whose IPv4 header starts behind `link` bytes: the bits that are kept, and the bits
/// that are then set. The result is what the ICRC covers.
pub(crate) fn covered(link: usize) -> (BigUint, BigUint) {
    let mut ones = [0; 64];
    let mut start = link;
    let masked: [(usize, &[_]); 3] = [
        (Ipv4::SIZE, &[Ipv4::field("tos"), Ipv4::field("ttl"), Ipv4::field("checksum")]),
        (Udp::SIZE, &[Udp::field("checksum")]),
        (Bth::SIZE, &[Bth::field("resv8a")]),
    ];
    for (size, fields) in masked {
        for field in fields {
            set_bits(&mut ones[start..], Ipv4::ORDER, field.start, field.width, u64::MAX);
        }
        start += size;
    }
    ones[..link].copy_from_slice(&preset(link));
    let mut kept = [0xff; 64];
    kept[..link].fill(0);
    (BigUint::from_bytes_le(&kept), BigUint::from_bytes_le(&ones))
}

/// CRC of any bytes with their own CRC behind them, by which a right ICRC is recognized.
pub(crate) fn residue() -> u32 {
    crc32(&crc32(&[]).to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drdma_verilated::testbench::Random;

    #[test]
    fn a_crc_behind_its_bytes_leaves_the_residue() {
        let mut random = Random::new(1);
        for len in 0..200 {
            let mut bytes = random.bytes(len);
            bytes.extend(crc32(&bytes).to_le_bytes());
            assert_eq!(crc32(&bytes), residue());
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
            assert_ne!(crc32(&bytes), residue());
        }
    }

    #[test]
    fn any_link_header_counts_as_eight_bytes_of_ones() {
        let ones = (0..8).fold(!0, |state, _| advance(state, 0xff));
        for link in [14, 18, 22] {
            assert_eq!(preset(link).iter().fold(!0, |state, &byte| advance(state, byte)), ones);
        }
    }
}
