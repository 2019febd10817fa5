//! Requests that fail, and what goes on in spite of them.

use drdma_abi::{
    Layout,
    completion::Status,
    register::{
        ACK_TIMEOUT, COMPLETION_QUEUES, CompletionQueueEntry, MEMORY_REGIONS, MemoryRegionEntry,
        QUEUE_PAIRS, QueuePairEntry, SEND_QUEUES, SendQueueEntry, counter,
    },
    roce::Transport,
    work_request::{BLOCK, Opcode, WqeHeader},
};
use drdma_driver::Card as _;
use proptest::prelude::*;

use super::rig::{BLOCKS, Rig, Simulated, bytes, contiguous, send, to};
use drdma_semantics::{
    region::{Extent, Region},
    request::{Request, encode},
    testing::{BASE, CONTROL, LKEY, SIZE},
};
use drdma_soft::{
    card::SoftCard,
    wire::{Behaviour, PeerError, WireError},
};

fn one(wr_id: u64, qp: u32) -> Request {
    send(wr_id, vec![to(qp, vec![contiguous(0, 10)])])
}

fn out_of_bounds(wr_id: u64, qp: u32) -> Request {
    send(wr_id, vec![to(qp, vec![contiguous(SIZE - 9, 10)])])
}

/// Queue pairs 1 and 2 (RC) with a queue of the same number each, and shared queue 3.
fn rig<C: Simulated>() -> Rig<C> {
    let mut rig = Rig::new();
    for index in [1, 2] {
        rig.add_queue_pair(index, Transport::Rc, 0);
        rig.add_queue(index, Some(index));
    }
    rig.add_queue(3, None);
    rig
}

fn a_region_out_of_bounds_sends_nothing_and_breaks_its_queue_pair_only<C: Simulated>() {
    let mut rig = rig::<C>();
    rig.post(1, &out_of_bounds(1, 1));
    rig.post(1, &one(2, 1));
    rig.post(2, &one(3, 2));
    let mut completions = rig.finish();
    completions.sort_by_key(|(wr_id, _)| *wr_id);
    assert_eq!(completions, [(1, Status::LocalProtectionError), (3, Status::Success)]);
    assert_eq!(rig.network.traffic().frames, 1);
    assert!(rig.queue_pair_error(1) && rig.queue_halted(1));
    assert!(!rig.queue_pair_error(2) && !rig.queue_halted(2) && !rig.queue_halted(3));
}

fn requests_before_the_failing_one_complete_first<C: Simulated>() {
    let mut rig = rig::<C>();
    rig.post(1, &one(1, 1));
    rig.post(1, &one(2, 1));
    // The first two requests are sent, at least: those that are not when the third one fails are flushed.
    rig.progress(3);
    rig.post(1, &out_of_bounds(3, 1));
    rig.post(1, &one(4, 1));
    assert_eq!(
        rig.finish(),
        [(1, Status::Success), (2, Status::Success), (3, Status::LocalProtectionError)]
    );
}

fn a_failing_head_halts_the_queue_and_leaves_the_queue_pair<C: Simulated>() {
    let mut rig = rig::<C>();
    let mut entry = encode(&one(5, 1), 0);
    entry[0] = 0;
    rig.write_blocks(1, &entry);
    rig.ring(1);
    assert_eq!(rig.finish(), [(5, Status::LocalQpOperationError)]);
    assert!(rig.queue_halted(1) && !rig.queue_pair_error(1));
    rig.post(3, &one(6, 1));
    assert_eq!(rig.finish(), [(6, Status::Success)]);
}

fn a_failing_destination_of_a_shared_request_is_named_and_the_others_stay<C: Simulated>() {
    let mut rig = rig::<C>();
    let list = vec![to(1, vec![contiguous(0, 9)]), to(2, vec![contiguous(SIZE, 1)])];
    rig.post(3, &send(1, list));
    rig.progress(3);
    let [completion] = rig.poll()[..] else { panic!("one completion") };
    assert_eq!(completion.status, Status::LocalProtectionError as u8);
    assert_eq!((completion.queue, completion.destination, completion.bytes), (3, 1, 0));
    assert_eq!(rig.network.traffic().frames, 0);
    assert!(!rig.queue_pair_error(1) && rig.queue_pair_error(2) && rig.queue_halted(3));
    rig.post(1, &one(2, 1));
    assert_eq!(rig.finish(), [(2, Status::Success)]);
    rig.post(2, &one(3, 2));
    assert_eq!(rig.finish(), [(3, Status::WrFlushError)]);
}

/// Requests of the shared queue to queue pair 2 that fail only after the card has checked what is behind
/// them: a pointer out of bounds, data that cannot be read, a queue pair that fails in the meantime.
fn late_failures<C: Simulated>(rig: &mut Rig<C>) -> Vec<(Option<Request>, Request, Status)> {
    let at = 0x800;
    rig.data.write(at as usize, &u64::MAX.to_le_bytes());
    rig.add_region(0x55, BASE + SIZE, 0x1000);
    let record = Region::PointerMapped {
        pointers: BASE + at,
        count: 1,
        lkey: LKEY,
        target_lkey: LKEY,
        pattern: vec![Extent { offset: 0, len: 4 }],
    };
    let unmapped = Region::Contiguous { addr: BASE + SIZE, len: 100, lkey: 0x55 };
    let (one, valid) = (to(1, vec![]), to(2, vec![contiguous(0, 9)]));
    let shared = |destination| send(10, vec![one.clone(), destination]);
    vec![
        (None, shared(to(2, vec![record.clone()])), Status::LocalProtectionError),
        (None, shared(to(2, vec![unmapped])), Status::LocalProtectionError),
        (Some(send(11, vec![to(2, vec![record])])), shared(valid), Status::WrFlushError),
    ]
}

fn a_request_behind_a_failed_one_of_its_queue_has_no_effect<C: Simulated>() {
    let behind = [
        // Cases: the request is refused for its own region; it is right, for the other queue pair alone; or for both.
        vec![to(1, vec![contiguous(SIZE - 9, 10)])],
        vec![to(1, vec![contiguous(0, 500)])],
        vec![to(1, vec![contiguous(0, 500)]), to(2, vec![contiguous(SIZE, 1)])],
    ];
    for case in 0..3 {
        for destinations in &behind {
            let mut rig = rig::<C>();
            let (other, first, status) = late_failures(&mut rig).remove(case);
            rig.write_request(3, &first);
            rig.write_request(3, &send(12, destinations.clone()));
            if let Some(other) = &other {
                rig.post(2, other);
            }
            rig.ring(3);
            rig.post(1, &one(13, 1));
            let mut completions = rig.finish();
            completions.sort_by_key(|(wr_id, _)| *wr_id);
            let mut expected = vec![(10, status), (13, Status::Success)];
            if other.is_some() {
                expected.insert(1, (11, Status::LocalProtectionError));
            }
            assert_eq!(completions, expected, "case {case}, {destinations:?}");
            assert_eq!(rig.network.traffic().frames, 1, "case {case}, {destinations:?}");
            assert!(!rig.queue_pair_error(1), "case {case}, {destinations:?}");
            assert!(rig.queue_pair_error(2) && rig.queue_halted(3) && !rig.queue_halted(1));
            // The queue works again once the host has enabled it anew.
            rig.add_queue(3, None);
            rig.post(3, &send(14, vec![to(1, vec![contiguous(3, 30)])]));
            assert_eq!(rig.finish(), [(14, Status::Success)], "case {case}, {destinations:?}");
        }
    }
}

fn each_answer_gives_its_status_and_breaks_the_queue_pair<C: Simulated>() {
    for (behaviour, status) in [
        (Behaviour::NotReady, Status::RnrRetryExceeded),
        (Behaviour::Refuse(0x60), Status::RetryExceeded),
        (Behaviour::Refuse(0x61), Status::RemoteInvalidRequestError),
        (Behaviour::Refuse(0x62), Status::RemoteAccessError),
        (Behaviour::Refuse(0x63), Status::RemoteOperationError),
    ] {
        let mut rig = Rig::<C>::new();
        let peer = rig.add_queue_pair(1, Transport::Rc, 0);
        rig.network.with_peer(peer, |peer| peer.set_behaviour(behaviour));
        rig.add_queue(1, Some(1));
        rig.post(1, &one(1, 1));
        rig.post(1, &one(2, 1));
        assert_eq!(rig.finish(), [(1, status)]);
        assert!(rig.queue_pair_error(1) && rig.queue_halted(1));
    }
}

fn a_lost_packet_ends_in_retry_exceeded<C: Simulated>() {
    let mut rig = rig::<C>();
    rig.network.lose_frame(1);
    rig.post(1, &one(1, 1));
    rig.post(1, &send(2, vec![to(1, vec![contiguous(0, 600)])]));
    assert_eq!(rig.finish(), [(1, Status::Success), (2, Status::RetryExceeded)]);
    assert_eq!(
        rig.network.errors(),
        [WireError::Peer { qpn: 0x201, error: PeerError::Psn { found: 2, expected: 1 } }]
    );
}

fn a_nak_flushes_what_other_queues_have_in_flight_on_the_queue_pair<C: Simulated>() {
    let mut rig = rig::<C>();
    rig.network.lose_frame(0);
    rig.post(1, &one(1, 1));
    rig.post(3, &send(2, vec![to(2, vec![contiguous(0, 1)]), to(1, vec![contiguous(0, 1)])]));
    let mut completions = rig.finish();
    completions.sort_by_key(|(wr_id, _)| *wr_id);
    assert_eq!(completions, [(1, Status::RetryExceeded), (2, Status::WrFlushError)]);
    assert!(rig.queue_halted(3) && !rig.queue_pair_error(2));
}

fn silence_ends_in_retry_exceeded_after_the_ack_timeout_and_not_before<C: Simulated>() {
    let mut rig = rig::<C>();
    let peer = rig.add_queue_pair(4, Transport::Rc, 0);
    rig.network.with_peer(peer, |peer| peer.set_behaviour(Behaviour::Dead));
    rig.add_queue(4, Some(4));
    rig.set(&ACK_TIMEOUT, 50);
    rig.post(4, &one(1, 4));
    rig.progress(49);
    assert!(rig.poll().is_empty());
    rig.progress(3);
    assert_eq!(rig.finish(), [(1, Status::RetryExceeded)]);
    assert!(rig.queue_pair_error(4) && rig.queue_halted(4));
}

fn late_acknowledgements_are_waited_for<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let config = crate::wire::PeerConfig {
        answer_delay_ns: 100_000,
        ..crate::wire::PeerConfig::new(Transport::Rc, 2, 3, 4, 5)
    };
    rig.add_queue_pair_to(1, 0, config);
    rig.add_queue(1, Some(1));
    rig.set(&ACK_TIMEOUT, 30);
    rig.post(1, &one(1, 1));
    rig.progress(20);
    assert!(rig.poll().is_empty());
    assert_eq!(rig.finish(), [(1, Status::Success)]);
}

fn a_queue_pair_made_ready_again_starts_afresh<C: Simulated>() {
    let mut rig = rig::<C>();
    rig.post(1, &out_of_bounds(1, 1));
    rig.finish();
    rig.post(1, &one(2, 1));
    assert_eq!(rig.finish(), [], "a halted queue gives no completions");
    let peer = rig.add_queue_pair(1, Transport::Rc, 500);
    rig.add_queue(1, Some(1));
    assert!(!rig.queue_pair_error(1) && !rig.queue_halted(1));
    rig.post(1, &one(3, 1));
    assert_eq!(rig.finish(), [(3, Status::Success)]);
    assert_eq!(rig.network.messages(peer)[0].psn, 500);
}

fn a_reset_of_a_queue_pair_flushes_what_it_awaits<C: Simulated>() {
    let mut rig = rig::<C>();
    let peer = rig.add_queue_pair(4, Transport::Rc, 0);
    rig.network.with_peer(peer, |peer| peer.set_behaviour(Behaviour::Dead));
    rig.add_queue(4, Some(4));
    rig.post(4, &one(1, 4));
    rig.progress(2);
    rig.write_entry(&QUEUE_PAIRS, 4, &QueuePairEntry::default());
    assert_eq!(rig.finish(), [(1, Status::WrFlushError)]);
}

fn queue_pairs_that_were_never_made_ready_or_are_malformed_are_refused<C: Simulated>() {
    let ready = QueuePairEntry { log_mtu: 10, state: 1, ..QueuePairEntry::default() };
    for (entry, status) in [
        (ready, Status::Success),
        (QueuePairEntry { state: 0, ..ready }, Status::LocalQpOperationError),
        (QueuePairEntry { transport: 3, ..ready }, Status::LocalQpOperationError),
        (QueuePairEntry { log_mtu: 7, ..ready }, Status::LocalQpOperationError),
        (QueuePairEntry { log_mtu: 13, ..ready }, Status::LocalQpOperationError),
    ] {
        let mut rig = rig::<C>();
        rig.write_entry(&QUEUE_PAIRS, 1, &entry);
        rig.post(1, &send(1, vec![to(1, vec![])]));
        assert_eq!(rig.finish(), [(1, status)], "{entry:?}");
    }
}

fn a_stale_entry_is_told_by_its_position<C: Simulated>() {
    let mut rig = rig::<C>();
    let two = encode(&one(1, 1), 0);
    rig.write_blocks(1, &two);
    rig.ring(1);
    assert_eq!(rig.finish(), [(1, Status::Success)]);
    // One lap on, the old entry stands at the same place again.
    while rig.producer(1) < BLOCKS {
        let request = encode(&one(2, 1), rig.producer(1));
        rig.write_blocks(1, &request);
        rig.ring(1);
        rig.finish();
    }
    rig.write_blocks(1, &two);
    rig.ring(1);
    assert_eq!(rig.finish(), [(1, Status::LocalQpOperationError)]);
}

fn a_doorbell_beyond_what_was_written_is_refused<C: Simulated>() {
    let mut rig = rig::<C>();
    rig.write_request(1, &one(1, 1));
    let beyond = rig.producer(1) + 1;
    rig.card.write(drdma_abi::register::DOORBELLS.entry(1), beyond).unwrap();
    assert_eq!(rig.finish(), [(1, Status::Success), (0, Status::LocalQpOperationError)]);
    // A doorbell for more blocks than the ring has is ignored.
    rig.write_request(3, &one(4, 2));
    for producer in [0, BLOCKS + 1, u32::MAX] {
        rig.card.write(drdma_abi::register::DOORBELLS.entry(3), producer).unwrap();
        assert_eq!(rig.finish(), []);
    }
    rig.ring(3);
    rig.card.write(drdma_abi::register::DOORBELLS.entry(3), 0).unwrap();
    assert_eq!(rig.finish(), [(4, Status::Success)]);
    // A doorbell for fewer blocks than the entry has.
    rig.write_request(2, &one(2, 2));
    rig.card.write(drdma_abi::register::DOORBELLS.entry(2), 1).unwrap();
    assert_eq!(rig.finish(), [(2, Status::LocalQpOperationError)]);
}

fn rings_and_data_that_are_not_mapped_fault<C: Simulated>() {
    let mut rig = rig::<C>();
    let entry = SendQueueEntry {
        addr: 0xdead_0000,
        log_blocks: 6,
        shared: 1,
        enable: 1,
        ..Default::default()
    };
    rig.write_entry(&SEND_QUEUES, 5, &entry);
    rig.card.write(drdma_abi::register::DOORBELLS.entry(5), 2).unwrap();
    assert_eq!(rig.finish(), [(0, Status::LocalQpOperationError)]);

    // A memory region that reaches beyond what is mapped.
    rig.add_region(0x55, BASE, 1 << 40);
    let region = |addr, len| Region::Contiguous { addr, len, lkey: 0x55 };
    rig.post(1, &send(1, vec![to(1, vec![region(BASE, 256), region(BASE + SIZE - 300, 600)])]));
    assert_eq!(rig.finish(), [(1, Status::LocalProtectionError)]);
    // A message of one packet, and the first packet of the second message, were whole.
    let packets = rig.count(&counter::PACKETS);
    assert!(packets == 2 || C::PIPELINED && packets < 2, "{packets}");
    assert_eq!(rig.network.errors(), []);
    assert!(rig.queue_pair_error(1));

    let pattern = vec![Extent { offset: 0, len: 1 }];
    let (pointers, lkey, target_lkey) = (BASE + SIZE, 0x55, LKEY);
    let unmapped = Region::PointerMapped { pointers, count: 1, lkey, target_lkey, pattern };
    rig.post(2, &send(2, vec![to(2, vec![unmapped])]));
    assert_eq!(rig.finish(), [(2, Status::LocalProtectionError)]);
}

fn unmapped_memory_is_not_touched_any_more<C: Simulated>() {
    let mut rig = rig::<C>();
    rig.card.unmap(BASE).unwrap();
    rig.post(1, &one(1, 1));
    assert_eq!(rig.finish(), [(1, Status::LocalProtectionError)]);
    assert_eq!(rig.network.traffic().frames, 0);
}

fn a_pointer_that_changes_after_the_check_never_leads_outside<C: Simulated>() {
    let mut rig = rig::<C>();
    let pattern = vec![Extent { offset: 0, len: 200 }];
    rig.add_region(0x56, BASE, 0x1000);
    let count = 1024;
    for i in 0..count {
        rig.data.write((CONTROL - BASE) as usize / 2 + i as usize * 8, &BASE.to_le_bytes());
    }
    let pointers = BASE + (CONTROL - BASE) / 2;
    let region = Region::PointerMapped { pointers, count, lkey: LKEY, target_lkey: 0x56, pattern };
    rig.post(1, &send(1, vec![to(1, vec![region])]));
    while rig.network.traffic().frames == 0 {
        rig.progress(1);
    }
    for i in 0..count {
        let outside = (BASE + 0x1000).to_le_bytes();
        rig.data.write((CONTROL - BASE) as usize / 2 + i as usize * 8, &outside);
    }
    let ended = rig.finish();
    // The hardware may have read every pointer earlier.
    assert!(
        ended == [(1, Status::LocalProtectionError)]
            || C::PIPELINED && ended == [(1, Status::Success)],
        "{ended:?}"
    );
    let network = rig.network.clone();
    for message in network.messages(network.peers()[0]) {
        assert_eq!(message.bytes, bytes(0, 200));
    }
}

fn invalidated_memory_regions_are_refused<C: Simulated>() {
    let mut rig = rig::<C>();
    rig.write_entry(&MEMORY_REGIONS, LKEY % MEMORY_REGIONS.entries, &MemoryRegionEntry::default());
    rig.post(1, &one(1, 1));
    assert_eq!(rig.finish(), [(1, Status::LocalProtectionError)]);
    // The same index under another key.
    rig.add_region(LKEY + 4096, BASE, SIZE);
    rig.post(2, &one(2, 2));
    assert_eq!(rig.finish(), [(2, Status::LocalProtectionError)]);
}

fn malformed_queues_are_not_run<C: Simulated>() {
    let mut rig = rig::<C>();
    for entry in [
        SendQueueEntry { log_blocks: 17, enable: 1, ..Default::default() },
        SendQueueEntry { log_blocks: 255, enable: 1, ..Default::default() },
        SendQueueEntry { enable: 2, ..Default::default() },
    ] {
        rig.write_entry(&SEND_QUEUES, 6, &entry);
        rig.card.write(drdma_abi::register::DOORBELLS.entry(6), 1).unwrap();
        rig.progress(2);
    }
    let wild = CompletionQueueEntry { log_entries: 99, enable: 1, ..Default::default() };
    rig.write_entry(&COMPLETION_QUEUES, 0, &wild);
    let lost = SendQueueEntry { completion_queue: 999, ..Default::default() };
    rig.write_entry(&SEND_QUEUES, 7, &lost);
    rig.post(1, &one(1, 1));
    rig.progress(3);
    assert_eq!(rig.network.traffic().frames, 1);
}

fn damaged_and_foreign_frames_are_dropped_and_counted<C: Simulated>() {
    let mut rig = rig::<C>();
    let recorded = include_bytes!("../../../tests/data/rxe-good.pcap");
    for frame in crate::wire::capture::read(recorded).unwrap() {
        rig.network.inject(frame.bytes, 0);
    }
    rig.progress(2);
    // The hardware leaves to the host what is not addressed to it, nine frames and five of IPv6.
    let dropped = if C::PIPELINED { 8 } else { 17 };
    assert_eq!(rig.count(&counter::RECEIVE_DROPPED), dropped);
    rig.post(1, &one(1, 1));
    assert_eq!(rig.finish(), [(1, Status::Success)]);
}

fn a_datagram_longer_than_the_mtu_sends_nothing<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.add_queue_pair(1, Transport::Ud, 0);
    rig.add_queue(1, Some(1));
    rig.post(1, &send(1, vec![to(1, vec![contiguous(0, 1), contiguous(0, 257)])]));
    assert_eq!(rig.finish(), [(1, Status::LocalLengthError)]);
    assert_eq!(rig.network.traffic().frames, 0);
}

on_every_card! {
    a_region_out_of_bounds_sends_nothing_and_breaks_its_queue_pair_only,
    requests_before_the_failing_one_complete_first,
    a_failing_head_halts_the_queue_and_leaves_the_queue_pair,
    a_failing_destination_of_a_shared_request_is_named_and_the_others_stay,
    a_request_behind_a_failed_one_of_its_queue_has_no_effect,
    each_answer_gives_its_status_and_breaks_the_queue_pair,
    a_lost_packet_ends_in_retry_exceeded,
    a_nak_flushes_what_other_queues_have_in_flight_on_the_queue_pair,
    silence_ends_in_retry_exceeded_after_the_ack_timeout_and_not_before,
    late_acknowledgements_are_waited_for,
    a_queue_pair_made_ready_again_starts_afresh,
    a_reset_of_a_queue_pair_flushes_what_it_awaits,
    queue_pairs_that_were_never_made_ready_or_are_malformed_are_refused,
    a_stale_entry_is_told_by_its_position,
    a_doorbell_beyond_what_was_written_is_refused,
    rings_and_data_that_are_not_mapped_fault,
    unmapped_memory_is_not_touched_any_more,
    a_pointer_that_changes_after_the_check_never_leads_outside,
    invalidated_memory_regions_are_refused,
    malformed_queues_are_not_run,
    damaged_and_foreign_frames_are_dropped_and_counted,
    a_datagram_longer_than_the_mtu_sends_nothing,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_that_stands_in_a_ring_makes_the_card_panic(
        noise in proptest::collection::vec(any::<u8>(), 64 * 4),
        kept in 0usize..=32,
        producer in prop_oneof![1u32..70, any::<u32>()],
    ) {
        let mut rig = rig::<SoftCard>();
        let mut entry = encode(&one(1, 1), 0);
        entry.resize(256, 0);
        entry[kept..].copy_from_slice(&noise[kept..]);
        let mut head = WqeHeader::decode(&entry);
        if kept == 32 {
            head.granules = 4 + u32::from(noise[0]) % 12;
            head.destinations = 1 + u16::from(noise[1]) % 3;
            head.encode(&mut entry);
        }
        rig.write_blocks(3, &entry);
        rig.card.write(drdma_abi::register::DOORBELLS.entry(3), producer).unwrap();
        rig.progress(4);
        let completions = rig.poll();
        prop_assert!(completions.len() <= 4);
        prop_assert_eq!(rig.network.errors(), []);
    }

    #[test]
    fn changed_bytes_of_a_good_request_give_a_status_and_only_right_packets(
        changes in proptest::collection::vec((0usize..64 * 5, any::<u8>()), 1..6),
        opcode in prop::sample::select(&Opcode::ALL[..]),
    ) {
        let mut rig = rig::<SoftCard>();
        let pattern = vec![Extent { offset: 0, len: 3 }; 3];
        let (base, lkey) = (BASE, LKEY);
        let regions = vec![
            contiguous(0, 40),
            Region::Strided { base, period: 20, count: 9, lkey, pattern: pattern.clone() },
            Region::PointerMapped {
                pointers: CONTROL, count: 5, lkey, target_lkey: LKEY, pattern,
            },
        ];
        let list = vec![to(1, regions.clone()), to(2, regions)];
        let mut entry = encode(&Request { opcode, ..send(1, list) }, 0);
        for (at, value) in changes {
            entry[at] = value;
        }
        rig.write_blocks(3, &entry);
        rig.ring(3);
        rig.progress(300);
        // A region of the test memory that became huge by overlapping itself is not complete yet.
        let completions = rig.poll();
        prop_assert!(completions.len() <= entry.len() / BLOCK);
        prop_assert_eq!(rig.network.errors(), []);
    }
}
