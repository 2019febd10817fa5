//! What stands around the store of keys and records: host memory, keys, records, boxes, the DMA engine and the segmented
//! memory.

use super::*;

/// Bytes of the segmented memory; boxes go to the lower half, the engine's writes to the upper one.
const BYTES: usize = 128 * 1024;
const HALF: usize = BYTES / 2;
/// Bytes of a window in this test.
const WINDOW: usize = HALF / WINDOW_COUNT;
/// What lies in a window before anything is written to it.
const EMPTY: u8 = 0xee;
/// Most bytes by which boxes stay behind the keys.
const FAR: u64 = 140 * 1024;

/// How far boxes stay behind the keys.
#[derive(Clone, Copy, PartialEq)]
pub enum Load {
    /// Mostly a little.
    Ahead,
    /// Up to more than what is kept.
    Far,
}

/// What the segmented memory and the DMA engine see.
#[derive(Default)]
struct Memory {
    bytes: Vec<u8>,
    /// Writes of the engine that wait, by segment: row, enables, data.
    offered: [Option<(u64, u64, Word)>; 2],
    /// Engine's writes that were taken, less the ones that were done.
    owed: [i32; 2],
    engine: f64,
    /// Cycles in which a copy was written.
    copied_at: Vec<u64>,
}

/// A box, and whether it has left.
#[derive(Clone, Debug)]
struct Sent {
    number: usize,
    addr: u64,
    ram: u64,
    len: u64,
    passed: bool,
}

/// One key of a request: where its values lie, and how many bytes were read.
#[derive(Clone, Copy)]
struct Column {
    start: u64,
    end: u64,
}

/// The scene.
pub struct Scene<'a> {
    bench: Bench<'a>,
    random: Random,
    input: DriverId,
    output: MonitorId,
    memory: Rc<RefCell<Memory>>,
    version: u64,
    slot: u64,
    next_addr: u64,
    columns: Vec<Column>,
    /// Records that were read: address, bytes, and how many of these are not wanted.
    records: Vec<(u64, u64, u64)>,
    /// Boxes of windows that are not complete, the oldest first, with the window's number and whether its last box was
    /// sent.
    windows: VecDeque<(usize, Vec<Sent>, bool)>,
    opened: usize,
    ended: usize,
    fill: usize,
    number: usize,
    last_passed: Option<usize>,
    copied: usize,
    passed: usize,
}

/// A byte of host memory.
fn host(addr: u64, version: u64) -> u8 {
    ((addr ^ version << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as u8
}

impl Memory {
    fn drive(&mut self, model: &mut Model, random: &mut Random) {
        let (mut valid, mut rows) = (0, 0);
        let (mut enables, mut data) = (Word::zero(), Word::zero());
        for segment in 0..2 {
            if self.offered[segment].is_none() && random.chance(self.engine) {
                let row = 512 + random.below(512);
                self.offered[segment] = Some((row, random.u64(), random.word(512)));
            }
            if let Some((row, enable, line)) = &self.offered[segment] {
                valid |= 1 << segment;
                rows |= row << (10 * segment);
                enables.set_bits(64 * segment, 64, &Word::from(*enable));
                data.set_bits(512 * segment, 512, line);
            }
        }
        model.set("dma_valid", valid);
        model.set("dma_addr", rows);
        model.set_word("dma_be", &enables);
        model.set_word("dma_data", &data);
    }

    fn observe(&mut self, model: &Model, cycle: u64) {
        let (valid, ready) = (model.get("valid"), model.get("dma_ready"));
        let (rows, enables) = (model.get("row"), model.get_word("be"));
        let mut copied = false;
        for segment in 0..2 {
            let engine = self.offered[segment].is_some() && ready >> segment & 1 == 1;
            let at = |row: u64, byte: usize| row as usize * 128 + segment * 64 + byte;
            if model.get("dma_done") >> segment & 1 == 1 {
                self.owed[segment] -= 1;
            }
            assert!((0..=1).contains(&self.owed[segment]), "a `done` for each write");
            if valid >> segment & 1 == 1 {
                let row = rows >> (10 * segment) & 1023;
                let data = model.get_word("data").bits(512 * segment, 512).to_bytes(64);
                copied |= !engine;
                assert_eq!(engine, row >= 512, "row {row} of segment {segment}");
                for byte in (0..64).filter(|byte| enables.bit(64 * segment + byte)) {
                    self.bytes[at(row, byte)] = data[byte];
                }
            }
            if engine {
                let (row, enable, line) = self.offered[segment].take().expect("a write");
                let line = line.to_bytes(64);
                for byte in (0..64).filter(|byte| enable >> byte & 1 == 1) {
                    assert_eq!(self.bytes[at(row, byte)], line[byte], "a write of the engine");
                }
                self.owed[segment] += 1;
            }
        }
        if copied {
            self.copied_at.push(cycle);
        }
    }
}

impl<'a> Scene<'a> {
    pub fn new(library: &Library, seed: u64, stalls: (f64, f64), engine: f64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        let (input, output) = (bench.driver("reads"), bench.monitor("read"));
        bench.stall(stalls);
        bench.limit(2_000_000);
        let memory = Memory { bytes: vec![EMPTY; BYTES], engine, ..Memory::default() };
        let memory = Rc::new(RefCell::new(memory));
        let (driven, seen) = (memory.clone(), memory.clone());
        let mut random = Random::new(seed + 100);
        bench.before(move |model, _| driven.borrow_mut().drive(model, &mut random));
        bench.observe(move |model, cycle| seen.borrow_mut().observe(model, cycle));
        Self {
            bench,
            random: Random::new(seed),
            input,
            output,
            memory,
            version: 0,
            slot: 0,
            next_addr: 1 << 30,
            columns: Vec::new(),
            records: Vec::new(),
            windows: VecDeque::new(),
            opened: 0,
            ended: 0,
            fill: 0,
            number: 0,
            last_passed: None,
            copied: 0,
            passed: 0,
        }
    }

    pub fn copied(&self) -> usize {
        self.copied
    }

    pub fn passed(&self) -> usize {
        self.passed
    }

    pub fn sent(&self) -> usize {
        self.number
    }

    /// A cycle, and what left in it.
    fn step(&mut self) {
        self.bench.step();
        self.bench.set("beat_valid", 0);
        self.bench.set("record_valid", 0);
        self.bench.set("release_valid", 0);
        for left in self.bench.take(self.output) {
            let slot = left.u64("window") as usize;
            let window = self.windows.iter_mut().find(|w| w.0 % WINDOW_COUNT == slot);
            let (_, boxes, _) = window.expect("an open window");
            if left.u64("len") > 0 {
                let found = boxes.iter_mut().find(|b| {
                    (b.addr, b.ram, b.len, b.passed)
                        == (left.u64("addr"), left.u64("ram"), left.u64("len"), false)
                });
                let found = found.expect("a box that was sent");
                found.passed = true;
                assert!(self.last_passed.is_none_or(|last| last < found.number), "order");
                self.last_passed = Some(found.number);
                self.passed += 1;
            }
            if left.u64("window_end") == 1 {
                let (number, boxes, complete) = self.windows.pop_front().expect("a window");
                assert_eq!(number % WINDOW_COUNT, slot, "windows end in order");
                assert!(complete, "window {number} ends before its last box");
                self.check(number, &boxes);
                self.ended += 1;
            }
        }
    }

    /// All boxes of a window that did not pass have been copied, and nothing else was written.
    fn check(&mut self, number: usize, boxes: &[Sent]) {
        let base = number % WINDOW_COUNT * WINDOW;
        let mut expected = vec![EMPTY; WINDOW];
        for sent in boxes.iter().filter(|b| !b.passed && b.len > 0) {
            self.copied += 1;
            for byte in 0..sent.len {
                expected[(sent.ram + byte) as usize - base] = host(sent.addr + byte, self.version);
            }
        }
        let mut memory = self.memory.borrow_mut();
        let found = &mut memory.bytes[base..base + WINDOW];
        let wrong = expected.iter().zip(&*found).position(|(expected, found)| expected != found);
        assert_eq!(wrong, None, "window {number} {boxes:?}");
        found.fill(EMPTY);
    }

    pub fn run(&mut self, cycles: usize) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Sends a read of a key, a beat a cycle or with gaps.
    fn read_key(&mut self, key: u64, addr: u64, bytes: u64, error: bool, gaps: f64) {
        let mut at = 0;
        while at < bytes {
            if !self.random.chance(gaps) {
                let count = (bytes - at).min(64);
                let value =
                    |k| if k < count && !error { host(addr + at + k, self.version) } else { 9 };
                let data: Vec<_> = (0..64).map(value).collect();
                self.bench.set("beat_data", Word::from_bytes(&data));
                self.bench.set("beat_first", u64::from(at == 0));
                self.bench.set("beat_addr", if at == 0 { addr } else { 0 });
                self.bench.set("beat_bytes", count);
                self.bench.set("beat_key", key);
                self.bench.set("beat_slot", self.slot);
                self.bench.set("beat_error", u64::from(error));
                self.bench.set("beat_valid", 1);
                at += 64;
            }
            self.step();
        }
    }

    /// Reads a key of the present request.
    pub fn keys(&mut self, addr: u64, bytes: u64) {
        self.read_key(0, addr, bytes, false, 0.0);
    }

    /// A record of a request is read, of which all but the first bytes are wanted; it is taken in the next cycle.
    pub fn read_record(&mut self, slot: u64, addr: u64, bytes: u64, skip: u64) {
        let data: Vec<_> =
            (0..64).map(|k| if k < bytes { host(addr + k, self.version) } else { 0xdd }).collect();
        self.bench.set("record_data", Word::from_bytes(&data));
        let fields =
            [("addr", addr), ("bytes", bytes), ("skip", skip), ("slot", slot), ("valid", 1)];
        for (name, value) in fields {
            self.bench.set(format!("record_{name}").as_str(), value);
        }
    }

    /// A random record of the present request, mostly one of an array.
    fn random_record(&mut self) {
        let random = &mut self.random;
        let bytes = 1 + random.below(64);
        let step = [40, 64, 72, 4096][random.below(4) as usize];
        let mut addr = self.next_addr + (1 << 18) + step * random.below(200);
        if random.chance(0.1) {
            addr = random.u64() >> 9;
        }
        let skip = if random.chance(0.5) { 0 } else { random.below(bytes) };
        self.records.push((addr, bytes, skip));
        self.read_record(self.slot, addr, bytes, skip);
    }

    pub fn release_slot(&mut self, slot: u64) {
        self.bench.set("release_slot", slot);
        self.bench.set("release_valid", 1);
        self.step();
    }

    /// Releases the present request.
    pub fn release(&mut self) {
        self.release_slot(self.slot);
    }

    /// Sends a box in the present window.
    pub fn send(&mut self, addr: u64, len: u64, last: bool) {
        if self.windows.back().is_none_or(|window| window.2) {
            self.windows.push_back((self.opened, Vec::new(), false));
            self.opened += 1;
            self.fill = self.random.below(128) as usize;
        }
        let (number, boxes, complete) = self.windows.back_mut().expect("an open window");
        let ram = (*number % WINDOW_COUNT * WINDOW + self.fill) as u64;
        boxes.push(Sent { number: self.number, addr, ram, len, passed: false });
        *complete = last;
        let beat = Beat::from([("addr", addr), ("ram", ram), ("len", len)])
            .with("window", (*number % WINDOW_COUNT) as u64)
            .with("window_end", u64::from(last));
        self.bench.send(self.input, beat);
        self.number += 1;
        self.fill += len as usize + self.random.below(9) as usize;
    }

    /// Sends a random box, if windows are free and boxes do not pile up.
    fn random_box(&mut self, load: Load) {
        let open = self.windows.back().is_some_and(|window| !window.2);
        if self.bench.pending(self.input) > 2 || (!open && self.opened == self.ended + WINDOW_COUNT)
        {
            return;
        }
        let random = &mut self.random;
        let most = if random.chance(0.7) { 1000 } else { 64 };
        let mut len = 1 + random.below(most);
        if open {
            len = len.min((WINDOW - self.fill.min(WINDOW)) as u64);
        }
        let full = open && self.fill + len as usize + 40 > WINDOW;
        let last = full || random.chance(0.15);
        let mut addr = random.u64() >> 8;
        if !self.columns.is_empty() && random.chance(0.8) {
            let column = self.columns[random.below(self.columns.len() as u64) as usize];
            let far = if load == Load::Far && random.chance(0.5) { FAR } else { 4000 };
            let below = random.below(far.min(column.end - column.start + 8) + 1);
            addr = (column.end + 4).saturating_sub(below + len);
        }
        if !self.records.is_empty() && random.chance(0.4) {
            let recent = self.records.len().min(100) as u64;
            let (start, bytes, skip) =
                self.records[self.records.len() - 1 - random.below(recent) as usize];
            let skipped = if random.chance(0.7) { skip } else { random.below(bytes) };
            let beyond = u64::from(random.chance(0.1));
            (addr, len) = (start + skipped, len.min(bytes - skipped + beyond));
        }
        if random.chance(0.05) {
            len = 0;
        }
        self.send(addr, len, last);
    }

    /// Some requests, one after the other, with one or two keys, and boxes over them; then the host changes its memory.
    pub fn phase(&mut self, load: Load) {
        let mut unreleased = VecDeque::new();
        for _ in 0..3 {
            self.slot = (self.slot + 1 + self.random.below(200)) % 256;
            unreleased.push_back(self.slot);
            let keys = 1 + self.random.below(2) as usize;
            let fresh: Vec<_> = (0..keys)
                .map(|_| {
                    // Sometimes on the same keys as the request before, or as before the host changed them.
                    if self.random.chance(0.5) {
                        self.next_addr += 1 << 20 | self.random.below(7);
                    }
                    let start = self.next_addr + (self.random.below(2) << 19);
                    Column { start, end: start }
                })
                .collect();
            let first = self.columns.len();
            self.columns.extend(fresh);
            let width = 1 << self.random.below(5);
            let reads = if load == Load::Far { 90 } else { 12 };
            for _ in 0..reads {
                let rows =
                    if self.random.chance(0.8) { 256 } else { 16 * (1 + self.random.below(16)) };
                for key in 0..keys {
                    let bytes = rows * width;
                    let error = self.random.chance(0.02);
                    let gaps = if self.random.chance(0.5) { 0.0 } else { 0.6 };
                    let column = self.columns[first + key];
                    self.read_key(key as u64, column.end, bytes, error, gaps);
                    self.columns[first + key].end += bytes;
                    (0..self.random.below(4)).for_each(|_| self.random_box(load));
                    for _ in 0..self.random.below(60) {
                        if self.random.chance(0.3) {
                            self.random_record();
                        }
                        self.step();
                    }
                }
                if unreleased.len() > 2 && self.random.chance(0.1) {
                    let slot = unreleased.pop_front().expect("a request");
                    self.release_slot(slot);
                }
            }
        }
        self.settle();
        while let Some(slot) = unreleased.pop_front() {
            self.release_slot(slot);
        }
        // Without keys nothing is found: what the host has written since must be read.
        self.version += 1;
        (0..20).for_each(|_| {
            self.random_box(load);
            self.step();
        });
        self.settle();
        self.columns.clear();
        self.records.clear();
        self.next_addr -= self.random.below(2) << 20;
    }

    /// All windows end.
    pub fn settle(&mut self) {
        if self.windows.back().is_some_and(|window| !window.2) {
            self.send(0, 0, true);
        }
        while !self.windows.is_empty() {
            self.step();
        }
    }

    /// Whether a box is found.
    pub fn finds(&mut self, addr: u64, len: u64) -> bool {
        let before = self.passed;
        self.send(addr, len, true);
        self.settle();
        self.passed == before
    }

    /// Passes `count` boxes of other bytes, one a cycle, and returns after how many cycles each leaves.
    pub fn other_boxes(&mut self, count: usize) -> u64 {
        let (sent, received) = (self.number, self.bench.received_at(self.output).len());
        for k in 0..count {
            self.send(1 << 60, 32, k + 1 == count);
        }
        self.settle();
        let left = &self.bench.received_at(self.output)[received..];
        let came = &self.bench.sent_at(self.input)[sent..];
        let late = left[0] - came[0];
        assert_eq!(left[count - 1] - left[0], count as u64 - 1, "one a cycle");
        late
    }

    /// Copies a box: cycles until its first write, and number of cycles in which it is written.
    pub fn copy_cycles(&mut self, addr: u64, len: u64) -> (u64, usize) {
        let sent = self.number;
        assert!(self.finds(addr, len));
        let copied_at = &self.memory.borrow().copied_at;
        (copied_at[0] - self.bench.sent_at(self.input)[sent], copied_at.len())
    }
}
