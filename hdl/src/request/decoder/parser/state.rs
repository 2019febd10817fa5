//! What the decoder expects next.

use drdma_emit::prelude::*;

/// Kind of the next granule, or the step that comes before it.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum DecoderState {
    /// The first half of an entry's head, or with its first destination.
    Head,
    /// Looks queue and queue pair up; the head and its first destination are held.
    Look,
    /// The second half of an entry's head.
    HeadRest,
    /// The first half of a destination's head.
    Destination,
    /// The second half of a destination's head.
    DestinationRest,
    /// The remote address of a column of a destination.
    RemoteColumn,
    /// Checks both heads, which are known. The first destination waits here until the request
    /// before is settled.
    Judge,
    /// Checks a partitioned request's head, before its region; waits here until the request before is settled.
    JudgeHead,
    /// The inline payload.
    Inline,
    /// Writes a set of one byte for an inline payload of no bytes.
    Empty,
    /// An atomic's operands, which come before its destination.
    Operands,
    /// All regions of a READ or an atomic are known.
    Ask,
    /// The head of a region.
    Region,
    /// A contiguous region of which a part is sent.
    Part,
    /// The shape of a region.
    Shape,
    /// The function that makes a partitioned region's ids.
    Function,
    /// A key's entry.
    KeyEntry,
    /// The place that a key's entry leads to, which must be none.
    KeySource,
    /// A key's type and validity.
    KeyEnd,
    /// Checks whether a destination's partition can be made at all.
    Beyond,
    /// Waits for the look-up of a pointer-mapped region's target.
    Target,
    /// The chain of a region: how a record leads to the next one.
    Chain,
    /// An extent or a column.
    Element,
    /// An extent or a column with a kind: its entries.
    Kind,
    /// The place of the bytes that an extent or a column with a kind leads to.
    Source,
    /// A contiguous region of several with row mask Element: the joiner takes its lane.
    Join,
    /// The entry has ended, or an error has ended it.
    End,
    /// Drops the rest of the turn.
    Drop,
}
