//! The last entry of every table, and the one behind it.

use super::rig::{Rig, Simulated, bytes, contiguous, region_of, send, to};
use drdma_abi::{
    completion::Status,
    register::{
        COMPLETION_QUEUES, DOORBELLS, MEMORY_REGIONS, MemoryRegionEntry, QUEUE_PAIRS,
        QueuePairEntry, SEND_QUEUES, SendQueueEntry,
    },
    roce::Transport,
};
use drdma_semantics::testing::{BASE, LKEY, SIZE};

on_every_card!(
    the_last_entry_of_every_table_works_as_the_first,
    an_entry_behind_the_last_does_not_exist,
    states_of_the_last_entries_are_their_own,
);

const LAST: u32 = QUEUE_PAIRS.entries - 1;
const LAST_KEY: u32 = 0xabcd_e000 | (MEMORY_REGIONS.entries - 1);
const LAST_CQ: u32 = COMPLETION_QUEUES.entries - 1;

/// A card whose last queue pair, last send queue and last completion queue are in use, beside the first ones.
fn rig<C: Simulated>() -> Rig<C> {
    let mut rig = Rig::new();
    rig.add_region(LAST_KEY, BASE, SIZE);
    rig.add_completion_queue(LAST_CQ, 4);
    rig
}

fn the_last_entry_of_every_table_works_as_the_first<C: Simulated>() {
    let mut rig = rig::<C>();
    let peers = [0, 1, LAST].map(|index| rig.add_queue_pair(index, Transport::Rc, 7));
    rig.add_queue_of(LAST, Some(LAST), LAST_CQ);
    rig.add_queue_of(LAST - 1, None, LAST_CQ);
    rig.add_queue(0, Some(0));
    for (queue, wr_id, destinations) in [
        (LAST, 1, vec![to(LAST, vec![region_of(LAST_KEY, 5, 300)])]),
        (0, 2, vec![to(0, vec![contiguous(1, 200)])]),
        (
            LAST - 1,
            3,
            vec![
                to(LAST, vec![region_of(LAST_KEY, 9, 70)]),
                to(0, vec![region_of(LAST_KEY, 3, 80)]),
                to(1, vec![contiguous(2, 90)]),
            ],
        ),
    ] {
        rig.post(queue, &send(wr_id, destinations));
    }
    let ended = rig.settle();
    let first: Vec<_> = ended.iter().map(|c| (c.wr_id, c.queue, c.status, c.bytes)).collect();
    assert_eq!(first, [(2, 0, 0, 200)]);
    let mut last: Vec<_> = rig.poll_queue(LAST_CQ);
    last.sort_by_key(|completion| completion.wr_id);
    let last: Vec<_> = last.iter().map(|c| (c.wr_id, c.queue, c.status, c.bytes)).collect();
    assert_eq!(last, [(1, LAST, 0, 300), (3, LAST - 1, 0, 240)]);
    assert_eq!(rig.sent(peers[2]), [bytes(5, 300), bytes(9, 70)]);
    assert_eq!(rig.sent(peers[0]), [bytes(1, 200), bytes(3, 80)]);
    assert_eq!(rig.sent(peers[1]), [bytes(2, 90)]);
    assert_eq!(rig.network.errors(), []);
}

fn an_entry_behind_the_last_does_not_exist<C: Simulated>() {
    let mut rig = rig::<C>();
    let peer = rig.add_queue_pair(0, Transport::Rc, 7);
    // Writes behind a table's end have no effect: neither on this table nor on the next one.
    rig.write_entry(&QUEUE_PAIRS, LAST + 1, &QueuePairEntry::default());
    rig.write_entry(&MEMORY_REGIONS, MEMORY_REGIONS.entries, &MemoryRegionEntry::default());
    rig.write_entry(&SEND_QUEUES, LAST + 1, &SendQueueEntry::default());
    rig.add_queue(0, None);
    rig.card.write(DOORBELLS.entry(LAST + 1), 1).unwrap();
    rig.post(0, &send(1, vec![to(0, vec![contiguous(1, 200)])]));
    assert_eq!(rig.finish(), [(1, Status::Success)]);
    assert_eq!(rig.sent(peer), [bytes(1, 200)]);
    // No queue pair has that index, also where its low bits are those of one; no region has that key.
    rig.post(0, &send(2, vec![to(LAST + 1, vec![contiguous(1, 200)])]));
    assert_eq!(rig.finish(), [(2, Status::LocalQpOperationError)]);
    rig.add_queue(0, None);
    let aliased = LKEY + MEMORY_REGIONS.entries;
    rig.post(0, &send(3, vec![to(0, vec![region_of(aliased, 1, 200)])]));
    assert_eq!(rig.finish(), [(3, Status::LocalProtectionError)]);
}

fn states_of_the_last_entries_are_their_own<C: Simulated>() {
    let mut rig = rig::<C>();
    for index in [0, LAST - 1, LAST] {
        rig.add_queue_pair(index, Transport::Rc, 7);
        rig.add_queue(index, Some(index));
    }
    rig.post(LAST, &send(1, vec![to(LAST, vec![region_of(LKEY ^ 1 << 20, 1, 200)])]));
    assert_eq!(rig.finish(), [(1, Status::LocalProtectionError)]);
    for index in [0, 255, LAST - 256, LAST - 1] {
        assert!(!rig.queue_pair_error(index) && !rig.queue_halted(index), "{index}");
    }
    assert!(rig.queue_pair_error(LAST) && rig.queue_halted(LAST));
    // The host takes it back.
    rig.add_queue_pair_of_round(LAST, Transport::Rc, 1);
    rig.add_queue(LAST, Some(LAST));
    assert!(!rig.queue_pair_error(LAST) && !rig.queue_halted(LAST));
    rig.post(LAST, &send(2, vec![to(LAST, vec![contiguous(1, 200)])]));
    assert_eq!(rig.finish(), [(2, Status::Success)]);
}
