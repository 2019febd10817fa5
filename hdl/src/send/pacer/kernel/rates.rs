//! Rates, times and alphas of limited queue pairs.

use super::super::{
    ALPHA, BURST, DIVIDEND_HIGH, DIVIDEND_LOW, LINE, ONE, PAUSE, PERIODS, Pacer, PacerState, RATE,
    REMAINDER, SENT, TIME, UNIT_TIME, UNITS,
};
use drdma_emit::prelude::*;

/// How far the product of a rate and an alpha is shifted right for half of alpha's part of the rate.
const HALF: usize = ALPHA + 1;
/// Bits of the quotient of a division, less one.
const LAST: u64 = UNIT_TIME as u64 - 1;

impl Pacer {
    /// The current time, and how long ago the periods of the current queue pair began.
    #[hdl_gen]
    pub(super) fn look_at_time(&mut self) {
        self.clock.d.next = self.clock.q.val() + 1;
        self.now.next = bit_cast::<TIME, 24>(self.clock.q.val()) << 8;
        self.period.next = self.clock.q.val().get_bits::<PERIODS>(8);
        self.since_alpha.next = self.period.val() - self.it.q.val().alpha_since;
        self.since_rate.next = self.period.val() - self.it.q.val().rate_since;
    }

    /// The rate less half of alpha's part of it, how long a packet takes, and the sums of a raise and of a division.
    #[hdl_gen]
    pub(super) fn compute(&mut self) {
        self.cut.enable.next = true;
        self.cut.a.next = self.it.q.val().rate;
        self.cut.b.next = self.it.q.val().alpha;
        self.pause.enable.next = true;
        self.pause.a.next = self.units.q.val();
        self.pause.b.next = self.it.q.val().unit_time;
        self.left.next = self.it.q.val().rate
            - bit_cast::<RATE, ALPHA>(self.cut.product.val().get_bits::<ALPHA>(HALF));
        self.share.next = self.it.q.val().alpha >> self.settings.alpha_shift.val();
        self.more.next = (bit_cast::<17, ALPHA>(self.it.q.val().alpha)
            - bit_cast::<17, ALPHA>(self.share.val()))
            + (bits::<17>(0x1_0000) >> self.settings.alpha_shift.val());
        self.time_over.next = self.it.q.val().time_stage >= self.settings.stages.val();
        self.bytes_over.next = self.it.q.val().byte_stage >= self.settings.stages.val();
        self.raised.next = bit_cast::<18, RATE>(self.it.q.val().rate) + self.added.q.val() + 1;
        self.unused_raised.next = self.raised.val();
        self.sent.next =
            bit_cast::<19, SENT>(self.it.q.val().sent) + bit_cast::<19, UNITS>(self.units.q.val());
        self.rest.next = self.remainder.q.val() - bit_cast::<REMAINDER, RATE>(self.it.q.val().rate);
    }

    /// Prepares the cut of the rate after a CNP, unless the queue pair's packets carry no ECN.
    #[hdl_gen]
    pub(super) fn begin_cut(&mut self) {
        if !self.reacts.q.val() {
            self.state.d.next = PacerState::Choose;
        } else {
            self.state.d.next = PacerState::Multiply;
            if self.is_free.q.val() {
                self.it.d.next.rings = true;
                self.it.d.next.waits = false;
                self.it.d.next.due = self.now.val();
            }
            if self.is_free.q.val() || (self.it.q.val().rate == LINE) {
                self.it.d.next.rate = LINE.into();
                self.it.d.next.alpha = ONE.into();
            }
        }
    }

    /// Ends periods that are over, and offers a `go` that is due.
    #[hdl_gen]
    pub(super) fn look_at_ring(&mut self) {
        if (self.since_alpha.val() >= self.settings.alpha_period.val()) && self.share.val().any() {
            self.it.d.next.alpha = self.it.q.val().alpha - self.share.val();
            self.it.d.next.alpha_since =
                self.it.q.val().alpha_since + self.settings.alpha_period.val();
        }
        if self.it.q.val().waits {
            if !self.behind.q.val().get_bit(TIME - 1) && !self.going.q.val() {
                self.it.d.next.waits = false;
                self.going.d.next = true;
                self.going_qp.d.next = self.qp.q.val();
            }
        } else if !self.behind.q.val().get_bit(TIME - 1)
            && self.behind.q.val().get_bits::<11>(BURST).any()
        {
            self.it.d.next.due = self.now.val() - (1 << BURST as u64);
        }
        if self.it.q.val().rate == LINE {
            self.it.d.next.rings = self.it.q.val().waits;
        } else if self.since_rate.val() >= self.settings.rate_period.val() {
            self.it.d.next.rate_since =
                self.it.q.val().rate_since + self.settings.rate_period.val();
            if !self.it.q.val().time_stage.all() {
                self.it.d.next.time_stage = self.it.q.val().time_stage + 1;
            }
            self.state.d.next = PacerState::Raise;
        }
    }

    /// Cuts the rate after a CNP, and begins new periods.
    #[hdl_gen]
    pub(super) fn cut_rate(&mut self) {
        self.it.d.next.target = self.it.q.val().rate;
        self.it.d.next.rate = self.left.val();
        if self.left.val() < bit_cast::<RATE, 16>(self.settings.min_rate.val()) {
            self.it.d.next.rate = bit_cast::<RATE, 16>(self.settings.min_rate.val());
        }
        self.it.d.next.alpha = self.more.val().get_bits::<ALPHA>(0);
        if self.more.val().get_bit(ALPHA) {
            self.it.d.next.alpha = ONE.into();
        }
        self.it.d.next.alpha_since = self.period.val();
        self.it.d.next.rate_since = self.period.val();
        self.it.d.next.sent = 0.into();
        self.it.d.next.time_stage = 0.into();
        self.it.d.next.byte_stage = 0.into();
        self.remainder.d.next = DIVIDEND_HIGH.into();
        self.dividend.d.next = DIVIDEND_LOW.into();
        self.step.d.next = 0.into();
        self.state.d.next = PacerState::Divide;
    }

    /// Counts a packet, and says when the next one may be sent.
    #[hdl_gen]
    pub(super) fn count_packet(&mut self) {
        self.it.d.next.waits = true;
        self.it.d.next.due =
            self.it.q.val().due + bit_cast::<TIME, PAUSE>(self.pause.product.val());
        if self.is_stale.q.val() {
            self.it.d.next.due = self.now.val() - (1 << BURST as u64)
                + bit_cast::<TIME, PAUSE>(self.pause.product.val());
        }
        self.it.d.next.sent = self.sent.val().get_bits::<SENT>(0);
        self.state.d.next = PacerState::Store;
        if self.sent.val() >= bit_cast::<19, SENT>(self.settings.rate_bytes.val()) {
            self.it.d.next.sent = 0.into();
            if self.it.q.val().rate != LINE {
                if !self.it.q.val().byte_stage.all() {
                    self.it.d.next.byte_stage = self.it.q.val().byte_stage + 1;
                }
                self.state.d.next = PacerState::Raise;
            }
        }
    }

    /// Raises the target, and then the rate: halfway to it.
    #[hdl_gen]
    pub(super) fn raise_rate(&mut self) {
        if self.step.q.val() == 0 {
            self.added.d.next = bit_cast::<18, RATE>(self.it.q.val().target);
            if self.time_over.val() && self.bytes_over.val() {
                self.added.d.next = bit_cast::<18, RATE>(self.it.q.val().target)
                    + bit_cast::<18, 16>(self.settings.hyper.val());
            } else if self.time_over.val() || self.bytes_over.val() {
                self.added.d.next = bit_cast::<18, RATE>(self.it.q.val().target)
                    + bit_cast::<18, 16>(self.settings.add.val());
            }
        }
        if (self.step.q.val() == 1) && (self.added.q.val() > LINE) {
            self.added.d.next = LINE.into();
        }
        if self.step.q.val() == 2 {
            self.it.d.next.target = self.added.q.val().get_bits::<RATE>(0);
            self.it.d.next.rate = self.raised.val().get_bits::<RATE>(1);
            self.remainder.d.next = DIVIDEND_HIGH.into();
            self.dividend.d.next = DIVIDEND_LOW.into();
            self.step.d.next = 0.into();
            self.state.d.next = PacerState::Divide;
        }
    }

    /// A step of the division for the time of 64 B at the new rate.
    #[hdl_gen]
    pub(super) fn divide(&mut self) {
        // Each step shifts a bit of the dividend into the remainder, and subtracts the divisor if that fits;
        // the first step only shifts.
        self.dividend.d.next = self.dividend.q.val() << 1;
        self.remainder.d.next = (self.remainder.q.val() << 1)
            | bit_cast::<REMAINDER, 1>(self.dividend.q.val().get_bits::<1>(UNIT_TIME - 1));
        if self.step.q.val() > 0 {
            self.it.d.next.unit_time = self.it.q.val().unit_time << 1;
            if !self.rest.val().get_bit(REMAINDER - 1) {
                self.it.d.next.unit_time = (self.it.q.val().unit_time << 1) | 1;
                self.remainder.d.next = (self.rest.val() << 1)
                    | bit_cast::<REMAINDER, 1>(self.dividend.q.val().get_bits::<1>(UNIT_TIME - 1));
            }
        }
        if self.step.q.val() == LAST + 1 {
            self.state.d.next = PacerState::Store;
        }
    }
}
