//! Compares every packet, number and byte of random requests with plain Rust.

mod reference;
mod traffic;

use super::Segmenter;
use crate::send::{PAGES, packetizer::PART_ENDS};
use crate::testing;
use drdma_abi::roce::Transport;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use reference::Reference;
pub(crate) use reference::{Item, Packet};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
pub(crate) use traffic::{Chances, Traffic, stream};
use traffic::{Inputs, in_parts, requests};

/// Cycles from a beat to the packet that it completes.
const LATENCY: u64 = 5;

/// Reads the pages of packets as the packetizer does.
#[derive(Default)]
struct Reader {
    waiting: VecDeque<(u64, usize)>,
    row: usize,
    /// The cycle in which a row comes, and whether it is its page's first.
    due: VecDeque<(u64, bool)>,
    payloads: Vec<Vec<u8>>,
}

/// Runs a [`stream`]; gives the cycles in which parts were taken and items came.
fn timed(traffic: &Traffic) -> (Vec<u64>, Vec<u64>) {
    let mut bench = Bench::new(library().instance(1), 1);
    let reader = attach(&mut bench);
    let packet = bench.monitor("packet");
    let Inputs { payload, .. } = traffic.start(&mut bench, 0, 0.0);
    let expected = traffic.reference().items;
    bench.run_until_received(packet, expected.len());
    bench.run(100);
    let got = items(&bench.take(packet), &reader.borrow().payloads);
    compare(&got, &expected);
    (bench.sent_at(payload).to_vec(), bench.received_at(packet).to_vec())
}

#[test]
fn a_beat_is_taken_every_cycle_through_packet_cuts() {
    for (length, beat, log_mtu) in [(10_000, 60, 12), (5_000, 64, 8), (4_096, 63, 10)] {
        let traffic = stream(20, length, beat, log_mtu);
        let (taken, _) = timed(&traffic);
        let cycles = taken.last().unwrap() - taken[0] + 1;
        assert_eq!(cycles, traffic.beats.len() as u64, "beats of {beat} bytes, MTU 2^{log_mtu}");
    }
}

#[test]
fn small_messages_take_two_cycles_each() {
    let (taken, came) = timed(&stream(400, 20, 20, 10));
    assert_eq!(came[0] - taken[0], LATENCY, "latency");
    let cycles = came[399] - came[0];
    assert_eq!(cycles, 2 * 399);
}

/// Cycles for which nothing leaves.
const PAUSE: u64 = 50_000;

/// Packets of 64 B or of 4 KiB: while none leaves, all pages but the spare ones fill.
#[test]
fn every_page_is_filled_before_a_part_waits() {
    let library = library();
    for length in [64, 4096] {
        let traffic = stream(PAGES as usize + 64, length, 64, 12);
        let mut bench = Bench::new(library.instance(1), 1);
        let packet = bench.monitor("packet");
        bench.stall_monitor(packet, 1.0);
        let Inputs { payload, .. } = traffic.start(&mut bench, 0, 0.0);
        bench.run(PAUSE);
        let filled = bench.sent_at(payload).len() / (length / 64);
        assert!((PAGES as usize - 8..=PAGES as usize).contains(&filled), "{filled} pages");
    }
}

/// Requests of a packet each: 3 cycles, and one more for the item of a destination that is to be acknowledged.
#[test]
fn small_requests_take_three_cycles_each_or_four() {
    for (transport, cycles) in [(Transport::Uc, 3), (Transport::Rc, 4)] {
        let (_, came) = timed(&requests(400, 64, transport));
        let items = if transport == Transport::Rc { 3 } else { 2 };
        assert_eq!(came.len(), 400 * items);
        assert_eq!(came[399 * items] - came[0], cycles * 399, "{transport:?}");
    }
}

fn library() -> Library {
    testing::library("segmenter", Segmenter::default)
}

/// Attaches a reader, which reads all of the page of each packet, and gives the page back.
fn attach(bench: &mut Bench) -> Rc<RefCell<Reader>> {
    let reader = Rc::new(RefCell::new(Reader::default()));
    let state = Rc::clone(&reader);
    bench.before(move |model, cycle| {
        let mut reader = state.borrow_mut();
        model.set("page_free_valid", 0);
        model.set("page_read_enable", 0);
        model.set("page_read_address", cycle % (PAGES << 6));
        if let Some((page, bytes)) = reader.waiting.front().copied() {
            model.set("page_read_enable", 1);
            model.set("page_read_address", page << 6 | reader.row as u64);
            let first = reader.row == 0;
            reader.due.push_back((cycle + 2, first));
            reader.row += 1;
            if reader.row * 64 >= bytes {
                model.set("page_free_valid", 1);
                model.set("page_free_page", page);
                reader.waiting.pop_front();
                reader.row = 0;
            }
        }
    });
    let state = Rc::clone(&reader);
    bench.observe(move |model, cycle| {
        let mut reader = state.borrow_mut();
        if reader.due.front().is_some_and(|due| due.0 == cycle) {
            let (_, first) = reader.due.pop_front().expect("it is due");
            if first {
                reader.payloads.push(Vec::new());
            }
            let row = model.get_word("page_read_data").to_bytes(64);
            reader.payloads.last_mut().expect("a page has rows").extend(row);
        }
        if model.get("packet_valid") & model.get("packet_ready") & !model.get("packet_marker") == 1
        {
            let (page, bytes) = (model.get("packet_page"), model.get("packet_bytes"));
            reader.waiting.push_back((page, bytes as usize));
        }
    });
    reader
}

/// Items that have left the block, in the form of the reference.
fn items(beats: &[Beat], payloads: &[Vec<u8>]) -> Vec<Item> {
    let mut payloads = payloads.iter();
    let item = |beat: &Beat| match (beat.u64("marker"), beat.u64("kind")) {
        (0, _) => {
            let mut payload = payloads.next().expect("every packet's page was read").clone();
            payload.truncate(beat.u64("bytes") as usize);
            let imm = beat.u64("imm") as u32;
            let reth = (
                beat.u64("remote_addr"),
                beat.u64("rkey") as u32,
                beat.u64("message_bytes") as u32,
            );
            Item::Packet(Packet {
                payload,
                qp: beat.u64("qp") as usize,
                operation: beat.u64("operation") as u8,
                ack_req: beat.u64("ack_req") == 1,
                psn: beat.u64("psn") as u32,
                reth: (beat.u64("has_reth") == 1).then_some(reth),
                imm: (beat.u64("has_imm") == 1).then_some(imm),
                solicited: beat.u64("solicited") == 1,
                slot: beat.u64("slot"),
            })
        }
        (_, 0) => Item::Acknowledge {
            slot: beat.u64("slot"),
            qp: beat.u64("qp") as usize,
            psn: beat.u64("psn") as u32,
        },
        _ => Item::Ended {
            slot: beat.u64("slot"),
            status: beat.u64("status"),
            bad_dest: beat.u64("bad_dest"),
            total: beat.u64("total"),
            goes_on: beat.u64("kind") == PART_ENDS,
        },
    };
    beats.iter().map(item).collect()
}

pub(crate) fn compare(got: &[Item], expected: &[Item]) {
    for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
        if let (Item::Packet(a), Item::Packet(b)) = (got, expected) {
            let differs = a.payload.iter().zip(&b.payload).position(|(a, b)| a != b);
            assert_eq!(differs, None, "item {k}: payload of {} bytes", b.payload.len());
        }
        assert_eq!(got, expected, "item {k}");
    }
    assert_eq!(got.len(), expected.len());
}

fn run(library: &Library, seed: u64, stalls: (f64, f64), requests: u64, chances: Chances) {
    let mut random = Random::new(seed);
    run_traffic(library, seed, stalls, requests, &Traffic::random(&mut random, requests, chances));
}

fn run_traffic(library: &Library, seed: u64, stalls: (f64, f64), requests: u64, traffic: &Traffic) {
    let Reference { items: expected, failing, .. } = traffic.reference();
    let mut bench = Bench::new(library.instance(seed), seed);
    bench.limit(4_000_000);
    let released = Rc::new(RefCell::new(Vec::new()));
    let slots = Rc::clone(&released);
    bench.observe(move |model, _| {
        if model.get("release_valid") == 1 {
            slots.borrow_mut().push(model.get("release_slot"));
        }
    });
    let reader = attach(&mut bench);
    let (packet, errors) = (bench.monitor("packet"), bench.monitor("set_qp_error"));
    traffic.start(&mut bench, 0, 0.2);
    bench.stall(stalls);
    bench.run_until_received(packet, expected.len());
    bench.run(100_u64);
    bench.run_until(|_| reader.borrow().waiting.is_empty() && reader.borrow().due.is_empty());
    let got = items(&bench.take(packet), &reader.borrow().payloads);
    compare(&got, &expected);
    let errors: Vec<_> = bench.take(errors).iter().map(|e| e.u64("index") as usize).collect();
    assert_eq!(errors, failing, "queue pairs put in the error state");
    let slots: Vec<_> =
        traffic.beats.iter().filter(|beat| beat.request_end).map(|beat| beat.slot).collect();
    assert_eq!(*released.borrow(), slots, "slots of the requests that are released");
    assert_eq!(slots.len() as u64, requests);
}

const QUIET: Chances =
    Chances { dests: 4, error: 0.0, status: 0.0, qp_error: 0.0, gone: 0.0, queues: 256 };

#[test]
fn packets_are_those_of_the_reference_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        run(&library, seed, stalls, 40, QUIET);
    }
}

/// Packets of a card that does not send messages in parts.
fn of_whole_messages(seed: u64) -> Vec<Vec<Packet>> {
    packets_by_queue_pair(in_parts(&mut Random::new(seed), 1, 1_000_000).reference().items)
}

/// Packets of each queue pair, without what differs: the slots, and that the last packet of a part asks for an
/// acknowledgement.
fn packets_by_queue_pair(items: Vec<Item>) -> Vec<Vec<Packet>> {
    let mut packets = vec![Vec::new(); 12];
    for item in items {
        if let Item::Packet(packet) = item {
            packets[packet.qp].push(Packet { slot: 0, ack_req: false, ..packet });
        }
    }
    packets
}

#[test]
fn messages_in_parts_have_the_packets_of_whole_ones() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let traffic = in_parts(&mut random, 5, 3);
        let requests = traffic.dests.len() as u64;
        assert!((80..=256).contains(&requests), "{requests} requests");
        run_traffic(&library, seed, stalls, requests, &traffic);
    }
    // The first message is the same one, however it is cut.
    for seed in 1..50 {
        let parts = in_parts(&mut Random::new(seed), 1, 2).reference().items;
        assert_eq!(packets_by_queue_pair(parts)[0], of_whole_messages(seed)[0], "seed {seed}");
    }
}

/// A message whose queue pair was written anew, or lost one of its parts, does not go on; and nothing else begins in
/// the middle of one.
#[test]
fn a_part_that_does_not_go_on_where_its_queue_pair_stands_is_not_sent() {
    let library = library();
    for seed in 1..5 {
        let mut random = Random::new(seed);
        let mut traffic = in_parts(&mut random, 4, 2);
        let requests = traffic.dests.len() as u64;
        for part in &mut traffic.parts {
            if part.whole > 0 && random.chance(0.2) {
                part.resumes ^= true;
            }
            if part.whole > 0 && random.chance(0.1) {
                part.pauses ^= true;
            }
        }
        let reference = traffic.reference();
        let flushed =
            reference.items.iter().filter(|i| matches!(i, Item::Ended { status: 5, .. })).count();
        assert!(flushed > 10, "{flushed}");
        run_traffic(&library, seed, (0.1, 0.1), requests, &traffic);
    }
}

#[test]
fn many_destinations_have_open_messages() {
    let library = library();
    for seed in 1..4 {
        run(&library, seed, (0.0, 0.3), 4, Chances { dests: 256, ..QUIET });
    }
}

#[test]
fn failures_end_a_request_and_lose_no_page() {
    let library = library();
    for seed in 1..5 {
        let chances =
            Chances { dests: 16, error: 0.3, status: 0.3, qp_error: 0.2, gone: 0.1, queues: 256 };
        run(&library, seed, (0.1, 0.1), 60, chances);
    }
    // A page lost with every failure would stop this one.
    let chances =
        Chances { dests: 4, error: 0.3, status: 0.7, qp_error: 0.2, gone: 0.1, queues: 256 };
    run(&library, 5, (0.0, 0.0), 250, chances);
}

#[test]
fn a_request_of_a_queue_that_has_halted_sends_nothing_and_breaks_no_queue_pair() {
    let library = library();
    for seed in 1..7 {
        let chances =
            Chances { dests: 6, error: 0.1, status: 0.2, qp_error: 0.02, gone: 0.02, queues: 24 };
        run(&library, seed, (0.1, 0.1), 120, chances);
    }
}

#[test]
fn a_request_begins_only_while_its_queue_is_what_it_was_when_the_request_was_opened() {
    // Each request is refused for its destination: that breaks a queue pair, unless it is never begun.
    let mut traffic = stream(1, 10, 10, 8);
    traffic.queues = vec![9; 256];
    traffic.beats.clear();
    let mut bench = Bench::new(library().instance(1), 1);
    let _reader = attach(&mut bench);
    let errors = bench.monitor("set_qp_error");
    let Inputs { cfg, open, payload } = traffic.start(&mut bench, 0, 0.0);
    let refused = |slot: u64| {
        Beat::from([("slot", slot), ("dest", 7), ("status", 4), ("part_end", 1)])
            .with("request_end", 1)
            .with("dest_end", 1)
            .with("bytes", 0)
            .with("mask", 0)
            .with("error", 0)
            .with("message_start", 0)
            .with("message_end", 0)
    };
    let count = |bench: &mut Bench, slot| {
        bench.send(payload, refused(slot));
        bench.run_until(|b| b.pending(payload) == 0);
        bench.run(20);
        bench.take(errors).len()
    };
    assert_eq!(count(&mut bench, 1), 1);
    assert_eq!(count(&mut bench, 2), 0, "its queue has halted");
    let enable = Beat::from([("table", 2), ("index", 9), ("word", 7), ("data", 1)]);
    bench.send(cfg, enable.clone());
    bench.run(4);
    assert_eq!(count(&mut bench, 3), 0, "opened before the queue was enabled anew");
    bench.send(open, Beat::from([("slot", 4), ("queue", 9)]));
    bench.run(4);
    assert_eq!(count(&mut bench, 4), 1, "the one before does not halt the queue as it is now");
    bench.send(open, Beat::from([("slot", 5), ("queue", 8)]));
    bench.run(4);
    assert_eq!(count(&mut bench, 5), 1, "another queue");
}
