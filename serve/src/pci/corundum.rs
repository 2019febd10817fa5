//! BAR0: Corundum's own registers, which identify the card and open its port; and the MSI-X table.

use drdma_abi::register::TYPE_ID;
use drdma_sim::wire::Port;

use super::config::{BAR_SIZE, MSIX_PENDING, MSIX_TABLE, VECTORS};

/// Offset of the interface's own list of blocks.
const INTERFACE: u32 = 0x8_0000;
const PORT: u32 = INTERFACE + 0x40;
const PORT_CONTROL: u32 = INTERFACE + 0x1000;
const TRANSMIT: u32 = PORT_CONTROL + 0x10;
const RECEIVE: u32 = PORT_CONTROL + 0x14;
/// Bit of a port's direction: the port is enabled.
const ENABLE: u32 = 1 << 0;
/// Bit of a port's direction: the link is up.
const UP: u32 = 1 << 16;
/// Size of an entry of the MSI-X table in bytes.
const ENTRY: u64 = 16;

/// Constant registers, by offset. Blocks are {type, version, offset of the next one, ...}.
const CONSTANTS: &[(u32, u32)] = &[
    // The firmware: FPGA, firmware and its version, board and its version.
    (0x000, 0xffff_ffff),
    (0x004, 0x0000_0100),
    (0x008, 0x40),
    (0x00c, 0x14b7_7093),
    (0x010, 0),
    (0x014, 0x0000_0001),
    (0x018, 0x10ee_9032),
    (0x01c, 0x0100_0000),
    // One interface: offset, number and distance of its registers, and offset of its blocks there.
    (0x040, 0x0000_c000),
    (0x044, 0x0000_0400),
    (0x048, 0x60),
    (0x050, 1),
    (0x054, BAR_SIZE as u32),
    (0x058, INTERFACE),
    // The application.
    (0x060, 0x0000_c005),
    (0x064, 0x0000_0200),
    (0x06c, TYPE_ID),
    // The interface: ports, schedulers, longest frames.
    (INTERFACE, 0x0000_c001),
    (INTERFACE + 0x04, 0x0000_0400),
    (INTERFACE + 0x08, PORT),
    (INTERFACE + 0x10, 1),
    (INTERFACE + 0x20, 9_214),
    (INTERFACE + 0x24, 9_214),
    // The interface's port: offset of the port's blocks.
    (PORT, 0x0000_c002),
    (PORT + 0x04, 0x0000_0200),
    (PORT + 0x0c, PORT_CONTROL),
    (PORT_CONTROL, 0x0000_c003),
    (PORT_CONTROL + 0x04, 0x0000_0300),
];

/// State behind BAR0.
#[derive(Clone, Debug)]
pub struct Corundum {
    port: Port,
    link: bool,
    table: [u8; VECTORS * ENTRY as usize],
}

impl Corundum {
    /// The state after reset: the port is closed, every vector masked.
    pub fn new(link: bool) -> Self {
        let mut table = [0; VECTORS * ENTRY as usize];
        table.iter_mut().skip(12).step_by(ENTRY as usize).for_each(|byte| *byte = 1);
        Self { port: Port { transmit: false, receive: false }, link, table }
    }

    /// Directions in which the port is open.
    pub fn port(&self) -> Port {
        self.port
    }

    /// Reads the word at `offset`, a multiple of 4.
    pub fn read(&self, offset: u32) -> u32 {
        let up = if self.link { UP } else { 0 };
        match offset {
            TRANSMIT => u32::from(self.port.transmit) | up,
            RECEIVE => u32::from(self.port.receive) | up,
            _ if self.table_at(offset).is_some() => {
                let at = self.table_at(offset).expect("an entry's word");
                u32::from_le_bytes(self.table[at..at + 4].try_into().expect("four bytes"))
            }
            // No interrupt is ever pending: the card raises none.
            _ if u64::from(offset) == MSIX_PENDING => 0,
            _ => CONSTANTS.iter().find(|(at, _)| *at == offset).map_or(0, |(_, value)| *value),
        }
    }

    /// Writes the word at `offset`, a multiple of 4.
    pub fn write(&mut self, offset: u32, value: u32) {
        match offset {
            TRANSMIT => self.port.transmit = value & ENABLE != 0,
            RECEIVE => self.port.receive = value & ENABLE != 0,
            _ => {
                if let Some(at) = self.table_at(offset) {
                    self.table[at..at + 4].copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    }

    fn table_at(&self, offset: u32) -> Option<usize> {
        let at = u64::from(offset).checked_sub(MSIX_TABLE)? as usize;
        (at + 4 <= self.table.len()).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a list of blocks to the one of type `wanted`.
    fn block(bar: &Corundum, start: u32, wanted: u32) -> u32 {
        let mut at = start;
        while bar.read(at) != wanted {
            at = bar.read(at + 8);
            assert_ne!(at, 0, "no block {wanted:#x}");
        }
        at
    }

    #[test]
    fn the_port_is_found_by_its_blocks_and_is_closed_after_reset() {
        let mut bar = Corundum::new(true);
        let interface = block(&bar, 0, 0xc000);
        let base = bar.read(interface + 0x0c);
        let port = block(&bar, base + bar.read(interface + 0x18), 0xc002);
        let control = block(&bar, base + bar.read(port + 0x0c), 0xc003);
        assert!(!bar.port().transmit && !bar.port().receive);
        bar.write(control + 0x10, 1);
        assert_eq!(bar.port(), Port { transmit: true, receive: false });
        bar.write(control + 0x14, 3);
        assert_eq!((bar.read(control + 0x10), bar.read(control + 0x14)), (0x1_0001, 0x1_0001));
        bar.write(control + 0x10, 0);
        assert_eq!(bar.port(), Port { transmit: false, receive: true });
        assert_eq!(Corundum::new(false).read(control + 0x10), 0, "without a wire, it is down");
    }

    #[test]
    fn the_firmware_and_the_application_are_named() {
        let bar = Corundum::new(true);
        assert_eq!([0, 4, 0x18].map(|at| bar.read(at)), [u32::MAX, 0x100, 0x10ee_9032]);
        let application = block(&bar, 0, 0xc005);
        assert_eq!(bar.read(application + 0x0c), TYPE_ID);
    }

    #[test]
    fn the_table_holds_what_is_written_and_nothing_else_does() {
        let mut bar = Corundum::new(true);
        assert_eq!(bar.read(0x1000c), 1, "masked");
        for at in (0..0x300).step_by(4) {
            bar.write(0x10000 + at, at + 7);
        }
        for at in (0..0x300).step_by(4) {
            let expected = if at < 0x200 { at + 7 } else { 0 };
            assert_eq!(bar.read(0x10000 + at), expected, "{at:#x}");
        }
        for at in [0, 0x14, 0x18000, 0xff_fffc, 0x18004] {
            let before = bar.read(at);
            bar.write(at, 0x1234_5678);
            assert_eq!(bar.read(at), before, "{at:#x}");
        }
    }
}
