//! The logic of the pool.

mod blocks;
mod choice;
mod queue;

use super::{Pool, PoolOperation};
use drdma_emit::prelude::*;

impl Logic for Pool {
    #[hdl_gen]
    fn update(&mut self) {
        // The host enables a queue, or all entries are cleared.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();

        self.choose();
        self.take_operation();
        self.look_at_queue();
        match self.operation.q.val() {
            PoolOperation::Renew => self.renew(),
            PoolOperation::Plan => self.apply_plan(),
            PoolOperation::Mark => self.apply_mark(),
            PoolOperation::Give => self.give(),
            PoolOperation::Append => self.append_block(),
            PoolOperation::Rest | PoolOperation::Look | PoolOperation::Pop => {}
        }
        self.access_blocks();
        self.count_places();

        if self.rst.val() {
            self.renews.d.next = false;
            self.has_arrived.d.next = false;
            self.operation.d.next = PoolOperation::Rest;
            self.free_head.d.next = 0.into();
            self.free_tail.d.next = 4095.into();
            self.given.d.next = 0.into();
            self.reserved.d.next = 0.into();
            self.left.d.next = 4096.into();
        }
        self.links.ahead.next = self.free_head.d.val();
        if self.operation.q.val() == PoolOperation::Pop {
            self.links.ahead.next = self.standing.record.val().head;
        }
    }
}
