//! Errors of formats, arenas, senders and receivers.

use arrow_schema::{ArrowError, DataType};
use libdrdma::{
    Features, KeptRegionError, MemoryRegionError, PostError, RegionError, Status, Transport,
};

use crate::{Form, Part};

/// Why a schema and a message length are no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A type that has no form in messages.
    #[error("column `{path}`: {data_type} is not possible")]
    Unsupported {
        /// The column, or the place in it.
        path: String,
        /// Arrow type of the column.
        data_type: DataType,
    },
    /// Values that do not fit in a message.
    #[error(
        "column `{path}`: a value has {width} B, and the longest message {message_bytes}: values are not divided"
    )]
    WideValue {
        /// The column, or the place in it.
        path: String,
        /// Bytes of a value.
        width: usize,
        /// Bytes of the longest message.
        message_bytes: usize,
    },
    /// A header that does not fit in a message.
    #[error("messages of {message_bytes} B are too short: a batch's header has {needed}")]
    Header {
        /// Bytes of the longest message.
        message_bytes: usize,
        /// Bytes of a header.
        needed: usize,
    },
    /// A type of rows that are appended which has no fixed width ([`Form::Appended`](crate::Form::Appended)).
    #[error(
        "column `{path}`: {data_type} has no fixed width, so that rows with it are not appended"
    )]
    NotAppended {
        /// The column, or the place in it.
        path: String,
        /// Arrow type of the column.
        data_type: DataType,
    },
    /// Another number of columns than an append region has.
    #[error("rows of {columns} columns, validity included: 1 to {limit} can be appended")]
    AppendedColumns {
        /// Columns, those of validity included.
        columns: usize,
        /// Columns that an append region can have.
        limit: usize,
    },
    /// Rows that do not fit in a message.
    #[error("a row has {row} B, and the longest message {message_bytes}: rows are not divided")]
    LongRow {
        /// Bytes of a row.
        row: usize,
        /// Bytes of the longest message.
        message_bytes: usize,
    },
    /// Messages that are too long.
    #[error("messages of {message_bytes} B are too long: {limit} are possible")]
    LongMessages {
        /// Bytes of the longest message.
        message_bytes: usize,
        /// Length in bytes of the longest message that a card can send.
        limit: usize,
    },
}

/// Why there is no memory of an arena.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArenaError {
    /// The arena has no room.
    #[error("the arena of {capacity} B has no room for {bytes} B")]
    Full {
        /// Bytes that were asked for.
        bytes: usize,
        /// Bytes of the arena.
        capacity: usize,
    },
    /// The arena was not registered.
    #[error(transparent)]
    Memory(#[from] MemoryRegionError),
    /// Arrays cannot be made of the bytes.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

/// Why a batch was not sent. Nothing of it was posted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// A batch of another schema than the format's.
    #[error("column {column} is {given}, and the format says {expected}")]
    OtherType {
        /// The column's index.
        column: usize,
        /// Type of the batch's column.
        given: DataType,
        /// The type that the format has.
        expected: DataType,
    },
    /// A batch with another number of columns than the format has.
    #[error("the batch has {given} columns, and the format {expected}")]
    Columns {
        /// Columns of the batch.
        given: usize,
        /// Columns of the format.
        expected: usize,
    },
    /// Nulls in a column that the format has without.
    #[error("column {column} has {nulls} nulls, and the format says that there are none")]
    Nulls {
        /// The column's index.
        column: usize,
        /// Number of null rows of the column.
        nulls: usize,
    },
    /// A selection of another number of rows than the batch has.
    #[error("the selection has {given} rows, and the batch {rows}")]
    SelectionLength {
        /// Rows of the selection.
        given: usize,
        /// Rows of the batch.
        rows: usize,
    },
    /// A destination whose partition has no bitmap.
    #[error("destination {destination}: there is no bitmap {partition}, only {bitmaps}")]
    NoBitmap {
        /// The destination's index.
        destination: usize,
        /// Partition of the destination.
        partition: u16,
        /// Number of bitmaps of the selection.
        bitmaps: usize,
    },
    /// A queue pair that is named twice.
    #[error("destination {destination}: its queue pair is destination {other}'s already")]
    QueuePairTwice {
        /// The second destination's index.
        destination: usize,
        /// The first destination's index.
        other: usize,
    },
    /// A queue pair that may lose messages, or change their order.
    #[error("destination {destination}: its queue pair is of transport {transport:?}, not RC")]
    Transport {
        /// The destination's index.
        destination: usize,
        /// Transport of the queue pair.
        transport: Transport,
    },
    /// A partition of which two destinations want every row.
    #[error("destination {destination}: partition {partition} is destination {other}'s already")]
    PartitionTwice {
        /// The second destination's index.
        destination: usize,
        /// Number of the partition.
        partition: u16,
        /// The first destination's index.
        other: usize,
    },
    /// Too many destinations.
    #[error("{given} destinations, at most {limit} are possible")]
    Destinations {
        /// Number of destinations that were given.
        given: usize,
        /// Number of destinations that are possible.
        limit: usize,
    },
    /// A string or list that is longer than 2^32 - 1 bytes or elements.
    #[error("column `{path}`: the value of row {row} has length {len}, more than {}", u32::MAX)]
    LongValue {
        /// The column, or the place in it.
        path: String,
        /// The row, in the level of the column.
        row: usize,
        /// Bytes of the string, or elements of the list.
        len: usize,
    },
    /// A card that cannot send batches of the format's form.
    #[error("the card does not send batches of Form::Kinds: it misses {missing:?}")]
    Form {
        /// Features that the card lacks.
        missing: Features,
    },
    /// Memory lies in no arena, and the sender was made to refuse such memory.
    #[error("column `{path}`: {bytes} B at {addr:#x} lie in no registered arena")]
    Foreign {
        /// The column, or the place in it.
        path: String,
        /// Bytes of the memory.
        bytes: usize,
        /// Address at which the memory begins, in this process.
        addr: u64,
    },
    /// No memory for what must be copied.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// Memory was not registered.
    #[error(transparent)]
    Memory(#[from] MemoryRegionError),
    /// A region is not possible.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The buffers of views are not possible.
    #[error(transparent)]
    Views(#[from] KeptRegionError),
    /// A request was not posted.
    #[error(transparent)]
    Post(#[from] PostError),
}

/// Why messages are no batch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A header of another length.
    #[error("a batch's header of {bytes} B: it must have {expected}")]
    HeaderLength {
        /// Bytes of the message.
        bytes: usize,
        /// Bytes that a header has.
        expected: usize,
    },
    /// A message that is no header, or one of another version.
    #[error("a batch's header begins with {magic:x?}, version {version}")]
    Magic {
        /// Bytes 0 to 3 of the message.
        magic: [u8; 4],
        /// Version: the two bytes behind them.
        version: u16,
    },
    /// The sender has another format.
    #[error("the sender's format has fingerprint {theirs:#018x}, ours {ours:#018x}")]
    OtherFormat {
        /// Fingerprint of the sender's format.
        theirs: u64,
        /// Fingerprint of the receiver's format.
        ours: u64,
    },
    /// The sender of rows that are appended has another format.
    #[error("the sender's format has {}, ours immediate data {ours:#010x}", tag(*theirs))]
    OtherTag {
        /// Immediate data of the sender's message, if it has any.
        theirs: Option<u32>,
        /// Immediate data of the receiver's format.
        ours: u32,
    },
    /// A batch is missing.
    #[error("batch {found} came where batch {expected} was due")]
    Sequence {
        /// Batch number in the header.
        found: u64,
        /// Number of batches received before.
        expected: u64,
    },
    /// A batch without a column that is always there.
    #[error("column `{path}`: the header says that its {part:?} do not follow")]
    NoColumn {
        /// The column, or the place in it.
        path: String,
        /// Part of the column that is missing.
        part: Part,
    },
    /// A message of another length than the header says.
    #[error("column `{path}`: a message of {bytes} B where {expected} were due")]
    MessageLength {
        /// The first column of the message, or the place in it.
        path: String,
        /// Bytes of the message.
        bytes: usize,
        /// Bytes that the message must have.
        expected: usize,
    },
    /// Messages of strings have no rows, according to the header.
    #[error("column `{path}`: messages of 0 rows")]
    NoRows {
        /// The column, or the place in it.
        path: String,
    },
    /// A number in the header is too large.
    #[error("column `{path}`: {rows} rows are too many")]
    TooLarge {
        /// The column, or the place in it.
        path: String,
        /// Number of rows or bytes in the header.
        rows: u64,
    },
    /// Lengths of strings or lists whose sum is not what follows.
    #[error("column `{path}`: the lengths add up to {sum}, and {found} bytes or elements follow")]
    Lengths {
        /// The column, or the place in it.
        path: String,
        /// Sum of the lengths.
        sum: u64,
        /// Number of bytes or elements that follow.
        found: u64,
    },
    /// Keys of a dictionary that was never sent.
    #[error("column `{path}`: keys of a dictionary that was not sent")]
    NoDictionary {
        /// The column, or the place in it.
        path: String,
    },
    /// The bytes are no values of their type.
    #[error("column `{path}`: {source}")]
    Arrow {
        /// The column, or the place in it.
        path: String,
        /// Error that Arrow returned.
        source: ArrowError,
    },
}

fn tag(theirs: Option<u32>) -> String {
    match theirs {
        Some(theirs) => format!("immediate data {theirs:#010x}"),
        None => "no immediate data".to_owned(),
    }
}

/// Why nothing was received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// Messages of a queue pair are no batch. What else comes from it is dropped until
    /// [`Receiver::forget`](crate::Receiver::forget).
    #[error("queue pair {qp}: {source}")]
    Decode {
        /// The queue pair's index.
        qp: u32,
        /// Error that the messages result in.
        source: DecodeError,
    },
    /// A message came from a queue pair whose messages were found to be no batch before.
    #[error("queue pair {qp}: a message of {bytes} B behind one that was wrong")]
    Behind {
        /// The queue pair's index.
        qp: u32,
        /// Bytes of the message.
        bytes: u64,
    },
    /// A receive failed. Its memory is not used again: the card may still write to it.
    #[error("queue pair {qp:?}: a receive ended with {status:?}; {left} of {slabs} slabs are left")]
    Failed {
        /// The queue pair's index.
        qp: Option<u32>,
        /// Status of the receive's completion.
        status: Status,
        /// Number of slabs that are still in use.
        left: usize,
        /// Number of slabs that the receiver was made with.
        slabs: usize,
    },
    /// A receive failed whose message was to be appended.
    #[error(
        "queue pair {qp:?}: a message ended with {status:?}: it is not of whole rows, has too many, or is not complete"
    )]
    Append {
        /// The queue pair's index.
        qp: Option<u32>,
        /// Status of the receive's completion.
        status: Status,
    },
    /// A message that no sender of the format sends, though it is marked as one: it is too long.
    #[error(
        "queue pair {qp}: a message of {rows} rows, where the format has messages of up to {limit}"
    )]
    LongMessage {
        /// The queue pair's index.
        qp: u32,
        /// Rows of the message.
        rows: u32,
        /// Rows of the format's longest message.
        limit: u32,
    },
    /// Appended rows are no values of their types.
    #[error(transparent)]
    Appended(DecodeError),
    /// A format of the other kind of receiver.
    #[error("{receiver} receives no batches of Form::{form:?}")]
    Form {
        /// The receiver's type.
        receiver: &'static str,
        /// The format's form.
        form: Form,
    },
    /// Numbers of segments and messages that are not possible.
    #[error(
        "{segments} segments of {messages} messages: 2 segments or more are possible, and 1 to {limit} messages in all"
    )]
    Segments {
        /// Segments that were asked for.
        segments: usize,
        /// Messages of a segment.
        messages: usize,
        /// Messages that all segments together may have.
        limit: usize,
    },
    /// Segments whose rows cannot be counted.
    #[error("segments of {rows} rows: {} are possible", u32::MAX)]
    LongSegment {
        /// Rows of a segment.
        rows: u64,
    },
    /// An append region was not made.
    #[error(transparent)]
    Kept(#[from] KeptRegionError),
    /// A number of slabs that is not possible.
    #[error("{slabs} slabs, 2 to {limit} are possible")]
    Slabs {
        /// Number of slabs that were asked for.
        slabs: usize,
        /// Number of slabs that are possible.
        limit: usize,
    },
    /// The system has no memory for the slabs.
    #[error("cannot allocate {bytes} B")]
    Allocation {
        /// Number of bytes that were to be allocated.
        bytes: usize,
        /// Error that the system returned.
        source: std::io::Error,
    },
    /// Memory was not registered.
    #[error(transparent)]
    Memory(#[from] MemoryRegionError),
    /// A queue was not made.
    #[error(transparent)]
    Queue(#[from] libdrdma::Error),
    /// A region is not possible.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A receive was not posted.
    #[error(transparent)]
    Post(#[from] PostError),
    /// The card failed.
    #[error(transparent)]
    Card(#[from] libdrdma::CardError),
}
