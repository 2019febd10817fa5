//! Turns distances in bytes into distances in rows, so that boxes are cut without dividing.
//!
//! A byte of a part is named by a row and a *phase*: its distance behind the row's start in bytes, 1 up to the step. To
//! advance by a number of bytes is then an addition of rows and phases.

use drdma_emit::prelude::*;

/// Properties that all rows of a part share.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Pace {
    /// End of the longest box from a row's start: number of rows.
    pub rows: Bits<13>,
    /// End of the longest box from a row's start: its phase.
    pub phase: Bits<8>,
    /// First 4 KiB boundary of host addresses behind the part's start: its row.
    pub page_row: Bits<13>,
    /// First 4 KiB boundary of host addresses behind the part's start: its phase.
    pub page_phase: Bits<8>,
    /// Whole rows in 4 KiB.
    pub page_rows: Bits<13>,
    /// Bytes of 4 KiB beyond `page_rows` rows.
    pub page_rest: Bits<8>,
    /// Whole rows in 16 KiB.
    pub leap_rows: Bits<15>,
    /// Bytes of 16 KiB beyond `leap_rows` rows.
    pub leap_rest: Bits<8>,
    /// Step of the part in bytes.
    pub step: Bits<8>,
    /// Bytes of a row of the part.
    pub len: Bits<7>,
    /// Rows overlap.
    pub overlap: Bit,
    /// Greatest distance of two rows, in rows, that is read through.
    pub near: Bits<13>,
    /// The part of `near` within 64 rows is 2^`size` + `rest` rows; `size` 7: none.
    pub size: Bits<3>,
    /// Rows beyond 2^`size`; see `size`.
    pub rest: Bits<6>,
    /// Three times the step, modulo 64.
    pub triple: Bits<6>,
    /// Address of the part's start, modulo 64.
    pub skew: Bits<6>,
    /// Gaps within a cache line are read through.
    pub lines: Bit,
}

/// Bits of a [`Pace`].
pub const PACE_BITS: usize = 137;

/// Finds the pace of parts for *runs* and *boxes*: one in 8 cycles, with a latency of 8 cycles. The next part is taken
/// in the cycle in which a pace is emitted.
#[derive(LogicBlock, BlockDefault)]
pub struct Paces {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Longest box of the part in bytes, 64 to 4,096, a multiple of 64.
    pub max_read: Signal<In, Bits<13>>,
    /// Widest gap in bytes that is read through.
    pub threshold: Signal<In, Bits<12>>,
    /// Widest gap in bytes that the settings allow.
    pub most: Signal<In, Bits<12>>,
    /// Bytes that reads should have on average: rows next to each other that are no farther apart from start to start
    /// are read together, if `most` allows it.
    pub mean: Signal<In, Bits<9>>,
    /// Gaps within a cache line are read through as well.
    pub through: Signal<In, Bit>,
    /// A part is offered.
    pub group_valid: Signal<In, Bit>,
    /// The part is taken in this cycle.
    pub group_ready: Signal<Out, Bit>,
    /// Host address of the part's start, modulo 4 KiB.
    pub group_lo: Signal<In, Bits<12>>,
    /// Bytes of a row of the part.
    pub group_len: Signal<In, Bits<7>>,
    /// Step of the part in bytes, at least 1.
    pub group_step: Signal<In, Bits<8>>,
    /// The pace is valid, for one cycle.
    pub pace_valid: Signal<Out, Bit>,
    /// Pace of the part.
    pub pace: Signal<Out, Pace>,

    /// Distance of rows in bytes that is read through, up to the end of the second one.
    reach_bytes: Signal<Local, Bits<14>>,
    /// The distance of rows next to each other is.
    adjoins: Signal<Local, Bit>,
    /// A part is at work, and how many cycles it has been divided.
    busy: DFF<Bit>,
    count: DFF<Bits<3>>,
    done: Signal<Local, Bit>,
    skew: DFF<Bits<6>>,
    len: DFF<Bits<7>>,
    step: DFF<Bits<8>>,
    near: Signal<Local, Bits<13>>,
    // Dividends: longest box, first 4 KiB boundary, 4 KiB, threshold.
    quotient: [DFF<Bits<14>>; 4],
    remainder: [DFF<Bits<8>>; 4],
    // For each, by the higher and by the lower of two bits: the number that is divided, whether the step fits, and the
    // remainder.
    trial: [Signal<Local, Bits<9>>; 8],
    fits: [Signal<Local, Bit>; 8],
    rest: [Signal<Local, Bits<8>>; 8],
    step_low: Signal<Local, Bits<6>>,
    four: Signal<Local, Bits<10>>,
    two_steps: Signal<Local, Bits<10>>,
    three_steps: Signal<Local, Bits<10>>,
    leap: Signal<Local, Bits<15>>,
    leap_rest: Signal<Local, Bits<8>>,
    reach: Signal<Local, Bits<7>>,
    size: Signal<Local, Bits<3>>,
    tail: Signal<Local, Bits<6>>,
}

impl Logic for Paces {
    #[hdl_gen]
    fn update(&mut self) {
        self.reach_bytes.next =
            bit_cast::<14, 12>(self.threshold.val()) + bit_cast::<14, 7>(self.group_len.val());
        self.adjoins.next = (bit_cast::<9, 8>(self.group_step.val()) <= self.mean.val())
            && (bit_cast::<14, 8>(self.group_step.val())
                <= (bit_cast::<14, 12>(self.most.val()) + bit_cast::<14, 7>(self.group_len.val())));
        for d in 0..4 {
            self.trial[d].next = (self.remainder[d].q.val().get_bits::<9>(0) << 1)
                | (self.quotient[d].q.val() >> 13).get_bits::<9>(0);
            self.fits[d].next = !(self.trial[d].val() < bit_cast::<9, 8>(self.step.q.val()));
            self.rest[d].next = self.trial[d].val().get_bits::<8>(0);
            if self.fits[d].val() {
                self.rest[d].next = self.trial[d].val().get_bits::<8>(0) - self.step.q.val();
            }
            self.trial[d + 4].next = (self.rest[d].val().get_bits::<9>(0) << 1)
                | ((self.quotient[d].q.val() >> 12) & 1).get_bits::<9>(0);
            self.fits[d + 4].next =
                !(self.trial[d + 4].val() < bit_cast::<9, 8>(self.step.q.val()));
            self.rest[d + 4].next = self.trial[d + 4].val().get_bits::<8>(0);
            if self.fits[d + 4].val() {
                self.rest[d + 4].next =
                    self.trial[d + 4].val().get_bits::<8>(0) - self.step.q.val();
            }
            self.quotient[d].d.next = (self.quotient[d].q.val() << 2)
                .replace_bit(0, self.fits[d + 4].val())
                .replace_bit(1, self.fits[d].val());
            self.remainder[d].d.next = self.rest[d + 4].val();
        }
        self.count.d.next = self.count.q.val() + 1;
        // Two of a quotient's 14 bits a cycle.
        self.done.next = self.busy.q.val() && (self.count.q.val() == 7);
        self.pace_valid.next = self.done.val();
        self.group_ready.next = !self.busy.q.val() || self.done.val();
        if self.group_ready.val() {
            self.busy.d.next = self.group_valid.val();
            self.count.d.next = 0.into();
            self.skew.d.next = self.group_lo.val().get_bits::<6>(0);
            self.len.d.next = self.group_len.val();
            self.step.d.next = self.group_step.val();
            for d in 0..4 {
                self.remainder[d].d.next = 0.into();
            }
            // A distance d is at phase 1 + (d - 1) mod step: d - 1 is divided.
            self.quotient[0].d.next = bit_cast::<14, 13>(self.max_read.val() - 1);
            self.quotient[1].d.next = bit_cast::<14, 12>(!self.group_lo.val());
            self.quotient[2].d.next = 4096.into();
            self.quotient[3].d.next = self.reach_bytes.val();
            if self.adjoins.val()
                && (self.reach_bytes.val() < bit_cast::<14, 8>(self.group_step.val()))
            {
                self.quotient[3].d.next = bit_cast::<14, 8>(self.group_step.val());
            }
        }

        // Within 64 rows: a window of `reach` rows is two of 2^`size`, the second `rest` further.
        self.near.next = self.quotient[3].q.val().get_bits::<13>(0);
        self.reach.next = self.near.val().get_bits::<7>(0);
        if self.near.val().get_bits::<7>(6).any() {
            self.reach.next = 64.into();
        }
        self.size.next = 7.into();
        self.tail.next = 0.into();
        if self.reach.val().get_bit(6) {
            self.size.next = 6.into();
        } else if self.reach.val().get_bit(5) {
            self.size.next = 5.into();
            self.tail.next = bit_cast::<6, 5>(self.reach.val().get_bits::<5>(0));
        } else if self.reach.val().get_bit(4) {
            self.size.next = 4.into();
            self.tail.next = bit_cast::<6, 4>(self.reach.val().get_bits::<4>(0));
        } else if self.reach.val().get_bit(3) {
            self.size.next = 3.into();
            self.tail.next = bit_cast::<6, 3>(self.reach.val().get_bits::<3>(0));
        } else if self.reach.val().get_bit(2) {
            self.size.next = 2.into();
            self.tail.next = bit_cast::<6, 2>(self.reach.val().get_bits::<2>(0));
        } else if self.reach.val().get_bit(1) {
            self.size.next = 1.into();
            self.tail.next = bit_cast::<6, 1>(self.reach.val().get_bits::<1>(0));
        } else if self.reach.val().get_bit(0) {
            self.size.next = 0.into();
        }
        self.pace.next.rows = self.quotient[0].q.val().get_bits::<13>(0);
        self.pace.next.phase = self.remainder[0].q.val() + 1;
        self.pace.next.page_row = self.quotient[1].q.val().get_bits::<13>(0);
        self.pace.next.page_phase = self.remainder[1].q.val() + 1;
        self.pace.next.page_rows = self.quotient[2].q.val().get_bits::<13>(0);
        self.pace.next.page_rest = self.remainder[2].q.val();
        // Four times the remainder of 4 KiB are up to three steps more.
        self.four.next = bit_cast::<10, 8>(self.remainder[2].q.val()) << 2;
        self.two_steps.next = bit_cast::<10, 8>(self.step.q.val()) << 1;
        self.three_steps.next = self.two_steps.val() + bit_cast::<10, 8>(self.step.q.val());
        self.leap.next = bit_cast::<15, 14>(self.quotient[2].q.val()) << 2;
        self.leap_rest.next = self.four.val().get_bits::<8>(0);
        if !(self.four.val() < self.three_steps.val()) {
            self.leap.next = (bit_cast::<15, 14>(self.quotient[2].q.val()) << 2) + 3;
            self.leap_rest.next = (self.four.val() - self.three_steps.val()).get_bits::<8>(0);
        } else if !(self.four.val() < self.two_steps.val()) {
            self.leap.next = (bit_cast::<15, 14>(self.quotient[2].q.val()) << 2) + 2;
            self.leap_rest.next = (self.four.val() - self.two_steps.val()).get_bits::<8>(0);
        } else if !(self.four.val() < bit_cast::<10, 8>(self.step.q.val())) {
            self.leap.next = (bit_cast::<15, 14>(self.quotient[2].q.val()) << 2) + 1;
            self.leap_rest.next =
                (self.four.val() - bit_cast::<10, 8>(self.step.q.val())).get_bits::<8>(0);
        }
        self.pace.next.leap_rows = self.leap.val();
        self.pace.next.leap_rest = self.leap_rest.val();
        self.pace.next.step = self.step.q.val();
        self.pace.next.len = self.len.q.val();
        self.pace.next.overlap = self.step.q.val() < bit_cast::<8, 7>(self.len.q.val());
        self.pace.next.near = self.near.val();
        self.pace.next.size = self.size.val();
        self.pace.next.rest = self.tail.val();
        self.step_low.next = self.step.q.val().get_bits::<6>(0);
        self.pace.next.triple = self.step_low.val() + (self.step_low.val() << 1);
        self.pace.next.skew = self.skew.q.val();
        self.pace.next.lines =
            self.through.val() && !(self.step.q.val() < bit_cast::<8, 7>(self.len.q.val()));

        if self.rst.val() {
            self.busy.d.next = false;
        }
    }
}
