//! `drdma calibrate`: costs of DMA reads on a device.

use std::{
    io::{IsTerminal, Write, stderr},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use drdma_cli::{
    calibrate::{self, Calibration},
    device::{self, Kind},
};
use drdma_sim::{clock::NS_PER_CYCLE, wire::Network};
use indicatif::ProgressBar;
use libdrdma::Context;
use serde_json::json;

use super::{Failure, create, finish, say};

/// Measure what DMA reads of various sizes and distances cost on a device, and propose the merge
/// threshold that its optimizer should use.
///
/// Sends regions of zeros as UC packets to 02:00:00:00:00:02, 10.0.0.2, which nobody need answer, and
/// reads the card's cycle counter. `soft:` has no clock that means anything and cannot be measured.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma calibrate --device rtl: --out costs.json")]
pub struct Arguments {
    /// The device: `rtl:` is the simulated hardware, `vfio:0000:65:00.0` a board.
    #[arg(long, value_name = "URI")]
    device: String,
    /// Write the costs to this file as JSON, for `drdma run --costs FILE`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON, as it is written to --out, instead of a table.
    #[arg(long)]
    json: bool,
    /// Give up after so many seconds without the completion of a measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let network = Network::new();
    let kind = Kind::of(&arguments.device);
    let uri = match kind {
        Kind::Rtl => device::with_option(&arguments.device, "cycles", calibrate::CYCLES_PER_LOOK),
        Kind::Soft | Kind::Board => arguments.device.clone(),
    };
    let card = device::open(&uri, &network)?;
    if kind == Kind::Soft {
        return Err(Failure::Usage(format!(
            "{uri} cannot be measured: the reference model has no clock that means anything; \
             use --device rtl:"
        )));
    }
    // A file that cannot be written is refused before the minutes that measuring may take.
    let out = arguments.out.as_deref().map(create).transpose()?;
    network.add_peer(calibrate::peer());
    let context = Context::open(card, calibrate::options()).map_err(Failure::failed)?;
    let bar = match stderr().is_terminal() {
        true => ProgressBar::new(calibrate::grid().count() as u64),
        false => ProgressBar::hidden(),
    };
    let patience = Duration::from_secs(arguments.timeout);
    let each = |done| bar.set_position(done as u64);
    let points = calibrate::measure(&context, NS_PER_CYCLE, patience, each);
    bar.finish_and_clear();
    let calibration =
        Calibration::of(&arguments.device, NS_PER_CYCLE, points.map_err(Failure::failed)?)
            .map_err(Failure::failed)?;
    if let (Some(mut file), Some(path)) = (out, &arguments.out) {
        writeln!(file, "{:#}", json!(calibration)).map_err(|error| Failure::file(path, &error))?;
        finish(file, path)?;
    }
    if arguments.json {
        return say(format_args!("{:#}\n", json!(calibration)));
    }
    say(calibrate::render(&calibration))?;
    if let Some(path) = &arguments.out {
        say(format_args!("The costs are in {0}: drdma run --costs {0}\n", path.display()))?;
    }
    Ok(())
}
