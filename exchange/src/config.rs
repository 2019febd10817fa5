//! Configuration: the design of an exchange, and its sizes.

use std::{fmt, time::Duration};

/// Payload bytes of a packet, at most.
pub const MAX_MTU: u32 = 4096;
/// Bytes of a message, at most.
pub const MAX_MESSAGE: u32 = 1 << 20;
/// Buffers that an endpoint has of a kind, at most.
pub const MAX_BUFFERS: u32 = 4096;
/// Nodes of an exchange, at most.
pub const MAX_NODES: usize = 256;

/// How data get from an endpoint to another (Liu et al., TODS 2019, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// MQ/SR: SENDs on RC, a queue pair a peer. The receiver says how many receives it has posted.
    SendReceive,
    /// SQ/SR: SENDs on UD, one queue pair for all peers. A message is one packet; lost ones are noticed, not sent
    /// again.
    Datagram,
    /// MQ/RD: the receiver READs the sender's buffers on RC.
    Read,
    /// MQ/WR: the sender WRITEs to the receiver's buffers on RC, which notices them in one of three ways.
    Write(Notice),
}

/// How a receiver notices that a buffer was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// By the last bytes of each buffer: as many places to look at as there are buffers.
    PollBuffer,
    /// By a second WRITE, into a queue: a place to look at for each peer.
    PollQueue,
    /// By the completion of a WRITE with immediate data.
    PollCompletion,
}

impl Primitive {
    /// Every primitive.
    pub const ALL: [Self; 6] = [
        Self::SendReceive,
        Self::Datagram,
        Self::Read,
        Self::Write(Notice::PollBuffer),
        Self::Write(Notice::PollQueue),
        Self::Write(Notice::PollCompletion),
    ];

    /// The primitive's name in the paper.
    pub fn name(self) -> &'static str {
        match self {
            Self::SendReceive => "MQ/SR",
            Self::Datagram => "SQ/SR",
            Self::Read => "MQ/RD",
            Self::Write(Notice::PollBuffer) => "MQ/WR pollbuff",
            Self::Write(Notice::PollQueue) => "MQ/WR pollmq",
            Self::Write(Notice::PollCompletion) => "MQ/WR pollcq",
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A design: a primitive, and whether the threads of a node share an endpoint or have one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Design {
    /// ME: an endpoint a thread. Otherwise SE: one endpoint a node.
    pub multiple_endpoints: bool,
    /// How data get from an endpoint to another.
    pub primitive: Primitive,
}

impl Design {
    /// The paper's eight designs, MQ/WR with the notice that it found best.
    pub const ALL: [Self; 8] = {
        const fn design(multiple_endpoints: bool, primitive: Primitive) -> Design {
            Design { multiple_endpoints, primitive }
        }
        let write = Primitive::Write(Notice::PollCompletion);
        [
            design(true, Primitive::SendReceive),
            design(false, Primitive::SendReceive),
            design(true, Primitive::Datagram),
            design(false, Primitive::Datagram),
            design(true, Primitive::Read),
            design(false, Primitive::Read),
            design(true, write),
            design(false, write),
        ]
    };

    /// Number of endpoints of a node with `threads` threads.
    pub fn endpoints(self, threads: usize) -> usize {
        if self.multiple_endpoints { threads } else { 1 }
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = if self.multiple_endpoints { "ME" } else { "SE" };
        write!(f, "{endpoints} {}", self.primitive)
    }
}

/// How an endpoint is made. All endpoints of an exchange have the same configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// How data get from an endpoint to another.
    pub primitive: Primitive,
    /// Bytes of a message, which is a buffer: 16 to [`MAX_MESSAGE`]; on [`Primitive::Datagram`] at most `mtu`.
    pub message: u32,
    /// Buffers that an endpoint has for the messages of each peer, 1 to [`MAX_BUFFERS`]. With a
    /// [`BufferPool`](crate::BufferPool), what each has at all times.
    pub receive_buffers: u32,
    /// Buffers that an endpoint has to send from, for all peers together, 1 to [`MAX_BUFFERS`]. With a
    /// [`BufferPool`](crate::BufferPool), what it has at all times.
    pub send_buffers: u32,
    /// With a [`BufferPool`](crate::BufferPool): buffers that a peer may have, or that may be sent from, those that are
    /// lent included, 1 to [`MAX_BUFFERS`]; the rings of queues are made for so many. Below `receive_buffers` or
    /// `send_buffers` it changes nothing.
    pub most_buffers: u32,
    /// It sends rows from where they lie ([`Endpoint::put_rows`](crate::Endpoint::put_rows)) as well.
    pub regions: bool,
    /// Receives after which a receiver informs its sender: 1 to `receive_buffers`, with `regions` about half. With
    /// a pool, and on [`Primitive::Datagram`], of half of the receives that the sender has, if those are more.
    pub credit_every: u32,
    /// Payload bytes of a packet: 256, 512, 1024, 2048 or 4096.
    pub mtu: u32,
    /// How long a peer may fail to do what it owes this endpoint. `None`: for ever.
    pub patience: Option<Duration>,
    /// On RC, packets are sent again after 4.096 us * 2^timeout without an acknowledgement, if the card does that: 1 to
    /// 31.
    pub timeout: u8,
    /// How often packets are sent again, 0 to 7; then the peer is lost.
    pub retries: u8,
}

impl Config {
    /// What the paper found best, where it applies: messages of 64 KiB on RC and of 4 KiB on UD, a credit for every two
    /// receives; 16 buffers a peer, 32 to send from, with a pool up to 64 of either, 10 s of patience, packets sent
    /// again 7 times after 1 ms.
    pub fn new(primitive: Primitive) -> Self {
        let is_datagram = primitive == Primitive::Datagram;
        Self {
            primitive,
            message: if is_datagram { MAX_MTU } else { 64 << 10 },
            receive_buffers: 16,
            send_buffers: 32,
            most_buffers: 64,
            regions: false,
            credit_every: 2,
            mtu: MAX_MTU,
            patience: Some(Duration::from_secs(10)),
            timeout: 8,
            retries: 7,
        }
    }

    /// Checks that every value is within its limits.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let within = |what, value: u32, least: u32, most: u32| match (least..=most).contains(&value)
        {
            true => Ok(()),
            false => Err(ConfigError { what, value, least, most }),
        };
        let longest = if self.primitive == Primitive::Datagram { self.mtu } else { MAX_MESSAGE };
        within("mtu", self.mtu, 256, MAX_MTU)?;
        within("message", self.message, 16, longest)?;
        within("receive_buffers", self.receive_buffers, 1, MAX_BUFFERS)?;
        within("send_buffers", self.send_buffers, 1, MAX_BUFFERS)?;
        within("most_buffers", self.most_buffers, 1, MAX_BUFFERS)?;
        // A sender would wait for ever for the last buffers of a round. One that sends rows from where they lie needs
        // credit for half of the buffers at a time.
        let receives = self.receive_buffers;
        let at_a_time = if self.regions { (receives / 2).max(1) } else { 1 };
        within("credit_every", self.credit_every, 1, receives - at_a_time + 1)?;
        within("timeout", self.timeout.into(), 1, 31)?;
        within("retries", self.retries.into(), 0, 7)
    }
}

/// A value of a [`Config`] outside its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {value}: it must be {least} to {most}")]
pub struct ConfigError {
    /// Name of the value.
    pub what: &'static str,
    /// The value.
    pub value: u32,
    /// The least value that is possible.
    pub least: u32,
    /// The greatest value that is possible.
    pub most: u32,
}
