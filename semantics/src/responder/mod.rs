//! The responder of a queue pair: what it does with each packet that a requester sends, and what it
//! answers (IBTA 1.4 section 9.7.4 and on; docs/semantics.md, "Receiving").
//!
//! A [`Responder`] is the state; what it reaches beside that (keys, memory, the receive queue) is a
//! [`World`]. It sees frames whose invariant CRC was right and that are addressed to its queue pair:
//! [`is_for`] says which those are.
//!
//! | module | |
//! |---|---|
//! | [`packet`] | what a packet's opcode says |
//! | `filling` | where the bytes of a SEND go: regions, or an append region |
//! | `reliable` | RC: order, duplicates, NAKs, READs and atomics |
//! | `unreliable` | UC and UD: what is wrong is dropped |

mod filling;
pub mod packet;
mod reliable;
#[cfg(test)]
mod tests;
mod unreliable;

use std::collections::VecDeque;

use drdma_abi::{
    completion::Status,
    described::DESCRIBED,
    receive::{ReceiveOpcode, receive_flags, rights},
    register::MemoryRegionEntry,
    roce::{AtomicEth, Reth, Transport},
    work_request::MAX_MESSAGE,
};

use crate::{
    append::Append,
    checks::{Directory, QueuePair},
    described::{self, Unreachable},
    frame::Frame,
    memory::WritableMemory,
    packets::MASK_24,
    receive::{Receive, ReceiveName},
    region::Region,
    rows::Fragment,
    scatter::allows,
};
use filling::Filling;
use packet::Place;

/// What a queue pair's attributes say of receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its transport.
    pub transport: Transport,
    /// Its path MTU.
    pub mtu: u32,
    /// What the peer may do: [`rights`].
    pub rights: u32,
    /// Its protection domain.
    pub pd: u32,
    /// What an RNR NAK asks for: an index of `RNR_TIMERS`.
    pub min_rnr_timer: u8,
    /// READs and atomics that are kept for their repetition.
    pub max_dest_rd_atomic: u8,
    /// Its receive queue is shared.
    pub shared: bool,
}

/// What a receive queue gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nothing is posted.
    Nothing,
    /// The next receive.
    Receive(Receive),
    /// A receive that cannot be used, and the status that it completes with.
    Malformed(ReceiveName, Status),
}

/// How a receive ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The receive.
    pub name: ReceiveName,
    /// Its status; if that is not success, nothing below holds.
    pub status: Status,
    /// What came.
    pub opcode: ReceiveOpcode,
    /// Bytes of the message.
    pub byte_len: u32,
    /// Immediate data, or the remote key that was invalidated.
    pub imm: u32,
    /// [`receive_flags`].
    pub flags: u8,
    /// The sender's queue pair, of a datagram.
    pub source_qp: u32,
    /// The sender asked for an event.
    pub solicited: bool,
    /// The row that the message's first row became, if it was appended.
    pub first_row: Option<u32>,
}

impl Received {
    /// A receive that failed.
    pub fn failed(name: ReceiveName, status: Status) -> Self {
        Self {
            name,
            status,
            opcode: ReceiveOpcode::Receive,
            byte_len: 0,
            imm: 0,
            flags: 0,
            source_qp: 0,
            solicited: false,
            first_row: None,
        }
    }
}

/// What is sent back. Answers of a queue pair leave in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An ACK or a NAK.
    Acknowledge {
        /// [`drdma_abi::roce::syndrome`].
        syndrome: u8,
        /// Packet sequence number.
        psn: u32,
        /// Messages completed so far.
        msn: u32,
    },
    /// A READ's bytes, from memory when they are sent; [`Responder::answered`] is told when all are.
    Read {
        /// The first packet's sequence number.
        psn: u32,
        /// Messages completed so far.
        msn: u32,
        /// First byte.
        addr: u64,
        /// Bytes.
        len: u32,
        /// The key that allows it.
        rkey: u32,
    },
    /// The value before an atomic operation.
    Atomic {
        /// Packet sequence number.
        psn: u32,
        /// Messages completed so far.
        msn: u32,
        /// The value.
        original: u64,
    },
}

/// What a responder reaches.
pub trait World: WritableMemory {
    /// The key of that number, if it is valid or described.
    fn key(&self, rkey: u32) -> Option<MemoryRegionEntry>;
    /// The region of a described key, by the key's address. A card without described keys has none.
    fn key_region(&self, _index: u64) -> Option<Region> {
        None
    }
    /// The append region of that number. A card that has none is not asked.
    fn append(&mut self, _number: u32) -> Option<&mut Append> {
        None
    }
    /// True if there is an append region of that number, and [it is allowed](Append::is_allowed). A card may know that from an
    /// earlier time, if neither the region nor a key was written since.
    fn is_append_allowed(&mut self, number: u32) -> bool {
        let append = self.append(number).cloned();
        append.is_some_and(|append| append.is_allowed(&Memories(&*self)))
    }
    /// The queue pair's number among those of the card, by which append regions tell who appends.
    fn queue_pair(&self) -> u32 {
        0
    }
    /// Gives back the receive that was taken last, as if it had not been: its append region has no room
    /// yet. A card without append regions is not asked.
    fn put_back(&mut self, _name: ReceiveName) {}
    /// Makes a key invalid.
    fn invalidate(&mut self, rkey: u32);
    /// Takes the next receive of the queue.
    fn take(&mut self) -> Taken;
    /// True if the completion queue has room for a receive's completion.
    fn has_room(&self) -> bool;
    /// Completes a receive.
    fn complete(&mut self, received: Received);
    /// Sends something back.
    fn answer(&mut self, answer: Answer);
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was executed.
    Executed,
    /// It was answered, but not executed: a duplicate, a gap, a responder that is not ready.
    Answered,
    /// It was dropped without an answer.
    Dropped,
    /// The queue pair goes to the error state.
    Error,
}

/// True if a frame is for a queue pair: its number, transport, partition, on RC and UC the peer's
/// address, on UD the queue key. Others are dropped in silence.
pub fn is_for(frame: &Frame<'_>, flow: &crate::packets::Flow) -> bool {
    frame.transport() == Some(flow.transport) && is_from_peer(frame, flow)
}

/// The same for what belongs to no transport, like a congestion notification packet.
pub fn is_from_peer(frame: &Frame<'_>, flow: &crate::packets::Flow) -> bool {
    // One of two members of a partition must be a full one (IBTA 1.4 section 10.9.3).
    let (ours, theirs) = (flow.pkey, frame.bth.pkey);
    let pkey = (ours ^ theirs) & 0x7fff == 0 && (ours | theirs) & 0x8000 != 0;
    let source = match flow.transport {
        Transport::Ud => frame.deth.is_some_and(|deth| deth.qkey == flow.qkey),
        Transport::Rc | Transport::Uc => frame.ip.source == flow.dest_ip,
    };
    frame.bth.dest_qp == flow.qpn & MASK_24
        && frame.ip.destination == flow.source_ip
        && frame.vlan_id() == flow.vlan_id()
        && pkey
        && source
}

/// A message of which packets are still to come.
#[derive(Clone, Debug)]
enum Message {
    /// A SEND.
    Send {
        /// Where it goes.
        receive: Receive,
        filling: Filling,
        /// Bytes so far.
        len: u32,
    },
    /// A WRITE.
    Write {
        /// Where the next byte goes.
        addr: u64,
        rkey: u32,
        /// Bytes of the message, and those that are still to come.
        len: u32,
        remaining: u32,
    },
}

/// A READ or an atomic that may be asked for again.
#[derive(Clone, Copy, Debug)]
struct Resource {
    psn: u32,
    /// Sequence numbers that its answer takes.
    packets: u32,
    kind: ResourceKind,
}

#[derive(Clone, Copy, Debug)]
enum ResourceKind {
    Read {
        request: Reth,
        /// Answers that were not sent whole.
        unsent: u32,
    },
    Atomic {
        operation: u8,
        original: u64,
    },
}

/// Why a packet is not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// Nothing is posted, or there are no free rows.
    NotReady,
    /// The request is wrong: NAK 0x61.
    Invalid,
    /// The same, and the receive in use completes with `local_length_error`.
    Length,
    /// The remote key, its bounds or rights: NAK 0x62.
    Access,
    /// The receive is malformed: NAK 0x63.
    Receive(ReceiveName, Status),
    /// Memory that was checked, or that a described key names, is not there: NAK 0x63.
    Memory,
    /// A remote key that cannot be invalidated: the queue pair fails without a NAK.
    Invalidate,
    /// The completion queue has no room: likewise.
    Overrun,
}

/// The responder's state of a queue pair.
#[derive(Clone, Debug, Default)]
pub struct Responder {
    expected: u32,
    msn: u32,
    message: Option<Message>,
    /// A receive that was taken and can be used again.
    armed: Option<Receive>,
    /// The packet that is expected was asked for: silence until it comes.
    asked: bool,
    resources: VecDeque<Resource>,
}

impl Responder {
    /// One that expects `psn` first.
    pub fn new(psn: u32) -> Self {
        Self { expected: psn & MASK_24, ..Self::default() }
    }

    /// The next packet's sequence number.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Messages completed so far.
    pub fn msn(&self) -> u32 {
        self.msn
    }

    /// Takes a packet that [`is_for`] this queue pair and is no response.
    pub fn take<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        settings: &Settings,
        world: &mut W,
    ) -> Outcome {
        match settings.transport {
            Transport::Rc => self.take_reliable(frame, settings, world),
            Transport::Uc => self.take_connected(frame, settings, world),
            Transport::Ud => self.take_datagram(frame, settings, world),
        }
    }

    /// The receive that is in use or kept, for completing it when the queue pair fails.
    pub fn take_receive(&mut self) -> Option<ReceiveName> {
        let message = self.message.take();
        let used = match message {
            Some(Message::Send { receive, .. }) => Some(receive.name),
            _ => None,
        };
        self.armed.take().map(|receive| receive.name).or(used)
    }

    /// The next receive: one that was kept, or the queue's.
    fn next_receive<W: World + ?Sized>(&mut self, world: &mut W) -> Result<Receive, Refusal> {
        if let Some(receive) = self.armed.take() {
            return Ok(receive);
        }
        match world.take() {
            Taken::Nothing => Err(Refusal::NotReady),
            Taken::Receive(receive) => Ok(receive),
            Taken::Malformed(name, status) => Err(Refusal::Receive(name, status)),
        }
    }

    /// Executes a packet of a SEND that is in sequence.
    fn send<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        place: Place,
        settings: &Settings,
        world: &mut W,
    ) -> Result<(), Refusal> {
        if place.first {
            let (receive, filling) = self.begin_filling(frame, settings.pd, world)?;
            self.message = Some(Message::Send { receive, filling, len: 0 });
        }
        check_length(frame, place, settings.mtu)?;
        let Some(Message::Send { receive, filling, len }) = &mut self.message else {
            return Err(Refusal::Invalid);
        };
        let after = *len + frame.payload.len() as u32;
        if u64::from(after) > MAX_MESSAGE {
            return Err(Refusal::Invalid);
        }
        filling.check(&receive.target, after, (place.last, settings.pd), world)?;
        if let Some(rkey) = frame.invalidate {
            let key = world.key(rkey).filter(|key| key.pd == settings.pd && key.rights != 0);
            key.ok_or(Refusal::Invalidate)?;
        }
        if place.last && !world.has_room() {
            return Err(Refusal::Overrun);
        }
        filling.write(world, *len, frame.payload)?;
        *len = after;
        if place.last {
            let name = receive.name;
            let first_row = filling.finish(world, after);
            self.message = None;
            if let Some(rkey) = frame.invalidate {
                world.invalidate(rkey);
            }
            let appended = if first_row.is_some() { receive_flags::APPENDED } else { 0 };
            world.complete(Received {
                byte_len: after,
                imm: frame.imm.or(frame.invalidate).unwrap_or(0),
                flags: flags(frame) | appended,
                solicited: frame.bth.solicited == 1,
                first_row,
                ..Received::failed(name, Status::Success)
            });
        }
        Ok(())
    }

    /// Executes a packet of a WRITE that is in sequence.
    fn write<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        place: Place,
        settings: &Settings,
        world: &mut W,
    ) -> Result<(), Refusal> {
        if settings.rights & rights::REMOTE_WRITE == 0 {
            return Err(Refusal::Invalid);
        }
        if let Some(Reth { virtual_address: addr, rkey, dma_length: len }) = frame.reth {
            self.message = Some(Message::Write { addr, rkey, len, remaining: len });
        }
        let with_imm = place.last && frame.imm.is_some();
        if with_imm {
            // It is in use from here on.
            let receive = self.next_receive(world)?;
            self.armed = Some(receive);
        }
        check_length(frame, place, settings.mtu)?;
        let Some(Message::Write { addr, rkey, len, remaining }) = &mut self.message else {
            return Err(Refusal::Invalid);
        };
        let found = frame.payload.len() as u32;
        let sum = if place.last { found == *remaining } else { found <= *remaining };
        if !sum || u64::from(*len) > MAX_MESSAGE {
            return Err(Refusal::Invalid);
        }
        let mut places = vec![Fragment { addr: *addr, len: found }];
        if *len > 0 {
            let right = rights::REMOTE_WRITE;
            let key = world
                .key(*rkey)
                .filter(|key| allows(key, right, settings.pd, *addr, (*remaining).into()));
            let key = key.ok_or(Refusal::Access)?;
            if key.valid == DESCRIBED {
                places = described(&key, right, (*addr, found), world)?;
            }
        }
        if with_imm && !world.has_room() {
            return Err(Refusal::Overrun);
        }
        write(world, &places, frame.payload)?;
        *addr = addr.wrapping_add(found.into());
        *remaining -= found;
        let byte_len = *len;
        if place.last {
            self.message = None;
        }
        if with_imm && let Some(receive) = self.armed.take() {
            world.complete(Received {
                opcode: ReceiveOpcode::ReceiveWithImm,
                byte_len,
                imm: frame.imm.unwrap_or(0),
                flags: flags(frame),
                solicited: frame.bth.solicited == 1,
                ..Received::failed(receive.name, Status::Success)
            });
        }
        Ok(())
    }

    /// Executes an atomic operation; gives the value before.
    fn execute<W: World + ?Sized>(
        swap: bool,
        request: &AtomicEth,
        settings: &Settings,
        world: &mut W,
    ) -> Result<u64, Refusal> {
        let AtomicEth { virtual_address: addr, rkey, swap_or_add, compare } = *request;
        let key =
            world.key(rkey).filter(|key| allows(key, rights::REMOTE_ATOMIC, settings.pd, addr, 8));
        key.ok_or(Refusal::Access)?;
        let mut bytes = [0; 8];
        world.read(addr, &mut bytes).map_err(|_| Refusal::Memory)?;
        let original = u64::from_le_bytes(bytes);
        let new = match (swap, original == compare) {
            (true, true) => swap_or_add,
            (true, false) => return Ok(original),
            (false, _) => original.wrapping_add(swap_or_add),
        };
        world.write(addr, &new.to_le_bytes()).map_err(|_| Refusal::Memory)?;
        Ok(original)
    }
}

/// Where bytes of a described key lie that a peer uses `right` on.
fn described<W: World + ?Sized>(
    key: &MemoryRegionEntry,
    right: u32,
    bytes: (u64, u32),
    world: &W,
) -> Result<Vec<Fragment>, Refusal> {
    let region = world.key_region(key.addr).ok_or(Refusal::Memory)?;
    described::fragments(&region, right, key.pd, bytes, &Memories(world), world).map_err(|error| {
        match error {
            Unreachable::End => Refusal::Access,
            Unreachable::Memory => Refusal::Memory,
        }
    })
}

/// Writes bytes where they go.
fn write<W: World + ?Sized>(world: &W, places: &[Fragment], bytes: &[u8]) -> Result<(), Refusal> {
    let mut rest = bytes;
    for place in places {
        let (part, after) = rest.split_at(place.len as usize);
        world.write(place.addr, part).map_err(|_| Refusal::Memory)?;
        rest = after;
    }
    Ok(())
}

/// The keys of memory that a world has.
struct Memories<'a, W: ?Sized>(&'a W);

impl<W: World + ?Sized> Directory for Memories<'_, W> {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        self.0.key(lkey).filter(|key| key.valid == 1)
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

/// The completion flags that a packet gives.
fn flags(frame: &Frame<'_>) -> u8 {
    let imm = if frame.imm.is_some() { receive_flags::IMM } else { 0 };
    imm | if frame.invalidate.is_some() { receive_flags::INVALIDATED } else { 0 }
}

/// Every packet of a message but the last is full; the last of several is not empty.
fn check_length(frame: &Frame<'_>, place: Place, mtu: u32) -> Result<(), Refusal> {
    let (found, mtu) = (frame.payload.len(), mtu as usize);
    let good = match (place.first, place.last) {
        (_, false) => found == mtu && frame.bth.pad == 0,
        (false, true) => (1..=mtu).contains(&found),
        (true, true) => found <= mtu,
    };
    if good { Ok(()) } else { Err(Refusal::Invalid) }
}
