//! States of the lister, and purposes of its walks.

use drdma_emit::prelude::*;

/// State of the lister.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ListerState {
    /// Waits for a request.
    Idle,
    /// Reads a destination whose list is asked for ahead of its walk.
    ListRead,
    /// Takes the destination whose list is asked for ahead of its walk.
    List,
    /// Looks at the first region of that destination.
    Look,
    /// Waits until the list's first window is asked for.
    Looked,
    /// Reads a destination.
    DestRead,
    /// Takes the first destination of the next request.
    NextDest,
    /// Has the lanes of its region looked at, one by one.
    NextLanes,
    /// Waits for the region's plan.
    NextPlanned,
    /// Goes on to its next region.
    NextRegion,
    /// Reads the destination anew whose turn has ended.
    Return,
    /// Takes it.
    Back,
    /// Passes the turn to the destination behind it.
    GoOn,
    /// Takes the destination.
    Dest,
    /// Announces the destination.
    Head,
    /// Finds whether all regions have the same rows, one region after the other, if a unit has an element of each.
    Survey,
    /// Takes a region: its walk begins or continues.
    Region,
    /// Has the lanes of the region looked at, one by one, and their tables of buffers.
    Lanes,
    /// Waits for the region's plan.
    Planned,
    /// Asks for the groups of rows, one a cycle.
    Rows,
    /// Has lines of bits read, for the block of the current row or, before the walk, for the region's first block.
    Bits,
    /// Stores the position of the walk.
    Place,
    /// Ends a region that has no more rows.
    RegionEnd,
    /// Ends a message.
    MessageEnd,
    /// Ends the rows of a destination.
    DestEnd,
    /// Ends a destination.
    Last,
    /// Stores the positions in all regions.
    Keep,
    /// Restores the positions in all regions.
    Recall,
    /// Goes on to the next destination.
    Next,
    /// All destinations are judged: waits until nothing is under way, then sends them.
    Settle,
    /// The next request is judged: waits for its start.
    Judged,
    /// Waits until nothing is under way, then ends the request.
    Finish,
}

/// Purpose of a walk over a destination's rows.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ListerPhase {
    /// Region by region: all rows are followed and counted, and messages are measured if their regions follow one
    /// another.
    Check,
    /// Element by element: messages are measured.
    Measure,
    /// The message that is sent next is measured.
    Ahead,
    /// The message is sent.
    Give,
}
