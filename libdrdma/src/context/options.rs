//! Options for opening a card, and errors of setting up a card or queue.

use std::net::Ipv4Addr;

use drdma_driver::{CardError, OpenError};

use crate::MacAddress;

/// Default time that a card waits for an acknowledgement: 0.54 s of its time, in units of 1,024
/// cycles.
pub const DEFAULT_ACK_TIMEOUT: u32 = 1 << 17;

/// Options for opening a card.
///
/// ```
/// use libdrdma::{MacAddress, Options};
///
/// let mut options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
/// assert_eq!(options.merge_threshold, None, "the card's own value");
/// options.merge_threshold = Some(128);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The card's Ethernet address.
    pub mac: MacAddress,
    /// The card's IPv4 address.
    pub ip: Ipv4Addr,
    /// Longest DMA read in bytes that the optimizer forms, a power of two from 64 to 4096;
    /// `None` leaves the card's own value.
    pub max_read: Option<u32>,
    /// The widest gap in bytes that the optimizer reads through instead of starting another DMA
    /// read (D-RDMA section 4.1), 0 to 4096; `None` leaves the card's own value, below which it looks for the
    /// best gap by itself ([`READ_BALANCE`](drdma_abi::register::READ_BALANCE)).
    pub merge_threshold: Option<u32>,
    /// Units of 1,024 cycles (4.096 us) without progress after which an unacknowledged RC request
    /// completes with `retry_exceeded` (default [`DEFAULT_ACK_TIMEOUT`]); 0 waits for ever.
    pub ack_timeout: u32,
    /// Seed of the tags of keys, so that a simulation has the same keys each time. Anybody who
    /// knows the seed knows the keys; `None`, the default, takes the system's random numbers.
    pub key_seed: Option<u64>,
}

impl Options {
    /// The given addresses, the default time-out, and the card's own values of all other options.
    pub fn new(mac: MacAddress, ip: Ipv4Addr) -> Self {
        let ack_timeout = DEFAULT_ACK_TIMEOUT;
        Self { mac, ip, max_read: None, merge_threshold: None, ack_timeout, key_seed: None }
    }
}

/// Error of opening a card or making a queue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The card is of a type or version that this software cannot drive.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// An option or a size is outside its limits.
    #[error("{what} is {value}: it must be {limits}")]
    Limits {
        /// Name of the option or size.
        what: &'static str,
        /// Value that was given.
        value: u64,
        /// Description of the values that are possible.
        limits: &'static str,
    },
    /// A resource of the card is used up.
    #[error("the card has no free {what}: all {limit} are in use")]
    Exhausted {
        /// Name of the resource.
        what: &'static str,
        /// Number that the card has of it.
        limit: u32,
    },
    /// The queue pair number is in use in this context.
    #[error("queue pair number {qpn:#x} is in use")]
    QueuePairNumber {
        /// The queue pair number.
        qpn: u32,
    },
    /// The card only sends.
    #[error("{what} is not possible: the card does not receive")]
    Unsupported {
        /// Name of the operation that was asked for.
        what: &'static str,
    },
    /// The shared receive queue belongs to another protection domain.
    #[error("the shared receive queue belongs to another protection domain than the queue pair")]
    ProtectionDomain,
    /// The completion queue belongs to another card.
    #[error("the completion queue belongs to another context than the protection domain")]
    Context,
    /// The operating system provided no memory for a ring.
    #[error("cannot allocate {len} B for a ring")]
    Ring {
        /// Size of the ring in bytes.
        len: usize,
        /// Error that the operating system returned.
        source: std::io::Error,
    },
}

pub(super) fn check_max_read(bytes: u32) -> Result<(), Error> {
    if bytes.is_power_of_two() && (64..=4096).contains(&bytes) {
        return Ok(());
    }
    let limits = "a power of two from 64 to 4096";
    Err(Error::Limits { what: "max_read", value: bytes.into(), limits })
}

pub(super) fn check_merge_threshold(bytes: u32) -> Result<(), Error> {
    // A gap of a whole page is never inside a read; the register has 13 bits.
    if bytes <= 4096 {
        return Ok(());
    }
    Err(Error::Limits { what: "merge_threshold", value: bytes.into(), limits: "0 to 4096" })
}
