//! Rows for tasks of the same worker, put together before they are handed over.
//!
//! A batch of a shuffle has a few rows for each of many partitions. The engine's own exchange makes batches of 8,192
//! rows of them, because what computes with them takes some time for each batch, however short. So does this. Rows that
//! are held count as sent; whoever holds them hands them over when no more rows come, or none are read.

use std::collections::BTreeMap;

use datafusion::arrow::{
    compute::BatchCoalescer, datatypes::SchemaRef, error::ArrowError, record_batch::RecordBatch,
};

/// Rows of a batch that is handed over.
const ROWS: usize = 8192;
/// A batch of more rows is handed over as it is, behind the rows before it.
const LARGE: usize = ROWS / 2;

/// Rows that are held, of each partition.
#[derive(Debug)]
pub(super) struct Together {
    schema: SchemaRef,
    held: BTreeMap<u16, BatchCoalescer>,
}

impl Together {
    /// Holds rows of that schema.
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, held: BTreeMap::new() }
    }

    /// Adds rows of a partition, and returns the batches that are to be handed over now.
    ///
    /// # Errors
    /// The rows have another schema.
    pub fn push(
        &mut self,
        partition: u16,
        batch: RecordBatch,
    ) -> Result<Vec<RecordBatch>, ArrowError> {
        let is_large = batch.num_rows() > LARGE;
        if is_large && !self.held.contains_key(&partition) {
            return Ok(vec![batch]);
        }
        let schema = &self.schema;
        let held = self.held.entry(partition);
        let held = held.or_insert_with(|| BatchCoalescer::new(schema.clone(), ROWS));
        if is_large {
            held.finish_buffered_batch()?;
            let before = held.next_completed_batch();
            self.held.remove(&partition);
            return Ok(before.into_iter().chain([batch]).collect());
        }
        held.push_batch(batch)?;
        let full = std::iter::from_fn(|| held.next_completed_batch()).collect();
        if held.is_empty() {
            self.held.remove(&partition);
        }
        Ok(full)
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
        held.finish_buffered_batch()?;
        Ok(held.next_completed_batch())
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
        let large = rows(0, LARGE + 1);
        let lies = |batch: &RecordBatch| batch.column(0).to_data().buffers()[0].as_ptr();
        let out = together.push(3, large.clone()).unwrap();
        assert_eq!(out.iter().map(lies).collect::<Vec<_>>(), [lies(&large)]);
        assert!(together.push(3, rows(0, LARGE)).unwrap().is_empty());
        let out = together.push(3, large.clone()).unwrap();
        assert_eq!(out, [rows(0, LARGE), large.clone()]);
        assert_eq!(lies(&out[1]), lies(&large));
        assert!(together.partitions().is_empty());
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
