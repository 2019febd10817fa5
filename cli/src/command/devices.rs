//! `drdma devices`: the cards of this machine.

use clap::Args;
use drdma_cli::devices;
use serde_json::json;

use super::{Failure, SysfsArguments, note, say};

/// List the cards of this machine: driver, IOMMU group, PCIe link, firmware, and whether they are
/// ready for `--device vfio:ADDRESS`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma devices
  drdma devices --all --json")]
pub struct Arguments {
    /// List every PCI device.
    #[arg(long)]
    all: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sysfs: SysfsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let devices = devices::list(&arguments.sysfs.tree(), arguments.all)?;
    if arguments.json {
        say(format_args!("{:#}\n", json!(devices)))?;
    } else if devices.is_empty() {
        note(format_args!("There is no card in this machine; `--all` lists every PCI device."));
    } else {
        say(format_args!("{}", devices::render(&devices)))?;
    }
    Ok(())
}
