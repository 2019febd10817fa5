//! Rings of work queue entries: what queue pairs and shared send queues have in common.
//!
//! [`state`] holds the contents of a ring, [`stage`] writes entries into it; this module enables
//! and disables the ring in the card.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use drdma_abi::{
    register::{
        QUEUE_PAIRS, QueuePairEntry, SEND_QUEUES, SendQueueEntry,
        counter::{DATA_READS, PACKETS},
    },
    work_request::BLOCK,
};
use drdma_driver::CardError;

use crate::{
    CompletionQueue, Context, Error, ProtectionDomain, completion_queue::CompletionQueueInner,
    memory::Hold,
};

mod stage;
mod state;

use state::Counts;
pub(crate) use state::{Pending, QueueState};

/// Largest number of blocks of a ring.
const MAX_BLOCKS: u32 = 1 << 16;
/// Number of times that a card which continues with other work is read until a completion that it
/// was writing is taken to be in memory: each read of a board takes longer than that write.
const SETTLE_READS: u32 = 16;
/// Longest time that a shared queue waits until the card is done with posted requests: in total,
/// and while the card makes no progress.
const SETTLE_TIME: Duration = Duration::from_secs(10);
const STALL_TIME: Duration = Duration::from_secs(1);

/// A send queue: ring, doorbell and bookkeeping.
#[derive(Debug)]
pub(crate) struct SendQueue {
    context: Context,
    completion_queue: Arc<CompletionQueueInner>,
    state: Arc<QueueState>,
    iova: u64,
    pd: u32,
    /// Position behind the last entry in the ring.
    tail: u32,
    /// Position behind the last signaled entry in the ring, and behind the last signaled one that
    /// was submitted to the card.
    signaled: u32,
    posted_signaled: u32,
    /// Number of entries in the ring that were not submitted to the card yet, how many of them are
    /// signaled, and their size in bytes.
    staged: u32,
    staged_signaled: u32,
    staged_bytes: u64,
    /// Memory that these entries keep, by the positions behind them.
    staged_holds: Vec<(u32, Hold)>,
    enabled: bool,
}

impl SendQueue {
    /// Makes a queue of at least that many blocks, not enabled yet.
    pub fn new(
        pd: &ProtectionDomain,
        cq: &CompletionQueue,
        queue_pair: Option<u32>,
        blocks: u32,
    ) -> Result<Self, Error> {
        if blocks == 0 || blocks > MAX_BLOCKS {
            let (what, limits) = ("send_blocks", "1 to 65536");
            return Err(Error::Limits { what, value: blocks.into(), limits });
        }
        let context = pd.context.clone();
        let completion_queue = cq.inner.clone();
        if !Arc::ptr_eq(&completion_queue.context.inner, &context.inner) {
            return Err(Error::Context);
        }
        let blocks = blocks.next_power_of_two();
        let (ring, iova) = context.inner.allocate_ring(blocks as usize * BLOCK, false)?;
        let number = {
            let mut hardware = context.inner.lock();
            let limit = hardware.send_queues.limit();
            match hardware.send_queues.take() {
                Some(number) => number,
                None => {
                    hardware.device.unmap(iova)?;
                    return Err(Error::Exhausted { what: "send queue", limit });
                }
            }
        };
        let state = Arc::new(QueueState {
            number,
            queue_pair: queue_pair.map(AtomicU32::new),
            ring,
            blocks,
            staged: AtomicU32::new(0),
            posted: AtomicU32::new(0),
            completed: AtomicU32::new(0),
            halted: AtomicBool::new(false),
            emptied: AtomicU32::new(0),
            held: Mutex::default(),
            holds: AtomicBool::new(false),
            counts: Counts::default(),
        });
        context.inner.open_queue(&state);
        completion_queue.attach(state.clone());
        Ok(Self {
            context,
            completion_queue,
            state,
            iova,
            pd: pd.id,
            tail: 0,
            signaled: 0,
            posted_signaled: 0,
            staged: 0,
            staged_signaled: 0,
            staged_bytes: 0,
            staged_holds: Vec::new(),
            enabled: false,
        })
    }

    pub fn number(&self) -> u16 {
        self.state.number as u16
    }

    pub fn protection_domain(&self) -> u32 {
        self.pd
    }

    pub fn is_halted(&self) -> bool {
        self.state.is_halted()
    }

    /// Changes the index of the queue pair that the queue belongs to. Nothing is posted then.
    pub fn set_queue_pair(&self, index: u32) {
        let own = self.state.queue_pair.as_ref().expect("a queue pair's own queue");
        own.store(index, Ordering::Release);
    }

    /// Enables the ring in the card, at position 0.
    pub fn enable(&mut self) -> Result<(), CardError> {
        let entry = SendQueueEntry {
            addr: self.iova,
            log_blocks: self.state.blocks.ilog2() as u8,
            shared: u8::from(self.state.queue_pair.is_none()),
            completion_queue: self.completion_queue.number as u16,
            qp: self.state.queue_pair().unwrap_or(0),
            pd: self.pd,
            enable: 1,
            ..Default::default()
        };
        self.enabled = true;
        self.context.inner.lock().device.write_entry(SEND_QUEUES, self.state.number, &entry)
    }

    /// Takes the ring from the card, and completes posted requests with `wr_flush_error`.
    /// Afterwards the ring is empty and at position 0.
    pub fn disable(&mut self) -> Result<(), CardError> {
        self.stop()?;
        self.clear();
        Ok(())
    }

    /// Like [`disable`](Self::disable), and waits until the card no longer reads for posted
    /// requests.
    pub fn disable_and_wait(&mut self) -> Result<(), CardError> {
        self.stop()?;
        self.wait_until_settled()?;
        self.clear();
        Ok(())
    }

    /// Takes the ring from the card; requests posted before or after are flushed as they are
    /// polled.
    pub fn halt(&mut self) -> Result<(), CardError> {
        self.stop()?;
        self.completion_queue.halt(&self.state);
        Ok(())
    }

    /// Completes posted requests, and empties the ring.
    fn clear(&mut self) {
        self.completion_queue.flush(&self.state);
        self.state.emptied.fetch_add(1, Ordering::AcqRel);
        self.state.staged.store(0, Ordering::Release);
        self.state.posted.store(0, Ordering::Release);
        self.state.completed.store(0, Ordering::Release);
        self.state.halted.store(false, Ordering::Release);
        self.tail = 0;
        self.signaled = 0;
        self.posted_signaled = 0;
    }

    /// Takes the ring from the card, and the queue pair that it belongs to: the card starts no
    /// further request of it, and what a queue pair has in progress is not sent. A shared queue's
    /// requests that the card has begun go on.
    fn stop(&mut self) -> Result<(), CardError> {
        self.discard();
        if !self.enabled {
            return Ok(());
        }
        let mut hardware = self.context.inner.lock();
        // The completion of a failed request does not tell whether those behind it were begun.
        let unfinished = self.state.is_halted() || self.state.oldest().is_some();
        if unfinished {
            hardware.abandon();
        }
        let queue = SendQueueEntry::default();
        hardware.device.write_entry(SEND_QUEUES, self.state.number, &queue)?;
        if let Some(index) = self.state.queue_pair() {
            hardware.device.write_entry(QUEUE_PAIRS, index, &QueuePairEntry::default())?;
        }
        self.enabled = false;
        // A completion that the card is still writing must be in memory before the ring is emptied:
        // a later one's request may have the same name. Each read waits for the card.
        let reads = if unfinished { SETTLE_READS } else { 0 };
        for _ in 0..reads {
            if hardware.settle()? {
                break;
            }
        }
        Ok(())
    }

    /// Waits until the card has finished all reads for abandoned requests.
    fn wait_until_settled(&self) -> Result<(), CardError> {
        let start = Instant::now();
        let mut last = (start, None);
        loop {
            let mut hardware = self.context.inner.lock();
            if hardware.settle()? {
                return Ok(());
            }
            let [reads, packets] =
                [DATA_READS, PACKETS].map(|counter| hardware.device.counter(counter));
            let activity = Some((reads?, packets?));
            let now = Instant::now();
            if activity != last.1 {
                last = (now, activity);
            }
            let waited = now - start;
            if waited >= SETTLE_TIME || now - last.0 >= STALL_TIME {
                return Err(CardError::Busy { waited });
            }
            hardware.device.progress()?;
        }
    }
}

impl Drop for SendQueue {
    fn drop(&mut self) {
        // A queue pair's own queue needs no wait here.
        let waits = self.enabled && self.state.queue_pair.is_none();
        let mut stopped = self.stop();
        if waits && stopped.is_ok() {
            stopped = self.wait_until_settled();
        }
        self.completion_queue.detach(&self.state);
        self.state.emptied.fetch_add(1, Ordering::AcqRel);
        self.context.inner.close_queue(&self.state);
        let mut hardware = self.context.inner.lock();
        hardware.note(stopped);
        hardware.retire(self.iova, self.state.ring.clone());
        hardware.send_queues.put(self.state.number);
    }
}
