//! Turns that are cut, and those behind them.

use super::{Batches, SIDE};
use drdma_emit::prelude::*;

impl Batches {
    /// Turns of other queues.
    #[hdl_gen]
    pub(super) fn count_others(&mut self) {
        self.comes.next = self.read.valid.val() && self.reads.input.ready.val() && self.other.val();
        self.goes.next = self.load.val() && self.reads.output.data.val().other;
        if self.comes.val() && !self.goes.val() {
            self.others.d.next = self.others.q.val() + 1;
        } else if self.goes.val() && !self.comes.val() {
            self.others.d.next = self.others.q.val() - 1;
        }
        self.whole_comes.next = self.comes.val() && !self.read.limited.val();
        self.whole_goes.next = self.goes.val() && !self.reads.output.data.val().read.limited;
        if self.whole_comes.val() && !self.whole_goes.val() {
            self.wholes.d.next = self.wholes.q.val() + 1;
        } else if self.whole_goes.val() && !self.whole_comes.val() {
            self.wholes.d.next = self.wholes.q.val() - 1;
        }
        self.wholes_behind.next = self.wholes.q.val();
        self.own_comes.next =
            self.read.valid.val() && self.reads.input.ready.val() && !self.read.shared.val();
        self.own_goes.next = self.load.val() && !self.reads.output.data.val().read.shared;
        if self.own_comes.val() && !self.own_goes.val() {
            self.own_reads.d.next = self.own_reads.q.val() + 1;
        } else if self.own_goes.val() && !self.own_comes.val() {
            self.own_reads.d.next = self.own_reads.q.val() - 1;
        }
        self.own_at_work.next =
            self.own_reads.q.val().any() || (self.busy.q.val() && !self.at.q.val().shared);
        self.heard_comes.next =
            self.read.valid.val() && self.reads.input.ready.val() && !self.read.silent.val();
        self.heard_goes.next = self.load.val() && !self.reads.output.data.val().read.silent;
        if self.heard_comes.val() && !self.heard_goes.val() {
            self.heard_reads.d.next = self.heard_reads.q.val() + 1;
        } else if self.heard_goes.val() && !self.heard_comes.val() {
            self.heard_reads.d.next = self.heard_reads.q.val() - 1;
        }
        self.heard_at_work.next =
            self.heard_reads.q.val().any() || (self.busy.q.val() && !self.at.q.val().silent);
        self.behind.next = self.others.q.val().any();
        self.reading.next = self.busy.q.val();
        self.queue_now.next = self.at.q.val().queue;
    }

    /// Turns of a queue that was cut are dropped, up to where it is fetched anew.
    #[hdl_gen]
    pub(super) fn drop_cut(&mut self) {
        self.cut_queues.set_valid.next = self.cut.val() || self.parted.val() || self.used_up.val();
        self.cut_queues.set_index.next = self.at.q.val().queue;
        self.cut_queues.clear_valid.next = self.wipe_valid.val()
            || (self.at.q.val().first
                && !self.judged.q.val()
                && self.at.q.val().fresh
                && self.busy.q.val());
        self.cut_queues.clear_index.next = self.at.q.val().queue;
        self.cut_queues.wipe_valid.next = self.wipe_valid.val();
        if self.wipe_valid.val() {
            self.cut_queues.clear_index.next = self.wipe_index.val();
        }
        self.cut_queues.ahead[0].next = self.at.d.val().queue;
        self.cut_turn.valid.next = self.cut.val() || self.parted.val() || self.used_up.val();
        self.cut_turn.queue.next = self.at.q.val().queue;
        self.cut_turn.life.next = self.at.q.val().life;
        self.cut_turn.position.next = self.at.q.val().position;
        self.cut_turn.length.next = self.turns.length.val();
        self.cut_turn.slow.next = self.turns.slow.val();
        self.cut_turn.had.next = self.turns.had.val();
        self.cut_turn.part.next = 0.into();
        self.cut_turn.last_part.next = false;
        self.cut_turn.used_up.next = self.used_up.val();
        self.cut_turn.after_parts.next = self.at.q.val().kept;
        if self.used_up.val() {
            self.cut_turn.position.next = self.at.q.val().position + 1;
            self.cut_turn.length.next = 0.into();
            self.cut_turn.slow.next = false;
        }
        if self.parts.pauses.val() {
            // The position of the entry's first block.
            self.cut_turn.position.next = self.at.q.val().position - 1;
            self.cut_turn.length.next = 0.into();
            self.cut_turn.slow.next = false;
            self.cut_turn.part.next = self.parts.next_part.val();
            self.cut_turn.last_part.next = self.parts.next_is_last.val();
        }

        self.next_queue.next = self.at.d.val().queue;
        self.entries.read_address.next = self.at.d.val().queue;

        self.beside.next.queue = self.at.q.val().queue;
        self.beside.next.position = self.at.q.val().position;
        self.beside.next.remaining = self.at.q.val().remaining;
        self.beside.next.error = self.unread.val();
        self.beside.next.begins = self.at.q.val().first;
        self.part.next.first = self.at.q.val().part;
        self.part.next.log_units = self.at.q.val().log_units;
        self.part.next.pauses = self.parts.pauses.val();
        self.beside.next.part = self.part.val();
        self.beside_in.record.next = self.beside.val();
        self.merged.low.next = self.block.val();
        self.merged.high.next = self.beside_in.bits.val();
        self.slice.in_valid.next = self.offered.val() && self.leaves.val();
        self.slice.in_data.next = self.merged.whole.val();
        self.slice.out_ready.next = self.wqe_ready.val();
        self.wqe_valid.next = self.slice.out_valid.val();
        self.wqe_data.next = self.slice.out_data.val().get_bits::<512>(0);
        self.beside_out.bits.next = self.slice.out_data.val().get_bits::<SIDE>(512);
        self.left_block.next = self.beside_out.record.val();
        self.wqe_queue.next = self.left_block.val().queue;
        self.wqe_position.next = self.left_block.val().position;
        self.wqe_remaining.next = self.left_block.val().remaining;
        self.wqe_error.next = self.left_block.val().error;
        self.wqe_begins.next = self.left_block.val().begins;
        self.wqe_part.next = self.left_block.val().part;

        // What the slice passes on at once belongs to a read that is `busy`.
        self.at_work.next =
            self.reads.count.val().any() || self.busy.q.val() || !self.slice.in_ready.val();
    }
}
