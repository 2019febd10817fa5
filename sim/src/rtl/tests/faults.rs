//! Host memory that cannot be read while requests are in progress.

use super::*;
use crate::cards::rig::{bytes, contiguous, send, to};
use drdma_abi::{completion::Status, register::ACK_TIMEOUT, roce::Transport};
use drdma_driver::{Card as _, DmaMemory};
use drdma_semantics::{
    region::{Column, Extent, Region, RowMask},
    request::Request,
    testing::{BASE, CONTROL, LKEY, SIZE},
};
use drdma_soft::wire::Behaviour;

/// A key to the test memory, a page that is not mapped, and a page of sevens behind it.
const HOLED: u32 = 0x55;
const HOLE: u64 = BASE + SIZE;

/// Queue pairs 1 to 3 (RC, UC, RC) with the queue of their number, and shared queue 4.
fn holed() -> Rig<RtlCard> {
    let mut rig = rig(pcie::Config::default(), 256);
    let sevens = DmaMemory::new(0x1000).unwrap();
    sevens.write(0, &[7; 0x1000]);
    rig.card.map(HOLE + 0x1000, &sevens).unwrap();
    rig.add_region(HOLED, BASE, SIZE + 0x2000);
    for (index, transport) in [(1, Transport::Rc), (2, Transport::Uc), (3, Transport::Rc)] {
        rig.add_queue_pair(index, transport, 0);
        rig.add_queue(index, Some(index));
    }
    rig.add_queue(4, None);
    rig
}

/// Regions that need the hole, and the rows that lie before it.
fn regions() -> Vec<Region> {
    let extent = |offset, len| Extent { offset, len };
    let column = |base, width| Column { base, width, lkey: HOLED };
    vec![
        Region::Contiguous { addr: HOLE - 3000, len: 9000, lkey: HOLED },
        Region::Contiguous { addr: HOLE + 100, len: 1, lkey: HOLED },
        Region::Strided {
            base: HOLE - 2000,
            period: 50,
            count: 150,
            lkey: HOLED,
            pattern: vec![extent(0, 4), extent(20, 10)],
        },
        Region::Bitmapped {
            bitmap: CONTROL + 0x400,
            rows: 500,
            lkey: HOLED,
            columns: vec![column(BASE, 4), column(HOLE - 1000, 8)],
            fetch_rows: None,
        },
        // The bitmap itself lies in the hole.
        Region::Bitmapped {
            bitmap: HOLE - 8,
            rows: 512,
            lkey: HOLED,
            columns: vec![column(BASE, 4)],
            fetch_rows: None,
        },
        // The pointer array lies in the hole.
        Region::PointerMapped {
            pointers: HOLE,
            count: 3,
            lkey: HOLED,
            target_lkey: LKEY,
            pattern: vec![extent(0, 4)],
        },
    ]
}

#[test]
fn a_read_that_fails_breaks_its_request_only_and_no_wrong_byte_is_sent() {
    let healthy = [contiguous(100, 3000), contiguous(5000, 700)];
    let expected: Vec<_> = vec![bytes(100, 3000), bytes(5000, 700)];
    for region in regions() {
        for rows_per_message in [1, 1000] {
            let mut rig = holed();
            let peers = rig.network.peers();
            // All requests are posted at once, so that their data share windows.
            let failing = vec![contiguous(0, 700), region.clone(), contiguous(0, 5000)];
            for qp in [2, 1, 3] {
                let regions = if qp == 1 { failing.clone() } else { healthy.to_vec() };
                let rows_per_message = if qp == 1 { rows_per_message } else { 1 };
                let wr_id = u64::from(qp);
                let request = Request { rows_per_message, ..send(wr_id, vec![to(qp, regions)]) };
                rig.write_request(qp, &request);
            }
            [2, 1, 3].into_iter().for_each(|qp| rig.ring(qp));
            let mut ended = rig.settle();
            ended.sort_by_key(|completion| completion.wr_id);
            let ended: Vec<_> = ended.iter().map(|c| (c.wr_id, c.status)).collect();
            let failed = Status::LocalProtectionError as u8;
            assert_eq!(ended, [(1, failed), (2, 0), (3, 0)], "{region:?}");
            assert_eq!(
                (rig.sent(peers[1]), rig.sent(peers[2])),
                (expected.clone(), expected.clone())
            );
            assert!(rig.queue_pair_error(1) && rig.queue_halted(1), "{region:?}");
            assert!(!rig.queue_pair_error(2) && !rig.queue_pair_error(3));
            for (index, message) in rig.sent(peers[0]).into_iter().enumerate() {
                match index {
                    0 if rows_per_message == 1 => assert_eq!(message, bytes(0, 700)),
                    _ => assert_right(&region, index - 1, &message),
                }
            }
            assert_eq!(rig.network.errors(), []);
        }
    }
}

/// Row `row` of one of [`regions`], none of which reaches the hole.
fn assert_right(region: &Region, row: usize, message: &[u8]) {
    let Region::Strided { base, period, pattern, .. } = region else {
        return assert!(matches!(region, Region::Bitmapped { bitmap, .. } if *bitmap < HOLE - 8));
    };
    let start = (base - BASE) as usize + row * *period as usize;
    let row: Vec<u8> = pattern
        .iter()
        .flat_map(|extent| bytes(start + extent.offset as usize, extent.len as usize))
        .collect();
    assert_eq!(message, row);
}

#[test]
fn a_shared_request_whose_read_fails_leaves_what_shares_its_window() {
    let mut rig = holed();
    let peers = rig.network.peers();
    let hole = Region::Contiguous { addr: HOLE - 100, len: 300, lkey: HOLED };
    let list = vec![to(2, vec![contiguous(0, 100)]), to(1, vec![hole])];
    rig.write_request(4, &send(1, list));
    rig.write_request(3, &send(2, vec![to(3, vec![contiguous(0, 400)])]));
    rig.ring(4);
    rig.ring(3);
    let mut ended = rig.settle();
    ended.sort_by_key(|completion| completion.wr_id);
    let found: Vec<_> = ended.iter().map(|c| (c.wr_id, c.status, c.destination)).collect();
    assert_eq!(found, [(1, Status::LocalProtectionError as u8, 1), (2, 0, 0)]);
    assert!(rig.queue_pair_error(1) && !rig.queue_pair_error(2) && !rig.queue_pair_error(3));
    assert_eq!(rig.sent(peers[0]), Vec::<Vec<u8>>::new());
    assert_eq!(rig.sent(peers[2]), [bytes(0, 400)]);
    // The healthy destination's queue pair goes on.
    rig.post(2, &send(3, vec![to(2, vec![contiguous(7, 70)])]));
    assert_eq!(rig.run_until_completed(1)[0].status, 0);
    assert_eq!(rig.sent(peers[1]).last(), Some(&bytes(7, 70)));
    assert_eq!(rig.network.errors(), []);
}

#[test]
fn pointers_that_the_host_changes_at_any_time_never_lead_outside() {
    change_pointers(600, 1, 300);
}

#[test]
fn pointers_of_several_regions_that_the_host_changes_never_lead_outside() {
    change_pointers(150, 2, 3_000);
}

/// Sends the records that `regions` equal arrays of `count` pointers point to, an element of each region a
/// message, and changes the pointers after some multiple of `step` cycles.
fn change_pointers(count: usize, regions: usize, step: usize) {
    let mut failed = 0;
    for wait in (step..9 * step).step_by(step) {
        let mut rig = rig(pcie::Config::default(), 1);
        let peer = rig.add_queue_pair(1, Transport::Uc, 0);
        rig.add_queue(1, Some(1));
        rig.add_region(0x56, BASE, 0x1000);
        let set = |rig: &Rig<RtlCard>, pointer: u64| {
            for i in 0..count {
                rig.data.write(0x2000 + 8 * i, &pointer.to_le_bytes());
            }
        };
        set(&rig, BASE);
        let region = Region::PointerMapped {
            pointers: BASE + 0x2000,
            count: count as u32,
            lkey: LKEY,
            target_lkey: 0x56,
            pattern: vec![Extent { offset: 0, len: 200 }],
        };
        let mut request = send(1, vec![to(1, vec![region; regions])]);
        request.row_mask = RowMask::Element;
        rig.post(1, &request);
        rig.progress(wait);
        set(&rig, BASE + 0x1000 - 199);
        let status = rig.run_until_completed(1)[0].status;
        assert!(status == 0 || status == Status::LocalProtectionError as u8, "{status}");
        failed += usize::from(status != 0);
        assert_eq!((rig.queue_pair_error(1), rig.queue_halted(1)), (status != 0, status != 0));
        let sent = rig.sent(peer);
        let right = bytes(0, 200).repeat(regions);
        if let Some(at) = sent.iter().position(|message| *message != right) {
            panic!(
                "message {at} of {}, status {status}, wait {wait}: {:02x?}",
                sent.len(),
                sent[at]
            );
        }
        assert!(status != 0 || sent.len() == count);
        assert_eq!(rig.network.errors(), []);
    }
    assert!((1..8).contains(&failed), "{failed} of 8 changes came in time");
}

#[test]
fn a_silent_peer_does_not_stop_other_queue_pairs() {
    let mut rig = rig(pcie::Config::default(), 256);
    let dead = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.network.with_peer(dead, |peer| peer.set_behaviour(Behaviour::Dead));
    let other = rig.add_queue_pair(2, Transport::Rc, 0);
    rig.add_queue(1, Some(1));
    rig.add_queue(2, Some(2));
    rig.add_completion_queue(0, 7);
    rig.set(&ACK_TIMEOUT, 30);
    for wr_id in 0..10 {
        rig.post(1, &send(wr_id, vec![to(1, vec![contiguous(0, 500)])]));
        rig.post(2, &send(100 + wr_id, vec![to(2, vec![contiguous(0, 500)])]));
    }
    let first = rig.run_until_completed(10);
    let found: Vec<_> = first.iter().map(|c| (c.wr_id, c.status)).collect();
    assert_eq!(found, (100..110).map(|wr_id| (wr_id, 0)).collect::<Vec<_>>());
    let last = rig.run_until_completed(1)[0];
    assert_eq!((last.wr_id, last.status), (0, Status::RetryExceeded as u8));
    assert_eq!(rig.sent(other).len(), 10);
}
