//! Checks of requests whose partitions are made from keys, and of chains.

use drdma_abi::work_request::{Chain, KeyType};

use super::*;
use crate::{
    keys::{Function, Key, PartitionBy, Validity},
    kinds::{Entry, Kind, Kinds, Selection, ValueError},
    partitioned::Partitioned,
};

/// Eight rows of a key of four bytes at 0x2000, all 0, and of a column of a byte at 0x1200.
fn by(function: Function, partitions: u32) -> PartitionBy {
    let entry = Entry { offset: 0x2000, lkey: 2, kind: Kind::Fixed { width: 4 } };
    let key = Key { entry, key_type: KeyType::Integer, validity: None };
    PartitionBy { function, partitions, group: 1, keys: vec![key] }
}

fn hash() -> PartitionBy {
    by(Function::Murmur3 { seed: 42 }, 200)
}

fn made(by: PartitionBy) -> Partitioned {
    let columns = vec![Column { base: 0x1200, width: 1, lkey: 1 }];
    let (ids, lkey) = if by.splitters().0 > 0 { (0x1100, 1) } else { (0, 0) };
    Partitioned { ids, width: 0, rows: 8, lkey, by: Some(by), columns, entries: vec![] }
}

fn keyed(by: PartitionBy, change: impl Fn(&mut Key)) -> Partitioned {
    let mut by = by;
    by.keys.iter_mut().for_each(change);
    made(by)
}

fn request(region: Partitioned, partitions: [u16; 2]) -> Request {
    let to = |qp, partition| Destination { partition, ..destination(qp, vec![]) };
    let destinations = vec![to(0, partitions[0]), to(4, partitions[1])];
    Request { partitioned: Some(region), ..super::request(destinations) }
}

fn failed(region: Partitioned) -> Failure {
    check(&entry(&request(region, [0, 1])), &SHARED).unwrap_err()
}

/// The hash of the int 0 with seed 42.
const ZERO: u32 = 0x379f_ae8f;

#[test]
fn each_destination_gets_the_rows_of_its_partition() {
    let ours = (ZERO % 200) as u16;
    let written = request(made(hash()), [ours, ours ^ 1]);
    let (read, admitted) = check(&entry(&written), &SHARED).unwrap();
    assert_eq!(read, written);
    assert_eq!([0, 1].map(|i: usize| admitted[i].messages.units()), [8, 0]);
    assert_eq!(admitted[0].limits[0].ids.as_deref(), Some(&[ours; 8][..]));
    let grouped = made(PartitionBy { group: 100, ..hash() });
    let written = request(grouped, [0, 1]);
    let (_, admitted) = check(&entry(&written), &SHARED).unwrap();
    let units = [0, 1].map(|i: usize| admitted[i].messages.units());
    assert_eq!(units, if ours < 100 { [8, 0] } else { [0, 8] });
    // The splitters are 0xffffffff, -1: all of them are less than every key.
    let range = made(by(Function::Range, 5));
    let (_, admitted) = check(&entry(&request(range, [4, 0])), &SHARED).unwrap();
    assert_eq!([0, 1].map(|i: usize| admitted[i].messages.units()), [8, 0]);
}

#[test]
fn a_partition_that_is_not_made_is_none() {
    let refused = |by, partition| {
        let bytes = entry(&request(made(by), [0, partition]));
        check(&bytes, &SHARED).map(|_| ()).map_err(|failure| failure.reason)
    };
    let beyond = |value| Err(Reason::Destination { field: "partition", value });
    assert_eq!(refused(hash(), 199), Ok(()));
    assert_eq!(refused(hash(), 200), beyond(200));
    let grouped = || PartitionBy { group: 150, ..hash() };
    assert_eq!(refused(grouped(), 1), Ok(()));
    assert_eq!(refused(grouped(), 2), beyond(2));
    assert_eq!(refused(by(Function::Murmur3 { seed: 0 }, 1 << 16), u16::MAX), Ok(()));
}

#[test]
fn keys_splitters_and_validity_lie_in_the_memory_of_their_keys() {
    let of = |region: Partitioned| match failed(region) {
        Failure { status: Status::LocalProtectionError, reason, .. } => match reason {
            Reason::Memory { region: Which::Partitioned, part, .. } => part,
            other => panic!("{other}"),
        },
        other => panic!("{other}"),
    };
    let validity = |bitmap, lkey, first| Some(Validity { bitmap, lkey, first });
    let at = |offset| keyed(hash(), move |key| key.entry.offset = offset);
    assert!(check(&entry(&request(at(0x2fe0), [0, 1])), &SHARED).is_ok());
    assert_eq!(of(at(0x2fe1)), Part::Key(0));
    assert_eq!(of(keyed(hash(), |key| key.entry.lkey = 9)), Part::Key(0));
    let kind = Kind::Dictionary { log_entry: 0, values: 0x2ff0, width: 4, count: 5, lkey: 2 };
    assert_eq!(of(keyed(hash(), |key| key.entry.kind = kind)), Part::Key(0));
    let of_bits = |v: Option<Validity>| keyed(hash(), move |key| key.validity = v);
    assert!(check(&entry(&request(of_bits(validity(0x1fff, 1, 0)), [0, 1])), &SHARED).is_ok());
    assert_eq!(of(of_bits(validity(0x1fff, 1, 1))), Part::Validity(0));
    assert_eq!(of(of_bits(validity(0x1fff, 9, 0))), Part::Validity(0));
    let range = |ids| Partitioned { ids, ..made(by(Function::Range, 5)) };
    assert!(check(&entry(&request(range(0x1ff0), [0, 1])), &SHARED).is_ok());
    assert_eq!(of(range(0x1ff1)), Part::Splitters);
    assert_eq!(of(Partitioned { lkey: 9, ..range(0x1100) }), Part::Splitters);
    // Without rows, no memory is checked; the shape is.
    let none = Partitioned { rows: 0, lkey: 9, ..range(0) };
    assert!(check(&entry(&request(none, [0, 1])), &SHARED).is_ok());
}

#[test]
fn a_key_that_leads_nowhere_is_the_first_destinations_failure() {
    let kind = Kind::Dictionary { log_entry: 0, values: 0x2000, width: 4, count: 0, lkey: 2 };
    let failure = failed(keyed(hash(), |key| key.entry.kind = kind));
    let seen = (failure.status, failure.destination, failure.queue_pair);
    assert_eq!(seen, (Status::LocalProtectionError, 0, Some(0)));
    let Reason::Key { row: 0, key: 0, error: ValueError::NoValue { .. }, .. } = failure.reason
    else {
        panic!("{failure}")
    };
    // Key 3 covers every address, but only 0x1000 to 0x3000 is mapped.
    let unread = Partitioned { ids: 0x10_0000, lkey: 3, ..made(by(Function::Range, 5)) };
    let failure = failed(unread);
    assert!(matches!(failure.reason, Reason::Read { region: Which::Partitioned, .. }), "{failure}");
}

/// Chains from two pointers at 0x1000, 0x2ff0 and 0x2000; records are 0 everywhere.
fn chains(next: u32, end: u64, limit: u32) -> Region {
    let chain = Chain { end, next, limit };
    let rows = Selection::Chains { pointers: 0x1000, count: 2, lkey: 1, target_lkey: 2, chain };
    let entry = Entry { offset: 0, lkey: 0, kind: Kind::Fixed { width: 4 } };
    Region::Kinds(Kinds { rows, entries: vec![entry] })
}

#[test]
fn chains_are_walked_before_anything_is_sent() {
    let of = |region| check(&entry(&send(0, vec![region])), &OWN);
    let (read, admitted) = of(chains(8, 0, 1)).unwrap();
    assert_eq!(read.destinations[0].regions, [chains(8, 0, 1)]);
    assert_eq!(admitted[0].messages.units(), 2);
    let value = |region| match of(region).unwrap_err() {
        Failure {
            status: Status::LocalProtectionError,
            destination: 0,
            queue_pair: Some(0),
            reason: Reason::Value { row, error, .. },
        } => (row, error),
        other => panic!("{other}"),
    };
    let outside = |start: u128, len| ValueError::Outside { start, end: start + len };
    assert_eq!(value(chains(9, 0, 1)), (0, outside(0x2ff9, 8)));
    // If 0 does not end a chain, it is the address of a record outside of the target.
    assert_eq!(value(chains(8, 1, 2)), (0, outside(0, 4)));
    assert_eq!(value(chains(8, 1, 1)), (0, ValueError::TooLong { limit: 1 }));
    // Checks of the array of pointers.
    let Region::Kinds(mut region) = chains(8, 0, 1) else { unreachable!() };
    let Selection::Chains { pointers, .. } = &mut region.rows else { unreachable!() };
    *pointers = 0x1ff1;
    let failure = of(Region::Kinds(region)).unwrap_err();
    assert!(matches!(failure.reason, Reason::Memory { part: Part::Pointers, .. }), "{failure}");
}
