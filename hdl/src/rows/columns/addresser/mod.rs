//! Finds for each of a beat's 64 bytes where it lies in its window of the segmented memory.
//!
//! Takes each window's lanes from the planner and beats from the packer's FIFO, and sends addressed bytes to the
//! gather. Byte `p` of a beat is byte `x = start + p` of its rows: byte `x mod R` of row `k = x / R`, `R` being the
//! bytes of a row, and part of the lane `j` in which byte `x mod R` lies. Its place is `place[j] + offset[k] *
//! step[j]`, plus its distance from the start of its lane.
//!
//! `k`, `j` and that distance depend only on `x` and the lengths of the lanes: they are the *layout*, of `R` + 63
//! entries. It is made, an entry a cycle, where the lanes of a window have other lengths than those before. From it and
//! the lanes of a window its *table* is made, four entries a cycle, while beats of the window before still pass: the
//! place of byte `x` in row 0, the step of its lane, and `k`. If the lanes of a window have the places and steps of the
//! window before, as those of a request's full chunks have, the table is used again. A beat takes the 64 entries from
//! `start` on, then the offsets of their rows. If rows have 1 to 3 bytes, so that a beat has more rows than entries can
//! count, it takes the offset of row `p / R` instead.
//!
//! **Throughput.** A beat a cycle, also from window to window. The lanes of a window take 2 cycles if they lie as those
//! of the window before; else 3 + (`R` + 63) / 4, rounded up; where the lengths change, at most `R` + 72.
//!
//! **Latency.** 7 cycles from a beat to its bytes. The first beat of a window is taken 4 cycles after its lanes if they
//! lie as those before; else 5 + (`R` + 63) / 4, rounded up, or at most `R` + 74 if their lengths are new. The window's
//! data arrive later.
//!
//! **Back-pressure.** Any output may stall. The pipeline never stops: a beat is taken when the FIFO at the end, 16
//! deep, has room for all beats that are under way.

use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::{
    Concat, Fifo, LastSet, Lookups, Lutram, Pack, ProductSums, Spread, Stretch,
};
use crate::request::DEST_COUNT;
use array_init::array_init;
use drdma_emit::prelude::*;

mod beats;
mod kernel;
mod table;
#[cfg(test)]
mod tests;

/// Longest row in bytes: a table has 1,024 entries, and a beat may start with a row's last byte.
pub const MAX_ROW_BYTES: usize = 1024 - 64;

/// Addresser of the column path; see the module.
///
/// # Inputs
/// `lanes`, `beat`.
///
/// # Outputs
/// `bytes`.
#[derive(LogicBlock, BlockDefault)]
pub struct Addresser {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// The lanes of a window are offered.
    pub lanes_valid: Signal<In, Bit>,
    /// The lanes are taken in this cycle.
    pub lanes_ready: Signal<Out, Bit>,
    /// Place of each lane's row 0 in the window (16 x 17 bits, of which the low 15 count, as for all its rows).
    pub lanes_place: Signal<In, Bits<272>>,
    /// Bytes of the lanes before each lane (16 x 10 bits); for lanes that are not there, the bytes of a row.
    pub lanes_start: Signal<In, Bits<160>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub lanes_step: Signal<In, Bits<128>>,
    /// Number of lanes, 1 to 16.
    pub lanes_lanes: Signal<In, Bits<5>>,
    /// Bytes of a row, 1 to [`MAX_ROW_BYTES`].
    pub lanes_row_bytes: Signal<In, Bits<10>>,
    /// Window of the lanes.
    pub lanes_window: Signal<In, Bits<WINDOW_INDEX>>,

    /// A beat is offered.
    pub beat_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub beat_ready: Signal<Out, Bit>,
    /// Offsets of the rows that the beat touches (64 x 12 bits): at most 16, or up to 64 if rows have 1 to 3 bytes.
    pub beat_offset: Signal<In, Bits<768>>,
    /// Byte of the first row with which the beat starts; 0 if rows have 1 to 3 bytes.
    pub beat_start: Signal<In, Bits<10>>,
    /// Bytes of the beat, 0 to 64.
    pub beat_bytes: Signal<In, Bits<7>>,
    /// Place of the destination in the ring of destinations.
    pub beat_dest: Signal<In, Bits<10>>,
    /// Slot of the request.
    pub beat_slot: Signal<In, Bits<8>>,
    /// The beat is the first one of a message.
    pub beat_message_start: Signal<In, Bit>,
    /// The beat is the last one of a message.
    pub beat_message_end: Signal<In, Bit>,
    /// With `beat_message_start`: bytes of the message, where they are needed; else 0.
    pub beat_message_bytes: Signal<In, Bits<32>>,
    /// The beat is the last one of its destination.
    pub beat_dest_end: Signal<In, Bit>,
    /// The beat is the last one of its window.
    pub beat_window_end: Signal<In, Bit>,

    /// A beat of addressed bytes is offered.
    pub bytes_valid: Signal<Out, Bit>,
    /// The beat is taken in this cycle.
    pub bytes_ready: Signal<In, Bit>,
    /// Bytes that are there: the lowest `bytes_bytes`, one bit each.
    pub bytes_mask: Signal<Out, Bits<64>>,
    /// Place of each byte in the window (64 x 17 bits).
    pub bytes_ram: Signal<Out, Bits<1088>>,
    /// Window of the beat.
    pub bytes_window: Signal<Out, Bits<WINDOW_INDEX>>,
    /// The beat is the last one of its window.
    pub bytes_window_end: Signal<Out, Bit>,
    /// Always 1: every beat is complete.
    pub bytes_beat_end: Signal<Out, Bit>,
    /// Place of the destination in the ring of destinations.
    pub bytes_dest: Signal<Out, Bits<10>>,
    /// Slot of the request.
    pub bytes_slot: Signal<Out, Bits<8>>,
    /// Bytes of the beat, 0 to 64.
    pub bytes_bytes: Signal<Out, Bits<7>>,
    /// The beat is the first one of a message.
    pub bytes_message_start: Signal<Out, Bit>,
    /// The beat is the last one of a message.
    pub bytes_message_end: Signal<Out, Bit>,
    /// With `bytes_message_start`: bytes of the message, where they are needed; else 0.
    pub bytes_message_bytes: Signal<Out, Bits<32>>,
    /// Always 0: the end of a request comes by the row path.
    pub bytes_request_end: Signal<Out, Bit>,
    /// The beat is the last one of its destination.
    pub bytes_dest_end: Signal<Out, Bit>,
    /// Always 0.
    pub bytes_status: Signal<Out, Bits<8>>,
    /// Always 0.
    pub bytes_bad_dest: Signal<Out, Bits<DEST_COUNT>>,

    // Lanes that wait: their places in the window, starts and steps; the number of lanes, bytes of a row, the window.
    in_window: Pack<16, 15, 240>,
    unused: Signal<Local, Bits<272>>,
    entry: Concat<240, 160, 128, 19, 547>,
    waiting: Fifo<547, 4, 5>,
    next_place: Signal<Local, Bits<240>>,
    next_step: Signal<Local, Bits<128>>,
    next_layout: Signal<Local, Bits<175>>,
    next_window: Signal<Local, Bits<WINDOW_INDEX>>,

    // The layout: the lengths that it is for, and how much of it is made. Entries are made one by one and written four
    // at a time: row 4 bits, lane 4, distance 7.
    layout: DFF<Bits<175>>,
    known: DFF<Bit>,
    same: Signal<Local, Bit>,
    making: DFF<Bit>,
    last_word: Signal<Local, Bits<9>>,
    count: DFF<Bits<10>>,
    row: DFF<Bits<4>>,
    at: DFF<Bits<10>>,
    following: Signal<Local, Bits<10>>,
    begun: [Signal<Local, Bit>; 16],
    begun_bits: Signal<Local, Bits<16>>,
    #[init(array_init(|k| Constant::new((k as u8).to_bits())))]
    number: [Constant<Bits<5>>; 16],
    find_lane: LastSet<16, 4>,
    found: DFF<Bit>,
    found_count: DFF<Bits<10>>,
    found_row: DFF<Bits<4>>,
    found_lane: DFF<Bits<4>>,
    found_at: DFF<Bits<7>>,
    rest: Signal<Local, Bits<7>>,
    made: Signal<Local, Bits<60>>,
    recent: DFF<Bits<45>>,
    words: DFF<Bits<9>>,
    entries: Lutram<60, 8, 1>,

    // The next window's table: the layout is read, lanes are looked up, entries are written: place in the window 15
    // bits, step 8, row 4.
    fill: Signal<Local, Bit>,
    fill_word: DFF<Bits<9>>,
    fill_last: Signal<Local, Bit>,
    fill_done: DFF<Bit>,
    read: DFF<Bits<60>>,
    read_valid: DFF<Bit>,
    read_last: DFF<Bit>,
    read_word: DFF<Bits<8>>,
    read_lanes: Pack<4, 4, 16>,
    lane_places: Lookups<4, 15, 240, 16, 60>,
    lane_steps: Lookups<4, 8, 128, 16, 32>,
    looked: DFF<Bits<60>>,
    looked_valid: DFF<Bit>,
    looked_last: DFF<Bit>,
    looked_word: DFF<Bits<8>>,
    new_entries: Pack<4, 27, 108>,
    filled: DFF<Bit>,
    filled_window: DFF<Bits<WINDOW_INDEX>>,
    filled_thin: DFF<Bits<2>>,
    /// The window needs no table of its own.
    filled_alike: DFF<Bit>,
    // Places and steps of the lanes that the last table was made for, if its layout is the present one.
    kept: DFF<Bit>,
    kept_place: DFF<Bits<240>>,
    kept_step: DFF<Bits<128>>,
    alike: Signal<Local, Bit>,
    reuse: Signal<Local, Bit>,

    // The window at work.
    active: DFF<Bit>,
    window: DFF<Bits<WINDOW_INDEX>>,
    /// Bytes of a row of the window, if they are 1 to 3; else 0.
    thin: DFF<Bits<2>>,
    table: DFF<Bit>,
    tables: Stretch<27, 10, 8, 108, 1728>,
    take: Signal<Local, Bit>,
    load: Signal<Local, Bit>,

    // The pipeline: entries, offsets of rows, then three stages of sums.
    stages: DFF<Bits<5>>,
    beat_offsets: DFF<Bits<768>>,
    beat_thin: DFF<Bits<2>>,
    rows: Pack<64, 4, 256>,
    places: Pack<64, 15, 960>,
    steps: Pack<64, 8, 512>,
    offsets: Spread<12, 768, 256, 768>,
    later_places: DFF<Bits<960>>,
    later_steps: DFF<Bits<512>>,
    addresses: ProductSums<12, 8, 15, 768, 512, 960>,
    side: Signal<Local, Bits<65>>,
    side_0: DFF<Bits<65>>,
    side_1: DFF<Bits<65>>,
    side_2: DFF<Bits<65>>,
    side_3: DFF<Bits<65>>,
    side_4: DFF<Bits<65>>,
    mask: Signal<Local, Bits<64>>,
    #[init(Constant::new(u64::MAX.to_bits()))]
    ones: Constant<Bits<64>>,
    result: Concat<960, 65, 32, 32, 1089>,
    queue: Fifo<1089, 4, 5>,
    ram: Pack<64, 17, 1088>,
}
