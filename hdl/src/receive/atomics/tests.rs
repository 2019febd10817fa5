//! Against a list of the atomics that are under way.

use super::*;
use crate::testing;
use drdma_verilated::Model;
use drdma_verilated::testbench::Random;
use std::collections::{HashMap, VecDeque};

/// Draws an address in one of a few pages, or 64 GiB behind one of these.
fn address(random: &mut Random) -> u64 {
    0xffff_8000_0000_0000 + random.below(2) * (1 << 36) + random.below(3 << OFFSET)
}

fn near_page(addr: u64) -> u64 {
    (addr >> OFFSET) % (1 << NUMBER)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// The atomic was accepted, and its frame has not passed.
    Accepted,
    /// The atomic's frame has passed.
    Active,
    /// The atomic's frame has passed, and its bytes are being read.
    Executing,
}

#[derive(Clone, Copy, Debug)]
struct Atomic {
    addr: u64,
    operands: [u64; 2],
    stage: Stage,
    /// No atomic of the same word was begun later.
    latest: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Write { addr: u64, bytes: u64 },
    Frame { slot: u64 },
}

/// The block, with a model of what it should answer.
struct World {
    model: Model,
    random: Random,
    atomics: HashMap<u64, Atomic>,
    /// Orders that were not accepted, and those that did not leave.
    coming: VecDeque<Order>,
    inside: VecDeque<Order>,
    passed: u64,
    /// Cycles in which an order waited.
    waited: u64,
    /// The questions of this cycle and the one before.
    asked: VecDeque<(u64, u64)>,
    /// For each question of `asked`: it was about all addresses.
    everywhere: VecDeque<bool>,
    /// The answer that is due in this cycle.
    due: Option<(bool, bool)>,
    seen: [u64; 4],
    /// The slot that is begun in the next cycle: its address is asked for in this one.
    begins: Option<u64>,
    /// Slot that `before` must give in this cycle and the next one.
    before: VecDeque<Option<u64>>,
    handed: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut model = testing::library("atomics", Atomics::default).instance(seed);
        model.set("rst", 1);
        model.cycle();
        model.set("rst", 0);
        Self {
            model,
            random: Random::new(seed),
            atomics: HashMap::new(),
            coming: VecDeque::new(),
            inside: VecDeque::new(),
            passed: 0,
            waited: 0,
            asked: VecDeque::new(),
            everywhere: VecDeque::new(),
            due: None,
            seen: [0; 4],
            begins: None,
            before: VecDeque::new(),
            handed: 0,
        }
    }

    fn flow(&mut self, base: &str, slot: Option<u64>) {
        self.model.set(format!("{base}_valid"), u64::from(slot.is_some()));
        self.model.set(format!("{base}_slot"), slot.unwrap_or(7));
    }

    fn some_slot(&mut self, stage: Stage, chance: f64) -> Option<u64> {
        let mut slots: Vec<_> =
            self.atomics.iter().filter(|(_, a)| a.stage == stage).map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        let at = self.random.below(slots.len().max(1) as u64) as usize;
        slots.get(at).copied().filter(|_| self.random.chance(chance))
    }

    /// A cycle, with new atomics as often as `accepts` says, and as often ended as `ends` says.
    fn step(&mut self, accepts: f64, ends: f64) {
        if self.coming.is_empty() && self.random.chance(0.5) {
            let (addr, bytes) = (address(&mut self.random), self.random.below(4097));
            let bytes = if self.random.chance(0.2) { 0 } else { bytes };
            self.coming.push_back(Order::Write { addr, bytes });
        }
        let begun = self.begins.take();
        let begun = begun.filter(|slot| {
            self.atomics.get(slot).is_some_and(|atomic| atomic.stage == Stage::Active)
        });
        let ended = self.some_slot(Stage::Executing, ends);
        let given_up = self.some_slot(Stage::Active, 0.02).filter(|slot| Some(*slot) != begun);
        self.flow("begun", begun);
        self.flow("ended", ended);
        self.flow("given_up", given_up);
        let mut ask = (address(&mut self.random), 1 + self.random.below(4096));
        if let Some(slot) = self.some_slot(Stage::Executing, 0.3) {
            ask.0 = self.atomics[&slot].addr;
        }
        self.begins = self.some_slot(Stage::Active, 0.2).filter(|slot| Some(*slot) != begun);
        if let Some(slot) = self.begins {
            ask.0 = self.atomics[&slot].addr;
        }
        let everywhere = self.random.chance(0.1);
        self.model.set("ask_all", everywhere.into());
        self.everywhere.push_front(everywhere);
        self.everywhere.truncate(2);
        self.model.set("ask_addr", ask.0);
        self.model.set("ask_bytes", ask.1);
        self.asked.push_front(ask);
        self.asked.truncate(2);
        let takes = self.random.chance(0.7);
        self.model.set("passed_ready", u64::from(takes));
        let offered = self.coming.front().copied();
        self.model.set("order_valid", u64::from(offered.is_some()));
        let (mut addr, mut bytes, mut atomic, mut slot) = (self.random.u64(), 0, 0, 0);
        match offered {
            Some(Order::Write { addr: to, bytes: count }) => (addr, bytes) = (to, count),
            Some(Order::Frame { slot: of }) => (atomic, slot) = (1, of),
            None => {}
        }
        for (field, value) in [("addr", addr), ("bytes", bytes), ("atomic", atomic), ("slot", slot)]
        {
            self.model.set(format!("order_{field}"), value);
        }
        let of = self.random.below(32);
        self.model.set("operands_of", of);
        self.model.set("accepted_valid", 0);
        self.model.settle();

        // An atomic is accepted.
        let mut accepted = None;
        if self.model.get("has_slot") == 1 && self.random.chance(accepts) {
            let slot = self.model.get("slot");
            assert!(!self.atomics.contains_key(&slot), "slot {slot} is not free");
            let known = self.atomics.values().map(|atomic| atomic.addr).min();
            let addr = match known.filter(|_| self.random.chance(0.5)) {
                // Sometimes 64 GiB away from another one.
                Some(addr) => addr ^ ((self.random.below(4) / 3) << 36),
                None => address(&mut self.random) & !7,
            };
            let operands = [self.random.u64(), self.random.u64()];
            let atomic = Atomic { addr, operands, stage: Stage::Accepted, latest: false };
            for (field, value) in [
                ("slot", slot),
                ("addr", addr),
                ("swap_or_add", operands[0]),
                ("compare", operands[1]),
            ] {
                self.model.set(format!("accepted_{field}"), value);
            }
            self.model.set("accepted_valid", 1);
            self.model.settle();
            accepted = Some((slot, atomic));
        }
        if let Some(atomic) = self.atomics.get(&of) {
            let found = ["swap_or_add", "compare"].map(|port| self.model.get(port));
            assert_eq!(found, atomic.operands);
        }

        // The answer to what was asked two cycles before.
        if let Some((word, page)) = self.due {
            let found = ["same_word", "same_page"].map(|port| self.model.get(port) == 1);
            assert_eq!(found, [word, page]);
            self.seen[usize::from(word) * 2 + usize::from(page)] += 1;
        }
        // The last atomic with the address of three cycles before.
        if self.before.len() == 2 {
            let expected = self.before.pop_front().unwrap();
            let found =
                (self.model.get("before_valid") == 1).then(|| self.model.get("before_slot"));
            assert_eq!(found, expected);
            self.handed += u64::from(found.is_some());
        }
        self.before.push_back(self.asked.get(1).and_then(|(addr, _)| {
            let mut last = self.atomics.iter().filter(|(_, atomic)| {
                atomic.stage == Stage::Executing && atomic.latest && atomic.addr == addr & !7
            });
            last.next().map(|(slot, _)| *slot)
        }));
        // The question of the cycle before is compared now, and answered in the next cycle.
        self.due = self.asked.get(1).map(|(addr, bytes)| {
            let ends = [*addr, addr + bytes - 1].map(near_page);
            let (mut word, mut page) = (false, false);
            for atomic in self.atomics.values().filter(|a| a.stage == Stage::Executing) {
                let same = near_page(atomic.addr) == ends[0];
                word |= same && (atomic.addr ^ addr) >> 3 & 0x1ff == 0;
                page |= self.everywhere[1] || ends.contains(&near_page(atomic.addr));
            }
            (word, page)
        });

        let order = self.inside.front().copied();
        let leaves = self.model.get("passed_valid") == 1;
        if let Some(Order::Write { addr, bytes }) = order {
            let met = self.atomics.values().any(|atomic| {
                let ends = [addr, addr.wrapping_add(bytes).wrapping_sub(1)].map(near_page);
                bytes > 0
                    && atomic.stage != Stage::Accepted
                    && ends.contains(&near_page(atomic.addr))
            });
            self.waited += u64::from(met);
            assert_eq!(leaves, !met, "{order:x?} among {:x?}", self.atomics);
        } else {
            assert_eq!(leaves, order.is_some(), "{order:?}");
        }
        let accepts_order = offered.is_some() && self.model.get("order_ready") == 1;
        let found = ["atomic", "addr", "bytes", "slot"]
            .map(|field| self.model.get(format!("passed_{field}")));
        self.model.tick();

        // The cycle is over.
        if leaves && takes {
            let order = self.inside.pop_front().expect("an order is inside");
            self.passed += 1;
            match order {
                Order::Write { addr, bytes } => assert_eq!(found[..3], [0, addr, bytes]),
                Order::Frame { slot } => {
                    assert_eq!((found[0], found[3]), (1, slot));
                    self.atomics.get_mut(&slot).unwrap().stage = Stage::Active;
                }
            }
        }
        if accepts_order {
            self.inside.extend(self.coming.pop_front());
        }
        for slot in [ended, given_up].into_iter().flatten() {
            self.atomics.remove(&slot);
        }
        if let Some(slot) = begun {
            let word = |addr: u64| (near_page(addr), addr >> 3 & 0x1ff);
            let of = word(self.atomics[&slot].addr);
            let others = self.atomics.values_mut().filter(|atomic| word(atomic.addr) == of);
            others.for_each(|atomic| atomic.latest = false);
            let atomic = self.atomics.get_mut(&slot).unwrap();
            (atomic.stage, atomic.latest) = (Stage::Executing, true);
        }
        if let Some((slot, atomic)) = accepted {
            self.atomics.insert(slot, atomic);
            self.coming.push_back(Order::Frame { slot });
        }
    }
}

#[test]
fn a_write_waits_for_the_atomics_before_it_in_its_pages_and_for_nothing_else() {
    let mut most = 0;
    for seed in 0..6 {
        let mut world = World::new(seed);
        let (accepts, ends) = [(0.02, 0.2), (0.3, 0.05), (1.0, 0.3)][seed as usize % 3];
        for _ in 0..6_000 {
            world.step(accepts, ends);
            most = most.max(world.atomics.len());
        }
        // Runs until all atomics have ended.
        for _ in 0..3_000 {
            world.step(0.0, 0.5);
        }
        assert!(world.atomics.is_empty() && world.passed > 500, "{} passed", world.passed);
        assert!(world.waited > 100 && world.seen[1] > 100 && world.seen[0] > 100);
        assert!(world.seen[3] > 0, "an atomic met its own address");
        assert!(world.handed > 20, "{} were told of one before", world.handed);
    }
    assert_eq!(most, SLOTS);
}
