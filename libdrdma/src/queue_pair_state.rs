//! The states of a queue pair, and what leads from one to another.

use std::{fmt, net::Ipv4Addr};

use drdma_abi::roce::{MTUS, Transport};
use drdma_driver::CardError;

use crate::{MacAddress, ResolveError};

/// The states of a queue pair (IBTA 1.4 section 10.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum QueuePairState {
    /// Newly made.
    Reset = 0,
    /// Set up.
    Init = 1,
    /// The peer is known (RTR).
    ReadyToReceive = 2,
    /// Work requests are executed (RTS).
    ReadyToSend = 3,
    /// A request failed: all further ones are flushed.
    Error = 4,
}

impl QueuePairState {
    /// Every state, in code order.
    pub const ALL: [Self; 5] =
        [Self::Reset, Self::Init, Self::ReadyToReceive, Self::ReadyToSend, Self::Error];

    pub(crate) fn from_code(code: u8) -> Self {
        Self::ALL[usize::from(code)]
    }
}

impl fmt::Display for QueuePairState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reset => "Reset",
            Self::Init => "Init",
            Self::ReadyToReceive => "RTR",
            Self::ReadyToSend => "RTS",
            Self::Error => "Error",
        })
    }
}

/// What [`QueuePair::modify`](crate::QueuePair::modify) changes: the next state and the attributes that go with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairAttributes {
    pub(crate) state: Option<QueuePairState>,
    pub(crate) pkey: Option<u16>,
    pub(crate) qkey: Option<u32>,
    pub(crate) path_mtu: Option<u32>,
    pub(crate) dest_qpn: Option<u32>,
    pub(crate) dest_mac: Option<MacAddress>,
    pub(crate) dest_ip: Option<Ipv4Addr>,
    pub(crate) start_psn: Option<u32>,
    pub(crate) dscp: Option<u8>,
    pub(crate) ecn: Option<u8>,
    pub(crate) ttl: Option<u8>,
    pub(crate) vlan: Option<VlanTag>,
}

/// An 802.1Q tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VlanTag {
    /// The VLAN's number, 1 to 4,094.
    pub id: u16,
    /// Priority code point, 0 to 7.
    pub priority: u8,
}

macro_rules! setters {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ty;)*) => {$(
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = Some($name);
            self
        }
    )*};
}

impl QueuePairAttributes {
    /// No attribute.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The state to go to.
        state: QueuePairState;
        /// Partition key; 0xffff is the default partition.
        pkey: u16;
        /// Queue key (UD).
        qkey: u32;
        /// Payload bytes of a packet: 256, 512, 1024, 2048 or 4096.
        path_mtu: u32;
        /// The peer's queue pair number, 24 bits.
        dest_qpn: u32;
        /// The peer's Ethernet address (or the next hop's). Without it, the context's
        /// [`Resolver`](crate::Resolver) is asked for that of `dest_ip`.
        dest_mac: MacAddress;
        /// The peer's IPv4 address.
        dest_ip: Ipv4Addr;
        /// The first packet sequence number, 24 bits.
        start_psn: u32;
        /// The packets' differentiated services code point, 0 to 63 (0 unless told; RFC 2474).
        dscp: u8;
        /// Their explicit congestion notification field, 0 to 3 (0 unless told: routers drop packets rather
        /// than mark them; RFC 3168).
        ecn: u8;
        /// Their time to live: routers that they may pass, 1 to 255 (64 unless told).
        ttl: u8;
        /// The tag of their VLAN. The card sends none: [`ModifyError::Unsupported`].
        vlan: VlanTag;
    }
}

/// An attribute's name, as errors say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Attribute {
    /// [`QueuePairAttributes::pkey`].
    Pkey,
    /// [`QueuePairAttributes::qkey`].
    Qkey,
    /// [`QueuePairAttributes::path_mtu`].
    PathMtu,
    /// [`QueuePairAttributes::dest_qpn`].
    DestQpn,
    /// [`QueuePairAttributes::dest_mac`].
    DestMac,
    /// [`QueuePairAttributes::dest_ip`].
    DestIp,
    /// [`QueuePairAttributes::start_psn`].
    StartPsn,
    /// [`QueuePairAttributes::dscp`].
    Dscp,
    /// [`QueuePairAttributes::ecn`].
    Ecn,
    /// [`QueuePairAttributes::ttl`].
    Ttl,
    /// [`QueuePairAttributes::vlan`].
    Vlan,
}

impl Attribute {
    /// Every attribute.
    pub const ALL: [Self; 11] = [
        Self::Pkey,
        Self::Qkey,
        Self::PathMtu,
        Self::DestQpn,
        Self::DestMac,
        Self::DestIp,
        Self::StartPsn,
        Self::Dscp,
        Self::Ecn,
        Self::Ttl,
        Self::Vlan,
    ];
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pkey => "pkey",
            Self::Qkey => "qkey",
            Self::PathMtu => "path_mtu",
            Self::DestQpn => "dest_qpn",
            Self::DestMac => "dest_mac",
            Self::DestIp => "dest_ip",
            Self::StartPsn => "start_psn",
            Self::Dscp => "dscp",
            Self::Ecn => "ecn",
            Self::Ttl => "ttl",
            Self::Vlan => "vlan",
        })
    }
}

impl QueuePairAttributes {
    fn has(&self, attribute: Attribute) -> bool {
        match attribute {
            Attribute::Pkey => self.pkey.is_some(),
            Attribute::Qkey => self.qkey.is_some(),
            Attribute::PathMtu => self.path_mtu.is_some(),
            Attribute::DestQpn => self.dest_qpn.is_some(),
            Attribute::DestMac => self.dest_mac.is_some(),
            Attribute::DestIp => self.dest_ip.is_some(),
            Attribute::StartPsn => self.start_psn.is_some(),
            Attribute::Dscp => self.dscp.is_some(),
            Attribute::Ecn => self.ecn.is_some(),
            Attribute::Ttl => self.ttl.is_some(),
            Attribute::Vlan => self.vlan.is_some(),
        }
    }

    /// These attributes, and the others as `before` has them.
    pub(crate) fn over(self, before: Self) -> Self {
        Self {
            state: self.state.or(before.state),
            pkey: self.pkey.or(before.pkey),
            qkey: self.qkey.or(before.qkey),
            path_mtu: self.path_mtu.or(before.path_mtu),
            dest_qpn: self.dest_qpn.or(before.dest_qpn),
            dest_mac: self.dest_mac.or(before.dest_mac),
            dest_ip: self.dest_ip.or(before.dest_ip),
            start_psn: self.start_psn.or(before.start_psn),
            dscp: self.dscp.or(before.dscp),
            ecn: self.ecn.or(before.ecn),
            ttl: self.ttl.or(before.ttl),
            vlan: self.vlan.or(before.vlan),
        }
    }

    /// Only those attributes that a transition needs or takes.
    pub(crate) fn only(&self, transition: &Transition) -> Self {
        let keep = |attribute| transition.takes(attribute);
        Self {
            state: None,
            pkey: self.pkey.filter(|_| keep(Attribute::Pkey)),
            qkey: self.qkey.filter(|_| keep(Attribute::Qkey)),
            path_mtu: self.path_mtu.filter(|_| keep(Attribute::PathMtu)),
            dest_qpn: self.dest_qpn.filter(|_| keep(Attribute::DestQpn)),
            dest_mac: self.dest_mac.filter(|_| keep(Attribute::DestMac)),
            dest_ip: self.dest_ip.filter(|_| keep(Attribute::DestIp)),
            start_psn: self.start_psn.filter(|_| keep(Attribute::StartPsn)),
            dscp: self.dscp.filter(|_| keep(Attribute::Dscp)),
            ecn: self.ecn.filter(|_| keep(Attribute::Ecn)),
            ttl: self.ttl.filter(|_| keep(Attribute::Ttl)),
            vlan: self.vlan.filter(|_| keep(Attribute::Vlan)),
        }
    }

    /// Refuses values outside their limits.
    fn check_values(&self) -> Result<(), ModifyError> {
        let refuse =
            |attribute, value, limits| Err(ModifyError::Value { attribute, value, limits });
        if let Some(mtu) = self.path_mtu
            && !MTUS.contains(&mtu)
        {
            return refuse(Attribute::PathMtu, mtu, "256, 512, 1024, 2048 or 4096");
        }
        for (attribute, value) in
            [(Attribute::DestQpn, self.dest_qpn), (Attribute::StartPsn, self.start_psn)]
        {
            if let Some(value) = value
                && value >> 24 != 0
            {
                return refuse(attribute, value, "a number of 24 bits");
            }
        }
        for (attribute, value, range, limits) in [
            (Attribute::Dscp, self.dscp, 0..=63, "0 to 63"),
            (Attribute::Ecn, self.ecn, 0..=3, "0 to 3"),
            (Attribute::Ttl, self.ttl, 1..=255, "1 to 255"),
        ] {
            if let Some(value) = value
                && !range.contains(&value)
            {
                return refuse(attribute, value.into(), limits);
            }
        }
        if self.vlan.is_some() {
            let reason = "the card sends Ethernet headers without an 802.1Q tag";
            return Err(ModifyError::Unsupported { attribute: Attribute::Vlan, reason });
        }
        Ok(())
    }
}

/// Why a queue pair was not modified. It stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModifyError {
    /// Going to Reset needs another place in the card's table, because posted shared requests name this
    /// one, and none is free until they are polled.
    #[error("the card has no free queue pair: all {limit} are in use, or named by posted requests")]
    Exhausted {
        /// Queue pairs of a card.
        limit: u32,
    },
    /// The attributes name no state to go to.
    #[error("no state to go to")]
    NoState,
    /// A transition that does not exist.
    #[error("there is no transition from {from} to {to}; from {from}, the next state can be {}", possible(*from))]
    Transition {
        /// The state that the queue pair is in.
        from: QueuePairState,
        /// The state that was asked for.
        to: QueuePairState,
    },
    /// An attribute that the transition needs.
    #[error("the transition from {from} to {to} needs {attribute}")]
    Missing {
        /// The state that the queue pair is in.
        from: QueuePairState,
        /// The state that was asked for.
        to: QueuePairState,
        /// What is missing.
        attribute: Attribute,
    },
    /// An attribute that the transition does not take.
    #[error("the transition from {from} to {to} does not take {attribute}")]
    Unexpected {
        /// The state that the queue pair is in.
        from: QueuePairState,
        /// The state that was asked for.
        to: QueuePairState,
        /// What is too much.
        attribute: Attribute,
    },
    /// A value outside its limits.
    #[error("{attribute} is {value}: it must be {limits}")]
    Value {
        /// The attribute.
        attribute: Attribute,
        /// Its value.
        value: u32,
        /// What is possible.
        limits: &'static str,
    },
    /// An attribute that no card has.
    #[error("{attribute} is not possible: {reason}")]
    Unsupported {
        /// The attribute.
        attribute: Attribute,
        /// Why.
        reason: &'static str,
    },
    /// `dest_mac` was left out, and is not known otherwise.
    #[error("dest_mac is not given, and not known: {0}")]
    Resolve(#[from] ResolveError),
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}

fn possible(from: QueuePairState) -> String {
    let next = QueuePairState::ALL
        .into_iter()
        .filter(|to| transition(Transport::Rc, from, *to).is_some())
        .map(|state| state.to_string());
    next.collect::<Vec<_>>().join(" or ")
}

/// The attributes that a transition needs, and those that it also takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    required: &'static [Attribute],
    optional: &'static [Attribute],
}

impl Transition {
    fn takes(&self, attribute: Attribute) -> bool {
        self.required.contains(&attribute) || self.optional.contains(&attribute)
    }
}

/// The transition between two states, if there is one (IBTA 1.4 table 91, for a queue pair that
/// only sends: what concerns receiving is left out. The card keeps the peer's address of a UD queue
/// pair too, so UD needs it like the others).
pub(crate) fn transition(
    transport: Transport,
    from: QueuePairState,
    to: QueuePairState,
) -> Option<Transition> {
    use Attribute::{
        DestIp, DestMac, DestQpn, Dscp, Ecn, PathMtu, Pkey, Qkey, StartPsn, Ttl, Vlan,
    };
    use QueuePairState::{Error, Init, ReadyToReceive, ReadyToSend, Reset};
    let (required, optional): (&[_], &[_]) = match (from, to, transport) {
        (_, Reset, _) => (&[], &[]),
        (Reset, Error, _) => return None,
        (_, Error, _) => (&[], &[]),
        (Reset, Init, Transport::Ud) => (&[Pkey, Qkey], &[]),
        (Reset, Init, _) => (&[Pkey], &[]),
        (Init, Init, Transport::Ud) => (&[], &[Pkey, Qkey]),
        (Init, Init, _) => (&[], &[Pkey]),
        (Init, ReadyToReceive, Transport::Ud) => {
            (&[PathMtu, DestQpn, DestMac, DestIp], &[Pkey, Qkey, Dscp, Ecn, Ttl, Vlan])
        }
        (Init, ReadyToReceive, _) => {
            (&[PathMtu, DestQpn, DestMac, DestIp], &[Pkey, Dscp, Ecn, Ttl, Vlan])
        }
        (ReadyToReceive, ReadyToSend, Transport::Ud) => (&[StartPsn], &[Qkey]),
        (ReadyToReceive, ReadyToSend, _) => (&[StartPsn], &[]),
        _ => return None,
    };
    Some(Transition { required, optional })
}

/// Checks that `attributes` lead from `from` to `to`.
pub(crate) fn check(
    transport: Transport,
    from: QueuePairState,
    to: QueuePairState,
    attributes: &QueuePairAttributes,
) -> Result<(), ModifyError> {
    let transition = transition(transport, from, to).ok_or(ModifyError::Transition { from, to })?;
    for attribute in Attribute::ALL {
        let given = attributes.has(attribute);
        if !given && transition.required.contains(&attribute) {
            return Err(ModifyError::Missing { from, to, attribute });
        }
        if given && !transition.takes(attribute) {
            return Err(ModifyError::Unexpected { from, to, attribute });
        }
    }
    attributes.check_values()
}
