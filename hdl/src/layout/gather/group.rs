//! A group of sixteen positions of the payload, which read one copy of the segmented memory.

use drdma_emit::prelude::*;

use super::quad::Quad;
use crate::primitive::{Banks, Choose, Pack};

/// A quarter of the payload: four quads. See the [module](super).
///
/// Beats are numbered modulo 64; at most 32 are at work, and a beat's number modulo 32 is its place in all
/// queues.
///
/// # Inputs
/// `clk`, `rst`; `write`, `valid`, `ram` (the beat `newest` enters); `newest`, `oldest`, `following`;
/// `read_data`; `leave`.
///
/// # Outputs
/// `done`; `read_row`, `read_enable`; `data`; `busy`, `conflict`.
#[derive(LogicBlock, Default)]
pub struct Group {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A beat enters, with the number `newest`.
    pub write: Signal<In, Bit>,
    /// Positions of the beat that have a byte, a bit each.
    pub valid: Signal<In, Bits<16>>,
    /// Places of the bytes in the segmented memory, 17 bits each.
    pub ram: Signal<In, Bits<272>>,
    /// Number of the next beat to enter, modulo 64.
    pub newest: Signal<In, Bits<6>>,
    /// Number of the oldest beat that is not known to be requested, modulo 64.
    pub oldest: Signal<In, Bits<6>>,
    /// The number behind `oldest`, modulo 64.
    pub following: Signal<In, Bits<6>>,
    /// All positions have requested their bytes of the beat `oldest`.
    pub done: Signal<Out, Bit>,

    /// Rows to read, 10 bits for each bank.
    pub read_row: Signal<Out, Bits<320>>,
    /// Banks to read, a bit each.
    pub read_enable: Signal<Out, Bits<32>>,
    /// Words that were read, 32 bits for each bank, two cycles after they were asked for.
    pub read_data: Signal<In, Bits<1024>>,

    /// Place of the beat whose bytes are at `data`: its number modulo 32.
    pub leave: Signal<In, Bits<5>>,
    /// Bytes of the beat `leave` at the group's 16 positions.
    pub data: Signal<Out, Bits<128>>,

    /// A byte was requested in this cycle.
    pub busy: Signal<Out, Bit>,
    /// A byte waited for its bank, or for its turn.
    pub conflict: Signal<Out, Bit>,

    quads: [Quad; 4],
    banks: Banks,
    /// The rows of each class of banks.
    choices: [Choose<4, 10, 8, 40>; 8],
    rows: Pack<32, 10, 320>,
    beat: Pack<4, 32, 128>,
    row: DFF<Bits<320>>,
    enable: DFF<Bits<32>>,
    conflicts: Signal<Local, Bit>,
    conflicted: DFF<Bit>,
}

impl Logic for Group {
    #[hdl_gen]
    fn update(&mut self) {
        self.done.next = true;
        self.conflicts.next = false;
        for k in 0..4 {
            self.quads[k].write.next = self.write.val();
            self.quads[k].valid.next = self.valid.val().get_bits::<4>(k * 4);
            self.quads[k].ram.next = self.ram.val().get_bits::<68>(k * 68);
            self.quads[k].newest.next = self.newest.val();
            self.quads[k].oldest.next = self.oldest.val();
            self.quads[k].following.next = self.following.val();
            self.quads[k].read_data.next = self.read_data.val();
            self.quads[k].leave.next = self.leave.val();
            self.banks.pending[k].next = self.quads[k].pending.val();
            self.banks.words[k].next = self.quads[k].words.val();
            self.banks.ages[k].next = self.quads[k].age.val();
            self.quads[k].left.next = self.banks.left[k].val();
            self.quads[k].free.next = self.banks.free[k].val();
            self.beat.parts[k].next = self.quads[k].data.val();
            if self.quads[k].waiting.val() {
                self.done.next = false;
            }
            if self.quads[k].conflict.val() {
                self.conflicts.next = true;
            }
        }
        self.data.next = self.beat.whole.val();
        for c in 0..8 {
            for k in 0..4 {
                self.choices[c].value[k].next =
                    self.quads[k].words.val().get_bits::<10>(c * 12 + 2);
            }
            self.choices[c].select.next = self.banks.chosen.val().get_bits::<8>(c * 8);
            for h in 0..4 {
                self.rows.parts[h * 8 + c].next =
                    self.choices[c].whole.val().get_bits::<10>(h * 10);
            }
        }
        self.row.d.next = self.rows.whole.val();
        self.enable.d.next = self.banks.reads.val();
        self.conflicted.d.next = self.conflicts.val();
        self.read_row.next = self.row.q.val();
        self.read_enable.next = self.enable.q.val();
        self.busy.next = self.enable.q.val().any();
        self.conflict.next = self.conflicted.q.val();

        if self.rst.val() {
            self.enable.d.next = 0.into();
            self.conflicted.d.next = false;
        }
    }
}
