//! Puts the ends of column requests behind the last payload of their last window.

use super::{ByteBeat, WINDOW_COUNT, WINDOW_INDEX};
use crate::primitive::{Flatten, Lutram, Restore};
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

/// Bits of a [`RequestEnd`].
const END: usize = 27 + DEST_COUNT;

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct RequestEnd {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Status of the request.
    pub status: Bits<8>,
    /// Place of its first destination in the ring of destinations.
    pub dest: Bits<10>,
    /// The failure is that of a destination, whose queue pair fails as well.
    pub dest_end: Bit,
    /// The destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
}

/// Appends the ends of requests to the windows of columns that hold their last rows, so that they need no window of
/// their own.
///
/// An end is accepted for a window that was opened and whose last beat is not offered yet. The window's last beat then
/// no longer ends it: a beat without bytes that carries the end follows, and ends the window. Beats pass without a
/// register: `bytes.ready` follows `out.ready`, which must come from a register. A beat a cycle, latency 0; all streams
/// may stall.
#[derive(LogicBlock, BlockDefault)]
pub struct Ends {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A window of columns is opened.
    pub opened: Signal<In, Bit>,
    /// With `opened`: number of the window.
    pub opened_window: Signal<In, Bits<WINDOW_INDEX>>,
    /// An end is offered; it need not be held until it is accepted.
    pub end_offered: Signal<In, Bit>,
    /// The end is accepted, in this cycle or never.
    pub end_accepted: Signal<Out, Bit>,
    /// Number of the window of columns that was opened last.
    pub end_window: Signal<In, Bits<WINDOW_INDEX>>,
    /// The end that is offered.
    pub request: Signal<In, RequestEnd>,
    /// Payload of columns, window by window.
    pub bytes: Stream<In, ByteBeat>,
    /// Payload of `bytes`, with the ends of requests.
    pub out: Stream<Out, ByteBeat>,

    /// Windows whose last beat has not passed, one bit each.
    open: DFF<Bits<WINDOW_COUNT>>,
    /// Open windows that end a request, one bit each.
    ended: DFF<Bits<WINDOW_COUNT>>,
    ends: Lutram<END, WINDOW_INDEX, 1>,
    end_in: Flatten<RequestEnd, END>,
    end_out: Restore<RequestEnd, END>,
    /// The window's last payload has passed, and its end is due.
    due: DFF<Bit>,
    ends_request: Signal<Local, Bit>,
    /// The window's last payload is offered.
    last: Signal<Local, Bit>,
}

impl Logic for Ends {
    #[hdl_gen]
    fn update(&mut self) {
        // An end that comes together with the window's last beat is too late.
        self.last.next = self.bytes.valid.val() && self.bytes.window_end.val();
        self.end_accepted.next = self.open.q.val().get_bit(self.end_window.val().index())
            && !self.ended.q.val().get_bit(self.end_window.val().index())
            && !(self.last.val() && (self.bytes.window.val() == self.end_window.val()));
        self.ends_request.next = self.ended.q.val().get_bit(self.bytes.window.val().index());

        // Payload passes. Behind the last beat of a window that ends a request comes the end; the beat itself waits
        // until then, because its window must stay current.
        self.out.valid.next = self.bytes.valid.val();
        self.out.next = self.bytes.val();
        if self.last.val() && self.ends_request.val() {
            self.out.window_end.next = self.due.q.val();
        }
        self.bytes.ready.next = self.out.ready.val()
            && (!self.last.val() || !self.ends_request.val() || self.due.q.val());
        if self.due.q.val() {
            self.out.mask.next = 0.into();
            self.out.bytes.next = 0.into();
            self.out.message_start.next = false;
            self.out.message_end.next = false;
            self.out.message_bytes.next = 0.into();
            self.out.request_end.next = true;
            self.out.slot.next = self.end_out.record.val().slot;
            self.out.status.next = self.end_out.record.val().status;
            self.out.dest.next = self.end_out.record.val().dest;
            self.out.dest_end.next = self.end_out.record.val().dest_end;
            self.out.bad_dest.next = self.end_out.record.val().bad_dest;
        }
        if self.last.val() && self.out.ready.val() {
            self.due.d.next = self.ends_request.val() && !self.due.q.val();
            if !self.ends_request.val() || self.due.q.val() {
                self.open.d.next =
                    self.open.q.val().replace_bit(self.bytes.window.val().index(), false);
                self.ended.d.next =
                    self.ended.q.val().replace_bit(self.bytes.window.val().index(), false);
            }
        }
        self.end_in.record.next = self.request.val();
        self.ends.write_enable.next = self.end_offered.val() && self.end_accepted.val();
        self.ends.write_address.next = self.end_window.val();
        self.ends.write_data.next = self.end_in.bits.val();
        self.ends.read_address[0].next = self.bytes.window.val();
        self.end_out.bits.next = self.ends.read_data[0].val();
        if self.opened.val() {
            self.open.d.next =
                self.open.d.val().replace_bit(self.opened_window.val().index(), true);
        }
        if self.end_offered.val() && self.end_accepted.val() {
            self.ended.d.next = self.ended.d.val().replace_bit(self.end_window.val().index(), true);
        }

        if self.rst.val() {
            self.open.d.next = 0.into();
            self.ended.d.next = 0.into();
            self.due.d.next = false;
        }
    }
}
