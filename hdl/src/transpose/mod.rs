//! Writes pieces of values into a memory of banks, 16 a cycle. So rows become columns on the receive path, and columns
//! become rows when a described key is READ.
//!
//! Stands behind the blocks that cut values into pieces. [`PieceBanks`] is for the
//! [transposer](crate::receive::transposer), whose pieces go to any bytes; [`WordBanks`], half as
//! large, is for the [strides](crate::send::replies::described::strides) of a READ, whose pieces never cross a word.
//!
//! ```text
//! pieces --> lanes (8 wait in each of 16) --> crossbar --> 128 rows of 128 banks of a byte, or of 32 of a word
//! ```
//!
//! Contract: a beat of 16 pieces a cycle while `flows`, which comes from registers. Pieces that would meet in a bank
//! take turns. `done`, a pulse, comes when the last beat of a job is in the memory, in the order of jobs. The memory
//! can be read at any time, a row a cycle; of [`PieceBanks`] one row for each segment of 64 B, two cycles later.

use crate::primitive::{ColumnMemory, Crossbar};
use drdma_emit::prelude::*;

mod lanes;
mod words;

use lanes::Lanes;
pub use words::{WORD_PLACE, WordBanks};

/// Pieces of a beat.
pub const PIECES: usize = 16;
/// Bytes of a piece, at most.
pub const LANES: usize = 4;
/// Bytes of a beat of pieces.
pub const BYTES: usize = PIECES * LANES;
/// Bits of the place of a byte in the memory: 128 rows of 128 B.
pub const PLACE: usize = 14;
/// Cycles from when all lanes have passed a job's last pieces on until these are in the memory.
const WRITTEN: usize = 2;

/// Writes pieces that go to any bytes. See the [module](self).
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
    /// A beat of pieces is offered.
    pub valid: Signal<In, Bit>,
    /// The beat is the last one of a job.
    pub over: Signal<In, Bit>,
    /// Bytes of the beat: 16 x 4, each by the number of its bank modulo 4.
    pub bytes: Signal<In, Bits<512>>,
    /// Bytes of the beat that are written, a bit each.
    pub masks: Signal<In, Bits<64>>,
    /// Places in the memory at which the pieces begin, 14 bits each.
    pub places: Signal<In, Bits<224>>,
    /// A beat is accepted in this cycle.
    pub flows: Signal<Out, Bit>,
    /// All bytes of the oldest job are in the memory; jobs end in order.
    pub done: Signal<Out, Bit>,

    /// Segments of 64 B that are read, a bit each.
    pub read_enable: Signal<In, Bits<2>>,
    /// Rows that are read, 7 bits for each segment.
    pub read_row: Signal<In, Bits<14>>,
    /// The rows, 512 bits for each segment, two cycles after they were asked for.
    pub read_data: Signal<Out, Bits<1024>>,

    lanes: Lanes,
    crossbar: Crossbar,
    memory: ColumnMemory,
    /// The last bytes of a job are on their way to the memory, by stage.
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
