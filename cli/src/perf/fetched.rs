//! Checks of the data that READs and atomics bring: the peer's memory holds a pattern of its addresses,
//! and atomics count up from it.

use std::collections::HashSet;

use drdma_sim::wire::{content, content_at};
use libdrdma::MemoryRegion;

use super::{PerfError, op::ATOMIC_BYTES, transfer::Transfer};

/// Values that the atomics of a queue pair should find, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Counting {
    /// Value for the next atomic that is posted, and for the next one that completes.
    next: u64,
    complete: u64,
}

impl Counting {
    /// Starts with the pattern of the 8 B at `addr`.
    pub fn new(addr: u64) -> Self {
        let first = content(addr);
        Self { next: first, complete: first }
    }

    /// The value that the next atomic to be posted should find.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Records that the next atomic was posted.
    pub fn posted(&mut self) {
        self.next = self.next.wrapping_add(1);
    }

    /// Compares the value that an atomic brought, in the order of completion.
    ///
    /// # Errors
    /// The value is not the one that it should find.
    pub fn check(&mut self, found: u64) -> Result<(), PerfError> {
        let expected = self.complete;
        self.complete = expected.wrapping_add(1);
        if found == expected { Ok(()) } else { Err(PerfError::Atomic { found, expected }) }
    }
}

/// The value that an atomic left in a copy's memory.
pub(super) fn atomic(transfer: &Transfer, copy: usize) -> u64 {
    let mut bytes = [0; ATOMIC_BYTES as usize];
    let region = &transfer.copies[copy][0].regions[0];
    if let Ok(mut fragments) = region.fragments(&[])
        && let Some(fragment) = fragments.next()
        && let Some((table, offset)) = find(transfer.tables, fragment.addr)
    {
        table.read_at(offset, &mut bytes);
    }
    u64::from_le_bytes(bytes)
}

/// The memory that holds an address, and the offset in it.
fn find(tables: &[MemoryRegion], addr: u64) -> Option<(&MemoryRegion, usize)> {
    tables.iter().find_map(|table| {
        let offset = usize::try_from(addr.checked_sub(table.addr())?).ok()?;
        (offset < table.len()).then_some((table, offset))
    })
}

/// The places of a copy's bytes: memory, offset, bytes and the place in the transfer, in order.
fn places<'m>(
    transfer: &Transfer<'m>,
    copy: usize,
) -> Result<Vec<(&'m MemoryRegion, usize, usize, u64)>, PerfError> {
    let tables: Vec<_> = transfer.tables.iter().collect();
    let mut places = Vec::new();
    let mut at = 0;
    for region in transfer.copies[copy].iter().flat_map(|request| &request.regions) {
        for fragment in region.fragments(&tables)? {
            if let Some((table, offset)) = find(transfer.tables, fragment.addr) {
                places.push((table, offset, fragment.len as usize, at));
            }
            at += fragment.len;
        }
    }
    Ok(places)
}

/// Fills the memory of a transfer's copies with other bytes than a READ brings, so that missing bytes are noticed.
pub(super) fn clear(transfer: &Transfer) -> Result<(), PerfError> {
    for copy in 0..transfer.copies.len() {
        for (table, offset, len, _) in places(transfer, copy)? {
            table.store_at(offset, &vec![0; len]);
        }
    }
    Ok(())
}

/// Compares the bytes of READs in the first `used` copies with the pattern at `remote_addr`.
///
/// # Errors
/// [`PerfError::Read`] with the first byte that is wrong.
pub(super) fn check(transfer: &Transfer, used: u64, remote_addr: u64) -> Result<(), PerfError> {
    let size = transfer.rows.bytes();
    for copy in 0..transfer.copies.len().min(used as usize) {
        let mut places = places(transfer, copy)?;
        // Where records overlap, the bytes of the last one stay.
        places.reverse();
        let mut seen = HashSet::new();
        places.retain(|(table, offset, ..)| seen.insert(table.addr() + *offset as u64));
        for (table, offset, len, start) in places {
            let (mut found, mut expected) = (vec![0; len], vec![0; len]);
            table.read_at(offset, &mut found);
            content_at(remote_addr + start, &mut expected);
            if let Some(at) = (0..len).find(|at| found[*at] != expected[*at]) {
                let (found, expected) = (found[at], expected[at]);
                return Err(PerfError::Read { size, at: start + at as u64, found, expected });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atomic_that_brings_something_else_is_told() {
        let addr = 0x10_0000_0000;
        let mut counting = Counting::new(addr);
        let base = content(addr);
        assert_eq!(counting.next(), base);
        (0..2).for_each(|_| counting.posted());
        assert_eq!(counting.next(), base.wrapping_add(2));
        counting.check(base).unwrap();
        let error = counting.check(base).unwrap_err().to_string();
        let expected = format!("an atomic brought {base:#x} where {:#x} was", base.wrapping_add(1));
        assert_eq!(error, expected);
    }
}
