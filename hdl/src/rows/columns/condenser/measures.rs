//! Finds from a chunk's header which gaps are worth leaving out.

use drdma_emit::prelude::*;

/// State of the block.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum MeasureState {
    /// Waits for a header.
    Wait,
    /// Looks at the lanes of the header, one a cycle.
    Lanes,
    /// Counts the blocks of 64 rows that are wider than the threshold.
    Count,
    /// The outputs are valid.
    Known,
}

/// Finds, for the condenser, how many blocks of 64 rows without a needed row are wider, in every lane, than a gap that
/// is read through, so that leaving them out costs no read. Outputs are valid 17 cycles after the header was offered,
/// and one more for each such block.
///
/// # Inputs
/// `header_valid`, and the header's fields, which hold until it is used up (they are read without `header_valid`);
/// `header_taken`: it is used up; `merge_threshold`.
///
/// # Outputs
/// `known`, and then: `most` (blocks of a window), `enough` (least number of empty blocks to leave out), `never` (rows
/// of a lane overlap, and no block is left out).
#[derive(LogicBlock, Default)]
pub struct Measures {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Widest gap in bytes that is read through.
    pub merge_threshold: Signal<In, Bits<13>>,
    /// A header is offered.
    pub header_valid: Signal<In, Bit>,
    /// Bytes of each lane (16 x 7 bits); 0 if the lane is not used.
    pub header_len: Signal<In, Bits<112>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub header_step: Signal<In, Bits<128>>,
    /// Rows of a window.
    pub header_rows: Signal<In, Bits<13>>,
    /// The header is used up.
    pub header_taken: Signal<In, Bit>,
    /// `most`, `enough` and `never` are valid.
    pub known: Signal<Out, Bit>,
    /// Blocks of a window, 1 to 64.
    pub most: Signal<Out, Bits<7>>,
    /// Least number of empty blocks in a row that are left out, 1 to 64.
    pub enough: Signal<Out, Bits<7>>,
    /// No blocks are left out: rows of a lane overlap.
    pub never: Signal<Out, Bit>,

    state: DFF<MeasureState>,
    lane: DFF<Bits<4>>,
    len: Signal<Local, Bits<7>>,
    step: Signal<Local, Bits<8>>,
    least: DFF<Bits<8>>,
    overlaps: DFF<Bit>,
    threshold: DFF<Bits<12>>,
    blocks: DFF<Bits<7>>,
    width: DFF<Bits<15>>,
    rows: DFF<Bits<7>>,
}

impl Logic for Measures {
    #[hdl_gen]
    fn update(&mut self) {
        self.len.next = self.header_len.val().get_bits::<7>(self.lane.q.val().index() * 7);
        self.step.next = self.header_step.val().get_bits::<8>(self.lane.q.val().index() * 8);
        match self.state.q.val() {
            MeasureState::Wait => {
                self.lane.d.next = 0.into();
                self.least.d.next = 255.into();
                self.overlaps.d.next = false;
                if self.header_valid.val() {
                    self.state.d.next = MeasureState::Lanes;
                }
            }
            MeasureState::Lanes => {
                self.lane.d.next = self.lane.q.val() + 1;
                if self.len.val().any() {
                    if self.step.val() < self.least.q.val() {
                        self.least.d.next = self.step.val();
                    }
                    if self.step.val() < bit_cast::<8, 7>(self.len.val()) {
                        self.overlaps.d.next = true;
                    }
                }
                self.threshold.d.next = self.merge_threshold.val().get_bits::<12>(0);
                if self.merge_threshold.val().get_bit(12) {
                    self.threshold.d.next = 4095.into();
                }
                self.rows.d.next = (self.header_rows.val() + 63).get_bits::<7>(6);
                self.blocks.d.next = 0.into();
                self.width.d.next = 0.into();
                if self.lane.q.val() == 15 {
                    self.state.d.next = MeasureState::Count;
                }
            }
            MeasureState::Count => {
                self.blocks.d.next = self.blocks.q.val() + 1;
                self.width.d.next =
                    self.width.q.val() + (bit_cast::<15, 8>(self.least.q.val()) << 6);
                if self.width.q.val() > bit_cast::<15, 12>(self.threshold.q.val()) {
                    self.blocks.d.next = self.blocks.q.val();
                    self.state.d.next = MeasureState::Known;
                }
            }
            MeasureState::Known => {}
        }
        self.known.next = self.state.q.val() == MeasureState::Known;
        self.most.next = self.rows.q.val();
        self.enough.next = self.blocks.q.val();
        self.never.next = self.overlaps.q.val();

        if self.header_taken.val() || self.rst.val() {
            self.state.d.next = MeasureState::Wait;
        }
    }
}
