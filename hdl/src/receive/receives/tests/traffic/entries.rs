//! Regions and entries of any form.

use super::*;

/// Keys that are right, and some that are not, each in its own way.
pub fn keys() -> Keys {
    let key = |lkey, addr, len| MemoryRegionEntry { addr, len, ..everything(lkey) };
    Keys(vec![
        everything(1),
        key(0x7000_0002, 0x4000, 0x10_0000),
        // The memory region ends with the address space.
        key(3, u64::MAX - 0xffff, 0x1_0000),
        MemoryRegionEntry { pd: PD + 1, ..everything(4) },
        MemoryRegionEntry { rights: rights::ALL & !rights::LOCAL_WRITE, ..everything(5) },
        MemoryRegionEntry { valid: 0, ..everything(6) },
    ])
}

pub fn any_region(random: &mut Random, contiguous: bool) -> Region {
    let lkey = match random.below(20) {
        // The key has the entry's index, but is another key.
        0 => 2,
        1..=4 => [4, 5, 6, 77][random.below(4) as usize],
        5..=9 => 1,
        10..=12 => 3,
        _ => 0x7000_0002,
    };
    let len = [1, 64, 100, 5000, 1 + random.below(300) as u32][random.below(5) as usize];
    let addr = match lkey {
        3 => match random.below(12) {
            0 => u64::MAX - 10,
            _ => u64::MAX - 0xffff + random.below(0x8000),
        },
        _ => match random.below(25) {
            0 => 0x3fff,
            1 => 0x10_4000 - u64::from(len) + 1,
            2 => 0x10_4000 - u64::from(len),
            _ => 0x4000 + random.below(0xf_0000),
        },
    };
    let len = if random.chance(0.01) { u32::MAX } else { len };
    if contiguous || random.chance(0.4) {
        return Region::Contiguous { addr, len, lkey };
    }
    if random.chance(0.75) {
        return dense(random, addr, lkey);
    }
    strided(random, addr, lkey)
}

/// Columns that lie anywhere, in any order: the values of each follow each other. Some have one of another length among
/// them.
pub fn dense(random: &mut Random, base: u64, lkey: u32) -> Region {
    let width = [4, 8, 1 + random.below(70) as u32][random.below(3) as usize];
    let columns = 1 + random.below(16);
    let mut pattern: Vec<_> =
        (0..columns).map(|_| Extent { offset: random.below(8_000), len: width }).collect();
    if random.chance(0.2) {
        pattern[random.below(columns) as usize].len = 1 + random.below(70) as u32;
    }
    let count = [0, 1, 1 + random.below(60) as u32, 1 + random.below(60) as u32];
    let count = count[random.below(4) as usize];
    Region::Strided { base, period: width.into(), count, lkey, pattern }
}

/// A region with a bitmap or pointers.
pub fn mapped(random: &mut Random) -> Region {
    let elements = 1 + random.below(16).min(random.below(16));
    let count = random.below(100) as u32;
    if random.chance(0.5) {
        let column = |k| Column { base: 0x5000 + k, width: 1 + k as u32, lkey: k as u32 };
        let columns = (0..elements).map(column).collect();
        let fetch_rows = random.chance(0.1).then_some(FetchRows { bitmap: 3, lkey: 9 });
        return Region::Bitmapped { bitmap: 0x4000, rows: count, lkey: 1, columns, fetch_rows };
    }
    let pattern = (0..elements).map(|k| Extent { offset: 99 - k, len: 1 + k as u32 }).collect();
    Region::PointerMapped { pointers: 0x6000, count, lkey: 1, target_lkey: 77, pattern }
}

/// A strided region from `base` on, the last bytes of which are not always in its key.
pub fn strided(random: &mut Random, base: u64, lkey: u32) -> Region {
    let extents = [1, 1 + random.below(4), 1 + random.below(16)][random.below(3) as usize];
    let period = match random.below(12) {
        0 => random.u64(),
        1 => 1,
        _ => 1 + random.below(300),
    };
    let pattern = (0..extents)
        .map(|_| {
            let offset = match random.below(200) {
                0 => random.u64(),
                _ => random.below(300),
            };
            let len = [1, 4, 8, 1 + random.below(40) as u32][random.below(4) as usize];
            Extent { offset, len }
        })
        .collect();
    let count = match random.below(60) {
        0 => random.u64() as u32,
        1..=5 => 0,
        6..=15 => 1,
        _ => 1 + random.below(60) as u32,
    };
    Region::Strided { base, period, count, lkey, pattern }
}

/// An entry, which is right most of the time.
pub fn any_entry(random: &mut Random, wr_id: u64, position: u32) -> Vec<u8> {
    let count = [1, 1, 1, 2, 3, random.below(17)][random.below(6) as usize];
    // A receive that is taken ahead has only contiguous regions.
    let contiguous = random.chance(0.6);
    let mut regions: Vec<_> = (0..count).map(|_| any_region(random, contiguous)).collect();
    if random.chance(0.1) {
        // Some of these regions are more than the card has places for.
        for _ in 0..=random.below(2) {
            let at = random.below(regions.len() as u64 + 1) as usize;
            regions.insert(at, mapped(random));
        }
    }
    if random.chance(0.05) {
        regions.push(just_as_many_places(random, &regions));
    }
    if random.chance(0.03) {
        let mut pattern = vec![Extent { offset: 0, len: 8 }; 3];
        let (mut period, base, count) = (16, 0x5000, random.below(3) as u32);
        match random.below(3) {
            0 => period = 0,
            1 => pattern.clear(),
            _ => pattern[random.below(3) as usize].len = 0,
        }
        regions.push(Region::Strided { base, period, count, lkey: 1, pattern });
    }
    if random.chance(0.02) {
        regions.push(Region::Contiguous { addr: 0x5000, len: 0, lkey: 1 });
    }
    let mut entry = encode(wr_id, &regions, position);
    if random.chance(0.06) {
        // A bit of the head but for its name, or of anything.
        let bit = match random.below(4) {
            0 => random.below(128),
            1 => 192 + random.below(64),
            2 => random.below(40),
            _ => 256 + random.below(entry.len() as u64 * 8 - 256),
        };
        entry[bit as usize / 8] ^= 1 << (bit % 8);
    }
    entry
}

/// A strided region with which an entry of these needs as many places as there are, or one more.
pub fn just_as_many_places(random: &mut Random, regions: &[Region]) -> Region {
    let mapped =
        |region: &Region| !matches!(region, Region::Contiguous { .. } | Region::Strided { .. });
    let header = usize::from(regions.iter().any(mapped));
    let taken: usize = regions
        .iter()
        .map(|region| match region {
            Region::Contiguous { .. } => 1,
            Region::Strided { pattern, .. } => header + 1 + pattern.len(),
            Region::PointerMapped { pattern, .. } => 2 + pattern.len(),
            Region::Bitmapped { columns, .. } => 2 + columns.len(),
            Region::Kinds(_) => unreachable!("no such region here"),
        })
        .sum();
    let free = RECEIVE_PLACES.saturating_sub(taken + 1 + header).clamp(1, 16) as u64;
    let extents = (free + random.below(2)).min(16);
    let pattern = (0..extents).map(|k| Extent { offset: 9 * k, len: 1 + k as u32 }).collect();
    Region::Strided { base: 0x5000, period: 200, count: 40, lkey: 1, pattern }
}
