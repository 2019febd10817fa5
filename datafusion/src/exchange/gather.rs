//! Small batches, put together before their rows are posted.
//!
//! What a post costs hardly depends on how many rows it has, so that short batches cost more a row; and columns of less
//! than a page or so are copied on their way in any case. Batches of some size are passed on as they lie.

use datafusion::{
    arrow::{compute::concat_batches, datatypes::SchemaRef, record_batch::RecordBatch},
    common::Result,
};

use super::{
    outbox::bytes_of,
    together::{HEAVY, ROWS},
};

/// A batch with fewer rows is put together with others.
const SMALL: usize = 1024;
/// A batch with more bytes than this is never small.
const LIGHT: usize = 64 << 10;

/// Batches of a stream that are held.
#[derive(Debug, Default)]
struct Held {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

/// Puts small batches of some streams together, each stream's with each other.
#[derive(Debug)]
pub struct Gather {
    schema: SchemaRef,
    streams: Vec<Held>,
    put_together: usize,
}

impl Gather {
    /// Gathers batches of that schema from `streams` streams.
    pub fn new(schema: SchemaRef, streams: usize) -> Self {
        let streams = (0..streams).map(|_| Held::default()).collect();
        Self { schema, streams, put_together: 0 }
    }

    /// Takes a batch of a stream, and returns the batches that are to be sent now, in the order in which they came.
    ///
    /// # Errors
    /// The batches have different schemas.
    ///
    /// # Panics
    /// If there is no such stream.
    pub fn push(&mut self, stream: usize, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(Vec::new());
        }
        // The bytes of a batch with many rows need not be known.
        let bytes = if rows >= SMALL { LIGHT } else { bytes_of(&batch) };
        if bytes >= LIGHT {
            let before = self.flush_stream(stream)?;
            return Ok(before.into_iter().chain([batch]).collect());
        }
        let held = &mut self.streams[stream];
        held.batches.push(batch);
        held.rows += rows;
        held.bytes += bytes;
        match held.rows >= ROWS || held.bytes >= HEAVY {
            true => Ok(self.flush_stream(stream)?.into_iter().collect()),
            false => Ok(Vec::new()),
        }
    }

    /// True if a batch is held.
    pub fn is_holding(&self) -> bool {
        self.streams.iter().any(|held| held.rows > 0)
    }

    /// Batches that were put together with others since the last call.
    pub fn take_count(&mut self) -> usize {
        std::mem::take(&mut self.put_together)
    }

    /// Takes all held batches: of each stream that has any, its number and one batch.
    ///
    /// # Errors
    /// The batches have different schemas.
    pub fn flush(&mut self) -> Result<Vec<(usize, RecordBatch)>> {
        let mut batches = Vec::new();
        for stream in 0..self.streams.len() {
            batches.extend(self.flush_stream(stream)?.map(|batch| (stream, batch)));
        }
        Ok(batches)
    }

    fn flush_stream(&mut self, stream: usize) -> Result<Option<RecordBatch>> {
        let mut held = std::mem::take(&mut self.streams[stream]);
        Ok(match held.batches.len() {
            0 => None,
            1 => held.batches.pop(),
            count => {
                self.put_together += count;
                Some(concat_batches(&self.schema, &held.batches)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::{
        array::{AsArray as _, FixedSizeBinaryArray, Int64Array},
        datatypes::{DataType, Field, Int64Type, Schema},
    };

    use super::*;

    fn batch(first: usize, rows: usize) -> RecordBatch {
        let values = (first..first + rows).map(|value| value as i64);
        let column = Arc::new(Int64Array::from_iter_values(values));
        RecordBatch::try_from_iter([("a", column as _)]).unwrap()
    }

    fn values(batch: &RecordBatch) -> Vec<i64> {
        batch.column(0).as_primitive::<Int64Type>().values().to_vec()
    }

    fn gather(streams: usize) -> Gather {
        Gather::new(batch(0, 1).schema(), streams)
    }

    #[test]
    fn small_batches_go_together_when_they_are_enough_or_nothing_more_is_there() {
        let mut gather = gather(1);
        for first in 0..8 {
            assert!(gather.push(0, batch(first * 1000, 1000 - first)).unwrap().is_empty());
            assert!(gather.is_holding());
        }
        assert!(gather.push(0, batch(0, 0)).unwrap().is_empty());
        let flushed = gather.flush().unwrap();
        assert!(!gather.is_holding() && gather.flush().unwrap().is_empty());
        assert_eq!((gather.take_count(), gather.take_count()), (8, 0));
        let [(0, together)] = &flushed[..] else { panic!("one batch") };
        let expected: Vec<i64> =
            (0..8).flat_map(|first| first * 1000..first * 1000 + 1000 - first).collect();
        assert_eq!(values(together), expected);
    }

    #[test]
    fn enough_rows_go_at_once() {
        let mut gather = gather(1);
        let mut sent = Vec::new();
        for first in 0..9 {
            sent.extend(gather.push(0, batch(first * 1023, 1023)).unwrap());
        }
        assert_eq!(sent.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [9 * 1023]);
        assert!(!gather.is_holding());
    }

    #[test]
    fn a_large_batch_is_passed_on_behind_what_came_before_it() {
        let mut gather = gather(1);
        gather.push(0, batch(0, 10)).unwrap();
        let large = batch(10, SMALL);
        let sent = gather.push(0, large.clone()).unwrap();
        assert_eq!(sent.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [10, SMALL]);
        let lies =
            |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().as_ptr();
        assert_eq!(lies(&sent[1]), lies(&large), "it is not copied");
    }

    #[test]
    fn long_rows_are_not_held_until_there_are_many() {
        let width = 4096;
        let schema = Schema::new(vec![Field::new("a", DataType::FixedSizeBinary(width), false)]);
        let long = |rows: usize| {
            let column =
                FixedSizeBinaryArray::try_from_iter((0..rows).map(|_| vec![1; width as usize]));
            RecordBatch::try_new(Arc::new(schema.clone()), vec![Arc::new(column.unwrap())]).unwrap()
        };
        let mut gather = Gather::new(Arc::new(schema.clone()), 1);
        assert_eq!(gather.push(0, long(16)).unwrap().len(), 1, "64 KiB go as they are");
        let mut sent = 0;
        for _ in 0..16 {
            sent += gather.push(0, long(8)).unwrap().len();
        }
        assert_eq!(sent, 1, "512 KiB are enough");
    }

    #[test]
    fn streams_are_kept_apart() {
        let mut gather = gather(2);
        for first in 0..4 {
            assert!(gather.push(first % 2, batch(first * 100, 2)).unwrap().is_empty());
        }
        let flushed = gather.flush().unwrap();
        let flushed: Vec<_> =
            flushed.iter().map(|(stream, batch)| (*stream, values(batch))).collect();
        assert_eq!(flushed, [(0, vec![0, 1, 200, 201]), (1, vec![100, 101, 300, 301])]);
    }
}
