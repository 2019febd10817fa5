//! Selections: which rows of a batch go to which destination.

use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};

use crate::{
    SendError,
    copy::Copier,
    parts::{Growth, Parts},
};

/// Entry of [`Targets::by_id`] for an id without a destination.
const NOBODY: u16 = u16::MAX;

/// Which rows of a batch go to which partition.
#[derive(Clone, Debug)]
pub enum Selection {
    /// A partition id of one byte a row. Rows whose partition has no destination are not sent.
    Ids(ScalarBuffer<u8>),
    /// A partition id of two bytes a row.
    WideIds(ScalarBuffer<u16>),
    /// A bitmap a partition, a bit a row: a row may have any number of destinations. The result of a filter
    /// is one.
    Bitmaps(Vec<BooleanBuffer>),
    /// Every row goes to every destination.
    All,
}

impl From<Vec<u8>> for Selection {
    fn from(ids: Vec<u8>) -> Self {
        Self::Ids(ids.into())
    }
}

impl From<Vec<u16>> for Selection {
    fn from(ids: Vec<u16>) -> Self {
        Self::WideIds(ids.into())
    }
}

impl From<Vec<BooleanBuffer>> for Selection {
    fn from(bitmaps: Vec<BooleanBuffer>) -> Self {
        Self::Bitmaps(bitmaps)
    }
}

impl Selection {
    /// The memory of ids or bitmaps, whose bits begin with a byte.
    pub(crate) fn buffers(&self) -> Vec<Buffer> {
        match self {
            Self::Ids(ids) => vec![ids.inner().clone()],
            Self::WideIds(ids) => vec![ids.inner().clone()],
            Self::Bitmaps(bitmaps) => bitmaps.iter().map(aligned_bits).collect(),
            Self::All => vec![],
        }
    }

    /// Returns an error if the selection has another number of rows than the batch.
    fn check(&self, rows: usize) -> Result<(), SendError> {
        let wrong = |given: usize| given != rows;
        let given = match self {
            Self::Ids(ids) => Some(ids.len()).filter(|given| wrong(*given)),
            Self::WideIds(ids) => Some(ids.len()).filter(|given| wrong(*given)),
            Self::Bitmaps(bitmaps) => {
                bitmaps.iter().map(BooleanBuffer::len).find(|given| wrong(*given))
            }
            Self::All => None,
        };
        given.map_or(Ok(()), |given| Err(SendError::SelectionLength { given, rows }))
    }
}

/// The bytes of bits of which the first begins one.
fn aligned_bits(bits: &BooleanBuffer) -> Buffer {
    debug_assert!(bits.offset().is_multiple_of(8));
    bits.inner().slice_with_length(bits.offset() / 8, bits.len().div_ceil(8))
}

/// The destinations' partitions.
#[derive(Debug)]
pub(crate) struct Targets {
    partitions: Vec<u16>,
    /// Index of the destination of each partition id; empty unless rows have ids.
    by_id: Vec<u16>,
}

impl Targets {
    /// # Errors
    /// A partition without a bitmap, or one of two destinations that cannot both have the rows of an id.
    pub fn new(selection: &Selection, partitions: Vec<u16>) -> Result<Self, SendError> {
        let mut by_id = match selection {
            Selection::Ids(_) => vec![NOBODY; 1 << 8],
            Selection::WideIds(_) => vec![NOBODY; 1 << 16],
            Selection::Bitmaps(_) | Selection::All => vec![],
        };
        for (destination, partition) in partitions.iter().copied().enumerate() {
            if let Selection::Bitmaps(bitmaps) = selection
                && usize::from(partition) >= bitmaps.len()
            {
                let bitmaps = bitmaps.len();
                return Err(SendError::NoBitmap { destination, partition, bitmaps });
            }
            // An id above 255 does not occur among ids of one byte, so its destination gets no row.
            let Some(slot) = by_id.get_mut(usize::from(partition)) else { continue };
            if *slot != NOBODY {
                let other = usize::from(*slot);
                return Err(SendError::PartitionTwice { destination, partition, other });
            }
            *slot = destination as u16;
        }
        Ok(Self { partitions, by_id })
    }

    pub fn partitions(&self) -> &[u16] {
        &self.partitions
    }
}

/// For each level, the destinations of its rows, and how many rows each destination gets.
#[derive(Debug)]
pub(crate) struct Shares {
    pub selections: Vec<Selection>,
    /// Number of rows, by level and destination.
    pub rows: Vec<Vec<u64>>,
}

impl Shares {
    /// Follows lists down from the batch's rows. Dictionaries are for all destinations.
    pub fn new(
        parts: &Parts,
        selection: &Selection,
        targets: &Targets,
        copier: &mut Copier,
    ) -> Result<Self, SendError> {
        let mut shares = Self { selections: Vec::new(), rows: Vec::new() };
        for level in &parts.levels {
            let selected = match &level.growth {
                Growth::Batch => {
                    selection.check(level.count)?;
                    align(selection, copier)?
                }
                Growth::Whole => Selection::All,
                Growth::Lists { parent, offsets } => {
                    let elements = |row| offsets.range(row).len();
                    spread(&shares.selections[*parent], level.count, elements, copier)?
                }
                Growth::Times { parent, size } => {
                    spread(&shares.selections[*parent], level.count, |_| *size, copier)?
                }
            };
            shares.rows.push(count(&selected, level.count, targets));
            shares.selections.push(selected);
        }
        Ok(shares)
    }
}

/// The same selection, in which the first bit of every bitmap begins a byte; other bitmaps are copied.
fn align(selection: &Selection, copier: &mut Copier) -> Result<Selection, SendError> {
    let Selection::Bitmaps(bitmaps) = selection else { return Ok(selection.clone()) };
    let align = |bits: &BooleanBuffer| match bits.offset() % 8 {
        0 => Ok(bits.clone()),
        _ => copier.align(bits),
    };
    Ok(Selection::Bitmaps(bitmaps.iter().map(align).collect::<Result<_, _>>()?))
}

/// The selection of the level below: that of each row is repeated for its `elements(row)` rows.
fn spread(
    parent: &Selection,
    count: usize,
    elements: impl Fn(usize) -> usize,
    copier: &mut Copier,
) -> Result<Selection, SendError> {
    Ok(match parent {
        Selection::Ids(ids) => Selection::Ids(copier.repeat(ids, count, elements)?),
        Selection::WideIds(ids) => Selection::WideIds(copier.repeat(ids, count, elements)?),
        Selection::Bitmaps(bitmaps) => {
            let mut spread = Vec::with_capacity(bitmaps.len());
            for bits in bitmaps {
                spread.push(copier.repeat_bits(bits, count, &elements)?);
            }
            Selection::Bitmaps(spread)
        }
        Selection::All => Selection::All,
    })
}

/// How many rows each destination gets.
fn count(selection: &Selection, rows: usize, targets: &Targets) -> Vec<u64> {
    match selection {
        Selection::All => vec![rows as u64; targets.partitions.len()],
        Selection::Bitmaps(bitmaps) => {
            let count = |partition: &u16| bitmaps[usize::from(*partition)].count_set_bits() as u64;
            targets.partitions.iter().map(count).collect()
        }
        Selection::Ids(ids) => count_ids(ids, targets),
        Selection::WideIds(ids) => count_ids(ids, targets),
    }
}

/// Rows that are counted in a byte.
const STRIDE: usize = 255;
/// With so few destinations, it takes less time to compare all ids with each of them than to look up a counter for each
/// row.
const FEW: usize = 32;

fn count_ids<I>(ids: &[I], targets: &Targets) -> Vec<u64>
where
    I: Copy + PartialEq + Into<usize> + TryFrom<u16>,
{
    let partitions = &targets.partitions;
    if partitions.len() <= FEW {
        let in_stride =
            |ids: &[I], of: I| ids.iter().map(|id| u8::from(*id == of)).sum::<u8>().into();
        let of = |id: I| ids.chunks(STRIDE).map(|ids| -> u64 { in_stride(ids, id) }).sum();
        return partitions.iter().map(|id| I::try_from(*id).map_or(0, of)).collect();
    }
    let mut by_id = vec![0; targets.by_id.len()];
    ids.iter().for_each(|id| by_id[(*id).into()] += 1);
    let count = |partition: &u16| by_id.get(usize::from(*partition)).copied().unwrap_or(0);
    partitions.iter().map(count).collect()
}

/// Calls `f` with each destination and each row that it gets; the rows of a destination come in order.
pub(crate) fn for_each_row(
    selection: &Selection,
    rows: usize,
    targets: &Targets,
    mut f: impl FnMut(usize, usize),
) {
    let mut by_id = |row: usize, id: usize| match targets.by_id[id] {
        NOBODY => {}
        destination => f(usize::from(destination), row),
    };
    match selection {
        Selection::Ids(ids) => {
            ids.iter().enumerate().for_each(|(row, id)| by_id(row, usize::from(*id)));
        }
        Selection::WideIds(ids) => {
            ids.iter().enumerate().for_each(|(row, id)| by_id(row, usize::from(*id)));
        }
        Selection::Bitmaps(bitmaps) => {
            for (destination, partition) in targets.partitions.iter().enumerate() {
                let bits = &bitmaps[usize::from(*partition)];
                bits.set_indices().for_each(|row| f(destination, row));
            }
        }
        Selection::All => {
            for destination in 0..targets.partitions.len() {
                (0..rows).for_each(|row| f(destination, row));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_for_few_destinations_as_for_many() {
        let rows = 5000_usize;
        let ids: Vec<u8> = (0..rows).map(|row| (row * row % 211) as u8).collect();
        let wide: Vec<u16> = ids.iter().map(|id| u16::from(*id) * 300).collect();
        let expected = |partition: u16, factor: u16| {
            ids.iter().filter(|id| u16::from(**id) * factor == partition).count() as u64
        };
        for destinations in [1, FEW, FEW + 1, 211] {
            let of = |factor: u16| (0..destinations as u16).map(|i| (210 - i) * factor).collect();
            for (selection, factor) in
                [(Selection::from(ids.clone()), 1), (Selection::from(wide.clone()), 300)]
            {
                let partitions: Vec<u16> = of(factor);
                let expected: Vec<u64> =
                    partitions.iter().map(|partition| expected(*partition, factor)).collect();
                let targets = Targets::new(&selection, partitions).unwrap();
                assert_eq!(count(&selection, rows, &targets), expected, "{destinations}");
            }
        }
        // No row has an id of one byte that needs two.
        let ids = Selection::from(vec![1_u8; 300]);
        let targets = Targets::new(&ids, vec![257, 1]).unwrap();
        assert_eq!(count(&ids, 300, &targets), [0, 300]);
    }
}
