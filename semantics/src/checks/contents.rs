//! Check 3: bitmaps, pointers, ids and entries that must be read before the first packet is sent.

use std::sync::Arc;

use drdma_abi::{
    Layout as _,
    completion::Status,
    roce::Transport,
    work_request::{Element, MAX_MESSAGE},
};

use super::{Directory, Keys, QueuePair};
use crate::{
    failure::{Failure, Part, Reason, Which},
    kinds::{self, Buffer, Entry, Kind, Kinds, Selection, ValueError},
    memory::HostMemory,
    messages::Messages,
    partitioned::Partitioned,
    region::{Region, RowMask},
    request::Request,
    rows::{Limit, POINTER, Units, selected},
    stream::Wrong,
};

/// A destination that passed every check.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// Messages of the destination.
    pub messages: Messages,
    /// For each region, or the shared one, the memory where the bytes of its rows may lie.
    pub limits: Vec<Limit>,
}

/// Check 3: reads bitmaps, pointers, ids and entries, for a queue of protection domain `pd`.
/// Returns one [`Admitted`] a destination.
///
/// # Errors
/// The failure of the first check that fails.
pub fn check_contents<M: HostMemory + ?Sized>(
    request: &Request,
    pd: u32,
    directory: &dyn Directory,
    memory: &M,
) -> Result<Vec<Admitted>, Failure> {
    let keys = Keys { directory, pd };
    let failed = |reason| Failure {
        status: Status::LocalProtectionError,
        destination: 0,
        queue_pair: request.destinations.first().map(|destination| destination.qp),
        reason,
    };
    let ids = match &request.partitioned {
        Some(region) => ids(region, keys, memory).map_err(failed)?,
        None => None,
    };
    let counts = request.partitioned.as_ref().map(|region| {
        let read = |fault| failed(Reason::Read { region: Which::Partitioned, fault });
        region.count(memory, ids.as_deref()).map_err(read)
    });
    let counts = counts.transpose()?;
    let shared = match &request.partitioned {
        Some(region) if region.rows > 0 => {
            let sources = sources(Which::Partitioned, &region.entries, keys, memory);
            Some(Limit { records: None, sources: sources.map_err(failed)?, ids })
        }
        _ => None,
    };
    let mut admitted = Vec::with_capacity(request.destinations.len());
    for (index, destination) in request.destinations.iter().enumerate() {
        let fails = |status, reason| Failure {
            status,
            destination: index as u16,
            queue_pair: Some(destination.qp),
            reason,
        };
        let mut rows = Vec::with_capacity(destination.regions.len());
        let mut limits: Vec<_> = shared.iter().cloned().collect();
        for (i, region) in destination.regions.iter().enumerate() {
            let (count, limit) = count_rows(Which::Own(i), region, keys, memory)
                .map_err(|reason| fails(Status::LocalProtectionError, reason))?;
            rows.push(count);
            limits.push(limit);
        }
        let (row_mask, packed) = (request.row_mask, request.rows_per_message);
        let messages = match (&request.partitioned, &counts) {
            _ if request.inline.is_some() => {
                let len = request.inline.as_ref().map_or(0, Vec::len);
                Messages::of_equal(1, len as u64, 1)
            }
            (Some(region), Some(counts)) => {
                let rows = counts.get(usize::from(destination.partition)).copied().unwrap_or(0);
                Messages::of_equal(rows, region.row_len(), packed)
            }
            _ => Messages::new(&destination.regions, &rows, row_mask, packed)
                .map_err(|error| fails(Status::LocalQpOperationError, error.into()))?,
        };
        let messages = match request.stream(index, &limits) {
            Some(stream) => {
                let shared = request.partitioned.is_some();
                Messages::walked(stream, memory).map_err(|wrong| {
                    let reason = Reason::of_wrong(wrong, shared);
                    fails(reason.status(), reason)
                })?
            }
            None => messages,
        };
        let limit = match directory.queue_pair(destination.qp) {
            Some(QueuePair { transport: Transport::Ud, mtu, .. }) => u64::from(mtu),
            _ => MAX_MESSAGE,
        };
        let len = messages.longest();
        if len > u128::from(limit) {
            return Err(fails(Status::LocalLengthError, Reason::MessageLength { len, limit }));
        }
        admitted.push(Admitted { messages, limits });
    }
    Ok(admitted)
}

impl Reason {
    /// Reason for an error of a row, of a destination's own regions or of the shared one.
    fn of_wrong(wrong: Wrong, shared: bool) -> Self {
        match wrong {
            Wrong::Value(region, wrong) => {
                let region = if shared { Which::Partitioned } else { Which::Own(region) };
                let (row, element, error) = (wrong.row, wrong.element, wrong.error);
                Self::Value { region, row, element, error }
            }
            Wrong::Values { unit, values, expected } => Self::Values { unit, values, expected },
            Wrong::Fault(fault) => {
                let region = if shared { Which::Partitioned } else { Which::Own(0) };
                Self::Read { region, fault }
            }
            Wrong::Lost => Self::Lost,
        }
    }

    /// Status of a request whose rows cannot be sent for that reason.
    fn status(&self) -> Status {
        match self {
            Self::Values { .. } => Status::LocalQpOperationError,
            _ => Status::LocalProtectionError,
        }
    }
}

/// Returns the ids of a partitioned region that makes them from keys.
fn ids<M: HostMemory + ?Sized>(
    region: &Partitioned,
    keys: Keys<'_>,
    memory: &M,
) -> Result<Option<Arc<[u16]>>, Reason> {
    let Some(by) = region.by.as_ref().filter(|_| region.rows > 0) else { return Ok(None) };
    let which = Which::Partitioned;
    let entries: Vec<Entry> = by.keys.iter().map(|key| key.entry).collect();
    let sources = sources(which, &entries, keys, memory)?;
    let ids = by.ids(region.rows, region.ids, &sources, memory).map_err(|wrong| {
        let (row, error) = (wrong.row, wrong.error);
        match (wrong.key, error) {
            (None, ValueError::Fault(fault)) => Reason::Read { region: which, fault },
            (key, error) => Reason::Key { region: which, row, key: key.unwrap_or(0), error },
        }
    })?;
    Ok(Some(ids.into()))
}

/// Returns the memory that entries may lead to; tables of buffers are read, and every buffer must
/// be in the memory region of its key.
fn sources<M: HostMemory + ?Sized>(
    which: Which,
    entries: &[Entry],
    keys: Keys<'_>,
    memory: &M,
) -> Result<Arc<[kinds::Source]>, Reason> {
    let source = |(index, entry): (usize, &Entry)| match entry.kind {
        Kind::Offsets { lkey, .. } => Ok(kinds::Source::Data(keys.allowed(lkey).unwrap_or(0..0))),
        Kind::Views { table, count, .. } => {
            let buffer = |buffer: u32| {
                let addr = table.wrapping_add(u64::from(buffer) * Element::SIZE as u64);
                let mut bytes = [0; Element::SIZE];
                memory
                    .read(addr, &mut bytes)
                    .map_err(|fault| Reason::Read { region: which, fault })?;
                let Element { offset, len, lkey } = Element::decode(&bytes);
                let part = Part::Buffer { element: index, buffer };
                keys.cover((which, part), lkey, offset.into(), len.into())?;
                Ok(Buffer { addr: offset, len })
            };
            Ok(kinds::Source::Buffers((0..count).map(buffer).collect::<Result<_, Reason>>()?))
        }
        _ => Ok(kinds::Source::Checked),
    };
    entries.iter().enumerate().map(source).collect()
}

/// Counts the rows of a region with kinds, and follows every entry.
fn count_kinds<M: HostMemory + ?Sized>(
    which: Which,
    region: &Kinds,
    keys: Keys<'_>,
    memory: &M,
) -> Result<(u64, Limit), Reason> {
    if region.is_empty() {
        return Ok((0, Limit::default()));
    }
    let records = match region.rows {
        Selection::Pointers { target_lkey, .. } | Selection::Chains { target_lkey, .. } => {
            Some(keys.allowed(target_lkey).unwrap_or(0..0))
        }
        _ => None,
    };
    let sources = sources(which, &region.entries, keys, memory)?;
    let limit = Limit { records, sources, ids: None };
    let regions = [Region::Kinds(region.clone())];
    let limits = [limit];
    let mut units = Units::with_limits(&regions, RowMask::Period, &limits);
    let (mut rows, mut values) = (0, Vec::new());
    while units.next_values(memory, &mut values).map_err(|(_, wrong)| Reason::Value {
        region: which,
        row: wrong.row,
        element: wrong.element,
        error: wrong.error,
    })? {
        rows += 1;
    }
    let [limit] = limits;
    Ok((rows, limit))
}

/// Counts the rows of a region, and returns the memory where its records may be; every pointer is
/// followed.
pub(crate) fn count_rows<M: HostMemory + ?Sized>(
    which: Which,
    region: &Region,
    keys: Keys<'_>,
    memory: &M,
) -> Result<(u64, Limit), Reason> {
    let read = |fault| Reason::Read { region: which, fault };
    match region {
        Region::Kinds(region) => count_kinds(which, region, keys, memory),
        Region::Contiguous { .. } => Ok((1, Limit::default())),
        Region::Strided { count, .. } => Ok((u64::from(*count), Limit::default())),
        Region::Bitmapped { bitmap, rows, .. } => {
            Ok((selected(memory, *bitmap, *rows).map_err(read)?, Limit::default()))
        }
        Region::PointerMapped { count: 0, .. } => Ok((0, Limit::default())),
        Region::PointerMapped { pointers, count, target_lkey, pattern, .. } => {
            let allowed = keys.allowed(*target_lkey).unwrap_or(0..0);
            let limits = [Limit { records: Some(allowed), ..Limit::default() }];
            let regions = std::slice::from_ref(region);
            let mut units = Units::with_limits(regions, RowMask::Period, &limits);
            let (mut record, mut row) = (Vec::new(), 0);
            let array = *pointers..pointers.saturating_add(u64::from(*count) * POINTER);
            loop {
                match units.next(memory, &mut record) {
                    Ok(true) => row += 1,
                    Ok(false) => break,
                    Err(fault) if array.contains(&fault.addr) => return Err(read(fault)),
                    Err(fault) => {
                        let (lkey, start) = (*target_lkey, u128::from(fault.addr));
                        let end = start + fault.len as u128;
                        // The fragments before the failing one were in bounds and are in `record`:
                        // their number is its index.
                        let extent = record.len().min(pattern.len() - 1);
                        let part = Part::Record { row, extent };
                        return Err(keys.refused((which, part), lkey, start, end));
                    }
                }
            }
            let [limit] = limits;
            Ok((u64::from(*count), limit))
        }
    }
}
