//! Answers the DMA engine's reads of frames, completions and columns.

use super::{LINE, NUMBER};
use crate::primitive::{Lutram, PromptFifo};
use drdma_emit::prelude::*;

/// Bits of the row of a completion in its segment.
const ROW: usize = NUMBER - 1;
/// Number of rows of a segment that may be read and not taken yet.
const OPEN: u64 = 8;

/// Answers the engine's reads of two memories. Memory 0 is the frame store, outside of this block. Memory 1 has the
/// completions, which are kept here, and from row 512 on the memory of columns, outside as well: its 128 rows,
/// repeated. Completion `i` is in the low half of word `i`: segment `i mod 2`, row `i / 2 mod 32`; the high halves are
/// 0.
///
/// The segments are independent. A row a cycle and segment, 3 cycles later; 8 rows of a segment wait for the engine.
/// `cmd_ready` comes from a register.
#[derive(LogicBlock, BlockDefault)]
pub struct Answers {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Completions.
    /// A completion is to be kept.
    pub keep: Signal<In, Bit>,
    /// With `keep`: number of its write.
    pub number: Signal<In, Bits<NUMBER>>,
    /// With `keep`: the completion.
    pub line: Signal<In, Bits<LINE>>,

    // The frame store.
    /// Segments of the frame store that are read, one bit each.
    pub store_enable: Signal<Out, Bits<2>>,
    /// Row of each segment to read (2 x 10 bits).
    pub store_row: Signal<Out, Bits<20>>,
    /// Row that each segment read, two cycles after `store_enable` (2 x 512 bits).
    pub store_data: Signal<In, Bits<1024>>,

    // The memory of columns.
    /// Segments of the memory of columns that are read, one bit each.
    pub column_enable: Signal<Out, Bits<2>>,
    /// Row of each segment to read (2 x 7 bits).
    pub column_row: Signal<Out, Bits<14>>,
    /// Row that each segment read, two cycles after `column_enable` (2 x 512 bits).
    pub column_data: Signal<In, Bits<1024>>,

    // The engine.
    /// Memory that each segment is to read, one bit each.
    pub cmd_sel: Signal<In, Bits<2>>,
    /// Row of each segment to read (2 x 10 bits).
    pub cmd_addr: Signal<In, Bits<20>>,
    /// A read of each segment is offered, one bit each.
    pub cmd_valid: Signal<In, Bits<2>>,
    /// A read of each segment can be taken, one bit each.
    pub cmd_ready: Signal<Out, Bits<2>>,
    /// Row that each segment read (2 x 512 bits).
    pub resp_data: Signal<Out, Bits<1024>>,
    /// A row of each segment is offered, one bit each.
    pub resp_valid: Signal<Out, Bits<2>>,
    /// The row of each segment is taken, one bit each.
    pub resp_ready: Signal<In, Bits<2>>,

    segments: [Segment; 2],
}

impl Logic for Answers {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..2 {
            self.segments[k].keep.next =
                self.keep.val() && (self.number.val().get_bits::<1>(0) == k.to_bits());
            self.segments[k].row.next = self.number.val().get_bits::<ROW>(1);
            self.segments[k].line.next = self.line.val();
            self.segments[k].sel.next = self.cmd_sel.val().get_bit(k);
            self.segments[k].wanted.next = self.cmd_addr.val().get_bits::<ROW>(k * 10);
            self.segments[k].valid.next = self.cmd_valid.val().get_bit(k);
            self.segments[k].is_column.next = self.cmd_addr.val().get_bit(k * 10 + 9);
            self.segments[k].store_data.next = self.store_data.val().get_bits::<512>(k * 512);
            self.segments[k].column_data.next = self.column_data.val().get_bits::<512>(k * 512);
            self.segments[k].taken.next = self.resp_ready.val().get_bit(k);
        }
        self.cmd_ready.next = bit_cast::<2, 1>(self.segments[0].ready.val().into())
            | (bit_cast::<2, 1>(self.segments[1].ready.val().into()) << 1);
        self.store_enable.next = bit_cast::<2, 1>(self.segments[0].reads.val().into())
            | (bit_cast::<2, 1>(self.segments[1].reads.val().into()) << 1);
        self.store_row.next = self.cmd_addr.val();
        self.column_enable.next = bit_cast::<2, 1>(self.segments[0].reads_column.val().into())
            | (bit_cast::<2, 1>(self.segments[1].reads_column.val().into()) << 1);
        self.column_row.next = bit_cast::<14, 7>(self.cmd_addr.val().get_bits::<7>(0))
            | (bit_cast::<14, 7>(self.cmd_addr.val().get_bits::<7>(10)) << 7);
        self.resp_valid.next = bit_cast::<2, 1>(self.segments[0].answers.val().into())
            | (bit_cast::<2, 1>(self.segments[1].answers.val().into()) << 1);
        self.resp_data.next = bit_cast::<1024, 512>(self.segments[0].answer.val())
            | (bit_cast::<1024, 512>(self.segments[1].answer.val()) << 512);
    }
}

/// A segment of [`Answers`].
#[derive(LogicBlock, BlockDefault)]
struct Segment {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A completion is to be kept.
    pub keep: Signal<In, Bit>,
    /// With `keep`: row of the completion.
    pub row: Signal<In, Bits<ROW>>,
    /// With `keep`: the completion.
    pub line: Signal<In, Bits<LINE>>,
    /// The engine reads memory 1: a completion or a column.
    pub sel: Signal<In, Bit>,
    /// With `sel`: the engine reads a column.
    pub is_column: Signal<In, Bit>,
    /// Row of the completion that the engine reads.
    pub wanted: Signal<In, Bits<ROW>>,
    /// A read is offered.
    pub valid: Signal<In, Bit>,
    /// A read can be taken.
    pub ready: Signal<Out, Bit>,
    /// The row of the frame store is read in this cycle.
    pub reads: Signal<Out, Bit>,
    /// Row of the frame store that was read two cycles before.
    pub store_data: Signal<In, Bits<512>>,
    /// The row of the memory of columns is read in this cycle.
    pub reads_column: Signal<Out, Bit>,
    /// Row of the memory of columns that was read two cycles before.
    pub column_data: Signal<In, Bits<512>>,
    /// An answer is offered.
    pub answers: Signal<Out, Bit>,
    /// The row that was read, or the completion.
    pub answer: Signal<Out, Bits<512>>,
    /// The answer is taken.
    pub taken: Signal<In, Bit>,

    lines: Lutram<LINE, ROW, 1>,
    /// Number of rows that were asked for and not taken.
    open: DFF<Bits<4>>,
    accept: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    // Reads of one cycle before, and of two.
    asked: [DFF<Bit>; 2],
    is_line: [DFF<Bit>; 2],
    was_column: [DFF<Bit>; 2],
    rows: [DFF<Bits<ROW>>; 2],
    waiting: PromptFifo<512, 3, 4>,
}

impl Logic for Segment {
    #[hdl_gen]
    fn update(&mut self) {
        self.ready.next = self.open.q.val() < OPEN;
        self.accept.next = self.valid.val() && self.ready.val();
        self.leaves.next = self.waiting.out_valid.val() && self.taken.val();
        if self.accept.val() && !self.leaves.val() {
            self.open.d.next = self.open.q.val() + 1;
        }
        if !self.accept.val() && self.leaves.val() {
            self.open.d.next = self.open.q.val() - 1;
        }

        self.reads.next = self.accept.val() && !self.sel.val();
        self.reads_column.next = self.accept.val() && self.sel.val() && self.is_column.val();
        self.asked[0].d.next = self.accept.val();
        self.is_line[0].d.next = self.sel.val();
        self.was_column[0].d.next = self.is_column.val();
        self.was_column[1].d.next = self.was_column[0].q.val();
        self.rows[0].d.next = self.wanted.val();
        self.asked[1].d.next = self.asked[0].q.val();
        self.is_line[1].d.next = self.is_line[0].q.val();
        self.rows[1].d.next = self.rows[0].q.val();

        self.lines.write_enable.next = self.keep.val();
        self.lines.write_address.next = self.row.val();
        self.lines.write_data.next = self.line.val();
        self.lines.read_address[0].next = self.rows[1].q.val();
        // Room was reserved when the row was asked for.
        self.waiting.in_valid.next = self.asked[1].q.val();
        self.waiting.in_data.next = self.store_data.val();
        if self.is_line[1].q.val() {
            self.waiting.in_data.next = bit_cast::<512, LINE>(self.lines.read_data[0].val());
            if self.was_column[1].q.val() {
                self.waiting.in_data.next = self.column_data.val();
            }
        }
        self.answers.next = self.waiting.out_valid.val();
        self.answer.next = self.waiting.out_data.val();
        self.waiting.out_ready.next = self.taken.val();

        if self.rst.val() {
            self.open.d.next = 0.into();
            self.asked[0].d.next = false;
            self.asked[1].d.next = false;
        }
    }
}
