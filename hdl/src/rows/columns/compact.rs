//! The numbers of the set bits of a piece of a mask, each at the place of its rank.

use crate::primitive::Repeat;
use array_init::array_init;
use drdma_emit::prelude::*;

/// Brings the number of every set bit of 64 to the place that its rank says: how many bits of the whole mask are set
/// before it, modulo 64.
///
/// The numbers are given by their bit planes: bit `s` of `place[b]` is bit `b` of the number at place `s`. A piece a
/// cycle with `enable`, 4 of them later; without it every stage holds.
///
/// In each of three moves, a number goes to the position that differs from its own where two bits of its rank do: the lowest two,
/// the next two, the upper two. After a move by bits up to `k`, its position has these bits of its rank, and the upper bits of where
/// it came from. No two meet: those that have come from one aligned stretch of 2^(`k` + 1) have ranks that follow each other,
/// and fewer than that many.
///
/// # Inputs
/// `enable`, `bits`; `ahead`: for each byte, how many bits of the mask are set before it, modulo 128 (8 x 7).
///
/// # Outputs
/// `valid`: the places that hold a number; `odd`: bit 6 of its rank; `place`.
#[derive(LogicBlock, BlockDefault)]
pub struct Compact {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Whether to move.
    pub enable: Signal<In, Bit>,
    /// The piece.
    pub bits: Signal<In, Bits<64>>,
    /// Bits that are set before each of its bytes.
    pub ahead: Signal<In, Bits<56>>,
    /// The places that hold a number.
    pub valid: Signal<Out, Bits<64>>,
    /// Bit 6 of the ranks.
    pub odd: Signal<Out, Bits<64>>,
    /// The planes of the numbers.
    pub place: [Signal<Out, Bits<64>>; 6],

    // Set bits below each bit in its byte, as planes: of 1, 2, 4 and 8 bits below.
    low: [Signal<Local, Bits<64>>; 4],
    mid: [Signal<Local, Bits<64>>; 4],
    high: [Signal<Local, Bits<64>>; 4],
    // The same planes, as many bits further up in the byte.
    low_up: [Signal<Local, Bits<64>>; 3],
    mid_up: [Signal<Local, Bits<64>>; 3],
    high_up: [Signal<Local, Bits<64>>; 3],
    mid_carry: [Signal<Local, Bits<64>>; 3],
    high_carry: [Signal<Local, Bits<64>>; 3],
    // Those before the byte, as planes; the carries of the sum.
    byte_plane: [Signal<Local, Bits<8>>; 7],
    base: [Repeat<8, 8, 64>; 7],
    carry: [Signal<Local, Bits<64>>; 6],
    // Before each move, and after the last: where numbers are. Plane k is bit k of their ranks until it has had its move, then
    // bit k of the numbers themselves.
    at: [Signal<Local, Bits<64>>; 6],
    plane: [Signal<Local, Bits<64>>; 42],
    // Of each move: in which bits numbers differ from their goal; those that go as far as 0 to 3
    // says, and where they come to (in the place of 0, which stay: those of 3 half of the way).
    differs: [Signal<Local, Bits<64>>; 6],
    goes: [Signal<Local, Bits<64>>; 12],
    comes: [Signal<Local, Bits<64>>; 12],
    // Which of four positions each position takes.
    from: [Signal<Local, Bits<64>>; 6],
    near: [Signal<Local, Bits<64>>; 21],
    far: [Signal<Local, Bits<64>>; 21],
    both: [Signal<Local, Bits<64>>; 21],
    // Registers: before the first move, and after each.
    early: DFF<Bits<64>>,
    early_plane: [DFF<Bits<64>>; 7],
    half: DFF<Bits<64>>,
    half_plane: [DFF<Bits<64>>; 7],
    late: DFF<Bits<64>>,
    late_plane: [DFF<Bits<64>>; 7],
    done: DFF<Bits<64>>,
    done_plane: [DFF<Bits<64>>; 7],
    // Positions whose bit k is set; the distance of those that differ in it.
    #[init(array_init(|k| Constant::new(positions(|p| p >> k & 1 == 1).to_bits())))]
    upper: [Constant<Bits<64>>; 6],
    #[init(array_init(|k| Constant::new((1_usize << k).to_bits())))]
    steps: [Constant<Bits<6>>; 6],
    // Positions that have so many others of their byte below them.
    #[init(array_init(|k| Constant::new(positions(|p| p % 8 >= 1 << k).to_bits())))]
    inner: [Constant<Bits<64>>; 3],
}

impl Logic for Compact {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, early, half, late, done);
        for b in 0..7 {
            self.early_plane[b].clock.next = self.clk.val();
            self.early_plane[b].d.next = self.early_plane[b].q.val();
            self.half_plane[b].clock.next = self.clk.val();
            self.half_plane[b].d.next = self.half_plane[b].q.val();
            self.late_plane[b].clock.next = self.clk.val();
            self.late_plane[b].d.next = self.late_plane[b].q.val();
            self.done_plane[b].clock.next = self.clk.val();
            self.done_plane[b].d.next = self.done_plane[b].q.val();
        }

        // Ranks: set bits below in the byte, summed up over twice as many each time, and those before the byte.
        self.low[0].next = (self.bits.val() << 1) & self.inner[0].val();
        self.mid[0].next = 0.into();
        self.high[0].next = 0.into();
        for k in 0..3 {
            self.low_up[k].next = (self.low[k].val() << self.steps[k].val()) & self.inner[k].val();
            self.mid_up[k].next = (self.mid[k].val() << self.steps[k].val()) & self.inner[k].val();
            self.high_up[k].next =
                (self.high[k].val() << self.steps[k].val()) & self.inner[k].val();
            self.mid_carry[k].next = self.low[k].val() & self.low_up[k].val();
            self.high_carry[k].next = (self.mid[k].val() & self.mid_up[k].val())
                | (self.mid_carry[k].val() & (self.mid[k].val() ^ self.mid_up[k].val()));
            self.low[k + 1].next = self.low[k].val() ^ self.low_up[k].val();
            self.mid[k + 1].next =
                self.mid[k].val() ^ self.mid_up[k].val() ^ self.mid_carry[k].val();
            self.high[k + 1].next =
                self.high[k].val() ^ self.high_up[k].val() ^ self.high_carry[k].val();
        }
        for k in 0..7 {
            self.byte_plane[k].next = 0.into();
            for b in 0..8 {
                self.byte_plane[k].next =
                    self.byte_plane[k].val().replace_bit(b, self.ahead.val().get_bit(b * 7 + k));
            }
            self.base[k].bits.next = self.byte_plane[k].val();
        }
        self.carry[0].next = self.base[0].repeated.val() & self.low[3].val();
        self.carry[1].next = (self.base[1].repeated.val() & self.mid[3].val())
            | (self.carry[0].val() & (self.base[1].repeated.val() ^ self.mid[3].val()));
        self.carry[2].next = (self.base[2].repeated.val() & self.high[3].val())
            | (self.carry[1].val() & (self.base[2].repeated.val() ^ self.high[3].val()));
        for k in 3..6 {
            self.carry[k].next = self.carry[k - 1].val() & self.base[k].repeated.val();
        }
        if self.enable.val() {
            self.early.d.next = self.bits.val();
            self.early_plane[0].d.next = self.base[0].repeated.val() ^ self.low[3].val();
            self.early_plane[1].d.next =
                self.base[1].repeated.val() ^ self.mid[3].val() ^ self.carry[0].val();
            self.early_plane[2].d.next =
                self.base[2].repeated.val() ^ self.high[3].val() ^ self.carry[1].val();
            for k in 3..7 {
                self.early_plane[k].d.next = self.base[k].repeated.val() ^ self.carry[k - 1].val();
            }
        }

        // The moves, a stage each.
        self.at[0].next = self.early.q.val();
        self.at[2].next = self.half.q.val();
        self.at[4].next = self.late.q.val();
        for b in 0..7 {
            self.plane[b].next = self.early_plane[b].q.val();
            self.plane[14 + b].next = self.half_plane[b].q.val();
            self.plane[28 + b].next = self.late_plane[b].q.val();
        }
        for m in 0..3 {
            self.differs[m * 2].next = self.plane[m * 14 + m * 2].val() ^ self.upper[m * 2].val();
            self.differs[m * 2 + 1].next =
                self.plane[m * 14 + m * 2 + 1].val() ^ self.upper[m * 2 + 1].val();
            self.goes[m * 4].next =
                self.at[m * 2].val() & !(self.differs[m * 2].val() | self.differs[m * 2 + 1].val());
            self.goes[m * 4 + 1].next =
                self.at[m * 2].val() & self.differs[m * 2].val() & !self.differs[m * 2 + 1].val();
            self.goes[m * 4 + 2].next =
                self.at[m * 2].val() & self.differs[m * 2 + 1].val() & !self.differs[m * 2].val();
            self.goes[m * 4 + 3].next =
                self.at[m * 2].val() & self.differs[m * 2].val() & self.differs[m * 2 + 1].val();
            self.comes[m * 4].next = ((self.goes[m * 4 + 3].val() & self.upper[m * 2].val())
                >> self.steps[m * 2].val())
                | ((self.goes[m * 4 + 3].val() << self.steps[m * 2].val())
                    & self.upper[m * 2].val());
            self.comes[m * 4 + 1].next = ((self.goes[m * 4 + 1].val() & self.upper[m * 2].val())
                >> self.steps[m * 2].val())
                | ((self.goes[m * 4 + 1].val() << self.steps[m * 2].val())
                    & self.upper[m * 2].val());
            self.comes[m * 4 + 2].next = ((self.goes[m * 4 + 2].val()
                & self.upper[m * 2 + 1].val())
                >> self.steps[m * 2 + 1].val())
                | ((self.goes[m * 4 + 2].val() << self.steps[m * 2 + 1].val())
                    & self.upper[m * 2 + 1].val());
            self.comes[m * 4 + 3].next = ((self.comes[m * 4].val() & self.upper[m * 2 + 1].val())
                >> self.steps[m * 2 + 1].val())
                | ((self.comes[m * 4].val() << self.steps[m * 2 + 1].val())
                    & self.upper[m * 2 + 1].val());
            self.from[m * 2].next = self.comes[m * 4 + 1].val() | self.comes[m * 4 + 3].val();
            self.from[m * 2 + 1].next = self.comes[m * 4 + 2].val() | self.comes[m * 4 + 3].val();
            self.at[m * 2 + 1].next =
                self.goes[m * 4].val() | self.from[m * 2].val() | self.from[m * 2 + 1].val();
            for b in 0..7 {
                self.near[m * 7 + b].next = ((self.plane[m * 14 + b].val()
                    & self.upper[m * 2].val())
                    >> self.steps[m * 2].val())
                    | ((self.plane[m * 14 + b].val() << self.steps[m * 2].val())
                        & self.upper[m * 2].val());
                self.far[m * 7 + b].next = ((self.plane[m * 14 + b].val()
                    & self.upper[m * 2 + 1].val())
                    >> self.steps[m * 2 + 1].val())
                    | ((self.plane[m * 14 + b].val() << self.steps[m * 2 + 1].val())
                        & self.upper[m * 2 + 1].val());
                self.both[m * 7 + b].next = ((self.near[m * 7 + b].val()
                    & self.upper[m * 2 + 1].val())
                    >> self.steps[m * 2 + 1].val())
                    | ((self.near[m * 7 + b].val() << self.steps[m * 2 + 1].val())
                        & self.upper[m * 2 + 1].val());
                self.plane[m * 14 + 7 + b].next = (self.plane[m * 14 + b].val()
                    & !(self.from[m * 2].val() | self.from[m * 2 + 1].val()))
                    | (self.near[m * 7 + b].val()
                        & self.from[m * 2].val()
                        & !self.from[m * 2 + 1].val())
                    | (self.far[m * 7 + b].val()
                        & self.from[m * 2 + 1].val()
                        & !self.from[m * 2].val())
                    | (self.both[m * 7 + b].val()
                        & self.from[m * 2].val()
                        & self.from[m * 2 + 1].val());
            }
            self.plane[m * 14 + 7 + m * 2].next = self.upper[m * 2].val() ^ self.from[m * 2].val();
            self.plane[m * 14 + 7 + m * 2 + 1].next =
                self.upper[m * 2 + 1].val() ^ self.from[m * 2 + 1].val();
        }
        if self.enable.val() {
            self.half.d.next = self.at[1].val();
            self.late.d.next = self.at[3].val();
            self.done.d.next = self.at[5].val();
            for b in 0..7 {
                self.half_plane[b].d.next = self.plane[7 + b].val();
                self.late_plane[b].d.next = self.plane[21 + b].val();
                self.done_plane[b].d.next = self.plane[35 + b].val();
            }
        }
        self.valid.next = self.done.q.val();
        self.odd.next = self.done_plane[6].q.val();
        for b in 0..6 {
            self.place[b].next = self.done_plane[b].q.val();
        }
    }
}

/// The positions of 64 for which this is true.
fn positions(is: impl Fn(u64) -> bool) -> u64 {
    (0..64).filter(|&p| is(p)).fold(0, |mask, p| mask | 1 << p)
}
