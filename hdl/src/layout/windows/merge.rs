//! Two streams become one, window by window.

// The accessors that `LogicStruct` derives have no documentation.
#![allow(missing_docs)]

use crate::primitive::{Flatten, Restore, Skid};
use drdma_emit::prelude::*;

/// A DMA read, as the reader takes it.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct ReadBox {
    /// Host address.
    pub addr: Bits<64>,
    /// Address in the segmented memory.
    pub ram: Bits<17>,
    /// Bytes; 0: the box carries only `window_end`.
    pub len: Bits<13>,
    /// Window.
    pub window: Bits<2>,
    /// No more boxes of this window.
    pub window_end: Bit,
}

/// Bits of a [`ReadBox`].
pub const READ_BOX_BITS: usize = 97;

/// A beat of payload whose bytes' places are known, as the gather takes it.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct ByteBeat {
    /// Positions that have a byte.
    pub mask: Bits<64>,
    /// Places of the 64 bytes, 17 bits each.
    pub ram: Bits<1088>,
    /// The window that holds them.
    pub window: Bits<2>,
    /// Last beat of its window.
    pub window_end: Bit,
    /// Last part of a beat.
    pub beat_end: Bit,
    /// Destination.
    pub dest: Bits<10>,
    /// Request.
    pub slot: Bits<8>,
    /// Payload bytes of the whole beat.
    pub bytes: Bits<7>,
    /// Starts a message.
    pub message_start: Bit,
    /// Ends a message.
    pub message_end: Bit,
    /// Length of the message that starts.
    pub message_bytes: Bits<32>,
    /// Ends the request.
    pub request_end: Bit,
    /// Ends its destination.
    pub dest_end: Bit,
    /// The request's status.
    pub status: Bits<8>,
    /// The destination that failed.
    pub bad_dest: Bits<7>,
}

/// Bits of a [`ByteBeat`].
pub const BYTE_BEAT_BITS: usize = 1232;

/// Lets pass what one of two streams has for the present window, to its last beat; each stream
/// has its windows in order.
///
/// A beat a cycle, latency 1 cycle; may stall at any time. No path from `out_ready` to `a_ready`
/// and `b_ready`.
///
/// # Inputs
/// `a` and `b` streams of records of `W` bits, each with `end`: the window's last; `is_b`: the
/// present window is one of `b`; `open`: there is a present window; `out_ready`.
///
/// # Outputs
/// `out` stream; `done`: the present window's last beat was taken (the next one
/// is present in the next cycle).
#[derive(LogicBlock, Default)]
pub struct Merge<T: Synth, const W: usize> {
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
    pub a: Signal<In, T>,
    /// It is its window's last.
    pub a_end: Signal<In, Bit>,
    /// A beat of `b`.
    pub b_valid: Signal<In, Bit>,
    /// It is taken.
    pub b_ready: Signal<Out, Bit>,
    /// The beat.
    pub b: Signal<In, T>,
    /// It is its window's last.
    pub b_end: Signal<In, Bit>,
    /// A beat.
    pub out_valid: Signal<Out, Bit>,
    /// It is taken.
    pub out_ready: Signal<In, Bit>,
    /// The beat.
    pub out: Signal<Out, T>,

    a_bits: Flatten<T, W>,
    b_bits: Flatten<T, W>,
    skid: Skid<W>,
    out_bits: Restore<T, W>,
    valid: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
}

impl<T: Synth, const W: usize> Logic for Merge<T, W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.a_bits.record.next = self.a.val();
        self.b_bits.record.next = self.b.val();
        self.valid.next = self.open.val() && self.a_valid.val();
        self.last.next = self.a_end.val();
        self.skid.in_data.next = self.a_bits.bits.val();
        self.a_ready.next = self.open.val() && self.skid.in_ready.val() && !self.is_b.val();
        self.b_ready.next = self.open.val() && self.skid.in_ready.val() && self.is_b.val();
        if self.is_b.val() {
            self.valid.next = self.open.val() && self.b_valid.val();
            self.last.next = self.b_end.val();
            self.skid.in_data.next = self.b_bits.bits.val();
        }
        self.skid.in_valid.next = self.valid.val();
        self.done.next = self.valid.val() && self.last.val() && self.skid.in_ready.val();
        self.out_valid.next = self.skid.out_valid.val();
        self.out_bits.bits.next = self.skid.out_data.val();
        self.out.next = self.out_bits.record.val();
        self.skid.out_ready.next = self.out_ready.val();
    }
}
