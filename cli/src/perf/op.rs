//! Operations of transfers, and their limits.

use std::fmt;

use clap::ValueEnum;
use drdma_abi::roce::Transport;
use libdrdma::Access;
use serde::Serialize;

/// The most blocks that a send queue has, and the most entries of a completion queue.
pub(super) const MOST: usize = 1 << 16;
/// READs and atomics that a queue pair has outstanding by default, and at most.
pub const OUTSTANDING: u8 = 16;
/// Bytes of an atomic operation.
pub const ATOMIC_BYTES: u64 = 8;

/// What transfers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// SENDs.
    Send,
    /// WRITEs, all of them to the same place.
    Write,
    /// READs, all of them of the same place; every byte that they bring is checked.
    Read,
    /// Compare and swap of 8 B, a place a queue pair: each swaps what the one before left, which is checked.
    CompareAndSwap,
    /// Fetch and add of 1 to 8 B, a place a queue pair: what each one brings is checked.
    FetchAndAdd,
}

impl Op {
    /// True if the peer answers with data.
    pub fn is_answered(self) -> bool {
        !matches!(self, Self::Send | Self::Write)
    }

    /// True for atomic operations.
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::CompareAndSwap | Self::FetchAndAdd)
    }

    /// Rights to the local memory of transfers.
    pub(super) fn access(self) -> Access {
        if self.is_answered() { Access::LOCAL_WRITE } else { Access::empty() }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// Name of a transport on the command line and in JSON.
pub fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Rc => "rc",
        Transport::Uc => "uc",
        Transport::Ud => "ud",
    }
}
