//! Against rows that are taken apart byte by byte.

mod runs;
mod writer;

use super::*;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat as Fields, Bench, DriverId, Random, STALLS};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Bytes of the frame store, of the memory of columns, and of a row of that.
const STORE_BYTES: usize = 1 << STORE;
const MEMORY: usize = 1 << PLACE;
const ROW: usize = 128;

/// A packet's part of rows of columns.
#[derive(Debug)]
struct Job {
    widths: Vec<usize>,
    /// Byte of its first row at which the part begins.
    start: usize,
    bytes: usize,
    ram: usize,
    /// Of each column: place at which the first row's value would lie.
    places: Vec<usize>,
    /// Behind the last run.
    end: usize,
}

impl Job {
    /// Lays its runs out from a byte of the memory on.
    fn new(widths: Vec<usize>, start: usize, bytes: usize, ram: usize, at: usize) -> Self {
        let row: usize = widths.iter().sum();
        assert!(start < row && bytes > 0);
        let apart = ROW / widths.len();
        let mut places = Vec::new();
        let (mut at, mut offset) = (at, 0);
        for (k, width) in widths.iter().enumerate() {
            // Bytes of this column before a byte of the packed rows.
            let before = |place: usize| {
                place / row * width + (place % row).clamp(offset, offset + width) - offset
            };
            let len = before(start + bytes) - before(start);
            at += (2 * ROW + k * apart - at % ROW) % ROW;
            places.push((at + MEMORY - before(start)) % MEMORY);
            at += len;
            offset += width;
        }
        Self { widths, start, bytes, ram, places, end: at }
    }

    fn columns(&self) -> Vec<Fields> {
        let mut offset = 0;
        let mut piece = 0;
        let mut into = 0;
        for width in &self.widths {
            if self.start >= offset + width {
                piece += width.div_ceil(4);
                offset += width;
            } else {
                into = self.start - offset;
                break;
            }
        }
        let skip = into % 4;
        let last = self.widths.len() - 1;
        let columns = self.widths.iter().zip(&self.places).enumerate();
        let columns = columns.map(|(k, (width, place))| {
            Fields::from([
                ("width", *width as u64),
                ("place", *place as u64),
                ("last", u64::from(k == last)),
                ("ram", ((self.ram + STORE_BYTES - skip) % STORE_BYTES) as u64),
                ("skip", skip as u64),
                ("bytes", (self.bytes + skip) as u64),
                ("piece", (piece + into / 4) as u64),
            ])
        });
        columns.collect()
    }

    /// Place in the memory, and place in the store, of every byte.
    fn bytes(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let row: usize = self.widths.iter().sum();
        (0..self.bytes).map(move |k| {
            let (nth, mut rest) = ((self.start + k) / row, (self.start + k) % row);
            let mut column = 0;
            while rest >= self.widths[column] {
                rest -= self.widths[column];
                column += 1;
            }
            let place = self.places[column] + nth * self.widths[column] + rest;
            (place % MEMORY, (self.ram + k) % STORE_BYTES)
        })
    }
}

/// The block, the frame store, and a reader of the memory of columns.
struct World<'a> {
    bench: Bench<'a>,
    column: DriverId,
    store: Vec<u8>,
    done: Rc<RefCell<VecDeque<u64>>>,
}

/// The frame store, whose words are busy with this probability: what is in it, and the cycles in which jobs were done.
fn attach(bench: &mut Bench<'_>, seed: u64, busy: f64) -> (Vec<u8>, Rc<RefCell<VecDeque<u64>>>) {
    let store = attach_store(bench, seed, busy);
    let done = Rc::new(RefCell::new(VecDeque::new()));
    let told = Rc::clone(&done);
    bench.observe(move |model, cycle| {
        if model.get("done") == 1 {
            told.borrow_mut().push_back(cycle);
        }
    });
    (store, done)
}

/// The frame store alone.
fn attach_store(bench: &mut Bench<'_>, seed: u64, busy: f64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let store = random.bytes(STORE_BYTES);
    let asked: Rc<RefCell<[Option<usize>; 2]>> = Rc::default();
    let (now, words) = (Rc::clone(&asked), store.clone());
    bench.before(move |model, _| {
        model.set("store_granted", u64::from(!random.chance(busy)));
        let data = match now.borrow()[1] {
            Some(word) => words[64 * word..][..64].to_vec(),
            None => random.bytes(64),
        };
        model.set_word("store_data", &data.as_slice().into());
    });
    bench.observe(move |model, _| {
        let read = model.get("store_read") & model.get("store_granted") == 1;
        let mut asked = asked.borrow_mut();
        *asked = [read.then(|| model.get("store_word") as usize), asked[0]];
    });
    store
}

impl World<'_> {
    /// The store's words are busy with this probability.
    fn new(library: &Library, seed: u64, busy: f64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(600_000);
        let column = bench.driver("column");
        let (store, done) = attach(&mut bench, seed, busy);
        Self { bench, column, store, done }
    }

    /// Reads a row of the memory of columns.
    fn row(&mut self, row: usize) -> Vec<u8> {
        self.bench.set("read_enable", 3_u64);
        self.bench.set("read_row", (row | row << 7) as u64);
        self.bench.step();
        self.bench.set("read_enable", 0_u64);
        self.bench.run(2);
        self.bench.get_word("read_data").to_bytes(ROW)
    }

    fn check(&mut self, job: &Job) {
        let memory: Vec<u8> = (0..MEMORY / ROW).flat_map(|row| self.row(row)).collect();
        for (place, from) in job.bytes() {
            assert_eq!(memory[place], self.store[from], "place {place}, byte {from}: {job:?}");
        }
    }
}

fn library() -> Library {
    testing::library("transposer", Transposer::default)
}

fn any_widths(random: &mut Random) -> Vec<usize> {
    let count = 1 + random.below(16);
    let most = [1, 4, 8, 9, 64][random.below(5) as usize];
    (0..count).map(|_| 1 + random.below(most) as usize).collect()
}

#[test]
fn every_byte_goes_to_its_column_whatever_the_rows_and_where_they_begin() {
    let library = library();
    for (seed, (stall, busy)) in (1..).zip(STALLS) {
        let mut world = World::new(&library, seed, busy);
        world.bench.stall_driver(world.column, stall);
        let mut random = Random::new(seed);
        let mut at = 0;
        for _ in 0..60 {
            // Several jobs at once, as far as there is room.
            let mut jobs: Vec<Job> = Vec::new();
            let from = at;
            for _ in 0..1 + random.below(5) {
                let widths = any_widths(&mut random);
                let start = random.below(widths.iter().sum::<usize>() as u64) as usize;
                let most = [10, 300, 4096][random.below(3) as usize];
                let bytes = 1 + random.below(most) as usize;
                let ram = random.below(STORE_BYTES as u64) as usize;
                let job = Job::new(widths, start, bytes, ram, at);
                if job.end - from > MEMORY {
                    break;
                }
                at = job.end;
                world.bench.send_all(world.column, job.columns());
                jobs.push(job);
            }
            while world.done.borrow().len() < jobs.len() {
                world.bench.step();
            }
            world.done.borrow_mut().clear();
            for job in &jobs {
                world.check(job);
            }
        }
    }
}

/// Cycles a packet, of many packets of whole rows one behind the other.
fn cycles(library: &Library, widths: &[usize], mtu: usize) -> f64 {
    let mut world = World::new(library, 1, 0.0);
    let row: usize = widths.iter().sum();
    let (packets, mut at) = (60, 0);
    for k in 0..packets {
        let job = Job::new(widths.to_vec(), k * mtu % row, mtu, k * 4243 % STORE_BYTES, at);
        at = job.end;
        world.bench.send_all(world.column, job.columns());
    }
    while world.done.borrow().len() < packets {
        world.bench.step();
    }
    let done = world.done.borrow();
    (done[packets - 1] - done[9]) as f64 / (packets - 10) as f64
}

#[test]
fn packed_rows_are_transposed_at_the_rate_of_the_wire() {
    let library = library();
    // Widths, bytes of a packet, and Gb/s at 250 MHz.
    for (widths, mtu, least) in [
        (vec![4; 5], 4096, 100.0),
        (vec![8; 16], 4096, 100.0),
        (vec![4; 5], 1024, 70.0),
        (vec![8; 16], 1024, 60.0),
        (vec![4; 2], 4096, 100.0),
        (vec![16; 4], 4096, 100.0),
        (vec![64; 16], 4096, 100.0),
        (vec![4, 8], 4096, 100.0),
        (vec![8, 8, 4, 16, 4], 4096, 70.0),
        (vec![8, 4, 8, 4, 8, 1, 1, 10, 25], 4096, 50.0),
        (vec![4, 64], 4096, 60.0),
        (vec![1, 8], 4096, 60.0),
        (vec![3; 7], 4096, 70.0),
        (vec![2; 8], 4096, 55.0),
        (vec![1; 16], 4096, 28.0),
    ] {
        let cycles = cycles(&library, &widths, mtu);
        let rate = mtu as f64 * 8.0 / (cycles * 4.0);
        println!("{mtu} B of rows of {widths:?}: {cycles:.1} cycles, {rate:.1} Gb/s");
        assert!(rate >= least, "{rate:.1} Gb/s: {widths:?}");
    }
}
