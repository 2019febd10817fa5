//! What can be wrong with a job file.

use std::{fmt, io, path::PathBuf};

use libdrdma::ResolveError;

/// A job that cannot be run; nothing of it was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The job file cannot be read.
    #[error("cannot read the job file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The job file is too long.
    #[error("the job file {} is longer than {limit} B, the limit", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Bytes that a job file may have.
        limit: u64,
    },
    /// The text begins with U+FEFF.
    #[error("the job begins with a byte order mark: save it as UTF-8 without one")]
    ByteOrderMark,
    /// The text is not JSON.
    #[error("the job is not valid JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// A field is missing, unknown, or holds something that it cannot.
    #[error("{path}: {problem}")]
    Field {
        /// Where: `posts[2].destinations[0].regions[1].pattern[0].len`.
        path: String,
        /// What.
        problem: Problem,
    },
}

/// What is wrong with one field.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A required field is not there.
    #[error("is missing")]
    Missing,
    /// A MAC address that is neither given nor known otherwise.
    #[error("is missing, and not known: {0}")]
    Resolve(ResolveError),
    /// Something that no card does.
    #[error("there is no {what}")]
    Unsupported {
        /// What.
        what: String,
    },
    /// A field that has no meaning here.
    #[error("unknown field; the fields here are {}", Names(known))]
    Unknown {
        /// The fields that would have one.
        known: Vec<&'static str>,
    },
    /// The same field twice in one object.
    #[error("appears twice")]
    Repeated,
    /// A value of another JSON type.
    #[error("must be {expected}, is {found}")]
    Type {
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// An integer that is too small.
    #[error("must be at least {min}, is {value}")]
    TooSmall {
        /// The value.
        value: i128,
        /// The least possible value.
        min: u64,
    },
    /// An integer that is too large.
    #[error("must be at most {max}, is {value}")]
    TooLarge {
        /// The value.
        value: i128,
        /// The greatest possible value.
        max: u64,
    },
    /// A word that is none of those possible here.
    #[error("\"{found}\" is none of {}", Names(choices))]
    Choice {
        /// The word.
        found: String,
        /// The possible ones.
        choices: Vec<&'static str>,
    },
    /// A number that is none of those possible here.
    #[error("{value} is none of {}", Names(choices))]
    NumberChoice {
        /// The number.
        value: u64,
        /// The possible ones.
        choices: Vec<u32>,
    },
    /// A list that is too long.
    #[error("has {count} {what}, the limit is {limit}")]
    TooMany {
        /// Its length.
        count: usize,
        /// What it lists.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A list that may not be empty.
    #[error("must have at least one {what}")]
    Empty {
        /// What it lists.
        what: &'static str,
    },
    /// Inline data of more bytes than a request takes.
    #[error("are {bytes} B of inline data: at most {limit} B are possible")]
    InlineBytes {
        /// Their bytes.
        bytes: u64,
        /// The limit.
        limit: usize,
    },
    /// Inline data that are not a run of bytes.
    #[error("is not contiguous: inline data come from contiguous regions")]
    InlineRegion,
    /// A name that no buffer or queue pair has.
    #[error("there is no {kind} \"{name}\"")]
    NoSuch {
        /// `buffer` or `queue pair`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A name or number that another entry already has.
    #[error("{value} is already used by {other}")]
    Duplicate {
        /// The name or number.
        value: String,
        /// Where it was used first.
        other: String,
    },
    /// A buffer without exactly one source.
    #[error("must have exactly one of file, hex and size, has {found}")]
    BufferSource {
        /// How many there are.
        found: usize,
    },
    /// A key of values that a function does not make partitions of.
    #[error("{key_type} cannot be {values} for {function}")]
    KeyType {
        /// The type of the key.
        key_type: &'static str,
        /// What its values are.
        values: String,
        /// The function.
        function: &'static str,
    },
    /// The last post of a queue, unsignaled.
    #[error(
        "is false, and no post behind it goes to the same queue: it would never be known to be complete"
    )]
    NeverSignaled,
    /// Text that is not bytes in hexadecimal.
    #[error("is not bytes in hexadecimal: {0}")]
    Hex(String),
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Text that is not a MAC address.
    #[error("\"{0}\" is not a MAC address like 02:00:00:00:00:01")]
    Mac(String),
    /// Text that is not an IPv4 address.
    #[error("\"{0}\" is not an IPv4 address like 10.0.0.1")]
    Ip(String),
    /// An address that no single interface has.
    #[error("{found} is {what}: it must be the address of one interface")]
    Address {
        /// The address.
        found: String,
        /// What it is instead.
        what: &'static str,
    },
    /// A field that is nothing to this operation or transport.
    #[error("has no meaning for {what}: leave it out")]
    Meaningless {
        /// The operation or transport.
        what: String,
    },
    /// Buffers that are too large together.
    #[error("has {size} B; all buffers of a job together may have {limit} B, {left} B are left")]
    TooMuchMemory {
        /// Bytes of this buffer; of a file, those that were read.
        size: u64,
        /// Bytes of all.
        limit: u64,
        /// Bytes that the buffers before leave.
        left: u64,
    },
    /// A number that is no probability.
    #[error("must be from 0 to 1, is {0}")]
    Probability(f64),
    /// A name that no file can have, or that holds what separates names.
    #[error("\"{0}\" is no name that a file could have, without slashes")]
    FileName(String),
    /// Bytes beyond the end of a buffer.
    #[error("ends at byte {end} of buffer \"{buffer}\", which has {len} B")]
    Outside {
        /// Where it ends.
        end: u128,
        /// The buffer.
        buffer: String,
        /// Its bytes.
        len: usize,
    },
    /// A queue pair that this one cannot be connected to.
    #[error("names \"{found}\", {what}")]
    Peer {
        /// The queue pair.
        found: String,
        /// Why not.
        what: String,
    },
    /// An operation that a transport does not have.
    #[error("{op} is not possible on queue pair \"{qp}\", whose transport is {transport}")]
    Transport {
        /// The operation.
        op: &'static str,
        /// The queue pair.
        qp: String,
        /// Its transport.
        transport: &'static str,
    },
    /// A receive for a queue pair that has no receive queue of its own.
    #[error("takes its receives from the shared receive queue \"{srq}\": post them there")]
    TakesFromShared {
        /// That queue.
        srq: String,
    },
    /// A WRITE on a datagram queue pair.
    #[error("{op} is not possible on queue pair \"{qp}\", whose transport is ud")]
    WriteOnUd {
        /// The operation.
        op: &'static str,
        /// The queue pair.
        qp: String,
    },
    /// More of something than a card has room for.
    #[error("the job needs {count} {what}, a card has {limit}")]
    Card {
        /// How many are needed.
        count: usize,
        /// Of what.
        what: &'static str,
        /// How many there are.
        limit: usize,
    },
}

/// Words or numbers as a list in a sentence.
struct Names<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Names<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(if i + 1 == self.0.len() { " and " } else { ", " })?;
            }
            write!(f, "{name}")?;
        }
        Ok(())
    }
}
