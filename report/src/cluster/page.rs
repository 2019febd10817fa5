//! The page docs/cluster.md.

use std::fmt::Write as _;

use super::Tried;
use crate::{
    page::{finished, markdown, verdict},
    reasons,
};

const HEAD: &str = "\
# Results with several cards

**250 MHz is what the simulation assumes: the card was never placed and routed.**

Written by `cargo xtask cluster`. Cards stand behind a switch in one simulated time, with links of 100 Gb/s and
500 ns where nothing else is said, and hosts as in [results.md](results.md). Requests that the hardware does not send
come from the reference card, which takes no time.

Every figure is of a whole run: all requests are posted at once, and the time is that from the first doorbell to the
last completion, which is the receiver's for SENDs and the sender's for all others. Two round trips of PCIe and one of
the network are taken out once, but for the latency of one WRITE. All memory begins at a page where nothing else is said. The memories on both
sides are compared afterwards, byte for byte; a run with a wrong byte gives no figure.

";

/// The page's text.
pub fn page(tried: &[Tried]) -> String {
    let mut table = markdown(&["", "measured", "target", "verdict"]);
    for (trial, result) in tried {
        let (measured, verdict) = match result {
            Ok(value) => (trial.target.value_text(*value), verdict(trial.target.is_met(*value))),
            Err(_) => ("-".to_owned(), "**failed**"),
        };
        table.add_row([trial.title, &measured, &trial.target.text(), verdict].map(str::to_owned));
    }
    let mut page = HEAD.to_owned() + &finished(table, 4);
    let reasons = missed(tried);
    if !reasons.is_empty() {
        page += "\n## What is missed, and why\n\n";
        page += &reasons;
    }
    page
}

/// A line for each trial that misses its target, with the reason.
fn missed(tried: &[Tried]) -> String {
    let mut text = String::new();
    for (trial, result) in tried {
        let reason = match result {
            Ok(value) if trial.target.is_met(*value) => continue,
            Ok(_) => reasons::of(trial.id),
            Err(error) => error,
        };
        writeln!(text, "- {reason}\n  - {}", trial.title).expect("a string");
    }
    text
}
