//! From the card's Verilog to a board.
//!
//! | module | |
//! |---|---|
//! | [`board`] | the boards: part, ids, what Corundum must be set to |
//! | [`verilog`] | ports and parameters of a module, and what an instance connects |
//! | [`corundum`] | a Corundum tree: what it expects of an application block |
//! | [`package`](mod@package) | the files that are put into that tree |
//! | [`manifest`] | what a bitstream was built from, with hashes |
//! | [`bitfile`] | the head of a `.bit` file |

pub mod bitfile;
pub mod board;
pub mod corundum;
pub mod manifest;
pub mod package;
pub mod verilog;

pub use bitfile::BitFile;
pub use board::Board;
pub use corundum::{Corundum, CorundumError};
pub use manifest::{FileHash, Manifest, ManifestError, sha256};
pub use package::{Package, PackageError};
