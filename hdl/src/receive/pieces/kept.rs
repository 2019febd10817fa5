//! Keeps pieces until it is settled what becomes of their packet.
//!
//! Contract: 4,096 pieces. A piece a cycle each way; it is at the output from the second cycle after its packet was
//! settled on. Pieces of a packet that is not placed are forgotten, and so are, with `again`, those that came since the
//! packet before was settled. While `roomy`, all columns of a region find room.

use crate::context::Table;
use crate::primitive::{Flatten, Restore};
use crate::receive::record::{PiecePlace, RegionSettle};
use drdma_abi::work_request::MAX_ELEMENTS;
use drdma_emit::prelude::*;

/// Bits of the number of a piece: the longest packet has as many as it has bytes.
const PIECES: usize = 12;
/// Bits of a count that distinguishes a full memory from an empty one.
const COUNT: usize = PIECES + 1;
/// Bits of a piece.
const PIECE: usize = <PiecePlace as Synth>::BITS;
// A piece fits into two UltraRAMs side by side.
const _: () = assert!(PIECE <= 2 * 72);
/// Columns of a region, at most.
const COLUMNS: u64 = MAX_ELEMENTS as u64;

/// Keeps pieces. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; stream `input`; `again`, a pulse; `settle`: for all pieces that came since the last one.
///
/// # Outputs
/// Stream `piece`; `roomy`.
#[derive(LogicBlock, BlockDefault)]
pub struct Kept {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Pieces of the current packet.
    pub input: Stream<In, PiecePlace>,
    /// There is room for all columns of a region.
    pub roomy: Signal<Out, Bit>,
    /// The pieces of the current packet are forgotten, and come anew.
    pub again: Signal<In, Bit>,
    /// Decision about the current packet.
    pub settle: Flow<In, RegionSettle>,
    /// Pieces of packets that are placed.
    pub piece: Stream<Out, PiecePlace>,

    pieces: Table<PIECE, PIECES>,
    piece_in: Flatten<PiecePlace, PIECE>,
    piece_out: Restore<PiecePlace, PIECE>,
    /// Counts of pieces that came, of those of placed packets, and of those that have left.
    written: DFF<Bits<COUNT>>,
    settled: DFF<Bits<COUNT>>,
    read: DFF<Bits<COUNT>>,
    held: Signal<Local, Bits<COUNT>>,
}

impl Logic for Kept {
    #[hdl_gen]
    fn update(&mut self) {
        self.held.next = self.written.q.val() - self.read.q.val();
        self.input.ready.next = !self.held.val().get_bit(PIECES);
        self.piece_in.record.next = self.input.val();
        self.pieces.write_enable.next = self.input.valid.val() && self.input.ready.val();
        self.pieces.write_address.next = self.written.q.val().get_bits::<PIECES>(0);
        self.pieces.write_data.next = self.piece_in.bits.val();
        if self.input.valid.val() && self.input.ready.val() {
            self.written.d.next = self.written.q.val() + 1;
        }
        self.roomy.next = self.held.val() <= bits::<COUNT>((1 << PIECES) - COLUMNS);
        if self.again.val() {
            self.written.d.next = self.settled.q.val();
        }
        if self.settle.valid.val() {
            if self.settle.placed.val() {
                self.settled.d.next = self.written.q.val();
            } else {
                self.written.d.next = self.settled.q.val();
            }
        }

        self.piece.valid.next = self.read.q.val() != self.settled.q.val();
        if self.piece.valid.val() && self.piece.ready.val() {
            self.read.d.next = self.read.q.val() + 1;
        }
        self.pieces.ahead.next = self.read.d.val().get_bits::<PIECES>(0);
        self.piece_out.bits.next = self.pieces.read_data.val();
        self.piece.next = self.piece_out.record.val();
        if self.rst.val() {
            self.written.d.next = 0.into();
            self.settled.d.next = 0.into();
            self.read.d.next = 0.into();
        }
    }
}
