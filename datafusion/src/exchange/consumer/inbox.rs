//! What receives the rows of another worker's task: queue pairs, and slabs or columns that the card fills.

use datafusion::{
    arrow::{datatypes::SchemaRef, record_batch::RecordBatch},
    physical_plan::metrics::Count,
};
use drdma_arrow::{AppendReceiver, Form, ReceiveError, Receiver};
use libdrdma::{CompletionQueue, KeptRegionError, QueuePair};

use crate::{
    Error,
    exchange::{site::Site, together::ROWS},
    passage,
};

/// Segments of the memory that a partition's rows are appended in.
const SEGMENTS: usize = 4;
/// Messages of a segment, at least: while one segment is being read, others have room.
const LEAST_MESSAGES: usize = 2;

/// Receiving end of the rows from a task at another worker.
pub(super) struct Inbox {
    // The queue pairs go before the queues that they receive from.
    pub pairs: Vec<QueuePair<'static>>,
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
    pub fn new(
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

    pub fn is_appended(&self) -> bool {
        matches!(self.receivers, Receivers::Appended(..))
    }

    /// Closes the connections, over which all has come, and keeps what received it for another exchange.
    pub fn keep(self, site: &Site) {
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

    /// The next batch that was received, and its partition, counted from the first of the consumer's. Appended rows
    /// wait until they are a long batch, unless the partition takes short ones.
    pub fn poll(
        &mut self,
        takes_short: impl Fn(u16) -> bool,
    ) -> Result<Option<(u16, RecordBatch)>, Error> {
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
                    let receiver = &mut receivers[partition];
                    let polled = match takes_short(partition as u16) {
                        true => receiver.poll(),
                        false => receiver.poll_whole(),
                    };
                    if let Some(batch) = polled? {
                        *first = (partition + 1) % count;
                        return Ok(Some((partition as u16, batch)));
                    }
                }
                Ok(None)
            }
        }
    }

    /// True if rows of a partition have arrived that were not taken.
    pub fn holds(&self, partition: u16) -> bool {
        match &self.receivers {
            Receivers::Batches(_) => false,
            Receivers::Appended(receivers, _) => receivers[usize::from(partition)].has_rows(),
        }
    }

    /// The completion queues of what is received.
    pub fn completions(&self) -> Vec<CompletionQueue> {
        match &self.receivers {
            Receivers::Batches(receiver) => vec![receiver.completions().clone()],
            Receivers::Appended(receivers, _) => {
                receivers.iter().map(|receiver| receiver.completions().clone()).collect()
            }
        }
    }

    pub fn copied_bytes(&self) -> u64 {
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
    let make = || AppendReceiver::new(format.clone(), &site.pd, SEGMENTS, messages, ROWS);
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
