//! Against host memory and a DMA engine that does everything that is allowed.

use super::HostRead;
use super::dma_engine::{DmaEngine, Host, Manners};
use crate::testing;
use drdma_verilated::testbench::{Beat, Bench, MonitorId, Random, STALLS};
use std::rc::Rc;

/// Reads that touch this range fail.
const BROKEN: std::ops::Range<u64> = 0x40_0000..0x40_1000;

fn byte_at(addr: u64) -> u8 {
    (addr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn host() -> Host {
    Rc::new(|addr| (!BROKEN.contains(&addr)).then(|| byte_at(addr)))
}

#[derive(Clone, Copy, Debug)]
struct Request {
    addr: u64,
    bytes: u64,
}

impl Request {
    fn any(random: &mut Random) -> Self {
        let bytes = match random.below(6) {
            0 => 1 + random.below(4096),
            1 => 4096,
            2 => 64 * (1 + random.below(16)),
            _ => 1 + random.below(128),
        };
        let addr = match random.below(8) {
            0 => BROKEN.start.wrapping_sub(64) + random.below(4200),
            1 => u64::MAX - 5000 + random.below(900),
            2 => 0x7_0000_0000 + 64 * random.below(1000),
            _ => 0x7_0000_0000 + random.below(100_000),
        };
        Self { addr, bytes }
    }

    fn beat(self) -> Beat {
        Beat::from([("addr", self.addr), ("bytes", self.bytes)])
    }

    fn fails(self) -> bool {
        self.addr < BROKEN.end && self.addr + self.bytes > BROKEN.start
    }
}

/// Expected beats: the bytes (none if the read fails), and whether the beat is the last one.
fn expected(requests: &[Request]) -> Vec<(Option<Vec<u8>>, bool)> {
    let mut beats = Vec::new();
    for request in requests {
        let all: Vec<u8> = (0..request.bytes).map(|i| byte_at(request.addr + i)).collect();
        let chunks: Vec<_> = all.chunks(64).collect();
        for (i, chunk) in chunks.iter().enumerate() {
            let bytes = (!request.fails()).then(|| chunk.to_vec());
            beats.push((bytes, i + 1 == chunks.len()));
        }
    }
    beats
}

fn check(bench: &Bench<'_>, monitor: MonitorId, requests: &[Request], name: &str) {
    let received = bench.received(monitor);
    let expected = expected(requests);
    assert_eq!(received.len(), expected.len(), "beats of client {name}");
    for (i, (beat, (bytes, last))) in received.iter().zip(&expected).enumerate() {
        assert_eq!(beat.u64("last") == 1, *last, "client {name}, beat {i}");
        assert_eq!(beat.u64("error") == 1, bytes.is_none(), "client {name}, beat {i}");
        if let Some(bytes) = bytes {
            assert_eq!(beat.get("data").to_bytes(bytes.len()), *bytes, "client {name}, beat {i}");
        }
    }
}

fn library() -> drdma_verilated::Library {
    testing::library("host_read", HostRead::default)
}

#[test]
fn all_clients_get_their_bytes_in_the_order_of_their_requests() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS.into_iter().chain(STALLS)) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(400_000);
        let manners = Manners::any(&mut random);
        let count = if manners.piece == 1 { 30 } else { 200 };
        let engine = DmaEngine::attach(&mut bench, host(), manners, seed);
        let clients = ["a", "b", "c", "d"].map(|name| {
            let driver = bench.driver(&format!("{name}_req"));
            let monitor = bench.monitor(&format!("{name}_resp"));
            let requests: Vec<_> = (0..count).map(|_| Request::any(&mut random)).collect();
            bench.send_all(driver, requests.iter().map(|request| request.beat()));
            (name, monitor, requests)
        });
        bench.stall(stalls);
        let counted = Rc::new(std::cell::Cell::new((0, 0)));
        let sum = Rc::clone(&counted);
        bench.observe(move |model, _| {
            let (reads, bytes) = sum.get();
            sum.set((reads + model.get("count_reads"), bytes + model.get("count_bytes")));
        });
        for (_, monitor, requests) in &clients {
            let beats = expected(requests).len();
            bench.run_until(|bench| bench.received(*monitor).len() >= beats);
        }
        bench.run(50);
        for (name, monitor, requests) in &clients {
            check(&bench, *monitor, requests, name);
        }
        let issued = &engine.borrow().issued;
        let bytes = issued.iter().map(|read| read.len).sum::<u64>();
        assert_eq!(counted.get(), (issued.len() as u64, bytes));
    }
}

#[test]
fn a_client_that_takes_nothing_does_not_stop_the_other() {
    let library = library();
    let mut bench = Bench::new(library.instance(1), 1);
    let _engine = DmaEngine::attach(&mut bench, host(), Manners::BEST, 1);
    let (a, b) = (bench.driver("a_req"), bench.driver("b_req"));
    let (of_a, of_b) = (bench.monitor("a_resp"), bench.monitor("b_resp"));
    let requests: Vec<_> =
        (0..200).map(|i| Request { addr: 0x9000_0000 + 1024 * i, bytes: 1024 }).collect();
    bench.send_all(a, requests.iter().map(|request| request.beat()));
    bench.send_all(b, requests.iter().map(|request| request.beat()));
    bench.stall_monitor(of_a, 1.0);
    bench.run_until(|bench| bench.received(of_b).len() == 16 * requests.len());
    check(&bench, of_b, &requests, "b");
    bench.stall_monitor(of_a, 0.0);
    bench.run_until(|bench| bench.received(of_a).len() == 16 * requests.len());
    check(&bench, of_a, &requests, "a");
}

#[test]
fn reads_of_a_kilobyte_come_at_a_beat_per_cycle_and_fill_the_ring() {
    let library = library();
    let mut bench = Bench::new(library.instance(1), 1);
    let engine = DmaEngine::attach(&mut bench, host(), Manners::BEST, 1);
    let (driver, monitor) = (bench.driver("a_req"), bench.monitor("a_resp"));
    let requests: Vec<_> =
        (0..200).map(|i| Request { addr: 0x9000_0000 + 1024 * i, bytes: 1024 }).collect();
    bench.send_all(driver, requests.iter().map(|request| request.beat()));
    bench.run_until_received(monitor, 3200);
    check(&bench, monitor, &requests, "a");
    let at = bench.received_at(monitor);
    let (first, last) = (at[0], at[at.len() - 1]);
    // 250 cycles of the engine's latency, 32 KiB in flight: 512 beats per 512 cycles.
    assert!(last - first < 3300, "3,200 beats in {} cycles", last - first);
    assert!(first <= 285, "the first beat came after {first} cycles");
    let most = engine.borrow().most_in_flight;
    assert!(most >= 17, "{most} reads were in flight");
}

#[test]
fn short_reads_are_in_flight_by_the_dozen() {
    let library = library();
    let mut bench = Bench::new(library.instance(1), 1);
    let slow = Manners { latency: 400, ..Manners::BEST };
    let engine = DmaEngine::attach(&mut bench, host(), slow, 1);
    let (a, b) = (bench.driver("a_req"), bench.driver("b_req"));
    let (of_a, of_b) = (bench.monitor("a_resp"), bench.monitor("b_resp"));
    let requests: Vec<_> =
        (0..400).map(|i| Request { addr: 0x9000_0000 + 64 * i, bytes: 64 }).collect();
    bench.send_all(a, requests.iter().map(|request| request.beat()));
    bench.send_all(b, requests.iter().map(|request| request.beat()));
    bench.run_until(|bench| bench.received(of_a).len() == 400 && bench.received(of_b).len() == 400);
    check(&bench, of_a, &requests, "a");
    check(&bench, of_b, &requests, "b");
    let engine = engine.borrow();
    assert_eq!(engine.most_in_flight, 128, "64 reads a client");
    // The engine takes a descriptor every other cycle.
    let gaps = engine.issued[..100].windows(2).map(|pair| pair[1].cycle - pair[0].cycle);
    assert_eq!(gaps.max(), Some(2));
}

#[test]
fn a_read_is_issued_after_2_cycles_and_answered_4_cycles_after_its_status() {
    let library = library();
    let mut bench = Bench::new(library.instance(1), 1);
    let engine = DmaEngine::attach(&mut bench, host(), Manners::BEST, 1);
    let (driver, monitor) = (bench.driver("b_req"), bench.monitor("b_resp"));
    let status = Rc::new(std::cell::Cell::new(0));
    let seen = Rc::clone(&status);
    bench.observe(move |model, cycle| {
        if model.get("s_axis_ctrl_dma_read_desc_status_valid") == 1 {
            seen.set(cycle);
        }
    });
    bench.send(driver, Request { addr: 0x9000_0001, bytes: 64 }.beat());
    bench.run_until_received(monitor, 1);
    assert_eq!(engine.borrow().issued[0].cycle - bench.sent_at(driver)[0], 2);
    assert_eq!(bench.received_at(monitor)[0] - status.get(), 4);
}

#[test]
fn a_reset_loses_no_done_pulse() {
    let mut model = library().instance(1);
    for cycle in 0..6 {
        model.set("rst", u64::from((2..4).contains(&cycle)));
        model.set("ctrl_dma_ram_wr_cmd_valid", 3);
        model.cycle();
        model.settle();
        assert_eq!(model.get("ctrl_dma_ram_wr_done"), 3);
        assert_eq!(model.get("ctrl_dma_ram_wr_cmd_ready"), 3);
    }
}

#[test]
fn a_read_that_begins_within_a_line_goes_on_at_a_multiple_of_512_bytes() {
    let library = library();
    let mut bench = Bench::new(library.instance(1), 1);
    let engine = DmaEngine::attach(&mut bench, host(), Manners::BEST, 1);
    let (driver, monitor) = (bench.driver("d_req"), bench.monitor("d_resp"));
    let requests = [
        // First byte, bytes, and the bytes of the first of two reads.
        (0x9000_0001, 4096, Some(511)),
        (0x9000_11ff, 2, None),
        (0x9000_11ff, 513, Some(1)),
        (0x9000_1101, 512, None),
        (0x9000_2201, 511, None),
        (0x9000_3240, 4096, None),
        (0x9000_43c1, 64, None),
        (u64::MAX - 600, 600, Some(89)),
    ];
    let all = requests.map(|(addr, bytes, _)| Request { addr, bytes });
    bench.send_all(driver, all.map(Request::beat));
    bench.run_until(|bench| bench.received(monitor).len() == expected(&all).len());
    check(&bench, monitor, &all, "d");
    let expected = requests.into_iter().flat_map(|(addr, bytes, first)| {
        let first = first.unwrap_or(bytes);
        [(addr, first), (addr.wrapping_add(first), bytes - first)]
    });
    let issued =
        engine.borrow().issued.iter().map(|read| (read.addr, read.len)).collect::<Vec<_>>();
    assert_eq!(issued, expected.filter(|(_, bytes)| *bytes > 0).collect::<Vec<_>>());
}

#[test]
fn reads_that_begin_within_lines_come_at_a_beat_per_cycle() {
    let library = library();
    let mut bench = Bench::new(library.instance(1), 1);
    let _engine = DmaEngine::attach(&mut bench, host(), Manners::BEST, 1);
    let (driver, monitor) = (bench.driver("a_req"), bench.monitor("a_resp"));
    let requests: Vec<_> =
        (0..100).map(|i| Request { addr: 0x9000_0003 + 4096 * i, bytes: 4096 }).collect();
    bench.send_all(driver, requests.iter().map(|request| request.beat()));
    bench.run_until_received(monitor, 6400);
    check(&bench, monitor, &requests, "a");
    let at = bench.received_at(monitor);
    let (first, last) = (at[0], at[at.len() - 1]);
    assert!(last - first < 6600, "6,400 beats in {} cycles", last - first);
}
