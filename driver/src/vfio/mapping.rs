//! Memory that is mapped for a function's DMA.

use std::{collections::BTreeMap, io, ops::RangeInclusive};

use super::{DmaAccess, Vfio};
use crate::DmaMemory;

/// Properties of the IOMMU that limit a process's mappings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iommu {
    /// Size of its smallest page in bytes: addresses and sizes are multiples of it.
    pub page: u64,
    /// Ranges of I/O virtual addresses that it translates: those of interrupts, for example, are
    /// missing.
    pub ranges: Vec<RangeInclusive<u64>>,
    /// Number of mappings that a process may have, if it is limited.
    pub mappings: Option<u32>,
}

impl Iommu {
    /// Number of bits of the addresses that it translates.
    pub fn bits(&self) -> u32 {
        let last = self.ranges.iter().map(|range| *range.end()).max().unwrap_or(0);
        u64::BITS - last.leading_zeros()
    }
}

/// Error of mapping or unmapping memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The address or size is not a multiple of the IOMMU's page, whose size is given.
    #[error("the IOMMU has pages of {0} B")]
    Page(u64),
    /// The address is beyond those of the IOMMU or the function.
    #[error("addresses here have {bits} bits")]
    Width {
        /// Number of address bits of the narrower of both.
        bits: u32,
    },
    /// The IOMMU reserves these addresses.
    #[error("the IOMMU does not translate these addresses")]
    Reserved,
    /// Another mapping overlaps.
    #[error("{size} B are mapped at {iova:#x} already")]
    Overlap {
        /// I/O virtual address of the other mapping.
        iova: u64,
        /// Length of the other mapping in bytes.
        size: u64,
    },
    /// The process has as many mappings as possible; the value is their number.
    #[error(
        "this process has {0} mappings, and may have no more (parameter dma_entry_limit of the \
         module vfio_iommu_type1)"
    )]
    Mappings(usize),
    /// No more memory may be locked; the value is the number of bytes that are mapped.
    #[error(
        "no more memory may be locked, {0} B are mapped; raise the limit (`ulimit -l unlimited` as \
         root, or `memlock` in /etc/security/limits.conf)"
    )]
    Locked(u64),
    /// No memory is mapped at the address.
    #[error("nothing is mapped there")]
    Nothing,
    /// Another error of the operating system.
    #[error("{0}")]
    Io(io::Error),
}

/// Mappings by I/O virtual address. They keep the memory alive.
#[derive(Debug)]
pub(crate) struct Mappings {
    iommu: Iommu,
    bits: u32,
    mapped: BTreeMap<u64, DmaMemory>,
}

impl Mappings {
    /// A table without mappings.
    pub(crate) fn new(iommu: Iommu) -> Self {
        let bits = iommu.bits();
        Self { iommu, bits, mapped: BTreeMap::new() }
    }

    /// Limits addresses to those that the function can address with `bits` bits.
    pub(crate) fn limit(&mut self, bits: u32) {
        self.bits = self.bits.min(bits);
    }

    /// Number of bits of the addresses that can be mapped.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Number of bytes that are mapped.
    pub(crate) fn bytes(&self) -> u64 {
        self.mapped.values().map(|memory| memory.mapped_len() as u64).sum()
    }

    fn check(&self, iova: u64, size: u64) -> Result<(), MapError> {
        let page = self.iommu.page;
        if !iova.is_multiple_of(page) || !size.is_multiple_of(page) {
            return Err(MapError::Page(page));
        }
        let too_wide = MapError::Width { bits: self.bits };
        // Memory has at least one page, so that a last byte exists.
        let Some(last) = iova.checked_add(size - 1) else { return Err(too_wide) };
        if u64::BITS - last.leading_zeros() > self.bits {
            return Err(too_wide);
        }
        let covers = |range: &RangeInclusive<u64>| range.contains(&iova) && range.contains(&last);
        if !self.iommu.ranges.iter().any(covers) {
            return Err(MapError::Reserved);
        }
        let before = self.mapped.range(..=last).next_back();
        if let Some((&start, memory)) = before
            && start + memory.mapped_len() as u64 > iova
        {
            return Err(MapError::Overlap { iova: start, size: memory.mapped_len() as u64 });
        }
        let count = self.mapped.len();
        match self.iommu.mappings {
            Some(limit) if count >= limit as usize => Err(MapError::Mappings(count)),
            _ => Ok(()),
        }
    }

    /// Maps memory.
    pub(crate) fn map(
        &mut self,
        vfio: &dyn Vfio,
        iova: u64,
        memory: &DmaMemory,
    ) -> Result<(), MapError> {
        self.check(iova, memory.mapped_len() as u64)?;
        let access = match memory.is_written_by_card() {
            true => DmaAccess::ReadWrite,
            false => DmaAccess::Read,
        };
        // SAFETY: `mapped` keeps the memory alive until it is unmapped. What the card may write is
        // memory that lends no references, or that an application gave for it.
        let result = unsafe { vfio.map(iova, memory.as_ptr(), memory.mapped_len(), access) };
        result.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOMEM) => MapError::Locked(self.bytes()),
            Some(libc::ENOSPC) => MapError::Mappings(self.mapped.len()),
            _ => MapError::Io(error),
        })?;
        self.mapped.insert(iova, memory.clone());
        Ok(())
    }

    /// Unmaps the memory at `iova`. If that fails, the memory stays alive.
    pub(crate) fn unmap(&mut self, vfio: &dyn Vfio, iova: u64) -> Result<(), MapError> {
        let memory = self.mapped.get(&iova).ok_or(MapError::Nothing)?;
        vfio.unmap(iova, memory.mapped_len()).map_err(MapError::Io)?;
        self.mapped.remove(&iova);
        Ok(())
    }

    /// Unmaps all memory. Memory that cannot be unmapped is never freed.
    pub(crate) fn unmap_all(&mut self, vfio: &dyn Vfio) {
        for (iova, memory) in std::mem::take(&mut self.mapped) {
            if vfio.unmap(iova, memory.mapped_len()).is_err() {
                std::mem::forget(memory);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfio::fake::FakeVfio;

    fn iommu() -> Iommu {
        // An Intel IOMMU of 39 bits with the window of interrupts.
        let ranges = vec![0..=0xfedf_ffff, 0xfef0_0000..=0x7f_ffff_ffff];
        Iommu { page: 4096, ranges, mappings: Some(3) }
    }

    fn memory(pages: usize) -> DmaMemory {
        DmaMemory::new(4096 * pages).unwrap()
    }

    #[test]
    fn what_is_mapped_reaches_the_iommu_and_is_accounted_for() {
        let fake = FakeVfio::new();
        let mut mappings = Mappings::new(iommu());
        assert_eq!(mappings.bits(), 39);
        let (one, two) = (memory(1), memory(2));
        mappings.map(&fake, 0x1_0000_0000, &one).unwrap();
        mappings.map(&fake, 0x1_0000_1000, &two).unwrap();
        assert_eq!(mappings.bytes(), 3 * 4096);
        let at = |memory: &DmaMemory| memory.as_ptr() as usize;
        let expected = [(0x1_0000_0000, (at(&one), 4096)), (0x1_0000_1000, (at(&two), 8192))];
        assert_eq!(fake.mapped(), expected);
        mappings.unmap(&fake, 0x1_0000_0000).unwrap();
        assert_eq!(fake.mapped(), expected[1..]);
        assert_eq!(mappings.bytes(), 2 * 4096);
        assert!(matches!(mappings.unmap(&fake, 0x1_0000_0000), Err(MapError::Nothing)));
        mappings.unmap_all(&fake);
        assert!(fake.mapped().is_empty());
        assert_eq!(mappings.bytes(), 0);
    }

    #[test]
    fn the_iommu_lets_the_card_only_read_what_it_only_reads() {
        let fake = FakeVfio::new();
        let mut mappings = Mappings::new(iommu());
        mappings.map(&fake, 0x1000, &memory(1).read_by_card()).unwrap();
        mappings.map(&fake, 0x2000, &memory(1)).unwrap();
        let expected = [(0x1000, DmaAccess::Read), (0x2000, DmaAccess::ReadWrite)];
        assert_eq!(fake.access(), expected);
    }

    #[test]
    fn what_cannot_be_mapped_is_refused_before_the_kernel_is_asked() {
        let fake = FakeVfio::new();
        let mut mappings = Mappings::new(iommu());
        mappings.map(&fake, 0x2000, &memory(2)).unwrap();
        let mut fails =
            |iova, pages| mappings.map(&fake, iova, &memory(pages)).unwrap_err().to_string();
        assert_eq!(fails(0x1800, 1), "the IOMMU has pages of 4096 B");
        assert_eq!(fails(0x80_0000_0000, 1), "addresses here have 39 bits");
        assert_eq!(fails(0x7f_ffff_f000, 2), "addresses here have 39 bits");
        assert_eq!(fails(u64::MAX - 4095, 2), "addresses here have 39 bits");
        assert_eq!(fails(0xfedf_f000, 2), "the IOMMU does not translate these addresses");
        assert_eq!(fails(0xfee0_0000, 1), "the IOMMU does not translate these addresses");
        for (iova, pages) in [(0x2000, 1), (0x3000, 1), (0x1000, 2), (0, 16)] {
            assert_eq!(fails(iova, pages), "8192 B are mapped at 0x2000 already");
        }
        assert_eq!(fake.mapped().len(), 1);
        mappings.map(&fake, 0x4000, &memory(1)).unwrap();
        mappings.map(&fake, 0x7f_ffff_f000, &memory(1)).unwrap();
        let error = mappings.map(&fake, 0x5000, &memory(1)).unwrap_err().to_string();
        assert!(error.starts_with("this process has 3 mappings, and may have no more"), "{error}");
    }

    #[test]
    fn a_function_may_be_narrower_than_the_iommu() {
        let fake = FakeVfio::new();
        let mut mappings = Mappings::new(iommu());
        mappings.limit(28);
        mappings.map(&fake, 0x0fff_f000, &memory(1)).unwrap();
        let error = mappings.map(&fake, 0x1000_0000, &memory(1)).unwrap_err().to_string();
        assert_eq!(error, "addresses here have 28 bits");
        mappings.limit(48);
        assert_eq!(mappings.bits(), 28);
    }

    #[test]
    fn larger_pages_of_an_iommu_count() {
        let fake = FakeVfio::new();
        let mut mappings = Mappings::new(Iommu { page: 65536, ..iommu() });
        for (iova, pages) in [(0x2000, 16), (0x10000, 1)] {
            let error = mappings.map(&fake, iova, &memory(pages)).unwrap_err().to_string();
            assert_eq!(error, "the IOMMU has pages of 65536 B");
        }
        mappings.map(&fake, 0x10000, &memory(16)).unwrap();
    }

    #[test]
    fn what_the_kernel_refuses_is_explained_and_not_accounted_for() {
        let fake = FakeVfio::new();
        let mut mappings = Mappings::new(iommu());
        mappings.map(&fake, 0x1000, &memory(1)).unwrap();
        for (code, text) in [
            (libc::ENOMEM, "no more memory may be locked, 4096 B are mapped; raise the limit"),
            (libc::ENOSPC, "this process has 1 mappings, and may have no more"),
            (libc::EFAULT, "Bad address"),
        ] {
            fake.fail_map(Some(code));
            let error = mappings.map(&fake, 0x2000, &memory(1)).unwrap_err().to_string();
            assert!(error.starts_with(text), "{error}");
        }
        assert_eq!(mappings.bytes(), 4096);
        fake.fail_map(None);
        mappings.map(&fake, 0x2000, &memory(1)).unwrap();
    }

    #[test]
    fn memory_that_cannot_be_unmapped_stays() {
        let fake = FakeVfio::new();
        let mut mappings = Mappings::new(iommu());
        mappings.map(&fake, 0x1000, &memory(1)).unwrap();
        fake.fail_unmap(Some(libc::EINVAL));
        let error = mappings.unmap(&fake, 0x1000).unwrap_err().to_string();
        assert_eq!(error, "Invalid argument (os error 22)");
        assert_eq!(mappings.bytes(), 4096, "it is still mapped, so it is still there");
        mappings.unmap_all(&fake);
        assert_eq!(mappings.bytes(), 0);
        fake.fail_unmap(None);
        let mut mappings = Mappings::new(iommu());
        let error = mappings.map(&fake, 0x1000, &memory(1)).unwrap_err().to_string();
        assert!(error.contains("exists"), "{error}");
    }
}
