//! Computes how long a turn may be.

use drdma_emit::prelude::*;

use super::{BEHIND, LENGTH, PACE};

/// Blocks from which on a turn that was cut before an entry that was too long is a measure of the next ones: they are
/// then as long, so that they end between two entries if all entries are equal.
const MEASURE: usize = 16;
const _: () = assert!(MEASURE == 1 << 4, "the kernel looks at the bits from the fourth on");

/// Judges a turn by how many others there are, and by what its queue's turns were like.
///
/// A turn has 256 blocks at most where there is one other, 128 from two on, 64 from four on, and 32 from eight on. A
/// queue whose turn was cut has a *pace* until its batch is over: its turns have as many blocks, at most, as that one
/// had, if it was slow or cut before an entry that was too long, else 256. A turn that begins with an entry that was
/// too long has at least that one's blocks.
///
/// # Inputs
/// `clk`; `rests`, `doorbells` if `elsewhere`, `behind`: how many there are of others; `other`: there is another one;
/// `judges`: the turn is judged, with `idle` (its queue has no batch that is not over), `pace` (0: none), `is_cut` (a
/// turn was cut before, with `cut_slow`, `cut_length` and `cut_had`).
///
/// # Outputs
/// `limit`: the most blocks of a turn, if there are others. From the next cycle on: `crowded`: there are others, or the
/// queue has a pace; `size`: blocks of the turn, then; `pace_now`.
#[derive(LogicBlock, BlockDefault)]
pub struct Share {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Number of batches that are not over, or deferred.
    pub rests: Signal<In, Bits<11>>,
    /// Number of doorbells that wait; counts with `elsewhere`.
    pub doorbells: Signal<In, Bits<11>>,
    /// The first doorbell that waits is of another queue.
    pub elsewhere: Signal<In, Bit>,
    /// Number of whole batches that were fetched, each of another queue than the one before.
    pub behind: Signal<In, Bits<BEHIND>>,
    /// Another queue than the current one waits or has blocks under way.
    pub other: Signal<In, Bit>,
    /// The turn is judged in this cycle.
    pub judges: Signal<In, Bit>,
    /// The queue has no batch that is not over.
    pub idle: Signal<In, Bit>,
    /// The queue's pace, in blocks a turn; 0: none.
    pub pace: Signal<In, Bits<PACE>>,
    /// The turn begins where one was cut.
    pub is_cut: Signal<In, Bit>,
    /// With `is_cut`: that turn took too long.
    pub cut_slow: Signal<In, Bit>,
    /// With `is_cut`: blocks of the entry there that was too long, or 0.
    pub cut_length: Signal<In, Bits<LENGTH>>,
    /// With `is_cut`: blocks of that turn.
    pub cut_had: Signal<In, Bits<PACE>>,
    /// Blocks of a turn, at most, if there are others.
    pub limit: Signal<Out, Bits<PACE>>,
    /// There are others, or the queue has a pace; from the cycle after `judges` on.
    pub crowded: Signal<Out, Bit>,
    /// With `crowded`: blocks of the turn.
    pub size: Signal<Out, Bits<LENGTH>>,
    /// The queue's new pace.
    pub pace_now: Signal<Out, Bits<PACE>>,

    fair: DFF<Bits<PACE>>,
    most: Signal<Local, Bits<PACE>>,
    /// The turn was cut before an entry that was too long, and is a measure of the next ones.
    measured: Signal<Local, Bit>,
    own: Signal<Local, Bits<PACE>>,
    base: Signal<Local, Bits<PACE>>,
    crowd: DFF<Bit>,
    blocks: DFF<Bits<LENGTH>>,
    kept: DFF<Bits<PACE>>,
}

impl Logic for Share {
    #[hdl_gen]
    fn update(&mut self) {
        self.most.next = 256.into();
        if self.rests.val().get_bits::<10>(1).any()
            || (self.elsewhere.val() && self.doorbells.val().get_bits::<10>(1).any())
            || self.behind.val().get_bits::<5>(1).any()
        {
            self.most.next = 128.into();
        }
        if self.rests.val().get_bits::<9>(2).any()
            || (self.elsewhere.val() && self.doorbells.val().get_bits::<9>(2).any())
            || self.behind.val().get_bits::<4>(2).any()
        {
            self.most.next = 64.into();
        }
        if self.rests.val().get_bits::<8>(3).any()
            || (self.elsewhere.val() && self.doorbells.val().get_bits::<8>(3).any())
            || self.behind.val().get_bits::<3>(3).any()
        {
            self.most.next = 32.into();
        }
        self.fair.d.next = self.most.val();
        self.limit.next = self.fair.q.val();

        self.measured.next = self.cut_length.val().any()
            && !self.cut_length.val().get_bits::<9>(4).any()
            && self.cut_had.val().get_bits::<5>(4).any();
        self.own.next = self.pace.val();
        if self.is_cut.val() {
            if self.cut_slow.val() || self.measured.val() {
                self.own.next = self.cut_had.val();
            } else if !self.pace.val().any() {
                self.own.next = 256.into();
            }
        }
        self.base.next = self.most.val();
        if self.own.val().any() && (self.own.val() < self.most.val()) {
            self.base.next = self.own.val();
        }
        // `idle` is known later than the others.
        if self.idle.val() && !self.is_cut.val() {
            self.own.next = 0.into();
            self.base.next = self.most.val();
        }
        if self.judges.val() {
            self.kept.d.next = self.own.val();
            self.crowd.d.next = self.rests.val().any()
                || (self.elsewhere.val() && self.doorbells.val().any())
                || self.behind.val().any()
                || self.other.val()
                || self.own.val().any();
            self.blocks.d.next = bit_cast::<LENGTH, PACE>(self.base.val());
            if self.is_cut.val() && !self.measured.val() {
                self.blocks.d.next =
                    bit_cast::<LENGTH, PACE>(self.base.val()) | self.cut_length.val();
            }
        }
        self.crowded.next = self.crowd.q.val();
        self.size.next = self.blocks.q.val();
        self.pace_now.next = self.kept.q.val();
    }
}
