//! Requests that say which gaps are read through.

use drdma_abi::{
    completion::Status,
    register::{COLUMN_MIN_ROWS, counter},
    roce::Transport,
};

use super::rig::{Rig, Simulated, bytes, send, to};
use crate::rtl::RtlCard;
use drdma_semantics::{
    region::{Column, FetchRows, Region},
    request::{FetchPlan, Request},
    testing::{BASE, CONTROL, LKEY, SIZE},
};

/// Rows of a column of 4 B that fills half a page.
const ROWS: usize = 512;
/// A key to the test memory, and to a page behind it that is not mapped.
const HOLED: u32 = 0x55;
const HOLE: u64 = BASE + SIZE;

/// A card with queue pairs 1 and 2 on shared queue 0.
fn rig<C: Simulated>() -> Rig<C> {
    let mut rig = Rig::new();
    rig.add_region(HOLED, BASE, SIZE + 0x1000);
    rig.add_queue_pair(1, Transport::Rc, 1);
    rig.add_queue_pair(2, Transport::Uc, 5);
    rig.add_queue(0, None);
    rig
}

/// Writes a bitmap of these rows at an offset of the test memory, and returns its address.
fn bitmap<C: Simulated>(rig: &Rig<C>, offset: u64, rows: impl IntoIterator<Item = usize>) -> u64 {
    let mut bits = [0; ROWS / 8];
    rows.into_iter().for_each(|row| bits[row / 8] |= 1 << (row % 8));
    let at = CONTROL - BASE + offset;
    rig.data.write(at as usize, &bits);
    BASE + at
}

fn selected(bitmap: u64, fetch_rows: Option<FetchRows>) -> Region {
    let columns = vec![Column { base: BASE, width: 4, lkey: LKEY }];
    Region::Bitmapped { bitmap, rows: ROWS as u32, lkey: LKEY, columns, fetch_rows }
}

/// Sends the rows to queue pairs 1 and up, with reads that go through no gap by themselves. Returns the
/// number of reads and their bytes.
fn reads<C: Simulated>(rig: &mut Rig<C>, regions: Vec<Region>) -> [u64; 2] {
    let count = |rig: &mut Rig<C>| {
        [&counter::DATA_READS, &counter::DATA_READ_BYTES].map(|counter| rig.count(counter))
    };
    let before = count(rig);
    let destinations = (1..).zip(regions).map(|(qp, region)| to(qp, vec![region])).collect();
    let fetch = Some(FetchPlan { log_max_read: 12, merge_threshold: 0 });
    let request = Request { fetch, rows_per_message: 1000, ..send(7, destinations) };
    rig.post(0, &request);
    assert_eq!(rig.finish(), [(7, Status::Success)]);
    let after = count(rig);
    [after[0] - before[0], after[1] - before[1]]
}

fn values(rows: impl IntoIterator<Item = usize>) -> Vec<u8> {
    rows.into_iter().flat_map(|row| bytes(4 * row, 4)).collect()
}

fn a_gap_is_read_through_where_its_rows_are_fetch_rows<C: Simulated>() {
    let mut rig = rig::<C>();
    let peer = rig.network.peers()[0];
    let bits = bitmap(&rig, 0, (0..ROWS).step_by(8));
    let gaps = bitmap(&rig, 0x100, 1..64);
    let all = bitmap(&rig, 0x200, 0..ROWS);
    let none = bitmap(&rig, 0x300, []);
    // Rows between the last selected ones, and behind them all.
    let odd = bitmap(&rig, 0x400, [250, 251, 509, 511]);
    let fetch = |bitmap| Some(FetchRows { bitmap, lkey: LKEY });
    for (fetch_rows, expected) in [
        (None, [64, 256]),
        (fetch(none), [64, 256]),
        (fetch(bits), [64, 256]),
        (fetch(gaps), [56, 256 + 56 * 4]),
        (fetch(odd), [67, 256 + 16]),
        (fetch(all), [1, 2048]),
        // Fetch rows that cannot be read have no effect.
        (Some(FetchRows { bitmap: HOLE, lkey: HOLED }), [64, 256]),
    ] {
        let found = reads(&mut rig, vec![selected(bits, fetch_rows)]);
        assert_eq!(found, expected, "{fetch_rows:?}");
        let sent = rig.network.with_peer(peer, |peer| peer.take_messages());
        let sent: Vec<_> = sent.into_iter().map(|message| message.bytes).collect();
        assert_eq!(sent, [values((0..ROWS).step_by(8))], "{fetch_rows:?}");
    }
    assert_eq!(rig.network.errors(), []);
}

fn the_fetch_rows_of_one_destination_serve_all<C: Simulated>() {
    let mut rig = rig::<C>();
    let peers = rig.network.peers();
    let bits = [0, 4].map(|first| bitmap(&rig, 16 * first, (first as usize..ROWS).step_by(8)));
    let gaps = bitmap(&rig, 0x100, 1..64);
    let fetch = Some(FetchRows { bitmap: gaps, lkey: LKEY });
    for (fetch_rows, expected) in [
        ([None, None], [128, 512]),
        ([fetch, None], [112, 512 + 48 * 4]),
        ([None, fetch], [112, 512 + 48 * 4]),
        ([fetch, fetch], [112, 512 + 48 * 4]),
    ] {
        let regions = (0..2).map(|index| selected(bits[index], fetch_rows[index])).collect();
        assert_eq!(reads(&mut rig, regions), expected, "{fetch_rows:?}");
        for (first, peer) in [0, 4].into_iter().zip(&peers) {
            let sent = rig.network.with_peer(*peer, |peer| peer.take_messages());
            assert_eq!(sent[0].bytes, values((first..ROWS).step_by(8)));
        }
    }
    assert_eq!(rig.network.errors(), []);
}

fn fetch_rows_outside_their_memory_fail_the_request<C: Simulated>() {
    for (bitmap, lkey) in [(BASE + SIZE - 63, LKEY), (BASE - 1, LKEY), (BASE, 0x7777)] {
        let mut rig = rig::<C>();
        let fetch_rows = Some(FetchRows { bitmap, lkey });
        rig.post(0, &send(7, vec![to(1, vec![selected(CONTROL, fetch_rows)])]));
        assert_eq!(rig.finish(), [(7, Status::LocalProtectionError)], "{bitmap:#x} {lkey:#x}");
        assert!(rig.queue_pair_error(1));
        assert_eq!(rig.network.traffic().frames, 0);
    }
}

on_every_card!(
    a_gap_is_read_through_where_its_rows_are_fetch_rows,
    the_fetch_rows_of_one_destination_serve_all,
    fetch_rows_outside_their_memory_fail_the_request,
);

#[test]
fn requests_that_go_row_by_row_are_fetched_as_without_fetch_rows() {
    let mut rig = rig::<RtlCard>();
    let bits = bitmap(&rig, 0, (0..ROWS).step_by(8));
    let all = Some(FetchRows { bitmap: bitmap(&rig, 0x200, 0..ROWS), lkey: LKEY });
    for (rows, expected) in [(ROWS as u32, [1, 2048]), (ROWS as u32 + 1, [64, 256])] {
        rig.set(&COLUMN_MIN_ROWS, rows);
        assert_eq!(reads(&mut rig, vec![selected(bits, all)]), expected, "from {rows} rows on");
    }
}
