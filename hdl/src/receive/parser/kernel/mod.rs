//! The logic of the parser, in the direction of the data.

mod frames;
mod headers;
mod reports;

use super::{Parser, VERDICT};
use drdma_emit::prelude::*;

impl Logic for Parser {
    #[hdl_gen]
    fn update(&mut self) {
        self.reset.next = self.rst.val() || self.card_reset.val();
        self.s_axis_if_rx.join(&mut self.gate.s_axis_if_rx);
        self.gate.m_axis_if_rx.join(&mut self.m_axis_if_rx);
        self.gate.mac.next = self.mac.val();
        self.gate.ip.next = self.ip.val();
        self.cfg.join(&mut self.gate.cfg);
        self.count_left.next = self.gate.count_left.val();

        self.keep_fields();
        self.store_words();
        self.find_end();
        self.read_headers();
        self.await_verdict();
        self.judge_frame();
        self.report_ack();
        self.report_congestion();
        self.report_answer();
        self.count_losses();

        if self.rst.val() {
            self.here.d.next = false;
        }
        if self.reset.val() {
            self.admitted.d.next = false;
            for k in 0..VERDICT {
                self.ended[k].d.next = false;
            }
        }
    }
}
