//! Moves the number of each set bit of a piece of a mask to the place of its rank.

use array_init::array_init;
use drdma_emit::prelude::*;

/// Moves the number of every set bit of 64 to the place that its rank gives: the number of bits of the whole mask that
/// are set before it, modulo 64.
///
/// Numbers are represented by bit planes: bit `s` of `place[b]` is bit `b` of the number at place `s`. Takes a piece a
/// cycle with `enable`; the result follows 3 such cycles later. Without `enable` every stage holds.
///
/// Three moves, a stage each, put the numbers in order within 4, 16 and 64 places: after a move, the rank of the number
/// at each place ends like the number of the place, by two bits more each time. No two numbers meet, because ranks
/// follow each other. Before a move, the numbers whose ranks have the same ending (in the bits of the earlier moves)
/// lie in up to four places, one in each quarter, ordered by rank and without gaps between their ranks. So no rank
/// needs to be moved: the rank of the first bit of all four quarters determines the rank of the first of those numbers,
/// and hence which of them, counted from the first that is present, a place takes. Each bit that is decided or moved is
/// a function of six bits.
///
/// # Inputs
/// `enable`, `bits`; `ahead`: for each byte, the number of bits of the mask that are set before it, modulo 128 (8 x 7).
///
/// # Outputs
/// `valid`: the places that hold a number; `odd`: bit 6 of its rank; `place`. `odd` and `place` are undefined where
/// there is no number.
#[derive(LogicBlock, BlockDefault)]
pub struct Compact {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The pipeline advances in this cycle.
    pub enable: Signal<In, Bit>,
    /// Piece of the mask.
    pub bits: Signal<In, Bits<64>>,
    /// For each byte of the piece: number of bits of the mask that are set before it, modulo 128 (8 x 7 bits).
    pub ahead: Signal<In, Bits<56>>,
    /// Bit `s` is set if place `s` holds a number.
    pub valid: Signal<Out, Bits<64>>,
    /// Bit `s` is bit 6 of the rank of the number at place `s`.
    pub odd: Signal<Out, Bits<64>>,
    /// Bit planes of the numbers: bit `s` of plane `b` is bit `b` of the number at place `s`.
    pub place: [Signal<Out, Bits<64>>; 6],

    // Move `m`, of three, turns four quarters of 4^m places into one stretch of 4 times as many. A fact about a stretch
    // or a quarter is repeated at all its places.
    /// Places that hold a number before move `m`.
    at: [Signal<Local, Bits<64>>; 3],
    /// Whether each of the four quarters holds a number in the corresponding place: four planes a move.
    there: [Signal<Local, Bits<64>>; 12],
    /// The next two bits of the rank of the first of those numbers: two planes a move.
    first: [Signal<Local, Bits<64>>; 6],
    /// How many of those numbers come before the one that a place takes: two planes a move.
    skips: [Signal<Local, Bits<64>>; 6],
    /// For each place, the quarter from which it takes its number: four planes a move.
    takes: [Signal<Local, Bits<64>>; 12],
    /// The same quarter as a number of two bits: two planes a move.
    from: [Signal<Local, Bits<64>>; 6],
    /// For each place: it takes a number.
    comes: [Signal<Local, Bits<64>>; 3],
    // Bits that are set before a half byte, modulo 4: before its byte, and in the lower half.
    byte_start: [Signal<Local, Bits<64>>; 2],
    lower: [Signal<Local, Bits<64>>; 2],
    // For the four corresponding places in 16 bits, and for the 16 in the piece: the value of `first` in the next move,
    // so that no more than six bits decide there. Also the places that the first bit's rank exceeds, in 2 bits and in 0
    // to 4 bits.
    start: [Signal<Local, Bits<16>>; 4],
    start_beyond: Signal<Local, Bits<16>>,
    early_first: [DFF<Bits<16>>; 2],
    early_ahead: DFF<Bits<7>>,
    piece_start: [Signal<Local, Bits<16>>; 6],
    piece_beyond: [Signal<Local, Bits<16>>; 5],
    half_first: [DFF<Bits<16>>; 2],
    half_beyond: DFF<Bits<16>>,
    half_ahead: DFF<Bits<3>>,
    // The same for 4 to 6 bits, and the upper bits of the first bit's rank.
    beyond: [Signal<Local, Bits<64>>; 3],
    top: [Signal<Local, Bits<64>>; 3],
    // Numbers of the four candidates of the second and the third move, plane by plane.
    second: [Signal<Local, Bits<64>>; 8],
    third: [Signal<Local, Bits<64>>; 16],
    // Registers behind each move: the places that hold numbers, and the planes of these.
    early: DFF<Bits<64>>,
    early_plane: [DFF<Bits<64>>; 2],
    half: DFF<Bits<64>>,
    half_plane: [DFF<Bits<64>>; 4],
    late: DFF<Bits<64>>,
    late_plane: [DFF<Bits<64>>; 6],
    late_odd: DFF<Bits<64>>,
    /// Takes the upper bits of most bytes' `ahead`, which are not used.
    unused: Signal<Local, Bits<56>>,
    // Places whose bit k is set.
    #[init(array_init(|k| Constant::new(places(|p| p >> k & 1 == 1).to_bits())))]
    upper: [Constant<Bits<64>>; 6],
    // Places of byte k.
    #[init(array_init(|k| Constant::new(places(|p| p as usize / 8 == k).to_bits())))]
    bytes: [Constant<Bits<64>>; 8],
    // Corresponding places in each 16, and in the piece.
    #[init(array_init(|k| Constant::new(places(|p| p as usize / 16 == k / 4 && p as usize % 4 == k % 4).to_bits())))]
    fours: [Constant<Bits<64>>; 16],
    #[init(array_init(|k| Constant::new(places(|p| p as usize % 16 == k).to_bits())))]
    sixteens: [Constant<Bits<64>>; 16],
    // Among 16 places: one quarter each, and those whose bit k is set.
    #[init(array_init(|k| Constant::new((0xf_u64 << (4 * k)).to_bits())))]
    quarters: [Constant<Bits<16>>; 4],
    #[init(array_init(|k| Constant::new((places(|p| p >> k & 1 == 1) & 0xffff).to_bits())))]
    upper_16: [Constant<Bits<16>>; 4],
    #[init(Constant::new(0xffff_u64.to_bits()))]
    whole_16: Constant<Bits<16>>,
    #[init(Constant::new(u64::MAX.to_bits()))]
    whole: Constant<Bits<64>>,
    // The lowest quarter of every stretch, and the distance of each quarter from it.
    #[init(array_init(|m| Constant::new(places(|p| p >> (2 * m) & 3 == 0).to_bits())))]
    lowest: [Constant<Bits<64>>; 3],
    #[init(array_init(|k| Constant::new(((k as u64 & 3) << (2 * (k / 4))).to_bits())))]
    distance: [Constant<Bits<6>>; 12],
}

impl Logic for Compact {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.ahead.val();

        // Quarters that hold a number.
        self.at[0].next = self.bits.val();
        self.at[1].next = self.early.q.val();
        self.at[2].next = self.half.q.val();
        for m in 0..3 {
            for n in 0..4 {
                self.there[m * 4 + n].next = 0.into();
                for k in 0..4 {
                    self.there[m * 4 + n].next = self.there[m * 4 + n].val()
                        | (((self.at[m].val() >> self.distance[m * 4 + n].val())
                            & self.lowest[m].val())
                            << self.distance[m * 4 + k].val());
                }
            }
        }

        // First move: ranks of the first bits of half bytes.
        for b in 0..2 {
            self.byte_start[b].next = 0.into();
            for k in 0..8 {
                if self.ahead.val().get_bit(k * 7 + b) {
                    self.byte_start[b].next = self.byte_start[b].val() | self.bytes[k].val();
                }
            }
        }
        self.lower[0].next = ((self.there[0].val()
            ^ self.there[1].val()
            ^ self.there[2].val()
            ^ self.there[3].val())
            << 4)
            & self.upper[2].val();
        self.lower[1].next = (((self.there[0].val() & self.there[1].val())
            ^ ((self.there[0].val() ^ self.there[1].val()) & self.there[2].val())
            ^ ((self.there[0].val() ^ self.there[1].val() ^ self.there[2].val())
                & self.there[3].val()))
            << 4)
            & self.upper[2].val();
        self.first[0].next = self.byte_start[0].val() ^ self.lower[0].val();
        self.first[1].next = self.byte_start[1].val()
            ^ self.lower[1].val()
            ^ (self.byte_start[0].val() & self.lower[0].val());

        // Quarters of the second and the third move were found in the stage before.
        for b in 0..2 {
            self.first[b + 2].next = 0.into();
            self.first[b + 4].next = 0.into();
            for k in 0..16 {
                if self.early_first[b].q.val().get_bit(k) {
                    self.first[b + 2].next = self.first[b + 2].val() | self.fours[k].val();
                }
                if self.half_first[b].q.val().get_bit(k) {
                    self.first[b + 4].next = self.first[b + 4].val() | self.sixteens[k].val();
                }
            }
        }
        // A place below the first bit's, in two bits, belongs to the next four ranks.
        for b in 0..4 {
            self.start[b].next = 0.into();
            for k in 0..4 {
                if self.ahead.val().get_bit(k * 14 + b) {
                    self.start[b].next = self.start[b].val() | self.quarters[k].val();
                }
            }
        }
        self.start_beyond.next = (!self.upper_16[1].val() & self.start[1].val())
            | (!(self.upper_16[1].val() ^ self.start[1].val())
                & !self.upper_16[0].val()
                & self.start[0].val());
        // In four bits, to the next 16 ranks; in six bits, for bit 6 of the ranks.
        for b in 0..6 {
            self.piece_start[b].next = 0.into();
            if self.early_ahead.q.val().get_bit(b) {
                self.piece_start[b].next = self.whole_16.val();
            }
        }
        self.piece_beyond[0].next = 0.into();
        for b in 0..4 {
            self.piece_beyond[b + 1].next = (!self.upper_16[b].val() & self.piece_start[b].val())
                | (!(self.upper_16[b].val() ^ self.piece_start[b].val())
                    & self.piece_beyond[b].val());
        }
        self.beyond[0].next = 0.into();
        for k in 0..16 {
            if self.half_beyond.q.val().get_bit(k) {
                self.beyond[0].next = self.beyond[0].val() | self.sixteens[k].val();
            }
        }
        for b in 0..3 {
            self.top[b].next = 0.into();
            if self.half_ahead.q.val().get_bit(b) {
                self.top[b].next = self.whole.val();
            }
        }
        for b in 0..2 {
            self.beyond[b + 1].next = (!self.upper[b + 4].val() & self.top[b].val())
                | (!(self.upper[b + 4].val() ^ self.top[b].val()) & self.beyond[b].val());
        }

        // Which of the four each place takes: the one as far behind the first as the place's rank is behind the first
        // rank.
        for m in 0..3 {
            self.skips[m * 2].next = self.upper[m * 2].val() ^ self.first[m * 2].val();
            self.skips[m * 2 + 1].next = self.upper[m * 2 + 1].val()
                ^ self.first[m * 2 + 1].val()
                ^ (!self.upper[m * 2].val() & self.first[m * 2].val());
            self.takes[m * 4].next =
                self.there[m * 4].val() & !(self.skips[m * 2].val() | self.skips[m * 2 + 1].val());
            self.takes[m * 4 + 1].next = self.there[m * 4 + 1].val()
                & !self.skips[m * 2 + 1].val()
                & !(self.skips[m * 2].val() ^ self.there[m * 4].val());
            self.takes[m * 4 + 2].next = self.there[m * 4 + 2].val()
                & !(self.skips[m * 2].val()
                    ^ self.there[m * 4].val()
                    ^ self.there[m * 4 + 1].val())
                & !(self.skips[m * 2 + 1].val()
                    ^ (self.there[m * 4].val() & self.there[m * 4 + 1].val()));
            self.takes[m * 4 + 3].next = self.there[m * 4 + 3].val()
                & !(self.skips[m * 2].val()
                    ^ self.there[m * 4].val()
                    ^ self.there[m * 4 + 1].val()
                    ^ self.there[m * 4 + 2].val())
                & !(self.skips[m * 2 + 1].val()
                    ^ ((self.there[m * 4].val() & self.there[m * 4 + 1].val())
                        | ((self.there[m * 4].val() | self.there[m * 4 + 1].val())
                            & self.there[m * 4 + 2].val())));
            self.from[m * 2].next = self.takes[m * 4 + 1].val() | self.takes[m * 4 + 3].val();
            self.from[m * 2 + 1].next = self.takes[m * 4 + 2].val() | self.takes[m * 4 + 3].val();
            self.comes[m].next = self.takes[m * 4].val()
                | self.takes[m * 4 + 1].val()
                | self.takes[m * 4 + 2].val()
                | self.takes[m * 4 + 3].val();
        }

        // Numbers of the four, of two bits and of four.
        for b in 0..2 {
            for n in 0..4 {
                self.second[b * 4 + n].next = 0.into();
                for k in 0..4 {
                    self.second[b * 4 + n].next = self.second[b * 4 + n].val()
                        | (((self.early_plane[b].q.val() >> self.distance[n + 4].val())
                            & self.lowest[1].val())
                            << self.distance[k + 4].val());
                }
            }
        }
        for b in 0..4 {
            for n in 0..4 {
                self.third[b * 4 + n].next = 0.into();
                for k in 0..4 {
                    self.third[b * 4 + n].next = self.third[b * 4 + n].val()
                        | (((self.half_plane[b].q.val() >> self.distance[n + 8].val())
                            & self.lowest[2].val())
                            << self.distance[k + 8].val());
                }
            }
        }

        if self.enable.val() {
            self.early.d.next = self.comes[0].val();
            self.half.d.next = self.comes[1].val();
            self.late.d.next = self.comes[2].val();
            // The numbers of the quarters become the next bits of the numbers.
            for b in 0..2 {
                self.early_plane[b].d.next = self.from[b].val();
                self.half_plane[b].d.next = (self.second[b * 4].val()
                    & !(self.from[2].val() | self.from[3].val()))
                    | (self.second[b * 4 + 1].val() & self.from[2].val() & !self.from[3].val())
                    | (self.second[b * 4 + 2].val() & !self.from[2].val() & self.from[3].val())
                    | (self.second[b * 4 + 3].val() & self.from[2].val() & self.from[3].val());
                self.half_plane[b + 2].d.next = self.from[b + 2].val();
                self.late_plane[b + 4].d.next = self.from[b + 4].val();
            }
            for b in 0..4 {
                self.late_plane[b].d.next = (self.third[b * 4].val()
                    & !(self.from[4].val() | self.from[5].val()))
                    | (self.third[b * 4 + 1].val() & self.from[4].val() & !self.from[5].val())
                    | (self.third[b * 4 + 2].val() & !self.from[4].val() & self.from[5].val())
                    | (self.third[b * 4 + 3].val() & self.from[4].val() & self.from[5].val());
            }
            self.late_odd.d.next = self.top[2].val() ^ self.beyond[2].val();
            // Bits of `ahead` that the next moves need.
            self.early_first[0].d.next = self.start[2].val() ^ self.start_beyond.val();
            self.early_first[1].d.next =
                self.start[3].val() ^ (self.start[2].val() & self.start_beyond.val());
            self.early_ahead.d.next = self.ahead.val().get_bits::<7>(0);
            self.half_first[0].d.next = self.piece_start[4].val() ^ self.piece_beyond[4].val();
            self.half_first[1].d.next = self.piece_start[5].val()
                ^ (self.piece_start[4].val() & self.piece_beyond[4].val());
            self.half_beyond.d.next = self.piece_beyond[4].val();
            self.half_ahead.d.next = self.early_ahead.q.val().get_bits::<3>(4);
        }
        self.valid.next = self.late.q.val();
        self.odd.next = self.late_odd.q.val();
        for b in 0..6 {
            self.place[b].next = self.late_plane[b].q.val();
        }
    }
}

/// Bit `p` is set for each of 64 places `p` that satisfies the condition.
fn places(is: impl Fn(u64) -> bool) -> u64 {
    (0..64).filter(|&p| is(p)).fold(0, |mask, p| mask | 1 << p)
}
