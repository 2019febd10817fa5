//! Verilog of a block.
//!
//! [`emit`] builds a RustHDL block, checks it, and prints it as Verilog-2001 with ANSI ports.
//! RustHDL's own printer writes operators without regard to Verilog's precedence and widths;
//! this one knows the width of every signal, so that an expression means in Verilog what it
//! means in Rust, and refuses what it cannot say with the block's path and the reason.
//!
//! - Every binary expression is parenthesised; integer literals get the width of their operand;
//!   casts are explicit slices or zero extensions; a slice of an expression becomes a function.
//! - An unknown name (a const generic or a `const` item used as a value) is an error.
//! - The last arm of a `match` becomes the `default`.
//! - A [`DFF`](rust_hdl_widgets::prelude::DFF) becomes a register of its parent, without an
//!   initial value: what needs a reset must write it. The published file gives them some, for
//!   simulators with unknown values alone ([`with_initial_values`]).
//! - Kernel statements that share no signal become separate `assign`s and `always` blocks.
//! - A statement that reads a register's `d` stands behind one that assigns it: before, it would read what the register
//!   holds.
//! - Modules with the same text are printed once.

#[doc(hidden)]
pub mod code;
mod expression;
mod initial;
mod kernel;
mod module;
mod names;
mod origins;
pub mod prelude;
pub mod record;
mod survey;
pub mod testing;

use drdma_verilated::{Origin, Port, Source};
use rust_hdl_core::prelude::Block;

pub use initial::{assigned, with_initial_values};

/// Why a block cannot be emitted.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{path}: {reason}")]
pub struct EmitError {
    /// The block's path from the top, joined by dots.
    pub path: String,
    /// Reason why the block cannot be emitted.
    pub reason: String,
}

/// A block in Verilog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The name of the top module; every other module's name starts with it and `_`.
    pub name: String,
    /// All modules, the top one last.
    pub verilog: String,
    /// The top module's ports.
    pub ports: Vec<Port>,
    /// Origin of each line of the text: a kernel's statement, or a leaf's text. Coverage is counted by these.
    pub origins: Vec<Origin>,
}

impl Emitted {
    /// The block as something that Verilator can build.
    pub fn source(&self) -> Source {
        Source::new(&self.name)
            .verilog(format!("{}.v", self.name), &self.verilog)
            .ports(self.ports.iter().cloned())
            .origins(self.origins.iter().cloned())
    }
}

/// Large blocks are built on the stack before they are printed.
const STACK_BYTES: usize = 1 << 30;

/// Prints the block that `make` builds as module `name`.
///
/// # Errors
/// A signal is never driven, a kernel says what the printer does not support, or the text of a
/// kernel depends on a name that does not exist in Verilog.
///
/// # Panics
/// `make` panics.
pub fn emit<B: Block>(name: &str, make: impl FnOnce() -> B + Send) -> Result<Emitted, EmitError> {
    std::thread::scope(|scope| {
        let work = move || {
            let mut block = make();
            block.connect_all();
            module::print(name, &survey::survey(name, &block))
        };
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = thread.spawn_scoped(scope, work).expect("a thread can be started");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
