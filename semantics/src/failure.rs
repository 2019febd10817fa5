//! Why a work request is refused.

use std::fmt;

use drdma_abi::completion::Status;

use crate::{granules::ShapeError, kinds::ValueError, memory::Fault, messages::UnequalElements};

/// One of a request's regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// A destination's own, by its index.
    Own(usize),
    /// The one that all destinations share.
    Partitioned,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(index) => write!(f, "region {index}"),
            Self::Partitioned => f.write_str("the partitioned region"),
        }
    }
}

/// What of a region lies in some memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All bytes of a contiguous region.
    Bytes,
    /// An extent of a strided region's pattern, in all periods.
    Extent(usize),
    /// The bitmap of rows that are sent.
    Bitmap,
    /// The bitmap of rows that are read.
    FetchRows,
    /// The ids of a partitioned region.
    Ids,
    /// All values of a column.
    Column(usize),
    /// The array of pointers.
    Pointers,
    /// An extent of the pattern of the record that a pointer leads to.
    Record {
        /// The pointer's index.
        row: u64,
        /// The extent's index.
        extent: usize,
    },
    /// The dictionary of a column or extent, or its table of buffers.
    Source(usize),
    /// The splitters of a range.
    Splitters,
    /// The entries of a key, by its index, or where they lead to.
    Key(usize),
    /// The validity of a key.
    Validity(usize),
    /// A buffer that views point into.
    Buffer {
        /// The index of the column or extent, or of the key.
        element: usize,
        /// The buffer's index.
        buffer: u32,
    },
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => f.write_str("bytes"),
            Self::Extent(index) => write!(f, "extent {index}: bytes"),
            Self::Bitmap => f.write_str("bitmap: bytes"),
            Self::FetchRows => f.write_str("fetch rows: bytes"),
            Self::Ids => f.write_str("ids: bytes"),
            Self::Column(index) => write!(f, "column {index}: bytes"),
            Self::Pointers => f.write_str("pointers: bytes"),
            Self::Record { row, extent } => write!(f, "record {row}, extent {extent}: bytes"),
            Self::Splitters => f.write_str("splitters: bytes"),
            Self::Key(index) => write!(f, "key {index}: bytes"),
            Self::Validity(index) => write!(f, "validity of key {index}: bytes"),
            Self::Source(index) => write!(f, "what element {index} leads to: bytes"),
            Self::Buffer { element, buffer } => {
                write!(f, "element {element}, buffer {buffer}: bytes")
            }
        }
    }
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// A field of the head.
    #[error("the head's {field} is {value:#x}")]
    Head {
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u64,
    },
    /// The entry could not be read.
    #[error("the entry: {0}")]
    Ring(Fault),
    /// The entry ends inside a destination, or goes on after its last one.
    #[error("the entry of {granules} granules does not end with its last destination")]
    Length {
        /// What the head says.
        granules: u32,
    },
    /// A field of a destination's head.
    #[error("the destination's {field} is {value:#x}")]
    Destination {
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u64,
    },
    /// More regions than a request may have.
    #[error("the request's destinations up to here have {regions} regions, {limit} are possible")]
    Regions {
        /// Regions up to this destination's last.
        regions: usize,
        /// The limit.
        limit: usize,
    },
    /// A queue pair that cannot do it.
    #[error("queue pair {qp} {problem}")]
    QueuePair {
        /// The queue pair.
        qp: u32,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A partition that an earlier destination gets.
    #[error("partition {partition} is named twice")]
    Partition {
        /// Its id.
        partition: u16,
    },
    /// A region's shape.
    #[error("{region}: {error}")]
    Shape {
        /// The region.
        region: Which,
        /// What is wrong.
        error: ShapeError,
    },
    /// A region's memory.
    #[error("{region}, {part} {start:#x}..{end:#x} are not in the memory of key {lkey:#x}")]
    Memory {
        /// The region.
        region: Which,
        /// What of it.
        part: Part,
        /// The key.
        lkey: u32,
        /// The first byte.
        start: u128,
        /// The byte behind the last.
        end: u128,
    },
    /// A key that the queue may not use.
    #[error(
        "{region}, {part} are in the memory of key {lkey:#x}, of another protection domain than the queue"
    )]
    Domain {
        /// The region.
        region: Which,
        /// What of it.
        part: Part,
        /// The key.
        lkey: u32,
    },
    /// A bitmap or an array of pointers or ids that could not be read.
    #[error("{region}: {fault}")]
    Read {
        /// The region.
        region: Which,
        /// What could not be read.
        fault: Fault,
    },
    /// An entry of a column or extent that leads to no bytes.
    #[error("{region}, row {row}, element {element}: {error}")]
    Value {
        /// The region.
        region: Which,
        /// The row: its period, bit, pointer or id.
        row: u64,
        /// The index of the column or extent.
        element: usize,
        /// What is wrong.
        error: ValueError,
    },
    /// A key of a row that a partition cannot be made from.
    #[error("{region}, row {row}, key {key}: {error}")]
    Key {
        /// The region.
        region: Which,
        /// The row.
        row: u64,
        /// The key's index.
        key: usize,
        /// What is wrong.
        error: ValueError,
    },
    /// A row whose values do not match the remote addresses.
    #[error("row {unit} has {values} values for {expected} remote columns")]
    Values {
        /// The row, counted among those that are sent.
        unit: u64,
        /// Its values; the length of one of variable length is one more.
        values: usize,
        /// Remote addresses.
        expected: usize,
    },
    /// Rows that were there when they were counted.
    #[error("rows that were there before are no longer")]
    Lost,
    /// Row mask `Element` over regions that do not match.
    #[error(transparent)]
    UnequalElements(#[from] UnequalElements),
    /// Regions that the card may not write to, or that do not match.
    #[error("the answer cannot be written to its regions")]
    Target,
    /// A field of an address handle.
    #[error("the address handle's {field} is {value:#x}")]
    Address {
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u64,
    },
    /// A message that is too long.
    #[error("a message of {len} B is longer than {limit} B")]
    MessageLength {
        /// Its bytes.
        len: u128,
        /// Bytes allowed.
        limit: u64,
    },
}

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{status}, destination {destination}: {reason}")]
pub struct Failure {
    /// The request's status.
    pub status: Status,
    /// The destination's index; 0 if the head or the partitioned region failed.
    pub destination: u16,
    /// The queue pair that goes to the error state, if any.
    pub queue_pair: Option<u32>,
    /// Why.
    pub reason: Reason,
}

/// Refuses with `local_qp_operation_error`, which is no queue pair's fault.
pub(crate) fn refuse<T>(reason: Reason) -> Result<T, Failure> {
    let status = Status::LocalQpOperationError;
    Err(Failure { status, destination: 0, queue_pair: None, reason })
}
