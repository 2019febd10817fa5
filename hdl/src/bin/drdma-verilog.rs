//! The `drdma-verilog` command: writes the card's Verilog.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use drdma_hdl::emit::EmitError;
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

fn write(folder: &Path) -> Result<PathBuf, Failure> {
    let text = top::file()?;
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        |source| Failure::File { path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let path = folder.join(format!("{}.v", app_block::NAME));
    fs::write(&path, text).map_err(failed(&path))?;
    Ok(path)
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
