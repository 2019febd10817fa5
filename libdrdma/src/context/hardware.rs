//! State of the hardware that only one thread at a time accesses.

use std::{
    any::Any,
    ops::{Deref, DerefMut},
    sync::{
        Arc, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use drdma_abi::{
    described::{APPEND_REGIONS, KEY_REGIONS},
    receive::RECEIVE_QUEUES,
    register::{COMPLETION_QUEUES, MEMORY_REGIONS, QUEUE_PAIRS, SEND_QUEUES, Table},
};
use drdma_driver::{CardError, Device, DmaMemory};

use crate::{index_pool::IndexPool, send_queue::Pending};

/// State of the hardware that only one thread at a time accesses. It is locked last: never lock a
/// completion queue while holding it.
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
    /// First failure that occurred where no error could be returned.
    pub failure: Option<CardError>,
    /// Indexes of dropped queue pairs, which are free again when no request names them any longer.
    leaving: Vec<(u32, Vec<Pending>)>,
    /// The card may still be working on requests of a queue that was taken from it.
    unsettled: bool,
    /// Memory that is released once the card is idle.
    retired: Vec<Retired>,
    /// Memory that can be released; to be dropped while nothing is locked, because an owner may run
    /// any code when it is dropped.
    dead: Vec<Retired>,
    /// State of the generator of tags, if the context was opened with a seed.
    key_seed: Option<u64>,
}

/// Memory that the card may still be reading.
enum Retired {
    /// Mapped memory and its I/O virtual address.
    Mapped(u64, #[expect(dead_code, reason = "kept, not read")] DmaMemory),
    /// The owner of a part of memory that stays mapped.
    Owner(#[expect(dead_code, reason = "kept, not read")] Arc<dyn Any + Send + Sync>),
}

impl Hardware {
    /// An idle card, of which nothing is in use.
    pub fn new(device: Device, key_seed: Option<u64>) -> Self {
        let pool = |table: Table| IndexPool::new(table.entries);
        Self {
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
            key_seed,
        }
    }

    /// Draws the tag of a local key: the 20 random bits above the index, not 0. A key with another
    /// tag is refused.
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

    /// Takes a free index for a queue pair.
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

    /// Notes that requests without a completion were taken from the card, which may go on reading
    /// their memory until it has been idle once.
    pub fn abandon(&mut self) {
        self.unsettled = true;
    }

    /// True if the card no longer touches anything that belonged to abandoned requests; retired
    /// memory is unmapped then.
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
    /// ones. Until then its address is not reused, so that late writes of the card cannot reach new
    /// memory.
    pub fn retire(&mut self, iova: u64, memory: DmaMemory) {
        self.retired.push(Retired::Mapped(iova, memory));
        let settled = self.settle().map(|_| ());
        self.note(settled);
    }

    /// Keeps the owner of memory that stays mapped, if the card may still be reading for abandoned requests.
    pub fn keep(&mut self, owner: Arc<dyn Any + Send + Sync>) {
        if self.unsettled {
            self.retired.push(Retired::Owner(owner));
        }
    }

    /// Keeps a failure that could not be returned, for
    /// [`Context::progress`](crate::Context::progress).
    pub fn note(&mut self, result: Result<(), CardError>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }

    /// True if [`Context::progress`](crate::Context::progress) has something to do.
    fn wants_attention(&self) -> bool {
        self.failure.is_some() || self.unsettled || !self.retired.is_empty()
    }
}

/// The hardware, locked.
pub(crate) struct HardwareGuard<'a> {
    /// Always present until the guard is dropped.
    guard: Option<MutexGuard<'a, Hardware>>,
    attention: &'a AtomicBool,
}

impl<'a> HardwareGuard<'a> {
    /// Makes a guard that, when it unlocks the hardware, sets `attention` if
    /// [`Context::progress`](crate::Context::progress) has something to do.
    pub fn new(guard: MutexGuard<'a, Hardware>, attention: &'a AtomicBool) -> Self {
        Self { guard: Some(guard), attention }
    }
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
