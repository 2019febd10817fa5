//! A host that reads and writes BAR2, against a plain account of every register.

use super::Control;
use crate::context::EVERY_TABLE;
use crate::context::testing::{Flagged, answer_flag};
use crate::testing;
use drdma_abi::described::{APPEND_DOORBELLS, APPEND_REGIONS, KEY_REGIONS};
use drdma_abi::receive::{
    FEATURES, QUEUE_PAIR_ATTRIBUTES, RECEIVE_DOORBELLS, RECEIVE_QUEUES, features,
};
use drdma_abi::register::*;
use drdma_abi::{ABI_HASH, Layout};
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, MonitorId, Random};
use std::cell::RefCell;
use std::rc::Rc;

mod doorbells;
mod tables;

/// A word on the broadcast: table, entry, word, data, and its cycle.
type Word = (u64, u64, u64, u64, u64);

struct Host<'a> {
    bench: Bench<'a>,
    doorbell: MonitorId,
    receive_doorbell: MonitorId,
    words: Rc<RefCell<Vec<Word>>>,
    /// Queue pairs in error and halted queues, as the host reads of them.
    errors: Flagged,
    halted: Flagged,
    /// Enabled queues, and halted ones, as doorbells are judged by them.
    bell_enabled: Flagged,
    bell_halted: Flagged,
    /// Probability of a pause on each of the AXI channels.
    pause: f64,
}

impl Host<'_> {
    /// A card after reset, with its tables cleared.
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(1_000_000);
        let doorbell = bench.monitor("doorbell");
        let receive_doorbell = bench.monitor("receive_doorbell");
        let words = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&words);
        bench.observe(move |model, cycle| {
            if model.get("cfg_valid") == 1 {
                let [table, index, word, data] =
                    ["table", "index", "word", "data"].map(|name| model.get(format!("cfg_{name}")));
                seen.borrow_mut().push((table, index, word, data, cycle));
            }
        });
        let errors = answer_flag(&mut bench, "error_next", "error");
        let halted = answer_flag(&mut bench, "halted_next", "halted");
        let bell_enabled = answer_flag(&mut bench, "bell_next", "bell_enabled");
        let bell_halted = answer_flag(&mut bench, "bell_next", "bell_halted");
        let pause = 0.0;
        Self {
            bench,
            doorbell,
            receive_doorbell,
            words,
            errors,
            halted,
            bell_enabled,
            bell_halted,
            pause,
        }
    }

    fn settled(&mut self, port: &str) -> bool {
        self.bench.model().settle();
        self.bench.get(port) == 1
    }

    fn write(&mut self, offset: u32, data: u32) -> u64 {
        self.write_bytes(offset, data, 0xf)
    }

    /// Writes and returns the cycles from the first to the response.
    fn write_bytes(&mut self, offset: u32, data: u32, strobe: u32) -> u64 {
        let start = self.bench.cycles();
        let (mut left, mut offer) = ([true; 3], [false; 3]);
        while left.contains(&true) {
            let pause = self.pause;
            // Valid, once up, stays.
            for k in 0..3 {
                offer[k] = left[k] && (offer[k] || !self.bench.random().chance(pause));
            }
            self.bench.set("axil_awvalid", offer[0]);
            self.bench.set("axil_awaddr", offset);
            self.bench.set("axil_wvalid", offer[1]);
            self.bench.set("axil_wdata", data);
            self.bench.set("axil_wstrb", strobe);
            self.bench.set("axil_bready", offer[2]);
            let taken = [
                offer[0] && self.settled("axil_awready"),
                offer[1] && self.settled("axil_wready"),
                offer[2] && self.settled("axil_bvalid"),
            ];
            self.bench.step();
            for (left, taken) in left.iter_mut().zip(taken) {
                *left &= !taken;
            }
        }
        for port in ["axil_awvalid", "axil_wvalid", "axil_bready"] {
            self.bench.set(port, 0);
        }
        self.bench.cycles() - start
    }

    fn read_timed(&mut self, offset: u32) -> (u32, u64) {
        let start = self.bench.cycles();
        self.bench.set("axil_araddr", offset);
        self.bench.set("axil_arvalid", 1);
        while !self.settled("axil_arready") {
            self.bench.step();
        }
        self.bench.step();
        self.bench.set("axil_arvalid", 0);
        while !self.settled("axil_rvalid") {
            self.bench.step();
        }
        let data = self.bench.get("axil_rdata") as u32;
        while {
            let pause = self.pause;
            self.bench.random().chance(pause)
        } {
            self.bench.step();
            assert_eq!(self.bench.get("axil_rdata") as u32, data);
        }
        self.bench.set("axil_rready", 1);
        self.bench.step();
        self.bench.set("axil_rready", 0);
        (data, self.bench.cycles() - start)
    }

    fn read(&mut self, offset: u32) -> u32 {
        self.read_timed(offset).0
    }

    fn doorbells(&mut self) -> Vec<(u64, u64)> {
        self.rung(self.doorbell)
    }

    fn rung(&mut self, doorbells: MonitorId) -> Vec<(u64, u64)> {
        let beats = self.bench.take(doorbells);
        beats.iter().map(|beat| (beat.u64("queue"), beat.u64("position"))).collect()
    }

    /// Waits until the tables are cleared.
    fn ready(&mut self) {
        while self.read(CONTROL.offset) & 2 != 0 {}
    }
}

fn library() -> Library {
    testing::library("control", Control::default)
}

fn reset_value(register: &Register) -> u32 {
    match register.name {
        "ABI_HASH_LOW" => ABI_HASH as u32,
        "ABI_HASH_HIGH" => (ABI_HASH >> 32) as u32,
        _ => register.reset,
    }
}

/// Mask of the bits of a register that keep what is written.
fn kept(register: &Register) -> u32 {
    match (register.access, register.name) {
        (Access::ReadOnly | Access::WriteOnly, _) => 0,
        (_, "CONTROL") => 1,
        (_, "MAX_READ" | "MERGE_THRESHOLD") => 0x1fff,
        (_, "MAC_HIGH") => 0xffff,
        (_, "READ_BALANCE") => 0x1ff,
        _ if (CNP_INTERVAL.offset..=MIN_RATE.offset).contains(&register.offset) => 0x3_ffff,
        _ => u32::MAX,
    }
}

/// Value that `ASSEMBLER_WORDS` has after a write of `data`.
fn words_held(data: u32) -> u32 {
    if (1..=16).contains(&data) { data } else { 16 }
}

#[test]
fn registers_hold_what_is_written_and_nothing_else() {
    let mut host = Host::new(&library(), 1);
    host.ready();
    host.pause = 0.5;
    let mut values: Vec<_> = REGISTERS.iter().map(reset_value).collect();
    let mut random = Random::new(1);
    for round in 0..400 {
        let at = random.below(REGISTERS.len() as u64) as usize;
        let register = &REGISTERS[at];
        let mut data = random.u64() as u32;
        match register.name {
            "CONTROL" => data &= !2,
            // Values within the register's limits, and just outside of them.
            "ASSEMBLER_WORDS" if random.chance(0.9) => data %= 20,
            _ => {}
        }
        match round % 4 {
            0 => {
                host.write(register.offset, data);
                let kept = kept(register);
                values[at] = match register.name {
                    "ASSEMBLER_WORDS" => words_held(data),
                    _ => (values[at] & !kept) | (data & kept),
                };
            }
            // Parts of words, unaligned words and places without a register are ignored.
            1 if random.chance(0.5) => {
                host.write_bytes(register.offset, data, random.below(15) as u32);
            }
            1 => {
                host.write(register.offset + 1 + random.below(3) as u32, data);
            }
            2 => {
                let other = [0x068, 0x800, 0x01_0014, 0x08_001c, 0x50_4000, 0xf0_0014];
                host.write(other[random.below(6) as usize], data);
            }
            _ => {}
        }
        for (register, value) in REGISTERS.iter().zip(&values) {
            assert_eq!(host.read(register.offset), *value, "{} in {round}", register.name);
        }
    }
    let at = |register: &Register| {
        values[REGISTERS.iter().position(|other| other == register).expect("it is one")] as u64
    };
    let ports = [
        ("enable", at(&CONTROL)),
        ("max_read", at(&MAX_READ)),
        ("merge_threshold", at(&MERGE_THRESHOLD)),
        ("read_balance", at(&READ_BALANCE)),
        ("column_min_rows", at(&COLUMN_MIN_ROWS)),
        ("assembler_words", at(&ASSEMBLER_WORDS)),
        ("mac", at(&MAC_LOW) | at(&MAC_HIGH) << 32),
        ("ip", at(&IP)),
        ("ack_timeout", at(&ACK_TIMEOUT)),
    ];
    for (port, value) in ports {
        assert_eq!(host.bench.get(port), value, "{port}");
    }
    congestion_settings_are(&host, |register| at(register) as u32);
    assert_eq!(host.words.borrow().len(), 4096);
    for offset in [0x068, 0x180, 0x01_0000, 0x10_0000, 0x23_0000, 0x30_0000, 0x50_0000, 0xff_fffc] {
        assert_eq!(host.read(offset), 0, "{offset:#x}");
    }
}

/// Compares the settings of congestion control with what the registers hold: what is too small counts as the least, and
/// the bits of each field alone.
fn congestion_settings_are(host: &Host, held: impl Fn(&Register) -> u32) {
    let settings = drdma_semantics::congestion::Settings::new(held);
    let unit = drdma_semantics::congestion::PERIOD_UNIT;
    for (port, value) in [
        ("cnp_interval", settings.cnp_interval),
        ("alpha_period", settings.alpha_period / unit),
        ("alpha_shift", settings.alpha_shift.into()),
        ("rate_period", settings.rate_period / unit),
        ("rate_bytes", settings.rate_bytes.into()),
        ("stages", settings.stages.into()),
        ("add", settings.add.into()),
        ("hyper", settings.hyper.into()),
        ("min_rate", settings.min_rate.into()),
    ] {
        assert_eq!(host.bench.get(format!("congestion_{port}").as_str()), value, "{port}");
    }
}

#[test]
fn settings_of_congestion_control_that_are_too_small_count_as_the_least() {
    let mut host = Host::new(&library(), 1);
    host.ready();
    let registers = CNP_INTERVAL.offset..=MIN_RATE.offset;
    for value in [0, 1, 63, 64] {
        for register in REGISTERS.iter().filter(|other| registers.contains(&other.offset)) {
            host.write(register.offset, value);
        }
        congestion_settings_are(&host, |_| value);
    }
}

#[test]
fn states_of_queue_pairs_and_queues_can_be_read() {
    let mut host = Host::new(&library(), 1);
    host.ready();
    host.pause = 0.3;
    let mut random = Random::new(3);
    for _ in 0..300 {
        let entry = [0, 1, 255, 256, 4094, 4095][random.below(6) as usize];
        let (error, halted) = (random.chance(0.5), random.chance(0.5));
        for (flagged, set) in [(&host.errors, error), (&host.halted, halted)] {
            flagged.borrow_mut().clear();
            if set {
                flagged.borrow_mut().insert(entry);
            }
        }
        assert_eq!(host.read(QUEUE_PAIR_ERRORS.entry(entry as u32)) == 1, error);
        assert_eq!(host.read(SEND_QUEUE_ERRORS.entry(entry as u32)) == 1, halted);
        // The states do not disturb what is read next to them.
        assert_eq!(host.read(TYPE.offset), TYPE_ID);
        assert_eq!(host.read(QUEUE_PAIRS.entry(entry as u32)), 0);
    }
}

#[test]
fn counters_add_what_blocks_report_every_cycle() {
    let mut host = Host::new(&library(), 1);
    host.ready();
    let sums = Rc::new(RefCell::new([0_u64; COUNTERS.len()]));
    let adding = Rc::clone(&sums);
    let mut random = Random::new(4);
    let counting = Rc::new(RefCell::new(false));
    let on = Rc::clone(&counting);
    host.bench.before(move |model, _| {
        for k in 1..COUNTERS.len() {
            let most = [1, 16, 65_536][k % 3];
            let amount = if *on.borrow() { random.below(most + 1).min(0xffff) } else { 0 };
            model.set(format!("count_{k}"), amount);
            adding.borrow_mut()[k] += amount;
        }
    });
    *counting.borrow_mut() = true;
    host.bench.run(70_000);
    *counting.borrow_mut() = false;
    host.bench.run(3);
    for (k, counter) in COUNTERS.iter().enumerate().skip(1) {
        let low = u64::from(host.read(counter.offset));
        let high = u64::from(host.read(counter.offset + 4));
        assert_eq!(low | high << 32, sums.borrow()[k], "{}", counter.name);
    }
    assert!(sums.borrow().iter().any(|&sum| sum > 1 << 31));
    let before = host.read(counter::CYCLES.offset);
    host.bench.run(1000);
    let after = host.read(counter::CYCLES.offset);
    assert_eq!(after - before, 1004);
    host.write(COUNTER_CLEAR.offset, 0);
    for counter in &COUNTERS[1..] {
        assert_eq!(host.read(counter.offset), 0, "{}", counter.name);
        assert_eq!(host.read(counter.offset + 4), 0, "{}", counter.name);
    }
    assert!(host.read(counter::CYCLES.offset) < 300);
}

#[test]
fn a_write_takes_5_cycles_and_a_read_4() {
    let mut host = Host::new(&library(), 1);
    host.ready();
    assert_eq!(host.write(IP.offset, 7), 5);
    assert_eq!(host.read_timed(IP.offset), (7, 4));
    host.bench.set("busy", 1);
    assert_eq!(host.read(STATUS.offset), 1);
}
