//! Register blocks of a Corundum card in BAR0: lists of blocks, each with a type, a version and the
//! offset of the next one. The first list identifies the card; others open its ports.

use serde::Serialize;

use super::Bar;

/// Type of the block of the firmware's ids, the first of the list.
const FIRMWARE: u32 = 0xffff_ffff;
/// Version of that block.
const FIRMWARE_VERSION: u32 = 0x0000_0100;
/// Type of the block with the id of the application that the card carries.
const APPLICATION: u32 = 0x0000_c005;
/// Type of the block with the places of the interfaces.
const INTERFACES: u32 = 0x0000_c000;
/// Type of the block with the place of a port's own list.
const PORT: u32 = 0x0000_c002;
/// Type of the block that controls a port.
const PORT_CONTROL: u32 = 0x0000_c003;
/// First version of that block with which a port can be opened.
const PORT_CONTROL_VERSION: u32 = 0x0000_0300;
/// Offsets in that block of the registers that enable transmitting and receiving.
const PORT_DIRECTIONS: [u32; 2] = [0x10, 0x14];
/// Largest number of interfaces that are read.
const MAX_INTERFACES: u32 = 16;
/// Largest number of blocks that are read: lists are far shorter, unless they are circular.
const BLOCKS: usize = 64;

/// Identification of a Corundum card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Firmware {
    /// JTAG id of the FPGA.
    pub fpga_id: u32,
    /// Id of the firmware.
    pub firmware_id: u32,
    /// Version of the firmware, a part in each byte.
    pub firmware_version: u32,
    /// Id of the board.
    pub board_id: u32,
    /// Version of the board.
    pub board_version: u32,
    /// Time of the build, in seconds since 1970.
    pub build_time: u32,
    /// First digits of the hash of the commit that it was built from.
    pub commit: u32,
    /// Id of the application in the card, if there is one.
    pub application: Option<u32>,
}

impl Firmware {
    /// Reads the identification; `None` if the card does not answer as a Corundum card does.
    pub fn read(bar: &Bar) -> Option<Self> {
        Self::read_with(|offset| bar.read(offset).ok())
    }

    /// Like [`read`](Self::read), with a function that reads a register of BAR0, or returns `None`.
    pub fn read_with(mut word: impl FnMut(u32) -> Option<u32>) -> Option<Self> {
        if !is_start(word(0)?, word(4)?) {
            return None;
        }
        Some(Self {
            fpga_id: word(0x0c)?,
            firmware_id: word(0x10)?,
            firmware_version: word(0x14)?,
            board_id: word(0x18)?,
            board_version: word(0x1c)?,
            build_time: word(0x20)?,
            commit: word(0x24)?,
            application: application(&mut word),
        })
    }
}

/// True if these are the first two words of the list. A function that does not answer reads as all
/// ones, which is the type of the first block, but not its version.
pub(crate) fn is_start(kind: u32, version: u32) -> bool {
    kind == FIRMWARE && version == FIRMWARE_VERSION
}

/// Reads a list of blocks through a function that reads a register: the offset of each block and
/// its type, until the list ends, goes back, or leaves the BAR. Offsets of next blocks count from
/// `base`.
fn blocks(
    mut word: impl FnMut(u32) -> Option<u32>,
    base: u32,
    first: u32,
) -> impl Iterator<Item = (u32, u32)> {
    let mut next = base.checked_add(first);
    let block = move || {
        let at = next?;
        let kind = word(at)?;
        let after = at.checked_add(8).and_then(&mut word);
        next = after.filter(|after| *after != 0).and_then(|after| base.checked_add(after));
        Some((at, kind))
    };
    std::iter::from_fn(block).take(BLOCKS)
}

/// Returns the offset of the first block of type `kind` of the first list, if there is one.
pub(crate) fn find(kind: u32, word: impl FnMut(u32) -> Option<u32>) -> Option<u32> {
    blocks(word, 0, 0).find(|(_, found)| *found == kind).map(|(at, _)| at)
}

fn application(mut word: impl FnMut(u32) -> Option<u32>) -> Option<u32> {
    let at = find(APPLICATION, &mut word)?;
    word(at.checked_add(0x0c)?)
}

/// Opens every port of the card in both directions, and returns whether there is one. A port is
/// closed after reset: frames of the card wait, and none arrive.
pub fn open_ports(bar: &Bar) -> bool {
    let read = |at: u32| bar.read(at).ok();
    let word = |at: u32, field: u32| read(at.checked_add(field)?);
    let interfaces = || {
        let at = find(INTERFACES, read)?;
        let [offset, count, stride, list] = [0x0c, 0x10, 0x14, 0x18].map(|field| word(at, field));
        Some((offset?, count?.min(MAX_INTERFACES), stride?, list?))
    };
    let Some((offset, count, stride, list)) = interfaces() else { return false };
    let mut opened = false;
    for index in 0..count {
        let base = stride.checked_mul(index).and_then(|skip| skip.checked_add(offset));
        let Some(base) = base else { break };
        for (port, _) in blocks(read, base, list).filter(|(_, kind)| *kind == PORT) {
            let Some(first) = word(port, 0x0c) else { continue };
            let control = blocks(read, base, first).find(|(at, kind)| {
                *kind == PORT_CONTROL && word(*at, 4).is_some_and(|v| v >= PORT_CONTROL_VERSION)
            });
            let Some((control, _)) = control else { continue };
            let open = |at: u32| bar.write(control.saturating_add(at), 1).is_ok();
            opened |= PORT_DIRECTIONS.into_iter().all(open);
        }
    }
    opened
}

#[cfg(test)]
mod tests {
    use memmap2::MmapOptions;

    use super::*;

    fn bar(words: &[(u32, u32)]) -> Bar {
        let bar = Bar::new(MmapOptions::new().len(4096).map_anon().unwrap().into());
        for (offset, word) in words {
            bar.write(*offset, *word).unwrap();
        }
        bar
    }

    const IDS: [(u32, u32); 9] = [
        (0x00, FIRMWARE),
        (0x04, FIRMWARE_VERSION),
        (0x0c, 0x14b7_7093),
        (0x10, 1),
        (0x14, 0x0000_0100),
        (0x18, 0x10ee_9032),
        (0x1c, 0x0100_0000),
        (0x20, 1_700_000_000),
        (0x24, 0xdead_beef),
    ];

    #[test]
    fn ids_and_the_application_are_read() {
        let mut words = IDS.to_vec();
        // The application's block is the third of the list.
        words.extend([(0x08, 0x100), (0x100, 0xc001), (0x108, 0x80), (0x80, APPLICATION)]);
        words.push((0x8c, 0x4452_444d));
        let firmware = Firmware::read(&bar(&words)).unwrap();
        let expected = Firmware {
            fpga_id: 0x14b7_7093,
            firmware_id: 1,
            firmware_version: 0x0000_0100,
            board_id: 0x10ee_9032,
            board_version: 0x0100_0000,
            build_time: 1_700_000_000,
            commit: 0xdead_beef,
            application: Some(0x4452_444d),
        };
        assert_eq!(firmware, expected);
    }

    #[test]
    fn a_list_that_ends_turns_or_leaves_the_bar_has_no_application() {
        for next in [0, 0x10, 0x100_0000, u32::MAX, 0x102] {
            let mut words = IDS.to_vec();
            words.push((0x08, next));
            assert_eq!(Firmware::read(&bar(&words)).unwrap().application, None, "{next:#x}");
        }
        let mut words = IDS.to_vec();
        words.extend([(0x08, 0x100), (0x108, 0x200), (0x208, 0x100)]);
        assert_eq!(Firmware::read(&bar(&words)).unwrap().application, None);
    }

    /// Two interfaces of 0x400 bytes, the second one with two ports, of which one is too old.
    fn with_ports() -> Vec<(u32, u32)> {
        let mut words = IDS.to_vec();
        words.extend([(0x08, 0x40), (0x40, INTERFACES)]);
        words.extend([(0x4c, 0x400), (0x50, 2), (0x54, 0x400), (0x58, 0x20)]);
        for base in [0x400, 0x800] {
            words.extend([(base + 0x20, 0xc001), (base + 0x28, 0x40)]);
            words.extend([(base + 0x40, PORT), (base + 0x4c, 0x100)]);
            words.extend([(base + 0x100, 0xc004), (base + 0x108, 0x140)]);
            words.extend([(base + 0x140, PORT_CONTROL), (base + 0x144, 0x300)]);
        }
        words.extend([(0x848, 0x80), (0x880, PORT), (0x88c, 0x200)]);
        words.extend([(0xa00, PORT_CONTROL), (0xa04, 0x200)]);
        words
    }

    #[test]
    fn every_port_that_can_be_is_opened_both_ways() {
        let bar = bar(&with_ports());
        assert!(open_ports(&bar));
        for control in [0x540, 0x940] {
            let words = [0x0c, 0x10, 0x14, 0x18].map(|at| bar.read(control + at).unwrap());
            assert_eq!(words, [0, 1, 1, 0], "{control:#x}");
        }
        assert_eq!(bar.read(0xa10).unwrap(), 0);
    }

    #[test]
    fn lists_of_ports_that_turn_or_leave_the_bar_end() {
        for (at, value) in
            [(0x448, 0x20), (0x4c, u32::MAX), (0x54, u32::MAX), (0x58, 0xffff_fff0), (0x44c, 0xe00)]
        {
            let mut words = with_ports();
            words.push((at, value));
            open_ports(&bar(&words));
        }
        assert!(!open_ports(&bar(&[])));
        assert!(!open_ports(&bar(&IDS)));
    }

    #[test]
    fn what_does_not_answer_or_is_something_else_has_no_ids() {
        let silent: Vec<_> = (0..4096).step_by(4).map(|at| (at, u32::MAX)).collect();
        assert_eq!(Firmware::read(&bar(&silent)), None);
        assert_eq!(Firmware::read(&bar(&[])), None);
    }
}
