//! The keeper against the requester of `drdma_semantics`, and against a network that loses packets.

use super::pages::PageUse;
use super::*;
use crate::context::testing::clear_tables;
use crate::send::PAGES;
use crate::testing;
use drdma_abi::receive::AttributesEntry;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::Transport;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

mod loss;
mod meaning;
mod paced;
mod rates;
mod reads;
mod rules;

fn library() -> Library {
    testing::library("keeper", Keeper::default)
}

/// Settings of a queue pair.
#[derive(Clone, Copy, Debug)]
struct Setting {
    transport: Transport,
    retry_cnt: u8,
    rnr_retry: u8,
    timeout: u8,
    max_rd_atomic: u8,
    /// State in the queue pair's attributes.
    state: u32,
}

const KEEPS: Setting = Setting {
    transport: Transport::Rc,
    retry_cnt: 3,
    rnr_retry: 2,
    timeout: 0,
    max_rd_atomic: 0,
    state: 1,
};

/// The keeper between a segmenter and a packetizer that a test plays.
struct Net<'a> {
    bench: Bench<'a>,
    cfg: DriverId,
    packet: DriverId,
    response: DriverId,
    done: DriverId,
    item: MonitorId,
    told: MonitorId,
    /// Pages that hold no packet.
    free: Rc<RefCell<Vec<u64>>>,
    /// Words of queue pairs that were written, and the number of the last one of each.
    words: u64,
    stamps: HashMap<u64, u64>,
    /// Packets as they were given to the keeper.
    given: HashMap<(u64, u64), Beat>,
    /// Largest number of pages that were in use at once.
    most_in_use: usize,
    /// Packets that were sent, as {queue pair, number}.
    seen: HashSet<(u64, u64)>,
}

fn net(library: &Library, seed: u64) -> Net<'_> {
    let mut bench = Bench::new(library.instance(seed), seed);
    bench.limit(20_000_000);
    clear_tables(&mut bench);
    let free = Rc::new(RefCell::new((0..PAGES).collect::<Vec<_>>()));
    let pool = Rc::clone(&free);
    bench.observe(move |model, _| {
        if model.get("free_valid") == 1 {
            let page = model.get("free_page");
            assert!(!pool.borrow().contains(&page), "page {page} is given back twice");
            pool.borrow_mut().push(page);
        }
    });
    Net {
        cfg: bench.driver("cfg"),
        packet: bench.driver("packet"),
        response: bench.driver("response"),
        done: bench.driver("done"),
        item: bench.monitor("item"),
        told: bench.monitor("told"),
        bench,
        free,
        words: 1 << QP,
        stamps: HashMap::new(),
        given: HashMap::new(),
        most_in_use: 0,
        seen: HashSet::new(),
    }
}

impl Net<'_> {
    fn write(&mut self, table: u64, index: u64, word: usize, data: u32) {
        let beat = Beat::from([("table", table), ("index", index), ("word", word as u64)]);
        self.bench.send(self.cfg, beat.with("data", data));
        if table == 0 {
            self.stamps.insert(index, self.words);
            self.words += 1;
        }
        // Words are written one by one, as on the bus.
        let cfg = self.cfg;
        self.bench.run_until(|b| b.pending(cfg) == 0);
        self.bench.run(3);
    }

    /// The host writes a queue pair's entries: everything before is forgotten.
    fn set(&mut self, qp: u64, setting: &Setting) {
        let attributes = AttributesEntry {
            timeout: setting.timeout,
            max_rd_atomic: setting.max_rd_atomic,
            retry_cnt: setting.retry_cnt,
            rnr_retry: setting.rnr_retry,
            state: setting.state,
            ..AttributesEntry::default()
        };
        let entry = QueuePairEntry {
            transport: setting.transport as u8,
            state: 1,
            ..QueuePairEntry::default()
        };
        for (table, bytes) in [(4, &attributes.to_bytes()[..]), (0, &entry.to_bytes()[..])] {
            for (word, data) in bytes.chunks(4).enumerate() {
                let data = u32::from_le_bytes(data.try_into().expect("4 bytes"));
                self.write(table, qp, word, data);
            }
        }
    }

    /// A packet of a SEND or a WRITE as the segmenter gives it.
    fn give(&mut self, qp: u64, psn: u64, ack_req: bool) {
        let operation = self.bench.random().below(12);
        self.give_with(qp, psn, ack_req, |beat| beat.with("operation", operation));
    }

    /// A packet with some fields of its own.
    fn give_with(&mut self, qp: u64, psn: u64, ack_req: bool, own: impl FnOnce(Beat) -> Beat) {
        let page = self.free.borrow_mut().pop().expect("a page is free");
        let mut beat = Beat::new();
        let random = self.bench.random();
        for (name, width) in [
            ("bytes", 13),
            ("remote_addr", 64),
            ("rkey", 32),
            ("message_bytes", 32),
            ("imm", 32),
            ("has_imm", 1),
            ("has_reth", 1),
            ("solicited", 1),
            ("fenced", 1),
            ("slot", 8),
            ("kind", 2),
            ("status", 8),
            ("bad_dest", crate::request::DEST_COUNT),
        ] {
            beat.set(name, random.word(width));
        }
        let beat = own(beat)
            .with("marker", 0)
            .with("page", page)
            .with("qp", qp)
            .with("psn", psn)
            .with("ack_req", ack_req)
            .with("total", self.stamps[&qp]);
        self.given.insert((qp, psn), beat.clone());
        self.seen.remove(&(qp, psn));
        self.bench.send(self.packet, beat);
        self.most_in_use = self.most_in_use.max(self.pages_in_use());
    }

    fn answer(&mut self, qp: u64, psn: u64, syndrome: u8) {
        let beat = Beat::from([("qp", qp), ("psn", psn)]).with("syndrome", syndrome);
        self.bench.send(self.response, beat);
    }

    /// Runs for a while as a packetizer that gives pages back at once. Gives the packets that came: queue
    /// pair and number.
    fn settle(&mut self, cycles: u64) -> Vec<(u64, u64)> {
        let mut came = Vec::new();
        for _ in 0..cycles {
            self.bench.step();
            for beat in self.bench.take(self.item) {
                let packet = (beat.u64("qp"), beat.u64("psn"));
                self.check(&beat);
                self.bench.send(self.done, Beat::from([("page", beat.u64("page"))]));
                came.push(packet);
            }
        }
        came
    }

    /// Compares a packet with what was given; only the flags of one that is sent again may differ.
    fn check(&mut self, beat: &Beat) {
        let packet = (beat.u64("qp"), beat.u64("psn"));
        let again = !self.seen.insert(packet);
        // A packet that was not sent before may have waited for its turn.
        let late = again || beat.u64("late") == 1;
        let given = &self.given[&packet];
        let asks = beat.u64("ack_req");
        // While many are kept, each asks.
        assert!(
            asks == given.u64("ack_req") || (asks == 1 && self.most_in_use >= PRESSED as usize)
        );
        let expected = given.clone().with("again", again).with("late", late).with("ack_req", asks);
        assert_eq!(*beat, expected, "a packet is as it was");
    }

    fn told(&mut self) -> Vec<(u64, u64, u8)> {
        let told = self.bench.take(self.told);
        told.iter().map(|b| (b.u64("qp"), b.u64("psn"), b.u64("syndrome") as u8)).collect()
    }

    /// The state of a queue pair that the readers of `closed` get in the next cycle.
    fn closed(&mut self, qp: u64) -> [u64; CLOSED_READERS] {
        for reader in 0..CLOSED_READERS {
            self.bench.set(format!("closed_next_{reader}").as_str(), qp);
        }
        self.bench.step();
        self.bench.model().settle();
        std::array::from_fn(|reader| self.bench.get(format!("closed_{reader}")))
    }

    fn pages_in_use(&self) -> usize {
        PAGES as usize - self.free.borrow().len()
    }
}
