//! Finds how wide a gap is worth reading through, box by box.
//!
//! A host limits the number of DMA reads in flight, and the number of their bytes; bytes are fetched fastest where
//! both limits are reached, that is, where reads have a certain mean length (`READ_BALANCE`). The block moves the
//! width of the gap with every box that leaves: by 4 B up for each 256 B that boxes are shorter than 24 B more than
//! that mean, or down for each 256 B that they are longer. So where a single width would make all boxes too short or
//! too long, because many gaps are equally wide, the width goes to and fro across theirs, within few boxes, and reads
//! of both kinds are in flight together.
//!
//! It takes the boxes as they are planned, not as they are read: so the width does not swing with what waits in queues.
//!
//! **Throughput.** A box a cycle.
//!
//! **Latency.** A box counts after 2 cycles.

use drdma_emit::prelude::*;

/// Distance of the middle, around which the lengths of boxes are to lie, from the mean in bytes: reads that are too
/// short cost more than reads that are too long.
const MIDDLE: u64 = 24;
/// Bits of the width that count parts of a word.
const PART: usize = 8;
/// Bits of the width, in parts of a word.
const WIDTH: usize = 7 + PART;
/// The widest gap in words.
const WIDEST: u64 = 124;
/// The gap after a reset in words: 96 B.
const START: u64 = 24;

/// The gap that is worth reading through; see the module.
#[derive(LogicBlock, Default)]
pub struct Worth {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Bytes that reads should have on average, at most 511; 0: any.
    pub mean: Signal<In, Bits<9>>,
    /// The settings are a request's own: every gap is worth it, and boxes do not count.
    pub planned: Signal<In, Bit>,
    /// A box leaves.
    pub box_valid: Signal<In, Bit>,
    /// Words of the box. More than 512 B count as 512: so long are the reads that the shell makes of it.
    pub box_words: Signal<In, Bits<11>>,
    /// Widest gap in words that is worth reading through: at most 124; or 127, which is any gap, with `planned` or
    /// without a `mean`.
    pub gap: Signal<Out, Bits<7>>,

    /// A box left in the cycle before, and counts.
    counts: DFF<Bit>,
    /// Bytes by which the box is shorter than the middle; a signed number.
    lacks: DFF<Bits<11>>,
    bytes: Signal<Local, Bits<11>>,
    /// The gap, in parts of a word.
    width: DFF<Bits<WIDTH>>,
    moved: Signal<Local, Bits<17>>,
    change: Signal<Local, Bits<17>>,
}

impl Logic for Worth {
    #[hdl_gen]
    fn update(&mut self) {
        self.bytes.next = 512.into();
        if !self.box_words.val().get_bits::<4>(7).any() {
            self.bytes.next = bit_cast::<11, 7>(self.box_words.val().get_bits::<7>(0)) << 2;
        }
        // An end of a window is no box.
        self.counts.d.next = self.box_valid.val()
            && self.box_words.val().any()
            && self.mean.val().any()
            && !self.planned.val();
        self.lacks.d.next = (bit_cast::<11, 9>(self.mean.val()) + MIDDLE) - self.bytes.val();

        self.change.next = bit_cast::<17, 11>(self.lacks.q.val());
        if self.lacks.q.val().get_bit(10) {
            self.change.next = bit_cast::<17, 11>(self.lacks.q.val()) | 0x1_f800;
        }
        self.moved.next = bit_cast::<17, WIDTH>(self.width.q.val()) + self.change.val();
        if self.counts.q.val() {
            self.width.d.next = self.moved.val().get_bits::<WIDTH>(0);
            if self.moved.val().get_bit(16) {
                self.width.d.next = 0.into();
            } else if self.moved.val() > (WIDEST << PART) {
                self.width.d.next = (WIDEST << PART).into();
            }
        }
        self.gap.next = self.width.q.val().get_bits::<7>(PART);
        if self.planned.val() || !self.mean.val().any() {
            self.gap.next = 127.into();
        }
        if self.rst.val() {
            self.counts.d.next = false;
            self.width.d.next = (START << PART).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::{Bench, Random};

    /// Lets a box leave. It counts after two cycles.
    fn leave(bench: &mut Bench, words: u64) {
        bench.set("box_valid", 1);
        bench.set("box_words", words);
        bench.step();
        bench.set("box_valid", 0);
        (0..2).for_each(|_| bench.step());
    }

    #[test]
    fn the_gap_follows_the_lengths_of_boxes() {
        let library = testing::library("worth", Worth::default);
        for (seed, mean) in (1..).zip([256, 256, 1, 100, 511]) {
            let mut random = Random::new(seed);
            let mut bench = Bench::new(library.instance(seed), seed);
            bench.set("mean", mean);
            let mut width = 96 * 64;
            let mut seen = [false; 125];
            for round in 0..4_000 {
                // Times of short boxes, of long ones, and of both.
                let most = [40, 1024, 40, 129][round / 1_000];
                let words = random.below(most + 1);
                leave(&mut bench, words);
                if words > 0 {
                    let lacks = mean as i64 + 24 - (4 * words as i64).min(512);
                    width = (width + lacks).clamp(0, 496 * 64);
                }
                assert_eq!(bench.get("gap"), width as u64 / 256, "{round}");
                seen[width as usize / 256] = true;
            }
            assert!(mean != 256 || (seen[0] && seen[124]), "{seen:?}");
        }
    }

    #[test]
    fn a_plan_and_no_mean_leave_the_width_alone_and_every_gap_is_worth_it() {
        let mut bench = Bench::new(testing::library("worth", Worth::default).instance(1), 1);
        for (mean, planned) in [(256, 1), (0, 0)] {
            bench.set("mean", mean);
            bench.set("planned", planned);
            (0..100).for_each(|_| leave(&mut bench, 1));
            assert_eq!(bench.get("gap"), 127);
        }
        bench.set("mean", 256);
        leave(&mut bench, 0);
        assert_eq!(bench.get("gap"), 24, "an end of a window counts as a box");
    }
}
