//! Checks of partitioned requests.

use super::*;
use proptest::prelude::*;

/// Eight rows: the ids of one byte at 0x1100 are all 0xff, a column of four bytes at 0x2000.
fn region() -> Partitioned {
    let columns = vec![Column { base: 0x2000, width: 4, lkey: 2 }];
    Partitioned { ids: 0x1100, width: 1, rows: 8, lkey: 1, columns, entries: vec![], by: None }
}

fn to(qp: u32, partition: u16) -> Destination {
    Destination { partition, ..destination(qp, vec![]) }
}

fn partitioned(region: Partitioned, destinations: Vec<Destination>) -> Request {
    Request { partitioned: Some(region), ..request(destinations) }
}

fn failure(request: &Request) -> Failure {
    check(&entry(request), &SHARED).unwrap_err()
}

#[test]
fn a_partitioned_request_is_read_back_as_it_was_written() {
    let written = Request {
        opcode: Opcode::WriteImm,
        imm: 5,
        rows_per_message: 3,
        fetch: Some(FetchPlan { log_max_read: 6, merge_threshold: 0 }),
        ..partitioned(region(), vec![to(0, 0xff), to(4, 0)])
    };
    for row_mask in [RowMask::Period, RowMask::Element] {
        let written = Request { row_mask, ..written.clone() };
        let (read, admitted) = check(&entry(&written), &SHARED).unwrap();
        assert_eq!(read, written);
        let messages = |i: usize| (admitted[i].messages.units(), admitted[i].messages.count());
        assert_eq!([messages(0), messages(1)], [(8, 3), (0, 0)]);
        assert_eq!(admitted[0].messages.longest(), 12);
    }
}

#[test]
fn only_shared_queues_take_partitioned_requests() {
    let request = partitioned(region(), vec![to(0, 0)]);
    assert!(check(&entry(&request), &SHARED).is_ok());
    let failure = check(&entry(&request), &OWN).unwrap_err();
    assert_eq!(failure.reason, Reason::Head { field: "flags", value: 2 });
    assert_eq!(failure.queue_pair, None);
}

#[test]
fn a_malformed_partitioned_region_is_no_queue_pairs_fault() {
    let changes: [(&str, Partitioned); 5] = [
        ("width 0", Partitioned { width: 0, ..region() }),
        ("width 3", Partitioned { width: 3, ..region() }),
        ("no column", Partitioned { columns: vec![], ..region() }),
        ("17 columns", Partitioned { columns: vec![region().columns[0]; 17], ..region() }),
        (
            "a column of 0 bytes",
            Partitioned { columns: vec![Column { width: 0, ..region().columns[0] }], ..region() },
        ),
    ];
    for (name, region) in changes {
        let failure = failure(&partitioned(region, vec![to(0, 0), to(4, 1)]));
        assert_eq!(failure.status, Status::LocalQpOperationError, "{name}");
        assert_eq!((failure.destination, failure.queue_pair), (0, None), "{name}");
        let which = Which::Partitioned;
        assert!(
            matches!(failure.reason, Reason::Shape { region, .. } if region == which),
            "{name}: {}",
            failure.reason
        );
    }
}

#[test]
fn ids_and_all_values_must_be_in_the_memory_of_their_keys() {
    let of = |region| verdict(&partitioned(region, vec![to(0, 0)]));
    let column = |base, width, lkey| vec![Column { base, width, lkey }];
    assert_eq!(of(Partitioned { ids: 0x1ff8, ..region() }), Ok(()));
    assert_eq!(of(Partitioned { ids: 0x1ff9, ..region() }), PROTECTION);
    assert_eq!(of(Partitioned { ids: 0x1ff0, width: 2, ..region() }), Ok(()));
    assert_eq!(of(Partitioned { ids: 0x1ff1, width: 2, ..region() }), PROTECTION);
    assert_eq!(of(Partitioned { ids: 0xfff, ..region() }), PROTECTION);
    assert_eq!(of(Partitioned { ids: u64::MAX, ..region() }), PROTECTION);
    assert_eq!(of(Partitioned { lkey: 9, ..region() }), PROTECTION);
    assert_eq!(of(Partitioned { lkey: 2, ..region() }), PROTECTION);
    assert_eq!(of(Partitioned { columns: column(0x2fe0, 4, 2), ..region() }), Ok(()));
    // No row goes to partition 0, but all values are checked.
    assert_eq!(of(Partitioned { columns: column(0x2fe1, 4, 2), ..region() }), PROTECTION);
    assert_eq!(of(Partitioned { columns: column(0x2000, 4, 1), ..region() }), PROTECTION);
    assert_eq!(of(Partitioned { columns: column(0x2000, 4, 9), ..region() }), PROTECTION);
    assert_eq!(of(Partitioned { columns: column(u64::MAX, 1, 3), ..region() }), PROTECTION);
    let all = column(0x2000, u32::MAX, 2);
    assert_eq!(of(Partitioned { rows: u32::MAX, columns: all.clone(), ..region() }), PROTECTION);
    // Without rows, no memory is covered, and no key is checked.
    let none = Partitioned { ids: 0, rows: 0, lkey: 9, columns: all, ..region() };
    assert_eq!(of(none), Ok(()));

    let failure = failure(&partitioned(Partitioned { ids: 0x1ff9, ..region() }, vec![to(0, 0)]));
    assert_eq!(failure.queue_pair, None);
    assert_eq!(
        failure.reason.to_string(),
        "the partitioned region, ids: bytes 0x1ff9..0x2001 are not in the memory of key 0x1"
    );
}

#[test]
fn destinations_have_a_partition_of_their_own_and_no_region() {
    let two =
        |region, first, second| verdict(&partitioned(region, vec![to(0, first), to(4, second)]));
    let second = Err((Status::LocalQpOperationError, 1));
    assert_eq!(two(region(), 0, 255), Ok(()));
    assert_eq!(two(region(), 255, 255), second);
    assert_eq!(two(region(), 0, 256), second, "ids of one byte");
    let wide = || Partitioned { width: 2, ..region() };
    assert_eq!(two(wide(), 255, 256), Ok(()));
    assert_eq!(two(wide(), u16::MAX, u16::MAX), second);
    let with_region =
        Destination { partition: 1, ..destination(4, vec![contiguous(0x1000, 1, 1)]) };
    let failure = failure(&partitioned(region(), vec![to(0, 0), with_region]));
    assert_eq!(failure.reason, Reason::Destination { field: "regions", value: 1 });
    assert_eq!((failure.destination, failure.queue_pair), (1, None));

    let mut bytes = entry(&partitioned(region(), vec![to(0, 0)]));
    let at = bytes.len() - DestinationHead::SIZE;
    let mut head = DestinationHead::decode(&bytes[at..]);
    head.types = 1;
    head.encode(&mut bytes[at..]);
    let failure = check(&bytes, &SHARED).unwrap_err();
    assert_eq!(failure.reason, Reason::Destination { field: "types", value: 1 });
}

#[test]
fn a_destination_needs_no_partition_without_a_partitioned_region() {
    let one = Destination { partition: 1, ..destination(0, vec![]) };
    assert_eq!(verdict(&request(vec![one])), QP_ERROR);
}

#[test]
fn the_region_comes_before_the_destinations() {
    let bad_memory = Partitioned { lkey: 9, ..region() };
    let bad_shape = Partitioned { width: 3, ..bad_memory.clone() };
    let flushed = vec![to(2, 0)];
    assert_eq!(verdict(&partitioned(bad_shape, flushed.clone())), QP_ERROR);
    assert_eq!(verdict(&partitioned(bad_memory, flushed.clone())), PROTECTION);
    assert_eq!(verdict(&partitioned(region(), flushed)), Err((Status::WrFlushError, 0)));
    // Partitions are compared before the queue pair is checked.
    assert_eq!(
        verdict(&partitioned(region(), vec![to(0, 3), to(2, 3)])),
        Err((Status::LocalQpOperationError, 1))
    );
    // Ids are checked before columns: the error names the first failure.
    let both =
        Partitioned { ids: 0, columns: vec![Column { base: 7, width: 1, lkey: 2 }], ..region() };
    let reason = failure(&partitioned(both, vec![to(0, 0)])).reason;
    assert!(matches!(reason, Reason::Memory { start: 0, lkey: 1, .. }), "{reason}");
}

#[test]
fn messages_of_a_partition_fit_like_others() {
    let of = |qp, partition, rows_per_message| {
        let columns = vec![Column { base: 0x2000, width: 64, lkey: 2 }];
        let region = Partitioned { columns, ..region() };
        let destinations = vec![to(0, 1), to(qp, partition)];
        let request = partitioned(region, destinations);
        verdict(&Request { rows_per_message, ..request })
    };
    // All eight rows go to 0xff, on a datagram queue pair of MTU 256.
    assert_eq!(of(1, 0xff, 4), Ok(()));
    assert_eq!(of(1, 0xff, 5), Err((Status::LocalLengthError, 1)));
    assert_eq!(of(1, 0, 5), Ok(()));
    assert_eq!(of(4, 0xff, 5), Ok(()));
}

#[test]
fn unreadable_ids_are_the_first_destinations() {
    // Key 3 covers every address, but only 0x1000 to 0x3000 is mapped.
    let region = Partitioned { ids: 0x10_0000, lkey: 3, ..region() };
    let failure = failure(&partitioned(region, vec![to(4, 0), to(0, 1)]));
    assert_eq!(failure.status, Status::LocalProtectionError);
    assert_eq!((failure.destination, failure.queue_pair), (0, Some(4)));
    assert!(matches!(failure.reason, Reason::Read { region: Which::Partitioned, .. }));
}

#[test]
fn a_partitioned_entry_ends_where_its_head_says() {
    let good = entry(&partitioned(region(), vec![to(0, 0), to(4, 1)]));
    // The head has 2 granules, the region 3, the destinations 4.
    for granules in 2..12 {
        let mut bytes = good.clone();
        bytes.resize(12 * GRANULE, 0);
        let mut head = WqeHeader::decode(&bytes);
        head.granules = granules;
        head.encode(&mut bytes);
        let result = check(&bytes, &SHARED);
        if granules == 9 {
            assert!(result.is_ok());
            continue;
        }
        let failure = result.unwrap_err();
        assert_eq!(failure.status, Status::LocalQpOperationError, "{granules} granules");
        let (destination, queue_pair) = match granules {
            ..7 => (0, None),
            7 | 8 => (1, None),
            _ => (1, Some(4)),
        };
        assert_eq!((failure.destination, failure.queue_pair), (destination, queue_pair));
    }
}

proptest! {
    /// A damaged entry is refused with a status, or means something else; the queue
    /// pair at fault is one that it names.
    #[test]
    fn damaged_partitioned_entries_are_judged(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        width in 1u64..=2,
    ) {
        let request = partitioned(Partitioned { width, ..region() }, vec![to(0, 0xff), to(4, 1)]);
        let mut bytes = entry(&request);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let named: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
        if let Err(failure) = check(&bytes, &SHARED) {
            let possible = [
                Status::LocalQpOperationError,
                Status::LocalProtectionError,
                Status::LocalLengthError,
                Status::WrFlushError,
            ];
            prop_assert!(possible.contains(&failure.status), "{failure}");
            prop_assert!(failure.queue_pair.is_none_or(|qp| named.contains(&qp)), "{failure}");
        }
    }
}
