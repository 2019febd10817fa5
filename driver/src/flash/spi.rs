//! Bytes over the flash's pins, bit by bit: SPI mode 0, most significant bit first.
//!
//! Bits 3..0 of the register of the pins are the data lines, 11..8 turn the outputs of the data lines
//! on, 16 is the clock, 17 is the chip select (active low). Reading it gives the data lines as the
//! chip drives them, a few cycles of the card's clock late.

use super::{
    FlashError,
    registers::{Shell, read},
};

const OUTPUT: u32 = 8;
const CLOCK: u32 = 1 << 16;
const DESELECT: u32 = 1 << 17;
/// Mask of the bits that the register has.
const BITS: u32 = 0xf | 0xf << OUTPUT | CLOCK | DESELECT;

/// Lines that bytes are transferred over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Line 0 to the chip, line 1 from the chip.
    One,
    /// All four lines, in either direction.
    Four,
}

/// The pins of the flash.
#[derive(Debug)]
pub struct Spi<S> {
    shell: S,
    control: u32,
}

impl<S: Shell> Spi<S> {
    /// The pins behind the register at `control`.
    pub fn new(shell: S, control: u32) -> Self {
        Self { shell, control }
    }

    /// Registers of the shell.
    pub fn shell(&mut self) -> &mut S {
        &mut self.shell
    }

    /// Returns the registers.
    pub fn into_shell(self) -> S {
        self.shell
    }

    fn set(&mut self, pins: u32) -> Result<(), FlashError> {
        let offset = self.control;
        self.shell.write(offset, pins).map_err(|source| FlashError::Register { offset, source })
    }

    /// Reads the pins, after all earlier writes have arrived.
    fn pins(&mut self) -> Result<u32, FlashError> {
        let pins = read(&mut self.shell, self.control)?;
        // A card that is gone reads as ones.
        if pins & !BITS != 0 { Err(FlashError::Gone) } else { Ok(pins) }
    }

    /// Ends a command.
    ///
    /// # Errors
    /// The card is gone.
    pub fn deselect(&mut self) -> Result<(), FlashError> {
        self.set(DESELECT)?;
        self.pins().map(drop)
    }

    /// Sends clocks while the chip is not selected. The first clocks after the FPGA was configured
    /// do not reach the pin: the FPGA is then switching its configuration clock over (UG570,
    /// `USRCCLKO`).
    ///
    /// # Errors
    /// The card is gone.
    pub fn warm_up(&mut self) -> Result<(), FlashError> {
        for _ in 0..8 {
            self.set(DESELECT | CLOCK)?;
            self.set(DESELECT)?;
        }
        self.pins().map(drop)
    }

    /// Sends bytes; selects the chip if it is not selected.
    ///
    /// # Errors
    /// The card is gone.
    pub fn send(&mut self, bytes: &[u8], lines: Lines) -> Result<(), FlashError> {
        let (width, outputs) = match lines {
            Lines::One => (1, 0x1 << OUTPUT),
            Lines::Four => (4, 0xf << OUTPUT),
        };
        for byte in bytes {
            for shift in (0..8).step_by(width).rev() {
                let data = u32::from(byte >> shift) & ((1 << width) - 1) | outputs;
                self.set(data)?;
                self.set(data | CLOCK)?;
            }
            // Waits for posted writes, so that they do not pile up, and leaves the clock low.
            self.set(outputs)?;
            self.pins()?;
        }
        Ok(())
    }

    /// Sends clocks during which no line is driven, as part of a command.
    ///
    /// # Errors
    /// The card is gone.
    pub fn dummy(&mut self, clocks: u32) -> Result<(), FlashError> {
        for _ in 0..clocks {
            self.set(0)?;
            self.set(CLOCK)?;
        }
        self.set(0)?;
        self.pins().map(drop)
    }

    /// Receives bytes of the current command.
    ///
    /// # Errors
    /// The card is gone.
    pub fn receive(&mut self, bytes: &mut [u8], lines: Lines) -> Result<(), FlashError> {
        let (width, first) = match lines {
            Lines::One => (1, 1),
            Lines::Four => (4, 0),
        };
        for byte in bytes {
            *byte = 0;
            for _ in (0..8).step_by(width) {
                self.set(0)?;
                // The chip drives from the falling edge on, and the pins reach the register late:
                // the first read only spends that time.
                self.pins()?;
                let data = self.pins()? >> first & ((1 << width) - 1);
                *byte = *byte << width | data as u8;
                self.set(CLOCK)?;
            }
        }
        self.set(0)
    }
}
