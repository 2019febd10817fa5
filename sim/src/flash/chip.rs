//! An mt25qu01g at the level of its pins: SPI mode 0, one or four lines.
//!
//! Modelled: reading, page programming that only clears bits and wraps within its page, erasing of
//! sectors and subsectors, the write enable latch, status and flag status, addresses of three and of
//! four bytes, reset, and that everything but a look at the status is ignored while it is busy.

use std::time::Duration;

use drdma_verilated::testbench::Random;

use super::Array;

/// JEDEC id of the chip.
pub const ID: [u8; 3] = [0x20, 0xbb, 0x21];
/// Bytes of the chip.
pub const SIZE: u32 = 1 << 27;
const PAGE: u32 = 256;

/// Typical times of operations.
const PROGRAM_TIME: Duration = Duration::from_micros(120);
const SUBSECTOR_TIME: Duration = Duration::from_millis(50);
const SECTOR_TIME: Duration = Duration::from_millis(150);

/// Faults of a flash.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The chip has another id than [`ID`].
    pub id: Option<[u8; 3]>,
    /// Programming the page of this address fails.
    pub program: Option<u32>,
    /// Erasing the sector of this address fails.
    pub erase: Option<u32>,
    /// Bits of a byte that cannot be cleared, without the chip noticing.
    pub stuck: Option<(u32, u8)>,
    /// The chip ignores write enables.
    pub protected: bool,
    /// The first operation never ends.
    pub endless: bool,
    /// Lines 2 and 3 are not connected.
    pub two_lines: bool,
    /// The power fails in the middle of this operation, counted from 1.
    pub power: Option<u64>,
    /// The card is gone after this many accesses to its registers.
    pub gone: Option<u64>,
}

/// The bytes of a command that have been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Command,
    Address {
        left: u8,
    },
    Dummy {
        left: u8,
    },
    /// The chip drives the lines.
    Out,
    /// The host drives the lines.
    In,
    /// The chip ignores everything until it is deselected.
    Deaf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Id,
    Status,
    Flags,
    Array,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Nothing,
    Read(Source),
    Program,
    Erase(u32),
}

/// A flash chip.
#[derive(Clone, Debug)]
pub struct Chip {
    /// Cells of the chip.
    pub array: Array,
    /// Faults of the chip.
    pub faults: Faults,
    /// Number of programs and erases that were begun.
    pub operations: u64,
    /// True once the power has failed.
    pub dead: bool,
    /// True if the host drove a line that the chip drove.
    pub contention: bool,
    now: Duration,
    busy_until: Duration,
    enabled: bool,
    wide_addresses: bool,
    reset_enabled: bool,
    failed: u8,
    random: Random,
    selected: bool,
    clock: bool,
    phase: Phase,
    lines: u32,
    action: Action,
    shift: u32,
    bits: u32,
    address: u32,
    data: Vec<u8>,
    sent: usize,
    drives: Option<(u8, u8)>,
}

impl Chip {
    /// Makes a chip with these cells; `seed` determines the effect of interrupted operations.
    pub fn new(array: Array, seed: u64) -> Self {
        Self {
            array,
            faults: Faults::default(),
            operations: 0,
            dead: false,
            contention: false,
            now: Duration::ZERO,
            busy_until: Duration::ZERO,
            enabled: false,
            wide_addresses: false,
            reset_enabled: false,
            failed: 0,
            random: Random::new(seed),
            selected: false,
            clock: false,
            phase: Phase::Deaf,
            lines: 1,
            action: Action::Nothing,
            shift: 0,
            bits: 0,
            address: 0,
            data: Vec::new(),
            sent: 0,
            drives: None,
        }
    }

    /// Advances the chip's time.
    pub fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn busy(&self) -> bool {
        self.now < self.busy_until
    }

    /// The levels of the data lines; lines that are not driven are pulled up.
    pub fn lines(&self, host: u8, host_drives: u8) -> u8 {
        let (chip, chip_drives) = self.drives.unwrap_or((0, 0));
        let lines = (host & host_drives) | (chip & chip_drives) | !(host_drives | chip_drives);
        let broken = if self.faults.two_lines { 0xc } else { 0 };
        (lines | broken) & 0xf
    }

    /// Sets the pins.
    pub fn set(&mut self, selected: bool, clock: bool, host: u8, host_drives: u8) {
        if selected && !self.selected {
            self.phase = Phase::Command;
            (self.bits, self.shift, self.lines, self.sent) = (0, 0, 1, 0);
            (self.action, self.address) = (Action::Nothing, 0);
            self.data.clear();
        }
        if !selected {
            if self.selected {
                self.execute();
            }
            self.drives = None;
        } else if clock && !self.clock {
            self.rise(self.lines(host, host_drives));
        } else if !clock && self.clock {
            self.fall();
        }
        let both = self.drives.is_some_and(|(_, drives)| drives & host_drives != 0);
        // At the edge at which the chip begins to drive, the host may still drive its last bit.
        self.contention |= both && clock;
        (self.selected, self.clock) = (selected, clock);
    }

    fn rise(&mut self, lines: u8) {
        match self.phase {
            Phase::Out | Phase::Deaf => {}
            Phase::Dummy { left } => {
                self.phase = if left == 1 { Phase::Out } else { Phase::Dummy { left: left - 1 } };
            }
            Phase::Command | Phase::Address { .. } | Phase::In => {
                let mask = (1 << self.lines) - 1;
                self.shift = self.shift << self.lines | u32::from(lines) & mask;
                self.bits += self.lines;
                if self.bits == 8 {
                    self.bits = 0;
                    self.byte((self.shift & 0xff) as u8);
                }
            }
        }
    }

    fn byte(&mut self, byte: u8) {
        match self.phase {
            Phase::Command => self.command(byte),
            Phase::Address { left } => {
                self.address = self.address << 8 | u32::from(byte);
                self.phase = Phase::Address { left: left - 1 };
                if left == 1 {
                    self.address &= SIZE - 1;
                    self.addressed();
                }
            }
            _ => self.data.push(byte),
        }
    }

    fn command(&mut self, command: u8) {
        let reset = std::mem::replace(&mut self.reset_enabled, command == 0x66);
        let narrow = if self.wide_addresses { 4 } else { 3 };
        let (action, phase) = match command {
            0x05 => (Action::Read(Source::Status), Phase::Out),
            0x70 => (Action::Read(Source::Flags), Phase::Out),
            0x99 if reset => {
                (self.enabled, self.wide_addresses) = (false, false);
                self.busy_until = self.busy_until.min(self.now) + Duration::from_millis(1);
                (Action::Nothing, Phase::Deaf)
            }
            _ if self.busy() => (Action::Nothing, Phase::Deaf),
            0x9f => (Action::Read(Source::Id), Phase::Out),
            0x03 | 0x6b => (Action::Read(Source::Array), Phase::Address { left: narrow }),
            0x13 | 0x6c => (Action::Read(Source::Array), Phase::Address { left: 4 }),
            0x02 | 0x32 => (Action::Program, Phase::Address { left: narrow }),
            0x12 | 0x34 => (Action::Program, Phase::Address { left: 4 }),
            0x20 => (Action::Erase(1 << 12), Phase::Address { left: narrow }),
            0x21 => (Action::Erase(1 << 12), Phase::Address { left: 4 }),
            0xd8 => (Action::Erase(1 << 16), Phase::Address { left: narrow }),
            0xdc => (Action::Erase(1 << 16), Phase::Address { left: 4 }),
            _ => {
                match command {
                    0x06 => self.enabled = !self.faults.protected,
                    0x04 => self.enabled = false,
                    0x50 => self.failed = 0,
                    0xb7 => self.wide_addresses = true,
                    0xe9 => self.wide_addresses = false,
                    _ => {}
                }
                (Action::Nothing, Phase::Deaf)
            }
        };
        (self.action, self.phase) = (action, phase);
        self.data.push(command);
    }

    /// Determines the next phase, when the address is complete.
    fn addressed(&mut self) {
        let command = self.data[0];
        self.data.clear();
        let quad = matches!(command, 0x6b | 0x6c | 0x32 | 0x34);
        self.phase = match self.action {
            Action::Read(_) if quad => Phase::Dummy { left: 8 },
            Action::Read(_) => Phase::Out,
            Action::Program => Phase::In,
            _ => Phase::Deaf,
        };
        self.lines = if quad { 4 } else { 1 };
    }

    fn fall(&mut self) {
        let Phase::Out = self.phase else { return };
        let Action::Read(source) = self.action else { return };
        let byte = match source {
            Source::Id => self.faults.id.unwrap_or(ID).get(self.sent).copied().unwrap_or(0),
            Source::Status => u8::from(self.busy()) | u8::from(self.enabled) << 1,
            Source::Flags => {
                u8::from(!self.busy()) << 7 | self.failed | u8::from(self.wide_addresses)
            }
            Source::Array => self.array.byte((self.address + self.sent as u32) & (SIZE - 1)),
        };
        let bits = byte >> (8 - self.lines - self.bits);
        self.drives = Some(if self.lines == 4 { (bits & 0xf, 0xf) } else { (bits << 1 & 2, 2) });
        self.bits += self.lines;
        if self.bits == 8 {
            (self.bits, self.sent) = (0, self.sent + 1);
        }
    }

    /// Executes the command when the chip is deselected, if whole bytes were received.
    fn execute(&mut self) {
        let complete = self.bits == 0 && self.enabled && !self.busy();
        match (self.action, self.phase) {
            (Action::Program, Phase::In) if complete && !self.data.is_empty() => self.program(),
            (Action::Erase(size), Phase::Deaf) if complete => self.erase(size),
            _ => {}
        }
        self.action = Action::Nothing;
    }

    /// Begins an operation; false if the power fails in the middle of it.
    fn begin(&mut self, time: Duration) -> bool {
        self.operations += 1;
        self.enabled = false;
        self.busy_until = if self.faults.endless { Duration::MAX } else { self.now + time };
        self.dead = self.faults.power == Some(self.operations);
        !self.dead
    }

    /// The bits of a byte that an operation changes.
    fn mask(&mut self, whole: bool) -> u8 {
        if whole { 0xff } else { self.random.u64() as u8 }
    }

    fn program(&mut self) {
        let page = self.address / PAGE * PAGE;
        if self.faults.program.is_some_and(|address| address / PAGE * PAGE == page) {
            self.begin(PROGRAM_TIME);
            self.failed |= 1 << 4;
            return;
        }
        let whole = self.begin(PROGRAM_TIME);
        let mut buffer = [0xff; PAGE as usize];
        for (at, byte) in (self.address % PAGE..).zip(&self.data) {
            // Data beyond the end of a page wrap around to its start.
            buffer[(at % PAGE) as usize] = *byte;
        }
        for (address, byte) in (page..).zip(buffer) {
            let mask = self.mask(whole);
            let stuck = self.faults.stuck.filter(|(at, _)| *at == address).map_or(0, |(_, m)| m);
            if byte != 0xff {
                *self.array.cell(address) &= byte | !mask | stuck;
            }
        }
    }

    fn erase(&mut self, size: u32) {
        let start = self.address / size * size;
        let time = if size == 1 << 12 { SUBSECTOR_TIME } else { SECTOR_TIME };
        if self.faults.erase.is_some_and(|address| address / size * size == start) {
            self.begin(time);
            self.failed |= 1 << 5;
            return;
        }
        let whole = self.begin(time);
        for address in start..start + size {
            let mask = self.mask(whole);
            *self.array.cell(address) |= mask;
        }
    }
}
