//! The D-RDMA card in RustHDL.
//!
//! One folder a block; [`primitive`] holds what several blocks share and what the kernel language
//! cannot say; [`emit`] turns a block into Verilog. `WRITING_BLOCKS.md` is the guide.

// Kernels are written for the printer: loops index, conditions are spelled out.
#![allow(
    clippy::needless_range_loop,
    clippy::nonminimal_bool,
    clippy::bool_comparison,
    clippy::collapsible_if
)]

pub mod columns;
pub mod completion;
pub mod control;
pub mod decoder;
pub mod emit;
pub mod expander;
pub mod fragments;
pub mod gather;
pub mod host_read;
pub mod host_write;
pub mod mac;
pub mod packetizer;
pub mod placer;
pub mod primitive;
pub mod queue;
pub mod reader;
pub mod receiver;
pub mod segmented_memory;
pub mod segmenter;
pub mod sequencer;
pub mod top;
pub mod windows;

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
