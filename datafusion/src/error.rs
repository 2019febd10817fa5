//! Errors of exchanges and clusters.

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
        /// Name of the worker at the other end.
        peer: String,
        /// The stage whose rows were exchanged.
        stage: usize,
        /// Number of the task in the stage.
        task: usize,
    },
    /// The control connection broke.
    #[error("{peer}: {source}")]
    Control {
        /// Name of the worker at the other end.
        peer: String,
        /// Error of the connection.
        source: io::Error,
    },
    /// The other end sent a message out of turn, or one that names something that does not exist.
    #[error("{peer}: {what}")]
    Protocol {
        /// Name of the worker at the other end.
        peer: String,
        /// Description of the fault.
        what: String,
    },
    /// The task failed at its worker.
    #[error("{peer}: {reason}")]
    Remote {
        /// Name of the worker.
        peer: String,
        /// Error of the task, as the worker reports it.
        reason: String,
    },
    /// A request of rows failed.
    #[error("rows to {peer}: the request ended with {status:?}")]
    Request {
        /// Name of the worker that the rows were for.
        peer: String,
        /// Status of the request's completion.
        status: Status,
    },
    /// A batch is too large for the card's queue.
    #[error("a batch of {rows} rows has more requests than the send queue holds: {source}")]
    TooLarge {
        /// Rows of the batch.
        rows: usize,
        /// Error that libdrdma returned.
        source: libdrdma::PostError,
    },
    /// The output has more partitions than an exchange can have.
    #[error("{partitions} partitions: an exchange has at most {limit}")]
    Partitions {
        /// Number of partitions.
        partitions: usize,
        /// Number of partitions that are possible.
        limit: usize,
    },
    /// Rows that have to wait found no room on disk, or the disk failed.
    #[error(
        "rows of stage {stage}, task {task} cannot wait on disk, where {used} B of {limit} B (`disk`) are used: {source}"
    )]
    Spill {
        /// The stage whose rows were exchanged.
        stage: usize,
        /// Number of the task in the stage.
        task: usize,
        /// Bytes of the worker's files on disk.
        used: u64,
        /// Bytes that these files may have: [`Config::disk`](crate::exchange::Config::disk).
        limit: u64,
        /// Error that the engine returned.
        source: DataFusionError,
    },
    /// An option whose value is not possible.
    #[error("{what} is {value}: it must be {expected}")]
    Options {
        /// Name of the option.
        what: &'static str,
        /// Value of the option.
        value: String,
        /// Range of the values that are possible.
        expected: &'static str,
    },
    /// Rows of that schema cannot be exchanged.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A batch was not sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A receive failed, or messages are no batch.
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
        /// Error of the card or wire.
        reason: String,
    },
    /// A worker does not answer any more.
    #[error("{worker} is lost: {reason}")]
    Lost {
        /// Name of the worker.
        worker: String,
        /// What shows that the worker is lost.
        reason: String,
    },
    /// A worker is not what it should be: another build, or started from another file.
    #[error("{worker} does not fit: {what} is {theirs} there, {ours} here")]
    Mismatch {
        /// Name of the worker.
        worker: String,
        /// Name of the value that differs.
        what: String,
        /// The value at the worker.
        theirs: String,
        /// The value here.
        ours: String,
    },
    /// A worker's process was not started, or did not say where it is.
    #[error("worker {worker} was not started: {reason}")]
    Start {
        /// Number of the worker.
        worker: usize,
        /// Reason why it was not started.
        reason: String,
    },
    /// A description of a cluster is not possible.
    #[error("{what}: {reason}")]
    Directory {
        /// Name of the file or line that it was read from.
        what: String,
        /// Description of the fault.
        reason: String,
    },
    /// The network was not made.
    #[error(transparent)]
    Network(#[from] drdma_fabric::FabricError),
    /// A socket or a thread was not made.
    #[error("{what}: {source}")]
    System {
        /// Operation that failed.
        what: String,
        /// Error that the system returned.
        source: io::Error,
    },
    /// DataFusion returned an error.
    #[error(transparent)]
    DataFusion(#[from] DataFusionError),
    /// Arrow returned an error.
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
