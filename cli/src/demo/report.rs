//! The demonstration's results, for people.

use comfy_table::{CellAlignment, Row, Table, presets::UTF8_FULL_CONDENSED};

use drdma_sim::clock::NS_PER_CYCLE;

use super::{Cost, Options, Outcome, lineitem::ROW};

/// The table of results, and a summary.
pub fn render(outcome: &Outcome, options: &Options) -> String {
    let (sample, all) = (number(outcome.lists.rows), number(outcome.shuffle.rows));
    let packed = number(options.rows_per_message);
    let header = [
        "\nrows\nrows a message".to_owned(),
        format!("SGE lists\n{sample}\n1"),
        format!("NCRs\n{sample}\n1"),
        format!("NCRs\n{sample}\n{packed}"),
        format!("NCRs\n{all}\n{packed}"),
    ];
    let costs = [&outcome.lists, &outcome.described, &outcome.packed, &outcome.shuffle];
    let table = costs_table(header, &costs);
    format!(
        "{table}\n\
         SGE lists: a work request a row, which lists the row's values one by one.\n\
         NCRs: a work request describes the columns and, with a bitmap, the rows of each destination.\n\
         CPU time is for describing the rows and writing the requests, without the doorbells. Other \
         DMA\nreads are of work requests and bitmaps. Cycles run from the first doorbell to the last \
         byte on the\nwire, summed over the requests of the last column, each of which waits for the \
         one before.\n\n\
         Each of the {all} rows of {ROW} B arrived at exactly the one of {} destinations that its\n\
         order key hashes to, byte for byte, and none arrived twice.\n",
        options.destinations
    )
}

/// A table of costs, with a column for each way to send.
pub(super) fn costs_table(header: impl Into<Row>, costs: &[&Cost]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(header);
    let mut row = |name: &str, value: fn(&Cost) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(costs.iter().map(|cost| value(cost)));
        table.add_row(cells);
    };
    row("work requests", |c| number(c.work_requests));
    row("  bytes posted", |c| number(c.request_bytes));
    row("  bytes a row", |c| per_row(c.request_bytes as f64, c));
    row("CPU time posting", |c| format!("{:.1} us", c.posting.as_secs_f64() * 1e6));
    row("  a row", |c| format!("{} ns", per_row(c.posting.as_secs_f64() * 1e9, c)));
    row("packets", |c| number(c.packets));
    row("payload bytes", |c| number(c.payload_bytes));
    row("DMA reads of payload", |c| number(c.data_reads));
    row("  a row", |c| per_row(c.data_reads as f64, c));
    row("  bytes fetched", |c| number(c.data_read_bytes));
    row("  a byte sent", |c| ratio(c.data_read_bytes as f64, c.payload_bytes as f64));
    row("other DMA reads", |c| number(c.control_reads));
    row("  bytes fetched", |c| number(c.control_read_bytes));
    row("cycles", |c| c.cycles.map_or("-".to_owned(), number));
    row("Gb/s at 250 MHz", |c| {
        c.cycles.filter(|cycles| *cycles > 0).map_or("-".to_owned(), |cycles| {
            let ns = cycles as f64 * NS_PER_CYCLE;
            format!("{:.2}", c.payload_bytes as f64 * 8.0 / ns)
        })
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A number with commas between thousands.
pub(super) fn number(value: impl Into<u64>) -> String {
    let digits = value.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn per_row(value: f64, cost: &Cost) -> String {
    ratio(value, cost.rows as f64)
}

fn ratio(value: f64, base: f64) -> String {
    if base == 0.0 { "-".to_owned() } else { format!("{:.2}", value / base) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let texts = [0u64, 999, 1000, 1_234_567].map(number);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
    }
}
