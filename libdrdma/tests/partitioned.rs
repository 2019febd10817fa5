//! Partitioned regions and the requests that share them: the checks of each call, the entries in
//! the ring, and the messages of the soft card.

mod common;

use std::time::Duration;

use common::{Fake, connected, open_all};
use drdma_abi::{
    Layout,
    work_request::{
        Destination as DestinationLayout, Element, GRANULE, Opcode, RegionHeader, RegionShape,
        WqeHeader, flags,
    },
};
use libdrdma::network::{MessageKind, Network, PeerConfig};
use libdrdma::{
    Column, Context, Destination, MacAddress, MemoryRegion, Options, PartitionDestination,
    PartitionId, Partitioned, PartitionedRegion, PartitionedWorkRequest, PostError,
    ProtectionDomain, QueuePairAttributes, QueuePairState, RegionError, SharedOperation,
    SharedSendQueue, SharedWorkRequest, Status, Transport,
    optimizer::{FetchPlan, Fragment, Lane},
};
use proptest::{collection::vec, prelude::*};

fn memory() -> (ProtectionDomain, MemoryRegion) {
    let (_, _, pd, _) = open_all();
    let memory = pd.allocate_shared(65536).unwrap();
    (pd, memory)
}

fn refused<I>(region: Result<PartitionedRegion<I>, RegionError>) -> String {
    region.map(|_| ()).expect_err("a refused region").to_string()
}

#[test]
fn ids_and_columns_are_checked_to_their_last_row() {
    let (pd, m) = memory();
    let ids = pd.allocate(33).unwrap();
    fn region<'m, I: PartitionId>(
        ids: &'m MemoryRegion,
        m: &'m MemoryRegion,
        rows: u64,
        offset: u64,
    ) -> Result<PartitionedRegion<'m, I>, RegionError> {
        Partitioned::new(ids).offset(1).rows(rows).column(m, 0, 1).column(m, offset, 4).build()
    }
    assert!(region::<u8>(&ids, &m, 32, 65536 - 128).is_ok());
    assert!(region::<u16>(&ids, &m, 16, 65536 - 64).is_ok());
    let outside = "partitioned region: byte 33 is outside the memory region of 33 B (ids)";
    assert_eq!(refused(region::<u8>(&ids, &m, 33, 0)), outside);
    assert_eq!(refused(region::<u16>(&ids, &m, 17, 0)), outside);
    assert_eq!(
        refused(region::<u8>(&ids, &m, 16, 65536 - 63)),
        "partitioned region: byte 65536 is outside the memory region of 65536 B (column 1)"
    );
    assert_eq!(
        refused(Partitioned::<u16>::new(&m).offset(u64::MAX).rows(1).column(&m, 0, 1).build()),
        format!(
            "partitioned region: byte {} is outside the memory region of 65536 B (ids)",
            u64::MAX
        )
    );
    assert!(Partitioned::<u8>::new(&m).rows(8).column(&m, u64::MAX, 1).build().is_err());
}

#[test]
fn a_region_of_no_rows_covers_nothing() {
    let (_, m) = memory();
    assert!(Partitioned::<u8>::new(&m).offset(70000).column(&m, 70000, 4).build().is_ok());
}

#[test]
fn widths_columns_and_rows_have_limits() {
    let (_, m) = memory();
    assert_eq!(
        refused(Partitioned::<u8>::new(&m).column(&m, 0, 1).column(&m, 0, 0).build()),
        "partitioned region: width of column 1 is 0"
    );
    let large = 1 << 32;
    assert_eq!(
        refused(Partitioned::<u8>::new(&m).rows(large).column(&m, 0, 1).build()),
        "partitioned region: rows is 4294967296, more than 4294967295"
    );
    assert_eq!(
        refused(Partitioned::<u8>::new(&m).column(&m, 0, large).build()),
        "partitioned region: width of column 0 is 4294967296, more than 4294967295"
    );
    let of = |n| (0..n).fold(Partitioned::<u8>::new(&m), |r, i| r.column(&m, i, 1)).build();
    assert_eq!(refused(of(0)), "partitioned region: 0 columns, 1 to 16 are possible");
    assert_eq!(of(16).unwrap().descriptor_len(), 18 * 16);
    assert_eq!(refused(of(17)), "partitioned region: 17 columns, 1 to 16 are possible");
    let columns = [Column { addr: u64::MAX, width: 0, lkey: 2 }; 17];
    assert!(PartitionedRegion::<u8>::unchecked(u64::MAX, 1, 9, &columns[..16]).is_ok());
    assert!(PartitionedRegion::<u16>::unchecked(0, 1, 9, &[]).is_ok());
    assert_eq!(
        refused(PartitionedRegion::<u8>::unchecked(0, 1, 9, &columns)),
        "partitioned region: 17 columns, 1 to 16 are possible"
    );
}

#[test]
fn one_region_stays_in_one_protection_domain() {
    let (context, _, pd, _) = open_all();
    let ours = pd.allocate(64).unwrap();
    let theirs = context.protection_domain().allocate(64).unwrap();
    let region = Partitioned::<u8>::new(&ours).rows(8).column(&ours, 0, 1).column(&theirs, 0, 1);
    assert_eq!(
        refused(region.build()),
        "partitioned region: column 1 is in another protection domain"
    );
}

#[test]
fn the_fragments_and_lanes_of_a_region_are_those_of_the_rows_that_are_sent() {
    let (_, m) = memory();
    m.store_at(5, &[1, 0, 2, 0, 0, 1, 9, 2, 0, 1]);
    let region = Partitioned::<u8>::new(&m).offset(5).rows(10);
    let region = region.column(&m, 100, 4).column(&m, 200, 1).build().unwrap();
    let relative = |f: Fragment| (f.addr - m.addr(), f.len);
    let columns = [Lane::dense(m.addr() + 100, 4), Lane::dense(m.addr() + 200, 1)];
    assert_eq!(region.lanes(), columns);
    let fragments = |partitions: &[u8]| -> Vec<_> {
        region.fragments(partitions, &[&m]).unwrap().map(relative).collect()
    };
    let rows = |rows: &[u64]| -> Vec<_> {
        rows.iter().flat_map(|row| [(100 + 4 * row, 4), (200 + row, 1)]).collect()
    };
    assert_eq!(fragments(&[1, 2]), rows(&[0, 2, 5, 7, 9]));
    assert_eq!(fragments(&[9]), rows(&[6]));
    assert_eq!(fragments(&[]), []);
    assert_eq!(fragments(&[77]), []);

    // Ids of two bytes, little-endian.
    m.store_at(1001, &[0, 1, 1, 0, 0, 1]);
    let region = Partitioned::<u16>::new(&m).offset(1001).rows(3).column(&m, 0, 2);
    let region = region.build().unwrap();
    let found: Vec<_> = region.fragments(&[0x100], &[&m]).unwrap().map(relative).collect();
    assert_eq!(found, [(0, 2), (4, 2)]);
    assert_eq!(
        region.fragments(&[0x100], &[]).unwrap_err().to_string(),
        format!(
            "partitioned region: the memory of the ids at {:#x} was not given",
            m.addr() + 1001
        )
    );
    let none = Partitioned::<u16>::new(&m).column(&m, 0, 2).build().unwrap();
    assert_eq!(none.fragments(&[0], &[]).unwrap().count(), 0);
}

#[test]
fn limits_are_checked_when_posting() {
    let (context, _, pd, cq) = open_all();
    let (ours, other) = (pd.allocate(64).unwrap(), context.protection_domain());
    let theirs = other.allocate(64).unwrap();
    fn region(memory: &MemoryRegion) -> PartitionedRegion<'_, u8> {
        Partitioned::new(memory).rows(8).column(memory, 0, 1).build().unwrap()
    }
    let (region, foreign_region) = (region(&ours), region(&theirs));
    let (red, blue, foreign) =
        (connected(&pd, &cq, 256), connected(&pd, &cq, 256), connected(&other, &cq, 256));
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    let request = PartitionedWorkRequest::new(1, &region);
    fn refused<'m>(
        ssq: &mut SharedSendQueue<'m>,
        request: &PartitionedWorkRequest<'_, 'm, u8>,
        list: &[PartitionDestination<u8>],
    ) -> String {
        ssq.post_ssq_send(&request.destinations(list)).unwrap_err().to_string()
    }
    let to = PartitionDestination::new;
    assert_eq!(refused(&mut ssq, &request, &[]), "0 destinations, 1 to 256 are possible");
    assert_eq!(
        refused(&mut ssq, &request, &[to(&red, 0); 257]),
        "257 destinations, 1 to 256 are possible"
    );
    assert_eq!(
        refused(&mut ssq, &request.rows_per_message(0), &[to(&red, 0)]),
        "rows_per_message is 0"
    );
    assert_eq!(
        refused(&mut ssq, &request, &[to(&red, 3), to(&blue, 7), to(&blue, 3)]),
        "destination 2: partition 3 is destination 0's already"
    );
    assert_eq!(
        refused(&mut ssq, &request, &[to(&red, 0), to(&foreign, 1)]),
        "destination 1: a queue pair of another protection domain than the queue's"
    );
    assert_eq!(
        refused(&mut ssq, &PartitionedWorkRequest::new(1, &foreign_region), &[to(&red, 0)]),
        "the partitioned region: another protection domain than the queue's"
    );
    assert_eq!(cq.outstanding(), 0);
    let mut batch = ssq.batch();
    let twice = [to(&red, 1), to(&blue, 1)];
    let error = batch.post_ssq_send(&request.destinations(&twice)).unwrap_err();
    assert!(matches!(error, PostError::PartitionTwice { destination: 1, partition: 1, other: 0 }));
    batch.post_ssq_send(&request.destinations(&twice[..1])).unwrap();
    batch.submit().unwrap();
    assert_eq!(cq.outstanding(), 1);
}

/// Posts a request and decodes its entry in the ring with the layouts alone.
fn check_ring<I: PartitionId>(
    rows: u64,
    offset: u64,
    columns: &[(u64, u64)],
    partitions: &[I],
    operation: u8,
) {
    let (context, card, pd, cq) = open_all();
    let (a, b) = (pd.allocate(65536).unwrap(), pd.allocate(65536).unwrap());
    let start = Partitioned::<I>::new(&a).offset(offset).rows(rows);
    let region = columns.iter().fold(start, |r, (at, width)| r.column(&b, *at, *width));
    let region = region.build().unwrap();
    let qps: Vec<_> = partitions.iter().map(|_| connected(&pd, &cq, 256)).collect();
    let mut ssq = pd.shared_send_queue(&cq).send_blocks(256).build().unwrap();
    let list: Vec<_> = (0..)
        .zip(qps.iter().zip(partitions))
        .map(|(i, (qp, id))| PartitionDestination::new(qp, *id).remote(1 << 40 | i, 7 + i as u32))
        .collect();
    let operations = [
        SharedOperation::Send,
        SharedOperation::SendImm(5),
        SharedOperation::Write,
        SharedOperation::WriteImm(5),
    ];
    let request = PartitionedWorkRequest::new(u64::MAX - 1, &region)
        .operation(operations[usize::from(operation)])
        .rows_per_message(9)
        .fetch_plan(FetchPlan::new(64, 4095).unwrap())
        .destinations(&list);
    ssq.post_ssq_send(&request).unwrap();
    context.progress().unwrap();
    let logged = card.state().log.pop().unwrap();
    let mut granules = logged.bytes.chunks(GRANULE);
    let mut take = |count: usize| granules.by_ref().take(count).collect::<Vec<_>>().concat();

    let opcode = Opcode::from_code(operation).unwrap();
    let expected = WqeHeader {
        magic: 0xd7,
        opcode: operation,
        flags: flags::PARTITIONED | flags::FETCH_PLAN,
        fetch_log_max_read: 6,
        fetch_merge_threshold: 4095,
        destinations: partitions.len() as u16,
        granules: (2 + 2 + columns.len() + 2 * partitions.len()) as u32,
        position: 0,
        wr_id: u64::MAX - 1,
        rows_per_message: 9,
        imm: if opcode.has_imm() { 5 } else { 0 },
    };
    assert_eq!(WqeHeader::decode(&take(2)), expected);
    let header = RegionHeader { addr: a.addr() + offset, count: rows as u32, lkey: a.lkey() };
    assert_eq!(RegionHeader::decode(&take(1)), header);
    let width = size_of::<I>() as u64;
    let shape = RegionShape { period: width, elements: columns.len() as u16, ..Default::default() };
    assert_eq!(RegionShape::decode(&take(1)), shape);
    for (at, width) in columns {
        let column = Element { offset: b.addr() + at, len: *width as u32, lkey: b.lkey() };
        assert_eq!(Element::decode(&take(1)), column);
    }
    let mut queue_pairs = Vec::new();
    for (i, id) in (0..).zip(partitions) {
        let found = DestinationLayout::decode(&take(2));
        queue_pairs.push(found.qp);
        let expected = DestinationLayout {
            qp: found.qp,
            partition: (*id).into(),
            remote_addr: 1 << 40 | i,
            rkey: 7 + i as u32,
            ..Default::default()
        };
        assert_eq!(found, expected);
    }
    assert!(take(1).is_empty());
    queue_pairs.dedup();
    assert_eq!(queue_pairs.len(), partitions.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_stands_in_the_ring_is_what_was_asked_for(
        rows in 0u64..1000,
        offset in 0u64..30000,
        columns in vec((0u64..30000, 1u64..30), 1..=16),
        ids in proptest::collection::hash_set(any::<u16>(), 1..10),
        operation in 0u8..4,
    ) {
        let wide: Vec<u16> = ids.iter().copied().collect();
        check_ring(rows, offset, &columns, &wide, operation);
        let mut narrow: Vec<u8> = ids.iter().map(|id| *id as u8).collect();
        narrow.sort_unstable();
        narrow.dedup();
        check_ring(rows, offset, &columns, &narrow, operation);
    }
}

/// The queue pairs of a failed request are read back from the ring.
#[test]
fn a_failure_is_put_down_to_the_queue_pairs_of_the_request() {
    let (context, card, pd, cq): (Context, Fake, _, _) = open_all();
    let m = pd.allocate(64).unwrap();
    let (red, blue) = (connected(&pd, &cq, 256), connected(&pd, &cq, 256));
    let region = Partitioned::<u16>::new(&m)
        .rows(3)
        .column(&m, 0, 1)
        .column(&m, 8, 2)
        .column(&m, 16, 4)
        .build()
        .unwrap();
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    card.state().outcomes.push_back((Status::LocalProtectionError, 1));
    card.state().failing = vec![blue.index()];
    let list = [PartitionDestination::new(&red, 1), PartitionDestination::new(&blue, 2)];
    ssq.post_ssq_send(&PartitionedWorkRequest::new(1, &region).destinations(&list)).unwrap();
    context.progress().unwrap();
    let found: Vec<_> = cq.poll().map(|c| (c.wr_id, c.status, c.destination)).collect();
    assert_eq!(found, [(1, Status::LocalProtectionError, 1)]);
    let states = (red.state(), blue.state());
    assert_eq!(states, (QueuePairState::ReadyToSend, QueuePairState::Error));
}

#[test]
fn partitions_arrive_where_they_belong_and_mix_with_other_requests() {
    let network = Network::new();
    let card = libdrdma::open_on("soft:", &network).unwrap();
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let context = Context::open(card, options).unwrap();
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let (mut keys, mut ids) = (pd.allocate(64).unwrap(), pd.allocate(33).unwrap());
    keys.write_at(0, &(0..64).collect::<Vec<u8>>());
    for row in 0..16u16 {
        ids.write_at(1 + 2 * usize::from(row), &[0, (row % 3) as u8]);
    }
    let mut pairs = Vec::new();
    for n in 2..4u8 {
        let (mac, ip) = (0x0200_0000_0000 + u64::from(n), 0x0a00_0000 + u32::from(n));
        let qpn = 16 + u32::from(n);
        let peer = network.add_peer(PeerConfig::new(Transport::Rc, mac, ip, 33, qpn));
        let mut qp = pd.queue_pair(&cq).qpn(qpn).build().unwrap();
        let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(100);
        let attributes = attributes.dest_mac(MacAddress([2, 0, 0, 0, 0, n]));
        qp.connect(&attributes.dest_ip([10, 0, 0, n].into())).unwrap();
        pairs.push((peer, qp));
    }
    let region =
        Partitioned::<u16>::new(&ids).offset(1).rows(16).column(&keys, 0, 4).build().unwrap();
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    let list = [
        PartitionDestination::new(&pairs[0].1, 0x100).remote(64, 1),
        PartitionDestination::new(&pairs[1].1, 0x000).remote(128, 2),
    ];
    let mut batch = ssq.batch();
    let request = PartitionedWorkRequest::new(1, &region).operation(SharedOperation::Write);
    batch.post_ssq_send(&request.rows_per_message(4).destinations(&list)).unwrap();
    let empty = [Destination::new(&pairs[0].1)];
    batch.post_ssq_send(&SharedWorkRequest::new(2).destinations(&empty)).unwrap();
    batch.submit().unwrap();
    let completions = cq.wait(2, Duration::from_secs(1)).unwrap();
    let found: Vec<_> = completions.iter().map(|c| (c.wr_id, c.status, c.bytes)).collect();
    assert_eq!(found, [(1, Status::Success, 11 * 4), (2, Status::Success, 0)]);
    for ((peer, _), (rest, addr, rkey)) in pairs.iter().zip([(1, 64, 1), (0, 128, 2)]) {
        let rows: Vec<Vec<u8>> = (0..16u8)
            .filter(|row| row % 3 == rest)
            .map(|row| (4 * row..4 * row + 4).collect())
            .collect();
        let messages = network.messages(*peer);
        let mut remote_addr = addr;
        assert_eq!(messages.len(), rows.len().div_ceil(4));
        for (message, expected) in messages.iter().zip(rows.chunks(4)) {
            assert_eq!(message.bytes, expected.concat());
            assert_eq!(message.kind, MessageKind::Write { remote_addr, rkey });
            remote_addr += message.bytes.len() as u64;
        }
    }
    assert_eq!(network.errors(), []);
}
