//! Why a work request is refused.

use std::fmt;

use drdma_abi::completion::Status;

use crate::{granules::ShapeError, memory::Fault, messages::UnequalElements};

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
    #[error("{region}: bytes {start:#x}..{end:#x} are not in the memory of key {lkey:#x}")]
    Memory {
        /// The region.
        region: Which,
        /// The key.
        lkey: u32,
        /// The first byte.
        start: u128,
        /// The byte behind the last.
        end: u128,
    },
    /// A bitmap or an array of pointers or ids that could not be read.
    #[error("{region}: {fault}")]
    Read {
        /// The region.
        region: Which,
        /// What could not be read.
        fault: Fault,
    },
    /// Row mask `Element` over regions that do not match.
    #[error(transparent)]
    UnequalElements(#[from] UnequalElements),
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
