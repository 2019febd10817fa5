//! The flash that a board boots from, through the registers of Corundum's shell.
//!
//! | module | |
//! |---|---|
//! | [`registers`] | the block of registers behind which the flash's pins are, and how the flash is divided |
//! | [`spi`] | bytes over those pins |
//! | [`mt25q`] | the chip: reading, erasing, programming |
//! | [`stream`] | the words of a configuration stream that make it bootable |
//! | [`write`](mod@write) | writing an image, verifying it, reading it back |
//!
//! The flash has two segments. The first holds the *golden* image, which the board falls back to,
//! and is never written here. The second holds the *main* image. While it is written, the board
//! must not take its contents for an image: see [`write`](mod@write).

pub mod mt25q;
pub mod registers;
pub mod spi;
pub mod stream;
pub mod write;

pub use mt25q::{Chip, Erase};
pub use registers::{BarShell, FlashBlock, Layout, Shell};
pub use stream::{BootWords, SYNC};
pub use write::{Flash, Outcome, Progress, Stage};

/// Error of reading or writing the flash.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlashError {
    /// All registers of the card read as ones.
    #[error(
        "the card does not answer any more: its PCIe link is down, or it was reprogrammed; \
         switch the machine off and on, and run the same command again: what is written already \
         is kept"
    )]
    Gone,
    /// A register cannot be accessed.
    #[error("cannot access the register at {offset:#x} of BAR0: {source}")]
    Register {
        /// Offset of the register.
        offset: u32,
        /// Reason of the failure.
        source: std::io::Error,
    },
    /// BAR0 does not start with Corundum's list of register blocks.
    #[error(
        "the card does not run Corundum, so that its flash cannot be reached over PCIe; load a \
         bitstream over JTAG first (`make program` in Corundum's folder of the board)"
    )]
    NotCorundum,
    /// The list of register blocks contains no flash.
    #[error("Corundum on this card has no registers for a flash; use JTAG (`make flash`)")]
    NoFlash,
    /// The flash is on a parallel bus; the value is the type of its block.
    #[error("the card's flash is on a parallel bus (block {0:#010x}); only SPI is supported")]
    Parallel(u32),
    /// The register block has an unknown version.
    #[error("the flash's registers have version {found:#010x}, not {expected:#010x}")]
    Version {
        /// Version that was found.
        found: u32,
        /// Version that was expected.
        expected: u32,
    },
    /// The flash is divided in a way that leaves no image to fall back to, or that is unknown.
    #[error(
        "the flash is divided in a way that is not safe to write (format register {0:#010x}): \
         there must be a golden segment and a main one; use JTAG (`make flash`)"
    )]
    Format(u32),
    /// No flash answers at the pins; the value is the id that was read.
    #[error(
        "no flash answers at its pins (id {0:02x?}); if another program uses it (the satellite \
         controller's tools, `mqnic-fw`), end that and run this again"
    )]
    Silent([u8; 3]),
    /// The chip is of another type.
    #[error("the flash has id {found:02x?}, not {expected:02x?} (mt25qu01g): it is not written")]
    Chip {
        /// Id that was found.
        found: [u8; 3],
        /// Id that was expected.
        expected: [u8; 3],
    },
    /// The chip does not accept a write enable.
    #[error("the flash takes no write enable before {address:#010x}: it is write-protected")]
    Protected {
        /// Address in the flash that was to be changed.
        address: u32,
    },
    /// The chip reports a failure.
    #[error(
        "the flash failed to {operation} at {address:#010x} (flag status {flags:#04x}); run the \
         same command again, and if it fails there again, the flash is worn out or protected"
    )]
    Failed {
        /// Name of the operation.
        operation: &'static str,
        /// Address in the flash.
        address: u32,
        /// Value of the chip's flag status register.
        flags: u8,
    },
    /// An operation did not end in time.
    #[error("the flash is busy for more than {seconds} s ({operation} at {address:#010x})")]
    Busy {
        /// Name of the operation.
        operation: &'static str,
        /// Address in the flash.
        address: u32,
        /// Time that was waited for the chip, in seconds.
        seconds: f32,
    },
    /// A byte that was read back differs from the one written.
    #[error(
        "the flash has {found:#04x} at {address:#010x} where {expected:#04x} was written; run the \
         same command again, and if it differs there again, the flash is worn out"
    )]
    Mismatch {
        /// Address in the flash.
        address: u32,
        /// Value that was written.
        expected: u8,
        /// Value that was read.
        found: u8,
    },
    /// The image is longer than the main segment.
    #[error("the image has {image} B, and the main segment has {segment} B")]
    TooLong {
        /// Length of the image in bytes.
        image: usize,
        /// Length of the segment in bytes.
        segment: u32,
    },
    /// The image has no start that a board recognises.
    #[error(
        "the image has no sync word followed by an IDCODE: it is no bitstream that a board boots"
    )]
    NoStart,
    /// A bug in this module: an address outside of the main segment was about to be changed.
    #[error("{address:#010x} is outside of the main segment, and was left as it is")]
    OutsideMain {
        /// Address in the flash.
        address: u32,
    },
}
