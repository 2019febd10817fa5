//! Completion queues and their completions.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Context as TaskContext, Poll as TaskPoll},
    thread,
    time::{Duration, Instant},
};

use drdma_abi::{
    completion::Completion,
    receive::RECEIVE_QUEUES,
    register::{COMPLETION_QUEUES, CompletionQueueEntry, SEND_QUEUES},
};
use drdma_driver::CardError;

use crate::{
    CompletionChannel, Completions, Context, Error, NextCompletion, WaitPolicy, WorkCompletion,
    channel::Pauses,
};

mod inner;

pub(crate) use inner::CompletionQueueInner;
use inner::State;

/// Starts a [`CompletionQueue`].
#[derive(Clone, Debug)]
#[must_use]
pub struct CompletionQueueBuilder<'a> {
    context: &'a Context,
    entries: u32,
    channel: Option<CompletionChannel>,
    policy: WaitPolicy,
}

impl<'a> CompletionQueueBuilder<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, entries: 1024, channel: None, policy: WaitPolicy::default() }
    }

    /// Sets the number of completions that the queue has room for, rounded up to a power of two: 1
    /// to 65,536 (default 1,024). Signaled requests that are posted and not yet polled never exceed
    /// it: posting is refused before
    /// ([`PostError::CompletionQueueFull`](crate::PostError::CompletionQueueFull)). Unsignaled ones
    /// take no room; the failure of one waits until there is some.
    pub fn entries(mut self, entries: u32) -> Self {
        self.entries = entries;
        self
    }

    /// Sets the channel that events of [`CompletionQueue::notify`] go to, and whose thread wakes
    /// asynchronous tasks (default: one of the context's own, with the default [`WaitPolicy`]).
    pub fn channel(mut self, channel: &CompletionChannel) -> Self {
        self.channel = Some(channel.clone());
        self
    }

    /// Sets how threads wait in [`CompletionQueue::wait`] and [`CompletionQueue::poll_timeout`]
    /// (default [`WaitPolicy::default`]).
    pub fn wait_policy(mut self, policy: WaitPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Makes the queue.
    ///
    /// # Errors
    /// `Error::Limits` for a size outside its limits, `Exhausted` without a free completion queue,
    /// `Ring` without memory, or `Card` if the card failed.
    pub fn build(self) -> Result<CompletionQueue, Error> {
        let Self { context, entries, channel, policy } = self;
        if entries == 0 || entries > 1 << 16 {
            let limits = "1 to 65536";
            return Err(Error::Limits { what: "entries", value: entries.into(), limits });
        }
        let entries = entries.next_power_of_two();
        let (ring, iova) =
            context.inner.allocate_ring(entries as usize * Completion::SIZE, true)?;
        let mut hardware = context.inner.lock();
        let limit = hardware.completion_queues.limit();
        let Some(number) = hardware.completion_queues.take() else {
            hardware.device.unmap(iova)?;
            return Err(Error::Exhausted { what: "completion queue", limit });
        };
        let entry = CompletionQueueEntry {
            addr: iova,
            log_entries: entries.ilog2() as u8,
            enable: 1,
            ..Default::default()
        };
        drop(hardware);
        let state = State {
            consumed: 0,
            reported: 0,
            pending: VecDeque::new(),
            queues: (0..SEND_QUEUES.entries).map(|_| None).collect(),
            halted: Vec::new(),
            receives: (0..RECEIVE_QUEUES.entries).map(|_| None).collect(),
            halted_receives: Vec::new(),
            dead: Vec::new(),
        };
        let inner = CompletionQueueInner {
            context: context.clone(),
            number,
            iova,
            ring,
            entries,
            outstanding: AtomicU32::new(0),
            unsignaled: AtomicBool::new(false),
            state: Mutex::new(state),
            policy,
            channel: channel.map_or_else(OnceLock::new, OnceLock::from),
            tasks: Mutex::default(),
        };
        // If the card fails, the queue is dropped, and its number and ring with it.
        context.inner.lock().device.write_entry(COMPLETION_QUEUES, number, &entry)?;
        let inner = Arc::new(inner);
        context.inner.events.add_completions(&inner);
        Ok(CompletionQueue { inner })
    }
}

impl PartialEq for CompletionQueue {
    /// True for handles of the same queue.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for CompletionQueue {}

/// Queue of the completions of requests: one for each signaled request, in order per send queue.
/// Clones are handles to the same queue; it lives as long as a send queue completes to it.
#[derive(Clone, Debug)]
pub struct CompletionQueue {
    pub(crate) inner: Arc<CompletionQueueInner>,
}

impl CompletionQueue {
    /// Takes what has completed, without waiting and without [`Context::progress`]. Requests that
    /// were behind a failed one on the same queue complete with
    /// [`WrFlushError`](crate::Status::WrFlushError). A failure of the card in this is reported by the
    /// next [`Context::progress`].
    pub fn poll(&self) -> Poll<'_> {
        Poll { queue: &self.inner }
    }

    /// Calls [`Context::progress`] of the card that completes to this queue.
    ///
    /// # Errors
    /// The card failed.
    pub fn progress(&self) -> Result<(), CardError> {
        self.inner.context.progress()
    }

    /// Waits for one completion, calling [`Context::progress`] in between, with pauses as the
    /// queue's [`WaitPolicy`] says; `None` after `timeout`.
    ///
    /// # Errors
    /// The card failed.
    pub fn poll_timeout(&self, timeout: Duration) -> Result<Option<WorkCompletion>, CardError> {
        let start = Instant::now();
        let context = &self.inner.context;
        let mut pauses = Pauses::new(self.inner.policy);
        loop {
            if let Some(completion) = self.poll().next() {
                return Ok(Some(completion));
            }
            let waited = start.elapsed();
            if waited >= timeout {
                return Ok(None);
            }
            let looked = context.look()?;
            if context.inner.runs_by_itself() {
                if let Some(nap) = pauses.next() {
                    thread::sleep(nap.min(timeout - waited));
                }
            } else if !looked {
                // Another thread advances the card's time.
                thread::yield_now();
            }
        }
    }

    /// Asks for an event on the queue's [channel](Self::channel) as soon as there is something to
    /// poll (`ibv_req_notify_cq`), which may be now. One event follows one call.
    ///
    /// # Errors
    /// The card failed, or the system has no thread for the context's own channel.
    pub fn notify(&self) -> Result<(), CardError> {
        self.channel()?.shared().arm(&self.inner, true)
    }

    /// Returns the channel that the queue was made with, or the context's own.
    ///
    /// # Errors
    /// `CardError::Failed` if the system has no thread for the context's own channel.
    pub fn channel(&self) -> Result<&CompletionChannel, CardError> {
        if self.inner.channel.get().is_none() {
            let channel = self.inner.context.inner.channel()?.clone();
            let _ = self.inner.channel.set(channel);
        }
        Ok(self.inner.channel.get().expect("a channel"))
    }

    /// Returns the next completion, for asynchronous tasks. It needs no particular executor; the
    /// channel's thread wakes the task.
    ///
    /// ```
    /// # use libdrdma::{Context, Options, QueuePairAttributes, Transport, WorkRequest};
    /// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    /// # let network = libdrdma::network::Network::new();
    /// # let red = libdrdma::network::PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, 33, 17);
    /// # network.add_peer(red);
    /// # let context = Context::open(libdrdma::open_on("soft:", &network)?, Options::new(mac, ip))?;
    /// # let pd = context.protection_domain();
    /// # let cq = context.completion_queue().build()?;
    /// # let mut qp = pd.queue_pair(&cq).qpn(17).build()?;
    /// # let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(0);
    /// # let attributes = attributes.dest_mac("02:00:00:00:00:02".parse()?);
    /// # qp.connect(&attributes.dest_ip([10, 0, 0, 2].into()))?;
    /// let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    /// runtime.block_on(async {
    ///     qp.post_send(&WorkRequest::new(7))?;
    ///     assert_eq!(cq.next().await?.wr_id, 7);
    ///     Ok::<(), Box<dyn std::error::Error>>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next(&self) -> NextCompletion<'_> {
        NextCompletion { queue: self }
    }

    /// All further completions, as a stream ([`futures_core::Stream`]).
    pub fn completions(&self) -> Completions {
        Completions { queue: self.clone(), failed: false }
    }

    /// Takes a completion, or registers the task to be woken when there is one.
    pub(crate) fn poll_next(
        &self,
        task: &mut TaskContext<'_>,
    ) -> TaskPoll<Result<WorkCompletion, CardError>> {
        if let Some(completion) = self.poll().next() {
            return TaskPoll::Ready(Ok(completion));
        }
        self.inner.add_task(task.waker());
        match self.channel().and_then(|channel| channel.shared().arm(&self.inner, false)) {
            Ok(()) => TaskPoll::Pending,
            Err(error) => TaskPoll::Ready(Err(error)),
        }
    }

    /// Waits until `count` requests have completed or `timeout` is over, whichever is first.
    ///
    /// # Errors
    /// The card failed.
    pub fn wait(&self, count: usize, timeout: Duration) -> Result<Vec<WorkCompletion>, CardError> {
        let start = Instant::now();
        let mut completions = Vec::with_capacity(count);
        while completions.len() < count {
            match self.poll_timeout(timeout.saturating_sub(start.elapsed()))? {
                Some(completion) => completions.push(completion),
                None => break,
            }
        }
        Ok(completions)
    }

    /// True if there is something to poll, or if another thread is polling the queue or posting to it at this moment,
    /// so that this is not known. A call takes the time of a look at the queue's memory.
    pub fn may_have_completion(&self) -> bool {
        self.inner.has_completion().unwrap_or(true)
    }

    /// Number of signaled requests posted whose completions were not polled yet.
    pub fn outstanding(&self) -> u32 {
        self.inner.outstanding.load(Ordering::Acquire)
    }

    /// Number of completions that the queue has room for.
    pub fn capacity(&self) -> u32 {
        self.inner.entries
    }
}

/// Iterator over the completions that are ready, oldest first. Dropping it tells the card that
/// there is room again.
#[derive(Debug)]
pub struct Poll<'a> {
    queue: &'a CompletionQueueInner,
}

impl Iterator for Poll<'_> {
    type Item = WorkCompletion;

    fn next(&mut self) -> Option<WorkCompletion> {
        let mut guard = self.queue.lock();
        let state = &mut *guard;
        let (completion, reserved) = state
            .pending
            .pop_front()
            .or_else(|| self.queue.take(state))
            .or_else(|| state.flush_one())?;
        self.queue.release(reserved.into());
        Some(completion)
    }
}

impl Drop for Poll<'_> {
    fn drop(&mut self) {
        self.queue.report(&mut self.queue.lock());
    }
}
