//! The completion rings: where a queue's next entry goes, and whether there is room for it.
//!
//! Contract: `addr`, `lap` and `full` follow `queue` after 2 cycles; a step counts from the third cycle
//! behind it on, and is of the ring of `queue` of the cycle before it.

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use crate::primitive::lutram::Lutram;

/// The tables; see the module.
///
/// # Inputs
/// `clk`; `cfg_*`; `queue`; `advance`; `restart_valid`, `restart_index`.
///
/// # Outputs
/// `addr`, `lap`, `full`.
#[derive(LogicBlock, Default)]
pub struct Rings {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A word of a table was written.
    pub cfg_valid: Signal<In, Bit>,
    /// Its table.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Its entry.
    pub cfg_index: Signal<In, Bits<8>>,
    /// Its place in the entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word.
    pub cfg_data: Signal<In, Bits<32>>,
    /// The send queue whose completion queue is meant.
    pub queue: Signal<In, Bits<8>>,
    /// Where the next entry goes.
    pub addr: Signal<Out, Bits<64>>,
    /// The ring has been filled an odd number of times.
    pub lap: Signal<Out, Bit>,
    /// The host has not read an entry that would be overwritten.
    pub full: Signal<Out, Bit>,
    /// An entry was written.
    pub advance: Signal<In, Bit>,
    /// A completion queue starts anew.
    pub restart_valid: Signal<In, Bit>,
    /// Which.
    pub restart_index: Signal<In, Bits<6>>,

    cqs: Lutram<6, 8, 1>,
    low: Lutram<32, 6, 1>,
    high: Lutram<32, 6, 1>,
    log: Lutram<5, 6, 1>,
    consumer: Lutram<32, 6, 1>,
    producer: Lutram<32, 6, 1>,
    // The ring of the queue a cycle before: its number, base, log of its size, and how far it is.
    cq: DFF<Bits<6>>,
    base: DFF<Bits<64>>,
    log_size: DFF<Bits<5>>,
    taken: DFF<Bits<32>>,
    given: DFF<Bits<32>>,
    // What follows from that.
    next_addr: DFF<Bits<64>>,
    next_lap: DFF<Bit>,
    next_full: DFF<Bit>,
    ring: Signal<Local, Bits<6>>,
    written: Signal<Local, Bits<6>>,
    one: Signal<Local, Bits<32>>,
    size: Signal<Local, Bits<32>>,
    place: Signal<Local, Bits<32>>,
}

impl Logic for Rings {
    #[hdl_gen]
    fn update(&mut self) {
        // What the host wrote.
        dff_setup!(self, clk, cq, base, log_size, taken, given, next_addr, next_lap, next_full);
        self.cqs.clk.next = self.clk.val();
        self.cqs.write_enable.next =
            self.cfg_valid.val() && (self.cfg_table.val() == 2) && (self.cfg_word.val() == 2);
        self.cqs.write_address.next = self.cfg_index.val();
        self.cqs.write_data.next = self.cfg_data.val().get_bits::<6>(16);
        self.written.next = self.cfg_index.val().get_bits::<6>(0);
        self.low.clk.next = self.clk.val();
        self.low.write_enable.next =
            self.cfg_valid.val() && (self.cfg_table.val() == 3) && (self.cfg_word.val() == 0);
        self.low.write_address.next = self.written.val();
        self.low.write_data.next = self.cfg_data.val();
        self.high.clk.next = self.clk.val();
        self.high.write_enable.next =
            self.cfg_valid.val() && (self.cfg_table.val() == 3) && (self.cfg_word.val() == 1);
        self.high.write_address.next = self.written.val();
        self.high.write_data.next = self.cfg_data.val();
        self.log.clk.next = self.clk.val();
        self.log.write_enable.next =
            self.cfg_valid.val() && (self.cfg_table.val() == 3) && (self.cfg_word.val() == 2);
        self.log.write_address.next = self.written.val();
        self.log.write_data.next = self.cfg_data.val().get_bits::<5>(0);
        self.consumer.clk.next = self.clk.val();
        self.consumer.write_enable.next =
            self.cfg_valid.val() && (self.cfg_table.val() == 3) && (self.cfg_word.val() == 5);
        self.consumer.write_address.next = self.written.val();
        self.consumer.write_data.next = self.cfg_data.val();

        // The ring of the queue at hand.
        self.cqs.read_address[0].next = self.queue.val();
        self.ring.next = self.cqs.read_data[0].val();
        self.low.read_address[0].next = self.ring.val();
        self.high.read_address[0].next = self.ring.val();
        self.log.read_address[0].next = self.ring.val();
        self.consumer.read_address[0].next = self.ring.val();
        self.producer.read_address[0].next = self.ring.val();
        self.cq.d.next = self.ring.val();
        self.base.d.next = (bit_cast::<64, 32>(self.high.read_data[0].val()) << 32)
            | bit_cast::<64, 32>(self.low.read_data[0].val());
        self.log_size.d.next = self.log.read_data[0].val();
        self.taken.d.next = self.consumer.read_data[0].val();
        self.given.d.next = self.producer.read_data[0].val();

        self.one.next = 1.into();
        self.size.next = self.one.val() << self.log_size.q.val();
        self.place.next = self.given.q.val() & (self.size.val() - 1);
        self.next_lap.d.next = self.given.q.val().get_bit(self.log_size.q.val().index());
        self.next_addr.d.next = self.base.q.val() + (bit_cast::<64, 32>(self.place.val()) << 5);
        self.next_full.d.next = (self.given.q.val() - self.taken.q.val()) >= self.size.val();
        self.lap.next = self.next_lap.q.val();
        self.addr.next = self.next_addr.q.val();
        self.full.next = self.next_full.q.val();

        self.producer.clk.next = self.clk.val();
        self.producer.write_enable.next = self.advance.val() || self.restart_valid.val();
        self.producer.write_address.next = self.cq.q.val();
        self.producer.write_data.next = self.given.q.val() + 1;
        if self.restart_valid.val() {
            self.producer.write_address.next = self.restart_index.val();
            self.producer.write_data.next = 0.into();
        }
    }
}
