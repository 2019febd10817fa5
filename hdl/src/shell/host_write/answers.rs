//! What the DMA engine reads: frames, completions, and columns.

use super::{LINE, NUMBER};
use crate::primitive::{Lutram, PromptFifo};
use drdma_emit::prelude::*;

/// Bits of the rows of completions, a segment: half of their numbers.
const ROW: usize = NUMBER - 1;
/// Rows that are read, and not taken yet, a segment.
const OPEN: u64 = 8;

/// Answers the engine's reads of two memories: 0 is the frame store, which is outside; 1 are the completions, which are
/// here, and from row 512 on the memory of columns, which is outside, too: its 128 rows again and again. Completion `i` is in the low half of word `i`: segment `i mod 2`, row `i / 2 mod 32`; the high halves are 0.
///
/// The segments are independent. A row per cycle and segment, 3 cycles later; 8 rows of a segment wait for the engine.
/// `cmd_ready` comes from a register.
#[derive(LogicBlock, BlockDefault)]
pub struct Answers {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Completions.
    /// One is kept.
    pub keep: Signal<In, Bit>,
    /// Its number.
    pub number: Signal<In, Bits<NUMBER>>,
    /// The completion.
    pub line: Signal<In, Bits<LINE>>,

    // The frame store.
    /// The segments that are read.
    pub store_enable: Signal<Out, Bits<2>>,
    /// 10 bits a segment: row.
    pub store_row: Signal<Out, Bits<20>>,
    /// 512 bits a segment, two cycles after `store_enable`.
    pub store_data: Signal<In, Bits<1024>>,

    // The memory of columns.
    /// The segments that are read.
    pub column_enable: Signal<Out, Bits<2>>,
    /// 7 bits a segment: row.
    pub column_row: Signal<Out, Bits<14>>,
    /// 512 bits a segment, two cycles after `column_enable`.
    pub column_data: Signal<In, Bits<1024>>,

    // The engine.
    /// One bit a segment: which memory.
    pub cmd_sel: Signal<In, Bits<2>>,
    /// 10 bits a segment: row.
    pub cmd_addr: Signal<In, Bits<20>>,
    /// One bit a segment.
    pub cmd_valid: Signal<In, Bits<2>>,
    /// One bit a segment.
    pub cmd_ready: Signal<Out, Bits<2>>,
    /// 512 bits a segment.
    pub resp_data: Signal<Out, Bits<1024>>,
    /// One bit a segment.
    pub resp_valid: Signal<Out, Bits<2>>,
    /// One bit a segment.
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
    /// A completion is kept.
    pub keep: Signal<In, Bit>,
    /// Its row.
    pub row: Signal<In, Bits<ROW>>,
    /// The completion.
    pub line: Signal<In, Bits<LINE>>,
    /// The engine wants a completion or a column,
    pub sel: Signal<In, Bit>,
    /// a column.
    pub is_column: Signal<In, Bit>,
    /// Its row.
    pub wanted: Signal<In, Bits<ROW>>,
    /// It wants one.
    pub valid: Signal<In, Bit>,
    /// It is heard.
    pub ready: Signal<Out, Bit>,
    /// That row of the frame store is read.
    pub reads: Signal<Out, Bit>,
    /// The row that was read two cycles before.
    pub store_data: Signal<In, Bits<512>>,
    /// That row of the memory of columns is read.
    pub reads_column: Signal<Out, Bit>,
    /// The row that was read two cycles before.
    pub column_data: Signal<In, Bits<512>>,
    /// There is an answer.
    pub answers: Signal<Out, Bit>,
    /// It.
    pub answer: Signal<Out, Bits<512>>,
    /// It is taken.
    pub taken: Signal<In, Bit>,

    lines: Lutram<LINE, ROW, 1>,
    /// Rows that were asked for and not taken.
    open: DFF<Bits<4>>,
    accept: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    // What was asked for a cycle before, and two.
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
        // Room was counted when it was asked for.
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
