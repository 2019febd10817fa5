//! Explicit congestion notification in IPv4 headers (RFC 3168).

use drdma_abi::roce::{ETHERTYPE_IPV4, ETHERTYPE_VLAN, Ethernet, Ipv4, VlanTag, ecn};
use drdma_semantics::icrc::internet_checksum;

/// ECN field of a packet whose ends do not support marks.
const NOT_CAPABLE: u8 = 0;

/// Offsets in an IPv4 header.
const TOS: usize = 1;
const CHECKSUM: usize = 10;

/// Marks an IPv4 frame whose sender allows it; false if it does not. The header's checksum stays
/// correct. RoCEv2's invariant CRC does not cover the mark.
pub fn mark(frame: &mut [u8]) -> bool {
    let tag =
        if frame.get(12..14) == Some(&ETHERTYPE_VLAN.to_be_bytes()) { VlanTag::SIZE } else { 0 };
    let Some((ethernet, rest)) = frame.split_at_mut_checked(Ethernet::SIZE + tag) else {
        return false;
    };
    let Some((header, _)) = rest.split_at_mut_checked(Ipv4::SIZE) else { return false };
    let is_ipv4 = ethernet[12 + tag..] == ETHERTYPE_IPV4.to_be_bytes() && header[0] == 0x45;
    if !is_ipv4 || header[TOS] & ecn::MASK == NOT_CAPABLE {
        return false;
    }
    header[TOS] |= ecn::CONGESTED;
    header[CHECKSUM..CHECKSUM + 2].fill(0);
    let sum = internet_checksum(header).to_be_bytes();
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum);
    true
}
