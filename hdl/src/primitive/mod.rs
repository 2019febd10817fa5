//! Blocks that several rooms share, and functions that the kernel language cannot express.
//!
//! | primitive | what |
//! |---|---|
//! | [`app_block`] | the published module around the core |
//! | [`banks`] | which requests for banks have to wait, and whose row each bank reads |
//! | [`byte_banks`] | a memory of banks of a byte: clashes of pieces, crossbar, banks |
//! | [`cam`] | content-addressable memory |
//! | [`crc32`] | CRC-32 of packets, 64 bytes per cycle |
//! | [`deep_fifo`] | deep FIFO that delivers a beat in every cycle |
//! | [`delay`] | shift register beside a pipeline |
//! | [`fifo`] | valid/ready FIFO of any depth, registered on both sides |
//! | [`frame_crc32`] | CRC-32 of frames, 64 bytes a cycle, sooner |
//! | [`header`] | headers on the wire, from the tables of `drdma_abi` |
//! | [`icrc`] | the part of a frame that its invariant CRC covers |
//! | [`join`] | concatenation of two fields |
//! | [`lookups`] | many lookups in one table, many sums of a product |
//! | [`lutram`] | small memory with asynchronous reads |
//! | [`multiplier`] | pipelined unsigned multiplier in DSP slices |
//! | [`multiply_add`] | pipelined multiplier, lower part of the product and a summand |
//! | [`pack`] | concatenation of equal fields |
//! | [`priority`] | first set bit, number of set bits |
//! | [`quad`] | four bytes of a memory of banks: turns, words, crossbar |
//! | [`ram`] | memory with byte enables and registered reads |
//! | [`prompt_fifo`] | FIFO of latency 1 while it is empty |
//! | [`ranks`] | number of bits that are set before each byte of a vector |
//! | [`ready_slice`] | register slice of a stream's `ready` alone |
//! | [`record`] | records as plain bits, and back |
//! | [`rotate`] | byte rotation, two stages |
//! | [`scale`] | pipelined multiplication by a constant |
//! | [`skid`] | register slice of a stream |
//! | [`small_division`] | quotients of numbers below 64, from a table |
//! | [`spread`] | a small table's entries spread over many fields, in order |
//! | [`stage`] | register of a stream |
//! | [`stream`] | FIFO and register slices of streams of records |
//! | [`stretch`] | a table that is read in long stretches from any entry on |
//! | [`wide`] | concatenation, one-hot selection, pairwise comparison, bit ranges, last set bit |
//! | [`word_banks`] | a memory of banks of a word: which words meet, crossbar |

pub mod app_block;
pub mod banks;
pub mod byte_banks;
pub mod cam;
pub mod crc32;
pub mod deep_fifo;
pub mod delay;
pub mod fifo;
pub mod frame_crc32;
pub mod header;
pub mod icrc;
pub mod join;
pub mod lookups;
pub mod lutram;
pub mod multiplier;
pub mod multiply_add;
pub mod pack;
pub mod priority;
pub mod prompt_fifo;
pub mod quad;
pub mod ram;
pub mod ranks;
pub mod ready_slice;
pub mod record;
pub mod rotate;
pub mod scale;
pub mod skid;
pub mod small_division;
pub mod spread;
pub mod stage;
pub mod stream;
pub mod stretch;
pub mod wide;
pub mod word_banks;

pub use banks::Banks;
pub use byte_banks::{ColumnMemory, Crossbar, PieceClashes};
pub use cam::Cam;
pub use crc32::Crc32;
pub use deep_fifo::DeepFifo;
pub use delay::Delay;
pub use fifo::Fifo;
pub use frame_crc32::FrameCrc32;
pub use join::Join;
pub use lookups::{Lookups, ProductSums};
pub use lutram::Lutram;
pub use multiplier::Multiplier;
pub use multiply_add::MultiplyAdd;
pub use pack::Pack;
pub use priority::{CountOnes, FirstSet};
pub use prompt_fifo::PromptFifo;
pub use quad::{Choose, Classes, QuadMux, Turns};
pub use ram::{Ram, RamStyle};
pub use ranks::Ranks;
pub use ready_slice::ReadySlice;
pub use record::{Flatten, Restore};
pub use rotate::{Rotate, Turn};
pub use scale::{SCALE_STAGES, Scale};
pub use skid::Skid;
pub use small_division::SmallDivision;
pub use spread::Spread;
pub use stage::Stage;
pub use stream::{StreamFifo, StreamSkid, StreamStage};
pub use stretch::Stretch;
pub use wide::{BitRange, Concat, EqualPairs, LastSet, Select};
pub use word_banks::{WordClashes, WordCrossbar};
