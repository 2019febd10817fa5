//! What the plan keeps.

// The accessors that `LogicStruct` derives have no documentation.
#![allow(missing_docs)]

use rust_hdl_core::prelude::*;

/// What the plan does next. A table is read in the state before its contents are used.
#[derive(Clone, Copy, Debug, PartialEq, LogicState)]
pub enum PlanState {
    /// No request.
    Idle,
    /// Inspection: a destination is read.
    InspectRead,
    /// Its head.
    InspectHead,
    /// A set is read.
    InspectSetRead,
    /// Largest row, types.
    InspectSet,
    /// Can a message be too long, or longer than a packet?
    Weigh,
    /// A set is read.
    ScanRead,
    /// Its scan is asked for.
    Scan,
    /// The next destination.
    InspectNext,
    /// Until it is known whether it is a column request.
    Settled,
    /// Rows of the row path are counted: a destination is read.
    CountRead,
    /// Its head.
    CountHead,
    /// Rows of a column request are counted: the first destination is read.
    TallyRead,
    /// A destination's head; its set is read.
    TallyHead,
    /// Its stretch; the next destination is read.
    TallyTurn,
    /// Until all scans have ended.
    Await,
    /// Quick judgement of destinations that are alike: the first one is read.
    QuickRead,
    /// A destination's head; its set is read.
    QuickHead,
    /// Its rows.
    QuickSet,
    /// They are multiplied, if they are one message; the next destination is read.
    QuickTimes,
    /// Until all products have come.
    QuickEnd,
    /// Judgement, destination by destination.
    JudgeRead,
    /// Its head.
    JudgeHead,
    /// A set is read.
    JudgeSetRead,
    /// Its elements are multiplied.
    JudgeTimes,
    /// Its pointers, and its number of elements.
    JudgeSet,
    /// The verdict on pointers and numbers.
    JudgeEnd,
    /// A set is read.
    MeasureRead,
    /// Its elements are multiplied.
    MeasureTimes,
    /// Its messages are measured.
    MeasureSet,
    /// Until the measurement is over.
    MeasureEnd,
    /// The verdict on lengths.
    JudgeLength,
    /// The next destination.
    JudgeNext,
    /// The size of chunks.
    Begin,
    /// A column request: the first destination of a chunk is read.
    ColumnRead,
    /// A destination's head; its set is read.
    ColumnHead,
    /// Its turn; the next destination is read.
    ColumnTurn,
    /// A destination is read.
    TurnRead,
    /// Its head, and where it stands.
    TurnHead,
    /// A set is read.
    TurnSetRead,
    /// A stretch of its rows.
    TurnSet,
    /// The next destination, or the next turn.
    TurnNext,
    /// Shuffle: a set is read.
    LoadRead,
    /// Its elements are multiplied.
    LoadTimes,
    /// The walker learns it.
    Load,
    /// The walker starts.
    LoadUnits,
    /// Until it is done.
    LoadWait,
    /// The end of the request.
    Finish,
    /// Waits until a failed request has left the segmenter.
    Settle,
    /// Reads a destination of a request that failed in the decoder.
    RecallRead,
    /// Looks whether its queue pair has failed before.
    Recall,
    /// Kinds of columns: what was before is on its way,
    Kinds,
    /// and the request is walked.
    KindsWait,
}

/// What inspection found out about a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Findings {
    /// Its messages must be measured.
    pub measure: Bit,
    /// Their lengths go with the tokens.
    pub announce: Bit,
    /// Bitmaps were counted.
    pub counted: Bit,
    /// Its units differ in length.
    pub uneven: Bit,
    /// A message could be too long.
    pub limited: Bit,
    /// Its units are for the walker.
    pub walked: Bit,
}

/// What a scan found.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Scanned {
    /// Set bits.
    pub count: Bits<32>,
    /// A pointer is wrong, or a read failed.
    pub bad: Bit,
}

/// The messages that begin in a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Measured {
    /// How many end in it.
    pub full_count: Bits<32>,
    /// Their bytes.
    pub full_bytes: Bits<32>,
    /// The bytes of the last one.
    pub tail_bytes: Bits<32>,
}

/// Bits of a [`Turn`].
pub const TURN_BITS: usize = 38;

/// How far a destination's turns have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Turn {
    /// Regions that are done.
    pub region: Bits<5>,
    /// Rows of the next one that are done.
    pub row: Bits<32>,
    /// All of them are.
    pub done: Bit,
}
