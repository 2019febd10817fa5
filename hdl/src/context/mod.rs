//! What the host has configured, and who may read it: state of queue pairs that several rooms share.

pub mod stamps;

pub use stamps::Stamps;
