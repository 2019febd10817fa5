use std::{cell::RefCell, collections::HashMap};

use drdma_abi::{
    receive::rights,
    roce::{AtomicEth, Reth, TTL, operation, syndrome},
    work_request::Opcode,
};

use super::*;
use crate::{
    answers,
    checks::{Directory, QueuePair},
    frame::read_operation,
    memory::{Fault, HostMemory},
    packets::{self, Flow, MessageHead, Segment, psn_add, segments},
    region::{Region, RowMask},
    scatter::Target,
};

const MTU: u32 = 256;
const KEY: u32 = 0x505;
const BASE: u64 = 0x1000;
const SIZE: u64 = 4096;
const FLOW: Flow = Flow {
    vlan: None,
    source_mac: 1,
    dest_mac: 2,
    source_ip: 3,
    dest_ip: 4,
    tos: 0,
    ttl: TTL,
    qpn: 17,
    dest_qpn: 33,
    pkey: 0xffff,
    qkey: 7,
    transport: Transport::Rc,
    mtu: MTU,
};
const SETTINGS: Settings = Settings {
    transport: Transport::Rc,
    mtu: MTU,
    rights: rights::ALL,
    pd: 5,
    min_rnr_timer: 3,
    max_dest_rd_atomic: 2,
    shared: false,
};

/// A few kilobytes of memory under one key, and receives of the same length.
struct Bench {
    responder: Responder,
    settings: Settings,
    flow: Flow,
    next_psn: u32,
    world: Lab,
}

#[derive(Default)]
struct Lab {
    memory: RefCell<Vec<u8>>,
    keys: HashMap<u32, MemoryRegionEntry>,
    receives: VecDeque<u32>,
    taken: u32,
    full: bool,
    completed: Vec<Received>,
    answers: Vec<Answer>,
}

impl HostMemory for Lab {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        let fault = Fault { addr, len: out.len() };
        let at = addr.checked_sub(BASE).ok_or(fault)? as usize;
        out.copy_from_slice(self.memory.borrow().get(at..at + out.len()).ok_or(fault)?);
        Ok(())
    }
}

impl WritableMemory for Lab {
    fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        let fault = Fault { addr, len: bytes.len() };
        let at = addr.checked_sub(BASE).filter(|_| !bytes.is_empty());
        let Some(at) = at else { return Ok(()) };
        let mut memory = self.memory.borrow_mut();
        let at = at as usize;
        memory.get_mut(at..at + bytes.len()).ok_or(fault)?.copy_from_slice(bytes);
        Ok(())
    }
}

impl Directory for Lab {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        self.keys.get(&lkey).copied()
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

impl World for Lab {
    fn key(&self, rkey: u32) -> Option<MemoryRegionEntry> {
        self.keys.get(&rkey).copied()
    }

    fn invalidate(&mut self, rkey: u32) {
        self.keys.remove(&rkey);
    }

    fn take(&mut self) -> Taken {
        let Some(len) = self.receives.pop_front() else { return Taken::Nothing };
        let name = ReceiveName { wr_id: u64::from(self.taken), position: self.taken };
        self.taken += 1;
        let region = Region::Contiguous { addr: BASE, len, lkey: KEY };
        match Target::check(vec![region], RowMask::Period, SETTINGS.pd, self, self) {
            Ok(target) => Taken::Receive(Receive { name, target }),
            Err(status) => Taken::Malformed(name, status),
        }
    }

    fn has_room(&self) -> bool {
        !self.full
    }

    fn complete(&mut self, received: Received) {
        self.completed.push(received);
    }

    fn answer(&mut self, answer: Answer) {
        self.answers.push(answer);
    }
}

impl Bench {
    fn new(psn: u32) -> Self {
        Self::of(SETTINGS, psn)
    }

    fn of(settings: Settings, psn: u32) -> Self {
        let mut world = Lab { memory: RefCell::new(vec![0; SIZE as usize]), ..Lab::default() };
        let rights = rights::ALL;
        let entry = MemoryRegionEntry { addr: BASE, len: SIZE, lkey: KEY, rights, pd: 5, valid: 1 };
        world.keys.insert(KEY, entry);
        let flow = Flow { transport: settings.transport, ..FLOW };
        Self { responder: Responder::new(psn), settings, flow, next_psn: psn, world }
    }

    fn take(&mut self, frame: &[u8]) -> Outcome {
        let frame = Frame::parse_any(frame).unwrap();
        self.responder.take(&frame, &self.settings, &mut self.world)
    }

    /// Makes the packets of a message.
    fn message(&mut self, opcode: Opcode, len: u32) -> Vec<Vec<u8>> {
        let head = MessageHead { opcode, imm: 9, remote_addr: BASE, rkey: KEY, len };
        let frames: Vec<_> = segments(len, MTU)
            .enumerate()
            .map(|(i, segment)| self.packet(&head, &segment, psn_add(self.next_psn, i as u32)))
            .collect();
        self.next_psn = psn_add(self.next_psn, frames.len() as u32);
        frames
    }

    fn packet(&self, head: &MessageHead, segment: &Segment, psn: u32) -> Vec<u8> {
        packets::frame(&self.flow, head, segment, psn, |out| {
            out.fill(psn as u8);
            Ok::<(), ()>(())
        })
        .unwrap()
    }

    /// Delivers all packets of a message; returns the outcome of the last.
    fn deliver(&mut self, opcode: Opcode, len: u32) -> Outcome {
        let frames = self.message(opcode, len);
        frames.iter().map(|frame| self.take(frame)).last().unwrap()
    }

    fn read(&self, psn: u32, offset: u64, len: u32) -> Vec<u8> {
        let request = Reth { virtual_address: BASE + offset, rkey: KEY, dma_length: len };
        answers::read_request(&self.flow, psn, &request)
    }

    fn add(&self, psn: u32, offset: u64) -> Vec<u8> {
        let request =
            AtomicEth { virtual_address: BASE + offset, rkey: KEY, swap_or_add: 1, compare: 0 };
        answers::atomic_request(&self.flow, psn, false, &request)
    }

    fn syndromes(&mut self) -> Vec<u8> {
        let answers = std::mem::take(&mut self.world.answers);
        let syndrome = |answer: &Answer| match answer {
            Answer::Acknowledge { syndrome, .. } => *syndrome,
            Answer::Read { .. } => 0xfe,
            Answer::Atomic { .. } => 0xff,
        };
        answers.iter().map(syndrome).collect()
    }

    fn statuses(&mut self) -> Vec<(u64, Status)> {
        let completed = std::mem::take(&mut self.world.completed);
        completed.iter().map(|received| (received.name.wr_id, received.status)).collect()
    }
}

/// Makes a packet of a message that is cut otherwise than at the MTU.
fn odd(bench: &Bench, first: bool, last: bool, len: u32, announced: u32, write: bool) -> Vec<u8> {
    let opcode = if write { Opcode::Write } else { Opcode::Send };
    let head = MessageHead { opcode, imm: 0, remote_addr: BASE, rkey: KEY, len: announced };
    bench.packet(&head, &Segment { offset: 0, len, first, last }, bench.responder.expected())
}

#[test]
fn messages_are_counted_and_acknowledged_across_the_wrap() {
    let mut bench = Bench::new(0xff_ffff);
    bench.world.receives = [1000, 1000].into();
    assert_eq!(bench.deliver(Opcode::Send, 600), Outcome::Executed);
    assert_eq!(bench.deliver(Opcode::WriteImm, 0), Outcome::Executed);
    assert_eq!((bench.responder.expected(), bench.responder.msn()), (3, 2));
    let ack = |psn, msn| Answer::Acknowledge { syndrome: 0x1f, psn, msn };
    assert_eq!(bench.world.answers, [ack(1, 1), ack(2, 2)]);
    assert_eq!(bench.statuses(), [(0, Status::Success), (1, Status::Success)]);
}

/// Makes a packet that cannot be the next one.
type Wrong = Box<dyn Fn(&mut Bench) -> Vec<u8>>;

#[test]
fn what_cannot_follow_is_an_invalid_request() {
    let mut cases: Vec<(&str, Wrong)> = Vec::new();
    let middle = |bench: &mut Bench| odd(bench, false, false, MTU, 0, false);
    cases.push(("a middle without a first", Box::new(middle)));
    cases.push(("a last without a first", Box::new(|b| odd(b, false, true, 5, 0, true))));
    let begin = |bench: &mut Bench, write| {
        let first = odd(bench, true, false, MTU, 1000, write);
        assert_eq!(bench.take(&first), Outcome::Executed);
    };
    cases.push((
        "a first inside",
        Box::new(move |b| {
            begin(b, false);
            odd(b, true, true, 5, 0, false)
        }),
    ));
    cases.push((
        "another message's last",
        Box::new(move |b| {
            begin(b, false);
            odd(b, false, true, 5, 0, true)
        }),
    ));
    cases.push((
        "a READ inside",
        Box::new(move |b| {
            begin(b, true);
            b.read(b.responder.expected(), 0, 10)
        }),
    ));
    cases.push(("a short first", Box::new(|b| odd(b, true, false, MTU - 4, 0, false))));
    cases
        .push(("a short first of a WRITE", Box::new(|b| odd(b, true, false, MTU - 1, 1000, true))));
    cases.push((
        "an empty last",
        Box::new(move |b| {
            begin(b, false);
            odd(b, false, true, 0, 0, false)
        }),
    ));
    cases.push(("a WRITE that is too short", Box::new(|b| odd(b, true, true, 9, 10, true))));
    cases.push(("a WRITE that is too long", Box::new(|b| odd(b, true, true, 11, 10, true))));
    cases.push(("a long only", Box::new(|b| odd(b, true, true, MTU + 1, 0, false))));
    cases.push(("a READ of more than 2^31 B", Box::new(|b| b.read(7, 0, (1 << 31) + 1))));
    cases.push(("an atomic across words", Box::new(|b| b.add(7, 4))));
    cases.push((
        "a reserved opcode",
        Box::new(|b| {
            let mut frame = b.add(7, 0);
            frame[42] = 0x15;
            let (crc, at) = (crate::icrc::of_frame(&frame), frame.len() - 4);
            frame[at..].copy_from_slice(&crc.to_le_bytes());
            frame
        }),
    ));
    for (what, frame) in cases {
        let mut bench = Bench::new(7);
        bench.world.receives = [2000, 2000].into();
        let frame = frame(&mut bench);
        assert_eq!(bench.take(&frame), Outcome::Error, "{what}");
        assert_eq!(bench.syndromes(), [syndrome::NAK_INVALID_REQUEST], "{what}");
        assert_eq!(
            bench.statuses(),
            [],
            "{what}: the receive in use is flushed with the queue pair"
        );
    }
}

#[test]
fn rights_that_the_queue_pair_does_not_give_are_invalid_and_the_keys_are_not_looked_at() {
    for (right, operation) in
        [(rights::REMOTE_WRITE, 0), (rights::REMOTE_READ, 1), (rights::REMOTE_ATOMIC, 2)]
    {
        let mut bench = Bench::of(Settings { rights: rights::ALL & !right, ..SETTINGS }, 7);
        bench.world.keys.clear();
        let frame = match operation {
            0 => bench.message(Opcode::Write, 10).remove(0),
            1 => bench.read(7, 0, 10),
            _ => bench.add(7, 0),
        };
        assert_eq!(bench.take(&frame), Outcome::Error);
        assert_eq!(bench.syndromes(), [syndrome::NAK_INVALID_REQUEST]);
    }
}

#[test]
fn no_bytes_need_no_key() {
    let mut bench = Bench::new(7);
    bench.world.keys.clear();
    assert_eq!(bench.deliver(Opcode::Write, 0), Outcome::Executed);
    let read = bench.read(8, 1 << 40, 0);
    assert_eq!(bench.take(&read), Outcome::Executed);
    assert_eq!(bench.syndromes(), [0x1f, 0xfe]);
}

#[test]
fn a_key_that_goes_ends_the_write_that_uses_it() {
    let mut bench = Bench::new(7);
    let frames = bench.message(Opcode::Write, 600);
    assert_eq!(bench.take(&frames[0]), Outcome::Executed);
    bench.world.keys.clear();
    assert_eq!(bench.take(&frames[1]), Outcome::Error);
    assert_eq!(bench.syndromes(), [syndrome::NAK_REMOTE_ACCESS]);
    assert_eq!(bench.world.memory.borrow()[256..], [0; SIZE as usize - 256]);
}

#[test]
fn a_gap_is_asked_for_once_and_a_missing_receive_silences_what_is_behind() {
    let mut bench = Bench::new(7);
    let frames = bench.message(Opcode::Send, 700);
    assert_eq!(bench.take(&frames[1]), Outcome::Answered);
    assert_eq!(bench.take(&frames[2]), Outcome::Dropped);
    assert_eq!(bench.world.answers, [Answer::Acknowledge { syndrome: 0x60, psn: 7, msn: 0 }]);
    assert_eq!(bench.syndromes(), [0x60]);
    // The packet is expected, but there is no receive: the NAK has the timer of the settings.
    assert_eq!(bench.take(&frames[0]), Outcome::Answered);
    assert_eq!(bench.take(&frames[1]), Outcome::Dropped);
    assert_eq!(bench.syndromes(), [0x23]);
    bench.world.receives = [700].into();
    assert!(frames.iter().all(|frame| bench.take(frame) == Outcome::Executed));
    assert_eq!(bench.statuses(), [(0, Status::Success)]);
    // The packets of another gap are requested again.
    let frames = bench.message(Opcode::Write, 700);
    assert_eq!(bench.take(&frames[2]), Outcome::Answered);
}

#[test]
fn a_write_with_immediate_data_that_finds_no_receive_comes_again() {
    let mut bench = Bench::new(7);
    let frames = bench.message(Opcode::WriteImm, 300);
    assert_eq!(bench.take(&frames[0]), Outcome::Executed);
    assert_eq!(bench.take(&frames[1]), Outcome::Answered);
    assert_eq!(bench.world.memory.borrow()[256], 0, "nothing was written");
    bench.world.receives = [0x10].into();
    assert_eq!(bench.take(&frames[1]), Outcome::Executed);
    assert_eq!(bench.statuses(), [(0, Status::Success)]);
    assert_eq!(bench.world.memory.borrow()[299], 8);
}

#[test]
fn duplicates_are_acknowledged_and_not_executed() {
    let mut bench = Bench::new(7);
    bench.world.receives = [1000].into();
    let frames = bench.message(Opcode::Send, 300);
    assert!(frames.iter().all(|frame| bench.take(frame) == Outcome::Executed));
    bench.world.answers.clear();
    bench.world.memory.borrow_mut().fill(0);
    assert_eq!(bench.take(&frames[0]), Outcome::Dropped, "it does not ask");
    assert_eq!(bench.take(&frames[1]), Outcome::Answered);
    // The NAK has the last number that arrived in order.
    assert_eq!(bench.world.answers, [Answer::Acknowledge { syndrome: 0x1f, psn: 8, msn: 1 }]);
    assert!(bench.world.memory.borrow().iter().all(|byte| *byte == 0));
}

#[test]
fn atomics_are_executed_once_and_answered_as_often_as_they_come() {
    let mut bench = Bench::new(7);
    let [first, second, third] = [7, 8, 9].map(|psn| bench.add(psn, 8));
    for frame in [&first, &second, &second, &first] {
        bench.take(frame);
    }
    let originals: Vec<_> = bench.world.answers.iter().collect();
    let answer = |psn, msn, original| Answer::Atomic { psn, msn, original };
    assert_eq!(originals, [&answer(7, 1, 0), &answer(8, 2, 1), &answer(8, 2, 1), &answer(7, 2, 0)]);
    assert_eq!(bench.world.memory.borrow()[8], 2);
    // Two answers are kept: a third takes the place of the first.
    bench.take(&third);
    bench.world.answers.clear();
    assert_eq!(bench.take(&first), Outcome::Dropped);
    assert_eq!(bench.take(&second), Outcome::Answered);
}

#[test]
fn reads_are_answered_again_from_where_they_are_asked_for() {
    let mut bench = Bench::new(0xff_ffff);
    let read = bench.read(0xff_ffff, 0, 1000);
    assert_eq!(bench.take(&read), Outcome::Executed);
    assert_eq!(bench.responder.expected(), 3);
    for (psn, offset, len, answered) in [
        (0xff_ffff, 0, 1000, true),
        (1, 512, 488, true),
        (1, 512, 100, true),
        (1, 512, 489, false),
        (1, 500, 488, false),
        (0, 0, 256, false),
        (0xff_fffe, 0, 256, false),
    ] {
        bench.world.answers.clear();
        let again = bench.read(psn, offset, len);
        let outcome = if answered { Outcome::Answered } else { Outcome::Dropped };
        assert_eq!(bench.take(&again), outcome, "{psn:#x} {offset} {len}");
        let addr = BASE + offset;
        let answer = Answer::Read { psn, msn: 1, addr, len, rkey: KEY };
        assert_eq!(bench.world.answers, if answered { vec![answer] } else { vec![] });
    }
    // The key is checked again for a repetition.
    bench.world.keys.clear();
    assert_eq!(bench.take(&read), Outcome::Dropped);
}

#[test]
fn more_reads_than_are_kept_are_refused_until_one_is_answered() {
    let mut bench = Bench::new(7);
    for psn in [7, 8] {
        let read = bench.read(psn, 0, 10);
        assert_eq!(bench.take(&read), Outcome::Executed);
    }
    let mut other = Bench::new(7);
    for psn in [7, 8, 9] {
        let read = other.read(psn, 0, 10);
        assert_eq!(other.take(&read) == Outcome::Error, psn == 9);
    }
    assert_eq!(other.syndromes(), [0xfe, 0xfe, syndrome::NAK_INVALID_REQUEST]);
    bench.responder.answered(7);
    let read = bench.read(9, 0, 10);
    assert_eq!(bench.take(&read), Outcome::Executed);
    assert_eq!(bench.responder.msn(), 3);
}

#[test]
fn a_completion_queue_without_room_breaks_the_queue_pair_in_silence() {
    let mut bench = Bench::new(7);
    bench.world.receives = [1000].into();
    bench.world.full = true;
    assert_eq!(bench.deliver(Opcode::Send, 10), Outcome::Error);
    assert_eq!((bench.syndromes(), bench.statuses()), (vec![], vec![]));
    assert!(bench.world.memory.borrow().iter().all(|byte| *byte == 0));
}

#[test]
fn a_receive_whose_key_is_wrong_is_the_responders_fault() {
    let mut bench = Bench::new(7);
    bench.world.receives = [SIZE as u32 + 1].into();
    assert_eq!(bench.deliver(Opcode::Send, 10), Outcome::Error);
    assert_eq!(bench.syndromes(), [syndrome::NAK_REMOTE_OPERATION]);
    assert_eq!(bench.statuses(), [(0, Status::LocalProtectionError)]);
}

#[test]
fn only_rc_has_sends_that_make_a_key_invalid() {
    for (transport, operation) in [
        (Transport::Uc, operation::SEND_ONLY_INVALIDATE),
        (Transport::Ud, operation::SEND_ONLY_INVALIDATE),
        (Transport::Ud, operation::SEND_LAST_INVALIDATE),
    ] {
        let mut bench = Bench::of(Settings { transport, ..SETTINGS }, 7);
        bench.world.receives = [1000].into();
        let mut frame = bench.message(Opcode::Send, 12).remove(0);
        frame[42] = transport.opcode_bits() | operation;
        let (crc, at) = (crate::icrc::of_frame(&frame), frame.len() - 4);
        frame[at..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(bench.take(&frame), Outcome::Dropped, "{transport:?} {operation:#x}");
        assert_eq!((bench.world.taken, bench.responder.expected()), (0, 7));
    }
}

#[test]
fn who_a_frame_is_for_is_told_by_number_transport_partition_and_peer() {
    // The responder's own flow is the sender's, turned round.
    let own = Flow {
        source_ip: FLOW.dest_ip,
        dest_ip: FLOW.source_ip,
        qpn: FLOW.dest_qpn,
        dest_qpn: FLOW.qpn,
        ..FLOW
    };
    let bytes = answers::read_request(&FLOW, 1, &Reth::default());
    let frame = Frame::parse(&bytes).unwrap();
    assert!(is_for(&frame, &own));
    assert!(is_for(&frame, &Flow { pkey: 0x7fff, ..own }), "the sender is a full member");
    for other in [
        Flow { qpn: 34, ..own },
        Flow { transport: Transport::Uc, ..own },
        Flow { dest_ip: 9, ..own },
        Flow { source_ip: 9, ..own },
        Flow { pkey: 0xfffe, ..own },
    ] {
        assert!(!is_for(&frame, &other), "{other:?}");
    }
    let ud = Flow { transport: Transport::Ud, ..FLOW };
    let head = MessageHead { opcode: Opcode::Send, imm: 0, remote_addr: 0, rkey: 0, len: 0 };
    let segment = Segment { offset: 0, len: 0, first: true, last: true };
    let bytes = packets::frame(&ud, &head, &segment, 0, |_| Ok::<(), ()>(())).unwrap();
    let frame = Frame::parse(&bytes).unwrap();
    let own = Flow { transport: Transport::Ud, dest_ip: 0, ..own };
    assert!(is_for(&frame, &own), "whoever sent it");
    assert!(!is_for(&frame, &Flow { qkey: 8, ..own }));
}

#[test]
fn every_operation_has_its_kind() {
    let responses = read_operation::RESPONSE_FIRST..=operation::ATOMIC_ACKNOWLEDGE;
    for code in 0..32 {
        let kind = packet::Kind::of(code);
        assert_eq!(kind == packet::Kind::Response, responses.contains(&code), "{code:#x}");
        let reserved = code == 0x15 || code >= 0x18;
        assert_eq!(kind == packet::Kind::Reserved, reserved, "{code:#x}");
    }
}
