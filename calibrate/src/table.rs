//! The table of measurements, for people.

use comfy_table::{CellAlignment, Table, presets::UTF8_FULL_CONDENSED};

use super::{Calibration, SIZES, STRIDES};

/// A table of nanoseconds per read, sizes by distances, with the merge threshold that follows.
pub fn render(calibration: &Calibration) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let strides = STRIDES.iter().map(|stride| stride.to_string());
    table.set_header(std::iter::once("bytes \\ stride".to_owned()).chain(strides));
    for size in SIZES {
        let cell = |stride| {
            let mut points = calibration.points.iter();
            let point = points.find(|point| (point.size, point.stride) == (size, stride));
            point.map_or(String::new(), |point| format!("{:.1}", point.ns))
        };
        table.add_row(std::iter::once(size.to_string()).chain(STRIDES.map(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let Calibration { costs, ns_per_cycle, merge_threshold, points, .. } = calibration;
    let spread = points.iter().map(|point| point.spread).fold(0.0, f64::max);
    format!(
        "Nanoseconds from one read to the next, by their bytes and the bytes from one to the next:\n\
         {table}\n\
         The two halves of a measurement differ by at most {:.1} %.\n\
         A cycle is {ns_per_cycle} ns. A read that begins in the cache line where the last one \
         ended waits {:.1} ns more.\n\
         A gap of {merge_threshold} B costs as much as a request: --threshold {merge_threshold}\n",
        100.0 * spread,
        costs.same_line_ns()
    )
}
