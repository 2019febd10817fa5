//! A DMA write engine that reads segments on their own and answers in any order, and a frame store that forgets
//! what was given back.

use drdma_verilated::testbench::{Bench, Random};
use drdma_verilated::{Model, Word};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

const DESC: &str = "m_axis_data_dma_write_desc";
const STATUS: &str = "s_axis_data_dma_write_desc_status";
const READ: &str = "data_dma_ram_rd";

/// Bytes of a word of a memory.
const WORD: usize = 64;
/// Words of the frame store.
pub const STORE_WORDS: usize = 2048;
/// The memory of columns: rows, bytes of one, and where the engine finds it.
pub const COLUMN_ROWS: usize = 128;
pub const COLUMN_ROW: usize = 128;
pub const COLUMNS_AT: usize = STORE_WORDS * WORD - COLUMN_ROWS * COLUMN_ROW;

/// A descriptor as the card gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    pub addr: u64,
    pub sel: u64,
    pub ram: usize,
    pub len: usize,
    pub tag: u64,
}

/// A write whose words are being read.
struct Reading {
    descriptor: Descriptor,
    missing: VecDeque<usize>,
    bytes: Vec<u8>,
}

/// A frame that lies in the store: its words, and the host addresses that its bytes go to.
pub struct Frame {
    pub words: usize,
    pub start: usize,
    pub low: u64,
    pub high: u64,
}

/// The engine: descriptors wait for their reads; what was read is in host memory, in the order of the descriptors;
/// statuses come in any order.
pub struct Engine {
    random: Random,
    pub stall: f64,
    /// The engine gives statuses.
    pub status: bool,
    /// The engine takes descriptors, at most one in `every` cycles.
    pub takes: bool,
    pub every: u64,
    /// The frame store, and the frames in it.
    pub store: Vec<u8>,
    pub frames: VecDeque<Frame>,
    /// Words given back so far.
    pub freed: usize,
    /// The memory of columns, the jobs in it (as frames, in rows), and rows given back so far.
    pub columns: Vec<u8>,
    pub jobs: VecDeque<Frame>,
    pub freed_rows: usize,
    /// Reads of the frame store that the card made one and two cycles before: segments, rows.
    asked: [(u64, u64); 2],
    asked_columns: [(u64, u64); 2],
    /// Words to read of each segment: memory, row.
    wanted: [VecDeque<(u64, u64)>; 2],
    /// Segments to which a command is offered.
    offered: u64,
    answers: [VecDeque<Vec<u8>>; 2],
    reading: VecDeque<Reading>,
    statuses: Vec<u64>,
    /// Writes that the engine has taken, by tag.
    pub in_flight: BTreeMap<u64, Descriptor>,
    pub most_in_flight: usize,
    /// Descriptors in the order in which they came, with their cycles.
    pub descriptors: Vec<(u64, Descriptor)>,
    /// Address and bytes of each write, as read.
    pub written: Vec<(u64, Vec<u8>)>,
    /// When commands were taken, and answers, and rows of the store were read.
    pub commands: Vec<u64>,
    pub answered: Vec<u64>,
    /// When a status was given, and a frame given back.
    pub statuses_at: Vec<u64>,
    pub freed_at: Vec<u64>,
}

fn get(model: &Model, prefix: &str, name: &str) -> u64 {
    model.get(format!("{prefix}_{name}"))
}

impl Engine {
    pub fn attach(bench: &mut Bench<'_>, seed: u64, stall: f64) -> Rc<RefCell<Self>> {
        let mut random = Random::new(seed);
        let store = random.bytes(STORE_WORDS * WORD);
        let columns = random.bytes(COLUMN_ROWS * COLUMN_ROW);
        let engine = Rc::new(RefCell::new(Self {
            random,
            stall,
            status: true,
            takes: true,
            every: 1,
            store,
            frames: VecDeque::new(),
            freed: 0,
            columns,
            jobs: VecDeque::new(),
            freed_rows: 0,
            asked: [(0, 0); 2],
            asked_columns: [(0, 0); 2],
            wanted: Default::default(),
            offered: 0,
            answers: Default::default(),
            reading: VecDeque::new(),
            statuses: Vec::new(),
            in_flight: BTreeMap::new(),
            most_in_flight: 0,
            descriptors: Vec::new(),
            written: Vec::new(),
            commands: Vec::new(),
            answered: Vec::new(),
            statuses_at: Vec::new(),
            freed_at: Vec::new(),
        }));
        let drives = Rc::clone(&engine);
        bench.before(move |model, cycle| drives.borrow_mut().drive(model, cycle));
        let samples = Rc::clone(&engine);
        bench.observe(move |model, cycle| samples.borrow_mut().sample(model, cycle));
        engine
    }

    fn go(&mut self) -> bool {
        !self.random.chance(self.stall)
    }

    /// True if no write is in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.reading.is_empty() && self.statuses.is_empty()
    }

    fn drive(&mut self, model: &mut Model, cycle: u64) {
        let ready = self.takes && cycle.is_multiple_of(self.every) && self.go();
        model.set(format!("{DESC}_ready"), u64::from(ready));
        let give = self.status && !self.statuses.is_empty() && self.go();
        model.set(format!("{STATUS}_valid"), u64::from(give));
        let tag = self.random.below(1 << 14);
        model.set(format!("{STATUS}_tag"), tag);
        if give {
            let at = self.random.below(self.statuses.len() as u64) as usize;
            let tag = self.statuses.swap_remove(at);
            self.in_flight.remove(&tag);
            self.statuses_at.push(cycle);
            model.set(format!("{STATUS}_tag"), tag);
        }
        // A command that is offered stays.
        let (mut addr, mut sel, mut resp_ready) = (0, 0, 0);
        for k in 0..2 {
            if !self.wanted[k].is_empty() && self.go() {
                self.offered |= 1 << k;
            }
            let (memory, row) = self.wanted[k].front().copied().unwrap_or((0, 0));
            addr |= row << (10 * k);
            sel |= memory << k;
            resp_ready |= u64::from(self.go()) << k;
        }
        model.set(format!("{READ}_cmd_valid"), self.offered);
        model.set(format!("{READ}_cmd_addr"), addr);
        model.set(format!("{READ}_cmd_sel"), sel);
        model.set(format!("{READ}_resp_ready"), resp_ready);
        // The words that were read two cycles ago; any other bytes otherwise.
        let (enable, rows) = self.asked[1];
        let mut data = self.random.bytes(2 * WORD);
        for (k, word) in data.chunks_exact_mut(WORD).enumerate() {
            if enable >> k & 1 == 1 {
                let row = (rows >> (10 * k) & 0x3ff) as usize;
                word.copy_from_slice(&self.store[(2 * row + k) * WORD..][..WORD]);
            }
        }
        model.set_word("store_data", &Word::from_bytes(&data));
        let (enable, rows) = self.asked_columns[1];
        let mut data = self.random.bytes(2 * WORD);
        for (k, word) in data.chunks_exact_mut(WORD).enumerate() {
            if enable >> k & 1 == 1 {
                let row = (rows >> (7 * k) & 0x7f) as usize;
                word.copy_from_slice(&self.columns[(2 * row + k) * WORD..][..WORD]);
            }
        }
        model.set_word("column_data", &Word::from_bytes(&data));
    }

    fn sample(&mut self, model: &Model, cycle: u64) {
        self.asked = [(model.get("store_enable"), model.get("store_row")), self.asked[0]];
        let columns = (model.get("column_enable"), model.get("column_row"));
        self.asked_columns = [columns, self.asked_columns[0]];
        for k in 0..2 {
            let both = |name: &str| get(model, READ, name) >> k & 1 == 1;
            if both("resp_valid") && both("resp_ready") {
                let data = model.get_word(format!("{READ}_resp_data"));
                self.answers[k].push_back(data.bits(512 * k, 512).to_bytes(WORD));
                self.answered.push(cycle);
            }
            if both("cmd_valid") && both("cmd_ready") {
                self.wanted[k].pop_front().expect("a command is offered");
                self.offered &= !(1 << k);
                self.commands.push(cycle);
            }
        }
        while let Some(reading) = self.reading.front_mut() {
            while let Some(segment) = reading.missing.front()
                && let Some(word) = self.answers[*segment].pop_front()
            {
                reading.bytes.extend(word);
                reading.missing.pop_front();
            }
            if !reading.missing.is_empty() {
                break;
            }
            let Reading { descriptor, bytes, .. } = self.reading.pop_front().expect("one is read");
            let bytes = bytes[descriptor.ram % WORD..][..descriptor.len].to_vec();
            self.written.push((descriptor.addr, bytes));
            self.statuses.push(descriptor.tag);
        }
        if get(model, DESC, "valid") & get(model, DESC, "ready") == 1 {
            let field = |name: &str| get(model, DESC, name);
            let descriptor = Descriptor {
                addr: field("dma_addr"),
                sel: field("ram_sel"),
                ram: field("ram_addr") as usize,
                len: field("len") as usize,
                tag: field("tag"),
            };
            self.take(cycle, descriptor);
        }
        if model.get("freed_valid") == 1 {
            self.free(cycle, model.get("freed_words") as usize);
        }
        let rows = model.get("freed_rows") as usize;
        if rows > 0 {
            self.free_rows(rows);
        }
    }

    /// The rows of the oldest job are given back: they are as good as overwritten.
    fn free_rows(&mut self, rows: usize) {
        let job = self.jobs.pop_front().expect("a job that was not given back");
        assert_eq!(rows, job.words, "rows of the job at {}", job.start);
        let early = self.in_flight.values().find(|d| (job.low..job.high).contains(&d.addr));
        assert_eq!(early, None, "the job at {} is still being read", job.start);
        for k in 0..rows {
            let row = (job.start + k) % COLUMN_ROWS;
            let noise = self.random.bytes(COLUMN_ROW);
            self.columns[row * COLUMN_ROW..][..COLUMN_ROW].copy_from_slice(&noise);
        }
        self.freed_rows += rows;
    }

    fn take(&mut self, cycle: u64, descriptor: Descriptor) {
        assert!((1..=4096).contains(&descriptor.len), "{descriptor:?}");
        let end = descriptor.ram + descriptor.len;
        assert!(end <= STORE_WORDS * WORD, "{descriptor:?} goes beyond the memory");
        let before = self.in_flight.insert(descriptor.tag, descriptor.clone());
        assert_eq!(before, None, "tag {} is in flight", descriptor.tag);
        self.most_in_flight = self.most_in_flight.max(self.in_flight.len());
        let words = descriptor.ram / WORD..=(end - 1) / WORD;
        let mut missing = VecDeque::new();
        for word in words {
            self.wanted[word % 2].push_back((descriptor.sel, (word / 2) as u64));
            missing.push_back(word % 2);
        }
        self.descriptors.push((cycle, descriptor.clone()));
        self.reading.push_back(Reading { descriptor, missing, bytes: vec![] });
    }

    /// Gives the oldest frame back: its words are overwritten with random bytes.
    fn free(&mut self, cycle: u64, words: usize) {
        let frame = self.frames.pop_front().expect("a frame that was not given back");
        assert_eq!(words, frame.words, "words of the frame at {}", frame.start);
        let early = self.in_flight.values().find(|d| (frame.low..frame.high).contains(&d.addr));
        assert_eq!(early, None, "the frame at {} is still being read", frame.start);
        for k in 0..words {
            let word = (frame.start + k) % STORE_WORDS;
            let noise = self.random.bytes(WORD);
            self.store[word * WORD..][..WORD].copy_from_slice(&noise);
        }
        self.freed += words;
        self.freed_at.push(cycle);
    }
}
