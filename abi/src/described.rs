//! Regions that the card keeps: those that *described keys* open to peers, and *append regions*.
//!
//! A described key is an entry of [`MEMORY_REGIONS`](crate::register::MEMORY_REGIONS) with
//! [`DESCRIBED`] as its last word. Its address space is `[0, len)`: the packed bytes of a region, row
//! after row. The region stands in [`KEY_REGIONS`], at the index that is the key's `addr`:
//!
//! ```text
//! RegionHeader (1) [RegionShape (1) Element (1) * elements] ... KeyRegionEnd (1, the last granule)
//! ```
//!
//! An append region is some columns of which messages fill row after row. It stands in
//! [`APPEND_REGIONS`]:
//!
//! ```text
//! AppendHead (1) Element (1) * columns ... AppendEnd (1, the last granule)
//! ```
//!
//! Granules have 16 B, as in a work queue entry. A card needs no memory for the granules of an entry
//! that no region has.

use crate::{
    layout,
    register::Table,
    work_request::{GRANULE, MAX_ELEMENTS},
};

/// Regions of described keys; see the module for their entries.
pub const KEY_REGIONS: Table = Table {
    name: "KEY_REGIONS",
    offset: 0xc0_0000,
    entries: 512,
    entry_size: 512,
    doc: "Regions that described keys open, by the key's address.",
};
/// Append regions; see the module for their entries.
pub const APPEND_REGIONS: Table = Table {
    name: "APPEND_REGIONS",
    offset: 0xd0_0000,
    entries: 512,
    entry_size: 512,
    doc: "Append regions, by number.",
};
/// Doorbells of append regions.
pub const APPEND_DOORBELLS: Table = Table {
    name: "APPEND_DOORBELLS",
    offset: 0xe0_0000,
    entries: APPEND_REGIONS.entries,
    entry_size: 4,
    doc: "Append region doorbells: the rows that the host has given back since the region was enabled, modulo \
          2^32.",
};

/// The tables of a card that keeps regions, by offset.
pub const REGION_TABLES: &[Table] = &[KEY_REGIONS, APPEND_REGIONS, APPEND_DOORBELLS];

/// The last word of a described key's entry in `MEMORY_REGIONS`, where that of memory has 1. A card that
/// has no described keys takes it for no valid key.
pub const DESCRIBED: u32 = 2;

/// Granules of an entry of [`KEY_REGIONS`] or [`APPEND_REGIONS`].
pub const ENTRY_GRANULES: usize = KEY_REGIONS.entry_size as usize / GRANULE;

// An entry holds the longest region, and the granule that ends it.
const _: () = assert!(2 + MAX_ELEMENTS < ENTRY_GRANULES);

layout! {
    /// The last granule of an entry of [`KEY_REGIONS`].
    little struct KeyRegionEnd: 16 {
        /// A [`RegionType`](crate::work_request::RegionType).
        kind: u8 = 8,
        /// 0.
        reserved: u64 = 56,
        /// 0.
        reserved2: u32 = 32,
        /// Last word: 1 valid, 0 not.
        valid: u32 = 32,
    }
}

layout! {
    /// The first granule of an entry of [`APPEND_REGIONS`].
    little struct AppendHead: 16 {
        /// Rows that the columns have room for, at least 1.
        capacity: u32 = 32,
        /// Columns that follow, 1 to 16.
        columns: u16 = 16,
        /// 0.
        reserved: u16 = 16,
        /// The protection domain: that of the queue pairs that append, and of the columns' keys.
        pd: u32 = 32,
        /// 0.
        reserved2: u32 = 32,
    }
}

layout! {
    /// The last granule of an entry of [`APPEND_REGIONS`].
    little struct AppendEnd: 16 {
        /// 0.
        reserved: u64 = 64,
        /// 0.
        reserved2: u32 = 32,
        /// Last word: 1 enabled, 0 not. Writing it empties the region: the next row is row 0, and none
        /// is given back.
        enable: u32 = 32,
    }
}

/// Bits of [`ReceiveHeader::flags`](crate::receive::ReceiveHeader::flags).
pub mod receive_entry_flags {
    /// The message is appended: an [`AppendTarget`](super::AppendTarget) follows the head, and no region.
    pub const APPEND: u8 = 1 << 0;
}

layout! {
    /// Where a receive with [`receive_entry_flags::APPEND`] appends its message.
    little struct AppendTarget: 16 {
        /// The append region's number.
        append: u32 = 32,
        /// 0.
        reserved: u32 = 32,
        /// 0.
        reserved2: u64 = 64,
    }
}

layout! {
    /// The completion of a receive that appended: a
    /// [`ReceiveCompletion`](crate::receive::ReceiveCompletion) with
    /// [`APPENDED`](crate::receive::receive_flags::APPENDED), and a row in place of a datagram's sender.
    little struct AppendCompletion: 32 {
        /// The receive's name.
        wr_id: u64 = 64,
        /// Bytes of the message: whole rows.
        byte_len: u32 = 32,
        /// The immediate data, or the remote key that was invalidated.
        imm: u32 = 32,
        /// The receive queue that it was posted to.
        receive_queue: u16 = 16,
        /// The queue pair that received: local queue pair index.
        qp: u16 = 15,
        /// 1: a receive.
        receive: u8 = 1,
        /// A [`ReceiveOpcode`](crate::receive::ReceiveOpcode).
        opcode: u8 = 8,
        /// [`receive_flags`](crate::receive::receive_flags).
        flags: u8 = 8,
        /// A [`Status`](crate::completion::Status).
        status: u8 = 8,
        /// Flips each time that the ring wraps; written last.
        phase: u8 = 8,
        /// The ring position of the receive's first block, as in its head.
        position: u32 = 32,
        /// The row of the columns that the message's first row became; below the region's capacity. Row
        /// 0 follows the last one.
        first_row: u32 = 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Layout,
        receive::{RECEIVE_TABLES, ReceiveCompletion},
        register::{BAR2_SIZE, MemoryRegionEntry, TABLE_STRIDE},
    };

    #[test]
    fn the_tables_lie_behind_those_of_receives_each_on_a_stride_of_its_own() {
        let mut end = RECEIVE_TABLES.iter().map(|table| table.entry(table.entries)).max().unwrap();
        for table in REGION_TABLES {
            assert!(end <= table.offset, "{}", table.name);
            assert!(table.offset.is_multiple_of(TABLE_STRIDE), "{}", table.name);
            assert!(table.entries.is_power_of_two() && table.entry_size.is_power_of_two());
            end = table.entry(table.entries);
            assert!(end <= table.offset + TABLE_STRIDE && end <= BAR2_SIZE, "{}", table.name);
        }
        assert_eq!(APPEND_REGIONS.entry_size, KEY_REGIONS.entry_size);
        // The word that makes an entry effective is its last one.
        for (start, size) in [
            (KeyRegionEnd::field("valid").start, KeyRegionEnd::SIZE),
            (AppendEnd::field("enable").start, AppendEnd::SIZE),
            (MemoryRegionEntry::field("valid").start, MemoryRegionEntry::SIZE),
        ] {
            assert_eq!(start, (size - 4) * 8);
        }
    }

    #[test]
    fn a_completion_that_appended_is_that_of_a_receive_but_for_the_row() {
        for field in AppendCompletion::FIELDS.iter().filter(|field| field.name != "first_row") {
            let same = ReceiveCompletion::field(field.name);
            assert_eq!((same.start, same.width), (field.start, field.width), "{}", field.name);
        }
        let row = AppendCompletion::field("first_row");
        assert_eq!(row.start, ReceiveCompletion::field("source_qp").start);
    }
}
