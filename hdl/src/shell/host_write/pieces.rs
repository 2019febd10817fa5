//! Cuts orders at the end of the frame store, or of the memory of columns.

use crate::receive::record::{COLUMNS_AT, STORE, WriteOrder};
use drdma_emit::prelude::*;

/// Bits of an order's bytes, at most 4,096.
const BYTES: usize = 13;

/// Cuts an order whose bytes continue at its memory's beginning into two pieces for [`HostWrite`](super::HostWrite),
/// because a DMA write takes its bytes from consecutive places. What is to be done after an order's bytes stays with
/// its second piece.
///
/// Latency 1 cycle; a piece a cycle; `order.ready` depends on `piece.ready`.
#[derive(LogicBlock, Default)]
pub struct Pieces {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Orders to be cut.
    pub order: Stream<In, WriteOrder>,
    /// Pieces of the orders, in the same order.
    pub piece: Stream<Out, WriteOrder>,

    holds: DFF<Bit>,
    held: DFF<WriteOrder>,
    /// The held order crosses its memory's end: `first` bytes up to there, and `rest` bytes behind it.
    is_cut: DFF<Bit>,
    first: DFF<Bits<BYTES>>,
    rest: DFF<Bits<BYTES>>,
    behind: Signal<Local, Bits<18>>,
    free: Signal<Local, Bit>,
}

impl Logic for Pieces {
    #[hdl_gen]
    fn update(&mut self) {
        self.piece.valid.next = self.holds.q.val();
        self.piece.next = self.held.q.val();
        if self.is_cut.q.val() {
            self.piece.bytes.next = self.first.q.val();
            self.piece.rows.next = 0.into();
            self.piece.frame_end.next = false;
            self.piece.completes.next = false;
        }
        self.free.next = !self.holds.q.val() || (self.piece.ready.val() && !self.is_cut.q.val());
        self.order.ready.next = self.free.val();

        // Bit 17: the order reaches its memory's end; the bits below: by how much it crosses it.
        self.behind.next = bit_cast::<18, STORE>(self.order.ram.val())
            + bit_cast::<18, BYTES>(self.order.bytes.val());
        if self.free.val() {
            self.holds.d.next = self.order.valid.val();
            self.held.d.next = self.order.val();
            self.is_cut.d.next =
                self.behind.val().get_bit(17) && self.behind.val().get_bits::<STORE>(0).any();
            self.first.d.next = 0 - self.order.ram.val().get_bits::<BYTES>(0);
            self.rest.d.next = self.behind.val().get_bits::<BYTES>(0);
        } else if self.piece.ready.val() {
            self.is_cut.d.next = false;
            self.held.d.next.addr =
                self.held.q.val().addr + bit_cast::<64, BYTES>(self.first.q.val());
            self.held.d.next.ram = 0.into();
            if self.held.q.val().column {
                self.held.d.next.ram = COLUMNS_AT.into();
            }
            self.held.d.next.bytes = self.rest.q.val();
        }

        if self.rst.val() {
            self.holds.d.next = false;
        }
    }
}
