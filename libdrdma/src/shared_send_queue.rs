//! Shared send queues: several queue pairs' data, planned together (D-RDMA section 3.3).

use drdma_driver::CardError;

use crate::{
    CompletionQueue, Error, PostError, ProtectionDomain, SharedRequest, borrow::Borrow,
    send_queue::SendQueue, work_request::Queue,
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

    /// Sets the size of the queue in blocks of 64 bytes, rounded up to a power of two: 1 to 65,536
    /// (default 8,192: any request fits).
    pub fn send_blocks(mut self, blocks: u32) -> Self {
        self.send_blocks = blocks;
        self
    }

    /// Makes the queue.
    ///
    /// # Errors
    /// `Error::Limits` for a size outside its limits, `Exhausted` without a free queue, `Ring`
    /// without memory, or `Card` if the card failed.
    pub fn build<'m>(self) -> Result<SharedSendQueue<'m>, Error> {
        let mut queue = SendQueue::new(self.pd, self.cq, None, self.send_blocks)?;
        queue.enable()?;
        Ok(SharedSendQueue { queue, _borrow: Borrow::default() })
    }
}

/// A shared send queue. `'m` is the memory that posted work may read: it stays borrowed as long as
/// the queue lives, or until [`release`](Self::release), as [`QueuePair`](crate::QueuePair) shows.
///
/// Dropping it with work in progress waits like [`release`](Self::release), and posted requests get
/// no completion. If the card was still busy, the next [`Context::progress`] returns that error.
///
/// [`Context::progress`]: crate::Context::progress
///
/// ```compile_fail,E0505
/// # use libdrdma::{Contiguous, Destination, MemoryRegion, QueuePair, SharedSendQueue};
/// # use libdrdma::SharedWorkRequest;
/// # fn example(red: QueuePair, ssq: SharedSendQueue, memory: MemoryRegion)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let mut ssq = ssq.release()?;
/// let regions = [Contiguous::new(&memory).build()?];
/// let destinations = [Destination::new(&red).regions(&regions)];
/// ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&destinations))?;
/// drop(memory); // the card may still be reading it
/// drop(ssq);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct SharedSendQueue<'m> {
    queue: SendQueue,
    _borrow: Borrow<'m>,
}

impl<'m> SharedSendQueue<'m> {
    /// Number of the queue, by which completions name it.
    pub fn queue(&self) -> u16 {
        self.queue.number()
    }

    /// True after a request failed, as known from the completions that were polled: all requests
    /// behind it are flushed, until [`reset`](Self::reset).
    pub fn is_halted(&self) -> bool {
        self.queue.is_halted()
    }

    /// Posts one request, a [`SharedWorkRequest`](crate::SharedWorkRequest) or a
    /// [`PartitionedWorkRequest`](crate::PartitionedWorkRequest), and rings the doorbell. If a
    /// queue pair is not ready or named twice, the request completes with an error status.
    ///
    /// # Errors
    /// Conditions are those of [`PostError`]; nothing is posted then.
    #[inline]
    pub fn post_ssq_send(&mut self, request: &impl SharedRequest<'m>) -> Result<(), PostError> {
        request.stage(Queue(&mut self.queue))?;
        self.queue.submit()
    }

    /// Starts posting several requests with one doorbell.
    pub fn batch(&mut self) -> SharedPostGuard<'_, 'm> {
        SharedPostGuard { ssq: self }
    }

    /// Completes posted requests with `wr_flush_error`, and makes the queue ready again after an
    /// error. Requests that the card has begun may still be sent. Queue pairs that are in the error
    /// state must be reset on their own.
    ///
    /// # Errors
    /// The card failed.
    pub fn reset(&mut self) -> Result<(), CardError> {
        self.queue.disable()?;
        self.queue.enable()
    }

    /// Ends the borrow of memory: like [`reset`](Self::reset), and the queue borrows nothing. If
    /// not all posted requests have completed, this waits until the card has sent those that it has
    /// begun.
    ///
    /// # Errors
    /// [`CardError::Busy`] if the card reads and sends nothing for a second and is not idle, or is
    /// not idle after ten: requests wait for acknowledgements that do not come (reset their queue
    /// pairs before, or set [`Options::ack_timeout`](crate::Options::ack_timeout)), or other queues
    /// keep it busy (let the requests complete before). The queue is gone then, and requests that
    /// the card had begun may still be sent, whatever the memory holds by then. Another
    /// [`CardError`] if the card failed.
    pub fn release<'n>(mut self) -> Result<SharedSendQueue<'n>, CardError> {
        self.queue.disable_and_wait()?;
        self.queue.enable()?;
        Ok(SharedSendQueue { queue: self.queue, _borrow: Borrow::default() })
    }
}

/// Requests that are written to the ring and not yet handed to the card. Dropping the guard without
/// [`submit`](Self::submit) takes them back.
#[derive(Debug)]
#[must_use = "requests are posted by `submit`"]
pub struct SharedPostGuard<'q, 'm> {
    ssq: &'q mut SharedSendQueue<'m>,
}

impl<'m> SharedPostGuard<'_, 'm> {
    /// Adds a request, of either kind.
    ///
    /// # Errors
    /// Conditions are those of [`PostError`]; the requests before it stay in the guard.
    #[inline]
    pub fn post_ssq_send(&mut self, request: &impl SharedRequest<'m>) -> Result<(), PostError> {
        request.stage(Queue(&mut self.ssq.queue))
    }

    /// Rings the doorbell.
    ///
    /// # Errors
    /// The card failed.
    pub fn submit(self) -> Result<(), PostError> {
        self.ssq.queue.submit()
    }
}

impl Drop for SharedPostGuard<'_, '_> {
    fn drop(&mut self) {
        self.ssq.queue.discard();
    }
}
