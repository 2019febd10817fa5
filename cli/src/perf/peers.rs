//! The other ends of the card's queue pairs.

use drdma_abi::roce::Transport;
use drdma_sim::wire::{Peer, PeerConfig, RemoteMemory};

use super::op::ATOMIC_BYTES;
use crate::job::Local;

/// The addresses of a peer unless others are given.
pub const PEER: Local = Local { mac: 0x0200_0000_0101, ip: 0x0a00_0101 };
/// The first of the peer's queue pair numbers.
pub(super) const FIRST_PEER_QPN: u32 = 0x100;
/// The queue key of datagrams.
pub(super) const QKEY: u32 = 0x1ee7_0001;
/// What WRITEs go to, and READs and atomics come from.
pub(super) const REMOTE: (u64, u32) = (0x10_0000_0000, 0x00d0_0d1e);

/// A queue pair that receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerQp {
    /// Where it is.
    pub at: Local,
    /// Its number.
    pub qpn: u32,
}

/// What the peers of a measurement are set up with.
pub(super) fn peer_config(
    shape: (Transport, u32),
    (card, card_qpn): (Local, u32),
    peer: PeerQp,
    longest: u64,
) -> PeerConfig {
    let (transport, mtu) = shape;
    let (addr, rkey) = REMOTE;
    // An atomic may be longer than what is sent.
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

/// Messages, READs and atomics of a peer, and their bytes.
pub(super) fn arrived(peer: &Peer) -> (u64, u64) {
    let answered = peer.answered();
    (
        peer.message_count() + answered.reads + answered.atomics,
        peer.message_bytes() + answered.read_bytes + answered.atomics * ATOMIC_BYTES,
    )
}
