//! Beats: when one leaves, with which rows, and of how many bytes.

use super::super::stride::BEAT;
use super::Packer;
use drdma_emit::prelude::*;

impl Packer {
    /// What this cycle does. A whole beat leaves if its rows are there and the message does not end before; else a
    /// beat up to the end of the message, or of the turn.
    #[hdl_gen]
    pub(super) fn choose_beat(&mut self) {
        self.room.next = self.infos.free.val() >= 8;
        self.able.next = self.busy.q.val() && self.room.val();
        self.ends_soon.next = self.near.q.val() < bit_cast::<9, 7>(self.whole_touched.q.val());
        self.enough.next = self.waiting.q.val() >= bit_cast::<8, 7>(self.whole_touched.q.val());
        self.whole.next = self.able.val() && self.enough.val() && !self.ends_soon.val();
        self.ending.next = self.able.val()
            && self.ends_soon.val()
            && (self.near.q.val() <= bit_cast::<9, 8>(self.waiting.q.val()));
        self.flush.next = self.able.val()
            && self.turn.q.val().turn_end
            && (self.waiting.q.val() != 0)
            && !self.enough.val()
            && (self.near.q.val() > bit_cast::<9, 8>(self.waiting.q.val()));
        self.close.next =
            self.able.val() && self.turn.q.val().turn_end && (self.waiting.q.val() == 0);
        self.beat.next = self.whole.val() || self.ending.val() || self.flush.val();
        self.all.next = self.flush.val()
            || (self.ending.val() && (self.near.q.val() == bit_cast::<9, 8>(self.waiting.q.val())))
            || (self.whole.val()
                && self.whole_exact.q.val()
                && (self.waiting.q.val() == bit_cast::<8, 7>(self.whole_touched.q.val())));
        self.finish.next = (self.turn.q.val().turn_end && self.all.val()) || self.close.val();
        self.message_end.next = self.ending.val()
            || (self.whole.val()
                && self.whole_exact.q.val()
                && (self.near.q.val() == bit_cast::<9, 7>(self.whole_touched.q.val())))
            || (self.all.val() && self.turn.q.val().turn_end && self.turn.q.val().last);
        self.uses.next = 0.into();
        if self.whole.val() {
            self.uses.next = self.whole_rows.q.val();
        } else if self.ending.val() {
            self.uses.next = self.near.q.val().get_bits::<7>(0);
        } else if self.flush.val() {
            self.uses.next = self.waiting.q.val().get_bits::<7>(0);
        }
    }

    /// Computes the start of the next beat, and the state of the message that is stored.
    #[hdl_gen]
    pub(super) fn start_beat(&mut self) {
        self.following.reach.next = self.whole_reach.q.val();
        self.following.thin_rows.next = self.turn.q.val().thin_rows;
        for k in 0..16 {
            self.following.multiple[k].next = self.multiple[k].q.val();
        }
        if self.whole.val() {
            self.start.d.next = (self.whole_reach.q.val() - BEAT).get_bits::<10>(0);
            self.whole_rows.d.next = self.following.rows.val();
            self.whole_touched.d.next = self.following.touched.val();
            self.whole_reach.d.next = self.following.next_reach.val();
            self.whole_exact.d.next = self.following.exact.val();
        } else if self.beat.val() {
            self.start.d.next = 0.into();
            self.whole_rows.d.next = self.first_rows.q.val();
            self.whole_touched.d.next = self.first_touched.q.val();
            self.whole_reach.d.next = self.first_reach.q.val();
            self.whole_exact.d.next = self.first_exact.q.val();
        }
        self.open.d.next = self.after.val().open;
        self.near.d.next = self.after.val().near;
        self.far.d.next = self.after.val().far;
        self.fulls.d.next = self.after.val().fulls;
        self.waiting.d.next = self.kept_cases.value.val();
        if self.finish.val() {
            self.busy.d.next = false;
        }
        self.store.record.next = self.after.val();
        self.standings.write_enable.next = self.finish.val() && self.turn_had.q.val();
        self.standings.write_address.next = self.turn.q.val().index;
        self.standings.write_data.next = self.store.bits.val();
    }

    /// The beat leaves.
    #[hdl_gen]
    pub(super) fn leave(&mut self) {
        self.cut_valid.d.next = self.beat.val()
            || (self.close.val()
                && (self.turn.q.val().chunk_end || (self.turn.q.val().last && self.had.q.val())));
        self.cut_rows.d.next = self.uses.val().get_bits::<6>(0);
        self.cut_thin.d.next = self.turn.q.val().thin_rows != 0;
        self.cut_whole.d.next = self.whole.val();
        self.cut.d.next.start = self.start.q.val();
        // A beat of rows of 3 bytes has 21 of them.
        self.cut.d.next.bytes = 64.into();
        if self.turn.q.val().thin_rows.get_bit(0) {
            self.cut.d.next.bytes = 63.into();
        }
        self.cut.d.next.row_bytes = self.turn.q.val().row_bytes;
        self.cut.d.next.dest = self.turn.q.val().dest;
        self.cut.d.next.slot = self.turn.q.val().slot;
        self.cut.d.next.message_start = self.beat.val() && !self.open.q.val();
        self.cut.d.next.message_end = self.message_end.val()
            || (self.close.val() && self.turn.q.val().last && self.open.q.val());
        self.cut.d.next.message_bytes = 0.into();
        if self.turn.q.val().measured && self.beat.val() && !self.open.q.val() {
            self.cut.d.next.message_bytes = self.turn.q.val().tail_bytes;
            if self.fulls.q.val() != 0 {
                self.cut.d.next.message_bytes = self.turn.q.val().full_bytes;
            }
        }
        self.cut.d.next.dest_end = self.finish.val() && self.turn.q.val().last && self.had.q.val();
        self.cut.d.next.window_end = self.finish.val() && self.turn.q.val().chunk_end;
    }

    /// Bytes of the beat: rows times their length, in parts, less the start. Only rows of 1 to 3 bytes can be 16
    /// or more in a beat, and such beats start with a row.
    #[hdl_gen]
    pub(super) fn sum_bytes(&mut self) {
        self.sum_valid.d.next = self.cut_valid.q.val();
        self.sum.d.next = self.cut.q.val();
        self.sum_whole.d.next = self.cut_whole.q.val();
        self.sum_low.d.next = 0.into();
        if self.cut_rows.q.val().get_bit(0) {
            self.sum_low.d.next = self.cut.q.val().row_bytes.get_bits::<7>(0);
        }
        if self.cut_rows.q.val().get_bit(1) {
            self.sum_low.d.next =
                self.sum_low.d.val() + (self.cut.q.val().row_bytes << 1).get_bits::<7>(0);
        }
        self.sum_high.d.next = 0.into();
        if self.cut_rows.q.val().get_bit(2) {
            self.sum_high.d.next = (self.cut.q.val().row_bytes << 2).get_bits::<7>(0);
        }
        if self.cut_rows.q.val().get_bit(3) {
            self.sum_high.d.next =
                self.sum_high.d.val() + (self.cut.q.val().row_bytes << 3).get_bits::<7>(0);
        }
        self.sum_rest.d.next = !self.cut.q.val().start.get_bits::<7>(0) + 1;
        if self.cut_thin.q.val() {
            self.sum_rest.d.next = 0.into();
            if self.cut_rows.q.val().get_bit(4) {
                self.sum_rest.d.next = (self.cut.q.val().row_bytes << 4).get_bits::<7>(0);
            }
            if self.cut_rows.q.val().get_bit(5) {
                self.sum_rest.d.next =
                    self.sum_rest.d.val() + (self.cut.q.val().row_bytes << 5).get_bits::<7>(0);
            }
        }
        self.done_valid.d.next = self.sum_valid.q.val();
        self.done.d.next = self.sum.q.val();
        if !self.sum_whole.q.val() {
            self.done.d.next.bytes =
                (self.sum_low.q.val() + self.sum_high.q.val()) + self.sum_rest.q.val();
        }
        self.done_offset.d.next = self.queue.offset.val();
        self.info_in.record.next = self.done.q.val();
        self.infos.in_valid.next = self.done_valid.q.val();
        self.infos.in_data.next = self.info_in.bits.val();
        self.offsets.in_valid.next = self.done_valid.q.val();
        self.offsets.in_data.next = self.done_offset.q.val();
        self.infos.out_ready.next = self.beat_ready.val();
        self.offsets.out_ready.next = self.beat_ready.val();
        self.info_out.bits.next = self.infos.out_data.val();
        self.beat_valid.next = self.infos.out_valid.val();
        self.beat_offset.next = self.offsets.out_data.val();
        self.beat_start.next = self.info_out.record.val().start;
        self.beat_bytes.next = self.info_out.record.val().bytes;
        self.beat_row_bytes.next = self.info_out.record.val().row_bytes;
        self.beat_dest.next = self.info_out.record.val().dest;
        self.beat_slot.next = self.info_out.record.val().slot;
        self.beat_message_start.next = self.info_out.record.val().message_start;
        self.beat_message_end.next = self.info_out.record.val().message_end;
        self.beat_message_bytes.next = self.info_out.record.val().message_bytes;
        self.beat_dest_end.next = self.info_out.record.val().dest_end;
        self.beat_window_end.next = self.info_out.record.val().window_end;

        self.idle.next = !self.groups.out_valid.val()
            && !self.early_valid.q.val()
            && !self.entry_valid.q.val()
            && !self.busy.q.val()
            && !self.cut_valid.q.val()
            && !self.sum_valid.q.val()
            && !self.done_valid.q.val()
            && (self.infos.count.val() == 0);
    }
}
