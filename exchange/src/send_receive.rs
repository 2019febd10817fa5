//! MQ/SR: SENDs on RC.
//!
//! A receiver posts its receives, and informs each sender how many it has posted so far: an absolute number, which it
//! WRITEs into the sender's memory after every `credit_every` receives. A sender has never sent more than that.
//! Immediate data say what a message is, and whether its sender had to wait for credit before it.

use std::sync::Arc;

use libdrdma::{
    Access, MemoryRegion, Operation, QueuePair, SharedOperation, WorkCompletion, WorkRequest,
};

use crate::{
    Error,
    common::{Core, EndpointAddress, Message, Protocol, RemoteMemory, Sent, Work},
    connections::Connections,
    lender::Lender,
};

/// Kinds of messages, in their immediate data: rows, and the end of a stream.
const DATA: u32 = 0;
const END: u32 = 1;
/// Bit of immediate data: the sender could send more, if it had more credit.
const WANTS: u32 = 2;

/// Bytes of a credit.
const CREDIT: usize = 8;

/// State of the stream to and from a peer.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    /// Messages that were sent to the peer.
    sent: u64,
    /// Receives that were posted for the peer, and how many it was told of.
    posted: u64,
    told: u64,
    /// A message to the peer has waited for credit since the last one was sent.
    waited: bool,
    remote: RemoteMemory,
}

#[derive(Debug)]
pub(crate) struct SendReceive {
    connections: Connections,
    lender: Lender,
    /// For each peer, the number of receives that it has posted for this endpoint, 8 B each. 0 until the first credit.
    credits: Arc<MemoryRegion>,
    peers: Vec<Peer>,
}

impl SendReceive {
    pub fn new(core: &Core) -> Result<Self, Error> {
        let config = &core.config;
        let nodes = core.member.nodes;
        Ok(Self {
            connections: Connections::new(core, Access::REMOTE_WRITE, core.most_receives())?,
            lender: Lender::new(core, config.message as usize, 0)?,
            credits: Arc::new(core.pd.allocate_with(nodes * CREDIT, Access::REMOTE_WRITE)?),
            peers: vec![Peer::default(); nodes],
        })
    }

    /// Messages that may be sent to a peer now.
    pub fn credit(&self, core: &Core, to: usize) -> u64 {
        let mut bytes = [0; CREDIT];
        self.credits.read_at(to * CREDIT, &mut bytes);
        let posted = u64::from_le_bytes(bytes).max(core.config.receive_buffers.into());
        posted - self.peers[to].sent
    }

    fn post(&mut self, peer: usize, slot: u32) -> Result<(), Error> {
        let Self { connections, lender, peers, .. } = self;
        lender.slots().post(slot, peer, |request| connections.qp(peer).post_recv(request))?;
        lender.is_posted(slot);
        peers[peer].posted += 1;
        Ok(())
    }

    /// Sends credits to peers that have enough new receives.
    fn tell(&mut self, core: &mut Core) -> Result<(), Error> {
        for peer in core.peers() {
            let Peer { posted, told, remote, .. } = self.peers[peer];
            if posted - told < self.lender.credit_every(core, peer) {
                continue;
            }
            let remote_addr = remote.addr + (core.member.node * CREDIT) as u64;
            let write = Operation::Write { remote_addr, rkey: remote.rkey };
            let bytes = posted.to_le_bytes();
            let request = WorkRequest::new(Work::Control.name(peer, 0)).operation(write);
            if self.connections.post(core, peer, &request.inline(&bytes))? == Sent::Yes {
                core.statistics.control_messages += 1;
                self.peers[peer].told = posted;
                self.lender.told(core, peer, told);
            }
        }
        Ok(())
    }
}

impl Protocol for SendReceive {
    fn room(&self, core: &Core, to: usize) -> u64 {
        self.credit(core, to)
    }

    fn most(&self, core: &Core) -> u64 {
        // While a peer uses one half of its buffers, the other is filled.
        u64::from(core.config.receive_buffers / 2).max(1)
    }

    fn region_operation(&self, more: bool) -> SharedOperation {
        SharedOperation::SendImm(if more { DATA | WANTS } else { DATA })
    }

    fn sender(&self, to: usize) -> &QueuePair<'static> {
        self.connections.sender(to)
    }

    fn remote(&self, _core: &Core, _to: usize) -> (u64, u32) {
        (0, 0)
    }

    fn used(&mut self, _core: &Core, to: usize, messages: u64) {
        self.peers[to].sent += messages;
    }

    fn describe(&self, address: &mut EndpointAddress) {
        address.qpns = self.connections.qpns();
        address.memory[0] = RemoteMemory::of(&self.credits);
    }

    fn connect(&mut self, core: &mut Core, peers: &[EndpointAddress]) -> Result<(), Error> {
        self.connections.connect(core, peers)?;
        let buffers = core.config.receive_buffers;
        for peer in core.peers() {
            self.peers[peer].remote = peers[peer].memory[0];
            for _ in 0..buffers {
                let slot = self.lender.next_first().expect("there are so many for each peer");
                self.post(peer, slot)?;
            }
            // Both ends know of the first receives, without a credit.
            self.peers[peer].told = buffers.into();
        }
        Ok(())
    }

    fn send(&mut self, core: &mut Core, to: usize, message: Message) -> Result<Sent, Error> {
        if self.credit(core, to) == 0 {
            self.peers[to].waited = true;
            return Ok(Sent::NotNow);
        }
        let wants = if self.peers[to].waited { WANTS } else { 0 };
        let sent = match message {
            Message::Data { buffer, len } => {
                let regions = [core.pool.region(buffer, len as usize)?];
                let request = WorkRequest::new(Work::Data.name(to, buffer))
                    .operation(Operation::SendImm(DATA | wants))
                    .regions(&regions);
                self.connections.post(core, to, &request)?
            }
            Message::End { count } => {
                let bytes = count.to_le_bytes();
                let request = WorkRequest::new(Work::Control.name(to, 0))
                    .operation(Operation::SendImm(END | wants))
                    .inline(&bytes);
                self.connections.post(core, to, &request)?
            }
        };
        if sent == Sent::Yes {
            self.peers[to].sent += 1;
            self.peers[to].waited = false;
        }
        Ok(sent)
    }

    fn completed(&mut self, core: &mut Core, completion: &WorkCompletion) -> Result<(), Error> {
        let (work, peer, slot) = Work::of(completion.wr_id);
        if work != Work::Receive {
            return Ok(());
        }
        let waited = completion.imm.is_some_and(|imm| imm & WANTS != 0);
        self.lender.came(core, peer, waited);
        match completion.imm.map(|imm| imm & !WANTS) {
            Some(DATA) => {
                let len = completion.bytes as usize;
                core.arrived(self.lender.slots().rows(peer, slot, 0, len, 0))
            }
            Some(END) => {
                core.ended(peer, self.lender.slots().number(slot, 0))?;
                self.release(core, peer, slot, 0)
            }
            _ => {
                let value = completion.imm.unwrap_or(u32::MAX).into();
                Err(Error::Garbled { node: peer, what: "immediate data", value })
            }
        }
    }

    fn look(&mut self, core: &mut Core) -> Result<(), Error> {
        for (peer, slot) in self.lender.lend(core) {
            self.post(peer, slot)?;
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
            self.post(peer, slot)?;
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
        self.connections.count()
    }

    fn pinned(&self) -> u64 {
        self.connections.pinned() + self.lender.pinned() + self.credits.len() as u64
    }
}
