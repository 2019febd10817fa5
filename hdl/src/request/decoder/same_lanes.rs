//! Finds destinations whose rows lie where those of the request's first destination lie.

use crate::primitive::Lutram;
use crate::request::{BITMAPPED, STRIDED};
use drdma_emit::prelude::*;

/// Finds destinations of one set, strided or bitmapped, that has the lanes (base, step, length of
/// each) and the count of the first destination's; also finds the first one itself if it has such
/// a set. A set that the joiner makes of several counts as one: its lanes are those sets' lanes, in
/// order.
///
/// The lanes of the first destination are kept as the shaper gives them, those of the others are
/// compared with them. `told` follows a destination's last element after 2 cycles, before the next
/// destination is accepted; never stalls.
///
/// # Inputs
/// `clk`, `rst`; `dest_accept` with `first`; `element_valid`, `element_last` of the parser; `sets`,
/// the destination's sets, 1 from the 2nd cycle after the last element of one that was joined;
/// `lane_*`, the shaper's lane, 2 cycles after its element.
///
/// # Outputs
/// `told`: the destination has the same lanes as the first.
#[derive(LogicBlock, Default)]
pub struct SameLanes {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A destination begins.
    pub dest_accept: Signal<In, Bit>,
    /// The destination is the request's first one.
    pub first: Signal<In, Bit>,
    /// Number of the destination's sets.
    pub sets: Signal<In, Bits<5>>,
    /// An element is given.
    pub element_valid: Signal<In, Bit>,
    /// The element is the last one of its set.
    pub element_last: Signal<In, Bit>,
    /// Address of the lane's value in row 0.
    pub lane_base: Signal<In, Bits<64>>,
    /// Bytes from a row's value to the next one's.
    pub lane_step: Signal<In, Bits<64>>,
    /// Bytes of a value of the lane.
    pub lane_len: Signal<In, Bits<32>>,
    /// Type of the region of the lane's set.
    pub lane_kind: Signal<In, Bits<2>>,
    /// Number of rows of the lane's set.
    pub lane_count: Signal<In, Bits<32>>,
    /// The destination has the same lanes as the request's first one.
    pub told: Signal<Out, Bit>,

    // Stages 1 and 2: the element.
    valid: [DFF<Bit>; 2],
    last: [DFF<Bit>; 2],
    // Stage 2: the current lane.
    is_first: DFF<Bit>,
    number: DFF<Bits<5>>,
    same: DFF<Bit>,
    fits: Signal<Local, Bit>,
    number_after: Signal<Local, Bits<5>>,
    one_set: Signal<Local, Bit>,
    // The first destination.
    lanes: Lutram<160, 4, 1>,
    lane: Signal<Local, Bits<160>>,
    count: DFF<Bits<32>>,
    first_number: DFF<Bits<5>>,
    first_told: DFF<Bit>,
}

impl Logic for SameLanes {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid[0].d.next = self.element_valid.val();
        self.last[0].d.next = self.element_last.val();
        self.valid[1].d.next = self.valid[0].q.val();
        self.last[1].d.next = self.last[0].q.val();

        // The lane is kept, or compared; if there are more than 16, they are not of one set.
        self.lane.next = (bit_cast::<160, 64>(self.lane_base.val()) << 96)
            | (bit_cast::<160, 64>(self.lane_step.val()) << 32)
            | bit_cast::<160, 32>(self.lane_len.val());
        self.lanes.read_address[0].next = self.number.q.val().get_bits::<4>(0);
        self.lanes.write_address.next = self.number.q.val().get_bits::<4>(0);
        self.lanes.write_data.next = self.lane.val();
        self.lanes.write_enable.next = self.valid[1].q.val() && self.is_first.q.val();
        self.fits.next = self.same.q.val()
            && !self.number.q.val().get_bit(4)
            && ((self.lane_kind.val() == STRIDED) || (self.lane_kind.val() == BITMAPPED));
        if !self.is_first.q.val()
            && ((self.lanes.read_data[0].val() != self.lane.val())
                || (self.lane_count.val() != self.count.q.val()))
        {
            self.fits.next = false;
        }
        self.number_after.next = self.number.q.val() + 1;
        self.one_set.next = self.last[1].q.val() && (self.sets.val() == 1);
        self.told.next = false;
        if self.valid[1].q.val() {
            self.same.d.next = self.fits.val();
            if !self.number.q.val().get_bit(4) {
                self.number.d.next = self.number_after.val();
            }
            if self.is_first.q.val() {
                self.count.d.next = self.lane_count.val();
                self.first_number.d.next = self.number_after.val();
                self.first_told.d.next = self.one_set.val() && self.fits.val();
                self.told.next = self.one_set.val() && self.fits.val();
            } else {
                self.told.next = self.one_set.val()
                    && self.fits.val()
                    && self.first_told.q.val()
                    && (self.number_after.val() == self.first_number.q.val());
            }
        }
        if self.dest_accept.val() {
            self.is_first.d.next = self.first.val();
            self.number.d.next = 0.into();
            self.same.d.next = true;
            if self.first.val() {
                self.first_told.d.next = false;
            }
        }
        if self.rst.val() {
            for k in 0..2 {
                self.valid[k].d.next = false;
            }
        }
    }
}
