//! Running a job on a card.

mod memory;
mod payload;
mod queues;

use std::time::{Duration, Instant};

use drdma_driver::CardError;
use libdrdma::{Context, MemoryRegionError, ModifyError, PostError, RegionError, WorkCompletion};

use crate::job::Job;
use payload::Payload;
use queues::Queues;

/// Why a job was not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A resource of the card is used up, or the card failed while it was set up.
    #[error(transparent)]
    Setup(#[from] libdrdma::Error),
    /// Memory was not registered.
    #[error("the buffers cannot be registered: {0}")]
    Memory(#[from] MemoryRegionError),
    /// A queue pair was not connected.
    #[error("queue pair \"{qp}\" cannot be connected: {source}")]
    Connect {
        /// Its name.
        qp: String,
        /// Why.
        source: ModifyError,
    },
    /// A region cannot be told to the card.
    #[error("posts[{post}]: {source}")]
    Region {
        /// Index of the post.
        post: usize,
        /// Why.
        source: RegionError,
    },
    /// A request was not posted.
    #[error("posts[{post}]: {source}")]
    Post {
        /// Index of the post.
        post: usize,
        /// Why.
        source: PostError,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// A completion that belongs to no post.
    #[error("the card completed a request {wr_id} on queue {queue} that was never posted there")]
    Unexpected {
        /// The request's name.
        wr_id: u64,
        /// The queue's number.
        queue: u16,
    },
    /// Nothing happened for too long.
    #[error(
        "no completion for {} s: posts[{post}] (wr_id {wr_id}) is not complete, nor are {others} \
         posts behind it",
        waited.as_secs_f64()
    )]
    TimedOut {
        /// Index of the first post that is not complete.
        post: usize,
        /// Its name.
        wr_id: u64,
        /// Further posts that are not complete.
        others: usize,
        /// How long nothing happened.
        waited: Duration,
    },
    /// What the caller does with completions failed.
    #[error("the completions cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

/// What happens while a job runs.
pub trait Observer {
    /// A post completed; called in the order in which the host sees completions.
    ///
    /// # Errors
    /// What went wrong with it; the run ends.
    fn seen(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        let _ = completion;
        Ok(())
    }

    /// A post completed and all posts before it have; called in the order of the posts.
    ///
    /// # Errors
    /// What went wrong with it; the run ends.
    fn completed(&mut self, completion: &WorkCompletion) -> Result<(), RunError>;

    /// A number that changes as long as the card is at work, for instance the frames that left it.
    fn activity(&self) -> u64 {
        0
    }
}

impl Observer for Vec<WorkCompletion> {
    fn completed(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        self.push(*completion);
        Ok(())
    }
}

/// Posts everything and waits until it is complete, or until nothing happened for `patience`.
/// The card's counters start from 0 before the first post.
///
/// # Errors
/// See [`RunError`]. That a post completes with a status other than success is none.
pub fn run(
    job: &Job,
    context: &Context,
    patience: Duration,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    let pd = context.protection_domain();
    let mut memory = memory::Memory::new(job, &pd)?;
    let mut requests = Vec::with_capacity(job.posts.len());
    for (index, post) in job.posts.iter().enumerate() {
        let source = |source| RunError::Region { post: index, source };
        requests.push(Payload::of(post, &mut memory).map_err(source)?);
    }
    let mut queues = Queues::new(job, &pd)?;
    context.clear_counters()?;

    let mut done: Vec<Option<WorkCompletion>> = vec![None; job.posts.len()];
    let mut reported = 0;
    let mut next = 0;
    let mut last = (Instant::now(), observer.activity());
    while reported < job.posts.len() {
        if next < job.posts.len() && queues.post(next, &job.posts[next], &requests[next])? {
            next += 1;
            continue;
        }
        // Everything is posted, or the queue is full: something must complete.
        let mut any = false;
        while let Some((post, completion)) = queues.poll()? {
            any = true;
            observer.seen(&completion)?;
            done[post] = Some(completion);
        }
        while let Some(completion) = done.get(reported).copied().flatten() {
            observer.completed(&completion)?;
            reported += 1;
        }
        let activity = observer.activity();
        if any || activity != last.1 {
            last = (Instant::now(), activity);
        } else if last.0.elapsed() >= patience {
            let others = done[reported..].iter().filter(|d| d.is_none()).count() - 1;
            let wr_id = job.posts[reported].wr_id;
            return Err(RunError::TimedOut { post: reported, wr_id, others, waited: patience });
        }
        if !any {
            context.progress()?;
        }
    }
    Ok(())
}
