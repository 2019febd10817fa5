//! Random regions with kinds, and the memory that they lead to.

use super::{ALL, BASE, NOWHERE, POOL, SIZE};
use drdma_abi::work_request::{Chain, Element};
use drdma_semantics::kinds::{Entry, Kind, Kinds, Selection};
use drdma_semantics::region::{Column, Extent, Region};
use drdma_verilated::testbench::Random;
use std::ops::Range;

/// Host address of data whose first byte lies before their memory region.
const HEAD: u64 = BASE - 1;
/// Bytes of data that end with their memory region.
pub const TAIL_BYTES: u64 = 4200;
/// Host address at which these begin.
const TAIL: u64 = BASE + SIZE - TAIL_BYTES;

/// Host memory: a pool of random bytes, then the lists, columns and tables of regions.
///
/// `hole` is a part of lists, entries or tables, if any, whose reads the host answers with an error.
pub struct Maker<'a> {
    pub random: &'a mut Random,
    pub memory: Vec<u8>,
    pub hole: Option<Range<usize>>,
    /// Ranges that a request's regions name: each read that finds values must lie in one of them.
    pub named: Vec<Range<u64>>,
}

impl Maker<'_> {
    fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.random.below(high - low + 1)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.random.below(count) == 0
    }

    fn put(&mut self, bytes: &[u8]) -> u64 {
        let gap = self.random.below(9) as usize;
        self.memory.resize(self.memory.len() + gap, 0x5a);
        let at = BASE + self.memory.len() as u64;
        self.memory.extend(bytes);
        self.named.push(at..at + bytes.len() as u64);
        at
    }

    /// Puts bytes that lead to values, but are none. Now and then the host does not answer for them, or for the last
    /// ones.
    pub fn put_read(&mut self, bytes: &[u8]) -> u64 {
        let is_hole = self.hole.is_none() && !bytes.is_empty() && self.one_in(80);
        self.memory.resize(self.memory.len() + 64 * usize::from(is_hole), 0x5a);
        let at = self.put(bytes);
        if is_hole {
            // The hole begins with the bytes, or with a block of entries.
            let (mut from, end) = (at, at + bytes.len() as u64);
            let block = (at + self.random.below(bytes.len() as u64)).next_multiple_of(256);
            if block < end && self.one_in(2) {
                from = block;
            }
            self.hole = Some((from - BASE) as usize..(end - BASE) as usize);
            self.memory.resize(self.memory.len() + 64, 0x5a);
        }
        at
    }

    /// A random kind: fixed, or one whose entries lead elsewhere.
    fn kind(&mut self) -> Kind {
        let pool = BASE + self.random.below(POOL / 2);
        match self.random.below(4) {
            0 => Kind::Fixed { width: self.range(1, 90) as u32 },
            1 => {
                let (data, lkey) = match self.random.below(16) {
                    0 => (pool, NOWHERE),
                    1..=3 => (HEAD, ALL),
                    4..=6 => (TAIL, ALL),
                    _ => (pool, ALL),
                };
                Kind::Offsets { log_entry: self.range(2, 3) as u8, data, lkey }
            }
            2 => {
                let count = self.range(1, 9) as u32;
                let bad = self.one_in(40);
                // One buffer more than the table has: an index past its end would find a valid buffer.
                let table: Vec<u8> = (0..count + 1)
                    .flat_map(|i| {
                        let lkey = if bad && i == count / 2 { NOWHERE } else { ALL };
                        let offset = BASE + self.random.below(POOL / 2);
                        Element { offset, len: self.range(100, POOL / 2) as u32, lkey }.to_bytes()
                    })
                    .collect();
                let table = self.put_read(&table);
                self.named.last_mut().unwrap().end -= 16;
                Kind::Views { table, count, lkey: ALL }
            }
            _ => Kind::Dictionary {
                log_entry: self.range(0, 3) as u8,
                values: pool,
                width: self.range(1, 90) as u32,
                count: self.range(1, 20) as u32,
                lkey: ALL,
            },
        }
    }

    /// End of a value that begins at offset `from`: now and then the end of its memory region, or a byte behind it.
    fn value_end(&mut self, data: u64, from: u64) -> u64 {
        if data == TAIL && self.one_in(30) {
            return TAIL_BYTES + u64::from(self.one_in(3));
        }
        let more = if self.one_in(3) { 0 } else { self.range(0, 150) };
        from + more
    }

    /// Bytes of a random entry.
    fn entry(&mut self, kind: &Kind) -> Vec<u8> {
        let wrong = self.one_in(400);
        let short = |value: u64, log: u8| value.to_le_bytes()[..1 << log].to_vec();
        match *kind {
            Kind::Fixed { width } => self.random.bytes(width as usize),
            Kind::Bits { .. } => unreachable!(),
            Kind::Offsets { log_entry, data, .. } => {
                let before = data == HEAD && self.one_in(60);
                let from = if before { 0 } else { self.range(1, 4000) };
                let to = if wrong && !before { from - 1 } else { self.value_end(data, from) };
                // Offsets may lead back into the data, around 2^64.
                let around = 0_u64.wrapping_sub(0x4000);
                let (from, to) = match log_entry {
                    3 if self.one_in(400) => (from + around, to + around),
                    _ => (from, to),
                };
                [short(from, log_entry), short(to, log_entry)].concat()
            }
            Kind::Views { table, count, .. } => {
                if self.one_in(2) {
                    let mut view = (self.range(0, 12) as u32).to_le_bytes().to_vec();
                    view.extend(self.random.bytes(12));
                    return view;
                }
                let wrong = wrong || self.one_in(150);
                let index = if wrong { count } else { self.random.below(count.into()) as u32 };
                let at = (table - BASE) as usize + 16 * index as usize;
                let size = u32::from_le_bytes(self.memory[at + 8..at + 12].try_into().unwrap());
                let len = self.range(13, 99) as u32;
                let offset = self.range(0, u64::from(size - len)) as u32
                    + u32::from(self.one_in(300)) * size;
                [len, self.random.u64() as u32, index, offset]
                    .iter()
                    .flat_map(|word| word.to_le_bytes())
                    .collect()
            }
            Kind::Dictionary { log_entry, count, .. } => {
                let index = if wrong { count.into() } else { self.random.below(count.into()) };
                short(index, log_entry)
            }
        }
    }

    /// A column of `rows` rows.
    fn column(&mut self, rows: u32) -> Entry {
        if self.one_in(4) {
            let offset = BASE + self.random.below(POOL / 2);
            let first = self.range(0, 7);
            self.named.push(offset..offset + (first + u64::from(rows)).div_ceil(8));
            return Entry { offset, lkey: ALL, kind: Kind::Bits { first: first as u8 } };
        }
        let kind = self.kind();
        let bytes = match kind {
            Kind::Offsets { log_entry, data, .. } => {
                let mut at = if self.one_in(3) { 0 } else { self.range(1, 100) };
                let mut bytes = Vec::new();
                for _ in 0..rows + 1 {
                    bytes.extend(&at.to_le_bytes()[..1 << log_entry]);
                    if at < TAIL_BYTES - 150 {
                        at = self.value_end(data, at);
                    }
                    at -= u64::from(self.one_in(400)).min(at);
                }
                bytes
            }
            kind => (0..rows).flat_map(|_| self.entry(&kind)).collect(),
        };
        let offset = match kind {
            Kind::Offsets { .. } | Kind::Dictionary { .. } => self.put_read(&bytes),
            _ => self.put(&bytes),
        };
        Entry { offset, lkey: ALL, kind }
    }

    pub fn columns(&mut self, rows: u32) -> Vec<Entry> {
        (0..self.range(1, 5)).map(|_| self.column(rows)).collect()
    }

    /// Extents of records, the bytes of all records, each with 8 B at its end, and the bytes of a record.
    fn records(&mut self, count: u64, most: u64) -> (Vec<Entry>, Vec<u8>, u64) {
        let kinds: Vec<Kind> = (0..self.range(1, most)).map(|_| self.kind()).collect();
        let mut offset = self.random.below(9);
        let entries: Vec<Entry> = kinds
            .iter()
            .map(|kind| {
                let entry = Entry { offset, lkey: 0, kind: *kind };
                offset += kind.entry_len() + self.random.below(4);
                entry
            })
            .collect();
        let size = offset + 8;
        let mut bytes = vec![0xa5; (count * size) as usize];
        for row in 0..count {
            for entry in &entries {
                let at = (row * size + entry.offset) as usize;
                let made = self.entry(&entry.kind);
                bytes[at..at + made.len()].copy_from_slice(&made);
            }
        }
        (entries, bytes, size)
    }

    /// A region of `count` chains. With `units`, they have this number of records in all, each of one value.
    pub fn chains(&mut self, count: u64, units: Option<u64>) -> Region {
        let total = units.unwrap_or_else(|| self.range(1, 30));
        let most = if units.is_some() { 1 } else { 3 };
        let (entries, mut bytes, size) = self.records(total, most);
        let at = BASE + self.memory.len() as u64 + 16;
        let end = if self.one_in(2) { 0 } else { self.random.u64() };
        let next = size - 8;
        let mut pointers = Vec::new();
        let (mut record, mut longest) = (0, 1);
        for chain in 0..count {
            let mut len = self.range(0, 4).min(total - record);
            if units.is_some() && chain + 1 == count {
                len = total - record;
            }
            pointers.extend(if len == 0 { end } else { at + record * size }.to_le_bytes());
            for i in 0..len {
                let this = record + i;
                let mut to = if i + 1 == len { end } else { at + (this + 1) * size };
                if self.one_in(60) {
                    // The chain has a cycle, or a pointer outside of its bounds.
                    to = if self.one_in(2) { at + record * size } else { at + (1 << 40) };
                }
                let place = (this * size + next) as usize;
                bytes[place..place + 8].copy_from_slice(&to.to_le_bytes());
            }
            record += len;
            longest = longest.max(len);
        }
        self.memory.resize((at - BASE) as usize, 0);
        self.named.push(at..at + bytes.len() as u64);
        self.memory.extend(bytes);
        let pointers = self.put_read(&pointers);
        let limit =
            (longest + self.random.below(2)) as u32 - u32::from(longest > 1 && self.one_in(20));
        let chain = Chain { end, next: next as u32, limit: limit.max(1) };
        let count = count as u32;
        let rows = Selection::Chains { pointers, count, lkey: ALL, target_lkey: ALL, chain };
        Region::Kinds(Kinds { rows, entries })
    }

    /// A random region. With `units`, it has this number of units, each of one value.
    pub fn region(&mut self, units: Option<u64>) -> Region {
        let count = units.unwrap_or_else(|| self.range(0, 24));
        let most = if units.is_some() { 1 } else { 4 };
        match self.random.below(8) {
            0 if units.is_none_or(|units| units == 1) => Region::Contiguous {
                addr: BASE + self.random.below(POOL / 2),
                len: self.range(1, 300) as u32,
                lkey: ALL,
            },
            1 => {
                let pattern = (0..self.range(1, most))
                    .map(|_| Extent {
                        offset: self.random.below(60),
                        len: self.range(1, 80) as u32,
                    })
                    .collect();
                let period = self.range(1, 90);
                let base = BASE + self.random.below(POOL / 4);
                Region::Strided { base, period, count: count as u32, lkey: ALL, pattern }
            }
            2 => {
                let pointers: Vec<u8> = (0..count)
                    .flat_map(|_| (BASE + self.random.below(POOL / 2)).to_le_bytes())
                    .collect();
                let pattern =
                    vec![Extent { offset: self.random.below(60), len: self.range(1, 80) as u32 }];
                let pointers = self.put_read(&pointers);
                let count = count as u32;
                Region::PointerMapped { pointers, count, lkey: ALL, target_lkey: ALL, pattern }
            }
            3 => self.chains(count, units),
            4 => {
                let (entries, bytes, period) = self.records(count, most);
                let base = self.put(&bytes);
                let rows = Selection::Periods { base, period, count: count as u32, lkey: ALL };
                Region::Kinds(Kinds { rows, entries })
            }
            5 => {
                let (entries, bytes, size) = self.records(count.max(1), most);
                let base = self.put(&bytes);
                let pointers: Vec<u8> = (0..count)
                    .flat_map(|_| (base + size * self.random.below(count.max(1))).to_le_bytes())
                    .collect();
                let (pointers, count) = (self.put_read(&pointers), count as u32);
                let rows = Selection::Pointers { pointers, count, lkey: ALL, target_lkey: ALL };
                Region::Kinds(Kinds { rows, entries })
            }
            choice => {
                let first = self.range(0, 7);
                let rows = match units {
                    Some(count) => count,
                    None if self.one_in(6) => self.range(500, 1200),
                    None => self.range(0, 60),
                };
                let bits = self.range(1, 3);
                let bytes: Vec<u8> = (0..(first + rows).div_ceil(8))
                    .map(|_| match (units, bits) {
                        (Some(_), _) => 0xff,
                        (None, 1) if rows > 100 => 1 << self.random.below(64).min(7),
                        _ if rows > 100 => 1 << self.random.below(8) & self.random.u64() as u8,
                        _ => self.random.u64() as u8,
                    })
                    .collect();
                let bitmap = self.put_read(&bytes);
                if choice == 6 && first == 0 {
                    let columns = vec![Column {
                        base: BASE + self.random.below(POOL / 4),
                        width: self.range(1, 9) as u32,
                        lkey: ALL,
                    }];
                    let rows = rows as u32;
                    return Region::Bitmapped {
                        bitmap,
                        rows,
                        lkey: ALL,
                        columns,
                        fetch_rows: None,
                    };
                }
                let entries = match units {
                    Some(_) => vec![self.column(rows as u32)],
                    None => self.columns(rows as u32),
                };
                let (first, rows) = (first as u8, rows as u32);
                let rows = Selection::Bitmap { bitmap, first, rows, lkey: ALL };
                Region::Kinds(Kinds { rows, entries })
            }
        }
    }
}
