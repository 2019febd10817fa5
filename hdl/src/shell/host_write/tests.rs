use super::HostWrite;
use crate::testing;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use engine::{COLUMN_ROW, COLUMN_ROWS, COLUMNS_AT, Engine, Frame, STORE_WORDS};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

mod engine;
mod with_completion;

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

/// An order of `bytes` bytes from `ram` on.
fn order(addr: u64, ram: usize, bytes: usize) -> Beat {
    Beat::from([("addr", addr), ("ram", ram as u64), ("bytes", bytes as u64)])
}

/// The writer with the engine, the frame store and a receive path.
struct Card<'a> {
    bench: Bench<'a>,
    engine: Rc<RefCell<Engine>>,
    order: DriverId,
    write: DriverId,
    receipt: MonitorId,
}

impl Card<'_> {
    fn new(library: &Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        let engine = Engine::attach(&mut bench, seed, stalls.1);
        let (order, write) = (bench.driver("order"), bench.driver("write"));
        let receipt = bench.monitor("receipt");
        bench.stall(stalls);
        Self { bench, engine, order, write, receipt }
    }
}

/// Frames come into the store as there is room, and go to host memory in pieces; some complete a receive.
struct Traffic {
    random: Random,
    /// Words that frames took so far.
    used: usize,
    /// Rows of the memory of columns that jobs took so far.
    used_rows: usize,
    addr: u64,
    frames: u64,
    /// Expected contents of host memory: bytes by address, one entry an order.
    expected: Vec<(u64, Vec<u8>)>,
    /// Receipts in order: the receipt, and the end of the bytes of its order and of all orders before it.
    receipts: Vec<(Word, u64)>,
}

impl Traffic {
    fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed ^ 0x5eed),
            used: 0,
            used_rows: 0,
            addr: 0x7_0000_0fc1,
            frames: 0,
            expected: vec![],
            receipts: vec![],
        }
    }

    /// Gives an order for another job of columns, if there is room for it.
    fn job(&mut self, card: &mut Card<'_>) {
        let rows = 1 + self.random.below(40) as usize;
        let mut engine = card.engine.borrow_mut();
        if self.used_rows + rows - engine.freed_rows > COLUMN_ROWS {
            return;
        }
        let start = self.used_rows % COLUMN_ROWS;
        self.used_rows += rows;
        let noise = self.random.bytes(rows * COLUMN_ROW);
        for (k, row) in noise.chunks_exact(COLUMN_ROW).enumerate() {
            let at = (start + k) % COLUMN_ROWS * COLUMN_ROW;
            engine.columns[at..][..COLUMN_ROW].copy_from_slice(row);
        }
        let low = self.addr;
        let runs = 1 + self.random.below(16);
        for number in 0..runs {
            let last = number + 1 == runs;
            let from = self.random.below(noise.len() as u64) as usize;
            let bytes = self.random.below((noise.len() - from).min(4096) as u64 + 1) as usize;
            let place = (start * COLUMN_ROW + from) % (COLUMN_ROWS * COLUMN_ROW);
            let mut beat = order(self.addr, COLUMNS_AT + place, bytes)
                .with("column", 1_u64)
                .with("rows", if last { rows as u64 } else { 0 });
            if bytes > 0 {
                self.expected.push((self.addr, noise[from..from + bytes].to_vec()));
            }
            self.addr += bytes as u64;
            if last && self.random.chance(0.4) {
                let receipt = self.random.word(278);
                beat = beat.with("completes", 1_u64).with("receipt", &receipt);
                self.receipts.push((receipt, self.addr));
            }
            card.bench.send(card.order, beat);
        }
        self.addr += self.random.below(100);
        engine.jobs.push_back(Frame { words: rows, start, low, high: self.addr });
    }

    /// Gives orders for another frame, if there is room for it.
    fn frame(&mut self, card: &mut Card<'_>) {
        let most = if self.random.chance(0.3) { 66 } else { 4 };
        let words = 1 + self.random.below(most) as usize;
        let mut engine = card.engine.borrow_mut();
        if self.used + words - engine.freed > STORE_WORDS {
            return;
        }
        let start = self.used % STORE_WORDS;
        self.used += words;
        self.frames += 1;
        let noise = self.random.bytes(words * 64);
        for (k, word) in noise.chunks_exact(64).enumerate() {
            let at = (start + k) % STORE_WORDS * 64;
            engine.store[at..][..64].copy_from_slice(word);
        }
        let low = self.addr;
        let orders = 1 + self.random.below(3);
        for number in 0..orders {
            let last = number + 1 == orders;
            let from = self.random.below(noise.len() as u64) as usize;
            let most = (noise.len() - from).min(4096) as u64;
            let bytes = match self.random.below(4) {
                0 => 0,
                1 => most as usize,
                _ => self.random.below(most + 1) as usize,
            };
            let mut beat = order(self.addr, (start * 64 + from) % (STORE_WORDS * 64), bytes)
                .with("frame_end", u64::from(last))
                .with("words", words as u64);
            if bytes > 0 {
                self.expected.push((self.addr, noise[from..from + bytes].to_vec()));
            }
            self.addr += bytes as u64;
            if self.random.chance(0.4) {
                let receipt = self.random.word(278);
                beat = beat.with("completes", 1_u64).with("receipt", &receipt);
                self.receipts.push((receipt, self.addr));
            }
            card.bench.send(card.order, beat);
        }
        self.addr += self.random.below(100);
        let high = self.addr;
        engine.frames.push_back(Frame { words, start, low, high });
    }
}

#[test]
fn payload_and_completions_arrive_whole_and_in_order_and_frames_go_back() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut card = Card::new(&library, seed, stalls);
        card.bench.limit(400_000);
        let mut traffic = Traffic::new(seed);
        let mut random = Random::new(seed);
        // Lines: 1 << 40 those of receipts, 1 << 41 those of sends.
        let mut lines = Vec::new();
        let mut told = Vec::new();
        while told.len() < 300 || traffic.frames < 500 {
            if card.bench.pending(card.order) < 3 {
                match random.chance(0.3) {
                    true => traffic.job(&mut card),
                    false => traffic.frame(&mut card),
                }
            }
            for beat in card.bench.take(card.receipt) {
                lines.push(((1 << 40) + 32 * told.len() as u64, random.word(256)));
                card.bench.send_all(card.write, beats(&lines[lines.len() - 1..]));
                told.push(beat);
            }
            if random.chance(0.1) && card.bench.pending(card.write) < 2 {
                lines.push(((1 << 41) + 32 * lines.len() as u64, random.word(256)));
                card.bench.send_all(card.write, beats(&lines[lines.len() - 1..]));
            }
            card.bench.step();
        }
        card.bench.run_until(|bench| bench.pending(card.order) + bench.pending(card.write) == 0);
        let before = told.len();
        while card.bench.get("busy") == 1 || !card.engine.borrow().is_idle() {
            told.extend(card.bench.take(card.receipt));
            card.bench.step();
        }
        card.bench.run(10);
        let engine = card.engine.borrow();

        // Contents of host memory.
        let mut memory: Vec<_> = engine.written.clone();
        let (mut payload, mut entries) = (Vec::new(), BTreeMap::new());
        for (addr, bytes) in memory.drain(..) {
            match addr >> 40 {
                0 => payload.extend((addr..).zip(bytes)),
                _ => assert_eq!(entries.insert(addr, Word::from_bytes(&bytes)), None),
            }
        }
        let expected = traffic.expected.iter();
        let expected = expected.flat_map(|(addr, bytes)| (*addr..).zip(bytes.iter().copied()));
        assert!(payload.into_iter().eq(expected), "payload, in the order of orders");
        assert!(entries.into_iter().eq(lines.iter().cloned().collect::<BTreeMap<_, _>>()));

        // Receipts, each with its line behind its payload.
        assert_eq!(told.len(), traffic.receipts.len());
        for (beat, (receipt, _)) in told.iter().zip(&traffic.receipts) {
            assert_eq!(beat.get("cq"), &receipt.bits(0, 10));
            assert_eq!(beat.get("qp"), &receipt.bits(10, 12));
            assert_eq!(beat.get("line"), &receipt.bits(22, 256));
        }
        let mut place = 0;
        for (_, descriptor) in &engine.descriptors {
            match descriptor.addr >> 40 {
                0 => place = descriptor.addr + descriptor.len as u64,
                1 => {
                    let number = (descriptor.addr & 0xffff_ffff) / 32;
                    assert!(number < before as u64);
                    let behind = traffic.receipts[number as usize].1;
                    let written = traffic.expected.iter().rfind(|(addr, _)| *addr < behind);
                    let end = written.map_or(0, |(addr, bytes)| addr + bytes.len() as u64);
                    assert!(place >= end, "the line of receipt {number} overtook its payload");
                }
                _ => {}
            }
        }
        assert!(engine.frames.is_empty(), "{} frames were not given back", engine.frames.len());
        assert!(traffic.used > 2 * STORE_WORDS, "frames wrap");
        assert!(engine.jobs.is_empty(), "{} jobs were not given back", engine.jobs.len());
        assert!(traffic.used_rows > 2 * COLUMN_ROWS, "jobs wrap");
    }
}

#[test]
fn a_word_is_written_before_it_is_told_and_takes_turns_with_orders() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut card = Card::new(&library, seed, stalls);
        let word = card.bench.driver("word");
        let done = card.bench.monitor("word_done");
        let mut random = Random::new(seed);
        let lines = entries(&mut random, 60);
        card.bench.send_all(card.write, beats(&lines));
        for k in 0..60 {
            card.bench.send(card.order, order(0x1000 + 64 * k, 64 * k as usize, 64));
        }
        let (mut sent, mut told) = (Vec::new(), Vec::new());
        while told.len() < 100 {
            if sent.len() < 100 && sent.len() - told.len() < 32 && random.chance(0.2) {
                let (addr, data) = (8 * sent.len() as u64, random.u64());
                let slot = sent.len() as u64 % 32;
                card.bench.send(word, Beat::from([("addr", addr), ("data", data), ("slot", slot)]));
                sent.push((addr, data.to_le_bytes().to_vec()));
            }
            card.bench.step();
            let engine = card.engine.borrow();
            for beat in card.bench.take(done) {
                // Slots are reported in any order, each when its write has been read.
                let slot = beat.u64("slot") as usize;
                let nth = told.iter().filter(|of| **of == slot).count();
                let of = &sent[nth * 32 + slot];
                assert!(engine.written.contains(of), "word {slot} is told and not written");
                told.push(slot);
            }
        }
        card.bench.run_until(|bench| bench.pending(card.order) + bench.pending(card.write) == 0);
        card.bench.run_until(|bench| bench.get("busy") == 0);
        let engine = card.engine.borrow();
        assert_eq!(engine.written.len(), 60 + 60 + 100);
        assert_eq!(card.bench.take(done).len(), 0);
        // A reset of the card forgets the writes that are in flight.
        drop(engine);
        card.engine.borrow_mut().status = false;
        card.bench.send(word, Beat::from([("addr", 8_u64), ("data", 1), ("slot", 3)]));
        card.bench.run(50);
        card.bench.set("card_reset", 1_u64);
        card.bench.run(16);
        card.bench.set("card_reset", 0_u64);
        card.engine.borrow_mut().status = true;
        card.bench.run(300);
        assert_eq!(card.bench.take(done).len(), 0);
        assert_eq!(card.bench.get("busy"), 0);
    }
}

#[test]
fn an_order_at_the_end_of_the_store_becomes_two_descriptors() {
    let library = library();
    // Bytes from the order's start to the store's end, bytes of the order, bytes of its pieces.
    for (before, bytes, pieces) in [
        (4096, 4096, vec![4096]),
        (4095, 4096, vec![4095, 1]),
        (1, 4096, vec![1, 4095]),
        (64, 65, vec![64, 1]),
        (64, 64, vec![64]),
        (1, 1, vec![1]),
        (64, 0, vec![]),
    ] {
        let mut card = Card::new(&library, 3, (0.0, 0.0));
        let mut beat = order(u64::MAX - 5000, STORE_WORDS * 64 - before, bytes);
        for (field, value) in [("frame_end", 1), ("words", 66), ("completes", 1)] {
            beat.set(field, value as u64);
        }
        card.engine.borrow_mut().frames.push_back(Frame { words: 66, start: 0, low: 0, high: 0 });
        card.bench.send(card.order, beat);
        card.bench.run(200);
        assert_eq!(card.bench.received(card.receipt).len(), 1);
        let engine = card.engine.borrow();
        let found: Vec<_> =
            engine.descriptors.iter().map(|(_, d)| (d.addr, d.ram, d.len)).collect();
        let mut expected = Vec::new();
        let (mut addr, mut ram) = (u64::MAX - 5000, STORE_WORDS * 64 - before);
        for len in pieces {
            expected.push((addr, ram, len));
            (addr, ram) = (addr + len as u64, 0);
        }
        assert_eq!(found, expected);
        assert_eq!(engine.freed, 66, "{before} before the end");
    }
}

#[test]
fn sixty_four_writes_are_in_flight_and_one_is_taken_per_cycle() {
    let mut card = Card::new(&library(), 1, (0.0, 0.0));
    card.engine.borrow_mut().status = false;
    let entries = entries(&mut Random::new(1), 150);
    card.bench.run(10);
    assert_eq!(card.bench.get("busy"), 0);
    card.bench.send_all(card.write, beats(&entries));
    card.bench.run(200);
    assert_eq!(card.bench.sent_at(card.write), (10..74).collect::<Vec<_>>());
    assert_eq!(card.engine.borrow().most_in_flight, 64);
    assert_eq!(card.engine.borrow().descriptors[0].0, 11, "a descriptor a cycle later");
    assert_eq!(card.bench.get("busy"), 1);
    card.engine.borrow_mut().status = true;
    card.bench.run(300);
    assert_eq!(card.bench.sent_at(card.write).len(), 150);
    assert_eq!(card.bench.get("busy"), 0);
    // Answers: the engine takes a row a cycle of each segment, 3 cycles after its command.
    let engine = card.engine.borrow();
    assert_eq!(engine.answered[0] - engine.commands[0], 3);
    let times: Vec<_> = engine.commands[..60].to_vec();
    assert!(times.windows(3).all(|t| t[2] - t[0] <= 2), "{times:?}");
}

#[test]
fn an_order_a_cycle_and_in_turns_with_lines() {
    let mut card = Card::new(&library(), 2, (0.0, 0.0));
    for k in 0..40 {
        let beat = order(0x1000 + 64 * k, 64 * k as usize, 64).with("completes", 1_u64);
        card.bench.send(card.order, beat);
    }
    card.bench.run(60);
    let sent = card.bench.sent_at(card.order).to_vec();
    assert_eq!(sent, (0..40).collect::<Vec<_>>());
    assert_eq!(card.engine.borrow().descriptors[0].0, 2, "an order's descriptor");
    assert_eq!(card.bench.received_at(card.receipt)[0], 3, "an order's receipt");
    card.bench.run_until(|bench| bench.get("busy") == 0);
    for k in 0..20 {
        card.bench.send(card.order, order(0x1000 + 64 * k, 64 * k as usize, 64));
    }
    let lines = entries(&mut Random::new(1), 20);
    card.bench.send_all(card.write, beats(&lines));
    card.bench.run_until(|bench| bench.pending(card.order) + bench.pending(card.write) == 0);
    card.bench.run(10);
    let engine = card.engine.borrow();
    let kinds: Vec<_> = engine.descriptors[41..79].iter().map(|(_, d)| d.sel).collect();
    assert!(kinds.windows(2).all(|pair| pair[0] != pair[1]), "{kinds:?}");
}

#[test]
fn lines_do_not_wait_for_receipts() {
    let mut card = Card::new(&library(), 4, (0.0, 0.0));
    card.bench.stall_monitor(card.receipt, 1.0);
    for k in 0..40 {
        let beat = order(0x1000 + 64 * k, 64 * k as usize, 64).with("completes", 1_u64);
        card.bench.send(card.order, beat);
    }
    card.bench.run(200);
    let waiting = card.bench.pending(card.order);
    assert!((20..24).contains(&waiting), "{waiting}");
    card.bench.send_all(card.write, beats(&entries(&mut Random::new(1), 100)));
    card.bench.run(400);
    assert_eq!(card.bench.pending(card.write), 0);
    card.bench.stall_monitor(card.receipt, 0.0);
    card.bench.run(100);
    assert_eq!(card.bench.received(card.receipt).len(), 40);
}

#[test]
fn the_cards_reset_forgets_frames_and_receipts_but_answers_the_engine() {
    let library = library();
    // Whether the engine takes descriptors before the reset, orders before it, and how many of them become writes.
    for (takes, orders, written) in [(true, 12, 12), (true, 1, 1), (false, 3, 2), (true, 0, 0)] {
        let mut bench = Bench::new(library.instance(orders), orders);
        let engine = Engine::attach(&mut bench, orders, 0.3);
        let order_driver = bench.driver("order");
        let beats = |from: u64, count: u64| {
            (from..from + count).map(|k| {
                let beat = order(0x1000 + 64 * k, 64 * k as usize, 64);
                beat.with("frame_end", 1_u64).with("words", 1_u64).with("completes", 1_u64)
            })
        };
        engine.borrow_mut().status = false;
        engine.borrow_mut().takes = takes;
        // No receipt is taken.
        bench.send_all(order_driver, beats(0, orders));
        bench.run(100);
        assert_eq!(bench.pending(order_driver), 0);
        bench.set("card_reset", 1_u64);
        bench.run(16);
        bench.set("card_reset", 0_u64);
        engine.borrow_mut().takes = true;
        let receipt = bench.monitor("receipt");
        // Frames after the reset, some while statuses of writes before it are still due.
        let frame = || Frame { words: 1, start: 0, low: 0, high: 0 };
        engine.borrow_mut().frames.extend((0..30).map(|_| frame()));
        bench.send_all(order_driver, beats(100, 10));
        bench.run(100);
        assert_eq!(engine.borrow().freed, 0);
        engine.borrow_mut().status = true;
        bench.send_all(order_driver, beats(110, 20));
        bench.run(400);
        assert_eq!(bench.get("busy"), 0);
        assert_eq!(bench.received(receipt).len(), 30);
        let engine = engine.borrow();
        assert_eq!((engine.freed, engine.written.len()), (30, 30 + written));
        assert!(engine.is_idle());
    }
}
