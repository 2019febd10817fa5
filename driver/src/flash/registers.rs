//! The shell's registers for the flash: their register block, and the division of the flash.
//!
//! Corundum's registers in BAR0 are a list of blocks: type, version, offset of the next one. The
//! block of an SPI flash has a register with the division of the flash, and one whose bits are the
//! flash's pins.

use std::{io, ops::Range, thread, time::Duration};

use super::FlashError;
use crate::pci::{Bar, corundum};

/// Type of the block for an SPI flash.
pub const SPI_TYPE: u32 = 0x0000_c120;
/// Version of the block for an SPI flash.
pub const SPI_VERSION: u32 = 0x0000_0200;
/// Type of the block for a flash on a parallel bus.
pub const PARALLEL_TYPE: u32 = 0x0000_c121;
/// Offset in the block of the register with the division of the flash.
pub const FORMAT: u32 = 0x0c;
/// Offset in the block of the register of the pins.
pub const CONTROL: u32 = 0x10;

/// Access to registers of BAR0, and to time.
pub trait Shell {
    /// Reads a register, after all earlier writes have arrived.
    ///
    /// # Errors
    /// There is no such register.
    fn read(&mut self, offset: u32) -> io::Result<u32>;

    /// Writes a register; this may return before the write has arrived.
    ///
    /// # Errors
    /// There is no such register.
    fn write(&mut self, offset: u32, value: u32) -> io::Result<()>;

    /// Lets time pass.
    fn wait(&mut self, time: Duration);
}

impl<S: Shell + ?Sized> Shell for &mut S {
    fn read(&mut self, offset: u32) -> io::Result<u32> {
        (**self).read(offset)
    }

    fn write(&mut self, offset: u32, value: u32) -> io::Result<()> {
        (**self).write(offset, value)
    }

    fn wait(&mut self, time: Duration) {
        (**self).wait(time);
    }
}

/// The registers behind a mapped BAR0.
#[derive(Debug)]
pub struct BarShell(pub Bar);

impl Shell for BarShell {
    fn read(&mut self, offset: u32) -> io::Result<u32> {
        self.0.read(offset)
    }

    fn write(&mut self, offset: u32, value: u32) -> io::Result<()> {
        self.0.write(offset, value)
    }

    fn wait(&mut self, time: Duration) {
        thread::sleep(time);
    }
}

/// The register block of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashBlock {
    /// Offset in BAR0 of the register of the pins.
    pub control: u32,
    /// Value of the register with the division of the flash.
    pub format: u32,
}

impl FlashBlock {
    /// Looks for the flash in the list of register blocks.
    ///
    /// # Errors
    /// The card does not answer, runs something else, or has no flash of this kind.
    pub fn find(shell: &mut impl Shell) -> Result<Self, FlashError> {
        let found = Self::listed(shell);
        // If the card vanished during the search, the values that were read are meaningless.
        if found.is_err() && read(shell, 4)? == u32::MAX {
            return Err(FlashError::Gone);
        }
        found
    }

    fn listed(shell: &mut impl Shell) -> Result<Self, FlashError> {
        if !corundum::is_start(read(shell, 0)?, read(shell, 4)?) {
            return Err(FlashError::NotCorundum);
        }
        let mut find = |kind| corundum::find(kind, |offset| shell.read(offset).ok());
        let Some(block) = find(SPI_TYPE) else {
            return Err(match find(PARALLEL_TYPE) {
                Some(_) => FlashError::Parallel(PARALLEL_TYPE),
                None => FlashError::NoFlash,
            });
        };
        let found = read(shell, block + 4)?;
        if found != SPI_VERSION {
            return Err(FlashError::Version { found, expected: SPI_VERSION });
        }
        let format = read(shell, block + FORMAT)?;
        if format == u32::MAX {
            return Err(FlashError::Gone);
        }
        Ok(Self { control: block + CONTROL, format })
    }
}

/// Reads a register whose bits are never all ones.
pub(super) fn read(shell: &mut impl Shell, offset: u32) -> Result<u32, FlashError> {
    shell.read(offset).map_err(|source| FlashError::Register { offset, source })
}

/// Division of the flash into segments, as ranges of byte addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Segment of the image that the board falls back to.
    pub golden: Range<u32>,
    /// Segment of the image that the board boots.
    pub main: Range<u32>,
}

impl Layout {
    /// Decodes the format register of a flash of `size` bytes: bits 3..0 are the number of
    /// segments, 7..4 the segment that is booted, 11..8 the segment that is fallen back to, 31..12
    /// the size of the first in units of 4 KiB, 0 for half of the flash.
    ///
    /// # Errors
    /// [`FlashError::Format`] unless there are two segments, of which the second is booted and the
    /// first fallen back to.
    pub fn new(format: u32, size: u32) -> Result<Self, FlashError> {
        let first = match format & !0xfff {
            0 => size / 2,
            bytes => bytes,
        };
        if format & 0xfff != 0x012 || first >= size {
            return Err(FlashError::Format(format));
        }
        Ok(Self { golden: 0..first, main: first..size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u32 = 1 << 27;

    #[test]
    fn the_block_is_found_behind_a_mapped_bar() {
        let mapping = memmap2::MmapOptions::new().len(0x1_0000).map_anon().unwrap();
        let mut shell = BarShell(Bar::new(mapping.into()));
        for (offset, value) in [
            (0, u32::MAX),
            (4, 0x100),
            (8, 0x1020),
            (0x1020, SPI_TYPE),
            (0x1024, SPI_VERSION),
            (0x102c, 0x0100_2012),
        ] {
            shell.write(offset, value).unwrap();
        }
        let block = FlashBlock::find(&mut shell).unwrap();
        assert_eq!(block, FlashBlock { control: 0x1030, format: 0x0100_2012 });
        // The block's last registers are not mapped.
        shell.write(8, 0xfff8).unwrap();
        shell.write(0xfff8, SPI_TYPE).unwrap();
        shell.write(0xfffc, SPI_VERSION).unwrap();
        let error = FlashBlock::find(&mut shell).unwrap_err().to_string();
        assert!(error.starts_with("cannot access the register at 0x10004 of BAR0: "), "{error}");
    }

    #[test]
    fn the_main_segment_follows_the_golden_one() {
        let layout = Layout::new(0x0100_2012, SIZE).unwrap();
        assert_eq!(layout, Layout { golden: 0..0x0100_2000, main: 0x0100_2000..SIZE });
        let layout = Layout::new(0x0000_0012, SIZE).unwrap();
        assert_eq!(layout.main, SIZE / 2..SIZE);
    }

    #[test]
    fn a_flash_without_a_golden_segment_is_refused() {
        // One segment, four, the first booted, nothing to fall back to, no room for the second.
        for format in [0x0100_2001, 0x0100_2014, 0x0100_2002, 0x0100_2112, 0x0800_0012, u32::MAX] {
            let error = Layout::new(format, SIZE).unwrap_err().to_string();
            assert!(error.contains(&format!("(format register {format:#010x})")), "{error}");
        }
    }
}
