//! How the blocks of the card are wired, room by room, in the order of the data.

mod complete;
mod layout;
mod receive;
mod request;
mod rows;
mod send;
mod shell;

use super::Card;
use drdma_emit::prelude::*;

impl Logic for Card {
    #[hdl_gen]
    fn update(&mut self) {
        // The host's reset reaches everything but the registers' own port and what owes the shell an
        // answer: frames of the host, RAM reads and writes under way.
        self.reset.next = self.rst.val() || self.control.soft_reset.val();

        self.wire_control();
        self.wire_host_read();
        self.wire_queue();
        self.wire_decoder();
        self.wire_sequencer();
        self.wire_expander();
        self.wire_windows();
        self.wire_placer();
        self.wire_columns();
        self.wire_reads();
        self.wire_memory();
        self.wire_bytes();
        self.wire_gather();
        self.wire_segmenter();
        self.wire_keeper();
        self.wire_pacer();
        self.wire_replies();
        self.wire_packetizer();
        self.wire_receive();
        self.wire_asked();
        self.wire_completion();
        self.wire_host_write();
    }
}
