//! Requests that only a queue pair's own queue takes: with addresses of datagrams, invalidated keys, or solicited.
//! Frames are compared byte for byte with what the semantics say.

use drdma_abi::{
    Layout,
    completion::Status,
    receive::{
        AddressHandle, AttributesEntry, QUEUE_PAIR_ATTRIBUTES, ReliableOpcode, request_flags,
        rights,
    },
    register::{MEMORY_REGIONS, MemoryRegionEntry, QUEUE_PAIRS, QueuePairEntry},
    roce::{AtomicEth, Reth, TTL, Transport},
    work_request::{BLOCK, GRANULE, Opcode, WqeHeader},
};
use drdma_verilated::testbench::Random;
use std::convert::Infallible;

use super::rig::{CARD_IP, MAC, Rig, Simulated, bytes, contiguous, send, to};
use crate::wire::peer::acknowledgement;
use drdma_semantics::{
    answers,
    frame::Frame,
    packets::{self, Flow, Marks, MessageHead, psn_add, segments},
    request::{Request, encode},
    testing::{BASE, LKEY, SIZE},
};

const MTU: u32 = 256;
const PSN: u32 = 0xff_fffe;
/// Queue pairs, each with the queue of its number.
const RC: u32 = 1;
const UC: u32 = 2;
const UD: [u32; 3] = [3, 4, 5];

/// Parts of a request beside its regions.
#[derive(Clone, Copy, Debug, Default)]
struct Extras {
    opcode: Option<ReliableOpcode>,
    solicited: bool,
    address: Option<AddressHandle>,
}

/// The entry of a request with `extras`, an atomic with these operands.
fn entry(request: &Request, position: u32, extras: Extras) -> Vec<u8> {
    let mut bytes = encode(request, position);
    let mut head = WqeHeader::decode(&bytes);
    bytes.truncate(head.granules as usize * GRANULE);
    let mut behind = Vec::new();
    if let Some(address) = extras.address {
        head.flags |= request_flags::ADDRESS;
        behind.extend(address.to_bytes());
    }
    if extras.opcode.is_some_and(ReliableOpcode::is_atomic) {
        behind.extend(5_u64.to_le_bytes());
        behind.extend(0_u64.to_le_bytes());
    }
    if extras.solicited {
        head.flags |= request_flags::SOLICITED;
    }
    head.opcode = extras.opcode.map_or(head.opcode, |opcode| opcode as u8);
    head.granules += (behind.len() / GRANULE) as u32;
    bytes.splice(WqeHeader::SIZE..WqeHeader::SIZE, behind);
    head.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

/// The flow of the queue pair's packets, if a request has no address.
fn flow(qp: u32) -> Flow {
    let transport = match qp {
        RC => Transport::Rc,
        UC => Transport::Uc,
        _ => Transport::Ud,
    };
    Flow {
        source_mac: MAC,
        dest_mac: 0x0200_0000_0a00 + u64::from(qp),
        source_ip: CARD_IP,
        dest_ip: 0x0a00_0100 + qp,
        tos: 4 * qp as u8,
        ttl: TTL,
        // Frames of the last one have a tag, even if a request has an address.
        vlan: (qp == UD[2]).then_some(0x6007),
        qpn: 0x100 + qp,
        dest_qpn: 0x200 + qp,
        pkey: 0x8123,
        qkey: 0x77,
        transport,
        mtu: MTU,
    }
}

/// The flow of a request with an address.
fn flow_of(qp: u32, extras: Extras) -> Flow {
    let flow = flow(qp);
    match extras.address {
        Some(AddressHandle { dest_mac, tos, ttl, dest_ip, dest_qpn, qkey, .. }) => {
            let ttl = if ttl == 0 { TTL } else { ttl };
            Flow { dest_mac, tos, ttl, dest_ip, dest_qpn, qkey, ..flow }
        }
        None => flow,
    }
}

/// A card with its queue pairs. The test handles its frames. RC sends again what is not acknowledged.
fn rig<C: Simulated>() -> Rig<C> {
    let mut rig = Rig::new();
    rig.network.plug_cable();
    for qp in RC..=UD[2] {
        let flow = flow(qp);
        let entry = QueuePairEntry {
            dest_mac: flow.dest_mac,
            dest_ip: flow.dest_ip,
            qpn: flow.qpn,
            dest_qpn: flow.dest_qpn,
            tos: flow.tos,
            ttl: 0,
            qkey: flow.qkey,
            pkey: flow.pkey,
            vlan: flow.vlan.unwrap_or(0),
            tagged: flow.vlan.is_some().into(),
            transport: flow.transport as u8,
            log_mtu: MTU.ilog2() as u8,
            start_psn: PSN,
            state: 1,
            ..Default::default()
        };
        rig.write_entry(&QUEUE_PAIRS, qp, &entry);
        let attributes = AttributesEntry {
            rights: rights::ALL as u8,
            max_rd_atomic: 4,
            timeout: 4,
            retry_cnt: 3,
            rnr_retry: 3,
            state: 1,
            ..Default::default()
        };
        rig.write_entry(&QUEUE_PAIR_ATTRIBUTES, qp, &attributes);
        rig.add_queue(qp, Some(qp));
    }
    let (addr, len, lkey) = (BASE, SIZE, LKEY);
    let key =
        MemoryRegionEntry { addr, len, lkey, rights: rights::ALL, valid: 1, ..Default::default() };
    rig.write_entry(&MEMORY_REGIONS, LKEY % MEMORY_REGIONS.entries, &key);
    rig
}

fn post<C: Simulated>(rig: &mut Rig<C>, queue: u32, request: &Request, extras: Extras) {
    let bytes = entry(request, rig.producer(queue), extras);
    rig.write_blocks(queue, &bytes);
    rig.ring(queue);
}

/// The frames of a request whose messages have these bytes, and the next sequence number.
fn frames(
    qp: u32,
    request: &Request,
    messages: &[Vec<u8>],
    extras: Extras,
    psn: &mut u32,
) -> Vec<Vec<u8>> {
    let flow = flow_of(qp, extras);
    let invalidates = extras.opcode == Some(ReliableOpcode::SendInvalidate);
    let marks =
        Marks { solicited: extras.solicited, invalidate: invalidates.then_some(request.imm) };
    let mut remote_addr = request.destinations[0].remote_addr;
    let mut frames = Vec::new();
    for message in messages {
        let len = message.len() as u32;
        let head = MessageHead {
            opcode: request.opcode,
            imm: request.imm,
            remote_addr,
            rkey: request.destinations[0].rkey,
            len,
        };
        for segment in segments(len, MTU) {
            let frame = packets::marked_frame(&flow, &head, &segment, *psn, &marks, |out| {
                out.copy_from_slice(&message[segment.offset as usize..][..out.len()]);
                Ok::<_, Infallible>(())
            });
            frames.push(frame.unwrap());
            *psn = psn_add(*psn, 1);
        }
        remote_addr += u64::from(len);
    }
    frames
}

/// The frames that have left, once there are `count`.
fn sent<C: Simulated>(rig: &mut Rig<C>, count: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for _ in 0..20_000 {
        while let Some(frame) = rig.network.take_sent() {
            all.push(frame.bytes);
        }
        if all.len() >= count {
            return all;
        }
        rig.progress(1);
    }
    panic!("{} frames of {count}", all.len());
}

fn acknowledge<C>(rig: &Rig<C>, psn: u32) {
    let Flow { source_mac, dest_mac, source_ip, dest_ip, qpn, dest_qpn, .. } = flow(RC);
    let back = Flow {
        source_mac: dest_mac,
        dest_mac: source_mac,
        source_ip: dest_ip,
        dest_ip: source_ip,
        qpn: dest_qpn,
        dest_qpn: qpn,
        ..flow(RC)
    };
    rig.network.inject(acknowledgement(&back, 31, psn, 0), 0);
}

fn handle(random: &mut Random) -> AddressHandle {
    AddressHandle {
        dest_mac: random.below(1 << 48),
        tos: random.u64() as u8,
        ttl: if random.chance(0.3) { 0 } else { random.u64() as u8 },
        dest_ip: random.u64() as u32,
        dest_qpn: random.below(1 << 24) as u32,
        qkey: random.u64() as u32,
        ..Default::default()
    }
}

const HANDLE: AddressHandle = AddressHandle {
    dest_mac: 0x0200_0000_0ab1,
    tos: 0x67,
    ttl: 9,
    dest_ip: 0x0a00_00f7,
    dest_qpn: 0xff_fffe,
    qkey: 0x8765_4321,
    reserved: 0,
    reserved2: 0,
};

fn every_datagram_goes_where_its_request_says<C: Simulated>() {
    let mut random = Random::new(31);
    let mut rig = rig::<C>();
    rig.add_completion_queue(0, 6);
    let mut psns = [PSN; 3];
    for round in 0..40 {
        let (mut expected, mut count) = (vec![Vec::new(); 3], 0);
        for wr_id in 0..8 {
            let which = random.below(3) as usize;
            let qp = UD[which];
            let address = random.chance(0.6).then(|| handle(&mut random));
            let extras = Extras { opcode: None, solicited: random.chance(0.3), address };
            let imm = random.u64() as u32;
            let opcode = if random.chance(0.3) { Opcode::SendImm } else { Opcode::Send };
            let mut messages = Vec::new();
            let mut request = Request { opcode, imm, ..send(wr_id, vec![to(qp, vec![])]) };
            if random.chance(0.4) {
                let len = 1 + random.below(64) as usize;
                let payload = random.bytes(len);
                request.inline = Some(payload.clone());
                messages.push(payload);
            } else {
                for _ in 0..random.below(4) {
                    let len = 1 + random.below(MTU.into()) as u32;
                    let at = random.below(SIZE - u64::from(len));
                    request.destinations[0].regions.push(contiguous(at, len));
                    messages.push(bytes(at as usize, len as usize));
                }
            }
            let frames = frames(qp, &request, &messages, extras, &mut psns[which]);
            count += frames.len();
            expected[which].extend(frames);
            post(&mut rig, qp, &request, extras);
        }
        let sent = sent(&mut rig, count);
        for (qp, expected) in UD.into_iter().zip(&expected) {
            let from = |frame: &&Vec<u8>| {
                let source = Frame::parse(frame).unwrap().deth.unwrap().source_qp;
                source == flow(qp).qpn
            };
            let sent: Vec<_> = sent.iter().filter(from).cloned().collect();
            assert_eq!(sent, *expected, "round {round}, queue pair {qp}");
        }
        let ended = rig.finish();
        assert!(ended.len() == 8 && ended.iter().all(|(_, status)| *status == Status::Success));
    }
}

fn the_last_packet_of_a_message_is_solicited_and_makes_the_key_invalid<C: Simulated>() {
    let mut rig = rig::<C>();
    let invalidates = Some(ReliableOpcode::SendInvalidate);
    let lengths = [600, 256, 1];
    let regions = lengths.map(|len| contiguous(7, len)).to_vec();
    let messages = lengths.map(|len| bytes(7, len as usize)).to_vec();
    let mut psns = [PSN; 2];
    for (qp, opcode, extra) in [
        (RC, Opcode::Send, invalidates),
        (RC, Opcode::Send, None),
        (RC, Opcode::WriteImm, None),
        (RC, Opcode::Write, None),
        (UC, Opcode::SendImm, None),
        (UC, Opcode::Write, None),
    ] {
        for solicited in [true, false] {
            let extras = Extras { opcode: extra, solicited, address: None };
            let destination = vec![to(qp, regions.clone())];
            let request = Request { opcode, imm: 0x99aa_bbcc, ..send(1, destination) };
            let psn = &mut psns[qp as usize - 1];
            let expected = frames(qp, &request, &messages, extras, psn);
            post(&mut rig, qp, &request, extras);
            assert_eq!(sent(&mut rig, expected.len()), expected, "{qp} {opcode:?} {extras:?}");
            if qp == RC {
                acknowledge(&rig, psn_add(*psn, 0xff_ffff));
            }
            assert_eq!(rig.finish(), [(1, Status::Success)]);
        }
    }
}

fn what_is_lost_is_sent_again_solicited_and_with_its_key<C: Simulated>() {
    let mut rig = rig::<C>();
    let opcode = Some(ReliableOpcode::SendInvalidate);
    let extras = Extras { opcode, solicited: true, address: None };
    let request = Request { imm: 0x99aa_bbcc, ..send(1, vec![to(RC, vec![contiguous(7, 600)])]) };
    let mut psn = PSN;
    let expected = frames(RC, &request, &[bytes(7, 600)], extras, &mut psn);
    post(&mut rig, RC, &request, extras);
    // No peer answers.
    let frames = sent(&mut rig, 9);
    for (k, frame) in frames.iter().enumerate() {
        assert_eq!(*frame, expected[k % 3], "frame {k}");
    }
    acknowledge(&rig, psn_add(psn, 0xff_ffff));
    assert_eq!(rig.finish(), [(1, Status::Success)]);
}

fn reads_and_atomics_are_not_solicited<C: Simulated>() {
    let mut rig = rig::<C>();
    let region = |len| send(1, vec![to(RC, vec![contiguous(0, len)])]);
    let asks = |opcode| Extras { opcode: Some(opcode), solicited: true, address: None };
    post(&mut rig, RC, &region(100), asks(ReliableOpcode::Read));
    post(&mut rig, RC, &region(8), asks(ReliableOpcode::FetchAndAdd));
    let read = Reth { virtual_address: 0x1000, rkey: 7, dma_length: 100 };
    let add = AtomicEth { virtual_address: 0x1000, rkey: 7, swap_or_add: 5, compare: 0 };
    let expected = [
        answers::read_request(&flow(RC), PSN, &read),
        answers::atomic_request(&flow(RC), psn_add(PSN, 1), false, &add),
    ];
    assert_eq!(sent(&mut rig, 2)[..2], expected);
}

/// Wrong requests end with the status that the semantics say, send nothing, and stop only their own queue.
fn wrong_addresses_and_transports_are_refused<C: Simulated>() {
    let short = send(1, vec![to(0, vec![contiguous(0, 10)])]);
    let outside = send(1, vec![to(0, vec![contiguous(SIZE - 9, 10)])]);
    let address = |address| Extras { address: Some(address), ..Extras::default() };
    let invalidates = Extras { opcode: Some(ReliableOpcode::SendInvalidate), ..Extras::default() };
    let solicited = Extras { solicited: true, ..Extras::default() };
    let refused = Status::LocalQpOperationError;
    // Request, its extras, queue (0: a shared one), status, whether the queue pair breaks.
    let cases = [
        (
            "number",
            &short,
            address(AddressHandle { dest_qpn: 1 << 24, ..HANDLE }),
            UD[0],
            refused,
            false,
        ),
        (
            "reserved",
            &short,
            address(AddressHandle { reserved: 1 << 31, ..HANDLE }),
            UD[0],
            refused,
            false,
        ),
        (
            "reserved2",
            &short,
            address(AddressHandle { reserved2: 1, ..HANDLE }),
            UD[0],
            refused,
            false,
        ),
        ("an address on RC", &short, address(HANDLE), RC, refused, true),
        ("an address on UC", &short, address(HANDLE), UC, refused, true),
        ("an address on a shared queue", &short, address(HANDLE), 0, refused, false),
        (
            "on RC, memory that is not its",
            &outside,
            address(HANDLE),
            RC,
            Status::LocalProtectionError,
            true,
        ),
        ("an invalidation on UC", &short, invalidates, UC, refused, true),
        ("an invalidation on UD", &short, invalidates, UD[0], refused, true),
        ("an invalidation on a shared queue", &short, invalidates, 0, refused, false),
        ("solicited on a shared queue", &short, solicited, 0, refused, false),
    ];
    for (name, request, extras, queue, status, breaks) in cases {
        let mut rig = rig::<C>();
        rig.add_queue(0, None);
        let qp = if queue == 0 { RC } else { queue };
        let mut request = (*request).clone();
        request.destinations[0].qp = qp;
        post(&mut rig, queue, &request, extras);
        assert_eq!(rig.finish(), [(1, status)], "{name}");
        assert_eq!((rig.queue_halted(queue), rig.queue_pair_error(qp)), (true, breaks), "{name}");
        assert_eq!(rig.network.take_sent(), None, "{name}");
        // Another queue pair goes on.
        let good = send(2, vec![to(UD[1], vec![contiguous(0, 10)])]);
        post(&mut rig, UD[1], &good, address(HANDLE));
        assert_eq!(rig.finish(), [(2, Status::Success)], "{name}");
        let expected = frames(UD[1], &good, &[bytes(0, 10)], address(HANDLE), &mut { PSN });
        assert_eq!(sent(&mut rig, 1), expected, "{name}");
    }
}

on_every_card! {
    every_datagram_goes_where_its_request_says,
    the_last_packet_of_a_message_is_solicited_and_makes_the_key_invalid,
    what_is_lost_is_sent_again_solicited_and_with_its_key,
    reads_and_atomics_are_not_solicited,
    wrong_addresses_and_transports_are_refused,
}
