//! Inspection of destinations, and how their rows are counted.

use super::super::{Plan, PlanState};
use super::TALLY_ROWS;
use crate::request::{BITMAPPED, CONTIGUOUS, DEST_COUNT, DEST_INDEX, POINTER_MAPPED, STRIDED};
use crate::rows::sequencer::record::SCAN;
use drdma_emit::prelude::*;

impl Plan {
    /// The rows of the current set, and the fields of the set and its destination.
    #[hdl_gen]
    pub(super) fn look_at_set(&mut self) {
        self.is_contiguous.next = self.set_info.val().kind == CONTIGUOUS;
        self.is_bitmap.next = self.set_info.val().kind == BITMAPPED;
        self.is_pointers.next = self.set_info.val().kind == POINTER_MAPPED;
        self.rows.next = self.set_info.val().count;
        if self.is_contiguous.val() {
            self.rows.next = 1.into();
        }
        self.row_span.next = bit_cast::<14, 13>(self.span.val());
        if self.is_pointers.val() {
            // Records lie anywhere: the span grows by a block of 256 B.
            self.row_span.next = bit_cast::<14, 13>(self.span.val()) + 256;
        }
        // Extents of a strided region: rows times lanes.
        for k in 0..5 {
            self.terms[k].next = 0.into();
            if self.set_info.val().lanes.get_bit(k) {
                self.terms[k].next = bit_cast::<36, 32>(self.rows.val()) << k.to_bits::<3>();
            }
        }
        self.times.d.next = ((self.terms[0].val() + self.terms[1].val())
            + (self.terms[2].val() + self.terms[3].val()))
            + self.terms[4].val();
        self.uneven_set.next = self.head.q.val().element_mask
            && (self.set_info.val().kind == STRIDED)
            && (self.set_info.val().lanes != 1);
        // The largest row or, with row mask `Element`, the largest element of all regions together.
        self.shuffle.next = self.head.q.val().element_mask && (self.head.q.val().sets > 1);
        self.larger.next = bit_cast::<37, 36>(self.largest.q.val());
        if self.shuffle.val() {
            self.larger.next = bit_cast::<37, 36>(self.largest.q.val())
                + bit_cast::<37, 36>(self.set_info.val().row_bytes);
            if self.larger.val().get_bit(36) {
                self.larger.next = self.saturated.val();
            }
        } else if self.set_info.val().row_bytes > self.largest.q.val() {
            self.larger.next = bit_cast::<37, 36>(self.set_info.val().row_bytes);
        }
        self.last_set.next = self.sets_left.q.val() == 1;
        self.last_dest.next = self.index.q.val() + 1 == self.dests.q.val();

        self.simple.next = self.single.q.val()
            && (self.head.q.val().sets == 1)
            && self.is_contiguous.val()
            && (self.set_info.val().row_bytes <= bit_cast::<36, 13>(self.mtu.q.val()));

        // Results about destinations and sets. All columns of a WRITE have the same rows.
        self.key.next = self.set_read.val();
        if self.pass.q.val().any() {
            self.key.next = self.set.q.val() - bit_cast::<11, 5>(self.pass.q.val());
            if (self.state.q.val() == PlanState::InspectHead)
                || (self.state.q.val() == PlanState::ColumnHead)
                || (self.state.q.val() == PlanState::TallyHead)
                || (self.state.q.val() == PlanState::QuickHead)
            {
                self.key.next = self.dest_info.val().first_set + 1;
            }
        }
        if self.partitioned.q.val() {
            self.key.next = bit_cast::<11, DEST_COUNT>(self.index.q.val());
        }
        self.findings.read_address[0].next = bit_cast::<DEST_INDEX, DEST_COUNT>(self.index.q.val());
        self.findings.write_address.next = bit_cast::<DEST_INDEX, DEST_COUNT>(self.index.q.val());
        self.findings.write_data.next = self.findings_in.bits.val();
        self.findings.write_enable.next = false;
        self.findings_out.bits.next = self.findings.read_data[0].val();
        self.scanned.write_lanes.next = bit_cast::<1, 1>(self.result_valid.val().into());
        self.scanned.write_address.next = self.result_set.val();
        self.scanned_new.next.count = self.result_count.val();
        self.scanned_new.next.bad = self.result_bad.val();
        self.scanned_in.record.next = self.scanned_new.val();
        self.scanned.write_data.next = self.scanned_in.bits.val();
        self.scanned.read_enable.next = true;
        self.scanned.read_address.next = self.key.val();
        self.scanned_out.bits.next = self.scanned.read_data.val();
        self.elements.next = bit_cast::<36, 32>(self.rows.val());
        if self.is_bitmap.val() {
            self.elements.next = bit_cast::<36, 32>(self.scanned_out.record.val().count);
            if self.rows.val() == 0 {
                self.elements.next = 0.into();
            }
        }
        if (self.set_info.val().kind == STRIDED) && self.head.q.val().element_mask {
            self.elements.next = self.times.q.val();
        }
        self.scan_bad.next = self.scanned_out.record.val().bad
            && (self.rows.val() != 0)
            && (self.is_pointers.val()
                || (self.is_bitmap.val()
                    && (self.findings_out.record.val().counted
                        || (self.stored.q.val() && self.partitioned.q.val()))));
    }

    /// Takes a destination's head.
    #[hdl_gen]
    pub(super) fn inspect_head(&mut self) {
        self.chunks.dest_valid.next = true;
        self.head.d.next = self.here.val();
        self.set.d.next = self.here.val().first_set;
        self.sets_left.d.next = self.here.val().sets;
        self.same.d.next =
            self.here.val().same_lanes && (self.same.q.val() || (self.index.q.val() == 0));
        self.largest.d.next = 0.into();
        self.wait.d.next = 0.into();
        if self.here.val().same_lanes && self.same.q.val() {
            // A destination of the same lanes has the same product as the one before, which still holds.
            self.largest.d.next = self.largest.q.val();
            self.wait.d.next = self.latency.val();
        }
        self.bitmaps.d.next = false;
        self.pointers.d.next = false;
        self.uneven.d.next = false;
        self.mtu.d.next = bit_cast::<13, 1>(1.into()) << self.here.val().log_mtu;
        self.state.d.next = PlanState::InspectSet;
        if self.here.val().sets == 0 {
            self.state.d.next = PlanState::Weigh;
        }
        if self.kinds.q.val() {
            self.index.d.next = self.index.q.val() + 1;
            self.state.d.next = PlanState::InspectRead;
            if self.last_dest.val() {
                self.state.d.next = PlanState::Kinds;
            }
        }
        // The queue pair may have failed after decoding. If it fails behind the first column, the segmenter
        // notices.
        if self.qp_error.val() && !self.pass.q.val().any() {
            self.status.d.next = self.flush.val();
            self.bad_dest.d.next = self.index.q.val();
            self.breaks.d.next = false;
            self.kinds_forget.next = true;
            self.state.d.next = PlanState::Finish;
        }
    }

    /// Takes a set's row length and type.
    #[hdl_gen]
    pub(super) fn inspect_set(&mut self) {
        self.largest.d.next = self.larger.val().get_bits::<36>(0);
        if self.uneven_set.val() {
            self.uneven.d.next = true;
        }
        self.chunks.set_valid.next = true;
        self.partitioned.d.next = self.set_info.val().ids.any();
        if self.is_bitmap.val() {
            self.bitmaps.d.next = true;
        }
        if self.is_pointers.val() {
            self.pointers.d.next = true;
        }
        self.set.d.next = self.set.q.val() + 1;
        self.sets_left.d.next = self.sets_left.q.val() - 1;
        self.state.d.next = PlanState::InspectSetRead;
        if self.last_set.val() {
            self.state.d.next = PlanState::Weigh;
        }
        if self.simple.val() {
            // One message that fits a packet needs no inspection.
            self.next_item.next.chunk_start = false;
            self.shared.next.measured = false;
            self.set.d.next = self.set.q.val();
            self.sets_left.d.next = self.sets_left.q.val();
            self.state.d.next = PlanState::InspectSet;
            if self.free.val() {
                self.push.next = true;
                self.state.d.next = PlanState::Finish;
            }
        }
    }

    /// Finds out whether a message can be too long, or longer than a packet.
    #[hdl_gen]
    pub(super) fn weigh(&mut self) {
        self.wait.d.next = self.wait.q.val() + 1;
        self.set.d.next = self.head.q.val().first_set;
        self.sets_left.d.next = self.head.q.val().sets;
        if self.wait.q.val() == self.latency.val() {
            self.findings.write_enable.next = true;
            if self.finding.val().measure
                || self.pointers.q.val()
                || self.finding.val().counted
                || (self.head.q.val().element_mask && (self.head.q.val().sets > 1))
            {
                self.judge.d.next = true;
            }
            self.counts.d.next = self.finding.val().counted;
            if !self.finding.val().counted {
                self.counted.d.next = false;
            }
            self.state.d.next = PlanState::InspectNext;
            if self.same.q.val() && !self.last_dest.val() {
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::InspectHead;
            }
            // Pointers are scanned now; bits once it is known which path counts them.
            if self.finding.val().counted && !self.all_counted.q.val() {
                self.uncounted.d.next = true;
            } else if self.pointers.q.val() {
                self.index.d.next = self.index.q.val();
                self.state.d.next = PlanState::ScanRead;
            }
        }
    }

    /// Asks for the scan of a set.
    #[hdl_gen]
    pub(super) fn scan(&mut self) {
        self.next_item.next.task = SCAN.into();
        self.shared.next.set = self.key.val();
        self.next_item.next.rows = self.rows.val();
        self.next_item.next.first = 0.into();
        self.next_item.next.last = false;
        self.next_item.next.chunk_start = false;
        self.asks.next = (self.rows.val() != 0)
            && (self.is_pointers.val() || (self.is_bitmap.val() && self.counts.q.val()))
            && self.free.val();
        self.push.next = self.asks.val();
        self.reads.next = true;
        if self.free.val() {
            self.set.d.next = self.set.q.val() + 1;
            self.sets_left.d.next = self.sets_left.q.val() - 1;
            self.state.d.next = PlanState::ScanRead;
            if self.last_set.val() {
                self.state.d.next = PlanState::InspectNext;
                if self.counting.q.val() {
                    self.index.d.next = self.index.q.val() + 1;
                    self.state.d.next = PlanState::CountRead;
                    if self.last_dest.val() {
                        self.index.d.next = 0.into();
                        self.state.d.next = PlanState::Await;
                    }
                }
            }
        }
    }

    /// Goes on to the next destination.
    #[hdl_gen]
    pub(super) fn inspect_next(&mut self) {
        self.index.d.next = self.index.q.val() + 1;
        self.state.d.next = PlanState::InspectRead;
        if self.last_dest.val() {
            self.index.d.next = 0.into();
            self.state.d.next = PlanState::Begin;
            if self.judge.q.val() {
                self.state.d.next = PlanState::Await;
            }
            if self.uncounted.q.val() || (self.columns.q.val().any() && self.partitioned.q.val()) {
                self.state.d.next = PlanState::Settled;
            }
        }
    }

    /// Chooses the path that counts rows.
    #[hdl_gen]
    pub(super) fn choose_counting(&mut self) {
        self.counting.d.next = true;
        self.state.d.next = PlanState::Begin;
        if self.judge.q.val() {
            self.state.d.next = PlanState::Await;
        }
        // Ids are kept for all columns, whether or not their rows must be counted.
        if self.chunks.column.val()
            && (self.uncounted.q.val()
                || (self.partitioned.q.val() && self.kept_whole.val() && !self.kept_before.q.val()))
        {
            self.judge.d.next = true;
            self.state.d.next = PlanState::TallyRead;
        } else if self.uncounted.q.val() {
            self.state.d.next = PlanState::CountRead;
        }
    }

    /// Takes a destination's head, for counting on the row path.
    #[hdl_gen]
    pub(super) fn count_head(&mut self) {
        self.head.d.next = self.here.val();
        self.set.d.next = self.here.val().first_set;
        self.sets_left.d.next = self.here.val().sets;
        self.counts.d.next = self.findings_out.record.val().counted;
        self.state.d.next = PlanState::ScanRead;
        if !self.findings_out.record.val().counted || (self.here.val().sets == 0) {
            self.index.d.next = self.index.q.val() + 1;
            self.state.d.next = PlanState::CountRead;
            if self.last_dest.val() {
                self.index.d.next = 0.into();
                self.state.d.next = PlanState::Await;
            }
        }
    }

    /// Emits a destination's stretch, for counting on the column path.
    #[hdl_gen]
    pub(super) fn tally(&mut self) {
        self.next_item.next.task = SCAN.into();
        self.next_item.next.column = true;
        self.shared.next.set = self.key.val();
        self.next_item.next.rows = self.rows_left.val();
        if !self.tally_last.val() {
            self.next_item.next.rows = TALLY_ROWS.into();
        }
        self.next_item.next.last = self.tally_last.val();
        self.next_item.next.chunk_start = self.index.q.val() == 0;
        self.next_item.next.chunk_end = self.last_dest.val();
        self.next_item.next.ids = self.set_info.val().ids;
        self.next_item.next.sparse = false;
        self.next_item.next.fetch = false;
        self.next_item.next.kept = self.kept_whole.val() && !self.set_info.val().fetch;
        self.next_item.next.loads = self.turn.q.val().row == 0;
        self.tallied.next = self.is_bitmap.val()
            && (self.findings_out.record.val().counted || self.partitioned.q.val());
        self.reads.next = true;
        self.asks.next = self.tallied.val() && self.tally_last.val() && self.free.val();
        self.push.next = self.tallied.val() && self.free.val();
        if self.free.val() || !self.tallied.val() {
            self.index.d.next = self.index.q.val() + 1;
            self.state.d.next = PlanState::TallyHead;
            if self.last_dest.val() {
                self.index.d.next = 0.into();
                self.turn.d.next.row = self.turn.q.val().row + TALLY_ROWS;
                self.state.d.next = PlanState::TallyRead;
                if self.tally_last.val() {
                    self.turn.d.next.row = 0.into();
                    self.stored.d.next = self.kept_whole.val();
                    self.state.d.next = PlanState::Await;
                }
            }
        }
    }
}
