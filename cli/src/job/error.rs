//! Errors of job files.

use std::{fmt, io, path::PathBuf};

use libdrdma::ResolveError;

/// A job that cannot be run; nothing of it was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The job file cannot be read.
    #[error("cannot read the job file {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system returned.
        source: io::Error,
    },
    /// The job file is too long.
    #[error("the job file {} is longer than {limit} B, the limit", path.display())]
    TooLong {
        /// Path of the file.
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
    /// A field is missing, unknown, or has a value that is not possible.
    #[error("{path}: {problem}")]
    Field {
        /// Path of the field: `posts[2].destinations[0].regions[1].pattern[0].len`.
        path: String,
        /// Fault of the field.
        problem: Problem,
    },
}

/// Fault of one field.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A required field is not there.
    #[error("is missing")]
    Missing,
    /// A MAC address that is neither given nor known otherwise.
    #[error("is missing, and not known: {0}")]
    Resolve(ResolveError),
    /// No card supports this.
    #[error("there is no {what}")]
    Unsupported {
        /// Name of what is not supported.
        what: String,
    },
    /// The field does not exist in this object.
    #[error("unknown field; the fields here are {}", Names(known))]
    Unknown {
        /// Names of the fields that exist here.
        known: Vec<&'static str>,
    },
    /// The field is in its object twice.
    #[error("appears twice")]
    Repeated,
    /// The value has another JSON type.
    #[error("must be {expected}, is {found}")]
    Type {
        /// Name of the type that is needed.
        expected: &'static str,
        /// Description of the value that was found.
        found: String,
    },
    /// The integer is too small.
    #[error("must be at least {min}, is {value}")]
    TooSmall {
        /// Value that was found.
        value: i128,
        /// The least possible value.
        min: u64,
    },
    /// The integer is too large.
    #[error("must be at most {max}, is {value}")]
    TooLarge {
        /// Value that was found.
        value: i128,
        /// The greatest possible value.
        max: u64,
    },
    /// The word is not one of those that are possible here.
    #[error("\"{found}\" is none of {}", Names(choices))]
    Choice {
        /// The word that was found.
        found: String,
        /// The words that are possible.
        choices: Vec<&'static str>,
    },
    /// The number is not one of those that are possible here.
    #[error("{value} is none of {}", Names(choices))]
    NumberChoice {
        /// The number that was found.
        value: u64,
        /// The numbers that are possible.
        choices: Vec<u32>,
    },
    /// The list is too long.
    #[error("has {count} {what}, the limit is {limit}")]
    TooMany {
        /// Number of its entries.
        count: usize,
        /// Name of its entries.
        what: &'static str,
        /// Number of entries that are possible.
        limit: usize,
    },
    /// The list is empty, and must not be.
    #[error("must have at least one {what}")]
    Empty {
        /// Name of its entries.
        what: &'static str,
    },
    /// Inline data are longer than a request can have.
    #[error("are {bytes} B of inline data: at most {limit} B are possible")]
    InlineBytes {
        /// Bytes of the inline data.
        bytes: u64,
        /// Bytes that are possible.
        limit: usize,
    },
    /// Inline data are not contiguous.
    #[error("is not contiguous: inline data come from contiguous regions")]
    InlineRegion,
    /// No buffer or queue pair has this name.
    #[error("there is no {kind} \"{name}\"")]
    NoSuch {
        /// `buffer` or `queue pair`.
        kind: &'static str,
        /// The name that was not found.
        name: String,
    },
    /// Another entry already has this name or number.
    #[error("{value} is already used by {other}")]
    Duplicate {
        /// The name or number.
        value: String,
        /// Path of the entry that has it.
        other: String,
    },
    /// The buffer has no source, or more than one.
    #[error("must have exactly one of file, hex and size, has {found}")]
    BufferSource {
        /// Number of its sources.
        found: usize,
    },
    /// The function cannot make partitions of keys with such values.
    #[error("{key_type} cannot be {values} for {function}")]
    KeyType {
        /// The type of the key.
        key_type: &'static str,
        /// Description of its values.
        values: String,
        /// Name of the function.
        function: &'static str,
    },
    /// The last post of a queue is unsignaled.
    #[error(
        "is false, and no post behind it goes to the same queue: it would never be known to be complete"
    )]
    NeverSignaled,
    /// The text is not bytes in hexadecimal.
    #[error("is not bytes in hexadecimal: {0}")]
    Hex(String),
    /// The file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Error that the system returned.
        source: io::Error,
    },
    /// The text is not a MAC address.
    #[error("\"{0}\" is not a MAC address like 02:00:00:00:00:01")]
    Mac(String),
    /// The text is not an IPv4 address.
    #[error("\"{0}\" is not an IPv4 address like 10.0.0.1")]
    Ip(String),
    /// The address cannot be that of a single interface.
    #[error("{found} is {what}: it must be the address of one interface")]
    Address {
        /// The address that was found.
        found: String,
        /// Kind of the address, such as multicast.
        what: &'static str,
    },
    /// The field has no meaning for this operation or transport.
    #[error("has no meaning for {what}: leave it out")]
    Meaningless {
        /// The operation or transport.
        what: String,
    },
    /// The buffers of the job are too large together.
    #[error("has {size} B; all buffers of a job together may have {limit} B, {left} B are left")]
    TooMuchMemory {
        /// Bytes of this buffer; of a file, those that were read.
        size: u64,
        /// Bytes that all buffers together may have.
        limit: u64,
        /// Bytes that are left for this buffer.
        left: u64,
    },
    /// The number is not a probability.
    #[error("must be from 0 to 1, is {0}")]
    Probability(f64),
    /// The name cannot be the name of a file, or contains a slash.
    #[error("\"{0}\" is no name that a file could have, without slashes")]
    FileName(String),
    /// Bytes lie beyond the end of a buffer.
    #[error("ends at byte {end} of buffer \"{buffer}\", which has {len} B")]
    Outside {
        /// Offset at which they end.
        end: u128,
        /// Name of the buffer.
        buffer: String,
        /// Bytes of the buffer.
        len: usize,
    },
    /// The queue pair cannot be connected to this one.
    #[error("names \"{found}\", {what}")]
    Peer {
        /// Name of the queue pair.
        found: String,
        /// Reason why not.
        what: String,
    },
    /// The transport does not have the operation.
    #[error("{op} is not possible on queue pair \"{qp}\", whose transport is {transport}")]
    Transport {
        /// Name of the operation.
        op: &'static str,
        /// Name of the queue pair.
        qp: String,
        /// Name of the queue pair's transport.
        transport: &'static str,
    },
    /// The queue pair takes its receives from a shared receive queue.
    #[error("takes its receives from the shared receive queue \"{srq}\": post them there")]
    TakesFromShared {
        /// Name of the shared receive queue.
        srq: String,
    },
    /// WRITEs are not possible on a datagram queue pair.
    #[error("{op} is not possible on queue pair \"{qp}\", whose transport is ud")]
    WriteOnUd {
        /// Name of the operation.
        op: &'static str,
        /// Name of the queue pair.
        qp: String,
    },
    /// The job needs more objects than a card has room for.
    #[error("the job needs {count} {what}, a card has {limit}")]
    Card {
        /// Number of objects that are needed.
        count: usize,
        /// Name of the objects.
        what: &'static str,
        /// Number of objects that a card has.
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
