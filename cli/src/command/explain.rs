//! `drdma explain`: what a card would do with a job.

use std::path::PathBuf;

use clap::Args;
use drdma_abi::register::{MAX_READ, MERGE_THRESHOLD};
use drdma_cli::{
    explain::{self, Options},
    job::Job,
};
use drdma_sim::model::boxes::Settings;
use serde_json::json;

use super::Failure;

/// Explain what a card would do with a job file: rows, messages, packets, DMA reads.
///
/// Each post is looked at on its own, as if every queue pair were ready.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The job file.
    job: PathBuf,
    /// The widest gap in bytes that is read through instead of starting another DMA read.
    #[arg(long, value_name = "BYTES", default_value_t = MERGE_THRESHOLD.reset)]
    threshold: u32,
    /// The longest DMA read in bytes: a power of two, 64 to 4096.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_READ.reset, value_parser = max_read)]
    max_read: u32,
    /// Bounding boxes that are listed for each post.
    #[arg(long, value_name = "N", default_value_t = 8)]
    boxes: usize,
    /// List every bounding box.
    #[arg(long)]
    all: bool,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

fn max_read(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ 64..=4096) if u32::is_power_of_two(bytes) => Ok(bytes),
        _ => Err("must be a power of two from 64 to 4096".to_owned()),
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let job = Job::read(&arguments.job)?;
    let settings = Settings {
        max_read: arguments.max_read,
        merge_threshold: arguments.threshold,
        ..Settings::default()
    };
    let boxes = if arguments.all { usize::MAX } else { arguments.boxes };
    let explanations = explain::explain(&job, &Options { settings, boxes });
    match arguments.json {
        true => println!("{:#}", json!(explanations)),
        false => print!("{}", explain::render(&explanations)),
    }
    Ok(())
}
