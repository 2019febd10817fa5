//! Merges two streams into one, window by window.

use super::WINDOW_INDEX;
use crate::primitive::StreamSkid;
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

/// A DMA read in the form in which the reader takes it.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct ReadBox {
    /// Host address of the box.
    pub addr: Bits<64>,
    /// Address of the box in its window, or behind *starts* in the segmented memory, in bytes.
    pub ram: Bits<17>,
    /// Bytes of the box; 0 if it carries only `window_end`.
    pub len: Bits<13>,
    /// Window of the box.
    pub window: Bits<WINDOW_INDEX>,
    /// The box is the last one of its window.
    pub window_end: Bit,
}

/// A beat of payload with the place of each byte, in the form in which the gather takes it.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct ByteBeat {
    /// Bit `p` is set if position `p` has a byte.
    pub mask: Bits<64>,
    /// Place of each byte in its window, or behind *starts* in the segmented memory (64 x 17 bits).
    pub ram: Bits<1088>,
    /// Window that holds the bytes.
    pub window: Bits<WINDOW_INDEX>,
    /// The beat is the last one of its window.
    pub window_end: Bit,
    /// The beat is the last part of an expander's beat.
    pub beat_end: Bit,
    /// Place of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Payload bytes of the whole beat, 0 to 64.
    pub bytes: Bits<7>,
    /// The beat starts a message.
    pub message_start: Bit,
    /// The beat ends a message.
    pub message_end: Bit,
    /// With `message_start`: bytes of the message, where they are needed; else 0.
    pub message_bytes: Bits<32>,
    /// The request ends.
    pub request_end: Bit,
    /// The beat ends its destination.
    pub dest_end: Bit,
    /// With `request_end`: status of the request.
    pub status: Bits<8>,
    /// With `request_end`: the destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
}

/// Passes the beats that one of two streams has for the present window, up to the last one; each stream has its windows
/// in order.
///
/// A beat a cycle, latency 1 cycle; may stall at any time. No path from `out.ready` to `a.ready` and `b.ready`.
#[derive(LogicBlock, Default)]
pub struct Merge<T: Synth> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The present window belongs to `b`.
    pub is_b: Signal<In, Bit>,
    /// There is a present window.
    pub open: Signal<In, Bit>,
    /// The last beat of the present window is accepted; the next window is present in the next cycle.
    pub done: Signal<Out, Bit>,
    /// Beats of the first stream.
    pub a: Channel<In, T>,
    /// The beat of `a` is the last one of its window.
    pub a_end: Signal<In, Bit>,
    /// Beats of the second stream.
    pub b: Channel<In, T>,
    /// The beat of `b` is the last one of its window.
    pub b_end: Signal<In, Bit>,
    /// Beats of both streams, in the order of windows.
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
