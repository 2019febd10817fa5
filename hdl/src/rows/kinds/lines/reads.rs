//! Reads of blocks, and the bytes that come back.

use super::super::record::LINE;
use super::Lines;
use drdma_emit::prelude::*;

impl Lines {
    /// Reads what is asked for the entry: one read, or two, one after the other.
    #[hdl_gen]
    pub(super) fn read_blocks(&mut self) {
        self.ask.next.addr = self.asked.q.val().addr;
        self.ask.next.bytes = bit_cast::<13, 9>(self.asked.q.val().fill_bytes);
        if self.asked.q.val().alone {
            self.ask.next.bytes = bit_cast::<13, 5>(self.asked.q.val().len);
        } else if self.asked.q.val().loads {
            self.ask.next.bytes = bit_cast::<13, 6>(self.asked.q.val().load_after) + 1;
        } else if !self.asked.q.val().fills || self.second.q.val() {
            self.ask.next.addr = bit_cast::<64, 56>(self.asked.q.val().next_block) << 8;
            self.ask.next.bytes = bit_cast::<13, 8>(self.asked.q.val().last_second) + 1;
        }
        self.second.d.next = self.second.q.val();
        if self.flows.val() {
            self.second.d.next = self.both.val();
        }
        self.reads_out.input.valid.next = self.asked_valid.q.val()
            && self.flows.val()
            && (self.asked.q.val().alone
                || self.asked.q.val().loads
                || self.asked.q.val().fills
                || self.asked.q.val().fills_second);
        self.reads_out.input.data.next = self.ask.val();
        self.reads_out.output.join(&mut self.read);
    }

    /// Says where the entry's bytes will be.
    #[hdl_gen]
    pub(super) fn name_source(&mut self) {
        // Position of the entry in the beats of its block.
        self.place_in_beats.next =
            self.asked.q.val().offset - bit_cast::<8, 6>(self.asked.q.val().first.get_bits::<6>(0));
        self.asked.q.share(&mut self.source_new);
        self.source_new.next.fill_beat = self.asked.q.val().first.get_bits::<2>(6);
        self.source_new.next.beat = self.place_in_beats.val().get_bits::<2>(6);
        self.source_new.next.skip = self.place_in_beats.val().get_bits::<6>(0);
        self.source_new.next.joins = self.asked.q.val().crosses
            || (bit_cast::<7, 6>(self.place_in_beats.val().get_bits::<6>(0))
                + bit_cast::<7, 5>(self.asked.q.val().len)
                > bits::<7>(LINE));
        self.source_new.next.words = self.asked.q.val().load_after.get_bits::<2>(4);
        if self.asked.q.val().loads {
            self.source_new.next.skip = self.asked.q.val().offset.get_bits::<6>(0);
        } else if self.asked.q.val().alone {
            self.source_new.next.skip = 0.into();
        }
        self.sources.input.valid.next =
            self.asked_valid.q.val() && self.moves.val() && !self.asked.q.val().early;
        self.sources.input.data.next = self.source_new.val();
        self.sources.output.join(&mut self.store.source);
        self.load_new.next.lane = self.source_new.val().lane;
        self.load_new.next.half = self.source_new.val().half;
        self.load_new.next.skip = self.source_new.val().skip;
        self.load_new.next.offset = self.source_new.val().spot.get_bits::<9>(0);
        self.load_new.next.words = self.source_new.val().words;
        self.loads.input.valid.next =
            self.asked_valid.q.val() && self.moves.val() && self.asked.q.val().early;
        self.loads.input.data.next = self.load_new.val();
        self.loads.output.join(&mut self.store.early);
        self.is_early_read.in_valid.next = self.reads_out.input.valid.val();
        self.is_early_read.in_data.next = bit_cast::<1, 1>(self.asked.q.val().early.into());
    }

    /// Passes the beats that were read to the store, and the bytes of entries on.
    #[hdl_gen]
    pub(super) fn take_beats(&mut self) {
        self.store.beat.valid.next = self.beat.valid.val() && self.is_early_read.out_valid.val();
        self.store.beat.next = self.beat.val();
        self.store.is_early.next = self.is_early_read.out_data.val().any();
        self.beat.ready.next = self.store.beat.ready.val() && self.is_early_read.out_valid.val();
        self.is_early_read.out_ready.next =
            self.beat.valid.val() && self.store.beat.ready.val() && self.beat.last.val();
        self.answers.input.valid.next = self.store.answer.valid.val();
        self.answers.input.data.next = self.store.answer.val();
        self.answers.output.join(&mut self.answer);
    }

    /// Counts the entries under way.
    #[hdl_gen]
    pub(super) fn count_entries(&mut self) {
        self.gone.next = self.entries.output.valid.val() && self.entry.ready.val();
        if self.entries.input.valid.val() && !self.gone.val() {
            self.inside.d.next = self.inside.q.val() + 1;
        } else if !self.entries.input.valid.val() && self.gone.val() {
            self.inside.d.next = self.inside.q.val() - 1;
        }
        self.idle.next = !self.held_valid.q.val()
            && !self.looked_valid.q.val()
            && !self.found_valid.q.val()
            && !self.asked_valid.q.val()
            && !self.inside.q.val().any()
            && !self.waiting.q.val().any()
            && !self.sources.count.val().any()
            && !self.store.busy.val();
        self.unused_counts.next = self.sources.free.val()
            | self.entries.count.val()
            | self.entries.free.val()
            | self.answers.count.val()
            | self.answers.free.val()
            | bit_cast::<10, 7>(self.loads.count.val() | self.loads.free.val())
            | bit_cast::<10, 8>(self.is_early_read.count.val() | self.is_early_read.free.val());
    }
}
