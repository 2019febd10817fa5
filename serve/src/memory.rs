//! A client's memory: the files that it shares, mapped once each, and the parts of them that are
//! mapped for the card.

use std::{collections::HashMap, fs::File, os::unix::fs::MetadataExt as _};

use drdma_driver::{DmaMemory, memory::PAGE};
use drdma_soft::host::{Host, Rights};
use rustix::{
    fs::{SealFlags, fcntl_add_seals},
    io::Errno,
};

/// A file, by its device and inode.
type FileId = (u64, u64);

/// Memory to be mapped for the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// I/O virtual address.
    pub address: u64,
    /// Length in bytes.
    pub size: u64,
    /// Offset of the memory in its file.
    pub offset: u64,
    /// Rights of the card to the memory.
    pub rights: Rights,
}

/// Files of the client. A file that is shared in thousands of ranges, a page each, is mapped once.
#[derive(Debug, Default)]
pub struct ClientMemory {
    files: HashMap<FileId, DmaMemory>,
}

impl ClientMemory {
    /// Maps memory for the card. Without a file, the card cannot reach it, and accesses to it fault
    /// as if it were not mapped.
    ///
    /// # Errors
    /// `EINVAL`: the range is not whole pages, or is beyond the end of the file. `EEXIST`: another
    /// range overlaps. Or the error of the operating system on mapping the file.
    pub fn map(&mut self, host: &mut Host, range: Range, file: Option<File>) -> Result<(), Errno> {
        let Range { address, size, offset, rights } = range;
        let page = PAGE as u64;
        let whole = [address, size, offset].iter().all(|value| value.is_multiple_of(page));
        if !whole || size == 0 || address.checked_add(size).is_none() || rights == NONE {
            return Err(Errno::INVAL);
        }
        let Some(file) = file else { return Ok(()) };
        let end = offset.checked_add(size).ok_or(Errno::INVAL)?;
        let memory = self.file(&file, end)?;
        let part = memory.part(offset as usize, size as usize).ok_or(Errno::INVAL)?;
        host.map_with(address, &part, rights).map_err(|_| Errno::EXIST)
    }

    /// Returns the mapped file, of which at least `needed` bytes exist.
    fn file(&mut self, file: &File, needed: u64) -> Result<DmaMemory, Errno> {
        let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL);
        let metadata = file.metadata().map_err(errno)?;
        if !metadata.is_file() || metadata.len() < needed {
            return Err(Errno::INVAL);
        }
        let id = (metadata.dev(), metadata.ino());
        if let Some(memory) = self.files.get(&id)
            && memory.mapped_len() as u64 >= needed
        {
            return Ok(memory.clone());
        }
        // A file that is truncated while it is mapped would end this process. Files that can be
        // sealed against that are; others are trusted.
        let _ = fcntl_add_seals(file, SealFlags::SHRINK);
        let memory = DmaMemory::shared(file).map_err(errno)?;
        self.files.insert(id, memory.clone());
        Ok(memory)
    }

    /// Unmaps memory, whether or not it was mapped; from now on, accesses to it fault.
    ///
    /// # Errors
    /// `EINVAL`: the range wraps around.
    pub fn unmap(&mut self, host: &mut Host, address: u64, size: u64) -> Result<(), Errno> {
        // QEMU unmaps the upper half of all addresses when it ends. The last page is never mapped,
        // so that an exclusive end suffices.
        let last = address.checked_add(size.saturating_sub(1)).ok_or(Errno::INVAL)?;
        if size > 0 {
            host.unmap_range(address..last.saturating_add(1));
        }
        self.files.retain(|_, memory| memory.is_shared());
        Ok(())
    }

    /// Unmaps everything.
    pub fn unmap_all(&mut self, host: &mut Host) {
        host.unmap_all();
        self.files.clear();
    }
}

const NONE: Rights = Rights { read: false, write: false };

#[cfg(test)]
mod tests {
    use drdma_semantics::memory::HostMemory as _;

    use super::*;

    fn range(address: u64, offset: u64, size: u64) -> Range {
        Range { address, size, offset, rights: Rights::ALL }
    }

    #[test]
    fn a_files_pages_are_mapped_one_by_one_in_any_order() {
        let (mut memory, mut host) = (ClientMemory::default(), Host::default());
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        for page in 0..256_u64 {
            let part = range(page << 12, (255 - page) << 12, 4096);
            memory.map(&mut host, part, Some(file.try_clone().unwrap())).unwrap();
        }
        assert_eq!(memory.files.len(), 1);
        host.write(0xffe, &[1, 2, 3, 4]).unwrap();
        let own = DmaMemory::shared(&file).unwrap();
        let mut bytes = [0; 2];
        own.read((255 << 12) + 0xffe, &mut bytes);
        assert_eq!(bytes, [1, 2]);
        own.read(254 << 12, &mut bytes);
        assert_eq!(bytes, [3, 4]);
        memory.unmap(&mut host, 0, 1 << 19).unwrap();
        assert!(host.write(0, &[1]).is_err());
        assert!(host.write(1 << 19, &[1]).is_ok());
        // The range was never mapped, or was unmapped already.
        memory.unmap(&mut host, 0, 1 << 40).unwrap();
        assert!(memory.files.is_empty(), "a file without a range is let go");
        memory.unmap(&mut host, 1 << 63, 1 << 63).unwrap();
        assert_eq!(memory.unmap(&mut host, 1 << 63, (1 << 63) + 1), Err(Errno::INVAL));
        // An empty range unmaps nothing.
        memory.map(&mut host, range(0, 0, 4096), Some(file)).unwrap();
        memory.unmap(&mut host, 0, 0).unwrap();
        memory.unmap(&mut host, 8, 0).unwrap();
        assert!(host.write(0, &[1]).is_ok());
    }

    #[test]
    fn what_cannot_be_mapped_is_refused_by_its_number() {
        let (mut memory, mut host) = (ClientMemory::default(), Host::default());
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 << 12).unwrap();
        let mut map =
            |range| memory.map(&mut host, range, Some(file.try_clone().unwrap())).unwrap_err();
        for (address, offset, size) in [
            (1, 0, 4096),
            (0, 8, 4096),
            (0, 0, 5),
            (0, 0, 0),
            (0, 0, 4 << 12),
            (0, 1 << 12, 3 << 12),
            (u64::MAX << 12, 0, 4096),
            (0, u64::MAX << 12, 4096),
        ] {
            assert_eq!(map(range(address, offset, size)), Errno::INVAL, "{address:#x}");
        }
        assert_eq!(map(Range { rights: NONE, ..range(0, 0, 4096) }), Errno::INVAL);
        let read_only = File::open("/proc/self/exe").unwrap();
        let error = memory.map(&mut host, range(0, 0, 4096), Some(read_only)).unwrap_err();
        assert_eq!(error, Errno::ACCESS);
        let socket = File::open("/dev/null").unwrap();
        assert_eq!(memory.map(&mut host, range(0, 0, 4096), Some(socket)), Err(Errno::INVAL));
        let clone = || Some(file.try_clone().unwrap());
        memory.map(&mut host, range(0x1000, 0, 4096), clone()).unwrap();
        assert_eq!(memory.map(&mut host, range(0, 0, 8192), clone()), Err(Errno::EXIST));
        // Without a file, nothing is mapped, which is no error.
        memory.map(&mut host, range(0x8000, 0, 4096), None).unwrap();
        assert!(host.read(0x8000, &mut [0]).is_err());
    }

    #[test]
    fn a_file_that_grows_is_mapped_again_and_one_that_can_be_sealed_does_not_shrink() {
        let (mut memory, mut host) = (ClientMemory::default(), Host::default());
        let flags = rustix::fs::MemfdFlags::ALLOW_SEALING;
        let file = File::from(rustix::fs::memfd_create("memory", flags).unwrap());
        file.set_len(4096).unwrap();
        memory.map(&mut host, range(0, 0, 4096), Some(file.try_clone().unwrap())).unwrap();
        assert!(file.set_len(0).is_err());
        file.set_len(8192).unwrap();
        memory.map(&mut host, range(4096, 4096, 4096), Some(file.try_clone().unwrap())).unwrap();
        host.write(4095, &[1, 2]).unwrap();
        let mut bytes = [0; 2];
        DmaMemory::shared(&file).unwrap().read(4095, &mut bytes);
        assert_eq!(bytes, [1, 2]);
        memory.unmap_all(&mut host);
        assert!(host.read(0, &mut [0]).is_err());
    }
}
