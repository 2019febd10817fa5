//! The logic of the fetcher, state by state.

mod packets;
mod pages;
mod plans;

use super::{Fetcher, FetcherState, PAGES};
use drdma_emit::prelude::*;

impl Logic for Fetcher {
    #[hdl_gen]
    fn update(&mut self) {
        self.at.next = self.held.q.val();
        self.unused_at.next = self.at.val();
        if self.freed_valid.val() {
            self.freed.d.next = self.freed.q.val() + 1;
        }
        self.ahead.next = self.freed.q.val() - self.at.val().earlier;
        self.unused_ahead.next = self.ahead.val().get_bits::<31>(0);
        self.opens.d.next = !self.ahead.val().get_bit(31);

        self.count_pages();
        self.check_key();
        self.cut_packet();
        self.judge_packet();
        self.fill_plan();
        self.offer_plan();

        self.waiting.ready.next = self.state.q.val() == FetcherState::Empty;
        self.busy.next = self.state.q.val() != FetcherState::Empty;
        match self.state.q.val() {
            FetcherState::Empty => self.take_reply(),
            FetcherState::Look => {
                // The stamp of `held`'s queue pair comes in the next cycle.
                self.stale.d.next = false;
                if self.at.val().reads || (self.at.val().atomic && !self.at.val().again) {
                    self.last.d.next = self.cut_last.val();
                    self.bytes.d.next = self.cut_bytes.val();
                    self.state.d.next = FetcherState::Hold;
                } else {
                    self.state.d.next = FetcherState::Plan;
                }
            }
            FetcherState::Hold => {
                if self.opens.q.val() {
                    self.state.d.next = FetcherState::Range;
                }
            }
            FetcherState::Cut => {
                self.last.d.next = self.cut_last.val();
                self.bytes.d.next = self.cut_bytes.val();
                self.state.d.next = FetcherState::Key;
            }
            FetcherState::Key => {
                self.state.d.next = FetcherState::Range;
            }
            FetcherState::Range => {
                self.state.d.next = FetcherState::End;
            }
            FetcherState::End => {
                self.state.d.next = FetcherState::Answer;
            }
            FetcherState::Answer => {
                // The key's answer comes in this cycle, and is in `allowed` from the next one on.
                self.state.d.next = FetcherState::Plan;
            }
            FetcherState::Plan => {
                if self.plan.valid.val() && self.plan.ready.val() {
                    self.addr.d.next = self.addr.q.val() + bit_cast::<64, 13>(self.bytes.q.val());
                    self.left.d.next = self.left.q.val() - bit_cast::<32, 13>(self.bytes.q.val());
                    self.psn.d.next = self.psn.q.val() + 1;
                    self.first.d.next = false;
                    self.state.d.next = FetcherState::Cut;
                    if self.plan.ends.val() {
                        self.state.d.next = FetcherState::Empty;
                    }
                }
            }
        }
        self.take_page();
        if self.rst.val() {
            self.state.d.next = FetcherState::Empty;
            self.decided.d.next = false;
            self.pages.d.next = PAGES.into();
            self.has_page.d.next = false;
            self.came_back.d.next = false;
            self.freed.d.next = 0.into();
        }
    }
}
