//! Spreads the values of columns over the rows of a packet: says where in the packet the pieces of each value go.
//!
//! All columns of a packet have the same width. A piece is the largest of 4, 2 and 1 bytes that divides the width and
//! the place in its row at which the packet begins; so no piece crosses a word of 4 bytes, in the column or in the
//! packet. 16 pieces go in a cycle: 64, 32 or 16 bytes. Where they go, counted from a column's first value, is the same
//! for all columns, and is computed anew only if a packet has other rows than the one before.
//!
//! The rows of the memory, of 128 B, hold the packet as it will leave. With 4, 8, 12 or 16 columns, the values of one
//! column would lie in few banks; then each row of the memory is rotated by 8 B more than the one before it.
//!
//! Contract: a beat of 64 B takes 1, 2 or 4 cycles, a run without bytes 1, a packet 1 more, and 18 more if its rows are
//! not those of the packet before. A packet begins with its first column, when there is room for it; the pulse `begun`
//! takes that room. `packet` comes with the packet's last beat. May stall at any time.

mod kernel;

use super::{OFFSET, ROW};
use crate::primitive::Pack;
use crate::shell::host_read::HostReadBeat;
use crate::transpose::{BYTES, LANES, PIECES, WORD_PLACE};
use drdma_emit::prelude::*;

/// Bits of the number of a packet in the memory: it holds 4.
pub const SLOT: usize = 2;
/// Bits of the number of a piece in its value, which has up to 64.
const PIECE: usize = 6;
/// Bits of a count of the pieces or of the bytes of a value.
const WIDTH: usize = 7;

/// Shape of the rows of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Shape {
    /// Bytes of a row.
    pub row: Bits<ROW>,
    /// Bytes of a value, 1 to 64; the same in all columns.
    pub width: Bits<WIDTH>,
    /// Binary logarithm of the bytes of a piece: 0, 1 or 2.
    pub grain: Bits<2>,
    /// Each row of the memory is rotated by 8 B more than the one before it.
    pub turned: Bit,
    /// Bytes of the packet.
    pub bytes: Bits<13>,
}

/// The values of one column in a packet.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Strip {
    /// Bytes that were read, from the first byte of a value on.
    pub bytes: Bits<13>,
    /// Distance from the packet's first byte to the value's first one, as a signed number of bytes.
    pub offset: Bits<OFFSET>,
    /// The column is the packet's last one.
    pub last: Bit,
    /// Some of the packet's bytes cannot be reached; given with the last strip.
    pub failed: Bit,
    /// With `failed`: the region ends before these bytes.
    pub outside: Bit,
}

/// A packet whose last bytes are on their way into the memory.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Spread {
    /// Bytes of the packet.
    pub bytes: Bits<13>,
    /// Each row of the memory is rotated by 8 B more than the one before it.
    pub turned: Bit,
    /// Some of the packet's bytes could not be read.
    pub error: Bit,
    /// With `error`: the region ends before these bytes.
    pub outside: Bit,
}

/// Steps in which the current packet is handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum StridesState {
    /// Waits for a packet, and for room for it.
    Await,
    /// Computes where pieces go, for rows that are not those of the packet before.
    Prepare,
    /// Spreads the packet's columns.
    Runs,
}

/// Spreads columns over rows. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; streams `shape` (one for each packet), `strip` (one for each of its columns), `beat` (what was read);
/// `room`, `slot`: there is room for a packet, and where; `flows`.
///
/// # Outputs
/// `begun`, `packet`: pulses; `valid`, `over`, `bytes`, `masks`, `places`: a beat of pieces.
#[derive(LogicBlock, BlockDefault)]
pub struct Strides {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The shape of each packet's rows.
    pub shape: Stream<In, Shape>,
    /// The columns of each packet.
    pub strip: Stream<In, Strip>,
    /// Bytes that were read of the columns, in their order.
    pub beat: Stream<In, HostReadBeat>,
    /// The memory has room for a packet.
    pub room: Signal<In, Bit>,
    /// Number of the place for that packet in the memory; valid with `room`.
    pub slot: Signal<In, Bits<SLOT>>,
    /// A packet is begun, and takes the room.
    pub begun: Signal<Out, Bit>,
    /// A packet's last pieces are on offer in the next cycle.
    pub packet: Flow<Out, Spread>,

    /// A beat of 16 pieces is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is the last one of a packet.
    pub over: Signal<Out, Bit>,
    /// A word of 4 B for each piece, with the piece's bytes in each place that they may go to.
    pub bytes: Signal<Out, Bits<512>>,
    /// The bytes of each word that are written, a bit each; none for a piece that does not exist.
    pub masks: Signal<Out, Bits<64>>,
    /// The word of the memory to which each piece goes, 12 bits each: word of the row, row, packet.
    pub places: Signal<Out, Bits<192>>,
    /// The beat is taken in this cycle.
    pub flows: Signal<In, Bit>,

    state: DFF<StridesState>,

    // How pieces lie, counted from a column's first value.
    /// `first_*` and the steps hold for rows of the shape `of`.
    known: DFF<Bit>,
    of: DFF<Shape>,
    unused_of: Signal<Local, Bits<13>>,
    same: Signal<Local, Bit>,
    index: DFF<Bits<5>>,
    /// Bytes of a piece; pieces of a value; bytes from a value's end to the next value of its column.
    piece_bytes: Signal<Local, Bits<3>>,
    value_pieces: Signal<Local, Bits<WIDTH>>,
    gap: Signal<Local, Bits<OFFSET>>,
    /// The piece that is computed: its place in the packet, and its number in its value.
    at: DFF<Bits<OFFSET>>,
    nth: DFF<Bits<PIECE>>,
    nth_next: Signal<Local, Bits<WIDTH>>,
    /// The first 16 pieces of a column: their places, and their numbers in their values.
    first_at: [DFF<Bits<OFFSET>>; PIECES],
    first_nth: [DFF<Bits<PIECE>>; PIECES],
    /// The 16 current pieces, in the same way.
    piece_at: [DFF<Bits<OFFSET>>; PIECES],
    piece_nth: [DFF<Bits<PIECE>>; PIECES],
    /// Increments for 16 pieces of a piece's number in its value, and of its place, if that is below `wraps_from`.
    nth_step: DFF<Bits<5>>,
    step: DFF<Bits<OFFSET>>,
    wraps_from: DFF<Bits<WIDTH>>,
    /// Bytes that they add to the place otherwise; the number is then less by `wraps_from`.
    wrapped_step: DFF<Bits<OFFSET>>,
    wraps: [Signal<Local, Bit>; PIECES],
    moved_nth: [Signal<Local, Bits<WIDTH>>; PIECES],
    unused_nth: [Signal<Local, Bits<WIDTH>>; PIECES],
    resets: Signal<Local, Bit>,

    // The current column.
    begun_strip: DFF<Bit>,
    rest: DFF<Bits<13>>,
    left: Signal<Local, Bits<13>>,
    empty: Signal<Local, Bit>,
    /// The part of the current beat that is spread, and the number of a beat's last part.
    part: DFF<Bits<2>>,
    last_part: Signal<Local, Bits<2>>,
    most: Signal<Local, Bits<7>>,
    /// Pieces that are left of the column, if they are the last ones.
    rounded: Signal<Local, Bits<7>>,
    unused_rounded: Signal<Local, Bits<7>>,
    count: Signal<Local, Bits<5>>,
    ends: Signal<Local, Bit>,
    fires: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    bad: DFF<Bit>,
    bad_now: Signal<Local, Bit>,
    half: Signal<Local, Bits<256>>,
    quarter: Signal<Local, Bits<128>>,
    data: Pack<PIECES, 32, 512>,
    twice: [Signal<Local, Bits<32>>; PIECES],
    fourfold: [Signal<Local, Bits<32>>; PIECES],

    // The beat that is offered, a cycle later.
    out_valid: DFF<Bit>,
    out_over: DFF<Bit>,
    out_bytes: DFF<Bits<512>>,
    out_at: [DFF<Bits<OFFSET>>; PIECES],
    out_used: [DFF<Bit>; PIECES],
    out_grain: DFF<Bits<2>>,
    out_turned: DFF<Bit>,
    out_slot: DFF<Bits<SLOT>>,
    /// Row of the packet's place in the memory, and word of that row.
    row: [Signal<Local, Bits<5>>; PIECES],
    word: [Signal<Local, Bits<5>>; PIECES],
    lanes: [Signal<Local, Bits<LANES>>; PIECES],
    place_parts: Pack<PIECES, WORD_PLACE, 192>,
    mask_parts: Pack<PIECES, LANES, 64>,
    unused: Signal<Local, Bit>,
}

const _: () = assert!(BYTES == 64);
