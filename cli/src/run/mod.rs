//! Running a job on a card.

pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod payload;
pub(crate) mod queues;

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use drdma_driver::CardError;
use libdrdma::{
    Context, KeptRegionError, MemoryRegionError, ModifyError, PostError, RegionError, Status,
    WorkCompletion,
};

use crate::job::Job;
use ledger::Completed;
use payload::Payload;
use queues::Queues;

/// Why a job did not run to its end.
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
        /// Name of the queue pair.
        qp: String,
        /// Error of the connection.
        source: ModifyError,
    },
    /// The key of a region was not made.
    #[error("keys[{key}]: {source}")]
    Key {
        /// Index of the key.
        key: usize,
        /// Error of the key.
        source: KeptRegionError,
    },
    /// An append region was not made.
    #[error("appends[{append}]: {source}")]
    Append {
        /// Index of the append region.
        append: usize,
        /// Error of the append region.
        source: KeptRegionError,
    },
    /// A region is not possible.
    #[error("posts[{post}]: {source}")]
    Region {
        /// Index of the post.
        post: usize,
        /// Error of the region.
        source: RegionError,
    },
    /// A request was not posted.
    #[error("posts[{post}]: {source}")]
    Post {
        /// Index of the post.
        post: usize,
        /// Error of the request.
        source: PostError,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// A completion belongs to no post.
    #[error("the card completed a request {wr_id} on queue {queue} that was never posted there")]
    Unexpected {
        /// Name of the request.
        wr_id: u64,
        /// Number of the queue.
        queue: u16,
    },
    /// No post completed for too long.
    #[error(
        "no completion for {} s: posts[{post}] (wr_id {wr_id}) is not complete, nor are {others} \
         posts behind it",
        waited.as_secs_f64()
    )]
    TimedOut {
        /// Index of the first post that is not complete.
        post: usize,
        /// Name of that post.
        wr_id: u64,
        /// Number of further posts that are not complete.
        others: usize,
        /// Time without a completion.
        waited: Duration,
    },
    /// A request completed with an error, at which the observer ends the run.
    #[error("request {wr_id} completed with {status}")]
    Status {
        /// Name of the request.
        wr_id: u64,
        /// Status of its completion.
        status: Status,
    },
    /// A peer received wrong packets.
    #[error("the card sent wrong packets: {0}")]
    Wire(String),
    /// The wire out of the simulation failed.
    #[error("the wire failed: {0}")]
    Cable(std::io::Error),
    /// The caller's handling of completions failed.
    #[error("cannot write standard output: {0}")]
    Output(#[from] std::io::Error),
}

/// Observer of a job that runs.
pub trait Observer {
    /// Called for each completion, in the order in which the host sees them.
    ///
    /// # Errors
    /// The error that ends the run.
    fn seen(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        let _ = completion;
        Ok(())
    }

    /// Called for each post that has completed once all posts before it have; in the order of the posts.
    ///
    /// # Errors
    /// The error that ends the run.
    fn completed(&mut self, completion: &WorkCompletion) -> Result<(), RunError>;

    /// Called for each unsignaled post that succeeded without a completion, once all posts before it are complete; in
    /// turn with [`completed`](Self::completed).
    fn succeeded(&mut self) {}

    /// Called again and again while the job runs; false ends it at once.
    ///
    /// # Errors
    /// The error that ends the run.
    fn turn(&mut self, context: &Context) -> Result<bool, RunError> {
        let _ = context;
        Ok(true)
    }

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
    Runner::new(job, context, Some(1))?.run(context, patience, observer)
}

/// Posts everything again and again, until [`Observer::turn`] returns false. Requests that are under way then
/// are abandoned.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    job: &Job,
    context: &Context,
    patience: Duration,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    Runner::new(job, context, None)?.run(context, patience, observer)
}

/// Passes over a job's posts that may be in the queues at a time when posts are repeated.
const PASSES: usize = 4;

/// A job with its memory and queues. Posts are numbered through all passes.
struct Runner<'a> {
    job: &'a Job,
    // Dropped before the memory that the queues read.
    queues: Queues,
    requests: Vec<Payload>,
    _memory: memory::Memory<'a>,
    /// Number of posts to make; `None` for no end.
    total: Option<u64>,
    /// Number of the next post to make.
    next: u64,
    /// Number of the first post that the observer was not called for.
    reported: u64,
    /// Results of the posts from `reported` on; `None` if a post has not ended.
    done: VecDeque<Option<End>>,
}

/// Result of a post.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The post has a completion.
    Completed(WorkCompletion),
    /// The post was unsignaled, and succeeded.
    Unsignaled,
}

impl<'a> Runner<'a> {
    fn new(job: &'a Job, context: &Context, passes: Option<u64>) -> Result<Self, RunError> {
        let pd = context.protection_domain();
        let mut memory = memory::Memory::new(job, &pd)?;
        let mut requests = Vec::with_capacity(job.posts.len());
        for (index, post) in job.posts.iter().enumerate() {
            let source = |source| RunError::Region { post: index, source };
            requests.push(Payload::of(post, &mut memory).map_err(source)?);
        }
        let at_once = if passes == Some(1) { 1 } else { PASSES };
        let posts = job.posts.len() as u64;
        Ok(Self {
            job,
            queues: Queues::new(job, &pd, at_once)?,
            requests,
            _memory: memory,
            // A job without posts is over at once, however often it is repeated.
            total: if posts == 0 { Some(0) } else { passes.map(|passes| passes * posts) },
            next: 0,
            reported: 0,
            done: VecDeque::new(),
        })
    }

    fn run(
        mut self,
        context: &Context,
        patience: Duration,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        context.clear_counters()?;
        let mut last = (Instant::now(), observer.activity());
        while Some(self.reported) != self.total && observer.turn(context)? {
            if self.post()? {
                continue;
            }
            // Everything is posted, or the queue is full: a post must complete next.
            let any = self.complete(observer)?;
            let activity = observer.activity();
            if any || activity != last.1 {
                last = (Instant::now(), activity);
            } else if last.0.elapsed() >= patience {
                return Err(self.timed_out(patience));
            }
            if !any {
                context.progress()?;
            }
        }
        Ok(())
    }

    /// Index of a post in the job.
    fn index(&self, post: u64) -> usize {
        (post % self.job.posts.len() as u64) as usize
    }

    /// Makes the next post; false if there is none, or no room for it.
    fn post(&mut self) -> Result<bool, RunError> {
        if Some(self.next) == self.total {
            return Ok(false);
        }
        let index = self.index(self.next);
        let (post, payload) = (&self.job.posts[index], &self.requests[index]);
        let posted = self
            .queues
            .post(self.next, post, payload)
            .map_err(|source| RunError::Post { post: index, source })?;
        if posted {
            self.next += 1;
            self.done.push_back(None);
        }
        Ok(posted)
    }

    /// Takes completions and reports them; returns whether there were any.
    fn complete(&mut self, observer: &mut dyn Observer) -> Result<bool, RunError> {
        let mut any = false;
        while let Some(Completed { unsignaled, post, completion }) = self.queues.poll()? {
            any = true;
            observer.seen(&completion)?;
            for post in unsignaled {
                self.done[(post - self.reported) as usize] = Some(End::Unsignaled);
            }
            self.done[(post - self.reported) as usize] = Some(End::Completed(completion));
        }
        while let Some(end) = self.done.front().copied().flatten() {
            match end {
                End::Completed(completion) => observer.completed(&completion)?,
                End::Unsignaled => observer.succeeded(),
            }
            self.done.pop_front();
            self.reported += 1;
        }
        Ok(any)
    }

    fn timed_out(&self, waited: Duration) -> RunError {
        let complete = self.done.iter().flatten().count() as u64;
        let others = self.total.unwrap_or(self.next) - self.reported - complete - 1;
        let post = self.index(self.reported);
        let wr_id = self.job.posts[post].wr_id;
        RunError::TimedOut { post, wr_id, others: others as usize, waited }
    }
}
