//! How long a turn may be.

use drdma_emit::prelude::*;

use super::{BEHIND, LENGTH, PACE};

/// Binary logarithm of a limited turn's blocks, at most.
const LONGEST: u64 = 8;

/// Judges a turn by how many others there are, by how fast its queue was, and by what an entry needs.
///
/// A turn has 256 blocks at most where there is one other, 128 from two on, 64 from four on, and 32 from eight on. Turns of a batch
/// of which one took too long have no more blocks than that one. One that begins with an entry that was too long has at
/// least that one's blocks. Its length is a power of two, or one with the bits of that entry's length.
///
/// # Inputs
/// `clk`; `rests`, `doorbells`, `behind`: how many there are of others; `other`: the blocks that come are of
/// another queue; `judges`: the turn is judged, with `idle` (its queue has no batch that is not over), `pace` (binary
/// logarithm of its turns' length), `is_cut` (a turn was cut before, with `cut_slow` and `cut_length`).
///
/// # Outputs
/// From the next cycle on: `crowded`: there are others; `size`: blocks of the turn, then; `pace_now`.
#[derive(LogicBlock, BlockDefault)]
pub struct Share {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Batches that are not over.
    pub rests: Signal<In, Bits<11>>,
    /// Doorbells that wait, if the first one is of another queue.
    pub doorbells: Signal<In, Bits<11>>,
    /// Turns that were fetched, each of another queue than the one before.
    pub behind: Signal<In, Bits<BEHIND>>,
    /// The blocks that come are of another queue.
    pub other: Signal<In, Bit>,
    /// The turn is judged.
    pub judges: Signal<In, Bit>,
    /// The queue has no batch that is not over.
    pub idle: Signal<In, Bit>,
    /// Binary logarithm of the queue's turns' length.
    pub pace: Signal<In, Bits<PACE>>,
    /// A turn was cut where this one begins.
    pub is_cut: Signal<In, Bit>,
    /// Because it took too long.
    pub cut_slow: Signal<In, Bit>,
    /// How long it was, or the entry behind it.
    pub cut_length: Signal<In, Bits<LENGTH>>,
    /// There are others.
    pub crowded: Signal<Out, Bit>,
    /// Blocks of the turn.
    pub size: Signal<Out, Bits<LENGTH>>,
    /// Binary logarithm of the queue's turns' length from now on.
    pub pace_now: Signal<Out, Bits<PACE>>,

    #[init(Constant::new(1.into()))]
    one: Constant<Bits<LENGTH>>,
    own: Signal<Local, Bits<PACE>>,
    fair: Signal<Local, Bits<PACE>>,
    log: Signal<Local, Bits<PACE>>,
    crowd: DFF<Bit>,
    blocks: DFF<Bits<LENGTH>>,
    kept: DFF<Bits<PACE>>,
}

impl Logic for Share {
    #[hdl_gen]
    fn update(&mut self) {
        self.fair.next = LONGEST.into();
        if self.rests.val().get_bits::<10>(1).any()
            || self.doorbells.val().get_bits::<10>(1).any()
            || self.behind.val().get_bits::<5>(1).any()
        {
            self.fair.next = 7.into();
        }
        if self.rests.val().get_bits::<9>(2).any()
            || self.doorbells.val().get_bits::<9>(2).any()
            || self.behind.val().get_bits::<4>(2).any()
        {
            self.fair.next = 6.into();
        }
        if self.rests.val().get_bits::<8>(3).any()
            || self.doorbells.val().get_bits::<8>(3).any()
            || self.behind.val().get_bits::<3>(3).any()
        {
            self.fair.next = 5.into();
        }

        self.own.next = self.pace.val();
        if !self.is_cut.val() && self.idle.val() {
            self.own.next = LONGEST.into();
        }
        if self.is_cut.val() && self.cut_slow.val() {
            self.own.next = 0.into();
            for k in 1..9 {
                if self.cut_length.val().get_bit(k) {
                    self.own.next = k.to_bits();
                }
            }
        }
        self.log.next = self.fair.val();
        if self.own.val() < self.fair.val() {
            self.log.next = self.own.val();
        }
        if self.judges.val() {
            self.kept.d.next = self.own.val();
            self.crowd.d.next = self.rests.val().any()
                || self.doorbells.val().any()
                || self.behind.val().any()
                || self.other.val();
            self.blocks.d.next = self.one.val() << self.log.val();
            if self.is_cut.val() && !self.cut_slow.val() {
                self.blocks.d.next = (self.one.val() << self.log.val()) | self.cut_length.val();
            }
        }
        self.crowded.next = self.crowd.q.val();
        self.size.next = self.blocks.q.val();
        self.pace_now.next = self.kept.q.val();
    }
}
