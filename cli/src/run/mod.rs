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
    /// A region was not given its key.
    #[error("keys[{key}]: {source}")]
    Key {
        /// Its number.
        key: usize,
        /// Why.
        source: KeptRegionError,
    },
    /// An append region was not made.
    #[error("appends[{append}]: {source}")]
    Append {
        /// Its number.
        append: usize,
        /// Why.
        source: KeptRegionError,
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
    /// A request ended badly, and the observer does not go on then.
    #[error("request {wr_id} completed with {status}")]
    Status {
        /// Its name.
        wr_id: u64,
        /// How it ended.
        status: Status,
    },
    /// A peer complains.
    #[error("the card sent wrong packets: {0}")]
    Wire(String),
    /// The wire out of the simulation failed.
    #[error("the wire failed: {0}")]
    Cable(std::io::Error),
    /// What the caller does with completions failed.
    #[error("cannot write standard output: {0}")]
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

    /// An unsignaled post succeeded, without a completion, and all posts before it are complete; in turn with
    /// [`completed`](Self::completed).
    fn succeeded(&mut self) {}

    /// Called again and again while the job runs; false ends it at once.
    ///
    /// # Errors
    /// What went wrong with that; the run ends.
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

/// Posts everything again and again, until [`Observer::turn`] says that it is enough. What is on its
/// way then is given up.
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

/// Passes over a job's posts that are in the queues at once when they are repeated.
const PASSES: usize = 4;

/// A job with its memory and queues. Posts are numbered through all passes.
struct Runner<'a> {
    job: &'a Job,
    // Dropped before the memory that they read.
    queues: Queues,
    requests: Vec<Payload>,
    _memory: memory::Memory<'a>,
    /// Posts to make; `None` is no end.
    total: Option<u64>,
    /// The next post to make.
    next: u64,
    /// The first post that the observer has not been told of.
    reported: u64,
    /// How the posts from there on ended, if they have.
    done: VecDeque<Option<End>>,
}

/// How a post ended.
#[derive(Clone, Copy, Debug)]
enum End {
    /// With a completion.
    Completed(WorkCompletion),
    /// Unsignaled, with success.
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
            // Everything is posted, or the queue is full: something must complete.
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
