//! Receives: the entries of a receive queue, and their checks.

use drdma_abi::{
    Layout as _,
    completion::Status,
    described::{AppendTarget, receive_entry_flags},
    receive::{MAX_RECEIVE_GRANULES, RECEIVE_MAGIC, ReceiveHeader},
    work_request::{GRANULE, MAX_REGIONS, RegionType, blocks},
};

use crate::{
    checks::Directory,
    memory::HostMemory,
    region::{Region, RowMask, decode_region, encode_region},
    scatter::Target,
};

/// Identification of a receive, for its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveName {
    /// The application's name of the receive; 0 if it could not be read.
    pub wr_id: u64,
    /// Ring position of its first block.
    pub position: u32,
}

/// A receive that was taken from its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receive {
    /// Identification of the receive.
    pub name: ReceiveName,
    /// Regions that its message fills.
    pub target: Target,
}

/// Checks the head of the receive at `position`, with `posted` blocks in the ring, on a card
/// without append regions.
///
/// # Errors
/// The receive's name, if a field of the head is wrong: it completes with
/// `local_qp_operation_error`.
pub fn check_head(
    bytes: &[u8; ReceiveHeader::SIZE],
    position: u32,
    posted: u32,
) -> Result<ReceiveHeader, ReceiveName> {
    let head = check_any_head(bytes, position, posted)?;
    if head.flags == 0 { Ok(head) } else { Err(ReceiveName { wr_id: head.wr_id, position }) }
}

/// Like [`check_head`], on a card with append regions.
///
/// # Errors
/// The errors of [`check_head`].
pub fn check_any_head(
    bytes: &[u8; ReceiveHeader::SIZE],
    position: u32,
    posted: u32,
) -> Result<ReceiveHeader, ReceiveName> {
    let head = ReceiveHeader::decode(bytes);
    let regions = usize::from(head.regions);
    let used = if regions >= MAX_REGIONS { u32::MAX } else { (1 << (2 * regions)) - 1 };
    let granules = head.granules as usize;
    let good = head.magic == RECEIVE_MAGIC
        && (head.flags == 0 || head.flags == receive_entry_flags::APPEND && regions == 0)
        && regions <= MAX_REGIONS
        && (ReceiveHeader::SIZE / GRANULE..=MAX_RECEIVE_GRANULES).contains(&granules)
        && blocks(granules) <= posted as usize
        && head.position == position
        && head.types & !used == 0
        && head.reserved == 0;
    if good { Ok(head) } else { Err(ReceiveName { wr_id: head.wr_id, position }) }
}

/// Checks a whole entry whose head is valid.
///
/// # Errors
/// The status with which the receive completes: `local_qp_operation_error` for a region's shape, or
/// an entry that does not end where its head says; `local_protection_error` for its memory.
pub fn check_entry<M: HostMemory + ?Sized>(
    entry: &[u8],
    pd: u32,
    directory: &dyn Directory,
    memory: &M,
) -> Result<Receive, (ReceiveName, Status)> {
    let head = ReceiveHeader::decode(entry);
    let name = ReceiveName { wr_id: head.wr_id, position: head.position };
    let fails = |status| (name, status);
    let mut rest = &entry[ReceiveHeader::SIZE..head.granules as usize * GRANULE];
    if head.flags == receive_entry_flags::APPEND {
        let target = rest
            .as_array::<{ AppendTarget::SIZE }>()
            .map(|bytes| AppendTarget::decode(bytes))
            .filter(|target| target.reserved == 0 && target.reserved2 == 0)
            .ok_or(fails(Status::LocalQpOperationError))?;
        return Ok(Receive { name, target: Target::append(target.append) });
    }
    let mut regions = Vec::with_capacity(usize::from(head.regions));
    for index in 0..usize::from(head.regions) {
        let (region, after) = decode_region(RegionType::of(head.types, index), rest)
            .map_err(|_| fails(Status::LocalQpOperationError))?;
        regions.push(region);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(fails(Status::LocalQpOperationError));
    }
    let target = Target::check(regions, RowMask::Period, pd, directory, memory).map_err(fails)?;
    Ok(Receive { name, target })
}

/// Encodes the entry of a receive, as software writes it into a ring: whole blocks. Nothing is
/// checked.
pub fn encode(wr_id: u64, regions: &[Region], position: u32) -> Vec<u8> {
    let mut bytes = vec![0; ReceiveHeader::SIZE];
    let mut types = 0u32;
    for (index, region) in regions.iter().enumerate() {
        if index < MAX_REGIONS {
            types |= (region.kind() as u32) << (2 * index);
        }
        encode_region(region, &mut bytes);
    }
    let head = ReceiveHeader {
        magic: RECEIVE_MAGIC,
        regions: regions.len() as u16,
        granules: (bytes.len() / GRANULE) as u32,
        position,
        types,
        wr_id,
        ..ReceiveHeader::default()
    };
    head.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(drdma_abi::work_request::BLOCK), 0);
    bytes
}

/// Encodes the entry of a receive that appends. Nothing is checked.
pub fn encode_append(wr_id: u64, append: u32, position: u32) -> Vec<u8> {
    let granules = ((ReceiveHeader::SIZE + AppendTarget::SIZE) / GRANULE) as u32;
    let (magic, flags) = (RECEIVE_MAGIC, receive_entry_flags::APPEND);
    let head =
        ReceiveHeader { magic, flags, granules, position, wr_id, ..ReceiveHeader::default() };
    let mut bytes = head.to_bytes().to_vec();
    bytes.extend(AppendTarget { append, ..AppendTarget::default() }.to_bytes());
    bytes.resize(bytes.len().next_multiple_of(drdma_abi::work_request::BLOCK), 0);
    bytes
}

#[cfg(test)]
#[path = "tests/receive.rs"]
mod tests;
