//! Asynchronous events: what happens to queue pairs, shared receive queues and the card without a completion that
//! says so (IBTA 1.4 section 11.6.3).
//!
//! The card sends no interrupts and keeps no list of events. So events are found by looking: at the
//! error states of the queue pairs that peers may reach, at the number of receives in shared
//! queues, and at whether the card answers.

use std::{
    collections::VecDeque,
    fmt, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use drdma_abi::register::QUEUE_PAIR_ERRORS;
use drdma_driver::CardError;
use rustix::event::{EventfdFlags, eventfd};

use crate::{
    Context, QueuePairState, WaitPolicy, channel::Pauses, completion_queue::CompletionQueueInner,
    context::ContextInner, receive_queue::ReceiveState,
};

/// Queue pairs whose error state is read in one look: a read of a board's register takes about a microsecond.
const READS: usize = 64;

/// Something that no completion reports (`ibv_async_event`). The events of an object end with it: one that is dropped,
/// or a queue pair that is reset, has none left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AsyncEvent {
    /// The card has put the queue pair in the error state, and no completion says why: its peer has sent a WRITE, a
    /// READ or an atomic without a right key, or an invalid request. Verbs tell these apart (`IBV_EVENT_QP_ACCESS_ERR`,
    /// `IBV_EVENT_QP_REQ_ERR`), the card does not (`IBV_EVENT_QP_FATAL`). Its own receives complete with
    /// `wr_flush_error`.
    QueuePairFatal {
        /// [`QueuePair::index`](crate::QueuePair::index) of the queue pair.
        queue_pair: u32,
        /// Number of the queue pair on the wire.
        qpn: u32,
    },
    /// The queue pair, which uses a shared receive queue, is in the error state, and takes no further receive from it:
    /// all completions of those that it has taken can be polled (`IBV_EVENT_QP_LAST_WQE_REACHED`).
    LastReceiveReached {
        /// [`QueuePair::index`](crate::QueuePair::index) of the queue pair.
        queue_pair: u32,
        /// Number of the queue pair on the wire.
        qpn: u32,
    },
    /// A shared receive queue has fewer receives than its limit, which is used up with this
    /// (`IBV_EVENT_SRQ_LIMIT_REACHED`): [`SharedReceiveQueue::arm_limit`](crate::SharedReceiveQueue::arm_limit).
    SharedReceiveQueueLimit {
        /// [`SharedReceiveQueue::number`](crate::SharedReceiveQueue::number) of the queue.
        queue: u16,
    },
    /// The card has stopped working (`IBV_EVENT_DEVICE_FATAL`). The event occurs once; further
    /// calls return errors.
    DeviceFatal {
        /// Description of the failure.
        reason: String,
    },
}

impl fmt::Display for AsyncEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueuePairFatal { qpn, .. } => {
                write!(f, "queue pair {qpn:#x} went to the error state")
            }
            Self::LastReceiveReached { qpn, .. } => {
                write!(f, "queue pair {qpn:#x} takes no further shared receive")
            }
            Self::SharedReceiveQueueLimit { queue } => {
                write!(f, "shared receive queue {queue} has fewer receives than its limit")
            }
            Self::DeviceFatal { reason } => f.write_str(reason),
        }
    }
}

/// A queue pair that a peer may reach.
#[derive(Clone, Debug)]
pub(crate) struct WatchedPair {
    pub index: u32,
    pub qpn: u32,
    /// The queue pair uses a shared receive queue.
    pub shared: bool,
    /// The queue pair's own receive queue, and the completion queue of its receives.
    pub receives: Option<(Weak<ReceiveState>, Weak<CompletionQueueInner>)>,
}

/// A shared receive queue with a limit.
#[derive(Debug)]
struct WatchedReceives {
    state: Weak<ReceiveState>,
    completions: Weak<CompletionQueueInner>,
    number: u32,
    limit: u32,
}

/// Handle from [`Events::watch`]: names a queue pair from one connection to the next reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watch(u64);

#[derive(Debug)]
struct Pair {
    watch: Watch,
    pair: WatchedPair,
    /// The error state and its cause were reported already, by a completion, the application or an
    /// event.
    told: bool,
    /// The event that its last receive was reached was reported.
    ended: bool,
}

#[derive(Debug, Default)]
struct State {
    pairs: Vec<Pair>,
    receives: Vec<WatchedReceives>,
    /// All completion queues: any of them may have a completion of a queue pair.
    completions: Vec<Weak<CompletionQueueInner>>,
    watches: u64,
    /// Index of the next pair whose error state is read.
    turn: usize,
    events: VecDeque<AsyncEvent>,
    fatal: bool,
    closed: bool,
}

/// State that the context and its thread of events share.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// File descriptor that is readable while there are events, once the application has asked for
    /// it.
    event: OnceLock<OwnedFd>,
    wake: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, state: &mut State, event: AsyncEvent) {
        state.events.push_back(event);
        self.signal(state);
    }

    /// Makes the file descriptor readable as long as there are events.
    fn signal(&self, state: &State) {
        let Some(event) = self.event.get() else { return };
        if state.events.is_empty() {
            let _ = rustix::io::read(event, &mut [0; 8]);
        } else {
            // The counter cannot overflow: it is read before it is written again 2^64 times.
            let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
        }
    }

    /// Body of the thread: looks for events while the file descriptor is in use.
    fn run(&self, context: &Weak<ContextInner>) {
        let mut pauses = Pauses::new(WaitPolicy::default());
        loop {
            let Some(inner) = context.upgrade() else { return };
            let context = Context { inner };
            let before = self.lock().events.len();
            context.look_for_events();
            drop(context);
            let state = self.lock();
            if state.closed {
                return;
            }
            if state.events.len() > before {
                pauses = Pauses::new(WaitPolicy::default());
            }
            if let Some(nap) = pauses.next() {
                drop(self.wake.wait_timeout(state, nap));
            }
        }
    }
}

/// The events of a context.
#[derive(Debug, Default)]
pub(crate) struct Events {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_all();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // This thread may itself hold the last handle of the context.
        if let Some(thread) = thread.filter(|t| t.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Events {
    /// Adds a completion queue.
    pub fn add_completions(&self, queue: &Arc<CompletionQueueInner>) {
        let mut state = self.shared.lock();
        state.completions.retain(|queue| queue.strong_count() > 0);
        state.completions.push(Arc::downgrade(queue));
    }

    /// All completion queues.
    fn completions(&self) -> Vec<Arc<CompletionQueueInner>> {
        let queues = self.shared.lock().completions.clone();
        queues.iter().filter_map(Weak::upgrade).collect()
    }

    /// Watches a queue pair that a peer may reach from now on.
    pub fn watch(&self, pair: WatchedPair) -> Watch {
        let mut state = self.shared.lock();
        state.watches += 1;
        let watch = Watch(state.watches);
        state.pairs.push(Pair { watch, pair, told: false, ended: false });
        watch
    }

    /// Notes that a completion, or the application, has reported why a queue pair is in the error
    /// state.
    pub fn explain(&self, queue_pair: u32) {
        let mut state = self.shared.lock();
        if let Some(pair) = state.pairs.iter_mut().find(|pair| pair.pair.index == queue_pair) {
            pair.told = true;
        }
    }

    /// Stops watching a queue pair that is reset or dropped: its events are no longer reported.
    pub fn unwatch(&self, watch: Watch) {
        let mut state = self.shared.lock();
        let Some(at) = state.pairs.iter().position(|pair| pair.watch == watch) else { return };
        let index = state.pairs.swap_remove(at).pair.index;
        state.events.retain(|event| match event {
            AsyncEvent::QueuePairFatal { queue_pair, .. }
            | AsyncEvent::LastReceiveReached { queue_pair, .. } => *queue_pair != index,
            _ => true,
        });
        self.shared.signal(&state);
    }

    /// Sets the limit of a shared receive queue; 0 removes it.
    pub fn limit(
        &self,
        receives: &Arc<ReceiveState>,
        completions: &Arc<CompletionQueueInner>,
        limit: u32,
    ) {
        let number = receives.number;
        let mut state = self.shared.lock();
        state.receives.retain(|other| other.number != number);
        let (receives, completions) = (Arc::downgrade(receives), Arc::downgrade(completions));
        if limit > 0 {
            state.receives.push(WatchedReceives { state: receives, completions, number, limit });
        }
    }

    /// Forgets a shared receive queue that was dropped.
    pub fn forget(&self, number: u32) {
        let mut state = self.shared.lock();
        state.receives.retain(|other| other.number != number);
        state.events.retain(|event| {
            !matches!(event, AsyncEvent::SharedReceiveQueueLimit { queue } if u32::from(*queue) == number)
        });
        self.shared.signal(&state);
    }

    /// Notes that a call has found the card to have stopped working.
    pub fn fatal(&self, error: &CardError) {
        if !matches!(error, CardError::Failed(_)) {
            return;
        }
        let mut state = self.shared.lock();
        if !std::mem::replace(&mut state.fatal, true) {
            self.shared.push(&mut state, AsyncEvent::DeviceFatal { reason: error.to_string() });
        }
    }

    fn take(&self) -> Option<AsyncEvent> {
        let mut state = self.shared.lock();
        let event = state.events.pop_front();
        self.shared.signal(&state);
        event
    }

    /// Returns the queue pairs of the next turn, except those whose error state was reported
    /// already.
    fn turn(&self) -> Vec<(Watch, WatchedPair)> {
        let mut state = self.shared.lock();
        let (count, first) = (state.pairs.len(), state.turn);
        state.turn = first.wrapping_add(READS);
        let turn = (0..count.min(READS)).map(|i| &state.pairs[(first.wrapping_add(i)) % count]);
        turn.filter(|pair| !pair.told).map(|pair| (pair.watch, pair.pair.clone())).collect()
    }

    /// Returns queue pairs in the error state whose last receive was not reported.
    fn ending(&self, context: &ContextInner) -> Vec<(Watch, WatchedPair)> {
        let state = self.shared.lock();
        let ending = state.pairs.iter().filter(|pair| {
            let is_broken = context.state(pair.pair.index) == QueuePairState::Error;
            pair.pair.shared && !pair.ended && is_broken
        });
        ending.map(|pair| (pair.watch, pair.pair.clone())).collect()
    }

    /// Notes that the card is done with a queue pair that it put in the error state. True if that
    /// was not reported before.
    fn broke(&self, context: &ContextInner, watch: Watch) -> bool {
        let mut state = self.shared.lock();
        // The queue pair may have been reset since its state was read.
        let pair = state.pairs.iter_mut().find(|pair| pair.watch == watch);
        let Some(pair) = pair.filter(|pair| !pair.told) else { return false };
        pair.told = true;
        let (queue_pair, qpn) = (pair.pair.index, pair.pair.qpn);
        let is_new = context.state(queue_pair) != QueuePairState::Error;
        context.set_state(queue_pair, QueuePairState::Error);
        self.shared.push(&mut state, AsyncEvent::QueuePairFatal { queue_pair, qpn });
        is_new
    }

    /// Notes that a queue pair takes no further receive.
    fn ended(&self, watch: Watch) {
        let mut state = self.shared.lock();
        let pair = state.pairs.iter_mut().find(|pair| pair.watch == watch);
        let Some(pair) = pair.filter(|pair| pair.pair.shared && !pair.ended) else { return };
        pair.ended = true;
        let (queue_pair, qpn) = (pair.pair.index, pair.pair.qpn);
        self.shared.push(&mut state, AsyncEvent::LastReceiveReached { queue_pair, qpn });
    }

    /// Reports the shared queues that have fewer receives than their limits.
    fn check_limits(&self) {
        let armed: Vec<_> = {
            let state = self.shared.lock();
            state.receives.iter().map(|one| one.completions.clone()).collect()
        };
        // A receive that the card has filled counts as used as soon as its completion is in the
        // ring.
        armed.iter().filter_map(Weak::upgrade).for_each(|queue| queue.take_all());
        let mut state = self.shared.lock();
        let is_left = |one: &WatchedReceives| {
            one.state.upgrade().is_some_and(|receives| receives.waiting() < one.limit)
        };
        let (reached, rest) = std::mem::take(&mut state.receives).into_iter().partition(is_left);
        state.receives = rest;
        let reached: Vec<WatchedReceives> = reached;
        for one in reached {
            let queue = one.number as u16;
            self.shared.push(&mut state, AsyncEvent::SharedReceiveQueueLimit { queue });
        }
    }
}

impl Context {
    /// Takes an asynchronous event if there is one. The call also looks for new events, as
    /// [`progress`](Self::progress) does for completions. A failure of the card is an event here,
    /// reported once.
    ///
    /// A call reads the error states of up to 64 of the queue pairs that peers may reach, in turns.
    pub fn poll_async_event(&self) -> Option<AsyncEvent> {
        self.look_for_events();
        self.inner.events.take()
    }

    /// Waits for an asynchronous event and takes it (`ibv_get_async_event`); `None` after `timeout`.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use libdrdma::{AsyncEvent, Context, Options};
    /// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    /// # let context = Context::open(libdrdma::open("soft:")?, Options::new(mac, ip))?;
    /// # let pd = context.protection_domain();
    /// # let cq = context.completion_queue().build()?;
    /// let mut srq = pd.shared_receive_queue(&cq).build()?;
    /// srq.arm_limit(16)?;
    /// // None is posted yet.
    /// let event = context.wait_async_event(Duration::from_secs(1));
    /// assert_eq!(event, Some(AsyncEvent::SharedReceiveQueueLimit { queue: srq.number() }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_async_event(&self, timeout: Duration) -> Option<AsyncEvent> {
        let start = Instant::now();
        let mut pauses = Pauses::new(WaitPolicy::default());
        loop {
            if let Some(event) = self.poll_async_event() {
                return Some(event);
            }
            let waited = start.elapsed();
            if waited >= timeout {
                return None;
            }
            if !self.inner.runs_by_itself() {
                // Such a card's time advances only while it is looked at.
                thread::yield_now();
            } else if let Some(nap) = pauses.next() {
                thread::sleep(nap.min(timeout - waited));
            }
        }
    }

    /// A file descriptor that is readable while there are asynchronous events, for `poll`, `epoll`
    /// and libraries built on them; [`poll_async_event`](Self::poll_async_event) takes the events.
    /// The first call starts a thread that looks for events every 10 ms or more often, as long as
    /// the context lives.
    ///
    /// # Errors
    /// The system has no file descriptor or no thread for it.
    pub fn async_event_fd(&self) -> io::Result<BorrowedFd<'_>> {
        let Events { shared, thread } = &self.inner.events;
        let mut thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            if shared.event.get().is_none() {
                let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
                let _ = shared.event.set(event);
                shared.signal(&shared.lock());
            }
            let (shared, context) = (shared.clone(), Arc::downgrade(&self.inner));
            let builder = thread::Builder::new().name("drdma-events".into());
            *thread = Some(builder.spawn(move || shared.run(&context))?);
        }
        let missing = || io::Error::other("there is no file descriptor of events");
        Ok(shared.event.get().ok_or_else(missing)?.as_fd())
    }

    /// Looks once for events of every kind.
    fn look_for_events(&self) {
        let inner = &*self.inner;
        // A failure becomes an event where it is found.
        if self.look().is_err() {
            return;
        }
        inner.events.check_limits();
        let mut broken = self.broken(inner.events.turn());
        let ending = inner.events.ending(inner);
        if broken.is_empty() && ending.is_empty() || !self.is_idle() {
            return;
        }
        // All completions are in memory now; taking them tells which queue pairs failed.
        inner.events.completions().iter().for_each(|queue| queue.take_all());
        let ended: Vec<_> = broken.iter().chain(&ending).map(|(watch, _)| *watch).collect();
        broken.retain(|(watch, _)| inner.events.broke(inner, *watch));
        for (_, pair) in &broken {
            if let Some((receives, completions)) = &pair.receives
                && let (Some(receives), Some(completions)) =
                    (receives.upgrade(), completions.upgrade())
            {
                completions.halt_receives_of(&receives);
            }
        }
        ended.into_iter().for_each(|watch| inner.events.ended(watch));
    }

    /// Returns those of `pairs` that the card has put in the error state, while their state here is
    /// another.
    fn broken(&self, pairs: Vec<(Watch, WatchedPair)>) -> Vec<(Watch, WatchedPair)> {
        let inner = &*self.inner;
        let mut failure = None;
        let mut hardware = inner.lock();
        let mut broken = pairs;
        broken.retain(|(_, pair)| match inner.state(pair.index) {
            QueuePairState::Error => true,
            QueuePairState::Reset | QueuePairState::Init => false,
            _ if failure.is_some() => false,
            _ => match hardware.device.read_entry(QUEUE_PAIR_ERRORS, pair.index) {
                Ok(error) => error != 0,
                Err(error) => {
                    failure = Some(error);
                    false
                }
            },
        });
        drop(hardware);
        if let Some(failure) = failure {
            inner.events.fatal(&failure);
        }
        broken
    }

    /// True if the card has nothing in progress, so that it has written all completions.
    fn is_idle(&self) -> bool {
        let busy = self.inner.lock().device.is_busy();
        match busy {
            Ok(busy) => !busy,
            Err(error) => {
                self.inner.events.fatal(&error);
                false
            }
        }
    }
}
