//! How fast a card sends and fetches: bandwidth and latency of transfers of given sizes, whose bytes lie one
//! after another or with gaps between them.
//!
//! | module | |
//! |---|---|
//! | [`op`] | the operations of transfers |
//! | [`plan`] | the plan of a measurement |
//! | [`shape`] | the layout of a transfer's bytes |
//! | `transfer` | the work requests of a transfer |
//! | `bench` | the run on a card |
//! | `fetched` | checks of what READs and atomics bring |
//! | [`figures`] | rates, percentiles, histograms |
//! | `peers` | the peers of the card's queue pairs |
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

/// Default addresses of the card.
pub const LOCAL: Local = Local { mac: 0x0200_0000_0001, ip: 0x0a00_0001 };
