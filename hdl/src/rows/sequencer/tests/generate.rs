//! Random requests, valid or spoilt in one way.

use super::card::Request;
use super::partitioned::partition;
use crate::rows::sequencer::reference::{Dest, Region};
use drdma_abi::work_request::RegionType;
use drdma_verilated::testbench::Random;

fn random_region(random: &mut Random, scale: u64) -> Region {
    let kind = RegionType::ALL[random.below(4) as usize];
    let lanes = if kind == RegionType::Contiguous { 1 } else { 1 + random.below(16) };
    let len = |random: &mut Random| -> u32 {
        1 + match random.below(20) {
            0 => random.below(3000) as u32,
            4 => [62, 63, 64, 127, 128, 191, 4095][random.below(7) as usize],
            1..=3 => random.below(100) as u32,
            _ => random.below(12) as u32,
        }
    };
    let lanes: Vec<(u64, u64, u32)> = (0..lanes)
        .map(|_| {
            let len = len(random);
            let step = match kind {
                RegionType::Strided => 1 + random.below(400),
                RegionType::Bitmapped => u64::from(len),
                _ => 0,
            };
            (random.u64(), step, len)
        })
        .collect();
    let count = match random.below(6) {
        0 => random.below(3),
        1 => random.below(scale),
        _ => random.below(40),
    } as u32;
    let density = [0.0, 0.02, 0.3, 1.0][random.below(4) as usize];
    let bits = (0..count).map(|_| random.chance(density)).collect();
    let low = random.below(100);
    let high = u128::from(low) + 200;
    let (target_addr, target_len) = match random.below(3) {
        0 => (0, 100_000),
        1 => (u64::MAX - 99_999, 100_000),
        _ => (random.u64() >> 1, 100_000 + random.below(1 << 20)),
    };
    let first = target_addr.saturating_sub(low);
    let pointers = (0..if kind == RegionType::PointerMapped { count } else { 0 })
        .map(|i| match i {
            0 => first,
            1 => (u128::from(target_addr) + u128::from(target_len) - high) as u64,
            _ => target_addr + random.below(target_len - high as u64),
        })
        .collect();
    let count = if kind == RegionType::Contiguous { random.u64() as u32 } else { count };
    Region {
        kind,
        addr: 0,
        count,
        lanes,
        bits,
        fetch: None,
        pointers,
        target_addr,
        target_len,
        low,
        high,
        fails: false,
    }
}

/// Makes all regions have as many elements.
fn equalize(random: &mut Random, regions: &mut [Region]) {
    if regions.len() < 2 {
        return;
    }
    let contiguous = regions.iter().any(|r| r.kind == RegionType::Contiguous);
    let mut elements = if contiguous { 1 } else { random.below(200) as usize };
    let strided = regions.iter().filter(|r| r.kind == RegionType::Strided);
    let widths: Vec<_> = strided.map(|r| r.lanes.len()).collect();
    if !contiguous {
        // A multiple of every pattern's length; few, where there is none.
        let fits = |n: &usize| widths.iter().all(|w| n.is_multiple_of(*w));
        elements = (elements..elements + 400).find(fits).unwrap_or(0);
    }
    for region in regions {
        match region.kind {
            RegionType::Contiguous => {}
            RegionType::Strided => {
                if !elements.is_multiple_of(region.lanes.len()) {
                    region.lanes.truncate(1);
                }
                region.count = (elements / region.lanes.len()) as u32;
            }
            RegionType::Bitmapped => {
                let gap = random.below(100);
                region.bits.clear();
                for _ in 0..elements {
                    for _ in 0..random.below(gap + 1) {
                        region.bits.push(false);
                    }
                    region.bits.push(true);
                }
                region.count = region.bits.len() as u32;
            }
            RegionType::PointerMapped => {
                let room = region.target_len - region.high as u64;
                let low = region.target_addr;
                region.pointers = (0..elements).map(|_| low + random.below(room)).collect();
                region.count = elements as u32;
            }
        }
    }
}

fn random_dest(random: &mut Random, element_mask: bool, several: bool, units: u32) -> Dest {
    let regions = match random.below(5) {
        0 => 0,
        1 | 2 => 1,
        3 => random.below(4),
        _ => random.below(17),
    };
    let scale = if several { 500 } else { 3000 };
    let is_write = random.chance(0.4);
    let is_ud = !is_write && random.chance(0.3);
    let mut all: Vec<_> = (0..regions).map(|_| random_region(random, scale)).collect();
    if element_mask && random.chance(0.9) {
        equalize(random, &mut all);
    }
    Dest { regions: all, is_write, is_ud, log_mtu: 8 + random.below(5) as u32, element_mask, units }
}

pub fn random_request(random: &mut Random) -> Request {
    if random.chance(0.05) {
        let status = (2, random.below(64) as u8);
        return Request { dests: Vec::new(), status, shared: None, apart: false, column: None };
    }
    let dests = match random.below(8) {
        0..=4 => 1,
        5 => 2 + random.below(3),
        6 => 2 + random.below(10),
        _ => 64,
    };
    let element_mask = random.chance(0.3);
    let units = match random.below(6) {
        0..=2 => 1,
        3 => 2 + random.below(5) as u32,
        4 => 2 + random.below(300) as u32,
        _ => u32::MAX,
    };
    let dests = (0..dests).map(|_| random_dest(random, element_mask, dests > 1, units)).collect();
    let mut request = Request { dests, status: (0, 0), shared: None, apart: false, column: None };
    for region in request.dests.iter_mut().flat_map(|dest| &mut dest.regions) {
        if region.kind == RegionType::Bitmapped && random.chance(0.3) {
            region.fetch = Some((vec![true; region.bits.len()], random.chance(0.3)));
        }
    }
    if random.chance(0.3) {
        partition(random, &mut request);
    }
    request
}

/// Spoils a request in one way, perhaps.
pub fn spoil(random: &mut Random, request: &mut Request) {
    let n = request.dests.len() as u64;
    if n == 0 || random.chance(0.6) {
        return;
    }
    if request.shared.is_some() {
        request.dests.iter_mut().for_each(|dest| dest.regions[0].fails = true);
        return;
    }
    let dest = random.below(n) as usize;
    let regions = &mut request.dests[dest].regions;
    if regions.is_empty() {
        return;
    }
    let region = random.below(regions.len() as u64) as usize;
    let region = &mut regions[region];
    match region.kind {
        RegionType::PointerMapped if !region.pointers.is_empty() && random.chance(0.8) => {
            let at = random.below(region.pointers.len() as u64) as usize;
            let end = u128::from(region.target_addr) + u128::from(region.target_len);
            region.pointers[at] = match random.below(3) {
                0 if region.target_addr > region.low => region.target_addr - region.low - 1,
                1 => (end - region.high + 1) as u64,
                _ => region.target_addr ^ 1 << 63,
            };
        }
        RegionType::PointerMapped | RegionType::Bitmapped => region.fails = true,
        _ => {}
    }
}
