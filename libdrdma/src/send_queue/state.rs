//! Contents of a queue's ring, as its completion queue and the context see it.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use drdma_abi::work_request::{
    BLOCK, Chain, Destination as DestinationLayout, ElementSource, GRANULE, KindElement,
    PartitionFunction, PartitionKey, RegionHeader, RegionShape, RegionType, RemoteColumn,
    WqeHeader, blocks, flags, shape_flags,
};
use drdma_driver::DmaMemory;

use crate::{Statistics, encode::field, memory::Hold};

/// The part of a send queue that its completion queue sees.
#[derive(Debug)]
pub(crate) struct QueueState {
    pub number: u32,
    /// Index of the owner, unless the queue is shared.
    pub(super) queue_pair: Option<AtomicU32>,
    pub(super) ring: DmaMemory,
    pub(super) blocks: u32,
    /// Position behind the last entry in the ring, in blocks modulo 2^32.
    pub(super) staged: AtomicU32,
    /// Position behind the last entry that was submitted to the card.
    pub(super) posted: AtomicU32,
    /// Position of the oldest entry that has not completed.
    pub(super) completed: AtomicU32,
    pub(super) halted: AtomicBool,
    /// Number of times that the ring was emptied.
    pub(super) emptied: AtomicU32,
    /// Memory that posted entries keep, by the positions behind them.
    pub(super) held: Mutex<VecDeque<(u32, Hold)>>,
    /// `held` is not empty.
    pub(super) holds: AtomicBool,
    pub(super) counts: Counts,
}

/// Counts of posted requests; only the queue's owner writes them.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) work_requests: AtomicU64,
    pub(super) request_bytes: AtomicU64,
    pub(super) ring_bytes: AtomicU64,
    pub(super) doorbells: AtomicU64,
}

/// Adds to a count that no other thread writes.
#[inline]
pub(super) fn add(count: &AtomicU64, value: u64) {
    count.store(count.load(Ordering::Relaxed) + value, Ordering::Relaxed);
}

/// Requests of a shared queue's ring at some moment; they name queue pairs by their index.
#[derive(Debug)]
pub(crate) struct Pending {
    queue: Arc<QueueState>,
    emptied: u32,
    position: u32,
}

impl Pending {
    /// `None` for a queue whose ring is empty, or that is not shared.
    pub fn of(queue: &Arc<QueueState>) -> Option<Self> {
        let position = queue.staged.load(Ordering::Acquire);
        let idle = position == queue.completed.load(Ordering::Acquire);
        (queue.queue_pair.is_none() && !idle).then(|| Self {
            queue: queue.clone(),
            emptied: queue.emptied.load(Ordering::Acquire),
            position,
        })
    }

    /// True if all of these requests have completed, or were taken from the card.
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
    /// True if success is reported by a completion, for which room is reserved.
    pub fn is_signaled(&self) -> bool {
        self.flags & flags::UNSIGNALED == 0
    }
}

impl QueueState {
    /// Returns word `word` of the granule-aligned layout that starts `granules` granules behind the
    /// block at `position`.
    fn word(&self, position: u32, granules: usize, word: usize) -> u64 {
        let at = (position & (self.blocks - 1)) as usize * BLOCK + granules * GRANULE + 8 * word;
        self.ring.load_u64(at & (self.blocks as usize * BLOCK - 1))
    }

    /// Returns the oldest entry that has not completed.
    pub fn oldest(&self) -> Option<Outstanding> {
        let position = self.completed.load(Ordering::Acquire);
        (position != self.posted.load(Ordering::Acquire)).then(|| self.entry(position))
    }

    /// Returns the entry at `position`, if it is posted and has not completed.
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

    /// True if a posted request is not known to have completed.
    pub fn is_busy(&self) -> bool {
        self.completed.load(Ordering::Acquire) != self.posted.load(Ordering::Acquire)
    }

    /// Frees the room of an entry, and of the unsignaled ones before it. Memory that they kept is
    /// appended to `dead`, to be dropped while nothing is locked.
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

    pub(super) fn held(&self) -> MutexGuard<'_, VecDeque<(u32, Hold)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Index of the queue pair that the queue belongs to, unless it is shared.
    pub fn queue_pair(&self) -> Option<u32> {
        self.queue_pair.as_ref().map(|index| index.load(Ordering::Acquire))
    }

    /// Counts of the requests posted so far.
    pub fn statistics(&self) -> Statistics {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Statistics {
            work_requests: load(&self.counts.work_requests),
            request_bytes: load(&self.counts.request_bytes),
            ring_bytes: load(&self.counts.ring_bytes),
            doorbells: load(&self.counts.doorbells),
        }
    }

    /// Returns the queue pair of every destination of an entry, from the ring.
    pub fn queue_pairs(&self, entry: &Outstanding) -> Vec<u32> {
        let mut at = WqeHeader::SIZE / GRANULE;
        // Number of granules of a region: header, shape and elements.
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
