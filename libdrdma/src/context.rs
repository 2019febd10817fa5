//! An open card: the root of everything else.

use std::{
    fmt,
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU32, Ordering},
    },
};

use drdma_abi::register::{
    ACK_TIMEOUT, COMPLETION_QUEUES, COUNTER_CLEAR, COUNTERS, Counter, IP, MAC_HIGH, MAC_LOW,
    MAX_READ, MEMORY_REGIONS, MERGE_THRESHOLD, QUEUE_PAIRS, SEND_QUEUES, Table,
};
use drdma_driver::{Card, CardError, Device, DmaMemory, OpenError};

use crate::{
    MacAddress, ProtectionDomain, QueuePairState, completion_queue::CompletionQueueBuilder,
    index_pool::IndexPool,
};

/// How a card is set up when it is opened.
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
    /// read (D-RDMA section 4.1), 0 to 4096; `None` leaves the card's own value.
    pub merge_threshold: Option<u32>,
    /// Units of 1,024 cycles without progress after which an unacknowledged RC request completes
    /// with `retry_exceeded`; 0 waits for ever.
    pub ack_timeout: u32,
}

impl Options {
    /// The given addresses, everything else as the card has it.
    pub fn new(mac: MacAddress, ip: Ipv4Addr) -> Self {
        Self { mac, ip, max_read: None, merge_threshold: None, ack_timeout: 0 }
    }
}

/// Why a card was not opened, or a queue not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The card is not one that this software can drive.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// An option or a size outside its limits.
    #[error("{what} is {value}: it must be {limits}")]
    Limits {
        /// What was given.
        what: &'static str,
        /// Its value.
        value: u64,
        /// What is possible.
        limits: &'static str,
    },
    /// A resource of the card is used up.
    #[error("the card has no free {what}: all {limit} are in use")]
    Exhausted {
        /// What there is none of.
        what: &'static str,
        /// How many there are.
        limit: u32,
    },
    /// Another queue pair of this context has that number.
    #[error("queue pair number {qpn:#x} is in use")]
    QueuePairNumber {
        /// The number.
        qpn: u32,
    },
    /// A completion queue of another card.
    #[error("the completion queue belongs to another context than the protection domain")]
    Context,
    /// The operating system gave no memory for a ring.
    #[error("cannot allocate {len} B for a ring")]
    Ring {
        /// Bytes.
        len: usize,
        /// Why.
        source: std::io::Error,
    },
}

fn check_max_read(bytes: u32) -> Result<(), Error> {
    if bytes.is_power_of_two() && (64..=4096).contains(&bytes) {
        return Ok(());
    }
    let limits = "a power of two from 64 to 4096";
    Err(Error::Limits { what: "max_read", value: bytes.into(), limits })
}

fn check_merge_threshold(bytes: u32) -> Result<(), Error> {
    // A gap of a page is never inside a read; the register has 13 bits.
    if bytes <= 4096 {
        return Ok(());
    }
    Err(Error::Limits { what: "merge_threshold", value: bytes.into(), limits: "0 to 4096" })
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
    /// The value of that counter, for instance
    /// [`PAYLOAD_BYTES`](drdma_abi::register::counter::PAYLOAD_BYTES).
    pub fn get(&self, counter: Counter) -> u64 {
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

pub(crate) struct ContextInner {
    hardware: Mutex<Hardware>,
    /// The [`QueuePairState`] of every queue pair: completions change it.
    states: Vec<AtomicU8>,
}

/// What only one thread at a time touches. It is locked last: never lock a completion queue while
/// holding it.
pub(crate) struct Hardware {
    pub device: Device,
    pub statistics: Statistics,
    pub queue_pairs: IndexPool,
    pub memory_regions: IndexPool,
    pub send_queues: IndexPool,
    pub completion_queues: IndexPool,
    /// The number on the wire of every queue pair in use.
    pub qpns: Vec<Option<u32>>,
    /// What failed where no error could be returned.
    pub failure: Option<CardError>,
    /// The card may still be working on requests of a queue that was taken from it.
    unsettled: bool,
    /// Addresses of memory that is unmapped when it does not any longer.
    retired: Vec<u64>,
    /// State of the generator of key tags.
    tags: u64,
}

impl Hardware {
    /// The next tag of a local key: 22 bits, not 0.
    pub fn next_tag(&mut self) -> u32 {
        loop {
            // splitmix64: a full-period sequence, the same in every run.
            self.tags = self.tags.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.tags;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            let tag = (z >> 42) as u32;
            if tag != 0 {
                return tag;
            }
        }
    }

    /// Requests that have no completion were taken from the card: it may go on reading their memory
    /// until it is idle once.
    pub fn abandon(&mut self) {
        self.unsettled = true;
    }

    /// True if the card touches nothing any longer that belonged to abandoned requests. Then,
    /// retired memory is unmapped.
    pub fn settle(&mut self) -> Result<bool, CardError> {
        if self.unsettled && self.device.is_busy()? {
            return Ok(false);
        }
        self.unsettled = false;
        for iova in std::mem::take(&mut self.retired) {
            let unmapped = self.device.unmap(iova);
            self.note(unmapped);
        }
        Ok(true)
    }

    /// Unmaps memory that no request needs any longer, as soon as the card is done with abandoned
    /// ones. Until then the address is not used again: what the card still writes there must not
    /// reach anything new.
    pub fn retire(&mut self, iova: u64) {
        self.retired.push(iova);
        let settled = self.settle().map(|_| ());
        self.note(settled);
    }

    /// Remembers a failure that nobody could be told of.
    pub fn note(&mut self, result: Result<(), CardError>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }
}

impl fmt::Debug for ContextInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

impl ContextInner {
    pub fn lock(&self) -> MutexGuard<'_, Hardware> {
        self.hardware.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn state(&self, queue_pair: u32) -> QueuePairState {
        QueuePairState::from_code(self.states[queue_pair as usize].load(Ordering::Acquire))
    }

    pub fn set_state(&self, queue_pair: u32, state: QueuePairState) {
        self.states[queue_pair as usize].store(state as u8, Ordering::Release);
    }

    /// Allocates a ring and shows it to the card.
    pub fn allocate_ring(&self, len: usize) -> Result<(DmaMemory, u64), Error> {
        let memory = DmaMemory::new(len).map_err(|source| Error::Ring { len, source })?;
        let iova = self.lock().device.map(&memory)?;
        Ok((memory, iova))
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        let hardware = self.hardware.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Nobody is left to tell.
        let _ = hardware.device.disable();
    }
}

impl Context {
    /// Checks, resets, sets up and enables a card.
    ///
    /// # Errors
    /// A card of another type, major version or ABI is refused, both sides being named; an option
    /// outside its limits; or the card failed.
    pub fn open(card: Box<dyn Card>, options: Options) -> Result<Self, Error> {
        options.max_read.map_or(Ok(()), check_max_read)?;
        options.merge_threshold.map_or(Ok(()), check_merge_threshold)?;
        let mut device = Device::open(card)?;
        let mac = options.mac.to_u64();
        device.write(MAC_LOW, mac as u32)?;
        device.write(MAC_HIGH, (mac >> 32) as u32)?;
        device.write(IP, options.ip.into())?;
        device.write(ACK_TIMEOUT, options.ack_timeout)?;
        if let Some(bytes) = options.max_read {
            device.write(MAX_READ, bytes)?;
        }
        if let Some(bytes) = options.merge_threshold {
            device.write(MERGE_THRESHOLD, bytes)?;
        }
        device.enable()?;
        let pool = |table: Table| IndexPool::new(table.entries);
        let hardware = Hardware {
            device,
            statistics: Statistics::default(),
            queue_pairs: pool(QUEUE_PAIRS),
            memory_regions: pool(MEMORY_REGIONS),
            send_queues: pool(SEND_QUEUES),
            completion_queues: pool(COMPLETION_QUEUES),
            qpns: vec![None; QUEUE_PAIRS.entries as usize],
            failure: None,
            unsettled: false,
            retired: Vec::new(),
            tags: 0,
        };
        let states = (0..QUEUE_PAIRS.entries).map(|_| AtomicU8::new(0)).collect();
        Ok(Self { inner: Arc::new(ContextInner { hardware: Mutex::new(hardware), states }) })
    }

    /// A new protection domain: memory regions and queues of different domains do not mix.
    pub fn protection_domain(&self) -> ProtectionDomain {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        ProtectionDomain { context: self.clone(), id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Starts a completion queue.
    pub fn completion_queue(&self) -> CompletionQueueBuilder<'_> {
        CompletionQueueBuilder::new(self)
    }

    /// Lets a simulated card's time go on, and notices a board that was removed; call it in every
    /// polling loop.
    ///
    /// # Errors
    /// The card failed: now, or since the last call in a place that could not say so (a drop, or
    /// [`CompletionQueue::poll`](crate::CompletionQueue::poll)).
    pub fn progress(&self) -> Result<(), CardError> {
        let mut hardware = self.inner.lock();
        if let Some(error) = hardware.failure.take() {
            return Err(error);
        }
        hardware.device.progress()?;
        hardware.settle().map(|_| ())
    }

    /// Reads every counter of the card.
    ///
    /// # Errors
    /// The card failed.
    pub fn counters(&self) -> Result<Counters, CardError> {
        let mut hardware = self.inner.lock();
        let mut values = Vec::with_capacity(COUNTERS.len());
        for counter in COUNTERS {
            values.push((counter.name, hardware.device.counter(*counter)?));
        }
        Ok(Counters { values })
    }

    /// Reads one counter of the card, which takes three register accesses.
    ///
    /// # Errors
    /// The card failed.
    pub fn counter(&self, counter: Counter) -> Result<u64, CardError> {
        self.inner.lock().device.counter(counter)
    }

    /// Sets every counter of the card to 0.
    ///
    /// # Errors
    /// The card failed.
    pub fn clear_counters(&self) -> Result<(), CardError> {
        self.inner.lock().device.write(COUNTER_CLEAR, 1)
    }

    /// Sets the longest DMA read in bytes that the optimizer forms: a power of two from 64 to 4096.
    /// It holds for what the card plans from now on.
    ///
    /// # Errors
    /// A value outside its limits, or the card failed.
    pub fn set_max_read(&self, bytes: u32) -> Result<(), Error> {
        check_max_read(bytes)?;
        Ok(self.inner.lock().device.write(MAX_READ, bytes)?)
    }

    /// Sets the widest gap in bytes that the optimizer reads through: 0 to 4096. It holds for what
    /// the card plans from now on.
    ///
    /// # Errors
    /// A value outside its limits, or the card failed.
    pub fn set_merge_threshold(&self, bytes: u32) -> Result<(), Error> {
        check_merge_threshold(bytes)?;
        Ok(self.inner.lock().device.write(MERGE_THRESHOLD, bytes)?)
    }

    /// What was posted so far: exact, and counted at each doorbell.
    pub fn statistics(&self) -> Statistics {
        self.inner.lock().statistics
    }
}
