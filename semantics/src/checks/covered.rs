//! Check 2, memory: all bytes that a region's description covers are in the memory regions of its
//! keys.

use drdma_abi::work_request::Element;

use super::Keys;
use crate::{
    failure::{Part, Reason, Which},
    kinds::{Entry, Kind, Kinds, Selection},
    partitioned::Partitioned,
    region::{Column, Region},
    rows::POINTER,
};

/// Checks that all values of every column, sent or not, are in the memory regions of their keys.
pub(crate) fn check_columns(
    region: Which,
    columns: &[Column],
    rows: u32,
    keys: Keys<'_>,
) -> Result<(), Reason> {
    columns.iter().enumerate().try_for_each(|(index, column)| {
        let len = u128::from(rows) * u128::from(column.width);
        let part = Part::Column(index);
        keys.cover((region, part), column.lkey, column.base.into(), len)
    })
}

/// Checks that the ids of a partitioned region, or the splitters and the keys that they are made
/// from, are in the memory regions of their keys.
pub(super) fn check_ids(region: &Partitioned, keys: Keys<'_>) -> Result<(), Reason> {
    let which = Which::Partitioned;
    let cover = |part, lkey, start: u64, len| keys.cover((which, part), lkey, start.into(), len);
    let Some(by) = &region.by else {
        return cover(Part::Ids, region.lkey, region.ids, region.size().into());
    };
    if region.size() > 0 {
        cover(Part::Splitters, region.lkey, region.ids, region.size().into())?;
    }
    by.keys.iter().enumerate().try_for_each(|(index, key)| {
        let entry = &key.entry;
        cover(Part::Key(index), entry.lkey, entry.offset, entry.column_len(region.rows))?;
        check_source((which, Part::Key(index)), &entry.kind, keys)?;
        key.validity.map_or(Ok(()), |validity| {
            cover(Part::Validity(index), validity.lkey, validity.bitmap, validity.len(region.rows))
        })
    })
}

/// Checks that the entries of all rows of every column with a kind, sent or not, are in the memory
/// regions of their keys, and also dictionaries and tables of buffers.
pub(super) fn check_entries(
    region: Which,
    entries: &[Entry],
    rows: u32,
    keys: Keys<'_>,
) -> Result<(), Reason> {
    entries.iter().enumerate().try_for_each(|(index, entry)| {
        let part = Part::Column(index);
        keys.cover((region, part), entry.lkey, entry.offset.into(), entry.column_len(rows))?;
        check_source((region, Part::Source(index)), &entry.kind, keys)
    })
}

/// Checks that a dictionary, or a table of buffers, is in the memory region of its key.
fn check_source(what: (Which, Part), kind: &Kind, keys: Keys<'_>) -> Result<(), Reason> {
    let (lkey, start, len) = match *kind {
        Kind::Views { table, count, lkey } if count > 0 => {
            (lkey, table, u128::from(count) * Element::SIZE as u128)
        }
        Kind::Dictionary { values, width, count, lkey, .. } if count > 0 => {
            (lkey, values, u128::from(count) * u128::from(width))
        }
        _ => return Ok(()),
    };
    keys.cover(what, lkey, start.into(), len)
}

/// Checks the memory of a region with kinds, as [`check_memory`] does.
fn check_kinds(which: Which, region: &Kinds, keys: Keys<'_>) -> Result<(), Reason> {
    match region.rows {
        _ if region.is_empty() => Ok(()),
        Selection::Bitmap { bitmap, first, rows, lkey } => {
            let bytes = (u128::from(first) + u128::from(rows)).div_ceil(8);
            keys.cover((which, Part::Bitmap), lkey, bitmap.into(), bytes)?;
            check_entries(which, &region.entries, rows, keys)
        }
        Selection::Periods { base, period, count, lkey } => {
            let span = u128::from(count - 1) * u128::from(period);
            region.entries.iter().enumerate().try_for_each(|(index, entry)| {
                let start = u128::from(base) + u128::from(entry.offset);
                let len = span + u128::from(entry.kind.entry_len());
                keys.cover((which, Part::Extent(index)), lkey, start, len)?;
                check_source((which, Part::Source(index)), &entry.kind, keys)
            })
        }
        Selection::Pointers { pointers, count, lkey, .. }
        | Selection::Chains { pointers, count, lkey, .. } => {
            let bytes = u128::from(count) * u128::from(POINTER);
            keys.cover((which, Part::Pointers), lkey, pointers.into(), bytes)?;
            let mut entries = region.entries.iter().enumerate();
            entries.try_for_each(|(index, entry)| {
                check_source((which, Part::Source(index)), &entry.kind, keys)
            })
        }
    }
}

/// Check 2b, memory: every byte that the description covers is in the memory region of its key.
pub(crate) fn check_memory(which: Which, region: &Region, keys: Keys<'_>) -> Result<(), Reason> {
    let covered = |part, lkey, start, len| keys.cover((which, part), lkey, start, len);
    match region {
        Region::Contiguous { addr, len, lkey } => {
            covered(Part::Bytes, *lkey, (*addr).into(), (*len).into())
        }
        Region::Strided { count: 0, .. }
        | Region::Bitmapped { rows: 0, .. }
        | Region::PointerMapped { count: 0, .. } => Ok(()),
        Region::Strided { base, period, count, lkey, pattern } => {
            let span = u128::from(count - 1) * u128::from(*period);
            pattern.iter().enumerate().try_for_each(|(index, extent)| {
                let start = u128::from(*base) + u128::from(extent.offset);
                covered(Part::Extent(index), *lkey, start, span + u128::from(extent.len))
            })
        }
        Region::Bitmapped { bitmap, rows, lkey, columns, fetch_rows } => {
            let bytes = u128::from(rows.div_ceil(8));
            covered(Part::Bitmap, *lkey, (*bitmap).into(), bytes)?;
            if let Some(fetch) = fetch_rows {
                covered(Part::FetchRows, fetch.lkey, fetch.bitmap.into(), bytes)?;
            }
            check_columns(which, columns, *rows, keys)
        }
        Region::PointerMapped { pointers, count, lkey, .. } => {
            covered(Part::Pointers, *lkey, (*pointers).into(), u128::from(*count) * 8)
        }
        Region::Kinds(region) => check_kinds(which, region, keys),
    }
}
