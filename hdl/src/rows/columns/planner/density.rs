//! How close needed rows lie.

use crate::primitive::CountOnes;
use drdma_emit::prelude::*;

/// The mean distance of a chunk whose rows are too few to limit anything: 1,024 sixteenths of a row, or more.
const SPARSE: u64 = 1023;

/// Counts the needed rows of a chunk as they are boxed, and gives their mean distance.
///
/// A chunk's is asked for by the chunk after the next one, which has the same half of the marks: the one between may
/// be at work already. It is known 14 cycles after the chunk's last block, or 26 if the chunk before had just ended.
///
/// # Inputs
/// `block` (64 rows of a chunk's first group: `bits`, `half`, `last`), `half` (whose distance is asked for), `planned` (nothing is limited).
///
/// # Outputs
/// `distance`: sixteenths of a row, 16 to 1,023; 1,023 also if it is more, or not known. `limits`.
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
    /// The half of the chunk whose distance is asked for.
    pub half: Signal<In, Bit>,
    /// The distance.
    pub distance: Signal<Out, Bits<10>>,
    /// It is known, and less than 1,023: it limits what is read through.
    pub limits: Signal<Out, Bit>,

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
    // Chunks that wait for their quotient, by half.
    pending: [DFF<Bit>; 2],
    pending_needed: [DFF<Bits<13>>; 2],
    pending_blocks: [DFF<Bits<7>>; 2],
    starts: Signal<Local, Bit>,
    next_half: Signal<Local, Bit>,
    next_needed: Signal<Local, Bits<13>>,
    next_blocks: Signal<Local, Bits<7>>,
    // 16 times the rows by the needed rows.
    left: DFF<Bits<17>>,
    divisor: DFF<Bits<23>>,
    quotient: DFF<Bits<10>>,
    step: DFF<Bits<4>>,
    done: DFF<Bit>,
    half_at_work: DFF<Bit>,
    scaled: Signal<Local, Bits<17>>,
    many: Signal<Local, Bits<23>>,
    sparse: Signal<Local, Bit>,
    distances: [DFF<Bits<10>>; 2],
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

        // A chunk may end while the one before is being divided.
        self.next_half.next = !self.pending[0].q.val();
        self.next_needed.next = self.pending_needed[0].q.val();
        self.next_blocks.next = self.pending_blocks[0].q.val();
        if self.next_half.val() {
            self.next_needed.next = self.pending_needed[1].q.val();
            self.next_blocks.next = self.pending_blocks[1].q.val();
        }
        self.starts.next = (self.pending[0].q.val() || self.pending[1].q.val())
            && !self.step.q.val().any()
            && !self.done.q.val();

        // Ten bits of the quotient, the highest first, if it has no more.
        self.scaled.next = bit_cast::<17, 7>(self.next_blocks.val()) << 10;
        self.many.next = bit_cast::<23, 13>(self.next_needed.val()) << 10;
        self.done.d.next = self.step.q.val() == 1;
        if self.step.q.val().any() {
            self.step.d.next = self.step.q.val() - 1;
            self.divisor.d.next = self.divisor.q.val() >> 1;
            self.quotient.d.next = self.quotient.q.val() << 1;
            if !(bit_cast::<23, 17>(self.left.q.val()) < self.divisor.q.val()) {
                self.quotient.d.next = (self.quotient.q.val() << 1) | 1;
                self.left.d.next = self.left.q.val() - self.divisor.q.val().get_bits::<17>(0);
            }
        }
        self.sparse.next =
            self.starts.val() && !(bit_cast::<23, 17>(self.scaled.val()) < self.many.val());
        if self.starts.val() {
            self.left.d.next = self.scaled.val();
            self.divisor.d.next = self.many.val() >> 1;
            self.quotient.d.next = 0.into();
            self.half_at_work.d.next = self.next_half.val();
            if !self.sparse.val() {
                self.step.d.next = 10.into();
            }
        }
        for h in 0..2 {
            if self.starts.val() && (self.next_half.val() == (h == 1)) {
                self.pending[h].d.next = false;
            }
            if self.ended.q.val() && (self.ended_half.q.val() == (h == 1)) {
                self.pending[h].d.next = true;
                self.pending_needed[h].d.next = self.needed.q.val();
                self.pending_blocks[h].d.next = self.blocks.q.val();
            }
            if self.done.q.val() && (self.half_at_work.q.val() == (h == 1)) {
                self.distances[h].d.next = self.quotient.q.val();
            }
            if self.sparse.val() && (self.next_half.val() == (h == 1)) {
                self.distances[h].d.next = SPARSE.into();
            }
        }
        self.distance.next = self.distances[0].q.val();
        if self.half.val() {
            self.distance.next = self.distances[1].q.val();
        }
        self.limits.next = !self.planned.val() && (self.distance.val() != SPARSE);
        if self.rst.val() {
            self.counted.d.next = false;
            self.ended.d.next = false;
            self.fresh.d.next = true;
            self.step.d.next = 0.into();
            self.done.d.next = false;
            for h in 0..2 {
                self.distances[h].d.next = SPARSE.into();
                self.pending[h].d.next = false;
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

    /// The mean distance in a chunk of so many blocks.
    fn distance(needed: u64, blocks: u64) -> u64 {
        (1024 * blocks).checked_div(needed).unwrap_or(SPARSE).min(SPARSE)
    }

    #[test]
    fn distances_are_those_of_the_chunks_of_the_same_half() {
        let library = testing::library("columns_planner_density", Density::default);
        for seed in 1..=4 {
            let mut random = Random::new(seed);
            let mut bench = Bench::new(library.instance(seed), seed);
            let mut distances = [SPARSE; 2];
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
                distances[half as usize] = distance(needed, blocks);
                // Two chunks one behind the other.
                if half == 0 {
                    continue;
                }
                (0..26).for_each(|_| bench.step());
                for half in 0..2 {
                    bench.set("half", half);
                    bench.step();
                    let found = bench.get("distance");
                    assert_eq!(found, distances[half as usize], "{needed} rows of {blocks} blocks");
                    assert_eq!(bench.get("limits"), u64::from(found < SPARSE));
                    bench.set("planned", 1);
                    bench.step();
                    assert_eq!(bench.get("limits"), 0);
                    bench.set("planned", 0);
                }
            }
        }
    }
}
