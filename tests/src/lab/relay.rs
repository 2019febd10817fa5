//! The cable between the card and the guest, cut in two: frames on it are recorded, single frames of
//! either side can be lost or damaged on the way, and a bad cable loses and reorders frames at random.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use drdma_wire::{Sent, Wire, dgram::Datagrams};

use super::PATIENCE;
use crate::random::Random;

/// Interval at which both ends are polled while there are no frames.
const PAUSE: Duration = Duration::from_micros(200);

/// Fault of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    Lost,
    Damaged,
}

/// The frames that have arrived.
fn receive(wire: &mut Datagrams) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    wire.receive(&mut |frame| frames.push(frame.to_vec())).expect("the socket works");
    frames
}

#[derive(Debug, Default)]
struct State {
    from_card: Vec<Vec<u8>>,
    from_guest: Vec<Vec<u8>>,
    /// Faults to come: the side that sends the frame, the frame's number, from 0, and the fault.
    mishaps: Vec<(Side, usize, Mishap)>,
    trouble: Option<Trouble>,
    /// For each side: the frame that the next one of that side overtakes.
    held: [Option<Vec<u8>>; 2],
}

impl State {
    fn frames(&mut self, side: Side) -> &mut Vec<Vec<u8>> {
        match side {
            Side::Card => &mut self.from_card,
            Side::Guest => &mut self.from_guest,
        }
    }
}

/// Sender of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The card sent the frame.
    Card,
    /// The guest sent the frame.
    Guest,
}

/// Faults of a bad cable: of the frames of either side, one in this many is affected.
#[derive(Debug)]
pub struct Trouble {
    /// One in this many frames is lost.
    pub lost: u64,
    /// One in this many frames is overtaken by the next one.
    pub overtaken: u64,
    /// Random numbers that the faults are drawn from.
    pub random: Random,
}

/// The cable. It works as long as the process lives.
#[derive(Clone, Debug)]
pub struct Relay {
    state: Arc<Mutex<State>>,
}

/// Fields of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The queue pair of the card that it is for.
    pub qpn: u32,
    /// Packet sequence number.
    pub psn: u32,
    /// ACK, RNR NAK or NAK and its code.
    pub syndrome: u8,
}

/// Byte of a frame at which the base transport header starts.
const BTH: usize = 14 + 20 + 8;
/// Opcode of an RC acknowledgement.
const ACKNOWLEDGE: u8 = 0x11;

impl Relay {
    /// Starts with its end of the card's cable and its end of the guest's.
    pub(super) fn start(mut card: Datagrams, mut guest: Datagrams) -> Self {
        let relay = Self { state: Arc::default() };
        let copy = relay.clone();
        thread::spawn(move || {
            loop {
                if !copy.pass(&mut card, &mut guest) {
                    thread::sleep(PAUSE);
                }
            }
        });
        relay
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the frames that have arrived each way; false if there were none.
    fn pass(&self, card: &mut Datagrams, guest: &mut Datagrams) -> bool {
        let (there, back) = (receive(card), receive(guest));
        let passed = !there.is_empty() || !back.is_empty();
        for frame in there.into_iter().flat_map(|frame| self.handle(Side::Card, frame)) {
            while guest.send(&frame).expect("the guest's socket works") == Sent::Full {
                thread::sleep(PAUSE);
            }
        }
        for frame in back.into_iter().flat_map(|frame| self.handle(Side::Guest, frame)) {
            // Between jobs there is no card.
            let _ = card.send(&frame);
        }
        passed
    }

    /// Records a frame. Returns the frames that are passed on: it, and one that it overtakes.
    fn handle(&self, side: Side, mut frame: Vec<u8>) -> Vec<Vec<u8>> {
        let mut state = self.state();
        let frames = state.frames(side);
        let number = frames.len();
        frames.push(frame.clone());
        match state.mishaps.iter().find(|(by, at, _)| (*by, *at) == (side, number)) {
            Some((.., Mishap::Lost)) => return Vec::new(),
            Some((.., Mishap::Damaged)) => {
                // The last byte of the payload: the ICRC is behind it.
                let at = frame.len() - 5;
                frame[at] ^= 1;
            }
            None => {}
        }
        let State { trouble, held, .. } = &mut *state;
        let held = &mut held[side as usize];
        if let Some(Trouble { lost, overtaken, random }) = trouble {
            if random.one_in(*lost) {
                return Vec::new();
            }
            if held.is_none() && random.one_in(*overtaken) {
                *held = Some(frame);
                return Vec::new();
            }
        }
        [Some(frame), held.take()].into_iter().flatten().collect()
    }

    /// Forgets the frames that have passed, but not the faults to come.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        state.from_card.clear();
        state.from_guest.clear();
    }

    /// Makes the relay lose the card's frame of that number, from 0, in the next job.
    pub fn lose(&self, number: usize) {
        self.lose_from(Side::Card, number);
    }

    /// Makes the relay lose that side's frame of that number, from 0 since the relay last forgot its frames.
    pub fn lose_from(&self, side: Side, number: usize) {
        self.state().mishaps.push((side, number, Mishap::Lost));
    }

    /// Makes the relay flip a bit of the payload of the card's frame of that number, from 0, in the next job.
    pub fn damage(&self, number: usize) {
        self.damage_from(Side::Card, number);
    }

    /// Makes the relay flip a bit of the payload of that side's frame of that number.
    pub fn damage_from(&self, side: Side, number: usize) {
        self.state().mishaps.push((side, number, Mishap::Damaged));
    }

    /// Makes the cable a bad one from now on.
    pub fn trouble(&self, trouble: Trouble) {
        self.state().trouble = Some(trouble);
    }

    /// Ends all faults. A frame that waited to be overtaken is lost.
    pub fn repair(&self) {
        let mut state = self.state();
        state.mishaps.clear();
        state.trouble = None;
        state.held = [None, None];
    }

    /// The frames of the card in this job, once there are at least `at_least`.
    ///
    /// # Panics
    /// If they do not come: datagrams may still be under way when their request is complete.
    pub fn from_card(&self, at_least: usize) -> Vec<Vec<u8>> {
        let started = Instant::now();
        loop {
            let frames = self.state().from_card.clone();
            if frames.len() >= at_least {
                return frames;
            }
            let found = frames.len();
            assert!(started.elapsed() < PATIENCE, "{at_least} frames expected, {found} came");
            thread::sleep(PAUSE);
        }
    }

    /// The frames that a side sent so far.
    pub fn sent_by(&self, side: Side) -> Vec<Vec<u8>> {
        self.state().frames(side).clone()
    }

    /// The acknowledgements of the guest in this job.
    pub fn acknowledgements(&self) -> Vec<Acknowledgement> {
        self.acknowledgements_of(Side::Guest)
    }

    /// The acknowledgements that a side sent so far.
    pub fn acknowledgements_of(&self, side: Side) -> Vec<Acknowledgement> {
        let word = |frame: &[u8], at: usize| {
            u32::from_be_bytes([0, frame[at + 1], frame[at + 2], frame[at + 3]])
        };
        let is_roce =
            |frame: &&Vec<u8>| frame.len() >= BTH + 16 && frame[36..38] == 4791_u16.to_be_bytes();
        let mut state = self.state();
        let frames = state.frames(side).iter().filter(is_roce);
        frames
            .filter(|frame| frame[BTH] == ACKNOWLEDGE)
            .map(|frame| Acknowledgement {
                qpn: word(frame, BTH + 4),
                psn: word(frame, BTH + 8),
                syndrome: frame[BTH + 12],
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_pass_both_ways_but_for_mishaps() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| folder.path().join(name));
        let open = |local, remote| Datagrams::open(local, remote).unwrap();
        let (mut card, mut guest) = (open(&a, &b), open(&d, &c));
        let relay = Relay::start(open(&b, &a), open(&c, &d));
        relay.lose(1);
        relay.damage(2);
        let frame = |i: u8| vec![i; 60];
        let next = |wire: &mut Datagrams, count: usize| {
            let started = Instant::now();
            let mut frames = Vec::new();
            while frames.len() < count {
                frames.extend(receive(wire));
                assert!(started.elapsed() < PATIENCE, "{} of {count} frames came", frames.len());
            }
            frames
        };
        (0..4).for_each(|i| assert_eq!(card.send(&frame(i)).unwrap(), Sent::Out));
        let came = next(&mut guest, 3);
        assert_eq!((&came[0], &came[2], came.len()), (&frame(0), &frame(3), 3));
        assert_eq!((came[1][54], came[1][55], came[1][56]), (2, 3, 2));
        assert_eq!(relay.from_card(4), [0, 1, 2, 3].map(frame), "as they were sent");

        let mut nak = vec![0; BTH + 16];
        nak[36..38].copy_from_slice(&4791_u16.to_be_bytes());
        nak[BTH] = ACKNOWLEDGE;
        nak[BTH + 5..BTH + 8].copy_from_slice(&[0, 1, 2]);
        nak[BTH + 9..BTH + 12].copy_from_slice(&[3, 4, 5]);
        nak[BTH + 12] = 0x62;
        assert_eq!(guest.send(&frame(9)).unwrap(), Sent::Out);
        assert_eq!(guest.send(&nak).unwrap(), Sent::Out);
        assert_eq!(next(&mut card, 2), [frame(9), nak]);
        let expected = Acknowledgement { qpn: 0x102, psn: 0x30405, syndrome: 0x62 };
        assert_eq!(relay.acknowledgements(), [expected], "what is no RoCE is none");
        relay.forget();
        assert!(relay.from_card(0).is_empty() && relay.acknowledgements().is_empty());
    }
}
