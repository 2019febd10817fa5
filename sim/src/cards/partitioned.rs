//! Partitioned requests: one array of ids and the columns, once for all destinations.

use drdma_abi::{
    completion::Status,
    register::counter,
    roce::Transport,
    work_request::{KeyType, Opcode, SPARK_SEED},
};
use proptest::prelude::*;

use super::rig::{Rig, Simulated, bytes, contiguous, send, to};
use drdma_semantics::{
    keys::{Function, Key, PartitionBy, Validity},
    kinds::{Entry, Kind},
    partitioned::Partitioned,
    region::{Column, RowMask},
    request::{Destination, Request},
    testing::{self, BASE, CONTROL, LKEY, SIZE},
};
use drdma_soft::{card::SoftCard, wire::MessageKind};

/// Ids of one byte at [`CONTROL`] and two columns of 4 and 1 bytes at the start of the memory.
fn region(rows: u32) -> Partitioned {
    let column = |offset, width| Column { base: BASE + offset, width, lkey: LKEY };
    let columns = vec![column(0, 4), column(600, 1)];
    Partitioned { ids: CONTROL, width: 1, rows, lkey: LKEY, columns, entries: vec![], by: None }
}

fn row(i: usize) -> Vec<u8> {
    [bytes(4 * i, 4), bytes(600 + i, 1)].concat()
}

fn part(qp: u32, partition: u16) -> Destination {
    Destination { partition, ..to(qp, vec![]) }
}

fn partitioned(region: Partitioned, destinations: Vec<Destination>) -> Request {
    Request { partitioned: Some(region), ..send(7, destinations) }
}

fn every_row_goes_to_the_destination_of_its_id_and_unknown_ids_are_not_sent<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let (red, blue, idle) = (
        rig.add_queue_pair(1, Transport::Rc, 0xff_ffff),
        rig.add_queue_pair(2, Transport::Ud, 5),
        rig.add_queue_pair(3, Transport::Uc, 9),
    );
    rig.add_queue(0, None);
    // Ids: 3 for red, 200 for blue, 77 without a destination; none for idle.
    let ids: Vec<u8> = (0..150).map(|i| [3, 200, 77][i * i % 7 % 3]).collect();
    rig.data.write((CONTROL - BASE) as usize, &ids);
    let request = Request {
        opcode: Opcode::SendImm,
        imm: 0xfeed,
        rows_per_message: 4,
        ..partitioned(region(150), vec![part(1, 3), part(2, 200), part(3, 0)])
    };
    rig.post(0, &request);
    assert_eq!(rig.finish(), [(7, Status::Success)]);
    for (peer, id) in [(red, 3), (blue, 200), (idle, 0)] {
        let rows: Vec<_> = (0..150).filter(|i| ids[*i] == id).map(row).collect();
        assert_eq!(rows.is_empty(), id == 0);
        assert_eq!(rig.sent(peer), testing::messages(&rows, 4));
    }
    let messages = rig.network.messages(red);
    assert!(messages.iter().all(|m| (m.kind, m.imm) == (MessageKind::Send, Some(0xfeed))));
    assert_eq!(rig.network.errors(), []);
    // Rows without a destination are read, too, and each column to the end of a word.
    let read = rig.count(&counter::DATA_READ_BYTES);
    assert!(read == 5 * 150 || C::PIPELINED && read < 5 * 150 + 8, "{read} B for 750 B, read once");
}

/// Requests that fail: status, destination, and whether its queue pair goes to error.
fn failing() -> Vec<(Request, Status, u16, bool)> {
    let two = |region| partitioned(region, vec![part(1, 0), part(2, 1)]);
    let end = BASE + SIZE;
    let (malformed, protection) = (Status::LocalQpOperationError, Status::LocalProtectionError);
    let column = |base, width, lkey| vec![Column { base, width, lkey }];
    vec![
        (two(Partitioned { width: 0, ..region(9) }), malformed, 0, false),
        (two(Partitioned { width: 4, ..region(9) }), malformed, 0, false),
        (two(Partitioned { columns: vec![], ..region(9) }), malformed, 0, false),
        (two(Partitioned { columns: column(BASE, 0, LKEY), ..region(9) }), malformed, 0, false),
        (two(Partitioned { ids: end - 8, ..region(9) }), protection, 0, false),
        (two(Partitioned { ids: end - 17, width: 2, ..region(9) }), protection, 0, false),
        (two(Partitioned { lkey: LKEY + 1, ..region(9) }), protection, 0, false),
        (
            two(Partitioned { columns: column(end - 35, 4, LKEY), ..region(9) }),
            protection,
            0,
            false,
        ),
        (
            two(Partitioned { columns: column(BASE, 4, LKEY + 1), ..region(9) }),
            protection,
            0,
            false,
        ),
        (partitioned(region(9), vec![part(1, 5), part(2, 5)]), malformed, 1, false),
        (partitioned(region(9), vec![part(1, 5), part(2, 256)]), malformed, 1, false),
        (
            partitioned(
                region(9),
                vec![Destination { partition: 5, ..to(1, vec![contiguous(0, 1)]) }],
            ),
            malformed,
            0,
            false,
        ),
        (send(7, vec![part(1, 1)]), malformed, 0, false),
        // 60 rows of 5 B in a message to the datagram queue pair 3.
        (
            Request {
                rows_per_message: 60,
                ..partitioned(Partitioned { ids: CONTROL - 64, ..region(60) }, vec![part(3, 0xaa)])
            },
            Status::LocalLengthError,
            0,
            true,
        ),
    ]
}

fn what_fails_its_checks_sends_nothing_and_halts_its_queue<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.data.write((CONTROL - 64 - BASE) as usize, &[0xaa; 64]);
    for (request, status, destination, qp_fails) in failing() {
        for (qp, transport) in [(1, Transport::Rc), (2, Transport::Uc), (3, Transport::Ud)] {
            rig.add_queue_pair(qp, transport, 0);
        }
        rig.add_queue(4, None);
        let before = rig.network.traffic().frames;
        rig.post(4, &request);
        let completion = rig.run_until_completed(1)[0];
        assert_eq!(
            (completion.wr_id, completion.status, completion.bytes, completion.destination),
            (7, status as u8, 0, destination),
            "{request:?}"
        );
        rig.settle();
        assert!(rig.queue_halted(4), "{request:?}");
        let first = request.destinations[0].qp;
        let errors = (1..=3).filter(|qp| rig.queue_pair_error(*qp)).collect::<Vec<_>>();
        assert_eq!(errors, if qp_fails { vec![first] } else { vec![] }, "{request:?}");
        assert_eq!(rig.network.traffic().frames, before, "{request:?}");
    }
    assert_eq!(rig.network.errors(), []);
}

fn a_queue_pairs_own_queue_refuses_partitioned_requests<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue(1, Some(1));
    rig.post(1, &partitioned(region(9), vec![part(1, 0)]));
    assert_eq!(rig.finish(), [(7, Status::LocalQpOperationError)]);
    assert!(!rig.queue_pair_error(1));
}

fn ids_that_cannot_be_read_are_the_first_destinations_failure<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue_pair(2, Transport::Rc, 0);
    rig.add_queue(4, None);
    // A memory region that reaches beyond what is mapped.
    rig.add_region(0x55, BASE, 1 << 40);
    let unmapped = Partitioned { ids: BASE + SIZE, lkey: 0x55, ..region(9) };
    rig.post(4, &partitioned(unmapped, vec![part(2, 0), part(1, 1)]));
    assert_eq!(rig.finish(), [(7, Status::LocalProtectionError)]);
    assert_eq!((rig.queue_pair_error(1), rig.queue_pair_error(2)), (false, true));
    assert_eq!(rig.network.traffic().frames, 0);
}

#[test]
fn ids_that_change_after_they_were_counted_end_the_request_between_whole_packets() {
    let mut rig = Rig::<SoftCard>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue(4, None);
    let rows = 0x2000;
    let write_ids = |rig: &mut Rig<SoftCard>, id| rig.data.write(0x2000, &vec![id; rows as usize]);
    write_ids(&mut rig, 3);
    let columns = vec![Column { base: BASE, width: 1, lkey: LKEY }];
    let region = Partitioned { ids: BASE + 0x2000, columns, ..region(rows) };
    rig.post(4, &partitioned(region, vec![part(1, 3)]));
    while rig.network.traffic().frames == 0 {
        rig.progress(1);
    }
    write_ids(&mut rig, 4);
    assert_eq!(rig.finish(), [(7, Status::LocalProtectionError)]);
    let sent = rig.sent(peer);
    assert!((1..rows as usize).contains(&sent.len()), "{} messages", sent.len());
    assert_eq!(sent, (0..sent.len()).map(|row| bytes(row, 1)).collect::<Vec<_>>());
    assert_eq!(rig.network.errors(), []);
}

fn long_requests_arrive_row_by_row<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let transports = [Transport::Rc, Transport::Uc, Transport::Rc];
    let peers: Vec<_> =
        (1..).zip(transports).map(|(qp, transport)| rig.add_queue_pair(qp, transport, 7)).collect();
    rig.add_queue(0, None);
    // More than a chunk of the column path; in the second request ids of two bytes, at an odd address.
    let rows = 5000;
    for (width, partitions) in [(1, [3_u16, 200, 9]), (2, [0x103, 0x203, 3])] {
        let before: Vec<_> = peers.iter().map(|peer| rig.sent(*peer).len()).collect();
        // A row's id: that of the first, second or third destination, or one without a destination.
        let of = |i: usize| [0, 1, 3, 2, 0, 3, 1][i * i % 11 % 7];
        let id = |i: usize| [&partitions[..], &[0x77]].concat()[of(i)];
        let ids = (0..rows).flat_map(|i| id(i).to_le_bytes().into_iter().take(width));
        rig.data.write(0x1801, &ids.collect::<Vec<u8>>());
        let columns = vec![Column { base: BASE, width: 1, lkey: LKEY }];
        let region =
            Partitioned { ids: BASE + 0x1801, width: width as u64, columns, ..region(rows as u32) };
        let list = (1..).zip(partitions).map(|(qp, partition)| part(qp, partition)).collect();
        rig.post(0, &Request { rows_per_message: 7, ..partitioned(region, list) });
        assert_eq!(rig.finish(), [(7, Status::Success)]);
        for (index, peer) in peers.iter().enumerate() {
            let own: Vec<_> = (0..rows).filter(|i| of(*i) == index).map(|i| bytes(i, 1)).collect();
            assert!(own.len() > 300);
            assert_eq!(rig.sent(*peer)[before[index]..], testing::messages(&own, 7));
        }
    }
    assert_eq!(rig.network.errors(), []);
}

fn ids_that_end_in_unreadable_memory_end_the_request_between_whole_packets<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue_pair(2, Transport::Rc, 0);
    rig.add_queue(4, None);
    rig.add_region(0x55, BASE, 1 << 40);
    // The first 4,400 ids can be read, and are 3.
    rig.data.write(SIZE as usize - 4400, &[3; 4400]);
    let columns = vec![Column { base: BASE, width: 1, lkey: LKEY }];
    let region = Partitioned { ids: BASE + SIZE - 4400, lkey: 0x55, columns, ..region(9000) };
    rig.post(4, &partitioned(region, vec![part(1, 3), part(2, 4)]));
    assert_eq!(rig.finish(), [(7, Status::LocalProtectionError)]);
    assert_eq!((rig.queue_pair_error(1), rig.queue_pair_error(2)), (true, false));
    let sent = rig.sent(peer);
    assert!(sent.is_empty() || C::PIPELINED && sent.len() <= 4400, "{} messages", sent.len());
    assert_eq!(sent, (0..sent.len()).map(|row| bytes(row, 1)).collect::<Vec<_>>());
    assert_eq!(rig.network.errors(), []);
}

/// A key of integers at this place of the memory.
fn integers(at: usize, width: u32) -> Key {
    let entry = Entry { offset: BASE + at as u64, lkey: LKEY, kind: Kind::Fixed { width } };
    Key { entry, key_type: KeyType::Integer, validity: None }
}

/// Rows of one byte at the start of the memory, of keys.
fn keyed(rows: u32, function: Function, partitions: u32, keys: Vec<Key>) -> Partitioned {
    let columns = vec![Column { base: BASE, width: 1, lkey: LKEY }];
    let by = Some(PartitionBy { function, partitions, group: 1, keys });
    Partitioned { ids: 0, width: 0, lkey: 0, columns, by, ..region(rows) }
}

const MURMUR3: Function = Function::Murmur3 { seed: SPARK_SEED };

fn rows_go_where_their_keys_hash_to<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peers: Vec<_> = (1..4).map(|qp| rig.add_queue_pair(qp, Transport::Rc, 7)).collect();
    rig.add_queue(0, None);
    // Known values (docs/semantics.md): the partitions 69, 5, 193, 171 and 115 of 200.
    let longs = [1, 0, -1, i64::MAX, i64::MIN];
    let of = |i: usize| i * i % 11 % 5;
    let at = 0x2001;
    // Some rows that are walked one by one, and several blocks of keys of rows that are packed.
    for (rows, group, ids) in
        [(20, 1, [69, 5, 115]), (1000, 10, [6, 0, 11]), (1000, 1, [69, 5, 115])]
    {
        let before: Vec<_> = peers.iter().map(|peer| rig.sent(*peer).len()).collect();
        let keys = (0..rows).flat_map(|i| longs[of(i)].to_le_bytes());
        rig.data.write(at, &keys.collect::<Vec<u8>>());
        let mut region = keyed(rows as u32, MURMUR3, 200, vec![integers(at, 8)]);
        region.by.as_mut().unwrap().group = group;
        let list = (1..).zip(ids).map(|(qp, id)| part(qp, id)).collect();
        rig.post(0, &Request { rows_per_message: 7, ..partitioned(region, list) });
        assert_eq!(rig.finish(), [(7, Status::Success)]);
        for (index, (peer, key)) in peers.iter().zip([0, 1, 4]).enumerate() {
            let own: Vec<_> = (0..rows).filter(|i| of(*i) == key).map(|i| bytes(i, 1)).collect();
            assert_eq!(rig.sent(*peer)[before[index]..], testing::messages(&own, 7));
        }
    }
    assert_eq!(rig.network.errors(), []);
}

fn rows_go_where_their_keys_lie_between_splitters<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peers: Vec<_> = (1..5).map(|qp| rig.add_queue_pair(qp, Transport::Rc, 7)).collect();
    rig.add_queue(0, None);
    let (rows, at, bits, splitters) = (600_usize, 0x2001, 0x1801, 0x1001);
    let of = |i: usize| (i * i % 37) as i16 - 18;
    let keys = (0..rows).flat_map(|i| of(i).to_le_bytes());
    rig.data.write(at, &keys.collect::<Vec<u8>>());
    let splits = [-10_i16, 0, 10];
    rig.data.write(splitters, &splits.map(i16::to_le_bytes).concat());
    // Every third row has no value; the first one's bit is bit 5.
    let is_null = |i: usize| i % 3 == 1;
    let mut validity = vec![0_u8; rows / 8 + 2];
    (0..rows).filter(|i| !is_null(*i)).for_each(|i| validity[(i + 5) / 8] |= 1 << ((i + 5) % 8));
    rig.data.write(bits, &validity);
    let validity = Some(Validity { bitmap: BASE + bits as u64, lkey: LKEY, first: 5 });
    let key = Key { validity, ..integers(at, 2) };
    let region = keyed(rows as u32, Function::Range, 4, vec![key]);
    let region = Partitioned { ids: BASE + splitters as u64, lkey: LKEY, ..region };
    let list = (0..4).map(|id| part(1 + u32::from(id), id)).collect();
    rig.post(0, &Request { rows_per_message: 7, ..partitioned(region, list) });
    assert_eq!(rig.finish(), [(7, Status::Success)]);
    for (id, peer) in peers.iter().enumerate() {
        let less = |i: usize| splits.iter().filter(|split| **split < of(i)).count();
        let id_of = |i: usize| if is_null(i) { 0 } else { less(i) };
        let own: Vec<_> = (0..rows).filter(|i| id_of(*i) == id).map(|i| bytes(i, 1)).collect();
        assert!(own.len() > 50);
        assert_eq!(rig.sent(*peer), testing::messages(&own, 7));
    }
    assert_eq!(rig.network.errors(), []);
}

fn keys_are_checked_before_anything_is_sent<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let (malformed, protection) = (Status::LocalQpOperationError, Status::LocalProtectionError);
    let end = SIZE as usize;
    let hash = |key: Key| keyed(9, MURMUR3, 200, vec![key]);
    let by = |change: fn(&mut PartitionBy)| {
        let mut region = hash(integers(0, 8));
        change(region.by.as_mut().unwrap());
        region
    };
    let range = |splitters: u64| {
        let region = keyed(9, Function::Range, 4, vec![integers(0, 8)]);
        Partitioned { ids: splitters, lkey: LKEY, ..region }
    };
    let valid = |bitmap: u64| {
        let validity = Some(Validity { bitmap, lkey: LKEY, first: 7 });
        hash(Key { validity, ..integers(0, 4) })
    };
    let cases = [
        (by(|by| by.partitions = 0), malformed, 0),
        (by(|by| by.partitions = 65_537), malformed, 0),
        (by(|by| by.group = 0), malformed, 0),
        (by(|by| by.keys.clear()), malformed, 0),
        (by(|by| by.keys = vec![by.keys[0]; 17]), malformed, 0),
        (by(|by| by.keys[0].key_type = KeyType::Unsigned), malformed, 0),
        (hash(integers(0, 3)), malformed, 0),
        (Partitioned { ids: 1, ..hash(integers(0, 8)) }, malformed, 0),
        (Partitioned { width: 1, ..hash(integers(0, 8)) }, malformed, 0),
        (hash(integers(end - 71, 8)), protection, 0),
        (by(|by| by.keys[0].entry.lkey += 1), protection, 0),
        (range(BASE + SIZE - 23), protection, 0),
        (valid(BASE + SIZE - 1), protection, 0),
        // Destination 1 has an id that is not made.
        (by(|by| by.partitions = 2), malformed, 1),
        (by(|by| (by.partitions, by.group) = (200, 100)), malformed, 1),
        (by(|by| (by.partitions, by.group) = (65_536, u16::MAX)), malformed, 1),
    ];
    for (region, status, destination) in cases {
        (1..4).for_each(|qp| {
            rig.add_queue_pair(qp, Transport::Rc, 0);
        });
        rig.add_queue(4, None);
        let request = partitioned(region, vec![part(1, 1), part(2, 2)]);
        rig.post(4, &request);
        let completion = rig.run_until_completed(1)[0];
        let found = (completion.status, completion.destination);
        assert_eq!(found, (status as u8, destination), "{request:?}");
        rig.settle();
    }
    // Columns that reach the end of the memory.
    for region in [hash(integers(end - 72, 8)), range(BASE + SIZE - 24), valid(BASE + SIZE - 2)] {
        rig.add_queue_pair(1, Transport::Rc, 0);
        rig.add_queue(4, None);
        rig.post(4, &partitioned(region, vec![part(1, 1)]));
        assert_eq!(rig.finish(), [(7, Status::Success)]);
    }
    assert_eq!(rig.network.errors(), []);
}

fn keys_that_cannot_be_read_are_the_first_destinations_failure<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue_pair(2, Transport::Rc, 0);
    rig.add_queue(4, None);
    rig.add_region(0x55, BASE, 1 << 40);
    let mut key = integers(SIZE as usize, 8);
    key.entry.lkey = 0x55;
    let region = keyed(9, MURMUR3, 200, vec![key]);
    rig.post(4, &partitioned(region, vec![part(2, 0), part(1, 1)]));
    assert_eq!(rig.finish(), [(7, Status::LocalProtectionError)]);
    assert_eq!((rig.queue_pair_error(1), rig.queue_pair_error(2)), (false, true));
    assert_eq!(rig.network.traffic().frames, 0);
}

on_every_card! {
    rows_go_where_their_keys_hash_to,
    rows_go_where_their_keys_lie_between_splitters,
    keys_are_checked_before_anything_is_sent,
    keys_that_cannot_be_read_are_the_first_destinations_failure,
    every_row_goes_to_the_destination_of_its_id_and_unknown_ids_are_not_sent,
    what_fails_its_checks_sends_nothing_and_halts_its_queue,
    a_queue_pairs_own_queue_refuses_partitioned_requests,
    ids_that_cannot_be_read_are_the_first_destinations_failure,
    long_requests_arrive_row_by_row,
    ids_that_end_in_unreadable_memory_end_the_request_between_whole_packets,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn partitions_arrive_as_the_semantics_say(
        region in testing::partitioned(),
        picks in proptest::collection::hash_set(0usize..200, 1..20),
        transport in prop::sample::select(vec![Transport::Rc, Transport::Uc]),
        element in any::<bool>(),
        rows_per_message in prop_oneof![Just(1u32), 1..100u32, Just(u32::MAX)],
        opcode in prop::sample::select(&Opcode::ALL[..]),
    ) {
        let memory = testing::memory();
        let mut rig = Rig::<SoftCard>::new();
        rig.add_queue(0, None);
        // Partitions of some rows, and one that no row may have.
        let ids = testing::ids(&region, &memory);
        let mut partitions: Vec<u16> = picks.iter().filter_map(|row| ids.get(*row).copied()).collect();
        partitions.push(9);
        partitions.sort_unstable();
        partitions.dedup();
        let (mut peers, mut list) = (Vec::new(), Vec::new());
        for (i, partition) in partitions.iter().enumerate() {
            peers.push(rig.add_queue_pair(i as u32, transport, 0xff_fff0 + i as u32));
            list.push(part(i as u32, *partition));
        }
        let row_mask = if element { RowMask::Element } else { RowMask::Period };
        let request = partitioned(region.clone(), list);
        let request = Request { opcode, row_mask, rows_per_message, imm: 77, ..request };
        rig.post(0, &request);
        prop_assert_eq!(rig.finish(), [(7, Status::Success)]);
        for (partition, peer) in partitions.iter().zip(peers) {
            let rows = testing::partition(&region, *partition, &memory);
            prop_assert_eq!(rig.sent(peer), testing::messages(&rows, rows_per_message));
        }
        prop_assert_eq!(rig.network.errors(), []);
    }
}
