//! Compares what is read with what the semantics say, for regions of every type and any part of their bytes.

mod columns;
mod selected;

use super::*;
use crate::context::testing::clear_tables;
use crate::context::{QUEUE_PAIR_TABLE, REGION_TABLE};
use crate::regions::testing::*;
use crate::testing;
use drdma_abi::receive::rights;
use drdma_semantics::described::{Unreachable, encode, fragments};
use drdma_semantics::memory::{HostMemory, Segments};
use drdma_semantics::region::{Column, Extent, Region};
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use std::collections::VecDeque;

fn library() -> Library {
    testing::library("described", Described::default)
}

/// The block, and a host that reads.
struct Around<'a> {
    bench: Bench<'a>,
    read: DriverId,
    beat: DriverId,
    fetch: MonitorId,
    out: MonitorId,
    memory: Vec<u8>,
    latency: u64,
    under_way: VecDeque<(u64, Vec<Beat>)>,
    /// Reads that were made: address, bytes.
    fetched: Vec<(u64, u64)>,
    /// For each packet: its bytes, or with an error whether the region ends before them.
    came: Vec<Result<Vec<u8>, bool>>,
    coming: Vec<u8>,
}

impl<'a> Around<'a> {
    fn new(library: &'a Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(20_000_000);
        bench.set("word_valid", 0_u64);
        clear_tables(&mut bench);
        let [read, beat] = ["read", "beat"].map(|base| bench.driver(base));
        let (fetch, out) = (bench.monitor("fetch"), bench.monitor("out"));
        bench.stall(stalls);
        let memory = Random::new(seed).bytes(SIZE as usize);
        let (under_way, latency) = (VecDeque::new(), 1 + seed * 40 % 300);
        let (fetched, came, coming) = (Vec::new(), Vec::new(), Vec::new());
        let mut around = Self {
            bench,
            read,
            beat,
            fetch,
            out,
            memory,
            latency,
            under_way,
            fetched,
            came,
            coming,
        };
        for entry in entries() {
            for (word, bytes) in entry.to_bytes().chunks(4).enumerate() {
                let data = u32::from_le_bytes(bytes.try_into().unwrap());
                around.config(REGION_TABLE, u64::from(entry.lkey) & 0xfff, word as u64, data);
            }
        }
        around
    }

    fn config(&mut self, table: u64, index: u64, word: u64, data: u32) {
        let ports = [("table", table), ("index", index), ("word", word), ("data", data.into())];
        for (port, value) in ports {
            self.bench.set(format!("cfg_{port}"), value);
        }
        self.bench.set("cfg_valid", 1_u64);
        self.step();
        self.bench.set("cfg_valid", 0_u64);
    }

    /// The host writes a region's entry, the last word last.
    fn describe(&mut self, at: u64, entry: &[u8]) {
        for (word, bytes) in entry.chunks(4).enumerate() {
            let data = u32::from_le_bytes(bytes.try_into().unwrap());
            for (port, value) in [("region", at), ("word", word as u64), ("data", data.into())] {
                self.bench.set(format!("word_{port}"), value);
            }
            self.bench.set("word_valid", 1_u64);
            self.step();
        }
        self.bench.set("word_valid", 0_u64);
    }

    fn step(&mut self) {
        self.bench.step();
        let cycle = self.bench.cycles();
        for read in self.bench.take(self.fetch) {
            let (addr, bytes) = (read.u64("addr"), read.u64("bytes"));
            self.fetched.push((addr, bytes));
            self.under_way.push_back((cycle + self.latency, self.beats(addr, bytes)));
        }
        while self.under_way.front().is_some_and(|(due, _)| *due <= cycle) {
            let (_, beats) = self.under_way.pop_front().unwrap();
            self.bench.send_all(self.beat, beats);
        }
        for beat in self.bench.take(self.out) {
            self.coming.extend(beat.get("data").to_bytes(64));
            if beat.u64("last") == 1 {
                let bytes = std::mem::take(&mut self.coming);
                self.came.push(match beat.u64("error") {
                    0 => Ok(bytes),
                    _ => Err(beat.u64("outside") == 1),
                });
            }
        }
    }

    fn beats(&self, addr: u64, bytes: u64) -> Vec<Beat> {
        assert!((1..=4096).contains(&bytes), "a read of {bytes} B");
        let mut data = vec![0; bytes as usize];
        let error = self.host().read(addr, &mut data).is_err();
        let count = data.len().div_ceil(64);
        data.chunks(64)
            .enumerate()
            .map(|(k, chunk)| {
                let mut chunk = chunk.to_vec();
                chunk.resize(64, 0xee);
                Beat::from([("last", u64::from(k + 1 == count)), ("error", error.into())])
                    .with("data", Word::from_bytes(&chunk))
            })
            .collect()
    }

    fn host(&self) -> Segments {
        Segments::new().with(BASE, self.memory.clone())
    }

    /// Asks for the packets of a READ; `described` names a region.
    fn ask(&mut self, described: Option<u64>, (addr, bytes): (u64, u64), first: bool) {
        let beat = Beat::from([
            ("addr", addr),
            ("bytes", bytes),
            ("described", described.is_some().into()),
            ("region", described.unwrap_or(0)),
            ("pd", PD.into()),
            ("first", first.into()),
        ]);
        self.bench.send(self.read, beat);
    }

    /// Goes on until `packets` packets have come.
    fn wait(&mut self, packets: usize) -> Vec<Result<Vec<u8>, bool>> {
        let mut cycles = 0;
        while self.came.len() < packets {
            self.step();
            cycles += 1;
            assert!(cycles < 2_000_000, "{} of {packets} packets come", self.came.len());
        }
        std::mem::take(&mut self.came)
    }
}

/// Bytes of a packet, as the semantics define them.
fn expected(around: &Around<'_>, region: &Region, bytes: (u64, u64)) -> Result<Vec<u8>, bool> {
    let host = around.host();
    let part = (bytes.0, bytes.1 as u32);
    let places = fragments(region, rights::REMOTE_READ, PD, part, &Memories, &host)
        .map_err(|error| error == Unreachable::End)?;
    let mut out = Vec::new();
    for place in places {
        let mut piece = vec![0; place.len as usize];
        host.read(place.addr, &mut piece).map_err(|_| false)?;
        out.extend(piece);
    }
    Ok(out)
}

impl Around<'_> {
    /// Asks for `bytes` of the region at place `at`, from `start` on, in packets of up to `mtu`, up to the first one
    /// that fails; what they should bring.
    fn ask_read(
        &mut self,
        (at, region): (u64, &Region),
        (start, bytes): (u64, u64),
        mtu: u64,
    ) -> Vec<Result<Vec<u8>, bool>> {
        let mut wanted = Vec::new();
        let end = start + bytes;
        let mut next = start;
        while next < end && wanted.last().is_none_or(Result::is_ok) {
            let packet = (next, mtu.min(end - next));
            self.ask(Some(at), packet, next == start);
            wanted.push(expected(self, region, packet));
            next += packet.1;
        }
        wanted
    }
}

#[track_caller]
fn compare(got: &[Result<Vec<u8>, bool>], expected: &[Result<Vec<u8>, bool>], what: &str) {
    assert_eq!(got.len(), expected.len());
    for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
        match (got, expected) {
            (Ok(got), Ok(expected)) => {
                let beats = expected.len().div_ceil(64);
                assert_eq!(got.len(), 64 * beats, "packet {k} of {what}");
                let differs = got.iter().zip(expected).position(|(a, b)| a != b);
                assert_eq!(differs, None, "packet {k} of {what}");
            }
            _ => assert_eq!(got.as_ref().err(), expected.as_ref().err(), "packet {k} of {what}"),
        }
    }
}

#[test]
fn any_part_of_a_region_comes_as_the_semantics_say_among_reads_of_memory() {
    let library = library();
    let (mut good, mut ends) = ([0; 4], 0);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        for round in 0..60 {
            let region = region(&mut random);
            fill(&mut around.memory, &region, &mut random);
            let at = random.below(512);
            around.describe(at, &encode(&region));
            let most = region.row_len() * 40;
            let mut wanted = Vec::new();
            for _ in 0..4 {
                let mtu = 1 << (8 + random.below(5));
                let latest = pick(&mut random, [0, most, most / 2]);
                let start = random.below(latest + 1);
                let longest = pick(&mut random, [10, 600, 9_000]);
                let bytes = 1 + random.below(longest);
                let packets = around.ask_read((at, &region), (start, bytes), mtu);
                good[region.kind() as usize] +=
                    packets.iter().filter(|packet| packet.is_ok()).count();
                ends += packets.iter().filter(|packet| **packet == Err(true)).count();
                wanted.extend(packets);
                if random.chance(0.5) {
                    let bytes = 1 + random.below(4096);
                    let addr = BASE + random.below(SIZE - bytes);
                    around.ask(None, (addr, bytes), true);
                    wanted.push(Ok(
                        around.memory[(addr - BASE) as usize..][..bytes as usize].to_vec()
                    ));
                }
            }
            let got = around.wait(wanted.len());
            compare(&got, &wanted, &format!("round {round} of seed {seed}: {region:?}"));
        }
    }
    assert!(good.iter().all(|count| *count > 50) && ends > 20, "{good:?}, {ends} ends");
}

/// Only memory that the keys of a region allow is read, even if the region names other memory.
#[test]
fn what_no_key_allows_is_not_read() {
    let library = library();
    let mut around = Around::new(&library, 1, STALLS[0]);
    let pattern = vec![Extent { offset: 4, len: 8 }];
    let strided = |base, lkey| Region::Strided {
        base,
        period: 16,
        count: 10,
        lkey,
        pattern: pattern.clone(),
    };
    let bitmapped = |bitmap, lkey| {
        let columns = vec![Column { base: BASE, width: 4, lkey: ALL }];
        Region::Bitmapped { bitmap, rows: 100, lkey, columns, fetch_rows: None }
    };
    let pointers = |target_lkey| {
        let (pointers, pattern) = (LISTS, pattern.clone());
        Region::PointerMapped { pointers, count: 2, lkey: LIST, target_lkey, pattern }
    };
    around.memory[(LISTS - BASE) as usize..][..8].copy_from_slice(&(BASE - 5).to_le_bytes());
    let wrong = [
        // Of another protection domain, of no key, and not inside the key.
        strided(BASE, FOREIGN),
        strided(BASE, 0x0900_0003),
        strided(BASE - 5, ALL),
        bitmapped(BASE, LIST),
        bitmapped(LISTS, FOREIGN),
        pointers(ALL),
        // The region's key is good, but there is no memory behind it.
        strided(BASE + SIZE, NOWHERE),
    ];
    for (k, region) in wrong.iter().enumerate() {
        around.describe(3, &encode(region));
        around.fetched.clear();
        around.ask(Some(3), (0, 8), true);
        // The packet behind it is not affected.
        around.ask(None, (BASE + 1, 70), true);
        let got = around.wait(2);
        assert_eq!(got[0], Err(false), "{region:?}");
        assert_eq!(
            got[1].as_ref().map(|bytes| bytes[..70].to_vec()),
            Ok(around.memory[1..71].to_vec())
        );
        let pointer_list = matches!(region, Region::PointerMapped { .. });
        let made = if k == 6 || pointer_list { 2 } else { 1 };
        assert_eq!(around.fetched.len(), made, "{region:?}: {:x?}", around.fetched);
    }
}

/// Lists that their key does not have, or that are not there.
#[test]
fn rows_that_no_list_tells_are_not_read() {
    let library = library();
    let mut around = Around::new(&library, 3, STALLS[1]);
    let bitmapped = |width, bitmap, lkey| {
        let columns = vec![Column { base: BASE, width, lkey: ALL }];
        Region::Bitmapped { bitmap, rows: 100, lkey, columns, fetch_rows: None }
    };
    let pattern = vec![Extent { offset: 4, len: 8 }];
    let pointers = Region::PointerMapped {
        pointers: LISTS,
        count: 2,
        lkey: FOREIGN,
        target_lkey: ALL,
        pattern,
    };
    for region in [
        pointers,
        bitmapped(200, LISTS, FOREIGN),
        bitmapped(200, BASE + SIZE, NOWHERE),
        bitmapped(4, BASE + SIZE, NOWHERE),
    ] {
        around.describe(3, &encode(&region));
        around.ask(Some(3), (0, 8), true);
        around.ask(None, (BASE + 1, 70), true);
        let got = around.wait(2);
        assert_eq!((&got[0], got[1].is_ok()), (&Err(false), true), "{region:?}");
    }
}

#[test]
fn an_address_far_behind_a_region_is_outside() {
    let library = library();
    let mut around = Around::new(&library, 4, STALLS[2]);
    let pattern = vec![Extent { offset: 4, len: 1 }];
    let region = Region::Strided { base: BASE, period: 3, count: 10, lkey: ALL, pattern };
    around.describe(3, &encode(&region));
    for addr in [9, 10, 1 << 32, 1 << 33, 1 << 40, u64::MAX - 5] {
        around.ask(Some(3), (addr, 1), true);
        let got = around.wait(1).remove(0);
        assert_eq!(got.is_ok(), addr == 9, "{addr:x}: {got:?}");
        assert!(addr == 9 || got == Err(true), "{addr:x}: {got:?}");
    }
}

/// An entry that is not whole, or not of a region that can be read, counts as none.
#[test]
fn an_entry_that_is_not_valid_is_no_region() {
    let library = library();
    let mut around = Around::new(&library, 2, STALLS[1]);
    let good = {
        let pattern = vec![Extent { offset: 4, len: 8 }, Extent { offset: 1, len: 2 }];
        encode(&Region::Strided { base: BASE, period: 16, count: 10, lkey: ALL, pattern })
    };
    // Place and value of a byte that is changed: not valid, an unknown type, reserved ones, no elements, too many,
    // kinds of columns, elements without bytes, and a period, which may be anything.
    let changes = [
        (508, 0, false),
        (496, 4, false),
        (497, 1, false),
        (504, 1, false),
        (28, 0, false),
        (28, 17, false),
        (30, 2, false),
        (40, 0, false),
        (56, 0, false),
        (16, 20, true),
    ];
    for (place, value, is_good) in changes {
        let mut entry = good.clone();
        entry[place] = value;
        around.describe(511, &entry);
        around.ask(Some(511), (3, 9), true);
        assert_eq!(around.wait(1)[0].is_ok(), is_good, "byte {place} is {value}");
    }
    around.describe(511, &encode(&Region::Contiguous { addr: BASE, len: 0, lkey: ALL }));
    around.ask(Some(511), (0, 1), true);
    assert!(around.wait(1)[0].is_err(), "a region of no bytes");
    // A reset clears all regions.
    around.describe(511, &good);
    around.ask(Some(511), (3, 9), true);
    assert!(around.wait(1)[0].is_ok());
    clear_tables(&mut around.bench);
    around.ask(Some(511), (3, 9), true);
    assert_eq!(around.wait(1), [Err(false)]);
    around.config(QUEUE_PAIR_TABLE, 3, 1, 1);
}

/// Rows that touch, of extents that touch, are read as memory is: a packet is a read, and its beats follow each other.
#[test]
fn a_packet_in_rows_that_touch_is_one_read() {
    let library = library();
    let mut around = Around::new(&library, 1, STALLS[0]);
    let pattern = (0..5).map(|k| Extent { offset: 8 + 4 * k, len: 4 }).collect();
    let region = Region::Strided { base: BASE, period: 20, count: 500, lkey: ALL, pattern };
    around.describe(3, &encode(&region));
    for (k, start) in [40, 4136].into_iter().enumerate() {
        around.ask(Some(3), (start, 4096), k == 0);
    }
    let got = around.wait(2);
    for (packet, start) in got.iter().zip([40, 4136]) {
        let expected = &around.memory[8 + start..][..4096];
        assert_eq!(packet.as_deref(), Ok(expected));
    }
    let reads: Vec<_> = [40, 4136].iter().map(|start| (BASE + 8 + start, 4096)).collect();
    assert_eq!(around.fetched, reads);
}
