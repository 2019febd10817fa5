//! The memory of the host under test: the bytes that keys, receives and append regions give access to, and secret ones.

use std::ops::Range;

use drdma_abi::{described::DESCRIBED, receive::rights, roce::Transport};
use drdma_semantics::region::{Column, Extent, Region};

/// Address and size of the memory that keys and receives are in.
pub const TABLE: u64 = 0x1_0000_0000;
pub const BYTES: usize = 0x3_2000;
/// Value of the bytes that no peer may see or change.
pub const SECRET: u8 = 0xee;
/// Protection domain of all objects but foreign ones.
pub const PD: u32 = 0;

/// Offsets of the areas of the memory.
pub const OPEN: Range<usize> = 0x3103..0x6f05;
pub const COUNTERS: Range<usize> = 0x9000..0x9100;
pub const READABLE: Range<usize> = 0xa085..0xb003;
pub const WRITABLE: Range<usize> = 0xc041..0xcfc3;
pub const FOREIGN: Range<usize> = 0xd000..0xe000;
pub const DESCRIBED_MEMORY: Range<usize> = 0x1_0000..0x1_d000;
pub const RECORDS: usize = 0x1_0100;
pub const RECORD: usize = 96;
pub const BITMAP: usize = 0x1_4011;
pub const ROWS: usize = 500;
pub const VALUES: [(usize, usize); 2] = [(0x1_5003, 8), (0x1_7000, 3)];
pub const POINTERS: usize = 0x1_9008;
pub const POINTED: usize = 0x1_a000;
pub const COUNT: usize = 60;
pub const APPENDED: Range<usize> = 0x2_0000..0x2_2000;
pub const APPEND_COLUMNS: [(usize, usize); 2] = [(0x2_0004, 4), (0x2_1000, 8)];
pub const CAPACITY: usize = 128;
pub const RECEIVED: Range<usize> = 0x2_4000..0x3_0200;
pub const SLOT: usize = 0x400;
pub const CONTIGUOUS_SLOTS: usize = 40;
pub const STRIDED_SLOTS: usize = 8;
/// Area that answers to the card's own READ are written to.
pub const LANDING: Range<usize> = 0x3_0000..0x3_0100;
/// Extents of a record, and of the records of pointers.
pub const EXTENTS: [(usize, usize); 2] = [(8, 16), (40, 25)];
pub const POINTED_EXTENT: (usize, usize) = (4, 12);
pub const POINTED_RECORD: usize = 64;

/// A key, as peers use it.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub rkey: u32,
    /// Address of the first byte, as peers name it.
    pub start: u64,
    pub len: u64,
    pub rights: u32,
    /// The last word of the key's entry.
    pub valid: u32,
    /// The address in the key's entry.
    pub addr: u64,
    pub pd: u32,
}

impl Key {
    fn plain(rkey: u32, range: Range<usize>, rights: u32) -> Self {
        let start = TABLE + range.start as u64;
        let len = range.len() as u64;
        Self { rkey, start, len, rights, valid: 1, addr: start, pd: PD }
    }

    fn described(rkey: u32, index: u64, len: usize) -> Self {
        let rights = rights::REMOTE_READ | rights::REMOTE_WRITE;
        let (len, start, valid) = (len as u64, 0, DESCRIBED);
        Self { rkey, start, len, rights, valid, addr: index, pd: PD }
    }

    /// True if the key is in the queue pairs' protection domain.
    pub fn is_ours(&self) -> bool {
        self.pd == PD
    }
}

pub const LOCAL: u32 = 0x44_4100;
pub const APPEND_LOCAL: u32 = 0x44_4200;
pub const RECEIVE_LOCAL: u32 = 0x44_4300;

/// True if the bitmap selects the row.
pub fn is_selected(row: usize) -> bool {
    row % 3 == 1 || row % 37 < 5
}

/// The key for atomics.
const WORDS: u32 = 0x77_7011;

/// Every key: those that peers may use first.
pub fn keys() -> Vec<Key> {
    let remote = rights::REMOTE_READ | rights::REMOTE_WRITE;
    let selected = (0..ROWS).filter(|row| is_selected(*row)).count();
    let row: usize = VALUES.iter().map(|(_, width)| width).sum();
    let record: usize = EXTENTS.iter().map(|(_, len)| len).sum();
    vec![
        Key::plain(0x55_5003, OPEN, remote),
        Key::plain(0x55_5104, READABLE, rights::REMOTE_READ),
        Key::plain(0x55_5205, WRITABLE, rights::REMOTE_WRITE),
        Key::described(0x55_5306, 0, 100 * record),
        Key::described(0x55_5407, 1, selected * row),
        Key::described(0x55_5508, 2, COUNT * POINTED_EXTENT.1),
        Key::plain(WORDS, COUNTERS, rights::REMOTE_ATOMIC),
        Key { pd: PD + 1, ..Key::plain(0x55_5609, FOREIGN, rights::ALL) },
        Key::plain(LOCAL, DESCRIBED_MEMORY, rights::LOCAL_WRITE),
        Key::plain(APPEND_LOCAL, APPENDED, rights::LOCAL_WRITE),
        Key::plain(RECEIVE_LOCAL, RECEIVED, rights::LOCAL_WRITE),
    ]
}

pub fn at(offset: usize) -> u64 {
    TABLE + offset as u64
}

pub fn extents(of: &[(usize, usize)]) -> Vec<Extent> {
    of.iter().map(|(offset, len)| Extent { offset: *offset as u64, len: *len as u32 }).collect()
}

pub fn columns(of: &[(usize, usize)], lkey: u32) -> Vec<Column> {
    of.iter().map(|(base, width)| Column { base: at(*base), width: *width as u32, lkey }).collect()
}

/// The regions of described keys, by their index.
pub fn described_regions() -> [Region; 3] {
    [
        Region::Strided {
            base: at(RECORDS),
            period: RECORD as u64,
            count: 100,
            lkey: LOCAL,
            pattern: extents(&EXTENTS),
        },
        Region::Bitmapped {
            bitmap: at(BITMAP),
            rows: ROWS as u32,
            lkey: LOCAL,
            columns: columns(&VALUES, LOCAL),
            fetch_rows: None,
        },
        Region::PointerMapped {
            pointers: at(POINTERS),
            count: COUNT as u32,
            lkey: LOCAL,
            target_lkey: LOCAL,
            pattern: extents(&[POINTED_EXTENT]),
        },
    ]
}

/// Initial contents of the memory, and what may be done to each byte of it.
pub struct Image {
    pub bytes: Vec<u8>,
    /// For each byte: whether the card may read it, and write to it.
    pub allowed: Vec<[bool; 2]>,
}

impl Image {
    pub fn new() -> Self {
        let mut image = Self { bytes: vec![SECRET; BYTES], allowed: vec![[false; 2]; BYTES] };
        image.area(OPEN, [true, true], Some(0x11));
        image.area(COUNTERS, [true, true], Some(0));
        image.area(READABLE, [true, false], Some(0x22));
        image.area(WRITABLE, [false, true], None);
        for record in 0..100 {
            for (offset, len) in EXTENTS {
                let start = RECORDS + RECORD * record + offset;
                image.area(start..start + len, [true, true], Some(0x33));
            }
        }
        image.area(BITMAP..BITMAP + ROWS.div_ceil(8), [true, false], Some(0));
        for row in (0..ROWS).filter(|row| is_selected(*row)) {
            image.bytes[BITMAP + row / 8] |= 1 << (row % 8);
            for (base, width) in VALUES {
                let start = base + width * row;
                image.area(start..start + width, [true, true], Some(0x44));
            }
        }
        image.area(POINTERS..POINTERS + 8 * COUNT, [true, false], None);
        for k in 0..COUNT {
            // Pointers lead to every other record, from the last one on.
            let record = POINTED + 2 * POINTED_RECORD * (COUNT - 1 - k);
            let (offset, len) = POINTED_EXTENT;
            let pointer = POINTERS + 8 * k;
            image.bytes[pointer..pointer + 8].copy_from_slice(&at(record).to_le_bytes());
            image.area(record + offset..record + offset + len, [true, true], Some(0x55));
        }
        for (base, width) in APPEND_COLUMNS {
            image.area(base..base + width * CAPACITY, [false, true], None);
        }
        image.area(LANDING, [false, true], None);
        for queue in 0..QUEUES {
            for number in 0..RECEIVES {
                for range in places(queue, number) {
                    image.area(range, [false, true], None);
                }
            }
        }
        image
    }

    fn area(&mut self, range: Range<usize>, allowed: [bool; 2], fill: Option<u8>) {
        self.allowed[range.clone()].fill(allowed);
        if let Some(fill) = fill {
            self.bytes[range].fill(fill);
        }
    }
}

/// Use of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    pub transport: Transport,
    pub log_mtu: u8,
    /// Its receive queue: the one of the same number, or a shared one.
    pub queue: usize,
    /// True if the card has a READ under way on the queue pair.
    pub asks: bool,
}

const fn role(transport: Transport, log_mtu: u8, queue: usize) -> Role {
    Role { transport, log_mtu, queue, asks: false }
}

/// Shared receive queues, behind those of queue pairs: of strided receives, and of receives that append.
pub const SHARED: usize = 8;
pub const SHARED_APPENDS: usize = 9;
pub const QUEUES: usize = 10;
/// Number of receives of a queue.
pub const RECEIVES: usize = 16;

/// The queue pairs; no frame names the last one, which is fresh at the end.
pub const ROLES: [Role; 8] = [
    role(Transport::Rc, 10, 0),
    role(Transport::Rc, 8, SHARED),
    role(Transport::Rc, 8, SHARED_APPENDS),
    role(Transport::Uc, 8, SHARED),
    role(Transport::Uc, 8, SHARED_APPENDS),
    role(Transport::Ud, 10, 5),
    Role { asks: true, ..role(Transport::Rc, 8, 6) },
    role(Transport::Rc, 8, 7),
];
/// Index of the fresh queue pair.
pub const FRESH: usize = ROLES.len() - 1;

/// Ranges that the bytes of a receive go to.
pub fn places(queue: usize, number: usize) -> Vec<Range<usize>> {
    // Places of strided receives lie apart, so that their gaps belong to no other receive.
    let slot = match queue {
        SHARED => CONTIGUOUS_SLOTS + number % STRIDED_SLOTS,
        _ => (queue * RECEIVES + number) % CONTIGUOUS_SLOTS,
    };
    let start = RECEIVED.start + SLOT * slot;
    match queue {
        SHARED => (0..8)
            .flat_map(|k| [(0, 48), (64, 33)].map(|(offset, len)| (start + 128 * k + offset, len)))
            .map(|(start, len)| start..start + len)
            .collect(),
        SHARED_APPENDS => Vec::new(),
        _ => std::iter::once(start + 5..start + 0x3e0).collect(),
    }
}
