//! Receives frames from the wire: frames for the card are parsed, checked and carried out, all others pass to the host.

pub mod acks;
pub mod appends;
pub mod atomics;
pub mod finder;
pub mod notifier;
pub mod owner;
pub mod parser;
pub mod path;
pub mod pieces;
pub mod reads;
pub mod receives;
pub mod record;
pub mod responder;
pub mod store;
pub mod transposer;
