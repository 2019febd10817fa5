//! The page docs/results.md.

use std::{fmt::Write as _, time::Duration};

use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};

use crate::{
    experiment::{Experiment, Figure, Target},
    figures::{self, Drawing},
    posting::{Cost, Posting},
    reasons,
    resources::Resources,
    rig::Simulated,
    shapes::summary::Summary,
};

/// Cycles per second that the simulation should reach.
const SPEED: f64 = 50_000.0;

/// Measurements that the page shows.
pub struct Results<'a> {
    /// Every experiment that was run, and its figure; a text if it failed.
    pub figures: &'a [(Experiment, Result<Figure, String>)],
    /// The paper's figures.
    pub drawn: &'a [(figures::Figure, Result<Drawing, String>)],
    /// Costs of posting, if criterion's figures are there.
    pub posting: Result<Posting, String>,
    /// Summary of random shapes.
    pub shapes: &'a Summary,
    /// Speed of the simulation of the whole card under load, with no other one at the same time.
    pub speed: Option<Simulated>,
    /// Resources that the card takes of a U50, as last recorded.
    pub resources: Result<Resources, String>,
    /// Name of the machine's processor.
    pub processor: String,
}

const HEAD: &str = "\
# Results

**250 MHz is what the simulation assumes: the card was never placed and routed.**

Written by `cargo xtask report`, which runs every experiment below on the simulated card and compares
every message that arrives at the peers with what should arrive, byte for byte. A card that sends
anything else fails the report, however fast it is.

- The card is `rtl:` at 250 MHz, with a host of 64 PCIe tags, reads of up to 512 B, payloads of 256 B,
  a round trip of 1,300 ns and 115 Gb/s of completion data; 16 KiB of reads are in flight at most.
- Every figure is of a whole run: several requests (three where nothing else is said, each of data of its
  own) wait in the ring when the doorbell is rung, and payload is divided by the time from that doorbell to
  the last byte on a wire of 100 Gb/s. Preamble, gap and FCS take their time on it. The *first latency* is
  taken out of the time once: 2,600 ns, two round trips, before which no card has a byte of payload (its
  request must come first), or 3,900 ns where data lie behind pointers. It does not depend on the card.
- *Bound* is what no card exceeds: no schedule of frames and of reads ends sooner, with 64 reads and
  16 KiB in flight, whichever gaps it reads through. It counts all headers, and every byte that must
  be fetched: data, bitmaps, ids, pointers and requests. `report/src/bound` has the proof. It leaves out jitter
  and waiting, so no card reaches all of it.
- *Paper* is what the D-RDMA paper reports, in Gb/s where it is a number.
- A *rate of* another experiment is what that one reached, by its name in [the details](#in-detail). Chains of records are measured
  like latency: from the doorbell to the last byte, beside the round trips to the host that no card can do without.
- A figure that stands a second time, *without a plan*, is of a request that leaves its reads to the card's
  registers; the first time the request carries the fetch plan that `FetchPlan::cheapest` finds for it by the
  costs that `drdma calibrate` measures on this card. *With the schedule* the request says of every gap whether
  it is read through, as `Schedule::cheapest` finds by the same costs.
- Where nothing else is said, messages are RC WRITEs, packets hold up to 4,096 B, and as many rows are
  packed into a message as fit one packet.
";

impl Results<'_> {
    /// The page's text.
    pub fn page(&self) -> String {
        let mut page = HEAD.to_owned();
        page += "\n## Goodput, packets and latency\n\n";
        page += &self.figures_table();
        let reasons = self.reasons();
        if !reasons.is_empty() {
            page += "\n## What is missed, and why\n\n";
            page += &reasons;
        }
        page += &self.shapes_text();
        page += figures::HEAD;
        page.extend(self.drawn.iter().map(|(figure, drawing)| figure.section(drawing)));
        page += DETAILS;
        page += &self.details_table();
        page += POSTING;
        page += &self.posting_text();
        page += "\n## Simulation\n\n";
        page += &self.speed_text();
        page += "\n## Resources\n\n";
        page += &match &self.resources {
            Ok(resources) => resources.summary(),
            Err(error) => format!("Not recorded: {error}.\n"),
        };
        page
    }

    fn figures_table(&self) -> String {
        let mut table = markdown(&["", "measured", "target", "verdict", "bound, Gb/s", "paper"]);
        for (experiment, result) in self.figures {
            let Experiment { title, paper, .. } = experiment;
            let row = match result {
                Ok(figure) => {
                    let bound = match experiment.target {
                        Target::Latency { .. } => "-".to_owned(),
                        _ => format!("{:.1}", figure.bound),
                    };
                    [&figure.measured, &figure.target, verdict(figure.met), &bound]
                        .map(str::to_owned)
                }
                Err(_) => ["-", "-", "**failed**", "-"].map(str::to_owned),
            };
            let mut cells = vec![title.clone()];
            cells.extend(row);
            cells.push(if paper.is_empty() { "-" } else { paper }.to_owned());
            table.add_row(cells);
        }
        finished(table, 4)
    }

    /// The reasons, each with the experiments that it applies to.
    fn reasons(&self) -> String {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut add = |reason, title| match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, titles)) => titles.push(title),
            None => reasons.push((reason, vec![title])),
        };
        for (experiment, result) in self.figures {
            match result {
                Ok(figure) if figure.met => {}
                Ok(_) => add(reasons::of(&experiment.id), &experiment.title),
                Err(error) => add(error, &experiment.title),
            }
        }
        let mut text = String::new();
        for (reason, titles) in reasons {
            writeln!(text, "- {reason}").expect("a string");
            titles.iter().for_each(|title| writeln!(text, "  - {title}").expect("a string"));
        }
        text
    }

    fn details_table(&self) -> String {
        let header = [
            "", "us", "latency", "wire", "reads", "least", "KiB read", "least", "read", "conflict",
            "waited", "stopped",
        ];
        let mut table = markdown(&header);
        for (experiment, result) in self.figures {
            let Ok(figure) = result else { continue };
            let kib = |bytes: u64| format!("{:.0}", bytes as f64 / 1024.0);
            let mut cells = vec![
                experiment.id.clone(),
                format!("{:.1}", figure.ns.0 / 1e3),
                format!("{:.1}", figure.ns.1 / 1e3),
                format!("{:.1}", figure.wire),
                figure.reads.0.to_string(),
                figure.least.0.to_string(),
                kib(figure.reads.1),
                kib(figure.least.1),
            ];
            cells.extend(figure.assembler.map(|percent| format!("{percent:.0} %")));
            table.add_row(cells);
        }
        finished(table, 1)
    }

    fn shapes_text(&self) -> String {
        format!(
            "\n## Random shapes\n\n![Shares of the bound, sorted: the least is {:.3}, the geometric mean \
             {:.3}.]({SHAPES_FILE})\n\n{SHAPES}\n{}\nThe worst:\n\n{}\n<details><summary>All</summary>\n\n{}\n\
             </details>\n",
            self.shapes.least(),
            self.shapes.mean(),
            self.shapes.text(),
            self.shapes.worst(),
            self.shapes.table(),
        )
    }

    fn posting_text(&self) -> String {
        let posting = match &self.posting {
            Ok(posting) => posting,
            Err(error) => return format!("Not measured: {error}.\n"),
        };
        let mut table = markdown(&["", "ns a row", "95 % confidence", "times"]);
        let mut row = |name: &str, cost: Cost| {
            // Small numbers have three digits as well.
            let number = |ns: f64| match ns {
                ns if ns < 0.1 => format!("{ns:.4}"),
                ns if ns < 10.0 => format!("{ns:.2}"),
                ns => format!("{ns:.0}"),
            };
            table.add_row([
                name.to_owned(),
                number(cost.mean),
                format!("{} to {}", number(cost.low), number(cost.high)),
                format!("{:.0}", cost.mean / posting.described.mean),
            ]);
        };
        row("described: two bitmapped regions, one request", posting.described);
        row("a list of five values and a request a row", posting.lists);
        row("copied into a buffer of 4 MB, one request a destination", posting.copied);
        let (target, met) = posting.target();
        format!(
            "{}\nTarget: {target}; {}. On {}.\n",
            finished(table, 1),
            verdict(met),
            self.processor
        )
    }

    fn speed_text(&self) -> String {
        match self.speed {
            Some(Simulated { cycles, time, processor }) => {
                let rate = |time: Duration| cycles as f64 / time.as_secs_f64();
                format!(
                    "The whole card under load (contiguous data at the wire's rate, peers that check \
                     every packet):\n{:.0} cycles/s on {} cores; target: >= {SPEED:.0} cycles/s, {}. \
                     {:.0} cycles in a second of\nprocessor time, which is the same if nothing \
                     else runs.\n",
                    rate(time),
                    std::thread::available_parallelism().map_or(1, usize::from),
                    verdict(rate(time) >= SPEED),
                    rate(processor)
                )
            }
            None => "Not measured.\n".to_owned(),
        }
    }
}

/// Path of the file with the plot of random shapes, in the folder of the documents.
pub const SHAPES_FILE: &str = "figures/shapes.svg";

const SHAPES: &str = "\
Shapes that nobody chose, drawn from a fixed seed: columns of mixed widths, whole rows of 1 B to 1 KiB, up to 64
destinations by bitmaps, by ids or by extents of a row store, all or some of the rows, both row masks, packets of
1,024 and 4,096 B, any number of rows in a message. `select` is in percent of the rows; `pack=full` packs as many
rows into a message as fit one packet. `cargo xtask report --shapes SEED COUNT` draws others, and
`cargo xtask report --shape 'columns=5x8 rows=8192 dests=4'` measures one and says where its cycles went.
";

const DETAILS: &str = "
## In detail

Microseconds of the run, and the first latency that is not part of them; what the wire could carry, in Gb/s; DMA
reads of the card, all of them, and their bytes, each beside the number that no card undercuts; and what the
assembler did, in percent of the cycles. *Read*: it read payload, at least a byte. *Conflict*: it did, while another byte waited for
its bank, which may cost nothing: later beats use the banks that are left. *Waited*: its next beat waited
for data from the host; those before it may still be read. *Stopped*: its next beat found no room because
the packetizer took none. A cycle may be in several columns, or in none.

";

const POSTING: &str = "
## Posting

What posting the shuffle of 64 Ki rows of 5 x 4 B to 2 destinations costs the application, which
has the destinations' rows as bitmaps: describing, gathering, encoding, doorbells. Measured in one run
of criterion (`cargo bench --package libdrdma --bench posting`) on a card that takes register writes
and does nothing.

";

pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "**missed**" }
}

/// A table in Markdown.
pub fn markdown(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(header.to_vec());
    table
}

/// The table's text, with the columns from `right` on aligned to the right.
pub fn finished(mut table: Table, right: usize) -> String {
    for column in table.column_iter_mut().skip(right) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue, figures::Measured};

    fn figure(met: bool) -> Figure {
        Figure {
            measured: "12.3 Gb/s".to_owned(),
            value: 12.3,
            target: ">= 45.6 Gb/s".to_owned(),
            met,
            bound: 98.0,
            wire: 99.0,
            gbps: 12.3,
            ns: (9_000.0, 2_600.0),
            reads: (7, 2048),
            least: (5, 1024),
            assembler: [50.0, 0.0, 25.0, 0.0],
            simulated: Simulated::default(),
        }
    }

    fn page(result: impl Fn(usize) -> Result<Figure, String>) -> String {
        let ran = |(index, experiment)| (experiment, result(index));
        let figures: Vec<_> = catalogue::all().into_iter().enumerate().map(ran).collect();
        let cost = |mean| Cost { mean, low: mean, high: mean };
        let posting = Posting { described: cost(0.01), lists: cost(600.0), copied: cost(6.0) };
        let time = Duration::from_secs(2);
        Results {
            figures: &figures,
            drawn: &[],
            posting: Ok(posting),
            shapes: &Summary::of(&[]),
            speed: Some(Simulated { cycles: 90_000, time, processor: time / 2 }),
            resources: Err("no file".to_owned()),
            processor: "a processor".to_owned(),
        }
        .page()
    }

    #[test]
    fn what_is_missed_has_a_reason_and_what_failed_says_why() {
        let page = page(|index| match index {
            1 => Ok(figure(false)),
            2 => Err("destination 0, message 1: 3 B for 4 B".to_owned()),
            _ => Ok(figure(true)),
        });
        assert!(page.contains("| >= 45.6 Gb/s | **missed** |"), "{page}");
        assert!(page.contains("| **failed** |"));
        let reason = reasons::of("contiguous-registers");
        let listed = format!("- {reason}\n  - contiguous, 1 MiB, without a plan\n");
        assert!(page.contains(&listed), "{page}");
        assert!(page.contains("- destination 0, message 1: 3 B for 4 B\n  - shuffle, 5 x 4 B"));
    }

    #[test]
    fn every_figure_of_the_paper_is_shown_with_its_command_and_its_values() {
        let all = catalogue::all().into_iter().chain(catalogue::words());
        let ran: Vec<_> = all.map(|experiment| (experiment, Ok(figure(true)))).collect();
        let cost = Cost { mean: 1.0, low: 1.0, high: 1.0 };
        let posting = Ok(Posting { described: cost, lists: cost, copied: cost });
        let measured = Measured { ran: &ran, posting: &posting };
        let drawn = figures::ALL.map(|figure| (figure, figure.draw(&measured)));
        let results = Results {
            figures: &ran,
            drawn: &drawn,
            posting,
            shapes: &Summary::of(&[]),
            speed: None,
            resources: Err("no file".to_owned()),
            processor: "a processor".to_owned(),
        };
        let page = results.page();
        for number in 11..=15 {
            let section =
                page.split("\n### ").find(|part| part.starts_with(&format!("Figure {number}: ")));
            let section = section.unwrap_or_else(|| panic!("no figure {number}: {page}"));
            assert!(section.contains(&format!("](figures/figure-{number}.svg)")), "{section}");
            assert!(section.contains(&format!("`cargo xtask report --only figure-{number}`")));
            assert!(
                section.contains("<summary>Values</summary>\n\n") && section.contains("\n|"),
                "{section}"
            );
        }
        assert!(!page.contains("Not drawn"));
    }

    #[test]
    fn speed_and_posting_are_judged() {
        let page = page(|_| Ok(figure(true)));
        assert!(page.contains("45000 cycles/s"));
        assert!(page.contains("target: >= 50000 cycles/s, **missed**. 90000 cycles in a second"));
        assert!(page.contains(">= 100 times cheaper than either; met. On a processor."));
        // Before anything else: what no simulation shows.
        assert!(page.lines().nth(2).unwrap().contains("never placed and routed"));
        assert!(page.contains("](figures/shapes.svg)"));
    }
}
