//! From units to messages: the length of each message, computed without walking its units.

use crate::{
    kinds::{Kinds, Selection},
    memory::HostMemory,
    region::{Region, RowMask},
    stream::{MessageStream, Wrong},
};

/// Regions of one destination whose element counts differ under row mask `Element`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("region {region} has {found} elements, region 0 has {expected}")]
pub struct UnequalElements {
    /// Index of the region.
    pub region: usize,
    /// Number of elements of region 0.
    pub expected: u64,
    /// Number of elements of that region.
    pub found: u64,
}

/// The lengths of a destination's units.
#[derive(Clone, Debug, PartialEq, Eq)]
enum UnitLengths {
    /// Runs of equal units, one after another: number of units, and length of each in bytes.
    Runs(Vec<(u64, u64)>),
    /// Every unit is a sum of one element from each of these repeated patterns, given as running
    /// sums that start with 0.
    Sums { units: u64, patterns: Vec<Vec<u64>> },
    /// The units were walked; only these totals are known of their messages.
    Walked { messages: u64, units: u64, bytes: u128, longest: u128 },
}

impl UnitLengths {
    fn units(&self) -> u64 {
        match self {
            Self::Runs(runs) => runs.iter().map(|(count, _)| count).sum(),
            Self::Sums { units, .. } | Self::Walked { units, .. } => *units,
        }
    }

    /// Number of bytes of units `first..first + count`.
    fn bytes(&self, first: u64, count: u64) -> u128 {
        let end = first + count;
        match self {
            Self::Runs(runs) => {
                let (mut start, mut total) = (0, 0);
                for (count, len) in runs {
                    let overlap = end.min(start + count).saturating_sub(first.max(start));
                    total += u128::from(overlap) * u128::from(*len);
                    start += count;
                }
                total
            }
            Self::Sums { patterns, .. } => {
                let before = |pattern: &[u64], unit: u64| {
                    let n = pattern.len() as u64 - 1;
                    u128::from(unit / n) * u128::from(pattern[n as usize])
                        + u128::from(pattern[(unit % n) as usize])
                };
                patterns.iter().map(|p| before(p, end) - before(p, first)).sum()
            }
            Self::Walked { bytes, .. } => *bytes,
        }
    }
}

/// A message of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Index of its first unit.
    pub first_unit: u64,
    /// Number of its units.
    pub units: u64,
    /// Length in bytes.
    pub len: u128,
}

/// The messages of a destination, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Messages {
    lengths: UnitLengths,
    rows_per_message: u64,
}

impl Messages {
    /// Makes the messages of `regions`, each of which has the number of rows given in `rows`.
    ///
    /// # Errors
    /// If the row mask is `Element` and the regions have different numbers of elements.
    pub fn new(
        regions: &[Region],
        rows: &[u64],
        row_mask: RowMask,
        rows_per_message: u32,
    ) -> Result<Self, UnequalElements> {
        debug_assert_eq!(regions.len(), rows.len());
        let lengths = match row_mask {
            RowMask::Period => UnitLengths::Runs(
                regions.iter().zip(rows).map(|(region, rows)| (*rows, region.row_len())).collect(),
            ),
            RowMask::Element => {
                let mut patterns = Vec::with_capacity(regions.len());
                let mut units = 0;
                for (i, (region, rows)) in regions.iter().zip(rows).enumerate() {
                    let pattern = element_sums(region);
                    let elements = rows * (pattern.len() as u64 - 1);
                    if i == 0 {
                        units = elements;
                    } else if units != elements {
                        return Err(UnequalElements {
                            region: i,
                            expected: units,
                            found: elements,
                        });
                    }
                    patterns.push(pattern);
                }
                UnitLengths::Sums { units, patterns }
            }
        };
        Ok(Self { lengths, rows_per_message: u64::from(rows_per_message.max(1)) })
    }

    /// Makes the messages of `units` units of `len` bytes each.
    pub fn of_equal(units: u64, len: u64, rows_per_message: u32) -> Self {
        let lengths = UnitLengths::Runs(vec![(units, len)]);
        Self { lengths, rows_per_message: u64::from(rows_per_message.max(1)) }
    }

    /// Makes the messages of a stream, which is walked to its end.
    ///
    /// # Errors
    /// If a row cannot be sent.
    pub fn walked<M: HostMemory + ?Sized>(
        mut stream: MessageStream,
        memory: &M,
    ) -> Result<Self, Wrong> {
        let (mut messages, mut units, mut bytes, mut longest) = (0, 0, 0, 0);
        while let Some(message) = stream.next(memory)? {
            let len = u128::from(message.len);
            messages += 1;
            units += if message.last_column { message.units } else { 0 };
            bytes += len;
            longest = len.max(longest);
        }
        let lengths = UnitLengths::Walked { messages, units, bytes, longest };
        Ok(Self { lengths, rows_per_message: 1 })
    }

    /// Number of messages.
    pub fn count(&self) -> u64 {
        if let UnitLengths::Walked { messages, .. } = self.lengths {
            return messages;
        }
        self.lengths.units().div_ceil(self.rows_per_message)
    }

    /// Number of units.
    pub fn units(&self) -> u64 {
        self.lengths.units()
    }

    /// Returns message `index`, which must be below [`Messages::count`]. If they were
    /// [`walked`](Self::walked), only the stream knows more than their number.
    pub fn message(&self, index: u64) -> Message {
        let first_unit = index * self.rows_per_message;
        let units = self.rows_per_message.min(self.lengths.units() - first_unit);
        Message { first_unit, units, len: self.lengths.bytes(first_unit, units) }
    }

    /// Number of bytes of all messages together.
    pub fn bytes(&self) -> u128 {
        self.lengths.bytes(0, self.lengths.units())
    }

    /// Length in bytes of the longest message; 0 if there is none.
    pub fn longest(&self) -> u128 {
        let Some(last) = self.count().checked_sub(1) else { return 0 };
        let k = self.rows_per_message;
        let len = |index: u64| self.message(index).len;
        match &self.lengths {
            UnitLengths::Walked { longest, .. } => *longest,
            UnitLengths::Runs(runs) => {
                // Between the first and the last message that touch a run, all messages are equal.
                let (mut start, mut longest) = (0, 0);
                for (count, _) in runs.iter().filter(|(count, _)| *count > 0) {
                    let (first, final_) = (start / k, (start + count - 1) / k);
                    for index in [first, (first + 1).min(final_), final_] {
                        longest = longest.max(len(index));
                    }
                    start += count;
                }
                longest
            }
            UnitLengths::Sums { patterns, .. } => {
                let cycle = patterns.iter().fold(1, |cycle, p| lcm(cycle, p.len() as u64 - 1));
                let distinct = cycle / gcd(cycle, k);
                (0..distinct.min(last + 1)).map(len).max().unwrap_or(0).max(len(last))
            }
        }
    }
}

/// Running sums of the lengths of a row's elements; for elements with kinds, only the number of
/// sums is valid.
fn element_sums(region: &Region) -> Vec<u64> {
    let mut sums = vec![0];
    match region {
        Region::Kinds(Kinds { rows: Selection::Periods { .. }, entries }) => {
            sums.resize(entries.len() + 1, 0);
        }
        Region::Strided { pattern, .. } if !pattern.is_empty() => {
            for extent in pattern {
                sums.push(sums[sums.len() - 1] + u64::from(extent.len));
            }
        }
        _ => sums.push(region.row_len()),
    }
    sums
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: u64, b: u64) -> u64 {
    a / gcd(a, b) * b
}

#[cfg(test)]
#[path = "tests/messages.rs"]
mod tests;
