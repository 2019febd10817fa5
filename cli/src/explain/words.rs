//! Reasons for failures, in the words of the job file.

use drdma_abi::completion::Status;
use drdma_semantics::failure::{Failure, Part, Reason, Which};

use crate::job::{Column, Extent, Job, Kind, Place, Region, Transport};

/// Why a post fails, beginning with the field that is at fault.
pub fn failure(job: &Job, index: usize, failure: &Failure) -> String {
    let post = &job.posts[index];
    let destination = usize::from(failure.destination);
    let of_post = format!("posts[{index}]");
    let of_destination = match post.shared {
        true => format!("{of_post}.destinations[{destination}]"),
        false => of_post.clone(),
    };
    let path = |which: &Which| match which {
        Which::Own(region) => format!("{of_destination}.regions[{region}]"),
        Which::Partitioned => format!("{of_post}.partitioned"),
    };
    match &failure.reason {
        Reason::Memory { region, part, .. } => {
            let part = &at_fault(job, index, destination, region, part);
            let field = path(region) + &field(part);
            match needed(job, index, destination, region, part) {
                Some(needed) => format!("{field}: {}", needed.outside(job)),
                None => format!("{field}: is outside its buffer"),
            }
        }
        Reason::UnequalElements(unequal) => format!(
            "{of_destination}.regions[{}]: has {} elements, regions[0] has {}; with row_mask \
             element all must have as many",
            unequal.region, unequal.found, unequal.expected
        ),
        Reason::MessageLength { len, limit } => {
            let qp = post.destinations.get(destination).map(|destination| &job.qps[destination.qp]);
            let why = match qp {
                Some(qp) if qp.transport == Transport::Ud => {
                    format!("the MTU of queue pair \"{}\", whose transport is ud", qp.name)
                }
                _ => "the limit of any message".to_owned(),
            };
            let rows = post.rows_per_message;
            format!(
                "{of_destination}: a message of up to {rows} rows has {len} B; {limit} B are {why}"
            )
        }
        Reason::Shape { region, error } => format!("{}: {error}", path(region)),
        Reason::Read { region, fault } => format!("{}: {fault}", path(region)),
        Reason::Value { region, row, element, error } => {
            format!("{}: row {row}, element {element}: {error}", path(region))
        }
        Reason::Key { region, row, key, error } => {
            format!("{}.partition_by.keys[{key}]: row {row}: {error}", path(region))
        }
        other => format!("{of_destination}: {other}"),
    }
}

/// Why a request fails that has no fault of its own.
pub fn status(job: &Job, index: usize, status: Status, destination: u16) -> String {
    let post = &job.posts[index];
    let qp = post.destinations.get(usize::from(destination)).map(|found| &job.qps[found.qp]);
    let name = qp.map_or("?", |qp| qp.name.as_str());
    let why = match status {
        Status::WrFlushError => "it was not sent: an earlier request on its queue failed",
        Status::RetryExceeded => "no acknowledgement came from the peer",
        Status::RnrRetryExceeded => "the peer stayed not ready to receive",
        Status::RemoteAccessError => "the peer refuses remote_addr or rkey",
        Status::RemoteInvalidRequestError => "the peer refuses the request as invalid",
        Status::RemoteOperationError => "the peer could not complete the request",
        _ => "the card refuses it",
    };
    format!("posts[{index}]: {why} (queue pair \"{name}\")")
}

/// Name of a part in a job file.
fn field(part: &Part) -> String {
    match part {
        Part::Bytes => String::new(),
        Part::Extent(index) => format!(".pattern[{index}]"),
        Part::Bitmap => ".bitmap".to_owned(),
        Part::FetchRows => ".fetch_rows".to_owned(),
        Part::Ids => ".ids".to_owned(),
        Part::Column(index) => format!(".columns[{index}]"),
        Part::Pointers => ".pointers".to_owned(),
        Part::Record { row, .. } => format!(".pointers[{row}]"),
        Part::Splitters => ".partition_by.splitters".to_owned(),
        Part::Key(index) => format!(".partition_by.keys[{index}]"),
        Part::Validity(index) => format!(".partition_by.keys[{index}].validity"),
        Part::Source(index) => format!(", what element {index} leads to"),
        Part::Buffer { element, buffer } => format!(", buffer {buffer} of element {element}"),
    }
}

/// A range of bytes of a buffer that a request needs.
struct Needed {
    buffer: usize,
    start: u128,
    end: u128,
    /// Description of the bytes, for messages.
    what: String,
}

impl Needed {
    fn outside(&self, job: &Job) -> String {
        let buffer = &job.buffers[self.buffer];
        let (name, len) = (&buffer.name, buffer.len());
        let Self { start, end, what, .. } = self;
        format!(
            "{what} from byte {start} on end at byte {end} of buffer \"{name}\", which has {len} B"
        )
    }
}

/// The part that is at fault where a card refuses `part`. All records of a region are read under one key: if one lies
/// outside its buffer, the card may refuse another one, which does not.
fn at_fault(job: &Job, post: usize, destination: usize, which: &Which, part: &Part) -> Part {
    let is_outside = |part: &Part| {
        let needed = needed(job, post, destination, which, part);
        needed.is_some_and(|needed| needed.end > job.buffers[needed.buffer].len() as u128)
    };
    let region = match which {
        Which::Own(region) => &job.posts[post].destinations[destination].regions[*region],
        Which::Partitioned => return *part,
    };
    match (region, part) {
        (Region::PointerMapped { pointers, pattern, .. }, Part::Record { .. }) => {
            let extents = |row| (0..pattern.len()).map(move |extent| Part::Record { row, extent });
            let mut records = (0..pointers.len() as u64).flat_map(extents);
            records.find(is_outside).unwrap_or(*part)
        }
        _ => *part,
    }
}

fn needed(
    job: &Job,
    post: usize,
    destination: usize,
    which: &Which,
    part: &Part,
) -> Option<Needed> {
    let post = &job.posts[post];
    let run = |place: Place, further: u64, len: u128, what: String| {
        let start = u128::from(place.offset) + u128::from(further);
        Some(Needed { buffer: place.buffer, start, end: start + len, what })
    };
    let column = |column: &Column, rows: u32| {
        let (entries, width) = (u128::from(rows), u128::from(column.width));
        let (len, what) = match column.kind {
            Kind::Bits { first } => {
                ((entries + u128::from(first)).div_ceil(8), format!("the bits of {rows} rows"))
            }
            Kind::Varlen { .. } => {
                ((entries + 1) * width, format!("the offsets of {rows} values, of {width} B,"))
            }
            _ => (entries * width, format!("{rows} values of {width} B")),
        };
        run(column.base, 0, len, what)
    };
    let bits = |place: &Place, rows: u32| {
        run(*place, 0, u128::from(rows.div_ceil(8)), format!("the bits of {rows} rows"))
    };
    let Which::Own(region) = which else {
        let region = post.partitioned.as_ref()?;
        return match part {
            Part::Ids => {
                let width = region.width as u128;
                let what = format!("the ids of {} rows", region.rows);
                run(region.ids, 0, u128::from(region.rows) * width, what)
            }
            Part::Column(index) => column(region.columns.get(*index)?, region.rows),
            Part::Key(index) => column(&region.by.as_ref()?.keys.get(*index)?.column, region.rows),
            Part::Validity(index) => {
                let (place, first) = region.by.as_ref()?.keys.get(*index)?.validity?;
                let len = (u128::from(first) + u128::from(region.rows)).div_ceil(8);
                run(place, 0, len, format!("the bits of {} rows", region.rows))
            }
            _ => None,
        };
    };
    match (post.destinations.get(destination)?.regions.get(*region)?, part) {
        (Region::Contiguous { base, len }, Part::Bytes) => {
            run(*base, 0, (*len).into(), format!("{len} B"))
        }
        (Region::Strided { base, period, count, pattern }, Part::Extent(index)) => {
            let Extent { offset, len, kind } = pattern.get(*index)?;
            let len = kind.entry_len(*len);
            let span = u128::from(count.saturating_sub(1)) * u128::from(*period);
            let what = format!("{count} extents of {len} B, {period} B apart,");
            run(*base, *offset, span + u128::from(len), what)
        }
        (Region::Bitmapped { bitmap, rows, .. }, Part::Bitmap) => bits(bitmap, *rows),
        (Region::Bitmapped { fetch_rows, rows, .. }, Part::FetchRows) => {
            bits(fetch_rows.as_ref()?, *rows)
        }
        (Region::Bitmapped { rows, columns, .. }, Part::Column(index)) => {
            column(columns.get(*index)?, *rows)
        }
        (Region::PointerMapped { pointers, pattern, .. }, Part::Record { row, extent }) => {
            let Extent { offset, len, .. } = pattern.get(*extent)?;
            let what = format!("the {len} B of pattern[{extent}]");
            run(*pointers.get(usize::try_from(*row).ok()?)?, *offset, (*len).into(), what)
        }
        _ => None,
    }
}
