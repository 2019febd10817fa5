//! Exchanges between nodes of a simulated fabric.

mod hazards;
mod lab;
mod patterns;
mod pool;
