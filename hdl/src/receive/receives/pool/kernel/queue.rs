//! Operations on a queue.

use super::super::{MANY_BIT, Pool, PoolOperation, UNREAD_BIT};
use crate::receive::receives::record::{APPEND_BIT, HELD, MarkKind, PoppedKind};
use drdma_emit::prelude::*;

impl Pool {
    /// The queue of the operation that was chosen in the cycle before, and its first block.
    #[hdl_gen]
    pub(super) fn look_at_queue(&mut self) {
        self.standing.bits.next = self.states.read_data.val();
        self.then.next = self.standing.record.val();
        self.states.write_enable.next = self.operation.q.val() != PoolOperation::Rest;
        self.states.write_address.next = self.queue.q.val();
        self.seen.next = self.standing.record.val();
        self.usable.next = self.standing.record.val().enabled
            && !self.standing.record.val().halted
            && (self.asked.q.val().flush == self.standing.record.val().flushing)
            && (!self.asked.q.val().goes_on
                || (self.asked.q.val().life == self.standing.record.val().life));
        self.stays.next = self.asked.q.val().keeps
            && self.blocks.read_data.val().get_bit(APPEND_BIT)
            && !self.blocks.read_data.val().get_bit(UNREAD_BIT);
        self.no_room.next = self.asked.q.val().keeps
            && self.blocks.read_data.val().get_bit(MANY_BIT)
            && !self.blocks.read_data.val().get_bit(UNREAD_BIT)
            && !self.many_room.val();
        self.popped.valid.next = false;
        self.popped.kind.next = PoppedKind::Nothing;
        self.popped.data.next = self.blocks.read_data.val().get_bits::<512>(0);
        self.popped.error.next = self.blocks.read_data.val().get_bit(UNREAD_BIT);
        self.popped.position.next = self.standing.record.val().position;
        self.popped.posted.next =
            self.standing.record.val().producer - self.standing.record.val().position;
        self.popped.life.next = self.standing.record.val().life;
        self.list.valid.next = false;
        self.list.queue.next = self.queue.q.val();
        self.link_writes.next = false;
        self.link_at.next = self.free_tail.q.val();
        self.link_to.next = self.standing.record.val().head;
        self.blocks.write_lanes.next = 0.into();
        self.given.d.next = 0.into();
        self.reserved.d.next = 0.into();
    }

    /// Gives the blocks of the queue back, and begins its next life.
    #[hdl_gen]
    pub(super) fn renew(&mut self) {
        self.then.next.producer = 0.into();
        self.then.next.position = 0.into();
        self.then.next.here = 0.into();
        self.then.next.held = 0.into();
        self.then.next.life = self.standing.record.val().life + 1;
        self.then.next.enabled = self.enabling.q.val();
        self.then.next.halted = false;
        self.then.next.more = false;
        if self.wiping.q.val() {
            // Clearing all tables: every block is free.
            self.then.next.life = 0.into();
            self.then.next.listed = false;
            self.then.next.flushing = false;
            self.link_writes.next = true;
            self.link_at.next = self.queue.q.val();
            self.link_to.next = self.queue.q.val() + 1;
        } else if self.standing.record.val().here.any() {
            self.link_writes.next = true;
            self.free_tail.d.next = self.standing.record.val().tail;
            self.given.d.next = self.standing.record.val().here;
        }
    }

    /// Counts the blocks that a plan of the planner reads.
    #[hdl_gen]
    pub(super) fn apply_plan(&mut self) {
        self.reserved.d.next = self.planned.q.val().blocks;
        self.then.next.listed = self.planned.q.val().lists
            || (self.standing.record.val().listed && !self.planned.q.val().unlists);
        self.list.valid.next = self.planned.q.val().lists
            && (self.planned.q.val().unlists || !self.standing.record.val().listed);
        if self.planned.q.val().life == self.standing.record.val().life {
            self.then.next.producer = self.planned.q.val().producer;
            self.then.next.more = self.planned.q.val().more;
            self.then.next.held =
                self.standing.record.val().held + bit_cast::<HELD, 5>(self.planned.q.val().blocks);
        }
    }

    /// Changes the queue's flags.
    #[hdl_gen]
    pub(super) fn apply_mark(&mut self) {
        if self.marked.q.val().kind == MarkKind::Flush {
            self.then.next.flushing = true;
        } else if self.marked.q.val().kind == MarkKind::Calm {
            self.then.next.flushing = false;
        } else if self.marked.q.val().life == self.standing.record.val().life {
            self.then.next.halted = true;
        }
    }

    /// Gives the first block to the taker.
    #[hdl_gen]
    pub(super) fn give(&mut self) {
        self.popped.valid.next = true;
        if self.usable.val() && !(self.standing.record.val().here.any() && self.no_room.val()) {
            if self.standing.record.val().here.any() {
                self.popped.kind.next = PoppedKind::Block;
                if !self.stays.val() {
                    self.then.next.head = self.links.read_data.val();
                    self.then.next.here = self.standing.record.val().here - 1;
                    self.then.next.held = self.standing.record.val().held - 1;
                    self.then.next.position = self.standing.record.val().position + 1;
                    self.then.next.halted = self.asked.q.val().flush;
                    self.link_writes.next = true;
                    self.free_tail.d.next = self.standing.record.val().head;
                    self.given.d.next = 1.into();
                    self.list.valid.next = self.standing.record.val().more
                        && !self.standing.record.val().listed
                        && (self.standing.record.val().held <= self.refill.q.val());
                }
            } else {
                if self.standing.record.val().held.any() || self.standing.record.val().more {
                    self.popped.kind.next = PoppedKind::Later;
                }
                self.list.valid.next = !self.standing.record.val().held.any()
                    && self.standing.record.val().more
                    && !self.standing.record.val().listed;
            }
            if self.list.valid.val() {
                self.then.next.listed = true;
            }
        }
    }

    /// Appends a block that has come.
    #[hdl_gen]
    pub(super) fn append_block(&mut self) {
        if self.arrived.q.val().life == self.standing.record.val().life {
            self.blocks.write_lanes.next = 1.into();
            self.free_head.d.next = self.links.read_data.val();
            self.then.next.tail = self.free_head.q.val();
            self.then.next.here = self.standing.record.val().here + 1;
            if self.standing.record.val().here.any() {
                self.link_writes.next = true;
                self.link_at.next = self.standing.record.val().tail;
                self.link_to.next = self.free_head.q.val();
            } else {
                self.then.next.head = self.free_head.q.val();
            }
        } else {
            self.given.d.next = 1.into();
        }
    }
}
