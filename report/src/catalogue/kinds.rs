//! Experiments with columns of other kinds: strings, bits, lists; and partitions that the card makes.

use drdma_verilated::testbench::Random;

use super::{MTU, ROWS, SEED, Table, one};
use crate::{
    experiment::{Experiment, Target},
    layout::{Keys, KindColumn, Partitioned, Piece, Post, Region, RowMask},
    shapes::build::key_of,
};

/// Rows of a table with kinds of columns, a request.
const KIND_ROWS: u64 = 2 << 10;
/// Destinations of rows with kinds of columns.
const DESTINATIONS: usize = 8;
/// Bytes of the shortest and of the longest string: as LINEITEM's comments.
const SHORTEST: u64 = 5;
const LONGEST: u64 = 60;
/// Bytes of the length of a string in a message.
const LENGTH: u64 = 4;
/// Columns that have a validity, and rows and destinations of these: a simulation of 1.3 Gb/s takes its time.
const NULLABLE: usize = 16;
const NULLABLE_ROWS: u64 = 128;
const NULLABLE_DESTINATIONS: usize = 2;
/// Columns that have a validity in the same region.
const NARROW: usize = 5;
/// Rows and destinations of such a request as databases send them: a batch.
const BATCH_ROWS: u64 = 8 << 10;
const BATCH_DESTINATIONS: usize = 16;
/// Partitions that the card makes, and bytes of their key.
const PARTITIONS: usize = 16;
const KEY: u64 = 8;
/// Lists that are chased at once, the records of each and the bytes that are sent of a record.
const LISTS: u64 = 64;
const HOPS: u64 = 8;
const RECORD: u64 = 56;
/// Bytes of a record's place: no two are in one page.
const PLACE: u64 = 4096;

/// Rows by given ids, and the same rows by keys that the card makes these ids of: the first column.
pub fn partitions() -> Vec<Experiment> {
    let title = "5 x 8 B, 64 Ki rows, 16 destinations by ids";
    let table = Table::new(ROWS, KEY, 0);
    let mut given = table.partitioned("partition-ids", title, Target::Bound(0.92), PARTITIONS);
    let [Post::Partitioned(list)] = &given.posts[..] else { return Vec::new() };
    let (ids, column) = (list.ids.at.buffer, list.columns[0].0);
    let mut random = Random::new(SEED + 2);
    let key = |id: &u8| key_of(&mut random, usize::from(*id), KEY, PARTITIONS as u64);
    given.buffers[column.buffer] = given.buffers[ids].iter().flat_map(key).collect();
    let at = Piece { at: column, len: ROWS * KEY };
    let keys = Keys { at, width: KEY, partitions: PARTITIONS as u64 };
    let list = Partitioned { keys: Some(keys), ..list.clone() };
    let made = Experiment {
        id: "partition-murmur3".to_owned(),
        title: "5 x 8 B, 64 Ki rows, 16 destinations by Murmur3 of the first column".to_owned(),
        target: Target::Beside { id: "partition-ids", share: 0.98 },
        posts: vec![Post::Partitioned(list)],
        ..given.clone()
    };
    vec![given, made]
}

/// Strings beside four columns; bits beside sixteen and beside five, and these without.
pub fn columns() -> Vec<Experiment> {
    let plain = Table::of(NULLABLE, NULLABLE_ROWS, 8, 0).shuffled(
        "values-16",
        "16 x 8 B, 128 rows, 2 destinations by bitmaps",
        Target::Bound(0.85),
        NULLABLE_DESTINATIONS,
    );
    let narrow = Table::of(NARROW, KIND_ROWS, 8, 0).partitioned(
        "values-5",
        "5 x 8 B, 2 Ki rows, 8 destinations by ids",
        Target::Bound(0.85),
        DESTINATIONS,
    );
    let batch = Table::of(NARROW, BATCH_ROWS, 8, 0).partitioned(
        "values-batch",
        "5 x 8 B, 8 Ki rows, 16 destinations by ids",
        Target::Bound(0.85),
        BATCH_DESTINATIONS,
    );
    let narrow_validity = with_validity(
        &narrow,
        "values-5",
        KIND_ROWS,
        "validity-5",
        "5 x 8 B and a bit of validity for each, 2 Ki rows, 8 destinations by ids",
    );
    let batch_validity = with_validity(
        &batch,
        "values-batch",
        BATCH_ROWS,
        "validity-batch",
        "5 x 8 B and a bit of validity for each, 8 Ki rows, 16 destinations by ids",
    );
    let wide_validity = validity(plain.clone());
    vec![strings(), plain, wide_validity, narrow, narrow_validity, batch, batch_validity]
}

fn strings() -> Experiment {
    let mut experiment = Table::of(4, KIND_ROWS, 8, 0).partitioned(
        "strings",
        "strings of 5 to 60 B beside 4 x 8 B, 2 Ki rows, 8 destinations by ids",
        Target::Bound(0.85),
        DESTINATIONS,
    );
    let mut random = Random::new(SEED + 3);
    let lengths: Vec<u32> =
        (0..KIND_ROWS).map(|_| (SHORTEST + random.below(LONGEST - SHORTEST + 1)) as u32).collect();
    let mut end = 0;
    let ends = lengths.iter().map(|len| {
        end += len;
        end
    });
    let offsets: Vec<u32> = [0].into_iter().chain(ends).collect();
    let data = random.bytes(end as usize);
    let bytes = |values: &[u32]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let first = experiment.buffers.len();
    experiment.buffers.extend([bytes(&offsets), data, bytes(&lengths)]);
    if let [Post::Partitioned(list)] = &mut experiment.posts[..] {
        let (data, lengths) = (first + 1, first + 2);
        list.kinds.push(KindColumn::Text { offsets: first, data, lengths });
    }
    // As many rows as fit a packet in any case.
    let widest = 4 * 8 + LENGTH + LONGEST;
    experiment.rows_per_message = (MTU / widest) as u32;
    experiment
}

/// A region has up to 16 columns: the bits are a region of their own, of the same rows.
fn validity(plain: Experiment) -> Experiment {
    let mut experiment = Experiment {
        id: "validity-16".to_owned(),
        title: "16 x 8 B and a bit of validity for each, 128 rows, 2 destinations by bitmaps"
            .to_owned(),
        row_mask: RowMask::Element,
        target: Target::Beside { id: "values-16", share: 0.95 },
        ..plain
    };
    let bits = add_bits(&mut experiment, NULLABLE, NULLABLE_ROWS);
    if let [Post::Shared(destinations)] = &mut experiment.posts[..] {
        for regions in destinations {
            if let [Region::Bitmapped { bitmap, rows, .. }] = regions[..] {
                let columns = vec![bits.clone()];
                regions.push(Region::BitmappedKinds { bitmap, rows, columns });
            }
        }
    }
    experiment.rows_per_message = (MTU / (NULLABLE as u64 * 8 + NULLABLE as u64 / 8)) as u32;
    experiment
}

/// Values and bits are columns of one region.
fn with_validity(
    plain: &Experiment,
    beside: &'static str,
    rows: u64,
    id: &str,
    title: &str,
) -> Experiment {
    let mut experiment = Experiment {
        id: id.to_owned(),
        title: title.to_owned(),
        target: Target::Beside { id: beside, share: 0.95 },
        ..plain.clone()
    };
    let bits = add_bits(&mut experiment, NARROW, rows);
    if let [Post::Partitioned(list)] = &mut experiment.posts[..] {
        list.kinds.push(bits);
    }
    experiment.rows_per_message = (MTU / (NARROW as u64 * 8 + NARROW.div_ceil(8) as u64)) as u32;
    experiment
}

/// Adds buffers of so many columns of bits, and what a row's bits are when they are sent.
fn add_bits(experiment: &mut Experiment, columns: usize, rows: u64) -> KindColumn {
    let mut random = Random::new(SEED + 4);
    let first = experiment.buffers.len();
    let bits: Vec<Vec<u8>> =
        (0..columns).map(|_| random.bytes(rows.div_ceil(8) as usize)).collect();
    let bit = |column: &Vec<u8>, row: u64| column[row as usize / 8] >> (row % 8) & 1;
    let packed = |row: u64, columns: &[Vec<u8>]| {
        columns.iter().rev().fold(0, |byte, column| byte << 1 | bit(column, row))
    };
    let made = (0..rows).flat_map(|row| bits.chunks(8).map(move |columns| packed(row, columns)));
    let made = made.collect();
    experiment.buffers.extend(bits);
    experiment.buffers.push(made);
    KindColumn::Bits { columns: (first..first + columns).collect(), packed: first + columns }
}

/// The records of many lists, each of which leads to the next one.
pub fn chase() -> Experiment {
    let count = LISTS * HOPS;
    let mut random = Random::new(SEED + 5);
    let mut places: Vec<u64> = (0..count).map(|place| place * PLACE).collect();
    for k in 0..count {
        places.swap(k as usize, (k + random.below(count - k)) as usize);
    }
    let lists = places.chunks(HOPS as usize).map(<[u64]>::to_vec).collect();
    let buffers = vec![random.bytes((count * PLACE) as usize), vec![0; (8 * LISTS) as usize]];
    let region = Region::Chased { pointers: 1, target: 0, lists, len: RECORD };
    let title = "64 lists of 8 records of 64 B, chased at once, of a record 56 B";
    // The request, the pointers to the lists, and each record with the pointer to the next one.
    let target = Target::RoundTrips(2 + HOPS);
    one("chase", title, target, buffers, region)
}

#[cfg(test)]
mod tests {
    use drdma_semantics::murmur3;

    use super::*;
    use crate::{catalogue::COLUMNS, layout};

    #[test]
    fn keys_lead_to_the_ids_that_are_given() {
        let [given, made] = &partitions()[..] else { unreachable!() };
        assert_eq!(given.messages(), made.messages());
        // The keys are the first column.
        let [keys] = made.posts[0].indexes()[..] else { unreachable!() };
        assert_eq!((keys.at.buffer, made.buffers.len()), (0, COLUMNS + 1));
        let ids = &given.buffers[given.posts[0].indexes()[0].at.buffer];
        for (key, id) in made.buffers[0].chunks(8).zip(ids) {
            let hash = murmur3::of_long(u64::from_le_bytes(key.try_into().unwrap()), 42);
            assert_eq!(murmur3::partition(hash, 16), u32::from(*id));
        }
    }

    #[test]
    fn what_the_card_makes_is_made_of_what_it_reads() {
        let [strings, plain, validity, narrow, narrow_validity, ..] = &columns()[..] else {
            unreachable!()
        };
        let sent = |experiment: &Experiment| -> u64 {
            let messages = experiment.messages();
            let pieces = messages.iter().flat_map(|to| to.messages.iter().flatten());
            pieces.map(|piece| piece.len).sum()
        };
        // Two bytes of bits a row, and one.
        assert_eq!(sent(validity), sent(plain) + 2 * NULLABLE_ROWS);
        assert_eq!(sent(narrow_validity), sent(narrow) + KIND_ROWS);
        let (data, lengths) = (strings.buffers[6].len() as u64, LENGTH * KIND_ROWS);
        assert_eq!(sent(strings), 32 * KIND_ROWS + lengths + data);
        let mean = data as f64 / KIND_ROWS as f64;
        assert!((mean - 32.5).abs() < 1.0, "{mean}");
        // Each row's bits, column by column.
        let first = NULLABLE + NULLABLE_DESTINATIONS;
        let packed = &validity.buffers[first + NULLABLE];
        for (row, column) in [(0, 0), (17, 5), (127, 15), (100, 8)] {
            let bit = validity.buffers[first + column][row / 8] >> (row % 8) & 1;
            assert_eq!(packed[2 * row + column / 8] >> (column % 8) & 1, bit);
        }
    }

    #[test]
    fn lists_have_records_of_their_own() {
        let [Post::Own { regions, .. }] = &chase().posts[..] else { unreachable!() };
        let rows = regions[0].rows(&[]);
        assert_eq!(rows.len() as u64, LISTS * HOPS);
        let mut pages: Vec<_> = rows.iter().map(|row| row[0].at.offset / PLACE).collect();
        pages.sort_unstable();
        pages.dedup();
        assert_eq!(pages.len() as u64, LISTS * HOPS);
        assert_eq!(regions[0].trips(), (3, 10));
        assert_eq!(layout::POINTER + RECORD, 64);
    }
}
