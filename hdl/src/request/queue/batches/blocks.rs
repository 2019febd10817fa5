//! Blocks: which one is offered, and where its turn ends.

use super::{Batches, FIRST_BLOCK, LANE, SECOND_BLOCK};
use drdma_emit::prelude::*;

impl Batches {
    /// The block that is offered.
    #[hdl_gen]
    pub(super) fn offer(&mut self) {
        self.entries.read_enable.next = true;
        self.offered.next = self.busy.q.val() && (self.resp_valid.val() || self.at.q.val().kept);
        self.block.next = self.resp_data.val();
        self.unread.next = self.resp_error.val();
        self.last.next = self.resp_last.val();
        if self.at.q.val().kept {
            self.block.next = self.entries.read_data.val().get_bits::<512>(0);
            if self.second.q.val() {
                self.block.next =
                    bit_cast::<512, LANE>(self.entries.read_data.val().get_bits::<LANE>(512));
            }
            self.unread.next = false;
            self.last.next = self.second.q.val();
        }
    }

    /// Finds the block with which the turn ends.
    #[hdl_gen]
    pub(super) fn end_turn(&mut self) {
        self.turns.offered.next = self.offered.val();
        self.turns.granules.next = self.block.val().get_bits::<32>(self.granules_at.val().index());
        self.turns.unread.next = self.unread.val();
        self.turns.remaining.next = self.at.q.val().remaining;
        self.turns.left.next = self.at.q.val().left;
        self.turns.limited.next = self.at.q.val().limited;
        self.turns.others.next =
            !self.at.q.val().shared && (self.others.q.val().any() || self.blocked.val());
        self.most.next = self.limit.val();
        if self.at.q.val().tries {
            self.most.next = 1.into();
        }
        self.turns.limit.next = self.most.val();
    }

    /// Finds the entries that are sent in parts.
    #[hdl_gen]
    pub(super) fn find_parts(&mut self) {
        self.parts.offered.next = self.offered.val();
        self.parts.head.next = self.block.val().get_bits::<128>(0);
        self.parts.read_head.next = self.resp_data.val().get_bits::<128>(0);
        self.parts.dest.next = self.block.val().get_bits::<256>(256);
        self.parts.unread.next = self.unread.val();
        self.parts.heads.next = self.turns.heads.val();
        self.parts.splits.next = self.at.q.val().splits;
        self.parts.shared.next = self.at.q.val().shared;
        self.parts.lone.next = self.at.q.val().remaining == 1;
        self.parts.part.next = self.at.q.val().part;
        self.parts.log_units.next = self.at.q.val().log_units;
        self.looking.next = self.turns.looking.val() || self.parts.looking.val();

        self.open.next = self.busy.q.val() && (!self.at.q.val().first || self.judged.q.val());
        self.leaves.next = self.open.val()
            && !self.dropping.q.val()
            && !self.looking.val()
            && !self.turns.ends.val();
        self.cut.next = self.offered.val()
            && self.open.val()
            && !self.dropping.q.val()
            && !self.looking.val()
            && self.turns.ends.val();
        self.resp_ready.next = !self.at.q.val().kept
            && ((self.open.val()
                && (self.dropping.q.val() || (!self.looking.val() && self.turns.ends.val())))
                || (self.leaves.val() && self.slice.in_ready.val()));
        self.left.next = self.offered.val() && self.leaves.val() && self.slice.in_ready.val();
        self.take.next = self.left.val()
            || (self.offered.val()
                && self.open.val()
                && (self.dropping.q.val() || (!self.looking.val() && self.turns.ends.val())));
        self.turns.taken.next = self.left.val();
        self.parts.taken.next = self.left.val();
        self.parted.next = self.left.val() && self.parts.pauses.val();
        self.used_up.next = self.left.val()
            && self.at.q.val().told
            && (self.at.q.val().left == 1)
            && !self.parts.pauses.val();
        self.done.next = self.take.val() && self.last.val();
        self.entry.low.next = self.resp_data.val();
        self.entry.high.next = self.resp_data.val().get_bits::<LANE>(0);
        self.entries.write_address.next = self.at.q.val().queue;
        self.entries.write_data.next = self.entry.whole.val();
        self.entries.write_lanes.next = 0.into();
        if self.left.val() && !self.at.q.val().kept {
            if self.turns.heads.val() {
                self.entries.write_lanes.next = FIRST_BLOCK.into();
            } else if self.parts.pauses.val() {
                self.entries.write_lanes.next = SECOND_BLOCK.into();
            }
        }
        self.load.next = self.reads.output.valid.val() && (!self.busy.q.val() || self.done.val());
        self.reads.output.ready.next = !self.busy.q.val() || self.done.val();
        self.turns.begins.next = self.load.val() && self.reads.output.data.val().read.first;
        self.parts.begins.next = self.load.val() && self.reads.output.data.val().read.first;
        self.turns.goes_on.next =
            !self.reads.output.data.val().read.fresh && !self.reads.output.data.val().other;

        if self.at.q.val().first {
            self.judged.d.next = true;
            self.dropping.d.next = (self.life_now.val() != self.at.q.val().life)
                || self.queue_halted.val()
                || (self.cut_queues.flag[0].val() && !self.at.q.val().fresh);
        }
        if self.take.val() {
            self.second.d.next = true;
            self.at.d.next.first = false;
            self.dropping.d.next = self.dropping.q.val() || self.cut.val() || self.parted.val();
            self.at.d.next.left = self.at.q.val().left - 1;
            self.at.d.next.position = self.at.q.val().position + 1;
            self.at.d.next.remaining = self.at.q.val().remaining - 1;
        }
        if self.done.val() {
            self.busy.d.next = false;
        }
        if self.load.val() {
            self.busy.d.next = true;
            self.at.d.next = self.reads.output.data.val().read;
            self.second.d.next = false;
            self.judged.d.next = false;
        }
    }
}
