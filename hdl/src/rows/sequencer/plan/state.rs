//! States of the plan, and what it keeps.

use drdma_emit::prelude::*;

/// State of the plan. A table is read in the state before its contents are used.
#[derive(Clone, Copy, Debug, PartialEq, LogicState)]
pub enum PlanState {
    /// Waits for a request.
    Idle,
    /// Inspection: reads a destination.
    InspectRead,
    /// Inspection: takes the destination's head.
    InspectHead,
    /// Inspection: reads a set.
    InspectSetRead,
    /// Inspection: takes the set's row length and type.
    InspectSet,
    /// Inspection: finds out whether a message can be too long, or longer than a packet.
    Weigh,
    /// Scans: reads a set.
    ScanRead,
    /// Scans: asks for the scan of the set.
    Scan,
    /// Inspection: goes on to the next destination.
    InspectNext,
    /// Waits until it is known whether the request is a column request.
    Settled,
    /// Counting on the row path: reads a destination.
    CountRead,
    /// Counting on the row path: takes the destination's head.
    CountHead,
    /// Counting on the column path: reads the first destination.
    TallyRead,
    /// Counting on the column path: takes a destination's head, and reads its set.
    TallyHead,
    /// Counting on the column path: emits the destination's stretch, and reads the next destination.
    TallyTurn,
    /// Waits until all scans have ended.
    Await,
    /// Quick judgement of destinations of the same lanes: reads the first one.
    QuickRead,
    /// Quick judgement: takes a destination's head, and reads its set.
    QuickHead,
    /// Quick judgement: takes the destination's number of rows.
    QuickSet,
    /// Quick judgement: multiplies the rows if they are one message, and reads the next destination.
    QuickTimes,
    /// Quick judgement: waits for the last products.
    QuickEnd,
    /// Judgement, destination by destination: reads a destination.
    JudgeRead,
    /// Judgement: takes the destination's head.
    JudgeHead,
    /// Judgement: reads a set.
    JudgeSetRead,
    /// Judgement: multiplies the set's elements.
    JudgeTimes,
    /// Judgement: takes the verdict on the set's pointers and its number of elements.
    JudgeSet,
    /// Judgement: gives the verdict on pointers and numbers of elements.
    JudgeEnd,
    /// Measurement: reads a set.
    MeasureRead,
    /// Measurement: multiplies the set's elements.
    MeasureTimes,
    /// Measurement: has the set's messages measured.
    MeasureSet,
    /// Measurement: waits until it is over.
    MeasureEnd,
    /// Judgement: gives the verdict on lengths.
    JudgeLength,
    /// Judgement: goes on to the next destination.
    JudgeNext,
    /// Takes the size of chunks, and chooses the path.
    Begin,
    /// Column request: reads the first destination of a chunk.
    ColumnRead,
    /// Column request: takes a destination's head, and reads its set.
    ColumnHead,
    /// Column request: emits the destination's turn, and reads the next destination.
    ColumnTurn,
    /// Row path: reads a destination.
    TurnRead,
    /// Row path: takes the destination's head, and how far its turns have come.
    TurnHead,
    /// Row path: reads a set.
    TurnSetRead,
    /// Row path: emits a stretch of the set's rows.
    TurnSet,
    /// Row path: goes on to the next destination, or to the next turn.
    TurnNext,
    /// Units for the walker: reads a set.
    LoadRead,
    /// Units for the walker: multiplies the set's elements.
    LoadTimes,
    /// Units for the walker: gives it the bounds and the region.
    Load,
    /// Units for the walker: starts it.
    LoadUnits,
    /// Units for the walker: waits until it is done.
    LoadWait,
    /// Emits the end of the request or of a column.
    Finish,
    /// Waits until a failed request has left the segmenter.
    Settle,
    /// Failed in the decoder: reads a destination.
    RecallRead,
    /// Failed in the decoder: looks whether the queue pair of a destination has failed before.
    Recall,
    /// Kinds of columns: waits until all requests before have left the sequencer.
    Kinds,
    /// Kinds of columns: waits until the request is walked.
    KindsWait,
}

/// Findings of the inspection about a destination.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Findings {
    /// Messages of the destination must be measured.
    pub measure: Bit,
    /// Lengths of messages go with the tokens.
    pub announce: Bit,
    /// Bitmaps of the destination were counted.
    pub counted: Bit,
    /// Units of the destination differ in length.
    pub uneven: Bit,
    /// A message of the destination could be too long.
    pub limited: Bit,
    /// Units of the destination are for the walker.
    pub walked: Bit,
}

/// Result of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Scanned {
    /// Number of set bits.
    pub count: Bits<32>,
    /// A pointer is out of bounds, or a read failed.
    pub bad: Bit,
}

/// Messages that begin in a region.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Measured {
    /// Number of messages that begin in the region and do not go beyond it.
    pub full_count: Bits<32>,
    /// Bytes of each of those messages.
    pub full_bytes: Bits<32>,
    /// Bytes of the last message that begins in the region, if it goes beyond.
    pub tail_bytes: Bits<32>,
}

/// Bits of a [`Turn`].
pub const TURN_BITS: usize = 38;

/// Progress of the turns of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Turn {
    /// Number of regions that are done.
    pub region: Bits<5>,
    /// Rows of the next region that are done.
    pub row: Bits<32>,
    /// All regions are done.
    pub done: Bit,
}
