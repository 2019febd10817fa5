//! The cursor of a queue pair's receive: how far its regions are filled.

use super::{SOUGHT, Scatter, ScatterState, WIDEST};
use drdma_emit::prelude::*;

impl Scatter {
    /// Bytes that fit into the region of the cursor.
    #[hdl_gen]
    pub(super) fn measure(&mut self) {
        self.skips.next = self.skip.q.val();
        self.skips_all.next = true;
        if self.cursor.q.val().left < bit_cast::<32, 6>(self.skip.q.val()) {
            self.skips_all.next = false;
            self.skips.next = self.cursor.q.val().left.get_bits::<6>(0);
        }
        self.whole.next = true;
        self.fits.next = self.bytes.q.val();
        if self.cursor.q.val().left < bit_cast::<32, 13>(self.bytes.q.val()) {
            self.whole.next = false;
            self.fits.next = self.cursor.q.val().left.get_bits::<13>(0);
        }
        self.cursor_out.bits.next = self.cursors.read_data.val();
        self.more.next =
            self.cursor.q.val().strided || (self.cursor.q.val().behind < self.held.q.val().places);
    }

    /// An append region is strided, and its columns are extents.
    #[hdl_gen]
    pub(super) fn follow(&mut self) {
        self.cfg.join(&mut self.columns.cfg);
        self.word.join(&mut self.columns.word);
        self.appends.next = self.current.q.val().appends && self.receives.q.val();
        self.intact.d.next =
            self.columns.enabled.val() && (self.columns.life.val() == self.current.q.val().life);
        self.target_addr.next = self.region.addr.val();
        self.target_len.next = self.region.len.val();
        self.is_shape.next = self.region.strided.val() && !self.appends.val();
        if self.appends.val() {
            self.more.next = self.cursor.q.val().strided && self.intact.q.val();
            self.target_addr.next = self.columns.place.val();
            if !self.cursor.q.val().row.any() {
                self.target_addr.next = self.columns.base.val();
            }
            self.target_len.next = self.columns.width.val();
        }
        self.columns.opens.next = false;
        self.columns.row.next = self.cursor.q.val().row.get_bits::<32>(0);
        self.begins.next = false;
        self.begun_column.d.next = self.cursor.q.val().behind.get_bits::<4>(0);
        self.columns.begun.next = self.begun.q.val();
        self.columns.begun_region.next = self.current.q.val().region;
        self.columns.begun_column.next = self.begun_column.q.val();
        self.past_left.next =
            self.cursor.q.val().addr + bit_cast::<64, 32>(self.cursor.q.val().left);
        self.columns.behind.next = self.past_left.val();
        self.behind_next.next = self.cursor.q.val().behind + 1;
        self.row_next.next = self.cursor.q.val().row.get_bits::<32>(0) + 1;
        self.wraps.next = self.row_next.val() == self.columns.capacity.val();
        self.following.next = self.cursor.q.val();
        self.following.next.addr = self.target_addr.val();
        self.following.next.left = self.target_len.val();
        self.following.next.behind = self.behind_next.val();
        if self.cursor.q.val().strided {
            self.following.next.addr = self.target_addr.val() + self.cursor.q.val().row;
            if self.appends.val() {
                self.following.next.addr = self.target_addr.val();
            }
            if self.behind_next.val() == self.cursor.q.val().past {
                // The next row, if there is one; otherwise the next region.
                self.following.next.row = self.cursor.q.val().row + self.cursor.q.val().period;
                self.following.next.rows = self.cursor.q.val().rows - 1;
                self.following.next.strided = self.cursor.q.val().rows != 1;
                if self.cursor.q.val().rows != 1 {
                    self.following.next.behind = self.cursor.q.val().first;
                }
                if self.appends.val() && self.wraps.val() {
                    self.following.next.row = 0.into();
                }
            }
        }
    }

    /// Begins a strided region.
    #[hdl_gen]
    pub(super) fn open(&mut self) {
        // The cursor holds the shape as if it were bytes; the place behind it is the first extent's.
        self.cursor.d.next.period = self.cursor.q.val().addr;
        self.cursor.d.next.row = 0.into();
        self.cursor.d.next.rows = self.cursor.q.val().left;
        self.cursor.d.next.first = self.cursor.q.val().behind;
        self.cursor.d.next.past = self.cursor.q.val().past + self.cursor.q.val().behind;
        self.cursor.d.next.left = 0.into();
        self.cursor.d.next.strided = self.cursor.q.val().left.any();
        self.cursor.d.next.dense = self.cursor.q.val().left.any()
            && (self.cursor.q.val().addr <= WIDEST)
            && !self.cursor.q.val().plain;
        self.cursor.d.next.into = 0.into();
        if !self.cursor.q.val().left.any() {
            self.cursor.d.next.behind = self.cursor.q.val().past + self.cursor.q.val().behind;
        }
        self.state.d.next = ScatterState::Cut;
    }

    /// Makes columns of an append region go on at a row.
    #[hdl_gen]
    pub(super) fn seek(&mut self) {
        // In row 0 the values go to the columns' first bytes in any case.
        self.columns.opens.next = true;
        self.dense.odd.next = self.columns.width.val() > WIDEST;
        self.dense.comes.next = self.aims.q.val() && self.columns.opened.val();
        self.sought.d.next = self.sought.q.val() + 1;
        self.since.d.next = 0.into();
        if self.sought.d.val() == self.cursor.q.val().past.get_bits::<5>(0) {
            self.state.d.next = ScatterState::Sought;
        }
    }

    /// Waits until all of them do.
    #[hdl_gen]
    pub(super) fn take_sought(&mut self) {
        // All columns must go on at the row before the first one is begun.
        self.since.d.next = self.since.q.val() + 1;
        self.dense.comes.next = self.aims.q.val() && self.columns.opened.val();
        if self.since.q.val() == SOUGHT {
            self.state.d.next = ScatterState::Cut;
            if self.aims.q.val() {
                self.dense.last.next = true;
                self.dense.odd.next = !self.intact.q.val();
                self.state.d.next = ScatterState::Plan;
            }
        }
    }
}
