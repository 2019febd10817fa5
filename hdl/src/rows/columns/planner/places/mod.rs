//! Decides which lanes are fetched together, and where they lie in the segmented memory.

mod groups;
mod kernel;
mod sizes;

use super::apart::Apart;
use super::lane_places::LanePlaces;
use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::{LastSet, Lutram, Multiplier, Pack};
use drdma_emit::prelude::*;

/// State of the block.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PlaceState {
    /// Waits for a header.
    Wait,
    /// Takes the next lane.
    Pick,
    /// Finds how far the lane is from the group, and from the group's current part.
    Differ,
    /// Decides whether the lane joins.
    Fit,
    /// Lets the lane join, or begin a group.
    Join,
    /// Ends a group: its size is being multiplied.
    Size,
    /// Places the group, and emits its parts.
    Place,
    /// All groups are placed; waits until the lanes of the window before have been emitted.
    Hand,
}

/// Turns headers into parts of groups, the lanes for the addresser, and the size of the window.
///
/// Neighbouring lanes of one step that together span at most that step, and at most 127 bytes, are a *group*: it has
/// one place in the window, in which its bytes lie as in host memory. Consecutive lanes of a group are a *part* of it
/// as long as the gap between them may be read through. Which lanes form a group does not depend on the threshold, so
/// that the sequencer knows in advance what a chunk takes.
///
/// Each group starts some banks behind the start of the one before: 5, or 14 with more than five lanes. Of the
/// distances 1 to 31 these give the most words a cycle for lanes of 1, 2, 4 and 8 bytes at all addresses, according to
/// `libdrdma::optimizer::assembler`.
///
/// A header takes 3 cycles a lane, 3 a group, 1 for each further part of a group and 1 more; 3 more if the last lane is
/// a group by itself, and 5 if the window is not the first of its stretch. The first part is emitted 9 cycles after the
/// header of one lane was taken, or 14 in that last case. The lanes follow 17 cycles after the last part, while the
/// next header is at work ([`LanePlaces`]). At most two chunks are under way: the parts of the next one wait until the
/// one before the last is `done`.
#[derive(LogicBlock, BlockDefault)]
pub struct Places {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Widest gap in bytes that is read through.
    pub threshold: Signal<In, Bits<12>>,

    /// The header of a chunk is offered.
    pub header_valid: Signal<In, Bit>,
    /// The header is taken in this cycle.
    pub header_ready: Signal<Out, Bit>,
    /// Host address of each lane in the chunk's first row (16 x 64 bits).
    pub header_addr: Signal<In, Bits<1024>>,
    /// Bytes of each lane (16 x 7 bits); 0 if the lane is not used.
    pub header_len: Signal<In, Bits<112>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub header_step: Signal<In, Bits<128>>,
    /// Rows of the window, 1 to 4,096.
    pub header_rows: Signal<In, Bits<13>>,
    /// Distance of the window's first row from the row at `header_addr`, in blocks of 64 rows.
    pub header_base: Signal<In, Bits<26>>,
    /// Window of the chunk.
    pub header_window: Signal<In, Bits<WINDOW_INDEX>>,
    /// A chunk has no more boxes.
    pub done: Signal<In, Bit>,

    /// A part of a group is emitted; no back-pressure.
    pub group_valid: Signal<Out, Bit>,
    /// Number of the part, under the parity of its chunk.
    pub group_index: Signal<Out, Bits<5>>,
    /// The part is the last one of its chunk.
    pub group_last: Signal<Out, Bit>,
    /// Host address at which the part starts.
    pub group_lo: Signal<Out, Bits<64>>,
    /// Place at which the part starts in the window, in bytes.
    pub group_place: Signal<Out, Bits<15>>,
    /// Window of the part.
    pub group_window: Signal<Out, Bits<WINDOW_INDEX>>,
    /// Bytes of a row of the part.
    pub group_len: Signal<Out, Bits<7>>,
    /// Step of the part in bytes.
    pub group_step: Signal<Out, Bits<8>>,
    /// Blocks of 64 rows of the window, 1 to 64.
    pub group_blocks: Signal<Out, Bits<7>>,

    /// The lanes of a window are offered.
    pub lanes_valid: Signal<Out, Bit>,
    /// The lanes are taken in this cycle.
    pub lanes_ready: Signal<In, Bit>,
    /// Place of each lane's first row in the window (16 x 17 bits).
    pub lanes_place: Signal<Out, Bits<272>>,
    /// Bytes of the lanes before each lane (16 x 10 bits).
    pub lanes_start: Signal<Out, Bits<160>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub lanes_step: Signal<Out, Bits<128>>,
    /// Number of lanes, 1 to 16.
    pub lanes_lanes: Signal<Out, Bits<5>>,
    /// Bytes of a row of all lanes, at most 960.
    pub lanes_row_bytes: Signal<Out, Bits<10>>,
    /// Window of the lanes.
    pub lanes_window: Signal<Out, Bits<WINDOW_INDEX>>,

    /// `size` is valid: all groups of the window are placed.
    pub sized: Signal<Out, Bit>,
    /// With `sized`: size of the window in units of 128 B.
    pub size: Signal<Out, Bits<9>>,

    state: DFF<PlaceState>,
    parity: DFF<Bit>,
    /// Number of chunks under way.
    chunks: DFF<Bits<2>>,
    starts: Signal<Local, Bit>,
    addr: DFF<Bits<1024>>,
    len: DFF<Bits<112>>,
    step: DFF<Bits<128>>,
    rows: DFF<Bits<13>>,
    window: DFF<Bits<WINDOW_INDEX>>,

    // Distance by which the lanes are moved: one lane after another is multiplied.
    base: DFF<Bits<26>>,
    moved: DFF<Bit>,
    move_next: DFF<Bits<5>>,
    moving: DFF<Bits<4>>,
    move_lane: [DFF<Bits<4>>; 4],
    #[init(Multiplier::new(4))]
    by: Multiplier<26, 8, 34>,
    moves: Lutram<34, 4, 1>,
    /// Number of lanes whose distance is known.
    known: DFF<Bits<5>>,
    way: Signal<Local, Bits<64>>,

    // The present lane, and the one that is taken next.
    lane: DFF<Bits<4>>,
    pick: DFF<Bits<4>>,
    can_pick: Signal<Local, Bit>,
    picks: Signal<Local, Bit>,
    used: [Signal<Local, Bit>; 16],
    used_bits: Signal<Local, Bits<16>>,
    find_last: LastSet<16, 4>,
    last_lane: DFF<Bits<4>>,
    lane_addr: DFF<Bits<64>>,
    lane_len: DFF<Bits<7>>,
    lane_step: DFF<Bits<8>>,
    /// Bytes that a group may span.
    most: Signal<Local, Bits<8>>,
    from_group: Apart,
    from_part: Apart,
    joins: DFF<Bit>,
    joins_part: DFF<Bit>,
    lower: DFF<Bit>,
    lower_part: DFF<Bit>,
    joint: DFF<Bits<9>>,
    joint_part: DFF<Bits<9>>,

    // The present group.
    open: DFF<Bit>,
    group: DFF<Bits<4>>,
    /// First bank of the group.
    bank: Signal<Local, Bits<5>>,
    lo: DFF<Bits<64>>,
    len_of: DFF<Bits<9>>,
    step_of: DFF<Bits<8>>,
    closing: DFF<Bit>,
    // The group's current part, the parts before it, and the one that is emitted.
    part_lo: DFF<Bits<64>>,
    part_len: DFF<Bits<9>>,
    parts: Lutram<71, 4, 1>,
    held: DFF<Bits<4>>,
    given: DFF<Bits<4>>,
    part: DFF<Bits<4>>,
    part_at: Signal<Local, Bits<7>>,
    count: DFF<Bits<2>>,
    #[init(Multiplier::new(3))]
    multiply: Multiplier<12, 8, 20>,
    free: DFF<Bits<13>>,
    skew: Signal<Local, Bits<5>>,
    word: DFF<Bits<13>>,
    bytes: Signal<Local, Bits<15>>,

    lane_places: LanePlaces,
    low_addr: Pack<16, 7, 112>,
    /// The last group is placed.
    hands: Signal<Local, Bit>,
    /// The last group was placed in the cycle before.
    ended: DFF<Bit>,
    unused: Signal<Local, Bits<7>>,
}
