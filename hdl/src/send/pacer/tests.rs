//! Compares limited queue pairs with the reference, which is written from the paper's rules.

use super::*;
use crate::context::QUEUE_PAIR_TABLE;
use crate::context::testing::clear_tables;
use crate::testing;
use drdma_semantics::congestion::{self, LINE_RATE, Limiter};
use drdma_verilated::Library;
use drdma_verilated::testbench::{Bench, Random};

/// Payload of a packet in bytes, and its units.
const PAYLOAD: u32 = 4096;

/// Cycle in which the unit of time of `cycle` began: the first cycle of a test is a multiple of a unit.
fn unit_of(cycle: u64) -> u64 {
    cycle - cycle % congestion::PERIOD_UNIT
}

fn library() -> Library {
    testing::library("pacer", Pacer::default)
}

/// A queue pair that always has a packet to send, with the reference of its pace.
struct Sender {
    qp: u64,
    /// The queue pair waits for a `go`.
    waits: bool,
    units: u64,
    reference: Option<Limiter>,
    reference_units: u64,
    /// The reference's rate, and when it was raised last.
    rate: u32,
    raised_at: u64,
}

impl Sender {
    fn new(qp: u64) -> Self {
        Self {
            qp,
            waits: false,
            units: 0,
            reference: None,
            reference_units: 0,
            rate: 0,
            raised_at: 0,
        }
    }

    /// Periods are counted in units of 256 cycles since the reset.
    fn notified(&mut self, now: u64, settings: &congestion::Settings) {
        let now = unit_of(now);
        match &mut self.reference {
            Some(limiter) if !limiter.is_over() => {
                limiter.advance(now, settings);
                limiter.notified(now, settings);
            }
            none => *none = Some(Limiter::new(now, settings)),
        }
        self.rate = self.reference.map_or(0, |limiter| limiter.rate);
    }

    /// No raise of the rate was due just now, and none will be soon. Where one is, it may come before a CNP here and
    /// behind it there, and the rates are different ones from then on.
    fn is_settled(&self, now: u64, settings: &congestion::Settings) -> bool {
        let Some(limiter) = self.reference else { return true };
        let mut ahead = limiter;
        ahead.advance(unit_of(now) + 2 * congestion::PERIOD_UNIT, settings);
        (0..2).for_each(|_| ahead.sent(PAYLOAD, now, settings));
        let stays = (ahead.rate, ahead.target) == (limiter.rate, limiter.target);
        now >= self.raised_at + 2 * congestion::PERIOD_UNIT && (stays || limiter.is_over())
    }

    /// Sends in the reference for a cycle; packets count only while the queue pair is limited.
    fn step_reference(&mut self, now: u64, settings: &congestion::Settings) {
        let Some(limiter) = &mut self.reference else { return };
        limiter.advance(unit_of(now), settings);
        if limiter.ready_at() <= now && !limiter.is_over() {
            limiter.sent(PAYLOAD, now, settings);
            self.reference_units += u64::from(congestion::units(PAYLOAD));
        }
        if limiter.rate != self.rate {
            (self.rate, self.raised_at) = (limiter.rate, now);
        }
    }
}

struct Lab<'a> {
    bench: Bench<'a>,
    random: Random,
    settings: congestion::Settings,
    senders: Vec<Sender>,
    cycle: u64,
    /// Probability with which `go` is taken in a cycle.
    ready: f64,
    /// No queue pair has packets to send.
    quiet: bool,
}

impl<'a> Lab<'a> {
    fn new(library: &'a Library, settings: congestion::Settings, qps: &[u64], seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(1), seed);
        bench.limit(u64::MAX);
        clear_tables(&mut bench);
        for (port, value) in [
            ("alpha_period", settings.alpha_period / 256),
            ("alpha_shift", settings.alpha_shift.into()),
            ("rate_period", settings.rate_period / 256),
            ("rate_bytes", settings.rate_bytes.into()),
            ("stages", settings.stages.into()),
            ("add", settings.add.into()),
            ("hyper", settings.hyper.into()),
            ("min_rate", settings.min_rate.into()),
        ] {
            bench.model().set(format!("settings_{port}").as_str(), value);
        }
        let mut lab = Self {
            bench,
            random: Random::new(seed),
            settings,
            senders: qps.iter().map(|qp| Sender::new(*qp)).collect(),
            cycle: 0,
            ready: 1.0,
            quiet: false,
        };
        for qp in qps {
            lab.write(*qp, 1, 2 << 16);
        }
        lab
    }

    /// The host writes a word of a queue pair's entry.
    fn write(&mut self, qp: u64, word: u64, data: u64) {
        for (port, value) in [
            ("table", QUEUE_PAIR_TABLE),
            ("index", qp),
            ("word", word),
            ("data", data),
            ("valid", 1),
        ] {
            self.bench.model().set(format!("cfg_{port}").as_str(), value);
        }
        self.step(None);
        self.bench.model().set("cfg_valid", 0);
        for _ in 0..4 {
            self.step(None);
        }
    }

    /// Runs a cycle, in which sender `notified` gets a CNP. A sender that is limited and does not wait sends a packet.
    fn step(&mut self, notified: Option<usize>) {
        let model = self.bench.model();
        model.set("notified_valid", notified.is_some().into());
        model.set("notified_qp", notified.map_or(0x333, |at| self.senders[at].qp));
        model.set("packet_valid", 0);
        let turn = (self.cycle / 2) as usize % self.senders.len();
        model.set("limited_next", self.senders[turn].qp);
        if self.cycle % 2 == 1 {
            // The queue pair of the cycle before is the same one, and has been looked up.
            model.settle();
            let sender = &mut self.senders[turn];
            if model.get("limited") == 1 && !sender.waits && !self.quiet {
                model.set("packet_valid", 1);
                model.set("packet_qp", sender.qp);
                model.set("packet_units", congestion::units(PAYLOAD).into());
                sender.waits = true;
                sender.units += u64::from(congestion::units(PAYLOAD));
            }
        }
        let ready = self.random.chance(self.ready);
        model.set("go_ready", ready.into());
        model.settle();
        if ready && model.get("go_valid") == 1 {
            let qp = model.get("go_qp");
            let sender = self.senders.iter_mut().find(|sender| sender.qp == qp).expect("a sender");
            assert!(sender.waits, "{qp} was told twice");
            sender.waits = false;
        }
        model.tick();
        let now = self.cycle;
        for (at, sender) in self.senders.iter_mut().enumerate() {
            if notified == Some(at) {
                sender.notified(now, &self.settings);
            }
            sender.step_reference(now, &self.settings);
        }
        self.cycle += 1;
    }

    fn run(&mut self, cycles: u64, chance: f64) {
        for _ in 0..cycles {
            let at = self.random.below(self.senders.len() as u64) as usize;
            let notified = self.random.chance(chance)
                && self.senders[at].is_settled(self.cycle, &self.settings);
            self.step(notified.then_some(at));
        }
    }

    /// What was sent is what the reference has sent, but for a few packets: an event may come before a period's end
    /// here, and behind it there.
    fn check(&self) {
        for Sender { qp, units, reference_units, reference, .. } in &self.senders {
            let off = units.abs_diff(*reference_units);
            let allowed = 3 * u64::from(congestion::units(PAYLOAD)) + reference_units / 50;
            assert!(
                off <= allowed,
                "cycle {}: queue pair {qp} has sent {units} units, not {reference_units} ({reference:?})",
                self.cycle
            );
        }
    }
}

fn settings() -> congestion::Settings {
    congestion::Settings {
        rate_bytes: 4000,
        stages: 5,
        add: 300,
        hyper: 2000,
        ..Default::default()
    }
}

/// Four of them may be near the link's rate, which is four times what the link carries: more packets than that are not
/// paced in time.
#[test]
fn queue_pairs_have_the_rates_of_the_reference() {
    let library = library();
    for (seed, qps) in (1..).zip([&[7_u64][..], &[0, 4095], &[1, 500, 4000, 9]]) {
        for (ready, chance) in [(1.0, 1e-4), (0.3, 4e-4)] {
            let stages = if ready < 1.0 { 1 } else { 5 };
            let settings = congestion::Settings { stages, ..settings() };
            let mut lab = Lab::new(&library, settings, qps, seed);
            lab.ready = ready;
            for _ in 0..15 {
                lab.run(20_000, chance);
                lab.check();
            }
            let limited = lab.senders.iter().filter(|sender| sender.units > 3000).count();
            assert!(2 * limited >= qps.len(), "{limited} were limited");
        }
    }
}

#[test]
fn without_cnps_a_rate_goes_back_to_that_of_the_link_and_nothing_is_limited() {
    let library = library();
    let quick = congestion::Settings { rate_period: 512, add: 2000, hyper: 9000, ..settings() };
    let mut lab = Lab::new(&library, quick, &[5, 6], 1);
    for _ in 0..4 {
        lab.step(Some(0));
        lab.run(2000, 0.0);
    }
    lab.run(200_000, 0.0);
    lab.check();
    let limiter = lab.senders[0].reference.expect("it was limited");
    assert_eq!(limiter.rate, LINE_RATE);
    let before = lab.senders[0].units;
    lab.run(5_000, 0.0);
    assert_eq!((lab.senders[0].units, lab.senders[1].units), (before, 0));
    assert!(!lab.senders[0].waits, "the last one was told");
}

#[test]
fn cnps_count_only_where_packets_may_be_marked_and_end_with_the_state() {
    let library = library();
    let mut lab = Lab::new(&library, settings(), &[5, 6], 1);
    for ecn in [0, 3] {
        lab.write(5, 1, ecn << 16);
        lab.step(Some(0));
        lab.run(500, 0.0);
        assert_eq!(lab.senders[0].units, 0, "ECN {ecn}");
    }
    lab.write(5, 1, 1 << 16);
    lab.step(Some(0));
    lab.run(500, 0.0);
    let units = lab.senders[0].units;
    assert!(units > 0);
    // The host makes the queue pair ready anew.
    lab.write(5, 15, 1);
    lab.run(500, 0.0);
    let after = lab.senders[0].units;
    lab.run(5_000, 0.0);
    assert_eq!(lab.senders[0].units, after);
    assert!(!lab.senders[0].waits, "a packet that was told of has its go");
}

/// A sender whose rate has fallen to the least, 2 Gb/s, and stays there.
fn at_the_least(library: &Library) -> Lab<'_> {
    let least = congestion::Settings { min_rate: 2000, rate_period: 1 << 23, ..settings() };
    let mut lab = Lab::new(library, least, &[77], 1);
    for _ in 0..12 {
        lab.step(Some(0));
        lab.run(100, 0.0);
    }
    lab.run(20_000, 0.0);
    lab
}

#[test]
fn no_rate_is_below_the_least() {
    let library = library();
    let mut lab = at_the_least(&library);
    let before = lab.senders[0].units;
    lab.run(400_000, 0.0);
    // 2 Gb/s are 64 B in 64 cycles.
    let units = lab.senders[0].units - before;
    assert!(units.abs_diff(400_000 / 64) <= 70, "{units} units");
}

/// A queue pair that was quiet for long sends at once as much as 4,096 cycles carry, and no more.
#[test]
fn a_quiet_queue_pair_does_not_save_its_rate_up() {
    let library = library();
    let mut lab = at_the_least(&library);
    for quiet in [3_000, 100_000, 20_000] {
        lab.quiet = true;
        lab.run(quiet, 0.0);
        lab.quiet = false;
        let before = lab.senders[0].units;
        lab.run(100_000, 0.0);
        // A packet that was sent before takes its time in the quiet, and the last one is not over.
        let units = lab.senders[0].units - before;
        let saved = quiet.min(4_096);
        let [least, most] = [100_000, 100_000 + saved].map(|cycles| cycles / 64);
        assert!((least - 140..=most + 140).contains(&units), "{quiet}: {units} units");
    }
}
