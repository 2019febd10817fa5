//! Finds the queue pair that has a number, for frames that come.

use drdma_abi::Layout;
use drdma_abi::register::QueuePairEntry;
use drdma_emit::prelude::*;

use crate::context::{ConfigWrite, QP, Table, TableSelect};
use crate::primitive::{Ram, RamStyle};

/// Steps of the two searches.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FinderState {
    /// Both searches go on.
    Run,
    /// Both searches wait while a queue pair's number changes.
    Yield,
    /// The older search begins again.
    Again,
}

/// Steps of a change of a queue pair's number.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FinderChange {
    /// No number changes.
    None,
    /// The queue pair leaves its old list; its neighbours and the new list's first queue pair have been read.
    Leave,
    /// The queue pair becomes the first one of its new list.
    Enter,
    /// The queue pair that was first in the new list gets its link to the new first one.
    Tell,
}

/// Bits of a link: a queue pair, and a flag that says whether there is one.
const LINK: usize = QP + 1;
/// Bits of a number on the wire, 24, and of a flag that says whether the queue pair is in a list.
const NUMBER: usize = 25;

/// Looks queue pairs up by their 24-bit number on the wire, which has nothing to do with their index.
///
/// Queue pairs whose numbers have the same low 12 bits are in a list, linked in both directions, so that a queue pair
/// enters and leaves it in 4 cycles, however long the list is. Two searches are under way: the younger one reads which
/// queue pair is the first of its list, the older one compares numbers. Numbers that differ in their low 12 bits do not
/// delay each other. Of several live queue pairs with the same number one is found.
///
/// A queue pair is live from the write of the word that makes its entry valid until the next write of a word of it.
///
/// Contract: words with numbers are written at least 4 cycles apart. With `step`, a search for `qpn` begins, and the
/// result of the one that began two steps before is used up; `step` comes only while `settled`. A step a cycle; a
/// search takes a cycle more for each queue pair before its own in the list, and up to 6 more when a number changes
/// meanwhile. While tables are cleared nothing is found.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `step`; `search`, `qpn`.
///
/// # Outputs
/// `settled`: the result of the older search is there, or there is no such search. `hit` and `qp`: the live queue pair
/// with that number. `next_qp`: the value of `qp` in the next cycle.
#[derive(LogicBlock, BlockDefault)]
#[check(QP == 12 && QueuePairEntry::field("qpn").start % 32 == 0)]
pub struct Finder {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Both searches move on by a step.
    pub step: Signal<In, Bit>,
    /// With `step`: a search begins.
    pub search: Signal<In, Bit>,
    /// With `search`: the number that is searched for.
    pub qpn: Signal<In, Bits<24>>,
    /// The result of the older search is there, or there is no such search.
    pub settled: Signal<Out, Bit>,
    /// A live queue pair has the number of the older search; valid with `settled`.
    pub hit: Signal<Out, Bit>,
    /// Index of that queue pair; valid with `hit`.
    pub qp: Signal<Out, Bits<QP>>,
    /// The value of `qp` in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,

    select: TableSelect,
    #[init(Constant::new((QueuePairEntry::field("qpn").start as u64 / 32).into()))]
    number_word: Constant<Bits<4>>,

    /// The first queue pair of each list.
    heads: Ram<LINK, 1, QP>,
    /// Of each queue pair: its number, the queue pairs behind and before it in its list, and whether it is live.
    #[init(Ram::new(RamStyle::Ultra))]
    numbers: Ram<NUMBER, 1, QP>,
    behind: Ram<LINK, 1, QP>,
    previous: Ram<LINK, 1, QP>,
    live: Table<1, QP>,

    change: DFF<FinderChange>,
    changes: Signal<Local, Bit>,
    /// The queue pair whose number changes, the new number, and the first queue pair of the new list.
    changed: DFF<Bits<QP>>,
    number: DFF<Bits<24>>,
    first: DFF<Bits<LINK>>,
    /// The queue pair stays in its list: the low bits of its number do not change.
    stays: DFF<Bit>,
    same: Signal<Local, Bit>,

    state: DFF<FinderState>,
    /// The younger search, and its number.
    begun: DFF<Bit>,
    begun_qpn: DFF<Bits<24>>,
    /// The older search, its number, and the queue pair that it looks at; `there`: there is one.
    open: DFF<Bit>,
    open_qpn: DFF<Bits<24>>,
    at: DFF<Bits<QP>>,
    there: DFF<Bit>,
    found: Signal<Local, Bit>,
    /// The older search goes on to the next queue pair of its list.
    walks: Signal<Local, Bit>,
    next: Signal<Local, Bits<LINK>>,
    moves: Signal<Local, Bit>,
    one: Signal<Local, Bits<LINK>>,
}

impl Finder {
    /// The older search walks from queue pair to queue pair.
    #[hdl_gen]
    fn walk(&mut self) {
        self.found.next = self.there.q.val()
            && (self.numbers.read_data.val().get_bits::<24>(0) == self.open_qpn.q.val())
            && self.live.read_data.val().get_bit(0);
        self.walks.next = self.open.q.val()
            && !self.found.val()
            && self.there.q.val()
            && self.behind.read_data.val().get_bit(12)
            && (self.state.q.val() == FinderState::Run)
            && !self.select.every.val();
        self.settled.next = (self.state.q.val() == FinderState::Run)
            && !self.changes.val()
            && (!self.open.q.val()
                || self.found.val()
                || !self.there.q.val()
                || !self.behind.read_data.val().get_bit(12)
                || self.select.every.val());
        self.hit.next = self.open.q.val() && self.found.val() && !self.select.every.val();
        self.qp.next = self.at.q.val();
    }

    /// Finds the queue pair that is looked at next: the next one of the list, or the first one of the younger
    /// search's list.
    #[hdl_gen]
    fn find_next(&mut self) {
        self.next.next = self.heads.read_data.val();
        self.moves.next = self.step.val() || (self.state.q.val() == FinderState::Again);
        if self.walks.val() {
            self.next.next = self.behind.read_data.val();
            self.moves.next = true;
        }
        self.next_qp.next = self.at.q.val();
        if self.moves.val() {
            self.next_qp.next = self.next.val().get_bits::<QP>(0);
            self.there.d.next = self.next.val().get_bit(12);
        }
        self.at.d.next = self.next_qp.val();
        if self.step.val() {
            self.begun.d.next = self.search.val();
            self.begun_qpn.d.next = self.qpn.val();
            self.open.d.next = self.begun.q.val();
            self.open_qpn.d.next = self.begun_qpn.q.val();
        }
    }

    /// A change uses the memories of the searches: afterwards the older one begins again, and the younger one behind
    /// it.
    #[hdl_gen]
    fn begin_again(&mut self) {
        self.heads.read_enable.next = self.step.val();
        self.heads.read_address.next = self.qpn.val().get_bits::<QP>(0);
        match self.state.q.val() {
            FinderState::Run => {}
            FinderState::Yield => {
                self.heads.read_enable.next = true;
                self.heads.read_address.next = self.open_qpn.q.val().get_bits::<QP>(0);
                self.state.d.next = FinderState::Again;
            }
            FinderState::Again => {
                self.heads.read_enable.next = true;
                self.heads.read_address.next = self.begun_qpn.q.val().get_bits::<QP>(0);
                self.state.d.next = FinderState::Run;
            }
        }
        if self.changes.val() || (self.change.q.val() != FinderChange::None) {
            self.state.d.next = FinderState::Yield;
        }
    }

    /// The memories are read for a search, or for a change that begins.
    #[hdl_gen]
    fn read_memories(&mut self) {
        self.numbers.read_enable.next = self.moves.val();
        self.numbers.read_address.next = self.next.val().get_bits::<QP>(0);
        self.behind.read_enable.next = self.moves.val();
        self.behind.read_address.next = self.next.val().get_bits::<QP>(0);
        self.previous.read_enable.next = true;
        self.previous.read_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.live.ahead.next = self.next_qp.val();
        if self.changes.val() {
            self.heads.read_enable.next = true;
            self.heads.read_address.next = self.cfg.data.val().get_bits::<QP>(0);
            self.numbers.read_enable.next = true;
            self.numbers.read_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.behind.read_enable.next = true;
            self.behind.read_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.changed.d.next = self.cfg.index.val().get_bits::<QP>(0);
            self.number.d.next = self.cfg.data.val().get_bits::<24>(0);
        }
    }

    /// The queue pair goes from its old list to the new one, unless they are the same.
    #[hdl_gen]
    fn change_list(&mut self) {
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
    }

    /// All lists are empty after a reset.
    #[hdl_gen]
    fn clear_lists(&mut self) {
        if self.select.every.val() {
            self.heads.write_lanes.next = 1.into();
            self.heads.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.heads.write_data.next = 0.into();
            self.numbers.write_lanes.next = 1.into();
            self.numbers.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.numbers.write_data.next = 0.into();
        }
    }
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

        self.live.write_enable.next = self.select.queue_pair.val();
        self.live.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        // A queue pair in the state ready to receive or ready to send is live.
        self.live.write_data.next = 0.into();
        if self.select.state.val() && ((self.cfg.data.val() == 1) || (self.cfg.data.val() == 2)) {
            self.live.write_data.next = 1.into();
        }

        self.walk();
        self.find_next();
        self.begin_again();
        self.read_memories();
        self.change_list();
        self.clear_lists();
        if self.rst.val() {
            self.state.d.next = FinderState::Run;
            self.begun.d.next = false;
            self.open.d.next = false;
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
    use std::collections::VecDeque;

    /// Queue pairs whose entries a test writes: index, number, live.
    type Entries = Vec<(u64, Option<u64>, bool)>;

    /// A search that has ended: number, the first and the last state of the entries that it may have seen, and what it
    /// has found.
    struct Ended {
        number: u64,
        seen: (usize, usize),
        found: Option<u64>,
        cycles: u64,
    }

    struct Host<'a> {
        bench: Bench<'a>,
        /// The entries as they were, a state for each word that was written.
        states: Vec<Entries>,
        /// Searches under way: number, the state in which each began, and the cycle.
        open: VecDeque<Option<(u64, usize, u64)>>,
        cycle: u64,
    }

    impl Host<'_> {
        fn new(library: &drdma_verilated::Library, indices: &[u64]) -> Self {
            let mut bench = Bench::new(library.instance(1), 1);
            clear_tables(&mut bench);
            let entries = indices.iter().map(|index| (*index, None, false)).collect();
            Self { bench, states: vec![entries], open: VecDeque::from([None, None]), cycle: 0 }
        }

        /// Simulates a cycle, in which a search begins if it can and `go` says so; gives the one that ends.
        fn step(&mut self, number: Option<u64>, go: bool) -> (bool, Option<Ended>) {
            let model = self.bench.model();
            model.set("search", u64::from(number.is_some()));
            model.set("qpn", number.unwrap_or(0x55_5555));
            model.set("step", 0);
            model.settle();
            let steps = go && model.get("settled") == 1;
            model.set("step", u64::from(steps));
            model.settle();
            let mut ended = None;
            if steps {
                let last = self.states.len() - 1;
                let hit = model.get("hit") == 1;
                ended = self.open.pop_front().unwrap().map(|(number, first, begun)| Ended {
                    number,
                    seen: (first, last),
                    found: hit.then(|| model.get("qp")),
                    cycles: self.cycle - begun,
                });
                assert!(ended.is_some() || !hit, "nothing was searched");
                self.open.push_back(number.map(|number| (number, last, self.cycle)));
            }
            model.tick();
            self.cycle += 1;
            (steps, ended)
        }

        /// Puts a word onto the bus, for the cycle that comes.
        fn write(&mut self, qp: u64, word: &str, data: u64) {
            self.bench.set("cfg_valid", 1);
            self.bench.set("cfg_table", 0);
            self.bench.set("cfg_index", qp);
            self.bench.set("cfg_word", (QueuePairEntry::field(word).start / 32) as u64);
            self.bench.set("cfg_data", data);
        }

        /// Puts a word onto the bus, and lets a cycle pass.
        fn written(&mut self, qp: u64, word: &str, data: u64) {
            self.bench.set("cfg_valid", 0);
            let mut entries = self.states.last().unwrap().clone();
            let entry = entries.iter_mut().find(|entry| entry.0 == qp).unwrap();
            entry.2 = word == "state" && (data == 1 || data == 2);
            if word == "qpn" {
                entry.1 = Some(data);
            }
            self.states.push(entries);
        }

        fn write_whole(&mut self, qp: u64, number: u64) {
            for (word, data) in [("qpn", number), ("state", 1)] {
                self.write(qp, word, data);
                self.step(None, true);
                self.written(qp, word, data);
                for _ in 0..3 {
                    self.step(None, true);
                }
            }
        }
    }

    /// Whether a search may find this: one of the live queue pairs with the number, if there is one.
    fn is_right(entries: &Entries, number: u64, found: Option<u64>) -> bool {
        let mut with_number = entries.iter().filter(|e| e.2 && e.1 == Some(number));
        match found {
            Some(qp) => with_number.any(|entry| entry.0 == qp),
            None => with_number.next().is_none(),
        }
    }

    fn library() -> drdma_verilated::Library {
        testing::library("finder", Finder::default)
    }

    #[test]
    fn numbers_are_found_whatever_is_written_meanwhile() {
        // Few lists with few numbers in each, and entries at both ends of the table.
        let indices = [0, 1, 2, 7, 2048, 4090, 4094, 4095];
        let number = |random: &mut Random| (random.below(3) << 12) | (random.below(4) * 1365);
        let mut host = Host::new(&library(), &indices);
        let mut random = Random::new(1);
        let (mut hits, mut misses, mut quiet) = (0, 0, 0);
        let mut word = None;
        for round in 0..120_000_u64 {
            let busy = round / 1000 % 4;
            if quiet == 0 && random.chance([0.0, 0.02, 0.1, 1.0][busy as usize]) {
                let qp = indices[random.below(8) as usize];
                let (name, data) = match random.below(3) {
                    0 => ("qpn", number(&mut random)),
                    1 => ("dest_ip", random.below(3)),
                    _ => ("state", [0, 1, 1, 2, 2, 3][random.below(6) as usize]),
                };
                host.write(qp, name, data);
                (word, quiet) = (Some((qp, name, data)), 4);
            }
            let search = random.chance(0.8).then(|| number(&mut random));
            let (_, ended) =
                host.step(search, !random.chance([0.0, 0.5][round as usize / 500 % 2]));
            if let Some((qp, name, data)) = word.take() {
                host.written(qp, name, data);
            }
            quiet -= u64::from(quiet > 0);
            let Some(ended) = ended else { continue };
            let (first, last) = ended.seen;
            let right = (first..=last)
                .any(|state| is_right(&host.states[state], ended.number, ended.found));
            assert!(right, "{:#x} in {round}: {:?}", ended.number, ended.found);
            hits += u64::from(ended.found.is_some());
            misses += u64::from(ended.found.is_none());
        }
        assert!(hits > 3_000 && misses > 10_000, "{hits} found, {misses} not");
        // A reset forgets all of them.
        clear_tables(&mut host.bench);
        host.open = VecDeque::from([None, None]);
        // A search that had begun may still walk along a list of before.
        for _ in 0..20 {
            host.step(None, true);
        }
        for number in (0..3 << 12).step_by(1365).map(Some).chain([None; 4]) {
            let (steps, ended) = host.step(number, true);
            assert!(steps && ended.is_none_or(|ended| ended.found.is_none()));
        }
    }

    #[test]
    fn a_number_is_found_in_every_cycle_among_4096_queue_pairs() {
        let all: Vec<u64> = (0..4096).collect();
        let mut host = Host::new(&library(), &all);
        // Numbers far apart, no two with the same low bits.
        let number = |qp: u64| (((qp * 0x9e37) & 0xfff) << 12) | ((qp * 5) & 0xfff);
        for qp in 0..4096 {
            host.write_whole(qp, number(qp));
            host.states.drain(..host.states.len() - 1);
            host.open.iter_mut().for_each(|open| *open = None);
        }
        let mut found = Vec::new();
        for k in (0..4096).map(|k| Some((k * 13) % 4096)).chain([None, None]) {
            let (steps, ended) = host.step(k.map(number), true);
            assert!(steps, "{k:?} waits");
            found.extend(ended.map(|ended| (ended.found, ended.cycles)));
        }
        let due: Vec<_> = (0..4096).map(|k| (Some((k * 13) % 4096), 2)).collect();
        assert_eq!(found, due);
        // A queue pair with the same low bits comes before it, and another one behind it.
        host.write_whole(17, number(9) ^ 0x80_0000);
        for (number, qp, cycles) in [(number(9), 9, 3), (number(9) ^ 0x80_0000, 17, 2)] {
            host.step(Some(number), true);
            let ended = (0..4).find_map(|_| host.step(None, true).1).unwrap();
            assert_eq!((ended.found, ended.cycles), (Some(qp), cycles));
        }
    }
}
