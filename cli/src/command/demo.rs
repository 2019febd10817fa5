//! `drdma demo`: a shuffle of TPC-H data on one card.

use clap::Args;

use super::Failure;

/// Demo.
#[derive(Debug, Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_: &Arguments) -> Result<(), Failure> {
    Ok(())
}
