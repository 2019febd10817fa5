//! The configuration space of a Corundum card's function: ids, BARs and capabilities.

/// Size of the configuration space in bytes.
pub const SIZE: usize = 4096;
/// Number of MSI-X vectors.
pub const VECTORS: usize = 32;
/// Offset of the MSI-X table in BAR0.
pub const MSIX_TABLE: u64 = 0x1_0000;
/// Offset of the MSI-X pending bits in BAR0.
pub const MSIX_PENDING: u64 = 0x1_8000;
/// Size of each BAR in bytes.
pub const BAR_SIZE: u64 = 1 << 24;

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const CLASS: usize = 0x09;
const BARS: [usize; 2] = [0x10, 0x18];
const SUBSYSTEM: usize = 0x2c;
const CAPABILITIES: usize = 0x34;
/// Offset of the power management capability.
const PM: usize = 0x40;
/// Offset of the PCI Express capability.
const EXPRESS: usize = 0x70;
const MSIX: usize = 0xb0;

/// Bit of the command register: the function answers at its BARs.
const MEMORY: u16 = 1 << 1;
const BUS_MASTER: u16 = 1 << 2;
/// Bits of the command register that can be written: memory, bus master, parity and system errors,
/// interrupt line off.
const COMMAND_WRITABLE: u16 = MEMORY | BUS_MASTER | 1 << 6 | 1 << 8 | 1 << 10;
/// Bit of the device control register: function-level reset.
const RESET: u16 = 1 << 15;
/// Flags of a BAR: 64 bits wide, prefetchable.
const BAR_FLAGS: u32 = 0xc;

/// Properties of the function's link to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Number of lanes.
    pub width: u16,
    /// Generation of PCIe: 3 is 8 GT/s.
    pub generation: u16,
    /// Maximum read request size in bytes.
    pub max_read_request: u32,
    /// Maximum payload size in bytes.
    pub max_payload: u32,
}

impl Default for Link {
    /// The link of a U50.
    fn default() -> Self {
        Self { width: 16, generation: 3, max_read_request: 512, max_payload: 256 }
    }
}

/// The registers, with a mask of the bits that can be written.
#[derive(Clone)]
pub struct ConfigSpace {
    bytes: Box<[u8; SIZE]>,
    writable: Box<[u8; SIZE]>,
}

impl ConfigSpace {
    /// The configuration space after reset.
    pub fn new(link: Link) -> Self {
        let mut config = Self { bytes: Box::new([0; SIZE]), writable: Box::new([0; SIZE]) };
        config.set_header();
        config.set_power_management();
        config.set_express(link);
        config.set_msix();
        config
    }

    fn set_header(&mut self) {
        self.set16(0, 0x1234, 0);
        self.set16(2, 0x1001, 0);
        self.set16(COMMAND, 0, COMMAND_WRITABLE);
        // Status bit: there is a list of capabilities.
        self.set16(STATUS, 1 << 4, 0);
        // Class: network controller, Ethernet.
        self.set16(CLASS + 1, 0x0200, 0);
        // The cache line size and interrupt line registers are free for software.
        (self.writable[0x0c], self.writable[0x3c]) = (0xff, 0xff);
        for bar in BARS {
            self.set32(bar, BAR_FLAGS, !(BAR_SIZE as u32 - 1));
            self.set32(bar + 4, 0, u32::MAX);
        }
        self.set16(SUBSYSTEM, 0x10ee, 0);
        self.set16(SUBSYSTEM + 2, 0x9032, 0);
        self.bytes[CAPABILITIES] = PM as u8;
    }

    fn set_power_management(&mut self) {
        self.set16(PM, 0x01 | (EXPRESS as u16) << 8, 0);
        // Power management version 3, without events.
        self.set16(PM + 2, 3, 0);
        // The return from D3hot does not reset the function; the state can be written.
        self.set16(PM + 4, 1 << 3, 3);
    }

    fn set_express(&mut self, link: Link) {
        let payload = link.max_payload.trailing_zeros() - 7;
        let read_request = link.max_read_request.trailing_zeros() - 7;
        let lanes = link.width << 4 | link.generation;
        self.set16(EXPRESS, 0x10 | (MSIX as u16) << 8, 0);
        // PCI Express capability version 2, endpoint.
        self.set16(EXPRESS + 0x02, 2, 0);
        // Payload size, extended tags, errors by role, function-level reset.
        self.set32(EXPRESS + 0x04, payload | 1 << 5 | 1 << 15 | 1 << 28, 0);
        // Relaxed ordering, payload size, extended tags, no snoop, read request size.
        let control = 1 << 4 | payload << 5 | 1 << 8 | 1 << 11 | read_request << 12;
        self.set16(EXPRESS + 0x08, control as u16, 0x79ff);
        self.set32(EXPRESS + 0x0c, lanes.into(), 0);
        self.set16(EXPRESS + 0x10, 0, 0x00cb);
        self.set16(EXPRESS + 0x12, lanes, 0);
        self.set16(EXPRESS + 0x28, 0, 0x001f);
        // Supports every speed up to the link's.
        self.set32(EXPRESS + 0x2c, (1 << (link.generation + 1)) - 2, 0);
        self.set16(EXPRESS + 0x30, link.generation, 0x000f);
    }

    fn set_msix(&mut self) {
        self.set16(MSIX, 0x11, 0);
        // Enable and mask can be written.
        self.set16(MSIX + 2, VECTORS as u16 - 1, 0xc000);
        // Table and pending bits are both in BAR0.
        self.set32(MSIX + 4, MSIX_TABLE as u32, 0);
        self.set32(MSIX + 8, MSIX_PENDING as u32, 0);
    }

    fn set16(&mut self, at: usize, value: u16, writable: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        self.writable[at..at + 2].copy_from_slice(&writable.to_le_bytes());
    }

    fn set32(&mut self, at: usize, value: u32, writable: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self.writable[at..at + 4].copy_from_slice(&writable.to_le_bytes());
    }

    fn get16(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn is_awake(&self) -> bool {
        self.get16(PM + 4) & 3 == 0
    }

    /// True if the function answers at its BARs.
    pub fn answers(&self) -> bool {
        self.get16(COMMAND) & MEMORY != 0 && self.is_awake()
    }

    /// True if the function may access memory.
    pub fn is_bus_master(&self) -> bool {
        self.get16(COMMAND) & BUS_MASTER != 0 && self.is_awake()
    }

    /// Reads registers; false if the range is outside the space.
    #[must_use]
    pub fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        let found = place(offset, into.len()).map(|at| &self.bytes[at]);
        found.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }

    /// Writes those bits that can be written, and returns whether that requests a reset of the
    /// function; `None` if the range is outside the space.
    #[must_use]
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Option<bool> {
        let at = place(offset, bytes.len())?;
        let control = EXPRESS + 0x08;
        let asked = at.contains(&(control + 1)) && {
            let high = bytes[control + 1 - at.start];
            high & (RESET >> 8) as u8 != 0
        };
        for (at, byte) in at.zip(bytes) {
            let writable = self.writable[at];
            self.bytes[at] = self.bytes[at] & !writable | byte & writable;
        }
        Some(asked)
    }
}

fn place(offset: u64, len: usize) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(len)?;
    (end <= SIZE).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(config: &ConfigSpace, at: u64) -> u32 {
        let mut bytes = [0; 4];
        assert!(config.read(at, &mut bytes));
        u32::from_le_bytes(bytes)
    }

    /// Returns a capability's offset, found as software finds it.
    fn capability(config: &ConfigSpace, id: u32) -> u64 {
        let mut at = word(config, 0x34) & 0xff;
        while word(config, at.into()) & 0xff != id {
            at = word(config, at.into()) >> 8 & 0xff;
            assert_ne!(at, 0, "no capability {id:#x}");
        }
        at.into()
    }

    #[test]
    fn it_is_a_corundum_card_of_a_u50() {
        let config = ConfigSpace::new(Link::default());
        assert_eq!(word(&config, 0), 0x1001_1234);
        assert_eq!(word(&config, 0x2c), 0x9032_10ee);
        assert_eq!(word(&config, 8), 0x0200_0000);
        assert_eq!(word(&config, 0x0c), 0, "one function, of type 0");
        let express = capability(&config, 0x10);
        assert_eq!(word(&config, express) >> 16, 2);
        assert_eq!(word(&config, express + 4) >> 28 & 1, 1, "it can be reset");
        assert_eq!(word(&config, express + 0x10) >> 16, 0x103, "16 lanes of 8 GT/s");
        let control = word(&config, express + 8);
        assert_eq!((128 << (control >> 5 & 7), 128 << (control >> 12 & 7)), (256, 512));
        let msix = capability(&config, 0x11);
        assert_eq!((word(&config, msix) >> 16) + 1, 32);
        assert_eq!([4, 8].map(|at| word(&config, msix + at)), [0x10000, 0x18000]);
        capability(&config, 1);
    }

    /// The crate `pci-driver` reads the space, as a third party's driver would.
    #[test]
    fn a_library_for_drivers_finds_its_way_in_it() {
        use pci_driver::{
            config::{
                PciConfig,
                caps::{Capability as _, MsiXCapability, PciExpressCapability},
            },
            regions::{BackedByPciSubregion as _, PciMemoryRegion},
        };
        let mut config = ConfigSpace::new(Link::default());
        let command = (MEMORY | BUS_MASTER).to_le_bytes();
        assert_eq!(config.write(COMMAND as u64, &command), Some(false));
        let mut bytes = vec![0; SIZE];
        assert!(config.read(0, &mut bytes));
        let memory = PciMemoryRegion::new(&bytes);
        let read = PciConfig::backed_by(&memory);
        assert_eq!(read.vendor_id().read().unwrap(), 0x1234);
        assert_eq!(read.subsystem_id().read().unwrap(), 0x9032);
        // The crate has the three bytes of the class in reverse order.
        assert_eq!(read.class_code().programming_interface().read().unwrap(), 2);
        assert!(!read.header_type().multi_function_device().read().unwrap());
        assert!(read.command().memory_space_enable().read().unwrap());
        assert!(read.command().bus_master_enable().read().unwrap());
        assert!(read.status().capabilities_list().read().unwrap());
        let found = read.capabilities().unwrap();
        let ids: Vec<u8> =
            found.iter().map(|one| one.header().capability_id().read().unwrap()).collect();
        assert_eq!(ids, [0x01, 0x10, 0x11]);
        assert_eq!(found.of_type::<PciExpressCapability>().unwrap().count(), 1);
        assert_eq!(found.of_type::<MsiXCapability>().unwrap().count(), 1);
        // The null capability, which stands for an empty list.
        assert_eq!(read.extended_capabilities().unwrap().iter().count(), 1);
    }

    #[test]
    fn bars_tell_their_size() {
        let mut config = ConfigSpace::new(Link::default());
        for bar in [0x10, 0x18] {
            assert_eq!(config.write(bar, &[0xff; 8]), Some(false));
            let size = u64::from(word(&config, bar)) | u64::from(word(&config, bar + 4)) << 32;
            assert_eq!((!(size & !0xf)).wrapping_add(1), BAR_SIZE);
            assert_eq!(size & 0xf, 0xc);
        }
        assert_eq!(config.write(0x20, &[0xff; 8]), Some(false));
        assert_eq!((word(&config, 0x20), word(&config, 0x24)), (0, 0), "there are no others");
    }

    #[test]
    fn only_what_belongs_to_software_is_written() {
        let mut config = ConfigSpace::new(Link::default());
        assert!(!config.answers() && !config.is_bus_master());
        assert_eq!(config.write(4, &[0xff; 2]), Some(false));
        assert_eq!(word(&config, 4), 0x0010_0546);
        assert!(config.answers() && config.is_bus_master());
        // In D3hot, the function does not answer.
        let power = capability(&config, 1) + 4;
        assert_eq!(config.write(power, &[3]), Some(false));
        assert!(!config.answers() && !config.is_bus_master());
        assert_eq!(config.write(power, &[0]), Some(false));
        assert!(config.answers());
        let before = [0, 8, 0x2c, 0x34].map(|at| word(&config, at));
        for at in [0, 8, 0x2c, 0x34] {
            assert_eq!(config.write(at, &[0xa5; 4]), Some(false));
        }
        assert_eq!([0, 8, 0x2c, 0x34].map(|at| word(&config, at)), before);
    }

    #[test]
    fn a_reset_is_asked_for_by_its_bit_however_it_is_written() {
        let mut config = ConfigSpace::new(Link::default());
        let control = capability(&config, 0x10) + 8;
        assert_eq!(config.write(control, &[0, 0x80]), Some(true));
        assert_eq!(config.write(control + 1, &[0x80]), Some(true));
        assert_eq!(config.write(control, &[0, 0x80, 0, 0]), Some(true));
        assert_eq!(config.write(control, &[0x80]), Some(false));
        assert_eq!(config.write(control, &[0xff, 0x7f]), Some(false));
        assert_eq!(word(&config, control) >> 15 & 1, 0, "it reads as 0");
    }

    #[test]
    fn there_are_4096_bytes() {
        let mut config = ConfigSpace::new(Link::default());
        assert!(config.read(4092, &mut [0; 4]));
        assert!(config.read(4096, &mut []));
        for (offset, len) in [(4093, 4), (4096, 1), (u64::MAX, 1), (0, 4097)] {
            assert!(!config.read(offset, &mut vec![0; len]));
            assert_eq!(config.write(offset, &vec![0; len]), None);
        }
    }
}
