//! Every layout that the D-RDMA card and its software share, written once: work requests,
//! completions, the register map, RoCEv2 headers.
//!
//! Each layout is one table ([`layout!`]): the struct that software encodes and decodes, and the
//! list of fields that hardware slices and documentation are made from.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod completion;
pub mod described;
pub mod layout;
pub mod receive;
pub mod register;
pub mod roce;
pub mod work_request;

#[cfg(test)]
mod tests;

pub use layout::{Field, Layout, Order};

use completion::Completion;
use described::{
    AppendCompletion, AppendEnd, AppendHead, AppendTarget, KeyRegionEnd, REGION_TABLES,
};
use receive::{
    AddressHandle, AtomicOperands, AttributesEntry, FEATURES, RECEIVE_TABLES, ReceiveCompletion,
    ReceiveHeader, ReceiveQueueEntry,
};
use register::{
    COUNTERS, CompletionQueueEntry, MemoryRegionEntry, QueuePairEntry, REGISTERS, SendQueueEntry,
    TABLES,
};
use work_request::{
    Chain, Destination, Element, ElementSource, KindElement, PartitionFunction, PartitionKey,
    RegionHeader, RegionShape, RemoteColumn, WqeHeader,
};

/// Table of one layout, for iterating over all of them.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Name of the layout.
    pub name: &'static str,
    /// Size in bytes.
    pub size: usize,
    /// Order of bits and bytes.
    pub order: Order,
    /// Fields of the layout, in order.
    pub fields: &'static [Field],
}

const fn describe<L: Layout>() -> Description {
    Description { name: L::NAME, size: L::SIZE, order: L::ORDER, fields: L::FIELDS }
}

/// Every layout in host memory or in the register map's tables.
pub const LAYOUTS: &[Description] = &[
    describe::<WqeHeader>(),
    describe::<Destination>(),
    describe::<RegionHeader>(),
    describe::<RegionShape>(),
    describe::<Element>(),
    describe::<Completion>(),
    describe::<QueuePairEntry>(),
    describe::<MemoryRegionEntry>(),
    describe::<SendQueueEntry>(),
    describe::<CompletionQueueEntry>(),
    describe::<AttributesEntry>(),
    describe::<ReceiveQueueEntry>(),
    describe::<ReceiveHeader>(),
    describe::<ReceiveCompletion>(),
    describe::<AddressHandle>(),
    describe::<AtomicOperands>(),
    describe::<KeyRegionEnd>(),
    describe::<AppendHead>(),
    describe::<AppendEnd>(),
    describe::<AppendTarget>(),
    describe::<AppendCompletion>(),
    describe::<KindElement>(),
    describe::<ElementSource>(),
    describe::<RemoteColumn>(),
    describe::<Chain>(),
    describe::<PartitionFunction>(),
    describe::<PartitionKey>(),
];

/// A hash (64-bit FNV-1a) of every layout, register, counter and table between host and card.
/// The card carries it in a register; software built from other layouts refuses the card.
pub const ABI_HASH: u64 = {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut i = 0;
    while i < LAYOUTS.len() {
        hash = mix_str(hash, LAYOUTS[i].name);
        let mut j = 0;
        while j < LAYOUTS[i].fields.len() {
            hash = mix_str(hash, LAYOUTS[i].fields[j].name);
            hash = mix(hash, LAYOUTS[i].fields[j].width as u64);
            j += 1;
        }
        i += 1;
    }
    i = 0;
    while i < REGISTERS.len() {
        hash = mix(mix_str(hash, REGISTERS[i].name), REGISTERS[i].offset as u64);
        i += 1;
    }
    i = 0;
    while i < COUNTERS.len() {
        hash = mix(mix_str(hash, COUNTERS[i].name), COUNTERS[i].offset as u64);
        i += 1;
    }
    i = 0;
    while i < TABLES.len() {
        hash = mix(mix_str(hash, TABLES[i].name), TABLES[i].offset as u64);
        hash = mix(hash, TABLES[i].entries as u64);
        i += 1;
    }
    hash = mix(mix_str(hash, FEATURES.name), FEATURES.offset as u64);
    i = 0;
    while i < RECEIVE_TABLES.len() {
        hash = mix(mix_str(hash, RECEIVE_TABLES[i].name), RECEIVE_TABLES[i].offset as u64);
        hash = mix(hash, RECEIVE_TABLES[i].entries as u64);
        i += 1;
    }
    i = 0;
    while i < REGION_TABLES.len() {
        hash = mix(mix_str(hash, REGION_TABLES[i].name), REGION_TABLES[i].offset as u64);
        hash = mix(hash, REGION_TABLES[i].entries as u64);
        i += 1;
    }
    hash
};

const fn mix(mut hash: u64, value: u64) -> u64 {
    let mut i = 0;
    while i < 8 {
        hash = (hash ^ (value >> (8 * i) & 0xff)).wrapping_mul(0x100_0000_01b3);
        i += 1;
    }
    hash
}

const fn mix_str(mut hash: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        hash = mix(hash, bytes[i] as u64);
        i += 1;
    }
    hash
}
