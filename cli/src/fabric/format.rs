//! Fabric jobs as they are written. The schema that editors use is made of these types; what a job
//! means, and the messages for what it may not say, are the reader's.
#![expect(dead_code, reason = "the schema is made of them, and nothing else")]
#![expect(clippy::enum_variant_names, reason = "they are named as in jobs")]

use drdma_abi::{
    described::APPEND_REGIONS,
    register::QUEUE_PAIRS,
    work_request::{MAX_DESTINATIONS, MAX_ELEMENTS, MAX_REGIONS, MAX_REMOTE_COLUMNS},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::MAX_NODES;
use crate::job::{
    MAX_BUFFERS,
    format::{
        Column, Fetch, Local, MessageLayout, Partitioned, Pointer, Region, RowMask, Transport,
        schema_of,
    },
};

/// Packet sequence numbers have 24 bits.
const MAX_24: u64 = (1 << 24) - 1;

/// The JSON schema of fabric jobs (draft 2020-12).
pub fn schema() -> Value {
    schema_of::<FabricFile>()
}

/// A D-RDMA fabric job: cards behind a switch, and what each of them posts.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(title = "D-RDMA fabric job")]
pub(super) struct FabricFile {
    /// Where this schema is, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The switch and its links.
    pub network: Network,
    /// The cards.
    #[schemars(length(min = 1, max = MAX_NODES))]
    pub nodes: Vec<Node>,
    /// What is posted, in this order on each node, and at once on different nodes.
    pub steps: Vec<Step>,
}

/// A switch, and a link to each card.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Network {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Rate of a link in each direction in Gb/s: 100 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1600))]
    pub gbps: Option<u64>,
    /// Time through a link in nanoseconds: 500 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000_000))]
    pub delay_ns: Option<u64>,
    /// What an output of the switch holds, in KiB: 1024 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_194_304))]
    pub queue_kib: Option<u64>,
    /// Probability that a frame is lost: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: Option<f64>,
    /// Probability that a frame comes twice: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duplicate: Option<f64>,
    /// Probability that up to 8 others overtake a frame: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub reorder: Option<f64>,
    /// Probability that a bit of a frame is flipped: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub corrupt: Option<f64>,
    /// A frame that finds more KiB than this in its queue is marked; 0, unless told, marks none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4_194_304))]
    pub ecn_kib: Option<u64>,
    /// What the faults are drawn from: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// A card, and what its host has.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// The URI of a simulated card: soft: or rtl:.
    pub device: String,
    /// Its addresses.
    pub local: Local,
    /// Memory that regions lie in; each buffer has a key of its own.
    #[schemars(length(max = 1022))]
    pub buffers: Vec<Buffer>,
    /// Further keys, each to a region.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1022))]
    pub keys: Option<Vec<Key>>,
    /// Append regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = APPEND_REGIONS.entries))]
    pub appends: Option<Vec<Append>>,
    /// Shared receive queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub srqs: Option<Vec<Srq>>,
    /// Queue pairs.
    #[schemars(length(max = QUEUE_PAIRS.entries))]
    pub qps: Vec<Qp>,
}

/// What peers may do with memory; nothing unless told.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Access {
    /// READ it.
    RemoteRead,
    /// WRITE to it.
    RemoteWrite,
    /// Execute atomic operations on it.
    RemoteAtomic,
}

/// Memory. It has exactly one of file, hex and size.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum Buffer {
    /// The bytes of a file.
    File(FileBuffer),
    /// Bytes in hexadecimal.
    Hex(HexBuffer),
    /// Zeros.
    Size(SizeBuffer),
}

/// The bytes of a file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileBuffer {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// The file, relative to the job file.
    pub file: String,
    /// What peers may do with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
    /// Addresses that it holds, written over its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointers: Option<Vec<Pointer>>,
}

/// Bytes in hexadecimal.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HexBuffer {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// Two digits a byte.
    #[schemars(regex(pattern = "^([0-9a-fA-F]{2})*$"))]
    pub hex: String,
    /// What peers may do with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
    /// Addresses that it holds, written over its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointers: Option<Vec<Pointer>>,
}

/// Zeros.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SizeBuffer {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// Bytes.
    #[schemars(range(max = MAX_BUFFERS))]
    pub size: u64,
    /// What peers may do with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
    /// Addresses that it holds, written over its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointers: Option<Vec<Pointer>>,
}

/// A key to a region.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name, which no buffer of the node has.
    pub name: String,
    /// What it opens: a part of a buffer, or a region with gaps, whose bytes peers address from 0 on.
    pub region: Region,
    /// What peers may do with it; no atomic operations on a region with gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
}

/// Columns that messages fill row after row, whichever queue pair they come to.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Append {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// The values of a row, in the order in which messages have them.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub columns: Vec<Column>,
    /// Rows that every column has room for.
    #[schemars(range(min = 1))]
    pub capacity: u32,
}

/// A shared receive queue.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Srq {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
}

/// A queue pair.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Qp {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// Its transport.
    pub transport: Transport,
    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096.
    #[schemars(extend("enum" = [256, 512, 1024, 2048, 4096]))]
    pub mtu: u32,
    /// What it is connected to, as node/queue pair; both name each other. A ud queue pair has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The first packet sequence number that it sends: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_24))]
    pub start_psn: Option<u64>,
    /// The queue key, which ud needs and no other transport has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qkey: Option<u32>,
    /// The shared receive queue that it takes from, instead of one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub srq: Option<String>,
    /// An acknowledgement is waited for 4.096 us * 2^timeout, 0 is for ever: 10 unless told (rc).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 31))]
    pub timeout: Option<u8>,
    /// How often in a row something is sent again: 7 unless told (rc).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub retry_cnt: Option<u8>,
    /// How often a peer may be not ready, 7 is for ever: 7 unless told (rc).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub rnr_retry: Option<u8>,
    /// The code of the time after which a peer that found no receive may try again: 1, 10 us, unless told (rc).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 31))]
    pub min_rnr_timer: Option<u8>,
    /// READs and atomics under way, in each direction: 16 unless told (rc).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 16))]
    pub max_rd_atomic: Option<u8>,
    /// Differentiated services code point of the packets: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// Explicit congestion notification: 0 (none, unless told), 1 or 2 (capable), 3 (congested).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3))]
    pub ecn: Option<u8>,
    /// Time to live of the packets: 64 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub ttl: Option<u8>,
}

/// What a node posts, or a wait of all nodes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum Step {
    /// Every node waits.
    Wait(Wait),
    /// A node posts.
    Post(Box<Post>),
}

/// Every node waits until all that was posted has completed, receives excepted.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// For all.
    pub wait: For,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum For {
    /// All that was posted.
    All,
}

/// A work request.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub(super) enum Post {
    /// To a queue pair's send queue.
    PostSend(PostSend),
    /// To several queue pairs, planned together.
    PostSsqSend(PostSsqSend),
    /// To a queue pair's receive queue.
    PostRecv(PostRecv),
    /// To a shared receive queue.
    PostSrqRecv(PostSrqRecv),
    /// The oldest rows of an append region are free again.
    GiveBack(GiveBack),
}

/// An operation on one queue pair.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Op {
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
    /// SEND that makes the peer's key `remote` invalid.
    SendInvalidate,
}

/// An operation on several queue pairs.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SharedOp {
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
pub(super) struct PostSend {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node that posts.
    pub node: String,
    /// The name that comes back in the completion.
    pub wr_id: u64,
    /// The operation.
    pub op: Op,
    /// Immediate data, which *_imm needs and no other operation has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imm: Option<u32>,
    /// How rows become messages: period unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_mask: Option<RowMask>,
    /// Rows in a message: 1 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rows_per_message: Option<u32>,
    /// The order of the values of a message: rows unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_layout: Option<MessageLayout>,
    /// A completion reports its success: true unless told. The last post of a queue before a wait has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signaled: Option<bool>,
    /// How it is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Fetch>,
    /// It waits for the READs and atomics before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<bool>,
    /// The peer's completions are solicited ones: false unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solicited: Option<bool>,
    /// The bytes of the regions, which are contiguous and have 1 to 64 B together, stand in the request and
    /// are one message: false unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<bool>,
    /// What the peer's bytes must be to be swapped (compare_and_swap).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<u64>,
    /// What they become then (compare_and_swap).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<u64>,
    /// What is added to them (fetch_and_add).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<u64>,
    /// The queue pair's name.
    pub qp: String,
    /// A buffer or key of another node, as node/name: what a WRITE, a READ or an atomic operation names, or the
    /// key that becomes invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Bytes from its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_offset: Option<u64>,
    /// An address and a key as they are, instead of remote and remote_offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
    /// Where each column of a WRITE by columns goes, instead of remote, remote_offset and raw.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_REMOTE_COLUMNS))]
    pub remote_columns: Option<Vec<RemoteColumn>>,
    /// Where a datagram goes, as node/queue pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// What is sent, or where what comes back goes.
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Vec<Region>,
}

/// A request for several queue pairs.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PostSsqSend {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node that posts.
    pub node: String,
    /// The name that comes back in the completion.
    pub wr_id: u64,
    /// The operation.
    pub op: SharedOp,
    /// Immediate data, which *_imm needs and no other operation has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imm: Option<u32>,
    /// How rows become messages: period unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_mask: Option<RowMask>,
    /// Rows in a message: 1 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rows_per_message: Option<u32>,
    /// The order of the values of a message: rows unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_layout: Option<MessageLayout>,
    /// A completion reports its success: true unless told. The last post of a queue before a wait has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signaled: Option<bool>,
    /// How it is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Fetch>,
    /// It waits for the READs and atomics before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<bool>,
    /// One region for all destinations, with a partition id a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitioned: Option<Partitioned>,
    /// Where to; no queue pair twice.
    #[schemars(length(min = 1, max = MAX_DESTINATIONS))]
    pub destinations: Vec<Destination>,
}

/// A destination of a request.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Destination {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The queue pair's name.
    pub qp: String,
    /// A buffer or key of another node, as node/name: what a WRITE, a READ or an atomic operation names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Bytes from its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_offset: Option<u64>,
    /// An address and a key as they are, instead of remote and remote_offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
    /// Where each column of a WRITE by columns goes, instead of remote, remote_offset and raw.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_REMOTE_COLUMNS))]
    pub remote_columns: Option<Vec<RemoteColumn>>,
    /// Where a datagram goes, as node/queue pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// What is sent, unless the post is partitioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Option<Vec<Region>>,
    /// The id of the rows that it gets, if the post is partitioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<u16>,
}

/// Where the values of one column go: a buffer or key of another node, or an address and a key as they are.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoteColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// A buffer or key of another node, as node/name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Bytes from its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_offset: Option<u64>,
    /// An address and a key as they are, instead of remote and remote_offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

/// An address and a key as they are.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    /// Means nothing.
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
pub(super) struct PostRecv {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node that posts.
    pub node: String,
    /// The name that comes back in the completion.
    pub wr_id: u64,
    /// The queue pair's name.
    pub qp: String,
    /// What the bytes of a message fill, in order. Left out if it appends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Option<Vec<Region>>,
    /// The append region that takes the message, instead of regions; not on ud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append: Option<String>,
}

/// A receive of a shared receive queue.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PostSrqRecv {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node that posts.
    pub node: String,
    /// The name that comes back in the completion.
    pub wr_id: u64,
    /// The queue's name.
    pub srq: String,
    /// What the bytes of a message fill, in order. Left out if it appends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Option<Vec<Region>>,
    /// The append region that takes the message, instead of regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append: Option<String>,
}

/// The oldest rows of an append region are free again.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GiveBack {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The node.
    pub node: String,
    /// The append region's name.
    pub append: String,
    /// How many.
    #[schemars(range(min = 1))]
    pub rows: u32,
}
