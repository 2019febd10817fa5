//! Blocks, and the lists that they are in.

use super::super::{
    FEW, MANY, MANY_BIT, Pool, PoolOperation, REFILL, REFILL_OF_MANY, REGIONS_AT, STORED, TYPES_AT,
    UNREAD_BIT,
};
use crate::receive::receives::record::{HELD, REGIONS};
use drdma_emit::prelude::*;

impl Pool {
    /// The tables: the state of the queue, the blocks, and the lists.
    #[hdl_gen]
    pub(super) fn access_blocks(&mut self) {
        self.changed.record.next = self.then.val();
        self.states.write_data.next = self.changed.bits.val();

        self.blocks.write_address.next = self.free_head.q.val();
        self.many.next = self.arrived.q.val().data.get_bits::<32>(TYPES_AT).any()
            || (self.arrived.q.val().data.get_bits::<REGIONS>(REGIONS_AT) > FEW);
        self.blocks.write_data.next = bit_cast::<STORED, 512>(self.arrived.q.val().data)
            | (bit_cast::<STORED, 1>(self.arrived.q.val().error.into()) << UNREAD_BIT as u64)
            | (bit_cast::<STORED, 1>(self.many.val().into()) << MANY_BIT as u64);
        self.blocks.read_enable.next = self.operation.q.val() == PoolOperation::Pop;
        self.blocks.read_address.next = self.standing.record.val().head;
        self.links.write_enable.next = self.link_writes.val();
        self.links.write_address.next = self.link_at.val();
        self.links.write_data.next = self.link_to.val();
    }

    /// Counts places: blocks that are given back or reserved count a cycle later.
    #[hdl_gen]
    pub(super) fn count_places(&mut self) {
        self.left.d.next = (self.left.q.val() + bit_cast::<13, HELD>(self.given.q.val()))
            - bit_cast::<13, 5>(self.reserved.q.val());
        self.unreserved.next = self.left.q.val();
        self.refill.d.next = REFILL.into();
        if self.left.q.val() > MANY {
            self.refill.d.next = REFILL_OF_MANY.into();
        }
    }
}
