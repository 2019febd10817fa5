//! DataFusion over several workers, whose rows travel by libdrdma.
//!
//! [`datafusion-distributed`](datafusion_distributed) plans a query in stages and sends each worker its plans over
//! gRPC. What goes from stage to stage, a shuffle or a broadcast, goes by the workers' cards here: a worker works
//! out the partition of each row of a batch, one byte a row, and posts; the card finds the rows of each
//! partition in the columns where they lie. No row is taken, coalesced or encoded by the processor.
//!
//! | module | |
//! |---|---|
//! | [`cluster`] | workers, and a session that plans for them |
//! | [`deployment`] | where they run: threads, processes, hosts |
//! | [`cpu`] | the processor's time |
//! | [`directory`] | who the workers are, where they are in processes |
//! | [`network`] | their cards `soft:`, and the threads that let these work |
//! | `health` | whether the workers are there |
//! | `identity` | whether they are of the same build and file |
//! | [`node`] | the operators that plans show |
//! | [`passage`] | what of a row goes as it lies, and what is copied |
//! | [`exchange`] | rows between workers: budgets, credits, ends, failures |
//! | [`transport`] | rows by the cards, or by the engine's own exchange |
//! | [`whole`] | the CPU time of whole queries, by either |
//! | `worker` | the engine's server for plans, and ours for rows |
#![deny(unsafe_code)]

pub mod cluster;
mod codec;
pub mod cpu;
pub mod deployment;
pub mod directory;
mod error;
pub mod exchange;
mod health;
mod identity;
pub mod network;
pub mod node;
pub mod passage;
mod planner;
pub mod tpch;
pub mod transport;
pub mod whole;
mod worker;

pub use cluster::{Cluster, Options};
pub use deployment::Deployment;
pub use directory::Directory;
pub use error::Error;
pub use transport::Transport;
