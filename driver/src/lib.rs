//! A card behind one trait: registers, DMA-able memory, progress.
//!
//! Everything above this crate drives a [`Card`] and cannot tell a board behind VFIO from the
//! Verilated RTL or the reference model.

pub mod card;
pub mod memory;

pub use card::{Card, CardError};
pub use memory::DmaMemory;
