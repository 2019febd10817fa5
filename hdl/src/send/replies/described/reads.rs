//! Makes the reads of a packet in dense columns: one for each column's run.
//!
//! A run may begin within a value, at the packet's first byte. Then it is read from that value's first byte on, so that
//! all reads begin with a value.
//!
//! Contract: one read for each run, also for one without bytes; one a cycle, a cycle after its run. May stall at any
//! time.

use super::{OFFSET, ROW};
use crate::receive::transposer::Column;
use crate::receive::transposer::runs::{RowShape, Run};
use drdma_emit::prelude::*;

/// A read of a column's values in a packet.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ColumnRead {
    /// Address of the first value in host memory.
    pub addr: Bits<64>,
    /// Bytes from `addr` on, at most 4,096; 0 if the packet has none of this column.
    pub bytes: Bits<13>,
    /// Distance from the packet's first byte to the value's first one, as a signed number of bytes: the value may begin
    /// before the packet.
    pub offset: Bits<OFFSET>,
    /// The column is the packet's last one.
    pub last: Bit,
}

/// Makes the reads of columns. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; streams `shape`, one for each packet, and `run` and `column`, which describe the same runs.
///
/// # Outputs
/// Stream `read`.
#[derive(LogicBlock, BlockDefault)]
pub struct ColumnReads {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The shape of each packet's rows.
    pub shape: Stream<In, RowShape>,
    /// The runs of each packet.
    pub run: Stream<In, Run>,
    /// The columns of the runs, in the same order.
    pub column: Stream<In, Column>,
    /// Reads of host memory.
    pub read: Stream<Out, ColumnRead>,

    /// Bytes of a row before the current column.
    before: DFF<Bits<ROW>>,
    goes: Signal<Local, Bit>,
    /// Bytes of the column's value in the packet's first row that come before the packet; the width, if the run begins
    /// in the next row.
    head: Signal<Local, Bits<14>>,
    absent: Signal<Local, Bit>,
    /// Bytes that are read before the run: the beginning of a value.
    extra: Signal<Local, Bits<7>>,
    full: DFF<Bit>,
    held: DFF<ColumnRead>,
    unused: Signal<Local, Bits<64>>,
}

impl Logic for ColumnReads {
    #[hdl_gen]
    fn update(&mut self) {
        self.goes.next = self.run.valid.val()
            && self.column.valid.val()
            && self.shape.valid.val()
            && (!self.full.q.val() || self.read.ready.val());
        self.run.ready.next = self.goes.val();
        self.column.ready.next = self.goes.val();
        self.shape.ready.next = self.goes.val() && self.run.last.val();
        self.head.next = self.run.place.val() - self.column.place.val();
        self.absent.next = self.head.val().get_bits::<7>(0) == self.column.width.val();
        self.extra.next = self.head.val().get_bits::<7>(0);
        if self.absent.val() {
            self.extra.next = 0.into();
        }
        if self.read.ready.val() {
            self.full.d.next = false;
        }
        if self.goes.val() {
            self.full.d.next = true;
            self.held.d.next.addr = self.run.addr.val() - bit_cast::<64, 7>(self.extra.val());
            self.held.d.next.bytes = self.run.bytes.val() + bit_cast::<13, 7>(self.extra.val());
            self.held.d.next.offset = bit_cast::<OFFSET, ROW>(self.before.q.val())
                - bit_cast::<OFFSET, ROW>(self.shape.start.val());
            if self.absent.val() {
                self.held.d.next.offset = bit_cast::<OFFSET, ROW>(self.before.q.val())
                    - bit_cast::<OFFSET, ROW>(self.shape.start.val())
                    + bit_cast::<OFFSET, ROW>(self.shape.row.val());
            }
            self.held.d.next.last = self.run.last.val();
            self.before.d.next = self.before.q.val() + bit_cast::<ROW, 7>(self.column.width.val());
            if self.run.last.val() {
                self.before.d.next = 0.into();
            }
        }
        self.read.valid.next = self.full.q.val();
        self.read.next = self.held.q.val();
        self.unused.next = bit_cast::<64, 8>(self.run.rows.val())
            | bit_cast::<64, 17>(self.column.ram.val())
            | bit_cast::<64, 2>(self.column.skip.val())
            | bit_cast::<64, 13>(self.column.bytes.val())
            | bit_cast::<64, 8>(self.column.piece.val())
            | bit_cast::<64, 5>(self.shape.columns.val())
            | bit_cast::<64, 7>(self.shape.width.val())
            | bit_cast::<64, 14>(self.head.val())
            | bit_cast::<64, 1>(self.column.last.val().into());
        if self.rst.val() {
            self.full.d.next = false;
            self.before.d.next = 0.into();
        }
    }
}
