//! Step by step as `drdma_semantics::requester` says.

use super::*;
use drdma_semantics::packets::{MASK_24, psn_add};
use drdma_semantics::requester::{self, Reaction, Requester, Sent, What};

/// Cycles of 10 us.
const TEN_US_CYCLES: u64 = 2_500;
/// The code of a pause of 120 us, and its cycles.
const PAUSE: (u8, u64) = (7, 30_000);
/// Cycles in which every queue pair's clock is looked at.
const ROUND: u64 = 3 * 4_096 + 500;

/// A queue pair, and its packets that were not sent.
struct Pair {
    qp: u64,
    setting: Setting,
    requester: Requester<()>,
    unsent: VecDeque<(u32, bool)>,
    next: u32,
    paused_at: Option<u64>,
}

fn sent(psn: u32, asks: bool) -> Sent<()> {
    Sent { request: (), psn, packets: 1, last: true, asks, what: What::Packet(Vec::new().into()) }
}

impl Pair {
    fn new(qp: u64, setting: Setting, psn: u32) -> Self {
        let mut requester = Requester::new(psn);
        let (retry_cnt, rnr_retry) = (setting.retry_cnt, setting.rnr_retry);
        requester.set_policy(requester::Policy { retry_cnt, rnr_retry });
        Self { qp, setting, requester, unsent: VecDeque::new(), next: psn, paused_at: None }
    }

    /// Packets that the reference sends at `now`.
    fn sends(&mut self, now: u64) -> Vec<(u64, u64)> {
        let mut psns = Vec::new();
        while let Some((psn, _)) = self.requester.resend(now) {
            psns.push(psn);
        }
        while self.requester.is_open()
            && let Some((psn, asks)) = self.unsent.pop_front()
        {
            self.requester.sent(sent(psn, asks), now);
            psns.push(psn);
        }
        if self.requester.paused().is_none() {
            self.paused_at = None;
        }
        psns.into_iter().map(|psn| (self.qp, psn.into())).collect()
    }

    fn kept(&self) -> usize {
        self.requester.in_flight() as usize + self.unsent.len()
    }
}

#[test]
fn lists_do_what_the_requester_does() {
    let library = library();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for seed in 1..7 {
        let mut random = Random::new(seed);
        let mut net = net(&library, seed);
        let mut pairs = Vec::new();
        for k in 0..5_u64 {
            let qp = (seed * 1_031 + k * 819) % 4096;
            let (retry_cnt, rnr_retry) = [(3, 2), (0, 7), (7, 0), (1, 1), (7, 7)][k as usize];
            let setting = Setting { retry_cnt, rnr_retry, ..KEEPS };
            net.set(qp, &setting);
            // Numbers wrap.
            pairs.push(Pair::new(qp, setting, (random.u64() as u32 | 0x00ff_ff00) & MASK_24));
        }
        net.bench.run(5_000);
        for _ in 0..400 {
            let now = net.bench.cycles();
            let is_ripe = |pair: &Pair| pair.paused_at.is_some_and(|at| now > at + PAUSE.1 / 2);
            let drawn = random.below(5) as usize;
            let ripe = pairs.iter().position(is_ripe);
            let pair = &mut pairs[ripe.unwrap_or(drawn)];
            let kept_before = pair.kept();
            let (mut expected, mut told) = (Vec::new(), Vec::new());
            match if ripe.is_some() { 0 } else { random.below(20) } {
                0 => {
                    // Pauses end.
                    assert!(net.settle(0).is_empty());
                    if pair.paused_at.is_some() {
                        *counts.entry("pauses").or_default() += 1;
                        let came = net.settle(PAUSE.1 + ROUND);
                        let now = net.bench.cycles();
                        let mut expected: HashMap<u64, Vec<_>> = HashMap::new();
                        for pair in &mut pairs {
                            expected.insert(pair.qp, pair.sends(now));
                        }
                        for (qp, expected) in expected {
                            let of_it = |packet: &&(u64, u64)| packet.0 == qp;
                            let came: Vec<_> = came.iter().filter(of_it).copied().collect();
                            assert_eq!(came, expected);
                        }
                        continue;
                    }
                }
                1..9 => {
                    for _ in 0..=random.below(5) {
                        let asks = random.chance(0.5);
                        pair.unsent.push_back((pair.next, asks));
                        net.give(pair.qp, pair.next.into(), asks);
                        pair.next = psn_add(pair.next, 1);
                    }
                }
                kind => {
                    let around = random.below(pair.kept() as u64 + 4) as u32;
                    let psn =
                        psn_add(pair.requester.oldest_psn(), around.wrapping_sub(2) & MASK_24);
                    let syndrome = match kind {
                        9..13 => syndrome::ACK | 31,
                        13 => syndrome::ACK | 3,
                        14..16 => syndrome::RNR_NAK | PAUSE.0,
                        16..19 => syndrome::NAK_PSN,
                        _ => [
                            syndrome::NAK_INVALID_REQUEST,
                            syndrome::NAK_REMOTE_ACCESS,
                            syndrome::NAK_REMOTE_OPERATION,
                            0x65,
                            0x40,
                            0x9f,
                        ][random.below(6) as usize],
                    };
                    net.answer(pair.qp, psn.into(), syndrome);
                    let was = pair.requester.in_flight();
                    let paused = pair.requester.paused();
                    let reaction = pair.requester.acknowledged(syndrome, psn, now, TEN_US_CYCLES);
                    let progress = pair.requester.in_flight() < was;
                    let is_ack = syndrome & syndrome::KIND_MASK == syndrome::ACK;
                    match reaction {
                        Reaction::Failed(_) => {
                            *counts.entry("failures").or_default() += 1;
                            told.push((pair.qp, psn.into(), syndrome));
                        }
                        _ if is_ack && progress => told.push((pair.qp, psn.into(), syndrome)),
                        _ if progress => {
                            let before = psn_add(psn, MASK_24);
                            told.push((pair.qp, before.into(), syndrome::ACK | 31));
                        }
                        _ => {}
                    }
                    *counts.entry("progress").or_default() += usize::from(progress);
                    if pair.requester.paused().is_some() && paused.is_none() {
                        pair.paused_at = Some(now);
                    }
                    if let Reaction::Failed(_) = reaction {
                        // The queue pair is closed, and made ready anew.
                        net.settle(60 + 8 * u64::from(was));
                        assert_eq!(net.told(), told, "{syndrome:#x} of {psn:#x}");
                        told.clear();
                        assert_eq!(net.closed(pair.qp), [1; CLOSED_READERS]);
                        net.set(pair.qp, &pair.setting.clone());
                        *pair = Pair::new(pair.qp, pair.setting, psn_add(pair.next, 77));
                    }
                }
            }
            let again = !pair.requester.is_open() && pair.requester.paused().is_none();
            *counts.entry("again").or_default() += usize::from(again);
            expected.extend(pair.sends(net.bench.cycles()));
            let cycles = 100 + 12 * (kept_before + pair.kept()) as u64;
            assert_eq!(net.settle(cycles), expected);
            assert_eq!(net.told(), told);
            let kept: usize = pairs.iter().map(Pair::kept).sum();
            assert_eq!(net.pages_in_use(), kept, "pages of what is kept");
            // No more packets are given than there are pages.
            if kept > 300 {
                for pair in &mut pairs {
                    let last = psn_add(pair.next, MASK_24);
                    if pair.kept() > 0 && pair.requester.is_open() {
                        net.answer(pair.qp, last.into(), syndrome::ACK);
                        pair.requester.acknowledged(syndrome::ACK, last, 0, TEN_US_CYCLES);
                    }
                }
                net.settle(3_000);
                net.told();
            }
        }
    }
    let enough = [("pauses", 20), ("failures", 40), ("progress", 300), ("again", 60)];
    assert!(enough.iter().all(|(name, least)| counts.get(name) >= Some(least)), "{counts:?}");
}
