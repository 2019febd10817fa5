//! The register map of BAR2: global registers, counters, tables and doorbells.
//!
//! Every access is 32 bits, naturally aligned; 64-bit values are two words, the low one first.
//! Reads of anything that is not listed return 0, writes to it are ignored.

use crate::layout;

/// Number of bytes of BAR2 that the card decodes.
pub const BAR2_SIZE: u32 = 1 << 24;

/// Access of the host to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The host can read the register.
    ReadOnly,
    /// The host can read and write the register.
    ReadWrite,
    /// The host can write the register; reads return 0.
    WriteOnly,
}

/// One 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Name of the register.
    pub name: &'static str,
    /// Byte offset in BAR2.
    pub offset: u32,
    /// Access of the host.
    pub access: Access,
    /// Value after reset.
    pub reset: u32,
    /// Documentation of the register.
    pub doc: &'static str,
}

macro_rules! registers {
    ($($(#[doc = $doc:literal])* $name:ident @ $offset:literal $access:ident = $reset:expr;)*) => {
        $($(#[doc = $doc])* pub const $name: Register = Register {
            name: stringify!($name),
            offset: $offset,
            access: Access::$access,
            reset: $reset,
            doc: concat!($($doc),*),
        };)*

        /// All global registers, in order of their offsets.
        pub const REGISTERS: &[Register] = &[$($name),*];
    };
}

/// Value of [`TYPE`]: "DRDM".
pub const TYPE_ID: u32 = 0x4452_444d;
/// Value of [`VERSION`]: major, minor, patch, 0.
pub const VERSION_ID: u32 = 0x0001_0000;

registers! {
    /// Block type, as Corundum's register blocks have it: 0x4452444d.
    TYPE @ 0x000 ReadOnly = TYPE_ID;
    /// Version of the card: major, minor, patch, 0 in its four bytes.
    VERSION @ 0x004 ReadOnly = VERSION_ID;
    /// Offset of the next register block: 0, there is none.
    NEXT @ 0x008 ReadOnly = 0;
    /// Low word of [`crate::ABI_HASH`]; software of another hash refuses the card.
    ABI_HASH_LOW @ 0x00c ReadOnly = 0;
    /// High word of [`crate::ABI_HASH`].
    ABI_HASH_HIGH @ 0x010 ReadOnly = 0;
    /// Bit 0: the card takes doorbells and sends. Bit 1: reset everything but this register,
    /// `COLUMN_MIN_ROWS` and `ASSEMBLER_WORDS`; reads 1, after power-up as well, until the tables are
    /// cleared (16.4 µs). Until then a write to a table waits; all other accesses are answered at once.
    CONTROL @ 0x014 ReadWrite = 0;
    /// Bit 0: work is in progress somewhere in the card.
    STATUS @ 0x018 ReadOnly = 0;
    /// Longest DMA read in bytes that the optimizer forms: a power of two, 64 to 4096.
    MAX_READ @ 0x01c ReadWrite = 512;
    /// The widest gap in bytes that the optimizer reads through instead of starting another DMA
    /// read. Unless it is 0, a gap between needed bytes of one cache line is read through, too. Where a
    /// request has no fetch plan, the card skips narrower gaps too, while that helps: see `READ_BALANCE`.
    MERGE_THRESHOLD @ 0x020 ReadWrite = 256;
    /// Low 32 bits of the card's MAC address.
    MAC_LOW @ 0x024 ReadWrite = 0;
    /// High 16 bits of the card's MAC address.
    MAC_HIGH @ 0x028 ReadWrite = 0;
    /// The card's IPv4 address; 10.0.0.1 is 0x0a000001.
    IP @ 0x02c ReadWrite = 0;
    /// Units of 1,024 cycles without progress after which an unacknowledged request completes with
    /// `retry_exceeded`, up to 4,096 idle cycles later; 0 waits for ever.
    ACK_TIMEOUT @ 0x030 ReadWrite = 0;
    /// Writing anything clears every counter.
    COUNTER_CLEAR @ 0x034 WriteOnly = 0;
    /// The fewest rows that a destination of a request must have for several of its short rows to be
    /// packed in a cycle, where all of its destinations have the same lanes, or rows of one form one
    /// behind the other; unless there is one bitmap for one destination, half as many of rows of up to
    /// 6 values, a quarter of up to 2; 0: no request. Whatever it is, the same bytes are sent. Only a
    /// reset of the whole card sets it back.
    COLUMN_MIN_ROWS @ 0x038 ReadWrite = 96;
    /// Words of 4 B of payload that the assembler reads from the segmented memory in a cycle: 1 to
    /// 16. A write of another value sets 16. Whatever it is, the same bytes are sent, with fewer
    /// words later. Only a reset of the whole card sets it back.
    ASSEMBLER_WORDS @ 0x03c ReadWrite = 16;
    /// Congestion control: the least number of cycles between two congestion notification packets (CNPs) of one queue
    /// pair, 16 bits. The reset value, 4 µs, is that of NVIDIA's cards (`min_time_between_cnps`). With more, the queue
    /// of a switch behind senders that begin at once gets longer before their second cut.
    CNP_INTERVAL @ 0x040 ReadWrite = 1000;
    /// Congestion control: units of 256 cycles without a CNP after which alpha becomes smaller, 1 to 60,000. The
    /// reset value, 1.02 µs, is that of NVIDIA's cards, rounded (`dce_tcp_rtt`); the DCQCN paper has 55 µs.
    ALPHA_PERIOD @ 0x044 ReadWrite = 1;
    /// Congestion control: binary logarithm of 1/g, 1 to 15: how far alpha moves. The reset value is that of the DCQCN
    /// paper, g = 1/256.
    ALPHA_SHIFT @ 0x048 ReadWrite = 8;
    /// Congestion control: units of 256 cycles after which a limited rate is raised, 1 to 60,000. The reset value, 11.3
    /// µs, is this project's, for links of 100 Gb/s: longer than the packets of 4,096 B of 32 senders take, so that no
    /// rate is raised between two marks of its queue pair while a queue stays long. The DCQCN paper has 55 µs for 40
    /// Gb/s.
    RATE_PERIOD @ 0x04c ReadWrite = 11;
    /// Congestion control: units of 64 B that a queue pair sends until a limited rate is raised, 18 bits, at least 1.
    /// The reset value, 10 MB, is that of the DCQCN paper.
    RATE_BYTES @ 0x050 ReadWrite = 156_250;
    /// Congestion control: raises of either kind, less one, that only halve the distance to the rate before the last
    /// cut (F), 1 to 7. The reset value is that of HPCC's simulator; the DCQCN paper has 5.
    RATE_STAGES @ 0x054 ReadWrite = 1;
    /// Congestion control: what an additive raise adds, in Mb/s, 16 bits. The reset value is this project's, for links
    /// of 100 Gb/s: a sender has a quarter of the link back after 0.2 ms. The DCQCN paper has 40 Mb/s for 40 Gb/s.
    RATE_ADD @ 0x058 ReadWrite = 1500;
    /// Congestion control: what a hyper raise adds, in Mb/s, 16 bits. The reset value is this project's.
    RATE_HYPER @ 0x05c ReadWrite = 1000;
    /// Congestion control: no cut leaves less than this, in Mb/s, 64 to 65,535. The reset value is this project's:
    /// while the queue that senders have filled at their beginning drains, each CNP cuts their rates again, and from
    /// lower ones they take longer to come back. 250 senders at this rate fill a link of 100 Gb/s. HPCC's simulator has
    /// 100 Mb/s.
    MIN_RATE @ 0x060 ReadWrite = 400;
    /// How many bytes a DMA read should have on average, so that as many reads and as many of their bytes are in flight
    /// as the host allows: the one limit divided by the other, 1 to 511. By the mean of its reads the card settles
    /// which gaps are worth reading through, 16 to 496 B and never more than `MERGE_THRESHOLD`: more where reads are
    /// shorter, fewer where they are longer. Adjacent rows of packed columns are read together, as far as
    /// `MERGE_THRESHOLD` allows it, if they begin at most so many bytes apart; where they have gaps, a read has at most
    /// 64 B more than this value, rounded down to 64 B. 0: all gaps up to `MERGE_THRESHOLD`. Whatever it is, the same
    /// bytes are sent. The reset value is that of Corundum's DMA engine, 16 KiB and 64 reads.
    READ_BALANCE @ 0x064 ReadWrite = 256;
}

/// One 64-bit counter, which wraps around and never stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Name of the counter.
    pub name: &'static str,
    /// Byte offset of the low word in BAR2.
    pub offset: u32,
    /// Documentation of the counter.
    pub doc: &'static str,
}

/// Offset of the first counter.
pub const COUNTERS_OFFSET: u32 = 0x100;

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident = $index:literal;)*) => {
        /// The counters, by name.
        pub mod counter {
            use super::{Counter, COUNTERS_OFFSET};
            $($(#[doc = $doc])* pub const $name: Counter = Counter {
                name: stringify!($name),
                offset: COUNTERS_OFFSET + 8 * $index,
                doc: concat!($($doc),*),
            };)*
        }

        /// All counters, in order of their offsets.
        pub const COUNTERS: &[Counter] = &[$(counter::$name),*];
    };
}

counters! {
    /// Clock cycles since reset or the last clear.
    CYCLES = 0;
    /// Payload bytes handed to the MAC.
    PAYLOAD_BYTES = 1;
    /// Frame bytes handed to the MAC, without FCS.
    FRAME_BYTES = 2;
    /// RoCE packets handed to the MAC.
    PACKETS = 3;
    /// DMA reads of payload data.
    DATA_READS = 4;
    /// Bytes of those reads.
    DATA_READ_BYTES = 5;
    /// DMA reads of work requests, bitmaps and pointers.
    CONTROL_READS = 6;
    /// Bytes of those reads.
    CONTROL_READ_BYTES = 7;
    /// Work requests completed, whatever their status.
    WORK_REQUESTS = 8;
    /// Acknowledgements taken. One that takes the place of another one of its queue pair, which waits in the card, does
    /// not count beside it.
    ACKS = 9;
    /// Windows planned.
    WINDOWS = 10;
    /// Cycles in which the assembler read payload, at least a byte.
    ASSEMBLE_BUSY = 11;
    /// Those of them in which another byte waited for its bank.
    ASSEMBLE_CONFLICT = 12;
    /// Cycles in which the assembler's next beat waited for data from the host; those before it may
    /// still be read.
    ASSEMBLE_EMPTY = 13;
    /// Cycles in which the assembler's next beat found no room because the packetizer took none.
    ASSEMBLE_BLOCKED = 14;
    /// Received RoCEv2 frames to the card's addresses that matched no queue pair, were damaged, or found no room.
    RECEIVE_DROPPED = 15;
    /// Those of them that found no room.
    RECEIVE_OVERRUN = 16;
    /// Received packets that their queue pair did not need: there before, out of order, or of a message that was given
    /// up. On UC and UD also those that fail a check.
    RECEIVE_IGNORED = 17;
    /// Congestion notification packets (CNPs) sent, because a packet had met congestion.
    CNPS_SENT = 18;
    /// CNPs received for a queue pair of the card.
    CNPS_RECEIVED = 19;
}

/// A table of equal entries that the host writes word by word; the last word of an entry makes the
/// new entry effective. Reads return 0, except for the tables that are read only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name of the table.
    pub name: &'static str,
    /// Byte offset in BAR2.
    pub offset: u32,
    /// Number of entries.
    pub entries: u32,
    /// Size of one entry in bytes.
    pub entry_size: u32,
    /// Documentation of the table.
    pub doc: &'static str,
}

impl Table {
    /// Byte offset of entry `index`.
    pub const fn entry(&self, index: u32) -> u32 {
        self.offset + index * self.entry_size
    }

    /// Number of bits of an index: the binary logarithm of the number of entries.
    pub const fn index_bits(&self) -> usize {
        self.entries.ilog2() as usize
    }
}

/// Queue pairs; entries are [`QueuePairEntry`].
pub const QUEUE_PAIRS: Table = Table {
    name: "QUEUE_PAIRS",
    offset: 0x10_0000,
    entries: 4096,
    entry_size: 64,
    doc: "Queue pair contexts, by local queue pair index.",
};
/// Memory regions; entries are [`MemoryRegionEntry`].
pub const MEMORY_REGIONS: Table = Table {
    name: "MEMORY_REGIONS",
    offset: 0x20_0000,
    entries: 4096,
    entry_size: 32,
    doc: "Memory regions, by the low 12 bits of the local key.",
};
/// Send queues; entries are [`SendQueueEntry`].
pub const SEND_QUEUES: Table = Table {
    name: "SEND_QUEUES",
    offset: 0x30_0000,
    entries: 4096,
    entry_size: 32,
    doc: "Send queues, a queue pair's own or shared ones, by queue number.",
};
/// Completion queues; entries are [`CompletionQueueEntry`].
pub const COMPLETION_QUEUES: Table = Table {
    name: "COMPLETION_QUEUES",
    offset: 0x40_0000,
    entries: 1024,
    entry_size: 32,
    doc: "Completion queues, by number.",
};
/// Doorbells: writing a queue's producer position (in blocks, modulo 2^32) starts the card on it.
pub const DOORBELLS: Table = Table {
    name: "DOORBELLS",
    offset: 0x50_0000,
    entries: 4096,
    entry_size: 4,
    doc: "Send queue doorbells: the producer position in blocks, modulo 2^32.",
};
/// Queue pair states as the card sees them: reads return 1 while the queue pair is in error.
pub const QUEUE_PAIR_ERRORS: Table = Table {
    name: "QUEUE_PAIR_ERRORS",
    offset: 0x60_0000,
    entries: 4096,
    entry_size: 4,
    doc: "Read only: 1 while the queue pair is in the error state, else 0.",
};
/// Send queue states as the card sees them: reads return 1 while the queue is halted by an error.
pub const SEND_QUEUE_ERRORS: Table = Table {
    name: "SEND_QUEUE_ERRORS",
    offset: 0x70_0000,
    entries: 4096,
    entry_size: 4,
    doc: "Read only: 1 while the send queue is halted by an error, else 0.",
};

/// Distance in bytes from a table to the next one: bits 20 to 23 of an address select the table,
/// and the lower ones the place in it.
pub const TABLE_STRIDE: u32 = 0x10_0000;

/// All tables, in order of their offsets.
pub const TABLES: &[Table] = &[
    QUEUE_PAIRS,
    MEMORY_REGIONS,
    SEND_QUEUES,
    COMPLETION_QUEUES,
    DOORBELLS,
    QUEUE_PAIR_ERRORS,
    SEND_QUEUE_ERRORS,
];

// The properties by which the card decodes addresses and indices.
const _: () = {
    let mut k = 0;
    while k < TABLES.len() {
        let table = TABLES[k];
        assert!(table.entries.is_power_of_two() && table.entry_size.is_power_of_two());
        assert!(table.offset == (k as u32 + 1) * TABLE_STRIDE);
        assert!(table.entries * table.entry_size <= TABLE_STRIDE);
        assert!(table.offset + TABLE_STRIDE <= BAR2_SIZE);
        k += 1;
    }
    assert!(DOORBELLS.entries == SEND_QUEUES.entries);
    assert!(SEND_QUEUE_ERRORS.entries == SEND_QUEUES.entries);
    assert!(QUEUE_PAIR_ERRORS.entries == QUEUE_PAIRS.entries);
};

layout! {
    /// A queue pair's context.
    little struct QueuePairEntry: 64 {
        /// The peer's MAC address.
        dest_mac: u64 = 48,
        /// IPv4 type of service: DSCP in the upper 6 bits, ECN in the lower 2.
        tos: u8 = 8,
        /// IPv4 time to live; 0 stands for 64.
        ttl: u8 = 8,
        /// The peer's IPv4 address.
        dest_ip: u32 = 32,
        /// The queue pair's number on the wire, 24 bits.
        qpn: u32 = 32,
        /// The peer's queue pair number, 24 bits.
        dest_qpn: u32 = 32,
        /// The queue key of UD.
        qkey: u32 = 32,
        /// Partition key.
        pkey: u16 = 16,
        /// A [`crate::roce::Transport`].
        transport: u8 = 8,
        /// Binary logarithm of the path MTU: 8 to 12.
        log_mtu: u8 = 8,
        /// Tag control information of its frames' 802.1Q tags: priority 3 bits, drop eligible 1, VLAN 12.
        vlan: u16 = 16,
        /// 1: its frames have an 802.1Q tag, and those that it takes are of that VLAN; 0: they are of none.
        tagged: u8 = 1,
        /// 0.
        reserved: u16 = 15,
        /// The first packet sequence number, 24 bits; loaded when the last word is written.
        start_psn: u32 = 32,
        /// The protection domain: it sends for queues of the same one alone.
        pd: u32 = 32,
        /// 0.
        reserved3: u64 = 64,
        /// 0.
        reserved4: u64 = 64,
        /// 0.
        reserved5: u32 = 32,
        /// Last word: 1 ready to send, 0 reset; on a card that receives also 2, ready to receive. Writing it
        /// clears the error state, but for 1 after 2.
        state: u32 = 32,
    }
}

layout! {
    /// A memory region: what a local key allows.
    little struct MemoryRegionEntry: 32 {
        /// First byte, as the card addresses it. Of a described key: the index of its region in
        /// [`KEY_REGIONS`](crate::described::KEY_REGIONS).
        addr: u64 = 64,
        /// Bytes. Those of a described key are addressed from 0 on.
        len: u64 = 64,
        /// The whole local key; its low 12 bits are the entry's index.
        lkey: u32 = 32,
        /// What else than being sent from it allows: [`crate::receive::rights`].
        rights: u32 = 32,
        /// The protection domain: queues and queue pairs of the same one alone may use it.
        pd: u32 = 32,
        /// Last word: 1 valid, [`DESCRIBED`](crate::described::DESCRIBED) valid for peers alone, 0 not.
        valid: u32 = 32,
    }
}

layout! {
    /// A send queue's ring in host memory.
    little struct SendQueueEntry: 32 {
        /// The ring; aligned to 64 bytes.
        addr: u64 = 64,
        /// Binary logarithm of the ring's blocks: 0 to 16.
        log_blocks: u8 = 8,
        /// 1: a shared send queue; 0: a queue pair's own.
        shared: u8 = 8,
        /// The completion queue that its requests complete to.
        completion_queue: u16 = 16,
        /// The owner of a queue that is not shared: local queue pair index.
        qp: u32 = 32,
        /// The protection domain, which is that of all queue pairs and memory regions that its requests name.
        pd: u32 = 32,
        /// 0.
        reserved2: u32 = 32,
        /// 0.
        reserved3: u32 = 32,
        /// Last word: 1 enabled, 0 not. Writing it sets the queue's position to 0 and clears its
        /// error.
        enable: u32 = 32,
    }
}

layout! {
    /// A completion queue's ring in host memory.
    little struct CompletionQueueEntry: 32 {
        /// The ring; aligned to 64 bytes.
        addr: u64 = 64,
        /// Binary logarithm of its entries: 0 to 16.
        log_entries: u8 = 8,
        /// 0.
        reserved: u32 = 24,
        /// 0.
        reserved2: u32 = 32,
        /// 0.
        reserved3: u32 = 32,
        /// The consumer's position, in entries, modulo 2^32: written by the host as it takes
        /// completions. The card never writes more than the ring's size ahead of it.
        consumer: u32 = 32,
        /// 0.
        reserved4: u32 = 32,
        /// Last word: 1 enabled, 0 not. Writing it sets the card's position to 0.
        enable: u32 = 32,
    }
}
