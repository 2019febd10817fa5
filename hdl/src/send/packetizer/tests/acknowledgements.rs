//! Acknowledgements between packets.

use super::*;
use drdma_abi::completion::Status;
use drdma_abi::roce::Aeth;

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) qp: usize,
    syndrome: u8,
    psn: u32,
    msn: u32,
}

impl Ack {
    pub(super) fn random(random: &mut Random, qp: usize) -> Self {
        let [psn, msn] = [(); 2].map(|()| random.below(1 << 24) as u32);
        Self { qp, syndrome: random.u64() as u8, psn, msn }
    }

    pub(super) fn frame(&self, qp: &QueuePairEntry) -> Vec<u8> {
        let bth = Bth { opcode: operation::ACKNOWLEDGE, psn: self.psn, ..Bth::default() };
        let aeth = Aeth { syndrome: self.syndrome, msn: self.msn };
        assemble(qp, bth, &aeth.to_bytes(), &[])
    }

    pub(super) fn offer(&self, stamp: u64) -> Beat {
        Beat::from([("qp", self.qp as u64), ("psn", self.psn.into()), ("msn", self.msn.into())])
            .with("syndrome", self.syndrome)
            .with("stamp", stamp)
    }
}

/// The stamp that [`configure`] leaves.
pub(super) fn stamp(qp: usize) -> u64 {
    ENTRY_WORDS * qp as u64 + ENTRY_WORDS - 1
}

pub(super) fn is_acknowledgement(frame: &[u8]) -> bool {
    let tag = if frame[12..14] == [0x81, 0] { 4 } else { 0 };
    frame[Ethernet::SIZE + tag + Ipv4::SIZE + Udp::SIZE] == operation::ACKNOWLEDGE
}

/// A bench with reliable queue pairs and pages of zeros, which counts pages that are read and given back.
pub(super) struct Setup<'a> {
    pub(super) bench: Bench<'a>,
    pub(super) entries: Vec<QueuePairEntry>,
    pub(super) freed: Rc<RefCell<Vec<u64>>>,
    sending: Rc<RefCell<Vec<u64>>>,
    pub(super) packets: Rc<RefCell<u64>>,
    pub(super) notices: Rc<RefCell<u64>>,
}

pub(super) fn setup(library: &Library, seed: u64, tags: bool) -> Setup<'_> {
    let mut entries = queue_pairs(&mut Random::new(seed), &[Transport::Rc; 256]);
    entries.iter_mut().for_each(|entry| entry.tagged &= u8::from(tags));
    let mut bench = Bench::new(library.instance(seed), seed);
    bench.limit(1_000_000);
    let cfg = bench.driver("cfg");
    configure(&mut bench, cfg, &entries);
    let (freed, sending) = <(Rc<RefCell<Vec<u64>>>, Rc<RefCell<Vec<u64>>>)>::default();
    let (packets, notices) = <(Rc<RefCell<u64>>, Rc<RefCell<u64>>)>::default();
    let (frees, sends, counts) = (Rc::clone(&freed), Rc::clone(&sending), Rc::clone(&packets));
    let notified = Rc::clone(&notices);
    bench.observe(move |model, _| {
        if model.get("page_free_valid") == 1 {
            frees.borrow_mut().push(model.get("page_free_page"));
        }
        if model.get("sending_valid") == 1 {
            sends.borrow_mut().push(model.get("sending_psn"));
        }
        *counts.borrow_mut() += model.get("count_packets");
        *notified.borrow_mut() += model.get("count_notices");
    });
    Setup { bench, entries, freed, sending, packets, notices }
}

/// A packet of that many zeros.
pub(super) fn zeros(random: &mut Random, length: usize) -> Packet {
    Packet {
        payload: vec![0; length],
        qp: random.below(256) as usize,
        operation: operation::SEND_ONLY,
        ack_req: true,
        psn: random.below(1 << 24) as u32,
        reth: None,
        imm: None,
        solicited: false,
        slot: 0,
    }
}

#[test]
fn acknowledgements_and_packets_leave_whole_each_in_their_order() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let Setup { mut bench, entries, freed, sending, packets, .. } = setup(&library, seed, true);
        let (input, acks) = (bench.driver("packet"), bench.driver("acknowledgement"));
        let tx = bench.monitor("tx");
        bench.stall(stalls);
        let (mut sent, mut acknowledged) = (Vec::new(), Vec::new());
        for number in 0..200 {
            let length = 1 + random.below(if number % 5 == 0 { 4096 } else { 200 }) as usize;
            let packet = zeros(&mut random, length);
            bench.send(input, offer(&packet, number));
            sent.push(packet);
            for _ in 0..random.below(4) {
                let ack = Ack::random(&mut random, number % 256);
                bench.send(acks, ack.offer(stamp(ack.qp)));
                acknowledged.push(ack);
            }
            while bench.pending(input) > 2 || bench.pending(acks) > 4 {
                bench.step();
            }
        }
        bench.run_until(|b| b.pending(input) + b.pending(acks) == 0);
        bench.stall((0.0, 0.0));
        bench.run(2_000);
        let (got_acks, got): (Vec<_>, Vec<_>) =
            frames(&bench.take(tx)).into_iter().partition(|frame| is_acknowledgement(frame));
        compare(&got, &sent.iter().map(|p| frame(p, &entries[p.qp])).collect::<Vec<_>>());
        compare(
            &got_acks,
            &acknowledged.iter().map(|a| a.frame(&entries[a.qp])).collect::<Vec<_>>(),
        );
        let bytes = got_acks.iter().map(Vec::len).collect::<std::collections::BTreeSet<_>>();
        assert!(bytes.into_iter().eq([62, 66]), "with and without a tag");
        assert_eq!(*freed.borrow(), (0..200).collect::<Vec<_>>(), "a page a packet");
        let psns: Vec<_> = sent.iter().map(|packet| u64::from(packet.psn)).collect();
        assert_eq!(*sending.borrow(), psns, "no acknowledgement waits for one");
        assert_eq!(*packets.borrow() as usize, sent.len() + acknowledged.len());
    }
}

/// The cycles of each kind's frames, while both wait all the time.
fn contest(library: &Library, length: usize) -> (Vec<u64>, Vec<u64>) {
    let mut random = Random::new(1);
    let Setup { mut bench, .. } = setup(library, 1, false);
    let (input, acks) = (bench.driver("packet"), bench.driver("acknowledgement"));
    let tx = bench.monitor("tx");
    for number in 0..4_000 {
        bench.send(input, offer(&zeros(&mut random, length), number % 512));
        let ack = Ack::random(&mut random, number % 256);
        bench.send(acks, ack.offer(stamp(ack.qp)));
    }
    bench.run(4_000);
    let at = bench.received_at(tx).to_vec();
    let (mut of_packets, mut of_acks, mut first) = (Vec::new(), Vec::new(), true);
    for (beat, at) in bench.take(tx).iter().zip(at) {
        let last = beat.u64("last") == 1;
        match first && is_acknowledgement(&beat.get("data").to_bytes(64)) {
            true => of_acks.push(at),
            false => of_packets.push(at),
        }
        first = last;
    }
    (of_packets, of_acks)
}

#[test]
fn one_beat_in_four_is_for_acknowledgements_that_wait() {
    let library = library();
    for length in [4, 64, 300, 1024, 4096] {
        let (packets, acks) = contest(&library, length);
        let all = packets.len() + acks.len();
        let cycles = packets[packets.len() - 1] - packets[0] + 1;
        assert!(all as u64 + 70 >= cycles, "{length} B: {all} beats in {cycles} cycles");
        assert!(4 * acks.len() + 70 >= all, "{length} B: {} of {all} beats", acks.len());
        assert!(5 * acks.len() <= 2 * all, "{length} B: {} of {all} beats", acks.len());
    }
}

#[test]
fn an_acknowledgement_waits_for_two_packets_at_most() {
    let library = library();
    let Setup { mut bench, .. } = setup(&library, 1, false);
    let mut random = Random::new(1);
    let (input, acks) = (bench.driver("packet"), bench.driver("acknowledgement"));
    let tx = bench.monitor("tx");
    for number in 0..300 {
        bench.send(input, offer(&zeros(&mut random, 4096), number));
    }
    bench.run(1_000);
    for _ in 0..30 {
        bench.run(random.below(90) + 100);
        let ack = Ack::random(&mut random, 3);
        bench.take(tx);
        bench.send(acks, ack.offer(stamp(3)));
        let from = bench.cycles();
        // The only frame of one beat.
        let last = |beat: &Beat| beat.u64("last") == 1;
        bench.run_until(|b| b.received(tx).windows(2).any(|pair| pair.iter().all(last)));
        let waited = bench.cycles() - from;
        assert!(waited <= 2 * 65 + LATENCY, "{waited} cycles");
    }
}

#[test]
fn acknowledgements_of_a_context_that_has_changed_are_dropped_and_nothing_else_suffers() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let Setup { mut bench, entries, freed, .. } = setup(&library, seed, true);
        let mut random = Random::new(seed);
        let cfg = bench.driver("cfg");
        let (input, acks) = (bench.driver("packet"), bench.driver("acknowledgement"));
        let (tx, sent) = (bench.monitor("tx"), bench.monitor("sent"));
        // A word that no header has.
        bench.send(cfg, Beat::from([("table", 0), ("index", 9), ("word", 12), ("data", 0)]));
        bench.run_until(|b| b.pending(cfg) == 0);
        bench.run(2);
        bench.stall(stalls);
        let (mut good, mut packets) = (Vec::new(), Vec::new());
        for number in 0..60 {
            let ack = Ack::random(&mut random, 9);
            let old = random.chance(0.5);
            let now = 256 * ENTRY_WORDS;
            bench.send(acks, ack.offer(if old { stamp(9) } else { now }));
            if !old {
                good.push(ack.frame(&entries[9]));
            }
            let packet = Packet { qp: 8, ..zeros(&mut random, 20) };
            bench.send(input, offer(&packet, number));
            packets.push(frame(&packet, &entries[8]));
            let end = Beat::from([("slot", 5_u64), ("qp", 8), ("kind", 1), ("psn", 7)]);
            bench.send(input, end.with("total", 20_u64).with("marker", 1));
        }
        bench.run_until(|b| b.pending(input) + b.pending(acks) == 0);
        bench.stall((0.0, 0.0));
        bench.run(500);
        let (got_acks, got): (Vec<_>, Vec<_>) =
            frames(&bench.take(tx)).into_iter().partition(|frame| is_acknowledgement(frame));
        compare(&got, &packets);
        compare(&got_acks, &good);
        assert_eq!(*freed.borrow(), (0..60).collect::<Vec<_>>(), "they have no pages");
        let ends = bench.take(sent);
        assert_eq!(ends.len(), 60);
        let success = u64::from(Status::Success as u8);
        assert!(ends.iter().all(|end| end.u64("status") == success && end.u64("total") == 20));
    }
}
