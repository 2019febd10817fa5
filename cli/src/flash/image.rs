//! A file that is to be written to a board's flash, and its manifest.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use drdma_bitstreams::{
    BitFile, Board, Manifest, ManifestError, bitfile::BitFileError, board::UnknownBoard,
};
use drdma_driver::flash::BootWords;

/// Why a file is not written to a flash. Nothing was done to any board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system returned.
        source: io::Error,
    },
    /// The header of a `.bit` file is broken.
    #[error("{}: {source}", path.display())]
    BitFile {
        /// Path of the file.
        path: PathBuf,
        /// Fault of the header.
        source: BitFileError,
    },
    /// The manifest cannot be used, or describes another file.
    #[error("{0}; build the bitstream again, or seal it again if it is the right one")]
    Manifest(#[from] ManifestError),
    /// The manifest names a board that is not known.
    #[error(transparent)]
    Board(#[from] UnknownBoard),
    /// No board has the FPGA of a `.bit` file.
    #[error("{} is for {part}, and no board has that FPGA ({})", path.display(), known())]
    Part {
        /// Path of the file.
        path: PathBuf,
        /// Name of the FPGA in the header.
        part: String,
    },
    /// The file is a stream alone, which does not say which board it is for.
    #[error(
        "{} is no .bit file, so that it does not name its FPGA; use the .bit file, or name the \
         board with `--board` if you are sure of it",
        .0.display()
    )]
    Anonymous(PathBuf),
    /// File, manifest and command line name different boards.
    #[error("{what} is for {found}, and {other} for {expected}")]
    Boards {
        /// What names the first board: the file, its manifest or the command line.
        what: String,
        /// Name of the first board.
        found: String,
        /// What names the other board.
        other: &'static str,
        /// Name of the other board.
        expected: String,
    },
    /// The file has no configuration stream.
    #[error(
        "{} has no configuration stream: no sync word followed by an IDCODE",
        .0.display()
    )]
    NoStream(PathBuf),
    /// The stream is for another FPGA than the header or the manifest says.
    #[error(
        "the stream of {} is for an FPGA with IDCODE {found:#010x}, and {} has {expected:#010x}",
        path.display(), board
    )]
    Idcode {
        /// Path of the file.
        path: PathBuf,
        /// Name of the board.
        board: String,
        /// The IDCODE in the stream.
        found: u32,
        /// IDCODE of the board's FPGA.
        expected: u32,
    },
}

fn known() -> String {
    let boards = Board::all().iter().map(|board| format!("{}: {}", board.title, board.part));
    boards.collect::<Vec<_>>().join(", ")
}

/// A stream for a board.
#[derive(Clone, Debug)]
pub struct Image {
    /// The board that it is for.
    pub board: &'static Board,
    /// The stream, without the file's head.
    pub stream: Vec<u8>,
    /// The manifest, if there is one.
    pub manifest: Option<Manifest>,
}

impl Image {
    /// Reads a `.bit` file, or a stream alone. A manifest that lies beside it, or is named, must be
    /// the file's own.
    ///
    /// # Errors
    /// The file is no bitstream, not the one of its manifest, or for no board or several.
    pub fn read(
        path: &Path,
        manifest: Option<&Path>,
        board: Option<&'static Board>,
    ) -> Result<Self, ImageError> {
        let owned = || path.to_owned();
        let file = fs::read(path).map_err(|source| ImageError::File { path: owned(), source })?;
        let beside = Manifest::beside(path);
        let manifest = match manifest.or(beside.exists().then_some(beside.as_path())) {
            Some(path) => {
                let manifest = Manifest::read(path)?;
                manifest.check_image(path, &file)?;
                Some(manifest)
            }
            None => None,
        };
        let mut boards: Vec<(&'static str, &'static Board)> = Vec::new();
        boards.extend(board.map(|board| ("the command line", board)));
        if let Some(manifest) = &manifest {
            boards.push(("its manifest", manifest.board.parse()?));
        }
        let stream = if BitFile::is(&file) {
            let bit = BitFile::parse(&file)
                .map_err(|source| ImageError::BitFile { path: owned(), source })?;
            let part = bit.part.clone();
            let board = Board::of_part(&part).ok_or(ImageError::Part { path: owned(), part })?;
            boards.push(("its head", board));
            bit.stream.to_vec()
        } else {
            file
        };
        let &(_, board) = boards.last().ok_or_else(|| ImageError::Anonymous(owned()))?;
        if let Some((other, expected)) = boards.iter().find(|(_, other)| *other != board) {
            return Err(ImageError::Boards {
                what: path.display().to_string(),
                found: board.title.clone(),
                other,
                expected: expected.title.clone(),
            });
        }
        let device = BootWords::find(&stream).device();
        let found = device.ok_or_else(|| ImageError::NoStream(owned()))?;
        if !board.is(found) {
            let expected = board.idcode;
            let board = board.title.clone();
            return Err(ImageError::Idcode { path: owned(), board, found, expected });
        }
        Ok(Self { board, stream, manifest })
    }
}
