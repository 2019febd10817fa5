//! Job files as they are written. The schema that editors use is made of these types; what a job
//! means, and the messages for what it may not say, are the reader's.

use drdma_abi::work_request::{
    MAX_DESTINATIONS, MAX_ELEMENTS, MAX_MERGE_THRESHOLD, MAX_REGIONS, MAX_REMOTE_COLUMNS,
    MAX_VIEW_BUFFERS,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::MAX_BUFFERS;

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
    /// Where this schema is, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Memory that regions lie in; each buffer has a key of its own.
    #[schemars(length(max = 4094))]
    pub buffers: Vec<Buffer>,
    /// The card's own addresses.
    pub local: Local,
    /// Queue pairs, each connected to one peer.
    #[schemars(length(max = 256))]
    pub qps: Vec<Qp>,
    /// What is posted, in this order.
    pub posts: Vec<Post>,
}

/// Memory. It has exactly one of file, hex and size.
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
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// The file, relative to the job file.
    pub file: String,
}

/// Bytes in hexadecimal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HexBuffer {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// Two digits a byte.
    #[schemars(regex(pattern = "^([0-9a-fA-F]{2})*$"))]
    pub hex: String,
}

/// Zeros.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizeBuffer {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// Bytes.
    #[schemars(range(max = MAX_BUFFERS))]
    pub size: u64,
}

/// The card's own addresses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Local {
    /// Means nothing.
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
    /// Unreliable datagrams: one packet a message.
    #[expect(dead_code, reason = "no example has it")]
    Ud,
}

/// A queue pair.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Qp {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its name.
    pub name: String,
    /// Its transport.
    pub transport: Transport,
    /// Its number on the wire.
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
    /// The peer's MAC address, or the gateway's; left out, that which the host knows for dest_ip.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$"))]
    pub dest_mac: Option<String>,
    /// The peer's IPv4 address.
    #[schemars(extend("format" = "ipv4"))]
    pub dest_ip: String,
    /// The queue key, which ud needs and no other transport has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qkey: Option<u32>,
    /// Differentiated services code point of the packets; 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// Explicit congestion notification: 0 (none, unless told), 1 or 2 (capable), 3 (congested).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3))]
    pub ecn: Option<u8>,
    /// Time to live of the packets: routers that they may pass; 64 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub ttl: Option<u8>,
    /// The 802.1Q tag of the packets, and the VLAN of those that are accepted; no tag unless told.
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
    /// Priority code point; 0 unless told.
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
    /// The rows of one region after another.
    #[expect(dead_code, reason = "no example has it")]
    Period,
    /// Element i of every region, for each i.
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

/// Where the values of one column go.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Where the first of them goes.
    pub remote_addr: u64,
    /// The remote key.
    pub rkey: u32,
}

/// How a post's data are fetched; without it, as the card's registers say.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fetch {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The longest DMA read in bytes.
    #[schemars(extend("enum" = [64, 128, 256, 512, 1024, 2048, 4096]))]
    pub max_read: u32,
    /// The widest gap in bytes that is read through.
    #[schemars(range(max = MAX_MERGE_THRESHOLD))]
    pub merge_threshold: u32,
}

/// A work request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub(crate) enum Post {
    /// Sends to one queue pair.
    PostSend(PostSend),
    /// Sends to several queue pairs, planned together.
    PostSsqSend(PostSsqSend),
}

/// A request for one queue pair.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PostSend {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
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
    /// A completion tells of its success: true unless told. The last post of a queue has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signaled: Option<bool>,
    /// How it is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Fetch>,
    /// The bytes of the regions, which are contiguous and have 1 to 64 B together, stand in the request and
    /// are one message: false unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<bool>,
    /// The queue pair's name.
    pub qp: String,
    /// Where a WRITE goes; no SEND has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_addr: Option<u64>,
    /// The remote key of a WRITE; no SEND has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rkey: Option<u32>,
    /// Where each column of a WRITE by columns goes, instead of remote_addr and rkey.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_REMOTE_COLUMNS))]
    pub remote_columns: Option<Vec<RemoteColumn>>,
    /// What is sent.
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Vec<Region>,
}

/// A request for several queue pairs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PostSsqSend {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
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
    /// A completion tells of its success: true unless told. The last post of a queue has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signaled: Option<bool>,
    /// How it is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Fetch>,
    /// One region for all destinations, with a partition id a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitioned: Option<Partitioned>,
    /// Where to; no queue pair twice.
    #[schemars(length(min = 1, max = MAX_DESTINATIONS))]
    pub destinations: Vec<Destination>,
}

/// A destination of a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Destination {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The queue pair's name.
    pub qp: String,
    /// Where a WRITE goes; no SEND has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_addr: Option<u64>,
    /// The remote key of a WRITE; no SEND has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rkey: Option<u32>,
    /// Where each column of a WRITE by columns goes, instead of remote_addr and rkey.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_REMOTE_COLUMNS))]
    pub remote_columns: Option<Vec<RemoteColumn>>,
    /// What is sent, unless the post is partitioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REGIONS))]
    pub regions: Option<Vec<Region>>,
    /// The id of the rows that it gets, if the post is partitioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<u16>,
}

/// A place in a buffer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Bytes from its start.
    pub offset: u64,
}

/// An array of partition ids.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ids {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where the id of row 0 is.
    pub offset: u64,
    /// Bytes of an id: 1 or 2, little-endian.
    #[schemars(range(min = 1, max = 2))]
    pub width: u32,
}

/// Rows of some columns, each for the destination that names its id.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Partitioned {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The id of every row.
    pub ids: Ids,
    /// Rows.
    pub rows: u32,
    /// The values of a row, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub columns: Vec<Column>,
}

/// The place of row 0's bit in a bitmap.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bitmap {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Bytes from its start.
    pub offset: u64,
    /// Its place in that byte, 0 is the least significant bit: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub bit: Option<u8>,
}

/// A part of a buffer that views point into.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewBuffer {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where it starts.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

/// The values of a dictionary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DictionaryValues {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where value 0 is.
    pub offset: u64,
    /// Bytes of a value.
    #[schemars(range(min = 1))]
    pub width: u32,
}

/// A column.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Column {
    /// Of another kind than fixed width.
    Kind(KindColumn),
    /// Of fixed width.
    Fixed(FixedColumn),
}

/// A column of another kind than fixed width.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum KindColumn {
    /// Values of variable length, by offsets.
    Varlen(VarlenColumn),
    /// Values of variable length, by views.
    Views(ViewColumn),
    /// Values of a dictionary, by their indices.
    Dictionary(DictionaryColumn),
    /// Bits.
    Bits(BitColumn),
}

/// Row i's value is what lies in the data between the offsets i and i + 1.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VarlenColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer of the offsets.
    pub buffer: String,
    /// Where row 0's first offset is.
    pub offset: u64,
    /// Bytes of an offset.
    #[schemars(extend("enum" = [4, 8]))]
    pub width: u32,
    /// Byte 0 of the data.
    pub data: Place,
}

/// Row i's value is where view i of 16 B says: up to 12 B in the view, others in a buffer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer of the views.
    pub buffer: String,
    /// Where row 0's view is.
    pub offset: u64,
    /// What views point into, by index.
    #[schemars(length(max = MAX_VIEW_BUFFERS))]
    pub buffers: Vec<ViewBuffer>,
}

/// Row i's value is that of index i in a dictionary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DictionaryColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer of the indices.
    pub buffer: String,
    /// Where row 0's index is.
    pub offset: u64,
    /// Bytes of an index, little-endian.
    #[schemars(extend("enum" = [1, 2, 4, 8]))]
    pub width: u32,
    /// The values.
    pub values: DictionaryValues,
    /// How many they are.
    pub count: u32,
}

/// Row i's value is bit i, counted from row 0's.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BitColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// The byte that row 0's bit is in.
    pub offset: u64,
    /// Its place in that byte, 0 is the least significant bit: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub bit: Option<u8>,
}

/// The kind of plain columns and extents.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FixedKind {
    /// Of fixed width.
    #[expect(dead_code, reason = "no example has it")]
    Fixed,
}

/// Row i's value is `width` bytes at `offset + i * width`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The kind, which may be left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<FixedKind>,
    /// The buffer's name.
    pub buffer: String,
    /// Where row 0's value is.
    pub offset: u64,
    /// Bytes of a value.
    #[schemars(range(min = 1))]
    pub width: u32,
}

/// A part of a period or record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Extent {
    /// Of another kind than a fixed number of bytes.
    #[expect(dead_code, reason = "no example has it")]
    Kind(KindExtent),
    /// So many bytes.
    Fixed(FixedExtent),
}

/// An extent that leads to its bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "no example has them")]
pub(crate) enum KindExtent {
    /// Bytes of variable length, by two offsets.
    Varlen(VarlenExtent),
    /// Bytes of variable length, by a view of 16 B.
    Views(ViewExtent),
    /// A value of a dictionary, by its index.
    Dictionary(DictionaryExtent),
}

/// What lies in the data between two offsets, one behind the other.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VarlenExtent {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Bytes from the start of the period or record to the first offset.
    pub offset: u64,
    /// Bytes of an offset.
    #[schemars(extend("enum" = [4, 8]))]
    pub width: u32,
    /// Byte 0 of the data.
    pub data: Place,
}

/// What a view of 16 B says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewExtent {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Bytes from the start of the period or record to the view.
    pub offset: u64,
    /// What views point into, by index.
    #[schemars(length(max = MAX_VIEW_BUFFERS))]
    pub buffers: Vec<ViewBuffer>,
}

/// The value of an index in a dictionary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DictionaryExtent {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Bytes from the start of the period or record to the index.
    pub offset: u64,
    /// Bytes of an index, little-endian.
    #[schemars(extend("enum" = [1, 2, 4, 8]))]
    pub width: u32,
    /// The values.
    pub values: DictionaryValues,
    /// How many they are.
    pub count: u32,
}

/// A run of bytes in a pattern.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedExtent {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The kind, which may be left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<FixedKind>,
    /// Bytes from the start of the period or record.
    pub offset: u64,
    /// Bytes.
    #[schemars(range(min = 1))]
    pub len: u32,
}

/// What is sent, row by row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Region {
    /// One run of bytes.
    Contiguous(Contiguous),
    /// A pattern, repeated.
    Strided(Strided),
    /// The rows that a bitmap selects.
    Bitmapped(Bitmapped),
    /// A pattern at every pointer.
    PointerMapped(PointerMapped),
}

/// One run of bytes, which is one row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contiguous {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where it starts.
    pub offset: u64,
    /// Bytes.
    #[schemars(range(min = 1))]
    pub len: u32,
}

/// A pattern that repeats every period; each period is a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Strided {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where the first period starts.
    pub offset: u64,
    /// Bytes from one period to the next.
    #[schemars(range(min = 1))]
    pub period: u64,
    /// Periods.
    pub count: u32,
    /// The bytes of a period, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub pattern: Vec<Extent>,
}

/// The rows whose bit is set, of some columns. Bit i is bit i mod 8 of byte i / 8.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bitmapped {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The bitmap.
    pub bitmap: Bitmap,
    /// Its bits.
    pub rows: u32,
    /// The values of a row, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub columns: Vec<Column>,
    /// A bitmap of rows that are read though they are not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_rows: Option<Place>,
}

/// A pattern at every pointer; each record is a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PointerMapped {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Records: pairs of a buffer's name and an offset.
    pub pointers: Vec<(String, u64)>,
    /// The bytes of a record, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub pattern: Vec<Extent>,
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
