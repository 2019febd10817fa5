//! A switch and the cards' links to it.
//!
//! A frame leaves its card when the card's link is free, is wholly received by the switch (which takes
//! the time of its bits and the link's delay), meets its faults there, waits in the queue of the output
//! that leads to its destination MAC address, and takes the same times once more.
//!
//! The network works in slices of time. Its owner passes it all frames that leave before a given
//! time, in order of time for each card, and then advances it to that time. The frames that arrive
//! at the cards do not depend on where the slices are cut, or on which card's frames were passed
//! first: frames that reach the switch at the same time are handled in the order of the ports.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::{MAX_OVERTAKING, NetworkConfig, Time, output::Output, random::Random};

/// Number of bytes of frames for which a frame is held back at most: slightly more than the longest
/// frame of RoCEv2.
const LONG_FRAME: usize = 4200;

/// A port of the switch: the card's index in the list that the network was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub usize);

/// Counters of one card's two links, and of the switch's actions on its frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Number of frames from the card.
    pub sent_frames: u64,
    /// Number of bytes of these frames, without FCS.
    pub sent_bytes: u64,
    /// Number of these frames that a fault lost.
    pub lost: u64,
    /// Number of frames that were duplicated.
    pub duplicated: u64,
    /// Number of frames that were held back.
    pub reordered: u64,
    /// Number of frames in which a bit was flipped.
    pub corrupted: u64,
    /// Number of frames to a MAC address that no card has.
    pub unknown: u64,
    /// Number of frames to the card.
    pub frames: u64,
    /// Number of bytes of these frames, without FCS.
    pub bytes: u64,
    /// Number of frames to the card that were dropped because its queue was full.
    pub dropped: u64,
    /// Number of frames to the card that were marked.
    pub marked: u64,
    /// Greatest length of the card's queue in bytes.
    pub longest_queue: u64,
}

/// Observer of every frame that the switch puts into a queue, at that time.
pub trait Tap: Send {
    /// Called with a frame, without FCS, as it is passed on: with marks and faults.
    fn frame(&mut self, at: Time, frame: &[u8]);
}

/// Time of an event in the switch. Of events at the same time, frames arrive before others are
/// released, and ports are handled in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct When {
    at: Time,
    release: bool,
    port: Port,
    sequence: u64,
}

/// A frame that is held back, so that others overtake it.
#[derive(Debug)]
struct Held {
    frame: Vec<u8>,
    /// Number of frames that may still overtake it.
    left: u64,
    /// Sequence number of the event that releases it.
    release: u64,
}

/// State of one card's port.
#[derive(Debug, Default)]
struct PortState {
    /// Time from which the link from the card is free.
    free: Time,
    output: Output,
    held: Vec<Held>,
    /// Frames on their way to the card, with their times of arrival.
    arriving: VecDeque<(Time, Vec<u8>)>,
    counters: PortCounters,
}

/// A switch and the links of the cards to it.
pub struct Network {
    config: NetworkConfig,
    ports: Vec<PortState>,
    by_mac: HashMap<[u8; 6], Port>,
    /// Events in the switch: frames that arrive, and (empty ones) frames that are released.
    events: BTreeMap<When, Vec<u8>>,
    sequence: u64,
    /// Number of frames that the switch has received.
    received: u64,
    now: Time,
    tap: Option<Box<dyn Tap>>,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").field("config", &self.config).field("now", &self.now).finish()
    }
}

impl Network {
    /// A network of cards with these MAC addresses (the first byte in bits 47 to 40), one a port.
    /// If two are equal, the later one gets the frames.
    pub fn new(config: NetworkConfig, macs: &[u64]) -> Self {
        let key = |mac: &u64| {
            let [_, _, bytes @ ..] = mac.to_be_bytes();
            bytes
        };
        Self {
            config,
            ports: macs.iter().map(|_| PortState::default()).collect(),
            by_mac: macs.iter().enumerate().map(|(i, mac)| (key(mac), Port(i))).collect(),
            events: BTreeMap::new(),
            sequence: 0,
            received: 0,
            now: Time::ZERO,
            tap: None,
        }
    }

    /// Configuration of the network.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Passes every frame from now on to `tap`.
    pub fn set_tap(&mut self, tap: Box<dyn Tap>) {
        self.tap = Some(tap);
    }

    /// Counters of a card's links so far.
    pub fn counters(&self, port: Port) -> PortCounters {
        self.ports[port.0].counters
    }

    /// Sends a frame, without FCS, of a card at `at`: it waits until the card's link is free. The
    /// frames of one card must be sent in order of time, and none before the time that the network
    /// was advanced to.
    pub fn send(&mut self, port: Port, at: Time, frame: Vec<u8>) {
        let state = &mut self.ports[port.0];
        state.counters.sent_frames += 1;
        state.counters.sent_bytes += frame.len() as u64;
        state.free = state.free.max(at) + self.config.duration(frame.len());
        let at = state.free + self.config.delay;
        self.plan(at, false, port, frame);
    }

    fn plan(&mut self, at: Time, release: bool, port: Port, frame: Vec<u8>) -> u64 {
        let sequence = self.sequence;
        self.sequence += 1;
        self.events.insert(When { at, release, port, sequence }, frame);
        sequence
    }

    /// Advances the network to `to`: handles all events before that time.
    pub fn advance(&mut self, to: Time) {
        while let Some(event) = self.events.first_entry()
            && event.key().at < to
        {
            let (When { at, release, port, sequence }, frame) = event.remove_entry();
            self.now = at;
            if release {
                self.release(port, sequence);
            } else {
                self.receive(port, frame);
            }
        }
        self.now = self.now.max(to);
    }

    /// Time of the next event in the switch, or arrival of a frame at a card.
    pub fn next_event(&self) -> Option<Time> {
        let arrivals = self.ports.iter().filter_map(|port| Some(port.arriving.front()?.0));
        arrivals.chain(self.events.first_key_value().map(|(when, _)| when.at)).min()
    }

    /// Takes the next frame that arrives at a card before `before`, with its time of arrival.
    pub fn take_arrived(&mut self, port: Port, before: Time) -> Option<(Time, Vec<u8>)> {
        self.ports[port.0].arriving.pop_front_if(|(at, _)| *at < before)
    }

    /// Handles a frame that the switch has received completely.
    fn receive(&mut self, from: Port, mut frame: Vec<u8>) {
        let mut random = Random::stream(self.config.seed, self.received);
        self.received += 1;
        let faults = self.config.faults;
        // Each frame draws the same number of random numbers, so that one probability does not
        // change the effects of others.
        let (lost, corrupted) = (random.happens(faults.loss), random.happens(faults.corrupt));
        let bit = random.number();
        let (doubled, held) = (random.happens(faults.duplicate), random.happens(faults.reorder));
        let overtaking = 1 + random.below(MAX_OVERTAKING);

        let to = frame.first_chunk().and_then(|mac| self.by_mac.get(mac)).copied();
        let counters = &mut self.ports[from.0].counters;
        let Some(to) = to else {
            counters.unknown += 1;
            return;
        };
        if lost {
            counters.lost += 1;
            return;
        }
        if corrupted {
            counters.corrupted += 1;
            let bit = bit % (frame.len() as u64 * 8);
            frame[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        let copy = doubled.then(|| frame.clone());
        counters.duplicated += u64::from(doubled);
        counters.reordered += u64::from(held);
        if held {
            let longest = self.config.duration(LONG_FRAME).ps() * MAX_OVERTAKING;
            let at = self.now + Time::from_ps(longest);
            let release = self.plan(at, true, to, Vec::new());
            self.ports[to.0].held.push(Held { frame, left: overtaking, release });
        } else {
            self.pass(to, frame);
        }
        if let Some(copy) = copy {
            self.pass(to, copy);
        }
    }

    /// Releases a frame that was held back for long enough, unless it was passed on before.
    fn release(&mut self, to: Port, sequence: u64) {
        let held = &mut self.ports[to.0].held;
        if let Some(at) = held.iter().position(|held| held.release == sequence) {
            let frame = held.remove(at).frame;
            self.pass(to, frame);
        }
    }

    /// Puts a frame into an output's queue, and behind it those frames that it was the last to
    /// overtake.
    fn pass(&mut self, to: Port, frame: Vec<u8>) {
        let mut passing = VecDeque::from([frame]);
        while let Some(mut frame) = passing.pop_front() {
            let state = &mut self.ports[to.0];
            let (output, counters) = (&mut state.output, &mut state.counters);
            if let Some(at) = output.take(&self.config, self.now, &mut frame, counters) {
                if let Some(tap) = &mut self.tap {
                    tap.frame(self.now, &frame);
                }
                state.arriving.push_back((at, frame));
            }
            state.held.iter_mut().for_each(|held| held.left -= 1);
            let overtaken = state.held.extract_if(.., |held| held.left == 0);
            passing.extend(overtaken.map(|held| held.frame));
        }
    }
}

#[cfg(test)]
mod tests;
