//! Keeps account of the rows of append regions that the host has given back.

use super::State;
use crate::context::{ConfigWrite, EVERY_TABLE, Table};
use crate::receive::record::{APPEND, APPEND_LIFE, AppendWord};
use drdma_emit::prelude::*;

/// Accepts a word that the host writes to `APPEND_DOORBELLS`, if it advances by at least 1 row and at most by all that
/// are in use.
///
/// Contract: a doorbell counts in the third cycle after its own; words are at least 4 cycles apart. `rows` is asked for
/// a cycle ahead.
///
/// # Inputs
/// `clk`; `cfg`, `word`; `state`, `life`, `enabled`: of the region of `asked`, one cycle before; `next_region`.
///
/// # Outputs
/// `asked`; `rows` of the region of `next_region`, one cycle before: given back since it was enabled, modulo 2^32.
#[derive(LogicBlock, BlockDefault)]
pub struct GivenBack {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to append regions and their doorbells.
    pub word: Flow<In, AppendWord>,
    /// The region whose state is asked for in the next cycle.
    pub asked: Signal<Out, Bits<APPEND>>,
    /// State of the region of `asked`, one cycle before.
    pub state: Signals<In, State>,
    /// Life of the region `asked`.
    pub life: Signal<In, Bits<APPEND_LIFE>>,
    /// The region `asked` is enabled.
    pub enabled: Signal<In, Bit>,
    /// The region whose `rows` are asked for in the next cycle.
    pub next_region: Signal<In, Bits<APPEND>>,
    /// Rows of the region of `next_region`, one cycle before, that were given back since it was enabled, modulo 2^32.
    pub rows: Signal<Out, Bits<32>>,

    clears: Signal<Local, Bit>,
    unused: Signal<Local, ConfigWrite>,
    unused_state: Signal<Local, State>,
    region: DFF<Bits<APPEND>>,
    total: DFF<Bits<32>>,
    empties: DFF<Bit>,
    rings: DFF<Bit>,
    appended: Signal<Local, Bits<32>>,
    // By how many rows the doorbell advances, and how many are in use.
    judges: DFF<Bit>,
    advance: DFF<Bits<32>>,
    used: DFF<Bits<32>>,
    right: Signal<Local, Bit>,
    /// Rows given back, once for the reader and once for the doorbells.
    given: [Table<32, APPEND>; 2],
}

impl Logic for GivenBack {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.cfg.val();
        self.unused_state.next = self.state.val();
        self.clears.next = self.cfg.valid.val() && (self.cfg.table.val() == EVERY_TABLE);
        self.empties.d.next =
            self.word.valid.val() && !self.word.bell.val() && self.word.word.val().all();
        self.rings.d.next = self.word.valid.val() && self.word.bell.val();
        if self.word.valid.val() {
            self.region.d.next = self.word.region.val();
            self.total.d.next = self.word.data.val();
        }
        self.asked.next = self.region.d.val();
        self.given[1].ahead.next = self.region.d.val();

        self.appended.next = self.state.appended.val();
        if self.state.life.val() != self.life.val() {
            self.appended.next = 0.into();
        }
        self.judges.d.next = self.rings.q.val() && self.enabled.val();
        self.advance.d.next = self.total.q.val() - self.given[1].read_data.val();
        self.used.d.next = self.appended.val() - self.given[1].read_data.val();
        self.right.next = self.judges.q.val()
            && self.advance.q.val().any()
            && (self.advance.q.val() <= self.used.q.val());
        for k in 0..2 {
            self.given[k].write_enable.next =
                self.right.val() || self.empties.q.val() || self.clears.val();
            self.given[k].write_address.next = self.region.q.val();
            self.given[k].write_data.next = self.total.q.val();
            if self.empties.q.val() {
                self.given[k].write_data.next = 0.into();
            }
            if self.clears.val() {
                self.given[k].write_address.next = self.cfg.index.val().get_bits::<APPEND>(0);
                self.given[k].write_data.next = 0.into();
            }
        }
        self.given[0].ahead.next = self.next_region.val();
        self.rows.next = self.given[0].read_data.val();
    }
}
