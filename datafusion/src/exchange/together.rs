//! Rows of short batches, put together before they are handed over: those for tasks of the same worker, and those that
//! come in messages.
//!
//! A batch of a shuffle has a few rows for each of many partitions. The engine's own exchange makes batches of 8,192
//! rows of them, because what computes with them takes some time for each batch, however short. So does this. Rows that
//! are held count as sent; whoever holds them hands them over when no more rows come, or somebody waits for them.

use std::collections::BTreeMap;

use datafusion::arrow::{
    compute::BatchCoalescer, datatypes::SchemaRef, error::ArrowError, record_batch::RecordBatch,
};

use super::outbox::bytes_of;

/// Rows of a batch: as many as the engine's batches have. What has so many is handed over as it is, behind the rows
/// before it.
pub(super) const ROWS: usize = 8192;
/// Bytes of rows that are enough for a batch, however few they are.
pub(super) const HEAVY: usize = 512 << 10;

/// Rows that are held, of each partition.
#[derive(Debug)]
pub(super) struct Together {
    schema: SchemaRef,
    held: BTreeMap<u16, Held>,
    copied: u64,
}

/// Rows of a partition.
#[derive(Debug)]
struct Held {
    rows: BatchCoalescer,
    /// Bytes that were added since the last batch was full.
    bytes: usize,
}

impl Together {
    /// Holds rows of that schema.
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, held: BTreeMap::new(), copied: 0 }
    }

    /// Bytes of all rows that were put together with others, which copies them. Strings that were not copied count as
    /// well.
    pub fn copied_bytes(&self) -> u64 {
        self.copied
    }

    /// Adds rows of a partition, and returns the batches that are to be handed over now.
    ///
    /// # Errors
    /// The rows have other columns.
    pub fn push(
        &mut self,
        partition: u16,
        batch: RecordBatch,
    ) -> Result<Vec<RecordBatch>, ArrowError> {
        let bytes = bytes_of(&batch);
        if batch.num_rows() >= ROWS || bytes >= HEAVY {
            let before = self.flush(partition)?;
            return Ok(before.into_iter().chain([batch]).collect());
        }
        self.copied += bytes as u64;
        let schema = &self.schema;
        let held = self
            .held
            .entry(partition)
            .or_insert_with(|| Held { rows: BatchCoalescer::new(schema.clone(), ROWS), bytes: 0 });
        held.rows.push_batch(batch)?;
        held.bytes += bytes;
        if held.bytes >= HEAVY {
            held.rows.finish_buffered_batch()?;
        }
        let full: Vec<_> = std::iter::from_fn(|| held.rows.next_completed_batch()).collect();
        if !full.is_empty() {
            held.bytes = 0;
        }
        if held.rows.is_empty() {
            self.held.remove(&partition);
        }
        Ok(full)
    }

    /// True if rows of the partition are held.
    pub fn holds(&self, partition: u16) -> bool {
        self.held.contains_key(&partition)
    }

    /// The partitions of which rows are held.
    pub fn partitions(&self) -> Vec<u16> {
        self.held.keys().copied().collect()
    }

    /// Takes the rows that are held of a partition.
    ///
    /// # Errors
    /// They do not fit into a batch.
    pub fn flush(&mut self, partition: u16) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(mut held) = self.held.remove(&partition) else { return Ok(None) };
        held.rows.finish_buffered_batch()?;
        Ok(held.rows.next_completed_batch())
    }

    /// Forgets the rows that are held of a partition.
    pub fn forget(&mut self, partition: u16) {
        self.held.remove(&partition);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::{
        array::{Int64Array, StringViewArray},
        compute::concat_batches,
        datatypes::{DataType, Field, Schema},
    };

    use super::*;

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("number", DataType::Int64, true),
            Field::new("name", DataType::Utf8View, false),
        ]))
    }

    /// Rows with nulls, and with strings that lie in their views and elsewhere.
    fn rows(first: usize, rows: usize) -> RecordBatch {
        let range = first..first + rows;
        let numbers: Int64Array =
            range.clone().map(|row| (row % 5 > 0).then_some(row as i64)).collect();
        let names = range.map(|row| "x".repeat(row % 20) + &row.to_string());
        let names = StringViewArray::from_iter_values(names);
        RecordBatch::try_new(schema(), vec![Arc::new(numbers), Arc::new(names)]).unwrap()
    }

    fn joined(batches: &[RecordBatch]) -> RecordBatch {
        concat_batches(&schema(), batches).unwrap()
    }

    #[test]
    fn rows_go_together_in_their_order_whatever_they_are() {
        let mut together = Together::new(schema());
        let mut out = [Vec::new(), Vec::new()];
        let mut first = [0, 0];
        for i in 0..100 {
            let (partition, count) = (i % 2, 1 + i * 131 % 1500);
            out[partition]
                .extend(together.push(partition as u16, rows(first[partition], count)).unwrap());
            first[partition] += count;
        }
        assert_eq!(together.partitions(), [0, 1]);
        for partition in 0..2 {
            let whole = out[partition].iter().map(RecordBatch::num_rows);
            assert!(whole.clone().count() > 1 && whole.clone().all(|rows| rows == ROWS));
            out[partition].extend(together.flush(partition as u16).unwrap());
            assert_eq!(joined(&out[partition]), rows(0, first[partition]));
        }
        assert!(together.partitions().is_empty());
        assert!(together.flush(0).unwrap().is_none());
    }

    #[test]
    fn a_large_batch_is_not_copied_and_comes_behind_what_was_before() {
        let mut together = Together::new(schema());
        let large = rows(0, ROWS);
        let lies = |batch: &RecordBatch| batch.column(0).to_data().buffers()[0].as_ptr();
        let out = together.push(3, large.clone()).unwrap();
        assert_eq!(out.iter().map(lies).collect::<Vec<_>>(), [lies(&large)]);
        assert_eq!(together.copied_bytes(), 0);
        let short = rows(0, ROWS - 1);
        assert!(together.push(3, short.clone()).unwrap().is_empty());
        assert!(together.holds(3) && !together.holds(4));
        assert_eq!(together.copied_bytes(), bytes_of(&short) as u64);
        let out = together.push(3, large.clone()).unwrap();
        assert_eq!(out, [short, large.clone()]);
        assert_eq!(lies(&out[1]), lies(&large));
        assert!(together.partitions().is_empty());
    }

    #[test]
    fn long_rows_are_not_held_until_there_are_many() {
        let of = |rows: usize| {
            let names = StringViewArray::from_iter_values((0..rows).map(|_| "x".repeat(4096)));
            let numbers = Int64Array::from_iter_values(0..rows as i64);
            RecordBatch::try_new(schema(), vec![Arc::new(numbers), Arc::new(names)]).unwrap()
        };
        let mut together = Together::new(schema());
        assert_eq!(together.push(0, of(128)).unwrap(), [of(128)], "512 KiB and more");
        let counts: Vec<usize> = (0..5).map(|_| together.push(0, of(50)).unwrap().len()).collect();
        assert_eq!(counts, [0, 0, 1, 0, 0]);
        assert_eq!(together.flush(0).unwrap().unwrap().num_rows(), 100);
    }

    #[test]
    fn rows_that_are_forgotten_do_not_come_later() {
        let mut together = Together::new(schema());
        together.push(1, rows(0, 10)).unwrap();
        together.forget(1);
        together.push(1, rows(50, 2)).unwrap();
        assert_eq!(together.flush(1).unwrap(), Some(rows(50, 2)));
    }

    #[test]
    fn no_rows_are_nothing_to_hold() {
        let mut together = Together::new(schema());
        assert!(together.push(0, rows(0, 0)).unwrap().is_empty());
        assert!(together.partitions().is_empty());
    }
}
