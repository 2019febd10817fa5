//! Several cards in one simulated time, or one connected to a wire.
//!
//! | module | |
//! |---|---|
//! | [`network`] | the switch and the links: queues, delay, faults, marks |
//! | [`ecn`] | congestion marks in IPv4 headers |
//! | [`slot_card`] | any simulated card in its slot, on the simulation's time |
//! | [`simulation`] | cards at the ports of a network, in one time |
//! | [`nodes`] | the same for programs: an open card a node, and time that the program advances |
//! | [`wired`] | a node in a process of its own: a wire that leads out of it, and the machine's time |
//!
//! All results except those of [`wired`] depend only on the configuration and its seed: not on a
//! clock of the machine, nor on the order in which threads run.
#![deny(unsafe_code)]

pub mod config;
pub mod ecn;
pub mod network;
pub mod nodes;
mod output;
mod random;
pub mod simulation;
pub mod slot_card;
mod soft_card;
pub mod time;
pub mod wired;

pub use config::{FaultConfig, NetworkConfig};
pub use network::{Network, Port, PortCounters, Tap};
pub use nodes::{Fabric, FabricCard, FabricError, Node};
pub use simulation::{Simulation, SimulationError, TimedCard};
pub use slot_card::SlotCard;
pub use time::Time;
pub use wired::{Wake, WiredNode};

/// Largest number of frames that may overtake one that is held back.
pub const MAX_OVERTAKING: u64 = 8;
