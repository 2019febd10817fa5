//! Beats, and the places of their bytes.

use super::Addresser;
use crate::layout::windows::WINDOW_INDEX;
use drdma_emit::prelude::*;

impl Addresser {
    /// A beat is taken; the next window's table takes over with the last one of this window.
    #[hdl_gen]
    pub(super) fn take_beat(&mut self) {
        self.beat_ready.next = self.active.q.val() && (self.queue.free.val() > 7);
        self.take.next = self.beat_valid.val() && self.beat_ready.val();
        if self.take.val() && self.beat_window_end.val() {
            self.active.d.next = false;
        }
        self.load.next = self.filled.q.val()
            && (!self.active.q.val() || (self.take.val() && self.beat_window_end.val()));
        if self.load.val() {
            self.active.d.next = true;
            self.window.d.next = self.filled_window.q.val();
            self.thin.d.next = self.filled_thin.q.val();
            self.table.d.next = self.table.q.val() ^ !self.filled_alike.q.val();
            self.filled.d.next = false;
            self.fill_done.d.next = false;
            self.fill_word.d.next = 0.into();
        }
    }

    /// The beat's part of the table; lookups; sums.
    #[hdl_gen]
    pub(super) fn look_up(&mut self) {
        self.stages.d.next = (self.stages.q.val() << 1) | bit_cast::<5, 1>(self.take.val().into());
        self.side.next = bit_cast::<65, 32>(self.beat_message_bytes.val())
            | (bit_cast::<65, 10>(self.beat_dest.val()) << 32)
            | (bit_cast::<65, 8>(self.beat_slot.val()) << 42)
            | (bit_cast::<65, 7>(self.beat_bytes.val()) << 50)
            | (bit_cast::<65, 1>(self.beat_message_start.val().into()) << 57)
            | (bit_cast::<65, 1>(self.beat_message_end.val().into()) << 58)
            | (bit_cast::<65, 1>(self.beat_dest_end.val().into()) << 59)
            | (bit_cast::<65, 1>(self.beat_window_end.val().into()) << 60)
            | (bit_cast::<65, WINDOW_INDEX>(self.window.q.val()) << 61);
        self.tables.read.next = self.take.val();
        self.tables.read_table.next = self.table.q.val();
        self.tables.start.next = self.beat_start.val();
        if self.take.val() {
            self.beat_offsets.d.next = self.beat_offset.val();
            self.beat_thin.d.next = self.thin.q.val();
        }
        for p in 0..64 {
            self.places.parts[p].next = self.tables.entries.val().get_bits::<15>(p * 27);
            self.steps.parts[p].next = self.tables.entries.val().get_bits::<8>(p * 27 + 15);
            self.rows.parts[p].next = self.tables.entries.val().get_bits::<4>(p * 27 + 23);
        }
        self.side_0.d.next = self.side.val();
        self.side_1.d.next = self.side_0.q.val();
        self.side_2.d.next = self.side_1.q.val();
        self.side_3.d.next = self.side_2.q.val();
        self.side_4.d.next = self.side_3.q.val();
        self.offsets.enable.next = self.stages.q.val().get_bit(0);
        self.offsets.entries.next = self.beat_offsets.q.val();
        self.offsets.each.next = self.beat_thin.q.val();
        self.offsets.indices.next = self.rows.whole.val();
        if self.stages.q.val().get_bit(0) {
            self.later_places.d.next = self.places.whole.val();
            self.later_steps.d.next = self.steps.whole.val();
        }
        self.addresses.enable.next = self.stages.q.val().get_bits::<3>(1);
        self.addresses.a.next = self.offsets.results.val();
        self.addresses.b.next = self.later_steps.q.val();
        self.addresses.c.next = self.later_places.q.val();
    }

    /// The bytes leave.
    #[hdl_gen]
    pub(super) fn leave(&mut self) {
        self.mask.next = !(self.ones.val() << self.side_4.q.val().get_bits::<7>(50));
        self.result.a.next = self.addresses.sums.val();
        self.result.b.next = self.side_4.q.val();
        self.result.c.next = self.mask.val().get_bits::<32>(0);
        self.result.d.next = self.mask.val().get_bits::<32>(32);
        self.queue.in_valid.next = self.stages.q.val().get_bit(4);
        self.queue.in_data.next = self.result.whole.val();
        self.queue.out_ready.next = self.bytes_ready.val();
        self.bytes_valid.next = self.queue.out_valid.val();
        for p in 0..64 {
            self.ram.parts[p].next =
                self.queue.out_data.val().get_bits::<15>(p * 15).get_bits::<17>(0);
        }
        self.bytes_ram.next = self.ram.whole.val();
        self.bytes_message_bytes.next = self.queue.out_data.val().get_bits::<32>(960);
        self.bytes_dest.next = self.queue.out_data.val().get_bits::<10>(992);
        self.bytes_slot.next = self.queue.out_data.val().get_bits::<8>(1002);
        self.bytes_bytes.next = self.queue.out_data.val().get_bits::<7>(1010);
        self.bytes_message_start.next = self.queue.out_data.val().get_bit(1017);
        self.bytes_message_end.next = self.queue.out_data.val().get_bit(1018);
        self.bytes_dest_end.next = self.queue.out_data.val().get_bit(1019);
        self.bytes_window_end.next = self.queue.out_data.val().get_bit(1020);
        self.bytes_window.next = self.queue.out_data.val().get_bits::<WINDOW_INDEX>(1021);
        self.bytes_mask.next = self.queue.out_data.val().get_bits::<64>(1025);
        self.bytes_beat_end.next = true;
        self.bytes_request_end.next = false;
        self.bytes_status.next = 0.into();
        self.bytes_bad_dest.next = 0.into();
    }
}
