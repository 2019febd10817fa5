//! Places where the card puts the data that it reads, and the rate at which they can be gathered
//! from there (D-RDMA sections 4.2 and 4.3).
//!
//! The segmented memory has [`BANKS`] banks of words of [`WORD`] bytes; words that follow one another
//! lie in banks that do. The [`assembler`] reads a word of each bank in a cycle, but never two of one bank
//! for the same quarter of its payload, so that values which are sent side by side should lie in different
//! banks. Where they lie depends on how the card fetches a request:
//!
//! | placement | requests |
//! |---|---|
//! | [`ColumnPlacement`] | rows of at most 960 B of several columns, for one destination or many |
//! | [`BlockPlacement`] | all others, row by row |
//!
//! Software need not take care of either: the card does. They predict the rate of a layout of
//! columns:
//!
//! ```
//! use libdrdma::optimizer::{ColumnPlacement, Lane, assembler};
//!
//! // Five columns of 4 B, of which each starts at a page.
//! let lanes: Vec<_> = (0..5).map(|c| Lane::dense(0x10_0000 * c, 4)).collect();
//! let rows = ColumnPlacement::window_rows(&lanes)?;
//! assert_eq!(rows, 1408);
//! let placement = ColumnPlacement::new(&lanes, rows)?;
//! let banks = placement.groups().iter().map(|group| group.place.bank());
//! assert_eq!(banks.collect::<Vec<_>>(), [0, 5, 10, 15, 20]);
//! // Every third row.
//! let pace = assembler::pace(placement.beats((0..rows).step_by(3)));
//! assert!(pace.words_per_cycle() > 15.0, "of 16");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod assembler;
mod blocks;
mod columns;
mod sparse;

pub use blocks::BlockPlacement;
pub use columns::{ColumnPlacement, Group, Lane, PlacementError};
pub use sparse::SparseWindow;

/// Banks of the segmented memory.
pub const BANKS: u32 = 32;
/// Bytes of a word, of which a bank gives one a cycle.
pub const WORD: u32 = 4;

/// Bytes of payload that the assembler puts together in a cycle.
const BEAT: usize = 64;

/// Bytes of payload that are gathered together, as their places; `None` behind the last.
pub type Beat = [Option<Place>; BEAT];

/// A byte of a window of the segmented memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(u32);

impl Place {
    /// Bytes from the start of the window, less than [`WINDOW`](super::WINDOW).
    pub fn offset(self) -> u32 {
        self.0
    }

    /// Number of the byte's bank. (All windows start in bank 0.)
    pub fn bank(self) -> u32 {
        self.word() % BANKS
    }

    /// Words from the start of the window.
    fn word(self) -> u32 {
        self.0 / WORD
    }

    fn plus(self, bytes: u64) -> Self {
        Self(self.0 + bytes as u32)
    }
}
