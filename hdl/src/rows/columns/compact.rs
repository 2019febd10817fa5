//! The numbers of the set bits of a group.

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Lists the numbers of the set bits of 16, lowest first, without gaps.
///
/// The list is given by its bit planes: bit `s` of `place[b]` is bit `b` of the number at place
/// `s`. One group a cycle, 3 cycles later; it never waits.
///
/// Every set bit moves down by the number of clear bits below it: first those whose number is odd
/// by 1, then by 2, 4 and 8. No two meet.
///
/// # Inputs
/// `bits`.
///
/// # Outputs
/// `place` (0 beyond the last number), `valid`: the places that hold a number.
#[derive(LogicBlock)]
pub struct Compact {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The group.
    pub bits: Signal<In, Bits<16>>,
    /// The planes of the numbers.
    pub place: [Signal<Out, Bits<16>>; 4],
    /// The places that hold a number.
    pub valid: Signal<Out, Bits<16>>,

    // Clear bits below each bit, as planes: of the 2, 4, 8 and 16 bits below.
    clear: Signal<Local, Bits<16>>,
    low: [Signal<Local, Bits<16>>; 5],
    mid: [Signal<Local, Bits<16>>; 5],
    high: [Signal<Local, Bits<16>>; 5],
    top: [Signal<Local, Bits<16>>; 5],
    mid_carry: [Signal<Local, Bits<16>>; 4],
    high_carry: [Signal<Local, Bits<16>>; 4],
    top_carry: [Signal<Local, Bits<16>>; 4],
    // The bits, and how far each moves.
    set: DFF<Bits<16>>,
    by: [DFF<Bits<16>>; 4],
    // After two moves.
    half: DFF<Bits<16>>,
    half_by: [DFF<Bits<16>>; 2],
    half_number: [DFF<Bits<16>>; 4],
    // Before each move: the bits, how far, and their numbers.
    at: [Signal<Local, Bits<16>>; 6],
    far: [Signal<Local, Bits<16>>; 24],
    number: [Signal<Local, Bits<16>>; 24],
    moving: [Signal<Local, Bits<16>>; 4],
    out_valid: DFF<Bits<16>>,
    out_place: [DFF<Bits<16>>; 4],
    steps: [Constant<Bits<4>>; 4],
    planes: [Constant<Bits<16>>; 4],
    ones: Constant<Bits<16>>,
    unused: Signal<Local, Bits<16>>,
}

impl Default for Compact {
    fn default() -> Self {
        let plane = |b: usize| (0..16_usize).fold(0, |p, i| p | (i >> b & 1) << i);
        Self {
            clk: Default::default(),
            bits: Default::default(),
            place: Default::default(),
            valid: Default::default(),
            clear: Default::default(),
            low: Default::default(),
            mid: Default::default(),
            high: Default::default(),
            top: Default::default(),
            mid_carry: Default::default(),
            high_carry: Default::default(),
            top_carry: Default::default(),
            set: Default::default(),
            by: Default::default(),
            half: Default::default(),
            half_by: Default::default(),
            half_number: Default::default(),
            at: Default::default(),
            far: Default::default(),
            number: Default::default(),
            moving: Default::default(),
            out_valid: Default::default(),
            out_place: Default::default(),
            unused: Default::default(),
            steps: array_init::array_init(|k| Constant::new((1_usize << k).to_bits())),
            planes: array_init::array_init(|b| Constant::new(plane(b).to_bits())),
            ones: Constant::new(0xffff_usize.to_bits()),
        }
    }
}

impl Logic for Compact {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, set, half, out_valid);
        for b in 0..2 {
            self.half_by[b].clock.next = self.clk.val();
        }
        for b in 0..4 {
            self.by[b].clock.next = self.clk.val();
            self.half_number[b].clock.next = self.clk.val();
            self.out_place[b].clock.next = self.clk.val();
        }

        // Numbers of clear bits below, summed over twice as many bits each time.
        self.clear.next = self.bits.val() ^ self.ones.val();
        self.low[0].next = self.clear.val() << 1;
        self.mid[0].next = 0.into();
        self.high[0].next = 0.into();
        self.top[0].next = 0.into();
        for k in 0..4 {
            self.mid_carry[k].next = self.low[k].val() & (self.low[k].val() << self.steps[k].val());
            self.high_carry[k].next = (self.mid[k].val()
                & (self.mid[k].val() << self.steps[k].val()))
                | (self.mid_carry[k].val()
                    & (self.mid[k].val() ^ (self.mid[k].val() << self.steps[k].val())));
            self.top_carry[k].next = (self.high[k].val()
                & (self.high[k].val() << self.steps[k].val()))
                | (self.high_carry[k].val()
                    & (self.high[k].val() ^ (self.high[k].val() << self.steps[k].val())));
            self.low[k + 1].next = self.low[k].val() ^ (self.low[k].val() << self.steps[k].val());
            self.mid[k + 1].next = self.mid[k].val()
                ^ (self.mid[k].val() << self.steps[k].val())
                ^ self.mid_carry[k].val();
            self.high[k + 1].next = self.high[k].val()
                ^ (self.high[k].val() << self.steps[k].val())
                ^ self.high_carry[k].val();
            self.top[k + 1].next = self.top[k].val()
                ^ (self.top[k].val() << self.steps[k].val())
                ^ self.top_carry[k].val();
        }
        self.set.d.next = self.bits.val();
        self.by[0].d.next = self.low[4].val() & self.bits.val();
        self.by[1].d.next = self.mid[4].val() & self.bits.val();
        self.by[2].d.next = self.high[4].val() & self.bits.val();
        self.by[3].d.next = self.top[4].val() & self.bits.val();

        // The moves, in two halves.
        self.at[0].next = self.set.q.val();
        for b in 0..4 {
            self.far[b].next = self.by[b].q.val();
            self.number[b].next = self.planes[b].val() & self.set.q.val();
        }
        for k in 0..2 {
            self.moving[k].next = self.far[k * 4 + k].val();
            self.at[k + 1].next = (self.at[k].val() ^ self.moving[k].val())
                | (self.moving[k].val() >> self.steps[k].val());
            for b in 0..4 {
                self.far[k * 4 + 4 + b].next = (self.far[k * 4 + b].val()
                    & (self.moving[k].val() ^ self.ones.val()))
                    | ((self.far[k * 4 + b].val() & self.moving[k].val()) >> self.steps[k].val());
                self.number[k * 4 + 4 + b].next = (self.number[k * 4 + b].val()
                    & (self.moving[k].val() ^ self.ones.val()))
                    | ((self.number[k * 4 + b].val() & self.moving[k].val())
                        >> self.steps[k].val());
            }
        }
        self.half.d.next = self.at[2].val();
        self.half_by[0].d.next = self.far[10].val();
        self.half_by[1].d.next = self.far[11].val();
        for b in 0..4 {
            self.half_number[b].d.next = self.number[8 + b].val();
            self.number[12 + b].next = self.half_number[b].q.val();
        }
        self.at[3].next = self.half.q.val();
        self.far[12].next = 0.into();
        self.far[13].next = 0.into();
        self.far[14].next = self.half_by[0].q.val();
        self.far[15].next = self.half_by[1].q.val();
        for k in 2..4 {
            self.moving[k].next = self.far[k * 4 + 4 + k].val();
            self.at[k + 2].next = (self.at[k + 1].val() ^ self.moving[k].val())
                | (self.moving[k].val() >> self.steps[k].val());
            for b in 0..4 {
                self.far[k * 4 + 8 + b].next = (self.far[k * 4 + 4 + b].val()
                    & (self.moving[k].val() ^ self.ones.val()))
                    | ((self.far[k * 4 + 4 + b].val() & self.moving[k].val())
                        >> self.steps[k].val());
                self.number[k * 4 + 8 + b].next = (self.number[k * 4 + 4 + b].val()
                    & (self.moving[k].val() ^ self.ones.val()))
                    | ((self.number[k * 4 + 4 + b].val() & self.moving[k].val())
                        >> self.steps[k].val());
            }
        }
        // Distances that have been moved.
        self.unused.next = (self.far[8].val() ^ self.far[9].val())
            ^ (self.far[20].val() ^ self.far[21].val())
            ^ (self.far[22].val() ^ self.far[23].val());
        self.out_valid.d.next = self.at[5].val();
        self.valid.next = self.out_valid.q.val();
        for b in 0..4 {
            self.out_place[b].d.next = self.number[20 + b].val();
            self.place[b].next = self.out_place[b].q.val();
        }
    }
}
