use drdma_abi::work_request::{GRANULE, RegionType};

use super::*;
use crate::{
    memory::{Fragment, Segments},
    region::{Region, RowMask, decode_region, encode_region},
    rows::{Limit, Units},
};

fn column(offset: u64, kind: Kind) -> Entry {
    Entry { offset, lkey: 1, kind }
}

fn offsets() -> Kind {
    Kind::Offsets { log_entry: 2, data: 1000, lkey: 2 }
}

fn views(count: u32) -> Kind {
    Kind::Views { table: 3000, count, lkey: 3 }
}

fn dictionary() -> Kind {
    Kind::Dictionary { log_entry: 1, values: 2000, width: 3, count: 4, lkey: 4 }
}

fn bitmapped(entries: Vec<Entry>) -> Region {
    Region::Kinds(Kinds {
        rows: Selection::Bitmap { bitmap: 50, first: 3, rows: 9, lkey: 1 },
        entries,
    })
}

fn bytes(region: &Region) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_region(region, &mut bytes);
    bytes
}

#[test]
fn what_is_written_is_what_is_read() {
    let kinds =
        [Kind::Fixed { width: 77 }, Kind::Bits { first: 5 }, offsets(), views(4096), dictionary()];
    let columns = bitmapped(kinds.map(|kind| column(0x1234, kind)).to_vec());
    let extents = |rows| {
        let entry = |kind| Entry { offset: 7, lkey: 0, kind };
        let kinds = [Kind::Fixed { width: 1 }, offsets(), views(0), dictionary()];
        Region::Kinds(Kinds { rows, entries: kinds.map(entry).to_vec() })
    };
    let strided = extents(Selection::Periods { base: 9, period: 40, count: 3, lkey: 8 });
    let pointers = Selection::Pointers { pointers: 9, count: 3, lkey: 8, target_lkey: 7 };
    for region in [columns, strided, extents(pointers)] {
        let mut bytes = bytes(&region);
        bytes.extend([0xaa; GRANULE]);
        let (read, rest) = decode_region(region.kind(), &bytes).unwrap();
        assert_eq!((read, rest), (region, &[0xaa; GRANULE][..]));
    }
}

#[test]
fn a_field_that_a_kind_does_not_have_is_refused_by_name() {
    let good = |kind| bytes(&bitmapped(vec![column(0, kind)]));
    let refused = |kind: Kind, at: usize, value: u8| {
        let mut bytes = good(kind);
        bytes[at] = value;
        decode_region(RegionType::Bitmapped, &bytes).unwrap_err()
    };
    // Behind header and shape: the element's width, its kind and log_entry, then its source.
    let (width, code, source) = (32 + 8, 32 + 11, 48);
    let field = |what, value| ShapeError::KindField { index: 0, what, value };
    assert_eq!(refused(Kind::Bits { first: 0 }, width, 8), field("first bit", 8));
    assert_eq!(refused(Kind::Bits { first: 0 }, source, 8), field("address of a source", 8));
    assert_eq!(refused(Kind::Fixed { width: 4 }, source + 8, 1), field("count of a source", 1));
    assert_eq!(refused(Kind::Fixed { width: 4 }, source + 12, 1), field("key of a source", 1));
    assert_eq!(refused(Kind::Fixed { width: 4 }, width, 0), ShapeError::EmptyElement(0));
    assert_eq!(refused(Kind::Fixed { width: 4 }, code, 5), ShapeError::Kind(0, 5));
    assert_eq!(refused(offsets(), code, 0x12), field("log_entry", 1));
    assert_eq!(refused(offsets(), code, 0x42), field("log_entry", 4));
    assert_eq!(refused(offsets(), width, 1), field("width", 1));
    assert_eq!(refused(views(4096), source + 8, 1), field("number of buffers", 4097));
    assert_eq!(refused(dictionary(), code, 0x44), field("log_entry", 4));
    assert_eq!(refused(dictionary(), width, 0), ShapeError::EmptyElement(0));
    // The shape: an invalid number of elements, and unknown flags.
    assert_eq!(refused(dictionary(), 16 + 12, 0), ShapeError::Elements(0));
    assert_eq!(refused(dictionary(), 16 + 12, 17), ShapeError::Elements(17));
    let flags = ShapeError::NotZero("flags", "bitmapped");
    assert_eq!(refused(dictionary(), 16 + 14, 0x33), flags, "fetch rows");
    let extent = Kinds {
        rows: Selection::Periods { base: 9, period: 40, count: 3, lkey: 8 },
        entries: vec![Entry { offset: 0, lkey: 0, kind: Kind::Bits { first: 0 } }],
    };
    let error = decode_region(RegionType::Strided, &bytes(&Region::Kinds(extent))).unwrap_err();
    assert_eq!(error, ShapeError::Kind(0, 1), "an extent is no bit");
}

/// Returns the values of every row, with the memory that entries may lead to in `sources`.
fn walk(
    region: &Region,
    sources: Vec<Source>,
    memory: &Segments,
) -> Result<Vec<Vec<Value>>, ValueError> {
    let limits = [Limit { records: None, sources: sources.into(), ids: None }];
    let regions = std::slice::from_ref(region);
    let mut units = Units::with_limits(regions, RowMask::Period, &limits);
    let (mut values, mut all) = (Vec::new(), Vec::new());
    while units.next_values(memory, &mut values).map_err(|(_, wrong)| wrong.error)? {
        all.push(values.clone());
    }
    Ok(all)
}

fn at(addr: u64, len: u32) -> Value {
    Value::Bytes(Fragment { addr, len })
}

#[test]
fn a_bitmap_and_bits_begin_at_any_bit() {
    // Rows 0 to 8 are bits 3 to 11 of the bitmap; row 5 begins its second byte. The bits around are
    // ignored.
    let memory =
        Segments::new().with(50, [0b0010_0111, 0b1111_1001]).with(70, [0b0100_0000, 0b0000_0100]);
    let region =
        bitmapped(vec![column(70, Kind::Bits { first: 6 }), column(0, Kind::Fixed { width: 2 })]);
    let rows = walk(&region, vec![], &memory).unwrap();
    let row = |row: u64, bit| vec![Value::Bit(bit), at(2 * row, 2)];
    assert_eq!(rows, [row(2, false), row(5, false), row(8, false)]);
    let memory = Segments::new().with(50, [0b0000_1000, 0b0001_0000]).with(70, [0b0100_0000, 0]);
    assert_eq!(walk(&region, vec![], &memory).unwrap(), [row(0, true)]);
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Makes a region of its first two rows.
fn two_rows(kind: Kind) -> Region {
    let rows = Selection::Bitmap { bitmap: 50, first: 0, rows: 2, lkey: 1 };
    Region::Kinds(Kinds { rows, entries: vec![column(100, kind)] })
}

#[test]
fn offsets_lead_to_what_lies_between_them() {
    let source = || vec![Source::Data(1000..1010)];
    let with = |offsets: &[u32]| Segments::new().with(50, [3]).with(100, words(offsets));
    let region = two_rows(offsets());
    let rows = walk(&region, source(), &with(&[2, 2, 10])).unwrap();
    assert_eq!(rows, [[Value::Length(0), at(1002, 0)], [Value::Length(8), at(1002, 8)]]);
    let error = walk(&region, source(), &with(&[4, 3, 3])).unwrap_err();
    assert_eq!(error, ValueError::Backwards { from: 4, to: 3 });
    let error = walk(&region, source(), &with(&[0, 1, 11])).unwrap_err();
    assert_eq!(error, ValueError::Outside { start: 1001, end: 1011 });
    assert!(matches!(walk(&region, source(), &with(&[0, 1])).unwrap_err(), ValueError::Fault(_)));
    assert!(error.to_string().contains("0x3e9..0x3f3"), "{error}");
}

#[test]
fn views_lead_to_themselves_or_to_a_buffer() {
    let source = || vec![Source::Buffers(vec![Buffer { addr: 5000, len: 20 }])];
    let with = |views: &[u32]| Segments::new().with(50, [3]).with(100, words(views));
    let region = two_rows(views(1));
    let rows = walk(&region, source(), &with(&[12, 1, 2, 3, 13, 9, 0, 7])).unwrap();
    assert_eq!(rows, [[Value::Length(12), at(104, 12)], [Value::Length(13), at(5007, 13)]]);
    let error = |second: [u32; 4]| {
        let [len, prefix, index, offset] = second;
        walk(&region, source(), &with(&[0, 0, 0, 0, len, prefix, index, offset])).unwrap_err()
    };
    assert_eq!(error([13, 0, 1, 0]), ValueError::NoBuffer { index: 1, count: 1 });
    assert_eq!(error([13, 0, 0, 8]), ValueError::BeyondBuffer { index: 0, end: 21, len: 20 });
    let end = u64::from(u32::MAX) * 2;
    let far = error([u32::MAX, 0, 0, u32::MAX]);
    assert_eq!(far, ValueError::BeyondBuffer { index: 0, end, len: 20 });
}

#[test]
fn an_index_leads_to_a_value_of_the_dictionary() {
    let with = |indices: [u8; 4]| Segments::new().with(50, [3]).with(100, indices);
    let region = two_rows(dictionary());
    assert_eq!(walk(&region, vec![], &with([3, 0, 0, 0])).unwrap(), [[at(2009, 3)], [at(2000, 3)]]);
    let error = walk(&region, vec![], &with([3, 0, 4, 0])).unwrap_err();
    assert_eq!(error, ValueError::NoValue { index: 4, count: 4 });
    let error = walk(&region, vec![], &with([3, 1, 0, 0])).unwrap_err();
    assert_eq!(error, ValueError::NoValue { index: 259, count: 4 }, "all bytes of it count");
}
