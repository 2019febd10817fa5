//! How many rows are a chunk, and whether a request goes the column path.

use drdma_emit::prelude::hdl_gen;
use num_bigint::BigUint;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Bytes of a window that a column request's lanes may take: all but what 16 groups of lanes lose
/// to alignment and to different first banks.
const COLUMN_BYTES: usize = 32_768 - 16 * 132;

/// The most that the lanes of a column request may go a row: 16 rows then fit a window.
const MAX_STEPS: u64 = (COLUMN_BYTES / 16) as u64;

/// Longer steps than the tables of chunks know have so many numbers of rows: 16 to 112, every 16.
const LONG: usize = 7;

/// The most bytes a row with which a chunk has more rows than the `k`-th of these numbers, the largest first.
fn most_steps(k: usize) -> usize {
    COLUMN_BYTES / (16 * (LONG + 1 - k))
}

/// The longest row of a column request.
const MAX_ROW_BYTES: u64 = crate::rows::columns::addresser::MAX_ROW_BYTES as u64;

/// Rows of a column request's chunk whose lanes go `steps` bytes a row, at most 4,096: as many as fit a window,
/// in stretches of 128, so that columns of 4 B end with a read of 512 B; of 64 if those are fewer than four; of 16 if
/// those are fewer than two; 0 if there are not even 16.
pub fn column_rows(steps: usize) -> usize {
    let most = COLUMN_BYTES.checked_div(steps).map_or(0, |rows| rows.min(4096));
    match most {
        512.. => most / 128 * 128,
        128.. => most / 64 * 64,
        _ => most / 16 * 16,
    }
}

/// Rows of as many chunks of so many as have at most 4,096.
fn kept_rows(rows: usize) -> usize {
    4096_usize.checked_div(rows).unwrap_or(0) * rows
}

/// Looks at a request's destinations and sets as they are inspected.
///
/// A *column request* is one whose rows all destinations have in the same columns: every destination is alike to
/// the first, or they are apart (the decoder says so), every row a unit of at most 960 bytes, of at most 64 where lanes are longer
/// than their step; 16 rows of its lanes fit a window, every destination has rows, and one of them at least `min_rows`, or, unless there
/// is one bitmap for one destination, half of that for up to 6 lanes, or a quarter for up to 2. Its chunks are as
/// long as a window takes; those of other requests span about 12 KiB of host memory.
///
/// Outputs follow the last input after 3 cycles.
///
/// # Inputs
/// `start` (a request begins), `dest` (`alike`), `set` (`lanes`,
/// `row_bytes`, `count`, `span`, `steps`, `overlaps`, `by_lane`, `lone_bitmap`),
/// `apart`, `min_rows` (0: no column requests).
///
/// # Outputs
/// `column`, `rows`, `kept_rows`, `blocks`.
#[derive(LogicBlock)]
pub struct Chunks {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A request begins.
    pub start: Signal<In, Bit>,
    /// A destination is inspected.
    pub dest_valid: Signal<In, Bit>,
    /// It is alike to the first.
    pub dest_alike: Signal<In, Bit>,
    /// One of its sets is inspected.
    pub set_valid: Signal<In, Bit>,
    /// Its lanes.
    pub set_lanes: Signal<In, Bits<5>>,
    /// Bytes of its row.
    pub set_row_bytes: Signal<In, Bits<36>>,
    /// Its rows, or the bits of its bitmap.
    pub set_count: Signal<In, Bits<32>>,
    /// Bytes that its row spans in host memory.
    pub set_span: Signal<In, Bits<14>>,
    /// The sum of its groups' steps; 2,047: no lanes of a column request.
    pub set_steps: Signal<In, Bits<11>>,
    /// One of its lanes is longer than its step.
    pub set_overlaps: Signal<In, Bit>,
    /// Its lanes are units of their own.
    pub set_by_lane: Signal<In, Bit>,
    /// It has a bitmap, and the request no other destination.
    pub set_lone_bitmap: Signal<In, Bit>,
    /// Its destinations have rows of one form, but none in common.
    pub apart: Signal<In, Bit>,
    /// The fewest rows of a column request.
    pub min_rows: Signal<In, Bits<32>>,
    /// It is a column request.
    pub column: Signal<Out, Bit>,
    /// Rows of a chunk.
    pub rows: Signal<Out, Bits<13>>,
    /// Rows of as many chunks as have at most 4,096: a stretch of a bitmap that is read at once.
    pub kept_rows: Signal<Out, Bits<13>>,
    /// Estimate of the blocks that a chunk needs.
    pub blocks: Signal<Out, Bits<8>>,

    widest: DFF<Bits<14>>,
    most_lanes: DFF<Bits<5>>,
    fits: DFF<Bit>,
    /// The fewest rows of a column request of so many lanes.
    least: Signal<Local, Bits<32>>,
    /// A destination has as many rows as a column request must have.
    many: DFF<Bit>,
    steps: DFF<Bits<11>>,
    most_steps: Constant<Bits<11>>,
    most_bytes: Constant<Bits<36>>,
    // Rows, and what they span.
    units: Constant<Bits<2048>>,
    kept_units: Constant<Bits<2048>>,
    kept: DFF<Bits<13>>,
    steps_below: [Constant<Bits<11>>; LONG],
    rows_above: [Constant<Bits<13>>; LONG],
    kept_above: [Constant<Bits<13>>; LONG],
    narrow: DFF<Bits<13>>,
    spanned: DFF<Bits<16>>,
    wide: DFF<Bits<13>>,
    needed: DFF<Bits<8>>,
    log: Signal<Local, Bits<4>>,
    one: Constant<Bits<13>>,
    limits: [Constant<Bits<14>>; 11],
}

impl Default for Chunks {
    fn default() -> Self {
        let (mut units, mut kept_units) = (BigUint::default(), BigUint::default());
        for steps in 0..256_usize {
            let rows = column_rows(steps);
            units |= BigUint::from(rows / 64) << (8 * steps);
            kept_units |= BigUint::from(kept_rows(rows) / 64) << (8 * steps);
        }
        // Up to so many bytes, a chunk has 2^(k + 1) rows.
        let limits = std::array::from_fn(|k| Constant::new((12_288_u64 >> (k + 1)).into()));
        Self {
            clk: Signal::default(),
            start: Signal::default(),
            dest_valid: Signal::default(),
            dest_alike: Signal::default(),
            set_valid: Signal::default(),
            set_lanes: Signal::default(),
            set_row_bytes: Signal::default(),
            set_count: Signal::default(),
            set_span: Signal::default(),
            set_steps: Signal::default(),
            set_overlaps: Signal::default(),
            set_by_lane: Signal::default(),
            set_lone_bitmap: Signal::default(),
            apart: Signal::default(),
            min_rows: Signal::default(),
            column: Signal::default(),
            rows: Signal::default(),
            kept_rows: Signal::default(),
            blocks: Signal::default(),
            widest: DFF::default(),
            most_lanes: DFF::default(),
            fits: DFF::default(),
            least: Signal::default(),
            many: DFF::default(),
            steps: DFF::default(),
            most_steps: Constant::new(MAX_STEPS.to_bits()),
            most_bytes: Constant::new(MAX_ROW_BYTES.to_bits()),
            units: Constant::new(units.into()),
            kept_units: Constant::new(kept_units.into()),
            kept: DFF::default(),
            steps_below: std::array::from_fn(|k| Constant::new((most_steps(k) as u64).into())),
            rows_above: std::array::from_fn(|k| Constant::new((16 * (LONG - k) as u64).into())),
            kept_above: std::array::from_fn(|k| {
                Constant::new((kept_rows(16 * (LONG - k)) as u64).into())
            }),
            narrow: DFF::default(),
            spanned: DFF::default(),
            wide: DFF::default(),
            needed: DFF::default(),
            log: Signal::default(),
            one: Constant::new(1.into()),
            limits,
        }
    }
}

impl Logic for Chunks {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, widest, most_lanes, fits, many, steps, narrow, spanned, wide, needed, kept
        );

        // A window costs the column path some cycles a lane, and the row path takes a cycle a row.
        // That leaves out rows of a bitmap which are not selected, and needs no turns of a lone destination.
        self.least.next = self.min_rows.val();
        if !self.set_lone_bitmap.val() {
            if self.set_lanes.val() <= 2 {
                self.least.next = self.min_rows.val() >> 2;
            } else if self.set_lanes.val() <= 6 {
                self.least.next = self.min_rows.val() >> 1;
            }
        }

        // What the sets have in common.
        if self.set_valid.val() {
            if self.set_steps.val() > self.steps.q.val() {
                self.steps.d.next = self.set_steps.val();
            }
            if self.set_count.val() >= self.least.val() {
                self.many.d.next = true;
            }
            if self.set_span.val() > self.widest.q.val() {
                self.widest.d.next = self.set_span.val();
            }
            if self.set_lanes.val() > self.most_lanes.q.val() {
                self.most_lanes.d.next = self.set_lanes.val();
            }
            if self.set_by_lane.val()
                || (self.set_row_bytes.val() > self.most_bytes.val())
                || (self.set_overlaps.val() && (self.set_row_bytes.val() > 64))
                || (self.set_row_bytes.val() == 0)
                || (self.set_steps.val() > self.most_steps.val())
                || (self.set_steps.val() == 0)
                || (self.set_count.val() == 0)
            {
                self.fits.d.next = false;
            }
        }
        if self.dest_valid.val() && !self.dest_alike.val() && !self.apart.val() {
            self.fits.d.next = false;
        }
        if self.start.val() {
            self.widest.d.next = 1.into();
            self.most_lanes.d.next = 0.into();
            self.steps.d.next = 0.into();
            self.many.d.next = false;
            self.fits.d.next = self.min_rows.val() != 0;
        }

        // As many rows as span about 12 KiB of host memory, a power of two.
        self.log.next = 0.into();
        for k in 0..11 {
            if self.widest.q.val() <= self.limits[k].val() {
                self.log.next = (k + 1).to_bits();
            }
        }
        self.narrow.d.next = self.one.val() << self.log.val();
        self.spanned.d.next = bit_cast::<16, 14>(self.widest.q.val()) << self.log.val();
        self.needed.d.next =
            self.spanned.q.val().get_bits::<8>(8) + bit_cast::<8, 5>(self.most_lanes.q.val());
        // As many as fit a window: of short rows from a table, in words of a bitmap.
        self.wide.d.next = bit_cast::<13, 7>(
            self.units.val().get_bits::<7>(self.steps.q.val().get_bits::<8>(0).index() * 8),
        ) << 6;
        self.kept.d.next = bit_cast::<13, 7>(
            self.kept_units.val().get_bits::<7>(self.steps.q.val().get_bits::<8>(0).index() * 8),
        ) << 6;
        for k in 0..7 {
            if self.steps.q.val() > self.steps_below[k].val() {
                self.wide.d.next = self.rows_above[k].val();
                self.kept.d.next = self.kept_above[k].val();
            }
        }
        self.kept_rows.next = self.kept.q.val();

        self.column.next = self.fits.q.val() && self.many.q.val();
        self.rows.next = self.narrow.q.val();
        if self.fits.q.val() && self.many.q.val() {
            self.rows.next = self.wide.q.val();
        }
        self.blocks.next = self.needed.q.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_chunk_is_the_largest_that_fits_a_window() {
        for steps in 1..=MAX_STEPS as usize {
            let rows = column_rows(steps);
            let fits = |rows: usize| rows <= 4096 && rows * steps + 16 * 132 <= 32_768;
            let stretch = if fits(512) {
                128
            } else if fits(128) {
                64
            } else {
                16
            };
            assert!(rows >= 16 && rows.is_multiple_of(stretch) && fits(rows), "{steps}: {rows}");
            assert!(!fits(rows + stretch), "{steps}: {rows}");
        }
        // What the constants of long rows say.
        for steps in most_steps(0) + 1..=MAX_STEPS as usize {
            let k = (0..LONG).rev().find(|&k| steps > most_steps(k)).unwrap();
            assert_eq!(16 * (LONG - k), column_rows(steps), "{steps}");
        }
        // What their tables say, in units of 64 rows.
        for steps in 1..=most_steps(0) {
            assert!(column_rows(steps).is_multiple_of(64), "{steps}");
        }
        assert_eq!(column_rows(MAX_STEPS as usize + 1), 0);
    }
}
