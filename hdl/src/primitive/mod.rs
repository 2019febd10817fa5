//! What several blocks share, and what the kernel language cannot say.
//!
//! | primitive | what |
//! |---|---|
//! | [`app_block`] | the published module around the core |
//! | [`byte_mux`] | crossbar: every output byte selects an input byte, two stages |
//! | [`cam`] | content-addressable memory |
//! | [`clashes`] | which of several requests for banks have to wait |
//! | [`crc32`] | CRC-32 of packets, 64 bytes per cycle |
//! | [`fifo`] | valid/ready FIFO of any depth, registered on both sides |
//! | [`frame_crc32`] | CRC-32 of frames, 64 bytes a cycle, sooner |
//! | [`header`] | headers on the wire, from the tables of `drdma_abi` |
//! | [`join`] | concatenation of two fields |
//! | [`lookups`] | many lookups in one table, many sums of a product |
//! | [`low_product`] | pipelined multiplier, lower part of the product |
//! | [`lutram`] | small memory with asynchronous reads |
//! | [`multiplier`] | pipelined unsigned multiplier in DSP slices |
//! | [`pack`] | concatenation of equal fields |
//! | [`priority`] | first set bit, number of set bits |
//! | [`ram`] | memory with byte enables and registered reads |
//! | [`bypass_fifo`] | FIFO that beats pass while it is empty |
//! | [`prompt_fifo`] | FIFO that loses no time while it is empty |
//! | [`ready_slice`] | register slice of a stream's `ready` alone |
//! | [`record`] | records as plain bits, and back |
//! | [`rotate`] | byte rotation, two stages |
//! | [`scatter`] | values to the places that they name |
//! | [`skid`] | register slice of a stream |
//! | [`small_division`] | quotients of numbers below 64, from a table |
//! | [`wide`] | concatenation, one-hot selection, pairwise comparison, bit ranges, last set bit |

pub mod app_block;
pub mod bypass_fifo;
pub mod byte_mux;
pub mod cam;
pub mod clashes;
pub mod crc32;
pub mod fifo;
pub mod frame_crc32;
pub mod header;
pub mod join;
pub mod lookups;
pub mod low_product;
pub mod lutram;
pub mod multiplier;
pub mod pack;
pub mod priority;
pub mod prompt_fifo;
pub mod ram;
pub mod ready_slice;
pub mod record;
pub mod rotate;
pub mod scatter;
pub mod skid;
pub mod small_division;
pub mod stamps;
pub mod wide;

pub use bypass_fifo::BypassFifo;
pub use byte_mux::ByteMux;
pub use cam::Cam;
pub use clashes::Clashes;
pub use crc32::Crc32;
pub use fifo::Fifo;
pub use frame_crc32::FrameCrc32;
pub use join::Join;
pub use lookups::{Lookups, ProductSums};
pub use low_product::LowProduct;
pub use lutram::Lutram;
pub use multiplier::Multiplier;
pub use pack::Pack;
pub use priority::{CountOnes, FirstSet};
pub use prompt_fifo::PromptFifo;
pub use ram::{Ram, RamStyle};
pub use ready_slice::ReadySlice;
pub use record::{Flatten, Restore};
pub use rotate::Rotate;
pub use scatter::Scatter;
pub use skid::Skid;
pub use small_division::SmallDivision;
pub use stamps::Stamps;
pub use wide::{BitRange, Concat, EqualPairs, LastSet, Select};
