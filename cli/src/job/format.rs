//! Job files as they are written. The schema that editors use is made of these types; what a job
//! means, and the messages for what it may not say, are the reader's.

mod columns;
mod regions;

use drdma_abi::{
    register::QUEUE_PAIRS,
    work_request::{MAX_DESTINATIONS, MAX_MERGE_THRESHOLD, MAX_REGIONS, MAX_REMOTE_COLUMNS},
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::MAX_BUFFERS;
pub(crate) use columns::*;
pub(crate) use regions::*;

/// Queue pair numbers and packet sequence numbers have 24 bits.
const MAX_24: u64 = (1 << 24) - 1;

/// The JSON schema of job files (draft 2020-12).
pub fn schema() -> Value {
    schema_of::<JobFile>()
}

/// The JSON schema of a kind of job files (draft 2020-12).
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<T>();
    let mut schema = serde_json::to_value(schema).expect("a schema is JSON");
    without_null(&mut schema);
    schema
}

/// A field that may be left out may not be null.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(list) => {
            list.retain(|of| of != "null" && *of != serde_json::json!({"type": "null"}));
            list.iter_mut().for_each(without_null);
        }
        Value::Object(object) => {
            object.values_mut().for_each(without_null);
            if let Some(Value::Array(types)) = object.get("type")
                && let [one] = &types[..]
            {
                let one = one.clone();
                object.insert("type".to_owned(), one);
            }
        }
        _ => {}
    }
}

/// A D-RDMA job: memory, queue pairs, and what is posted to them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "D-RDMA job file")]
pub(crate) struct JobFile {
    /// Address of this schema, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Memory in which regions lie. Each buffer has a key of its own.
    #[schemars(length(max = 4094))]
    pub buffers: Vec<Buffer>,
    /// The card's own addresses.
    pub local: Local,
    /// Queue pairs, each connected to one peer.
    #[schemars(length(max = QUEUE_PAIRS.entries))]
    pub qps: Vec<Qp>,
    /// Requests to post, in this order.
    pub posts: Vec<Post>,
}

/// A buffer in host memory. It has exactly one of file, hex and size.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Buffer {
    /// The bytes of a file.
    #[expect(dead_code, reason = "no example has it")]
    File(FileBuffer),
    /// Bytes in hexadecimal.
    Hex(HexBuffer),
    /// Zeros.
    Size(SizeBuffer),
}

/// The bytes of a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileBuffer {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// The file, relative to the job file.
    pub file: String,
    /// Addresses that are written over the buffer's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointers: Option<Vec<Pointer>>,
}

/// Bytes in hexadecimal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HexBuffer {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// The bytes, two hexadecimal digits each.
    #[schemars(regex(pattern = "^([0-9a-fA-F]{2})*$"))]
    pub hex: String,
    /// Addresses that are written over the buffer's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointers: Option<Vec<Pointer>>,
}

/// Zeros.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizeBuffer {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// Bytes.
    #[schemars(range(max = MAX_BUFFERS))]
    pub size: u64,
    /// Addresses that are written over the buffer's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointers: Option<Vec<Pointer>>,
}

/// The card's own addresses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Local {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// MAC address, like 02:00:00:00:00:01.
    #[schemars(regex(pattern = "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$"))]
    pub mac: String,
    /// IPv4 address.
    #[schemars(extend("format" = "ipv4"))]
    pub ip: String,
}

/// The transport of a queue pair.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Transport {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    #[expect(dead_code, reason = "no example has it")]
    Uc,
    /// Unreliable datagrams: each message is one packet.
    #[expect(dead_code, reason = "no example has it")]
    Ud,
}

/// A queue pair.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Qp {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Name.
    pub name: String,
    /// Transport.
    pub transport: Transport,
    /// Number of the queue pair on the wire.
    #[schemars(range(min = 1, max = MAX_24))]
    pub qpn: u64,
    /// The number of the peer's queue pair.
    #[schemars(range(min = 1, max = MAX_24))]
    pub dest_qpn: u64,
    /// The first packet sequence number.
    #[schemars(range(max = MAX_24))]
    pub start_psn: u64,
    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096.
    #[schemars(extend("enum" = [256, 512, 1024, 2048, 4096]))]
    pub mtu: u32,
    /// MAC address of the peer or of the gateway (default: the address that the host knows for dest_ip).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$"))]
    pub dest_mac: Option<String>,
    /// The peer's IPv4 address.
    #[schemars(extend("format" = "ipv4"))]
    pub dest_ip: String,
    /// The queue key. ud needs it; no other transport has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qkey: Option<u32>,
    /// Differentiated services code point of the packets (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// Explicit congestion notification: 0 (not capable, the default), 1 or 2 (capable), 3 (congestion experienced).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3))]
    pub ecn: Option<u8>,
    /// Time to live of the packets, in routers (default: 64).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub ttl: Option<u8>,
    /// The 802.1Q tag of the packets, and the VLAN of the packets that the card accepts (default: no tag).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<Vlan>,
}

/// An 802.1Q tag.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vlan {
    /// The VLAN's number.
    #[schemars(range(min = 1, max = 4094))]
    pub id: u16,
    /// Priority code point (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub priority: Option<u8>,
}

/// An operation.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    /// SEND.
    Send,
    /// SEND with immediate data.
    #[expect(dead_code, reason = "no example has it")]
    SendImm,
    /// WRITE.
    Write,
    /// WRITE with immediate data.
    #[expect(dead_code, reason = "no example has it")]
    WriteImm,
}

/// How rows become messages.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowMask {
    /// Messages take the rows of one region after another.
    #[expect(dead_code, reason = "no example has it")]
    Period,
    /// Messages take element i of every region, for each i.
    #[expect(dead_code, reason = "no example has it")]
    Element,
}

/// The order of the values of a message.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageLayout {
    /// Row by row.
    #[expect(dead_code, reason = "no example has it")]
    Rows,
    /// The first value of every row, then the second of every row, and so on.
    Columns,
}

/// Target of the values of one column.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteColumn {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Address of the first value.
    pub remote_addr: u64,
    /// The remote key.
    pub rkey: u32,
}

/// How the card fetches the data of a post. Without it, the card's registers decide.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fetch {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Size of the longest DMA read in bytes.
    #[schemars(extend("enum" = [64, 128, 256, 512, 1024, 2048, 4096]))]
    pub max_read: u32,
    /// Size in bytes of the widest gap that the card reads rather than skips.
    #[schemars(range(max = MAX_MERGE_THRESHOLD))]
    pub merge_threshold: u32,
}

/// What the messages of a post are, whichever queue pairs send them.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Messages {
    /// Immediate data. The operations *_imm need it; no other operation has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imm: Option<u32>,
    /// How rows become messages (default: period).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_mask: Option<RowMask>,
    /// Rows in a message (default: 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rows_per_message: Option<u32>,
    /// The order of the values of a message (default: rows).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_layout: Option<MessageLayout>,
    /// A completion reports success (default: true). The last post of a queue, and in a fabric
    /// job the last before a wait, must be signaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signaled: Option<bool>,
    /// How the card fetches the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Fetch>,
}

/// Where a WRITE goes.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Target {
    /// Remote address of a WRITE. A SEND has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_addr: Option<u64>,
    /// Remote key of a WRITE. A SEND has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rkey: Option<u32>,
    /// Target of each column of a WRITE by columns, instead of remote_addr and rkey.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_REMOTE_COLUMNS))]
    pub remote_columns: Option<Vec<RemoteColumn>>,
}

/// A work request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub(crate) enum Post {
    /// Posts to the send queue of a queue pair.
    PostSend(PostSend),
    /// Posts one request to several queue pairs.
    PostSsqSend(PostSsqSend),
}

/// A request for one queue pair.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PostSend {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Identifier of the request, which its completion reports.
    pub wr_id: u64,
    /// The operation.
    pub op: Op,
    /// What its messages are.
    #[serde(flatten)]
    pub messages: Messages,
    /// The payload is part of the request (default: false). The regions are contiguous, have 64 B at most together,
    /// and are one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<bool>,
    /// The queue pair's name.
    pub qp: String,
    /// Where a WRITE goes.
    #[serde(flatten)]
    pub target: Target,
    /// Memory to send.
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Vec<Region>,
}

/// A request for several queue pairs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PostSsqSend {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Identifier of the request, which its completion reports.
    pub wr_id: u64,
    /// The operation.
    pub op: Op,
    /// What its messages are.
    #[serde(flatten)]
    pub messages: Messages,
    /// One region for all destinations, with a partition id for each row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitioned: Option<Partitioned>,
    /// Destinations, each with another queue pair.
    #[schemars(length(min = 1, max = MAX_DESTINATIONS))]
    pub destinations: Vec<Destination>,
}

/// A destination of a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Destination {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The queue pair's name.
    pub qp: String,
    /// Where a WRITE goes.
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

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
