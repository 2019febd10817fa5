//! Queues: the requests that are open, and those that are done.

use super::super::GOES_ON;
use super::{NAME, Retire};
use crate::context::{CQ, QUEUE};
use drdma_emit::prelude::*;

impl Retire {
    /// A request is opened: it becomes the latest one of its queue.
    #[hdl_gen]
    pub(super) fn open(&mut self) {
        self.names.write_enable.next = self.open.val();
        self.names.write_address.next = self.open_slot.val();
        self.names.write_data.next = bit_cast::<NAME, 64>(self.open_wr_id.val())
            | (bit_cast::<NAME, QUEUE>(self.open_queue.val()) << 64);
        self.marks.write_enable.next = self.open.val();
        self.marks.write_address.next = self.open_slot.val();
        self.marks.write_data.next = bit_cast::<33, 32>(self.open_position.val())
            | (bit_cast::<33, 1>(self.open_unsignaled.val().into()) << 32);
        self.queues[0].ahead.next = self.next_open_queue.val();
        self.opened.next = self.queues[0].read_data.val();
        self.record_write.next = self.open.val();
        self.record_queue.next = self.open_queue.val();
        self.record_data.next = bit_cast::<17, 8>(self.open_slot.val())
            | (bit_cast::<17, 8>(self.opened.val().get_bits::<8>(8)) << 8)
            | (bit_cast::<17, 1>(1.into()) << 16);
        if !self.opened.val().get_bit(16) {
            self.record_data.next = bit_cast::<17, 8>(self.open_slot.val())
                | (bit_cast::<17, 8>(self.open_slot.val()) << 8)
                | (bit_cast::<17, 1>(1.into()) << 16);
        }
        self.slot_next.write_enable.next = self.open.val() && self.opened.val().get_bit(16);
        self.slot_next.write_address.next = self.opened.val().get_bits::<8>(0);
        self.slot_next.write_data.next = self.open_slot.val();
    }

    /// The queue of the current request.
    #[hdl_gen]
    pub(super) fn look_at_queue(&mut self) {
        self.rings.cfg_valid.next = self.cfg_valid.val();
        self.rings.cfg_table.next = self.cfg_table.val();
        self.rings.cfg_index.next = self.cfg_index.val();
        self.rings.cfg_word.next = self.cfg_word.val();
        self.rings.cfg_data.next = self.cfg_data.val();
        self.rings.advance.next = false;
        self.rings.restart_valid.next = self.restart.val();
        self.rings.restart_index.next = self.restart_index.val();
        self.record.next = self.queues[1].read_data.val();
        self.is_oldest.d.next = self.record.val().get_bit(16)
            && (self.record.val().get_bits::<8>(8) == self.at_slot.q.val());
        self.is_last.next =
            self.record.val().get_bits::<8>(0) == self.record.val().get_bits::<8>(8);
        self.is_part.next = self.result_of.q.val().get_bit(GOES_ON) && !self.failed.q.val();
        self.is_quiet.d.next =
            self.is_part.val() || (self.mark.q.val().get_bit(32) && !self.failed.q.val());
        self.is_silent.d.next = self.silent.read_data.val().get_bit(0);
        self.silent.write_enable.next = false;
        self.silent.write_address.next = self.name.q.val().get_bits::<QUEUE>(64);
        self.silent.write_data.next = 1.into();
        self.slot_next.read_address[0].next = self.at_slot.q.val();
        self.parking.read_address[0].next = self.follows_slot.q.val();
        self.parking.write_enable.next = false;
        self.parking.write_address.next = self.at_slot.q.val();
        self.parking.write_data.next = 1.into();
    }

    /// If the request behind the one that left is parked, it is announced again.
    #[hdl_gen]
    pub(super) fn announce(&mut self) {
        if self.follows.q.val() {
            self.parking.write_address.next = self.follows_slot.q.val();
            self.parking.write_data.next = 0.into();
            if !self.parking.read_data[0].val().get_bit(0) {
                self.follows.d.next = false;
            } else if !self.is_done.q.val() {
                self.follows.d.next = false;
                self.announced.in_valid.next = true;
                self.announced.in_data.next = self.follows_slot.q.val();
                self.parking.write_enable.next = true;
            }
        }

        self.over.next = false;
        self.leaves.next = false;
        self.frees.next = false;
        self.retired.next = false;
    }

    /// A request that is being opened has priority for the lists.
    #[hdl_gen]
    pub(super) fn write_lists(&mut self) {
        if self.leaves.val() {
            self.frees.next = true;
            self.over.next = true;
            self.record_write.next = true;
            self.record_queue.next = self.name.q.val().get_bits::<QUEUE>(64);
            self.record_data.next = 0.into();
            self.follows_slot.d.next = self.slot_next.read_data[0].val();
            if !self.is_last.val() {
                self.follows.d.next = true;
                self.record_data.next = bit_cast::<17, 8>(self.record.val().get_bits::<8>(0))
                    | (bit_cast::<17, 8>(self.slot_next.read_data[0].val()) << 8)
                    | (bit_cast::<17, 1>(1.into()) << 16);
            }
        }
        self.announced.out_ready.next = !self.next.q.val();
        if !self.next.q.val() {
            self.next.d.next = self.announced.out_valid.val();
            self.next_slot.d.next = self.announced.out_data.val();
        }
    }

    /// Slots.
    #[hdl_gen]
    pub(super) fn free_slot(&mut self) {
        self.slots.in_valid.next = self.frees.val();
        self.slots.in_data.next = self.at_slot.q.val();
        self.slots.out_ready.next = self.slot_free_ready.val();
        self.slot_free_valid.next = self.slots.out_valid.val();
        self.slot_free_slot.next = self.slots.out_data.val();
        if self.open.val() && !self.frees.val() {
            self.open_count.d.next = self.open_count.q.val() + 1;
        }
        if !self.open.val() && self.frees.val() {
            self.open_count.d.next = self.open_count.q.val() - 1;
        }
        self.busy.next =
            self.open_count.q.val().any() || self.receiving.val() || self.waits.q.val();
    }

    /// Queues that are forgotten.
    #[hdl_gen]
    pub(super) fn forget(&mut self) {
        self.renewed.d.next = self.queue.val();
        self.queues[2].ahead.next = self.next_queue.val();
        self.record_of.d.next = self.queues[2].read_data.val();
        self.used.next = self.record_of.q.val().get_bit(16);
        self.head.next = self.record_of.q.val().get_bits::<8>(8);
        self.tail.next = self.record_of.q.val().get_bits::<8>(0);
        self.slot_next.read_address[1].next = self.slot.val();
        self.follower_of.d.next = self.slot_next.read_data[1].val();
        self.follower.next = self.follower_of.q.val();
        self.parking.read_address[1].next = self.slot.val();
        self.parked_of.d.next = self.parking.read_data[1].val().get_bit(0);
        self.parked.next = self.parked_of.q.val();
        if self.unpark.val() {
            self.parking.write_enable.next = true;
            self.parking.write_address.next = self.slot.val();
            self.parking.write_data.next = 0.into();
        }
        self.renews.d.next = self.renew.val() && !self.rst.val();
        self.renews_queue.d.next = self.renewed.q.val();
        if self.renews.q.val() {
            self.record_write.next = true;
            self.record_queue.next = self.renews_queue.q.val();
            self.record_data.next = 0.into();
            self.silent.write_enable.next = true;
            self.silent.write_address.next = self.renews_queue.q.val();
            self.silent.write_data.next = 0.into();
        }
        if self.clear.val() {
            self.parking.write_enable.next = true;
            self.parking.write_address.next = self.clear_index.val().get_bits::<8>(0);
            self.parking.write_data.next = 0.into();
            self.record_write.next = true;
            self.record_queue.next = self.clear_index.val();
            self.record_data.next = 0.into();
            self.silent.write_enable.next = true;
            self.silent.write_address.next = self.clear_index.val();
            self.silent.write_data.next = 0.into();
            self.rings.restart_valid.next = true;
            self.rings.restart_index.next = self.clear_index.val().get_bits::<CQ>(0);
            if self.clear_index.val() < 256 {
                self.slots.in_valid.next = true;
                self.slots.in_data.next = self.clear_index.val().get_bits::<8>(0);
            }
        }
    }
}
