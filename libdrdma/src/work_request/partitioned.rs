//! Requests to several queue pairs, each with the rows of a partition.

use std::marker::PhantomData;

use drdma_abi::work_request::MessageLayout;

use super::{
    Head, RemoteColumn,
    shared::{SharedOperation, SharedRequest, staged},
};
use crate::{
    PartitionId, PartitionedRegion, PostError, QueuePair, body::Layout, optimizer::FetchPlan,
};

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
/// It borrows its queue pair, as a [`Destination`](crate::Destination) does:
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
    /// A destination for the rows that carry the id `partition`: the peer of `qp`, which is
    /// borrowed until the request was posted.
    #[inline]
    pub fn new(qp: &'a QueuePair<'_>, partition: I) -> Self {
        let (pd, queue_pair) = (qp.protection_domain(), PhantomData);
        let layout = Layout::default();
        Self { qp: qp.index(), pd, partition, remote_addr: 0, rkey: 0, layout, queue_pair }
    }

    /// Sets the remote address and key of the first message of a WRITE.
    #[must_use]
    #[inline]
    pub fn remote(mut self, remote_addr: u64, rkey: u32) -> Self {
        self.remote_addr = remote_addr;
        self.rkey = rkey;
        self
    }

    /// Sets the order of the values of a message; see
    /// [`WorkRequest::message_layout`](crate::WorkRequest::message_layout).
    #[must_use]
    #[inline]
    pub fn message_layout(mut self, layout: MessageLayout) -> Self {
        self.layout.order = layout;
        self
    }

    /// Makes the request a WRITE by columns; see [`WorkRequest::remote_columns`](crate::WorkRequest::remote_columns).
    #[must_use]
    #[inline]
    pub fn remote_columns(mut self, columns: &'a [RemoteColumn]) -> Self {
        self.layout = Layout { order: MessageLayout::Columns, remote_columns: columns };
        self
    }
}

/// A request to several queue pairs that share one partitioned region: each row goes to the
/// destination whose id it carries, and keeps its place among that destination's rows. Rows with an
/// id that no destination has are not sent. Only a shared send queue takes it:
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
    /// Head of the request; its row mask makes no difference, as a row is an element.
    pub(crate) head: Head,
    pub(crate) region: &'a PartitionedRegion<'m, I>,
    pub(crate) destinations: &'a [PartitionDestination<'a, I>],
}

impl<'a, 'm, I: PartitionId> PartitionedWorkRequest<'a, 'm, I> {
    /// A SEND of a region named `wr_id`, without destinations, one row a message.
    #[inline]
    pub fn new(wr_id: u64, region: &'a PartitionedRegion<'m, I>) -> Self {
        Self { head: Head::new(wr_id), region, destinations: &[] }
    }

    /// Sets the operation (default SEND).
    #[must_use]
    #[inline]
    pub fn operation(mut self, operation: SharedOperation) -> Self {
        self.head.set_operation(operation);
        self
    }

    /// Sets the number of rows that are packed into one message (default 1).
    #[must_use]
    #[inline]
    pub fn rows_per_message(mut self, rows: u32) -> Self {
        self.head.rows_per_message = rows;
        self
    }

    /// Makes the request unsignaled; see [`WorkRequest::unsignaled`](crate::WorkRequest::unsignaled).
    #[must_use]
    #[inline]
    pub fn unsignaled(mut self) -> Self {
        self.head.signaled = false;
        self
    }

    /// Sets the request's own fetch plan (default: as the card's registers say).
    #[must_use]
    #[inline]
    pub fn fetch_plan(mut self, plan: FetchPlan) -> Self {
        self.head.fetch = Some(plan);
        self
    }

    /// Sets the destinations: 1 to 256, no queue pair and no partition twice.
    #[must_use]
    #[inline]
    pub fn destinations(mut self, destinations: &'a [PartitionDestination<'a, I>]) -> Self {
        self.destinations = destinations;
        self
    }
}

impl<'m, I: PartitionId> SharedRequest<'m> for PartitionedWorkRequest<'_, 'm, I> {}

impl<I: PartitionId> staged::Stage for PartitionedWorkRequest<'_, '_, I> {
    #[inline]
    fn stage(&self, staged::Queue(queue): staged::Queue) -> Result<(), PostError> {
        queue.stage(&self.head, self)
    }
}
