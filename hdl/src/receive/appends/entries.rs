//! Keeps the entries of append regions, as the host writes them.

use super::lives::Lives;
use crate::context::ConfigWrite;
use crate::primitive::{Pack, Ram};
use crate::receive::record::{APPEND, APPEND_LIFE, AppendWord};
use drdma_abi::Layout;
use drdma_abi::described::{AppendEnd, AppendHead, ENTRY_GRANULES};
use drdma_abi::work_request::{Element, GRANULE, MAX_ELEMENTS};
use drdma_emit::prelude::*;

/// Bits of a granule of an entry, and its words.
pub const GRANULE_BITS: usize = 8 * GRANULE;
const LANES: usize = 4;
/// Bits of the number of a column among those of all regions.
pub const COLUMN: usize = APPEND + 4;
/// Numbers of the granules of an entry's first column and of its end.
const FIRST_COLUMN: u64 = (AppendHead::SIZE / GRANULE) as u64;
const LAST_COLUMN: u64 = FIRST_COLUMN + MAX_ELEMENTS as u64 - 1;
const END: u64 = ENTRY_GRANULES as u64 - 1;
/// Number of the words at the end of an entry that must be 0.
const RESERVED: usize = 3;

fn stands<L: Layout>(field: &str, at: usize) -> bool {
    L::field(field).start == at
}

/// Fields of an entry that concern its region as a whole.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendEntry {
    /// The region is enabled, and the entry's reserved fields are 0.
    pub good: Bit,
    /// Life of the region.
    pub life: Bits<APPEND_LIFE>,
    /// Rows of the region.
    pub capacity: Bits<32>,
    /// Number of columns, as the host has written it.
    pub columns: Bits<16>,
    /// Protection domain of the region.
    pub pd: Bits<32>,
}

/// Fields of an entry that concern one column.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendColumn {
    /// Address of the first byte of row 0.
    pub base: Bits<64>,
    /// Bytes of a value of the column.
    pub width: Bits<32>,
    /// Local key of the column's memory.
    pub lkey: Bits<32>,
}

/// Keeps the entries of 512 append regions.
///
/// Contract: asked a cycle ahead; a word of the host's counts in the second cycle after its own.
///
/// # Inputs
/// `clk`; `cfg`, `word`; `next_region`; `next_column`.
///
/// # Outputs
/// `entry` and `column`: those of `next_region` and `next_column`, one cycle before.
#[derive(LogicBlock, BlockDefault)]
#[check(stands::<AppendHead>("capacity", 0) && stands::<AppendHead>("columns", 32))]
#[check(stands::<AppendHead>("pd", 64) && stands::<AppendEnd>("enable", 96))]
#[check(stands::<Element>("len", 64) && stands::<Element>("lkey", 96))]
pub struct Entries {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to append regions.
    pub word: Flow<In, AppendWord>,
    /// The region that is asked for in the next cycle.
    pub next_region: Signal<In, Bits<APPEND>>,
    /// The column of that region that is asked for in the next cycle.
    pub next_column: Signal<In, Bits<4>>,
    /// Entry of the region of `next_region`, one cycle before.
    pub entry: Signals<Out, AppendEntry>,
    /// Column `next_column`, one cycle before, of that region.
    pub column: Signals<Out, AppendColumn>,

    lives: Lives,
    written: Signal<Local, Bit>,
    granule: Signal<Local, Bits<5>>,
    lane: Signal<Local, Bits<LANES>>,
    data: Pack<LANES, 32, GRANULE_BITS>,
    heads: Ram<GRANULE_BITS, LANES, APPEND>,
    columns: Ram<GRANULE_BITS, LANES, COLUMN>,
    /// Of each region: whether reserved words are not 0.
    ends: Ram<RESERVED, RESERVED, APPEND>,
    odd: Signal<Local, Bits<RESERVED>>,
    after: Signal<Local, Bits<4>>,
}

impl Logic for Entries {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.lives.cfg);
        self.word.join(&mut self.lives.word);
        self.written.next = self.word.valid.val() && !self.word.bell.val();
        self.granule.next = self.word.word.val().get_bits::<5>(2);
        self.lane.next = bit_cast::<LANES, 1>(1.into()) << self.word.word.val().get_bits::<2>(0);
        for k in 0..4 {
            self.data.parts[k].next = self.word.data.val();
        }
        self.heads.write_lanes.next = 0.into();
        self.columns.write_lanes.next = 0.into();
        self.ends.write_lanes.next = 0.into();
        if self.written.val() {
            if !self.granule.val().any() {
                self.heads.write_lanes.next = self.lane.val();
            } else if self.granule.val() <= LAST_COLUMN {
                self.columns.write_lanes.next = self.lane.val();
            } else if self.granule.val() == END {
                self.ends.write_lanes.next = self.lane.val().get_bits::<RESERVED>(0);
            }
        }
        self.heads.write_address.next = self.word.region.val();
        self.heads.write_data.next = self.data.whole.val();
        self.heads.read_enable.next = true;
        self.heads.read_address.next = self.next_region.val();
        // Column `k` is kept at place `k + 1`, the 16th at 0: by the number of its granule.
        self.after.next = self.next_column.val() + FIRST_COLUMN;
        self.columns.write_address.next = (bit_cast::<COLUMN, APPEND>(self.word.region.val()) << 4)
            | bit_cast::<COLUMN, 4>(self.granule.val().get_bits::<4>(0));
        self.columns.write_data.next = self.data.whole.val();
        self.columns.read_enable.next = true;
        self.columns.read_address.next = (bit_cast::<COLUMN, APPEND>(self.next_region.val()) << 4)
            | bit_cast::<COLUMN, 4>(self.after.val());
        self.odd.next = 0.into();
        if self.word.data.val().any() {
            self.odd.next = 7.into();
        }
        self.ends.write_address.next = self.word.region.val();
        self.ends.write_data.next = self.odd.val();
        self.ends.read_enable.next = true;
        self.ends.read_address.next = self.next_region.val();
        self.lives.next_region.next = self.next_region.val();

        self.entry.good.next = self.lives.enabled.val()
            && !self.heads.read_data.val().get_bits::<16>(48).any()
            && !self.heads.read_data.val().get_bits::<32>(96).any()
            && !self.ends.read_data.val().any();
        self.entry.life.next = self.lives.life.val();
        self.entry.capacity.next = self.heads.read_data.val().get_bits::<32>(0);
        self.entry.columns.next = self.heads.read_data.val().get_bits::<16>(32);
        self.entry.pd.next = self.heads.read_data.val().get_bits::<32>(64);
        self.column.base.next = self.columns.read_data.val().get_bits::<64>(0);
        self.column.width.next = self.columns.read_data.val().get_bits::<32>(64);
        self.column.lkey.next = self.columns.read_data.val().get_bits::<32>(96);
    }
}
