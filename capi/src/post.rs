//! Work requests.

use std::{
    ffi::{c_int, c_void},
    slice,
    sync::MutexGuard,
};

use libdrdma::{
    AddressHandle, Destination, MacAddress, MessageLayout, Operation, PartitionDestination,
    PartitionId, PartitionedRegion, PartitionedWorkRequest, QueuePair, Region, RemoteColumn,
    RowMask, SharedOperation, SharedWorkRequest, WorkRequest,
};

use crate::{
    error::{Failure, array, get, status},
    pair::drdma_qp,
    region::{drdma_partitioned_region, drdma_region},
    shared::drdma_ssq,
};

/// What a request does: the codes of `ibv_wr_opcode`. Those from DRDMA_WR_RDMA_READ on are for RC, for
/// drdma_post_send, and for cards that do them (drdma_query_features).
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_wr_opcode {
    /// RDMA WRITE.
    DRDMA_WR_RDMA_WRITE = 0,
    /// RDMA WRITE with immediate data.
    DRDMA_WR_RDMA_WRITE_WITH_IMM = 1,
    /// SEND.
    DRDMA_WR_SEND = 2,
    /// SEND with immediate data.
    DRDMA_WR_SEND_WITH_IMM = 3,
    /// One READ of as many bytes as the regions have, which fills them. Their memory must allow
    /// DRDMA_ACCESS_LOCAL_WRITE.
    DRDMA_WR_RDMA_READ = 4,
    /// A compare and swap of the peer's 8 bytes at `remote_addr`: if they are `compare_add`, they become `swap`. The
    /// regions, of 8 bytes, are filled with what they were, in the host's byte order.
    DRDMA_WR_ATOMIC_CMP_AND_SWP = 5,
    /// The peer's 8 bytes at `remote_addr` grow by `compare_add`; as DRDMA_WR_ATOMIC_CMP_AND_SWP else.
    DRDMA_WR_ATOMIC_FETCH_AND_ADD = 6,
    /// SENDs that make the peer's key `rkey` invalid.
    DRDMA_WR_SEND_WITH_INV = 9,
}

/// How regions are cut into units.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_row_mask {
    /// The units are the rows of the regions, one region after another.
    DRDMA_ROW_MASK_PERIOD = 0,
    /// Unit `i` is element `i` of every region.
    DRDMA_ROW_MASK_ELEMENT = 1,
}

/// Bits of `send_flags`.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_send_flags {
    /// The request gets a completion only if it fails; without this flag (unlike `ibv_post_send`, which has
    /// `IBV_SEND_SIGNALED`) always. Until a request without the flag that was posted behind it has completed and was
    /// polled, it keeps its room in the send queue and its memory. Requests with the flag behind the last one
    /// without may take half of the send queue; EINVAL says that one more would take more.
    DRDMA_SEND_UNSIGNALED = 1,
    /// The request has no regions: the `inline_length` bytes at `inline_data` are sent, 0 to 64, as one message
    /// whatever `row_mask` and `rows_per_message` say (`IBV_SEND_INLINE`). They are the caller's again when the
    /// post returns, and may be in any memory. Without the flag and without regions no message is sent, where
    /// `ibv_post_send` sends one of no bytes. Only for drdma_post_send.
    DRDMA_SEND_INLINE = 2,
    /// The request waits until the READs and atomics before it have their answers (`IBV_SEND_FENCE`). RC.
    DRDMA_SEND_FENCE = 4,
    /// The peer's receives complete as solicited ones (`IBV_SEND_SOLICITED`).
    DRDMA_SEND_SOLICITED = 8,
}

/// The order of the values of a message. By columns is for cards that do it (drdma_query_features).
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_message_layout {
    /// Row by row.
    DRDMA_LAYOUT_ROWS = 0,
    /// Column by column: the first value of every unit, then the second value of every unit, and so on.
    DRDMA_LAYOUT_COLUMNS = 1,
}

/// Where the messages of one column go, of a WRITE by columns.
#[repr(C)]
pub struct drdma_remote_column {
    /// Where the first one goes; each further one goes behind the one before.
    pub remote_addr: u64,
    /// The key of that memory.
    pub rkey: u32,
}

/// Where a datagram goes (an address handle).
#[repr(C)]
pub struct drdma_ah {
    /// The peer's Ethernet address, in the order of transmission.
    pub dest_mac: [u8; 6],
    /// IPv4 type of service: DSCP in the upper 6 bits, ECN in the lower 2.
    pub traffic_class: u8,
    /// IPv4 time to live; 0 stands for 64.
    pub hop_limit: u8,
    /// The peer's IPv4 address, in the order of transmission.
    pub dest_ip: [u8; 4],
    /// The peer's queue pair number, 24 bits.
    pub remote_qpn: u32,
    /// That one's queue key.
    pub remote_qkey: u32,
}

impl drdma_ah {
    fn address(&self) -> AddressHandle {
        let (mac, ip) = (MacAddress(self.dest_mac), self.dest_ip.into());
        AddressHandle::new(mac, ip, self.remote_qpn, self.remote_qkey)
            .dscp(self.traffic_class >> 2)
            .ecn(self.traffic_class)
            .ttl(self.hop_limit)
    }
}

/// A request to one queue pair.
#[repr(C)]
pub struct drdma_send_wr {
    /// Its name in the completion.
    pub wr_id: u64,
    /// The next one, or NULL.
    pub next: *const drdma_send_wr,
    /// A `drdma_wr_opcode`.
    pub opcode: u32,
    /// A `drdma_row_mask`.
    pub row_mask: u32,
    /// Units that are packed into one message, at least 1.
    pub rows_per_message: u32,
    /// Immediate data, in the host's byte order.
    pub imm_data: u32,
    /// Where the first message of a WRITE goes.
    pub remote_addr: u64,
    /// The key of that memory.
    pub rkey: u32,
    /// Entries of `regions`.
    pub num_regions: u32,
    /// What is sent: up to 16.
    pub regions: *const drdma_region,
    /// `drdma_send_flags`.
    pub send_flags: u32,
    /// With DRDMA_SEND_INLINE: bytes at `inline_data`. Not looked at without.
    pub inline_length: u32,
    /// With DRDMA_SEND_INLINE: what is sent instead of regions. Not looked at without, nor if `inline_length` is 0.
    pub inline_data: *const c_void,
    /// Of an atomic: what is compared with, or added. Not looked at otherwise.
    pub compare_add: u64,
    /// Of a compare and swap: the new value. Not looked at otherwise.
    pub swap: u64,
    /// On UD: where the datagrams go, or NULL: to the peer of the queue pair. NULL otherwise.
    pub ah: *const drdma_ah,
    /// A `drdma_message_layout`.
    pub message_layout: u32,
    /// Entries of `remote_columns`.
    pub num_remote_columns: u32,
    /// Of a WRITE by columns: where the messages of each column go, instead of `remote_addr`; as many as a unit has
    /// values, 1 to 64. NULL otherwise.
    pub remote_columns: *const drdma_remote_column,
}

/// One destination of a request to a shared send queue.
#[repr(C)]
pub struct drdma_destination {
    /// The queue pair.
    pub qp: *const drdma_qp,
    /// Where the first message of a WRITE goes.
    pub remote_addr: u64,
    /// The key of that memory.
    pub rkey: u32,
    /// The partition that goes there, of a partitioned request.
    pub partition: u16,
    /// Entries of `regions`.
    pub num_regions: u32,
    /// What is sent there, unless the request is partitioned: up to 16.
    pub regions: *const drdma_region,
    /// A `drdma_message_layout`.
    pub message_layout: u32,
    /// Entries of `remote_columns`.
    pub num_remote_columns: u32,
    /// Of a WRITE by columns: where the messages of each column go, instead of `remote_addr`; as many as a unit has
    /// values, 1 to 64. NULL otherwise.
    pub remote_columns: *const drdma_remote_column,
}

/// A request to several queue pairs, which the card plans together.
#[repr(C)]
pub struct drdma_ssq_wr {
    /// Its name in the completion.
    pub wr_id: u64,
    /// A `drdma_wr_opcode`.
    pub opcode: u32,
    /// A `drdma_row_mask`.
    pub row_mask: u32,
    /// Units that are packed into one message, at least 1.
    pub rows_per_message: u32,
    /// Immediate data, in the host's byte order.
    pub imm_data: u32,
    /// One region for all destinations, by a partition id a row; or NULL, and each has its own.
    pub partitioned: *const drdma_partitioned_region,
    /// Entries of `destinations`.
    pub num_destinations: u32,
    /// Where it goes: 1 to 256.
    pub destinations: *const drdma_destination,
    /// `drdma_send_flags`.
    pub send_flags: u32,
}

fn row_mask(mask: u32) -> Result<RowMask, Failure> {
    match mask {
        0 => Ok(RowMask::Period),
        1 => Ok(RowMask::Element),
        other => Err(Failure::new(libc::EINVAL, format!("row_mask is {other}: it must be 0 or 1"))),
    }
}

/// Layout of a destination's messages.
struct Layout {
    order: MessageLayout,
    /// Remote columns; empty unless each column has an address.
    columns: Vec<RemoteColumn>,
}

impl Layout {
    /// # Safety
    /// C promises `count` entries of `columns`.
    unsafe fn new(
        order: u32,
        columns: *const drdma_remote_column,
        count: u32,
    ) -> Result<Self, Failure> {
        let order = match order {
            0 => MessageLayout::Rows,
            1 => MessageLayout::Columns,
            other => {
                let text = format!("message_layout is {other}: it must be 0 or 1");
                return Err(Failure::new(libc::EINVAL, text));
            }
        };
        // SAFETY: the caller's promise.
        let columns = unsafe { array(columns, count, "remote_columns") }?;
        if order == MessageLayout::Rows && !columns.is_empty() {
            let text = format!("message_layout is 0: it must be 1 with {count} remote_columns");
            return Err(Failure::new(libc::EINVAL, text));
        }
        let column =
            |of: &drdma_remote_column| RemoteColumn { addr: of.remote_addr, rkey: of.rkey };
        Ok(Self { order, columns: columns.iter().map(column).collect() })
    }

    /// # Safety
    /// C promises what is behind the pointers.
    unsafe fn of(destination: &drdma_destination) -> Result<Self, Failure> {
        let drdma_destination { message_layout, remote_columns, num_remote_columns, .. } =
            *destination;
        // SAFETY: the caller's promise.
        unsafe { Self::new(message_layout, remote_columns, num_remote_columns) }
    }
}

/// Sets the layout of a request or a destination.
macro_rules! lay_out {
    ($request:expr, $layout:expr) => {{
        let (request, layout): (_, &Layout) = ($request, $layout);
        match layout.columns.is_empty() {
            true => request.message_layout(layout.order),
            false => request.remote_columns(&layout.columns),
        }
    }};
}

/// The flags of a request to one queue pair.
const OWN_FLAGS: u32 = drdma_send_flags::DRDMA_SEND_UNSIGNALED as u32
    | drdma_send_flags::DRDMA_SEND_INLINE as u32
    | drdma_send_flags::DRDMA_SEND_FENCE as u32
    | drdma_send_flags::DRDMA_SEND_SOLICITED as u32;
/// The flags of a request to a shared send queue.
const SHARED_FLAGS: u32 = drdma_send_flags::DRDMA_SEND_UNSIGNALED as u32;

/// Returns whether a completion reports a request's success; `known` are the flags that are
/// possible.
fn is_signaled(flags: u32, known: u32) -> Result<bool, Failure> {
    match flags & !known {
        0 => Ok(flags & drdma_send_flags::DRDMA_SEND_UNSIGNALED as u32 == 0),
        _ => {
            let text = format!("send_flags is {flags:#x}: it must be 0 to {known}");
            Err(Failure::new(libc::EINVAL, text))
        }
    }
}

/// Converts an operation of a shared send queue; `known` names the opcodes that are possible, for
/// the error.
fn opcode(opcode: u32, imm: u32, known: &str) -> Result<SharedOperation, Failure> {
    match opcode {
        0 => Ok(SharedOperation::Write),
        1 => Ok(SharedOperation::WriteImm(imm)),
        2 => Ok(SharedOperation::Send),
        3 => Ok(SharedOperation::SendImm(imm)),
        other => Err(Failure::new(libc::EINVAL, format!("opcode is {other}: it must be {known}"))),
    }
}

/// # Safety
/// C promises what is behind the pointers.
pub(crate) unsafe fn build(
    regions: *const drdma_region,
    count: u32,
) -> Result<Vec<Region<'static>>, Failure> {
    // SAFETY: the caller's promise.
    let regions = unsafe { array(regions, count, "regions") }?;
    // SAFETY: likewise.
    regions.iter().map(|region| unsafe { region.build() }).collect()
}

/// Makes a request with the name and operation of `wr`.
fn operation<'a>(wr: &drdma_send_wr) -> Result<WorkRequest<'a, 'static>, Failure> {
    use drdma_wr_opcode as code;
    let request = WorkRequest::new(wr.wr_id);
    let (remote_addr, rkey) = (wr.remote_addr, wr.rkey);
    Ok(match wr.opcode {
        c if c == code::DRDMA_WR_RDMA_READ as u32 => request.read(remote_addr, rkey),
        c if c == code::DRDMA_WR_ATOMIC_CMP_AND_SWP as u32 => {
            request.compare_and_swap(remote_addr, rkey, wr.compare_add, wr.swap)
        }
        c if c == code::DRDMA_WR_ATOMIC_FETCH_AND_ADD as u32 => {
            request.fetch_and_add(remote_addr, rkey, wr.compare_add)
        }
        c if c == code::DRDMA_WR_SEND_WITH_INV as u32 => request.send_invalidate(rkey),
        other => request.operation(match opcode(other, wr.imm_data, "0 to 6 or 9")? {
            SharedOperation::Send => Operation::Send,
            SharedOperation::SendImm(imm) => Operation::SendImm(imm),
            SharedOperation::Write => Operation::Write { remote_addr, rkey },
            SharedOperation::WriteImm(imm) => Operation::WriteImm { remote_addr, rkey, imm },
        }),
    })
}

/// # Safety
/// C promises what is behind the pointers.
unsafe fn post_send(qp: &drdma_qp, wr: &drdma_send_wr) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let regions = unsafe { build(wr.regions, wr.num_regions) }?;
    let mut request = operation(wr)?
        .row_mask(row_mask(wr.row_mask)?)
        .rows_per_message(wr.rows_per_message)
        .regions(&regions);
    let (order, columns, count) = (wr.message_layout, wr.remote_columns, wr.num_remote_columns);
    // SAFETY: the caller's promise.
    let layout = unsafe { Layout::new(order, columns, count) }?;
    request = lay_out!(request, &layout);
    if !is_signaled(wr.send_flags, OWN_FLAGS)? {
        request = request.unsignaled();
    }
    let has = |flag: drdma_send_flags| wr.send_flags & flag as u32 != 0;
    if has(drdma_send_flags::DRDMA_SEND_FENCE) {
        request = request.fence();
    }
    if has(drdma_send_flags::DRDMA_SEND_SOLICITED) {
        request = request.solicited();
    }
    // SAFETY: C promises an object.
    if let Some(ah) = unsafe { wr.ah.as_ref() } {
        request = request.to(&ah.address());
    }
    if has(drdma_send_flags::DRDMA_SEND_INLINE) {
        if wr.inline_data.is_null() && wr.inline_length > 0 {
            return Err(Failure::null("inline_data"));
        }
        let bytes: &[u8] = match wr.inline_length as usize {
            0 => &[],
            // SAFETY: C promises that many bytes.
            length => unsafe { slice::from_raw_parts(wr.inline_data.cast(), length) },
        };
        request = request.inline(bytes);
    }
    Ok(qp.lock().post_send(&request)?)
}

/// Posts requests, one behind the other. On failure, `bad_wr` (which may be NULL) is the first that was
/// not posted. The memory of their regions stays registered until they are polled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_post_send(
    qp: *mut drdma_qp,
    wr: *const drdma_send_wr,
    bad_wr: *mut *const drdma_send_wr,
) -> c_int {
    let mut at = wr;
    let result = status(|| {
        // SAFETY: C promises an object.
        let qp = unsafe { get(qp, "qp") }?;
        if wr.is_null() {
            return Err(Failure::null("wr"));
        }
        // SAFETY: C promises a list.
        while let Some(request) = unsafe { at.as_ref() } {
            // SAFETY: C promises what it points to.
            unsafe { post_send(qp, request) }?;
            at = request.next;
        }
        Ok(())
    });
    if result != 0 && !bad_wr.is_null() {
        // SAFETY: C promises the place.
        unsafe { *bad_wr = at };
    }
    result
}

/// The queue pairs of a request, locked.
struct Locked<'a>(Vec<(*const drdma_qp, MutexGuard<'a, QueuePair<'static>>)>);

impl<'a> Locked<'a> {
    /// # Safety
    /// C promises queue pairs.
    unsafe fn new(destinations: &'a [drdma_destination]) -> Result<Self, Failure> {
        let mut pairs = Vec::with_capacity(destinations.len());
        for destination in destinations {
            // SAFETY: the caller's promise.
            pairs.push(unsafe { get(destination.qp, "a destination's qp") }?);
        }
        // The order is always the same, so that two threads do not wait for each other.
        pairs.sort_by_key(|pair| std::ptr::from_ref(*pair));
        pairs.dedup_by_key(|pair| std::ptr::from_ref(*pair));
        let lock = |pair: &'a drdma_qp| (std::ptr::from_ref(pair), pair.lock());
        Ok(Self(pairs.into_iter().map(lock).collect()))
    }

    fn get(&self, qp: *const drdma_qp) -> &QueuePair<'static> {
        let at = self.0.binary_search_by_key(&qp, |(pair, _)| *pair);
        &self.0[at.expect("all of them are locked")].1
    }
}

/// # Safety
/// C promises what is behind the pointers.
unsafe fn post_partitioned<I: PartitionId + TryFrom<u16>>(
    ssq: &drdma_ssq,
    wr: &drdma_ssq_wr,
    region: &PartitionedRegion<'static, I>,
    destinations: &[drdma_destination],
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let pairs = unsafe { Locked::new(destinations) }?;
    // SAFETY: the caller's promise.
    let layout = |destination| unsafe { Layout::of(destination) };
    let layouts = destinations.iter().map(layout).collect::<Result<Vec<_>, _>>()?;
    let mut list = Vec::with_capacity(destinations.len());
    for (destination, layout) in destinations.iter().zip(&layouts) {
        let id = I::try_from(destination.partition).map_err(|_| {
            let text = format!("partition {} does not fit ids of 1 byte", destination.partition);
            Failure::new(libc::EINVAL, text)
        })?;
        let (remote_addr, rkey) = (destination.remote_addr, destination.rkey);
        let to = PartitionDestination::new(pairs.get(destination.qp), id).remote(remote_addr, rkey);
        list.push(lay_out!(to, layout));
    }
    let mut request = PartitionedWorkRequest::new(wr.wr_id, region)
        .operation(opcode(wr.opcode, wr.imm_data, "0 to 3")?)
        .rows_per_message(wr.rows_per_message)
        .destinations(&list);
    if !is_signaled(wr.send_flags, SHARED_FLAGS)? {
        request = request.unsignaled();
    }
    Ok(ssq.lock().post_ssq_send(&request)?)
}

/// Posts a request to a shared send queue. The memory of its regions stays registered until it is polled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_post_ssq_send(
    ssq: *mut drdma_ssq,
    wr: *const drdma_ssq_wr,
) -> c_int {
    status(|| {
        // SAFETY: C promises objects.
        let (ssq, wr) = unsafe { (get(ssq, "ssq")?, get(wr, "wr")?) };
        // SAFETY: C promises an array.
        let destinations = unsafe { array(wr.destinations, wr.num_destinations, "destinations") }?;
        // SAFETY: C promises an object.
        if let Some(region) = unsafe { wr.partitioned.as_ref() } {
            // SAFETY: C promises what they point to.
            unsafe {
                if let Some(by) = region.by.as_ref() {
                    return post_partitioned(ssq, wr, &region.build_by(by)?, destinations);
                }
                return match region.id_width {
                    1 => post_partitioned(ssq, wr, &region.build::<u8>()?, destinations),
                    2 => post_partitioned(ssq, wr, &region.build::<u16>()?, destinations),
                    other => {
                        let text = format!("id_width is {other}: it must be 1 or 2");
                        Err(Failure::new(libc::EINVAL, text))
                    }
                };
            }
        }
        let mut content = Vec::with_capacity(destinations.len());
        for destination in destinations {
            // SAFETY: C promises what it points to.
            let regions = unsafe { build(destination.regions, destination.num_regions) }?;
            // SAFETY: likewise.
            content.push((regions, unsafe { Layout::of(destination) }?));
        }
        // SAFETY: C promises queue pairs.
        let pairs = unsafe { Locked::new(destinations) }?;
        let list: Vec<_> = destinations
            .iter()
            .zip(&content)
            .map(|(destination, (regions, layout))| {
                let to = Destination::new(pairs.get(destination.qp))
                    .remote(destination.remote_addr, destination.rkey)
                    .regions(regions);
                lay_out!(to, layout)
            })
            .collect();
        let mut request = SharedWorkRequest::new(wr.wr_id)
            .operation(opcode(wr.opcode, wr.imm_data, "0 to 3")?)
            .row_mask(row_mask(wr.row_mask)?)
            .rows_per_message(wr.rows_per_message)
            .destinations(&list);
        if !is_signaled(wr.send_flags, SHARED_FLAGS)? {
            request = request.unsignaled();
        }
        Ok(ssq.lock().post_ssq_send(&request)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_signaled_unless_its_flag_says_otherwise() {
        let unsignaled = drdma_send_flags::DRDMA_SEND_UNSIGNALED as u32;
        let inline = drdma_send_flags::DRDMA_SEND_INLINE as u32;
        for known in [OWN_FLAGS, SHARED_FLAGS] {
            assert_eq!(is_signaled(0, known).ok(), Some(true));
            assert_eq!(is_signaled(unsignaled, known).ok(), Some(false));
            assert!(is_signaled(16, known).is_err());
            assert!(is_signaled(unsignaled | 1 << 31, known).is_err());
        }
        assert_eq!(is_signaled(inline | unsignaled, OWN_FLAGS).ok(), Some(false));
        assert!(is_signaled(inline, SHARED_FLAGS).is_err(), "no payload of a shared send queue");
    }
}
