//! Shared send queues: several queue pairs' data, planned together (D-RDMA section 3.3).

use std::marker::PhantomData;

use crate::{
    CompletionQueue, Error, MemoryRegion, ModifyError, PostError, ProtectionDomain,
    SharedWorkRequest,
};

/// Starts a [`SharedSendQueue`].
#[derive(Clone, Debug)]
#[must_use]
pub struct SharedSendQueueBuilder<'a> {
    pd: &'a ProtectionDomain,
    cq: &'a CompletionQueue,
    send_blocks: u32,
}

impl<'a> SharedSendQueueBuilder<'a> {
    pub(crate) fn new(pd: &'a ProtectionDomain, cq: &'a CompletionQueue) -> Self {
        Self { pd, cq, send_blocks: 8192 }
    }

    /// Room in the queue, in blocks of 64 bytes, rounded up to a power of two: 1 to 65,536
    /// (default 8,192: any request fits).
    pub fn send_blocks(mut self, blocks: u32) -> Self {
        self.send_blocks = blocks;
        self
    }

    /// Makes the queue.
    ///
    /// # Errors
    /// A size outside the limits, no free queue, no memory, or the card failed.
    pub fn build<'m>(self) -> Result<SharedSendQueue<'m>, Error> {
        todo!()
    }
}

/// A shared send queue. `'m` is the memory that posted work may read: it stays borrowed as long as
/// the queue lives, or until [`release`](Self::release).
#[derive(Debug)]
pub struct SharedSendQueue<'m> {
    memory: PhantomData<&'m MemoryRegion>,
}

impl<'m> SharedSendQueue<'m> {
    /// The queue's number, that completions name it by.
    pub fn queue(&self) -> u16 {
        todo!()
    }

    /// True after a request failed, as far as completions were polled: everything behind it is
    /// flushed, until [`reset`](Self::reset).
    pub fn is_halted(&self) -> bool {
        todo!()
    }

    /// Posts one request and rings the doorbell.
    ///
    /// # Errors
    /// See [`PostError`]; nothing is posted then.
    pub fn post_ssq_send(&mut self, request: &SharedWorkRequest<'_, 'm>) -> Result<(), PostError> {
        let _ = request;
        todo!()
    }

    /// Starts posting several requests with one doorbell.
    pub fn batch(&mut self) -> SharedPostGuard<'_, 'm> {
        todo!()
    }

    /// Flushes what is still posted and makes the queue ready again after an error. Queue pairs
    /// that are in the error state are reset on their own.
    ///
    /// # Errors
    /// The card failed.
    pub fn reset(&mut self) -> Result<(), ModifyError> {
        todo!()
    }

    /// Gives the memory back: like [`reset`](Self::reset), and the queue borrows nothing.
    ///
    /// # Errors
    /// The card failed.
    pub fn release<'n>(self) -> Result<SharedSendQueue<'n>, ModifyError> {
        todo!()
    }
}

impl Drop for SharedSendQueue<'_> {
    fn drop(&mut self) {}
}

/// Requests that are written to the ring and not yet handed to the card. Dropping it without
/// [`submit`](Self::submit) takes them back.
#[derive(Debug)]
#[must_use = "requests are posted by `submit`"]
pub struct SharedPostGuard<'q, 'm> {
    ssq: &'q mut SharedSendQueue<'m>,
}

impl<'m> SharedPostGuard<'_, 'm> {
    /// Adds a request.
    ///
    /// # Errors
    /// See [`PostError`]; the requests before it stay in the guard.
    pub fn post_ssq_send(&mut self, request: &SharedWorkRequest<'_, 'm>) -> Result<(), PostError> {
        let _ = (request, &self.ssq);
        todo!()
    }

    /// Rings the doorbell.
    ///
    /// # Errors
    /// The card failed.
    pub fn submit(self) -> Result<(), PostError> {
        todo!()
    }
}
