//! `drdma explain`: what a card would do with a job.

use std::path::PathBuf;

use clap::Args;
use drdma_abi::register::{COLUMN_MIN_ROWS, MAX_READ, MERGE_THRESHOLD, Register};
use drdma_cli::{
    device,
    explain::{self, Options},
    job::Job,
};
use drdma_driver::Device;
use drdma_semantics::boxes::Settings;
use drdma_sim::wire::Network;
use serde_json::json;

use super::{Failure, say, tuning::Tuning};

/// Explain what a card would do with a job file: rows, messages, packets, DMA reads.
///
/// Each post is looked at on its own, as if every queue pair were ready. The cheapest reads under the
/// costs of --costs are told beside the card's; without it a read costs 20.3 ns and 0.07 ns a byte,
/// as on a link of PCIe Gen3 x16 with 64 tags. Bytes fetched are those of the bounding boxes; the
/// card reads whole words of 4 B, up to 6 B more a read. How rows are gathered is that of a post's first
/// window, on a card whose ASSEMBLER_WORDS is as after reset. The exit code is 1 if a request would fail.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma explain job.json
  drdma explain job.json --threshold 0 --all     every DMA read, without reading gaps
  drdma explain job.json --device vfio:0000:65:00.0
  drdma explain job.json --json | jq .[0].together.reads")]
pub struct Arguments {
    /// The job file.
    job: PathBuf,
    /// Ask this card how its registers are set (MAX_READ, MERGE_THRESHOLD, COLUMN_MIN_ROWS); without
    /// it they are as after reset.
    #[arg(long, value_name = "URI")]
    device: Option<String>,
    #[command(flatten)]
    tuning: Tuning,
    /// Bounding boxes that are listed for each post.
    #[arg(long, value_name = "N", default_value_t = 8)]
    boxes: usize,
    /// List every bounding box.
    #[arg(long)]
    all: bool,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// End with exit code 0 even if requests would fail.
    #[arg(long)]
    allow_failures: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let job = Job::read(&arguments.job)?;
    let (optimizer, calibration) = (arguments.tuning.optimizer()?, arguments.tuning.calibration()?);
    let mut card = None;
    if let Some(uri) = &arguments.device {
        let opened = device::open(uri, &Network::new())?;
        card = Some(Device::attach(opened).map_err(Failure::failed)?);
    }
    let mut register = |register: Register| match &mut card {
        Some(card) => card.read(register).map_err(Failure::failed),
        None => Ok(register.reset),
    };
    let settings = Settings {
        max_read: optimizer.max_read.map_or_else(|| register(MAX_READ), Ok)?,
        merge_threshold: optimizer.merge_threshold.map_or_else(|| register(MERGE_THRESHOLD), Ok)?,
        ..Settings::default()
    };
    let column_rows = register(COLUMN_MIN_ROWS)?;
    let costs = calibration.map_or_else(explain::link_costs, |calibration| calibration.costs);
    let boxes = if arguments.all { usize::MAX } else { arguments.boxes };
    let explanations = explain::explain(&job, &Options { settings, column_rows, costs, boxes });
    match arguments.json {
        true => say(format_args!("{:#}\n", json!(explanations)))?,
        false => say(explain::render(&explanations))?,
    }
    let failed = explanations.iter().filter(|explanation| explanation.reason.is_some()).count();
    if failed > 0 && !arguments.allow_failures {
        let all = explanations.len();
        return Err(Failure::Failed(format!("{failed} of {all} requests would fail")));
    }
    Ok(())
}
