//! Columns of every kind, bitmaps that begin within a byte, and chains of records.

use drdma_abi::{
    completion::Status,
    roce::Transport,
    work_request::{Chain, Element, Opcode},
};
use drdma_semantics::{
    kinds::{Entry, Kind, Kinds, Selection},
    partitioned::Partitioned,
    region::Region,
    request::{Destination, Request},
    testing::{self, BASE, LKEY, SIZE},
};
use drdma_soft::wire::MessageKind;

use super::rig::{Rig, Simulated, bytes, contiguous, send, to};

/// Rows of the columns below.
const ROWS: usize = 90;
/// Offset of the columns' bitmap, and the place of its first row's bit.
const BITMAP: usize = 0x3000;
const FIRST: usize = 3;
/// Offsets of entries, and of the bytes that they lead to.
const FIXED: usize = 0x100;
const BITS: usize = 0x2001;
const OFFSETS: usize = 0x2103;
const VIEWS: usize = 0x2405;
const BUFFERS: usize = 0x2a00;
const INDICES: usize = 0x2b07;
const DATA: usize = 0x400;
const VALUES: usize = 0x900;
/// The key of memory that is not there.
const ELSEWHERE: u32 = 0x55;

fn is_selected(row: usize) -> bool {
    row % 5 != 1
}

fn bit(row: usize) -> bool {
    row * row % 7 < 3
}

/// Bits from a bit of the first byte on.
fn packed(first: usize, bit: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut bytes = vec![0_u8; (first + ROWS).div_ceil(8)];
    (0..ROWS)
        .filter(|row| bit(*row))
        .for_each(|row| bytes[(first + row) / 8] |= 1 << ((first + row) % 8));
    bytes
}

/// The place of a row's value of variable length in the data: every third one is empty.
fn span(row: usize) -> std::ops::Range<usize> {
    let ends = |row: usize| (0..row).map(|row| row % 3 * 40).sum::<usize>();
    ends(row)..ends(row + 1)
}

/// A row's view, and the bytes that it refers to: some stand in the view, others in one of two buffers.
fn view(row: usize) -> (Vec<u8>, Vec<u8>) {
    let len = row % 4 * 6;
    let buffer = row % 2;
    let offset = 10 + row;
    let at = [DATA, VALUES][buffer] + offset;
    let word = |value: usize| (value as u32).to_le_bytes();
    if len <= 12 {
        let value = bytes(row, len);
        let entry = [&word(len)[..], &value, &vec![0x99; 12 - len]].concat();
        return (entry, value);
    }
    ([word(len), word(0), word(buffer), word(offset)].concat(), bytes(at, len))
}

fn index(row: usize) -> usize {
    row * 3 % 11
}

/// Writes the entries of all columns.
fn write(rig: &mut Rig<impl Simulated>) {
    rig.data.write(BITMAP, &packed(FIRST, is_selected));
    rig.data.write(BITS, &packed(6, bit));
    let offsets = (0..=ROWS).flat_map(|row| (span(row).start as u32).to_le_bytes());
    rig.data.write(OFFSETS, &offsets.collect::<Vec<_>>());
    rig.data.write(VIEWS, &(0..ROWS).flat_map(|row| view(row).0).collect::<Vec<_>>());
    let buffer = |at: usize| Element { offset: BASE + at as u64, len: 0x200, lkey: LKEY };
    rig.data.write(BUFFERS, &[DATA, VALUES].map(|at| buffer(at).to_bytes()).concat());
    let indices = (0..ROWS).flat_map(|row| (index(row) as u16).to_le_bytes());
    rig.data.write(INDICES, &indices.collect::<Vec<_>>());
}

fn column(at: usize, kind: Kind) -> Entry {
    Entry { offset: BASE + at as u64, lkey: LKEY, kind }
}

/// One column of each kind.
fn columns() -> Vec<Entry> {
    let at = |offset: usize| BASE + offset as u64;
    vec![
        column(BITS, Kind::Bits { first: 6 }),
        column(FIXED, Kind::Fixed { width: 3 }),
        column(OFFSETS, Kind::Offsets { log_entry: 2, data: at(DATA), lkey: LKEY }),
        column(VIEWS, Kind::Views { table: at(BUFFERS), count: 2, lkey: LKEY }),
        column(
            INDICES,
            Kind::Dictionary { log_entry: 1, values: at(VALUES), width: 70, count: 11, lkey: LKEY },
        ),
    ]
}

/// The bytes of a row of these columns on the wire.
fn row(row: usize) -> Vec<u8> {
    let long = |value: Vec<u8>| [&(value.len() as u32).to_le_bytes()[..], &value].concat();
    let span = span(row);
    [
        vec![u8::from(bit(row))],
        bytes(FIXED + 3 * row, 3),
        long(bytes(DATA + span.start, span.len())),
        long(view(row).1),
        bytes(VALUES + 70 * index(row), 70),
    ]
    .concat()
}

fn bitmapped(entries: Vec<Entry>) -> Region {
    let (bitmap, first) = (BASE + BITMAP as u64, FIRST as u8);
    let rows = Selection::Bitmap { bitmap, first, rows: ROWS as u32, lkey: LKEY };
    Region::Kinds(Kinds { rows, entries })
}

fn selected_rows_have_the_values_of_their_entries<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    write(&mut rig);
    let peers = [Transport::Rc, Transport::Uc, Transport::Ud].map(|transport| {
        let qp = transport as u32 + 1;
        (qp, rig.add_queue_pair(qp, transport, 0xff_fff0))
    });
    rig.add_queue(0, None);
    let rows: Vec<_> = (0..ROWS).filter(|i| is_selected(*i)).map(row).collect();
    assert!(rows.iter().all(|row| row.len() <= 256));
    // Plain regions lie before and behind this one, and in its other region.
    for (opcode, units) in [(Opcode::Send, 1), (Opcode::Write, 4)] {
        let qps = if opcode == Opcode::Send { 3 } else { 2 };
        let before = peers.map(|(_, peer)| rig.sent(peer).len());
        let plain = || send(1, vec![to(1, vec![contiguous(5, 99)])]);
        rig.post(0, &plain());
        let list = vec![bitmapped(columns()), contiguous(7, 33)];
        let list = peers[..qps].iter().map(|(qp, _)| to(*qp, list.clone())).collect();
        rig.post(0, &Request { opcode, rows_per_message: units, ..send(2, list) });
        rig.post(0, &plain());
        let good = |id| (id, Status::Success);
        assert_eq!(rig.finish(), [good(1), good(2), good(1)]);
        let all = [&rows[..], &[bytes(7, 33)]].concat();
        let messages = testing::messages(&all, units);
        assert_eq!(messages.len(), all.len().div_ceil(units as usize));
        for ((qp, peer), before) in peers[..qps].iter().zip(before) {
            let expected = match qp {
                1 => [&[bytes(5, 99)], &messages[..], &[bytes(5, 99)]].concat(),
                _ => messages.clone(),
            };
            assert_eq!(rig.sent(*peer)[before..], expected, "queue pair {qp}");
        }
    }
    // Messages of a WRITE lie one behind the other.
    let mut remote_addr = 0x1000;
    for message in rig.network.messages(peers[1].1) {
        if let MessageKind::Write { remote_addr: addr, .. } = message.kind {
            assert_eq!(addr, remote_addr);
            remote_addr += message.bytes.len() as u64;
        }
    }
    assert!(remote_addr > 0x1000);
    assert_eq!(rig.network.errors(), []);
}

fn ids_choose_rows_of_every_kind<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    write(&mut rig);
    let peers = [1, 2].map(|qp| rig.add_queue_pair(qp, Transport::Rc, 9));
    rig.add_queue(0, None);
    let id = |row: usize| [3_u8, 200, 77][row * row % 7 % 3];
    rig.data.write(BITMAP, &(0..ROWS).map(id).collect::<Vec<_>>());
    let region = Partitioned {
        ids: BASE + BITMAP as u64,
        width: 1,
        rows: ROWS as u32,
        lkey: LKEY,
        columns: vec![],
        entries: columns(),
        by: None,
    };
    let part = |qp, partition| Destination { partition, ..to(qp, vec![]) };
    let list = vec![part(1, 200), part(2, 3)];
    let request = Request { partitioned: Some(region), rows_per_message: 5, ..send(7, list) };
    rig.post(0, &request);
    assert_eq!(rig.finish(), [(7, Status::Success)]);
    for (peer, of) in peers.into_iter().zip([200, 3]) {
        let own: Vec<_> = (0..ROWS).filter(|i| id(*i) == of).map(row).collect();
        assert!(own.len() > 10);
        assert_eq!(rig.sent(peer), testing::messages(&own, 5));
    }
    assert_eq!(rig.network.errors(), []);
}

/// Records of 24 B: 5 B, 8 B of a pointer from byte 8 on, 3 B.
const RECORDS: usize = 0x2800;
const RECORD: usize = 24;
const NEXT: u32 = 8;
const END: u64 = 0x77;

/// Chains of these records, in their order; each begins at a pointer of an array.
fn chains(rig: &mut Rig<impl Simulated>, lists: &[&[usize]], ends: u64, limit: u32) -> Region {
    let at = |record: usize| BASE + (RECORDS + RECORD * record) as u64;
    for list in lists {
        for (i, record) in list.iter().enumerate() {
            let next = list.get(i + 1).map_or(ends, |next| at(*next));
            rig.data.write(RECORDS + RECORD * record + NEXT as usize, &next.to_le_bytes());
        }
    }
    let heads = lists.iter().map(|list| list.first().map_or(END, |first| at(*first)));
    rig.data.write(BITMAP, &heads.flat_map(u64::to_le_bytes).collect::<Vec<_>>());
    let extent = |offset, width| Entry { offset, lkey: 0, kind: Kind::Fixed { width } };
    let rows = Selection::Chains {
        pointers: BASE + BITMAP as u64,
        count: lists.len() as u32,
        lkey: LKEY,
        target_lkey: LKEY,
        chain: Chain { end: END, next: NEXT, limit },
    };
    Region::Kinds(Kinds { rows, entries: vec![extent(16, 3), extent(0, 5)] })
}

fn record(number: usize) -> Vec<u8> {
    let at = RECORDS + RECORD * number;
    [bytes(at + 16, 3), bytes(at, 5)].concat()
}

fn chains_are_followed_to_their_ends<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue(1, Some(1));
    let region = chains(&mut rig, &[&[4, 0, 2], &[], &[5], &[1, 3]], END, 3);
    let request = Request { rows_per_message: 4, ..send(7, vec![to(1, vec![region])]) };
    rig.post(1, &request);
    assert_eq!(rig.finish(), [(7, Status::Success)]);
    let rows = [4, 0, 2, 5, 1, 3].map(record);
    assert_eq!(rig.sent(peer), testing::messages(&rows, 4));
    assert_eq!(rig.network.errors(), []);
}

/// Entries that lead nowhere fail the request, and nothing is sent, even if earlier rows are good.
fn entries_that_lead_nowhere_fail_before_anything_is_sent<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.add_region(ELSEWHERE, 1 << 40, 0x100);
    let word = |value: u32| value.to_le_bytes();
    let last = ROWS - 1;
    let end = SIZE as u32;
    // Each case: the place, and the bytes that are written there after a good request.
    let spoilt: Vec<(&str, usize, Vec<u8>)> = vec![
        ("offsets go backwards", OFFSETS + 4 * last, word(0xffff).to_vec()),
        ("offsets lead outside", OFFSETS + 4 * (last + 1), word(end).to_vec()),
        ("no such value", INDICES + 2 * last, vec![11, 0]),
        ("no such buffer", VIEWS + 16 * last, [13, 0, 2, 0].map(word).concat()),
        ("a view beyond its buffer", VIEWS + 16 * last, [13, 0, 1, 0x200 - 12].map(word).concat()),
        ("a buffer whose key does not have it", BUFFERS + 12, word(ELSEWHERE).to_vec()),
    ];
    for (name, at, with) in spoilt {
        write(&mut rig);
        rig.data.write(at, &with);
        refuses(&mut rig, bitmapped(columns()), Status::LocalProtectionError, name);
    }
    let region = chains(&mut rig, &[&[0, 1, 2, 3]], END, 3);
    refuses(&mut rig, region, Status::LocalProtectionError, "a chain that is too long");
    let region = chains(&mut rig, &[&[0, 1, 2]], BASE + RECORDS as u64, 100);
    refuses(&mut rig, region, Status::LocalProtectionError, "a chain without an end");
    let outside = BASE + SIZE - NEXT as u64;
    let region = chains(&mut rig, &[&[0, 1]], outside, 100);
    refuses(&mut rig, region, Status::LocalProtectionError, "a chain that leads outside");
}

/// Regions that are not possible.
fn malformed_kinds_are_refused<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    write(&mut rig);
    let data = BASE + DATA as u64;
    let strided = |kind| {
        let rows = Selection::Periods { base: BASE, period: 16, count: 4, lkey: LKEY };
        Region::Kinds(Kinds { rows, entries: vec![Entry { offset: 0, lkey: 0, kind }] })
    };
    let one = |kind| bitmapped(vec![column(OFFSETS, kind)]);
    let cases = [
        ("extents are no bits", strided(Kind::Bits { first: 0 })),
        ("a bit of another byte", one(Kind::Bits { first: 8 })),
        ("offsets of 2 B", one(Kind::Offsets { log_entry: 1, data, lkey: LKEY })),
        ("no width", one(Kind::Fixed { width: 0 })),
        ("too many buffers", one(Kind::Views { table: data, count: 4097, lkey: LKEY })),
        (
            "indices of 16 B",
            one(Kind::Dictionary { log_entry: 4, values: data, width: 1, count: 1, lkey: LKEY }),
        ),
        (
            "values of no width",
            one(Kind::Dictionary { log_entry: 0, values: data, width: 0, count: 1, lkey: LKEY }),
        ),
    ];
    for (name, region) in cases {
        refuses(&mut rig, region, Status::LocalQpOperationError, name);
    }
    let region = chains(&mut rig, &[&[0]], END, 0);
    refuses(&mut rig, region, Status::LocalQpOperationError, "chains of no records");
    let region = chains(&mut rig, &[&[0]], END, (1 << 24) + 1);
    refuses(&mut rig, region, Status::LocalQpOperationError, "chains of too many records");
}

/// Posts a region, which fails with this status, and sends nothing.
fn refuses<C: Simulated>(rig: &mut Rig<C>, region: Region, status: Status, what: &str) {
    rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue(1, Some(1));
    let before = rig.network.traffic().frames;
    rig.post(1, &send(7, vec![to(1, vec![region])]));
    assert_eq!(rig.finish(), [(7, status)], "{what}");
    assert!(rig.queue_pair_error(1), "{what}");
    assert_eq!(rig.network.traffic().frames, before, "{what}");
}

on_every_card![
    selected_rows_have_the_values_of_their_entries,
    ids_choose_rows_of_every_kind,
    chains_are_followed_to_their_ends,
    entries_that_lead_nowhere_fail_before_anything_is_sent,
    malformed_kinds_are_refused,
];
