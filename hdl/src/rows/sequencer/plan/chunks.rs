//! Finds the number of rows of a chunk, and whether a request goes the column path.

use drdma_emit::prelude::*;
use num_bigint::BigUint;

/// Bytes of a window that the lanes of a column request may take: all but what 16 groups of lanes lose to alignment and
/// to different first banks.
const COLUMN_BYTES: usize = 32_768 - 16 * 132;

/// Largest sum of steps of a column request, in bytes: 16 rows then fit a window.
const MAX_STEPS: u64 = (COLUMN_BYTES / 16) as u64;

/// Number of sizes of chunks for steps beyond the tables: 16, 32, ... 112 rows.
const LONG: usize = 7;

/// Largest sum of steps, in bytes, with which a chunk has more rows than the `k`-th of those sizes; size 0 is the
/// largest.
fn most_steps(k: usize) -> usize {
    COLUMN_BYTES / (16 * (LONG + 1 - k))
}

/// Longest row of a column request, in bytes.
const MAX_ROW_BYTES: u64 = crate::rows::columns::addresser::MAX_ROW_BYTES as u64;

/// Rows of a chunk whose lanes take `steps` bytes a row, at most 4,096: as many as fit a window, rounded down to a
/// multiple of 128 (so that columns of 4 B end with a read of 512 B) if there are at least 512, of 64 if there are at
/// least 128, else of 16. 0 if not even 16 rows fit.
pub fn column_rows(steps: usize) -> usize {
    let most = COLUMN_BYTES.checked_div(steps).map_or(0, |rows| rows.min(4096));
    match most {
        512.. => most / 128 * 128,
        128.. => most / 64 * 64,
        _ => most / 16 * 16,
    }
}

/// Rows of as many whole chunks of `rows` rows as have at most 4,096 together.
fn kept_rows(rows: usize) -> usize {
    4096_usize.checked_div(rows).unwrap_or(0) * rows
}

/// Decides for the plan whether a request is a column request, and how many rows its chunks have, from its destinations
/// and sets as they are inspected.
///
/// In a *column request* all destinations have rows of the same columns: every destination has the same lanes as the
/// first, or they are apart (the decoder says so). Every row is a unit of at most 960 bytes, or of at most 64 where
/// lanes are longer than their step, and 16 rows of its lanes fit a window. Every destination has rows, and one of them
/// at least `min_rows`; unless there is one bitmap for one destination, half of that is enough for up to 6 lanes, and a
/// quarter for up to 2. Its chunks are as long as a window takes; those of other requests span about 12 KiB of host
/// memory.
///
/// Outputs are valid 3 cycles after the last input.
///
/// # Inputs
/// `start` (a request begins), `dest` (`same_lanes`), `set` (`lanes`, `row_bytes`, `count`, `span`, `steps`,
/// `overlaps`, `by_lane`, `lone_bitmap`), `apart`, `min_rows` (0 turns column requests off).
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
    /// The destination has the same lanes as the first.
    pub dest_same_lanes: Signal<In, Bit>,
    /// A set of the destination is inspected.
    pub set_valid: Signal<In, Bit>,
    /// Lanes of the set, 1 to 16.
    pub set_lanes: Signal<In, Bits<5>>,
    /// Bytes of a row of the set.
    pub set_row_bytes: Signal<In, Bits<36>>,
    /// Rows of the set, or bits of its bitmap.
    pub set_count: Signal<In, Bits<32>>,
    /// Bytes that a row of the set spans in host memory.
    pub set_span: Signal<In, Bits<14>>,
    /// Sum of the steps of the set's groups in bytes; 2,047 if a column request cannot have its lanes.
    pub set_steps: Signal<In, Bits<11>>,
    /// One of the set's lanes is longer than its step.
    pub set_overlaps: Signal<In, Bit>,
    /// Lanes of the set are units of their own.
    pub set_by_lane: Signal<In, Bit>,
    /// The set has a bitmap, and the request has no other destination.
    pub set_lone_bitmap: Signal<In, Bit>,
    /// The destinations have rows of one form, but none in common.
    pub apart: Signal<In, Bit>,
    /// Least number of rows of a column request; 0 turns column requests off.
    pub min_rows: Signal<In, Bits<32>>,
    /// The request is a column request.
    pub column: Signal<Out, Bit>,
    /// Rows of a chunk.
    pub rows: Signal<Out, Bits<13>>,
    /// Rows of as many chunks as have at most 4,096: a stretch of a bitmap that is read at once.
    pub kept_rows: Signal<Out, Bits<13>>,
    /// Estimated number of 256 B blocks that a chunk needs.
    pub blocks: Signal<Out, Bits<8>>,

    widest: DFF<Bits<14>>,
    most_lanes: DFF<Bits<5>>,
    fits: DFF<Bit>,
    /// Least number of rows of a column request with as many lanes as the set has.
    least: Signal<Local, Bits<32>>,
    /// A destination has at least as many rows as a column request must have.
    many: DFF<Bit>,
    steps: DFF<Bits<11>>,
    most_steps: Constant<Bits<11>>,
    most_bytes: Constant<Bits<36>>,
    // Rows of a chunk, and what they span.
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
        // Limit `k`: a chunk has 2^(k + 1) rows if a row spans at most this number of bytes.
        let limits = std::array::from_fn(|k| Constant::new((12_288_u64 >> (k + 1)).into()));
        Self {
            clk: Signal::default(),
            start: Signal::default(),
            dest_valid: Signal::default(),
            dest_same_lanes: Signal::default(),
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
        // A window costs the column path some cycles for each lane, while the row path takes a cycle a row. The row
        // path skips rows of a bitmap that are not selected, and a lone destination needs no turns.
        self.least.next = self.min_rows.val();
        if !self.set_lone_bitmap.val() {
            if self.set_lanes.val() <= 2 {
                self.least.next = self.min_rows.val() >> 2;
            } else if self.set_lanes.val() <= 6 {
                self.least.next = self.min_rows.val() >> 1;
            }
        }

        // Maxima over all sets.
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
        if self.dest_valid.val() && !self.dest_same_lanes.val() && !self.apart.val() {
            self.fits.d.next = false;
        }
        if self.start.val() {
            self.widest.d.next = 1.into();
            self.most_lanes.d.next = 0.into();
            self.steps.d.next = 0.into();
            self.many.d.next = false;
            self.fits.d.next = self.min_rows.val() != 0;
        }

        // Row path: as many rows as span about 12 KiB of host memory, a power of two.
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
        // Column path: as many rows as fit a window; for short rows from a table, in words of 64 rows.
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
        // Rows of a chunk, as the constants of long rows give them.
        for steps in most_steps(0) + 1..=MAX_STEPS as usize {
            let k = (0..LONG).rev().find(|&k| steps > most_steps(k)).unwrap();
            assert_eq!(16 * (LONG - k), column_rows(steps), "{steps}");
        }
        // Rows of a chunk, as the tables give them in units of 64 rows.
        for steps in 1..=most_steps(0) {
            assert!(column_rows(steps).is_multiple_of(64), "{steps}");
        }
        assert_eq!(column_rows(MAX_STEPS as usize + 1), 0);
    }
}
