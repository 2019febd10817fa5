//! An open card: the root of everything else.

use std::{
    any::Any,
    fmt,
    net::Ipv4Addr,
    ops::{Deref, DerefMut},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use drdma_abi::{
    described::{APPEND_REGIONS, KEY_REGIONS},
    receive::{FEATURES, RECEIVE_QUEUES},
    register::{
        ACK_TIMEOUT, COMPLETION_QUEUES, COUNTER_CLEAR, COUNTERS, Counter, IP, MAC_HIGH, MAC_LOW,
        MAX_READ, MEMORY_REGIONS, MERGE_THRESHOLD, QUEUE_PAIRS, SEND_QUEUES, Table,
    },
};
use drdma_driver::{Card, CardError, Device, DmaMemory, OpenError, RegisterWindow};

use crate::{
    CompletionChannel, CompletionChannelBuilder, Features, HostTables, MacAddress,
    ProtectionDomain, QueuePairState, Resolver,
    completion_queue::CompletionQueueBuilder,
    index_pool::IndexPool,
    send_queue::{Pending, QueueState},
};

/// How long a card is given to acknowledge, unless told otherwise: 0.54 s of its time, in units of
/// 1,024 cycles.
pub const DEFAULT_ACK_TIMEOUT: u32 = 1 << 17;
/// How often a card whose time goes on by itself is looked at.
const LOOK: Duration = Duration::from_millis(10);

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
    /// Units of 1,024 cycles (4.096 us) without progress after which an unacknowledged RC request
    /// completes with `retry_exceeded` ([`DEFAULT_ACK_TIMEOUT`] unless told); 0 waits for ever.
    pub ack_timeout: u32,
    /// What the tags of keys are drawn from, so that a simulation has the same ones each time. Whoever
    /// knows it knows the keys; `None`, the default, takes the system's random numbers.
    pub key_seed: Option<u64>,
}

impl Options {
    /// The given addresses and the default time-out, everything else as the card has it.
    pub fn new(mac: MacAddress, ip: Ipv4Addr) -> Self {
        let ack_timeout = DEFAULT_ACK_TIMEOUT;
        Self { mac, ip, max_read: None, merge_threshold: None, ack_timeout, key_seed: None }
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
    /// The card does nothing but send.
    #[error("{what} is not possible: the card does not receive")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// A shared receive queue of another protection domain.
    #[error("the shared receive queue belongs to another protection domain than the queue pair")]
    ProtectionDomain,
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

impl Statistics {
    fn add(&mut self, other: &Self) {
        self.work_requests += other.work_requests;
        self.request_bytes += other.request_bytes;
        self.ring_bytes += other.ring_bytes;
        self.doorbells += other.doorbells;
    }
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
    /// Registers that are written without locking, if the card has a way to that.
    window: Option<Arc<dyn RegisterWindow>>,
    features: Features,
    /// The hardware's owner has something to do in [`Context::progress`].
    attention: AtomicBool,
    /// When a card with a window was last looked at, in milliseconds since `opened`.
    looked: AtomicU64,
    opened: Instant,
    /// The [`QueuePairState`] of every queue pair: completions change it.
    states: Vec<AtomicU8>,
    queues: Mutex<Queues>,
    /// The channel of completion queues that have no other.
    channel: OnceLock<CompletionChannel>,
    /// Who knows the Ethernet addresses of peers.
    resolver: Mutex<Arc<dyn Resolver>>,
}

/// The send queues of a context.
#[derive(Default)]
struct Queues {
    open: Vec<Arc<QueueState>>,
    /// What those counted that are gone.
    closed: Statistics,
}

/// What only one thread at a time touches. It is locked last: never lock a completion queue while
/// holding it.
pub(crate) struct Hardware {
    pub device: Device,
    pub queue_pairs: IndexPool,
    pub memory_regions: IndexPool,
    pub send_queues: IndexPool,
    pub completion_queues: IndexPool,
    pub receive_queues: IndexPool,
    pub key_regions: IndexPool,
    pub append_regions: IndexPool,
    /// The number on the wire of every queue pair in use.
    pub qpns: Vec<Option<u32>>,
    /// What failed where no error could be returned.
    pub failure: Option<CardError>,
    /// Indexes of queue pairs that are free again when no request names them any longer.
    leaving: Vec<(u32, Vec<Pending>)>,
    /// The card may still be working on requests of a queue that was taken from it.
    unsettled: bool,
    /// What goes when it does not any longer.
    retired: Vec<Retired>,
    /// What has gone: dropped when nothing is locked, because an owner may do anything when it is
    /// dropped.
    dead: Vec<Retired>,
    /// What the next tag is drawn from, if that is told.
    key_seed: Option<u64>,
}

/// Memory that the card may still be reading.
enum Retired {
    /// Mapped memory: where.
    Mapped(u64, #[expect(dead_code, reason = "kept, not read")] DmaMemory),
    /// The owner of a part of memory that stays mapped.
    Owner(#[expect(dead_code, reason = "kept, not read")] Arc<dyn Any + Send + Sync>),
}

impl Hardware {
    /// A tag of a local key: the 20 random bits above the index, not 0. Who does not know it finds no key.
    pub fn next_tag(&mut self) -> Result<u32, CardError> {
        loop {
            let mut bytes = [0; 4];
            if let Some(seed) = &mut self.key_seed {
                // A step of a Weyl sequence, its bits mixed by the finalizer of MurmurHash3.
                *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (*seed ^ *seed >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
                let tag = (mixed >> (32 + MEMORY_REGIONS.index_bits())) as u32;
                if tag != 0 {
                    return Ok(tag);
                }
                continue;
            }
            let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
            match got {
                Ok(4) => {}
                Ok(_) | Err(rustix::io::Errno::INTR) => continue,
                Err(error) => {
                    let text = format!("the system has no random numbers for keys: {error}");
                    return Err(CardError::Failed(text));
                }
            }
            let tag = u32::from_le_bytes(bytes) >> MEMORY_REGIONS.index_bits();
            if tag != 0 {
                return Ok(tag);
            }
        }
    }

    /// Frees the index of a queue pair when none of those requests can name it any longer.
    pub fn put_queue_pair(&mut self, index: u32, pending: Vec<Pending>) {
        self.qpns[index as usize] = None;
        match pending.is_empty() {
            true => self.queue_pairs.put(index),
            false => self.leaving.push((index, pending)),
        }
    }

    /// A free index for a queue pair.
    pub fn take_queue_pair(&mut self) -> Option<u32> {
        let Self { leaving, queue_pairs, .. } = self;
        leaving.retain(|(index, pending)| {
            let over = pending.iter().all(Pending::is_over);
            if over {
                queue_pairs.put(*index);
            }
            !over
        });
        queue_pairs.take()
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
        for retired in std::mem::take(&mut self.retired) {
            if let Retired::Mapped(iova, _) = &retired {
                let unmapped = self.device.unmap(*iova);
                self.note(unmapped);
            }
            self.dead.push(retired);
        }
        Ok(true)
    }

    /// Unmaps memory that no request needs any longer, as soon as the card is done with abandoned
    /// ones. Until then the address is not used again: what the card still writes there must not
    /// reach anything new.
    pub fn retire(&mut self, iova: u64, memory: DmaMemory) {
        self.retired.push(Retired::Mapped(iova, memory));
        let settled = self.settle().map(|_| ());
        self.note(settled);
    }

    /// Remembers a failure that nobody could be told of.
    pub fn note(&mut self, result: Result<(), CardError>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }

    /// True if [`Context::progress`] has something to do.
    fn wants_attention(&self) -> bool {
        self.failure.is_some() || self.unsettled || !self.retired.is_empty()
    }
}

/// The hardware, locked.
pub(crate) struct HardwareGuard<'a> {
    /// There until it is dropped.
    guard: Option<MutexGuard<'a, Hardware>>,
    attention: &'a AtomicBool,
}

impl Deref for HardwareGuard<'_> {
    type Target = Hardware;

    fn deref(&self) -> &Hardware {
        self.guard.as_ref().expect("it is locked")
    }
}

impl DerefMut for HardwareGuard<'_> {
    fn deref_mut(&mut self) -> &mut Hardware {
        self.guard.as_mut().expect("it is locked")
    }
}

impl Drop for HardwareGuard<'_> {
    fn drop(&mut self) {
        self.attention.store(self.wants_attention(), Ordering::Release);
        let dead = std::mem::take(&mut self.dead);
        self.guard = None;
        drop(dead);
    }
}

impl fmt::Debug for ContextInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

impl ContextInner {
    pub fn lock(&self) -> HardwareGuard<'_> {
        self.guard(self.hardware.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same, unless another thread has it locked.
    fn try_lock(&self) -> Option<HardwareGuard<'_>> {
        match self.hardware.try_lock() {
            Ok(guard) => Some(self.guard(guard)),
            Err(TryLockError::Poisoned(poisoned)) => Some(self.guard(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn guard<'a>(&'a self, guard: MutexGuard<'a, Hardware>) -> HardwareGuard<'a> {
        HardwareGuard { guard: Some(guard), attention: &self.attention }
    }

    /// Writes a register, without locking if the card can do that.
    #[inline]
    pub fn write_register(&self, offset: u32, value: u32) -> Result<(), CardError> {
        match &self.window {
            Some(window) => window.write(offset, value),
            None => self.lock().device.write_at(offset, value),
        }
    }

    /// The channel of completion queues that have no other.
    pub fn channel(&self) -> Result<&CompletionChannel, CardError> {
        if let Some(channel) = self.channel.get() {
            return Ok(channel);
        }
        let channel = CompletionChannelBuilder::default().build().map_err(|error| {
            CardError::Failed(format!("there is no thread that waits for completions: {error}"))
        })?;
        Ok(self.channel.get_or_init(|| channel))
    }

    /// Who knows the Ethernet addresses of peers.
    pub fn resolver(&self) -> Arc<dyn Resolver> {
        self.resolver.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True if the card does not only send.
    pub fn receives(&self) -> bool {
        self.features.contains(Features::RECEIVES)
    }

    /// Why the card cannot do what needs these features; `None` if it can.
    #[inline]
    pub fn misses(&self, needed: Features) -> Option<&'static str> {
        // Without the first one there are no others.
        let missing = needed.difference(self.features);
        match (missing.is_empty(), self.receives()) {
            (true, _) => None,
            (false, true) => Some(missing.reason()),
            (false, false) => Some(Features::RECEIVES.reason()),
        }
    }

    /// True if the card's time goes on by itself.
    pub fn runs_by_itself(&self) -> bool {
        self.window.is_some()
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A send queue is there from now on.
    pub fn open_queue(&self, queue: &Arc<QueueState>) {
        self.queues().open.push(queue.clone());
    }

    /// A send queue is there no longer.
    pub fn close_queue(&self, queue: &QueueState) {
        let mut queues = self.queues();
        queues.open.retain(|open| !std::ptr::eq(&**open, queue));
        queues.closed.add(&queue.statistics());
    }

    /// The requests of shared queues that the card may not have looked at yet: they name queue pairs
    /// by their index.
    pub fn shared_requests(&self) -> Vec<Pending> {
        self.queues().open.iter().filter_map(Pending::of).collect()
    }

    /// Keeps the owner of memory that stays mapped until the card does not read for requests any
    /// longer that were taken from it.
    pub fn keep_until_settled(&self, owner: Arc<dyn Any + Send + Sync>) {
        // Only abandoned requests may still be read for, and these want attention.
        if self.attention.load(Ordering::Acquire) {
            let mut hardware = self.lock();
            if hardware.unsettled {
                hardware.retired.push(Retired::Owner(owner));
            }
        }
    }

    pub fn state(&self, queue_pair: u32) -> QueuePairState {
        QueuePairState::from_code(self.states[queue_pair as usize].load(Ordering::Acquire))
    }

    pub fn set_state(&self, queue_pair: u32, state: QueuePairState) {
        self.states[queue_pair as usize].store(state as u8, Ordering::Release);
    }

    /// Allocates a ring and shows it to the card, which writes to it or only reads it.
    pub fn allocate_ring(&self, len: usize, written: bool) -> Result<(DmaMemory, u64), Error> {
        let mut memory = DmaMemory::new(len).map_err(|source| Error::Ring { len, source })?;
        if !written {
            memory = memory.read_by_card();
        }
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
        let features = Features::from_bits_truncate(device.read(FEATURES)?);
        let pool = |table: Table| IndexPool::new(table.entries);
        let hardware = Hardware {
            device,
            queue_pairs: pool(QUEUE_PAIRS),
            memory_regions: pool(MEMORY_REGIONS),
            send_queues: pool(SEND_QUEUES),
            completion_queues: pool(COMPLETION_QUEUES),
            receive_queues: pool(RECEIVE_QUEUES),
            key_regions: pool(KEY_REGIONS),
            append_regions: pool(APPEND_REGIONS),
            qpns: vec![None; QUEUE_PAIRS.entries as usize],
            failure: None,
            leaving: Vec::new(),
            unsettled: false,
            retired: Vec::new(),
            dead: Vec::new(),
            key_seed: options.key_seed,
        };
        let inner = ContextInner {
            window: hardware.device.window(),
            features,
            hardware: Mutex::new(hardware),
            attention: AtomicBool::new(false),
            looked: AtomicU64::new(0),
            opened: Instant::now(),
            states: (0..QUEUE_PAIRS.entries).map(|_| AtomicU8::new(0)).collect(),
            queues: Mutex::default(),
            channel: OnceLock::new(),
            resolver: Mutex::new(Arc::new(HostTables::default())),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Asks `resolver` for the Ethernet addresses of peers from now on, where a queue pair is connected
    /// without one; at first that is [`HostTables`].
    pub fn set_resolver(&self, resolver: impl Resolver + 'static) {
        *self.inner.resolver.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(resolver);
    }

    /// A new protection domain: memory regions and queues of different domains do not mix.
    pub fn protection_domain(&self) -> ProtectionDomain {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        ProtectionDomain::new(self.clone(), NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Starts a completion queue.
    pub fn completion_queue(&self) -> CompletionQueueBuilder<'_> {
        CompletionQueueBuilder::new(self)
    }

    /// Starts a completion channel: it serves any number of completion queues.
    pub fn completion_channel(&self) -> CompletionChannelBuilder {
        CompletionChannelBuilder::default()
    }

    /// Lets a simulated card's time go on, and notices a board that was removed; call it in every
    /// polling loop. While another thread does, this does nothing; nor does it wait for one.
    ///
    /// # Errors
    /// The card failed: now, or since the last call in a place that could not say so (a drop, or
    /// [`CompletionQueue::poll`](crate::CompletionQueue::poll)).
    pub fn progress(&self) -> Result<(), CardError> {
        self.look().map(|_| ())
    }

    /// The same. False if another thread was doing it.
    pub(crate) fn look(&self) -> Result<bool, CardError> {
        let inner = &*self.inner;
        if inner.runs_by_itself() && !inner.attention.load(Ordering::Acquire) {
            let now = inner.opened.elapsed().as_millis() as u64;
            let looked = inner.looked.load(Ordering::Relaxed);
            if now < looked + LOOK.as_millis() as u64 {
                return Ok(true);
            }
            inner.looked.store(now, Ordering::Relaxed);
        }
        let Some(mut hardware) = inner.try_lock() else { return Ok(false) };
        if let Some(error) = hardware.failure.take() {
            return Err(error);
        }
        hardware.device.progress()?;
        hardware.settle()?;
        Ok(true)
    }

    /// True if the card does not only send.
    pub fn receives(&self) -> bool {
        self.inner.receives()
    }

    /// What the card does beside sending.
    pub fn features(&self) -> Features {
        self.inner.features
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
        let queues = self.inner.queues();
        let mut sum = queues.closed;
        queues.open.iter().for_each(|queue| sum.add(&queue.statistics()));
        sum
    }
}
