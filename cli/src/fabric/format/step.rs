//! Steps of a fabric job as they are written: what nodes post, and when all of them wait.

use drdma_abi::work_request::{MAX_DESTINATIONS, MAX_REGIONS, MAX_REMOTE_COLUMNS};
use schemars::JsonSchema;
use serde::Serialize;

use crate::job::format::{Messages, Partitioned, Region};

/// A request that a node posts, or a wait of all nodes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub(in crate::fabric) enum Step {
    /// All nodes wait.
    Wait(Wait),
    /// A node posts.
    Post(Box<Post>),
}

/// All nodes wait until all requests that were posted, except receives, have completed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::fabric) struct Wait {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What the nodes wait for.
    pub wait: For,
}

/// What nodes wait for.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::fabric) enum For {
    /// All requests that were posted.
    All,
}

/// A work request.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub(in crate::fabric) enum Post {
    /// Posts to the send queue of a queue pair.
    PostSend(PostSend),
    /// Posts one request to several queue pairs.
    PostSsqSend(PostSsqSend),
    /// Posts to the receive queue of a queue pair.
    PostRecv(PostRecv),
    /// Posts to a shared receive queue.
    PostSrqRecv(PostSrqRecv),
    /// Frees the oldest rows of an append region.
    GiveBack(GiveBack),
}

/// An operation on one queue pair.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::fabric) enum Op {
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendImm,
    /// WRITE.
    Write,
    /// WRITE with immediate data.
    WriteImm,
    /// READ.
    Read,
    /// Compare and swap.
    CompareAndSwap,
    /// Fetch and add.
    FetchAndAdd,
    /// SEND that invalidates the peer's key `remote`.
    SendInvalidate,
}

/// An operation on several queue pairs.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::fabric) enum SharedOp {
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendImm,
    /// WRITE.
    Write,
    /// WRITE with immediate data.
    WriteImm,
}

/// A request for one queue pair.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::fabric) struct PostSend {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node that posts.
    pub node: String,
    /// Identifier of the request, which its completion reports.
    pub wr_id: u64,
    /// The operation.
    pub op: Op,
    /// What its messages are.
    #[serde(flatten)]
    pub messages: Messages,
    /// The request waits until the READs and atomics before it have completed (default: false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<bool>,
    /// The peer's completions are solicited (default: false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solicited: Option<bool>,
    /// The payload is part of the request (default: false). The regions are contiguous, have 64 B at most together,
    /// and are one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<bool>,
    /// Value with which the peer's memory is compared (compare_and_swap).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<u64>,
    /// Value that is written if both are equal (compare_and_swap).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<u64>,
    /// Value that is added to the peer's memory (fetch_and_add).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<u64>,
    /// The queue pair's name.
    pub qp: String,
    /// Where it goes at the peer.
    #[serde(flatten)]
    pub target: Target,
    /// Memory to send, or to fill with the answer of a READ or an atomic operation.
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Vec<Region>,
}

/// A request for several queue pairs.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::fabric) struct PostSsqSend {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node that posts.
    pub node: String,
    /// Identifier of the request, which its completion reports.
    pub wr_id: u64,
    /// The operation.
    pub op: SharedOp,
    /// What its messages are.
    #[serde(flatten)]
    pub messages: Messages,
    /// The request waits until the READs and atomics before it have completed (default: false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<bool>,
    /// One region for all destinations, with a partition id for each row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitioned: Option<Partitioned>,
    /// Destinations, each with another queue pair.
    #[schemars(length(min = 1, max = MAX_DESTINATIONS))]
    pub destinations: Vec<Destination>,
}

/// A destination of a request.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::fabric) struct Destination {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The queue pair's name.
    pub qp: String,
    /// Where it goes at the peer.
    #[serde(flatten)]
    pub target: Target,
    /// Memory to send, unless the post is partitioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Option<Vec<Region>>,
    /// Id of the rows that the destination gets, if the post is partitioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<u16>,
}

/// Where a request goes at the peer.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(in crate::fabric) struct Target {
    /// A buffer or key of another node, as node/name: the target of a WRITE, or, of a request to one queue pair, also
    /// of a READ or an atomic operation, or the key to invalidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Offset in bytes from its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_offset: Option<u64>,
    /// A literal address and key, instead of remote and remote_offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
    /// Target of each column of a WRITE by columns, instead of remote, remote_offset and raw.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_REMOTE_COLUMNS))]
    pub remote_columns: Option<Vec<RemoteColumn>>,
    /// Target of a datagram, as node/queue pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
}

/// Target of the values of one column: a buffer or key of another node, or a literal address and key.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::fabric) struct RemoteColumn {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// A buffer or key of another node, as node/name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Offset in bytes from its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_offset: Option<u64>,
    /// A literal address and key, instead of remote and remote_offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

/// A literal address and key.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::fabric) struct Raw {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The address.
    pub remote_addr: u64,
    /// The key.
    pub rkey: u32,
}

/// A receive of a queue pair.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::fabric) struct PostRecv {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node that posts.
    pub node: String,
    /// Identifier of the request, which its completion reports.
    pub wr_id: u64,
    /// The queue pair's name.
    pub qp: String,
    /// What the message fills.
    #[serde(flatten)]
    pub filled: Filled,
}

/// A receive of a shared receive queue.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::fabric) struct PostSrqRecv {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node that posts.
    pub node: String,
    /// Identifier of the request, which its completion reports.
    pub wr_id: u64,
    /// The queue's name.
    pub srq: String,
    /// What the message fills.
    #[serde(flatten)]
    pub filled: Filled,
}

/// Memory that a message fills.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(in crate::fabric) struct Filled {
    /// Memory that the bytes of a message fill, in order. Leave it out if the receive has `append`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Option<Vec<Region>>,
    /// The append region that takes the message, instead of regions. Not on ud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append: Option<String>,
}

/// Frees the oldest rows of an append region.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::fabric) struct GiveBack {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node that owns the append region.
    pub node: String,
    /// The append region's name.
    pub append: String,
    /// Number of rows to free.
    #[schemars(range(min = 1))]
    pub rows: u32,
}
