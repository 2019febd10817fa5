//! The C interface of libdrdma. `include/drdma.h` is made from this crate.
//!
//! Objects are allocated here and handed to C as pointers. What C promises of a pointer, it promises by
//! the functions' documentation: that it came from here and was not destroyed. No panic leaves a
//! function: it becomes the error EIO.
#![allow(non_camel_case_types, clippy::missing_safety_doc)]

mod device;
mod error;
mod memory;
mod post;
mod queue;
mod region;

pub use device::*;
pub use error::drdma_last_error;
pub use memory::*;
pub use post::*;
pub use queue::*;
pub use region::*;
