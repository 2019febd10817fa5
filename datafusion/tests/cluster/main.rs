//! Queries over three workers.

mod ends;
mod explain;
mod hosts;
mod lab;
mod processes;
mod queries;
mod spill;
mod transports;

use libdrdma::Arena;

/// What the engine computes lies where the cards read it.
#[global_allocator]
static MEMORY: Arena = Arena::new(8 << 30).threshold(4096);
