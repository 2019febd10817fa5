//! A switch and the cards' links to it.
//!
//! A frame leaves its card when the card's link is free, is wholly received by the switch (which takes
//! the time of its bits and the link's delay), meets its faults there, waits in the queue of the output
//! that leads to its destination MAC address, and takes the same times once more.
//!
//! The network works in slices of time. Whoever drives it gives it all frames that leave before a
//! moment, in the order of time for each card, and then lets it advance to that moment. What arrives at
//! the cards does not depend on where the slices are cut, or on which card's frames were given
//! first: frames that reach the switch at one moment go in the order of the ports.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::{MAX_OVERTAKING, NetworkConfig, Time, output::Output, random::Random};

/// Bytes of the frames that a frame is held back for at most: the longest that RoCEv2 has, and a bit more.
const LONG_FRAME: usize = 4200;

/// A card's place at the switch: its index in the list that the network was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub usize);

/// What one card's two links carried, and what the switch did with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames from the card.
    pub sent_frames: u64,
    /// Their bytes, without FCS.
    pub sent_bytes: u64,
    /// Of those, frames that a fault lost.
    pub lost: u64,
    /// Frames that were doubled.
    pub duplicated: u64,
    /// Frames that were held back.
    pub reordered: u64,
    /// Frames that a bit was flipped in.
    pub corrupted: u64,
    /// Frames to a MAC address that no card has.
    pub unknown: u64,
    /// Frames to the card.
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
    /// Frames to the card that were dropped because its queue was full.
    pub dropped: u64,
    /// Frames to the card that were marked.
    pub marked: u64,
    /// The most bytes that its queue held.
    pub longest_queue: u64,
}

/// What sees every frame that the switch puts into a queue, when it does.
pub trait Tap: Send {
    /// A frame, without FCS, as it goes on: marked, damaged.
    fn frame(&mut self, at: Time, frame: &[u8]);
}

/// When something happens in the switch. At one moment frames arrive before others are let go, and
/// ports come in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct When {
    at: Time,
    release: bool,
    port: Port,
    sequence: u64,
}

/// A frame that others overtake.
#[derive(Debug)]
struct Held {
    frame: Vec<u8>,
    /// Frames that may still overtake it.
    left: u64,
    /// The number of the event that lets it go.
    release: u64,
}

/// One card's side of the network.
#[derive(Debug, Default)]
struct PortState {
    /// When the link from the card is free.
    free: Time,
    output: Output,
    held: Vec<Held>,
    /// What arrives at the card.
    arriving: VecDeque<(Time, Vec<u8>)>,
    counters: PortCounters,
}

/// The network.
pub struct Network {
    config: NetworkConfig,
    ports: Vec<PortState>,
    by_mac: HashMap<[u8; 6], Port>,
    /// What is to happen in the switch: frames that come, and (empty ones) those that are let go.
    events: BTreeMap<When, Vec<u8>>,
    sequence: u64,
    /// Frames that the switch has received.
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
    /// A network of cards with these MAC addresses (the first byte in bits 47 to 40), one a port. Of
    /// two equal ones the later one gets the frames.
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

    /// What it is.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Shows every frame from now on to `tap`.
    pub fn set_tap(&mut self, tap: Box<dyn Tap>) {
        self.tap = Some(tap);
    }

    /// What a card's links carried so far.
    pub fn counters(&self, port: Port) -> PortCounters {
        self.ports[port.0].counters
    }

    /// A frame, without FCS, that a card would send at `at`: it waits until the card's link is free.
    /// Those of one card come in the order of time, and none before what the network advanced to.
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

    /// Lets everything happen that happens before `to`.
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

    /// When the next thing happens: in the switch, or because a frame arrives at a card.
    pub fn next_event(&self) -> Option<Time> {
        let arrivals = self.ports.iter().filter_map(|port| Some(port.arriving.front()?.0));
        arrivals.chain(self.events.first_key_value().map(|(when, _)| when.at)).min()
    }

    /// The next frame that arrives at a card before `before`, and when it does.
    pub fn take_arrived(&mut self, port: Port, before: Time) -> Option<(Time, Vec<u8>)> {
        self.ports[port.0].arriving.pop_front_if(|(at, _)| *at < before)
    }

    /// A frame is in the switch, wholly.
    fn receive(&mut self, from: Port, mut frame: Vec<u8>) {
        let mut random = Random::stream(self.config.seed, self.received);
        self.received += 1;
        let faults = self.config.faults;
        // Each frame draws as many numbers, so that one probability does not change what others do.
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

    /// A frame was held back for long enough, unless it went on before.
    fn release(&mut self, to: Port, sequence: u64) {
        let held = &mut self.ports[to.0].held;
        if let Some(at) = held.iter().position(|held| held.release == sequence) {
            let frame = held.remove(at).frame;
            self.pass(to, frame);
        }
    }

    /// Puts a frame into an output's queue, and behind it those that it was the last to overtake.
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
