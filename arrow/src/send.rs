//! Sending batches.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use libdrdma::{
    Destination, PartitionDestination, PartitionedWorkRequest, PostError, ProtectionDomain,
    QueuePair, SharedOperation, SharedPostGuard, SharedSendQueue, SharedWorkRequest, Transport,
};

use crate::{
    Arena, Foreign, Form, Format, Plan, Selection, SendError, Why,
    copy::Copier,
    header::Header,
    parts::Parts,
    plan::plan,
    posts::{Post, Posts},
    selection::{Shares, Targets},
};

/// Destinations of a request, at most.
const MAX_DESTINATIONS: usize = 256;

/// Sends batches of one format: each row to the destination that its partition id or bit says.
///
/// What the card can read where it lies is not copied; [`plan`](Self::plan) says what is. Buffers that a
/// request reads are kept until it has completed, and are then free again.
#[derive(Debug)]
pub struct Sender {
    format: Format,
    pd: ProtectionDomain,
    arena: Arena,
    foreign: Foreign,
    /// State of each queue pair's peer, by the queue pair's index.
    streams: HashMap<u32, Stream>,
    /// Bytes of validity for columns without nulls, where each batch has them.
    ones: Option<Buffer>,
}

/// What was sent to one receiver so far.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Number of batches that were sent.
    batches: u64,
    /// The values of each dictionary, as they were sent last.
    dictionaries: Vec<Option<ArrayRef>>,
}

/// Result of posting a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "its completions must be waited for"]
pub struct Sent {
    /// Rows that each destination gets.
    pub rows: Vec<u64>,
    /// Completions that follow, all under the name that was given: the batch has left when the last one came.
    /// 0 if no destination gets a row.
    pub completions: u32,
    /// Requests that were posted.
    pub requests: u32,
    /// Bytes that were copied, by the reason.
    pub copied: BTreeMap<Why, u64>,
}

impl Sent {
    /// Bytes that were copied in all.
    pub fn copied_bytes(&self) -> u64 {
        self.copied.values().sum()
    }
}

impl Sender {
    /// A sender that copies what it must copy to `arena`.
    pub fn new(format: Format, pd: &ProtectionDomain, arena: &Arena, foreign: Foreign) -> Self {
        Self { format, pd: pd.clone(), arena: *arena, foreign, streams: HashMap::new(), ones: None }
    }

    /// The format of its batches.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// How each part of a batch would get on the wire. Nothing is copied, registered or sent.
    ///
    /// # Errors
    /// A batch of another schema, or a card that does not send the format's form.
    pub fn plan(&self, batch: &RecordBatch) -> Result<Plan, SendError> {
        self.check(batch)?;
        let parts = Parts::of(&self.format.layout, batch)?;
        Ok(plan(&self.format, &parts, &self.pd, self.foreign))
    }

    /// What was sent to that queue pair's peer is forgotten: it was connected anew. The receiver must forget
    /// it as well ([`Receiver::forget`](crate::Receiver::forget)).
    pub fn forget(&mut self, queue_pair: u32) {
        self.streams.remove(&queue_pair);
    }

    /// Posts a batch: to each of the destinations, a partition and its queue pair, the rows of its partition
    /// in their order. Destinations that get no row get no message. A destination that is left out (for
    /// want of credit, say) can get its rows later, from the same batch and selection.
    ///
    /// The queue pairs are of transport RC, and nothing else is sent on them. The requests complete under
    /// `wr_id`, [`Sent::completions`] times; after a failure, connect the queue pair anew and
    /// [`forget`](Self::forget) it.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is posted then.
    pub fn send<'m>(
        &mut self,
        queue: &mut SharedSendQueue<'m>,
        wr_id: u64,
        batch: &RecordBatch,
        selection: &Selection,
        to: &[(u16, &QueuePair<'_>)],
    ) -> Result<Sent, SendError> {
        self.check(batch)?;
        check_destinations(to)?;
        let layout = self.format.layout.clone();
        let parts = Parts::of(&layout, batch)?;
        let partitions = to.iter().map(|(partition, _)| *partition).collect();
        let targets = Targets::new(selection, partitions)?;
        let mut copier = Copier::new(self.arena);
        let mut shares = Shares::new(&parts, selection, &targets, &mut copier)?;
        let fresh = self.fresh(&parts, &mut shares, to);
        let headers = self.headers(&parts, &shares, &fresh, to);
        let posts = Posts {
            format: &self.format,
            pd: &self.pd,
            foreign: self.foreign,
            parts: &parts,
            shares: &shares,
            targets: &targets,
            copier: &mut copier,
            ones: &mut self.ones,
        };
        let posts = posts.of_batch(headers)?;
        let mut guard = queue.batch();
        let operation = match self.format.form() {
            Form::Appended => SharedOperation::SendImm(self.format.tag()),
            _ => SharedOperation::Send,
        };
        let completions = stage(&mut guard, (wr_id, operation), &posts, to)?;
        guard.submit()?;
        self.note(&parts, &shares, &fresh, to);
        let requests = posts.len() as u32;
        Ok(Sent {
            rows: shares.rows.swap_remove(0),
            completions,
            requests,
            copied: copier.into_copied(),
        })
    }

    fn check(&self, batch: &RecordBatch) -> Result<(), SendError> {
        let missing = Form::NEEDS - self.pd.context().features();
        if self.format.layout.kinds && !missing.is_empty() {
            return Err(SendError::Form { missing });
        }
        let fields = self.format.schema().fields();
        if fields.len() != batch.num_columns() {
            let (given, expected) = (batch.num_columns(), fields.len());
            return Err(SendError::Columns { given, expected });
        }
        for (column, (field, array)) in fields.iter().zip(batch.columns()).enumerate() {
            if field.data_type() != array.data_type() {
                let (given, expected) = (array.data_type().clone(), field.data_type().clone());
                return Err(SendError::OtherType { column, given, expected });
            }
            let nulls = array.null_count();
            if nulls > 0 && !field.is_nullable() {
                return Err(SendError::Nulls { column, nulls });
            }
        }
        Ok(())
    }

    /// For each dictionary and destination: whether the destination gets the dictionary's values. It does not get
    /// again those that it has: the level of such values has no rows.
    fn fresh(
        &self,
        parts: &Parts,
        shares: &mut Shares,
        to: &[(u16, &QueuePair<'_>)],
    ) -> Vec<Vec<bool>> {
        let layout = &self.format.layout;
        let mut fresh = Vec::with_capacity(parts.dictionaries.len());
        for (number, (values, level)) in
            parts.dictionaries.iter().zip(&layout.dictionaries).enumerate()
        {
            let wanted = |destination: usize| {
                let stream = self.streams.get(&to[destination].1.index());
                let had = stream.and_then(|stream| stream.dictionaries[number].as_ref());
                let is_had = had.is_some_and(|had| is_same(had, values));
                shares.rows[*level][destination] > 0 && !is_had
            };
            let wanted: Vec<bool> = (0..to.len()).map(wanted).collect();
            for (level, rows) in layout.levels.iter().zip(&mut shares.rows) {
                if level.dictionary == Some(number) {
                    let kept = rows.iter_mut().zip(&wanted).filter(|(_, wanted)| !**wanted);
                    kept.for_each(|(rows, _)| *rows = 0);
                }
            }
            fresh.push(wanted);
        }
        fresh
    }

    /// The headers, but for the bytes of byte columns, which are known when they are put together. Rows that are
    /// appended have none.
    fn headers(
        &self,
        parts: &Parts,
        shares: &Shares,
        fresh: &[Vec<bool>],
        to: &[(u16, &QueuePair<'_>)],
    ) -> Vec<Header> {
        if self.format.layout.appended {
            return Vec::new();
        }
        let present: Vec<bool> = parts.columns.iter().map(Option::is_some).collect();
        let header = |(destination, (_, pair)): (usize, &(u16, &QueuePair<'_>))| Header {
            sequence: self.streams.get(&pair.index()).map_or(0, |stream| stream.batches),
            rows: shares.rows.iter().map(|rows| rows[destination]).collect(),
            bytes: vec![0; parts.bytes.len()],
            present: present.clone(),
            fresh: fresh.iter().map(|fresh| fresh[destination]).collect(),
        };
        to.iter().enumerate().map(header).collect()
    }

    /// Records in the streams what was posted, and so what the receivers will have.
    fn note(
        &mut self,
        parts: &Parts,
        shares: &Shares,
        fresh: &[Vec<bool>],
        to: &[(u16, &QueuePair<'_>)],
    ) {
        for (destination, (_, pair)) in to.iter().enumerate() {
            if shares.rows[0][destination] == 0 {
                continue;
            }
            let stream = self.streams.entry(pair.index()).or_default();
            stream.batches += 1;
            stream.dictionaries.resize(parts.dictionaries.len(), None);
            for (number, values) in parts.dictionaries.iter().enumerate() {
                if fresh[number][destination] {
                    stream.dictionaries[number] = Some(values.clone());
                }
            }
        }
    }
}

/// True if the arrays have the same memory.
fn is_same(one: &ArrayRef, other: &ArrayRef) -> bool {
    Arc::ptr_eq(one, other) || one.to_data().ptr_eq(&other.to_data())
}

fn check_destinations(to: &[(u16, &QueuePair<'_>)]) -> Result<(), SendError> {
    if to.len() > MAX_DESTINATIONS {
        return Err(SendError::Destinations { given: to.len(), limit: MAX_DESTINATIONS });
    }
    let mut seen = HashMap::with_capacity(to.len());
    for (destination, (_, pair)) in to.iter().enumerate() {
        if let Some(other) = seen.insert(pair.index(), destination) {
            return Err(SendError::QueuePairTwice { destination, other });
        }
        let transport = pair.transport();
        if transport != Transport::Rc {
            return Err(SendError::Transport { destination, transport });
        }
    }
    Ok(())
}

/// Writes the requests to the queue. Only the last one is signaled, and those that must be. Returns the number of
/// signaled ones.
fn stage(
    guard: &mut SharedPostGuard<'_, '_>,
    head: (u64, SharedOperation),
    posts: &[Post],
    to: &[(u16, &QueuePair<'_>)],
) -> Result<u32, PostError> {
    let mut signaled = 0;
    for (i, post) in posts.iter().enumerate() {
        let is_last = i + 1 == posts.len();
        let mut posted = stage_one(guard, head, post, to, is_last);
        let mut is_signaled = is_last;
        if let Err(PostError::SignalDue { .. }) = posted {
            posted = stage_one(guard, head, post, to, true);
            is_signaled = true;
        }
        posted?;
        signaled += u32::from(is_signaled);
    }
    Ok(signaled)
}

fn stage_one(
    guard: &mut SharedPostGuard<'_, '_>,
    (wr_id, operation): (u64, SharedOperation),
    post: &Post,
    to: &[(u16, &QueuePair<'_>)],
    signaled: bool,
) -> Result<(), PostError> {
    match post {
        Post::Shared { shares, row_mask, messages } => {
            let destinations: Vec<_> = shares
                .iter()
                .map(|(index, regions)| {
                    let to = Destination::new(to[*index].1).message_layout(messages.layout);
                    to.regions(regions)
                })
                .collect();
            let request = SharedWorkRequest::new(wr_id)
                .operation(operation)
                .row_mask(*row_mask)
                .rows_per_message(messages.rows)
                .destinations(&destinations);
            guard.post_ssq_send(&if signaled { request } else { request.unsignaled() })
        }
        Post::Ids { region, destinations, messages } => {
            let destinations: Vec<_> = destinations
                .iter()
                .map(|index| {
                    let to = PartitionDestination::new(to[*index].1, to[*index].0 as u8);
                    to.message_layout(messages.layout)
                })
                .collect();
            let request = PartitionedWorkRequest::new(wr_id, region)
                .operation(operation)
                .rows_per_message(messages.rows)
                .destinations(&destinations);
            guard.post_ssq_send(&if signaled { request } else { request.unsignaled() })
        }
        Post::WideIds { region, destinations, messages } => {
            let destinations: Vec<_> = destinations
                .iter()
                .map(|index| {
                    let to = PartitionDestination::new(to[*index].1, to[*index].0);
                    to.message_layout(messages.layout)
                })
                .collect();
            let request = PartitionedWorkRequest::new(wr_id, region)
                .operation(operation)
                .rows_per_message(messages.rows)
                .destinations(&destinations);
            guard.post_ssq_send(&if signaled { request } else { request.unsignaled() })
        }
    }
}
