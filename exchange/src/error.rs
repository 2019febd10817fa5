//! Why an exchange does not go on.

use std::time::Duration;

use libdrdma::{CardError, MemoryRegionError, ModifyError, PostError, RegionError, Status};

use crate::ConfigError;

/// Why an endpoint was not opened, or does not go on. An endpoint that failed stays failed: the query that it works for
/// is to be started again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value outside its limits.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A node that there is not.
    #[error("node {node}: there are {nodes} nodes, and {limit} are possible")]
    Node {
        /// The node.
        node: usize,
        /// Nodes of the exchange.
        nodes: usize,
        /// Nodes that one can have.
        limit: usize,
    },
    /// A node twice among the destinations of one buffer.
    #[error("node {node} is named twice as a destination")]
    NodeTwice {
        /// The node.
        node: usize,
    },
    /// Addresses of fewer or more nodes than there are, or of an endpoint that was made otherwise.
    #[error("the address of node {node} has {found} {what}, {expected} are needed")]
    Address {
        /// The node.
        node: usize,
        /// What there are too few or too many of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// Something is to be sent after the end was told.
    #[error("a message to node {node} after the end of the stream")]
    Finished {
        /// The destination.
        node: usize,
    },
    /// Rows are longer than a message.
    #[error("a row of {row} B does not fit a message of {message} B")]
    Row {
        /// Bytes of the row.
        row: usize,
        /// Bytes of a message.
        message: usize,
    },
    /// Rows of more columns than a request takes.
    #[error("rows of {columns} columns: {limit} are possible")]
    Columns {
        /// Their columns.
        columns: usize,
        /// The limit.
        limit: usize,
    },
    /// Fewer buffers than those who fill them may hold at a time.
    #[error("send_buffers is {buffers}: {writers} writers with {groups} groups each need {}", writers * groups)]
    SendBuffers {
        /// Buffers of the endpoint.
        buffers: usize,
        /// Who fills them.
        writers: usize,
        /// Groups that each fills buffers for.
        groups: usize,
    },
    /// A pool has too few buffers for what an endpoint has at all times.
    #[error("the endpoint needs {needed} buffers, {free} of the pool's {buffers} are free")]
    PoolReserve {
        /// Buffers that it needs.
        needed: u32,
        /// Buffers that are free.
        free: u32,
        /// Buffers of the pool.
        buffers: u32,
    },
    /// A pool was made for messages of another length.
    #[error("message is {message}: the pool's buffers are for messages of {pool} B")]
    PoolMessage {
        /// Bytes of the endpoint's messages.
        message: u32,
        /// Bytes of the pool's.
        pool: u32,
    },
    /// A row of a group that there is not.
    #[error("a row for group {group}: there are {groups} groups")]
    Group {
        /// The group.
        group: usize,
        /// Groups of the shuffle.
        groups: usize,
    },
    /// The card does not do what the design needs.
    #[error("{design} is not possible: {reason}")]
    Unsupported {
        /// The design.
        design: &'static str,
        /// What the card lacks.
        reason: &'static str,
    },
    /// A request to a peer, or a receive, failed: the peer is lost, or was made otherwise.
    #[error("node {node} is lost: {}", status.name())]
    Lost {
        /// The peer.
        node: usize,
        /// How the request ended.
        status: Status,
    },
    /// A peer has not taken messages for too long: it gives no credit, or frees no buffer.
    #[error("node {node} has taken nothing for {waited:?}: {waiting} messages wait for it")]
    Stalled {
        /// The peer.
        node: usize,
        /// How long.
        waited: Duration,
        /// Messages that wait.
        waiting: usize,
    },
    /// A peer has sent nothing for too long, and has not told the end of its stream. It may be lost, or be waiting for
    /// another node itself.
    #[error(
        "node {node} has sent nothing for {waited:?}: {received} messages came, the end was not told"
    )]
    Silent {
        /// The peer.
        node: usize,
        /// How long.
        waited: Duration,
        /// Messages that came.
        received: u64,
    },
    /// Messages were lost, on UD.
    #[error("{} of the {sent} messages of node {node} are lost", sent - received)]
    Missing {
        /// The sender.
        node: usize,
        /// Messages that it sent.
        sent: u64,
        /// Messages that came.
        received: u64,
    },
    /// More messages came than were sent.
    #[error("node {node} has sent {sent} messages, {received} came")]
    TooMany {
        /// The sender.
        node: usize,
        /// Messages that it sent.
        sent: u64,
        /// Messages that came.
        received: u64,
    },
    /// What a peer wrote into this endpoint's memory is nothing that an endpoint writes.
    #[error("node {node} has written {value:#x} as {what}")]
    Garbled {
        /// The peer.
        node: usize,
        /// What it should be.
        what: &'static str,
        /// What it is.
        value: u64,
    },
    /// A next stream is to begin before the last one is done.
    #[error("the endpoint of node {node} is not done with its last streams")]
    Busy {
        /// The endpoint's own node.
        node: usize,
    },
    /// The endpoint failed before.
    #[error("the endpoint has failed: {0}")]
    Failed(String),
    /// A queue was not made.
    #[error(transparent)]
    Open(#[from] libdrdma::Error),
    /// Memory was not registered.
    #[error(transparent)]
    Memory(#[from] MemoryRegionError),
    /// A queue pair was not connected.
    #[error(transparent)]
    Connect(#[from] ModifyError),
    /// A region is none.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A request was refused.
    #[error(transparent)]
    Post(#[from] PostError),
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}
