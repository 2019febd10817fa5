//! The pipeline of hashes and remainders.

use super::super::hash::HASH_STAGES;
use super::super::{Partitioner, STAGES, STATE_BITS, TWO_WORDS};
use drdma_emit::prelude::*;

impl Partitioner {
    /// Moves the pipeline, which stands still while it is empty.
    #[hdl_gen]
    pub(super) fn advance(&mut self) {
        self.enters.next = self.leaves.val() && !self.group.q.val().read.splitters;
        self.tag.next.purpose = self.group.q.val().read.purpose;
        self.tag.next.purpose.last =
            self.group.q.val().read.purpose.last && self.group.q.val().last;
        self.tag.next.closes = self.group.q.val().read.closes;
        self.tag.next.last = self.group.q.val().last;
        self.tag.next.place = self.group.q.val().place;
        self.tag.next.error = self.group.q.val().error;
        if !self.group.q.val().read.opens {
            self.tag.next.error =
                self.group.q.val().error || self.state.read_data.val().get_bit(256);
        }
        self.tag.next.wide = self.group.q.val().read.purpose.ids.get_bit(1);
        self.tag_in.record.next = self.tag.val();
        self.running.next = self.moves.val() && (self.enters.val() || self.inside.q.val().any());
        self.tag_hashed.enable.next = self.running.val();
        self.tag_hashed.value.next = self.tag_in.bits.val();
        self.tag_made.enable.next = self.running.val();
        self.tag_made.value.next = self.tag_hashed.late.val();
        self.hashed_tag.bits.next = self.tag_hashed.late.val();
        self.made_tag.bits.next = self.tag_made.late.val();
        self.unused.next = self.hashed_tag.record.val();
        self.unused_too.next = self.made_tag.record.val();
        self.leaves_hash.next = self.running.val() && self.valid.q.val().get_bit(HASH_STAGES - 1);
        self.leaves_pipeline.next = self.running.val() && self.valid.q.val().get_bit(STAGES - 1);
        if self.running.val() {
            self.valid.d.next =
                (self.valid.q.val() << 1) | bit_cast::<STAGES, 1>(self.enters.val().into());
        }
        if self.enters.val() && !self.leaves_hash.val() {
            self.hashed.d.next = self.hashed.q.val() + 1;
        } else if !self.enters.val() && self.leaves_hash.val() {
            self.hashed.d.next = self.hashed.q.val() - 1;
        }
        if self.enters.val() && !self.leaves_pipeline.val() {
            self.inside.d.next = self.inside.q.val() + 1;
        } else if !self.enters.val() && self.leaves_pipeline.val() {
            self.inside.d.next = self.inside.q.val() - 1;
        }
    }

    /// Makes the ids of eight keys.
    #[hdl_gen]
    pub(super) fn make_ids(&mut self) {
        for k in 0..8 {
            self.hashes[k].enable.next = self.running.val();
            self.hashes[k].low.next = self.group.q.val().values[k].get_bits::<32>(0);
            self.hashes[k].high.next = self.group.q.val().values[k].get_bits::<32>(32);
            self.hashes[k].two.next = (self.group.q.val().read.log_width == TWO_WORDS)
                || (self.group.q.val().read.log_width == TWO_WORDS + 1);
            self.hashes[k].skip.next =
                self.current.q.val().range || self.group.q.val().nulls.get_bit(k);
            self.hashes[k].so_far.next = self.so_far[k].val();
            self.kept.parts[k].next = self.hashes[k].hash.val();
            self.remainders[k].enable.next = self.running.val();
            self.remainders[k].hash.next = self.hashes[k].hash.val();
            self.remainders[k].partitions.next = self.current.q.val().partitions;
            self.remainders[k].group.next = self.current.q.val().group;
            self.remainders[k].reciprocals.next = self.reciprocals.q.val();
            self.narrow.parts[k].next = self.remainders[k].id.val().get_bits::<8>(0);
            self.wide.parts[k].next = self.remainders[k].id.val();
        }
        self.state.write_lanes.next = bit_cast::<1, 1>(self.leaves_hash.val().into());
        self.state.write_address.next = self.hashed_tag.record.val().place;
        self.state.write_data.next =
            (bit_cast::<STATE_BITS, 1>(self.hashed_tag.record.val().error.into()) << 256)
                | bit_cast::<STATE_BITS, 256>(self.kept.whole.val());
    }
}
