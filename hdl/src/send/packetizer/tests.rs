//! Compares every byte of every frame with plain Rust.

use super::*;
use crate::request::DEST_COUNT;
use crate::send::PAGES;
use crate::send::segmenter::tests::{Chances, Item, Packet, Traffic, stream};
use crate::testing;
use drdma_abi::Layout;
use drdma_abi::receive::AddressHandle;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::{
    Bth, DEFAULT_PKEY, Deth, ETHERTYPE_IPV4, ICRC_SIZE, IP_PROTOCOL_UDP, ImmDt, Ipv4, Reth, TTL,
    Transport, UDP_PORT, Udp, operation,
};
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, DriverId, Random, STALLS};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

mod acknowledgements;
mod changes;
mod notifications;
mod pair;
mod responses;

/// Cycles from a beat to the first beat of the frame that it completes.
const LATENCY: u64 = 17;
const MAC: u64 = 0x02de_adbe_ef01;
const IP: u32 = 0x0aff_fe01;
/// Words of a queue pair's entry that [`configure`] writes.
const ENTRY_WORDS: u64 = 8;

/// The frame of a packet.
fn frame(packet: &Packet, qp: &QueuePairEntry) -> Vec<u8> {
    let mut headers = Vec::new();
    if let Some((virtual_address, rkey, dma_length)) = packet.reth {
        headers.extend(Reth { virtual_address, rkey, dma_length }.to_bytes());
    }
    if Transport::from_code(qp.transport) == Some(Transport::Ud) {
        headers.extend(Deth { qkey: qp.qkey, reserved: 0, source_qp: qp.qpn }.to_bytes());
    }
    if let Some(value) = packet.imm {
        headers.extend(ImmDt { value }.to_bytes());
    }
    let bth = Bth {
        opcode: packet.operation,
        ack_req: packet.ack_req.into(),
        solicited: packet.solicited.into(),
        psn: packet.psn,
        ..Bth::default()
    };
    assemble(qp, bth, &headers, &packet.payload)
}

/// A frame of these headers behind the BTH, of which the rest is the queue pair's.
fn assemble(qp: &QueuePairEntry, bth: Bth, headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let transport = Transport::from_code(qp.transport).expect("a transport");
    let pad = payload.len().wrapping_neg() & 3;
    let mut rest = Bth {
        opcode: transport.opcode_bits() | bth.opcode,
        migration: 1,
        pad: pad as u8,
        pkey: qp.pkey,
        dest_qp: qp.dest_qpn,
        ..bth
    }
    .to_bytes()
    .to_vec();
    rest.extend(headers);
    rest.extend(payload);
    rest.resize(rest.len() + pad, 0);
    let length = Udp::SIZE + rest.len() + ICRC_SIZE;
    let udp = Udp {
        source_port: 0xc000 | (qp.qpn & 0x3fff) as u16,
        destination_port: UDP_PORT,
        length: length as u16,
        checksum: 0,
    };
    let mut ip = Ipv4 {
        version: 4,
        ihl: 5,
        total_length: (Ipv4::SIZE + length) as u16,
        flags: 2,
        tos: qp.tos,
        ttl: if qp.ttl == 0 { TTL } else { qp.ttl },
        protocol: IP_PROTOCOL_UDP,
        source: IP,
        destination: qp.dest_ip,
        ..Ipv4::default()
    };
    let words = ip.to_bytes();
    let mut sum: u32 = words.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    ip.checksum = !sum as u16;
    let ethernet = Ethernet { destination: qp.dest_mac, source: MAC, ethertype: ETHERTYPE_IPV4 };

    // Fields that routers may change are covered as ones.
    let mut covered = vec![0xff; 8];
    covered.extend(Ipv4 { tos: 0xff, ttl: 0xff, checksum: 0xffff, ..ip }.to_bytes());
    covered.extend(Udp { checksum: 0xffff, ..udp }.to_bytes());
    let bth = covered.len();
    covered.extend(&rest);
    covered[bth + Bth::field("resv8a").start / 8] = 0xff;

    let mut frame = ethernet.to_bytes().to_vec();
    if qp.tagged == 1 {
        let tag = [0x81, 0, (qp.vlan >> 8) as u8, qp.vlan as u8];
        frame.splice(12..12, tag);
    }
    frame.extend(ip.to_bytes());
    frame.extend(udp.to_bytes());
    frame.extend(rest);
    frame.extend(crc32fast::hash(&covered).to_le_bytes());
    frame
}

/// Random queue pairs.
fn queue_pairs(random: &mut Random, transports: &[Transport]) -> Vec<QueuePairEntry> {
    let entry = |(index, transport): (usize, &Transport)| QueuePairEntry {
        dest_mac: random.below(1 << 48),
        tos: random.u64() as u8,
        ttl: if index % 3 == 0 { 0 } else { random.u64() as u8 },
        dest_ip: random.u64() as u32 | if index % 4 == 0 { 0xffff_f000 } else { 0 },
        qpn: random.below(1 << 24) as u32,
        dest_qpn: random.below(1 << 24) as u32,
        qkey: random.u64() as u32,
        pkey: if index % 2 == 0 { DEFAULT_PKEY } else { random.u64() as u16 },
        vlan: random.u64() as u16,
        tagged: random.below(3) as u8 & 1,
        transport: *transport as u8,
        log_mtu: 12,
        ..QueuePairEntry::default()
    };
    transports.iter().enumerate().map(entry).collect()
}

/// Addresses of the datagrams of the request in each slot, if it names one.
type Addresses = Vec<Option<AddressHandle>>;

/// Random addresses of about half the requests.
fn addresses(random: &mut Random) -> Addresses {
    let handle = |random: &mut Random| AddressHandle {
        dest_mac: random.below(1 << 48),
        tos: random.u64() as u8,
        ttl: 1 + random.below(255) as u8,
        dest_ip: random.u64() as u32 | if random.chance(0.3) { 0xffff_f000 } else { 0 },
        dest_qpn: random.below(1 << 24) as u32,
        qkey: random.u64() as u32,
        ..Default::default()
    };
    (0..256).map(|_| random.chance(0.5).then(|| handle(random))).collect()
}

/// Writes the addresses of the datagrams of each request; fields without a meaning are random.
fn tell(bench: &mut Bench, addresses: &Addresses) {
    let writes = bench.driver("address_write");
    for (slot, handle) in addresses.iter().enumerate() {
        let mut beat = Beat::from([("slot", slot)]).with("named", handle.is_some());
        for (name, width) in [
            ("dest_mac", 48),
            ("tos", 8),
            ("ttl", 8),
            ("dest_ip", 32),
            ("dest_qpn", 24),
            ("qkey", 32),
        ] {
            beat.set(name, bench.random().word(width));
        }
        if let Some(handle) = handle {
            beat = beat
                .with("dest_mac", handle.dest_mac)
                .with("tos", handle.tos)
                .with("ttl", handle.ttl)
                .with("dest_ip", handle.dest_ip)
                .with("dest_qpn", handle.dest_qpn)
                .with("qkey", handle.qkey);
        }
        bench.send(writes, beat);
    }
    bench.run_until(|b| b.pending(writes) == 0);
}

/// The frame of a packet of these queue pairs, whose request may name an address for datagrams.
fn frame_of(packet: &Packet, queue_pairs: &[QueuePairEntry], addresses: &Addresses) -> Vec<u8> {
    let qp = queue_pairs[packet.qp];
    let datagram = qp.transport == Transport::Ud as u8;
    match addresses[packet.slot as usize].filter(|_| datagram) {
        Some(AddressHandle { dest_mac, tos, ttl, dest_ip, dest_qpn, qkey, .. }) => {
            frame(packet, &QueuePairEntry { dest_mac, tos, ttl, dest_ip, dest_qpn, qkey, ..qp })
        }
        None => frame(packet, &qp),
    }
}

/// Writes the words that the packetizer keeps. No request names an address for datagrams.
fn configure(bench: &mut Bench, cfg: DriverId, queue_pairs: &[QueuePairEntry]) {
    bench.set("mac", MAC);
    bench.set("ip", IP);
    for (index, entry) in queue_pairs.iter().enumerate() {
        let bytes = entry.to_bytes();
        for (word, data) in bytes.chunks(4).enumerate().take(ENTRY_WORDS as usize) {
            let data = u32::from_le_bytes(data.try_into().expect("4 bytes"));
            let fields = [("table", 0), ("index", index as u64), ("word", word as u64)];
            bench.send(cfg, Beat::from(fields).with("data", data));
            // A word of another table has no effect.
            bench.send(cfg, Beat::from(fields).with("data", !data).with("table", 1 + word % 3));
        }
    }
    bench.run_until(|b| b.pending(cfg) == 0);
    tell(bench, &vec![None; 256]);
}

/// The frames of these beats.
fn frames(beats: &[Beat]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut frame = Vec::new();
    for beat in beats {
        let keep = beat.u64("keep");
        let count = keep.trailing_ones() as usize;
        assert_eq!(keep.count_ones() as usize, count, "the bytes of a beat are together");
        assert!(count == 64 || beat.u64("last") == 1, "a beat inside a frame is full");
        assert!(count > 0);
        frame.extend(beat.get("data").to_bytes(count));
        if beat.u64("last") == 1 {
            frames.push(std::mem::take(&mut frame));
        }
    }
    assert!(frame.is_empty(), "the last frame ends");
    frames
}

fn compare(got: &[Vec<u8>], expected: &[Vec<u8>]) {
    for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert_eq!(got.len(), expected.len(), "frame {k}: length");
        let differs = got.iter().zip(expected).position(|(a, b)| a != b);
        assert_eq!(differs, None, "frame {k} of {} bytes\n{got:02x?}\n{expected:02x?}", got.len());
    }
    assert_eq!(got.len(), expected.len());
}

/// The payload pages, and the cycles in which they were given back.
struct Memory {
    pages: Vec<Vec<u8>>,
    busy: Vec<bool>,
    rows: VecDeque<(u64, Vec<u8>)>,
}

/// A packet as it is offered.
fn offer(packet: &Packet, page: usize) -> Beat {
    let (address, rkey, length) = packet.reth.unwrap_or((!0, !0, !0));
    Beat::from([("page", page), ("bytes", packet.payload.len()), ("qp", packet.qp)])
        .with("operation", packet.operation)
        .with("ack_req", packet.ack_req)
        .with("psn", packet.psn)
        .with("remote_addr", address)
        .with("rkey", rkey)
        .with("message_bytes", length)
        .with("imm", packet.imm.unwrap_or(!0))
        .with("has_imm", packet.imm.is_some())
        .with("has_reth", packet.reth.is_some())
        .with("again", 0)
        .with("late", 0)
        .with("solicited", packet.solicited)
        .with("slot", packet.slot)
        .with("kind", 3)
        .with("status", 0xff)
        .with("bad_dest", 0x7f)
        .with("total", 0xff << 32 | (ENTRY_WORDS * packet.qp as u64 + ENTRY_WORDS - 1))
}

fn library() -> Library {
    testing::library("packetizer", Packetizer::default)
}

/// A random packet with `length` bytes of payload.
fn packet(random: &mut Random, queue_pairs: &[QueuePairEntry], length: usize) -> Packet {
    let qp = random.below(256) as usize;
    let transport = Transport::from_code(queue_pairs[qp].transport);
    let operation = match transport {
        Some(Transport::Ud) => operation::SEND_ONLY + random.below(2) as u8,
        _ => random.below(12) as u8,
    };
    let first = [operation::WRITE_FIRST, operation::WRITE_ONLY, operation::WRITE_ONLY_IMM];
    let imm = [
        operation::SEND_LAST_IMM,
        operation::SEND_ONLY_IMM,
        operation::WRITE_LAST_IMM,
        operation::WRITE_ONLY_IMM,
    ];
    Packet {
        payload: random.bytes(length),
        qp,
        operation,
        ack_req: random.chance(0.5),
        psn: random.below(1 << 24) as u32,
        reth: first
            .contains(&operation)
            .then(|| (random.u64(), random.u64() as u32, random.u64() as u32)),
        imm: imm.contains(&operation).then(|| random.u64() as u32),
        solicited: random.chance(0.3),
        slot: random.below(256),
    }
}

/// Runs packets and checks frames, `sent` items, pages and counters; gives the cycles of the beats.
fn run(
    library: &Library,
    seed: u64,
    stalls: (f64, f64),
    lengths: &[usize],
    markers: bool,
    tags: bool,
) -> Vec<u64> {
    let mut random = Random::new(seed);
    let transports: Vec<_> = (0..256).map(|_| Transport::ALL[random.below(3) as usize]).collect();
    let mut queue_pairs = queue_pairs(&mut random, &transports);
    queue_pairs.iter_mut().for_each(|entry| entry.tagged &= u8::from(tags));
    let packets: Vec<_> =
        lengths.iter().map(|&length| packet(&mut random, &queue_pairs, length)).collect();
    let addresses = addresses(&mut Random::new(seed + 200));
    let expected: Vec<_> = packets.iter().map(|p| frame_of(p, &queue_pairs, &addresses)).collect();

    let mut bench = Bench::new(library.instance(seed), seed);
    bench.limit(4_000_000);
    let cfg = bench.driver("cfg");
    configure(&mut bench, cfg, &queue_pairs);
    tell(&mut bench, &addresses);
    let memory = Rc::new(RefCell::new(Memory {
        pages: vec![vec![0; 4096]; PAGES as usize],
        busy: vec![false; PAGES as usize],
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
        model.set_word("page_read_data", &row.as_slice().into());
    });
    let state = Rc::clone(&memory);
    let left = Rc::new(RefCell::new([0_u64; 3]));
    let counters = Rc::clone(&left);
    bench.observe(move |model, cycle| {
        let mut memory = state.borrow_mut();
        if model.get("page_read_enable") == 1 {
            let address = model.get("page_read_address") as usize;
            assert!(memory.busy[address >> 6], "a page is read that is not its");
            let row = memory.pages[address >> 6][(address & 63) * 64..][..64].to_vec();
            memory.rows.push_back((cycle + 2, row));
        }
        if model.get("page_free_valid") == 1 {
            let page = model.get("page_free_page") as usize;
            assert!(std::mem::take(&mut memory.busy[page]), "page {page} is freed twice");
        }
        for (sum, name) in
            counters.borrow_mut().iter_mut().zip(["packets", "payload_bytes", "frame_bytes"])
        {
            *sum += model.get(format!("count_{name}"));
        }
    });

    let (input, tx, sent) = (bench.driver("packet"), bench.monitor("tx"), bench.monitor("sent"));
    bench.stall(stalls);
    // A `sent` item must not overtake: it comes after the frames before it.
    let mut items = Vec::new();
    let mut pending: VecDeque<_> = packets.iter().collect();
    let mut before = 0;
    while !pending.is_empty() {
        let free = memory.borrow().busy.iter().position(|busy| !busy);
        if let (Some(page), true) = (free, bench.pending(input) < 4) {
            let packet = pending.pop_front().expect("not empty");
            {
                let mut memory = memory.borrow_mut();
                memory.busy[page] = true;
                let rest = random.bytes(4096 - packet.payload.len());
                memory.pages[page] = [packet.payload.as_slice(), &rest].concat();
            }
            bench.send(input, offer(packet, page));
            before += 1;
            while markers && random.chance(0.3) {
                let mut item = Beat::new();
                for (name, width) in [
                    ("slot", 8),
                    ("qp", 8),
                    ("kind", 2),
                    ("psn", 24),
                    ("status", 8),
                    ("bad_dest", DEST_COUNT),
                    ("total", 40),
                ] {
                    item.set(name, random.word(width));
                }
                bench.send(input, item.clone().with("marker", 1).with("bytes", 100));
                items.push((before, item));
            }
        } else {
            bench.step();
        }
    }
    let total: usize = expected.iter().map(|frame| frame.len().div_ceil(64)).sum();
    bench.run_until_received(tx, total);
    bench.run_until(|b| b.received(sent).len() >= items.len());
    bench.run(20);
    compare(&frames(&bench.take(tx)), &expected);
    let got = bench.take(sent);
    assert_eq!(got, items.iter().map(|(_, item)| item.clone()).collect::<Vec<_>>());
    let ends: Vec<u64> = {
        let mut beats = 0;
        let at = bench.received_at(tx);
        expected
            .iter()
            .map(|f| {
                beats += f.len().div_ceil(64);
                at[beats - 1]
            })
            .collect()
    };
    for ((before, _), at) in items.iter().zip(bench.received_at(sent)) {
        assert!(*at > ends[before - 1], "a `sent` item has overtaken a frame");
    }
    assert!(memory.borrow().busy.iter().all(|busy| !busy), "every page comes back");
    let bytes = |lengths: Vec<usize>| lengths.iter().sum::<usize>() as u64;
    let payload = bytes(lengths.to_vec());
    let frame_bytes = bytes(expected.iter().map(Vec::len).collect());
    assert_eq!(*left.borrow(), [packets.len() as u64, payload, frame_bytes]);
    bench.received_at(tx).to_vec()
}

#[test]
fn frames_are_right_to_the_last_bit_under_stalls() {
    let library = library();
    let mut random = Random::new(1);
    for (seed, stalls) in (1..).zip(STALLS) {
        let lengths: Vec<_> = (0..150)
            .map(|_| match random.below(3) {
                0 => 1 + random.below(150),
                1 => 4096 - random.below(150),
                _ => 1 + random.below(4096),
            })
            .map(|length| length as usize)
            .collect();
        run(&library, seed, stalls, &lengths, true, true);
    }
}

#[test]
fn every_length_makes_a_frame() {
    let lengths: Vec<_> = (1..400).chain((400..3900).step_by(37)).chain(3900..4097).collect();
    run(&library(), 7, (0.0, 0.0), &lengths, false, true);
}

#[test]
fn full_packets_leave_without_a_gap() {
    let cycles = run(&library(), 8, (0.0, 0.0), &[4096; 40], false, false);
    let taken = cycles.last().unwrap() - cycles[0] + 1;
    assert_eq!(taken as usize, cycles.len(), "{taken} cycles for {} beats", cycles.len());
    assert!(taken <= 40 * 66);
}

/// No cycle is lost beside the beats, but for a few behind the first that waits.
#[test]
fn tags_cost_their_bytes() {
    for length in [4096, 4088, 64] {
        let cycles = run(&library(), 8, (0.0, 0.0), &[length; 40], false, true);
        let taken = cycles.last().unwrap() - cycles[0] + 1;
        assert!(taken as usize <= cycles.len() + 4, "{taken} cycles for {} beats", cycles.len());
    }
}

#[test]
fn tiny_packets_leave_every_cycle() {
    let cycles = run(&library(), 9, (0.0, 0.0), &[4; 60], false, false);
    let taken = cycles.last().unwrap() - cycles[0] + 1;
    assert_eq!(taken as usize, cycles.len(), "{taken} cycles for {} beats", cycles.len());
}

#[test]
fn a_frame_has_no_bubble() {
    let library = library();
    // The driver stalls, the MAC does not.
    let cycles = run(&library, 10, (0.9, 0.0), &[4000, 1, 64, 300, 4096, 2000], true, true);
    let mut random = Random::new(10);
    let transports: Vec<_> = (0..256).map(|_| Transport::ALL[random.below(3) as usize]).collect();
    let queue_pairs = queue_pairs(&mut random, &transports);
    let mut at = 0;
    for length in [4000, 1, 64, 300, 4096, 2000] {
        let packet = packet(&mut random, &queue_pairs, length);
        let beats = frame(&packet, &queue_pairs[packet.qp]).len().div_ceil(64);
        assert_eq!(cycles[at + beats - 1] - cycles[at], beats as u64 - 1, "{length} bytes");
        at += beats;
    }
}

/// Segmenter and packetizer: payload in, frames out.
///
/// Gives the cycles from the first part taken to the last beat sent.
fn run_pair(library: &Library, seed: u64, stalls: (f64, f64), traffic: &Traffic) -> u64 {
    let mut random = Random::new(seed);
    let queue_pairs = queue_pairs(&mut random, &traffic.transports);
    let addresses = addresses(&mut random);
    let (mut expected, mut sent_items) = (Vec::new(), Vec::new());
    for item in traffic.reference().items {
        match item {
            Item::Packet(packet) => expected.push(frame_of(&packet, &queue_pairs, &addresses)),
            other => sent_items.push(other),
        }
    }
    let mut bench = Bench::new(library.instance(seed), seed);
    bench.limit(4_000_000);
    let cfg = bench.driver("cfg");
    configure(&mut bench, cfg, &queue_pairs);
    tell(&mut bench, &addresses);
    let (tx, sent) = (bench.monitor("tx"), bench.monitor("sent"));
    let payload = traffic.start(&mut bench, 256 * ENTRY_WORDS, 0.0).payload;
    bench.stall(stalls);
    let beats: usize = expected.iter().map(|frame: &Vec<u8>| frame.len().div_ceil(64)).sum();
    bench.run_until_received(tx, beats);
    bench.run_until(|b| b.received(sent).len() >= sent_items.len());
    compare(&frames(&bench.take(tx)), &expected);
    let got: Vec<_> = bench
        .take(sent)
        .iter()
        .map(|beat| match beat.u64("kind") {
            0 => Item::Acknowledge {
                slot: beat.u64("slot"),
                qp: beat.u64("qp") as usize,
                psn: beat.u64("psn") as u32,
            },
            kind => Item::Ended {
                goes_on: kind == PART_ENDS,
                slot: beat.u64("slot"),
                status: beat.u64("status"),
                bad_dest: beat.u64("bad_dest"),
                total: beat.u64("total"),
            },
        })
        .collect();
    assert_eq!(got, sent_items);
    bench.received_at(tx).last().unwrap() - bench.sent_at(payload)[0] + 1
}

#[test]
fn payload_becomes_frames_under_stalls() {
    let library = pair::library();
    let chances =
        Chances { dests: 8, error: 0.1, status: 0.1, qp_error: 0.1, gone: 0.1, queues: 256 };
    for (seed, stalls) in (1..).zip(STALLS) {
        let traffic = Traffic::random(&mut Random::new(seed), 30, chances);
        run_pair(&library, seed, stalls, &traffic);
    }
}

#[test]
fn payload_leaves_at_the_speed_of_the_wire() {
    let library = pair::library();
    // Full packets: 66 beats for one with a RETH, 65 for the others.
    let traffic = stream(10, 10 * 4096, 64, 12);
    let cycles = run_pair(&library, 1, (0.0, 0.0), &traffic);
    assert!(cycles <= 100 * 65 + 10 + 64 + LATENCY, "{cycles} cycles for 100 full packets");
    // Rows of 20 bytes, each a message.
    let traffic = stream(1000, 20, 20, 12);
    let cycles = run_pair(&library, 2, (0.0, 0.0), &traffic);
    assert!(cycles <= 1000 * 2 + LATENCY, "{cycles} cycles for 1000 small packets");
}

#[test]
fn a_small_packet_is_through_after_its_latency() {
    let cycles = run_pair(&pair::library(), 3, (0.0, 0.0), &stream(1, 20, 20, 12));
    assert_eq!(cycles, LATENCY + 2);
}
