//! MQ/RD: the receiver READs the sender's buffers.
//!
//! The sender WRITEs an entry with a buffer's number into the receiver's queue (ValidArr). The receiver READs the
//! buffer, and when its rows were used it WRITEs the number into the sender's queue (FreeArr). A buffer is free again
//! when all of its receivers have said so.

use std::collections::VecDeque;

use libdrdma::{Access, QueuePair, SharedOperation, WorkCompletion, WorkRequest};

use crate::{
    Error,
    common::{Core, EndpointAddress, Message, Protocol, RemoteMemory, Sent, Work},
    connections::{Connections, READS},
    pool::Pool,
    rings::{Entry, Kind, Queue, Rings},
    slots::Slots,
};

/// A peer's buffer that is to be READ.
#[derive(Clone, Copy, Debug)]
struct Offer {
    buffer: u32,
    len: u32,
}

/// State of a peer: its memory, its buffers that are to be READ, and the slots that are free.
#[derive(Clone, Debug, Default)]
struct Peer {
    pool: RemoteMemory,
    offers: VecDeque<Offer>,
    free: Vec<u32>,
    /// READs that are under way.
    reads: u32,
}

#[derive(Debug)]
pub(crate) struct Read {
    connections: Connections,
    slots: Slots,
    rings: Rings,
    peers: Vec<Peer>,
    /// For each slot: the peer's buffer that was READ into it.
    sources: Vec<Offer>,
}

impl Read {
    pub fn new(core: &Core) -> Result<Self, Error> {
        let config = &core.config;
        let slots = (core.member.nodes - 1) * config.receive_buffers as usize;
        let access = Access::REMOTE_WRITE | Access::REMOTE_READ;
        let mut peers = vec![Peer::default(); core.member.nodes];
        for peer in core.peers() {
            let first = core.rank(peer) as u32 * config.receive_buffers;
            peers[peer].free = (first..first + config.receive_buffers).rev().collect();
        }
        Ok(Self {
            connections: Connections::new(core, access, 0)?,
            slots: Slots::new(core, slots, config.message as usize, Access::empty())?,
            // An entry for every buffer of a peer, and one for the end of its stream.
            rings: Rings::new(core, config.send_buffers + 1)?,
            peers,
            sources: vec![Offer { buffer: 0, len: 0 }; slots],
        })
    }

    /// READs the buffers that a peer offers, as far as slots are free.
    fn read(&mut self, core: &mut Core, from: usize) -> Result<(), Error> {
        loop {
            let peer = &mut self.peers[from];
            let (Some(offer), Some(slot)) =
                (peer.offers.front().copied(), peer.free.last().copied())
            else {
                return Ok(());
            };
            if peer.reads == u32::from(READS) {
                return Ok(());
            }
            let first = Pool::place(core.config.message, offer.buffer) as u64;
            let RemoteMemory { addr, rkey } = peer.pool;
            let regions = [self.slots.region(slot, offer.len as usize)?];
            let name = Work::Read.name(from, slot);
            let request = WorkRequest::new(name).read(addr + first, rkey).regions(&regions);
            if self.connections.post(core, from, &request)? == Sent::NotNow {
                return Ok(());
            }
            core.statistics.control_messages += 1;
            self.sources[slot as usize] = offer;
            let peer = &mut self.peers[from];
            peer.reads += 1;
            peer.offers.pop_front();
            peer.free.pop();
        }
    }
}

impl Protocol for Read {
    // No key of this library describes rows with gaps.
    fn room(&self, _core: &Core, _to: usize) -> u64 {
        0
    }

    fn most(&self, _core: &Core) -> u64 {
        1
    }

    fn region_operation(&self, _more: bool) -> SharedOperation {
        SharedOperation::Send
    }

    fn sender(&self, to: usize) -> &QueuePair<'static> {
        self.connections.sender(to)
    }

    fn remote(&self, _core: &Core, _to: usize) -> (u64, u32) {
        (0, 0)
    }

    fn used(&mut self, _core: &Core, _to: usize, _messages: u64) {}

    fn describe(&self, address: &mut EndpointAddress) {
        address.qpns = self.connections.qpns();
        address.memory[0] = RemoteMemory::of(self.rings.memory());
    }

    fn connect(&mut self, core: &mut Core, peers: &[EndpointAddress]) -> Result<(), Error> {
        self.connections.connect(core, peers)?;
        for peer in core.peers() {
            self.rings.connect(peer, peers[peer].memory[0]);
            self.peers[peer].pool = peers[peer].memory[1];
        }
        Ok(())
    }

    fn send(&mut self, core: &mut Core, to: usize, message: Message) -> Result<Sent, Error> {
        let entry = match message {
            Message::Data { buffer, len } => {
                Entry { kind: Kind::Buffer, index: buffer, number: len.into() }
            }
            Message::End { count } => Entry { kind: Kind::End, index: 0, number: count },
        };
        self.rings.tell(to, Queue::Valid, entry);
        self.rings.flush(core, &mut self.connections)?;
        Ok(Sent::Yes)
    }

    fn completed(&mut self, core: &mut Core, completion: &WorkCompletion) -> Result<(), Error> {
        let (work, peer, slot) = Work::of(completion.wr_id);
        if work != Work::Read {
            return Ok(());
        }
        self.peers[peer].reads -= 1;
        let Offer { buffer, len } = self.sources[slot as usize];
        core.arrived(self.slots.rows(peer, slot, 0, len as usize, buffer))
    }

    fn look(&mut self, core: &mut Core) -> Result<(), Error> {
        for peer in core.peers() {
            while let Some(entry) = self.rings.poll(peer, Queue::Valid)? {
                match entry.kind {
                    Kind::End => core.ended(peer, entry.number)?,
                    Kind::Buffer => {
                        let (number, most) = (entry.number, u64::from(core.config.message));
                        if number == 0 || number > most || entry.index >= core.config.send_buffers {
                            let what = "the length of a buffer";
                            return Err(Error::Garbled { node: peer, what, value: number });
                        }
                        let offer = Offer { buffer: entry.index, len: number as u32 };
                        self.peers[peer].offers.push_back(offer);
                    }
                }
            }
            while let Some(entry) = self.rings.poll(peer, Queue::Free)? {
                core.sent(peer, entry.index)?;
            }
            self.read(core, peer)?;
        }
        self.rings.flush(core, &mut self.connections)
    }

    fn release(
        &mut self,
        core: &mut Core,
        source: usize,
        slot: u32,
        remote: u32,
    ) -> Result<(), Error> {
        self.peers[source].free.push(slot);
        let entry = Entry { kind: Kind::Buffer, index: remote, number: 0 };
        self.rings.tell(source, Queue::Free, entry);
        self.rings.flush(core, &mut self.connections)?;
        self.read(core, source)
    }

    fn is_idle(&self) -> bool {
        self.rings.is_idle()
    }

    fn queue_pairs(&self) -> usize {
        self.connections.count()
    }

    fn pinned(&self) -> u64 {
        self.connections.pinned() + self.slots.pinned() + self.rings.pinned()
    }
}
