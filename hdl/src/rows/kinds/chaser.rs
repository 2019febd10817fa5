//! Follows many chains of records at once.
//!
//! Stands in the [`Finder`](super::finder::Finder), which hands over the pointers of a list and takes records, in the
//! order of rows: all of the first chain, then those of the second.
//!
//! ```text
//! head ----> step (judges a pointer) --record--> entries of the chain --found--> rows
//! answer --> step     |
//!    ^                +--address of the record's pointer--> read
//!    +----------------------------- host memory --------------+
//! ```
//!
//! 64 chains are under way, each in a slot of a ring. A pointer of the list, or the answer of a read, is *judged* in
//! the cycle after it has come: it ends its chain, it leads nowhere, or it leads to a record. A record is kept in the
//! slot, and its pointer to the next one is asked for. The oldest slot is emptied towards `found`.
//!
//! Where all that is wanted of a record lies in its first 64 bytes, as does its pointer, both are read together, if the
//! pointer is the first of them or lies a multiple of 8 bytes behind the first one. What was read is emitted as
//! `record`: it need not be read again when the record is sent.
//!
//! Contract: takes an answer or else a head in every cycle, and emits a record in every cycle. A slot holds 64 records:
//! a chain waits while 64 of its records have not been taken. Answers come in the order of reads, and are always
//! accepted. A chain has at most one read under way, so that 64 are under way at most. From an answer to the next read
//! of its chain 3 cycles pass. Only records whose pointers are from `low` to `high` are read.

use crate::layout::kept::KeptRecord;
use crate::primitive::{Fifo, Lutram, Ram, RamStyle, StreamSkid};
use crate::shell::host_read::HostReadRequest;
use drdma_emit::prelude::*;

/// Bytes of a pointer.
const POINTER: u64 = 8;
/// Most bytes that are read of a record, and the last place of a pointer in these.
const MOST_BYTES: u64 = 64;
const LAST_LINK: u64 = MOST_BYTES - POINTER;
/// Number of chains that are under way.
const SLOTS: u64 = 64;
/// Number of records that a slot holds, and its binary logarithm.
const MOST_RECORDS: u64 = 1 << LOG_RECORDS;
const LOG_RECORDS: u64 = 6;
/// Bits of an entry: a pointer, and whether it leads nowhere.
const ENTRY: usize = 65;
const BAD: usize = 64;

/// A pointer of a list.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Head {
    /// The pointer.
    pub pointer: Bits<64>,
}

/// A record that was found.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Found {
    /// Pointer of the record.
    pub pointer: Bits<64>,
    /// In place of a record: the chain leads outside of its bounds, could not be read or has too many records.
    pub bad: Bit,
}

/// Answer of a read of a record, or of its pointer to the next record.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Linked {
    /// The bytes, the first one lowest.
    pub data: Bits<512>,
    /// They could not be read.
    pub error: Bit,
}

/// Follower of many chains; see the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `clear`: a request begins, in the slot `request`; `halt`: no further pointer is to be read; `mark`,
/// `limit`, `link`, `reach`, `skip`, `low`, `high` and `never` of the current region, which may change while `empty`, but
/// not in the cycle before a head; streams `head` and `found`'s ready; flow `linked`.
///
/// # Outputs
/// Streams `found`, `read`; flow `record`; `empty`: no chain is under way; `busy`: a read is under way.
#[derive(LogicBlock, BlockDefault)]
pub struct Chaser {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request begins; not while `busy`.
    pub clear: Signal<In, Bit>,
    /// No further pointer is read, and heads are dropped, until `clear`.
    pub halt: Signal<In, Bit>,
    /// Value of the pointer that ends a chain.
    pub mark: Signal<In, Bits<64>>,
    /// Records of a chain, at most.
    pub limit: Signal<In, Bits<25>>,
    /// Bytes from a record's start to its pointer.
    pub link: Signal<In, Bits<32>>,
    /// Bytes from a record's start to the end of what is wanted of it; more than 64 if they are not read together.
    pub reach: Signal<In, Bits<7>>,
    /// Bytes from a record's start to the first one that is wanted.
    pub skip: Signal<In, Bits<6>>,
    /// Slot of the request.
    pub request: Signal<In, Bits<8>>,
    /// Lowest valid pointer.
    pub low: Signal<In, Bits<64>>,
    /// Highest valid pointer.
    pub high: Signal<In, Bits<64>>,
    /// No pointer is valid.
    pub never: Signal<In, Bit>,
    /// Pointers of the list, in their order.
    pub head: Stream<In, Head>,
    /// Records in the order of rows.
    pub found: Stream<Out, Found>,
    /// Reads of pointers, or of records with these.
    pub read: Stream<Out, HostReadRequest>,
    /// Answers of the reads, in their order.
    pub linked: Flow<In, Linked>,
    /// Records that were read whole, a cycle after their answers.
    pub record: Flow<Out, KeptRecord>,
    /// No chain is under way.
    pub empty: Signal<Out, Bit>,
    /// A read is under way.
    pub busy: Signal<Out, Bit>,

    // Slots: those from `oldest` up to `youngest` have chains; the pointer of the list was judged before `begun`.
    oldest: DFF<Bits<7>>,
    begun: DFF<Bits<7>>,
    youngest: DFF<Bits<7>>,
    used: Signal<Local, Bits<7>>,
    heads: StreamSkid<Head>,
    starts: Signal<Local, Bit>,
    /// Number of entries that were written for a chain.
    counts: Lutram<25, 6, 2>,
    /// The chain has no further entries.
    ended: DFF<Bits<64>>,
    /// The chain waits until there is room for its next record.
    parked: DFF<Bits<64>>,
    /// Address of what is read of the record.
    links: Lutram<64, 6, 2>,
    // What is read of a record: its pointer, or all that is wanted.
    near_link: Signal<Local, Bits<6>>,
    first: Signal<Local, Bits<6>>,
    to_link: Signal<Local, Bits<6>>,
    stop: Signal<Local, Bits<7>>,
    is_near: Signal<Local, Bit>,
    /// All that is wanted is read.
    whole: DFF<Bit>,
    /// Bytes from the record's start to the first one that is read.
    from: DFF<Bits<32>>,
    /// Number of bytes that are read.
    bytes: DFF<Bits<7>>,
    /// Number of the pointer among the words of 8 bytes that are read.
    word: DFF<Bits<3>>,
    /// Bytes that are read before the first one that is wanted.
    before_wanted: DFF<Bits<6>>,
    next_pointer: Signal<Local, Bits<64>>,
    keeps: DFF<Bit>,
    kept: DFF<KeptRecord>,
    #[init(Ram::new(RamStyle::Ultra))]
    entries: Ram<ENTRY, 1, 12>,

    // The pointer that is judged.
    judges: DFF<Bit>,
    is_first: DFF<Bit>,
    slot: DFF<Bits<6>>,
    pointer: DFF<Bits<64>>,
    error: DFF<Bit>,
    /// Number of records of the chain before this one.
    before: DFF<Bits<25>>,
    /// The same, with this one: kept, because what depends on the sum is known late.
    count_new: DFF<Bits<25>>,
    ends: Signal<Local, Bit>,
    outside: Signal<Local, Bit>,
    bad: Signal<Local, Bit>,
    is_oldest: Signal<Local, Bit>,
    held: Signal<Local, Bits<25>>,
    fits: Signal<Local, Bit>,
    goes_on: Signal<Local, Bit>,
    link_at: Signal<Local, Bits<64>>,
    /// The oldest chain goes on after it has waited.
    resumes: Signal<Local, Bit>,
    waiting: Signal<Local, Bits<25>>,
    /// In the cycle before, the oldest chain had room for a record, if it was parked.
    may_resume: DFF<Bit>,
    asks: Signal<Local, Bit>,
    ask_at: Signal<Local, Bits<64>>,
    ask_slot: Signal<Local, Bits<6>>,
    /// Addresses of reads that wait to be issued.
    reads: Fifo<64, 6, 7>,
    /// Slots of all reads that wait or are under way.
    asked: Fifo<6, 6, 7>,

    // The oldest chain.
    oldest_slot: Signal<Local, Bits<6>>,
    has_oldest: Signal<Local, Bit>,
    count: Signal<Local, Bits<25>>,
    /// Number of entries that were read of it.
    taken: DFF<Bits<25>>,
    taken_new: Signal<Local, Bits<25>>,
    fetches: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    has_found: DFF<Bit>,
    free: Signal<Local, Bit>,
    /// No chain was under way in the cycle before. (The slots are compared a cycle ahead.)
    was_empty: DFF<Bit>,
    /// Cuts the path from `found`'s ready to the slots.
    records: StreamSkid<Found>,
    unused: Signal<Local, Bit>,
}

impl Chaser {
    /// Finds how much of a record is read at once, takes the pointer from what was read, and hands on the record.
    #[hdl_gen]
    fn read_whole(&mut self) {
        self.near_link.next = self.link.val().get_bits::<6>(0);
        self.first.next = self.near_link.val();
        if self.skip.val() < self.near_link.val() {
            self.first.next = self.skip.val();
        }
        self.to_link.next = self.near_link.val() - self.first.val();
        self.stop.next = bit_cast::<7, 6>(self.near_link.val()) + bits::<7>(POINTER);
        if self.stop.val() < self.reach.val() {
            self.stop.next = self.reach.val();
        }
        self.is_near.next = !(self.link.val() > LAST_LINK)
            && !(self.reach.val() > MOST_BYTES)
            && !self.to_link.val().get_bits::<3>(0).any();
        self.whole.d.next = self.is_near.val();
        self.from.d.next = self.link.val();
        self.bytes.d.next = POINTER.into();
        self.word.d.next = 0.into();
        if self.is_near.val() {
            self.from.d.next = bit_cast::<32, 6>(self.first.val());
            self.bytes.d.next = self.stop.val() - bit_cast::<7, 6>(self.first.val());
            self.word.d.next = self.to_link.val().get_bits::<3>(3);
        }
        self.before_wanted.d.next = self.skip.val() - self.first.val();
        self.next_pointer.next =
            self.linked.data.val().get_bits::<64>(bit_cast::<9, 3>(self.word.q.val()).index() * 64);

        self.links.read_address[1].next = self.asked.out_data.val();
        self.keeps.d.next =
            self.linked.valid.val() && !self.linked.error.val() && self.whole.q.val();
        self.kept.d.next.data = self.linked.data.val();
        self.kept.d.next.addr = self.links.read_data[1].val();
        self.kept.d.next.bytes = self.bytes.q.val();
        self.kept.d.next.skip = self.before_wanted.q.val();
        self.kept.d.next.slot = self.request.val();
        self.record.valid.next = self.keeps.q.val();
        self.record.next = self.kept.q.val();
        if self.rst.val() {
            self.keeps.d.next = false;
        }
    }
}

impl Logic for Chaser {
    #[hdl_gen]
    fn update(&mut self) {
        self.oldest_slot.next = self.oldest.q.val().get_bits::<6>(0);
        self.has_oldest.next = self.oldest.q.val() != self.begun.q.val();
        self.counts.read_address[0].next = self.asked.out_data.val();
        self.counts.read_address[1].next = self.oldest_slot.val();
        self.count.next = self.counts.read_data[1].val();
        self.unused.next = self.reads.in_ready.val()
            || self.reads.count.val().any()
            || self.reads.free.val().any()
            || self.asked.in_ready.val()
            || self.asked.out_valid.val()
            || self.asked.free.val().any();

        self.read_whole();

        // An answer, or else a pointer of the list, is judged next.
        self.head.join(&mut self.heads.input);
        self.used.next = self.youngest.q.val() - self.oldest.q.val();
        self.starts.next = self.heads.output.valid.val()
            && !self.linked.valid.val()
            && (self.used.val() < SLOTS)
            && !self.halt.val();
        self.heads.output.ready.next = self.halt.val()
            || self.clear.val()
            || (!self.linked.valid.val() && (self.used.val() < SLOTS));
        if self.starts.val() {
            self.youngest.d.next = self.youngest.q.val() + 1;
        }
        self.asked.out_ready.next = self.linked.valid.val();
        self.judges.d.next = self.starts.val() || self.linked.valid.val();
        self.is_first.d.next = !self.linked.valid.val();
        self.slot.d.next = self.asked.out_data.val();
        self.pointer.d.next = self.next_pointer.val();
        self.error.d.next = self.linked.error.val();
        self.before.d.next = self.counts.read_data[0].val();
        self.count_new.d.next = self.counts.read_data[0].val() + 1;
        if !self.linked.valid.val() {
            self.slot.d.next = self.youngest.q.val().get_bits::<6>(0);
            self.pointer.d.next = self.heads.output.data.val().pointer;
            self.error.d.next = false;
            self.before.d.next = 0.into();
            self.count_new.d.next = 1.into();
        }

        // The pointer is judged.
        self.ends.next = !self.error.q.val() && (self.pointer.q.val() == self.mark.val());
        self.outside.next = self.never.val()
            || (self.pointer.q.val() < self.low.val())
            || (self.pointer.q.val() > self.high.val());
        self.bad.next = self.error.q.val()
            || (!self.ends.val()
                && (self.outside.val() || (self.before.q.val() == self.limit.val())));
        self.link_at.next = self.pointer.q.val() + bit_cast::<64, 32>(self.from.q.val());
        self.counts.write_enable.next = self.judges.q.val();
        self.counts.write_address.next = self.slot.q.val();
        self.counts.write_data.next = self.count_new.q.val();
        if self.ends.val() {
            self.counts.write_data.next = self.before.q.val();
        }
        self.links.write_enable.next = self.judges.q.val();
        self.links.write_address.next = self.slot.q.val();
        self.links.write_data.next = self.link_at.val();
        self.links.read_address[0].next = self.oldest_slot.val();
        self.entries.write_lanes.next =
            bit_cast::<1, 1>((self.judges.q.val() && !self.ends.val()).into());
        self.entries.write_address.next = (bit_cast::<12, 6>(self.slot.q.val()) << LOG_RECORDS)
            | bit_cast::<12, 6>(self.before.q.val().get_bits::<6>(0));
        self.entries.write_data.next =
            bit_cast::<ENTRY, 64>(self.pointer.q.val()).replace_bit(BAD, self.bad.val());
        if self.judges.q.val() && self.is_first.q.val() {
            self.begun.d.next = self.begun.q.val() + 1;
        }

        // The record's pointer is read, if there is room for what it leads to.
        self.is_oldest.next = self.slot.q.val() == self.oldest_slot.val();
        self.held.next = self.count_new.q.val() - self.taken.q.val();
        self.fits.next = self.count_new.q.val() < MOST_RECORDS;
        if self.is_oldest.val() {
            self.fits.next = self.held.val() < MOST_RECORDS;
        }
        self.goes_on.next = self.judges.q.val() && !self.ends.val() && !self.bad.val();
        self.waiting.next = self.count.val() - self.taken.q.val();
        self.resumes.next = self.may_resume.q.val()
            && self.parked.q.val().get_bit(self.oldest_slot.val().index())
            && !self.judges.q.val()
            && !self.halt.val();
        if self.judges.q.val() {
            self.ended.d.next = self
                .ended
                .q
                .val()
                .replace_bit(self.slot.q.val().index(), self.ends.val() || self.bad.val());
            self.parked.d.next = self
                .parked
                .q
                .val()
                .replace_bit(self.slot.q.val().index(), self.goes_on.val() && !self.fits.val());
        } else if self.resumes.val() {
            self.parked.d.next =
                self.parked.q.val().replace_bit(self.oldest_slot.val().index(), false);
        }
        self.asks.next =
            (self.goes_on.val() && self.fits.val() && !self.halt.val()) || self.resumes.val();
        self.ask_at.next = self.link_at.val();
        self.ask_slot.next = self.slot.q.val();
        if self.resumes.val() {
            self.ask_at.next = self.links.read_data[0].val();
            self.ask_slot.next = self.oldest_slot.val();
        }
        self.reads.in_valid.next = self.asks.val();
        self.reads.in_data.next = self.ask_at.val();
        self.asked.in_valid.next = self.asks.val();
        self.asked.in_data.next = self.ask_slot.val();
        self.read.valid.next = self.reads.out_valid.val();
        self.read.addr.next = self.reads.out_data.val();
        self.read.bytes.next = bit_cast::<13, 7>(self.bytes.q.val());
        self.reads.out_ready.next = self.read.ready.val();

        // The oldest chain is emptied; the next one follows without a gap if it is known that it has ended.
        self.free.next = !self.has_found.q.val() || self.records.input.ready.val();
        self.taken_new.next = self.taken.q.val() + 1;
        self.fetches.next =
            self.has_oldest.val() && (self.taken.q.val() != self.count.val()) && self.free.val();
        self.leaves.next = self.has_oldest.val()
            && self.ended.q.val().get_bit(self.oldest_slot.val().index())
            && ((self.taken.q.val() == self.count.val())
                || (self.fetches.val() && (self.taken_new.val() == self.count.val())));
        // No record is added to a chain that is parked.
        self.may_resume.d.next = self.has_oldest.val()
            && self.waiting.val() < MOST_RECORDS
            && !self.leaves.val()
            && !self.judges.q.val();
        if self.leaves.val() {
            self.oldest.d.next = self.oldest.q.val() + 1;
            self.taken.d.next = 0.into();
        } else if self.fetches.val() {
            self.taken.d.next = self.taken_new.val();
        }
        if self.free.val() {
            self.has_found.d.next = self.fetches.val();
        }
        self.entries.read_enable.next = self.fetches.val();
        self.entries.read_address.next = (bit_cast::<12, 6>(self.oldest_slot.val()) << LOG_RECORDS)
            | bit_cast::<12, 6>(self.taken.q.val().get_bits::<6>(0));
        self.records.rst.next = self.clear.val() || self.rst.val();
        self.records.input.valid.next = self.has_found.q.val();
        self.records.input.data.next.pointer = self.entries.read_data.val().get_bits::<64>(0);
        self.records.input.data.next.bad = self.entries.read_data.val().get_bit(BAD);
        self.records.output.join(&mut self.found);

        self.was_empty.d.next = !self.has_oldest.val()
            && (self.begun.q.val() == self.youngest.q.val())
            && !self.has_found.q.val()
            && !self.records.output.valid.val()
            && !self.heads.output.valid.val();
        self.empty.next = self.was_empty.q.val() && !self.heads.output.valid.val();
        self.busy.next = self.judges.q.val() || self.asked.count.val().any();
        if self.clear.val() || self.rst.val() {
            self.oldest.d.next = 0.into();
            self.begun.d.next = 0.into();
            self.youngest.d.next = 0.into();
            self.taken.d.next = 0.into();
            self.judges.d.next = false;
            self.has_found.d.next = false;
            self.parked.d.next = 0.into();
            self.may_resume.d.next = false;
            self.was_empty.d.next = true;
        }
    }
}
