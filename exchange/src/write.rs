//! MQ/WR: the sender WRITEs into the receiver's buffers.
//!
//! A sender knows which of a receiver's buffers are free: all at first, then those that the receiver WRITEs into the
//! sender's queue (FreeArr). The receiver notices a written buffer in one of three ways ([`Notice`]).
//!
//! A buffer has a trailer of 16 B: how many bytes of rows lie right before it, and a seal. Only
//! [`Notice::PollBuffer`] uses it: rows are right-aligned, and one WRITE writes rows and trailer. The receiver clears
//! the seal before it informs the sender that the buffer is free.

use std::collections::VecDeque;

use libdrdma::{
    Access, Operation, QueuePair, ReceiveRequest, SharedOperation, WorkCompletion, WorkRequest,
};

use crate::{
    Error, Notice,
    common::{Core, EndpointAddress, Message, Protocol, RemoteMemory, Sent, Work},
    connections::Connections,
    rings::{Entry, Kind, Queue, Rings},
    slots::Slots,
};

/// Bytes behind the rows of a buffer.
pub(crate) const TRAILER: usize = 16;

/// Seals of a trailer: rows, and the end of a stream.
const ROWS: u64 = 0xd4da_0001_5ea1_ed01;
const END: u64 = 0xd4da_0002_5ea1_ed02;
/// The bit of immediate data that says that a stream ends.
const IMM_END: u32 = 1 << 31;
/// Immediate data of regions, the same for all: they were written to the buffer that is next in order.
const IMM_NEXT: u32 = 1 << 30;

/// The bytes of a trailer: the length of the rows, and a seal.
fn trailer(number: u64, seal: u64) -> [u8; TRAILER] {
    let mut bytes = [0; TRAILER];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..].copy_from_slice(&seal.to_le_bytes());
    bytes
}

/// State of a peer's buffers and of those that it writes to.
#[derive(Clone, Debug, Default)]
struct Peer {
    slots: RemoteMemory,
    /// The peer's free buffers, numbered among those that it has for this endpoint, in the order in which they
    /// became free. They are used in this order.
    free: VecDeque<u32>,
    /// This endpoint's buffers that the peer writes to, in the order in which it does.
    order: VecDeque<u32>,
    /// For each of this endpoint's buffers that the peer writes to: whether it holds rows that were not released yet.
    taken: Vec<bool>,
}

#[derive(Debug)]
pub(crate) struct Write {
    notice: Notice,
    connections: Connections,
    slots: Slots,
    rings: Rings,
    peers: Vec<Peer>,
}

impl Write {
    pub fn new(core: &Core, notice: Notice) -> Result<Self, Error> {
        let config = &core.config;
        let buffers = config.receive_buffers;
        let slots = (core.member.nodes - 1) * buffers as usize;
        let receives = if notice == Notice::PollCompletion { buffers } else { 0 };
        let bytes = config.message as usize + TRAILER;
        let free: VecDeque<u32> = (0..buffers).collect();
        let order = free.clone();
        let peer = Peer { free, order, taken: vec![false; buffers as usize], ..Peer::default() };
        Ok(Self {
            notice,
            connections: Connections::new(core, Access::REMOTE_WRITE, receives)?,
            slots: Slots::new(core, slots, bytes, Access::REMOTE_WRITE)?,
            rings: Rings::new(core, buffers)?,
            peers: vec![peer; core.member.nodes],
        })
    }

    /// Remote address and key for `len` bytes that are to end at offset `end` of a peer's buffer.
    fn target(&self, core: &Core, to: usize, slot: u32, end: usize, len: usize) -> (u64, u32) {
        let RemoteMemory { addr, rkey } = self.peers[to].slots;
        // The peer's buffers for this endpoint are those of this endpoint's rank there.
        let me = core.member.node;
        let rank = me - usize::from(me > to);
        let first = rank as u32 * core.config.receive_buffers + slot;
        (addr + (self.slots.offset(first) + end - len) as u64, rkey)
    }

    /// Posts a request and, behind it, an entry of the peer's queue.
    fn post_with_entry(
        &mut self,
        core: &mut Core,
        to: usize,
        request: &WorkRequest<'_, 'static>,
        entry: Entry,
    ) -> Result<Sent, Error> {
        let (write, bytes) = self.rings.next(core.member.node, to, Queue::Valid, entry);
        let second = WorkRequest::new(Work::Control.name(to, 0)).operation(write).inline(&bytes);
        let mut batch = self.connections.qp(to).batch();
        for request in [request, &second] {
            if crate::common::or_later(batch.post_send(request))? == Sent::NotNow {
                return Ok(Sent::NotNow);
            }
        }
        batch.submit()?;
        self.rings.wrote(to, Queue::Valid);
        core.statistics.control_messages += 1;
        core.statistics.posts += 2;
        Ok(Sent::Yes)
    }

    fn post_receive(&mut self, peer: usize, slot: u32) -> Result<(), Error> {
        let request = ReceiveRequest::new(Work::Receive.name(peer, slot));
        Ok(self.connections.qp(peer).post_recv(&request)?)
    }

    /// Handles bytes that a peer has written into the buffer of that number, up to offset `end`.
    fn written(
        &mut self,
        core: &mut Core,
        peer: usize,
        place: u32,
        kind: Kind,
        number: u64,
    ) -> Result<(), Error> {
        let buffers = core.config.receive_buffers;
        let what = "the number of a buffer";
        let taken = self.peers[peer].taken.get_mut(place as usize).filter(|taken| !**taken);
        *taken.ok_or(Error::Garbled { node: peer, what, value: place.into() })? = true;
        let slot = core.rank(peer) as u32 * buffers + place;
        match kind {
            Kind::End => {
                core.ended(peer, number)?;
                self.release(core, peer, slot, 0)
            }
            Kind::Buffer => {
                let most = core.config.message as usize;
                if number == 0 || number > most as u64 {
                    let what = "the length of a buffer";
                    return Err(Error::Garbled { node: peer, what, value: number });
                }
                let len = number as usize;
                let at = if self.notice == Notice::PollBuffer { most - len } else { 0 };
                core.arrived(self.slots.rows(peer, slot, at, len, 0))
            }
        }
    }

    /// Looks at the seals of all buffers of a peer.
    fn look_at_buffers(&mut self, core: &mut Core, peer: usize) -> Result<(), Error> {
        let (buffers, message) = (core.config.receive_buffers, core.config.message as usize);
        for place in 0..buffers {
            if self.peers[peer].taken[place as usize] {
                continue;
            }
            let slot = core.rank(peer) as u32 * buffers + place;
            let kind = match self.slots.number(slot, message + 8) {
                ROWS => Kind::Buffer,
                END => Kind::End,
                // The buffer has no seal, or a part of one.
                _ => continue,
            };
            let number = self.slots.number(slot, message);
            self.written(core, peer, place, kind, number)?;
        }
        Ok(())
    }
}

impl Protocol for Write {
    fn room(&self, _core: &Core, to: usize) -> u64 {
        self.peers[to].free.len().min(1) as u64
    }

    fn most(&self, _core: &Core) -> u64 {
        // Messages of one request lie one behind the other in the peer's memory, and buffers need not.
        1
    }

    fn region_operation(&self, _more: bool) -> SharedOperation {
        SharedOperation::WriteImm(IMM_NEXT)
    }

    fn sender(&self, to: usize) -> &QueuePair<'static> {
        self.connections.sender(to)
    }

    fn remote(&self, core: &Core, to: usize) -> (u64, u32) {
        let slot = *self.peers[to].free.front().expect("it has room");
        self.target(core, to, slot, 0, 0)
    }

    fn used(&mut self, _core: &Core, to: usize, _messages: u64) {
        self.peers[to].free.pop_front();
    }

    fn describe(&self, address: &mut EndpointAddress) {
        address.qpns = self.connections.qpns();
        address.memory[0] = RemoteMemory::of(self.rings.memory());
        address.memory[2] = RemoteMemory::of(self.slots.memory());
    }

    fn connect(&mut self, core: &mut Core, peers: &[EndpointAddress]) -> Result<(), Error> {
        self.connections.connect(core, peers)?;
        for peer in core.peers() {
            self.rings.connect(peer, peers[peer].memory[0]);
            self.peers[peer].slots = peers[peer].memory[2];
            if self.notice == Notice::PollCompletion {
                (0..core.config.receive_buffers).try_for_each(|i| self.post_receive(peer, i))?;
            }
        }
        Ok(())
    }

    fn send(&mut self, core: &mut Core, to: usize, message: Message) -> Result<Sent, Error> {
        let Some(slot) = self.peers[to].free.front().copied() else { return Ok(Sent::NotNow) };
        let room = core.config.message as usize;
        let (name, number, kind, seal) = match message {
            Message::Data { buffer, len } => {
                (Work::Data.name(to, buffer), u64::from(len), Kind::Buffer, ROWS)
            }
            Message::End { count } => (Work::Control.name(to, 0), count, Kind::End, END),
        };
        let (behind, end) = match (self.notice, kind) {
            (Notice::PollBuffer, Kind::Buffer) => (TRAILER, room + TRAILER),
            (Notice::PollBuffer, Kind::End) => (0, room + TRAILER),
            // The rows lie at the beginning of the buffer.
            (_, Kind::Buffer) => (0, number as usize),
            (_, Kind::End) => (0, TRAILER),
        };
        let trailer = trailer(number, seal);
        let regions;
        let (request, len) = match message {
            Message::Data { buffer, len } => {
                if behind > 0 {
                    core.pool.store(buffer, len as usize, &trailer);
                }
                regions = [core.pool.region(buffer, len as usize + behind)?];
                (WorkRequest::new(name).regions(&regions), len as usize + behind)
            }
            Message::End { .. } => (WorkRequest::new(name).inline(&trailer), TRAILER),
        };
        let (remote_addr, rkey) = self.target(core, to, slot, end, len);
        let write = request.operation(Operation::Write { remote_addr, rkey });
        let sent = match self.notice {
            Notice::PollBuffer => self.connections.post(core, to, &write)?,
            Notice::PollQueue => {
                self.post_with_entry(core, to, &write, Entry { kind, index: slot, number })?
            }
            Notice::PollCompletion => {
                let imm = slot | if kind == Kind::End { IMM_END } else { 0 };
                let operation = Operation::WriteImm { remote_addr, rkey, imm };
                self.connections.post(core, to, &write.operation(operation))?
            }
        };
        if sent == Sent::Yes {
            self.peers[to].free.pop_front();
        }
        Ok(sent)
    }

    fn completed(&mut self, core: &mut Core, completion: &WorkCompletion) -> Result<(), Error> {
        let (work, peer, _) = Work::of(completion.wr_id);
        let (Work::Receive, Some(imm)) = (work, completion.imm) else { return Ok(()) };
        let next = self.peers[peer].order.pop_front();
        let place = match imm {
            IMM_NEXT => next.unwrap_or(u32::MAX),
            imm => imm & !IMM_END,
        };
        if next != Some(place) {
            let what = "immediate data";
            return Err(Error::Garbled { node: peer, what, value: imm.into() });
        }
        if imm & IMM_END == 0 {
            return self.written(core, peer, place, Kind::Buffer, completion.bytes);
        }
        let slot = core.rank(peer) as u32 * core.config.receive_buffers + place;
        let count = self.slots.number(slot, 0);
        self.written(core, peer, place, Kind::End, count)
    }

    fn look(&mut self, core: &mut Core) -> Result<(), Error> {
        for peer in core.peers() {
            while let Some(entry) = self.rings.poll(peer, Queue::Free)? {
                core.signs[peer] += 1;
                let most = core.config.receive_buffers;
                if entry.index >= most || self.peers[peer].free.contains(&entry.index) {
                    let (what, value) = ("a free buffer", entry.index.into());
                    return Err(Error::Garbled { node: peer, what, value });
                }
                self.peers[peer].free.push_back(entry.index);
            }
            match self.notice {
                Notice::PollBuffer => self.look_at_buffers(core, peer)?,
                Notice::PollQueue => {
                    while let Some(entry) = self.rings.poll(peer, Queue::Valid)? {
                        self.written(core, peer, entry.index, entry.kind, entry.number)?;
                    }
                }
                Notice::PollCompletion => {}
            }
        }
        self.rings.flush(core, &mut self.connections)
    }

    fn release(
        &mut self,
        core: &mut Core,
        source: usize,
        slot: u32,
        _remote: u32,
    ) -> Result<(), Error> {
        let place = slot - core.rank(source) as u32 * core.config.receive_buffers;
        self.peers[source].taken[place as usize] = false;
        match self.notice {
            Notice::PollBuffer => {
                let at = self.slots.offset(slot) + core.config.message as usize;
                self.slots.memory().store_at(at, &[0; TRAILER]);
            }
            Notice::PollCompletion => {
                self.peers[source].order.push_back(place);
                self.post_receive(source, place)?;
            }
            Notice::PollQueue => {}
        }
        let entry = Entry { kind: Kind::Buffer, index: place, number: 0 };
        self.rings.tell(source, Queue::Free, entry);
        self.rings.flush(core, &mut self.connections)
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
