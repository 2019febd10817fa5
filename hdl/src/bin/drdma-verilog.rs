//! The `drdma-verilog` command: writes the card's Verilog. Standard output has the file's path alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use drdma_hdl::emit::{EmitError, Emitted};
use drdma_hdl::primitive::app_block;
use drdma_hdl::top;

/// Write the card as Verilog: one file, mqnic_app_block.v, for Corundum.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// The folder to write to; made if it is missing.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the card cannot be emitted: {0}")]
    Emit(#[from] EmitError),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Does a step of the work: says what before it, and how long it took after it.
fn step<T>(what: &str, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    eprintln!("{what}");
    let started = Instant::now();
    let done = work();
    eprintln!("  ({:.1} s: {what})", started.elapsed().as_secs_f64());
    done
}

fn write(folder: &Path) -> Result<PathBuf, Failure> {
    let core = step("Printing the card's blocks as Verilog", || Ok(top::core()?))?;
    let path = folder.join(format!("{}.v", app_block::NAME));
    let what = format!("Writing the published module to {}", path.display());
    step(&what, || publish(folder, &path, &core))?;
    Ok(path)
}

fn publish(folder: &Path, path: &Path, core: &Emitted) -> Result<(), Failure> {
    let text = app_block::file(core);
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        |source| Failure::File { path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    fs::write(path, text).map_err(failed(path))
}

fn main() -> ExitCode {
    match write(&Arguments::parse().out) {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
