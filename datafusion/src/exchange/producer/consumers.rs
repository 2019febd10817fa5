//! The consumers of a producer: opening an exchange with them, and what they send.

use datafusion::arrow::{datatypes::SchemaRef, ipc::writer::StreamWriter};
use drdma_arrow::Form;
use libdrdma::QueuePair;
use tokio::sync::mpsc::UnboundedSender;

use super::{Producer, Way};
use crate::{
    Error,
    exchange::{
        control::{Address, ToConsumer, ToProducer},
        outbox::Over,
    },
    passage,
};

/// Event that a producer has to handle.
pub(crate) enum Event {
    /// A consumer has opened its partitions.
    Opened {
        start: usize,
        end: usize,
        partitions: usize,
        /// Number of the consumer's worker, and the consumer's name for the exchange.
        from: (usize, u64),
        replies: UnboundedSender<ToConsumer>,
        /// Number of the consumer, which comes with its later messages.
        consumer: u64,
    },
    /// A consumer has sent a message.
    Said { consumer: u64, message: ToProducer },
    /// A consumer's connection is closed.
    Gone { consumer: u64 },
}

/// A consumer that has opened its partitions.
pub(super) struct Consumer {
    start: u16,
    count: u16,
    worker: usize,
    pub(super) replies: UnboundedSender<ToConsumer>,
    /// Queue pairs that are not connected yet.
    pairs: Vec<QueuePair<'static>>,
    /// Partitions that are not over.
    left: u16,
}

impl Producer {
    /// Handles an event.
    pub(super) fn happened(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Opened { start, end, partitions, from, replies, consumer } => {
                self.opened(consumer, (start, end, partitions), from, replies)
            }
            Event::Said { consumer, message } => self.said(consumer, message),
            Event::Gone { consumer } => match self.consumers.remove(&consumer) {
                Some(gone) if gone.left > 0 => {
                    let (stage, task) = self.task;
                    Err(Error::Gone { peer: self.site.name_of(gone.worker), stage, task })
                }
                _ => Ok(()),
            },
        }
    }

    fn opened(
        &mut self,
        number: u64,
        (start, end, partitions): (usize, usize, usize),
        (worker, name): (usize, u64),
        replies: UnboundedSender<ToConsumer>,
    ) -> Result<(), Error> {
        let taken = self.ways.get(start..end).is_none_or(|ways| ways.iter().any(Option::is_some));
        if partitions != self.partitions || start >= end || taken {
            let what = format!(
                "partitions {start}..{end} of {partitions} are asked for: there are {}, each to be asked for once",
                self.partitions
            );
            return Err(Error::Protocol { peer: self.site.name_of(worker), what });
        }
        let (mut pairs, mut address) = (Vec::new(), None);
        if worker == self.site.number {
            let Some(local) = self.site.take_local(name) else {
                let what = format!("exchange {name} of the worker itself is not there");
                return Err(Error::Protocol { peer: self.site.name_of(worker), what });
            };
            for partition in start..end {
                self.ways[partition] = Some(Way::Local(local.clone()));
                self.outbox.open(partition as u16);
            }
        } else {
            for _ in start..end {
                pairs.push(self.site.queue_pair(None)?);
            }
            address = Some(self.site.address(&pairs));
        }
        let schema = ipc_schema(&self.schema)?;
        let message_bytes = passage::MESSAGE_BYTES;
        let may_append = self.appender.is_some();
        let kinds = self.sender.format().form() == Form::Kinds;
        let accept = ToConsumer::Accept { schema, message_bytes, address, may_append, kinds };
        let _ = replies.send(accept);
        let count = (end - start) as u16;
        let consumer = Consumer { start: start as u16, count, worker, replies, pairs, left: count };
        self.consumers.insert(number, consumer);
        Ok(())
    }

    fn said(&mut self, number: u64, message: ToProducer) -> Result<(), Error> {
        let Some(consumer) = self.consumers.get_mut(&number) else { return Ok(()) };
        let peer = self.site.name_of(consumer.worker);
        let (start, count) = (consumer.start, consumer.count);
        let wrong = |what: String| Error::Protocol { peer: peer.clone(), what };
        let partition = |partition: u16| match partition < count {
            true => Ok(start + partition),
            false => Err(wrong(format!("partition {partition} of {count}"))),
        };
        match message {
            ToProducer::Open { .. } => Err(wrong("it opens a second exchange".into())),
            ToProducer::Status | ToProducer::Identify => {
                Err(wrong(format!("{message:?} is no part of an exchange")))
            }
            ToProducer::Connect { appended: true, .. } if self.appender.is_none() => {
                Err(wrong("its card is to append rows that cannot be".into()))
            }
            ToProducer::Connect { address, appended } => {
                let mut pairs = std::mem::take(&mut consumer.pairs);
                self.connect(start, &mut pairs, (&address, appended), &peer)
            }
            ToProducer::Credit { partition: of, rows } => {
                match self.outbox.credit(partition(of)?, rows) {
                    true => Ok(()),
                    false => Err(wrong(format!("credit for {rows} rows that it has not got"))),
                }
            }
            ToProducer::Close { partition: of } => {
                let partition = partition(of)?;
                self.outbox.close(partition);
                self.spill.forget(partition);
                self.together.forget(partition);
                Ok(())
            }
        }
    }

    fn connect(
        &mut self,
        start: u16,
        pairs: &mut Vec<QueuePair<'static>>,
        (address, appended): (&Address, bool),
        peer: &str,
    ) -> Result<(), Error> {
        self.site.connect(pairs, address, peer)?;
        for (partition, pair) in (start..).zip(pairs.drain(..)) {
            let way = Way::Card { pair: Box::new(pair), appended };
            self.ways[usize::from(partition)] = Some(way);
            self.outbox.open(partition);
        }
        Ok(())
    }

    /// Name of the worker that has a partition, for errors.
    pub(super) fn consumer_of(&self, partition: u16) -> String {
        let is_its = |of: &&Consumer| (of.start..of.start + of.count).contains(&partition);
        let consumer = self.consumers.values().find(is_its);
        consumer.map_or_else(|| "a worker".into(), |of| self.site.name_of(of.worker))
    }

    /// Sends consumers the ends of those of their partitions that are over.
    pub(super) fn tell(&mut self) {
        for over in self.outbox.over() {
            let (Over::End { partition, .. } | Over::Closed { partition }) = over;
            let is_its = |of: &&mut Consumer| (of.start..of.start + of.count).contains(&partition);
            let Some(consumer) = self.consumers.values_mut().find(is_its) else { continue };
            consumer.left -= 1;
            let partition = partition - consumer.start;
            let _ = consumer.replies.send(match over {
                Over::End { rows, .. } => ToConsumer::End { partition, rows },
                Over::Closed { .. } => ToConsumer::Closed { partition },
            });
        }
    }
}

/// A schema as an Arrow IPC stream without a batch.
fn ipc_schema(schema: &SchemaRef) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    StreamWriter::try_new(&mut bytes, schema)?.finish()?;
    Ok(bytes)
}
