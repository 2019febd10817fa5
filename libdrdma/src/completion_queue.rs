//! Completion queues and what they deliver.

use std::{
    collections::VecDeque,
    fmt,
    ops::{Deref, DerefMut},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Context as TaskContext, Poll as TaskPoll, Waker},
    thread,
    time::{Duration, Instant},
};

use drdma_abi::{
    completion::{Completion, Status},
    receive::{RECEIVE_QUEUES, ReceiveCompletion, ReceiveOpcode, receive_flags},
    register::{COMPLETION_QUEUES, CompletionQueueEntry, QUEUE_PAIR_ERRORS, SEND_QUEUES},
};
use drdma_driver::{CardError, DmaMemory};

use crate::{
    CompletionChannel, Completions, Context, Error, NextCompletion, PostError, QueuePairState,
    WaitPolicy, channel::Pauses, encode::field, memory::Hold, receive_queue::ReceiveState,
    send_queue::QueueState,
};

/// Where an entry has the consumer's position.
const CONSUMER: u32 = {
    let field = crate::encode::position::<CompletionQueueEntry>("consumer");
    assert!(field.width == 32 && field.bit.is_multiple_of(32));
    (8 * field.word + field.bit / 8) as u32
};

/// Where an entry of the ring has its phase.
const PHASE: crate::encode::Position = crate::encode::position::<Completion>("phase");

/// How one work request ended: each that is signaled, and each that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkCompletion {
    /// The request's name.
    pub wr_id: u64,
    /// How it ended.
    pub status: Status,
    /// Payload bytes of all its messages; 0 unless the status is success.
    pub bytes: u64,
    /// The number of the send queue that it was posted to
    /// ([`QueuePair::queue`](crate::QueuePair::queue),
    /// [`SharedSendQueue::queue`](crate::SharedSendQueue::queue)).
    pub queue: u16,
    /// The destination that failed: its index in the request; 0 on success.
    pub destination: u16,
    /// What completed. Of what failed or was flushed, only whether it is a receive holds.
    pub opcode: CompletionOpcode,
    /// Immediate data of a receive, as the sender wrote it.
    pub imm: Option<u32>,
    /// The remote key that the message invalidated.
    pub invalidated: Option<u32>,
    /// The queue pair that received: its [`QueuePair::index`](crate::QueuePair::index).
    pub qp: Option<u32>,
    /// The sender's queue pair number, of a datagram.
    pub source_qp: Option<u32>,
    /// The first 40 B are those of a datagram's route: 20 B that are not written, then the IPv4 header.
    pub global_route: bool,
}

/// What completed (`ibv_wc_opcode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompletionOpcode {
    /// SENDs, of whatever kind.
    Send,
    /// WRITEs, of whatever kind.
    Write,
    /// A READ.
    Read,
    /// A compare and swap.
    CompareAndSwap,
    /// A fetch and add.
    FetchAndAdd,
    /// A receive that a SEND filled.
    Receive,
    /// A receive that a WRITE with immediate data used up; it was not written to.
    ReceiveWithImm,
}

impl CompletionOpcode {
    /// True for receives: [`WorkCompletion::queue`] is the number of a receive queue.
    pub fn is_receive(self) -> bool {
        matches!(self, Self::Receive | Self::ReceiveWithImm)
    }

    /// What an entry's opcode says.
    fn of(code: u8) -> Self {
        use drdma_abi::{receive::ReliableOpcode as Reliable, work_request::Opcode};
        match (Opcode::from_code(code), Reliable::from_code(code)) {
            (Some(opcode), _) if opcode.is_write() => Self::Write,
            (_, Some(Reliable::Read)) => Self::Read,
            (_, Some(Reliable::CompareAndSwap)) => Self::CompareAndSwap,
            (_, Some(Reliable::FetchAndAdd)) => Self::FetchAndAdd,
            _ => Self::Send,
        }
    }
}

impl WorkCompletion {
    /// Of a request that ended with this status.
    fn of_request(wr_id: u64, status: Status, queue: u16, opcode: CompletionOpcode) -> Self {
        Self {
            wr_id,
            status,
            bytes: 0,
            queue,
            destination: 0,
            opcode,
            imm: None,
            invalidated: None,
            qp: None,
            source_qp: None,
            global_route: false,
        }
    }
}

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

    /// Room for at least that many completions, rounded up to a power of two: 1 to 65,536 (default
    /// 1,024). Signaled requests that are posted and not yet polled never exceed it: posting is
    /// refused before ([`PostError::CompletionQueueFull`]). Unsignaled ones take no room; the failure
    /// of one waits until there is some.
    pub fn entries(mut self, entries: u32) -> Self {
        self.entries = entries;
        self
    }

    /// Where events arrive that [`CompletionQueue::notify`] asks for, and whose thread wakes
    /// asynchronous tasks (default: one of the context's own, with the default [`WaitPolicy`]).
    pub fn channel(mut self, channel: &CompletionChannel) -> Self {
        self.channel = Some(channel.clone());
        self
    }

    /// How threads wait in [`CompletionQueue::wait`] and [`CompletionQueue::poll_timeout`] (default
    /// [`WaitPolicy::default`]).
    pub fn wait_policy(mut self, policy: WaitPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Makes the queue.
    ///
    /// # Errors
    /// A size outside the limits, no free completion queue, no memory, or the card failed.
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
        // Dropped with what it has taken, if the card fails.
        context.inner.lock().device.write_entry(COMPLETION_QUEUES, number, &entry)?;
        Ok(CompletionQueue { inner: Arc::new(inner) })
    }
}

impl PartialEq for CompletionQueue {
    /// True for handles of the same queue.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for CompletionQueue {}

/// Where requests complete: one completion a signaled request, in order per send queue. Clones are handles
/// to the same queue; it lives as long as a send queue completes to it.
#[derive(Clone, Debug)]
pub struct CompletionQueue {
    pub(crate) inner: Arc<CompletionQueueInner>,
}

impl CompletionQueue {
    /// Takes what has completed, without waiting and without [`Context::progress`]. Requests that
    /// were behind a failed one on the same queue complete with
    /// [`WrFlushError`](Status::WrFlushError). A failure of the card in this is reported by the
    /// next [`Context::progress`].
    pub fn poll(&self) -> Poll<'_> {
        Poll { queue: &self.inner }
    }

    /// [`Context::progress`] of the card that completes here.
    ///
    /// # Errors
    /// The card failed.
    pub fn progress(&self) -> Result<(), CardError> {
        self.inner.context.progress()
    }

    /// Waits for one completion, calling [`Context::progress`] meanwhile, with pauses as the queue's
    /// [`WaitPolicy`] says; `None` after `timeout`.
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
                // Another thread lets the card's time go on.
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

    /// The channel that it was made with, or the context's own.
    ///
    /// # Errors
    /// The system has no thread for the context's own channel.
    pub fn channel(&self) -> Result<&CompletionChannel, CardError> {
        if self.inner.channel.get().is_none() {
            let channel = self.inner.context.inner.channel()?.clone();
            let _ = self.inner.channel.set(channel);
        }
        Ok(self.inner.channel.get().expect("a channel"))
    }

    /// The next completion, for asynchronous tasks. It needs no particular executor; the channel's
    /// thread wakes the task.
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

    /// A completion, or the task is woken when there is one.
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

    /// Signaled requests posted whose completions were not polled yet.
    pub fn outstanding(&self) -> u32 {
        self.inner.outstanding.load(Ordering::Acquire)
    }

    /// Completions that fit.
    pub fn capacity(&self) -> u32 {
        self.inner.entries
    }
}

impl fmt::Debug for CompletionQueueInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionQueue")
            .field("number", &self.number)
            .field("entries", &self.entries)
            .finish_non_exhaustive()
    }
}

pub(crate) struct CompletionQueueInner {
    pub context: Context,
    pub number: u32,
    iova: u64,
    ring: DmaMemory,
    entries: u32,
    /// Signaled requests posted, or about to be, whose completions were not polled yet.
    outstanding: AtomicU32,
    /// Unsignaled requests were posted: any of them may fail.
    unsignaled: AtomicBool,
    state: Mutex<State>,
    policy: WaitPolicy,
    channel: OnceLock<CompletionChannel>,
    /// Tasks that wait for a completion.
    tasks: Mutex<Vec<Waker>>,
}

struct State {
    /// Entries taken from the ring, modulo 2^32, and how many of them the card was told of.
    consumed: u32,
    reported: u32,
    /// Completions that were taken from the ring, or made, ahead of being polled.
    pending: VecDeque<Taken>,
    /// The send queues that complete here, by number.
    queues: Vec<Option<Arc<QueueState>>>,
    /// Numbers of those that are halted.
    halted: Vec<u32>,
    /// The receive queues that complete here, by number, and which of them are halted.
    receives: Vec<Option<Arc<ReceiveState>>>,
    halted_receives: Vec<u32>,
    /// Memory that requests kept: dropped when nothing is locked.
    dead: Vec<Hold>,
}

/// An entry of the ring.
enum Entry {
    /// Of a send queue.
    Request(WorkCompletion),
    /// Of a receive queue.
    Receive(WorkCompletion),
}

/// The completion of a receive, of which `load` gives the words.
fn receive(load: impl Fn(usize) -> u64, wr_id: u64, status: Status) -> WorkCompletion {
    let flags = field!(ReceiveCompletion.flags in load) as u8;
    let imm = field!(ReceiveCompletion.imm in load) as u32;
    let has = |flag: u8| flags & flag != 0;
    let source_qp = field!(ReceiveCompletion.source_qp in load) as u32;
    let with_imm = ReceiveOpcode::ReceiveWithImm as u64;
    let opcode = match field!(ReceiveCompletion.opcode in load) == with_imm {
        true => CompletionOpcode::ReceiveWithImm,
        false => CompletionOpcode::Receive,
    };
    let queue = field!(ReceiveCompletion.receive_queue in load) as u16;
    WorkCompletion {
        bytes: field!(ReceiveCompletion.byte_len in load),
        imm: has(receive_flags::IMM).then_some(imm),
        invalidated: has(receive_flags::INVALIDATED).then_some(imm),
        qp: Some(field!(ReceiveCompletion.qp in load) as u32),
        source_qp: has(receive_flags::GLOBAL_ROUTE).then_some(source_qp),
        global_route: has(receive_flags::GLOBAL_ROUTE),
        ..WorkCompletion::of_request(wr_id, status, queue, opcode)
    }
}

/// A completion, and whether room was kept for it.
type Taken = (WorkCompletion, bool);

/// The state, locked.
struct StateGuard<'a>(Option<MutexGuard<'a, State>>);

impl Deref for StateGuard<'_> {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        self.0.as_ref().expect("it is locked")
    }
}

impl DerefMut for StateGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_mut().expect("it is locked")
    }
}

impl Drop for StateGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let dead = std::mem::take(&mut self.dead);
        self.0 = None;
        drop(dead);
    }
}

impl CompletionQueueInner {
    fn lock(&self) -> StateGuard<'_> {
        StateGuard(Some(self.state.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Makes room for the completion of a request.
    #[inline]
    pub fn reserve(&self) -> Result<(), PostError> {
        let outstanding = self.outstanding.fetch_add(1, Ordering::AcqRel);
        if outstanding >= self.entries {
            self.outstanding.fetch_sub(1, Ordering::AcqRel);
            return Err(PostError::CompletionQueueFull { outstanding, capacity: self.entries });
        }
        Ok(())
    }

    /// Something was posted.
    #[inline]
    pub fn stir(&self) {
        if let Some(channel) = self.channel.get() {
            channel.shared().stir();
        }
    }

    /// True if there is something to poll.
    pub fn has_completion(&self) -> bool {
        let Ok(state) = self.state.try_lock() else {
            // Somebody polls, or posts; whoever waits is told at the next look.
            return false;
        };
        let halted = |number: &u32| {
            let queue = state.queues[*number as usize].as_ref();
            queue.is_some_and(|queue| queue.oldest().is_some())
        };
        let halted_receives = |number: &u32| {
            let queue = state.receives[*number as usize].as_ref();
            queue.is_some_and(|queue| queue.is_busy())
        };
        !state.pending.is_empty()
            || self.phase_word(&state).is_some()
            || state.halted.iter().any(halted)
            || state.halted_receives.iter().any(halted_receives)
    }

    /// True if something is posted that was not polled.
    pub fn expects_completion(&self) -> bool {
        self.outstanding.load(Ordering::Acquire) > 0
            || (self.unsignaled.load(Ordering::Acquire)
                && self.state.try_lock().map_or(true, |state| {
                    state.queues.iter().flatten().any(|queue| queue.is_busy())
                }))
    }

    /// Unsignaled requests are about to be posted.
    #[inline]
    pub fn expect_failures(&self) {
        self.unsignaled.store(true, Ordering::Release);
    }

    /// A task waits for a completion.
    fn add_task(&self, task: &Waker) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if !tasks.iter().any(|other| other.will_wake(task)) {
            tasks.push(task.clone());
        }
    }

    /// The tasks that wait for a completion, to be woken.
    pub fn take_tasks(&self) -> Vec<Waker> {
        std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives back the room of that many completions.
    pub fn release(&self, count: u32) {
        self.outstanding.fetch_sub(count, Ordering::AcqRel);
    }

    /// A send queue completes here from now on.
    pub fn attach(&self, queue: Arc<QueueState>) {
        let number = queue.number as usize;
        self.lock().queues[number] = Some(queue);
    }

    /// A send queue is no more; the card does not touch it any longer. What it completed stays,
    /// what it did not never completes.
    pub fn detach(&self, queue: &QueueState) {
        let mut state = self.lock();
        self.drain(&mut state);
        while let Some(entry) = queue.oldest() {
            queue.complete(&entry, &mut state.dead);
            self.release(entry.is_signaled().into());
        }
        state.queues[queue.number as usize] = None;
        state.halted.retain(|number| *number != queue.number);
    }

    /// Completes what is posted to a queue that the card does not touch any longer.
    pub fn flush(&self, queue: &QueueState) {
        let mut state = self.lock();
        self.drain(&mut state);
        while let Some(completion) = flush_one(queue, &mut state.dead) {
            state.pending.push_back(completion);
        }
        state.halted.retain(|number| *number != queue.number);
    }

    /// Lets polling flush a queue that the card does not touch any longer.
    pub fn halt(&self, queue: &QueueState) {
        let mut state = self.lock();
        self.drain(&mut state);
        state.halt(queue);
    }

    /// A receive queue completes here from now on.
    pub fn attach_receives(&self, queue: Arc<ReceiveState>) {
        let number = queue.number as usize;
        self.lock().receives[number] = Some(queue);
    }

    /// A receive queue is no more: what it did not complete never completes.
    pub fn detach_receives(&self, queue: &ReceiveState) {
        let mut state = self.lock();
        self.drain(&mut state);
        while queue.complete_oldest(&mut state.dead).is_some() {
            self.release(1);
        }
        state.receives[queue.number as usize] = None;
        state.halted_receives.retain(|number| *number != queue.number);
    }

    /// Completes what is posted to a receive queue that the card does not touch any longer.
    pub fn flush_receives(&self, queue: &ReceiveState) {
        let mut state = self.lock();
        self.drain(&mut state);
        while let Some(completion) = flush_receive(queue, &mut state.dead) {
            state.pending.push_back(completion);
        }
        state.halted_receives.retain(|number| *number != queue.number);
    }

    /// Lets polling flush such a queue.
    pub fn halt_receives(&self, queue: &ReceiveState) {
        let mut state = self.lock();
        self.drain(&mut state);
        state.halt_receives(queue);
    }

    /// Takes everything from the ring, for polling later.
    fn drain(&self, state: &mut State) {
        while let Some(completion) = self.take(state) {
            state.pending.push_back(completion);
        }
        self.report(state);
    }

    /// Takes the next completion of a posted request from the ring.
    fn take(&self, state: &mut State) -> Option<Taken> {
        loop {
            let taken = match self.take_entry(state)? {
                (Entry::Request(completion), position) => {
                    self.take_request(state, completion, position)
                }
                (Entry::Receive(completion), position) => {
                    self.take_receive(state, completion, position)
                }
            };
            if taken.is_some() {
                return taken;
            }
        }
    }

    /// The completion of a request, unless nobody waits for it.
    fn take_request(
        &self,
        state: &mut State,
        mut completion: WorkCompletion,
        position: u32,
    ) -> Option<Taken> {
        // The card may still complete requests of a queue that was reset or replaced: nobody
        // waits for those.
        let queue = state.queues.get(usize::from(completion.queue)).and_then(Option::as_ref)?;
        let entry = queue.at(position)?;
        // A card that could not read the ring does not know the name.
        let nameless = completion.status == Status::LocalQpOperationError;
        if entry.wr_id != completion.wr_id && !(nameless && completion.wr_id == 0) {
            return None;
        }
        completion.wr_id = entry.wr_id;
        completion.opcode = CompletionOpcode::of(entry.opcode);
        if completion.status != Status::Success {
            let queue = queue.clone();
            let failed = match queue.queue_pair() {
                Some(owner) => vec![owner],
                None => self.in_error(queue.queue_pairs(&entry)),
            };
            for queue_pair in failed {
                self.context.inner.set_state(queue_pair, QueuePairState::Error);
            }
            state.halt(&queue);
            queue.complete(&entry, &mut state.dead);
        } else {
            queue.complete(&entry, &mut state.dead);
        }
        Some((completion, entry.is_signaled()))
    }

    /// The completion of a receive, unless nobody waits for it.
    fn take_receive(
        &self,
        state: &mut State,
        mut completion: WorkCompletion,
        position: u32,
    ) -> Option<Taken> {
        let State { receives, dead, .. } = state;
        let queue = receives.get(usize::from(completion.queue))?.clone()?;
        completion.wr_id = queue.complete(position, dead)?;
        if completion.status != Status::Success {
            if let Some(queue_pair) = completion.qp.filter(|qp| *qp < QUEUE_PAIR_ERRORS.entries)
                && self.in_error(vec![queue_pair]).contains(&queue_pair)
            {
                self.context.inner.set_state(queue_pair, QueuePairState::Error);
            }
            if !queue.is_shared() {
                state.halt_receives(&queue);
            }
        }
        Some((completion, true))
    }

    /// Those of the queue pairs that the card says are in the error state.
    fn in_error(&self, queue_pairs: Vec<u32>) -> Vec<u32> {
        let mut hardware = self.context.inner.lock();
        let mut failed = Vec::new();
        for queue_pair in queue_pairs {
            if queue_pair >= QUEUE_PAIR_ERRORS.entries {
                continue;
            }
            match hardware.device.read_entry(QUEUE_PAIR_ERRORS, queue_pair) {
                Ok(0) => {}
                Ok(_) => failed.push(queue_pair),
                Err(error) => hardware.note(Err(error)),
            }
        }
        failed
    }

    /// Where the next entry of the ring is.
    #[inline]
    fn next_entry(&self, state: &State) -> usize {
        (state.consumed & (self.entries - 1)) as usize * Completion::SIZE
    }

    /// The word with the phase of the next entry, if that was written.
    #[inline]
    fn phase_word(&self, state: &State) -> Option<u64> {
        let phase = (state.consumed >> self.entries.ilog2() & 1) ^ 1;
        let last = self.ring.load_u64(self.next_entry(state) + 8 * PHASE.word);
        ((last >> PHASE.bit) as u8 == phase as u8).then_some(last)
    }

    /// Takes the next entry from the ring, whoever's it is, and the position of its request.
    #[inline]
    fn take_entry(&self, state: &mut State) -> Option<(Entry, u32)> {
        let position = state.consumed;
        let at = self.next_entry(state);
        // The phase is written last: the word that holds it is read first.
        let last = self.phase_word(state)?;
        let load = |word| if word == PHASE.word { last } else { self.ring.load_u64(at + 8 * word) };
        state.consumed = position.wrapping_add(1);
        let status = field!(Completion.status in load) as u8;
        // No card of this ABI writes an unknown status; were it to, the request has failed.
        let status = Status::from_code(status).unwrap_or(Status::LocalQpOperationError);
        let (wr_id, send) = (field!(Completion.wr_id in load), CompletionOpcode::Send);
        let position = field!(Completion.position in load) as u32;
        if field!(ReceiveCompletion.receive in load) == 1 {
            return Some((Entry::Receive(receive(load, wr_id, status)), position));
        }
        let completion = WorkCompletion {
            bytes: field!(Completion.bytes in load),
            destination: field!(Completion.destination in load) as u16,
            ..WorkCompletion::of_request(
                wr_id,
                status,
                field!(Completion.queue in load) as u16,
                send,
            )
        };
        Some((Entry::Request(completion), position))
    }

    /// Tells the card how far the ring was read.
    fn report(&self, state: &mut State) {
        if state.reported == state.consumed {
            return;
        }
        state.reported = state.consumed;
        let offset = COMPLETION_QUEUES.entry(self.number) + CONSUMER;
        let context = &self.context.inner;
        if let Err(error) = context.write_register(offset, state.consumed) {
            context.lock().note(Err(error));
        }
    }
}

impl State {
    fn halt(&mut self, queue: &QueueState) {
        queue.halt();
        if !self.halted.contains(&queue.number) {
            self.halted.push(queue.number);
        }
    }

    fn halt_receives(&mut self, queue: &ReceiveState) {
        queue.halt();
        if !self.halted_receives.contains(&queue.number) {
            self.halted_receives.push(queue.number);
        }
    }

    /// Completes the oldest request or receive of some halted queue.
    fn flush_one(&mut self) -> Option<Taken> {
        let Self { halted, queues, halted_receives, receives, dead, .. } = self;
        let queues = halted.iter().filter_map(|number| queues[*number as usize].as_ref());
        let flushed = queues.into_iter().find_map(|queue| flush_one(queue, dead));
        flushed.or_else(|| {
            let receives =
                halted_receives.iter().filter_map(|number| receives[*number as usize].as_ref());
            receives.into_iter().find_map(|queue| flush_receive(queue, dead))
        })
    }
}

/// Completes a queue's oldest request with `wr_flush_error`.
fn flush_one(queue: &QueueState, dead: &mut Vec<Hold>) -> Option<Taken> {
    let entry = queue.oldest()?;
    queue.complete(&entry, dead);
    let opcode = CompletionOpcode::of(entry.opcode);
    let number = queue.number as u16;
    let flushed = Status::WrFlushError;
    let completion = WorkCompletion::of_request(entry.wr_id, flushed, number, opcode);
    Some((completion, entry.is_signaled()))
}

/// The same for a receive queue.
fn flush_receive(queue: &ReceiveState, dead: &mut Vec<Hold>) -> Option<Taken> {
    let wr_id = queue.complete_oldest(dead)?;
    let (number, flushed) = (queue.number as u16, Status::WrFlushError);
    let opcode = CompletionOpcode::Receive;
    Some((WorkCompletion::of_request(wr_id, flushed, number, opcode), true))
}

impl Drop for CompletionQueueInner {
    fn drop(&mut self) {
        let mut hardware = self.context.inner.lock();
        let disabled = CompletionQueueEntry::default();
        let result = hardware.device.write_entry(COMPLETION_QUEUES, self.number, &disabled);
        hardware.note(result);
        hardware.retire(self.iova, self.ring.clone());
        hardware.completion_queues.put(self.number);
    }
}

/// The completions that are there, oldest first. The card learns that there is room again when it
/// is dropped.
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
