//! An open card: the root of everything else.

use std::{
    any::Any,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use drdma_abi::{
    receive::FEATURES,
    register::{
        ACK_TIMEOUT, COUNTER_CLEAR, COUNTERS, Counter, IP, MAC_HIGH, MAC_LOW, MAX_READ,
        MERGE_THRESHOLD, QUEUE_PAIRS, READ_BALANCE,
    },
};
use drdma_driver::{Card, CardError, Device, DmaMemory, RegisterWindow};

use crate::{
    CompletionChannel, CompletionChannelBuilder, Features, HostTables, ProtectionDomain,
    QueuePairState, Resolver,
    async_event::Events,
    completion_queue::CompletionQueueBuilder,
    send_queue::{Pending, QueueState},
};

mod counters;
mod hardware;
mod options;

pub use counters::{Counters, Statistics};
pub(crate) use hardware::{Hardware, HardwareGuard};
pub use options::{DEFAULT_ACK_TIMEOUT, Error, Options};

use options::{check_max_read, check_merge_threshold};

/// Interval between two looks at a card whose time advances by itself.
const LOOK: Duration = Duration::from_millis(10);

/// An open card. Clones are handles to the same card; the card is disabled when the last object
/// that uses it is dropped.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) inner: Arc<ContextInner>,
}

pub(crate) struct ContextInner {
    hardware: Mutex<Hardware>,
    /// Registers that are written without locking, if the card offers that.
    window: Option<Arc<dyn RegisterWindow>>,
    features: Features,
    /// The host has set the length of reads: requests without a plan leave it to the card.
    sets_reads: AtomicBool,
    /// [`Context::progress`] has work to do for the owner of the hardware.
    attention: AtomicBool,
    /// Time of the last look at a card with a window, in milliseconds since `opened`.
    looked: AtomicU64,
    opened: Instant,
    /// The [`QueuePairState`] of every queue pair: completions change it.
    states: Vec<AtomicU8>,
    queues: Mutex<Queues>,
    /// Asynchronous events: failures and limits that no completion reports.
    pub events: Events,
    /// The channel of completion queues that have none of their own.
    channel: OnceLock<CompletionChannel>,
    /// Source of the Ethernet addresses of peers.
    resolver: Mutex<Arc<dyn Resolver>>,
}

/// The send queues of a context.
#[derive(Default)]
struct Queues {
    open: Vec<Arc<QueueState>>,
    /// Sums of the counts of queues that were dropped.
    closed: Statistics,
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

    /// Like [`lock`](Self::lock), but `None` if another thread has the hardware locked.
    fn try_lock(&self) -> Option<HardwareGuard<'_>> {
        match self.hardware.try_lock() {
            Ok(guard) => Some(self.guard(guard)),
            Err(TryLockError::Poisoned(poisoned)) => Some(self.guard(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn guard<'a>(&'a self, guard: MutexGuard<'a, Hardware>) -> HardwareGuard<'a> {
        HardwareGuard::new(guard, &self.attention)
    }

    /// Writes a register, without locking if the card offers that.
    #[inline]
    pub fn write_register(&self, offset: u32, value: u32) -> Result<(), CardError> {
        match &self.window {
            Some(window) => window.write(offset, value),
            None => self.lock().device.write_at(offset, value),
        }
    }

    /// Returns the channel of completion queues that have none of their own.
    pub fn channel(&self) -> Result<&CompletionChannel, CardError> {
        if let Some(channel) = self.channel.get() {
            return Ok(channel);
        }
        let channel = CompletionChannelBuilder::default().build().map_err(|error| {
            CardError::Failed(format!("there is no thread that waits for completions: {error}"))
        })?;
        Ok(self.channel.get_or_init(|| channel))
    }

    /// Returns the source of the Ethernet addresses of peers.
    pub fn resolver(&self) -> Arc<dyn Resolver> {
        self.resolver.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True if the card receives as well as sends.
    pub fn receives(&self) -> bool {
        self.features.contains(Features::RECEIVES)
    }

    /// True if the host has set the length of reads.
    #[inline]
    pub fn sets_reads(&self) -> bool {
        self.sets_reads.load(Ordering::Relaxed)
    }

    /// Reason why the card lacks one of these features; `None` if it has all of them.
    #[inline]
    pub fn misses(&self, needed: Features) -> Option<&'static str> {
        // A card that does not receive has none of the other features.
        let missing = needed.difference(self.features);
        match (missing.is_empty(), self.receives()) {
            (true, _) => None,
            (false, true) => Some(missing.reason()),
            (false, false) => Some(Features::RECEIVES.reason()),
        }
    }

    /// True if the card's time advances by itself.
    pub fn runs_by_itself(&self) -> bool {
        self.window.is_some()
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a send queue.
    pub fn open_queue(&self, queue: &Arc<QueueState>) {
        self.queues().open.push(queue.clone());
    }

    /// Removes a send queue, and adds its counts to those of closed queues.
    pub fn close_queue(&self, queue: &QueueState) {
        let mut queues = self.queues();
        queues.open.retain(|open| !std::ptr::eq(&**open, queue));
        queues.closed.add(&queue.statistics());
    }

    /// Returns the requests of shared queues that the card may not have looked at yet: they name
    /// queue pairs by their index.
    pub fn shared_requests(&self) -> Vec<Pending> {
        self.queues().open.iter().filter_map(Pending::of).collect()
    }

    /// Keeps the owner of memory that stays mapped until the card no longer reads for abandoned
    /// requests.
    pub fn keep_until_settled(&self, owner: Arc<dyn Any + Send + Sync>) {
        // Only abandoned requests may still be read for, and while there are some, `attention` is
        // set.
        if self.attention.load(Ordering::Acquire) {
            self.lock().keep(owner);
        }
    }

    pub fn state(&self, queue_pair: u32) -> QueuePairState {
        QueuePairState::from_code(self.states[queue_pair as usize].load(Ordering::Acquire))
    }

    pub fn set_state(&self, queue_pair: u32, state: QueuePairState) {
        self.states[queue_pair as usize].store(state as u8, Ordering::Release);
    }

    /// Allocates a ring and maps it for the card: writable if `written`, else read-only.
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
        // A failure cannot be reported here.
        let _ = hardware.device.disable();
    }
}

impl Context {
    /// Checks, resets, sets up and enables a card.
    ///
    /// # Errors
    /// A card of another type, major version or ABI ([`Error::Open`], which names both sides); an
    /// option outside its limits ([`Error::Limits`]); or the card failed ([`Error::Card`]).
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
            fix_threshold(&mut device, bytes)?;
        }
        device.enable()?;
        let features = Features::from_bits_truncate(device.read(FEATURES)?);
        let hardware = Hardware::new(device, options.key_seed);
        let inner = ContextInner {
            window: hardware.device.window(),
            features,
            sets_reads: AtomicBool::new(options.max_read.is_some()),
            hardware: Mutex::new(hardware),
            attention: AtomicBool::new(false),
            looked: AtomicU64::new(0),
            opened: Instant::now(),
            states: (0..QUEUE_PAIRS.entries).map(|_| AtomicU8::new(0)).collect(),
            queues: Mutex::default(),
            events: Events::default(),
            channel: OnceLock::new(),
            resolver: Mutex::new(Arc::new(HostTables::default())),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Sets the resolver of the Ethernet addresses of peers, for queue pairs that are connected
    /// without one (default: [`HostTables`]).
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

    /// Advances a simulated card's time, and notices a board that was removed; call it in every
    /// polling loop. If another thread is in this call, it returns at once and does nothing.
    ///
    /// # Errors
    /// The card failed: now, or since the last call where no error could be returned (in a drop, or
    /// in [`CompletionQueue::poll`](crate::CompletionQueue::poll)).
    pub fn progress(&self) -> Result<(), CardError> {
        self.look().map(|_| ())
    }

    /// Like [`progress`](Self::progress). False if another thread was doing it.
    pub(crate) fn look(&self) -> Result<bool, CardError> {
        self.look_once().inspect_err(|error| self.inner.events.fatal(error))
    }

    fn look_once(&self) -> Result<bool, CardError> {
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

    /// True if the card receives as well as sends.
    pub fn receives(&self) -> bool {
        self.inner.receives()
    }

    /// Features of the card beside sending.
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
    /// The value holds for requests that the card plans from now on, and long contiguous requests
    /// have no plan of their own any longer
    /// ([`FetchPlan::of_contiguous`](crate::optimizer::FetchPlan::of_contiguous)).
    ///
    /// # Errors
    /// `Error::Limits` for a value outside its limits, or `Error::Card` if the card failed.
    pub fn set_max_read(&self, bytes: u32) -> Result<(), Error> {
        check_max_read(bytes)?;
        self.inner.sets_reads.store(true, Ordering::Relaxed);
        Ok(self.inner.lock().device.write(MAX_READ, bytes)?)
    }

    /// Sets the widest gap in bytes that the optimizer reads through: 0 to 4096. The value holds
    /// for requests that the card plans from now on. The card no longer looks for a better gap
    /// below it ([`READ_BALANCE`](drdma_abi::register::READ_BALANCE)).
    ///
    /// # Errors
    /// `Error::Limits` for a value outside its limits, or `Error::Card` if the card failed.
    pub fn set_merge_threshold(&self, bytes: u32) -> Result<(), Error> {
        check_merge_threshold(bytes)?;
        Ok(fix_threshold(&mut self.inner.lock().device, bytes)?)
    }

    /// Counts of what was posted so far: exact, and updated at each doorbell.
    pub fn statistics(&self) -> Statistics {
        let queues = self.inner.queues();
        let mut sum = queues.closed;
        queues.open.iter().for_each(|queue| sum.add(&queue.statistics()));
        sum
    }
}

/// Sets the widest gap that is read through, and makes it hold for reads of any length.
fn fix_threshold(device: &mut Device, bytes: u32) -> Result<(), CardError> {
    device.write(READ_BALANCE, 0)?;
    device.write(MERGE_THRESHOLD, bytes)
}
