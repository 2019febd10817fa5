//! Several cards in one simulated time: what they receive, answer and send again.
//!
//! | module | |
//! |---|---|
//! | [`trials`] | every trial, and its target |
//! | [`rig`] | cards behind a switch, and queue pairs between them |
//! | [`transfer`] | requests from one card to another, in one direction or in both |
//! | [`latency`] | one WRITE, from memory to remote memory |
//! | [`keys`] | plain WRITEs and READs of a described key |
//! | [`silent`] | one peer of many that never answers |
//! | [`incast`] | many cards send to one |
//! | [`shuffle`] | every node sends its rows to every other |
//! | [`page`] | docs/cluster.md |
//!
//! Every byte that arrives is compared with what should arrive; a run with a wrong one gives no figure.

mod columns;
mod incast;
mod keys;
mod latency;
mod page;
mod rig;
mod shuffle;
mod silent;
mod transfer;
mod trials;

use std::{collections::BTreeMap, fs, path::Path, time::Instant};

use drdma_sim::clock::NS_PER_CYCLE;

use crate::{in_parallel, record::is_worse, rig::RunError, write};

/// Target of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// At least this many Gb/s of payload.
    Gbps(f64),
    /// At least this many million requests per second.
    MegaRequests(f64),
    /// At least this share, from 0 to 1, of what the text names.
    Share(f64, &'static str),
    /// At most this many cycles.
    Cycles(f64),
}

impl Target {
    /// The target as text, for the page.
    pub fn text(self) -> String {
        match self {
            Self::Cycles(most) => format!("<= {}", self.value_text(most)),
            Self::Gbps(least) | Self::MegaRequests(least) | Self::Share(least, _) => {
                format!(">= {}", self.value_text(least))
            }
        }
    }

    /// The value with the target's unit.
    pub fn value_text(self, value: f64) -> String {
        match self {
            Self::Gbps(_) => format!("{value:.1} Gb/s"),
            Self::MegaRequests(_) => format!("{value:.1} M requests/s"),
            Self::Share(_, whole) => format!("{:.1} % of {whole}", 100.0 * value),
            Self::Cycles(_) => format!("{value:.0} cycles"),
        }
    }

    /// True if the value reaches the target.
    pub fn is_met(self, value: f64) -> bool {
        match self {
            Self::Gbps(least) | Self::MegaRequests(least) | Self::Share(least, _) => value >= least,
            Self::Cycles(most) => value <= most,
        }
    }

    /// True if a smaller value is better.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Cycles(_))
    }
}

/// A trial: a run with several cards.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Name on the command line.
    pub id: &'static str,
    /// Description, for the table.
    pub title: &'static str,
    /// Target of the trial.
    pub target: Target,
    /// Runs the trial, and returns its value.
    pub run: fn() -> Result<f64, RunError>,
}

/// A trial and its value, in its target's unit; a text if it failed.
type Tried = (Trial, Result<f64, String>);

impl Trial {
    /// Runs the trial, and prints its result.
    pub fn tried(self) -> Tried {
        let started = Instant::now();
        let result = (self.run)().map_err(|error| error.to_string());
        let text = match &result {
            Ok(value) => {
                let verdict = if self.target.is_met(*value) { "met" } else { "missed" };
                let value = self.target.value_text(*value);
                format!("{verdict}, {value} ({})", self.target.text())
            }
            Err(error) => format!("FAILED, {error}"),
        };
        eprintln!("{}: {text} ({:.1} s)", self.id, started.elapsed().as_secs_f64());
        (self, result)
    }
}

/// Time that a run of several requests took.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// Time from the first doorbell to the last completion, without the first latency, in nanoseconds.
    pub ns: f64,
    /// Number of payload bytes.
    pub bytes: u64,
    /// Number of requests.
    pub requests: u64,
}

impl Took {
    /// Gb/s of payload.
    pub fn gbps(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.ns
    }

    /// Millions of requests per second.
    pub fn mega_requests(&self) -> f64 {
        self.requests as f64 * 1e3 / self.ns
    }
}

/// Nanoseconds as cycles of the card.
pub fn cycles(ns: f64) -> f64 {
    ns / NS_PER_CYCLE
}

/// Values by the names of their trials, in the targets' units: docs/cluster.json.
type Record = BTreeMap<String, f64>;

/// Every trial, in the order of the page.
#[cfg(test)]
pub fn trials() -> Vec<Trial> {
    trials::all()
}

/// Runs the trials whose names contain `only`, `threads` at a time. All trials are written to docs/cluster.md, or
/// checked against their targets and the recorded values.
///
/// # Errors
/// A trial failed, a file cannot be read or written, or `check` found a value that is too low.
pub fn measure(docs: &Path, only: Option<&str>, check: bool, threads: usize) -> Result<(), String> {
    let mut list = trials::all();
    list.retain(|trial| only.is_none_or(|part| trial.id.contains(part)));
    if list.is_empty() {
        return Err(format!("there is no trial `{}`", only.unwrap_or_default()));
    }
    let tried = in_parallel(&list, threads, |trial| trial.clone().tried());
    let file = docs.join("cluster.json");
    let mut wrong = failures(&tried);
    if check {
        wrong.extend(complaints(&tried, &read(&file)?));
    } else if only.is_none() {
        write(&file, &json(&tried))?;
        write(&docs.join("cluster.md"), &page::page(&tried))?;
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n")),
    }
}

/// The trials that gave a value.
fn values(tried: &[Tried]) -> impl Iterator<Item = (&Trial, f64)> {
    tried.iter().filter_map(|(trial, result)| Some((trial, *result.as_ref().ok()?)))
}

/// A line for each trial that failed.
fn failures(tried: &[Tried]) -> Vec<String> {
    let wrong = |(trial, result): &Tried| {
        Some(format!("the cards did wrong in {}: {}", trial.id, result.as_ref().err()?))
    };
    tried.iter().filter_map(wrong).collect()
}

/// A line for each value that misses its target, is worse than recorded by more than a tenth, or is not recorded.
fn complaints(tried: &[Tried], recorded: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    for (Trial { id, target, .. }, value) in values(tried) {
        let measured = target.value_text(value);
        if !target.is_met(value) {
            lines.push(format!("{id}: {measured}, the target is {}", target.text()));
        }
        match recorded.get(*id) {
            Some(then) if is_worse(value, *then, target.is_time()) => {
                lines.push(format!("{id}: {measured}, {} is recorded", target.value_text(*then)));
            }
            Some(_) => {}
            None => lines.push(format!("{id}: {measured} is not recorded")),
        }
    }
    lines
}

fn read(file: &Path) -> Result<Record, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))
}

fn json(tried: &[Tried]) -> String {
    let rounded = |value: f64| (value * 1e4).round() / 1e4;
    let record: Record =
        values(tried).map(|(trial, value)| (trial.id.to_owned(), rounded(value))).collect();
    serde_json::to_string_pretty(&record).expect("names and numbers") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(values: &[(&str, Result<f64, &str>)]) -> Vec<Tried> {
        let find = |id: &str| trials::all().into_iter().find(|trial| trial.id == id).unwrap();
        let one =
            |(id, result): &(&str, Result<f64, &str>)| (find(id), result.map_err(str::to_owned));
        values.iter().map(one).collect()
    }

    #[test]
    fn a_value_is_compared_with_its_target_and_with_what_is_recorded() {
        let record: Record =
            [("loss".to_owned(), 0.99), ("write-latency".to_owned(), 900.0)].into();
        let found = |id, value| complaints(&tried(&[(id, Ok(value))]), &record);
        assert_eq!(found("loss", 0.98), [""; 0]);
        assert_eq!(
            found("loss", 0.8),
            [
                "loss: 80.0 % of the lossless run, the target is >= 95.0 % of the lossless run",
                "loss: 80.0 % of the lossless run, 99.0 % of the lossless run is recorded",
            ]
        );
        assert_eq!(found("write-latency", 950.0), [""; 0]);
        assert_eq!(
            found("write-latency", 1000.0),
            ["write-latency: 1000 cycles, 900 cycles is recorded"]
        );
        assert_eq!(found("read", 97.0), ["read: 97.0 Gb/s is not recorded"]);
    }

    #[test]
    fn what_failed_says_why_and_has_no_value() {
        let tried = tried(&[("loss", Err("nothing moves")), ("read", Ok(95.0))]);
        assert_eq!(failures(&tried), ["the cards did wrong in loss: nothing moves"]);
        assert_eq!(json(&tried), "{\n  \"read\": 95.0\n}\n");
        let page = page::page(&tried);
        assert!(page.contains("| **failed** |") && page.contains("- nothing moves\n"), "{page}");
        assert!(page.contains("| 95.0 Gb/s "), "{page}");
    }

    #[test]
    fn a_name_that_no_trial_has_is_an_error() {
        let error = measure(Path::new("/nowhere"), Some("figure"), false, 1).unwrap_err();
        assert_eq!(error, "there is no trial `figure`");
    }
}
