//! Measurements for people.

use comfy_table::{CellAlignment, Table, presets::UTF8_FULL_CONDENSED};

use super::{
    figures::{Latency, Outcome},
    plan::Measure,
};

/// Characters of a histogram's longest bar.
const BAR: usize = 50;

/// All measurements of a plan, one a line.
pub fn table(measure: Measure, outcomes: &[Outcome]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let times: &[&str] = match measure {
        Measure::Bandwidth => &["Gb/s, average", "peak", "M messages/s"],
        Measure::Latency => &["us, min", "median", "99 %", "99.9 %", "max"],
    };
    let before = ["bytes", "transfers"];
    let after = ["messages", "packets", "DMA reads", "fetched / sent", "request B"];
    table.set_header(before.iter().chain(times).chain(&after));
    for outcome in outcomes {
        let Outcome { bytes, iterations, messages, rates, latency, cost, .. } = outcome;
        let mut row = vec![bytes.to_string(), iterations.to_string()];
        let values: Vec<Option<f64>> = match measure {
            Measure::Bandwidth => {
                let rates = rates.as_ref();
                vec![
                    rates.map(|r| r.average_gbps),
                    rates.map(|r| r.peak_gbps),
                    rates.map(|r| r.messages_per_s / 1e6),
                ]
            }
            Measure::Latency => {
                let us = |value: fn(&Latency) -> f64| latency.as_ref().map(|l| value(l) / 1e3);
                vec![
                    us(|l| l.min_ns),
                    us(|l| l.median_ns),
                    us(|l| l.p99_ns),
                    us(|l| l.p999_ns),
                    us(|l| l.max_ns),
                ]
            }
        };
        row.extend(values.iter().map(|v| v.map_or("-".to_owned(), |v| format!("{v:.3}"))));
        // Mean of a count for each transfer.
        let each = |value: u64| per(value as f64, *iterations as f64);
        row.extend([
            messages.to_string(),
            each(cost.packets),
            each(cost.data_reads),
            per(cost.data_read_bytes as f64, cost.payload_bytes as f64),
            each(cost.request_bytes),
        ]);
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// A quotient with two digits, without them if they are zeros.
fn per(value: f64, base: f64) -> String {
    let text = if base > 0.0 { format!("{:.2}", value / base) } else { "-".to_owned() };
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

/// A histogram: a bar a line.
pub fn histogram(outcome: &Outcome) -> String {
    let Some(latency) = &outcome.latency else { return String::new() };
    let most = latency.histogram.iter().map(|bar| bar.count).max().unwrap_or(1).max(1);
    let mut text = format!("{} B, us:\n", outcome.bytes);
    for bar in &latency.histogram {
        let from = bar.from_ns / 1e3;
        let range = match bar.to_ns {
            Some(to) => format!("{from:>10.3} to {:>10.3}", to / 1e3),
            None => format!("{from:>10.3} and more    "),
        };
        let length = (bar.count * BAR).div_ceil(most);
        text += format!("{range} {:>8} {}", bar.count, "#".repeat(length)).trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::figures::Cost;

    fn outcome(latency: Option<Latency>) -> Outcome {
        let cost = Cost { packets: 30, payload_bytes: 960, data_reads: 15, ..Cost::default() };
        let (bytes, messages, requests, iterations) = (96, 1, 1, 10);
        Outcome { bytes, messages, requests, iterations, rates: None, latency, cost }
    }

    #[test]
    fn without_a_clock_there_are_no_times_but_counts() {
        let text = table(Measure::Bandwidth, &[outcome(None)]);
        let row = text.lines().find(|line| line.contains("96")).unwrap();
        let cells: Vec<_> = row.split(['│', '┆']).map(str::trim).collect();
        assert_eq!(cells[1..11], ["96", "10", "-", "-", "-", "1", "3", "1.50", "0", "0"]);
    }

    #[test]
    fn a_histogram_has_a_bar_a_line() {
        let taken = vec![1000.0, 1000.0, 1003.0];
        let text = histogram(&outcome(Latency::of(taken)));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "96 B, us:");
        assert_eq!(lines[1], format!("     1.000 to      1.001        2 {}", "#".repeat(50)));
        assert_eq!(lines[2], "     1.001 to      1.002        0");
        assert_eq!(lines.len(), 5);
        assert_eq!(histogram(&outcome(None)), "");
    }
}
