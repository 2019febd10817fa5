//! The boards that the card is built for; their data are in `bitstreams/boards`.

use std::{collections::BTreeMap, str::FromStr, sync::LazyLock};

use serde::{Deserialize, Deserializer, de};

/// A board.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// What it is called on a command line.
    pub name: String,
    /// What its maker calls it.
    pub title: String,
    /// Its FPGA, as Vivado calls it: part, package, speed grade.
    pub part: String,
    /// JTAG id of that FPGA, without the revision in its upper four bits.
    #[serde(deserialize_with = "hexadecimal")]
    pub idcode: u32,
    /// Vendor and device that Corundum's registers give for it.
    #[serde(deserialize_with = "hexadecimal")]
    pub board_id: u32,
    /// The folder of Corundum that it is built in, in `fpga/mqnic/Alveo/fpga_100g`.
    pub corundum: String,
    /// Variables of that folder's `Makefile` that get another value.
    pub makefile: BTreeMap<String, String>,
    /// Variables of its `config.tcl` that get another value.
    pub settings: BTreeMap<String, String>,
    /// Parameters of its `config.tcl` that get another value.
    pub parameters: BTreeMap<String, String>,
}

fn hexadecimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let text = String::deserialize(deserializer)?;
    u32::from_str_radix(&text, 16).map_err(de::Error::custom)
}

static BOARDS: LazyLock<[Board; 2]> = LazyLock::new(|| {
    [include_str!("../boards/au50.json"), include_str!("../boards/au55c.json")]
        .map(|text| serde_json::from_str(text).expect("the boards' data are in order"))
});

/// There is no board of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no board `{0}`; there are {list}", list = names().join(" and "))]
pub struct UnknownBoard(pub String);

fn names() -> Vec<&'static str> {
    BOARDS.iter().map(|board| board.name.as_str()).collect()
}

impl Board {
    /// All of them.
    pub fn all() -> &'static [Self] {
        &*BOARDS
    }

    /// The board for which a bitstream for `part` is. Vivado leaves the prefix `xc` out at times.
    pub fn of_part(part: &str) -> Option<&'static Self> {
        let bare = |part: &str| part.to_lowercase().trim_start_matches("xc").to_owned();
        Self::all().iter().find(|board| bare(&board.part) == bare(part))
    }

    /// The board whose registers have those ids.
    pub fn of_ids(board_id: u32, fpga_id: u32) -> Option<&'static Self> {
        let fits = |board: &&Self| board.board_id == board_id && board.is(fpga_id);
        Self::all().iter().find(fits)
    }

    /// True if a JTAG id of any revision is that of the board's FPGA.
    pub fn is(&self, idcode: u32) -> bool {
        idcode & 0x0fff_ffff == self.idcode
    }
}

impl FromStr for &'static Board {
    type Err = UnknownBoard;

    fn from_str(name: &str) -> Result<Self, UnknownBoard> {
        let found = Board::all().iter().find(|board| board.name == name);
        found.ok_or_else(|| UnknownBoard(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_found_by_name_part_and_ids() {
        let u50: &Board = "au50".parse().unwrap();
        let u55: &Board = "au55c".parse().unwrap();
        assert_eq!(Board::of_part("XCU50-fsvh2104-2-e"), Some(u50));
        assert_eq!(Board::of_part("u55c-fsvh2892-2L-e"), Some(u55));
        // The C1100 has another FPGA in the same place.
        assert_eq!(Board::of_part("xcu55n-fsvh2892-2L-e"), None);
        assert_eq!(Board::of_ids(0x10ee_9032, 0x14b7_7093), Some(u50));
        assert_eq!(Board::of_ids(0x10ee_9037, 0x04b7_d093), Some(u55));
        assert_eq!(Board::of_ids(0x10ee_9037, 0x04b7_7093), None);
        let error = "au280".parse::<&Board>().unwrap_err().to_string();
        assert_eq!(error, "there is no board `au280`; there are au50 and au55c");
    }

    #[test]
    fn every_board_is_configured_for_the_card() {
        for board in Board::all() {
            let app_id = format!("32'h{:08x}", drdma_abi::register::TYPE_ID);
            assert_eq!(board.parameters["APP_ID"], app_id);
            assert_eq!(board.parameters["APP_ENABLE"], "1");
        }
    }
}
