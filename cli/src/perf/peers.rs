//! The peers of the card's queue pairs.

use drdma_abi::roce::Transport;
use drdma_sim::wire::{Peer, PeerConfig, RemoteMemory};

use super::op::ATOMIC_BYTES;
use crate::job::Local;

/// Default addresses of a peer.
pub const PEER: Local = Local { mac: 0x0200_0000_0101, ip: 0x0a00_0101 };
/// The first of the peer's queue pair numbers.
pub(super) const FIRST_PEER_QPN: u32 = 0x100;
/// The queue key of datagrams.
pub(super) const QKEY: u32 = 0x1ee7_0001;
/// Remote address and key of WRITEs, READs and atomics.
pub(super) const REMOTE: (u64, u32) = (0x10_0000_0000, 0x00d0_0d1e);

/// A queue pair of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerQp {
    /// Addresses of the peer.
    pub at: Local,
    /// Number of the queue pair.
    pub qpn: u32,
}

/// Configuration of a peer of a measurement.
pub(super) fn peer_config(
    shape: (Transport, u32),
    (card, card_qpn): (Local, u32),
    peer: PeerQp,
    longest: u64,
) -> PeerConfig {
    let (transport, mtu) = shape;
    let (addr, rkey) = REMOTE;
    // An atomic's 8 B may be longer than the longest message.
    let memory = RemoteMemory { addr, len: longest.max(ATOMIC_BYTES), rkey };
    PeerConfig {
        card_mac: Some(card.mac),
        card_ip: Some(card.ip),
        mtu,
        start_psn: Some(0),
        qkey: QKEY,
        writable: Some(memory),
        readable: Some(memory),
        keep_messages: false,
        ..PeerConfig::new(transport, peer.at.mac, peer.at.ip, peer.qpn, card_qpn)
    }
}

/// Number and bytes of a peer's messages, READs and atomics.
pub(super) fn arrived(peer: &Peer) -> (u64, u64) {
    let answered = peer.answered();
    (
        peer.message_count() + answered.reads + answered.atomics,
        peer.message_bytes() + answered.read_bytes + answered.atomics * ATOMIC_BYTES,
    )
}
