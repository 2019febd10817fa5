use drdma_abi::register::MemoryRegionEntry;

use super::*;
use crate::{
    checks::QueuePair,
    memory::Segments,
    region::{Column, Extent},
};

const BASE: u64 = 0x1000;
const PD: u32 = 3;
/// Keys of the same kilobyte: one that may be written to, one that may not, one of another domain.
const OPEN: u32 = 1;
const CLOSED: u32 = 2;
const FOREIGN: u32 = 3;
const READ: u32 = rights::REMOTE_READ;
const WRITE: u32 = rights::REMOTE_WRITE;

struct Memories;

impl Directory for Memories {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        let (rights, pd) = match lkey {
            OPEN => (rights::LOCAL_WRITE, PD),
            CLOSED => (0, PD),
            FOREIGN => (rights::ALL, PD + 1),
            _ => return None,
        };
        Some(MemoryRegionEntry { addr: BASE, len: 1024, lkey, rights, pd, valid: 1 })
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

/// Returns the kilobyte: a bitmap of 12 rows (1, 2, 9 and 11 are selected), and from byte 8 on two
/// pointers.
fn memory(second: u64) -> Segments {
    let mut bytes = vec![0; 1024];
    bytes[..2].copy_from_slice(&[0b0000_0110, 0b1111_1010]);
    bytes[8..16].copy_from_slice(&(BASE + 100).to_le_bytes());
    bytes[16..24].copy_from_slice(&second.to_le_bytes());
    Segments::new().with(BASE, bytes)
}

fn bitmapped(lkey: u32) -> Region {
    let column = |base, width| Column { base: BASE + base, width, lkey };
    let columns = vec![column(100, 4), column(200, 2)];
    Region::Bitmapped { bitmap: BASE, rows: 12, lkey: CLOSED, columns, fetch_rows: None }
}

fn pointer_mapped(target_lkey: u32) -> Region {
    let pattern = vec![Extent { offset: 4, len: 3 }, Extent { offset: 0, len: 2 }];
    let (pointers, count) = (BASE + 8, 2);
    Region::PointerMapped { pointers, count, lkey: CLOSED, target_lkey, pattern }
}

fn strided(lkey: u32) -> Region {
    let pattern = vec![Extent { offset: 6, len: 2 }, Extent { offset: 0, len: 3 }];
    Region::Strided { base: BASE, period: 10, count: 4, lkey, pattern }
}

/// Returns the places of bytes, each an address in the kilobyte.
fn places(
    region: &Region,
    right: u32,
    bytes: (u64, u32),
    second: u64,
) -> Result<Vec<u64>, Unreachable> {
    let found = fragments(region, right, PD, bytes, &Memories, &memory(second))?;
    let run = |fragment: &Fragment| fragment.addr..fragment.addr + u64::from(fragment.len);
    Ok(found.iter().flat_map(run).map(|addr| addr - BASE).collect())
}

#[test]
fn every_offset_and_length_is_a_part_of_the_whole() {
    for region in [
        strided(OPEN),
        bitmapped(OPEN),
        pointer_mapped(OPEN),
        Region::Contiguous { addr: BASE + 7, len: 24, lkey: OPEN },
    ] {
        let second = BASE + 300;
        let mut whole = Vec::new();
        while let Ok(next) = places(&region, READ, (whole.len() as u64, 1), second) {
            whole.extend(next);
        }
        for start in 0..=whole.len() {
            for end in start..=whole.len() {
                let bytes = (start as u64, (end - start) as u32);
                assert_eq!(places(&region, WRITE, bytes, second).unwrap(), whole[start..end]);
            }
            let beyond = (start as u64, (whole.len() - start) as u32 + 1);
            assert_eq!(places(&region, READ, beyond, second), Err(Unreachable::End));
        }
    }
}

#[test]
fn rows_lie_where_the_region_says() {
    let row = |row: u64| {
        let (a, b) = (100 + 4 * row, 200 + 2 * row);
        (a..a + 4).chain(b..b + 2)
    };
    let selected: Vec<u64> = [1, 2, 9, 11].into_iter().flat_map(row).collect();
    assert_eq!(places(&bitmapped(OPEN), READ, (0, 24), BASE), Ok(selected));
    let records = vec![104, 105, 106, 100, 101, 304, 305, 306, 300, 301];
    assert_eq!(places(&pointer_mapped(OPEN), READ, (0, 10), BASE + 300), Ok(records));
    assert_eq!(places(&strided(OPEN), READ, (4, 3), BASE), Ok(vec![2, 16, 17]));
}

#[test]
fn bits_are_counted_across_pieces_of_a_long_bitmap() {
    // Every third row of 100,000.
    let bits: Vec<u8> = (0..12_500_u32)
        .map(|byte| (0..8).filter(|bit| (byte * 8 + bit) % 3 == 0).map(|bit| 1 << bit).sum())
        .collect();
    let lab = Segments::new().with(BASE, bits);
    let columns = vec![Column { base: 0, width: 1, lkey: 0 }];
    let region =
        Region::Bitmapped { bitmap: BASE, rows: 100_000, lkey: 0, columns, fetch_rows: None };
    for rank in [0, 1, 2, 2730, 10_922, 10_923, 20_000, 33_332, 33_333] {
        let mut cursor = Cursor::new(&region, RowMask::Period);
        let mut row = Vec::new();
        cursor.skip(&lab, rank).unwrap();
        assert_eq!(cursor.next(&lab, &mut row), Ok(rank < 33_334), "{rank}");
        assert_eq!(row.first().map(|value| value.addr), Some(3 * rank), "{rank}");
    }
}

#[test]
fn a_write_needs_memory_that_may_be_written_to_and_everything_the_domain() {
    for region in [strided, bitmapped, pointer_mapped] {
        let access = |key, right| places(&region(key), right, (3, 2), BASE + 300).map(drop);
        assert_eq!((access(OPEN, WRITE), access(CLOSED, READ)), (Ok(()), Ok(())));
        assert_eq!(access(CLOSED, WRITE), Err(Unreachable::Memory));
        for key in [FOREIGN, 9] {
            assert_eq!(access(key, READ), Err(Unreachable::Memory), "{:?}", region(key));
        }
    }
}

#[test]
fn a_pointer_never_leads_outside_of_its_memory() {
    let last = BASE + 1024 - 7;
    for (second, good) in [(last, true), (last + 1, false), (BASE - 1, false), (u64::MAX, false)] {
        // The first record is valid, whatever the second one is.
        assert!(places(&pointer_mapped(OPEN), READ, (0, 5), second).is_ok());
        let found = places(&pointer_mapped(OPEN), READ, (0, 6), second);
        assert_eq!(found.is_ok(), good, "{second:#x}");
        assert_eq!(found.err(), (!good).then_some(Unreachable::Memory));
    }
    // A region that covers more than its key allows fails, too.
    let outside = Region::Contiguous { addr: BASE + 1, len: 1024, lkey: OPEN };
    assert_eq!(places(&outside, READ, (0, 1), BASE), Err(Unreachable::Memory));
}

#[test]
fn an_entry_is_the_region_that_was_written() {
    for region in [
        strided(OPEN),
        bitmapped(OPEN),
        pointer_mapped(OPEN),
        Region::Contiguous { addr: BASE, len: 1, lkey: OPEN },
    ] {
        let good = encode(&region);
        assert_eq!(decode(&good), Some(region));
        let end = good.len() - KeyRegionEnd::SIZE;
        // An unknown type, reserved fields, not valid.
        for at in [end, end + 1, end + 8, end + 12] {
            let mut bytes = good.clone();
            bytes[at] ^= 0xf0;
            assert_eq!(decode(&bytes), None, "byte {at}");
        }
        assert_eq!(decode(&good[1..]), None);
    }
    let shapeless = encode(&Region::Contiguous { addr: BASE, len: 0, lkey: OPEN });
    assert_eq!(decode(&shapeless), None);
}
