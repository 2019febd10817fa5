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
            if takes_short(self.sinks, partition) && !self.together.holds(partition) {
                self.give(partition, batch)?;
                continue;
            }
            for batch in self.together.push(partition, batch)? {
                self.give(partition, batch)?;
            }
        }
        for partition in self.together.partitions() {
            if takes_short(self.sinks, partition)
                && let Some(batch) = self.together.flush(partition)?
            {
                self.give(partition, batch)?;
            }
        }
        self.count_copies(inbox.copied_bytes() + self.together.copied_bytes());
        Ok(())
    }

    /// True if a stream waits for rows, and there are some.
    pub fn has_waiting(&self, inbox: &Inbox) -> bool {
        let holds = |partition: u16| inbox.holds(partition) || self.together.holds(partition);
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
