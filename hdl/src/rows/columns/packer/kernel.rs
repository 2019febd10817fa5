//! The logic of the packer. Its parts stand in files by what they do.

use super::Packer;
use drdma_emit::prelude::hdl_gen;
use drdma_emit::prelude::*;

impl Logic for Packer {
    #[hdl_gen]
    fn update(&mut self) {
        self.group.next.count = self.rows_count.val();
        self.group.next.offset = self.rows_offset.val();
        self.group.next.word = self.rows_word.val();
        self.group.next.turn_end = self.rows_turn_end.val();
        self.group.next.chunk_end = self.rows_chunk_end.val();
        self.group.next.last = self.rows_last.val();
        self.group_in.record.next = self.group.val();
        self.groups.in_valid.next = self.rows_valid.val();
        self.groups.in_data.next = self.group_in.bits.val();
        self.group_out.bits.next = self.groups.out_data.val();
        self.context_in.record.next = self.rows_context.val();
        self.contexts.in_valid.next = self.rows_valid.val();
        self.contexts.in_data.next = self.context_in.bits.val();
        self.context_out.bits.next = self.contexts.out_data.val();
        self.rows_ready.next = self.groups.in_ready.val();

        self.choose_beat();
        self.count_rows();
        self.advance_message();
        self.start_beat();
        self.admit();
        self.enter();
        self.leave();
        self.sum_bytes();
        if self.rst.val() {
            self.early_valid.d.next = false;
            self.entry_valid.d.next = false;
            self.busy.d.next = false;
            self.waiting.d.next = 0.into();
            self.place.d.next = 0.into();
            self.cut_valid.d.next = false;
            self.sum_valid.d.next = false;
            self.done_valid.d.next = false;
        }
    }
}
