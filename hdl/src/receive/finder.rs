//! Which queue pair has a number: for whoever has a packet with one.

use drdma_abi::Layout;
use drdma_abi::register::QueuePairEntry;
use drdma_emit::prelude::*;

use crate::context::{ConfigWrite, QP, Table, TableSelect};
use crate::primitive::{Ram, RamStyle};

/// What a search is doing.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FinderState {
    /// Waits for a number, or for a queue pair's to be changed.
    Rest,
    /// Has the first queue pair of the number's list.
    First,
    /// Compares a queue pair's number, and has the next one of the list.
    Compare,
}

/// How far a queue pair's change of its number is.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FinderChange {
    /// There is none.
    None,
    /// Its neighbours and its new list have been read: it leaves its old list.
    Leave,
    /// It becomes the first one of its new list.
    Enter,
    /// The one that was the first there learns of it.
    Tell,
}

/// Bits of a link: the queue pair, and whether there is one.
const LINK: usize = QP + 1;
/// Bits of a number 24, and whether the queue pair is in a list.
const NUMBER: usize = 25;

/// Looks queue pairs up by their 24-bit number on the wire, which has nothing to do with their index.
///
/// Queue pairs whose numbers have the same low 12 bits are in a list, linked in both directions, so that one
/// enters and leaves it in 4 cycles, however long it is. A search takes 3 cycles, and one more for each queue
/// pair that it finds before the right one: numbers that differ in their low 12 bits are never in each other's
/// way. Of several live queue pairs with the same number one is found.
///
/// Contract: words of numbers are at least 4 cycles apart. `search` and `qpn` are held until `done`. A search
/// ends when `ready`, and starts again when a number changes meanwhile; one in the cycles in which the tables are cleared finds
/// nothing.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `search`, `qpn`; `ready`.
///
/// # Outputs
/// `done`, and with it `hit` and `qp`: the live queue pair with that number.
#[derive(LogicBlock, BlockDefault)]
#[check(QP == 12 && QueuePairEntry::field("qpn").start % 32 == 0)]
pub struct Finder {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// A number is looked up.
    pub search: Signal<In, Bit>,
    /// The number.
    pub qpn: Signal<In, Bits<24>>,
    /// The result of a search is taken.
    pub ready: Signal<In, Bit>,
    /// The search has ended, and its result is taken.
    pub done: Signal<Out, Bit>,
    /// There is such a queue pair.
    pub hit: Signal<Out, Bit>,
    /// That queue pair.
    pub qp: Signal<Out, Bits<QP>>,

    select: TableSelect,
    #[init(Constant::new((QueuePairEntry::field("qpn").start as u64 / 32).into()))]
    number_word: Constant<Bits<4>>,

    /// The first queue pair of each list.
    heads: Ram<LINK, 1, QP>,
    /// Of each queue pair: its number, those behind and before it, and whether it is live.
    #[init(Ram::new(RamStyle::Ultra))]
    numbers: Ram<NUMBER, 1, QP>,
    behind: Ram<LINK, 1, QP>,
    previous: Ram<LINK, 1, QP>,
    live: Table<1, QP>,

    change: DFF<FinderChange>,
    changes: Signal<Local, Bit>,
    /// The queue pair that changes, its new number, and the first one of the new list.
    changed: DFF<Bits<QP>>,
    number: DFF<Bits<24>>,
    first: DFF<Bits<LINK>>,
    /// It stays in its list.
    stays: DFF<Bit>,
    same: Signal<Local, Bit>,

    state: DFF<FinderState>,
    at: DFF<Bits<QP>>,
    step: Signal<Local, Bits<QP>>,
    one: Signal<Local, Bits<LINK>>,
}

impl Logic for Finder {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.changes.next = self.select.queue_pair.val()
            && !self.select.every.val()
            && (self.cfg.word.val() == self.number_word.val());

        self.live.write_enable.next = self.select.state.val();
        self.live.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        // Ready to send, or ready to receive.
        self.live.write_data.next = 0.into();
        if (self.cfg.data.val() == 1) || (self.cfg.data.val() == 2) {
            self.live.write_data.next = 1.into();
        }

        // A search goes from queue pair to queue pair.
        self.done.next = false;
        self.hit.next = false;
        self.qp.next = self.at.q.val();
        self.step.next = self.at.q.val();
        match self.state.q.val() {
            FinderState::Rest => {
                if self.search.val() {
                    self.state.d.next = FinderState::First;
                }
            }
            FinderState::First => {
                self.step.next = self.heads.read_data.val().get_bits::<QP>(0);
                self.state.d.next = FinderState::Compare;
                if !self.heads.read_data.val().get_bit(12) {
                    self.done.next = true;
                    self.state.d.next = FinderState::Rest;
                }
            }
            FinderState::Compare => {
                self.step.next = self.behind.read_data.val().get_bits::<QP>(0);
                if (self.numbers.read_data.val().get_bits::<24>(0) == self.qpn.val())
                    && self.live.read_data.val().get_bit(0)
                {
                    self.done.next = true;
                    self.hit.next = true;
                    self.state.d.next = FinderState::Rest;
                } else if !self.behind.read_data.val().get_bit(12) {
                    self.done.next = true;
                    self.state.d.next = FinderState::Rest;
                }
            }
        }
        // A result that is not taken stays.
        if self.done.val() && !self.ready.val() {
            self.done.next = false;
            self.hit.next = false;
            self.step.next = self.at.q.val();
            self.state.d.next = self.state.q.val();
        }
        self.at.d.next = self.step.val();
        if self.changes.val() || (self.change.q.val() != FinderChange::None) {
            self.done.next = false;
            self.hit.next = false;
            self.state.d.next = FinderState::Rest;
        }
        if self.select.every.val() {
            self.done.next = self.search.val();
            self.hit.next = false;
            self.state.d.next = FinderState::Rest;
        }

        // What is read: for a search, or a change that begins.
        self.heads.read_enable.next = true;
        self.heads.read_address.next = self.qpn.val().get_bits::<QP>(0);
        self.numbers.read_enable.next = true;
        self.numbers.read_address.next = self.step.val();
        self.behind.read_enable.next = true;
        self.behind.read_address.next = self.step.val();
        self.previous.read_enable.next = true;
        self.previous.read_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.live.ahead.next = self.step.val();
        if self.changes.val() {
            self.heads.read_address.next = self.cfg.data.val().get_bits::<QP>(0);
            self.numbers.read_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.behind.read_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.changed.d.next = self.cfg.index.val().get_bits::<QP>(0);
            self.number.d.next = self.cfg.data.val().get_bits::<24>(0);
        }

        // A queue pair goes from one list to another, unless they are the same.
        self.same.next = self.numbers.read_data.val().get_bit(24)
            && (self.numbers.read_data.val().get_bits::<QP>(0)
                == self.number.q.val().get_bits::<QP>(0));
        self.one.next = bit_cast::<LINK, QP>(self.changed.q.val()) | 0x1000;
        self.heads.write_lanes.next = 0.into();
        self.heads.write_address.next = self.number.q.val().get_bits::<QP>(0);
        self.heads.write_data.next = self.one.val();
        self.numbers.write_lanes.next = 0.into();
        self.numbers.write_address.next = self.changed.q.val();
        self.numbers.write_data.next = bit_cast::<NUMBER, 24>(self.number.q.val()) | 0x100_0000;
        self.behind.write_lanes.next = 0.into();
        self.behind.write_address.next = self.changed.q.val();
        self.behind.write_data.next = self.first.q.val();
        self.previous.write_lanes.next = 0.into();
        self.previous.write_address.next = self.changed.q.val();
        self.previous.write_data.next = 0.into();
        match self.change.q.val() {
            FinderChange::None => {
                if self.changes.val() {
                    self.change.d.next = FinderChange::Leave;
                }
            }
            FinderChange::Leave => {
                self.change.d.next = FinderChange::Enter;
                self.first.d.next = self.heads.read_data.val();
                self.stays.d.next = self.same.val();
                self.numbers.write_lanes.next = 1.into();
                if self.numbers.read_data.val().get_bit(24) && !self.same.val() {
                    self.behind.write_address.next =
                        self.previous.read_data.val().get_bits::<QP>(0);
                    self.behind.write_data.next = self.behind.read_data.val();
                    self.heads.write_address.next = self.numbers.read_data.val().get_bits::<QP>(0);
                    self.heads.write_data.next = self.behind.read_data.val();
                    if self.previous.read_data.val().get_bit(12) {
                        self.behind.write_lanes.next = 1.into();
                    } else {
                        self.heads.write_lanes.next = 1.into();
                    }
                    self.previous.write_address.next =
                        self.behind.read_data.val().get_bits::<QP>(0);
                    self.previous.write_data.next = self.previous.read_data.val();
                    if self.behind.read_data.val().get_bit(12) {
                        self.previous.write_lanes.next = 1.into();
                    }
                }
            }
            FinderChange::Enter => {
                self.change.d.next = FinderChange::Tell;
                if !self.stays.q.val() {
                    self.heads.write_lanes.next = 1.into();
                    self.behind.write_lanes.next = 1.into();
                    self.previous.write_lanes.next = 1.into();
                }
            }
            FinderChange::Tell => {
                self.change.d.next = FinderChange::None;
                self.previous.write_address.next = self.first.q.val().get_bits::<QP>(0);
                self.previous.write_data.next = self.one.val();
                if !self.stays.q.val() && self.first.q.val().get_bit(12) {
                    self.previous.write_lanes.next = 1.into();
                }
            }
        }

        // After a reset all lists are empty.
        if self.select.every.val() {
            self.heads.write_lanes.next = 1.into();
            self.heads.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.heads.write_data.next = 0.into();
            self.numbers.write_lanes.next = 1.into();
            self.numbers.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.numbers.write_data.next = 0.into();
        }
        if self.rst.val() {
            self.state.d.next = FinderState::Rest;
            self.change.d.next = FinderChange::None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::clear_tables;
    use crate::testing;
    use drdma_verilated::testbench::{Bench, Random};
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Numbers and states as the host has written them.
    #[derive(Clone)]
    struct Entry {
        number: Option<u64>,
        live: bool,
    }

    struct Host<'a> {
        bench: Bench<'a>,
        entries: Vec<Entry>,
        /// What searches have found.
        found: Rc<RefCell<Vec<Option<u64>>>>,
    }

    impl Host<'_> {
        fn new(library: &drdma_verilated::Library) -> Self {
            let mut bench = Bench::new(library.instance(1), 1);
            bench.limit(2_000_000);
            let found = Rc::new(RefCell::new(Vec::new()));
            let seen = Rc::clone(&found);
            bench.observe(move |model, _| {
                if model.get("done") == 1 {
                    let hit = (model.get("hit") == 1).then(|| model.get("qp"));
                    seen.borrow_mut().push(hit);
                }
            });
            clear_tables(&mut bench);
            bench.set("ready", 1);
            let entries = vec![Entry { number: None, live: false }; 4096];
            Self { bench, entries, found }
        }

        /// A word, and the three cycles behind it.
        fn write(&mut self, qp: u64, word: &str, data: u64) {
            self.bench.set("cfg_valid", 1);
            self.bench.set("cfg_table", 0);
            self.bench.set("cfg_index", qp);
            self.bench.set("cfg_word", (QueuePairEntry::field(word).start / 32) as u64);
            self.bench.set("cfg_data", data);
            self.bench.step();
            self.bench.set("cfg_valid", 0);
            self.bench.run(3);
            let entry = &mut self.entries[qp as usize];
            match word {
                "qpn" => entry.number = Some(data),
                _ => entry.live = data == 1 || data == 2,
            }
        }

        fn begin(&mut self, number: u64) {
            self.found.borrow_mut().clear();
            self.bench.set("qpn", number);
            self.bench.set("search", 1);
        }

        /// What the search has found, and after how many cycles.
        fn end(&mut self) -> (Option<u64>, u64) {
            let start = self.bench.cycles();
            while self.found.borrow().is_empty() {
                self.bench.step();
            }
            self.bench.set("search", 0);
            (self.found.borrow()[0], self.bench.cycles() - start)
        }

        /// Whether that may be found: one of the live queue pairs with the number, if there is one.
        fn is_right(&self, number: u64, found: Option<u64>) -> bool {
            let has = |e: &Entry| e.live && e.number == Some(number);
            match found {
                Some(qp) => has(&self.entries[qp as usize]),
                None => !self.entries.iter().any(has),
            }
        }
    }

    fn library() -> drdma_verilated::Library {
        testing::library("finder", Finder::default)
    }

    #[test]
    fn numbers_are_found_whatever_was_written_before() {
        let mut host = Host::new(&library());
        let mut random = Random::new(1);
        let mut hits = 0;
        for round in 0..12_000 {
            // Few lists, few numbers in each, and entries at both ends.
            let number = (random.below(3) << 12) | (random.below(4) * 1365);
            let qp = [0, 1, 2, 7, 2048, 4090, 4094, 4095][random.below(8) as usize];
            match random.below(4) {
                0 => host.write(qp, "qpn", number),
                1 => host.write(qp, "state", [0, 1, 1, 2, 2, 3][random.below(6) as usize]),
                2 => {
                    // A number changes while one is looked up.
                    host.begin(number);
                    for _ in 0..random.below(4) {
                        if host.found.borrow().is_empty() {
                            host.bench.step();
                        }
                    }
                    if !host.found.borrow().is_empty() {
                        host.end();
                        continue;
                    }
                    host.write(qp, "qpn", (random.below(3) << 12) | (random.below(4) * 1365));
                    let found = host.end().0;
                    assert!(host.is_right(number, found), "{number:#x} in {round}: {found:?}");
                }
                _ => {
                    host.begin(number);
                    if random.chance(0.3) {
                        host.bench.set("ready", 0);
                        host.bench.run(random.below(8));
                        assert!(host.found.borrow().is_empty(), "a result that is not taken stays");
                        host.bench.set("ready", 1);
                    }
                    let found = host.end().0;
                    assert!(host.is_right(number, found), "{number:#x} in {round}: {found:?}");
                    hits += u64::from(found.is_some());
                }
            }
        }
        assert!(hits > 1_000, "{hits}");
        // A reset forgets all of them.
        clear_tables(&mut host.bench);
        for number in 0..3 << 12 {
            if number % 1365 == 0 {
                host.begin(number);
                assert_eq!(host.end().0, None);
            }
        }
    }

    #[test]
    fn a_search_takes_3_cycles_among_4096_queue_pairs() {
        let mut host = Host::new(&library());
        // Numbers far apart, no two with the same low bits.
        let number = |qp: u64| (((qp * 0x9e37) & 0xfff) << 12) | ((qp * 5) & 0xfff);
        for qp in 0..4096 {
            host.write(qp, "qpn", number(qp));
            host.write(qp, "state", 1);
        }
        for qp in (0..4096).step_by(13).chain([4095]) {
            host.begin(number(qp));
            assert_eq!(host.end(), (Some(qp), 3));
            host.bench.step();
        }
        // One of the same low bits is before it, and then behind it.
        host.write(17, "qpn", number(9) ^ 0x80_0000);
        host.begin(number(9));
        assert_eq!(host.end(), (Some(9), 4));
        host.bench.step();
        host.begin(number(9) ^ 0x80_0000);
        assert_eq!(host.end(), (Some(17), 3));
    }
}
