//! The logic of the lister, state by state. Its parts stand in the other files of this folder.

use super::{KEPT_LOG_CHUNK, LENGTH, Lister, ListerState, PROTECTION};
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Logic for Lister<RECORDS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.look_at_request();
        self.look_at_region();
        self.look_at_room();
        self.look_at_turn();
        self.look_at_position();
        self.look_at_plan();
        self.look_at_column();
        self.look_at_lead();
        self.look_at_stream();
        self.find_next_region();
        self.count_bytes();
        self.tell_finder();
        self.look_at_head();
        self.look_behind();
        self.size_chunk();
        self.want_group();
        self.want_value();
        // A failure that the giver found takes precedence over one that the lister found itself.
        if self.refused.val() {
            self.status.next = PROTECTION.into();
            if self.too_long.val() {
                self.status.next = LENGTH.into();
            }
            self.bad_dest.next =
                (self.refused_dest.val() - self.first_now.val()).get_bits::<DEST_COUNT>(0);
        }

        match self.state.q.val() {
            ListerState::Idle => self.take_request(),
            ListerState::ListRead => {
                self.state.d.next = ListerState::List;
            }
            ListerState::List => self.take_list(),
            ListerState::Look => {
                self.state.d.next = ListerState::Looked;
                if !self.is_listed.val() {
                    self.state.d.next = ListerState::DestRead;
                }
            }
            ListerState::Looked => self.go_on_looking(),
            ListerState::DestRead => self.read_destination(),
            ListerState::NextDest => self.take_next(),
            ListerState::NextLanes => self.look_at_next_lanes(),
            ListerState::NextPlanned => self.take_next_plan(),
            ListerState::NextRegion => self.go_on_ahead(),
            ListerState::Return => {
                self.state.d.next = ListerState::Back;
            }
            ListerState::Back => self.take_back(),
            ListerState::GoOn => {
                self.passes.next = true;
                self.reopens.next = true;
            }
            ListerState::Dest => self.take_destination(),
            ListerState::Head => self.announce(),
            ListerState::Survey => self.survey(),
            ListerState::Region => self.take_region(),
            ListerState::Lanes => self.look_at_lanes(),
            ListerState::Planned => self.take_plan(),
            ListerState::Rows => self.ask_rows(),
            ListerState::Bits => self.load_bits(),
            ListerState::Place => self.store_place(),
            ListerState::RegionEnd => self.end_region(),
            ListerState::DestEnd => self.end_rows(),
            ListerState::MessageEnd => self.end_message(),
            ListerState::Keep => self.keep(),
            ListerState::Recall => self.recall(),
            ListerState::Last => self.end_destination(),
            ListerState::Next => self.next_destination(),
            ListerState::Settle => self.settle(),
            ListerState::Judged => self.await_start(),
            ListerState::Finish => {
                self.finish();
                if self.restarts.val() {
                    self.restart();
                }
            }
        }
        self.pass_turn();
        self.leave_next();
        // A refusal ends the walk.
        if self.refused.val()
            && ((self.state.q.val() == ListerState::Region)
                || (self.state.q.val() == ListerState::Rows)
                || (self.state.q.val() == ListerState::DestRead))
        {
            self.state.d.next = ListerState::Finish;
        }
        self.look_at_kept();
        self.stream();
        if (self.state.q.val() == ListerState::DestRead) && self.for_next.q.val() {
            self.dest_read.next = self.next_first_dest.val();
        }
        // A region is read in the cycle before it is needed.
        self.set_read.next = self.set.d.val();
        if self.state.q.val() == ListerState::ListRead {
            self.dest_read.next =
                self.scout_first.val() + bit_cast::<10, DEST_COUNT>(self.scout.q.val());
        } else if self.state.q.val() == ListerState::Looked {
            self.dest_read.next =
                self.scout_first.val() + bit_cast::<10, DEST_COUNT>(self.scout_after.val());
        }
        if self.rst.val() {
            self.state.d.next = ListerState::Idle;
            self.has_next.d.next = false;
            self.for_next.d.next = false;
            self.upper.d.next = false;
            self.has_early.d.next = 0.into();
            self.ahead.d.next = false;
            self.sending.d.next = false;
            self.abandons.d.next = false;
            self.hopeless.d.next = false;
            self.streamed.d.next = false;
            self.returns.d.next = false;
            self.has_begun.d.next = false;
            self.streaming.d.next = false;
            self.is_sent.d.next = false;
            self.log_last.d.next = KEPT_LOG_CHUNK.into();
        }
        self.upper_now.d.next = self.upper.d.val() ^ self.for_next.d.val();
    }
}
