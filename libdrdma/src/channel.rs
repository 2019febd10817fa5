//! Waiting for completions: channels, as verbs have them, and asynchronous tasks.
//!
//! The card sends no interrupts, so a thread of the channel polls completion queues on behalf of
//! sleeping threads and tasks: only queues that are waited for, and only while work is posted to
//! them.

use std::{
    cell::Cell,
    collections::VecDeque,
    future::Future,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    pin::Pin,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering, fence},
    },
    task::{Context as TaskContext, Poll, Waker},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use drdma_driver::CardError;
use futures_core::Stream;
use rustix::event::{EventfdFlags, eventfd};

use crate::{CompletionQueue, WorkCompletion, completion_queue::CompletionQueueInner};

/// Way in which a thread waits for a card that sends no interrupts: it looks again and again, first
/// without a pause, then yielding the processor in between, then sleeping in between, twice as long
/// each time.
///
/// The time of a simulated card advances only in those looks, so the thread never sleeps while such
/// a card has work.
///
/// ```
/// use std::time::Duration;
///
/// use libdrdma::WaitPolicy;
///
/// /// For a machine with processors to spare: never sleep.
/// let policy = WaitPolicy::BUSY;
/// /// For a machine that has none: sleep at once, up to 5 ms.
/// let policy =
///     WaitPolicy { spin: Duration::ZERO, yielding: Duration::ZERO, sleep: Duration::from_millis(5) };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Duration of looking without a pause.
    pub spin: Duration,
    /// Duration of looking with a `yield` in between, after that.
    pub yielding: Duration,
    /// Longest sleep between two looks after that; the first is 16 us.
    pub sleep: Duration,
}

impl WaitPolicy {
    /// Looks without a pause for ever: the shortest latency, at the price of one processor.
    pub const BUSY: Self =
        Self { spin: Duration::MAX, yielding: Duration::ZERO, sleep: Duration::ZERO };
}

impl Default for WaitPolicy {
    /// 20 us without a pause, 100 us yielding, then sleeps that get longer up to 10 ms: a
    /// completion is seen after at most about twice the time that it took.
    fn default() -> Self {
        Self {
            spin: Duration::from_micros(20),
            yielding: Duration::from_micros(100),
            sleep: Duration::from_millis(10),
        }
    }
}

/// Duration of the first sleep.
const NAP: Duration = Duration::from_micros(16);

/// The pauses of one wait.
#[derive(Debug)]
pub(crate) struct Pauses {
    policy: WaitPolicy,
    since: Instant,
    nap: Duration,
}

impl Pauses {
    pub fn new(policy: WaitPolicy) -> Self {
        Self { policy, since: Instant::now(), nap: NAP }
    }

    /// Returns how long to sleep before the next look; `None` if the pause has taken place in this
    /// call.
    pub fn next(&mut self) -> Option<Duration> {
        let elapsed = self.since.elapsed();
        if elapsed < self.policy.spin {
            std::hint::spin_loop();
        } else if elapsed < self.policy.spin.saturating_add(self.policy.yielding) {
            thread::yield_now();
        } else {
            let nap = self.nap.min(self.policy.sleep);
            self.nap = self.nap.saturating_mul(2);
            return Some(nap);
        }
        None
    }
}

thread_local! {
    /// The channel whose thread this is, if any.
    static SERVED: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

/// Starts a [`CompletionChannel`].
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct CompletionChannelBuilder {
    policy: WaitPolicy,
}

impl CompletionChannelBuilder {
    /// Sets how the channel's thread waits for the card (default [`WaitPolicy::default`]).
    pub fn wait_policy(mut self, policy: WaitPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Makes the channel, and starts its thread.
    ///
    /// # Errors
    /// The system has no file descriptor or no thread for it.
    pub fn build(self) -> io::Result<CompletionChannel> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared {
            policy: self.policy,
            event,
            state: Mutex::default(),
            fired: Condvar::new(),
            work: Condvar::new(),
            resting: AtomicBool::new(false),
        });
        let thread = thread::Builder::new().name("drdma-completions".into()).spawn({
            let shared = shared.clone();
            move || shared.run()
        })?;
        Ok(CompletionChannel { inner: Arc::new(Handle { shared, thread: Some(thread) }) })
    }
}

/// Channel of events: an event says that a completion queue which was asked to [`notify`] has
/// something to poll (`ibv_comp_channel`). Clones are handles of the same channel.
///
/// Its file descriptor is readable while there are events, for `poll`, `epoll` and libraries built
/// on them.
///
/// ```
/// # use std::time::Duration;
/// # use libdrdma::{Context, Options, QueuePairAttributes, Transport, WorkRequest};
/// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let network = libdrdma::network::Network::new();
/// # let red = libdrdma::network::PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, 33, 17);
/// # network.add_peer(red);
/// # let context = Context::open(libdrdma::open_on("soft:", &network)?, Options::new(mac, ip))?;
/// # let pd = context.protection_domain();
/// let channel = context.completion_channel().build()?;
/// let cq = context.completion_queue().channel(&channel).build()?;
/// # let mut qp = pd.queue_pair(&cq).qpn(17).build()?;
/// # let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(0);
/// # let attributes = attributes.dest_mac("02:00:00:00:00:02".parse()?);
/// # qp.connect(&attributes.dest_ip([10, 0, 0, 2].into()))?;
/// cq.notify()?;
/// qp.post_send(&WorkRequest::new(7))?;
/// // This thread sleeps.
/// let ready = channel.wait(Duration::from_secs(10))?.expect("an event");
/// assert_eq!(ready, cq);
/// assert_eq!(ready.poll().next().map(|completion| completion.wr_id), Some(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`notify`]: CompletionQueue::notify
#[derive(Clone, Debug)]
pub struct CompletionChannel {
    inner: Arc<Handle>,
}

/// Ends the thread with the last handle.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
        // The channel's thread may itself have dropped the last handle.
        let itself = SERVED.get() == Arc::as_ptr(&self.shared);
        if let Some(thread) = self.thread.take().filter(|_| !itself) {
            let _ = thread.join();
        }
    }
}

impl CompletionChannel {
    /// Waits for an event, and takes it; `None` after `timeout`. The completion queue may have
    /// nothing to poll any more, if another thread has polled it.
    ///
    /// # Errors
    /// The card failed.
    pub fn wait(&self, timeout: Duration) -> Result<Option<CompletionQueue>, CardError> {
        let start = Instant::now();
        let mut state = self.inner.shared.lock();
        loop {
            if let Some(event) = self.take(&mut state)? {
                return Ok(Some(event));
            }
            let Some(left) = timeout.checked_sub(start.elapsed()).filter(|left| !left.is_zero())
            else {
                return Ok(None);
            };
            let waited = self.inner.shared.fired.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes an event if there is one.
    ///
    /// # Errors
    /// The card failed.
    pub fn try_wait(&self) -> Result<Option<CompletionQueue>, CardError> {
        self.take(&mut self.inner.shared.lock())
    }

    fn take(&self, state: &mut State) -> Result<Option<CompletionQueue>, CardError> {
        let failure = state.failure();
        let event = match failure {
            Ok(()) => loop {
                match state.fired.pop_front() {
                    Some(queue) => match queue.upgrade() {
                        Some(inner) => break Some(CompletionQueue { inner }),
                        None => continue,
                    },
                    None => break None,
                }
            },
            Err(_) => None,
        };
        if state.fired.is_empty() {
            // Clears the file descriptor, which may have been cleared before.
            let _ = rustix::io::read(&self.inner.shared.event, &mut [0; 8]);
        }
        failure.map(|()| event)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }
}

impl AsFd for CompletionChannel {
    /// A file descriptor that is readable while there are events. It must not be read from:
    /// [`try_wait`](Self::try_wait) takes the events.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.shared.event.as_fd()
    }
}

/// State that a channel's handles and its thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    policy: WaitPolicy,
    event: OwnedFd,
    state: Mutex<State>,
    /// Notified when there are events.
    fired: Condvar,
    /// Notified when there is work for the thread.
    work: Condvar,
    /// The thread waits for work, or sleeps.
    resting: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Completion queues that are waited for.
    armed: Vec<Armed>,
    /// Events: the completion queues that they are of, which may be dropped already.
    fired: VecDeque<Weak<CompletionQueueInner>>,
    /// A thread began to wait, or work was posted, since the channel's thread last looked.
    stirred: bool,
    closed: bool,
    /// Failure of the card that was not reported yet.
    failure: Option<CardError>,
}

impl State {
    fn failure(&mut self) -> Result<(), CardError> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

#[derive(Clone, Debug)]
struct Armed {
    queue: Weak<CompletionQueueInner>,
    /// An event was asked for, beside waking the queue's tasks.
    event: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to watch a completion queue that is waited for.
    pub fn arm(&self, queue: &Arc<CompletionQueueInner>, event: bool) -> Result<(), CardError> {
        let mut state = self.lock();
        state.failure()?;
        let queue = Arc::downgrade(queue);
        match state.armed.iter_mut().find(|armed| armed.queue.ptr_eq(&queue)) {
            Some(armed) => armed.event |= event,
            None => state.armed.push(Armed { queue, event }),
        }
        state.stirred = true;
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Wakes the thread after a post. The state that the thread looks at must have been written
    /// before.
    #[inline]
    pub fn stir(&self) {
        // Either the thread sees the post before it rests, or this call sees that the thread rests.
        fence(Ordering::SeqCst);
        if self.resting.load(Ordering::Relaxed) {
            self.lock().stirred = true;
            self.work.notify_one();
        }
    }

    /// Body of the thread.
    fn run(&self) {
        SERVED.set(self);
        let mut pauses = Pauses::new(self.policy);
        loop {
            let armed = {
                let mut state = self.lock();
                if state.closed {
                    return;
                }
                if std::mem::take(&mut state.stirred) {
                    pauses = Pauses::new(self.policy);
                }
                state.armed.clone()
            };
            let look = self.look(&armed);
            if look.fired {
                pauses = Pauses::new(self.policy);
            }
            if let Some(failure) = look.failure {
                self.fail(failure);
            } else if look.simulated {
                thread::yield_now();
            } else if !look.waiting {
                // Rests until a queue is waited for, or work is posted.
                self.rest(&armed, Duration::MAX);
            } else if let Some(nap) = pauses.next() {
                self.rest(&armed, nap);
            }
        }
    }

    /// Looks at every queue once, and returns those that have something.
    fn look(&self, armed: &[Armed]) -> Look {
        let mut look = Look::default();
        for one in armed {
            let Some(queue) = one.queue.upgrade() else {
                self.lock().armed.retain(|other| !other.queue.ptr_eq(&one.queue));
                continue;
            };
            // A queue that another thread uses is looked at again.
            if queue.has_completion() == Some(true) {
                // A task is noted before the queue is armed for it, so that none is missed.
                let event = self.disarm(&one.queue);
                let tasks = queue.take_tasks();
                // The receiver of the event may close everything at once: this thread must not hold
                // the queue's last handle.
                drop(queue);
                if event {
                    self.fire(&one.queue);
                }
                tasks.into_iter().for_each(Waker::wake);
                look.fired = true;
            } else if queue.expects_completion() {
                let context = &queue.context;
                look.waiting = true;
                look.simulated |= !context.inner.runs_by_itself();
                if let Err(error) = context.progress() {
                    look.failure.get_or_insert(error);
                }
            }
        }
        look
    }

    /// Stops watching a queue. True if an event was asked for.
    fn disarm(&self, queue: &Weak<CompletionQueueInner>) -> bool {
        let mut state = self.lock();
        let at = state.armed.iter().position(|armed| armed.queue.ptr_eq(queue));
        at.is_some_and(|at| state.armed.swap_remove(at).event)
    }

    fn fire(&self, queue: &Weak<CompletionQueueInner>) {
        let mut state = self.lock();
        if !state.fired.iter().any(|other| other.ptr_eq(queue)) {
            state.fired.push_back(queue.clone());
            self.signal();
        }
    }

    fn signal(&self) {
        // The counter cannot overflow: it is read before it is written again.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        self.fired.notify_all();
    }

    /// Wakes all waiting threads and tasks after a failure of the card, of which one is given the
    /// error.
    fn fail(&self, failure: CardError) {
        let mut state = self.lock();
        state.failure = Some(failure);
        let armed = std::mem::take(&mut state.armed);
        let events = armed.iter().filter(|one| one.event).map(|one| one.queue.clone());
        state.fired.extend(events);
        self.signal();
        drop(state);
        let tasks = |one: &Armed| one.queue.upgrade().map_or(Vec::new(), |q| q.take_tasks());
        armed.iter().flat_map(tasks).for_each(Waker::wake);
    }

    /// Sleeps, unless there is work: a post, or a queue that `armed` does not hold.
    fn rest(&self, armed: &[Armed], longest: Duration) {
        self.resting.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        // The state must not be locked here: this may drop the last handle of a queue, and with it
        // the channel.
        let unseen = longest == Duration::MAX
            && armed.iter().filter_map(|one| one.queue.upgrade()).any(|q| q.expects_completion());
        let mut state = self.lock();
        if !state.stirred && !state.closed && !unseen {
            state = if longest == Duration::MAX {
                self.work.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.work.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0
            };
        }
        self.resting.store(false, Ordering::Relaxed);
        drop(state);
    }
}

/// Result of a look at all queues.
#[derive(Debug, Default)]
struct Look {
    /// A queue has something to poll.
    fired: bool,
    /// A queue has posted work that has not completed.
    waiting: bool,
    /// A card is simulated: its time advances only while it is looked at.
    simulated: bool,
    failure: Option<CardError>,
}

/// The next completion of a queue, from [`CompletionQueue::next`].
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct NextCompletion<'a> {
    pub(crate) queue: &'a CompletionQueue,
}

impl Future for NextCompletion<'_> {
    type Output = Result<WorkCompletion, CardError>;

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        self.queue.poll_next(task)
    }
}

/// The completions of a queue, from [`CompletionQueue::completions`]: a [`Stream`] that ends with the
/// error if the card fails, and never otherwise.
#[derive(Debug)]
#[must_use = "streams do nothing unless they are polled"]
pub struct Completions {
    pub(crate) queue: CompletionQueue,
    pub(crate) failed: bool,
}

impl Stream for Completions {
    type Item = Result<WorkCompletion, CardError>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        if self.failed {
            return Poll::Ready(None);
        }
        let next = self.queue.poll_next(task);
        self.failed = matches!(next, Poll::Ready(Err(_)));
        next.map(Some)
    }
}
