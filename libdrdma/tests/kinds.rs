//! Columns of every kind and messages by columns: what arrives from the reference card, and what is refused.

use std::time::Duration;

use libdrdma::{
    ColumnKind, Context, KindColumn, KindRows, MemoryRegion, MessageLayout, Operation, Options,
    PartitionDestination, PartitionedRegion, PartitionedWorkRequest, PostError, ProtectionDomain,
    QueuePairAttributes, Region, RegionError, RemoteColumn, Status, Transport, WorkRequest,
    network::{Network, PeerConfig, PeerId},
};

/// Opens a card with the peers of queue pairs 17 and 18.
fn open() -> (Network, [PeerId; 2], Context) {
    let network = Network::new();
    let peers = [33, 34].map(|qpn| {
        let config = PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, qpn, qpn - 16);
        network.add_peer(config)
    });
    let card = libdrdma::open_on("soft:", &network).unwrap();
    let options = Options::new("02:00:00:00:00:01".parse().unwrap(), [10, 0, 0, 1].into());
    (network, peers, Context::open(card, options).unwrap())
}

fn to_peer(qpn: u32) -> QueuePairAttributes {
    let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(qpn + 16).start_psn(0);
    attributes.dest_mac("02:00:00:00:00:02".parse().unwrap()).dest_ip([10, 0, 0, 2].into())
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Three strings: "", "ab", "cde".
struct Strings {
    offsets: MemoryRegion,
    data: MemoryRegion,
}

impl Strings {
    fn new(pd: &ProtectionDomain) -> Self {
        let offsets = pd.register(words(&[0, 0, 2, 5])).unwrap();
        Self { offsets, data: pd.register(b"abcde".to_vec()).unwrap() }
    }

    fn column(&self) -> KindColumn {
        let (data, lkey) = (self.data.addr(), self.data.lkey());
        let kind = ColumnKind::Offsets { width: 4, data, lkey };
        KindColumn { addr: self.offsets.addr(), lkey: self.offsets.lkey(), kind }
    }
}

#[test]
fn strings_and_bits_arrive_by_rows_and_by_columns() {
    let (network, peers, context) = open();
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let strings = Strings::new(&pd);
    // Rows 0 and 2 of three, from bit 7 on; the flags of rows 0 to 2 are 1, 0, 1, from bit 2 on.
    let bits = pd.register(vec![0b1000_0000_u8, 0b10, 0b1_0100]).unwrap();
    let flags = KindColumn {
        addr: bits.addr() + 2,
        lkey: bits.lkey(),
        kind: ColumnKind::Bits { first: 2 },
    };
    let rows = KindRows::Bitmapped { bitmap: bits.addr(), lkey: bits.lkey(), first: 7, rows: 3 };
    let regions = [Region::unchecked_kinds(rows, &[flags, strings.column()]).unwrap()];
    let mut qp = pd.queue_pair(&cq).qpn(17).build().unwrap();
    qp.connect(&to_peer(17)).unwrap();
    let request = WorkRequest::new(1).rows_per_message(2).regions(&regions);
    qp.post_send(&request).unwrap();
    qp.post_send(&request.message_layout(MessageLayout::Columns)).unwrap();
    let completions = cq.wait(2, Duration::from_secs(5)).unwrap();
    assert_eq!(completions.iter().map(|c| c.bytes).collect::<Vec<_>>(), [13, 12]);
    let found: Vec<_> = network.messages(peers[0]).into_iter().map(|m| m.bytes).collect();
    assert_eq!(found[0], b"\x01\0\0\0\0\x01\x03\0\0\0cde");
    assert_eq!(found[1], b"\x03\0\0\0\0\x03\0\0\0cde");
}

#[test]
fn a_partition_is_written_by_columns() {
    let (network, peers, context) = open();
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let strings = Strings::new(&pd);
    let ids = pd.register(vec![5_u8, 6, 5]).unwrap();
    let dictionary = pd.register(b"XXYYZZ\x02\0\x01".to_vec()).unwrap();
    let (values, lkey) = (dictionary.addr(), dictionary.lkey());
    let kind = ColumnKind::Dictionary { index: 1, values, width: 2, count: 3, lkey };
    let columns = [KindColumn { addr: values + 6, lkey, kind }, strings.column()];
    let region =
        PartitionedRegion::<u8>::unchecked_kinds(ids.addr(), ids.lkey(), 3, &columns).unwrap();
    let [red, blue] = [17, 18].map(|qpn| {
        let mut qp = pd.queue_pair(&cq).qpn(qpn).build().unwrap();
        qp.connect(&to_peer(qpn)).unwrap();
        qp
    });
    let to = [0x1000, 0x2000, 0x3000].map(|addr| RemoteColumn { addr, rkey: 9 });
    let destinations = [
        PartitionDestination::new(&red, 5).remote_columns(&to),
        PartitionDestination::new(&blue, 6).message_layout(MessageLayout::Columns).remote(7, 8),
    ];
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    let request = PartitionedWorkRequest::new(1, &region).rows_per_message(8);
    let write = libdrdma::SharedOperation::Write;
    ssq.post_ssq_send(&request.operation(write).destinations(&destinations)).unwrap();
    let completions = cq.wait(1, Duration::from_secs(5)).unwrap();
    assert_eq!((completions[0].status, completions[0].bytes), (Status::Success, 23));
    let found = |peer| -> Vec<Vec<u8>> {
        network.messages(peer).into_iter().map(|message| message.bytes).collect()
    };
    assert_eq!(found(peers[0]), [b"ZZYY".to_vec(), words(&[0, 3]), b"cde".to_vec()]);
    assert_eq!(found(peers[1]), [b"XX\x02\0\0\0ab".to_vec()]);
}

#[test]
fn an_entry_that_leads_nowhere_fails_the_request() {
    let (network, peers, context) = open();
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let strings = Strings::new(&pd);
    let offsets = pd.register(words(&[0, 2, 6])).unwrap();
    let bad = KindColumn { addr: offsets.addr(), lkey: offsets.lkey(), ..strings.column() };
    let rows = KindRows::Strided { addr: bad.addr, lkey: bad.lkey, period: 4, count: 2 };
    let extent = KindColumn { addr: 0, lkey: 0, ..bad };
    let regions = [Region::unchecked_kinds(rows, &[extent]).unwrap()];
    let mut qp = pd.queue_pair(&cq).qpn(17).build().unwrap();
    qp.connect(&to_peer(17)).unwrap();
    qp.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
    let completions = cq.wait(1, Duration::from_secs(5)).unwrap();
    assert_eq!(completions[0].status, Status::LocalProtectionError);
    assert!(network.messages(peers[0]).is_empty(), "not even the string before it is sent");
}

#[test]
fn what_cannot_be_told_or_filled_is_refused() {
    let (_, _, context) = open();
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let strings = Strings::new(&pd);
    let rows = KindRows::PointerMapped { pointers: 0, lkey: 0, count: 0, target_lkey: 0 };
    let column = |kind| [KindColumn { addr: 0, lkey: 0, kind }];
    let refused = |columns: &[KindColumn]| Region::unchecked_kinds(rows, columns).unwrap_err();
    let wide = refused(&column(ColumnKind::Fixed { width: 1 << 24 }));
    assert!(matches!(wide, RegionError::TooWide { value: 0x100_0000, .. }), "{wide}");
    let odd = refused(&column(ColumnKind::Offsets { width: 2, data: 0, lkey: 0 }));
    assert!(matches!(odd, RegionError::EntryWidth { value: 2, .. }), "{odd}");
    let many = refused(&[strings.column(); 17]);
    assert!(matches!(many, RegionError::Elements { given: 17, .. }), "{many}");

    let regions = [Region::unchecked_kinds(rows, &[strings.column()]).unwrap()];
    let mut qp = pd.queue_pair(&cq).qpn(17).receive(&cq).build().unwrap();
    let receiving = to_peer(17).rq_psn(0).min_rnr_timer(1).max_rd_atomic(1);
    qp.connect(&receiving).unwrap();
    let request = WorkRequest::new(1).regions(&regions);
    let read = qp.post_send(&request.read(0, 0)).unwrap_err();
    assert!(matches!(read, PostError::NotFilled { .. }), "{read}");
    let receive = libdrdma::ReceiveRequest::new(1).regions(&regions);
    let receive = qp.post_recv(&receive).unwrap_err();
    assert!(matches!(receive, PostError::NotFilled { .. }), "{receive}");
    let to = [RemoteColumn { addr: 0, rkey: 0 }; 65];
    let write = request.operation(Operation::Write { remote_addr: 0, rkey: 0 });
    let error = qp.post_send(&write.remote_columns(&to)).unwrap_err();
    assert!(matches!(error, PostError::RemoteColumns { columns: 65, .. }), "{error}");
    let error = qp.post_send(&request.remote_columns(&to[..2])).unwrap_err();
    assert!(matches!(error, PostError::RemoteColumnsOperation), "{error}");
    let inline = WorkRequest::new(1).inline(&[1]).message_layout(MessageLayout::Columns);
    let error = qp.post_send(&inline).unwrap_err();
    assert!(matches!(error, PostError::InlineLayout), "{error}");
}
