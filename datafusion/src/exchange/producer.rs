//! The producer: a task at work, which finds the partition of each row, posts, and handles messages of consumers.

mod consumers;

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    arrow::{datatypes::SchemaRef, record_batch::RecordBatch},
    common::Result as DataFusionResult,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_plan::metrics::ExecutionPlanMetricsSet,
};
use drdma_arrow::{Foreign, Form, Selection, SendError, Sender};
use futures::{
    FutureExt, StreamExt,
    stream::{BoxStream, SelectAll},
};
use libdrdma::{CompletionQueue, PostError, QueuePair, SharedSendQueue, Status};
use tokio::sync::{mpsc::UnboundedReceiver, watch};

use super::{
    control::ToConsumer,
    counts::Counts,
    gather::Gather,
    ids::partition_ids,
    outbox::{Outbox, bytes_of},
    site::{End, Local, Site},
    spill::Spill,
    together::Together,
};
use crate::{Error, cpu, node::Kind, passage};
use consumers::Consumer;
pub(crate) use consumers::Event;

/// Blocks of 64 B of a task's send queue.
const SEND_BLOCKS: u32 = 4096;
/// Destinations of a request, at most: so that any batch fits in the queue.
const TOGETHER: usize = 32;

/// Destination of a partition's rows.
enum Way {
    /// Queue pair that is connected to a consumer at another worker, whose card appends rows or not.
    Card { pair: Box<QueuePair<'static>>, appended: bool },
    /// Channel to a consumer at the same worker.
    Local(Local),
}

/// A task whose output is exchanged.
pub(crate) struct Producer {
    site: Arc<Site>,
    schema: SchemaRef,
    kind: Kind,
    partitions: usize,
    /// Batches, with the number of the stream that each is from.
    input: SelectAll<BoxStream<'static, (usize, DataFusionResult<RecordBatch>)>>,
    gather: Gather,
    // Queues go before what they complete to.
    queue: SharedSendQueue<'static>,
    cq: CompletionQueue,
    sender: Sender,
    /// Sender of rows that the consumer's card appends, if their schema allows that.
    appender: Option<Sender>,
    ways: Vec<Option<Way>>,
    consumers: HashMap<u64, Consumer>,
    outbox: Outbox,
    /// Rows for tasks of the same worker.
    together: Together,
    spill: Spill,
    /// For each request, by its name: completions that are missing, and its partitions.
    posted: HashMap<u64, (u32, Vec<u16>)>,
    next: u64,
    counts: Counts,
    /// Numbers of the stage and the task, for errors.
    task: (usize, usize),
    was_full: bool,
    /// The task ended with an error.
    failed: bool,
}

impl Producer {
    /// Makes the producer of a task with `partitions` partitions. `inputs` are the streams of its head, one for each of
    /// the head's partitions.
    pub fn new(
        site: Arc<Site>,
        kind: Kind,
        metrics: &ExecutionPlanMetricsSet,
        partitions: usize,
        inputs: Vec<SendableRecordBatchStream>,
        context: &TaskContext,
        task: (usize, usize),
    ) -> Result<Self, Error> {
        let limit = crate::node::MAX_PARTITIONS;
        if partitions == 0 || partitions > limit {
            return Err(Error::Partitions { partitions, limit });
        }
        let schema = inputs[0].schema();
        let form = Form::of_card(site.port.context().features());
        let format = passage::format(&schema, form)?.ok_or_else(|| Error::Protocol {
            peer: site.name_of(site.number),
            what: "rows without columns do not go by the card".into(),
        })?;
        let counts = Counts::new(metrics);
        let (queue, cq) = match site.kept.take_send_queue() {
            Some(kept) => {
                counts.kept.add(1);
                kept
            }
            None => {
                let cq = site.port.context().completion_queue().entries(SEND_BLOCKS).build()?;
                (site.pd.shared_send_queue(&cq).send_blocks(SEND_BLOCKS).build()?, cq)
            }
        };
        let sender = |format| Sender::new(format, &site.pd, &site.arena, Foreign::Copy);
        // A broadcast needs no ids, and its rows go as whole columns.
        let is_shuffle = matches!(kind, Kind::Shuffle(..));
        let appended = passage::appended_format(&schema).filter(|_| is_shuffle);
        let (sender, appender) = (sender(format), appended.map(sender));
        let number = |(number, stream): (usize, SendableRecordBatchStream)| {
            stream.map(move |batch| (number, batch)).boxed()
        };
        let gather = Gather::new(schema.clone(), inputs.len());
        let input = futures::stream::select_all(inputs.into_iter().enumerate().map(number));
        let outbox = Outbox::new(partitions, site.config.budget, site.backlog.clone());
        let together = Together::new(schema.clone());
        let spill = Spill::new(context, metrics, schema.clone(), task);
        Ok(Self {
            site,
            schema,
            kind,
            partitions,
            input,
            gather,
            queue,
            cq,
            sender,
            appender,
            ways: (0..partitions).map(|_| None).collect(),
            consumers: HashMap::new(),
            outbox,
            together,
            spill,
            posted: HashMap::new(),
            next: 0,
            counts,
            task,
            was_full: false,
            failed: false,
        })
    }

    /// Sends until all partitions are over, an error occurs, or the query is dropped.
    pub async fn run(
        mut self,
        mut events: UnboundedReceiver<Event>,
        mut alive: watch::Receiver<()>,
    ) {
        let end = self.site.begin();
        let Err(error) = self.try_run(&mut events, &mut alive).await else {
            retire(self, end).await;
            return;
        };
        self.failed = true;
        let reason = error.to_string();
        for consumer in self.consumers.values() {
            let _ = consumer.replies.send(ToConsumer::Error { reason: reason.clone() });
        }
        // The streams that feed the producer end as well.
        retire(self, end).await;
        // Consumers that come later get the error as well, as long as the query lasts.
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(Event::Opened { replies, .. }) => {
                        let _ = replies.send(ToConsumer::Error { reason: reason.clone() });
                    }
                    Some(_) => {}
                    None => return,
                },
                _ = alive.changed() => return,
            }
        }
    }

    async fn try_run(
        &mut self,
        events: &mut UnboundedReceiver<Event>,
        alive: &mut watch::Receiver<()>,
    ) -> Result<(), Error> {
        let waiter = self.site.port.time().waiter(vec![self.cq.clone()]);
        loop {
            self.complete()?;
            self.send()?;
            self.hand_over_held()?;
            self.tell();
            if self.outbox.is_done() {
                return Ok(());
            }
            let wants_more = self.outbox.wants_more();
            let wanted = self.outbox.wanted();
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.happened(event)?,
                    None => return Ok(()),
                },
                ready = waiter.ready(), if !self.posted.is_empty() => {
                    ready.map_err(|_| self.site.port.time().stopped())?;
                }
                // The query is over, and no task needs the rows that are left.
                _ = alive.changed() => return Ok(()),
                read = self.spill.next(&wanted), if !wanted.is_empty() => {
                    let (partition, batch) = read?;
                    if self.outbox.returned(partition, batch) {
                        self.spill.forget(partition);
                    }
                }
                batch = self.input.next(), if wants_more => match batch {
                    Some((stream, batch)) => self.take(stream, batch?)?,
                    None => self.outbox.end(),
                },
            }
        }
    }

    /// Takes a batch of the input. A small one is held back if further batches are there already.
    fn take(&mut self, stream: usize, batch: RecordBatch) -> Result<(), Error> {
        let mut next = Some((stream, batch));
        let mut is_end = false;
        while let Some((stream, batch)) = next.take() {
            for batch in self.gather.push(stream, batch)? {
                self.add(stream, batch)?;
            }
            if !self.gather.is_holding() {
                break;
            }
            match self.input.next().now_or_never() {
                Some(Some((stream, batch))) => next = Some((stream, batch?)),
                Some(None) => is_end = true,
                // No further batch is there now: held batches must not wait for one.
                None => {}
            }
        }
        for (stream, batch) in self.gather.flush()? {
            self.add(stream, batch)?;
        }
        self.counts.coalesced.add(self.gather.take_count());
        if is_end {
            self.outbox.end();
        }
        Ok(())
    }

    /// Finds the partition of each row of a batch, and adds the batch to the outbox.
    fn add(&mut self, stream: usize, batch: RecordBatch) -> Result<(), Error> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let mut counts = vec![0; self.partitions];
        let selection = match &self.kind {
            Kind::Shuffle(exprs, _) => {
                let start = cpu::now();
                let ids = partition_ids(exprs, &batch, self.partitions)?;
                self.counts.hashing.add_duration(cpu::now() - start);
                ids.iter().for_each(|id| counts[usize::from(*id)] += 1);
                Selection::from(ids)
            }
            Kind::Broadcast(consumers) => {
                let each = self.partitions / consumers;
                (0..*consumers).for_each(|consumer| counts[consumer * each + stream] = rows as u32);
                Selection::All
            }
        };
        // A batch that was read though there was no room must not wait in memory.
        let is_full = self.outbox.is_full();
        self.outbox.add(batch, selection, counts);
        // Later rows go behind those that lie on disk, before any are sent.
        self.overflow(false)?;
        if is_full {
            self.send()?;
            self.overflow(true)?;
        }
        Ok(())
    }

    /// Writes rows of the newest batch to disk: those of partitions that have rows there already, or of all.
    fn overflow(&mut self, all: bool) -> Result<(), Error> {
        let Some((newest, partitions)) = self.outbox.overflow(all) else { return Ok(()) };
        for partition in &partitions {
            self.spill.push(*partition, &newest.rows_of(*partition)?)?;
        }
        self.outbox.spilled(&partitions);
        Ok(())
    }

    /// Sends the rows that there is credit for.
    fn send(&mut self) -> Result<(), Error> {
        while let Some((index, partitions)) = self.outbox.next() {
            let is_local =
                |partition: &u16| matches!(self.ways[usize::from(*partition)], Some(Way::Local(_)));
            let (local, mut far): (Vec<u16>, Vec<u16>) = partitions.into_iter().partition(is_local);
            // Partitions of the other form have their turn next.
            let appended = far.first().is_some_and(|first| self.is_appended(*first));
            far.retain(|partition| self.is_appended(*partition) == appended);
            far.truncate(TOGETHER);
            if !far.is_empty() && !self.post(index, &far)? {
                far.clear();
                if local.is_empty() {
                    return Ok(());
                }
            }
            if !local.is_empty() {
                self.hand_over(index, &local)?;
            }
            let now: Vec<u16> = local.iter().chain(&far).copied().collect();
            self.outbox.posted(index, &now);
            // Rows that were handed over need no completion.
            local.iter().for_each(|partition| self.outbox.completed(*partition));
        }
        let is_full = self.outbox.has_waiting();
        if is_full && !self.was_full {
            self.counts.waits.add(1);
        }
        self.was_full = is_full;
        Ok(())
    }

    /// True if the consumer's card appends a partition's rows.
    fn is_appended(&self, partition: u16) -> bool {
        matches!(self.ways[usize::from(partition)], Some(Way::Card { appended: true, .. }))
    }

    /// Posts a batch's rows for these partitions, which are of one form. False: the queue has no room at present.
    fn post(&mut self, index: usize, partitions: &[u16]) -> Result<bool, Error> {
        let waiting = self.outbox.waiting(index);
        let mut to = Vec::with_capacity(partitions.len());
        for partition in partitions {
            let Some(Way::Card { pair, .. }) = &self.ways[usize::from(*partition)] else {
                unreachable!("an open partition that is not local has a queue pair")
            };
            to.push((*partition, pair.as_ref()));
        }
        let appended = self.is_appended(partitions[0]);
        let sender = match &mut self.appender {
            Some(appender) if appended => appender,
            _ => &mut self.sender,
        };
        let start = cpu::now();
        let (queue, batch) = (&mut self.queue, &waiting.batch);
        let sent = sender.send(queue, self.next, batch, &waiting.selection, &to);
        self.counts.posting.add_duration(cpu::now() - start);
        let sent = match sent {
            Ok(sent) => sent,
            Err(SendError::Post(
                source @ (PostError::QueueFull { .. } | PostError::CompletionQueueFull { .. }),
            )) => {
                return match self.posted.is_empty() {
                    true => Err(Error::TooLarge { rows: batch.num_rows(), source }),
                    false => Ok(false),
                };
            }
            Err(error) => return Err(error.into()),
        };
        let rows: u64 = sent.rows.iter().sum();
        self.counts.rows.add(rows as usize);
        self.counts.appended.add(if appended { rows as usize } else { 0 });
        let bytes = bytes_of(batch) as u64 * rows / batch.num_rows() as u64;
        self.counts.bytes.add(bytes as usize);
        self.site.count_sent(rows, bytes);
        self.counts.posts.add(sent.requests as usize);
        sent.copied.iter().for_each(|(why, bytes)| self.counts.copied(*why, *bytes));
        self.posted.insert(self.next, (sent.completions, partitions.to_vec()));
        self.next += 1;
        self.site.port.time().kick();
        Ok(true)
    }

    /// Hands rows over to tasks of the same worker.
    fn hand_over(&mut self, index: usize, partitions: &[u16]) -> Result<(), Error> {
        let waiting = self.outbox.waiting(index);
        for partition in partitions {
            let batch = waiting.rows_of(*partition)?;
            self.counts.local_rows.add(batch.num_rows());
            for batch in self.together.push(*partition, batch)? {
                self.give(*partition, batch);
            }
        }
        Ok(())
    }

    /// Hands over rows that were held to be put together with others: all if no more are read, and those of partitions
    /// that are sent no more before these are taken.
    fn hand_over_held(&mut self) -> Result<(), Error> {
        let all = !self.outbox.wants_more();
        for partition in self.together.partitions() {
            if (all || !self.outbox.has_credit(partition))
                && let Some(batch) = self.together.flush(partition)?
            {
                self.give(partition, batch);
            }
        }
        Ok(())
    }

    /// Gives a batch to the task of this worker that reads the partition.
    fn give(&self, partition: u16, batch: RecordBatch) {
        if let Some(Way::Local(local)) = &self.ways[usize::from(partition)] {
            self.counts.local_batches.add(1);
            // A consumer that is gone needs no rows.
            let _ = local.send((partition, batch));
        }
    }

    /// Takes completions, and handles those that end a request.
    fn complete(&mut self) -> Result<(), Error> {
        let completions: Vec<_> = self.cq.poll().collect();
        for completion in completions {
            let Some((left, partitions)) = self.posted.get_mut(&completion.wr_id) else { continue };
            if completion.status != Status::Success {
                let partition = partitions.get(usize::from(completion.destination)).copied();
                let peer = self.consumer_of(partition.unwrap_or_default());
                return Err(Error::Request { peer, status: completion.status });
            }
            *left -= 1;
            if *left == 0 {
                let (_, partitions) = self.posted.remove(&completion.wr_id).expect("it is there");
                partitions.iter().for_each(|partition| self.outbox.completed(*partition));
            }
        }
        Ok(())
    }

    /// Drops all but the queues, which are kept if all rows were sent and nothing is under way.
    fn dismiss(self) {
        let is_whole = self.outbox.is_done() && self.posted.is_empty() && !self.failed;
        let Self { site, queue, cq, .. } = self;
        match is_whole {
            true => site.kept.keep_send_queue((queue, cq)),
            // A queue goes before what it completes to.
            false => drop((queue, cq)),
        }
    }
}

/// Drops a producer, and its end when its files are gone. Its queues are kept for another task if it has sent all of
/// its rows.
///
/// Dropping the send queue waits until the card has done with it: a second, where a peer is silent. The runtime's
/// threads must be free for other work in that time, such as answering health checks.
async fn retire(producer: Producer, end: End) {
    let dropped = tokio::task::spawn_blocking(move || drop((producer.dismiss(), end))).await;
    // A cancelled task means that the runtime ends, too.
    if let Err(error) = dropped
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
