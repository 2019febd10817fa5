//! Described keys: regions whose packed bytes peers WRITE to and READ (docs/semantics.md, "Described
//! keys").

use drdma_abi::{
    Layout as _,
    described::{ENTRY_GRANULES, KEY_REGIONS, KeyRegionEnd},
    receive::rights,
    work_request::{GRANULE, RegionType},
};

use crate::{
    checks::{self, Directory, Keys},
    failure::Which,
    memory::HostMemory,
    region::{Region, RowMask, decode_region, encode_region},
    rows::{Cursor, Fragment, Limit},
    scatter,
};

/// Reason why bytes of a described region cannot be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The region has fewer bytes, or there is no region: the peer asks for too much.
    #[error("the region ends before them")]
    End,
    /// A bitmap or an array of pointers cannot be read, or the keys of the region's own memory do
    /// not allow the access: the host's description is wrong.
    #[error("the region's memory is not there, or its keys do not allow it")]
    Memory,
}

/// Decodes the region of an entry of [`KEY_REGIONS`]; `None` if the entry is not valid, or has no
/// region.
pub fn decode(entry: &[u8]) -> Option<Region> {
    let (region, end) = entry.split_at_checked((ENTRY_GRANULES - 1) * GRANULE)?;
    let end = KeyRegionEnd::decode(end.first_chunk::<{ KeyRegionEnd::SIZE }>()?);
    let kind = RegionType::ALL.get(usize::from(end.kind)).copied()?;
    let good = end.valid == 1 && end.reserved == 0 && end.reserved2 == 0;
    // Granules behind the region are ignored: they may be left from an earlier, longer region.
    let (region, _) = decode_region(kind, region).ok()?;
    // The bytes of a region with kinds have no fixed places.
    (good && !matches!(region, Region::Kinds(_))).then_some(region)
}

/// Encodes the entry of a region, as software writes it.
pub fn encode(region: &Region) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_region(region, &mut bytes);
    bytes.resize((ENTRY_GRANULES - 1) * GRANULE, 0);
    let kind = region.kind() as u8;
    bytes.extend(KeyRegionEnd { kind, valid: 1, ..KeyRegionEnd::default() }.to_bytes());
    debug_assert_eq!(bytes.len(), KEY_REGIONS.entry_size as usize);
    bytes
}

/// Returns the places of `len` packed bytes from `start` on, in their order, for a peer that uses
/// `right` on them. All of them are inside the memory regions of the region's own keys, which are
/// of protection domain `pd`, and allow local writes where the peer WRITEs.
///
/// # Errors
/// The [`Unreachable`] that applies; only bitmaps and pointers were read then.
pub fn fragments<M: HostMemory + ?Sized>(
    region: &Region,
    right: u32,
    pd: u32,
    (start, len): (u64, u32),
    directory: &dyn Directory,
    memory: &M,
) -> Result<Vec<Fragment>, Unreachable> {
    let keys = Keys { directory, pd };
    checks::check_memory(Which::Own(0), region, keys).map_err(|_| Unreachable::Memory)?;
    if right == rights::REMOTE_WRITE && !scatter::is_writable(region, directory) {
        return Err(Unreachable::Memory);
    }
    let records = match region {
        Region::PointerMapped { target_lkey, .. } => {
            Some(keys.allowed(*target_lkey).unwrap_or(0..0))
        }
        _ => None,
    };
    let limit = Limit { records, ..Limit::default() };
    let mut cursor = Cursor::new(region, RowMask::Period).with_limit(limit);
    let row_len = region.row_len();
    cursor.skip(memory, start / row_len).map_err(|_| Unreachable::Memory)?;
    let mut skip = start % row_len;
    let mut left = len;
    let (mut row, mut found) = (Vec::new(), Vec::new());
    while left > 0 {
        row.clear();
        if !cursor.next(memory, &mut row).map_err(|_| Unreachable::Memory)? {
            return Err(Unreachable::End);
        }
        for fragment in &row {
            let before = skip.min(u64::from(fragment.len));
            skip -= before;
            let part = left.min(fragment.len - before as u32);
            if part > 0 {
                let addr = fragment.addr.wrapping_add(before);
                found.push(Fragment { addr, len: part });
                left -= part;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
#[path = "tests/described.rs"]
mod tests;
