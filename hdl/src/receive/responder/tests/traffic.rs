//! Packets as peers send them, and packets that no peer may send.

use std::collections::VecDeque;

use drdma_abi::roce::{
    Aeth, AtomicEth, Bth, Deth, Ethernet, Ipv4, Reth, Transport, Udp, VlanTag, operation as code,
};
use drdma_semantics::frame::{Frame, read_operation};
use drdma_semantics::packets::{Flow, psn_add};
use drdma_semantics::responder::packet::{Kind, packets};
use drdma_verilated::testbench::{Beat, Random};

use super::world::{BASE, SIZE, STORE_BYTES};

/// A packet, with fields that may be wrong.
#[derive(Clone, Debug)]
pub struct Packet {
    pub opcode: u8,
    pub ack_req: bool,
    pub pad: u8,
    pub pkey: u16,
    pub qpn: u32,
    pub psn: u32,
    pub source_ip: u32,
    pub vlan: Option<u16>,
    pub addr: u64,
    pub rkey: u32,
    pub len: u32,
    pub swap_or_add: u64,
    pub compare: u64,
    pub qkey: u32,
    pub source_qp: u32,
    pub imm: u32,
    pub syndrome: u8,
    pub payload: Vec<u8>,
}

impl Packet {
    fn operation(&self) -> u8 {
        self.opcode & 0x1f
    }

    /// The packet as a frame of the semantics.
    pub fn frame(&self) -> Frame<'_> {
        let (operation, transport) = (self.operation(), self.opcode >> 5);
        let (rc, ud) = (transport == 0, transport == 3);
        let known = rc
            || (transport == 1 && operation <= code::WRITE_ONLY_IMM)
            || (ud && [code::SEND_ONLY, code::SEND_ONLY_IMM].contains(&operation));
        let is = |codes: &[u8]| known && codes.contains(&operation);
        let reth = Reth { virtual_address: self.addr, rkey: self.rkey, dma_length: self.len };
        let atomic = AtomicEth {
            virtual_address: self.addr,
            rkey: self.rkey,
            swap_or_add: self.swap_or_add,
            compare: self.compare,
        };
        let with_reth =
            [code::WRITE_FIRST, code::WRITE_ONLY, code::WRITE_ONLY_IMM, read_operation::REQUEST];
        let with_imm =
            [code::SEND_LAST_IMM, code::SEND_ONLY_IMM, code::WRITE_LAST_IMM, code::WRITE_ONLY_IMM];
        let with_ieth = [code::SEND_LAST_INVALIDATE, code::SEND_ONLY_INVALIDATE];
        Frame {
            ethernet: Ethernet::default(),
            tag: self.vlan.map(|vid| VlanTag { vid, ..Default::default() }),
            ip: self.ip(),
            udp: Udp::default(),
            bth: Bth {
                opcode: self.opcode,
                pad: self.pad,
                pkey: self.pkey,
                dest_qp: self.qpn,
                ack_req: self.ack_req.into(),
                psn: self.psn,
                ..Default::default()
            },
            deth: ud.then_some(Deth {
                qkey: self.qkey,
                source_qp: self.source_qp,
                ..Default::default()
            }),
            reth: is(&with_reth).then_some(reth),
            aeth: is(&[code::ACKNOWLEDGE]).then_some(Aeth { syndrome: self.syndrome, msn: 0 }),
            atomic: is(&[code::COMPARE_AND_SWAP, code::FETCH_AND_ADD]).then_some(atomic),
            original: None,
            invalidate: is(&with_ieth).then_some(self.rkey),
            imm: is(&with_imm).then_some(self.imm),
            payload: &self.payload,
            padding: &[0; 3][..self.pad.into()],
        }
    }

    fn ip(&self) -> Ipv4 {
        Ipv4 {
            version: 4,
            ihl: 5,
            total_length: self.payload.len() as u16,
            source: self.source_ip,
            destination: 0x0a00_0001,
            checksum: self.psn as u16,
            ..Default::default()
        }
    }

    /// Puts the packet into the frame store from word `start` on; returns the beat for the block, and its words.
    pub fn store(&self, start: u64, store: &mut [u8], random: &mut Random) -> (Beat, u64) {
        let header = if self.vlan.is_some() { 18 } else { 14 };
        // The frame store holds headers for any kind of packet.
        let offset = header + 40 + 4 * random.below(14);
        let words = (offset + self.payload.len() as u64 + 8).div_ceil(64);
        let mut put = |at: u64, bytes: &[u8]| {
            for (k, byte) in bytes.iter().enumerate() {
                store[(start as usize * 64 + at as usize + k) % STORE_BYTES] = *byte;
            }
        };
        put(header, &self.ip().to_bytes());
        put(offset, &self.payload);
        let beat = Beat::from([
            ("opcode", u64::from(self.opcode)),
            ("solicited", random.below(2)),
            ("ack_req", self.ack_req.into()),
            ("padded", (self.pad != 0).into()),
            ("pkey", self.pkey.into()),
            ("qpn", self.qpn.into()),
            ("psn", self.psn.into()),
            ("source_ip", self.source_ip.into()),
            ("congested", random.below(2)),
            ("vlan", self.vlan.unwrap_or(0).into()),
            ("tagged", self.vlan.is_some().into()),
            ("addr", self.addr),
            ("rkey", self.rkey.into()),
            ("len", self.len.into()),
            ("swap_or_add", self.swap_or_add),
            ("compare", self.compare),
            ("qkey", self.qkey.into()),
            ("source_qp", self.source_qp.into()),
            ("imm", self.imm.into()),
            ("syndrome", self.syndrome.into()),
            ("msn", random.below(1 << 24)),
            ("start", start),
            ("offset", offset),
            ("bytes", self.payload.len().min(4097) as u64),
            ("words", words),
        ]);
        (beat, words)
    }
}

/// The peer of a queue pair.
#[derive(Clone, Debug)]
pub struct Peer {
    pub flow: Flow,
    /// The keys that it uses: key, first byte, bytes.
    pub keys: Vec<(u32, u64, u64)>,
    /// Probability with which the peer does something wrong.
    pub errors: f64,
    next_psn: u32,
    coming: VecDeque<Packet>,
    sent: VecDeque<Packet>,
}

impl Peer {
    pub fn new(flow: Flow, psn: u32, errors: f64) -> Self {
        let (keys, coming, sent) = Default::default();
        Self { flow, keys, errors, next_psn: psn, coming, sent }
    }

    fn packet(&self, operation: u8, psn: u32) -> Packet {
        let flow = &self.flow;
        Packet {
            opcode: flow.transport.opcode_bits() | operation,
            ack_req: false,
            pad: 0,
            pkey: flow.pkey,
            qpn: flow.qpn,
            psn,
            source_ip: flow.dest_ip,
            vlan: flow.vlan,
            addr: 0,
            rkey: 0,
            len: 0,
            swap_or_add: 0,
            compare: 0,
            qkey: flow.qkey,
            source_qp: flow.dest_qpn,
            imm: 0,
            syndrome: 0,
            payload: Vec::new(),
        }
    }

    /// A READ.
    fn read(&mut self, random: &mut Random) {
        let (mut rkey, start, bytes) = self.keys[random.below(self.keys.len() as u64) as usize];
        let len = if random.chance(0.2) { 0 } else { random.below(bytes + 1) };
        let mut addr = start + random.below(bytes - len + 1);
        if random.chance(self.errors) {
            addr = start.wrapping_add(random.below(2 * bytes + 1)).wrapping_sub(bytes / 2);
        }
        if random.chance(self.errors) {
            rkey ^= 1 << random.below(32);
        }
        let announced = match random.chance(0.3 * self.errors) {
            true => (1 << 31) + random.below(2),
            false => len,
        };
        let packet = Packet {
            ack_req: random.chance(0.5),
            addr,
            rkey,
            len: announced as u32,
            ..self.packet(code::READ_REQUEST, self.next_psn)
        };
        self.next_psn = psn_add(self.next_psn, packets(len as u32, self.flow.mtu));
        self.coming.push_back(packet);
    }

    /// An atomic.
    fn atomic(&mut self, random: &mut Random) {
        let (mut rkey, start, bytes) = self.keys[random.below(self.keys.len() as u64) as usize];
        // Few addresses, so that atomics meet at the same words.
        let mut addr = start.next_multiple_of(8) + 8 * random.below((bytes / 8).clamp(1, 4));
        if random.chance(self.errors) {
            addr = start.wrapping_add(random.below(2 * bytes + 1)).wrapping_sub(bytes / 2);
        }
        if random.chance(self.errors) {
            rkey ^= 1 << random.below(32);
        }
        let operation = [code::COMPARE_AND_SWAP, code::FETCH_AND_ADD][random.below(2) as usize];
        let packet = Packet {
            ack_req: random.chance(0.5),
            addr,
            rkey,
            // Small values, of which some are met.
            swap_or_add: if random.chance(0.5) { random.below(2) } else { random.u64() },
            compare: random.below(2),
            len: random.u64() as u32,
            ..self.packet(operation, self.next_psn)
        };
        self.next_psn = psn_add(self.next_psn, 1);
        self.coming.push_back(packet);
    }

    /// A message, in packets.
    fn message(&mut self, random: &mut Random) {
        if self.flow.transport == Transport::Rc && random.chance(0.4) {
            return if random.chance(0.5) { self.read(random) } else { self.atomic(random) };
        }
        let (mtu, transport) = (self.flow.mtu as u64, self.flow.transport);
        let write = transport != Transport::Ud && random.chance(0.5);
        let len = match random.below(6) {
            0 => 0,
            1 if transport != Transport::Ud => mtu * random.below(5),
            2 if transport != Transport::Ud => random.below(4 * mtu),
            _ => random.below(mtu + 1),
        };
        // Sometimes an empty packet behind the last one.
        let empty = transport != Transport::Ud && len > 0 && len % mtu == 0;
        let empty = empty && random.chance(3.0 * self.errors);
        let count = len.div_ceil(mtu).max(1) + u64::from(empty);
        let key = random.below(self.keys.len() as u64) as usize;
        let (mut rkey, start, bytes) = self.keys[key];
        let room = bytes.saturating_sub(len);
        let mut addr = start + if random.chance(0.3) { room } else { random.below(room + 1) };
        if random.chance(self.errors) {
            addr = match random.below(3) {
                0 => start.wrapping_sub(1),
                1 => start + room + 1,
                _ => random.u64(),
            };
        }
        if random.chance(self.errors) {
            rkey ^= 1 << random.below(32);
        }
        let announced = match random.below(4) {
            0 if random.chance(self.errors) => len + 1,
            1 if random.chance(self.errors) => len.saturating_sub(1),
            2 if random.chance(self.errors) => (1 << 31) + random.below(2),
            _ => len,
        };
        let (imm, invalidates) =
            (random.chance(0.4), transport == Transport::Rc && random.chance(0.05));
        let only = [code::SEND_ONLY, code::SEND_ONLY_IMM, code::SEND_ONLY_INVALIDATE];
        let last = [code::SEND_LAST, code::SEND_LAST_IMM, code::SEND_LAST_INVALIDATE];
        let ending = if imm {
            1
        } else if invalidates {
            2
        } else {
            0
        };
        for k in 0..count {
            let operation = match (write, k == 0, k + 1 == count) {
                (false, true, true) => only[ending],
                (false, false, true) => last[ending],
                (false, true, false) => code::SEND_FIRST,
                (false, false, false) => code::SEND_MIDDLE,
                (true, true, true) if imm => code::WRITE_ONLY_IMM,
                (true, true, true) => code::WRITE_ONLY,
                (true, false, true) if imm => code::WRITE_LAST_IMM,
                (true, false, true) => code::WRITE_LAST,
                (true, true, false) => code::WRITE_FIRST,
                (true, false, false) => code::WRITE_MIDDLE,
            };
            let part = (len - k * mtu).min(mtu);
            let packet = Packet {
                ack_req: random.chance(0.5),
                addr: if k == 0 { addr } else { random.u64() },
                rkey: if k == 0 || k + 1 == count { rkey } else { random.u64() as u32 },
                len: if k == 0 { announced as u32 } else { random.u64() as u32 },
                imm: random.u64() as u32,
                pad: if part % 4 == 0 || k + 1 < count { 0 } else { (4 - part % 4) as u8 },
                payload: random.bytes(part as usize),
                ..self.packet(operation, self.next_psn)
            };
            self.next_psn = psn_add(self.next_psn, 1);
            self.coming.push_back(packet);
        }
    }

    /// The next packet, where the responder expects `expected`.
    pub fn next(&mut self, expected: u32, random: &mut Random) -> Packet {
        if random.chance(0.1) {
            return self.acknowledgement(random);
        }
        let lost = self.coming.front().map_or(self.next_psn, |packet| packet.psn) != expected;
        if self.flow.transport == Transport::Rc && lost && random.chance(0.3) {
            // All packets from the expected one on are sent again.
            let at = self.sent.iter().position(|packet| packet.psn == expected);
            if let Some(at) = at {
                let again: Vec<_> = self.sent.drain(at..).collect();
                again.into_iter().rev().for_each(|packet| self.coming.push_front(packet));
            } else if self.coming.front().is_none_or(|packet| packet.psn != expected) {
                self.coming.clear();
                self.next_psn = expected;
            }
        }
        if random.chance(self.errors) && !self.sent.is_empty() {
            let at = random.below(self.sent.len() as u64) as usize;
            return self.sent[at].clone();
        }
        if random.chance(0.3 * self.errors) {
            // The rest of the message is never sent.
            if let Some(packet) = self.coming.front() {
                self.next_psn = packet.psn;
            }
            self.coming.clear();
        }
        if random.chance(0.3 * self.errors) {
            self.coming.pop_front();
        }
        while self.coming.is_empty() {
            self.message(random);
        }
        let mut packet = self.coming.pop_front().unwrap();
        if self.sent.len() == 12 {
            self.sent.pop_front();
        }
        self.sent.push_back(packet.clone());
        if random.chance(0.5 * self.errors) {
            self.spoil(&mut packet, random);
        }
        packet
    }

    fn acknowledgement(&self, random: &mut Random) -> Packet {
        let mut packet = self.packet(code::ACKNOWLEDGE, random.below(1 << 24) as u32);
        packet.syndrome = random.below(256) as u8;
        if random.chance(self.errors) {
            self.spoil(&mut packet, random);
        }
        packet
    }

    /// Makes a field of the packet wrong.
    fn spoil(&self, packet: &mut Packet, random: &mut Random) {
        match random.below(14) {
            0 => packet.pkey ^= 1 << random.below(16),
            1 => packet.qpn = (packet.qpn ^ 1 << random.below(24)) & 0xff_ffff,
            2 => packet.source_ip ^= 1 << random.below(32),
            3 => packet.qkey ^= 1 << random.below(32),
            4 => {
                packet.vlan = match packet.vlan {
                    Some(_) if random.chance(0.3) => None,
                    Some(vlan) => Some(vlan ^ 1 << random.below(12)),
                    None => Some(random.below(3) as u16),
                }
            }
            5 => packet.opcode = [0, 0x20, 0x60][random.below(3) as usize] | packet.operation(),
            6 | 7 => packet.opcode = (packet.opcode & 0xe0) | random.below(32) as u8,
            8 => packet.payload.push(1),
            9 => drop(packet.payload.pop()),
            10 => {
                let len = random_len(self.flow.mtu, random);
                packet.payload = random.bytes(len);
            }
            11 => packet.payload.clear(),
            12 => packet.pad = (packet.pad + 1) % 4,
            _ => packet.psn = psn_add(packet.psn, random.below(1 << 24) as u32),
        }
    }
}

fn random_len(mtu: u32, random: &mut Random) -> usize {
    let near = [mtu - 4, mtu, mtu + 1, mtu + 4, (2 * mtu).min(4100), 4097];
    near[random.below(near.len() as u64) as usize] as usize
}

/// True if a packet is one that the requester's side takes.
pub fn is_response(packet: &Packet) -> bool {
    Kind::of(packet.operation()) == Kind::Response
}

/// A stretch of memory.
pub fn stretch(random: &mut Random, most: u64) -> (u64, u64) {
    let len = random.below(most + 1);
    (BASE + random.below(SIZE - len), len)
}
