//! Reads of host memory, and their answers.

use super::Kinds;
use drdma_emit::prelude::*;

/// Owner of a read, in `Kinds::owners`.
const ENTRIES: u64 = 0;
const LISTER: u64 = 1;
const FOLLOWER: u64 = 2;
const CHAINS: u64 = 3;

impl<const LENGTHS: usize, const RECORDS: usize, const VALUES: usize>
    Kinds<LENGTHS, RECORDS, VALUES>
{
    /// Chooses the next read: of tables first, then of lists, then of chains and entries in turns.
    #[hdl_gen]
    pub(super) fn choose_read(&mut self) {
        self.asks.next = false;
        self.ask.next.addr = self.lines.read.addr.val();
        self.ask.next.bytes = self.lines.read.bytes.val();
        self.ask.next.made = false;
        self.ask.next.wide = false;
        self.ask.next.first = 0.into();
        self.ask.next.slot = 0.into();
        self.owners.in_data.next = ENTRIES.into();
        self.follower.read.join(&mut self.table_reads.input);
        self.lister.read.join(&mut self.list_reads.input);
        self.has_room_to_ask.next = self.owners.in_ready.val() && self.requests.input.ready.val();
        self.table_reads.output.ready.next = false;
        self.list_reads.output.ready.next = false;
        self.lines.read.ready.next = false;
        self.lister.link_read.ready.next = false;
        self.asks_link.next = self.lister.link_read.valid.val()
            && (self.link_turn.q.val() || !self.lines.read.valid.val());
        if self.table_reads.output.valid.val() {
            self.ask.next.addr = self.table_reads.output.data.val().addr;
            self.ask.next.bytes = self.table_reads.output.data.val().bytes;
            self.owners.in_data.next = FOLLOWER.into();
            self.asks.next = true;
            self.table_reads.output.ready.next = self.has_room_to_ask.val();
        } else if self.list_reads.output.valid.val() {
            self.ask.next = self.list_reads.output.data.val();
            self.owners.in_data.next = LISTER.into();
            self.asks.next = true;
            self.list_reads.output.ready.next = self.has_room_to_ask.val();
        } else if self.asks_link.val() {
            self.ask.next.addr = self.lister.link_read.addr.val();
            self.ask.next.bytes = self.lister.link_read.bytes.val();
            self.owners.in_data.next = CHAINS.into();
            self.asks.next = true;
            self.lister.link_read.ready.next = self.has_room_to_ask.val();
            if self.has_room_to_ask.val() {
                self.link_turn.d.next = false;
            }
        } else {
            self.asks.next = self.lines.read.valid.val();
            self.lines.read.ready.next = self.has_room_to_ask.val();
            if self.has_room_to_ask.val() {
                self.link_turn.d.next = true;
            }
        }
        self.owners.in_valid.next = self.asks.val() && self.requests.input.ready.val();
        self.requests.input.valid.next = self.asks.val() && self.owners.in_ready.val();
        self.requests.input.data.next = self.ask.val();
        self.requests.output.join(&mut self.read);
    }

    /// Gives answers to the owners of their reads. Entries may stall; the other owners always take theirs.
    #[hdl_gen]
    pub(super) fn give_answers(&mut self) {
        self.is_entries.next =
            self.owners.out_valid.val() && (self.owners.out_data.val() == ENTRIES);
        self.beat.ready.next =
            self.owners.out_valid.val() && (!self.is_entries.val() || self.lines.beat.ready.val());
        self.arrived.next = self.beat.valid.val() && self.beat.ready.val();
        self.owners.out_ready.next = self.arrived.val() && self.beat.last.val();
        self.line.next.data = self.beat.data.val();
        self.line.next.error = self.beat.error.val();
        self.lines.beat.valid.next = self.beat.valid.val() && self.is_entries.val();
        self.lines.beat.next = self.beat.val();
        self.lister.line.valid.next = self.arrived.val() && (self.owners.out_data.val() == LISTER);
        self.lister.line.next = self.beat.val();
        self.lister.linked.valid.next =
            self.arrived.val() && (self.owners.out_data.val() == CHAINS);
        self.lister.linked.data.next = self.beat.data.val();
        self.lister.linked.error.next = self.beat.error.val();
        self.lister.record.join(&mut self.record);
        self.follower.line.valid.next =
            self.arrived.val() && (self.owners.out_data.val() == FOLLOWER);
        self.follower.line.next = self.line.val();
    }

    /// Finds whether anything is under way.
    #[hdl_gen]
    pub(super) fn look_for_rest(&mut self) {
        self.quiet.d.next = !self.on_way.q.val().any()
            && !self.fetched.q.val()
            && !self.owners.count.val().any()
            && self.lines.idle.val()
            && self.follower.idle.val()
            && self.giver.idle.val();
        self.lister.quiet.next = self.quiet.q.val() && !self.fetched.q.val();
        self.unused_counts.next = self.owners.free.val()
            | bit_cast::<7, 6>(self.placed.count.val() | self.placed.free.val())
            | bit_cast::<7, 6>(self.products.count.val() | self.products.free.val());
    }
}
