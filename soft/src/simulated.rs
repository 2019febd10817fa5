//! A card whose time its owner advances: several of them, and a network of the owner's making, run
//! in one simulated time.
//!
//! The owner of a [`SimulatedCard`] moves its frames and advances its time. The card for libdrdma
//! ([`SimulatedCard::card`]) posts and polls, and does not advance time: completions can be polled
//! for, but not waited for. The same calls in the same order give the same frames at the same
//! times.
//!
//! ```
//! use drdma_soft::simulated::SimulatedCard;
//!
//! let cards = [SimulatedCard::new(), SimulatedCard::new()];
//! // ... contexts are opened on `cards[i].card()`, requests are posted ...
//! // A network that takes 500 ns, until nothing is to come any more.
//! let mut now = 0;
//! loop {
//!     for (card, other) in [(&cards[0], &cards[1]), (&cards[1], &cards[0])] {
//!         card.advance_to(now);
//!         card.take_sent().into_iter().for_each(|sent| other.deliver(sent.bytes, sent.time_ns + 500));
//!     }
//!     match cards.iter().filter_map(SimulatedCard::next_event_ns).min() {
//!         Some(next) => now = next.max(now),
//!         None => break,
//!     }
//! }
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drdma_driver::{Card, CardError, DmaMemory};

use drdma_wire::Wire;

use crate::{
    card::{NS_PER_CYCLE, SoftCard},
    port::{PortEnd, TakesFrames},
    wire::{CapturedFrame, Network},
};

/// A handle of a card whose time its owner advances. Clones are handles of the same card.
#[derive(Clone, Debug)]
pub struct SimulatedCard {
    card: Arc<Mutex<SoftCard>>,
    network: Network,
}

impl Default for SimulatedCard {
    fn default() -> Self {
        Self::new()
    }
}

impl SimulatedCard {
    /// A card after reset, at time 0.
    pub fn new() -> Self {
        Self::made(|card| card)
    }

    /// An endpoint: a card for sending and receiving, not a model of the hardware. It does not plan
    /// the DMA reads of its requests, which takes longer than sending them: the counters `WINDOWS`,
    /// `DATA_READS` and `DATA_READ_BYTES` stay 0. It reads all ids and bitmaps of a request when
    /// that begins, and rows up to 12 KiB before they are sent; the reference card, as the hardware,
    /// reads them as it sends.
    pub fn endpoint() -> Self {
        Self::made(SoftCard::endpoint)
    }

    fn made(make: impl FnOnce(SoftCard) -> SoftCard) -> Self {
        let network = Network::new();
        network.plug_cable();
        let card = make(SoftCard::new(network.clone()).passing_frames_on());
        Self { card: Arc::new(Mutex::new(card)), network }
    }

    fn lock(&self) -> MutexGuard<'_, SoftCard> {
        self.card.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The card for libdrdma. Its [`progress`](Card::progress) does not advance time.
    pub fn card(&self) -> Box<dyn Card> {
        Box::new(Registers(self.clone()))
    }

    /// The card's port, plugged into a wire that leads out of the process: the port takes the
    /// frames that the card has sent and delivers those that arrive, in place of
    /// [`take_sent`](Self::take_sent) and [`deliver`](Self::deliver).
    pub fn port(&self, wire: Box<dyn Wire>) -> PortEnd {
        let end = PortEnd::new(self.network.clone(), Some(wire));
        match self.lock().is_endpoint() {
            true => end.delivering_to(self.clone()),
            false => end,
        }
    }

    /// Nanoseconds since the card was made.
    pub fn now_ns(&self) -> u64 {
        self.lock().now() * NS_PER_CYCLE
    }

    /// Time of the card's next event if no frame is delivered and no register written; never before
    /// [`now_ns`](Self::now_ns). The event may turn out to be nothing. `None`: there is none.
    pub fn next_event_ns(&self) -> Option<u64> {
        Some(self.lock().next_event()? * NS_PER_CYCLE)
    }

    /// Delivers a frame, without FCS, whose last byte arrives at `at_ns`: at the next cycle, at the
    /// earliest now. Frames of one time arrive in the order of the calls.
    pub fn deliver(&self, frame: Vec<u8>, at_ns: u64) {
        self.network.inject(frame, at_ns);
    }

    /// Does everything that is due up to and at `ns`, rounded down to a whole cycle. A time in the
    /// past has no effect.
    pub fn advance_to(&self, ns: u64) {
        let mut card = self.lock();
        let end = ns / NS_PER_CYCLE;
        if end >= card.now() {
            card.run_until(end, true);
        }
    }

    /// Takes the frames, without FCS, that were sent since the last call, with the times of their
    /// first bytes.
    pub fn take_sent(&self) -> Vec<CapturedFrame> {
        std::iter::from_fn(|| self.network.take_sent()).collect()
    }

    /// Takes the frames since the last call that are for none of the card's queue pairs, unchanged:
    /// they are for the host's NIC.
    pub fn take_host_frames(&self) -> Vec<Vec<u8>> {
        self.lock().take_passed_on()
    }
}

impl TakesFrames for SimulatedCard {
    fn take(&self, frame: &[u8]) {
        self.lock().take_frame(frame);
    }
}

/// The card as libdrdma sees it.
#[derive(Debug)]
struct Registers(SimulatedCard);

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
