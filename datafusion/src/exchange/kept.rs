//! Queues and memory of exchanges that are over, kept for the next ones.
//!
//! Making them costs a short exchange more than its rows do: rings and memory are mapped, cleared and registered, and a
//! receive is posted for each message that there is room for. Queue pairs and connections are made anew for each
//! exchange, so nothing of one can arrive in another. Only what an exchange left as good as new is kept: one that
//! failed, was cancelled, or whose consumer wanted not all rows leaves nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use drdma_arrow::{AppendReceiver, Format, Receiver};
use libdrdma::{CompletionQueue, SharedSendQueue};

/// Send queues of tasks that are kept, with what they complete to.
const SEND_QUEUES: usize = 32;
/// Receivers of batches that are kept.
const RECEIVERS: usize = 32;
/// Receivers of appended rows that are kept. Each has four of a card's 512 append regions.
const APPENDERS: usize = 64;

/// A send queue, and its completion queue. The first goes before the second.
pub(super) type SendQueue = (SharedSendQueue<'static>, CompletionQueue);

/// What is kept, each the latest one last.
#[derive(Debug, Default)]
struct Lists {
    send_queues: Vec<SendQueue>,
    receivers: Vec<Receiver>,
    /// With their messages of a segment.
    appenders: Vec<(usize, AppendReceiver)>,
}

/// Queues and memory that no exchange uses at present.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Lists>);

/// Adds one to those that are kept. If they are too many, the oldest one is returned, to be dropped without the lock.
fn keep<T>(list: &mut Vec<T>, one: T, limit: usize) -> Option<T> {
    list.push(one);
    (list.len() > limit).then(|| list.remove(0))
}

impl Kept {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A send queue that was kept.
    pub fn take_send_queue(&self) -> Option<SendQueue> {
        self.lists().send_queues.pop()
    }

    /// Keeps a send queue in which nothing is under way.
    pub fn keep_send_queue(&self, queue: SendQueue) {
        let oldest = keep(&mut self.lists().send_queues, queue, SEND_QUEUES);
        drop(oldest);
    }

    /// A receiver of batches that was kept, which begins anew with this format.
    pub fn take_receiver(&self, format: &Format) -> Option<Receiver> {
        let mut receiver = self.lists().receivers.pop()?;
        receiver.begin_anew(format).then_some(receiver)
    }

    /// Keeps a receiver whose connections are closed.
    pub fn keep_receiver(&self, receiver: Receiver) {
        let oldest = keep(&mut self.lists().receivers, receiver, RECEIVERS);
        drop(oldest);
    }

    /// A receiver of appended rows that was kept, which begins anew with this format. It has `messages` messages of a
    /// segment.
    pub fn take_appender(&self, format: &Format, messages: usize) -> Option<AppendReceiver> {
        let mut lists = self.lists();
        let list = &mut lists.appenders;
        // One that does not begin anew stays for rows of its own format, or is dropped as the oldest one.
        let fits = |(of, receiver): &mut (usize, AppendReceiver)| {
            *of == messages && receiver.begin_anew(format)
        };
        let index = list.iter_mut().rposition(fits)?;
        Some(list.remove(index).1)
    }

    /// Keeps a receiver of appended rows whose connection is closed.
    pub fn keep_appender(&self, messages: usize, receiver: AppendReceiver) {
        let oldest = keep(&mut self.lists().appenders, (messages, receiver), APPENDERS);
        drop(oldest);
    }

    /// Drops the receivers of appended rows, and with them append regions of the card. False if there were none.
    pub fn give_up_appenders(&self) -> bool {
        let appenders = std::mem::take(&mut self.lists().appenders);
        !appenders.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_ones_are_kept_and_no_more_than_the_limit() {
        let mut list = Vec::new();
        let dropped: Vec<Option<u32>> = (0..5).map(|one| keep(&mut list, one, 3)).collect();
        assert_eq!(dropped, [None, None, None, Some(0), Some(1)]);
        assert_eq!(list, [2, 3, 4]);
    }
}
