//! Parts of requests that only a card that receives executes.

use std::net::Ipv4Addr;

use drdma_abi::{
    receive::{AddressHandle as AddressLayout, AtomicOperands, ReliableOpcode, request_flags},
    roce::TTL,
    work_request::GRANULE,
};

use crate::{Features, MacAddress, encode::words};

/// Destination of a datagram, for [`WorkRequest::to`](crate::WorkRequest::to): a peer's addresses,
/// its queue pair, and the queue key of that queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressHandle {
    mac: MacAddress,
    ip: Ipv4Addr,
    qpn: u32,
    qkey: u32,
    tos: u8,
    ttl: u8,
}

impl AddressHandle {
    /// Addresses queue pair `dest_qpn` (24 bits), whose queue key is `qkey`, at the given
    /// addresses.
    pub fn new(dest_mac: MacAddress, dest_ip: Ipv4Addr, dest_qpn: u32, qkey: u32) -> Self {
        Self { mac: dest_mac, ip: dest_ip, qpn: dest_qpn, qkey, tos: 0, ttl: TTL }
    }

    /// Sets the differentiated services code point, 0 to 63 (default 0); higher bits are ignored.
    #[must_use]
    pub fn dscp(mut self, dscp: u8) -> Self {
        self.tos = dscp << 2 | self.tos & 3;
        self
    }

    /// Sets the explicit congestion notification field, 0 to 3 (default 0); higher bits are
    /// ignored.
    #[must_use]
    pub fn ecn(mut self, ecn: u8) -> Self {
        self.tos = self.tos & !3 | ecn & 3;
        self
    }

    /// Sets the time to live (default 64, which 0 stands for as well).
    #[must_use]
    pub fn ttl(mut self, ttl: u8) -> Self {
        self.ttl = ttl;
        self
    }
}

/// Operations that only a card that receives executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reliable {
    SendInvalidate { rkey: u32 },
    Read,
    CompareAndSwap { compare: u64, swap: u64 },
    FetchAndAdd { add: u64 },
}

/// Options of a request beyond those that every card knows, and the operands that stand behind its
/// head.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extension {
    pub reliable: Option<Reliable>,
    pub address: Option<AddressHandle>,
    pub fence: bool,
    pub solicited: bool,
}

impl Extension {
    /// True if the request needs nothing beyond what a card that only sends knows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.reliable.is_none() && self.address.is_none() && !self.fence && !self.solicited
    }

    /// Name of an option that some cards lack, and the features that it needs; `None` if there is
    /// none.
    pub fn needs(&self) -> Option<(&'static str, Features)> {
        let mut flags = Features::empty();
        flags.set(Features::READS, self.fence);
        flags.set(Features::REQUESTS, self.solicited || self.address.is_some());
        let (what, features) = match self.reliable {
            Some(Reliable::Read) => ("a READ", Features::READS),
            Some(Reliable::CompareAndSwap { .. }) => ("a compare and swap", Features::READS),
            Some(Reliable::FetchAndAdd { .. }) => ("a fetch and add", Features::READS),
            Some(Reliable::SendInvalidate { .. }) => ("an invalidation", Features::REQUESTS),
            None if self.fence => ("a fence", flags),
            None if self.solicited => ("a solicited request", flags),
            None if self.address.is_some() => ("an address with a request", flags),
            None => return None,
        };
        Some((what, features | flags))
    }

    /// True for operations that send no payload, and fill regions with their answer.
    #[inline]
    pub fn is_answered(&self) -> bool {
        !matches!(self.reliable, None | Some(Reliable::SendInvalidate { .. }))
    }

    /// Bits of the head's flags that the options set.
    #[inline]
    pub fn flags(&self) -> u8 {
        let flag = |on: bool, flag: u8| if on { flag } else { 0 };
        flag(self.fence, request_flags::FENCE)
            | flag(self.solicited, request_flags::SOLICITED)
            | flag(self.address.is_some(), request_flags::ADDRESS)
    }

    /// The head's opcode, if it differs from the usual one, and its `imm`.
    #[inline]
    pub fn opcode(&self) -> Option<(ReliableOpcode, u32)> {
        self.reliable.map(|reliable| match reliable {
            Reliable::SendInvalidate { rkey } => (ReliableOpcode::SendInvalidate, rkey),
            Reliable::Read => (ReliableOpcode::Read, 0),
            Reliable::CompareAndSwap { .. } => (ReliableOpcode::CompareAndSwap, 0),
            Reliable::FetchAndAdd { .. } => (ReliableOpcode::FetchAndAdd, 0),
        })
    }

    fn operands(&self) -> Option<(u64, u64)> {
        match self.reliable? {
            Reliable::CompareAndSwap { compare, swap } => Some((swap, compare)),
            Reliable::FetchAndAdd { add } => Some((add, 0)),
            Reliable::SendInvalidate { .. } | Reliable::Read => None,
        }
    }

    /// Number of granules behind the head.
    #[inline]
    pub fn granules(&self) -> usize {
        let address = self.address.map_or(0, |_| AddressLayout::SIZE);
        (address + self.operands().map_or(0, |_| AtomicOperands::SIZE)) / GRANULE
    }

    /// Writes these granules.
    #[inline]
    pub fn write(&self, mut put: impl FnMut(&[u64])) {
        if let Some(address) = self.address {
            put(&words!(AddressLayout {
                dest_mac: address.mac.to_u64(),
                tos: address.tos,
                ttl: address.ttl,
                dest_ip: u32::from(address.ip),
                dest_qpn: address.qpn,
                qkey: address.qkey,
            }));
        }
        if let Some((swap_or_add, compare)) = self.operands() {
            put(&words!(AtomicOperands { swap_or_add: swap_or_add, compare: compare }));
        }
    }
}
