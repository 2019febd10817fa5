//! The board whose flash is written: one behind VFIO, or a file that stands for the flash.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use drdma_bitstreams::Board;
use drdma_driver::{
    flash::{BarShell, Shell},
    pci::{Firmware, PciAddress, Sysfs},
    vfio::{PciFunction, VfioError},
};
use drdma_sim::flash::{Array, FlashShell};

/// BAR of Corundum's registers, and the bytes of it in front of the MSI-X table.
const CORUNDUM: u32 = 0;
const CORUNDUM_LEN: usize = 0x1_0000;

/// Why a board's flash cannot be reached, or must not be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The URI names no board.
    #[error(
        "`{0}` has no flash: it must look like vfio:0000:65:00.0, or model:FILE?board=au50 for a \
         file that stands for the flash of a board"
    )]
    Uri(String),
    /// The board cannot be opened.
    #[error(transparent)]
    Vfio(#[from] VfioError),
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system returned.
        source: io::Error,
    },
    /// The card's registers are not Corundum's, so that its board is unknown.
    #[error(
        "the card does not run Corundum, so that its flash cannot be reached over PCIe; load a \
         bitstream over JTAG first (`make program` in Corundum's folder of the board)"
    )]
    Silent,
    /// The card is another board.
    #[error(
        "the image is for {image}, and the card's registers have board {board_id:#010x} with FPGA \
         {fpga_id:#010x}{}", hint(*board_id, *fpga_id, image)
    )]
    OtherBoard {
        /// Name of the image's board.
        image: String,
        /// Board in the card's registers.
        board_id: u32,
        /// FPGA in the card's registers.
        fpga_id: u32,
    },
}

impl DeviceError {
    /// True if the command line is wrong and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Uri(_) | Self::OtherBoard { .. } => true,
            Self::Vfio(error) => error.is_usage(),
            Self::File { .. } | Self::Silent => false,
        }
    }
}

fn hint(board_id: u32, fpga_id: u32, image: &str) -> String {
    let board = Board::all().iter().find(|board| board.title == image);
    match (Board::of_ids(board_id, fpga_id), board) {
        (Some(found), _) => format!(" ({})", found.title),
        (None, Some(board)) if board.board_id == board_id => format!(
            " (the right board, with another FPGA; if what it runs was built with a wrong \
             `fpga_id`, say `--board {}`)",
            board.name
        ),
        _ => String::new(),
    }
}

/// A board's registers.
pub enum FlashDevice {
    /// A board behind VFIO. The mapping is dropped before the function is closed.
    Board {
        /// The board's registers.
        shell: BarShell,
        /// The open function.
        function: Box<PciFunction>,
    },
    /// A file that stands for the flash.
    Model {
        /// The simulated flash.
        shell: Box<FlashShell>,
        /// Path of the file that keeps the cells.
        path: PathBuf,
    },
}

impl FlashDevice {
    /// Opens the device that a URI names.
    ///
    /// # Errors
    /// See [`DeviceError`].
    pub fn open(sysfs: &Sysfs, uri: &str) -> Result<Self, DeviceError> {
        let wrong = || DeviceError::Uri(uri.to_owned());
        if let Some(file) = uri.strip_prefix("model:") {
            let (file, board) = file.split_once("?board=").unwrap_or((file, "au50"));
            let board: &Board = board.parse().map_err(|_| wrong())?;
            return if file.is_empty() { Err(wrong()) } else { open_model(file.as_ref(), board) };
        }
        let address = uri.strip_prefix("vfio:").ok_or_else(wrong)?;
        let address: PciAddress = address.parse().map_err(|_| wrong())?;
        let function = PciFunction::open(sysfs, address)?;
        let shell = BarShell(function.bar(CORUNDUM, CORUNDUM_LEN)?);
        Ok(Self::Board { shell, function: Box::new(function) })
    }

    /// Checks that the card is the board of an image. `told` says that a person named the board: the FPGA in the
    /// registers, which is a constant of the card's bitstream, then does not count.
    ///
    /// # Errors
    /// The card is another board, or its board is unknown.
    pub fn check(&mut self, board: &Board, told: bool) -> Result<(), DeviceError> {
        let firmware = Firmware::read_with(|offset| self.read(offset).ok());
        let Firmware { board_id, fpga_id, .. } = firmware.ok_or(DeviceError::Silent)?;
        if board_id == board.board_id && (told || board.is(fpga_id)) {
            return Ok(());
        }
        Err(DeviceError::OtherBoard { image: board.title.clone(), board_id, fpga_id })
    }

    /// Writes the cells of a simulated flash to its file; does nothing for a board.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn close(self) -> Result<(), DeviceError> {
        let Self::Model { shell, path } = self else { return Ok(()) };
        let written = fs::write(&path, shell.chip.array.dump());
        written.map_err(|source| DeviceError::File { path, source })
    }
}

fn open_model(path: &Path, board: &Board) -> Result<FlashDevice, DeviceError> {
    let path = path.to_owned();
    let array = match fs::read(&path) {
        Ok(dump) => Array::from_dump(&dump),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Array::default(),
        Err(source) => return Err(DeviceError::File { path, source }),
    };
    let shell = Box::new(FlashShell::new(array, board.board_id, board.idcode, 1));
    Ok(FlashDevice::Model { shell, path })
}

impl Shell for FlashDevice {
    fn read(&mut self, offset: u32) -> io::Result<u32> {
        match self {
            Self::Board { shell, .. } => shell.read(offset),
            Self::Model { shell, .. } => shell.read(offset),
        }
    }

    fn write(&mut self, offset: u32, value: u32) -> io::Result<()> {
        match self {
            Self::Board { shell, .. } => shell.write(offset, value),
            Self::Model { shell, .. } => shell.write(offset, value),
        }
    }

    fn wait(&mut self, time: Duration) {
        match self {
            Self::Board { shell, .. } => shell.wait(time),
            Self::Model { shell, .. } => shell.wait(time),
        }
    }
}

impl std::fmt::Debug for FlashDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Board { function, .. } => f.debug_tuple("Board").field(function).finish(),
            Self::Model { path, .. } => f.debug_tuple("Model").field(path).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(name: &str) -> &'static Board {
        name.parse().unwrap()
    }

    fn card(board_id: u32, fpga_id: u32) -> FlashDevice {
        let shell = Box::new(FlashShell::new(Array::default(), board_id, fpga_id, 1));
        FlashDevice::Model { shell, path: "flash.bin".into() }
    }

    #[test]
    fn a_card_must_be_the_images_board() {
        assert!(card(0x10ee_9032, 0x14b7_7093).check(board("au50"), false).is_ok());
        let error = card(0x10ee_9032, 0x14b7_7093).check(board("au55c"), true).unwrap_err();
        assert!(error.is_usage());
        assert!(error.to_string().ends_with("with FPGA 0x14b77093 (Alveo U50)"), "{error}");
        let error = card(0x10ee_0001, 5).check(board("au50"), true).unwrap_err().to_string();
        assert!(error.ends_with("have board 0x10ee0001 with FPGA 0x00000005"), "{error}");
    }

    #[test]
    fn a_person_may_know_better_which_fpga_the_right_board_has() {
        let mut card = card(0x10ee_9037, 0x04b7_7093);
        let error = card.check(board("au55c"), false).unwrap_err().to_string();
        assert!(
            error.ends_with("was built with a wrong `fpga_id`, say `--board au55c`)"),
            "{error}"
        );
        card.check(board("au55c"), true).unwrap();
    }

    #[test]
    fn a_card_without_corundum_does_not_say_what_it_is() {
        let mut card = card(0x10ee_9032, 0x04b7_7093);
        let FlashDevice::Model { shell, .. } = &mut card else { unreachable!() };
        shell.set(4, 0);
        let error = card.check(board("au50"), true).unwrap_err();
        assert!(
            !error.is_usage() && error.to_string().contains("does not run Corundum"),
            "{error}"
        );
    }
}
