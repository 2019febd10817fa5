//! The consuming end of an exchange: streams of batches, one a partition.

use std::{
    io::Cursor,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use datafusion::{
    arrow::{datatypes::SchemaRef, ipc::reader::StreamReader, record_batch::RecordBatch},
    common::Result as DataFusionResult,
    error::DataFusionError,
    physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time},
};
use drdma_arrow::{AppendReceiver, Form, ReceiveError, Receiver};
use futures::{Stream, stream::BoxStream};
use libdrdma::{CompletionQueue, KeptRegionError, QueuePair};
use tokio::{
    io::{AsyncRead, AsyncWrite, BufReader},
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender, unbounded_channel},
};

use super::{
    control::{self, Task, ToConsumer, ToProducer},
    site::Site,
};
use crate::{Error, passage};

/// Segments of the memory that a partition's rows are appended in.
const SEGMENTS: usize = 4;
/// Messages of a segment, at least: while one segment is being read, others have room.
const LEAST_MESSAGES: usize = 2;
/// Rows of a batch of appended rows, at most: as many as the engine's batches have.
const BATCH_ROWS: usize = 8192;

/// Partitions of a task's output that a consumer wants.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub task: Task,
    pub start: usize,
    pub end: usize,
    /// Partitions of the output in all.
    pub partitions: usize,
    /// The worker that runs the task.
    pub from: usize,
}

/// Message of a stream to the exchange that feeds it.
enum Taken {
    /// The stream of a partition has returned a batch of this many rows.
    Batch(u16, u64),
    /// The stream of a partition was dropped.
    Dropped(u16),
}

/// Begins an exchange with a task: a stream for each partition that is wanted. It goes on in the background until all
/// partitions are over or all streams were dropped.
pub(crate) fn streams(
    site: Arc<Site>,
    wanted: Wanted,
    metrics: &ExecutionPlanMetricsSet,
) -> Vec<BoxStream<'static, DataFusionResult<RecordBatch>>> {
    let (taken, takes) = unbounded_channel();
    let waiting = MetricBuilder::new(metrics).subset_time("wait_time", 0);
    let (mut sinks, mut streams) = (Vec::new(), Vec::new());
    for partition in 0..(wanted.end - wanted.start) as u16 {
        let (sink, batches) = unbounded_channel();
        sinks.push(Sink { batches: Some(sink), received: 0, expected: None, is_over: false });
        let (taken, waiting) = (taken.clone(), waiting.clone());
        let stream =
            PartitionStream { batches, taken, partition, waiting, since: None, failed: false };
        streams.push(Box::pin(stream) as BoxStream<'static, _>);
    }
    let counts = Counts::new(metrics);
    tokio::spawn(run(site, wanted, sinks, takes, counts));
    streams
}

/// The batches of a partition.
struct PartitionStream {
    batches: UnboundedReceiver<Result<RecordBatch, Arc<DataFusionError>>>,
    taken: UnboundedSender<Taken>,
    partition: u16,
    waiting: Time,
    since: Option<Instant>,
    failed: bool,
}

impl Stream for PartitionStream {
    type Item = DataFusionResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.batches.poll_recv(cx);
        if polled.is_pending() {
            self.since.get_or_insert_with(Instant::now);
        }
        let next = ready!(polled);
        if let Some(since) = self.since.take() {
            self.waiting.add_duration(since.elapsed());
        }
        Poll::Ready(match next {
            Some(Ok(batch)) => {
                let rows = batch.num_rows() as u64;
                let _ = self.taken.send(Taken::Batch(self.partition, rows));
                Some(Ok(batch))
            }
            Some(Err(error)) => {
                self.failed = true;
                Some(Err(DataFusionError::Shared(error)))
            }
            None => None,
        })
    }
}

impl Drop for PartitionStream {
    fn drop(&mut self) {
        let _ = self.taken.send(Taken::Dropped(self.partition));
    }
}

/// Destination of a partition's batches.
struct Sink {
    /// Channel of the partition's stream. `None`: the stream was dropped.
    batches: Option<UnboundedSender<Result<RecordBatch, Arc<DataFusionError>>>>,
    /// Rows that were received.
    received: u64,
    /// Rows of the whole partition, once the producer has said it.
    expected: Option<u64>,
    /// No more batches follow.
    is_over: bool,
}

impl Sink {
    /// Ends the stream if it has got all rows of the partition.
    fn settle(&mut self) {
        if self.expected == Some(self.received) {
            self.is_over = true;
            self.batches = None;
        }
    }
}

/// Metrics of received rows.
struct Counts {
    rows: Count,
    batches: Count,
    copied: Count,
    kept: Count,
    copied_before: u64,
}

impl Counts {
    fn new(metrics: &ExecutionPlanMetricsSet) -> Self {
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

/// Runs the exchange until all partitions are over. All streams get the error of a failure.
async fn run(
    site: Arc<Site>,
    wanted: Wanted,
    mut sinks: Vec<Sink>,
    mut takes: UnboundedReceiver<Taken>,
    counts: Counts,
) {
    let _end = site.begin();
    let Err(error) = try_run(&site, &wanted, &mut sinks, &mut takes, counts).await else { return };
    let error = Arc::new(DataFusionError::from(error));
    for sink in &mut sinks {
        if let Some(batches) = sink.batches.take() {
            let _ = batches.send(Err(error.clone()));
        }
    }
}

/// The control connection to the producer.
struct Control {
    peer: String,
    write: Box<dyn AsyncWrite + Send + Unpin>,
}

impl Control {
    /// Sends messages together.
    async fn say(&mut self, messages: &[ToProducer]) -> Result<(), Error> {
        let said = control::write_all(&mut self.write, messages).await;
        said.map_err(|source| Error::Control { peer: self.peer.clone(), source })
    }
}

/// Messages of the control connection, in a channel: reading a message must not be interrupted.
fn listen(read: Box<dyn AsyncRead + Send + Unpin>) -> mpsc::Receiver<std::io::Result<ToConsumer>> {
    let (heard, messages) = mpsc::channel(16);
    tokio::spawn(async move {
        let mut read = BufReader::new(read);
        while let Some(message) = control::read(&mut read).await.transpose() {
            let failed = message.is_err();
            if heard.send(message).await.is_err() || failed {
                return;
            }
        }
    });
    messages
}

async fn try_run(
    site: &Arc<Site>,
    wanted: &Wanted,
    sinks: &mut [Sink],
    takes: &mut UnboundedReceiver<Taken>,
    counts: Counts,
) -> Result<(), Error> {
    let peer = site.name_of(wanted.from);
    let Some(member) = site.members.get(wanted.from) else {
        return Err(Error::Protocol { peer, what: "there is no such worker".into() });
    };
    let broken = |source| Error::Control { peer: peer.clone(), source };
    let (read, write) = site.open(wanted.from, member.exchange).await.map_err(broken)?;
    let mut control = Control { peer: peer.clone(), write };
    let mut messages = listen(read);

    let (local, mut locals) = unbounded_channel();
    let name = match wanted.from == site.number {
        true => site.register_local(local),
        false => {
            drop(local);
            0
        }
    };
    let Wanted { task, start, end, partitions, .. } = wanted.clone();
    let from = (site.number, name);
    control.say(&[ToProducer::Open { task, start, end, partitions, from }]).await?;

    let (schema, mut inbox) = match hear(messages.recv().await, wanted, &peer)? {
        ToConsumer::Accept { schema, message_bytes, address, may_append, kinds } => {
            let schema = read_schema(&schema)?;
            if message_bytes != passage::MESSAGE_BYTES {
                let what =
                    format!("messages of {message_bytes} B, here {}", passage::MESSAGE_BYTES);
                return Err(Error::Protocol { peer, what });
            }
            let inbox = match address {
                Some(address) => {
                    let count = wanted.end - wanted.start;
                    let form = if kinds { Form::Kinds } else { Form::Columns };
                    let kept = &counts.kept;
                    let mut inbox = Inbox::new(site, &schema, form, count, may_append, kept)?;
                    site.connect(&mut inbox.pairs, &address, &peer)?;
                    let (address, appended) = (site.address(&inbox.pairs), inbox.is_appended());
                    control.say(&[ToProducer::Connect { address, appended }]).await?;
                    Some(inbox)
                }
                None => None,
            };
            (schema, inbox)
        }
        ToConsumer::Error { reason } => {
            site.take_local(name);
            return Err(Error::Remote { peer, reason });
        }
        other => {
            let what = format!("it begins with {other:?}");
            return Err(Error::Protocol { peer, what });
        }
    };

    let mut exchange = Exchange { schema, sinks, counts, start: wanted.start as u16 };
    let (queues, is_local) = (inbox.as_ref().map(Inbox::completions), inbox.is_none());
    let waiter = site.port.time().waiter(queues.unwrap_or_default());
    // `silent`: the producer sends no more messages. `empty`: a task of this worker hands over no more batches.
    let (mut silent, mut empty) = (false, !is_local);
    loop {
        if let Some(inbox) = &mut inbox {
            while let Some((partition, batch)) = inbox.poll()? {
                exchange.arrived(partition, batch)?;
            }
            exchange.count_copies(inbox.copied_bytes());
        }
        if exchange.is_over() {
            if let Some(inbox) = inbox.filter(|_| exchange.is_whole()) {
                inbox.keep(site);
            }
            return Ok(());
        }
        if silent && empty {
            return hear(None, wanted, &peer).map(|_| ());
        }
        tokio::select! {
            message = messages.recv(), if !silent => match hear(message, wanted, &peer) {
                Ok(message) => exchange.heard(message, &peer)?,
                // Batches that were handed over may still lie here.
                Err(Error::Gone { .. }) if is_local && exchange.knows_its_end() => silent = true,
                Err(error) => return Err(error),
            },
            Some(taken) = takes.recv() => {
                let mut messages = Vec::new();
                add_message(&mut messages, exchange.taken(taken));
                while let Ok(taken) = takes.try_recv() {
                    add_message(&mut messages, exchange.taken(taken));
                }
                if !messages.is_empty() {
                    // If the producer is gone, that is noticed when its messages are read.
                    let _ = control.say(&messages).await;
                }
            }
            local = locals.recv(), if !empty => match local {
                Some((partition, batch)) => exchange.arrived(partition - exchange.start, batch)?,
                None => empty = true,
            },
            ready = waiter.ready(), if !is_local => ready.map_err(|_| site.port.time().stopped())?,
        }
    }
}

/// Adds a message to those that are sent together. Credits of a partition, one behind the other, become one.
fn add_message(messages: &mut Vec<ToProducer>, message: Option<ToProducer>) {
    let Some(message) = message else { return };
    if let ToProducer::Credit { partition, rows } = message
        && let Some(ToProducer::Credit { partition: before, rows: sum }) = messages.last_mut()
        && *before == partition
    {
        *sum += rows;
        return;
    }
    messages.push(message);
}

/// The message of the producer, or the error that stands for its absence.
fn hear(
    message: Option<std::io::Result<ToConsumer>>,
    wanted: &Wanted,
    peer: &str,
) -> Result<ToConsumer, Error> {
    let (peer, stage, task) = (peer.to_owned(), wanted.task.stage, wanted.task.task);
    match message {
        Some(Ok(message)) => Ok(message),
        Some(Err(source)) => Err(Error::Control { peer, source }),
        None => Err(Error::Gone { peer, stage, task }),
    }
}

fn read_schema(bytes: &[u8]) -> Result<SchemaRef, Error> {
    Ok(StreamReader::try_new(Cursor::new(bytes), None)?.schema())
}

/// Receiving end of the rows from a task at another worker.
struct Inbox {
    // The queue pairs go before the queues that they receive from.
    pairs: Vec<QueuePair<'static>>,
    receivers: Receivers,
}

/// Form in which rows are received.
enum Receivers {
    /// Batches, those of all partitions together.
    Batches(Receiver),
    /// Rows that the card appends, a receiver for each partition; and the receiver that is to be polled first.
    Appended(Vec<AppendReceiver>, usize),
}

impl Inbox {
    /// Makes what receives so many partitions, and counts the receivers that were kept from an exchange before.
    fn new(
        site: &Site,
        schema: &SchemaRef,
        form: Form,
        partitions: usize,
        may_append: bool,
        kept: &Count,
    ) -> Result<Self, Error> {
        if may_append && let Some(receivers) = appending(site, schema, partitions, kept)? {
            let pairs = receivers.iter().map(|receiver| site.queue_pair(Some(receiver.queue())));
            let pairs = pairs.collect::<Result<_, _>>()?;
            return Ok(Self { pairs, receivers: Receivers::Appended(receivers, 0) });
        }
        let format = passage::format(schema, form)?.ok_or_else(|| Error::Protocol {
            peer: site.name_of(site.number),
            what: "rows without columns do not go by the card".into(),
        })?;
        let receiver = match site.kept.take_receiver(&format) {
            Some(receiver) => {
                kept.add(1);
                receiver
            }
            None => Receiver::new(format, &site.pd, site.config.slabs)?,
        };
        let pairs = (0..partitions).map(|_| site.queue_pair(Some(receiver.queue())));
        let pairs = pairs.collect::<Result<_, _>>()?;
        Ok(Self { pairs, receivers: Receivers::Batches(receiver) })
    }

    fn is_appended(&self) -> bool {
        matches!(self.receivers, Receivers::Appended(..))
    }

    /// Closes the connections, over which all has come, and keeps what received it for another exchange.
    fn keep(self, site: &Site) {
        let Self { pairs, receivers } = self;
        drop(pairs);
        match receivers {
            Receivers::Batches(receiver) => site.kept.keep_receiver(receiver),
            Receivers::Appended(receivers, _) => {
                let messages = messages_of(site, receivers.len());
                receivers.into_iter().for_each(|one| site.kept.keep_appender(messages, one));
            }
        }
    }

    /// The next batch that was received, and its partition, counted from the first of the consumer's.
    fn poll(&mut self) -> Result<Option<(u16, RecordBatch)>, Error> {
        match &mut self.receivers {
            Receivers::Batches(receiver) => {
                let Some(received) = receiver.poll()? else { return Ok(None) };
                let partition = self.pairs.iter().position(|pair| pair.index() == received.qp);
                let partition = partition.expect("the queue is for these queue pairs alone");
                Ok(Some((partition as u16, received.batch)))
            }
            Receivers::Appended(receivers, first) => {
                let count = receivers.len();
                for partition in (*first..*first + count).map(|partition| partition % count) {
                    if let Some(batch) = receivers[partition].poll()? {
                        *first = (partition + 1) % count;
                        return Ok(Some((partition as u16, batch)));
                    }
                }
                Ok(None)
            }
        }
    }

    /// The completion queues of what is received.
    fn completions(&self) -> Vec<CompletionQueue> {
        match &self.receivers {
            Receivers::Batches(receiver) => vec![receiver.completions().clone()],
            Receivers::Appended(receivers, _) => {
                receivers.iter().map(|receiver| receiver.completions().clone()).collect()
            }
        }
    }

    fn copied_bytes(&self) -> u64 {
        match &self.receivers {
            Receivers::Batches(receiver) => receiver.copied_bytes(),
            Receivers::Appended(receivers, _) => {
                receivers.iter().map(AppendReceiver::copied_bytes).sum()
            }
        }
    }
}

/// A receiver of appended rows for each partition, of about as much memory as slabs would have. Counts those that were
/// kept from an exchange before. `None`: the rows or the card do not allow it, or other exchanges have the card's
/// append regions.
fn appending(
    site: &Site,
    schema: &SchemaRef,
    partitions: usize,
    kept: &Count,
) -> Result<Option<Vec<AppendReceiver>>, Error> {
    let Some(format) = passage::appended_format(schema) else { return Ok(None) };
    let messages = messages_of(site, partitions);
    let make = || AppendReceiver::new(format.clone(), &site.pd, SEGMENTS, messages, BATCH_ROWS);
    let receiver = |_| match site.kept.take_appender(&format, messages) {
        Some(receiver) => {
            kept.add(1);
            Ok(receiver)
        }
        None => match make() {
            // Those that are kept may have what is missing.
            Err(ReceiveError::Kept(KeptRegionError::Exhausted { .. }))
                if site.kept.give_up_appenders() =>
            {
                make()
            }
            made => made,
        },
    };
    match (0..partitions).map(receiver).collect() {
        Ok(receivers) => Ok(Some(receivers)),
        Err(ReceiveError::Kept(
            KeptRegionError::Exhausted { .. } | KeptRegionError::Unsupported { .. },
        )) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Messages of a segment of a receiver of appended rows, where a consumer has so many partitions.
fn messages_of(site: &Site, partitions: usize) -> usize {
    let bytes = site.config.slabs * passage::MESSAGE_BYTES;
    (bytes / passage::APPENDED_BYTES / SEGMENTS / partitions).max(LEAST_MESSAGES)
}

/// An exchange that has begun.
struct Exchange<'a> {
    schema: SchemaRef,
    sinks: &'a mut [Sink],
    counts: Counts,
    /// The first of the consumer's partitions.
    start: u16,
}

impl Exchange<'_> {
    /// Passes a received batch on to its stream.
    fn arrived(&mut self, partition: u16, batch: RecordBatch) -> Result<(), Error> {
        self.counts.rows.add(batch.num_rows());
        self.counts.batches.add(1);
        let sink = &mut self.sinks[usize::from(partition)];
        sink.received += batch.num_rows() as u64;
        if let Some(batches) = &sink.batches {
            // The format has every field nullable; the schema is the engine's again.
            let batch = RecordBatch::try_new(self.schema.clone(), batch.columns().to_vec())?;
            if batches.send(Ok(batch)).is_err() {
                sink.batches = None;
            }
        }
        sink.settle();
        Ok(())
    }

    fn heard(&mut self, message: ToConsumer, peer: &str) -> Result<(), Error> {
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
    fn taken(&mut self, taken: Taken) -> Option<ToProducer> {
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
    fn is_over(&self) -> bool {
        self.sinks.iter().all(|sink| sink.is_over)
    }

    /// True if all rows of all partitions have come.
    fn is_whole(&self) -> bool {
        self.sinks.iter().all(|sink| sink.expected == Some(sink.received))
    }

    /// True if the number of rows is known of each partition whose stream was not dropped.
    fn knows_its_end(&self) -> bool {
        let knows = |sink: &Sink| sink.is_over || sink.expected.is_some() || sink.batches.is_none();
        self.sinks.iter().all(knows)
    }

    fn count_copies(&mut self, copied: u64) {
        self.counts.copied.add((copied - self.counts.copied_before) as usize);
        self.counts.copied_before = copied;
    }
}
