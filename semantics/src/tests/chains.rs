use drdma_abi::work_request::{Chain, GRANULE, MAX_CHAIN, RegionType, shape_flags};

use super::*;
use crate::{
    memory::{Fragment, HostMemory as _, Segments},
    region::{Region, RowMask, decode_region, encode_region},
    rows::{Limit, Units},
};

/// Records of 16 B from 1000 on: a pointer to the next one, and a number.
const RECORDS: u64 = 1000;

fn record(index: u64) -> u64 {
    RECORDS + 16 * index
}

/// Memory of records with these pointers to the next ones; the heads of chains lie from 100 on.
fn memory(heads: &[u64], next: &[u64]) -> Segments {
    let records = next.iter().enumerate().flat_map(|(i, next)| [*next, i as u64]);
    let bytes = |words: Vec<u64>| words.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<_>>();
    Segments::new().with(100, bytes(heads.to_vec())).with(RECORDS, bytes(records.collect()))
}

fn region(count: u32, chain: Chain) -> Region {
    let rows = Selection::Chains { pointers: 100, count, lkey: 1, target_lkey: 2, chain };
    let entry = Entry { offset: 8, lkey: 0, kind: Kind::Fixed { width: 1 } };
    Region::Kinds(Kinds { rows, entries: vec![entry] })
}

/// Returns the numbers of the records that are walked.
fn walk(region: &Region, memory: &Segments) -> Result<Vec<u8>, (u64, ValueError)> {
    let records = Some(u128::from(RECORDS)..u128::from(record(8)));
    let limits = [Limit { records, ..Limit::default() }];
    let mut units = Units::with_limits(std::slice::from_ref(region), RowMask::Period, &limits);
    let (mut values, mut found) = (Vec::new(), Vec::new());
    while units.next_values(memory, &mut values).map_err(|(_, wrong)| (wrong.row, wrong.error))? {
        let [Value::Bytes(Fragment { addr, len: 1 })] = values[..] else { panic!("{values:?}") };
        let mut byte = [0];
        memory.read(addr, &mut byte).unwrap();
        found.extend(byte);
    }
    assert!(!units.next_values(memory, &mut values).unwrap(), "the end stays the end");
    Ok(found)
}

const CHAIN: Chain = Chain { end: 0, next: 0, limit: 3 };

#[test]
fn chains_are_walked_one_after_another_up_to_their_ends() {
    let heads = [0, record(3), 0, record(1), record(0), 0];
    let memory = memory(&heads, &[record(5), record(2), record(5), 0, 0, 0]);
    assert_eq!(walk(&region(6, CHAIN), &memory), Ok(vec![3, 1, 2, 5, 0, 5]));
}

#[test]
fn a_chain_has_as_many_records_as_it_may_and_not_one_more() {
    let memory = memory(&[record(0)], &[record(1), record(2), 77, 0]);
    let to = |limit| region(1, Chain { end: 77, limit, ..CHAIN });
    assert_eq!(walk(&to(3), &memory), Ok(vec![0, 1, 2]));
    assert_eq!(walk(&to(2), &memory), Err((0, ValueError::TooLong { limit: 2 })));
}

#[test]
fn a_chain_without_an_end_is_an_error() {
    let memory = memory(&[0, record(0)], &[record(1), record(0)]);
    let endless = region(2, Chain { limit: 1000, ..CHAIN });
    assert_eq!(walk(&endless, &memory), Err((1, ValueError::TooLong { limit: 1000 })));
}

#[test]
fn records_and_pointers_lie_where_they_may() {
    let outside = |start: u64, len: u64| ValueError::Outside {
        start: start.into(),
        end: u128::from(start) + u128::from(len),
    };
    let lost = memory(&[record(0)], &[record(9), 0]);
    assert_eq!(walk(&region(1, CHAIN), &lost), Err((0, outside(record(9) + 8, 1))));
    // The record's data are inside of the target, its pointer is not.
    let last = memory(&[record(7)], &[0; 8]);
    let behind = Chain { next: 16, ..CHAIN };
    assert_eq!(walk(&region(1, behind), &last), Err((0, outside(record(8), 8))));
    let top = memory(&[u64::MAX - 7], &[0]);
    let start = u128::from(u64::MAX) + 1;
    let wrapped = ValueError::Outside { start, end: start + 1 };
    assert_eq!(walk(&region(1, CHAIN), &top), Err((0, wrapped)));
    // The key allows this memory, but it is not mapped.
    let short = memory(&[record(1)], &[0]);
    assert!(matches!(walk(&region(1, CHAIN), &short), Err((0, ValueError::Fault(_)))));
    let heads = walk(&region(2, CHAIN), &memory(&[0], &[0]));
    assert!(matches!(heads, Err((0, ValueError::Fault(_)))), "{heads:?}");
}

#[test]
fn what_is_written_is_what_is_read_and_a_limit_has_limits() {
    let encoded = |chain| {
        let mut bytes = Vec::new();
        encode_region(&region(6, chain), &mut bytes);
        bytes.extend([0xaa; GRANULE]);
        bytes
    };
    let chain = Chain { end: u64::MAX, next: u32::MAX, limit: MAX_CHAIN };
    let bytes = encoded(chain);
    let (read, rest) = decode_region(RegionType::PointerMapped, &bytes).unwrap();
    assert_eq!((read, rest), (region(6, chain), &[0xaa; GRANULE][..]));
    for limit in [0, MAX_CHAIN + 1] {
        let bytes = encoded(Chain { limit, ..chain });
        let error = decode_region(RegionType::PointerMapped, &bytes).unwrap_err();
        assert_eq!(error, ShapeError::ChainLimit(limit));
    }
    // Only pointer-mapped regions have chains, and only if their elements have kinds.
    for kind in [RegionType::Strided, RegionType::Bitmapped] {
        assert!(decode_region(kind, &bytes).is_err(), "{kind:?}");
    }
    let mut plain = bytes;
    plain[16 + 14] &= !(shape_flags::COLUMN_KINDS as u8);
    let error = decode_region(RegionType::PointerMapped, &plain).unwrap_err();
    assert_eq!(error, ShapeError::NotZero("flags", "pointer-mapped"));
}
