use super::*;
use crate::{
    kinds::{Entry, Kind, Kinds, Selection},
    memory::Segments,
    region::{Column, Region, RowMask},
};

const ROWS: u32 = 5;

/// Five rows: a column of 2 B, one of bits, and strings of 0 to 4 B that stand in their views.
fn rows() -> (Region, Segments) {
    let view = |len: u8| {
        let mut view = vec![len, 0, 0, 0];
        view.extend((0..12).map(|i| 0x10 * (len + 1) + i));
        view
    };
    let memory = Segments::new()
        .with(10, [0x1f])
        .with(20, (0..10).collect::<Vec<u8>>())
        .with(40, [0b1101_0000])
        .with(60, (0..5).flat_map(view).collect::<Vec<u8>>());
    let column = |offset, kind| Entry { offset, lkey: 1, kind };
    let entries = vec![
        column(20, Kind::Fixed { width: 2 }),
        column(40, Kind::Bits { first: 3 }),
        column(60, Kind::Views { table: 0, count: 0, lkey: 0 }),
    ];
    let rows = Selection::Bitmap { bitmap: 10, first: 0, rows: ROWS, lkey: 1 };
    (Region::Kinds(Kinds { rows, entries }), memory)
}

fn shape(layout: MessageLayout, rows_per_message: u32) -> Shape {
    Shape { layout, remote_columns: 0, immediate: false, rows_per_message }
}

fn by_columns(remote_columns: usize, immediate: bool) -> Shape {
    Shape { remote_columns, immediate, ..shape(MessageLayout::Columns, 2) }
}

/// Returns every message: its column, and its bytes.
fn messages(
    region: &Region,
    shape: Shape,
    memory: &Segments,
) -> Result<Vec<(usize, Vec<u8>)>, Wrong> {
    let mut stream =
        MessageStream::new(Units::new(std::slice::from_ref(region), RowMask::Period), shape);
    let mut all = Vec::new();
    while let Some(begun) = stream.next(memory)? {
        // The message is filled in parts of any size, as for packets.
        let mut bytes = vec![0; begun.len as usize];
        for part in bytes.chunks_mut(3) {
            stream.fill(memory, part)?;
        }
        all.push((begun.column, bytes));
    }
    Ok(all)
}

#[test]
fn by_rows_a_length_stands_before_its_bytes_and_a_bit_takes_a_byte() {
    let (region, memory) = rows();
    let found = messages(&region, shape(MessageLayout::Rows, 3), &memory).unwrap();
    // The bits of rows 0 to 4 are 0, 1, 0, 1, 1.
    let first = [
        &[0, 1, 0, 0, 0, 0, 0][..],
        &[2, 3, 1, 1, 0, 0, 0, 0x20],
        &[4, 5, 0, 2, 0, 0, 0, 0x30, 0x31],
    ];
    let second = [
        &[6, 7, 1, 3, 0, 0, 0, 0x40, 0x41, 0x42][..],
        &[8, 9, 1, 4, 0, 0, 0, 0x50, 0x51, 0x52, 0x53],
    ];
    assert_eq!(found, [(0, first.concat()), (0, second.concat())]);
}

#[test]
fn by_columns_bits_share_bytes_and_lengths_stand_before_all_bytes() {
    let (region, memory) = rows();
    let found = messages(&region, shape(MessageLayout::Columns, 3), &memory).unwrap();
    let first = [
        &[0, 1, 2, 3, 4, 5, 0b010][..],
        &[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0],
        &[0x20, 0x30, 0x31],
    ];
    assert_eq!(found[0], (0, first.concat()));
    assert_eq!(found[1].1[..5], [6, 7, 8, 9, 0b11]);
    assert_eq!(found.len(), 2);
}

#[test]
fn a_write_by_columns_has_a_message_a_column_and_none_without_bytes() {
    let (region, memory) = rows();
    let found = messages(&region, by_columns(4, false), &memory).unwrap();
    let expected = [
        (0, vec![0, 1, 2, 3]),
        (1, vec![0b10]),
        (2, vec![0, 0, 0, 0, 1, 0, 0, 0]),
        (3, vec![0x20]),
        (0, vec![4, 5, 6, 7]),
        (1, vec![0b10]),
        (2, vec![2, 0, 0, 0, 3, 0, 0, 0]),
        (3, vec![0x30, 0x31, 0x40, 0x41, 0x42]),
        (0, vec![8, 9]),
        (1, vec![1]),
        (2, vec![4, 0, 0, 0]),
        (3, vec![0x50, 0x51, 0x52, 0x53]),
    ];
    assert_eq!(found, expected);
    // All strings have no bytes: that column is left out, unless the peer learns its number of rows
    // from it.
    let empty = memory.with(200, [0; 16]);
    let mut lone = region.clone();
    if let Region::Kinds(kinds) = &mut lone {
        kinds.rows = Selection::Bitmap { bitmap: 10, first: 0, rows: 1, lkey: 1 };
        kinds.entries.drain(..2);
        kinds.entries[0].offset = 200;
    }
    let lengths = (0, vec![0, 0, 0, 0]);
    let of = |immediate| messages(&lone, by_columns(2, immediate), &empty).unwrap();
    assert_eq!(of(false), vec![lengths.clone()]);
    assert_eq!(of(true), [lengths, (1, vec![])]);
}

#[test]
fn rows_that_do_not_match_the_remote_columns_are_refused() {
    let (region, memory) = rows();
    for expected in [3, 5] {
        let wrong = messages(&region, by_columns(expected, false), &memory).unwrap_err();
        assert_eq!(wrong, Wrong::Values { unit: 0, values: 4, expected });
    }
}

#[test]
fn bits_of_several_columns_and_regions_share_bytes_where_they_meet() {
    let (_, memory) = rows();
    let bits = |first| Entry { offset: 40, lkey: 1, kind: Kind::Bits { first } };
    let rows = Selection::Bitmap { bitmap: 10, first: 0, rows: 2, lkey: 1 };
    let region = |entries| Region::Kinds(Kinds { rows, entries });
    let wide = region((0..8).chain([4]).map(|first| bits(first % 7)).collect());
    // By rows: nine bits take two bytes a row.
    let found = messages(&wide, shape(MessageLayout::Rows, 2), &memory).unwrap();
    assert_eq!(found[0].1.len(), 4);
    assert_eq!(found[0].1[1] & 0xfe, 0, "padding");
    // Two regions, one behind the other: the same column continues.
    let regions = [region(vec![bits(4)]), region(vec![bits(6)])];
    let mut stream =
        MessageStream::new(Units::new(&regions, RowMask::Period), shape(MessageLayout::Columns, 4));
    assert_eq!(stream.next(&memory).unwrap().unwrap().len, 1);
    let mut byte = [0];
    stream.fill(&memory, &mut byte).unwrap();
    assert_eq!(byte, [0b1101], "bits 4 and 5, then 6 and 7");
}

#[test]
fn rows_that_are_gone_end_the_message() {
    let columns = vec![Column { base: 20, width: 2, lkey: 1 }];
    let region = Region::Bitmapped { bitmap: 10, rows: 5, lkey: 1, columns, fetch_rows: None };
    let (_, memory) = rows();
    let units = Units::new(std::slice::from_ref(&region), RowMask::Period);
    let mut stream = MessageStream::new(units, shape(MessageLayout::Columns, 5));
    assert_eq!(stream.next(&memory).unwrap().unwrap().len, 10);
    let fewer = Segments::new().with(10, [1]).with(20, [0; 10]);
    let mut bytes = [0; 10];
    assert_eq!(stream.fill(&fewer, &mut bytes), Err(Wrong::Lost));
}
