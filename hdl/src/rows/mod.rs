//! Turns work requests into rows: which bytes of host memory make up a payload, and in which order.

pub mod columns;
pub mod expander;
pub mod kinds;
pub mod sequencer;
