//! Keeps the registers of BAR2: settings, tables, doorbells, counters, states.
//!
//! The AXI-Lite slave is what the host sees of the card. Words of tables go to every block. Doorbells of send queues
//! that are enabled and not halted go to `queue`, those of receive queues to `receives`, one after the other. A
//! doorbell that cannot be taken holds back its write response, and with it the host.
//!
//! Contract: a write takes effect 2 cycles after its address and data, and is answered 4 cycles after them; a read is
//! answered 3 cycles after its address. Accesses of one kind are served one by one. Everything is reset by `rst`, and
//! everything but `CONTROL` by bit 1 of `CONTROL`.
//!
//! After either reset every entry is cleared, one number a cycle in all tables at once, in 4,096 cycles. During these,
//! writes to tables wait, doorbells are ignored, states read 0, and bit 1 of `CONTROL` reads 1. All other accesses are
//! served as usual.
//!
//! A key that a peer makes invalid is sent as a word of a table, in a cycle in which the host writes nothing; the
//! host's next write may wait 3 cycles for it. Reading the low word of a counter holds its high word for the next read
//! of a high word. Reads of tables give 0.

use crate::context::{
    ConfigWrite, EVERY_TABLE, INDEX, QP, QUEUE, REGION, REGION_TABLE, RegionIndex,
};
use crate::receive::record::{APPEND, APPEND_WORD, AppendWord};
use crate::regions::entries::{KEY_REGION, KEY_WORD, KeyWord};
use drdma_abi::Layout;
use drdma_abi::described::{APPEND_DOORBELLS, APPEND_REGIONS, KEY_REGIONS};
use drdma_abi::receive::{
    FEATURES, QUEUE_PAIR_ATTRIBUTES, RECEIVE_DOORBELLS, RECEIVE_QUEUES, features,
};
use drdma_abi::register::*;
use drdma_emit::prelude::*;

mod axil;
mod congestion;
mod counters;
mod settings;
mod sweep;
#[cfg(test)]
mod tests;

pub use axil::AxiLite;
pub use congestion::{Congestion, CongestionSettings};
pub use counters::CounterBank;
pub use settings::Settings;
pub use sweep::Sweep;

/// Tables of entries, in the order of `ConfigWrite::table`.
const ENTRIES: [Table; ENTRY_TABLES] = [
    QUEUE_PAIRS,
    MEMORY_REGIONS,
    SEND_QUEUES,
    COMPLETION_QUEUES,
    QUEUE_PAIR_ATTRIBUTES,
    RECEIVE_QUEUES,
];
const ENTRY_TABLES: usize = 6;
/// Tables that are not broadcast.
const OTHERS: [Table; 7] = [
    DOORBELLS,
    RECEIVE_DOORBELLS,
    APPEND_REGIONS,
    APPEND_DOORBELLS,
    KEY_REGIONS,
    QUEUE_PAIR_ERRORS,
    SEND_QUEUE_ERRORS,
];
/// Positions of those tables, behind the tables of entries.
const BELLS: usize = ENTRY_TABLES;
const RECEIVE_BELLS: usize = ENTRY_TABLES + 1;
const APPENDS: usize = ENTRY_TABLES + 2;
const APPEND_BELLS: usize = ENTRY_TABLES + 3;
const KEYS: usize = ENTRY_TABLES + 4;
const ERRORS: usize = ENTRY_TABLES + 5;
const HALTS: usize = ENTRY_TABLES + 6;
/// Number of all tables.
const ALL_TABLES: usize = ENTRY_TABLES + 7;
/// Lowest bit of the region's number in the address of an append region's word.
const REGION_AT: usize = APPEND_REGIONS.entry_size.ilog2() as usize;
/// Lowest bit of the region's number in the address of a described key's word.
const KEY_REGION_AT: usize = KEY_REGIONS.entry_size.ilog2() as usize;

/// A property of each table as a constant, tables of entries first.
fn tables<const N: usize>(place: impl Fn(Table) -> u32) -> [Constant<Bits<N>>; ALL_TABLES] {
    std::array::from_fn(|k| match k.checked_sub(ENTRY_TABLES) {
        None => value(place(ENTRIES[k])),
        Some(other) => value(place(OTHERS[other])),
    })
}

fn value<const N: usize>(value: u32) -> Constant<Bits<N>> {
    Constant::new(u64::from(value).into())
}

fn word_of<L: Layout>(field: &str) -> Constant<Bits<4>> {
    Constant::new((L::field(field).start as u64 / 32).into())
}

/// State of the write that is served.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ControlState {
    /// Waits for a write.
    Ready,
    /// The write has taken effect.
    Settle,
    /// The doorbell of a send queue is dropped, or waits to be taken.
    Ring,
    /// The doorbell of a receive queue waits to be taken; `receives` drops those that it cannot use.
    RingReceive,
    /// A peer's word was sent instead of a write's, which would follow it too closely.
    Withdraw,
    /// The write resets the card.
    Restart,
    /// The write is answered.
    Done,
}

/// Doorbell: a queue has new entries.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Doorbell {
    /// Number of the queue.
    pub queue: Bits<QUEUE>,
    /// Position of the producer, in blocks of the ring.
    pub position: Bits<32>,
}

/// Registers of the card; see the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Control {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ AXI-Lite slave: BAR2
    /// Write address, a byte offset in BAR2.
    pub axil_awaddr: Signal<In, Bits<24>>,
    /// A write address is offered.
    pub axil_awvalid: Signal<In, Bit>,
    /// The write address can be taken.
    pub axil_awready: Signal<Out, Bit>,
    /// Write data.
    pub axil_wdata: Signal<In, Bits<32>>,
    /// Byte enables of the write data; all must be set.
    pub axil_wstrb: Signal<In, Bits<4>>,
    /// Write data are offered.
    pub axil_wvalid: Signal<In, Bit>,
    /// The write data can be taken.
    pub axil_wready: Signal<Out, Bit>,
    /// Always 0, OKAY.
    pub axil_bresp: Signal<Out, Bits<2>>,
    /// A write response is offered.
    pub axil_bvalid: Signal<Out, Bit>,
    /// The write response is taken.
    pub axil_bready: Signal<In, Bit>,
    /// Read address, a byte offset in BAR2.
    pub axil_araddr: Signal<In, Bits<24>>,
    /// A read address is offered.
    pub axil_arvalid: Signal<In, Bit>,
    /// The read address can be taken.
    pub axil_arready: Signal<Out, Bit>,
    /// Read data.
    pub axil_rdata: Signal<Out, Bits<32>>,
    /// Always 0, OKAY.
    pub axil_rresp: Signal<Out, Bits<2>>,
    /// Read data are offered.
    pub axil_rvalid: Signal<Out, Bit>,
    /// The read data are taken.
    pub axil_rready: Signal<In, Bit>,

    // ------------------------------------------------------------------ tables: every word that the host writes, to all blocks
    /// Every word that the host writes into a table of entries, to all blocks.
    pub cfg: Flow<Out, ConfigWrite>,

    /// Every word that the host writes of append regions, their doorbells included.
    pub append_word: Flow<Out, AppendWord>,

    /// Every word that the host writes of described regions.
    pub key_word: Flow<Out, KeyWord>,

    /// Memory regions that peers make invalid; each becomes a word of its own on `cfg`.
    pub invalidate: Stream<In, RegionIndex>,

    // ------------------------------------------------------------------ doorbells
    /// Doorbells of send queues.
    pub doorbell: Stream<Out, Doorbell>,
    /// Doorbells of receive queues.
    pub receive_doorbell: Stream<Out, Doorbell>,

    // ------------------------------------------------------------------ settings
    /// The card takes doorbells and sends.
    pub enable: Signal<Out, Bit>,
    /// Soft reset, high for 16 cycles: resets every block but this one.
    pub soft_reset: Signal<Out, Bit>,
    /// Longest DMA read of data, in bytes.
    pub max_read: Signal<Out, Bits<13>>,
    /// Widest gap that is read through, in bytes.
    pub merge_threshold: Signal<Out, Bits<13>>,
    /// Bytes that a DMA read should have on average; 0: any.
    pub read_balance: Signal<Out, Bits<9>>,
    /// Least number of rows of a column request; 0 turns column requests off.
    pub column_min_rows: Signal<Out, Bits<32>>,
    /// Words of payload that the assembler reads in a cycle, 1 to 16.
    pub assembler_words: Signal<Out, Bits<5>>,
    /// MAC address of the card.
    pub mac: Signal<Out, Bits<48>>,
    /// IPv4 address of the card.
    pub ip: Signal<Out, Bits<32>>,
    /// Timeout of acknowledgements in units of 1,024 cycles; 0: none.
    pub ack_timeout: Signal<Out, Bits<32>>,
    /// Settings of congestion control.
    pub congestion: Signals<Out, Congestion>,

    // ------------------------------------------------------------------ states
    /// Work is in progress somewhere in the card.
    pub busy: Signal<In, Bit>,
    /// Queue pair whose state is wanted in the next cycle, for a read of the host.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair that `error_next` named in the cycle before is in error.
    pub error: Signal<In, Bit>,
    /// Queue whose state is wanted in the next cycle, for a read of the host.
    pub halted_next: Signal<Out, Bits<QUEUE>>,
    /// The queue that `halted_next` named in the cycle before is halted.
    pub halted: Signal<In, Bit>,
    /// Queue whose doorbell may be rung, and whose state is wanted in the next cycle.
    pub bell_next: Signal<Out, Bits<QUEUE>>,
    /// The queue that `bell_next` named in the cycle before is enabled.
    pub bell_enabled: Signal<In, Bit>,
    /// The queue that `bell_next` named in the cycle before is halted.
    pub bell_halted: Signal<In, Bit>,

    // ------------------------------------------------------------------ counters: what to add in this cycle
    /// Amount to add to `PAYLOAD_BYTES` in this cycle.
    pub count_1: Signal<In, Bits<16>>,
    /// Amount to add to `FRAME_BYTES` in this cycle.
    pub count_2: Signal<In, Bits<16>>,
    /// Amount to add to `PACKETS` in this cycle.
    pub count_3: Signal<In, Bits<16>>,
    /// Amount to add to `DATA_READS` in this cycle.
    pub count_4: Signal<In, Bits<16>>,
    /// Amount to add to `DATA_READ_BYTES` in this cycle.
    pub count_5: Signal<In, Bits<16>>,
    /// Amount to add to `CONTROL_READS` in this cycle.
    pub count_6: Signal<In, Bits<16>>,
    /// Amount to add to `CONTROL_READ_BYTES` in this cycle.
    pub count_7: Signal<In, Bits<16>>,
    /// Amount to add to `WORK_REQUESTS` in this cycle.
    pub count_8: Signal<In, Bits<16>>,
    /// Amount to add to `ACKS` in this cycle.
    pub count_9: Signal<In, Bits<16>>,
    /// Amount to add to `WINDOWS` in this cycle.
    pub count_10: Signal<In, Bits<16>>,
    /// Amount to add to `ASSEMBLE_BUSY` in this cycle.
    pub count_11: Signal<In, Bits<16>>,
    /// Amount to add to `ASSEMBLE_CONFLICT` in this cycle.
    pub count_12: Signal<In, Bits<16>>,
    /// Amount to add to `ASSEMBLE_EMPTY` in this cycle.
    pub count_13: Signal<In, Bits<16>>,
    /// Amount to add to `ASSEMBLE_BLOCKED` in this cycle.
    pub count_14: Signal<In, Bits<16>>,
    /// Amount to add to `RECEIVE_DROPPED` in this cycle.
    pub count_15: Signal<In, Bits<16>>,
    /// Amount to add to `RECEIVE_OVERRUN` in this cycle.
    pub count_16: Signal<In, Bits<16>>,
    /// Amount to add to `RECEIVE_IGNORED` in this cycle.
    pub count_17: Signal<In, Bits<16>>,
    /// Amount to add to `CNPS_SENT` in this cycle.
    pub count_18: Signal<In, Bits<16>>,
    /// Amount to add to `CNPS_RECEIVED` in this cycle.
    pub count_19: Signal<In, Bits<16>>,

    // The parts that the host sees.
    axil: AxiLite,
    settings: Settings,
    counters: CounterBank,
    sweep: Sweep,
    clear: Signal<Local, Bit>,

    // Addresses: the high 4 bits of each table, the low bits that must be 0 in an address within it, and the position
    // of entry and word in an address.
    #[init(tables(|table| table.offset / TABLE_STRIDE))]
    sections: [Constant<Bits<4>>; ALL_TABLES],
    #[init(tables(|table| TABLE_STRIDE - table.entries * table.entry_size))]
    outside: [Constant<Bits<20>>; ALL_TABLES],
    #[init(ENTRIES.map(|table| value(table.entry_size.ilog2())))]
    shifts: [Constant<Bits<4>>; ENTRY_TABLES],
    #[init(ENTRIES.map(|table| value(table.entry_size / 4 - 1)))]
    word_masks: [Constant<Bits<4>>; ENTRY_TABLES],
    #[init(word_of::<QueuePairEntry>("state"))]
    state_word: Constant<Bits<4>>,
    #[init(Constant::new(EVERY_TABLE.into()))]
    every_table: Constant<Bits<3>>,
    #[init(value(COUNTERS_OFFSET >> 8))]
    counters_at: Constant<Bits<8>>,
    #[init(value(FEATURES.offset))]
    features_at: Constant<Bits<24>>,
    #[init(value(features::RTL))]
    features: Constant<Bits<32>>,

    // The write that is served.
    state: DFF<ControlState>,
    place: Signal<Local, Bits<20>>,
    hits: [Signal<Local, Bit>; KEYS + 1],
    hits_entry: Signal<Local, Bit>,
    execute: Signal<Local, Bit>,
    /// The state of the doorbell's queue is valid; low once a doorbell has passed that check and waits to be taken.
    looks: DFF<Bit>,
    bell: Signal<Local, Bits<QUEUE>>,
    writes: DFF<Bit>,
    written: DFF<ConfigWrite>,
    append_writes: DFF<Bit>,
    append_written: DFF<AppendWord>,
    key_writes: DFF<Bit>,
    key_written: DFF<KeyWord>,
    /// Cycles until the next word may be sent: words, a peer's included, are at least 4 cycles apart.
    pause: DFF<Bits<2>>,
    withdraws: Signal<Local, Bit>,
    #[init(word_of::<MemoryRegionEntry>("valid"))]
    valid_word: Constant<Bits<4>>,
    #[init(Constant::new(REGION_TABLE.into()))]
    region_table: Constant<Bits<3>>,

    // The read that is served, in two cycles.
    read_place: Signal<Local, Bits<20>>,
    looked: DFF<Bit>,
    /// A register.
    found: DFF<Bits<32>>,
    reads_error: DFF<Bit>,
    reads_halted: DFF<Bit>,
    /// A counter.
    found_sum: DFF<Bits<64>>,
    is_counter: DFF<Bit>,
    is_high: DFF<Bit>,
    /// High word of the counter whose low word was read last.
    high: DFF<Bits<32>>,
}

impl Logic for Control {
    #[hdl_gen]
    fn update(&mut self) {
        self.clear.next = self.rst.val() || self.settings.soft_reset.val();

        // The host's side.
        self.axil.awaddr.next = self.axil_awaddr.val();
        self.axil.awvalid.next = self.axil_awvalid.val();
        self.axil_awready.next = self.axil.awready.val();
        self.axil.wdata.next = self.axil_wdata.val();
        self.axil.wstrb.next = self.axil_wstrb.val();
        self.axil.wvalid.next = self.axil_wvalid.val();
        self.axil_wready.next = self.axil.wready.val();
        self.axil_bresp.next = bits::<2>(0);
        self.axil_bvalid.next = self.axil.bvalid.val();
        self.axil.bready.next = self.axil_bready.val();
        self.axil.araddr.next = self.axil_araddr.val();
        self.axil.arvalid.next = self.axil_arvalid.val();
        self.axil_arready.next = self.axil.arready.val();
        self.axil_rdata.next = self.axil.rdata.val();
        self.axil_rresp.next = bits::<2>(0);
        self.axil_rvalid.next = self.axil.rvalid.val();
        self.axil.rready.next = self.axil_rready.val();

        // After a reset, the tables are cleared before anything is written to them.
        self.sweep.rst.next = self.clear.val();

        // A write finds its table.
        self.place.next = self.axil.write_addr.val().get_bits::<20>(0);
        for k in 0..KEYS + 1 {
            self.hits[k].next = (self.axil.write_addr.val().get_bits::<4>(20)
                == self.sections[k].val())
                && !(self.place.val() & self.outside[k].val()).any();
        }
        self.hits_entry.next = false;
        for k in 0..ENTRY_TABLES {
            if self.hits[k].val() {
                self.hits_entry.next = true;
            }
        }
        if self.hits[APPENDS].val() || self.hits[APPEND_BELLS].val() || self.hits[KEYS].val() {
            self.hits_entry.next = true;
        }
        self.execute.next = self.axil.write_valid.val()
            && (self.state.q.val() == ControlState::Ready)
            && !(self.sweep.busy.val() && self.hits_entry.val());
        // Nobody waits for a peer's word: it is sent when the host writes nothing.
        self.withdraws.next = self.invalidate.valid.val()
            && (self.state.q.val() == ControlState::Ready)
            && !self.axil.write_valid.val()
            && !self.sweep.busy.val()
            && !self.pause.q.val().any();
        self.invalidate.ready.next = self.withdraws.val();
        self.pause.d.next = 0.into();
        if self.pause.q.val().any() {
            self.pause.d.next = self.pause.q.val() - 1;
        }
        if self.withdraws.val() || self.execute.val() || self.sweep.busy.val() {
            self.pause.d.next = 3.into();
        }
        self.bell.next = self.place.val().get_bits::<QUEUE>(2);
        self.bell_next.next = self.bell.val();
        self.looks.d.next = true;
        self.doorbell.valid.next = false;
        self.doorbell.queue.next = self.bell.val();
        self.doorbell.position.next = self.axil.write_data.val();
        self.receive_doorbell.valid.next = false;
        self.receive_doorbell.queue.next = self.bell.val();
        self.receive_doorbell.position.next = self.axil.write_data.val();
        self.axil.write_done.next = false;
        match self.state.q.val() {
            ControlState::Ready => {
                if self.withdraws.val() {
                    self.state.d.next = ControlState::Withdraw;
                }
                if self.execute.val() {
                    self.state.d.next = ControlState::Settle;
                    if self.settings.enable.val() && !self.sweep.busy.val() {
                        if self.hits[BELLS].val() {
                            self.state.d.next = ControlState::Ring;
                        }
                        if self.hits[RECEIVE_BELLS].val() {
                            self.state.d.next = ControlState::RingReceive;
                        }
                    }
                }
            }
            ControlState::Settle => {
                // The register that was written may be the one that resets the card.
                self.state.d.next = ControlState::Done;
                if self.settings.soft_reset.val() {
                    self.state.d.next = ControlState::Restart;
                }
            }
            ControlState::Ring => {
                self.looks.d.next = false;
                if self.looks.q.val() && (!self.bell_enabled.val() || self.bell_halted.val()) {
                    self.state.d.next = ControlState::Done;
                } else {
                    self.doorbell.valid.next = true;
                    if self.doorbell.ready.val() {
                        self.state.d.next = ControlState::Done;
                    }
                }
            }
            ControlState::RingReceive => {
                self.receive_doorbell.valid.next = true;
                if self.receive_doorbell.ready.val() {
                    self.state.d.next = ControlState::Done;
                }
            }
            ControlState::Withdraw => {
                if !self.pause.q.val().any() {
                    self.state.d.next = ControlState::Ready;
                }
            }
            ControlState::Restart => {
                // The reset must not undo what is written next.
                if !self.settings.soft_reset.val() {
                    self.state.d.next = ControlState::Done;
                }
            }
            ControlState::Done => {
                self.axil.write_done.next = true;
                self.state.d.next = ControlState::Ready;
            }
        }

        // A word of a table goes to all blocks.
        self.writes.d.next = self.sweep.busy.val();
        self.written.d.next.table = self.every_table.val();
        self.written.d.next.index = self.sweep.index.val();
        self.written.d.next.word = self.state_word.val();
        self.written.d.next.data = bits::<32>(0);
        for k in 0..ENTRY_TABLES {
            if self.execute.val() && self.hits[k].val() {
                self.writes.d.next = true;
                self.written.d.next.table = k.to_bits();
                self.written.d.next.index =
                    (self.place.val() >> self.shifts[k].val()).get_bits::<INDEX>(0);
                self.written.d.next.word =
                    self.place.val().get_bits::<4>(2) & self.word_masks[k].val();
                self.written.d.next.data = self.axil.write_data.val();
            }
        }
        if self.withdraws.val() {
            self.writes.d.next = true;
            self.written.d.next.table = self.region_table.val();
            self.written.d.next.index = bit_cast::<INDEX, REGION>(self.invalidate.region.val());
            self.written.d.next.word = self.valid_word.val();
            self.written.d.next.data = bits::<32>(0);
        }
        self.cfg.valid.next = self.writes.q.val();
        self.cfg.next = self.written.q.val();

        // A word of an append region goes to the blocks that keep these.
        self.append_writes.d.next =
            self.execute.val() && (self.hits[APPENDS].val() || self.hits[APPEND_BELLS].val());
        self.append_written.d.next.bell = self.hits[APPEND_BELLS].val();
        self.append_written.d.next.region = self.place.val().get_bits::<APPEND>(REGION_AT);
        if self.hits[APPEND_BELLS].val() {
            self.append_written.d.next.region = self.place.val().get_bits::<APPEND>(2);
        }
        self.append_written.d.next.word = self.place.val().get_bits::<APPEND_WORD>(2);
        self.append_written.d.next.data = self.axil.write_data.val();
        self.append_word.valid.next = self.append_writes.q.val();
        self.append_word.next = self.append_written.q.val();
        self.key_writes.d.next = self.execute.val() && self.hits[KEYS].val();
        self.key_written.d.next.region = self.place.val().get_bits::<KEY_REGION>(KEY_REGION_AT);
        self.key_written.d.next.word = self.place.val().get_bits::<KEY_WORD>(2);
        self.key_written.d.next.data = self.axil.write_data.val();
        self.key_word.valid.next = self.key_writes.q.val();
        self.key_word.next = self.key_written.q.val();

        // A setting is changed in this block.
        self.settings.write_valid.next =
            self.execute.val() && !self.axil.write_addr.val().get_bits::<8>(16).any();
        self.settings.write_addr.next = self.place.val().get_bits::<16>(0);
        self.settings.write_data.next = self.axil.write_data.val();
        self.settings.busy.next = self.busy.val();
        self.settings.sweeping.next = self.sweep.busy.val();
        self.enable.next = self.settings.enable.val();
        self.soft_reset.next = self.settings.soft_reset.val();
        self.max_read.next = self.settings.max_read.val();
        self.merge_threshold.next = self.settings.merge_threshold.val();
        self.read_balance.next = self.settings.read_balance.val();
        self.column_min_rows.next = self.settings.column_min_rows.val();
        self.assembler_words.next = self.settings.assembler_words.val();
        self.mac.next = self.settings.mac.val();
        self.ip.next = self.settings.ip.val();
        self.ack_timeout.next = self.settings.ack_timeout.val();
        self.congestion.next = self.settings.congestion.val();

        // The counters count.
        self.counters.clear.next = self.settings.clear_counters.val();
        self.counters.amounts[0].next = bits::<16>(1);
        self.counters.amounts[1].next = self.count_1.val();
        self.counters.amounts[2].next = self.count_2.val();
        self.counters.amounts[3].next = self.count_3.val();
        self.counters.amounts[4].next = self.count_4.val();
        self.counters.amounts[5].next = self.count_5.val();
        self.counters.amounts[6].next = self.count_6.val();
        self.counters.amounts[7].next = self.count_7.val();
        self.counters.amounts[8].next = self.count_8.val();
        self.counters.amounts[9].next = self.count_9.val();
        self.counters.amounts[10].next = self.count_10.val();
        self.counters.amounts[11].next = self.count_11.val();
        self.counters.amounts[12].next = self.count_12.val();
        self.counters.amounts[13].next = self.count_13.val();
        self.counters.amounts[14].next = self.count_14.val();
        self.counters.amounts[15].next = self.count_15.val();
        self.counters.amounts[16].next = self.count_16.val();
        self.counters.amounts[17].next = self.count_17.val();
        self.counters.amounts[18].next = self.count_18.val();
        self.counters.amounts[19].next = self.count_19.val();

        // A read looks everywhere, then selects.
        self.read_place.next = self.axil.read_addr.val().get_bits::<20>(0);
        self.settings.read_addr.next = self.read_place.val().get_bits::<16>(0);
        self.counters.index.next = self.read_place.val().get_bits::<5>(3);
        self.looked.d.next = self.axil.read_valid.val() && !self.looked.q.val();
        self.found.d.next = bits::<32>(0);
        if !self.axil.read_addr.val().get_bits::<8>(16).any() {
            self.found.d.next = self.settings.read_data.val();
        }
        if self.axil.read_addr.val() == self.features_at.val() {
            self.found.d.next = self.features.val();
        }
        self.error_next.next = self.read_place.val().get_bits::<QP>(2);
        self.reads_error.d.next = (self.axil.read_addr.val().get_bits::<4>(20)
            == self.sections[ERRORS].val())
            && !(self.read_place.val() & self.outside[ERRORS].val()).any()
            && !self.sweep.busy.val();
        self.halted_next.next = self.read_place.val().get_bits::<QUEUE>(2);
        self.reads_halted.d.next = (self.axil.read_addr.val().get_bits::<4>(20)
            == self.sections[HALTS].val())
            && !(self.read_place.val() & self.outside[HALTS].val()).any()
            && !self.sweep.busy.val();
        self.found_sum.d.next = self.counters.value.val();
        self.is_counter.d.next = !self.axil.read_addr.val().get_bits::<8>(16).any()
            && (self.read_place.val().get_bits::<8>(8) == self.counters_at.val());
        self.is_high.d.next = self.read_place.val().get_bit(2);
        self.axil.read_done.next = self.looked.q.val();
        self.axil.read_data.next = self.found.q.val();
        if (self.reads_error.q.val() && self.error.val())
            || (self.reads_halted.q.val() && self.halted.val())
        {
            self.axil.read_data.next = bits::<32>(1);
        }
        if self.is_counter.q.val() {
            self.axil.read_data.next = self.found_sum.q.val().get_bits::<32>(0);
            if self.is_high.q.val() {
                self.axil.read_data.next = self.high.q.val();
            } else if self.looked.q.val() {
                self.high.d.next = self.found_sum.q.val().get_bits::<32>(32);
            }
        }

        if self.clear.val() {
            self.writes.d.next = false;
            self.append_writes.d.next = false;
            self.pause.d.next = 0.into();
        }
        if self.rst.val() {
            self.state.d.next = ControlState::Ready;
            self.looked.d.next = false;
        }
    }
}
