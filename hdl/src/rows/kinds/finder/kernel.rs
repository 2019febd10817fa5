//! The logic of the finder, state by state. Its parts stand in the other files of this folder.

use super::{Finder, FinderState, LOG_LINES, WINDOW};
use crate::request::{BITMAPPED, POINTER_MAPPED};
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Logic for Finder<RECORDS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_ids.next = self.info.val().ids.any();
        self.is_bits.next = (self.info.val().kind == BITMAPPED) && !self.is_ids.val();
        self.is_pointers.next = self.info.val().kind == POINTER_MAPPED;
        self.is_chain.next = self.is_pointers.val() && self.kinds.val().chase;
        self.has_list.next = self.is_ids.val() || self.is_bits.val() || self.is_pointers.val();
        self.unused.next = self.info.val().fetch
            || self.info.val().starts.any()
            || self.info.val().row_bytes.any()
            || self.kinds.val().pd.any();

        self.follow_chains();
        self.count_rows();
        self.find_block();
        self.look_up_windows();
        self.run_ahead();
        self.take_lines();
        self.look_at_block();
        self.compare();
        self.advance();
        self.leave();
        self.give_record();
        match self.state.q.val() {
            FinderState::Flow => self.flow(),
            FinderState::Ask => {
                if self.goes.val() && self.asks_link.val() {
                    self.state.d.next = FinderState::Come;
                }
            }
            FinderState::Come => self.come(),
            FinderState::Unread => {
                // The next request leaves this state.
                self.known.d.next = false;
            }
        }

        self.run_on();
        self.word_from.next = self.from.val().word;
        if self.open.val() {
            self.replays.d.next = self.is_chain.val() && self.trail.kept.val();
            self.record_valid.d.next = false;
            self.row_valid.d.next = false;
            self.read_valid.d.next = false;
            self.next_valid.d.next = false;
            self.block_behind.d.next = false;
            self.word_behind.d.next = false;
            self.row_behind.d.next = false;
            self.block.d.next = self.from.val().block;
            self.next_lane.d.next = self.from.val().lane;
            self.known.d.next = self.from.val().known;
            self.word.d.next = self.from.val().word;
            self.has_rows.d.next = self.word_from.val().any();
            self.word_block.d.next = self.from.val().block - 1;
            self.passed.d.next = self.from.val().before;
            if self.fresh.val() {
                self.block.d.next = 0.into();
                self.next_lane.d.next = 0.into();
                self.known.d.next = false;
            }
        }
        if self.open.val() || self.peek.val() {
            self.seen.d.next = false;
            self.unread.d.next = false;
            self.ask_counts.d.next = false;
            self.run.d.next = self.from.val().block.get_bits::<WINDOW>(6);
            if self.is_ids.val() {
                self.run.d.next = self.from.val().block.get_bits::<WINDOW>(LOG_LINES);
            }
            if self.fresh.val() || self.peek.val() {
                self.run.d.next = 0.into();
            }
        }
        if self.peek.val() {
            self.block.d.next = 0.into();
        }
        if self.clear.val() {
            // Nothing is under way.
            self.present.d.next = self.present.q.val() & self.early.q.val();
            self.failed.d.next = self.failed.q.val() & self.early.q.val();
            self.early.d.next = 0.into();
            self.row_valid.d.next = false;
            self.state.d.next = FinderState::Flow;
        }

        self.has_row.next = self.row_valid.q.val() && !self.row_behind.q.val();
        self.valid.next = self.has_row.val() && !self.row_bad.q.val();
        self.bad.next = (self.row_valid.q.val() && self.row_bad.q.val())
            || (!self.row_valid.q.val()
                && (self.state.q.val() == FinderState::Unread)
                && (!self.chases.val()
                    || (!self.read_valid.q.val()
                        && !self.next_valid.q.val()
                        && self.chaser.empty.val())));
        self.is_list_dry.next = self.on.val()
            && (self.state.q.val() == FinderState::Flow)
            && !self.has_row.val()
            && (self.block_behind.q.val() || !self.more.val())
            && (!self.has_list.val()
                || ((self.over.val() || self.word_behind.q.val())
                    && (!self.read_valid.q.val() || self.read_behind.q.val())
                    && (!self.next_valid.q.val() || self.next_behind.q.val())));
        self.list_dry.next = self.is_list_dry.val();
        self.is_dry.next =
            self.is_list_dry.val() && (!self.chases.val() || self.chaser.empty.val());
        if self.replays.q.val() {
            self.is_dry.next = self.on.val()
                && !self.row_valid.q.val()
                && !self.record_valid.q.val()
                && !self.trail.more.val();
        }
        self.dry.next = self.is_dry.val();
        self.trail.finish.next = self.is_dry.val();
        self.row.next = self.row_at.q.val().get_bits::<32>(0);
        if self.is_bits.val() {
            self.row.next =
                self.row_at.q.val().get_bits::<32>(0) - bit_cast::<32, 3>(self.kinds.val().first);
        } else if self.is_pointers.val() {
            self.row.next = 0.into();
        }
        self.at.next = self.row_at.q.val();
        self.rest.next = self.rows.q.val() - 1 - self.row_at.q.val();
        self.lane.next = self.row_lane.q.val();
        self.pointer.next = self.row_pointer.q.val();
        self.place.next.block = self.block.q.val();
        self.place.next.lane = self.next_lane.q.val();
        self.place.next.known = self.known.q.val();
        self.place.next.word = self.word.q.val();
        self.place.next.before = self.passed.q.val();
        self.busy.next = (self.state.q.val() == FinderState::Ask)
            || (self.state.q.val() == FinderState::Come)
            || self.chaser.busy.val();
        if self.rst.val() {
            self.state.d.next = FinderState::Flow;
            self.row_valid.d.next = false;
            self.read_valid.d.next = false;
            self.next_valid.d.next = false;
            self.known.d.next = false;
            self.record_valid.d.next = false;
            self.replays.d.next = false;
            self.asks.d.next = false;
            self.asked.d.next = 0.into();
            self.present.d.next = 0.into();
            self.failed.d.next = 0.into();
            self.early.d.next = 0.into();
            self.arrived.d.next = 0.into();
            self.torn.d.next = false;
        }
    }
}
