//! What can go wrong in an exchange.

use std::io;

use datafusion::error::DataFusionError;
use drdma_arrow::{ArenaError, FormatError, ReceiveError, SendError};
use libdrdma::{ModifyError, Status};

/// Why an exchange, and with it the query, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The other end closed its connection before the rows were over: its worker is lost, most likely.
    #[error("{peer} is gone: it closed the exchange of stage {stage}, task {task}, before its end")]
    Gone {
        /// Who.
        peer: String,
        /// The stage whose rows were exchanged.
        stage: usize,
        /// The task of it.
        task: usize,
    },
    /// The control connection broke.
    #[error("{peer}: {source}")]
    Control {
        /// To whom.
        peer: String,
        /// Why.
        source: io::Error,
    },
    /// The other end says something that is not its turn, or names what there is not.
    #[error("{peer}: {what}")]
    Protocol {
        /// Who.
        peer: String,
        /// What is wrong.
        what: String,
    },
    /// The task failed at its worker.
    #[error("{peer}: {reason}")]
    Remote {
        /// The worker.
        peer: String,
        /// What it says.
        reason: String,
    },
    /// A request of rows failed.
    #[error("rows to {peer}: the request ended with {status:?}")]
    Request {
        /// The worker that they were for.
        peer: String,
        /// How it ended.
        status: Status,
    },
    /// A batch is too large for the card's queue.
    #[error("a batch of {rows} rows has more requests than the send queue holds: {source}")]
    TooLarge {
        /// Rows of the batch.
        rows: usize,
        /// What libdrdma says.
        source: libdrdma::PostError,
    },
    /// More partitions than an exchange has.
    #[error("{partitions} partitions: an exchange has at most {limit}")]
    Partitions {
        /// How many there are.
        partitions: usize,
        /// How many are possible.
        limit: usize,
    },
    /// Rows that have to wait found no room on disk, or it failed.
    #[error(
        "rows of stage {stage}, task {task} cannot wait on disk, where {used} B of {limit} B (`disk`) are used: {source}"
    )]
    Spill {
        /// The stage whose rows were exchanged.
        stage: usize,
        /// The task of it.
        task: usize,
        /// Bytes of the worker's files.
        used: u64,
        /// Bytes that they may have: [`Config::disk`](crate::exchange::Config::disk).
        limit: u64,
        /// What the engine says.
        source: DataFusionError,
    },
    /// An option whose value is not possible.
    #[error("{what} is {value}: it must be {expected}")]
    Options {
        /// Which.
        what: &'static str,
        /// What it is.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
    /// Rows of that schema cannot be exchanged.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A batch was not sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// Nothing was received.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// A queue was not made.
    #[error(transparent)]
    Queue(#[from] libdrdma::Error),
    /// A queue pair was not connected.
    #[error(transparent)]
    Connect(#[from] ModifyError),
    /// Memory was not registered.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// A card or its wire failed, and with it the network.
    #[error("the card's time stands still: {reason}")]
    Stopped {
        /// Why.
        reason: String,
    },
    /// A worker does not answer any more.
    #[error("{worker} is lost: {reason}")]
    Lost {
        /// Which.
        worker: String,
        /// What shows it.
        reason: String,
    },
    /// A worker is not what it should be: another build, or started from another file.
    #[error("{worker} does not fit: {what} is {theirs} there, {ours} here")]
    Mismatch {
        /// Which.
        worker: String,
        /// What differs.
        what: String,
        /// As it is at the worker.
        theirs: String,
        /// As it is here.
        ours: String,
    },
    /// A worker's process was not started, or did not say where it is.
    #[error("worker {worker} was not started: {reason}")]
    Start {
        /// Its number.
        worker: usize,
        /// Why.
        reason: String,
    },
    /// A description of a cluster is none.
    #[error("{what}: {reason}")]
    Directory {
        /// The file or the line that it was to be read from.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The network was not made.
    #[error(transparent)]
    Network(#[from] drdma_fabric::FabricError),
    /// A socket or a thread was not made.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// What DataFusion says.
    #[error(transparent)]
    DataFusion(#[from] DataFusionError),
    /// What Arrow says.
    #[error(transparent)]
    Arrow(#[from] datafusion::arrow::error::ArrowError),
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        match error {
            Error::DataFusion(error) => error,
            error => Self::External(Box::new(error)),
        }
    }
}
