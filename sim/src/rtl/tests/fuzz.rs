//! Frames that are wrong in any way, into the whole card: nothing hangs it, no byte is read or written that no key and
//! no receive opens, each frame has one fate, and counters tell of it.

use drdma_abi::{
    register::{Counter, STATUS, counter},
    roce::{Reth, Transport, operation, syndrome},
    work_request::Opcode,
};
use drdma_semantics::{
    answers,
    frame::Frame,
    packets::{self, MessageHead, Segment, psn_add},
};
use drdma_soft::clock::NS_PER_CYCLE;
use drdma_verilated::testbench::Random;

mod frames;
mod host;
mod memory;

use frames::{Peer, mutate};
use host::{Guarded, PSN, flow};
use memory::{FRESH, ROLES, SECRET, keys};

/// Number of frames of the test that always runs, and of the long one, unless `DRDMA_TEST_FRAMES` is set.
const FEW: u64 = 300;
const MANY: u64 = 10_000;
/// Frames after which all queues and queue pairs are made anew.
const ROUND: u64 = 64;
/// Looks after which the card must be idle, each of some 170 cycles: longer than a READ is tried again.
const LOOKS: usize = 2_000;
/// Calls of `progress` between two looks, of 8 cycles.
const PAUSE: usize = 20;
/// Number of neighbouring secret bytes in a frame that show a leak.
const TELLING: usize = 3;

/// Fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The frame is counted in `RECEIVE_DROPPED`.
    Dropped,
    /// The frame is left to the host's NIC; it is counted as well if it is RoCEv2 to the card's addresses.
    Host,
    /// The frame is counted in `RECEIVE_IGNORED`, with an answer or without.
    Ignored,
    /// The frame is answered.
    Answered,
    /// The frame is carried out, or taken by the queue pair that it answers: such frames are not answered.
    Silent,
}

const FATES: usize = 5;

/// Counters of the fates of frames.
const COUNTERS: [&Counter; 4] = [
    &counter::RECEIVE_DROPPED,
    &counter::RECEIVE_OVERRUN,
    &counter::RECEIVE_IGNORED,
    &counter::CNPS_RECEIVED,
];

/// A card that receives the frames, and its peers.
struct Fuzz {
    card: Guarded,
    peers: Vec<Peer>,
    random: Random,
    counted: [u64; COUNTERS.len()],
    fates: [u64; FATES],
    /// Number of receives that have completed, and of frames that made the card write to memory.
    received: usize,
    written: usize,
}

impl Fuzz {
    fn new(seed: u64) -> Self {
        Self {
            card: Guarded::new(seed),
            peers: (0..FRESH).map(Peer::new).collect(),
            random: Random::new(seed),
            counted: [0; COUNTERS.len()],
            fates: [0; FATES],
            received: 0,
            written: 0,
        }
    }

    fn inject(&mut self, frame: Vec<u8>) {
        let rig = &mut self.card.rig;
        let now = (rig.card.cycles() as f64 * NS_PER_CYCLE) as u64;
        rig.network.inject(frame, now);
    }

    /// Waits until the card is idle: no frame may hang it.
    fn wait(&mut self, what: &str) {
        for _ in 0..LOOKS {
            self.card.rig.progress(PAUSE);
            if self.card.rig.get(&STATUS) == 0 {
                return;
            }
        }
        panic!("the card is not idle {what}");
    }

    /// Checks that no frame of the card has secret bytes. Returns the number of frames that are answers.
    fn answers(&mut self, what: &str) -> usize {
        let mut count = 0;
        while let Some(sent) = self.card.rig.network.take_sent() {
            let frame = Frame::parse_any(&sent.bytes);
            let frame = frame.unwrap_or_else(|error| panic!("{error} {what}: {:02x?}", sent.bytes));
            let is_secret = |bytes: &[u8]| bytes.iter().all(|byte| *byte == SECRET);
            assert!(!frame.payload.windows(TELLING).any(is_secret), "{frame:?} reveals {what}");
            let asks = frame.operation() == operation::READ_REQUEST && !frame.is_notification();
            count += usize::from(!asks);
        }
        count
    }

    fn moved(&mut self) -> [u64; COUNTERS.len()] {
        let now = COUNTERS.map(|counter| self.card.rig.count(counter));
        let moved = std::array::from_fn(|k| now[k] - self.counted[k]);
        self.counted = now;
        moved
    }

    /// Sends frame `number`, and finds its fate.
    fn frame(&mut self, number: u64) {
        if number.is_multiple_of(ROUND) {
            self.card.renew();
            self.peers.iter_mut().for_each(Peer::begin_anew);
        }
        let index = self.random.below(FRESH as u64) as usize;
        if ROLES[index].asks {
            self.card.make(index);
            self.peers[index].begin_anew();
            self.card.ask(index);
            // Wait until the READ is on the wire.
            self.card.rig.progress(10 * PAUSE);
        }
        let random = &mut self.random;
        let mut frame = self.peers[index].next(random);
        if random.chance(0.05) {
            frame = self.peers[index].again(random).unwrap_or(frame);
        }
        let damaged = random.chance(0.6);
        if damaged {
            mutate(&mut frame, random);
        }
        let what = format!("after frame {number} to queue pair {index}: {frame:02x?}");
        self.inject(frame.clone());
        self.wait(&what);
        let answers = self.answers(&what);
        let host = self.card.rig.card.mac().received_by_host().len();
        let moved = self.moved();
        let completed = self.card.poll();
        self.card.rig.poll();
        let written = self.card.check_accesses(&what);
        self.received += completed;
        self.written += usize::from(written > 0);
        let broken = self.card.broken();
        let fate = match (moved, host, answers) {
            ([0 | 1, 0, 0, 0], 1, 0) => Fate::Host,
            ([1, 0, 0, 0], 0, 0) => Fate::Dropped,
            ([0, 0, 1, 0], 0, _) => Fate::Ignored,
            ([0, 0, 0, 0], 0, 1..) => Fate::Answered,
            ([0, 0, 0, 1], 0, 0) => Fate::Silent,
            ([0, 0, 0, 0], 0, 0) => {
                let parsed = Frame::parse_any(&frame);
                let parsed = parsed.unwrap_or_else(|error| panic!("{error} is taken {what}"));
                assert!(has_no_answer(&parsed), "{parsed:?} leads to nothing {what}");
                let is_lost = !is_response(&parsed)
                    && !parsed.payload.is_empty()
                    && written + completed + broken.len() == 0;
                assert!(!is_lost, "a payload is lost {what}");
                Fate::Silent
            }
            other => panic!("{other:?} {what}"),
        };
        self.fates[fate as usize] += 1;
        if parses_to_invalidate(&frame) {
            self.card.make_keys();
        }
        let begin = damaged && self.random.chance(0.5);
        for index in broken.into_iter().chain(begin.then_some(index)) {
            self.card.make(index);
            self.peers[index].begin_anew();
        }
    }

    /// Checks that messages of a queue pair that no frame has named are carried out.
    fn check_fresh(&mut self) {
        self.card.make(FRESH);
        let (flow, key) = (flow(FRESH), keys()[0]);
        let len = 200;
        let segment = Segment { offset: 0, len, first: true, last: true };
        let payload: Vec<u8> = (0..len as u8).collect();
        let mut psn = PSN;
        for (opcode, imm) in [(Opcode::Send, 0), (Opcode::Write, 0)] {
            let (remote_addr, rkey) = (key.start, key.rkey);
            let head = MessageHead { opcode, imm, remote_addr, rkey, len };
            let Ok(frame) = packets::frame(&flow, &head, &segment, psn, |bytes| {
                bytes.copy_from_slice(&payload);
                Ok::<_, std::convert::Infallible>(())
            });
            self.inject(frame);
            self.wait("after a right message");
            psn = psn_add(psn, 1);
        }
        let read = Reth { virtual_address: key.start, rkey: key.rkey, dma_length: len };
        self.inject(answers::read_request(&flow, psn, &read));
        self.wait("after a right READ");
        assert_eq!(self.card.poll(), 1, "the receive is completed");
        assert_eq!(self.card.received(FRESH, len as usize), payload);
        assert_eq!(self.card.memory(&key, len as usize), payload);
        let sent: Vec<_> =
            std::iter::from_fn(|| self.card.rig.network.take_sent().map(|sent| sent.bytes))
                .collect();
        let last = Frame::parse(sent.last().expect("an answer")).expect("a right answer");
        assert_eq!(last.aeth.map(|aeth| aeth.syndrome), Some(syndrome::ACK | 31));
        assert_eq!(last.payload, payload);
        self.card.check_accesses("for right messages");
    }
}

fn parses_to_invalidate(frame: &[u8]) -> bool {
    Frame::parse_any(frame).is_ok_and(|frame| frame.invalidate.is_some())
}

/// True if a frame answers a READ or an atomic, or acknowledges.
fn is_response(frame: &Frame<'_>) -> bool {
    let responses = operation::READ_RESPONSE_FIRST..=operation::ATOMIC_ACKNOWLEDGE;
    responses.contains(&frame.operation())
}

/// True if a right frame may be carried out, or taken, without an answer.
fn has_no_answer(frame: &Frame<'_>) -> bool {
    let operation = frame.operation();
    match frame.transport() {
        Some(Transport::Rc) => {
            is_response(frame)
                || frame.bth.ack_req == 0 && operation <= operation::WRITE_ONLY_IMM
                || frame.bth.ack_req == 0 && frame.invalidate.is_some()
        }
        Some(Transport::Uc | Transport::Ud) => true,
        None => false,
    }
}

fn fuzz(frames: u64) {
    let mut fuzz = Fuzz::new(1);
    (0..frames).for_each(|number| fuzz.frame(number));
    let Fuzz { fates, received, written, card, .. } = &fuzz;
    let accesses = card.accesses;
    println!("dropped, to the host, ignored, answered, silent: {fates:?}");
    println!("{received} receives, {written} frames wrote, {accesses:?} DMA reads and writes");
    // Each frame has one fate, and enough of them reach every part.
    assert_eq!(fates.iter().sum::<u64>(), frames);
    assert!(fates.iter().all(|count| *count > frames / 50), "{fates:?}");
    assert!(*received as u64 > frames / 20 && *written as u64 > frames / 10);
    let changed = card.changed();
    assert!(changed.is_empty(), "bytes {changed:#x?} were written, which nothing opens");
    fuzz.check_fresh();
}

#[test]
fn some_wrong_frames_of_every_kind_do_no_harm() {
    fuzz(FEW);
}

#[test]
#[ignore = "takes a quarter of an hour and more"]
fn no_frame_hangs_the_card_or_reaches_what_no_key_opens_and_each_is_accounted_for() {
    let frames = std::env::var("DRDMA_TEST_FRAMES").ok().and_then(|count| count.parse().ok());
    fuzz(frames.unwrap_or(MANY));
}
