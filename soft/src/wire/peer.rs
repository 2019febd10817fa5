//! A remote queue pair that checks everything it is sent.

use std::collections::HashMap;

use drdma_abi::roce::{Bth, Ethernet, Ipv4, TTL, Transport, operation, syndrome};

use crate::wire::{
    answer::{Answer, Answered, Question},
    config::{Behaviour, PeerConfig, RemoteMemory},
    sparse::SparseMemory,
};
use drdma_semantics::{
    frame::{Frame, FrameError},
    packets::{Flow, MASK_24, psn_add, psn_distance, source_port},
};

/// Kind of a message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// A SEND.
    Send,
    /// A WRITE.
    Write {
        /// Remote address.
        remote_addr: u64,
        /// Remote key.
        rkey: u32,
    },
}

/// A complete message that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Kind of the message: SEND or WRITE.
    pub kind: MessageKind,
    /// Immediate data, if the message has some.
    pub imm: Option<u32>,
    /// Bytes of the message.
    pub bytes: Vec<u8>,
    /// Queue pair number of the sender.
    pub source_qpn: u32,
    /// Sequence number of its first packet.
    pub psn: u32,
    /// Number of its packets.
    pub packets: u32,
}

/// Error of the sender that a peer has found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// A frame cannot be read, or is damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A field has an unexpected value.
    #[error("{field} is {found:#x}, should be {expected:#x}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        found: u64,
        /// Value that was expected.
        expected: u64,
    },
    /// A packet is out of order.
    #[error("packet {found:#x} where {expected:#x} was expected")]
    Psn {
        /// Sequence number of the packet.
        found: u32,
        /// Sequence number that was expected.
        expected: u32,
    },
    /// A packet belongs to another transport.
    #[error("opcode {0:#04x} on a queue pair of another transport")]
    Transport(u8),
    /// A packet cannot follow the one before it.
    #[error("opcode {opcode:#04x} {state}")]
    Sequence {
        /// Opcode of the packet.
        opcode: u8,
        /// State of the peer: inside or outside a message.
        state: &'static str,
    },
    /// A packet has a wrong size.
    #[error("opcode {opcode:#04x} with {found} B of payload at an MTU of {mtu} B")]
    Size {
        /// Opcode of the packet.
        opcode: u8,
        /// Length of its payload in bytes.
        found: usize,
        /// The path MTU.
        mtu: u32,
    },
    /// A WRITE has another length than its RETH says.
    #[error("a WRITE of {found} B whose RETH says {expected} B")]
    WriteLength {
        /// Number of bytes that arrived.
        found: u64,
        /// Number of bytes in the RETH.
        expected: u32,
    },
    /// A WRITE, a READ or an atomic is not allowed.
    #[error("a {verb} of {len} B at {addr:#x} with key {rkey:#x} is not allowed")]
    Access {
        /// Name of the operation.
        verb: &'static str,
        /// Remote address.
        addr: u64,
        /// Length in bytes.
        len: u32,
        /// Remote key.
        rkey: u32,
    },
    /// The address of an atomic is not aligned.
    #[error("a {verb} at {addr:#x}, which is no multiple of 8")]
    AtomicAddress {
        /// Name of the operation.
        verb: &'static str,
        /// Remote address.
        addr: u64,
    },
}

/// A message whose last packet has not arrived.
#[derive(Clone, Debug)]
struct Partial {
    message: Message,
    write: bool,
    announced: Option<u32>,
    len: u64,
}

/// A remote queue pair.
#[derive(Clone, Debug)]
pub struct Peer {
    config: PeerConfig,
    /// Next expected sequence number, by the sender's queue pair number.
    expected: HashMap<u32, u32>,
    partial: Option<Partial>,
    /// A NAK for a gap was sent, and the gap was not filled since.
    gap_reported: bool,
    /// A NAK was sent; the peer stops, as it expects no retransmission.
    refused: bool,
    msn: u32,
    messages: Vec<Message>,
    message_count: u64,
    message_bytes: u64,
    answered: Answered,
    memory: SparseMemory,
    errors: Vec<PeerError>,
}

/// Position of a packet in its message.
struct Place {
    write: bool,
    first: bool,
    last: bool,
}

fn place(operation: u8) -> Option<Place> {
    let write = operation >= operation::WRITE_FIRST;
    let (first, last) = match operation {
        operation::SEND_FIRST | operation::WRITE_FIRST => (true, false),
        operation::SEND_MIDDLE | operation::WRITE_MIDDLE => (false, false),
        operation::SEND_LAST | operation::SEND_LAST_IMM => (false, true),
        operation::WRITE_LAST | operation::WRITE_LAST_IMM => (false, true),
        operation::SEND_ONLY | operation::SEND_ONLY_IMM => (true, true),
        operation::WRITE_ONLY | operation::WRITE_ONLY_IMM => (true, true),
        _ => return None,
    };
    Some(Place { write, first, last })
}

impl Peer {
    /// A peer that has received nothing.
    pub fn new(config: PeerConfig) -> Self {
        let expected = config.start_psn.map(|psn| (config.card_qpn, psn & MASK_24));
        let memory = match config.readable {
            Some(_) => SparseMemory::patterned(),
            None => SparseMemory::new(),
        };
        Self {
            expected: expected.into_iter().collect(),
            config,
            partial: None,
            gap_reported: false,
            refused: false,
            msn: 0,
            messages: Vec::new(),
            message_count: 0,
            message_bytes: 0,
            answered: Answered::default(),
            memory,
            errors: Vec::new(),
        }
    }

    /// Configuration of the peer.
    pub fn config(&self) -> &PeerConfig {
        &self.config
    }

    /// Changes the behaviour from now on.
    pub fn set_behaviour(&mut self, behaviour: Behaviour) {
        self.config.behaviour = behaviour;
        self.refused = false;
    }

    /// The messages that arrived completely, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Takes the messages that arrived completely, in order.
    pub fn take_messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }

    /// Number of messages that arrived completely.
    pub fn message_count(&self) -> u64 {
        self.message_count
    }

    /// Number of bytes of the messages that arrived completely.
    pub fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    /// Counts of the READs and atomics that were answered.
    pub fn answered(&self) -> Answered {
        self.answered
    }

    /// Memory of the peer, as WRITEs and atomics left it.
    pub fn memory(&self) -> &SparseMemory {
        &self.memory
    }

    /// Errors of the sender.
    pub fn errors(&self) -> &[PeerError] {
        &self.errors
    }

    /// Takes a packet that was addressed to this peer, and returns the answer. A repeated READ or
    /// atomic is answered as a repeated SEND is, with an acknowledgement but without data.
    pub fn receive(&mut self, frame: &Frame<'_>) -> Answer {
        match self.config.behaviour {
            Behaviour::Dead => return Answer::Nothing,
            Behaviour::Anything => {
                let asked = frame.transport() == Some(Transport::Rc) && frame.bth.ack_req == 1;
                return self.answer_if(asked, frame, syndrome::ACK | 31, frame.bth.psn);
            }
            _ => {}
        }
        self.check_fields(frame);
        if frame.transport() != Some(self.config.transport) {
            self.errors.push(PeerError::Transport(frame.bth.opcode));
            return Answer::Nothing;
        }
        let question = Question::of(frame).filter(|_| self.config.readable.is_some());
        let place = place(frame.operation());
        if place.is_none() && question.is_none() {
            self.errors.push(PeerError::Transport(frame.bth.opcode));
            return Answer::Nothing;
        }
        let source = frame.deth.map_or(self.config.card_qpn, |deth| deth.source_qp);
        let psn = frame.bth.psn;
        if self.refused {
            // The packet was sent before the sender knew of the NAK.
            return Answer::Nothing;
        }
        let expected = *self.expected.entry(source).or_insert(psn);
        let distance = psn_distance(psn, expected);
        if distance != 0 {
            if !self.gap_reported {
                self.errors.push(PeerError::Psn { found: psn, expected });
            }
            if self.config.transport == Transport::Rc {
                return self.out_of_order(frame, distance, expected);
            }
            self.partial = None;
        }
        if self.config.transport == Transport::Rc {
            self.gap_reported = false;
            let refusal = match self.config.behaviour {
                Behaviour::NotReady => Some(syndrome::RNR_NAK),
                Behaviour::Refuse(syndrome) => Some(syndrome),
                Behaviour::Normal | Behaviour::Anything | Behaviour::Dead => None,
            };
            let refusal = refusal.or_else(|| self.check_access(frame, question.as_ref()));
            if let Some(code) = refusal {
                self.refused = true;
                return self.answer_if(true, frame, code, psn);
            }
        }
        let packets = question.map_or(1, |question| question.packets(self.config.mtu));
        self.expected.insert(source, psn_add(psn, packets));
        if let Some(question) = question {
            return self.reply(frame, &question);
        }
        if let Some(place) = place {
            self.take(frame, &place, source);
        }
        let asked = self.config.transport == Transport::Rc && frame.bth.ack_req == 1;
        self.answer_if(asked, frame, syndrome::ACK | 31, psn)
    }

    /// Executes a READ or an atomic that is in order, and returns the answer.
    fn reply(&mut self, frame: &Frame<'_>, question: &Question) -> Answer {
        if self.partial.take().is_some() {
            let (opcode, state) = (frame.bth.opcode, "inside a message");
            self.errors.push(PeerError::Sequence { opcode, state });
        }
        self.msn = psn_add(self.msn, 1);
        let (flow, psn, msn) = (self.flow(frame), frame.bth.psn, self.msn);
        let Self { memory, answered, .. } = self;
        Answer::Data(question.execute(memory, answered, &flow, psn, msn))
    }

    /// Answers an RC packet that is not the next one, as a responder does.
    fn out_of_order(&mut self, frame: &Frame<'_>, distance: i32, next: u32) -> Answer {
        if distance < 0 {
            let last = psn_add(next, MASK_24);
            return self.answer_if(true, frame, syndrome::ACK | 31, last);
        }
        let first = !std::mem::replace(&mut self.gap_reported, true);
        self.answer_if(first, frame, syndrome::NAK_PSN, next)
    }

    /// Checks the fields that are the same in every packet of the flow.
    fn check_fields(&mut self, frame: &Frame<'_>) {
        let config = &self.config;
        let source = frame.deth.map_or(config.card_qpn, |deth| deth.source_qp);
        let last = place(frame.operation()).is_some_and(|place| place.last);
        let asks = last || Question::of(frame).is_some();
        let ack = u8::from(config.transport == Transport::Rc && asks);
        let Ethernet { source: mac, .. } = frame.ethernet;
        let tag = frame.tag.map_or(0, |tag| {
            TAGGED | u64::from(tag.pcp) << 13 | u64::from(tag.dei) << 12 | u64::from(tag.vid)
        });
        let Ipv4 { identification, tos, ttl, flags, source: ip, .. } = frame.ip;
        let Bth { solicited, migration, resv8a, resv7, .. } = frame.bth;
        let fields = [
            ("source MAC address", mac, config.card_mac.unwrap_or(mac)),
            ("source IPv4 address", ip.into(), config.card_ip.unwrap_or(ip).into()),
            ("802.1Q tag", tag, config.vlan.map_or(0, |control| TAGGED | u64::from(control))),
            ("IPv4 type of service", tos.into(), config.tos.into()),
            ("IPv4 identification", identification.into(), 0),
            ("IPv4 flags", flags.into(), 2),
            ("IPv4 time to live", ttl.into(), config.ttl.into()),
            ("UDP source port", frame.udp.source_port.into(), source_port(source).into()),
            ("UDP checksum", frame.udp.checksum.into(), 0),
            ("solicited event", solicited.into(), 0),
            ("migration request", migration.into(), 1),
            ("partition key", frame.bth.pkey.into(), config.pkey.into()),
            ("BTH reserved byte", resv8a.into(), 0),
            ("BTH reserved bits", resv7.into(), 0),
            ("acknowledge request", frame.bth.ack_req.into(), ack.into()),
            ("padding", frame.padding.iter().fold(0, |all, byte| all | u64::from(*byte)), 0),
            ("queue key", frame.deth.map_or(config.qkey, |d| d.qkey).into(), config.qkey.into()),
            ("DETH reserved byte", frame.deth.map_or(0, |deth| deth.reserved).into(), 0),
        ];
        for (field, found, expected) in fields {
            if found != expected {
                self.errors.push(PeerError::Field { field, found, expected });
            }
        }
    }

    /// Returns the NAK for a WRITE, a READ or an atomic out of bounds, or for an atomic that is not
    /// aligned.
    fn check_access(&mut self, frame: &Frame<'_>, question: Option<&Question>) -> Option<u8> {
        if let Some((code, error)) = question.and_then(Question::refusal) {
            self.errors.push(error);
            return Some(code);
        }
        let (verb, memory, (addr, len, rkey)) = match (question, frame.reth) {
            (Some(question), _) => (question.verb(), self.config.readable?, question.place()),
            (None, Some(reth)) => {
                let place = (reth.virtual_address, reth.dma_length, reth.rkey);
                ("WRITE", self.config.writable?, place)
            }
            (None, None) => return None,
        };
        if is_within(memory, addr, len, rkey) {
            return None;
        }
        self.errors.push(PeerError::Access { verb, addr, len, rkey });
        Some(syndrome::NAK_REMOTE_ACCESS)
    }

    /// Adds a packet that is in order to its message.
    fn take(&mut self, frame: &Frame<'_>, place: &Place, source_qpn: u32) {
        let opcode = frame.bth.opcode;
        let (found, mtu) = (frame.payload.len(), self.config.mtu as usize);
        let size_good = if place.last { found <= mtu } else { found == mtu };
        if !size_good || (!place.first && found == 0) {
            self.errors.push(PeerError::Size { opcode, found, mtu: self.config.mtu });
        }
        let mut partial = match (place.first, self.partial.take()) {
            (true, interrupted) => {
                if interrupted.is_some() {
                    self.errors.push(PeerError::Sequence { opcode, state: "inside a message" });
                }
                let kind = match frame.reth {
                    Some(reth) => {
                        MessageKind::Write { remote_addr: reth.virtual_address, rkey: reth.rkey }
                    }
                    None => MessageKind::Send,
                };
                let psn = frame.bth.psn;
                let bytes = Vec::new();
                Partial {
                    message: Message { kind, imm: None, bytes, source_qpn, psn, packets: 0 },
                    write: place.write,
                    announced: frame.reth.map(|reth| reth.dma_length),
                    len: 0,
                }
            }
            (false, Some(partial)) if partial.write == place.write => partial,
            (false, Some(_)) => {
                self.errors.push(PeerError::Sequence { opcode, state: "in another message" });
                return;
            }
            (false, None) => {
                self.errors.push(PeerError::Sequence { opcode, state: "outside a message" });
                return;
            }
        };
        if let MessageKind::Write { remote_addr, .. } = partial.message.kind
            && self.config.keep_messages
        {
            self.memory.write(remote_addr.wrapping_add(partial.len), frame.payload);
        }
        if self.config.keep_messages {
            partial.message.bytes.extend_from_slice(frame.payload);
        }
        partial.len += found as u64;
        partial.message.packets += 1;
        if !place.last {
            self.partial = Some(partial);
            return;
        }
        if let Some(expected) = partial.announced.filter(|len| u64::from(*len) != partial.len) {
            self.errors.push(PeerError::WriteLength { found: partial.len, expected });
        }
        partial.message.imm = frame.imm;
        self.msn = psn_add(self.msn, 1);
        self.message_count += 1;
        self.message_bytes += partial.len;
        if self.config.keep_messages {
            self.messages.push(partial.message);
        }
    }

    /// Makes an acknowledgement to the sender of `frame`, if `answered` is set.
    fn answer_if(&self, answered: bool, frame: &Frame<'_>, syndrome: u8, psn: u32) -> Answer {
        match answered {
            true => {
                let flow = self.flow(frame);
                Answer::Acknowledgement(acknowledgement(&flow, syndrome, psn, self.msn))
            }
            false => Answer::Nothing,
        }
    }

    /// Flow of packets back to the sender of `frame`.
    fn flow(&self, frame: &Frame<'_>) -> Flow {
        Flow {
            source_mac: self.config.mac,
            dest_mac: frame.ethernet.source,
            tos: 0,
            ttl: TTL,
            vlan: self.config.vlan,
            source_ip: self.config.ip,
            dest_ip: frame.ip.source,
            qpn: self.config.qpn,
            dest_qpn: self.config.card_qpn,
            pkey: self.config.pkey,
            qkey: 0,
            transport: Transport::Rc,
            mtu: self.config.mtu,
        }
    }
}

/// True if the key allows access to all of these bytes.
fn is_within(memory: RemoteMemory, addr: u64, len: u32, rkey: u32) -> bool {
    let end = u128::from(addr) + u128::from(len);
    let limit = u128::from(memory.addr) + u128::from(memory.len);
    rkey == memory.rkey && addr >= memory.addr && end <= limit
}

/// Bit in front of a tag's control information, so that a tag of zeros differs from no tag.
const TAGGED: u64 = 1 << 16;

pub use drdma_semantics::answers::acknowledgement;

#[cfg(test)]
#[path = "tests/peer.rs"]
mod tests;
