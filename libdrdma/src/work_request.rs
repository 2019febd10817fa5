//! Work requests: operations on regions.

use drdma_abi::work_request::MessageLayout;

use crate::{AddressHandle, Region, body::Layout, extension::Reliable, optimizer::FetchPlan};

mod head;
mod partitioned;
mod shared;

pub(crate) use head::Head;
pub use partitioned::{PartitionDestination, PartitionedWorkRequest};
pub(crate) use shared::staged::Queue;
pub use shared::{Destination, SharedOperation, SharedRequest, SharedWorkRequest};

/// Operation of a work request on a queue pair's own queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendImm(u32),
    /// RDMA WRITE.
    Write {
        /// Remote address of the first message.
        remote_addr: u64,
        /// Key of the remote memory.
        rkey: u32,
    },
    /// RDMA WRITE with immediate data.
    WriteImm {
        /// Remote address of the first message.
        remote_addr: u64,
        /// Key of the remote memory.
        rkey: u32,
        /// Immediate data.
        imm: u32,
    },
}

/// Way in which regions are cut into units (D-RDMA section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RowMask {
    /// The units are the rows of the regions, one region after another.
    #[default]
    Period,
    /// Unit `i` is element `i` of every region: the shuffle.
    Element,
}

/// Remote memory for the values of one column of a WRITE by columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemoteColumn {
    /// Address of the column's first value.
    pub addr: u64,
    /// Key of the remote memory.
    pub rkey: u32,
}

/// A request to one queue pair. It borrows its list of regions; nothing is allocated.
#[derive(Clone, Copy, Debug)]
pub struct WorkRequest<'a, 'm> {
    pub(crate) head: Head,
    /// Remote address and key of a WRITE, a READ or an atomic.
    pub(crate) remote: (u64, u32),
    pub(crate) inline: Option<&'a [u8]>,
    pub(crate) layout: Layout<'a>,
    pub(crate) regions: &'a [Region<'m>],
}

impl<'a, 'm> WorkRequest<'a, 'm> {
    /// A SEND named `wr_id`, without regions, one row a message.
    #[inline]
    pub fn new(wr_id: u64) -> Self {
        Self {
            head: Head::new(wr_id),
            remote: (0, 0),
            inline: None,
            layout: Layout::default(),
            regions: &[],
        }
    }

    /// Sets the operation (default SEND).
    #[must_use]
    #[inline]
    pub fn operation(mut self, operation: Operation) -> Self {
        let (operation, remote) = operation.split();
        self.head.set_operation(operation);
        self.head.extension.reliable = None;
        self.remote = remote;
        self
    }

    /// Sets an operation that is possible only on RC, with a card that receives
    /// ([`Context::receives`]).
    ///
    /// [`Context::receives`]: crate::Context::receives
    fn reliable(mut self, remote_addr: u64, rkey: u32, reliable: Reliable) -> Self {
        self.head.extension.reliable = Some(reliable);
        self.remote = (remote_addr, rkey);
        self
    }

    /// Makes the request a READ: it reads as many bytes of the peer's memory as the regions have,
    /// and fills them as a receive's are filled. The regions' memory must allow
    /// [`Access::LOCAL_WRITE`](crate::Access::LOCAL_WRITE), and holds the bytes when the request
    /// has completed. Only on RC, with a card that receives.
    #[must_use]
    pub fn read(self, remote_addr: u64, rkey: u32) -> Self {
        self.reliable(remote_addr, rkey, Reliable::Read)
    }

    /// Makes the request a compare and swap of 8 B of the peer's memory, at a multiple of 8: if
    /// they are `compare`, they become `swap`. The regions, of 8 B, are filled with the previous
    /// value, a number in the host's byte order. Other conditions are those of
    /// [`read`](Self::read).
    #[must_use]
    pub fn compare_and_swap(self, remote_addr: u64, rkey: u32, compare: u64, swap: u64) -> Self {
        self.reliable(remote_addr, rkey, Reliable::CompareAndSwap { compare, swap })
    }

    /// Makes the request a fetch and add, modulo 2^64; other conditions are those of
    /// [`compare_and_swap`](Self::compare_and_swap).
    #[must_use]
    pub fn fetch_and_add(self, remote_addr: u64, rkey: u32, add: u64) -> Self {
        self.reliable(remote_addr, rkey, Reliable::FetchAndAdd { add })
    }

    /// Makes the request a SEND each of whose messages invalidates the peer's key `rkey`. Only on
    /// RC, with a card that receives.
    #[must_use]
    pub fn send_invalidate(self, rkey: u32) -> Self {
        self.reliable(0, 0, Reliable::SendInvalidate { rkey })
    }

    /// Makes the request wait until the READs and atomics before it, on its queue pair, have their
    /// answers (`IBV_SEND_FENCE`). Only on RC, with a card that receives.
    #[must_use]
    pub fn fence(mut self) -> Self {
        self.head.extension.fence = true;
        self
    }

    /// Makes the peer's receives complete as solicited ones (`IBV_SEND_SOLICITED`). Only with a
    /// card that receives.
    #[must_use]
    pub fn solicited(mut self) -> Self {
        self.head.extension.solicited = true;
        self
    }

    /// Sets the destination of the request's datagrams, instead of the peer of the queue pair. Only
    /// on UD, with a card that receives.
    #[must_use]
    pub fn to(mut self, address: &AddressHandle) -> Self {
        self.head.extension.address = Some(*address);
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

    /// Makes the request unsignaled: its success is not reported by a completion, as without
    /// `IBV_SEND_SIGNALED` (IBTA 1.4 section 11.4.1.1); its failure is. Until a signaled request
    /// that was posted behind it to the same queue has completed and was polled, it keeps its room
    /// in the queue and its memory. So every now and then a request must be signaled: the
    /// unsignaled ones behind the last signaled one may take half of the queue, and the next is
    /// refused ([`PostError::SignalDue`](crate::PostError::SignalDue)).
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

    /// Sets the order of the values of a message (default [`MessageLayout::Rows`]).
    #[must_use]
    #[inline]
    pub fn message_layout(mut self, layout: MessageLayout) -> Self {
        self.layout.order = layout;
        self
    }

    /// Makes the request a WRITE by columns: the first value of every row goes to the first of
    /// these addresses, the second to the second, and so on, the values of the further rows behind
    /// them. Of `rows_per_message` rows every column is a message; with immediate data, only the
    /// last column's carries it. A value of variable length is two: its length of 4 B, and its
    /// bytes. The address of [`Operation::Write`] is ignored then. There must be as many columns as
    /// every row has values, at most 64; else the request fails (`local_qp_operation_error`).
    #[must_use]
    #[inline]
    pub fn remote_columns(mut self, columns: &'a [RemoteColumn]) -> Self {
        self.layout = Layout { order: MessageLayout::Columns, remote_columns: columns };
        self
    }

    /// Sets the regions to send: up to 16.
    #[must_use]
    #[inline]
    pub fn regions(mut self, regions: &'a [Region<'m>]) -> Self {
        self.regions = regions;
        self
    }

    /// Sets an inline payload instead of regions: 0 to [`MAX_INLINE`](crate::MAX_INLINE) bytes,
    /// which are copied into the queue itself (`IBV_SEND_INLINE`). They are the application's again
    /// when the post returns, need no memory region, and save the card a read. They are one
    /// message, whatever [`row_mask`](Self::row_mask) and
    /// [`rows_per_message`](Self::rows_per_message) say. A request with them has no regions, and is
    /// a SEND or a WRITE. `inline(&[])` sends a message of no bytes (a request of `ibv_post_send`
    /// without `sg_list`); a request without regions and without this sends no message.
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
