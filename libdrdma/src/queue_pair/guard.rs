//! Requests that are posted together.

use super::QueuePair;
use crate::{PostError, WorkRequest};

/// Requests that are written to the ring and not yet handed to the card. Dropping the guard without
/// [`submit`](Self::submit) takes them back.
#[derive(Debug)]
#[must_use = "requests are posted by `submit`"]
pub struct PostGuard<'q, 'm> {
    pub(super) qp: &'q mut QueuePair<'m>,
}

impl<'m> PostGuard<'_, 'm> {
    /// Adds a request.
    ///
    /// # Errors
    /// Conditions are those of [`PostError`]; the requests before it stay in the guard.
    #[inline]
    pub fn post_send(&mut self, request: &WorkRequest<'_, 'm>) -> Result<(), PostError> {
        self.qp.stage(request)
    }

    /// Rings the doorbell.
    ///
    /// # Errors
    /// The card failed.
    pub fn submit(self) -> Result<(), PostError> {
        self.qp.queue.submit()
    }
}

impl Drop for PostGuard<'_, '_> {
    fn drop(&mut self) {
        self.qp.queue.discard();
    }
}
