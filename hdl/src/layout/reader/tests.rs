//! The reader against a DMA engine that answers late, out of order and sometimes with an error.

use super::Reader;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use std::collections::BTreeSet;

/// Windows that may be in use.
const WINDOWS: u64 = 16;

const DESC: &str = "m_axis_data_dma_read_desc";
const STATUS: &str = "s_axis_data_dma_read_desc_status";

fn library() -> Library {
    testing::library("reader", Reader::default)
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    window: u64,
    ram: u64,
    len: u64,
}

/// The boxes of window `number`: some reads, and the end of the window on the last one or alone.
fn boxes(random: &mut Random, number: u64, most: u64) -> Vec<Beat> {
    let mut boxes = Vec::new();
    let make = |random: &mut Random, len: u64, end: bool| {
        Beat::new()
            .with("addr", random.u64())
            .with("ram", random.below(131_072))
            .with("len", len)
            .with("window", number % WINDOWS)
            .with("window_end", end)
    };
    let reads = random.below(most + 1);
    let alone = reads == 0 || random.chance(0.3);
    for k in 0..reads {
        let len = 4 * (1 + random.below(1024));
        boxes.push(make(random, len, !alone && k + 1 == reads));
    }
    if alone {
        boxes.push(make(random, 0, true));
    }
    boxes
}

#[test]
fn windows_are_ready_in_order_after_their_data_and_errors() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS.into_iter().chain(STALLS)) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let (input, desc) = (bench.driver("reads"), bench.monitor(DESC));
        let (ready, error) = (bench.monitor("window_ready"), bench.monitor("read_error"));
        bench.stall(stalls);
        let windows: Vec<_> = (0..60).map(|n| boxes(&mut random, n, 40)).collect();
        let reads: Vec<_> =
            windows.iter().flatten().filter(|b| b.u64("len") > 0).cloned().collect();
        let failures = if random.chance(0.5) { 0.1 } else { 0.0 };

        let mut started = 0;
        let (mut issued, mut in_flight) = (0, Vec::new());
        // Reads of each window that have not ended, and ranges that were not given.
        let mut open: Vec<_> =
            windows.iter().map(|w| w.iter().filter(|b| b.u64("len") > 0).count()).collect();
        let mut failed: BTreeSet<(u64, Range)> = BTreeSet::new();
        let (mut done, mut counted, mut bytes) = (0_u64, 0, 0);
        while done < 60 {
            while started < 60 && started < done + WINDOWS {
                bench.send_all(input, windows[started as usize].clone());
                started += 1;
            }
            bench.set(format!("{STATUS}_valid"), 0);
            if !in_flight.is_empty() && random.chance(0.6) {
                let which = random.below(in_flight.len() as u64) as usize;
                let (tag, window, range): (u64, u64, Range) = in_flight.swap_remove(which);
                let status = if random.chance(failures) { 1 + random.below(15) } else { 0 };
                bench.set(format!("{STATUS}_valid"), 1);
                bench.set(format!("{STATUS}_tag"), tag);
                bench.set(format!("{STATUS}_error"), status);
                open[window as usize] -= 1;
                if status != 0 {
                    failed.insert((window, range));
                }
            }
            bench.step();
            counted += bench.get("count_reads");
            bytes += bench.get("count_bytes");
            for got in bench.take(error) {
                let range =
                    Range { window: got.u64("window"), ram: got.u64("ram"), len: got.u64("len") };
                let known = failed.iter().find(|(_, r)| *r == range).cloned();
                failed.remove(&known.expect("the range of a read that failed"));
            }
            for got in bench.take(ready) {
                assert_eq!(got.u64("window"), done % WINDOWS, "windows in order");
                assert_eq!(open[done as usize], 0, "window {done} has all its data");
                assert!(failed.iter().all(|(w, _)| *w != done), "an error of {done} comes late");
                done += 1;
            }
            for got in bench.take(desc) {
                let read = &reads[issued];
                issued += 1;
                for (field, expected) in [
                    ("dma_addr", read.u64("addr")),
                    ("ram_sel", 0),
                    ("ram_addr", read.u64("ram")),
                    ("len", read.u64("len")),
                ] {
                    assert_eq!(got.u64(field), expected, "{field}");
                }
                let tag = got.u64("tag");
                assert!(tag < 256 && in_flight.iter().all(|r| r.0 != tag), "tag {tag}");
                let window = (done..started).find(|n| n % WINDOWS == read.u64("window"));
                let range = Range {
                    window: read.u64("window"),
                    ram: read.u64("ram"),
                    len: read.u64("len"),
                };
                in_flight.push((tag, window.expect("a window that is open"), range));
            }
        }
        assert_eq!(issued, reads.len());
        assert_eq!(counted, reads.len() as u64);
        assert_eq!(bytes, reads.iter().map(|b| b.u64("len")).sum::<u64>());
        assert!(failed.is_empty());
    }
}

#[test]
fn a_read_a_cycle_and_256_in_flight() {
    let library = library();
    let mut random = Random::new(1);
    let mut bench = Bench::new(library.instance(1), 1);
    let (input, desc, ready) =
        (bench.driver("reads"), bench.monitor(DESC), bench.monitor("window_ready"));
    let one = |random: &mut Random, end: bool| {
        Beat::new().with("addr", random.u64()).with("len", 4).with("window_end", end)
    };
    bench.send_all(input, (0..300).map(|k| one(&mut random, k == 299)));
    bench.run(400);
    let at = bench.received_at(desc).to_vec();
    assert_eq!(at.len(), 256, "as many reads as tags");
    assert_eq!(at[0] - bench.sent_at(input)[0], 1, "cycles from a box to its read");
    assert_eq!(at[255] - at[0], 255, "one a cycle");
    // Statuses at one a cycle keep the reads at one a cycle.
    bench.set(format!("{STATUS}_valid"), 1);
    for tag in 0..256_u64 {
        bench.set(format!("{STATUS}_tag"), tag);
        bench.step();
    }
    for tag in 0..44_u64 {
        assert!(bench.received(ready).is_empty());
        bench.set(format!("{STATUS}_tag"), tag);
        bench.step();
    }
    bench.set(format!("{STATUS}_valid"), 0);
    let last = bench.cycles() - 1;
    bench.run_until_received(ready, 1);
    let at = bench.received_at(desc);
    assert_eq!(at.len(), 300);
    assert_eq!(at[299] - at[256], 43, "one a cycle as tags come back");
    let latency = bench.received_at(ready)[0] - last;
    assert!(latency <= 1, "{latency} cycles from the last status to the window");
}

/// A soft reset does not reach the DMA engine: reads that it was asked for before still end after.
#[test]
fn reads_from_before_a_reset_end_without_a_trace() {
    let library = library();
    let mut bench = Bench::new(library.instance(1), 1);
    let (input, desc) = (bench.driver("reads"), bench.monitor(DESC));
    let (ready, error) = (bench.monitor("window_ready"), bench.monitor("read_error"));
    let window = |reads: u64, window: u64| {
        let read = move |k| Beat::new().with("len", 4).with("window", window).with("window_end", k);
        (0..reads).map(move |k| read(k + 1 == reads))
    };
    let end = |bench: &mut Bench, tag: u64, status: u64| {
        bench.set(format!("{STATUS}_valid"), 1);
        bench.set(format!("{STATUS}_tag"), tag);
        bench.set(format!("{STATUS}_error"), status);
        bench.step();
        bench.set(format!("{STATUS}_valid"), 0);
    };
    bench.send_all(input, window(200, 0));
    bench.run_until_received(desc, 200);
    bench.reset();
    bench.take(desc);
    (0..200).for_each(|tag| end(&mut bench, tag, tag % 2));
    bench.run(10);
    assert!(bench.take(error).is_empty(), "nobody waits for these reads");

    // 256 tags, each once, and a window is ready when all of them have come.
    bench.send_all(input, window(256, 0));
    bench.run_until_received(desc, 256);
    let tags: Vec<u64> = bench.take(desc).iter().map(|read| read.u64("tag")).collect();
    assert_eq!(tags.iter().collect::<BTreeSet<_>>().len(), 256);
    for (k, tag) in tags.iter().enumerate() {
        assert!(bench.take(ready).is_empty(), "after {k} of 256 reads");
        end(&mut bench, *tag, 0);
    }
    bench.run_until_received(ready, 1);
    bench.send_all(input, window(256, 1));
    bench.run_until_received(desc, 256);
}
