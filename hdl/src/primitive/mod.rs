//! What several blocks share, and what the kernel language cannot say.
//!
//! | primitive | what |
//! |---|---|
//! | [`app_block`] | the published module around the core |
//! | [`byte_mux`] | crossbar: every output byte selects an input byte, two stages |
//! | [`crc32`] | CRC-32 of packets, 64 bytes per cycle |
//! | [`fifo`] | valid/ready FIFO of any depth, registered on both sides |
//! | [`header`] | headers on the wire, from the tables of `drdma_abi` |
//! | [`lutram`] | small memory with asynchronous reads |
//! | [`multiplier`] | pipelined unsigned multiplier in DSP slices |
//! | [`pack`] | concatenation of equal fields |
//! | [`priority`] | first set bit, number of set bits |
//! | [`ram`] | memory with byte enables and registered reads |
//! | [`rotate`] | byte rotation, two stages |
//! | [`skid`] | register slice of a stream |

pub mod app_block;
pub mod byte_mux;
pub mod crc32;
pub mod fifo;
pub mod header;
pub mod lutram;
pub mod multiplier;
pub mod pack;
pub mod priority;
pub mod ram;
pub mod rotate;
pub mod skid;

pub use byte_mux::ByteMux;
pub use crc32::Crc32;
pub use fifo::Fifo;
pub use lutram::Lutram;
pub use multiplier::Multiplier;
pub use pack::Pack;
pub use priority::{CountOnes, FirstSet};
pub use ram::{Ram, RamStyle};
pub use rotate::Rotate;
pub use skid::Skid;
