//! Rows between the workers of a query: how a task's output gets to its consumers.
//!
//! | module | |
//! |---|---|
//! | `outbox` | what a task has to send: batches that wait, budgets |
//! | [`gather`] | small batches, put together before they are posted |
//! | `producer` | a task at work: partition ids, posts, credits |
//! | `consumer` | the other end: streams of batches, one a partition |
//! | `control` | what the ends tell each other beside the rows |
//! | `counts` | what a task's output is counted in |
//! | `site` | what the exchanges of a worker share |

pub(crate) mod consumer;
pub(crate) mod control;
mod counts;
pub mod gather;
mod outbox;
pub(crate) mod producer;
pub(crate) mod site;

pub use producer::partition_ids;

use serde::{Deserialize, Serialize};

/// How much memory an exchange takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Bytes that may be on their way from a task to a partition, or wait there to be taken. A batch that begins
    /// within the budget may exceed it.
    pub budget: usize,
    /// Bytes of batches that may wait at a task for the budgets of their partitions, while no partition is idle.
    pub backlog: usize,
    /// Messages of 16 KiB that a consumer has room for at the card, for each task that sends to it: 2 to 32,768.
    pub slabs: usize,
}

impl Default for Config {
    /// 4 MiB, 64 MiB, 128 messages.
    fn default() -> Self {
        Self { budget: 4 << 20, backlog: 64 << 20, slabs: 128 }
    }
}
