//! Tables of queue pairs, requests and destinations.

use super::{ASK, Issuer, PART_OF, READ};
use crate::context::QP;
use drdma_emit::prelude::*;

impl Issuer {
    /// The first sequence number is loaded when the host writes the last word of the queue pair's entry.
    #[hdl_gen]
    pub(super) fn load_numbers(&mut self) {
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.start_psns.write_lanes.next = 0.into();
        if self.select.queue_pair.val() && (self.cfg_word.val() == self.psn_word.val()) {
            self.start_psns.write_lanes.next = 1.into();
        }
        self.start_psns.write_address.next = self.cfg_index.val().get_bits::<QP>(0);
        self.start_psns.write_data.next = (self.cfg_data.val() & 0x00ff_ffff).get_bits::<24>(0);
        self.start_psns.read_enable.next = true;
        self.start_psns.read_address.next = self.cfg_index.val().get_bits::<QP>(0);
        self.load.d.next = self.select.state.val();
        self.load_qp.d.next = self.cfg_index.val().get_bits::<QP>(0);
        self.wipe.d.next = self.select.queue_pair.val();
        self.wipe_qp.d.next = self.cfg_index.val().get_bits::<QP>(0);

        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg_index.val().get_bits::<QP>(0);
    }

    /// Requests: a request whose queue has halted by its first event is never begun.
    #[hdl_gen]
    pub(super) fn look_at_queue(&mut self) {
        self.queues.open_valid.next = self.open_valid.val();
        self.queues.open_slot.next = self.open_slot.val();
        self.queues.open_queue.next = self.open_queue.val();
        self.queues.cfg_valid.next = self.cfg_valid.val();
        self.queues.cfg_table.next = self.cfg_table.val();
        self.queues.cfg_index.next = self.cfg_index.val();
        self.queues.cfg_word.next = self.cfg_word.val();
        self.halted_next.next = self.queues.halted_next.val();
        self.queues.queue_halted.next = self.queue_halted.val();
        self.queues.slot.next = self.found.val().slot;
        self.barred.next = self.was_barred.q.val();
        if !self.begun.q.val() {
            self.barred.next = self.queues.over.val();
        }
    }

    /// Reads and writes the table of destinations.
    #[hdl_gen]
    pub(super) fn look_at_destination(&mut self) {
        self.dests.write_lanes.next = 0.into();
        if self.dest_write_valid.val() {
            self.dests.write_lanes.next = 1.into();
        }
        self.dests.write_address.next = self.dest_write_dest.val();
        self.dest_in.record.next = self.dest_write_data.val();
        self.dests.write_data.next = self.dest_in.bits.val();
        self.dests.read_address.next = self.found.val().dest;
        self.dest_qps.write_enable.next = self.dest_write_valid.val();
        self.dest_qps.write_address.next = self.dest_write_dest.val();
        self.dest_qps.write_data.next = self.dest_write_qp.val();
        self.dest_qps.read_address[0].next = self.found.val().dest;

        self.dest_out.bits.next = self.dests.read_data.val();
        self.about.next = self.dest_out.record.val();
        self.asked_in.next = bit_cast::<ASK, 32>(self.ask_write.len.val())
            | (bit_cast::<ASK, 24>(self.ask_write.packets.val()) << 32)
            | (bit_cast::<ASK, 4>(self.ask_write.log_mtu.val()) << 56);
        self.asked.write_lanes.next = 0.into();
        if self.ask_write.valid.val() {
            self.asked.write_lanes.next = 1.into();
        }
        self.asked.write_address.next = self.ask_write.slot.val();
        self.asked.write_data.next = self.asked_in.val();
        self.asked.read_address.next = self.found.val().slot;
        self.asks.next = self.about.val().ask.any();
        self.reads.next = self.about.val().ask == READ;

        self.part_in.next = bit_cast::<PART_OF, 32>(self.part_write.whole.val())
            | (bit_cast::<PART_OF, 1>(self.part_write.resumes.val().into()) << 32)
            | (bit_cast::<PART_OF, 1>(self.part_write.pauses.val().into()) << 33);
        self.parts.write_lanes.next = 0.into();
        if self.part_write.valid.val() {
            self.parts.write_lanes.next = 1.into();
        }
        self.parts.write_address.next = self.part_write.slot.val();
        self.parts.write_data.next = self.part_in.val();
        self.parts.read_address.next = self.found.val().slot;
        self.whole.next = self.parts.read_data.val().get_bits::<32>(0);
        self.resumes.next = self.parts.read_data.val().get_bit(32);
        self.pauses.next = self.parts.read_data.val().get_bit(33);
    }
}
