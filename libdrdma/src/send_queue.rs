//! Rings of work queue entries: what queue pairs and shared send queues have in common.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use drdma_abi::{
    register::{
        DOORBELLS, QUEUE_PAIRS, QueuePairEntry, SEND_QUEUES, SendQueueEntry,
        counter::{DATA_READS, PACKETS},
    },
    work_request::{
        BLOCK, Chain, Destination as DestinationLayout, ElementSource, GRANULE, KindElement,
        MAX_DESTINATIONS, MAX_WQE_GRANULES, Opcode, PartitionFunction, PartitionKey, RegionHeader,
        RegionShape, RegionType, RemoteColumn, WQE_MAGIC, WqeHeader, blocks, flags, shape_flags,
    },
};
use drdma_driver::{CardError, DmaMemory};

use crate::{
    CompletionQueue, Context, Error, Features, PostError, ProtectionDomain, RowMask, Statistics,
    body::{Body, Writer},
    completion_queue::CompletionQueueInner,
    encode::{field, words},
    extension::Extension,
    memory::Hold,
    optimizer::FetchPlan,
};

/// Blocks of a ring, at most.
const MAX_BLOCKS: u32 = 1 << 16;
/// How often a card that goes on with other work is read until a completion that it was writing is
/// taken to be there: each read takes a board longer than that takes.
const SETTLE_READS: u32 = 16;
/// How long a shared queue waits for the card to be done with what was posted to it, altogether, and
/// while it does nothing.
const SETTLE_TIME: Duration = Duration::from_secs(10);
const STALL_TIME: Duration = Duration::from_secs(1);

/// What a request says beside its destinations.
pub(crate) struct Head {
    pub wr_id: u64,
    pub opcode: Opcode,
    pub imm: u32,
    pub row_mask: RowMask,
    pub rows_per_message: u32,
    pub signaled: bool,
    pub fetch: Option<FetchPlan>,
    pub extension: Extension,
}

/// The part of a send queue that its completion queue sees.
#[derive(Debug)]
pub(crate) struct QueueState {
    pub number: u32,
    /// The owner's index, unless the queue is shared.
    queue_pair: Option<AtomicU32>,
    ring: DmaMemory,
    blocks: u32,
    /// The position behind the last entry in the ring, in blocks modulo 2^32.
    staged: AtomicU32,
    /// The position behind the last entry that the card was told of.
    posted: AtomicU32,
    /// The position of the oldest entry that has not completed.
    completed: AtomicU32,
    halted: AtomicBool,
    /// How often the ring was emptied.
    emptied: AtomicU32,
    /// Memory that posted entries keep, by the positions behind them.
    held: Mutex<VecDeque<(u32, Hold)>>,
    /// There is such memory.
    holds: AtomicBool,
    counts: Counts,
}

/// What was posted to a queue; only its owner writes it.
#[derive(Debug, Default)]
struct Counts {
    work_requests: AtomicU64,
    request_bytes: AtomicU64,
    ring_bytes: AtomicU64,
    doorbells: AtomicU64,
}

/// Adds to a count that no other thread writes.
#[inline]
fn add(count: &AtomicU64, value: u64) {
    count.store(count.load(Ordering::Relaxed) + value, Ordering::Relaxed);
}

/// What stands in a shared queue's ring at some moment, and names queue pairs by their index.
#[derive(Debug)]
pub(crate) struct Pending {
    queue: Arc<QueueState>,
    emptied: u32,
    position: u32,
}

impl Pending {
    /// `None` for a queue in whose ring nothing is, or that is not shared.
    pub fn of(queue: &Arc<QueueState>) -> Option<Self> {
        let position = queue.staged.load(Ordering::Acquire);
        let idle = position == queue.completed.load(Ordering::Acquire);
        (queue.queue_pair.is_none() && !idle).then(|| Self {
            queue: queue.clone(),
            emptied: queue.emptied.load(Ordering::Acquire),
            position,
        })
    }

    /// True if all of it has completed, or was taken from the card.
    pub fn is_over(&self) -> bool {
        let completed = self.queue.completed.load(Ordering::Acquire);
        self.queue.emptied.load(Ordering::Acquire) != self.emptied
            || completed.wrapping_sub(self.position) < 1 << 31
            || completed == self.queue.staged.load(Ordering::Acquire)
    }
}

/// An entry in the ring that has not completed.
pub(crate) struct Outstanding {
    position: u32,
    pub wr_id: u64,
    pub opcode: u8,
    blocks: u32,
    flags: u8,
    destinations: u16,
}

impl Outstanding {
    /// Its success is told by a completion, for which there is room.
    pub fn is_signaled(&self) -> bool {
        self.flags & flags::UNSIGNALED == 0
    }
}

impl QueueState {
    /// The word `word` of the granule-aligned layout that starts `granules` behind the block
    /// `position`.
    fn word(&self, position: u32, granules: usize, word: usize) -> u64 {
        let at = (position & (self.blocks - 1)) as usize * BLOCK + granules * GRANULE + 8 * word;
        self.ring.load_u64(at & (self.blocks as usize * BLOCK - 1))
    }

    /// The oldest entry that has not completed.
    pub fn oldest(&self) -> Option<Outstanding> {
        let position = self.completed.load(Ordering::Acquire);
        (position != self.posted.load(Ordering::Acquire)).then(|| self.entry(position))
    }

    /// The entry at `position`, if it is posted and has not completed.
    pub fn at(&self, position: u32) -> Option<Outstanding> {
        let completed = self.completed.load(Ordering::Acquire);
        let posted = self.posted.load(Ordering::Acquire).wrapping_sub(completed);
        let load = |word| self.word(position, 0, word);
        (position.wrapping_sub(completed) < posted
            && field!(WqeHeader.position in load) as u32 == position)
            .then(|| self.entry(position))
    }

    fn entry(&self, position: u32) -> Outstanding {
        let load = |word| self.word(position, 0, word);
        Outstanding {
            position,
            wr_id: field!(WqeHeader.wr_id in load),
            opcode: field!(WqeHeader.opcode in load) as u8,
            blocks: blocks(field!(WqeHeader.granules in load) as usize) as u32,
            flags: field!(WqeHeader.flags in load) as u8,
            destinations: field!(WqeHeader.destinations in load) as u16,
        }
    }

    /// True if something is posted that is not known to have completed.
    pub fn is_busy(&self) -> bool {
        self.completed.load(Ordering::Acquire) != self.posted.load(Ordering::Acquire)
    }

    /// Frees the room of an entry, and of the unsignaled ones before it. What memory they kept is
    /// appended to `dead`, to be dropped when nothing is locked.
    pub fn complete(&self, entry: &Outstanding, dead: &mut Vec<Hold>) {
        let behind = entry.position.wrapping_add(entry.blocks);
        self.completed.store(behind, Ordering::Release);
        if self.holds.load(Ordering::Acquire) {
            let mut held = self.held();
            while held.front().is_some_and(|(at, _)| behind.wrapping_sub(*at) < 1 << 31) {
                dead.extend(held.pop_front().map(|(_, hold)| hold));
            }
            self.holds.store(!held.is_empty(), Ordering::Release);
        }
    }

    fn held(&self) -> MutexGuard<'_, VecDeque<(u32, Hold)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index of the queue pair that it belongs to, unless it is shared.
    pub fn queue_pair(&self) -> Option<u32> {
        self.queue_pair.as_ref().map(|index| index.load(Ordering::Acquire))
    }

    /// What was posted so far.
    pub fn statistics(&self) -> Statistics {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Statistics {
            work_requests: load(&self.counts.work_requests),
            request_bytes: load(&self.counts.request_bytes),
            ring_bytes: load(&self.counts.ring_bytes),
            doorbells: load(&self.counts.doorbells),
        }
    }

    /// The queue pair of every destination of an entry, from the ring.
    pub fn queue_pairs(&self, entry: &Outstanding) -> Vec<u32> {
        let mut at = WqeHeader::SIZE / GRANULE;
        // A region's header, shape and elements.
        let shaped = |at: usize| {
            let at = at + RegionHeader::SIZE / GRANULE;
            let load = |word| self.word(entry.position, at, word);
            let flags = field!(RegionShape.flags in load) as u16;
            let elements = field!(RegionShape.elements in load) as usize;
            let mut at = at + RegionShape::SIZE / GRANULE;
            if flags & shape_flags::CHASE != 0 {
                at += Chain::SIZE / GRANULE;
            }
            if flags & shape_flags::PARTITION_BY != 0 {
                let load = |word| self.word(entry.position, at, word);
                let keys = field!(PartitionFunction.keys in load) as usize;
                let key = KindElement::SIZE + ElementSource::SIZE + PartitionKey::SIZE;
                at += (PartitionFunction::SIZE + keys * key) / GRANULE;
            }
            let kinds = flags & shape_flags::COLUMN_KINDS != 0;
            at + if kinds { 2 * elements } else { elements }
        };
        if entry.flags & flags::PARTITIONED != 0 {
            at = shaped(at);
        }
        let mut found = Vec::with_capacity(entry.destinations.into());
        for _ in 0..entry.destinations {
            let load = |word| self.word(entry.position, at, word);
            found.push(field!(DestinationLayout.qp in load) as u32);
            let regions = field!(DestinationLayout.regions in load) as usize;
            let types = field!(DestinationLayout.types in load) as u32;
            let remote = field!(DestinationLayout.remote_columns in load) as usize;
            at += (DestinationLayout::SIZE + remote * RemoteColumn::SIZE) / GRANULE;
            for region in 0..regions {
                at = match RegionType::of(types, region) {
                    RegionType::Contiguous => at + RegionHeader::SIZE / GRANULE,
                    _ => shaped(at),
                };
            }
        }
        found
    }

    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    pub fn halt(&self) {
        self.halted.store(true, Ordering::Release);
    }
}

/// A send queue: ring, doorbell and bookkeeping.
#[derive(Debug)]
pub(crate) struct SendQueue {
    context: Context,
    completion_queue: Arc<CompletionQueueInner>,
    state: Arc<QueueState>,
    iova: u64,
    pd: u32,
    /// The position behind the last entry in the ring.
    tail: u32,
    /// The position behind the last signaled entry in the ring, and among those that the card was
    /// told of.
    signaled: u32,
    posted_signaled: u32,
    /// Entries in the ring that the card was not told of yet, how many of them are signaled, and
    /// their bytes.
    staged: u32,
    staged_signaled: u32,
    staged_bytes: u64,
    /// Memory that these keep, by the positions behind them.
    staged_holds: Vec<(u32, Hold)>,
    enabled: bool,
}

impl SendQueue {
    /// A queue of at least that many blocks, not enabled yet.
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

    /// The queue pair that it belongs to has another index from now on. Nothing is posted.
    pub fn set_queue_pair(&self, index: u32) {
        let own = self.state.queue_pair.as_ref().expect("a queue pair's own queue");
        own.store(index, Ordering::Release);
    }

    /// Tells the card of the ring; its position is 0 from now on.
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

    /// Takes the ring from the card, and completes what is still posted with `wr_flush_error`.
    /// The ring is empty and at position 0 then.
    pub fn disable(&mut self) -> Result<(), CardError> {
        self.stop()?;
        self.clear();
        Ok(())
    }

    /// Like [`disable`](Self::disable), and waits until the card does not read any longer what was
    /// posted.
    pub fn disable_and_wait(&mut self) -> Result<(), CardError> {
        self.stop()?;
        self.wait_until_settled()?;
        self.clear();
        Ok(())
    }

    /// Takes the ring from the card; what is posted, now or later, is flushed as it is polled.
    pub fn halt(&mut self) -> Result<(), CardError> {
        self.stop()?;
        self.completion_queue.halt(&self.state);
        Ok(())
    }

    /// Completes what is posted, and empties the ring.
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
        // A failed request's completion says nothing of those behind it.
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
        // A completion that the card was writing meanwhile must be in memory before the ring is
        // emptied: a later one's request may have the same name. Each read waits for the card.
        let reads = if unfinished { SETTLE_READS } else { 0 };
        for _ in 0..reads {
            if hardware.settle()? {
                break;
            }
        }
        Ok(())
    }

    /// Waits until the card has read all that it is going to read for abandoned requests.
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

    /// Writes an entry behind the last one. The card does not know of it before [`submit`].
    ///
    /// [`submit`]: Self::submit
    #[inline]
    pub fn stage<B: Body + ?Sized>(&mut self, head: &Head, body: &B) -> Result<(), PostError> {
        let granules = self.check(head, body)?;
        let needed = blocks(granules) as u32;
        let used = self.tail.wrapping_sub(self.state.completed.load(Ordering::Acquire));
        let free = self.state.blocks - used;
        if needed > free {
            let blocks = self.state.blocks;
            return Err(if needed > blocks {
                PostError::RequestTooLong { needed, blocks }
            } else {
                PostError::QueueFull { needed, free }
            });
        }
        let behind = self.tail.wrapping_add(needed);
        if head.signaled {
            self.completion_queue.reserve()?;
            self.signaled = behind;
            self.staged_signaled += 1;
        } else {
            // Those that were flushed hold nothing any longer.
            let unsignaled = behind.wrapping_sub(self.signaled).min(used + needed);
            let limit = self.state.blocks / 2;
            if unsignaled > limit {
                return Err(PostError::SignalDue { unsignaled, limit });
            }
        }
        self.write(head, body, granules);
        self.tail = behind;
        self.state.staged.store(self.tail, Ordering::Release);
        let (tail, holds) = (self.tail, &mut self.staged_holds);
        body.hold(|hold| holds.push((tail, hold.clone())));
        self.staged += 1;
        self.staged_bytes += (granules * GRANULE) as u64;
        Ok(())
    }

    /// Checks what the card's layouts cannot express; returns the entry's granules.
    #[inline]
    fn check<B: Body + ?Sized>(&self, head: &Head, body: &B) -> Result<usize, PostError> {
        if head.rows_per_message == 0 {
            return Err(PostError::RowsPerMessage);
        }
        let destinations = body.destinations();
        if destinations == 0 || destinations > MAX_DESTINATIONS {
            return Err(PostError::Destinations { destinations, limit: MAX_DESTINATIONS });
        }
        if !head.extension.is_empty()
            && let Some((what, needed)) = head.extension.needs()
            && let Some(reason) = self.context.inner.misses(needed)
        {
            return Err(PostError::Unsupported { what, reason });
        }
        if B::FLAGS & flags::INLINE != 0 && head.extension.is_answered() {
            return Err(PostError::InlineOperation);
        }
        let granules =
            WqeHeader::SIZE / GRANULE + head.extension.granules() + body.check(self.pd)?;
        let needed = body.needs();
        if !needed.is_empty() {
            self.check_needs(head, body, needed)?;
        }
        if granules > MAX_WQE_GRANULES {
            return Err(PostError::Granules { granules, limit: MAX_WQE_GRANULES });
        }
        Ok(granules)
    }

    /// Checks a body that not every card sends.
    #[cold]
    fn check_needs<B: Body + ?Sized>(
        &self,
        head: &Head,
        body: &B,
        needed: Features,
    ) -> Result<(), PostError> {
        if let Some(reason) = self.context.inner.misses(needed) {
            let what = match body.has_kinds() {
                _ if needed.contains(Features::PARTITIONS) => "partitions from keys",
                _ if needed.contains(Features::CHASE) => "a region of chains",
                true => "a region with kinds of columns",
                false => "a message by columns",
            };
            return Err(PostError::Unsupported { what, reason });
        }
        let what = "a READ or an atomic";
        if head.extension.is_answered() {
            let reason = match body.has_kinds() {
                true => "kinds of columns",
                false => "messages by columns",
            };
            return Err(PostError::NotFilled { what, reason });
        }
        let sends = head.extension.reliable.is_some() || !head.opcode.is_write();
        if sends && body.has_remote_columns() {
            return Err(PostError::RemoteColumnsOperation);
        }
        Ok(())
    }

    #[inline]
    fn write<B: Body + ?Sized>(&self, head: &Head, body: &B, granules: usize) {
        let blocks = self.state.blocks;
        let mut writer = Writer {
            ring: &self.state.ring,
            at: (self.tail & (blocks - 1)) as usize * BLOCK,
            size: blocks as usize * BLOCK,
        };
        let mask = match head.row_mask {
            RowMask::Period => 0,
            RowMask::Element => flags::ELEMENT_MASK,
        };
        let fetch_flag = if head.fetch.is_some() { flags::FETCH_PLAN } else { 0 };
        let signal_flag = if head.signaled { 0 } else { flags::UNSIGNALED };
        let extension = &head.extension;
        let opcode = extension.opcode();
        let (opcode, imm) =
            opcode.map_or((head.opcode as u8, head.imm), |(opcode, imm)| (opcode as u8, imm));
        let (log_max_read, threshold) = head.fetch.map_or((0, 0), FetchPlan::fields);
        writer.put(&words!(WqeHeader {
            magic: WQE_MAGIC,
            opcode: opcode,
            flags: mask | B::FLAGS | fetch_flag | signal_flag | extension.flags(),
            fetch_log_max_read: log_max_read,
            fetch_merge_threshold: threshold,
            destinations: body.destinations() as u16,
            granules: granules as u32,
            position: self.tail,
            wr_id: head.wr_id,
            rows_per_message: head.rows_per_message,
            imm: imm,
        }));
        extension.write(|words| writer.put(words));
        body.write(&mut writer);
    }

    /// Rings the doorbell for what was staged.
    #[inline]
    pub fn submit(&mut self) -> Result<(), PostError> {
        if self.staged == 0 {
            return Ok(());
        }
        let ring_bytes = BLOCK as u64
            * u64::from(self.tail.wrapping_sub(self.state.posted.load(Ordering::Relaxed)));
        if !self.staged_holds.is_empty() {
            // Before its completion is looked for.
            self.state.held().extend(self.staged_holds.drain(..));
            self.state.holds.store(true, Ordering::Release);
        }
        if self.staged_signaled != self.staged {
            self.completion_queue.expect_failures();
        }
        self.state.posted.store(self.tail, Ordering::Release);
        let (staged, bytes) = (self.staged, self.staged_bytes);
        self.posted_signaled = self.signaled;
        self.staged = 0;
        self.staged_signaled = 0;
        self.staged_bytes = 0;
        let counts = &self.state.counts;
        add(&counts.work_requests, staged.into());
        add(&counts.request_bytes, bytes);
        add(&counts.ring_bytes, ring_bytes);
        add(&counts.doorbells, 1);
        let doorbell = DOORBELLS.entry(self.state.number);
        let rung = self.context.inner.write_register(doorbell, self.tail);
        self.completion_queue.stir();
        Ok(rung?)
    }

    /// Takes back what was staged.
    pub fn discard(&mut self) {
        self.tail = self.state.posted.load(Ordering::Relaxed);
        self.state.staged.store(self.tail, Ordering::Release);
        self.staged_holds.clear();
        self.completion_queue.release(self.staged_signaled);
        self.signaled = self.posted_signaled;
        self.staged = 0;
        self.staged_signaled = 0;
        self.staged_bytes = 0;
    }
}

impl Drop for SendQueue {
    fn drop(&mut self) {
        // Without one, it was waited for already.
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
