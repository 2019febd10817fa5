//! Receiving rows that the card puts into columns.
#![allow(unsafe_code)]

use std::{
    collections::VecDeque,
    panic::{RefUnwindSafe, UnwindSafe},
    ptr::NonNull,
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use libdrdma::{
    Access, AppendRegion, CompletionQueue, DmaMemory, PostError, ProtectionDomain, ReceiveRequest,
    SharedReceiveQueue, Status, WorkCompletion,
};

use crate::{DecodeError, Form, Format, ReceiveError, decode};

/// Completions that are taken at a time: the card is informed once that there is room again.
const BURST: usize = 32;
/// Messages of all segments together, at most: each has a receive.
const MAX_MESSAGES: usize = 1 << 15;
/// Alignment of columns in their memory: a cache line, and enough for every type of Arrow's.
const ALIGNMENT: usize = 64;
/// Pages that memory is cut into ([`DmaMemory::part`]).
const PAGE: usize = 4096;

/// Receives rows of one stream that its card puts into columns ([`Form::Appended`]), and gives them as batches. No
/// processor touches a row.
///
/// Its memory is cut into *segments*: columns with room for a number of messages, an append region each. Receives are
/// posted for whole segments, in turns. Rows lie in their segment as long as an array does, and a segment is filled
/// again when none does. Half of the segments are always posted, or waiting to be: rows that arrive when the other half
/// has arrays in use are copied to memory of their own. So arrays that are long in use do not keep rows from arriving.
///
/// Rows that lie behind each other come in batches of the same number of rows, whatever messages they came in. Those of
/// different queue pairs are mixed then, each one's in their order. While a message of several packets arrives on one
/// queue pair, messages on others wait for a pause of the sender's (`min_rnr_timer`): a receiver should have one queue
/// pair, or messages of one packet.
#[derive(Debug)]
pub struct AppendReceiver {
    format: Format,
    // The queue goes before the regions, and these before the memory.
    queue: SharedReceiveQueue<'static>,
    completions: CompletionQueue,
    segments: Vec<Segment>,
    /// The segment to post next.
    next: usize,
    /// Messages of a segment, and rows of the longest message.
    messages: usize,
    message_rows: u32,
    /// Rows of a batch, at most.
    batch_rows: u32,
    /// Completions that were taken from the queue and not handled yet.
    taken: VecDeque<WorkCompletion>,
    /// Rows that arrived, and are in no batch yet.
    runs: VecDeque<Run>,
    copied: u64,
    /// A message was wrong or failed.
    failed: bool,
}

/// Consecutive rows of a segment.
#[derive(Clone, Copy, Debug)]
struct Run {
    segment: usize,
    first: u32,
    rows: u32,
}

impl Run {
    /// The row behind the last one.
    fn end(&self) -> u32 {
        self.first + self.rows
    }
}

/// An append region and its memory.
#[derive(Debug)]
struct Segment {
    region: AppendRegion<'static>,
    columns: Arc<Columns>,
    /// Receives of the segment that have not completed.
    posted: usize,
    /// Rows that arrived since the segment was posted.
    rows: u32,
}

/// The memory of a segment, which arrays share.
#[derive(Debug)]
struct Columns {
    memory: DmaMemory,
    /// Of each column: its offset in the memory, and the bytes of a value.
    places: Vec<(usize, usize)>,
}

// No code sees a partly changed `Columns` after a panic.
impl RefUnwindSafe for Columns {}
impl UnwindSafe for Columns {}

impl Columns {
    fn start(&self, column: usize, row: u32) -> (*mut u8, usize) {
        let (start, width) = self.places[column];
        let at = self.memory.offset() + start + row as usize * width;
        (self.memory.as_ptr().wrapping_add(at), width)
    }
}

impl Segment {
    /// True if the card writes nothing to it and no array lies in it. Earlier reads come before later writes.
    fn is_free(&mut self) -> bool {
        self.posted == 0 && Arc::get_mut(&mut self.columns).is_some()
    }

    /// True if arrays lie in its memory.
    fn is_lent(&self) -> bool {
        Arc::strong_count(&self.columns) > 1
    }
}

impl AppendReceiver {
    /// Makes a receiver with this number of segments, and of messages a segment. Rows that lie behind each other come
    /// in batches of up to `batch_rows`, at least 1. As long as no receive is posted messages wait, and their sender
    /// tries again.
    ///
    /// # Errors
    /// A format of another form, fewer than 2 segments, no messages or more than 32,768 of all segments, no memory, no
    /// free key, append region or queue, a card without append regions, or the card failed.
    pub fn new(
        format: Format,
        pd: &ProtectionDomain,
        segments: usize,
        messages: usize,
        batch_rows: usize,
    ) -> Result<Self, ReceiveError> {
        if format.form() != Form::Appended {
            let (receiver, form) = ("an AppendReceiver", format.form());
            return Err(ReceiveError::Form { receiver, form });
        }
        let count = segments.checked_mul(messages).filter(|count| *count <= MAX_MESSAGES);
        let Some(count) = count.filter(|_| segments >= 2 && messages > 0) else {
            return Err(ReceiveError::Segments { segments, messages, limit: MAX_MESSAGES });
        };
        let completions = pd.context().completion_queue().entries(count as u32).build()?;
        let queue = pd.shared_receive_queue(&completions).blocks(count as u32).build()?;
        let segments = make_segments(&format, pd, segments, messages)?;
        let message_rows = format.rows_per_message(&format.appended_columns()) as u32;
        let batch_rows = u32::try_from(batch_rows).unwrap_or(u32::MAX).max(1);
        let (taken, runs) = (VecDeque::with_capacity(BURST), VecDeque::new());
        let mut receiver = Self {
            format,
            queue,
            completions,
            segments,
            next: 0,
            messages,
            message_rows,
            batch_rows,
            taken,
            runs,
            copied: 0,
            failed: false,
        };
        receiver.post()?;
        Ok(receiver)
    }

    /// The format of the received batches.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The queue that queue pairs are made with which receive rows
    /// ([`QueuePairBuilder::shared_receive_queue`](libdrdma::QueuePairBuilder::shared_receive_queue)): of transport RC,
    /// and nothing but batches of the format is sent to them.
    pub fn queue(&self) -> &SharedReceiveQueue<'static> {
        &self.queue
    }

    /// The queue of the receives' completions, for those who wait until there is something to [`poll`](Self::poll).
    pub fn completions(&self) -> &CompletionQueue {
        &self.completions
    }

    /// Bytes that were copied so far: rows that arrived when half of the segments were in use, and bits of validity and
    /// of booleans, which arrive as bytes.
    pub fn copied_bytes(&self) -> u64 {
        self.copied
    }

    /// Messages for which there are receives.
    pub fn posted(&self) -> usize {
        self.segments.iter().map(|segment| segment.posted).sum()
    }

    /// Begins anew, with rows of the same format, in the same memory: connections that were made before are closed, and
    /// others are made with the same [`queue`](Self::queue). What was received stays as it is.
    ///
    /// Returns false, and changes nothing, if the receiver is not as good as a new one: rows have come that nobody has
    /// taken, a message was wrong or failed, or the format is another one. Such a receiver should be dropped.
    #[must_use = "a receiver that did not begin anew is of no use"]
    pub fn begin_anew(&mut self, format: &Format) -> bool {
        let something_waits = !self.taken.is_empty()
            || !self.runs.is_empty()
            || self.completions.may_have_completion();
        if self.failed || something_waits || format.fingerprint != self.format.fingerprint {
            return false;
        }
        self.format = format.clone();
        self.copied = 0;
        true
    }

    /// Takes rows that have arrived as a batch. It does not wait: `None` if there are none.
    ///
    /// # Errors
    /// A message failed, is of another format or has more rows than its messages can have, or the card failed. Rows
    /// that came before it are kept for the next call. A message with too many rows has taken the room of others, which
    /// may then wait for ever: connections on which such messages come should be closed.
    pub fn poll(&mut self) -> Result<Option<RecordBatch>, ReceiveError> {
        self.take_completions()?;
        self.runs.pop_front().map(|run| self.batch(run)).transpose()
    }

    /// Takes rows that have arrived as a batch, but only if no more rows can come into it: it has `batch_rows` rows, or
    /// later ones lie elsewhere. Operators that take some time for each batch, however short, get long ones so. Rows
    /// that are left take the room of others: [`poll`](Self::poll) takes them, at the latest when no more come.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn poll_whole(&mut self) -> Result<Option<RecordBatch>, ReceiveError> {
        self.take_completions()?;
        let is_whole =
            self.runs.len() > 1 || self.runs.front().is_some_and(|run| run.rows == self.batch_rows);
        if !is_whole {
            return Ok(None);
        }
        self.runs.pop_front().map(|run| self.batch(run)).transpose()
    }

    /// True if there are rows that [`poll_whole`](Self::poll_whole) has left.
    pub fn has_rows(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Takes completions until the first batch is whole, or there are no more.
    fn take_completions(&mut self) -> Result<(), ReceiveError> {
        while self.runs.len() < 2 && self.runs.front().is_none_or(|run| run.rows < self.batch_rows)
        {
            if self.taken.is_empty() {
                self.post()?;
                self.taken.extend(self.completions.poll().take(BURST));
            }
            let Some(completion) = self.taken.pop_front() else { break };
            let arrived = self.arrived(&completion);
            self.failed |= arrived.is_err();
            arrived?;
        }
        Ok(())
    }

    /// Posts receives for segments that nothing lies in, in turns.
    fn post(&mut self) -> Result<(), ReceiveError> {
        for _ in 0..self.segments.len() {
            let segment = &mut self.segments[self.next];
            let is_read = self.runs.iter().any(|run| run.segment == self.next);
            if is_read || !segment.is_free() {
                // A later one may be free: arrays are dropped in any order.
                self.next = (self.next + 1) % self.segments.len();
                continue;
            }
            if segment.rows > 0 {
                segment.region.give_back(segment.rows)?;
                segment.rows = 0;
            }
            let requests = (0..self.messages)
                .map(|_| ReceiveRequest::new(self.next as u64).append(&segment.region));
            let (posted, result) = self.queue.post_recv_list(requests);
            segment.posted += posted;
            match result {
                // Places in the queue are free in the order of the receives. Until then the segment has fewer messages.
                Err(PostError::ReceiveQueueFull { .. }) if posted > 0 => {}
                Err(PostError::ReceiveQueueFull { .. }) => return Ok(()),
                result => result?,
            }
            self.next = (self.next + 1) % self.segments.len();
        }
        Ok(())
    }

    /// Records the rows of a completed message.
    fn arrived(&mut self, completion: &WorkCompletion) -> Result<(), ReceiveError> {
        let number = completion.wr_id as usize;
        let segment = &mut self.segments[number];
        segment.posted -= 1;
        let (qp, status) = (completion.qp, completion.status);
        let (Status::Success, Some(rows)) = (status, completion.rows) else {
            return Err(ReceiveError::Append { qp, status });
        };
        segment.rows += rows.count;
        let (theirs, ours) = (completion.imm, self.format.tag());
        if theirs != Some(ours) {
            let source = DecodeError::OtherTag { theirs, ours };
            return Err(ReceiveError::Decode { qp: qp.unwrap_or_default(), source });
        }
        if rows.count > self.message_rows {
            let (rows, limit) = (rows.count, self.message_rows);
            return Err(ReceiveError::LongMessage { qp: qp.unwrap_or_default(), rows, limit });
        }
        for range in segment.region.ranges(rows) {
            let mut first = range.start;
            while first < range.end {
                let left = range.end - first;
                let run = self.runs.back_mut().filter(|run| {
                    run.segment == number && run.end() == first && run.rows < self.batch_rows
                });
                first += match run {
                    Some(run) => {
                        let more = left.min(self.batch_rows - run.rows);
                        run.rows += more;
                        more
                    }
                    None => {
                        let rows = left.min(self.batch_rows);
                        self.runs.push_back(Run { segment: number, first, rows });
                        rows
                    }
                };
            }
        }
        Ok(())
    }

    /// The batch of a run.
    fn batch(&mut self, run: Run) -> Result<RecordBatch, ReceiveError> {
        let lent = self.segments.iter().filter(|segment| segment.is_lent()).count();
        let segment = &self.segments[run.segment];
        let is_copied = !segment.is_lent() && lent + 1 > self.segments.len() / 2;
        let columns = &segment.columns;
        let parts = (0..columns.places.len()).map(|column| {
            let (start, width) = columns.start(column, run.first);
            let (start, len) = (NonNull::new(start).expect("memory"), run.rows as usize * width);
            // SAFETY: the bytes are initialised, and there as long as the columns, which the buffer keeps. They are
            // those of rows that a completion told, so that the card does not write to them before the rows are given
            // back, which is when nobody else has the columns; and peers have no right to.
            let lies = unsafe { Buffer::from_custom_allocation(start, len, columns.clone()) };
            if !is_copied {
                return lies;
            }
            let mut copy = MutableBuffer::with_capacity(len);
            copy.extend_from_slice(&lies);
            copy.into()
        });
        let parts: Vec<Buffer> = parts.collect();
        if is_copied {
            self.copied += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        }
        let batch = decode::appended(&self.format, run.rows, parts, &mut self.copied);
        batch.map_err(ReceiveError::Appended)
    }
}

/// Makes `segments` segments with room for `messages` messages each.
fn make_segments(
    format: &Format,
    pd: &ProtectionDomain,
    count: usize,
    messages: usize,
) -> Result<Vec<Segment>, ReceiveError> {
    let columns = format.appended_columns();
    let rows = (format.rows_per_message(&columns) as u64).saturating_mul(messages as u64);
    let capacity = u32::try_from(rows).map_err(|_| ReceiveError::LongSegment { rows })?;
    let mut places = Vec::with_capacity(columns.len());
    let mut bytes = 0_usize;
    for column in columns {
        let width = format.layout.columns[column].width;
        places.push((bytes, width));
        let column = width.saturating_mul(rows as usize);
        bytes = bytes.saturating_add(column).saturating_add(ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    }
    // One memory for all segments: large pages, where the host has some.
    let stride = bytes.max(1).saturating_add(PAGE - 1) / PAGE * PAGE;
    let all = stride.saturating_mul(count);
    let allocation = |source| ReceiveError::Allocation { bytes: all, source };
    let memory = DmaMemory::new(all).map_err(allocation)?;
    let segment = |number: usize| {
        let memory = memory.part(number * stride, stride).expect("whole pages of the memory");
        let region = Arc::new(pd.register_with(memory.clone(), Access::LOCAL_WRITE)?);
        let mut append = pd.append_region().capacity(capacity);
        for (start, width) in &places {
            append = append.column(&region, *start as u64, *width as u32);
        }
        let columns = Arc::new(Columns { memory, places: places.clone() });
        Ok(Segment { region: append.build()?, columns, posted: 0, rows: 0 })
    };
    (0..count).map(segment).collect()
}
