//! Doorbells to work requests: rings are fetched, work queue entries decoded, checked and resolved.

pub mod decoder;
pub mod queue;
