//! Batches that are sent by one simulated card and received by others.

mod append;
mod arena;
mod copies;
mod lab;
mod make;
mod random;
mod refused;
mod slabs;
