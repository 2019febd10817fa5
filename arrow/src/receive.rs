//! Receiving batches.
#![allow(unsafe_code)]

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use libdrdma::{
    CompletionQueue, PostError, ProtectionDomain, ReceiveRequest, SharedReceiveQueue, Status,
    WorkCompletion,
};

use crate::{Form, Format, ReceiveError, decode::Stream, slabs::Slabs};

/// Completions that are taken at a time: the card is informed once that there is room again.
const BURST: usize = 32;
/// Slabs of a receiver, at most.
const MAX_SLABS: usize = 1 << 15;

/// Receives batches of one format, from any number of queue pairs.
///
/// It has slabs, each as long as the longest message, which it posts to a shared receive queue of its own.
/// Where a message has values of one column the received array lies in the slab, which is used again when
/// the array is dropped. Half of the slabs are always posted, or waiting to be: what arrives when the other
/// half is in use is copied to memory of its own. So neither batches that are incomplete for long nor arrays
/// that are long in use keep others from arriving.
#[derive(Debug)]
pub struct Receiver {
    format: Format,
    // The queues go before the memory.
    queue: SharedReceiveQueue<'static>,
    completions: CompletionQueue,
    slabs: Arc<Slabs>,
    count: usize,
    posted: usize,
    /// Completions that were taken from the queue and not handled yet; their slabs count as posted.
    taken: VecDeque<WorkCompletion>,
    /// Scratch list of the slabs that are being posted.
    free: Vec<usize>,
    /// Slabs that may still be written to, and are not used again.
    lost: usize,
    /// Stream of each queue pair, by its index. `None`: its messages are no batches.
    streams: HashMap<u32, Option<Stream>>,
    copied: u64,
}

/// A batch that was received.
#[derive(Clone, Debug)]
pub struct Received {
    /// The index of the queue pair that it came on ([`QueuePair::index`](libdrdma::QueuePair::index)).
    pub qp: u32,
    /// The batch.
    pub batch: RecordBatch,
}

impl Receiver {
    /// Makes a receiver with this many slabs. As long as no receive is posted messages wait, and their sender tries
    /// again.
    ///
    /// # Errors
    /// A format of [`Form::Appended`], a number of slabs outside 2 to 32,768, no memory, no free key or queue, a card
    /// that only sends, or the card failed.
    pub fn new(format: Format, pd: &ProtectionDomain, slabs: usize) -> Result<Self, ReceiveError> {
        if format.form() == Form::Appended {
            let (receiver, form) = ("a Receiver", format.form());
            return Err(ReceiveError::Form { receiver, form });
        }
        if !(2..=MAX_SLABS).contains(&slabs) {
            return Err(ReceiveError::Slabs { slabs, limit: MAX_SLABS });
        }
        let count = slabs;
        let slabs = Slabs::new(pd, format.message_bytes(), count)?;
        let completions = pd.context().completion_queue().entries(count as u32).build()?;
        let queue = pd.shared_receive_queue(&completions).blocks(count as u32).build()?;
        let streams = HashMap::new();
        let mut receiver = Self {
            format,
            queue,
            completions,
            slabs,
            count,
            posted: 0,
            taken: VecDeque::with_capacity(BURST),
            free: Vec::new(),
            lost: 0,
            streams,
            copied: 0,
        };
        receiver.post()?;
        Ok(receiver)
    }

    /// The format of the received batches.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The queue that queue pairs are made with which receive batches
    /// ([`QueuePairBuilder::shared_receive_queue`](libdrdma::QueuePairBuilder::shared_receive_queue)): of
    /// transport RC, and nothing but batches is sent to them.
    pub fn queue(&self) -> &SharedReceiveQueue<'static> {
        &self.queue
    }

    /// The queue of the receives' completions, for those who wait until there is something to [`poll`](Self::poll).
    pub fn completions(&self) -> &CompletionQueue {
        &self.completions
    }

    /// Bytes that were copied so far.
    pub fn copied_bytes(&self) -> u64 {
        self.copied
    }

    /// Slabs that are posted.
    pub fn posted(&self) -> usize {
        self.posted
    }

    /// Forgets what came from that queue pair's peer: it was connected anew, or its messages were no
    /// batches.
    pub fn forget(&mut self, queue_pair: u32) {
        self.streams.remove(&queue_pair);
    }

    /// Begins anew, with batches of another format, in the same memory: connections that were made before are closed,
    /// and others are made with the same [`queue`](Self::queue). What was received stays as it is.
    ///
    /// Returns false, and changes nothing, if the receiver is not as good as a new one, or does not fit: messages or
    /// parts of a batch have come that nobody has taken, a message was no batch or failed, or the format's messages are
    /// longer than those before or are appended rows. Such a receiver should be dropped.
    #[must_use = "a receiver that did not begin anew is of no use"]
    pub fn begin_anew(&mut self, format: &Format) -> bool {
        let is_whole = |stream: &Option<Stream>| stream.as_ref().is_some_and(Stream::is_whole);
        let nothing_waits = self.taken.is_empty() && !self.completions.may_have_completion();
        let fits = format.form() != Form::Appended
            && format.message_bytes() <= self.format.message_bytes();
        if !(fits && nothing_waits && self.lost == 0 && self.streams.values().all(is_whole)) {
            return false;
        }
        self.format = format.clone();
        self.streams.clear();
        self.copied = 0;
        true
    }

    /// Takes what has arrived, until a batch is complete. Slabs that are free are posted. It does not wait:
    /// `None` says that no batch is complete.
    ///
    /// # Errors
    /// What came from one queue pair is no batch ([`ReceiveError::Decode`]; others are not affected), a
    /// receive failed, or the card did.
    pub fn poll(&mut self) -> Result<Option<Received>, ReceiveError> {
        loop {
            if self.taken.is_empty() {
                self.post()?;
                self.taken.extend(self.completions.poll().take(BURST));
            }
            let Some(completion) = self.taken.pop_front() else { return Ok(None) };
            self.posted -= 1;
            if let Some(received) = self.arrived(&completion)? {
                return Ok(Some(received));
            }
        }
    }

    /// Posts every free slab that the queue has a place for, with one doorbell.
    fn post(&mut self) -> Result<(), ReceiveError> {
        self.slabs.take_all(&mut self.free);
        if self.free.is_empty() {
            return Ok(());
        }
        let slabs = &self.slabs;
        let requests = self
            .free
            .iter()
            .rev()
            .map(|slab| ReceiveRequest::new(*slab as u64).regions(slabs.region(*slab)));
        let (posted, result) = self.queue.post_recv_list(requests);
        self.posted += posted;
        self.free.truncate(self.free.len() - posted);
        self.slabs.put(&self.free);
        self.free.clear();
        match result {
            // Places in the queue are free in the order of the receives: the oldest one is a message whose
            // missing packet comes once more. Until then the slabs wait.
            Err(PostError::ReceiveQueueFull { .. }) if self.posted > 0 => Ok(()),
            result => Ok(result?),
        }
    }

    fn arrived(&mut self, completion: &WorkCompletion) -> Result<Option<Received>, ReceiveError> {
        if completion.status != Status::Success {
            self.lost += 1;
            let (slabs, left) = (self.count, self.count - self.lost);
            let (qp, status) = (completion.qp, completion.status);
            return Err(ReceiveError::Failed { qp, status, left, slabs });
        }
        let (slab, len) = (completion.wr_id as usize, completion.bytes as usize);
        // SAFETY: only this receiver posts to the queue, and only slabs that it took; nobody else takes
        // completions from its queue. This is the success of that slab's receive.
        let message = unsafe { self.slabs.lend(slab, len) };
        let message = match self.posted + self.slabs.free_count() >= self.count / 2 {
            true => message,
            false => {
                self.copied += len as u64;
                let mut copy = MutableBuffer::with_capacity(len);
                copy.extend_from_slice(&message);
                Buffer::from(copy)
            }
        };
        let qp = completion.qp.expect("a receive names its queue pair");
        let format = &self.format;
        let stream = self.streams.entry(qp).or_insert_with(|| Some(Stream::new(format)));
        let Some(reader) = stream else {
            return Err(ReceiveError::Behind { qp, bytes: completion.bytes });
        };
        match reader.message(format, message, &mut self.copied) {
            Ok(batch) => Ok(batch.map(|batch| Received { qp, batch })),
            Err(source) => {
                *stream = None;
                Err(ReceiveError::Decode { qp, source })
            }
        }
    }
}
