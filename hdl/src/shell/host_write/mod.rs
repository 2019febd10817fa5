//! Writes to host memory, as the card's only writer: payload of received frames, results of atomics, and completions.
//!
//! Stands on the DMA engine's *data* port, behind the scatter of the receive path and `completion`, and beside the
//! frame store. Everything that the card writes leaves as descriptors of this one port, because nothing orders the
//! writes of the engine's two ports: so a completion is never in host memory before the payload that it reports.
//!
//! ```text
//! order --> pieces --+--> descriptors --> the engine
//! write, word -------+                      | reads                freed
//!   ^                \-> receipt            v                        ^
//!   \--- completion <------/          answers <-- store, columns  numbers <-- statuses
//! ```
//!
//! The bytes of an order are written straight from the frame store, or from the memory of columns, whatever their
//! alignment. An order that crosses the end of its memory becomes two descriptors, an order without bytes none. When
//! the descriptors of an order, and so of all before it, are in the queue, its receipt goes to `completion`, whose line
//! comes back as `write` and gets its place behind them. A frame is given back when the engine has read its last bytes
//! and those of all frames before it.
//!
//! No line overtakes an order that was accepted before the line came. So a block that emits a completion after its
//! orders were accepted has it behind them.
//!
//! Contract: an order or a line a cycle, in turns when both wait, while fewer than 64 writes are in flight, receipts
//! are taken, and the engine takes descriptors. An order that crosses its memory's end takes 2 cycles. The descriptor
//! of a line is at the output 1 cycle after it, that of an order 2. A receipt follows its order after 3 cycles; up to
//! 16 wait, and lines do not wait for them. A row of each memory segment is read a cycle, and answered 3 cycles later.
//!
//! The result of an atomic is handled like a completion, and goes first where both wait; `word_done` reports that it
//! was read.
//!
//! A reset loses what the engine is reading, which would make the engine wait for ever: `rst` must be the engine's own
//! reset, not the host's soft reset. For that there is `card_reset`: orders and receipts that wait are dropped, and the
//! frames of all earlier orders are not given back, because the store is empty then.

use crate::primitive::{Lutram, Skid, StreamFifo};
use crate::receive::record::{
    COLUMN_ROWS, FRAME_WORDS, Receipt, SLOT, STORE, SlotIndex, WriteOrder,
};
use crate::shell::corundum::{DmaDescriptor, DmaWriteStatus};
use drdma_emit::prelude::*;

mod answers;
mod numbers;
mod pieces;

use answers::Answers;
use numbers::Numbers;
use pieces::Pieces;

#[cfg(test)]
mod tests;

/// Bits of the number of a write.
const NUMBER: usize = 6;
/// Number of writes in flight.
const IN_FLIGHT: usize = 1 << NUMBER;
/// Bits of a completion.
const LINE: usize = 256;
/// Bytes of a completion.
const LINE_BYTES: u64 = LINE as u64 / 8;
/// Bytes that an atomic writes.
const WORD_BYTES: u64 = 8;
/// Bits of a descriptor: host address 64, which memory 1, place there, bytes 13, number.
const DESCRIPTOR: usize = 65 + STORE + 13 + NUMBER;

/// A completion to be written.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct HostWriteEntry {
    /// Host address of the completion, a multiple of 32.
    pub addr: Bits<64>,
    /// The 32 bytes of the completion.
    pub data: Bits<LINE>,
}

/// The result of an atomic, to be written.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct HostWord {
    /// Host address of the result, a multiple of 8.
    pub addr: Bits<64>,
    /// The 8 bytes of the result.
    pub data: Bits<64>,
    /// Slot of the atomic.
    pub slot: Bits<SLOT>,
}

/// The card's writer to host memory; see the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct HostWrite {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The host resets the card: the receive path and the frame store begin anew.
    pub card_reset: Signal<In, Bit>,

    // ------------------------------------------------------------------ payload
    /// Bytes to write, in order.
    pub order: Stream<In, WriteOrder>,
    /// Receives that are complete once all orders that were queued before are written.
    pub receipt: Stream<Out, Receipt>,

    // ------------------------------------------------------------------ frame store, read side
    /// Segments of the frame store that are read, one bit each.
    pub store_enable: Signal<Out, Bits<2>>,
    /// Row of each segment to read (2 x 10 bits).
    pub store_row: Signal<Out, Bits<20>>,
    /// Row that each segment read, two cycles after `store_enable` (2 x 512 bits).
    pub store_data: Signal<In, Bits<1024>>,
    /// The oldest frame is not needed any more.
    pub freed_valid: Signal<Out, Bit>,
    /// With `freed_valid`: words of the frame in the store.
    pub freed_words: Signal<Out, Bits<FRAME_WORDS>>,

    // ------------------------------------------------------------------ memory of columns, read side
    /// Segments of the memory of columns that are read, one bit each.
    pub column_enable: Signal<Out, Bits<2>>,
    /// Row of each segment to read (2 x 7 bits).
    pub column_row: Signal<Out, Bits<14>>,
    /// Row that each segment read, two cycles after `column_enable` (2 x 512 bits).
    pub column_data: Signal<In, Bits<1024>>,
    /// Number of its oldest rows that are not needed any more.
    pub freed_rows: Signal<Out, Bits<COLUMN_ROWS>>,

    // ------------------------------------------------------------------ completions
    /// Completions to write.
    pub write: Stream<In, HostWriteEntry>,
    /// A write was taken that the engine has not read, or a receipt that was not taken.
    pub busy: Signal<Out, Bit>,

    // ------------------------------------------------------------------ atomics
    /// Results of atomics, which go before completions.
    pub word: Stream<In, HostWord>,
    /// The result of an atomic was read: it is in host memory before anything that is read there from now on.
    pub word_done: Flow<Out, SlotIndex>,

    // ------------------------------------------------------------------ DMA write descriptors
    /// DMA write descriptors.
    pub m_axis_data_dma_write_desc: Stream<Out, DmaDescriptor>,
    /// Statuses of writes that have ended.
    pub s_axis_data_dma_write_desc_status: Flow<In, DmaWriteStatus>,

    // ------------------------------------------------------------------ RAM, read side
    /// Memory that each segment is to read, one bit each: 0 the frame store, 1 completions and columns.
    pub data_dma_ram_rd_cmd_sel: Signal<In, Bits<2>>,
    /// Row of each segment to read (2 x 10 bits).
    pub data_dma_ram_rd_cmd_addr: Signal<In, Bits<20>>,
    /// A read of each segment is offered, one bit each.
    pub data_dma_ram_rd_cmd_valid: Signal<In, Bits<2>>,
    /// A read of each segment can be taken, one bit each.
    pub data_dma_ram_rd_cmd_ready: Signal<Out, Bits<2>>,
    /// Row that each segment read (2 x 512 bits).
    pub data_dma_ram_rd_resp_data: Signal<Out, Bits<1024>>,
    /// A row of each segment is offered, one bit each.
    pub data_dma_ram_rd_resp_valid: Signal<Out, Bits<2>>,
    /// The row of each segment is taken, one bit each.
    pub data_dma_ram_rd_resp_ready: Signal<In, Bits<2>>,

    pieces: Pieces,
    numbers: Numbers,
    answers: Answers,
    descriptors: Skid<DESCRIPTOR>,
    receipts: StreamFifo<Receipt, 4, 5>,
    /// The line or word that waits came before the current piece.
    line_first: DFF<Bit>,
    room: Signal<Local, Bit>,
    piece_fits: Signal<Local, Bit>,
    takes_piece: Signal<Local, Bit>,
    takes_line: Signal<Local, Bit>,
    /// A completion's line or an atomic's word waits.
    line: Signal<Local, Bit>,
    line_ready: Signal<Local, Bit>,
    takes_word: Signal<Local, Bit>,
    /// Bit `n`: write `n` is the result of an atomic, whose slot is in `slots`.
    words: DFF<Bits<IN_FLIGHT>>,
    slots: Lutram<SLOT, NUMBER, 1>,
    begun: Signal<Local, Bits<IN_FLIGHT>>,
    #[init(Constant::new(1.into()))]
    one: Constant<Bits<IN_FLIGHT>>,
}

impl Logic for HostWrite {
    #[hdl_gen]
    fn update(&mut self) {
        self.pieces.rst.next = self.rst.val() || self.card_reset.val();
        self.receipts.rst.next = self.rst.val() || self.card_reset.val();
        self.order.join(&mut self.pieces.order);

        // A piece or a line, in turns, but no line before an order that was accepted before the line came.
        self.room.next = self.numbers.room.val() && self.descriptors.in_ready.val();
        self.piece_fits.next = self.room.val()
            && (!self.pieces.piece.completes.val() || self.receipts.input.ready.val());
        self.line.next = self.write.valid.val() || self.word.valid.val();
        self.line_ready.next = self.room.val()
            && (self.line_first.q.val()
                || !self.pieces.piece.valid.val()
                || !self.piece_fits.val());
        self.word.ready.next = self.line_ready.val();
        self.write.ready.next = self.line_ready.val() && !self.word.valid.val();
        self.pieces.piece.ready.next =
            self.piece_fits.val() && (!self.line_first.q.val() || !self.line.val());
        self.takes_line.next = self.line.val() && self.line_ready.val();
        self.takes_word.next = self.word.valid.val() && self.line_ready.val();
        self.takes_piece.next = self.pieces.piece.valid.val() && self.pieces.piece.ready.val();
        if self.takes_piece.val() {
            // The second half of a piece that was cut follows the first one directly.
            self.line_first.d.next = self.line.val() && self.pieces.order.ready.val();
        } else if self.takes_line.val() || !self.line.val() {
            self.line_first.d.next = false;
        } else if !self.pieces.piece.valid.val() {
            self.line_first.d.next = true;
        }

        // The write gets a number, and its descriptor leaves.
        self.numbers.taken.next = self.takes_line.val() || self.takes_piece.val();
        self.numbers.at_once.next = self.takes_piece.val() && !self.pieces.piece.bytes.val().any();
        self.numbers.frame_end.next = self.takes_piece.val() && self.pieces.piece.frame_end.val();
        self.numbers.words.next = self.pieces.piece.words.val();
        self.numbers.rows.next = 0.into();
        if self.takes_piece.val() {
            self.numbers.rows.next = self.pieces.piece.rows.val();
        }
        self.numbers.forget.next = self.card_reset.val();
        self.descriptors.in_valid.next = self.takes_line.val()
            || (self.takes_piece.val() && self.pieces.piece.bytes.val().any());
        self.descriptors.in_data.next = bit_cast::<DESCRIPTOR, 64>(self.pieces.piece.addr.val())
            | (bit_cast::<DESCRIPTOR, 1>(self.pieces.piece.column.val().into()) << 64)
            | (bit_cast::<DESCRIPTOR, STORE>(self.pieces.piece.ram.val()) << 65)
            | (bit_cast::<DESCRIPTOR, 13>(self.pieces.piece.bytes.val()) << 82)
            | (bit_cast::<DESCRIPTOR, NUMBER>(self.numbers.number.val()) << 95);
        if self.takes_line.val() {
            self.descriptors.in_data.next = bit_cast::<DESCRIPTOR, 64>(self.write.addr.val())
                | (bit_cast::<DESCRIPTOR, 1>(1.into()) << 64)
                | (bit_cast::<DESCRIPTOR, NUMBER>(self.numbers.number.val()) << 71)
                | (bit_cast::<DESCRIPTOR, 13>(LINE_BYTES.into()) << 82)
                | (bit_cast::<DESCRIPTOR, NUMBER>(self.numbers.number.val()) << 95);
        }
        if self.takes_word.val() {
            self.descriptors.in_data.next = bit_cast::<DESCRIPTOR, 64>(self.word.addr.val())
                | (bit_cast::<DESCRIPTOR, 1>(1.into()) << 64)
                | (bit_cast::<DESCRIPTOR, NUMBER>(self.numbers.number.val()) << 71)
                | (bit_cast::<DESCRIPTOR, 13>(WORD_BYTES.into()) << 82)
                | (bit_cast::<DESCRIPTOR, NUMBER>(self.numbers.number.val()) << 95);
        }
        self.m_axis_data_dma_write_desc.valid.next = self.descriptors.out_valid.val();
        self.descriptors.out_ready.next = self.m_axis_data_dma_write_desc.ready.val();
        self.m_axis_data_dma_write_desc.dma_addr.next =
            self.descriptors.out_data.val().get_bits::<64>(0);
        self.m_axis_data_dma_write_desc.ram_sel.next =
            self.descriptors.out_data.val().get_bits::<1>(64);
        self.m_axis_data_dma_write_desc.ram_addr.next =
            self.descriptors.out_data.val().get_bits::<STORE>(65);
        self.m_axis_data_dma_write_desc.len.next =
            bit_cast::<16, 13>(self.descriptors.out_data.val().get_bits::<13>(82));
        self.m_axis_data_dma_write_desc.tag.next =
            bit_cast::<14, NUMBER>(self.descriptors.out_data.val().get_bits::<NUMBER>(95));

        // The receipt of the piece leaves beside the descriptor.
        self.receipts.input.valid.next =
            self.takes_piece.val() && self.pieces.piece.completes.val();
        self.receipts.input.data.next = self.pieces.piece.receipt.val();
        self.receipts.output.join(&mut self.receipt);

        // The engine has read all bytes of a write.
        self.numbers.status_valid.next = self.s_axis_data_dma_write_desc_status.valid.val()
            && !self.s_axis_data_dma_write_desc_status.tag.val().get_bits::<8>(NUMBER).any();
        self.numbers.status_number.next =
            self.s_axis_data_dma_write_desc_status.tag.val().get_bits::<NUMBER>(0);
        self.begun.next = 0.into();
        if self.numbers.taken.val() {
            self.begun.next = self.one.val() << self.numbers.number.val();
        }
        self.words.d.next = self.words.q.val() & !self.begun.val();
        if self.takes_word.val() {
            self.words.d.next = self.words.q.val() | self.begun.val();
        }
        self.slots.write_enable.next = self.takes_word.val();
        self.slots.write_address.next = self.numbers.number.val();
        self.slots.write_data.next = self.word.slot.val();
        self.slots.read_address[0].next = self.numbers.status_number.val();
        self.word_done.valid.next = self.numbers.status_valid.val()
            && self.words.q.val().get_bit(self.numbers.status_number.val().index());
        self.word_done.slot.next = self.slots.read_data[0].val();
        self.freed_valid.next = self.numbers.freed_valid.val();
        self.freed_words.next = self.numbers.freed_words.val();
        self.freed_rows.next = self.numbers.freed_rows.val();
        self.busy.next = self.numbers.busy.val()
            || self.pieces.piece.valid.val()
            || self.receipts.output.valid.val();

        // Answers the engine's reads.
        self.answers.keep.next = self.takes_line.val();
        self.answers.number.next = self.numbers.number.val();
        self.answers.line.next = self.write.data.val();
        if self.takes_word.val() {
            self.answers.line.next = bit_cast::<LINE, 64>(self.word.data.val());
        }
        self.store_enable.next = self.answers.store_enable.val();
        self.store_row.next = self.answers.store_row.val();
        self.answers.store_data.next = self.store_data.val();
        self.column_enable.next = self.answers.column_enable.val();
        self.column_row.next = self.answers.column_row.val();
        self.answers.column_data.next = self.column_data.val();
        self.answers.cmd_sel.next = self.data_dma_ram_rd_cmd_sel.val();
        self.answers.cmd_addr.next = self.data_dma_ram_rd_cmd_addr.val();
        self.answers.cmd_valid.next = self.data_dma_ram_rd_cmd_valid.val();
        self.data_dma_ram_rd_cmd_ready.next = self.answers.cmd_ready.val();
        self.data_dma_ram_rd_resp_data.next = self.answers.resp_data.val();
        self.data_dma_ram_rd_resp_valid.next = self.answers.resp_valid.val();
        self.answers.resp_ready.next = self.data_dma_ram_rd_resp_ready.val();

        if self.rst.val() {
            self.line_first.d.next = false;
        }
        // Slots begin anew after either reset.
        if self.rst.val() || self.card_reset.val() {
            self.words.d.next = 0.into();
        }
    }
}
