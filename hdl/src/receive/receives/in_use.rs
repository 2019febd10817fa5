//! The receives that queue pairs have in use: names and regions, by queue pair.
//!
//! Contract: what is read is told in the cycle after it was asked for, with all that was written until then.

use super::record::*;
use crate::context::{ConfigWrite, Flags, QP, Table, TableSelect};
use crate::primitive::{Flatten, Restore};
use drdma_emit::prelude::*;

/// Bits of a span's address: queue pair, place.
pub const PLACE: usize = QP + 5;

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct InUse {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables: nothing is in use once they are cleared.
    pub cfg: Flow<In, ConfigWrite>,
    /// A region is written here.
    pub span_at: Signal<In, Bits<PLACE>>,
    /// The region.
    pub span: Flow<In, Span>,
    /// A queue pair has a receive in use from now on,
    pub named_qp: Signal<In, Bits<QP>>,
    /// under this name.
    pub named: Flow<In, Name>,
    /// It has none any more:
    pub cleared: Signal<In, Bit>,
    /// this one.
    pub cleared_qp: Signal<In, Bits<QP>>,

    /// The queue pair that the taker asks for,
    pub taker_qp: Signal<In, Bits<QP>>,
    /// and whether it has a receive in use.
    pub taker_used: Signal<Out, Bit>,
    /// The queue pair that scatter asks for,
    pub next_qp: Signal<In, Bits<QP>>,
    /// and whether it has a receive in use.
    pub used: Signal<Out, Bit>,
    /// Its name.
    pub name: Signals<Out, Name>,
    /// The region that scatter asks for.
    pub next_span: Signal<In, Bits<PLACE>>,
    /// That region.
    pub region: Signals<Out, Span>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    flags: Flags<QP, 2>,
    spans: Table<SPAN, PLACE>,
    names: Table<NAME, QP>,
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
        self.flags.wipe_valid.next = self.select.every.val();
        self.flags.wipe_index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.flags.set_valid.next = self.named.valid.val();
        self.flags.set_index.next = self.named_qp.val();
        self.flags.clear_valid.next = self.cleared.val();
        self.flags.clear_index.next = self.cleared_qp.val();
        self.flags.ahead[0].next = self.taker_qp.val();
        self.flags.ahead[1].next = self.next_qp.val();
        self.taker_used.next = self.flags.flag[0].val();
        self.used.next = self.flags.flag[1].val();

        self.span_in.record.next = self.span.val();
        self.spans.write_enable.next = self.span.valid.val();
        self.spans.write_address.next = self.span_at.val();
        self.spans.write_data.next = self.span_in.bits.val();
        self.spans.ahead.next = self.next_span.val();
        self.span_out.bits.next = self.spans.read_data.val();
        self.region.next = self.span_out.record.val();

        self.name_in.record.next = self.named.val();
        self.names.write_enable.next = self.named.valid.val();
        self.names.write_address.next = self.named_qp.val();
        self.names.write_data.next = self.name_in.bits.val();
        self.names.ahead.next = self.next_qp.val();
        self.name_out.bits.next = self.names.read_data.val();
        self.name.next = self.name_out.record.val();
    }
}
