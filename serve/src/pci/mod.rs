//! The PCI function of the card: the layer between a host's accesses and the card's own registers.
//!
//! | module | |
//! |---|---|
//! | [`config`] | configuration space |
//! | [`corundum`] | BAR0: the card's identification, its port, the table of MSI-X |
//! | [`interrupts`] | events for interrupts |
//! | [`function`] | all of it, with the card behind BAR2 |

pub mod config;
pub mod corundum;
pub mod function;
pub mod interrupts;

pub use function::Function;
