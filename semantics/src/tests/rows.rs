use super::*;
use crate::{
    memory::Segments,
    region::{Column, Extent},
    testing,
};
use proptest::prelude::*;

fn walk(regions: &[Region], row_mask: RowMask, memory: &Segments) -> Vec<Vec<(u64, u32)>> {
    let mut units = Units::new(regions, row_mask);
    let (mut unit, mut all) = (Vec::new(), Vec::new());
    while units.next(memory, &mut unit).unwrap() {
        all.push(unit.iter().map(|fragment| (fragment.addr, fragment.len)).collect());
    }
    all
}

/// Rows of four 4-byte attributes at address 0, without the third one.
fn figure_5() -> Region {
    let pattern = vec![Extent { offset: 0, len: 8 }, Extent { offset: 12, len: 4 }];
    Region::Strided { base: 0, period: 16, count: 2, lkey: 1, pattern }
}

#[test]
fn the_periods_of_figure_5_are_its_rows() {
    let units = walk(&[figure_5()], RowMask::Period, &Segments::new());
    assert_eq!(units, [[(0, 8), (12, 4)], [(16, 8), (28, 4)]]);
}

/// Columns A, B, C of four 4-byte values, one after another: red takes rows 1 and 3.
#[test]
fn the_row_mask_of_figure_6_goes_down_the_columns() {
    let column = |base| Region::Strided {
        base,
        period: 8,
        count: 2,
        lkey: 1,
        pattern: vec![Extent { offset: 0, len: 4 }],
    };
    let red = [column(0), column(16), column(32)];
    let units = walk(&red, RowMask::Element, &Segments::new());
    assert_eq!(units, [[(0, 4), (16, 4), (32, 4)], [(8, 4), (24, 4), (40, 4)]]);
    // Switched to periods, the mask traverses one column at a time.
    let units = walk(&red, RowMask::Period, &Segments::new());
    assert_eq!(units.concat(), [(0, 4), (8, 4), (16, 4), (24, 4), (32, 4), (40, 4)]);
}

#[test]
fn an_element_is_one_extent_of_a_strided_region_but_a_whole_row_of_others() {
    let units = walk(&[figure_5()], RowMask::Element, &Segments::new());
    assert_eq!(units.concat(), [(0, 8), (12, 4), (16, 8), (28, 4)]);
    let columns =
        vec![Column { base: 0, width: 4, lkey: 1 }, Column { base: 100, width: 1, lkey: 1 }];
    let region = Region::Bitmapped { bitmap: 50, rows: 3, lkey: 1, columns, fetch_rows: None };
    let memory = Segments::new().with(50, [0b101]);
    let units = walk(&[region], RowMask::Element, &memory);
    assert_eq!(units, [[(0, 4), (100, 1)], [(8, 4), (102, 1)]]);
}

#[test]
fn bits_are_taken_from_the_lowest_and_not_beyond_the_rows() {
    let columns = vec![Column { base: 0, width: 2, lkey: 1 }];
    let memory = Segments::new().with(50, [0b1000_0001, 0, 0b0000_0110]);
    for (rows, expected) in [
        (0, vec![]),
        (7, vec![0]),
        (8, vec![0, 14]),
        (18, vec![0, 14, 34]),
        (24, vec![0, 14, 34, 36]),
    ] {
        let region = Region::Bitmapped {
            bitmap: 50,
            rows,
            lkey: 1,
            columns: columns.clone(),
            fetch_rows: None,
        };
        let units = walk(&[region], RowMask::Period, &memory);
        let addresses: Vec<u64> = units.iter().map(|unit| unit[0].0).collect();
        assert_eq!(addresses, expected, "{rows} rows");
        assert_eq!(selected(&memory, 50, rows).unwrap(), expected.len() as u64);
    }
}

#[test]
fn a_bitmap_of_several_chunks_is_read_to_its_end() {
    let mut bitmap = vec![0u8; 3 * CHUNK + 5];
    let set = [0, 8 * CHUNK as u64 - 1, 8 * CHUNK as u64, 8 * 3 * CHUNK as u64 + 39];
    for bit in set {
        bitmap[bit as usize / 8] |= 1 << (bit % 8);
    }
    let rows = bitmap.len() as u32 * 8;
    let memory = Segments::new().with(1000, bitmap);
    let columns = vec![Column { base: 0, width: 1, lkey: 1 }];
    let region = Region::Bitmapped { bitmap: 1000, rows, lkey: 1, columns, fetch_rows: None };
    let units = walk(&[region], RowMask::Period, &memory);
    assert_eq!(units.concat(), set.map(|bit| (bit, 1)));
    assert_eq!(selected(&memory, 1000, rows).unwrap(), 4);
}

#[test]
fn a_record_outside_the_limit_faults_even_if_its_address_wraps() {
    let region = Region::PointerMapped {
        pointers: 0,
        count: 1,
        lkey: 1,
        target_lkey: 1,
        pattern: vec![Extent { offset: 8, len: 4 }],
    };
    let next = |pointer: u64, limit: Range<u128>| {
        let memory = Segments::new().with(0, pointer.to_le_bytes());
        let limit = Limit { records: Some(limit), ..Limit::default() };
        let mut cursor = Cursor::new(&region, RowMask::Period).with_limit(limit);
        cursor.next(&memory, &mut Vec::new())
    };
    assert_eq!(next(100, 108..112), Ok(true));
    assert!(next(100, 109..200).is_err());
    assert!(next(100, 0..111).is_err());
    assert!(next(u64::MAX - 3, 0..1 << 64).is_err());
}

#[test]
fn unreadable_bitmaps_and_pointers_fault() {
    let columns = vec![Column { base: 0, width: 1, lkey: 1 }];
    let bitmapped = Region::Bitmapped { bitmap: 99, rows: 9, lkey: 1, columns, fetch_rows: None };
    let memory = Segments::new().with(99, [0]);
    let mut cursor = Cursor::new(&bitmapped, RowMask::Period);
    assert_eq!(cursor.next(&memory, &mut Vec::new()), Err(Fault { addr: 99, len: 2 }));
    assert_eq!(selected(&memory, 99, 9), Err(Fault { addr: 99, len: 2 }));
}

#[test]
fn billions_of_rows_are_walked_one_at_a_time() {
    let pattern = vec![Extent { offset: u64::MAX, len: u32::MAX }];
    let region = Region::Strided { base: 1, period: 1, count: u32::MAX, lkey: 1, pattern };
    let mut units = Units::new(&[region], RowMask::Period);
    let mut unit = Vec::new();
    for i in 0..100 {
        assert_eq!(units.next(&Segments::new(), &mut unit), Ok(true));
        assert_eq!(unit, [Fragment { addr: i, len: u32::MAX }]);
    }
}

proptest! {
    #[test]
    fn fragments_hold_the_bytes_that_the_semantics_say(
        regions in prop_oneof![
            proptest::collection::vec(testing::region(), 0..=16).prop_map(|r| (r, RowMask::Period)),
            testing::matched_regions().prop_map(|r| (r, RowMask::Element)),
        ],
    ) {
        let (regions, row_mask) = regions;
        let bytes = testing::memory();
        let memory = Segments::new().with(testing::BASE, bytes.clone());
        let units: Vec<Vec<u8>> = walk(&regions, row_mask, &memory)
            .iter()
            .map(|unit| {
                unit.iter()
                    .flat_map(|(addr, len)| {
                        let start = (addr - testing::BASE) as usize;
                        bytes[start..start + *len as usize].to_vec()
                    })
                    .collect()
            })
            .collect();
        prop_assert_eq!(units, testing::units(&regions, row_mask, &bytes));
    }
}
