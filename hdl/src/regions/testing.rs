//! Regions of every type in a small host memory, their keys, and what the semantics read there.

use drdma_abi::receive::rights;
use drdma_abi::register::MemoryRegionEntry;
use drdma_semantics::checks::{Directory, QueuePair};
use drdma_semantics::region::{Column, Extent, Region};
use drdma_verilated::testbench::Random;

/// Address of the first byte of host memory, which has `SIZE` bytes.
pub const BASE: u64 = 0xffff_0000_0000_0ff0;
pub const SIZE: u64 = 1 << 16;
/// Bitmaps and pointers are in the last eighth of the memory, which has a key of its own.
pub const LISTS: u64 = BASE + SIZE / 8 * 7;
pub const PD: u32 = 9;
/// Keys of all memory, of the bitmaps and pointers, and of memory that is not there.
pub const ALL: u32 = 0x0100_0003;
pub const LIST: u32 = 0x0200_0004;
pub const NOWHERE: u32 = 0x0300_0005;
/// A key of another protection domain.
pub const FOREIGN: u32 = 0x0400_0006;
/// A key of all memory that does not allow writing.
pub const FIXED: u32 = 0x0500_0007;

/// The directory of the keys of that memory.
pub struct Memories;

impl Directory for Memories {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        entries().into_iter().find(|entry| entry.lkey == lkey)
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

/// The entries of the keys.
pub fn entries() -> Vec<MemoryRegionEntry> {
    let rights = rights::LOCAL_WRITE;
    let entry = |lkey, addr, len, pd| MemoryRegionEntry { addr, len, lkey, rights, pd, valid: 1 };
    vec![
        entry(ALL, BASE, SIZE, PD),
        MemoryRegionEntry { rights: 0, ..entry(LIST, LISTS, SIZE / 8, PD) },
        entry(NOWHERE, BASE + SIZE, SIZE, PD),
        entry(FOREIGN, BASE, SIZE, PD + 1),
        MemoryRegionEntry { rights: 0, ..entry(FIXED, BASE, SIZE, PD) },
    ]
}

/// Draws one of the three values.
pub fn pick(random: &mut Random, of: [u64; 3]) -> u64 {
    of[random.below(3) as usize]
}

fn extents(random: &mut Random, within: u64) -> Vec<Extent> {
    (0..=random.below(16).min(random.below(16)))
        .map(|_| {
            let len = 1 + {
                let most = within.min(pick(random, [4, 40, 300]));
                random.below(most)
            };
            Extent { offset: random.below(within - len + 1), len: len as u32 }
        })
        .collect()
}

/// Draws a region whose memory its keys have.
pub fn region(random: &mut Random) -> Region {
    let most = LISTS - BASE;
    match random.below(5) {
        4 => dense(random, most),
        0 => {
            let len = 1 + random.below(9_000);
            Region::Contiguous { addr: BASE + random.below(most - len), len: len as u32, lkey: ALL }
        }
        1 => {
            let period = 1 + random.below(600);
            let count = 1 + random.below(100.min(most / period / 2));
            let pattern = extents(random, period);
            let base = BASE + random.below(most - period * count);
            Region::Strided { base, period, count: count as u32, lkey: ALL, pattern }
        }
        2 => {
            let most_rows = pick(random, [20, 600, 3_000]);
            let rows = 1 + random.below(most_rows);
            let columns = (0..=random.below(5))
                .map(|_| {
                    let most_bytes = pick(random, [4, 20, 4]).min(most / rows - 1);
                    let width = 1 + random.below(most_bytes);
                    let base = BASE + random.below(most - width * rows);
                    Column { base, width: width as u32, lkey: ALL }
                })
                .collect();
            let bitmap = LISTS + random.below(SIZE / 8 - rows.div_ceil(8) + 1);
            Region::Bitmapped { bitmap, rows: rows as u32, lkey: LIST, columns, fetch_rows: None }
        }
        _ => {
            let pattern = extents(random, 256);
            let count = 1 + random.below(90);
            let pointers = LISTS + random.below(SIZE / 8 - count * 8 + 1);
            Region::PointerMapped {
                pointers,
                count: count as u32,
                lkey: LIST,
                target_lkey: ALL,
                pattern,
            }
        }
    }
}

/// Draws columns whose values follow each other, anywhere in `most` bytes.
fn dense(random: &mut Random, most: u64) -> Region {
    let widest = pick(random, [4, 16, 66]);
    let period = 1 + random.below(widest);
    let count = 1 + random.below(400.min(most / period / 2));
    let base = BASE + random.below(1000);
    let room = most - 1000 - period * count;
    let pattern = (0..=random.below(16))
        .map(|_| Extent { offset: random.below(room), len: period as u32 })
        .collect();
    Region::Strided { base, period, count: count as u32, lkey: ALL, pattern }
}

/// Writes what a region's bitmap or pointers hold.
pub fn fill(memory: &mut [u8], region: &Region, random: &mut Random) {
    let at = |addr: u64| (addr - BASE) as usize;
    match region {
        Region::Bitmapped { bitmap, rows, .. } => {
            let (chance, first) = ([0.02, 0.5, 0.98][random.below(3) as usize], at(*bitmap));
            for row in 0..*rows as usize {
                let (byte, bit) = (first + row / 8, 1 << (row % 8));
                memory[byte] &= !bit;
                if random.chance(chance) {
                    memory[byte] |= bit;
                }
            }
        }
        Region::PointerMapped { pointers, count, .. } => {
            for k in 0..u64::from(*count) {
                let pointer = BASE + random.below(LISTS - BASE - 256);
                memory[at(pointers + 8 * k)..][..8].copy_from_slice(&pointer.to_le_bytes());
            }
        }
        _ => {}
    }
}
