//! Configuration of a peer.

use drdma_abi::roce::{DEFAULT_PKEY, TTL, Transport};

/// Behaviour of a peer towards packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// The peer answers according to the transport.
    #[default]
    Normal,
    /// The peer acknowledges every packet, in any order, without checking, keeping or counting it.
    Anything,
    /// The peer is switched off: frames vanish.
    Dead,
    /// The peer answers the first packet with an RNR NAK.
    NotReady,
    /// The peer answers the first packet with this NAK syndrome ([`drdma_abi::roce::syndrome`]).
    Refuse(u8),
}

/// Memory of a peer, and its remote key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteMemory {
    /// Address of the first byte.
    pub addr: u64,
    /// Length in bytes.
    pub len: u64,
    /// Remote key of the memory.
    pub rkey: u32,
}

/// A remote queue pair, and the queue pair of the card that is connected to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// MAC address of the peer.
    pub mac: u64,
    /// IPv4 address of the peer.
    pub ip: u32,
    /// Queue pair number of the peer.
    pub qpn: u32,
    /// Queue pair number of the card.
    pub card_qpn: u32,
    /// MAC address of the card; `None`: not checked.
    pub card_mac: Option<u64>,
    /// IPv4 address of the card; `None`: not checked.
    pub card_ip: Option<u32>,
    /// Transport of the queue pairs.
    pub transport: Transport,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Sequence number of the first packet; `None` accepts any.
    pub start_psn: Option<u32>,
    /// IPv4 type of service that the card's packets must have.
    pub tos: u8,
    /// IPv4 time to live that the card's packets must have.
    pub ttl: u8,
    /// Tag control information of the 802.1Q tags that the card's packets must have, and that
    /// answers have; `None`: no tags.
    pub vlan: Option<u16>,
    /// Partition key.
    pub pkey: u16,
    /// Queue key, for UD.
    pub qkey: u32,
    /// Memory that may be written; `None` allows every address under any key.
    pub writable: Option<RemoteMemory>,
    /// Memory that may be READ, and changed by atomics, on RC; `None` allows neither. Bytes that
    /// were not written hold a pattern ([`content`](super::content)).
    pub readable: Option<RemoteMemory>,
    /// Behaviour of the peer.
    pub behaviour: Behaviour,
    /// Time in nanoseconds between a packet and its answer.
    pub answer_delay_ns: u64,
    /// Keeps the messages that arrive, and the bytes of WRITEs; otherwise only their number and
    /// bytes are counted.
    pub keep_messages: bool,
}

impl PeerConfig {
    /// A peer that accepts packets in order and answers at once.
    pub fn new(transport: Transport, mac: u64, ip: u32, qpn: u32, card_qpn: u32) -> Self {
        Self {
            mac,
            ip,
            qpn,
            card_qpn,
            card_mac: None,
            card_ip: None,
            transport,
            mtu: 1024,
            start_psn: None,
            tos: 0,
            ttl: TTL,
            vlan: None,
            pkey: DEFAULT_PKEY,
            qkey: 0,
            writable: None,
            readable: None,
            behaviour: Behaviour::Normal,
            answer_delay_ns: 0,
            keep_messages: true,
        }
    }
}
