//! Finds the pieces of host memory in which a region's packed bytes lie.

mod columns;
mod kernel;
mod pieces;
mod rows;
mod shape;

use super::entries::{GRANULE_BITS, GRANULE_INDEX};
use super::{HandBack, Handed, Position, Probe, ROW, Side, WalkAsk, WalkStep};
use crate::context::{ConfigWrite, QP};
use crate::primitive::{CountOnes, Multiplier};
use crate::receive::responder::keys::{KEY_REGION, Keys};
use drdma_abi::Layout;
use drdma_abi::described::{ENTRY_GRANULES, KeyRegionEnd};
use drdma_abi::work_request::{
    Element, MAX_ELEMENTS, RegionHeader, RegionShape, RegionType, shape_flags,
};
use drdma_emit::prelude::*;

const CONTIGUOUS: u64 = RegionType::Contiguous as u64;
const STRIDED: u64 = RegionType::Strided as u64;
const BITMAPPED: u64 = RegionType::Bitmapped as u64;
/// Numbers of an entry's granules: header, shape, elements, end.
const SHAPE: u64 = 1;
/// Number of the granule of the first element.
pub const FIRST_ELEMENT: u64 = 2;
const END: u64 = ENTRY_GRANULES as u64 - 1;
const MOST_ELEMENTS: u64 = MAX_ELEMENTS as u64;
/// The flag that a region may have here.
const FLAGS: u64 = shape_flags::FETCH_ROWS as u64;
/// Bits of the place of a message's first byte; the division takes a cycle for each.
const START_BITS: u64 = 64;
/// Stages of the multiplier, and cycles from asking for an element's granule to the product.
const STAGES: usize = 5;
const PRODUCT: u64 = STAGES as u64 + 2;
/// Cycles from a range until it is known whether a key covers it.
pub const KEY: u64 = 3;
/// Cycles from a granule's number to the granule.
const GRANULE: u64 = 1;
/// Bits of the upper half of such a place, which the division skips if they are 0.
const UPPER: usize = 32;
/// Bytes of the widest value of a dense column, or of columns that a bitmap selects from.
const WIDEST: u64 = 64;
/// Bits of a count of bytes of a row of dense columns.
pub const SHORT: usize = 11;
/// Bits of a packet's bytes with those of the row before it; the division by a row's bytes takes a cycle for each.
pub const REACH: usize = 13;
/// First bit of these in a dividend.
const REACH_PLACE: u64 = 64 - REACH as u64;
/// Bits of the bytes of a dense column that a packet reaches: of up to 4,097 rows.
const COLUMN_BYTES: usize = 20;

const _: () = assert!(MAX_ELEMENTS as u64 * WIDEST < 1 << SHORT);
const _: () = assert!(MAX_ELEMENTS as u64 * WIDEST - 1 + 4096 < 1 << REACH);

/// More rows than a piece of a bitmap has, and bits of a count up to that.
const MANY_ROWS: u64 = 1024;
const FEW: usize = 11;

/// Steps of a walk.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum WalkState {
    /// Waits for a packet.
    Idle,
    /// Offers a packet of plain memory as it is.
    Plain,
    /// Goes on where the packet before has ended, or reads the region anew, or goes to the next region of a receive.
    Begin,
    /// Asks for the region's header.
    Header,
    /// Takes the header, and asks for the shape.
    Shape,
    /// Takes the shape, and asks for the last granule of the region's entry.
    End,
    /// Takes that granule, and sums up the elements.
    Sum,
    /// Counts the elements together, which may be one if they touch.
    Span,
    /// Divides the first byte's place by the bytes of all elements of a row.
    Divide,
    /// Finds the element of the first byte, whose row is known.
    Find,
    /// Checks whether the first byte is in this element.
    Found,
    /// Looks the current row up.
    Seek,
    /// Walks the bitmap.
    Bits,
    /// Finds the piece of the bitmap or of the pointers from the current row on.
    Measure,
    /// Takes the number of bytes of that piece.
    Size,
    /// Looks that piece up in its key.
    Ask,
    /// Requests the read of that piece.
    Fetch,
    /// Waits for the bytes of that piece.
    Come,
    /// Shifts the bits so that they begin with the current row.
    Align,
    /// Computes the address of the current element in the row.
    Multiply,
    /// Looks that address up in its key.
    Check,
    /// Offers the piece.
    Offer,
    /// Goes on to what comes behind the piece.
    Advance,
    /// Divides the packet's bytes in dense columns into rows.
    Rows,
    /// Takes the number of rows.
    Reach,
    /// Checks that the region has these rows.
    Fit,
    /// Offers the columns, all but the last one.
    Columns,
    /// Waits for the columns' keys.
    Judge,
    /// Has the keys' answer: offers the last column, or withdraws all of them.
    Close,
    /// Waits until the packet that was handed over is given back.
    Hand,
    /// Reports that the packet's bytes cannot be reached.
    Fail,
}

/// Walks regions, and names the pieces in which bytes lie; see the [module above](super).
///
/// Every piece is inside the memory region of its local key, and in the protection domain, whatever a bitmap or
/// pointers say; if it is written, its key allows that. Otherwise the packet ends with a step that has failed, and so
/// does one for a described key whose entry is not valid.
///
/// Contract: steps come in the order of the bytes, the last one of a packet with `last`, or one that has `failed`. The
/// first piece of a packet of a described key comes about 80 cycles after it was asked for, or 50 if the packet begins
/// in the region's first 4 GiB, and 4 more for each column; with a bitmap 1 more for each 64 rows that come before, and
/// 1 for each row of the last 64. A packet that goes on where the one before of its queue pair has ended takes 2 cycles
/// if no other one came between, else 8 and 1 for each column. A piece takes 16 cycles; the rows of a strided region
/// that touch are one piece, and take 8 cycles more. The bits of 512 rows, or 8 pointers, are a step with `side`, after
/// which the walk waits for `side`. The region of a described key is read with the first packet of a message, or behind
/// a packet of another queue pair.
///
/// With `columns`, bytes in a described key's strided region whose columns are dense (each extent is as long as the
/// period, at most 64 B) are answered column by column: a step with `column` for each extent, one a cycle, in the order
/// of a row, 17 cycles after the packet is begun, and 5 more before the last one. These steps wait while `roomy` is
/// low, and not for `ready`. If one of the columns cannot be reached whole, `again`, a pulse, withdraws what was said
/// of the packet, and it is answered piece by piece.
///
/// With `columns`, bytes that are read of a bitmapped region whose columns all have one width of at most 64 B have no
/// steps here. The packet is `handed` over while `hands`, until `back` says where it has ended. Meanwhile a `probe` is
/// answered 3 cycles later, by `probed`.
///
/// The granule that was asked for in a cycle, of `region`, or of the receive of `qp`, must be given in the next one.
/// `resume` is the position of `next_qp` one cycle before.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; stream `ask`; `data`, `valid`, `kind`, `is_final`; `resume`; `forget`; `side`, a pulse;
/// `roomy`; `back`; `probe`.
///
/// # Outputs
/// Stream `step` with `column`, `rows`, `first`, `offset`; `again`, a pulse; `region`, `receive`, `qp`, `granule`;
/// `next_qp`; `ended`, a pulse; `hands`, `handed`, `probed`.
#[derive(LogicBlock, BlockDefault)]
#[check(RegionHeader::field("count").start == 64 && RegionHeader::field("lkey").start == 96)]
#[check(RegionShape::field("target_lkey").start == 64 && RegionShape::field("elements").start == 96)]
#[check(RegionShape::field("flags").start == 112 && KeyRegionEnd::field("kind").start == 0)]
#[check(Element::field("len").start == 64 && Element::field("lkey").start == 96)]
pub struct Walk {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Packets whose bytes are to be found.
    pub ask: Stream<In, WalkAsk>,
    /// Steps: the pieces in which the bytes lie.
    pub step: Stream<Out, WalkStep>,
    /// The step is a column: `addr` is the address of its value in the row in which the packet begins, `bytes` those of
    /// a value. The fields below are the same in all columns of a packet.
    pub column: Signal<Out, Bit>,
    /// With `column`: rows of the region from the first one on.
    pub rows: Signal<Out, Bits<32>>,
    /// With `column`: number of the column in which the packet begins.
    pub first: Signal<Out, Bits<4>>,
    /// With `column`: byte of that column's value with which the packet begins.
    pub offset: Signal<Out, Bits<6>>,
    /// There is room for all columns of a region.
    pub roomy: Signal<In, Bit>,
    /// The columns that were offered for the packet are withdrawn.
    pub again: Signal<Out, Bit>,
    /// The bytes of the last step with `side`.
    pub side: Flow<In, Side>,

    /// A packet is handed over, until `back`.
    pub hands: Signal<Out, Bit>,
    /// The packet that is handed over.
    pub handed: Signals<Out, Handed>,
    /// Result of the packet that was handed over.
    pub back: Flow<In, HandBack>,
    /// With `hands`: a range that is looked up in its key.
    pub probe: Signals<In, Probe>,
    /// The range of `probe`, four cycles before, may be accessed.
    pub probed: Signal<Out, Bit>,

    /// Of a granule that is asked for: number of the described key's region.
    pub region: Signal<Out, Bits<KEY_REGION>>,
    /// Of a granule that is asked for: it is of a receive, not of a described key.
    pub receive: Signal<Out, Bit>,
    /// Of a granule of a receive: the queue pair that has the receive in use.
    pub qp: Signal<Out, Bits<QP>>,
    /// Number of the granule that is asked for.
    pub granule: Signal<Out, Bits<GRANULE_INDEX>>,
    /// The granule that was asked for in the cycle before.
    pub data: Signal<In, Bits<GRANULE_BITS>>,
    /// The region of the described key is valid.
    pub valid: Signal<In, Bit>,
    /// Type of the receive's region, with the region's first granule.
    pub kind: Signal<In, Bits<2>>,
    /// The receive's region is its last one.
    pub is_final: Signal<In, Bit>,
    /// Entries of regions have changed: they must be read anew.
    pub forget: Signal<In, Bit>,

    /// The queue pair whose `resume` is asked for in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,
    /// Where the last packet of the queue pair of `next_qp`, one cycle before, has ended.
    pub resume: Signals<In, Position>,
    /// The position at which a packet ends.
    pub ended: Flow<Out, Position>,

    keys: Keys,
    state: DFF<WalkState>,
    wait: DFF<Bits<3>>,
    held: DFF<WalkAsk>,
    /// Bytes of the packet that have no step yet, and bytes to leave out before them.
    left: DFF<Bits<13>>,
    skip_left: DFF<Bits<6>>,
    /// Number of the granule that is asked for, and of the region's first one.
    at: DFF<Bits<GRANULE_INDEX>>,
    header: DFF<Bits<GRANULE_INDEX>>,
    /// The walk goes on in the region, or enters it at its first row. Otherwise the first byte's row is searched.
    resumes: DFF<Bit>,
    enters: DFF<Bit>,
    /// The region still has the element at which the packet before has ended.
    resumable: Signal<Local, Bit>,
    /// The number of that element is one of an element, a cycle before.
    has_element: DFF<Bit>,
    /// The region has a shape and elements.
    shaped: DFF<Bit>,
    /// Number of the first granule of the next region.
    following: Signal<Local, Bits<GRANULE_INDEX>>,
    last_region: DFF<Bit>,
    unused_data: Signal<Local, Bits<GRANULE_BITS>>,
    unused_resume: Signal<Local, Position>,
    continues: Signal<Local, Bit>,
    /// The packet goes on where the one before has ended, and all that it needs is still held.
    warm: Signal<Local, Bit>,
    /// The packet before was of this queue pair.
    walked_qp: DFF<Bits<QP>>,
    /// The packet before was of a receive.
    walked_receive: DFF<Bit>,
    /// The packet was `warm` when it was begun.
    continued: DFF<Bit>,
    /// Bytes are left out, as known a cycle before.
    skips: DFF<Bit>,
    wanted: Signal<Local, Bits<13>>,

    // The current region.
    kind_held: DFF<Bits<2>>,
    base: DFF<Bits<64>>,
    count: DFF<Bits<32>>,
    lkey: DFF<Bits<32>>,
    period: DFF<Bits<64>>,
    target_lkey: DFF<Bits<32>>,
    elements: DFF<Bits<16>>,
    flags: DFF<Bits<16>>,
    odd: Signal<Local, Bit>,
    /// The region's end is not that of a valid entry, or an element has no bytes.
    unfit: DFF<Bit>,
    /// Each extent begins where the one before ends, from this offset on.
    first_offset: DFF<Bits<64>>,
    next_offset: DFF<Bits<64>>,
    touches: DFF<Bit>,
    touching: Signal<Local, Bit>,
    row_bytes: DFF<Bits<ROW>>,

    // Dense columns.
    dense: DFF<Bit>,
    /// All columns of the bitmapped region are as wide as the first one.
    uniform: DFF<Bit>,
    value: DFF<Bits<7>>,
    /// The packet is handed over.
    by_runs: Signal<Local, Bit>,
    /// The packet's bytes are answered by columns.
    by_columns: Signal<Local, Bit>,
    /// The packet's bytes cannot be reached.
    fails: Signal<Local, Bit>,
    /// The current step is a column.
    is_column: Signal<Local, Bit>,
    /// `rest` are the bytes of the row before the next column.
    level: DFF<Bit>,
    /// The packet's bytes are answered piece by piece, though its columns are dense.
    piecewise: DFF<Bit>,
    /// Address of the columns in the current row, without their offsets.
    row_base: DFF<Bits<64>>,
    /// Bytes of a column up to the row in which the packet ends.
    reach: DFF<Bits<COLUMN_BYTES>>,
    /// Number of the row in which, or behind which, the packet ends.
    end_row: DFF<Bits<33>>,
    /// Columns that were offered, bytes of the row before the next one, and these with it.
    told: DFF<Bits<5>>,
    begins: DFF<Bits<SHORT>>,
    ends: Signal<Local, Bits<SHORT>>,
    /// Number of the column before or in which the packet ends, and the byte of it.
    end_element: DFF<Bits<4>>,
    end_inside: DFF<Bits<SHORT>>,
    /// A column is looked up in its key, in this cycle and in those before.
    looks: DFF<Bit>,
    looked: [DFF<Bit>; KEY as usize],
    /// One of the columns cannot be reached.
    missed: DFF<Bit>,

    // Division of the place by a row's bytes.
    dividend: DFF<Bits<64>>,
    rest: DFF<Bits<ROW>>,
    rest_in: Signal<Local, Bits<38>>,
    rest_out: Signal<Local, Bits<38>>,
    unused_rest: Signal<Local, Bits<38>>,
    quotient: DFF<Bits<64>>,
    round: DFF<Bits<7>>,
    fits: Signal<Local, Bit>,

    // The next byte: its row, its element, and its byte there.
    row: DFF<Bits<33>>,
    element: DFF<Bits<4>>,
    inside: DFF<Bits<ROW>>,
    /// The current row was not looked up yet.
    fresh: DFF<Bit>,
    /// Selected rows before the one that is searched for.
    skip: DFF<Bits<33>>,
    /// Bits of the bitmap or the pointers that were read, from the current row on; `have`: the number that is left.
    bits: DFF<Bits<512>>,
    have: DFF<Bits<10>>,
    /// Selected rows among the next 64. While rows are walked one by one, from the row before on: once a word was not
    /// skipped, none is.
    ones: DFF<Bits<7>>,
    ones_in_word: CountOnes<64, 7>,
    ones_in_next: CountOnes<64, 7>,
    passes_word: Signal<Local, Bit>,
    /// The region has a bitmap or pointers.
    lists: Signal<Local, Bit>,
    beyond: Signal<Local, Bit>,
    rows_left: Signal<Local, Bits<33>>,
    /// Rows from that of the cycle before on; [`MANY_ROWS`] stands for any more.
    few_rows: DFF<Bits<FEW>>,
    /// Bytes of the bitmap or pointers for these rows, as known a cycle before.
    side_bytes: DFF<Bits<14>>,
    side_bits: DFF<Bits<10>>,
    /// Bits in the first byte before that of the current row.
    ahead: Signal<Local, Bits<3>>,
    aligned: DFF<Bits<3>>,
    most_bits: Signal<Local, Bits<10>>,

    // The current piece, from the granule of the cycle before.
    origin: DFF<Bits<64>>,
    stride: Signal<Local, Bits<64>>,
    #[init(Multiplier::new(STAGES))]
    multiplier: Multiplier<33, 64, 97>,
    product: Signal<Local, Bits<97>>,
    length: DFF<Bits<ROW>>,
    /// Bytes of the element from the next one on, as they were a cycle before.
    behind: DFF<Bits<ROW>>,
    addr: DFF<Bits<64>>,
    bytes: DFF<Bits<13>>,
    key: DFF<Bits<32>>,
    covered: Signal<Local, Bit>,
    /// The keys allow access to the piece.
    may: Signal<Local, Bit>,
    /// The key's answer about the piece, of the cycle before.
    was_covered: DFF<Bit>,
    allowed: DFF<Bit>,
    unused_rights: Signal<Local, Bit>,
    unused_region: Signal<Local, Bits<KEY_REGION>>,
    ends_row: Signal<Local, Bit>,
    outside: DFF<Bit>,
    /// The position is known: it is the one behind the packet before.
    known: DFF<Bit>,
    /// Entries have changed since the packet was begun.
    spoiled: DFF<Bit>,
}
