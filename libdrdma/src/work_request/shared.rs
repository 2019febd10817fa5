//! Requests to several queue pairs, each with regions of its own.

use drdma_abi::work_request::MessageLayout;

use super::{Head, RemoteColumn, RowMask};
use crate::{
    PostError, QueuePair, Region, body::Layout, optimizer::FetchPlan, send_queue::SendQueue,
};

/// Operation of a work request on a shared send queue; each destination has the remote address of a
/// WRITE.
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
    /// A destination without regions: the peer of `qp`, which is borrowed until the request was
    /// posted.
    #[inline]
    pub fn new(qp: &'a QueuePair<'_>) -> Self {
        let pd = qp.protection_domain();
        let layout = Layout::default();
        Self { qp: qp.index(), pd, remote_addr: 0, rkey: 0, layout, regions: &[] }
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

    /// Sets the regions to send there: up to 16.
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
    pub(crate) head: Head,
    pub(crate) destinations: &'a [Destination<'a, 'm>],
}

impl<'a, 'm> SharedWorkRequest<'a, 'm> {
    /// A SEND named `wr_id`, without destinations, one row a message.
    #[inline]
    pub fn new(wr_id: u64) -> Self {
        Self { head: Head::new(wr_id), destinations: &[] }
    }

    /// Sets the operation (default SEND).
    #[must_use]
    #[inline]
    pub fn operation(mut self, operation: SharedOperation) -> Self {
        self.head.set_operation(operation);
        self
    }

    /// Sets the way in which regions are cut into units (default [`RowMask::Period`]).
    #[must_use]
    #[inline]
    pub fn row_mask(mut self, row_mask: RowMask) -> Self {
        self.head.row_mask = row_mask;
        self
    }

    /// Sets the number of units that are packed into one message (default 1).
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

    /// Sets the destinations: 1 to 256 with at most 1,024 regions together, no queue pair twice.
    #[must_use]
    #[inline]
    pub fn destinations(mut self, destinations: &'a [Destination<'a, 'm>]) -> Self {
        self.destinations = destinations;
        self
    }
}

/// A request that a [`SharedSendQueue`](crate::SharedSendQueue) takes: a [`SharedWorkRequest`] or a
/// [`PartitionedWorkRequest`](crate::PartitionedWorkRequest), over memory that lives for `'m`.
pub trait SharedRequest<'m>: staged::Stage {}

impl<'m> SharedRequest<'m> for SharedWorkRequest<'_, 'm> {}

pub(crate) mod staged {
    use super::{PostError, SendQueue};

    /// A send queue that is opaque outside of this crate.
    #[derive(Debug)]
    pub struct Queue<'q>(pub(crate) &'q mut SendQueue);

    /// Sealed: only this crate's requests can be staged.
    pub trait Stage {
        /// Writes the request into the queue's ring.
        #[doc(hidden)]
        fn stage(&self, queue: Queue) -> Result<(), PostError>;
    }
}

impl staged::Stage for SharedWorkRequest<'_, '_> {
    #[inline]
    fn stage(&self, staged::Queue(queue): staged::Queue) -> Result<(), PostError> {
        queue.stage(&self.head, self.destinations)
    }
}
