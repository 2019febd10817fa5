//! Latency of DMA reads by their size and stride.

use super::{
    Drawing, Figure, Measured,
    picture::{Axis, Legend, Look, Panel, Picture, Scale, Series, number},
    reads::{self, MEMORY},
};
use crate::page::{finished, markdown};

/// Figure 13.
pub const FIGURE: Figure = Figure { id: "figure-13", experiments: Vec::new, draw };

/// The highest latency that is shown, in microseconds.
const MOST: f64 = 6.0;

/// Latencies of reads of one size, in microseconds, by stride.
type Line = (u64, Vec<(u64, f64)>);

fn draw(_: &Measured) -> Result<Drawing, String> {
    let line = |size: u64| {
        let strides = reads::sizes(2).filter(|stride| *stride >= size);
        let latency = |stride| reads::measure(size, stride, MEMORY).latency_ns / 1_000.0;
        (size, strides.map(|stride| (stride, latency(stride))).collect())
    };
    let lines: Vec<Line> = reads::sizes(4).map(line).collect();
    let mut series: Vec<Series> = lines
        .iter()
        .map(|(size, points)| {
            let points = points.iter().map(|(stride, us)| (*stride as f64, *us)).collect();
            Series::new(format!("reads of {size} B"), Look::Measured, points)
        })
        .collect();
    for (name, stride) in [
        ("paper: high below 16 B", 16.0),
        ("paper: constant from 64 B on (reads below 256 B)", 64.0),
    ] {
        series.push(Series::new(name, Look::PaperLine, vec![(stride, 0.0), (stride, MOST)]));
    }
    let picture = Picture {
        panels: vec![Panel {
            title: "Latency by stride",
            x: Axis {
                label: "bytes from one read to the next",
                scale: Scale::Log(2.0),
                from: 1.0,
                to: 4096.0,
            },
            y: Axis { label: "microseconds", scale: Scale::Linear, from: 0.0, to: MOST },
            series,
            legend: Legend::UpperRight,
        }],
    };
    let at = |size: u64, stride: u64| {
        let (_, points) = lines.iter().find(|(known, _)| *known == size).expect("a size");
        let (_, us) = points.iter().find(|(known, _)| *known == stride).expect("a stride");
        number(*us)
    };
    let alt = format!(
        "Latency of reads of 1 B falls from {} us at a stride of 1 B over {} us at 16 B to {} us at 64 B, where it \
         stays up to 4 KiB, as for all reads below 256 B. Dashed lines at 16 and 64 B are the paper's. \
         Reads of 4 KiB take {} us.",
        at(1, 1),
        at(1, 16),
        at(1, 64),
        at(4096, 4096)
    );
    Ok(Drawing {
        title: "Figure 13: DMA reads by stride",
        alt,
        text: TEXT.to_owned(),
        picture,
        table: table(&lines),
    })
}

const TEXT: &str = "\
As figure 12, with reads of each size further and further apart; strides below the size are left out. The paper says that
latency stays high where fewer than 16 B lie between reads, and is constant from a stride of 64 B, a cache
line, on for reads below 256 B. The model has one rule for this: reads of one cache line are served one after another.";

fn table(lines: &[Line]) -> String {
    let heads: Vec<String> = std::iter::once("stride".to_owned())
        .chain(lines.iter().map(|(size, _)| format!("{size} B")))
        .collect();
    let mut table = markdown(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for stride in reads::sizes(2) {
        let latency = |(_, points): &Line| {
            let found = points.iter().find(|(known, _)| *known == stride);
            found.map_or("-".to_owned(), |(_, us)| format!("{:.0}", us * 1_000.0))
        };
        let cells = std::iter::once(stride.to_string()).chain(lines.iter().map(latency));
        table.add_row(cells.collect::<Vec<_>>());
    }
    format!("Latency in nanoseconds, by bytes of stride and of a read.\n\n{}", finished(table, 0))
}
