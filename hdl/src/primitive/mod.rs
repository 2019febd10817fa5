//! What several blocks share, and what the kernel language cannot say.
//!
//! | primitive | what |
//! |---|---|
//! | [`byte_mux`] | crossbar: every output byte selects an input byte, two stages |
//! | [`crc32`] | CRC-32 of packets, 64 bytes per cycle |
//! | [`fifo`] | valid/ready FIFO of any depth, registered on both sides |
//! | [`low_product`] | pipelined multiplier, lower part of the product |
//! | [`lutram`] | small memory with asynchronous reads |
//! | [`multiplier`] | pipelined unsigned multiplier in DSP slices |
//! | [`pack`] | concatenation of equal fields |
//! | [`priority`] | first set bit, number of set bits |
//! | [`ram`] | memory with byte enables and registered reads |
//! | [`record`] | records as plain bits, and back |
//! | [`skid`] | register slice of a stream |

pub mod byte_mux;
pub mod crc32;
pub mod fifo;
pub mod low_product;
pub mod lutram;
pub mod multiplier;
pub mod pack;
pub mod priority;
pub mod ram;
pub mod record;
pub mod skid;

pub use byte_mux::ByteMux;
pub use crc32::Crc32;
pub use fifo::Fifo;
pub use low_product::LowProduct;
pub use lutram::Lutram;
pub use multiplier::Multiplier;
pub use pack::Pack;
pub use priority::{CountOnes, FirstSet};
pub use ram::{Ram, RamStyle};
pub use record::{Flatten, Restore};
pub use skid::Skid;
