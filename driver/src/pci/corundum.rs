//! The identification that a Corundum card carries at the start of BAR0: a list of register blocks,
//! each with a type, a version and the offset of the next one.

use serde::Serialize;

use super::Bar;

/// Type of the block of the firmware's ids, the first of the list.
const FIRMWARE: u32 = 0xffff_ffff;
/// Its version.
const FIRMWARE_VERSION: u32 = 0x0000_0100;
/// Type of the block that tells which application the card carries.
const APPLICATION: u32 = 0x0000_c005;
/// Blocks that are looked at: lists are far shorter, unless they go in a circle.
const BLOCKS: usize = 64;

/// What a Corundum card says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Firmware {
    /// JTAG id of the FPGA.
    pub fpga_id: u32,
    /// Id of the firmware.
    pub firmware_id: u32,
    /// Its version, a part in each byte.
    pub firmware_version: u32,
    /// Id of the board.
    pub board_id: u32,
    /// Its version.
    pub board_version: u32,
    /// When it was built, in seconds since 1970.
    pub build_time: u32,
    /// Start of the commit's hash that it was built from.
    pub commit: u32,
    /// Id of the application that it carries, if any.
    pub application: Option<u32>,
}

impl Firmware {
    /// Reads what the card says, or `None` if it does not answer as a Corundum card does.
    pub fn read(bar: &Bar) -> Option<Self> {
        Self::read_with(|offset| bar.read(offset).ok())
    }

    /// The same through a function that reads a register of BAR0, if there is one.
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

/// The offset of the first block of type `kind`, looked for with a function that reads a register,
/// if there is one.
pub(crate) fn find(kind: u32, mut word: impl FnMut(u32) -> Option<u32>) -> Option<u32> {
    let mut at = 0;
    for _ in 0..BLOCKS {
        if word(at)? == kind {
            return Some(at);
        }
        at = word(at.checked_add(8)?).filter(|next| *next != 0)?;
    }
    None
}

fn application(mut word: impl FnMut(u32) -> Option<u32>) -> Option<u32> {
    let at = find(APPLICATION, &mut word)?;
    word(at.checked_add(0x0c)?)
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

    #[test]
    fn what_does_not_answer_or_is_something_else_has_no_ids() {
        let silent: Vec<_> = (0..4096).step_by(4).map(|at| (at, u32::MAX)).collect();
        assert_eq!(Firmware::read(&bar(&silent)), None);
        assert_eq!(Firmware::read(&bar(&[])), None);
    }
}
