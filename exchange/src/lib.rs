//! Exchange of rows between the nodes of a database: repartition, multicast and broadcast, over libdrdma.
//!
//! The designs are those of Liu, Yin and Blanas, *Design and Evaluation of an RDMA-aware Data Shuffling Operator for
//! Parallel Database Systems* (TODS 2019). An [`Endpoint`] has buffers that rows are filled into and sent from, and
//! gives out the rows that come. How they get there is its [`Primitive`]: SENDs on RC or UD, READs, or WRITEs with one
//! of three notices. Whether threads share an endpoint or have one each is up to the engine ([`Design`]).
//!
//! No thread is started and nothing waits: an endpoint is a state machine that is polled ([`Endpoint::progress`]), on
//! whatever threads or executor an engine has. What an endpoint pins is fixed when it is opened
//! ([`Endpoint::pinned_bytes`]). A peer that is lost, or that owes something for longer than [`Config::patience`], ends
//! in an error that names it.
//!
//! ```
//! use drdma_exchange::{Config, Endpoint, Error, Groups, Member, Opening, Primitive, Shuffle};
//! use drdma_fabric::{Fabric, NetworkConfig};
//! # use std::time::Duration;
//!
//! # #[derive(Debug)]
//! # enum Failure { Exchange(Error), Card(drdma_fabric::SimulationError) }
//! # impl From<Error> for Failure { fn from(e: Error) -> Self { Self::Exchange(e) } }
//! # impl From<drdma_fabric::SimulationError> for Failure {
//! #     fn from(e: drdma_fabric::SimulationError) -> Self { Self::Card(e) }
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Two nodes, here of one process.
//! let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
//! let config = Config { message: 4096, ..Config::new(Primitive::SendReceive) };
//! let openings = fabric.nodes().iter().enumerate().map(|(node, card)| {
//!     let member = Member { node, nodes: 2, mac: card.mac(), ip: card.ip() };
//!     Opening::new(card.context(), member, config)
//! });
//! let openings = openings.collect::<Result<Vec<_>, _>>()?;
//! // The engine gives every node the addresses of all.
//! let addresses: Vec<_> = openings.iter().map(Opening::address).collect();
//! let connected = openings.into_iter().map(|opening| opening.connect(&addresses));
//! let mut endpoints: Vec<Endpoint> = connected.collect::<Result<_, _>>()?;
//!
//! // Each node sends even numbers to node 0, odd ones to node 1.
//! for endpoint in &mut endpoints {
//!     let mut shuffle = Shuffle::new(endpoint, Groups::repartition(2), 1)?;
//!     for number in 0..100_u64 {
//!         assert!(shuffle.push(endpoint, number as usize % 2, &number.to_le_bytes())?);
//!     }
//!     shuffle.finish(endpoint, true)?;
//! }
//! let mut bytes = [0; 2];
//! fabric.run_until(Duration::from_secs(1), |now| {
//!     for (endpoint, bytes) in endpoints.iter_mut().zip(&mut bytes) {
//!         endpoint.progress(now)?;
//!         while let Some(rows) = endpoint.get() {
//!             *bytes += rows.len();
//!             endpoint.release(rows)?;
//!         }
//!     }
//!     Ok::<_, Failure>(endpoints.iter().all(Endpoint::is_done))
//! })
//! # .map_err(|e| format!("{e:?}"))?;
//! assert_eq!(bytes, [800, 800]);
//! # Ok(()) }
//! ```
#![deny(unsafe_code)]

mod buffer_pool;
mod common;
mod config;
mod connections;
mod datagram;
mod endpoint;
mod error;
#[cfg(feature = "experiment")]
pub mod experiment;
mod lender;
mod operator;
mod pool;
mod read;
mod rings;
mod rows;
mod send_receive;
mod slots;
mod write;

pub use buffer_pool::{BufferPool, MAX_POOL_BUFFERS};
pub use common::{AddressError, EndpointAddress, Member, RemoteMemory, Statistics};
pub use config::{
    Config, ConfigError, Design, MAX_BUFFERS, MAX_MESSAGE, MAX_MTU, MAX_NODES, Notice, Primitive,
};
pub use endpoint::{Delivery, Endpoint, Opening};
pub use error::Error;
pub use operator::{Groups, Shuffle};
pub use pool::Buffer;
pub use rows::Rows;
