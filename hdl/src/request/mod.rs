//! Doorbells to work requests: rings are fetched, work queue entries decoded, checked and resolved.

pub mod decoder;
pub mod queue;

use drdma_abi::work_request::{ElementKind, MAX_CARD_REMOTE_COLUMNS, MAX_DESTINATIONS, RegionType};
use drdma_emit::prelude::*;

/// Bits of a destination's index in its request.
pub const DEST_INDEX: usize = MAX_DESTINATIONS.ilog2() as usize;
/// Bits of a number of destinations.
pub const DEST_COUNT: usize = DEST_INDEX + 1;
const _: () = assert!(MAX_DESTINATIONS == 1 << DEST_INDEX);

/// Remote addresses of a WRITE by columns, those of all its destinations together, at most.
pub const MAX_REMOTE: u64 = MAX_CARD_REMOTE_COLUMNS as u64;

/// Types of regions, as requests and lane sets have them: [`RegionType`] in two bits.
pub const CONTIGUOUS: u64 = RegionType::Contiguous as u64;
/// See [`CONTIGUOUS`].
pub const STRIDED: u64 = RegionType::Strided as u64;
/// See [`CONTIGUOUS`].
pub const BITMAPPED: u64 = RegionType::Bitmapped as u64;
/// See [`CONTIGUOUS`].
pub const POINTER_MAPPED: u64 = RegionType::PointerMapped as u64;

/// How an entry of a column or extent leads to bytes, as [`LaneKind::kind`] has it: [`ElementKind`] in three bits.
pub const FIXED: u64 = ElementKind::Fixed as u64;
/// See [`FIXED`].
pub const BITS: u64 = ElementKind::Bits as u64;
/// See [`FIXED`].
pub const OFFSETS: u64 = ElementKind::Offsets as u64;
/// See [`FIXED`].
pub const VIEWS: u64 = ElementKind::Views as u64;
/// See [`FIXED`].
pub const DICTIONARY: u64 = ElementKind::Dictionary as u64;

/// How the entries of a lane lead to bytes. All 0: they are the bytes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct LaneKind {
    /// [`FIXED`], [`BITS`], [`OFFSETS`], [`VIEWS`] or [`DICTIONARY`].
    pub kind: Bits<3>,
    /// Offsets, dictionary: the binary logarithm of the bytes of an offset or index.
    pub log_entry: Bits<2>,
    /// Dictionary: bytes of a value. Bits: the place of row 0's bit in its byte.
    pub width: Bits<24>,
    /// Data, table of buffers, or dictionary.
    pub addr: Bits<64>,
    /// Offsets: the local key of the data. Else buffers, or values of the dictionary.
    pub number: Bits<32>,
}

/// What a set with kinds of columns has beside others.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct SetKinds {
    /// Bitmapped: the place of row 0's bit in the bitmap's first byte.
    pub first: Bits<3>,
    /// Pointer-mapped: records lead to further ones.
    pub chase: Bit,
    /// Strided: bytes from a period to the next. Chains: the pointer that ends one.
    pub period_or_end: Bits<64>,
    /// Bytes from a record's start to its pointer.
    pub link: Bits<32>,
    /// Records of a chain, at most.
    pub limit: Bits<25>,
    /// The protection domain whose keys it has.
    pub pd: Bits<32>,
}

/// Where a part of what a READ or an atomic brings goes: a region of its destination.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PieceWrite {
    /// The request.
    pub slot: Bits<8>,
    /// Regions before it.
    pub index: Bits<4>,
    /// Its first byte.
    pub addr: Bits<64>,
    /// Its bytes, at least 1.
    pub len: Bits<32>,
}

/// Where the datagrams of a request go, if it says so itself.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AddressWrite {
    /// The request.
    pub slot: Bits<8>,
    /// It says so; else its packets go where the queue pair's entry says, and the rest means nothing.
    pub named: Bit,
    /// The peer's MAC address.
    pub dest_mac: Bits<48>,
    /// IPv4 type of service.
    pub tos: Bits<8>,
    /// IPv4 time to live, not 0.
    pub ttl: Bits<8>,
    /// The peer's IPv4 address.
    pub dest_ip: Bits<32>,
    /// The peer's queue pair number.
    pub dest_qpn: Bits<24>,
    /// The peer's queue key.
    pub qkey: Bits<32>,
}

/// Binary logarithm of the bytes in which it is told where a part of a message begins.
pub const LOG_PART_UNIT: usize = 14;
/// Packets of a part, at most; of packets of more than 1,024 B four units are fewer.
pub const PART_PACKETS: u64 = 64;
/// Bits of such a place.
pub const PART: usize = 32 - LOG_PART_UNIT;
/// Parts of messages that may be on their way from the decoder to the segmenter when another one is fetched.
pub const PARTS_AHEAD: u64 = 3;

/// Which part of its message an entry stands for, as a block of it tells.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Part {
    /// Where it begins, in units of `2^LOG_PART_UNIT` bytes.
    pub first: Bits<PART>,
    /// Binary logarithm of its units, if it is not the last.
    pub log_units: Bits<2>,
    /// With the entry's last block: its message goes on in another part.
    pub pauses: Bit,
}

/// Which part of a request's message is sent for it.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PartWrite {
    /// The request.
    pub slot: Bits<8>,
    /// Bytes of the whole message. The rest means nothing if it is 0: the request is no part.
    pub whole: Bits<32>,
    /// The message was begun before.
    pub resumes: Bit,
    /// It goes on in another part.
    pub pauses: Bit,
}

/// How much a READ or an atomic brings.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AskWrite {
    /// The request.
    pub slot: Bits<8>,
    /// Bytes.
    pub len: Bits<32>,
    /// Packets of the answer, at least 1: so many sequence numbers does it take.
    pub packets: Bits<24>,
    /// Binary logarithm of the queue pair's MTU.
    pub log_mtu: Bits<4>,
}

/// How the ids of a partitioned request are made from its keys.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct FunctionWrite {
    /// The request.
    pub slot: Bits<8>,
    /// Keys, 1 to 16.
    pub keys: Bits<5>,
    /// Partitions, 1 to 2^16.
    pub partitions: Bits<17>,
    /// Neighbouring partitions that have one id, at least 1.
    pub group: Bits<16>,
    /// Where the hash of a row begins.
    pub seed: Bits<32>,
    /// Splitters make the partitions, not the hash.
    pub range: Bit,
}

/// Binary logarithm of the bytes of a key's value that stands for values of a bit.
pub const KEY_BITS: u64 = 5;

/// A key of such a request.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct KeyWrite {
    /// The request.
    pub slot: Bits<8>,
    /// Keys before it.
    pub key: Bits<4>,
    /// Row 0's value.
    pub addr: Bits<64>,
    /// Binary logarithm of the bytes of a value, 0 to 4, or [`KEY_BITS`].
    pub log_width: Bits<3>,
    /// Of bits: the place of row 0's in its byte.
    pub first: Bits<3>,
    /// A [`KeyType`](drdma_abi::work_request::KeyType).
    pub key_type: Bits<3>,
    /// Some rows have no value.
    pub nullable: Bit,
    /// Which have one: a bitmap of them, if `nullable`.
    pub validity: Bits<64>,
    /// The place of row 0's bit in its first byte.
    pub validity_first: Bits<3>,
}
