//! What the demonstration found, for people.

use comfy_table::{CellAlignment, Table, presets::UTF8_FULL_CONDENSED};

use drdma_sim::clock::NS_PER_CYCLE;

use super::{Cost, Options, Outcome, lineitem::ROW};

/// The table and what it says.
pub fn render(outcome: &Outcome, options: &Options) -> String {
    let sample = outcome.lists.rows;
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header([
        String::new(),
        format!("plain SGE lists\n{sample} rows\n1 row a message"),
        format!("NCRs\nthe same {sample} rows\n1 row a message"),
        format!("NCRs\nthe same {sample} rows\n{} rows a message", options.rows_per_message),
        format!(
            "NCRs\nall {} rows\n{} rows a message",
            outcome.shuffle.rows, options.rows_per_message
        ),
    ]);
    let costs = [&outcome.lists, &outcome.described, &outcome.packed, &outcome.shuffle];
    let mut row = |name: &str, value: fn(&Cost) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(costs.map(value));
        table.add_row(cells);
    };
    row("work requests", |c| c.work_requests.to_string());
    row("work-request bytes posted", |c| c.request_bytes.to_string());
    row("  a row", |c| per_row(c.request_bytes as f64, c));
    row("CPU time posting", |c| format!("{:.1} us", c.posting.as_secs_f64() * 1e6));
    row("  a row", |c| format!("{} ns", per_row(c.posting.as_secs_f64() * 1e9, c)));
    row("packets", |c| c.packets.to_string());
    row("payload bytes sent", |c| c.payload_bytes.to_string());
    row("DMA reads of payload", |c| c.data_reads.to_string());
    row("  a row", |c| per_row(c.data_reads as f64, c));
    row("payload bytes fetched", |c| c.data_read_bytes.to_string());
    row("  for each byte sent", |c| ratio(c.data_read_bytes as f64, c.payload_bytes as f64));
    row("DMA reads of requests and bitmaps", |c| c.control_reads.to_string());
    row("their bytes", |c| c.control_read_bytes.to_string());
    row("cycles", |c| c.cycles.map_or("-".to_owned(), |cycles| cycles.to_string()));
    row("goodput at 250 MHz", |c| {
        c.cycles.filter(|cycles| *cycles > 0).map_or("-".to_owned(), |cycles| {
            let gbps = c.payload_bytes as f64 * 8.0 / (cycles as f64 * NS_PER_CYCLE);
            format!("{gbps:.2} Gb/s")
        })
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!(
        "{table}\n\
         Each of the {} rows of {ROW} B arrived at exactly the one of {} destinations that its \
         order key hashes to, byte for byte, and none arrived twice.\n\
         CPU time is for describing the rows and writing the requests; the doorbell, in which a \
         simulated card works, is not in it.\n",
        outcome.shuffle.rows, options.destinations
    )
}

fn per_row(value: f64, cost: &Cost) -> String {
    ratio(value, cost.rows as f64)
}

fn ratio(value: f64, base: f64) -> String {
    if base == 0.0 { "-".to_owned() } else { format!("{:.2}", value / base) }
}
