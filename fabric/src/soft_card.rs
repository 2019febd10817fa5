//! The reference card as a card of a simulation.

use drdma_driver::CardError;
use drdma_soft::{simulated::SimulatedCard, wire::CapturedFrame};

use crate::TimedCard;

impl TimedCard for SimulatedCard {
    fn next_event_ns(&mut self) -> Result<Option<u64>, CardError> {
        Ok(SimulatedCard::next_event_ns(self))
    }

    fn deliver(&mut self, frame: Vec<u8>, at_ns: u64) {
        SimulatedCard::deliver(self, frame, at_ns);
    }

    fn advance_to(&mut self, ns: u64) -> Result<(), CardError> {
        SimulatedCard::advance_to(self, ns);
        self.take_host_frames();
        Ok(())
    }

    fn take_sent(&mut self) -> Vec<CapturedFrame> {
        SimulatedCard::take_sent(self)
    }
}
