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

use crate::context::{ConfigWrite, EVERY_TABLE, QP, QUEUE, REGION_TABLE, RegionIndex, word_of};
use crate::receive::record::AppendWord;
use crate::regions::entries::KeyWord;
use drdma_abi::described::{APPEND_DOORBELLS, APPEND_REGIONS, KEY_REGIONS};
use drdma_abi::receive::{
    FEATURES, QUEUE_PAIR_ATTRIBUTES, RECEIVE_DOORBELLS, RECEIVE_QUEUES, features,
};
use drdma_abi::register::*;
use drdma_emit::prelude::*;

mod axil;
mod congestion;
mod counters;
mod kernel;
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
/// Positions of the tables that are not broadcast, behind the tables of entries.
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

/// State of the write that is served.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ControlState {
    /// Waits for a write.
    Ready,
    /// The write takes effect.
    Settle,
    /// The doorbell of a send queue is dropped, or waits to be taken.
    Ring,
    /// The doorbell of a receive queue waits to be taken; `receives` drops those that it cannot use.
    RingReceive,
    /// A peer's word was sent instead of a write's, which would follow it too closely.
    Withdraw,
    /// Waits until the reset by the write is over.
    Restart,
    /// Answers the write.
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

    // ------------------------------------------------------------------ tables: every word that the host writes, to
    // all blocks
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

    // The write that is being served.
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

    // The read that is being served, in two cycles.
    read_place: Signal<Local, Bits<20>>,
    looked: DFF<Bit>,
    /// Value of the register that is read.
    found: DFF<Bits<32>>,
    reads_error: DFF<Bit>,
    reads_halted: DFF<Bit>,
    /// Value of the counter that is read.
    found_sum: DFF<Bits<64>>,
    is_counter: DFF<Bit>,
    is_high: DFF<Bit>,
    /// High word of the counter whose low word was read last.
    high: DFF<Bits<32>>,
}
