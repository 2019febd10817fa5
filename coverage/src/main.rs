//! The `drdma-coverage` command: reads what the models of the block tests counted.

mod page;
mod reasons;
mod sources;
mod table;

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Parser;
use drdma_verilated::coverage::Coverage;

use reasons::REASONS;
use sources::Sources;
use table::Table;

/// Which statements of the RTL the tests of its blocks run, and which bits change.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// The workspace, with hdl/src.
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Where the models left their counts (DRDMA_VERILATED_COVERAGE).
    #[arg(long, value_name = "DIR")]
    counts: PathBuf,
    /// Only this block, a folder or file of hdl/src such as `receive/parser`; nothing is written.
    #[arg(long, value_name = "BLOCK")]
    only: Option<String>,
    /// Fail if a statement does not run and no reason says why, if a reason explains nothing, or if less
    /// runs than should; nothing is written.
    #[arg(long)]
    check: bool,
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let sources = Sources::read(&arguments.root)?;
    let coverage = Coverage::read(&arguments.counts).map_err(|error| error.to_string())?;
    let mut table = Table::new(&sources, &coverage, REASONS);
    if let Some(only) = &arguments.only {
        table.retain(only)?;
    }
    print!("{}", table.told());
    let wrong = table.wrong();
    if arguments.only.is_none() && !arguments.check {
        let path = arguments.root.join("docs/coverage.md");
        fs::write(&path, page::page(&table))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    wrong.iter().for_each(|wrong| eprintln!("{wrong}"));
    Ok(wrong.is_empty() || !arguments.check)
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
