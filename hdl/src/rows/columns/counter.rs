//! Counts the rows of a column request's destinations before its first message.

use super::record::{CountTag, Counted, TALLY_BITS, Tally};
use crate::primitive::{CountOnes, Flatten, Lutram, Restore};
use crate::request::DEST_INDEX;
use drdma_emit::prelude::*;

/// Adds up the set bits of masks, turn by turn, for each of 256 destinations, and delivers a destination's sum when its
/// last turn is over. In a request of several chunks a destination has a turn in each.
///
/// Takes a mask a cycle, also from turn to turn; the sum follows 4 cycles after the last mask. Never stalls. The masks
/// leave again, registered, for the block that keeps them.
///
/// # Inputs
/// `mask` {`bits`, `tag` ([`CountTag`])}, no back-pressure.
///
/// # Outputs
/// `counted`; `kept` {`index`, `beat`, `data`, `error`}: masks whose tag has `kept`, a cycle later.
#[derive(LogicBlock, BlockDefault)]
pub struct Counter {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A mask is given.
    pub mask_valid: Signal<In, Bit>,
    /// Rows that are selected, one bit each.
    pub mask_bits: Signal<In, Bits<512>>,
    /// Side band of the mask.
    pub mask_tag: Signal<In, CountTag>,
    /// The rows of a destination are counted.
    pub counted: Flow<Out, Counted>,
    /// A mask is to be kept.
    pub kept_valid: Signal<Out, Bit>,
    /// Number of the mask's destination in the request.
    pub kept_index: Signal<Out, Bits<DEST_INDEX>>,
    /// Number of the mask among those of its destination.
    pub kept_beat: Signal<Out, Bits<4>>,
    /// Rows that are selected, one bit each.
    pub kept_data: Signal<Out, Bits<512>>,
    /// The mask, or one before it in its turn, could not be read.
    pub kept_error: Signal<Out, Bit>,

    // Stage 1: the mask.
    valid: DFF<Bit>,
    bits: DFF<Bits<512>>,
    tag: DFF<CountTag>,
    /// A mask of the current turn has failed.
    failed: DFF<Bit>,
    ones: [CountOnes<64, 7>; 8],
    // Stage 2: set bits of each 64 rows.
    part_valid: DFF<Bit>,
    parts: [DFF<Bits<7>>; 8],
    part_tag: DFF<CountTag>,
    part_bad: DFF<Bit>,
    wide: [Signal<Local, Bits<10>>; 8],
    // Stage 3: set bits of the mask.
    sum_valid: DFF<Bit>,
    sum: DFF<Bits<10>>,
    sum_tag: DFF<CountTag>,
    sum_bad: DFF<Bit>,
    // Stage 4: set bits of the destination.
    earlier: Signal<Local, Tally>,
    total: DFF<Tally>,
    tallies: Lutram<TALLY_BITS, DEST_INDEX, 1>,
    tally_in: Flatten<Tally, TALLY_BITS>,
    tally_out: Restore<Tally, TALLY_BITS>,
    told: DFF<Bit>,
    told_set: DFF<Bits<11>>,
}

impl Logic for Counter {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid.d.next = self.mask_valid.val();
        self.bits.d.next = self.mask_bits.val();
        self.tag.d.next = self.mask_tag.val();
        if self.mask_valid.val() {
            self.failed.d.next =
                self.mask_tag.val().bad || (self.failed.q.val() && !self.mask_tag.val().first);
        }
        self.kept_valid.next = self.valid.q.val() && self.tag.q.val().kept;
        self.kept_index.next = self.tag.q.val().index;
        self.kept_beat.next = self.tag.q.val().beat;
        self.kept_data.next = self.bits.q.val();
        self.kept_error.next = self.failed.q.val();

        self.part_valid.d.next = self.valid.q.val();
        self.part_tag.d.next = self.tag.q.val();
        self.part_bad.d.next = self.failed.q.val();
        for k in 0..8 {
            self.ones[k].bits.next = self.bits.q.val().get_bits::<64>(k * 64);
            self.parts[k].d.next = self.ones[k].count.val();
            self.wide[k].next = bit_cast::<10, 7>(self.parts[k].q.val());
        }

        self.sum_valid.d.next = self.part_valid.q.val();
        self.sum_tag.d.next = self.part_tag.q.val();
        self.sum_bad.d.next = self.part_bad.q.val();
        self.sum.d.next = ((self.wide[0].val() + self.wide[1].val())
            + (self.wide[2].val() + self.wide[3].val()))
            + ((self.wide[4].val() + self.wide[5].val())
                + (self.wide[6].val() + self.wide[7].val()));

        // A turn continues from the sum with which the destination's last turn ended.
        self.tallies.read_address[0].next = self.sum_tag.q.val().index;
        self.tally_out.bits.next = self.tallies.read_data[0].val();
        self.earlier.next = self.total.q.val();
        if self.sum_tag.q.val().first {
            self.earlier.next = self.tally_out.record.val();
            if self.sum_tag.q.val().opens {
                self.earlier.next.count = 0.into();
                self.earlier.next.bad = false;
            }
        }
        if self.sum_valid.q.val() {
            self.total.d.next.count =
                self.earlier.val().count + bit_cast::<32, 10>(self.sum.q.val());
            self.total.d.next.bad = self.earlier.val().bad || self.sum_bad.q.val();
        }
        self.tally_in.record.next = self.total.d.val();
        self.tallies.write_enable.next = self.sum_valid.q.val() && self.sum_tag.q.val().end;
        self.tallies.write_address.next = self.sum_tag.q.val().index;
        self.tallies.write_data.next = self.tally_in.bits.val();
        self.told.d.next =
            self.sum_valid.q.val() && self.sum_tag.q.val().end && self.sum_tag.q.val().closes;
        self.told_set.d.next = self.sum_tag.q.val().set;
        self.counted.valid.next = self.told.q.val();
        self.counted.set.next = self.told_set.q.val();
        self.counted.count.next = self.total.q.val().count;
        self.counted.bad.next = self.total.q.val().bad;

        if self.rst.val() {
            self.valid.d.next = false;
            self.part_valid.d.next = false;
            self.sum_valid.d.next = false;
            self.told.d.next = false;
        }
    }
}
