//! Turns doorbells into work requests: fetches rings, decodes work queue entries, checks and resolves them.

pub mod decoder;
pub mod queue;

use drdma_abi::work_request::{ElementKind, MAX_CARD_REMOTE_COLUMNS, MAX_DESTINATIONS, RegionType};
use drdma_emit::prelude::*;

/// Bits of the index of a destination in its request.
pub const DEST_INDEX: usize = MAX_DESTINATIONS.ilog2() as usize;
/// Bits of a count of destinations.
pub const DEST_COUNT: usize = DEST_INDEX + 1;
const _: () = assert!(MAX_DESTINATIONS == 1 << DEST_INDEX);

/// Remote addresses of a WRITE by columns, at most, those of all its destinations together.
pub const MAX_REMOTE: u64 = MAX_CARD_REMOTE_COLUMNS as u64;

/// Type of a contiguous region, as requests and lane sets have it: [`RegionType`] in two bits.
pub const CONTIGUOUS: u64 = RegionType::Contiguous as u64;
/// Type of a strided region.
pub const STRIDED: u64 = RegionType::Strided as u64;
/// Type of a bitmapped region.
pub const BITMAPPED: u64 = RegionType::Bitmapped as u64;
/// Type of a pointer-mapped region.
pub const POINTER_MAPPED: u64 = RegionType::PointerMapped as u64;

/// Kind of a column or extent whose entries are the bytes, as [`LaneKind::kind`] has it: [`ElementKind`] in three bits.
pub const FIXED: u64 = ElementKind::Fixed as u64;
/// Kind of a column whose entries are bits.
pub const BITS: u64 = ElementKind::Bits as u64;
/// Kind of a column whose entries are pairs of offsets.
pub const OFFSETS: u64 = ElementKind::Offsets as u64;
/// Kind of a column whose entries are views.
pub const VIEWS: u64 = ElementKind::Views as u64;
/// Kind of a column whose entries are indices into a dictionary.
pub const DICTIONARY: u64 = ElementKind::Dictionary as u64;

/// How the entries of a lane lead to bytes. All 0: the entries are the bytes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct LaneKind {
    /// Kind of the column: [`FIXED`], [`BITS`], [`OFFSETS`], [`VIEWS`] or [`DICTIONARY`].
    pub kind: Bits<3>,
    /// Of offsets and dictionary: binary logarithm of the bytes of an offset or index.
    pub log_entry: Bits<2>,
    /// Of a dictionary: bytes of a value. Of bits: place of row 0's bit in its byte.
    pub width: Bits<24>,
    /// Address of the data, of the table of buffers, or of the dictionary.
    pub addr: Bits<64>,
    /// Of offsets: local key of the data. Otherwise: number of buffers, or of values of the dictionary.
    pub number: Bits<32>,
}

/// Fields that are kept only of a set with kinds of columns.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct SetKinds {
    /// Bitmapped: place of row 0's bit in the bitmap's first byte.
    pub first: Bits<3>,
    /// Pointer-mapped: records lead to further ones.
    pub chase: Bit,
    /// Strided: bytes from a period to the next. Chains: value of the pointer that ends one.
    pub period_or_end: Bits<64>,
    /// Chains: bytes from a record's start to its pointer.
    pub link: Bits<32>,
    /// Chains: records of a chain, at most.
    pub limit: Bits<25>,
    /// Protection domain of the local keys.
    pub pd: Bits<32>,
}

/// Where a part of the answer to a READ or an atomic goes: a region of its destination.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PieceWrite {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Number of the region in the destination, from 0 on.
    pub index: Bits<4>,
    /// Address of the region's first byte.
    pub addr: Bits<64>,
    /// Bytes of the region, at least 1.
    pub len: Bits<32>,
}

/// Address of the datagrams of a request, if the request names one.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AddressWrite {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// The request names an address; otherwise its packets go where the queue pair's entry says, and the fields below
    /// mean nothing.
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

/// Binary logarithm of the unit, in bytes, in which the beginning of a part of a message is counted.
pub const LOG_PART_UNIT: usize = 14;
/// Packets of a part, at most; four units are fewer if packets have more than 1,024 B.
pub const PART_PACKETS: u64 = 64;
/// Bits of the beginning of a part.
pub const PART: usize = 32 - LOG_PART_UNIT;
/// Parts of messages that may be on their way from the decoder to the segmenter when another one is fetched.
pub const PARTS_AHEAD: u64 = 3;

/// Part of its message that an entry stands for, given with the entry's blocks.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Part {
    /// Beginning of the part, in units of `2^LOG_PART_UNIT` bytes.
    pub first: Bits<PART>,
    /// Binary logarithm of the part's length in these units, if it is not the last one.
    pub log_units: Bits<2>,
    /// With the entry's last block: the message goes on in another part.
    pub pauses: Bit,
}

/// Names the part of its message that a request sends.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PartWrite {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Bytes of the whole message. 0: the request is not a part, and the fields below mean nothing.
    pub whole: Bits<32>,
    /// An earlier part of the message was sent.
    pub resumes: Bit,
    /// The message goes on in another part.
    pub pauses: Bit,
}

/// Describes the bytes that a READ or an atomic asks for.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AskWrite {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Bytes of the answer.
    pub len: Bits<32>,
    /// Packets of the answer, at least 1: the request takes as many sequence numbers.
    pub packets: Bits<24>,
    /// Binary logarithm of the queue pair's MTU in bytes.
    pub log_mtu: Bits<4>,
}

/// How the ids of a partitioned request are made from its keys.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct FunctionWrite {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Number of keys, 1 to 16.
    pub keys: Bits<5>,
    /// Number of partitions, 1 to 2^16.
    pub partitions: Bits<17>,
    /// Neighbouring partitions that share one id, at least 1.
    pub group: Bits<16>,
    /// Initial value of the hash of a row.
    pub seed: Bits<32>,
    /// Splitters determine the partitions; otherwise the hash.
    pub range: Bit,
}

/// Value of `log_width` that stands for values of a bit.
pub const KEY_BITS: u64 = 5;

/// A key of a partitioned request.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct KeyWrite {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Number of the key, from 0 on.
    pub key: Bits<4>,
    /// Address of row 0's value.
    pub addr: Bits<64>,
    /// Binary logarithm of the bytes of a value, 0 to 4, or [`KEY_BITS`].
    pub log_width: Bits<3>,
    /// Of values of a bit: place of row 0's bit in its byte.
    pub first: Bits<3>,
    /// Type of the key: a [`KeyType`](drdma_abi::work_request::KeyType).
    pub key_type: Bits<3>,
    /// Some rows may have no value: `validity` says which have one.
    pub nullable: Bit,
    /// With `nullable`: address of the bitmap of rows that have a value.
    pub validity: Bits<64>,
    /// With `nullable`: place of row 0's bit in that bitmap's first byte.
    pub validity_first: Bits<3>,
}
