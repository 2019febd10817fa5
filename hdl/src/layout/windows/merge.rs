//! Two streams become one, window by window.

// The accessors that `LogicStruct` derives have no documentation.
#![allow(missing_docs)]

use super::WINDOW_INDEX;
use crate::primitive::StreamSkid;
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

/// A DMA read, as the reader takes it.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct ReadBox {
    /// Host address.
    pub addr: Bits<64>,
    /// Address in its window, and from *starts* on in the segmented memory.
    pub ram: Bits<17>,
    /// Bytes; 0: the box carries only `window_end`.
    pub len: Bits<13>,
    /// Window.
    pub window: Bits<WINDOW_INDEX>,
    /// No more boxes of this window.
    pub window_end: Bit,
}

/// A beat of payload whose bytes' places are known, as the gather takes it.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct ByteBeat {
    /// Positions that have a byte.
    pub mask: Bits<64>,
    /// Places of the 64 bytes, 17 bits each: in their window, and from *starts* on in the segmented memory.
    pub ram: Bits<1088>,
    /// The window that holds them.
    pub window: Bits<WINDOW_INDEX>,
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
    pub bad_dest: Bits<DEST_COUNT>,
}

/// Lets pass what one of two streams has for the present window, to its last beat; each stream
/// has its windows in order.
///
/// A beat a cycle, latency 1 cycle; may stall at any time. No path from `out.ready` to `a.ready`
/// and `b.ready`.
#[derive(LogicBlock, Default)]
pub struct Merge<T: Synth> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The present window is one of `b`.
    pub is_b: Signal<In, Bit>,
    /// There is a present window.
    pub open: Signal<In, Bit>,
    /// The present window's last beat is accepted; the next window is present in the next cycle.
    pub done: Signal<Out, Bit>,
    /// Beats of one.
    pub a: Channel<In, T>,
    /// The beat is its window's last.
    pub a_end: Signal<In, Bit>,
    /// Beats of the other.
    pub b: Channel<In, T>,
    /// The beat is its window's last.
    pub b_end: Signal<In, Bit>,
    /// Beats of both.
    pub out: Channel<Out, T>,

    skid: StreamSkid<T>,
    valid: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
}

impl<T: Synth> Logic for Merge<T> {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid.next = self.open.val() && self.a.valid.val();
        self.last.next = self.a_end.val();
        self.skid.input.data.next = self.a.data.val();
        self.a.ready.next = self.open.val() && self.skid.input.ready.val() && !self.is_b.val();
        self.b.ready.next = self.open.val() && self.skid.input.ready.val() && self.is_b.val();
        if self.is_b.val() {
            self.valid.next = self.open.val() && self.b.valid.val();
            self.last.next = self.b_end.val();
            self.skid.input.data.next = self.b.data.val();
        }
        self.skid.input.valid.next = self.valid.val();
        self.done.next = self.valid.val() && self.last.val() && self.skid.input.ready.val();
        self.skid.output.join(&mut self.out);
    }
}
