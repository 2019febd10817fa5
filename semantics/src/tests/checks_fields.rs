//! Checks of payloads in entries, and of the fields that types of regions have and have not.

use super::*;

/// An inline request of `len` bytes to queue pair 0, changed, and posted to its own queue.
fn inline(
    len: usize,
    head: &dyn Fn(&mut WqeHeader),
    destination: &dyn Fn(&mut DestinationHead),
) -> Result<(Request, Vec<Admitted>), Failure> {
    let payload = (1..=len as u8).collect();
    let mut bytes = entry(&Request { inline: Some(payload), ..send(0, vec![]) });
    let mut first = WqeHeader::decode(&bytes);
    head(&mut first);
    first.encode(&mut bytes);
    let mut second = DestinationHead::decode(&bytes[32..]);
    destination(&mut second);
    second.encode(&mut bytes[32..]);
    bytes.resize(first.granules as usize * GRANULE, 0);
    check(&bytes, &OWN)
}

#[test]
fn a_payload_in_the_entry_is_one_message_whatever_the_rows_say() {
    for len in [0, 1, 15, 16, 17, 64] {
        let rows = |head: &mut WqeHeader| {
            head.rows_per_message = 1000;
            head.flags |= flags::ELEMENT_MASK | flags::UNSIGNALED;
        };
        let (request, admitted) = inline(len, &rows, &|_| {}).unwrap();
        assert_eq!(request.inline, Some((1..=len as u8).collect()));
        assert_eq!(request.destinations[0].regions, []);
        let messages = &admitted[0].messages;
        assert_eq!((messages.count(), messages.bytes()), (1, len as u128));
    }
}

#[test]
fn what_is_wrong_with_a_payload_in_the_entry_is_told() {
    let same = |_: &mut DestinationHead| {};
    let reason = |failure: Failure| (failure.status, failure.queue_pair, failure.reason);
    let refused = |len, head: &dyn Fn(&mut WqeHeader), to: &dyn Fn(&mut DestinationHead)| {
        reason(inline(len, head, to).unwrap_err())
    };
    let (bad, pair) = (Status::LocalQpOperationError, Some(0));
    let field = |field, value| (bad, None, Reason::Destination { field, value });
    for value in [65, 255] {
        let found = refused(8, &|_| {}, &|d| d.inline_bytes = value);
        assert_eq!(found, field("inline_bytes", value.into()));
    }
    assert_eq!(refused(8, &|_| {}, &|d| d.regions = 1), field("regions", 1));
    assert_eq!(refused(8, &|_| {}, &|d| d.types = 1), field("types", 1));
    assert_eq!(refused(8, &|_| {}, &|d| d.reserved2 = 1), field("reserved2", 1));
    // The entry is too short for the payload, or too long.
    for (len, granules) in [(8, 4), (17, 5), (64, 7), (8, 6), (64, 9), (0, 5)] {
        let found = refused(len, &|head| head.granules = granules, &same);
        assert_eq!(found, (bad, pair, Reason::Length { granules }), "{len} B, {granules} granules");
    }
    // Shared queues take no inline payload.
    let shared = entry(&Request { inline: Some(vec![1]), ..send(0, vec![]) });
    let flags = u64::from(flags::INLINE);
    let expected = (bad, None, Reason::Head { field: "flags", value: flags });
    assert_eq!(reason(check(&shared, &SHARED).unwrap_err()), expected);
}

#[test]
fn lengths_widths_periods_and_element_lists_of_nothing_are_refused() {
    let strided = |period, pattern| {
        send(0, vec![Region::Strided { base: 0x1000, period, count: 1, lkey: 1, pattern }])
    };
    assert_eq!(verdict(&strided(1, extents(&[(0, 1)]))), Ok(()));
    assert_eq!(verdict(&strided(0, extents(&[(0, 1)]))), QP_ERROR);
    assert_eq!(verdict(&strided(1, extents(&[(0, 1), (0, 0)]))), QP_ERROR);
    assert_eq!(verdict(&strided(1, vec![])), QP_ERROR);
    assert_eq!(verdict(&strided(1, extents(&[(0, 1); 16]))), Ok(()));
    assert_eq!(verdict(&strided(1, extents(&[(0, 1); 17]))), QP_ERROR);
    assert_eq!(verdict(&send(0, vec![contiguous(0x1000, 0, 1)])), QP_ERROR);
    assert_eq!(verdict(&send(0, vec![contiguous(0x1000, 1, 1); 16])), Ok(()));
    assert_eq!(verdict(&send(0, vec![contiguous(0x1000, 1, 1); 17])), QP_ERROR);
}

#[test]
fn fields_that_a_type_does_not_have_must_be_0() {
    let shape_at = 32 + 32 + 16;
    let with = |region: Region, change: &dyn Fn(&mut [u8])| {
        let mut bytes = entry(&send(0, vec![region]));
        change(&mut bytes[shape_at..]);
        check(&bytes, &SHARED).map(|_| ()).map_err(|f| f.reason)
    };
    let strided = || Region::Strided {
        base: 0x1000,
        period: 1,
        count: 1,
        lkey: 1,
        pattern: extents(&[(0, 1)]),
    };
    let bitmapped = || Region::Bitmapped {
        bitmap: 0x1000,
        rows: 1,
        lkey: 1,
        columns: vec![Column { base: 0x1000, width: 1, lkey: 1 }],
        fetch_rows: None,
    };
    let not_zero = |result: Result<(), Reason>, name: &str| match result {
        Err(Reason::Shape { error: ShapeError::NotZero(field, _), .. }) => assert_eq!(field, name),
        other => panic!("{name}: {other:?}"),
    };
    not_zero(with(strided(), &|shape| shape[8] = 1), "target_lkey");
    not_zero(with(strided(), &|shape| shape[14] = 1), "flags");
    not_zero(with(strided(), &|shape| shape[16 + 12] = 1), "an extent's lkey");
    not_zero(with(bitmapped(), &|shape| shape[0] = 1), "period");
    not_zero(with(bitmapped(), &|shape| shape[8] = 1), "target_lkey");
    not_zero(with(bitmapped(), &|shape| shape[14] = 4), "flags");
    not_zero(with(bitmapped(), &|shape| shape[15] = 1), "flags");
    assert_eq!(with(bitmapped(), &|_| ()), Ok(()));
}
