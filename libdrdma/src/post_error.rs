//! Why a work request was not posted.

use drdma_driver::CardError;

use crate::QueuePairState;

/// Error of posting a work request. Nothing of the request reached the card.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The queue pair is not ready to send.
    #[error("the queue pair is in state {state}: it takes work requests in RTS or Error")]
    State {
        /// State of the queue pair.
        state: QueuePairState,
    },
    /// The ring has too little room until a request completes and its completion is polled.
    #[error("the send queue is full: the request needs {needed} blocks of 64 B, {free} are free")]
    QueueFull {
        /// Number of blocks that the request needs.
        needed: u32,
        /// Number of free blocks.
        free: u32,
    },
    /// Unsignaled requests hold as much of the ring as they may: their completion is not known
    /// before that of a signaled request behind them. This request must be signaled.
    #[error(
        "a signaled request is due: with this one, the unsignaled requests behind the last signaled \
         one would take {unsignaled} blocks of 64 B, {limit} (half of the send queue) are possible"
    )]
    SignalDue {
        /// Number of blocks of the requests behind the last signaled one, this one included.
        unsignaled: u32,
        /// Number of blocks that they may take.
        limit: u32,
    },
    /// The request is longer than the whole ring.
    #[error("the request needs {needed} blocks of 64 B, the whole send queue has {blocks}")]
    RequestTooLong {
        /// Number of blocks that the request needs.
        needed: u32,
        /// Number of blocks of the ring.
        blocks: u32,
    },
    /// As many requests are posted and not yet polled as the completion queue has entries.
    #[error(
        "the completion queue is full: {outstanding} of {capacity} completions are outstanding"
    )]
    CompletionQueueFull {
        /// Number of requests posted and not yet polled.
        outstanding: u32,
        /// Number of entries of the completion queue.
        capacity: u32,
    },
    /// A destination has more regions than possible.
    #[error("destination {destination}: {regions} regions, at most {limit} are possible")]
    TooManyRegions {
        /// Index of the destination.
        destination: usize,
        /// Number of regions of the destination.
        regions: usize,
        /// Largest number that is possible.
        limit: usize,
    },
    /// The destinations have more regions together than a request takes.
    #[error("the destinations have {regions} regions together, at most {limit} are possible")]
    RequestRegions {
        /// Number of regions of all destinations.
        regions: usize,
        /// Largest number that is possible.
        limit: usize,
    },
    /// The request has no destination, or more than possible.
    #[error("{destinations} destinations, 1 to {limit} are possible")]
    Destinations {
        /// Number of destinations of the request.
        destinations: usize,
        /// Largest number that is possible.
        limit: usize,
    },
    /// The inline payload has more bytes than an entry takes.
    #[error("an inline payload of {bytes} B: at most {limit} B are possible")]
    InlineBytes {
        /// Length of the payload in bytes.
        bytes: usize,
        /// Largest length in bytes that is possible.
        limit: usize,
    },
    /// The request has both regions and an inline payload.
    #[error("an inline payload and {regions} regions: a request sends one or the other")]
    InlineRegions {
        /// Number of regions.
        regions: usize,
    },
    /// A READ or an atomic has an inline payload.
    #[error("an inline payload: a READ or an atomic sends none")]
    InlineOperation,
    /// An inline payload, which is one row, cannot be sent by columns.
    #[error("an inline payload by columns: it is one row")]
    InlineLayout,
    /// A destination has more remote columns than possible.
    #[error("destination {destination}: {columns} remote columns, at most {limit} are possible")]
    RemoteColumns {
        /// Index of the destination.
        destination: usize,
        /// Number of its remote columns.
        columns: usize,
        /// Largest number that is possible.
        limit: usize,
    },
    /// A request other than a WRITE has remote columns.
    #[error("remote columns in what is no WRITE")]
    RemoteColumnsOperation,
    /// A READ, an atomic or a receive has regions that cannot be filled, or is by columns.
    #[error("{what} with {reason}: such regions are sent from alone")]
    NotFilled {
        /// Name of what was posted.
        what: &'static str,
        /// Reason why its regions cannot be filled.
        reason: &'static str,
    },
    /// The request has more granules than possible.
    #[error("the request has {granules} granules of 16 B, at most {limit} are possible")]
    Granules {
        /// Number of granules of the request.
        granules: usize,
        /// Largest number that is possible.
        limit: usize,
    },
    /// A message would have no rows.
    #[error("rows_per_message is 0")]
    RowsPerMessage,
    /// A region belongs to another protection domain than the queue.
    #[error(
        "destination {destination}, region {region}: another protection domain than the queue's"
    )]
    ProtectionDomain {
        /// Index of the destination.
        destination: usize,
        /// Index of the region.
        region: usize,
    },
    /// Two destinations have the same partition.
    #[error("destination {destination}: partition {partition} is destination {other}'s already")]
    PartitionTwice {
        /// Index of the destination.
        destination: usize,
        /// Id of the partition.
        partition: u16,
        /// Index of the earlier destination.
        other: usize,
    },
    /// No key can make that partition.
    #[error("destination {destination}: partition {partition}; the region's keys make 0 to {last}")]
    PartitionNotMade {
        /// Index of the destination.
        destination: usize,
        /// Id of the partition.
        partition: u16,
        /// Largest id that keys make.
        last: u32,
    },
    /// A partitioned region belongs to another protection domain than the queue.
    #[error("the partitioned region: another protection domain than the queue's")]
    PartitionedRegionDomain,
    /// A queue pair belongs to another protection domain than the shared send queue.
    #[error(
        "destination {destination}: a queue pair of another protection domain than the queue's"
    )]
    QueuePairDomain {
        /// Index of the destination.
        destination: usize,
    },
    /// The card lacks a feature that the request needs; see
    /// [`Context::features`](crate::Context::features).
    #[error("{what} is not possible: {reason}")]
    Unsupported {
        /// Name of the operation that was asked for.
        what: &'static str,
        /// Description of what the card lacks.
        reason: &'static str,
    },
    /// The receive's regions need more places than the card has for one; see
    /// [`Features::STRIDED_RECEIVES`](crate::Features::STRIDED_RECEIVES) and
    /// [`Features::MAPPED_RECEIVES`](crate::Features::MAPPED_RECEIVES).
    #[error(
        "the receive needs {places} places, one for a contiguous region, and for another one one and another for each extent or column, or two if there is a bitmapped or pointer-mapped one: the card has {limit}"
    )]
    ReceivePlaces {
        /// Number of places that the receive needs.
        places: usize,
        /// Largest number that is possible.
        limit: usize,
    },
    /// The queue pair was made without a receive queue of its own.
    #[error("the queue pair has no receive queue of its own")]
    NoReceiveQueue,
    /// The queue pair takes receives only when it is set up.
    #[error("the queue pair is in state {state}: it takes receives in Init, RTR, RTS or Error")]
    ReceiveState {
        /// State of the queue pair.
        state: QueuePairState,
    },
    /// The receive queue has too little room until a receive completes and its completion is
    /// polled.
    #[error(
        "the receive queue is full: the receive needs {needed} blocks of 64 B, {free} are free"
    )]
    ReceiveQueueFull {
        /// Number of blocks that the receive needs.
        needed: u32,
        /// Number of free blocks.
        free: u32,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}
