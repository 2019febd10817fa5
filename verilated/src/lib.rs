//! Builds Verilog with Verilator at run time and drives the model through its ports.
//!
//! ```text
//! Source (Verilog texts + ports) -> build(&Options) -> Library -> instance(seed) -> Model
//! ```
//!
//! A [`Source`] names a top module and its ports. [`Source::build`] runs Verilator and the C++
//! compiler, or finds the result of an earlier run in the cache, and loads the shared library.
//! [`Source::build_watched`] reports its steps, and can be ended. The compiler is Clang (`clang++-19`, `clang++`)
//! where it is installed, GCC otherwise, or the one that `DRDMA_CXX` names.
//!
//! The cache is the folder `drdma/verilated` in `$XDG_CACHE_HOME` (`~/.cache` if that is not set), or the folder that
//! `DRDMA_VERILATED_CACHE` names. It may be removed whenever nothing runs. Only this user may enter it. Nothing is
//! loaded that another user owns or could write to, nor a file whose hash is not the one noted when it was built. In
//! this workspace Cargo sets the variable to `target/verilated` (`.cargo/config.toml`). What Verilator warns of, and
//! which version it is, are kept there as well: a process whose model is built starts no other process. Each [`Model`]
//! is one instance of the design with its own random initial state. [`testbench`] has the parts of a test of a block:
//! clock, reset, stream drivers and monitors. With `DRDMA_VERILATED_COVERAGE` set, models count which of their
//! statements run ([`coverage`]). [`lint`](Source::lint) reports every Verilator warning that is not allowed.

mod cache;
mod compile;
mod compiler;
pub mod coverage;
mod error;
mod lint;
mod model;
mod shim;
mod source;
pub mod testbench;
mod tools;
mod watch;
mod wide;
mod word;

pub use cache::CACHE_VARIABLE;
pub use compile::Options;
pub use error::Error;
pub use lint::{ALLOWANCES, Allowance, Warning};
pub use model::{Library, Model, PortHandle, PortRef};
pub use source::{Direction, Origin, Port, Source};
pub use watch::{Step, Watch};
pub use word::Word;

/// Result of the functions of this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;
