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
//! - [`receive`]: frames to acknowledgements. [`complete`]: completions.
//! - [`top`] joins them. [`primitive`] holds what several blocks share and what the kernel language cannot
//!   say; [`emit`] turns a block into Verilog. `WRITING_BLOCKS.md` is the guide.

// Kernels are written for the printer: loops index, conditions are spelled out.
#![allow(
    clippy::needless_range_loop,
    clippy::nonminimal_bool,
    clippy::bool_comparison,
    clippy::collapsible_if
)]

pub mod complete;
pub mod context;
pub mod emit;
pub mod layout;
pub mod primitive;
pub mod receive;
pub mod request;
pub mod rows;
pub mod send;
pub mod shell;
pub mod top;

/// What the tests of blocks share.
#[cfg(test)]
pub(crate) mod testing {
    use crate::emit::emit;
    use drdma_verilated::{Library, Options};
    use rust_hdl_core::prelude::Block;

    /// Emits a block as module `name`, lints it and builds it.
    pub fn library<B: Block>(name: &str, make: impl FnOnce() -> B + Send) -> Library {
        let source = emit(name, make).unwrap_or_else(|e| panic!("{e}")).source();
        let warnings = source.lint().unwrap_or_else(|e| panic!("{e}"));
        let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.is_empty(), "{name}: {}", warnings.join("\n"));
        source.build(&Options::default()).unwrap_or_else(|e| panic!("{e}"))
    }
}
