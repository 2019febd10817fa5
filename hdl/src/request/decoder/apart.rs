//! Finds requests whose destinations each have a stretch of rows of their own.

use crate::primitive::{Lutram, Multiplier};
use crate::request::STRIDED;
use drdma_emit::prelude::*;

/// Register stages of the multiplier.
const STAGES: usize = 3;

/// Finds requests whose destinations have rows of one form, but no row in common: every destination has one
/// strided set with the steps (up to 255 B) and lengths (up to 127 B) of the first destination's lanes, and each
/// of its lanes lies behind all rows of the same lane of the destination before. There is nothing to fetch for
/// several of them at once.
///
/// It decides how a request is fetched, never what is sent. `told` is that of the request whose
/// destinations came last, 6 cycles behind its last element; never stalls.
///
/// # Inputs
/// As [`SameLanes`](super::same_lanes::SameLanes).
///
/// # Outputs
/// `told`: all destinations are apart.
#[derive(LogicBlock, BlockDefault)]
pub struct Apart {
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
    /// All destinations are apart, 6 cycles after the last element.
    pub told: Signal<Out, Bit>,

    // Stages 1 and 2: the element.
    valid: [DFF<Bit>; 2],
    last: [DFF<Bit>; 2],
    // Stage 2: the current lane.
    is_first: DFF<Bit>,
    number: DFF<Bits<5>>,
    number_after: Signal<Local, Bits<5>>,
    first_number: DFF<Bits<5>>,
    /// All lanes of the destination so far have the first destination's steps and lengths.
    same: DFF<Bit>,
    form: Signal<Local, Bits<15>>,
    fits: Signal<Local, Bit>,
    /// Steps and lengths of the first destination's lanes.
    forms: Lutram<15, 4, 1>,
    /// Addresses of the lanes of the destination before.
    bases: Lutram<64, 4, 1>,
    count: DFF<Bits<32>>,
    count_before: DFF<Bits<32>>,
    /// The current destination has the first destination's steps and lengths.
    formed: DFF<Bit>,
    // How far a lane lies behind that of the destination before, against how far that one's rows reach.
    #[init(Multiplier::new(STAGES))]
    span: Multiplier<32, 8, 40>,
    distances: [DFF<Bits<64>>; 3],
    compares: [DFF<Bit>; 3],
    /// All destinations so far are apart.
    all: DFF<Bit>,
}

impl Logic for Apart {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid[0].d.next = self.element_valid.val();
        self.last[0].d.next = self.element_last.val();
        self.valid[1].d.next = self.valid[0].q.val();
        self.last[1].d.next = self.last[0].q.val();

        // The first destination's lanes give the form.
        self.form.next = bit_cast::<15, 64>(self.lane_step.val() & 255)
            | (bit_cast::<15, 32>(self.lane_len.val() & 127) << 8);
        self.forms.read_address[0].next = self.number.q.val().get_bits::<4>(0);
        self.forms.write_address.next = self.number.q.val().get_bits::<4>(0);
        self.forms.write_data.next = self.form.val();
        self.forms.write_enable.next = self.valid[1].q.val() && self.is_first.q.val();
        self.fits.next = self.same.q.val()
            && !self.number.q.val().get_bit(4)
            && (self.lane_kind.val() == STRIDED)
            && !self.lane_step.val().get_bits::<56>(8).any()
            && !self.lane_len.val().get_bits::<25>(7).any()
            && (self.is_first.q.val() || (self.forms.read_data[0].val() == self.form.val()));
        self.number_after.next = self.number.q.val() + 1;
        if self.valid[1].q.val() {
            self.same.d.next = self.fits.val();
            self.count.d.next = self.lane_count.val();
            if !self.number.q.val().get_bit(4) {
                self.number.d.next = self.number_after.val();
            }
            if self.is_first.q.val() {
                self.first_number.d.next = self.number_after.val();
            }
            self.formed.d.next = self.fits.val()
                && self.last[1].q.val()
                && (self.sets.val() == 1)
                && (self.is_first.q.val()
                    || (self.number_after.val() == self.first_number.q.val()));
        }

        // Each lane lies behind the rows of the destination before.
        self.bases.read_address[0].next = self.number.q.val().get_bits::<4>(0);
        self.bases.write_address.next = self.number.q.val().get_bits::<4>(0);
        self.bases.write_data.next = self.lane_base.val();
        self.bases.write_enable.next = self.valid[1].q.val();
        self.span.enable.next = true;
        self.span.a.next = self.count_before.q.val();
        self.span.b.next = self.lane_step.val().get_bits::<8>(0);
        self.distances[0].d.next = self.lane_base.val() - self.bases.read_data[0].val();
        self.compares[0].d.next =
            self.valid[1].q.val() && !self.is_first.q.val() && self.fits.val();
        for k in 1..3 {
            self.distances[k].d.next = self.distances[k - 1].q.val();
            self.compares[k].d.next = self.compares[k - 1].q.val();
        }
        if self.compares[2].q.val()
            && (self.distances[2].q.val().get_bit(63)
                || (self.distances[2].q.val() < bit_cast::<64, 40>(self.span.product.val())))
        {
            self.all.d.next = false;
        }
        self.told.next = self.all.q.val() && self.formed.q.val();

        if self.dest_accept.val() {
            self.is_first.d.next = self.first.val();
            self.number.d.next = 0.into();
            self.same.d.next = true;
            self.formed.d.next = false;
            self.count_before.d.next = self.count.q.val();
            if self.first.val() {
                self.all.d.next = true;
            } else if !self.formed.q.val() {
                self.all.d.next = false;
            }
        }
        if self.rst.val() {
            for k in 0..2 {
                self.valid[k].d.next = false;
            }
            for k in 0..3 {
                self.compares[k].d.next = false;
            }
            self.all.d.next = false;
        }
    }
}
