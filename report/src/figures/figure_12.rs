//! Throughput and latency of DMA reads by their size.

use drdma_sim::pcie::sweep;

use super::{
    Drawing, Figure, Measured,
    picture::{Axis, Legend, Look, Panel, Picture, Scale, Series, number},
    reads::{self, MEMORY},
};
use crate::page::{finished, markdown};

/// Figure 12.
pub const FIGURE: Figure = Figure { id: "figure-12", experiments: Vec::new, draw };

/// Values of the paper: bytes of a read, and Gb/s.
const PAPER: [(u64, f64); 2] = [(1, 0.137), (256, 98.0)];
/// Reads in flight in the paper's measurement.
const TAGS: f64 = 64.0;

/// Nanoseconds that a read takes if [`TAGS`] are in flight at that rate: Little's law.
fn little(size: u64, gbps: f64) -> f64 {
    TAGS * size as f64 * 8.0 / gbps
}

fn draw(_: &Measured) -> Result<Drawing, String> {
    let found: Vec<(u64, sweep::Measured)> =
        reads::sizes(2).map(|size| (size, reads::measure(size, size, MEMORY))).collect();
    let points = |value: fn(&sweep::Measured) -> f64| {
        found.iter().map(|(size, measured)| (*size as f64, value(measured))).collect()
    };
    let x = Axis { label: "bytes a read", scale: Scale::Log(2.0), from: 1.0, to: 4096.0 };
    let picture = Picture {
        panels: vec![
            Panel {
                title: "Throughput",
                x: x.clone(),
                y: Axis { label: "Gb/s", scale: Scale::Log(10.0), from: 0.05, to: 300.0 },
                series: vec![
                    Series::new("here, sequential", Look::Measured, points(|found| found.gbps)),
                    Series::new(
                        "paper (137 Mb/s, 98 Gb/s)",
                        Look::Paper,
                        PAPER.map(|(size, gbps)| (size as f64, gbps)).into(),
                    ),
                ],
                legend: Legend::LowerRight,
            },
            Panel {
                title: "Latency",
                x,
                y: Axis { label: "microseconds", scale: Scale::Linear, from: 0.0, to: 5.0 },
                series: vec![
                    Series::new(
                        "here, mean",
                        Look::Measured,
                        points(|found| found.latency_ns / 1_000.0),
                    ),
                    Series::new(
                        "paper's rates and 64 tags, by Little's law",
                        Look::Paper,
                        PAPER
                            .map(|(size, gbps)| (size as f64, little(size, gbps) / 1_000.0))
                            .into(),
                    ),
                ],
                legend: Legend::UpperRight,
            },
        ],
    };
    let at = |size: u64| {
        let (_, measured) = found.iter().find(|(known, _)| *known == size).expect("a size");
        (number(measured.gbps), number(measured.latency_ns / 1_000.0))
    };
    let (one, line, quarter, page) = (at(1), at(64), at(256), at(4096));
    let alt = format!(
        "Throughput grows with the size, from {} Gb/s at 1 B to {} Gb/s at 256 B, and is {} Gb/s at 4 KiB; the \
         paper has 0.137 and 98. Latency falls from {} us at 1 B to {} us at 64 B and grows to {} us at 4 KiB.",
        one.0, quarter.0, page.0, one.1, line.1, page.1
    );
    Ok(Drawing {
        title: "Figure 12: DMA reads by size",
        alt,
        text: TEXT.to_owned(),
        picture,
        table: table(&found),
    })
}

const TEXT: &str = "\
Sequential reads of 1 GiB of host memory, none of it twice, with 64 tags that are busy at all times, through
the host that the card is simulated with (`drdma_sim::pcie`): the same code cuts reads, sends and serves them there.
It is a model: its round trip (1,300 ns), its link (115 Gb/s) and its time for one more read of a cache line (114
ns) were chosen so that it comes close to the paper's rates at 1 B and 256 B. What lies between and beyond follows. Latency is from a
read's first request to its last byte in the card; above 256 B the 16 KiB in flight, not the tags, limit what is on its way.
The paper names no latencies; the crosses are what 64 reads in flight at its rates take.";

fn table(found: &[(u64, sweep::Measured)]) -> String {
    let header = ["bytes", "Gb/s", "latency, ns", "paper, Gb/s", "by Little's law, ns"];
    let mut table = markdown(&header);
    for (size, measured) in found {
        let paper = PAPER.iter().find(|(known, _)| known == size);
        let told = |value: fn(&(u64, f64)) -> f64| {
            paper.map_or("-".to_owned(), |paper| number(value(paper)))
        };
        table.add_row([
            size.to_string(),
            number(measured.gbps),
            format!("{:.0}", measured.latency_ns),
            told(|(_, gbps)| *gbps),
            told(|(size, gbps)| little(*size, *gbps)),
        ]);
    }
    finished(table, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_follows_from_tags_and_rate() {
        assert_eq!(little(256, 98.0).round(), 1337.0);
        assert_eq!(little(1, 0.137).round(), 3737.0);
    }
}
