//! Finds how wide a gap is worth reading through on the column path, so that the host's two limits are reached
//! together.
//!
//! A host limits the number of DMA reads in flight, and the number of their bytes. Where reads are short, their number
//! is the limit, and reading through wider gaps makes fewer of them. Where reads are long, their bytes are the limit,
//! and skipping narrower gaps reads fewer. Bytes are fetched fastest where both limits are reached, that is, where the
//! mean read is as long as the one limit divided by the other (`READ_BALANCE`). There exactly one width of gap is worth
//! a read, and no greater width.
//!
//! The block adds up how far the lengths of all reads, those of indexes and requests included, lie from a *middle*,
//! which is 24 B above that mean. It moves the *gap* by 16 B when the sum is far off: up below -16 KiB, down above 64
//! KiB. Each read also moves the sum 40 B towards 0, so that the gap stays while the mean of the reads is between 16 B
//! less and 64 B more than the balance. The gap goes down later and more slowly than up, because reads that are too
//! short cost more than reads that are too long.
//!
//! Where all gaps are equally wide, as in a bitmap with every second bit set, they are all read through or none is
//! (only those of adjacent rows are in any case, see *planner*): a step down makes all reads too short, and
//! the gap goes up again. A gap from which it went up is therefore remembered as too narrow. The step down to it is
//! tried anew only when the sum has been far above for the 2nd time, then for the 4th and from then on for the 8th
//! time. When reads turn out to be too long at that gap, it is forgotten.
//!
//! **Throughput.** Two reads a cycle, one of each port.
//!
//! **Latency.** A read counts after 4 cycles.

use drdma_emit::prelude::*;

/// Bits of the sum, a signed number.
const SUM: usize = 18;
/// Distance of the middle from the balance in bytes.
const MIDDLE: u64 = 24;
/// Bytes by which each read moves the sum towards 0.
const DECAY: u64 = 40;
/// The gap after a reset, in steps of 16 B: 96 B.
const START: u64 = 6;
/// The widest gap, in steps of 16 B.
const WIDEST: u64 = 31;

/// Balance of reads; see the module.
///
/// # Inputs
/// `data_valid`, `data_bytes`, `control_valid`, `control_bytes` (a read of each port is made; at most 4,096 B, which
/// the shell cuts every 512 B), `mean` (bytes that reads should have on average, at most 511; 0: any), `hold` (reads
/// are planned otherwise).
///
/// # Outputs
/// `gap`: bytes, a multiple of 16 from 16 to 496; 4,095 if `mean` is 0.
#[derive(LogicBlock, BlockDefault)]
pub struct Balance {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A read of data is made.
    pub data_valid: Signal<In, Bit>,
    /// Bytes of the read of data, at most 4,096.
    pub data_bytes: Signal<In, Bits<13>>,
    /// A read of anything else is made.
    pub control_valid: Signal<In, Bit>,
    /// Bytes of that other read, at most 4,096.
    pub control_bytes: Signal<In, Bits<13>>,
    /// Bytes that a read should have on average; 0: any.
    pub mean: Signal<In, Bits<9>>,
    /// Requests with fetch plans of their own are at work: the gap stays.
    pub hold: Signal<In, Bit>,
    /// Widest gap in bytes that is worth reading through.
    pub gap: Signal<Out, Bits<13>>,

    // A read of each port: its bytes, and the number of reads that the shell makes of it.
    valid: [DFF<Bit>; 2],
    bytes: [DFF<Bits<13>>; 2],
    count: [DFF<Bits<4>>; 2],
    // Bytes by which the read is longer than it should be.
    share: [DFF<Bits<SUM>>; 2],
    long: [DFF<Bits<SUM>>; 2],
    shared: [DFF<Bit>; 2],
    excess: DFF<Bits<SUM>>,
    read: DFF<Bit>,
    sum: DFF<Bits<SUM>>,
    steps: DFF<Bits<5>>,
    /// A gap that was too narrow, in steps; 0: none.
    narrow: DFF<Bits<5>>,
    /// Times that a step down to it is put off, and times that it was.
    patience: DFF<Bits<3>>,
    waited: DFF<Bits<3>>,
    /// The sum was last far below.
    rising: DFF<Bit>,
    /// The step down is not put off.
    falls: Signal<Local, Bit>,
    high: Signal<Local, Bit>,
    low: Signal<Local, Bit>,
    decay: Signal<Local, Bits<SUM>>,
    /// The middle, for each bit of the count.
    part: [Signal<Local, Bits<SUM>>; 8],
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
            for k in 0..4 {
                self.part[4 * p + k].next = 0.into();
                if self.count[p].q.val().get_bit(k) {
                    self.part[4 * p + k].next =
                        bit_cast::<SUM, 10>(self.middle.q.val()) << k.to_bits::<4>();
                }
            }
            self.share[p].d.next = (self.part[4 * p].val() + self.part[4 * p + 1].val())
                + (self.part[4 * p + 2].val() + self.part[4 * p + 3].val());
            self.delta[p].next = 0.into();
            if self.shared[p].q.val() {
                self.delta[p].next = self.long[p].q.val() - self.share[p].q.val();
            }
        }
        self.excess.d.next = self.delta[0].val() + self.delta[1].val();
        self.read.d.next = (self.shared[0].q.val() || self.shared[1].q.val()) && !self.held.q.val();

        // The sum is 64 KiB or more, or less than -16 KiB.
        self.high.next = !self.sum.q.val().get_bit(17) && self.sum.q.val().get_bit(16);
        self.low.next = self.sum.q.val().get_bit(17) && !self.sum.q.val().get_bits::<3>(14).all();
        self.decay.next = bits::<SUM>(0) - DECAY;
        if self.sum.q.val().get_bit(17) {
            self.decay.next = DECAY.into();
        }
        if self.read.q.val() {
            self.sum.d.next = self.sum.q.val() + self.excess.q.val() + self.decay.val();
        }
        if self.high.val() || self.low.val() {
            self.sum.d.next = 0.into();
        }
        self.falls.next = (self.steps.q.val() != self.narrow.q.val() + 1)
            || (self.waited.q.val() == self.patience.q.val());
        if self.high.val() {
            self.rising.d.next = false;
            self.waited.d.next = self.waited.q.val() + 1;
            if self.falls.val() {
                self.waited.d.next = 0.into();
            }
            if self.falls.val() && (self.steps.q.val() != 1) {
                self.steps.d.next = self.steps.q.val() - 1;
            }
            if self.steps.q.val() <= self.narrow.q.val() {
                self.narrow.d.next = 0.into();
                self.patience.d.next = 0.into();
            }
        }
        if self.low.val() {
            self.rising.d.next = true;
            if self.steps.q.val() != WIDEST {
                self.steps.d.next = self.steps.q.val() + 1;
            }
            // Reads that were planned before the gap went up may move it up further.
            if !self.rising.q.val() {
                self.waited.d.next = 0.into();
                self.narrow.d.next = self.steps.q.val();
                self.patience.d.next = 1.into();
                if self.narrow.q.val() == self.steps.q.val() {
                    self.patience.d.next = (self.patience.q.val() << 1) | 1;
                }
            }
        }
        self.gap.next = bit_cast::<13, 5>(self.steps.q.val()) << 4;
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
            self.steps.d.next = START.into();
            self.narrow.d.next = 0.into();
            self.patience.d.next = 0.into();
            self.waited.d.next = 0.into();
            self.rising.d.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Library;
    use drdma_verilated::testbench::{Bench, Random};
    use std::collections::VecDeque;

    fn library() -> Library {
        testing::library("balance", Balance::default)
    }

    /// The sum and the gap that reads lead to, by the definition.
    #[derive(Default)]
    struct Expected {
        mean: i64,
        sum: i64,
        steps: i64,
        /// The gap that was too narrow, and how often the step down to it is, and was, put off.
        narrow: i64,
        patience: i64,
        waited: i64,
        rising: bool,
    }

    impl Expected {
        /// The reads of a cycle.
        fn count(&mut self, lens: &[i64]) {
            let off = |len: &i64| len - (self.mean + 24) * ((len + 511) / 512);
            self.sum += lens.iter().map(off).sum::<i64>() + if self.sum < 0 { 40 } else { -40 };
            if self.sum >= 64 << 10 {
                self.sum = 0;
                self.rising = false;
                if self.steps == self.narrow + 1 && self.waited < self.patience {
                    self.waited += 1;
                    return;
                }
                self.waited = 0;
                if self.steps <= self.narrow {
                    (self.narrow, self.patience) = (0, 0);
                }
                self.steps = (self.steps - 1).max(1);
            }
            if self.sum < -(16 << 10) {
                self.sum = 0;
                if !self.rising {
                    let again = self.narrow == self.steps;
                    self.patience = if again { (2 * self.patience + 1).min(7) } else { 1 };
                    (self.narrow, self.waited) = (self.steps, 0);
                }
                self.rising = true;
                self.steps = (self.steps + 1).min(31);
            }
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
            let mut expected = Expected { mean, steps: 6, ..Expected::default() };
            let mut seen = [false; 32];
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
                assert_eq!(bench.get("gap"), 16 * expected.steps as u64, "{round}");
                seen[expected.steps as usize] = true;
            }
            assert!(mean != 256 || seen[1..].iter().all(|seen| *seen), "{seen:?}");
        }
    }

    /// Every second row of 32 B: read through all gaps, reads have 480 B; through none, 32 B. Reads are planned some
    /// time before they are made.
    #[test]
    fn gaps_that_are_equally_wide_are_seldom_found_too_narrow() {
        let mut bench = Bench::new(library().instance(1), 1);
        bench.set("mean", 256);
        bench.limit(300_000);
        let mut planned = VecDeque::from([480; 200]);
        let mut rows = [0, 0];
        for _ in 0..40_000 {
            planned.push_back(if bench.get("gap") >= 32 { 480 } else { 32 });
            let len = planned.pop_front().expect("200 reads wait");
            rows[usize::from(len == 480)] += (len + 32) / 64;
            reads(&mut bench, [Some(len), None]);
        }
        let [short, long] = rows;
        println!("{short} rows by short reads, {long} by long ones");
        // A row of a short read needs one of 64 tags; one of a long read 60 B of 16 KiB, a quarter of that.
        assert!(short > 0 && 64 * short < long, "{short} rows by short reads, {long} by long ones");
    }

    #[test]
    fn reads_that_are_balanced_leave_the_gap_alone() {
        let library = library();
        for (len, gap) in
            [(128, 496), (200, 496), (248, 96), (280, 96), (312, 96), (400, 16), (512, 16)]
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
        assert_eq!(bench.get("gap"), 96);
        bench.set("hold", 0);
        (0..2_000).for_each(|_| reads(&mut bench, [Some(64), Some(64)]));
        assert_eq!(bench.get("gap"), 496);
        bench.set("mean", 0);
        reads(&mut bench, [None, None]);
        assert_eq!(bench.get("gap"), 4095);
    }
}
