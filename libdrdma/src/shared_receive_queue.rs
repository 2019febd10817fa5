//! Shared receive queues: receives that any of several queue pairs may use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    CompletionQueue, Error, PostError, ProtectionDomain, ReceiveRequest, borrow::Borrow,
    receive_queue::ReceiveQueue,
};

/// Starts a [`SharedReceiveQueue`].
#[derive(Clone, Debug)]
#[must_use]
pub struct SharedReceiveQueueBuilder<'a> {
    pd: &'a ProtectionDomain,
    cq: &'a CompletionQueue,
    blocks: u32,
}

impl<'a> SharedReceiveQueueBuilder<'a> {
    pub(crate) fn new(pd: &'a ProtectionDomain, cq: &'a CompletionQueue) -> Self {
        Self { pd, cq, blocks: 256 }
    }

    /// Sets the size of the queue in blocks of 64 bytes, rounded up to a power of two: 1 to 65,536
    /// (default 256).
    pub fn blocks(mut self, blocks: u32) -> Self {
        self.blocks = blocks;
        self
    }

    /// Makes the queue.
    ///
    /// # Errors
    /// `Error::Limits` for a size outside its limits, `Exhausted` without a free queue, `Ring`
    /// without memory, `Unsupported` from a card that only sends, or `Card` if the card failed.
    pub fn build<'m>(self) -> Result<SharedReceiveQueue<'m>, Error> {
        let mut queue = ReceiveQueue::new(self.pd, self.cq, true, self.blocks)?;
        queue.enable(0)?;
        let shared = Shared(Arc::new(Mutex::new(queue)));
        Ok(SharedReceiveQueue { shared, _borrow: Borrow::default() })
    }
}

/// Handle of a shared receive queue for the queue pairs that use it: the queue's number is not
/// given to another queue before the last of them is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Mutex<ReceiveQueue>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, ReceiveQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn number(&self) -> u16 {
        self.lock().number()
    }

    pub fn protection_domain(&self) -> u32 {
        self.lock().protection_domain()
    }
}

/// A queue of receives for all queue pairs that are made with it
/// ([`QueuePairBuilder::shared_receive_queue`](crate::QueuePairBuilder::shared_receive_queue)):
/// each message takes the next one. They complete to the queue's own completion queue;
/// [`WorkCompletion::qp`] is the queue pair that received.
///
/// The failure of a queue pair fails the receive that it has in use, and no other. Dropping the
/// queue takes back posted receives, without completions; the queue pairs then find no receive.
///
/// [`WorkCompletion::qp`]: crate::WorkCompletion::qp
#[derive(Debug)]
pub struct SharedReceiveQueue<'m> {
    pub(crate) shared: Shared,
    _borrow: Borrow<'m>,
}

impl<'m> SharedReceiveQueue<'m> {
    /// Number of the queue, by which completions name it.
    pub fn number(&self) -> u16 {
        self.shared.number()
    }

    /// Posts one receive and rings the doorbell.
    ///
    /// # Errors
    /// Conditions are those of [`PostError`]; nothing is posted then.
    pub fn post_recv(&mut self, request: &ReceiveRequest<'_, 'm>) -> Result<(), PostError> {
        self.shared.lock().post(request)
    }

    /// Posts receives one after the other, up to the first one that is refused, and rings the
    /// doorbell once. Returns the number of posted receives, and the error of the refused one.
    pub fn post_recv_list<'a>(
        &mut self,
        requests: impl IntoIterator<Item = ReceiveRequest<'a, 'm>>,
    ) -> (usize, Result<(), PostError>)
    where
        'm: 'a,
    {
        self.shared.lock().post_list(requests)
    }

    /// Asks for an
    /// [`AsyncEvent::SharedReceiveQueueLimit`](crate::AsyncEvent::SharedReceiveQueueLimit) as soon
    /// as fewer than `limit` receives are left, which may be now (`ibv_modify_srq` with
    /// `IBV_SRQ_LIMIT`). One event follows one call; 0 cancels the limit. A receive counts until
    /// its completion is in memory.
    ///
    /// # Errors
    /// `Error::Limits` for more receives than the queue has room for.
    pub fn arm_limit(&mut self, limit: u32) -> Result<(), Error> {
        self.shared.lock().arm_limit(limit)
    }
}

impl Drop for SharedReceiveQueue<'_> {
    fn drop(&mut self) {
        self.shared.lock().close();
    }
}
