//! Fabric jobs as they are written. The schema that editors use is made of these types; what a job
//! means, and the messages for what it may not say, are the reader's.
#![expect(dead_code, reason = "the schema is made of them, and nothing else")]
#![expect(clippy::enum_variant_names, reason = "they are named as in jobs")]

use drdma_abi::{described::APPEND_REGIONS, register::QUEUE_PAIRS, work_request::MAX_ELEMENTS};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::MAX_NODES;
use crate::job::{
    MAX_BUFFERS,
    format::{Column, Local, Pointer, Region, Transport, schema_of},
};

mod step;

use step::Step;

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
    /// Address of this schema, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The switch and its links.
    pub network: Network,
    /// The cards.
    #[schemars(length(min = 1, max = MAX_NODES))]
    pub nodes: Vec<Node>,
    /// Requests to post. Each node posts its own in this order; different nodes post at the same time.
    pub steps: Vec<Step>,
}

/// A switch, and a link to each card.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Network {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Rate of a link in each direction in Gb/s (default: 100).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1600))]
    pub gbps: Option<u64>,
    /// Time through a link in nanoseconds (default: 500).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000_000))]
    pub delay_ns: Option<u64>,
    /// Room of each output queue of the switch in KiB (default: 1024).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_194_304))]
    pub queue_kib: Option<u64>,
    /// Probability that a frame is lost (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: Option<f64>,
    /// Probability that the switch duplicates a frame (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duplicate: Option<f64>,
    /// Probability that up to 8 other frames overtake a frame (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub reorder: Option<f64>,
    /// Probability that a bit of a frame is flipped (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub corrupt: Option<f64>,
    /// The switch marks a frame (ECN) whose queue holds more KiB than this. 0, the default, marks none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4_194_304))]
    pub ecn_kib: Option<u64>,
    /// Seed of the random faults (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// A card, and the resources of its host.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// The URI of a simulated card: soft: or rtl:.
    pub device: String,
    /// The card's addresses.
    pub local: Local,
    /// Memory in which regions lie. Each buffer has a key of its own.
    #[schemars(length(max = 1022))]
    pub buffers: Vec<Buffer>,
    /// Further keys, one for each region.
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

/// Access that peers have to memory (default: none).
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Access {
    /// Peers may READ.
    RemoteRead,
    /// Peers may WRITE.
    RemoteWrite,
    /// Peers may execute atomic operations.
    RemoteAtomic,
}

/// A buffer in host memory. It has exactly one of file, hex and size.
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
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// The file, relative to the job file.
    pub file: String,
    /// Access that peers have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
    /// Addresses that are written over the buffer's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointers: Option<Vec<Pointer>>,
}

/// Bytes in hexadecimal.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HexBuffer {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// The bytes, two hexadecimal digits each.
    #[schemars(regex(pattern = "^([0-9a-fA-F]{2})*$"))]
    pub hex: String,
    /// Access that peers have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
    /// Addresses that are written over the buffer's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointers: Option<Vec<Pointer>>,
}

/// Zeros.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SizeBuffer {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// Bytes.
    #[schemars(range(max = MAX_BUFFERS))]
    pub size: u64,
    /// Access that peers have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
    /// Addresses that are written over the buffer's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointers: Option<Vec<Pointer>>,
}

/// A key to a region.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name, which must differ from the names of the node's buffers.
    pub name: String,
    /// The memory that the key opens: a part of a buffer, or a region with gaps. Peers address its packed bytes from 0
    /// on.
    pub region: Region,
    /// Access that peers have. A region with gaps takes no atomic operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
}

/// Columns that messages of any queue pair fill, row after row.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Append {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// Columns of a row, in the order in which messages carry their values.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub columns: Vec<Column>,
    /// Number of rows for which every column has room.
    #[schemars(range(min = 1))]
    pub capacity: u32,
}

/// A shared receive queue.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Srq {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
}

/// A queue pair.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Qp {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// Transport.
    pub transport: Transport,
    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096.
    #[schemars(extend("enum" = [256, 512, 1024, 2048, 4096]))]
    pub mtu: u32,
    /// The peer, as node/queue pair. Both queue pairs name each other. A ud queue pair has no peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The first packet sequence number that the queue pair sends (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_24))]
    pub start_psn: Option<u64>,
    /// The queue key. ud needs it; no other transport has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qkey: Option<u32>,
    /// The shared receive queue to use, instead of the queue pair's own receive queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub srq: Option<String>,
    /// The queue pair waits 4.096 us * 2^timeout for an acknowledgement; 0 means for ever (rc; default: 10).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 31))]
    pub timeout: Option<u8>,
    /// Number of times in a row that the queue pair sends a packet again (rc; default: 7).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub retry_cnt: Option<u8>,
    /// Number of times that the peer may answer that it is not ready; 7 means for ever (rc; default: 7).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub rnr_retry: Option<u8>,
    /// Code of the time after which a peer that found no receive may try again (rc; default: 1, which is 10 us).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 31))]
    pub min_rnr_timer: Option<u8>,
    /// Largest number of READs and atomics under way, in each direction (rc; default: 16).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 16))]
    pub max_rd_atomic: Option<u8>,
    /// Differentiated services code point of the packets (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// Explicit congestion notification: 0 (not capable, the default), 1 or 2 (capable), 3 (congestion experienced).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3))]
    pub ecn: Option<u8>,
    /// Time to live of the packets (default: 64).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub ttl: Option<u8>,
}
