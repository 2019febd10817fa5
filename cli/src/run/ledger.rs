//! Which post a completion is of.

use std::collections::{HashMap, VecDeque};

use libdrdma::{Status, WorkCompletion};

use super::RunError;

/// The posts that are not known to be complete, by the number of their queue, oldest first.
#[derive(Debug, Default)]
pub struct Ledger {
    posted: HashMap<u16, VecDeque<Posted>>,
}

/// A post in a queue.
#[derive(Clone, Copy, Debug)]
struct Posted {
    number: u64,
    wr_id: u64,
    signaled: bool,
}

/// What became known with a completion.
#[derive(Debug)]
pub struct Completed {
    /// Numbers of unsignaled posts before it, which succeeded.
    pub unsignaled: Vec<u64>,
    /// The number of the post that it is of.
    pub post: u64,
    /// The completion.
    pub completion: WorkCompletion,
}

impl Ledger {
    /// The post of that number went to a queue.
    pub fn post(&mut self, queue: u16, number: u64, wr_id: u64, signaled: bool) {
        self.posted.entry(queue).or_default().push_back(Posted { number, wr_id, signaled });
    }

    /// What a completion reports.
    ///
    /// # Errors
    /// It is of no post.
    pub fn complete(&mut self, completion: WorkCompletion) -> Result<Completed, RunError> {
        let (wr_id, queue) = (completion.wr_id, completion.queue);
        let posted = self.posted.entry(queue).or_default();
        // It is of a signaled post, or of one that failed.
        let is_of = |post: &Posted| match completion.status {
            Status::Success => post.signaled,
            _ => post.signaled || post.wr_id == wr_id,
        };
        let at = posted.iter().position(is_of).ok_or(RunError::Unexpected { wr_id, queue })?;
        let mut numbers: Vec<u64> = posted.drain(..=at).map(|post| post.number).collect();
        let post = numbers.pop().expect("the post itself");
        Ok(Completed { unsignaled: numbers, post, completion })
    }
}
