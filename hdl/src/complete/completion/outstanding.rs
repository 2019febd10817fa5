//! Keeps the packets that wait for their acknowledgement: a list for each queue pair, oldest first.
//!
//! Contract: `next_qp` is the value of `qp` in the next cycle. The outputs belong to the list of `qp` of the cycle
//! before, as it was then. `push` and `pop` are given when the outputs show the list as it is, and are for that list,
//! whatever `qp` is by then. At most one of these and `clear` is given in a cycle, and counts from the next one on.
//! After a reset, `clear` with all 4,096 indices makes every list empty.

use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

use crate::context::{QP, Table};
use crate::primitive::fifo::Fifo;
use crate::primitive::lutram::Lutram;

/// Bits of a list: tail 10, head 10, used 1, since 32.
const LIST: usize = 53;

/// Bits of an entry: `psn` 24, `slot` 8, `dest`.
const ENTRY: usize = 32 + DEST_COUNT;

/// Lists of packets; see the module.
///
/// # Inputs
/// `clk`, `rst`; `qp`; `push`, `push_psn`, `push_slot`, `push_dest`; `may_pop`, `pop`; `now`; `clear`,
/// `clear_index`.
///
/// # Outputs
/// `room`, `roomy`; `used`, `lone`, `since`; `psn`, `slot`, `dest` of the oldest packet.
#[derive(LogicBlock, Default)]
pub struct Outstanding {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Value of `qp` in the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// Queue pair whose list is wanted.
    pub qp: Signal<In, Bits<QP>>,
    /// One more packet can be kept.
    pub room: Signal<Out, Bit>,
    /// At least eight more packets can be kept.
    pub roomy: Signal<Out, Bit>,
    /// The list is not empty.
    pub used: Signal<Out, Bit>,
    /// With `used`: the list has exactly one packet.
    pub lone: Signal<Out, Bit>,
    /// Time at which a packet left the list, or came to an empty one, in units of 1,024 cycles.
    pub since: Signal<Out, Bits<32>>,
    /// Sequence number of the oldest packet.
    pub psn: Signal<Out, Bits<24>>,
    /// Slot of the oldest packet's request.
    pub slot: Signal<Out, Bits<8>>,
    /// Destination of the oldest packet in its request.
    pub dest: Signal<Out, Bits<DEST_COUNT>>,
    /// A packet is added; only with `room`.
    pub push: Signal<In, Bit>,
    /// With `push`: sequence number of the packet.
    pub push_psn: Signal<In, Bits<24>>,
    /// With `push`: slot of the packet's request.
    pub push_slot: Signal<In, Bits<8>>,
    /// With `push`: destination of the packet in its request.
    pub push_dest: Signal<In, Bits<DEST_COUNT>>,
    /// The oldest packet may leave in this cycle: known earlier than `pop`.
    pub may_pop: Signal<In, Bit>,
    /// The oldest packet leaves; only if `used`, and with `may_pop`.
    pub pop: Signal<In, Bit>,
    /// Time in units of 1,024 cycles.
    pub now: Signal<In, Bits<32>>,
    /// The place of number `clear_index` becomes free, if there is one, and the list of that number empty.
    pub clear: Signal<In, Bit>,
    /// With `clear`: number of the place and the list.
    pub clear_index: Signal<In, Bits<QP>>,

    places: Fifo<10, 10, 11>,
    // A packet has left: its place is free again in the next cycle.
    frees: DFF<Bit>,
    freed: DFF<Bits<10>>,
    // Sequence number 24 bits, slot 8, destination `DEST_COUNT`.
    entries: Lutram<ENTRY, 10, 1>,
    followers: Lutram<10, 10, 1>,
    // Lists: tail 10, head 10, used, since 32.
    lists: Table<LIST, QP>,
    /// Queue pair whose list the outputs show.
    shown: DFF<Bits<QP>>,
    list: DFF<Bits<LIST>>,
    entry: DFF<Bits<ENTRY>>,
    follower: DFF<Bits<10>>,
    has_one: DFF<Bit>,
    found: Signal<Local, Bits<LIST>>,
    tail: Signal<Local, Bits<10>>,
    head: Signal<Local, Bits<10>>,
    fresh: Signal<Local, Bits<10>>,
    stays: Signal<Local, Bit>,
    new_head: Signal<Local, Bits<10>>,
    new_tail: Signal<Local, Bits<10>>,
    new_since: Signal<Local, Bits<32>>,
}

impl Logic for Outstanding {
    #[hdl_gen]
    fn update(&mut self) {
        // The list of the current queue pair, and its oldest packet.
        self.shown.d.next = self.qp.val();
        self.lists.ahead.next = self.next_qp.val();
        self.found.next = self.lists.read_data.val();
        self.entries.read_address[0].next = self.found.val().get_bits::<10>(10);
        self.followers.read_address[0].next = self.found.val().get_bits::<10>(10);
        self.list.d.next = self.found.val();
        self.has_one.d.next =
            self.found.val().get_bits::<10>(0) == self.found.val().get_bits::<10>(10);
        self.entry.d.next = self.entries.read_data[0].val();
        self.follower.d.next = self.followers.read_data[0].val();
        self.tail.next = self.list.q.val().get_bits::<10>(0);
        self.head.next = self.list.q.val().get_bits::<10>(10);
        self.used.next = self.list.q.val().get_bit(20);
        self.lone.next = self.has_one.q.val();
        self.since.next = self.list.q.val().get_bits::<32>(21);
        self.psn.next = self.entry.q.val().get_bits::<24>(0);
        self.slot.next = self.entry.q.val().get_bits::<8>(24);
        self.dest.next = self.entry.q.val().get_bits::<DEST_COUNT>(32);

        // Free places.
        self.room.next = self.places.out_valid.val();
        self.roomy.next = self.places.count.val() >= 8;
        self.fresh.next = self.places.out_data.val();
        self.places.out_ready.next = self.push.val();
        self.frees.d.next = self.pop.val() && !self.rst.val();
        self.freed.d.next = self.head.val();
        self.places.in_valid.next = self.frees.q.val();
        self.places.in_data.next = self.freed.q.val();
        if self.clear.val() {
            self.places.in_valid.next = !self.clear_index.val().get_bits::<2>(10).any();
            self.places.in_data.next = self.clear_index.val().get_bits::<10>(0);
        }

        // A packet is added.
        self.entries.write_enable.next = self.push.val();
        self.entries.write_address.next = self.fresh.val();
        self.entries.write_data.next = bit_cast::<ENTRY, 24>(self.push_psn.val())
            | (bit_cast::<ENTRY, 8>(self.push_slot.val()) << 24)
            | (bit_cast::<ENTRY, DEST_COUNT>(self.push_dest.val()) << 32);
        self.followers.write_enable.next = self.push.val() && self.used.val();
        self.followers.write_address.next = self.tail.val();
        self.followers.write_data.next = self.fresh.val();

        // The list after this cycle.
        self.new_head.next = self.head.val();
        self.new_tail.next = self.tail.val();
        self.new_since.next = self.since.val();
        self.stays.next = self.used.val();
        if self.pop.val() {
            self.new_head.next = self.follower.q.val();
            self.new_since.next = self.now.val();
            self.stays.next = !self.has_one.q.val();
        }
        if self.push.val() {
            self.new_tail.next = self.fresh.val();
            self.new_since.next = self.since.val();
            self.stays.next = true;
            if !self.used.val() {
                self.new_head.next = self.fresh.val();
                self.new_since.next = self.now.val();
            }
        }
        self.lists.write_enable.next = self.push.val() || self.may_pop.val() || self.clear.val();
        self.lists.write_address.next = self.shown.q.val();
        self.lists.write_data.next = (bit_cast::<LIST, 32>(self.new_since.val()) << 21)
            | (bit_cast::<LIST, 1>(self.stays.val().into()) << 20)
            | (bit_cast::<LIST, 10>(self.new_head.val()) << 10)
            | bit_cast::<LIST, 10>(self.new_tail.val());
        if self.clear.val() {
            self.lists.write_address.next = self.clear_index.val();
            self.lists.write_data.next = 0.into();
        }
    }
}
