//! Messages between the two ends of an exchange beside the rows: a TCP connection from each consumer to each producer.
//!
//! A message is its length (4 B, little-endian) and JSON. Rows never travel here.

use std::{io, net::Ipv4Addr};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{cpu::Usage, identity::Identity, network::Totals};

/// Bytes of a message, at most.
const LONGEST: usize = 16 << 20;

/// A card's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Address {
    /// Ethernet address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: Ipv4Addr,
    /// Number of a queue pair for each partition of the consumer.
    pub qpns: Vec<u32>,
}

/// A task of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The query's UUID.
    pub query: String,
    /// The stage's number.
    pub stage: usize,
    /// The task's number in it.
    pub task: usize,
}

/// State of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Status {
    /// Ends of exchanges that are under way.
    pub ends: usize,
    /// Counts of what the worker's card has sent.
    pub totals: Totals,
    /// The largest number of bytes of batches that have waited in the worker's memory.
    pub most_waiting: usize,
    /// CPU time that the worker has used, and rows that it has sent.
    pub usage: Usage,
}

/// Message of a consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToProducer {
    /// The consumer wants these partitions of a task's output.
    Open {
        /// The task.
        task: Task,
        /// The first partition.
        start: usize,
        /// The partition behind the last one.
        end: usize,
        /// Partitions of the output in all.
        partitions: usize,
        /// Number of the consumer's worker, and the consumer's name for this exchange.
        from: (usize, u64),
    },
    /// Request for the state of the worker. No other message is sent on such a connection.
    Status,
    /// Request for the worker's identity. No other message is sent on such a connection.
    Identify,
    /// The consumer's queue pairs are connected to those of the producer.
    Connect {
        /// The consumer's queue pairs.
        address: Address,
        /// The consumer's card is to append the rows ([`Form::Appended`](drdma_arrow::Form::Appended)).
        appended: bool,
    },
    /// The consumer has taken rows of a partition.
    Credit {
        /// Number of the partition, counted from the consumer's first.
        partition: u16,
        /// Number of the rows.
        rows: u64,
    },
    /// The consumer wants no more rows of a partition.
    Close {
        /// Number of the partition, counted from the consumer's first.
        partition: u16,
    },
}

/// Message of a producer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToConsumer {
    /// The task exists, and accepts the consumer.
    Accept {
        /// The schema of the batches, as an Arrow IPC stream without a batch.
        schema: Vec<u8>,
        /// Bytes of the longest message.
        message_bytes: usize,
        /// Queue pairs that the rows come from; none if both ends are one worker.
        address: Option<Address>,
        /// The consumer's card may append the rows.
        may_append: bool,
        /// Batches come as [`Form::Kinds`](drdma_arrow::Form::Kinds).
        kinds: bool,
    },
    /// All of a partition's rows were sent.
    End {
        /// Number of the partition, counted from the consumer's first.
        partition: u16,
        /// Number of rows of the partition.
        rows: u64,
    },
    /// No rows of a closed partition are under way any more.
    Closed {
        /// Number of the partition, counted from the consumer's first.
        partition: u16,
    },
    /// State of the worker.
    Status(Status),
    /// Identity of the worker.
    Identity(Box<Identity>),
    /// The task failed.
    Error {
        /// Description of the failure.
        reason: String,
    },
}

/// Reads a message. `None`: the other end has closed the connection.
///
/// # Errors
/// The connection broke, or what came is no message.
pub(crate) async fn read<M: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> io::Result<Option<M>> {
    let mut len = [0; 4];
    match from.read_exact(&mut len).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    };
    let len = u32::from_le_bytes(len) as usize;
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    if len > LONGEST {
        return Err(invalid(format!("a message of {len} B: {LONGEST} are possible")));
    }
    let mut bytes = vec![0; len];
    from.read_exact(&mut bytes).await?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| invalid(error.to_string()))
}

/// Writes a message.
///
/// # Errors
/// The connection broke.
pub(crate) async fn write<M: Serialize>(
    to: &mut (impl AsyncWrite + Unpin),
    message: &M,
) -> io::Result<()> {
    write_all(to, std::slice::from_ref(message)).await
}

/// Writes messages together.
///
/// # Errors
/// The connection broke.
pub(crate) async fn write_all<M: Serialize>(
    to: &mut (impl AsyncWrite + Unpin),
    messages: &[M],
) -> io::Result<()> {
    let mut bytes = Vec::new();
    for message in messages {
        let start = bytes.len();
        bytes.extend([0; 4]);
        serde_json::to_writer(&mut bytes, message)?;
        let len = (bytes.len() - start - 4) as u32;
        bytes[start..start + 4].copy_from_slice(&len.to_le_bytes());
    }
    to.write_all(&bytes).await
}

#[cfg(test)]
mod tests;
