//! Replies and the slots of atomics together: what peers see of some counters, and what is left in memory.

use super::*;
use crate::receive::atomics::Atomics;
use crate::receive::record::{Answered, Operands, SLOT, SlotIndex, WriteOrder};
use drdma_abi::roce::AtomicAckEth;
use drdma_emit::prelude::*;

/// The blocks `replies` and `atomics`, as they are joined in the card.
#[derive(LogicBlock, BlockDefault)]
struct Both {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub cfg: Flow<In, ConfigWrite>,
    pub key_word: Flow<In, KeyWord>,
    pub reply: Stream<In, Answer>,
    pub acknowledgement: Stream<Out, Acknowledgement>,
    pub response: Stream<Out, Response>,
    pub read: Stream<Out, HostReadRequest>,
    pub beat: Stream<In, HostReadBeat>,
    pub freed_valid: Signal<In, Bit>,
    pub page_read_enable: Signal<In, Bit>,
    pub page_read_address: Signal<In, Bits<REPLY_ROW>>,
    pub page_read_data: Signal<Out, Bits<512>>,
    pub page_free: Signal<In, Bit>,
    pub set_qp_error: Stream<Out, QueuePairIndex>,
    pub busy: Signal<Out, Bit>,
    pub has_slot: Signal<Out, Bit>,
    pub slot: Signal<Out, Bits<SLOT>>,
    pub accepted: Flow<In, Operands>,
    pub order: Stream<In, WriteOrder>,
    pub passed: Stream<Out, WriteOrder>,
    pub word: Stream<Out, HostWord>,
    pub ended: Flow<In, SlotIndex>,
    pub answered: Flow<Out, Answered>,
    pub count_ignored: Signal<Out, Bit>,
    replies: Replies,
    atomics: Atomics,
}

impl Logic for Both {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.replies.cfg);
        self.key_word.join(&mut self.replies.key_word);
        self.reply.join(&mut self.replies.reply);
        self.replies.acknowledgement.join(&mut self.acknowledgement);
        self.replies.response.join(&mut self.response);
        self.replies.read.join(&mut self.read);
        self.beat.join(&mut self.replies.beat);
        self.replies.freed_valid.next = self.freed_valid.val();
        self.replies.page_read_enable.next = self.page_read_enable.val();
        self.replies.page_read_address.next = self.page_read_address.val();
        self.page_read_data.next = self.replies.page_read_data.val();
        self.replies.page_free.next = self.page_free.val();
        self.replies.set_qp_error.join(&mut self.set_qp_error);
        self.busy.next = self.replies.busy.val();
        self.has_slot.next = self.atomics.has_slot.val();
        self.slot.next = self.atomics.slot.val();
        self.accepted.join(&mut self.atomics.accepted);
        self.order.join(&mut self.atomics.order);
        self.atomics.passed.join(&mut self.passed);
        self.atomics.ask_addr.next = self.replies.ask_addr.val();
        self.atomics.ask_bytes.next = self.replies.ask_bytes.val();
        self.atomics.ask_all.next = self.replies.ask_all.val();
        self.replies.same_word.next = self.atomics.same_word.val();
        self.replies.same_page.next = self.atomics.same_page.val();
        self.atomics.before.join(&mut self.replies.before);
        self.replies.begun.join(&mut self.atomics.begun);
        self.atomics.operands_of.next = self.replies.operands_of.val();
        self.replies.swap_or_add.next = self.atomics.swap_or_add.val();
        self.replies.compare.next = self.atomics.compare.val();
        self.replies.word.join(&mut self.word);
        self.replies.given_up.join(&mut self.atomics.given_up);
        self.ended.join(&mut self.atomics.ended);
        self.replies.answered.join(&mut self.answered);
        self.count_ignored.next = self.replies.count_ignored.val();
    }
}

/// Words that atomics are for: some share a page, some lie in the hole.
const WORDS: [u64; 6] = [
    BASE + 16,
    BASE + 24,
    BASE + 8_208,
    BASE + 20_000,
    BASE + 20_008,
    HOLE.start + 8 - HOLE.start % 8,
];
const KEY: u32 = 0x1234_5007;
/// A key that allows all but atomics.
const OTHER: u32 = 0x1234_5008;

fn both() -> Library {
    testing::library("replies_atomics", Both::default)
}

/// An atomic: number, sequence number, whether it swaps, value before.
type Kept = (u64, u64, bool, u64);

/// Model of the card's other blocks, with the words that they should see.
struct Peers<'a> {
    around: Around<'a>,
    order: DriverId,
    word: MonitorId,
    answered: MonitorId,
    /// Words on their way to memory: when they are there, address, data, slot.
    writes: Vec<(u64, u64, u64, u64)>,
    /// Memory as it will be when all atomics that were accepted have been executed.
    then: Vec<u8>,
    /// Of each queue pair: the number of its last READ or atomic, how many it has had, and those atomics:
    /// number, sequence number, whether it swaps, value before.
    numbers: HashMap<u64, (u64, u64, Vec<Kept>)>,
    expected: HashMap<u64, Vec<Left>>,
    /// Numbers of READs and atomics that are to be reported as answered.
    told: HashMap<u64, u64>,
    broken: Vec<u64>,
    frames: u64,
    begun: [u64; 5],
}

impl<'a> Peers<'a> {
    fn new(library: &'a Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut around = Around::new(library, seed, stalls);
        let order = around.bench.driver("order");
        let [word, answered, _] =
            ["word", "answered", "passed"].map(|base| around.bench.monitor(base));
        around.bench.stall(stalls);
        // Small values, of which some are met.
        for word in WORDS {
            let at = (word - BASE) as usize;
            around.memory[at..at + 8].fill(0);
        }
        around.write_key(key(KEY, rights::ALL));
        around.write_key(key(OTHER, rights::ALL & !rights::REMOTE_ATOMIC));
        let then = around.memory.clone();
        Self {
            around,
            order,
            word,
            answered,
            writes: Vec::new(),
            then,
            numbers: HashMap::new(),
            expected: HashMap::new(),
            told: HashMap::new(),
            broken: Vec::new(),
            frames: 0,
            begun: [0; 5],
        }
    }

    fn step(&mut self) {
        let cycle = self.around.bench.cycles();
        let due = self.writes.iter().position(|write| write.0 <= cycle);
        self.around.bench.set("ended_valid", u64::from(due.is_some()));
        if let Some((_, addr, data, slot)) = due.map(|at| self.writes.remove(at)) {
            let at = addr.wrapping_sub(BASE) as usize;
            self.around.memory[at..at + 8].copy_from_slice(&data.to_le_bytes());
            self.around.bench.set("ended_slot", slot);
        }
        self.around.step();
        self.around.bench.set("ended_valid", 0_u64);
        for word in self.around.bench.take(self.word) {
            let get = |field| word.u64(field);
            let slow = self.around.bench.random().below(60);
            // Writes leave in their order.
            let last = self.writes.iter().map(|write| write.0).max().unwrap_or(0);
            let at = last.max(cycle + 2 + slow);
            self.writes.push((at, get("addr"), get("data"), get("slot")));
        }
        for answered in self.around.bench.take(self.answered) {
            self.told.insert(answered.u64("qp"), answered.u64("resource"));
        }
    }

    fn send(&mut self, beat: Beat) {
        self.around.bench.send(self.around.reply, beat);
    }

    /// Number of the next READ or atomic of a queue pair.
    fn number(&mut self, qp: u64) -> u64 {
        let (number, count, _) = self.numbers.entry(qp).or_default();
        (*number, *count) = ((*number + 1) % 512, *count + 1);
        *number
    }

    fn atomic(&mut self, qp: u64, bad: bool, random: &mut Random) {
        self.around.bench.set("accepted_valid", 0_u64);
        while self.around.bench.get("has_slot") == 0 {
            self.step();
        }
        let slot = self.around.bench.get("slot");
        let words = if bad { WORDS.len() } else { WORDS.len() - 1 };
        let addr = WORDS[random.below(words as u64) as usize];
        let rkey = if bad && random.chance(0.1) { OTHER } else { KEY };
        let stale = bad && random.chance(0.1);
        let swaps = random.chance(0.4);
        let at = addr.wrapping_sub(BASE) as usize;
        let now = u64::from_le_bytes(self.then[at..at + 8].try_into().unwrap());
        let compare = if random.chance(0.5) { now } else { random.below(3) };
        let operands = [random.below(3), compare];
        for (field, value) in
            [("slot", slot), ("addr", addr), ("swap_or_add", operands[0]), ("compare", operands[1])]
        {
            self.around.bench.set(format!("accepted_{field}"), value);
        }
        self.around.bench.set("accepted_valid", 1_u64);
        self.step();
        self.around.bench.set("accepted_valid", 0_u64);
        let frame = Beat::from([("atomic", 1), ("slot", slot), ("frame_end", 1)]);
        self.around.bench.send(self.order, frame);
        self.frames += 1;
        let (number, psn) = (self.number(qp), random.below(1 << 24));
        let msn = random.below(1 << 24);
        let stamp = self.around.stamps[&qp] ^ u64::from(stale);
        let beat = Beat::from([
            ("qp", qp),
            ("stamp", stamp),
            ("syndrome", 0x1f),
            ("psn", psn),
            ("msn", msn),
            ("atomic", 1),
            ("swaps", swaps.into()),
            ("slot", slot),
            ("resource", number),
            ("addr", addr),
            ("rkey", rkey.into()),
            ("len", 8),
            ("pd", PD.into()),
            ("log_mtu", 8),
            ("earlier", self.frames),
        ]);
        self.send(beat);
        if stale || self.broken.contains(&qp) {
            return;
        }
        let nak = match () {
            () if rkey == OTHER => Some(syndrome::NAK_REMOTE_ACCESS),
            () if is_hole(addr, 8) => Some(syndrome::NAK_REMOTE_OPERATION),
            () => None,
        };
        if let Some(nak) = nak {
            let packet = (operation::ACKNOWLEDGE.into(), psn, Some((nak.into(), msn)), Vec::new());
            self.expected.entry(qp).or_default().push(packet);
            self.broken.push(qp);
            return;
        }
        let bytes = &mut self.then[at..at + 8];
        let original = u64::from_le_bytes((&*bytes).try_into().unwrap());
        let new = match swaps {
            true if original == operands[1] => operands[0],
            true => original,
            false => original.wrapping_add(operands[0]),
        };
        bytes.copy_from_slice(&new.to_le_bytes());
        self.numbers.get_mut(&qp).unwrap().2.push((number, psn, swaps, original));
        self.begun[usize::from(swaps) + 2 * usize::from(new == original)] += 1;
        self.answer(qp, psn, msn, original);
    }

    fn answer(&mut self, qp: u64, psn: u64, msn: u64, original: u64) {
        let payload = AtomicAckEth { original }.to_bytes().to_vec();
        let operation = operation::ATOMIC_ACKNOWLEDGE.into();
        let packet = (operation, psn, Some((0x1f, msn)), payload);
        self.expected.entry(qp).or_default().push(packet);
    }

    /// Sends an atomic again, sometimes with another operation or number.
    fn again(&mut self, qp: u64, random: &mut Random) {
        let (number, count, atomics) = self.numbers.entry(qp).or_default();
        let kept = (*count).min(1 + random.below(16));
        let (number, kept) = (*number, kept);
        let Some(index) = atomics.len().checked_sub(1 + random.below(20) as usize) else { return };
        let (of, psn, swaps, original) = atomics[index];
        if kept == 0 {
            return;
        }
        // Sometimes another operation, or another number.
        let (asks, psn_asked) = (swaps ^ random.chance(0.1), psn ^ u64::from(random.chance(0.1)));
        let msn = random.below(1 << 24);
        let beat = Beat::from([
            ("qp", qp),
            ("stamp", self.around.stamps[&qp]),
            ("syndrome", 0x1f),
            ("psn", psn_asked),
            ("msn", msn),
            ("atomic", 1),
            ("again", 1),
            ("swaps", asks.into()),
            ("resource", number),
            ("kept", kept),
            ("earlier", self.frames),
        ]);
        self.send(beat);
        let found = (number + 512 - of) % 512 < kept && asks == swaps && psn_asked == psn;
        if found && !self.broken.contains(&qp) {
            self.begun[4] += 1;
            self.answer(qp, psn, msn, original);
        }
    }

    /// A READ of some of the words.
    fn read(&mut self, qp: u64, random: &mut Random) {
        let (psn, msn) = (random.below(1 << 24), random.below(1 << 24));
        let addr = BASE + random.below(30);
        let len = 1 + random.below(200);
        let number = self.number(qp);
        let beat = Beat::from([
            ("qp", qp),
            ("stamp", self.around.stamps[&qp]),
            ("syndrome", 0x1f),
            ("psn", psn),
            ("msn", msn),
            ("reads", 1),
            ("resource", number),
            ("addr", addr),
            ("rkey", KEY.into()),
            ("len", len),
            ("pd", PD.into()),
            ("log_mtu", 8),
            ("earlier", self.frames),
        ]);
        self.send(beat);
        if !self.broken.contains(&qp) {
            let bytes = self.then[(addr - BASE) as usize..][..len as usize].to_vec();
            let only = operation::READ_RESPONSE_ONLY.into();
            let packet = (only, psn, Some((0x1f, msn)), bytes);
            self.expected.entry(qp).or_default().push(packet);
        }
    }

    /// Goes on until nothing waits any more.
    fn drain(&mut self) {
        let mut quiet = 0;
        while quiet < 700 {
            self.step();
            let busy = self.around.bench.get("busy") == 1
                || self.around.bench.pending(self.around.reply) > 0
                || !self.writes.is_empty()
                || !self.around.pages.is_empty();
            quiet = if busy { 0 } else { quiet + 1 };
        }
        self.around.bench.set("page_free", 0);
    }
}

#[test]
fn atomics_are_executed_one_after_the_other_and_their_answers_are_kept() {
    let library = both();
    let mut begun = [0; 5];
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut peers = Peers::new(&library, seed, stalls);
        for round in 0..6 {
            let bad = round % 2 == 1;
            for _ in 0..80 {
                let qp = QPS[random.below(4) as usize];
                match random.below(10) {
                    0..6 => peers.atomic(qp, bad, &mut random),
                    6..8 => peers.again(qp, &mut random),
                    _ => peers.read(qp, &mut random),
                }
                for _ in 0..random.below(40) {
                    peers.step();
                }
                // The frames of accepted atomics are used up, sooner or later.
                if random.chance(0.5) {
                    let count = peers.frames - peers.around.freed;
                    peers.around.free_frames(count);
                }
            }
            let count = peers.frames - peers.around.freed;
            peers.around.free_frames(count);
            peers.drain();
            let what = format!("in round {round} of seed {seed}");
            for qp in QPS {
                let got = peers.around.left.remove(&qp).unwrap_or_default();
                let expected = peers.expected.remove(&qp).unwrap_or_default();
                assert_eq!(got, expected, "queue pair {qp} {what}");
                let last = peers.numbers.get(&qp).map(|(number, ..)| *number);
                let told = peers.told.get(&qp).copied();
                let broken = peers.broken.contains(&qp);
                assert!(broken || told == last, "{told:?} and not {last:?} of {qp} {what}");
            }
            assert!(peers.around.memory == peers.then, "memory {what}");
            peers.around.broken.sort_unstable();
            peers.broken.sort_unstable();
            assert_eq!(std::mem::take(&mut peers.around.broken), peers.broken, "{what}");
            // The queue pairs begin anew: no earlier READ or atomic is kept.
            peers.broken.clear();
            QPS.iter().for_each(|qp| peers.around.write_pair(*qp));
            peers.numbers.values_mut().for_each(|(_, count, atomics)| {
                *count = 0;
                atomics.clear();
            });
        }
        // No slot is lost.
        let mut slots = 0;
        while peers.around.bench.get("has_slot") == 1 {
            slots += 1;
            let slot = peers.around.bench.get("slot");
            peers.around.bench.set("accepted_slot", slot);
            peers.around.bench.set("accepted_valid", 1_u64);
            peers.step();
            peers.around.bench.set("accepted_valid", 0_u64);
            (0..4).for_each(|_| peers.step());
        }
        assert_eq!(slots, 1 << SLOT);
        (0..5).for_each(|k| begun[k] += peers.begun[k]);
    }
    assert!(begun.iter().all(|count| *count > 50), "{begun:?}");
}

/// Cycles an atomic of two queue pairs, where host memory takes 300 cycles.
fn pace(addresses: u64) -> f64 {
    let library = both();
    let mut peers = Peers::new(&library, 1, (0.0, 0.0));
    peers.around.latency = 300;
    let mut random = Random::new(1);
    let (mut at, mut last) = (Vec::new(), 0);
    for k in 0..200 {
        while peers.around.bench.get("has_slot") == 0 {
            peers.step();
        }
        let (slot, addr) = (peers.around.bench.get("slot"), BASE + 16 + 8 * (k % addresses));
        for (field, value) in [("slot", slot), ("addr", addr), ("swap_or_add", 1), ("compare", 0)] {
            peers.around.bench.set(format!("accepted_{field}"), value);
        }
        peers.around.bench.set("accepted_valid", 1_u64);
        peers.step();
        peers.around.bench.set("accepted_valid", 0_u64);
        peers
            .around
            .bench
            .send(peers.order, Beat::from([("atomic", 1), ("slot", slot), ("frame_end", 1)]));
        peers.frames += 1;
        let qp = QPS[k as usize % 2];
        let beat = Beat::from([
            ("qp", qp),
            ("stamp", peers.around.stamps[&qp]),
            ("syndrome", 0x1f),
            ("psn", random.below(1 << 24)),
            ("atomic", 1),
            ("slot", slot),
            ("addr", addr),
            ("rkey", KEY.into()),
            ("len", 8),
            ("pd", PD.into()),
            ("log_mtu", 8),
            ("earlier", peers.frames),
        ]);
        peers.send(beat);
        peers.step();
        peers.around.bench.set("freed_valid", 1_u64);
        peers.step();
        peers.around.bench.set("freed_valid", 0_u64);
        let left: usize = peers.around.left.values().map(Vec::len).sum();
        at.resize(left.max(at.len()), peers.around.bench.cycles());
    }
    while last < 200 {
        peers.step();
        let left: usize = peers.around.left.values().map(Vec::len).sum();
        at.resize(left.max(at.len()), peers.around.bench.cycles());
        last = at.len();
    }
    (at[199] - at[60]) as f64 / 139.0
}

/// Atomics of one address do not wait for host memory: the value of one is handed on to the next.
#[test]
fn atomics_overlap_whether_their_addresses_are_distinct_or_one() {
    for addresses in [1_000, 1, 2, 7] {
        let cycles = pace(addresses);
        println!("{cycles:.1} cycles an atomic of {addresses} addresses");
        assert!(cycles <= 20.0, "{cycles} of {addresses} addresses");
    }
}
