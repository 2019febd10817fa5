//! The streams of a consumer's partitions, as the exchange sees them that feeds them.

use std::sync::Arc;

use datafusion::{
    arrow::{datatypes::SchemaRef, record_batch::RecordBatch},
    error::DataFusionError,
    physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder},
};
use tokio::sync::mpsc::UnboundedSender;

use super::{Taken, inbox::Inbox};
use crate::{
    Error,
    exchange::{
        control::{ToConsumer, ToProducer},
        together::Together,
    },
};

/// Destination of a partition's batches.
pub(super) struct Sink {
    /// Channel of the partition's stream. `None`: the stream was dropped.
    batches: Option<UnboundedSender<Result<RecordBatch, Arc<DataFusionError>>>>,
    /// Batches that wait in the stream.
    queued: usize,
    /// Rows that the stream was given.
    received: u64,
    /// Rows of the whole partition, once the producer has said it.
    expected: Option<u64>,
    /// No more batches follow.
    is_over: bool,
}

impl Sink {
    /// A stream that this channel leads to.
    pub fn new(batches: UnboundedSender<Result<RecordBatch, Arc<DataFusionError>>>) -> Self {
        Self { batches: Some(batches), queued: 0, received: 0, expected: None, is_over: false }
    }

    /// Ends the stream with an error, unless it is over.
    pub fn fail(&mut self, error: &Arc<DataFusionError>) {
        if let Some(batches) = self.batches.take() {
            let _ = batches.send(Err(error.clone()));
        }
    }

    /// True if the stream should get whatever rows there are: no more follow, or it was dropped. If streams have been
    /// `starved` for some time, it should also get them if no batch is waiting in it.
    fn takes_short(&self, starved: bool) -> bool {
        self.expected.is_some() || self.batches.is_none() || (starved && self.queued == 0)
    }

    /// Ends the stream if it has got all rows of the partition.
    fn settle(&mut self) {
        if self.expected == Some(self.received) {
            self.is_over = true;
            self.batches = None;
        }
    }
}

/// Metrics of received rows.
pub(super) struct Counts {
    rows: Count,
    batches: Count,
    copied: Count,
    pub kept: Count,
    copied_before: u64,
}

impl Counts {
    pub fn new(metrics: &ExecutionPlanMetricsSet) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).global_counter(name);
        Self {
            rows: counter("received_rows"),
            batches: counter("received_batches"),
            copied: counter("copied_bytes_received"),
            kept: counter("kept_receivers"),
            copied_before: 0,
        }
    }
}

/// An exchange that has begun.
pub(super) struct Exchange<'a> {
    schema: SchemaRef,
    sinks: &'a mut [Sink],
    counts: Counts,
    /// The first of the consumer's partitions.
    pub start: u16,
    /// Rows of short batches that are held.
    together: Together,
}

impl<'a> Exchange<'a> {
    pub fn new(schema: SchemaRef, sinks: &'a mut [Sink], counts: Counts, start: u16) -> Self {
        let together = Together::new(schema.clone());
        Self { schema, sinks, counts, start, together }
    }

    /// Takes what has arrived. Streams that have been `starved` for some time get short batches as well.
    pub fn receive(&mut self, inbox: &mut Inbox, starved: bool) -> Result<(), Error> {
        let takes_short = |sinks: &[Sink], of: u16| sinks[usize::from(of)].takes_short(starved);
        while let Some((partition, batch)) = inbox.poll(|of| takes_short(self.sinks, of))? {
            self.arrived(partition, batch, starved)?;
        }
        self.flush(starved)?;
        self.count_copies(inbox.copied_bytes() + self.together.copied_bytes());
        Ok(())
    }

    /// Gives a batch to its stream, or holds it until there are rows enough for a long one.
    fn arrived(&mut self, partition: u16, batch: RecordBatch, starved: bool) -> Result<(), Error> {
        let takes_short = self.sinks[usize::from(partition)].takes_short(starved);
        if takes_short && !self.together.holds(partition) {
            return self.give(partition, batch);
        }
        let whole = self.together.push(partition, batch)?;
        whole.into_iter().try_for_each(|batch| self.give(partition, batch))
    }

    /// Gives rows that are held to streams that take short batches.
    fn flush(&mut self, starved: bool) -> Result<(), Error> {
        for partition in self.together.partitions() {
            if self.sinks[usize::from(partition)].takes_short(starved)
                && let Some(batch) = self.together.flush(partition)?
            {
                self.give(partition, batch)?;
            }
        }
        Ok(())
    }

    /// True if a stream waits for rows of which there are some: here, or in the inbox, as `holds` says.
    pub fn has_waiting(&self, holds: impl Fn(u16) -> bool) -> bool {
        let holds = |partition: u16| holds(partition) || self.together.holds(partition);
        let waits =
            |(partition, sink): (u16, &Sink)| sink.queued == 0 && !sink.is_over && holds(partition);
        (0..).zip(self.sinks.iter()).any(waits)
    }

    /// Gives a batch to its stream.
    pub fn give(&mut self, partition: u16, batch: RecordBatch) -> Result<(), Error> {
        self.counts.rows.add(batch.num_rows());
        self.counts.batches.add(1);
        let sink = &mut self.sinks[usize::from(partition)];
        sink.received += batch.num_rows() as u64;
        if let Some(batches) = &sink.batches {
            // The format has every field nullable; the schema is the engine's again.
            let batch = RecordBatch::try_new(self.schema.clone(), batch.columns().to_vec())?;
            match batches.send(Ok(batch)) {
                Ok(()) => sink.queued += 1,
                Err(_) => sink.batches = None,
            }
        }
        sink.settle();
        Ok(())
    }

    pub fn heard(&mut self, message: ToConsumer, peer: &str) -> Result<(), Error> {
        let count = self.sinks.len();
        let wrong = |what: String| Error::Protocol { peer: peer.to_owned(), what };
        let (ToConsumer::End { partition, .. } | ToConsumer::Closed { partition }) = message else {
            return Err(match message {
                ToConsumer::Error { reason } => Error::Remote { peer: peer.to_owned(), reason },
                other => wrong(format!("{other:?} is not its turn")),
            });
        };
        let Some(sink) = self.sinks.get_mut(usize::from(partition)) else {
            return Err(wrong(format!("partition {partition} of {count} is over")));
        };
        match message {
            ToConsumer::End { rows, .. } if rows < sink.received => {
                Err(wrong(format!("{rows} rows of partition {partition}, {} came", sink.received)))
            }
            ToConsumer::End { rows, .. } => {
                sink.expected = Some(rows);
                sink.settle();
                Ok(())
            }
            _ => {
                sink.is_over = true;
                Ok(())
            }
        }
    }

    /// Handles a message of a stream; returns the message to the producer that follows from it.
    pub fn taken(&mut self, taken: Taken) -> Option<ToProducer> {
        if let Taken::Batch(partition, _) = taken {
            self.sinks[usize::from(partition)].queued -= 1;
        }
        match taken {
            Taken::Batch(partition, _) if self.sinks[usize::from(partition)].is_over => None,
            Taken::Batch(partition, rows) => Some(ToProducer::Credit { partition, rows }),
            Taken::Dropped(partition) => {
                let sink = &mut self.sinks[usize::from(partition)];
                sink.batches = None;
                (!sink.is_over).then_some(ToProducer::Close { partition })
            }
        }
    }

    /// True if no partition has batches to come.
    pub fn is_over(&self) -> bool {
        self.sinks.iter().all(|sink| sink.is_over)
    }

    /// True if all rows of all partitions have come.
    pub fn is_whole(&self) -> bool {
        self.sinks.iter().all(|sink| sink.expected == Some(sink.received))
    }

    /// True if the number of rows is known of each partition whose stream was not dropped.
    pub fn knows_its_end(&self) -> bool {
        let knows = |sink: &Sink| sink.is_over || sink.expected.is_some() || sink.batches.is_none();
        self.sinks.iter().all(knows)
    }

    fn count_copies(&mut self, copied: u64) {
        self.counts.copied.add((copied - self.counts.copied_before) as usize);
        self.counts.copied_before = copied;
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::{
        array::{AsArray as _, Int64Array},
        datatypes::{DataType, Field, Int64Type, Schema},
    };
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    type Batches = UnboundedReceiver<Result<RecordBatch, Arc<DataFusionError>>>;

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]))
    }

    fn numbers(first: i64, rows: i64) -> RecordBatch {
        let values = Int64Array::from_iter_values(first..first + rows);
        RecordBatch::try_new(schema(), vec![Arc::new(values)]).unwrap()
    }

    /// Runs `test` with an exchange of two partitions, and their streams.
    fn with_exchange(test: impl FnOnce(Exchange<'_>, [Batches; 2])) {
        let [(first, one), (second, other)] = [unbounded_channel(), unbounded_channel()];
        let mut sinks = [Sink::new(first), Sink::new(second)];
        let counts = Counts::new(&ExecutionPlanMetricsSet::new());
        test(Exchange::new(schema(), &mut sinks, counts, 0), [one, other]);
    }

    /// First number and rows of each batch that waits in a stream.
    fn batches(stream: &mut Batches) -> Vec<(i64, usize)> {
        let next = || stream.try_recv().ok().map(Result::unwrap);
        let batches = std::iter::from_fn(next);
        let of = |batch: RecordBatch| {
            let values = batch.column(0).as_primitive::<Int64Type>();
            (values.value(0), values.len())
        };
        batches.map(of).collect()
    }

    const fn end(partition: u16, rows: u64) -> ToConsumer {
        ToConsumer::End { partition, rows }
    }

    #[test]
    fn short_batches_become_long_ones_until_the_partition_ends() {
        with_exchange(|mut exchange, [mut one, mut other]| {
            for batch in 0..10 {
                exchange.arrived(0, numbers(1000 * batch, 1000), false).unwrap();
                exchange.arrived(1, numbers(8192 * batch, 8192), false).unwrap();
            }
            assert_eq!(batches(&mut one), [(0, 8192)]);
            assert_eq!(batches(&mut other).len(), 10);
            exchange.flush(false).unwrap();
            assert_eq!(batches(&mut one), []);
            exchange.heard(end(0, 10_001), "worker 1").unwrap();
            exchange.flush(false).unwrap();
            assert_eq!(batches(&mut one), [(8192, 1808)]);
            assert!(!exchange.is_whole());
            exchange.arrived(0, numbers(10_000, 1), false).unwrap();
            assert_eq!(batches(&mut one), [(10_000, 1)]);
            exchange.heard(end(1, 81_920), "worker 1").unwrap();
            assert!(exchange.is_over() && exchange.is_whole());
        });
    }

    #[test]
    fn a_stream_that_has_waited_gets_what_there_is_and_one_with_a_batch_does_not() {
        with_exchange(|mut exchange, [mut one, mut other]| {
            assert!(!exchange.has_waiting(|_| false));
            assert!(exchange.has_waiting(|partition| partition == 1), "rows wait in the inbox");
            exchange.arrived(0, numbers(0, 100), false).unwrap();
            exchange.arrived(1, numbers(0, 8192), false).unwrap();
            exchange.arrived(1, numbers(8192, 5), false).unwrap();
            assert!(exchange.has_waiting(|_| false), "partition 0 has no batch");
            exchange.flush(true).unwrap();
            assert_eq!(batches(&mut one), [(0, 100)]);
            assert_eq!(batches(&mut other), [(0, 8192)]);
            assert!(!exchange.has_waiting(|_| false), "both have one that was not taken");
            exchange.arrived(0, numbers(100, 7), true).unwrap();
            assert_eq!(batches(&mut one), []);
            assert!(exchange.taken(Taken::Batch(0, 100)).is_some());
            assert!(exchange.has_waiting(|_| false));
            // Rows that are held come first.
            exchange.arrived(0, numbers(107, 3), true).unwrap();
            exchange.flush(true).unwrap();
            assert_eq!(batches(&mut one), [(100, 10)]);
        });
    }

    #[test]
    fn nothing_is_held_for_a_stream_that_was_dropped() {
        with_exchange(|mut exchange, [_, mut other]| {
            exchange.arrived(0, numbers(0, 100), false).unwrap();
            assert!(exchange.taken(Taken::Dropped(0)).is_some());
            exchange.flush(false).unwrap();
            exchange.arrived(0, numbers(100, 100), false).unwrap();
            assert!(exchange.together.partitions().is_empty());
            exchange.heard(end(0, 200), "worker 1").unwrap();
            exchange.heard(end(1, 0), "worker 1").unwrap();
            assert!(exchange.is_over());
            assert_eq!(batches(&mut other), []);
        });
    }
}
