//! Corundum's registers for the flash, and the registers around them in BAR0.

use std::{io, time::Duration};

use drdma_driver::flash::Shell;

use super::{Array, Chip, Faults};

/// Bytes of BAR0 that are modelled.
const SIZE: u32 = 1 << 16;
/// Offset of the flash's register block.
const BLOCK: u32 = 0x1020;
/// Time of an access: a round trip over PCIe.
const ACCESS: Duration = Duration::from_micros(1);
/// Clocks after configuration that do not reach the flash.
const SWALLOWED: u32 = 3;

/// The part of a board that concerns its flash: the registers of a running shell, and the chip.
#[derive(Clone, Debug)]
pub struct FlashShell {
    /// The flash chip.
    pub chip: Chip,
    /// Offsets and values of the registers, without that of the pins.
    pub registers: Vec<(u32, u32)>,
    accesses: u64,
    pins: u32,
    /// The data lines as the register samples them, which is late.
    sampled: u8,
    swallow: u32,
}

impl FlashShell {
    /// A board that runs Corundum, with these ids.
    pub fn new(array: Array, board_id: u32, fpga_id: u32, seed: u64) -> Self {
        let registers = vec![
            (0x00, 0xffff_ffff),
            (0x04, 0x0000_0100),
            (0x08, 0x0040),
            (0x0c, fpga_id),
            (0x18, board_id),
            // The register block of the application.
            (0x40, 0x0000_c005),
            (0x48, 0x1000),
            (0x4c, 0x4452_444d),
            // Another register block before the flash's.
            (0x1000, 0x0000_c110),
            (0x1008, BLOCK),
            (BLOCK, 0x0000_c120),
            (BLOCK + 4, 0x0000_0200),
            (BLOCK + 0x0c, 0x0100_2012),
        ];
        let chip = Chip::new(array, seed);
        Self { chip, registers, accesses: 0, pins: 1 << 17, sampled: 0xf, swallow: SWALLOWED }
    }

    /// Sets the faults of the chip.
    pub fn with(mut self, faults: Faults) -> Self {
        self.chip.faults = faults;
        self
    }

    /// Sets a register other than that of the pins; it is added if it does not exist.
    pub fn set(&mut self, offset: u32, value: u32) {
        self.registers.retain(|(at, _)| *at != offset);
        self.registers.push((offset, value));
    }

    /// Switches the board off and on: cells keep their contents, everything else is as new and without faults.
    pub fn power_cycle(&self) -> Self {
        let chip = Chip::new(self.chip.array.clone(), self.accesses);
        let registers = self.registers.clone();
        Self { chip, registers, accesses: 0, pins: 1 << 17, sampled: 0xf, swallow: SWALLOWED }
    }

    /// Number of accesses to registers.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    fn access(&mut self, offset: u32) -> io::Result<bool> {
        if offset >= SIZE || !offset.is_multiple_of(4) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.accesses += 1;
        self.chip.pass(ACCESS);
        let gone = self.chip.faults.gone.is_some_and(|limit| self.accesses > limit);
        Ok(!gone && !self.chip.dead)
    }

    fn host(&self) -> (u8, u8) {
        ((self.pins & 0xf) as u8, (self.pins >> 8 & 0xf) as u8)
    }
}

impl Shell for FlashShell {
    fn read(&mut self, offset: u32) -> io::Result<u32> {
        if !self.access(offset)? {
            return Ok(u32::MAX);
        }
        if offset != BLOCK + 0x10 {
            let register = self.registers.iter().find(|(at, _)| *at == offset);
            return Ok(register.map_or(0, |(_, value)| *value));
        }
        let value = u32::from(self.sampled) | self.pins & 0x0003_0f00;
        let (host, drives) = self.host();
        self.sampled = self.chip.lines(host, drives);
        Ok(value)
    }

    fn write(&mut self, offset: u32, value: u32) -> io::Result<()> {
        if !self.access(offset)? || offset != BLOCK + 0x10 {
            return Ok(());
        }
        let rises = value & !self.pins & 1 << 16 != 0;
        self.pins = value & 0x0003_0f0f;
        if rises && self.swallow > 0 {
            self.swallow -= 1;
            return Ok(());
        }
        let (host, drives) = self.host();
        self.chip.set(value & 1 << 17 == 0, value & 1 << 16 != 0, host, drives);
        Ok(())
    }

    fn wait(&mut self, time: Duration) {
        self.chip.pass(time);
    }
}
