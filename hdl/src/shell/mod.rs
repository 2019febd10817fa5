//! Connects the card to the Corundum shell: registers, control reads and writes of host memory, the MAC.

pub mod control;
pub mod corundum;
pub mod host_read;
pub mod host_write;
pub mod mac;
