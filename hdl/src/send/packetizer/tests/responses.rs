//! Packets of what peers READ between those of requests.

use super::*;
use crate::send::REPLY_PAGE;
use drdma_abi::roce::Aeth;

const REPLY_PAGES: usize = 1 << REPLY_PAGE;

/// A packet of a READ's answer.
#[derive(Clone, Debug)]
struct Response {
    qp: usize,
    operation: u8,
    psn: u32,
    aeth: Option<(u8, u32)>,
    payload: Vec<u8>,
    /// The host has written to the queue pair since: the packet is dropped.
    stale: bool,
}

impl Response {
    fn random(random: &mut Random) -> Self {
        let length = [0, 1, 63, 64, 65, 1024, 4096, random.below(4097) as usize];
        let length = length[random.below(8) as usize];
        let first = operation::READ_RESPONSE_FIRST;
        let operation = first + random.below(4) as u8;
        let aeth = (operation != operation::READ_RESPONSE_MIDDLE)
            .then(|| (random.u64() as u8, random.below(1 << 24) as u32));
        let (qp, psn) = (random.below(256) as usize, random.below(1 << 24) as u32);
        let (payload, stale) = (random.bytes(length), random.chance(0.1));
        Self { qp, operation, psn, aeth, payload, stale }
    }

    fn offer(&self, page: usize) -> Beat {
        let (syndrome, msn) = self.aeth.unwrap_or((0xff, 0xff_ffff));
        let stamp = ENTRY_WORDS * self.qp as u64 + ENTRY_WORDS - 1 - u64::from(self.stale);
        Beat::from([("qp", self.qp), ("bytes", self.payload.len()), ("page", page)])
            .with("stamp", stamp)
            .with("operation", self.operation)
            .with("psn", self.psn)
            .with("has_aeth", self.aeth.is_some())
            .with("syndrome", syndrome)
            .with("msn", msn)
            .with("paged", !self.payload.is_empty())
    }

    fn frame(&self, qp: &QueuePairEntry) -> Vec<u8> {
        let bth = Bth { opcode: self.operation, psn: self.psn, ..Bth::default() };
        let aeth = self.aeth.map(|(syndrome, msn)| Aeth { syndrome, msn }.to_bytes());
        assemble(qp, bth, aeth.as_ref().map_or(&[], |aeth| &aeth[..]), &self.payload)
    }
}

fn responds(frame: &[u8]) -> bool {
    let tag = if frame[12..14] == [0x81, 0] { 4 } else { 0 };
    frame[Ethernet::SIZE + tag + Ipv4::SIZE + Udp::SIZE] >= operation::READ_RESPONSE_FIRST
}

#[test]
fn responses_come_from_their_own_pages_and_take_turns_with_packets() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let entries = queue_pairs(&mut random, &[Transport::Rc; 256]);
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(1_000_000);
        let cfg = bench.driver("cfg");
        configure(&mut bench, cfg, &entries);
        let memory = Rc::new(RefCell::new(Memory {
            pages: vec![Vec::new(); REPLY_PAGES],
            busy: vec![false; REPLY_PAGES],
            rows: VecDeque::new(),
        }));
        let state = Rc::clone(&memory);
        let mut garbage = Random::new(seed + 100);
        bench.before(move |model, cycle| {
            let mut memory = state.borrow_mut();
            let mut row = garbage.bytes(64);
            if memory.rows.front().is_some_and(|row| row.0 == cycle) {
                row = memory.rows.pop_front().expect("it is due").1;
            }
            model.set_word("reply_read_data", &row.as_slice().into());
        });
        let state = Rc::clone(&memory);
        let (freed, sending) = (Rc::new(RefCell::new((0, 0))), Rc::new(RefCell::new(0)));
        let (frees, sends) = (Rc::clone(&freed), Rc::clone(&sending));
        bench.observe(move |model, cycle| {
            let mut memory = state.borrow_mut();
            if model.get("reply_read_enable") == 1 {
                let address = model.get("reply_read_address") as usize;
                let row = memory.pages[address >> 6][(address & 63) * 64..][..64].to_vec();
                memory.rows.push_back((cycle + 2, row));
            }
            frees.borrow_mut().0 += model.get("page_free_valid");
            frees.borrow_mut().1 += model.get("reply_free");
            *sends.borrow_mut() += model.get("sending_valid");
        });
        let [input, answers] = ["packet", "response"].map(|base| bench.driver(base));
        let tx = bench.monitor("tx");
        bench.stall(stalls);
        let (mut packets, mut expected) = (Vec::new(), Vec::new());
        let (mut paged, mut page) = (0, 0);
        for number in 0..150 {
            let packet = Packet {
                payload: vec![0; 1 + random.below(500) as usize],
                qp: random.below(256) as usize,
                operation: operation::SEND_ONLY,
                ack_req: true,
                psn: random.below(1 << 24) as u32,
                reth: None,
                imm: None,
                solicited: false,
                slot: 0,
            };
            bench.send(input, offer(&packet, number));
            packets.push(frame(&packet, &entries[packet.qp]));
            for _ in 0..random.below(3) {
                let response = Response::random(&mut random);
                while paged - freed.borrow().1 == REPLY_PAGES as u64 {
                    bench.step();
                }
                if !response.payload.is_empty() {
                    let rest = random.bytes(4096 - response.payload.len());
                    memory.borrow_mut().pages[page] = [response.payload.as_slice(), &rest].concat();
                }
                bench.send(answers, response.offer(page));
                if !response.payload.is_empty() {
                    paged += 1;
                    page = (page + 1) % REPLY_PAGES;
                }
                if !response.stale {
                    expected.push(response.frame(&entries[response.qp]));
                }
            }
        }
        bench.run_until(|b| b.pending(input) + b.pending(answers) == 0);
        bench.stall((0.0, 0.0));
        bench.run(3_000);
        let (got_responses, got): (Vec<_>, Vec<_>) =
            frames(&bench.take(tx)).into_iter().partition(|frame| responds(frame));
        compare(&got, &packets);
        compare(&got_responses, &expected);
        assert_eq!(*freed.borrow(), (150, paged), "pages of packets and of responses");
        assert_eq!(*sending.borrow(), 150, "no response waits for an acknowledgement");
    }
}
