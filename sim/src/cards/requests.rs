//! Requests that succeed.

use drdma_abi::{completion::Status, register::counter, roce::Transport, work_request::Opcode};
use proptest::prelude::*;

use super::rig::{BLOCKS, Rig, Simulated, bytes, contiguous, send, to};
use drdma_semantics::{
    region::{Column, Extent, Region, RowMask},
    request::{Destination, FetchPlan, Request},
    testing::{self, BASE, LKEY},
};
use drdma_soft::{card::SoftCard, wire::MessageKind};

fn strided(offset: u64, period: u64, count: u32, extents: &[(u64, u32)]) -> Region {
    let pattern = extents.iter().map(|(offset, len)| Extent { offset: *offset, len: *len });
    Region::Strided { base: BASE + offset, period, count, lkey: LKEY, pattern: pattern.collect() }
}

fn figure_5_is_sent_as_two_messages<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 100);
    rig.add_queue(0, Some(1));
    rig.post(0, &send(9, vec![to(1, vec![strided(0, 16, 2, &[(0, 8), (12, 4)])])]));
    rig.progress(3);
    let [completion] = rig.poll()[..] else { panic!("one completion") };
    assert_eq!((completion.wr_id, completion.status, completion.bytes), (9, 0, 24));
    assert_eq!((completion.queue, completion.destination), (0, 0));
    let row = |i: usize| [bytes(16 * i, 8), bytes(16 * i + 12, 4)].concat();
    assert_eq!(rig.sent(peer), [row(0), row(1)]);
    assert_eq!(rig.network.errors(), []);
}

fn figure_6_shuffles_three_columns_to_two_servers_reading_each_byte_once<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let (red, blue) =
        (rig.add_queue_pair(1, Transport::Rc, 1), rig.add_queue_pair(2, Transport::Ud, 5));
    rig.add_queue(0, None);
    let columns = |first: u64| {
        (0..3).map(|c| strided(c * 400 + first * 4, 8, 50, &[(0, 4)])).collect::<Vec<_>>()
    };
    let request = Request {
        row_mask: RowMask::Element,
        rows_per_message: 1,
        ..send(3, vec![to(1, columns(0)), to(2, columns(1))])
    };
    rig.post(0, &request);
    assert_eq!(rig.finish(), [(3, Status::Success)]);
    let row = |i: usize| [bytes(4 * i, 4), bytes(400 + 4 * i, 4), bytes(800 + 4 * i, 4)].concat();
    assert_eq!(rig.sent(red), (0..50).map(|i| row(2 * i)).collect::<Vec<_>>());
    assert_eq!(rig.sent(blue), (0..50).map(|i| row(2 * i + 1)).collect::<Vec<_>>());
    assert_eq!(rig.network.errors(), []);
    assert_eq!(rig.count(&counter::DATA_READ_BYTES), 1200);
    let reads = rig.count(&counter::DATA_READS);
    assert!(reads == 3 || C::PIPELINED && reads <= 6, "{reads}");
}

fn a_request_is_fetched_as_it_says_and_the_next_as_the_registers_say<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 1);
    rig.add_queue(0, Some(1));
    // 4 B of every 100 B, in cache lines of their own, then 700 B in one piece.
    let regions = || vec![strided(0, 100, 5, &[(0, 4)]), contiguous(2048, 700)];
    let gaps = 4 * 96;
    let plan = |log_max_read, merge_threshold| Some(FetchPlan { log_max_read, merge_threshold });
    for (fetch, reads, read_bytes) in [
        (plan(12, 96), 1 + 1, 720 + gaps),
        (plan(7, 95), 5 + 6, 720),
        (plan(12, 0), 5 + 1, 720),
        // The settings of the card after a reset.
        (None, 1 + 2, 720 + gaps),
    ] {
        let before = [&counter::DATA_READS, &counter::DATA_READ_BYTES].map(|c| rig.count(c));
        rig.post(0, &Request { fetch, rows_per_message: 5, ..send(1, vec![to(1, regions())]) });
        assert_eq!(rig.finish(), [(1, Status::Success)]);
        let after = [&counter::DATA_READS, &counter::DATA_READ_BYTES].map(|c| rig.count(c));
        assert_eq!([after[0] - before[0], after[1] - before[1]], [reads, read_bytes], "{fetch:?}");
        let rows: Vec<_> = (0..5).flat_map(|row| bytes(100 * row, 4)).collect();
        let sent = rig.network.with_peer(peer, |peer| peer.take_messages());
        let sent: Vec<_> = sent.into_iter().map(|message| message.bytes).collect();
        assert_eq!(sent, [rows, bytes(2048, 700)]);
    }
    assert_eq!(rig.network.errors(), []);
}

fn writes_go_one_behind_the_other<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Uc, 0xffffff);
    rig.add_queue(0, Some(1));
    let destination =
        Destination { remote_addr: u64::MAX - 5, ..to(1, vec![strided(0, 10, 5, &[(0, 10)])]) };
    let request = Request {
        opcode: Opcode::WriteImm,
        imm: 0xfeed,
        rows_per_message: 2,
        ..send(1, vec![destination])
    };
    rig.post(0, &request);
    assert_eq!(rig.finish(), [(1, Status::Success)]);
    let messages = rig.network.messages(peer);
    let kinds: Vec<_> = messages.iter().map(|m| (m.kind, m.bytes.len(), m.imm, m.psn)).collect();
    let write = |remote_addr| MessageKind::Write { remote_addr, rkey: 7 };
    assert_eq!(
        kinds,
        [
            (write(u64::MAX - 5), 20, Some(0xfeed), 0xffffff),
            (write(14), 20, Some(0xfeed), 0),
            (write(34), 10, Some(0xfeed), 1),
        ]
    );
    let memory = rig.network.with_peer(peer, |peer| peer.memory().read(u64::MAX - 5, 50));
    assert_eq!(memory, bytes(0, 50));
    assert_eq!(rig.network.errors(), []);
}

fn sequence_numbers_wrap_and_acknowledgements_follow<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0xfffffd);
    rig.add_queue(0, Some(1));
    for wr_id in 0..8 {
        rig.post(0, &send(wr_id, vec![to(1, vec![contiguous(wr_id * 10, 300)])]));
    }
    assert_eq!(rig.finish(), (0..8).map(|wr_id| (wr_id, Status::Success)).collect::<Vec<_>>());
    let psns: Vec<u32> = rig.network.messages(peer).iter().map(|message| message.psn).collect();
    assert_eq!(psns[..3], [0xfffffd, 0xffffff, 1]);
    assert_eq!(rig.network.errors(), []);
}

fn requests_wrap_around_the_end_of_the_ring<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Uc, 0);
    rig.add_queue(0, Some(1));
    // 4 + 30 granules are 9 blocks: 64 blocks do not hold a whole number of them.
    let regions: Vec<Region> = (0..15).map(|i| strided(i * 7, 3, 2, &[(0, 2)])).collect();
    let request = |wr_id| send(wr_id, vec![to(1, regions.clone())]);
    let expected = testing::units(&regions, RowMask::Period, &testing::memory());
    for wr_id in 0..40 {
        rig.post(0, &request(wr_id));
        assert_eq!(rig.finish(), [(wr_id, Status::Success)]);
        let sent = rig.network.with_peer(peer, |peer| peer.take_messages());
        assert_eq!(sent.into_iter().map(|m| m.bytes).collect::<Vec<_>>(), expected);
    }
    assert!(rig.producer(0) > 4 * BLOCKS);
    assert_ne!(rig.producer(0) % BLOCKS, 0);
}

fn the_completion_queue_wraps_and_is_never_overrun<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.add_queue_pair(1, Transport::Uc, 0);
    rig.add_queue(0, Some(1));
    rig.add_completion_queue(0, 2);
    let mut seen = Vec::new();
    for round in 0..5 {
        for i in 0..10 {
            rig.post(0, &send(round * 10 + i, vec![to(1, vec![contiguous(0, 1)])]));
        }
        rig.progress(20);
        let first = rig.poll();
        assert_eq!(first.len(), 4, "a full queue holds the others back");
        seen.extend(first.iter().map(|completion| completion.wr_id));
        seen.extend(rig.finish().iter().map(|(wr_id, _)| *wr_id));
    }
    assert_eq!(seen, (0..50).collect::<Vec<_>>());
}

fn a_request_without_rows_sends_nothing_and_succeeds_in_order<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue(0, None);
    let no_bit = Region::Bitmapped {
        bitmap: BASE,
        rows: 0,
        lkey: 99,
        columns: vec![Column { base: 0, width: 4, lkey: 99 }],
        fetch_rows: None,
    };
    rig.post(0, &send(1, vec![to(1, vec![contiguous(0, 10)])]));
    rig.post(0, &send(2, vec![to(1, vec![no_bit])]));
    rig.post(0, &send(3, vec![to(1, vec![])]));
    rig.post(0, &send(4, vec![to(1, vec![contiguous(0, 10)])]));
    let expected: Vec<_> = (1..5).map(|wr_id| (wr_id, Status::Success)).collect();
    assert_eq!(rig.finish(), expected);
    assert_eq!(rig.sent(peer).len(), 2);
}

fn posts_are_executed_in_the_order_of_their_doorbells<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue(0, Some(1));
    rig.add_queue(1, None);
    let one = |i: u64| send(i, vec![to(1, vec![contiguous(i, 1)])]);
    rig.write_request(0, &one(1));
    rig.write_request(0, &one(2));
    rig.post(1, &one(10));
    rig.ring(0);
    rig.post(1, &one(11));
    rig.post(0, &one(3));
    rig.finish();
    let expected = [10, 1, 2, 11, 3].map(|i| bytes(i, 1));
    assert_eq!(rig.sent(peer), expected);
}

fn rc_completes_when_it_is_acknowledged_and_uc_when_it_is_sent<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let rc = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.network.with_peer(rc, |peer| peer.set_behaviour(crate::wire::Behaviour::Dead));
    rig.add_queue_pair(2, Transport::Uc, 0);
    rig.add_queue(1, Some(1));
    rig.add_queue(2, Some(2));
    rig.post(1, &send(1, vec![to(1, vec![contiguous(0, 1)])]));
    rig.post(2, &send(2, vec![to(2, vec![contiguous(0, 1)])]));
    rig.wait_for_completion();
    rig.progress(20);
    assert_eq!(rig.poll().iter().map(|c| c.wr_id).collect::<Vec<_>>(), [2]);
    assert_eq!(rig.get(&drdma_abi::register::STATUS), 1, "an answer is awaited");
}

/// Three requests of one packet each, sequence numbers 0 to 2, to a peer that stays silent.
fn unacknowledged<C: Simulated>() -> Rig<C> {
    let mut rig = Rig::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.network.with_peer(peer, |peer| peer.set_behaviour(crate::wire::Behaviour::Dead));
    rig.add_queue(0, Some(1));
    for wr_id in 0..3 {
        rig.post(0, &send(wr_id, vec![to(1, vec![contiguous(0, 1)])]));
    }
    rig.progress(3);
    rig
}

/// Acknowledges `psn` in the peer's name.
fn acknowledge<C>(rig: &Rig<C>, psn: u32) {
    let flow = drdma_semantics::packets::Flow {
        vlan: None,
        source_mac: 0x0200_0000_0002,
        dest_mac: super::rig::MAC,
        tos: 0,
        ttl: drdma_abi::roce::TTL,
        source_ip: 0x0a00_0002,
        dest_ip: super::rig::CARD_IP,
        qpn: 0x201,
        dest_qpn: 0x101,
        pkey: 0xffff,
        qkey: 0,
        transport: Transport::Rc,
        mtu: 256,
    };
    rig.network.inject(crate::wire::peer::acknowledgement(&flow, 31, psn, 0), 0);
}

fn an_acknowledgement_of_a_sequence_number_covers_those_before<C: Simulated>() {
    let mut rig = unacknowledged::<C>();
    let settle = |rig: &mut Rig<C>| {
        rig.progress(2);
        rig.poll()
            .iter()
            .map(|completion| (completion.wr_id, completion.status))
            .collect::<Vec<_>>()
    };
    acknowledge(&rig, 1);
    assert_eq!(settle(&mut rig), [(0, 0), (1, 0)]);
    acknowledge(&rig, 1);
    acknowledge(&rig, 0xff_fff0);
    assert_eq!(settle(&mut rig), []);
    acknowledge(&rig, 2);
    assert_eq!(settle(&mut rig), [(2, 0)]);
}

fn acknowledgements_of_packets_that_were_never_sent_are_ignored<C: Simulated>() {
    let mut rig = unacknowledged::<C>();
    for never_sent in [3, 0x7fffff, 0xffffff] {
        acknowledge(&rig, never_sent);
    }
    rig.progress(2);
    assert_eq!(rig.poll(), []);
}

#[test]
fn the_model_ignores_acknowledgements_of_packets_that_were_never_sent() {
    acknowledgements_of_packets_that_were_never_sent_are_ignored::<SoftCard>();
}

#[test]
fn the_hardware_ignores_acknowledgements_of_packets_that_were_never_sent() {
    acknowledgements_of_packets_that_were_never_sent_are_ignored::<crate::rtl::RtlCard>();
}

fn a_pointer_mapped_region_and_a_list_of_elements_are_one_request<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue(0, Some(1));
    rig.data.write(0, &(BASE + 64).to_le_bytes());
    rig.data.write(8, &BASE.to_le_bytes());
    let region = Region::PointerMapped {
        pointers: BASE,
        count: 2,
        lkey: LKEY,
        target_lkey: LKEY,
        pattern: vec![Extent { offset: 0, len: 4 }],
    };
    let request = Request {
        opcode: Opcode::SendImm,
        imm: 5,
        ..send(3, vec![to(1, vec![region, contiguous(16, 100)])])
    };
    rig.post(0, &request);
    assert_eq!(rig.finish(), [(3, Status::Success)]);
    let messages = rig.network.messages(peer);
    assert!(messages.iter().all(|message| message.imm == Some(5)));
    let expected = [bytes(64, 4), (BASE + 64).to_le_bytes()[..4].to_vec(), bytes(16, 100)];
    assert_eq!(rig.sent(peer), expected);
}

/// The paper's shuffle at a larger size: a million rows of five 4-byte columns to two servers by
/// bitmap. Only the time may grow with the rows.
#[test]
fn a_million_rows_are_shuffled() {
    let rows = 1 << 20;
    let mut rig = Rig::<SoftCard>::new();
    let (base, lkey) = (0x1_0000_0000, 0x3);
    let bitmaps = base + 5 * 4 * rows;
    let table = drdma_driver::DmaMemory::new((20 * rows + rows / 4) as usize).unwrap();
    for row in 0..rows / 8 {
        let bits = (row as u8).wrapping_mul(37);
        table.write((bitmaps - base + row) as usize, &[bits]);
        table.write((bitmaps - base + rows / 8 + row) as usize, &[!bits]);
    }
    drdma_driver::Card::map(&mut rig.card, base, &table).unwrap();
    rig.add_region(lkey, base, table.len() as u64);
    rig.add_queue(0, None);
    let columns: Vec<Column> =
        (0..5).map(|c| Column { base: base + c * 4 * rows, width: 4, lkey }).collect();
    let mut destinations = Vec::new();
    for qp in 0..2 {
        let config = crate::wire::PeerConfig {
            keep_messages: false,
            mtu: 4096,
            ..crate::wire::PeerConfig::new(Transport::Rc, 2, 3, 4 + qp, 5 + qp)
        };
        rig.add_queue_pair_to(qp, 0, config);
        let bitmap = bitmaps + u64::from(qp) * rows / 8;
        let columns = columns.clone();
        let region =
            Region::Bitmapped { bitmap, rows: rows as u32, lkey, columns, fetch_rows: None };
        destinations.push(to(qp, vec![region]));
    }
    let request = Request { rows_per_message: 64, ..send(1, destinations) };
    rig.post(0, &request);
    assert_eq!(rig.finish(), [(1, Status::Success)]);
    assert_eq!(rig.network.errors(), []);
    assert_eq!(rig.network.traffic().frames, 1 << 14);
    assert_eq!(rig.count(&counter::PAYLOAD_BYTES), 20 * rows);
    assert_eq!(rig.count(&counter::DATA_READ_BYTES), 20 * rows, "each byte is read once");
}

on_every_card! {
    a_request_is_fetched_as_it_says_and_the_next_as_the_registers_say,
    figure_5_is_sent_as_two_messages,
    figure_6_shuffles_three_columns_to_two_servers_reading_each_byte_once,
    writes_go_one_behind_the_other,
    sequence_numbers_wrap_and_acknowledgements_follow,
    requests_wrap_around_the_end_of_the_ring,
    the_completion_queue_wraps_and_is_never_overrun,
    a_request_without_rows_sends_nothing_and_succeeds_in_order,
    posts_are_executed_in_the_order_of_their_doorbells,
    rc_completes_when_it_is_acknowledged_and_uc_when_it_is_sent,
    an_acknowledgement_of_a_sequence_number_covers_those_before,
    a_pointer_mapped_region_and_a_list_of_elements_are_one_request,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_peer_receives_the_messages_that_the_semantics_say(
        destinations in proptest::collection::vec(
            (
                prop_oneof![
                    proptest::collection::vec(testing::region(), 0..4),
                    testing::matched_regions(),
                ],
                0u32..0xff_ffff,
                prop::sample::select(vec![Transport::Rc, Transport::Uc]),
            ),
            1..5,
        ),
        element in any::<bool>(),
        rows_per_message in prop_oneof![Just(1u32), 1..100u32, Just(u32::MAX)],
        opcode in prop::sample::select(&Opcode::ALL[..]),
    ) {
        let mut rig = Rig::<SoftCard>::new();
        rig.add_queue(0, None);
        let memory = testing::memory();
        let same_counts = |regions: &[Region]| {
            let count = |region: &Region| {
                testing::units(std::slice::from_ref(region), RowMask::Element, &memory).len()
            };
            regions.iter().all(|region| count(region) == count(&regions[0]))
        };
        let element = element && destinations.iter().all(|(regions, ..)| same_counts(regions));
        let row_mask = if element { RowMask::Element } else { RowMask::Period };
        let mut peers = Vec::new();
        let mut list = Vec::new();
        for (i, (regions, psn, transport)) in destinations.into_iter().enumerate() {
            peers.push(rig.add_queue_pair(i as u32, transport, psn));
            list.push(to(i as u32, regions));
        }
        let request = Request {
            opcode, row_mask, rows_per_message, imm: 77, ..send(1, list)
        };
        // Too long for the ring of this rig.
        prop_assume!(drdma_semantics::request::encode(&request, 0).len() <= 4096);
        rig.post(0, &request);
        rig.progress(1);
        let mut completions = rig.poll();
        for _ in 0..10_000 {
            if !completions.is_empty() {
                break;
            }
            rig.progress(1);
            completions = rig.poll();
        }
        let mut total = 0;
        for (destination, peer) in request.destinations.iter().zip(&peers) {
            let units = testing::units(&destination.regions, row_mask, &memory);
            let expected = testing::messages(&units, rows_per_message);
            total += expected.iter().map(Vec::len).sum::<usize>();
            prop_assert_eq!(rig.sent(*peer), expected);
        }
        prop_assert_eq!(rig.network.errors(), []);
        prop_assert_eq!(completions.len(), 1);
        prop_assert_eq!((completions[0].status, completions[0].bytes), (0, total as u64));
    }
}
