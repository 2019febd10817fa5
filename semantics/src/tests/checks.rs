use std::collections::HashMap;

use super::*;
use crate::{
    granules::ShapeError,
    memory::Segments,
    region::{Column, Extent, FetchRows, Region},
    request::{FetchPlan, encode},
};
use drdma_abi::work_request::{BLOCK, RegionHeader, flags};

/// Queue pairs 0 (RC), 1 (UD, MTU 256), 2 (in error), 3 (never made ready), 4 (RC); memory regions
/// under key 1 (0x1000..0x2000), key 2 (0x2000..0x3000) and key 3 (0..2^64 - 1); queue pair 5 and key 4
/// (0..2^64 - 1) are of protection domain 1.
struct World {
    queue_pairs: HashMap<u32, QueuePair>,
    memory: Segments,
}

impl World {
    fn new() -> Self {
        let rc = QueuePair { ready: true, error: false, transport: Transport::Rc, mtu: 256, pd: 0 };
        let queue_pairs = HashMap::from([
            (0, rc),
            (1, QueuePair { transport: Transport::Ud, ..rc }),
            (2, QueuePair { error: true, ..rc }),
            (3, QueuePair { ready: false, ..rc }),
            (4, rc),
            (5, QueuePair { pd: 1, ..rc }),
        ]);
        let mut bytes = vec![0; 0x2000];
        bytes[..8].copy_from_slice(&0x2ff0u64.to_le_bytes());
        bytes[8..16].copy_from_slice(&0x2000u64.to_le_bytes());
        bytes[0x100..0x110].fill(0xff);
        Self { queue_pairs, memory: Segments::new().with(0x1000, bytes) }
    }
}

impl Directory for World {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        let (addr, len, pd) = match lkey {
            1 => (0x1000, 0x1000, 0),
            2 => (0x2000, 0x1000, 0),
            3 => (0, u64::MAX, 0),
            4 => (0, u64::MAX, 1),
            _ => return None,
        };
        Some(MemoryRegionEntry { addr, len, lkey, pd, valid: 1, ..MemoryRegionEntry::default() })
    }

    fn queue_pair(&self, qp: u32) -> Option<QueuePair> {
        self.queue_pairs.get(&qp).copied()
    }
}

#[path = "checks_fields.rs"]
mod fields;
#[path = "checks_keys.rs"]
mod keys;
#[path = "checks_partitioned.rs"]
mod partitioned;

/// Name of a field, and a change that makes it invalid.
type Change<'a, L> = (&'a str, &'a dyn Fn(&mut L));

const SHARED: Posted = Posted { position: 9, blocks: 1000, owner: None, pd: 0 };
const OWN: Posted = Posted { owner: Some(0), ..SHARED };

fn contiguous(addr: u64, len: u32, lkey: u32) -> Region {
    Region::Contiguous { addr, len, lkey }
}

fn extents(extents: &[(u64, u32)]) -> Vec<Extent> {
    extents.iter().map(|(offset, len)| Extent { offset: *offset, len: *len }).collect()
}

fn destination(qp: u32, regions: Vec<Region>) -> Destination {
    Destination {
        qp,
        remote_addr: 0,
        rkey: 0,
        partition: 0,
        layout: MessageLayout::Rows,
        remote_columns: vec![],
        regions,
    }
}

fn request(destinations: Vec<Destination>) -> Request {
    Request {
        wr_id: 7,
        opcode: Opcode::Send,
        imm: 0,
        row_mask: RowMask::Period,
        rows_per_message: 1,
        signaled: true,
        fetch: None,
        inline: None,
        partitioned: None,
        destinations,
    }
}

fn send(qp: u32, regions: Vec<Region>) -> Request {
    request(vec![destination(qp, regions)])
}

fn entry(request: &Request) -> Vec<u8> {
    let bytes = encode(request, SHARED.position);
    let granules = WqeHeader::decode(&bytes).granules as usize;
    bytes[..granules * GRANULE].to_vec()
}

fn check(entry: &[u8], posted: &Posted) -> Result<(Request, Vec<Admitted>), Failure> {
    let world = World::new();
    let request = check_entry(entry, posted, &world)?;
    let admitted = check_contents(&request, SHARED.pd, &world, &world.memory)?;
    Ok((request, admitted))
}

fn verdict(request: &Request) -> Result<(), (Status, u16)> {
    check(&entry(request), &SHARED).map(|_| ()).map_err(|f| (f.status, f.destination))
}

const QP_ERROR: Result<(), (Status, u16)> = Err((Status::LocalQpOperationError, 0));
const PROTECTION: Result<(), (Status, u16)> = Err((Status::LocalProtectionError, 0));
const LENGTH: Result<(), (Status, u16)> = Err((Status::LocalLengthError, 0));

#[test]
fn a_request_of_every_region_type_is_read_back_as_it_was_written() {
    let regions = vec![
        contiguous(0x1000, 100, 1),
        Region::Strided {
            base: 0x1000,
            period: 16,
            count: 2,
            lkey: 1,
            pattern: extents(&[(0, 8), (12, 4)]),
        },
        Region::Bitmapped {
            bitmap: 0x1100,
            rows: 9,
            lkey: 1,
            columns: vec![Column { base: 0x2000, width: 4, lkey: 2 }],
            fetch_rows: None,
        },
        Region::PointerMapped {
            pointers: 0x1000,
            count: 2,
            lkey: 1,
            target_lkey: 2,
            pattern: extents(&[(0, 16)]),
        },
    ];
    let written = Request {
        opcode: Opcode::WriteImm,
        imm: 5,
        row_mask: RowMask::Period,
        rows_per_message: 3,
        signaled: false,
        fetch: Some(FetchPlan { log_max_read: 12, merge_threshold: 4095 }),
        ..request(vec![
            Destination { remote_addr: 77, rkey: 8, ..destination(0, regions.clone()) },
            destination(4, vec![]),
        ])
    };
    let (read, admitted) = check(&entry(&written), &SHARED).unwrap();
    assert_eq!(read, written);
    // 1 + 2 + 9 + 2 rows.
    assert_eq!(admitted[0].messages.units(), 14);
    assert_eq!(admitted[1].messages.units(), 0);
}

#[test]
fn each_field_of_the_head_is_checked() {
    let good = entry(&send(0, vec![contiguous(0x1000, 1, 1)]));
    let plan = |h: &mut WqeHeader, log_max_read, threshold| {
        h.flags |= flags::FETCH_PLAN;
        (h.fetch_log_max_read, h.fetch_merge_threshold) = (log_max_read, threshold);
    };
    let changes: [Change<'_, WqeHeader>; 16] = [
        ("magic", &|h| h.magic = 0),
        ("opcode", &|h| h.opcode = 4),
        ("flags", &|h| h.flags = 16),
        ("fetch_log_max_read", &|h| h.fetch_log_max_read = 9),
        ("fetch_merge_threshold", &|h| h.fetch_merge_threshold = 1),
        ("fetch_log_max_read", &|h| plan(h, 5, 0)),
        ("fetch_log_max_read", &|h| plan(h, 13, 0)),
        ("fetch_merge_threshold", &|h| plan(h, 9, 4096)),
        ("rows_per_message", &|h| h.rows_per_message = 0),
        ("destinations", &|h| h.destinations = 0),
        ("destinations", &|h| h.destinations = 257),
        ("position", &|h| h.position = 8),
        ("granules", &|h| h.granules = 1),
        ("granules", &|h| h.granules = 4001),
        ("granules", &|h| h.granules = u32::MAX),
        ("granules", &|h| h.granules = MAX_WQE_GRANULES as u32 + 1),
    ];
    for (name, change) in changes {
        let mut bytes = good.clone();
        let mut head = WqeHeader::decode(&bytes);
        change(&mut head);
        head.encode(&mut bytes);
        let failure = check(&bytes, &SHARED).unwrap_err();
        assert_eq!((failure.status, failure.queue_pair), (Status::LocalQpOperationError, None));
        assert!(matches!(failure.reason, Reason::Head { field, .. } if field == name), "{name}");
    }
    for (log_max_read, threshold) in [(6, 0), (12, 4095)] {
        let mut bytes = good.clone();
        let mut head = WqeHeader::decode(&bytes);
        plan(&mut head, log_max_read, threshold);
        head.encode(&mut bytes);
        assert!(check(&bytes, &SHARED).is_ok());
    }
    let two = entry(&request(vec![destination(0, vec![]), destination(4, vec![])]));
    assert!(check(&two, &SHARED).is_ok());
    let failure = check(&two, &OWN).unwrap_err();
    assert_eq!(failure.reason, Reason::Head { field: "destinations", value: 2 });
}

/// Each key of a region in turn is one of another protection domain.
#[test]
fn a_queue_reaches_its_protection_domain_alone() {
    let bitmapped = |keys: [u32; 3]| Region::Bitmapped {
        bitmap: 0x1100,
        rows: 9,
        lkey: keys[0],
        columns: vec![Column { base: 0x2000, width: 4, lkey: keys[1] }],
        fetch_rows: Some(FetchRows { bitmap: 0x1100, lkey: keys[2] }),
    };
    let pointer_mapped = |lkey, target_lkey| Region::PointerMapped {
        pointers: 0x1000,
        count: 2,
        lkey,
        target_lkey,
        pattern: extents(&[(0, 16)]),
    };
    let regions = [
        (contiguous(0x1000, 100, 4), Part::Bytes),
        (bitmapped([4, 2, 1]), Part::Bitmap),
        (bitmapped([1, 4, 1]), Part::Column(0)),
        (bitmapped([1, 2, 4]), Part::FetchRows),
        (pointer_mapped(4, 2), Part::Pointers),
        (pointer_mapped(1, 4), Part::Record { row: 0, extent: 0 }),
    ];
    assert_eq!(verdict(&send(0, vec![bitmapped([1, 2, 1]), pointer_mapped(1, 2)])), Ok(()));
    for (region, part) in regions {
        let failure = check(&entry(&send(0, vec![region])), &SHARED).unwrap_err();
        assert_eq!(failure.status, Status::LocalProtectionError);
        let reason = Reason::Domain { region: Which::Own(0), part, lkey: 4 };
        assert_eq!(failure.reason, reason);
    }
    let failure = check(&entry(&send(5, vec![])), &SHARED).unwrap_err();
    assert_eq!(failure.status, Status::LocalQpOperationError);
    assert_eq!(
        failure.reason.to_string(),
        "queue pair 5 is in another protection domain than the queue"
    );
    let other = Posted { pd: 1, ..SHARED };
    assert!(
        check_entry(&entry(&send(5, vec![contiguous(0, 9, 4)])), &other, &World::new()).is_ok()
    );
}

#[test]
fn an_entry_longer_than_what_was_posted_is_refused() {
    let bytes = entry(&send(0, vec![contiguous(0x1000, 1, 1)]));
    assert_eq!(bytes.len(), BLOCK + GRANULE);
    assert!(check(&bytes, &Posted { blocks: 2, ..SHARED }).is_ok());
    let failure = check(&bytes, &Posted { blocks: 1, ..SHARED }).unwrap_err();
    assert_eq!(failure.reason, Reason::Head { field: "granules", value: 5 });
}

#[test]
fn the_queue_pair_decides_the_status() {
    let to = |qp| verdict(&send(qp, vec![]));
    assert_eq!(to(0), Ok(()));
    assert_eq!(to(2), Err((Status::WrFlushError, 0)));
    assert_eq!(to(3), QP_ERROR);
    assert_eq!(to(99), QP_ERROR);
    assert_eq!(verdict(&Request { opcode: Opcode::Write, ..send(1, vec![]) }), QP_ERROR);
    assert_eq!(verdict(&Request { opcode: Opcode::SendImm, ..send(1, vec![]) }), Ok(()));
    let twice = request(vec![destination(4, vec![]), destination(4, vec![])]);
    assert_eq!(verdict(&twice), Err((Status::LocalQpOperationError, 1)));
    assert!(check(&entry(&send(0, vec![])), &OWN).is_ok());
    let failure = check(&entry(&send(4, vec![])), &OWN).unwrap_err();
    assert_eq!(failure.queue_pair, None, "a foreign queue pair is left alone");
}

#[test]
fn each_field_of_a_destination_is_checked() {
    let good = entry(&send(0, vec![contiguous(0x1000, 1, 1)]));
    let changes: [Change<'_, DestinationHead>; 5] = [
        ("partition", &|d| d.partition = 1),
        ("reserved2", &|d| d.reserved2 = 1),
        ("inline_bytes", &|d| d.inline_bytes = 1),
        ("regions", &|d| d.regions = 17),
        ("types", &|d| d.types = 4),
    ];
    for (name, change) in changes {
        let mut bytes = good.clone();
        let mut head = DestinationHead::decode(&bytes[32..]);
        change(&mut head);
        head.encode(&mut bytes[32..]);
        let reason = check(&bytes, &SHARED).unwrap_err().reason;
        assert!(matches!(reason, Reason::Destination { field, .. } if field == name), "{name}");
    }
}

#[test]
fn fetch_rows_must_be_in_the_memory_of_their_key() {
    let with = |bitmap, lkey, rows| {
        let columns = vec![Column { base: 0x1000, width: 1, lkey: 1 }];
        let fetch_rows = Some(FetchRows { bitmap, lkey });
        verdict(&send(
            0,
            vec![Region::Bitmapped { bitmap: 0x1000, rows, lkey: 1, columns, fetch_rows }],
        ))
    };
    assert_eq!(with(0x1fff, 1, 8), Ok(()));
    assert_eq!(with(0x1fff, 1, 9), PROTECTION);
    assert_eq!(with(0xfff, 1, 8), PROTECTION);
    assert_eq!(with(0x1000, 9, 8), PROTECTION);
    assert_eq!(with(0, 9, 0), Ok(()), "none of no rows");
}

#[test]
fn every_covered_byte_must_be_in_the_memory_of_its_key() {
    let one = |addr, len, lkey| verdict(&send(0, vec![contiguous(addr, len, lkey)]));
    assert_eq!(one(0x1000, 0x1000, 1), Ok(()));
    assert_eq!(one(0x1000, 0x1001, 1), PROTECTION);
    assert_eq!(one(0xfff, 2, 1), PROTECTION);
    assert_eq!(one(0x1000, 1, 9), PROTECTION);
    assert_eq!(one(0x2000, 1, 1), PROTECTION);
    assert_eq!(one(u64::MAX, 2, 3), PROTECTION);

    let strided = |count, period, pattern: &[(u64, u32)]| {
        let pattern = extents(pattern);
        verdict(&send(0, vec![Region::Strided { base: 0x1ff0, period, count, lkey: 1, pattern }]))
    };
    assert_eq!(strided(16, 1, &[(0, 1)]), Ok(()));
    assert_eq!(strided(17, 1, &[(0, 1)]), PROTECTION);
    assert_eq!(strided(1, 1, &[(0, 1), (15, 2)]), PROTECTION);
    assert_eq!(strided(0, 1, &[(u64::MAX, u32::MAX)]), Ok(()), "no period covers nothing");
    assert_eq!(strided(u32::MAX, u64::MAX, &[(u64::MAX, u32::MAX)]), PROTECTION);

    let bitmapped = |bitmap, rows, base, key| {
        let columns = vec![Column { base, width: 4, lkey: key }];
        verdict(&send(
            0,
            vec![Region::Bitmapped { bitmap, rows, lkey: 1, columns, fetch_rows: None }],
        ))
    };
    assert_eq!(bitmapped(0x1fff, 8, 0x2000, 2), Ok(()));
    assert_eq!(bitmapped(0x1fff, 9, 0x2000, 2), PROTECTION, "nine bits are two bytes");
    assert_eq!(bitmapped(0x1fff, 8, 0x2fe1, 2), PROTECTION, "rows count if selected or not");
    assert_eq!(bitmapped(0x1fff, 8, 0x2fe0, 2), Ok(()));
    assert_eq!(bitmapped(0, 0, 0, 9), Ok(()));
}

#[test]
fn each_record_must_be_in_the_target_memory() {
    // The pointers at 0x1000 are 0x2ff0, 0x2000, then 0.
    let pointed = |pointers, count, offset, len, target_lkey| {
        let pattern = extents(&[(0, 1), (offset, len)]);
        let region = Region::PointerMapped { pointers, count, lkey: 1, target_lkey, pattern };
        verdict(&send(0, vec![region]))
    };
    assert_eq!(pointed(0x1000, 2, 0, 16, 2), Ok(()));
    assert_eq!(pointed(0x1000, 2, 0, 17, 2), PROTECTION);
    assert_eq!(pointed(0x1000, 2, 16, 1, 2), PROTECTION);
    assert_eq!(pointed(0x1000, 2, u64::MAX - 0x10, 1, 2), PROTECTION);
    assert_eq!(pointed(0x1000, 2, 0, 16, 1), PROTECTION);
    assert_eq!(pointed(0x1000, 3, 0, 16, 2), PROTECTION);
    assert_eq!(pointed(0x1000, 0, 0, 16, 99), Ok(()));
    assert_eq!(pointed(0x1ffc, 1, 0, 1, 2), PROTECTION, "the array itself");
}

#[test]
fn messages_fit_the_mtu_on_ud_and_2_gib_elsewhere() {
    let packed = |qp, len, rows_per_message| {
        let pattern = extents(&[(0, len)]);
        let region = Region::Strided { base: 0x1000, period: 1, count: 3, lkey: 1, pattern };
        verdict(&Request { rows_per_message, ..send(qp, vec![region]) })
    };
    assert_eq!(packed(1, 256, 1), Ok(()));
    assert_eq!(packed(1, 257, 1), LENGTH);
    assert_eq!(packed(1, 128, 2), Ok(()));
    assert_eq!(packed(1, 128, 3), LENGTH);
    assert_eq!(packed(0, 2048, 3), Ok(()));
    let big = |len| verdict(&send(0, vec![contiguous(0, len, 3)]));
    assert_eq!(big(1 << 31), Ok(()));
    assert_eq!(big((1 << 31) + 1), LENGTH);
}

#[test]
fn unequal_element_counts_fail_under_row_mask_element_only() {
    let regions = vec![
        contiguous(0x1000, 1, 1),
        Region::Strided {
            base: 0x1000,
            period: 1,
            count: 1,
            lkey: 1,
            pattern: extents(&[(0, 1), (0, 1)]),
        },
    ];
    let period = send(0, regions);
    assert_eq!(verdict(&period), Ok(()));
    assert_eq!(verdict(&Request { row_mask: RowMask::Element, ..period }), QP_ERROR);
}

#[test]
fn the_first_check_that_fails_gives_the_status() {
    let bad_memory = contiguous(0, 1, 1);
    let bad_shape = contiguous(0x1000, 0, 1);
    let good = contiguous(0x1000, 300, 1);
    let both =
        |first: &Region, second: &Region| verdict(&send(0, vec![first.clone(), second.clone()]));
    assert_eq!(both(&bad_memory, &bad_shape), PROTECTION);
    assert_eq!(both(&bad_shape, &bad_memory), QP_ERROR);
    // The first destination's memory is checked before the second one's queue pair.
    let two = |first, second: Destination| verdict(&request(vec![destination(0, first), second]));
    assert_eq!(two(vec![bad_memory.clone()], destination(2, vec![])), PROTECTION);
    assert_eq!(two(vec![], destination(2, vec![bad_memory])), Err((Status::WrFlushError, 1)));
    // Bitmaps and pointers are read after all other checks, and lengths are checked last.
    let bad_record = Region::PointerMapped {
        pointers: 0x1000,
        count: 1,
        lkey: 1,
        target_lkey: 1,
        pattern: extents(&[(0, 1)]),
    };
    assert_eq!(
        two(vec![bad_record.clone()], destination(4, vec![bad_shape])),
        Err((Status::LocalQpOperationError, 1))
    );
    let on_ud = send(1, vec![good.clone(), bad_record.clone()]);
    assert_eq!(verdict(&on_ud), PROTECTION);
    assert_eq!(verdict(&send(1, vec![good.clone()])), LENGTH);
    let unequal = Request {
        row_mask: RowMask::Element,
        ..send(
            1,
            vec![
                good.clone(),
                Region::Strided {
                    base: 0x1000,
                    period: 1,
                    count: 2,
                    lkey: 1,
                    pattern: extents(&[(0, 1)]),
                },
            ],
        )
    };
    assert_eq!(verdict(&unequal), QP_ERROR, "element counts come before lengths");
    assert_eq!(
        two(vec![good], destination(1, vec![contiguous(0x1000, 257, 1)])),
        Err((Status::LocalLengthError, 1))
    );
}

#[test]
fn an_entry_ends_where_its_head_says() {
    let good = entry(&send(0, vec![contiguous(0x1000, 1, 1)]));
    let mut longer = good.clone();
    longer.extend(RegionHeader::default().to_bytes());
    let mut head = WqeHeader::decode(&longer);
    head.granules += 1;
    head.encode(&mut longer);
    let failure = check(&longer, &SHARED).unwrap_err();
    assert_eq!(failure.reason, Reason::Length { granules: 6 });
    assert_eq!(failure.queue_pair, Some(0));
    for granules in 2..5 {
        let mut shorter = good.clone();
        let mut head = WqeHeader::decode(&shorter);
        head.granules = granules;
        head.encode(&mut shorter);
        let failure = check(&shorter, &SHARED).unwrap_err();
        assert_eq!(failure.status, Status::LocalQpOperationError, "{granules} granules");
    }
}

#[test]
fn billions_of_rows_are_refused_or_admitted_at_once() {
    let pattern = extents(&[(0, 1); 16]);
    let region = |lkey| Region::Strided {
        base: 0,
        period: 1,
        count: u32::MAX,
        lkey,
        pattern: pattern.clone(),
    };
    let start = std::time::Instant::now();
    assert_eq!(verdict(&send(0, vec![region(1); 16])), PROTECTION);
    assert_eq!(verdict(&send(0, vec![region(3); 16])), Ok(()));
    let packed = Request { rows_per_message: u32::MAX, ..send(0, vec![region(3); 16]) };
    assert_eq!(verdict(&packed), LENGTH);
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn a_request_has_at_most_256_destinations_and_1024_regions() {
    let mut world = World::new();
    let rc = world.queue_pairs[&0];
    world.queue_pairs.extend((0..257).map(|qp| (qp, rc)));
    let verdict = |regions: &[usize]| {
        let to =
            |(qp, count): (u32, &usize)| destination(qp, vec![contiguous(0x1000, 1, 1); *count]);
        let entry = entry(&request((0..).zip(regions).map(to).collect()));
        check_entry(&entry, &Posted { blocks: 1 << 16, ..SHARED }, &world)
            .map(|request| request.destinations.len())
            .map_err(|failure| (failure.status, failure.destination, failure.reason.to_string()))
    };
    let refused = |index, reason: &str| Err((Status::LocalQpOperationError, index, reason.into()));
    assert_eq!(verdict(&[4; 256]), Ok(256));
    assert_eq!(verdict(&[0; 257]), refused(0, "the head's destinations is 0x101"));
    assert_eq!(verdict(&[16; 64]), Ok(64));
    assert_eq!(
        verdict(&[[16; 64].as_slice(), &[0, 1]].concat()),
        refused(65, "the request's destinations up to here have 1025 regions, 1024 are possible")
    );
}
