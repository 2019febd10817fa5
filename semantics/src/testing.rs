//! Helpers of several tests: random regions over a small memory, and a slow oracle of their units
//! that is written without the model.

use std::ops::Range;

use proptest::{collection::vec, prelude::*};

use crate::{
    partitioned::Partitioned,
    region::{Column, Extent, FetchRows, Region, RowMask},
};

/// Address of the test memory.
pub const BASE: u64 = 0x1_0000;
/// Size of the test memory in bytes.
pub const SIZE: u64 = 0x4000;
/// Address of pointer arrays and bitmaps in the test memory: its last quarter.
pub const CONTROL: u64 = BASE + 0x3000;
/// Local key of the test memory.
pub const LKEY: u32 = 0x7001;

/// Test memory: random bytes, but for 128 pointers into it at [`CONTROL`].
pub fn memory() -> Vec<u8> {
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut bytes: Vec<u8> = (0..SIZE as usize)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect();
    // 128 pointers at CONTROL, all to records of up to 256 bytes inside the memory.
    for i in 0..128 {
        let at = (CONTROL - BASE) as usize + i * 8;
        let pointer = BASE + (u64::from(bytes[at]) << 5 | u64::from(bytes[at + 1]) & 0x1f);
        bytes[at..at + 8].copy_from_slice(&pointer.to_le_bytes());
    }
    bytes
}

fn extents() -> impl Strategy<Value = Vec<Extent>> {
    vec((0u64..100, 1u32..60).prop_map(|(offset, len)| Extent { offset, len }), 1..=16)
}

/// A region inside the test memory.
pub fn region() -> impl Strategy<Value = Region> {
    let contiguous = (0..0x2000u64, 1u32..0x1000).prop_map(|(offset, len)| Region::Contiguous {
        addr: BASE + offset,
        len,
        lkey: LKEY,
    });
    let strided = (0..0x1000u64, 1..100u64, 0u32..40, extents()).prop_map(
        |(offset, period, count, pattern)| Region::Strided {
            base: BASE + offset,
            period,
            count,
            lkey: LKEY,
            pattern,
        },
    );
    let column = (0..0x1000u64, 1u32..24).prop_map(|(offset, width)| Column {
        base: BASE + offset,
        width,
        lkey: LKEY,
    });
    let fetch_rows = proptest::option::of(1024..2048u64);
    let bitmapped = (1024..2048u64, 0u32..200, vec(column, 1..=16), fetch_rows).prop_map(
        |(offset, rows, columns, fetch)| Region::Bitmapped {
            bitmap: CONTROL + offset,
            rows,
            lkey: LKEY,
            columns,
            fetch_rows: fetch.map(|offset| FetchRows { bitmap: CONTROL + offset, lkey: LKEY }),
        },
    );
    let pointer_mapped =
        (0..64u64, 0u32..64, extents()).prop_map(|(first, count, pattern)| Region::PointerMapped {
            pointers: CONTROL + first * 8,
            count,
            lkey: LKEY,
            target_lkey: LKEY,
            pattern,
        });
    prop_oneof![contiguous, strided, bitmapped, pointer_mapped]
}

/// Regions that all have the same number of elements, for row mask `Element`.
pub fn matched_regions() -> impl Strategy<Value = Vec<Region>> {
    (0u32..30, 1usize..5).prop_flat_map(|(periods, extents)| {
        let elements = periods * extents as u32;
        let extent = (0u64..100, 1u32..60).prop_map(|(offset, len)| Extent { offset, len });
        let several = (0..0x1000u64, 1..100u64, vec(extent, extents)).prop_map(
            move |(offset, period, pattern)| Region::Strided {
                base: BASE + offset,
                period,
                count: periods,
                lkey: LKEY,
                pattern,
            },
        );
        let one = (0..0x1000u64, 1..20u64, 1u32..20).prop_map(move |(offset, period, len)| {
            let pattern = vec![Extent { offset: 0, len }];
            Region::Strided { base: BASE + offset, period, count: elements, lkey: LKEY, pattern }
        });
        vec(prop_oneof![several, one], 1..=6)
    })
}

/// Returns the bytes of every element of a region's every row; written for clarity.
fn elements(region: &Region, memory: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let bytes = |addr: u64, len: u32| {
        let start = (addr - BASE) as usize;
        memory[start..start + len as usize].to_vec()
    };
    match region {
        Region::Contiguous { addr, len, .. } => vec![vec![bytes(*addr, *len)]],
        Region::Strided { base, period, count, pattern, .. } => (0..u64::from(*count))
            .map(|i| pattern.iter().map(|e| bytes(base + i * period + e.offset, e.len)).collect())
            .collect(),
        Region::Bitmapped { bitmap, rows, columns, .. } => (0..u64::from(*rows))
            .filter(|r| bytes(bitmap + r / 8, 1)[0] >> (r % 8) & 1 == 1)
            .map(|r| {
                let values =
                    columns.iter().map(|c| bytes(c.base + r * u64::from(c.width), c.width));
                vec![values.collect::<Vec<_>>().concat()]
            })
            .collect(),
        Region::Kinds(_) => unreachable!("no region of these strategies has kinds"),
        Region::PointerMapped { pointers, count, pattern, .. } => (0..u64::from(*count))
            .map(|i| {
                let pointer = bytes(pointers + i * 8, 8);
                let pointer = u64::from_le_bytes(pointer.try_into().unwrap());
                let extents = pattern.iter().map(|e| bytes(pointer + e.offset, e.len));
                vec![extents.collect::<Vec<_>>().concat()]
            })
            .collect(),
    }
}

/// Returns the bytes of each unit.
pub fn units(regions: &[Region], row_mask: RowMask, memory: &[u8]) -> Vec<Vec<u8>> {
    match row_mask {
        RowMask::Period => regions
            .iter()
            .flat_map(|region| elements(region, memory))
            .map(|row| row.concat())
            .collect(),
        RowMask::Element => {
            let columns: Vec<Vec<Vec<u8>>> =
                regions.iter().map(|region| elements(region, memory).concat()).collect();
            let count = columns.iter().map(Vec::len).min().unwrap_or(0);
            (0..count)
                .map(|i| columns.iter().flat_map(|column| column[i].clone()).collect())
                .collect()
        }
    }
}

/// A partitioned region inside the test memory, whose ids are bytes of it.
pub fn partitioned() -> impl Strategy<Value = Partitioned> {
    let column = (0..0x1000u64, 1u32..24).prop_map(|(offset, width)| Column {
        base: BASE + offset,
        width,
        lkey: LKEY,
    });
    (1u64..=2, 0..0x2000u64, 0u32..200, vec(column, 1..=16)).prop_map(
        |(width, offset, rows, columns)| Partitioned {
            entries: Vec::new(),
            by: None,
            ids: BASE + offset,
            width,
            rows,
            lkey: LKEY,
            columns,
        },
    )
}

/// Returns the id of every row.
pub fn ids(region: &Partitioned, memory: &[u8]) -> Vec<u16> {
    let start = (region.ids - BASE) as usize;
    let id = |row: usize| match region.width {
        1 => u16::from(memory[start + row]),
        _ => u16::from_le_bytes([memory[start + 2 * row], memory[start + 2 * row + 1]]),
    };
    (0..region.rows as usize).map(id).collect()
}

/// Returns the bytes of each row of a partition.
pub fn partition(region: &Partitioned, partition: u16, memory: &[u8]) -> Vec<Vec<u8>> {
    let row = |row: usize| {
        let values = region.columns.iter().map(|column| {
            let start = (column.base - BASE) as usize + row * column.width as usize;
            &memory[start..start + column.width as usize]
        });
        values.collect::<Vec<_>>().concat()
    };
    let ids = ids(region, memory);
    (0..ids.len()).filter(|i| ids[*i] == partition).map(row).collect()
}

/// Returns the bytes of each message.
pub fn messages(units: &[Vec<u8>], rows_per_message: u32) -> Vec<Vec<u8>> {
    units.chunks(rows_per_message as usize).map(|units| units.concat()).collect()
}

/// Returns the addresses that a list of boxes reads.
pub fn ranges(boxes: &[crate::boxes::BoundingBox]) -> Vec<Range<u64>> {
    boxes.iter().map(|read| read.addr..read.addr + u64::from(read.len)).collect()
}
