//! Counters of libdrdma, and of the card.

use drdma_abi::register::Counter;

/// Counters of libdrdma itself, summed over all queues of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of work requests handed to the card.
    pub work_requests: u64,
    /// Size of these work requests in bytes: what the application needed to describe its data.
    pub request_bytes: u64,
    /// Ring space that they took, in bytes: `request_bytes` and the padding to blocks of 64 bytes.
    pub ring_bytes: u64,
    /// Number of doorbells rung.
    pub doorbells: u64,
}

impl Statistics {
    pub(super) fn add(&mut self, other: &Self) {
        self.work_requests += other.work_requests;
        self.request_bytes += other.request_bytes;
        self.ring_bytes += other.ring_bytes;
        self.doorbells += other.doorbells;
    }
}

/// The card's counters (the register map's `counter` module), read one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    pub(super) values: Vec<(&'static str, u64)>,
}

impl Counters {
    /// Value of the given counter, for instance
    /// [`PAYLOAD_BYTES`](drdma_abi::register::counter::PAYLOAD_BYTES).
    pub fn get(&self, counter: Counter) -> u64 {
        self.iter().find(|(name, _)| *name == counter.name).map_or(0, |(_, value)| value)
    }

    /// Every counter's name and value, in the order of the register map.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.values.iter().copied()
    }
}
