//! The flash that a board boots from, behind Corundum's registers: for trying `drdma flash`, and its
//! tests.
//!
//! | module | |
//! |---|---|
//! | [`shell`] | the registers, of which one is the flash's pins |
//! | [`chip`] | the chip behind the pins, with faults |
//! | [`array`](mod@array) | the chip's cells |
//! | [`boot`](mod@boot) | how an FPGA boots from the cells |
//! | [`sample`] | streams that look like bitstreams |

pub mod array;
pub mod boot;
pub mod chip;
pub mod sample;
pub mod shell;

pub use array::Array;
pub use boot::{Booted, boot};
pub use chip::{Chip, Faults};
pub use shell::FlashShell;
