//! Clears the tables after a reset.

use drdma_abi::register::{COMPLETION_QUEUES, MEMORY_REGIONS, QUEUE_PAIRS, SEND_QUEUES, Table};
use drdma_emit::prelude::*;

/// What is swept.
const TABLES: [Table; 4] = [QUEUE_PAIRS, MEMORY_REGIONS, SEND_QUEUES, COMPLETION_QUEUES];

/// Writes 0 to the last word of every entry of every table, one in four cycles: nothing is ready,
/// valid or enabled until the host says so.
#[derive(LogicBlock, BlockDefault)]
pub struct Sweep {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Starts anew.
    pub rst: Signal<In, Bit>,
    /// Not done yet.
    pub busy: Signal<Out, Bit>,
    /// A word is written.
    pub valid: Signal<Out, Bit>,
    /// Its table.
    pub number: Signal<Out, Bits<3>>,
    /// Its entry.
    pub index: Signal<Out, Bits<10>>,
    /// Its place in the entry.
    pub last_word: Signal<Out, Bits<4>>,
    active: DFF<Bit>,
    phase: DFF<Bits<2>>,
    at: DFF<Bits<10>>,
    at_table: DFF<Bits<2>>,
    #[init(TABLES.map(|table| Constant::new((u64::from(table.entries) - 1).into())))]
    ends: [Constant<Bits<10>>; 4],
    #[init(TABLES.map(|table| Constant::new((u64::from(table.entry_size) / 4 - 1).into())))]
    words: [Constant<Bits<4>>; 4],
    final_entry: Signal<Local, Bits<10>>,
}

impl Logic for Sweep {
    #[hdl_gen]
    fn update(&mut self) {
        self.busy.next = self.active.q.val();
        self.valid.next = self.active.q.val() && self.phase.q.val().all();
        self.number.next = bit_cast::<3, 2>(self.at_table.q.val());
        self.index.next = self.at.q.val();
        self.last_word.next = self.words[0].val();
        self.final_entry.next = self.ends[0].val();
        for k in 1..4 {
            if self.at_table.q.val() == k.to_bits() {
                self.last_word.next = self.words[k].val();
                self.final_entry.next = self.ends[k].val();
            }
        }
        self.phase.d.next = self.phase.q.val() + 1;
        if self.phase.q.val().all() {
            self.at.d.next = self.at.q.val() + 1;
            if self.at.q.val() == self.final_entry.val() {
                self.at.d.next = bits::<10>(0);
                self.at_table.d.next = self.at_table.q.val() + 1;
                if self.at_table.q.val().all() {
                    self.active.d.next = false;
                }
            }
        }
        if self.rst.val() {
            self.active.d.next = true;
            self.phase.d.next = bits::<2>(0);
            self.at.d.next = bits::<10>(0);
            self.at_table.d.next = bits::<2>(0);
        }
    }
}
