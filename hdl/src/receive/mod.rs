//! Frames from the wire: those for the card are parsed and checked, all others pass.

pub mod parser;
pub mod receiver;
pub mod receives;
pub mod record;
pub mod store;
