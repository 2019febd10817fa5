//! Compares the receive queues with `drdma_semantics`, with a host that posts and a responder that asks.

mod appends;
mod giving_up;
mod host;
mod rates;
mod slots;
mod traffic;
mod transposer;
