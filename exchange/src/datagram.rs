//! SQ/SR: SENDs on UD, with one queue pair for all peers.
//!
//! A message is a packet, and may be lost, doubled or overtaken. Immediate data number the messages of each sender,
//! so that doubled ones are dropped; the end of a stream says how many messages it has, and all of them have come when
//! so many have. Lost ones are noticed when they have not come for the endpoint's patience.
//!
//! Credits are datagrams as well. They take receives, for which there is room beside that for messages:
//! [`MOST_CREDITS`] for each peer. It sends no more before messages have come that only the earlier ones allowed.

use std::collections::{HashMap, HashSet, VecDeque};

use libdrdma::{
    AddressHandle, Features, Operation, QueuePair, SharedOperation, Transport, WorkCompletion,
    WorkRequest,
};

use crate::{
    Error,
    common::{Core, EndpointAddress, MOST_CREDITS, Message, Protocol, Sent, Work, ring_bytes},
    lender::Lender,
};

/// Bytes in front of a datagram, and where the sender's IPv4 address is in them.
pub(crate) const ROUTE: usize = 40;
const SOURCE_IP: usize = 32;
/// The key of all queue pairs of exchanges.
const QKEY: u32 = 0x0d4d_a0ec;
/// Kinds of datagrams: the two upper bits of immediate data. The next bit says that the sender could send more, had it
/// more credit; the others number them.
const DATA: u32 = 0;
const END: u32 = 1;
const CREDIT: u32 = 2;
/// Of regions: all messages of a request have the same immediate data, so they are not numbered.
const ROWS: u32 = 3;
const WANTS: u32 = 1 << 29;
const NUMBER: u32 = WANTS - 1;
/// Datagrams of a sender that came before an earlier one, at most: it is lost then.
const MOST_AHEAD: usize = 1024;

/// State of the stream to and from a peer.
#[derive(Clone, Debug, Default)]
struct Peer {
    address: Option<AddressHandle>,
    /// Messages that were sent to it, how many of them were numbered, and how many its credits allow in all.
    sent: u64,
    numbered: u64,
    credit: u64,
    /// A message has waited for credit since the last one was sent.
    waited: bool,
    /// Receives that were posted for it, how many it was told of, and how many its messages have taken.
    posted: u64,
    told: u64,
    taken: u64,
    /// For each credit that the peer has not confirmed: the number of receives that it was told of before.
    unconfirmed: VecDeque<u64>,
    /// All of the peer's messages with numbers below this one were received, and these above it.
    next: u64,
    ahead: HashSet<u64>,
}

#[derive(Debug)]
pub(crate) struct Datagram {
    qp: QueuePair<'static>,
    /// A request of regions to several peers names a queue pair for each.
    senders: Vec<Option<QueuePair<'static>>>,
    lender: Lender,
    peers: Vec<Peer>,
    /// Peers by the IPv4 address and queue pair number of a datagram's sender.
    sources: HashMap<(u32, u32), usize>,
    pinned: u64,
}

impl Datagram {
    /// Receives for credits of a peer.
    fn credit_receives(core: &Core) -> u32 {
        let credits = core.most_receives().div_ceil(core.config.credit_every) + 1;
        credits.min(MOST_CREDITS)
    }

    pub fn new(core: &Core) -> Result<Self, Error> {
        if !core.context().features().contains(Features::REQUESTS) {
            let reason = "the card has no addresses of requests";
            return Err(Error::Unsupported { design: core.config.primitive.name(), reason });
        }
        let nodes = core.member.nodes;
        let (peers, credits) = (nodes as u32 - 1, Self::credit_receives(core));
        let slots = peers * (core.most_receives() + credits);
        let slots = core.shared.as_ref().map_or(slots, |pool| slots.min(pool.buffers()));
        let blocks = (core.send_blocks() * nodes as u32).min(1 << 16);
        let receives = slots.clamp(1, 1 << 16);
        let qp = core
            .pd
            .queue_pair(&core.cq)
            .transport(Transport::Ud)
            .send_blocks(blocks)
            .receive(&core.cq)
            .receive_blocks(receives)
            .build()?;
        let bytes = core.config.message as usize + ROUTE;
        let mut senders: Vec<_> = (0..nodes).map(|_| None).collect();
        if core.config.regions {
            for peer in core.peers() {
                let builder = core.pd.queue_pair(&core.cq).transport(Transport::Ud);
                senders[peer] = Some(builder.send_blocks(1).build()?);
            }
        }
        let of_senders = senders.iter().flatten().count() as u64 * ring_bytes(1);
        Ok(Self {
            qp,
            senders,
            lender: Lender::new(core, bytes, credits)?,
            peers: vec![Peer::default(); nodes],
            sources: HashMap::new(),
            pinned: ring_bytes(blocks) + ring_bytes(receives) + of_senders,
        })
    }

    fn post(&mut self, slot: u32) -> Result<(), Error> {
        let Self { qp, lender, .. } = self;
        lender.slots().post(slot, 0, |request| qp.post_recv(request))?;
        lender.is_posted(slot);
        Ok(())
    }

    fn datagram(
        &mut self,
        core: &mut Core,
        to: usize,
        request: WorkRequest<'_, 'static>,
        (kind, flags): (u32, u32),
        number: u64,
    ) -> Result<Sent, Error> {
        let imm = kind << 30 | flags | number as u32 & NUMBER;
        let address = self.peers[to].address.expect("it is connected");
        core.post(&mut self.qp, &request.to(&address).operation(Operation::SendImm(imm)))
    }

    /// Sends credits to peers that have enough new receives.
    fn tell(&mut self, core: &mut Core) -> Result<(), Error> {
        for peer in core.peers() {
            let Peer { posted, told, taken, unconfirmed, .. } = &mut self.peers[peer];
            let (posted, told) = (*posted, *told);
            // A peer that takes more than an earlier credit allowed has got the one after it.
            while unconfirmed.front().is_some_and(|before| *taken > *before) {
                unconfirmed.pop_front();
            }
            let is_full = unconfirmed.len() == Self::credit_receives(core) as usize;
            if is_full || posted - told < self.lender.credit_every(core, peer) {
                continue;
            }
            let bytes = posted.to_le_bytes();
            let request = WorkRequest::new(Work::Control.name(peer, 0)).inline(&bytes);
            if self.datagram(core, peer, request, (CREDIT, 0), posted)? == Sent::Yes {
                core.statistics.control_messages += 1;
                self.peers[peer].told = posted;
                self.peers[peer].unconfirmed.push_back(told);
                self.lender.told(core, peer, told);
            }
        }
        Ok(())
    }

    /// The node that sent the datagram in a slot; `None` if it is unknown.
    fn source(&self, slot: u32, completion: &WorkCompletion) -> Option<usize> {
        let mut ip = [0; 4];
        let slots = self.lender.slots();
        slots.memory().read_at(slots.offset(slot) + SOURCE_IP, &mut ip);
        self.sources.get(&(u32::from_be_bytes(ip), completion.source_qp?)).copied()
    }

    /// True if the datagram was not received before.
    fn is_new(&mut self, core: &Core, node: usize, number: u32) -> Result<bool, Error> {
        let peer = &mut self.peers[node];
        // The full number is the one that is nearest to the next one that is expected.
        let distance = number.wrapping_sub(peer.next as u32) & NUMBER;
        if distance > NUMBER / 2 {
            return Ok(false);
        }
        if !peer.ahead.insert(peer.next + u64::from(distance)) {
            return Ok(false);
        }
        while peer.ahead.remove(&peer.next) {
            peer.next += 1;
        }
        if peer.ahead.len() > MOST_AHEAD {
            let received = core.streams[node].received;
            let sent = peer.next + peer.ahead.len() as u64 + 1;
            return Err(Error::Missing { node, sent, received });
        }
        Ok(true)
    }
}

impl Protocol for Datagram {
    fn room(&self, _core: &Core, to: usize) -> u64 {
        self.peers[to].credit - self.peers[to].sent
    }

    fn most(&self, core: &Core) -> u64 {
        // While a peer uses one half of its buffers, the other is filled.
        u64::from(core.config.receive_buffers / 2).max(1)
    }

    fn region_operation(&self, more: bool) -> SharedOperation {
        SharedOperation::SendImm(ROWS << 30 | if more { WANTS } else { 0 })
    }

    fn sender(&self, to: usize) -> &QueuePair<'static> {
        self.senders[to].as_ref().expect("a peer of an endpoint that sends regions")
    }

    fn remote(&self, _core: &Core, _to: usize) -> (u64, u32) {
        (0, 0)
    }

    fn used(&mut self, _core: &Core, to: usize, messages: u64) {
        self.peers[to].sent += messages;
    }

    fn describe(&self, address: &mut EndpointAddress) {
        let qpn = |qp: &Option<QueuePair<'static>>| qp.as_ref().map_or(0, QueuePair::qpn);
        address.qpns = vec![self.qp.qpn()];
        if self.senders.iter().any(Option::is_some) {
            address.qpns.extend(self.senders.iter().map(qpn));
        }
    }

    fn connect(&mut self, core: &mut Core, peers: &[EndpointAddress]) -> Result<(), Error> {
        for node in core.peers() {
            let (peer, found) = (&peers[node], peers[node].qpns.len());
            let expected = if core.config.regions { 1 + core.member.nodes } else { 1 };
            if found != expected {
                let what = "queue pairs";
                return Err(Error::Address { node, what, found, expected });
            }
            let qpn = peer.qpns[0];
            self.sources.insert((peer.ip.into(), qpn), node);
            if let Some(sender) = &mut self.senders[node] {
                sender.connect(&core.attributes(peer).dest_qpn(qpn).qkey(QKEY))?;
                let theirs = peer.qpns[1 + core.member.node];
                self.sources.insert((peer.ip.into(), theirs), node);
            }
            let of = &mut self.peers[node];
            of.address = Some(AddressHandle::new(peer.mac, peer.ip, qpn, QKEY));
            // Both ends know of the first receives, without a credit.
            let first = u64::from(core.config.receive_buffers);
            (of.credit, of.posted, of.told) = (first, first, first);
        }
        // The queue pair is connected to itself; every request names its destination.
        let own = &peers[core.member.node];
        self.qp.connect(&core.attributes(own).dest_qpn(own.qpns[0]).qkey(QKEY))?;
        while let Some(slot) = self.lender.next_first() {
            self.post(slot)?;
        }
        Ok(())
    }

    fn send(&mut self, core: &mut Core, to: usize, message: Message) -> Result<Sent, Error> {
        let Peer { sent, numbered: number, credit, waited, .. } = &mut self.peers[to];
        if *sent >= *credit {
            *waited = true;
            return Ok(Sent::NotNow);
        }
        let (number, wants) = (*number, if *waited { WANTS } else { 0 });
        let sent = match message {
            Message::Data { buffer, len } => {
                let regions = [core.pool.region(buffer, len as usize)?];
                let request = WorkRequest::new(Work::Data.name(to, buffer)).regions(&regions);
                self.datagram(core, to, request, (DATA, wants), number)?
            }
            Message::End { count } => {
                let bytes = count.to_le_bytes();
                let request = WorkRequest::new(Work::Control.name(to, 0)).inline(&bytes);
                self.datagram(core, to, request, (END, wants), number)?
            }
        };
        if sent == Sent::Yes {
            self.peers[to].sent += 1;
            self.peers[to].numbered += 1;
            self.peers[to].waited = false;
        }
        Ok(sent)
    }

    fn completed(&mut self, core: &mut Core, completion: &WorkCompletion) -> Result<(), Error> {
        let (work, _, slot) = Work::of(completion.wr_id);
        if work != Work::Receive {
            return Ok(());
        }
        let (source, imm) = (self.source(slot, completion), completion.imm);
        let bytes = (completion.bytes as usize).saturating_sub(ROUTE);
        // Datagrams of unknown senders are dropped.
        let (Some(node), Some(imm)) = (source, imm) else { return self.post(slot) };
        let (kind, number) = (imm >> 30, imm & NUMBER);
        if kind == CREDIT {
            let credit = self.lender.slots().number(slot, ROUTE);
            if credit > self.peers[node].credit {
                self.peers[node].credit = credit;
                core.signs[node] += 1;
            }
            return self.post(slot);
        }
        if kind != ROWS && !self.is_new(core, node, number)? {
            return self.post(slot);
        }
        self.peers[node].taken += 1;
        self.lender.came(core, node, imm & WANTS != 0);
        match kind {
            DATA | ROWS => core.arrived(self.lender.slots().rows(node, slot, ROUTE, bytes, 0)),
            _ => {
                core.ended(node, self.lender.slots().number(slot, ROUTE))?;
                self.release(core, node, slot, 0)
            }
        }
    }

    fn look(&mut self, core: &mut Core) -> Result<(), Error> {
        for (peer, slot) in self.lender.lend(core) {
            self.post(slot)?;
            self.peers[peer].posted += 1;
        }
        self.tell(core)
    }

    fn release(
        &mut self,
        core: &mut Core,
        source: usize,
        slot: u32,
        _remote: u32,
    ) -> Result<(), Error> {
        if let Some(peer) = self.lender.next_owner(core, source, slot) {
            self.post(slot)?;
            self.peers[peer].posted += 1;
        }
        self.tell(core)
    }

    fn is_read(&mut self, slot: u32) {
        self.lender.is_read(slot);
    }

    fn receive_buffers(&self, core: &Core) -> u32 {
        self.lender.held(core)
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn queue_pairs(&self) -> usize {
        1 + self.senders.iter().flatten().count()
    }

    fn pinned(&self) -> u64 {
        self.lender.pinned() + self.pinned
    }
}
