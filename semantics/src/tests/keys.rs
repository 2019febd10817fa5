use drdma_abi::work_request::GRANULE;

use super::*;
use crate::{memory::Segments, partitioned::Partitioned, region::Column};

fn entry(kind: Kind) -> Entry {
    Entry { offset: 1000, lkey: 1, kind }
}

fn key(key_type: KeyType, kind: Kind) -> Key {
    Key { entry: entry(kind), key_type, validity: None }
}

fn fixed(key_type: KeyType, width: u32) -> Key {
    key(key_type, Kind::Fixed { width })
}

fn murmur3(partitions: u32, keys: Vec<Key>) -> PartitionBy {
    PartitionBy { function: Function::Murmur3 { seed: 42 }, partitions, group: 1, keys }
}

fn range(partitions: u32, key: Key) -> PartitionBy {
    PartitionBy { function: Function::Range, partitions, group: 1, keys: vec![key] }
}

fn region(by: PartitionBy) -> Partitioned {
    let has_splitters = by.splitters().0 > 0;
    let columns = vec![Column { base: 0x1234, width: 4, lkey: 1 }];
    let (ids, lkey) = if has_splitters { (5000, 9) } else { (0, 0) };
    Partitioned { ids, width: 0, rows: 7, lkey, by: Some(by), columns, entries: vec![] }
}

fn bytes(region: &Partitioned) -> Vec<u8> {
    let mut bytes = Vec::new();
    region.encode(&mut bytes);
    bytes
}

#[test]
fn what_is_written_is_what_is_read() {
    let validity = Some(Validity { bitmap: 77, lkey: 8, first: 7 });
    let text = key(KeyType::Bytes, Kind::Offsets { log_entry: 3, data: 1, lkey: 2 });
    let flag = Key { validity, ..key(KeyType::Boolean, Kind::Bits { first: 3 }) };
    let decimal = fixed(KeyType::Decimal, 16);
    let hashed = region(murmur3(65_536, vec![fixed(KeyType::Integer, 8), text, flag, decimal]));
    let kinds = Partitioned {
        columns: vec![],
        entries: vec![entry(Kind::Bits { first: 0 })],
        ..region(PartitionBy { group: 9, ..murmur3(200, vec![fixed(KeyType::Float, 4)]) })
    };
    let ranges = [KeyType::Integer, KeyType::Unsigned, KeyType::Float]
        .map(|key_type| region(range(256, fixed(key_type, 8))));
    for region in
        [hashed, kinds, region(range(1, fixed(KeyType::Integer, 16)))].iter().chain(&ranges)
    {
        let mut bytes = bytes(region);
        bytes.extend([0xaa; GRANULE]);
        let (read, rest) = Partitioned::decode(&bytes).unwrap();
        assert_eq!((&read, rest), (region, &[0xaa; GRANULE][..]));
    }
}

#[test]
fn every_field_that_cannot_be_so_is_refused_by_name() {
    let hash = || region(murmur3(10, vec![fixed(KeyType::Integer, 4)]));
    let ranges = || region(range(10, fixed(KeyType::Integer, 4)));
    let refused = |region: Partitioned, at: usize, value: &[u8]| {
        let mut bytes = bytes(&region);
        bytes[at..at + value.len()].copy_from_slice(value);
        Partitioned::decode(&bytes).unwrap_err()
    };
    let field = |what, value| ShapeError::Function { what, value };
    // Header, shape, function; then the key's element, source, and what its values are.
    let (function, width, end) = (32, 48 + 8, 80);
    assert_eq!(refused(hash(), function, &[2]), field("function", 2));
    assert_eq!(refused(hash(), function + 1, &[0]), field("number of keys", 0));
    assert_eq!(refused(hash(), function + 1, &[17]), field("number of keys", 17));
    assert_eq!(refused(ranges(), function + 1, &[2]), field("number of keys", 2));
    assert_eq!(refused(hash(), function + 2, &[0]), field("group", 0));
    assert_eq!(refused(hash(), function + 4, &[0]), field("number of partitions", 0));
    assert_eq!(refused(hash(), function + 6, &[1]), field("number of partitions", 0x1_000a));
    assert_eq!(refused(ranges(), function + 4, &[1, 1]), field("number of partitions", 257));
    assert_eq!(refused(ranges(), function + 8, &[1]), field("seed", 1));
    assert_eq!(refused(hash(), function + 12, &[1]), field("reserved", 1));
    let field = |what, value| ShapeError::KeyField { index: 0, what, value };
    assert_eq!(refused(hash(), end + 12, &[6]), field("type", 6));
    assert_eq!(refused(hash(), end + 12, &[KeyType::Unsigned as u8]), field("type", 1));
    for unordered in [KeyType::Boolean, KeyType::Bytes, KeyType::Decimal] {
        let code = unordered as u8;
        assert_eq!(refused(ranges(), end + 12, &[code]), field("type", code.into()));
    }
    assert_eq!(refused(hash(), end + 13, &[0x10]), field("reserved", 1));
    assert_eq!(refused(hash(), end, &[5]), field("validity", 5));
    assert_eq!(refused(hash(), end + 8, &[5]), field("validity's key", 5));
    assert_eq!(refused(hash(), end + 13, &[2]), field("validity's first bit", 1));
    for width_of in [3, 16] {
        assert_eq!(refused(hash(), width, &[width_of]), field("bytes of a value", width_of.into()));
    }
    assert_eq!(refused(ranges(), width, &[32]), field("bytes of a value", 32));
    let float = || region(murmur3(10, vec![fixed(KeyType::Float, 4)]));
    assert_eq!(refused(float(), width, &[2]), field("bytes of a value", 2));
    let flag = || region(murmur3(10, vec![fixed(KeyType::Boolean, 1)]));
    assert_eq!(refused(flag(), width, &[2]), field("bytes of a value", 2));
    let decimal = || region(murmur3(10, vec![fixed(KeyType::Decimal, 16)]));
    assert_eq!(refused(decimal(), width, &[8]), field("bytes of a value", 8));
    let bit = region(murmur3(10, vec![key(KeyType::Bytes, Kind::Bits { first: 0 })]));
    assert_eq!(Partitioned::decode(&bytes(&bit)).unwrap_err(), field("bytes of a value", 0));

    assert_eq!(refused(hash(), 16, &[1]), ShapeError::IdWidth(1), "ids, and keys");
    let unneeded = |what| ShapeError::NotZero(what, "partitioned region without any");
    assert_eq!(refused(hash(), 0, &[1]), unneeded("address of splitters"));
    assert_eq!(refused(hash(), 12, &[1]), unneeded("key of splitters"));
    for len in (0..bytes(&hash()).len()).step_by(GRANULE) {
        let cut = &bytes(&hash())[..len];
        assert_eq!(Partitioned::decode(cut).unwrap_err(), ShapeError::Truncated, "{len} B");
    }
}

/// Returns the partitions of some values, with a power of two as their number, so that they are the
/// hashes' low bits.
fn hashed(key: Key, values: &[Vec<u8>]) -> Vec<u16> {
    let memory = Segments::new().with(1000, values.concat());
    let by = murmur3(1 << 16, vec![key]);
    by.ids(values.len() as u32, 0, &[], &memory).unwrap()
}

/// Hashes of Spark's expression with seed 42, as Apache DataFusion Comet's tests have them.
#[test]
fn numbers_of_every_width_have_sparks_hashes() {
    let low = |hashes: &[u32]| hashes.iter().map(|hash| *hash as u16).collect::<Vec<_>>();
    let ints = [1, 0, -1, i32::MAX, i32::MIN];
    let known = low(&[0xdea5_78e3, 0x379f_ae8f, 0xa059_0e3d, 0x07fb_67e7, 0x2b1f_0fc6]);
    let of = |width| fixed(KeyType::Integer, width);
    assert_eq!(hashed(of(4), &ints.map(|int| int.to_le_bytes().to_vec())), known);
    // Shorter integers are hashed as ints, with their sign.
    assert_eq!(hashed(of(1), &[1i8, 0, -1].map(|int| vec![int as u8])), known[..3]);
    assert_eq!(hashed(of(2), &[1i16, 0, -1].map(|int| int.to_le_bytes().to_vec())), known[..3]);
    let flags = fixed(KeyType::Boolean, 1);
    assert_eq!(hashed(flags, &[vec![1], vec![0], vec![7]]), [known[0], known[1], known[0]]);

    let longs = [1, 0, -1, i64::MAX, i64::MIN];
    let known = low(&[0x99f0_149d, 0x9c67_b85d, 0xc800_8529, 0xa05b_5d7b, 0xcd1e_64fb]);
    assert_eq!(hashed(of(8), &longs.map(|long| long.to_le_bytes().to_vec())), known);
    let decimals = longs.map(|long| i128::from(long).to_le_bytes().to_vec());
    assert_eq!(hashed(fixed(KeyType::Decimal, 16), &decimals), known);

    let floats = [1.0f32, 0.0, -0.0, -1.0];
    let known = low(&[0xe434_cc39, 0x379f_ae8f, 0x379f_ae8f, 0xdc0d_a8eb]);
    let of = |width| fixed(KeyType::Float, width);
    assert_eq!(hashed(of(4), &floats.map(|float| float.to_le_bytes().to_vec())), known);
    let doubles = [1.0f64, 0.0, -0.0, -1.0, 1e11, -1e11];
    let known =
        low(&[0xe487_6492, 0x9c67_b85d, 0x9c67_b85d, 0x13d8_1357, 0xb87e_1595, 0xa0ee_f9f9]);
    assert_eq!(hashed(of(8), &doubles.map(|float| float.to_le_bytes().to_vec())), known);
    let nans = [0x7fc0_0000u32, 0xffc0_0001].map(|nan| nan.to_le_bytes().to_vec());
    let ids = hashed(of(4), &nans);
    assert_eq!(ids[0], ids[1], "all NaNs have one hash");
}

#[test]
fn keys_of_every_kind_are_followed_and_chained_and_nulls_are_passed_over() {
    // Text by offsets, bits, a dictionary of longs: "Spark" 1 and "" 0, and a null in place of the text.
    let text = Key {
        entry: Entry { offset: 100, ..entry(Kind::Offsets { log_entry: 2, data: 200, lkey: 1 }) },
        key_type: KeyType::Bytes,
        validity: Some(Validity { bitmap: 300, lkey: 1, first: 6 }),
    };
    let flag = Key {
        entry: Entry { offset: 310, ..entry(Kind::Bits { first: 7 }) },
        ..fixed(KeyType::Boolean, 1)
    };
    let kind = Kind::Dictionary { log_entry: 0, values: 400, width: 8, count: 2, lkey: 1 };
    let long = Key { entry: Entry { offset: 320, ..entry(kind) }, ..fixed(KeyType::Integer, 8) };
    let memory = Segments::new()
        .with(100, [0u32, 5, 5, 9].map(u32::to_le_bytes).concat())
        .with(200, *b"Spark")
        .with(300, [0b1100_0000, 0])
        .with(310, [0b1000_0000, 0b10])
        .with(320, [1, 0, 1])
        .with(400, [17u64, 123].map(u64::to_le_bytes).concat());
    let by = murmur3(1 << 16, vec![text, flag, long]);
    let data = Source::Data(200..205);
    let sources = [data, Source::Checked, Source::Checked];
    let ids = by.ids(3, 0, &sources, &memory).unwrap();
    let of_text = |text: &[u8]| {
        let mut hash = murmur3::Bytes::new(42);
        hash.add(text);
        hash.finish()
    };
    let chained = |first, flag, long| murmur3::of_long(long, murmur3::of_int(flag, first)) as u16;
    let expected =
        [chained(of_text(b"Spark"), 1, 123), chained(of_text(b""), 0, 17), chained(42, 1, 123)];
    assert_eq!(ids, expected);
    // The text of the null would be outside of its data; it is not read. That of a value would be.
    let valid = PartitionBy { keys: vec![Key { validity: None, ..text }, flag, long], ..by };
    let wrong = valid.ids(3, 0, &sources, &memory).unwrap_err();
    assert_eq!((wrong.row, wrong.key), (2, Some(0)));
    assert!(matches!(wrong.error, ValueError::Outside { start: 205, end: 209 }), "{wrong:?}");
}

#[test]
fn long_text_is_hashed_piece_by_piece() {
    let text: Vec<u8> = (0..10_003u32).map(|at| (at * 7) as u8).collect();
    let kind = Kind::Offsets { log_entry: 2, data: 200, lkey: 1 };
    let by = murmur3(1 << 16, vec![key(KeyType::Bytes, kind)]);
    let offsets = [0, text.len() as u32].map(u32::to_le_bytes).concat();
    let mut hash = murmur3::Bytes::new(42);
    hash.add(&text);
    let memory = Segments::new().with(1000, offsets).with(20_000, text);
    let by = PartitionBy {
        keys: vec![key(KeyType::Bytes, Kind::Offsets { log_entry: 2, data: 20_000, lkey: 1 })],
        ..by
    };
    let ids = by.ids(1, 0, &[Source::Data(20_000..30_003)], &memory).unwrap();
    assert_eq!(ids, [hash.finish() as u16]);
}

#[test]
fn a_range_counts_the_splitters_that_are_less() {
    let of = |key: Key, splitters: &[Vec<u8>], values: &[Vec<u8>]| {
        let memory = Segments::new().with(1000, values.concat()).with(5000, splitters.concat());
        let by = range(splitters.len() as u32 + 1, key);
        by.ids(values.len() as u32, 5000, &[], &memory).unwrap()
    };
    let shorts = |list: &[i16]| list.iter().map(|v| v.to_le_bytes().to_vec()).collect::<Vec<_>>();
    let splitters = shorts(&[-300, 0, 7]);
    let values = shorts(&[i16::MIN, -300, -299, 0, 1, 7, 8, i16::MAX]);
    let signed = fixed(KeyType::Integer, 2);
    assert_eq!(of(signed, &splitters, &values), [0, 0, 1, 1, 2, 2, 3, 3]);
    let unsigned = of(fixed(KeyType::Unsigned, 2), &shorts(&[0, 7, -300]), &values);
    assert_eq!(unsigned, [2, 2, 3, 0, 1, 1, 2, 2]);
    let doubles = |list: &[f64]| list.iter().map(|v| v.to_le_bytes().to_vec()).collect::<Vec<_>>();
    let values = doubles(&[f64::NEG_INFINITY, -0.0, 0.0, 1.5, f64::INFINITY, f64::NAN, -f64::NAN]);
    let splitters = doubles(&[-0.0, 1.0, f64::INFINITY]);
    assert_eq!(of(fixed(KeyType::Float, 8), &splitters, &values), [0, 0, 0, 2, 2, 3, 3]);
    let wide = |list: &[i128]| list.iter().map(|v| v.to_le_bytes().to_vec()).collect::<Vec<_>>();
    let found = of(
        fixed(KeyType::Integer, 16),
        &wide(&[-1 << 100, 1 << 100]),
        &wide(&[i128::MIN, 0, i128::MAX]),
    );
    assert_eq!(found, [0, 1, 2]);
}

#[test]
fn nulls_are_before_every_splitter_and_neighbours_share_an_id() {
    let validity = Some(Validity { bitmap: 300, lkey: 1, first: 0 });
    let by = range(6, Key { validity, ..fixed(KeyType::Unsigned, 1) });
    let memory = Segments::new().with(1000, [9, 10, 11, 30, 60]).with(5000, [10, 20, 30, 40, 50]);
    let memory = memory.with(300, [0b11_1101]);
    assert_eq!(by.ids(5, 5000, &[], &memory).unwrap(), [0, 0, 1, 2, 5]);
    let grouped = PartitionBy { group: 4, ..by.clone() };
    assert_eq!((by.max_id(), grouped.max_id()), (5, 1));
    assert_eq!(grouped.ids(5, 5000, &[], &memory).unwrap(), [0, 0, 0, 0, 1]);
    let wrong = by.ids(5, 4999, &[], &memory).unwrap_err();
    assert_eq!((wrong.row, wrong.key), (0, None), "splitters that cannot be read");
    let wrong = by.ids(6, 5000, &[], &memory).unwrap_err();
    assert_eq!((wrong.row, wrong.key), (5, Some(0)), "a key that cannot be read");
}
