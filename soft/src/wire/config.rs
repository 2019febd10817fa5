//! What a peer is, and how it answers.

use drdma_abi::roce::{DEFAULT_PKEY, TTL, Transport};

/// How a peer answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// As the transport says.
    #[default]
    Normal,
    /// Whatever comes is acknowledged, in any order; nothing of it is checked, kept or counted.
    Anything,
    /// Not at all, as if it were switched off: frames vanish.
    Dead,
    /// With an RNR NAK to every message.
    NotReady,
    /// With this NAK syndrome ([`drdma_abi::roce::syndrome`]) to the first packet.
    Refuse(u8),
}

/// Memory of a peer, and the key that opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteMemory {
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub len: u64,
    /// The key to it.
    pub rkey: u32,
}

/// A remote queue pair, and the queue pair of the card that is connected to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// Its MAC address.
    pub mac: u64,
    /// Its IPv4 address.
    pub ip: u32,
    /// Its queue pair number.
    pub qpn: u32,
    /// The card's queue pair number.
    pub card_qpn: u32,
    /// The card's MAC address, if it is to be checked.
    pub card_mac: Option<u64>,
    /// The card's IPv4 address, if it is to be checked.
    pub card_ip: Option<u32>,
    /// Transport.
    pub transport: Transport,
    /// Path MTU.
    pub mtu: u32,
    /// The first packet's sequence number; `None` takes any.
    pub start_psn: Option<u32>,
    /// IPv4 type of service that the card's packets are to have.
    pub tos: u8,
    /// IPv4 time to live that they are to have.
    pub ttl: u8,
    /// The tag control information of the 802.1Q tags that they are to have, and that answers have; `None`: no tags.
    pub vlan: Option<u16>,
    /// Partition key.
    pub pkey: u16,
    /// Queue key, for UD.
    pub qkey: u32,
    /// What may be written; `None` allows everything under any key.
    pub writable: Option<RemoteMemory>,
    /// What may be READ, and changed by atomics, on RC; `None` allows neither. What nothing was written to holds
    /// a pattern ([`content`](super::content)).
    pub readable: Option<RemoteMemory>,
    /// How it answers.
    pub behaviour: Behaviour,
    /// Nanoseconds between a packet and its answer.
    pub answer_delay_ns: u64,
    /// Keep the messages that arrive, and what WRITEs bring; without it only their number and bytes are counted.
    pub keep_messages: bool,
}

impl PeerConfig {
    /// A peer that accepts what comes in order and answers at once.
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
