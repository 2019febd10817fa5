//! Proofs of properties of the card's blocks.
//!
//! A [`Property`] is a block's Verilog as [`drdma_hdl::emit`] prints it, and a *harness* around it:
//! what is assumed of the inputs and asserted of the outputs. yosys makes a circuit of both, and abc
//! either finds an inductive invariant from which the assertions follow at any time after a reset, or
//! searches the first cycles, or finds a way to break them. [`catalogue`] holds the properties, [`linear`]
//! what is shown of the CRCs. Every property is also tried on changed blocks, its
//! *mutants*, and must fail there.

pub mod catalogue;
pub mod design;
pub mod jobs;
pub mod linear;
pub mod page;
pub mod property;
pub mod streams;
pub mod tools;
mod trace;

pub use design::Design;
pub use property::{Memories, Method, Mutant, Property};
