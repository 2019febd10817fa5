//! A simulated card served as a PCI function over vfio-user: a client, QEMU's `vfio-user-pci` for
//! one, sees configuration space, BARs, DMA and reset as those of a board in a Corundum shell.
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
//! The crate `vfio_user` has a server as well. It waits for messages, so that no clock can run
//! between them, takes any size on trust, and goes on reading after a message that it did not
//! understand; so the protocol's server side is here.

pub mod connection;
pub mod memory;
pub mod pci;
pub mod protocol;
pub mod server;
pub mod session;

pub use pci::Function;
pub use server::{Event, ServeError, Server};
