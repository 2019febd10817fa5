//! Which append regions are enabled, and how often each was.

use crate::context::{ConfigWrite, EVERY_TABLE, Table};
use crate::receive::record::{APPEND, APPEND_LIFE, AppendWord};
use drdma_emit::prelude::*;

/// Bits of a life, and whether the region is enabled.
const STANDING: usize = APPEND_LIFE + 1;

/// A region is enabled from its last word to the next one that is written to its entry, and begins a new life with each last word.
///
/// Contract: asked a cycle ahead. A word counts in the second cycle after its own; words are at least 3 cycles apart. The
/// cycles that clear all tables end all lives.
///
/// # Inputs
/// `clk`; `cfg`, `word`; `next_region`.
///
/// # Outputs
/// `enabled`, `life`, of the region that `next_region` was in the cycle before.
#[derive(LogicBlock, BlockDefault)]
pub struct Lives {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that it writes of append regions.
    pub word: Flow<In, AppendWord>,
    /// The region that is asked for in the next cycle.
    pub next_region: Signal<In, Bits<APPEND>>,
    /// That of the cycle before is enabled,
    pub enabled: Signal<Out, Bit>,
    /// and in this life.
    pub life: Signal<Out, Bits<APPEND_LIFE>>,

    clears: Signal<Local, Bit>,
    unused: Signal<Local, ConfigWrite>,
    written: DFF<Bit>,
    region: DFF<Bits<APPEND>>,
    begins: DFF<Bit>,
    enables: DFF<Bit>,
    /// For the reader, and for the writer.
    standings: [Table<STANDING, APPEND>; 2],
    before: Signal<Local, Bits<APPEND_LIFE>>,
    then: Signal<Local, Bits<STANDING>>,
}

impl Logic for Lives {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.cfg.val();
        self.clears.next = self.cfg.valid.val() && (self.cfg.table.val() == EVERY_TABLE);
        self.written.d.next = self.word.valid.val() && !self.word.bell.val();
        self.region.d.next = self.word.region.val();
        self.begins.d.next = self.word.word.val().all();
        self.enables.d.next = self.word.data.val() == 1;

        self.before.next = self.standings[1].read_data.val().get_bits::<APPEND_LIFE>(0);
        self.then.next = bit_cast::<STANDING, APPEND_LIFE>(self.before.val());
        if self.begins.q.val() {
            self.before.next = self.before.val() + 1;
            self.then.next = bit_cast::<STANDING, APPEND_LIFE>(self.before.val());
            if self.enables.q.val() {
                self.then.next = self.then.val().replace_bit(APPEND_LIFE, true);
            }
        }
        if self.clears.val() {
            self.then.next = 0.into();
        }
        for k in 0..2 {
            self.standings[k].write_enable.next = self.written.q.val() || self.clears.val();
            self.standings[k].write_address.next = self.region.q.val();
            if self.clears.val() {
                self.standings[k].write_address.next = self.cfg.index.val().get_bits::<APPEND>(0);
            }
            self.standings[k].write_data.next = self.then.val();
        }
        self.standings[0].ahead.next = self.next_region.val();
        self.standings[1].ahead.next = self.region.d.val();
        self.enabled.next = self.standings[0].read_data.val().get_bit(APPEND_LIFE);
        self.life.next = self.standings[0].read_data.val().get_bits::<APPEND_LIFE>(0);
    }
}
