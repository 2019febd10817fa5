//! Frames of peers: right messages of every opcode, and frames in which something was made wrong.

use std::{collections::VecDeque, convert::Infallible};

use drdma_abi::{
    receive::rights,
    roce::{AtomicEth, Bth, ETHERTYPE_VLAN, ICRC_SIZE, Reth, Transport, UDP_PORT, ecn},
    work_request::Opcode,
};
use drdma_semantics::{
    answers, icrc,
    packets::{self, Flow, Marks, MessageHead, Segment, psn_add, segments},
};
use drdma_verilated::testbench::Random;

use super::{
    host::{PSN, flow},
    memory::{Key, ROLES, keys},
};

/// Offsets of headers in frames without a tag.
const ETHERTYPE: usize = 12;
const IP: usize = 14;
const TOS: usize = IP + 1;
const IP_LENGTH: usize = IP + 2;
const FRAGMENT: usize = IP + 6;
const PROTOCOL: usize = IP + 9;
const IP_CHECKSUM: usize = IP + 10;
const UDP: usize = IP + 20;
const UDP_DESTINATION: usize = UDP + 2;
const UDP_LENGTH: usize = UDP + 4;
const BTH: usize = UDP + 8;
const PADS: usize = BTH + 1;
const PKEY: usize = BTH + 2;
const DEST_QP: usize = BTH + 5;
const PACKET_NUMBER: usize = BTH + 9;
/// The header behind the BTH: RETH, AtomicETH, DETH or AETH.
const EXTENDED: usize = BTH + Bth::SIZE;
const REMOTE_KEY: usize = EXTENDED + 8;
const DMA_LENGTH: usize = EXTENDED + 12;
/// The longest message of peers.
const LONGEST: u64 = 900;
/// Number of earlier frames that may be repeated.
const REMEMBERED: usize = 8;

/// The peer of one queue pair.
pub struct Peer {
    index: usize,
    flow: Flow,
    psn: u32,
    /// Frames of a message that is not sent completely.
    waiting: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
}

impl Peer {
    pub fn new(index: usize) -> Self {
        let (waiting, sent) = Default::default();
        Self { index, flow: flow(index), psn: PSN, waiting, sent }
    }

    /// Begins anew, as its queue pair was made anew.
    pub fn begin_anew(&mut self) {
        self.psn = PSN;
        self.waiting.clear();
    }

    /// The next right frame: of the message that is being sent, or of another one.
    pub fn next(&mut self, random: &mut Random) -> Vec<u8> {
        if self.waiting.is_empty() {
            self.begin(random);
        }
        let frame = self.waiting.pop_front().expect("a message has frames");
        self.sent.push_back(frame.clone());
        if self.sent.len() > REMEMBERED {
            self.sent.pop_front();
        }
        frame
    }

    /// An earlier frame, again.
    pub fn again(&self, random: &mut Random) -> Option<Vec<u8>> {
        let count = self.sent.len() as u64;
        (count > 0).then(|| self.sent[random.below(count) as usize].clone())
    }

    fn begin(&mut self, random: &mut Random) {
        let role = ROLES[self.index];
        if role.asks && random.chance(0.7) {
            let frame = self.answer(random);
            self.waiting.push_back(frame);
            return;
        }
        let kinds = match role.transport {
            Transport::Ud => 1,
            Transport::Uc => 2,
            Transport::Rc => 4,
        };
        match random.below(kinds) {
            0 => self.send(random),
            1 => self.write(random),
            2 => self.read(random),
            _ => self.atomic(random),
        }
    }

    fn send(&mut self, random: &mut Random) {
        let is_datagram = self.flow.transport == Transport::Ud;
        let is_reliable = self.flow.transport == Transport::Rc;
        let longest = if is_datagram { u64::from(self.flow.mtu) } else { LONGEST };
        // Most messages are whole rows for the append region.
        let row = if random.chance(0.8) { 12 } else { 1 };
        let len = (row * random.below(longest / row)) as u32;
        let opcode = if random.chance(0.3) { Opcode::SendImm } else { Opcode::Send };
        let invalidates = is_reliable && opcode == Opcode::Send && random.chance(0.05);
        let invalidate = invalidates.then(|| some_key(random, rights::ALL).rkey);
        let marks = Marks { solicited: random.chance(0.2), invalidate };
        let head = MessageHead { opcode, imm: 7, remote_addr: 0, rkey: 0, len };
        self.message(&head, &marks, random);
    }

    fn write(&mut self, random: &mut Random) {
        let key = some_key(random, rights::REMOTE_WRITE);
        let (remote_addr, len) = some_bytes(&key, random);
        let opcode = if random.chance(0.3) { Opcode::WriteImm } else { Opcode::Write };
        let head = MessageHead { opcode, imm: 9, remote_addr, rkey: key.rkey, len };
        self.message(&head, &Marks::default(), random);
    }

    fn message(&mut self, head: &MessageHead, marks: &Marks, random: &mut Random) {
        for segment in segments(head.len, self.flow.mtu) {
            let fill = |payload: &mut [u8]| {
                // None of these bytes is a secret one.
                payload.iter_mut().for_each(|byte| *byte = random.u64() as u8 & 0x7f);
                Ok::<_, Infallible>(())
            };
            let Ok(frame) =
                packets::marked_frame(&self.flow, head, &segment, self.psn, marks, fill);
            self.waiting.push_back(frame);
            self.psn = psn_add(self.psn, 1);
        }
    }

    fn read(&mut self, random: &mut Random) {
        let key = some_key(random, rights::REMOTE_READ);
        let (virtual_address, dma_length) = some_bytes(&key, random);
        let request = Reth { virtual_address, rkey: key.rkey, dma_length };
        self.waiting.push_back(answers::read_request(&self.flow, self.psn, &request));
        self.psn = psn_add(self.psn, dma_length.div_ceil(self.flow.mtu).max(1));
    }

    fn atomic(&mut self, random: &mut Random) {
        let key = some_key(random, rights::REMOTE_ATOMIC);
        let virtual_address = key.start + 8 * random.below(key.len / 8);
        let (swap_or_add, compare) = (random.below(3), random.below(3));
        let request = AtomicEth { virtual_address, rkey: key.rkey, swap_or_add, compare };
        let swap = random.chance(0.5);
        self.waiting.push_back(answers::atomic_request(&self.flow, self.psn, swap, &request));
        self.psn = psn_add(self.psn, 1);
    }

    /// An answer to the card's READ, which has one packet: the right one, or one of another kind.
    fn answer(&self, random: &mut Random) -> Vec<u8> {
        let syndrome = if random.chance(0.5) { 0x1f } else { random.u64() as u8 };
        match random.below(4) {
            0 => answers::acknowledgement(&self.flow, syndrome, PSN, 1),
            1 => answers::atomic_answer(&self.flow, PSN, 1, random.u64()),
            _ => {
                let (first, last) = (random.chance(0.8), random.chance(0.8));
                let segment = Segment { offset: 0, len: 256, first, last };
                let Ok(frame) = answers::read_answer(&self.flow, &segment, PSN, 1, |payload| {
                    payload.fill(0x66);
                    Ok::<_, Infallible>(())
                });
                frame
            }
        }
    }
}

/// A key with that right, in the queue pairs' protection domain.
fn some_key(random: &mut Random, right: u32) -> Key {
    let keys = keys();
    let good: Vec<&Key> =
        keys.iter().filter(|key| key.rights & right != 0 && key.is_ours()).collect();
    *good[random.below(good.len() as u64) as usize]
}

/// A range of the bytes that a key gives access to: address and length.
fn some_bytes(key: &Key, random: &mut Random) -> (u64, u32) {
    let len = random.below(LONGEST.min(key.len));
    (key.start + random.below(key.len - len + 1), len as u32)
}

/// Number of kinds of changes.
const KINDS: u64 = 19;

/// Makes a change; checksums are mostly made right again.
pub fn mutate(frame: &mut Vec<u8>, random: &mut Random) {
    let tagged = random.chance(0.02);
    for _ in 0..=random.below(2) {
        let len = frame.len() as u64;
        match random.below(KINDS) {
            // A bit of the BTH or of the headers behind it.
            0..3 => {
                let at = BTH as u64 + random.below((len - BTH as u64 - 4).min(40));
                flip(frame, at as usize, random);
            }
            // The operation, or the transport as well.
            3 => {
                let operation = random.below(0x20) as u8;
                let transport = number(frame, BTH, 1) as u8 & 0xe0;
                patch(frame, BTH, &[transport | operation]);
            }
            4 => patch(frame, BTH, &[random.u64() as u8]),
            // More or fewer bytes, and lengths that may say so.
            5 => resize(frame, random),
            // A frame that ends too early.
            6 => {
                frame.truncate((IP as u64 + random.below(len - IP as u64)) as usize);
                break;
            }
            // Near the packet sequence number, and far from it.
            7 => {
                let by =
                    if random.chance(0.7) { 0xff_fffd + random.below(7) } else { random.u64() };
                let psn = number(frame, PACKET_NUMBER, 3).wrapping_add(by);
                patch(frame, PACKET_NUMBER, &(psn as u32).to_be_bytes()[1..]);
            }
            // Another queue pair, or none.
            8 => {
                let qpn = 0x100 + random.below(ROLES.len() as u64 + 2) as u32;
                patch(frame, DEST_QP, &qpn.to_be_bytes()[1..]);
            }
            // Another key, of whatever kind.
            9 => {
                let keys = keys();
                let key = keys[random.below(keys.len() as u64) as usize];
                let rkey = key.rkey ^ if random.chance(0.2) { 1 << random.below(32) } else { 0 };
                patch(frame, REMOTE_KEY, &rkey.to_be_bytes());
                if random.chance(0.5) {
                    patch(frame, EXTENDED, &(key.start + random.below(key.len)).to_be_bytes());
                }
            }
            // Another address: near, at the end of a key, at the end of everything.
            10 => {
                let address = number(frame, EXTENDED, 8);
                let keys = keys();
                let key = keys[random.below(keys.len() as u64) as usize];
                let near = random.below(64).wrapping_sub(32);
                let address = match random.below(4) {
                    0 => address.wrapping_add(near),
                    1 => key.start.wrapping_add(near),
                    2 => (key.start + key.len).wrapping_add(near),
                    _ => near,
                };
                patch(frame, EXTENDED, &address.to_be_bytes());
            }
            // Another length.
            11 => {
                let len = match random.below(3) {
                    0 => number(frame, DMA_LENGTH, 4).wrapping_add(random.below(9)).wrapping_sub(4),
                    1 => 1 << random.below(32),
                    _ => u64::from(u32::MAX) - random.below(4),
                };
                patch(frame, DMA_LENGTH, &(len as u32).to_be_bytes());
            }
            // The syndrome, where there is one.
            12 => patch(frame, EXTENDED, &[random.u64() as u8]),
            // Pads, solicited, migrated, version.
            13 => flip(frame, PADS, random),
            // A length of IP or UDP that the frame does not have.
            14 => {
                let at = if random.chance(0.5) { IP_LENGTH } else { UDP_LENGTH };
                let near = number(frame, at, 2).wrapping_add(random.below(17)).wrapping_sub(8);
                let len = if random.chance(0.7) { near } else { random.u64() };
                patch(frame, at, &(len as u16).to_be_bytes());
            }
            // A fragment: a later one, or one with more behind it.
            15 => {
                let fragment = if random.chance(0.5) { 1 + random.below(0x1fff) } else { 0x2000 };
                patch(frame, FRAGMENT, &(fragment as u16).to_be_bytes());
            }
            // Another protocol.
            16 => match random.below(3) {
                0 => patch(frame, ETHERTYPE, &(random.u64() as u16).to_be_bytes()),
                1 => patch(frame, PROTOCOL, &[random.u64() as u8]),
                _ => {
                    let port = UDP_PORT ^ 1 << random.below(16);
                    patch(frame, UDP_DESTINATION, &port.to_be_bytes());
                }
            },
            // Congestion, or another partition.
            17 if random.chance(0.5) => patch(frame, TOS, &[ecn::CONGESTED]),
            17 => patch(frame, PKEY, &(random.u64() as u16).to_be_bytes()),
            // A bit anywhere.
            _ => flip(frame, random.below(len) as usize, random),
        }
    }
    if random.chance(0.9) {
        seal(frame);
    }
    if tagged {
        let [high, low] = ETHERTYPE_VLAN.to_be_bytes();
        frame.splice(ETHERTYPE..ETHERTYPE, [high, low, 0, random.below(2) as u8]);
    }
}

fn flip(frame: &mut [u8], at: usize, random: &mut Random) {
    if let Some(byte) = frame.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

/// Overwrites bytes, if the frame has them.
fn patch(frame: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = frame.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn number(frame: &[u8], at: usize, len: usize) -> u64 {
    let bytes = frame.get(at..at + len).unwrap_or_default();
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Makes a frame longer or shorter, in multiples of four bytes.
fn resize(frame: &mut Vec<u8>, random: &mut Random) {
    let end = frame.len().saturating_sub(ICRC_SIZE);
    let rest = frame.split_off(end);
    let count = 4 * (1 + random.below(20)) as usize;
    let len = if random.chance(0.5) { end + count } else { end.saturating_sub(count) };
    frame.resize(len.max(EXTENDED), 0);
    frame.extend(rest);
    let ip = (frame.len() - IP) as u16;
    patch(frame, IP_LENGTH, &ip.to_be_bytes());
    patch(frame, UDP_LENGTH, &(ip - (UDP - IP) as u16).to_be_bytes());
}

/// Makes the checksums right.
fn seal(frame: &mut [u8]) {
    if frame.len() < EXTENDED + ICRC_SIZE {
        return;
    }
    patch(frame, IP_CHECKSUM, &[0; 2]);
    let checksum = icrc::internet_checksum(&frame[IP..UDP]);
    patch(frame, IP_CHECKSUM, &checksum.to_be_bytes());
    let crc = icrc::of_frame(frame);
    let at = frame.len() - ICRC_SIZE;
    patch(frame, at, &crc.to_le_bytes());
}
