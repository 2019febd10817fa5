//! Keeps which queue pairs are in error, which send queues are halted, and which are enabled.

use drdma_emit::prelude::*;

use super::{ConfigWrite, Flags, QP, QUEUE, QueuePairIndex, Table, TableSelect};
use crate::primitive::Lutram;

/// Number of readers of the queue pairs' states: decoder, sequencer, segmenter, registers, responder, append regions.
pub const ERROR_READERS: usize = 6;
/// Number of readers of the queues' states: the queue block twice, decoder, segmenter, doorbells, registers.
pub const HALT_READERS: usize = 6;

/// Keeps the states of queue pairs and send queues, for all blocks.
///
/// `segmenter`, `completion`, `responder` and `replies` put queue pairs in the error state, `completion` halts queues.
/// The host's write of a queue pair's `state` (except 1 after 2, with which a queue pair that is ready to receive
/// becomes ready to send) or of a queue's `enable` takes that back, and wins over a block in the same cycle.
///
/// A reader names in a cycle the entry that it wants in the next one, and then gets its state with all changes of the
/// cycles before. (If `segmenter` and `completion` fail a queue pair in the same cycle, that of `completion` counts a
/// cycle later; `responder` and `replies` wait.) `broken` follows once, in the cycle after a queue pair has entered the
/// error state, whichever block failed it.
///
/// Contract: `set_qp_error_a` comes at most every second cycle, `set_qp_error_b` at most every third, so that two in a
/// cycle never meet a third in the next. `set_qp_error_c` is taken when neither of them comes or waits, and
/// `set_qp_error_d` when none of the three does. After a reset the states of an entry are 0 from the cycle in which
/// `cfg` clears it in every table; nothing is set until all are cleared.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `set_qp_error_a`, `set_qp_error_b`, `set_queue_halted` (pulses, each with `index`); streams
/// `set_qp_error_c` and `set_qp_error_d`; `error_next`, `halted_next`, `enabled_next`.
///
/// # Outputs
/// `error`, `halted`, `enabled`: of the entries that were named in the cycle before; `broken`.
#[derive(LogicBlock, BlockDefault)]
pub struct States {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The segmenter fails a queue pair.
    pub set_qp_error_a_valid: Signal<In, Bit>,
    /// With `set_qp_error_a_valid`: the queue pair.
    pub set_qp_error_a_index: Signal<In, Bits<QP>>,
    /// The completion block fails a queue pair.
    pub set_qp_error_b_valid: Signal<In, Bit>,
    /// With `set_qp_error_b_valid`: the queue pair.
    pub set_qp_error_b_index: Signal<In, Bits<QP>>,
    /// Queue pairs that the responder fails.
    pub set_qp_error_c: Stream<In, QueuePairIndex>,
    /// Queue pairs that `replies` fails, because a READ cannot be answered.
    pub set_qp_error_d: Stream<In, QueuePairIndex>,
    /// Queue pairs that have entered the error state.
    pub broken: Flow<Out, QueuePairIndex>,
    /// The completion block halts a queue.
    pub set_queue_halted_valid: Signal<In, Bit>,
    /// With `set_queue_halted_valid`: the queue.
    pub set_queue_halted_index: Signal<In, Bits<QUEUE>>,
    /// Queue pairs whose states are wanted in the next cycle, one for each reader.
    pub error_next: [Signal<In, Bits<QP>>; ERROR_READERS],
    /// The queue pair that each reader named in the cycle before is in error.
    pub error: [Signal<Out, Bit>; ERROR_READERS],
    /// Queues whose states are wanted in the next cycle, one for each reader.
    pub halted_next: [Signal<In, Bits<QUEUE>>; HALT_READERS],
    /// The queue that each reader named in the cycle before is halted.
    pub halted: [Signal<Out, Bit>; HALT_READERS],
    /// Queue whose `enable` is wanted in the next cycle.
    pub enabled_next: Signal<In, Bits<QUEUE>>,
    /// The queue that `enabled_next` named in the cycle before is enabled.
    pub enabled: Signal<Out, Bit>,

    select: TableSelect,
    errors: Flags<QP, ERROR_READERS>,
    halts: Flags<QUEUE, HALT_READERS>,
    enables: Table<1, QUEUE>,
    /// The second of two failures of one cycle waits.
    waits: DFF<Bit>,
    waiting: DFF<Bits<QP>>,
    /// Queue pairs that the host has made ready to receive, and not ready to send since.
    receiving: Lutram<1, QP, 1>,
    set_before: DFF<Bits<QP>>,
    clears: Signal<Local, Bit>,
    enabling: Signal<Local, Bit>,
    unused: Signal<Local, Bits<30>>,
}

impl Logic for States {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.unused.next = self.cfg.data.val().get_bits::<30>(2);

        // A queue pair that goes from ready to receive to ready to send, and has failed before that, stays failed.
        self.receiving.read_address[0].next = self.cfg.index.val().get_bits::<QP>(0);
        self.receiving.write_enable.next = self.select.state.val();
        self.receiving.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.receiving.write_data.next = self.cfg.data.val().get_bits::<1>(1);
        self.clears.next = self.select.state.val()
            && (self.select.every.val()
                || !(self.cfg.data.val().get_bit(0)
                    && self.receiving.read_data[0].val().get_bit(0)));
        self.errors.clear_valid.next = self.clears.val();
        self.errors.clear_index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.errors.wipe_valid.next = self.select.every.val();
        self.errors.set_valid.next = true;
        self.waits.d.next = false;
        self.set_qp_error_c.ready.next = false;
        self.set_qp_error_d.ready.next = false;
        self.waiting.d.next = self.set_qp_error_b_index.val();
        if self.set_qp_error_a_valid.val() {
            self.errors.set_index.next = self.set_qp_error_a_index.val();
            // An entry that the host clears in this cycle stays cleared.
            self.waits.d.next = self.set_qp_error_b_valid.val()
                && !(self.clears.val()
                    && (self.cfg.index.val().get_bits::<QP>(0) == self.set_qp_error_b_index.val()));
        } else if self.waits.q.val() {
            self.errors.set_index.next = self.waiting.q.val();
        } else if self.set_qp_error_b_valid.val() {
            self.errors.set_index.next = self.set_qp_error_b_index.val();
        } else {
            self.set_qp_error_c.ready.next = true;
            self.errors.set_valid.next = self.set_qp_error_c.valid.val();
            self.errors.set_index.next = self.set_qp_error_c.qp.val();
            if !self.set_qp_error_c.valid.val() {
                self.set_qp_error_d.ready.next = true;
                self.errors.set_valid.next = self.set_qp_error_d.valid.val();
                self.errors.set_index.next = self.set_qp_error_d.qp.val();
            }
        }
        self.set_before.d.next = self.errors.set_index.val();
        self.broken.valid.next = self.errors.rises.val();
        self.broken.qp.next = self.set_before.q.val();
        for k in 0..ERROR_READERS {
            self.errors.ahead[k].next = self.error_next[k].val();
            self.error[k].next = self.errors.flag[k].val();
        }

        self.enabling.next = self.select.enable.val();
        self.halts.set_valid.next = self.set_queue_halted_valid.val();
        self.halts.set_index.next = self.set_queue_halted_index.val();
        self.halts.clear_valid.next = self.enabling.val();
        self.halts.clear_index.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.halts.wipe_valid.next = self.select.every.val();
        for k in 0..HALT_READERS {
            self.halts.ahead[k].next = self.halted_next[k].val();
            self.halted[k].next = self.halts.flag[k].val();
        }

        self.enables.write_enable.next = self.select.enable.val();
        self.enables.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.enables.write_data.next = self.cfg.data.val().get_bits::<1>(0);
        self.enables.ahead.next = self.enabled_next.val();
        self.enabled.next = self.enables.read_data.val().get_bit(0);

        if self.rst.val() {
            self.waits.d.next = false;
            self.errors.set_valid.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::clear_tables;
    use crate::testing;
    use drdma_abi::Layout;
    use drdma_abi::register::{QueuePairEntry, SendQueueEntry};
    use drdma_verilated::testbench::{Bench, Random};

    const ENTRIES: u64 = 4096;

    #[test]
    fn blocks_set_states_the_host_takes_them_back_and_every_reader_sees_it() {
        let library = testing::library("states", States::default);
        let mut bench = Bench::new(library.instance(1), 1);
        clear_tables(&mut bench);
        let mut random = Random::new(1);
        let [mut errors, mut halts, mut enables] = [(); 3].map(|()| vec![false; ENTRIES as usize]);
        let mut asked = ([0; ERROR_READERS], [0; HALT_READERS], 0);
        let (mut quiet_a, mut quiet_b, mut quiet_cfg) = (0, 0, 0);
        // Queue pair that the completion block fails in the same cycle as the segmenter another.
        let mut second = None;
        // What the responder wants to fail, which queue pairs the host has made ready to receive, and which one
        // has broken in the cycle before.
        let (mut third, mut receiving, mut broken) = (None, vec![false; ENTRIES as usize], None);
        let (mut collisions, mut seen, mut thirds, mut kept) = (0, 0, 0, 0);
        let word = |bit: usize| (bit / 32) as u64;
        for round in 0..30_000_u64 {
            // A few entries at a time, from all of the tables.
            let mut pick = || (round / 100 * 1_031 + random.below(4) * 1_365) % ENTRIES;
            let (a, b, halt, cfg) = (pick(), pick(), pick(), pick());
            asked.0.iter_mut().for_each(|qp| *qp = pick());
            asked.1.iter_mut().for_each(|queue| *queue = pick());
            asked.2 = pick();
            let c = pick();
            if third.is_none() && random.chance(0.2) {
                third = Some(c);
            }
            let sets_a = quiet_a >= 1 && random.chance(0.5);
            let sets_b = quiet_b >= 2 && random.chance(0.5);
            let halting = random.chance(0.4);
            quiet_a = if sets_a { 0 } else { quiet_a + 1 };
            quiet_b = if sets_b { 0 } else { quiet_b + 1 };
            let writes = quiet_cfg >= 3 && random.chance(0.6);
            quiet_cfg = if writes { 0 } else { quiet_cfg + 1 };
            let (table, last, data) = match random.below(5) {
                0 | 1 => (
                    0,
                    word(QueuePairEntry::field("state").start),
                    [0, 1, 1, 2][random.below(4) as usize],
                ),
                2 | 3 => (2, word(SendQueueEntry::field("enable").start), random.below(2)),
                // Other words and other tables change no state.
                _ => (random.below(4), 3, 1),
            };
            for (port, value) in [
                ("set_qp_error_a_valid", u64::from(sets_a)),
                ("set_qp_error_a_index", a),
                ("set_qp_error_b_valid", sets_b.into()),
                ("set_qp_error_b_index", b),
                ("set_qp_error_c_valid", third.is_some().into()),
                ("set_qp_error_c_qp", third.unwrap_or(c)),
                ("set_queue_halted_valid", halting.into()),
                ("set_queue_halted_index", halt),
                ("cfg_valid", writes.into()),
                ("cfg_table", table),
                ("cfg_index", cfg),
                ("cfg_word", last),
                ("cfg_data", data),
                ("enabled_next", asked.2),
            ] {
                bench.set(port, value);
            }
            for (k, qp) in asked.0.iter().enumerate() {
                bench.set(format!("error_next_{k}"), *qp);
            }
            for (k, queue) in asked.1.iter().enumerate() {
                bench.set(format!("halted_next_{k}"), *queue);
            }
            bench.model().settle();
            let taken = bench.get("set_qp_error_c_ready") == 1;
            assert_eq!(taken, !sets_a && !sets_b && second.is_none(), "{round}");
            let reported = (bench.get("broken_valid") == 1).then(|| bench.get("broken_qp"));
            assert_eq!(reported, broken.take(), "{round}");
            bench.step();
            let clears = writes && table == 0 && last == 15;
            let keeps = clears && data == 1 && receiving[cfg as usize];
            let clears = clears && !keeps;
            let set = match (sets_a, second.take(), sets_b) {
                (true, _, _) => Some(a),
                (false, Some(qp), _) => Some(qp),
                (false, None, true) => Some(b),
                (false, None, false) => third.take_if(|_| taken),
            };
            broken = set.filter(|qp| !errors[*qp as usize] && !(clears && *qp == cfg));
            if let Some(qp) = set {
                errors[qp as usize] = true;
            }
            thirds += u64::from(taken && set.is_some());
            kept += u64::from(keeps && errors[cfg as usize]);
            if writes && table == 0 && last == 15 {
                receiving[cfg as usize] = data == 2;
            }
            if sets_b && sets_a {
                second = Some(b);
                collisions += 1;
            }
            if halting {
                halts[halt as usize] = true;
            }
            if clears {
                errors[cfg as usize] = false;
                second = second.filter(|qp| *qp != cfg);
            }
            let enabling = writes && table == 2 && last == 7;
            if enabling {
                halts[cfg as usize] = false;
                enables[cfg as usize] = data == 1;
            }
            bench.model().settle();
            for (k, qp) in asked.0.iter().enumerate() {
                let flag = bench.get(format!("error_{k}")) == 1;
                assert_eq!(flag, errors[*qp as usize], "queue pair {qp}, reader {k}, {round}");
                seen += u64::from(flag);
            }
            for (k, queue) in asked.1.iter().enumerate() {
                let flag = bench.get(format!("halted_{k}")) == 1;
                assert_eq!(flag, halts[*queue as usize], "queue {queue}, reader {k}, {round}");
                seen += u64::from(flag);
            }
            assert_eq!(bench.get("enabled") == 1, enables[asked.2 as usize], "{round}");
        }
        assert!(collisions > 1_000 && seen > 10_000, "{collisions}, {seen}");
        assert!(thirds > 1_000 && kept > 100, "{thirds}, {kept}");
        for port in ["set_qp_error_a", "set_qp_error_b", "set_qp_error_c", "set_queue_halted"] {
            bench.set(format!("{port}_valid"), 0);
        }
        bench.step();
        clear_tables(&mut bench);
        for qp in 0..ENTRIES {
            bench.set("error_next_0", qp);
            bench.set("halted_next_0", qp);
            bench.set("enabled_next", qp);
            bench.step();
            bench.model().settle();
            let all = ["error_0", "halted_0", "enabled"].map(|port| bench.get(port));
            assert_eq!(all, [0; 3], "{qp}");
        }
    }
}
