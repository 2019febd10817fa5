//! The block, and what is around it in the card.

use super::*;

/// The block, and what is around it.
pub(super) struct Around<'a> {
    pub(super) bench: Bench<'a>,
    pub(super) packet: DriverId,
    pub(super) taken: DriverId,
    pub(super) placing: MonitorId,
    pub(super) take: MonitorId,
    pub(super) answer: MonitorId,
    pub(super) accepted: MonitorId,
    pub(super) answered: DriverId,
    /// Answers that were given and not compared yet.
    pub(super) answers: Vec<Beat>,
    /// Answers that are not reported as sent yet, if reports are held back.
    pub(super) held: Option<VecDeque<Beat>>,
    /// Probability with which no slot is offered in a cycle.
    pub(super) slot_stall: f64,
    /// Slots that are free.
    pub(super) free: VecDeque<u64>,
    /// Atomics that each queue pair has executed: number, sequence number, whether they swap, value before.
    pub(super) kept: HashMap<u64, Vec<(u64, u64, u64, u64)>>,
    pub(super) invalidate: MonitorId,
    pub(super) set_qp_error: MonitorId,
    pub(super) append_ask: MonitorId,
    pub(super) region_ask: MonitorId,
    /// Cycles until the question whether bytes can be placed piece by piece is answered, and the answer.
    pub(super) finding: Option<(u64, u64)>,
    /// Answers to the next questions about pieces, whatever is asked.
    pub(super) verdicts: Option<VecDeque<u64>>,
    /// Decision about such a packet in this cycle.
    pub(super) settled_pieces: Rc<RefCell<Option<bool>>>,
    /// Cycles until an append region answers, and its answer.
    pub(super) telling: Option<(u64, (u64, bool, u32))>,
    /// Takes that wait until it is known what becomes of a receive that appends.
    pub(super) takes: VecDeque<Beat>,
    /// What the block has settled in this cycle: of the packet that was asked for, and of the receive that was taken.
    pub(super) settled: Rc<RefCell<(Option<u64>, Option<bool>)>>,
    pub(super) errors: Flagged,
    pub(super) card: Card,
    pub(super) broken: Vec<u64>,
    pub(super) start: u64,
    /// Packets sent, and the numbers of those with a sequence number.
    pub(super) sent: u64,
    pub(super) numbers: HashMap<u32, Vec<u64>>,
    pub(super) counted: Rc<RefCell<[u64; 2]>>,
    /// Words that were written to entries of queue pairs, and the last one of each.
    pub(super) stamps: Rc<RefCell<(u64, HashMap<u64, u64>)>>,
}

impl<'a> Around<'a> {
    pub(super) fn new(library: &'a Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(20_000_000);
        let stamps: Rc<RefCell<(u64, HashMap<u64, u64>)>> = Rc::default();
        let stamping = Rc::clone(&stamps);
        bench.observe(move |model, _| {
            if model.get("cfg_valid") == 1 && [0, 7].contains(&model.get("cfg_table")) {
                let (writes, last) = &mut *stamping.borrow_mut();
                last.insert(model.get("cfg_index"), *writes);
                *writes += 1;
            }
        });
        clear_tables(&mut bench);
        let errors = answer_flag(&mut bench, "error_next", "qp_error");
        let [packet, taken, answered] =
            ["packet", "taken", "answered"].map(|base| bench.driver(base));
        let outputs =
            ["placing", "take", "answer", "accepted", "invalidate", "set_qp_error", "append_ask"];
        let [placing, take, answer, accepted, invalidate, set_qp_error, append_ask] =
            outputs.map(|base| bench.monitor(base));
        let region_ask = bench.monitor("region_ask");
        let settled_pieces: Rc<RefCell<Option<bool>>> = Rc::default();
        let settling = Rc::clone(&settled_pieces);
        bench.observe(move |model, _| {
            if model.get("region_settle_valid") == 1 {
                *settling.borrow_mut() = Some(model.get("region_settle_placed") == 1);
            }
        });
        let settled: Rc<RefCell<(Option<u64>, Option<bool>)>> = Rc::default();
        let settling = Rc::clone(&settled);
        bench.observe(move |model, _| {
            let mut settled = settling.borrow_mut();
            if model.get("append_settle_valid") == 1 {
                settled.0 = Some(model.get("append_settle_outcome"));
            }
            if model.get("append_taken_valid") == 1 {
                settled.1 = Some(model.get("append_taken_returned") == 1);
            }
        });
        bench.stall(stalls);
        // Answers are reported as sent at once.
        bench.stall_driver(answered, 0.0);
        let counted = Rc::new(RefCell::new([0; 2]));
        let counting = Rc::clone(&counted);
        let ports = ["count_dropped", "count_ignored"].map(|port| bench.port(port));
        bench.observe(move |model, _| {
            for (count, port) in counting.borrow_mut().iter_mut().zip(ports) {
                *count += model.get(port);
            }
        });
        let card = Card { store: vec![0; STORE_BYTES], ..Card::default() };
        Self {
            bench,
            packet,
            taken,
            placing,
            take,
            answer,
            accepted,
            answered,
            answers: Vec::new(),
            held: None,
            slot_stall: stalls.1,
            free: (0..32).collect(),
            kept: HashMap::new(),
            invalidate,
            set_qp_error,
            append_ask,
            region_ask,
            finding: None,
            verdicts: None,
            settled_pieces,
            telling: None,
            takes: VecDeque::new(),
            settled,
            errors,
            card,
            broken: Vec::new(),
            start: 0,
            sent: 0,
            numbers: HashMap::new(),
            counted,
            stamps,
        }
    }

    /// The stamp of a queue pair's entry.
    pub(super) fn stamp(&self, qp: u64) -> u64 {
        self.stamps.borrow().1[&qp]
    }

    /// Goes on by a cycle, in all streams.
    pub(super) fn step(&mut self) {
        let wait = self.slot_stall;
        let has_slot = !self.free.is_empty() && !self.bench.random().chance(wait);
        self.bench.set("has_slot", u64::from(has_slot));
        self.bench.set("slot", self.free.front().map_or(3, |slot| *slot));
        self.bench.step();
        for accepted in self.bench.take(self.accepted) {
            assert!(has_slot, "{accepted:?} without a slot");
            assert_eq!(self.free.pop_front(), Some(accepted.u64("slot")));
            let operands = ["addr", "swap_or_add", "compare"].map(|field| accepted.u64(field));
            self.card.slots.insert(accepted.u64("slot"), operands.into());
        }
        self.find_pieces();
        for placing in self.bench.take(self.placing) {
            self.card.place(&placing);
            if placing.u64("atomic") == 1 {
                self.free.push_back(placing.u64("slot"));
            }
        }
        for answer in self.bench.take(self.answer) {
            let waits = ["reads", "atomic"].iter().any(|field| answer.u64(field) == 1);
            if waits && answer.u64("again") == 0 {
                let fields = ["qp", "resource"].map(|field| (field, answer.u64(field)));
                match &mut self.held {
                    Some(held) => held.push_back(Beat::from(fields)),
                    None => self.bench.send(self.answered, Beat::from(fields)),
                }
            }
            self.answers.push(answer);
        }
        self.append();
        let takes = self.bench.take(self.take);
        self.takes.extend(takes);
        while self.card.pending.is_none()
            && let Some(take) = self.takes.pop_front()
        {
            let taken = self.card.take(&take);
            self.bench.send(self.taken, taken);
        }
        for broken in self.bench.take(self.set_qp_error) {
            let qp = broken.u64("qp");
            self.errors.borrow_mut().insert(qp);
            self.card.flush(qp);
            self.card.abandon(qp);
            self.broken.push(qp);
        }
    }

    /// Plays the regions that are placed piece by piece: takes questions and decisions, and gives answers.
    pub(super) fn find_pieces(&mut self) {
        if let Some(placed) = self.settled_pieces.borrow_mut().take() {
            self.card.settle_pieces(placed);
        }
        self.bench.set("region_told_valid", 0);
        if let Some((wait, verdict)) = self.finding.take() {
            if wait > 0 {
                self.finding = Some((wait - 1, verdict));
            } else {
                self.bench.set("region_told_valid", 1);
                self.bench.set("region_told_verdict", verdict);
            }
        }
        for ask in self.bench.take(self.region_ask) {
            assert!(self.finding.is_none(), "{ask:?}");
            let wait = 1 + self.bench.random().below(30);
            let verdict = self.card.seek(&ask);
            let fixed = self.verdicts.as_mut().and_then(VecDeque::pop_front);
            self.finding = Some((wait, fixed.unwrap_or(verdict)));
        }
    }

    /// Plays the append regions: takes questions and decisions, and gives answers.
    pub(super) fn append(&mut self) {
        let (outcome, returned) = std::mem::take(&mut *self.settled.borrow_mut());
        if let Some(outcome) = outcome {
            self.card.outcome(outcome);
        }
        if let Some(returned) = returned {
            self.card.settle(returned);
        }
        self.bench.set("append_told_valid", 0);
        if let Some((wait, told)) = self.telling.take() {
            if wait > 0 {
                self.telling = Some((wait - 1, told));
            } else {
                self.bench.set("append_told_valid", 1);
                self.bench.set("append_told_verdict", told.0);
                self.bench.set("append_told_whole", u64::from(told.1));
                self.bench.set("append_told_first_row", u64::from(told.2));
            }
        }
        for ask in self.bench.take(self.append_ask) {
            assert!(self.telling.is_none(), "{ask:?}");
            let wait = 1 + self.bench.random().below(30);
            self.telling = Some((wait, self.card.ask(&ask)));
        }
    }

    pub(super) fn write(&mut self, table: u64, index: u64, word: u64, data: u32) {
        for (port, value) in [
            ("cfg_valid", 1),
            ("cfg_table", table),
            ("cfg_index", index),
            ("cfg_word", word),
            ("cfg_data", data.into()),
        ] {
            self.bench.set(port, value);
        }
        self.step();
        self.bench.set("cfg_valid", 0);
        for _ in 0..3 {
            self.step();
        }
    }

    pub(super) fn write_entry(&mut self, table: u64, index: u64, entry: &[u8]) {
        for (word, value) in entry.chunks(4).enumerate() {
            let value = u32::from_le_bytes(value.try_into().unwrap());
            self.write(table, index, word as u64, value);
        }
    }

    pub(super) fn write_key(&mut self, entry: &MemoryRegionEntry) {
        self.write_entry(REGION_TABLE, u64::from(entry.lkey) & 0xfff, &entry.to_bytes());
    }

    /// Writes a queue pair's entries, and that of its receive queue.
    pub(super) fn write_pair(&mut self, pair: &Pair) {
        self.write_entry(QUEUE_PAIR_TABLE, pair.index, &pair.entry.to_bytes());
        let queue =
            ReceiveQueueEntry { shared: pair.shared.into(), enable: 1, ..Default::default() };
        self.write_entry(RECEIVE_QUEUE_TABLE, pair.queue(), &queue.to_bytes());
        self.write_entry(ATTRIBUTES_TABLE, pair.index, &pair.attributes.to_bytes());
        self.errors.borrow_mut().remove(&pair.index);
        self.card.broken.remove(&pair.index);
        self.card.abandon(pair.index);
        self.card.reliable.remove(&pair.index);
        if pair.peer.flow.transport == Transport::Rc {
            self.card.reliable.insert(pair.index);
        }
    }

    /// Sends a packet; gives the words that it takes.
    pub(super) fn send(&mut self, packet: &Packet, qp: u64, random: &mut Random) -> u64 {
        let (beat, words) = packet.store(self.start, &mut self.card.store, random);
        self.start = (self.start + words) % (STORE_BYTES as u64 / 64);
        let swaps = packet.opcode & 0x1f == operation::COMPARE_AND_SWAP;
        self.card.frames.push_back((words, swaps));
        self.numbers.entry(packet.psn).or_default().push(self.sent);
        self.sent += 1;
        self.bench.send(self.packet, beat.with("qp", qp));
        words
    }

    /// Runs until all outputs have left.
    pub(super) fn drain(&mut self) {
        let mut quiet = 0;
        while quiet < 200 {
            let before = self.answers.len();
            self.step();
            let moved = before != self.answers.len();
            quiet = if self.card.frames.is_empty() && !moved { quiet + 1 } else { 0 };
        }
    }
}

impl Around<'_> {
    /// Drops the answers so far.
    pub(super) fn forget(&mut self) {
        self.answers.clear();
        self.card.originals.clear();
        self.kept.clear();
    }

    /// The answers so far, as the semantics give them. Those to atomics that come again and are not kept lead to
    /// nothing.
    pub(super) fn answered(&mut self) -> Vec<Answered> {
        let mut answered = Vec::new();
        for beat in std::mem::take(&mut self.answers) {
            let get = |field| beat.u64(field);
            let (qp, psn) = (get("qp"), get("psn"));
            assert_eq!(get("stamp"), self.stamp(qp), "{beat:?}");
            let what = match (get("reads"), get("atomic"), get("again")) {
                (1, 0, _) => {
                    assert!(self.numbers[&(psn as u32)].contains(&get("earlier")), "{beat:?}");
                    What::Read(get("addr"), get("len") as u32, get("rkey") as u32)
                }
                (0, 1, 0) => {
                    let frame = get("earlier") - 1;
                    assert!(self.numbers[&(psn as u32)].contains(&frame), "{beat:?}");
                    let originals = self.card.originals.get_mut(&qp).expect("it was executed");
                    let original = originals.pop_front().expect("it was executed");
                    let kept = (get("resource"), psn, get("swaps"), original);
                    self.kept.entry(qp).or_default().push(kept);
                    What::Atomic(original)
                }
                (0, 1, _) => {
                    let (resource, most) = (get("resource"), get("kept"));
                    assert!((1..=16).contains(&most), "{beat:?}");
                    let kept = self.kept.get(&qp).map_or(&[][..], |kept| kept);
                    let found = kept.iter().rev().find(|(number, of, swaps, _)| {
                        let back = resource.wrapping_sub(*number) % 512;
                        back < most && *of == psn && *swaps == get("swaps")
                    });
                    let Some((.., original)) = found else {
                        // The block's next room counts it.
                        self.counted.borrow_mut()[1] += 1;
                        continue;
                    };
                    What::Atomic(*original)
                }
                _ => What::Nothing,
            };
            answered.push((qp, get("syndrome") as u8, psn as u32, get("msn") as u32, what));
        }
        answered
    }
}
