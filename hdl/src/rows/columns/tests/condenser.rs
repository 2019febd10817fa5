//! Blocks of rows that are left out, and blocks that must not be.

use super::*;
use crate::rows::columns::condenser::{BLOCK_BITS, Condenser};
use crate::rows::sequencer::record::{CONTEXT_BITS, Context};
use crate::testing;
use drdma_emit::prelude::*;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Bench, DriverId, MonitorId, STALLS};

/// The block, and a header that stays until it is used up.
#[derive(LogicBlock, Default)]
struct Held {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    merge_threshold: Signal<In, Bits<13>>,
    mask_valid: Signal<In, Bit>,
    mask_ready: Signal<Out, Bit>,
    mask_bits: Signal<In, Bits<512>>,
    mask_fetch: Signal<In, Bits<512>>,
    mask_word: Signal<In, Bits<3>>,
    mask_chunk_start: Signal<In, Bit>,
    mask_turn_end: Signal<In, Bit>,
    mask_chunk_end: Signal<In, Bit>,
    mask_last: Signal<In, Bit>,
    mask_sparse: Signal<In, Bit>,
    mask_context: Signal<In, Context>,
    header_valid: Signal<In, Bit>,
    header_ready: Signal<Out, Bit>,
    header_len: Signal<In, Bits<112>>,
    header_step: Signal<In, Bits<128>>,
    header_rows: Signal<In, Bits<13>>,
    window_valid: Signal<Out, Bit>,
    window_ready: Signal<In, Bit>,
    window_base: Signal<Out, Bits<BLOCK_BITS>>,
    kept_valid: Signal<Out, Bit>,
    kept_ready: Signal<In, Bit>,
    kept_bits: Signal<Out, Bits<512>>,
    kept_fetch: Signal<Out, Bits<512>>,
    kept_word: Signal<Out, Bits<3>>,
    kept_chunk_start: Signal<Out, Bit>,
    kept_turn_end: Signal<Out, Bit>,
    kept_chunk_end: Signal<Out, Bit>,
    kept_last: Signal<Out, Bit>,
    kept_context: Signal<Out, Context>,
    kept_shift: Signal<Out, Bits<96>>,
    idle: Signal<Out, Bit>,
    inner: Condenser,
}

impl Logic for Held {
    #[hdl_gen]
    fn update(&mut self) {
        self.inner.merge_threshold.next = self.merge_threshold.val();
        self.inner.mask_valid.next = self.mask_valid.val();
        self.mask_ready.next = self.inner.mask_ready.val();
        self.inner.mask_bits.next = self.mask_bits.val();
        self.inner.mask_fetch.next = self.mask_fetch.val();
        self.inner.mask_word.next = self.mask_word.val();
        self.inner.mask_chunk_start.next = self.mask_chunk_start.val();
        self.inner.mask_turn_end.next = self.mask_turn_end.val();
        self.inner.mask_chunk_end.next = self.mask_chunk_end.val();
        self.inner.mask_last.next = self.mask_last.val();
        self.inner.mask_sparse.next = self.mask_sparse.val();
        self.inner.mask_context.next = self.mask_context.val();
        self.inner.header_valid.next = self.header_valid.val();
        self.header_ready.next = self.inner.header_ready.val() && self.inner.header_last.val();
        self.inner.header_len.next = self.header_len.val();
        self.inner.header_step.next = self.header_step.val();
        self.inner.header_rows.next = self.header_rows.val();
        self.window_valid.next = self.inner.window_valid.val();
        self.inner.window_ready.next = self.window_ready.val();
        self.window_base.next = self.inner.window_base.val();
        self.kept_valid.next = self.inner.kept_valid.val();
        self.inner.kept_ready.next = self.kept_ready.val();
        self.kept_bits.next = self.inner.kept_bits.val();
        self.kept_fetch.next = self.inner.kept_fetch.val();
        self.kept_word.next = self.inner.kept_word.val();
        self.kept_chunk_start.next = self.inner.kept_chunk_start.val();
        self.kept_turn_end.next = self.inner.kept_turn_end.val();
        self.kept_chunk_end.next = self.inner.kept_chunk_end.val();
        self.kept_last.next = self.inner.kept_last.val();
        self.kept_context.next = self.inner.kept_context.val();
        self.kept_shift.next = self.inner.kept_shift.val();
        self.idle.next = self.inner.idle.val();
    }
}

fn library() -> Library {
    testing::library("column_condenser", Held::default)
}

/// A chunk: how wide its lanes are and lie apart, how many rows a window takes, and which rows are
/// needed.
#[derive(Clone, Debug, Default)]
struct Chunk {
    lanes: Vec<(u64, u64)>,
    rows: u64,
    sparse: bool,
    bits: Vec<bool>,
    /// For each set row of `bits`: it is selected; rows behind the end of this list are.
    selected: Vec<bool>,
    first: bool,
    last: bool,
}

impl Chunk {
    /// Empty blocks that are left out; `None`: however many there are, they are not.
    fn enough(&self, threshold: u64) -> Option<u64> {
        let least = self.lanes.iter().map(|lane| lane.1).min().expect("a lane");
        let overlaps = self.lanes.iter().any(|(len, step)| len > step);
        (!overlaps).then_some(threshold.min(4095) / (64 * least) + 1)
    }

    fn block(&self, block: u64) -> &[bool] {
        &self.bits[64 * block as usize..self.bits.len().min(64 * block as usize + 64)]
    }

    /// Needed rows from row `from` on: the selected ones among them, and all.
    fn needed(&self, from: usize, rows: &[bool]) -> [Vec<bool>; 2] {
        let selected =
            |(i, &row): (usize, &bool)| row && *self.selected.get(from + i).unwrap_or(&true);
        [rows.iter().enumerate().map(selected).collect(), rows.to_vec()]
    }

    /// The blocks with needed rows, window by window, each with its place there.
    fn windows(&self, threshold: u64) -> Vec<Vec<(u64, u64)>> {
        let most = self.rows.div_ceil(64);
        let mut windows: Vec<Vec<(u64, u64)>> = Vec::new();
        for block in 0..self.bits.len().div_ceil(64) as u64 {
            if !self.block(block).contains(&true) {
                continue;
            }
            let next = windows.last().and_then(|window| {
                let &(before, place) = window.last()?;
                let empty = block - before - 1;
                let apart = match self.enough(threshold) {
                    Some(enough) if empty >= enough => {
                        // The last rows' last word is not shared.
                        u64::from(self.block(before)[61..].contains(&true))
                    }
                    _ => empty,
                };
                let place = place + 1 + apart;
                (place < most && block - window[0].0 < 4096).then_some(place)
            });
            match next {
                Some(place) => windows.last_mut().expect("one is open").push((block, place)),
                None => windows.push(vec![(block, 0)]),
            }
        }
        windows
    }
}

fn word_of(rows: &[bool]) -> Word {
    let mut word = Word::zero();
    rows.iter().enumerate().for_each(|(i, &row)| word.set_bits(i, 1, &row.into()));
    word
}

struct Card<'a> {
    bench: Bench<'a>,
    mask: DriverId,
    header: DriverId,
    window: MonitorId,
    kept: MonitorId,
}

impl Card<'_> {
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(2_000_000);
        let (mask, header) = (bench.driver("mask"), bench.driver("header"));
        let (window, kept) = (bench.monitor("window"), bench.monitor("kept"));
        Self { mask, header, window, kept, bench }
    }

    fn send(&mut self, chunk: &Chunk, random: &mut Random) -> Word {
        let (mut len, mut step) = (Word::zero(), random.word(128));
        for (l, lane) in chunk.lanes.iter().enumerate() {
            len.set_bits(7 * l, 7, &lane.0.into());
            step.set_bits(8 * l, 8, &lane.1.into());
        }
        let header = Beat::from([("len", len), ("step", step)]).with("rows", chunk.rows);
        self.bench.send(self.header, header);
        let turn = Turn { first: chunk.first, ..Default::default() };
        let context = context(&turn, random);
        let count = chunk.bits.len().div_ceil(512);
        for (k, rows) in chunk.bits.chunks(512).enumerate() {
            let [bits, fetch] = chunk.needed(512 * k, rows).map(|rows| word_of(&rows));
            let word = if chunk.sparse { random.below(8) } else { k as u64 };
            let ends = k + 1 == count;
            let mask = Beat::from([("bits", bits), ("fetch", fetch), ("context", context.clone())])
                .with("word", word)
                .with("chunk_start", k == 0)
                .with("turn_end", ends)
                .with("chunk_end", ends)
                .with("last", ends && chunk.last)
                .with("sparse", chunk.sparse);
            self.bench.send(self.mask, mask);
        }
        context
    }

    /// Sends chunks and checks what is kept of them.
    fn run(&mut self, chunks: &[Chunk], threshold: u64, random: &mut Random) {
        self.bench.set("merge_threshold", threshold);
        let contexts: Vec<_> = chunks.iter().map(|chunk| self.send(chunk, random)).collect();
        let drivers = (self.mask, self.header);
        self.bench.run_until(|b| b.pending(drivers.0) + b.pending(drivers.1) == 0);
        self.bench.run_until(|bench| bench.get("idle") == 1);
        self.bench.run(40);
        let mut kept = self.bench.take(self.kept).into_iter();
        let mut opened = self.bench.take(self.window).into_iter();
        for (chunk, context) in chunks.iter().zip(contexts) {
            if !chunk.sparse {
                assert_eq!(opened.next().expect("a window").u64("base"), 0);
                for (k, rows) in chunk.bits.chunks(512).enumerate() {
                    let mask = kept.next().expect("a mask");
                    let ends = k == (chunk.bits.len() - 1) / 512;
                    assert_eq!(mask.u64("word"), k as u64);
                    assert_eq!(mask.u64("chunk_start") == 1, k == 0);
                    assert_eq!(mask.u64("turn_end") == 1, ends);
                    assert_eq!(mask.u64("chunk_end") == 1, ends);
                    assert_eq!(mask.u64("last") == 1, ends && chunk.last);
                    assert_eq!(mask.get("shift").bits(0, 96), Word::zero());
                    assert_eq!(mask.get("context"), &context);
                    let [bits, fetch] = chunk.needed(512 * k, rows).map(|rows| word_of(&rows));
                    assert_eq!((mask.get("bits"), mask.get("fetch")), (&bits, &fetch));
                }
                continue;
            }
            let mut windows = chunk.windows(threshold);
            let empty = windows.is_empty();
            if empty {
                // An empty window ends the destination.
                windows.push(vec![]);
            }
            let count = windows.len();
            for (w, window) in windows.into_iter().enumerate() {
                let base = opened.next().expect("a window").u64("base");
                if let Some(first) = window.first() {
                    assert_eq!(base, first.0, "the window's first block");
                }
                let mut blocks = window.into_iter().peekable();
                let mut first = true;
                loop {
                    let mask = kept.next().expect("a mask");
                    let word = mask.u64("word");
                    assert_eq!(mask.u64("chunk_start") == 1, first);
                    first = false;
                    let mut expected = context.clone();
                    if w > 0 {
                        expected.set_bits(CONTEXT_BITS - 1, 1, &0_u64.into());
                    }
                    assert_eq!(mask.get("context"), &expected);
                    let mut words = [Word::zero(), Word::zero()];
                    while let Some((block, place)) = blocks.next_if(|b| b.1 / 8 == word) {
                        let both = chunk.needed(64 * block as usize, chunk.block(block));
                        for (word, rows) in words.iter_mut().zip(both) {
                            word.set_bits(64 * (place as usize % 8), 64, &word_of(&rows));
                        }
                        let shift = mask.get("shift").bits(12 * (place as usize % 8), 12).to_u64();
                        assert_eq!(base + place + shift, block, "of place {place}");
                    }
                    let [bits, fetch] = words;
                    assert_eq!(mask.get("bits"), &bits, "word {word} of window {w}: {chunk:?}");
                    assert_eq!(mask.get("fetch"), &fetch, "word {word} of window {w}: {chunk:?}");
                    let ends = blocks.peek().is_none();
                    assert_eq!(mask.u64("turn_end") == 1, ends);
                    assert_eq!(mask.u64("chunk_end") == 1, ends);
                    assert_eq!(mask.u64("last") == 1, ends && chunk.last && w + 1 == count);
                    assert!(fetch != Word::zero() || empty, "a mask without rows");
                    if ends {
                        break;
                    }
                }
            }
        }
        assert_eq!((kept.next(), opened.next()), (None, None));
    }
}

/// Rows that are needed here and there, or in runs, or nearly all.
fn rows(count: u64, random: &mut Random) -> Vec<bool> {
    let mut bits = vec![false; count as usize];
    let (ones, zeros) = match random.below(5) {
        0 => (1, 1 + random.below(3000)),
        1 => (1 + random.below(300), 1 + random.below(20_000)),
        2 => (1 + random.below(1000), 1 + random.below(40)),
        3 => (1 + random.below(100), 1 + random.below(600)),
        _ => (1, count + 1),
    };
    let mut row = random.below(zeros);
    while row < count {
        let end = row + 1 + random.below(ones);
        (row..end.min(count)).for_each(|row| bits[row as usize] = true);
        row = end + random.below(zeros);
        if random.chance(0.3) {
            // The row begins a block: blocks that touch are a special case.
            row = row.next_multiple_of(64);
        }
    }
    bits
}

fn chunk(random: &mut Random) -> Chunk {
    let sparse = random.chance(0.7);
    let window = 1 + random.below(4096);
    let count = if sparse { 1 + random.below(40_000) } else { window };
    let lane = |random: &mut Random| {
        let most = if random.chance(0.5) { 8 } else { 128 };
        let step = 1 + random.below(most);
        let len = if random.chance(0.03) { step + 1 } else { 1 + random.below(step) };
        (len.min(64), step)
    };
    let density = [1.0, 0.5, 0.02, 0.0][random.below(4) as usize];
    Chunk {
        lanes: (0..=random.below(16)).map(|_| lane(random)).collect(),
        rows: if sparse { window.min(count) } else { window },
        sparse,
        selected: selection(count as usize, density, random),
        bits: rows(count, random),
        first: random.chance(0.5),
        last: random.chance(0.5),
    }
}

#[test]
fn needed_rows_stay_and_wide_gaps_go_under_stalls() {
    let library = library();
    let (mut kept_empty, mut left_out, mut several) = (0, 0, 0);
    for (seed, stalls) in (1..).zip((0..6).flat_map(|_| STALLS)) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed);
        card.bench.stall(stalls);
        let thresholds = [0, 3, 64, 256, 512, 1000, 4095, 4096, 8191];
        let threshold = thresholds[random.below(thresholds.len() as u64) as usize];
        let chunks: Vec<_> = (0..10).map(|_| chunk(&mut random)).collect();
        for chunk in chunks.iter().filter(|chunk| chunk.sparse) {
            let windows = chunk.windows(threshold);
            several += u32::from(windows.len() > 2);
            for pair in windows.iter().flat_map(|window| window.windows(2)) {
                let (blocks, places) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
                left_out += u32::from(places < blocks);
                kept_empty += u32::from(places == blocks && blocks > 1);
            }
        }
        card.run(&chunks, threshold, &mut random);
    }
    println!("{kept_empty} gaps kept, {left_out} left out, {several} chunks of several windows");
    assert!(kept_empty > 50 && left_out > 50 && several > 20);
}

#[test]
fn a_window_spans_4096_blocks_and_no_more() {
    let library = library();
    let mut random = Random::new(3);
    let mut card = Card::new(&library, 3);
    let chunk = |far: usize| {
        let mut bits = vec![false; 64 * (far + 1)];
        (bits[5], bits[64 * far]) = (true, true);
        Chunk { lanes: vec![(4, 4)], rows: 4096, sparse: true, bits, ..Default::default() }
    };
    assert_eq!(chunk(4095).windows(256).len(), 1);
    assert_eq!(chunk(4096).windows(256).len(), 2);
    card.run(&[chunk(4095), chunk(4096)], 256, &mut random);
}

#[test]
fn a_mask_without_rows_and_a_block_with_rows_take_a_cycle() {
    let library = library();
    let mut random = Random::new(1);
    for (every, most) in [(512 * 200, 205), (64, 1605), (128, 805), (512, 205)] {
        let mut card = Card::new(&library, 1);
        let bits: Vec<_> = (0..512 * 200).map(|row| row % every == 0).collect();
        let chunk =
            Chunk { lanes: vec![(4, 4)], rows: 1408, sparse: true, bits, ..Default::default() };
        card.run(&[chunk], 64, &mut random);
        let (sent, got) = (card.bench.sent_at(card.mask), card.bench.received_at(card.kept));
        let cycles = got[got.len() - 1] - sent[1];
        println!("a row in {every}: {cycles} cycles for 200 masks");
        assert!(cycles <= most + 8, "{cycles} cycles");
    }
}

#[test]
fn masks_that_are_not_sparse_pass_a_cycle_each() {
    let library = library();
    let mut random = Random::new(1);
    let mut card = Card::new(&library, 1);
    let chunk =
        Chunk { lanes: vec![(4, 4)], rows: 1408, bits: vec![true; 1408], ..Default::default() };
    card.run(&vec![chunk; 8], 64, &mut random);
    let (sent, got) = (card.bench.sent_at(card.mask), card.bench.received_at(card.kept));
    assert_eq!(got[0] - sent[0], 2);
    assert_eq!(got, (got[0]..got[0] + 24).collect::<Vec<_>>());
}
