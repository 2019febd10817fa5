//! The logic of the pacer.

use drdma_emit::prelude::*;

use super::{
    ALPHA, BURST, DIVIDEND_HIGH, DIVIDEND_LOW, LINE, ONE, PAUSE, PERIODS, PRODUCT, Pacer,
    PacerEvent, PacerState, RATE, REMAINDER, SENT, TIME, UNIT_TIME, UNITS,
};
use crate::context::QP;

/// How far the product of a rate and an alpha is shifted right for half of alpha's part of the rate.
const HALF: usize = ALPHA + 1;
/// Bits of the quotient of a division, less one.
const LAST: u64 = UNIT_TIME as u64 - 1;

impl Logic for Pacer {
    #[hdl_gen]
    fn update(&mut self) {
        // Words that the host writes into tables.
        self.unused.next = self.cfg.data.val();
        self.unused_interval.next = self.settings.cnp_interval.val();
        self.unused_behind.next = self.behind.q.val();
        self.unused_product.next = self.cut.product.val();
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.may_mark.next = (self.cfg.data.val().get_bits::<2>(16) == 1)
            || (self.cfg.data.val().get_bits::<2>(16) == 2);
        self.marks.write_enable.next =
            self.select.queue_pair.val() && (self.cfg.word.val() == self.tos_word.val());
        self.marks.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.marks.write_data.next = bit_cast::<1, 1>(self.may_mark.val().into());
        self.renewed.input.valid.next = self.select.state.val() && !self.select.every.val();
        self.renewed.input.data.next.qp = self.cfg.index.val().get_bits::<QP>(0);
        self.renewed.output.ready.next = false;

        // Events that come, and wait.
        self.cnps.input.valid.next = self.notified.valid.val();
        self.cnps.input.data.next.qp = self.notified.qp.val();
        self.cnps.output.ready.next = false;
        self.packets.input.valid.next = self.packet.valid.val();
        self.packets.input.data.next = self.packet.val();
        self.packets.output.ready.next = false;
        self.ring.output.ready.next = false;
        self.ring.input.valid.next = false;
        self.ring.input.data.next.qp = self.qp.q.val();

        // Time.
        self.clock.d.next = self.clock.q.val() + 1;
        self.now.next = bit_cast::<TIME, 24>(self.clock.q.val()) << 8;
        self.period.next = self.clock.q.val().get_bits::<PERIODS>(8);
        self.since_alpha.next = self.period.val() - self.it.q.val().alpha_since;
        self.since_rate.next = self.period.val() - self.it.q.val().rate_since;

        // Arithmetic: the rate less half of alpha's part of it, and how long a packet takes.
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

        // The tables.
        self.limits.write_enable.next = false;
        self.limits.write_address.next = self.qp.q.val();
        self.written.record.next = self.it.q.val();
        self.limits.write_data.next = self.written.bits.val();
        self.is_limited.write_enable.next = false;
        self.is_limited.write_address.next = self.qp.q.val();
        self.is_limited.write_data.next =
            bit_cast::<1, 1>((self.it.q.val().rings && (self.it.q.val().rate != LINE)).into());
        self.read.bits.next = self.limits.read_data.val();
        self.is_limited.ahead.next = self.limited_next.val();
        self.limited.next = self.is_limited.read_data.val().get_bit(0);

        // The `go` that is offered.
        self.go.valid.next = self.going.q.val();
        self.go.qp.next = self.going_qp.q.val();
        if self.go.ready.val() {
            self.going.d.next = false;
        }

        self.step.d.next = self.step.q.val() + 1;
        match self.state.q.val() {
            PacerState::Choose => {
                self.units.d.next = self.packets.output.data.val().units;
                self.state.d.next = PacerState::Load;
                self.looked.d.next = false;
                if self.ring.output.valid.val() && !self.looked.q.val() {
                    self.ring.output.ready.next = true;
                    self.looked.d.next = true;
                    self.event.d.next = PacerEvent::Look;
                    self.qp.d.next = self.ring.output.data.val().qp;
                } else if self.renewed.output.valid.val() {
                    self.renewed.output.ready.next = true;
                    self.event.d.next = PacerEvent::Renewed;
                    self.qp.d.next = self.renewed.output.data.val().qp;
                } else if self.packets.output.valid.val() {
                    self.packets.output.ready.next = true;
                    self.event.d.next = PacerEvent::Packet;
                    self.qp.d.next = self.packets.output.data.val().qp;
                } else if self.cnps.output.valid.val() {
                    self.cnps.output.ready.next = true;
                    self.event.d.next = PacerEvent::Notified;
                    self.qp.d.next = self.cnps.output.data.val().qp;
                } else {
                    self.state.d.next = PacerState::Choose;
                }
            }
            PacerState::Load => {
                self.it.d.next = self.read.record.val();
                self.behind.d.next = self.now.val() - self.read.record.val().due;
                self.reacts.d.next = self.marks.read_data.val().get_bit(0);
                self.is_free.d.next = !self.read.record.val().rings;
                self.step.d.next = 0.into();
                self.state.d.next = PacerState::Act;
            }
            PacerState::Act => {
                self.state.d.next = PacerState::Store;
                self.step.d.next = 0.into();
                self.is_stale.d.next = !self.behind.q.val().get_bit(TIME - 1)
                    && self.behind.q.val().get_bits::<11>(BURST).any();
                match self.event.q.val() {
                    PacerEvent::Notified => {
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
                    PacerEvent::Packet => {
                        // The queue pair may have left the ring in the event before.
                        self.it.d.next.rings = true;
                        self.state.d.next = PacerState::Multiply;
                    }
                    PacerEvent::Renewed => {
                        self.it.d.next.rate = LINE.into();
                        self.it.d.next.target = LINE.into();
                    }
                    PacerEvent::Look => {
                        if (self.since_alpha.val() >= self.settings.alpha_period.val())
                            && self.share.val().any()
                        {
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
                }
            }
            PacerState::Multiply => {
                if self.step.q.val() == PRODUCT {
                    self.step.d.next = 0.into();
                    self.state.d.next = PacerState::Cut;
                }
            }
            PacerState::Cut => {
                self.step.d.next = 0.into();
                if self.event.q.val() == PacerEvent::Notified {
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
                } else {
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
            }
            PacerState::Raise => {
                // First the target, then the rate: halfway to it.
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
            PacerState::Divide => {
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
                            | bit_cast::<REMAINDER, 1>(
                                self.dividend.q.val().get_bits::<1>(UNIT_TIME - 1),
                            );
                    }
                }
                if self.step.q.val() == LAST + 1 {
                    self.state.d.next = PacerState::Store;
                }
            }
            PacerState::Store => {
                self.limits.write_enable.next = true;
                self.is_limited.write_enable.next = true;
                self.state.d.next = PacerState::Choose;
                if self.it.q.val().rings
                    && ((self.event.q.val() == PacerEvent::Look) || self.is_free.q.val())
                {
                    self.ring.input.valid.next = true;
                }
            }
        }

        if self.select.every.val() {
            self.limits.write_enable.next = true;
            self.limits.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.limits.write_data.next = 0.into();
            self.is_limited.write_enable.next = true;
            self.is_limited.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.is_limited.write_data.next = 0.into();
        }
        if self.rst.val() {
            self.state.d.next = PacerState::Choose;
            self.clock.d.next = 0.into();
            self.looked.d.next = false;
            self.going.d.next = false;
        }
        self.limits.ahead.next = self.qp.d.val();
        self.marks.ahead.next = self.qp.d.val();
    }
}
