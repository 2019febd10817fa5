//! How fast a card sends and fetches: bandwidth and latency of transfers of given sizes, whose bytes lie one
//! after another or with gaps between them.
//!
//! | module | |
//! |---|---|
//! | [`op`] | what transfers do |
//! | [`plan`] | what is measured |
//! | [`shape`] | what a transfer is made of |
//! | `transfer` | the work requests of a transfer |
//! | `bench` | the run on a card |
//! | `fetched` | what READs and atomics bring, and whether it is right |
//! | [`figures`] | rates, percentiles, histograms |
//! | `peers` | the other ends |
//! | [`remote`] | a peer in another process |
//! | [`render`] | tables for people |

mod bench;
mod error;
mod fetched;
pub mod figures;
pub mod op;
mod peers;
pub mod plan;
pub mod remote;
pub mod render;
pub mod shape;
mod transfer;

use crate::job::Local;
pub use bench::run;
pub use error::PerfError;
pub use peers::PEER;

/// The card's own addresses unless others are given.
pub const LOCAL: Local = Local { mac: 0x0200_0000_0001, ip: 0x0a00_0001 };
