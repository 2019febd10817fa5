//! Two streams become one, window by window.

use crate::primitive::Skid;
use rust_hdl_core::prelude::*;

/// Lets pass what one of two streams has for the present window, to its last beat; each stream
/// has its windows in order.
///
/// A beat a cycle, latency 1 cycle; may stall at any time. No path from `out_ready` to `a_ready`
/// and `b_ready`.
///
/// # Inputs
/// `a` and `b` streams {`data` `W` bits, `end`: the window's last}; `is_b`: the present window is
/// one of `b`; `open`: there is a present window; `out_ready`.
///
/// # Outputs
/// `out` stream {`data`}; `done`: the present window's last beat was taken (the next one
/// is present in the next cycle).
#[derive(LogicBlock, Default)]
pub struct Merge<const W: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The present window is one of `b`.
    pub is_b: Signal<In, Bit>,
    /// There is a present window.
    pub open: Signal<In, Bit>,
    /// Its last beat was taken.
    pub done: Signal<Out, Bit>,
    /// A beat of `a`.
    pub a_valid: Signal<In, Bit>,
    /// It is taken.
    pub a_ready: Signal<Out, Bit>,
    /// The beat.
    pub a_data: Signal<In, Bits<W>>,
    /// It is its window's last.
    pub a_end: Signal<In, Bit>,
    /// A beat of `b`.
    pub b_valid: Signal<In, Bit>,
    /// It is taken.
    pub b_ready: Signal<Out, Bit>,
    /// The beat.
    pub b_data: Signal<In, Bits<W>>,
    /// It is its window's last.
    pub b_end: Signal<In, Bit>,
    /// A beat.
    pub out_valid: Signal<Out, Bit>,
    /// It is taken.
    pub out_ready: Signal<In, Bit>,
    /// The beat.
    pub out_data: Signal<Out, Bits<W>>,

    skid: Skid<W>,
    valid: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
}

impl<const W: usize> Logic for Merge<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.skid.clk.next = self.clk.val();
        self.skid.rst.next = self.rst.val();
        self.valid.next = self.open.val() && self.a_valid.val();
        self.last.next = self.a_end.val();
        self.skid.in_data.next = self.a_data.val();
        self.a_ready.next = self.open.val() && self.skid.in_ready.val() && !self.is_b.val();
        self.b_ready.next = self.open.val() && self.skid.in_ready.val() && self.is_b.val();
        if self.is_b.val() {
            self.valid.next = self.open.val() && self.b_valid.val();
            self.last.next = self.b_end.val();
            self.skid.in_data.next = self.b_data.val();
        }
        self.skid.in_valid.next = self.valid.val();
        self.done.next = self.valid.val() && self.last.val() && self.skid.in_ready.val();
        self.out_valid.next = self.skid.out_valid.val();
        self.out_data.next = self.skid.out_data.val();
        self.skid.out_ready.next = self.out_ready.val();
    }
}
