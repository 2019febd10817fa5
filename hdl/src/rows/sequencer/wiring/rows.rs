//! Items that become rows, messages and beats.

use super::super::Sequencer;
use super::super::record::{CUT_BITS, TOKEN_BITS};
use drdma_emit::prelude::*;

impl Sequencer {
    /// Items wait for their answers; both FIFOs advance together.
    #[hdl_gen]
    pub(super) fn wire_items(&mut self) {
        self.item_in.record.next = self.plan.item.val();
        self.context_in.record.next = self.plan.item_context.val();
        self.items.in_valid.next = self.plan.item_valid.val();
        self.items.in_data.next = self.item_in.bits.val();
        self.contexts.in_valid.next = self.plan.item_valid.val();
        self.contexts.in_data.next = self.context_in.bits.val();
        self.plan.item_ready.next = self.items.in_ready.val();
        self.item_out.bits.next = self.items.out_data.val();
        self.context_out.bits.next = self.contexts.out_data.val();
        self.route.item_valid.next = self.items.out_valid.val();
        self.route.item.next = self.item_out.record.val();
        self.items.out_ready.next = self.route.item_ready.val();
        self.contexts.out_ready.next = self.items.out_ready.val();

        // Items to rows: the row source and the walker work one after the other.
        self.route.rows_ready.next = self.rows.item_ready.val();
        self.route.walker_ready.next = self.walker.item_ready.val();
        self.route.walker_busy.next = self.walker.busy.val();
        self.rows.item_valid.next = self.route.rows_valid.val();
        self.rows.item.next = self.item_out.record.val();
        self.rows.item_context.next = self.context_out.record.val();
        self.route.resp_valid.next = self.read_resp_valid.val();
        self.route.resp_last.next = self.read_resp_last.val();
        self.read_resp_ready.next = self.route.resp_ready.val();
    }

    /// Items to the column path.
    #[hdl_gen]
    pub(super) fn wire_columns(&mut self) {
        self.column_item_valid.next = self.route.column_valid.val();
        self.route.column_ready.next = self.column_item_ready.val();
        self.column_item_item.next = self.item_out.record.val();
        self.column_item_context.next = self.context_out.record.val();
        self.route.column_idle.next = self.column_idle.val();
        self.route.column_failed.next = self.column_failed.val();
        self.column_clear.next = self.route.column_clear.val();
        self.answers.in_valid.next = self.partitioner.output.valid.val() && self.for_columns.val();
        self.answers.in_data.next =
            (bit_cast::<518, 1>(self.partitioner.output.error.val().into()) << 512)
                | (bit_cast::<518, 2>(self.partitioner.output.purpose.val().ids) << 513)
                | (bit_cast::<518, 1>(self.partitioner.output.purpose.val().last.into()) << 515)
                | (bit_cast::<518, 1>(self.partitioner.output.purpose.val().fetch.into()) << 516)
                | (bit_cast::<518, 1>(self.partitioner.output.purpose.val().kept.into()) << 517)
                | bit_cast::<518, 512>(self.partitioner.output.data.val());
        self.column_resp_valid.next = self.answers.out_valid.val();
        self.column_resp_data.next = self.answers.out_data.val().get_bits::<512>(0);
        self.column_resp_error.next = self.answers.out_data.val().get_bit(512);
        self.column_resp_ids.next = self.answers.out_data.val().get_bits::<2>(513);
        self.column_resp_last.next = self.answers.out_data.val().get_bit(515);
        self.column_resp_fetch.next = self.answers.out_data.val().get_bit(516);
        self.column_resp_kept.next = self.answers.out_data.val().get_bit(517);
        self.answers.out_ready.next = self.column_resp_ready.val();
    }

    /// Rows to messages.
    #[hdl_gen]
    pub(super) fn wire_messages(&mut self) {
        self.messages.row_valid.next = self.rows.row_valid.val();
        self.messages.row_context.next = self.rows.row_context.val();
        self.messages.row.next = self.rows.row.val();
        if self.walker.row_waits.val() {
            self.messages.row_valid.next = self.walker.row_valid.val();
            self.messages.row_context.next = self.walker.row_context.val();
            self.messages.row.next = self.walker.row.val();
        }
        self.rows.row_ready.next = self.messages.row_ready.val() && !self.walker.row_waits.val();
        self.walker.row_ready.next = self.messages.row_ready.val();
    }

    /// Units to beats.
    #[hdl_gen]
    pub(super) fn wire_beats(&mut self) {
        self.beats.length_write.next = self.tables.length_write.val();
        self.beats.length_address.next = self.tables.length_address.val();
        self.beats.length_data.next = self.tables.length_data.val();
        self.unit_in.record.next = self.messages.token.val();
        self.cut_in.record.next = self.messages.token_cut.val();
        self.unit.low.next = self.unit_in.bits.val();
        self.unit.high.next = self.cut_in.bits.val();
        self.units.in_valid.next = self.messages.token_valid.val();
        self.units.in_data.next = self.unit.whole.val();
        self.messages.token_ready.next = self.units.in_ready.val();
        self.unit_out.bits.next = self.units.out_data.val().get_bits::<TOKEN_BITS>(0);
        self.cut_out.bits.next = self.units.out_data.val().get_bits::<CUT_BITS>(TOKEN_BITS);
        self.beats.in_valid.next = self.units.out_valid.val();
        self.beats.in_token.next = self.unit_out.record.val();
        self.beats.in_cut.next = self.cut_out.record.val();
        self.units.out_ready.next = self.beats.in_ready.val();
    }

    /// Tokens leave through a register slice.
    #[hdl_gen]
    pub(super) fn wire_tokens(&mut self) {
        self.token_in.record.next = self.beats.token.val();
        self.tokens.in_valid.next = self.beats.token_valid.val();
        if self.plan.kinds_busy.val() {
            self.token_in.record.next = self.kinds.token.val();
            self.tokens.in_valid.next = self.kinds.token_valid.val();
        }
        // It offers no token while it is not busy.
        self.kinds.token_ready.next = self.tokens.in_ready.val();
        self.tokens.in_data.next = self.token_in.bits.val();
        self.beats.token_ready.next = self.tokens.in_ready.val() && !self.plan.kinds_busy.val();
        self.token.valid.next = self.tokens.out_valid.val();
        self.tokens.out_ready.next = self.token.ready.val();
        self.tokens_out.bits.next = self.tokens.out_data.val();
        self.token.next = self.tokens_out.record.val();
    }
}
