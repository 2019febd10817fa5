//! The turn of a queue, from its choice to its last read.

use super::super::{LENGTH, LOG_PROBE, PART_BLOCKS, PROBE_BLOCKS, Queue, QueueState};
use drdma_emit::prelude::*;

impl Queue {
    /// Cuts the next read: 16 blocks, or the rest of the ring or of the turn.
    #[hdl_gen]
    pub(super) fn measure_read(&mut self) {
        self.wanted.next = self.left.q.val();
        if self.state.q.val() == QueueState::Judge {
            self.wanted.next = self.difference.q.val().get_bits::<17>(0);
        }
        self.to_end.next = 16.into();
        if !self.behind.q.val().get_bits::<13>(4).any() {
            self.to_end.next = self.behind.q.val().get_bits::<5>(0) + 1;
        }
        self.most.next = self.to_end.val();
        if !self.wanted.val().get_bits::<13>(4).any()
            && (self.wanted.val().get_bits::<5>(0) < self.to_end.val())
        {
            self.most.next = self.wanted.val().get_bits::<5>(0);
        }
        self.few.next = self.most.val();
        if self.most.val().get_bits::<3>(LOG_PROBE).any() {
            self.few.next = PROBE_BLOCKS.into();
        }
    }

    /// Chooses the queue that has a turn.
    #[hdl_gen]
    pub(super) fn choose(&mut self) {
        self.doorbells.output.ready.next =
            !self.takes_cut.val() && !self.takes_rest.val() && !self.takes_parked.val();
        self.parked.output.ready.next = self.takes_parked.val();
        if self.waits.q.val() {
            self.doorbells.output.ready.next = false;
        }
        self.rests.output.ready.next = self.takes_rest.val();
        self.cuts.output.ready.next = self.takes_cut.val();
        self.is_rest.d.next = self.takes_rest.val();
        self.is_cut.d.next = self.takes_cut.val();
        self.resumes.d.next = (self.takes_cut.val() && self.cuts.output.data.val().part.any())
            || (self.takes_parked.val() && self.parked.output.data.val().resumes);
        self.part.d.next = self.cuts.output.data.val().part;
        self.last_part.d.next = self.cuts.output.data.val().last_part;
        self.used_up.d.next = self.takes_cut.val() && self.cuts.output.data.val().used_up;
        self.after_parts.d.next = self.cuts.output.data.val().after_parts;
        self.known.d.next = self.takes_cut.val()
            || self.takes_rest.val()
            || self.takes_parked.val()
            || self.waits.q.val();
        self.cut_from.d.next = self.cuts.output.data.val().position;
        self.cut_length.d.next = self.cuts.output.data.val().length;
        self.cut_slow.d.next = self.cuts.output.data.val().slow;
        self.cut_had.d.next = self.cuts.output.data.val().had;
        self.aborted.d.next = false;
        self.target.d.next = self.next.val().target;
        self.queue.d.next = self.next.val().queue;
        if self.takes_cut.val() || self.takes_rest.val() {
            if self.takes_rest.val() && self.rests.output.data.val().heard {
                self.heard_rests.d.next = self.heard_rests.q.val() - 1;
            }
            self.rest_before.d.next = self.takes_rest.val();
            self.state.d.next = QueueState::Compare;
        } else if self.waits.q.val() && !self.takes_parked.val() {
            if self.takes_waiting.val() {
                self.waits.d.next = false;
                self.state.d.next = QueueState::Compare;
            }
        } else if self.doorbells.output.valid.val() || self.takes_parked.val() {
            if self.takes_parked.val() && self.parked.output.data.val().deferred {
                self.deferred.d.next = self.deferred.q.val() - 1;
            }
            if self.takes_parked.val() && self.parked.output.data.val().resumes {
                self.midways.d.next = self.midways.q.val() - 1;
                if self.parked.output.data.val().heard {
                    self.heard_midways.d.next = self.heard_midways.q.val() - 1;
                }
            }
            self.rest_before.d.next = false;
            self.turn.d.next = self.turn.q.val() + 1;
            self.state.d.next = QueueState::Compare;
        }
    }

    /// Takes the queue's entry, and how far its batch goes.
    #[hdl_gen]
    pub(super) fn compare(&mut self) {
        self.base.d.next = self.rings.addr.val();
        self.blocks.d.next = self.entry_blocks.val();
        self.offset.d.next = self.from.val().get_bits::<17>(0) & (self.entry_blocks.val() - 1);
        self.behind.d.next = !self.from.val().get_bits::<17>(0) & (self.entry_blocks.val() - 1);
        self.position.d.next = self.from.val();
        self.target.d.next = self.goal.val();
        self.difference.d.next = self.goal.val() - self.from.val();
        self.rest_adds.d.next = self.standing.val().target - self.standing.val().position;
        self.was_queued.d.next = self.standing.val().queued && !self.is_rest.q.val();
        self.fresh.d.next = self.standing.val().fresh || self.is_cut.q.val();
        self.midway.d.next = self.standing.val().midway;
        if self.is_cut.q.val() {
            self.midway.d.next = self.resumes.q.val();
        } else {
            self.part.d.next = self.standing.val().part;
            self.last_part.d.next = self.standing.val().last_part;
        }
        self.state.d.next = QueueState::Judge;
    }

    /// Decides whether the queue has a turn, waits, or is done with; and which blocks it reads.
    #[hdl_gen]
    pub(super) fn judge(&mut self) {
        self.remaining.d.next = self.difference.q.val().get_bits::<17>(0);
        self.left.d.next = self.difference.q.val().get_bits::<17>(0);
        self.first.d.next = true;
        self.shared.d.next = self.parking.is_shared.val();
        self.silent.d.next = self.parking.silent.val();
        self.tries.d.next = self.parking.silent.val() && !self.parking.tried.val();
        self.limited.d.next = false;
        self.splits.d.next = self.parking.splits.val();
        self.log_units.d.next = self.parking.log_units.val();
        self.cut.d.next = self.most.val();
        self.cut_addr.d.next = self.base.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
        self.kept.d.next = self.resumes.q.val();
        self.told.d.next = false;
        self.has_rest.d.next = false;
        if self.resumes.q.val() {
            // The turn has only the blocks of this entry.
            self.left.d.next = PART_BLOCKS.into();
            self.cut.d.next = PART_BLOCKS.into();
        } else if self.probes.val() {
            self.left.d.next = bit_cast::<17, 5>(self.few.val());
            self.cut.d.next = self.few.val();
        } else if self.limits.val() {
            self.left.d.next = bit_cast::<17, LENGTH>(self.share.size.val());
        }
        if self.gone.q.val() {
            self.state.d.next = QueueState::Idle;
        } else if self.goes_on.val()
            && (self.difference.q.val() > bit_cast::<32, 17>(self.blocks.q.val()))
        {
            // The doorbell is for more blocks than the ring holds, beyond those that have been fetched for good.
            self.difference.d.next = bit_cast::<32, 17>(self.blocks.q.val());
            self.target.d.next = self.position.q.val() + bit_cast::<32, 17>(self.blocks.q.val());
        } else if !self.difference.q.val().any()
            || (self.difference.q.val() > bit_cast::<32, 17>(self.blocks.q.val()))
        {
            self.state.d.next = QueueState::Idle;
            if self.is_rest.q.val() || self.used_up.q.val() {
                self.state.d.next = QueueState::Finish;
            }
        } else if !self.goes_on.val() && (self.was_queued.q.val() || self.midway.q.val()) {
            // The doorbell only extends the rest that waits.
            self.state.d.next = QueueState::Idle;
            if self.difference.q.val() > self.rest_adds.q.val() {
                self.state.d.next = QueueState::Finish;
            }
        } else if self.is_rest.q.val() && self.midway.q.val() {
            // The rest ends: entries behind the message are fetched with its last part.
            self.state.d.next = QueueState::Finish;
        } else if self.parking.is_shared.val() && self.must_wait.val() {
            self.waits.d.next = true;
            self.waiting.d.next.target = self.target.q.val();
            self.waiting.d.next.queue = self.queue.q.val();
            self.waiting.d.next.life = self.life.q.val();
            self.state.d.next = QueueState::Idle;
        } else if (self.is_held.val()
            || self.defers.val()
            || (self.resumes.q.val() && self.parts_full.val()))
            && self.parked.input.ready.val()
        {
            self.parked.input.valid.next = true;
            if self.defers.val() && !self.is_held.val() {
                self.deferred.d.next = self.deferred.q.val() + 1;
            }
            if self.resumes.q.val() {
                self.midways.d.next = self.midways.q.val() + 1;
                if !self.parking.silent.val() {
                    self.heard_midways.d.next = self.heard_midways.q.val() + 1;
                }
            }
            self.state.d.next = QueueState::Idle;
            if self.is_rest.q.val() || self.is_cut.q.val() {
                self.state.d.next = QueueState::Finish;
            }
        } else if self.resumes.q.val() {
            // Behind the last part others have their turns; if there are none, the queue goes on when that part
            // was taken.
            self.parking.tries.next = self.parking.silent.val();
            self.limited.d.next = true;
            if self.last_part.q.val() && self.crowds.val() {
                self.midway.d.next = false;
                self.has_rest.d.next = self.goes_beyond.val();
            } else {
                // If it is the last part after all, because the queue pair's packets are longer now, the queue
                // does not wait for another.
                self.told.d.next = true;
            }
            self.state.d.next = QueueState::Request;
        } else if self.probes.val() {
            self.parking.tries.next = self.parking.silent.val();
            self.limited.d.next = true;
            self.told.d.next = true;
            self.midway.d.next = true;
            self.state.d.next = QueueState::Request;
        } else if self.limits.val() {
            self.midway.d.next = false;
            self.parking.tries.next = self.parking.silent.val();
            self.limited.d.next = true;
            self.has_rest.d.next = true;
            self.state.d.next = QueueState::Cut;
        } else {
            self.midway.d.next = false;
            self.parking.tries.next = self.parking.silent.val();
            self.state.d.next = QueueState::Request;
        }
    }

    /// Requests the read of blocks.
    #[hdl_gen]
    pub(super) fn request(&mut self) {
        // A queue alone leaves a quarter of the places to others that come.
        self.may_read.next = self.batches.read.ready.val()
            && (self.limited.q.val() || self.shared.q.val() || self.batches.few.val());
        self.read_req_valid.next = self.may_read.val() && !self.kept.q.val();
        if self.may_read.val() && (self.kept.q.val() || self.read_req_ready.val()) {
            self.batches.read.valid.next = true;
            self.first.d.next = false;
            self.position.d.next = self.position.q.val() + bit_cast::<32, 5>(self.cut.q.val());
            self.remaining.d.next = self.remaining.q.val() - bit_cast::<17, 5>(self.cut.q.val());
            self.left.d.next = self.left.q.val() - bit_cast::<17, 5>(self.cut.q.val());
            self.fresh.d.next = false;
            if self.left.q.val() == bit_cast::<17, 5>(self.cut.q.val()) {
                self.state.d.next = QueueState::Finish;
            } else {
                self.state.d.next = QueueState::Measure;
            }
        }
    }

    /// Writes where the queue stands after the turn.
    #[hdl_gen]
    pub(super) fn finish(&mut self) {
        // A queue that was enabled anew keeps its new position.
        if !self.cfg_enable.val() {
            self.state.d.next = QueueState::Idle;
            self.standings.write_lanes.next = bit_cast::<1, 1>(self.lives_on.val().into());
            self.standings.write_address.next = self.queue.q.val();
            self.new_standing.next.position = self.position.q.val();
            self.new_standing.next.target = self.target.q.val();
            self.new_standing.next.queued = self.was_queued.q.val() || self.leaves_rest.val();
            self.new_standing.next.fresh = self.fresh.q.val();
            self.new_standing.next.pace = self.share.pace_now.val();
            self.new_standing.next.midway = self.midway.q.val();
            self.new_standing.next.part = self.part.q.val();
            self.new_standing.next.last_part = self.last_part.q.val();
            self.rests.input.valid.next =
                self.lives_on.val() && self.leaves_rest.val() && !self.was_queued.q.val();
            if self.lives_on.val()
                && self.leaves_rest.val()
                && !self.was_queued.q.val()
                && !self.silent.q.val()
            {
                self.heard_rests.d.next = self.heard_rests.q.val() + 1;
            }
        }
    }
}
