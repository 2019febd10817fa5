//! Receiving and retransmission, from the verbs on one card to those on another, over a wire that
//! behaves as the test says.

mod append;
mod connected;
mod described;
mod events;
mod fetches;
mod keys;
mod lab;
mod random;
mod refused;
mod shared;
mod unreliable;
