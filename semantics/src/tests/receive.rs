use drdma_abi::{receive::rights, register::MemoryRegionEntry, work_request::BLOCK};

use super::*;
use crate::{
    checks::QueuePair,
    memory::Segments,
    region::{Column, Extent},
};

const BASE: u64 = 0x1000;
const PD: u32 = 3;
/// Keys of the same kilobyte: one that allows everything, one that is only sent from, one of
/// another domain.
const OPEN: u32 = 1;
const CLOSED: u32 = 2;
const FOREIGN: u32 = 3;

struct Keys;

impl Directory for Keys {
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

fn check(regions: &[Region]) -> Result<u128, Status> {
    let bytes = encode(7, regions, 5);
    let head = check_head(bytes.first_chunk().unwrap(), 5, (bytes.len() / BLOCK) as u32).unwrap();
    assert_eq!((head.wr_id, head.position), (7, 5));
    // Row 1 of 8 is selected; the first pointer leads to the kilobyte's begin.
    let memory = Segments::new()
        .with(BASE, [[2].as_slice(), &[0; 7], &BASE.to_le_bytes(), &[0; 1008]].concat());
    match check_entry(&bytes, PD, &Keys, &memory) {
        Ok(receive) => {
            assert_eq!(receive.name, ReceiveName { wr_id: 7, position: 5 });
            Ok(receive.target.capacity)
        }
        Err((name, status)) => {
            assert_eq!(name, ReceiveName { wr_id: 7, position: 5 });
            Err(status)
        }
    }
}

fn bitmapped(bitmap_key: u32, column_key: u32) -> Region {
    let columns = vec![Column { base: BASE, width: 4, lkey: column_key }];
    Region::Bitmapped { bitmap: BASE, rows: 8, lkey: bitmap_key, columns, fetch_rows: None }
}

fn pointer_mapped(lkey: u32, target_lkey: u32) -> Region {
    let pattern = vec![Extent { offset: 16, len: 10 }];
    Region::PointerMapped { pointers: BASE + 8, count: 1, lkey, target_lkey, pattern }
}

#[test]
fn what_is_written_needs_a_right_and_everything_the_domain() {
    let contiguous = |lkey| Region::Contiguous { addr: BASE + 24, len: 1000, lkey };
    let strided = |lkey| {
        let pattern = vec![Extent { offset: 1, len: 3 }];
        Region::Strided { base: BASE, period: 100, count: 10, lkey, pattern }
    };
    let wrong = Err(Status::LocalProtectionError);
    for (region, capacity) in [
        (&contiguous as &dyn Fn(u32) -> Region, 1000),
        (&strided, 30),
        (&|lkey| bitmapped(CLOSED, lkey), 4),
        (&|lkey| pointer_mapped(CLOSED, lkey), 10),
    ] {
        assert_eq!(check(&[region(OPEN)]), Ok(capacity));
        for key in [CLOSED, FOREIGN, 9] {
            assert_eq!(check(&[region(key)]), wrong, "{:?} under key {key}", region(key));
        }
        // All regions are checked, and their lengths add up.
        assert_eq!(check(&[contiguous(OPEN), region(OPEN)]), Ok(1000 + capacity));
        assert_eq!(check(&[contiguous(OPEN), region(CLOSED)]), wrong);
    }
    for key in [FOREIGN, 9] {
        assert_eq!(check(&[bitmapped(key, OPEN)]), wrong);
        assert_eq!(check(&[pointer_mapped(key, OPEN)]), wrong);
    }
    assert_eq!(check(&[Region::Contiguous { addr: BASE + 1, len: 1024, lkey: OPEN }]), wrong);
    assert_eq!(check(&[]), Ok(0));
}

#[test]
fn a_shape_that_is_wrong_or_a_granule_too_many_is_a_malformed_receive() {
    let empty = Region::Contiguous { addr: BASE, len: 0, lkey: OPEN };
    assert_eq!(check(&[empty]), Err(Status::LocalQpOperationError));
    let mut bytes = encode(7, &[], 5);
    bytes[4] = 3;
    let malformed = (ReceiveName { wr_id: 7, position: 5 }, Status::LocalQpOperationError);
    assert_eq!(check_entry(&bytes, PD, &Keys, &Segments::new()), Err(malformed));
}

#[test]
fn every_field_of_a_head_is_looked_at() {
    let region = Region::Contiguous { addr: BASE, len: 1, lkey: OPEN };
    let good = ReceiveHeader::decode(&encode(7, &[region], 5));
    let heads = [
        ReceiveHeader { magic: 0xd7, ..good },
        ReceiveHeader { flags: 1, ..good },
        ReceiveHeader { regions: 17, ..good },
        ReceiveHeader { granules: 1, ..good },
        ReceiveHeader { granules: 5, ..good },
        ReceiveHeader { granules: MAX_RECEIVE_GRANULES as u32 + 1, ..good },
        ReceiveHeader { position: 6, ..good },
        ReceiveHeader { types: 1 << 2, ..good },
        ReceiveHeader { reserved: 1, ..good },
    ];
    assert!(check_head(&good.to_bytes(), 5, 1).is_ok());
    for head in heads {
        let name = ReceiveName { wr_id: 7, position: 5 };
        assert_eq!(check_head(&head.to_bytes(), 5, 1), Err(name), "{head:?}");
    }
}
