//! How wide a gap is worth reading through, so that the host's two limits are reached together.
//!
//! A host allows so many DMA reads and so many of their bytes to be in flight. Where reads are short, their
//! number is the limit, and reading through wider gaps makes fewer of them; where they are long, their bytes are,
//! and skipping narrower gaps reads fewer. Bytes are fetched fastest where both limits are reached, which is where the
//! mean read is as long as the one limit divided by the other (`READ_BALANCE`): there one gap is worth a read, and
//! no wider one.
//!
//! The block adds up how far the lengths of all reads, those of indexes and requests too, lie from a *middle* 8 B above that
//! mean, and moves the *gap* when the sum is far off: up below -16 KiB, down above 32 KiB. Each
//! read takes 16 B off the sum, so that the gap stays while the mean of the reads is between 8 B less and 24 B more than the
//! balance. It goes down later than up, because reads that are too short cost more than reads that are too long. It moves by
//! 4 B; from the third move in one direction on by twice as much each time, up to 32 B, until it turns. So it is soon where it belongs, and
//! moves little there: placer and planner have a mixture of gaps, this one and up to 60 B narrower ones, so that of gaps that
//! are all equally wide a part is read through.
//!
//! **Throughput.** Two reads a cycle, one of each port.
//!
//! **Latency.** A read counts 4 cycles later.

use drdma_emit::prelude::*;

/// Bits of the sum, a signed number.
const SUM: usize = 18;
/// The middle, above the balance.
const MIDDLE: u64 = 8;
/// What each read takes off the sum.
const DECAY: u64 = 16;
/// The gap in words of 4 B after a reset: 128 B.
const START: u64 = 32;
/// The widest gap in words.
const WIDEST: u64 = 124;
/// The narrowest gap in words.
const NARROWEST: u64 = 4;
/// The most words that the gap moves by.
const WIDEST_STRIDE: u64 = 8;
/// Moves in one direction after which the next one is wider.
const PATIENCE: u64 = 2;

/// The block; see the module.
///
/// # Inputs
/// `data_valid`, `data_bytes`, `control_valid`, `control_bytes` (a read of each port is made; at most 4,096 B, which the
/// shell cuts every 512 B), `mean` (what reads should have on average, at most 511 B; 0: any), `hold` (reads are planned otherwise).
///
/// # Outputs
/// `gap`: bytes, a multiple of 4 up to 496, at least 16; 4,095 if `mean` is 0.
#[derive(LogicBlock, BlockDefault)]
pub struct Balance {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A read of data is made,
    pub data_valid: Signal<In, Bit>,
    /// of so many bytes.
    pub data_bytes: Signal<In, Bits<13>>,
    /// A read of something else is made,
    pub control_valid: Signal<In, Bit>,
    /// of so many bytes.
    pub control_bytes: Signal<In, Bits<13>>,
    /// What a read should have on average.
    pub mean: Signal<In, Bits<9>>,
    /// Requests that say themselves what is read through are at work: the gap stays.
    pub hold: Signal<In, Bit>,
    /// The widest gap that is worth reading through, in bytes.
    pub gap: Signal<Out, Bits<13>>,

    // A read of each port: its bytes and the reads that the shell makes of it.
    valid: [DFF<Bit>; 2],
    bytes: [DFF<Bits<13>>; 2],
    count: [DFF<Bits<4>>; 2],
    // How much longer it is than it should be.
    share: [DFF<Bits<SUM>>; 2],
    long: [DFF<Bits<SUM>>; 2],
    shared: [DFF<Bit>; 2],
    excess: DFF<Bits<SUM>>,
    read: DFF<Bit>,
    sum: DFF<Bits<SUM>>,
    gap_words: DFF<Bits<7>>,
    /// By so many words it moves next, if it goes on in this direction after so many moves.
    stride: DFF<Bits<4>>,
    upward: DFF<Bit>,
    moves: DFF<Bits<2>>,
    up: Signal<Local, Bit>,
    down: Signal<Local, Bit>,
    step: Signal<Local, Bits<4>>,
    more_words: Signal<Local, Bits<8>>,
    less_words: Signal<Local, Bits<8>>,
    narrow: Signal<Local, Bit>,
    high: Signal<Local, Bit>,
    low: Signal<Local, Bit>,
    decay: Signal<Local, Bits<SUM>>,
    delta: [Signal<Local, Bits<SUM>>; 2],
    held: DFF<Bit>,
    middle: DFF<Bits<10>>,
}

impl Logic for Balance {
    #[hdl_gen]
    fn update(&mut self) {
        self.held.d.next = self.hold.val();
        self.middle.d.next = bit_cast::<10, 9>(self.mean.val()) + MIDDLE;
        self.valid[0].d.next = self.data_valid.val();
        self.valid[1].d.next = self.control_valid.val();
        self.bytes[0].d.next = self.data_bytes.val();
        self.bytes[1].d.next = self.control_bytes.val();
        self.count[0].d.next = ((self.data_bytes.val() + 511) >> 9).get_bits::<4>(0);
        self.count[1].d.next = ((self.control_bytes.val() + 511) >> 9).get_bits::<4>(0);
        for p in 0..2 {
            self.shared[p].d.next = self.valid[p].q.val();
            self.long[p].d.next = bit_cast::<SUM, 13>(self.bytes[p].q.val());
            self.share[p].d.next = 0.into();
            for k in 0..4 {
                if self.count[p].q.val().get_bit(k) {
                    self.share[p].d.next = self.share[p].d.val()
                        + (bit_cast::<SUM, 10>(self.middle.q.val()) << k.to_bits::<4>());
                }
            }
            self.delta[p].next = 0.into();
            if self.shared[p].q.val() {
                self.delta[p].next = self.long[p].q.val() - self.share[p].q.val();
            }
        }
        self.excess.d.next = self.delta[0].val() + self.delta[1].val();
        self.read.d.next = (self.shared[0].q.val() || self.shared[1].q.val()) && !self.held.q.val();

        // 32 KiB or more, or less than -16 KiB.
        self.high.next = !self.sum.q.val().get_bit(17) && self.sum.q.val().get_bits::<2>(15).any();
        self.low.next = self.sum.q.val().get_bit(17) && !self.sum.q.val().get_bits::<3>(14).all();
        self.decay.next = bits::<SUM>(0) - DECAY;
        if self.sum.q.val().get_bit(17) {
            self.decay.next = DECAY.into();
        }
        if self.read.q.val() {
            self.sum.d.next = self.sum.q.val() + self.excess.q.val() + self.decay.val();
        }
        self.narrow.next = self.gap_words.q.val() == NARROWEST;
        if self.high.val() || self.low.val() {
            self.sum.d.next = 0.into();
        }
        self.up.next = self.low.val();
        self.down.next = self.high.val() && !self.narrow.val();
        // The first moves in a direction are the smallest.
        self.step.next = 1.into();
        if self.upward.q.val() == self.up.val() {
            self.step.next = self.stride.q.val();
        }
        self.more_words.next =
            bit_cast::<8, 7>(self.gap_words.q.val()) + bit_cast::<8, 4>(self.step.val());
        self.less_words.next =
            bit_cast::<8, 7>(self.gap_words.q.val()) - bit_cast::<8, 4>(self.step.val());
        if self.up.val() || self.down.val() {
            self.upward.d.next = self.up.val();
            self.moves.d.next = 1.into();
            self.stride.d.next = 1.into();
            if self.upward.q.val() == self.up.val() {
                self.stride.d.next = self.stride.q.val();
                self.moves.d.next = self.moves.q.val();
                if self.moves.q.val() != PATIENCE {
                    self.moves.d.next = self.moves.q.val() + 1;
                } else if self.stride.q.val() != WIDEST_STRIDE {
                    self.stride.d.next = self.stride.q.val() << 1;
                }
            }
        }
        if self.up.val() {
            self.gap_words.d.next = self.more_words.val().get_bits::<7>(0);
            if self.more_words.val() > WIDEST {
                self.gap_words.d.next = WIDEST.into();
            }
        }
        if self.down.val() {
            self.gap_words.d.next = self.less_words.val().get_bits::<7>(0);
            if self.less_words.val().get_bit(7) || (self.less_words.val() < NARROWEST) {
                self.gap_words.d.next = NARROWEST.into();
            }
        }
        self.gap.next = bit_cast::<13, 7>(self.gap_words.q.val()) << 2;
        if !self.mean.val().any() {
            self.gap.next = 4095.into();
        }
        if self.rst.val() {
            for p in 0..2 {
                self.valid[p].d.next = false;
                self.shared[p].d.next = false;
            }
            self.read.d.next = false;
            self.held.d.next = false;
            self.sum.d.next = 0.into();
            self.gap_words.d.next = START.into();
            self.stride.d.next = 1.into();
            self.upward.d.next = false;
            self.moves.d.next = 0.into();
        }
    }
}

/// The gap of the block of a window, or the part of a row, with this number: in turn up to 60 B less than what is worth it,
/// but 16 B at least.
#[cfg(test)]
pub fn own_gap(worth: u64, number: u64) -> u64 {
    // Numbers one after the other are far apart, and any 16 of them differ.
    const LESS: [u64; 16] = [0, 32, 16, 48, 8, 40, 24, 56, 4, 36, 20, 52, 12, 44, 28, 60];
    match worth {
        512.. => worth,
        _ => worth.saturating_sub(LESS[number as usize % 16]).max(worth.min(16)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Library;
    use drdma_verilated::testbench::{Bench, Random};
    use std::collections::BTreeSet;

    fn library() -> Library {
        testing::library("balance", Balance::default)
    }

    /// What reads come to, by the definition.
    struct Expected {
        mean: i64,
        sum: i64,
        gap: i64,
        /// Moves of the gap in one direction, of which the last one was up.
        moves: u32,
        upward: bool,
    }

    impl Expected {
        fn new(mean: i64) -> Self {
            Self { mean, sum: 0, gap: 128, moves: 0, upward: false }
        }

        /// The reads of a cycle.
        fn count(&mut self, lens: &[i64]) {
            let off = |len: &i64| len - (self.mean + 8) * ((len + 511) / 512);
            let excess = lens.iter().map(off).sum::<i64>();
            self.sum += excess + if self.sum < 0 { 16 } else { -16 };
            if self.sum >= 32 << 10 {
                self.sum = 0;
                if self.gap != 16 {
                    self.go(false);
                }
            } else if self.sum < -(16 << 10) {
                self.sum = 0;
                self.go(true);
            }
        }

        fn go(&mut self, upward: bool) {
            if self.upward != upward {
                (self.upward, self.moves) = (upward, 0);
            }
            // Two moves of 4 B, one more before it is known, then twice as much each time.
            let by = 4 << (self.moves.max(2) - 2).min(3);
            self.moves += 1;
            self.gap = (self.gap + if upward { by } else { -by }).clamp(16, 496);
        }
    }

    /// Gives the reads of a cycle, of data and of others, and lets them pass.
    fn reads(bench: &mut Bench, lens: [Option<i64>; 2]) {
        for (port, len) in ["data", "control"].into_iter().zip(lens) {
            bench.set(&*format!("{port}_valid"), u64::from(len.is_some()));
            bench.set(&*format!("{port}_bytes"), len.unwrap_or(4095) as u64);
        }
        bench.step();
        bench.set("data_valid", 0);
        bench.set("control_valid", 0);
        (0..5).for_each(|_| bench.step());
    }

    #[test]
    fn the_gap_follows_the_mean_of_all_reads() {
        let library = library();
        for (seed, mean) in (1..).zip([256, 256, 1, 100, 511]) {
            let mut random = Random::new(seed);
            let mut bench = Bench::new(library.instance(seed), seed);
            bench.set("mean", mean as u64);
            let mut expected = Expected::new(mean);
            let mut seen = BTreeSet::new();
            for round in 0..12_000 {
                // Times of short reads, of long ones, and of both.
                let most = [200, 4096, 4096, 520][round / 3_000];
                let lens =
                    [0.8, 0.3].map(|p| random.chance(p).then(|| 1 + random.below(most) as i64));
                reads(&mut bench, lens);
                let lens: Vec<i64> = lens.into_iter().flatten().collect();
                if !lens.is_empty() {
                    expected.count(&lens);
                }
                assert_eq!(bench.get("gap"), expected.gap as u64, "{round}");
                seen.insert(expected.gap);
            }
            let ends = [16, 496].iter().all(|gap| seen.contains(gap));
            assert!(mean != 256 || (ends && seen.len() > 30), "{seen:?}");
        }
    }

    #[test]
    fn reads_that_are_balanced_leave_the_gap_alone() {
        let library = library();
        for (len, gap) in
            [(128, 496), (200, 496), (248, 128), (264, 128), (280, 128), (400, 16), (512, 16)]
        {
            let mut bench = Bench::new(library.instance(1), 1);
            bench.set("mean", 256);
            (0..12_000).for_each(|_| reads(&mut bench, [Some(len), None]));
            assert_eq!(bench.get("gap"), gap, "{len} B");
        }
    }

    #[test]
    fn what_is_planned_otherwise_leaves_the_gap_alone_and_without_a_mean_there_is_none() {
        let mut bench = Bench::new(library().instance(1), 1);
        bench.set("mean", 256);
        bench.set("hold", 1);
        (0..1_000).for_each(|_| reads(&mut bench, [Some(64), Some(64)]));
        assert_eq!(bench.get("gap"), 128);
        bench.set("hold", 0);
        (0..2_000).for_each(|_| reads(&mut bench, [Some(64), Some(64)]));
        assert_eq!(bench.get("gap"), 496);
        bench.set("mean", 0);
        reads(&mut bench, [None, None]);
        assert_eq!(bench.get("gap"), 4095);
    }
}
