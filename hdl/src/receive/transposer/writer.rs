//! Replaces orders for columns by the runs of their jobs.
//!
//! Stands behind the receive queues' scatter. Payload that scatter gives out as columns is planned and transposed here;
//! the order that scatter gives in its place among the others becomes an order for each run that has bytes.
//!
//! ```text
//! target --> runs --planned-->
//!              | \--run--> [64 runs] --\
//!              v                        v
//!          transposer --done--> order: one, or its runs --> written
//!                                   ^
//! order --> [16 orders] ------------/
//! ```
//!
//! Contract: there is an order of `column` for each job that was planned, in their order. It waits until its job's
//! payload is in the memory of columns, and all orders behind it wait as well. Other orders pass after 1 cycle, one a
//! cycle. The last run has the end of the frame, the completion, and the rows of the memory of columns that its job
//! takes. May stall at any time.

use super::Transposer;
use super::runs::{Planned, RowShape, Run, Runs, Target};
use crate::primitive::StreamFifo;
use crate::receive::record::{COLUMN_ROWS, COLUMNS_AT, PLACE, STORE, STORE_WORD, WriteOrder};
use drdma_emit::prelude::*;

/// Bits of a count of jobs whose payload is in the memory of columns: one more than orders can wait.
const JOBS: usize = 5;

/// Replaces orders. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct ColumnWriter {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Dense columns for the transposer.
    pub target: Stream<In, Target>,
    /// The plan for each payload.
    pub planned: Stream<Out, Planned>,
    /// Orders of scatter.
    pub order: Stream<In, WriteOrder>,
    /// Orders, with runs in place of jobs.
    pub written: Stream<Out, WriteOrder>,
    /// Number of rows of the memory of columns that are free again.
    pub freed_rows: Signal<In, Bits<COLUMN_ROWS>>,

    // The frame store.
    /// A word of the frame store is wanted.
    pub store_read: Signal<Out, Bit>,
    /// Number of that word.
    pub store_word: Signal<Out, Bits<STORE_WORD>>,
    /// The word is read in this cycle.
    pub store_granted: Signal<In, Bit>,
    /// The word, two cycles after it was read.
    pub store_data: Signal<In, Bits<512>>,

    // The memory of columns.
    /// Segments of 64 B of the memory of columns that are read, a bit each.
    pub column_enable: Signal<In, Bits<2>>,
    /// Rows that are read, 7 bits for each segment.
    pub column_row: Signal<In, Bits<14>>,
    /// The rows, 512 bits for each segment, two cycles after they were asked for.
    pub column_data: Signal<Out, Bits<1024>>,
    /// Orders wait.
    pub busy: Signal<Out, Bit>,

    runs: Runs,
    transposer: Transposer,
    unused_shape: Signal<Local, RowShape>,
    #[init(StreamFifo::prompt())]
    waiting: StreamFifo<WriteOrder, 4, 5>,
    cut: StreamFifo<Run, 6, 7>,
    /// Jobs that are transposed and whose runs are still here.
    done: DFF<Bits<JOBS>>,
    /// The run belongs to the order that waits.
    open: Signal<Local, Bit>,
    /// The run has no bytes, and others follow.
    empty: Signal<Local, Bit>,
    /// A job's last run leaves.
    ends: Signal<Local, Bit>,
}

impl Logic for ColumnWriter {
    #[hdl_gen]
    fn update(&mut self) {
        self.target.join(&mut self.runs.target);
        self.runs.planned.join(&mut self.planned);
        self.unused_shape.next = self.runs.shape.val();
        self.runs.freed.next = self.freed_rows.val().any();
        self.runs.freed_rows.next = self.freed_rows.val();
        self.runs.column.join(&mut self.transposer.column);
        self.runs.run.join(&mut self.cut.input);
        self.store_read.next = self.transposer.store_read.val();
        self.store_word.next = self.transposer.store_word.val();
        self.transposer.store_granted.next = self.store_granted.val();
        self.transposer.store_data.next = self.store_data.val();
        self.transposer.read_enable.next = self.column_enable.val();
        self.transposer.read_row.next = self.column_row.val();
        self.column_data.next = self.transposer.read_data.val();

        // An order passes, or its job's runs do.
        self.order.join(&mut self.waiting.input);
        self.open.next = self.waiting.output.valid.val()
            && self.waiting.output.data.val().column
            && self.done.q.val().any()
            && self.cut.output.valid.val();
        self.empty.next =
            !self.cut.output.data.val().bytes.any() && !self.cut.output.data.val().last;
        self.written.next = self.waiting.output.data.val();
        self.written.valid.next =
            self.waiting.output.valid.val() && !self.waiting.output.data.val().column;
        self.waiting.output.ready.next =
            self.written.ready.val() && !self.waiting.output.data.val().column;
        self.cut.output.ready.next = false;
        self.ends.next = false;
        if self.waiting.output.data.val().column {
            self.written.addr.next = self.cut.output.data.val().addr;
            self.written.ram.next = bit_cast::<STORE, PLACE>(self.cut.output.data.val().place);
            self.written.ram.next = self.written.ram.val() | COLUMNS_AT;
            self.written.bytes.next = self.cut.output.data.val().bytes;
            self.written.rows.next = self.cut.output.data.val().rows;
            if !self.cut.output.data.val().last {
                self.written.rows.next = 0.into();
                self.written.frame_end.next = false;
                self.written.completes.next = false;
            }
        }
        if self.open.val() {
            self.written.valid.next = !self.empty.val();
            self.cut.output.ready.next = self.written.ready.val() || self.empty.val();
            self.ends.next = self.written.ready.val() && self.cut.output.data.val().last;
            self.waiting.output.ready.next = self.ends.val();
        }
        if self.transposer.done.val() && !self.ends.val() {
            self.done.d.next = self.done.q.val() + 1;
        }
        if self.ends.val() && !self.transposer.done.val() {
            self.done.d.next = self.done.q.val() - 1;
        }
        self.busy.next = self.waiting.output.valid.val();

        if self.rst.val() {
            self.done.d.next = 0.into();
        }
    }
}
