//! Pieces of values into a memory of banks, 16 a cycle: what turns rows into columns on the receive path, and columns into rows where a described key is
//! READ.
//!
//! Stands behind what cuts values into pieces. [`PieceBanks`] is for the [transposer](crate::receive::transposer), whose pieces go to any bytes; [`WordBanks`], half as
//! large, is for the [strides](crate::send::replies::described::strides) of a READ, none of whose pieces lies across a word.
//!
//! ```text
//! pieces --> lanes (8 wait in each of 16) --> crossbar --> 128 rows of 128 banks of a byte, or of 32 of a word
//! ```
//!
//! Contract: a beat of 16 pieces a cycle while `flows`, which comes from registers. Pieces that would meet in a bank take turns. `done`, a pulse, comes
//! when the last beat of a job is in the memory, in the order of jobs. The memory is read at any time, a row a cycle; of [`PieceBanks`] one for each segment of 64 B, two cycles later.

use crate::primitive::{ColumnMemory, Crossbar};
use drdma_emit::prelude::*;

mod lanes;
mod words;

use lanes::Lanes;
pub use words::{WORD_PLACE, WordBanks};

/// Pieces a cycle.
pub const PIECES: usize = 16;
/// Bytes of a piece at most.
pub const LANES: usize = 4;
/// Bytes of a beat of pieces.
pub const BYTES: usize = PIECES * LANES;
/// Bits of a byte's place in the memory: 128 rows of 128 B.
pub const PLACE: usize = 14;
/// Cycles from all lanes having passed a job's last pieces on to those being in the memory.
const WRITTEN: usize = 2;

/// See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `valid`, `over`, `bytes`, `masks`, `places`; `read_enable`, `read_row`.
///
/// # Outputs
/// `flows`; `done`; `read_data`.
#[derive(LogicBlock, BlockDefault)]
pub struct PieceBanks {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat comes,
    pub valid: Signal<In, Bit>,
    /// the last one of a job.
    pub over: Signal<In, Bit>,
    /// Its bytes: 16 x 4, by the number of their bank modulo 4,
    pub bytes: Signal<In, Bits<512>>,
    /// which of them count,
    pub masks: Signal<In, Bits<64>>,
    /// and where its pieces begin.
    pub places: Signal<In, Bits<224>>,
    /// The next beat comes.
    pub flows: Signal<Out, Bit>,
    /// A job is in the memory.
    pub done: Signal<Out, Bit>,

    /// Segments of 64 B that are read,
    pub read_enable: Signal<In, Bits<2>>,
    /// their rows, 7 bits each,
    pub read_row: Signal<In, Bits<14>>,
    /// and what was read, two cycles later.
    pub read_data: Signal<Out, Bits<1024>>,

    lanes: Lanes,
    crossbar: Crossbar,
    memory: ColumnMemory,
    /// A job's last bytes are on their way.
    last: [DFF<Bit>; WRITTEN],
}

impl Logic for PieceBanks {
    #[hdl_gen]
    fn update(&mut self) {
        self.lanes.valid.next = self.valid.val();
        self.lanes.over.next = self.over.val();
        self.lanes.bytes.next = self.bytes.val();
        self.lanes.masks.next = self.masks.val();
        self.lanes.places.next = self.places.val();
        self.flows.next = self.lanes.flows.val();
        self.crossbar.go.next = self.lanes.go.val();
        self.crossbar.bytes.next = self.lanes.go_bytes.val();
        self.crossbar.words.next = self.lanes.go_words.val();
        self.crossbar.rows.next = self.lanes.go_rows.val();
        self.memory.enable.next = self.crossbar.enable.val();
        self.memory.row.next = self.crossbar.row.val();
        self.memory.data.next = self.crossbar.data.val();
        self.last[0].d.next = self.lanes.ended.val();
        for k in 1..WRITTEN {
            self.last[k].d.next = self.last[k - 1].q.val();
        }
        self.done.next = self.last[WRITTEN - 1].q.val();
        self.memory.read_enable.next = self.read_enable.val();
        self.memory.read_row.next = self.read_row.val();
        self.read_data.next = self.memory.read_data.val();

        if self.rst.val() {
            for k in 0..WRITTEN {
                self.last[k].d.next = false;
            }
        }
    }
}
