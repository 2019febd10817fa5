//! Micron's MT25QU01G, the flash of the Alveo boards: 128 MiB in sectors of 64 KiB, subsectors of
//! 4 KiB, pages of 256 B (data sheet "MT25Q, 1 Gb, 1.8 V").
//!
//! Erasing sets all bits of a sector, programming clears bits of a page. Commands with addresses of
//! four bytes are used throughout, so that no mode of the chip matters.

use std::time::Duration;

use super::{
    FlashError, Shell,
    spi::{Lines, Spi},
};

/// Manufacturer, type (1.8 V) and capacity (1 Gb).
pub const ID: [u8; 3] = [0x20, 0xbb, 0x21];
/// Size of the flash in bytes.
pub const SIZE: u32 = 1 << 27;
/// Size of a page in bytes.
pub const PAGE: u32 = 256;

const RESET_ENABLE: u8 = 0x66;
const RESET: u8 = 0x99;
const READ_ID: u8 = 0x9f;
const WRITE_ENABLE: u8 = 0x06;
const READ_STATUS: u8 = 0x05;
const READ_FLAGS: u8 = 0x70;
const CLEAR_FLAGS: u8 = 0x50;
const READ: u8 = 0x13;
const READ_QUAD: u8 = 0x6c;
const PROGRAM: u8 = 0x12;
const PROGRAM_QUAD: u8 = 0x34;

/// Clocks between address and data of [`READ_QUAD`], in the chip's factory configuration.
const QUAD_DUMMY: u32 = 8;
/// Bit of the status register: writing is enabled.
const ENABLED: u8 = 1 << 1;
/// Bit of the flag status register: no operation is in progress.
const READY: u8 = 1 << 7;
/// Bits of the flag status register: erasing failed, programming failed, the sector was protected.
const FAILED: u8 = 1 << 5 | 1 << 4 | 1 << 1;
/// Longest time that an operation is waited for; those of the data sheet are 1 s for a sector and
/// 1.8 ms for a page.
const LONGEST_ERASE: Duration = Duration::from_secs(4);
const LONGEST_PROGRAM: Duration = Duration::from_millis(50);
/// Time after a reset, which according to the data sheet takes at most 30 ms.
const AFTER_RESET: Duration = Duration::from_millis(30);

/// Unit of erasing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// A subsector of 4 KiB.
    Subsector,
    /// A sector of 64 KiB.
    Sector,
}

impl Erase {
    /// Size in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Subsector => 1 << 12,
            Self::Sector => 1 << 16,
        }
    }

    fn command(self) -> u8 {
        match self {
            Self::Subsector => 0x21,
            Self::Sector => 0xdc,
        }
    }

    fn pause(self) -> Duration {
        match self {
            Self::Subsector => Duration::from_millis(5),
            Self::Sector => Duration::from_millis(20),
        }
    }
}

/// The chip behind the pins. Dropping it leaves the chip deselected and idle, unless a call failed.
#[derive(Debug)]
pub struct Chip<S> {
    spi: Spi<S>,
    lines: Lines,
}

impl<S: Shell> Chip<S> {
    /// Waits for an operation that an earlier process may have left running, resets the chip, and
    /// checks that it is the expected one.
    ///
    /// # Errors
    /// No chip answers, it is another chip, or the card is gone.
    pub fn open(shell: S, control: u32) -> Result<Self, FlashError> {
        let mut chip = Self { spi: Spi::new(shell, control), lines: Lines::One };
        chip.spi.deselect()?;
        chip.spi.warm_up()?;
        let idle = chip.wait("finish what was begun", 0, LONGEST_ERASE, AFTER_RESET);
        let id = chip.id()?;
        if id == [0; 3] || id == [0xff; 3] {
            return Err(FlashError::Silent(id));
        }
        match idle {
            // The result of an earlier process's operation does not matter here.
            Ok(()) | Err(FlashError::Failed { .. }) => {}
            Err(error) => return Err(error),
        }
        if id != ID {
            return Err(FlashError::Chip { found: id, expected: ID });
        }
        chip.command(&[RESET_ENABLE])?;
        chip.command(&[RESET])?;
        chip.spi.shell().wait(AFTER_RESET);
        chip.command(&[CLEAR_FLAGS])?;
        chip.choose_lines()?;
        Ok(chip)
    }

    /// Registers of the shell.
    pub fn shell(&mut self) -> &mut S {
        self.spi.shell()
    }

    /// Number of lines that data go over.
    pub fn lines(&self) -> Lines {
        self.lines
    }

    /// Uses four lines if reading over them gives the same as reading over one. Some boards do not
    /// connect them, and a flash with another configuration has other dummy clocks.
    fn choose_lines(&mut self) -> Result<(), FlashError> {
        // The golden image starts with bytes that test each line: the bus width's pattern, the sync
        // word.
        let (mut one, mut four) = ([0; PAGE as usize], [0; PAGE as usize]);
        self.read(0, &mut one)?;
        self.lines = Lines::Four;
        self.read(0, &mut four)?;
        if one != four || one == [0xff; PAGE as usize] {
            self.lines = Lines::One;
        }
        Ok(())
    }

    fn command(&mut self, bytes: &[u8]) -> Result<(), FlashError> {
        self.spi.send(bytes, Lines::One)?;
        self.spi.deselect()
    }

    fn ask<const N: usize>(&mut self, command: u8) -> Result<[u8; N], FlashError> {
        let mut answer = [0; N];
        self.spi.send(&[command], Lines::One)?;
        self.spi.receive(&mut answer, Lines::One)?;
        self.spi.deselect()?;
        Ok(answer)
    }

    fn id(&mut self) -> Result<[u8; 3], FlashError> {
        self.ask(READ_ID)
    }

    /// Reads bytes from `address` on.
    ///
    /// # Errors
    /// The card is gone.
    pub fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), FlashError> {
        let command = if self.lines == Lines::Four { READ_QUAD } else { READ };
        self.spi.send(&with_address(command, address), Lines::One)?;
        if self.lines == Lines::Four {
            self.spi.dummy(QUAD_DUMMY)?;
        }
        self.spi.receive(bytes, self.lines)?;
        self.spi.deselect()
    }

    /// Clears those bits from `address` on that are 0 in `bytes`, which must lie in one page.
    ///
    /// # Errors
    /// The chip is protected or reports a failure, or the card is gone.
    ///
    /// # Panics
    /// If `bytes` leave the page, or are empty.
    pub fn program(&mut self, address: u32, bytes: &[u8]) -> Result<(), FlashError> {
        let last = address + bytes.len() as u32 - 1;
        assert!(!bytes.is_empty() && address / PAGE == last / PAGE, "one page at a time");
        self.enable(address)?;
        let command = if self.lines == Lines::Four { PROGRAM_QUAD } else { PROGRAM };
        self.spi.send(&with_address(command, address), Lines::One)?;
        self.spi.send(bytes, self.lines)?;
        self.spi.deselect()?;
        self.wait("program", address, LONGEST_PROGRAM, Duration::from_micros(100))
    }

    /// Sets all bits of the sector at `address`.
    ///
    /// # Errors
    /// The chip is protected or reports a failure, or the card is gone.
    ///
    /// # Panics
    /// If no such sector starts at `address`.
    pub fn erase(&mut self, address: u32, erase: Erase) -> Result<(), FlashError> {
        assert!(address.is_multiple_of(erase.bytes()), "{address:#x} is in the middle of a sector");
        self.enable(address)?;
        self.command(&with_address(erase.command(), address))?;
        self.wait("erase", address, LONGEST_ERASE, erase.pause())
    }

    fn enable(&mut self, address: u32) -> Result<(), FlashError> {
        self.command(&[WRITE_ENABLE])?;
        let [status] = self.ask(READ_STATUS)?;
        if status & ENABLED == 0 { Err(FlashError::Protected { address }) } else { Ok(()) }
    }

    /// Waits until an operation has ended, and checks its result. It reads the flag status register
    /// instead of the status register, as the data sheet requires for a stack of two dies such as
    /// this chip.
    fn wait(
        &mut self,
        operation: &'static str,
        address: u32,
        longest: Duration,
        pause: Duration,
    ) -> Result<(), FlashError> {
        let mut waited = Duration::ZERO;
        loop {
            let [flags] = self.ask(READ_FLAGS)?;
            if flags & READY != 0 {
                if flags & FAILED == 0 {
                    return Ok(());
                }
                self.command(&[CLEAR_FLAGS])?;
                return Err(FlashError::Failed { operation, address, flags });
            }
            if waited >= longest {
                let seconds = longest.as_secs_f32();
                return Err(FlashError::Busy { operation, address, seconds });
            }
            self.spi.shell().wait(pause);
            waited += pause;
        }
    }
}

fn with_address(command: u8, address: u32) -> [u8; 5] {
    let [a, b, c, d] = address.to_be_bytes();
    [command, a, b, c, d]
}
