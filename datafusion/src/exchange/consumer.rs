//! The consuming end of an exchange: streams of batches, one a partition.

mod inbox;
mod sinks;

use std::{
    io::Cursor,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use datafusion::{
    arrow::{datatypes::SchemaRef, ipc::reader::StreamReader, record_batch::RecordBatch},
    common::Result as DataFusionResult,
    error::DataFusionError,
    physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, Time},
};
use drdma_arrow::Form;
use futures::{Stream, stream::BoxStream};
use tokio::{
    io::{AsyncRead, AsyncWrite, BufReader},
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::Instant,
};

use super::{
    control::{self, Task, ToConsumer, ToProducer},
    site::Site,
    together::HEAVY,
};
use crate::{Error, passage};
use inbox::Inbox;
use sinks::{Counts, Exchange, Sink};

/// Time that a stream waits for a long batch while there are rows for a short one. The producer may not have the rows
/// that are missing, or may not be able to send them before the stream takes those that are there.
const PATIENCE: Duration = Duration::from_millis(5);
/// With a smaller budget streams get short batches at once: what a producer may have under way must be more than what
/// is held here, or it would often wait for [`PATIENCE`].
const LEAST_BUDGET: usize = 2 * HEAVY;

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
        sinks.push(Sink::new(sink));
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
    sinks.iter_mut().for_each(|sink| sink.fail(&error));
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

    let start = wanted.start as u16;
    let mut exchange = Exchange::new(schema, sinks, counts, start);
    let (queues, is_local) = (inbox.as_ref().map(Inbox::completions), inbox.is_none());
    let waiter = site.port.time().waiter(queues.unwrap_or_default());
    // `silent`: the producer sends no more messages. `empty`: a task of this worker hands over no more batches.
    let (mut silent, mut empty) = (false, !is_local);
    let holds_nothing = site.config.budget < LEAST_BUDGET;
    // The time at which streams get short batches, if they wait for rows that are there.
    let mut patience: Option<Instant> = None;
    loop {
        if let Some(inbox) = &mut inbox {
            let now = Instant::now();
            let starved = holds_nothing || patience.is_some_and(|until| until <= now);
            exchange.receive(inbox, starved)?;
            let is_waiting = exchange.has_waiting(|partition| inbox.holds(partition));
            patience = is_waiting.then(|| patience.unwrap_or(now + PATIENCE));
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
                // They were put together before they were handed over.
                Some((partition, batch)) => exchange.give(partition - exchange.start, batch)?,
                None => empty = true,
            },
            ready = waiter.ready(), if !is_local => ready.map_err(|_| site.port.time().stopped())?,
            () = until(patience), if patience.is_some() => {}
        }
    }
}

/// Waits until then, if ever.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
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
