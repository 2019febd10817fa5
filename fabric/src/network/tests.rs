use std::sync::{Arc, Mutex};

use super::*;
use crate::FaultConfig;

const MACS: [u64; 3] = [0x0200_0000_0001, 0x0200_0000_0002, 0x0200_0000_0003];
const END: Time = Time::MAX;

/// A frame of `len` bytes to a card, with a number of its own.
fn frame(to: usize, number: u32, len: usize) -> Vec<u8> {
    let mut frame = MACS[to].to_be_bytes()[2..].to_vec();
    frame.extend([2, 0, 0, 0, 0, 9, 0x88, 0xb5]);
    frame.extend(number.to_be_bytes());
    frame.resize(len, 0);
    frame
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14..18].try_into().unwrap())
}

fn arrived(network: &mut Network, port: usize) -> Vec<(Time, Vec<u8>)> {
    std::iter::from_fn(|| network.take_arrived(Port(port), END)).collect()
}

fn faulty(faults: FaultConfig, seed: u64) -> Network {
    let queue = u64::MAX / 2;
    Network::new(NetworkConfig { faults, seed, queue, ..NetworkConfig::default() }, &MACS)
}

/// Returns the frames that arrive at card 1 of `frames` that card 0 sends at once.
fn burst(network: &mut Network, frames: u32) -> Vec<(Time, Vec<u8>)> {
    (0..frames).for_each(|i| network.send(Port(0), Time::ZERO, frame(1, i, 100)));
    network.advance(END);
    arrived(network, 1)
}

#[test]
fn a_frame_takes_the_time_of_its_bits_and_the_delay_twice() {
    let config = NetworkConfig { gbps: 10, delay: Time::from_ns(300), ..NetworkConfig::default() };
    let mut network = Network::new(config, &MACS);
    network.send(Port(0), Time::from_ns(1000), frame(1, 7, 976));
    // The link is occupied for 800 ns.
    network.send(Port(0), Time::from_ns(1100), frame(1, 8, 976));
    network.advance(END);
    let times: Vec<_> = arrived(&mut network, 1).iter().map(|(at, _)| at.ns()).collect();
    assert_eq!(times, [1000 + 2 * (800 + 300), 1800 + 2 * (800 + 300)]);
    assert_eq!(network.config().lookahead(), Time::from_ps(2 * (67_200 + 300_000)));
}

#[test]
fn nothing_arrives_sooner_than_the_lookahead() {
    let mut network = Network::new(NetworkConfig::default(), &MACS);
    network.send(Port(2), Time::ZERO, frame(0, 1, 20));
    network.advance(END);
    assert_eq!(arrived(&mut network, 0)[0].0, network.config().lookahead());
}

#[test]
fn two_senders_share_an_output_and_a_full_queue_drops() {
    let config = NetworkConfig { queue: 4096, ..NetworkConfig::default() };
    let mut network = Network::new(config, &MACS);
    for i in 0..100 {
        network.send(Port(0), Time::ZERO, frame(2, i, 1024));
        network.send(Port(1), Time::ZERO, frame(2, 1000 + i, 1024));
    }
    network.advance(END);
    let counters = network.counters(Port(2));
    assert_eq!(counters.longest_queue, 4096);
    assert!(counters.dropped > 80, "half of twice the rate is too much: {}", counters.dropped);
    assert_eq!(counters.frames + counters.dropped, 200);
    let arrived = arrived(&mut network, 2);
    assert_eq!(arrived.len() as u64, counters.frames);
    let least = network.config().duration(1024);
    assert!(arrived.windows(2).all(|pair| pair[1].0 - pair[0].0 >= least), "faster than the link");
}

#[test]
fn what_is_for_nobody_goes_nowhere() {
    let mut network = Network::new(NetworkConfig::default(), &MACS);
    let mut stray = frame(1, 1, 100);
    stray[5] = 77;
    network.send(Port(0), Time::ZERO, stray);
    network.send(Port(0), Time::ZERO, vec![1, 2, 3]);
    network.advance(END);
    assert_eq!(network.counters(Port(0)).unknown, 2);
    assert_eq!(network.next_event(), None);
}

#[test]
fn each_fault_comes_as_often_as_it_should() {
    const FRAMES: u32 = 20_000;
    let near = |count: u64, probability: f64| {
        let mean = f64::from(FRAMES) * probability;
        // Five standard deviations.
        let off = 5.0 * (mean * (1.0 - probability)).sqrt();
        (count as f64 - mean).abs() < off
    };
    let faults = FaultConfig { loss: 0.01, duplicate: 0.05, reorder: 0.1, corrupt: 0.02 };
    let mut network = faulty(faults, 3);
    let arrived = burst(&mut network, FRAMES);
    let counters = network.counters(Port(0));
    assert!(near(counters.lost, 0.01), "{counters:?}");
    assert!(near(counters.duplicated, 0.05 * 0.99), "{counters:?}");
    assert!(near(counters.reordered, 0.1 * 0.99), "{counters:?}");
    assert!(near(counters.corrupted, 0.02 * 0.99), "{counters:?}");
    let expected = u64::from(FRAMES) - counters.lost + counters.duplicated;
    assert_eq!(arrived.len() as u64, expected);
}

#[test]
fn a_damaged_frame_differs_in_one_bit() {
    let faults = FaultConfig { corrupt: 1.0, ..FaultConfig::default() };
    let mut network = faulty(faults, 4);
    let mut places = std::collections::HashSet::new();
    for (i, (_, found)) in burst(&mut network, 2000).iter().enumerate() {
        let right = frame(1, i as u32, 100);
        let differing: Vec<_> = (0..800)
            .filter(|bit| (found[bit / 8] ^ right[bit / 8]) >> (bit % 8) & 1 == 1)
            .collect();
        assert_eq!(differing.len(), 1);
        places.extend(differing);
    }
    assert!(places.len() > 600, "bits are flipped everywhere: {}", places.len());
}

#[test]
fn up_to_eight_frames_overtake_one_and_none_is_kept_for_ever() {
    let mut network = faulty(FaultConfig { reorder: 0.1, ..FaultConfig::default() }, 5);
    let found: Vec<_> = burst(&mut network, 5000).iter().map(|(_, frame)| number(frame)).collect();
    let mut overtaken = std::collections::HashSet::new();
    for (place, number) in found.iter().enumerate() {
        let earlier = found[..place].iter().filter(|other| *other > number).count();
        assert!(earlier <= 8, "{number} was overtaken by {earlier}");
        overtaken.insert(earlier);
    }
    assert_eq!(overtaken.len(), 9, "from none to eight: {overtaken:?}");
    let mut sorted = found;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..5000).collect::<Vec<_>>());

    // Without others, a frame is released after a while.
    let mut network = faulty(FaultConfig { reorder: 1.0, ..FaultConfig::default() }, 5);
    let alone = burst(&mut network, 1);
    let longest = network.config().duration(LONG_FRAME).ps() * MAX_OVERTAKING;
    let undisturbed = network.config().duration(100) + network.config().delay;
    assert_eq!(alone[0].0, undisturbed + undisturbed + Time::from_ps(longest));
}

/// Everything at once, from two senders.
fn everything(seed: u64, cuts: u64, swap: bool) -> (Vec<(Time, Vec<u8>)>, PortCounters) {
    let faults = FaultConfig { loss: 0.1, duplicate: 0.1, reorder: 0.2, corrupt: 0.1 };
    let mut network = faulty(faults, seed);
    for i in 0..300u64 {
        let to = Time::from_ns((i + 1) * 50);
        let ports = if swap { [1, 0] } else { [0, 1] };
        for port in ports {
            let at = Time::from_ns(i * 50);
            network.send(Port(port), at, frame(2, (port * 1000) as u32 + i as u32, 200));
        }
        if i % cuts == 0 {
            network.advance(to);
        }
    }
    network.advance(END);
    (arrived(&mut network, 2), network.counters(Port(0)))
}

#[test]
fn the_same_seed_gives_the_same_run_however_it_is_cut() {
    let first = everything(9, 1, false);
    assert_eq!(first, everything(9, 1, true));
    assert_eq!(first, everything(9, 7, false));
    assert_eq!(first, everything(9, 1000, true));
    assert_ne!(first, everything(10, 1, false));
}

#[test]
fn one_probability_does_not_change_what_others_do() {
    let lost = |duplicate| {
        let faults = FaultConfig { loss: 0.1, duplicate, ..FaultConfig::default() };
        let mut network = faulty(faults, 11);
        let mut found: Vec<_> =
            burst(&mut network, 500).iter().map(|(_, frame)| number(frame)).collect();
        found.dedup();
        found
    };
    assert_eq!(lost(0.0), lost(0.5));
}

/// Frames, and their times.
type Frames = Vec<(Time, Vec<u8>)>;

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Frames>>);

impl Tap for Seen {
    fn frame(&mut self, at: Time, frame: &[u8]) {
        self.0.lock().unwrap().push((at, frame.to_vec()));
    }
}

#[test]
fn a_tap_sees_what_passes_the_switch_in_the_order_of_time() {
    let mut network = faulty(FaultConfig { loss: 0.5, ..FaultConfig::default() }, 12);
    let seen = Seen::default();
    network.set_tap(Box::new(seen.clone()));
    let arrived = burst(&mut network, 100);
    let seen = seen.0.lock().unwrap();
    assert!(!seen.is_empty() && seen.len() < 100);
    assert!(seen.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    let frames = |list: &[(Time, Vec<u8>)]| -> Vec<_> {
        list.iter().map(|(_, frame)| frame.clone()).collect()
    };
    assert_eq!(frames(&seen), frames(&arrived));
}

#[test]
fn a_frame_that_meets_a_long_queue_is_marked_if_its_sender_allows_it() {
    let config = NetworkConfig { ecn: 3000, ..NetworkConfig::default() };
    let mut network = Network::new(config, &MACS);
    for i in 0..20 {
        for port in [0, 1] {
            let capable = i % 2 == 0;
            let mut frame = roce_frame(if capable { 2 } else { 0 });
            frame.splice(0..6, MACS[2].to_be_bytes()[2..].iter().copied());
            network.send(Port(port), Time::ZERO, frame);
        }
    }
    network.advance(END);
    let arrived = arrived(&mut network, 2);
    let tos: Vec<_> = arrived.iter().map(|(_, frame)| frame[15]).collect();
    let marked = tos.iter().filter(|tos| **tos & 3 == 3).count() as u64;
    assert_eq!(marked, network.counters(Port(2)).marked);
    assert!(
        (1..=18).contains(&marked),
        "the first ones meet no queue, others allow no mark: {tos:?}"
    );
    assert_eq!(tos[0] & 3, 2);
    for (_, frame) in &arrived {
        drdma_semantics::frame::Frame::parse(frame).expect("checksum and invariant CRC are right");
    }
}

/// Makes a frame of a SEND of 1,000 B with these ECN bits.
fn roce_frame(ecn: u8) -> Vec<u8> {
    use drdma_abi::roce::{Bth, Transport};
    use drdma_semantics::packets::{Flow, assemble};
    let flow = Flow {
        source_mac: MACS[0],
        dest_mac: MACS[1],
        source_ip: 0x0a00_0001,
        dest_ip: 0x0a00_0002,
        tos: 0x60 | ecn,
        ttl: 64,
        vlan: None,
        qpn: 17,
        dest_qpn: 33,
        pkey: 0xffff,
        qkey: 0,
        transport: Transport::Rc,
        mtu: 1024,
    };
    let bth = Bth { opcode: 4, migration: 1, pkey: 0xffff, dest_qp: 33, ..Bth::default() };
    let Ok(frame) = assemble(&flow, bth, &[], 1000, |out| {
        out.fill(0x5a);
        Ok::<(), std::convert::Infallible>(())
    });
    frame
}
