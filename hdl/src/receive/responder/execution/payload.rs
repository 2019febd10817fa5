//! Destination of a packet's payload.

use super::super::checks::Verdict;
use super::super::record::JobKind;
use super::{
    APPENDED_FLAG, Execution, ExecutionState, IMM_FLAG, INVALIDATED_FLAG, IP_HEADER, ROUTE_FLAG,
    UNUSED_ROUTE,
};
use crate::receive::record::{APPEND, AppendRequest, PlacingKind};
use drdma_emit::prelude::*;

impl Execution {
    /// Finds the destination of the payload: none, unless all checks are passed.
    #[hdl_gen]
    pub(super) fn place(&mut self) {
        self.payload.next.kind = PlacingKind::Nothing;
        self.payload.next.qp = self.at.val().qp;
        self.payload.next.addr = self.at.val().progress.addr;
        self.payload.next.first = false;
        self.payload.next.skip = 0.into();
        self.payload.next.ram = self.at.val().ram;
        self.payload.next.bytes = 0.into();
        self.payload.next.frame_end = self.at.val().kind != JobKind::Abandon;
        self.payload.next.words = self.at.val().words;
        self.payload.next.completes = self.completes.val();
        self.payload.next.status = self.status.val();
        self.payload.next.with_imm = false;
        self.payload.next.byte_len = 0.into();
        self.payload.next.imm = 0.into();
        self.payload.next.flags = 0.into();
        self.payload.next.source = 0.into();
        self.payload.next.appends = false;
        self.payload.next.region = self.at.val().progress.capacity.get_bits::<APPEND>(0);
        self.payload.next.life = self.told.q.val().life;
        self.payload.next.returns = self.returns.val();
        self.payload.next.pieces = false;
        self.payload.next.atomic = self.changes.val();
        self.payload.next.slot = self.slot.val();
        if self.verdict.val() == Verdict::Good {
            self.payload.next.bytes = self.at.val().bytes;
            if self.at.val().read || self.at.val().atomic {
                self.payload.next.bytes = 0.into();
            } else if !self.at.val().write {
                self.payload.next.kind = PlacingKind::Receive;
                self.payload.next.first = self.at.val().first && !self.at.val().datagram;
                self.payload.next.appends = self.appends.val();
                if self.appends.val() {
                    self.payload.next.source = self.told.q.val().first_row;
                }
            } else if self.at.val().bytes.any() {
                self.payload.next.kind = PlacingKind::Write;
            }
            self.payload.next.pieces = self.pieces.val() && self.at.val().bytes.any();
            if self.completes.val() {
                self.payload.next.with_imm = self.at.val().write;
                self.payload.next.byte_len = self.checks.sum.val();
                if self.at.val().write {
                    self.payload.next.byte_len = self.at.val().progress.len;
                }
                if self.at.val().with_imm {
                    self.payload.next.imm = self.at.val().imm;
                    self.payload.next.flags = IMM_FLAG.into();
                }
                if self.at.val().invalidates {
                    self.payload.next.imm = self.at.val().progress.rkey;
                    self.payload.next.flags = INVALIDATED_FLAG.into();
                }
                if self.at.val().datagram {
                    self.payload.next.flags = self.payload.val().flags | ROUTE_FLAG;
                    self.payload.next.source = bit_cast::<32, 24>(self.at.val().source_qp);
                }
                if self.appends.val() {
                    self.payload.next.flags = self.payload.val().flags | APPENDED_FLAG;
                }
            }
        }
        // The route of a datagram is placed before its payload.
        self.splits.next = self.at.val().datagram && (self.verdict.val() == Verdict::Good);
        self.place.next = self.payload.val();
        if self.splits.val() && (self.state.q.val() == ExecutionState::Finish) {
            self.place.next.first = true;
            self.place.next.skip = UNUSED_ROUTE.into();
            self.place.next.ram = self.at.val().header;
            self.place.next.bytes = IP_HEADER.into();
            self.place.next.frame_end = false;
            self.place.next.completes = false;
            self.place.next.pieces = self.pieces.val();
        }
    }

    /// Questions to the append regions, and whether the bytes can be placed piece by piece.
    #[hdl_gen]
    pub(super) fn ask_regions(&mut self) {
        self.append_ask.valid.next = (self.state.q.val() == ExecutionState::Rows)
            || (self.state.q.val() == ExecutionState::Release);
        self.append_ask.request.next = AppendRequest::Rows;
        if self.state.q.val() == ExecutionState::Release {
            self.append_ask.request.next = AppendRequest::Release;
        }
        self.append_ask.qp.next = self.at.val().qp;
        self.append_ask.pd.next = self.at.val().pd;
        self.append_ask.number.next = self.at.val().progress.capacity;
        self.append_ask.bytes.next = self.at.val().bytes;
        self.append_ask.first.next = self.at.val().first;
        // Question: can the bytes be placed piece by piece?
        self.region_ask.valid.next = self.state.q.val() == ExecutionState::Find;
        self.region_ask.receive.next = !self.at.val().write;
        self.region_ask.qp.next = self.at.val().qp;
        self.region_ask.pd.next = self.at.val().pd;
        self.region_ask.region.next = self.checks.region.val();
        self.region_ask.addr.next = self.at.val().progress.addr;
        self.region_ask.bytes.next = self.at.val().bytes;
        self.region_ask.first.next = self.at.val().first && !self.at.val().datagram;
        self.region_ask.skip.next = 0.into();
        if self.of_header.val() {
            self.region_ask.bytes.next = IP_HEADER.into();
            self.region_ask.first.next = true;
            self.region_ask.skip.next = UNUSED_ROUTE.into();
        }
    }
}
