//! Errors of endpoints and buffer pools.

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
    /// A node's number is not below the number of nodes, or there are too many nodes.
    #[error("node {node}: there are {nodes} nodes, and {limit} are possible")]
    Node {
        /// Number of the node.
        node: usize,
        /// Nodes of the exchange.
        nodes: usize,
        /// Nodes that an exchange can have.
        limit: usize,
    },
    /// A node is named twice among the destinations of one buffer.
    #[error("node {node} is named twice as a destination")]
    NodeTwice {
        /// The node.
        node: usize,
    },
    /// Addresses of fewer or more nodes than there are, or of an endpoint that was made otherwise.
    #[error("the address of node {node} has {found} {what}, {expected} are needed")]
    Address {
        /// Number of the node.
        node: usize,
        /// Name of what there are too few or too many of.
        what: &'static str,
        /// Number that was found.
        found: usize,
        /// Number that is needed.
        expected: usize,
    },
    /// A message was put after the end of the stream.
    #[error("a message to node {node} after the end of the stream")]
    Finished {
        /// The destination.
        node: usize,
    },
    /// A row is longer than a message.
    #[error("a row of {row} B does not fit a message of {message} B")]
    Row {
        /// Bytes of the row.
        row: usize,
        /// Bytes of a message.
        message: usize,
    },
    /// Rows have more columns than a request takes.
    #[error("rows of {columns} columns: {limit} are possible")]
    Columns {
        /// Columns of a row.
        columns: usize,
        /// Columns that a request takes.
        limit: usize,
    },
    /// The endpoint has fewer buffers than the threads that fill them may hold at a time.
    #[error("send_buffers is {buffers}: {writers} writers with {groups} groups each need {}", writers * groups)]
    SendBuffers {
        /// Buffers of the endpoint.
        buffers: usize,
        /// Threads that fill buffers.
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
        /// Bytes of a message of the endpoint.
        message: u32,
        /// Bytes of a message that the pool's buffers are for.
        pool: u32,
    },
    /// A row is for a group that does not exist.
    #[error("a row for group {group}: there are {groups} groups")]
    Group {
        /// Number of the group.
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
        /// Status of the request's completion.
        status: Status,
    },
    /// A peer has not taken messages for too long: it gives no credit, or frees no buffer.
    #[error("node {node} has taken nothing for {waited:?}: {waiting} messages wait for it")]
    Stalled {
        /// The peer.
        node: usize,
        /// Time for which it has taken nothing.
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
        /// Time for which it has sent nothing.
        waited: Duration,
        /// Messages that were received from it.
        received: u64,
    },
    /// Messages were lost, on UD.
    #[error("{} of the {sent} messages of node {node} are lost", sent - received)]
    Missing {
        /// The sender.
        node: usize,
        /// Messages that it sent.
        sent: u64,
        /// Messages that were received.
        received: u64,
    },
    /// More messages were received than were sent.
    #[error("node {node} has sent {sent} messages, {received} came")]
    TooMany {
        /// The sender.
        node: usize,
        /// Messages that it sent.
        sent: u64,
        /// Messages that were received.
        received: u64,
    },
    /// What a peer wrote into this endpoint's memory is nothing that an endpoint writes.
    #[error("node {node} has written {value:#x} as {what}")]
    Garbled {
        /// The peer.
        node: usize,
        /// Name of what the value should be.
        what: &'static str,
        /// Value that was found.
        value: u64,
    },
    /// The next streams were to begin before the last ones are done.
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
    /// A region is not possible.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A request was refused.
    #[error(transparent)]
    Post(#[from] PostError),
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}
