//! `drdma info`: what a card is, and how it is set.

use clap::Args;
use drdma_cli::{device, info};
use drdma_driver::Device;
use drdma_sim::wire::Network;
use serde_json::json;

use super::{Failure, say};

/// Show what a card is and how it is set: type, version, ABI, port, limits, settings, counters.
///
/// The card is only read. VFIO resets a board when it is opened, so that its settings and counters are
/// those after a reset; one that is in use is refused.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma info --device vfio:0000:65:00.0
  drdma info --device soft: --json")]
pub struct Arguments {
    /// The device: `rtl:` is the simulated hardware, `soft:` the reference model,
    /// `vfio:0000:65:00.0` a board.
    #[arg(long, value_name = "URI")]
    device: String,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let card = device::open(&arguments.device, &Network::new())?;
    let mut device = Device::attach(card).map_err(Failure::failed)?;
    let info = info::of(&arguments.device, &mut device).map_err(Failure::failed)?;
    match arguments.json {
        true => say(format_args!("{:#}\n", json!(info))),
        false => say(info::render(&info)),
    }
}
