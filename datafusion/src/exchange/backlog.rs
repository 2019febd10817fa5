//! Batches that wait in a worker's memory, those of all of its tasks together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of batches that wait, and how many may.
#[derive(Debug)]
pub(crate) struct Backlog {
    limit: usize,
    waiting: AtomicUsize,
    most: AtomicUsize,
}

impl Backlog {
    /// So many bytes may wait.
    pub fn new(limit: usize) -> Self {
        Self { limit, waiting: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    /// Nothing more is to wait. A batch that was read before that may still do so.
    pub fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= self.limit
    }

    /// So many bytes begin to wait.
    pub fn hold(&self, bytes: usize) {
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(waiting, Ordering::Relaxed);
    }

    /// So many bytes do not wait any more.
    pub fn release(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The most bytes that ever waited at a time.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}
