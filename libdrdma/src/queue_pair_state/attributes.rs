//! Attributes of a queue pair, which go with its transitions.

use std::{fmt, net::Ipv4Addr};

use drdma_abi::roce::MTUS;

use super::{ModifyError, QueuePairState, Transition};
use crate::{Access, Features, MacAddress};

/// Argument of [`QueuePair::modify`](crate::QueuePair::modify): the next state and the attributes
/// that go with it.
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
    pub(crate) access: Option<Access>,
    pub(crate) rq_psn: Option<u32>,
    pub(crate) min_rnr_timer: Option<u8>,
    pub(crate) max_dest_rd_atomic: Option<u8>,
    pub(crate) timeout: Option<u8>,
    pub(crate) retry_cnt: Option<u8>,
    pub(crate) rnr_retry: Option<u8>,
    pub(crate) max_rd_atomic: Option<u8>,
}

/// An 802.1Q tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VlanTag {
    /// The VLAN's number, 1 to 4,094.
    pub id: u16,
    /// Priority code point, 0 to 7.
    pub priority: u8,
}

impl VlanTag {
    /// Tag control information.
    pub(crate) fn control(self) -> u16 {
        u16::from(self.priority) << 13 | self.id
    }
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
    /// No attributes.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// State to go to.
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
        /// The packets' differentiated services code point, 0 to 63 (default 0; RFC 2474).
        dscp: u8;
        /// The packets' explicit congestion notification field, 0 to 3 (default 0: routers drop
        /// packets rather than mark them; RFC 3168).
        ecn: u8;
        /// The packets' time to live: the number of routers that they may pass, 1 to 255 (default
        /// 64).
        ttl: u8;
        /// The 802.1Q tag of the frames (default none). The queue pair accepts frames of that VLAN
        /// alone.
        vlan: VlanTag;
        /// Rights of the peer (default none); [`Access::LOCAL_WRITE`] does not concern it. This
        /// attribute and those that follow need a card that receives.
        access: Access;
        /// The first sequence number that is expected, 24 bits. A queue pair of RC or UC that receives
        /// needs it; one without a receive queue answers WRITEs, READs and atomics if it has it.
        rq_psn: u32;
        /// Time that a sender is asked to wait if it finds no receive: a code of IBTA 1.4 table 45,
        /// 0 to 31 (default 0: 655.36 ms; 1 is 10 us, 12 is 640 us; RC).
        min_rnr_timer: u8;
        /// READs and atomics of the peer that may be outstanding, 0 to 16 (default 0; RC).
        max_dest_rd_atomic: u8;
        /// Retransmission time-out: packets are sent again if no acknowledgement came for 2^timeout
        /// times 4.096 us, 0 to 31 (default 0: the context's
        /// [`ack_timeout`](crate::Options::ack_timeout), after which nothing is sent again; RC).
        timeout: u8;
        /// Number of retransmissions without any acknowledgement: 0 to 7 (default 0; RC).
        retry_cnt: u8;
        /// Number of times that a message which found no receive is sent again: 0 to 7 (default 0;
        /// 7: no limit; RC).
        rnr_retry: u8;
        /// READs and atomics that may be outstanding, 0 to 16; at most the peer's
        /// `max_dest_rd_atomic` (default 0; RC).
        max_rd_atomic: u8;
    }
}

/// Name of an attribute in errors.
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
    /// [`QueuePairAttributes::access`].
    Access,
    /// [`QueuePairAttributes::rq_psn`].
    RqPsn,
    /// [`QueuePairAttributes::min_rnr_timer`].
    MinRnrTimer,
    /// [`QueuePairAttributes::max_dest_rd_atomic`].
    MaxDestRdAtomic,
    /// [`QueuePairAttributes::timeout`].
    Timeout,
    /// [`QueuePairAttributes::retry_cnt`].
    RetryCnt,
    /// [`QueuePairAttributes::rnr_retry`].
    RnrRetry,
    /// [`QueuePairAttributes::max_rd_atomic`].
    MaxRdAtomic,
}

impl Attribute {
    /// Every attribute.
    pub const ALL: [Self; 19] = [
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
        Self::Access,
        Self::RqPsn,
        Self::MinRnrTimer,
        Self::MaxDestRdAtomic,
        Self::Timeout,
        Self::RetryCnt,
        Self::RnrRetry,
        Self::MaxRdAtomic,
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
            Self::Access => "access",
            Self::RqPsn => "rq_psn",
            Self::MinRnrTimer => "min_rnr_timer",
            Self::MaxDestRdAtomic => "max_dest_rd_atomic",
            Self::Timeout => "timeout",
            Self::RetryCnt => "retry_cnt",
            Self::RnrRetry => "rnr_retry",
            Self::MaxRdAtomic => "max_rd_atomic",
        })
    }
}

impl QueuePairAttributes {
    /// Returns the attributes that not every card takes, and the features that they need.
    pub(crate) fn needs(&self) -> impl Iterator<Item = (Attribute, Features)> {
        let access = self.access.unwrap_or(Access::empty());
        let mut answers = Features::RECEIVES;
        answers.set(Features::READ_ANSWERS, access.contains(Access::REMOTE_READ));
        answers.set(Features::ATOMIC_ANSWERS, access.contains(Access::REMOTE_ATOMIC));
        let more_than_0 = |value: Option<u8>| value.is_some_and(|value| value > 0);
        let needs = |on: bool, features: Features| {
            Features::RECEIVES | if on { features } else { Features::empty() }
        };
        let (reads, retransmits) = (Features::READS, Features::RETRANSMITS);
        [
            (Attribute::Access, answers),
            (Attribute::RqPsn, Features::RECEIVES),
            (Attribute::MinRnrTimer, Features::RECEIVES),
            (
                Attribute::MaxDestRdAtomic,
                needs(more_than_0(self.max_dest_rd_atomic), Features::READ_ANSWERS),
            ),
            (Attribute::Timeout, needs(more_than_0(self.timeout), retransmits)),
            (Attribute::RetryCnt, needs(more_than_0(self.retry_cnt), retransmits)),
            (Attribute::RnrRetry, needs(more_than_0(self.rnr_retry), retransmits)),
            (Attribute::MaxRdAtomic, needs(more_than_0(self.max_rd_atomic), reads)),
        ]
        .into_iter()
        .filter(|(attribute, _)| self.has(*attribute))
    }

    pub(super) fn has(&self, attribute: Attribute) -> bool {
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
            Attribute::Access => self.access.is_some(),
            Attribute::RqPsn => self.rq_psn.is_some(),
            Attribute::MinRnrTimer => self.min_rnr_timer.is_some(),
            Attribute::MaxDestRdAtomic => self.max_dest_rd_atomic.is_some(),
            Attribute::Timeout => self.timeout.is_some(),
            Attribute::RetryCnt => self.retry_cnt.is_some(),
            Attribute::RnrRetry => self.rnr_retry.is_some(),
            Attribute::MaxRdAtomic => self.max_rd_atomic.is_some(),
        }
    }

    /// Returns these attributes, and the others as `before` has them.
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
            access: self.access.or(before.access),
            rq_psn: self.rq_psn.or(before.rq_psn),
            min_rnr_timer: self.min_rnr_timer.or(before.min_rnr_timer),
            max_dest_rd_atomic: self.max_dest_rd_atomic.or(before.max_dest_rd_atomic),
            timeout: self.timeout.or(before.timeout),
            retry_cnt: self.retry_cnt.or(before.retry_cnt),
            rnr_retry: self.rnr_retry.or(before.rnr_retry),
            max_rd_atomic: self.max_rd_atomic.or(before.max_rd_atomic),
        }
    }

    /// Returns only those attributes that a transition needs or takes.
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
            access: self.access.filter(|_| keep(Attribute::Access)),
            rq_psn: self.rq_psn.filter(|_| keep(Attribute::RqPsn)),
            min_rnr_timer: self.min_rnr_timer.filter(|_| keep(Attribute::MinRnrTimer)),
            max_dest_rd_atomic: self
                .max_dest_rd_atomic
                .filter(|_| keep(Attribute::MaxDestRdAtomic)),
            timeout: self.timeout.filter(|_| keep(Attribute::Timeout)),
            retry_cnt: self.retry_cnt.filter(|_| keep(Attribute::RetryCnt)),
            rnr_retry: self.rnr_retry.filter(|_| keep(Attribute::RnrRetry)),
            max_rd_atomic: self.max_rd_atomic.filter(|_| keep(Attribute::MaxRdAtomic)),
        }
    }

    /// Refuses values outside their limits.
    pub(super) fn check_values(&self) -> Result<(), ModifyError> {
        let refuse =
            |attribute, value, limits| Err(ModifyError::Value { attribute, value, limits });
        if let Some(mtu) = self.path_mtu
            && !MTUS.contains(&mtu)
        {
            return refuse(Attribute::PathMtu, mtu, "256, 512, 1024, 2048 or 4096");
        }
        for (attribute, value) in [
            (Attribute::DestQpn, self.dest_qpn),
            (Attribute::StartPsn, self.start_psn),
            (Attribute::RqPsn, self.rq_psn),
        ] {
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
            (Attribute::MinRnrTimer, self.min_rnr_timer, 0..=31, "0 to 31"),
            (Attribute::MaxDestRdAtomic, self.max_dest_rd_atomic, 0..=16, "0 to 16"),
            (Attribute::Timeout, self.timeout, 0..=31, "0 to 31"),
            (Attribute::RetryCnt, self.retry_cnt, 0..=7, "0 to 7"),
            (Attribute::RnrRetry, self.rnr_retry, 0..=7, "0 to 7"),
            (Attribute::MaxRdAtomic, self.max_rd_atomic, 0..=16, "0 to 16"),
        ] {
            if let Some(value) = value
                && !range.contains(&value)
            {
                return refuse(attribute, value.into(), limits);
            }
        }
        if let Some(VlanTag { id, priority }) = self.vlan {
            if !(1..=4094).contains(&id) {
                return refuse(Attribute::Vlan, id.into(), "a VLAN of 1 to 4094");
            }
            if priority > 7 {
                return refuse(Attribute::Vlan, priority.into(), "of a priority of 0 to 7");
            }
        }
        Ok(())
    }
}
