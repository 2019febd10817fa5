//! Decides which path an item takes, and whom the answers of reads are for.

use super::record::{END, HEAD, Item, ORIGIN_BITS, Origin, READ_BITS, Read, SCAN, WALK};
use crate::primitive::{Fifo, Flatten, Join, Restore};
use drdma_emit::prelude::*;

/// Bits of a read with its origin.
const OWNER_BITS: usize = READ_BITS + ORIGIN_BITS;

/// Gives each item to the row source, to the walker or to the column path, and pairs each answer of `host_read` with
/// the read that it belongs to.
///
/// Items leave in order. The end of a column request waits until the column path is idle, and takes the path's failure
/// along. The owner of each read is kept until its last answer is taken, for up to 64 reads; further reads wait.
/// Answers of a read pass from the 2nd cycle after it. Everything else is combinational.
///
/// # Inputs
/// `item` (`valid`, the record), `rows_ready`, `walker_ready`, `walker_busy`, `column_ready`,
/// `column_idle`, `column_failed`; `req` (`valid`, `read`), `req_ready` of `host_read`; `resp`
/// (`valid`, `last`), `told_ready`.
///
/// # Outputs
/// `item_ready`, `rows_valid`, `walker_valid`, `column_valid`, `fail`, `column_clear`; `req_taken`,
/// `req_offered`; `resp_ready`, `told_valid`, `resp_read`.
#[derive(LogicBlock, Default)]
pub struct Route {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    // Items.
    /// An item is offered.
    pub item_valid: Signal<In, Bit>,
    /// The item is taken in this cycle.
    pub item_ready: Signal<Out, Bit>,
    /// The item.
    pub item: Signal<In, Item>,
    /// The item is offered to the row source.
    pub rows_valid: Signal<Out, Bit>,
    /// The row source takes the item in this cycle.
    pub rows_ready: Signal<In, Bit>,
    /// The item is offered to the walker.
    pub walker_valid: Signal<Out, Bit>,
    /// The walker takes the item in this cycle.
    pub walker_ready: Signal<In, Bit>,
    /// The walker emits rows; the row source waits.
    pub walker_busy: Signal<In, Bit>,
    /// The item is offered to the column path.
    pub column_valid: Signal<Out, Bit>,
    /// The column path takes the item in this cycle.
    pub column_ready: Signal<In, Bit>,
    /// The column path has used up all its items.
    pub column_idle: Signal<In, Bit>,
    /// A read of the column path has failed.
    pub column_failed: Signal<In, Bit>,
    /// The request ends with the failure of the column path.
    pub fail: Signal<Out, Bit>,
    /// A column request ends in this cycle.
    pub column_clear: Signal<Out, Bit>,
    // Reads.
    /// A read is offered by `fetch` or `keys`.
    pub req_valid: Signal<In, Bit>,
    /// Purpose of the read.
    pub req_read: Signal<In, Read>,
    /// Origin of the read.
    pub req_origin: Signal<In, Origin>,
    /// The read is offered to `host_read`.
    pub req_offered: Signal<Out, Bit>,
    /// `host_read` can take a read.
    pub req_ready: Signal<In, Bit>,
    /// A read that is offered is taken in this cycle.
    pub req_taken: Signal<Out, Bit>,
    // Answers.
    /// A beat of 64 bytes of an answer is offered.
    pub resp_valid: Signal<In, Bit>,
    /// The beat is the last one of its read.
    pub resp_last: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub resp_ready: Signal<Out, Bit>,
    /// The beat is offered together with its read.
    pub told_valid: Signal<Out, Bit>,
    /// The partitioner takes the beat in this cycle.
    pub told_ready: Signal<In, Bit>,
    /// Read that the beat answers.
    pub resp_read: Signal<Out, Read>,
    /// Origin of that read.
    pub resp_origin: Signal<Out, Origin>,

    /// No read is waiting for answers.
    pub quiet: Signal<Out, Bit>,

    for_walker: Signal<Local, Bit>,
    for_columns: Signal<Local, Bit>,
    held: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    used_up: Signal<Local, Bit>,
    read_in: Flatten<Read, READ_BITS>,
    origin_in: Flatten<Origin, ORIGIN_BITS>,
    owner: Join<READ_BITS, ORIGIN_BITS, OWNER_BITS>,
    owners: Fifo<OWNER_BITS, 6, 7>,
    read_out: Restore<Read, READ_BITS>,
    origin_out: Restore<Origin, ORIGIN_BITS>,
    /// Takes the fields of the item that this block does not use.
    unused: Signal<Local, Item>,
}

impl Logic for Route {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.item.val();

        // Items.
        self.for_columns.next = self.item.val().column
            && ((self.item.val().task == WALK) || (self.item.val().task == SCAN));
        self.for_walker.next = (self.item.val().task > END) && (self.item.val().task != HEAD);
        self.ends.next = self.item.val().column && (self.item.val().task == END);
        self.held.next = self.walker_busy.val() || (self.ends.val() && !self.column_idle.val());
        self.column_valid.next = self.item_valid.val() && self.for_columns.val();
        self.walker_valid.next = self.item_valid.val() && self.for_walker.val();
        self.rows_valid.next = self.item_valid.val()
            && !self.for_columns.val()
            && !self.for_walker.val()
            && !self.held.val();
        self.item_ready.next = self.rows_ready.val() && !self.held.val();
        if self.for_walker.val() {
            self.item_ready.next = self.walker_ready.val();
        }
        if self.for_columns.val() {
            self.item_ready.next = self.column_ready.val();
        }
        self.used_up.next = self.rows_valid.val() && self.rows_ready.val() && self.ends.val();
        self.column_clear.next = self.used_up.val() && !self.item.val().never;
        self.fail.next = self.used_up.val() && self.column_failed.val();

        // Reads.
        self.req_offered.next = self.req_valid.val() && self.owners.in_ready.val();
        self.req_taken.next = self.req_ready.val() && self.owners.in_ready.val();
        self.owners.in_valid.next = self.req_valid.val() && self.req_ready.val();
        self.read_in.record.next = self.req_read.val();
        self.origin_in.record.next = self.req_origin.val();
        self.owner.low.next = self.read_in.bits.val();
        self.owner.high.next = self.origin_in.bits.val();
        self.owners.in_data.next = self.owner.whole.val();

        self.quiet.next = !self.owners.count.val().any();

        // Answers.
        self.read_out.bits.next = self.owners.out_data.val().get_bits::<READ_BITS>(0);
        self.resp_read.next = self.read_out.record.val();
        self.origin_out.bits.next = self.owners.out_data.val().get_bits::<ORIGIN_BITS>(READ_BITS);
        self.resp_origin.next = self.origin_out.record.val();
        self.told_valid.next = self.resp_valid.val() && self.owners.out_valid.val();
        self.resp_ready.next = self.owners.out_valid.val() && self.told_ready.val();
        self.owners.out_ready.next =
            self.resp_valid.val() && self.resp_ready.val() && self.resp_last.val();
    }
}
