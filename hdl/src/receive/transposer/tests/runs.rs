//! Runs and the transposer together: messages go to columns of host memory.

use super::super::runs::{Planned, RowShape, Run, Runs, Target};
use super::*;
use drdma_emit::prelude::*;
use drdma_verilated::testbench::MonitorId;
use std::collections::HashMap;

/// The blocks that plan runs and that make them, joined.
#[derive(LogicBlock, BlockDefault)]
struct Both {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub target: Stream<In, Target>,
    pub planned: Stream<Out, Planned>,
    pub run: Stream<Out, Run>,
    pub freed: Signal<In, Bit>,
    pub freed_rows: Signal<In, Bits<8>>,
    pub done: Signal<Out, Bit>,
    pub store_read: Signal<Out, Bit>,
    pub store_word: Signal<Out, Bits<STORE_WORD>>,
    pub store_granted: Signal<In, Bit>,
    pub store_data: Signal<In, Bits<512>>,
    pub read_enable: Signal<In, Bits<2>>,
    pub read_row: Signal<In, Bits<14>>,
    pub read_data: Signal<Out, Bits<1024>>,
    runs: Runs,
    transposer: Transposer,
    unused_shape: Signal<Local, RowShape>,
}

impl Logic for Both {
    #[hdl_gen]
    fn update(&mut self) {
        self.target.join(&mut self.runs.target);
        self.runs.planned.join(&mut self.planned);
        self.unused_shape.next = self.runs.shape.val();
        self.runs.run.join(&mut self.run);
        self.runs.freed.next = self.freed.val();
        self.runs.freed_rows.next = self.freed_rows.val();
        self.runs.column.join(&mut self.transposer.column);
        self.done.next = self.transposer.done.val();
        self.store_read.next = self.transposer.store_read.val();
        self.store_word.next = self.transposer.store_word.val();
        self.transposer.store_granted.next = self.store_granted.val();
        self.transposer.store_data.next = self.store_data.val();
        self.transposer.read_enable.next = self.read_enable.val();
        self.transposer.read_row.next = self.read_row.val();
        self.read_data.next = self.transposer.read_data.val();
    }
}

/// A dense region, and where its next byte goes.
#[derive(Clone, Debug)]
pub struct Region {
    pub widths: Vec<usize>,
    pub bases: Vec<u64>,
    pub rows: usize,
    /// Packed bytes that it has.
    pub filled: usize,
}

impl Region {
    pub fn row(&self) -> usize {
        self.widths.iter().sum()
    }

    /// Column and byte of a value in which a packed byte is.
    fn find(&self, at: usize) -> (usize, usize) {
        let (mut column, mut rest) = (0, at % self.row());
        while rest >= self.widths[column] {
            rest -= self.widths[column];
            column += 1;
        }
        (column, rest)
    }

    pub fn address(&self, at: usize) -> u64 {
        let (column, rest) = self.find(at);
        self.bases[column] + (at / self.row() * self.widths[column] + rest) as u64
    }

    pub fn targets(&self, ram: usize, bytes: usize) -> Vec<Fields> {
        let (column, offset) = self.find(self.filled);
        let nth = self.filled / self.row();
        let targets = self.widths.iter().zip(&self.bases).enumerate();
        let targets = targets.map(|(k, (width, base))| {
            Fields::from([
                ("addr", base + (nth * width) as u64),
                ("width", *width as u64),
                ("last", u64::from(k + 1 == self.widths.len())),
                ("ram", ram as u64),
                ("bytes", bytes as u64),
                ("column", column as u64),
                ("offset", offset as u64),
                ("rows", (self.rows - nth) as u64),
            ])
        });
        targets.collect()
    }

    pub fn any(random: &mut Random) -> Self {
        let widths = any_widths(random);
        let bases = (0..widths.len() as u64).map(|k| (k << 32) + random.below(1 << 31));
        let bases = bases.collect();
        let most = [3, 100, 5_000][random.below(3) as usize];
        let rows = 1 + random.below(most) as usize;
        Self { widths, bases, rows, filled: 0 }
    }
}

struct Host<'a> {
    bench: Bench<'a>,
    target: DriverId,
    planned: MonitorId,
    run: MonitorId,
    store: Vec<u8>,
    done: Rc<RefCell<VecDeque<u64>>>,
    /// Runs of jobs: of the one whose runs leave, and of those that are not in host memory.
    runs: Vec<Fields>,
    waiting: VecDeque<Vec<Fields>>,
    placed: usize,
    memory: HashMap<u64, u8>,
    /// The runs are not read: a job is over as soon as it is done.
    blind: bool,
    finished: usize,
}

impl Host<'_> {
    fn new(library: &Library, seed: u64, (stall, busy): (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(1_000_000);
        let target = bench.driver("target");
        let [planned, run] = ["planned", "run"].map(|name| bench.monitor(name));
        bench.stall((stall, busy));
        let (store, done) = attach(&mut bench, seed, busy);
        let (waiting, runs, memory) = (VecDeque::new(), Vec::new(), HashMap::new());
        Self {
            bench,
            target,
            planned,
            run,
            store,
            done,
            runs,
            waiting,
            placed: 0,
            memory,
            blind: false,
            finished: 0,
        }
    }

    fn step(&mut self) {
        self.bench.step();
        for run in self.bench.take(self.run) {
            let last = run.u64("last") == 1;
            self.runs.push(run);
            if last {
                self.waiting.push_back(std::mem::take(&mut self.runs));
            }
        }
        if self.done.borrow().len() > self.finished
            && let Some(runs) = self.waiting.pop_front()
        {
            self.finished += 1;
            if !self.blind {
                runs.iter().for_each(|run| self.write(run));
            }
            self.bench.set("freed", 1_u64);
            self.bench.set("freed_rows", runs.last().expect("a run").u64("rows"));
            self.bench.step();
            self.bench.set("freed", 0_u64);
        }
    }

    /// A DMA write.
    fn write(&mut self, run: &Fields) {
        let (addr, place, bytes) = (run.u64("addr"), run.u64("place"), run.u64("bytes"));
        let mut row = None;
        for k in 0..bytes {
            let at = (place + k) as usize % MEMORY;
            if row.as_ref().is_none_or(|(of, _): &(usize, Vec<u8>)| *of != at / ROW) {
                self.bench.set("read_enable", 3_u64);
                self.bench.set("read_row", (at / ROW * 129) as u64);
                self.bench.step();
                self.bench.set("read_enable", 0_u64);
                self.bench.run(2);
                row = Some((at / ROW, self.bench.get_word("read_data").to_bytes(ROW)));
            }
            let byte = row.as_ref().expect("it was read").1[at % ROW];
            assert_eq!(self.memory.insert(addr + k, byte), None, "written twice");
        }
    }

    /// Gives a payload to a region: bytes of it that it takes.
    fn place(&mut self, region: &mut Region, ram: usize, bytes: usize) -> usize {
        self.bench.send_all(self.target, region.targets(ram, bytes));
        while self.bench.received(self.planned).is_empty() {
            self.step();
        }
        let planned = self.bench.take(self.planned).remove(0);
        let takes = bytes.min(region.rows * region.row() - region.filled);
        assert_eq!(planned.u64("bytes"), takes as u64, "{region:?}");
        let begins = region.filled / region.row();
        region.filled += takes;
        let ends = region.filled / region.row();
        assert_eq!(planned.u64("rows"), (ends - begins) as u64, "{region:?}");
        assert_eq!(planned.u64("ends"), u64::from(ends == region.rows), "{region:?}");
        let (column, offset) = region.find(region.filled);
        let found = (planned.u64("column"), planned.u64("offset"));
        assert_eq!(found, (column as u64, offset as u64), "{region:?}");
        self.placed += 1;
        takes
    }

    fn settle(&mut self) {
        while self.finished < self.placed {
            self.step();
        }
    }
}

fn both() -> Library {
    testing::library("transposer_runs", Both::default)
}

#[test]
fn messages_fill_columns_packet_by_packet() {
    let library = both();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut host = Host::new(&library, seed, stalls);
        let mut random = Random::new(seed);
        let mut expected = HashMap::new();
        for nth in 0..25_u64 {
            // A message of some packets, which may fill more than one region.
            let fresh = |random: &mut Random, k: u64| {
                let mut region = Region::any(random);
                region.bases.iter_mut().for_each(|base| *base += (nth * 8 + k) << 40);
                region
            };
            let mut region = fresh(&mut random, 0);
            let mut regions = 0;
            for _ in 0..1 + random.below(4) {
                let most = [20, 1024, 4096][random.below(3) as usize];
                let mut bytes = 1 + random.below(most) as usize;
                let mut ram = random.below(STORE_BYTES as u64) as usize;
                while bytes > 0 && regions < 8 {
                    let from = region.filled;
                    let takes = host.place(&mut region, ram, bytes);
                    for k in 0..takes {
                        let byte = host.store[(ram + k) % STORE_BYTES];
                        expected.insert(region.address(from + k), byte);
                    }
                    ram = (ram + takes) % STORE_BYTES;
                    bytes -= takes;
                    if region.filled == region.rows * region.row() {
                        regions += 1;
                        region = fresh(&mut random, regions);
                    }
                }
            }
        }
        host.settle();
        assert!(host.memory == expected, "{} bytes of {}", host.memory.len(), expected.len());
    }
}

#[test]
fn a_packet_is_planned_while_the_one_before_it_is_transposed() {
    let library = both();
    // Widths, bytes of a packet, and Gb/s at 250 MHz.
    for (widths, mtu, least) in [
        (vec![4; 5], 4096, 100.0),
        (vec![8; 16], 4096, 100.0),
        (vec![8, 8, 4, 16, 4], 4096, 80.0),
        (vec![4; 5], 1024, 80.0),
        (vec![8; 16], 1024, 70.0),
    ] {
        let mut host = Host::new(&library, 1, (0.0, 0.0));
        host.blind = true;
        let bases = (0..widths.len() as u64).map(|k| k << 32).collect();
        let mut region = Region { widths, bases, rows: 1 << 20, filled: 0 };
        for k in 0..60 {
            host.place(&mut region, k * 4243 % STORE_BYTES, mtu);
        }
        host.settle();
        let done = host.done.borrow();
        let cycles = (done[59] - done[9]) as f64 / 50.0;
        let rate = mtu as f64 * 8.0 / (cycles * 4.0);
        println!("{mtu} B of {:?}: {cycles:.1} cycles, {rate:.1} Gb/s", region.widths);
        assert!(rate >= least, "{rate:.1} Gb/s: {:?}", region.widths);
    }
}
