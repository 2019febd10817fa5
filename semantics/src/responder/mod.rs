//! The responder of a queue pair: how it executes each packet of a requester, and the answers that
//! it sends (IBTA 1.4 section 9.7.4 and on; docs/semantics.md, "Receiving").
//!
//! A [`Responder`] is the state; keys, memory and the receive queue are accessed through a
//! [`World`]. It is given frames whose invariant CRC was correct and that are addressed to its
//! queue pair ([`is_for`]).
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

/// Attributes of a queue pair that concern receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Transport of the queue pair.
    pub transport: Transport,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Rights of the peer: [`rights`].
    pub rights: u32,
    /// Number of the protection domain.
    pub pd: u32,
    /// Pause that an RNR NAK asks for: an index of `RNR_TIMERS`.
    pub min_rnr_timer: u8,
    /// Number of READs and atomics that are kept for their repetition.
    pub max_dest_rd_atomic: u8,
    /// The receive queue is shared.
    pub shared: bool,
}

/// Result of taking an entry from a receive queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// No receive is posted.
    Nothing,
    /// The next receive.
    Receive(Receive),
    /// A receive that cannot be used, and the status with which it completes.
    Malformed(ReceiveName, Status),
}

/// Result of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Identification of the receive.
    pub name: ReceiveName,
    /// Status of the receive; the fields below are valid only if it is success.
    pub status: Status,
    /// Kind of message that arrived.
    pub opcode: ReceiveOpcode,
    /// Length of the message in bytes.
    pub byte_len: u32,
    /// Immediate data, or the remote key that was invalidated.
    pub imm: u32,
    /// Flags of the completion: [`receive_flags`].
    pub flags: u8,
    /// Queue pair number of the sender of a datagram.
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

/// An answer to send back. Answers of a queue pair leave in their order.
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
    /// The bytes of a READ, which are read from memory when they are sent; [`Responder::answered`]
    /// is called when all were.
    Read {
        /// Sequence number of the first packet.
        psn: u32,
        /// Messages completed so far.
        msn: u32,
        /// Address of the first byte.
        addr: u64,
        /// Length in bytes.
        len: u32,
        /// Remote key that allows the access.
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

/// Environment of a responder.
pub trait World: WritableMemory {
    /// Returns the key of that number, if it is valid or described.
    fn key(&self, rkey: u32) -> Option<MemoryRegionEntry>;
    /// Returns the region of a described key, by the key's address. A card without described keys
    /// has none.
    fn key_region(&self, _index: u64) -> Option<Region> {
        None
    }
    /// Returns the append region of that number. Not called on a card without append regions.
    fn append(&mut self, _number: u32) -> Option<&mut Append> {
        None
    }
    /// True if there is an append region of that number, and [it is allowed](Append::is_allowed). A
    /// card may keep the result, until the region or a key is written.
    fn is_append_allowed(&mut self, number: u32) -> bool {
        let append = self.append(number).cloned();
        append.is_some_and(|append| append.is_allowed(&Memories(&*self)))
    }
    /// Index of the queue pair in the card, by which append regions identify the one that appends.
    fn queue_pair(&self) -> u32 {
        0
    }
    /// Gives back the receive that was taken last, as if it had not been: its append region has no
    /// room yet. Not called on a card without append regions.
    fn put_back(&mut self, _name: ReceiveName) {}
    /// Makes a key invalid.
    fn invalidate(&mut self, rkey: u32);
    /// Takes the next receive of the queue.
    fn take(&mut self) -> Taken;
    /// True if the completion queue has room for a receive's completion.
    fn has_room(&self) -> bool;
    /// Completes a receive.
    fn complete(&mut self, received: Received);
    /// Sends an answer back.
    fn answer(&mut self, answer: Answer);
}

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet was executed.
    Executed,
    /// The packet was answered, but not executed: a duplicate, a gap, a responder that is not
    /// ready.
    Answered,
    /// The packet was dropped without an answer.
    Dropped,
    /// The queue pair goes to the error state.
    Error,
}

/// True if a frame is for a queue pair: if number, transport and partition match, on RC and UC the
/// peer's address, on UD the queue key. Others are dropped silently.
pub fn is_for(frame: &Frame<'_>, flow: &crate::packets::Flow) -> bool {
    frame.transport() == Some(flow.transport) && is_from_peer(frame, flow)
}

/// Like [`is_for`], for packets of no transport, like a congestion notification packet.
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

/// A message whose last packet has not arrived.
#[derive(Clone, Debug)]
enum Message {
    /// A SEND.
    Send {
        /// The receive that the message fills.
        receive: Receive,
        filling: Filling,
        /// Number of bytes that have arrived.
        len: u32,
    },
    /// A WRITE.
    Write {
        /// Address of the next byte.
        addr: u64,
        rkey: u32,
        /// Length of the message in bytes, and number of bytes that have not arrived.
        len: u32,
        remaining: u32,
    },
}

/// A READ or an atomic that may be requested again.
#[derive(Clone, Copy, Debug)]
struct Resource {
    psn: u32,
    /// Number of sequence numbers of its answer.
    packets: u32,
    kind: ResourceKind,
}

#[derive(Clone, Copy, Debug)]
enum ResourceKind {
    Read {
        request: Reth,
        /// Number of answers that were not sent completely.
        unsent: u32,
    },
    Atomic {
        operation: u8,
        original: u64,
    },
}

/// Reason why a packet is not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// No receive is posted, or no rows are free: RNR NAK.
    NotReady,
    /// The request is invalid: NAK 0x61.
    Invalid,
    /// The length is invalid: NAK 0x61, and the receive in use completes with `local_length_error`.
    Length,
    /// The remote key, its bounds or its rights do not allow the access: NAK 0x62.
    Access,
    /// The receive is malformed: NAK 0x63.
    Receive(ReceiveName, Status),
    /// Memory that was checked, or that a described key names, is not mapped: NAK 0x63.
    Memory,
    /// The remote key cannot be invalidated: the queue pair fails without a NAK.
    Invalidate,
    /// The completion queue has no room: the queue pair fails without a NAK.
    Overrun,
}

/// State of a queue pair's responder.
#[derive(Clone, Debug, Default)]
pub struct Responder {
    expected: u32,
    msn: u32,
    message: Option<Message>,
    /// A receive that was taken from the queue and is used for the next message.
    armed: Option<Receive>,
    /// A NAK has asked for the expected packet: no further answer until that arrives.
    asked: bool,
    resources: VecDeque<Resource>,
}

impl Responder {
    /// A responder that expects `psn` first.
    pub fn new(psn: u32) -> Self {
        Self { expected: psn & MASK_24, ..Self::default() }
    }

    /// Sequence number of the next packet.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Number of messages completed so far.
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

    /// Takes the receive that is in use or kept, to complete it when the queue pair fails.
    pub fn take_receive(&mut self) -> Option<ReceiveName> {
        let message = self.message.take();
        let used = match message {
            Some(Message::Send { receive, .. }) => Some(receive.name),
            _ => None,
        };
        self.armed.take().map(|receive| receive.name).or(used)
    }

    /// Returns the next receive: one that was kept, or the queue's.
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
            // The receive is in use from here on.
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

    /// Executes an atomic operation; returns the value before.
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

/// Returns the places of bytes of a described key on which a peer uses `right`.
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

/// Writes bytes to the given places.
fn write<W: World + ?Sized>(world: &W, places: &[Fragment], bytes: &[u8]) -> Result<(), Refusal> {
    let mut rest = bytes;
    for place in places {
        let (part, after) = rest.split_at(place.len as usize);
        world.write(place.addr, part).map_err(|_| Refusal::Memory)?;
        rest = after;
    }
    Ok(())
}

/// The keys of a world, as a directory.
struct Memories<'a, W: ?Sized>(&'a W);

impl<W: World + ?Sized> Directory for Memories<'_, W> {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        self.0.key(lkey).filter(|key| key.valid == 1)
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

/// Flags that a packet sets in its completion.
fn flags(frame: &Frame<'_>) -> u8 {
    let imm = if frame.imm.is_some() { receive_flags::IMM } else { 0 };
    imm | if frame.invalidate.is_some() { receive_flags::INVALIDATED } else { 0 }
}

/// Checks the length: every packet of a message but the last is full; the last of several is not
/// empty.
fn check_length(frame: &Frame<'_>, place: Place, mtu: u32) -> Result<(), Refusal> {
    let (found, mtu) = (frame.payload.len(), mtu as usize);
    let good = match (place.first, place.last) {
        (_, false) => found == mtu && frame.bth.pad == 0,
        (false, true) => (1..=mtu).contains(&found),
        (true, true) => found <= mtu,
    };
    if good { Ok(()) } else { Err(Refusal::Invalid) }
}
