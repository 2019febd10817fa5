//! The checks of a work queue entry, in the order of docs/semantics.md: the first that fails gives
//! the status.

mod contents;
mod covered;

use std::{collections::HashSet, ops::Range};

use drdma_abi::{
    Layout as _,
    completion::Status,
    register::MemoryRegionEntry,
    roce::Transport,
    work_request::{
        Destination as DestinationHead, GRANULE, LOG_MAX_READ, MAX_DESTINATIONS, MAX_INLINE,
        MAX_MERGE_THRESHOLD, MAX_REGIONS, MAX_REMOTE_COLUMNS, MAX_REQUEST_REGIONS,
        MAX_WQE_GRANULES, MessageLayout, Opcode, RegionType, RemoteColumn, WQE_MAGIC, WqeHeader,
        blocks, flags,
    },
};

use crate::{
    failure::{Failure, Part, Reason, Which, refuse},
    partitioned::Partitioned,
    region::{RowMask, decode_region},
    request::{Destination, FetchPlan, Request},
};
pub(crate) use contents::count_rows;
pub use contents::{Admitted, check_contents};
pub(crate) use covered::{check_columns, check_memory};
use covered::{check_entries, check_ids};

/// Knowledge of a card that the checks of a request need.
pub trait Directory {
    /// The memory region of that key, if it is valid.
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry>;

    /// The queue pair of that number; `None` if the card has none of that number.
    fn queue_pair(&self, qp: u32) -> Option<QueuePair>;
}

/// State of a queue pair that the checks need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePair {
    /// The queue pair was made ready to send.
    pub ready: bool,
    /// The queue pair is in the error state.
    pub error: bool,
    /// Transport of the queue pair.
    pub transport: Transport,
    /// Path MTU of the queue pair in bytes.
    pub mtu: u32,
    /// Number of the queue pair's protection domain.
    pub pd: u32,
}

/// Properties of an entry that are known before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Ring position of its first block.
    pub position: u32,
    /// Number of blocks from there to the producer's position.
    pub blocks: u32,
    /// The queue pair that the queue belongs to; `None` for a shared one.
    pub owner: Option<u32>,
    /// Number of the queue's protection domain.
    pub pd: u32,
}

/// The keys that a queue may use: those of its protection domain.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    pub directory: &'a dyn Directory,
    pub pd: u32,
}

impl Keys<'_> {
    /// Returns the addresses that a key allows; `None` if the queue may not use it.
    pub(crate) fn allowed(&self, lkey: u32) -> Option<Range<u128>> {
        let entry = self.directory.memory_region(lkey).filter(|entry| entry.pd == self.pd)?;
        Some(u128::from(entry.addr)..u128::from(entry.addr) + u128::from(entry.len))
    }

    /// Returns the reason why a range is refused that is not within what the key allows.
    fn refused(&self, (region, part): (Which, Part), lkey: u32, start: u128, end: u128) -> Reason {
        match self.directory.memory_region(lkey) {
            Some(entry) if entry.pd != self.pd => Reason::Domain { region, part, lkey },
            _ => Reason::Memory { region, part, lkey, start, end },
        }
    }

    /// Checks that `len` bytes from `start` on are in the memory region of that key.
    fn cover(&self, what: (Which, Part), lkey: u32, start: u128, len: u128) -> Result<(), Reason> {
        let end = start + len;
        match self.allowed(lkey) {
            Some(allowed) if start >= allowed.start && end <= allowed.end => Ok(()),
            _ => Err(self.refused(what, lkey, start, end)),
        }
    }
}

/// Check 1: the head of an entry.
///
/// # Errors
/// `local_qp_operation_error` if a field is wrong.
pub fn check_head(bytes: &[u8; WqeHeader::SIZE], posted: &Posted) -> Result<WqeHeader, Failure> {
    let head = WqeHeader::decode(bytes);
    let (max, known) = match posted.owner {
        Some(_) => (1, flags::OWN),
        None => (MAX_DESTINATIONS as u16, flags::SHARED),
    };
    let (log_max_read, threshold) = (head.fetch_log_max_read, head.fetch_merge_threshold);
    let plan = head.flags & flags::FETCH_PLAN != 0;
    let granules = head.granules as usize;
    let tests = [
        ("magic", u64::from(head.magic), head.magic == WQE_MAGIC),
        ("opcode", u64::from(head.opcode), Opcode::from_code(head.opcode).is_some()),
        ("flags", u64::from(head.flags), head.flags & !known == 0),
        (
            "fetch_log_max_read",
            log_max_read.into(),
            if plan { LOG_MAX_READ.contains(&log_max_read) } else { log_max_read == 0 },
        ),
        (
            "fetch_merge_threshold",
            threshold.into(),
            if plan { threshold <= MAX_MERGE_THRESHOLD } else { threshold == 0 },
        ),
        ("rows_per_message", u64::from(head.rows_per_message), head.rows_per_message != 0),
        ("destinations", u64::from(head.destinations), (1..=max).contains(&head.destinations)),
        ("position", u64::from(head.position), head.position == posted.position),
        (
            "granules",
            u64::from(head.granules),
            (WqeHeader::SIZE / GRANULE..=MAX_WQE_GRANULES).contains(&granules)
                && blocks(granules) <= posted.blocks as usize,
        ),
    ];
    match tests.iter().find(|(_, _, good)| !good) {
        Some((field, value, _)) => refuse(Reason::Head { field, value: *value }),
        None => Ok(head),
    }
}

/// Checks 1 and 2: a whole entry, as many granules as its head says.
///
/// # Errors
/// The failure of the first check that fails.
pub fn check_entry(
    entry: &[u8],
    posted: &Posted,
    directory: &dyn Directory,
) -> Result<Request, Failure> {
    let Some(head) = entry.first_chunk() else {
        return refuse(Reason::Length { granules: (entry.len() / GRANULE) as u32 });
    };
    let head = check_head(head, posted)?;
    let size = head.granules as usize * GRANULE;
    let Some(mut rest) = entry.get(WqeHeader::SIZE..size) else {
        return refuse(Reason::Length { granules: head.granules });
    };
    let opcode = Opcode::from_code(head.opcode).expect("checked");
    let keys = Keys { directory, pd: posted.pd };
    let mut partitioned = None;
    if head.flags & flags::PARTITIONED != 0 {
        let (region, after) = check_partitioned(rest, keys)?;
        partitioned = Some(region);
        rest = after;
    }
    let is_inline = head.flags & flags::INLINE != 0;
    let mut inline = None;
    let count = usize::from(head.destinations);
    let mut seen = Seen {
        queue_pairs: HashSet::with_capacity(count),
        partitions: HashSet::with_capacity(if partitioned.is_some() { count } else { 0 }),
        regions: 0,
    };
    let mut destinations = Vec::with_capacity(count);
    for index in 0..head.destinations {
        let at = |failure: Failure| Failure { destination: index, ..failure };
        let Some((bytes, after)) = rest.split_first_chunk::<{ DestinationHead::SIZE }>() else {
            return refuse(Reason::Length { granules: head.granules }).map_err(at);
        };
        let destination = DestinationHead::decode(bytes);
        check_partition(&destination, partitioned.as_ref(), &mut seen).map_err(at)?;
        check_inline(&destination, is_inline).map_err(at)?;
        check_layout(&destination, opcode, is_inline).map_err(at)?;
        check_destination(&destination, opcode, posted, &mut seen, directory).map_err(at)?;
        rest = after;
        let remote_columns =
            take_remote_columns(&destination, head.granules, &mut rest).map_err(at)?;
        let mut regions = Vec::with_capacity(usize::from(destination.regions));
        for i in 0..usize::from(destination.regions) {
            let fails = |status, reason| Failure {
                status,
                destination: index,
                queue_pair: Some(destination.qp),
                reason,
            };
            let (region, after) = decode_region(RegionType::of(destination.types, i), rest)
                .map_err(|error| {
                    fails(
                        Status::LocalQpOperationError,
                        Reason::Shape { region: Which::Own(i), error },
                    )
                })?;
            check_memory(Which::Own(i), &region, keys)
                .map_err(|reason| fails(Status::LocalProtectionError, reason))?;
            rest = after;
            regions.push(region);
        }
        let length = || Failure {
            status: Status::LocalQpOperationError,
            destination: index,
            queue_pair: Some(destination.qp),
            reason: Reason::Length { granules: head.granules },
        };
        if is_inline {
            let bytes = usize::from(destination.inline_bytes);
            let (payload, after) =
                rest.split_at_checked(bytes.next_multiple_of(GRANULE)).ok_or_else(length)?;
            inline = Some(payload[..bytes].to_vec());
            rest = after;
        }
        let last = index + 1 == head.destinations;
        if last && !rest.is_empty() {
            return Err(length());
        }
        destinations.push(Destination {
            qp: destination.qp,
            remote_addr: destination.remote_addr,
            rkey: destination.rkey,
            partition: destination.partition,
            layout: MessageLayout::from_code(destination.message_layout).expect("checked"),
            remote_columns,
            regions,
        });
    }
    Ok(Request {
        wr_id: head.wr_id,
        opcode,
        imm: head.imm,
        row_mask: match head.flags & flags::ELEMENT_MASK {
            0 => RowMask::Period,
            _ => RowMask::Element,
        },
        rows_per_message: head.rows_per_message,
        signaled: head.flags & flags::UNSIGNALED == 0,
        fetch: (head.flags & flags::FETCH_PLAN != 0).then_some(FetchPlan {
            log_max_read: head.fetch_log_max_read,
            merge_threshold: head.fetch_merge_threshold,
        }),
        inline,
        partitioned,
        destinations,
    })
}

/// Totals over the destinations before.
#[derive(Debug)]
struct Seen {
    queue_pairs: HashSet<u32>,
    partitions: HashSet<u16>,
    /// Number of regions of these destinations together.
    regions: usize,
}

/// Check 2, first: the partitioned region of a request, and the granules behind it. No queue pair
/// is known yet that could be at fault.
fn check_partitioned<'a>(
    granules: &'a [u8],
    keys: Keys<'_>,
) -> Result<(Partitioned, &'a [u8]), Failure> {
    let fails = |status, reason| Failure { status, destination: 0, queue_pair: None, reason };
    let which = Which::Partitioned;
    let (region, rest) = Partitioned::decode(granules).map_err(|error| {
        fails(Status::LocalQpOperationError, Reason::Shape { region: which, error })
    })?;
    if region.rows > 0 {
        check_ids(&region, keys)
            .and_then(|()| check_columns(which, &region.columns, region.rows, keys))
            .and_then(|()| check_entries(which, &region.entries, region.rows, keys))
            .map_err(|reason| fails(Status::LocalProtectionError, reason))?;
    }
    Ok((region, rest))
}

/// Check 2a: the fields of a destination's head that a partitioned request uses in another way.
fn check_partition(
    head: &DestinationHead,
    region: Option<&Partitioned>,
    seen: &mut Seen,
) -> Result<(), Failure> {
    let partition = head.partition;
    let (max_regions, max_partition) =
        region.map_or((MAX_REGIONS as u16, 0), |region| (0, region.max_id()));
    let tests = [("regions", head.regions, max_regions), ("partition", partition, max_partition)];
    if let Some((field, value, _)) = tests.iter().find(|(_, value, max)| value > max) {
        return refuse(Reason::Destination { field, value: u64::from(*value) });
    }
    seen.regions += usize::from(head.regions);
    if seen.regions > MAX_REQUEST_REGIONS {
        return refuse(Reason::Regions { regions: seen.regions, limit: MAX_REQUEST_REGIONS });
    }
    if region.is_some() && !seen.partitions.insert(partition) {
        return refuse(Reason::Partition { partition });
    }
    Ok(())
}

/// Check 2a: the fields of a destination's head about an inline payload behind it.
fn check_inline(head: &DestinationHead, is_inline: bool) -> Result<(), Failure> {
    let bytes = usize::from(head.inline_bytes);
    let good = bytes <= if is_inline { MAX_INLINE } else { 0 };
    let tests = [
        ("regions", head.regions, !is_inline || head.regions == 0),
        ("inline_bytes", bytes as u16, good),
    ];
    match tests.iter().find(|(_, _, good)| !good) {
        Some((field, value, _)) => refuse(Reason::Destination { field, value: u64::from(*value) }),
        None => Ok(()),
    }
}

/// Check 2a: the fields of a destination's head about the layout of its messages.
fn check_layout(head: &DestinationHead, opcode: Opcode, is_inline: bool) -> Result<(), Failure> {
    let (layout, columns) = (head.message_layout, head.remote_columns);
    let known = MessageLayout::from_code(layout);
    let by_columns = known == Some(MessageLayout::Columns);
    let possible = by_columns && opcode.is_write() && usize::from(columns) <= MAX_REMOTE_COLUMNS;
    let tests = [
        ("message_layout", layout, known.is_some() && !(is_inline && by_columns)),
        ("remote_columns", columns, columns == 0 || possible),
    ];
    match tests.iter().find(|(_, _, good)| !good) {
        Some((field, value, _)) => refuse(Reason::Destination { field, value: u64::from(*value) }),
        None => Ok(()),
    }
}

/// Check 2a: the remote addresses of a destination, which stand behind its head.
fn take_remote_columns(
    head: &DestinationHead,
    granules: u32,
    rest: &mut &[u8],
) -> Result<Vec<(u64, u32)>, Failure> {
    let mut columns = Vec::with_capacity(head.remote_columns.into());
    for _ in 0..head.remote_columns {
        let Some((bytes, after)) = rest.split_first_chunk::<{ RemoteColumn::SIZE }>() else {
            return refuse(Reason::Length { granules });
        };
        let RemoteColumn { addr, rkey, reserved } = RemoteColumn::decode(bytes);
        if reserved != 0 {
            let field = "remote column's reserved";
            return refuse(Reason::Destination { field, value: reserved.into() });
        }
        columns.push((addr, rkey));
        *rest = after;
    }
    Ok(columns)
}

/// Check 2a: the head of a destination, and its queue pair.
fn check_destination(
    head: &DestinationHead,
    opcode: Opcode,
    posted: &Posted,
    seen: &mut Seen,
    directory: &dyn Directory,
) -> Result<(), Failure> {
    let regions = usize::from(head.regions);
    let used = if regions >= 16 { u32::MAX } else { (1 << (2 * regions)) - 1 };
    let tests = [
        ("reserved2", head.reserved2, head.reserved2 == 0),
        ("types", u64::from(head.types), head.types & !used == 0),
    ];
    if let Some((field, value, _)) = tests.iter().find(|(_, _, good)| !good) {
        return refuse(Reason::Destination { field, value: *value });
    }
    let qp = head.qp;
    let problem = |problem| Reason::QueuePair { qp, problem };
    let Some(queue_pair) = directory.queue_pair(qp) else {
        return refuse(problem("does not exist"));
    };
    if posted.owner.is_some_and(|owner| owner != qp) {
        return refuse(problem("is not the owner of the queue"));
    }
    if !seen.queue_pairs.insert(qp) {
        return refuse(problem("is named twice"));
    }
    if queue_pair.error {
        return Err(Failure {
            status: Status::WrFlushError,
            destination: 0,
            queue_pair: Some(qp),
            reason: problem("is in the error state"),
        });
    }
    if !queue_pair.ready {
        return refuse(problem("is not ready to send"));
    }
    if queue_pair.pd != posted.pd {
        return refuse(problem("is in another protection domain than the queue"));
    }
    if opcode.is_write() && queue_pair.transport == Transport::Ud {
        return refuse(problem("is a datagram queue pair, which cannot WRITE"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/checks.rs"]
mod tests;
