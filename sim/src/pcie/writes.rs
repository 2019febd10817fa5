//! Writes in flight: cut into packets, whose bytes are read from the card's memories ahead of time, and which leave
//! in the order of their descriptors.

use std::collections::VecDeque;

use super::{
    Config, DATA, PORTS,
    port::{Descriptor, SEGMENT, SEGMENTS},
    reads::PAGE,
};

/// Rows that are asked for ahead of the packet that leaves, at most.
const ROWS_AHEAD: usize = 32;
/// Bytes that a packet takes of the link beside its own: header, sequence number, check code, framing.
const OVERHEAD: u64 = 24;
/// Picoseconds that the link takes for a byte: 16 lanes of 8 GT/s, 128 of 130 bits.
const BYTE_PS: f64 = 63.5;

/// A row of one of the card's memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of the memory.
    pub sel: u64,
    /// Number of the segment's row.
    pub row: u64,
}

/// A packet to host memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Port that the packet comes from.
    pub port: usize,
    /// Host address.
    pub addr: u64,
    /// Bytes of the packet.
    pub bytes: Vec<u8>,
    /// Tag of the descriptor that the packet is the last one of, if it is.
    pub over: Option<u64>,
}

/// A packet whose bytes are being read.
#[derive(Debug)]
struct Coming {
    packet: Packet,
    /// Offset of the packet in its first row, and its number of bytes.
    skip: usize,
    len: usize,
    /// Segments whose answers have not come, in order.
    missing: VecDeque<usize>,
}

/// A port's reads of the card's memories.
#[derive(Debug, Default)]
struct Memory {
    wanted: [VecDeque<Row>; SEGMENTS],
    answers: [VecDeque<[u8; SEGMENT]>; SEGMENTS],
}

/// The writes of all ports.
#[derive(Debug)]
pub struct Writes {
    longest: usize,
    waiting: [VecDeque<Descriptor>; PORTS],
    /// The port of a descriptor that is being cut, and the rest of it.
    cutting: Option<(usize, Descriptor)>,
    coming: VecDeque<Coming>,
    memories: [Memory; PORTS],
    link_free: u64,
}

impl Writes {
    /// Makes an empty set of writes.
    pub fn new(config: &Config) -> Self {
        Self {
            longest: config.max_payload,
            waiting: Default::default(),
            cutting: None,
            coming: VecDeque::new(),
            memories: Default::default(),
            link_free: 0,
        }
    }

    /// Number of descriptors that wait on a port.
    pub fn waiting(&self, port: usize) -> usize {
        self.waiting[port].len()
    }

    /// Adds a descriptor of a port.
    pub fn push(&mut self, port: usize, descriptor: Descriptor) {
        self.waiting[port].push_back(descriptor);
    }

    /// The row that a segment must be asked for next.
    pub fn wanted(&self, port: usize, segment: usize) -> Option<Row> {
        self.memories[port].wanted[segment].front().copied()
    }

    /// Records that a segment was asked for that row.
    pub fn asked(&mut self, port: usize, segment: usize) {
        self.memories[port].wanted[segment].pop_front();
    }

    /// Takes a segment's answer.
    pub fn answer(&mut self, port: usize, segment: usize, bytes: [u8; SEGMENT]) {
        self.memories[port].answers[segment].push_back(bytes);
    }

    /// Cuts a packet from a descriptor: the next one of the `ctrl` port, if that has one, else of `data`.
    pub fn cut(&mut self) {
        let ahead: usize = self.coming.iter().map(|coming| coming.missing.len()).sum();
        if ahead >= ROWS_AHEAD {
            return;
        }
        if self.cutting.is_none() {
            let port = (0..PORTS).find(|port| !self.waiting[*port].is_empty());
            self.cutting = port.and_then(|port| Some((port, self.waiting[port].pop_front()?)));
        }
        let Some((port, mut rest)) = self.cutting.take() else { return };
        let page = (PAGE - rest.addr % PAGE) as usize;
        let len = rest.len.min(self.longest).min(page);
        let start = rest.ram_addr as usize;
        let mut missing = VecDeque::new();
        if len > 0 {
            for word in start / SEGMENT..=(start + len - 1) / SEGMENT {
                let row = Row { sel: rest.ram_sel, row: (word / SEGMENTS) as u64 };
                self.memories[port].wanted[word % SEGMENTS].push_back(row);
                missing.push_back(word % SEGMENTS);
            }
        }
        let packet = Packet { port, addr: rest.addr, bytes: vec![], over: None };
        self.coming.push_back(Coming { packet, skip: start % SEGMENT, len, missing });
        rest.addr = rest.addr.wrapping_add(len as u64);
        rest.ram_addr += len as u64;
        rest.len -= len;
        match rest.len {
            0 => self.coming.back_mut().expect("a packet").packet.over = Some(rest.tag),
            _ => self.cutting = Some((port, rest)),
        }
    }

    /// Takes the packet that leaves, if its bytes are there and the link is free. `now` is in picoseconds.
    pub fn leave(&mut self, now: u64) -> Option<Packet> {
        let coming = self.coming.front_mut()?;
        let memory = &mut self.memories[coming.packet.port];
        while let Some(segment) = coming.missing.front()
            && let Some(bytes) = memory.answers[*segment].pop_front()
        {
            coming.packet.bytes.extend(bytes);
            coming.missing.pop_front();
        }
        if !coming.missing.is_empty() || self.link_free > now {
            return None;
        }
        let Coming { mut packet, skip, len, .. } = self.coming.pop_front()?;
        packet.bytes = packet.bytes.get(skip..skip + len).unwrap_or_default().to_vec();
        let time = (len as u64 + OVERHEAD) as f64 * BYTE_PS;
        self.link_free = self.link_free.max(now.saturating_sub(super::PS_PER_CYCLE)) + time as u64;
        Some(packet)
    }

    /// True if no write is under way.
    pub fn is_empty(&self) -> bool {
        self.cutting.is_none()
            && self.coming.is_empty()
            && self.waiting.iter().all(VecDeque::is_empty)
    }
}

const _: () = assert!(DATA == 1 && PORTS == 2, "`ctrl` comes before `data`");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcie::PS_PER_CYCLE;

    /// The byte at a place of a memory.
    fn byte(sel: u64, place: usize) -> u8 {
        (place as u64 * 7 + place as u64 / 251 + 100 * sel) as u8
    }

    fn descriptor(addr: u64, ram_sel: u64, ram_addr: u64, len: usize, tag: u64) -> Descriptor {
        Descriptor { addr, ram_sel, ram_addr, len, tag }
    }

    /// Runs until no write is under way. Returns the packets, and the time at which each left.
    fn run(writes: &mut Writes) -> Vec<(u64, Packet)> {
        let mut left = Vec::new();
        for cycle in 0..100_000 {
            writes.cut();
            for port in 0..PORTS {
                for segment in 0..SEGMENTS {
                    let Some(Row { sel, row }) = writes.wanted(port, segment) else { continue };
                    writes.asked(port, segment);
                    let start = (row as usize * SEGMENTS + segment) * SEGMENT;
                    writes.answer(port, segment, std::array::from_fn(|k| byte(sel, start + k)));
                }
            }
            left.extend(writes.leave(cycle * PS_PER_CYCLE).map(|packet| (cycle, packet)));
            if writes.is_empty() {
                return left;
            }
        }
        panic!("no end");
    }

    #[test]
    fn a_write_is_cut_at_the_maximum_payload_and_at_4_kib_whatever_its_alignment() {
        let mut writes = Writes::new(&Config::default());
        writes.push(DATA, descriptor(0x1_0fc3, 1, 0x3f, 700, 9));
        writes.push(DATA, descriptor(0x2_0000, 0, 0x80, 0, 10));
        let packets: Vec<_> = run(&mut writes).into_iter().map(|(_, packet)| packet).collect();
        let told: Vec<_> = packets.iter().map(|p| (p.addr, p.bytes.len(), p.over)).collect();
        let expected = [
            (0x1_0fc3, 61, None),
            (0x1_1000, 256, None),
            (0x1_1100, 256, None),
            (0x1_1200, 127, Some(9)),
            (0x2_0000, 0, Some(10)),
        ];
        assert_eq!(told, expected);
        let bytes: Vec<_> = packets.into_iter().flat_map(|packet| packet.bytes).collect();
        assert_eq!(bytes, (0..700).map(|k| byte(1, 0x3f + k)).collect::<Vec<_>>());
    }

    #[test]
    fn descriptors_of_a_port_keep_their_order_and_ctrl_goes_first() {
        let mut writes = Writes::new(&Config::default());
        (0..4).for_each(|tag| writes.push(DATA, descriptor(tag * 0x1000, 0, 0, 600, tag)));
        writes.cut();
        writes.push(0, descriptor(0x8000, 0, 0, 32, 7));
        let over: Vec<_> = run(&mut writes).into_iter().filter_map(|(_, p)| p.over).collect();
        assert_eq!(over, [0, 7, 1, 2, 3]);
    }

    #[test]
    fn writes_are_as_fast_as_the_link() {
        // Bytes of a write, and Gb/s.
        for (len, rate) in [(4096, 115.2), (64, 91.6), (32, 64.0)] {
            let mut writes = Writes::new(&Config::default());
            (0..500)
                .for_each(|tag| writes.push(DATA, descriptor(tag << 12, 0, 64 * tag, len, tag)));
            let left = run(&mut writes);
            let cycles = left[left.len() - 1].0 - left[0].0;
            let found = (499 * len * 8) as f64 / (cycles * 4) as f64;
            assert!((found - rate).abs() < 0.02 * rate, "{len}: {found}");
        }
    }
}
