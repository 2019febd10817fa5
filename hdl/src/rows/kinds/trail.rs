//! Keeps the records of chains from when they were judged, so that they are sent without being followed again.
//!
//! Stands in the [`Finder`](super::finder::Finder), behind the [`Chaser`](super::chaser::Chaser).
//!
//! Contract: `opens`, then a record in every cycle, then `finish`: the records of a set are kept from then on, until
//! `clear`, if there was room for all of them. Fewer than 2^14 records of a request are kept in all, and 64 sets: of
//! two sets whose numbers differ by a multiple of 64, only the later one. `kept` is high in the same cycle if the
//! records of `set` are kept. `more` and `read` are of the `set` of the cycle before. A record is read in a cycle, and
//! is at the output in the next.

use crate::primitive::{Lutram, Ram, RamStyle};
use drdma_emit::prelude::*;

/// Bits of a place in the memory.
const PLACE: usize = 14;
/// Largest number of records that can be kept.
pub const MOST_RECORDS: usize = (1 << PLACE) - 1;
/// Bits of a number of a set.
const SET: usize = 11;

/// Memory of up to `RECORDS` records; see the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `clear`; `set`; `opens`, `put` with `pointer`, `finish`; `read` with `at`.
///
/// # Outputs
/// `kept`; `more`; `record`, a cycle after `read`.
#[derive(LogicBlock, BlockDefault)]
#[check(RECORDS <= MOST_RECORDS, "Trail: there is no room for {RECORDS} records")]
pub struct Trail<const RECORDS: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request begins: nothing is kept.
    pub clear: Signal<In, Bit>,
    /// Lane set of the current region.
    pub set: Signal<In, Bits<SET>>,
    /// The region's records are to be kept from here on.
    pub opens: Signal<In, Bit>,
    /// A record of the region; not in the cycle before `opens` or `finish`.
    pub put: Signal<In, Bit>,
    /// With `put`: pointer of the record.
    pub pointer: Signal<In, Bits<64>>,
    /// The region has no more records.
    pub finish: Signal<In, Bit>,
    /// All records of the region are kept.
    pub kept: Signal<Out, Bit>,
    /// A record is read.
    pub read: Signal<In, Bit>,
    /// Number of the record in its region.
    pub at: Signal<In, Bits<33>>,
    /// There is a record of this number.
    pub more: Signal<Out, Bit>,
    /// Pointer of the record that was read last.
    pub record: Signal<Out, Bits<64>>,

    #[init(Ram::new(RamStyle::Ultra))]
    records: Ram<64, 1, PLACE>,
    /// First place behind the sets that are kept.
    top: DFF<Bits<PLACE>>,
    /// Place of the next record.
    place: DFF<Bits<PLACE>>,
    keeps: DFF<Bit>,
    #[init(Constant::new((RECORDS as u64).into()))]
    most: Constant<Bits<PLACE>>,
    writes: Signal<Local, Bit>,
    /// The record that was put in the cycle before.
    puts: DFF<Bit>,
    put_pointer: DFF<Bits<64>>,

    // Sets whose records are kept, by their numbers' lower bits.
    entry: Signal<Local, Bits<6>>,
    valid: DFF<Bits<64>>,
    sets: Lutram<SET, 6, 1>,
    starts: Lutram<PLACE, 6, 1>,
    counts: Lutram<PLACE, 6, 1>,
    // First place and number of the set's records, a cycle later, so that no path leads through the tables.
    start: DFF<Bits<PLACE>>,
    count: DFF<Bits<PLACE>>,
    closes: Signal<Local, Bit>,
}

impl<const RECORDS: usize> Logic for Trail<RECORDS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.entry.next = self.set.val().get_bits::<6>(0);
        self.sets.read_address[0].next = self.entry.val();
        self.starts.read_address[0].next = self.entry.val();
        self.counts.read_address[0].next = self.entry.val();
        self.kept.next = self.valid.q.val().get_bit(self.entry.val().index())
            && (self.sets.read_data[0].val() == self.set.val());
        self.start.d.next = self.starts.read_data[0].val();
        self.count.d.next = self.counts.read_data[0].val();
        self.more.next = self.at.val() != bit_cast::<33, PLACE>(self.count.q.val());
        self.records.read_enable.next = self.read.val();
        self.records.read_address.next = self.start.q.val() + self.at.val().get_bits::<PLACE>(0);
        self.record.next = self.records.read_data.val();

        self.puts.d.next = self.put.val();
        self.put_pointer.d.next = self.pointer.val();
        self.writes.next =
            self.puts.q.val() && self.keeps.q.val() && (self.place.q.val() != self.most.val());
        self.records.write_lanes.next = bit_cast::<1, 1>(self.writes.val().into());
        self.records.write_address.next = self.place.q.val();
        self.records.write_data.next = self.put_pointer.q.val();
        if self.writes.val() {
            self.place.d.next = self.place.q.val() + 1;
        } else if self.puts.q.val() {
            self.keeps.d.next = false;
        }
        self.closes.next = self.finish.val() && self.keeps.q.val();
        self.sets.write_enable.next = self.closes.val();
        self.sets.write_address.next = self.entry.val();
        self.sets.write_data.next = self.set.val();
        self.starts.write_enable.next = self.closes.val();
        self.starts.write_address.next = self.entry.val();
        self.starts.write_data.next = self.top.q.val();
        self.counts.write_enable.next = self.closes.val();
        self.counts.write_address.next = self.entry.val();
        self.counts.write_data.next = self.place.q.val() - self.top.q.val();
        if self.closes.val() {
            self.valid.d.next = self.valid.q.val().replace_bit(self.entry.val().index(), true);
            self.top.d.next = self.place.q.val();
            self.keeps.d.next = false;
        }
        if self.opens.val() {
            self.keeps.d.next = true;
            self.place.d.next = self.top.q.val();
        }
        if self.clear.val() || self.rst.val() {
            self.puts.d.next = false;
            self.valid.d.next = 0.into();
            self.top.d.next = 0.into();
            self.keeps.d.next = false;
        }
    }
}
