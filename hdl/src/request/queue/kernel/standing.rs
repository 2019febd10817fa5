//! State of the queue at work: its entry, its position, and the length of its turn.

use super::super::{LENGTH, LOG, PART_BLOCKS, Queue, QueueState};
use crate::context::QUEUE;
use drdma_emit::prelude::*;

impl Queue {
    /// Takes the words that the host writes into send queues' entries.
    #[hdl_gen]
    pub(super) fn take_entry_words(&mut self) {
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.cfg_enable.next = self.select.enable.val();
        self.rings.selected.next = self.select.send_queue.val();
        self.rings.word.next = self.cfg_word.val();
        self.rings.index.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.rings.data.next = self.cfg_data.val();
        self.lives.written.next = self.cfg_enable.val();
        self.lives.index.next = self.cfg_index.val().get_bits::<QUEUE>(0);
    }

    /// The entry of the queue that is at work in the next cycle.
    #[hdl_gen]
    pub(super) fn read_entry(&mut self) {
        self.next.next.target = self.doorbells.output.data.val().position;
        self.next.next.queue = self.doorbells.output.data.val().queue;
        self.next.next.life = self.life.q.val();
        if self.takes_parked.val() {
            self.next.next = self.parked.output.data.val().doorbell;
        }
        if self.takes_waiting.val() {
            self.next.next = self.waiting.q.val();
        }
        if self.takes_rest.val() {
            self.next.next.queue = self.rests.output.data.val().queue;
            self.next.next.life = self.rests.output.data.val().life;
        }
        if self.takes_cut.val() {
            self.next.next.queue = self.cuts.output.data.val().queue;
            self.next.next.life = self.cuts.output.data.val().life;
        }
        self.entry.next = self.queue.q.val();
        if self.state.q.val() == QueueState::Idle {
            self.entry.next = self.next.val().queue;
        }
        self.rings.ahead.next = self.entry.val();
        self.standings.read_enable.next = true;
        self.standings.read_address.next = self.entry.val();
        self.standing_out.bits.next = self.standings.read_data.val();
        self.standing.next = self.standing_out.record.val();
        self.life_then.next = self.life.q.val();
        self.doorbell_lives.out_ready.next = false;
        if (self.state.q.val() == QueueState::Compare) && !self.known.q.val() {
            self.life_then.next = self.doorbell_lives.out_data.val();
            self.doorbell_lives.out_ready.next = true;
        }
        self.life.d.next = self.life_then.val();
        if self.state.q.val() == QueueState::Idle {
            self.life.d.next = self.next.val().life;
        }
        self.gone.d.next =
            (self.lives.stamp[1].val() != self.life_then.val()) || self.fetch_halted.val();
    }

    /// A queue that is enabled stands at position 0, and its first turn is fresh.
    #[hdl_gen]
    pub(super) fn enable_standing(&mut self) {
        self.standings.write_lanes.next = bit_cast::<1, 1>(self.cfg_enable.val().into());
        self.standings.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.new_standing.next.position = 0.into();
        self.new_standing.next.target = 0.into();
        self.new_standing.next.queued = false;
        self.new_standing.next.fresh = true;
        self.new_standing.next.pace = 0.into();
        self.new_standing.next.midway = false;
        self.new_standing.next.part = 0.into();
        self.new_standing.next.last_part = false;
    }

    /// Computes the state of the queue, the position at which it goes on, and the length of its turn.
    #[hdl_gen]
    pub(super) fn judge_share(&mut self) {
        self.unused_log.next = self.rings.log.val();
        self.entry_blocks.next = self.one.val() << self.rings.log.val().get_bits::<LOG>(0);
        // State of the queue, position at which it goes on, and length of its turn.
        self.from.next = self.standing.val().position;
        self.goal.next = self.target.q.val();
        self.goes_on.next = self.is_rest.q.val() || self.is_cut.q.val() || self.resumes.q.val();
        if self.goes_on.val() {
            self.goal.next = self.standing.val().target;
        }
        if self.is_cut.q.val() {
            self.from.next = self.cut_from.q.val();
        }
        // Deferred queues will have turns as well: no more is fetched for this queue than it may have then.
        self.behind_turns.next = self.rests.count.val() + self.deferred.q.val();
        self.share.rests.next = self.behind_turns.val();
        self.share.doorbells.next = self.doorbells.count.val();
        self.share.elsewhere.next = self.doorbells.output.data.val().queue != self.queue.q.val();
        self.share.behind.next = self.batches.wholes_behind.val();
        self.share.other.next = self.batches.behind.val()
            || (self.batches.reading.val() && (self.batches.queue_now.val() != self.queue.q.val()));
        self.share.judges.next = self.state.q.val() == QueueState::Compare;
        self.share.idle.next = self.standing.val().position == self.standing.val().target;
        self.share.pace.next = self.standing.val().pace;
        // Neither a part nor a turn that was used up changes the length of later turns.
        self.share.is_cut.next =
            self.is_cut.q.val() && !self.resumes.q.val() && !self.used_up.q.val();
        self.share.cut_slow.next = self.cut_slow.q.val();
        self.share.cut_length.next = self.cut_length.q.val();
        self.share.cut_had.next = self.cut_had.q.val();
        self.leaves_rest.next = self.has_rest.q.val() && !self.aborted.q.val();
        self.lives_on.next = self.lives.stamp[1].val() == self.life.q.val();
        self.crowds.next = self.share.crowded.val() && self.rests.input.ready.val();
        self.goes_beyond.next = (self.difference.q.val() ^ PART_BLOCKS).any();
        // Behind a message in parts there may be another one: then entries fetched behind it would be fetched again.
        self.probes.next =
            self.used_up.q.val() && self.after_parts.q.val() && !self.share.crowded.val();
        self.limits.next = self.crowds.val()
            && !self.parking.is_shared.val()
            && (self.difference.q.val() > bit_cast::<32, LENGTH>(self.share.size.val()));
    }
}
