//! The whole card's RTL in its host.

mod scratch;
