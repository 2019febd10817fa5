//! Finds the pieces of host memory in which a region's packed bytes lie.

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
    /// Asks for the header.
    Header,
    /// Has the header, and asks for the shape.
    Shape,
    /// Has the shape, and asks for the end.
    End,
    /// Has the end, and sums up the elements.
    Sum,
    /// Counts the elements together, which may be one if they touch.
    Span,
    /// Divides the first byte's place by the bytes of all elements of a row.
    Divide,
    /// The first byte's row is known: looks for its element.
    Find,
    /// Checks whether the first byte is in this element.
    Found,
    /// Looks the row at hand up.
    Seek,
    /// Walks the bitmap.
    Bits,
    /// Finds the piece of the bitmap or of the pointers from the row at hand on.
    Measure,
    /// Has the bytes of that piece.
    Size,
    /// Looks that piece up in its key.
    Ask,
    /// Has that piece read.
    Fetch,
    /// Waits for the bytes of that piece.
    Come,
    /// Shifts the bits so that they begin with the row at hand.
    Align,
    /// Computes the address of the element at hand in the row.
    Multiply,
    /// Looks that address up in its key.
    Check,
    /// Offers the piece.
    Offer,
    /// Goes on to what comes behind the piece.
    Advance,
    /// Divides the packet's bytes in dense columns into rows.
    Rows,
    /// Has the number of rows.
    Reach,
    /// Checks that the region has these rows.
    Fit,
    /// Offers the columns, all but the last one.
    Columns,
    /// Waits for the columns' keys.
    Judge,
    /// Has the keys' answer: offers the last column, or withdraws all of them.
    Close,
    /// Has handed the packet over.
    Hand,
    /// Reports that the packet's bytes cannot be reached.
    Fail,
}

/// Walks regions, and names the pieces in which bytes lie; see the [module above](super).
///
/// Every piece is inside the memory region of its local key, and in the protection domain, whatever a bitmap or
/// pointers say; if it is
/// written, its key allows that. Otherwise the packet ends with a step that has failed, and so does one for a described
/// key whose entry is not valid.
///
/// Contract: steps come in the order of the bytes, the last one of a packet with `last`, or one that has `failed`. The
/// first piece of a packet of a described key comes about 80 cycles
/// after it was asked for, or 50 if the packet begins in the region's first 4 GiB, and 4 more for each column; with a
/// bitmap 1 more for each 64 rows that come before, and 1 for each row of the last 64. A packet that goes on where the
/// one
/// before of its queue pair has ended takes 2 cycles if no other one came between, else 8 and 1 for each column. A
/// piece takes 16 cycles; the rows of a strided region that
/// touch are one piece, and take 8 cycles more. The bits of 512 rows, or 8 pointers, are a step with
/// `side`, after which the walk waits for `side`. The region of a described key is read with the first packet of a
/// message, or behind a packet of another
/// queue pair.
///
/// With `columns`, bytes in a described key's strided region whose columns are dense (each extent is as long as the
/// period, at most 64 B) are answered column by column: a step with `column` for
/// each extent, one a cycle, in the order of a row, 17 cycles after the packet is begun, and 5 more before the last
/// one. These steps wait while `roomy` is low, and not for `ready`. If one of the columns cannot be reached whole,
/// `again`, a
/// pulse, withdraws what was said of the packet, and it is answered piece by piece.
///
/// With `columns`, bytes that are read of a bitmapped region whose columns all have one width of at most 64 B have no
/// steps here. The packet is `handed` over while `hands`, until `back` says where it has ended. Meanwhile a `probe` is
/// answered 3 cycles later, by `probed`.
///
/// The granule that was asked for in a cycle, of `region`, or of the receive of `qp`, must be given in the next one.
/// `resume` is the position of `next_qp` one
/// cycle before.
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
    /// That packet.
    pub handed: Signals<Out, Handed>,
    /// What has become of it.
    pub back: Flow<In, HandBack>,
    /// With `hands`: a range that is looked up in its key.
    pub probe: Signals<In, Probe>,
    /// The range of 3 cycles before may be accessed.
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
    /// That region is the receive's last one.
    pub is_final: Signal<In, Bit>,
    /// Entries of regions have changed: they must be read anew.
    pub forget: Signal<In, Bit>,

    /// The queue pair whose `resume` is asked for in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,
    /// Where the last packet of the queue pair of `next_qp`, one cycle before, has ended.
    pub resume: Signals<In, Position>,
    /// A packet ends, at this position.
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
    /// The region still has the element.
    resumable: Signal<Local, Bit>,
    /// The region has a shape and elements.
    shaped: DFF<Bit>,
    /// Number of the first granule of the next region.
    following: Signal<Local, Bits<GRANULE_INDEX>>,
    last_region: DFF<Bit>,
    unused_data: Signal<Local, Bits<GRANULE_BITS>>,
    unused_resume: Signal<Local, Position>,
    continues: Signal<Local, Bit>,
    /// The packet goes on where the one before has ended, and all that is needed is at hand.
    warm: Signal<Local, Bit>,
    /// The packet before was of this queue pair.
    walked_qp: DFF<Bits<QP>>,
    /// The packet before was of a receive.
    walked_receive: DFF<Bit>,
    /// The packet was `warm` when it was begun.
    continued: DFF<Bit>,
    skips: Signal<Local, Bit>,
    wanted: Signal<Local, Bits<13>>,

    // The region at hand.
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
    /// The step is a column.
    is_column: Signal<Local, Bit>,
    /// `rest` are the bytes of the row before the next column.
    level: DFF<Bit>,
    /// The packet's bytes are answered piece by piece all the same.
    piecewise: DFF<Bit>,
    /// Address of the columns in the row at hand, without their offsets.
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
    /// The row was not looked up.
    fresh: DFF<Bit>,
    /// Selected rows before the one that is searched for.
    skip: DFF<Bits<33>>,
    /// What was read of the bitmap or the pointers, from the row at hand on, and bits that are left.
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
    /// Bits in the first byte before that of the row at hand.
    ahead: Signal<Local, Bits<3>>,
    aligned: DFF<Bits<3>>,
    most_bits: Signal<Local, Bits<10>>,

    // A piece; the granule of the cycle before.
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
    /// The position is the one behind the packet before.
    known: DFF<Bit>,
    /// Entries have changed since the packet was begun.
    spoiled: DFF<Bit>,
}

impl Logic for Walk {
    #[hdl_gen]
    fn update(&mut self) {
        self.region.next = self.held.q.val().region;
        self.receive.next = self.held.q.val().receive;
        self.qp.next = self.held.q.val().qp;
        self.granule.next = self.at.q.val();
        self.unused_data.next = self.data.val();
        self.unused_resume.next = self.resume.val();
        self.continues.next = (self.resume.region.val() == self.held.q.val().region)
            && (self.resume.addr.val() == self.held.q.val().addr);
        self.warm.next = self.known.q.val()
            && !self.held.q.val().first
            && (self.walked_qp.q.val() == self.held.q.val().qp)
            && (self.walked_receive.q.val() == self.held.q.val().receive)
            && (self.held.q.val().receive || self.continues.val());
        self.skips.next = self.skip_left.q.val().any();
        self.wanted.next = self.left.q.val();
        if self.skips.val() {
            self.wanted.next = bit_cast::<13, 6>(self.skip_left.q.val());
        }

        // Dense columns.
        self.by_columns.next = self.held.q.val().columns
            && self.dense.q.val()
            // A read of a packet's bytes in one column might be longer than a packet.
            && (self.held.q.val().writes || (self.elements.q.val() > 1))
            && (self.kind_held.q.val() == STRIDED)
            && !self.piecewise.q.val();
        self.by_runs.next = self.held.q.val().columns
            && !self.held.q.val().writes
            && self.uniform.q.val()
            && (self.kind_held.q.val() == BITMAPPED);
        self.hands.next = self.state.q.val() == WalkState::Hand;
        self.handed.bitmap.next = self.base.q.val();
        self.handed.count.next = self.count.q.val();
        self.handed.lkey.next = self.lkey.q.val();
        self.handed.width.next = self.value.q.val();
        self.handed.columns.next = self.elements.q.val().get_bits::<5>(0);
        self.handed.row_bytes.next = self.row_bytes.q.val().get_bits::<SHORT>(0);
        self.handed.bytes.next = self.left.q.val();
        self.handed.continues.next = self.continued.q.val();
        self.handed.row.next = self.row.q.val();
        self.handed.skip.next = self.skip.q.val();
        self.handed.element.next = self.element.q.val();
        self.handed.inside.next = self.inside.q.val().get_bits::<6>(0);
        self.is_column.next = (self.state.q.val() == WalkState::Columns)
            || (self.state.q.val() == WalkState::Judge)
            || (self.state.q.val() == WalkState::Close);

        // A range is looked up in its key.
        self.cfg.join(&mut self.keys.cfg);
        self.keys.key.next = self.key.q.val();
        self.keys.pd.next = self.held.q.val().pd;
        self.keys.addr.next = self.addr.q.val();
        self.keys.bytes.next = bit_cast::<64, 13>(self.bytes.q.val());
        if self.is_column.val() {
            self.keys.bytes.next = bit_cast::<64, COLUMN_BYTES>(self.reach.q.val());
        }
        if self.hands.val() {
            self.keys.key.next = self.probe.key.val();
            self.keys.addr.next = self.probe.addr.val();
            self.keys.bytes.next = bit_cast::<64, 13>(self.probe.bytes.val());
        }
        self.keys.revoke_valid.next = false;
        self.keys.revoke_index.next = 0.into();
        self.covered.next = self.keys.covers.val();
        self.may.next =
            self.covered.val() && (!self.held.q.val().writes || self.keys.fillable.val());
        self.probed.next = self.may.val();
        self.was_covered.d.next = self.covered.val();
        self.allowed.d.next = self.may.val();
        self.unused_rights.next = self.keys.readable.val()
            || self.keys.writable.val()
            || self.keys.changeable.val()
            || self.keys.revocable.val()
            || self.keys.revoke_ready.val()
            || self.keys.described.val();
        self.unused_region.next = self.keys.region.val();

        // The region is not one that a described key may have.
        self.odd.next = (self.kind_held.q.val() != CONTIGUOUS)
            && (!self.elements.q.val().any()
                || (self.elements.q.val() > MOST_ELEMENTS)
                || (self.flags.q.val() & !bits::<16>(FLAGS)).any());

        self.touching.next = (self.kind_held.q.val() == STRIDED)
            && ((self.round.q.val() == 1)
                || (self.touches.q.val()
                    && (self.data.val().get_bits::<64>(0) == self.next_offset.q.val())));

        // A step of the division.
        self.rest_in.next = (bit_cast::<38, ROW>(self.rest.q.val()) << 1)
            | bit_cast::<38, 1>(self.dividend.q.val().get_bits::<1>(63));
        self.fits.next = self.rest_in.val() >= bit_cast::<38, ROW>(self.row_bytes.q.val());
        self.rest_out.next = self.rest_in.val();
        if self.fits.val() {
            self.rest_out.next = self.rest_in.val() - bit_cast::<38, ROW>(self.row_bytes.q.val());
        }

        self.unused_rest.next = self.rest_out.val();

        // The bitmap.
        self.ones_in_word.bits.next = self.bits.q.val().get_bits::<64>(0);
        self.ones_in_next.bits.next = self.bits.q.val().get_bits::<64>(64);
        self.passes_word.next = (self.have.q.val() >= 64)
            && (bit_cast::<33, 7>(self.ones.q.val()) <= self.skip.q.val());
        self.ones.d.next = self.ones_in_word.count.val();
        if (self.state.q.val() == WalkState::Bits) && self.passes_word.val() {
            self.ones.d.next = self.ones_in_next.count.val();
        }
        self.lists.next =
            (self.kind_held.q.val() != CONTIGUOUS) && (self.kind_held.q.val() != STRIDED);
        self.beyond.next = self.row.q.val() >= bit_cast::<33, 32>(self.count.q.val());
        if self.kind_held.q.val() == CONTIGUOUS {
            self.beyond.next = self.row.q.val().any();
        }
        self.rows_left.next = bit_cast::<33, 32>(self.count.q.val()) - self.row.q.val();
        self.few_rows.d.next = MANY_ROWS.into();
        if self.rows_left.val() < bits::<33>(MANY_ROWS) {
            self.few_rows.d.next = self.rows_left.val().get_bits::<FEW>(0);
        }
        // A bitmap is read from the byte of the row at hand on.
        self.ahead.next = 0.into();
        self.side_bytes.d.next = bit_cast::<14, FEW>(self.few_rows.q.val()) << 3;
        if self.kind_held.q.val() == BITMAPPED {
            self.ahead.next = self.row.q.val().get_bits::<3>(0);
            self.side_bytes.d.next = (bit_cast::<14, FEW>(self.few_rows.q.val())
                + bit_cast::<14, 3>(self.ahead.val())
                + 7)
                >> 3;
        }
        self.most_bits.next = bits::<10>(512) - bit_cast::<10, 3>(self.ahead.val());

        // Address of the element at hand in the row: origin + row * step.
        self.origin.d.next = self.data.val().get_bits::<64>(0);
        self.stride.next = 0.into();
        if self.kind_held.q.val() == CONTIGUOUS {
            self.origin.d.next = self.base.q.val();
        } else if self.kind_held.q.val() == STRIDED {
            self.origin.d.next = self.base.q.val() + self.data.val().get_bits::<64>(0);
            self.stride.next = self.period.q.val();
        } else if self.kind_held.q.val() == BITMAPPED {
            self.stride.next = bit_cast::<64, 32>(self.data.val().get_bits::<32>(64));
        } else {
            self.origin.d.next =
                self.bits.q.val().get_bits::<64>(0) + self.data.val().get_bits::<64>(0);
        }
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.row.q.val();
        self.multiplier.b.next = self.stride.val();
        self.product.next = self.multiplier.product.val();
        self.length.d.next = bit_cast::<ROW, 32>(self.data.val().get_bits::<32>(64));
        if self.kind_held.q.val() == CONTIGUOUS {
            self.length.d.next = self.row_bytes.q.val();
        }
        self.behind.d.next = self.length.q.val() - self.inside.q.val();
        self.resumable.next = (self.kind_held.q.val() == CONTIGUOUS)
            || (bit_cast::<16, 4>(self.resume.element.val()) < self.elements.q.val());
        self.following.next = self.header.q.val() + 1;
        if self.shaped.q.val() {
            self.following.next = self.header.q.val()
                + FIRST_ELEMENT
                + self.elements.q.val().get_bits::<GRANULE_INDEX>(0);
        }
        self.ends_row.next = (self.kind_held.q.val() == CONTIGUOUS)
            || (bit_cast::<16, 4>(self.element.q.val()) + 1 == self.elements.q.val());

        // Columns that are offered.
        self.column.next = self.is_column.val();
        self.rows.next = self.rows_left.val().get_bits::<32>(0);
        self.first.next = self.element.q.val();
        self.offset.next = self.inside.q.val().get_bits::<6>(0);
        self.again.next = false;
        self.row_base.d.next = self.base.q.val() + self.product.val().get_bits::<64>(0);
        self.end_row.d.next =
            self.row.q.val() + bit_cast::<33, REACH>(self.quotient.q.val().get_bits::<REACH>(0));
        self.ends.next =
            self.begins.q.val() + bit_cast::<SHORT, 7>(self.period.q.val().get_bits::<7>(0));
        self.looks.d.next = false;
        self.looked[0].d.next = self.looks.q.val();
        for k in 1..KEY as usize {
            self.looked[k].d.next = self.looked[k - 1].q.val();
        }
        if self.looked[KEY as usize - 1].q.val() && !self.may.val() {
            self.missed.d.next = true;
        }

        self.ask.ready.next = self.state.q.val() == WalkState::Idle;
        self.step.valid.next = false;
        self.step.addr.next = self.addr.q.val();
        self.step.bytes.next = self.bytes.q.val();
        self.step.plain.next = false;
        self.step.side.next = false;
        self.step.last.next = self.bytes.q.val() == self.left.q.val();
        self.step.failed.next = false;
        self.step.outside.next = self.outside.q.val();
        self.ended.valid.next = false;
        self.ended.region.next = self.held.q.val().region;
        self.ended.addr.next = self.held.q.val().addr + bit_cast::<64, 13>(self.held.q.val().bytes);
        self.ended.header.next = self.header.q.val();
        self.wait.d.next = self.wait.q.val() + 1;
        match self.state.q.val() {
            WalkState::Idle => {
                self.piecewise.d.next = false;
                self.held.d.next = self.ask.val();
                self.left.d.next = self.ask.bytes.val();
                self.skip_left.d.next = self.ask.skip.val();
                self.addr.d.next = self.ask.addr.val();
                self.bytes.d.next = self.ask.bytes.val();
                if self.ask.valid.val() {
                    self.state.d.next = WalkState::Begin;
                    if self.ask.plain.val() {
                        self.state.d.next = WalkState::Plain;
                    }
                }
            }
            WalkState::Plain => {
                self.step.plain.next = true;
                self.step.valid.next = true;
                if self.step.ready.val() {
                    self.state.d.next = WalkState::Idle;
                }
            }
            WalkState::Begin => {
                self.outside.d.next = false;
                self.known.d.next = false;
                self.spoiled.d.next = false;
                self.continued.d.next = self.warm.val();
                self.header.d.next = 0.into();
                self.at.d.next = 0.into();
                self.resumes.d.next =
                    !self.held.q.val().first && (self.held.q.val().receive || self.continues.val());
                self.enters.d.next = self.held.q.val().receive && self.held.q.val().first;
                if self.held.q.val().receive && !self.held.q.val().first {
                    self.header.d.next = self.resume.header.val();
                    self.at.d.next = self.resume.header.val();
                }
                self.state.d.next = WalkState::Header;
                if self.warm.val() {
                    // The region at hand comes next, and behind it others from their first rows on.
                    self.resumes.d.next = false;
                    self.header.d.next = self.header.q.val();
                    self.at.d.next = self.at.q.val();
                    self.state.d.next = WalkState::Seek;
                }
            }
            WalkState::Header => {
                self.at.d.next = self.at.q.val() + SHAPE;
                self.state.d.next = WalkState::Shape;
            }
            WalkState::Shape => {
                self.base.d.next = self.data.val().get_bits::<64>(0);
                self.count.d.next = self.data.val().get_bits::<32>(64);
                self.lkey.d.next = self.data.val().get_bits::<32>(96);
                self.kind_held.d.next = self.kind.val();
                self.last_region.d.next = self.is_final.val();
                self.at.d.next = END.into();
                self.state.d.next = WalkState::End;
            }
            WalkState::End => {
                self.period.d.next = self.data.val().get_bits::<64>(0);
                self.target_lkey.d.next = self.data.val().get_bits::<32>(64);
                self.elements.d.next = self.data.val().get_bits::<16>(96);
                self.flags.d.next = self.data.val().get_bits::<16>(112);
                self.at.d.next = self.header.q.val() + FIRST_ELEMENT;
                self.element.d.next = 0.into();
                self.row_bytes.d.next = 0.into();
                self.round.d.next = 0.into();
                self.state.d.next = WalkState::Sum;
            }
            WalkState::Sum => {
                // First the end, then an element a cycle.
                self.round.d.next = self.round.q.val() + 1;
                self.at.d.next = self.at.q.val() + 1;
                self.dividend.d.next = self.held.q.val().addr;
                self.rest.d.next = 0.into();
                self.quotient.d.next = 0.into();
                if !self.round.q.val().any() {
                    self.unfit.d.next = false;
                    if !self.held.q.val().receive {
                        self.kind_held.d.next = self.data.val().get_bits::<2>(0);
                        self.unfit.d.next = !self.valid.val()
                            || self.data.val().get_bits::<62>(2).any()
                            || self.data.val().get_bits::<32>(64).any();
                    }
                } else if self.odd.val() || self.unfit.q.val() {
                    self.state.d.next = WalkState::Fail;
                } else if self.kind_held.q.val() == CONTIGUOUS {
                    self.row_bytes.d.next = bit_cast::<ROW, 32>(self.count.q.val());
                    self.shaped.d.next = false;
                    self.round.d.next = 0.into();
                    self.state.d.next = WalkState::Divide;
                } else {
                    self.row_bytes.d.next = self.row_bytes.q.val()
                        + bit_cast::<ROW, 32>(self.data.val().get_bits::<32>(64));
                    self.shaped.d.next = true;
                    self.dense.d.next = (self.dense.q.val() || (self.round.q.val() == 1))
                        && !self.held.q.val().receive
                        && (self.kind_held.q.val() == STRIDED)
                        && (self.period.q.val() <= WIDEST)
                        && (bit_cast::<64, 32>(self.data.val().get_bits::<32>(64))
                            == self.period.q.val());
                    self.uniform.d.next = (self.uniform.q.val() || (self.round.q.val() == 1))
                        && !self.held.q.val().receive
                        && (self.data.val().get_bits::<32>(64) <= bits::<32>(WIDEST))
                        && ((self.round.q.val() == 1)
                            || (self.data.val().get_bits::<32>(64)
                                == bit_cast::<32, 7>(self.value.q.val())));
                    if self.round.q.val() == 1 {
                        self.value.d.next = self.data.val().get_bits::<7>(64);
                    }
                    self.touches.d.next = self.touching.val();
                    self.next_offset.d.next = self.data.val().get_bits::<64>(0)
                        + bit_cast::<64, 32>(self.data.val().get_bits::<32>(64));
                    if self.round.q.val() == 1 {
                        self.first_offset.d.next = self.data.val().get_bits::<64>(0);
                    }
                    if bit_cast::<16, 7>(self.round.q.val()) == self.elements.q.val() {
                        self.round.d.next = 0.into();
                        self.row.d.next = bit_cast::<33, 32>(self.count.q.val());
                        self.wait.d.next = 0.into();
                        self.state.d.next = WalkState::Span;
                    }
                    self.unfit.d.next = !self.data.val().get_bits::<32>(64).any();
                }
            }
            WalkState::Span => {
                // If each row begins where the one before ends, all of them are one run.
                if self.unfit.q.val() {
                    self.state.d.next = WalkState::Fail;
                } else if !self.touches.q.val() {
                    self.state.d.next = WalkState::Divide;
                } else if self.wait.q.val() == PRODUCT {
                    self.state.d.next = WalkState::Divide;
                    if (self.period.q.val() == bit_cast::<64, ROW>(self.row_bytes.q.val()))
                        && self.product.val().any()
                        && !self.product.val().get_bits::<60>(ROW).any()
                    {
                        self.kind_held.d.next = CONTIGUOUS.into();
                        self.base.d.next = self.base.q.val() + self.first_offset.q.val();
                        self.row_bytes.d.next = self.product.val().get_bits::<ROW>(0);
                    }
                }
            }
            WalkState::Divide => {
                self.round.d.next = self.round.q.val() + 1;
                self.dividend.d.next = self.dividend.q.val() << 1;
                self.rest.d.next = self.rest_out.val().get_bits::<ROW>(0);
                self.quotient.d.next =
                    (self.quotient.q.val() << 1) | bit_cast::<64, 1>(self.fits.val().into());
                self.at.d.next = self.header.q.val() + FIRST_ELEMENT;
                self.wait.d.next = 0.into();
                self.level.d.next = false;
                if !self.row_bytes.q.val().any() {
                    self.state.d.next = WalkState::Fail;
                } else if self.enters.q.val()
                    || (self.resumes.q.val() && self.resumable.val() && !self.by_columns.val())
                {
                    // The row at hand is looked up anew: no byte is left of an element of another row.
                    self.have.d.next = 0.into();
                    self.skip.d.next = 0.into();
                    self.fresh.d.next = true;
                    self.row.d.next = 0.into();
                    self.inside.d.next = 0.into();
                    if self.resumes.q.val() {
                        self.row.d.next = self.resume.row.val();
                        self.inside.d.next = self.resume.inside.val();
                        self.element.d.next = self.resume.element.val();
                        self.at.d.next = self.header.q.val()
                            + FIRST_ELEMENT
                            + bit_cast::<GRANULE_INDEX, 4>(self.resume.element.val());
                    }
                    self.resumes.d.next = false;
                    self.enters.d.next = false;
                    self.state.d.next = WalkState::Seek;
                } else if !self.round.q.val().any()
                    && !self.dividend.q.val().get_bits::<UPPER>(64 - UPPER).any()
                {
                    self.dividend.d.next = self.dividend.q.val() << UPPER as u64;
                    self.rest.d.next = self.rest.q.val();
                    self.round.d.next = (UPPER as u64).into();
                } else if self.round.q.val() == START_BITS {
                    // The division ended in the cycle before; its registers of this cycle do not count.
                    self.rest.d.next = self.rest.q.val();
                    self.level.d.next = true;
                    self.inside.d.next = self.rest.q.val();
                    self.skip.d.next = self.quotient.q.val().get_bits::<33>(0);
                    self.row.d.next = self.quotient.q.val().get_bits::<33>(0);
                    self.have.d.next = 0.into();
                    self.fresh.d.next = true;
                    self.state.d.next = WalkState::Find;
                    if self.kind_held.q.val() == BITMAPPED {
                        self.row.d.next = 0.into();
                    }
                    if self.quotient.q.val().get_bits::<31>(33).any() {
                        self.outside.d.next = true;
                        self.state.d.next = WalkState::Fail;
                    } else if self.kind_held.q.val() == CONTIGUOUS {
                        self.state.d.next = WalkState::Seek;
                    }
                }
            }
            WalkState::Find => {
                if self.wait.q.val() == GRANULE {
                    self.state.d.next = WalkState::Found;
                }
            }
            WalkState::Found => {
                self.wait.d.next = 0.into();
                self.state.d.next = WalkState::Seek;
                if self.inside.q.val() >= self.length.q.val() {
                    self.inside.d.next = self.inside.q.val() - self.length.q.val();
                    self.element.d.next = self.element.q.val() + 1;
                    self.at.d.next = self.at.q.val() + 1;
                    self.state.d.next = WalkState::Find;
                }
            }
            WalkState::Seek => {
                self.wait.d.next = 0.into();
                self.state.d.next = WalkState::Multiply;
                if self.fresh.q.val() {
                    if self.lists.val() && self.have.q.val().any() {
                        self.fresh.d.next = false;
                        if self.kind_held.q.val() == BITMAPPED {
                            self.fresh.d.next = true;
                            self.state.d.next = WalkState::Bits;
                        }
                    } else if self.beyond.val()
                        && self.held.q.val().receive
                        && !self.last_region.q.val()
                    {
                        // The walk goes on to the next region of the receive.
                        self.enters.d.next = true;
                        self.header.d.next = self.following.val();
                        self.at.d.next = self.following.val();
                        self.state.d.next = WalkState::Header;
                    } else if self.beyond.val() {
                        self.outside.d.next = true;
                        self.state.d.next = WalkState::Fail;
                    } else if self.lists.val() {
                        self.state.d.next = WalkState::Measure;
                    } else {
                        self.fresh.d.next = false;
                    }
                }
                if self.by_columns.val()
                    && self.level.q.val()
                    && (!self.fresh.q.val() || !self.beyond.val())
                {
                    // Rows are counted from the first byte of the one at hand on.
                    self.state.d.next = WalkState::Rows;
                    self.level.d.next = false;
                    self.rest.d.next = 0.into();
                    self.quotient.d.next = 0.into();
                    self.dividend.d.next = (bit_cast::<64, 13>(self.left.q.val())
                        + bit_cast::<64, ROW>(self.rest.q.val()))
                        << REACH_PLACE;
                    self.round.d.next = 0.into();
                    self.reach.d.next = 0.into();
                    self.at.d.next = self.header.q.val() + FIRST_ELEMENT;
                }
                if self.by_runs.val() {
                    self.state.d.next = WalkState::Hand;
                }
            }
            WalkState::Hand => {
                if self.back.valid.val() {
                    self.state.d.next = WalkState::Idle;
                    if !self.back.failed.val() {
                        self.row.d.next = self.back.row.val();
                        self.element.d.next = self.back.element.val();
                        self.inside.d.next = bit_cast::<ROW, 6>(self.back.inside.val());
                        self.known.d.next = !self.spoiled.q.val();
                        self.walked_qp.d.next = self.held.q.val().qp;
                        self.walked_receive.d.next = false;
                        self.ended.valid.next = true;
                    }
                }
            }
            WalkState::Bits => {
                self.wait.d.next = 0.into();
                if !self.have.q.val().any() {
                    self.state.d.next = WalkState::Seek;
                } else if self.passes_word.val() {
                    self.skip.d.next = self.skip.q.val() - bit_cast::<33, 7>(self.ones.q.val());
                    self.bits.d.next = self.bits.q.val() >> 64;
                    self.have.d.next = self.have.q.val() - 64;
                    self.row.d.next = self.row.q.val() + 64;
                } else if self.bits.q.val().get_bit(0) && !self.skip.q.val().any() {
                    self.fresh.d.next = false;
                    self.state.d.next = WalkState::Multiply;
                } else {
                    if self.bits.q.val().get_bit(0) {
                        self.skip.d.next = self.skip.q.val() - 1;
                    }
                    self.bits.d.next = self.bits.q.val() >> 1;
                    self.have.d.next = self.have.q.val() - 1;
                    self.row.d.next = self.row.q.val() + 1;
                }
            }
            WalkState::Measure => {
                self.wait.d.next = 0.into();
                // Address of the next piece of the bitmap or of the pointers.
                self.addr.d.next = self.base.q.val() + (bit_cast::<64, 33>(self.row.q.val()) << 3);
                if self.kind_held.q.val() == BITMAPPED {
                    self.addr.d.next =
                        self.base.q.val() + bit_cast::<64, 33>(self.row.q.val() >> 3);
                }
                self.key.d.next = self.lkey.q.val();
                self.side_bits.d.next = self.most_bits.val();
                self.aligned.d.next = self.ahead.val();
                if (self.kind_held.q.val() == BITMAPPED)
                    && (self.few_rows.q.val() < bit_cast::<FEW, 10>(self.most_bits.val()))
                {
                    self.side_bits.d.next = self.few_rows.q.val().get_bits::<10>(0);
                } else if self.kind_held.q.val() != BITMAPPED && (self.few_rows.q.val() < 8) {
                    self.side_bits.d.next = self.few_rows.q.val().get_bits::<10>(0) << 6;
                }
                self.state.d.next = WalkState::Size;
            }
            WalkState::Size => {
                self.wait.d.next = 0.into();
                self.bytes.d.next = 64.into();
                if self.side_bytes.q.val() < 64 {
                    self.bytes.d.next = self.side_bytes.q.val().get_bits::<13>(0);
                }
                self.state.d.next = WalkState::Ask;
            }
            WalkState::Ask => {
                if self.wait.q.val() == KEY {
                    self.state.d.next = WalkState::Fetch;
                }
            }
            WalkState::Fetch => {
                self.step.valid.next = self.was_covered.q.val();
                self.step.side.next = true;
                self.step.last.next = false;
                if !self.was_covered.q.val() {
                    self.state.d.next = WalkState::Fail;
                } else if self.step.ready.val() {
                    self.state.d.next = WalkState::Come;
                }
            }
            WalkState::Come => {
                self.bits.d.next = self.side.data.val();
                self.have.d.next = self.side_bits.q.val();
                if self.side.valid.val() {
                    self.state.d.next = WalkState::Align;
                    if self.side.error.val() {
                        self.state.d.next = WalkState::Fail;
                    }
                } else {
                    self.bits.d.next = self.bits.q.val();
                }
            }
            WalkState::Align => {
                self.aligned.d.next = self.aligned.q.val() - 1;
                self.bits.d.next = self.bits.q.val() >> 1;
                if !self.aligned.q.val().any() {
                    self.bits.d.next = self.bits.q.val();
                    self.state.d.next = WalkState::Seek;
                }
            }
            WalkState::Multiply => {
                if self.wait.q.val() == PRODUCT {
                    self.addr.d.next = self.origin.q.val()
                        + self.multiplier.product.val().get_bits::<64>(0)
                        + bit_cast::<64, ROW>(self.inside.q.val());
                    self.bytes.d.next = self.wanted.val();
                    if self.behind.q.val() < bit_cast::<ROW, 13>(self.wanted.val()) {
                        self.bytes.d.next = self.behind.q.val().get_bits::<13>(0);
                    }
                    self.key.d.next = self.lkey.q.val();
                    if self.kind_held.q.val() == BITMAPPED {
                        self.key.d.next = self.data.val().get_bits::<32>(96);
                    } else if self.lists.val() {
                        self.key.d.next = self.target_lkey.q.val();
                    }
                    self.wait.d.next = 0.into();
                    self.state.d.next = WalkState::Check;
                }
            }
            WalkState::Check => {
                if self.wait.q.val() == KEY {
                    self.state.d.next = WalkState::Offer;
                }
            }
            WalkState::Offer => {
                self.step.valid.next = !self.skips.val() && self.allowed.q.val();
                self.step.plain.next = self.bytes.q.val() == self.held.q.val().bytes;
                if !self.allowed.q.val() {
                    self.state.d.next = WalkState::Fail;
                } else if self.step.ready.val() || self.skips.val() {
                    if self.skips.val() {
                        self.skip_left.d.next =
                            self.skip_left.q.val() - self.bytes.q.val().get_bits::<6>(0);
                    } else {
                        self.left.d.next = self.left.q.val() - self.bytes.q.val();
                    }
                    self.inside.d.next =
                        self.inside.q.val() + bit_cast::<ROW, 13>(self.bytes.q.val());
                    self.state.d.next = WalkState::Advance;
                }
            }
            WalkState::Advance => {
                self.level.d.next = false;
                if self.inside.q.val() == self.length.q.val() {
                    self.inside.d.next = 0.into();
                    self.element.d.next = self.element.q.val() + 1;
                    self.at.d.next = self.at.q.val() + 1;
                    if self.ends_row.val() {
                        self.element.d.next = 0.into();
                        self.at.d.next = self.header.q.val() + FIRST_ELEMENT;
                        self.row.d.next = self.row.q.val() + 1;
                        self.fresh.d.next = true;
                        if self.kind_held.q.val() == BITMAPPED {
                            self.bits.d.next = self.bits.q.val() >> 1;
                            self.have.d.next = self.have.q.val() - 1;
                        } else if self.have.q.val().any() {
                            self.bits.d.next = self.bits.q.val() >> 64;
                            self.have.d.next = self.have.q.val() - 64;
                        }
                    }
                }
                self.state.d.next = WalkState::Seek;
                if !self.left.q.val().any() {
                    self.known.d.next = !self.spoiled.q.val();
                    self.walked_qp.d.next = self.held.q.val().qp;
                    self.walked_receive.d.next = self.held.q.val().receive;
                    self.ended.valid.next = true;
                    self.state.d.next = WalkState::Idle;
                }
            }
            WalkState::Rows => {
                self.round.d.next = self.round.q.val() + 1;
                self.dividend.d.next = self.dividend.q.val() << 1;
                self.rest.d.next = self.rest_out.val().get_bits::<ROW>(0);
                self.quotient.d.next =
                    (self.quotient.q.val() << 1) | bit_cast::<64, 1>(self.fits.val().into());
                self.reach.d.next = self.reach.q.val() << 1;
                if self.fits.val() {
                    self.reach.d.next = (self.reach.q.val() << 1)
                        + bit_cast::<COLUMN_BYTES, 7>(self.period.q.val().get_bits::<7>(0));
                }
                if self.round.q.val() == REACH as u64 - 1 {
                    self.state.d.next = WalkState::Reach;
                }
            }
            WalkState::Reach => {
                // The last row may be reached in part.
                if self.rest.q.val().any() {
                    self.reach.d.next = self.reach.q.val()
                        + bit_cast::<COLUMN_BYTES, 7>(self.period.q.val().get_bits::<7>(0));
                }
                self.key.d.next = self.lkey.q.val();
                self.told.d.next = 0.into();
                self.begins.d.next = 0.into();
                self.missed.d.next = false;
                self.state.d.next = WalkState::Fit;
            }
            WalkState::Fit => {
                if (self.end_row.q.val() > bit_cast::<33, 32>(self.count.q.val()))
                    || ((self.end_row.q.val() == bit_cast::<33, 32>(self.count.q.val()))
                        && self.rest.q.val().any())
                {
                    self.piecewise.d.next = true;
                    self.at.d.next =
                        self.at.q.val() + bit_cast::<GRANULE_INDEX, 4>(self.element.q.val());
                    self.state.d.next = WalkState::Seek;
                } else if self.roomy.val() {
                    self.at.d.next = self.at.q.val() + 1;
                    self.state.d.next = WalkState::Columns;
                }
            }
            WalkState::Columns => {
                self.step.valid.next = self.told.q.val().any();
                self.step.last.next = false;
                self.addr.d.next = self.row_base.q.val() + self.data.val().get_bits::<64>(0);
                self.bytes.d.next = self.period.q.val().get_bits::<13>(0);
                self.looks.d.next = true;
                self.at.d.next = self.at.q.val() + 1;
                self.told.d.next = self.told.q.val() + 1;
                self.begins.d.next = self.ends.val();
                if (self.rest.q.val().get_bits::<SHORT>(0) >= self.begins.q.val())
                    && (self.rest.q.val().get_bits::<SHORT>(0) < self.ends.val())
                {
                    self.end_element.d.next = self.told.q.val().get_bits::<4>(0);
                    self.end_inside.d.next =
                        self.rest.q.val().get_bits::<SHORT>(0) - self.begins.q.val();
                }
                self.wait.d.next = 0.into();
                if bit_cast::<16, 5>(self.told.d.val()) == self.elements.q.val() {
                    self.state.d.next = WalkState::Judge;
                }
            }
            WalkState::Judge => {
                if self.wait.q.val() == KEY {
                    self.state.d.next = WalkState::Close;
                }
            }
            WalkState::Close => {
                self.step.last.next = true;
                self.wait.d.next = 0.into();
                if self.missed.q.val() {
                    self.again.next = true;
                    self.piecewise.d.next = true;
                    self.at.d.next = self.header.q.val()
                        + FIRST_ELEMENT
                        + bit_cast::<GRANULE_INDEX, 4>(self.element.q.val());
                    self.state.d.next = WalkState::Seek;
                } else {
                    self.step.valid.next = true;
                    if self.step.ready.val() {
                        self.row.d.next = self.end_row.q.val();
                        self.element.d.next = self.end_element.q.val();
                        self.inside.d.next = bit_cast::<ROW, SHORT>(self.end_inside.q.val());
                        self.at.d.next = self.header.q.val()
                            + FIRST_ELEMENT
                            + bit_cast::<GRANULE_INDEX, 4>(self.end_element.q.val());
                        self.fresh.d.next = true;
                        self.level.d.next = true;
                        self.known.d.next = !self.spoiled.q.val();
                        self.walked_qp.d.next = self.held.q.val().qp;
                        self.walked_receive.d.next = false;
                        self.ended.valid.next = true;
                        self.state.d.next = WalkState::Idle;
                    }
                }
            }
            WalkState::Fail => {
                self.step.valid.next = true;
                self.step.failed.next = true;
                self.step.last.next = true;
                if self.step.ready.val() {
                    self.state.d.next = WalkState::Idle;
                }
            }
        }
        self.next_qp.next = self.held.d.val().qp;
        self.ended.row.next = self.row.d.val();
        self.ended.element.next = self.element.d.val();
        self.ended.inside.next = self.inside.d.val();
        if self.forget.val() {
            self.known.d.next = false;
            self.spoiled.d.next = true;
        }
        if self.rst.val() {
            self.state.d.next = WalkState::Idle;
            self.known.d.next = false;
        }
    }
}
