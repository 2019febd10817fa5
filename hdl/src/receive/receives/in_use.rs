//! The receives that queue pairs have in use: names and regions, by queue pair.
//!
//! A queue pair has up to four in use, which are used up in the order in which they were taken. One of more than 4 regions, or with a strided region, is alone.
//!
//! Contract: what is read is told in the cycle after it was asked for, with all that was written until then. What is told of the oldest receive
//! means nothing if there is none. Where all are used up, none is taken.

use super::record::*;
use crate::context::{ConfigWrite, QP, Table, TableSelect};
use crate::primitive::{Flatten, Restore};
use drdma_emit::prelude::*;

/// Bits of a span's address: queue pair, place.
pub const PLACE: usize = QP + 5;
/// Bits of a place in one of four tables.
const QUARTER: usize = QP + 3;
/// As many regions has a receive that is not alone.
pub const FEW: u64 = 4;
/// Bits of a number of receives, which goes round.
const COUNT: usize = 3;

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct InUse {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables: nothing is in use once they are cleared.
    pub cfg: Flow<In, ConfigWrite>,
    /// The queue pair that takes a receive in the next cycle, if that is its turn: no other one has one named until then.
    pub checker_qp: Signal<In, Bits<QP>>,
    /// A region of the receive is written: which,
    pub span_at: Signal<In, Bits<5>>,
    /// whether the receive has few regions,
    pub span_narrow: Signal<In, Bit>,
    /// and the region. Of the queue pair that `checker_qp` was in the cycle before.
    pub span: Flow<In, Span>,
    /// That queue pair has it in use from now on, under this name.
    pub named: Flow<In, Name>,
    /// The oldest receive of a queue pair is used up.
    pub cleared: Signal<In, Bit>,
    /// All of them are.
    pub cleared_all: Signal<In, Bit>,
    /// That queue pair, which scatter has asked for in the cycle before.
    pub cleared_qp: Signal<In, Bits<QP>>,

    /// The queue pair that the taker asks for,
    pub taker_qp: Signal<In, Bits<QP>>,
    /// and whether it has a receive in use.
    pub taker_used: Signal<Out, Bit>,
    /// It has four, or one of many regions: no further one may be named.
    pub taker_full: Signal<Out, Bit>,
    /// The queue pair that scatter asks for,
    pub next_qp: Signal<In, Bits<QP>>,
    /// and whether it has a receive in use.
    pub used: Signal<Out, Bit>,
    /// The name of the oldest one.
    pub name: Signals<Out, Name>,
    /// The region of it that scatter asks for.
    pub next_span: Signal<In, Bits<PLACE>>,
    /// That region.
    pub region: Signals<Out, Span>,
    /// The entry of a queue pair is cleared with all tables:
    pub wiped: Signal<Out, Bit>,
    /// this one's.
    pub wiped_qp: Signal<Out, Bits<QP>>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    /// Receives that were named, for checker, taker and scatter; with the last one alone.
    counts: [Table<COUNT, QP>; 3],
    wide: Table<1, QP>,
    /// Those that are used up, for taker and scatter.
    ends: [Table<COUNT, QP>; 2],
    /// By the number of the receive. The regions of one with many lie in all of them.
    names: [Table<NAME, QP>; 4],
    spans: [Table<SPAN, QUARTER>; 4],
    number: Signal<Local, Bits<2>>,
    oldest: Signal<Local, Bits<2>>,
    quarter: Signal<Local, Bits<2>>,
    of_span: DFF<Bits<2>>,
    asked: Signal<Local, Bits<2>>,
    held: Signal<Local, Bits<COUNT>>,
    checker_at: DFF<Bits<QP>>,
    named_number: Signal<Local, Bits<COUNT>>,
    named_wide: Signal<Local, Bits<1>>,
    spent: Signal<Local, Bits<COUNT>>,
    name_bits: Signal<Local, Bits<NAME>>,
    span_bits: Signal<Local, Bits<SPAN>>,
    span_in: Flatten<Span, SPAN>,
    span_out: Restore<Span, SPAN>,
    name_in: Flatten<Name, NAME>,
    name_out: Restore<Name, NAME>,
}

impl Logic for InUse {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.unused.next = self.cfg.data.val();
        self.wiped.next = self.select.every.val();
        self.wiped_qp.next = self.cfg.index.val().get_bits::<QP>(0);

        // How many were named, and how many of these are used up.
        self.checker_at.d.next = self.checker_qp.val();
        self.number.next = self.counts[0].read_data.val().get_bits::<2>(0);
        self.named_number.next = self.counts[0].read_data.val() + 1;
        self.named_wide.next = 0.into();
        if self.named.wide.val() {
            self.named_wide.next = 1.into();
        }
        self.spent.next = self.ends[1].read_data.val() + 1;
        if self.cleared_all.val() {
            self.spent.next = self.counts[2].read_data.val();
        }
        for k in 0..3 {
            self.counts[k].write_enable.next = self.named.valid.val() || self.select.every.val();
            self.counts[k].write_address.next = self.checker_at.q.val();
            self.counts[k].write_data.next = self.named_number.val();
        }
        self.wide.write_enable.next = self.named.valid.val();
        self.wide.write_address.next = self.checker_at.q.val();
        self.wide.write_data.next = self.named_wide.val();
        for k in 0..2 {
            self.ends[k].write_enable.next =
                self.cleared.val() || self.cleared_all.val() || self.select.every.val();
            self.ends[k].write_address.next = self.cleared_qp.val();
            self.ends[k].write_data.next = self.spent.val();
        }
        if self.select.every.val() {
            for k in 0..3 {
                self.counts[k].write_address.next = self.cfg.index.val().get_bits::<QP>(0);
                self.counts[k].write_data.next = 0.into();
            }
            for k in 0..2 {
                self.ends[k].write_address.next = self.cfg.index.val().get_bits::<QP>(0);
                self.ends[k].write_data.next = 0.into();
            }
        }
        self.counts[0].ahead.next = self.checker_qp.val();
        self.counts[1].ahead.next = self.taker_qp.val();
        self.counts[2].ahead.next = self.next_qp.val();
        self.wide.ahead.next = self.taker_qp.val();
        self.ends[0].ahead.next = self.taker_qp.val();
        self.ends[1].ahead.next = self.next_qp.val();
        self.held.next = self.counts[1].read_data.val() - self.ends[0].read_data.val();
        self.taker_used.next = self.held.val().any();
        self.taker_full.next =
            (self.held.val() >= 4) || (self.held.val().any() && (self.wide.read_data.val() == 1));
        self.used.next = self.counts[2].read_data.val() != self.ends[1].read_data.val();
        self.oldest.next = self.ends[1].read_data.val().get_bits::<2>(0);

        // Names.
        self.name_in.record.next = self.named.val();
        self.name_bits.next = self.names[0].read_data.val();
        for k in 0..4 {
            self.names[k].write_enable.next =
                self.named.valid.val() && (self.number.val() == k.to_bits());
            self.names[k].write_address.next = self.checker_at.q.val();
            self.names[k].write_data.next = self.name_in.bits.val();
            self.names[k].ahead.next = self.next_qp.val();
            if self.oldest.val() == k.to_bits() {
                self.name_bits.next = self.names[k].read_data.val();
            }
        }
        self.name_out.bits.next = self.name_bits.val();
        self.name.next = self.name_out.record.val();

        // Regions.
        self.span_in.record.next = self.span.val();
        self.quarter.next = self.span_at.val().get_bits::<2>(3);
        if self.span_narrow.val() {
            self.quarter.next = self.number.val();
        }
        self.of_span.d.next = self.next_span.val().get_bits::<2>(3);
        self.asked.next = self.of_span.q.val();
        if !self.name_out.record.val().wide {
            self.asked.next = self.oldest.val();
        }
        self.span_bits.next = self.spans[0].read_data.val();
        for k in 0..4 {
            self.spans[k].write_enable.next =
                self.span.valid.val() && (self.quarter.val() == k.to_bits());
            self.spans[k].write_address.next =
                bit_cast::<QUARTER, 3>(self.span_at.val().get_bits::<3>(0))
                    | (bit_cast::<QUARTER, QP>(self.checker_at.q.val()) << 3);
            self.spans[k].write_data.next = self.span_in.bits.val();
            self.spans[k].ahead.next =
                bit_cast::<QUARTER, 3>(self.next_span.val().get_bits::<3>(0))
                    | (bit_cast::<QUARTER, QP>(self.next_span.val().get_bits::<QP>(5)) << 3);
            if self.asked.val() == k.to_bits() {
                self.span_bits.next = self.spans[k].read_data.val();
            }
        }
        self.span_out.bits.next = self.span_bits.val();
        self.region.next = self.span_out.record.val();
    }
}
