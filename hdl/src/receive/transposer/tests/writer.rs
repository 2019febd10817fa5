//! Orders of the transposer among others: each becomes the runs of its job, in its place.

use super::super::writer::ColumnWriter;
use super::runs::Region;
use super::*;
use crate::receive::record::COLUMNS_AT;
use drdma_verilated::Word;
use drdma_verilated::testbench::MonitorId;
use std::collections::HashMap;

/// Order that must leave, and its bytes.
struct Expected {
    order: Fields,
    /// Bytes of the order's job, by address; none if it has no job.
    bytes: Option<HashMap<u64, u8>>,
}

struct Host<'a> {
    bench: Bench<'a>,
    target: DriverId,
    planned: MonitorId,
    order: DriverId,
    written: MonitorId,
    store: Vec<u8>,
    expected: VecDeque<Expected>,
    /// Rows that are read, and given back later.
    rows: u64,
    checked: usize,
}

impl Host<'_> {
    fn new(library: &Library, seed: u64, (stall, busy): (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(1_000_000);
        let [target, order] = ["target", "order"].map(|name| bench.driver(name));
        let [planned, written] = ["planned", "written"].map(|name| bench.monitor(name));
        bench.stall((stall, busy));
        let store = attach_store(&mut bench, seed, busy);
        let expected = VecDeque::new();
        Self { bench, target, planned, order, written, store, expected, rows: 0, checked: 0 }
    }

    fn step(&mut self) {
        self.bench.step();
        for order in self.bench.take(self.written) {
            self.check(&order);
        }
        if self.rows > 0 && self.bench.cycles().is_multiple_of(37) {
            self.bench.set("freed_rows", self.rows);
            self.rows = 0;
            self.bench.step();
            self.bench.set("freed_rows", 0_u64);
            for order in self.bench.take(self.written) {
                self.check(&order);
            }
        }
    }

    fn check(&mut self, order: &Fields) {
        let expected = self.expected.front_mut().expect("an order that was given");
        let is_last = match &mut expected.bytes {
            None => {
                for name in ["addr", "ram", "bytes"] {
                    assert_eq!(order.get(name), expected.order.get(name), "{name}");
                }
                assert_eq!((order.u64("column"), order.u64("rows")), (0, 0));
                true
            }
            Some(bytes) => {
                assert_eq!(order.u64("column"), 1);
                let (addr, ram) = (order.u64("addr"), order.u64("ram"));
                assert!(ram >= COLUMNS_AT);
                for k in 0..order.u64("bytes") {
                    let at = (ram - COLUMNS_AT + k) as usize % MEMORY;
                    self.bench.set("column_enable", 3_u64);
                    self.bench.set("column_row", (at / ROW * 129) as u64);
                    self.bench.step();
                    self.bench.set("column_enable", 0_u64);
                    self.bench.run(2);
                    let found = self.bench.get_word("column_data").to_bytes(ROW)[at % ROW];
                    assert_eq!(Some(found), bytes.remove(&(addr + k)), "at {:#x}", addr + k);
                }
                self.rows += order.u64("rows");
                bytes.is_empty() && order.u64("rows") > 0
            }
        };
        for name in ["frame_end", "completes"] {
            let due = if is_last { expected.order.u64(name) } else { 0 };
            assert_eq!(order.u64(name), due, "{name}");
        }
        if is_last {
            assert_eq!(order.get("receipt"), expected.order.get("receipt"));
            assert_eq!(order.u64("words"), expected.order.u64("words"));
            self.expected.pop_front();
            self.checked += 1;
        }
    }

    /// Random fields that every order has.
    fn fields(random: &mut Random) -> Fields {
        let flags = [("frame_end", random.below(2)), ("completes", random.below(2))];
        let receipt: Word = random.word(278);
        Fields::from(flags).with("words", random.below(128)).with("receipt", receipt)
    }

    fn pass(&mut self, random: &mut Random) {
        let order = Self::fields(random)
            .with("addr", random.u64())
            .with("ram", random.below(1 << STORE))
            .with("bytes", random.below(4097));
        self.bench.send(self.order, order.clone());
        self.expected.push_back(Expected { order, bytes: None });
    }

    /// Gives a payload to a region.
    fn place(&mut self, random: &mut Random, region: &mut Region) {
        let (ram, most) = (random.below(STORE_BYTES as u64) as usize, 1 + random.below(400));
        self.bench.send_all(self.target, region.targets(ram, most as usize));
        while self.bench.received(self.planned).is_empty() {
            self.step();
        }
        let takes = self.bench.take(self.planned).remove(0).u64("bytes") as usize;
        let byte = |k| (region.address(region.filled + k), self.store[(ram + k) % STORE_BYTES]);
        let bytes = (0..takes).map(byte).collect();
        region.filled += takes;
        let order = Self::fields(random).with("column", 1_u64);
        self.bench.send(self.order, order.clone());
        self.expected.push_back(Expected { order, bytes: Some(bytes) });
    }
}

#[test]
fn runs_leave_in_the_place_of_their_order_with_their_bytes_in_memory() {
    let library = testing::library("column_writer", ColumnWriter::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut host = Host::new(&library, seed, stalls);
        let mut random = Random::new(seed);
        let mut jobs = 0;
        while jobs < 30 {
            if random.chance(0.5) {
                host.pass(&mut random);
                continue;
            }
            let mut region = Region::any(&mut random);
            if random.chance(0.1) {
                // The transposer drops all of these columns.
                let mut targets = region.targets(5, 100);
                targets.last_mut().expect("a column").set("dropped", 1_u64);
                host.bench.send_all(host.target, targets);
            }
            for _ in 0..1 + random.below(4) {
                if region.filled < region.rows * region.row() {
                    host.place(&mut random, &mut region);
                    jobs += 1;
                }
            }
        }
        while !host.expected.is_empty() {
            host.step();
        }
        host.bench.run(10);
        assert_eq!(host.bench.get("busy"), 0);
        assert!(host.checked > 40);
    }
}
