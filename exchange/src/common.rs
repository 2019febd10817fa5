//! Common part of all primitives: memory, counts, and rows that have arrived.

use std::{collections::VecDeque, net::Ipv4Addr, sync::Arc, time::Duration};

use libdrdma::{
    CompletionQueue, Context, MacAddress, MemoryRegion, PostError, ProtectionDomain, QueuePair,
    QueuePairAttributes, SharedOperation, WorkCompletion, WorkRequest,
};

use crate::{BufferPool, Config, Error, lender::Demand, pool::Pool};

/// The node that an endpoint belongs to, and its card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The number of its node.
    pub node: usize,
    /// Nodes of the exchange, 1 to [`MAX_NODES`](crate::MAX_NODES).
    pub nodes: usize,
    /// The card's Ethernet address.
    pub mac: MacAddress,
    /// The card's IPv4 address.
    pub ip: Ipv4Addr,
}

/// Memory of an endpoint, as its peers name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteMemory {
    /// Address of the first byte.
    pub addr: u64,
    /// Remote key of the memory.
    pub rkey: u32,
}

impl RemoteMemory {
    pub(crate) fn of(memory: &MemoryRegion) -> Self {
        Self { addr: memory.addr(), rkey: memory.rkey() }
    }
}

/// What the endpoints of other nodes must know of an endpoint. How it gets to them is the engine's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointAddress {
    /// The card's Ethernet address.
    pub mac: MacAddress,
    /// The card's IPv4 address.
    pub ip: Ipv4Addr,
    /// Numbers of queue pairs: one a node, that of its own being 0; on UD only one, and one more a node if it sends
    /// regions.
    pub qpns: Vec<u32>,
    /// Memory that peers WRITE to and READ; which memories these are depends on the primitive.
    pub memory: [RemoteMemory; 3],
}

/// Bytes of an address before the numbers of queue pairs.
const ADDRESS: usize = 6 + 4 + 3 * 12;

impl EndpointAddress {
    /// The address as bytes, for an engine that has no form of its own: Ethernet address, IPv4 address, memory (8 B of
    /// an address and 4 of a key each), then 4 B for each queue pair. Numbers are little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.mac.0.to_vec();
        bytes.extend(self.ip.octets());
        for RemoteMemory { addr, rkey } in self.memory {
            bytes.extend(addr.to_le_bytes());
            bytes.extend(rkey.to_le_bytes());
        }
        bytes.extend(self.qpns.iter().flat_map(|qpn| qpn.to_le_bytes()));
        bytes
    }

    /// The address that [`to_bytes`](Self::to_bytes) made these bytes of.
    ///
    /// # Errors
    /// Another number of bytes than an address has.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, AddressError> {
        let wrong = AddressError { bytes: bytes.len() };
        let (fixed, qpns) = bytes.split_at_checked(ADDRESS).ok_or(wrong)?;
        let (qpns, rest) = qpns.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(wrong);
        }
        let (mac, fixed) = fixed.split_first_chunk::<6>().expect("it is long enough");
        let (ip, memory) = fixed.split_first_chunk::<4>().expect("it is long enough");
        let (memory, _) = memory.as_chunks::<12>();
        let part = |i: usize| {
            let (addr, rkey) = memory[i].split_at(8);
            let addr = u64::from_le_bytes(addr.try_into().expect("8 bytes"));
            RemoteMemory { addr, rkey: u32::from_le_bytes(rkey.try_into().expect("4 bytes")) }
        };
        Ok(Self {
            mac: MacAddress(*mac),
            ip: (*ip).into(),
            qpns: qpns.iter().map(|qpn| u32::from_le_bytes(*qpn)).collect(),
            memory: std::array::from_fn(part),
        })
    }
}

/// Error of bytes that are no endpoint's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} B are no endpoint's address, which has {ADDRESS} and 4 for each queue pair")]
pub struct AddressError {
    /// Number of bytes that were given.
    pub bytes: usize,
}

/// Counts of an endpoint since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Messages with rows that were sent, those that peers READ included.
    pub data_messages: u64,
    /// All others: credits, entries of queues, ends of streams, and READ requests.
    pub control_messages: u64,
    /// Requests that were posted for either.
    pub posts: u64,
    /// Bytes of rows that were sent to other nodes.
    pub bytes: u64,
    /// Bytes of rows that stayed at their node.
    pub local_bytes: u64,
    /// Bytes of rows that were received, from other nodes and this one.
    pub received_bytes: u64,
}

/// A message to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A buffer of the pool.
    Data { buffer: u32, len: u32 },
    /// The end of the stream, and how many messages it had.
    End { count: u64 },
}

/// Result of sending a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The message is under way.
    Yes,
    /// The message was not sent: there is no credit, or no room in a queue.
    NotNow,
}

/// Rows that were received, in memory of this endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub source: usize,
    pub memory: Arc<MemoryRegion>,
    pub offset: usize,
    pub len: usize,
    pub place: Place,
}

/// Buffer that rows lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A buffer of this endpoint's pool: the rows are for its own node.
    Local(u32),
    /// A receive buffer, and the primitive's number of it at the peer, if it needs one.
    Slot { slot: u32, remote: u32 },
}

/// Progress of the stream from a source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    /// Messages that were received.
    pub received: u64,
    /// Messages of the whole stream, once the end of the stream was received.
    pub sent: Option<u64>,
}

impl Stream {
    pub fn is_over(&self) -> bool {
        self.sent == Some(self.received)
    }
}

/// Most credits to a peer that may be unconfirmed at a time, where credits take receives.
pub(crate) const MOST_CREDITS: u32 = 2;

/// Kind of a completed request, as its `wr_id` encodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A message in a buffer of the pool.
    Data,
    /// Another message to a peer: a credit, an entry of a queue, or the end of a stream.
    Control,
    /// A receive, by its slot.
    Receive,
    /// A READ, by its slot.
    Read,
    /// A request of regions.
    Regions,
}

impl Work {
    const ALL: [Self; 5] = [Self::Data, Self::Control, Self::Receive, Self::Read, Self::Regions];

    /// The `wr_id` of such a request to a peer, with the index of a buffer, slot or request.
    pub fn name(self, peer: usize, index: u32) -> u64 {
        (self as u64) << 56 | (peer as u64) << 32 | u64::from(index)
    }

    pub fn of(name: u64) -> (Self, usize, u32) {
        (Self::ALL[(name >> 56) as usize], (name >> 32 & 0xffff) as usize, name as u32)
    }
}

/// The common part of an endpoint.
pub(crate) struct Core {
    pub member: Member,
    pub config: Config,
    pub pd: ProtectionDomain,
    pub cq: CompletionQueue,
    pub pool: Pool,
    /// Pool that buffers are borrowed from.
    pub shared: Option<BufferPool>,
    pub demand: Demand,
    /// Time of the last call of `progress`.
    pub now: Duration,
    pub arrived: VecDeque<Arrived>,
    pub streams: Vec<Stream>,
    /// For each node: messages with rows that it has not taken yet.
    pub owed: Vec<u64>,
    /// For each node: how often something was received from it: a message, a credit, an acknowledgement.
    pub signs: Vec<u64>,
    pub statistics: Statistics,
}

impl Core {
    pub fn context(&self) -> &Context {
        self.pd.context()
    }

    /// Numbers of the other nodes.
    pub fn peers(&self) -> impl Iterator<Item = usize> + use<> {
        let Member { node, nodes, .. } = self.member;
        (0..nodes).filter(move |peer| *peer != node)
    }

    /// Index of a peer in lists that leave out this node.
    pub fn rank(&self, peer: usize) -> usize {
        peer - usize::from(peer > self.member.node)
    }

    /// Records rows that were received.
    pub fn arrived(&mut self, arrived: Arrived) -> Result<(), Error> {
        let source = arrived.source;
        self.signs[source] += 1;
        self.streams[source].received += 1;
        self.statistics.received_bytes += arrived.len as u64;
        self.arrived.push_back(arrived);
        self.check(source)
    }

    /// Records the end of a stream, which has `count` messages.
    pub fn ended(&mut self, source: usize, count: u64) -> Result<(), Error> {
        self.signs[source] += 1;
        self.streams[source].sent = Some(count);
        self.check(source)
    }

    fn check(&self, node: usize) -> Result<(), Error> {
        let Stream { received, sent } = self.streams[node];
        match sent {
            Some(sent) if received > sent => Err(Error::TooMany { node, sent, received }),
            _ => Ok(()),
        }
    }

    /// Records that a buffer of the pool was sent to one of its destinations.
    pub fn sent(&mut self, node: usize, buffer: u32) -> Result<(), Error> {
        self.signs[node] += 1;
        match self.owed[node].checked_sub(1).filter(|_| self.pool.done(buffer)) {
            Some(owed) => {
                self.owed[node] = owed;
                Ok(())
            }
            None => Err(Error::Garbled { node, what: "a free buffer", value: buffer.into() }),
        }
    }

    /// Posts a request if there is room.
    pub fn post(
        &mut self,
        qp: &mut QueuePair<'static>,
        request: &WorkRequest<'_, 'static>,
    ) -> Result<Sent, Error> {
        let sent = or_later(qp.post_send(request))?;
        if sent == Sent::Yes {
            self.statistics.posts += 1;
        }
        Ok(sent)
    }

    /// Receive buffers that a peer can have, at most.
    pub fn most_receives(&self) -> u32 {
        let own = self.config.receive_buffers;
        self.shared.as_ref().map_or(own, |_| own.max(self.config.most_buffers))
    }

    /// Room for the completions of everything that may be under way.
    pub fn completions(config: &Config, nodes: usize, pool: Option<&BufferPool>) -> u32 {
        let (nodes, own) = (nodes as u32, config.receive_buffers);
        let (sends, receives) = match pool {
            None => (config.send_buffers, 4 * own * nodes),
            // Receives, and a credit for each.
            Some(pool) => {
                let most = (nodes - 1).saturating_mul(own.max(config.most_buffers) + MOST_CREDITS);
                (config.send_buffers.max(config.most_buffers), 2 * pool.buffers().min(most))
            }
        };
        ((sends + 16) * nodes + receives + 64).min(1 << 16)
    }

    /// Blocks of a queue pair's send queue.
    pub fn send_blocks(&self) -> u32 {
        (4 * (self.config.send_buffers + self.config.receive_buffers) + 64).min(1 << 16)
    }

    /// The attributes of a connection to an endpoint.
    pub fn attributes(&self, peer: &EndpointAddress) -> QueuePairAttributes {
        QueuePairAttributes::new()
            .path_mtu(self.config.mtu)
            .dest_mac(peer.mac)
            .dest_ip(peer.ip)
            .start_psn(0)
    }
}

/// Bytes of the rings of a queue with `blocks` blocks of 64 B.
pub(crate) fn ring_bytes(blocks: u32) -> u64 {
    u64::from(blocks.next_power_of_two()) * 64
}

/// Returns [`Sent::NotNow`] instead of an error if the queue is full.
pub(crate) fn or_later(posted: Result<(), PostError>) -> Result<Sent, Error> {
    match posted {
        Ok(()) => Ok(Sent::Yes),
        Err(PostError::QueueFull { .. } | PostError::CompletionQueueFull { .. }) => {
            Ok(Sent::NotNow)
        }
        Err(error) => Err(error.into()),
    }
}

/// A primitive: how data get from an endpoint to another.
pub(crate) trait Protocol: Send {
    /// Messages of a request of regions that a peer can take now.
    fn room(&self, core: &Core, to: usize) -> u64;

    /// Messages that a peer gets by one request of regions, at most.
    fn most(&self, core: &Core) -> u64;

    /// Operation of a request of regions; `more` says whether more rows wait behind it.
    fn region_operation(&self, more: bool) -> SharedOperation;

    /// The queue pair that sends regions to a peer.
    fn sender(&self, to: usize) -> &QueuePair<'static>;

    /// Remote address and key that a WRITE of regions to a peer goes to.
    fn remote(&self, core: &Core, to: usize) -> (u64, u32);

    /// Records that a request of regions sends `messages` messages to a peer.
    fn used(&mut self, core: &Core, to: usize, messages: u64);

    /// Fills in what the primitive contributes to the endpoint's address: queue pairs and memory.
    fn describe(&self, address: &mut EndpointAddress);

    /// Connects to the peers, whose addresses are in the order of their numbers.
    fn connect(&mut self, core: &mut Core, peers: &[EndpointAddress]) -> Result<(), Error>;

    /// Sends a message, or returns [`Sent::NotNow`].
    fn send(&mut self, core: &mut Core, to: usize, message: Message) -> Result<Sent, Error>;

    /// Handles a completion with success.
    fn completed(&mut self, core: &mut Core, completion: &WorkCompletion) -> Result<(), Error>;

    /// Looks at what peers wrote, and sends credits and entries that are due.
    fn look(&mut self, core: &mut Core) -> Result<(), Error>;

    /// Frees a receive buffer, whose rows are not needed any longer.
    fn release(
        &mut self,
        core: &mut Core,
        source: usize,
        slot: u32,
        remote: u32,
    ) -> Result<(), Error>;

    /// Records that the engine reads the rows in a receive buffer.
    fn is_read(&mut self, _slot: u32) {}

    /// Receive buffers that peers have at present.
    fn receive_buffers(&self, core: &Core) -> u32 {
        core.config.receive_buffers * (core.member.nodes as u32 - 1)
    }

    /// True if no credit, entry or end of a stream waits to be sent.
    fn is_idle(&self) -> bool;

    /// Number of the primitive's queue pairs.
    fn queue_pairs(&self) -> usize;

    /// Bytes of memory that are pinned for the primitive, the pool and the completion queue excepted.
    fn pinned(&self) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_after_it_was_bytes() {
        let memory = |addr, rkey| RemoteMemory { addr, rkey };
        let address = EndpointAddress {
            mac: MacAddress([1, 2, 3, 4, 5, 6]),
            ip: [10, 0, 0, 7].into(),
            qpns: vec![17, 0, 0x00ab_cdef],
            memory: [memory(1 << 40, 9), RemoteMemory::default(), memory(3, u32::MAX)],
        };
        let bytes = address.to_bytes();
        assert_eq!((EndpointAddress::from_bytes(&bytes), bytes.len()), (Ok(address), 58));
        for wrong in [0, 45, 57] {
            let error = EndpointAddress::from_bytes(&bytes[..wrong]).unwrap_err();
            let text = format!(
                "{wrong} B are no endpoint's address, which has 46 and 4 for each queue pair"
            );
            assert_eq!(error.to_string(), text);
        }
    }
}
