//! I/O virtual addresses: those at which a card sees memory.

use std::collections::BTreeMap;

use crate::memory::{LARGE_PAGE, PAGE};

/// First I/O virtual address that is allocated: above all 32-bit addresses, so that a truncated
/// address never falls on memory.
pub const FIRST_IOVA: u64 = 0x1_0000_0000;

/// Allocates I/O virtual addresses: whole pages, lowest first, an unmapped page behind each range.
/// Ranges of at least [`LARGE_PAGE`] bytes start at multiples of it. The same calls in the same
/// order give the same addresses.
#[derive(Clone, Debug, Default)]
pub struct IovaAllocator {
    used: BTreeMap<u64, u64>,
}

impl IovaAllocator {
    /// An allocator without allocations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates the lowest free range of at least `size` bytes; `None` when the 48 bits that an
    /// IOMMU translates are used up.
    pub fn allocate(&mut self, size: u64) -> Option<u64> {
        self.allocate_at(size, 0)
    }

    /// Like [`allocate`](Self::allocate), but a range of at least [`LARGE_PAGE`] bytes starts as
    /// far behind a multiple of it as the address `like`, so that an IOMMU can use large pages
    /// where the host has some.
    pub fn allocate_at(&mut self, size: u64, like: u64) -> Option<u64> {
        let page = PAGE as u64;
        let align = if size >= LARGE_PAGE as u64 { LARGE_PAGE as u64 } else { page };
        let behind = like % align / page * page;
        let size = size.max(1).checked_next_multiple_of(page)?.checked_add(page)?;
        let mut at = FIRST_IOVA + behind;
        for (&start, &taken) in &self.used {
            if start.saturating_sub(at) >= size {
                break;
            }
            at = at.max((start + taken).saturating_sub(behind).next_multiple_of(align) + behind);
        }
        if at.checked_add(size)? > 1 << 48 {
            return None;
        }
        self.used.insert(at, size);
        Some(at)
    }

    /// Frees a range. True if `iova` was allocated.
    pub fn free(&mut self, iova: u64) -> bool {
        self.used.remove(&iova).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_whole_pages_with_a_guard_page_between() {
        let mut iovas = IovaAllocator::new();
        assert_eq!(iovas.allocate(1), Some(0x1_0000_0000));
        assert_eq!(iovas.allocate(4097), Some(0x1_0000_2000));
        assert_eq!(iovas.allocate(4096), Some(0x1_0000_5000));
    }

    #[test]
    fn the_lowest_range_that_fits_is_reused() {
        let mut iovas = IovaAllocator::new();
        let first = iovas.allocate(4096).unwrap();
        let second = iovas.allocate(3 * 4096).unwrap();
        let third = iovas.allocate(4096).unwrap();
        assert!(iovas.free(second));
        assert!(!iovas.free(second));
        assert_eq!(iovas.allocate(4 * 4096), Some(third + 0x2000), "too long for the hole");
        assert_eq!(iovas.allocate(4096), Some(second));
        assert_eq!(iovas.allocate(4096), Some(second + 0x2000), "the rest of the hole");
        assert!(iovas.free(first));
        assert_eq!(iovas.allocate(8), Some(first));
    }

    #[test]
    fn large_ranges_are_on_large_pages() {
        let mut iovas = IovaAllocator::new();
        let large = LARGE_PAGE as u64;
        assert_eq!(iovas.allocate(4096), Some(FIRST_IOVA));
        assert_eq!(iovas.allocate(large), Some(FIRST_IOVA + large));
        assert_eq!(iovas.allocate(large + 1), Some(FIRST_IOVA + 3 * large), "a guard page between");
        assert_eq!(iovas.allocate(8192), Some(FIRST_IOVA + 8192), "small ones fill the holes");
        assert_eq!(iovas.allocate(large - 8192), Some(FIRST_IOVA + 2 * large + 4096));
        assert!(iovas.free(FIRST_IOVA + large));
        assert_eq!(iovas.allocate(large), Some(FIRST_IOVA + large), "the hole is used again");
    }

    #[test]
    fn large_ranges_may_lie_on_large_pages_as_some_other_address_does() {
        let mut iovas = IovaAllocator::new();
        let large = LARGE_PAGE as u64;
        let like = 0x7f12_3456_7000;
        let first = iovas.allocate_at(3 * large, like).unwrap();
        assert_eq!(first, FIRST_IOVA + like % large);
        let second = iovas.allocate_at(large, like).unwrap();
        assert!(second >= first + 3 * large + 4096 && second < first + 5 * large);
        assert_eq!(second % large, like % large);
        let small = iovas.allocate_at(4096, like).unwrap();
        assert_eq!(small, FIRST_IOVA, "small ones lie anywhere");
    }

    #[test]
    fn sizes_beyond_the_address_space_are_refused() {
        let mut iovas = IovaAllocator::new();
        assert_eq!(iovas.allocate(u64::MAX), None);
        assert_eq!(iovas.allocate(1 << 48), None);
        assert!(iovas.allocate(1 << 47).is_some());
        assert!(iovas.allocate(1 << 47).is_none());
    }
}
