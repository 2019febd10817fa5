//! Work requests: what to do with regions.

use std::marker::PhantomData;

use drdma_abi::work_request::{MessageLayout, Opcode};

use crate::{
    AddressHandle, PartitionId, PartitionedRegion, PostError, QueuePair, Region,
    body::Layout,
    extension::{Extension, Reliable},
    optimizer::FetchPlan,
    send_queue::{Head, SendQueue},
};

/// What a work request on a queue pair's own queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendImm(u32),
    /// RDMA WRITE.
    Write {
        /// Where the first message goes.
        remote_addr: u64,
        /// The key of the remote memory.
        rkey: u32,
    },
    /// RDMA WRITE with immediate data.
    WriteImm {
        /// Where the first message goes.
        remote_addr: u64,
        /// The key of the remote memory.
        rkey: u32,
        /// Immediate data.
        imm: u32,
    },
}

/// What a work request on a shared send queue does; where a WRITE goes is said per destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedOperation {
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendImm(u32),
    /// RDMA WRITE.
    Write,
    /// RDMA WRITE with immediate data.
    WriteImm(u32),
}

impl SharedOperation {
    fn opcode(self) -> (Opcode, u32) {
        match self {
            Self::Send => (Opcode::Send, 0),
            Self::SendImm(imm) => (Opcode::SendImm, imm),
            Self::Write => (Opcode::Write, 0),
            Self::WriteImm(imm) => (Opcode::WriteImm, imm),
        }
    }
}

/// How regions are cut into units (D-RDMA section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RowMask {
    /// The units are the rows of the regions, one region after another.
    #[default]
    Period,
    /// Unit `i` is element `i` of every region: the shuffle.
    Element,
}

/// Where the values of one column go, of a WRITE by columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemoteColumn {
    /// Where the first of them goes.
    pub addr: u64,
    /// The key of that memory.
    pub rkey: u32,
}

/// A request to one queue pair. It borrows its list of regions; nothing is allocated.
#[derive(Clone, Copy, Debug)]
pub struct WorkRequest<'a, 'm> {
    pub(crate) wr_id: u64,
    pub(crate) operation: Operation,
    pub(crate) row_mask: RowMask,
    pub(crate) rows_per_message: u32,
    pub(crate) signaled: bool,
    pub(crate) fetch: Option<FetchPlan>,
    pub(crate) extension: Extension,
    pub(crate) inline: Option<&'a [u8]>,
    pub(crate) layout: Layout<'a>,
    pub(crate) regions: &'a [Region<'m>],
}

impl<'a, 'm> WorkRequest<'a, 'm> {
    /// A SEND of nothing under that name, one row a message.
    #[inline]
    pub fn new(wr_id: u64) -> Self {
        Self {
            wr_id,
            operation: Operation::Send,
            row_mask: RowMask::Period,
            rows_per_message: 1,
            signaled: true,
            fetch: None,
            extension: Extension::default(),
            inline: None,
            layout: Layout::default(),
            regions: &[],
        }
    }

    /// What it does (default SEND).
    #[must_use]
    #[inline]
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operation = operation;
        self.extension.reliable = None;
        self
    }

    /// It does something else: on RC, with a card that receives ([`Context::receives`]).
    ///
    /// [`Context::receives`]: crate::Context::receives
    fn reliable(mut self, remote_addr: u64, rkey: u32, reliable: Reliable) -> Self {
        // Where a WRITE would go.
        self.operation = Operation::Write { remote_addr, rkey };
        self.extension.reliable = Some(reliable);
        self
    }

    /// It is a READ: as many bytes of the peer's memory as the regions have, which they are filled with as a
    /// receive's are. The memory must allow [`Access::LOCAL_WRITE`](crate::Access::LOCAL_WRITE), and holds
    /// them when the request has completed. Only on RC, with a card that receives.
    #[must_use]
    pub fn read(self, remote_addr: u64, rkey: u32) -> Self {
        self.reliable(remote_addr, rkey, Reliable::Read)
    }

    /// It is a compare and swap of 8 B of the peer's memory, at a multiple of 8: if they are `compare`, they
    /// become `swap`. The regions, of 8 B, are filled with what they were, a number in the host's order. As
    /// [`read`](Self::read) else.
    #[must_use]
    pub fn compare_and_swap(self, remote_addr: u64, rkey: u32, compare: u64, swap: u64) -> Self {
        self.reliable(remote_addr, rkey, Reliable::CompareAndSwap { compare, swap })
    }

    /// It is a fetch and add, modulo 2^64: as [`compare_and_swap`](Self::compare_and_swap) else.
    #[must_use]
    pub fn fetch_and_add(self, remote_addr: u64, rkey: u32, add: u64) -> Self {
        self.reliable(remote_addr, rkey, Reliable::FetchAndAdd { add })
    }

    /// It is a SEND each of whose messages makes that key of the peer's invalid. Only on RC, with a card that
    /// receives.
    #[must_use]
    pub fn send_invalidate(self, rkey: u32) -> Self {
        self.reliable(0, 0, Reliable::SendInvalidate { rkey })
    }

    /// It waits until the READs and atomics before it, on its queue pair, have their answers
    /// (`IBV_SEND_FENCE`). Only on RC, with a card that receives.
    #[must_use]
    pub fn fence(mut self) -> Self {
        self.extension.fence = true;
        self
    }

    /// The peer's receives complete as solicited ones (`IBV_SEND_SOLICITED`). Only with a card that
    /// receives.
    #[must_use]
    pub fn solicited(mut self) -> Self {
        self.extension.solicited = true;
        self
    }

    /// Its datagrams go there, instead of to the peer of the queue pair. Only on UD, with a card that
    /// receives.
    #[must_use]
    pub fn to(mut self, address: &AddressHandle) -> Self {
        self.extension.address = Some(*address);
        self
    }

    /// How it is cut (default [`RowMask::Period`]).
    #[must_use]
    #[inline]
    pub fn row_mask(mut self, row_mask: RowMask) -> Self {
        self.row_mask = row_mask;
        self
    }

    /// Units that are packed into one message (default 1).
    #[must_use]
    #[inline]
    pub fn rows_per_message(mut self, rows: u32) -> Self {
        self.rows_per_message = rows;
        self
    }

    /// Its success is not told by a completion, as without `IBV_SEND_SIGNALED` (IBTA 1.4 section 11.4.1.1);
    /// its failure is. Until a signaled request that was posted behind it to the same queue has completed and was
    /// polled, it keeps its room in the queue and its memory. So every now and then a request must be signaled:
    /// the unsignaled ones behind the last signaled one may take half of the queue, and the next is refused
    /// ([`PostError::SignalDue`]).
    ///
    /// ```
    /// # use libdrdma::{Contiguous, MemoryRegion, PostError, QueuePair, WorkRequest};
    /// # fn example<'m>(qp: &mut QueuePair<'m>, memory: &'m MemoryRegion)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// for i in 0..1024 {
    ///     let regions = [Contiguous::new(memory).offset(64 * i).len(64).build()?];
    ///     let request = WorkRequest::new(i).regions(&regions);
    ///     // One completion for 64 requests.
    ///     qp.post_send(&if i % 64 == 63 { request } else { request.unsignaled() })?;
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    #[inline]
    pub fn unsignaled(mut self) -> Self {
        self.signaled = false;
        self
    }

    /// How its data are fetched (default: as the card's registers say).
    #[must_use]
    #[inline]
    pub fn fetch_plan(mut self, plan: FetchPlan) -> Self {
        self.fetch = Some(plan);
        self
    }

    /// The order of the values of a message (default [`MessageLayout::Rows`]).
    #[must_use]
    #[inline]
    pub fn message_layout(mut self, layout: MessageLayout) -> Self {
        self.layout.order = layout;
        self
    }

    /// It is a WRITE by columns: the first value of every row goes to the first of these addresses, the second
    /// to the second, and so on, the values of the further rows behind them. Of `rows_per_message` rows every
    /// column is a message; with immediate data, only the last column's carries it. A value of variable length
    /// is two: its length of 4 B, and its bytes. The addresses of [`Operation::Write`] do not matter then.
    /// At most 64, as many as every row has values; else the request fails (`local_qp_operation_error`).
    #[must_use]
    #[inline]
    pub fn remote_columns(mut self, columns: &'a [RemoteColumn]) -> Self {
        self.layout = Layout { order: MessageLayout::Columns, remote_columns: columns };
        self
    }

    /// What is sent: up to 16 regions.
    #[must_use]
    #[inline]
    pub fn regions(mut self, regions: &'a [Region<'m>]) -> Self {
        self.regions = regions;
        self
    }

    /// What is sent: these 1 to [`MAX_INLINE`](crate::MAX_INLINE) bytes, which go into the queue itself
    /// (`IBV_SEND_INLINE`). They are the application's again when the post returns, need no memory region,
    /// and save the card a read. They are one message, whatever [`row_mask`](Self::row_mask) and
    /// [`rows_per_message`](Self::rows_per_message) say. A request with them has no regions, and is a SEND or
    /// a WRITE.
    ///
    /// ```
    /// # use libdrdma::{PostError, QueuePair, WorkRequest};
    /// # fn example(qp: &mut QueuePair) -> Result<(), PostError> {
    /// let text = format!("row {}", 17);
    /// qp.post_send(&WorkRequest::new(1).inline(text.as_bytes()))?;
    /// drop(text);
    /// # Ok(()) }
    /// ```
    #[must_use]
    #[inline]
    pub fn inline(mut self, bytes: &'a [u8]) -> Self {
        self.inline = Some(bytes);
        self
    }
}

impl WorkRequest<'_, '_> {
    #[inline]
    pub(crate) fn head(&self) -> Head {
        let (opcode, imm) = match self.operation {
            Operation::Send => (Opcode::Send, 0),
            Operation::SendImm(imm) => (Opcode::SendImm, imm),
            Operation::Write { .. } => (Opcode::Write, 0),
            Operation::WriteImm { imm, .. } => (Opcode::WriteImm, imm),
        };
        Head {
            wr_id: self.wr_id,
            opcode,
            imm,
            row_mask: self.row_mask,
            rows_per_message: self.rows_per_message,
            signaled: self.signaled,
            fetch: self.fetch,
            extension: self.extension,
        }
    }

    /// Where a WRITE goes, and the key of that memory.
    #[inline]
    pub(crate) fn remote(&self) -> (u64, u32) {
        match self.operation {
            Operation::Send | Operation::SendImm(_) => (0, 0),
            Operation::Write { remote_addr, rkey }
            | Operation::WriteImm { remote_addr, rkey, .. } => (remote_addr, rkey),
        }
    }
}

/// One destination of a [`SharedWorkRequest`].
///
/// It borrows its queue pair, which is neither dropped nor connected to another peer before the request
/// was posted:
///
/// ```compile_fail,E0505
/// # use libdrdma::{Destination, QueuePair, SharedSendQueue, SharedWorkRequest};
/// # fn example(red: QueuePair, mut ssq: SharedSendQueue)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let destinations = [Destination::new(&red)];
/// drop(red);
/// ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&destinations))?;
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0502
/// # use libdrdma::{Destination, QueuePair, QueuePairAttributes, SharedSendQueue};
/// # use libdrdma::SharedWorkRequest;
/// # fn example(mut red: QueuePair, mut ssq: SharedSendQueue, other_peer: QueuePairAttributes)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let destinations = [Destination::new(&red)];
/// red.connect(&other_peer)?;
/// ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&destinations))?;
/// # Ok(()) }
/// ```
///
/// Afterwards it may be: the request then ends with an error or without having sent anything there,
/// and no other queue pair gets its data.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a, 'm> {
    pub(crate) qp: u32,
    pub(crate) pd: u32,
    pub(crate) remote_addr: u64,
    pub(crate) rkey: u32,
    pub(crate) layout: Layout<'a>,
    pub(crate) regions: &'a [Region<'m>],
}

impl<'a, 'm> Destination<'a, 'm> {
    /// Nothing, to the peer of that queue pair, which is borrowed until the request was posted.
    #[inline]
    pub fn new(qp: &'a QueuePair<'_>) -> Self {
        let pd = qp.protection_domain();
        let layout = Layout::default();
        Self { qp: qp.index(), pd, remote_addr: 0, rkey: 0, layout, regions: &[] }
    }

    /// Where the first message of a WRITE goes, and the key of that memory.
    #[must_use]
    #[inline]
    pub fn remote(mut self, remote_addr: u64, rkey: u32) -> Self {
        self.remote_addr = remote_addr;
        self.rkey = rkey;
        self
    }

    /// The order of the values of a message; see [`WorkRequest::message_layout`].
    #[must_use]
    #[inline]
    pub fn message_layout(mut self, layout: MessageLayout) -> Self {
        self.layout.order = layout;
        self
    }

    /// It is a WRITE by columns; see [`WorkRequest::remote_columns`].
    #[must_use]
    #[inline]
    pub fn remote_columns(mut self, columns: &'a [RemoteColumn]) -> Self {
        self.layout = Layout { order: MessageLayout::Columns, remote_columns: columns };
        self
    }

    /// What is sent there: up to 16 regions.
    #[must_use]
    #[inline]
    pub fn regions(mut self, regions: &'a [Region<'m>]) -> Self {
        self.regions = regions;
        self
    }
}

/// A request to several queue pairs that the card plans together: a byte that two destinations'
/// bounding boxes cover is fetched once (D-RDMA section 3.3).
#[derive(Clone, Copy, Debug)]
pub struct SharedWorkRequest<'a, 'm> {
    pub(crate) wr_id: u64,
    pub(crate) operation: SharedOperation,
    pub(crate) row_mask: RowMask,
    pub(crate) rows_per_message: u32,
    pub(crate) signaled: bool,
    pub(crate) fetch: Option<FetchPlan>,
    pub(crate) destinations: &'a [Destination<'a, 'm>],
}

impl<'a, 'm> SharedWorkRequest<'a, 'm> {
    /// A SEND to nobody under that name, one row a message.
    #[inline]
    pub fn new(wr_id: u64) -> Self {
        Self {
            wr_id,
            operation: SharedOperation::Send,
            row_mask: RowMask::Period,
            rows_per_message: 1,
            signaled: true,
            fetch: None,
            destinations: &[],
        }
    }

    /// What it does (default SEND).
    #[must_use]
    #[inline]
    pub fn operation(mut self, operation: SharedOperation) -> Self {
        self.operation = operation;
        self
    }

    /// How it is cut (default [`RowMask::Period`]).
    #[must_use]
    #[inline]
    pub fn row_mask(mut self, row_mask: RowMask) -> Self {
        self.row_mask = row_mask;
        self
    }

    /// Units that are packed into one message (default 1).
    #[must_use]
    #[inline]
    pub fn rows_per_message(mut self, rows: u32) -> Self {
        self.rows_per_message = rows;
        self
    }

    /// Its success is not told by a completion; see [`WorkRequest::unsignaled`].
    #[must_use]
    #[inline]
    pub fn unsignaled(mut self) -> Self {
        self.signaled = false;
        self
    }

    /// How its data are fetched (default: as the card's registers say).
    #[must_use]
    #[inline]
    pub fn fetch_plan(mut self, plan: FetchPlan) -> Self {
        self.fetch = Some(plan);
        self
    }

    /// Where it goes: 1 to 256 destinations with at most 1,024 regions together, no queue pair twice.
    #[must_use]
    #[inline]
    pub fn destinations(mut self, destinations: &'a [Destination<'a, 'm>]) -> Self {
        self.destinations = destinations;
        self
    }
}

impl SharedWorkRequest<'_, '_> {
    #[inline]
    pub(crate) fn head(&self) -> Head {
        let (opcode, imm) = self.operation.opcode();
        Head {
            wr_id: self.wr_id,
            opcode,
            imm,
            row_mask: self.row_mask,
            rows_per_message: self.rows_per_message,
            signaled: self.signaled,
            fetch: self.fetch,
            extension: Extension::default(),
        }
    }
}

/// One destination of a [`PartitionedWorkRequest`]: the rows of a partition, to the peer of a queue
/// pair. Its id has the type of the region's ids:
///
/// ```compile_fail,E0308
/// # use libdrdma::{PartitionDestination, PartitionedRegion, PartitionedWorkRequest, QueuePair};
/// # fn example(red: QueuePair, region: PartitionedRegion<u8>) {
/// let destinations = [PartitionDestination::new(&red, 256u16)];
/// PartitionedWorkRequest::new(1, &region).destinations(&destinations);
/// # }
/// ```
///
/// It borrows its queue pair, as a [`Destination`] does:
///
/// ```compile_fail,E0505
/// # use libdrdma::{PartitionDestination, PartitionedRegion, PartitionedWorkRequest, QueuePair};
/// # fn example(red: QueuePair, region: PartitionedRegion<u8>) {
/// let destinations = [PartitionDestination::new(&red, 1)];
/// drop(red);
/// PartitionedWorkRequest::new(1, &region).destinations(&destinations);
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PartitionDestination<'a, I> {
    pub(crate) qp: u32,
    pub(crate) pd: u32,
    pub(crate) partition: I,
    pub(crate) remote_addr: u64,
    pub(crate) rkey: u32,
    pub(crate) layout: Layout<'a>,
    queue_pair: PhantomData<&'a QueuePair<'a>>,
}

impl<'a, I: PartitionId> PartitionDestination<'a, I> {
    /// The rows that carry the id `partition`, to the peer of that queue pair, which is borrowed until
    /// the request was posted.
    #[inline]
    pub fn new(qp: &'a QueuePair<'_>, partition: I) -> Self {
        let (pd, queue_pair) = (qp.protection_domain(), PhantomData);
        let layout = Layout::default();
        Self { qp: qp.index(), pd, partition, remote_addr: 0, rkey: 0, layout, queue_pair }
    }

    /// Where the first message of a WRITE goes, and the key of that memory.
    #[must_use]
    #[inline]
    pub fn remote(mut self, remote_addr: u64, rkey: u32) -> Self {
        self.remote_addr = remote_addr;
        self.rkey = rkey;
        self
    }

    /// The order of the values of a message; see [`WorkRequest::message_layout`].
    #[must_use]
    #[inline]
    pub fn message_layout(mut self, layout: MessageLayout) -> Self {
        self.layout.order = layout;
        self
    }

    /// It is a WRITE by columns; see [`WorkRequest::remote_columns`].
    #[must_use]
    #[inline]
    pub fn remote_columns(mut self, columns: &'a [RemoteColumn]) -> Self {
        self.layout = Layout { order: MessageLayout::Columns, remote_columns: columns };
        self
    }
}

/// A request to several queue pairs that share one partitioned region: each row goes to the
/// destination whose id it carries, and keeps its place among that destination's rows. Rows with an
/// id that no destination has are not sent. It goes to a shared send queue only:
///
/// ```compile_fail,E0308
/// # use libdrdma::{PartitionedRegion, PartitionedWorkRequest, QueuePair};
/// # fn example(mut red: QueuePair, region: PartitionedRegion<'static, u8>) {
/// red.post_send(&PartitionedWorkRequest::new(1, &region));
/// # }
/// ```
///
/// The queue borrows the region's memory:
///
/// ```compile_fail,E0505
/// # use libdrdma::{MemoryRegion, PartitionDestination, Partitioned, PartitionedWorkRequest};
/// # use libdrdma::{QueuePair, SharedSendQueue};
/// # fn example(red: QueuePair, ssq: SharedSendQueue, memory: MemoryRegion)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let mut ssq = ssq.release()?;
/// let region = Partitioned::<u8>::new(&memory).rows(8).column(&memory, 8, 4).build()?;
/// let destinations = [PartitionDestination::new(&red, 0)];
/// ssq.post_ssq_send(&PartitionedWorkRequest::new(1, &region).destinations(&destinations))?;
/// drop(memory); // the card may still be reading it
/// drop(ssq);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PartitionedWorkRequest<'a, 'm, I> {
    pub(crate) wr_id: u64,
    pub(crate) operation: SharedOperation,
    pub(crate) rows_per_message: u32,
    pub(crate) signaled: bool,
    pub(crate) fetch: Option<FetchPlan>,
    pub(crate) region: &'a PartitionedRegion<'m, I>,
    pub(crate) destinations: &'a [PartitionDestination<'a, I>],
}

impl<'a, 'm, I: PartitionId> PartitionedWorkRequest<'a, 'm, I> {
    /// A SEND of that region to nobody under that name, one row a message.
    #[inline]
    pub fn new(wr_id: u64, region: &'a PartitionedRegion<'m, I>) -> Self {
        let operation = SharedOperation::Send;
        Self {
            wr_id,
            operation,
            rows_per_message: 1,
            signaled: true,
            fetch: None,
            region,
            destinations: &[],
        }
    }

    /// What it does (default SEND).
    #[must_use]
    #[inline]
    pub fn operation(mut self, operation: SharedOperation) -> Self {
        self.operation = operation;
        self
    }

    /// Rows that are packed into one message (default 1).
    #[must_use]
    #[inline]
    pub fn rows_per_message(mut self, rows: u32) -> Self {
        self.rows_per_message = rows;
        self
    }

    /// Its success is not told by a completion; see [`WorkRequest::unsignaled`].
    #[must_use]
    #[inline]
    pub fn unsignaled(mut self) -> Self {
        self.signaled = false;
        self
    }

    /// How its data are fetched (default: as the card's registers say).
    #[must_use]
    #[inline]
    pub fn fetch_plan(mut self, plan: FetchPlan) -> Self {
        self.fetch = Some(plan);
        self
    }

    /// Where it goes: 1 to 256 destinations, no queue pair and no partition twice.
    #[must_use]
    #[inline]
    pub fn destinations(mut self, destinations: &'a [PartitionDestination<'a, I>]) -> Self {
        self.destinations = destinations;
        self
    }
}

/// What a [`SharedSendQueue`](crate::SharedSendQueue) takes: a [`SharedWorkRequest`] or a
/// [`PartitionedWorkRequest`], over memory that lives for `'m`.
pub trait SharedRequest<'m>: staged::Stage {}

impl<'m> SharedRequest<'m> for SharedWorkRequest<'_, 'm> {}
impl<'m, I: PartitionId> SharedRequest<'m> for PartitionedWorkRequest<'_, 'm, I> {}

pub(crate) mod staged {
    use super::{PostError, SendQueue};

    /// A queue, as far as it may be seen from outside the crate: not at all.
    #[derive(Debug)]
    pub struct Queue<'q>(pub(crate) &'q mut SendQueue);

    /// Only this crate's requests can be staged.
    pub trait Stage {
        /// Writes the request into the queue's ring.
        #[doc(hidden)]
        fn stage(&self, queue: Queue) -> Result<(), PostError>;
    }
}

impl staged::Stage for SharedWorkRequest<'_, '_> {
    #[inline]
    fn stage(&self, staged::Queue(queue): staged::Queue) -> Result<(), PostError> {
        queue.stage(&self.head(), self.destinations)
    }
}

impl<I: PartitionId> staged::Stage for PartitionedWorkRequest<'_, '_, I> {
    #[inline]
    fn stage(&self, staged::Queue(queue): staged::Queue) -> Result<(), PostError> {
        let (opcode, imm) = self.operation.opcode();
        let head = Head {
            wr_id: self.wr_id,
            opcode,
            imm,
            // A row is an element: the mask makes no difference.
            row_mask: RowMask::Period,
            rows_per_message: self.rows_per_message,
            signaled: self.signaled,
            fetch: self.fetch,
            extension: Extension::default(),
        };
        queue.stage(&head, self)
    }
}
