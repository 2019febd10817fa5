//! Keys of partitioned requests that are sent as well, and records of chains.

use drdma_abi::{
    completion::Status,
    register::counter,
    roce::Transport,
    work_request::{Chain, KeyType, SPARK_SEED},
};

use super::rig::{Rig, Simulated, send, to};
use drdma_semantics::{
    keys::{Function, Key, PartitionBy},
    kinds::{Entry, Kind, Kinds, Selection},
    murmur3,
    partitioned::Partitioned,
    region::{Column, Region},
    request::{Destination, Request},
    testing::{self, BASE, LKEY},
};
use drdma_soft::wire::PeerId;

/// Rows of every request: several blocks of keys, and not whole lines of them.
const ROWS: usize = 905;
/// Offset and width of the columns: two keys at odd addresses, and one that is no key.
const COLUMNS: [(usize, usize); 3] = [(0x103, 8), (0x2001, 4), (0x3000, 1)];
const PARTITIONS: u32 = 3;

/// A request to queue pairs 1 to 3, by the hash of the first `keys` columns.
fn request(keys: usize) -> Request {
    let column = |(at, width): (usize, usize)| Column {
        base: BASE + at as u64,
        width: width as u32,
        lkey: LKEY,
    };
    let key = |(at, width): (usize, usize)| {
        let kind = Kind::Fixed { width: width as u32 };
        let entry = Entry { offset: BASE + at as u64, lkey: LKEY, kind };
        Key { entry, key_type: KeyType::Integer, validity: None }
    };
    let by = PartitionBy {
        function: Function::Murmur3 { seed: SPARK_SEED },
        partitions: PARTITIONS,
        group: 1,
        keys: COLUMNS[..keys].iter().copied().map(key).collect(),
    };
    let region = Partitioned {
        ids: 0,
        width: 0,
        rows: ROWS as u32,
        lkey: 0,
        columns: COLUMNS.map(column).to_vec(),
        entries: vec![],
        by: Some(by),
    };
    let part = |id: u16| Destination { partition: id, ..to(1 + u32::from(id), vec![]) };
    let destinations = (0..PARTITIONS as u16).map(part).collect();
    Request { partitioned: Some(region), rows_per_message: 50, ..send(7, destinations) }
}

/// What the columns hold after `round` changes.
fn contents(round: usize) -> [Vec<u8>; 3] {
    COLUMNS.map(|(at, width)| {
        let byte = |k: usize| (((k * 31 + at + round * 77) * (k / 64 + 3)) >> 2) as u8;
        (0..ROWS * width).map(byte).collect()
    })
}

/// Messages of each partition.
fn expected(columns: &[Vec<u8>; 3], keys: usize) -> Vec<Vec<Vec<u8>>> {
    let value = |c: usize, row: usize| &columns[c][row * COLUMNS[c].1..(row + 1) * COLUMNS[c].1];
    let id = |row: usize| {
        let mut hash = SPARK_SEED;
        for key in 0..keys {
            hash = match value(key, row) {
                [a, b, c, d] => murmur3::of_int(u32::from_le_bytes([*a, *b, *c, *d]), hash),
                long => murmur3::of_long(u64::from_le_bytes(long.try_into().unwrap()), hash),
            };
        }
        murmur3::partition(hash, PARTITIONS)
    };
    let row = |row: usize| (0..3).flat_map(|c| value(c, row)).copied().collect::<Vec<u8>>();
    let rows = |part| (0..ROWS).filter(|row| id(*row) == part).map(row).collect::<Vec<_>>();
    (0..PARTITIONS).map(|part| testing::messages(&rows(part), 50)).collect()
}

fn rig<C: Simulated>() -> (Rig<C>, Vec<PeerId>) {
    let mut rig = Rig::<C>::new();
    let peers = (1..4).map(|qp| rig.add_queue_pair(qp, Transport::Rc, 7)).collect();
    rig.add_queue(0, None);
    (rig, peers)
}

fn write<C: Simulated>(rig: &Rig<C>, columns: &[Vec<u8>; 3]) {
    COLUMNS.iter().zip(columns).for_each(|((at, _), bytes)| rig.data.write(*at, bytes));
}

/// Takes the messages of all peers.
fn taken<C: Simulated>(rig: &mut Rig<C>, peers: &[PeerId]) -> Vec<Vec<Vec<u8>>> {
    let messages = |peer: &PeerId| rig.network.with_peer(*peer, |peer| peer.take_messages());
    let bytes = |peer| messages(peer).into_iter().map(|message| message.bytes).collect();
    peers.iter().map(bytes).collect()
}

fn keys_that_are_sent_are_read_once<C: Simulated>() {
    let (mut rig, peers) = rig::<C>();
    let columns = contents(0);
    write(&rig, &columns);
    // The first and the last box of a key at an odd address reach up to 3 B beyond it, and are read: 512 B each.
    for (keys, most) in [(1, 5 * ROWS + 1040), (2, ROWS + 2080)] {
        let before = rig.count(&counter::DATA_READ_BYTES) as usize;
        rig.post(0, &request(keys));
        assert_eq!(rig.finish(), [(7, Status::Success)]);
        assert_eq!(taken(&mut rig, &peers), expected(&columns, keys), "{keys} keys");
        let read = rig.count(&counter::DATA_READ_BYTES) as usize - before;
        assert!(
            !C::PIPELINED || read < most,
            "{keys} keys: {read} B are read for rows, not {most}"
        );
    }
    assert_eq!(rig.network.errors(), []);
}

fn keys_that_change_between_requests_are_sent_as_they_are_then<C: Simulated>() {
    let (mut rig, peers) = rig::<C>();
    for round in 0..4 {
        let columns = contents(round);
        write(&rig, &columns);
        // Two requests at once, then the host writes again.
        let keys = [1 + round % 2, 1 + round / 2];
        keys.iter().for_each(|keys| rig.post(0, &request(*keys)));
        assert_eq!(rig.finish(), [(7, Status::Success), (7, Status::Success)]);
        let mut all = expected(&columns, keys[0]);
        all.iter_mut().zip(expected(&columns, keys[1])).for_each(|(all, next)| all.extend(next));
        assert_eq!(taken(&mut rig, &peers), all, "round {round}");
    }
    assert_eq!(rig.network.errors(), []);
}

/// Chains, records of each, bytes from a record to the next, and where the first one lies: they are so far from each
/// other that each is a DMA read of its own.
const CHAINS: usize = 5;
const RECORDS: usize = 6;
const RECORD_STEP: usize = 328;
const FIRST_RECORD: usize = 0x40 + 8 * CHAINS;

/// Chains of records that have a pointer to the next one, and then values of 20 B and 8 B. The second value is sent
/// first; with `skip` it is the only one.
fn chains(skip: bool) -> Region {
    let fixed = |offset, width| Entry { offset, lkey: 0, kind: Kind::Fixed { width } };
    let rows = Selection::Chains {
        pointers: BASE + 0x40,
        count: CHAINS as u32,
        lkey: LKEY,
        target_lkey: LKEY,
        chain: Chain { end: 0, next: 0, limit: 100 },
    };
    let entries = [fixed(28, 8), fixed(8, 20)];
    Region::Kinds(Kinds { rows, entries: entries[..if skip { 1 } else { 2 }].to_vec() })
}

/// Writes the records, in an order that `round` changes, and returns the rows of a request.
fn write_chains<C: Simulated>(rig: &Rig<C>, round: usize, skip: bool) -> Vec<Vec<u8>> {
    let count = CHAINS * RECORDS;
    let offset = |k: usize| FIRST_RECORD + RECORD_STEP * (k * 7 + round) % (RECORD_STEP * count);
    let value = |k: usize| -> Vec<u8> {
        (0..36).map(|byte| (byte * 5 + k * 41 + round * 17) as u8).collect()
    };
    for k in 0..count {
        rig.data.write(offset(k), &value(k));
        let next = if (k + 1) % RECORDS == 0 { 0 } else { BASE + offset(k + 1) as u64 };
        rig.data.write(offset(k), &next.to_le_bytes());
        if k % RECORDS == 0 {
            rig.data.write(0x40 + 8 * (k / RECORDS), &(BASE + offset(k) as u64).to_le_bytes());
        }
    }
    let row = |k| [&value(k)[28..], &value(k)[8..if skip { 8 } else { 28 }]].concat();
    (0..count).map(row).collect()
}

fn records_of_chains_are_read_once<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue(1, Some(1));
    for skip in [false, true] {
        let rows = write_chains(&rig, 0, skip);
        let before = rig.count(&counter::DATA_READS);
        let request = Request { rows_per_message: 7, ..send(7, vec![to(1, vec![chains(skip)])]) };
        rig.post(1, &request);
        assert_eq!(rig.finish(), [(7, Status::Success)]);
        assert_eq!(taken(&mut rig, &[peer]), [testing::messages(&rows, 7)]);
        let reads = rig.count(&counter::DATA_READS) - before;
        assert!(!C::PIPELINED || reads == 0, "{reads} reads of records that were read already");
    }
    assert_eq!(rig.network.errors(), []);
}

fn records_that_change_between_requests_are_sent_as_they_are_then<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let peer = rig.add_queue_pair(1, Transport::Rc, 0);
    rig.add_queue(1, Some(1));
    for round in 0..4 {
        let rows = write_chains(&rig, round, false);
        // Three requests at once, one more than records are kept of, then the host writes again.
        let request = Request { rows_per_message: 30, ..send(7, vec![to(1, vec![chains(false)])]) };
        (0..3).for_each(|_| rig.post(1, &request));
        assert_eq!(rig.finish(), [(7, Status::Success); 3]);
        let all = [testing::messages(&rows, 30), testing::messages(&rows, 30)].concat();
        let all = [all, testing::messages(&rows, 30)].concat();
        assert_eq!(taken(&mut rig, &[peer]), [all], "round {round}");
    }
    assert_eq!(rig.network.errors(), []);
}

on_every_card! {
    records_of_chains_are_read_once,
    records_that_change_between_requests_are_sent_as_they_are_then,
    keys_that_are_sent_are_read_once,
    keys_that_change_between_requests_are_sent_as_they_are_then,
}
