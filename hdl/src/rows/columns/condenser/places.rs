//! Finds where the needed blocks of a stretch go.

use super::{BLOCK_BITS, SPREAD_BITS};
use drdma_emit::prelude::*;

/// Gives each needed block of a sparse chunk its place in a window, or opens another window with it, for the condenser.
///
/// ```text
/// found -> far -> gap -> place
/// ```
///
/// *Far* counts the empty blocks before it, *gap* decides whether they are left out and by how many places it advances,
/// *place* gives it its place. Another window is opened where this one is full, or where the block is too far from the
/// window's first block in the stretch.
///
/// **Throughput.** A block a cycle.
///
/// **Latency.** 4 cycles.
///
/// **Back-pressure.** May stall at any time; `in_ready` depends on `out_ready`.
///
/// # Inputs
/// `in` stream: needed blocks of a stretch in their order, the last one with `end`, which may also come without a block
/// (not `any`). `most`, `enough`, `never`: the outputs of [`Measures`](super::measures::Measures), known from the first
/// block of a stretch to its end.
///
/// # Outputs
/// `out` stream: the same blocks, with `opens` (a window begins with the block), `place` (its number in the window) and
/// `shift` (the number of blocks left out before it in the window). A stretch without needed blocks gets a window as
/// well.
#[derive(LogicBlock, Default)]
pub struct BlockPlaces {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Blocks of a window, 1 to 64.
    pub most: Signal<In, Bits<7>>,
    /// Least number of empty blocks in a row that are left out, 1 to 64.
    pub enough: Signal<In, Bits<7>>,
    /// No blocks are left out.
    pub never: Signal<In, Bit>,

    /// A block, or the end of a stretch, is offered.
    pub in_valid: Signal<In, Bit>,
    /// The block is taken in this cycle.
    pub in_ready: Signal<Out, Bit>,
    /// There is a block, not only an end.
    pub in_any: Signal<In, Bit>,
    /// The stretch ends here.
    pub in_end: Signal<In, Bit>,
    /// Selected rows of the block, one bit each.
    pub in_bits: Signal<In, Bits<64>>,
    /// Needed rows of the block, one bit each.
    pub in_fetch: Signal<In, Bits<64>>,
    /// Number of the block in the stretch.
    pub in_block: Signal<In, Bits<BLOCK_BITS>>,

    /// A block, or the end of a stretch, is offered.
    pub out_valid: Signal<Out, Bit>,
    /// The block is taken in this cycle.
    pub out_ready: Signal<In, Bit>,
    /// There is a block, not only an end.
    pub out_any: Signal<Out, Bit>,
    /// The stretch ends here.
    pub out_end: Signal<Out, Bit>,
    /// A window begins with the block.
    pub out_opens: Signal<Out, Bit>,
    /// Selected rows of the block, one bit each.
    pub out_bits: Signal<Out, Bits<64>>,
    /// Needed rows of the block, one bit each.
    pub out_fetch: Signal<Out, Bits<64>>,
    /// Number of the block in the stretch.
    pub out_block: Signal<Out, Bits<BLOCK_BITS>>,
    /// Number of the block in the window, 0 to 63.
    pub out_place: Signal<Out, Bits<6>>,
    /// Number of blocks left out before it, counted from the window's first one.
    pub out_shift: Signal<Out, Bits<SPREAD_BITS>>,

    // A block with needed rows, or the end of the stretch.
    found_valid: DFF<Bit>,
    found_any: DFF<Bit>,
    found_end: DFF<Bit>,
    found_bits: DFF<Bits<64>>,
    found_fetch: DFF<Bits<64>>,
    found_block: DFF<Bits<BLOCK_BITS>>,
    found_free: Signal<Local, Bit>,
    /// The block before: whether there is one, its number, and whether one of its last rows is needed.
    before: DFF<Bit>,
    before_block: DFF<Bits<BLOCK_BITS>>,
    before_tail: DFF<Bit>,

    // Number of empty blocks between the two.
    far_valid: DFF<Bit>,
    far_any: DFF<Bit>,
    far_end: DFF<Bit>,
    far_bits: DFF<Bits<64>>,
    far_fetch: DFF<Bits<64>>,
    far_block: DFF<Bits<BLOCK_BITS>>,
    far_first: DFF<Bit>,
    far_tail: DFF<Bit>,
    far_empty: DFF<Bits<BLOCK_BITS>>,
    far_free: Signal<Local, Bit>,
    many: Signal<Local, Bit>,
    left_out: Signal<Local, Bit>,

    // Number of places by which the block advances; 64 or more opens a new window.
    gap_valid: DFF<Bit>,
    gap_any: DFF<Bit>,
    gap_end: DFF<Bit>,
    gap_bits: DFF<Bits<64>>,
    gap_fetch: DFF<Bits<64>>,
    gap_block: DFF<Bits<BLOCK_BITS>>,
    gap_first: DFF<Bit>,
    gap_step: DFF<Bits<7>>,
    gap_free: Signal<Local, Bit>,
    base: DFF<Bits<BLOCK_BITS>>,
    last_place: DFF<Bits<6>>,
    next_place: Signal<Local, Bits<8>>,
    spread: Signal<Local, Bits<BLOCK_BITS>>,
    /// The block opens a window; valid with `gap_valid`.
    opens: Signal<Local, Bit>,

    // The block with its place in a window.
    place_valid: DFF<Bit>,
    place_any: DFF<Bit>,
    place_end: DFF<Bit>,
    place_opens: DFF<Bit>,
    place_block: DFF<Bits<BLOCK_BITS>>,
    place_bits: DFF<Bits<64>>,
    place_fetch: DFF<Bits<64>>,
    place: DFF<Bits<6>>,
    place_spread: DFF<Bits<SPREAD_BITS>>,
    place_free: Signal<Local, Bit>,
}

impl Logic for BlockPlaces {
    #[hdl_gen]
    fn update(&mut self) {
        // Stages that advance at the end of this cycle.
        self.place_free.next = !self.place_valid.q.val() || self.out_ready.val();
        self.gap_free.next = !self.gap_valid.q.val() || self.place_free.val();
        self.far_free.next = !self.far_valid.q.val() || self.gap_free.val();
        self.found_free.next = !self.found_valid.q.val() || self.far_free.val();
        self.in_ready.next = self.found_free.val();

        if self.found_free.val() {
            self.found_valid.d.next = self.in_valid.val();
            self.found_any.d.next = self.in_any.val();
            self.found_end.d.next = self.in_end.val();
            self.found_bits.d.next = self.in_bits.val();
            self.found_fetch.d.next = self.in_fetch.val();
            self.found_block.d.next = self.in_block.val();
        }

        // Distance from the block before.
        if self.far_free.val() {
            self.far_valid.d.next = self.found_valid.q.val();
            self.far_any.d.next = self.found_any.q.val();
            self.far_end.d.next = self.found_end.q.val();
            self.far_bits.d.next = self.found_bits.q.val();
            self.far_fetch.d.next = self.found_fetch.q.val();
            self.far_block.d.next = self.found_block.q.val();
            self.far_first.d.next = !self.before.q.val();
            self.far_tail.d.next = self.before_tail.q.val();
            self.far_empty.d.next = self.found_block.q.val() + !self.before_block.q.val();
            if self.found_valid.q.val() {
                self.before.d.next = !self.found_end.q.val();
                self.before_block.d.next = self.found_block.q.val();
                self.before_tail.d.next = self.found_fetch.q.val().get_bits::<3>(61).any();
            }
        }

        // The blocks between are left out.
        self.many.next = self.far_empty.q.val().get_bits::<20>(6).any();
        self.left_out.next = !self.never.val()
            && (self.many.val()
                || (bit_cast::<7, 6>(self.far_empty.q.val().get_bits::<6>(0))
                    >= self.enough.val()));
        if self.gap_free.val() {
            self.gap_valid.d.next = self.far_valid.q.val();
            self.gap_any.d.next = self.far_any.q.val();
            self.gap_end.d.next = self.far_end.q.val();
            self.gap_bits.d.next = self.far_bits.q.val();
            self.gap_fetch.d.next = self.far_fetch.q.val();
            self.gap_block.d.next = self.far_block.q.val();
            self.gap_first.d.next = self.far_first.q.val();
            self.gap_step.d.next = bit_cast::<7, 6>(self.far_empty.q.val().get_bits::<6>(0)) + 1;
            if self.many.val() {
                self.gap_step.d.next = 64.into();
            }
            if self.left_out.val() {
                self.gap_step.d.next = 1.into();
                if self.far_tail.q.val() {
                    self.gap_step.d.next = 2.into();
                }
            }
        }

        // Place in the window, or another window.
        self.next_place.next =
            bit_cast::<8, 6>(self.last_place.q.val()) + bit_cast::<8, 7>(self.gap_step.q.val());
        self.spread.next = self.gap_block.q.val() - self.base.q.val();
        self.opens.next = self.gap_first.q.val()
            || (self.gap_any.q.val()
                && ((self.next_place.val() >= bit_cast::<8, 7>(self.most.val()))
                    || self.spread.val().get_bits::<14>(12).any()));

        if self.place_free.val() {
            self.place_valid.d.next = self.gap_valid.q.val();
            self.place_any.d.next = self.gap_any.q.val();
            self.place_end.d.next = self.gap_end.q.val();
            self.place_opens.d.next = self.opens.val();
            self.place_block.d.next = self.gap_block.q.val();
            self.place_bits.d.next = self.gap_bits.q.val();
            self.place_fetch.d.next = self.gap_fetch.q.val();
            self.place.d.next = self.next_place.val().get_bits::<6>(0);
            self.place_spread.d.next = self.spread.val().get_bits::<12>(0);
            if self.opens.val() {
                self.place.d.next = 0.into();
                self.place_spread.d.next = 0.into();
            } else if !self.gap_any.q.val() {
                self.place.d.next = self.last_place.q.val();
            }
        }
        if self.gap_valid.q.val() && self.gap_free.val() {
            self.last_place.d.next = self.next_place.val().get_bits::<6>(0);
            if self.opens.val() {
                self.last_place.d.next = 0.into();
                self.base.d.next = self.gap_block.q.val();
            }
        }

        self.out_valid.next = self.place_valid.q.val();
        self.out_any.next = self.place_any.q.val();
        self.out_end.next = self.place_end.q.val();
        self.out_opens.next = self.place_opens.q.val();
        self.out_bits.next = self.place_bits.q.val();
        self.out_fetch.next = self.place_fetch.q.val();
        self.out_block.next = self.place_block.q.val();
        self.out_place.next = self.place.q.val();
        self.out_shift.next = self.place_spread.q.val() - bit_cast::<12, 6>(self.place.q.val());

        if self.rst.val() {
            self.found_valid.d.next = false;
            self.before.d.next = false;
            self.far_valid.d.next = false;
            self.gap_valid.d.next = false;
            self.place_valid.d.next = false;
        }
    }
}
