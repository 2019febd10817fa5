//! Fabric jobs: several cards behind a switch, and what each of them posts, in JSON.
//!
//! Reading one is as strict as reading a job for one card ([`crate::job`]), and is made of the same
//! parts: values that no request can have are refused, with the name of the field, before
//! anything runs.

mod format;
mod parse;
pub mod run;
pub mod supported;

use std::{fs::File, io::Read as _, path::Path};

use drdma_fabric::NetworkConfig;
pub use format::schema;

use crate::job::{
    Buffer, Column, FetchPlan, JobError, Local, MAX_JOB, MessageLayout, Partitioned, Region,
    RowMask, Transport,
};

/// Cards in a fabric, at most.
pub const MAX_NODES: usize = 64;

/// A whole fabric job.
#[derive(Clone, Debug)]
pub struct FabricJob {
    /// The switch and its links.
    pub network: NetworkConfig,
    /// The cards and their hosts; steps name them by index.
    pub nodes: Vec<Node>,
    /// Posts and waits, in the order of the file.
    pub steps: Vec<Step>,
}

impl FabricJob {
    /// Reads a job file. The files that its buffers name are relative to its folder.
    ///
    /// # Errors
    /// The file cannot be read, or is no job; the message names the field.
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

    /// Reads a job from text. The files that its buffers name are relative to `folder`.
    ///
    /// # Errors
    /// The text is no job; the message names the field.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, JobError> {
        if text.starts_with('\u{feff}') {
            return Err(JobError::ByteOrderMark);
        }
        parse::job(&serde_json::from_str(text)?, folder)
    }

    /// Steps in order, cut at the waits.
    pub fn phases(&self) -> impl Iterator<Item = &[Step]> {
        self.steps.split(|step| matches!(step, Step::Wait))
    }
}

/// A card and its host.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// The URI of a simulated card.
    pub device: String,
    /// Addresses of the card.
    pub local: Local,
    /// Memory; posts name buffers by index.
    pub buffers: Vec<Buffer>,
    /// Rights of peers for each buffer.
    pub access: Vec<Access>,
    /// Further keys, to parts of buffers or regions.
    pub keys: Vec<Key>,
    /// Append regions; receives name them by index.
    pub appends: Vec<Append>,
    /// Names of the shared receive queues.
    pub srqs: Vec<String>,
    /// Queue pairs; posts name them by index.
    pub qps: Vec<Qp>,
}

/// Rights of peers to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Peers may READ the memory.
    pub remote_read: bool,
    /// Peers may WRITE to the memory.
    pub remote_write: bool,
    /// Peers may execute atomic operations on the memory.
    pub remote_atomic: bool,
}

/// A key to a part of a buffer, or to a region with gaps.
#[derive(Clone, Debug)]
pub struct Key {
    /// Name of the key.
    pub name: String,
    /// The region that the key gives access to; a contiguous one is inside its buffer.
    pub region: Region,
    /// Rights of peers.
    pub access: Access,
}

/// Columns that messages fill row after row.
#[derive(Clone, Debug)]
pub struct Append {
    /// Name of the append region.
    pub name: String,
    /// The columns; all their rows are inside the buffers.
    pub columns: Vec<Column>,
    /// Number of rows that the columns have room for.
    pub capacity: u32,
}

/// A queue pair of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Index of the node.
    pub node: usize,
    /// Index of its queue pair.
    pub qp: usize,
}

/// A queue pair.
#[derive(Clone, Debug)]
pub struct Qp {
    /// Name of the queue pair.
    pub name: String,
    /// Transport of the queue pair.
    pub transport: Transport,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Queue pair that it is connected to; `None` on UD.
    pub peer: Option<Peer>,
    /// First packet sequence number.
    pub start_psn: u32,
    /// Queue key, for UD.
    pub qkey: u32,
    /// Index of the shared receive queue that it takes from, if it has none of its own.
    pub srq: Option<usize>,
    /// How often RC tries again when something is lost or a peer is not ready.
    pub retries: Retries,
    /// Number of READs and atomics that may be under way in each direction.
    pub max_rd_atomic: u8,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Explicit congestion notification, 0 to 3.
    pub ecn: u8,
    /// Time to live, 1 to 255.
    pub ttl: u8,
}

/// How often RC tries again: codes as in the InfiniBand specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Code of the time that an acknowledgement is waited for: 4.096 us * 2^timeout; 0 is for ever.
    pub timeout: u8,
    /// How often in a row a packet is sent again, 0 to 7.
    pub retry_cnt: u8,
    /// How often a peer may be not ready; 7 is without a limit.
    pub rnr_retry: u8,
    /// The code of the time after which a peer may try again, 0 to 31.
    pub min_rnr_timer: u8,
}

impl Default for Retries {
    /// 4.2 ms seven times; not ready for ever, 10 us each.
    fn default() -> Self {
        Self { timeout: 10, retry_cnt: 7, rnr_retry: 7, min_rnr_timer: 1 }
    }
}

/// One step of a job.
#[derive(Clone, Debug)]
pub enum Step {
    /// A node posts something.
    Post {
        /// Index of the node.
        node: usize,
        /// Post of the node.
        post: Post,
    },
    /// Every node waits until all posts so far have completed, receives excepted.
    Wait,
}

/// A post of a node.
#[derive(Clone, Debug)]
pub enum Post {
    /// Request to a send queue.
    Send(Send),
    /// Receive to a receive queue.
    Receive(Receive),
    /// Rows of an append region are given back.
    GiveBack {
        /// Index of the append region.
        append: usize,
        /// Number of the oldest rows that are given back.
        rows: u32,
    },
}

/// Operation of a request, with the values that only that operation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A SEND.
    Send,
    /// SEND with immediate data.
    SendImm(u32),
    /// A WRITE.
    Write,
    /// WRITE with immediate data.
    WriteImm(u32),
    /// A READ.
    Read,
    /// Compare and swap: 8 B of the peer's memory become `swap` if they are `compare`.
    CompareAndSwap {
        /// Value that is compared.
        compare: u64,
        /// Value that is swapped in.
        swap: u64,
    },
    /// Fetch and add: `add` is added to 8 B of the peer's memory.
    FetchAndAdd {
        /// Value that is added.
        add: u64,
    },
    /// SEND that invalidates a key of the peer, which the remote memory names.
    SendInvalidate,
}

impl Op {
    /// Name of the operation in jobs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::SendImm(_) => "send_imm",
            Self::Write => "write",
            Self::WriteImm(_) => "write_imm",
            Self::Read => "read",
            Self::CompareAndSwap { .. } => "compare_and_swap",
            Self::FetchAndAdd { .. } => "fetch_and_add",
            Self::SendInvalidate => "send_invalidate",
        }
    }

    /// True if the operation names memory of the peer.
    pub fn is_remote(self) -> bool {
        !matches!(self, Self::Send | Self::SendImm(_) | Self::SendInvalidate)
    }

    /// True if the peer's answer fills the regions.
    pub fn is_answered(self) -> bool {
        matches!(self, Self::Read | Self::CompareAndSwap { .. } | Self::FetchAndAdd { .. })
    }
}

/// A work request of a send queue.
#[derive(Clone, Debug)]
pub struct Send {
    /// True for `post_ssq_send`.
    pub shared: bool,
    /// The name that comes back in the completion.
    pub wr_id: u64,
    /// Operation of the request.
    pub op: Op,
    /// Row mask: how rows are cut into units.
    pub row_mask: RowMask,
    /// Units in one message.
    pub rows_per_message: u32,
    /// The order of the values in a message.
    pub layout: MessageLayout,
    /// Whether the request's success is reported by a completion.
    pub signaled: bool,
    /// Whether the request waits for the READs and atomics before it.
    pub fence: bool,
    /// Whether the peer's completions are solicited ones.
    pub solicited: bool,
    /// Fetch plan; `None` for that of the card's registers.
    pub fetch: Option<FetchPlan>,
    /// Whether the bytes of its regions stand in the request: these are contiguous, and inside their buffers.
    pub inline: bool,
    /// The region that all destinations share; they have none of their own then.
    pub partitioned: Option<Partitioned>,
    /// One for `post_send`, 1 to 256 for `post_ssq_send`.
    pub destinations: Vec<Destination>,
}

impl Send {
    /// The queue that the request goes to: whether it is a shared one, and its queue pairs in ascending order.
    pub fn queue(&self) -> (bool, Vec<usize>) {
        let mut set: Vec<usize> = self.destinations.iter().map(|d| d.qp).collect();
        set.sort_unstable();
        (self.shared, set)
    }
}

/// One destination of a request.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Index of the node's queue pair.
    pub qp: usize,
    /// Remote memory that the operation names, if it names any.
    pub remote: Option<Remote>,
    /// For a WRITE by columns: the remote memory of each column.
    pub remote_columns: Vec<Remote>,
    /// Destination of a datagram.
    pub to: Option<Peer>,
    /// Id of the rows that the destination gets, if the post has a partitioned region; else 0.
    pub partition: u16,
    /// Regions that are sent, or that a READ fills; 0 to 16.
    pub regions: Vec<Region>,
}

/// Memory of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    /// Memory of a buffer.
    Buffer {
        /// Index of the node.
        node: usize,
        /// Index of its buffer.
        buffer: usize,
        /// Bytes from its start.
        offset: u64,
    },
    /// Memory that a key gives access to.
    Key {
        /// Index of the node.
        node: usize,
        /// Index of its key.
        key: usize,
        /// Bytes from the key's first one.
        offset: u64,
    },
    /// An address and a key of any value.
    Raw {
        /// Remote address.
        addr: u64,
        /// Remote key.
        rkey: u32,
    },
}

/// A receive queue of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReceiveQueue {
    /// The receive queue of a queue pair, by index.
    Qp(usize),
    /// A shared receive queue, by index.
    Shared(usize),
}

/// A work request of a receive queue.
#[derive(Clone, Debug)]
pub struct Receive {
    /// Receive queue that it is posted to.
    pub queue: ReceiveQueue,
    /// The name that comes back in the completion.
    pub wr_id: u64,
    /// Regions that the message's bytes fill, in order.
    pub regions: Vec<Region>,
    /// Index of the append region that takes the message; there are no regions then.
    pub append: Option<usize>,
}

#[cfg(test)]
mod tests;
