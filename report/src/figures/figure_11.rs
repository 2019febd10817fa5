//! Bandwidth and CPU use of a shuffle that is posted in three ways.

use super::{
    Drawing, Figure, Measured,
    picture::{Axis, Legend, Look, Panel, Picture, Scale, Series, number},
};
use crate::{
    catalogue,
    experiment::Experiment,
    page::{finished, markdown},
    posting::Posting,
};

/// Figure 11.
pub const FIGURE: Figure = Figure { id: "figure-11", experiments, draw };

/// Bits of a row: five values of 4 B.
const ROW_BITS: f64 = 160.0;
/// Values of the paper: Gb/s, and percent of a core. It has none with D-RDMA.
const PAPER: [Option<(f64, f64)>; 3] = [Some((1.5, 50.0)), Some((18.0, 100.0)), None];
const NAMES: [&str; 3] = ["SGE lists", "copy-out", "D-RDMA"];
/// The experiments with the card's rates, in that order.
const EXPERIMENTS: [&str; 3] = ["lists-2", "contiguous-registers", "shuffle-2"];

/// A way to send the shuffle.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Way {
    /// Gb/s that the card sends if it never waits for the application.
    card: f64,
    /// Nanoseconds that a core takes to post a row.
    row_ns: f64,
}

impl Way {
    /// Gb/s that one core posts if it never waits for the card.
    fn core(self) -> f64 {
        ROW_BITS / self.row_ns
    }

    /// Gb/s of both together.
    fn gbps(self) -> f64 {
        self.card.min(self.core())
    }

    /// The part of one core that posting takes at that rate, in percent.
    fn cpu(self) -> f64 {
        100.0 * self.gbps() / self.core()
    }

    /// Name of the limit: the card or the core.
    fn limit(self) -> &'static str {
        if self.card < self.core() { "the card" } else { "the core" }
    }
}

fn experiments() -> Vec<Experiment> {
    catalogue::all().into_iter().filter(|e| EXPERIMENTS.contains(&e.id.as_str())).collect()
}

/// The three ways, in the order of their names.
fn ways(measured: &Measured) -> Result<[Way; 3], String> {
    let Posting { described, lists, copied } = measured.posting.clone()?;
    let way = |index: usize, row_ns| {
        Ok::<_, String>(Way { card: measured.gbps(EXPERIMENTS[index])?, row_ns })
    };
    Ok([way(0, lists.mean)?, way(1, copied.mean)?, way(2, described.mean)?])
}

fn draw(measured: &Measured) -> Result<Drawing, String> {
    let ways = ways(measured)?;
    let panel = |title, label, to, ours: [f64; 3], theirs: [Option<f64>; 3], legend| {
        let theirs = (0..).zip(theirs).filter_map(|(at, value)| Some((f64::from(at), value?)));
        Panel {
            title,
            x: Axis { label: "", scale: Scale::Names(&NAMES), from: -0.5, to: 2.5 },
            y: Axis { label, scale: Scale::Linear, from: 0.0, to },
            series: vec![
                Series::new("here, one core", Look::Bars, (0..).map(f64::from).zip(ours).collect()),
                Series::new("paper (ConnectX-5, one core)", Look::Paper, theirs.collect()),
            ],
            legend,
        }
    };
    let picture = Picture {
        panels: vec![
            panel(
                "Bandwidth",
                "payload, Gb/s",
                110.0,
                ways.map(Way::gbps),
                PAPER.map(|paper| Some(paper?.0)),
                Legend::UpperLeft,
            ),
            panel(
                "CPU use",
                "share of one core, %",
                130.0,
                ways.map(Way::cpu),
                PAPER.map(|paper| Some(paper?.1)),
                Legend::UpperRight,
            ),
        ],
    };
    let [lists, copied, described] = ways;
    let told = |name, way: Way| {
        format!(
            "{name} {} Gb/s at {} % of a core, limited by {}",
            number(way.gbps()),
            number(way.cpu()),
            way.limit()
        )
    };
    let alt = format!(
        "Bars: {}; {}; {}. Crosses, the paper: SGE lists 1.5 Gb/s at 50 %, copy-out 18 Gb/s at 100 %.",
        told("SGE lists", lists),
        told("copy-out", copied),
        told("D-RDMA", described)
    );
    Ok(Drawing {
        title: "Figure 11: bandwidth and CPU use of a shuffle",
        alt,
        text: TEXT.to_owned(),
        picture,
        table: table(ways),
    })
}

const TEXT: &str = "\
The shuffle of rows of 5 x 4 B to 2 destinations, posted as a list of values a row (the paper's zero-copy), by
copying the values into a buffer of 4 MB first, and by two bitmapped regions. *Card* is what the simulated card
sends if it never waits for requests: the experiment `lists-2`, contiguous WRITEs for the buffer
(`contiguous-registers`), and `shuffle-2`. *Core* is what one core posts: 160 bits a row by criterion's
nanoseconds a row, of the run in *Posting* below; describing, gathering and encoding are in it, making bitmaps is
not. Bandwidth is the smaller of the two, CPU use bandwidth by *core*. That posting and sending overlap
without loss is assumed, not measured, and so is that memory serves the core's copies and the card's reads at
the same time. The paper's lists were computed beforehand and posted by 1,024; its other processor and card
are in its figures, and it has none for D-RDMA itself.";

fn table(ways: [Way; 3]) -> String {
    let header =
        ["", "card, Gb/s", "ns a row", "core, Gb/s", "Gb/s", "CPU", "limit", "paper, Gb/s", "CPU"];
    let mut table = markdown(&header);
    for ((name, way), paper) in NAMES.iter().zip(ways).zip(PAPER) {
        let (gbps, cpu) = match paper {
            Some((gbps, cpu)) => (number(gbps), format!("{} %", number(cpu))),
            None => ("-".to_owned(), "-".to_owned()),
        };
        table.add_row([
            (*name).to_owned(),
            number(way.card),
            number(way.row_ns),
            number(way.core()),
            number(way.gbps()),
            format!("{} %", number(way.cpu())),
            way.limit().to_owned(),
            gbps,
            cpu,
        ]);
    }
    finished(table, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_of_card_and_core_limits() {
        // 160 bits in 320 ns: half a gigabit a second, of which the core is the limit.
        let slow = Way { card: 2.0, row_ns: 320.0 };
        assert_eq!(
            (slow.core(), slow.gbps(), slow.cpu(), slow.limit()),
            (0.5, 0.5, 100.0, "the core")
        );
        let fast = Way { card: 50.0, row_ns: 0.8 };
        assert_eq!(
            (fast.core(), fast.gbps(), fast.cpu(), fast.limit()),
            (200.0, 50.0, 25.0, "the card")
        );
    }

    #[test]
    fn its_experiments_exist() {
        let ids: Vec<_> = experiments().into_iter().map(|experiment| experiment.id).collect();
        assert!(EXPERIMENTS.iter().all(|id| ids.iter().any(|known| known == id)), "{ids:?}");
    }
}
