//! Requests by columns that a card with [`Features::COLUMN_WRITES`] or [`Features::COLUMN_MESSAGES`] and not all of
//! `COLUMNS` sends.

use drdma_abi::work_request::{MAX_CARD_REMOTE_COLUMNS, RegionHeader, RegionShape};

use crate::{Features, RemoteColumn, RowMask, encode::field, work_request::Head};

/// A region whose elements have places of their own in every row, and fixed widths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    pub rows: u32,
    pub elements: usize,
}

impl Plain {
    /// Takes the region from the granules of a strided, bitmapped or partitioned region.
    pub fn of(words: &[u64]) -> Self {
        let shape = &words[RegionHeader::SIZE / 8..];
        Self {
            rows: field!(RegionHeader.count in |at: usize| words[at]) as u32,
            elements: field!(RegionShape.elements in |at: usize| shape[at]) as usize,
        }
    }
}

/// Reason why a card with these `features` cannot send a request by columns; `None` if it can, or if no card can. A
/// destination is given as its remote addresses and its region, if that is the only one and plain.
pub(crate) fn refusal<'a>(
    head: &Head,
    features: Features,
    destinations: impl Iterator<Item = (&'a [RemoteColumn], Option<Plain>)> + Clone,
) -> Option<&'static str> {
    let messages = features.contains(Features::COLUMN_MESSAGES);
    if messages && destinations.clone().all(|(columns, _)| columns.is_empty()) {
        return None;
    }
    if !features.contains(Features::COLUMN_WRITES) {
        return Some("the card sends no columns to addresses of their own");
    }
    if !head.opcode.is_write() || head.extension.reliable.is_some() {
        return (!messages).then_some("the card sends by columns WRITEs alone");
    }
    if head.row_mask != RowMask::Period {
        return Some("the card sends to an address a column with the row mask Period alone");
    }
    let (mut first, mut all) = (None, 0);
    for (columns, region) in destinations {
        let count = columns.len();
        if count == 0 {
            return Some(match messages {
                true => "the card sends to an address a column for every destination or for none",
                false => "the card sends by columns to an address a column alone",
            });
        }
        let Some(Plain { rows, elements }) = region else {
            return Some(
                "the card sends to an address a column one strided, bitmapped or partitioned region without kinds of columns and keys a destination",
            );
        };
        if elements != count || *first.get_or_insert(count) != count {
            return Some(
                "the card sends to an address a column as many columns as each region has elements",
            );
        }
        if rows > head.rows_per_message {
            return Some(
                "the card sends to an address a column all rows of a destination in one message each",
            );
        }
        all += count;
    }
    (all > MAX_CARD_REMOTE_COLUMNS)
        .then_some("the card sends to an address a column to 512 addresses at most")
}
