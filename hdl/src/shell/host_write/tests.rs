//! Against a DMA write engine that reads segments on their own and answers in any order.

use super::HostWrite;
use crate::testing;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use drdma_verilated::{Library, Model, Word};
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

struct Write {
    addr: u64,
    tag: u64,
    row: u64,
    segment: usize,
}

/// The engine: descriptors wait for their read of the RAM; what was read is in host memory, in the
/// order of the descriptors; statuses wait.
struct Engine {
    random: Random,
    stall: f64,
    queued: [VecDeque<Write>; 2],
    reading: [VecDeque<Write>; 2],
    statuses: Vec<u64>,
    in_flight: BTreeSet<u64>,
    most_in_flight: usize,
    /// Addresses in the order of the descriptors.
    order: Vec<u64>,
    /// Address and bytes, as read.
    written: Vec<(u64, Word)>,
    status: bool,
    /// Segments to which a command is offered.
    offered: u64,
}

fn get(model: &Model, prefix: &str, name: &str) -> u64 {
    model.get(format!("{prefix}_{name}"))
}

const DESC: &str = "m_axis_ctrl_dma_write_desc";
const STATUS: &str = "s_axis_ctrl_dma_write_desc_status";
const READ: &str = "ctrl_dma_ram_rd";

impl Engine {
    fn attach(bench: &mut Bench<'_>, seed: u64, stall: f64, status: bool) -> Rc<RefCell<Self>> {
        let engine = Rc::new(RefCell::new(Self {
            random: Random::new(seed),
            stall,
            queued: Default::default(),
            reading: Default::default(),
            statuses: Vec::new(),
            in_flight: BTreeSet::new(),
            most_in_flight: 0,
            order: Vec::new(),
            written: Vec::new(),
            status,
            offered: 0,
        }));
        let drives = Rc::clone(&engine);
        bench.before(move |model, _| drives.borrow_mut().drive(model));
        let samples = Rc::clone(&engine);
        bench.observe(move |model, _| samples.borrow_mut().sample(model));
        engine
    }

    fn go(&mut self) -> bool {
        !self.random.chance(self.stall)
    }

    fn drive(&mut self, model: &mut Model) {
        let ready = self.go();
        model.set(format!("{DESC}_ready"), u64::from(ready));
        let give = self.status && !self.statuses.is_empty() && self.go();
        model.set(format!("{STATUS}_valid"), u64::from(give));
        let tag = self.random.below(1 << 14);
        model.set(format!("{STATUS}_tag"), tag);
        if give {
            let at = self.random.below(self.statuses.len() as u64) as usize;
            let tag = self.statuses.swap_remove(at);
            self.in_flight.remove(&tag);
            model.set(format!("{STATUS}_tag"), tag);
        }
        // A command that is offered stays.
        let (mut addr, mut resp_ready) = (0, 0);
        for k in 0..2 {
            if !self.queued[k].is_empty() && self.go() {
                self.offered |= 1 << k;
            }
            let row = self.queued[k].front().map_or(0, |write| write.row);
            addr |= row << (10 * k);
            resp_ready |= u64::from(self.go()) << k;
        }
        model.set(format!("{READ}_cmd_valid"), self.offered);
        model.set(format!("{READ}_cmd_addr"), addr);
        model.set(format!("{READ}_resp_ready"), resp_ready);
    }

    fn sample(&mut self, model: &mut Model) {
        for k in 0..2 {
            let both = |name: &str| get(model, READ, name) >> k & 1 == 1;
            if both("resp_valid") && both("resp_ready") {
                let write = self.reading[k].pop_front().expect("a response without a command");
                let data = model.get_word(format!("{READ}_resp_data"));
                self.written.push((write.addr, data.bits(512 * k, 256)));
                self.statuses.push(write.tag);
            }
            if both("cmd_valid") && both("cmd_ready") {
                let write = self.queued[k].pop_front().expect("a command is offered");
                self.reading[k].push_back(write);
                self.offered &= !(1 << k);
            }
        }
        if get(model, DESC, "valid") & get(model, DESC, "ready") == 1 {
            let [addr, ram, tag] = ["dma_addr", "ram_addr", "tag"].map(|n| get(model, DESC, n));
            assert_eq!(get(model, DESC, "len"), 32);
            assert_eq!(ram % 64, 0);
            assert!(self.in_flight.insert(tag), "tag {tag} is in flight");
            self.most_in_flight = self.most_in_flight.max(self.in_flight.len());
            self.order.push(addr);
            let write = Write { addr, tag, row: ram >> 7, segment: (ram >> 6 & 1) as usize };
            let segment = write.segment;
            self.queued[segment].push_back(write);
        }
    }
}

fn library() -> Library {
    testing::library("host_write", HostWrite::default)
}

fn entries(random: &mut Random, count: u64) -> Vec<(u64, Word)> {
    let base = random.u64() & !0xfffff;
    (0..count).map(|i| (base + 32 * i, random.word(256))).collect()
}

fn beats(entries: &[(u64, Word)]) -> Vec<Beat> {
    let beat = |(addr, data): &(u64, Word)| Beat::new().with("addr", *addr).with("data", data);
    entries.iter().map(beat).collect()
}

#[test]
fn every_entry_arrives_and_descriptors_keep_the_order() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let engine = Engine::attach(&mut bench, seed, stalls.1, true);
        let driver = bench.driver("write");
        bench.stall(stalls);
        let entries = entries(&mut random, 400);
        bench.send_all(driver, beats(&entries));
        bench.run_until(|_| engine.borrow().written.len() == 400);
        bench.run(200);
        let engine = engine.borrow();
        let addresses: Vec<_> = entries.iter().map(|(addr, _)| *addr).collect();
        assert_eq!(engine.order, addresses);
        let mut written = engine.written.clone();
        written.sort_by_key(|(addr, _)| *addr);
        assert_eq!(written, entries);
    }
}

#[test]
fn thirty_two_entries_are_in_flight_and_one_is_taken_per_cycle() {
    let mut bench = Bench::new(library().instance(1), 1);
    let engine = Engine::attach(&mut bench, 1, 0.0, false);
    let driver = bench.driver("write");
    let entries = entries(&mut Random::new(1), 100);
    bench.run(10);
    assert_eq!(bench.get("busy"), 0);
    bench.send_all(driver, beats(&entries));
    bench.run(200);
    assert_eq!(bench.sent_at(driver), (10..42).collect::<Vec<_>>());
    assert_eq!(engine.borrow().most_in_flight, 32);
    assert_eq!(bench.get("busy"), 1);
    engine.borrow_mut().status = true;
    bench.run(200);
    let sent = bench.sent_at(driver);
    assert_eq!(sent.len(), 100);
    assert_eq!(bench.get("busy"), 0);
}

#[test]
fn other_places_of_the_ram_read_as_0() {
    let mut model = library().instance(1);
    model.set("rst", 1);
    model.cycle();
    model.set("rst", 0);
    model.set("ctrl_dma_ram_rd_resp_ready", 3);
    for (addr, sel) in [(16, 0), (512, 0), (0, 3)] {
        model.set("ctrl_dma_ram_rd_cmd_addr", addr | addr << 10);
        model.set("ctrl_dma_ram_rd_cmd_sel", sel);
        model.set("ctrl_dma_ram_rd_cmd_valid", 3);
        model.cycle();
        model.set("ctrl_dma_ram_rd_cmd_valid", 0);
        model.settle();
        assert_eq!(model.get("ctrl_dma_ram_rd_resp_valid"), 3);
        assert_eq!(model.get_word("ctrl_dma_ram_rd_resp_data"), Word::zero());
        model.tick();
    }
}
