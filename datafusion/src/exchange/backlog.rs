//! Batches that wait in a worker's memory, those of all of its tasks together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of batches that wait, and their limit.
#[derive(Debug)]
pub(crate) struct Backlog {
    limit: usize,
    waiting: AtomicUsize,
    most: AtomicUsize,
}

impl Backlog {
    /// Makes a backlog in which `limit` bytes may wait.
    pub fn new(limit: usize) -> Self {
        Self { limit, waiting: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    /// True if no further batch is to wait. One that was read before that may still do so.
    pub fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= self.limit
    }

    /// Adds bytes that begin to wait.
    pub fn hold(&self, bytes: usize) {
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(waiting, Ordering::Relaxed);
    }

    /// Removes bytes that do not wait any more.
    pub fn release(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The largest number of bytes that have waited at a time.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}
