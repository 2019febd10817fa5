//! Groups of keys.

use super::super::Partitioner;
use drdma_emit::prelude::*;

impl Partitioner {
    /// Takes a group when the hashes of the keys before are ready.
    #[hdl_gen]
    pub(super) fn take_group(&mut self) {
        self.groups.next =
            bit_cast::<7, 5>((self.cut.output.data.val().read.rows - 1).get_bits::<5>(3)) + 1;
        self.settled.next = self.cut.output.data.val().read.opens
            || ((self.hashed.q.val() + bit_cast::<7, 1>(self.has_group.q.val().into()))
                < self.groups.val());
        self.moves.next = !self.complete.q.val() || self.made.input.ready.val();
        self.is_done.next = self.moves.val();
        if self.group.q.val().read.splitters {
            self.is_done.next = true;
        } else if self.current.q.val().range {
            self.is_done.next = self.moves.val() && self.started.q.val() && self.range.done.val();
        }
        self.leaves.next = self.has_group.q.val() && self.is_done.val();
        self.takes.next = self.cut.output.valid.val()
            && self.settled.val()
            && (!self.has_group.q.val() || self.leaves.val());
        self.cut.output.ready.next =
            self.settled.val() && (!self.has_group.q.val() || self.leaves.val());
        if self.leaves.val() {
            self.has_group.d.next = false;
            self.started.d.next = false;
        }
        if self.takes.val() {
            self.has_group.d.next = true;
            self.group.d.next = self.cut.output.data.val();
        }
        self.state.read_enable.next = self.takes.val();
        self.state.read_address.next = self.cut.output.data.val().place;
    }

    /// By range, the partition replaces the hash.
    #[hdl_gen]
    pub(super) fn find_partition(&mut self) {
        self.range.place.next = self.group.q.val().place;
        self.range.key_type.next = self.group.q.val().read.key_type;
        self.range.log_width.next = self.group.q.val().read.log_width;
        self.range.splitters.next = (self.current.q.val().partitions - 1).get_bits::<8>(0);
        self.range.store.next = self.has_group.q.val() && self.group.q.val().read.splitters;
        self.range.start.next = self.has_group.q.val()
            && self.current.q.val().range
            && !self.group.q.val().read.splitters
            && !self.started.q.val();
        if self.range.start.val() {
            self.started.d.next = true;
        }
        for k in 0..8 {
            self.range.values[k].next = self.group.q.val().values[k];
            self.so_far[k].next = self.state.read_data.val().get_bits::<32>(k * 32);
            if self.group.q.val().read.opens {
                self.so_far[k].next = self.current.q.val().seed;
            }
            if self.current.q.val().range {
                self.so_far[k].next = bit_cast::<32, 8>(self.range.counts[k].val());
                if self.group.q.val().nulls.get_bit(k) {
                    self.so_far[k].next = 0.into();
                }
            }
        }
    }
}
