//! Protection domains: a queue's requests name queue pairs and memory of its own one alone.

use drdma_abi::{completion::Status, roce::Transport};
use drdma_semantics::{
    partitioned::Partitioned,
    region::{Column, Extent, FetchRows, Region},
    request::{Destination, Request},
    testing::{BASE, CONTROL, LKEY, SIZE},
};

use super::rig::{Rig, Simulated, bytes, send, to};

/// The domain of queue 1, of queue pairs 1 and 3, and of the key [`OWN`].
const PD: u32 = 0x8000_0001;
/// A domain that differs in one bit: of queue pair 2 and of the key [`FOREIGN`].
const OTHER: u32 = 1;
/// Keys to the same bytes.
const OWN: u32 = LKEY + 1;
const FOREIGN: u32 = LKEY + 2;

fn world<C: Simulated>() -> Rig<C> {
    let mut rig = Rig::<C>::new();
    for (pd, key, queue_pairs) in [(OTHER, FOREIGN, [2].as_slice()), (PD, OWN, &[1, 3])] {
        rig.pd = pd;
        rig.add_region(key, BASE, SIZE);
        for index in queue_pairs {
            rig.add_queue_pair(*index, Transport::Uc, 0);
        }
    }
    rig.add_queue(1, None);
    rig
}

fn contiguous(lkey: u32) -> Region {
    Region::Contiguous { addr: BASE, len: 9, lkey }
}

/// A bitmapped region with the keys of its bitmap, its column and its fetch rows.
fn bitmapped([lkey, column, fetch]: [u32; 3]) -> Region {
    Region::Bitmapped {
        bitmap: BASE,
        rows: 9,
        lkey,
        columns: vec![Column { base: BASE, width: 4, lkey: column }],
        fetch_rows: Some(FetchRows { bitmap: BASE, lkey: fetch }),
    }
}

fn pointer_mapped([lkey, target_lkey]: [u32; 2]) -> Region {
    let pattern = vec![Extent { offset: 0, len: 4 }];
    Region::PointerMapped { pointers: CONTROL, count: 2, lkey, target_lkey, pattern }
}

/// A request to queue pairs 1 and 3 with the keys of its ids and its column.
fn partitioned([lkey, column]: [u32; 2]) -> Request {
    let columns = vec![Column { base: BASE, width: 4, lkey: column }];
    let (width, by) = (1, None);
    let region = Partitioned { ids: CONTROL, width, rows: 9, lkey, by, columns, entries: vec![] };
    let part = |qp, partition| Destination { partition, ..to(qp, vec![]) };
    Request { partitioned: Some(region), ..send(7, vec![part(1, 0), part(3, 1)]) }
}

fn a_queue_reaches_its_protection_domain_alone<C: Simulated>() {
    let one = |region| send(7, vec![to(1, vec![contiguous(OWN)]), to(3, vec![region])]);
    let (protection, operation) = (Status::LocalProtectionError, Status::LocalQpOperationError);
    let cases = [
        (one(contiguous(OWN)), Status::Success),
        (one(contiguous(FOREIGN)), protection),
        // The key that is there from the start, of domain 0.
        (one(contiguous(LKEY)), protection),
        (one(bitmapped([OWN; 3])), Status::Success),
        (one(bitmapped([FOREIGN, OWN, OWN])), protection),
        (one(bitmapped([OWN, FOREIGN, OWN])), protection),
        (one(bitmapped([OWN, OWN, FOREIGN])), protection),
        (one(pointer_mapped([OWN; 2])), Status::Success),
        (one(pointer_mapped([FOREIGN, OWN])), protection),
        (one(pointer_mapped([OWN, FOREIGN])), protection),
        (partitioned([OWN; 2]), Status::Success),
        (partitioned([FOREIGN, OWN]), protection),
        (partitioned([OWN, FOREIGN]), protection),
        (send(7, vec![to(1, vec![]), to(2, vec![])]), operation),
    ];
    for (request, status) in cases {
        let mut rig = world::<C>();
        rig.post(1, &request);
        assert_eq!(rig.finish(), [(7, status)], "{request:?}");
        let sent = rig.network.traffic().frames;
        assert_eq!(sent > 0, status == Status::Success, "{request:?}: {sent} frames");
        assert_eq!(rig.network.errors(), []);
    }
}

/// A key that moves to another domain, and back.
fn a_domain_is_what_was_written_last<C: Simulated>() {
    let mut rig = world::<C>();
    let request = send(7, vec![to(1, vec![contiguous(OWN)])]);
    for (pd, status) in [(OTHER, Status::LocalProtectionError), (PD, Status::Success)] {
        rig.pd = pd;
        rig.add_region(OWN, BASE, SIZE);
        rig.pd = PD;
        rig.add_queue(1, None);
        let peer = rig.add_queue_pair(1, Transport::Uc, 0);
        rig.post(1, &request);
        assert_eq!(rig.finish(), [(7, status)]);
        let expected = if status == Status::Success { vec![bytes(0, 9)] } else { vec![] };
        assert_eq!(rig.sent(peer), expected);
    }
}

on_every_card! { a_queue_reaches_its_protection_domain_alone, a_domain_is_what_was_written_last }
