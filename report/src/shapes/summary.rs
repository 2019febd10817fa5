//! Summary of random shapes.

use super::{LEAST, MEAN, Ran};
use crate::{
    figures::picture::{Axis, Legend, Look, Panel, Picture, Scale, Series},
    page::{finished, markdown},
};

/// Number of shapes in the list of the worst.
const WORST: usize = 10;

/// Results of shapes, a line each.
pub struct Summary {
    /// Shape, Gb/s, bound, share, as they were measured.
    lines: Vec<(String, f64, f64, f64)>,
}

impl Summary {
    /// Makes a summary of the shapes that did not fail.
    pub fn of(ran: &[Ran]) -> Self {
        let line = |(shape, result): &Ran| {
            let found = result.as_ref().ok()?;
            Some((shape.to_string(), found.gbps(), found.limit(), found.share()))
        };
        Self { lines: ran.iter().filter_map(line).collect() }
    }

    /// Geometric mean of the shares; 1 without shapes.
    pub fn mean(&self) -> f64 {
        let logs: f64 = self.lines.iter().map(|(.., share)| share.ln()).sum();
        (logs / self.lines.len().max(1) as f64).exp()
    }

    /// The smallest share; 1 without shapes.
    pub fn least(&self) -> f64 {
        self.lines.iter().map(|(.., share)| *share).fold(1.0, f64::min)
    }

    /// True if mean and minimum reach their targets.
    pub fn met(&self) -> bool {
        self.mean() >= MEAN && self.least() >= LEAST
    }

    /// Mean and minimum, with their targets.
    pub fn text(&self) -> String {
        let verdict = |met| if met { "met" } else { "**missed**" };
        let (mean, least) = (self.mean(), self.least());
        format!(
            "{} shapes: geometric mean {mean:.3} (target >= {MEAN}: {}), minimum {least:.3} (target >= {LEAST}: {}).\n",
            self.lines.len(),
            verdict(mean >= MEAN),
            verdict(least >= LEAST),
        )
    }

    /// Every shape, in the order in which they were drawn.
    pub fn table(&self) -> String {
        table(self.lines.iter())
    }

    /// The worst shapes, the worst first.
    pub fn worst(&self) -> String {
        let mut lines: Vec<_> = self.lines.iter().collect();
        lines.sort_by(|a, b| a.3.total_cmp(&b.3));
        table(lines.into_iter().take(WORST))
    }

    /// Plot of the shares, sorted.
    pub fn picture(&self) -> Picture {
        let mut shares: Vec<f64> = self.lines.iter().map(|(.., share)| *share).collect();
        shares.sort_by(f64::total_cmp);
        let count = shares.len() as f64;
        let point = |(index, share): (usize, &f64)| (100.0 * (index as f64 + 0.5) / count, *share);
        let line = |name, share| Series::new(name, Look::Limit, vec![(0.0, share), (100.0, share)]);
        Picture {
            panels: vec![Panel {
                title: "Random shapes",
                x: Axis {
                    label: "percent of the shapes",
                    scale: Scale::Linear,
                    from: 0.0,
                    to: 100.0,
                },
                y: Axis { label: "share of the bound", scale: Scale::Linear, from: 0.0, to: 1.0 },
                series: vec![
                    Series::new(
                        "shares, sorted",
                        Look::Measured,
                        shares.iter().enumerate().map(point).collect(),
                    ),
                    line("wanted: geometric mean", MEAN),
                    line("wanted: every shape", LEAST),
                ],
                legend: Legend::LowerRight,
            }],
        }
    }
}

fn table<'a>(lines: impl Iterator<Item = &'a (String, f64, f64, f64)>) -> String {
    let mut table = markdown(&["shape", "Gb/s", "bound", "share"]);
    for (shape, gbps, limit, share) in lines {
        table.add_row([
            shape.clone(),
            format!("{gbps:.1}"),
            format!("{limit:.1}"),
            format!("{share:.3}"),
        ]);
    }
    finished(table, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(shares: &[f64]) -> Summary {
        let line = |share: &f64| (format!("shape {share}"), 100.0 * share, 100.0, *share);
        Summary { lines: shares.iter().map(line).collect() }
    }

    #[test]
    fn mean_and_minimum_are_judged() {
        let found = summary(&[0.5, 0.98]);
        assert_eq!((found.mean() * 100.0).round(), 70.0);
        assert_eq!((found.least(), found.met()), (0.5, false));
        assert!(found.text().contains("minimum 0.500 (target >= 0.85: **missed**)"));
        assert!(summary(&[0.96, 0.97]).met() && !summary(&[0.9, 0.9]).met());
        assert!(!summary(&[0.84, 1.0, 1.0, 1.0, 1.0]).met());
    }

    #[test]
    fn the_worst_ten_come_worst_first() {
        let shares: Vec<f64> = (0..20).map(|i| 1.0 - f64::from(i) / 100.0).collect();
        let worst = summary(&shares).worst();
        assert_eq!(worst.lines().count(), 12);
        assert!(worst.lines().nth(2).unwrap().contains("0.810"), "{worst}");
        assert!(!worst.contains("0.910"), "{worst}");
        assert_eq!(summary(&shares).table().lines().count(), 22);
    }

    #[test]
    fn shares_are_drawn_sorted() {
        let picture = summary(&[0.9, 0.3, 0.6]).picture();
        assert_eq!(picture.panels[0].series.len(), 3);
        assert!(picture.svg().unwrap().contains("share of the bound"));
    }
}
