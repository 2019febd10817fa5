//! The reference semantics: what a work request means, in plain Rust.
//!
//! Written from `docs/semantics.md` and sharing only `drdma-abi` with the hardware, so that a
//! mistake in the one is not in the other. The simulated card `soft:` and `drdma explain` are made
//! of it. No module imports one that stands below it:
//!
//! | module | |
//! |---|---|
//! | [`memory`] | host memory as a card sees it |
//! | [`granules`] | the parts of a region in a work queue entry |
//! | [`kinds`] | elements that say how their bytes are found: bits, variable length, dictionaries |
//! | [`murmur3`] | the hash of Spark's partitioning |
//! | [`keys`] | partitions that are made from keys |
//! | [`region`] | regions: what a destination is sent, row by row |
//! | [`partitioned`] | the region that destinations share: how many rows each one gets |
//! | [`rows`] | from a region to its units, each a list of fragments of host memory |
//! | [`boxes`] | from the fragments of all destinations to the DMA reads that cover them |
//! | [`messages`] | from the units of a destination to messages and their lengths |
//! | [`stream`] | the messages of a destination as runs of bytes, whatever their layout |
//! | [`request`] | from a [`Request`](request::Request) to the bytes of a work queue entry |
//! | [`failure`] | why a request is refused |
//! | [`checks`] | from the bytes of a work queue entry to an admitted request, or a [`Status`](drdma_abi::completion::Status) |
//! | [`icrc`] | checksums of a RoCEv2 frame |
//! | [`packets`] | from a message to RoCEv2 frames |
//! | [`frame`] | from a RoCEv2 frame to its headers and payload, verified |
//! | [`answers`] | frames of acknowledgements, READs and atomics, and their answers |
//! | [`reliable`] | requests of a card that receives: READs, atomics, fences, addresses |
//! | [`scatter`] | where received bytes go |
//! | [`described`] | where bytes lie that peers name by a described key |
//! | [`append`] | which rows of an append region a message becomes |
//! | [`receive`] | the entries of a receive queue, and their checks |
//! | [`responder`] | what a queue pair does with what a peer asks for |
//! | [`congestion`] | CNPs, and the rates that they limit (DCQCN) |
//! | [`requester`] | what was sent and is not acknowledged: when it is sent again, and when that ends |
//!
//! No function here allocates memory by a count that a request names, except for the ids that are
//! made from keys, whose memory was checked: units are walked one at a time, and the arithmetic on
//! whole regions is done on runs of equal units.
#![deny(unsafe_code)]

pub mod answers;
pub mod append;
pub mod boxes;
pub mod checks;
pub mod congestion;
pub mod described;
pub mod failure;
pub mod frame;
pub mod granules;
pub mod icrc;
pub mod keys;
pub mod kinds;
pub mod memory;
pub mod messages;
pub mod murmur3;
pub mod packets;
pub mod partitioned;
pub mod receive;
pub mod region;
pub mod reliable;
pub mod request;
pub mod requester;
pub mod responder;
pub mod rows;
pub mod scatter;
pub mod stream;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
