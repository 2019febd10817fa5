//! Throughput in cycles, and how often a byte is fetched.
//!
//! The pipeline is measured behind links that are faster than it: a PCIe link of 300 Gb/s with a short
//! round trip and many tags, and a wire of 200 Gb/s. The figures with the links of a U50 are printed
//! (`cargo test -p drdma-sim throughput -- --nocapture`).

use super::*;
use crate::cards::rig::{send, to};
use drdma_abi::{
    register::{COUNTER_CLEAR, Counter, counter},
    roce::Transport,
};
use drdma_driver::{Card as _, DmaMemory};
use drdma_semantics::{
    region::{Column, Extent, Region, RowMask},
    request::{Destination, Request},
};
use drdma_soft::wire::PeerConfig;
use drdma_verilated::testbench::Random;

const TABLE: u64 = 0x1_0000_0000;
const TABLE_BYTES: usize = 3 << 20;
const BITMAPS: u64 = 0x2_0000_0000;
const BITMAP_BYTES: u64 = 0x1000;
const KEY: u32 = 3;

pub(super) fn fast() -> pcie::Config {
    pcie::Config {
        tags: 256,
        bytes_in_flight: 64 << 10,
        latency_ns: 200,
        link_gbps: 300.0,
        ..pcie::Config::default()
    }
}

struct Bench {
    rig: Rig<RtlCard>,
    bitmaps: DmaMemory,
}

/// A card with a table, bitmaps of ones, and UC queue pairs of MTU 4096 on shared queue 0, one a destination.
fn bench(pcie: pcie::Config, wire_gbps: f64, destinations: u32) -> Bench {
    let mut rig = rig(pcie, 8);
    rig.card.mac().set_rate(wire_gbps);
    let table = DmaMemory::new(TABLE_BYTES).unwrap();
    table.write(0, &Random::new(5).bytes(TABLE_BYTES));
    let bitmaps = DmaMemory::new(16 * BITMAP_BYTES as usize).unwrap();
    bitmaps.write(0, &vec![0xff; bitmaps.len()]);
    rig.card.map(TABLE, &table).unwrap();
    rig.card.map(BITMAPS, &bitmaps).unwrap();
    rig.add_region(KEY, TABLE, TABLE_BYTES as u64);
    rig.add_region(KEY + 1, BITMAPS, bitmaps.len() as u64);
    rig.add_queue(0, None);
    for index in 0..destinations {
        let peer = PeerConfig {
            mtu: 4096,
            keep_messages: false,
            ..PeerConfig::new(Transport::Uc, 2, 3, 0x100 + index, 0x200 + index)
        };
        rig.add_queue_pair_to(index, 0, peer);
    }
    Bench { rig, bitmaps }
}

/// Costs of a request.
#[derive(Debug)]
struct Cost {
    cycles: u64,
    payload: u64,
    read: u64,
}

impl Bench {
    /// Runs a request to its completion.
    fn run(&mut self, destinations: Vec<Destination>) -> Cost {
        let rig = &mut self.rig;
        let several = destinations.iter().any(|destination| destination.regions.len() > 1);
        let row_mask = if several { RowMask::Element } else { RowMask::Period };
        let request = Request { rows_per_message: u32::MAX, row_mask, ..send(1, destinations) };
        rig.write_request(0, &request);
        rig.set(&COUNTER_CLEAR, 1);
        rig.ring(0);
        rig.wait_for_completion();
        let cycles = rig.count(&counter::CYCLES);
        let completion = rig.poll()[0];
        assert_eq!(completion.status, 0);
        let mut count = |counter: &Counter| rig.count(counter);
        let payload = count(&counter::PAYLOAD_BYTES);
        assert_eq!(completion.bytes, payload);
        let read = count(&counter::DATA_READ_BYTES);
        assert_eq!(rig.network.errors(), []);
        Cost { cycles, payload, read }
    }

    /// Cycles of each further row: the difference between many rows and few.
    fn slope(&mut self, name: &str, rows: u32, regions: impl Fn(u32) -> Vec<Region>) -> f64 {
        let few = self.run(vec![to(0, regions(rows))]);
        let many = self.run(vec![to(0, regions(3 * rows))]);
        let (cycles, bytes) =
            ((many.cycles - few.cycles) as f64, (many.payload - few.payload) as f64);
        let per_row = cycles / f64::from(2 * rows);
        println!(
            "{name}: {per_row:.3} cycles a row, {:.1} B a cycle, {:.1} Gb/s; {} rows in {} cycles",
            bytes / cycles,
            bytes / cycles * 2.0,
            rows,
            few.cycles
        );
        per_row
    }
}

/// Rows of five extents of 4 B, 32 B apart.
fn strided_20(rows: u32) -> Vec<Region> {
    let pattern = [0, 8, 12, 20, 28].map(|offset| Extent { offset, len: 4 }).to_vec();
    vec![Region::Strided { base: TABLE, period: 32, count: rows, lkey: KEY, pattern }]
}

/// Rows of 64 B, a beat each.
fn strided_64(rows: u32) -> Vec<Region> {
    let pattern = vec![Extent { offset: 0, len: 64 }];
    vec![Region::Strided { base: TABLE, period: 64, count: rows, lkey: KEY, pattern }]
}

/// Five columns of 4 B.
fn dense(bitmap: u64, rows: u32) -> Vec<Region> {
    let columns = (0..5)
        .map(|c| Column { base: TABLE + c * 4 * u64::from(rows), width: 4, lkey: KEY })
        .collect();
    vec![Region::Bitmapped { bitmap, rows, lkey: KEY + 1, columns, fetch_rows: None }]
}

fn contiguous(kib: u32) -> Vec<Region> {
    vec![Region::Contiguous { addr: TABLE, len: kib << 10, lkey: KEY }]
}

/// Every other value of five columns of 4 B, a region each.
fn columns(rows: u32) -> Vec<Region> {
    let column = |c: u64| Region::Strided {
        base: TABLE + c * 8 * u64::from(rows),
        period: 8,
        count: rows,
        lkey: KEY,
        pattern: vec![Extent { offset: 0, len: 4 }],
    };
    (0..5).map(column).collect()
}

#[test]
fn short_rows_take_a_cycle_or_less_and_long_runs_62_bytes_a_cycle() {
    let mut bench = bench(fast(), 200.0, 1);
    let strided = bench.slope("strided, 5 x 4 B", 4096, strided_20);
    // 32 B are fetched for a row of 20 B, which is half of what the memory takes in a cycle.
    assert!(strided <= 0.55, "{strided}");
    // A completion is found up to 16 cycles late: many rows, for a bound that is exact to a thousandth.
    let wide = bench.slope("strided, 64 B", 16_384, strided_64);
    // 64 rows a packet, whose 4,154 B take 65 cycles to the MAC's 64 B a cycle.
    assert!(wide <= 65.0 / 64.0 + 0.001, "{wide}");
    let bitmapped = bench.slope("bitmapped, 5 x 4 B", 4096, |rows| dense(BITMAPS, rows));
    // Columns: three rows and a fifth in 64 B.
    assert!(bitmapped <= 0.35, "{bitmapped}");
    let shuffled = bench.slope("row mask Element, 5 regions of 4 B", 2048, columns);
    // Gaps of 4 B are read through: 40 B are fetched for a row of 20.
    assert!(shuffled <= 0.65, "{shuffled}");
    let kib = bench.slope("contiguous, 1 KiB", 128, contiguous);
    assert!(kib <= 1024.0 / 62.0, "{kib}");
}

#[test]
fn with_the_links_of_a_u50_short_rows_keep_pace_too() {
    let mut bench = bench(pcie::Config::default(), 100.0, 1);
    let strided = bench.slope("U50: strided, 5 x 4 B", 4096, strided_20);
    let wide = bench.slope("U50: strided, 64 B", 4096, strided_64);
    let bitmapped = bench.slope("U50: bitmapped, 5 x 4 B", 4096, |rows| dense(BITMAPS, rows));
    let kib = bench.slope("U50: contiguous, 1 KiB", 128, contiguous);
    for (found, bound) in [(strided, 0.7), (wide, 1.4), (bitmapped, 0.45), (kib, 22.0)] {
        assert!(found <= bound, "{found} > {bound}");
    }
}

#[test]
fn a_shuffle_fetches_each_byte_once_for_all_destinations() {
    let rows = 16_384_u32;
    for (destinations, cycles_a_row) in [(4, 0.55), (16, 0.85)] {
        let mut bench = bench(fast(), 100.0, destinations);
        // Every row to one destination, at random.
        let mut random = Random::new(destinations.into());
        let mut bits = vec![vec![0_u8; rows as usize / 8]; destinations as usize];
        for row in 0..rows as usize {
            bits[random.below(destinations.into()) as usize][row / 8] |= 1 << (row % 8);
        }
        for (index, bits) in bits.iter().enumerate() {
            bench.bitmaps.write(index * BITMAP_BYTES as usize, bits);
        }
        let list = (0..destinations)
            .map(|index| to(index, dense(BITMAPS + u64::from(index) * BITMAP_BYTES, rows)))
            .collect();
        let cost = bench.run(list);
        let table = u64::from(rows) * 20;
        let cycles = cost.cycles as f64 / f64::from(rows);
        println!(
            "shuffle to {destinations}: {} B read of {table} B, {cycles:.2} cycles a row",
            cost.read
        );
        assert_eq!((cost.payload, cost.read), (table, table), "{cost:?}");
        assert!(cycles <= cycles_a_row, "{cycles} cycles a row");
    }
}

/// Lists of five values, a request each: cycles a request behind fast links and behind those of a
/// U50. Neighbours share cache lines, and gain where they share a read.
#[test]
fn a_list_of_five_values_takes_less_than_thirty_cycles() {
    for (name, pcie) in [("fast links", fast()), ("U50", pcie::Config::default())] {
        let mut bench = bench(pcie, 200.0, 1);
        let mut cost = |requests: u64| {
            let rig = &mut bench.rig;
            for row in 0..requests {
                let value = |c: u64| Region::Contiguous {
                    addr: TABLE + 0x8000 * c + 4 * row,
                    len: 4,
                    lkey: KEY,
                };
                let to = vec![to(0, (0..5).map(value).collect())];
                rig.write_request(0, &Request { row_mask: RowMask::Element, ..send(row, to) });
            }
            rig.set(&COUNTER_CLEAR, 1);
            rig.ring(0);
            let mut done = 0;
            while done < requests {
                rig.wait_for_completion();
                done +=
                    rig.poll().iter().filter(|completion| completion.status == 0).count() as u64;
            }
            rig.count(&counter::CYCLES) as f64
        };
        let each = (cost(20) - cost(4)) / 16.0;
        println!("{name}: a list of five values in {each:.1} cycles");
        assert!(each < 30.0, "{each}");
    }
}
