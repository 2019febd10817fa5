//! Which path an item takes, and which the answers of reads.

use super::record::{END, HEAD, Item, PURPOSE_BITS, Purpose, WALK};
use crate::primitive::{Fifo, Flatten, Restore};
use drdma_emit::prelude::*;

/// Gives each item to the row source, to the walker, or to the column path, and each answer of
/// `host_read` to the path that its read is for.
///
/// Items leave in order; a column request's end waits until the column path is idle, and takes
/// its failure along. The owner of each read is kept until its last answer is taken, for up to 64
/// reads; more wait. Answers of a read pass from the 2nd cycle after it. Combinational otherwise,
/// but `resp_ready` depends on both paths' ready: they come from registers.
///
/// # Inputs
/// `item` (`valid`, the record), `rows_ready`, `walker_ready`, `walker_busy`, `column_ready`,
/// `column_idle`, `column_failed`; `req` (`valid`, `purpose`), `req_ready` of `host_read`; `resp`
/// (`valid`, `last`), the paths' `*_resp_ready`.
///
/// # Outputs
/// `item_ready`, `rows_valid`, `walker_valid`, `column_valid`, `fail`, `column_clear`; `req_taken`,
/// `req_offered`; `resp_ready`, `resp_purpose`, `rows_resp_valid`, `column_resp_valid`.
#[derive(LogicBlock, Default)]
pub struct Route {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    // Items.
    /// An item is offered.
    pub item_valid: Signal<In, Bit>,
    /// It is taken.
    pub item_ready: Signal<Out, Bit>,
    /// The item.
    pub item: Signal<In, Item>,
    /// It is offered to the row source.
    pub rows_valid: Signal<Out, Bit>,
    /// The row source takes it.
    pub rows_ready: Signal<In, Bit>,
    /// It is offered to the walker.
    pub walker_valid: Signal<Out, Bit>,
    /// The walker takes it.
    pub walker_ready: Signal<In, Bit>,
    /// The walker gives rows: the row source waits.
    pub walker_busy: Signal<In, Bit>,
    /// It is offered to the column path.
    pub column_valid: Signal<Out, Bit>,
    /// The column path takes it.
    pub column_ready: Signal<In, Bit>,
    /// The column path has used up all its items.
    pub column_idle: Signal<In, Bit>,
    /// A read of the column path has failed.
    pub column_failed: Signal<In, Bit>,
    /// The request ends with the column path's failure.
    pub fail: Signal<Out, Bit>,
    /// A column request ends.
    pub column_clear: Signal<Out, Bit>,
    // Reads.
    /// A read is to be made.
    pub req_valid: Signal<In, Bit>,
    /// What it is for.
    pub req_purpose: Signal<In, Purpose>,
    /// It is offered to `host_read`.
    pub req_offered: Signal<Out, Bit>,
    /// `host_read` would take it.
    pub req_ready: Signal<In, Bit>,
    /// It is made.
    pub req_taken: Signal<Out, Bit>,
    // Answers.
    /// 64 bytes of an answer are offered.
    pub resp_valid: Signal<In, Bit>,
    /// They are the last ones of their read.
    pub resp_last: Signal<In, Bit>,
    /// They are taken.
    pub resp_ready: Signal<Out, Bit>,
    /// What they are for; `last` with the last ones of a stretch.
    pub resp_purpose: Signal<Out, Purpose>,
    /// They are offered to the row source and the walker.
    pub rows_resp_valid: Signal<Out, Bit>,
    /// One of them takes them.
    pub rows_resp_ready: Signal<In, Bit>,
    /// They are offered to the column path.
    pub column_resp_valid: Signal<Out, Bit>,
    /// It takes them.
    pub column_resp_ready: Signal<In, Bit>,

    /// No answer is waited for.
    pub quiet: Signal<Out, Bit>,

    for_walker: Signal<Local, Bit>,
    for_columns: Signal<Local, Bit>,
    held: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    purpose_in: Flatten<Purpose, PURPOSE_BITS>,
    owners: Fifo<PURPOSE_BITS, 6, 7>,
    purpose_out: Restore<Purpose, PURPOSE_BITS>,
    owner: Signal<Local, Bit>,
    /// What the item says of its rows.
    unused: Signal<Local, Item>,
}

impl Logic for Route {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.item.val();

        // Items.
        self.for_columns.next = self.item.val().column && (self.item.val().task == WALK);
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
        self.column_clear.next = self.rows_valid.val() && self.rows_ready.val() && self.ends.val();
        self.fail.next = self.column_clear.val() && self.column_failed.val();

        // Reads.
        self.owners.clk.next = self.clk.val();
        self.owners.rst.next = self.rst.val();
        self.req_offered.next = self.req_valid.val() && self.owners.in_ready.val();
        self.req_taken.next = self.req_ready.val() && self.owners.in_ready.val();
        self.owners.in_valid.next = self.req_valid.val() && self.req_ready.val();
        self.purpose_in.record.next = self.req_purpose.val();
        self.owners.in_data.next = self.purpose_in.bits.val();

        self.quiet.next = !self.owners.count.val().any();

        // Answers.
        self.purpose_out.bits.next = self.owners.out_data.val();
        self.resp_purpose.next = self.purpose_out.record.val();
        self.resp_purpose.next.last = self.purpose_out.record.val().last && self.resp_last.val();
        self.owner.next = self.purpose_out.record.val().column;
        self.rows_resp_valid.next =
            self.resp_valid.val() && self.owners.out_valid.val() && !self.owner.val();
        self.column_resp_valid.next =
            self.resp_valid.val() && self.owners.out_valid.val() && self.owner.val();
        self.resp_ready.next = self.owners.out_valid.val() && self.rows_resp_ready.val();
        if self.owner.val() {
            self.resp_ready.next = self.owners.out_valid.val() && self.column_resp_ready.val();
        }
        self.owners.out_ready.next =
            self.resp_valid.val() && self.resp_ready.val() && self.resp_last.val();
    }
}
