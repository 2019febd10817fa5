//! Random entries, valid or nearly so.

use super::reference::{Batch, Card, Part};
use drdma_abi::Layout;
use drdma_abi::receive::{AddressHandle, ReliableOpcode, request_flags};
use drdma_abi::register::{
    MEMORY_REGIONS, MemoryRegionEntry, QUEUE_PAIRS, QueuePairEntry, SendQueueEntry,
};
use drdma_abi::roce::Transport;
use drdma_abi::work_request::{
    BLOCK, Destination, Element, ElementKind, ElementSource, GRANULE, KeyType, KindElement,
    MAX_PARTITIONS, MAX_SPLITTERS, PartitionBy, PartitionFunction, PartitionKey, RegionHeader,
    RegionShape, RegionType, RemoteColumn, WQE_MAGIC, WqeHeader, flags, shape_flags,
};
use drdma_verilated::testbench::Random;
use std::collections::HashSet;

/// Queues from here on are shared; those before belong to the queue pair of their number.
pub const SHARED: u8 = 128;

/// The protection domain of all entries.
pub const PD: u32 = 0x8000_0005;

/// A card with memory regions of all sizes and places, and queue pairs of all transports.
pub fn card(random: &mut Random) -> Card {
    let mut regions = vec![MemoryRegionEntry::default(); MEMORY_REGIONS.entries as usize];
    for (index, entry) in regions.iter_mut().enumerate().filter(|(i, _)| i % 3 != 2) {
        let len = match index % 5 {
            0 => 1 + random.below(64),
            1 => 1 << 40,
            _ => 4096 + random.below(1 << 20),
        };
        let addr = match index % 7 {
            0 => 0_u64.wrapping_sub(len),
            1 => 0,
            _ => random.u64() >> 1,
        };
        let lkey = (random.u64() as u32) << 12 | index as u32;
        *entry = MemoryRegionEntry { addr, len, lkey, pd: PD, valid: 1, ..Default::default() };
    }
    let queue_pair = |index: u32| QueuePairEntry {
        transport: (index % 3) as u8,
        log_mtu: 8 + (index % 5) as u8,
        // Requests name the first 256; the others are there, and not ready.
        state: u32::from(index < 256 && index % 11 != 10),
        pd: PD,
        ..Default::default()
    };
    let queue = |index: u32| SendQueueEntry {
        shared: u8::from(index >= u32::from(SHARED)),
        qp: if index % 50 == 49 { QUEUE_PAIRS.entries + index } else { index },
        pd: PD,
        enable: 1,
        ..Default::default()
    };
    Card {
        regions,
        queue_pairs: (0..QUEUE_PAIRS.entries).map(queue_pair).collect(),
        queues: (0..256).map(queue).collect(),
        qp_errors: HashSet::new(),
        stopped: HashSet::new(),
    }
}

/// Limits and probabilities of random entries.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Destinations of an entry on a shared queue, at most.
    pub dests: u64,
    /// Regions of a destination, at most.
    pub regions: u64,
    /// Probability of a region that reaches beyond its memory.
    pub beyond: f64,
}

pub struct Generator<'a> {
    pub card: &'a Card,
    pub random: &'a mut Random,
    pub style: Style,
}

impl Generator<'_> {
    fn memory(&mut self) -> MemoryRegionEntry {
        loop {
            let entry =
                self.card.regions[self.random.below(MEMORY_REGIONS.entries.into()) as usize];
            if entry.valid == 1 {
                return entry;
            }
        }
    }

    /// A place for `len` bytes in `entry`, often at its end, sometimes a byte beyond.
    fn place(&mut self, entry: &MemoryRegionEntry, len: u64) -> u64 {
        let free = entry.len.saturating_sub(len);
        let beyond = self.random.chance(self.style.beyond);
        let offset = match self.random.below(3) {
            _ if beyond && self.random.chance(0.3) => 0_u64.wrapping_sub(1),
            _ if beyond => free + 1,
            0 => 0,
            1 => free,
            _ => self.random.below(free + 1),
        };
        entry.addr.wrapping_add(offset)
    }

    /// A length up to `most`, often a small one.
    fn len(&mut self, most: u64) -> u32 {
        let most = most.clamp(1, u32::MAX.into());
        let some = match self.random.below(4) {
            0 => most,
            1 => 1 + self.random.below(most),
            _ => 1 + self.random.below(most.min(40)),
        };
        some as u32
    }

    fn elements(&mut self) -> u16 {
        if self.random.chance(0.1) { 16 } else { 1 + self.random.below(16) as u16 }
    }

    /// The granules of a strided region of one extent.
    fn column(&mut self, count: u32) -> Vec<u8> {
        let steps = u64::from(count.saturating_sub(1));
        let mut entry = self.memory();
        while entry.len <= steps {
            entry = self.memory();
        }
        let period = 1 + self.random.below((entry.len - 1) / steps.max(1) + 1).saturating_sub(1);
        let free = entry.len - steps * period;
        let len = self.len(free);
        let base = self.place(&entry, steps * period + u64::from(len));
        let header = RegionHeader { addr: base, count, lkey: entry.lkey };
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend(RegionShape { period, elements: 1, ..Default::default() }.to_bytes());
        bytes.extend(Element { offset: 0, len, lkey: 0 }.to_bytes());
        bytes
    }

    /// The header of a bitmap.
    fn bitmap(&mut self, count: u32) -> RegionHeader {
        let entry = self.memory();
        let addr = self.place(&entry, count.div_ceil(8).into());
        RegionHeader { addr, count, lkey: entry.lkey }
    }

    /// The shape of a bitmapped region, some with fetch rows.
    fn selecting(&mut self, count: u32, elements: u16) -> RegionShape {
        let shape = RegionShape { elements, ..Default::default() };
        if self.random.chance(0.5) {
            return shape;
        }
        let mut entry = self.memory();
        while entry.len < u64::from(count.div_ceil(8)) {
            entry = self.memory();
        }
        let period = self.place(&entry, count.div_ceil(8).into());
        let other = self.random.chance(self.style.beyond / 4.0);
        let target_lkey = if other { entry.lkey ^ 1 << 20 } else { entry.lkey };
        RegionShape { period, target_lkey, flags: shape_flags::FETCH_ROWS, ..shape }
    }

    /// The granules of a bitmapped region of one column.
    fn selected_column(&mut self, bitmap: RegionHeader) -> Vec<u8> {
        let mut column = self.memory();
        while column.len < u64::from(bitmap.count) {
            column = self.memory();
        }
        let len = self.len(column.len / u64::from(bitmap.count).max(1));
        let offset = self.place(&column, u64::from(bitmap.count) * u64::from(len));
        let mut bytes = bitmap.to_bytes().to_vec();
        bytes.extend(self.selecting(bitmap.count, 1).to_bytes());
        bytes.extend(Element { offset, len, lkey: column.lkey }.to_bytes());
        bytes
    }

    /// Makes a destination's regions, the granules behind its head, differ a little.
    fn vary(&mut self, types: u64, granules: &mut Vec<u8>) {
        let kind = RegionType::of(types as u32, 0);
        let elements = match kind {
            RegionType::Contiguous => 0,
            _ => RegionShape::decode(&granules[GRANULE..]).elements,
        };
        if elements > 1 && types < 4 && self.random.chance(0.4) {
            // The only region has all lanes but the last.
            granules.truncate(granules.len() - GRANULE);
            let shape = RegionShape::decode(&granules[GRANULE..]);
            let fewer = RegionShape { elements: elements - 1, ..shape };
            granules[GRANULE..2 * GRANULE].copy_from_slice(&fewer.to_bytes());
            return;
        }
        // The first region's count, or its first element's length: its keys cover fewer still.
        let at = match kind {
            RegionType::Contiguous => 8,
            _ if self.random.chance(0.5) => 8,
            _ => 2 * GRANULE + 8,
        };
        let value = granules[at..].first_chunk::<4>().map_or(0, |b| u32::from_le_bytes(*b));
        if value > 1 {
            granules[at..at + 4].copy_from_slice(&(value - 1).to_le_bytes());
        }
    }

    /// The granules of a region.
    pub fn region(&mut self, kind: RegionType) -> Vec<u8> {
        let elements = self.elements();
        self.region_of(kind, elements)
    }

    /// The granules of a region of `elements` elements.
    fn region_of(&mut self, kind: RegionType, elements: u16) -> Vec<u8> {
        let entry = self.memory();
        let lkey = entry.lkey;
        let mut bytes = Vec::new();
        let shape = RegionShape { elements, ..Default::default() };
        let empty = self.random.chance(0.1);
        match kind {
            RegionType::Contiguous => {
                let count = self.len(entry.len);
                let addr = self.place(&entry, count.into());
                bytes.extend(RegionHeader { addr, count, lkey }.to_bytes());
            }
            RegionType::Strided => {
                let count = if empty { 0 } else { self.len(entry.len) };
                let steps = u64::from(count.saturating_sub(1)).max(1);
                let period = u64::from(self.len(((entry.len - 1) / steps).max(1)));
                let wide = self.random.chance(self.style.beyond / 8.0);
                let period = if wide { self.random.u64() | 1 } else { period };
                let span = u128::from(count.saturating_sub(1)) * u128::from(period);
                let free = entry.len.saturating_sub(span.min(1 << 63) as u64);
                // The base may lie outside, as long as the extents do not.
                let shift = self.random.below(1 + entry.addr.min(5000));
                let addr = entry.addr - shift;
                bytes.extend(RegionHeader { addr, count, lkey }.to_bytes());
                bytes.extend(RegionShape { period, ..shape }.to_bytes());
                for _ in 0..elements {
                    let len = self.len(free);
                    let offset = self.place(&entry, span as u64 + u64::from(len));
                    let offset = offset.wrapping_sub(addr);
                    bytes.extend(Element { offset, len, lkey: 0 }.to_bytes());
                }
            }
            RegionType::Bitmapped => {
                let count = if empty { 0 } else { self.len((8 * entry.len).min(1 << 20)) };
                let addr = self.place(&entry, count.div_ceil(8).into());
                bytes.extend(RegionHeader { addr, count, lkey }.to_bytes());
                bytes.extend(self.selecting(count, elements).to_bytes());
                for _ in 0..elements {
                    let mut column = self.memory();
                    while column.len < u64::from(count) {
                        column = self.memory();
                    }
                    let len = self.len(column.len / u64::from(count).max(1));
                    let offset = self.place(&column, u64::from(count) * u64::from(len));
                    bytes.extend(Element { offset, len, lkey: column.lkey }.to_bytes());
                }
            }
            RegionType::PointerMapped => {
                let count = if empty || entry.len < 8 { 0 } else { self.len(entry.len / 8) };
                let addr = self.place(&entry, u64::from(count) * 8);
                let target = self.memory().lkey;
                let target = if self.random.chance(0.1) { target ^ 1 << 20 } else { target };
                bytes.extend(RegionHeader { addr, count, lkey }.to_bytes());
                bytes.extend(RegionShape { target_lkey: target, ..shape }.to_bytes());
                for _ in 0..elements {
                    let offset = self.random.u64() >> self.random.below(64);
                    let len = self.len(1 << 32);
                    bytes.extend(Element { offset, len, lkey: 0 }.to_bytes());
                }
            }
        }
        bytes
    }

    /// The granules of a partitioned request's region, whose ids have `width` bytes.
    fn partitioned(&mut self, width: u64) -> Vec<u8> {
        let entry = self.memory();
        let rows = entry.len / width;
        let count =
            if rows == 0 || self.random.chance(0.1) { 0 } else { self.len(rows.min(1 << 20)) };
        let addr = self.place(&entry, u64::from(count) * width);
        let elements = self.elements();
        let mut bytes = RegionHeader { addr, count, lkey: entry.lkey }.to_bytes().to_vec();
        bytes.extend(RegionShape { period: width, elements, ..Default::default() }.to_bytes());
        bytes.extend(self.columns(count, elements));
        bytes
    }

    /// Columns of `count` rows.
    fn columns(&mut self, count: u32, elements: u16) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..elements {
            let column = self.memory_of(count.into());
            let len = self.len(column.len / u64::from(count).max(1));
            let offset = self.place(&column, u64::from(count) * u64::from(len));
            bytes.extend(Element { offset, len, lkey: column.lkey }.to_bytes());
        }
        bytes
    }

    /// A memory region of at least `bytes` bytes.
    fn memory_of(&mut self, bytes: u64) -> MemoryRegionEntry {
        loop {
            let entry = self.memory();
            if entry.len >= bytes {
                return entry;
            }
        }
    }

    /// Address and key of `bytes` bytes in memory.
    fn range(&mut self, bytes: u64) -> (u64, u32) {
        let entry = self.memory_of(bytes);
        (self.place(&entry, bytes), entry.lkey)
    }

    /// The granules of a partitioned request's region whose ids, at least as many as there are destinations, are made
    /// from keys, and the number of the ids.
    fn partitioned_by(&mut self, dests: u64) -> (Vec<u8>, u64) {
        let range = self.random.chance(0.5);
        let most = u64::from(if range { MAX_SPLITTERS + 1 } else { MAX_PARTITIONS });
        let ids = match self.random.below(3) {
            0 => dests,
            1 => most,
            _ => dests + self.random.below(most - dests + 1),
        };
        let group = 1 + self.random.below((most / ids).min(u16::MAX.into()));
        let partitions = ((ids - 1) * group + 1 + self.random.below(group)) as u32;
        let number = if range { 1 } else { self.elements() };
        let rows = if self.random.chance(0.1) { 0 } else { self.len(1 << 16) };
        // Values of integers, of unsigned ones, of floats, of booleans, and of decimals; bits are none.
        let widths: [&[u32]; 6] = [&[1, 2, 4, 8], &[1, 2, 4, 8], &[4, 8], &[0, 1], &[], &[16]];
        let types = match range {
            true => [KeyType::Integer, KeyType::Unsigned, KeyType::Float, KeyType::Float],
            false => [KeyType::Integer, KeyType::Float, KeyType::Boolean, KeyType::Decimal],
        };
        let (mut keys, mut splitters) = (Vec::new(), (0, 0));
        for _ in 0..number {
            let key_type = types[self.random.below(4) as usize] as u8;
            let widths = widths[usize::from(key_type)];
            let width = widths[self.random.below(widths.len() as u64) as usize];
            let first = self.random.below(8) as u8;
            let bits = |first: u8| (u64::from(rows) + u64::from(first)).div_ceil(8);
            let fixed = (ElementKind::Fixed as u8, width, u64::from(rows) * u64::from(width));
            let bit = (ElementKind::Bits as u8, first.into(), bits(first));
            let (kind, width, bytes) = if width == 0 { bit } else { fixed };
            let (offset, lkey) = self.range(bytes);
            keys.extend(KindElement { offset, width, kind, lkey, log_entry: 0 }.to_bytes());
            keys.extend(ElementSource::default().to_bytes());
            let mut key = PartitionKey { key_type, ..Default::default() };
            if self.random.chance(0.5) {
                let first = self.random.below(8) as u8;
                let (validity, lkey) = self.range(bits(first));
                key = PartitionKey { validity, lkey, has_validity: 1, first, ..key };
            }
            keys.extend(key.to_bytes());
            if range && partitions > 1 {
                splitters = self.range(u64::from(partitions - 1) * u64::from(width));
            }
        }
        let elements = self.elements();
        let header = RegionHeader { addr: splitters.0, count: rows, lkey: splitters.1 };
        let flags = shape_flags::PARTITION_BY;
        let shape = RegionShape { elements, flags, ..Default::default() };
        let function = PartitionFunction {
            function: if range { PartitionBy::Range } else { PartitionBy::Murmur3 } as u8,
            keys: number as u8,
            group: group as u16,
            partitions,
            seed: if range { 0 } else { self.random.u64() as u32 },
            reserved: 0,
        };
        let mut bytes = [header.to_bytes(), shape.to_bytes(), function.to_bytes()].concat();
        bytes.extend(keys);
        bytes.extend(self.columns(rows, elements));
        (bytes, ids)
    }

    /// Draws the address of a datagram.
    fn address(&mut self) -> AddressHandle {
        AddressHandle {
            dest_mac: self.random.below(1 << 48),
            tos: self.random.u64() as u8,
            ttl: if self.random.chance(0.3) { 0 } else { self.random.u64() as u8 },
            dest_ip: self.random.u64() as u32,
            dest_qpn: self.random.below(1 << 24) as u32,
            qkey: self.random.u64() as u32,
            ..Default::default()
        }
    }

    /// An entry of a queue, made of whole blocks.
    pub fn entry(&mut self, queue: u8, position: u32) -> Vec<u8> {
        let shared = queue >= SHARED;
        let dests = if shared { 1 + self.random.below(self.style.dests) } else { 1 };
        let transport = self.card.queue_pairs[usize::from(queue)].transport;
        let of = |kind: Transport| !shared && transport == kind as u8;
        // There is no WRITE on UD.
        let opcode = self.random.below(if of(Transport::Ud) { 2 } else { 4 }) as u8;
        let fits = |qp: &u8| {
            let entry = &self.card.queue_pairs[usize::from(*qp)];
            let sends = entry.state == 1 && !(opcode >= 2 && entry.transport == 2);
            sends && !self.card.qp_errors.contains(qp)
        };
        let mut free: Vec<u8> = (0..=255).filter(fits).collect();
        let mut bytes = vec![0; 32];
        let mut first: Option<(u16, u64, Vec<u8>)> = None;
        let repeats = self.random.chance(0.4);
        let partitioned = shared && self.random.chance(0.25);
        let width = 1 + self.random.below(2);
        let mut ids = if width == 1 { 1 << 8 } else { 1 << 16 };
        let keyed = partitioned && self.random.chance(0.4);
        if keyed {
            let (region, made) = self.partitioned_by(dests);
            (ids, bytes) = (made, [bytes, region].concat());
        } else if partitioned {
            bytes.extend(self.partitioned(width));
        }
        let first_partition = self.random.below(ids);
        let inline = !shared && self.random.chance(0.25);
        let addressed = of(Transport::Ud) && self.random.chance(0.5);
        if addressed {
            bytes.extend(self.address().to_bytes());
        }
        let invalidates = of(Transport::Rc) && self.random.chance(0.2);
        let fenced = of(Transport::Rc) && self.random.chance(0.2);
        // A WRITE by columns: every destination has one region, all of the same number of elements.
        let by_columns = !inline && opcode >= 2 && !invalidates && self.random.chance(0.3);
        let most = if dests > 32 { 512 / dests } else { 16 };
        let mut remote_columns = 1 + self.random.below(most) as u8;
        if by_columns && partitioned {
            let shape = RegionShape::decode(&bytes[32 + GRANULE..]);
            remote_columns = shape.elements as u8;
        }
        let by_columns = by_columns && u64::from(remote_columns) * dests <= 512;
        let solicited = !shared && self.random.chance(0.3);
        for number in 0..dests {
            let any = self.random.below(free.len() as u64) as usize;
            let qp = if shared { free.swap_remove(any) } else { queue };
            let columns = self.random.chance(0.3);
            let mut regions = match columns {
                true => 1 + self.random.below(16) as u16,
                false => self.random.below(self.style.regions + 1) as u16,
            };
            let mut types = self.random.u64() & ((1 << (2 * regions)) - 1);
            let kind = 1 + self.random.below(2);
            if columns {
                // All strided or all bitmapped; sometimes one is not.
                types = (0x5555_5555 * kind) & ((1 << (2 * regions)) - 1);
                if self.random.chance(0.2) {
                    types &= !(3 << (2 * self.random.below(u64::from(regions))));
                }
            }
            let count = self.random.below(4) as u32;
            let bitmap = self.bitmap(count + 1);
            let mut granules = Vec::new();
            for index in 0..usize::from(regions) {
                let kind = RegionType::of(types as u32, index);
                let odd = u32::from(self.random.chance(0.02));
                let region = match kind {
                    RegionType::Strided if columns => self.column(count + odd),
                    RegionType::Bitmapped if columns => {
                        let other = self.bitmap(count + 1);
                        let count = bitmap.count - odd;
                        let differs = self.random.chance(0.02);
                        let header = if differs { other } else { bitmap };
                        self.selected_column(RegionHeader { count, ..header })
                    }
                    _ => self.region(kind),
                };
                granules.extend(region);
            }
            if let Some(first) = first.as_ref().filter(|_| repeats) {
                // The destination has the regions of the first one, or nearly the same.
                (regions, types, granules) = first.clone();
                if regions > 0 && self.random.chance(0.3) {
                    let only = if regions == 1 { types } else { 4 | types };
                    self.vary(only, &mut granules);
                }
            }
            if by_columns && !partitioned {
                regions = 1;
                types = 1 + self.random.below(2);
                granules = self.region_of(RegionType::of(types as u32, 0), remote_columns.into());
                if let Some(first) = first.as_ref().filter(|_| repeats) {
                    (regions, types, granules) = first.clone();
                }
            }
            let mut partition = 0;
            if partitioned {
                (regions, types) = (0, 0);
                granules.clear();
                partition = (first_partition + number) % ids;
            }
            let mut inline_bytes = 0;
            if inline {
                (regions, types) = (0, 0);
                inline_bytes =
                    if self.random.chance(0.2) { 0 } else { 1 + self.random.below(64) as u8 };
                let size = usize::from(inline_bytes).next_multiple_of(GRANULE);
                granules = self.random.bytes(size);
            }
            let head = Destination {
                inline_bytes,
                partition: partition as u16,
                qp: qp.into(),
                regions,
                remote_addr: self.random.u64(),
                rkey: self.random.u64() as u32,
                types: types as u32,
                ..Default::default()
            };
            // The columns of other messages have no addresses of their own.
            let in_order = !inline && self.random.chance(0.2);
            let head = Destination {
                message_layout: (by_columns || in_order).into(),
                remote_columns: if by_columns { remote_columns } else { 0 },
                ..head
            };
            bytes.extend(head.to_bytes());
            for _ in 0..head.remote_columns {
                let (addr, rkey) = (self.random.u64(), self.random.u64() as u32);
                bytes.extend(RemoteColumn { addr, rkey, reserved: 0 }.to_bytes());
            }
            bytes.extend(&granules);
            first.get_or_insert((regions, types, granules));
        }
        let fetched = self.random.chance(0.3);
        let head = WqeHeader {
            magic: WQE_MAGIC,
            opcode: if invalidates { ReliableOpcode::SendInvalidate as u8 } else { opcode },
            flags: if by_columns { 0 } else { self.random.below(2) as u8 }
                | if addressed { request_flags::ADDRESS } else { 0 }
                | if solicited { request_flags::SOLICITED } else { 0 }
                | if fenced { request_flags::FENCE } else { 0 }
                | if partitioned { flags::PARTITIONED } else { 0 }
                | if inline { flags::INLINE } else { 0 }
                | if fetched { flags::FETCH_PLAN } else { 0 }
                | if self.random.chance(0.3) { flags::UNSIGNALED } else { 0 },
            fetch_log_max_read: if fetched { 6 + self.random.below(7) as u8 } else { 0 },
            fetch_merge_threshold: if fetched { self.random.below(4096) as u16 } else { 0 },
            destinations: dests as u16,
            granules: (bytes.len() / GRANULE) as u32,
            position,
            wr_id: self.random.u64(),
            rows_per_message: match by_columns {
                true => u32::MAX,
                false => 1 + (self.random.u64() >> 33) as u32,
            },
            imm: self.random.u64() as u32,
        };
        head.encode(&mut bytes);
        // Padding may have any value.
        while !bytes.len().is_multiple_of(BLOCK) {
            bytes.push(self.random.u64() as u8);
        }
        bytes
    }

    /// A batch of up to `most` entries.
    pub fn batch(&mut self, queue: u8, most: u64) -> Batch {
        let position = self.random.u64() as u32;
        let mut bytes = Vec::new();
        for _ in 0..1 + self.random.below(most) {
            let here = position.wrapping_add((bytes.len() / BLOCK) as u32);
            let entry = self.entry(queue, here);
            bytes.extend(entry);
        }
        Batch { queue, position, bytes, unread: HashSet::new(), part: Part::default() }
    }
}
