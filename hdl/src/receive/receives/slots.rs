//! Hands out numbers of slots, which are given back later.

use crate::context::Table;
use drdma_emit::prelude::*;

/// Hands out the numbers of 2^`N` slots; `C` = `N` + 1 is the width of their count.
///
/// Contract: all slots are free after a reset. While `free` is not 0, `number` is that of a free slot, and stays so
/// until it is taken. One slot is taken and one given back in a cycle; both count in the next one. A number that was
/// given back is handed out again after all that were free before it.
///
/// # Inputs
/// `clk`, `rst`; `take`, only while a slot is free; `give`, `given`.
///
/// # Outputs
/// `number`, `free`.
#[derive(LogicBlock, BlockDefault)]
pub struct Slots<const N: usize, const C: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset: all slots are free.
    pub rst: Signal<In, Bit>,
    /// The slot `number` is taken.
    pub take: Signal<In, Bit>,
    /// The slot `given` is given back.
    pub give: Signal<In, Bit>,
    /// With `give`: number of the slot.
    pub given: Signal<In, Bits<N>>,
    /// Number of the slot that is taken next; valid while `free` is not 0.
    pub number: Signal<Out, Bits<N>>,
    /// Number of free slots.
    pub free: Signal<Out, Bits<C>>,

    #[init(Constant::new((1_u64 << N).into()))]
    all: Constant<Bits<C>>,
    count: DFF<Bits<C>>,
    /// Numbers from this one on were never handed out, unless all were.
    unused: DFF<Bits<N>>,
    all_used: DFF<Bit>,
    // Behind those come the numbers that were given back, in their order.
    returned: Table<N, N>,
    oldest: DFF<Bits<N>>,
    newest: DFF<Bits<N>>,
}

impl<const N: usize, const C: usize> Logic for Slots<N, C> {
    #[hdl_gen]
    fn update(&mut self) {
        self.free.next = self.count.q.val();
        self.number.next = self.unused.q.val();
        if self.all_used.q.val() {
            self.number.next = self.returned.read_data.val();
        }
        if self.take.val() {
            if self.all_used.q.val() {
                self.oldest.d.next = self.oldest.q.val() + 1;
            } else {
                self.unused.d.next = self.unused.q.val() + 1;
                self.all_used.d.next = self.unused.q.val().all();
            }
        }
        self.returned.write_enable.next = self.give.val();
        self.returned.write_address.next = self.newest.q.val();
        self.returned.write_data.next = self.given.val();
        if self.give.val() {
            self.newest.d.next = self.newest.q.val() + 1;
        }
        if self.give.val() && !self.take.val() {
            self.count.d.next = self.count.q.val() + 1;
        } else if self.take.val() && !self.give.val() {
            self.count.d.next = self.count.q.val() - 1;
        }
        if self.rst.val() {
            self.count.d.next = self.all.val();
            self.unused.d.next = 0.into();
            self.all_used.d.next = false;
            self.oldest.d.next = 0.into();
            self.newest.d.next = 0.into();
        }
        self.returned.ahead.next = self.oldest.d.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;
    use std::collections::VecDeque;

    #[test]
    fn each_number_is_given_out_once_and_again_when_it_is_back() {
        let library = testing::library("receive_slots", Slots::<4, 5>::default);
        for seed in 1..5 {
            let mut model = library.instance(seed);
            let mut random = Random::new(seed);
            let mut free: VecDeque<u64> = (0..16).collect();
            let mut taken = Vec::new();
            let mut exhausted = 0;
            model.set("rst", 1);
            model.set("take", 0);
            model.set("give", 0);
            model.cycle();
            model.set("rst", 0);
            for cycle in 0..4_000 {
                model.settle();
                assert_eq!(model.get("free"), free.len() as u64);
                if let Some(next) = free.front() {
                    assert_eq!(model.get("number"), *next);
                }
                exhausted += u32::from(free.is_empty());
                // Phases in which more slots are taken than given back, and phases in which fewer are.
                let often = if cycle / 200 % 2 == 0 { 0.9 } else { 0.3 };
                let takes = !free.is_empty() && random.chance(often);
                let gives = !taken.is_empty() && random.chance(1.0 - often);
                let given = match gives {
                    true => taken.swap_remove(random.below(taken.len() as u64) as usize),
                    false => random.below(16),
                };
                model.set("take", takes.into());
                model.set("give", gives.into());
                model.set("given", given);
                model.cycle();
                taken.extend(takes.then(|| free.pop_front().expect("one is free")));
                free.extend(gives.then_some(given));
            }
            assert!(exhausted > 50, "{exhausted} cycles without a free one");
        }
    }
}
