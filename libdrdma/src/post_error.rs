//! Why a work request was not posted.

use drdma_driver::CardError;

use crate::QueuePairState;

/// Why a work request was not posted. Nothing of it reached the card.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The queue pair is not ready to send.
    #[error("the queue pair is in state {state}: it takes work requests in RTS or Error")]
    State {
        /// Its state.
        state: QueuePairState,
    },
    /// The ring has too little room until something completes and is polled.
    #[error("the send queue is full: the request needs {needed} blocks of 64 B, {free} are free")]
    QueueFull {
        /// Blocks that the request needs.
        needed: u32,
        /// Blocks that are free.
        free: u32,
    },
    /// Unsignaled requests hold as much of the ring as they may: nobody knows when they are complete
    /// before a signaled request behind them is. This request must be signaled.
    #[error(
        "a signaled request is due: with this one, the unsignaled requests behind the last signaled \
         one would take {unsignaled} blocks of 64 B, {limit} (half of the send queue) are possible"
    )]
    SignalDue {
        /// Blocks of the requests behind the last signaled one, this one included.
        unsignaled: u32,
        /// Blocks that they may take.
        limit: u32,
    },
    /// The request is longer than the whole ring.
    #[error("the request needs {needed} blocks of 64 B, the whole send queue has {blocks}")]
    RequestTooLong {
        /// Blocks that the request needs.
        needed: u32,
        /// Blocks of the ring.
        blocks: u32,
    },
    /// As many requests are posted and not yet polled as the completion queue has entries.
    #[error(
        "the completion queue is full: {outstanding} of {capacity} completions are outstanding"
    )]
    CompletionQueueFull {
        /// Requests posted and not yet polled.
        outstanding: u32,
        /// Entries of the completion queue.
        capacity: u32,
    },
    /// More regions than a destination takes.
    #[error("destination {destination}: {regions} regions, at most {limit} are possible")]
    TooManyRegions {
        /// Index of the destination.
        destination: usize,
        /// Its regions.
        regions: usize,
        /// The limit.
        limit: usize,
    },
    /// More regions than a request takes, all destinations together.
    #[error("the destinations have {regions} regions together, at most {limit} are possible")]
    RequestRegions {
        /// Regions of all destinations.
        regions: usize,
        /// The limit.
        limit: usize,
    },
    /// No destination, or more than a request takes.
    #[error("{destinations} destinations, 1 to {limit} are possible")]
    Destinations {
        /// Destinations of the request.
        destinations: usize,
        /// The limit.
        limit: usize,
    },
    /// A payload of more bytes than an entry takes.
    #[error("an inline payload of {bytes} B: at most {limit} B are possible")]
    InlineBytes {
        /// Its bytes.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A request has both regions and a payload of its own.
    #[error("an inline payload and {regions} regions: a request sends one or the other")]
    InlineRegions {
        /// Its regions.
        regions: usize,
    },
    /// A READ or an atomic has a payload of its own.
    #[error("an inline payload: a READ or an atomic sends none")]
    InlineOperation,
    /// An inline payload, which is one row, that is to go by columns.
    #[error("an inline payload by columns: it is one row")]
    InlineLayout,
    /// More remote addresses than a destination has room for.
    #[error("destination {destination}: {columns} remote columns, at most {limit} are possible")]
    RemoteColumns {
        /// Index of the destination.
        destination: usize,
        /// Its remote addresses.
        columns: usize,
        /// The limit.
        limit: usize,
    },
    /// Remote addresses of columns in what is no WRITE.
    #[error("remote columns in what is no WRITE")]
    RemoteColumnsOperation,
    /// A READ or an atomic, or a receive, with regions that cannot be filled, or by columns.
    #[error("{what} with {reason}: such regions are sent from alone")]
    NotFilled {
        /// What was posted.
        what: &'static str,
        /// Why it cannot be.
        reason: &'static str,
    },
    /// More granules than a request has.
    #[error("the request has {granules} granules of 16 B, at most {limit} are possible")]
    Granules {
        /// Its granules.
        granules: usize,
        /// The limit.
        limit: usize,
    },
    /// A message of no rows.
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
    /// Two destinations get the same partition.
    #[error("destination {destination}: partition {partition} is destination {other}'s already")]
    PartitionTwice {
        /// Index of the destination.
        destination: usize,
        /// The partition's id.
        partition: u16,
        /// Index of the earlier destination.
        other: usize,
    },
    /// A partition that the card makes from no keys.
    #[error("destination {destination}: partition {partition}; the region's keys make 0 to {last}")]
    PartitionNotMade {
        /// Index of the destination.
        destination: usize,
        /// The partition's id.
        partition: u16,
        /// The last one that is made.
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
    /// The card does not do what the request needs; see [`Context::features`](crate::Context::features).
    #[error("{what} is not possible: {reason}")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
        /// What the card lacks.
        reason: &'static str,
    },
    /// The receive's regions need more places than the card has for one; see
    /// [`Features::STRIDED_RECEIVES`](crate::Features::STRIDED_RECEIVES) and [`Features::MAPPED_RECEIVES`](crate::Features::MAPPED_RECEIVES).
    #[error(
        "the receive needs {places} places, one for a contiguous region, and for another one one and another for each extent or column, or two if there is a bitmapped or pointer-mapped one: the card has {limit}"
    )]
    ReceivePlaces {
        /// Places that it needs.
        places: usize,
        /// The limit.
        limit: usize,
    },
    /// The queue pair was made without a receive queue of its own.
    #[error("the queue pair has no receive queue of its own")]
    NoReceiveQueue,
    /// The queue pair takes receives only when it is set up.
    #[error("the queue pair is in state {state}: it takes receives in Init, RTR, RTS or Error")]
    ReceiveState {
        /// Its state.
        state: QueuePairState,
    },
    /// The receive queue has too little room until something completes and is polled.
    #[error(
        "the receive queue is full: the receive needs {needed} blocks of 64 B, {free} are free"
    )]
    ReceiveQueueFull {
        /// Blocks that the receive needs.
        needed: u32,
        /// Blocks that are free.
        free: u32,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}
