//! Completion queues and what they deliver.

use std::{marker::PhantomData, time::Duration};

use drdma_abi::completion::Status;
use drdma_driver::CardError;

use crate::{Context, Error};

/// How one work request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkCompletion {
    /// The request's name.
    pub wr_id: u64,
    /// How it ended.
    pub status: Status,
    /// Payload bytes of all its messages; 0 unless the status is success.
    pub bytes: u64,
    /// The number of the send queue that it was posted to ([`QueuePair::queue`](crate::QueuePair::queue),
    /// [`SharedSendQueue::queue`](crate::SharedSendQueue::queue)).
    pub queue: u16,
    /// The destination that failed: its index in the request; 0 on success.
    pub destination: u16,
}

/// Starts a [`CompletionQueue`].
#[derive(Debug)]
#[must_use]
pub struct CompletionQueueBuilder<'a> {
    context: &'a Context,
    entries: u32,
}

impl CompletionQueueBuilder<'_> {
    /// Room for at least that many completions, 1 to 65,536 (default 1,024). Requests that are
    /// posted and not yet polled never exceed it: posting is refused before.
    pub fn entries(mut self, entries: u32) -> Self {
        self.entries = entries;
        self
    }

    /// Makes the queue.
    ///
    /// # Errors
    /// A size outside the limits, no free completion queue, no memory, or the card failed.
    pub fn build(self) -> Result<CompletionQueue, Error> {
        todo!()
    }
}

/// Where requests complete: one completion a request, in order per send queue.
#[derive(Debug)]
pub struct CompletionQueue {}

impl CompletionQueue {
    /// Takes what has completed, without waiting and without [`Context::progress`]. Requests that
    /// were behind a failed one on the same queue complete with
    /// [`WrFlushError`](Status::WrFlushError).
    pub fn poll(&self) -> Poll<'_> {
        todo!()
    }

    /// Waits for one completion, calling [`Context::progress`] meanwhile; `None` after `timeout`.
    ///
    /// # Errors
    /// The card failed.
    pub fn poll_timeout(&self, timeout: Duration) -> Result<Option<WorkCompletion>, CardError> {
        let _ = timeout;
        todo!()
    }

    /// Requests posted whose completions were not polled yet.
    pub fn outstanding(&self) -> u32 {
        todo!()
    }

    /// Completions that fit.
    pub fn capacity(&self) -> u32 {
        todo!()
    }
}

/// The completions that are there, oldest first. While it exists, nobody else polls the queue.
#[derive(Debug)]
pub struct Poll<'a> {
    queue: PhantomData<&'a CompletionQueue>,
}

impl Iterator for Poll<'_> {
    type Item = WorkCompletion;

    fn next(&mut self) -> Option<WorkCompletion> {
        todo!()
    }
}
