//! The reference model: what a work request means, in plain Rust.
//!
//! Written from `docs/semantics.md` and sharing only `drdma-abi` with the hardware, so that a
//! mistake in the one is not in the other. In the order in which a request goes through:
//!
//! | module | from | to |
//! |---|---|---|
//! | [`request`] | the bytes of a work queue entry | a [`Request`](request::Request): regions with names |
//! | [`partitioned`] | the region that destinations share | how many rows each one gets |
//! | [`checks`] | a request, memory regions, queue pairs | an admitted request, or a [`Status`](drdma_abi::completion::Status) |
//! | [`rows`] | a region | its units, each a list of fragments of host memory |
//! | [`messages`] | the units of a destination | messages and their lengths |
//! | [`boxes`] | the fragments of all destinations | the DMA reads that cover them |
//! | [`packets`] | a message | RoCEv2 frames |
//! | [`frame`] | a RoCEv2 frame | its headers and payload, verified |
//!
//! Nothing here allocates by a count that a request names: units are walked one at a time, and the
//! arithmetic on whole regions is done on runs of equal units.

pub mod boxes;
pub mod checks;
mod failure;
pub mod frame;
pub mod icrc;
pub mod memory;
pub mod messages;
pub mod packets;
pub mod partitioned;
pub mod request;
pub mod rows;
