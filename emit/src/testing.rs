//! Functions that tests of blocks share.

use crate::emit;
use drdma_verilated::{Library, Options};
use rust_hdl_core::prelude::Block;

/// Emits a block as module `name`, and builds it.
///
/// # Panics
/// The block cannot be emitted or built, or Verilator warns of something.
pub fn library<B: Block>(name: &str, make: impl FnOnce() -> B + Send) -> Library {
    let source = emit(name, make).unwrap_or_else(|e| panic!("{e}")).source();
    let library = source.build(&Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let warnings: Vec<_> = library.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings.is_empty(), "{name}: {}", warnings.join("\n"));
    library
}
