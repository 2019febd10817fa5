//! The crossbar's selects: which of the 128 bytes read goes to each payload byte.

use array_init::array_init;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Turns the fragments of a part into one select a payload byte, in two cycles.
///
/// Byte `k` of the payload comes from byte `k + place - pos` (modulo 128) of the words read, with the
/// address and the position of the fragment that it lies in. The first cycle makes a mask of
/// payload bytes and that difference for every fragment; the second merges them, bit by bit of the
/// difference.
///
/// Latency 2, one part a cycle, never stalls.
///
/// # Inputs
/// `clk`, `used` (fragments of this part), `place`, `len`, `pos`.
///
/// # Outputs
/// `mask`: payload bytes that the part brings; `select`: one index a byte.
#[derive(LogicBlock)]
pub struct Selects {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The fragments that are read.
    pub used: Signal<In, Bits<16>>,
    /// Where each fragment starts in a row of all banks.
    pub place: Signal<In, Bits<112>>,
    /// Lengths.
    pub len: Signal<In, Bits<112>>,
    /// Positions in the payload.
    pub pos: Signal<In, Bits<96>>,
    /// Payload bytes that come.
    pub mask: Signal<Out, Bits<64>>,
    /// Where each comes from.
    pub select: [Signal<Out, Bits<7>>; 64],
    covers: [DFF<Bits<64>>; 16],
    delta: [DFF<Bits<7>>; 16],
    positions: Signal<Local, Bits<97>>,
    end: [Signal<Local, Bits<7>>; 16],
    merged: DFF<Bits<64>>,
    selects: [DFF<Bits<7>>; 64],
    all: Signal<Local, Bits<64>>,
    plane: [Signal<Local, Bits<64>>; 7],
    column: [Signal<Local, Bits<7>>; 64],
    index: [Constant<Bits<7>>; 64],
    bit: [Constant<Bits<7>>; 7],
    ones: Constant<Bits<64>>,
}

impl Default for Selects {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            used: Signal::default(),
            place: Signal::default(),
            len: Signal::default(),
            pos: Signal::default(),
            mask: Signal::default(),
            select: array_init(|_| Signal::default()),
            covers: array_init(|_| DFF::default()),
            delta: array_init(|_| DFF::default()),
            positions: Signal::default(),
            end: array_init(|_| Signal::default()),
            merged: DFF::default(),
            selects: array_init(|_| DFF::default()),
            all: Signal::default(),
            plane: array_init(|_| Signal::default()),
            column: array_init(|_| Signal::default()),
            index: array_init(|k| Constant::new((k as u8).to_bits())),
            bit: array_init(|k| Constant::new((1_u8 << k).to_bits())),
            ones: Constant::new(u64::MAX.to_bits()),
        }
    }
}

impl Logic for Selects {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, merged);
        self.positions.next = bit_cast::<97, 96>(self.pos.val());
        for l in 0..16 {
            self.covers[l].clock.next = self.clk.val();
            self.delta[l].clock.next = self.clk.val();
            self.end[l].next = (self.positions.val().get_bits::<7>(l * 6) & 0x3f)
                + self.len.val().get_bits::<7>(l * 7);
            self.covers[l].d.next = 0.into();
            if self.used.val().get_bit(l) {
                self.covers[l].d.next = (self.ones.val() << self.pos.val().get_bits::<6>(l * 6))
                    & !(self.ones.val() << self.end[l].val());
            }
            self.delta[l].d.next = self.place.val().get_bits::<7>(l * 7)
                - (self.positions.val().get_bits::<7>(l * 6) & 0x3f);
        }
        self.all.next = 0.into();
        for l in 0..16 {
            self.all.next = self.all.val() | self.covers[l].q.val();
        }
        for j in 0..7 {
            self.plane[j].next = 0.into();
            for l in 0..16 {
                if self.delta[l].q.val().get_bit(j) {
                    self.plane[j].next = self.plane[j].val() | self.covers[l].q.val();
                }
            }
        }
        for k in 0..64 {
            self.column[k].next = 0.into();
            for j in 0..7 {
                if self.plane[j].val().get_bit(k) {
                    self.column[k].next = self.column[k].val() | self.bit[j].val();
                }
            }
        }
        self.merged.d.next = self.all.val();
        self.mask.next = self.merged.q.val();
        for k in 0..64 {
            self.selects[k].clock.next = self.clk.val();
            self.selects[k].d.next = self.column[k].val() + self.index[k].val();
            self.select[k].next = self.selects[k].q.val();
        }
    }
}
