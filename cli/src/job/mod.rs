//! Job files: a list of posts against a device, in JSON.
//!
//! Reading one is strict. Values that no request can have (an unknown field, a length of zero, 17 regions) are
//! refused here, before a device is opened, with the name of the field. Values that a request can have but a card
//! refuses (a byte out of bounds, a datagram longer than the MTU) are sent to the card, and result in a completion
//! with its status.

mod error;
mod example;
pub(crate) mod format;
pub(crate) mod json;
pub(crate) mod parse;
#[cfg(test)]
pub(crate) mod schema_check;

use std::{fs::File, io::Read as _, path::Path};

pub use drdma_abi::{
    roce::Transport,
    work_request::{KeyType, Opcode, PartitionBy as Function},
};
pub use error::{JobError, Problem};
pub use example::{Kind as ExampleKind, example};
pub use format::schema;
pub use libdrdma::MessageLayout;
pub use libdrdma::optimizer::FetchPlan;
use libdrdma::{HostTables, Resolver, VlanTag};

/// Bytes that a job file may have.
pub const MAX_JOB: u64 = 64 << 20;
/// Bytes that all buffers of a job together may have.
pub const MAX_BUFFERS: u64 = 64 << 30;

/// A whole job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Memory; posts name its buffers by index.
    pub buffers: Vec<Buffer>,
    /// The card's own addresses.
    pub local: Local,
    /// Queue pairs; posts name them by index.
    pub qps: Vec<Qp>,
    /// Posts, in order.
    pub posts: Vec<Post>,
}

impl Job {
    /// Reads a job file. The files that its buffers name are relative to its folder.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        let failed = |source| JobError::File { path: path.to_owned(), source };
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        file.take(MAX_JOB + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_JOB {
            return Err(JobError::TooLong { path: path.to_owned(), limit: MAX_JOB });
        }
        Self::parse(&text, path.parent().unwrap_or(Path::new(".")))
    }

    /// Reads a job from text. The files that its buffers name are relative to `folder`; the MAC addresses
    /// that it does not give are those that the host knows.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, JobError> {
        Self::parse_with(text, folder, &HostTables::default())
    }

    /// Like [`parse`](Self::parse), with a resolver for MAC addresses that the job does not give.
    pub fn parse_with(
        text: &str,
        folder: &Path,
        resolver: &dyn Resolver,
    ) -> Result<Self, JobError> {
        if text.starts_with('\u{feff}') {
            return Err(JobError::ByteOrderMark);
        }
        parse::job(&serde_json::from_str(text)?, folder, resolver)
    }
}

/// Memory that regions lie in: one memory region with its own key.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Name of the buffer.
    pub name: String,
    /// Contents at the start.
    pub contents: Contents,
    /// Pointers of 8 B in the buffer: offset and target. They are written over the contents.
    pub pointers: Vec<(u64, Place)>,
}

/// Contents of a buffer at the start.
#[derive(Clone, Debug)]
pub enum Contents {
    /// These bytes, from a file or from hexadecimal.
    Bytes(Vec<u8>),
    /// This many zeros.
    Zeros(usize),
}

impl Buffer {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        match &self.contents {
            Contents::Bytes(bytes) => bytes.len(),
            Contents::Zeros(size) => *size,
        }
    }

    /// True if the buffer has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The card's own addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// MAC address, the first byte in bits 47 to 40.
    pub mac: u64,
    /// IPv4 address.
    pub ip: u32,
}

/// A queue pair.
#[derive(Clone, Debug)]
pub struct Qp {
    /// Name of the queue pair.
    pub name: String,
    /// Transport of the queue pair.
    pub transport: Transport,
    /// Number of the queue pair on the wire.
    pub qpn: u32,
    /// The peer's queue pair number.
    pub dest_qpn: u32,
    /// First packet sequence number.
    pub start_psn: u32,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// The peer's MAC address.
    pub dest_mac: u64,
    /// The peer's IPv4 address.
    pub dest_ip: u32,
    /// Queue key, for UD.
    pub qkey: u32,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Explicit congestion notification, 0 to 3.
    pub ecn: u8,
    /// Time to live, 1 to 255.
    pub ttl: u8,
    /// 802.1Q tag, if frames have one.
    pub vlan: Option<VlanTag>,
}

/// Row mask: how rows are cut into units, of which messages consist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowMask {
    /// A unit is one row of a region; one region follows another.
    Period,
    /// A unit is one element of every region.
    Element,
}

/// A post: one work request.
#[derive(Clone, Debug)]
pub struct Post {
    /// True for `post_ssq_send`: posted to the shared send queue of its destinations.
    pub shared: bool,
    /// Name of the request, which its completion has.
    pub wr_id: u64,
    /// Operation of the request.
    pub op: Opcode,
    /// Immediate data, for the operations that carry them.
    pub imm: u32,
    /// Row mask: how rows are cut into units.
    pub row_mask: RowMask,
    /// Units of a message.
    pub rows_per_message: u32,
    /// The order of the values in a message.
    pub layout: MessageLayout,
    /// Whether the request's success is reported by a completion.
    pub signaled: bool,
    /// Fetch plan; `None` for that of the card's registers.
    pub fetch: Option<FetchPlan>,
    /// Whether the bytes of its regions stand in the request: these are contiguous, and inside their buffers.
    pub inline: bool,
    /// The region that all destinations share; they have none of their own then.
    pub partitioned: Option<Partitioned>,
    /// One for `post_send`, 1 to 256 for `post_ssq_send`.
    pub destinations: Vec<Destination>,
}

impl Post {
    /// The queue that the request goes to: whether it is a shared one, and its queue pairs in ascending order.
    pub fn queue(&self) -> (bool, Vec<usize>) {
        let mut set: Vec<usize> = self.destinations.iter().map(|d| d.qp).collect();
        set.sort_unstable();
        (self.shared, set)
    }
}

/// One destination of a post.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Index of the queue pair.
    pub qp: usize,
    /// Remote address of the first message of a WRITE.
    pub remote_addr: u64,
    /// Remote key of a WRITE.
    pub rkey: u32,
    /// For a WRITE by columns: the remote address and key of each column.
    pub remote_columns: Vec<(u64, u32)>,
    /// Id of the rows that the destination gets, if the post has a partitioned region; else 0.
    pub partition: u16,
    /// Regions that are sent, 0 to 16.
    pub regions: Vec<Region>,
}

/// A place in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the buffer.
    pub buffer: usize,
    /// Bytes from its start; may be outside.
    pub offset: u64,
}

/// How the entries of a column or extent lead to bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Entries are the values.
    Fixed,
    /// Entries are bits.
    Bits {
        /// The place of row 0's bit in its byte, 0 to 7.
        first: u8,
    },
    /// Entries are two offsets each.
    Varlen {
        /// Byte 0 of the data.
        data: Place,
    },
    /// Entries are views.
    Views {
        /// The buffers that views point into.
        buffers: Vec<ViewBuffer>,
    },
    /// Entries are indices.
    Dictionary {
        /// Place of value 0.
        values: Place,
        /// Bytes of a value, at least 1.
        width: u32,
        /// Number of values.
        count: u32,
    },
}

/// A part of a buffer that views point into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewBuffer {
    /// First byte of the part.
    pub base: Place,
    /// Length in bytes.
    pub len: u32,
}

impl Kind {
    /// Bytes of an entry whose field for the width says `width`; 1 for a bit.
    pub fn entry_len(&self, width: u32) -> u64 {
        match self {
            Self::Varlen { .. } => 2 * u64::from(width),
            _ => width.into(),
        }
    }
}

/// An extent of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes from the start of the period or record.
    pub offset: u64,
    /// Length in bytes, at least 1: of the value, an offset, a view or an index.
    pub len: u32,
    /// How entries lead to bytes.
    pub kind: Kind,
}

/// A column of a bitmapped or partitioned region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Place of row 0.
    pub base: Place,
    /// Bytes of a value, an offset, a view or an index, at least 1; 1 for a bit.
    pub width: u32,
    /// How the entries lead to bytes.
    pub kind: Kind,
}

/// A partitioned region.
#[derive(Clone, Debug)]
pub struct Partitioned {
    /// Place of row 0's id; with keys, that of the first splitter of a range, or unused.
    pub ids: Place,
    /// Bytes of an id.
    pub width: IdWidth,
    /// How ids are made from keys, if they are not in a buffer.
    pub by: Option<PartitionBy>,
    /// Number of rows.
    pub rows: u32,
    /// 1 to 16 columns.
    pub columns: Vec<Column>,
}

impl Partitioned {
    /// The greatest id.
    pub fn max_id(&self) -> u16 {
        match &self.by {
            Some(by) => (by.partitions.div_ceil(by.group.into()) - 1) as u16,
            None => self.width.max_id(),
        }
    }

    /// Kinds of the region's columns and keys.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        let keys = self.by.iter().flat_map(|by| by.keys.iter().map(|key| &key.column));
        self.columns.iter().chain(keys).map(|column| &column.kind)
    }
}

/// How partitions are made from keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionBy {
    /// Function that makes partitions of keys.
    pub function: Function,
    /// Start value of the hash; 0 for a range.
    pub seed: u32,
    /// Number of partitions, 1 to 65,536; of a range one more than splitters.
    pub partitions: u32,
    /// Number of neighbouring partitions that share an id, at least 1.
    pub group: u16,
    /// 1 to 16 keys.
    pub keys: Vec<Key>,
}

impl PartitionBy {
    /// True if a card with [`FIXED_KEYS`](libdrdma::Features::FIXED_KEYS) alone takes that key.
    pub fn is_fixed(&self, key: &Key) -> bool {
        match key.column.kind {
            Kind::Bits { .. } => true,
            Kind::Fixed => {
                let is_short = self.function != Function::Range || key.column.width <= 8;
                key.key_type != KeyType::Bytes && is_short
            }
            _ => false,
        }
    }
}

/// A key that partitions are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Column of the key's values.
    pub column: Column,
    /// Type of the values.
    pub key_type: KeyType,
    /// Validity: the byte of row 0's bit, and the bit's place in it.
    pub validity: Option<(Place, u8)>,
}

/// Bytes of a partition id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdWidth {
    /// An id is one byte.
    One = 1,
    /// An id is two bytes, little-endian.
    Two = 2,
}

impl IdWidth {
    /// The greatest id.
    pub fn max_id(self) -> u16 {
        match self {
            Self::One => u8::MAX.into(),
            Self::Two => u16::MAX,
        }
    }
}

/// A region of a destination.
#[derive(Clone, Debug)]
pub enum Region {
    /// One run of bytes.
    Contiguous {
        /// Place of the first byte.
        base: Place,
        /// Length in bytes, at least 1.
        len: u32,
    },
    /// A pattern, repeated.
    Strided {
        /// Place of the first period.
        base: Place,
        /// Bytes from one period to the next, at least 1.
        period: u64,
        /// Number of periods.
        count: u32,
        /// 1 to 16 extents.
        pattern: Vec<Extent>,
    },
    /// The rows that a bitmap selects.
    Bitmapped {
        /// Place of the bitmap.
        bitmap: Place,
        /// The place of row 0's bit in its first byte, 0 to 7.
        first: u8,
        /// Number of bits.
        rows: u32,
        /// 1 to 16 columns.
        columns: Vec<Column>,
        /// Bitmap of rows that are read as if they were needed.
        fetch_rows: Option<Place>,
    },
    /// A pattern at every pointer.
    PointerMapped {
        /// Places of the records, or of the first records of chains.
        pointers: Vec<Place>,
        /// 1 to 16 extents.
        pattern: Vec<Extent>,
        /// How records lead to further ones.
        chase: Option<Chase>,
    },
}

/// How a record leads to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chase {
    /// Bytes from a record's start to its pointer.
    pub next: u32,
    /// Value of the pointer that ends a chain.
    pub end: u64,
    /// Records of a chain, at most: 1 to 2^24.
    pub limit: u32,
}

impl Region {
    /// True if an element, or the bitmap, is of a kind that not every card knows.
    pub fn has_kinds(&self) -> bool {
        match self {
            Self::Contiguous { .. } => false,
            Self::PointerMapped { chase: Some(_), .. } => true,
            Self::Strided { pattern, .. } | Self::PointerMapped { pattern, .. } => {
                pattern.iter().any(|extent| extent.kind != Kind::Fixed)
            }
            Self::Bitmapped { first, columns, .. } => *first > 0 || have_kinds(columns),
        }
    }

    /// Kinds of the region's elements.
    pub fn kinds(&self) -> Box<dyn Iterator<Item = &Kind> + '_> {
        match self {
            Self::Contiguous { .. } => Box::new(std::iter::empty()),
            Self::Strided { pattern, .. } | Self::PointerMapped { pattern, .. } => {
                Box::new(pattern.iter().map(|extent| &extent.kind))
            }
            Self::Bitmapped { columns, .. } => Box::new(columns.iter().map(|column| &column.kind)),
        }
    }
}

/// True if some of these columns are not of fixed width.
pub fn have_kinds(columns: &[Column]) -> bool {
    columns.iter().any(|column| column.kind != Kind::Fixed)
}

/// The name of an operation in job files.
pub fn op_name(op: Opcode) -> &'static str {
    match op {
        Opcode::Send => "send",
        Opcode::SendImm => "send_imm",
        Opcode::Write => "write",
        Opcode::WriteImm => "write_imm",
    }
}
