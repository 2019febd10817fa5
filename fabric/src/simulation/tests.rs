use std::collections::VecDeque;

use super::*;
use crate::{FaultConfig, NetworkConfig};

const CARDS: usize = 4;

fn mac(card: usize) -> u64 {
    0x0200_0000_0001 + card as u64
}

/// A card that answers every frame to its sender after a delay, with one hop less.
#[derive(Default)]
struct Echo {
    arriving: VecDeque<(u64, Vec<u8>)>,
    answers: VecDeque<(u64, Vec<u8>)>,
    sent: Vec<CapturedFrame>,
    seen: Vec<(u64, Vec<u8>)>,
    now: u64,
    breaks: bool,
}

/// Handle of a card, shared with the test.
#[derive(Clone, Default)]
struct Handle(std::sync::Arc<std::sync::Mutex<Echo>>);

impl TimedCard for Handle {
    fn next_event_ns(&mut self) -> Result<Option<u64>, CardError> {
        Ok(self.0.lock().unwrap().answers.front().map(|(at, _)| *at))
    }

    fn deliver(&mut self, frame: Vec<u8>, at_ns: u64) {
        let mut echo = self.0.lock().unwrap();
        assert!(at_ns > echo.now, "a frame of the past: {at_ns}, now {}", echo.now);
        echo.arriving.push_back((at_ns, frame));
    }

    fn advance_to(&mut self, ns: u64) -> Result<(), CardError> {
        let mut echo = self.0.lock().unwrap();
        if echo.breaks && ns > 5000 {
            return Err(CardError::Failed("it broke".into()));
        }
        while let Some((at, frame)) = echo.arriving.pop_front_if(|(at, _)| *at <= ns) {
            echo.seen.push((at, frame.clone()));
            let hops = frame[14];
            if hops > 0 {
                let mut answer = frame.clone();
                answer[..6].copy_from_slice(&frame[6..12]);
                answer[6..12].copy_from_slice(&frame[..6]);
                answer[14] = hops - 1;
                let think = 40 + u64::from(frame[15]) * 7;
                let at = echo.answers.back().map_or(0, |(at, _)| *at).max(at + think);
                echo.answers.push_back((at, answer));
            }
        }
        while let Some((time_ns, bytes)) = echo.answers.pop_front_if(|(at, _)| *at <= ns) {
            echo.sent.push(CapturedFrame { time_ns, bytes });
        }
        echo.now = ns;
        Ok(())
    }

    fn take_sent(&mut self) -> Vec<CapturedFrame> {
        std::mem::take(&mut self.0.lock().unwrap().sent)
    }
}

/// Every card starts an exchange of `hops` frames with every other.
fn talk(config: NetworkConfig, hops: u8, threads: usize) -> (Simulation, Vec<Handle>) {
    let cards: Vec<Handle> = (0..CARDS).map(|_| Handle::default()).collect();
    for (from, card) in cards.iter().enumerate() {
        for to in (0..CARDS).filter(|to| *to != from) {
            let mut frame = mac(to).to_be_bytes()[2..].to_vec();
            frame.extend(&mac(from).to_be_bytes()[2..]);
            frame.extend([0x88, 0xb5, hops, (from * CARDS + to) as u8]);
            frame.resize(60 + 100 * from, 0);
            card.0.lock().unwrap().answers.push_back((10 * to as u64, frame));
        }
    }
    let macs: Vec<u64> = (0..CARDS).map(mac).collect();
    let boxed = cards.iter().map(|card| Box::new(card.clone()) as Box<dyn TimedCard>).collect();
    (Simulation::new(Network::new(config, &macs), boxed, threads), cards)
}

/// Returns all frames that each card received, with their times.
fn run(config: &NetworkConfig, threads: usize) -> Vec<Vec<(u64, Vec<u8>)>> {
    let (mut simulation, cards) = talk(config.clone(), 20, threads);
    while simulation.step().unwrap() {}
    cards.iter().map(|card| card.0.lock().unwrap().seen.clone()).collect()
}

#[test]
fn frames_come_in_time_whatever_the_delay() {
    for delay in [0, 1, 7, 500, 100_000] {
        let config = NetworkConfig { delay: Time::from_ns(delay), ..NetworkConfig::default() };
        let seen = run(&config, 1);
        assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), CARDS * (CARDS - 1) * 21);
        // The first frame of card 1 to card 0 meets no other: it takes two links.
        let way = config.duration(160) + config.delay;
        assert_eq!(seen[0][0].0, (way + way).ns_rounded_up(), "delay {delay}");
        assert!(seen[0].windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}

#[test]
fn a_run_is_the_same_on_any_number_of_threads() {
    let faults = FaultConfig { loss: 0.01, duplicate: 0.02, reorder: 0.2, corrupt: 0.0 };
    for seed in 0..20 {
        let config = NetworkConfig { faults, seed, gbps: 10, ..NetworkConfig::default() };
        let expected = run(&config, 1);
        for threads in [2, 3, 4, 9] {
            assert!(run(&config, threads) == expected, "seed {seed}, {threads} threads");
        }
    }
}

#[test]
fn a_card_that_fails_is_named() {
    for threads in [1, 3] {
        let (mut simulation, cards) = talk(NetworkConfig::default(), 200, threads);
        cards[2].0.lock().unwrap().breaks = true;
        cards[3].0.lock().unwrap().breaks = true;
        let error = loop {
            if let Err(error) = simulation.step() {
                break error;
            }
        };
        assert_eq!(error.to_string(), "card 2: the card failed: it broke");
    }
}
