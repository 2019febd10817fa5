//! Tests of requests whose ids are made from keys.

use super::kept::compare;
use super::turns::{STRINGS, Table};
use super::{ALL, Around, BASE, Dest, expected, many, segments};
use drdma_abi::work_request::{KeyType, Opcode};
use drdma_semantics::keys::{Function, Key, PartitionBy};
use drdma_semantics::kinds::{Entry, Kind};
use drdma_semantics::request::Request;

/// Partitions by the hash of a key of `width` bytes at `addr`, in four groups.
pub(super) fn by(addr: u64, key_type: KeyType, width: u32, partitions: u32) -> PartitionBy {
    let entry = Entry { offset: addr, lkey: ALL, kind: Kind::Fixed { width } };
    PartitionBy {
        function: Function::Murmur3 { seed: 42 },
        partitions,
        group: (partitions / 4) as u16,
        keys: vec![Key { entry, key_type, validity: None }],
    }
}

/// A table whose ids are made from its first column, and the host's memory.
fn keyed(table: &Table, partitions: u32) -> (Request, Vec<u8>) {
    let (mut request, memory, _) = table.make();
    let region = request.partitioned.as_mut().unwrap();
    let key = region.entries[0].offset;
    region.by = Some(by(key, KeyType::Integer, 8, partitions));
    (region.ids, region.width) = (BASE, 0);
    (request, memory)
}

/// Each window of ids is made once, also if the walk that judges is followed by one that sends; and at most once more for
/// a WRITE of more messages than lengths that are kept, which is judged anew. A request that is known before it starts has
/// its own ids.
#[test]
fn ids_are_made_once_for_all_destinations_and_walks() {
    let cases = [
        (Opcode::Send, 2000, 10, 1),
        (Opcode::Send, 6001, 10, 1),
        (Opcode::Write, 2000, 1000, 1),
        (Opcode::Write, 2000, 10, 2),
    ];
    let library = many();
    let mut around = Around::new(&library, 1);
    for (opcode, rows, rows_per_message, times) in cases {
        for (partitions, most) in [(8, 512), (400, 256)] {
            let columns = [2, 1, 0, 0, 1];
            let table =
                Table { opcode, rows, rows_per_message, destinations: 4, columns, ..STRINGS };
            let (request, memory) = keyed(&table, partitions);
            around.memory = segments(&memory, None);
            let messages = expected(&request, false, &around.memory).unwrap();
            let mut other = request.clone();
            let by = other.partitioned.as_mut().unwrap().by.as_mut().unwrap();
            by.function = Function::Murmur3 { seed: 7 };
            let places = [&request, &request, &other].map(|request| around.place(request, false));
            (0..6).for_each(|_| around.step());
            around.made_ids.clear();
            compare(&around.walk_placed(&request, places[0]), &messages, opcode);
            around.made_ids.sort_unstable();
            let windows: Vec<_> = (0..u64::from(rows))
                .step_by(most)
                .map(|row| (row, (u64::from(rows) - row).min(most as u64)))
                .collect();
            let what = format!("{opcode:?}, {rows} rows, {partitions} partitions");
            let made = around.made_ids.len();
            assert!(made <= times * windows.len(), "{what}: {:?}", around.made_ids);
            around.made_ids.dedup();
            assert_eq!(around.made_ids, windows, "{what}");
            // Another request, with a function of its own, is known while this one is walked.
            around.announce(&other, places[2]);
            compare(&around.walk_placed(&request, places[1]), &messages, opcode);
            around.announce_none();
            let messages = expected(&other, false, &around.memory).unwrap();
            compare(&around.walk_placed(&other, places[2]), &messages, opcode);
        }
    }
}

/// A key that cannot be read is the first destination's failure.
#[test]
fn keys_that_cannot_be_read_fail_the_first_destination() {
    let library = many();
    let mut around = Around::new(&library, 1);
    for row in [0, 700, 1999] {
        let table = Table { rows: 2000, destinations: 4, ..STRINGS };
        let (request, memory) = keyed(&table, 8);
        let key = request.partitioned.as_ref().unwrap().entries[0].offset - BASE;
        let hole = key as usize + 8 * row..key as usize + 8 * row + 3;
        around.memory = segments(&memory, Some(hole));
        let walked = around.walk(&request, false);
        assert_eq!(Err(walked.status), expected(&request, false, &around.memory).map(|_| ()));
        assert_eq!(walked.status.1, 0);
        assert_eq!(walked.given, vec![Dest::default(); 4], "nothing is sent");
    }
}
