//! Reasons for refusing a work request.

use std::fmt;

use drdma_abi::completion::Status;

use crate::{granules::ShapeError, kinds::ValueError, memory::Fault, messages::UnequalElements};

/// A region of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// A region of a destination, by its index.
    Own(usize),
    /// The partitioned region, which all destinations share.
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

/// A part of a region that lies in some memory.
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
        /// Index of the pointer.
        row: u64,
        /// Index of the extent.
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
        /// Index of the column or extent, or of the key.
        element: usize,
        /// Index of the buffer.
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

/// Reason for refusing a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// A field of the head is wrong.
    #[error("the head's {field} is {value:#x}")]
    Head {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        value: u64,
    },
    /// The entry could not be read.
    #[error("the entry: {0}")]
    Ring(Fault),
    /// The entry ends inside a destination, or continues behind its last one.
    #[error("the entry of {granules} granules does not end with its last destination")]
    Length {
        /// Length in granules according to the head.
        granules: u32,
    },
    /// A field of a destination's head is wrong.
    #[error("the destination's {field} is {value:#x}")]
    Destination {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        value: u64,
    },
    /// The request has more regions than possible.
    #[error("the request's destinations up to here have {regions} regions, {limit} are possible")]
    Regions {
        /// Number of regions up to this destination's last.
        regions: usize,
        /// Largest number that is possible.
        limit: usize,
    },
    /// A queue pair cannot execute the request.
    #[error("queue pair {qp} {problem}")]
    QueuePair {
        /// Index of the queue pair.
        qp: u32,
        /// Description of the problem.
        problem: &'static str,
    },
    /// The partition belongs to an earlier destination already.
    #[error("partition {partition} is named twice")]
    Partition {
        /// Id of the partition.
        partition: u16,
    },
    /// The shape of a region is wrong.
    #[error("{region}: {error}")]
    Shape {
        /// The region.
        region: Which,
        /// Error of the shape.
        error: ShapeError,
    },
    /// A part of a region is not in the memory of its key.
    #[error("{region}, {part} {start:#x}..{end:#x} are not in the memory of key {lkey:#x}")]
    Memory {
        /// The region.
        region: Which,
        /// The part of the region.
        part: Part,
        /// The key.
        lkey: u32,
        /// Address of the first byte.
        start: u128,
        /// Address of the byte behind the last.
        end: u128,
    },
    /// The queue may not use the key of a part of a region.
    #[error(
        "{region}, {part} are in the memory of key {lkey:#x}, of another protection domain than the queue"
    )]
    Domain {
        /// The region.
        region: Which,
        /// The part of the region.
        part: Part,
        /// The key.
        lkey: u32,
    },
    /// A bitmap or an array of pointers or ids cannot be read.
    #[error("{region}: {fault}")]
    Read {
        /// The region.
        region: Which,
        /// The access that failed.
        fault: Fault,
    },
    /// An entry of a column or extent leads to no bytes.
    #[error("{region}, row {row}, element {element}: {error}")]
    Value {
        /// The region.
        region: Which,
        /// The row: its period, bit, pointer or id.
        row: u64,
        /// Index of the column or extent.
        element: usize,
        /// Error of the entry.
        error: ValueError,
    },
    /// A partition cannot be made from a key of a row.
    #[error("{region}, row {row}, key {key}: {error}")]
    Key {
        /// The region.
        region: Which,
        /// The row.
        row: u64,
        /// Index of the key.
        key: usize,
        /// Error of the key.
        error: ValueError,
    },
    /// A row has another number of values than there are remote columns.
    #[error("row {unit} has {values} values for {expected} remote columns")]
    Values {
        /// Index of the row among those that are sent.
        unit: u64,
        /// Number of values of the row; a value of variable length counts as two.
        values: usize,
        /// Number of remote columns.
        expected: usize,
    },
    /// Rows that were counted earlier are missing.
    #[error("rows that were there before are no longer")]
    Lost,
    /// The regions do not match under row mask `Element`.
    #[error(transparent)]
    UnequalElements(#[from] UnequalElements),
    /// The card may not write to the regions, or they do not match the operation.
    #[error("the answer cannot be written to its regions")]
    Target,
    /// A field of an address handle is wrong.
    #[error("the address handle's {field} is {value:#x}")]
    Address {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        value: u64,
    },
    /// A message is too long.
    #[error("a message of {len} B is longer than {limit} B")]
    MessageLength {
        /// Length of the message in bytes.
        len: u128,
        /// Largest length in bytes that is possible.
        limit: u64,
    },
}

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{status}, destination {destination}: {reason}")]
pub struct Failure {
    /// Status of the request.
    pub status: Status,
    /// Index of the destination; 0 if the head or the partitioned region failed.
    pub destination: u16,
    /// Index of the queue pair that goes to the error state, if any.
    pub queue_pair: Option<u32>,
    /// Reason for the failure.
    pub reason: Reason,
}

/// Refuses with `local_qp_operation_error`, without a queue pair at fault.
pub(crate) fn refuse<T>(reason: Reason) -> Result<T, Failure> {
    let status = Status::LocalQpOperationError;
    Err(Failure { status, destination: 0, queue_pair: None, reason })
}
