//! The C interface of libdrdma. `include/drdma.h` is made from this crate.
//!
//! Objects are allocated here and handed to C as pointers. What C promises of a pointer, it promises by
//! the functions' documentation: that it came from here and was not destroyed. No panic leaves a
//! function: it becomes the error EIO.
#![allow(non_camel_case_types, clippy::missing_safety_doc)]

mod async_event;
mod completion;
mod device;
mod error;
mod memory;
mod pair;
mod post;
mod receive;
mod region;
mod shared;
mod values;

pub use async_event::*;
pub use completion::*;
pub use device::*;
pub use error::drdma_last_error;
pub use memory::*;
pub use pair::*;
pub use post::*;
pub use receive::*;
pub use region::*;
pub use shared::*;
pub use values::*;

#[cfg(test)]
mod tests;
