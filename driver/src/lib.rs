//! A card behind one trait: registers, DMA-able memory, progress.
//!
//! Everything above this crate drives a [`Card`] and cannot tell a board behind VFIO from the
//! Verilated RTL or the reference model. [`Device`] adds to any card what the register map
//! (`drdma_abi::register`) means: registers, counters and tables by name, and addresses for memory.
//! The back end for boards, [`vfio`], is here; those for simulations are in `drdma-soft` and `drdma-sim`. [`flash`]
//! writes what a board boots from.

pub mod card;
pub mod device;
pub mod flash;
pub mod iova;
pub mod memory;
pub mod pci;
pub mod vfio;

pub use card::{Card, CardError, RegisterWindow};
pub use device::{Device, OpenError, identify};
pub use iova::IovaAllocator;
pub use memory::DmaMemory;
