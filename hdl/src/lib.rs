//! The D-RDMA card in RustHDL.
//!
//! One folder a block; [`primitive`] holds what several blocks share and what the kernel language
//! cannot say; [`emit`] turns a block into Verilog. `WRITING_BLOCKS.md` is the guide.

// Kernels are written for the printer: loops index, conditions are spelled out.
#![allow(clippy::needless_range_loop, clippy::nonminimal_bool, clippy::bool_comparison)]

pub mod emit;
pub mod primitive;
