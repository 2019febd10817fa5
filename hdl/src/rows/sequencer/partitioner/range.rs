//! Partitions by range: counts how many splitters are less than a value.

use crate::primitive::{CountOnes, Pack, Ram, RamStyle};
use drdma_abi::work_request::KeyType;
use drdma_emit::prelude::*;

/// Type of a key: an unsigned integer.
const UNSIGNED: u64 = KeyType::Unsigned as u64;
/// Type of a key: a float.
const FLOAT: u64 = KeyType::Float as u64;
/// Binary logarithm of the bytes of a short float.
const BYTES_4: u64 = 2;
/// Sign bit of a number of 64 bits.
const SIGN: u64 = 1 << 63;
/// Sign bit of a short float.
const SIGN_4: u64 = 1 << 31;
/// All bits of a short float.
const ALL_4: u64 = 0xffff_ffff;

/// Compares the values of a group of eight rows with all splitters, four splitters a cycle.
///
/// Splitters come in groups of eight, too, up to 32 groups. The counts are valid 3 cycles after `start`, and one more
/// for every four splitters (0 without any), and hold until the next `start`.
///
/// # Inputs
/// `clk`, `rst`; `store` (a pulse: the values are splitters, and are kept as group `place`); `start` (a pulse: the
/// values are to be compared, and hold until `done`); `values`, as a [`Group`](super::Group) has them, with `key_type`
/// and `log_width`; `splitters`, how many there are.
///
/// # Outputs
/// `done` (from the cycle after `start` on), `counts`.
#[derive(LogicBlock, BlockDefault)]
pub struct Range {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The values are splitters, and are kept.
    pub store: Signal<In, Bit>,
    /// Number of the group of splitters, 0 to 31.
    pub place: Signal<In, Bits<5>>,
    /// The values are to be compared.
    pub start: Signal<In, Bit>,
    /// Values of eight rows, or eight splitters.
    pub values: [Signal<In, Bits<64>>; 8],
    /// Type of the values, a `KeyType` of the ABI.
    pub key_type: Signal<In, Bits<3>>,
    /// Binary logarithm of the bytes of a value.
    pub log_width: Signal<In, Bits<3>>,
    /// Number of splitters, at most 255.
    pub splitters: Signal<In, Bits<8>>,
    /// The counts belong to the values.
    pub done: Signal<Out, Bit>,
    /// Number of splitters that are less than each value.
    pub counts: [Signal<Out, Bits<8>>; 8],

    /// The values, mapped to unsigned numbers of the same order.
    ordered: [Signal<Local, Bits<64>>; 8],
    compared_with: [DFF<Bits<64>>; 8],
    halves: [Pack<4, 64, 256>; 2],
    #[init([Ram::new(RamStyle::Distributed), Ram::new(RamStyle::Distributed)])]
    kept: [Ram<256, 1, 5>; 2],
    // Three stages: four splitters are being read, have been read, were compared.
    reading: DFF<Bit>,
    read_place: DFF<Bits<6>>,
    found: DFF<Bit>,
    found_place: DFF<Bits<6>>,
    compared: DFF<Bit>,
    last_place: Signal<Local, Bits<6>>,
    four: Signal<Local, Bits<256>>,
    less: [DFF<Bits<4>>; 8],
    ones: [CountOnes<4, 3>; 8],
    sums: [DFF<Bits<8>>; 8],
}

impl Logic for Range {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..8 {
            self.ordered[k].next = self.values[k].val() ^ SIGN;
            if self.key_type.val() == UNSIGNED {
                self.ordered[k].next = self.values[k].val();
            }
            if (self.key_type.val() == FLOAT) && (self.log_width.val() == BYTES_4) {
                self.ordered[k].next = self.values[k].val() ^ SIGN_4;
                if self.values[k].val().get_bit(31) {
                    self.ordered[k].next = self.values[k].val() ^ ALL_4;
                }
            } else if (self.key_type.val() == FLOAT) && self.values[k].val().get_bit(63) {
                self.ordered[k].next = !self.values[k].val();
            }
        }

        // Splitters: four in each half of a group.
        for k in 0..4 {
            self.halves[0].parts[k].next = self.ordered[k].val();
            self.halves[1].parts[k].next = self.ordered[k + 4].val();
        }
        for h in 0..2 {
            self.kept[h].write_lanes.next = bit_cast::<1, 1>(self.store.val().into());
            self.kept[h].write_address.next = self.place.val();
            self.kept[h].write_data.next = self.halves[h].whole.val();
            self.kept[h].read_enable.next = true;
            self.kept[h].read_address.next = self.read_place.q.val().get_bits::<5>(1);
        }
        self.four.next = self.kept[0].read_data.val();
        if self.found_place.q.val().get_bit(0) {
            self.four.next = self.kept[1].read_data.val();
        }

        // The splitters, four at a time.
        self.last_place.next = (self.splitters.val() - 1).get_bits::<6>(2);
        self.found.d.next = self.reading.q.val();
        self.found_place.d.next = self.read_place.q.val();
        self.compared.d.next = self.found.q.val();
        self.read_place.d.next = self.read_place.q.val() + 1;
        if self.read_place.q.val() == self.last_place.val() {
            self.reading.d.next = false;
        }
        for k in 0..8 {
            for j in 0..4 {
                self.less[k].d.next = self.less[k].d.val().replace_bit(
                    j,
                    (self.four.val().get_bits::<64>(j * 64) < self.compared_with[k].q.val())
                        && (((bit_cast::<8, 6>(self.found_place.q.val()) << 2) | j.to_bits::<8>())
                            < self.splitters.val()),
                );
            }
            self.ones[k].bits.next = self.less[k].q.val();
            if self.compared.q.val() {
                self.sums[k].d.next =
                    self.sums[k].q.val() + bit_cast::<8, 3>(self.ones[k].count.val());
            }
            self.counts[k].next = self.sums[k].q.val();
        }
        self.done.next = !self.reading.q.val() && !self.found.q.val() && !self.compared.q.val();
        if self.start.val() {
            self.reading.d.next = self.splitters.val().any();
            self.read_place.d.next = 0.into();
            for k in 0..8 {
                self.compared_with[k].d.next = self.ordered[k].val();
                self.sums[k].d.next = 0.into();
            }
        }
        if self.rst.val() {
            self.reading.d.next = false;
            self.found.d.next = false;
            self.compared.d.next = false;
        }
    }
}
