//! Compares a lane with the lanes before it.

use drdma_emit::prelude::*;

/// Finds for *places* how far a lane lies from a stretch of bytes, and what both span. Outputs follow the inputs after
/// a cycle.
#[derive(LogicBlock, Default)]
pub struct Apart {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Host address at which the stretch starts.
    pub lo: Signal<In, Bits<64>>,
    /// Bytes of the stretch, at most 128; given with the outputs, a cycle after the addresses.
    pub len: Signal<In, Bits<9>>,
    /// Host address at which the lane starts.
    pub lane_addr: Signal<In, Bits<64>>,
    /// Bytes of the lane; given with the outputs.
    pub lane_len: Signal<In, Bits<7>>,
    /// Bytes that both may span; given with the outputs.
    pub step: Signal<In, Bits<8>>,
    /// Widest gap in bytes that is read through; given with the outputs.
    pub threshold: Signal<In, Bits<12>>,
    /// Stretch and lane start less than 128 bytes apart; else the other outputs are undefined.
    pub near: Signal<Out, Bit>,
    /// The lane starts below the stretch.
    pub lower: Signal<Out, Bit>,
    /// Bytes that both span.
    pub span: Signal<Out, Bits<9>>,
    /// `span` is at most `step`.
    pub fits: Signal<Out, Bit>,
    /// The gap between them is read through, or there is none.
    pub follows: Signal<Out, Bit>,

    up: DFF<Bits<64>>,
    down: DFF<Bits<64>>,
    near_up: Signal<Local, Bit>,
    near_down: Signal<Local, Bit>,
    lane: Signal<Local, Bits<9>>,
    limit: Signal<Local, Bits<9>>,
    // Two cases: the lane starts at or behind the start of the stretch, or below it. Which one applies is known last.
    reach_up: Signal<Local, Bits<9>>,
    span_up: Signal<Local, Bits<9>>,
    gap_up: Signal<Local, Bits<9>>,
    fits_up: Signal<Local, Bit>,
    follows_up: Signal<Local, Bit>,
    reach_down: Signal<Local, Bits<9>>,
    span_down: Signal<Local, Bits<9>>,
    gap_down: Signal<Local, Bits<9>>,
    fits_down: Signal<Local, Bit>,
    follows_down: Signal<Local, Bit>,
}

impl Logic for Apart {
    #[hdl_gen]
    fn update(&mut self) {
        self.up.d.next = self.lane_addr.val() - self.lo.val();
        self.down.d.next = self.lo.val() - self.lane_addr.val();

        self.near_up.next = !self.up.q.val().get_bits::<57>(7).any();
        self.near_down.next = !self.down.q.val().get_bits::<57>(7).any();
        self.near.next = self.near_up.val() || self.near_down.val();
        self.lower.next = !self.near_up.val();
        self.lane.next = bit_cast::<9, 7>(self.lane_len.val());
        self.limit.next = bit_cast::<9, 8>(self.step.val());

        self.reach_up.next = bit_cast::<9, 7>(self.up.q.val().get_bits::<7>(0)) + self.lane.val();
        self.span_up.next = self.reach_up.val();
        if self.reach_up.val() < self.len.val() {
            self.span_up.next = self.len.val();
        }
        self.fits_up.next =
            !(self.limit.val() < self.reach_up.val()) && !(self.limit.val() < self.len.val());
        self.reach_down.next =
            bit_cast::<9, 7>(self.down.q.val().get_bits::<7>(0)) + self.len.val();
        self.span_down.next = self.reach_down.val();
        if self.reach_down.val() < self.lane.val() {
            self.span_down.next = self.lane.val();
        }
        self.fits_down.next =
            !(self.limit.val() < self.reach_down.val()) && !(self.limit.val() < self.lane.val());

        // A negative gap is none: the lane begins within the stretch, or the stretch within the lane.
        self.gap_up.next = bit_cast::<9, 7>(self.up.q.val().get_bits::<7>(0)) - self.len.val();
        self.follows_up.next = self.gap_up.val().get_bit(8)
            || !(self.threshold.val() < bit_cast::<12, 9>(self.gap_up.val()));
        self.gap_down.next = bit_cast::<9, 7>(self.down.q.val().get_bits::<7>(0)) - self.lane.val();
        self.follows_down.next = self.gap_down.val().get_bit(8)
            || !(self.threshold.val() < bit_cast::<12, 9>(self.gap_down.val()));

        self.span.next = self.span_down.val();
        self.fits.next = self.fits_down.val();
        self.follows.next = self.follows_down.val();
        if self.near_up.val() {
            self.span.next = self.span_up.val();
            self.fits.next = self.fits_up.val();
            self.follows.next = self.follows_up.val();
        }
    }
}
