//! The logic of the boxes, state by state. Its parts stand in files by what they do.

use super::{Boxes, CutState};
use drdma_emit::prelude::hdl_gen;
use drdma_emit::prelude::*;

impl Logic for Boxes {
    #[hdl_gen]
    fn update(&mut self) {
        self.pace.bits.next = self.pace_bits.q.val();
        self.unused.next = self.pace.record.val();
        self.len.next = bit_cast::<8, 7>(self.pace.record.val().len);
        self.from_row.next =
            (bit_cast::<20, 12>(self.block.q.val()) << 6) | bit_cast::<20, 6>(self.from.q.val());
        self.to_row.next =
            (bit_cast::<20, 12>(self.block.q.val()) << 6) | bit_cast::<20, 6>(self.to.q.val());

        self.compare();
        self.find_limit();
        self.count_rows();

        // One box may be on its way into the queue.
        self.room_for.next = self.queue.free.val() > 1;
        self.send.next = false;
        self.goes_on.next = false;
        self.cut_end.next = false;
        self.done.next = false;
        self.end_row.next = bit_cast::<19, 18>(self.last_row.q.val());
        self.end_phase.next = bit_cast::<8, 7>(self.open_len.q.val());
        match self.state.q.val() {
            CutState::Run => self.take_run(),
            CutState::Probe => self.probe(),
            CutState::Split => self.split(),
            CutState::Far => self.skip_far(),
            CutState::Reach => {
                self.close.d.next = !self.distance.q.val().get_bits::<14>(6).any();
                self.state.d.next = CutState::Tail;
            }
            CutState::Tail => {
                self.tail.d.next = self.close.q.val()
                    && (self.far.product.val() < bit_cast::<14, 8>(self.room.q.val()));
                self.state.d.next = CutState::Cut;
            }
            CutState::Cut => self.cut(),
            CutState::Start => self.start(),
            CutState::End => self.end_run(),
        }
        if self.cut_end.val() {
            // The box ends at its limit, and the next one starts there, with a line.
            self.send.next = true;
            self.goes_on.next = !self.at_page.val();
            self.open_row.d.next = self.limit_row.q.val().get_bits::<19>(0);
            self.open_phase.d.next = self.limit_phase.q.val();
            self.limit_row.d.next = self.sum_row.val();
            self.limit_phase.d.next = self.sum.val().get_bits::<8>(0);
            if bit_cast::<9, 8>(self.pace.record.val().step) < self.sum.val() {
                self.limit_row.d.next = self.sum_row.val() + 1;
                self.limit_phase.d.next = (self.sum.val()
                    - bit_cast::<9, 8>(self.pace.record.val().step))
                .get_bits::<8>(0);
            }
            if self.at_page.val() {
                self.page_row.d.next = self.next_page_row.val();
                self.page_phase.d.next = self.next_page_phase.val();
            }
            self.resume.d.next = true;
            self.state.d.next = CutState::Run;
        }
        self.free.next = !self.valid.q.val();
        if self.done.val() {
            self.last_row.d.next = self.to_row.val().get_bits::<18>(0);
            self.slack.d.next = self.to_row.val() + bit_cast::<20, 13>(self.pace.record.val().near);
            self.resume.d.next = false;
            if self.last.q.val() {
                self.state.d.next = CutState::End;
            } else {
                self.valid.d.next = false;
                self.free.next = true;
            }
        }

        self.follow();

        if self.rst.val() {
            self.state.d.next = CutState::Run;
            self.valid.d.next = false;
            self.open.d.next = false;
            self.resume.d.next = false;
            self.sent_valid.d.next = false;
        }
    }
}
