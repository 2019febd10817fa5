use drdma_abi::register::MemoryRegionEntry;

use super::*;
use crate::checks::QueuePair;

const PD: u32 = 3;

fn columns() -> Vec<Column> {
    vec![Column { base: 1000, width: 3, lkey: 1 }, Column { base: 2000, width: 1, lkey: 1 }]
}

fn region(capacity: u32) -> Append {
    Append::new(columns(), capacity, PD)
}

/// Appends whole rows in one packet; returns the first row.
fn append(region: &mut Append, queue_pair: u32, rows: u64) -> Result<u32, NoRows> {
    let first = region.take(queue_pair, 4 * rows)?;
    region.commit(queue_pair, 4 * rows);
    Ok(first)
}

#[test]
fn rows_follow_each_other_in_a_circle_as_far_as_they_are_given_back() {
    let mut region = region(10);
    assert_eq!(append(&mut region, 1, 4), Ok(0));
    assert_eq!(append(&mut region, 2, 0), Ok(4));
    assert_eq!(append(&mut region, 2, 5), Ok(4));
    assert_eq!(append(&mut region, 1, 2), Err(NoRows::Yet));
    assert_eq!(append(&mut region, 1, 11), Err(NoRows::Ever));
    // Neither a decrease, nor more rows than are in use.
    for total in [0, 10, u32::MAX] {
        region.give_back(total);
        assert_eq!(append(&mut region, 1, 2), Err(NoRows::Yet), "{total}");
    }
    region.give_back(4);
    assert_eq!(append(&mut region, 1, 3), Ok(9));
    assert_eq!(append(&mut region, 1, 2), Ok(2));
    assert_eq!(append(&mut region, 1, 1), Err(NoRows::Yet));
    region.give_back(14);
    assert_eq!(append(&mut region, 1, 10), Ok(4));
}

#[test]
fn while_one_queue_pairs_message_is_on_its_way_others_wait() {
    let mut region = region(10);
    assert_eq!(region.take(1, 6), Ok(0));
    assert!(region.is_taken_by(1) && !region.is_taken_by(2));
    assert_eq!(append(&mut region, 2, 1), Err(NoRows::Yet));
    assert_eq!(region.take(1, 40), Ok(0));
    assert_eq!(region.take(1, 41), Err(NoRows::Ever));
    // The message does not arrive.
    region.abandon(2);
    assert_eq!(append(&mut region, 2, 1), Err(NoRows::Yet));
    region.abandon(1);
    assert_eq!(append(&mut region, 2, 1), Ok(0));
    assert_eq!(append(&mut region, 1, 1), Ok(1));
}

#[test]
fn a_message_that_outgrows_the_free_rows_goes_on_when_there_are_more() {
    let mut region = region(10);
    assert_eq!(append(&mut region, 2, 6), Ok(0));
    assert_eq!(region.take(1, 16), Ok(6));
    assert_eq!(region.take(1, 17), Err(NoRows::Yet));
    region.give_back(1);
    assert_eq!(region.take(1, 20), Ok(6));
    region.commit(1, 20);
    assert_eq!(append(&mut region, 2, 1), Err(NoRows::Yet));
    region.give_back(2);
    assert_eq!(append(&mut region, 2, 1), Ok(1));
}

#[test]
fn any_part_of_a_message_lies_in_its_rows() {
    let columns = [(1000, 3), (2000, 1), (3000, 4), (4000, 2)];
    let column = |(base, width)| Column { base, width, lkey: 1 };
    let region = Append::new(columns.map(column).to_vec(), 5, PD);
    let row = |row: u64| {
        columns.into_iter().flat_map(move |(base, width)| {
            let width = u64::from(width);
            base + width * row..base + width * (row + 1)
        })
    };
    let whole: Vec<u64> = [3, 4, 0, 1, 2].into_iter().flat_map(row).collect();
    for start in 0..=whole.len() {
        for end in start..=whole.len() {
            let found = region.fragments(3, start as u64, (end - start) as u32);
            let run = |part: &Fragment| part.addr..part.addr + u64::from(part.len);
            assert_eq!(found.iter().flat_map(run).collect::<Vec<_>>(), whole[start..end]);
            let mut by_runs = vec![0; end - start];
            let runs = region.runs(3, start as u64, (end - start) as u32);
            // At most two runs for each column where the region wraps around, and a part of a value
            // at either end.
            assert!(runs.len() <= 2 * columns.len() + 2, "{runs:?}");
            for run in runs {
                for (k, byte) in (0..run.count).flat_map(|k| (0..run.width).map(move |b| (k, b))) {
                    let place = &mut by_runs[run.from + k * run.pitch + byte];
                    assert_eq!(*place, 0, "each byte is in one run");
                    *place = run.addr + (k * run.width + byte) as u64;
                }
            }
            assert_eq!(by_runs, whole[start..end]);
        }
    }
}

#[test]
fn rows_are_written_one_by_one_where_columns_have_bytes_in_common() {
    for (base, one_by_one) in [(1030, false), (1029, true), (u64::MAX - 8, true)] {
        let columns = [1000, base].map(|base| Column { base, width: 3, lkey: 1 });
        let region = Append::new(columns.to_vec(), 10, PD);
        let runs = region.runs(2, 0, 24);
        let right = if one_by_one { vec![1; 8] } else { vec![4; 2] };
        assert_eq!(runs.iter().map(|run| run.count).collect::<Vec<_>>(), right, "{base}");
        let places: Vec<u64> = runs.iter().map(|run| run.addr).collect();
        if one_by_one {
            let fragments = region.fragments(2, 0, 24);
            assert_eq!(places, fragments.iter().map(|part| part.addr).collect::<Vec<_>>());
        }
    }
}

/// A directory with one key over `len` bytes from 1000 on.
struct One(MemoryRegionEntry);

impl Directory for One {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        Some(self.0).filter(|entry| entry.lkey == lkey)
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

#[test]
fn every_row_of_every_column_is_in_memory_that_may_be_written_to() {
    let (rights, pd) = (rights::LOCAL_WRITE, PD);
    let good = MemoryRegionEntry { addr: 1000, len: 1010, lkey: 1, rights, pd, valid: 1 };
    let region = region(10);
    assert!(region.is_allowed(&One(good)));
    for wrong in [
        MemoryRegionEntry { len: 1009, ..good },
        MemoryRegionEntry { addr: 1001, ..good },
        MemoryRegionEntry { rights: rights::ALL & !rights::LOCAL_WRITE, ..good },
        MemoryRegionEntry { pd: PD + 1, ..good },
        MemoryRegionEntry { lkey: 2, ..good },
    ] {
        assert!(!region.is_allowed(&One(wrong)), "{wrong:?}");
    }
}

#[test]
fn every_field_of_an_entry_is_looked_at() {
    let good = Append::encode(&columns(), 10, PD);
    assert_eq!(Append::decode(&good), Some(region(10)));
    let end = good.len() - AppendEnd::SIZE;
    // No capacity, no column, 17 columns, reserved fields, a column of no bytes, not enabled.
    for (at, value) in
        [(0, 0), (4, 0), (4, 17), (6, 1), (12, 1), (24, 0), (end, 1), (end + 8, 1), (end + 12, 0)]
    {
        let mut bytes = good.clone();
        bytes[at] = value;
        assert_eq!(Append::decode(&bytes), None, "byte {at} is {value}");
    }
    let most: Vec<Column> = (0..16).map(|i| Column { base: i, width: 1, lkey: 1 }).collect();
    assert_eq!(Append::decode(&Append::encode(&most, 1, PD)), Some(Append::new(most, 1, PD)));
}
