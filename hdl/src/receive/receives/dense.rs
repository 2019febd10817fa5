//! Where payload in dense columns goes: what the transposer is told of it, and where the receive stands behind it.
//!
//! Stands beside scatter, which goes through the columns. A region's columns are *dense* if the value of a row follows that of the row
//! before: of a strided region each extent is as long as the period; those of an append region always are. The transposer
//! takes values of at most 64 B.
//!
//! Contract: `begins`, then the columns of a row in their order, each in a cycle of its own, at most 16, while `roomy`. With the last one `taken` says whether the
//! transposer gets them. If so, `moved` is a pulse when it has planned the payload: then `after` is the cursor behind the `planned_bytes` that
//! it takes. The cursor, `appends`, `capacity`, `ram` and `bytes` hold until then.

use super::record::{Cursor, PLACES};
use crate::primitive::{Multiplier, StreamFifo};
use crate::receive::record::STORE;
use crate::receive::transposer::runs::{Planned, Target};
use drdma_emit::prelude::*;

/// Columns of a region.
const COLUMNS: u64 = 16;

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Dense {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // The payload.
    /// Where the receive stands.
    pub cursor: Signals<In, Cursor>,
    /// The region is an append region,
    pub appends: Signal<In, Bit>,
    /// of so many rows.
    pub capacity: Signal<In, Bits<32>>,
    /// The payload's first byte in the frame store.
    pub ram: Signal<In, Bits<STORE>>,
    /// Its bytes.
    pub bytes: Signal<In, Bits<13>>,

    // The columns.
    /// All of them find room.
    pub roomy: Signal<Out, Bit>,
    /// They come next.
    pub begins: Signal<In, Bit>,
    /// One comes:
    pub comes: Signal<In, Bit>,
    /// where its value of the row goes in which the payload begins,
    pub addr: Signal<In, Bits<64>>,
    /// and its bytes.
    pub width: Signal<In, Bits<7>>,
    /// It is the last one.
    pub last: Signal<In, Bit>,
    /// One of them, until the last one, is none for the transposer.
    pub odd: Signal<In, Bit>,
    /// With the last one: the transposer gets them.
    pub taken: Signal<Out, Bit>,

    // The transposer.
    /// Columns,
    pub target: Stream<Out, Target>,
    /// and what becomes of the payload.
    pub planned: Stream<In, Planned>,
    /// That is known:
    pub moved: Signal<Out, Bit>,
    /// bytes that it takes,
    pub planned_bytes: Signal<Out, Bits<13>>,
    /// where the receive stands behind them,
    pub after: Signals<Out, Cursor>,
    /// and whether the region ends there. An append region goes on at row 0 then.
    pub ended: Signal<Out, Bit>,

    held_odd: DFF<Bit>,
    drops: Signal<Local, Bit>,
    valid: DFF<Bit>,
    held: DFF<Target>,
    #[init(StreamFifo::prompt())]
    targets: StreamFifo<Target, 5, 6>,
    /// Of the payload, for all columns.
    column: Signal<Local, Bits<PLACES>>,
    unused_column: Signal<Local, Bits<PLACES>>,
    plan: DFF<Planned>,
    steps: [DFF<Bit>; 2],
    #[init(Multiplier::new(2))]
    multiplier: Multiplier<13, 7, 20>,
}

impl Logic for Dense {
    #[hdl_gen]
    fn update(&mut self) {
        // Columns.
        self.roomy.next = self.targets.free.val() > COLUMNS;
        self.drops.next = self.held_odd.q.val() || self.odd.val();
        self.taken.next = !self.drops.val();
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

        // The plan, and how far the rows are that it goes on.
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
        self.after.next.rows = self.cursor.rows.val() - bit_cast::<32, 13>(self.plan.q.val().rows);
        self.after.next.behind =
            self.cursor.first.val() + bit_cast::<PLACES, 4>(self.plan.q.val().column);
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
            self.steps[0].d.next = false;
            self.steps[1].d.next = false;
        }
    }
}
