//! Any simulated card in its slot as a card of a simulation, for instance the Verilated RTL.
//!
//! Accesses to its registers take time of the card: actions of a host between two slices of the
//! simulation advance a card in a slot further than the others. Its next slice is then shorter.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drdma_driver::{Card, CardError, DmaMemory};
use drdma_soft::{
    Slot,
    wire::{CapturedFrame, Network as Wire},
};

use crate::TimedCard;

/// A handle of a card in its slot. Clones are handles of the same card.
#[derive(Clone)]
pub struct SlotCard {
    slot: Arc<Mutex<Box<dyn Slot>>>,
    wire: Wire,
    /// Time of the card at which that of the simulation begins, in nanoseconds.
    start_ns: u64,
}

impl SlotCard {
    /// A card that was opened on `wire`, to which nothing else is connected. A call of
    /// [`progress`](Card::progress) should advance its time as little as possible.
    pub fn new(slot: Box<dyn Slot>, wire: Wire) -> Self {
        wire.plug_cable();
        Self { slot: Arc::new(Mutex::new(slot)), wire, start_ns: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Slot>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The card for libdrdma. Its [`progress`](Card::progress) does not advance time.
    pub fn card(&self) -> Box<dyn Card> {
        Box::new(Registers(self.clone()))
    }

    /// Starts the time of the simulation, after the card was set up, which took time of its own.
    #[must_use]
    pub fn starting_now(mut self) -> Self {
        let now = self.lock().now_ns();
        self.start_ns = now;
        self
    }
}

impl TimedCard for SlotCard {
    /// A card that is working may have an event in every cycle.
    fn next_event_ns(&mut self) -> Result<Option<u64>, CardError> {
        let mut slot = self.lock();
        match slot.is_quiet()? {
            true => Ok(None),
            false => Ok(Some(slot.now_ns() - self.start_ns)),
        }
    }

    fn deliver(&mut self, frame: Vec<u8>, at_ns: u64) {
        self.wire.inject(frame, self.start_ns + at_ns);
    }

    fn advance_to(&mut self, ns: u64) -> Result<(), CardError> {
        let mut slot = self.lock();
        while slot.now_ns() < self.start_ns + ns {
            slot.progress()?;
        }
        slot.take_host_frames();
        Ok(())
    }

    fn take_sent(&mut self) -> Vec<CapturedFrame> {
        let start = self.start_ns;
        let sent = std::iter::from_fn(|| self.wire.take_sent());
        sent.map(|frame| CapturedFrame { time_ns: frame.time_ns - start, ..frame }).collect()
    }
}

/// The card as libdrdma sees it.
struct Registers(SlotCard);

impl Card for Registers {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        self.0.lock().read(offset)
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        self.0.lock().write(offset, value)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.0.lock().map(iova, memory)
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.0.lock().unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        Ok(())
    }
}
