//! Endpoints: what the threads of an engine put rows into and get rows from.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use libdrdma::{Access, Context, ProtectionDomain, Status};

use crate::{
    BufferPool, Config, Error, Groups, Notice, Primitive,
    common::{
        Arrived, Core, EndpointAddress, Member, Message, Place, Protocol, RemoteMemory, Sent,
        Statistics, Stream, Work,
    },
    config::MAX_NODES,
    datagram::Datagram,
    lender::Demand,
    pool::{Buffer, Pool},
    read::Read,
    rows::{Rows, Sender},
    send_receive::SendReceive,
    write::Write,
};

/// Bytes of a completion.
const COMPLETION: u64 = 64;

/// An endpoint whose peers are not known yet.
///
/// The engine opens one at each node, gives the [`address`](Self::address) of each to all the others by whatever way it
/// has, and then [connects](Self::connect) them. No node puts anything before all of them have connected.
pub struct Opening {
    // Dropped first: its queue pairs use the core's buffers.
    protocol: Box<dyn Protocol>,
    core: Core,
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("member", &self.core.member).finish_non_exhaustive()
    }
}

impl Opening {
    /// Registers the memory and makes the queues of an endpoint.
    ///
    /// # Errors
    /// A value outside its limits, a design that the card cannot do, or too few of the card's resources.
    pub fn new(context: &Context, member: Member, config: Config) -> Result<Self, Error> {
        Self::open(&context.protection_domain(), member, config, None)
    }

    /// Like [`new`](Self::new), but with buffers of a pool: its own, and more that it borrows while it needs them. Only
    /// where messages are SENDs ([`Primitive::SendReceive`] and [`Primitive::Datagram`]).
    ///
    /// # Errors
    /// Those of [`new`](Self::new), another primitive, messages of another length than the pool's, or the pool has too
    /// few free buffers for the endpoint's own.
    pub fn with_pool(pool: &BufferPool, member: Member, config: Config) -> Result<Self, Error> {
        if !matches!(config.primitive, Primitive::SendReceive | Primitive::Datagram) {
            let reason = "its buffers have fixed peers, and cannot be a pool's";
            return Err(Error::Unsupported { design: config.primitive.name(), reason });
        }
        if config.message != pool.message() {
            let (message, pool) = (config.message, pool.message());
            return Err(Error::PoolMessage { message, pool });
        }
        Self::open(pool.protection_domain(), member, config, Some(pool))
    }

    fn open(
        pd: &ProtectionDomain,
        member: Member,
        config: Config,
        shared: Option<&BufferPool>,
    ) -> Result<Self, Error> {
        config.check()?;
        let context = pd.context();
        let Member { node, nodes, .. } = member;
        if node >= nodes || nodes > MAX_NODES {
            return Err(Error::Node { node, nodes, limit: MAX_NODES });
        }
        let design = config.primitive.name();
        if !context.receives() {
            return Err(Error::Unsupported { design, reason: "the card does not receive" });
        }
        let reads = config.primitive == Primitive::Read;
        if reads && !context.features().contains(libdrdma::Features::READS) {
            let reason = "the card neither answers nor sends READs";
            return Err(Error::Unsupported { design, reason });
        }
        let one_each =
            matches!(config.primitive, Primitive::Write(Notice::PollBuffer | Notice::PollQueue));
        if config.regions && (reads || one_each) {
            let reason = "rows are not sent from where they lie on it";
            return Err(Error::Unsupported { design, reason });
        }
        let completions = Core::completions(&config, nodes, shared);
        let cq = context.completion_queue().entries(completions).build()?;
        let access = if reads { Access::REMOTE_READ } else { Access::empty() };
        let (buffers, most) = (config.send_buffers, config.send_buffers.max(config.most_buffers));
        let core = Core {
            pool: match shared {
                Some(pool) => Pool::of(pool, buffers, most)?,
                None => Pool::new(pd, buffers, config.message, access)?,
            },
            shared: shared.cloned(),
            demand: Demand::default(),
            now: Duration::ZERO,
            member,
            config,
            pd: pd.clone(),
            cq,
            arrived: VecDeque::new(),
            streams: vec![Stream::default(); nodes],
            owed: vec![0; nodes],
            signs: vec![0; nodes],
            statistics: Statistics::default(),
        };
        let protocol: Box<dyn Protocol> = match config.primitive {
            Primitive::SendReceive => Box::new(SendReceive::new(&core)?),
            Primitive::Datagram => Box::new(Datagram::new(&core)?),
            Primitive::Read => Box::new(Read::new(&core)?),
            Primitive::Write(notice) => Box::new(Write::new(&core, notice)?),
        };
        Ok(Self { core, protocol })
    }

    /// What peers must know of this endpoint.
    pub fn address(&self) -> EndpointAddress {
        let Member { mac, ip, .. } = self.core.member;
        let pool = RemoteMemory::of(self.core.pool.memory());
        let memory = [RemoteMemory::default(), pool, RemoteMemory::default()];
        let mut address = EndpointAddress { mac, ip, qpns: Vec::new(), memory };
        self.protocol.describe(&mut address);
        address
    }

    /// Connects the endpoint. The addresses are one a node, its own included, in the order of the nodes.
    ///
    /// # Errors
    /// Too few or too many addresses, those of another design, or the card failed.
    pub fn connect(self, addresses: &[EndpointAddress]) -> Result<Endpoint, Error> {
        let Self { mut protocol, mut core } = self;
        let Member { node, nodes, .. } = core.member;
        if addresses.len() != nodes {
            let (found, expected) = (addresses.len(), nodes);
            return Err(Error::Address { node, what: "nodes", found, expected });
        }
        protocol.connect(&mut core, addresses)?;
        let sender = core.config.regions.then(|| Sender::new(&core)).transpose()?;
        let waits = vec![Wait::default(); nodes];
        let (to_send, counts) = (vec![VecDeque::new(); nodes], vec![0; nodes]);
        let failed = None;
        Ok(Endpoint {
            protocol,
            sender,
            core,
            to_send,
            counts,
            finished: false,
            unreleased: 0,
            waits,
            failed,
        })
    }
}

/// Time since which a peer has done nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    signs: u64,
    since: Option<Duration>,
}

/// Rows that came from a node. They are read where they lie, and released then.
#[derive(Debug)]
#[must_use = "rows that are not released keep their buffer"]
pub struct Delivery {
    arrived: Arrived,
}

impl Delivery {
    /// The node that the rows came from.
    pub fn source(&self) -> usize {
        self.arrived.source
    }

    /// Bytes of the rows, at least 1.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.arrived.len
    }

    /// Copies bytes out, from `offset` on.
    ///
    /// # Panics
    /// If there are fewer bytes behind `offset`.
    pub fn read_at(&self, offset: usize, bytes: &mut [u8]) {
        let Arrived { len, .. } = self.arrived;
        let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= len);
        assert!(fits, "bytes {offset}..+{} are outside a message of {len} B", bytes.len());
        self.arrived.memory.read_at(self.arrived.offset + offset, bytes);
    }

    /// Appends all of the rows' bytes.
    pub fn append_to(&self, batch: &mut Vec<u8>) {
        let first = batch.len();
        batch.resize(first + self.len(), 0);
        self.read_at(0, &mut batch[first..]);
    }
}

/// An endpoint: buffers to fill and send, and rows that come.
///
/// Nothing here waits. [`acquire`](Self::acquire) and [`get`](Self::get) say that there is nothing now;
/// [`put`](Self::put) takes a buffer even if its destination cannot take it yet: what waits is bounded by the
/// buffers that there are. [`progress`](Self::progress) does what can be done; call it in turns with everything else.
pub struct Endpoint {
    // Dropped first: their queues use the core's buffers.
    protocol: Box<dyn Protocol>,
    /// Sender of regions, if the endpoint sends any.
    sender: Option<Sender>,
    core: Core,
    /// Messages to each node that wait to be sent.
    to_send: Vec<VecDeque<Message>>,
    /// Number of messages of the stream to each node.
    counts: Vec<u64>,
    finished: bool,
    /// Number of deliveries that were got and not released.
    unreleased: usize,
    waits: Vec<Wait>,
    failed: Option<String>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("member", &self.core.member).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// The number of the endpoint's node.
    pub fn node(&self) -> usize {
        self.core.member.node
    }

    /// Number of nodes of the exchange.
    pub fn nodes(&self) -> usize {
        self.core.member.nodes
    }

    /// The configuration that the endpoint was made with.
    pub fn config(&self) -> &Config {
        &self.core.config
    }

    /// The domain in which rows must be registered to be put from where they lie.
    pub fn protection_domain(&self) -> &ProtectionDomain {
        &self.core.pd
    }

    /// What the endpoint has done so far, in numbers.
    pub fn statistics(&self) -> Statistics {
        self.core.statistics
    }

    /// Bytes of memory that it has pinned: buffers, and the rings of its queues. They are all that it ever pins.
    /// Buffers of a pool are not among them: [`BufferPool::pinned_bytes`] counts theirs.
    pub fn pinned_bytes(&self) -> u64 {
        let completions = u64::from(self.core.cq.capacity()) * COMPLETION;
        let sender = self.sender.as_ref().map_or(0, Sender::pinned);
        sender + self.protocol.pinned() + self.core.pool.pinned() + completions
    }

    /// Number of the endpoint's queue pairs.
    pub fn queue_pairs(&self) -> usize {
        self.protocol.queue_pairs()
    }

    /// Buffers that the endpoint has at present to send from, borrowed ones included.
    pub fn send_buffers(&self) -> u32 {
        self.core.pool.held()
    }

    /// Buffers that all peers together have at present to send to this endpoint, borrowed ones included.
    pub fn receive_buffers(&self) -> u32 {
        self.protocol.receive_buffers(&self.core)
    }

    /// A buffer to fill. `None`: all are filled, or under way.
    pub fn acquire(&mut self) -> Option<Buffer> {
        if !self.core.pool.has_free() {
            // As long as its own buffers wait for credit, one more would only wait as well.
            let waiting: usize = self.to_send.iter().map(VecDeque::len).sum();
            if waiting < self.core.config.send_buffers as usize {
                self.core.pool.borrow();
            }
        }
        self.core.pool.take()
    }

    /// Sends a buffer to these nodes, its own among them if it is named. An empty one is only given back.
    ///
    /// # Errors
    /// A node that there is not, one that is named twice, the end was told already: the buffer is given back then. Or
    /// the endpoint failed.
    pub fn put(&mut self, buffer: Buffer, to: &[usize]) -> Result<(), Error> {
        let (index, len) = (buffer.index, buffer.len());
        if len == 0 {
            self.core.pool.need(index, 0);
            return Ok(());
        }
        if let Err(error) = self.check_alive().and_then(|()| self.check_destinations(to)) {
            self.core.pool.need(index, 0);
            return Err(error);
        }
        self.core.pool.need(index, to.len() as u32);
        for node in to.iter().copied() {
            self.counts[node] += 1;
            self.core.owed[node] += 1;
            if node == self.node() {
                self.core.statistics.local_bytes += len as u64;
                let memory = self.core.pool.memory().clone();
                let offset = self.core.pool.offset(index);
                let place = Place::Local(index);
                self.core.arrived(Arrived { source: node, memory, offset, len, place })?;
            } else {
                self.core.statistics.data_messages += 1;
                self.core.statistics.bytes += len as u64;
                self.to_send[node].push_back(Message::Data { buffer: index, len: len as u32 });
            }
        }
        let sent = self.send_waiting();
        self.note(sent)
    }

    /// Sends rows from where they lie to the nodes of their groups. Those for its own node stay there: the engine has
    /// them. False: the last batch has not gone yet; let the endpoint make progress and try again. The memory of
    /// the rows is in use until [`is_batch_sent`](Self::is_batch_sent).
    ///
    /// # Errors
    /// A group that there is not, a row that is longer than a message, a column outside of its memory, the end was told
    /// already: nothing is sent then. Or the endpoint was made without [`Config::regions`], or failed.
    pub fn put_rows(&mut self, rows: &Rows, groups: &Groups) -> Result<bool, Error> {
        let Some(sender) = &mut self.sender else {
            let (design, reason) =
                (self.core.config.primitive.name(), "it was made without regions");
            return Err(Error::Unsupported { design, reason });
        };
        let node = self.core.member.node;
        if self.finished {
            return Err(Error::Finished { node });
        }
        if let Some(reason) = &self.failed {
            return Err(Error::Failed(reason.clone()));
        }
        if !sender.has_room() {
            return Ok(false);
        }
        let most = self.protocol.most(&self.core);
        let messages = sender.add(&self.core, rows, groups, most)?;
        for (node, messages) in messages.into_iter().enumerate() {
            self.counts[node] += messages;
            self.core.owed[node] += messages;
            self.core.statistics.data_messages += messages;
        }
        let sent = self.send_waiting();
        self.note(sent).map(|()| true)
    }

    /// True if [`put_rows`](Self::put_rows) takes a batch now.
    pub fn takes_rows(&self) -> bool {
        self.sender.as_ref().is_some_and(Sender::has_room)
    }

    /// True if the memory of all rows is free again that were put from where they lie.
    pub fn is_batch_sent(&self) -> bool {
        self.sender.as_ref().is_none_or(Sender::is_idle)
    }

    fn check_destinations(&self, to: &[usize]) -> Result<(), Error> {
        let nodes = self.nodes();
        let mut named = HashSet::new();
        for node in to.iter().copied() {
            if node >= nodes {
                return Err(Error::Node { node, nodes, limit: MAX_NODES });
            }
            if self.finished {
                return Err(Error::Finished { node });
            }
            if !named.insert(node) {
                return Err(Error::NodeTwice { node });
            }
        }
        Ok(())
    }

    /// Tells all nodes the end of this endpoint's streams to them: nothing is put any more. Where several threads
    /// share an endpoint, the last of them does this.
    ///
    /// # Errors
    /// The endpoint failed.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.check_alive()?;
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        let own = self.node();
        for peer in self.core.peers() {
            self.core.statistics.control_messages += 1;
            self.to_send[peer].push_back(Message::End { count: self.counts[peer] });
        }
        let ended = self.core.ended(own, self.counts[own]).and_then(|()| self.send_waiting());
        self.note(ended)
    }

    /// The next rows that came, in the order of each source, but on [`Primitive::Datagram`] and
    /// [`Notice::PollBuffer`](crate::Notice::PollBuffer). `None`: there are none now.
    pub fn get(&mut self) -> Option<Delivery> {
        let Some(arrived) = self.core.arrived.pop_front() else {
            self.core.demand.found_nothing();
            return None;
        };
        self.core.demand.got(self.core.arrived.len());
        match arrived.place {
            Place::Local(buffer) => self.core.pool.is_read(buffer, true),
            Place::Slot { slot, .. } => self.protocol.is_read(slot),
        }
        self.unreleased += 1;
        Some(Delivery { arrived })
    }

    /// Gives the buffer of rows back.
    ///
    /// # Errors
    /// The endpoint failed.
    pub fn release(&mut self, delivery: Delivery) -> Result<(), Error> {
        self.unreleased -= 1;
        let Arrived { source, place, .. } = delivery.arrived;
        let released = match place {
            Place::Local(buffer) => {
                self.core.pool.is_read(buffer, false);
                self.core.sent(source, buffer)
            }
            Place::Slot { slot, remote } => {
                self.protocol.release(&mut self.core, source, slot, remote)
            }
        };
        self.note(released)
    }

    /// True if all that was put has gone, the end included, and was taken by its destinations' cards.
    pub fn is_sent(&self) -> bool {
        let waits = self.to_send.iter().any(|queue| !queue.is_empty());
        let core = &self.core;
        let idle = core.pool.is_idle() && self.protocol.is_idle() && self.is_batch_sent();
        self.finished && !waits && idle
    }

    /// True if the streams of all nodes, its own included, are over, and all of their rows were got.
    pub fn is_received(&self) -> bool {
        self.core.arrived.is_empty() && self.core.streams.iter().all(Stream::is_over)
    }

    /// True if nothing is to come or to go any more. An engine closes (drops) its endpoints when those of all nodes say
    /// so: until then a peer may still wait for an acknowledgement.
    pub fn is_done(&self) -> bool {
        self.is_sent() && self.is_received() && self.unreleased == 0
    }

    /// Begins the next streams, over the same connections. The endpoint and all of its peers must be done with the
    /// last ones, and no node may put anything before all have done this.
    ///
    /// # Errors
    /// The endpoint is not done, or failed.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.check_alive()?;
        if !self.is_done() {
            return Err(Error::Busy { node: self.node() });
        }
        self.finished = false;
        self.core.streams.fill(Stream::default());
        self.counts.fill(0);
        self.waits.fill(Wait::default());
        Ok(())
    }

    /// Does what can be done now: takes what has completed and what peers wrote, and sends what waits. `now` is any
    /// clock that goes on, such as the time since the start; patience is counted by it.
    ///
    /// # Errors
    /// See [`Error`]. The endpoint has failed then, and so has the query.
    pub fn progress(&mut self, now: Duration) -> Result<(), Error> {
        self.check_alive()?;
        let worked = self.work(now);
        self.note(worked)
    }

    fn check_alive(&self) -> Result<(), Error> {
        match &self.failed {
            Some(reason) => Err(Error::Failed(reason.clone())),
            None => Ok(()),
        }
    }

    fn note(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = &result {
            self.failed.get_or_insert_with(|| error.to_string());
        }
        result
    }

    fn work(&mut self, now: Duration) -> Result<(), Error> {
        self.core.now = now;
        self.core.cq.progress()?;
        let cq = self.core.cq.clone();
        for completion in cq.poll() {
            let (work, node, index) = Work::of(completion.wr_id);
            if completion.status != Status::Success {
                let destination = completion.destination.into();
                let named = self.sender.as_ref().filter(|_| work == Work::Regions);
                let node = named.and_then(|s| s.node(index, destination)).unwrap_or(node);
                return Err(Error::Lost { node, status: completion.status });
            }
            if work == Work::Data && self.core.config.primitive != Primitive::Read {
                self.core.sent(node, index)?;
            }
            if let Some(sender) = self.sender.as_mut().filter(|_| work == Work::Regions) {
                self.core.statistics.bytes += completion.bytes;
                sender.completed(&mut self.core, index);
                continue;
            }
            self.protocol.completed(&mut self.core, &completion)?;
        }
        self.protocol.look(&mut self.core)?;
        self.send_waiting()?;
        match self.core.config.patience {
            Some(patience) => self.check_patience(now, patience),
            None => Ok(()),
        }
    }

    fn send_waiting(&mut self) -> Result<(), Error> {
        if let Some(sender) = &mut self.sender {
            sender.post(&mut self.core, &mut *self.protocol)?;
        }
        for peer in self.core.peers() {
            while let Some(message) = self.to_send[peer].front().copied() {
                match self.protocol.send(&mut self.core, peer, message)? {
                    Sent::Yes => self.to_send[peer].pop_front(),
                    Sent::NotNow => break,
                };
            }
        }
        Ok(())
    }

    /// Fails if a peer that owes something has given no sign for too long. Of several, one that takes nothing is named
    /// before one that sends nothing, which may be waiting for the former itself.
    fn check_patience(&mut self, now: Duration, patience: Duration) -> Result<(), Error> {
        let mut first = None;
        for node in self.core.peers() {
            let Some((waited, waiting)) = self.waits(node, now) else { continue };
            if waited < patience {
                continue;
            }
            let Stream { received, sent } = self.core.streams[node];
            match sent {
                Some(sent) if sent != received => {
                    return Err(Error::Missing { node, sent, received });
                }
                _ if waiting > 0 => return Err(Error::Stalled { node, waited, waiting }),
                _ => first = first.or(Some(Error::Silent { node, waited, received })),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// How long a peer has given no sign, and how many messages wait for it. `None`: it owes nothing, or gave one.
    fn waits(&mut self, node: usize, now: Duration) -> Option<(Duration, usize)> {
        let is_end = |message: &&Message| matches!(message, Message::End { .. });
        let ends = self.to_send[node].iter().filter(is_end).count();
        let waiting = self.core.owed[node] as usize + ends;
        // While rows wait to be taken here, the peer may be waiting for their buffers.
        let takes = self.unreleased == 0 && self.core.arrived.is_empty();
        let owes_rows = takes && !self.core.streams[node].is_over();
        let (wait, signs) = (&mut self.waits[node], self.core.signs[node]);
        if std::mem::replace(&mut wait.signs, signs) != signs || (waiting == 0 && !owes_rows) {
            wait.since = None;
            return None;
        }
        Some((now.saturating_sub(*wait.since.get_or_insert(now)), waiting))
    }
}
