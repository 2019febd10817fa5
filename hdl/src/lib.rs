//! The D-RDMA card in RustHDL.
//!
//! The rooms follow the data, and each holds the blocks of one stage, a folder a block:
//!
//! ```text
//! request -> rows -> layout -> send -> (wire)
//!                               |         |
//!   shell, context           complete <- receive
//! ```
//!
//! - [`shell`]: registers, host memory, MAC; [`context`]: what the host configured.
//! - [`request`]: doorbell to work request. [`rows`]: work request to rows. [`layout`]: rows to DMA reads,
//!   segmented memory, payload. [`send`]: payload to frames.
//! - [`receive`]: frames to acknowledgements, and to packets. [`complete`]: completions.
//! - [`regions`]: the pieces in which packed bytes of regions lie. [`transpose`]: pieces of values into a memory
//!   of banks.
//! - [`top`] joins the rooms, in the order of the data: `top/wiring` has a page for each. [`primitive`] holds what
//!   several blocks share and what the kernel language cannot say; [`emit`] turns a block into Verilog.
//!   `WRITING_BLOCKS.md` is the guide.
//!
//! A block's `mod.rs` has its contract, its ports and its registers. A short kernel stands there as well; a long one
//! stands in `kernel.rs` or `kernel/mod.rs`, or in `wiring/mod.rs` if it only joins blocks, with its parts in files
//! beside it. Read the kernel first: it is a page that names the parts.

// Kernels are written for the printer: loops index, conditions are spelled out.
#![allow(
    clippy::needless_range_loop,
    clippy::nonminimal_bool,
    clippy::bool_comparison,
    clippy::collapsible_if,
    clippy::collapsible_match
)]

pub use drdma_emit as emit;

pub mod complete;
pub mod context;
pub mod layout;
pub mod primitive;
pub mod receive;
pub mod regions;
pub mod request;
pub mod rows;
pub mod send;
pub mod shell;
pub mod top;
pub mod transpose;

/// Helpers that the tests of blocks share.
#[cfg(test)]
pub(crate) use drdma_emit::testing;
