//! All that a card holds.

use std::collections::VecDeque;

use drdma_abi::register::{ASSEMBLER_WORDS, COLUMN_MIN_ROWS};

use super::{
    job::Job,
    registers::{Counters, Registers},
    tables::Tables,
};
use crate::{host::Host, wire::Network};

/// Nanoseconds of a clock cycle: 250 MHz.
pub const NS_PER_CYCLE: u64 = 4;
/// Cycles that pass in one call of `progress`.
pub const CYCLES_PER_PROGRESS: u64 = 1024;
/// Bit of the register `CONTROL`: take doorbells and send.
pub(super) const ENABLE: u32 = 1 << 0;
/// Bit of the register `CONTROL`: reset.
pub(super) const RESET: u32 = 1 << 1;

/// The reference model behind the card's registers.
#[derive(Debug)]
pub struct SoftCard {
    pub(super) network: Network,
    pub(super) host: Host,
    pub(super) registers: Registers,
    pub(super) counters: Counters,
    pub(super) tables: Tables,
    /// Doorbells that are not used up: the send queue and the producer's position, in the order in
    /// which they were rung.
    pub(super) doorbells: VecDeque<(u32, u32)>,
    pub(super) job: Option<Job>,
    /// Cycles since the card was made.
    pub(super) cycles: u64,
    pub(super) cycles_per_progress: u64,
}

impl SoftCard {
    /// A card after reset, whose wire is `network`.
    pub fn new(network: Network) -> Self {
        Self {
            network,
            host: Host::default(),
            registers: Registers::default(),
            counters: Counters::default(),
            tables: Tables::default(),
            doorbells: VecDeque::new(),
            job: None,
            cycles: 0,
            cycles_per_progress: CYCLES_PER_PROGRESS,
        }
    }

    /// Lets this many cycles pass in one call of `progress`.
    #[must_use]
    pub fn with_cycles_per_progress(mut self, cycles: u64) -> Self {
        self.cycles_per_progress = cycles.max(1);
        self
    }

    pub(super) fn is_busy(&self) -> bool {
        self.job.is_some()
            || !self.doorbells.is_empty()
            || self.tables.send_queues[..self.tables.known_send_queues]
                .iter()
                .any(|queue| !queue.in_flight.is_empty())
    }

    pub(super) fn reset(&mut self) {
        let kept = [COLUMN_MIN_ROWS, ASSEMBLER_WORDS];
        let values = kept.map(|register| self.registers.get(&register));
        self.registers = Registers::default();
        for (register, value) in kept.iter().zip(values) {
            self.registers.set(register, value);
        }
        self.counters = Counters::default();
        self.tables = Tables::default();
        self.doorbells.clear();
        self.job = None;
    }
}
