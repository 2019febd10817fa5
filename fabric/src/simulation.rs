//! Cards and the network between them, in one time.
//!
//! No frame that leaves a card reaches another before the network's
//! [lookahead](crate::NetworkConfig::lookahead). So each card works through a slice of that length
//! by itself, on any number of threads, and the frames that it sent are handled afterwards. Hosts
//! act between slices.

use std::thread;

use drdma_driver::CardError;
use drdma_soft::wire::CapturedFrame;

use crate::{Network, Port, Time};

/// A card whose time its owner advances.
pub trait TimedCard: Send {
    /// Time of the card's next event in nanoseconds, if no frame arrives and no register is
    /// written; `None` if there is none.
    ///
    /// # Errors
    /// The card failed.
    fn next_event_ns(&mut self) -> Result<Option<u64>, CardError>;

    /// Delivers a frame, without FCS, whose last byte arrives at `at_ns`, which is not in the past.
    /// Frames are delivered in order of time.
    fn deliver(&mut self, frame: Vec<u8>, at_ns: u64);

    /// Does everything that is due up to and at `ns`.
    ///
    /// # Errors
    /// The card failed.
    fn advance_to(&mut self, ns: u64) -> Result<(), CardError>;

    /// Takes the frames, without FCS, that were sent since the last call, in order of time.
    fn take_sent(&mut self) -> Vec<CapturedFrame>;
}

/// Failure of a card.
#[derive(Debug, thiserror::Error)]
#[error("card {card}: {source}")]
pub struct SimulationError {
    /// Index of the card.
    pub card: usize,
    /// Error of the card.
    pub source: CardError,
}

/// Cards at the ports of a network.
pub struct Simulation {
    network: Network,
    cards: Vec<Box<dyn TimedCard>>,
    threads: usize,
    now_ns: u64,
}

impl Simulation {
    /// Plugs the cards into the ports of a network, in order. They run on `threads` threads; the
    /// number changes only the duration of the simulation, not its results.
    pub fn new(network: Network, cards: Vec<Box<dyn TimedCard>>, threads: usize) -> Self {
        Self { network, cards, threads: threads.max(1), now_ns: 0 }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The network, to change it.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Time of the cards in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Advances to the next event, and through a slice of time from there on. False if no event is
    /// due.
    ///
    /// # Errors
    /// The first card that failed.
    pub fn step(&mut self) -> Result<bool, SimulationError> {
        self.slice(u64::MAX - 1)
    }

    /// Handles all events up to and at `ns`, which is then the time of all cards; no effect if that
    /// is past.
    ///
    /// # Errors
    /// The first card that failed.
    pub fn advance_to(&mut self, ns: u64) -> Result<(), SimulationError> {
        while self.now_ns < ns && self.slice(ns)? {}
        if self.now_ns < ns {
            self.advance_cards(ns)?;
            self.now_ns = ns;
            self.collect();
        }
        Ok(())
    }

    /// Advances through a slice of time that begins with the next event, and ends with `last_ns` at
    /// the latest. False if no event is due up to then.
    fn slice(&mut self, last_ns: u64) -> Result<bool, SimulationError> {
        let mut next = self.network.next_event().map(Time::ns);
        for (card, of) in self.cards.iter_mut().enumerate() {
            let event = of.next_event_ns().map_err(|source| SimulationError { card, source })?;
            next = [next, event].into_iter().flatten().min();
        }
        let Some(start) = next.filter(|next| *next <= last_ns) else { return Ok(false) };
        let start = Time::from_ns(start.max(self.now_ns));
        let lookahead = self.network.config().lookahead();
        let half = Time::from_ps(lookahead.ps() / 2);
        // A frame that leaves a card from `start` on is not in the switch before half of the slice.
        self.network.advance(start + half);
        let end_ns = (start + lookahead).ns().min(last_ns + 1);
        for (port, card) in self.cards.iter_mut().enumerate() {
            while let Some((at, frame)) =
                self.network.take_arrived(Port(port), Time::from_ns(end_ns))
            {
                card.deliver(frame, at.ns_rounded_up());
            }
        }
        // The end itself is the first time of the next slice.
        self.advance_cards(end_ns - 1)?;
        self.now_ns = end_ns - 1;
        self.collect();
        Ok(true)
    }

    /// Passes the frames that the cards have sent to the network.
    fn collect(&mut self) {
        for (port, card) in self.cards.iter_mut().enumerate() {
            for CapturedFrame { time_ns, bytes } in card.take_sent() {
                self.network.send(Port(port), Time::from_ns(time_ns), bytes);
            }
        }
    }

    fn advance_cards(&mut self, ns: u64) -> Result<(), SimulationError> {
        let share = self.cards.len().div_ceil(self.threads);
        let advance = |first: usize, cards: &mut [Box<dyn TimedCard>]| {
            for (i, card) in cards.iter_mut().enumerate() {
                card.advance_to(ns)
                    .map_err(|source| SimulationError { card: first + i, source })?;
            }
            Ok(())
        };
        if self.threads == 1 || self.cards.len() <= 1 {
            return advance(0, &mut self.cards);
        }
        thread::scope(|scope| {
            let advance = &advance;
            let parts = self.cards.chunks_mut(share).enumerate();
            let threads: Vec<_> =
                parts.map(|(i, cards)| scope.spawn(move || advance(i * share, cards))).collect();
            let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            // The error of the first card in the list is returned, whichever failed first.
            results.into_iter().try_for_each(|result| match result {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }
}

#[cfg(test)]
mod tests;
