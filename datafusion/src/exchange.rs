//! Rows between the workers of a query: how a task's output gets to its consumers.
//!
//! | module | |
//! |---|---|
//! | `outbox` | what a task has to send: batches that wait, budgets |
//! | `backlog` | the bytes that wait in a worker's memory |
//! | `spill` | rows that wait on disk |
//! | [`gather`] | small batches, put together before they are posted |
//! | `ids` | the partition of each row |
//! | `producer` | a task at work: posts, credits |
//! | `consumer` | the other end: streams of batches, one a partition |
//! | `control` | messages between the ends beside the rows |
//! | `counts` | metrics of a task's output |
//! | `together` | rows for tasks of the same worker, put together |
//! | `kept` | queues and memory that the next exchange uses |
//! | `site` | what the exchanges of a worker share |

pub(crate) mod backlog;
pub(crate) mod consumer;
pub(crate) mod control;
mod counts;
pub mod gather;
mod ids;
mod kept;
mod outbox;
pub(crate) mod producer;
pub(crate) mod site;
pub(crate) mod spill;
mod together;

pub use ids::partition_ids;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Error;

/// Range of [`Config::slabs`].
const SLABS: std::ops::RangeInclusive<usize> = 2..=32768;

/// Memory and disk that exchanges take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Bytes that may be on their way from a task to a partition, or wait there to be taken. A batch that begins
    /// within the budget may exceed it.
    pub budget: usize,
    /// Bytes of batches that may wait in a worker's memory for the budgets of their partitions, those of all of its
    /// tasks together. A batch of each task that begins within the backlog may exceed it. What else has to wait, lest a
    /// partition with nothing to do starves, waits on disk.
    pub backlog: usize,
    /// Messages of 16 KiB that a consumer has room for at the card, for each task that sends to it: 2 to 32,768. Rows
    /// that its card appends have as much memory, but 512 KiB a partition at least.
    pub slabs: usize,
    /// Bytes of files that a worker may have on its disk at a time, the engine's own for sorts and joins included. A
    /// query that needs more fails. 0: no file is written.
    pub disk: u64,
    /// Where these files are; the system's directory for temporary ones if it is not told. It must be there on
    /// all workers' hosts, or it is made.
    pub directory: Option<PathBuf>,
}

impl Config {
    /// Checks that every value is possible.
    ///
    /// # Errors
    /// [`Error::Options`] with the first value that is not possible.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |what, value: usize, expected| {
            Err(Error::Options { what, value: value.to_string(), expected })
        };
        match self {
            Self { budget: 0, .. } => wrong("budget", 0, "at least 1"),
            Self { slabs, .. } if !SLABS.contains(slabs) => wrong("slabs", *slabs, "2 to 32768"),
            _ => Ok(()),
        }
    }
}

impl Default for Config {
    /// 4 MiB, 256 MiB, 128 messages, 100 GiB in the system's directory for temporary files.
    fn default() -> Self {
        Self { budget: 4 << 20, backlog: 256 << 20, slabs: 128, disk: 100 << 30, directory: None }
    }
}
