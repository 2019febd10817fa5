//! Checked regions of typed columns, chains, and partitions that are made from keys: messages from
//! the reference card, and all errors of misuse, with the wrong value.

use std::{sync::Arc, time::Duration};

use libdrdma::{
    Bitmapped, Context, KeyType, MemoryRegion, Options, Part, PartitionDestination, PartitionKeys,
    Partitioned, PartitionedRegion, PartitionedWorkRequest, PointerMapped, PostError,
    ProtectionDomain, QueuePairAttributes, Region, RegionError, Status, Strided, Transport, Values,
    ViewTable, WorkRequest,
    network::{Network, PeerConfig, PeerId},
};

struct World {
    network: Network,
    peers: [PeerId; 2],
    context: Context,
}

impl World {
    fn new() -> Self {
        let network = Network::new();
        let peers = [33, 34].map(|qpn| {
            let (mac, ip) = (0x0200_0000_0002, 0x0a00_0002);
            network.add_peer(PeerConfig::new(Transport::Rc, mac, ip, qpn, qpn - 16))
        });
        let card = libdrdma::open_on("soft:", &network).unwrap();
        let options = Options::new("02:00:00:00:00:01".parse().unwrap(), [10, 0, 0, 1].into());
        let context = Context::open(card, options).unwrap();
        Self { network, peers, context }
    }

    fn pd(&self) -> ProtectionDomain {
        self.context.protection_domain()
    }

    /// Sends a region; returns the messages.
    fn sent(&self, pd: &ProtectionDomain, region: Region<'_>) -> Result<Vec<Vec<u8>>, Status> {
        let cq = self.context.completion_queue().build().unwrap();
        let mut qp = pd.queue_pair(&cq).qpn(17).build().unwrap();
        qp.connect(&to_peer(17)).unwrap();
        qp.post_send(&WorkRequest::new(1).regions(&[region])).unwrap();
        let completion = cq.wait(1, Duration::from_secs(5)).unwrap()[0];
        match completion.status {
            Status::Success => Ok(self.messages(0)),
            status => Err(status),
        }
    }

    fn messages(&self, peer: usize) -> Vec<Vec<u8>> {
        self.network.messages(self.peers[peer]).into_iter().map(|m| m.bytes).collect()
    }
}

fn to_peer(qpn: u32) -> QueuePairAttributes {
    let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(qpn + 16).start_psn(0);
    attributes.dest_mac("02:00:00:00:00:02".parse().unwrap()).dest_ip([10, 0, 0, 2].into())
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

/// Two views: "ab", and `len` bytes of a buffer from byte `at` on.
fn views(len: u32, buffer: u32, at: u32) -> Vec<u8> {
    [words(&[2]), b"ab".to_vec(), vec![0; 10], words(&[len, 0, buffer, at])].concat()
}

#[test]
fn columns_of_every_kind_arrive() {
    let world = World::new();
    let pd = world.pd();
    let of = |bytes: Vec<u8>| pd.register(bytes).unwrap();
    let (short, long) = (of(words(&[9, 0, 2, 5])), of(longs(&[0, 1, 1])));
    let (text, bits) = (of(b"..abcde".to_vec()), of(vec![0b1000_0000_u8, 0b1, 0b10_0000]));
    let (seen, dictionary) = (of(views(13, 0, 1)), of(b".XXYYZZ\x02\0".to_vec()));
    let none: [(&MemoryRegion, u64, u64); 0] = [];
    assert!(ViewTable::register(&pd, none).unwrap().is_empty());
    let buffer = of(b"..A long string..".to_vec());
    let table = ViewTable::register(&pd, [(&buffer, 1, 16)]).unwrap();
    assert_eq!(table.len(), 1);
    let region = Bitmapped::new(&bits)
        .first_bit(7)
        .rows(2)
        .column(&text, 2, 1)
        .typed_column(&short, 4, Values::offsets_32(&text, 2))
        .typed_column(&long, 0, Values::offsets_64(&text, 6))
        .typed_column(&seen, 0, Values::views(&table))
        .typed_column(&dictionary, 7, Values::dictionary(1, &dictionary, 1, 2, 3))
        .typed_column(&bits, 2, Values::bits(5))
        .build()
        .unwrap();
    let row0 = b"a\x02\0\0\0ab\x01\0\0\0e\x02\0\0\0abZZ\x01";
    let row1 = b"b\x03\0\0\0cde\0\0\0\0\x0d\0\0\0A long stringXX\0";
    assert_eq!(world.sent(&pd, region).unwrap(), [row0.to_vec(), row1.to_vec()]);
}

#[test]
fn extents_of_every_kind_arrive() {
    let world = World::new();
    let pd = world.pd();
    let text = pd.register(b"abcde".to_vec()).unwrap();
    // Records of 9 B: two offsets and an index.
    let records = [words(&[0, 2]), vec![1], words(&[2, 5]), vec![0]].concat();
    let records = Arc::new(pd.register(records).unwrap());
    let with = |strided: Strided<'static>, text: &Arc<MemoryRegion>| {
        let strided = strided.typed_extent(0, Values::offsets_32(text, 0));
        strided.extent(8, 1).typed_extent(8, Values::dictionary(1, text, 3, 1, 2)).build()
    };
    let text = Arc::new(text);
    let region = with(Strided::new(&records).period(9).count(2), &text).unwrap();
    let rows = [b"\x02\0\0\0ab\x01e".to_vec(), b"\x03\0\0\0cde\0d".to_vec()];
    assert_eq!(world.sent(&pd, region).unwrap(), rows);
}

#[test]
fn typed_extents_arrive_from_behind_pointers() {
    let world = World::new();
    let pd = world.pd();
    let text = pd.register(b"abcde".to_vec()).unwrap();
    let records = [words(&[0, 2]), vec![1], words(&[2, 5]), vec![0]].concat();
    let records = pd.register(records).unwrap();
    let pointers = pd.register(longs(&[records.addr() + 9, records.addr()])).unwrap();
    let region = PointerMapped::new(&pointers, &records).count(2).extent(8, 1);
    let region = region.typed_extent(0, Values::offsets_32(&text, 0)).build().unwrap();
    let messages = world.sent(&pd, region).unwrap();
    assert_eq!(messages, [b"\0\x03\0\0\0cde".to_vec(), b"\x01\x02\0\0\0ab".to_vec()]);
}

#[test]
fn chains_are_followed_to_their_ends_and_no_further_than_allowed() {
    let world = World::new();
    let pd = world.pd();
    let mut records = pd.allocate(64).unwrap();
    let at = |index: u64| records.addr() + 16 * index;
    let next = [at(2), 7, at(3), 7];
    for (index, next) in next.iter().enumerate() {
        records.write_at(16 * index, &[index as u8 + 1]);
        records.write_at(16 * index + 8, &next.to_le_bytes());
    }
    let heads = pd.register(longs(&[7, records.addr() + 16, records.addr()])).unwrap();
    let chains =
        |limit| PointerMapped::new(&heads, &records).count(3).extent(0, 1).chase(8, 7, limit);
    let found = world.sent(&pd, chains(3).build().unwrap()).unwrap();
    assert_eq!(found.concat(), [2, 1, 3, 4]);
    let error = world.sent(&pd, chains(2).build().unwrap()).unwrap_err();
    assert_eq!(error, Status::LocalProtectionError);
    assert_eq!(world.messages(0).len(), 4, "nothing of the chain that is too long was sent");
}

/// Keys of rows, and the partitions of 200 in which Spark puts them.
const LONGS: [i64; 5] = [1, 0, -1, i64::MAX, i64::MIN];
const PARTITIONS: [u16; 5] = [69, 5, 193, 171, 115];

fn partitioned(
    world: &World,
    pd: &ProtectionDomain,
    region: &PartitionedRegion<'_, u16>,
    partitions: [u16; 2],
) -> Result<[Vec<u8>; 2], PostError> {
    let cq = world.context.completion_queue().build().unwrap();
    let pairs = [17, 18].map(|qpn| {
        let mut qp = pd.queue_pair(&cq).qpn(qpn).build().unwrap();
        qp.connect(&to_peer(qpn)).unwrap();
        qp
    });
    let to = |index: usize| PartitionDestination::new(&pairs[index], partitions[index]);
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    let request = PartitionedWorkRequest::new(1, region).rows_per_message(8);
    ssq.post_ssq_send(&request.destinations(&[to(0), to(1)]))?;
    assert_eq!(cq.wait(1, Duration::from_secs(5)).unwrap()[0].status, Status::Success);
    Ok([0, 1].map(|peer| world.messages(peer).concat()))
}

#[test]
fn rows_go_where_spark_sends_them() {
    let world = World::new();
    let pd = world.pd();
    let keys = pd.register(LONGS.to_vec()).unwrap();
    let names = pd.register(b"abcde".to_vec()).unwrap();
    let by = || PartitionKeys::murmur3(200).key(&keys, 0, Values::fixed(8), KeyType::Integer);
    let region = Partitioned::by(by()).rows(5).column(&names, 0, 1).build().unwrap();
    let found = partitioned(&world, &pd, &region, [PARTITIONS[2], PARTITIONS[4]]).unwrap();
    assert_eq!(found, [b"c".to_vec(), b"e".to_vec()]);
    let error = partitioned(&world, &pd, &region, [0, 200]).unwrap_err();
    assert!(
        matches!(error, PostError::PartitionNotMade { destination: 1, partition: 200, last: 199 }),
        "{error}"
    );

    let world = World::new();
    let pd = world.pd();
    let keys = pd.register(LONGS.to_vec()).unwrap();
    let names = pd.register(b"abcde".to_vec()).unwrap();
    let by = PartitionKeys::murmur3(200).group(100);
    let by = by.key(&keys, 0, Values::fixed(8), KeyType::Integer);
    let region = Partitioned::by(by).rows(5).column(&names, 0, 1).build().unwrap();
    let found = partitioned(&world, &pd, &region, [0, 1]).unwrap();
    assert_eq!(found, [b"ab".to_vec(), b"cde".to_vec()]);
}

#[test]
fn a_range_and_nulls_and_text_make_partitions() {
    let world = World::new();
    let pd = world.pd();
    let memory = pd.register(LONGS.to_vec()).unwrap();
    let splitters = pd.register(vec![-1_i64, 0]).unwrap();
    let names = pd.register(b"abcde".to_vec()).unwrap();
    let validity = pd.register(vec![0b1110_1000_u8]).unwrap();
    let by = PartitionKeys::range(&splitters, 0, 2)
        .key(&memory, 0, Values::fixed(8), KeyType::Integer)
        .validity(&validity, 0, 3);
    let region = Partitioned::by(by).rows(5).column(&names, 0, 1).build().unwrap();
    // 1 is above, 0 is null, the others: -1 and the least are below, the greatest above.
    let found = partitioned(&world, &pd, &region, [0, 2]).unwrap();
    assert_eq!(found, [b"bce".to_vec(), b"ad".to_vec()]);

    // hash('Spark', 123, 2) = -1321691492 = 8 modulo 100 (Spark's reference of the function).
    let world = World::new();
    let pd = world.pd();
    let text = pd.register(b"Spark".to_vec()).unwrap();
    let offsets = pd.register(words(&[0, 5])).unwrap();
    let ints = pd.register(words(&[123, 2])).unwrap();
    let by = PartitionKeys::murmur3(100)
        .seed(42)
        .key(&offsets, 0, Values::offsets_32(&text, 0), KeyType::Bytes)
        .key(&ints, 0, Values::fixed(4), KeyType::Integer)
        .key(&ints, 4, Values::fixed(4), KeyType::Integer);
    let region = Partitioned::by(by).rows(1).column(&text, 1, 3).build().unwrap();
    let found = partitioned(&world, &pd, &region, [8, 92]).unwrap();
    assert_eq!(found, [b"par".to_vec(), vec![]]);
}

/// Returns the text of the error of a wrong use.
fn told<T: std::fmt::Debug>(result: Result<T, RegionError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn every_wrong_use_of_typed_columns_names_the_value() {
    let world = World::new();
    let pd = world.pd();
    let of = |size| pd.allocate(size).unwrap();
    let (bits, memory, data) = (of(2), of(16), of(10));
    let other = world.context.protection_domain().allocate(16).unwrap();
    let column = |rows, offset, values| {
        let region = Bitmapped::new(&bits).rows(rows).typed_column(&memory, offset, values);
        told(region.build())
    };
    let b = "bitmapped region";
    assert_eq!(column(4, 0, Values::fixed(0)), format!("{b}: width of column 0 is 0"));
    let wide = column(4, 0, Values::fixed(1 << 24));
    assert_eq!(wide, format!("{b}: width of column 0 is 16777216, at most 16777215 is possible"));
    let outside = format!("{b}: byte 16 is outside the memory region of 16 B (column 0)");
    assert_eq!(column(5, 0, Values::fixed(4)), outside);
    assert_eq!(column(4, 0, Values::offsets_32(&data, 0)), outside, "an offset more than rows");
    assert_eq!(column(2, 0, Values::offsets_64(&data, 0)), outside);
    assert_eq!(column(9, 15, Values::bits(0)), outside);
    assert_eq!(column(8, 15, Values::bits(1)), outside);
    let bit = column(1, 0, Values::bits(8));
    assert_eq!(bit, format!("{b}: first bit of column 0 is 8, a byte has bits 0 to 7"));
    let behind = column(1, 0, Values::offsets_32(&data, 11));
    assert_eq!(
        behind,
        format!("{b}: byte 11 is outside the memory region of 10 B (data of element 0)")
    );
    let foreign = column(1, 0, Values::offsets_32(&other, 0));
    assert_eq!(foreign, format!("{b}: data of element 0 is in another protection domain"));
    let index = column(1, 0, Values::dictionary(3, &data, 0, 1, 1));
    assert_eq!(index, format!("{b}: width of column 0 is 3, which no offset or index has"));
    let none = column(1, 0, Values::dictionary(1, &data, 0, 0, 1));
    assert_eq!(none, format!("{b}: width of the dictionary of element 0 is 0"));
    let many = column(1, 0, Values::dictionary(1, &data, 0, 1, 1 << 32));
    let limit = "is 4294967296, more than 4294967295";
    assert_eq!(many, format!("{b}: number of values of the dictionary of element 0 {limit}"));
    let long = column(1, 0, Values::dictionary(1, &data, 1, 5, 2));
    let part = "(dictionary of element 0)";
    assert_eq!(long, format!("{b}: byte 10 is outside the memory region of 10 B {part}"));
    let elsewhere = Bitmapped::new(&bits).rows(1).typed_column(&other, 0, Values::fixed(1)).build();
    assert_eq!(told(elsewhere), format!("{b}: column 0 is in another protection domain"));

    let typed = |region: Bitmapped<'static>| {
        let shared = Arc::new(pd.allocate(64).unwrap());
        told(region.typed_column(shared, 0, Values::fixed(1)).build())
    };
    let bits = Arc::new(bits);
    let first = typed(Bitmapped::new(&bits).rows(1).first_bit(8));
    assert_eq!(first, format!("{b}: first bit of the bitmap is 8, a byte has bits 0 to 7"));
    let longer = typed(Bitmapped::new(&bits).rows(10).first_bit(7));
    assert_eq!(longer, format!("{b}: byte 2 is outside the memory region of 2 B (bitmap)"));
    let fetched = typed(Bitmapped::new(&bits).rows(1).fetch_rows(&bits, 0));
    let alone = "fetch rows are possible with columns of fixed width and a whole bitmap alone";
    assert_eq!(fetched, format!("{b}: {alone}"));
    let empty = told(Bitmapped::new(&bits).rows(1).first_bit(1).build());
    assert_eq!(empty, format!("{b}: 0 columns, 1 to 16 are possible"));
    let mut many = Bitmapped::new(&bits).rows(1);
    for _ in 0..17 {
        many = many.typed_column(&bits, 0, Values::fixed(1));
    }
    assert_eq!(told(many.build()), format!("{b}: 17 columns, 1 to 16 are possible"));
}

#[test]
fn every_wrong_table_of_view_buffers_names_the_value() {
    let world = World::new();
    let pd = world.pd();
    let memory = pd.allocate(16).unwrap();
    let other = world.context.protection_domain().allocate(16).unwrap();
    let refused = |buffers: Vec<(&MemoryRegion, u64, u64)>| {
        ViewTable::register(&pd, buffers).unwrap_err().to_string()
    };
    let t = "table of view buffers";
    let long = refused(vec![(&memory, 0, 1), (&memory, 8, 9)]);
    assert_eq!(long, format!("{t}: byte 16 is outside the memory region of 16 B (buffer 1)"));
    let huge = refused(vec![(&memory, 0, 1 << 32)]);
    assert_eq!(huge, format!("{t}: buffer 0 is 4294967296, more than 4294967295"));
    let many = refused(vec![(&memory, 0, 1); 4097]);
    assert_eq!(many, format!("{t}: number of buffers is 4097, 0 to 4096 are possible"));
    let foreign = refused(vec![(&other, 0, 1)]);
    assert_eq!(foreign, format!("{t}: buffer 0 is in another protection domain"));
    // The table belongs to another domain than the region.
    let table = ViewTable::register(&world.context.protection_domain(), [(&other, 0, 0)]);
    assert!(table.is_err(), "each domain is its own");
}

#[test]
fn every_wrong_use_of_typed_extents_and_chains_names_the_value() {
    let world = World::new();
    let pd = world.pd();
    let memory = pd.allocate(64).unwrap();
    let s = "strided region";
    let strided = |period, count, values| {
        told(Strided::new(&memory).period(period).count(count).typed_extent(4, values).build())
    };
    assert_eq!(strided(0, 1, Values::fixed(1)), format!("{s}: period is 0"));
    let bits = strided(8, 1, Values::bits(0));
    assert_eq!(bits, format!("{s}: extent 0 is of bits, which only columns can be"));
    let outside = strided(16, 4, Values::offsets_64(&memory, 0));
    assert_eq!(
        outside,
        format!("{s}: byte 64 is outside the memory region of 64 B (period 3 of 4)")
    );
    let p = "pointer-mapped region";
    let target = pd.allocate(16).unwrap();
    let chains = |count| PointerMapped::new(&memory, &target).count(count).extent(0, 1);
    let limits = "1 to 16777216 are possible";
    let none = told(chains(1).chase(0, 0, 0).build());
    assert_eq!(none, format!("{p}: number of records of a chain is 0, {limits}"));
    let many = told(chains(1).chase(0, 0, (1 << 24) + 1).build());
    assert_eq!(many, format!("{p}: number of records of a chain is 16777217, {limits}"));
    let next = told(chains(1).chase(9, 0, 1).build());
    let part = "(pointer to the next record)";
    assert_eq!(next, format!("{p}: byte 16 is outside the memory region of 16 B {part}"));
    let far = told(chains(1).chase(1 << 32, 0, 1).build());
    assert_eq!(far, format!("{p}: {} is 4294967296, more than 4294967295", Part::Next));
    let heads = told(chains(9).chase(0, 0, 1).build());
    assert_eq!(heads, format!("{p}: byte 64 is outside the memory region of 64 B (pointers)"));
    let long = told(chains(1).chase(0, 0, 1).extent(0, 17).build());
    assert_eq!(long, format!("{p}: byte 16 is outside the memory region of 16 B (extent 1)"));
    let other = world.context.protection_domain().allocate(16).unwrap();
    let foreign = PointerMapped::new(&memory, &other).count(1).extent(0, 1).chase(0, 0, 1);
    assert_eq!(told(foreign.build()), format!("{p}: target is in another protection domain"));
}

#[test]
fn every_wrong_use_of_partition_keys_names_the_value() {
    let world = World::new();
    let pd = world.pd();
    let memory = pd.allocate(64).unwrap();
    let p = "partitioned region";
    let refused =
        |by: PartitionKeys<'_>| told(Partitioned::by(by).rows(8).column(&memory, 0, 8).build());
    let hash = |values, key_type| PartitionKeys::murmur3(8).key(&memory, 0, values, key_type);
    let range =
        |values, key_type| PartitionKeys::range(&memory, 0, 2).key(&memory, 0, values, key_type);
    let long = || PartitionKeys::murmur3(8).key(&memory, 0, Values::fixed(8), KeyType::Integer);
    let good = Partitioned::by(long()).rows(8).column(&memory, 0, 8).build();
    assert!(good.is_ok());
    let none = refused(PartitionKeys::murmur3(8));
    assert_eq!(none, format!("{p}: 0 keys, 1 to 16 are possible"));
    let mut many = long();
    for _ in 0..16 {
        many = many.key(&memory, 0, Values::fixed(1), KeyType::Integer);
    }
    assert_eq!(refused(many), format!("{p}: 17 keys, 1 to 16 are possible"));
    let two = range(Values::fixed(4), KeyType::Integer);
    let two = refused(two.key(&memory, 0, Values::fixed(4), KeyType::Integer));
    assert_eq!(two, format!("{p}: 2 keys, 1 to 16 are possible"));
    for (partitions, group, part, value, most) in [
        (0, 1, "number of partitions", 0, 65_536),
        (65_537, 1, "number of partitions", 65_537, 65_536),
        (8, 0, "group", 0, 65_535),
        (8, 65_536, "group", 65_536, 65_535),
    ] {
        let by = PartitionKeys::murmur3(partitions).group(group);
        let found = refused(by.key(&memory, 0, Values::fixed(8), KeyType::Integer));
        assert_eq!(found, format!("{p}: {part} is {value}, 1 to {most} are possible"));
    }
    let splitters = PartitionKeys::range(&memory, 0, 256);
    let splitters = refused(splitters.key(&memory, 0, Values::fixed(8), KeyType::Integer));
    assert_eq!(splitters, format!("{p}: number of splitters is 256, 0 to 255 are possible"));
    let splitters = PartitionKeys::range(&memory, 40, 4);
    let splitters = refused(splitters.key(&memory, 0, Values::fixed(8), KeyType::Integer));
    assert_eq!(splitters, format!("{p}: byte 64 is outside the memory region of 64 B (splitters)"));
    let text = || Values::offsets_32(&memory, 0);
    for (by, values, function) in [
        (hash(Values::fixed(16), KeyType::Integer), "Integer, cannot be values of 16 B", "Murmur3"),
        (hash(Values::fixed(3), KeyType::Integer), "Integer, cannot be values of 3 B", "Murmur3"),
        (hash(Values::fixed(8), KeyType::Unsigned), "Unsigned, cannot be values of 8 B", "Murmur3"),
        (hash(Values::fixed(2), KeyType::Float), "Float, cannot be values of 2 B", "Murmur3"),
        (hash(Values::fixed(2), KeyType::Boolean), "Boolean, cannot be values of 2 B", "Murmur3"),
        (hash(Values::bits(0), KeyType::Bytes), "Bytes, cannot be bits", "Murmur3"),
        (hash(Values::fixed(8), KeyType::Decimal), "Decimal, cannot be values of 8 B", "Murmur3"),
        (hash(text(), KeyType::Integer), "Integer, cannot be values of variable length", "Murmur3"),
        (range(text(), KeyType::Bytes), "Bytes, cannot be values of variable length", "a range"),
        (range(Values::bits(0), KeyType::Boolean), "Boolean, cannot be bits", "a range"),
        (
            range(Values::fixed(16), KeyType::Decimal),
            "Decimal, cannot be values of 16 B",
            "a range",
        ),
    ] {
        assert_eq!(refused(by), format!("{p}: key 0, of type {values} for {function}"));
    }
    let beyond = PartitionKeys::murmur3(8).key(&memory, 1, Values::fixed(8), KeyType::Integer);
    assert_eq!(
        refused(beyond),
        format!("{p}: byte 64 is outside the memory region of 64 B (key 0)")
    );
    let bit = refused(long().validity(&memory, 0, 8));
    assert_eq!(
        bit,
        format!("{p}: first bit of the validity of key 0 is 8, a byte has bits 0 to 7")
    );
    let short = refused(long().validity(&memory, 63, 1));
    let part = "(validity of key 0)";
    assert_eq!(short, format!("{p}: byte 64 is outside the memory region of 64 B {part}"));
    let other = world.context.protection_domain().allocate(64).unwrap();
    let foreign = refused(long().key(&other, 0, Values::fixed(8), KeyType::Integer));
    assert_eq!(foreign, format!("{p}: key 1 is in another protection domain"));
    let foreign = refused(long().validity(&other, 0, 0));
    assert_eq!(foreign, format!("{p}: validity of key 0 is in another protection domain"));
    let places = good.unwrap().fragments(&[0], &[]).map(|_| ()).unwrap_err();
    assert!(matches!(places, RegionError::NoPlaces { .. }), "{places}");
}

#[test]
fn memory_in_an_arena_cannot_be_led_into_without_a_key_of_its_own() {
    let world = World::new();
    let pd = world.pd();
    let memory = pd.allocate(64).unwrap();
    let part = memory.alias(0..32).unwrap();
    assert!(part.has_own_key());
    let region = Strided::new(&memory).period(8).count(1);
    let region = region.typed_extent(0, Values::offsets_32(&part, 0)).build();
    assert!(region.is_ok(), "an alias has a key of its own");
}
