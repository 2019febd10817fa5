//! Walks the columns of an append region: how long a row is, and whether all rows lie in the memory of their keys.

use super::entries::AppendColumn;
use crate::context::{ConfigWrite, TableSelect};
use crate::primitive::Multiplier;
use crate::request::decoder::regions::MemoryRegions;
use drdma_emit::prelude::*;

/// Cycles from a column until it is known whether it is covered.
const LATENCY: usize = 7;
/// Stages in which a column waits for its bytes.
const WAITS: usize = 4;
/// Bits of a count of a row's bytes. A message has at most 2^31 bytes, so any longer row counts as one of 2^33 - 1.
pub const ROW: usize = 33;
const ROW_SUM: usize = 34;

/// Walks a region's columns, one a cycle.
///
/// Contract: a column comes in each cycle with `valid`, the first one with `first`; behind `last` no other one may come
/// until `done`, a pulse 7 cycles after the last column. `proper`, `covered` and `row` are valid from then until the
/// next first column.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `valid`, `first`, `last`, `column`; `capacity`, `pd`: of the region, constant from the first
/// column to `done`.
///
/// # Outputs
/// `done`; `proper`: no value is empty; `covered`: each column's rows lie in the memory region of its key, which is of
/// the protection domain `pd` and may be written to; `row`: bytes of a row.
#[derive(LogicBlock, BlockDefault)]
pub struct Coverage {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// A column comes.
    pub valid: Signal<In, Bit>,
    /// With `valid`: the column is the region's first one.
    pub first: Signal<In, Bit>,
    /// With `valid`: the column is the region's last one.
    pub last: Signal<In, Bit>,
    /// Entry of the column.
    pub column: Signals<In, AppendColumn>,
    /// Rows of the region.
    pub capacity: Signal<In, Bits<32>>,
    /// Protection domain of the region.
    pub pd: Signal<In, Bits<32>>,
    /// `proper`, `covered` and `row` are valid.
    pub done: Signal<Out, Bit>,
    /// No column has a width of 0.
    pub proper: Signal<Out, Bit>,
    /// All rows of all columns lie in the memory of their keys.
    pub covered: Signal<Out, Bit>,
    /// Bytes of a row.
    pub row: Signal<Out, Bits<ROW>>,

    select: TableSelect,
    keys: MemoryRegions,
    #[init(Multiplier::new(5))]
    multiplier: Multiplier<32, 32, 64>,
    #[init(Constant::new(((1_u64 << ROW) - 1).into()))]
    longest: Constant<Bits<ROW>>,
    comes: [DFF<Bit>; LATENCY],
    ends: [DFF<Bit>; LATENCY],
    base: [DFF<Bits<64>>; 2],
    // The key is the right one and allows writing; `key_end`: the address where its memory ends.
    allows: DFF<Bit>,
    key_end: DFF<Bits<65>>,
    // The column begins in the memory of its key, and the bytes from there to its end; kept until the column's own
    // bytes are known.
    fits: [DFF<Bit>; WAITS],
    room: [DFF<Bits<65>>; WAITS],
    bytes: DFF<Bits<64>>,
    sum: Signal<Local, Bits<ROW_SUM>>,
    so_far: Signal<Local, Bits<ROW>>,
    row_held: DFF<Bits<ROW>>,
    proper_held: DFF<Bit>,
    covered_held: DFF<Bit>,
}

impl Logic for Coverage {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.keys.cfg_valid.next = self.select.region.val();
        self.keys.cfg_last.next = self.select.region_valid.val();
        self.keys.cfg_index.next = self.cfg.index.val();
        self.keys.cfg_word.next = self.cfg.word.val();
        self.keys.cfg_data.next = self.cfg.data.val();

        // Bytes of a row so far.
        self.so_far.next = self.row_held.q.val();
        if self.first.val() {
            self.so_far.next = 0.into();
        }
        self.sum.next = bit_cast::<ROW_SUM, ROW>(self.so_far.val())
            + bit_cast::<ROW_SUM, 32>(self.column.width.val());
        if self.valid.val() {
            self.row_held.d.next = self.sum.val().get_bits::<ROW>(0);
            if self.sum.val().get_bit(ROW) {
                self.row_held.d.next = self.longest.val();
            }
            self.proper_held.d.next =
                self.column.width.val().any() && (self.first.val() || self.proper_held.q.val());
        }

        // The column's bytes, and those of its key from the column's first byte on.
        self.keys.key.next = self.column.lkey.val();
        self.keys.pd.next = self.pd.val();
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.capacity.val();
        self.multiplier.b.next = self.column.width.val();
        self.comes[0].d.next = self.valid.val();
        self.ends[0].d.next = self.valid.val() && self.last.val();
        for k in 0..6 {
            self.comes[k + 1].d.next = self.comes[k].q.val();
            self.ends[k + 1].d.next = self.ends[k].q.val();
        }
        self.base[0].d.next = self.column.base.val();
        self.base[1].d.next = self.base[0].q.val();
        self.allows.d.next = self.keys.known.val()
            && self.keys.writable.val()
            && (self.base[0].q.val() >= self.keys.addr.val());
        self.key_end.d.next =
            bit_cast::<65, 64>(self.keys.addr.val()) + bit_cast::<65, 64>(self.keys.len.val());
        self.fits[0].d.next = self.allows.q.val()
            && (bit_cast::<65, 64>(self.base[1].q.val()) <= self.key_end.q.val());
        self.room[0].d.next = self.key_end.q.val() - bit_cast::<65, 64>(self.base[1].q.val());
        for k in 0..3 {
            self.fits[k + 1].d.next = self.fits[k].q.val();
            self.room[k + 1].d.next = self.room[k].q.val();
        }
        self.bytes.d.next = self.multiplier.product.val();
        if self.valid.val() && self.first.val() {
            self.covered_held.d.next = true;
        }
        if self.comes[5].q.val()
            && (!self.fits[3].q.val()
                || (bit_cast::<65, 64>(self.bytes.q.val()) > self.room[3].q.val()))
        {
            self.covered_held.d.next = false;
        }
        self.done.next = self.ends[6].q.val();
        self.proper.next = self.proper_held.q.val();
        self.covered.next = self.covered_held.q.val();
        self.row.next = self.row_held.q.val();
        if self.rst.val() {
            for k in 0..7 {
                self.comes[k].d.next = false;
                self.ends[k].d.next = false;
            }
        }
    }
}
