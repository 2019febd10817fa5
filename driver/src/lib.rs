//! A card behind one trait: registers, DMA-able memory, progress.
//!
//! Everything above this crate drives a [`Card`] and cannot tell a board behind VFIO from the
//! Verilated RTL or the reference model. [`Device`] adds to any card what the register map
//! (`drdma_abi::register`) means: registers, counters and tables by name, and addresses for memory.

pub mod card;
pub mod device;
pub mod iova;
pub mod memory;
pub mod pci;

pub use card::{Card, CardError};
pub use device::{Device, OpenError};
pub use iova::IovaAllocator;
pub use memory::DmaMemory;
