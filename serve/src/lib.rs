//! A simulated card served as a PCI function over vfio-user: to a client, for instance QEMU's
//! `vfio-user-pci`, configuration space, BARs, DMA and reset are those of a board in a Corundum
//! shell.
//!
//! | module | |
//! |---|---|
//! | [`pci`] | the function: configuration space, BARs, interrupts, the card behind them |
//! | [`protocol`] | the messages of vfio-user |
//! | [`connection`] | a client's socket |
//! | [`memory`] | a client's memory |
//! | [`session`] | what a client's messages do |
//! | [`server`] | clients, clock and wire in one loop |
//!
//! The crate `vfio_user` has a server as well. It blocks while it waits for messages, so that no
//! clock can run between them, does not check sizes, and continues to read after a message that it
//! did not understand; so the protocol's server side is here.

pub mod connection;
pub mod memory;
pub mod pci;
pub mod protocol;
pub mod server;
pub mod session;

pub use pci::Function;
pub use server::{Event, ServeError, Server};
