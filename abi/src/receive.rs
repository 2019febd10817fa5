//! What a card has that also receives: receive queues, remote keys, reliability, READ and atomics.
//!
//! A card says in [`FEATURES`] whether it has any of this; the tables here lie behind those of
//! [`crate::register`], and a card without the feature ignores what is written to them. All layouts of
//! a card that only sends are as they are without it.
//!
//! A receive queue is a ring of blocks of 64 B, like a send queue, whose entries are
//!
//! ```text
//! ReceiveHeader (2) { region }*
//! ReceiveHeader (2) AppendTarget (1)
//! ```
//!
//! in granules of 16 B, with regions as [`crate::work_request`] has them and append regions as [`crate::described`]. A
//! work queue entry that does what only a card does that receives has granules between its head and its destination:
//!
//! ```text
//! WqeHeader (2) [AddressHandle (2)] [AtomicOperands (1)] Destination (2) { region }*
//! ```

use crate::{
    layout,
    register::{Access, QUEUE_PAIRS, Register, Table},
    work_request::{MAX_ELEMENTS, MAX_REGIONS},
};

/// What the card can do beside sending: bits of [`features`].
pub const FEATURES: Register = Register {
    name: "FEATURES",
    offset: 0x80_0000,
    access: Access::ReadOnly,
    // The reference model has all bits.
    reset: features::RTL,
    doc: "What the card does beside sending. Bit 0: it receives; without it, the tables behind this register \
          do not exist, and no other bit is set. Bit 1: it fills regions of every type, else contiguous ones \
          alone. Bit 2: it sends READs and atomics, and waits at fences. Bit 3: requests \
          invalidate keys, ask for solicited events and name an address. Bit 4: it sends again what is lost. Bit 5: keys \
          open described regions. Bit 6: receives append to regions that the card keeps. Bit 7: columns have \
          values of variable length, or of a dictionary. Bit 8: columns are bits, and bitmaps begin at any bit. \
          Bit 9: messages go column by column. Bit 10: records lead to further ones by pointers. Bit 11: it makes \
          partitions of keys. Bit 12: it answers READs. Bit 13: it answers atomics. Bit 14: its receives fill strided regions as well as \
          contiguous ones; without bit 1, together up to 32 places a receive: one for a contiguous region, for a strided one \
          one and another for each extent. Bit 15: queue pairs whose packets may be marked (ECN 1 or 2 in `tos`) have congestion \
          control; without it, its registers and counters mean nothing. Bit 16: peers READ what keys open of described regions, \
          without kinds of columns; without bit 5, they do not WRITE there. Bit 17: WRITEs have an address a column; without bit 9, of \
          one strided, bitmapped or partitioned region a destination, without kinds of columns and keys, with no more rows than go into a message, with the row mask \
          `Period`, up to 512 addresses in all, and as many for each destination. \
          Bit 18: its receives fill bitmapped and pointer-mapped regions as well; \
          where a receive has one of these, and without bit 1, each of its regions takes as many of the 32 places as it has granules. \
          Bit 19: it makes partitions of keys whose values are \
          bits, or integers, floats, booleans and decimals of a fixed width, in a range of up to 8 B; without bit 11, of no others. \
          Bit 20: messages to one remote address, or to none as those of SENDs, go column by column.",
};

/// Bits of [`FEATURES`].
pub mod features {
    /// The card takes SENDs and WRITEs, and acknowledges them. Without this bit, no other one is
    /// set.
    pub const RECEIVES: u32 = 1 << 0;
    /// Receives and READs fill regions of every type; without this bit, contiguous ones alone.
    pub const SCATTERS: u32 = 1 << 1;
    /// The card sends READs and atomics, and has fences.
    pub const READS: u32 = 1 << 2;
    /// Requests with [`SendInvalidate`](super::ReliableOpcode::SendInvalidate) and all the
    /// [`request_flags`](super::request_flags).
    pub const REQUESTS: u32 = 1 << 3;
    /// The card keeps packets that it sent on RC until they are acknowledged, and retransmits them.
    pub const RETRANSMITS: u32 = 1 << 4;
    /// Keys can give peers access to described regions: [`crate::described`].
    pub const DESCRIBED_KEYS: u32 = 1 << 5;
    /// Receives append to regions that the card keeps: [`crate::described`].
    pub const APPENDS: u32 = 1 << 6;
    /// Columns whose values have a variable length, and dictionaries' values:
    /// [`ElementKind`](crate::work_request::ElementKind).
    pub const VARLEN: u32 = 1 << 7;
    /// Columns of bits, and bitmaps that begin at any bit.
    pub const BITS: u32 = 1 << 8;
    /// Messages that go column by column, and WRITEs with an address a column.
    pub const COLUMNS: u32 = 1 << 9;
    /// Records that lead to further ones by pointers: [`Chain`](crate::work_request::Chain).
    pub const CHASE: u32 = 1 << 10;
    /// The card makes partitions from keys:
    /// [`PartitionFunction`](crate::work_request::PartitionFunction).
    pub const PARTITIONS: u32 = 1 << 11;
    /// The card answers READs.
    pub const READ_ANSWERS: u32 = 1 << 12;
    /// The card answers atomics.
    pub const ATOMIC_ANSWERS: u32 = 1 << 13;
    /// Receives fill strided regions as well as contiguous ones, as far as they fit
    /// [`RECEIVE_PLACES`](super::RECEIVE_PLACES).
    pub const STRIDED_RECEIVES: u32 = 1 << 14;
    /// Congestion control (DCQCN): packets that met congestion are answered with CNPs, and CNPs limit the rate of
    /// queue pairs whose `tos` says that their packets may be marked.
    pub const CONGESTION: u32 = 1 << 15;
    /// Keys can give peers access to described regions for READs; without [`DESCRIBED_KEYS`], not
    /// for WRITEs.
    pub const DESCRIBED_READS: u32 = 1 << 16;
    /// WRITEs with an address a column. Without [`COLUMNS`] each destination has one region, strided, bitmapped or that
    /// of a partitioned request, without kinds of columns and keys; it has no more rows than `rows_per_message`, the
    /// row mask is `Period`, all destinations have as many remote addresses, and the request has at most
    /// [`MAX_CARD_REMOTE_COLUMNS`](crate::work_request::MAX_CARD_REMOTE_COLUMNS) of them.
    pub const COLUMN_WRITES: u32 = 1 << 17;
    /// Receives fill bitmapped and pointer-mapped regions as well, as far as they fit
    /// [`RECEIVE_PLACES`](super::RECEIVE_PLACES).
    pub const MAPPED_RECEIVES: u32 = 1 << 18;
    /// The card makes partitions from keys of fixed width. Without [`PARTITIONS`], not from bytes
    /// or values of dictionaries, and not by ranges of numbers of 16 B.
    pub const FIXED_KEYS: u32 = 1 << 19;
    /// Messages that go column by column to one remote address, or to none, as those of SENDs.
    pub const COLUMN_MESSAGES: u32 = 1 << 20;
    /// All bits: the features of the reference model `soft:`.
    pub const ALL: u32 = RECEIVES
        | SCATTERS
        | READS
        | REQUESTS
        | RETRANSMITS
        | DESCRIBED_KEYS
        | APPENDS
        | VARLEN
        | BITS
        | COLUMNS
        | CHASE
        | PARTITIONS
        | READ_ANSWERS
        | ATOMIC_ANSWERS
        | STRIDED_RECEIVES
        | CONGESTION
        | DESCRIBED_READS
        | COLUMN_WRITES
        | MAPPED_RECEIVES
        | FIXED_KEYS
        | COLUMN_MESSAGES;
    /// Features of the RTL.
    pub const RTL: u32 = RECEIVES
        | READS
        | REQUESTS
        | RETRANSMITS
        | DESCRIBED_KEYS
        | APPENDS
        | VARLEN
        | BITS
        | CHASE
        | READ_ANSWERS
        | ATOMIC_ANSWERS
        | STRIDED_RECEIVES
        | CONGESTION
        | DESCRIBED_READS
        | COLUMN_WRITES
        | MAPPED_RECEIVES
        | FIXED_KEYS
        | COLUMN_MESSAGES;
}

/// What queue pairs need beside their entry in [`QUEUE_PAIRS`]; entries are [`AttributesEntry`].
pub const QUEUE_PAIR_ATTRIBUTES: Table = Table {
    name: "QUEUE_PAIR_ATTRIBUTES",
    offset: 0x90_0000,
    entries: QUEUE_PAIRS.entries,
    entry_size: 32,
    doc: "What a queue pair receives into, allows, and how it retries, by local queue pair index.",
};
/// Receive queues; entries are [`ReceiveQueueEntry`].
pub const RECEIVE_QUEUES: Table = Table {
    name: "RECEIVE_QUEUES",
    offset: 0xa0_0000,
    entries: QUEUE_PAIRS.entries,
    entry_size: 32,
    doc: "Receive queues, a queue pair's own or shared ones, by queue number.",
};
/// Doorbells of receive queues.
pub const RECEIVE_DOORBELLS: Table = Table {
    name: "RECEIVE_DOORBELLS",
    offset: 0xb0_0000,
    entries: RECEIVE_QUEUES.entries,
    entry_size: 4,
    doc: "Receive queue doorbells: the producer position in blocks, modulo 2^32.",
};

/// The tables of a card that receives, by offset.
pub const RECEIVE_TABLES: &[Table] = &[QUEUE_PAIR_ATTRIBUTES, RECEIVE_QUEUES, RECEIVE_DOORBELLS];

/// Rights of a memory key or a queue pair: the codes of `ibv_access_flags`. Reading memory for
/// requests of its own host is always allowed to the card.
pub mod rights {
    /// The card writes to the memory for requests of its own host: receives, READs, atomics.
    pub const LOCAL_WRITE: u32 = 1 << 0;
    /// A peer may WRITE.
    pub const REMOTE_WRITE: u32 = 1 << 1;
    /// A peer may READ.
    pub const REMOTE_READ: u32 = 1 << 2;
    /// A peer may execute atomics.
    pub const REMOTE_ATOMIC: u32 = 1 << 3;
    /// Every right.
    pub const ALL: u32 = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
}

/// Largest number of READs and atomics that a queue pair may have outstanding in a direction.
pub const MAX_RD_ATOMIC: u8 = 16;
/// Value of `rnr_retry` that sets no limit.
pub const RNR_FOR_EVER: u8 = 7;
/// Duration in nanoseconds of a queue pair's timeout 0, which each further code doubles (0 itself
/// stands for no timeout).
pub const TIMEOUT_NS: u64 = 4096;
/// Pause that an RNR NAK asks for, by its five bits, in units of 10 us (IBTA 1.4 table 45).
pub const RNR_TIMERS: [u32; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
];
/// Number of bytes in front of a datagram in its receive: a global route header, or 20 B that are
/// not written and the IPv4 header.
pub const GLOBAL_ROUTE: usize = 40;

layout! {
    /// What a queue pair receives into and allows, and how it retries.
    ///
    /// A queue pair receives if its entry in `QUEUE_PAIRS` has the state 1 or 2, and this one 1 or 2.
    little struct AttributesEntry: 32 {
        /// The first packet sequence number that is expected, 24 bits.
        rq_psn: u32 = 32,
        /// The receive queue, if there is one.
        receive_queue: u16 = 16,
        /// 1: there is a receive queue.
        receives: u8 = 8,
        /// [`rights`] of the peer.
        rights: u8 = 8,
        /// What an RNR NAK asks for: an index of [`RNR_TIMERS`].
        min_rnr_timer: u8 = 8,
        /// READs and atomics of the peer that are kept for their repetition, 0 to 16.
        max_dest_rd_atomic: u8 = 8,
        /// READs and atomics that are sent before the first of them is answered, 0 to 16.
        max_rd_atomic: u8 = 8,
        /// A packet that asks for an acknowledgement waits for it 4.096 us * 2^timeout; 0: as long as
        /// `ACK_TIMEOUT` says, and is not sent again.
        timeout: u8 = 8,
        /// How often packets are sent again after a timeout or a NAK without anything being
        /// acknowledged meanwhile, 0 to 7.
        retry_cnt: u8 = 8,
        /// How often after an RNR NAK; 7: for ever.
        rnr_retry: u8 = 8,
        /// 0.
        reserved: u16 = 16,
        /// 0.
        reserved2: u64 = 64,
        /// 0.
        reserved3: u32 = 32,
        /// Last word: 0 does not receive. 1 receives from `rq_psn` on. 2 goes on receiving where it
        /// is, with these attributes.
        state: u32 = 32,
    }
}

layout! {
    /// A receive queue's ring in host memory.
    little struct ReceiveQueueEntry: 32 {
        /// The ring; aligned to 64 bytes.
        addr: u64 = 64,
        /// Binary logarithm of the ring's blocks: 0 to 16.
        log_blocks: u8 = 8,
        /// 1: a shared receive queue; 0: a queue pair's own.
        shared: u8 = 8,
        /// The completion queue that its receives complete to.
        completion_queue: u16 = 16,
        /// The owner of a queue that is not shared: local queue pair index.
        qp: u32 = 32,
        /// 0.
        reserved: u32 = 32,
        /// 0.
        reserved2: u64 = 64,
        /// Last word: 1 enabled, 0 not. Writing it sets the queue's position to 0 and clears its
        /// error.
        enable: u32 = 32,
    }
}

/// Number of places for the regions of one receive, on a card with
/// [`STRIDED_RECEIVES`](features::STRIDED_RECEIVES) and without [`SCATTERS`](features::SCATTERS): a
/// contiguous region takes one, a strided one takes one and another for each extent of its pattern.
/// If one of the regions is bitmapped or pointer-mapped, each of them takes as many as it has
/// granules.
pub const RECEIVE_PLACES: usize = 32;
/// Largest number of receives of many regions that may be in use on such a card at a time: of more
/// than 4, or of any that is not contiguous. A message that would take another one finds none.
pub const MANY_RECEIVES: usize = 512;

/// First byte of a receive queue's entry.
pub const RECEIVE_MAGIC: u8 = 0xd9;
/// Largest number of granules of a receive queue's entry.
pub const MAX_RECEIVE_GRANULES: usize = 2 + MAX_REGIONS * (2 + MAX_ELEMENTS);

layout! {
    /// The head of a receive queue's entry.
    little struct ReceiveHeader: 32 {
        /// [`RECEIVE_MAGIC`].
        magic: u8 = 8,
        /// [`receive_entry_flags`](crate::described::receive_entry_flags); the others are 0.
        flags: u8 = 8,
        /// Regions that follow, 0 to 16. A message fills them in their order.
        regions: u16 = 16,
        /// Granules of the whole entry, this head included, padding not.
        granules: u32 = 32,
        /// The ring position of the entry's first block, in blocks modulo 2^32.
        position: u32 = 32,
        /// Two bits a region, the first region's lowest: a
        /// [`RegionType`](crate::work_request::RegionType); unused bits are 0.
        types: u32 = 32,
        /// The application's name for the receive; its completion repeats it.
        wr_id: u64 = 64,
        /// 0.
        reserved: u64 = 64,
    }
}

layout! {
    /// The completion of a receive, in the ring of [`crate::completion::Completion`], which has a 0
    /// where this one has `receive`.
    little struct ReceiveCompletion: 32 {
        /// The receive's name.
        wr_id: u64 = 64,
        /// Bytes of the message, those of the [`GLOBAL_ROUTE`] included; 0 unless the status is success.
        byte_len: u32 = 32,
        /// The immediate data, or the remote key that was invalidated.
        imm: u32 = 32,
        /// The receive queue that it was posted to.
        receive_queue: u16 = 16,
        /// The queue pair that received: local queue pair index.
        qp: u16 = 15,
        /// 1: a receive.
        receive: u8 = 1,
        /// A [`ReceiveOpcode`].
        opcode: u8 = 8,
        /// [`receive_flags`].
        flags: u8 = 8,
        /// A [`crate::completion::Status`].
        status: u8 = 8,
        /// Flips each time that the ring wraps; written last.
        phase: u8 = 8,
        /// The ring position of the receive's first block, as in its head.
        position: u32 = 32,
        /// The sender's queue pair number, of a datagram.
        source_qp: u32 = 24,
        /// 0.
        reserved: u8 = 8,
    }
}

/// Kind of message that a receive got: the codes of `ibv_wc_opcode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReceiveOpcode {
    /// A SEND of any kind: the receive's regions were filled.
    Receive = 128,
    /// A WRITE with immediate data: the receive's regions were not touched.
    ReceiveWithImm = 129,
}

/// Bits of [`ReceiveCompletion::flags`]: the codes of `ibv_wc_flags`.
pub mod receive_flags {
    /// The first 40 B are the datagram's [`GLOBAL_ROUTE`](super::GLOBAL_ROUTE).
    pub const GLOBAL_ROUTE: u8 = 1 << 0;
    /// The message has immediate data.
    pub const IMM: u8 = 1 << 1;
    /// A remote key was invalidated.
    pub const INVALIDATED: u8 = 1 << 3;
    /// The message was appended: the entry is an
    /// [`AppendCompletion`](crate::described::AppendCompletion). This is no code of `ibv_wc_flags`.
    pub const APPENDED: u8 = 1 << 7;
}

/// Operations of a work queue entry that only a card that receives executes, and only on RC:
/// further values of [`WqeHeader::opcode`](crate::work_request::WqeHeader::opcode).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReliableOpcode {
    /// SEND that invalidates a remote key, which is in the head's `imm`.
    SendInvalidate = 16,
    /// READ: the remote bytes fill the regions.
    Read = 17,
    /// Compare and swap of 8 B; the value before fills the regions.
    CompareAndSwap = 18,
    /// Fetch and add of 8 B; the value before fills the regions.
    FetchAndAdd = 19,
}

impl ReliableOpcode {
    /// Every opcode.
    pub const ALL: [Self; 4] =
        [Self::SendInvalidate, Self::Read, Self::CompareAndSwap, Self::FetchAndAdd];

    /// The opcode with that code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|opcode| *opcode as u8 == code)
    }

    /// True for opcodes with [`AtomicOperands`].
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::CompareAndSwap | Self::FetchAndAdd)
    }
}

/// Further bits of [`WqeHeader::flags`](crate::work_request::WqeHeader::flags), for a queue pair's own
/// queue.
pub mod request_flags {
    /// An [`AddressHandle`](super::AddressHandle) follows the head: the destination of this
    /// request. Only on UD.
    pub const ADDRESS: u8 = 1 << 5;
    /// The receiver's completion is a solicited one.
    pub const SOLICITED: u8 = 1 << 6;
    /// The request waits for the READs and atomics before it on its queue pair.
    pub const FENCE: u8 = 1 << 7;
    /// All of these flags.
    pub const ALL: u8 = ADDRESS | SOLICITED | FENCE;
}

layout! {
    /// Where a datagram goes, instead of where the queue pair's entry says.
    little struct AddressHandle: 32 {
        /// The peer's MAC address.
        dest_mac: u64 = 48,
        /// IPv4 type of service.
        tos: u8 = 8,
        /// IPv4 time to live; 0 stands for 64.
        ttl: u8 = 8,
        /// The peer's IPv4 address.
        dest_ip: u32 = 32,
        /// The peer's queue pair number, 24 bits.
        dest_qpn: u32 = 32,
        /// The peer's queue key.
        qkey: u32 = 32,
        /// 0.
        reserved: u32 = 32,
        /// 0.
        reserved2: u64 = 64,
    }
}

layout! {
    /// What an atomic operation works with.
    little struct AtomicOperands: 16 {
        /// What a compare and swap writes; what a fetch and add adds.
        swap_or_add: u64 = 64,
        /// What a compare and swap compares with; 0 for a fetch and add.
        compare: u64 = 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Layout,
        completion::Completion,
        register::{BAR2_SIZE, TABLES},
        work_request::{Opcode, flags},
    };

    #[test]
    fn the_tables_lie_behind_those_of_a_card_that_sends() {
        let mut end = TABLES.iter().map(|table| table.entry(table.entries)).max().unwrap();
        assert!(end <= FEATURES.offset);
        end = FEATURES.offset + 4;
        for table in RECEIVE_TABLES {
            assert!(end <= table.offset, "{}", table.name);
            end = table.entry(table.entries);
        }
        assert!(end <= BAR2_SIZE);
        assert_eq!(QUEUE_PAIR_ATTRIBUTES.entry_size as usize, AttributesEntry::SIZE);
        assert_eq!(RECEIVE_QUEUES.entry_size as usize, ReceiveQueueEntry::SIZE);
        // The word that makes an entry effective is its last one.
        assert_eq!(AttributesEntry::field("state").start, (AttributesEntry::SIZE - 4) * 8);
        assert_eq!(ReceiveQueueEntry::field("enable").start, (ReceiveQueueEntry::SIZE - 4) * 8);
    }

    #[test]
    fn both_kinds_of_completions_share_what_tells_them_apart() {
        for name in ["wr_id", "status", "phase", "position"] {
            assert_eq!(
                ReceiveCompletion::field(name).start,
                Completion::field(name).start,
                "{name}"
            );
        }
        // `receive` is the top bit of a send queue's number.
        let (queue, receive) = (Completion::field("queue"), ReceiveCompletion::field("receive"));
        assert_eq!(receive.start, queue.start + queue.width - 1);
    }

    #[test]
    fn codes_and_flags_are_those_that_a_card_that_sends_does_not_have() {
        for opcode in ReliableOpcode::ALL {
            assert_eq!(ReliableOpcode::from_code(opcode as u8), Some(opcode));
            assert_eq!(Opcode::from_code(opcode as u8), None);
        }
        assert_eq!(ReliableOpcode::from_code(15), None);
        assert_eq!(ReliableOpcode::from_code(20), None);
        assert_eq!(request_flags::ALL & flags::SHARED, 0);
    }

    #[test]
    fn timers_are_those_of_the_specification() {
        assert_eq!(RNR_TIMERS[0], 65536, "655.36 ms");
        assert_eq!((RNR_TIMERS[1], RNR_TIMERS[14], RNR_TIMERS[31]), (1, 128, 49152));
        assert!(RNR_TIMERS[1..].is_sorted());
    }
}
