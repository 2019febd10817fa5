//! The logic of the walk, state by state. Its parts stand in files by what they do.

use super::{CONTIGUOUS, FLAGS, GRANULE, KEY, MOST_ELEMENTS, SHAPE, STRIDED, Walk, WalkState};
use drdma_emit::prelude::*;

impl Logic for Walk {
    #[hdl_gen]
    fn update(&mut self) {
        self.region.next = self.held.q.val().region;
        self.receive.next = self.held.q.val().receive;
        self.qp.next = self.held.q.val().qp;
        self.granule.next = self.at.q.val();
        self.unused_data.next = self.data.val();
        self.unused_resume.next = self.resume.val();
        self.continues.next = (self.resume.region.val() == self.held.q.val().region)
            && (self.resume.addr.val() == self.held.q.val().addr);
        self.warm.next = self.known.q.val()
            && !self.held.q.val().first
            && (self.walked_qp.q.val() == self.held.q.val().qp)
            && (self.walked_receive.q.val() == self.held.q.val().receive)
            && (self.held.q.val().receive || self.continues.val());
        self.skips.d.next = self.skip_left.q.val().any();
        self.wanted.next = self.left.q.val();
        if self.skips.q.val() {
            self.wanted.next = bit_cast::<13, 6>(self.skip_left.q.val());
        }

        self.hand_over();
        self.look_up();

        // The region is not one that a described key may have.
        self.odd.next = (self.kind_held.q.val() != CONTIGUOUS)
            && (!self.elements.q.val().any()
                || (self.elements.q.val() > MOST_ELEMENTS)
                || (self.flags.q.val() & !bits::<16>(FLAGS)).any());

        self.touching.next = (self.kind_held.q.val() == STRIDED)
            && ((self.round.q.val() == 1)
                || (self.touches.q.val()
                    && (self.data.val().get_bits::<64>(0) == self.next_offset.q.val())));

        self.divide_step();
        self.look_at_bits();
        self.address();
        self.look_at_column();

        self.ask.ready.next = self.state.q.val() == WalkState::Idle;
        // Whether there is a step must be known early: it decides what the receiver accepts, and that what is next.
        self.fails.next = self.state.q.val() == WalkState::Fail;
        self.step.valid.next = self.fails.val()
            || (self.state.q.val() == WalkState::Plain)
            || ((self.state.q.val() == WalkState::Columns) && self.told.q.val().any())
            || ((self.state.q.val() == WalkState::Close) && !self.missed.q.val())
            || ((self.state.q.val() == WalkState::Fetch) && self.was_covered.q.val())
            || ((self.state.q.val() == WalkState::Offer)
                && !self.skips.q.val()
                && self.allowed.q.val());
        self.step.addr.next = self.addr.q.val();
        self.step.bytes.next = self.bytes.q.val();
        self.step.plain.next = false;
        self.step.side.next = self.state.q.val() == WalkState::Fetch;
        self.step.last.next = self.bytes.q.val() == self.left.q.val();
        self.step.failed.next = self.fails.val();
        self.step.outside.next = self.outside.q.val();
        self.ended.valid.next = false;
        self.ended.region.next = self.held.q.val().region;
        self.ended.addr.next = self.held.q.val().addr + bit_cast::<64, 13>(self.held.q.val().bytes);
        self.ended.header.next = self.header.q.val();
        self.wait.d.next = self.wait.q.val() + 1;
        match self.state.q.val() {
            WalkState::Idle => {
                self.piecewise.d.next = false;
                self.held.d.next = self.ask.val();
                self.left.d.next = self.ask.bytes.val();
                self.skip_left.d.next = self.ask.skip.val();
                self.addr.d.next = self.ask.addr.val();
                self.bytes.d.next = self.ask.bytes.val();
                if self.ask.valid.val() {
                    self.state.d.next = WalkState::Begin;
                    if self.ask.plain.val() {
                        self.state.d.next = WalkState::Plain;
                    }
                }
            }
            WalkState::Plain => {
                self.step.plain.next = true;
                if self.step.ready.val() {
                    self.state.d.next = WalkState::Idle;
                }
            }
            WalkState::Begin => self.begin(),
            WalkState::Header => {
                self.at.d.next = self.at.q.val() + SHAPE;
                self.state.d.next = WalkState::Shape;
            }
            WalkState::Shape => self.take_shape(),
            WalkState::End => self.take_end(),
            WalkState::Sum => self.sum(),
            WalkState::Span => self.span(),
            WalkState::Divide => self.divide(),
            WalkState::Find => {
                if self.wait.q.val() == GRANULE {
                    self.state.d.next = WalkState::Found;
                }
            }
            WalkState::Found => self.found(),
            WalkState::Seek => self.seek(),
            WalkState::Hand => self.handed_over(),
            WalkState::Bits => self.walk_bits(),
            WalkState::Measure => self.measure(),
            WalkState::Size => self.size(),
            WalkState::Ask => {
                if self.wait.q.val() == KEY {
                    self.state.d.next = WalkState::Fetch;
                }
            }
            WalkState::Fetch => self.fetch(),
            WalkState::Come => self.come(),
            WalkState::Align => self.align(),
            WalkState::Multiply => self.multiply(),
            WalkState::Check => {
                if self.wait.q.val() == KEY {
                    self.state.d.next = WalkState::Offer;
                }
            }
            WalkState::Offer => self.offer(),
            WalkState::Advance => self.advance(),
            WalkState::Rows => self.divide_rows(),
            WalkState::Reach => self.reach(),
            WalkState::Fit => self.fit(),
            WalkState::Columns => self.offer_columns(),
            WalkState::Judge => {
                if self.wait.q.val() == KEY {
                    self.state.d.next = WalkState::Close;
                }
            }
            WalkState::Close => self.close(),
            WalkState::Fail => {
                self.step.last.next = true;
                if self.step.ready.val() {
                    self.state.d.next = WalkState::Idle;
                }
            }
        }
        self.next_qp.next = self.held.d.val().qp;
        self.ended.row.next = self.row.d.val();
        self.ended.element.next = self.element.d.val();
        self.ended.inside.next = self.inside.d.val();
        if self.forget.val() {
            self.known.d.next = false;
            self.spoiled.d.next = true;
        }
        if self.rst.val() {
            self.state.d.next = WalkState::Idle;
            self.known.d.next = false;
        }
    }
}
