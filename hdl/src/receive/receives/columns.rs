//! Knows where the columns of append regions lie, and where their next values go.
//!
//! Contract: one column a cycle, asked for a cycle ahead. A word of the host's counts in the second cycle after its
//! own. A column that is asked for and has `opens` in the next cycle goes on at `row`; where that is comes [`OPENING`]
//! cycles later, and as `opened` in the cycle before that.

use crate::context::{ConfigWrite, Table};
use crate::primitive::{Multiplier, Pack, Ram};
use crate::receive::appends::entries::{COLUMN, GRANULE_BITS};
use crate::receive::appends::lives::Lives;
use crate::receive::record::{APPEND, APPEND_LIFE, AppendWord};
use drdma_emit::prelude::*;

/// Cycles from `opens` until it is known where the column's next value goes.
pub const OPENING: u64 = 7;
/// Words of a column's entry that are kept: base and width.
const WORDS: usize = 3;
const KEPT: usize = 32 * WORDS;
/// Words of a head that are kept: capacity and number of columns.
const HEAD_WORDS: usize = 2;
const HEAD: usize = 32 * HEAD_WORDS;
/// Number of the granule of the last column.
const LAST_COLUMN: u64 = 16;
/// Stages of the multiplier.
const STAGES: usize = 5;

/// Knows where columns lie. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Columns {
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
    /// The region of `next_region`, one cycle before, is enabled.
    pub enabled: Signal<Out, Bit>,
    /// Life of that region.
    pub life: Signal<Out, Bits<APPEND_LIFE>>,
    /// Rows of that region.
    pub capacity: Signal<Out, Bits<32>>,
    /// Columns of that region, 1 to 16.
    pub count: Signal<Out, Bits<5>>,
    /// The column of `next_column`, one cycle before: address of its row 0.
    pub base: Signal<Out, Bits<64>>,
    /// Bytes of a value of that column.
    pub width: Signal<Out, Bits<32>>,
    /// Address of the next value of that column.
    pub place: Signal<Out, Bits<64>>,
    /// The column that was asked for is to go on at `row`.
    pub opens: Signal<In, Bit>,
    /// With `opens`: the row.
    pub row: Signal<In, Bits<32>>,
    /// A column was opened.
    pub opened: Signal<Out, Bit>,
    /// With `opened`: address of the column's next value.
    pub opened_place: Signal<Out, Bits<64>>,
    /// With `opened`: bytes of a value of the column, modulo 128.
    pub opened_width: Signal<Out, Bits<7>>,
    /// A value is begun: the next one of its column goes behind it.
    pub begun: Signal<In, Bit>,
    /// With `begun`: the region.
    pub begun_region: Signal<In, Bits<APPEND>>,
    /// With `begun`: the column.
    pub begun_column: Signal<In, Bits<4>>,
    /// With `begun`: address behind the value.
    pub behind: Signal<In, Bits<64>>,

    lives: Lives,
    written: Signal<Local, Bit>,
    granule: Signal<Local, Bits<5>>,
    lane: Signal<Local, Bits<4>>,
    data: Pack<4, 32, GRANULE_BITS>,
    heads: Ram<HEAD, HEAD_WORDS, APPEND>,
    shapes: Ram<KEPT, WORDS, COLUMN>,
    places: Table<64, COLUMN>,
    unused: Signal<Local, Bits<GRANULE_BITS>>,
    unused_head: Signal<Local, Bits<HEAD>>,
    unused_lane: Signal<Local, Bits<4>>,
    /// The column that is written.
    written_column: Signal<Local, Bits<4>>,
    asked: Signal<Local, Bits<COLUMN>>,

    // A column that is opened: its number, and the address of its row 0.
    at: DFF<Bits<COLUMN>>,
    #[init(Multiplier::new(STAGES))]
    multiplier: Multiplier<32, 32, 64>,
    comes: [DFF<Bit>; STAGES],
    column: [DFF<Bits<COLUMN>>; STAGES],
    first: [DFF<Bits<64>>; STAGES],
    width_of: [DFF<Bits<7>>; STAGES],
    is_opened: DFF<Bit>,
    opened_at: DFF<Bits<COLUMN>>,
    place_of: DFF<Bits<64>>,
    last_width: DFF<Bits<7>>,
}

impl Logic for Columns {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.lives.cfg);
        self.word.join(&mut self.lives.word);
        self.written.next = self.word.valid.val() && !self.word.bell.val();
        self.granule.next = self.word.word.val().get_bits::<5>(2);
        self.lane.next = bit_cast::<4, 1>(1.into()) << self.word.word.val().get_bits::<2>(0);
        for k in 0..4 {
            self.data.parts[k].next = self.word.data.val();
        }
        self.unused.next = self.data.whole.val();
        self.unused_lane.next = self.lane.val();
        self.heads.write_lanes.next = 0.into();
        self.shapes.write_lanes.next = 0.into();
        if self.written.val() {
            if !self.granule.val().any() {
                self.heads.write_lanes.next = self.lane.val().get_bits::<HEAD_WORDS>(0);
            } else if self.granule.val() <= LAST_COLUMN {
                self.shapes.write_lanes.next = self.lane.val().get_bits::<WORDS>(0);
            }
        }
        self.heads.write_address.next = self.word.region.val();
        self.heads.write_data.next = self.data.whole.val().get_bits::<HEAD>(0);
        self.heads.read_enable.next = true;
        self.heads.read_address.next = self.next_region.val();
        self.unused_head.next = self.heads.read_data.val();
        self.lives.next_region.next = self.next_region.val();
        // The granule of a column has the number of the next one: the head has number 0.
        self.written_column.next = self.granule.val().get_bits::<4>(0) - 1;
        self.asked.next = (bit_cast::<COLUMN, APPEND>(self.next_region.val()) << 4)
            | bit_cast::<COLUMN, 4>(self.next_column.val());
        self.shapes.write_address.next = (bit_cast::<COLUMN, APPEND>(self.word.region.val()) << 4)
            | bit_cast::<COLUMN, 4>(self.written_column.val());
        self.shapes.write_data.next = self.data.whole.val().get_bits::<KEPT>(0);
        self.shapes.read_enable.next = true;
        self.shapes.read_address.next = self.asked.val();

        self.enabled.next = self.lives.enabled.val();
        self.life.next = self.lives.life.val();
        self.capacity.next = self.heads.read_data.val().get_bits::<32>(0);
        self.count.next = self.heads.read_data.val().get_bits::<5>(32);
        self.base.next = self.shapes.read_data.val().get_bits::<64>(0);
        self.width.next = self.shapes.read_data.val().get_bits::<32>(64);
        self.place.next = self.places.read_data.val();

        // A column is opened at a row.
        self.at.d.next = self.asked.val();
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.row.val();
        self.multiplier.b.next = self.width.val();
        self.comes[0].d.next = self.opens.val();
        self.column[0].d.next = self.at.q.val();
        self.first[0].d.next = self.base.val();
        self.width_of[0].d.next = self.width.val().get_bits::<7>(0);
        for k in 0..4 {
            self.comes[k + 1].d.next = self.comes[k].q.val();
            self.column[k + 1].d.next = self.column[k].q.val();
            self.first[k + 1].d.next = self.first[k].q.val();
            self.width_of[k + 1].d.next = self.width_of[k].q.val();
        }
        self.is_opened.d.next = self.comes[4].q.val();
        self.opened_at.d.next = self.column[4].q.val();
        self.place_of.d.next = self.first[4].q.val() + self.multiplier.product.val();
        self.last_width.d.next = self.width_of[4].q.val();
        self.opened.next = self.is_opened.q.val();
        self.opened_place.next = self.place_of.q.val();
        self.opened_width.next = self.last_width.q.val();

        // The addresses of the next values.
        self.places.write_enable.next = self.is_opened.q.val() || self.begun.val();
        self.places.write_address.next = self.opened_at.q.val();
        self.places.write_data.next = self.place_of.q.val();
        if self.begun.val() {
            self.places.write_address.next = (bit_cast::<COLUMN, APPEND>(self.begun_region.val())
                << 4)
                | bit_cast::<COLUMN, 4>(self.begun_column.val());
            self.places.write_data.next = self.behind.val();
        }
        self.places.ahead.next = self.asked.val();
    }
}
