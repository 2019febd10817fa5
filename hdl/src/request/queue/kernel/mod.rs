//! The logic of the queue. Its parts stand in files by what they do.

mod blocks;
mod standing;
mod turn;
mod waiting;

use super::{Queue, QueueState};
use drdma_emit::prelude::*;

impl Logic for Queue {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_entry_words();
        self.take_doorbell();
        self.park();
        self.keep_rests();
        self.read_entry();
        self.enable_standing();
        self.judge_share();
        self.measure_read();
        self.doorbells.output.ready.next = false;
        self.read_req_valid.next = false;
        self.may_read.next = false;
        self.batches.read.valid.next = false;
        match self.state.q.val() {
            QueueState::Idle => self.choose(),
            QueueState::Compare => self.compare(),
            QueueState::Judge => self.judge(),
            QueueState::Measure => {
                self.offset.d.next =
                    self.position.q.val().get_bits::<17>(0) & (self.blocks.q.val() - 1);
                self.behind.d.next =
                    !self.position.q.val().get_bits::<17>(0) & (self.blocks.q.val() - 1);
                self.state.d.next = QueueState::Cut;
                if self.aborted.q.val() {
                    self.state.d.next = QueueState::Finish;
                }
            }
            QueueState::Cut => {
                self.cut.d.next = self.most.val();
                self.cut_addr.d.next =
                    self.base.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
                self.state.d.next = QueueState::Request;
            }
            QueueState::Request => self.request(),
            QueueState::Finish => self.finish(),
        }
        self.standing_in.record.next = self.new_standing.val();
        self.standings.write_data.next = self.standing_in.bits.val();
        self.read_req_addr.next = self.cut_addr.q.val();
        self.read_req_bytes.next = bit_cast::<13, 5>(self.cut.q.val()) << 6;

        self.give_blocks();

        self.busy.next = self.doorbells.output.valid.val()
            || self.parked.count.val().any()
            || self.rests.output.valid.val()
            || self.is_cutting.q.val()
            || self.cuts.output.valid.val()
            || self.waits.q.val()
            || (self.state.q.val() != QueueState::Idle)
            || self.batches.at_work.val();

        if self.rst.val() {
            self.state.d.next = QueueState::Idle;
            self.rung.d.next = false;
            self.turn.d.next = 0.into();
            self.waits.d.next = false;
            self.is_cutting.d.next = false;
            self.deferred.d.next = 0.into();
            self.heard_rests.d.next = 0.into();
            self.midways.d.next = 0.into();
            self.heard_midways.d.next = 0.into();
        }
        self.parking.next_queue.next = self.queue.d.val();
        self.fetch_next.next = self.queue.d.val();
        self.lives.ahead[1].next = self.queue.d.val();
    }
}
