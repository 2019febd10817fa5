//! What the two ends of an exchange tell each other beside the rows: a TCP connection from each consumer to each producer.
//!
//! A message is its length (4 B, little-endian) and JSON. Rows never travel here.

use std::{io, net::Ipv4Addr};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{identity::Identity, network::Totals};

/// Bytes of a message, at most.
const LONGEST: usize = 16 << 20;

/// A card's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Address {
    /// Ethernet.
    pub mac: [u8; 6],
    /// IPv4.
    pub ip: Ipv4Addr,
    /// A queue pair for each partition of the consumer.
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

/// How a worker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Status {
    /// Ends of exchanges that are under way.
    pub ends: usize,
    /// What its card has sent.
    pub totals: Totals,
    /// The most bytes of batches that ever waited in its memory.
    pub most_waiting: usize,
}

/// What a consumer says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToProducer {
    /// It wants these partitions of a task's output.
    Open {
        /// The task.
        task: Task,
        /// The first partition.
        start: usize,
        /// The one behind the last.
        end: usize,
        /// Partitions of the output in all.
        partitions: usize,
        /// The consumer's worker, and what it calls this exchange.
        from: (usize, u64),
    },
    /// It asks how the worker is. Nothing else is said on such a connection.
    Status,
    /// It asks who the worker is. Nothing else is said on such a connection.
    Identify,
    /// Its queue pairs are connected to those of the producer.
    Connect {
        /// Its queue pairs.
        address: Address,
        /// Rows are to come so that its card appends them ([`Form::Appended`](drdma_arrow::Form::Appended)).
        appended: bool,
    },
    /// It has taken rows of a partition.
    Credit {
        /// Which, from the first of its own.
        partition: u16,
        /// How many.
        rows: u64,
    },
    /// It wants nothing more of a partition.
    Close {
        /// Which, from the first of its own.
        partition: u16,
    },
}

/// What a producer says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToConsumer {
    /// The task is there.
    Accept {
        /// The schema of the batches, as an Arrow IPC stream without a batch.
        schema: Vec<u8>,
        /// Bytes of the longest message.
        message_bytes: usize,
        /// Queue pairs that the rows come from; none if both ends are one worker.
        address: Option<Address>,
        /// The consumer's card may append the rows.
        may_append: bool,
    },
    /// All of a partition's rows were sent.
    End {
        /// Which, from the first of the consumer's.
        partition: u16,
        /// How many they were.
        rows: u64,
    },
    /// Nothing of a partition is under way any more.
    Closed {
        /// Which, from the first of the consumer's.
        partition: u16,
    },
    /// How the worker is.
    Status(Status),
    /// Who the worker is.
    Identity(Box<Identity>),
    /// The task failed.
    Error {
        /// Why.
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
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let len = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    to.write_all(&bytes).await
}

#[cfg(test)]
mod tests;
