//! A queue pair's place in the card.

use drdma_abi::{
    receive::{AttributesEntry, QUEUE_PAIR_ATTRIBUTES},
    register::{QUEUE_PAIRS, QueuePairEntry},
};
use drdma_driver::CardError;

use crate::{Context, ModifyError, QueuePairState, async_event::Watch};

/// A queue pair's entry in the card's table.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) context: Context,
    pub(super) index: u32,
    /// The card has attributes of the queue pair that concern receiving and retries.
    pub(super) responds: bool,
    /// Handle of the queue pair's events, while a peer may reach it.
    pub(super) watch: Option<Watch>,
}

impl Slot {
    /// Removes the attributes that concern receiving and retries from the card.
    pub(super) fn forget(&mut self) -> Result<(), CardError> {
        if !std::mem::take(&mut self.responds) {
            return Ok(());
        }
        let entry = AttributesEntry::default();
        let mut hardware = self.context.inner.lock();
        hardware.device.write_entry(QUEUE_PAIR_ATTRIBUTES, self.index, &entry)
    }

    /// Stops reporting events of the queue pair.
    pub(super) fn unwatch(&mut self) {
        if let Some(watch) = self.watch.take() {
            self.context.inner.events.unwatch(watch);
        }
    }

    /// Does `work`, which takes the queue pair from the card, and changes the queue pair's index if
    /// requests that the card has not looked at may name the old one: they were meant for the peer
    /// that the queue pair was connected to.
    pub(super) fn renew(
        &mut self,
        work: impl FnOnce() -> Result<(), CardError>,
    ) -> Result<(), ModifyError> {
        let context = &self.context.inner;
        let pending = context.shared_requests();
        if pending.is_empty() {
            return Ok(work()?);
        }
        let index = {
            let mut hardware = context.lock();
            let limit = hardware.queue_pairs.limit();
            hardware.take_queue_pair().ok_or(ModifyError::Exhausted { limit })?
        };
        let done = work();
        let mut hardware = context.lock();
        match done {
            Ok(()) => {
                hardware.qpns[index as usize] = hardware.qpns[self.index as usize];
                hardware.put_queue_pair(self.index, pending);
                drop(hardware);
                context.set_state(self.index, QueuePairState::Reset);
                self.index = index;
                Ok(())
            }
            Err(error) => {
                hardware.queue_pairs.put(index);
                Err(error.into())
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.unwatch();
        self.context.inner.set_state(self.index, QueuePairState::Reset);
        let pending = self.context.inner.shared_requests();
        let forgotten = self.forget();
        let mut hardware = self.context.inner.lock();
        hardware.note(forgotten);
        let entry = QueuePairEntry::default();
        let result = hardware.device.write_entry(QUEUE_PAIRS, self.index, &entry);
        hardware.note(result);
        hardware.put_queue_pair(self.index, pending);
    }
}
