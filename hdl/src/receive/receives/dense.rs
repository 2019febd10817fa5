//! Gives the transposer payload for dense columns, and computes where the receive stands behind it.
//!
//! Stands beside scatter, which walks the columns. A region's columns are *dense* if the value of a row follows that of
//! the row before: each extent of a strided region is as long as the period; those of an append region always are. The
//! transposer takes values of at most 64 B.
//!
//! Contract: `begins`, then the columns of a row in their order, each in a cycle of its own, at most 16, while `roomy`.
//! In the cycle after the last one `refused` says that the transposer does not get them. If it does, `moved` is a pulse
//! when it has planned the payload, later than that; then `after` is the cursor behind the `planned_bytes` that it
//! takes. The cursor, `appends`, `capacity`, `ram` and `bytes` must stay until then.

use super::record::{Cursor, PLACES};
use crate::primitive::{Multiplier, StreamFifo};
use crate::receive::record::STORE;
use crate::receive::transposer::runs::{Planned, Target};
use drdma_emit::prelude::*;

/// Columns of a region, at most.
const COLUMNS: u64 = 16;

/// Gives the transposer payload. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Dense {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // The payload.
    /// Position in the receive at which the payload begins.
    pub cursor: Signals<In, Cursor>,
    /// The region is an append region.
    pub appends: Signal<In, Bit>,
    /// Rows of the append region.
    pub capacity: Signal<In, Bits<32>>,
    /// Byte address of the payload in the frame store.
    pub ram: Signal<In, Bits<STORE>>,
    /// Bytes of the payload.
    pub bytes: Signal<In, Bits<13>>,

    // The columns.
    /// There is room for all columns of a region.
    pub roomy: Signal<Out, Bit>,
    /// The columns of a payload come next.
    pub begins: Signal<In, Bit>,
    /// A column comes.
    pub comes: Signal<In, Bit>,
    /// Address of the column's value in the row in which the payload begins.
    pub addr: Signal<In, Bits<64>>,
    /// Bytes of the column's value.
    pub width: Signal<In, Bits<7>>,
    /// The column is the last one.
    pub last: Signal<In, Bit>,
    /// With `last`: one of the columns is not for the transposer.
    pub odd: Signal<In, Bit>,
    /// The columns of which the last one came in the cycle before do not go to the transposer.
    pub refused: Signal<Out, Bit>,

    // The transposer.
    /// Columns for the transposer.
    pub target: Stream<Out, Target>,
    /// Plan of the transposer for each payload.
    pub planned: Stream<In, Planned>,
    /// The payload is planned.
    pub moved: Signal<Out, Bit>,
    /// With `moved`: bytes of the payload that the transposer takes.
    pub planned_bytes: Signal<Out, Bits<13>>,
    /// With `moved`: position in the receive behind these bytes.
    pub after: Signals<Out, Cursor>,
    /// With `moved`: the region ends there. An append region then goes on at row 0.
    pub ended: Signal<Out, Bit>,

    held_odd: DFF<Bit>,
    drops: Signal<Local, Bit>,
    refuses: DFF<Bit>,
    valid: DFF<Bit>,
    held: DFF<Target>,
    #[init(StreamFifo::prompt())]
    targets: StreamFifo<Target, 5, 6>,
    /// A column of the payload; all columns share most of its fields.
    column: Signal<Local, Bits<PLACES>>,
    unused_column: Signal<Local, Bits<PLACES>>,
    plan: DFF<Planned>,
    steps: [DFF<Bit>; 2],
    /// Rows that are left behind the payload, and the place behind that of its last value.
    rows_after: DFF<Bits<32>>,
    behind_after: DFF<Bits<PLACES>>,
    #[init(Multiplier::new(2))]
    multiplier: Multiplier<13, 7, 20>,
}

impl Logic for Dense {
    #[hdl_gen]
    fn update(&mut self) {
        // Columns.
        self.roomy.next = self.targets.free.val() > COLUMNS;
        self.drops.next = self.held_odd.q.val() || self.odd.val();
        self.refuses.d.next = self.comes.val() && self.last.val() && self.drops.val();
        self.refused.next = self.refuses.q.val();
        if self.odd.val() {
            self.held_odd.d.next = true;
        }
        if self.begins.val() {
            self.held_odd.d.next = false;
        }
        self.column.next = self.cursor.behind.val() - self.cursor.first.val();
        self.unused_column.next = self.column.val();
        self.valid.d.next = self.comes.val();
        self.held.d.next.addr = self.addr.val();
        self.held.d.next.width = self.width.val();
        self.held.d.next.last = self.last.val();
        self.held.d.next.dropped = self.drops.val();
        self.held.d.next.ram = self.ram.val();
        self.held.d.next.bytes = self.bytes.val();
        self.held.d.next.column = self.column.val().get_bits::<4>(0);
        self.held.d.next.offset = self.cursor.into.val();
        self.held.d.next.rows = self.cursor.rows.val();
        if self.appends.val() {
            self.held.d.next.rows = self.capacity.val() - self.cursor.row.val().get_bits::<32>(0);
        }
        self.targets.input.valid.next = self.valid.q.val();
        self.targets.input.data.next = self.held.q.val();
        self.targets.output.join(&mut self.target);

        // The plan, and the rows by which it advances.
        self.planned.ready.next = true;
        self.plan.d.next = self.plan.q.val();
        if self.planned.valid.val() {
            self.plan.d.next = self.planned.val();
        }
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.planned.rows.val();
        self.multiplier.b.next = self.cursor.period.val().get_bits::<7>(0);
        self.steps[0].d.next = self.planned.valid.val();
        self.steps[1].d.next = self.steps[0].q.val();
        self.moved.next = self.steps[1].q.val();
        self.planned_bytes.next = self.plan.q.val().bytes;
        self.ended.next = self.plan.q.val().ends;

        self.after.next = self.cursor.val();
        self.after.next.row =
            self.cursor.row.val() + bit_cast::<64, 20>(self.multiplier.product.val());
        self.rows_after.d.next =
            self.cursor.rows.val() - bit_cast::<32, 13>(self.plan.q.val().rows);
        self.behind_after.d.next =
            self.cursor.first.val() + bit_cast::<PLACES, 4>(self.plan.q.val().column);
        self.after.next.rows = self.rows_after.q.val();
        self.after.next.behind = self.behind_after.q.val();
        self.after.next.into = self.plan.q.val().offset;
        if self.plan.q.val().ends {
            self.after.next.into = 0.into();
            self.after.next.behind = self.cursor.past.val();
            self.after.next.strided = false;
            self.after.next.dense = false;
            if self.appends.val() {
                self.after.next.row = 0.into();
                self.after.next.behind = self.cursor.first.val();
                self.after.next.strided = true;
                self.after.next.dense = true;
            }
        }

        if self.rst.val() {
            self.valid.d.next = false;
            self.refuses.d.next = false;
            self.steps[0].d.next = false;
            self.steps[1].d.next = false;
        }
    }
}
