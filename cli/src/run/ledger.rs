//! The ledger: finds the post of each completion.

use std::collections::{HashMap, VecDeque};

use libdrdma::{Status, WorkCompletion};

use super::RunError;

/// The posts that may not be complete, by the number of their queue, oldest first.
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

/// Posts that a completion reports.
#[derive(Debug)]
pub struct Completed {
    /// Numbers of unsignaled posts before it, which succeeded.
    pub unsignaled: Vec<u64>,
    /// Number of the post that has completed.
    pub post: u64,
    /// The completion itself.
    pub completion: WorkCompletion,
}

impl Ledger {
    /// Records that post `number` was posted to a queue.
    pub fn post(&mut self, queue: u16, number: u64, wr_id: u64, signaled: bool) {
        self.posted.entry(queue).or_default().push_back(Posted { number, wr_id, signaled });
    }

    /// Finds the posts that a completion reports.
    ///
    /// # Errors
    /// [`RunError::Unexpected`] if the completion belongs to no post.
    pub fn complete(&mut self, completion: WorkCompletion) -> Result<Completed, RunError> {
        let (wr_id, queue) = (completion.wr_id, completion.queue);
        let posted = self.posted.entry(queue).or_default();
        // The completion belongs to a signaled post, or to one that failed.
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
