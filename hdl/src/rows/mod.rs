//! Work requests to rows: which bytes of host memory make up a payload, in which order.

pub mod columns;
pub mod expander;
pub mod kinds;
pub mod sequencer;
