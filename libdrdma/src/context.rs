//! An open card: the root of everything else.

use std::{net::Ipv4Addr, sync::Arc};

use drdma_driver::{Card, CardError};

use crate::{MacAddress, ProtectionDomain, completion_queue::CompletionQueueBuilder};

/// How a card is set up when it is opened.
///
/// ```
/// use libdrdma::{MacAddress, Options};
///
/// let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
/// assert_eq!(options.merge_threshold, None);
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
    /// The widest gap in bytes that the optimizer reads through (D-RDMA section 4.1); `None`
    /// leaves the card's own value.
    pub merge_threshold: Option<u32>,
    /// Units of 1,024 cycles after which an unacknowledged RC request completes with
    /// `retry_exceeded`; 0 waits for ever.
    pub ack_timeout: u32,
}

impl Options {
    /// The given addresses, everything else as the card has it.
    pub fn new(mac: MacAddress, ip: Ipv4Addr) -> Self {
        Self { mac, ip, max_read: None, merge_threshold: None, ack_timeout: 0 }
    }
}

/// Why something that was asked of a context failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// A resource of the card is used up.
    #[error("the card has no free {what}: all {limit} are in use")]
    Exhausted {
        /// What there is none of.
        what: &'static str,
        /// How many there are.
        limit: u32,
    },
}

/// What libdrdma itself counted, over all queues of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Work requests handed to the card.
    pub work_requests: u64,
    /// Bytes of those work requests: what the application had to say to describe its data.
    pub request_bytes: u64,
    /// Bytes of ring that they took: `request_bytes` and the padding to blocks of 64 bytes.
    pub ring_bytes: u64,
    /// Doorbells rung.
    pub doorbells: u64,
}

/// The card's counters (the register map's `counter` module), read one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    values: Vec<(&'static str, u64)>,
}

impl Counters {
    /// The counter of that register, for instance
    /// [`PAYLOAD_BYTES`](drdma_abi::register::counter::PAYLOAD_BYTES).
    pub fn get(&self, counter: drdma_abi::register::Counter) -> u64 {
        self.iter().find(|(name, _)| *name == counter.name).map_or(0, |(_, value)| value)
    }

    /// Every counter's name and value, in the order of the register map.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.values.iter().copied()
    }
}

/// An open card. Clones are handles to the same card; the card is disabled when the last object
/// that uses it is dropped.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) inner: Arc<ContextInner>,
}

#[derive(Debug)]
pub(crate) struct ContextInner {}

impl Context {
    /// Resets the card, sets it up and enables it.
    ///
    /// # Errors
    /// A card of another type, version or ABI is refused, both sides being named.
    pub fn open(card: Box<dyn Card>, options: Options) -> Result<Self, Error> {
        let _ = (card, options);
        todo!()
    }

    /// A new protection domain: memory regions and queues of different domains do not mix.
    pub fn protection_domain(&self) -> ProtectionDomain {
        todo!()
    }

    /// Starts a completion queue.
    pub fn completion_queue(&self) -> CompletionQueueBuilder<'_> {
        todo!()
    }

    /// Lets a simulated card's time go on; call it in every polling loop.
    ///
    /// # Errors
    /// The card failed, now or since the last call.
    pub fn progress(&self) -> Result<(), CardError> {
        todo!()
    }

    /// Reads every counter of the card.
    ///
    /// # Errors
    /// The card failed.
    pub fn counters(&self) -> Result<Counters, CardError> {
        todo!()
    }

    /// Sets every counter of the card to 0.
    ///
    /// # Errors
    /// The card failed.
    pub fn clear_counters(&self) -> Result<(), CardError> {
        todo!()
    }

    /// What was posted so far.
    pub fn statistics(&self) -> Statistics {
        todo!()
    }
}
