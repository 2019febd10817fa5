//! States of a queue pair, and the transitions between them.

use std::fmt;

use drdma_abi::roce::Transport;
use drdma_driver::CardError;

use crate::ResolveError;

mod attributes;

pub use attributes::{Attribute, QueuePairAttributes, VlanTag};

/// The states of a queue pair (IBTA 1.4 section 10.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum QueuePairState {
    /// The queue pair is new or was reset.
    Reset = 0,
    /// The queue pair is set up.
    Init = 1,
    /// The peer is known (RTR).
    ReadyToReceive = 2,
    /// Work requests are executed (RTS).
    ReadyToSend = 3,
    /// A request failed: all further requests are flushed.
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

/// Error of modifying a queue pair. The queue pair stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModifyError {
    /// A transition to Reset needs another entry of the card's table, because posted shared
    /// requests name this one, and none is free until they are polled.
    #[error("the card has no free queue pair: all {limit} are in use, or named by posted requests")]
    Exhausted {
        /// Number of queue pairs of a card.
        limit: u32,
    },
    /// The attributes do not name a state to go to.
    #[error("no state to go to")]
    NoState,
    /// The transition does not exist.
    #[error("there is no transition from {from} to {to}; from {from}, the next state can be {}", possible(*from))]
    Transition {
        /// The state that the queue pair is in.
        from: QueuePairState,
        /// The state that was asked for.
        to: QueuePairState,
    },
    /// The transition needs an attribute that was not given.
    #[error("the transition from {from} to {to} needs {attribute}")]
    Missing {
        /// The state that the queue pair is in.
        from: QueuePairState,
        /// The state that was asked for.
        to: QueuePairState,
        /// Attribute that is missing.
        attribute: Attribute,
    },
    /// The transition does not take an attribute that was given.
    #[error("the transition from {from} to {to} does not take {attribute}")]
    Unexpected {
        /// The state that the queue pair is in.
        from: QueuePairState,
        /// The state that was asked for.
        to: QueuePairState,
        /// Attribute that is not taken.
        attribute: Attribute,
    },
    /// The value of an attribute is outside its limits.
    #[error("{attribute} is {value}: it must be {limits}")]
    Value {
        /// The attribute.
        attribute: Attribute,
        /// Value that was given.
        value: u32,
        /// Description of the values that are possible.
        limits: &'static str,
    },
    /// The card lacks the feature that an attribute needs.
    #[error("{attribute} is not possible: {reason}")]
    Unsupported {
        /// The attribute.
        attribute: Attribute,
        /// Description of what the card lacks.
        reason: &'static str,
    },
    /// `dest_mac` was left out, and the resolver does not know it.
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

/// Returns the transition between two states, if there is one (IBTA 1.4 table 91, where attributes
/// of receiving are optional: most queue pairs only send. The card keeps the peer's address of a UD
/// queue pair too, so UD needs it like the others).
pub(crate) fn transition(
    transport: Transport,
    from: QueuePairState,
    to: QueuePairState,
) -> Option<Transition> {
    use Attribute::{
        Access, DestIp, DestMac, DestQpn, Dscp, Ecn, MaxDestRdAtomic, MaxRdAtomic, MinRnrTimer,
        PathMtu, Pkey, Qkey, RetryCnt, RnrRetry, RqPsn, StartPsn, Timeout, Ttl, Vlan,
    };
    use QueuePairState::{Error, Init, ReadyToReceive, ReadyToSend, Reset};
    let (required, optional): (&[_], &[_]) = match (from, to, transport) {
        (_, Reset, _) => (&[], &[]),
        (Reset, Error, _) => return None,
        (_, Error, _) => (&[], &[]),
        (Reset, Init, Transport::Ud) => (&[Pkey, Qkey], &[]),
        (Reset, Init, _) => (&[Pkey], &[Access]),
        (Init, Init, Transport::Ud) => (&[], &[Pkey, Qkey]),
        (Init, Init, _) => (&[], &[Pkey, Access]),
        (Init, ReadyToReceive, Transport::Ud) => {
            (&[PathMtu, DestQpn, DestMac, DestIp], &[Pkey, Qkey, Dscp, Ecn, Ttl, Vlan])
        }
        (Init, ReadyToReceive, Transport::Uc) => {
            (&[PathMtu, DestQpn, DestMac, DestIp], &[Pkey, Dscp, Ecn, Ttl, Vlan, Access, RqPsn])
        }
        (Init, ReadyToReceive, Transport::Rc) => (
            &[PathMtu, DestQpn, DestMac, DestIp],
            &[Pkey, Dscp, Ecn, Ttl, Vlan, Access, RqPsn, MinRnrTimer, MaxDestRdAtomic],
        ),
        (ReadyToReceive, ReadyToSend, Transport::Ud) => (&[StartPsn], &[Qkey]),
        (ReadyToReceive, ReadyToSend, Transport::Uc) => (&[StartPsn], &[Access]),
        (ReadyToReceive, ReadyToSend, Transport::Rc) => {
            (&[StartPsn], &[Access, MinRnrTimer, Timeout, RetryCnt, RnrRetry, MaxRdAtomic])
        }
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
