//! Plans and reads.

use super::super::Planner;
use crate::receive::receives::record::HELD;
use drdma_emit::prelude::*;

impl Planner {
    /// The plan for the queue, and its read.
    #[hdl_gen]
    pub(super) fn fill_plan(&mut self) {
        self.doorbell.join(&mut self.bells.input);
        self.bells.output.ready.next = false;
        // That a queue is listed is known late.
        self.is_listed.d.next = self.list.valid.val();
        self.listed.d.next = self.list.queue.val();
        self.work.input.valid.next = self.is_listed.q.val();
        self.work.input.data.next.queue = self.listed.q.val();
        self.work.output.ready.next = false;
        self.look.valid.next = false;
        self.look.queue.next = self.queue.q.val();
        self.plan.valid.next = false;
        self.plan.queue.next = self.queue.q.val();
        self.plan.life.next = self.then.q.val().life;
        self.plan.producer.next = self.target.q.val();
        self.plan.blocks.next = self.cut.q.val();
        self.plan.more.next = self.wanted.q.val() != bit_cast::<17, 5>(self.cut.q.val());
        // More could be read at once, were it not for the ring's end or the length of a read.
        self.plan.lists.next = self.plan.more.val()
            && self.cut.q.val().any()
            && (self.room.q.val() != bit_cast::<HELD, 5>(self.cut.q.val()));
        self.plan.unlists.next = !self.rings_bell.q.val();
        self.read.valid.next = false;
        self.read.addr.next = self.addr.q.val();
        self.read.bytes.next = bit_cast::<13, 5>(self.cut.q.val()) << 6;
        self.reads.input.valid.next = false;
        self.reads.input.data.next.queue = self.queue.q.val();
        self.reads.input.data.next.life = self.then.q.val().life;
        self.tells.next = self.good.q.val() && self.then.q.val().flushing;
        self.flush.valid.next = false;
        self.flush.qp.next = self.owner.q.val();
    }

    /// Gives the pool the blocks that the reads bring, in their order.
    #[hdl_gen]
    pub(super) fn append_blocks(&mut self) {
        self.append.valid.next = self.beat.valid.val() && self.reads.output.valid.val();
        self.beat.ready.next = self.append.ready.val() && self.reads.output.valid.val();
        self.append.queue.next = self.reads.output.data.val().queue;
        self.append.life.next = self.reads.output.data.val().life;
        self.append.data.next = self.beat.data.val();
        self.append.error.next = self.beat.error.val();
        self.reads.output.ready.next =
            self.beat.valid.val() && self.append.ready.val() && self.beat.last.val();
    }
}
