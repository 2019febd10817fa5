//! Tests of everything that a simulated card does, at its registers, in host memory and on the wire.
//!
//! Tests for every card are written once and run on each; see [`on_every_card`].

/// Makes a test of each generic function for each simulated card.
macro_rules! on_every_card {
    ($($name:ident),* $(,)?) => {
        mod on_soft {
            $(#[test] fn $name() { super::$name::<drdma_soft::card::SoftCard>(); })*
        }
        mod on_rtl {
            $(#[test] fn $name() { super::$name::<crate::rtl::RtlCard>(); })*
        }
    };
}

mod capacity;
mod domains;
mod faults;
mod fetch_rows;
mod kept;
mod kinds;
mod malformed;
pub mod matrix;
mod own_queue;
mod partitioned;
mod registers;
mod requests;
pub mod rig;
mod unsignaled;
