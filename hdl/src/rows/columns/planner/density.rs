//! How close needed rows lie, and up to which distance reads should go through.

use crate::primitive::CountOnes;
use drdma_emit::prelude::*;

/// No limit: rows that lie further apart are in two blocks.
const NO_LIMIT: u64 = 127;
/// The least limit: what the planner's words of 4 B need, whatever the step.
const LEAST: u64 = 4;

/// Counts the needed rows of a chunk as they are boxed, and gives the distance in rows up to which it is worth
/// to read through a gap in a chunk of as many: 2.75 mean distances, at least 4.
///
/// Reads in flight are limited in number and in bytes. Wide gaps that are read through spend bytes, narrow ones
/// that are not spend reads. If rows are needed at random, both run out together at about this distance, whatever
/// the rows' length; `merge_threshold` alone is right where rows are sparse.
///
/// A chunk's limit holds for the chunk after the next one, of the same half of the marks: the one between may
/// be at work already. It is known 9 cycles after its last block.
///
/// # Inputs
/// `block` (64 rows of a chunk's first group: `bits`, `half`, `last`), `half` (whose limit is asked for), `planned` (there is none).
///
/// # Outputs
/// `most`: rows, 4 to 63; 127: no limit.
#[derive(LogicBlock, BlockDefault)]
pub struct Density {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// 64 rows of a chunk are boxed for its first group.
    pub block_valid: Signal<In, Bit>,
    /// Which of them are needed.
    pub block_bits: Signal<In, Bits<64>>,
    /// The chunk's half of the marks.
    pub block_half: Signal<In, Bit>,
    /// They are its last.
    pub block_last: Signal<In, Bit>,
    /// The request at work says itself what is read through.
    pub planned: Signal<In, Bit>,
    /// The half of the chunk whose limit is asked for.
    pub half: Signal<In, Bit>,
    /// Its limit.
    pub most: Signal<Out, Bits<7>>,

    ones: CountOnes<64, 7>,
    // A block's count, a cycle later.
    counted: DFF<Bit>,
    count: DFF<Bits<7>>,
    counted_half: DFF<Bit>,
    counted_last: DFF<Bit>,
    // The chunk so far.
    needed: DFF<Bits<13>>,
    blocks: DFF<Bits<7>>,
    ended: DFF<Bit>,
    ended_half: DFF<Bit>,
    fresh: DFF<Bit>,
    // 176 times the blocks, 2.75 times the rows, by the needed rows.
    left: DFF<Bits<14>>,
    divisor: DFF<Bits<20>>,
    quotient: DFF<Bits<6>>,
    step: DFF<Bits<3>>,
    done: DFF<Bit>,
    half_at_work: DFF<Bit>,
    scaled: Signal<Local, Bits<14>>,
    many: Signal<Local, Bits<20>>,
    sparse: Signal<Local, Bit>,
    limit: Signal<Local, Bits<7>>,
    limits: [DFF<Bits<7>>; 2],
}

impl Logic for Density {
    #[hdl_gen]
    fn update(&mut self) {
        self.ones.bits.next = self.block_bits.val();
        self.counted.d.next = self.block_valid.val();
        self.count.d.next = self.ones.count.val();
        self.counted_half.d.next = self.block_half.val();
        self.counted_last.d.next = self.block_last.val();

        self.ended.d.next = self.counted.q.val() && self.counted_last.q.val();
        self.ended_half.d.next = self.counted_half.q.val();
        if self.counted.q.val() {
            self.needed.d.next = self.needed.q.val() + bit_cast::<13, 7>(self.count.q.val());
            self.blocks.d.next = self.blocks.q.val() + 1;
            if self.fresh.q.val() {
                self.needed.d.next = bit_cast::<13, 7>(self.count.q.val());
                self.blocks.d.next = 1.into();
            }
            self.fresh.d.next = self.counted_last.q.val();
        }

        // Six bits of the quotient, the highest first, if it has no more.
        self.scaled.next = (bit_cast::<14, 7>(self.blocks.q.val()) << 7)
            + (bit_cast::<14, 7>(self.blocks.q.val()) << 5)
            + (bit_cast::<14, 7>(self.blocks.q.val()) << 4);
        self.many.next = bit_cast::<20, 13>(self.needed.q.val()) << 6;
        self.done.d.next = self.step.q.val() == 1;
        self.limit.next = bit_cast::<7, 6>(self.quotient.q.val());
        if !self.quotient.q.val().get_bits::<4>(2).any() {
            self.limit.next = LEAST.into();
        }
        if self.step.q.val().any() {
            self.step.d.next = self.step.q.val() - 1;
            self.divisor.d.next = self.divisor.q.val() >> 1;
            self.quotient.d.next = self.quotient.q.val() << 1;
            if !(bit_cast::<20, 14>(self.left.q.val()) < self.divisor.q.val()) {
                self.quotient.d.next = (self.quotient.q.val() << 1) | 1;
                self.left.d.next = self.left.q.val() - self.divisor.q.val().get_bits::<14>(0);
            }
        }
        self.sparse.next =
            self.ended.q.val() && !(bit_cast::<20, 14>(self.scaled.val()) < self.many.val());
        if self.ended.q.val() {
            self.left.d.next = self.scaled.val();
            self.divisor.d.next = self.many.val() >> 1;
            self.quotient.d.next = 0.into();
            self.half_at_work.d.next = self.ended_half.q.val();
            if !self.sparse.val() {
                self.step.d.next = 6.into();
            }
        }
        for h in 0..2 {
            if self.done.q.val() && (self.half_at_work.q.val() == (h == 1)) {
                self.limits[h].d.next = self.limit.val();
            }
            if self.sparse.val() && (self.ended_half.q.val() == (h == 1)) {
                self.limits[h].d.next = NO_LIMIT.into();
            }
        }
        self.most.next = self.limits[0].q.val();
        if self.half.val() {
            self.most.next = self.limits[1].q.val();
        }
        if self.planned.val() {
            self.most.next = NO_LIMIT.into();
        }
        if self.rst.val() {
            self.counted.d.next = false;
            self.ended.d.next = false;
            self.fresh.d.next = true;
            self.step.d.next = 0.into();
            self.done.d.next = false;
            for h in 0..2 {
                self.limits[h].d.next = NO_LIMIT.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;
    use drdma_verilated::testbench::{Bench, Random};

    /// Rows up to which a distance is read through in a chunk of so many blocks.
    fn limit(needed: u64, blocks: u64) -> u64 {
        let most = (176 * blocks).checked_div(needed).unwrap_or(64);
        if most < 64 { most.max(LEAST) } else { NO_LIMIT }
    }

    #[test]
    fn limits_are_those_of_the_chunks_of_the_same_half() {
        let library = testing::library("columns_planner_density", Density::default);
        for seed in 1..=4 {
            let mut random = Random::new(seed);
            let mut bench = Bench::new(library.instance(seed), seed);
            let mut limits = [NO_LIMIT; 2];
            for chunk in 0..300 {
                let half = chunk % 2;
                let blocks =
                    [1, 1 + random.below(8), 1 + random.below(64)][random.below(3) as usize];
                let p = [0.0, 0.01, 0.1, 0.5, 0.9, 1.0][random.below(6) as usize];
                let mut needed = 0;
                for block in 0..blocks {
                    let bits = (0..64).fold(0, |bits, k| bits | u64::from(random.chance(p)) << k);
                    needed += u64::from(bits.count_ones());
                    bench.set("block_valid", 1);
                    bench.set("block_bits", Word::from(bits));
                    bench.set("block_half", half);
                    bench.set("block_last", u64::from(block + 1 == blocks));
                    bench.step();
                    bench.set("block_valid", 0);
                    bench.set("block_bits", Word::from(random.u64()));
                    for _ in 0..random.below(3) {
                        bench.step();
                    }
                }
                (0..9).for_each(|_| bench.step());
                limits[half as usize] = limit(needed, blocks);
                for half in 0..2 {
                    bench.set("half", half);
                    bench.step();
                    let most = bench.get("most");
                    assert_eq!(most, limits[half as usize], "{needed} rows of {blocks} blocks");
                    bench.set("planned", 1);
                    bench.step();
                    assert_eq!(bench.get("most"), NO_LIMIT);
                    bench.set("planned", 0);
                }
            }
        }
    }
}
