//! Keeps the append regions that are enabled, and the life of each.

use crate::context::{ConfigWrite, EVERY_TABLE, Table};
use crate::receive::record::{APPEND, APPEND_LIFE, AppendWord};
use drdma_emit::prelude::*;

/// Bits of a life and of a flag that says whether the region is enabled.
const STANDING: usize = APPEND_LIFE + 1;

/// Keeps the regions' lives: a region is enabled from the write of its entry's last word until the next write to the
/// entry, and begins a new life with each last word.
///
/// Contract: asked a cycle ahead. A word counts in the second cycle after its own; words are at least 3 cycles apart.
/// The cycles that clear all tables end all lives.
///
/// # Inputs
/// `clk`; `cfg`, `word`; `next_region`.
///
/// # Outputs
/// `enabled`, `life`: of the region of `next_region`, one cycle before.
#[derive(LogicBlock, BlockDefault)]
pub struct Lives {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to append regions.
    pub word: Flow<In, AppendWord>,
    /// The region that is asked for in the next cycle.
    pub next_region: Signal<In, Bits<APPEND>>,
    /// The region of `next_region`, one cycle before, is enabled.
    pub enabled: Signal<Out, Bit>,
    /// Life of that region.
    pub life: Signal<Out, Bits<APPEND_LIFE>>,

    clears: Signal<Local, Bit>,
    unused: Signal<Local, ConfigWrite>,
    written: DFF<Bit>,
    region: DFF<Bits<APPEND>>,
    begins: DFF<Bit>,
    enables: DFF<Bit>,
    standings: Table<STANDING, APPEND>,
    /// A copy of the lives, for the block that counts them.
    own: Table<APPEND_LIFE, APPEND>,
    last_life: Signal<Local, Bits<APPEND_LIFE>>,
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

        self.last_life.next = self.own.read_data.val();
        if self.begins.q.val() {
            self.last_life.next = self.last_life.val() + 1;
        }
        if self.clears.val() {
            self.last_life.next = 0.into();
        }
        self.then.next = bit_cast::<STANDING, APPEND_LIFE>(self.last_life.val());
        if self.begins.q.val() && self.enables.q.val() && !self.clears.val() {
            self.then.next = self.then.val().replace_bit(APPEND_LIFE, true);
        }
        self.standings.write_enable.next = self.written.q.val() || self.clears.val();
        self.standings.write_address.next = self.region.q.val();
        if self.clears.val() {
            self.standings.write_address.next = self.cfg.index.val().get_bits::<APPEND>(0);
        }
        self.standings.write_data.next = self.then.val();
        self.standings.ahead.next = self.next_region.val();
        self.own.write_enable.next = self.standings.write_enable.val();
        self.own.write_address.next = self.standings.write_address.val();
        self.own.write_data.next = self.last_life.val();
        self.own.ahead.next = self.region.d.val();
        self.enabled.next = self.standings.read_data.val().get_bit(APPEND_LIFE);
        self.life.next = self.standings.read_data.val().get_bits::<APPEND_LIFE>(0);
    }
}
