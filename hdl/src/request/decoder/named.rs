//! Remembers which numbers a request has named.

use crate::primitive::{Lutram, Ram};
use crate::request::{DEST_COUNT, DEST_INDEX};
use drdma_emit::prelude::*;

/// A set of at most [`MAX_DESTINATIONS`](drdma_abi::work_request::MAX_DESTINATIONS) numbers of `W` bits, which
/// is empty again as soon as `count` is 0.
///
/// The numbers are kept in a list; a table says for each number where in the list it would be. Whatever the table
/// holds, a number is in the set only if it stands there: the table is never cleared.
///
/// `named` answers for the number that was asked about last, from the cycle after `ask` on; it counts what was added
/// before `ask`. Never stalls.
///
/// # Inputs
/// `clk`; `ask`, `asked`; `count`, the numbers in the set; `add`: `number`, which was asked about last and is not in
/// the set, becomes its last.
///
/// # Outputs
/// `named`.
#[derive(LogicBlock, BlockDefault)]
pub struct Named<const W: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Asks whether a number is in the set.
    pub ask: Signal<In, Bit>,
    /// With `ask`: the number.
    pub asked: Signal<In, Bits<W>>,
    /// Numbers in the set.
    pub count: Signal<In, Bits<DEST_COUNT>>,
    /// The number that was asked about last is added.
    pub add: Signal<In, Bit>,
    /// The number that was asked about last is in the set.
    pub named: Signal<Out, Bit>,

    number: DFF<Bits<W>>,
    places: Ram<DEST_INDEX, 1, W>,
    list: Lutram<W, DEST_INDEX, 1>,
}

impl<const W: usize> Logic for Named<W> {
    #[hdl_gen]
    fn update(&mut self) {
        if self.ask.val() {
            self.number.d.next = self.asked.val();
        }
        self.places.read_enable.next = self.ask.val();
        self.places.read_address.next = self.asked.val();
        self.list.read_address[0].next = self.places.read_data.val();
        self.named.next = (bit_cast::<DEST_COUNT, DEST_INDEX>(self.places.read_data.val())
            < self.count.val())
            && (self.list.read_data[0].val() == self.number.q.val());

        self.places.write_lanes.next = bit_cast::<1, 1>(self.add.val().into());
        self.places.write_address.next = self.number.q.val();
        self.places.write_data.next = self.count.val().get_bits::<DEST_INDEX>(0);
        self.list.write_enable.next = self.add.val();
        self.list.write_address.next = self.count.val().get_bits::<DEST_INDEX>(0);
        self.list.write_data.next = self.number.q.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_abi::work_request::MAX_DESTINATIONS;
    use drdma_verilated::testbench::Random;
    use std::collections::HashSet;

    #[test]
    fn a_number_is_named_from_when_it_is_added_until_the_set_is_empty() {
        let mut model = testing::library("named_numbers", Named::<10>::default).instance(1);
        let mut random = Random::new(1);
        let (mut named, mut found, mut largest) = (HashSet::new(), 0, 0);
        for _ in 0..20_000 {
            if named.len() == MAX_DESTINATIONS || random.chance(0.004) {
                largest = named.len().max(largest);
                named.clear();
            }
            let asked = random.below(1 << 10);
            model.set("ask", 1);
            model.set("asked", asked);
            model.set("count", named.len() as u64);
            model.set("add", 0);
            model.cycle();
            model.set("ask", 0);
            model.set("asked", random.below(1 << 10));
            if random.chance(0.3) {
                model.cycle();
            }
            model.eval();
            assert_eq!(model.get("named"), u64::from(named.contains(&asked)), "{asked}");
            if named.contains(&asked) {
                found += 1;
            } else {
                model.set("add", 1);
                model.cycle();
                named.insert(asked);
            }
        }
        assert!(found > 500, "{found} were there");
        assert_eq!(largest, MAX_DESTINATIONS);
    }
}
