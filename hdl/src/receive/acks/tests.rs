//! Acknowledgements that leave against those that entered: none is lost but what a later one covers.

use std::collections::{HashMap, VecDeque};

use super::*;
use crate::context::QUEUE_PAIR_TABLE;
use crate::context::testing::clear_tables;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Bench, Random};

/// Queue pair, sequence number, syndrome.
type Told = (u64, u64, u64);

const ACK: u64 = 0x1f;
const NAK: u64 = 0x60;
/// Cycles from an acknowledgement to the output.
const LATENCY: u64 = 5;

fn library() -> Library {
    testing::library("acks", Acks::default)
}

/// The block, a wire that brings acknowledgements, and a sending side that takes them.
struct Lab<'a> {
    bench: Bench<'a>,
    random: Random,
    /// Probability with which the other side does not take in a cycle.
    stall: f64,
    cycle: u64,
    /// Acknowledgements that have left, with their cycles.
    out: Vec<(Told, u64)>,
    offered: Option<Told>,
}

impl Lab<'_> {
    fn new(library: &Library, seed: u64, stall: f64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        clear_tables(&mut bench);
        let (random, out) = (Random::new(seed), Vec::new());
        Self { bench, random, stall, cycle: 0, out, offered: None }
    }

    fn step(&mut self, come: Option<Told>) {
        let ready = !self.random.chance(self.stall);
        let (qp, psn, syndrome) = come.unwrap_or((7, 7, 7));
        let model = self.bench.model();
        model.set("come_valid", u64::from(come.is_some()));
        model.set("come_qp", qp);
        model.set("come_psn", psn);
        model.set("come_syndrome", syndrome);
        model.set("ack_ready", u64::from(ready));
        model.settle();
        let told = ["ack_qp", "ack_psn", "ack_syndrome"].map(|port| model.get(port));
        let told = (model.get("ack_valid") == 1).then(|| (told[0], told[1], told[2]));
        if self.offered.is_some() {
            assert_eq!(told, self.offered, "what was offered stays until it is taken");
        }
        self.offered = told.filter(|_| !ready);
        self.out.extend(told.filter(|_| ready).map(|told| (told, self.cycle)));
        model.tick();
        self.cycle += 1;
    }

    fn roomy(&self) -> bool {
        self.bench.get("roomy") == 1
    }

    fn run(&mut self, cycles: usize) {
        (0..cycles).for_each(|_| self.step(None));
    }

    /// The host writes a word of a queue pair's entry.
    fn write(&mut self, qp: u64) {
        self.bench.set("cfg_valid", 1_u64);
        self.bench.set("cfg_table", QUEUE_PAIR_TABLE);
        self.bench.set("cfg_index", qp);
        self.step(None);
        self.bench.set("cfg_valid", 0_u64);
        self.step(None);
    }

    fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.out).into_iter().map(|out| out.0).collect()
    }
}

/// Number of packets by which `psn` is ahead of `of`.
fn ahead(psn: u64, of: u64) -> u64 {
    psn.wrapping_sub(of) & 0xff_ffff
}

/// True if an ACK acknowledges all that another one does.
fn covers(one: Told, other: Told) -> bool {
    one.2 < 0x20 && other.2 < 0x20 && ahead(one.1, other.1) < 1 << 23
}

/// Checks that the responses of each queue pair leave in order, and that each ACK that does not leave is covered by
/// a neighbour that does. Returns how many did not leave.
fn check(came: &[Told], told: &[Told]) -> usize {
    let mut of_pair: HashMap<u64, VecDeque<Told>> = HashMap::new();
    came.iter().for_each(|one| of_pair.entry(one.0).or_default().push_back(*one));
    let mut last: HashMap<u64, Told> = HashMap::new();
    let mut covered = 0;
    for one in told {
        let came = of_pair.get_mut(&one.0).expect("it came");
        loop {
            let first = came.pop_front().unwrap_or_else(|| panic!("{one:?} did not come"));
            if first == *one {
                break;
            }
            let before = last.get(&one.0).is_some_and(|last| covers(*last, first));
            assert!(before || covers(*one, first), "{one:?} does not cover {first:?}");
            covered += 1;
        }
        last.insert(one.0, *one);
    }
    for (qp, rest) in of_pair {
        assert!(rest.iter().all(|one| covers(last[&qp], *one)), "not told: {rest:?}");
        covered += rest.len();
    }
    covered
}

#[test]
fn every_acknowledgement_is_told_or_covered() {
    let library = library();
    let mut covered = 0;
    for (seed, stall) in (1..).zip([0.0, 0.5, 0.9, 0.98]) {
        let mut lab = Lab::new(&library, seed, stall);
        let mut random = Random::new(seed);
        let pairs = [2, 6, 40][seed as usize % 3];
        let (mut psns, mut came) = (HashMap::new(), Vec::new());
        let mut at = 0;
        while at < 6_000 {
            if !lab.roomy() || random.chance([0.0, 0.6][at / 500 % 2]) {
                lab.step(None);
                continue;
            }
            let qp = random.below(pairs) * 101;
            let psn = psns.entry(qp).or_insert(0xff_ff00);
            *psn = (*psn + 1 + random.below(3)) & 0xff_ffff;
            // Sometimes an old one, which the network has held back.
            let told = if random.chance(0.1) { psn.wrapping_sub(2) & 0xff_ffff } else { *psn };
            let syndrome = if random.chance(0.03) { NAK + random.below(3) } else { ACK };
            let one = (qp, told, syndrome);
            came.push(one);
            lab.step(Some(one));
            at += 1;
        }
        lab.stall = 0.0;
        lab.run(5_000);
        let told = lab.told();
        covered += check(&came, &told);
    }
    assert!(covered > 5_000, "{covered} were covered by others");
}

#[test]
fn one_a_cycle_goes_in_whatever_comes_out() {
    let library = library();
    let mut lab = Lab::new(&library, 1, 1.0);
    for k in 0..20_000 {
        assert!(lab.roomy(), "after {k}");
        lab.step(Some((k % 4096, k, ACK)));
    }
    lab.stall = 0.0;
    lab.run(12_500);
    let told = lab.told();
    let came: Vec<_> = (0..20_000).map(|k| (k % 4096, k, ACK)).collect();
    check(&came, &told);
    // Acknowledgements that were on their way to the output when the next ones came.
    assert!(told.len() <= 4096 + 4, "{}", told.len());
}

#[test]
fn the_first_one_comes_out_after_five_cycles() {
    let library = library();
    let mut lab = Lab::new(&library, 1, 0.0);
    lab.run(20);
    let start = lab.cycle;
    lab.step(Some((3, 9, ACK)));
    lab.run(20);
    assert_eq!(lab.out, [((3, 9, ACK), start + LATENCY)]);
}

#[test]
fn a_nak_waits_for_what_is_before_it_and_is_never_covered() {
    let library = library();
    let mut lab = Lab::new(&library, 1, 1.0);
    let came = [(5, 10, ACK), (6, 1, ACK), (5, 11, NAK), (5, 12, ACK), (6, 2, NAK), (5, 13, ACK)];
    came.iter().for_each(|one| lab.step(Some(*one)));
    lab.run(50);
    lab.stall = 0.0;
    lab.run(100);
    let told = lab.told();
    let of = |qp| move |one: &&Told| one.0 == qp;
    let five: Vec<_> = told.iter().filter(of(5)).collect();
    assert_eq!(five[..2], [&(5, 10, ACK), &(5, 11, NAK)]);
    assert_eq!(*five.last().unwrap(), &(5, 13, ACK));
    let six: Vec<_> = told.iter().filter(of(6)).collect();
    assert_eq!(six, [&(6, 1, ACK), &(6, 2, NAK)]);
}

#[test]
fn what_waits_for_a_context_that_is_gone_is_dropped() {
    let library = library();
    let mut lab = Lab::new(&library, 1, 1.0);
    // The first ones fill the output.
    let came = [(1, 1, ACK), (2, 1, ACK), (3, 1, ACK), (4, 1, ACK), (5, 1, ACK)];
    came.iter().for_each(|one| lab.step(Some(*one)));
    lab.run(50);
    lab.write(4);
    lab.run(5);
    // The acknowledgement is of the new context.
    lab.write(5);
    lab.step(Some((5, 0x80_0000, ACK)));
    lab.run(20);
    lab.stall = 0.0;
    lab.run(50);
    let told = lab.told();
    assert_eq!(told, [(1, 1, ACK), (2, 1, ACK), (3, 1, ACK), (5, 0x80_0000, ACK)]);
    // Acknowledgements from before a reset are ignored.
    lab.stall = 1.0;
    came.iter().for_each(|one| lab.step(Some(*one)));
    lab.step(None);
    lab.bench.reset();
    lab.offered = None;
    clear_tables(&mut lab.bench);
    lab.stall = 0.0;
    lab.run(20);
    came.iter().for_each(|one| lab.step(Some(*one)));
    lab.run(30);
    assert_eq!(lab.told(), came);
}
