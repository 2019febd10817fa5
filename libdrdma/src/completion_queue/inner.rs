//! A completion queue's ring, the queues that complete to it, and the flushing of failed ones.

use std::{
    collections::VecDeque,
    fmt,
    ops::{Deref, DerefMut},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::Waker,
};

use drdma_abi::{
    completion::{Completion, Status},
    receive::ReceiveCompletion,
    register::{COMPLETION_QUEUES, CompletionQueueEntry, QUEUE_PAIR_ERRORS},
};
use drdma_driver::DmaMemory;

use crate::{
    CompletionChannel, CompletionOpcode, Context, PostError, QueuePairState, WaitPolicy,
    WorkCompletion, encode::field, memory::Hold, receive_queue::ReceiveState,
    send_queue::QueueState,
};

/// Offset of the consumer's position in a completion queue's entry of the card's table.
const CONSUMER: u32 = {
    let field = crate::encode::position::<CompletionQueueEntry>("consumer");
    assert!(field.width == 32 && field.bit.is_multiple_of(32));
    (8 * field.word + field.bit / 8) as u32
};

/// Position of the phase in an entry of the ring.
const PHASE: crate::encode::Position = crate::encode::position::<Completion>("phase");

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
    pub(super) iova: u64,
    pub(super) ring: DmaMemory,
    pub(super) entries: u32,
    /// Signaled requests posted, or about to be, whose completions were not polled yet.
    pub(super) outstanding: AtomicU32,
    /// Unsignaled requests were posted: any of them may fail and need a completion.
    pub(super) unsignaled: AtomicBool,
    pub(super) state: Mutex<State>,
    pub(super) policy: WaitPolicy,
    pub(super) channel: OnceLock<CompletionChannel>,
    /// Tasks that wait for a completion.
    pub(super) tasks: Mutex<Vec<Waker>>,
}

pub(super) struct State {
    /// Entries taken from the ring, modulo 2^32, and how many of them were reported to the card.
    pub(super) consumed: u32,
    pub(super) reported: u32,
    /// Completions taken from the ring, or made by flushing, that were not polled yet.
    pub(super) pending: VecDeque<Taken>,
    /// The send queues that complete here, by number.
    pub(super) queues: Vec<Option<Arc<QueueState>>>,
    /// Numbers of the send queues that are halted.
    pub(super) halted: Vec<u32>,
    /// The receive queues that complete here, by number, and which of them are halted.
    pub(super) receives: Vec<Option<Arc<ReceiveState>>>,
    pub(super) halted_receives: Vec<u32>,
    /// Memory that completed requests kept; to be dropped while nothing is locked.
    pub(super) dead: Vec<Hold>,
}

/// An entry of the ring.
enum Entry {
    /// Entry of a send queue.
    Request(WorkCompletion),
    /// Entry of a receive queue, and the row that its message's first row became, if it was
    /// appended.
    Receive(WorkCompletion, Option<u32>),
}

/// A completion, and whether room was reserved for it.
pub(super) type Taken = (WorkCompletion, bool);

/// Locked state of a completion queue.
pub(super) struct StateGuard<'a>(Option<MutexGuard<'a, State>>);

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
    pub(super) fn lock(&self) -> StateGuard<'_> {
        StateGuard(Some(self.state.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Reserves room for the completion of a request.
    #[inline]
    pub fn reserve(&self) -> Result<(), PostError> {
        let outstanding = self.outstanding.fetch_add(1, Ordering::AcqRel);
        if outstanding >= self.entries {
            self.outstanding.fetch_sub(1, Ordering::AcqRel);
            return Err(PostError::CompletionQueueFull { outstanding, capacity: self.entries });
        }
        Ok(())
    }

    /// Wakes those who wait for the queue, after something was posted.
    #[inline]
    pub fn stir(&self) {
        if let Some(channel) = self.channel.get() {
            channel.shared().stir();
        }
    }

    /// True if there is something to poll. `None`: another thread polls or posts, so that this is
    /// not known.
    pub fn has_completion(&self) -> Option<bool> {
        let state = self.state.try_lock().ok()?;
        let halted = |number: &u32| {
            let queue = state.queues[*number as usize].as_ref();
            queue.is_some_and(|queue| queue.oldest().is_some())
        };
        let halted_receives = |number: &u32| {
            let queue = state.receives[*number as usize].as_ref();
            queue.is_some_and(|queue| queue.is_busy())
        };
        Some(
            !state.pending.is_empty()
                || self.phase_word(&state).is_some()
                || state.halted.iter().any(halted)
                || state.halted_receives.iter().any(halted_receives),
        )
    }

    /// True if something is posted that was not polled.
    pub fn expects_completion(&self) -> bool {
        self.outstanding.load(Ordering::Acquire) > 0
            || (self.unsignaled.load(Ordering::Acquire)
                && self.state.try_lock().map_or(true, |state| {
                    state.queues.iter().flatten().any(|queue| queue.is_busy())
                }))
    }

    /// Notes that unsignaled requests are about to be posted.
    #[inline]
    pub fn expect_failures(&self) {
        self.unsignaled.store(true, Ordering::Release);
    }

    /// Adds a task that waits for a completion.
    pub(super) fn add_task(&self, task: &Waker) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if !tasks.iter().any(|other| other.will_wake(task)) {
            tasks.push(task.clone());
        }
    }

    /// The tasks that wait for a completion, to be woken.
    pub fn take_tasks(&self) -> Vec<Waker> {
        std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Releases the reserved room of `count` completions.
    pub fn release(&self, count: u32) {
        self.outstanding.fetch_sub(count, Ordering::AcqRel);
    }

    /// Adds a send queue that completes here.
    pub fn attach(&self, queue: Arc<QueueState>) {
        let number = queue.number as usize;
        self.lock().queues[number] = Some(queue);
    }

    /// Removes a send queue that the card does not touch any longer. Completions that it already
    /// has stay; its other requests never complete.
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

    /// Marks a send queue that the card does not touch any longer, so that polling flushes it.
    pub fn halt(&self, queue: &QueueState) {
        let mut state = self.lock();
        self.drain(&mut state);
        state.halt(queue);
    }

    /// Adds a receive queue that completes here.
    pub fn attach_receives(&self, queue: Arc<ReceiveState>) {
        let number = queue.number as usize;
        self.lock().receives[number] = Some(queue);
    }

    /// Removes a receive queue: its receives that have not completed never do.
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

    /// Marks a receive queue that the card does not touch any longer, so that polling flushes it.
    pub fn halt_receives(&self, queue: &ReceiveState) {
        let mut state = self.lock();
        self.drain(&mut state);
        state.halt_receives(queue);
    }

    /// Like [`halt_receives`](Self::halt_receives), but only if the queue completes here.
    pub fn halt_receives_of(&self, queue: &Arc<ReceiveState>) {
        let mut state = self.lock();
        self.drain(&mut state);
        let own = state.receives[queue.number as usize].as_ref();
        if own.is_some_and(|own| Arc::ptr_eq(own, queue)) {
            state.halt_receives(queue);
        }
    }

    /// Takes all entries from the ring, for polling later, so that the failures of queue pairs and
    /// queues that they report are known.
    pub fn take_all(&self) {
        self.drain(&mut self.lock());
    }

    /// Takes all entries from the ring, for polling later.
    fn drain(&self, state: &mut State) {
        while let Some(completion) = self.take(state) {
            state.pending.push_back(completion);
        }
        self.report(state);
    }

    /// Takes the next completion of a posted request from the ring.
    pub(super) fn take(&self, state: &mut State) -> Option<Taken> {
        loop {
            let taken = match self.take_entry(state)? {
                (Entry::Request(completion), position) => {
                    self.take_request(state, completion, position)
                }
                (Entry::Receive(completion, first_row), position) => {
                    self.take_receive(state, completion, first_row, position)
                }
            };
            if taken.is_some() {
                return taken;
            }
        }
    }

    /// Returns the completion of a request, unless it is stale or an unsignaled success.
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
        // A card that could not read the ring does not know the request's position.
        let nameless = completion.status == Status::LocalQpOperationError;
        if entry.wr_id != completion.wr_id && !(nameless && completion.wr_id == 0) {
            return None;
        }
        completion.wr_id = entry.wr_id;
        completion.opcode = CompletionOpcode::of(entry.opcode);
        if completion.status != Status::Success {
            let queue = queue.clone();
            let named = match queue.queue_pair() {
                Some(owner) => vec![owner],
                None => queue.queue_pairs(&entry),
            };
            // A flushed request does not tell why its queue pair failed.
            if completion.status != Status::WrFlushError
                && let Some(failed) = named.get(usize::from(completion.destination))
            {
                self.context.inner.events.explain(*failed);
            }
            let failed = match queue.queue_pair() {
                Some(_) => named,
                None => self.in_error(named),
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

    /// Returns the completion of a receive, unless its queue was reset or dropped.
    fn take_receive(
        &self,
        state: &mut State,
        mut completion: WorkCompletion,
        first_row: Option<u32>,
        position: u32,
    ) -> Option<Taken> {
        let State { receives, dead, .. } = state;
        let queue = receives.get(usize::from(completion.queue))?.clone()?;
        if let Some(first) = first_row
            && let Some(append) = queue.append_of(position)
        {
            completion.rows = Some(append.rows(first, completion.bytes));
            dead.push(Hold::Append(append));
        }
        completion.wr_id = queue.complete(position, dead)?;
        if completion.status != Status::Success {
            if let Some(queue_pair) = completion.qp.filter(|qp| *qp < QUEUE_PAIR_ERRORS.entries)
                && self.in_error(vec![queue_pair]).contains(&queue_pair)
            {
                if completion.status != Status::WrFlushError {
                    self.context.inner.events.explain(queue_pair);
                }
                self.context.inner.set_state(queue_pair, QueuePairState::Error);
            }
            if !queue.is_shared() {
                state.halt_receives(&queue);
            }
        }
        Some((completion, true))
    }

    /// Returns those of the queue pairs that the card reports in the error state.
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

    /// Index of the next entry of the ring.
    #[inline]
    fn next_entry(&self, state: &State) -> usize {
        (state.consumed & (self.entries - 1)) as usize * Completion::SIZE
    }

    /// Returns the word with the phase of the next entry, if the card has written that entry.
    #[inline]
    fn phase_word(&self, state: &State) -> Option<u64> {
        let phase = (state.consumed >> self.entries.ilog2() & 1) ^ 1;
        let last = self.ring.load_u64(self.next_entry(state) + 8 * PHASE.word);
        ((last >> PHASE.bit) as u8 == phase as u8).then_some(last)
    }

    /// Takes the next entry from the ring, whichever queue it belongs to, and the position of its
    /// request.
    #[inline]
    fn take_entry(&self, state: &mut State) -> Option<(Entry, u32)> {
        let position = state.consumed;
        let at = self.next_entry(state);
        // The phase is written last: the word that holds it is read first.
        let last = self.phase_word(state)?;
        let load = |word| if word == PHASE.word { last } else { self.ring.load_u64(at + 8 * word) };
        state.consumed = position.wrapping_add(1);
        let status = field!(Completion.status in load) as u8;
        // No card of this ABI writes an unknown status; if one did, the request has failed.
        let status = Status::from_code(status).unwrap_or(Status::LocalQpOperationError);
        let (wr_id, send) = (field!(Completion.wr_id in load), CompletionOpcode::Send);
        let position = field!(Completion.position in load) as u32;
        if field!(ReceiveCompletion.receive in load) == 1 {
            let first_row = WorkCompletion::first_row(load);
            let completion = WorkCompletion::of_receive(load, wr_id, status);
            return Some((Entry::Receive(completion, first_row), position));
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

    /// Reports to the card how far the ring was read.
    pub(super) fn report(&self, state: &mut State) {
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

    /// Completes the oldest request or receive of one of the halted queues.
    pub(super) fn flush_one(&mut self) -> Option<Taken> {
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

/// Completes a receive queue's oldest receive with `wr_flush_error`.
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
