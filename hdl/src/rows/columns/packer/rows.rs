//! Rows that come.

use super::super::stride::BEAT;
use super::Packer;
use drdma_emit::prelude::*;

impl Packer {
    /// Rows that stay, and those together with new ones: every case is summed up, then one is selected.
    #[hdl_gen]
    pub(super) fn count_rows(&mut self) {
        self.filled.next = self.waiting.q.val() + bit_cast::<8, 7>(self.entry.q.val().count);
        self.kept_cases.values[0].next = self.waiting.q.val();
        self.kept_cases.values[1].next =
            self.waiting.q.val() - bit_cast::<8, 7>(self.whole_rows.q.val());
        self.kept_cases.values[2].next = self.waiting.q.val() - self.near.q.val().get_bits::<8>(0);
        self.filled_cases.values[0].next = self.filled.val();
        self.filled_cases.values[1].next =
            self.filled.val() - bit_cast::<8, 7>(self.whole_rows.q.val());
        self.filled_cases.values[2].next = self.filled.val() - self.near.q.val().get_bits::<8>(0);
        // All rows that wait leave.
        self.filled_cases.values[3].next = bit_cast::<8, 7>(self.entry.q.val().count);
        self.cases.next = 0.into();
        self.cases.next = self.cases.val().replace_bit(0, !self.beat.val());
        self.cases.next = self.cases.val().replace_bit(1, self.whole.val());
        self.cases.next = self.cases.val().replace_bit(2, self.ending.val());
        self.cases.next = self.cases.val().replace_bit(3, self.flush.val());
        self.kept_cases.choice.next = self.cases.val().get_bits::<3>(0);
        self.filled_cases.choice.next = self.cases.val();
        self.place.d.next = self.place.q.val() + bit_cast::<8, 7>(self.uses.val());
    }

    /// More rows are admitted: of this turn, or the first ones of the next turn.
    #[hdl_gen]
    pub(super) fn admit(&mut self) {
        self.fresh.next = self.finish.val() || !self.busy.q.val();
        self.admit.next = self.entry_valid.q.val()
            && (self.fresh.val() || (!self.turn.q.val().turn_end && (self.waiting.q.val() <= 128)));
        self.standings.read_address[0].next = self.entry.q.val().index;
        self.stored.bits.next = self.standings.read_data[0].val();
        self.earlier.next = self.stored.record.val();
        self.earlier_had.next =
            !self.entry.q.val().first_turn && self.seen.read_data[0].val().any();
        if self.finish.val() && (self.entry.q.val().index == self.turn.q.val().index) {
            self.earlier.next = self.after.val();
            self.earlier_had.next = !self.entry.q.val().first_turn && self.had.q.val();
        }
        self.seen.write_enable.next = false;
        self.seen.write_address.next = self.entry.q.val().index;
        self.seen.write_data.next = 1.into();
        self.seen.read_address[0].next = self.entry.q.val().index;
        self.queue.write.next = self.admit.val();
        if self.admit.val() {
            self.waiting.d.next = self.filled_cases.value.val();
            if self.entry.q.val().count != 0 {
                self.had.d.next = true;
                self.turn_had.d.next = true;
                self.seen.write_enable.next = true;
            } else if self.fresh.val() && self.entry.q.val().first_turn {
                self.seen.write_enable.next = true;
                self.seen.write_data.next = 0.into();
            }
            self.turn.d.next = self.entry.q.val();
            if self.fresh.val() {
                self.busy.d.next = true;
                self.had.d.next = self.earlier_had.val() || (self.entry.q.val().count != 0);
                self.turn_had.d.next = self.entry.q.val().count != 0;
                self.start.d.next = 0.into();
                self.first_rows.d.next = self.entry_rows.q.val();
                self.first_touched.d.next = self.entry_touched.q.val();
                self.first_reach.d.next = self.entry_reach.q.val();
                self.first_exact.d.next = self.entry_exact.q.val();
                self.whole_rows.d.next = self.entry_rows.q.val();
                self.whole_touched.d.next = self.entry_touched.q.val();
                self.whole_reach.d.next = self.entry_reach.q.val();
                self.whole_exact.d.next = self.entry_exact.q.val();
                for k in 0..16 {
                    self.multiple[k].d.next = self.entry_multiple[k].q.val();
                }
                self.open.d.next = self.earlier_had.val() && self.earlier.val().open;
                self.near.d.next = self.entry.q.val().unit_near;
                self.far.d.next = self.entry.q.val().unit_far;
                if self.earlier_had.val() && self.earlier.val().open {
                    self.near.d.next = self.earlier.val().near;
                    self.far.d.next = self.earlier.val().far;
                }
                self.fulls.d.next = self.entry.q.val().full_count;
                if self.earlier_had.val() && (self.earlier.val().set == self.entry.q.val().set) {
                    self.fulls.d.next = self.earlier.val().fulls;
                }
            }
        }
    }

    /// Rows enter, with the values that can be computed of them beforehand.
    #[hdl_gen]
    pub(super) fn enter(&mut self) {
        self.entry_free.next = !self.entry_valid.q.val() || self.admit.val();
        self.early_free.next = !self.early_valid.q.val() || self.entry_free.val();
        self.from_zero.reach.next = BEAT.into();
        self.from_zero.thin_rows.next = self.early.q.val().thin_rows;
        for k in 0..16 {
            self.from_zero.multiple[k].next = self.early_multiple[k].q.val();
        }
        self.queue.load.next = self.early_valid.q.val() && self.entry_free.val();
        self.queue.load_count.next = self.early.q.val().count;
        self.queue.load_offset.next = self.early_offset.q.val();
        self.queue.load_word.next = self.early_word.q.val();
        self.queue.place.next = self.place.q.val();
        if self.entry_free.val() {
            self.entry_valid.d.next = self.early_valid.q.val();
            self.entry.d.next = self.early.q.val();
            for k in 0..16 {
                self.entry_multiple[k].d.next = self.early_multiple[k].q.val();
            }
            self.entry_rows.d.next = self.from_zero.rows.val();
            self.entry_touched.d.next = self.from_zero.touched.val();
            self.entry_reach.d.next = self.from_zero.next_reach.val();
            self.entry_exact.d.next = self.from_zero.exact.val();
        }
        self.bytes.next = bit_cast::<11, 10>(self.context_out.record.val().bytes);
        self.is_long.next = self.context_out.record.val().bytes > 64;
        self.product[0].next = self.bytes.val();
        self.product[1].next = self.bytes.val() << 1;
        self.product[2].next = self.bytes.val() + (self.bytes.val() << 1);
        self.product[3].next = self.bytes.val() << 2;
        self.product[4].next = self.bytes.val() + (self.bytes.val() << 2);
        self.product[5].next = self.product[2].val() << 1;
        self.product[6].next = (self.bytes.val() << 3) - self.bytes.val();
        self.product[7].next = self.bytes.val() << 3;
        self.product[8].next = (self.bytes.val() << 3) + self.bytes.val();
        self.product[9].next = self.product[4].val() << 1;
        self.product[10].next = (self.bytes.val() << 3) + self.product[2].val();
        self.product[11].next = self.product[2].val() << 2;
        self.product[12].next = (self.bytes.val() << 3) + self.product[4].val();
        self.product[13].next = self.product[6].val() << 1;
        self.product[14].next = (self.bytes.val() << 4) - self.bytes.val();
        self.product[15].next = self.bytes.val() << 4;
        self.groups.out_ready.next = self.early_free.val();
        self.contexts.out_ready.next = self.early_free.val();
        if self.early_free.val() {
            self.early_valid.d.next = self.groups.out_valid.val();
            self.early_offset.d.next = self.group_out.record.val().offset;
            self.early_word.d.next = self.group_out.record.val().word;
            for k in 0..16 {
                self.early_multiple[k].d.next = self.product[k].val();
            }
            if self.is_long.val() {
                for k in 1..16 {
                    self.early_multiple[k].d.next = 2047.into();
                }
            }
            self.early.d.next.count = self.group_out.record.val().count;
            self.early.d.next.turn_end = self.group_out.record.val().turn_end;
            self.early.d.next.chunk_end = self.group_out.record.val().chunk_end;
            self.early.d.next.last = self.group_out.record.val().last;
            self.early.d.next.row_bytes = self.context_out.record.val().bytes;
            self.early.d.next.thin_rows = 0.into();
            if self.context_out.record.val().bytes == 1 {
                self.early.d.next.thin_rows = 64.into();
            } else if self.context_out.record.val().bytes == 2 {
                self.early.d.next.thin_rows = 32.into();
            } else if self.context_out.record.val().bytes == 3 {
                self.early.d.next.thin_rows = 21.into();
            }
            self.early.d.next.dest = self.context_out.record.val().dest;
            self.early.d.next.index = self.context_out.record.val().index;
            self.early.d.next.slot = self.context_out.record.val().slot;
            self.early.d.next.set = self.context_out.record.val().set;
            self.early.d.next.first_turn = self.context_out.record.val().first_stretch;
            self.early.d.next.measured = self.context_out.record.val().measured;
            self.early.d.next.full_count = self.context_out.record.val().full_count;
            self.early.d.next.full_bytes = self.context_out.record.val().full_bytes;
            self.early.d.next.tail_bytes = self.context_out.record.val().tail_bytes;
            self.early.d.next.unit_near =
                bit_cast::<9, 7>(self.context_out.record.val().units.get_bits::<7>(0));
            self.early.d.next.unit_far = 0.into();
            if self.context_out.record.val().units.get_bits::<25>(7) != 0 {
                self.early.d.next.unit_near =
                    bit_cast::<9, 7>(self.context_out.record.val().units.get_bits::<7>(0)) | 128;
                self.early.d.next.unit_far =
                    self.context_out.record.val().units.get_bits::<25>(7) - 1;
            }
        }

        self.unused.next = bit_cast::<31, 5>(self.context_out.record.val().lanes)
            | (bit_cast::<31, 16>(self.context_out.record.val().starts) << 5)
            | (bit_cast::<31, 8>(self.context_out.record.val().chunk_blocks) << 21);
        self.unused.next = self.unused.val().replace_bit(29, self.context_out.record.val().fits);
        self.unused.next = self.unused.val().replace_bit(30, self.context_out.record.val().by_lane);
    }
}
