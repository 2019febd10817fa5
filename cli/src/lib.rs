//! The `drdma` command as a library: job files, running and explaining them; costs of DMA reads, and
//! the activity of cards; the cards of this machine, and their flash.

pub mod building;
pub mod cable;
pub use drdma_calibrate as calibrate;
pub mod demo;
pub mod device;
pub mod devices;
pub mod explain;
pub mod fabric;
pub mod flash;
pub mod info;
pub mod interrupt;
pub mod job;
pub mod output;
pub mod perf;
pub mod placement;
pub mod record;
pub mod run;
pub mod stats;
pub mod top;
