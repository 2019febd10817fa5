//! The cable between the card and the guest, cut in two: what goes over it is recorded, and single
//! frames of the card can be lost or damaged on the way.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use drdma_serve::wire::{MAX_FRAME, Sent, Wire, dgram::Datagrams};

use super::PATIENCE;

/// How often both ends are looked at while nothing comes.
const PAUSE: Duration = Duration::from_micros(200);

/// What happens to a frame of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    Lost,
    Damaged,
}

fn receive(wire: &mut Datagrams) -> Option<Vec<u8>> {
    let mut frame = vec![0; MAX_FRAME];
    let bytes = wire.receive(&mut frame).expect("the socket works")?;
    frame.truncate(bytes);
    Some(frame)
}

#[derive(Debug, Default)]
struct State {
    from_card: Vec<Vec<u8>>,
    from_guest: Vec<Vec<u8>>,
    /// By the frame's number, from 0.
    mishaps: Vec<(usize, Mishap)>,
}

/// The cable. It works as long as the process lives.
#[derive(Clone, Debug)]
pub struct Relay {
    state: Arc<Mutex<State>>,
}

/// What an acknowledgement says.
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

    /// Passes a frame each way; false if there was none.
    fn pass(&self, card: &mut Datagrams, guest: &mut Datagrams) -> bool {
        let there = receive(card);
        if let Some(frame) = there.clone().and_then(|frame| self.handle(frame)) {
            while guest.send(&frame).expect("the guest's socket works") == Sent::Full {
                thread::sleep(PAUSE);
            }
        }
        let back = receive(guest);
        if let Some(frame) = &back {
            self.state().from_guest.push(frame.clone());
            // Between jobs there is no card.
            let _ = card.send(frame);
        }
        there.is_some() || back.is_some()
    }

    /// Records a frame of the card; gives what is left of it.
    fn handle(&self, mut frame: Vec<u8>) -> Option<Vec<u8>> {
        let mut state = self.state();
        let number = state.from_card.len();
        state.from_card.push(frame.clone());
        match state.mishaps.iter().find(|(at, _)| *at == number) {
            Some((_, Mishap::Lost)) => return None,
            Some((_, Mishap::Damaged)) => {
                // The last byte of the payload: the ICRC is behind it.
                let at = frame.len() - 5;
                frame[at] ^= 1;
            }
            None => {}
        }
        Some(frame)
    }

    /// Forgets what passed, but not what will happen.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        state.from_card.clear();
        state.from_guest.clear();
    }

    /// Loses the next job's frame of that number, from 0.
    pub fn lose(&self, number: usize) {
        self.state().mishaps.push((number, Mishap::Lost));
    }

    /// Flips a bit of the payload of the next job's frame of that number, from 0.
    pub fn damage(&self, number: usize) {
        self.state().mishaps.push((number, Mishap::Damaged));
    }

    /// Nothing happens to frames from now on.
    pub fn repair(&self) {
        self.state().mishaps.clear();
    }

    /// The frames of the card in this job, once there are so many.
    ///
    /// # Panics
    /// If they do not come: datagrams may be on their way when their request is complete.
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

    /// The acknowledgements of the guest in this job.
    pub fn acknowledgements(&self) -> Vec<Acknowledgement> {
        let word = |frame: &[u8], at: usize| {
            u32::from_be_bytes([0, frame[at + 1], frame[at + 2], frame[at + 3]])
        };
        let is_roce =
            |frame: &&Vec<u8>| frame.len() >= BTH + 16 && frame[36..38] == 4791_u16.to_be_bytes();
        let state = self.state();
        let frames = state.from_guest.iter().filter(is_roce);
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
        let next = |wire: &mut Datagrams| {
            let started = Instant::now();
            loop {
                match receive(wire) {
                    Some(frame) => return frame,
                    None => assert!(started.elapsed() < PATIENCE, "nothing came"),
                }
            }
        };
        (0..4).for_each(|i| assert_eq!(card.send(&frame(i)).unwrap(), Sent::Out));
        assert_eq!(next(&mut guest), frame(0));
        let damaged = next(&mut guest);
        assert_eq!((damaged[54], damaged[55], damaged[56]), (2, 3, 2));
        assert_eq!(next(&mut guest), frame(3));
        assert_eq!(relay.from_card(4), [0, 1, 2, 3].map(frame), "as they were sent");

        let mut nak = vec![0; BTH + 16];
        nak[36..38].copy_from_slice(&4791_u16.to_be_bytes());
        nak[BTH] = ACKNOWLEDGE;
        nak[BTH + 5..BTH + 8].copy_from_slice(&[0, 1, 2]);
        nak[BTH + 9..BTH + 12].copy_from_slice(&[3, 4, 5]);
        nak[BTH + 12] = 0x62;
        assert_eq!(guest.send(&frame(9)).unwrap(), Sent::Out);
        assert_eq!(guest.send(&nak).unwrap(), Sent::Out);
        assert_eq!((next(&mut card), next(&mut card)), (frame(9), nak));
        let expected = Acknowledgement { qpn: 0x102, psn: 0x30405, syndrome: 0x62 };
        assert_eq!(relay.acknowledgements(), [expected], "what is no RoCE is none");
        relay.forget();
        assert!(relay.from_card(0).is_empty() && relay.acknowledgements().is_empty());
    }
}
