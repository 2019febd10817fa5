//! A mapped BAR.

use std::{
    io,
    sync::atomic::{Ordering, fence},
};

use memmap2::MmapRaw;

/// Registers of a base address register, all or the first of them: 32-bit words, little-endian.
#[derive(Debug)]
pub struct Bar {
    mapping: MmapRaw,
    writable: bool,
}

impl Bar {
    /// The registers behind a mapping for reading and writing.
    pub(crate) fn new(mapping: MmapRaw) -> Self {
        Self { mapping, writable: true }
    }

    /// The registers behind a mapping for reading.
    pub(crate) fn read_only(mapping: MmapRaw) -> Self {
        Self { mapping, writable: false }
    }

    /// Number of bytes that are mapped.
    pub fn len(&self) -> usize {
        self.mapping.len()
    }

    /// True if nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the word at `offset`, if it is aligned and mapped.
    fn word(&self, offset: u32) -> io::Result<*mut u32> {
        let offset = offset as usize;
        if !offset.is_multiple_of(4) || offset.saturating_add(4) > self.len() {
            let text = format!("no register at offset {offset:#x} of {} B", self.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(self.mapping.as_mut_ptr().wrapping_add(offset).cast())
    }

    /// Reads a register; later reads are not reordered before it.
    ///
    /// # Errors
    /// There is no register at `offset`.
    #[inline]
    pub fn read(&self, offset: u32) -> io::Result<u32> {
        let word = self.word(offset)?;
        // SAFETY: aligned and in the mapping, which lives as long as `self`; volatile, because a
        // device answers.
        let value = unsafe { word.read_volatile() };
        fence(Ordering::SeqCst);
        Ok(u32::from_le(value))
    }

    /// Writes a register; earlier writes are not reordered behind it.
    ///
    /// # Errors
    /// There is no register at `offset`, or the BAR is mapped for reading alone.
    #[inline]
    pub fn write(&self, offset: u32, value: u32) -> io::Result<()> {
        let word = self.word(offset)?;
        if !self.writable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // As soon as the device sees this write, it may fetch data from memory that was stored
        // before.
        fence(Ordering::SeqCst);
        // SAFETY: as in `read`, and the mapping is for writing.
        unsafe { word.write_volatile(value.to_le()) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use memmap2::MmapOptions;

    use super::*;

    #[test]
    fn words_are_little_endian_and_in_bounds() {
        let bar = Bar::new(MmapOptions::new().len(4096).map_anon().unwrap().into());
        bar.write(4, 0x0102_0304).unwrap();
        assert_eq!(bar.read(4).unwrap(), 0x0102_0304);
        assert_eq!(bar.read(0).unwrap(), 0);
        assert!(bar.write(4092, 1).is_ok());
        for offset in [4096, 4094, 2, u32::MAX - 3] {
            assert!(bar.read(offset).is_err(), "{offset}");
            assert!(bar.write(offset, 0).is_err(), "{offset}");
        }
        let text = bar.read(4096).unwrap_err().to_string();
        assert_eq!(text, "no register at offset 0x1000 of 4096 B");
        assert!(!bar.is_empty());
    }

    #[test]
    fn what_is_mapped_for_reading_is_not_written() {
        let mapping = MmapOptions::new().len(4096).map_anon().unwrap().make_read_only().unwrap();
        let bar = Bar::read_only(mapping.into());
        assert_eq!(bar.read(0).unwrap(), 0);
        assert_eq!(bar.write(0, 1).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
