//! How the parts of the walk are connected.

use super::Kinds;
use super::record::CHUNK_BYTES;
use crate::request::FIXED;
use drdma_emit::prelude::*;

impl<const LENGTHS: usize, const RECORDS: usize, const VALUES: usize>
    Kinds<LENGTHS, RECORDS, VALUES>
{
    /// Stores what the decoder writes of lanes and sets.
    #[hdl_gen]
    pub(super) fn write_tables(&mut self) {
        self.lane_new.next.base = self.lane_write.base.val();
        self.lane_new.next.kind = self.lane_kind.val().kind;
        self.lane_new.next.log_entry = self.lane_kind.val().log_entry;
        self.lane_new.next.width = self.lane_kind.val().width;
        self.lane_new.next.addr = self.lane_kind.val().addr;
        self.lane_new.next.number = self.lane_kind.val().number;
        if self.lane_kind.val().kind == FIXED {
            self.lane_new.next.number = self.lane_write.len.val();
        }
        self.lane_in.record.next = self.lane_new.val();
        self.lanes.write_lanes.next = bit_cast::<1, 1>(self.lane_write.valid.val().into());
        self.lanes.write_address.next = (bit_cast::<15, 11>(self.lane_write.set.val()) << 4)
            | bit_cast::<15, 4>(self.lane_write.lane.val());
        self.lanes.write_data.next = self.lane_in.bits.val();
        self.unused.next = self.lane_write.inline.val() || self.lane_write.step.val().any();
        self.set_in.record.next = self.set_kinds.val();
        self.sets.write_lanes.next = bit_cast::<1, 1>(self.set_valid.val().into());
        self.sets.write_address.next = self.set_index.val();
        self.sets.write_data.next = self.set_in.bits.val();
        self.sets.read_enable.next = true;
        self.sets.read_address.next = self.lister.set_read.val();
        self.set.bits.next = self.sets.read_data.val();
    }

    /// Connects the walk of a request: its lister, follower and giver.
    #[hdl_gen]
    pub(super) fn judge_request(&mut self) {
        self.lister.start.next = self.start.val();
        self.lister.dests.next = self.dests.val();
        self.lister.first_dest.next = self.first_dest.val();
        self.lister.next_valid.next = self.next_valid.val();
        self.lister.request_slot.next = self.slot.val();
        self.lister.next_slot.next = self.next_slot.val();
        self.lister.next_dests.next = self.next_dests.val();
        self.lister.next_first_dest.next = self.next_first_dest.val();
        self.lister.forget.next = self.forget.val();
        self.lister.dest_info.next = self.dest_info.val();
        self.lister.set_info.next = self.set_info.val();
        self.lister.bounds.next = self.bounds.val();
        self.lister.set_kinds.next = self.set.record.val();
        self.lister.refused.next = self.giver.failed.val();
        self.lister.refused_dest.next = self.giver.dest.val();
        self.lister.too_long.next = self.giver.too_long.val();
        self.lister.kept.next = self.giver.kept.val();
        self.lister.total.next = self.giver.total.val();
        self.lister.plan_done.next = self.planner.done.val();
        self.lister.plan.next = self.planner.plan.val();
        self.dest_read.next = self.lister.dest_read.val();
        self.set_read.next = self.lister.set_read.val();
        self.done.next = self.lister.done.val();
        self.status.next = self.lister.status.val();
        self.bad_dest.next = self.lister.bad_dest.val();
        self.clears.next = self.lister.clears.val();
        self.follower.clear.next = self.clears.val();
        self.follower.pd.next = self.lister.pd.val();
        self.cfg.join(&mut self.follower.cfg);
        self.giver.clear.next = self.clears.val();
        self.giver.slot.next = self.slot.val();
        // Where values are sent as they are judged, they wait until there is room to keep them.
        self.giver.value.valid.next = self.follower.value.valid.val() && self.replay.ready.val();
        self.giver.value.next = self.follower.value.val();
        self.follower.value.ready.next = self.giver.value.ready.val() && self.replay.ready.val();
        self.giver.replays.next = false;
        self.giver.replayed_length.next = 0.into();
        self.giver.led_bytes.next = 0.into();
        self.giver.led_room.next = 0.into();
        self.giver.judged_total.next = 0.into();
    }

    /// Keeps the values as they are judged, and replays them while the next request is judged.
    #[hdl_gen]
    pub(super) fn send_request(&mut self) {
        self.judged.next = self.giver.value.valid.val() && self.giver.value.ready.val();
        self.replay.clear.next = self.clears.val();
        self.replay.streams.next = self.lister.streams.val();
        self.replay.judged.valid.next =
            self.judged.val() && !self.follower.value.give.val() && !self.giver.failed.val();
        self.replay.judged.next = self.follower.value.val();
        self.replay.length.next = self.giver.length.val();
        self.replay.send.next = self.lister.send.val();
        self.replay.marks.next = self.lister.marks.val();
        self.replay.merges.next = self.lister.merges.val();
        self.replay.lead.next = self.lister.lead.val();
        self.replay.value.join(&mut self.sender.value);
        self.replay.begun.next = self.sender.begun.val();
        self.sender.clear.next = self.lister.send.val();
        self.sender.slot.next = self.slot.val();
        self.sender.replays.next = true;
        self.sender.replayed_length.next = self.replay.told.val();
        self.sender.led_bytes.next = self.replay.led_bytes.val();
        self.sender.led_room.next = self.replay.led_room.val();
        self.sender.judged_total.next = self.giver.total.val();
        if self.lister.streams.val() {
            self.sender.judged_total.next = CHUNK_BYTES.into();
        }
        self.lister.full.next = self.replay.full.val();
        self.lister.has_room.next = self.replay.has_room.val();
        self.lister.room_for_rows.next = self.room_for_rows.val();
        self.lister.least_rows.next = self.least_rows.val();
        // A register, so that the beginning of a request does not wait for what is known of the last tokens. In the
        // cycle behind `send`, nothing has begun to be sent.
        self.was_sent.d.next =
            !self.replay.busy.val() && self.sender.idle.val() && !self.lister.send.val();
        self.lister.sent.next = self.was_sent.q.val();
        self.unused_judged.next = self.giver.begun.val()
            || self.sender.length.val().any()
            || self.sender.failed.val()
            || self.sender.too_long.val()
            || self.sender.dest.val().any()
            || self.sender.kept.val()
            || self.sender.total.val().any();
    }

    /// Connects the lines with what reads from them.
    #[hdl_gen]
    pub(super) fn join_lines(&mut self) {
        self.lines.clear.next = self.clears.val();
        self.placed.output.join(&mut self.lines.placed);
        self.lines.product.valid.next = self.products.out_valid.val();
        self.lines.product.bytes.next = self.products.out_data.val();
        self.products.out_ready.next = self.lines.product.ready.val();
        self.lines.entry.join(&mut self.follower.entry);
        self.lines.answer.join(&mut self.follower.answer);
    }

    /// Tokens and made bytes leave: those of the sender while a request is replayed, else those of the giver.
    #[hdl_gen]
    pub(super) fn give_tokens(&mut self) {
        // A register, so that no path leads from what the sender sends to what the giver takes.
        self.sends.d.next = self.lister.send.val()
            || (self.sends.q.val() && (self.lister.streams.val() || !self.lister.sent.val()));
        self.token_valid.next = self.giver.token_valid.val();
        self.token.next = self.giver.token.val();
        self.giver.token_ready.next = self.token_ready.val() && !self.sends.q.val();
        self.sender.token_ready.next = self.token_ready.val() && self.sends.q.val();
        self.made.valid.next = self.giver.made.valid.val();
        self.made.next = self.giver.made.val();
        self.giver.made.ready.next = self.made.ready.val() && !self.sends.q.val();
        self.sender.made.ready.next = self.made.ready.val() && self.sends.q.val();
        if self.sends.q.val() {
            self.token_valid.next = self.sender.token_valid.val();
            self.token.next = self.sender.token.val();
            self.made.valid.next = self.sender.made.valid.val();
            self.made.next = self.sender.made.val();
        }
    }
}
